//! What makes a datagram its sender's: encryption and authentication with keys, or, in clear, a checksum against damage.
//!
//! ChaCha20-Poly1305 (RFC 8439): it has no bound on datagrams under one key that a connection could reach, so keys need not be renewed
//! while it lasts. The nonce is made from the datagram's kind and number, which its sender never uses twice for different bytes.

use super::packet::{DatagramHeader, HEADER_BYTES, MATERIAL_BYTES};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::fmt;

const TAG_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
const KEY_BYTES: usize = MATERIAL_BYTES - NONCE_LEN;

/// Seals what one side sends to another, or opens it.
#[derive(Clone)]
pub(super) enum Seal {
    /// A CRC-32.
    Clear,
    /// A key, and what distinguishes nonces of one key from those of others.
    Keyed(Box<(LessSafeKey, [u8; NONCE_LEN])>),
}

impl fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Seal::Clear => "Clear",
            Seal::Keyed(_) => "Keyed",
        })
    }
}

impl Seal {
    /// From material that both sides have and nobody else; without it, in clear.
    pub(super) fn new(material: Option<&[u8; MATERIAL_BYTES]>) -> Seal {
        let Some(material) = material else { return Seal::Clear };
        let (key, mask) = material.split_at(KEY_BYTES);
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the length of the method's keys");
        let mask = mask.try_into().expect("the rest is a nonce's length");
        Seal::Keyed(Box::new((LessSafeKey::new(key), mask)))
    }

    /// Whether others cannot read and forge.
    pub(super) fn is_keyed(&self) -> bool {
        matches!(self, Seal::Keyed(_))
    }

    /// Bytes of a datagram that are the seal's.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Seal::Clear => CHECKSUM_BYTES,
            Seal::Keyed(_) => TAG_BYTES,
        }
    }

    /// Seals the datagram that begins at `start` and ends where the buffer ends. Its header stands there already.
    pub(super) fn seal(&self, header: DatagramHeader, buffer: &mut Vec<u8>, start: usize) {
        match self {
            Seal::Clear => {
                let checksum = crc32fast::hash(&buffer[start..]);
                buffer.extend_from_slice(&checksum.to_le_bytes());
            }
            Seal::Keyed(keyed) => {
                let (key, mask) = &**keyed;
                let payload = &mut buffer[start + HEADER_BYTES..];
                let tag = key.seal_in_place_separate_tag(nonce(header, mask), Aad::from(header.encode()), payload);
                buffer.extend_from_slice(tag.expect("a datagram is shorter than what a key may seal").as_ref());
            }
        }
    }

    /// Opens a datagram in its place and gives what follows the header; `None`: it is not what the holder of the key has sealed.
    pub(super) fn open<'a>(&self, header: DatagramHeader, datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        match self {
            Seal::Clear => {
                let (sealed, checksum) = datagram.split_last_chunk()?;
                (crc32fast::hash(sealed) == u32::from_le_bytes(*checksum)).then_some(sealed.get(HEADER_BYTES..)?)
            }
            Seal::Keyed(keyed) => {
                let (key, mask) = &**keyed;
                let sealed = datagram.get_mut(HEADER_BYTES..)?;
                key.open_in_place(nonce(header, mask), Aad::from(header.encode()), sealed).ok().map(|opened| &*opened)
            }
        }
    }
}

fn nonce(header: DatagramHeader, mask: &[u8; NONCE_LEN]) -> Nonce {
    let mut nonce = *mask;
    nonce[0] ^= header.kind as u8;
    for (byte, number) in nonce[NONCE_LEN - 8..].iter_mut().zip(header.number.to_le_bytes()) {
        *byte ^= number;
    }
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
mod tests {
    use super::super::packet::DatagramKind;
    use super::*;

    const HEADER: DatagramHeader = DatagramHeader { kind: DatagramKind::Frames, from_maker: true, id: 5, number: 9 };

    fn sealed(seal: &Seal, header: DatagramHeader) -> Vec<u8> {
        let mut buffer = b"before".to_vec();
        buffer.extend_from_slice(&header.encode());
        buffer.extend_from_slice(b"payload");
        seal.seal(header, &mut buffer, 6);
        buffer.split_off(6)
    }

    #[test]
    fn only_what_was_sealed_is_opened() {
        for seal in [Seal::new(None), Seal::new(Some(&[3; MATERIAL_BYTES]))] {
            let good = sealed(&seal, HEADER);
            assert_eq!(good.len(), HEADER_BYTES + b"payload".len() + seal.bytes());
            assert_eq!(seal.open(HEADER, &mut good.clone()), Some(&b"payload"[..]));
            for bit in 0..8 * good.len() {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                let opened =
                    DatagramHeader::decode(&bad).and_then(|header| seal.open(header, &mut bad).map(<[u8]>::to_vec));
                assert_eq!(opened, None, "bit {bit} was flipped");
            }
            for length in 0..good.len() {
                assert!(seal.open(HEADER, &mut good[..length].to_vec()).is_none(), "cut to {length} bytes");
            }
        }
    }

    #[test]
    fn another_key_opens_nothing_and_nothing_is_readable() {
        let seal = Seal::new(Some(&[3; MATERIAL_BYTES]));
        let mut good = sealed(&seal, HEADER);
        assert!(!good.windows(4).any(|window| window == b"payl"));
        let mut other = [3; MATERIAL_BYTES];
        other[0] = 4;
        assert!(Seal::new(Some(&other)).open(HEADER, &mut good.clone()).is_none());
        assert!(Seal::Clear.open(HEADER, &mut good).is_none());
        // The same number of another kind has another nonce: otherwise the same bytes would betray what both say.
        let probe = sealed(&seal, DatagramHeader { kind: DatagramKind::Probe, ..HEADER });
        assert_ne!(probe[HEADER_BYTES..HEADER_BYTES + 7], sealed(&seal, HEADER)[HEADER_BYTES..HEADER_BYTES + 7]);
    }
}
