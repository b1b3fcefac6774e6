//! Streams: the channels between the processes of sites, over TCP and what is faster beside it, on an event loop that the caller owns.
//!
//! Each site connects to every peer and sends on the connection that it made; it receives on those that it accepted.
//! So nobody has to agree on which of two connections stays. A frame is a datagram: sent at most once, dropped when the
//! peer is not connected or takes too little; protocols above send again what must arrive.
//!
//! A turn of the event loop: [`Streams::ready`] for each event, [`Streams::tick`] once, handle what came in and send,
//! [`Streams::flush`] once, then sleep until an event or [`Streams::next_deadline`].
//!
//! Invariants: frames of one incarnation of a peer are delivered in the order sent, but for datagrams, none twice, and none after a frame of
//! a newer incarnation. At most one connection in each direction carries frames of a peer. A connection is closed in the
//! turn in which it breaks, but no slot (and so no poll token) is used again before the next call of the owner.
//!
//! With [`Keys`] every connection is encrypted, in both directions, and both sides prove by a certificate of the instance
//! who they are, before the greeting. Whether a site has keys is settled by its owner, never between the sites: a side with
//! keys and one without refuse each other, and say so.
//!
//! Frames to a peer of the same host go through shared memory instead, and to one of the same network in datagrams, if both sides want that;
//! the connection stays, and tells who is at the two ends and when one of them is gone. In datagrams frames may overtake each other.
//!
//! In reading order: [`hello`] (the handshake), [`status`] (what the owner is told), `connection` (one socket), `secure`
//! (its encryption), `rings` (shared memory in its place), `datagrams` (datagrams), `tcp_info` (what the system knows of a connection), `links` (the life of connections).

mod connection;
mod datagrams;
pub mod hello;
mod links;
mod rings;
pub(crate) mod secure;
pub mod status;
mod tcp_info;
#[cfg(test)]
mod tests;

pub use datagrams::DatagramOptions;
pub use hello::{Hello, HelloRefusal, INCARNATION_UNKNOWN, PROTOCOL_VERSION};
pub use secure::Distrust;
pub use status::{ConnectionChannel, DisconnectReason, ExportError, Incoming, PeerCounters, PeerStatus, SendError};
pub use status::{StrangerCounters, StreamsError};
pub use tcp_info::TcpInfo;

use crate::datagrams::Untaken;
use crate::frame::{self, HEADER_BYTES};
use crate::keys::Keys;
use crate::limits::{CONNECTIONS_MAX, FRAME_BYTES_MAX, HANDSHAKE, PEERS_MAX, QUEUED_BYTES_MAX, READ_BYTES, TOKENS};
use crate::shared::door::{HostId, RingDoor};
use connection::{ConnectionOutput, ConnectionRole, StreamConnection};
use identifiers::SiteId;
use links::{OutgoingConnection, StreamPeer};
use mio::event::Event;
use mio::net::TcpListener;
use mio::{Interest, Registry, Token};
use secure::Secure;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;

/// Which token is whose, counted from the first.
const LISTENER: usize = 0;
const DOOR: usize = 1;
const DATAGRAMS: usize = 2;
const GROUPS: usize = 3;
const FIRST_CONNECTION: usize = 4;
const FIRST_BELL: usize = FIRST_CONNECTION + CONNECTIONS_MAX;

/// The connections of one site with its peers.
///
/// Times are nanoseconds of a clock that never goes back.
#[derive(Debug)]
pub struct Streams {
    registry: Registry,
    first_token: usize,
    local: Hello,
    /// With them every connection is encrypted, without them none.
    keys: Option<Keys>,
    listener: TcpListener,
    /// Where peers of this host hand in rings; `None`: they are not offered any.
    door: Option<RingDoor>,
    host: Option<HostId>,
    /// Connections may wait that no event will announce.
    accept_again: bool,
    /// As `accept_again`, at the door.
    knocked_again: bool,
    /// For peers of the same network; `None`: they are not offered any.
    datagrams: Option<datagrams::DatagramSockets>,
    connections: Vec<Option<StreamConnection>>,
    free_slots: Vec<usize>,
    peers: BTreeMap<SiteId, StreamPeer>,
    strangers: StrangerCounters,
    stranger_reasons: BTreeMap<&'static str, u64>,
    /// Came in, and is handed out before the current call, or the next one, returns.
    arrived: Vec<Incoming>,
    /// The latest time that a caller has named.
    now: u64,
    scratch: Box<[u8]>,
}

