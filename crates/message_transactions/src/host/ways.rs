//! Every way to other kernels in one transport: the place of a kernel decides how packets travel.
//!
//! | the kernel is | packets go |
//! |---|---|
//! | in another process of this host | through shared memory, once both have found that out; until then, and when it cannot be had, by UDP |
//! | known by its address in the network | by UDP |
//! | a peer that is configured to be reached by stream | over TCP, with keys TLS 1.3 |
//!
//! (Processes of one kernel need no transport.) A place says which kernel is meant and not how it is reached: shared memory comes and goes
//! between two packets, and the kernels notice nothing but the speed. What is for everybody, or for a group, goes by UDP broadcast or
//! multicast and to each peer that is reached by stream.
//!
//! While there is nothing but UDP, whoever receives sleeps in the read of the socket: one system call for a packet. With the first
//! neighbour or peer it sleeps in a poll.
//!
//! Invariants: whoever receives holds no lock while it sleeps that a sender needs; a kernel is said to be gone only when its process has closed the port
//! where this host's processes connect to it, which the operating system does when it dies, however that happens.
//!
//! `neighbours` finds the other kernels of this host; shared memory and connections are those of [`raidcomm::streams`].

mod neighbours;

use super::transport::{Arrival, PacketReceiver, PacketTransport};
use super::udp::{UdpDomain, UdpTransport};
use crate::identifier::ProcessGroupId;
use crate::limits::READ_BYTES;
use crate::outbox::GroupMembership;
use bytes::Bytes;
use identifiers::{InstanceId, SiteId};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use neighbours::{KernelOffer, Neighbours};
use raidcomm::keys::Keys;
use raidcomm::limits::TOKENS;
use raidcomm::streams::{Hello, INCARNATION_UNKNOWN, Incoming, Streams, StreamsError};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Events that are taken from the poll at once; the others wait there.
const EVENTS: usize = 64;
/// Whose events are whose: those of the neighbours come first, then those of the streams.
const STREAMS: usize = TOKENS;
const UDP: Token = Token(2 * TOKENS);
const WAKER: Token = Token(2 * TOKENS + 1);

/// Where a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelPlace {
    /// In the network, or on this host.
    Network(SocketAddr),
    /// A peer that is reached by stream.
    Site(SiteId),
}

impl fmt::Display for KernelPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelPlace::Network(address) => address.fmt(formatter),
            KernelPlace::Site(site) => site.fmt(formatter),
        }
    }
}

/// Who this kernel is for those that it is reached by over streams.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// Where it listens for them; port 0 takes one that is free.
    pub listen: SocketAddr,
    /// All of them are of one instance.
    pub instance: InstanceId,
    /// This one.
    pub site: SiteId,
    /// With keys everything is encrypted, and each proves who it is. Without, the network must be one that nobody else is in.
    pub keys: Option<Keys>,
}

/// See the module's description.
pub struct Ways {
    udp: UdpTransport,
    links: Mutex<HostLinks>,
    receiver: Mutex<ReceivingSide>,
    waker: Waker,
    /// There can be no other way than UDP.
    udp_only: bool,
    /// There is another way than UDP, or one may come. Never taken back.
    polls: AtomicBool,
    started: Instant,
}

impl fmt::Debug for Ways {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ways").field("udp", &self.udp).finish_non_exhaustive()
    }
}

/// What whoever receives has.
struct ReceivingSide {
    poll: Poll,
    events: Events,
    /// A packet may be there: the poll says so once.
    udp_ready: bool,
}

/// All ways but UDP.
struct HostLinks {
    registry: Registry,
    neighbours: Option<Neighbours>,
    streams: Option<Streams>,
    /// Peers that are reached by stream.
    sites: Vec<SiteId>,
    incoming: Vec<Incoming>,
    arrived: VecDeque<(KernelPlace, Bytes)>,
    gone: VecDeque<KernelPlace>,
}

