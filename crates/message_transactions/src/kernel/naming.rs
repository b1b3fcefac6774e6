//! Names: the kernel's own host identifier, logical identifiers of processes, and what the kernel server answers.
//!
//! Invariant: a host identifier is used only after it was announced and nobody complained; whoever uses or wants it complains.

use super::process::{Activity, KernelProcess, OpenQuery, ProcessError};
use super::sending::OutgoingMessage;
use super::{Kernel, Timer};
use crate::identifier::{LogicalHostId, MessageDestination, ProcessGroupId, ProcessId};
use crate::limits::{
    ANNOUNCEMENTS, CLAIM_WAIT, ENDED_MAX, NAMES_MAX, PROBE_INTERVAL, PROCESSES_MAX, QUERY_TIME, RETRANSMIT_FIRST,
};
use crate::memory::LentMemory;
use crate::outbox::{Completion, PacketRoute, ReceiveFailure, SendFailure};
use crate::packet::{PacketBody, PacketHeader, RequestIdentity, RequestPacket};

/// For whom a logical identifier is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameScope {
    /// For processes of the same kernel.
    Local,
    /// For processes of other kernels.
    Remote,
    /// For all.
    Any,
}

/// A host identifier that is not ours yet.
#[derive(Debug)]
pub(super) struct Claim {
    announced: u32,
    due: u64,
}

/// What the kernel server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelRequest {
    Join(ProcessGroupId, ProcessId),
    Leave(ProcessGroupId, ProcessId),
    Exists(ProcessId),
}

/// Replies of the kernel server.
mod answer {
    pub const NO: &[u8] = &[0];
    pub const YES: &[u8] = &[1];
    pub const ELSEWHERE: &[u8] = &[2];
}

impl KernelRequest {
    pub(super) fn encode(self) -> Vec<u8> {
        let (code, group, process) = match self {
            KernelRequest::Join(group, process) => (1, group.0, process),
            KernelRequest::Leave(group, process) => (2, group.0, process),
            KernelRequest::Exists(process) => (3, 0, process),
        };
        let mut message = vec![code];
        message.extend_from_slice(&group.to_le_bytes());
        message.extend_from_slice(&process.0.to_le_bytes());
        message
    }

