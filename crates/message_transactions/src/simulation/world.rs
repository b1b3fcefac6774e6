//! Nodes, the network between them, and time.

use super::ledger::{ExchangeLedger, LedgerFinding};
use super::profile::KernelRunProfile;
use super::programs::{ProgramRole, SimulatedProgram};
use crate::codec::decode;
use crate::identifier::{MessageDestination, ProcessGroupId, ProcessId};
use crate::kernel::{Kernel, Relocated, RelocationError};
use crate::limits::{GIVE_UP, PACKET_LIFE, RETENTION};
use crate::memory::OwnedMemory;
use crate::outbox::{Completion, PacketRoute};
use crate::packet::PacketBody;
use crate::planted::PlantedInKernel;
use raidcomm::limits::{MILLISECOND, SECOND};
use seeded_random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The group of all servers.
pub const SERVERS: ProcessGroupId = ProcessGroupId::well_known(7);
/// What the story of a run keeps.
const STORY_LINES_MAX: usize = 400;
/// Events of a run: far more than any run has that gets anywhere.
const EVENTS_MAX: u64 = 3_000_000;

/// What happens at a time.
enum KernelWorldEvent {
    Packet {
        from: u32,
        to: u32,
        bytes: Vec<u8>,
    },
    Act(usize),
    Crash(usize),
    Cut {
        one: u32,
        other: u32,
        cut: bool,
    },
    Move,
    Adopt {
        program: usize,
        node: usize,
        bytes: Vec<u8>,
    },
    /// The same bytes again.
    AdoptAgain {
        node: usize,
        bytes: Vec<u8>,
    },
}

/// A kernel at a place.
pub struct SimulatedKernel {
    pub kernel: Kernel<u32, OwnedMemory>,
    memberships: BTreeSet<ProcessGroupId>,
}

/// See the module's description.
pub struct KernelWorld {
    pub now: u64,
    pub random: SplitMix64,
    pub profile: KernelRunProfile,
    planted: Option<PlantedInKernel>,
    pub nodes: Vec<SimulatedKernel>,
    pub programs: Vec<SimulatedProgram>,
    pub by_process: BTreeMap<ProcessId, usize>,
    pub ledger: ExchangeLedger,
    events: BTreeMap<(u64, u64), KernelWorldEvent>,
    scheduled: u64,
    cut: BTreeSet<(u32, u32)>,
    packets: u64,
    story: VecDeque<String>,
    /// When something last was wrong with the network, or with the place of a process.
    pub trouble: u64,
}

impl KernelWorld {
    pub fn new(seed: u64, profile: KernelRunProfile, planted: Option<PlantedInKernel>) -> KernelWorld {
        let mut world = KernelWorld {
            now: 0,
            random: SplitMix64::new(seed),
            profile,
            planted,
            nodes: Vec::new(),
            programs: Vec::new(),
            by_process: BTreeMap::new(),
            ledger: ExchangeLedger::default(),
            events: BTreeMap::new(),
            scheduled: 0,
            cut: BTreeSet::new(),
            packets: 0,
            story: VecDeque::new(),
            trouble: profile.calm,
        };
        for _ in 0..profile.nodes {
            let node = world.fresh_node();
            world.nodes.push(node);
        }
        for number in 0..profile.servers + profile.clients {
            let node = world.random.below(profile.nodes as u64) as usize;
            let role = if number < profile.servers { ProgramRole::Server } else { ProgramRole::Client };
            world.programs.push(SimulatedProgram::new(role, node, profile.operations));
            let delay = world.random.below(20 * MILLISECOND);
            world.schedule(delay, KernelWorldEvent::Act(number));
        }
        world.schedule_faults();
        world
    }

