//! Frames between sites in datagrams, over real sockets of the loopback interface.

use super::encrypted::{Relay, authority, count, good};
use super::*;
use crate::datagrams::Stray;
use crate::datagrams::faults::FaultRates;
use crate::limits::{DATAGRAM_BYTES_MIN, DATAGRAM_FRAME_BYTES_MAX};
use std::net::UdpSocket;

const FAULTS: FaultRates = FaultRates { loss_percent: 20, double_percent: 10, reorder_percent: 10 };

/// A site with datagrams.
fn node(site: SiteId, incarnation: u32, keys: Option<Keys>, options: DatagramOptions) -> Node {
    let mut node = Node::with_keys(Hello::new(INSTANCE, site, incarnation), anywhere(), keys);
    node.streams.use_datagrams(options).expect("a socket");
    node
}

fn uses_datagrams(node: &Node, site: SiteId) -> bool {
    node.status(site).channel == Some(ConnectionChannel::Datagrams)
}

/// Two sites that send each other datagrams, in clear and with keys.
fn datagram_pairs(options: DatagramOptions) -> [(Node, Node); 2] {
    let authority = authority();
    let keys = |site| good(&authority, site);
    [(None, None), (Some(keys(A)), Some(keys(B)))].map(|(a, b)| {
        let (mut a, mut b) = (node(A, 1, a, options), node(B, 1, b, options));
        connect(&mut a, &mut b);
        until([&mut a, &mut b], |[a, b]| uses_datagrams(a, B) && uses_datagrams(b, A));
        (a, b)
    })
}

/// What has come from a site, sorted.
fn sorted(node: &Node, from: SiteId) -> Vec<Bytes> {
    let mut payloads: Vec<Bytes> = node.payloads(from).cloned().collect();
    payloads.sort();
    payloads
}

#[test]
fn frames_go_by_datagrams_in_both_directions_and_long_ones_over_the_connection() {
    for (mut a, mut b) in datagram_pairs(DatagramOptions::default()) {
        let lengths = [0, 1, 100, 5_000, DATAGRAM_FRAME_BYTES_MAX, DATAGRAM_FRAME_BYTES_MAX + 1, 1 << 20];
        let mut frames = lengths.map(|length| Bytes::from(vec![length as u8; length]));
        frames.sort();
        for frame in &frames {
            assert_eq!((a.streams.send(B, frame), b.streams.send(A, frame)), (Ok(()), Ok(())));
        }
        until([&mut a, &mut b], |[a, b]| [a.payloads(B).count(), b.payloads(A).count()] == [frames.len(); 2]);
        assert!(sorted(&a, B) == frames && sorted(&b, A) == frames, "frames were changed on the way");
        // Acknowledgements may come behind the frames.
        let is_measured = |node: &Node| node.status(B).datagrams.is_some_and(|status| status.round_trip.is_some());
        until([&mut a, &mut b], |[a, _]| is_measured(a));
        let status = a.status(B);
        assert_eq!(status.encrypted, a.streams.keys.is_some());
        let datagrams = status.datagrams.expect("an association");
        assert!(datagrams.counters.datagrams_out >= 5, "{:?}", datagrams.counters);
        assert_eq!(datagrams.datagram_bytes, Some(usize::from(crate::limits::DATAGRAM_BYTES[0])), "of loopback");
    }
}

#[test]
fn what_is_lost_doubled_or_overtaken_arrives_once() {
    let options = DatagramOptions { datagram_bytes: DATAGRAM_BYTES_MIN, faults: FAULTS };
    for (mut a, mut b) in datagram_pairs(options) {
        let frames: Vec<Bytes> = (0..2_000_u32).map(|number| vec![number as u8; number as usize].into()).collect();
        for frames in frames.chunks(100) {
            for frame in frames {
                assert_eq!((a.streams.send(B, frame), b.streams.send(A, frame)), (Ok(()), Ok(())));
            }
            a.turn();
            b.turn();
        }
        until([&mut a, &mut b], |[a, b]| [a.payloads(B).count(), b.payloads(A).count()] == [frames.len(); 2]);
        (0..20).for_each(|_| a.turn());
        let mut frames = frames;
        frames.sort();
        assert!(sorted(&a, B) == frames && sorted(&b, A) == frames, "frames were changed on the way");
        let counters = a.status(B).datagrams.expect("an association").counters;
        assert!(counters.datagrams_again > counters.datagrams_out / 10, "{counters:?}");
        assert!(counters.datagrams_twice > 0, "{counters:?}");
    }
}

#[test]
fn what_is_for_all_leaves_once() {
    let mut nodes = [A, B, C].map(|site| node(site, 1, None, DatagramOptions::default()));
    let addresses = [A, B, C].map(|site| (site, nodes[usize::from(site.0) - 1].address()));
    for (site, address) in addresses {
        nodes.iter_mut().filter(|node| node.streams.local().site != site).for_each(|node| node.knows(site, address));
    }
    let [mut a, mut b, mut c] = nodes;
    let hears = |node: &Node, site| node.status(site).datagrams.is_some_and(|status| status.hears_group);
    until([&mut a, &mut b, &mut c], |[a, ..]| {
        hears(a, B) && hears(a, C) && uses_datagrams(a, B) && uses_datagrams(a, C)
    });
    let writes = |node: &Node| node.status(B).counters.writes + node.status(C).counters.writes;
    let before = writes(&a);
    assert_eq!(a.streams.multicast(&[B, C, SiteId(9)], b"to all"), Ok(1));
    a.streams.flush(a.now());
    assert_eq!(writes(&a) - before, 1, "one datagram for both");
    until([&mut a, &mut b, &mut c], |[_, b, c]| b.payloads(A).count() == 1 && c.payloads(A).count() == 1);
    // For one of them only, it is nobody else's.
    assert_eq!(a.streams.multicast(&[C], b"to one"), Ok(0));
    until([&mut a, &mut b, &mut c], |[_, _, c]| c.payloads(A).count() == 2);
    assert_eq!(b.payloads(A).count(), 1);
}

