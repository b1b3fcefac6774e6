//! Hashes of passwords as `crypt` and `gen_salt` of `pgcrypto` make them: bcrypt and MD5.
//!
//! Invariant: what PostgreSQL has hashed is hashed likewise. Bcrypt is that of N. Provos, D. Mazieres: A Future-Adaptable Password Scheme (1999), as Openwall's
//! `crypt_blowfish` writes it down; the other is the one of FreeBSD's `crypt-md5.c`.

use blowfish::Blowfish;
use md5::{Digest, Md5};
use values::ValueError;
use values::error::sqlstate;

/// Random bytes that a salt takes at most.
pub(crate) const SALT_BYTES_MAX: usize = 16;
/// The bcrypt cost that is computed at most: nothing interrupts it. PostgreSQL computes 31, for days.
const COST_MAX: u32 = 14;
/// So many rows could be worked on while a password is hashed once over: in a round of MD5, and in one of bcrypt, which expands two keys.
const ROWS_OF_MD5: usize = 1_000;
const ROWS_OF_ROUND: usize = 32;
/// Characters of a bcrypt salt.
const BCRYPT_SALT: usize = 22;
/// Bytes of a password that bcrypt sees, the zero at its end included.
const BCRYPT_PASSWORD: usize = 72;
/// The digits of bcrypt.
const BCRYPT_DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The digits of everybody else.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// What bcrypt encrypts: "OrpheanBeholderScryDoubt".
const ORPHEAN: [u32; 6] = [0x4f72_7068, 0x6561_6e42, 0x6568_6f6c, 0x6465_7253, 0x6372_7944, 0x6f75_6274];

fn invalid_salt() -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, "invalid salt")
}

fn not_here(what: &str) -> ValueError {
    ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
}

/// `crypt(password, salt)`. Errors: 22023, 0A000, 54000.
pub(crate) fn crypt(password: &str, salt: &str) -> Result<String, ValueError> {
    if salt.starts_with("$2a$") || salt.starts_with("$2x$") {
        return bcrypt(password.as_bytes(), salt);
    }
    if let Some(rest) = salt.strip_prefix("$1$") {
        let own = rest.split('$').next().unwrap_or_default().as_bytes();
        return Ok(of_md5(password.as_bytes(), &own[..own.len().min(8)]));
    }
    match salt.len() {
        0 | 1 => Err(invalid_salt()),
        // Whatever begins otherwise is a salt of DES.
        _ => Err(not_here("crypt with DES").with_detail("Salts of bcrypt begin with $2a$, those of MD5 with $1$.")),
    }
}

/// How many rows could be worked on instead of one `crypt` with this salt.
pub(crate) fn work_of(salt: &str) -> usize {
    match salt.get(4..6).and_then(|cost| cost.parse::<u32>().ok()) {
        Some(cost) if salt.starts_with("$2") => ROWS_OF_ROUND << cost.min(COST_MAX),
        _ => ROWS_OF_MD5,
    }
}

/// `gen_salt(kind, rounds)`, of random bytes; no rounds: as many as is usual. Errors: 22023, 0A000.
pub(crate) fn generate_salt(kind: &str, rounds: i64, random: &[u8; SALT_BYTES_MAX]) -> Result<String, ValueError> {
    let wrong = |why: &str| ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("gen_salt: {why}"));
    let in_range = |low: i64, high: i64| match rounds == 0 || (low..=high).contains(&rounds) {
        true => Ok(()),
        false => Err(wrong("Incorrect number of rounds")),
    };
    match kind.to_ascii_lowercase().as_str() {
        "bf" => {
            in_range(4, 31)?;
            let cost = if rounds == 0 { 6 } else { rounds };
            Ok(format!("$2a${cost:02}${}", bcrypt_text(random)))
        }
        "md5" => {
            in_range(1000, 1000)?;
            let mut salt = "$1$".to_owned();
            salt.extend(random[..6].chunks(3).flat_map(|part| low_first([part[2], part[1], part[0]], 4)));
            Ok(salt)
        }
        known @ ("des" | "xdes") => Err(not_here(&format!("gen_salt('{known}')"))),
        _ => Err(wrong("Unknown salt algorithm")),
    }
}

