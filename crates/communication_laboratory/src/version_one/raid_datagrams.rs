//! Raid datagrams: the destination is named by the 4-tuple, and where that is stands in a cache, as the oracle has told it.
//!
//! Invariant: a datagram is sent only to a server that the cache knows.

use super::external::{Decoder, Encoder};
use super::long_datagrams::LongDatagrams;
use crate::failure::{Failure, Outcome};
use raidcomm::address::{Address, InstanceId, ServerKind, SiteId};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

/// Bytes of the two names and of what is said, before the message's own.
pub const HEADER_BYTES: usize = 44;

/// Who sends what to whom, for which transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Who is to receive it.
    pub to: Address,
    /// Who sends it.
    pub from: Address,
    /// Which message.
    pub kind: u32,
    /// For which transaction.
    pub transaction: u64,
}

fn encode_address(address: Address, encoder: &mut Encoder) {
    // The papers' instances are small numbers; ours are random, and their lower half tells them apart.
    for part in [address.instance.0 as u32, address.site.0.into(), address.kind as u32, address.number.into()] {
        encoder.unsigned(part);
    }
}

fn decode_address(decoder: &mut Decoder<'_>) -> Option<Address> {
    let [instance, site, kind, number] =
        [decoder.unsigned()?, decoder.unsigned()?, decoder.unsigned()?, decoder.unsigned()?];
    Some(Address {
        instance: InstanceId(instance.into()),
        site: SiteId(site.try_into().ok()?),
        kind: *ServerKind::ALL.get(kind as usize)?,
        number: number.try_into().ok()?,
    })
}

impl Header {
    /// Puts it before a message.
    pub fn encode(&self, encoder: &mut Encoder) {
        encode_address(self.to, encoder);
        encode_address(self.from, encoder);
        encoder.unsigned(self.kind);
        encoder.hyper(self.transaction);
    }

    /// Takes it from before a message. `None`: it is none.
    pub fn decode(decoder: &mut Decoder<'_>) -> Option<Header> {
        Some(Header {
            to: decode_address(decoder)?,
            from: decode_address(decoder)?,
            kind: decoder.unsigned()?,
            transaction: decoder.hyper()?,
        })
    }
}

/// Sends and receives by name.
#[derive(Debug)]
pub struct RaidDatagrams {
    datagrams: LongDatagrams,
    places: HashMap<Address, SocketAddr>,
}

impl RaidDatagrams {
    /// Over these, to servers at these places.
    pub fn new(datagrams: LongDatagrams, places: HashMap<Address, SocketAddr>) -> RaidDatagrams {
        RaidDatagrams { datagrams, places }
    }

    /// Learns where a server is.
    pub fn learn(&mut self, server: Address, place: SocketAddr) {
        self.places.insert(server, place);
    }

    /// Sends a message that begins with a header which names this destination.
    ///
    /// # Errors
    /// The cache does not know the destination, or the operating system refuses.
    pub fn send(&mut self, to: Address, message: &[u8]) -> Outcome<()> {
        let place = self.places.get(&to).copied();
        let place = place.ok_or_else(|| Failure::Wrong(format!("nobody has told where {to} is")))?;
        self.datagrams.send(message, place)
    }

    /// Waits for a message of at most `bytes_max`.
    ///
    /// # Errors
    /// The socket's.
    pub fn receive(&mut self, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<SocketAddr> {
        self.datagrams.receive(into, bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, messages are longer than the papers' are, or reach somebody else.
    #[test]
    fn a_header_has_its_length_and_comes_back() {
        let address = |site| Address {
            instance: InstanceId(7),
            site: SiteId(site),
            kind: ServerKind::AtomicityController,
            number: 1,
        };
        let header = Header { to: address(1), from: address(2), kind: 3, transaction: 4 };
        let mut encoder = Encoder::default();
        header.encode(&mut encoder);
        assert_eq!(encoder.bytes.len(), HEADER_BYTES);
        assert_eq!(Header::decode(&mut Decoder(&encoder.bytes)), Some(header));
        // A kind of server that there is not.
        encoder.bytes[11] = 99;
        assert_eq!(Header::decode(&mut Decoder(&encoder.bytes)), None);
    }
}
