//! Kernels that are given damaged copies of real packets, in the middle of real exchanges.

use super::net::{Fate, Net};
use message_transactions::kernel::OutgoingMessage;
use message_transactions::{OwnedMemory, ProcessGroupId, WantedReplies};
use seeded_random::SplitMix64;
use std::cell::RefCell;
use std::rc::Rc;

const ROUNDS: u64 = 400;
const COPIES: u64 = 60;

/// A packet that was damaged on its way, or made by somebody hostile, may end an exchange; it must not end a kernel.
fn damaged_packets_never_panic_a_kernel() {
    let mut random = SplitMix64::new(11);
    let mut net = Net::new(2);
    let seen: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
    let keep = seen.clone();
    net.fate = Box::new(move |packet| {
        keep.borrow_mut().push(packet.bytes.clone());
        Fate::Arrives
    });
    let group = ProcessGroupId::well_known(3);
    let server = net.process(1);
    net.kernels[1].join_group(0, server, group, server).expect("room");
    net.settle();
    for round in 0..ROUNDS {
        let client = net.process(0);
        let now = net.now;
        let message = OutgoingMessage::exactly_once(vec![round as u8; 20]);
        let sent = match round % 4 {
            0 => net.kernels[0].send(now, client, group, message.with_replies(WantedReplies::Many)),
            1 => net.kernels[0].get_pid(now, client, 5, message_transactions::kernel::NameScope::Any),
            _ => net.kernels[0].send(now, client, server, message.with_segment(OwnedMemory::Both(vec![1; 100_000]))),
        };
        sent.expect("the client is new");
        net.settle();
        // Whatever earlier damage has done to the server, it is asked to do all that it can.
        if let Ok(Some(delivery)) = net.kernels[1].receive(now, server) {
            let exchange = &delivery.exchange;
            if net.kernels[1].move_to(now, server, exchange, 0, OwnedMemory::Readable(vec![2; 90_000])).is_ok() {
                damage(&mut net, &seen, &mut random);
                net.pass(1_000_000);
                net.kernels[1].cancel(server);
            }
            if net.kernels[1].move_from(now, server, exchange, 5, OwnedMemory::Writable(vec![2; 90_000])).is_ok() {
                damage(&mut net, &seen, &mut random);
                net.pass(1_000_000);
                net.kernels[1].cancel(server);
            }
            let _ = net.kernels[1].reply(net.now, server, exchange, b"reply", 0, &[]);
        } else {
            net.kernels[1].stop_receiving(server);
        }
        damage(&mut net, &seen, &mut random);
        net.pass(random.below(300_000_000));
        let now = net.now;
        net.kernels[0].end(now, client);
        seen.borrow_mut().clear();
    }
    assert!(net.kernels[1].has_process(server), "it has been there all the time");
}

/// Gives both kernels copies of what was sent, each with some bytes changed, and sometimes cut.
fn damage(net: &mut Net, seen: &Rc<RefCell<Vec<Vec<u8>>>>, random: &mut SplitMix64) {
    net.settle();
    let packets = seen.borrow().clone();
    for _ in 0..COPIES.min(packets.len() as u64 * 4) {
        let mut packet = packets[random.below(packets.len() as u64) as usize].clone();
        for _ in 0..=random.below(3) {
            // Mostly in the header, where every field means something.
            let reach = if random.percent(80) { packet.len().min(72) } else { packet.len() };
            let at = random.below(reach as u64) as usize;
            packet[at] = if random.percent(50) { packet[at] ^ (1 << random.below(8)) } else { random.draw() as u8 };
        }
        if random.percent(10) {
            packet.truncate(random.below(packet.len() as u64 + 1) as usize);
        }
        for kernel in &mut net.kernels {
            // An error is what it should be, unless the damage makes another packet of it.
            let _ = kernel.handle(net.now, 0, &packet);
        }
    }
}

over_each_way!(damaged_packets_never_panic_a_kernel,);
