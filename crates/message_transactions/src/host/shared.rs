//! The kernel with its lock, and who reads the socket.
//!
//! Invariants: at most one thread leads, that is, reads the socket; it holds no lock while it sleeps there. If a process waits for what
//! the network may bring, and nobody leads, some waiting thread or the keeper is about to. Who waits for another process of this host
//! does not lead: that process will wake it, at the cost of handing over between two threads. Packets leave in the order in which the kernel made them.

use super::lent::Lent;
use super::transport::{Arrival, PacketTransport};
use crate::identifier::ProcessId;
use crate::kernel::Kernel;
use crate::limits::{KEEPER_INTERVAL, READ_BYTES, WAIT_LONG, WAIT_SHORT};
use crate::outbox::{Completion, PacketRoute, ReceivedMessage};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Checks after which the keeper takes a leader for one that stays.
const STEADY_CHECKS: u32 = 4;

/// Who is told that an operation has ended.
#[derive(Debug)]
enum OperationWaiter {
    Thread(Thread),
    Task(Waker),
}

impl OperationWaiter {
    fn wake(self) {
        match self {
            OperationWaiter::Thread(thread) => thread.unpark(),
            OperationWaiter::Task(waker) => waker.wake(),
        }
    }
}

#[derive(Debug, Default)]
struct OperationSlot {
    outcome: Option<Completion<Lent>>,
    waiter: Option<OperationWaiter>,
}

#[derive(Debug)]
pub(super) struct HostState<T: PacketTransport> {
    kernel: Kernel<T::Place, Lent>,
    slots: BTreeMap<ProcessId, OperationSlot>,
    /// Processes whose threads sleep while somebody else leads.
    followers: BTreeSet<ProcessId>,
    leading: bool,
    /// For which process the leader reads; `None` for the keeper.
    leads_for: Option<ProcessId>,
    /// Counts those who have led.
    leaders: u64,
    /// Until when the leader may sleep.
    leader_wakes: u64,
    /// The keeper sleeps until it is called.
    keeper_sleeps: bool,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct HostShared<T: PacketTransport> {
    transport: T,
    state: Mutex<HostState<T>>,
    buffer: Mutex<Vec<u8>>,
    started: Instant,
    keeper: OnceLock<Thread>,
    host_dropped: AtomicBool,
}

impl<T: PacketTransport> HostState<T> {
    /// A thread that still waits, and should lead, if nobody else does.
    fn successor(&self) -> Option<ProcessId> {
        let waits = |id: &ProcessId| self.slots.get(id).is_some_and(|slot| slot.outcome.is_none());
        self.followers.iter().find(|id| waits(id) && !self.kernel.waits_within(**id)).copied()
    }
}

type Guard<'a, T> = MutexGuard<'a, HostState<T>>;

impl<T: PacketTransport> HostShared<T> {
    pub(super) fn start(transport: T, seed: u64) -> io::Result<Arc<HostShared<T>>> {
        let receiver = transport.multicast_receiver()?;
        let shared = Arc::new(HostShared {
            state: Mutex::new(HostState {
                kernel: Kernel::new(0, seed),
                slots: BTreeMap::new(),
                followers: BTreeSet::new(),
                leading: false,
                leads_for: None,
                leaders: 0,
                leader_wakes: 0,
                keeper_sleeps: false,
            }),
            buffer: Mutex::new(vec![0; READ_BYTES]),
            started: Instant::now(),
            keeper: OnceLock::new(),
            host_dropped: AtomicBool::new(false),
            transport,
        });
        let weak = Arc::downgrade(&shared);
        let keeper = std::thread::Builder::new().name("keeper".to_owned()).spawn(move || keep(&weak))?;
        let _ = shared.keeper.set(keeper.thread().clone());
        if let Some(mut receive) = receiver {
            let weak = Arc::downgrade(&shared);
            std::thread::Builder::new().name("multicast".to_owned()).spawn(move || {
                let mut buffer = vec![0; READ_BYTES];
                loop {
                    let received = receive(&mut buffer, Duration::from_nanos(WAIT_LONG));
                    let Some(shared) = weak.upgrade().filter(|shared| !shared.is_over()) else { return };
                    if let Ok(Some((bytes, from))) = received {
                        shared.with(|kernel, now| kernel.handle(now, from, &buffer[..bytes]).is_ok());
                    }
                }
            })?;
        }
        Ok(shared)
    }

    pub(super) fn transport(&self) -> &T {
        &self.transport
    }

    /// Nobody can make processes any more.
    pub(super) fn host_dropped(&self) {
        self.host_dropped.store(true, Ordering::Release);
        self.keeper.get().map(Thread::unpark);
    }

