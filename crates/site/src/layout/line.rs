//! Requests and replies of any length over a line, whose messages are bounded: in shared memory, or over a connection to another host.
//!
//! The last byte of each piece is its mark: whether more follow, and in a request whether it goes on with what came before; the side that waits
//! for the rest answers with, or asks by, a mark alone. Invariant: one request is under way at a time, and its pieces come in order; of one that
//! its caller has given up nothing gets into the next.

use crate::layout::Meeting;
use crate::limits;
use domain::{Lost, ProcessConnection};
use raidcomm::remote::{self, RemoteError};
use raidcomm::shared::{self, LineCallError, LineError, Shape};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thiserror::Error;

/// One call at a time, and room for what most of them say.
const SHAPE: Shape = Shape { slots: 1, slot_bytes: limits::LINE_BYTES };
/// Bytes of a piece besides its mark.
const PIECE: usize = limits::LINE_BYTES as usize - 1;
const LAST: u8 = 0;
const MORE: u8 = 1;
/// Beside those: a piece of a request that is not its first.
const BEHIND: u8 = 2;
/// Asks for the next piece of a reply.
const NEXT: u8 = 4;

/// What carries the pieces.
enum Carrier {
    Memory(shared::LineClient),
    Connection(remote::RemoteLineClient),
}

