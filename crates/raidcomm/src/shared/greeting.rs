//! How the two ends of a line meet: the client makes the segment and passes it over a Unix socket, which stays open as long as the line.
//!
//! Invariant: the server maps nothing that is not sealed against shrinking, and learns who the client is from the kernel, not from the client.

use super::SharedLine;
use super::lifeline::Lifeline;
use super::segment::{LineSegment, LineSide};
use super::shape::{LineError, Shape};
use crate::limits::GREETING_TIME;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// What the one side says to the other with the segment, and back when it has mapped it.
const HELLO: [u8; 8] = *b"RAIDCOMM";

/// The client's part: makes a segment and waits until the server has it.
pub(super) fn propose(socket: UnixStream, shape: Shape) -> Result<SharedLine, LineError> {
    let (segment, file) = LineSegment::create(shape)?;
    socket.set_read_timeout(Some(Duration::from_nanos(GREETING_TIME)))?;
    send(&socket, &file)?;
    let mut answer = [0; HELLO.len()];
    std::io::Read::read_exact(&mut &socket, &mut answer)?;
    if answer != HELLO {
        return Err(LineError::Foreign);
    }
    end(segment, LineSide::Client, socket)
}

/// The server's part: takes the segment over.
pub(super) fn accept(socket: UnixStream) -> Result<SharedLine, LineError> {
    socket.set_read_timeout(Some(Duration::from_nanos(GREETING_TIME)))?;
    let file = receive(&socket)?;
    let segment = LineSegment::open(&file)?;
    std::io::Write::write_all(&mut &socket, &HELLO)?;
    end(segment, LineSide::Server, socket)
}

fn end(segment: LineSegment, side: LineSide, socket: UnixStream) -> Result<SharedLine, LineError> {
    let segment = Arc::new(segment);
    let lifeline = Lifeline::new(socket, segment.clone(), side)?;
    Ok(SharedLine::new(segment, side, lifeline))
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
