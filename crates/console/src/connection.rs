//! One connection: it is read until it is known what its client wants, written to until that has the answer, and then waited for until the client ends it.
//!
//! Invariant: it lasts no longer than its deadline, which is set when it begins and once more when the answer is there.

use crate::limits::{CONNECTION_TIME_MAX, READ_BYTES, REQUEST_BYTES_MAX};
use crate::request::{ConsoleRequest, look};
use mio::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Instant;

/// How far a connection is.
#[derive(Debug)]
enum Progress {
    /// These bytes of a request have come.
    Reading(Vec<u8>),
    /// So many bytes of the answer are sent.
    Writing(Vec<u8>, usize),
    /// All was said. Closed with something unread, the client might lose what was sent.
    Ending,
}

/// What has become of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionTurn {
    /// It waits for its client.
    Waits,
    /// This was asked for: the answer is to be given to [`ConsoleConnection::say`].
    Asks(ConsoleRequest),
    /// It is over.
    Over,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct ConsoleConnection {
    pub(crate) socket: TcpStream,
    progress: Progress,
    pub(crate) deadline: Instant,
}

impl ConsoleConnection {
    pub(crate) fn new(socket: TcpStream, now: Instant) -> ConsoleConnection {
        ConsoleConnection { socket, progress: Progress::Reading(Vec::new()), deadline: now + CONNECTION_TIME_MAX }
    }

    /// Whether its client has not said yet what it wants.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.progress, Progress::Reading(_))
    }

    /// Goes on as far as the socket lets it.
    pub(crate) fn turn(&mut self) -> ConnectionTurn {
        match &self.progress {
            Progress::Reading(_) => self.read(),
            Progress::Writing(..) => self.write(),
            Progress::Ending => self.end(),
        }
    }

    /// Has this sent.
    pub(crate) fn say(&mut self, answer: Vec<u8>, now: Instant) -> ConnectionTurn {
        self.progress = Progress::Writing(answer, 0);
        self.deadline = now + CONNECTION_TIME_MAX;
        self.write()
    }

    fn read(&mut self) -> ConnectionTurn {
        let Progress::Reading(input) = &mut self.progress else { return ConnectionTurn::Waits };
        let mut piece = [0; READ_BYTES];
        loop {
            let room = piece.len().min(REQUEST_BYTES_MAX - input.len());
            let ended = match self.socket.read(&mut piece[..room]) {
                Ok(0) if input.is_empty() => return ConnectionTurn::Over,
                Ok(0) => true,
                Ok(length) => {
                    input.extend_from_slice(&piece[..length]);
                    false
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return ConnectionTurn::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return ConnectionTurn::Over,
            };
            match look(input, ended) {
                ConsoleRequest::Incomplete => {}
                asked => return ConnectionTurn::Asks(asked),
            }
        }
    }

    fn write(&mut self) -> ConnectionTurn {
        let Progress::Writing(answer, sent) = &mut self.progress else { return ConnectionTurn::Waits };
        while *sent < answer.len() {
            match self.socket.write(&answer[*sent..]) {
                Ok(0) => return ConnectionTurn::Over,
                Ok(length) => *sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return ConnectionTurn::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return ConnectionTurn::Over,
            }
        }
        if self.socket.shutdown(Shutdown::Write).is_err() {
            return ConnectionTurn::Over;
        }
        self.progress = Progress::Ending;
        self.end()
    }

    fn end(&mut self) -> ConnectionTurn {
        let mut piece = [0; READ_BYTES];
        // A bounded piece of what it goes on to say: the rest wakes the poll no more, and the deadline ends it.
        for _ in 0..REQUEST_BYTES_MAX / READ_BYTES {
            match self.socket.read(&mut piece) {
                Ok(0) => return ConnectionTurn::Over,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return ConnectionTurn::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return ConnectionTurn::Over,
            }
        }
        ConnectionTurn::Over
    }
}
