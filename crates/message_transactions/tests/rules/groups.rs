//! Rules of messages to groups.

use super::net::{Fate, Kind, Net};
use super::transactions::send;
use message_transactions::kernel::OutgoingMessage;
use message_transactions::outbox::{Completion, Gathered, PacketRoute};
use message_transactions::{GatherUntil, Gathering, ProcessGroupId, ProcessId, WantedReplies};
use raidcomm::limits::SECOND;

const GROUP: ProcessGroupId = ProcessGroupId::well_known(9);

/// A client at kernel 0, and a member of the group at each kernel.
fn group(kernels: u64) -> (Net, ProcessId, Vec<ProcessId>) {
    let mut net = Net::new(kernels);
    let client = net.process(0);
    let members: Vec<ProcessId> = (0..kernels as usize).map(|kernel| net.process(kernel)).collect();
    for (kernel, &member) in members.iter().enumerate() {
        assert_eq!(net.kernels[kernel].join_group(0, member, GROUP, member), Ok(true));
    }
    net.settle();
    (net, client, members)
}

fn message(replies: WantedReplies) -> OutgoingMessage<message_transactions::OwnedMemory> {
    OutgoingMessage::exactly_once(b"all of you".to_vec()).with_replies(replies)
}

fn answer(net: &mut Net, members: &[ProcessId], which: usize) {
    let delivery = net.receive(which, members[which]);
    net.reply(which, members[which], &delivery, &[which as u8]);
}

fn rule_23_without_replies_nobody_blocks_and_nothing_comes_back() {
    let (mut net, client, members) = group(3);
    send(&mut net, client, GROUP, message(WantedReplies::None));
    send(&mut net, client, GROUP, message(WantedReplies::None));
    assert_eq!(net.sent, [(Kind::Send, PacketRoute::Group(GROUP)); 2]);
    for which in 0..3 {
        answer(&mut net, &members, which);
        answer(&mut net, &members, which);
    }
    net.pass(10 * SECOND);
    assert_eq!(net.sent.len(), 2, "replies make no traffic");
}

fn rule_24_retransmission_ends_with_the_first_reply_and_the_next_send_empties_the_queue() {
    let (mut net, client, members) = group(3);
    net.fate = Box::new(|packet| if packet.to == 2 { Fate::Lost } else { Fate::Arrives });
    send(&mut net, client, GROUP, message(WantedReplies::Many));
    answer(&mut net, &members, 1);
    assert!(matches!(net.outcome(client), Completion::Replied { from, .. } if from == members[1]));
    net.pass(3 * SECOND);
    assert_eq!(net.count(Kind::Send), 1, "the third was not asked again");
    answer(&mut net, &members, 0);
    send(&mut net, client, GROUP, message(WantedReplies::None));
    assert_eq!(net.kernels[0].get_reply(client), None, "that reply was to the message before");
}

fn rule_25_get_reply_never_blocks_and_none_is_not_final() {
    let (mut net, client, members) = group(3);
    send(&mut net, client, GROUP, message(WantedReplies::Many));
    answer(&mut net, &members, 2);
    assert!(matches!(net.outcome(client), Completion::Replied { .. }));
    assert_eq!(net.kernels[0].get_reply(client), None);
    answer(&mut net, &members, 1);
    let later = net.kernels[0].get_reply(client).expect("another has replied meanwhile");
    assert_eq!((later.from, later.message), (members[1], vec![1]));
}

fn rule_26_members_hear_from_when_they_have_joined_and_local_ones_too() {
    let mut net = Net::new(1);
    let (client, member) = (net.process(0), net.process(0));
    let now = net.now;
    net.kernels[0].join_group(now, member, GROUP, member).expect("room");
    let opened = net.kernels[0].outbox().next_membership();
    assert!(opened.is_some(), "the filter is open before anything else comes out");
    send(&mut net, client, GROUP, message(WantedReplies::One));
    let delivery = net.receive(0, member);
    assert_eq!(delivery.group, Some(GROUP));
    net.reply(0, member, &delivery, b"heard");
    assert!(matches!(net.outcome(client), Completion::Replied { .. }));
}

