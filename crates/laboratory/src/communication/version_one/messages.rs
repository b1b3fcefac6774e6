//! The seven messages of figure 11, as structures, in two forms: marshalled (V.1), and as they lie in memory (V.3).
//!
//! The paper gives their lengths; the fields are ours, chosen so that the marshalled forms have those lengths. Invariant: both forms carry the
//! same.

use super::raid_datagrams::{HEADER_BYTES, Header};
use raidcomm::codec::external::{ExternalError, Opaque, append};
use serde::Serialize;
use zerocopy::{Immutable, IntoBytes};

/// Bytes of the longest name of a relation, and of the longest tuples.
const NAME_BYTES: usize = 12;
const TUPLE_BYTES: usize = 76;
const WRITES_BYTES: usize = 108;

/// What a relation looks like.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RelationDescriptor {
    /// Number of the relation.
    pub relation: u32,
    /// Attributes of each tuple.
    pub attributes: u32,
    /// Bytes of each tuple.
    pub tuple_bytes: u32,
    /// Tuples in it.
    pub tuples: u32,
    /// Its name.
    pub name: Opaque<'static>,
}

/// What is said behind a header.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Nothing.
    Null,
    /// A timestamp.
    Timestamp(u32),
    /// What a relation looks like.
    RelationDescriptor(RelationDescriptor),
    /// That, and tuples.
    Relation(RelationDescriptor, [u8; TUPLE_BYTES]),
    /// What a transaction has written.
    WriteRelations {
        /// How many relations.
        relations: u32,
        /// Their tuples.
        tuples: [u8; WRITES_BYTES],
    },
}

/// One of the seven.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// As figure 11 calls it.
    pub name: &'static str,
    /// Bytes of its marshalled form.
    pub bytes: usize,
    /// To how many it is sent.
    pub destinations: usize,
    /// What is said.
    pub body: Body,
}

const DESCRIPTOR: RelationDescriptor =
    RelationDescriptor { relation: 1, attributes: 4, tuple_bytes: 100, tuples: 100, name: Opaque(b"account_list") };
const SHORT_DESCRIPTOR: RelationDescriptor = RelationDescriptor { name: Opaque(b"accounts"), ..DESCRIPTOR };
/// Destinations of a multicast in figure 11.
pub const MULTICAST_DESTINATIONS: usize = 5;

/// The seven, in the order of figure 11.
pub const SEVEN: [Message; 7] = {
    const fn one(name: &'static str, bytes: usize, body: Body) -> Message {
        Message { name, bytes, destinations: 1, body }
    }
    const fn multi(name: &'static str, bytes: usize, body: Body) -> Message {
        Message { name, bytes, destinations: MULTICAST_DESTINATIONS, body }
    }
    [
        one("SendNull", 44, Body::Null),
        multi("MultiNull", 44, Body::Null),
        one("SendTimestamp", 48, Body::Timestamp(5)),
        one("SendRelationDescriptor", 76, Body::RelationDescriptor(DESCRIPTOR)),
        multi("MultiRelationDescriptor", 72, Body::RelationDescriptor(SHORT_DESCRIPTOR)),
        one("SendRelation", 156, Body::Relation(DESCRIPTOR, [6; TUPLE_BYTES])),
        one("SendWriteRelations", 160, Body::WriteRelations { relations: 1, tuples: [7; WRITES_BYTES] }),
    ]
};

/// Every message as it lies in memory: of one size, fields where the compiler has them, nothing converted.
#[derive(Clone, Copy, IntoBytes, Immutable)]
#[repr(C)]
struct InMemory {
    transaction: u64,
    to: [u32; 4],
    from: [u32; 4],
    kind: u32,
    /// Timestamp, number of relations; then the descriptor's fields.
    words: [u32; 5],
    name: [u8; NAME_BYTES],
    tuples: [u8; WRITES_BYTES],
}

