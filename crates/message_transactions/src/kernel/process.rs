//! One process: what it does, what waits for it.
//!
//! Invariant: a process has one operation under way at most, hence one sequence number without a reply.

use super::gather::Gather;
use super::inflow::BulkInflow;
use super::moving::BulkTransfer;
use crate::identifier::{MessageDestination, ProcessId};
use crate::limits::GIVE_UP;
use crate::memory::{LentMemory, SegmentRights};
use crate::outbox::{GroupReply, ReceivedMessage};
use crate::packet::{RequestIdentity, WantedReplies};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thiserror::Error;

/// Why a process cannot do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProcessError {
    /// The kernel has no host identifier yet: wait for [`Claimed`](super::super::Completion::Claimed).
    #[error("the kernel has no host identifier yet: wait until it is claimed")]
    Unclaimed,
    /// The process is not here.
    #[error("the process is not here")]
    NoSuchProcess,
    /// Another operation of the process is under way: wait for its completion, or use another process.
    #[error("another operation of the process is under way")]
    Busy,
    /// A table is full: end something first.
    #[error("there are too many of these: end some first")]
    TooMany,
    /// The message is too long: lend a segment instead.
    #[error("the message is too long: lend the rest as a segment")]
    TooLong,
    /// The memory has not the rights that this needs.
    #[error("the memory has not the rights that this needs")]
    NoAccess,
    /// The bytes lie outside the segment.
    #[error("the bytes lie outside the segment")]
    OutOfBounds,
    /// The sender does not wait for a reply of this process.
    #[error("the sender does not wait for a reply of this process")]
    NotAwaitingReply,
}

/// A message whose reply is awaited.
#[derive(Debug)]
pub(super) struct SentMessage<M> {
    pub identity: RequestIdentity,
    pub to: MessageDestination,
    pub once: bool,
    pub replies: WantedReplies,
    pub message: Vec<u8>,
    pub segment: Option<M>,
    pub rights: SegmentRights,
    pub forwarder: ProcessId,
    pub sent: u64,
    /// When it is sent again.
    pub due: u64,
    /// Times that it was sent again to the same receiver.
    pub retransmissions: u32,
    /// Times that it was sent since something was heard.
    pub unheard: u32,
    pub heard: u64,
    /// How long after that it is given up.
    pub patience: u64,
    /// A transfer to its segment.
    pub inflow: Option<BulkInflow>,
    /// The last transfer to its segment that is complete.
    pub moved: u64,
    pub gather: Option<Box<Gather>>,
}

impl<M: LentMemory> SentMessage<M> {
    /// A message of a process to one other, which is due to be sent.
    pub(super) fn new(
        now: u64,
        identity: RequestIdentity,
        to: MessageDestination,
        message: Vec<u8>,
        mut segment: Option<M>,
    ) -> SentMessage<M> {
        SentMessage {
            identity,
            to,
            once: false,
            replies: WantedReplies::One,
            message,
            rights: SegmentRights::of(segment.as_mut()),
            segment,
            forwarder: ProcessId::NOBODY,
            sent: now,
            due: now,
            retransmissions: 0,
            unheard: 0,
            heard: now,
            patience: GIVE_UP,
            inflow: None,
            moved: 0,
            gather: None,
        }
    }
}

impl<M> SentMessage<M> {
    /// A sign of life has come.
    pub(super) fn hear(&mut self, now: u64) {
        (self.heard, self.unheard, self.patience) = (now, 0, GIVE_UP);
    }

    /// When it is given up, unless a sign of life comes.
    pub(super) fn given_up(&self) -> u64 {
        self.heard.saturating_add(self.patience)
    }

    fn due(&self) -> u64 {
        let give_up = match &self.gather {
            Some(gather) => gather.deadline,
            None => self.given_up(),
        };
        let inflow = self.inflow.as_ref().map_or(u64::MAX, |inflow| inflow.due);
        self.due.min(give_up).min(inflow)
    }
}

/// A query that nobody has answered yet.
#[derive(Debug)]
pub(super) struct OpenQuery {
    pub logical: u32,
    pub due: u64,
    pub until: u64,
}

/// What a process does.
#[derive(Debug)]
pub(super) enum Activity<M> {
    Ready,
    Sending(Box<SentMessage<M>>),
    Receiving {
        from: Option<ProcessId>,
    },
    Querying(OpenQuery),
    Moving(Box<BulkTransfer<M>>),
    /// The kernel's own: pauses before it asks again whether a process exists.
    Probing {
        due: u64,
        whether: ProcessId,
    },
}

impl<M> Activity<M> {
    pub(super) fn due(&self) -> Option<u64> {
        match self {
            Activity::Ready | Activity::Receiving { .. } => None,
            Activity::Sending(sending) => Some(sending.due()),
            Activity::Querying(query) => Some(query.due),
            Activity::Moving(moving) => Some(moving.due()),
            Activity::Probing { due, .. } => Some(*due),
        }
    }

    pub(super) fn into_memory(self) -> Option<M> {
        match self {
            Activity::Sending(sending) => sending.segment,
            Activity::Moving(moving) => Some(moving.memory),
            _ => None,
        }
    }
}

/// A message in the queue of a process.
#[derive(Debug)]
pub(super) enum QueuedMessage {
    /// The one of this sender's alien.
    Alien(ProcessId),
    /// One that wants no reply.
    Notification(Box<ReceivedMessage>),
}

/// Replies to a group message whose sender has gone on.
#[derive(Debug)]
pub(super) struct Collecting {
    pub identity: RequestIdentity,
    pub repliers: BTreeSet<ProcessId>,
    pub replies: VecDeque<GroupReply>,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct KernelProcess<M> {
    pub sequence: u64,
    pub transfers: u64,
    pub activity: Activity<M>,
    pub queue: VecDeque<QueuedMessage>,
    pub collecting: Option<Collecting>,
    /// The last notification taken from each sender.
    pub notified: BTreeMap<ProcessId, u64>,
    /// How often it has moved to another kernel.
    pub moves: u64,
    /// The time of its timer.
    pub armed: Option<u64>,
    /// The process on whose behalf the kernel made this one.
    pub probes: Option<ProcessId>,
}

impl<M> KernelProcess<M> {
    pub(super) fn new() -> KernelProcess<M> {
        KernelProcess {
            sequence: 0,
            transfers: 0,
            activity: Activity::Ready,
            queue: VecDeque::new(),
            collecting: None,
            notified: BTreeMap::new(),
            moves: 0,
            armed: None,
            probes: None,
        }
    }

    pub(super) fn sending(&mut self, identity: RequestIdentity) -> Option<&mut SentMessage<M>> {
        match &mut self.activity {
            Activity::Sending(sending) if sending.identity == identity => Some(sending),
            _ => None,
        }
    }
}
