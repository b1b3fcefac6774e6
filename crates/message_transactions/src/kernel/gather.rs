//! A gathering under way: who is expected, who has replied, and when it ends.
//!
//! Invariant: a member is counted once, as replied, dead, running or silent.

use crate::identifier::{ProcessGroupId, ProcessId};
use crate::outbox::{Gathered, GroupReply};
use std::collections::BTreeMap;

/// When a gathering ends before its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatherUntil {
    /// With the first reply.
    First,
    /// With so many replies.
    AtLeast(usize),
    /// When all expected members have replied or are dead.
    All,
}

/// A gathering that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Gathering<'a> {
    /// The group.
    pub group: ProcessGroupId,
    /// The members that are known of; may be empty unless all are wanted. Others may reply, too.
    pub expected: &'a [ProcessId],
    /// When there are enough.
    pub until: GatherUntil,
    /// When it ends at the latest.
    pub deadline: u64,
}

/// How far a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberProgress {
    Silent,
    Running,
    Replied,
    Dead,
}

/// A gathering under way.
#[derive(Debug)]
pub(super) struct Gather {
    pub until: GatherUntil,
    pub deadline: u64,
    pub expected: BTreeMap<ProcessId, MemberProgress>,
    pub replies: Vec<GroupReply>,
}

impl Gather {
    /// Expected members that have not replied and are not dead.
    pub(super) fn missing(&self) -> Vec<ProcessId> {
        let missing = |standing: &MemberProgress| matches!(standing, MemberProgress::Silent | MemberProgress::Running);
        self.expected.iter().filter(|(_, standing)| missing(standing)).map(|(&member, _)| member).collect()
    }

    pub(super) fn satisfied(&self) -> bool {
        let dead = self.expected.values().filter(|&&standing| standing == MemberProgress::Dead).count();
        match self.until {
            GatherUntil::First => !self.replies.is_empty(),
            GatherUntil::AtLeast(count) => self.replies.len() >= count,
            GatherUntil::All => dead == 0 && !self.expected.is_empty() && self.missing().is_empty(),
        }
    }

    /// Nothing more can change.
    pub(super) fn ended(&self) -> bool {
        self.satisfied() || (!self.expected.is_empty() && self.missing().is_empty())
    }

    pub(super) fn finish(self) -> Gathered {
        let with = |wanted: MemberProgress| {
            let members = self.expected.iter().filter(move |(_, standing)| **standing == wanted);
            members.map(|(&member, _)| member).collect()
        };
        Gathered {
            satisfied: self.satisfied(),
            silent: with(MemberProgress::Silent),
            running: with(MemberProgress::Running),
            dead: with(MemberProgress::Dead),
            replies: self.replies,
        }
    }
}