    fn decode(message: &[u8]) -> Option<KernelRequest> {
        let (&code, rest) = message.split_first()?;
        let (group, process) = rest.split_at_checked(8)?;
        let process = ProcessId::from_bits(u64::from_le_bytes(process.try_into().ok()?))?;
        let group = u64::from_le_bytes(group.try_into().ok()?);
        match (code, MessageDestination::from_bits(group)) {
            (1, MessageDestination::Group(group)) => Some(KernelRequest::Join(group, process)),
            (2, MessageDestination::Group(group)) => Some(KernelRequest::Leave(group, process)),
            (3, _) => Some(KernelRequest::Exists(process)),
            _ => None,
        }
    }
}

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// Draws a host identifier and asks whether somebody minds.
    pub(super) fn propose(&mut self, now: u64) {
        let old = self.claim.as_ref().map(|claim| (claim.due, Timer::Claim));
        old.map(|timer| self.timers.remove(&timer));
        self.host = LogicalHostId::from_random(self.random.draw());
        self.claim = Some(Claim { announced: 0, due: now });
        self.timers.insert((now, Timer::Claim));
    }

    pub(super) fn claim_due(&mut self, now: u64) {
        let Some(claim) = &mut self.claim else { return };
        if claim.announced == ANNOUNCEMENTS {
            self.claim = None;
            return self.outbox.complete(self.host.kernel_server(), Completion::Claimed);
        }
        claim.announced += 1;
        claim.due = now + CLAIM_WAIT.div_ceil(u64::from(ANNOUNCEMENTS));
        let due = claim.due;
        self.timers.insert((due, Timer::Claim));
        let server = self.host.kernel_server();
        let header = self.header(RequestIdentity::default(), server, server);
        let body = PacketBody::HostRequest { proposed: self.host, life: self.life };
        self.outbox.send(PacketRoute::Everybody, &header, &body);
    }

    pub(super) fn requested(&mut self, from: Option<A>, proposed: LogicalHostId, life: u64) {
        let Some(place) = from.filter(|_| proposed == self.host && life != self.life) else { return };
        let server = self.host.kernel_server();
        let header = self.header(RequestIdentity::default(), server, server);
        self.outbox.send(PacketRoute::Place(place), &header, &PacketBody::HostComplaint { proposed, life });
    }

    pub(super) fn complained(&mut self, now: u64, proposed: LogicalHostId, life: u64) {
        if self.claim.is_some() && proposed == self.host && life == self.life {
            self.propose(now);
        }
    }

    /// Lets a logical identifier stand for a process, instead of what it stood for here.
    ///
    /// # Errors
    /// Too many are set.
    pub fn set_pid(&mut self, logical: u32, process: ProcessId, scope: NameScope) -> Result<(), ProcessError> {
        if self.names.len() >= NAMES_MAX && !self.names.contains_key(&logical) {
            return Err(ProcessError::TooMany);
        }
        self.names.insert(logical, (process, scope));
        Ok(())
    }

    /// The process that a logical identifier stands for here, if it may be told to such askers and, being ours, exists.
    fn named(&self, logical: u32, hidden: NameScope) -> Option<ProcessId> {
        let &(process, scope) = self.names.get(&logical)?;
        let gone = process.host() == self.host && !self.processes.contains_key(&process);
        (scope != hidden && (!gone || self.moved.contains_key(&process))).then_some(process)
    }

    /// Looks up who has set a logical identifier: here, unless only others are asked, then everywhere. The outcome is a completion.
    ///
    /// # Errors
    /// The process is busy or not here.
    pub fn get_pid(&mut self, now: u64, by: ProcessId, logical: u32, scope: NameScope) -> Result<(), ProcessError> {
        self.ready(by)?;
        let here = if scope == NameScope::Remote { None } else { self.named(logical, NameScope::Remote) };
        if here.is_some() || scope == NameScope::Local {
            self.outbox.complete(by, Completion::Found(here));
            return Ok(());
        }
        let query = OpenQuery { logical, due: now, until: now.saturating_add(QUERY_TIME) };
        self.ready(by)?.activity = Activity::Querying(query);
        self.query_due(now, by);
        self.arm(by);
        Ok(())
    }

    pub(super) fn query_due(&mut self, now: u64, by: ProcessId) {
        let Some(Activity::Querying(query)) = self.processes.get_mut(&by).map(|process| &mut process.activity) else {
            return;
        };
        if now >= query.until {
            return self.complete(by, Completion::Found(None));
        }
        query.due = now + RETRANSMIT_FIRST;
        let logical = query.logical;
        let header = self.header(RequestIdentity::default(), by, ProcessId::NOBODY);
        self.outbox.send(PacketRoute::Everybody, &header, &PacketBody::GetPid { logical });
    }

    pub(super) fn asked(&mut self, from: Option<A>, header: &PacketHeader, logical: u32) {
        if let Some(process) = self.named(logical, NameScope::Local) {
            self.answer(from, header, self.host.kernel_server(), &PacketBody::GetPidReply { logical, process });
        }
    }

    pub(super) fn found(&mut self, to: ProcessId, logical: u32, process: ProcessId) {
        let waiting = self
            .processes
            .get(&to)
            .is_some_and(|process| matches!(&process.activity, Activity::Querying(query) if query.logical == logical));
        if waiting {
            self.complete(to, Completion::Found(Some(process)));
        }
    }

    /// Answers for the kernel. All of it may be done twice, so nothing is kept.
    pub(super) fn serve(&mut self, from: Option<A>, header: &PacketHeader, request: &RequestPacket<'_>) {
        let done = match KernelRequest::decode(request.message) {
            Some(KernelRequest::Join(group, member)) if self.processes.contains_key(&member) => {
                if self.join(group, member).is_ok() { answer::YES } else { answer::NO }
            }
            Some(KernelRequest::Leave(group, member)) if self.processes.contains_key(&member) => {
                self.leave(group, member);
                answer::YES
            }
            Some(KernelRequest::Exists(process)) if self.processes.contains_key(&process) => answer::YES,
            Some(KernelRequest::Exists(process)) if self.moved.contains_key(&process) => answer::ELSEWHERE,
            _ => answer::NO,
        };
        self.answer(
            from,
            header,
            self.host.kernel_server(),
            &PacketBody::Reply { offset: 0, message: done, data: &[] },
        );
    }

    pub(super) fn remember_end(&mut self, id: ProcessId) {
        if self.ended.len() >= ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(id);
    }

    /// Makes sure, now and again, that a process exists that another one waits for.
    pub(super) fn probe(&mut self, now: u64, by: ProcessId, whether: ProcessId) -> Result<(), ProcessError> {
        if self.processes.contains_key(&whether) {
            return Ok(());
        }
        if self.processes.len() >= PROCESSES_MAX || self.next_number == u32::MAX {
            self.stop_receiving(by);
            return Err(ProcessError::TooMany);
        }
        let id = ProcessId::new(self.host, self.next_number);
        self.next_number += 1;
        let activity = Activity::Probing { due: now, whether };
        self.processes.insert(id, KernelProcess { activity, probes: Some(by), ..KernelProcess::new() });
        self.probe_due(now, id);
        Ok(())
    }

    pub(super) fn probe_due(&mut self, now: u64, id: ProcessId) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let (Activity::Probing { whether, .. }, Some(by)) = (&process.activity, process.probes) else { return };
        let whether = *whether;
        process.activity = Activity::Ready;
        let waits = matches!(
            self.processes.get(&by).map(|process| &process.activity),
            Some(Activity::Receiving { from: Some(from) }) if *from == whether
        );
        let message = OutgoingMessage::at_least_once(KernelRequest::Exists(whether).encode());
        if !waits || self.send(now, id, whether.host().kernel_server(), message).is_err() {
            self.processes.remove(&id);
        }
    }

    /// What came of asking.
    pub(super) fn probed(&mut self, id: ProcessId, by: ProcessId, completion: Completion<M>) {
        let Some(&Activity::Receiving { from: Some(from) }) = self.processes.get(&by).map(|process| &process.activity)
        else {
            self.processes.remove(&id);
            return;
        };
        let failure = match completion {
            Completion::Replied { message, .. } if message == answer::NO => ReceiveFailure::NoSuchProcess,
            Completion::SendFailed { failure: SendFailure::GaveUp, .. } => ReceiveFailure::GaveUp,
            Completion::SendFailed { .. } => ReceiveFailure::NoSuchProcess,
            _ => {
                let due = self.now.saturating_add(PROBE_INTERVAL);
                if let Some(process) = self.processes.get_mut(&id) {
                    process.activity = Activity::Probing { due, whether: from };
                }
                return self.arm(id);
            }
        };
        self.processes.remove(&id);
        self.complete(by, Completion::ReceiveFailed(failure));
    }
}
