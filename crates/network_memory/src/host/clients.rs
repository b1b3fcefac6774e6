//! A memory server's clients, by their connections.
//!
//! Invariants: what is held of requests that are not whole, and of replies that were not taken, is bounded for all clients together, and somebody
//! always goes on: beyond the bound the client that has connected first of those that something is held of. A client that says nonsense, or
//! does not take its replies, loses its connection and nobody else anything.

use super::HostClock;
use crate::limits::{CONNECTION_SILENCE, REPLY_BYTES_MAX, TURN_REQUESTS_MAX};
use crate::message::{ToServer, ToWriter, encode};
use crate::server::LogServer;
use mio::Token;
use raidcomm::framed::Framed;
use raidcomm::remote::RemoteError;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;

/// What a client is answered with.
pub(super) struct Answering<'a> {
    pub(super) clock: HostClock,
    pub(super) server: &'a mut LogServer,
    pub(super) scratch: &'a mut Vec<u8>,
}

/// A client.
struct ClientConnection {
    framed: Framed,
    /// When it has said something last.
    heard_at: u64,
}

/// See the module's description.
pub(super) struct LogClients {
    connections: BTreeMap<Token, ClientConnection>,
    /// Those that may have said more than was answered in their turn.
    unanswered: BTreeSet<Token>,
    /// Those that are not heard now.
    postponed: BTreeSet<Token>,
    /// Those of which something is held.
    holders: BTreeSet<Token>,
    held_bytes: usize,
    held_bytes_max: usize,
}