impl Message {
    /// Marshals it behind its header, in place of what is in `bytes`.
    ///
    /// # Errors
    /// It has no form: its parts have.
    pub fn marshal(&self, header: &Header, bytes: &mut Vec<u8>) -> Result<(), ExternalError> {
        bytes.clear();
        append(header, bytes)?;
        match &self.body {
            Body::Null => Ok(()),
            Body::Timestamp(timestamp) => append(timestamp, bytes),
            Body::RelationDescriptor(descriptor) => append(descriptor, bytes),
            Body::Relation(descriptor, tuples) => append(&(descriptor, Opaque(tuples)), bytes),
            Body::WriteRelations { relations, tuples } => append(&(relations, Opaque(tuples)), bytes),
        }
    }

    /// Gives it to `send` as it lies in memory, as far as it has fields.
    pub fn as_it_is<T>(&self, header: &Header, send: impl FnOnce(&[u8]) -> T) -> T {
        let name = |address: &identifiers::Address| {
            [address.instance.0 as u32, address.site.0.into(), address.kind as u32, address.number.into()]
        };
        let mut memory = InMemory {
            transaction: header.transaction,
            to: name(&header.to),
            from: name(&header.from),
            kind: header.kind,
            words: [0; 5],
            name: [0; NAME_BYTES],
            tuples: [0; WRITES_BYTES],
        };
        let describe = |descriptor: &RelationDescriptor, memory: &mut InMemory| {
            let RelationDescriptor { relation, attributes, tuple_bytes, tuples, name } = *descriptor;
            memory.words = [0, relation, attributes, tuple_bytes, tuples];
            memory.name[..name.0.len()].copy_from_slice(name.0);
        };
        match &self.body {
            Body::Null => {}
            Body::Timestamp(timestamp) => memory.words[0] = *timestamp,
            Body::RelationDescriptor(descriptor) => describe(descriptor, &mut memory),
            Body::Relation(descriptor, tuples) => {
                describe(descriptor, &mut memory);
                memory.tuples[..TUPLE_BYTES].copy_from_slice(tuples);
            }
            Body::WriteRelations { relations, tuples } => {
                memory.words[0] = *relations;
                memory.tuples = *tuples;
            }
        }
        let bytes = memory.as_bytes();
        // The fields stand in the order in which the messages need them: what a message does not have is left out behind.
        send(&bytes[..self.bytes_in_memory()])
    }

    fn bytes_in_memory(&self) -> usize {
        match self.body {
            Body::Null => std::mem::offset_of!(InMemory, words),
            Body::Timestamp(_) => std::mem::offset_of!(InMemory, words) + 4,
            Body::RelationDescriptor(_) => std::mem::offset_of!(InMemory, tuples),
            Body::Relation(..) => std::mem::offset_of!(InMemory, tuples) + TUPLE_BYTES,
            Body::WriteRelations { .. } => size_of::<InMemory>(),
        }
    }
}

const _: () = assert!(std::mem::offset_of!(InMemory, words) == HEADER_BYTES, "both forms begin alike");

#[cfg(test)]
mod tests {
    use super::*;
    use identifiers::{Address, InstanceId, ServerKind, SiteId};

    /// If this fails, the figures beside the paper's are of other messages.
    #[test]
    fn marshalled_messages_have_the_papers_lengths() {
        let address = Address { instance: InstanceId(1), site: SiteId(1), kind: ServerKind::ActionDriver, number: 0 };
        let header = Header { to: address, from: address, kind: 1, transaction: 1 };
        let mut bytes = Vec::new();
        for message in SEVEN {
            message.marshal(&header, &mut bytes).expect("it has a form");
            assert_eq!(bytes.len(), message.bytes, "{}", message.name);
            let in_memory = message.as_it_is(&header, <[u8]>::len);
            assert!(in_memory >= message.bytes - 4, "{}: {in_memory} bytes carry less", message.name);
        }
    }
}
