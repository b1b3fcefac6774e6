//! AES as `pgcrypto` names and uses it: `aes`, `aes-cbc`, `aes-ecb`, with or without padding.
//!
//! Invariant: what one encrypts, the other decrypts, and PostgreSQL does (`contrib/pgcrypto/openssl.c`). Keys are filled up with zeros to the next length there is, and so
//! are initial vectors.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};

/// Bytes of a block.
const BLOCK: usize = 16;

/// How a cipher is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CipherKind {
    /// Cipher block chaining; if not, each block for itself.
    is_chained: bool,
    /// Padding of PKCS #7.
    is_padded: bool,
}

/// Why there is no such cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable<'a> {
    /// PostgreSQL has it.
    NotHere(&'a str),
    /// PostgreSQL has not, in its words.
    Unknown(&'static str),
}

/// Reads `cipher[-mode][/pad:how]`, in lower case.
pub(crate) fn parse(name: &str) -> Result<CipherKind, Unusable<'_>> {
    let (cipher, options) = name.split_once('/').unwrap_or((name, ""));
    let mut padding = "pkcs";
    for option in options.split('/').filter(|option| !option.is_empty()) {
        match option.split_once(':') {
            Some(("pad", how)) => padding = how,
            Some(_) => return Err(Unusable::Unknown("Unknown option")),
            None => return Err(Unusable::Unknown("Badly formatted type")),
        }
    }
    let is_chained = match cipher {
        "aes" | "aes-cbc" | "rijndael" | "rijndael-cbc" => true,
        "aes-ecb" | "rijndael-ecb" => false,
        "bf" | "bf-cbc" | "bf-ecb" | "bf-cfb" | "blowfish" | "blowfish-cbc" | "blowfish-ecb" | "blowfish-cfb"
        | "des" | "des-cbc" | "des-ecb" | "3des" | "3des-cbc" | "3des-ecb" | "des3" | "des3-cbc" | "des3-ecb"
        | "cast5" | "cast5-cbc" | "cast5-ecb" => return Err(Unusable::NotHere(cipher)),
        _ => return Err(Unusable::Unknown("No such cipher algorithm")),
    };
    match padding {
        "pkcs" => Ok(CipherKind { is_chained, is_padded: true }),
        "none" => Ok(CipherKind { is_chained, is_padded: false }),
        _ => Err(Unusable::Unknown("No such cipher algorithm")),
    }
}

/// AES with a key of one of its three lengths.
enum KeyedCipher {
    Short(Box<Aes128>),
    Middle(Box<Aes192>),
    Long(Box<Aes256>),
}

impl KeyedCipher {
    fn new(key: &[u8]) -> KeyedCipher {
        fn filled<const N: usize>(key: &[u8]) -> [u8; N] {
            let mut filled = [0; N];
            filled[..key.len()].copy_from_slice(key);
            filled
        }
        match key.len() {
            0..=16 => KeyedCipher::Short(Box::new(Aes128::new(&filled::<16>(key).into()))),
            17..=24 => KeyedCipher::Middle(Box::new(Aes192::new(&filled::<24>(key).into()))),
            // No more of a longer key is taken.
            _ => KeyedCipher::Long(Box::new(Aes256::new(&filled::<32>(&key[..key.len().min(32)]).into()))),
        }
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        let mut held = Array::from(*block);
        match self {
            KeyedCipher::Short(cipher) => cipher.encrypt_block(&mut held),
            KeyedCipher::Middle(cipher) => cipher.encrypt_block(&mut held),
            KeyedCipher::Long(cipher) => cipher.encrypt_block(&mut held),
        }
        *block = held.into();
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        let mut held = Array::from(*block);
        match self {
            KeyedCipher::Short(cipher) => cipher.decrypt_block(&mut held),
            KeyedCipher::Middle(cipher) => cipher.decrypt_block(&mut held),
            KeyedCipher::Long(cipher) => cipher.decrypt_block(&mut held),
        }
        *block = held.into();
    }
}

/// The first block of an initial vector, filled up with zeros.
fn first_of(vector: &[u8]) -> [u8; BLOCK] {
    let mut first = [0; BLOCK];
    let length = vector.len().min(BLOCK);
    first[..length].copy_from_slice(&vector[..length]);
    first
}

fn add(block: &mut [u8; BLOCK], other: &[u8; BLOCK]) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

