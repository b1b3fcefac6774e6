//! Streams over real sockets of the loopback interface. Nothing sleeps: each test turns the event loops of its sites until
//! what it waits for has been observed, or fails at a deadline that only a broken implementation reaches.

mod datagrams;
mod encrypted;

use super::hello::{FasterChannels, Greeting};
use super::rings::ConnectionRing;
use super::*;
use crate::limits::{HANDSHAKES_MAX, MILLISECOND, RECONNECT_MAX, RECONNECT_MIN, RING_BYTES, SECOND};
use crate::shared::door::{self, DoorPass};
use crate::shared::ring::{RingFiles, RingWriter};
use bytes::Bytes;
use identifiers::InstanceId;
use mio::{Events, Poll};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const INSTANCE: InstanceId = InstanceId(0xdb);
const FIRST_TOKEN: usize = 1_000;
const A: SiteId = SiteId(1);
const B: SiteId = SiteId(2);
const C: SiteId = SiteId(3);

/// A site's event loop, turned by hand.
struct Node {
    poll: Poll,
    events: Events,
    streams: Streams,
    /// Everything that came in.
    seen: Vec<Incoming>,
    started: Instant,
    /// How far the site's clock is ahead of the machine's.
    ahead: u64,
    /// The site's clock stands still.
    frozen: Option<u64>,
}

impl Node {
    fn with(hello: Hello, address: SocketAddr) -> Node {
        Node::with_keys(hello, address, None)
    }

    fn with_keys(hello: Hello, address: SocketAddr, keys: Option<Keys>) -> Node {
        let poll = Poll::new().expect("a poll");
        let tokens = FIRST_TOKEN..FIRST_TOKEN + TOKENS;
        let streams = Streams::listen(poll.registry(), tokens, hello, address, keys).expect("a free port");
        Node {
            poll,
            events: Events::with_capacity(64),
            streams,
            seen: Vec::new(),
            started: Instant::now(),
            ahead: 0,
            frozen: None,
        }
    }

    fn new(site: SiteId, incarnation: u32) -> Node {
        Node::with(Hello::new(INSTANCE, site, incarnation), anywhere())
    }

    fn address(&self) -> SocketAddr {
        self.streams.local_address().expect("an address")
    }

    fn knows(&mut self, site: SiteId, address: SocketAddr) {
        self.streams.set_peer(site, address).expect("room for a peer");
    }

    fn now(&self) -> u64 {
        self.frozen.unwrap_or_else(|| self.started.elapsed().as_nanos() as u64 + self.ahead)
    }

    fn turn(&mut self) {
        self.poll.poll(&mut self.events, Some(Duration::from_millis(1))).expect("a poll");
        let now = self.now();
        for event in &self.events {
            assert!(self.streams.ready(now, event, &mut self.seen), "only streams are registered");
        }
        self.streams.tick(now, &mut self.seen);
        self.streams.flush(now);
    }

    /// The payloads that came from a site.
    fn payloads(&self, site: SiteId) -> impl Iterator<Item = &Bytes> {
        self.seen.iter().filter_map(move |incoming| match incoming {
            Incoming::Message { from, payload, .. } if *from == site => Some(payload),
            _ => None,
        })
    }

    /// What was told of a site's connections: an incarnation when it came, none when it went.
    fn changes(&self, peer: SiteId) -> Vec<Option<u32>> {
        let change = |incoming: &Incoming| match *incoming {
            Incoming::Connected { site, incarnation } if site == peer => Some(Some(incarnation)),
            Incoming::Disconnected { site, .. } if site == peer => Some(None),
            _ => None,
        };
        self.seen.iter().filter_map(change).collect()
    }

