//! What comes in of one numbered sequence of datagrams: opened, taken once, joined to frames.

use super::packet::{Chunk, Header, MATERIAL_BYTES};
use super::pieces::Joining;
use super::planted::Planted;
use super::received::{Received, Verdict};
use super::seal::Seal;
use super::{DatagramCounters, Stray};
use crate::fields::Fields;
use bytes::Bytes;

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct Inflow {
    seal: Seal,
    pub received: Received,
    joining: Joining,
    planted: Option<Planted>,
}

impl Inflow {
    /// Counts from a number on.
    pub(super) fn new(from: u64, material: Option<&[u8; MATERIAL_BYTES]>, planted: Option<Planted>) -> Inflow {
        let (received, joining) = (Received::new(from, planted), Joining::default());
        Inflow { seal: Seal::new(material), received, joining, planted }
    }

    /// Opens a datagram in its place.
    pub(super) fn open<'a>(&self, header: Header, datagram: &'a mut [u8]) -> Result<Fields<'a>, Stray> {
        self.seal.open(header, datagram).map(Fields).ok_or(Stray::Forged)
    }

    /// Takes the chunks of a datagram that has been opened, unless it has come before. Frames are appended to `arrived`; the invitation comes
    /// back that was among them.
    pub(super) fn take<'a>(
        &mut self,
        now: u64,
        number: u64,
        mut fields: Fields<'a>,
        arrived: &mut Vec<Bytes>,
        counters: &mut DatagramCounters,
    ) -> Result<Option<Chunk<'a>>, Stray> {
        let mut invitation = None;
        match self.received.take(number, now) {
            Verdict::New => {}
            Verdict::Again if self.planted == Some(Planted::TakenTwice) => {}
            Verdict::Again => {
                counters.datagrams_twice += 1;
                return Ok(None);
            }
            Verdict::Ahead => return Ok(None),
        }
        while let Some(chunk) = Chunk::next(&mut fields)? {
            match chunk {
                Chunk::Whole(bytes) => arrived.push(Bytes::copy_from_slice(bytes)),
                Chunk::Piece { frame, total, offset, bytes } => {
                    let offset = if self.planted == Some(Planted::PieceAtBegin) { 0 } else { offset };
                    arrived.extend(self.joining.take(frame, total, offset, bytes).map_err(|()| Stray::Malformed)?);
                }
                Chunk::Invitation { material, .. } => {
                    // Secrets are told in secret, and where everything is secret nothing is in clear.
                    let fits = material.is_some() == self.seal.is_keyed();
                    invitation = Some(Some(chunk).filter(|_| fits).ok_or(Stray::Malformed)?);
                }
            }
        }
        Ok(invitation)
    }
}
