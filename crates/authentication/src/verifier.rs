//! What the catalog keeps of a password: enough to check it, not enough to log in with.
//!
//! The text form is PostgreSQL's: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>` (RFC 5803 has the same parts). Invariant: a verifier
//! is never printed by accident: its debug form shows nothing of it.

use crate::limits::{ITERATIONS, ITERATIONS_MAX, SALT_BYTES, SALT_BYTES_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use subtle::ConstantTimeEq as _;
use thiserror::Error;

const PREFIX: &str = "SCRAM-SHA-256$";

/// A text that is no verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a SCRAM-SHA-256 verifier")]
pub struct NotAVerifier;

/// What is kept of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordVerifier {
    /// Iterations of PBKDF2.
    pub(crate) iterations: u32,
    /// The salt.
    pub(crate) salt: Vec<u8>,
    /// A hash of the client's key: whoever knows the key, and so the password, can log in.
    pub(crate) stored_key: [u8; 32],
    /// What the server proves itself with.
    pub(crate) server_key: [u8; 32],
}

impl PasswordVerifier {
    /// Of a password, with a salt that was never used before.
    pub fn of_password(password: &str, salt: [u8; SALT_BYTES]) -> PasswordVerifier {
        PasswordVerifier::derive(password, salt.to_vec(), ITERATIONS)
    }

    fn derive(password: &str, salt: Vec<u8>, iterations: u32) -> PasswordVerifier {
        let mut salted = [0; 32];
        let count = NonZeroU32::new(iterations).expect("a verifier has iterations");
        let prepared = prepared(password);
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, count, &salt, prepared.as_bytes(), &mut salted);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
        let client_key = hmac::sign(&key, b"Client Key");
        let server_key = hmac::sign(&key, b"Server Key");
        PasswordVerifier {
            iterations,
            salt,
            stored_key: array(digest::digest(&digest::SHA256, client_key.as_ref()).as_ref()),
            server_key: array(server_key.as_ref()),
        }
    }

    /// For a role that has none: an exchange with it looks as any other, and never succeeds. The salt depends on the secret and the role
    /// alone, so that asking twice tells nothing.
    pub fn mock(secret: &[u8], role: &str) -> PasswordVerifier {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let drawn = |what: &[u8]| {
            let mut context = hmac::Context::with_key(&key);
            context.update(what);
            context.update(role.as_bytes());
            array(context.sign().as_ref())
        };
        PasswordVerifier {
            iterations: ITERATIONS,
            salt: drawn(b"salt of ")[..SALT_BYTES].to_vec(),
            stored_key: drawn(b"stored key of "),
            server_key: drawn(b"server key of "),
        }
    }

    /// Whether it is that of this password. Takes as long either way.
    pub fn is_of(&self, password: &str) -> bool {
        let derived = PasswordVerifier::derive(password, self.salt.clone(), self.iterations);
        bool::from(derived.stored_key.ct_eq(&self.stored_key))
    }
}

/// A password as RFC 4013 (SASLprep) has it, so that the same text typed on two systems is the same password. As PostgreSQL does, one that the
/// profile forbids is taken as it is.
fn prepared(password: &str) -> Cow<'_, str> {
    stringprep::saslprep(password).unwrap_or(Cow::Borrowed(password))
}

fn array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("SHA-256 has 32 bytes")
}

impl fmt::Display for PasswordVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|bytes| BASE64.encode(bytes));
        write!(formatter, "{PREFIX}{}:{salt}${stored}:{server}", self.iterations)
    }
}

impl fmt::Debug for PasswordVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a verifier")
    }
}

impl FromStr for PasswordVerifier {
    type Err = NotAVerifier;