impl LogClients {
    /// None; of all together so many bytes may be held.
    pub(super) fn new(held_bytes_max: usize) -> LogClients {
        LogClients {
            connections: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            postponed: BTreeSet::new(),
            holders: BTreeSet::new(),
            held_bytes: 0,
            held_bytes_max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn insert(&mut self, token: Token, framed: Framed, now: u64) {
        self.connections.insert(token, ClientConnection { framed, heard_at: now });
    }

    /// A connection is looked at again though nothing tells that something has come over it.
    pub(super) fn look_again(&mut self, token: Token) {
        self.unanswered.insert(token);
    }

    /// Those that have to be looked at again.
    pub(super) fn take_unanswered(&mut self) -> BTreeSet<Token> {
        std::mem::take(&mut self.unanswered)
    }

    pub(super) fn has_unanswered(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Answers what has come over any connection; says whether anything had.
    pub(super) fn look(&mut self, answering: &mut Answering<'_>) -> bool {
        let (mut last, mut has_come) = (Bound::Unbounded, false);
        while let Some((&token, _)) = self.connections.range((last, Bound::Unbounded)).next() {
            has_come |= self.turn(token, answering);
            last = Bound::Excluded(token);
        }
        has_come
    }

    /// Answers what has come over a connection; says whether anything had.
    pub(super) fn turn(&mut self, token: Token, answering: &mut Answering<'_>) -> bool {
        let Some(connection) = self.connections.get_mut(&token) else { return false };
        let held_bytes = connection.held_bytes();
        if self.held_bytes >= self.held_bytes_max && self.holders.first().is_some_and(|first| *first != token) {
            self.postponed.insert(token);
            return false;
        }
        let answered = connection.answer(answering);
        let has_come = !matches!(answered, Ok(Answered { requests: 0, .. }));
        let left_bytes = connection.held_bytes();
        if keep(token, answered, &mut self.unanswered) {
            self.account(token, held_bytes, left_bytes);
        } else {
            self.connections.remove(&token);
            self.account(token, held_bytes, 0);
        }
        has_come
    }

    /// So much was held of a client, and is now.
    fn account(&mut self, token: Token, before: usize, after: usize) {
        if before == 0 && after == 0 {
            return;
        }
        self.held_bytes = self.held_bytes - before + after;
        let has_left = if after > 0 {
            self.holders.insert(token);
            false
        } else {
            self.holders.remove(&token)
        };
        if has_left || self.held_bytes < self.held_bytes_max {
            self.unanswered.append(&mut self.postponed);
        }
    }

    /// Closes connections of hosts that have gone without a word.
    pub(super) fn sweep(&mut self, now: u64) {
        let is_silent = |connection: &ClientConnection| now >= connection.heard_at + CONNECTION_SILENCE;
        while let Some((token, bytes)) = self
            .connections
            .iter()
            .find_map(|(token, connection)| is_silent(connection).then(|| (*token, connection.held_bytes())))
        {
            self.connections.remove(&token);
            self.account(token, bytes, 0);
        }
    }

    /// Closes all.
    pub(super) fn clear(&mut self) {
        *self = LogClients::new(self.held_bytes_max);
    }
}

/// What was done for a connection in its turn.
struct Answered {
    requests: usize,
    /// There may be more.
    has_more: bool,
}

impl ClientConnection {
    fn held_bytes(&self) -> usize {
        self.framed.rest_bytes() + self.framed.waiting_bytes()
    }

    /// Answers some of what has come.
    fn answer(&mut self, answering: &mut Answering<'_>) -> Result<Answered, RemoteError> {
        let ClientConnection { framed, heard_at } = self;
        let Answering { clock, server, scratch } = answering;
        if framed.is_waiting() {
            framed.flush()?;
        }
        for requests in 0..TURN_REQUESTS_MAX {
            // When it has taken some, that is told.
            if framed.waiting_bytes() > REPLY_BYTES_MAX {
                return Ok(Answered { requests, has_more: false });
            }
            let Some(frame) = framed.receive()? else { return Ok(Answered { requests, has_more: false }) };
            let ToServer { log, request, .. } = ToServer::decode(&frame)
                .map_err(|error| RemoteError::System(io::Error::new(io::ErrorKind::InvalidData, error)))?;
            *heard_at = clock.now();
            let reply = server.handle(*heard_at, log, request);
            let message = ToWriter::new(log, server.incarnation(), reply);
            scratch.clear();
            encode(&message, scratch);
            framed.send_with(|payload| payload.extend_from_slice(scratch))?;
            framed.flush()?;
        }
        Ok(Answered { requests: TURN_REQUESTS_MAX, has_more: true })
    }
}

/// Whether a connection is kept. One that is not is closed, and with that no longer registered.
fn keep(token: Token, answered: Result<Answered, RemoteError>, unanswered: &mut BTreeSet<Token>) -> bool {
    match answered {
        Ok(Answered { has_more, .. }) => {
            if has_more {
                unanswered.insert(token);
            }
            true
        }
        Err(RemoteError::Closed) => false,
        // It has ended without having read its last replies, or its host has.
        Err(RemoteError::System(error)) if is_end(error.kind()) => {
            tracing::debug!("a client has gone: {error}");
            false
        }
        Err(error) => {
            tracing::warn!("a client's connection was closed: {error}");
            false
        }
    }
}

fn is_end(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as Kind;
    matches!(kind, Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::WriterRequest;
    use crate::names::{Incarnation, LogId};
    use crate::server::Room;
    use raidcomm::frame;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    const MAX: usize = 10_000;

    struct Trial {
        clients: LogClients,
        server: LogServer,
        listener: TcpListener,
        scratch: Vec<u8>,
    }

    impl Trial {
        fn new() -> Trial {
            let room = Room { capacity_bytes: 1 << 20, quota_bytes: 1 << 20 };
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let (clients, server) = (LogClients::new(MAX), LogServer::new(Incarnation(1), room));
            Trial { clients, server, listener, scratch: Vec::new() }
        }

        fn connect(&mut self, token: usize) -> TcpStream {
            let client = TcpStream::connect(self.listener.local_addr().expect("an address")).expect("it listens");
            let (accepted, _) = self.listener.accept().expect("it has connected");
            self.clients.insert(Token(token), Framed::accepting(accepted, None).expect("a socket"), 1);
            client
        }

        fn turn(&mut self, token: usize) -> bool {
            let Trial { clients, server, scratch, .. } = self;
            clients.turn(Token(token), &mut Answering { clock: HostClock::start(), server, scratch })
        }

        /// Looks at a client until so many bytes are held of all.
        fn hold(&mut self, token: usize, bytes: usize) {
            while self.clients.held_bytes != bytes {
                self.turn(token);
            }
        }
    }

    fn whole() -> Vec<u8> {
        let mut request = Vec::new();
        frame::append_with(&mut request, 100, |payload| {
            encode(&ToServer::new(LogId(1), WriterRequest::Status), payload)
        })
        .expect("it is short");
        request
    }

    /// If this failed, clients that send large requests would take memory without a bound, or hold each other up for ever.
    #[test]
    fn what_is_held_of_clients_is_bounded_and_one_goes_on() {
        let mut trial = Trial::new();
        let (mut first, mut second, mut third) = (trial.connect(2), trial.connect(3), trial.connect(4));
        // Two requests that are no messages, and not whole.
        let mut long = Vec::new();
        frame::append(&mut long, &[0; 20_000]);
        first.write_all(&long[..1_000]).expect("a connection");
        trial.hold(2, 1_000);
        second.write_all(&long[..12_000]).expect("a connection");
        trial.hold(3, 13_000);
        third.write_all(&whole()).expect("a connection");
        second.write_all(&long[12_000..15_000]).expect("a connection");
        for _ in 0..100 {
            assert!(!trial.turn(4) && !trial.turn(3), "there is no room for more of them");
        }
        assert_eq!((trial.clients.held_bytes, trial.clients.postponed.len()), (13_000, 2));
        assert!(!trial.clients.has_unanswered());
        // The first one goes on, and ends.
        first.write_all(&long[1_000..11_000]).expect("a connection");
        trial.hold(2, 23_000);
        drop(first);
        trial.hold(2, 12_000);
        assert_eq!(trial.clients.take_unanswered(), BTreeSet::from([Token(3), Token(4)]));
        assert!(!trial.turn(4), "there is still no room");
        trial.hold(3, 15_000);
        second.write_all(&long[15_000..]).expect("a connection");
        while trial.clients.len() > 1 {
            trial.turn(3);
        }
        assert_eq!((trial.clients.held_bytes, trial.clients.len()), (0, 1), "it was no message");
        assert!(trial.clients.has_unanswered());
        while !trial.turn(4) {}
        third.read_exact(&mut [0; 8]).expect("an answer");
    }
}
