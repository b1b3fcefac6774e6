//! Rules of exchanges between two processes, of identifiers and of locations.

use super::net::{Fate, Kind, Net};
use message_transactions::kernel::{OutgoingMessage, ProcessError};
use message_transactions::limits::{CLAIM_WAIT, GIVE_UP, GONE_WAIT, MESSAGE_BYTES_MAX, RETENTION, RETRANSMIT_FIRST};
use message_transactions::outbox::{Completion, PacketRoute, SendFailure};
use message_transactions::{Kernel, MessageDestination, OwnedMemory, ProcessGroupId, ProcessId};
use raidcomm::limits::{MILLISECOND, SECOND};

/// A client at kernel 0 and a server at kernel 1, which know where the other is.
pub fn pair() -> (Net, ProcessId, ProcessId) {
    let mut net = Net::new(2);
    let (client, server) = (net.process(0), net.process(1));
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"first".to_vec()));
    let delivery = net.receive(1, server);
    net.reply(1, server, &delivery, b"");
    net.outcome(client);
    net.sent.clear();
    (net, client, server)
}

pub fn send(net: &mut Net, by: ProcessId, to: impl Into<MessageDestination>, message: OutgoingMessage<OwnedMemory>) {
    let now = net.now;
    net.kernels[0].send(now, by, to, message).expect("it may send");
    net.settle();
}