impl Ways {
    /// A UDP socket at an address (port 0 takes one that is free), and shared memory with the kernels of this host that are met there.
    ///
    /// # Errors
    /// The operating system refused, or there are too many peers.
    pub fn bind(address: SocketAddr, domain: UdpDomain) -> io::Result<Ways> {
        let mut ways = Ways::without_shared_memory(address, domain)?;
        let neighbours = Neighbours::start(&ways.links().registry, 0..TOKENS, ways.udp.place())?;
        ways.udp_only = neighbours.is_none();
        ways.links().neighbours = neighbours;
        Ok(ways)
    }

    /// As [`Ways::bind`], but kernels of this host are reached by UDP, too.
    ///
    /// # Errors
    /// As of [`Ways::bind`].
    pub fn without_shared_memory(address: SocketAddr, domain: UdpDomain) -> io::Result<Ways> {
        let udp = UdpTransport::bind(address, domain)?;
        let poll = Poll::new()?;
        let links = HostLinks {
            registry: poll.registry().try_clone()?,
            neighbours: None,
            streams: None,
            sites: Vec::new(),
            incoming: Vec::new(),
            arrived: VecDeque::new(),
            gone: VecDeque::new(),
        };
        let waker = Waker::new(poll.registry(), WAKER)?;
        let receiver = Mutex::new(ReceivingSide { poll, events: Events::with_capacity(EVENTS), udp_ready: false });
        let (links, polls) = (Mutex::new(links), AtomicBool::new(false));
        Ok(Ways { udp, links, receiver, waker, udp_only: true, polls, started: Instant::now() })
    }

    /// Lets peers be reached by stream, besides. See [`Ways::add_stream_peer`].
    ///
    /// # Errors
    /// The operating system does not let us listen there, or the keys are another site's.
    pub fn with_streams(mut self, options: StreamOptions) -> Result<Ways, StreamsError> {
        let StreamOptions { listen, instance, site, keys } = options;
        let hello = Hello::new(instance, site, INCARNATION_UNKNOWN);
        let streams = Streams::listen(&self.links().registry, STREAMS..2 * TOKENS, hello, listen, keys)?;
        let mut links = self.links();
        links.streams = Some(streams);
        self.poll_from_now(&links).map_err(|source| StreamsError::Listen { address: listen, source })?;
        drop(links);
        self.udp_only = false;
        Ok(self)
    }

