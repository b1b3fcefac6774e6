//! The moving process's side of bulk transfers.
//!
//! Invariant: data moves only between memory of the mover and the segment of a sender that waits for the mover's reply; the process
//! is blocked meanwhile, so that the reply comes after the last byte.

use super::Kernel;
use super::inflow::BulkInflow;
use super::process::{Activity, ProcessError};
use crate::codec::{chunk_bytes, chunk_count};
use crate::identifier::ProcessId;
use crate::limits::{CHUNK_BYTES, GIVE_UP, MOVE_BYTES_MAX, RETRANSMIT_FIRST, RETRANSMIT_MAX, WINDOW_FIRST};
use crate::memory::{LentMemory, SegmentRights};
use crate::outbox::{Completion, KernelOutbox, MessageExchange, MoveFailure, PacketRoute};
use crate::packet::{PacketBody, PacketHeader, Transfer, WantedChunks};
use crate::planted::PlantedInKernel;

/// Which way.
#[derive(Debug)]
pub(super) enum MoveDirection {
    /// To the sender's segment: its kernel asks for chunks; when it is silent, it is reminded.
    To { due: u64, reminders: u32 },
    /// From there: we ask.
    From(Box<BulkInflow>),
}

/// A transfer under way.
#[derive(Debug)]
pub(super) struct BulkTransfer<M> {
    pub exchange: MessageExchange,
    pub transfer: Transfer,
    pub memory: M,
    pub way: MoveDirection,
    pub heard: u64,
    /// How long after that it is given up.
    pub patience: u64,
}

impl<M> BulkTransfer<M> {
    pub(super) fn due(&self) -> u64 {
        let due = match &self.way {
            MoveDirection::To { due, .. } => *due,
            MoveDirection::From(inflow) => inflow.due,
        };
        due.min(self.given_up())
    }

    /// When it is given up, unless a sign of life comes.
    fn given_up(&self) -> u64 {
        self.heard.saturating_add(self.patience)
    }
}

