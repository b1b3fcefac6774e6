//! The server's end: taking requests and replying to them.

use super::calls::{self, Requests};
use super::segment::SlotState;
use super::waiting::{Waited, now};
use super::{LineError, SharedLine, greeting};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Where clients make lines.
#[derive(Debug)]
pub struct LineListener {
    socket: UnixListener,
    path: PathBuf,
}

impl LineListener {
    /// Listens at `path`, a socket that must not exist yet and vanishes with the listener.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn bind(path: &Path) -> Result<LineListener, LineError> {
        Ok(LineListener { socket: UnixListener::bind(path)?, path: path.to_path_buf() })
    }

    /// Waits for a client.
    ///
    /// # Errors
    /// What came is no client, or none that keeps to the protocol; others may come.
    pub fn accept(&self) -> Result<LineServer, LineError> {
        let (socket, _) = self.socket.accept()?;
        Ok(LineServer { end: greeting::accept(socket)?, requests: Requests::default() })
    }
}

impl Drop for LineListener {
    fn drop(&mut self) {
        // It may have been taken away already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Why there is no request, or nobody for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineServeError {
    /// The time is over.
    #[error("no request in time")]
    TimedOut,
    /// The client's process has ended, or it has closed the line.
    #[error("the client is gone")]
    Gone,
    /// The client has broken the protocol. Drop the line.
    #[error("the client has written what it may not")]
    Broken,
    /// The call is still to be replied to.
    #[error("a reply of {bytes} bytes, and a line for {bytes_max}")]
    TooLong {
        /// Of the reply.
        bytes: usize,
        /// Of a slot.
        bytes_max: u32,
    },
}

/// A request that was taken.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the client waits for a reply"]
pub struct TakenCall {
    pub(super) slot: u32,
    pub(super) state: SlotState,
}

/// The server's end of a line. Of one thread at a time.
#[derive(Debug)]
pub struct LineServer {
    pub(super) end: SharedLine,
    requests: Requests,
}

impl LineServer {
    /// Waits for a request, which replaces what is in `request`.
    ///
    /// # Errors
    /// See [`LineServeError`].
    pub fn receive(&mut self, request: &mut Vec<u8>, timeout: Option<Duration>) -> Result<TakenCall, LineServeError> {
        let deadline = timeout.map(|timeout| now().saturating_add(timeout.as_nanos().try_into().unwrap_or(u64::MAX)));
        loop {
            if let Some(call) = self.requests.take(&self.end.segment, request)? {
                return Ok(call);
            }
            let posted = self.end.take_posted(deadline).map_err(|why| match why {
                Waited::TimedOut => LineServeError::TimedOut,
                Waited::Gone => LineServeError::Gone,
            })?;
            self.requests.add(posted);
        }
    }

    /// Replies to a call.
    ///
    /// # Errors
    /// The reply is too long, and the call is given back; or the client has broken the protocol.
    pub fn reply(&mut self, call: TakenCall, reply: &[u8]) -> Result<(), (LineServeError, TakenCall)> {
        calls::reply(&self.end.segment, call, reply)
    }

    /// Serves until the client is gone: `execute` is given a request and fills in the reply.
    ///
    /// # Errors
    /// The client has broken the protocol, or a reply was too long.
    pub fn serve(&mut self, mut execute: impl FnMut(&[u8], &mut Vec<u8>)) -> Result<(), LineServeError> {
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        loop {
            let call = match self.receive(&mut request, None) {
                Ok(call) => call,
                Err(LineServeError::Gone) => return Ok(()),
                Err(error) => return Err(error),
            };
            reply.clear();
            execute(&request, &mut reply);
            self.reply(call, &reply).map_err(|(error, _)| error)?;
        }
    }
}