impl Streams {
    /// Listens at `address` (port 0: any free one) as the site that `local` names. Events with a token in `tokens`, of
    /// which [`TOKENS`] are needed, belong to these streams. With keys all connections are encrypted; without them all
    /// are in clear, which is safe only where nobody else can listen or send.
    ///
    /// # Errors
    /// The operating system does not let us listen there, or the keys are another site's.
    ///
    /// # Panics
    /// If there are too few tokens.
    pub fn listen(
        registry: &Registry,
        tokens: Range<usize>,
        local: Hello,
        address: SocketAddr,
        keys: Option<Keys>,
    ) -> Result<Streams, StreamsError> {
        assert!(tokens.len() >= TOKENS, "streams need {TOKENS} poll tokens, not {}", tokens.len());
        if let Some(keys) = keys.as_ref().filter(|keys| (keys.instance(), keys.site()) != (local.instance, local.site))
        {
            return Err(StreamsError::Keys(keys.site()));
        }
        let start = || -> io::Result<(Registry, TcpListener)> {
            let registry = registry.try_clone()?;
            let mut listener = TcpListener::bind(address)?;
            registry.register(&mut listener, Token(tokens.start + LISTENER), Interest::READABLE)?;
            Ok((registry, listener))
        };
        let (registry, listener) = start().map_err(|source| StreamsError::Listen { address, source })?;
        Ok(Streams {
            registry,
            first_token: tokens.start,
            local,
            keys,
            listener,
            door: None,
            host: None,
            accept_again: false,
            knocked_again: false,
            datagrams: None,
            connections: Vec::new(),
            free_slots: Vec::new(),
            peers: BTreeMap::new(),
            strangers: StrangerCounters::default(),
            stranger_reasons: BTreeMap::new(),
            arrived: Vec::new(),
            now: 0,
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
        })
    }

    /// Sends to peers of this host, and receives from them, through shared memory instead of the connection. To be called before the first
    /// peer is set.
    ///
    /// # Errors
    /// The operating system does not allow it: frames go over connections.
    pub fn use_shared_memory(&mut self) -> io::Result<()> {
        let mut door = RingDoor::open()?;
        self.registry.register(door.source(), Token(self.first_token + DOOR), Interest::READABLE)?;
        self.door = Some(door);
        self.host = HostId::own();
        Ok(())
    }

    /// Where other sites can connect to.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What this site says of itself.
    pub fn local(&self) -> Hello {
        self.local
    }

    /// Makes a site a peer, or gives it another address; the next tick connects. Only peers are listened to.
    ///
    /// # Errors
    /// It is this site, or there are too many peers.
    pub fn set_peer(&mut self, site: SiteId, address: SocketAddr) -> Result<(), StreamsError> {
        if site == self.local.site {
            return Err(StreamsError::Local(site));
        }
        let count = self.peers.len();
        let Some(peer) = self.peers.get_mut(&site) else {
            if count >= PEERS_MAX {
                return Err(StreamsError::TooManyPeers(site));
            }
            self.peers.insert(site, StreamPeer::new(address));
            return Ok(());
        };
        if peer.address != address {
            peer.address = address;
            if let OutgoingConnection::Open(slot) = peer.outgoing {
                self.close(slot, DisconnectReason::Removed);
            }
            if let Some(peer) = self.peers.get_mut(&site) {
                peer.retry_at_once();
            }
        }
        Ok(())
    }

    /// Forgets a peer and closes its connections; what waits for it is dropped.
    pub fn remove_peer(&mut self, site: SiteId) {
        let Some(peer) = self.peers.get(&site) else { return };
        let (incoming, outgoing) = (peer.incoming, peer.outgoing);
        if let OutgoingConnection::Open(slot) = outgoing {
            self.close(slot, DisconnectReason::Removed);
        }
        if let Some(slot) = incoming {
            self.close(slot, DisconnectReason::Removed);
        }
        self.peers.remove(&site);
    }

