//! A kernel in the middle of exchanges, given packets that are nearly right: whatever they do to an exchange, they do not end the kernel.
#![no_main]

use libfuzzer_sys::fuzz_target;
use message_transactions::codec::{HEADER_BYTES, decode};
use message_transactions::kernel::{Kernel, OutgoingMessage, NameScope};
use message_transactions::limits::VERSION;
use message_transactions::outbox::{ReceivedMessage, GroupMembership};
use message_transactions::{ProcessGroupId, LogicalHostId, OwnedMemory, ProcessId, WantedReplies};
use raidcomm_fuzz::Script;

const SEGMENT_BYTES: usize = 5_000;
const KINDS: u8 = 16;

struct World {
    kernel: Kernel<u32, OwnedMemory>,
    now: u64,
    processes: [ProcessId; 2],
    group: ProcessGroupId,
    delivery: Option<ReceivedMessage>,
    sent: Vec<Vec<u8>>,
}

impl World {
    fn new() -> World {
        let mut kernel: Kernel<u32, OwnedMemory> = Kernel::new(0, 42);
        while kernel.host().is_none() {
            let due = kernel.next_deadline().expect("it claims a host identifier");
            kernel.tick(due);
        }
        let processes = [kernel.create().expect("room"), kernel.create().expect("room")];
        let group = ProcessGroupId::well_known(3);
        kernel.join_group(0, processes[1], group, processes[1]).expect("room");
        World { kernel, now: 1_000_000_000, processes, group, delivery: None, sent: Vec::new() }
    }

    /// Keeps what came out, the last few packets, to be damaged.
    fn drain(&mut self) {
        let outbox = self.kernel.outbox();
        for (_, bytes) in outbox.packets() {
            decode(bytes).expect("a kernel sends packets");
            self.sent.push(bytes.to_vec());
        }
        outbox.clear_packets();
        while outbox.next_completion().is_some() {}
        while let Some(GroupMembership::Join(_) | GroupMembership::Leave(_)) = outbox.next_membership() {}
        let surplus = self.sent.len().saturating_sub(8);
        self.sent.drain(..surplus);
    }

    /// A packet of a made-up kernel: the head is as it should be, but for whom it names.
    fn made_up(&self, script: &mut Script) -> Vec<u8> {
        let own = self.processes[0].host();
        let foreign = LogicalHostId::from_random(7).kernel_server().to_bits();
        let [client, server] = self.processes.map(ProcessId::to_bits);
        let nobody = own.kernel_server().to_bits();
        let names = [client, server, foreign | 1, foreign | 2, nobody, foreign, client + 9, self.group.to_bits()];
        let kernel = script.one_of(&[foreign, foreign, foreign, nobody, 0]) >> 32;
        let mut packet = vec![VERSION, script.byte() % KINDS];
        packet.extend_from_slice(&u16::from(script.byte()).to_le_bytes());
        packet.extend_from_slice(&[0; 4]);
        packet.extend_from_slice(&(kernel as u32).to_le_bytes());
        packet.extend_from_slice(&u32::from(script.byte() % 3).to_le_bytes());
        packet.extend_from_slice(&u64::from(script.byte()).to_le_bytes());
        packet.extend_from_slice(&script.one_of(&names).to_le_bytes());
        packet.extend_from_slice(&script.one_of(&names).to_le_bytes());
        assert_eq!(packet.len(), HEADER_BYTES, "the head is whole");
        for _ in 0..script.byte() % 8 {
            match script.byte() % 6 {
                0 => packet.extend_from_slice(&u64::from(script.byte()).to_le_bytes()),
                1 => packet.extend_from_slice(&u32::from(script.byte()).to_le_bytes()),
                2 => packet.extend_from_slice(&script.one_of(&names).to_le_bytes()),
                3 => packet.extend_from_slice(&script.count().to_le_bytes()),
                4 => {
                    let length = usize::from(script.byte());
                    packet.extend_from_slice(script.bytes(length));
                }
                _ => packet.extend_from_slice(&vec![9; usize::from(script.short()) % 1500]),
            }
        }
        let length = packet.len() as u32;
        packet[4..8].copy_from_slice(&length.to_le_bytes());
        packet
    }

    /// One of its own packets comes back, or another kernel's that was like it, changed in a few places.
    fn damaged(&self, script: &mut Script) -> Vec<u8> {
        let Some(which) = usize::from(script.byte()).checked_rem(self.sent.len()) else { return Vec::new() };
        let mut packet = self.sent[which].clone();
        for _ in 0..script.byte() % 6 {
            let at = usize::from(script.byte()) % packet.len();
            packet[at] = script.byte();
        }
        packet
    }

    fn step(&mut self, script: &mut Script) {
        let (now, [client, server]) = (self.now, self.processes);
        let segment = OwnedMemory::Both(vec![1; SEGMENT_BYTES]);
        match script.byte() % 16 {
            0..4 => {
                let packet = self.made_up(script);
                let _ = self.kernel.handle(now, 5, &packet);
            }
            4..6 => {
                let packet = self.damaged(script);
                let _ = self.kernel.handle(now, 5, &packet);
            }
            6 => {
                self.now += u64::from(script.short()) * 100_000;
                self.kernel.tick(self.now);
            }
            7 => {
                let message = OutgoingMessage::exactly_once(vec![2; 8]).with_segment(segment);
                let to = script.one_of(&[server, LogicalHostId::from_random(7).kernel_server()]);
                let _ = self.kernel.send(now, client, to, message);
            }
            8 => {
                let replies = script.one_of(&[WantedReplies::None, WantedReplies::One, WantedReplies::Many]);
                let message = OutgoingMessage::at_least_once(vec![3; 8]).with_replies(replies);
                let _ = self.kernel.send(now, client, self.group, message);
            }
            9 => self.delivery = self.kernel.receive(now, server).ok().flatten(),
            10 => self.kernel.stop_receiving(server),
            11 => drop(self.kernel.cancel(script.one_of(&[client, server]))),
            12 => drop(self.kernel.get_pid(now, client, 5, NameScope::Any)),
            _ => self.answer(script),
        }
        self.drain();
    }

    fn answer(&mut self, script: &mut Script) {
        let (now, [client, server]) = (self.now, self.processes);
        let Some(delivery) = self.delivery.take() else { return };
        let (exchange, offset) = (&delivery.exchange, u64::from(script.byte()));
        let memory = vec![4; usize::from(script.short()) % SEGMENT_BYTES];
        match script.byte() % 4 {
            0 => drop(self.kernel.reply(now, server, exchange, b"reply", 0, &[])),
            1 => drop(self.kernel.move_to(now, server, exchange, offset, OwnedMemory::Readable(memory))),
            2 => drop(self.kernel.move_from(now, server, exchange, offset, OwnedMemory::Writable(memory))),
            _ => drop(self.kernel.forward(now, server, exchange, client)),
        }
        self.delivery = Some(delivery);
    }
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let mut world = World::new();
    while script.goes_on() {
        world.step(&mut script);
    }
    for process in world.processes {
        assert!(world.kernel.has_process(process), "it has been there all the time");
    }
});