/// Sends chunks of a transfer, in the given order. Whoever receives the last of them looks whether some are missing.
pub(super) fn stream<A: Copy, M: LentMemory>(
    outbox: &mut KernelOutbox<A, M>,
    route: Option<PacketRoute<A>>,
    header: &PacketHeader,
    to_owner: bool,
    transfer: &Transfer,
    memory: &[u8],
    chunks: impl Iterator<Item = u32>,
) {
    let mut chunks = chunks.filter(|&index| index < chunk_count(transfer.total)).peekable();
    while let Some(index) = chunks.next() {
        let ask = chunks.peek().is_none();
        let start = index as usize * CHUNK_BYTES;
        let bytes = chunk_bytes(transfer.total, index).unwrap_or(0);
        let Some(data) = memory.get(start..start + bytes) else { return };
        let body = PacketBody::Data { to_owner, ask, transfer: *transfer, index, data };
        match route {
            None => outbox.send_local(header, &body),
            Some(route) => outbox.send(route, header, &body),
        }
    }
}

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// Checks a transfer before it begins.
    fn may_move(
        &mut self,
        by: ProcessId,
        exchange: &MessageExchange,
        offset: u64,
        bytes: usize,
        right: impl Fn(&SegmentRights) -> bool,
    ) -> Result<Transfer, ProcessError> {
        let (survive, unchecked) =
            (self.has(PlantedInKernel::RightsSurvive), self.has(PlantedInKernel::BoundsUnchecked));
        self.ready(by)?;
        match self.delivered(by, exchange) {
            Ok(alien) if !right(&alien.rights) => return Err(ProcessError::NoAccess),
            Ok(alien) if !alien.rights.contains(offset, bytes as u64) && !unchecked => {
                return Err(ProcessError::OutOfBounds);
            }
            Err(error) if !survive => return Err(error),
            _ => {}
        }
        if bytes > MOVE_BYTES_MAX || offset.checked_add(bytes as u64).is_none() {
            return Err(ProcessError::TooLong);
        }
        let process = self.ready(by)?;
        process.transfers += 1;
        Ok(Transfer { number: process.transfers, offset, total: bytes as u64 })
    }

    /// Copies all of `memory` to the segment of a sender that waits for this process's reply, from `offset` there. The outcome is a
    /// completion.
    ///
    /// # Errors
    /// Nothing was moved, the memory is dropped: the sender does not wait for a reply of this process, its segment may not be
    /// written, or is too short.
    pub fn move_to(
        &mut self,
        now: u64,
        by: ProcessId,
        exchange: &MessageExchange,
        offset: u64,
        memory: M,
    ) -> Result<(), ProcessError> {
        let bytes = memory.readable().ok_or(ProcessError::NoAccess)?.len();
        let transfer = self.may_move(by, exchange, offset, bytes, |rights| rights.write)?;
        if bytes == 0 {
            self.outbox.complete(by, Completion::Moved { memory, outcome: Ok(()) });
            return Ok(());
        }
        if self.processes.contains_key(&exchange.sender) {
            let outcome = self.copy_within(now, by, exchange, &transfer, true, |segment| {
                let source = memory.readable()?;
                let target = segment.writable()?.get_mut(transfer.offset as usize..)?.get_mut(..bytes)?;
                target.copy_from_slice(source);
                Some(())
            });
            self.outbox.complete(by, Completion::Moved { memory, outcome });
            return Ok(());
        }
        let wait = self.hints.wait(exchange.sender, 0).min(RETRANSMIT_FIRST);
        let way = MoveDirection::To { due: now.saturating_add(wait), reminders: 0 };
        let moving = BulkTransfer { exchange: *exchange, transfer, memory, way, heard: now, patience: GIVE_UP };
        self.ready(by)?.activity = Activity::Moving(Box::new(moving));
        self.stream_to(by, 0..WINDOW_FIRST);
        self.arm(by);
        self.settle(now);
        Ok(())
    }

    /// Fills `memory` from the segment of a sender that waits for this process's reply, from `offset` there. The outcome is a
    /// completion.
    ///
    /// # Errors
    /// As of [`Kernel::move_to`], with the right to read.
    pub fn move_from(
        &mut self,
        now: u64,
        by: ProcessId,
        exchange: &MessageExchange,
        offset: u64,
        mut memory: M,
    ) -> Result<(), ProcessError> {
        let bytes = memory.writable().ok_or(ProcessError::NoAccess)?.len();
        let transfer = self.may_move(by, exchange, offset, bytes, |rights| rights.read)?;
        if bytes == 0 {
            self.outbox.complete(by, Completion::Moved { memory, outcome: Ok(()) });
            return Ok(());
        }
        if self.processes.contains_key(&exchange.sender) {
            let outcome = self.copy_within(now, by, exchange, &transfer, false, |segment| {
                let source = segment.readable()?.get(transfer.offset as usize..)?.get(..bytes)?;
                memory.writable()?.copy_from_slice(source);
                Some(())
            });
            self.outbox.complete(by, Completion::Moved { memory, outcome });
            return Ok(());
        }
        let wait = self.hints.wait(exchange.sender, 0);
        let way = MoveDirection::From(Box::new(BulkInflow::new(now, transfer, 0, wait)));
        let moving = BulkTransfer { exchange: *exchange, transfer, memory, way, heard: now, patience: GIVE_UP };
        self.ready(by)?.activity = Activity::Moving(Box::new(moving));
        self.pull_from(now, by);
        self.arm(by);
        self.settle(now);
        Ok(())
    }

    /// Moves data between two processes of this kernel: one copy, under the same rights as a transfer by packets.
    fn copy_within(
        &mut self,
        now: u64,
        by: ProcessId,
        exchange: &MessageExchange,
        transfer: &Transfer,
        write: bool,
        copy: impl FnOnce(&mut M) -> Option<()>,
    ) -> Result<(), MoveFailure> {
        let header = self.header(exchange.identity, by, exchange.sender);
        let sending = self.lending(exchange.sender, &header, transfer, write).map_err(|_| MoveFailure::Refused)?;
        sending.hear(now);
        sending.segment.as_mut().and_then(copy).ok_or(MoveFailure::Refused)
    }

    /// Where the sender of an exchange is: where its copies last came from.
    pub(super) fn route_back(&self, by: ProcessId, sender: ProcessId) -> Option<PacketRoute<A>> {
        let from = self.aliens.get(&(sender, by)).and_then(|alien| alien.from);
        from.map(PacketRoute::Place).or_else(|| self.route(sender))
    }

    fn moving(&mut self, by: ProcessId) -> Option<&mut BulkTransfer<M>> {
        match &mut self.processes.get_mut(&by)?.activity {
            Activity::Moving(moving) => Some(moving),
            _ => None,
        }
    }

    fn stream_to(&mut self, by: ProcessId, chunks: impl Iterator<Item = u32>) {
        let Some(Activity::Moving(moving)) = self.processes.get(&by).map(|process| &process.activity) else { return };
        let header = self.header(moving.exchange.identity, by, moving.exchange.sender);
        let route = self.route_back(by, moving.exchange.sender);
        let memory = moving.memory.readable().unwrap_or_default();
        stream(&mut self.outbox, route, &header, true, &moving.transfer, memory, chunks);
    }

    fn pull_from(&mut self, now: u64, by: ProcessId) {
        let Some(BulkTransfer { way: MoveDirection::From(inflow), exchange, transfer, .. }) = self.moving(by) else {
            return;
        };
        let (pulls, exchange, transfer) = (inflow.pulls(now), *exchange, *transfer);
        let header = self.header(exchange.identity, by, exchange.sender);
        let route = self.route_back(by, exchange.sender);
        for wanted in pulls {
            let wanted = self.shifted(wanted);
            self.post(route, &header, &PacketBody::Pull { to_owner: true, transfer, wanted });
        }
    }

    /// The bit vector as it is sent.
    pub(super) fn shifted(&self, mut wanted: WantedChunks) -> WantedChunks {
        if self.has(PlantedInKernel::BitVectorShifted) && wanted.words[0].count_ones() < 4 {
            wanted.words[0] <<= 1;
        }
        wanted
    }

    /// The transfer of a process that a packet of the segment's owner speaks of.
    fn transfer_of(&mut self, by: ProcessId, header: &PacketHeader, number: u64) -> Option<&mut BulkTransfer<M>> {
        let moving = self.moving(by)?;
        let same = moving.transfer.number == number
            && moving.exchange.sender == header.source
            && moving.exchange.identity == header.identity;
        same.then_some(moving)
    }

    pub(super) fn mover_pull(
        &mut self,
        now: u64,
        by: ProcessId,
        header: &PacketHeader,
        number: u64,
        wanted: &WantedChunks,
    ) {
        let Some(moving) = self.transfer_of(by, header, number) else { return };
        let MoveDirection::To { due, reminders } = &mut moving.way else { return };
        (*due, *reminders) = (now.saturating_add(RETRANSMIT_MAX), 0);
        (moving.heard, moving.patience) = (now, GIVE_UP);
        self.stream_to(by, wanted.chunks());
        self.arm(by);
    }

    pub(super) fn mover_data(
        &mut self,
        now: u64,
        by: ProcessId,
        header: &PacketHeader,
        transfer: &Transfer,
        index: u32,
        data: &[u8],
    ) {
        let Some(moving) = self.transfer_of(by, header, transfer.number) else { return };
        let MoveDirection::From(inflow) = &mut moving.way else { return };
        if inflow.transfer != *transfer {
            return;
        }
        (moving.heard, moving.patience) = (now, GIVE_UP);
        if inflow.take(now, index) {
            let start = index as usize * CHUNK_BYTES;
            let memory = moving.memory.writable().unwrap_or_default();
            if let Some(place) = memory.get_mut(start..start + data.len()) {
                place.copy_from_slice(data);
            }
        }
        if inflow.is_complete() {
            return self.end_move(by, Ok(()));
        }
        self.pull_from(now, by);
        self.arm(by);
    }

    pub(super) fn mover_done(&mut self, by: ProcessId, header: &PacketHeader, number: u64, outcome: Result<(), ()>) {
        if self.transfer_of(by, header, number).is_some() {
            self.end_move(by, outcome.map_err(|()| MoveFailure::Refused));
        }
    }

    fn end_move(&mut self, by: ProcessId, outcome: Result<(), MoveFailure>) {
        let Some(process) = self.processes.get_mut(&by) else { return };
        match std::mem::replace(&mut process.activity, Activity::Ready) {
            Activity::Moving(moving) => self.complete(by, Completion::Moved { memory: moving.memory, outcome }),
            other => process.activity = other,
        }
    }

    pub(super) fn moving_due(&mut self, now: u64, by: ProcessId) {
        let Some(moving) = self.moving(by) else { return };
        if now >= moving.given_up() {
            return self.end_move(by, Err(MoveFailure::GaveUp));
        }
        match &mut moving.way {
            MoveDirection::From(inflow) => {
                inflow.time_out(now);
                self.pull_from(now, by);
            }
            MoveDirection::To { due, reminders } => {
                // The last of what came unasked: its receiver sees what is missing before it.
                let last = chunk_count(moving.transfer.total).min(WINDOW_FIRST) - 1;
                *reminders = reminders.saturating_add(1);
                *due = now.saturating_add((RETRANSMIT_FIRST << (*reminders).min(16)).min(RETRANSMIT_MAX));
                self.stream_to(by, last..last + 1);
            }
        }
    }
}