    /// Sends one frame with this payload to a peer; it leaves with the next flush.
    ///
    /// # Errors
    /// The frame is dropped.
    pub fn send(&mut self, site: SiteId, payload: &[u8]) -> Result<(), SendError> {
        self.send_with(site, |buffer| buffer.extend_from_slice(payload))
    }

    /// As [`Streams::send`], but `write` appends the payload to the peer's output buffer in place. It is not called
    /// when the peer is not connected.
    ///
    /// # Errors
    /// The frame is dropped.
    pub fn send_with(&mut self, site: SiteId, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), SendError> {
        if !self.takes_datagrams(site) {
            return self.append(site, |output| append_frame(output, site, write));
        }
        match self.send_by_datagrams(site, write) {
            Ok(()) => Ok(()),
            Err(Untaken::Long(frame)) => {
                self.append(site, |output| append_frame(output, site, |buffer| buffer.extend_from_slice(&frame)))
            }
            Err(Untaken::NotOpen | Untaken::Full) => {
                if let Some(peer) = self.peers.get_mut(&site) {
                    peer.counters.frames_dropped += 1;
                }
                Err(SendError::QueueFull(site))
            }
        }
    }

    /// Sends one frame with this payload to each of the sites, encoding and checksumming it once, and says to how many
    /// of them it could not be sent. To peers that are reached by datagrams it leaves once for all, where the network allows that.
    ///
    /// # Errors
    /// The payload is too large for a frame.
    pub fn multicast(&mut self, sites: &[SiteId], payload: &[u8]) -> Result<usize, SendError> {
        if payload.len() > FRAME_BYTES_MAX {
            return Err(SendError::TooLarge { bytes: payload.len() });
        }
        let is_taken = self.send_to_group(sites, payload);
        let mut header = None;
        let mut dropped = 0;
        for &site in sites {
            if is_taken && self.is_in_group(site) {
                continue;
            }
            let sent = if self.takes_datagrams(site) {
                self.send(site, payload)
            } else {
                let header = header.get_or_insert_with(|| frame::header(payload));
                self.append(site, |output| {
                    if output.waiting() + HEADER_BYTES + payload.len() > QUEUED_BYTES_MAX {
                        return Err(SendError::QueueFull(site));
                    }
                    output.end().extend_from_slice(header);
                    output.end().extend_from_slice(payload);
                    Ok(())
                })
            };
            dropped += usize::from(sent.is_err());
        }
        Ok(dropped)
    }

    /// Appends one frame to a peer's output, and counts it.
    fn append(
        &mut self,
        site: SiteId,
        append: impl FnOnce(&mut ConnectionOutput) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let peer = self.peers.get_mut(&site).ok_or(SendError::UnknownPeer(site))?;
        let sent = match sending(&mut self.connections, peer.outgoing) {
            Some(connection) => append(&mut connection.output),
            None => Err(SendError::NotConnected(site)),
        };
        match sent {
            Ok(()) => peer.counters.frames_out += 1,
            Err(_) => peer.counters.frames_dropped += 1,
        }
        sent
    }

    /// Writes what waits: one write per peer, once per turn of the event loop. What is encrypted is written a share at a
    /// time, each in one write.
    pub fn flush(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.flush_datagrams();
        let mut broken = Vec::new();
        for peer in self.peers.values_mut() {
            let OutgoingConnection::Open(slot) = peer.outgoing else { continue };
            let Some(connection) = sending(&mut self.connections, peer.outgoing) else {
                continue;
            };
            if !connection.is_writable() {
                continue;
            }
            peer.counters.writes += 1;
            match connection.write() {
                Ok(bytes) => peer.counters.bytes_out += bytes as u64,
                Err(error) => broken.push((slot, error)),
            }
        }
        for (slot, error) in broken {
            self.close(slot, error);
        }
    }

