//! Frames over a connection that is never waited for, in clear or encrypted: for event loops, and for whoever waits for several
//! connections at once.
//!
//! Between a client and a server that need not be sites: with keys both prove that they belong to the instance. Invariant: before that
//! nothing is sent and nothing comes out; after an error a connection is of no use any more.

use crate::frame::{self, FrameDecoder};
use crate::keys::Keys;
use crate::limits::{FRAME_BYTES_MAX, OUTPUT_BYTES_KEPT, READ_BYTES, UNACKNOWLEDGED_MS};
use crate::remote::RemoteError;
use crate::streams::secure::{Secure, is_record};
use bytes::Bytes;
use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

/// One end of a connection.
#[derive(Debug)]
pub struct Framed {
    stream: TcpStream,
    secure: Option<Box<(Secure, Keys)>>,
    decoder: FrameDecoder,
    scratch: Box<[u8]>,
    output: Vec<u8>,
    /// Bytes of the output that have left, or have been encrypted.
    taken: usize,
    is_fresh: bool,
    /// The last read has emptied the socket: another one would only say so.
    is_drained: bool,
}

impl Framed {
    /// The end that has connected.
    ///
    /// # Errors
    /// The operating system refuses, or the keys are of no use.
    pub fn connecting(stream: TcpStream, keys: Option<&Keys>) -> Result<Framed, RemoteError> {
        let secure = keys.map(|keys| Ok::<_, RemoteError>((Secure::connecting(keys)?, keys.clone()))).transpose()?;
        Framed::new(stream, secure)
    }

    /// The end that has accepted.
    ///
    /// # Errors
    /// As [`Framed::connecting`].
    pub fn accepting(stream: TcpStream, keys: Option<&Keys>) -> Result<Framed, RemoteError> {
        let secure = keys.map(|keys| Ok::<_, RemoteError>((Secure::accepting(keys)?, keys.clone()))).transpose()?;
        Framed::new(stream, secure)
    }

