//! Bulk transfers at the kernel of the process whose segment is read or written: it only waits for its reply.
//!
//! Invariant: every packet is checked against the exchange under way, its receiver, and the segment that was lent for it. Bytes are
//! put where they belong in any order, without being kept anywhere else.

use super::Kernel;
use super::inflow::BulkInflow;
use super::moving::stream;
use super::process::{Activity, SentMessage};
use crate::identifier::{MessageDestination, ProcessId};
use crate::limits::{CHUNK_BYTES, WINDOW_FIRST};
use crate::memory::LentMemory;
use crate::outbox::PacketRoute;
use crate::packet::{BulkRefusal, PacketBody, PacketHeader, Transfer, WantedChunks};
use crate::planted::PlantedInKernel;

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// The exchange whose segment a packet is about.
    pub(super) fn lending(
        &mut self,
        owner: ProcessId,
        header: &PacketHeader,
        transfer: &Transfer,
        write: bool,
    ) -> Result<&mut SentMessage<M>, BulkRefusal> {
        let (survive, unchecked) =
            (self.has(PlantedInKernel::RightsSurvive), self.has(PlantedInKernel::BoundsUnchecked));
        let process = self.processes.get_mut(&owner).ok_or(BulkRefusal::NotAwaitingReply)?;
        let Activity::Sending(sending) = &mut process.activity else { return Err(BulkRefusal::NotAwaitingReply) };
        let ours = sending.identity == header.identity
            && match sending.to {
                MessageDestination::Process(receiver) => receiver == header.source,
                MessageDestination::Group(_) => !write,
            };
        if !ours && !survive {
            return Err(BulkRefusal::NotAwaitingReply);
        }
        if !(if write { sending.rights.write } else { sending.rights.read }) {
            return Err(BulkRefusal::NoAccess);
        }
        if !sending.rights.contains(transfer.offset, transfer.total) && !unchecked {
            return Err(BulkRefusal::OutOfBounds);
        }
        Ok(sending)
    }

    fn refuse(&mut self, from: Option<A>, owner: ProcessId, header: &PacketHeader, number: u64, reason: BulkRefusal) {
        if self.moved.contains_key(&owner) || (!self.processes.contains_key(&owner) && owner.host() != self.host) {
            // It is elsewhere; its own copies of the message will tell the mover where.
            return;
        }
        self.answer(from, header, owner, &PacketBody::Refused { number, reason });
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one packet")]
    pub(super) fn owner_data(
        &mut self,
        now: u64,
        from: Option<A>,
        owner: ProcessId,
        header: &PacketHeader,
        transfer: &Transfer,
        index: u32,
        data: &[u8],
        ask: bool,
    ) {
        let wait = self.hints.wait(header.source, 0);
        let sending = match self.lending(owner, header, transfer, true) {
            Ok(sending) => sending,
            Err(reason) => return self.refuse(from, owner, header, transfer.number, reason),
        };
        sending.hear(now);
        if transfer.number <= sending.moved {
            if ask && transfer.number == sending.moved {
                self.answer(from, header, owner, &PacketBody::Done { number: transfer.number });
            }
            return;
        }
        if sending.inflow.as_ref().is_none_or(|inflow| inflow.transfer.number < transfer.number) {
            sending.inflow = Some(BulkInflow::new(now, *transfer, WINDOW_FIRST, wait));
        }
        let Some(inflow) = sending.inflow.as_mut().filter(|inflow| inflow.transfer == *transfer) else { return };
        if inflow.take(now, index) {
            let start = transfer.offset as usize + index as usize * CHUNK_BYTES;
            let memory = sending.segment.as_mut().and_then(LentMemory::writable).unwrap_or_default();
            if let Some(place) = memory.get_mut(start..start + data.len()) {
                place.copy_from_slice(data);
            }
        }
        if inflow.is_complete() {
            (sending.moved, sending.inflow) = (transfer.number, None);
            return self.answer(from, header, owner, &PacketBody::Done { number: transfer.number });
        }
        let mut pulls = inflow.pulls(now);
        if pulls.is_empty() && ask {
            pulls.push(WantedChunks::from(0));
        }
        self.pull_to(from.map(PacketRoute::Place), owner, header, transfer, pulls);
        self.arm(owner);
    }

    fn pull_to(
        &mut self,
        route: Option<PacketRoute<A>>,
        owner: ProcessId,
        header: &PacketHeader,
        transfer: &Transfer,
        pulls: Vec<WantedChunks>,
    ) {
        let answer = self.header(header.identity, owner, header.source);
        for wanted in pulls {
            let wanted = self.shifted(wanted);
            self.post(route, &answer, &PacketBody::Pull { to_owner: false, transfer: *transfer, wanted });
        }
    }

    pub(super) fn owner_pull(
        &mut self,
        now: u64,
        from: Option<A>,
        owner: ProcessId,
        header: &PacketHeader,
        transfer: &Transfer,
        wanted: &WantedChunks,
    ) {
        match self.lending(owner, header, transfer, false) {
            Ok(sending) => sending.hear(now),
            Err(reason) => return self.refuse(from, owner, header, transfer.number, reason),
        }
        let answer = self.header(header.identity, owner, header.source);
        let Some(Activity::Sending(sending)) = self.processes.get(&owner).map(|process| &process.activity) else {
            return;
        };
        let segment = sending.segment.as_ref().and_then(LentMemory::readable).unwrap_or_default();
        let memory = segment.get(transfer.offset as usize..).unwrap_or_default();
        stream(&mut self.outbox, from.map(PacketRoute::Place), &answer, false, transfer, memory, wanted.chunks());
    }

    /// Asks again for chunks of a transfer that has come to a halt.
    pub(super) fn owner_due(&mut self, now: u64, owner: ProcessId) {
        let Some(Activity::Sending(sending)) = self.processes.get_mut(&owner).map(|process| &mut process.activity)
        else {
            return;
        };
        let (Some(inflow), MessageDestination::Process(mover)) = (&mut sending.inflow, sending.to) else { return };
        if inflow.due > now {
            return;
        }
        inflow.time_out(now);
        let (pulls, transfer, identity) = (inflow.pulls(now), inflow.transfer, sending.identity);
        let route = self.route(mover);
        let header = self.header(identity, mover, owner);
        self.pull_to(route, owner, &header, &transfer, pulls);
    }
}