#[test]
fn a_site_without_datagrams_is_reached_over_the_connection() {
    let mut a = node(A, 1, None, DatagramOptions::default());
    let mut b = Node::new(B, 1);
    connect(&mut a, &mut b);
    a.streams.send(B, b"hello").expect("connected");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).count() == 1);
    assert_eq!((a.status(B).channel, a.status(B).datagrams), (Some(ConnectionChannel::Stream), None));
}

#[test]
fn a_new_incarnation_has_an_association_of_its_own() {
    for (mut a, b) in datagram_pairs(DatagramOptions::default()) {
        let keys = b.streams.keys.clone();
        drop(b);
        until([&mut a], |[a]| a.changes(B) == [Some(1), None]);
        assert_eq!(a.status(B).datagrams, None);
        let mut b = node(B, 2, keys, DatagramOptions::default());
        a.knows(B, b.address());
        b.knows(A, a.address());
        until([&mut a, &mut b], |[a, b]| uses_datagrams(a, B) && uses_datagrams(b, A));
        b.streams.send(A, b"again").expect("connected");
        until([&mut a, &mut b], |[a, _]| a.payloads(B).count() == 1);
        let last = a.seen.last();
        assert!(matches!(last, Some(Incoming::Message { incarnation: 2, .. })), "{last:?}");
    }
}

/// What goes from A to B passes somebody who keeps it.
struct Between {
    relay: Relay,
    socket: UdpSocket,
    target: SocketAddr,
    kept: Vec<Vec<u8>>,
    is_open: bool,
}

impl Between {
    fn new(target: SocketAddr) -> Between {
        let relay = Relay::new(target);
        let socket = UdpSocket::bind(relay.address()).expect("the port is free for datagrams too");
        socket.set_nonblocking(true).expect("a socket option");
        Between { relay, socket, target, kept: Vec::new(), is_open: true }
    }

    fn carry(&mut self) {
        self.relay.carry(|_| {});
        let mut buffer = [0; 1 << 16];
        while let Ok(count) = self.socket.recv(&mut buffer) {
            self.kept.push(buffer[..count].to_vec());
            if self.is_open {
                self.put(&buffer[..count]);
            }
        }
    }

    fn put(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.target).expect("loopback takes datagrams");
    }
}

/// Two sites with keys that send each other datagrams; what A sends to B can be heard, repeated and stopped.
fn overheard_pair() -> (Node, Node, Between) {
    let authority = authority();
    let keys = |site| Some(good(&authority, site));
    let options = DatagramOptions::default();
    let (mut a, mut b) = (node(A, 1, keys(A), options), node(B, 1, keys(B), options));
    let mut between = Between::new(b.address());
    a.knows(B, between.relay.address());
    b.knows(A, a.address());
    until([&mut a, &mut b], |[a, b]| {
        between.carry();
        uses_datagrams(a, B) && uses_datagrams(b, A)
    });
    (a, b, between)
}

#[test]
fn forged_repeated_and_stale_datagrams_are_dropped_and_counted() {
    let (mut a, mut b, mut between) = overheard_pair();
    a.streams.send(B, b"a secret of A").expect("connected");
    until([&mut a, &mut b], |[_, b]| {
        between.carry();
        b.payloads(A).count() == 1
    });
    assert!(between.kept.iter().all(|datagram| !datagram.windows(6).any(|window| window == b"secret")));
    for datagram in between.kept.clone() {
        between.put(&datagram);
        let mut forged = datagram.clone();
        *forged.last_mut().expect("a datagram has a seal") ^= 1;
        between.put(&forged);
    }
    between.put(b"nonsense");
    let forged = between.kept.len() as u64;
    until([&mut a, &mut b], |[_, b]| {
        let twice = b.status(A).datagrams.map_or(0, |status| status.counters.datagrams_twice);
        count(b, Stray::Forged.name()) == forged && count(b, Stray::Unknown.name()) > 0 && twice > 0
    });
    // A new life of B knows nothing of what was said to the one before.
    let keys = b.streams.keys.clone();
    let address = b.address();
    drop(b);
    let mut b = Node::with_keys(Hello::new(INSTANCE, B, 2), address, keys);
    b.streams.use_datagrams(DatagramOptions::default()).expect("a socket");
    let kept = between.kept.clone();
    kept.iter().for_each(|datagram| between.put(datagram));
    until([&mut a, &mut b], |[_, b]| count(b, Stray::Unknown.name()) == kept.len() as u64);
    assert_eq!(b.seen, []);
}

#[test]
fn when_datagrams_no_longer_arrive_the_connection_is_used_and_when_they_do_again_they_are() {
    let (mut a, mut b, mut between) = overheard_pair();
    between.is_open = false;
    a.streams.send(B, b"lost on its way").expect("connected");
    until([&mut a, &mut b], |[a, _]| {
        between.carry();
        a.status(B).channel == Some(ConnectionChannel::Stream)
    });
    a.streams.send(B, b"over the connection").expect("connected");
    until([&mut a, &mut b], |[_, b]| {
        between.carry();
        b.payloads(A).count() == 1
    });
    assert_eq!(b.payloads(A).next(), Some(&Bytes::from("over the connection")));
    between.is_open = true;
    until([&mut a, &mut b], |[a, b]| {
        between.carry();
        uses_datagrams(a, B) && b.payloads(A).count() == 2
    });
    assert_eq!(b.payloads(A).last(), Some(&Bytes::from("lost on its way")));
}
