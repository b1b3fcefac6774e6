//! Notes: short messages that are a datagram each, between two peers that have a connection, for threads that share nothing with it.
//!
//! A note arrives once, or not at all; one that an earlier number overtook is dropped. With keys, which both ends export from their connections
//! ([`crate::streams::Streams::export_keying_material`]), nobody else can read or forge one; without, a checksum finds damage. Invariant: no number is used
//! twice with one key, so the same keys given again change nothing.

use super::packet::{DatagramHeader, DatagramKind, HEADER_BYTES, MATERIAL_BYTES};
use super::seal::Seal;
use identifiers::{InstanceId, SiteId};

/// Bytes of key material that a side sends with, or receives with.
pub const KEY_BYTES: usize = MATERIAL_BYTES;
/// Bytes of a note's message at most.
pub const NOTE_BYTES_MAX: usize = 1_024;
/// Bytes of a datagram with a note at most.
pub const DATAGRAM_BYTES: usize = HEADER_BYTES + NOTE_BYTES_MAX + 16;
/// Bits of an identifier that are the sender's number.
const SITE_BITS: u32 = 16;

/// Key material of both directions.
#[derive(Clone, PartialEq, Eq)]
pub struct NoteKeys {
    /// For what we send.
    pub sending: [u8; KEY_BYTES],
    /// For what the peer sends.
    pub receiving: [u8; KEY_BYTES],
}

impl std::fmt::Debug for NoteKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("NoteKeys")
    }
}

/// What is written to one peer and read from it.
#[derive(Debug)]
pub struct Correspondence {
    own: u64,
    theirs: u64,
    keys: Option<NoteKeys>,
    sending: Seal,
    receiving: Seal,
    next: u64,
    /// Numbers below this have come, or come too late.
    expected: u64,
}

/// The site that a datagram says it comes from, if it can be a note of this instance. Nothing is proven by it.
pub fn sender(instance: InstanceId, datagram: &[u8]) -> Option<SiteId> {
    let header = DatagramHeader::decode(datagram)?;
    let site = SiteId(header.id as u16);
    (header.kind == DatagramKind::Frames && header.id == identifier(instance, site)).then_some(site)
}

fn identifier(instance: InstanceId, site: SiteId) -> u64 {
    (instance.0 << SITE_BITS) | u64::from(site.0)
}

impl Correspondence {
    /// Between two sites of an instance: with keys, or in clear.
    pub fn new(instance: InstanceId, own: SiteId, peer: SiteId, keys: Option<NoteKeys>) -> Correspondence {
        Correspondence {
            own: identifier(instance, own),
            theirs: identifier(instance, peer),
            sending: Seal::new(keys.as_ref().map(|keys| &keys.sending)),
            receiving: Seal::new(keys.as_ref().map(|keys| &keys.receiving)),
            keys,
            next: 0,
            expected: 0,
        }
    }

    /// The keys that it has.
    pub fn keys(&self) -> Option<&NoteKeys> {
        self.keys.as_ref()
    }

    /// Writes the datagram with this message, in the place of what is in `datagram`.
    ///
    /// # Panics
    /// If the message is longer than [`NOTE_BYTES_MAX`].
    pub fn write(&mut self, message: &[u8], datagram: &mut Vec<u8>) {
        assert!(message.len() <= NOTE_BYTES_MAX, "a note is short");
        let header = DatagramHeader { kind: DatagramKind::Frames, from_maker: true, id: self.own, number: self.next };
        self.next += 1;
        datagram.clear();
        datagram.extend_from_slice(&header.encode());
        datagram.extend_from_slice(message);
        self.sending.seal(header, datagram, 0);
    }

    /// The message in a datagram; `None`: it is not the peer's, or late.
    pub fn read<'a>(&mut self, datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        let header = DatagramHeader::decode(datagram)?;
        // In clear a peer that was started anew counts from 0 again.
        let is_due = header.number >= self.expected || !self.receiving.is_keyed();
        if header.kind != DatagramKind::Frames || !header.from_maker || header.id != self.theirs || !is_due {
            return None;
        }
        let message = self.receiving.open(header, datagram)?;
        self.expected = header.number.saturating_add(1);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INSTANCE: InstanceId = InstanceId(7);

    fn pair(keyed: bool) -> [Correspondence; 2] {
        let keys = |sending, receiving| keyed.then_some(NoteKeys { sending: [sending; _], receiving: [receiving; _] });
        let (a, b) = (SiteId(1), SiteId(2));
        [Correspondence::new(INSTANCE, a, b, keys(1, 2)), Correspondence::new(INSTANCE, b, a, keys(2, 1))]
    }

    /// A lease that somebody else could grant, or grant once more, would let a site read what is no longer current.
    #[test]
    fn a_note_is_its_senders_and_comes_once() {
        for keyed in [false, true] {
            let [mut a, mut b] = pair(keyed);
            let (mut first, mut second) = (Vec::new(), Vec::new());
            a.write(b"first", &mut first);
            a.write(b"second", &mut second);
            assert_eq!(sender(INSTANCE, &first), Some(SiteId(1)));
            assert_eq!(sender(InstanceId(8), &first), None);
            for bit in 0..8 * second.len() {
                let mut bad = second.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(b.read(&mut bad), None, "bit {bit} was flipped");
            }
            assert_eq!(b.read(&mut second.clone()), Some(&b"second"[..]));
            if keyed {
                assert_eq!(b.read(&mut second), None, "it has come");
                assert_eq!(b.read(&mut first), None, "it comes late");
                let [_, mut other] = pair(false);
                let mut third = Vec::new();
                a.write(b"third", &mut third);
                assert_eq!(other.read(&mut third), None, "without the key");
            }
        }
    }

    proptest! {
        /// Whatever comes from the network, reading ends.
        #[test]
        fn nonsense_is_nothing(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), keyed: bool) {
            let [_, mut b] = pair(keyed);
            prop_assert!(b.read(&mut bytes).is_none());
        }
    }
}
