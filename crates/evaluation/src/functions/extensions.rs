//! Functions of the extensions that are built in, by what PostgreSQL's extensions call them in their libraries.
//!
//! Invariant: what is said of algorithms, and in which words, is as `contrib/pgcrypto` of PostgreSQL 15 says it. What that takes of OpenSSL and is not here is 0A000.

use crate::call::{CallArguments, FunctionResult, Implementation};
use crate::ciphers::{self, CipherKind};
use crate::passwords;
use analyzer::TypeId;
use analyzer::facts::{Function, FunctionKind, Volatility};
use analyzer::types::{FunctionId, NONE};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use values::error::sqlstate;
use values::extensions::ExtensionFunction;
use values::functions::FunctionVolatility;
use values::functions::uuids::of_version;
use values::{Value, ValueError};

/// Bytes that `gen_random_bytes` gives at most.
const RANDOM_BYTES_MAX: i64 = 1024;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("uuid_nil", super::library!("uuid_nil", [])),
    ("uuid_ns_dns", super::library!("uuid_ns_dns", [])),
    ("uuid_ns_url", super::library!("uuid_ns_url", [])),
    ("uuid_ns_oid", super::library!("uuid_ns_oid", [])),
    ("uuid_ns_x500", super::library!("uuid_ns_x500", [])),
    ("uuid_generate_v1", super::library!("uuid_generate_v1", [])),
    ("uuid_generate_v1mc", super::library!("uuid_generate_v1mc", [])),
    ("uuid_generate_v4", super::library!("uuid_generate_v4", [])),
    ("uuid_generate_v3", |call| Ok(of_name(3, &digest(Algorithm::Md5, &named(call))))),
    ("uuid_generate_v5", |call| Ok(of_name(5, &digest(Algorithm::Sha1, &named(call))))),
    ("pg_random_uuid", super::library!("gen_random_uuid", [])),
    ("pg_digest", |call| Ok(Value::bytea(digest(algorithm(call.text(1))?, octets(call, 0))))),
    ("pg_hmac", |call| Ok(Value::bytea(keyed(algorithm(call.text(2))?, octets(call, 1), octets(call, 0))))),
    ("pg_crypt", |call| {
        call.environment.patterns.note_work(passwords::work_of(call.text(1)));
        Ok(Value::text(passwords::crypt(call.text(0), call.text(1))?))
    }),
    ("pg_gen_salt", |call| salt(call, 0)),
    ("pg_gen_salt_rounds", |call| salt(call, call.integer(1))),
    ("pg_random_bytes", random_bytes),
    ("pg_encrypt", |call| encrypt(call, "encrypt", &[])),
    ("pg_decrypt", |call| decrypt(call, "decrypt", &[])),
    ("pg_encrypt_iv", |call| encrypt(call, "encrypt_iv", call.bytes(2))),
    ("pg_decrypt_iv", |call| decrypt(call, "decrypt_iv", call.bytes(2))),
];

/// What functions of extensions are written in. PostgreSQL's own never are.
pub(super) const LANGUAGE: &str = "c";

/// A function of an extension with its number, as `pg_proc` has it.
pub fn row(oid: u32, function: &'static ExtensionFunction) -> Function {
    Function {
        id: FunctionId(oid),
        name: function.name.into(),
        language: LANGUAGE.into(),
        cost: 1.0,
        rows: if function.returns_set() { 1000.0 } else { 0.0 },
        variadic: NONE,
        kind: FunctionKind::Function,
        leakproof: false,
        strict: function.is_strict(),
        returns_set: function.returns_set(),
        volatility: match function.volatility {
            FunctionVolatility::Immutable => Volatility::Immutable,
            FunctionVolatility::Stable => Volatility::Stable,
            FunctionVolatility::Volatile => Volatility::Volatile,
        },
        parallel: 's',
        defaults: 0,
        result: TypeId(function.result),
        arguments: function.parameters.iter().map(|known| TypeId(*known)).collect(),
        parameters: Vec::new(),
        default_text: "".into(),
        source: function.source.into(),
        body: None,
    }
}

/// A digest.
#[derive(Clone, Copy)]
enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// What else OpenSSL has by these names.
const OTHERS: [&str; 17] = [
    "blake2b512",
    "blake2s256",
    "md5-sha1",
    "ripemd",
    "ripemd160",
    "rmd160",
    "sha512-224",
    "sha512-256",
    "sha-512/224",
    "sha-512/256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "shake128",
    "shake256",
    "sm3",
];

