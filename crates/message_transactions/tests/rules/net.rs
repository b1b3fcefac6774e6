//! Kernels on a network that does what a test says, and writes down every packet.
//!
//! What arrives goes from kernel to kernel by a way of the real world, if the test is run by one. Invariant: it arrives before anything else
//! happens, so that a test is the same by every way.

use crate::meeting;
use crate::ways::Way;
use message_transactions::codec::decode;
use message_transactions::host::transport::{Arrival, PacketTransport};
use message_transactions::host::ways::{KernelPlace, Ways};
use message_transactions::limits::READ_BYTES;
use message_transactions::outbox::{Completion, GroupMembership, PacketRoute, ReceivedMessage};
use message_transactions::packet::{PacketBody, PacketHeader};
use message_transactions::{Kernel, OwnedMemory, ProcessGroupId, ProcessId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

thread_local! {
    static WAY: Cell<Option<Way>> = const { Cell::new(None) };
}

/// Keys of all kernels.
static KEYS: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    Way::Tls.make_keys(folder.path()).expect("keys");
    folder
});

/// Runs a test whose kernels reach each other by this way.
pub fn by(way: Option<Way>, test: fn()) {
    WAY.set(way);
    test();
}

/// Ends of the way by which the test is run, which reach each other, and where each is for the others.
fn ends(count: u64) -> (Vec<Ways>, Vec<KernelPlace>) {
    let Some(way) = WAY.get() else { return (Vec::new(), Vec::new()) };
    let numbers = 1..=count as u16;
    let ends: Vec<Ways> = numbers.clone().map(|number| way.bind(number, KEYS.path()).expect("an end")).collect();
    let addresses: Vec<_> = ends.iter().map(|end| way.address(end).expect("an address")).collect();
    for (number, own) in numbers.clone().zip(&ends) {
        for (other, &address) in numbers.clone().zip(&addresses).filter(|(other, _)| *other != number) {
            way.introduce(own, other, address).expect("room for a peer");
        }
    }
    meeting::wait(way, &ends).expect("they find each other");
    (ends, numbers.zip(addresses).map(|(number, address)| way.place(number, address)).collect())
}

/// The names of packets, as a test counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Send,
    Reply,
    Forward,
    NoProcess,
    Moved,
    Pending,
    Data,
    Pull,
    Done,
    Refused,
    Complaint,
    Other,
}

fn kind(body: &PacketBody<'_>) -> Kind {
    match body {
        PacketBody::Send(_) => Kind::Send,
        PacketBody::Reply { .. } => Kind::Reply,
        PacketBody::Forward { .. } => Kind::Forward,
        PacketBody::NoProcess { .. } => Kind::NoProcess,
        PacketBody::Moved { .. } => Kind::Moved,
        PacketBody::Pending { .. } => Kind::Pending,
        PacketBody::Data { .. } => Kind::Data,
        PacketBody::Pull { .. } => Kind::Pull,
        PacketBody::Done { .. } => Kind::Done,
        PacketBody::Refused { .. } => Kind::Refused,
        PacketBody::HostComplaint { .. } => Kind::Complaint,
        _ => Kind::Other,
    }
}

/// A packet on the network.
#[derive(Clone, Debug)]
pub struct Packet {
    pub to: usize,
    pub header: PacketHeader,
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

/// What the network does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Twice,
    Lost,
}

/// See the module's description. `fate` decides about every packet.
pub struct Net {
    pub now: u64,
    pub kernels: Vec<Kernel<u32, OwnedMemory>>,
    /// One of each kernel; none if packets stay in memory.
    ends: Vec<Ways>,
    places: Vec<KernelPlace>,
    listens: Vec<BTreeSet<ProcessGroupId>>,
    pub sent: Vec<(Kind, PacketRoute<u32>)>,
    completions: BTreeMap<ProcessId, VecDeque<Completion<OwnedMemory>>>,
    pub fate: Box<dyn FnMut(&Packet) -> Fate>,
}

impl Net {
    /// So many kernels, which have their identifiers.
    pub fn new(kernels: u64) -> Net {
        let (ends, places) = ends(kernels);
        let mut net = Net {
            now: 0,
            ends,
            places,
            kernels: (0..kernels).map(|number| Kernel::new(0, 100 + number)).collect(),
            listens: vec![BTreeSet::new(); kernels as usize],
            sent: Vec::new(),
            completions: BTreeMap::new(),
            fate: Box::new(|_| Fate::Arrives),
        };
        while net.kernels.iter().any(|kernel| kernel.host().is_none()) {
            net.step();
        }
        net.sent.clear();
        net
    }

    pub fn process(&mut self, kernel: usize) -> ProcessId {
        self.kernels[kernel].create().expect("it has an identifier")
    }

