//! Sockets: Unix ones that carry bytes, datagrams or packets, UDP and TCP.
//!
//! A datagram that does not come is sent again after a while, as a client of such a service must; the figures then tell it.

use super::pipes::serve_stream;
use crate::communication::limits::{DATAGRAM_BYTES_MAX, LOST_MAX, LOST_TIME, RECEIVE_BYTES};
use crate::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::{Failure, Outcome};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

/// A Unix socket.
pub struct Unix {
    name: &'static str,
    kind: SocketType,
    /// Bytes of the longest message: what a socket's buffer takes as it is from the start.
    bytes_max: usize,
}

/// A stream of bytes.
pub const UNIX_STREAM: Unix = Unix { name: "Unix stream socket", kind: SocketType::STREAM, bytes_max: usize::MAX };
/// Datagrams.
pub const UNIX_DATAGRAM: Unix = Unix { name: "Unix datagram socket", kind: SocketType::DGRAM, bytes_max: 1 << 17 };
/// Packets in order, over a connection.
pub const UNIX_SEQPACKET: Unix =
    Unix { name: "Unix seqpacket socket", kind: SocketType::SEQPACKET, bytes_max: 1 << 17 };

impl Unix {
    fn socket(&self) -> Outcome<OwnedFd> {
        Ok(rustix::net::socket_with(AddressFamily::UNIX, self.kind, SocketFlags::CLOEXEC, None)?)
    }

    fn bound(&self, path: &Path) -> Outcome<OwnedFd> {
        let socket = self.socket()?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(socket)
    }
}

/// Receives until the buffer is full, or as one message. `false`: the other side is gone.
fn receive(socket: &OwnedFd, kind: SocketType, buffer: &mut [u8]) -> Outcome<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        let received = rustix::net::recv(socket, &mut buffer[filled..], RecvFlags::empty())?.0;
        if received == 0 {
            return Ok(false);
        }
        filled += received;
        if kind != SocketType::STREAM && filled < buffer.len() {
            return Err(Failure::Wrong(format!("a message of {filled} bytes instead of {}", buffer.len())));
        }
    }
    Ok(true)
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> Outcome<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        sent += rustix::net::send(socket, &bytes[sent..], SendFlags::NOSIGNAL)?;
    }
    Ok(())
}

impl Method for Unix {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let mut socket = self.bound(&meeting.folder.join("server"))?;
        if self.kind == SocketType::DGRAM {
            ready("")?;
            // Whoever is first is the client, and the only one.
            let mut first = vec![0; meeting.request_bytes.max(1)];
            rustix::net::recv(&socket, first.as_mut_slice(), RecvFlags::PEEK)?;
            rustix::net::connect(&socket, &SocketAddrUnix::new(meeting.folder.join("client"))?)?;
        } else {
            rustix::net::listen(&socket, 1)?;
            ready("")?;
            socket = rustix::net::accept(&socket)?;
        }
        let (mut request, mut reply) = (vec![0; meeting.request_bytes], Vec::new());
        while receive(&socket, self.kind, &mut request)? {
            reply_to(&request, &mut reply, meeting.reply_bytes);
            send(&socket, &reply)?;
        }
        Ok(())
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let socket = match self.kind {
            SocketType::DGRAM => self.bound(&meeting.folder.join("client"))?,
            _ => self.socket()?,
        };
        rustix::net::connect(&socket, &SocketAddrUnix::new(meeting.folder.join("server"))?)?;
        let (kind, reply_bytes) = (self.kind, meeting.reply_bytes);
        Ok(Box::new(move |request, reply| {
            send(&socket, request)?;
            reply.resize(reply_bytes, 0);
            match receive(&socket, kind, reply)? {
                true => Ok(()),
                false => Err(Failure::Wrong("the server has closed the socket".to_owned())),
            }
        }))
    }
}

/// Datagrams over IP.
pub struct Udp;

/// A UDP socket of this host with room for many datagrams, if we may have it.
///
/// # Errors
/// The operating system refuses.
pub fn udp_socket(meeting: &Meeting) -> Outcome<UdpSocket> {
    let any = std::net::Ipv4Addr::UNSPECIFIED;
    let own = if meeting.host.is_loopback() { meeting.host } else { any };
    let socket = UdpSocket::bind((own, 0))?;
    if set_socket_recv_buffer_size_force(socket.as_fd(), RECEIVE_BYTES).is_err() {
        // Without the right to force it, as much as there may be.
        set_socket_recv_buffer_size(socket.as_fd(), RECEIVE_BYTES)?;
    }
    Ok(socket)
}

/// Where a socket of the server's host is reached.
///
/// # Errors
/// The operating system refuses.
pub fn reached_at(meeting: &Meeting, own: SocketAddr) -> String {
    SocketAddr::from((meeting.host, own.port())).to_string()
}

/// The server's address.
///
/// # Errors
/// The server has said something else.
pub fn server_of(meeting: &Meeting) -> Outcome<SocketAddr> {
    meeting.address.parse().map_err(|_| Failure::Wrong(format!("`{}` is no address", meeting.address)))
}

/// Sends until something comes back: what is lost is sent again.
///
/// # Errors
/// Too much is lost, or the operating system refuses.
pub fn insist(mut send: impl FnMut() -> Outcome<()>, mut receive: impl FnMut() -> std::io::Result<()>) -> Outcome<()> {
    for _ in 0..LOST_MAX {
        send()?;
        match receive() {
            Ok(()) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Missing(format!("the datagrams are lost, {LOST_MAX} times in a row")))
}

impl Method for Udp {
    fn name(&self) -> &'static str {
        "UDP"
    }

    fn bytes_max(&self) -> usize {
        DATAGRAM_BYTES_MAX
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let socket = udp_socket(meeting)?;
        ready(&reached_at(meeting, socket.local_addr()?))?;
        let (mut request, mut reply) = (vec![0; meeting.request_bytes.max(1)], Vec::new());
        loop {
            let (length, client) = socket.recv_from(&mut request)?;
            reply_to(&request[..length], &mut reply, meeting.reply_bytes);
            socket.send_to(&reply, client)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let socket = udp_socket(meeting)?;
        socket.connect(server_of(meeting)?)?;
        socket.set_read_timeout(Some(Duration::from_millis(LOST_TIME)))?;
        let reply_bytes = meeting.reply_bytes;
        Ok(Box::new(move |request, reply| {
            reply.resize(reply_bytes.max(1), 0);
            insist(|| Ok(socket.send(request).map(drop)?), || socket.recv(reply).map(drop))?;
            reply.truncate(reply_bytes);
            Ok(())
        }))
    }
}

/// A stream over IP, without waiting for more to send.
pub struct Tcp;

impl Method for Tcp {
    fn name(&self) -> &'static str {
        "TCP"
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let listener = TcpListener::bind((meeting.host, 0))?;
        ready(&reached_at(meeting, listener.local_addr()?))?;
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        serve_stream(meeting, |request| (&socket).read_exact(request), |reply| (&socket).write_all(reply))
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let mut socket = TcpStream::connect(server_of(meeting)?)?;
        socket.set_nodelay(true)?;
        let reply_bytes = meeting.reply_bytes;
        Ok(Box::new(move |request, reply| {
            socket.write_all(request)?;
            reply.resize(reply_bytes, 0);
            Ok(socket.read_exact(reply)?)
        }))
    }
}