    fn is_over(&self) -> bool {
        self.host_dropped.load(Ordering::Acquire) && self.lock().slots.is_empty()
    }

    fn lock(&self) -> Guard<'_, T> {
        // A kernel that panicked is broken, and its processes with it; but borrowed memory must be taken back from it all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Does something with the kernel, and sends what comes out.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut Kernel<T::Place, Lent>, u64) -> R) -> R {
        let mut state = self.lock();
        let result = work(&mut state.kernel, self.now());
        let woken = self.drain(&mut state);
        self.release_leader(&state);
        self.call_successor(&state);
        drop(state);
        woken.into_iter().for_each(OperationWaiter::wake);
        result
    }

    pub(super) fn open(&self, process: ProcessId) {
        self.lock().slots.insert(process, OperationSlot::default());
    }

    pub(super) fn close(&self, process: ProcessId) {
        self.with(|kernel, now| kernel.end(now, process));
        self.lock().slots.remove(&process);
    }

    /// Sends what came out of the kernel, and hands out what has ended.
    fn drain(&self, state: &mut HostState<T>) -> Vec<OperationWaiter> {
        let HostState { kernel, slots, .. } = state;
        let outbox = kernel.outbox();
        while let Some(membership) = outbox.next_membership() {
            self.transport.membership(membership);
        }
        for train in outbox.trains() {
            match train.route {
                PacketRoute::Place(place) => self.transport.send(place, train.bytes, train.packet_bytes),
                PacketRoute::Group(group) => {
                    train
                        .bytes
                        .chunks(train.packet_bytes)
                        .for_each(|packet| self.transport.multicast(Some(group), packet));
                }
                PacketRoute::Everybody => {
                    train.bytes.chunks(train.packet_bytes).for_each(|packet| self.transport.multicast(None, packet));
                }
            }
        }
        if outbox.packets().len() > 0 {
            self.transport.flush();
        }
        outbox.clear_packets();
        let mut woken = Vec::new();
        while let Some(completed) = outbox.next_completion() {
            if let Some(slot) = slots.get_mut(&completed.process) {
                slot.outcome = Some(completed.completion);
                woken.extend(slot.waiter.take());
            }
        }
        woken
    }

    /// Blocks until the operation of a process has ended.
    pub(super) fn wait(&self, process: ProcessId) -> Completion<Lent> {
        let mut state = self.lock();
        loop {
            let Some(slot) = state.slots.get_mut(&process) else { panic!("{process} waits, but is closed") };
            if let Some(outcome) = slot.outcome.take() {
                if !state.leading && state.successor().is_some() {
                    self.hand_over(&mut state);
                }
                return outcome;
            }
            if !state.leading && !state.kernel.waits_within(process) {
                state = self.lead(state, Some(process));
                continue;
            }
            if let Some(slot) = state.slots.get_mut(&process) {
                slot.waiter = Some(OperationWaiter::Thread(std::thread::current()));
            }
            state.followers.insert(process);
            let now = self.now();
            let due = state.kernel.next_deadline().unwrap_or(u64::MAX);
            let ours = !state.leading || due < state.leader_wakes;
            drop(state);
            std::thread::park_timeout(Duration::from_nanos(if ours { due.saturating_sub(now) } else { WAIT_LONG }));
            state = self.lock();
            state.followers.remove(&process);
            if ours && self.now() >= due {
                let now = self.now();
                state.kernel.tick(now);
                let woken = self.drain(&mut state);
                self.release_leader(&state);
                woken.into_iter().for_each(OperationWaiter::wake);
            }
        }
    }

    /// Wakes the leader if what it waits for has come by another thread: a process of this host, or the multicast socket.
    fn release_leader(&self, state: &HostState<T>) {
        let led = state.leads_for.filter(|_| state.leading).and_then(|process| state.slots.get(&process));
        if led.is_some_and(|slot| slot.outcome.is_some()) {
            self.transport.wake();
        }
    }

    /// Wakes a thread that should lead: what it waits for was within this kernel, and is not any more.
    fn call_successor(&self, state: &HostState<T>) {
        let next = if state.leading { None } else { state.successor() };
        if let Some(Some(OperationWaiter::Thread(thread))) =
            next.and_then(|next| state.slots.get(&next)).map(|slot| &slot.waiter)
        {
            thread.unpark();
        }
    }