    /// Where peers connect that reach this kernel by stream; `None` if none does.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn stream_address(&self) -> io::Result<Option<SocketAddr>> {
        self.links().streams.as_ref().map(Streams::local_address).transpose()
    }

    /// A peer that is reached by stream, and listens there; it must have this one among its peers, too.
    ///
    /// # Errors
    /// It is this kernel itself, or there are too many peers.
    ///
    /// # Panics
    /// Without [`Ways::with_streams`].
    pub fn add_stream_peer(&self, site: SiteId, address: SocketAddr) -> Result<(), StreamsError> {
        let mut links = self.links();
        let streams = links.streams.as_mut().expect("peers are added to a kernel that has streams");
        streams.set_peer(site, address)?;
        // It connects at once.
        streams.tick(self.now(), &mut Vec::new());
        if !links.sites.contains(&site) {
            links.sites.push(site);
        }
        drop(links);
        // Whoever sleeps shall see to the connection.
        self.wake();
        Ok(())
    }

    /// Adds a kernel to those that are sent what is for everybody, if peers are listed.
    pub fn add_peer(&self, peer: SocketAddr) {
        self.udp.add_peer(peer);
    }

    /// Where this kernel is in the network.
    pub fn address(&self) -> SocketAddr {
        self.udp.place()
    }

    /// Whether packets to a place go through shared memory now.
    pub fn is_by_shared_memory(&self, place: KernelPlace) -> bool {
        match place {
            KernelPlace::Network(address) => {
                self.links().neighbours.as_ref().is_some_and(|neighbours| neighbours.takes(address).is_some())
            }
            KernelPlace::Site(_) => false,
        }
    }

    /// Whether a peer that is reached by stream can be sent something now.
    pub fn is_connected(&self, site: SiteId) -> bool {
        self.links().streams.as_ref().is_some_and(|streams| streams.is_connected(site))
    }

    fn links(&self) -> MutexGuard<'_, HostLinks> {
        // What a panic leaves half done is a connection, which its peer makes anew.
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on whoever receives waits for all ways at once. Before, the socket is not watched: that costs with every packet.
    fn poll_from_now(&self, links: &HostLinks) -> io::Result<()> {
        if !self.polls.load(Ordering::SeqCst) {
            let socket = self.udp.as_fd().as_raw_fd();
            links.registry.register(&mut SourceFd(&socket), UDP, Interest::READABLE)?;
            self.polls.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Takes what the network brought: a packet, or another kernel of this host that introduces itself.
    fn take_from_network(&self, buffer: &[u8], bytes: usize, from: SocketAddr) -> Option<Arrival<KernelPlace>> {
        let Some(offer) = KernelOffer::decode(&buffer[..bytes]) else {
            return Some(Arrival::Packets(bytes, KernelPlace::Network(from)));
        };
        let mut links = self.links();
        let answer = links.neighbours.as_mut().and_then(|neighbours| neighbours.meet(self.now(), from, &offer));
        // Without the poll, packets go on by UDP alone.
        self.poll_from_now(&links).ok()?;
        drop(links);
        if let Some(answer) = answer {
            self.udp.send_one(from, &answer);
        }
        None
    }
}

impl HostLinks {
    fn next_deadline(&self) -> Option<u64> {
        let neighbours = self.neighbours.as_ref().map(|neighbours| &neighbours.streams);
        neighbours.into_iter().chain(&self.streams).filter_map(Streams::next_deadline).min()
    }

    fn turn(&mut self, now: u64, events: &Events) {
        let HostLinks { neighbours, streams, incoming, arrived, gone, .. } = self;
        if let Some(neighbours) = neighbours {
            take_turn(&mut neighbours.streams, now, events, incoming);
            for incoming in incoming.drain(..) {
                if let Some((address, payload)) = neighbours.take(incoming) {
                    arrived.push_back((KernelPlace::Network(address), payload));
                }
            }
            gone.extend(neighbours.gone().into_iter().map(KernelPlace::Network));
        }
        if let Some(streams) = streams {
            take_turn(streams, now, events, incoming);
            arrived.extend(incoming.drain(..).filter_map(|incoming| match incoming {
                Incoming::Message { from, payload, .. } => Some((KernelPlace::Site(from), payload)),
                // Whoever cannot be reached may come back: the kernels know how long they wait.
                Incoming::Connected { .. } | Incoming::Disconnected { .. } => None,
            }));
        }
    }

    /// The next that has come: packets of one place together, as many as there is room for.
    fn next(&mut self, buffer: &mut [u8]) -> Option<Arrival<KernelPlace>> {
        if let Some(place) = self.gone.pop_front() {
            return Some(Arrival::Gone(place));
        }
        let mut end = 0;
        let mut from = None;
        while let Some((place, payload)) = self.arrived.front() {
            if from.is_some_and(|from| from != *place) {
                break;
            }
            let Some(room) = buffer.get_mut(end..end + payload.len()) else {
                if end > 0 {
                    break;
                }
                // Longer than any train: nobody of ours has sent it.
                self.arrived.pop_front();
                continue;
            };
            room.copy_from_slice(payload);
            (from, end) = (Some(*place), end + payload.len());
            self.arrived.pop_front();
        }
        from.map(|from| Arrival::Packets(end, from))
    }
}

fn take_turn(streams: &mut Streams, now: u64, events: &Events, incoming: &mut Vec<Incoming>) {
    for event in events {
        streams.ready(now, event, incoming);
    }
    streams.tick(now, incoming);
    streams.flush(now);
}

impl PacketTransport for Ways {
    type Place = KernelPlace;

    fn place(&self) -> KernelPlace {
        KernelPlace::Network(self.udp.place())
    }

    fn seed(&self) -> u64 {
        self.udp.seed()
    }

    fn send(&self, to: KernelPlace, train: &[u8], packet_bytes: usize) {
        if self.udp_only
            && let KernelPlace::Network(address) = to
        {
            return self.udp.send(address, train, packet_bytes);
        }
        let mut links = self.links();
        match to {
            KernelPlace::Site(site) => {
                if let Some(streams) = &mut links.streams {
                    // Not connected, or too much waits: it is lost.
                    let _ = streams.send(site, train);
                }
            }
            KernelPlace::Network(address) => {
                let mut offer = None;
                if let Some(neighbours) = &mut links.neighbours {
                    if let Some(site) = neighbours.takes(address)
                        && neighbours.streams.send(site, train).is_ok()
                    {
                        return;
                    }
                    offer = neighbours.introduction(self.now(), address);
                }
                drop(links);
                if let Some(offer) = offer {
                    self.udp.send_one(address, &offer);
                }
                self.udp.send(address, train, packet_bytes);
            }
        }
    }

    fn multicast(&self, group: Option<ProcessGroupId>, packet: &[u8]) {
        self.udp.multicast(group, packet);
        if self.udp_only {
            return;
        }
        let mut links = self.links();
        let HostLinks { streams: Some(streams), sites, .. } = &mut *links else { return };
        // It is much shorter than a frame may be, and lost to those who are not connected.
        let _ = streams.multicast(sites, packet);
    }

    fn flush(&self) {
        if self.udp_only {
            return;
        }
        let now = self.now();
        let mut links = self.links();
        let HostLinks { neighbours, streams, .. } = &mut *links;
        let neighbours = neighbours.as_mut().map(|neighbours| &mut neighbours.streams);
        neighbours.into_iter().chain(streams).for_each(|streams| streams.flush(now));
    }

    fn receive(&self, buffer: &mut [u8], wait: Duration) -> io::Result<Option<Arrival<KernelPlace>>> {
        assert!(buffer.len() >= READ_BYTES, "a train fits the buffer");
        if !self.polls.load(Ordering::SeqCst) {
            return Ok(match self.udp.receive(buffer, wait)? {
                Some(Arrival::Packets(bytes, from)) => self.take_from_network(buffer, bytes, from),
                Some(Arrival::Gone(_)) | None => None,
            });
        }
        let mut receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let ReceivingSide { poll, events, udp_ready } = &mut *receiver;
        if *udp_ready {
            match self.udp.receive_now(buffer)? {
                Some((bytes, from)) => return Ok(self.take_from_network(buffer, bytes, from)),
                None => *udp_ready = false,
            }
        }
        let due = {
            let mut links = self.links();
            if let Some(arrival) = links.next(buffer) {
                return Ok(Some(arrival));
            }
            links.next_deadline().map(|due| Duration::from_nanos(due.saturating_sub(self.now())))
        };
        match poll.poll(events, Some(due.map_or(wait, |due| due.min(wait)))) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            polled => polled?,
        }
        *udp_ready |= events.iter().any(|event| event.token() == UDP);
        let mut links = self.links();
        links.turn(self.now(), events);
        Ok(links.next(buffer))
    }

    fn wake(&self) {
        if self.polls.load(Ordering::SeqCst) {
            // It fails only when it has been told more often than it can count, and not heard.
            let _ = self.waker.wake();
        } else {
            self.udp.wake();
        }
    }

    fn multicast_receiver(&self) -> io::Result<Option<PacketReceiver<KernelPlace>>> {
        let Some(mut receive) = self.udp.multicast_receiver()? else { return Ok(None) };
        Ok(Some(Box::new(move |buffer, wait| {
            Ok(receive(buffer, wait)?.map(|(bytes, from)| (bytes, KernelPlace::Network(from))))
        })))
    }

    fn membership(&self, membership: GroupMembership) {
        self.udp.membership(membership);
    }
}