    fn schedule_faults(&mut self) {
        let KernelRunProfile { calm, nodes, .. } = self.profile;
        for _ in 0..self.profile.crashes {
            let (at, node) = (self.random.below(calm), self.random.below(nodes as u64) as usize);
            self.schedule(at, KernelWorldEvent::Crash(node));
        }
        for _ in 0..self.profile.cuts {
            let (one, other) = (self.random.below(nodes as u64) as u32, self.random.below(nodes as u64) as u32);
            let (from, until) = (self.random.below(calm), self.random.below(calm));
            self.schedule(from.min(until), KernelWorldEvent::Cut { one, other, cut: true });
            self.schedule(from.max(until), KernelWorldEvent::Cut { one, other, cut: false });
        }
        for _ in 0..self.profile.moves {
            let at = self.random.below(calm.max(SECOND));
            self.schedule(at, KernelWorldEvent::Move);
        }
    }

    fn fresh_node(&mut self) -> SimulatedKernel {
        let mut kernel = Kernel::new(self.now, self.random.draw());
        kernel.plant(self.planted);
        kernel.limit_aliens(self.profile.aliens_max);
        SimulatedKernel { kernel, memberships: BTreeSet::new() }
    }

    fn schedule(&mut self, delay: u64, event: KernelWorldEvent) {
        self.scheduled += 1;
        self.events.insert((self.now + delay, self.scheduled), event);
    }

    /// Lets a program act after a while.
    pub fn act_later(&mut self, program: usize, delay: u64) {
        self.schedule(delay, KernelWorldEvent::Act(program));
    }