    /// Takes an event of the poll, and appends what came in to `incoming`. `false`: the event is not ours.
    pub fn ready(&mut self, now: u64, event: &Event, incoming: &mut Vec<Incoming>) -> bool {
        self.now = self.now.max(now);
        let Some(place) = event.token().0.checked_sub(self.first_token).filter(|&place| place < TOKENS) else {
            return false;
        };
        match place {
            LISTENER => self.accept(),
            DOOR => self.answer_door(),
            DATAGRAMS | GROUPS => self.datagrams_came(),
            FIRST_BELL.. => self.rung(place - FIRST_BELL),
            FIRST_CONNECTION.. => {
                let slot = place - FIRST_CONNECTION;
                let ending = event.is_error() || event.is_read_closed() || event.is_write_closed();
                if event.is_writable() || ending {
                    self.writable(slot);
                }
                if event.is_readable() || ending {
                    self.readable(slot, ending);
                }
            }
        }
        incoming.append(&mut self.arrived);
        true
    }

    /// Connects, connects again, and closes handshakes that take too long. To be called once per turn; appends what has
    /// happened since to `incoming`.
    pub fn tick(&mut self, now: u64, incoming: &mut Vec<Incoming>) {
        self.now = self.now.max(now);
        for slot in 0..self.connections.len() {
            let since = self.connections[slot].as_ref().and_then(StreamConnection::handshake_since);
            if since.is_some_and(|since| since.saturating_add(HANDSHAKE) <= self.now) {
                self.close(slot, DisconnectReason::Handshake);
            }
        }
        if self.accept_again {
            self.accept();
        }
        if self.knocked_again {
            self.answer_door();
        }
        if self.datagrams.as_ref().is_some_and(|channel| channel.came_again) {
            self.datagrams_came();
        }
        let due =
            |peer: &StreamPeer| matches!(peer.outgoing, OutgoingConnection::Waiting { until } if until <= self.now);
        let due: Vec<SiteId> = self.peers.iter().filter(|&(_, peer)| due(peer)).map(|(&site, _)| site).collect();
        for site in due {
            self.connect(site);
        }
        incoming.append(&mut self.arrived);
    }

    /// When tick, and flush after it, must be called next, even if no event comes; 0 for at once.
    pub fn next_deadline(&self) -> Option<u64> {
        if !self.arrived.is_empty() {
            return Some(0);
        }
        let handshakes = self.connections.iter().flatten().filter_map(StreamConnection::handshake_since);
        let retries = self.peers.values().filter_map(|peer| match peer.outgoing {
            OutgoingConnection::Waiting { until } => Some(until),
            OutgoingConnection::Open(_) => None,
        });
        let accept =
            (self.accept_again || self.knocked_again).then(|| self.now.saturating_add(crate::limits::RECONNECT_MIN));
        let datagrams = self.datagrams_deadline();
        handshakes.map(|since| since.saturating_add(HANDSHAKE)).chain(retries).chain(accept).chain(datagrams).min()
    }

    /// Whether both directions to this peer work.
    pub fn is_connected(&self, site: SiteId) -> bool {
        self.peers.get(&site).is_some_and(|peer| peer.reported.is_some())
    }

    /// By what frames go to a peer now; `None` while there is no way.
    pub fn channel_to(&self, site: SiteId) -> Option<ConnectionChannel> {
        self.channel(self.peers.get(&site)?.outgoing)
    }

    /// Why a connection with a peer, or an attempt to make one, failed last.
    pub fn last_failure(&self, site: SiteId) -> Option<DisconnectReason> {
        self.peers.get(&site)?.last_failure
    }

