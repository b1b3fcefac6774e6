//! Rules of segments and bulk transfer.

use super::net::{Fate, Kind, Net};
use super::transactions::{pair, send};
use message_transactions::kernel::{OutgoingMessage, ProcessError};
use message_transactions::limits::{CHUNK_BYTES, PAYLOAD_BYTES_MAX, RETRANSMIT_MIN, WINDOW_FIRST};
use message_transactions::outbox::{Completion, ReceivedMessage};
use message_transactions::{OwnedMemory, ProcessId};

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 3 + at / 200) as u8).collect()
}

/// A client that lends memory to a server, which has its message.
fn lent(segment: OwnedMemory) -> (Net, ProcessId, ProcessId, ReceivedMessage) {
    let (mut net, client, server) = pair();
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"use this".to_vec()).with_segment(segment));
    let delivery = net.receive(1, server);
    net.sent.clear();
    (net, client, server, delivery)
}

fn write(
    net: &mut Net,
    server: ProcessId,
    delivery: &ReceivedMessage,
    offset: u64,
    bytes: Vec<u8>,
) -> Result<(), ProcessError> {
    let now = net.now;
    net.kernels[1].move_to(now, server, &delivery.exchange, offset, OwnedMemory::Readable(bytes))
}

fn read(
    net: &mut Net,
    server: ProcessId,
    delivery: &ReceivedMessage,
    offset: u64,
    bytes: usize,
) -> Result<(), ProcessError> {
    let now = net.now;
    net.kernels[1].move_from(now, server, &delivery.exchange, offset, OwnedMemory::Writable(vec![0; bytes]))
}

/// The bytes of a transfer that has ended well.
fn moved(completion: Completion<OwnedMemory>) -> Vec<u8> {
    match completion {
        Completion::Moved { memory, outcome: Ok(()) } => memory.into_bytes(),
        other => panic!("{other:?}"),
    }
}

/// What the client has back.
fn segment(net: &mut Net, client: ProcessId) -> Vec<u8> {
    match net.outcome(client) {
        Completion::Replied { segment: Some(segment), .. } => segment.into_bytes(),
        other => panic!("{other:?}"),
    }
}

fn rule_03_rights_and_bounds_are_kept() {
    let (mut net, _, server, readable) = lent(OwnedMemory::Readable(vec![1; 100]));
    assert_eq!(write(&mut net, server, &readable, 0, vec![2]), Err(ProcessError::NoAccess));
    assert_eq!(read(&mut net, server, &readable, 1, 100), Err(ProcessError::OutOfBounds));
    assert_eq!(read(&mut net, server, &readable, u64::MAX, 2), Err(ProcessError::OutOfBounds));
    let now = net.now;
    let wrong = net.kernels[1].reply(now, server, &readable.exchange, b"", 0, &[1]);
    assert_eq!(wrong, Err(ProcessError::NoAccess), "data of a reply is a write");
    assert_eq!(read(&mut net, server, &readable, 0, 100), Ok(()));
    assert_eq!(moved(net.outcome(server)), [1; 100]);
    let (mut net, _, server, writable) = lent(OwnedMemory::Writable(vec![1; 100]));
    assert_eq!(read(&mut net, server, &writable, 0, 1), Err(ProcessError::NoAccess));
    assert_eq!(write(&mut net, server, &writable, 99, vec![2; 2]), Err(ProcessError::OutOfBounds));
    let now = net.now;
    let wrong = net.kernels[1].reply(now, server, &writable.exchange, b"", 99, &[1, 2]);
    assert_eq!(wrong, Err(ProcessError::OutOfBounds));
    assert_eq!(write(&mut net, server, &writable, 99, vec![2]), Ok(()));
}

fn rule_06_a_transfer_of_d_packets_costs_d_and_one() {
    let chunks = WINDOW_FIRST as usize;
    let bytes = chunks * CHUNK_BYTES;
    let (mut net, client, server, delivery) = lent(OwnedMemory::Both(pattern(bytes)));
    write(&mut net, server, &delivery, 0, pattern(bytes)).expect("it may write");
    moved(net.outcome(server));
    assert_eq!((net.count(Kind::Data), net.sent.len()), (chunks, chunks + 1), "{:?}", net.sent);
    net.sent.clear();
    read(&mut net, server, &delivery, 0, bytes).expect("it may read");
    moved(net.outcome(server));
    assert_eq!((net.count(Kind::Data), net.sent.len()), (chunks, chunks + 1), "{:?}", net.sent);
    net.reply(1, server, &delivery, b"");
    segment(&mut net, client);
}

fn rule_17_a_segment_that_did_not_travel_can_be_fetched() {
    let bytes = pattern(5_000);
    let (mut net, _, server, delivery) = lent(OwnedMemory::Readable(bytes.clone()));
    let travelled = delivery.data.len();
    assert_eq!(travelled, PAYLOAD_BYTES_MAX - b"use this".len());
    assert_eq!(delivery.data, bytes[..travelled]);
    read(&mut net, server, &delivery, travelled as u64, 5_000 - travelled).expect("it may read");
    assert_eq!(moved(net.outcome(server)), bytes[travelled..]);
}

