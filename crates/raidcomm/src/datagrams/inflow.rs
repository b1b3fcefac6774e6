//! What comes in of one numbered sequence of datagrams: opened, taken once and in order, joined to frames.
//!
//! A datagram that comes before one with a lower number waits for it. The protocols above would bear it otherwise, but not well: who
//! hears of a transaction before the decision on the one that it follows has to take the two for rivals.

use super::packet::{Chunk, DatagramHeader, MATERIAL_BYTES};
use super::pieces::JoiningFrame;
use super::planted::PlantedInDatagrams;
use super::received::{DatagramVerdict, ReceivedDatagrams};
use super::seal::Seal;
use super::{DatagramCounters, Stray};
use crate::fields::FieldReader;
use crate::limits::EARLY_BYTES_MAX;
use bytes::Bytes;
use std::collections::BTreeMap;

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct FrameInflow {
    seal: Seal,
    pub received: ReceivedDatagrams,
    /// The number of the datagram that comes next.
    next: u64,
    /// What has come before it, by number: no more than [`ReceivedDatagrams`] remembers.
    early: BTreeMap<u64, Bytes>,
    /// How many bytes that is.
    early_bytes: usize,
    joining: JoiningFrame,
    planted: Option<PlantedInDatagrams>,
}

/// The other side's invitation into its group: the group, the first number, the secret.
pub(super) type Invited = (u64, u64, Option<[u8; MATERIAL_BYTES]>);

impl FrameInflow {
    /// Counts from a number on.
    pub(super) fn new(
        from: u64,
        material: Option<&[u8; MATERIAL_BYTES]>,
        planted: Option<PlantedInDatagrams>,
    ) -> FrameInflow {
        FrameInflow {
            seal: Seal::new(material),
            received: ReceivedDatagrams::new(from, planted),
            next: from,
            early: BTreeMap::new(),
            early_bytes: 0,
            joining: JoiningFrame::default(),
            planted,
        }
    }

    /// Opens a datagram in its place.
    pub(super) fn open<'a>(&self, header: DatagramHeader, datagram: &'a mut [u8]) -> Result<FieldReader<'a>, Stray> {
        self.seal.open(header, datagram).map(FieldReader).ok_or(Stray::Forged)
    }

    /// Takes the chunks of a datagram that has been opened, unless it has come before, and of those that have waited for it. Frames are
    /// appended to `arrived`; the invitation comes back that was among them.
    pub(super) fn take(
        &mut self,
        now: u64,
        number: u64,
        chunks: FieldReader<'_>,
        arrived: &mut Vec<Bytes>,
        counters: &mut DatagramCounters,
    ) -> Result<Option<Invited>, Stray> {
        let is_early = number > self.next;
        if is_early && self.early_bytes + chunks.0.len() > EARLY_BYTES_MAX {
            // Its sender sends it again.
            return Ok(None);
        }
        match self.received.take(number, now) {
            DatagramVerdict::New => {}
            DatagramVerdict::Again if self.planted == Some(PlantedInDatagrams::TakenTwice) => {
                return self.take_chunks(chunks, arrived);
            }
            DatagramVerdict::Again => {
                counters.datagrams_twice += 1;
                return Ok(None);
            }
            DatagramVerdict::Ahead => return Ok(None),
        }
        if is_early && self.planted != Some(PlantedInDatagrams::Overtaken) {
            self.early_bytes += chunks.0.len();
            self.early.insert(number, Bytes::copy_from_slice(chunks.0));
            return Ok(None);
        }
        let mut invited = self.take_chunks(chunks, arrived);
        self.next = number + 1;
        while let Some(early) = self.early.remove(&self.next) {
            self.next += 1;
            self.early_bytes -= early.len();
            // One that breaks the rules does not hold up those after it.
            let later = self.take_chunks(FieldReader(&early), arrived);
            if !matches!(invited, Ok(Some(_))) {
                invited = later;
            }
        }
        invited
    }

    fn take_chunks(&mut self, mut fields: FieldReader<'_>, arrived: &mut Vec<Bytes>) -> Result<Option<Invited>, Stray> {
        let mut invited = None;
        while let Some(chunk) = Chunk::next(&mut fields)? {
            match chunk {
                Chunk::Whole(_) if self.joining.is_within() => return Err(Stray::Malformed),
                Chunk::Whole(bytes) => arrived.push(Bytes::copy_from_slice(bytes)),
                Chunk::Piece { total, offset, bytes } => {
                    let bytes = if self.planted == Some(PlantedInDatagrams::PieceCut) {
                        &bytes[..bytes.len() / 2]
                    } else {
                        bytes
                    };
                    arrived.extend(self.joining.take(total, offset, bytes)?);
                }
                Chunk::Invitation { id, from, material } => {
                    // Secrets are told in secret, and where everything is secret nothing is in clear.
                    if material.is_some() != self.seal.is_keyed() {
                        return Err(Stray::Malformed);
                    }
                    invited = Some((id, from, material.copied()));
                }
            }
        }
        Ok(invited)
    }
}