/// Bytes in the digits of bcrypt, the highest bits first.
fn bcrypt_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 1);
    for part in bytes.chunks(3) {
        let byte = |place: usize| u32::from(part.get(place).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=part.len() {
            text.push(char::from(BCRYPT_DIGITS[(word >> (18 - 6 * digit) & 0x3f) as usize]));
        }
    }
    text
}

/// The bytes of a bcrypt salt; `None` if it has anything but digits.
fn bcrypt_bytes(text: &[u8]) -> Option<[u8; 16]> {
    let mut bits: u128 = 0;
    for (place, digit) in text.iter().enumerate() {
        let value = BCRYPT_DIGITS.iter().position(|known| known == digit)? as u128;
        // The last digit has four bits too many.
        bits = if place + 1 < BCRYPT_SALT { bits << 6 | value } else { bits << 2 | value >> 4 };
    }
    Some(bits.to_be_bytes())
}

/// Errors: 22023 for what is no salt; 54000 for a cost that is not computed here.
fn bcrypt(password: &[u8], setting: &str) -> Result<String, ValueError> {
    let written = setting.as_bytes();
    let (Some(cost), Some(salt)) = (written.get(4..7), written.get(7..7 + BCRYPT_SALT)) else {
        return Err(invalid_salt());
    };
    let cost = match cost {
        [tens @ b'0'..=b'3', ones @ b'0'..=b'9', b'$'] => u32::from(tens - b'0') * 10 + u32::from(ones - b'0'),
        _ => return Err(invalid_salt()),
    };
    let bytes = bcrypt_bytes(salt).filter(|_| (4..=31).contains(&cost)).ok_or_else(invalid_salt)?;
    if cost > COST_MAX {
        let message = format!("a bcrypt cost of {cost} is more than the {COST_MAX} that are computed");
        return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    if written[2] == b'x' && !password.is_ascii() {
        return Err(not_here("crypt with a salt of $2x$ and a password beyond ASCII"));
    }
    let mut key = password.to_vec();
    key.push(0);
    key.truncate(BCRYPT_PASSWORD);
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(&bytes, &key);
    for _ in 0..1_u32 << cost {
        state.bc_expand_key(&key);
        state.bc_expand_key(&bytes);
    }
    let mut output = Vec::with_capacity(24);
    for pair in ORPHEAN.chunks(2) {
        let mut words = [pair[0], pair[1]];
        for _ in 0..64 {
            words = state.bc_encrypt(words);
        }
        output.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    }
    // What the last digit of the salt has too much is left out, and so is the last byte.
    Ok(format!("{}{}{}", &setting[..7], bcrypt_text(&bytes), bcrypt_text(&output[..23])))
}

/// A word of three bytes in so many digits, the lowest first.
fn low_first(bytes: [u8; 3], digits: u32) -> impl Iterator<Item = char> {
    let word = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
    (0..digits).map(move |digit| char::from(DIGITS[(word >> (6 * digit) & 0x3f) as usize]))
}

fn of_md5(password: &[u8], salt: &[u8]) -> String {
    let mut inner = Md5::new();
    [password, salt, password].iter().for_each(|part| inner.update(part));
    let inner = inner.finalize();
    let mut outer = Md5::new();
    [password, b"$1$", salt].iter().for_each(|part| outer.update(part));
    for part in password.chunks(16) {
        outer.update(&inner[..part.len()]);
    }
    let mut bits = password.len();
    while bits != 0 {
        outer.update(if bits & 1 == 1 { &[0][..] } else { &password[..1] });
        bits >>= 1;
    }
    let mut last = outer.finalize();
    for round in 0..1000 {
        let is_odd = round % 2 == 1;
        let mut next = Md5::new();
        next.update(if is_odd { password } else { &last[..] });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if is_odd { &last[..] } else { password });
        last = next.finalize();
    }
    let mut text = format!("$1${}$", String::from_utf8_lossy(salt));
    for places in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        text.extend(low_first(places.map(|place| last[place]), 4));
    }
    text.extend(low_first([0, 0, last[11]], 2));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody whose password PostgreSQL has hashed could come in. The values are its own.
    #[test]
    fn passwords_are_hashed_as_postgresql_hashes_them() {
        let of = |password: &str, salt: &str| crypt(password, salt).expect(salt);
        assert_eq!(
            of("pw", "$2a$06$abcdefghijklmnopqrstuu"),
            "$2a$06$abcdefghijklmnopqrstuuXOw8daVruAKMR3X3ty3bsuEmsp0E2Ba"
        );
        assert_eq!(of("pw", "$2a$06$abcdefghijklmnopqrstuv"), of("pw", "$2a$06$abcdefghijklmnopqrstuu"));
        assert_eq!(
            of("pw", "$2x$06$abcdefghijklmnopqrstuu"),
            "$2x$06$abcdefghijklmnopqrstuuXOw8daVruAKMR3X3ty3bsuEmsp0E2Ba"
        );
        let low = "$2a$04$abcdefghijklmnopqrstuu";
        assert_eq!(of(&"x".repeat(100), low), format!("{low}bzadhGtS2zEF.gu0yd0opP6cVzb.e0i"));
        assert_eq!(of("", low), format!("{low}byCG3zY1GIXMyxfivm.ClDiInHzxjiq"));
        assert_eq!(of("p\u{e4}ssw\u{f6}rd", low), format!("{low}yx2n0Zzopyr9QuYTMCfOJJOj526QVoC"));
        let hashed = of("pw", low);
        assert_eq!(of("pw", &hashed), hashed);
        assert_eq!(of("pw", "$1$abcdefgh"), "$1$abcdefgh$IQtUouv7y7Q9dRWkQEPCc.");
        assert_eq!(of("pw", "$1$abcdefghijklmnop"), "$1$abcdefgh$IQtUouv7y7Q9dRWkQEPCc.");
        assert_eq!(of("pw", "$1$ab$xyz"), "$1$ab$b2XAKzcGJvTR.javvk3280");
        assert_eq!(of("", "$1$ab"), "$1$ab$rn6aQS/o7141mj179E/zA.");
        assert_eq!(of("pw", "$1$"), "$1$$F0Fc2lbYpzr3KKdKkM0Wj.");
    }

    /// A hash of something else would be kept.
    #[test]
    fn what_is_no_salt_is_refused() {
        let state = |salt: &str| crypt("pw", salt).expect_err(salt).sqlstate;
        for wrong in ["", "x", "$2a$06$short", "$2a$03$abcdefghijklmnopqrstuu", "$2a$06$abcdefghijklmnopqrstu!"] {
            assert_eq!(state(wrong), sqlstate::INVALID_PARAMETER_VALUE, "{wrong}");
        }
        assert_eq!(state("ab"), sqlstate::FEATURE_NOT_SUPPORTED);
        assert_eq!(state("$2a$31$abcdefghijklmnopqrstuu"), sqlstate::PROGRAM_LIMIT_EXCEEDED);
    }

    /// A salt that `crypt` does not take would be kept.
    #[test]
    fn salts_are_taken() {
        let random = [0xa5; SALT_BYTES_MAX];
        let salt = |kind: &str, rounds: i64| generate_salt(kind, rounds, &random).map_err(|error| error.message);
        let made = salt("bf", 4).expect("a salt");
        assert!(made.len() == 29 && crypt("pw", &made).expect("it is one").starts_with(&made));
        assert_eq!(salt("BF", 0).expect("a salt")[..7], *"$2a$06$");
        let made = salt("md5", 0).expect("a salt");
        assert!(made.len() == 11 && crypt("pw", &made).expect("it is one").starts_with(&made));
        assert_eq!(salt("bf", 3), Err("gen_salt: Incorrect number of rounds".to_owned()));
        assert_eq!(salt("md5", 5), Err("gen_salt: Incorrect number of rounds".to_owned()));
        assert_eq!(salt("nosuch", 0), Err("gen_salt: Unknown salt algorithm".to_owned()));
    }
}
