//! The kernel of a host: its processes, their exchanges, and what it remembers of others.
//!
//! A pure machine. Packets, calls of its processes and the time go in; packets and completed operations come out of the
//! [`KernelOutbox`]. Between two processes of one kernel the same packets go round inside, so that an exchange means the same
//! wherever its processes are.
//!
//! Invariants:
//! * a process has at most one operation under way, and each operation completes once;
//! * an alien exists while its message waits or is executed, and afterwards only as long as a copy of it could arrive;
//! * what is remembered of locations is only used to send packets, never to conclude anything.
//!
//! In reading order: `process` (what is known of one process), `sending`, `receiving` (aliens), `gathering`, `groups`,
//! `naming` (host identifiers, logical identifiers, the kernel server), `moving`, `owner` and `inflow` (bulk data), `relocation`.

mod gather;
mod gathering;
mod groups;
mod inflow;
mod moving;
mod naming;
mod owner;
mod process;
mod receiving;
mod relocation;
mod sending;

pub use gather::{GatherUntil, Gathering};
pub use naming::NameScope;
pub use process::ProcessError;
pub use receiving::ReplyError;
pub use relocation::{DecodeError, Relocated, RelocationError};
pub use sending::OutgoingMessage;

use super::codec::{PacketError, decode};
use super::hints::Hints;
use super::identifier::{LogicalHostId, MessageDestination, ProcessGroupId, ProcessId};
use super::limits::{ALIENS_MAX, PROCESSES_MAX};
use super::memory::LentMemory;
use super::outbox::{Completion, KernelOutbox, PacketRoute};
use super::packet::{PacketBody, PacketHeader, RequestIdentity};
use super::planted::PlantedInKernel;
use naming::Claim;
use process::{Activity, KernelProcess};
use receiving::Alien;
use relocation::MovedProcess;
use seeded_random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What must be looked at when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Claim,
    Sweep,
    Process(ProcessId),
}

