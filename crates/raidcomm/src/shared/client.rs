//! The client's end: calls, one or several at a time.

use super::calls::ClientCalls;
use super::segment::SlotState;
use super::waiting::{Waited, now};
use super::{LineError, Shape, SharedLine, greeting};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// Whether the server has executed a request whose reply will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFate {
    /// It has not, and never will: the request can be made elsewhere.
    NotExecuted,
    /// It had taken the request: nobody knows.
    Unknown,
}

impl RequestFate {
    const fn name(self) -> &'static str {
        match self {
            RequestFate::NotExecuted => "not executed",
            RequestFate::Unknown => "perhaps executed",
        }
    }
}

/// Why there is no reply.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum LineCallError {
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
    Gone(RequestFate),
    /// The time is over. The call is still under way: ask for its reply again, or abandon it.
    #[error("no reply in time")]
    TimedOut(Ticket),
    /// The time is over, and nobody waits for the reply any more.
    #[error("no reply in time; the request is {}", .0.name())]
    GivenUp(RequestFate),
    /// The server has broken the protocol. Drop the line.
    #[error("the server has written what it may not")]
    Broken,
}

/// A call under way.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the reply of a call that is not finished keeps its slot"]
pub struct Ticket {
    pub(super) slot: u32,
    pub(super) used: SlotState,
}

/// The client's end of a line. Of one thread at a time: other threads have lines of their own.
#[derive(Debug)]
pub struct LineClient {
    pub(super) end: SharedLine,
    calls: ClientCalls,
}

impl LineClient {
    /// Makes a line with the server that listens at `path`. The two processes see each other's process ids: they are in one PID
    /// namespace.
    ///
    /// # Errors
    /// Nobody listens, the shape is out of bounds, or the server refuses.
    pub fn connect(path: &Path, shape: Shape) -> Result<LineClient, LineError> {
        shape.check()?;
        let end = greeting::propose(UnixStream::connect(path)?, shape)?;
        Ok(LineClient { end, calls: ClientCalls::new(shape.slots) })
    }

    /// Sends a request and waits for the reply, which replaces what is in `reply`. A call whose time is over is given up, so that its slot
    /// comes back.
    ///
    /// # Errors
    /// See [`LineCallError`].
    pub fn call(
        &mut self,
        request: &[u8],
        reply: &mut Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<(), LineCallError> {
        let ticket = self.begin(request)?;
        match self.finish(ticket, reply, timeout) {
            Err(LineCallError::TimedOut(ticket)) => Err(LineCallError::GivenUp(self.abandon(ticket))),
            done => done,
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// It is too long, all slots are in use, or the server is gone.
    pub fn begin(&mut self, request: &[u8]) -> Result<Ticket, LineCallError> {
        if self.end.lifeline.is_gone() {
            return Err(LineCallError::Gone(RequestFate::NotExecuted));
        }
        self.calls.begin(&self.end.segment, request)
    }

    /// Waits for the reply of a call, which replaces what is in `reply`.
    ///
    /// # Errors
    /// See [`LineCallError`].
    pub fn finish(
        &mut self,
        ticket: Ticket,
        reply: &mut Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<(), LineCallError> {
        let deadline = timeout.map(|timeout| now().saturating_add(timeout.as_nanos().try_into().unwrap_or(u64::MAX)));
        while !self.calls.has_reply(&ticket) {
            match self.end.take_posted(deadline) {
                Ok(posted) => self.calls.sort(&self.end.segment, posted),
                Err(Waited::TimedOut) => return Err(LineCallError::TimedOut(ticket)),
                Err(Waited::Gone) => return self.calls.finish_alone(&self.end.segment, &ticket, reply),
            }
        }
        self.calls.take_reply(&self.end.segment, &ticket, reply)
    }

    /// Gives a call up. Its slot is free again when the server has replied, or at once if it had not taken the request: then it
    /// never will, and the fate says so.
    pub fn abandon(&mut self, ticket: Ticket) -> RequestFate {
        self.calls.abandon(&self.end.segment, &ticket)
    }

    /// Calls that can be begun now.
    pub fn free_slots(&mut self) -> u32 {
        self.calls.free_slots(&self.end.segment)
    }
}
