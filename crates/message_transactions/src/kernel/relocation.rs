//! A process moves to another kernel with all that is known of its exchanges.
//!
//! Invariants: at any moment at most one kernel has the process; what it has received, executed and replied to goes with it, so that
//! nothing is lost or executed twice; the kernel that it leaves tells where it went for as long as it lives. What left a kernel is taken in
//! only by the kernel that it left for, and once.
//!
//! `encoding` is how it looks as bytes.

mod encoding;

pub use encoding::DecodeError;

use super::Kernel;
use super::process::{Activity, KernelProcess};
use super::receiving::{Alien, ReceiveProgress};
use crate::identifier::{LogicalHostId, ProcessGroupId, ProcessId};
use crate::limits::{ALIENS_MAX, MOVED_MAX, PROCESSES_MAX};
use crate::memory::LentMemory;
use crate::outbox::PacketRoute;
use crate::packet::{PacketBody, RequestIdentity};
use crate::planted::PlantedInKernel;
use thiserror::Error;

/// Which process left for where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Departure {
    id: ProcessId,
    to: LogicalHostId,
    /// How often it has moved, this time included.
    moves: u64,
}

/// A process between two kernels.
#[derive(Debug)]
pub struct Relocated<A, M> {
    departure: Departure,
    process: KernelProcess<M>,
    aliens: Vec<(ProcessId, Alien<A>)>,
    groups: Vec<ProcessGroupId>,
}

impl<A, M> Relocated<A, M> {
    /// Which process it is.
    pub fn id(&self) -> ProcessId {
        self.departure.id
    }

    /// The process without the operation that it had under way: for an owner who does not know how that began.
    pub fn at_rest(mut self) -> Relocated<A, M> {
        self.process.activity = Activity::Ready;
        self
    }
}

/// Where a process went.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovedProcess {
    pub to: LogicalHostId,
    moves: u64,
}

/// Why a process cannot move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RelocationError {
    /// It is not here.
    #[error("the process is not here")]
    NoSuchProcess,
    /// A transfer, query, gathering or wait for one process is under way: move the process when it has ended.
    #[error("an operation of the process is under way that cannot move: wait until it has ended")]
    Busy,
    /// Too many have moved away, or are here.
    #[error("too many processes have moved")]
    TooMany,
    /// The kernel has no host identifier yet: wait for [`Claimed`](super::super::Completion::Claimed).
    #[error("the kernel has no host identifier yet: wait until it is claimed")]
    Unclaimed,
    /// It left for another kernel.
    #[error("the process left for {0:?}, which is another kernel: take it there")]
    Elsewhere(LogicalHostId),
    /// It has been taken in already, and is here, has ended, or has gone on.
    #[error("the process has been taken in here before: what left the other kernel can be used once")]
    Again,
}

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// Takes a process out, for another kernel to adopt. Messages for it are pointed there from now on, or wait until it is there.
    ///
    /// # Errors
    /// The process stays.
    pub fn release(&mut self, id: ProcessId, to: LogicalHostId) -> Result<Relocated<A, M>, RelocationError> {
        let process = self.processes.get(&id).ok_or(RelocationError::NoSuchProcess)?;
        let movable = match &process.activity {
            Activity::Ready | Activity::Receiving { from: None } => true,
            Activity::Sending(sending) => sending.gather.is_none(),
            _ => false,
        };
        if !movable || process.probes.is_some() {
            return Err(RelocationError::Busy);
        }
        if self.moved.len() >= MOVED_MAX {
            return Err(RelocationError::TooMany);
        }
        let groups = self.leave_all(id);
        let mut process = self.processes.remove(&id).expect("it was looked at a moment ago");
        process.armed = None;
        process.moves += 1;
        let departure = Departure { id, to, moves: process.moves };
        self.moved.insert(id, MovedProcess { to, moves: process.moves });
        self.hints.moved(id, to);
        let keys: Vec<_> = self.aliens.keys().filter(|(_, receiver)| *receiver == id).copied().collect();
        let mut aliens: Vec<_> = keys.into_iter().filter_map(|key| Some((key.0, self.aliens.remove(&key)?))).collect();
        if self.has(PlantedInKernel::HistoryLeftBehind) {
            aliens.retain(|(_, alien)| {
                !matches!(
                    alien.progress,
                    ReceiveProgress::Replied { .. } | ReceiveProgress::Forwarded { .. } | ReceiveProgress::Over { .. }
                )
            });
        }
        Ok(Relocated { departure, process, aliens, groups })
    }

    fn may_adopt(&self, relocated: &Relocated<A, M>) -> Result<(), RelocationError> {
        let Departure { id, to, moves } = relocated.departure;
        if self.claim.is_some() {
            return Err(RelocationError::Unclaimed);
        }
        if to != self.host {
            return Err(RelocationError::Elsewhere(to));
        }
        let left = self.moved.get(&id);
        let again = !self.has(PlantedInKernel::TakenInAgain);
        let ended = self.ended.contains(&id) || (id.host() == self.host && left.is_none());
        if again && (self.processes.contains_key(&id) || ended || left.is_some_and(|left| left.moves >= moves)) {
            return Err(RelocationError::Again);
        }
        let full = self.processes.len() >= PROCESSES_MAX || self.aliens.len() + relocated.aliens.len() > ALIENS_MAX;
        if full { Err(RelocationError::TooMany) } else { Ok(()) }
    }

    /// Takes in a process that another kernel released, and tells everybody that it is here now.
    ///
    /// # Errors
    /// It left for another kernel, was here before, there are too many processes, or this kernel has no host identifier yet. What was to be
    /// taken in comes back.
    pub fn adopt(
        &mut self,
        now: u64,
        relocated: Relocated<A, M>,
    ) -> Result<(), (RelocationError, Box<Relocated<A, M>>)> {
        if let Err(error) = self.may_adopt(&relocated) {
            return Err((error, Box::new(relocated)));
        }
        let Relocated { departure: Departure { id, .. }, process, aliens, groups } = relocated;
        self.moved.remove(&id);
        self.processes.insert(id, process);
        for (sender, mut alien) in aliens {
            // A sender at the kernel that was left is not inside any more; its next copy tells where it is.
            if alien.from.is_none() {
                alien.from = match self.route(sender) {
                    Some(PacketRoute::Place(place)) => Some(place),
                    _ => None,
                };
            }
            self.aliens.insert((sender, id), alien);
        }
        if !self.aliens.is_empty() {
            self.arm_sweep(now);
        }
        for group in groups {
            // A full table costs the membership, as it would when joining.
            let _ = self.join(group, id);
        }
        let header = self.header(RequestIdentity::default(), id, ProcessId::NOBODY);
        self.outbox.send(PacketRoute::Everybody, &header, &PacketBody::Here);
        if let Some(Activity::Sending(sending)) = self.processes.get_mut(&id).map(|process| &mut process.activity) {
            sending.hear(now);
            sending.due = now;
        }
        self.arm(id);
        self.offer(now, id);
        self.settle(now);
        Ok(())
    }
}
