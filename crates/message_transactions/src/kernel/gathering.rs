//! Replies of many: a group message whose sender says when it has enough, and learns who is silent and who is dead.
//!
//! The message goes out once by multicast; afterwards only to those members, one by one, that are missing. Invariant: a member is
//! counted once, as replied, dead, running or silent.

use super::Kernel;
use super::gather::{Gather, Gathering, MemberProgress};
use super::process::{Activity, ProcessError, SentMessage};
use super::sending::OutgoingMessage;
use crate::identifier::{MessageDestination, ProcessId};
use crate::limits::MEMBERS_MAX;
use crate::memory::LentMemory;
use crate::outbox::{Completion, GroupReply};
use crate::packet::{RequestIdentity, WantedReplies};

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// Sends a message to a group and collects replies until there are enough, nobody is left to wait for, or the deadline comes.
    ///
    /// # Errors
    /// As of [`Kernel::send`]; and [`ProcessError::TooMany`] if more are expected than [`MEMBERS_MAX`].
    pub fn gather(
        &mut self,
        now: u64,
        by: ProcessId,
        message: OutgoingMessage<M>,
        wanted: Gathering<'_>,
    ) -> Result<(), ProcessError> {
        let Gathering { group, expected, until, deadline } = wanted;
        if expected.len() > MEMBERS_MAX {
            return Err(ProcessError::TooMany);
        }
        let identity = self.begin_send(now, by, group.into(), message.with_replies(WantedReplies::Many))?;
        let expected = expected.iter().map(|&member| (member, MemberProgress::Silent)).collect();
        if let Some(sending) = self.gathering(by, identity) {
            sending.gather = Some(Box::new(Gather { until, deadline, expected, replies: Vec::new() }));
        }
        self.transmit(by);
        self.arm(by);
        self.settle(now);
        Ok(())
    }

    fn gathering(&mut self, by: ProcessId, identity: RequestIdentity) -> Option<&mut SentMessage<M>> {
        let sending = self.processes.get_mut(&by)?.sending(identity)?;
        matches!(sending.to, MessageDestination::Group(_)).then_some(sending)
    }

    pub(super) fn is_gathering(&self, by: ProcessId, identity: RequestIdentity) -> bool {
        match self.processes.get(&by).map(|process| &process.activity) {
            Some(Activity::Sending(sending)) => sending.identity == identity && sending.gather.is_some(),
            _ => false,
        }
    }

    fn gather_of(&mut self, by: ProcessId) -> Option<&mut Gather> {
        match &mut self.processes.get_mut(&by)?.activity {
            Activity::Sending(sending) => sending.gather.as_deref_mut(),
            _ => None,
        }
    }

    pub(super) fn gather_reply(&mut self, by: ProcessId, from: ProcessId, message: &[u8]) {
        let Some(gather) = self.gather_of(by) else { return };
        if gather.expected.get(&from) == Some(&MemberProgress::Replied) || gather.replies.len() >= MEMBERS_MAX {
            return;
        }
        match gather.expected.get_mut(&from) {
            Some(standing) => *standing = MemberProgress::Replied,
            None if gather.replies.iter().any(|reply| reply.from == from) => return,
            None => {}
        }
        gather.replies.push(GroupReply { from, message: message.to_vec() });
        if gather.ended() {
            self.end_gather(by);
        }
    }

    pub(super) fn gather_pending(&mut self, by: ProcessId, from: ProcessId) {
        let Some(gather) = self.gather_of(by) else { return };
        if let Some(standing) = gather.expected.get_mut(&from)
            && *standing == MemberProgress::Silent
        {
            *standing = MemberProgress::Running;
        }
    }

    pub(super) fn gather_dead(&mut self, by: ProcessId, from: ProcessId, certain: bool) {
        if !certain {
            return self.hints.forget(from);
        }
        let Some(gather) = self.gather_of(by) else { return };
        if let Some(standing) = gather.expected.get_mut(&from)
            && *standing != MemberProgress::Replied
        {
            *standing = MemberProgress::Dead;
        }
        if gather.ended() {
            self.end_gather(by);
        }
    }

    pub(super) fn end_gather(&mut self, by: ProcessId) {
        let Some(Activity::Sending(sending)) = self.processes.get_mut(&by).map(|process| &mut process.activity) else {
            return;
        };
        if let Some(gather) = sending.gather.take() {
            self.complete(by, Completion::Gathered(gather.finish()));
        }
    }
}
