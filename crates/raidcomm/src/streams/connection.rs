//! One TCP connection: its role, its input and its output, in clear or encrypted. Knows nothing of peers.
//!
//! Invariant: bytes leave in the order in which they were appended; `blocked` is true only while the operating system
//! will report, by an event, that it takes more. What a connection is, in clear or encrypted, is settled by its first
//! byte at the latest.

use super::hello::Greeting;
use super::rings::ConnectionRing;
use super::secure::{Secure, is_encrypted};
use super::status::DisconnectReason;
use crate::frame::{self, FrameDecoder};
use crate::limits::{
    GREETING_BYTES_MAX, KEEPALIVE_PROBES, KEEPALIVE_SECONDS, OUTPUT_BYTES_KEPT, READ_BYTES_PER_TURN, UNACKNOWLEDGED_MS,
};
use identifiers::SiteId;
use mio::net::TcpStream;
use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// What a connection is for. Each site sends on the connections that it made and receives on those that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionRole {
    /// Accepted at `since`, and has not said who it is.
    Stranger { since: u64 },
    /// Accepted; carries the frames of this life of this peer.
    Receiving { site: SiteId, incarnation: u32 },
    /// Ours since `since`; the operating system is making it.
    Connecting { site: SiteId, since: u64 },
    /// Ours since `since`; made, and the two sides are proving who they are.
    Securing { site: SiteId, since: u64 },
    /// Ours since `since`; our hello is on the way, the peer's has not come.
    Greeting { site: SiteId, since: u64 },
    /// Ours, greeted at `since`; carries frames to this life of this peer.
    Sending { site: SiteId, incarnation: u32, since: u64 },
}

/// Bytes that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct ConnectionOutput {
    buffer: Vec<u8>,
    /// The bytes of `buffer` before this have left.
    written: usize,
    blocked: bool,
}

impl ConnectionOutput {
    /// How many bytes wait.
    pub(super) fn waiting(&self) -> usize {
        self.buffer.len() - self.written
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

    /// Writes once, by a function that takes what it can, and says how many bytes left.
    fn write<E>(&mut self, write: impl FnOnce(&[u8]) -> Result<usize, E>) -> Result<usize, E> {
        let count = write(&self.buffer[self.written..])?;
        self.written += count;
        // Who takes less than all is full, and reports when it no longer is (for sockets epoll(7), question 9).
        self.blocked = self.waiting() > 0;
        self.give_back();
        Ok(count)
    }

    /// Encrypts and writes, a share at a time, until the socket is full, and says how many encrypted bytes left.
    fn write_encrypted(&mut self, secure: &mut Secure, stream: &mut TcpStream) -> io::Result<usize> {
        let mut written = 0;
        loop {
            if self.waiting() > 0 {
                self.written += secure.encrypt(&self.buffer[self.written..])?;
                self.give_back();
            }
            if !secure.is_waiting() {
                return Ok(written);
            }
            match secure.write(stream)? {
                Some(count) => written += count,
                None => {
                    self.blocked = true;
                    return Ok(written);
                }
            }
        }
    }

    /// Gives the buffer back once it has run empty.
    fn give_back(&mut self) {
        if self.waiting() == 0 {
            self.buffer.clear();
            self.buffer.shrink_to(OUTPUT_BYTES_KEPT);
            self.written = 0;
        }
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

/// How the bytes of a connection travel.
#[derive(Debug)]
pub(super) enum ConnectionTransport {
    /// As they are.
    Clear,
    /// This side has keys; the first byte that comes tells whether the other side has.
    Undecided(Box<Secure>),
    /// Encrypted.
    Encrypted(Box<Secure>),
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
pub(super) struct StreamConnection {
    pub stream: TcpStream,
    pub role: ConnectionRole,
    transport: ConnectionTransport,
    pub decoder: FrameDecoder,
    pub output: ConnectionOutput,
    pub ring: ConnectionRing,
    /// The association of datagrams that rests on it.
    pub association: Option<u64>,
}

impl StreamConnection {
    /// Prepares a socket: no delay for small frames, and a peer whose host vanished is noticed.
    pub(super) fn new(stream: TcpStream, role: ConnectionRole, secure: Option<Secure>) -> io::Result<StreamConnection> {
        stream.set_nodelay(true)?;
        sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_MS)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, Duration::from_secs(KEEPALIVE_SECONDS))?;
        sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(KEEPALIVE_SECONDS))?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_PROBES)?;
        let transport =
            secure.map_or(ConnectionTransport::Clear, |secure| ConnectionTransport::Undecided(Box::new(secure)));
        let decoder = FrameDecoder::new(GREETING_BYTES_MAX);
        Ok(StreamConnection {
            stream,
            role,
            transport,
            decoder,
            output: ConnectionOutput::default(),
            ring: ConnectionRing::None,
            association: None,
        })
    }

