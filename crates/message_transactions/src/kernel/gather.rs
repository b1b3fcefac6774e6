//! A gathering under way: who is expected, who has replied, and when it ends.
//!
//! Invariant: a member is counted once, as replied, dead, running or silent.

use crate::identifier::{GroupId, ProcessId};
use crate::outbox::{Gathered, GroupReply};
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

/// A gathering that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Gathering<'a> {
    /// The group.
    pub group: GroupId,
    /// The members that are known of; may be empty unless all are wanted. Others may reply, too.
    pub expected: &'a [ProcessId],
    /// When there are enough.
    pub until: Until,
    /// When it ends at the latest.
    pub deadline: u64,
}

/// How far a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Silent,
    Running,
    Replied,
    Dead,
}

/// A gathering under way.
#[derive(Debug)]
pub(super) struct Gather {
    pub until: Until,
    pub deadline: u64,
    pub expected: BTreeMap<ProcessId, Standing>,
    pub replies: Vec<GroupReply>,
}

impl Gather {
    /// Expected members that have not replied and are not dead.
    pub(super) fn missing(&self) -> Vec<ProcessId> {
        let missing = |standing: &Standing| matches!(standing, Standing::Silent | Standing::Running);
        self.expected.iter().filter(|(_, standing)| missing(standing)).map(|(&member, _)| member).collect()
    }

    pub(super) fn satisfied(&self) -> bool {
        let dead = self.expected.values().filter(|&&standing| standing == Standing::Dead).count();
        match self.until {
            Until::First => !self.replies.is_empty(),
            Until::AtLeast(count) => self.replies.len() >= count,
            Until::All => dead == 0 && !self.expected.is_empty() && self.missing().is_empty(),
        }
    }

    /// Nothing more can change.
    pub(super) fn ended(&self) -> bool {
        self.satisfied() || (!self.expected.is_empty() && self.missing().is_empty())
    }

    pub(super) fn finish(self) -> Gathered {
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