/// See the module's description. `A` is where kernels are, `M` what memory processes lend.
#[derive(Debug)]
pub struct Kernel<A, M> {
    /// The time of the last call.
    now: u64,
    random: SplitMix64,
    /// A random number that tells this life of the kernel from others.
    life: u64,
    host: LogicalHostId,
    claim: Option<Claim>,
    next_number: u32,
    processes: BTreeMap<ProcessId, KernelProcess<M>>,
    /// By sender and receiver.
    aliens: BTreeMap<(ProcessId, ProcessId), Alien<A>>,
    hints: Hints<A>,
    groups: BTreeMap<ProcessGroupId, BTreeSet<ProcessId>>,
    names: BTreeMap<u32, (ProcessId, NameScope)>,
    /// Processes that were here, and the kernel that has them now.
    moved: BTreeMap<ProcessId, MovedProcess>,
    /// Adopted processes that ended here.
    ended: VecDeque<ProcessId>,
    timers: BTreeSet<(u64, Timer)>,
    sweep: bool,
    outbox: KernelOutbox<A, M>,
    planted: Option<PlantedInKernel>,
    aliens_max: usize,
}

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// A kernel that begins to claim a host identifier. The seed must differ between kernels and between lives of one.
    pub fn new(now: u64, seed: u64) -> Kernel<A, M> {
        let mut random = SplitMix64::new(seed);
        let mut kernel = Kernel {
            now,
            life: random.draw(),
            host: LogicalHostId(0),
            claim: None,
            next_number: 1,
            processes: BTreeMap::new(),
            aliens: BTreeMap::new(),
            hints: Hints::new(),
            groups: BTreeMap::new(),
            names: BTreeMap::new(),
            moved: BTreeMap::new(),
            ended: VecDeque::new(),
            timers: BTreeSet::new(),
            sweep: false,
            outbox: KernelOutbox::new(),
            planted: None,
            aliens_max: ALIENS_MAX,
            random,
        };
        kernel.propose(now);
        kernel
    }

    /// Plants a bug, for the simulator.
    pub fn plant(&mut self, bug: Option<PlantedInKernel>) {
        self.planted = bug;
    }

    /// Lets the kernel remember fewer senders than [`ALIENS_MAX`]; never more.
    pub fn limit_aliens(&mut self, aliens_max: usize) {
        self.aliens_max = aliens_max.min(ALIENS_MAX);
    }

    fn has(&self, bug: PlantedInKernel) -> bool {
        self.planted == Some(bug)
    }

    /// Its host identifier, once nobody has complained about it.
    pub fn host(&self) -> Option<LogicalHostId> {
        self.claim.is_none().then_some(self.host)
    }

    /// What came out and was not taken yet.
    pub fn outbox(&mut self) -> &mut KernelOutbox<A, M> {
        &mut self.outbox
    }

    /// When [`Kernel::tick`] must be called next, if nothing arrives before.
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.first().map(|&(due, _)| due)
    }

    /// Processes that exist, the kernel's own included.
    pub fn process_count(&self) -> usize {
        self.processes.len()
    }

    /// Senders that are remembered: their messages wait, are executed, or may come again.
    pub fn alien_count(&self) -> usize {
        self.aliens.len()
    }

    /// Whether this process is here.
    pub fn has_process(&self, process: ProcessId) -> bool {
        self.processes.contains_key(&process)
    }

    /// Whether all that a process waits for is what another process of this kernel does.
    pub fn waits_within(&self, process: ProcessId) -> bool {
        match self.processes.get(&process).map(|process| &process.activity) {
            Some(Activity::Sending(sending)) => match sending.to {
                MessageDestination::Process(to) => self.processes.contains_key(&to),
                MessageDestination::Group(_) => false,
            },
            _ => false,
        }
    }

    /// Makes a process.
    ///
    /// # Errors
    /// The kernel has no host identifier yet, or too many processes.
    pub fn create(&mut self) -> Result<ProcessId, ProcessError> {
        if self.claim.is_some() {
            return Err(ProcessError::Unclaimed);
        }
        if self.processes.len() >= PROCESSES_MAX || self.next_number == u32::MAX {
            return Err(ProcessError::TooMany);
        }
        let process = ProcessId::new(self.host, self.next_number);
        self.next_number += 1;
        self.processes.insert(process, KernelProcess::new());
        Ok(process)
    }

    /// Ends a process. Whoever waits for its reply is told that there is no such process; what it has replied to is kept for
    /// as long as it would have been. The memory that it lent comes back.
    pub fn end(&mut self, now: u64, id: ProcessId) -> Option<M> {
        let process = self.processes.remove(&id)?;
        process.armed.map(|due| self.timers.remove(&(due, Timer::Process(id))));
        if id.host() != self.host {
            self.remember_end(id);
        }
        self.refuse_waiting(id);
        self.leave_all(id);
        self.settle(now);
        process.activity.into_memory()
    }

    /// Takes what arrived from a place: one packet, or several behind each other.
    ///
    /// # Errors
    /// The bytes are no packet. What stood before the bad one has been taken.
    pub fn handle(&mut self, now: u64, from: A, buffer: &[u8]) -> Result<(), PacketError> {
        self.now = now;
        let mut rest = buffer;
        let mut outcome = Ok(());
        while !rest.is_empty() {
            match decode(rest) {
                Ok((header, body, bytes)) => {
                    rest = &rest[bytes..];
                    self.take(now, Some(from), &header, &body);
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.settle(now);
        outcome
    }

    /// Does what is due.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        while let Some(&(due, timer)) = self.timers.first()
            && due <= now
        {
            self.timers.pop_first();
            match timer {
                Timer::Claim => self.claim_due(now),
                Timer::Sweep => self.sweep(now),
                Timer::Process(process) => self.process_due(now, process),
            }
        }
        self.settle(now);
    }

    /// Lets packets that go round inside arrive.
    fn settle(&mut self, now: u64) {
        self.now = now;
        while let Some(bytes) = self.outbox.local.pop_front() {
            match decode(&bytes) {
                Ok((header, body, _)) => self.take(now, None, &header, &body),
                Err(error) => panic!("a packet of this kernel cannot be read: {error}"),
            }
        }
    }

    /// Takes one packet, from a place or from inside.
    fn take(&mut self, now: u64, from: Option<A>, header: &PacketHeader, body: &PacketBody<'_>) {
        match body {
            PacketBody::HostRequest { proposed, life } => return self.requested(from, *proposed, *life),
            PacketBody::HostComplaint { proposed, life } => return self.complained(now, *proposed, *life),
            _ => {}
        }
        if self.claim.is_some() || (from.is_some() && header.kernel == self.host) {
            // Nobody can mean a kernel without an identifier; a multicast comes back to its sender.
            return;
        }
        if let Some(place) = from {
            // A kernel that says where a process is not speaks for itself alone.
            let itself = matches!(body, PacketBody::NoProcess { .. } | PacketBody::Moved { .. });
            let source = if itself { header.kernel.kernel_server() } else { header.source };
            self.hints.learn(header.kernel, source, place);
        }
        match *body {
            PacketBody::Send(ref request) => return self.arrived(now, from, header, request),
            PacketBody::GetPid { logical } => return self.asked(from, header, logical),
            PacketBody::HostRequest { .. } | PacketBody::HostComplaint { .. } | PacketBody::Here => return,
            _ => {}
        }
        let MessageDestination::Process(to) = header.destination else { return };
        match *body {
            PacketBody::Reply { offset, message, data } => self.replied(now, to, header, offset, message, data),
            PacketBody::Forward { to: receiver } => self.forwarded(now, to, header, receiver),
            PacketBody::NoProcess { certain } => self.no_process(now, to, header, certain),
            PacketBody::Moved { to: kernel } => self.told_moved(now, to, header, kernel),
            PacketBody::Pending { .. } => self.pending(now, to, header),
            PacketBody::GetPidReply { logical, process } => self.found(to, logical, process),
            PacketBody::Data { to_owner: true, ask, ref transfer, index, data } => {
                self.owner_data(now, from, to, header, transfer, index, data, ask);
            }
            PacketBody::Data { to_owner: false, ref transfer, index, data, .. } => {
                self.mover_data(now, to, header, transfer, index, data);
            }
            PacketBody::Pull { to_owner: true, ref transfer, ref wanted } => {
                self.owner_pull(now, from, to, header, transfer, wanted);
            }
            PacketBody::Pull { to_owner: false, ref transfer, ref wanted } => {
                self.mover_pull(now, to, header, transfer.number, wanted);
            }
            PacketBody::Done { number } => self.mover_done(to, header, number, Ok(())),
            PacketBody::Refused { number, .. } => self.mover_done(to, header, number, Err(())),
            _ => {}
        }
    }

    /// Where packets to a process go: `None` for inside.
    fn route(&self, to: ProcessId) -> Option<PacketRoute<A>> {
        if self.processes.contains_key(&to) {
            return None;
        }
        if to.host() == self.host && !self.moved.contains_key(&to) {
            return None;
        }
        Some(self.hints.place(to).map_or(PacketRoute::Everybody, PacketRoute::Place))
    }

    fn header(
        &self,
        identity: RequestIdentity,
        source: ProcessId,
        destination: impl Into<MessageDestination>,
    ) -> PacketHeader {
        PacketHeader { kernel: self.host, identity, source, destination: destination.into() }
    }

    /// Sends a packet inside (`None`) or out.
    fn post(&mut self, route: Option<PacketRoute<A>>, header: &PacketHeader, body: &PacketBody<'_>) {
        match route {
            None => self.outbox.send_local(header, body),
            Some(route) => self.outbox.send(route, header, body),
        }
    }

    /// Answers a packet, to where it came from.
    fn answer(&mut self, from: Option<A>, to: &PacketHeader, source: ProcessId, body: &PacketBody<'_>) {
        let header = self.header(to.identity, source, to.source);
        let route = from.map(PacketRoute::Place);
        self.post(route, &header, body);
    }

    /// Makes sure that the process is looked at when something of it is due. A timer that comes too early is harmless, so
    /// that an exchange which ends in time costs none.
    fn arm(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let Some(due) = process.activity.due() else { return };
        if process.armed.is_some_and(|armed| armed <= due) {
            return;
        }
        if let Some(armed) = process.armed.replace(due) {
            self.timers.remove(&(armed, Timer::Process(id)));
        }
        self.timers.insert((due, Timer::Process(id)));
    }

    fn process_due(&mut self, now: u64, id: ProcessId) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        process.armed = None;
        if process.activity.due().is_some_and(|due| due <= now) {
            match process.activity {
                Activity::Sending(_) => self.sending_due(now, id),
                Activity::Moving(_) => self.moving_due(now, id),
                Activity::Querying(_) => self.query_due(now, id),
                Activity::Probing { .. } => self.probe_due(now, id),
                Activity::Ready | Activity::Receiving { .. } => {}
            }
        }
        self.arm(id);
    }

    /// Ends the operation of a process.
    fn complete(&mut self, id: ProcessId, completion: Completion<M>) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        process.activity = Activity::Ready;
        match process.probes {
            Some(receiver) => self.probed(id, receiver, completion),
            None => self.outbox.complete(id, completion),
        }
    }

    /// The process, if it has nothing under way.
    fn ready(&mut self, id: ProcessId) -> Result<&mut KernelProcess<M>, ProcessError> {
        let process = self.processes.get_mut(&id).ok_or(ProcessError::NoSuchProcess)?;
        if matches!(process.activity, Activity::Ready) { Ok(process) } else { Err(ProcessError::Busy) }
    }
}
