//! Frames over a socket that is waited for, in clear or encrypted.
//!
//! Invariant: a wait ends at its deadline, however slowly bytes trickle in.

use super::RemoteError;
use crate::frame::{self, FrameDecoder};
use crate::limits::{
    FRAME_BYTES_MAX, GREETING_BYTES_MAX, KEEPALIVE_PROBES, KEEPALIVE_SECONDS, OUTPUT_BYTES_KEPT, READ_BYTES,
    UNACKNOWLEDGED_MS,
};
use crate::streams::secure::{Secure, is_record};
use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// One end of a connection.
#[derive(Debug)]
pub(super) struct LineTransport {
    stream: TcpStream,
    secure: Option<Box<Secure>>,
    decoder: FrameDecoder,
    scratch: Box<[u8]>,
    output: Vec<u8>,
    /// Nothing has come yet.
    fresh: bool,
    /// How long the socket waits for bytes.
    read_time: Option<Duration>,
}

impl LineTransport {
    /// Prepares a socket. `write_time`: how long a write may wait for the other side to take anything.
    pub(super) fn new(stream: TcpStream, secure: Option<Secure>, write_time: Duration) -> io::Result<LineTransport> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(write_time))?;
        sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_MS)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, Duration::from_secs(KEEPALIVE_SECONDS))?;
        sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(KEEPALIVE_SECONDS))?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_PROBES)?;
        Ok(LineTransport {
            stream,
            secure: secure.map(Box::new),
            decoder: FrameDecoder::new(GREETING_BYTES_MAX),
            scratch: vec![0; READ_BYTES].into(),
            output: Vec::new(),
            fresh: true,
            read_time: None,
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The encryption, if there is one.
    pub(super) fn secure(&self) -> Option<&Secure> {
        self.secure.as_deref()
    }

    /// Lets both sides prove who they are, if they encrypt.
    pub(super) fn prove(&mut self, deadline: Instant) -> Result<(), RemoteError> {
        let unproved = |error| match error {
            RemoteError::Closed => RemoteError::Unproved,
            RemoteError::System(error) if error.kind() == ErrorKind::ConnectionReset => RemoteError::Unproved,
            other => other,
        };
        self.write_encrypted()?;
        while self.secure().is_some_and(|secure| !secure.is_proved()) {
            self.read(Some(deadline)).map_err(unproved)?;
        }
        Ok(())
    }

    /// The greetings are over: frames may be long from here on.
    pub(super) fn greeted(&mut self) {
        self.decoder.accept(FRAME_BYTES_MAX);
    }

    /// Sends one frame.
    pub(super) fn send(&mut self, payload: &[u8]) -> Result<(), RemoteError> {
        if payload.len() > FRAME_BYTES_MAX {
            return Err(RemoteError::TooLong { bytes: payload.len() });
        }
        self.output.clear();
        frame::append(&mut self.output, payload);
        match &mut self.secure {
            None => self.stream.write_all(&self.output).map_err(silence)?,
            Some(secure) => {
                let mut rest = &self.output[..];
                while !rest.is_empty() {
                    let taken = secure.encrypt(rest)?;
                    rest = &rest[taken..];
                    write_encrypted(secure, &mut self.stream)?;
                }
            }
        }
        self.output.clear();
        self.output.shrink_to(OUTPUT_BYTES_KEPT);
        Ok(())
    }

    /// Waits for one frame, which replaces what is in `payload`.
    pub(super) fn receive(&mut self, payload: &mut Vec<u8>, deadline: Option<Instant>) -> Result<(), RemoteError> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                payload.clear();
                payload.extend_from_slice(&frame);
                return Ok(());
            }
            self.read(deadline)?;
        }
    }

    /// Reads once.
    fn read(&mut self, deadline: Option<Instant>) -> Result<(), RemoteError> {
        let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if wait.is_some_and(|wait| wait.is_zero()) {
            return Err(RemoteError::Silent);
        }
        // Who waits for ever, as a server does, tells the operating system so once.
        if self.read_time != wait {
            self.stream.set_read_timeout(wait)?;
            self.read_time = wait;
        }
        let count = match self.stream.read(&mut self.scratch) {
            Ok(0) => return Err(RemoteError::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(silence(error)),
        };
        let bytes = &self.scratch[..count];
        let fresh = std::mem::replace(&mut self.fresh, false);
        match &mut self.secure {
            None if fresh && begins_encrypted(bytes) => Err(RemoteError::Encrypted),
            None => {
                self.decoder.feed(bytes);
                Ok(())
            }
            Some(secure) => {
                let received = secure.receive(bytes, &mut self.decoder);
                // Its part of the handshake, or an alert that says what is wrong.
                let written = write_encrypted(secure, &mut self.stream);
                received?;
                written
            }
        }
    }

    fn write_encrypted(&mut self) -> Result<(), RemoteError> {
        let Some(secure) = &mut self.secure else { return Ok(()) };
        write_encrypted(secure, &mut self.stream)
    }
}

fn write_encrypted(secure: &mut Secure, stream: &mut TcpStream) -> Result<(), RemoteError> {
    while secure.is_waiting() {
        secure.write(stream)?.ok_or(RemoteError::Silent)?;
    }
    Ok(())
}

/// Whether somebody who encrypts sent these first bytes.
fn begins_encrypted(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|first| is_record(u32::from_le_bytes(*first)))
}

/// A time that is over is an error of its own.
fn silence(error: io::Error) -> RemoteError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => RemoteError::Silent,
        _ => RemoteError::System(error),
    }
}
