//! The client's end: calls, one or several at a time.

use super::segment::{Phase, State};
use super::waiting::{Waited, now};
use super::{End, LineError, Shape, greeting};
use crate::limits::SLOTS_MAX;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// Whether the server has executed a request whose reply will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has not, and never will: the request can be made elsewhere.
    NotExecuted,
    /// It had taken the request: nobody knows.
    Unknown,
}

impl Fate {
    const fn name(self) -> &'static str {
        match self {
            Fate::NotExecuted => "not executed",
            Fate::Unknown => "perhaps executed",
        }
    }
}

/// Why there is no reply.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// Nothing was sent.
    #[error("a request of {bytes} bytes, and a line for {bytes_max}")]
    TooLong {
        /// Of the request.
        bytes: usize,
        /// Of a slot.
        bytes_max: u32,
    },
    /// Nothing was sent: end another call first.
    #[error("all slots of the line have calls under way")]
    Full,
    /// The server's process has ended, or it has closed the line. All other calls end in this way, too.
    #[error("the server is gone; the request is {}", .0.name())]
    Gone(Fate),
    /// The time is over. The call is still under way: ask for its reply again, or abandon it.
    #[error("no reply in time")]
    TimedOut(Ticket),
    /// The time is over, and nobody waits for the reply any more.
    #[error("no reply in time; the request is {}", .0.name())]
    GivenUp(Fate),
    /// The server has broken the protocol. Drop the line.
    #[error("the server has written what it may not")]
    Broken,
}

/// A call under way.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the reply of a call that is not finished keeps its slot"]
pub struct Ticket {
    slot: u32,
    used: State,
}

/// The client's end of a line. Of one thread at a time: other threads have lines of their own.
#[derive(Debug)]
pub struct Client {
    pub(super) end: End,
    /// Slots that this side may use.
    free: u32,
    /// Slots whose replies are there.
    replied: u32,
    /// Slots whose replies nobody wants.
    abandoned: u32,
}

impl Client {
    /// Makes a line with the server that listens at `path`. The two processes see each other's process ids: they are in one PID
    /// namespace.
    ///
    /// # Errors
    /// Nobody listens, the shape is out of bounds, or the server refuses.
    pub fn connect(path: &Path, shape: Shape) -> Result<Client, LineError> {
        shape.check()?;
        let end = greeting::propose(UnixStream::connect(path)?, shape)?;
        Ok(Client { end, free: u32::MAX >> (32 - shape.slots), replied: 0, abandoned: 0 })
    }

    /// Sends a request and waits for the reply, which replaces what is in `reply`. A call whose time is over is given up, so that its slot
    /// comes back.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn call(&mut self, request: &[u8], reply: &mut Vec<u8>, timeout: Option<Duration>) -> Result<(), CallError> {
        let ticket = self.begin(request)?;
        match self.finish(ticket, reply, timeout) {
            Err(CallError::TimedOut(ticket)) => Err(CallError::GivenUp(self.abandon(ticket))),
            done => done,
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// It is too long, all slots are in use, or the server is gone.
    pub fn begin(&mut self, request: &[u8]) -> Result<Ticket, CallError> {
        let shape = self.end.segment.shape();
        if request.len() > shape.slot_bytes as usize {
            return Err(CallError::TooLong { bytes: request.len(), bytes_max: shape.slot_bytes });
        }
        if self.end.lifeline.is_gone() {
            return Err(CallError::Gone(Fate::NotExecuted));
        }
        if self.free == 0 {
            self.look();
        }
        if self.free == 0 {
            return Err(CallError::Full);
        }
        let slot = self.free.trailing_zeros();
        assert!(slot < SLOTS_MAX, "only slots that there are are free");
        let segment = &self.end.segment;
        let free = segment.state(slot);
        if free.phase() != Phase::Free {
            return Err(CallError::Broken);
        }
        segment.write(slot, request);
        let used = free.to(Phase::Requested);
        if !segment.advance(slot, free, used) {
            return Err(CallError::Broken);
        }
        self.free &= !(1 << slot);
        self.end.post(slot);
        Ok(Ticket { slot, used })
    }

    /// Waits for the reply of a call, which replaces what is in `reply`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn finish(&mut self, ticket: Ticket, reply: &mut Vec<u8>, timeout: Option<Duration>) -> Result<(), CallError> {
        let deadline = timeout.map(|timeout| now().saturating_add(timeout.as_nanos().try_into().unwrap_or(u64::MAX)));
        let bit = 1 << ticket.slot;
        while self.replied & bit == 0 {
            match self.end.take_posted(deadline) {
                Ok(posted) => self.sort(posted),
                Err(Waited::TimedOut) => return Err(CallError::TimedOut(ticket)),
                Err(Waited::Gone) => return self.finish_alone(&ticket, reply),
            }
        }
        self.replied &= !bit;
        self.take_reply(&ticket, reply)
    }

    /// Gives a call up. Its slot is free again when the server has replied, or at once if it had not taken the request: then it
    /// never will, and the fate says so.
    pub fn abandon(&mut self, ticket: Ticket) -> Fate {
        let bit = 1 << ticket.slot;
        if self.end.segment.advance(ticket.slot, ticket.used, ticket.used.next()) {
            self.free |= bit;
            return Fate::NotExecuted;
        }
        if self.replied & bit != 0 {
            self.replied &= !bit;
            self.set_free(ticket.slot);
        } else {
            self.abandoned |= bit;
        }
        Fate::Unknown
    }

    /// Calls that can be begun now.
    pub fn free_slots(&mut self) -> u32 {
        self.look();
        self.free.count_ones()
    }

    fn look(&mut self) {
        let posted = self.end.segment.take_posted(self.end.side);
        self.sort(posted);
    }

    /// Takes notice of replies.
    fn sort(&mut self, posted: u32) {
        // A bit without a call is the server's mistake, and no harm.
        let posted = posted & !self.free;
        self.replied |= posted & !self.abandoned;
        let mut unwanted = posted & self.abandoned;
        self.abandoned &= !unwanted;
        while unwanted != 0 {
            self.set_free(unwanted.trailing_zeros());
            unwanted &= unwanted - 1;
        }
    }

    /// A slot whose reply is taken, or not wanted. One whose state is not what it may be is never used again.
    fn set_free(&mut self, slot: u32) {
        let state = self.end.segment.state(slot);
        if state.phase() == Phase::Replied && self.end.segment.advance(slot, state, state.next()) {
            self.free |= 1 << slot;
        }
    }

    fn take_reply(&mut self, ticket: &Ticket, reply: &mut Vec<u8>) -> Result<(), CallError> {
        let segment = &self.end.segment;
        if segment.state(ticket.slot) != ticket.used.to(Phase::Replied) || segment.read(ticket.slot, reply).is_none() {
            return Err(CallError::Broken);
        }
        self.set_free(ticket.slot);
        Ok(())
    }

    /// The server is gone: what it left in the slot tells the call's fate.
    fn finish_alone(&mut self, ticket: &Ticket, reply: &mut Vec<u8>) -> Result<(), CallError> {
        let segment = &self.end.segment;
        if segment.advance(ticket.slot, ticket.used, ticket.used.next()) {
            return Err(CallError::Gone(Fate::NotExecuted));
        }
        if segment.state(ticket.slot) == ticket.used.to(Phase::Replied) {
            return self.take_reply(ticket, reply);
        }
        Err(CallError::Gone(Fate::Unknown))
    }
}
