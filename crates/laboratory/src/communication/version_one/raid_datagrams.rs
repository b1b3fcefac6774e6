//! Raid datagrams: the destination is named by the 4-tuple, and where that is stands in a cache, as the oracle has told it.
//!
//! Invariant: a datagram is sent only to a server that the cache knows.

use super::long_datagrams::LongDatagrams;
use identifiers::{Address, InstanceId, ServerKind, SiteId};
use laboratory_harness::{Failure, Outcome};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

/// Bytes of the two names and of what is said, before the message's own.
pub const HEADER_BYTES: usize = 44;

/// Who sends what to whom, for which transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Who is to receive it.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub to: Address,
    /// Who sends it.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub from: Address,
    /// Which message.
    pub kind: u32,
    /// For which transaction.
    pub transaction: u64,
}

/// A 4-tuple as V.1 sends it, a unit for each part.
#[derive(Serialize, Deserialize)]
struct Name {
    /// The papers' instances are small numbers; ours are random, and their lower half tells them apart.
    instance: u32,
    site: SiteId,
    kind: ServerKind,
    number: u16,
}

fn encode<S: Serializer>(address: &Address, serializer: S) -> Result<S::Ok, S::Error> {
    let Address { instance, site, kind, number } = *address;
    Name { instance: instance.0 as u32, site, kind, number }.serialize(serializer)
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
    let Name { instance, site, kind, number } = Name::deserialize(deserializer)?;
    Ok(Address { instance: InstanceId(instance.into()), site, kind, number })
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
    use raidcomm::codec::external;

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
        let mut bytes = Vec::new();
        external::append(&header, &mut bytes).expect("it has a form");
        assert_eq!(bytes.len(), HEADER_BYTES);
        assert_eq!(external::read(&bytes), Ok(header));
        // A kind of server that there is not.
        bytes[11] = 99;
        assert!(external::read::<Header>(&bytes).is_err());
    }
}
