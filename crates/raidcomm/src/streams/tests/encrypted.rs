//! Streams with keys: who may talk with whom, what a third party sees and can do, and that frames go on as they do in clear.

use super::*;
use crate::keys::Authority;
use crate::keys::tests::Said;
use std::net::TcpListener as Listener;
use std::sync::Arc;

pub(super) fn authority() -> Authority {
    Authority::new(INSTANCE).expect("an authority")
}

pub(super) fn good(authority: &Authority, site: SiteId) -> Keys {
    authority.keys(INSTANCE, site, Said::of(INSTANCE, site))
}

fn node(site: SiteId, incarnation: u32, keys: Keys) -> Node {
    Node::with_keys(Hello::new(INSTANCE, site, incarnation), anywhere(), Some(keys))
}

fn introduce(a: &mut Node, b: &mut Node) {
    let (site_a, site_b) = (a.streams.local().site, b.streams.local().site);
    a.knows(site_b, b.address());
    b.knows(site_a, a.address());
}

/// Two sites that are connected and encrypt.
pub(super) fn encrypted_pair() -> (Authority, Node, Node) {
    let authority = authority();
    let (mut a, mut b) = (node(A, 1, good(&authority, A)), node(B, 1, good(&authority, B)));
    introduce(&mut a, &mut b);
    until([&mut a, &mut b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
    (authority, a, b)
}

pub(super) fn count(node: &Node, reason: &str) -> u64 {
    node.streams.stranger_reasons().get(reason).copied().unwrap_or_default()
}

/// Waits until A has refused the connection that B made, and each side has said what it thinks of the other's answer to
/// its own connection.
#[track_caller]
fn strangers_are(mut a: Node, mut b: Node, refused: &str, a_says: DisconnectReason, b_says: DisconnectReason) {
    introduce(&mut a, &mut b);
    let (mut a_said, mut b_said) = (false, false);
    until([&mut a, &mut b], |[a, b]| {
        a_said |= a.status(B).last_failure == Some(a_says);
        b_said |= b.status(A).last_failure == Some(b_says);
        a_said && b_said && count(a, refused) > 0
    });
    assert!(a.streams.strangers().distrusted > 0 && a.streams.strangers().last_distrust.is_some());
    assert!(a.seen.is_empty() && b.seen.is_empty(), "frames or connections with a stranger");
    assert!(!a.status(B).encrypted && !a.status(B).connected);
    assert_eq!(a.streams.send(B, b"secret"), Err(SendError::NotConnected(B)));
}

/// Carries the bytes between a site and those that connect to it, and can meddle with those that go to it.
pub(super) struct Relay {
    listener: Listener,
    target: SocketAddr,
    pairs: Vec<[TcpStream; 2]>,
    /// All that went to the site.
    seen: Vec<u8>,
}

impl Relay {
    pub(super) fn new(target: SocketAddr) -> Relay {
        let listener = Listener::bind(anywhere()).expect("a port");
        listener.set_nonblocking(true).expect("a socket option");
        Relay { listener, target, pairs: Vec::new(), seen: Vec::new() }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    /// Carries what waits; `meddle` changes what goes to the site.
    pub(super) fn carry(&mut self, mut meddle: impl FnMut(&mut Vec<u8>)) {
        while let Ok((from, _)) = self.listener.accept() {
            let to = TcpStream::connect(self.target).expect("the site listens");
            from.set_nonblocking(true).expect("a socket option");
            to.set_nonblocking(true).expect("a socket option");
            self.pairs.push([from, to]);
        }
        let seen = &mut self.seen;
        self.pairs.retain_mut(|[from, to]| {
            let mut inward = Vec::new();
            let mut alive = take(from, &mut inward);
            if !inward.is_empty() {
                meddle(&mut inward);
                seen.extend_from_slice(&inward);
                alive &= to.write_all(&inward).is_ok();
            }
            let mut outward = Vec::new();
            alive &= take(to, &mut outward);
            from.write_all(&outward).is_ok() && alive
        });
    }
}

/// What waits on a connection; `false` at its end.
fn take(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> bool {
    let mut chunk = [0; 1 << 14];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return false,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// Two sites; what A sends to B goes through a relay.
fn relayed_pair() -> (Node, Node, Relay) {
    let authority = authority();
    let (mut a, mut b) = (node(A, 1, good(&authority, A)), node(B, 1, good(&authority, B)));
    let mut relay = Relay::new(b.address());
    a.knows(B, relay.address());
    b.knows(A, a.address());
    until([&mut a, &mut b], |[a, b]| {
        relay.carry(|_| {});
        a.streams.is_connected(B) && b.streams.is_connected(A)
    });
    (a, b, relay)
}

#[test]
fn frames_between_sites_with_keys_arrive_and_nobody_between_can_read_them() {
    const SECRET: &[u8] = b"nobody but site 2 may read this";
    let (mut a, mut b, mut relay) = relayed_pair();
    a.streams.send(B, SECRET).expect("connected");
    b.streams.send(A, SECRET).expect("connected");
    until([&mut a, &mut b], |[a, b]| {
        relay.carry(|_| {});
        a.payloads(B).count() == 1 && b.payloads(A).count() == 1
    });
    assert!(a.payloads(B).chain(b.payloads(A)).all(|payload| payload == SECRET));
    assert!(a.status(B).encrypted && b.status(A).encrypted);
    let shows = |bytes: &[u8]| relay.seen.windows(bytes.len()).any(|window| window == bytes);
    assert!(!shows(SECRET), "the frame went in clear");
    assert!(!shows(b"RAID"), "the greeting went in clear");
    assert!(!shows(b"instance.raid"), "who talks went in clear");
    let [(a, _b), _] = pairs();
    assert!(!a.status(B).encrypted, "without keys nothing is encrypted");
}

#[test]
fn bytes_that_were_changed_on_the_way_close_the_connection_and_nothing_of_them_is_delivered() {
    type Meddler = fn(&mut Vec<u8>);
    // Changed, sent twice, cut, and a record made up and put before it; how often the frame arrives.
    let meddlers: [(Meddler, usize); 4] = [
        (|bytes| *bytes.last_mut().expect("bytes") ^= 1, 0),
        (|bytes| bytes.extend_from_within(..), 1),
        (|bytes| drop(bytes.drain(..1)), 0),
        (|bytes| drop(bytes.splice(..0, [23, 3, 3, 0, 32].into_iter().chain([0; 32]))), 0),
    ];
    for (meddle, arrivals) in meddlers {
        let (mut a, mut b, mut relay) = relayed_pair();
        a.streams.send(B, b"before").expect("connected");
        until([&mut a, &mut b], |[_, b]| {
            relay.carry(|_| {});
            b.payloads(A).count() == 1
        });
        a.streams.send(B, b"meddled").expect("connected");
        until([&mut a, &mut b], |[_, b]| {
            relay.carry(meddle);
            matches!(b.status(A).last_failure, Some(DisconnectReason::Insecure(Distrust::Garbled)))
        });
        let arrived = b.payloads(A).filter(|payload| *payload == "meddled").count();
        assert_eq!(arrived, arrivals, "of what was changed nothing is taken, of what was sent again only the first");
        until([&mut a, &mut b], |[a, b]| {
            relay.carry(|_| {});
            a.streams.is_connected(B) && b.streams.is_connected(A)
        });
        a.streams.send(B, b"after").expect("connected");
        until([&mut a, &mut b], |[_, b]| {
            relay.carry(|_| {});
            b.payloads(A).any(|payload| payload == "after")
        });
    }
}

#[test]
fn a_certificate_of_another_authority_is_refused_on_both_sides() {
    let (a, b) = (node(A, 1, good(&authority(), A)), node(B, 1, good(&authority(), B)));
    let unknown = DisconnectReason::Insecure(Distrust::Authority);
    // B's client refuses A's certificate before it shows its own.
    strangers_are(a, b, "our certificate was refused", unknown, unknown);
}

#[test]
fn the_certificate_of_another_authority_is_refused_also_of_a_client_that_believes_everybody() {
    let (ours, theirs) = (authority(), authority());
    let mut keys = good(&theirs, B);
    keys.server = good(&ours, B).server;
    // It connects as somebody who knows our authority, with what another one signed.
    let mut client = (*good(&ours, B).client).clone();
    client.client_auth_cert_resolver = keys.client.client_auth_cert_resolver.clone();
    keys.client = Arc::new(client);
    let (mut a, mut b) = (node(A, 1, good(&ours, A)), node(B, 1, keys));
    introduce(&mut a, &mut b);
    until([&mut a, &mut b], |[a, b]| {
        let told = matches!(b.status(A).last_failure, Some(DisconnectReason::Insecure(Distrust::Ours(_))));
        count(a, "certificate of another authority") > 0 && told
    });
    assert!(!b.streams.is_connected(A) && a.seen.is_empty());
}

#[test]
fn a_client_without_a_certificate_is_refused() {
    let authority = authority();
    let mut keys = good(&authority, B);
    let mut client = (*keys.client).clone();
    client.client_auth_cert_resolver = Arc::new(NoCertificate);
    keys.client = Arc::new(client);
    let (mut a, mut b) = (node(A, 1, good(&authority, A)), node(B, 1, keys));
    introduce(&mut a, &mut b);
    until([&mut a, &mut b], |[a, b]| {
        let told = matches!(b.status(A).last_failure, Some(DisconnectReason::Insecure(Distrust::Ours(116))));
        count(a, "no certificate") > 0 && told
    });
    assert!(a.streams.strangers().refused > 0);
    assert!(!b.streams.is_connected(A) && a.seen.is_empty());
}

#[derive(Debug)]
struct NoCertificate;

impl rustls::client::ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

#[test]
fn certificates_out_of_their_time_are_refused_and_both_sides_say_so() {
    let authority = authority();
    let expired = authority.keys(INSTANCE, B, Said::of(INSTANCE, B).expired());
    let early = authority.keys(INSTANCE, B, Said::of(INSTANCE, B).not_yet_valid());
    let cases = [
        (expired, Distrust::Expired, 45, "certificate expired"),
        (early, Distrust::NotYetValid, 45, "certificate not valid yet"),
    ];
    for (keys, distrust, alert, name) in cases {
        let ours = DisconnectReason::Insecure(Distrust::Ours(alert));
        let (a, b) = (node(A, 1, good(&authority, A)), node(B, 1, keys));
        strangers_are(a, b, name, DisconnectReason::Insecure(distrust), ours);
    }
}

#[test]
fn a_site_cannot_pass_for_another_one_of_its_instance() {
    let authority = authority();
    let keys = authority.keys(INSTANCE, B, Said::of(INSTANCE, C));
    let (a, b) = (node(A, 1, good(&authority, A)), node(B, 1, keys));
    let refused = DisconnectReason::Refused(HelloRefusal::Certificate);
    strangers_are(a, b, "certificate of another site", DisconnectReason::Refusing(HelloRefusal::Site), refused);
}

#[test]
fn a_certificate_of_another_instance_is_refused_even_if_one_authority_serves_both() {
    let authority = authority();
    let keys = authority.keys(INSTANCE, B, Said::of(InstanceId(7), B));
    let (a, b) = (node(A, 1, good(&authority, A)), node(B, 1, keys));
    let refused = DisconnectReason::Refused(HelloRefusal::Instance);
    strangers_are(a, b, "another instance", DisconnectReason::Insecure(Distrust::Instance), refused);
}

#[test]
fn a_side_with_keys_and_one_without_refuse_each_other_and_say_why() {
    let authority = authority();
    let refused = |refusal| DisconnectReason::Refused(refusal);
    let with_keys = || node(A, 1, good(&authority, A));
    strangers_are(
        with_keys(),
        Node::new(B, 1),
        "in clear",
        refused(HelloRefusal::Encrypted),
        refused(HelloRefusal::Clear),
    );
    let (a, b) = (Node::new(A, 1), node(B, 1, good(&authority, B)));
    strangers_are(a, b, "encrypted", refused(HelloRefusal::Clear), refused(HelloRefusal::Encrypted));
}

#[test]
fn keys_of_another_site_are_not_taken() {
    let poll = Poll::new().expect("a poll");
    let keys = good(&authority(), B);
    let local = Hello::new(INSTANCE, A, 1);
    let streams = Streams::listen(poll.registry(), 0..TOKENS, local, anywhere(), Some(keys));
    assert!(matches!(streams, Err(StreamsError::Keys(B))));
}

#[test]
fn garbage_at_a_port_with_keys_closes_that_connection_and_no_other() {
    let (_, mut a, mut b) = encrypted_pair();
    let random: Vec<u8> = (0..1_000u32).map(|index| (index.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    let record = |content: u8, bytes: &[u8]| {
        let mut record = vec![content, 3, 1];
        record.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        record.extend_from_slice(bytes);
        record
    };
    let too_long: Vec<u8> = [22, 3, 1, 0xff, 0xff].into_iter().chain(random.iter().copied()).collect();
    let cases =
        [random.clone(), record(22, &random), record(21, &[2, 40]), record(22, &[1, 0xff, 0xff, 0xff, 3, 3]), too_long];
    for garbage in &cases {
        let mut raw = Raw::connect(a.address());
        raw.send(garbage);
        a.ahead += HANDSHAKE; // what could still become a handshake is closed when its time is over
        until([&mut a, &mut b], |_| raw.read(&mut Vec::new()));
    }
    // Half a record, and then the end.
    let broken = a.streams.strangers().broken;
    let mut raw = Raw::connect(a.address());
    raw.send(&record(22, &random)[..100]);
    drop(raw);
    until([&mut a], |[a]| a.streams.strangers().broken > broken);
    assert_eq!(a.streams.strangers().refused, 0, "garbage is no refused peer");
    a.streams.send(B, b"still here").expect("connected");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "still here"));
    assert_eq!((a.changes(B), b.changes(A)), (vec![Some(1)], vec![Some(1)]));
}

#[test]
fn many_half_open_handshakes_do_not_keep_a_peer_out() {
    let authority = authority();
    let mut a = node(A, 1, good(&authority, A));
    let mut silent = Vec::new();
    for _ in 0..HANDSHAKES_MAX + 20 {
        let mut raw = Raw::connect(a.address());
        raw.send(&[22, 3, 1, 2, 0]);
        silent.push(raw);
        a.turn();
    }
    until([&mut a], |[a]| a.streams.strangers().accepted == silent.len() as u64);
    assert_eq!(count(&a, "too many handshakes"), 20, "the oldest are closed");
    let mut b = node(B, 1, good(&authority, B));
    introduce(&mut a, &mut b);
    until([&mut a, &mut b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
}

#[test]
fn a_peer_with_keys_that_dies_comes_back_as_a_new_incarnation() {
    let (authority, mut a, b) = encrypted_pair();
    let address = b.address();
    drop(b);
    until([&mut a], |[a]| a.changes(B) == [Some(1), None]);
    let keys = Some(good(&authority, B));
    let mut b = Node::with_keys(Hello::new(INSTANCE, B, 2), address, keys);
    b.knows(A, a.address());
    until([&mut a, &mut b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
    assert_eq!(a.changes(B), [Some(1), None, Some(2)]);
    a.streams.send(B, b"welcome back").expect("connected");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "welcome back"));
}

#[test]
fn a_peer_that_takes_nothing_bounds_what_waits_for_it_encrypted() {
    let (_, mut a, mut b) = encrypted_pair();
    let size = 8 << 20;
    let mut sent = 0;
    // B does not turn: its socket fills up, and then A's buffer, again when the socket has taken its share.
    for _ in 0..2 {
        let full = loop {
            match a.streams.send_with(B, |buffer| buffer.resize(buffer.len() + size, 7)) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(full, SendError::QueueFull(B));
        assert!(a.status(B).bytes_queued <= QUEUED_BYTES_MAX);
        a.turn();
    }
    // A full socket is not written to before it reports room: at rest no turn writes.
    let mut writes = 0;
    until([&mut a], |[a]| std::mem::replace(&mut writes, a.status(B).counters.writes) == a.status(B).counters.writes);
    until([&mut a, &mut b], |[_, b]| b.payloads(A).count() == sent);
    assert!(b.payloads(A).all(|payload| payload.len() == size));
    a.streams.send(B, b"fits again").expect("room");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "fits again"));
}

#[test]
fn many_frames_of_a_turn_leave_in_few_records() {
    const COUNT: u32 = 10_000;
    let (_, mut a, mut b) = encrypted_pair();
    let before = a.status(B).counters.bytes_out;
    for number in 0..COUNT {
        a.streams.send(B, &number.to_le_bytes()).expect("connected");
    }
    until([&mut a, &mut b], |[_, b]| b.payloads(A).count() == COUNT as usize);
    assert!(b.payloads(A).map(|payload| &payload[..]).eq((0..COUNT).map(u32::to_le_bytes)));
    let counters = a.status(B).counters;
    assert!(counters.bytes_out - before < 13 * u64::from(COUNT), "each frame was encrypted by itself");
    assert!(counters.writes < 100, "{} writes for one turn's frames", counters.writes);
}

#[test]
fn frames_go_on_when_the_keys_of_a_long_connection_are_renewed() {
    let (_, mut a, mut b) = encrypted_pair();
    for count in 1..=20 {
        a.streams.refresh(B);
        a.streams.send(B, b"after new keys").expect("connected");
        until([&mut a, &mut b], |[_, b]| b.payloads(A).count() == count);
    }
    assert_eq!((a.changes(B), b.changes(A)), (vec![Some(1)], vec![Some(1)]));
}

#[test]
fn both_ends_of_a_connection_derive_the_same_secret_and_each_connection_another() {
    fn export(node: &Node, site: SiteId, direction: Direction, label: &[u8]) -> [u8; 32] {
        let mut output = [0; 32];
        node.streams.export_keying_material(site, direction, label, b"context", &mut output).expect("encrypted");
        output
    }
    let (authority, mut a, b) = encrypted_pair();
    let there = export(&a, B, Direction::Sending, b"EXPERIMENTAL one");
    let back = export(&a, B, Direction::Receiving, b"EXPERIMENTAL one");
    assert_eq!(export(&b, A, Direction::Receiving, b"EXPERIMENTAL one"), there);
    assert_eq!(export(&b, A, Direction::Sending, b"EXPERIMENTAL one"), back);
    let other = export(&a, B, Direction::Sending, b"EXPERIMENTAL two");
    drop(b);
    until([&mut a], |[a]| a.changes(B) == [Some(1), None]);
    let error = a.streams.export_keying_material(B, Direction::Sending, b"EXPERIMENTAL one", b"", &mut [0; 32]);
    assert_eq!(error, Err(ExportError::NotConnected(B)));
    let mut b = node(B, 2, good(&authority, B));
    introduce(&mut a, &mut b);
    until([&mut a, &mut b], |[a, b]| a.streams.is_connected(B) && b.streams.is_connected(A));
    let later = export(&a, B, Direction::Sending, b"EXPERIMENTAL one");
    let mut all = [there, back, other, later];
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "two secrets are one");
    let error = a.streams.export_keying_material(B, Direction::Sending, b"EXPERIMENTAL", b"", &mut vec![0; 1 << 20]);
    assert_eq!(error, Err(ExportError::TooLong(1 << 20)));
    let [(a, _b), _] = pairs();
    let error = a.streams.export_keying_material(B, Direction::Sending, b"EXPERIMENTAL one", b"", &mut [0; 32]);
    assert_eq!(error, Err(ExportError::NotConnected(B)), "a connection in clear has no secret");
}

#[test]
fn sites_of_one_host_prove_who_they_are_before_they_share_memory() {
    let authority = authority();
    let (a, b) = (node(A, 1, good(&authority, A)), node(B, 1, good(&authority, B)));
    let (mut a, mut b) = pair(ConnectionChannel::SharedMemory, a, b);
    assert!(!a.status(B).encrypted, "what goes through memory is not encrypted");
    a.streams.send(B, b"through memory").expect("connected");
    until([&mut a, &mut b], |[_, b]| b.payloads(A).any(|payload| payload == "through memory"));
    let mut stranger = Node::new(B, 2);
    stranger.streams.use_shared_memory().expect("a door");
    stranger.knows(A, a.address());
    until([&mut a, &mut stranger], |[a, _]| count(a, "in clear") > 0);
    assert_eq!(stranger.status(A).channel, None, "a stranger is offered no ring");
}