/// Why there is no reply.
#[derive(Debug, Error)]
pub(crate) enum LineLost {
    /// The line is of shared memory.
    #[error(transparent)]
    Memory(#[from] LineCallError),
    /// The line is a connection.
    #[error(transparent)]
    Connection(#[from] RemoteError),
    /// What came is no piece.
    #[error("it replies with what it may not")]
    Broken,
}

impl Carrier {
    fn call(&mut self, piece: &[u8], reply: &mut Vec<u8>, timeout: Option<Duration>) -> Result<(), LineLost> {
        match self {
            Carrier::Memory(client) => client.call(piece, reply, timeout)?,
            Carrier::Connection(client) => client.call(piece, reply, timeout)?,
        }
        Ok(())
    }
}

/// The calling end.
pub(crate) struct CallLine {
    carrier: Carrier,
    piece: Vec<u8>,
}

impl CallLine {
    /// To whoever listens under this name.
    pub(crate) fn connect(meeting: &Meeting, name: &str) -> Result<CallLine, LineError> {
        let client = shared::LineClient::connect(&meeting.path(name), SHAPE)?;
        Ok(CallLine { carrier: Carrier::Memory(client), piece: Vec::new() })
    }

    /// To another host.
    pub(crate) fn over(client: remote::RemoteLineClient) -> CallLine {
        CallLine { carrier: Carrier::Connection(client), piece: Vec::new() }
    }

    /// Makes a call, each piece of which may take so long. `reply` is replaced.
    pub(crate) fn call(
        &mut self,
        request: &[u8],
        reply: &mut Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<(), LineLost> {
        let (mut rest, mut place) = (request, 0);
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(PIECE));
            self.piece.clear();
            self.piece.extend_from_slice(piece);
            self.piece.push(place | if behind.is_empty() { LAST } else { MORE });
            self.carrier.call(&self.piece, reply, timeout)?;
            if behind.is_empty() {
                break;
            }
            (rest, place) = (behind, BEHIND);
        }
        let mut more = take_mark(reply)?;
        let mut next = Vec::new();
        while more {
            self.carrier.call(&[NEXT], &mut next, timeout)?;
            more = take_mark(&mut next)?;
            reply.append(&mut next);
        }
        Ok(())
    }
}

/// Takes the mark off: whether more follows.
fn take_mark(piece: &mut Vec<u8>) -> Result<bool, LineLost> {
    match piece.pop() {
        Some(LAST) => Ok(false),
        Some(MORE) => Ok(true),
        _ => Err(LineLost::Broken),
    }
}

/// What answers pieces until the other side is gone.
pub(crate) trait Serve {
    /// # Errors
    /// The other side does not keep to the protocol.
    fn serve(&mut self, execute: &mut dyn FnMut(&[u8], &mut Vec<u8>)) -> Result<(), String>;
}

impl Serve for shared::LineServer {
    fn serve(&mut self, execute: &mut dyn FnMut(&[u8], &mut Vec<u8>)) -> Result<(), String> {
        shared::LineServer::serve(self, execute).map_err(|error| error.to_string())
    }
}

impl Serve for remote::RemoteLineServer {
    fn serve(&mut self, execute: &mut dyn FnMut(&[u8], &mut Vec<u8>)) -> Result<(), String> {
        remote::RemoteLineServer::serve(self, execute).map_err(|error| error.to_string())
    }
}

/// The answering end: `execute` is given a request and fills in the reply. Returns when the other side is gone.
///
/// # Errors
/// The other side does not keep to the protocol.
pub(crate) fn serve(server: &mut impl Serve, mut execute: impl FnMut(&[u8], &mut Vec<u8>)) -> Result<(), String> {
    let (mut gathered, mut reply, mut told) = (Vec::new(), Vec::new(), 0);
    let mut broken = false;
    let served = server.serve(&mut |piece, said| {
        match piece.split_last() {
            Some((&NEXT, [])) if told < reply.len() => {}
            Some((&mark, piece)) if mark <= BEHIND | MORE && (mark < BEHIND || !gathered.is_empty()) => {
                if mark < BEHIND {
                    gathered.clear();
                }
                if mark & MORE != 0 {
                    gathered.extend_from_slice(piece);
                    return said.push(LAST);
                }
                reply.clear();
                told = 0;
                if gathered.is_empty() {
                    execute(piece, &mut reply);
                } else {
                    gathered.extend_from_slice(piece);
                    execute(&gathered, &mut reply);
                    // A long request is rare, and may have been very long.
                    gathered = Vec::new();
                }
            }
            _ => {
                // Without a mark the other side knows, too.
                broken = true;
                return;
            }
        }
        let until = reply.len().min(told + PIECE);
        said.extend_from_slice(&reply[told..until]);
        said.push(if until < reply.len() { MORE } else { LAST });
        told = until;
        if told == reply.len() && reply.capacity() > limits::LINE_BYTES_KEPT {
            (reply, told) = (Vec::new(), 0);
        }
    });
    if broken { Err(LineLost::Broken.to_string()) } else { served }
}

/// A way to a process, for each of the servers in it.
#[derive(Clone)]
pub(crate) struct ProcessPath {
    /// Where it leads, in words.
    pub(crate) process: String,
    /// The process, if it is one of this host.
    pub(crate) pid: u32,
    /// A process that takes longer for one piece is lost.
    pub(crate) time_max: Duration,
    pub(crate) line: Arc<Mutex<CallLine>>,
}

impl ProcessPath {
    /// By this line.
    pub(crate) fn new(process: String, pid: u32, time_max: Duration, line: CallLine) -> ProcessPath {
        ProcessPath { process, pid, time_max, line: Arc::new(Mutex::new(line)) }
    }
}

impl ProcessConnection for ProcessPath {
    fn call(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Lost> {
        let mut line = self.line.lock().expect("no holder of a line panics");
        line.call(request, reply, Some(self.time_max))
            .map_err(|error| Lost::Process(format!("{} does not answer: {error}", self.process)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raidcomm::shared::LineListener;

    /// A line, and a thread that replies with each request and its mirror image.
    fn mirrored(folder: &std::path::Path) -> (CallLine, std::thread::JoinHandle<Result<(), String>>) {
        std::fs::create_dir(folder.join(crate::layout::FOLDER)).expect("a folder");
        let meeting = Meeting::open(folder).expect("it was made");
        let listener = LineListener::bind(&meeting.path("here")).expect("it listens");
        let serving = std::thread::spawn(move || {
            let mut server = listener.accept().expect("a client");
            serve(&mut server, |request, reply| reply.extend(request.iter().rev().chain(request)))
        });
        (CallLine::connect(&meeting, "here").expect("a line"), serving)
    }

    /// If this fails, a large state, batch of rows or program is cut or mixed up on its way between two processes.
    #[test]
    fn requests_and_replies_of_any_length_come_through() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (mut line, serving) = mirrored(folder.path());
        let mut reply = Vec::new();
        for length in [0, 1, PIECE / 2, PIECE / 2 + 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 5 * PIECE + 7, 2] {
            let request: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            line.call(&request, &mut reply, None).expect("a reply");
            let expected: Vec<u8> = request.iter().rev().chain(&request).copied().collect();
            assert!(reply == expected, "{length} bytes");
        }
        drop(line);
        serving.join().expect("it ends").expect("nothing was broken");
    }
    /// If this fails, a request whose caller has given it up half-way gets into the next one, which then means something else.
    #[test]
    fn what_was_given_up_is_forgotten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (mut line, serving) = mirrored(folder.path());
        let mut reply = Vec::new();
        line.carrier.call(&[1, 2, 3, MORE], &mut reply, None).expect("it waits for the rest");
        line.call(&[7, 8], &mut reply, None).expect("a reply");
        assert_eq!(reply, [8, 7, 7, 8]);
        line.carrier.call(&[9, BEHIND | LAST], &mut reply, None).expect("an answer");
        assert!(matches!(take_mark(&mut reply), Err(LineLost::Broken)), "there is nothing that it could go on with");
        drop(line);
        assert_eq!(serving.join().expect("it ends"), Err(LineLost::Broken.to_string()));
    }
}
