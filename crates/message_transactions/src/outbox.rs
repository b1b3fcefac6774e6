//! What comes out of a kernel: packets to send, groups to listen to, and operations that have ended.
//!
//! Invariant: packets to one place stand in the order of sending in one buffer, so that a run of bulk data can leave as one train.

use super::codec;
use super::identifier::{ProcessGroupId, ProcessId};
use super::limits::TRAIN_BYTES_MAX;
use super::memory::{LentMemory, SegmentRights};
use super::packet::{PacketBody, PacketHeader, RequestIdentity};
use std::collections::VecDeque;
use std::ops::Range;
use thiserror::Error;

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketRoute<A> {
    /// To one kernel.
    Place(A),
    /// To all kernels with members of the group.
    Group(ProcessGroupId),
    /// To all kernels.
    Everybody,
}

/// Packets behind each other to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTrain<'a, A> {
    /// Where they go.
    pub route: PacketRoute<A>,
    /// All of them.
    pub bytes: &'a [u8],
    /// Length of each but the last, which may be shorter.
    pub packet_bytes: usize,
}

/// A change of the groups whose packets this kernel wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMembership {
    /// The first member has joined.
    Join(ProcessGroupId),
    /// The last member has left.
    Leave(ProcessGroupId),
}

/// A message that its receiver must reply to, or forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageExchange {
    /// Who waits.
    pub sender: ProcessId,
    pub(super) identity: RequestIdentity,
    /// False for a notification: a reply to it goes nowhere.
    pub wants_reply: bool,
}

/// A message that has been received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// What to reply to.
    pub exchange: MessageExchange,
    /// The group that it was sent to, if it was.
    pub group: Option<ProcessGroupId>,
    /// Who forwarded it last, if somebody has.
    pub forwarder: Option<ProcessId>,
    /// The message.
    pub message: Vec<u8>,
    /// What may be done with the sender's segment until the reply.
    pub rights: SegmentRights,
    /// The first bytes of a readable segment: as many as travelled with the message.
    pub data: Vec<u8>,
}

/// A reply to a group message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReply {
    /// Who replied.
    pub from: ProcessId,
    /// What it said.
    pub message: Vec<u8>,
}

/// What a gathering has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Whether there are as many replies as were wanted.
    pub satisfied: bool,
    /// The replies, in the order of arrival, one of each member.
    pub replies: Vec<GroupReply>,
    /// Expected members of which nothing was heard.
    pub silent: Vec<ProcessId>,
    /// Members that have the message and had not replied.
    pub running: Vec<ProcessId>,
    /// Expected members that do not exist.
    pub dead: Vec<ProcessId>,
}

/// Why a message got no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendFailure {
    /// Whoever should know the receiver says that it does not exist. The message was not executed after that.
    #[error("no such process: look its identifier up again")]
    NoSuchProcess,
    /// Nothing was heard for long. The message may have been executed.
    #[error("nothing was heard of the receiver; the message may have been executed, so retry only what may run twice")]
    GaveUp,
}

/// Why a transfer ended early. Some of the bytes may have been moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MoveFailure {
    /// The sender's kernel says that the sender does not wait for a reply of this process, or lent no such memory.
    #[error("the sender does not lend this memory (any more): reply is all that is left to do")]
    Refused,
    /// Nothing was heard of the sender's kernel for long.
    #[error("nothing was heard of the sender's kernel for long; it is probably gone")]
    GaveUp,
}

/// Why a process that waited for one other received nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReceiveFailure {
    /// That process does not exist (any more).
    #[error("the process that was waited for does not exist")]
    NoSuchProcess,
    /// Nothing is heard of its kernel.
    #[error("nothing was heard of the kernel of the process that was waited for")]
    GaveUp,
}