    /// The outcome of an operation, if it has ended; otherwise the task is woken when it has.
    pub(super) fn poll(&self, process: ProcessId, waker: &Waker) -> Option<Completion<Lent>> {
        let mut state = self.lock();
        let slot = state.slots.get_mut(&process)?;
        if let Some(outcome) = slot.outcome.take() {
            return Some(outcome);
        }
        slot.waiter = Some(OperationWaiter::Task(waker.clone()));
        if !state.leading {
            self.call_keeper(&mut state);
        }
        None
    }

    /// Forgets the operation of a process; a message that it was given waits again.
    pub(super) fn cancel(&self, process: ProcessId) {
        let mut state = self.lock();
        drop(state.kernel.cancel(process));
        let Some(slot) = state.slots.get_mut(&process) else { return };
        slot.waiter = None;
        if let Some(Completion::Received(delivery)) = slot.outcome.take() {
            state.kernel.put_back(process, delivery);
        }
    }

    /// A message that a process was given waits again.
    pub(super) fn put_back(&self, process: ProcessId, delivery: ReceivedMessage) {
        self.lock().kernel.put_back(process, delivery);
    }

    /// Reads the socket until the operation of the process has ended, or, for the keeper, until somebody else can.
    fn lead<'a>(&'a self, mut state: Guard<'a, T>, process: Option<ProcessId>) -> Guard<'a, T> {
        state.leading = true;
        state.leads_for = process;
        state.leaders += 1;
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = self.now();
            let until = state.kernel.next_deadline().map_or(WAIT_LONG, |due| due.saturating_sub(now));
            // One of two waits, so that it is hardly ever changed, which would cost a system call.
            let wait = if until < WAIT_LONG { WAIT_SHORT } else { WAIT_LONG };
            state.leader_wakes = now + wait;
            drop(state);
            let received = self.transport.receive(&mut buffer, Duration::from_nanos(wait));
            state = self.lock();
            let now = self.now();
            match received {
                // What is no packet is lost: its sender is told nothing.
                Ok(Some(Arrival::Packets(bytes, from))) => drop(state.kernel.handle(now, from, &buffer[..bytes])),
                Ok(Some(Arrival::Gone(place))) => state.kernel.place_gone(now, place),
                Ok(None) => {}
                Err(_) => std::thread::park_timeout(Duration::from_millis(1)),
            }
            if state.kernel.next_deadline().is_some_and(|due| due <= now) {
                state.kernel.tick(now);
            }
            let woken = self.drain(&mut state);
            woken.into_iter().for_each(OperationWaiter::wake);
            let done = match process {
                Some(process) => state.slots.get(&process).is_none_or(|slot| slot.outcome.is_some()),
                None => {
                    state.followers.iter().any(|&id| !state.kernel.waits_within(id))
                        || (state.slots.is_empty() && self.host_dropped.load(Ordering::Acquire))
                }
            };
            if done {
                drop(buffer);
                self.hand_over(&mut state);
                return state;
            }
        }
    }

    /// Somebody else shall read: a thread that sleeps, or, where tasks wait, the keeper at once; else the keeper after a while.
    fn hand_over(&self, state: &mut HostState<T>) {
        state.leading = false;
        if state.successor().is_some() {
            return self.call_successor(state);
        }
        let tasks = state.slots.values().any(|slot| matches!(slot.waiter, Some(OperationWaiter::Task(_))));
        if tasks || state.keeper_sleeps {
            self.call_keeper(state);
        }
    }

    fn call_keeper(&self, state: &mut HostState<T>) {
        state.keeper_sleeps = false;
        self.keeper.get().map(Thread::unpark);
    }
}

/// The keeper: reads while nobody else does.
fn keep<T: PacketTransport>(weak: &Weak<HostShared<T>>) {
    let (mut seen, mut steady, mut idle) = (u64::MAX, 0, false);
    loop {
        let Some(shared) = weak.upgrade() else { return };
        if shared.is_over() {
            return;
        }
        let mut state = shared.lock();
        let tasks = || state.slots.values().any(|slot| matches!(slot.waiter, Some(OperationWaiter::Task(_))));
        if !state.leading && state.successor().is_none() && (idle || tasks()) {
            drop(shared.lead(state, None));
            idle = false;
            continue;
        }
        // It leads only after nobody else has for a whole interval: who has just left will mostly be back.
        idle = !state.leading && state.leaders == seen;
        steady = if state.leading && state.leaders == seen { steady + 1 } else { 0 };
        seen = state.leaders;
        let sleeps = steady >= STEADY_CHECKS;
        state.keeper_sleeps = sleeps;
        drop(state);
        drop(shared);
        std::thread::park_timeout(Duration::from_nanos(if sleeps { 8 * WAIT_LONG } else { KEEPER_INTERVAL }));
    }
}