impl CipherKind {
    /// Errors, in PostgreSQL's words: data that is not whole blocks and gets no padding.
    pub(crate) fn encrypt(self, data: &[u8], key: &[u8], vector: &[u8]) -> Result<Vec<u8>, &'static str> {
        let cipher = KeyedCipher::new(key);
        let mut data = data.to_vec();
        if self.is_padded {
            let missing = BLOCK - data.len() % BLOCK;
            data.resize(data.len() + missing, missing as u8);
        }
        let (blocks, rest) = data.as_chunks_mut::<BLOCK>();
        if !rest.is_empty() {
            return Err("Encryption failed");
        }
        let mut before = first_of(vector);
        for block in blocks {
            if self.is_chained {
                add(block, &before);
            }
            cipher.encrypt(block);
            before = *block;
        }
        Ok(data)
    }

    /// Errors, in PostgreSQL's words: what was not encrypted so.
    pub(crate) fn decrypt(self, data: &[u8], key: &[u8], vector: &[u8]) -> Result<Vec<u8>, &'static str> {
        const FAILED: &str = "Decryption failed";
        let cipher = KeyedCipher::new(key);
        let mut data = data.to_vec();
        let (blocks, rest) = data.as_chunks_mut::<BLOCK>();
        if !rest.is_empty() {
            return Err(FAILED);
        }
        let mut before = first_of(vector);
        for block in blocks {
            let encrypted = *block;
            cipher.decrypt(block);
            if self.is_chained {
                add(block, &before);
            }
            before = encrypted;
        }
        if self.is_padded {
            let padding = *data.last().ok_or(FAILED)?;
            let length = data.len().checked_sub(usize::from(padding)).ok_or(FAILED)?;
            let is_padding = (1..=BLOCK).contains(&usize::from(padding));
            if !is_padding || data[length..].iter().any(|byte| *byte != padding) {
                return Err(FAILED);
            }
            data.truncate(length);
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What PostgreSQL has encrypted could not be read. The values are its own.
    #[test]
    fn it_encrypts_as_postgresql_does() {
        let of = |data: &[u8], key: &[u8], vector: &[u8], name: &str| {
            let kind = parse(name).expect(name);
            let encrypted = kind.encrypt(data, key, vector).expect(name);
            assert_eq!(kind.decrypt(&encrypted, key, vector).as_deref(), Ok(data), "{name}");
            hexadecimal(&encrypted)
        };
        assert_eq!(of(b"data", b"key", b"", "aes"), "61790ee184bae20fdffdaf86aed19873");
        assert_eq!(of(b"data", b"0123456789abcdef", b"", "aes-cbc"), "e1b8013ba633cabbfc57c829f723e104");
        assert_eq!(of(b"data", b"0123456789abcdefg", b"", "aes-ecb"), "c8ac849480c41df8d9774b22270c1d8f");
        assert_eq!(of(b"0123456789abcdef", b"k", b"", "aes-cbc/pad:none"), "a5d6d1dcd070819751be31b47f041cc9");
        assert_eq!(of(b"", b"k", b"", "aes"), "932f1b1e9189536b938a6b67666d4031");
        assert_eq!(of(b"data", b"key", b"iv", "aes"), "9f832836398bc7fabcaf056ed5a53f0c");
        assert_eq!(of(b"data", b"key", b"0123456789abcdefgh", "aes"), "0eef913a41dee49a9de1888f094cf465");
        let long = b"0123456789abcdef0123456789abcdefxx";
        assert_eq!(
            of(long, b"012345678901234567890123456", b"", "aes"),
            "08e63346d49300d348be3fbadc710024605a9620c35e3b93711f2050c681de901545cc97ef45f0349e12c9d4ba8df06c"
        );
    }

    /// A wrong key would be told by rubbish.
    #[test]
    fn what_cannot_be_is_refused() {
        let aes = parse("aes").expect("it is there");
        assert_eq!(aes.decrypt(b"abc", b"key", b""), Err("Decryption failed"));
        assert_eq!(aes.decrypt(b"", b"key", b""), Err("Decryption failed"));
        assert_eq!(aes.decrypt(b"0123456789abcdef", b"key", b""), Err("Decryption failed"));
        assert_eq!(aes.encrypt(b"data", &[b'k'; 33], b""), aes.encrypt(b"data", &[b'k'; 32], b""));
        let unpadded = parse("aes/pad:none").expect("it is there");
        assert_eq!(unpadded.encrypt(b"data", b"key", b""), Err("Encryption failed"));
        assert_eq!(parse("aes-ctr"), Err(Unusable::Unknown("No such cipher algorithm")));
        assert_eq!(parse("aes/nosuch:x"), Err(Unusable::Unknown("Unknown option")));
        assert_eq!(parse("bf"), Err(Unusable::NotHere("bf")));
    }
}
