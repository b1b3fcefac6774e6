//! The life of connections: connecting, accepting, greeting, closing, and what that means for a peer.
//!
//! Invariant: a connection that carries frames is encrypted if this site has keys, and then the peer's certificate is of
//! the peer. `StreamPeer::outgoing` and `StreamPeer::incoming` name the slots of the connections whose role names that peer, and no
//! others; `StreamPeer::reported` is the incarnation that both carry, and the owner has been told so.

use super::connection::{ConnectionRole, StreamConnection};
use super::hello::{FasterChannels, Greeting, Hello, HelloRefusal, INCARNATION_UNKNOWN, WantedChannels};
use super::rings::ConnectionRing;
use super::secure::{Distrust, Secure, is_record};
use super::status::{DisconnectReason, Incoming, PeerCounters};
use super::{Streams, sending};
use crate::frame::FrameError;
use crate::limits::{ACCEPTS_PER_TURN, CONNECTIONS_MAX, FRAME_BYTES_MAX, HANDSHAKES_MAX, RECONNECT_MAX, RECONNECT_MIN};
use bytes::Bytes;
use identifiers::SiteId;
use mio::net::TcpStream;
use mio::{Interest, Token};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Our connection to a peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum OutgoingConnection {
    /// There is none; the next attempt is made then.
    Waiting { until: u64 },
    /// It is in this slot, made or being made.
    Open(usize),
}

/// A site that we are to be connected with.
#[derive(Debug)]
pub(super) struct StreamPeer {
    pub address: SocketAddr,
    /// The newest life of it that has been seen.
    pub newest: u32,
    pub outgoing: OutgoingConnection,
    /// The slot of the connection that it made to us.
    pub incoming: Option<usize>,
    /// Attempts in a row that made no lasting connection.
    attempts: u32,
    /// The last connection ended because of its ring.
    pub(super) ring_failed: bool,
    /// The life that was reported as connected.
    pub reported: Option<u32>,
    pub last_failure: Option<DisconnectReason>,
    pub counters: PeerCounters,
}

impl StreamPeer {
    pub(super) fn new(address: SocketAddr) -> StreamPeer {
        StreamPeer {
            address,
            newest: INCARNATION_UNKNOWN,
            outgoing: OutgoingConnection::Waiting { until: 0 },
            incoming: None,
            attempts: 0,
            ring_failed: false,
            reported: None,
            last_failure: None,
            counters: PeerCounters::default(),
        }
    }

    /// Does not wait for the end of a pause.
    pub(super) fn retry_at_once(&mut self) {
        if let OutgoingConnection::Waiting { until } = &mut self.outgoing {
            *until = 0;
        }
    }

    /// Our connection is gone: sets when the next attempt is made.
    fn retry_later(&mut self, now: u64) {
        let pause = match self.attempts {
            0 => 0,
            attempts => RECONNECT_MAX.min(RECONNECT_MIN << (attempts - 1).min(16)),
        };
        self.attempts = self.attempts.saturating_add(1);
        self.outgoing = OutgoingConnection::Waiting { until: now.saturating_add(pause) };
    }

    fn failed(&mut self, reason: DisconnectReason) {
        self.last_failure = Some(reason);
        self.counters.failures += 1;
        let is_refusal = match reason {
            DisconnectReason::Refused(_) | DisconnectReason::Refusing(_) => true,
            DisconnectReason::Insecure(distrust) => distrust != Distrust::Garbled,
            _ => false,
        };
        if is_refusal {
            self.counters.refusals += 1;
        }
    }
}

impl Streams {
    /// Puts a new connection into a slot and asks for its events.
    fn open(&mut self, stream: TcpStream, role: ConnectionRole, secure: Option<Secure>) -> io::Result<usize> {
        let mut connection = StreamConnection::new(stream, role, secure)?;
        let slot = self.free_slots.pop().unwrap_or(self.connections.len());
        assert!(slot < CONNECTIONS_MAX, "the bounds on peers and handshakes bound the slots");
        if slot == self.connections.len() {
            self.connections.push(None);
        }
        if let Err(error) = self.registry.register(&mut connection.stream, self.token(slot), interest(role)) {
            self.free_slots.push(slot);
            return Err(error);
        }
        self.connections[slot] = Some(connection);
        Ok(slot)
    }