    /// The state of every peer, by site.
    pub fn status(&self) -> Vec<PeerStatus> {
        let queued = |peer: &StreamPeer| match peer.outgoing {
            OutgoingConnection::Open(slot) => self.connections[slot].as_ref().map_or(0, |open| open.output.waiting()),
            OutgoingConnection::Waiting { .. } => 0,
        };
        let status = |(&site, peer): (&SiteId, &StreamPeer)| {
            let datagrams = self.association(site);
            let open = datagrams.filter(|association| association.is_open);
            let channel = self.channel(peer.outgoing).map(|below| open.map_or(below, |_| ConnectionChannel::Datagrams));
            PeerStatus {
                site,
                address: peer.address,
                incarnation: peer.newest,
                connected: peer.reported.is_some(),
                channel,
                encrypted: match channel {
                    Some(ConnectionChannel::Stream) => self.encryption(peer, Direction::Sending).is_some(),
                    Some(ConnectionChannel::Datagrams) => open.is_some_and(|association| association.is_encrypted),
                    Some(ConnectionChannel::SharedMemory) | None => false,
                },
                bytes_queued: queued(peer) + datagrams.map_or(0, |association| association.bytes_queued),
                datagrams,
                tcp: self.tcp_info(peer.outgoing),
                last_failure: peer.last_failure,
                counters: peer.counters,
            }
        };
        self.peers.iter().map(status).collect()
    }

    fn tcp_info(&self, outgoing: OutgoingConnection) -> Option<TcpInfo> {
        let OutgoingConnection::Open(slot) = outgoing else { return None };
        tcp_info::tcp_info(&self.connections[slot].as_ref()?.stream)
    }

    /// Accepted connections that became nobody's.
    pub fn strangers(&self) -> StrangerCounters {
        self.strangers
    }

    /// How many of them were refused or broken for each reason ([`DisconnectReason::name`]).
    pub fn stranger_reasons(&self) -> &BTreeMap<&'static str, u64> {
        &self.stranger_reasons
    }

    /// Fills `output` with secret bytes that only this site and a peer know, for keys of another channel between them
    /// (RFC 8446, section 7.5). Each connection has its own: what is exported here for sending to the peer is what the peer
    /// exports for receiving from us, and they change when that connection is made anew. Other labels and contexts give
    /// other bytes.
    ///
    /// # Errors
    /// There is no such connection now, or none that is encrypted; or `output` is longer than the library gives.
    pub fn export_keying_material(
        &self,
        site: SiteId,
        direction: Direction,
        label: &[u8],
        context: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExportError> {
        let peer = self.peers.get(&site).ok_or(ExportError::NotConnected(site))?;
        let secure = self.encryption(peer, direction).ok_or(ExportError::NotConnected(site))?;
        secure.export(label, context, output).map_err(|_| ExportError::TooLong(output.len()))
    }

    /// Has both sides of our connection to a peer go on with new keys.
    #[cfg(test)]
    fn refresh(&mut self, site: SiteId) {
        if let Some(connection) = self.peers.get(&site).and_then(|peer| sending(&mut self.connections, peer.outgoing)) {
            connection.refresh();
        }
    }

    /// The encryption of the connection that carries frames to or from a peer.
    fn encryption(&self, peer: &StreamPeer, direction: Direction) -> Option<&Secure> {
        let slot = match direction {
            Direction::Sending => match peer.outgoing {
                OutgoingConnection::Open(slot) => Some(slot),
                OutgoingConnection::Waiting { .. } => None,
            },
            Direction::Receiving => peer.incoming,
        };
        let connection = self.connections[slot?].as_ref()?;
        matches!(connection.role, ConnectionRole::Sending { .. } | ConnectionRole::Receiving { .. })
            .then_some(connection.encryption()?)
    }
}

/// Appends one frame to an output.
fn append_frame(
    output: &mut ConnectionOutput,
    site: SiteId,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), SendError> {
    let room = QUEUED_BYTES_MAX.saturating_sub(output.waiting() + HEADER_BYTES);
    frame::append_with(output.end(), room.min(FRAME_BYTES_MAX), write).map_err(|bytes| {
        if bytes > FRAME_BYTES_MAX { SendError::TooLarge { bytes } } else { SendError::QueueFull(site) }
    })
}

/// One of the two connections between this site and a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// That on which this site sends to the peer.
    Sending,
    /// That on which it receives from the peer.
    Receiving,
}

/// The connection that carries frames to a peer, if it has been greeted.
fn sending(
    connections: &mut [Option<StreamConnection>],
    outgoing: OutgoingConnection,
) -> Option<&mut StreamConnection> {
    let OutgoingConnection::Open(slot) = outgoing else { return None };
    connections[slot].as_mut().filter(|connection| matches!(connection.role, ConnectionRole::Sending { .. }))
}
