//! One TCP connection: its role, its input and its output. Knows nothing of peers.
//!
//! Invariant: bytes leave in the order in which they were appended; `blocked` is true only while the operating system
//! will report, by an event, that it takes more.

use super::hello::Greeting;
use super::rings::Ring;
use super::status::DisconnectReason;
use crate::address::SiteId;
use crate::frame::{self, Decoder};
use crate::limits::{
    GREETING_BYTES_MAX, KEEPALIVE_PROBES, KEEPALIVE_SECONDS, OUTPUT_BYTES_KEPT, READ_BYTES_PER_TURN, UNACKNOWLEDGED_MS,
};
use mio::net::TcpStream;
use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// What a connection is for. Each site sends on the connections that it made and receives on those that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Accepted at `since`, and has not said who it is.
    Stranger { since: u64 },
    /// Accepted; carries the frames of this life of this peer.
    Receiving { site: SiteId, incarnation: u32 },
    /// Ours since `since`; the operating system is making it.
    Connecting { site: SiteId, since: u64 },
    /// Ours since `since`; our hello is on the way, the peer's has not come.
    Greeting { site: SiteId, since: u64 },
    /// Ours, greeted at `since`; carries frames to this life of this peer.
    Sending { site: SiteId, incarnation: u32, since: u64 },
}

/// Bytes that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Output {
    buffer: Vec<u8>,
    /// The bytes of `buffer` before this have left.
    written: usize,
    blocked: bool,
}

impl Output {
    /// How many bytes wait.
    pub(super) fn waiting(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Whether a write now could take something.
    pub(super) fn is_writable(&self) -> bool {
        self.waiting() > 0 && !self.blocked
    }

    /// The operating system has reported that it takes more.
    pub(super) fn unblock(&mut self) {
        self.blocked = false;
    }

    /// Where to append. Bytes that have left make room first, once they are the larger part.
    pub(super) fn end(&mut self) -> &mut Vec<u8> {
        if self.written > self.buffer.len() / 2 {
            self.buffer.drain(..self.written);
            self.written = 0;
        }
        &mut self.buffer
    }

    /// Writes once and says how many bytes left.
    fn write(&mut self, stream: &mut TcpStream, ring: &mut Ring) -> Result<usize, DisconnectReason> {
        let bytes = &self.buffer[self.written..];
        let count = match ring {
            Ring::Out(ring) => ring.write(bytes).map_err(|_| DisconnectReason::Ring)?,
            Ring::None | Ring::Offered(_) | Ring::In(_) => write_once(stream, bytes)?,
        };
        self.written += count;
        // Who takes less than all is full, and reports when it no longer is (for sockets epoll(7), question 9).
        self.blocked = self.waiting() > 0;
        if !self.blocked {
            self.buffer.clear();
            self.buffer.shrink_to(OUTPUT_BYTES_KEPT);
            self.written = 0;
        }
        Ok(count)
    }
}

fn write_once(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match stream.write(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            other => return other,
        }
    }
}

/// What reading brought.
#[derive(Debug, Default)]
pub(super) struct ReadOutcome {
    /// Bytes that came.
    pub bytes: u64,
    /// Reads that brought bytes.
    pub reads: u64,
    /// The connection is over; what came before still counts.
    pub end: Option<DisconnectReason>,
    /// More may wait, and no event will say so.
    pub unfinished: bool,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub stream: TcpStream,
    pub role: Role,
    pub decoder: Decoder,
    pub output: Output,
    pub ring: Ring,
}

impl Connection {
    /// Prepares a socket: no delay for small frames, and a peer whose host vanished is noticed.
    pub(super) fn new(stream: TcpStream, role: Role) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_MS)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, Duration::from_secs(KEEPALIVE_SECONDS))?;
        sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(KEEPALIVE_SECONDS))?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_PROBES)?;
        Ok(Connection {
            stream,
            role,
            decoder: Decoder::new(GREETING_BYTES_MAX),
            output: Output::default(),
            ring: Ring::None,
        })
    }

    /// When its handshake began, if that is not over.
    pub(super) fn handshake_since(&self) -> Option<u64> {
        match self.role {
            Role::Stranger { since } | Role::Connecting { since, .. } | Role::Greeting { since, .. } => Some(since),
            Role::Receiving { .. } | Role::Sending { .. } => None,
        }
    }

    /// Reads into the decoder until nothing waits, or until this turn's share is used up. `ending`: the operating
    /// system has reported an end or an error, so read on until it shows.
    pub(super) fn read(&mut self, scratch: &mut [u8], ending: bool) -> ReadOutcome {
        let mut outcome = ReadOutcome::default();
        while outcome.bytes < READ_BYTES_PER_TURN as u64 {
            match self.stream.read(scratch) {
                Ok(0) => {
                    outcome.end = Some(DisconnectReason::Closed);
                    return outcome;
                }
                Ok(count) => {
                    self.decoder.feed(&scratch[..count]);
                    outcome.bytes += count as u64;
                    outcome.reads += 1;
                    // Less than asked for means that nothing is left; what comes later makes another event.
                    if count < scratch.len() && !ending {
                        return outcome;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return outcome,
                Err(error) => {
                    outcome.end = Some(error.into());
                    return outcome;
                }
            }
        }
        outcome.unfinished = true;
        outcome
    }

    /// Writes once what waits and says how many bytes left.
    pub(super) fn write(&mut self) -> Result<usize, DisconnectReason> {
        self.output.write(&mut self.stream, &mut self.ring)
    }

    /// Sends a greeting at once: nothing else waits yet, and it is smaller than any socket's buffer.
    pub(super) fn greet(&mut self, greeting: Greeting, version: u16) -> Result<(), DisconnectReason> {
        if let Some(payload) = greeting.encode(version) {
            frame::append(self.output.end(), &payload);
            self.write()?;
        }
        Ok(())
    }

    /// Whether the operating system has made the connection.
    ///
    /// # Errors
    /// It could not be made.
    pub(super) fn is_made(&self) -> Result<bool, DisconnectReason> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error.into());
        }
        match self.stream.peer_addr() {
            // A connect to a free port of our own host can meet itself (RFC 9293, simultaneous open).
            Ok(peer) if peer == self.stream.local_addr()? => {
                Err(DisconnectReason::Failed(ErrorKind::ConnectionRefused))
            }
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_have_left_do_not_pile_up_before_those_that_wait() {
        // A peer that always takes a little less than it is sent never empties the buffer.
        let mut output = Output { buffer: (0..100).collect(), written: 60, blocked: true };
        assert_eq!(output.waiting(), 40);
        output.end().push(100);
        assert_eq!((output.buffer.len(), output.waiting()), (41, 41));
        assert!(output.buffer.iter().copied().eq(60..=100), "what waits is what had not left");
    }
}
