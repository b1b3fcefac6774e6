//! A process of a host: what it sends, receives and replies.
//!
//! Invariant: a method that lends a borrow returns after the kernel has let go of it.

use super::HostError;
use super::lent::Lent;
use super::shared::HostShared;
use super::transport::PacketTransport;
use super::waiting::{PendingReceive, PendingSend};
use super::ways::Ways;
use crate::identifier::{LogicalHostId, MessageDestination, ProcessGroupId, ProcessId};
use crate::kernel::{GatherUntil, Gathering, NameScope, OutgoingMessage, ProcessError, Relocated, RelocationError};
use crate::memory::{OwnedMemory, SegmentRights};
use crate::outbox::{Completion, Gathered, GroupReply, MessageExchange, ReceivedMessage};
use crate::packet::WantedReplies;
use std::sync::Arc;
use std::time::Duration;

/// What a process sends, for as long as it is blocked.
#[derive(Debug)]
pub struct BlockedRequest<'a> {
    message: &'a [u8],
    once: bool,
    replies: WantedReplies,
    segment: Option<LentSegment<'a>>,
}

#[derive(Debug)]
enum LentSegment<'a> {
    Read(&'a [u8]),
    Write(&'a mut [u8]),
    Both(&'a mut [u8]),
}

impl<'a> BlockedRequest<'a> {
    /// Executed at most once by one incarnation of the receiver.
    pub fn exactly_once(message: &'a [u8]) -> BlockedRequest<'a> {
        BlockedRequest { message, once: true, replies: WantedReplies::One, segment: None }
    }

    /// Executed at least once, if a reply comes: cheaper for the receiver, which need not keep its reply.
    pub fn at_least_once(message: &'a [u8]) -> BlockedRequest<'a> {
        BlockedRequest { once: false, ..BlockedRequest::exactly_once(message) }
    }

    /// How many replies of a group are wanted.
    pub fn with_replies(self, replies: WantedReplies) -> BlockedRequest<'a> {
        BlockedRequest { replies, ..self }
    }

    /// The receiver may read this until its reply; as much as fits travels with the message.
    pub fn readable(self, segment: &'a [u8]) -> BlockedRequest<'a> {
        BlockedRequest { segment: Some(LentSegment::Read(segment)), ..self }
    }

    /// The receiver may write this until its reply, and with it.
    pub fn writable(self, segment: &'a mut [u8]) -> BlockedRequest<'a> {
        BlockedRequest { segment: Some(LentSegment::Write(segment)), ..self }
    }

    /// The receiver may read and write this until its reply.
    pub fn readable_and_writable(self, segment: &'a mut [u8]) -> BlockedRequest<'a> {
        BlockedRequest { segment: Some(LentSegment::Both(segment)), ..self }
    }

    fn lend(self) -> OutgoingMessage<Lent> {
        let segment = self.segment.map(|segment| match segment {
            LentSegment::Read(bytes) => Lent::Read(bytes),
            LentSegment::Write(bytes) => Lent::Write(bytes),
            LentSegment::Both(bytes) => Lent::Both(bytes),
        });
        OutgoingMessage { bytes: self.message.to_vec(), once: self.once, replies: self.replies, segment }
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessReply {
    /// Who replied.
    pub from: ProcessId,
    /// What it said.
    pub message: Vec<u8>,
}

/// A message that must be replied to, or forwarded: until then its sender is blocked and lends its memory. One that is dropped
/// keeps its sender waiting.
#[must_use = "the sender waits for a reply"]
#[derive(Debug)]
pub struct ReceivedCall {
    delivery: ReceivedMessage,
}

impl ReceivedCall {
    pub(super) fn new(delivery: ReceivedMessage) -> ReceivedCall {
        ReceivedCall { delivery }
    }

    /// Who sent it.
    pub fn sender(&self) -> ProcessId {
        self.delivery.exchange.sender
    }

    /// The message.
    pub fn message(&self) -> &[u8] {
        &self.delivery.message
    }

    /// The first bytes of a readable segment: as many as travelled with the message.
    pub fn data(&self) -> &[u8] {
        &self.delivery.data
    }

    /// What may be done with the sender's segment.
    pub fn rights(&self) -> SegmentRights {
        self.delivery.rights
    }

    /// The group that it was sent to, if it was.
    pub fn group(&self) -> Option<ProcessGroupId> {
        self.delivery.group
    }

    /// Who forwarded it last.
    pub fn forwarder(&self) -> Option<ProcessId> {
        self.delivery.forwarder
    }

    /// Whether the sender waits for a reply: it does not if it only notifies a group.
    pub fn wants_reply(&self) -> bool {
        self.delivery.exchange.wants_reply
    }

    fn exchange(&self) -> &MessageExchange {
        &self.delivery.exchange
    }
}

/// See the module's description. Dropped, it ends: who waits for its replies is told.
#[derive(Debug)]
pub struct HostProcess<T: PacketTransport = Ways> {
    shared: Arc<HostShared<T>>,
    id: ProcessId,
}

/// Takes back what was lent if a call unwinds.
struct TakeBack<'a, T: PacketTransport>(&'a HostProcess<T>);

impl<T: PacketTransport> Drop for TakeBack<'_, T> {
    fn drop(&mut self) {
        self.0.shared.cancel(self.0.id);
    }
}

impl<T: PacketTransport> HostProcess<T> {
    pub(super) fn new(shared: Arc<HostShared<T>>) -> Result<HostProcess<T>, HostError> {
        let id = shared.with(|kernel, _| kernel.create())?;
        shared.open(id);
        Ok(HostProcess { shared, id })
    }

    pub(super) fn attach(shared: Arc<HostShared<T>>, bytes: &[u8]) -> Result<HostProcess<T>, HostError> {
        let id = shared.with(|kernel, now| -> Result<ProcessId, HostError> {
            let relocated = Relocated::decode(now, bytes)?.at_rest();
            let id = relocated.id();
            kernel.adopt(now, relocated).map_err(|(error, _)| error)?;
            Ok(id)
        })?;
        shared.open(id);
        Ok(HostProcess { shared, id })
    }

    /// Takes the process out of this host, to be attached to that one: as bytes, which the caller brings there. Until then its senders wait;
    /// if the bytes are lost, it is as though the process had ended with its host. Calls that it has not replied to go with it: see
    /// [`HostProcess::unanswered`]. Logical identifiers that were set for it stay set here.
    ///
    /// # Errors
    /// Too many processes have left this host. The process comes back.
    pub fn detach(self, to: LogicalHostId) -> Result<Vec<u8>, (HostError, HostProcess<T>)> {
        // Of a future that was forgotten.
        self.shared.cancel(self.id);
        let detached = self.shared.with(|kernel, now| {
            let relocated = kernel.release(self.id, to)?;
            Ok(relocated.encode(now).expect("nobody is blocked, so no memory is borrowed"))
        });
        detached.map_err(|error: RelocationError| (error.into(), self))
    }

    /// What this process has received and not replied to, without the messages: for whoever goes on with a process that was attached.
    pub fn unanswered(&self) -> Vec<ReceivedCall> {
        self.shared.with(|kernel, _| kernel.unanswered(self.id)).into_iter().map(ReceivedCall::new).collect()
    }

    /// Its identifier: what others send to.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Blocks until what has begun has ended; whatever happens, nothing that was lent stays in the kernel.
    fn finish(&self) -> Completion<Lent> {
        let take_back = TakeBack(self);
        let completion = self.shared.wait(self.id);
        std::mem::forget(take_back);
        completion
    }

    /// Sends a message and blocks until the reply.
    ///
    /// # Errors
    /// There is no reply, or the message could not be sent.
    pub fn send(
        &mut self,
        to: impl Into<MessageDestination>,
        request: BlockedRequest<'_>,
    ) -> Result<ProcessReply, HostError> {
        let message = request.lend();
        self.shared.with(|kernel, now| kernel.send(now, self.id, to, message))?;
        match self.finish() {
            Completion::Replied { from, message, .. } => Ok(ProcessReply { from, message }),
            Completion::SendFailed { failure, .. } => Err(failure.into()),
            other => panic!("a message was answered by {other:?}"),
        }
    }

    /// Sends a message to a group like a datagram: at most once to each member, without a reply. Never blocks.
    ///
    /// # Errors
    /// The message is too long.
    pub fn notify(&mut self, group: ProcessGroupId, message: &[u8]) -> Result<(), HostError> {
        let message = OutgoingMessage::at_least_once(message.to_vec()).with_replies(WantedReplies::None);
        Ok(self.shared.with(|kernel, now| kernel.send(now, self.id, group, message))?)
    }

    /// Sends a message to a group, and blocks until there are enough replies, all that can be, or the time is over.
    ///
    /// # Errors
    /// The message could not be sent. Too few replies are no error: see [`Gathered`].
    pub fn gather(
        &mut self,
        group: ProcessGroupId,
        expected: &[ProcessId],
        request: BlockedRequest<'_>,
        until: GatherUntil,
        time: Duration,
    ) -> Result<Gathered, HostError> {
        let message = request.lend();
        let time = time.as_nanos() as u64;
        self.shared.with(|kernel, now| {
            let deadline = now.saturating_add(time);
            kernel.gather(now, self.id, message, Gathering { group, expected, until, deadline })
        })?;
        match self.finish() {
            Completion::Gathered(gathered) => Ok(gathered),
            other => panic!("a gathering was ended by {other:?}"),
        }
    }

    /// The next further reply to the last message to a group, if there is one now.
    pub fn get_reply(&mut self) -> Option<GroupReply> {
        self.shared.with(|kernel, _| kernel.get_reply(self.id))
    }

    /// Sends a message with memory that is given away until the reply, which is awaited.
    pub fn send_async(
        &mut self,
        to: impl Into<MessageDestination>,
        message: OutgoingMessage<OwnedMemory>,
    ) -> PendingSend<'_, T> {
        let OutgoingMessage { bytes, once, replies, segment } = message;
        let message = OutgoingMessage { bytes, once, replies, segment: segment.map(Lent::Owned) };
        let begun = self.shared.with(|kernel, now| kernel.send(now, self.id, to, message));
        PendingSend::new(&self.shared, self.id, begun)
    }

    /// Blocks until a message comes.
    ///
    /// # Errors
    /// None that a program could cause.
    pub fn receive(&mut self) -> Result<ReceivedCall, HostError> {
        match self.shared.with(|kernel, now| kernel.receive(now, self.id))? {
            Some(delivery) => Ok(ReceivedCall::new(delivery)),
            None => self.received(),
        }
    }

    /// Blocks until a message of this sender comes.
    ///
    /// # Errors
    /// That process does not exist, or nothing is heard of its kernel.
    pub fn receive_from(&mut self, from: ProcessId) -> Result<ReceivedCall, HostError> {
        match self.shared.with(|kernel, now| kernel.receive_specific(now, self.id, from))? {
            Some(delivery) => Ok(ReceivedCall::new(delivery)),
            None => self.received(),
        }
    }

    fn received(&mut self) -> Result<ReceivedCall, HostError> {
        match self.finish() {
            Completion::Received(delivery) => Ok(ReceivedCall::new(delivery)),
            Completion::ReceiveFailed(failure) => Err(failure.into()),
            other => panic!("a wait for messages was ended by {other:?}"),
        }
    }

    /// Awaits a message.
    pub fn receive_async(&mut self) -> PendingReceive<'_, T> {
        let begun = self.shared.with(|kernel, now| kernel.receive(now, self.id));
        PendingReceive::new(&self.shared, self.id, begun)
    }

    /// Replies. Never blocks.
    ///
    /// # Errors
    /// The sender waits no more, or the message is too long.
    pub fn reply(&mut self, call: ReceivedCall, message: &[u8]) -> Result<(), HostError> {
        self.reply_with(call, message, 0, &[])
    }

    /// Replies, with data for the sender's segment, from `offset` there. Never blocks.
    ///
    /// # Errors
    /// The sender waits no more, the message with the data is too long, or the segment has not the right or the room.
    pub fn reply_with(
        &mut self,
        call: ReceivedCall,
        message: &[u8],
        offset: u64,
        data: &[u8],
    ) -> Result<(), HostError> {
        Ok(self.shared.with(|kernel, now| kernel.reply(now, self.id, call.exchange(), message, offset, data))?)
    }

    /// Hands a message to another process, whose reply goes to the sender. Never blocks.
    ///
    /// # Errors
    /// The sender waits no more, or has sent to a group.
    pub fn forward(&mut self, call: ReceivedCall, to: ProcessId) -> Result<(), HostError> {
        Ok(self.shared.with(|kernel, now| kernel.forward(now, self.id, call.exchange(), to))?)
    }

    /// Copies from the sender's segment, from `offset` there, until `into` is full.
    ///
    /// # Errors
    /// The segment has not the right or so many bytes, the sender waits no more, or its kernel is gone.
    pub fn read(&mut self, call: &ReceivedCall, offset: u64, into: &mut [u8]) -> Result<(), HostError> {
        let memory = Lent::Write(into);
        self.shared.with(|kernel, now| kernel.move_from(now, self.id, call.exchange(), offset, memory))?;
        self.moved()
    }

    /// Copies all of `from` to the sender's segment, from `offset` there.
    ///
    /// # Errors
    /// As of [`HostProcess::read`].
    pub fn write(&mut self, call: &ReceivedCall, offset: u64, from: &[u8]) -> Result<(), HostError> {
        let memory = Lent::Read(from);
        self.shared.with(|kernel, now| kernel.move_to(now, self.id, call.exchange(), offset, memory))?;
        self.moved()
    }

    fn moved(&mut self) -> Result<(), HostError> {
        match self.finish() {
            Completion::Moved { outcome, .. } => Ok(outcome?),
            other => panic!("a transfer was ended by {other:?}"),
        }
    }

    /// Lets a logical identifier stand for this process.
    ///
    /// # Errors
    /// Too many are set.
    pub fn set_pid(&mut self, logical: u32, scope: NameScope) -> Result<(), HostError> {
        Ok(self.shared.with(|kernel, _| kernel.set_pid(logical, self.id, scope))?)
    }

    /// Who has set a logical identifier, here or anywhere.
    ///
    /// # Errors
    /// None that a program could cause.
    pub fn get_pid(&mut self, logical: u32, scope: NameScope) -> Result<Option<ProcessId>, HostError> {
        self.shared.with(|kernel, now| kernel.get_pid(now, self.id, logical, scope))?;
        match self.finish() {
            Completion::Found(process) => Ok(process),
            other => panic!("a query was ended by {other:?}"),
        }
    }

    /// A new group, with this process as its member.
    ///
    /// # Errors
    /// There are too many.
    pub fn allocate_group(&mut self) -> Result<ProcessGroupId, HostError> {
        Ok(self.shared.with(|kernel, _| kernel.allocate_group(self.id))?)
    }

    /// Makes a process a member of a group, this one or any other. When it returns, the member hears the group.
    ///
    /// # Errors
    /// That process does not exist, or there are too many members.
    pub fn join_group(&mut self, group: ProcessGroupId, member: ProcessId) -> Result<(), HostError> {
        let done = self.shared.with(|kernel, now| kernel.join_group(now, self.id, group, member))?;
        self.kernel_answered(done)
    }

    /// Takes a process out of a group.
    ///
    /// # Errors
    /// That process does not exist.
    pub fn leave_group(&mut self, group: ProcessGroupId, member: ProcessId) -> Result<(), HostError> {
        let done = self.shared.with(|kernel, now| kernel.leave_group(now, self.id, group, member))?;
        self.kernel_answered(done)
    }

    fn kernel_answered(&mut self, done: bool) -> Result<(), HostError> {
        if done {
            return Ok(());
        }
        match self.finish() {
            Completion::Replied { message, .. } if message == [1] => Ok(()),
            Completion::SendFailed { failure, .. } => Err(failure.into()),
            _ => Err(ProcessError::NoSuchProcess.into()),
        }
    }
}

impl<T: PacketTransport> Drop for HostProcess<T> {
    fn drop(&mut self) {
        self.shared.close(self.id);
    }
}
