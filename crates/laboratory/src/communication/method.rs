//! One way to call another process of this host, or of another one, and be replied to.
//!
//! Invariant: all of them do the same: a request of so many bytes goes there as a whole, a reply of so many bytes comes back, one call at a time,
//! both sides blocking when they wait. Where a method only wakes, the bytes lie in memory that both map, and are copied in and out like the
//! others' are.

use crate::communication::limits::START_TIME;
use laboratory_harness::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What the two sides of a method must know to meet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meeting {
    /// An empty folder of their own.
    pub folder: PathBuf,
    /// The server's host, for those methods that name one.
    pub host: Ipv4Addr,
    /// What the method has prepared, or its server has said when it was ready.
    pub address: String,
    /// Bytes of each request.
    pub request_bytes: usize,
    /// Bytes of each reply.
    pub reply_bytes: usize,
}

impl Meeting {
    /// The larger of the two.
    pub fn bytes(&self) -> usize {
        self.request_bytes.max(self.reply_bytes)
    }
}

/// Makes one call: sends the request, and waits until the reply is there as a whole.
pub type Caller = Box<dyn FnMut(&[u8], &mut Vec<u8>) -> Outcome<()>>;
/// Says that a server waits for its client, and where.
pub type Ready<'a> = &'a mut dyn FnMut(&str) -> Outcome<()>;

/// One way for a call.
pub trait Method: Sync {
    /// As tables call it.
    fn name(&self) -> &'static str;

    /// Bytes of the longest request and reply.
    fn bytes_max(&self) -> usize {
        usize::MAX
    }

    /// Makes what must be there before both sides, and outlive them: returns it. What the sides must know of it goes into the address.
    ///
    /// # Errors
    /// This machine does not have it.
    fn prepare(&self, _meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        Ok(Box::new(()))
    }

    /// Serves one client with what [`reply_to`] makes, until it is gone, or this process is ended.
    ///
    /// # Errors
    /// The operating system refuses.
    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()>;

    /// The client's side.
    ///
    /// # Errors
    /// The operating system refuses, or there is no server.
    fn caller(&self, meeting: &Meeting) -> Outcome<Caller>;
}

/// What every server replies: the request's bytes, cut or filled up with zeros.
pub fn reply_to(request: &[u8], reply: &mut Vec<u8>, bytes: usize) {
    reply.clear();
    reply.extend_from_slice(&request[..request.len().min(bytes)]);
    reply.resize(bytes, 0);
}

/// Tries until it works: the other side may not be as far yet.
///
/// # Errors
/// The last one, when it has not worked for long.
pub fn patiently<T, E: Into<Failure>>(mut attempt: impl FnMut() -> Result<T, E>) -> Outcome<T> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(error) if begun.elapsed() > Duration::from_millis(START_TIME) => return Err(error.into()),
            Err(_) => std::thread::yield_now(),
        }
    }
}