    /// Everything that is on its way arrives, and what that causes.
    pub fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for from in 0..self.kernels.len() {
                quiet &= !self.take(from);
            }
            if quiet {
                return;
            }
        }
    }

    /// Takes what came out of a kernel; false if that was nothing.
    fn take(&mut self, from: usize) -> bool {
        let outbox = self.kernels[from].outbox();
        let some = !outbox.is_empty();
        let mut joined = Vec::new();
        while let Some(membership) = outbox.next_membership() {
            joined.push(membership);
        }
        let packets: Vec<_> = outbox.packets().map(|(route, bytes)| (route, bytes.to_vec())).collect();
        outbox.clear_packets();
        while let Some(completed) = self.kernels[from].outbox().next_completion() {
            self.completions.entry(completed.process).or_default().push_back(completed.completion);
        }
        for membership in joined {
            match membership {
                GroupMembership::Join(group) => self.listens[from].insert(group),
                GroupMembership::Leave(group) => self.listens[from].remove(&group),
            };
        }
        for (route, bytes) in packets {
            self.send(from, route, bytes);
        }
        some
    }

    fn send(&mut self, from: usize, route: PacketRoute<u32>, bytes: Vec<u8>) {
        let (header, body, _) = decode(&bytes).expect("kernels send packets");
        let kind = kind(&body);
        self.sent.push((kind, route));
        let everybody = 0..self.kernels.len();
        let receivers: Vec<usize> = match route {
            PacketRoute::Place(place) => vec![place as usize],
            PacketRoute::Everybody => everybody.collect(),
            PacketRoute::Group(group) => everybody.filter(|&to| self.listens[to].contains(&group)).collect(),
        };
        for to in receivers {
            let packet = Packet { to, header, kind, bytes: bytes.clone() };
            let copies = match (self.fate)(&packet) {
                Fate::Arrives => 1,
                Fate::Twice => 2,
                Fate::Lost => 0,
            };
            for _ in 0..copies {
                let bytes = self.carry(from, to, bytes.clone());
                self.kernels[to].handle(self.now, from as u32, &bytes).expect("it is a packet");
            }
        }
    }

    /// Brings a packet from one kernel to another, and gives what has come there.
    fn carry(&self, from: usize, to: usize, bytes: Vec<u8>) -> Vec<u8> {
        if self.ends.is_empty() || from == to {
            return bytes;
        }
        let way = WAY.get().expect("there are ends of it");
        assert!(way.is_up(&self.ends[from], self.places[to]), "{way:?} is given up");
        self.ends[from].send(self.places[to], &bytes, bytes.len());
        self.ends[from].flush();
        let mut buffer = vec![0; READ_BYTES];
        for _ in 0..2_000 {
            let arrival = self.ends[to].receive(&mut buffer, Duration::from_millis(10)).expect("it can be received");
            if let Some(Arrival::Packets(count, place)) = arrival
                && count > 0
            {
                assert_eq!(place, self.places[from], "it is known where it came from");
                return buffer[..count].to_vec();
            }
        }
        panic!("a packet of kernel {from} does not arrive at kernel {to}");
    }

    /// Time goes on to the next thing that is due.
    pub fn step(&mut self) {
        self.settle();
        let due = self.kernels.iter().filter_map(Kernel::next_deadline).min().unwrap_or(self.now);
        self.now = self.now.max(due);
        let now = self.now;
        self.kernels.iter_mut().for_each(|kernel| kernel.tick(now));
        self.settle();
    }

    /// Time goes on by so much.
    pub fn pass(&mut self, time: u64) {
        let end = self.now + time;
        self.settle();
        while self.kernels.iter().filter_map(Kernel::next_deadline).min().is_some_and(|due| due <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Time goes on until an operation of the process has ended.
    pub fn outcome(&mut self, process: ProcessId) -> Completion<OwnedMemory> {
        for _ in 0..100_000 {
            self.settle();
            if let Some(completion) = self.ended(process) {
                return completion;
            }
            self.step();
        }
        panic!("nothing of {process} ends");
    }

    /// What has ended, if something has.
    pub fn ended(&mut self, process: ProcessId) -> Option<Completion<OwnedMemory>> {
        self.completions.get_mut(&process)?.pop_front()
    }

    /// The next message of a process, which must have come.
    pub fn receive(&mut self, kernel: usize, process: ProcessId) -> ReceivedMessage {
        self.settle();
        let now = self.now;
        self.kernels[kernel].receive(now, process).expect("it may receive").expect("a message has come")
    }

    pub fn reply(&mut self, kernel: usize, process: ProcessId, delivery: &ReceivedMessage, message: &[u8]) {
        let now = self.now;
        self.kernels[kernel].reply(now, process, &delivery.exchange, message, 0, &[]).expect("the sender waits");
        self.settle();
    }

    pub fn count(&self, kind: Kind) -> usize {
        self.sent.iter().filter(|(sent, _)| *sent == kind).count()
    }
}