    fn from_str(text: &str) -> Result<PasswordVerifier, NotAVerifier> {
        let parse = || {
            let (head, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
            let (iterations, salt) = head.split_once(':')?;
            let (stored, server) = keys.split_once(':')?;
            let decode = |text| BASE64.decode(text).ok();
            let is_number = iterations.bytes().all(|byte| byte.is_ascii_digit());
            let iterations =
                iterations.parse().ok().filter(|count| is_number && (1..=ITERATIONS_MAX).contains(count))?;
            let salt = decode(salt).filter(|salt| (1..=SALT_BYTES_MAX).contains(&salt.len()))?;
            let (stored_key, server_key) = (decode(stored)?.try_into().ok()?, decode(server)?.try_into().ok()?);
            Some(PasswordVerifier { iterations, salt, stored_key, server_key })
        };
        parse().ok_or(NotAVerifier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// PostgreSQL's own verifier of a password, made by `CREATE ROLE ... PASSWORD 'secret'` of version 15.
    const OF_SECRET: &str = "SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$";

    /// If this failed, a dump of PostgreSQL's roles would lose its passwords here, or ours there.
    #[test]
    fn the_text_form_is_postgresqls() {
        let salt: [u8; SALT_BYTES] = std::array::from_fn(|index| index as u8);
        let verifier = PasswordVerifier::of_password("secret", salt);
        let text = verifier.to_string();
        assert!(text.starts_with(OF_SECRET), "{text}");
        assert_eq!(text.parse(), Ok(verifier));
        // Made by PostgreSQL's own drivers.
        let theirs: PasswordVerifier =
            postgres_protocol::password::scram_sha_256(b"secret").parse().expect("a verifier");
        assert!(theirs.is_of("secret"));
        assert!(!theirs.is_of("Secret"));
    }

    /// RFC 4013's examples: a soft hyphen counts for nothing, and compatibility forms are one letter.
    #[test]
    fn passwords_are_prepared() {
        let salt = [7; SALT_BYTES];
        assert_eq!(PasswordVerifier::of_password("I\u{ad}X", salt), PasswordVerifier::of_password("IX", salt));
        assert_eq!(PasswordVerifier::of_password("\u{aa}", salt), PasswordVerifier::of_password("a", salt));
        assert_ne!(PasswordVerifier::of_password("user", salt), PasswordVerifier::of_password("USER", salt));
        assert!(PasswordVerifier::of_password("\u{7}", salt).is_of("\u{7}"), "forbidden, and taken as it is");
    }

    /// If this failed, asking for a salt would tell which roles there are.
    #[test]
    fn a_mock_is_the_same_each_time_and_of_no_password() {
        let mock = PasswordVerifier::mock(b"a secret", "alice");
        assert_eq!(mock, PasswordVerifier::mock(b"a secret", "alice"));
        assert_ne!(mock.salt, PasswordVerifier::mock(b"a secret", "bob").salt);
        assert_ne!(mock.salt, PasswordVerifier::mock(b"another", "alice").salt);
        assert!(!mock.is_of("") && mock.salt.len() == SALT_BYTES);
    }

    #[test]
    fn other_texts_are_none() {
        let good = PasswordVerifier::of_password("x", [1; SALT_BYTES]).to_string();
        for bad in [
            "",
            "md5c4ca4238a0b923820dcc509a6f75849b",
            "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA",
            &good.replace("4096", "0"),
            &good.replace("4096", "+4096"),
            &good.replace("4096", "99999999"),
            &good[..good.len() - 1],
            &format!("{good} "),
        ] {
            assert_eq!(bad.parse::<PasswordVerifier>(), Err(NotAVerifier), "{bad}");
        }
    }

    #[test]
    fn nothing_of_it_is_printed_by_accident() {
        let verifier = PasswordVerifier::of_password("secret", [1; SALT_BYTES]);
        assert_eq!(format!("{verifier:?}"), "a verifier");
    }

    proptest! {
        /// What comes by CREATE ROLE is any text.
        #[test]
        fn arbitrary_texts_do_not_panic(text in "(SCRAM-SHA-256\\$)?[0-9:$A-Za-z+/=]{0,80}") {
            let _ = text.parse::<PasswordVerifier>();
        }
    }
}