/// Errors: 22023 for a name that PostgreSQL does not know either.
fn algorithm(written: &str) -> Result<Algorithm, ValueError> {
    let name = written.to_ascii_lowercase();
    Ok(match name.as_str() {
        "md5" | "ssl3-md5" => Algorithm::Md5,
        "sha1" | "sha-1" | "ssl3-sha1" => Algorithm::Sha1,
        "sha224" | "sha-224" | "sha2-224" => Algorithm::Sha224,
        "sha256" | "sha-256" | "sha2-256" => Algorithm::Sha256,
        "sha384" | "sha-384" | "sha2-384" => Algorithm::Sha384,
        "sha512" | "sha-512" | "sha2-512" => Algorithm::Sha512,
        other if OTHERS.contains(&other) => {
            let message = format!("the digest \"{other}\" is not supported");
            return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        _ => return Err(cannot_use(&name, "No such hash algorithm")),
    })
}

/// 22023.
fn cannot_use(name: &str, why: &str) -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("Cannot use \"{name}\": {why}"))
}

/// The bytes of a text or byte string.
fn octets<'a>(call: &CallArguments<'a, '_>, index: usize) -> &'a [u8] {
    match call.value(index) {
        Value::Text(text) => text.as_bytes(),
        _ => call.bytes(index),
    }
}

fn digest(algorithm: Algorithm, data: &[u8]) -> Vec<u8> {
    match algorithm {
        Algorithm::Md5 => Md5::digest(data).to_vec(),
        Algorithm::Sha1 => Sha1::digest(data).to_vec(),
        Algorithm::Sha224 => Sha224::digest(data).to_vec(),
        Algorithm::Sha256 => Sha256::digest(data).to_vec(),
        Algorithm::Sha384 => Sha384::digest(data).to_vec(),
        Algorithm::Sha512 => Sha512::digest(data).to_vec(),
    }
}

/// HMAC (RFC 2104).
fn keyed(algorithm: Algorithm, key: &[u8], data: &[u8]) -> Vec<u8> {
    fn of<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
        let mut mac = <M as KeyInit>::new_from_slice(key).expect("a key of any length will do");
        mac.update(data);
        mac.finalize().into_bytes().to_vec()
    }
    match algorithm {
        Algorithm::Md5 => of::<Hmac<Md5>>(key, data),
        Algorithm::Sha1 => of::<Hmac<Sha1>>(key, data),
        Algorithm::Sha224 => of::<Hmac<Sha224>>(key, data),
        Algorithm::Sha256 => of::<Hmac<Sha256>>(key, data),
        Algorithm::Sha384 => of::<Hmac<Sha384>>(key, data),
        Algorithm::Sha512 => of::<Hmac<Sha512>>(key, data),
    }
}

/// A namespace and a name in it (RFC 4122, section 4.3).
fn named(call: &CallArguments<'_, '_>) -> Vec<u8> {
    let Value::Uuid(namespace) = call.value(0) else { unreachable!("a namespace is a UUID") };
    [namespace, call.text(1).as_bytes()].concat()
}

fn of_name(version: u8, digest: &[u8]) -> Value {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Value::Uuid(of_version(version, bytes))
}

fn fill(call: &mut CallArguments<'_, '_>, bytes: &mut [u8]) {
    for part in bytes.chunks_mut(8) {
        let drawn = (call.environment.random)().to_be_bytes();
        part.copy_from_slice(&drawn[..part.len()]);
    }
}

fn random_bytes(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let count = call.integer(0);
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        return Err(ValueError::new(sqlstate::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, "Length not in range"));
    }
    let mut bytes = vec![0; count as usize];
    fill(call, &mut bytes);
    Ok(Value::bytea(bytes))
}

fn salt(call: &mut CallArguments<'_, '_>, rounds: i64) -> FunctionResult {
    let mut bytes = [0; passwords::SALT_BYTES_MAX];
    fill(call, &mut bytes);
    Ok(Value::text(passwords::generate_salt(call.text(0), rounds, &bytes)?))
}

/// The cipher that the last argument names. Errors: 22023.
fn cipher(call: &CallArguments<'_, '_>) -> Result<CipherKind, ValueError> {
    let name = call.text(call.arguments.len() - 1).to_ascii_lowercase();
    ciphers::parse(&name).map_err(|why| match why {
        ciphers::Unusable::NotHere(cipher) => {
            ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("the cipher \"{cipher}\" is not supported"))
        }
        ciphers::Unusable::Unknown(why) => cannot_use(&name, why),
    })
}

fn encrypt(call: &mut CallArguments<'_, '_>, function: &str, vector: &[u8]) -> FunctionResult {
    let kind = cipher(call)?;
    let encrypted = kind.encrypt(call.bytes(0), call.bytes(1), vector);
    encrypted.map(Value::bytea).map_err(|why| failed(function, why))
}

fn decrypt(call: &mut CallArguments<'_, '_>, function: &str, vector: &[u8]) -> FunctionResult {
    let kind = cipher(call)?;
    let decrypted = kind.decrypt(call.bytes(0), call.bytes(1), vector);
    decrypted.map(Value::bytea).map_err(|why| failed(function, why))
}

/// 39000.
fn failed(function: &str, why: &str) -> ValueError {
    ValueError::new(sqlstate::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, format!("{function} error: {why}"))
}