/// How an operation of a process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion<M> {
    /// Of the kernel itself: it has a host identifier, and can have processes.
    Claimed,
    /// A message came for a process that waited.
    Received(ReceivedMessage),
    /// The process that was waited for is gone.
    ReceiveFailed(ReceiveFailure),
    /// The reply.
    Replied {
        /// Who replied.
        from: ProcessId,
        /// The reply.
        message: Vec<u8>,
        /// The memory that was lent.
        segment: Option<M>,
    },
    /// There is no reply.
    SendFailed {
        /// Why.
        failure: SendFailure,
        /// The memory that was lent.
        segment: Option<M>,
    },
    /// A gathering has ended.
    Gathered(Gathered),
    /// A transfer has ended.
    Moved {
        /// The mover's memory.
        memory: M,
        /// How.
        outcome: Result<(), MoveFailure>,
    },
    /// A query has ended: who has set the logical identifier.
    Found(Option<ProcessId>),
}

/// An operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed<M> {
    /// Of which process.
    pub process: ProcessId,
    /// How.
    pub completion: Completion<M>,
}

/// See the module's description.
#[derive(Debug)]
pub struct KernelOutbox<A, M> {
    bytes: Vec<u8>,
    packets: Vec<(PacketRoute<A>, Range<usize>)>,
    /// Packets to processes of the same kernel.
    pub(super) local: VecDeque<Vec<u8>>,
    completions: VecDeque<Completed<M>>,
    memberships: VecDeque<GroupMembership>,
}

impl<A: Copy, M: LentMemory> KernelOutbox<A, M> {
    pub(super) fn new() -> KernelOutbox<A, M> {
        KernelOutbox {
            bytes: Vec::new(),
            packets: Vec::new(),
            local: VecDeque::new(),
            completions: VecDeque::new(),
            memberships: VecDeque::new(),
        }
    }

    /// Packets to send, in order.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = (PacketRoute<A>, &[u8])> {
        self.packets.iter().map(|(route, range)| (*route, &self.bytes[range.clone()]))
    }

    /// The same packets, those to one place that have the same length joined: the last of a train may be shorter.
    pub fn trains(&self) -> impl Iterator<Item = PacketTrain<'_, A>>
    where
        A: PartialEq,
    {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (route, first) = self.packets.get(at)?;
            let packet_bytes = first.len();
            let mut end = first.end;
            at += 1;
            while let Some((next_route, next)) = self.packets.get(at)
                && next_route == route
                && next.len() <= packet_bytes
                && next.end - first.start <= TRAIN_BYTES_MAX
                && (end - first.start).is_multiple_of(packet_bytes)
            {
                end = next.end;
                at += 1;
            }
            Some(PacketTrain { route: *route, bytes: &self.bytes[first.start..end], packet_bytes })
        })
    }

    /// Forgets the packets, once they have been sent.
    pub fn clear_packets(&mut self) {
        self.packets.clear();
        self.bytes.clear();
    }

    /// The next operation that has ended.
    pub fn next_completion(&mut self) -> Option<Completed<M>> {
        self.completions.pop_front()
    }

    /// The next change of groups. It must take effect before operations that have ended are told to processes.
    pub fn next_membership(&mut self) -> Option<GroupMembership> {
        self.memberships.pop_front()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.completions.is_empty() && self.memberships.is_empty()
    }

    pub(super) fn send(&mut self, route: PacketRoute<A>, header: &PacketHeader, body: &PacketBody<'_>) {
        let start = self.bytes.len();
        codec::encode(header, body, &mut self.bytes);
        self.packets.push((route, start..self.bytes.len()));
    }

    pub(super) fn send_local(&mut self, header: &PacketHeader, body: &PacketBody<'_>) {
        let mut bytes = Vec::with_capacity(256);
        codec::encode(header, body, &mut bytes);
        self.local.push_back(bytes);
    }

    pub(super) fn complete(&mut self, process: ProcessId, completion: Completion<M>) {
        self.completions.push_back(Completed { process, completion });
    }

    pub(super) fn membership(&mut self, membership: GroupMembership) {
        self.memberships.push_back(membership);
    }
}
