//! A client's connection: bytes of its socket in and out, encrypted or not.
//!
//! Invariant: at most so many bytes are read in one turn; what the socket does not take at once stays.

use super::encrypted::{Encrypted, HANDSHAKE};
use crate::entrance::Entrance;
use crate::limits;
use bytes::{Buf, BytesMut};
use messages::SessionId;
use mio::net::TcpStream;
use rustix::net::sockopt;
use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use user_interface::Peer;

/// A client's connection.
pub(crate) struct ConnectedClient {
    pub(super) socket: TcpStream,
    /// Its connection is encrypted.
    pub(super) tls: Option<Encrypted>,
    /// Nothing of it has come yet.
    pub(super) fresh: bool,
    pub(super) session: SessionId,
    pub(super) input: BytesMut,
    /// The operating system has reported the end of its side, which may stand behind bytes that are still to be read.
    pub(super) ending: bool,
    /// Its side of the connection is closed.
    pub(super) ended: bool,
    /// The socket may have more to read.
    pub(super) readable: bool,
    /// The socket takes more.
    pub(super) writable: bool,
    /// When a long message of it came (boot clock).
    pub(super) long_at: u64,
}

/// Answers leave at once; a client whose host has vanished is noticed, and its locks released.
pub(super) fn prepare(socket: &TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, limits::CLIENT_KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(socket, limits::CLIENT_KEEPALIVE)?;
    sockopt::set_tcp_keepcnt(socket, limits::CLIENT_KEEPALIVE_PROBES)?;
    if is_of_this_host(socket) {
        // Nothing can be congested in between, so what costs least is best: others keep a model of the path up to date with every segment. It is
        // part of every kernel (tcp(7)); one that refuses it keeps its own choice.
        let _ = sockopt::set_tcp_congestion(socket, "reno");
    }
    Ok(())
}

/// Where a client is.
pub(super) fn peer_of(socket: &TcpStream) -> Peer {
    // A connection that is gone already has no address, and is let in nowhere.
    let address = socket.peer_addr().map_or(Ipv4Addr::UNSPECIFIED.into(), |address| address.ip().to_canonical());
    Peer { address, same_host: is_of_this_host(socket) }
}

/// Whether the two ends of a connection are at one host, as far as their addresses tell.
fn is_of_this_host(socket: &TcpStream) -> bool {
    let (Ok(peer), Ok(local)) = (socket.peer_addr(), socket.local_addr()) else { return false };
    let [peer, local] = [peer, local].map(|address| address.ip().to_canonical());
    peer.is_loopback() || peer == local
}

impl ConnectedClient {
    /// One that has just connected.
    pub(super) fn new(socket: TcpStream, session: SessionId) -> ConnectedClient {
        ConnectedClient {
            socket,
            tls: None,
            fresh: true,
            session,
            input: BytesMut::new(),
            ending: false,
            ended: false,
            readable: true,
            writable: true,
            long_at: 0,
        }
    }

    /// Reads what is there, up to a bound. `buffer` is for what comes in at once.
    pub(super) fn read(&mut self, buffer: &mut [u8]) {
        let mut room = limits::CLIENT_READ_BYTES;
        while room > 0 {
            match self.socket.read(buffer) {
                Ok(0) => {
                    self.ended = true;
                    self.readable = false;
                    return;
                }
                Ok(bytes) => {
                    if !self.take(&buffer[..bytes]) {
                        return;
                    }
                    room = room.saturating_sub(bytes);
                    if bytes < buffer.len() && !self.ending {
                        // Edge-triggered: a short read means that the next bytes come with an event of their own. An end that was
                        // reported already does not.
                        self.readable = false;
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.readable = false;
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::debug!(session = self.session.0, %error, "a client is gone");
                    self.ended = true;
                    self.readable = false;
                    return;
                }
            }
        }
    }

    /// Takes bytes of the socket. `false`: its TLS is broken.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let Some(tls) = &mut self.tls else {
            self.input.extend_from_slice(bytes);
            return true;
        };
        match tls.take(bytes, &mut self.input) {
            Ok(has_ended) => {
                self.ended |= has_ended;
                true
            }
            Err(error) => {
                self.broken(&error);
                false
            }
        }
    }

    /// Whether something that was taken for it waits for its socket.
    pub(super) fn holds(&self) -> bool {
        self.tls.as_ref().is_some_and(Encrypted::holds)
    }

    /// Its TLS is no TLS: it is told, and goes.
    pub(super) fn broken(&mut self, error: &str) {
        tracing::debug!(session = self.session.0, error, "a client's encryption is broken");
        self.input.clear();
        self.ended = true;
        self.readable = false;
    }

    /// Begins with TLS, which it was told to do. `false`: it cannot, or has sent something before.
    pub(super) fn begin(&mut self, entrance: &Entrance) -> bool {
        let tls = entrance.tls().filter(|_| self.input.is_empty());
        self.tls = tls.and_then(|tls| Encrypted::new(tls, false));
        self.tls.is_some()
    }

    /// A client may begin with TLS at once.
    pub(super) fn begin_directly(&mut self, entrance: &Entrance) {
        let Some(&first) = self.input.first().filter(|_| self.fresh) else { return };
        self.fresh = false;
        if first != HANDSHAKE {
            return;
        }
        if let Some(tls) = entrance.tls() {
            self.tls = Encrypted::new(tls, true);
            let bytes = std::mem::take(&mut self.input);
            self.take(&bytes);
        }
    }

    /// Writes what the socket takes. `false`: the client is gone.
    pub(super) fn write(&mut self, output: &mut BytesMut) -> bool {
        if let Some(tls) = &mut self.tls {
            if self.writable && (!output.is_empty() || tls.holds()) {
                match tls.write(output, &mut self.socket) {
                    Ok(writable) => self.writable = writable,
                    Err(_) => return false,
                }
            }
            return true;
        }
        while !output.is_empty() && self.writable {
            match self.socket.write(output) {
                Ok(0) => return false,
                Ok(bytes) => output.advance(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, clients of this host would pay for a model of a path that has nothing to model, or a system that does without would not
    /// serve them at all.
    #[test]
    fn a_client_of_this_host_has_the_cheapest_congestion_control() {
        for host in ["127.0.0.1", "::1"] {
            // A system may lack one of them.
            let Ok(listener) = std::net::TcpListener::bind((host, 0)) else { continue };
            let _made = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
            let (accepted, _) = listener.accept().expect("it was made");
            let accepted = TcpStream::from_std(accepted);
            prepare(&accepted).expect("options of a socket");
            assert!(is_of_this_host(&accepted));
            assert_eq!(sockopt::tcp_congestion(&accepted).expect("an option of it"), "reno", "from {host}");
        }
    }
}