fn gathered(completion: Completion<message_transactions::OwnedMemory>) -> Gathered {
    match completion {
        Completion::Gathered(gathered) => gathered,
        other => panic!("{other:?}"),
    }
}

fn rule_27_all_replies_are_asked_for_point_to_point_only_of_the_silent() {
    let (mut net, client, members) = group(4);
    // The multicast reaches kernels 1 and 2; the members at 0 are inside, and 3 hears only what is for it alone.
    net.fate = Box::new(|packet| {
        let multicast = !matches!(packet.header.destination, message_transactions::MessageDestination::Process(_));
        if packet.to == 3 && multicast { Fate::Lost } else { Fate::Arrives }
    });
    let now = net.now;
    let wanted = Gathering { group: GROUP, expected: &members, until: GatherUntil::All, deadline: now + 5 * SECOND };
    net.kernels[0].gather(now, client, message(WantedReplies::Many), wanted).expect("sent");
    (0..3).for_each(|which| answer(&mut net, &members, which));
    net.pass(SECOND);
    let sends: Vec<_> = net.sent.iter().filter(|(kind, _)| *kind == Kind::Send).collect();
    assert_eq!(*sends[0], (Kind::Send, PacketRoute::Group(GROUP)));
    assert!(sends.len() > 1, "the silent one is asked again");
    assert_eq!(sends[1..].iter().filter(|(_, route)| matches!(route, PacketRoute::Group(_))).count(), 0);
    answer(&mut net, &members, 3);
    let gathered = gathered(net.outcome(client));
    assert!(gathered.satisfied);
    assert_eq!(gathered.replies.len(), 4);
}

/// Not in the list: a gathering names who is silent, who works, and who is dead.
fn a_gathering_names_who_did_not_reply() {
    let (mut net, client, members) = group(4);
    // Kernel 3 is unreachable; the member at 2 has ended; that at 1 works.
    net.fate = Box::new(|packet| if packet.to == 3 { Fate::Lost } else { Fate::Arrives });
    let now = net.now;
    let hello = OutgoingMessage::exactly_once(b"hello".to_vec());
    net.kernels[2].send(now, members[2], client, hello).expect("so that its place is known");
    net.settle();
    net.kernels[2].end(now, members[2]);
    let deadline = now + SECOND;
    let wanted = Gathering { group: GROUP, expected: &members, until: GatherUntil::All, deadline };
    net.kernels[0].gather(now, client, message(WantedReplies::Many), wanted).expect("sent");
    answer(&mut net, &members, 0);
    net.receive(1, members[1]);
    let gathered = gathered(net.outcome(client));
    assert!(!gathered.satisfied && net.now == deadline);
    assert_eq!(gathered.replies.iter().map(|reply| reply.from).collect::<Vec<_>>(), [members[0]]);
    assert_eq!((&gathered.running[..], &gathered.dead[..]), (&members[1..2], &members[2..3]));
    assert_eq!(gathered.silent, members[3..]);
}

fn a_gathering_ends_with_enough_replies() {
    for (until, enough) in [(GatherUntil::First, 1), (GatherUntil::AtLeast(2), 2)] {
        let (mut net, client, members) = group(3);
        let now = net.now;
        let wanted = Gathering { group: GROUP, expected: &[], until, deadline: now + SECOND };
        net.kernels[0].gather(now, client, message(WantedReplies::Many), wanted).expect("it is sent");
        for which in 0..enough {
            assert_eq!(net.ended(client), None);
            answer(&mut net, &members, which);
        }
        let gathered = gathered(net.outcome(client));
        assert!(gathered.satisfied && gathered.replies.len() == enough, "{gathered:?}");
    }
}

over_each_way!(
    rule_23_without_replies_nobody_blocks_and_nothing_comes_back,
    rule_24_retransmission_ends_with_the_first_reply_and_the_next_send_empties_the_queue,
    rule_25_get_reply_never_blocks_and_none_is_not_final,
    rule_26_members_hear_from_when_they_have_joined_and_local_ones_too,
    rule_27_all_replies_are_asked_for_point_to_point_only_of_the_silent,
    a_gathering_names_who_did_not_reply,
    a_gathering_ends_with_enough_replies,
);