fn rule_18_data_goes_to_its_place_in_any_order() {
    let bytes = 9 * CHUNK_BYTES + 17;
    let (mut net, client, server, delivery) = lent(OwnedMemory::Writable(vec![0; bytes + 10]));
    // Nothing arrives by itself: we deliver what was sent backwards.
    let kept = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let keep = kept.clone();
    net.fate = Box::new(move |packet| {
        let data = packet.kind == Kind::Data;
        if data {
            keep.borrow_mut().push(packet.bytes.clone());
        }
        if data { Fate::Lost } else { Fate::Arrives }
    });
    write(&mut net, server, &delivery, 10, pattern(bytes)).expect("it may write");
    net.settle();
    let packets: Vec<_> = kept.borrow().iter().rev().cloned().collect();
    assert_eq!(packets.len(), 10);
    for packet in packets {
        net.kernels[0].handle(net.now, 1, &packet).expect("it is a packet");
    }
    moved(net.outcome(server));
    net.reply(1, server, &delivery, b"");
    assert_eq!(segment(&mut net, client)[10..], pattern(bytes));
}

fn rule_19_only_what_is_missing_is_sent_again_and_at_once() {
    let chunks = WINDOW_FIRST as usize;
    let (mut net, client, server, delivery) = lent(OwnedMemory::Writable(vec![0; chunks * CHUNK_BYTES]));
    let mut seen = 0;
    net.fate = Box::new(move |packet| {
        seen += usize::from(packet.kind == Kind::Data);
        let lose = packet.kind == Kind::Data && [3, 4, 20].contains(&seen);
        if lose { Fate::Lost } else { Fate::Arrives }
    });
    let begun = net.now;
    write(&mut net, server, &delivery, 0, pattern(chunks * CHUNK_BYTES)).expect("it may write");
    moved(net.outcome(server));
    assert!(net.now < begun + RETRANSMIT_MIN, "no timer was waited for");
    assert_eq!(net.count(Kind::Data), chunks + 3);
    net.reply(1, server, &delivery, b"");
    assert_eq!(segment(&mut net, client), pattern(chunks * CHUNK_BYTES));
}

/// Not in the list: nothing comes after the last chunk that would show its loss, and a whole first timer would be a long time to wait for it.
fn a_lost_last_chunk_does_not_wait_for_long() {
    let (mut net, client, server, delivery) = lent(OwnedMemory::Both(pattern(3 * CHUNK_BYTES)));
    let lose_third = || {
        let mut seen = 0;
        move |packet: &super::net::Packet| {
            seen += usize::from(packet.kind == Kind::Data);
            if packet.kind == Kind::Data && seen == 3 { Fate::Lost } else { Fate::Arrives }
        }
    };
    net.fate = Box::new(lose_third());
    let begun = net.now;
    write(&mut net, server, &delivery, 0, pattern(3 * CHUNK_BYTES)).expect("it may write");
    moved(net.outcome(server));
    assert!(net.now <= begun + 2 * RETRANSMIT_MIN, "{} ns", net.now - begun);
    net.fate = Box::new(lose_third());
    let begun = net.now;
    read(&mut net, server, &delivery, 0, 3 * CHUNK_BYTES).expect("it may read");
    moved(net.outcome(server));
    assert!(net.now <= begun + 2 * RETRANSMIT_MIN, "{} ns", net.now - begun);
    net.reply(1, server, &delivery, b"");
    assert_eq!(segment(&mut net, client), pattern(3 * CHUNK_BYTES));
}

/// Not in the list: with a tenth of all packets lost, what is sent is what the network loses and little more.
fn losses_cost_what_is_lost() {
    let bytes = 3_000_000;
    let (mut net, client, server, delivery) = lent(OwnedMemory::Both(vec![0; bytes]));
    let mut random = seeded_random::SplitMix64::new(5);
    net.fate = Box::new(move |_| if random.percent(10) { Fate::Lost } else { Fate::Arrives });
    let needed = bytes.div_ceil(CHUNK_BYTES);
    write(&mut net, server, &delivery, 0, pattern(bytes)).expect("it may write");
    moved(net.outcome(server));
    let sent = net.count(Kind::Data);
    assert!(sent * 100 <= needed * 115, "{sent} packets of data for {needed}");
    net.sent.clear();
    read(&mut net, server, &delivery, 0, bytes).expect("it may read");
    assert_eq!(moved(net.outcome(server)), pattern(bytes));
    let sent = net.count(Kind::Data);
    assert!(sent * 100 <= needed * 115, "{sent} packets of data for {needed}");
    net.fate = Box::new(|_| Fate::Arrives);
    net.reply(1, server, &delivery, b"");
    assert_eq!(segment(&mut net, client), pattern(bytes));
}

over_each_way!(
    rule_03_rights_and_bounds_are_kept,
    rule_06_a_transfer_of_d_packets_costs_d_and_one,
    rule_17_a_segment_that_did_not_travel_can_be_fetched,
    rule_18_data_goes_to_its_place_in_any_order,
    rule_19_only_what_is_missing_is_sent_again_and_at_once,
    a_lost_last_chunk_does_not_wait_for_long,
    losses_cost_what_is_lost,
);