fn replied(completion: &Completion<OwnedMemory>) -> &[u8] {
    match completion {
        Completion::Replied { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

fn rule_01_send_returns_only_after_reply_or_error() {
    let (mut net, client, server) = pair();
    let long = OutgoingMessage::exactly_once(vec![0; MESSAGE_BYTES_MAX + 1]);
    assert_eq!(net.kernels[0].send(0, client, server, long), Err(ProcessError::TooLong));
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let delivery = net.receive(1, server);
    net.pass(10 * SECOND);
    assert_eq!(net.ended(client), None, "nobody has replied");
    let now = net.now;
    let second = OutgoingMessage::exactly_once(b"b".to_vec());
    assert_eq!(net.kernels[0].send(now, client, server, second), Err(ProcessError::Busy));
    net.reply(1, server, &delivery, b"done");
    assert_eq!(replied(&net.outcome(client)), b"done");
}

fn rule_02_only_who_received_may_reply_forward_or_move() {
    let (mut net, client, server) = pair();
    let other = net.process(1);
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let exchange = net.receive(1, server).exchange;
    let refused = Err(ProcessError::NotAwaitingReply);
    let now = net.now;
    let kernel = &mut net.kernels[1];
    assert_eq!(kernel.reply(now, other, &exchange, b"", 0, &[]), refused);
    assert_eq!(kernel.forward(now, other, &exchange, server), refused);
    assert_eq!(kernel.move_to(now, other, &exchange, 0, OwnedMemory::Readable(vec![1])), refused);
    assert_eq!(kernel.move_from(now, other, &exchange, 0, OwnedMemory::Writable(vec![1])), refused);
    assert_eq!(kernel.reply(now, server, &exchange, b"", 0, &[]), Ok(()));
    assert_eq!(kernel.reply(now, server, &exchange, b"", 0, &[]), refused, "the sender has its reply");
}

fn rule_04_messages_to_one_receiver_come_in_order() {
    let (mut net, _, server) = pair();
    for number in 0..20_u8 {
        let client = net.process(0);
        send(&mut net, client, server, OutgoingMessage::exactly_once(vec![number]));
    }
    let order: Vec<u8> = (0..20).map(|_| net.receive(1, server).message[0]).collect();
    assert!(order.is_sorted(), "{order:?}");
}

fn rule_05_forward_does_not_block_and_the_last_replies() {
    let (mut net, client, server) = pair();
    let last = net.process(1);
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let delivery = net.receive(1, server);
    let now = net.now;
    net.kernels[1].forward(now, server, &delivery.exchange, last).expect("the sender waits");
    assert!(matches!(net.kernels[1].receive(now, server), Ok(None)), "the forwarder goes on at once");
    let forwarded = net.receive(1, last);
    assert_eq!((forwarded.forwarder, &forwarded.message[..]), (Some(server), &b"a"[..]));
    net.reply(1, last, &forwarded, b"from the last");
    assert_eq!(
        net.outcome(client),
        Completion::Replied { from: last, message: b"from the last".to_vec(), segment: None }
    );
}

fn rule_06_an_exchange_without_errors_costs_two_packets() {
    let (mut net, client, server) = pair();
    for _ in 0..10 {
        send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
        let delivery = net.receive(1, server);
        net.reply(1, server, &delivery, b"b");
        net.outcome(client);
    }
    assert_eq!(net.sent.len(), 20, "{:?}", net.sent);
}

fn rule_07_a_reply_to_another_request_is_dropped() {
    let (mut net, client, server) = pair();
    let kept = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let keep = kept.clone();
    net.fate = Box::new(move |packet| {
        if packet.kind == Kind::Reply {
            keep.borrow_mut().push(packet.bytes.clone());
        }
        Fate::Arrives
    });
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let delivery = net.receive(1, server);
    net.reply(1, server, &delivery, b"old");
    net.outcome(client);
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"b".to_vec()));
    let delivery = net.receive(1, server);
    let old = kept.borrow()[0].clone();
    net.kernels[0].handle(net.now, 1, &old).expect("it is a packet");
    assert_eq!(net.ended(client), None, "that was the reply to something else");
    net.reply(1, server, &delivery, b"new");
    assert_eq!(replied(&net.outcome(client)), b"new");
}

fn rule_08_a_duplicate_in_progress_is_answered_pending() {
    let (mut net, client, server) = pair();
    net.fate = Box::new(|packet| if packet.kind == Kind::Send { Fate::Twice } else { Fate::Arrives });
    send(&mut net, client, server, OutgoingMessage::at_least_once(b"a".to_vec()));
    net.receive(1, server);
    assert_eq!(net.count(Kind::Pending), 1);
    let now = net.now;
    assert!(matches!(net.kernels[1].receive(now, server), Ok(None)), "it came twice and is delivered once");
}

fn rule_09_pending_restarts_the_timers() {
    let (mut net, client, server) = pair();
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"slow".to_vec()));
    let delivery = net.receive(1, server);
    net.pass(100 * GIVE_UP);
    assert_eq!(net.ended(client), None);
    net.reply(1, server, &delivery, b"at last");
    assert_eq!(replied(&net.outcome(client)), b"at last");
}

fn rule_10_a_lost_reply_is_sent_again_without_executing_again() {
    let (mut net, client, server) = pair();
    let mut lost = 3;
    net.fate = Box::new(move |packet| {
        let lose = packet.kind == Kind::Reply && lost > 0;
        lost -= usize::from(lose);
        if lose { Fate::Lost } else { Fate::Arrives }
    });
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"count".to_vec()));
    let delivery = net.receive(1, server);
    net.reply(1, server, &delivery, b"1");
    assert_eq!(replied(&net.outcome(client)), b"1");
    let now = net.now;
    assert!(matches!(net.kernels[1].receive(now, server), Ok(None)), "it runs once");
}

fn rule_11_requests_that_may_run_twice_keep_no_state() {
    let mut net = Net::new(2);
    let (client, server) = (net.process(0), net.process(1));
    send(&mut net, client, server, OutgoingMessage::at_least_once(b"read".to_vec()));
    let delivery = net.receive(1, server);
    assert_eq!(net.kernels[1].alien_count(), 1);
    net.reply(1, server, &delivery, b"page");
    assert_eq!(net.kernels[1].alien_count(), 0);
}

