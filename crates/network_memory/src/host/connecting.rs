//! Making connections, to all servers at once: an address that is dead holds up no other.

use super::links::ConnectorExchange;
use crate::limits::{CONNECT, CONNECT_PAUSE};
use crate::names::ServerId;
use raidcomm::framed::Framed;
use raidcomm::keys::Keys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A server that is being connected with.
#[derive(Debug)]
enum ConnectAttempt {
    Begun { socket: OwnedFd, at: u64 },
    Failed { at: u64 },
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Connecting {
    keys: Option<Keys>,
    attempts: BTreeMap<ServerId, ConnectAttempt>,
}

impl Connecting {
    pub(super) fn new(keys: Option<Keys>) -> Connecting {
        Connecting { keys, attempts: BTreeMap::new() }
    }

    /// Begins what is wanted, and ends what can be ended; says whether there is news.
    pub(super) fn turn(&mut self, now: u64, exchange: &Mutex<ConnectorExchange>) -> bool {
        let lock = || exchange.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = lock().wanted.clone();
        self.attempts.retain(|server, _| wanted.contains(server));
        let mut has_news = false;
        for server in wanted {
            let attempt = match self.attempts.remove(&server) {
                None => begin(server).map(|socket| ConnectAttempt::Begun { socket, at: now }),
                Some(ConnectAttempt::Failed { at }) if now < at + CONNECT_PAUSE => Ok(ConnectAttempt::Failed { at }),
                Some(ConnectAttempt::Failed { .. }) => {
                    begin(server).map(|socket| ConnectAttempt::Begun { socket, at: now })
                }
                Some(ConnectAttempt::Begun { socket, at }) => match is_connected(&socket) {
                    Ok(false) if now < at + CONNECT => Ok(ConnectAttempt::Begun { socket, at }),
                    Ok(false) => Err(io::Error::from(io::ErrorKind::TimedOut)),
                    Err(error) => Err(error),
                    Ok(true) => match Framed::connecting(TcpStream::from(socket), self.keys.as_ref()) {
                        Ok(framed) => {
                            let mut exchange = lock();
                            exchange.wanted.remove(&server);
                            exchange.made.push((server, framed));
                            has_news = true;
                            continue;
                        }
                        Err(error) => Err(io::Error::other(error.to_string())),
                    },
                },
            };
            let attempt = attempt.unwrap_or_else(|error| {
                tracing::debug!("memory server {server} cannot be reached: {error}");
                lock().failed.insert(server);
                has_news = true;
                ConnectAttempt::Failed { at: now }
            });
            self.attempts.insert(server, attempt);
        }
        has_news
    }

    /// Waits until a connection is made or has failed, at most so long.
    pub(super) fn wait(&self, time: Duration) {
        let sockets = self.attempts.values().filter_map(|attempt| match attempt {
            ConnectAttempt::Begun { socket, .. } => Some(PollFd::new(socket, PollFlags::OUT)),
            ConnectAttempt::Failed { .. } => None,
        });
        let mut sockets: Vec<PollFd<'_>> = sockets.collect();
        if sockets.is_empty() {
            return std::thread::park_timeout(time);
        }
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        // What fails here is looked at in the next turn.
        let _ = poll(&mut sockets, Some(&time));
    }
}

fn begin(server: ServerId) -> io::Result<OwnedFd> {
    let family = if server.0.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &server.0) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Whether a connection has been made; an error if it cannot be.
fn is_connected(socket: &OwnedFd) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)];
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut polled, Some(&none))? == 0 {
        return Ok(false);
    }
    sockopt::socket_error(socket)?.map_err(io::Error::from)?;
    Ok(true)
}