    fn status(&self, site: SiteId) -> PeerStatus {
        self.streams.status().into_iter().find(|status| status.site == site).expect("a peer")
    }
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Where nobody listens, and no other test will.
fn nowhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

/// Turns the loops until the condition holds.
#[track_caller]
fn until<const N: usize>(mut nodes: [&mut Node; N], mut condition: impl FnMut(&mut [&mut Node; N]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition(&mut nodes) {
        assert!(Instant::now() < deadline, "what was waited for did not come");
        nodes.iter_mut().for_each(|node| node.turn());
    }
}

/// Two connected sites, over sockets, and two through shared memory.
fn pairs() -> [(Node, Node); 2] {
    [ConnectionChannel::Stream, ConnectionChannel::SharedMemory]
        .map(|channel| pair(channel, Node::new(A, 1), Node::new(B, 1)))
}

fn pair(channel: ConnectionChannel, mut a: Node, mut b: Node) -> (Node, Node) {
    if channel == ConnectionChannel::SharedMemory {
        a.streams.use_shared_memory().expect("a door");
        b.streams.use_shared_memory().expect("a door");
    }
    connect(&mut a, &mut b);
    assert_eq!((a.status(B).channel, b.status(A).channel), (Some(channel), Some(channel)));
    (a, b)
}

fn connect(a: &mut Node, b: &mut Node) {
    a.knows(B, b.address());
    b.knows(A, a.address());
    until([a, b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
}

/// A connection that no `Streams` made.
struct Raw(TcpStream);

impl Raw {
    fn connect(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).expect("a listener");
        stream.set_nonblocking(true).expect("a socket option");
        Raw(stream)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("a small write");
    }

    fn greet(&mut self, hello: Hello, to: SiteId) {
        self.send(&greeting(hello, to));
    }

    /// What has come so far, and whether the other side has closed.
    fn read(&mut self, bytes: &mut Vec<u8>) -> bool {
        loop {
            let mut chunk = [0; 256];
            match self.0.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => bytes.extend_from_slice(&chunk[..count]),
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }

    /// Waits until the node closes this connection, and returns what it said before.
    #[track_caller]
    fn closed_by(&mut self, node: &mut Node) -> Vec<u8> {
        let mut bytes = Vec::new();
        until([node], |_| self.read(&mut bytes));
        bytes
    }

    /// Waits until the node answers a hello with its own.
    #[track_caller]
    fn welcomed_by(&mut self, node: &mut Node) {
        let mut bytes = Vec::new();
        until([node], |_| {
            assert!(!self.read(&mut bytes), "refused");
            !bytes.is_empty()
        });
    }
}

fn greeting(hello: Hello, to: SiteId) -> Vec<u8> {
    let payload =
        Greeting::Hello { hello, to, faster: FasterChannels::None }.encode(hello.version).expect("a hello is told");
    let mut bytes = Vec::new();
    frame::append(&mut bytes, &payload);
    bytes
}

/// What a refused connection was told.
fn refusal(bytes: &[u8]) -> Greeting {
    Greeting::decode(bytes.get(HEADER_BYTES..).unwrap_or_default(), PROTOCOL_VERSION).expect("a greeting")
}

#[test]
fn frames_come_in_order_in_both_directions_and_leave_in_few_writes() {
    const COUNT: u32 = 10_000;
    for (mut a, mut b) in pairs() {
        for number in 0..COUNT {
            a.streams.send(B, &number.to_le_bytes()).expect("connected");
            b.streams.send_with(A, |buffer| buffer.extend_from_slice(&number.to_le_bytes())).expect("connected");
        }
        until([&mut a, &mut b], |[a, b]| {
            a.payloads(B).count() == COUNT as usize && b.payloads(A).count() == COUNT as usize
        });
        for (node, peer) in [(&a, B), (&b, A)] {
            assert!(node.payloads(peer).map(|payload| &payload[..]).eq((0..COUNT).map(u32::to_le_bytes)));
            let counters = node.status(peer).counters;
            assert_eq!((counters.frames_out, counters.frames_in), (u64::from(COUNT), u64::from(COUNT)));
            assert_eq!((counters.bytes_out, counters.bytes_in), (12 * u64::from(COUNT), 12 * u64::from(COUNT)));
            assert!(counters.writes < 100, "{} writes for one turn's frames", counters.writes);
        }
    }
}

#[test]
fn large_frames_and_small_ones_keep_their_order() {
    const LARGE: usize = 20 << 20;
    let (_authority, encrypted_a, encrypted_b) = encrypted::encrypted_pair();
    for (mut a, mut b) in pairs().into_iter().chain([(encrypted_a, encrypted_b)]) {
        let large = |fill: usize| -> Vec<u8> { (0..LARGE).map(|index| (index * 31 + fill) as u8).collect() };
        let sent = [large(1), b"small".to_vec(), large(2), Vec::new(), b"last".to_vec()];
        for payload in &sent {
            a.streams.send(B, payload).expect("connected");
            b.streams.send(A, payload).expect("connected");
        }
        until([&mut a, &mut b], |[a, b]| a.payloads(B).count() == sent.len() && b.payloads(A).count() == sent.len());
        assert!(a.payloads(B).eq(&sent), "a frame is not what was sent");
        assert!(b.payloads(A).eq(&sent), "a frame is not what was sent");
    }
}

#[test]
fn a_peer_that_dies_is_noticed_and_comes_back_as_a_new_incarnation() {
    for (mut a, b) in pairs() {
        let address = b.address();
        drop(b);
        until([&mut a], |[a]| a.changes(B) == [Some(1), None]);
        let dropped = a.status(B).counters.frames_dropped;
        assert_eq!(a.streams.send(B, b"nobody listens"), Err(SendError::NotConnected(B)));
        assert_eq!(a.status(B).counters.frames_dropped, dropped + 1);

        let mut b = Node::with(Hello::new(INSTANCE, B, 2), address);
        let channel =
            if a.streams.door.is_some() { ConnectionChannel::SharedMemory } else { ConnectionChannel::Stream };
        if channel == ConnectionChannel::SharedMemory {
            b.streams.use_shared_memory().expect("a door");
        }
        b.knows(A, a.address());
        until([&mut a, &mut b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
        assert_eq!(a.changes(B), [Some(1), None, Some(2)]);
        assert_eq!((a.status(B).channel, b.status(A).channel), (Some(channel), Some(channel)));
        a.streams.send(B, b"welcome back").expect("connected");
        until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "welcome back"));
        assert_eq!(a.status(B).incarnation, 2);
    }
}

#[test]
fn a_frame_sent_before_a_peer_dies_is_delivered_before_the_news() {
    for (mut a, mut b) in pairs() {
        b.streams.send(A, b"last words").expect("connected");
        b.streams.flush(b.now());
        drop(b);
        until([&mut a], |[a]| a.changes(B) == [Some(1), None]);
        assert!(a.payloads(B).any(|payload| payload == "last words"));
    }
}

#[test]
fn attempts_to_connect_are_repeated_at_once_and_then_with_growing_pauses() {
    let mut a = Node::new(A, 1);
    a.knows(B, nowhere());
    let mut now = 1;
    let mut failures = 2; // the second attempt is made in the turn in which the first failed
    let mut pauses = Vec::new();
    for _ in 0..7 {
        a.frozen = Some(now);
        until([&mut a], |[a]| a.status(B).counters.failures == failures);
        let due = a.streams.next_deadline().expect("another attempt");
        pauses.push((due - now) / MILLISECOND);
        (now, failures) = (due, failures + 1);
    }
    let (shortest, longest) = (RECONNECT_MIN / MILLISECOND, RECONNECT_MAX / MILLISECOND);
    assert_eq!(
        pauses,
        [1, 2, 4, 8, 16].map(|factor| factor * shortest).into_iter().chain([longest; 2]).collect::<Vec<_>>()
    );
}

#[test]
fn sites_of_another_instance_or_version_and_unknown_ones_are_refused_with_the_reason() {
    let ours = Hello::new(INSTANCE, B, 1);
    let cases = [
        (Hello { instance: InstanceId(0xbad), ..ours }, A, HelloRefusal::Instance),
        (ours, C, HelloRefusal::Site),
        (Hello { site: C, ..ours }, A, HelloRefusal::Unknown),
        (Hello { site: A, ..ours }, A, HelloRefusal::Unknown),
    ];
    let mut a = Node::new(A, 1);
    a.knows(B, nowhere());
    for (count, (hello, to, expected)) in (1..).zip(cases) {
        let mut raw = Raw::connect(a.address());
        raw.greet(hello, to);
        assert_eq!(refusal(&raw.closed_by(&mut a)), Greeting::Refused(expected));
        assert_eq!(a.streams.strangers().refused, count);
        assert_eq!(a.streams.strangers().last_failure, Some(DisconnectReason::Refusing(expected)));
    }
    let mut raw = Raw::connect(a.address());
    raw.greet(Hello { version: PROTOCOL_VERSION + 1, ..ours }, A);
    assert_eq!(refusal(&raw.closed_by(&mut a)), Greeting::Refused(HelloRefusal::Version));
    assert!(a.seen.is_empty(), "{:?}", a.seen);
}

#[test]
fn each_side_learns_why_it_was_refused() {
    let ours = Hello::new(INSTANCE, B, 1);
    let cases = [
        (Hello { instance: InstanceId(0xbad), ..ours }, HelloRefusal::Instance),
        (Hello { site: C, ..ours }, HelloRefusal::Site),
        (Hello { version: PROTOCOL_VERSION + 1, ..ours }, HelloRefusal::Version),
    ];
    for (hello, expected) in cases {
        let (mut a, mut b) = (Node::new(A, 1), Node::with(hello, anywhere()));
        // B's own attempts to connect are not under test.
        a.knows(B, b.address());
        until([&mut a, &mut b], |[a, _]| a.status(B).counters.refusals > 0);
        let failure = a.status(B).last_failure;
        // A side of another version refuses in its own version, which we refuse in turn.
        let told = if expected == HelloRefusal::Version {
            DisconnectReason::Refusing(expected)
        } else {
            DisconnectReason::Refused(expected)
        };
        assert_eq!(failure, Some(told));
        assert_eq!(b.streams.strangers().last_failure, Some(DisconnectReason::Refusing(expected)));
        assert!(!a.streams.is_connected(B));
    }
}

#[test]
fn an_answer_from_the_wrong_site_is_not_taken_for_the_peer() {
    // The listener at B's address says that it is C, and never looks at whom the hello was for.
    let listener = std::net::TcpListener::bind(anywhere()).expect("a port");
    let mut a = Node::new(A, 1);
    a.knows(B, listener.local_addr().expect("an address"));
    a.knows(C, listener.local_addr().expect("an address"));
    a.turn();
    for _ in 0..2 {
        let (stream, _) = listener.accept().expect("A connects for B and for C");
        Raw(stream).greet(Hello::new(INSTANCE, C, 1), A);
    }
    until([&mut a], |[a]| a.status(B).last_failure == Some(DisconnectReason::Refusing(HelloRefusal::Site)));
}

#[test]
fn garbage_at_the_port_closes_that_connection_and_no_other() {
    for (mut a, mut b) in pairs() {
        let hello = greeting(Hello::new(INSTANCE, C, 1), A);
        let random: Vec<u8> = (0..1_000u32).map(|index| (index.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        let mut damaged = hello.clone();
        *damaged.last_mut().expect("a hello") ^= 1;
        let mut foreign = Vec::new();
        frame::append(&mut foreign, b"GET / HTTP/1.1\r\n\r\n");
        let cases: [&[u8]; 5] = [&random, &u32::MAX.to_le_bytes(), &[0; 64], &damaged, &foreign];
        for (count, garbage) in (1..).zip(cases) {
            let mut raw = Raw::connect(a.address());
            raw.send(garbage);
            assert!(raw.closed_by(&mut a).is_empty(), "who does not speak the protocol gets no answer");
            assert_eq!(a.streams.strangers().broken, count);
        }
        // Half a hello, and then the end: noticed from the end itself, for the clock stands still.
        let broken = a.streams.strangers().broken;
        a.frozen = Some(a.now());
        let mut raw = Raw::connect(a.address());
        raw.send(&hello[..hello.len() / 2]);
        drop(raw);
        until([&mut a], |[a]| a.streams.strangers().broken == broken + 1);
        a.frozen = None;
        // Half a hello, and then silence.
        let mut raw = Raw::connect(a.address());
        raw.send(&hello[..hello.len() / 2]);
        let accepted = a.streams.strangers().accepted;
        until([&mut a], |[a]| a.streams.strangers().accepted == accepted + 1);
        a.ahead += HANDSHAKE;
        raw.closed_by(&mut a);
        assert_eq!(a.streams.strangers().last_failure, Some(DisconnectReason::Handshake));

        a.streams.send(B, b"still here").expect("connected");
        until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "still here"));
        assert_eq!((a.changes(B), b.changes(A)), (vec![Some(1)], vec![Some(1)]));
    }
}

#[test]
fn garbage_behind_a_good_hello_closes_that_connection_and_no_other() {
    for (mut a, mut b) in pairs() {
        a.knows(C, nowhere());
        let mut raw = Raw::connect(a.address());
        raw.greet(Hello::new(INSTANCE, C, 1), A);
        raw.welcomed_by(&mut a);
        let mut bytes = Vec::new();
        frame::append(&mut bytes, b"good");
        bytes.extend_from_slice(&[0xff; 100]);
        raw.send(&bytes);
        raw.closed_by(&mut a);
        assert!(a.payloads(C).eq(["good"]), "the frame before the garbage was good");
        assert!(matches!(a.status(C).last_failure, Some(DisconnectReason::Frame(_) | DisconnectReason::Failed(_))));
        b.turn();
        assert_eq!((a.changes(B), b.changes(A)), (vec![Some(1)], vec![Some(1)]));
    }
}

#[test]
fn an_older_incarnation_is_refused_and_a_newer_one_takes_over() {
    let mut a = Node::new(A, 1);
    a.knows(B, nowhere());
    let hello = |incarnation| Hello::new(INSTANCE, B, incarnation);
    let framed = |payload: &[u8]| {
        let mut bytes = Vec::new();
        frame::append(&mut bytes, payload);
        bytes
    };
    let mut current = Raw::connect(a.address());
    current.greet(hello(5), A);
    current.welcomed_by(&mut a);
    let mut older = Raw::connect(a.address());
    older.greet(hello(4), A);
    assert_eq!(refusal(&older.closed_by(&mut a)), Greeting::Refused(HelloRefusal::Stale));

    let mut newer = Raw::connect(a.address());
    newer.greet(hello(6), A);
    newer.welcomed_by(&mut a);
    // The write may fail or vanish; it must not arrive.
    current.0.write_all(&framed(b"from the dead")).unwrap_or_default();
    newer.send(&framed(b"from the living"));
    until([&mut a], |[a]| a.payloads(B).count() > 0);
    current.closed_by(&mut a);
    assert!(a.payloads(B).eq(["from the living"]));
    assert!(matches!(a.seen[0], Incoming::Message { incarnation: 6, .. }), "{:?}", a.seen);
}

#[test]
fn a_second_connection_of_the_same_life_replaces_the_first() {
    // A peer whose connection broke notices before we do, and connects again.
    let mut a = Node::new(A, 1);
    a.knows(B, nowhere());
    let mut raws = [(); 2].map(|()| {
        let mut raw = Raw::connect(a.address());
        raw.greet(Hello::new(INSTANCE, B, 5), A);
        raw.welcomed_by(&mut a);
        raw
    });
    let mut bytes = Vec::new();
    frame::append(&mut bytes, b"frame");
    raws[0].0.write_all(&bytes).unwrap_or_default();
    raws[0].closed_by(&mut a);
    raws[1].send(&bytes);
    until([&mut a], |[a]| a.payloads(B).count() > 0);
    assert_eq!(a.payloads(B).count(), 1, "two connections carried frames of one peer");
}

#[test]
fn a_process_without_an_incarnation_is_heard_beside_the_newest() {
    // A starting site asks for its incarnation before it has one, at a site that remembers its last life.
    let mut a = Node::new(A, 1);
    a.knows(B, nowhere());
    for incarnation in [7, INCARNATION_UNKNOWN, 8] {
        let mut raw = Raw::connect(a.address());
        raw.greet(Hello::new(INSTANCE, B, incarnation), A);
        raw.welcomed_by(&mut a);
    }
    assert_eq!(a.status(B).incarnation, 8);
}

#[test]
fn a_frame_that_does_not_fit_is_dropped_and_those_before_it_arrive() {
    for (mut a, mut b) in pairs() {
        let size = FRAME_BYTES_MAX - HEADER_BYTES;
        let write = |buffer: &mut Vec<u8>| buffer.resize(buffer.len() + size, 7);
        assert_eq!(a.streams.send_with(B, write), Ok(()));
        assert_eq!(a.streams.send_with(B, write), Ok(()));
        assert_eq!(a.streams.send(B, b"one too many"), Err(SendError::QueueFull(B)));
        assert_eq!(a.streams.multicast(&[B], b"one too many"), Ok(1));
        assert_eq!(a.status(B).bytes_queued, QUEUED_BYTES_MAX);
        assert_eq!(a.status(B).counters.frames_dropped, 2);
        until([&mut a, &mut b], |[_, b]| b.payloads(A).count() == 2);
        assert!(b.payloads(A).all(|payload| payload.len() == size));
        a.streams.send(B, b"fits again").expect("room");
        until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "fits again"));
    }
}

#[test]
fn a_payload_larger_than_a_frame_is_an_error_not_a_panic() {
    for (mut a, _b) in pairs() {
        let bytes = FRAME_BYTES_MAX + 1;
        assert_eq!(
            a.streams.send_with(B, |buffer| buffer.resize(buffer.len() + bytes, 0)),
            Err(SendError::TooLarge { bytes })
        );
        assert_eq!(a.streams.multicast(&[B], &vec![0; bytes]), Err(SendError::TooLarge { bytes }));
    }
}

#[test]
fn a_multicast_reaches_every_connected_peer_and_counts_the_others() {
    for (mut a, mut b) in pairs() {
        let mut c = Node::new(C, 1);
        a.knows(C, c.address());
        c.knows(A, a.address());
        until([&mut a, &mut c], |[a, c]| a.streams.is_connected(C) && c.streams.is_connected(A));
        assert_eq!(a.streams.multicast(&[B, C, SiteId(9)], b"to all"), Ok(1));
        until([&mut a, &mut b, &mut c], |[_, b, c]| b.payloads(A).count() == 1 && c.payloads(A).count() == 1);
        assert!(b.payloads(A).chain(c.payloads(A)).all(|payload| payload == "to all"));
    }
}

#[test]
fn a_peer_moves_and_goes() {
    for (mut a, mut b) in pairs() {
        let mut moved = Node::new(B, 2);
        moved.knows(A, a.address());
        a.knows(B, moved.address());
        until([&mut a, &mut b, &mut moved], |[a, _, moved]| {
            a.changes(B).ends_with(&[Some(2)]) && moved.streams.is_connected(A)
        });
        drop(b);
        a.streams.remove_peer(B);
        until([&mut a, &mut moved], |[a, moved]| a.changes(B).ends_with(&[None]) && !moved.streams.is_connected(A));
        assert_eq!(a.streams.send(B, b"gone"), Err(SendError::UnknownPeer(B)));
        until([&mut a, &mut moved], |[_, moved]| {
            moved.status(A).last_failure == Some(DisconnectReason::Refused(HelloRefusal::Unknown))
        });
    }
}

#[test]
fn many_silent_strangers_do_not_keep_a_peer_out() {
    let mut a = Node::new(A, 1);
    let mut silent = Vec::new();
    for _ in 0..HANDSHAKES_MAX + 20 {
        silent.push(Raw::connect(a.address()));
        a.turn();
    }
    until([&mut a], |[a]| a.streams.strangers().accepted == silent.len() as u64);
    assert_eq!(a.streams.strangers().broken, 20, "the oldest are closed");
    connect(&mut a, &mut Node::new(B, 1));
}

#[test]
fn a_listener_that_never_answers_is_given_up() {
    let silent = std::net::TcpListener::bind(anywhere()).expect("a port");
    let mut a = Node::new(A, 1);
    a.knows(B, silent.local_addr().expect("an address"));
    a.turn();
    let (_held, _) = silent.accept().expect("A connects");
    a.ahead += HANDSHAKE + SECOND;
    until([&mut a], |[a]| a.status(B).last_failure == Some(DisconnectReason::Handshake));
}

#[test]
fn peers_are_bounded_and_never_this_site() {
    let mut a = Node::new(A, 1);
    let address = a.address();
    assert!(matches!(a.streams.set_peer(A, address), Err(StreamsError::Local(A))));
    for site in 0..PEERS_MAX as u16 {
        a.knows(SiteId(100 + site), address);
    }
    assert!(matches!(a.streams.set_peer(B, address), Err(StreamsError::TooManyPeers(B))));
    a.knows(SiteId(100), anywhere());
}

/// If this failed, a site whose peer cannot take a ring, or breaks one, would never talk with it again.
#[test]
fn without_a_ring_frames_go_over_the_connection() {
    let (mut a, mut b) = (Node::new(A, 1), Node::new(B, 1));
    a.streams.use_shared_memory().expect("a door");
    connect(&mut a, &mut b);
    let over_sockets = Some(ConnectionChannel::Stream);
    assert_eq!((a.status(B).channel, b.status(A).channel), (over_sockets, over_sockets), "one side has no door");

    let [_, (mut a, mut b)] = pairs();
    let OutgoingConnection::Open(slot) = a.streams.peers[&B].outgoing else { panic!("they are connected") };
    let Some(ConnectionRing::Out(writer)) = a.streams.connections[slot].as_mut().map(|connection| &mut connection.ring)
    else {
        panic!("they have rings")
    };
    writer.lie();
    until([&mut a, &mut b], |[_, b]| b.changes(A).contains(&None));
    let failure = b.status(A).last_failure;
    until([&mut a, &mut b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
    assert_eq!(a.status(B).channel, over_sockets);
    assert_eq!(failure, Some(DisconnectReason::Ring));
    a.streams.send(B, b"still here").expect("connected");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "still here"));
}

/// If this failed, a process with too many open files would never hear a peer of its host again.
#[test]
fn a_ring_whose_files_do_not_come_is_refused() {
    let [_, (mut a, mut b)] = pairs();
    let Some(slot) = b.streams.peers[&A].incoming else { panic!("they are connected") };
    let pass = DoorPass::draw().expect("random numbers");
    b.streams.connections[slot].as_mut().expect("it is open").ring = ConnectionRing::Offered(pass);
    let (_, files) = RingWriter::create(RING_BYTES).expect("a ring");
    let memory = std::net::UdpSocket::bind(anywhere()).expect("a socket").into();
    let door = b.streams.door.as_ref().expect("a door").name();
    door::hand_in(door, pass, RingFiles { memory, ..files }).expect("the door is open");
    until([&mut a, &mut b], |[a, b]| a.changes(B).len() == 3 && b.changes(A).len() == 3);
    assert_eq!(a.status(B).last_failure, Some(DisconnectReason::Refused(HelloRefusal::Ring)));
    assert_eq!(a.status(B).channel, Some(ConnectionChannel::Stream));
    a.streams.send(B, b"still here").expect("connected");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "still here"));
}

#[test]
fn a_ring_with_another_pass_is_nobodys() {
    let [_, (mut a, mut b)] = pairs();
    let door = a.streams.door.as_ref().expect("a door").name();
    let (mut writer, files) = RingWriter::create(RING_BYTES).expect("a ring");
    door::hand_in(door, DoorPass::draw().expect("random numbers"), files).expect("the door is open");
    let mut frame = Vec::new();
    frame::append(&mut frame, b"from a stranger");
    writer.write(&frame).expect("nobody reads it");
    let waits = |node: &mut Node| {
        let door = node.streams.door.as_mut().expect("a door");
        rustix::io::ioctl_fionread(door.source()).expect("its socket tells") > 0
    };
    assert!(waits(&mut a), "the ring is at the door");
    b.streams.send(A, b"from B").expect("connected");
    until([&mut a, &mut b], |[a, _]| a.payloads(B).count() > 0 && !waits(a));
    assert!(a.payloads(B).eq(["from B"]));
    assert_eq!(a.changes(B), [Some(1)]);
}