fn rule_12_a_kept_reply_goes_with_the_next_request() {
    let (mut net, client, server) = pair();
    assert_eq!(net.kernels[1].alien_count(), 1, "the reply is kept");
    let other = net.process(1);
    send(&mut net, client, other, OutgoingMessage::at_least_once(b"b".to_vec()));
    net.receive(1, other);
    net.fate = Box::new(|_| Fate::Lost);
    net.pass(2 * RETENTION);
    assert_eq!(net.kernels[1].alien_count(), 0, "what was left to tell copies by goes, too");
    let _ = server;
}

fn rule_13_no_buffer_is_answered_pending() {
    let (mut net, client, server) = pair();
    net.kernels[1].limit_aliens(1);
    let other = net.process(0);
    send(&mut net, other, server, OutgoingMessage::exactly_once(b"no room".to_vec()));
    assert_eq!(net.count(Kind::Pending), 1);
    net.pass(2 * GIVE_UP);
    assert_eq!(net.receive(1, server).message, b"no room", "room came when the reply was kept no longer");
    assert_eq!(net.ended(other), None);
    let _ = client;
}

fn rule_14_no_such_process_ends_an_exchange_at_once_but_never_a_broadcast() {
    let (mut net, client, server) = pair();
    let now = net.now;
    net.kernels[1].end(now, server);
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let failed = Completion::SendFailed { failure: SendFailure::NoSuchProcess, segment: None };
    assert_eq!((net.ended(client), net.now), (Some(failed), now), "no time has passed");
    // To a kernel that nobody knows: everybody is asked, and nobody says that it does not exist.
    net.sent.clear();
    let stranger = ProcessId::from_bits(0x1234_0000_0001).expect("a process");
    send(&mut net, client, stranger, OutgoingMessage::exactly_once(b"a".to_vec()));
    assert_eq!((net.count(Kind::Send), net.count(Kind::NoProcess)), (1, 0));
    let failed = Completion::SendFailed { failure: SendFailure::GaveUp, segment: None };
    assert_eq!(net.outcome(client), failed);
}

fn rule_15_aliens_of_silent_senders_vanish_from_all_queues() {
    let (mut net, client, server) = pair();
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    net.fate = Box::new(|_| Fate::Lost);
    net.pass(2 * RETENTION);
    let now = net.now;
    assert_eq!(net.kernels[1].alien_count(), 0);
    assert!(matches!(net.kernels[1].receive(now, server), Ok(None)));
}

/// That a spare alien exists means here: with the table full, what is known is still answered, and what is new is told to wait.
fn rule_16_a_full_table_still_answers() {
    let (mut net, client, server) = pair();
    net.kernels[1].limit_aliens(1);
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let delivery = net.receive(1, server);
    let other = net.process(0);
    send(&mut net, other, server, OutgoingMessage::exactly_once(b"b".to_vec()));
    net.reply(1, server, &delivery, b"served");
    assert_eq!(replied(&net.outcome(client)), b"served");
    assert_eq!(net.count(Kind::Pending), 1);
}

fn rule_20_host_identifiers_are_claimed_and_complained_about() {
    // Two kernels that draw the same numbers: the second comes when the first owns what it draws.
    let mut net = Net::new(1);
    let owned = net.kernels[0].host();
    let begun = net.now;
    net.kernels.push(Kernel::new(net.now, 100));
    let mut copy: Kernel<u32, OwnedMemory> = net.kernels.pop().expect("it was pushed");
    copy.tick(begun);
    let announcement = copy.outbox().packets().next().map(|(route, bytes)| (route, bytes.to_vec()));
    let (route, mut bytes) = announcement.expect("it asks everybody");
    assert_eq!(route, PacketRoute::Everybody);
    // Another life, or it would take the packet for its own.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    net.kernels[0].handle(begun, 1, &bytes).expect("it is a packet");
    let complaint = net.kernels[0].outbox().packets().next().map(|(_, bytes)| bytes.to_vec());
    let mut complaint = complaint.expect("the owner complains");
    let last = complaint.len() - 1;
    complaint[last] ^= 1;
    copy.handle(begun, 0, &complaint).expect("it is a packet");
    let mut now = begun;
    while copy.host().is_none() {
        now = copy.next_deadline().expect("it goes on");
        copy.tick(now);
    }
    assert_ne!(copy.host(), owned);
    assert!(now >= begun + CLAIM_WAIT, "an identifier is one's own after a silence");
}

