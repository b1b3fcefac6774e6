//! Calls of functions of extensions. The answers are PostgreSQL 15's.

use super::{Answer, answer};
use crate::world::World;

fn lines(sql: &str) -> Result<Vec<String>, String> {
    match answer(&World::of(""), sql, 2, 1_000) {
        Answer::Lines(lines) if lines[0].starts_with("ERROR") => Ok(lines),
        Answer::Lines(lines) => Ok(lines[2..].to_vec()),
        Answer::NotBuilt(reason) => Err(reason),
    }
}

/// A function would be found by its name and computed by nothing, or by another one.
#[test]
fn functions_of_extensions_are_computed() {
    let cases = [
        (
            "SELECT uuid_ns_dns(), uuid_nil()",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8|00000000-0000-0000-0000-000000000000",
        ),
        (
            "SELECT uuid_generate_v3(uuid_ns_dns(), 'www.example.com'), uuid_generate_v5(uuid_ns_dns(), 'www.example.com')",
            "5df41881-3aed-3515-88a7-2f4a814cf09e|2ed6657d-e927-568b-95e1-2665a8aea6a2",
        ),
        ("SELECT digest('a', 'MD5')", "\\x0cc175b9c0f1b6a831c399e269772661"),
        ("SELECT digest('a'::bytea, 'sha1')", "\\x86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ("SELECT hmac('a', 'k', 'sha256')", "\\x78da91511e675587f5b9df78bedebaf5560da2abb88162ee875dcdf744951d9e"),
        ("SELECT hmac('a', '', 'sha1')", "\\x7f984109f39759f3f41dba04f5183741e36f1445"),
        ("SELECT crypt('pw', '$1$abcdefgh')", "$1$abcdefgh$IQtUouv7y7Q9dRWkQEPCc."),
        ("SELECT encrypt('data', 'key', 'aes')", "\\x61790ee184bae20fdffdaf86aed19873"),
        ("SELECT decrypt_iv(encrypt_iv('data', 'key', 'iv', 'aes'), 'key', 'iv', 'aes')", "\\x64617461"),
        ("SELECT length(gen_random_bytes(1024)), gen_random_bytes(16) <> gen_random_bytes(16)", "1024|t"),
        ("SELECT left(gen_salt('bf', 4), 7), length(gen_salt('md5'))", "$2a$04$|11"),
        ("SELECT digest(NULL, 'md5') IS NULL, gen_random_uuid() IS NULL", "t|f"),
        ("SELECT substr(uuid_generate_v1mc()::text, 15, 1), uuid_generate_v4() <> uuid_generate_v4()", "1|t"),
    ];
    for (sql, wanted) in cases {
        assert_eq!(lines(sql), Ok(vec![wanted.to_owned()]), "{sql}");
    }
}

/// An error would be told in other words, or a function that is not there would answer.
#[test]
fn errors_of_extensions_are_postgresqls() {
    let cases = [
        ("SELECT digest('a', 'nosuch')", "22023", "Cannot use \"nosuch\": No such hash algorithm"),
        ("SELECT gen_random_bytes(1025)", "39000", "Length not in range"),
        ("SELECT gen_salt('bf', 3)", "22023", "gen_salt: Incorrect number of rounds"),
        ("SELECT crypt('pw', 'x')", "22023", "invalid salt"),
        ("SELECT decrypt('abc', 'key', 'aes')", "39000", "decrypt error: Decryption failed"),
        ("SELECT encrypt('data', 'key', 'aes-ctr')", "22023", "Cannot use \"aes-ctr\": No such cipher algorithm"),
        ("SELECT digest(1, 'md5')", "42883", "function digest(integer, unknown) does not exist"),
    ];
    for (sql, state, message) in cases {
        let told = lines(sql).expect(sql).join(" ");
        assert!(told.contains(state) && told.contains(message), "{sql}: {told}");
    }
    assert!(lines("SELECT pgp_sym_encrypt('a', 'b')").is_err(), "it is not built");
}
