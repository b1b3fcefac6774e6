//! How the two ends of a line meet: the client makes the segment and passes it over a Unix socket, which stays open as long as the line.
//!
//! Invariant: the server maps nothing that is not sealed against shrinking, and learns who the client is from the kernel, not from the client.

use super::End;
use super::lifeline::Lifeline;
use super::segment::{Segment, Side};
use crate::limits::{GREETING_TIME, LINE_BYTES_MAX, SLOT_BYTES_MAX, SLOTS_MAX};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// What the one side says to the other with the segment, and back when it has mapped it.
const HELLO: [u8; 8] = *b"RAIDCOMM";

/// How large a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Calls that may be under way at once, from 1 to [`SLOTS_MAX`].
    pub slots: u32,
    /// Bytes of the longest request and of the longest reply, from 1 to [`SLOT_BYTES_MAX`]; all slots together have at most
    /// [`LINE_BYTES_MAX`].
    pub slot_bytes: u32,
}

impl Shape {
    pub(super) fn check(self) -> Result<(), LineError> {
        let fits = (1..=SLOTS_MAX).contains(&self.slots) && (1..=SLOT_BYTES_MAX).contains(&self.slot_bytes);
        if fits && u64::from(self.slots) * u64::from(self.slot_bytes) <= LINE_BYTES_MAX {
            Ok(())
        } else {
            Err(LineError::Shape(self))
        }
    }
}

/// Why there is no line.
#[derive(Debug, Error)]
pub enum LineError {
    /// The operating system refuses.
    #[error("no line of shared memory: {0}")]
    System(#[from] std::io::Error),
    /// There are bounds.
    #[error(
        "a line has 1 to {SLOTS_MAX} slots of 1 to {SLOT_BYTES_MAX} bytes, and {LINE_BYTES_MAX} together, not {} of {}",
        .0.slots, .0.slot_bytes
    )]
    Shape(Shape),
    /// What came over the socket is something else.
    #[error("the other side passed no segment of a line")]
    Foreign,
    /// The other side could take the memory away while it is used.
    #[error("the other side passed a segment that is not sealed")]
    NotSealed,
    /// The other side is older or newer.
    #[error("the other side's segments are of version {found}, ours of {expected}")]
    Version {
        /// Theirs.
        found: u32,
        /// Ours.
        expected: u32,
    },
}

impl From<Errno> for LineError {
    fn from(error: Errno) -> LineError {
        LineError::System(error.into())
    }
}

/// The client's part: makes a segment and waits until the server has it.
pub(super) fn propose(socket: UnixStream, shape: Shape) -> Result<End, LineError> {
    let (segment, file) = Segment::create(shape)?;
    socket.set_read_timeout(Some(Duration::from_nanos(GREETING_TIME)))?;
    send(&socket, &file)?;
    let mut answer = [0; HELLO.len()];
    std::io::Read::read_exact(&mut &socket, &mut answer)?;
    if answer != HELLO {
        return Err(LineError::Foreign);
    }
    end(segment, Side::Client, socket)
}

/// The server's part: takes the segment over.
pub(super) fn accept(socket: UnixStream) -> Result<End, LineError> {
    socket.set_read_timeout(Some(Duration::from_nanos(GREETING_TIME)))?;
    let file = receive(&socket)?;
    let segment = Segment::open(&file)?;
    std::io::Write::write_all(&mut &socket, &HELLO)?;
    end(segment, Side::Server, socket)
}

fn end(segment: Segment, side: Side, socket: UnixStream) -> Result<End, LineError> {
    let segment = Arc::new(segment);
    let lifeline = Lifeline::new(socket, segment.clone(), side)?;
    Ok(End::new(segment, side, lifeline))
}

fn send(socket: &UnixStream, file: &OwnedFd) -> Result<(), LineError> {
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)), "there is room for one file");
    // A message so short goes as a whole or not at all.
    rustix::net::sendmsg(socket, &[IoSlice::new(&HELLO)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(socket: &UnixStream) -> Result<OwnedFd, LineError> {
    let mut hello = [0; HELLO.len()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut hello)];
    let received = rustix::net::recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let file = files.next().and_then(|mut files| files.next());
    match file {
        Some(file) if received.bytes == HELLO.len() && hello == HELLO => Ok(file),
        _ => Err(LineError::Foreign),
    }
}