    /// When its handshake began, if that is not over.
    pub(super) fn handshake_since(&self) -> Option<u64> {
        match self.role {
            ConnectionRole::Stranger { since }
            | ConnectionRole::Connecting { since, .. }
            | ConnectionRole::Securing { since, .. }
            | ConnectionRole::Greeting { since, .. } => Some(since),
            ConnectionRole::Receiving { .. } | ConnectionRole::Sending { .. } => None,
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
                    outcome.bytes += count as u64;
                    outcome.reads += 1;
                    if let Err(reason) = self.receive(&scratch[..count]) {
                        outcome.end = Some(reason);
                        return outcome;
                    }
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

    /// Takes bytes of the socket, which are at least one.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), DisconnectReason> {
        if matches!(self.transport, ConnectionTransport::Undecided(_)) {
            let transport = std::mem::replace(&mut self.transport, ConnectionTransport::Clear);
            if let ConnectionTransport::Undecided(secure) = transport
                && is_encrypted(bytes[0])
            {
                self.transport = ConnectionTransport::Encrypted(secure);
            }
        }
        let ConnectionTransport::Encrypted(secure) = &mut self.transport else {
            self.decoder.feed(bytes);
            return Ok(());
        };
        let received = secure.receive(bytes, &mut self.decoder);
        // Its part of the handshake, the confirmation of new keys, or an alert: small, and mostly nothing.
        while secure.is_waiting() && secure.write(&mut self.stream)?.is_some() {}
        received
    }

    /// The encryption, once the other side has shown that it encrypts too.
    pub(super) fn encryption(&self) -> Option<&Secure> {
        match &self.transport {
            ConnectionTransport::Encrypted(secure) => Some(secure),
            ConnectionTransport::Clear | ConnectionTransport::Undecided(_) => None,
        }
    }

    /// Has both sides go on with new keys.
    #[cfg(test)]
    pub(super) fn refresh(&mut self) {
        if let ConnectionTransport::Encrypted(secure) = &mut self.transport {
            secure.refresh();
        }
    }

    /// Begins to prove who is at the two ends, if this side has keys, and says whether it has.
    pub(super) fn secure(&mut self) -> io::Result<bool> {
        let ConnectionTransport::Undecided(secure) = &mut self.transport else { return Ok(false) };
        // Smaller than any socket's buffer.
        while secure.is_waiting() && secure.write(&mut self.stream)?.is_some() {}
        Ok(true)
    }

    /// Whether a write now could take something.
    pub(super) fn is_writable(&self) -> bool {
        let waiting = self.output.waiting() > 0 || self.encryption().is_some_and(Secure::is_waiting);
        waiting && !self.output.blocked
    }

    /// Writes what waits, once if it is in clear, and says how many bytes left.
    pub(super) fn write(&mut self) -> Result<usize, DisconnectReason> {
        let stream = &mut self.stream;
        match (&mut self.ring, &mut self.transport) {
            (ConnectionRing::Out(ring), transport) => {
                // What both sides say to each other to keep their keys goes over the socket.
                if let ConnectionTransport::Encrypted(secure) = transport {
                    while secure.is_waiting() && secure.write(stream)?.is_some() {}
                }
                self.output.write(|bytes| ring.write(bytes).map_err(|_| DisconnectReason::Ring))
            }
            (_, ConnectionTransport::Encrypted(secure)) => Ok(self.output.write_encrypted(secure, stream)?),
            (_, ConnectionTransport::Clear | ConnectionTransport::Undecided(_)) => {
                Ok(self.output.write(|bytes| write_once(stream, bytes))?)
            }
        }
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
        let mut output = ConnectionOutput { buffer: (0..100).collect(), written: 60, blocked: true };
        assert_eq!(output.waiting(), 40);
        output.end().push(100);
        assert_eq!((output.buffer.len(), output.waiting()), (41, 41));
        assert!(output.buffer.iter().copied().eq(60..=100), "what waits is what had not left");
    }
}