    /// Notes what happens, for whoever looks at a failure.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.story.len() >= STORY_LINES_MAX {
            self.story.pop_front();
        }
        let line = format!("{:>12.6} s  {}", self.now as f64 / SECOND as f64, line());
        self.story.push_back(line);
    }

    pub fn story(&self) -> String {
        self.story.iter().map(|line| format!("{line}\n")).collect()
    }

    pub fn counts(&self) -> (u64, u64, u64) {
        (self.ledger.count(), self.packets, self.ledger.given_up)
    }

    /// Whether a failure at this moment can be the network's fault, or that of a kernel that is gone.
    pub fn is_calm(&self) -> bool {
        self.now > self.trouble + GIVE_UP + 2 * PACKET_LIFE
    }

    /// Runs until every client has finished and everything is forgotten.
    pub fn run(&mut self) -> Result<(), LedgerFinding> {
        let slow = 20 * SECOND * u64::from(self.profile.operations) * (self.profile.clients as u64 + 1);
        let end = self.profile.calm + 120 * SECOND + slow;
        self.run_until(end, true)?;
        if let Some(stuck) = self.programs.iter().position(|program| !program.is_finished()) {
            let program = &self.programs[stuck];
            return Err(format!("program {stuck} did not finish, though faults have stopped long ago: {program:?}"));
        }
        for program in 0..self.programs.len() {
            self.end_program(program);
        }
        let end = self.now + 2 * RETENTION + PACKET_LIFE;
        self.run_until(end, false)?;
        for (number, node) in self.nodes.iter().enumerate() {
            let (aliens, processes) = (node.kernel.alien_count(), node.kernel.process_count());
            if (aliens, processes) != (0, 0) {
                return Err(format!("node {number} still has {aliens} aliens and {processes} processes at the end"));
            }
        }
        Ok(())
    }

    fn run_until(&mut self, end: u64, until_finished: bool) -> Result<(), LedgerFinding> {
        for _ in 0..EVENTS_MAX {
            if until_finished && self.programs.iter().all(SimulatedProgram::is_finished) {
                return Ok(());
            }
            let due = |node: &SimulatedKernel| node.kernel.next_deadline().unwrap_or(u64::MAX);
            let (node, deadline) = self.nodes.iter().map(due).enumerate().min_by_key(|&(_, due)| due).expect("nodes");
            let event = self.events.first_key_value().map_or(u64::MAX, |(&(at, _), _)| at);
            let next = event.min(deadline);
            if next > end {
                self.now = end;
                return Ok(());
            }
            self.now = self.now.max(next);
            if event <= deadline {
                let Some((_, event)) = self.events.pop_first() else { return Ok(()) };
                self.happen(event)?;
            } else {
                self.nodes[node].kernel.tick(self.now);
                self.drain(node)?;
            }
        }
        Err(format!("{EVENTS_MAX} events and no end"))
    }

    fn happen(&mut self, event: KernelWorldEvent) -> Result<(), LedgerFinding> {
        match event {
            KernelWorldEvent::Packet { from, to, bytes } => self.arrive(from, to, &bytes),
            KernelWorldEvent::Act(program) => self.act(program),
            KernelWorldEvent::Crash(node) => self.crash(node),
            KernelWorldEvent::Cut { one, other, cut } => {
                self.tell(|| format!("link {one}-{other} {}", if cut { "cut" } else { "mended" }));
                let link = (one.min(other), one.max(other));
                if cut {
                    self.cut.insert(link)
                } else {
                    self.cut.remove(&link)
                };
                Ok(())
            }
            KernelWorldEvent::Move => self.relocate(),
            KernelWorldEvent::Adopt { program, node, bytes } => self.adopt(program, node, bytes),
            KernelWorldEvent::AdoptAgain { node, bytes } => self.adopt_again(node, &bytes),
        }
    }

    fn arrive(&mut self, from: u32, to: u32, bytes: &[u8]) -> Result<(), LedgerFinding> {
        let node = &mut self.nodes[to as usize];
        if let Ok((header, PacketBody::Send(request), _)) = decode(bytes)
            && let Some(id) = super::programs::operation_of(request.message)
        {
            let receivers = match header.destination {
                MessageDestination::Process(receiver) => vec![receiver],
                MessageDestination::Group(_) => self.by_process.keys().copied().collect(),
            };
            for receiver in receivers {
                // A kernel's own multicast has gone round inside long before it comes back.
                let from_outside = node.kernel.host().is_some_and(|host| host != header.kernel);
                if from_outside && node.kernel.has_process(receiver) {
                    self.ledger.arrive(id, receiver);
                }
            }
        }
        let outcome = self.nodes[to as usize].kernel.handle(self.now, from, bytes);
        outcome.map_err(|error| format!("a packet of node {from} cannot be read at node {to}: {error}"))?;
        self.drain(to as usize)
    }

    fn crash(&mut self, node: usize) -> Result<(), LedgerFinding> {
        self.tell(|| format!("node {node} crashes"));
        self.nodes[node] = self.fresh_node();
        for number in 0..self.programs.len() {
            if self.programs[number].at == Some(node) {
                self.lose(number);
                self.act_later(number, 150 * MILLISECOND);
            }
        }
        self.drain(node)
    }

    /// Some process moves to some other node.
    fn relocate(&mut self) -> Result<(), LedgerFinding> {
        let program = self.random.below(self.programs.len() as u64) as usize;
        let to = self.random.below(self.nodes.len() as u64) as usize;
        let (Some(process), Some(at)) = (self.programs[program].process, self.programs[program].at) else {
            return Ok(());
        };
        let Some(host) = self.nodes[to].kernel.host().filter(|_| to != at) else { return Ok(()) };
        if let Ok(relocated) = self.nodes[at].kernel.release(process, host) {
            self.tell(|| format!("program {program} moves from node {at} to node {to}"));
            self.programs[program].at = None;
            let bytes = relocated.encode(self.now);
            let bytes = bytes.map_err(|error| format!("program {program} has no form as bytes: {error}"))?;
            if self.random.percent(30) {
                let (node, delay) = (self.random.below(self.nodes.len() as u64) as usize, self.random.below(SECOND));
                self.schedule(delay, KernelWorldEvent::AdoptAgain { node, bytes: bytes.clone() });
            }
            let delay = self.random.below(100 * MILLISECOND);
            self.schedule(delay, KernelWorldEvent::Adopt { program, node: to, bytes });
        }
        self.drain(at)
    }

    fn adopt(&mut self, program: usize, node: usize, bytes: Vec<u8>) -> Result<(), LedgerFinding> {
        self.trouble = self.trouble.max(self.now);
        let relocated = self.relocated(&bytes)?;
        match self.nodes[node].kernel.adopt(self.now, relocated).map_err(|(error, _)| error) {
            Ok(()) => {
                self.programs[program].at = Some(node);
                self.tell(|| format!("program {program} is at node {node}"));
                if self.programs[program].is_ended() {
                    self.end_program(program);
                }
            }
            Err(RelocationError::Elsewhere(_)) => {
                // The kernel that it left for has crashed, and it is lost with that.
                self.tell(|| format!("program {program} is lost on its way to node {node}"));
                self.programs[program].at = Some(node);
                self.lose(program);
                self.act_later(program, 150 * MILLISECOND);
            }
            Err(RelocationError::Again) => {
                return Err(format!("program {program} came to node {node} once, and not at all"));
            }
            Err(_) => self.schedule(10 * MILLISECOND, KernelWorldEvent::Adopt { program, node, bytes }),
        }
        self.drain(node)
    }

    /// A process that has come, or is on its way, must not come once more.
    fn adopt_again(&mut self, node: usize, bytes: &[u8]) -> Result<(), LedgerFinding> {
        let relocated = self.relocated(bytes)?;
        let process = relocated.id();
        let at = self.by_process.get(&process).and_then(|&program| self.programs[program].at);
        if at.is_none() && !self.nodes[node].kernel.has_process(process) {
            // It is still on its way here, or to another node: then these bytes would be the first.
            return Ok(());
        }
        match self.nodes[node].kernel.adopt(self.now, relocated) {
            Ok(()) => Err(format!("{process} was taken in at node {node} a second time")),
            Err(_) => self.drain(node),
        }
    }

    fn relocated(&self, bytes: &[u8]) -> Result<Relocated<u32, OwnedMemory>, LedgerFinding> {
        Relocated::decode(self.now, bytes).map_err(|error| format!("a process that moves cannot be read: {error}"))
    }

    /// Takes what came out of a node's kernel.
    pub fn drain(&mut self, node: usize) -> Result<(), LedgerFinding> {
        loop {
            while let Some(membership) = self.nodes[node].kernel.outbox().next_membership() {
                use crate::outbox::GroupMembership;
                match membership {
                    GroupMembership::Join(group) => self.nodes[node].memberships.insert(group),
                    GroupMembership::Leave(group) => self.nodes[node].memberships.remove(&group),
                };
            }
            let packets: Vec<_> =
                self.nodes[node].kernel.outbox().packets().map(|(route, bytes)| (route, bytes.to_vec())).collect();
            self.nodes[node].kernel.outbox().clear_packets();
            for (route, bytes) in packets {
                self.send(node as u32, route, &bytes);
            }
            let Some(completed) = self.nodes[node].kernel.outbox().next_completion() else { return Ok(()) };
            if let Some(&program) = self.by_process.get(&completed.process)
                && !matches!(completed.completion, Completion::Claimed)
            {
                self.completed(program, completed.completion)?;
            }
        }
    }

    fn send(&mut self, from: u32, route: PacketRoute<u32>, bytes: &[u8]) {
        let others = 0..self.nodes.len() as u32;
        let to: Vec<u32> = match route {
            PacketRoute::Place(place) => vec![place],
            PacketRoute::Everybody => others.collect(),
            PacketRoute::Group(group) => {
                others.filter(|&node| self.nodes[node as usize].memberships.contains(&group)).collect()
            }
        };
        for to in to {
            self.transmit(from, to, bytes);
        }
    }

    /// Puts a packet on a link: never, once or twice.
    fn transmit(&mut self, from: u32, to: u32, bytes: &[u8]) {
        self.packets += 1;
        let faulty = self.now < self.profile.calm;
        if self.cut.contains(&(from.min(to), from.max(to))) {
            return;
        }
        let copies = 1 + u64::from(faulty && self.random.percent(self.profile.duplicate_percent));
        for _ in 0..copies {
            if faulty && self.random.percent(self.profile.loss_percent) {
                continue;
            }
            let mut delay = MILLISECOND / 20 + self.random.below(self.profile.delay_max);
            if faulty && self.random.percent(self.profile.straggler_percent) {
                delay = self.random.below(PACKET_LIFE - 100 * MILLISECOND);
            }
            self.schedule(delay, KernelWorldEvent::Packet { from, to, bytes: bytes.to_vec() });
        }
    }
}