    fn new(stream: TcpStream, secure: Option<(Secure, Keys)>) -> Result<Framed, RemoteError> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_MS).map_err(io::Error::from)?;
        Ok(Framed {
            stream,
            secure: secure.map(Box::new),
            decoder: FrameDecoder::new(FRAME_BYTES_MAX),
            scratch: vec![0; READ_BYTES].into(),
            output: Vec::new(),
            taken: 0,
            is_fresh: true,
            is_drained: false,
        })
    }

    /// The socket, to be waited for.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Adds a frame to what waits to be sent; `write` appends its payload.
    ///
    /// # Errors
    /// It is too long. Nothing was added.
    pub fn send_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), RemoteError> {
        frame::append_with(&mut self.output, FRAME_BYTES_MAX, write).map_err(|bytes| RemoteError::TooLong { bytes })
    }

    /// Bytes that wait to be sent.
    pub fn waiting_bytes(&self) -> usize {
        self.output.len() - self.taken
    }

    /// Bytes that have come of a frame that is not whole, and of frames not asked for.
    pub fn rest_bytes(&self) -> usize {
        self.decoder.rest_bytes()
    }

    /// Whether the socket must be waited for before more can be sent.
    pub fn is_waiting(&self) -> bool {
        match self.secure.as_deref() {
            None => self.waiting_bytes() > 0,
            Some((secure, _)) => secure.is_waiting() || secure.is_proved() && self.waiting_bytes() > 0,
        }
    }

    /// Sends as much as the socket takes now.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn flush(&mut self) -> Result<(), RemoteError> {
        match self.secure.as_deref_mut() {
            None => {
                while self.taken < self.output.len() {
                    match self.stream.write(&self.output[self.taken..]) {
                        Ok(0) => return Err(RemoteError::Closed),
                        Ok(count) => self.taken += count,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Some((secure, _)) => loop {
                while secure.is_waiting() {
                    if secure.write(&mut self.stream)?.is_none() {
                        return Ok(());
                    }
                }
                if !secure.is_proved() {
                    return Ok(());
                }
                if self.taken == self.output.len() {
                    break;
                }
                self.taken += secure.encrypt(&self.output[self.taken..])?;
            },
        }
        self.output.clear();
        self.output.shrink_to(OUTPUT_BYTES_KEPT);
        self.taken = 0;
        Ok(())
    }

    /// The next frame, if one has come. After none, the socket has been emptied, but its end may not have been seen: who is told of changes
    /// only (epoll's edges) asks again when the end is among them. The payload shares the receive buffer: copy out what is to be kept for long.
    ///
    /// # Errors
    /// The connection is closed or broken, what came are no frames, or the other side is none of the instance.
    pub fn receive(&mut self) -> Result<Option<Bytes>, RemoteError> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return Ok(Some(frame));
            }
            if std::mem::take(&mut self.is_drained) {
                return Ok(None);
            }
            let count = match self.stream.read(&mut self.scratch) {
                Ok(0) => return Err(self.closed()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.is_drained = count < self.scratch.len();
            self.take(count)?;
        }
    }

    fn closed(&self) -> RemoteError {
        let is_proved = self.secure.as_deref().is_none_or(|(secure, _)| secure.is_proved());
        if is_proved { RemoteError::Closed } else { RemoteError::Unproved }
    }

    fn take(&mut self, count: usize) -> Result<(), RemoteError> {
        let bytes = &self.scratch[..count];
        let is_fresh = std::mem::replace(&mut self.is_fresh, false);
        match self.secure.as_deref_mut() {
            None => {
                let first = bytes.first_chunk().map(|first| u32::from_le_bytes(*first));
                if is_fresh && first.is_some_and(is_record) {
                    return Err(RemoteError::Encrypted);
                }
                self.decoder.feed(bytes);
            }
            Some((secure, keys)) => {
                let was_proved = secure.is_proved();
                let received = secure.receive(bytes, &mut self.decoder);
                // Its part of the handshake, or an alert that says what is wrong.
                while secure.is_waiting() && secure.write(&mut self.stream)?.is_some() {}
                received?;
                if !was_proved && secure.is_proved() && !secure.is_of_instance(keys.instance()) {
                    return Err(RemoteError::Distrust(crate::streams::Distrust::Instance));
                }
                if secure.is_proved() {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Framed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Authority;
    use crate::keys::tests::Said;
    use identifiers::{InstanceId, SiteId};
    use rustix::event::{PollFd, PollFlags, poll};
    use std::net::TcpListener;

    const INSTANCE: InstanceId = InstanceId(0xdb);

    fn keys(authority: &Authority, site: u16) -> Keys {
        authority.keys(INSTANCE, SiteId(site), Said::of(INSTANCE, SiteId(site)))
    }

    fn pair(client: Option<&Keys>, server: Option<&Keys>) -> (Framed, Framed) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let connected = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        let (accepted, _) = listener.accept().expect("it has connected");
        let connecting = Framed::connecting(connected, client).expect("a client");
        (connecting, Framed::accepting(accepted, server).expect("a server"))
    }

    /// Moves what can be moved until this end has a frame or an error.
    fn until_received(one: &mut Framed, other: &mut Framed) -> Result<Bytes, RemoteError> {
        loop {
            one.flush()?;
            // An end that refuses the other has closed its side: what it said before that still comes.
            let _ = other.flush().and_then(|()| other.receive());
            if let Some(frame) = one.receive()? {
                return Ok(frame);
            }
            let mut polled = [PollFd::new(&one.stream, PollFlags::IN), PollFd::new(&other.stream, PollFlags::IN)];
            poll(&mut polled, None).expect("a poll");
        }
    }

    /// If this failed, what is sent to a memory server would be lost, or read on the way.
    #[test]
    fn frames_come_through_in_clear_and_encrypted() {
        let authority = Authority::new(INSTANCE).expect("an authority");
        let (first, second) = (keys(&authority, 1), keys(&authority, 2));
        for with_keys in [false, true] {
            let (mut client, mut server) = pair(with_keys.then_some(&first), with_keys.then_some(&second));
            for bytes in [0_usize, 1, 100_000, 3 << 20] {
                client.send_with(|payload| payload.extend(std::iter::repeat_n(7, bytes))).expect("it is not too long");
                client.flush().expect("a connection");
                let frame = until_received(&mut server, &mut client).expect("a frame");
                assert!(frame.len() == bytes && frame.iter().all(|byte| *byte == 7), "{} of {bytes}", frame.len());
            }
            assert_eq!(client.waiting_bytes(), 0);
            drop(client);
            let end = loop {
                match server.receive() {
                    Ok(None) => continue,
                    other => break other,
                }
            };
            assert!(matches!(end, Err(RemoteError::Closed)), "{end:?}");
        }
    }

    /// If this failed, anybody who reaches a memory server could write to it, or read what others have written.
    #[test]
    fn strangers_get_nothing() {
        let authority = Authority::new(INSTANCE).expect("an authority");
        let other = Authority::new(INSTANCE).expect("an authority");
        let (ours, theirs) = (keys(&authority, 1), keys(&other, 2));
        let cases = [(None, Some(&ours)), (Some(&ours), None), (Some(&theirs), Some(&ours))];
        for (client_keys, server_keys) in cases {
            let (mut client, mut server) = pair(client_keys, server_keys);
            client.send_with(|payload| payload.extend_from_slice(b"let me in")).expect("it is short");
            client.flush().expect("a connection");
            let received = until_received(&mut server, &mut client);
            assert!(received.is_err(), "{received:?}");
        }
    }
}