fn rule_21_the_top_bit_tells_groups_from_processes() {
    let (mut net, client, _) = pair();
    let group = net.kernels[0].allocate_group(client).expect("room");
    assert!(group.to_bits() >> 63 == 1 && client.to_bits() >> 63 == 0);
    assert_eq!(MessageDestination::from_bits(group.to_bits()), MessageDestination::Group(group));
    assert_eq!(MessageDestination::from_bits(client.to_bits()), MessageDestination::Process(client));
    assert_eq!(ProcessGroupId::well_known(0).to_bits(), 1 << 63);
}

fn rule_22_a_stale_hint_costs_delay_and_no_wrong_answer() {
    let mut net = Net::new(3);
    let (client, server) = (net.process(0), net.process(1));
    let exchange = |net: &mut Net, at: usize| {
        send(net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
        let delivery = net.receive(at, server);
        net.reply(at, server, &delivery, b"here");
        let begun = net.now;
        assert_eq!(replied(&net.outcome(client)), b"here");
        net.now - begun
    };
    exchange(&mut net, 1);
    assert!(matches!(net.sent[0], (Kind::Send, PacketRoute::Everybody)), "nobody knew where it was");
    net.sent.clear();
    exchange(&mut net, 1);
    assert!(matches!(net.sent[0], (Kind::Send, PacketRoute::Place(1))), "its place was learned from its reply");
    // It moves, and the client does not hear of it.
    let host = net.kernels[2].host().expect("it has one");
    let relocated = net.kernels[1].release(server, host).expect("it may move");
    net.fate = Box::new(|packet| if packet.kind == Kind::Other { Fate::Lost } else { Fate::Arrives });
    let now = net.now;
    net.kernels[2].adopt(now, relocated).map_err(|_| ()).expect("there is room");
    net.settle();
    net.sent.clear();
    exchange(&mut net, 2);
    assert_eq!((net.count(Kind::Moved), net.count(Kind::NoProcess)), (1, 0));
}

fn rule_28_a_remote_kernel_is_asked_by_messages() {
    let (mut net, client, server) = pair();
    let group = ProcessGroupId::well_known(5);
    let now = net.now;
    assert_eq!(net.kernels[0].join_group(now, client, group, server), Ok(false), "another kernel must do it");
    assert_eq!(replied(&net.outcome(client)), [1]);
    assert!(net.sent.iter().all(|(kind, _)| matches!(kind, Kind::Send | Kind::Reply)), "{:?}", net.sent);
    // So is whether a process exists that somebody waits for.
    net.sent.clear();
    let now = net.now;
    assert!(matches!(net.kernels[0].receive_specific(now, client, server), Ok(None)));
    net.pass(SECOND / 2);
    assert_eq!(net.ended(client), None);
    let now = net.now;
    net.kernels[1].end(now, server);
    assert!(matches!(net.outcome(client), Completion::ReceiveFailed(_)));
    assert!(net.sent.iter().all(|(kind, _)| matches!(kind, Kind::Send | Kind::Reply)), "{:?}", net.sent);
}

/// Not in the list: the death of a kernel that is seen ends a wait soon, but not for a process that had gone elsewhere before.
fn a_receiver_whose_kernel_has_ended_is_looked_for_and_given_up_soon() {
    let mut net = Net::new(3);
    let (client, server, moving) = (net.process(0), net.process(1), net.process(1));
    for to in [server, moving] {
        send(&mut net, client, to, OutgoingMessage::exactly_once(b"where are you?".to_vec()));
        let delivery = net.receive(1, to);
        net.reply(1, to, &delivery, b"here");
        net.outcome(client);
    }
    let host = net.kernels[2].host().expect("it has one");
    let relocated = net.kernels[1].release(moving, host).expect("it may move");
    // Whoever is told of the move, the client is not; and then kernel 1 ends.
    net.fate = Box::new(|_| Fate::Lost);
    let now = net.now;
    net.kernels[2].adopt(now, relocated).map_err(|(error, _)| error).expect("there is room");
    net.settle();
    net.fate = Box::new(|packet| if packet.to == 1 { Fate::Lost } else { Fate::Arrives });
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let begun = net.now;
    net.kernels[0].place_gone(begun, 1);
    let failed = Completion::SendFailed { failure: SendFailure::GaveUp, segment: None };
    assert_eq!(net.outcome(client), failed);
    assert!(net.now <= begun + GONE_WAIT, "{} ns", net.now - begun);
    send(&mut net, client, moving, OutgoingMessage::exactly_once(b"b".to_vec()));
    let now = net.now;
    net.kernels[0].place_gone(now, 1);
    let delivery = net.receive(2, moving);
    net.reply(2, moving, &delivery, b"found");
    assert_eq!(replied(&net.outcome(client)), b"found");
}

/// Not in the list, but in the text: a lost forwarding must not let the message be delivered to the forwarder again.
fn a_lost_forward_is_sent_again() {
    let (mut net, client, server) = pair();
    let last = net.process(1);
    let mut lost = false;
    net.fate = Box::new(move |packet| {
        let lose = packet.kind == Kind::Forward && !std::mem::replace(&mut lost, true);
        if lose { Fate::Lost } else { Fate::Arrives }
    });
    send(&mut net, client, server, OutgoingMessage::exactly_once(b"a".to_vec()));
    let delivery = net.receive(1, server);
    let now = net.now;
    net.kernels[1].forward(now, server, &delivery.exchange, last).expect("the sender waits");
    net.pass(4 * RETRANSMIT_FIRST);
    assert_eq!(net.count(Kind::Forward), 2);
    let forwarded = net.receive(1, last);
    net.reply(1, last, &forwarded, b"done");
    assert_eq!(replied(&net.outcome(client)), b"done");
    assert!(net.now < now + 10 * SECOND && RETRANSMIT_FIRST >= MILLISECOND);
}

over_each_way!(
    rule_01_send_returns_only_after_reply_or_error,
    rule_02_only_who_received_may_reply_forward_or_move,
    rule_04_messages_to_one_receiver_come_in_order,
    rule_05_forward_does_not_block_and_the_last_replies,
    rule_06_an_exchange_without_errors_costs_two_packets,
    rule_07_a_reply_to_another_request_is_dropped,
    rule_08_a_duplicate_in_progress_is_answered_pending,
    rule_09_pending_restarts_the_timers,
    rule_10_a_lost_reply_is_sent_again_without_executing_again,
    rule_11_requests_that_may_run_twice_keep_no_state,
    rule_12_a_kept_reply_goes_with_the_next_request,
    rule_13_no_buffer_is_answered_pending,
    rule_14_no_such_process_ends_an_exchange_at_once_but_never_a_broadcast,
    rule_15_aliens_of_silent_senders_vanish_from_all_queues,
    rule_16_a_full_table_still_answers,
    rule_20_host_identifiers_are_claimed_and_complained_about,
    rule_21_the_top_bit_tells_groups_from_processes,
    rule_22_a_stale_hint_costs_delay_and_no_wrong_answer,
    rule_28_a_remote_kernel_is_asked_by_messages,
    a_lost_forward_is_sent_again,
    a_receiver_whose_kernel_has_ended_is_looked_for_and_given_up_soon,
);