    fn token(&self, slot: usize) -> Token {
        Token(self.first_token + super::FIRST_CONNECTION + slot)
    }

    /// Starts our connection to a peer that waits for one.
    pub(super) fn connect(&mut self, site: SiteId) {
        let Some(peer) = self.peers.get(&site) else { return };
        let role = ConnectionRole::Connecting { site, since: self.now };
        let address = peer.address;
        let opened = self
            .keys
            .as_ref()
            .map(Secure::connecting)
            .transpose()
            .map_err(DisconnectReason::from)
            .and_then(|secure| Ok(TcpStream::connect(address).and_then(|stream| self.open(stream, role, secure))?));
        let Some(peer) = self.peers.get_mut(&site) else { return };
        match opened {
            Ok(slot) => peer.outgoing = OutgoingConnection::Open(slot),
            Err(reason) => {
                peer.failed(reason);
                peer.retry_later(self.now);
            }
        }
    }

    /// Accepts what waits, up to this turn's share.
    pub(super) fn accept(&mut self) {
        self.accept_again = false;
        for _ in 0..ACCEPTS_PER_TURN {
            match self.listener.accept() {
                Ok((stream, _)) => self.accepted(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The one that waited first has given up; others may wait behind it.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => {
                    self.strangers.accept_failures += 1;
                    self.strangers.last_failure = Some(error.into());
                    break;
                }
            }
        }
        self.accept_again = true;
    }

    fn accepted(&mut self, stream: TcpStream) {
        self.strangers.accepted += 1;
        let role = ConnectionRole::Stranger { since: self.now };
        let opened = self.keys.as_ref().map(Secure::accepting).transpose().map_err(DisconnectReason::from);
        if let Err(reason) = opened.and_then(|secure| Ok(self.open(stream, role, secure)?)) {
            self.lost_stranger(reason);
            return;
        }
        let since = |connection: &StreamConnection| match connection.role {
            ConnectionRole::Stranger { since } => Some(since),
            _ => None,
        };
        let strangers = self.connections.iter().enumerate();
        let mut strangers: Vec<(u64, usize)> =
            strangers.filter_map(|(slot, connection)| Some((since(connection.as_ref()?)?, slot))).collect();
        if strangers.len() > HANDSHAKES_MAX {
            strangers.sort_unstable();
            self.close(strangers[0].1, DisconnectReason::Crowded);
        }
    }

    /// The operating system takes bytes, or has made our connection, or has failed to.
    pub(super) fn writable(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        match connection.role {
            ConnectionRole::Connecting { site, since } => {
                let made = connection.is_made().and_then(|made| {
                    if made && connection.secure()? {
                        connection.role = ConnectionRole::Securing { site, since };
                        return Ok(false);
                    }
                    Ok(made)
                });
                match made {
                    Ok(true) => self.greet(slot, site, since),
                    Ok(false) => {}
                    Err(reason) => self.close(slot, reason),
                }
            }
            ConnectionRole::Sending { .. } if !matches!(connection.ring, ConnectionRing::Out(_)) => {
                connection.output.unblock()
            }
            ConnectionRole::Sending { .. }
            | ConnectionRole::Stranger { .. }
            | ConnectionRole::Receiving { .. }
            | ConnectionRole::Securing { .. }
            | ConnectionRole::Greeting { .. } => {}
        }
    }

    /// Sends our hello on our connection.
    fn greet(&mut self, slot: usize, site: SiteId, since: u64) {
        let wanted = WantedChannels { host: self.host_for(site), datagrams: self.has_datagrams_for(site) };
        let faster = if wanted.host.is_some() || wanted.datagrams {
            FasterChannels::Wanted(wanted)
        } else {
            FasterChannels::None
        };
        let Some(connection) = self.connections[slot].as_mut() else { return };
        connection.role = ConnectionRole::Greeting { site, since };
        let hello = Greeting::Hello { hello: self.local, to: site, faster };
        if let Err(reason) = connection.greet(hello, self.local.version) {
            self.close(slot, reason);
        }
    }

    /// Goes on once both sides have proved who they are on our connection.
    fn secured(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_ref() else { return };
        let ConnectionRole::Securing { site, since } = connection.role else { return };
        match connection.encryption().filter(|secure| secure.is_proved()) {
            None => {}
            Some(secure) if secure.is_of_site(self.local.instance, site) => self.greet(slot, site, since),
            Some(_) => self.close(slot, DisconnectReason::Refusing(HelloRefusal::Site)),
        }
    }

    /// Bytes wait, or the connection has ended.
    pub(super) fn readable(&mut self, slot: usize, ending: bool) {
        let token = self.token(slot);
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        if matches!(connection.role, ConnectionRole::Connecting { .. }) {
            return;
        }
        let outcome = connection.read(&mut self.scratch, ending);
        self.received(slot, outcome.bytes, outcome.reads);
        if let Some(reason) = outcome.end {
            // What the peer has said before it went still counts, up to what a ring or a socket holds.
            self.read_ring(slot);
            self.datagrams_came();
            self.close(slot, reason);
        } else if outcome.unfinished
            && let Some(connection) = self.connections[slot].as_mut()
            // Asking for the events anew makes one at once if bytes wait (epoll_ctl(2), EPOLL_CTL_MOD).
            && let Err(error) = self.registry.reregister(&mut connection.stream, token, interest(connection.role))
        {
            self.close(slot, error.into());
        }
    }

    /// Counts what a connection's decoder was fed, and takes the frames that are whole.
    pub(super) fn received(&mut self, slot: usize, bytes: u64, reads: u64) {
        if let Some(StreamConnection { role: ConnectionRole::Receiving { site, .. }, .. }) = self.connections[slot]
            && let Some(peer) = self.peers.get_mut(&site)
        {
            peer.counters.bytes_in += bytes;
            peer.counters.reads += reads;
        }
        self.secured(slot);
        // A frame may close this connection; then there are no others.
        while let Some(connection) = self.connections[slot].as_mut() {
            match connection.decoder.next_frame() {
                Ok(Some(payload)) => self.frame(slot, payload),
                Ok(None) => break,
                Err(FrameError::Length { length, .. }) if self.keys.is_none() && is_record(length) => {
                    self.refuse(slot, HelloRefusal::Encrypted);
                }
                Err(error) => self.close(slot, error.into()),
            }
        }
    }

    /// Takes one frame.
    fn frame(&mut self, slot: usize, payload: Bytes) {
        let Some(connection) = self.connections[slot].as_ref() else {
            return;
        };
        match connection.role {
            ConnectionRole::Receiving { site, incarnation } => {
                if let Some(peer) = self.peers.get_mut(&site) {
                    peer.counters.frames_in += 1;
                }
                self.arrived.push(Incoming::Message { from: site, incarnation, payload });
            }
            ConnectionRole::Stranger { .. } => match self.judge_stranger(connection, &payload) {
                Ok((hello, faster)) => self.welcome(slot, hello, faster),
                Err(refusal) => self.refuse(slot, refusal),
            },
            // Ours are encrypted, and these bytes are not: they may say why.
            ConnectionRole::Securing { .. } => {
                let reason = match Greeting::decode(&payload, self.local.version) {
                    Ok(Greeting::Refused(refusal)) => DisconnectReason::Refused(refusal),
                    Ok(Greeting::Hello { .. }) | Err(_) => DisconnectReason::Refusing(HelloRefusal::Encrypted),
                };
                self.close(slot, reason);
            }
            ConnectionRole::Greeting { site, .. } => match self.judge_answer(site, &payload) {
                Ok((hello, faster)) => self.greeted(slot, hello, faster),
                Err(reason) => self.close(slot, reason),
            },
            ConnectionRole::Sending { .. } => {
                let reason = match Greeting::decode(&payload, self.local.version) {
                    Ok(Greeting::Refused(refusal)) => DisconnectReason::Refused(refusal),
                    Ok(Greeting::Hello { .. }) | Err(_) => DisconnectReason::Unexpected,
                };
                self.close(slot, reason);
            }
            ConnectionRole::Connecting { .. } => unreachable!("a connection that is not made is not read"),
        }
    }

    /// Whether a site may talk with us.
    fn judge(&self, hello: Hello) -> Result<(), HelloRefusal> {
        if hello.instance != self.local.instance {
            return Err(HelloRefusal::Instance);
        }
        let peer = self.peers.get(&hello.site).ok_or(HelloRefusal::Unknown)?;
        if hello.incarnation != INCARNATION_UNKNOWN && hello.incarnation < peer.newest {
            return Err(HelloRefusal::Stale);
        }
        Ok(())
    }

    /// Whether the first frame of an accepted connection comes from a peer.
    fn judge_stranger(
        &self,
        connection: &StreamConnection,
        payload: &[u8],
    ) -> Result<(Hello, FasterChannels), HelloRefusal> {
        let (proof, instance) = (connection.encryption(), self.local.instance);
        match Greeting::decode(payload, self.local.version)? {
            Greeting::Hello { .. } if proof.is_some() != self.keys.is_some() => Err(HelloRefusal::Clear),
            Greeting::Hello { hello, .. } if hello.instance != instance => Err(HelloRefusal::Instance),
            Greeting::Hello { .. } if proof.is_some_and(|proof| !proof.is_of_instance(instance)) => {
                Err(HelloRefusal::Instance)
            }
            Greeting::Hello { hello, .. } if proof.is_some_and(|proof| !proof.is_of_site(instance, hello.site)) => {
                Err(HelloRefusal::Certificate)
            }
            Greeting::Hello { to, .. } if to != self.local.site => Err(HelloRefusal::Site),
            Greeting::Hello { hello, faster, .. } => self.judge(hello).map(|()| (hello, faster)),
            Greeting::Refused(_) => Err(HelloRefusal::Foreign),
        }
    }

    /// Whether the first frame on our connection comes from the site that we wanted.
    fn judge_answer(&self, site: SiteId, payload: &[u8]) -> Result<(Hello, FasterChannels), DisconnectReason> {
        let (hello, faster) = match Greeting::decode(payload, self.local.version).map_err(DisconnectReason::Refusing)? {
            Greeting::Hello { hello, faster, .. } => (hello, faster),
            Greeting::Refused(refusal) => return Err(DisconnectReason::Refused(refusal)),
        };
        let judged = if hello.instance == self.local.instance && hello.site != site {
            Err(HelloRefusal::Site)
        } else {
            self.judge(hello)
        };
        judged.map(|()| (hello, faster)).map_err(DisconnectReason::Refusing)
    }

    /// Tells a stranger why it is refused, as far as it can be told, and closes.
    fn refuse(&mut self, slot: usize, refusal: HelloRefusal) {
        if let Some(connection) = self.connections[slot].as_mut() {
            // It is closed whether or not it could be told.
            connection.greet(Greeting::Refused(refusal), self.local.version).unwrap_or_default();
        }
        self.close(slot, DisconnectReason::Refusing(refusal));
    }

    /// Takes a peer's connection to us into use.
    fn welcome(&mut self, slot: usize, hello: Hello, faster: FasterChannels) {
        self.assert_proved(slot, hello.site);
        let offer = match faster {
            FasterChannels::Wanted(wanted) => self.offer_faster(slot, hello.site, wanted),
            FasterChannels::None | FasterChannels::Ring(_) | FasterChannels::Datagrams(_) => FasterChannels::None,
        };
        let answer = Greeting::Hello { hello: self.local, to: hello.site, faster: offer };
        let Some(connection) = self.connections[slot].as_mut() else {
            return;
        };
        if let Err(error) = connection.greet(answer, self.local.version) {
            self.close(slot, error);
            return;
        }
        self.seen(hello);
        if let Some(older) = self.peers.get(&hello.site).and_then(|peer| peer.incoming) {
            self.close(older, DisconnectReason::Superseded);
        }
        let Some(peer) = self.peers.get_mut(&hello.site) else {
            return;
        };
        peer.incoming = Some(slot);
        // Whoever connects also listens.
        peer.retry_at_once();
        if let Some(connection) = self.connections[slot].as_mut() {
            connection.role = ConnectionRole::Receiving { site: hello.site, incarnation: hello.incarnation };
            connection.decoder.accept(FRAME_BYTES_MAX);
        }
        if let FasterChannels::Datagrams(id) = offer {
            self.associate(slot, hello.site, id);
        }
        self.report(hello.site);
    }

    /// What we offer a peer that has connected: the fastest channel of those that it can use.
    fn offer_faster(&mut self, slot: usize, site: SiteId, wanted: WantedChannels) -> FasterChannels {
        if let Some(offer) = self.offer(slot, wanted.host) {
            return FasterChannels::Ring(offer);
        }
        let association = self.offer_association(site).filter(|_| wanted.datagrams);
        association.map_or(FasterChannels::None, FasterChannels::Datagrams)
    }

    /// No frame of a peer is taken or sent before this holds.
    fn assert_proved(&self, slot: usize, site: SiteId) {
        let proof = self.connections[slot].as_ref().and_then(StreamConnection::encryption);
        let proved = proof.is_some_and(|proof| proof.is_of_site(self.local.instance, site));
        assert!(proved || self.keys.is_none(), "a peer proves who it is before a connection with it is used");
    }

    /// Takes our connection to a peer into use.
    fn greeted(&mut self, slot: usize, hello: Hello, faster: FasterChannels) {
        self.assert_proved(slot, hello.site);
        self.seen(hello);
        if let FasterChannels::Ring(offer) = faster {
            self.accept_offer(slot, offer);
        }
        if let Some(peer) = self.peers.get_mut(&hello.site) {
            peer.counters.connections += 1;
        }
        if let Some(connection) = self.connections[slot].as_mut() {
            connection.role =
                ConnectionRole::Sending { site: hello.site, incarnation: hello.incarnation, since: self.now };
        }
        if let FasterChannels::Datagrams(id) = faster
            && self.has_datagrams_for(hello.site)
        {
            self.associate(slot, hello.site, id);
        }
        self.report(hello.site);
    }

    /// Notes a life of a peer, and closes connections with its earlier ones.
    fn seen(&mut self, hello: Hello) {
        let Some(peer) = self.peers.get_mut(&hello.site) else {
            return;
        };
        if hello.incarnation <= peer.newest {
            return;
        }
        peer.newest = hello.incarnation;
        let (incoming, outgoing) = (peer.incoming, peer.outgoing);
        if let Some(slot) = incoming {
            self.close(slot, DisconnectReason::Superseded);
        }
        if let OutgoingConnection::Open(slot) = outgoing
            && sending(&mut self.connections, outgoing).is_some()
        {
            self.close(slot, DisconnectReason::Superseded);
        }
    }

    /// Closes a connection, if it is open, and tells what that means for its peer.
    pub(super) fn close(&mut self, slot: usize, reason: DisconnectReason) {
        let Some(mut connection) = self.connections[slot].take() else {
            return;
        };
        self.unhear(&connection);
        self.dissociate(&connection);
        // The kernel forgets a closed socket by itself; a failure here changes nothing.
        self.registry.deregister(&mut connection.stream).unwrap_or_default();
        self.free_slots.push(slot);
        let (site, lived) = match connection.role {
            ConnectionRole::Stranger { .. } => return self.lost_stranger(reason),
            ConnectionRole::Receiving { site, .. } => {
                if let Some(peer) = self.peers.get_mut(&site) {
                    assert_eq!(peer.incoming, Some(slot), "a peer knows the connection it receives on");
                    peer.incoming = None;
                    peer.last_failure = Some(reason);
                }
                return self.report_loss(site, reason);
            }
            ConnectionRole::Connecting { site, .. }
            | ConnectionRole::Securing { site, .. }
            | ConnectionRole::Greeting { site, .. } => (site, 0),
            ConnectionRole::Sending { site, since, .. } => (site, self.now.saturating_sub(since)),
        };
        if let Some(peer) = self.peers.get_mut(&site) {
            peer.failed(reason);
            peer.counters.bytes_lost += connection.output.waiting() as u64;
            if lived >= RECONNECT_MAX {
                peer.attempts = 0;
            }
            if matches!(connection.role, ConnectionRole::Sending { .. }) {
                let of_ring = [DisconnectReason::Ring, DisconnectReason::Refused(HelloRefusal::Ring)];
                peer.ring_failed = of_ring.contains(&reason);
            }
            peer.retry_later(self.now);
        }
        self.report_loss(site, reason);
    }

    /// Counts an accepted connection that became nobody's.
    fn lost_stranger(&mut self, reason: DisconnectReason) {
        let refused = reason.is_refusal();
        *(if refused { &mut self.strangers.refused } else { &mut self.strangers.broken }) += 1;
        if reason.is_distrust() {
            self.strangers.distrusted += 1;
            self.strangers.last_distrust = Some(reason);
        }
        *self.stranger_reasons.entry(reason.name()).or_default() += 1;
        self.strangers.last_failure = Some(reason);
    }

    /// Tells that a peer no longer works in both directions, if it did.
    fn report_loss(&mut self, site: SiteId, reason: DisconnectReason) {
        if let Some(peer) = self.peers.get_mut(&site)
            && peer.reported.take().is_some()
        {
            self.arrived.push(Incoming::Disconnected { site, reason });
        }
    }

    /// Tells that a peer works in both directions, if it does and did not before.
    fn report(&mut self, site: SiteId) {
        let Some(peer) = self.peers.get_mut(&site) else { return };
        let life = |slot: Option<usize>| match self.connections[slot?].as_ref()?.role {
            ConnectionRole::Receiving { incarnation, .. } | ConnectionRole::Sending { incarnation, .. } => {
                Some(incarnation)
            }
            ConnectionRole::Stranger { .. }
            | ConnectionRole::Connecting { .. }
            | ConnectionRole::Securing { .. }
            | ConnectionRole::Greeting { .. } => None,
        };
        let outgoing = match peer.outgoing {
            OutgoingConnection::Open(slot) => Some(slot),
            OutgoingConnection::Waiting { .. } => None,
        };
        let both = life(peer.incoming).filter(|&incarnation| life(outgoing) == Some(incarnation));
        if let Some(incarnation) = both {
            assert_eq!(peer.reported, None, "what was reported has been taken back when a connection closed");
            peer.reported = both;
            self.arrived.push(Incoming::Connected { site, incarnation });
        }
    }
}

/// The events that a connection needs: only ours are written to once greeted.
fn interest(role: ConnectionRole) -> Interest {
    match role {
        ConnectionRole::Stranger { .. } | ConnectionRole::Receiving { .. } => Interest::READABLE,
        ConnectionRole::Connecting { .. }
        | ConnectionRole::Securing { .. }
        | ConnectionRole::Greeting { .. }
        | ConnectionRole::Sending { .. } => Interest::READABLE | Interest::WRITABLE,
    }
}
