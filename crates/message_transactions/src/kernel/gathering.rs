//! Replies of many: a group message whose sender says when it has enough, and learns who is silent and who is dead.
//!
//! The message goes out once by multicast; afterwards only to those members, one by one, that are missing. Invariant: a member is
//! counted once, as replied, dead, running or silent.

use super::Kernel;
use super::process::{Activity, CallError, Sending};
use super::sending::Message;
use crate::identifier::{Destination, GroupId, ProcessId};
use crate::limits::MEMBERS_MAX;
use crate::memory::Memory;
use crate::outbox::{Completion, Gathered, GroupReply};
use crate::packet::{Identity, Replies};
use std::collections::BTreeMap;

/// When a gathering ends before its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// With the first reply.
    First,
    /// With so many replies.
    AtLeast(usize),
    /// When all expected members have replied or are dead.
    All,
}

/// How far a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Silent,
    Running,
    Replied,
    Dead,
}

/// A gathering under way.
#[derive(Debug)]
pub(super) struct Gather {
    until: Until,
    pub deadline: u64,
    expected: BTreeMap<ProcessId, Standing>,
    replies: Vec<GroupReply>,
}

impl Gather {
    /// Expected members that have not replied and are not dead.
    pub(super) fn missing(&self) -> Vec<ProcessId> {
        let missing = |standing: &Standing| matches!(standing, Standing::Silent | Standing::Running);
        self.expected.iter().filter(|(_, standing)| missing(standing)).map(|(&member, _)| member).collect()
    }

    fn satisfied(&self) -> bool {
        let dead = self.expected.values().filter(|&&standing| standing == Standing::Dead).count();
        match self.until {
            Until::First => !self.replies.is_empty(),
            Until::AtLeast(count) => self.replies.len() >= count,
            Until::All => dead == 0 && !self.expected.is_empty() && self.missing().is_empty(),
        }
    }

    /// Nothing more can change.
    fn ended(&self) -> bool {
        self.satisfied() || (!self.expected.is_empty() && self.missing().is_empty())
    }

    fn finish(self) -> Gathered {
        let with = |wanted: Standing| {
            let members = self.expected.iter().filter(move |(_, standing)| **standing == wanted);
            members.map(|(&member, _)| member).collect()
        };
        Gathered {
            satisfied: self.satisfied(),
            silent: with(Standing::Silent),
            running: with(Standing::Running),
            dead: with(Standing::Dead),
            replies: self.replies,
        }
    }
}

impl<A: Copy + Ord, M: Memory> Kernel<A, M> {
    /// Sends a message to a group and collects replies until there are enough, nobody is left to wait for, or the deadline comes.
    /// `expected` are the members that are known of, and may be empty unless all are wanted; others may reply, too.
    ///
    /// # Errors
    /// As of [`Kernel::send`]; and [`CallError::TooMany`] if more are expected than [`MEMBERS_MAX`].
    #[expect(clippy::too_many_arguments, reason = "each says one thing of the gathering")]
    pub fn gather(
        &mut self,
        now: u64,
        by: ProcessId,
        group: GroupId,
        expected: &[ProcessId],
        message: Message<M>,
        until: Until,
        deadline: u64,
    ) -> Result<(), CallError> {
        if expected.len() > MEMBERS_MAX {
            return Err(CallError::TooMany);
        }
        let identity = self.begin_send(now, by, group.into(), message.with_replies(Replies::Many))?;
        let expected = expected.iter().map(|&member| (member, Standing::Silent)).collect();
        if let Some(sending) = self.gathering(by, identity) {
            sending.gather = Some(Box::new(Gather { until, deadline, expected, replies: Vec::new() }));
        }
        self.transmit(by);
        self.arm(by);
        self.settle(now);
        Ok(())
    }

    fn gathering(&mut self, by: ProcessId, identity: Identity) -> Option<&mut Sending<M>> {
        let sending = self.processes.get_mut(&by)?.sending(identity)?;
        matches!(sending.to, Destination::Group(_)).then_some(sending)
    }

    pub(super) fn is_gathering(&self, by: ProcessId, identity: Identity) -> bool {
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
        if gather.expected.get(&from) == Some(&Standing::Replied) || gather.replies.len() >= MEMBERS_MAX {
            return;
        }
        match gather.expected.get_mut(&from) {
            Some(standing) => *standing = Standing::Replied,
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
            && *standing == Standing::Silent
        {
            *standing = Standing::Running;
        }
    }

    pub(super) fn gather_dead(&mut self, by: ProcessId, from: ProcessId, certain: bool) {
        if !certain {
            return self.hints.forget(from);
        }
        let Some(gather) = self.gather_of(by) else { return };
        if let Some(standing) = gather.expected.get_mut(&from)
            && *standing != Standing::Replied
        {
            *standing = Standing::Dead;
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
