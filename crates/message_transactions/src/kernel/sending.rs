//! The sender's side of an exchange.
//!
//! Invariant: an exchange ends once: by its reply, by *no such process* of one who must know, by being given up after
//! [`GIVE_UP`](crate::limits::GIVE_UP) without a sign of life, or by being cancelled.

use super::Kernel;
use super::process::{Activity, Collecting, KernelProcess, ProcessError, SentMessage};
use crate::identifier::{LogicalHostId, MessageDestination, ProcessId};
use crate::limits::{GONE_WAIT, GROUP_REPLIES_MAX, HINT_TRIES, MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MAX, RETRANSMIT_MAX};
use crate::memory::{LentMemory, SegmentRights};
use crate::outbox::{Completion, GroupReply, PacketRoute, SendFailure};
use crate::packet::{PacketBody, PacketHeader, RequestIdentity, RequestPacket, WantedReplies};
use crate::planted::PlantedInKernel;
use std::collections::{BTreeSet, VecDeque};

/// What a process sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage<M> {
    /// The message, at most [`MESSAGE_BYTES_MAX`] bytes.
    pub bytes: Vec<u8>,
    /// Executed at most once by one incarnation of the receiver. Otherwise at least once, if a reply comes: for requests that
    /// may run twice, since nothing is kept for them.
    pub once: bool,
    /// How many replies are wanted; of a process, always one.
    pub replies: WantedReplies,
    /// Memory that the receiver may use until its reply. To a group it can only be readable.
    pub segment: Option<M>,
}

impl<M> OutgoingMessage<M> {
    /// Executed at most once.
    pub fn exactly_once(bytes: Vec<u8>) -> OutgoingMessage<M> {
        OutgoingMessage { bytes, once: true, replies: WantedReplies::One, segment: None }
    }

    /// Executed at least once.
    pub fn at_least_once(bytes: Vec<u8>) -> OutgoingMessage<M> {
        OutgoingMessage { bytes, once: false, replies: WantedReplies::One, segment: None }
    }

    /// With so many replies.
    pub fn with_replies(self, replies: WantedReplies) -> OutgoingMessage<M> {
        OutgoingMessage { replies, ..self }
    }

    /// With memory lent.
    pub fn with_segment(self, segment: M) -> OutgoingMessage<M> {
        OutgoingMessage { segment: Some(segment), ..self }
    }
}

/// Sends a message, or a copy of it, to one process or a group.
fn request<M: LentMemory>(sending: &SentMessage<M>, sought: bool) -> PacketBody<'_> {
    let room = PAYLOAD_BYTES_MAX - sending.message.len();
    let segment = sending.segment.as_ref().and_then(LentMemory::readable).unwrap_or_default();
    PacketBody::Send(RequestPacket {
        once: sending.once,
        replies: sending.replies,
        sought,
        read: sending.rights.read,
        write: sending.rights.write,
        segment_bytes: sending.rights.bytes,
        forwarder: sending.forwarder,
        message: &sending.message,
        data: &segment[..segment.len().min(room)],
    })
}

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// Sends a message; the outcome is a completion, except that a group message without replies ends at once.
    ///
    /// # Errors
    /// Nothing was sent: the process is busy or not here, the message too long, or a segment writable by a whole group. The
    /// memory is dropped.
    pub fn send(
        &mut self,
        now: u64,
        by: ProcessId,
        to: impl Into<MessageDestination>,
        message: OutgoingMessage<M>,
    ) -> Result<(), ProcessError> {
        let identity = self.begin_send(now, by, to.into(), message)?;
        self.transmit(by);
        let notified = match self.processes.get_mut(&by).and_then(|process| process.sending(identity)) {
            Some(sending) => sending.replies == WantedReplies::None,
            None => false,
        };
        if notified && let Some(process) = self.processes.get_mut(&by) {
            process.activity = Activity::Ready;
        }
        self.arm(by);
        self.settle(now);
        Ok(())
    }

    pub(super) fn begin_send(
        &mut self,
        now: u64,
        by: ProcessId,
        to: MessageDestination,
        mut message: OutgoingMessage<M>,
    ) -> Result<RequestIdentity, ProcessError> {
        if message.bytes.len() > MESSAGE_BYTES_MAX {
            return Err(ProcessError::TooLong);
        }
        let rights = SegmentRights::of(message.segment.as_mut());
        let replies = match to {
            MessageDestination::Process(_) => WantedReplies::One,
            MessageDestination::Group(_) if rights.write => return Err(ProcessError::NoAccess),
            MessageDestination::Group(_) => message.replies,
        };
        let wait = match to {
            MessageDestination::Process(process) => self.hints.wait(process, 0),
            MessageDestination::Group(_) => self.hints.wait(ProcessId::NOBODY, 0),
        };
        let old_kept = self.has(PlantedInKernel::OldRepliesKept);
        let process = self.ready(by)?;
        process.sequence += 1;
        let identity = RequestIdentity { sequence: process.sequence, hop: 0 };
        if !old_kept {
            process.collecting = None;
        }
        let mut sending = SentMessage::new(now, identity, to, message.bytes, message.segment);
        (sending.once, sending.replies, sending.due) = (message.once, replies, now.saturating_add(wait));
        process.activity = Activity::Sending(Box::new(sending));
        Ok(identity)
    }

    /// Gives up an exchange, query or gathering whose outcome is not wanted any more. The message may be executed all the same.
    /// The memory that was lent comes back.
    pub fn cancel(&mut self, by: ProcessId) -> Option<M> {
        let process = self.processes.get_mut(&by)?;
        std::mem::replace(&mut process.activity, Activity::Ready).into_memory()
    }

    /// Sends the message of a process, or sends it again, to where the receiver is thought to be.
    pub(super) fn transmit(&mut self, by: ProcessId) {
        let Some(Activity::Sending(sending)) = self.processes.get(&by).map(|process| &process.activity) else { return };
        match sending.to {
            MessageDestination::Process(to) => {
                let route = self.route_after(to, sending.unheard);
                let header = self.header(sending.identity, by, to);
                let body = request(sending, route == Some(PacketRoute::Everybody));
                match route {
                    None => self.outbox.send_local(&header, &body),
                    Some(route) => self.outbox.send(route, &header, &body),
                }
            }
            MessageDestination::Group(group) => {
                let missing = sending.gather.as_ref().map(|gather| gather.missing()).unwrap_or_default();
                if sending.retransmissions > 0 && !missing.is_empty() {
                    for member in missing {
                        let route = self.route_after(member, sending.retransmissions);
                        let header = self.header(sending.identity, by, member);
                        let body = request(sending, route == Some(PacketRoute::Everybody));
                        match route {
                            None => self.outbox.send_local(&header, &body),
                            Some(route) => self.outbox.send(route, &header, &body),
                        }
                    }
                    return;
                }
                let header = self.header(sending.identity, by, group);
                let body = request(sending, false);
                self.outbox.send(PacketRoute::Group(group), &header, &body);
                if self.groups.contains_key(&group) {
                    self.outbox.send_local(&header, &body);
                }
            }
        }
    }

    /// Where a message goes after so many transmissions in vain: after some, everybody is asked every other time, because hints may
    /// lead round in a circle for ever.
    fn route_after(&self, to: ProcessId, unheard: u32) -> Option<PacketRoute<A>> {
        let everybody = unheard >= HINT_TRIES && (unheard - HINT_TRIES).is_multiple_of(2);
        self.route(to).map(|route| if everybody { PacketRoute::Everybody } else { route })
    }

    pub(super) fn sending_due(&mut self, now: u64, id: ProcessId) {
        self.owner_due(now, id);
        let Some(process) = self.processes.get_mut(&id) else { return };
        let Activity::Sending(sending) = &mut process.activity else { return };
        match &sending.gather {
            Some(gather) if gather.deadline <= now => return self.end_gather(id),
            None if now >= sending.given_up() => return self.fail_send(id, SendFailure::GaveUp),
            _ => {}
        }
        if sending.due > now {
            return;
        }
        sending.retransmissions = sending.retransmissions.saturating_add(1);
        sending.unheard = sending.unheard.saturating_add(1);
        let retransmissions = sending.retransmissions;
        match sending.to {
            MessageDestination::Process(to) => {
                if sending.unheard >= HINT_TRIES {
                    self.hints.forget(to);
                }
                self.hints.back_off(to, retransmissions);
                sending.due = now.saturating_add(self.hints.wait(to, retransmissions));
            }
            MessageDestination::Group(_) => {
                sending.due = now.saturating_add(self.hints.wait(ProcessId::NOBODY, retransmissions));
            }
        }
        self.transmit(id);
    }

    /// The kernel that was at this place has ended. What its processes were asked is lost, unless they have gone elsewhere before:
    /// everybody is asked for them at once, and they are given up soon.
    pub fn place_gone(&mut self, now: u64, place: A) {
        self.now = now;
        let was_there = |(&id, process): (&ProcessId, &KernelProcess<M>)| match &process.activity {
            Activity::Sending(sending) => match sending.to {
                MessageDestination::Process(to) => (self.route(to) == Some(PacketRoute::Place(place))).then_some(id),
                MessageDestination::Group(_) => None,
            },
            Activity::Moving(moving) => {
                (self.route_back(id, moving.exchange.sender) == Some(PacketRoute::Place(place))).then_some(id)
            }
            _ => None,
        };
        let waiting: Vec<ProcessId> = self.processes.iter().filter_map(was_there).collect();
        self.hints.forget_place(place);
        self.aliens.values_mut().filter(|alien| alien.from == Some(place)).for_each(|alien| alien.from = None);
        for id in waiting {
            match self.processes.get_mut(&id).map(|process| &mut process.activity) {
                Some(Activity::Sending(sending)) => {
                    sending.hear(now);
                    (sending.patience, sending.due, sending.unheard) = (GONE_WAIT, now, HINT_TRIES - 1);
                }
                Some(Activity::Moving(moving)) => (moving.heard, moving.patience) = (now, GONE_WAIT),
                _ => {}
            }
            self.arm(id);
        }
        self.tick(now);
    }

    pub(super) fn fail_send(&mut self, id: ProcessId, failure: SendFailure) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let segment = std::mem::replace(&mut process.activity, Activity::Ready).into_memory();
        self.complete(id, Completion::SendFailed { failure, segment });
    }

    pub(super) fn replied(
        &mut self,
        now: u64,
        to: ProcessId,
        header: &PacketHeader,
        offset: u64,
        message: &[u8],
        data: &[u8],
    ) {
        let unmatched = self.has(PlantedInKernel::ReplyUnmatched);
        let Some(process) = self.processes.get_mut(&to) else { return };
        let Activity::Sending(sending) = &mut process.activity else {
            return self.replied_late(to, header, message);
        };
        if sending.identity != header.identity && !unmatched {
            return;
        }
        if let MessageDestination::Process(receiver) = sending.to {
            if receiver != header.source {
                return;
            }
            if sending.retransmissions == 0 && sending.identity.hop == 0 {
                self.hints.sample(receiver, now.saturating_sub(sending.sent));
            }
        }
        if !data.is_empty() {
            let fits = sending.rights.contains(offset, data.len() as u64);
            let memory = sending.segment.as_mut().and_then(LentMemory::writable).filter(|_| fits);
            let Some(memory) = memory else { return };
            memory[offset as usize..][..data.len()].copy_from_slice(data);
        }
        if sending.gather.is_some() {
            return self.gather_reply(to, header.source, message);
        }
        if sending.replies == WantedReplies::Many {
            let repliers = BTreeSet::from([header.source]);
            process.collecting = Some(Collecting { identity: header.identity, repliers, replies: VecDeque::new() });
        }
        let segment = std::mem::replace(&mut process.activity, Activity::Ready).into_memory();
        let completion = Completion::Replied { from: header.source, message: message.to_vec(), segment };
        self.complete(to, completion);
    }

    /// A reply to a group message whose sender has gone on with the first.
    fn replied_late(&mut self, to: ProcessId, header: &PacketHeader, message: &[u8]) {
        let Some(collecting) = self.processes.get_mut(&to).and_then(|process| process.collecting.as_mut()) else {
            return;
        };
        let room = collecting.replies.len() < GROUP_REPLIES_MAX && collecting.repliers.len() < GROUP_REPLIES_MAX;
        if collecting.identity == header.identity && room && collecting.repliers.insert(header.source) {
            collecting.replies.push_back(GroupReply { from: header.source, message: message.to_vec() });
        }
    }

    /// The next reply to the last group message of a process that asked for many. Never waits: `None` means that there is none
    /// now, and that one may come until the process sends again.
    pub fn get_reply(&mut self, by: ProcessId) -> Option<GroupReply> {
        self.processes.get_mut(&by)?.collecting.as_mut()?.replies.pop_front()
    }

    /// The exchange of a process with that receiver, if it is the one that a packet speaks of.
    fn exchange_with(&mut self, to: ProcessId, header: &PacketHeader) -> Option<&mut SentMessage<M>> {
        let sending = self.processes.get_mut(&to)?.sending(header.identity)?;
        (sending.to == MessageDestination::Process(header.source)).then_some(sending)
    }

    pub(super) fn forwarded(&mut self, now: u64, to: ProcessId, header: &PacketHeader, receiver: ProcessId) {
        let wait = self.hints.wait(receiver, 0);
        let Some(sending) = self.exchange_with(to, header) else { return };
        sending.identity.hop = sending.identity.hop.saturating_add(1);
        sending.forwarder = header.source;
        sending.to = MessageDestination::Process(receiver);
        sending.hear(now);
        (sending.sent, sending.due) = (now, now.saturating_add(wait));
        (sending.retransmissions, sending.moved, sending.inflow) = (0, 0, None);
        self.transmit(to);
        self.arm(to);
    }

    pub(super) fn no_process(&mut self, now: u64, to: ProcessId, header: &PacketHeader, certain: bool) {
        if self.is_gathering(to, header.identity) {
            return self.gather_dead(to, header.source, certain);
        }
        let certain = certain || self.has(PlantedInKernel::StaleHintBelieved);
        if self.exchange_with(to, header).is_none() {
            return;
        }
        if certain {
            return self.fail_send(to, SendFailure::NoSuchProcess);
        }
        // The hint was stale. Whoever has the process answers when everybody is asked.
        self.hints.forget(header.source);
        self.search(now, to, header.source);
    }

    /// Sends at once, because it is known now that the receiver is not where it was looked for. This may go on for ever without a
    /// sign of life, so after [`HINT_TRIES`] transmissions it waits for the timer like all others.
    fn search(&mut self, now: u64, to: ProcessId, receiver: ProcessId) {
        let wait = self.hints.wait(receiver, 0);
        let Some(Activity::Sending(sending)) = self.processes.get_mut(&to).map(|process| &mut process.activity) else {
            return;
        };
        if sending.unheard < HINT_TRIES {
            sending.retransmissions = sending.retransmissions.saturating_add(1);
            sending.unheard += 1;
            sending.due = now.saturating_add(wait);
            self.transmit(to);
            self.arm(to);
        }
    }

    pub(super) fn told_moved(&mut self, now: u64, to: ProcessId, header: &PacketHeader, kernel: LogicalHostId) {
        if let Some(last) = self.moved.get_mut(&header.source) {
            last.to = kernel;
        }
        let ours = self.is_gathering(to, header.identity) || self.exchange_with(to, header).is_some();
        if ours && !self.hints.moved(header.source, kernel) {
            self.hints.forget(header.source);
            // Nobody knows where that kernel is: everybody is asked next.
            if let Some(sending) = self.exchange_with(to, header) {
                sending.unheard = HINT_TRIES - 1;
            }
        }
        if self.exchange_with(to, header).is_some() {
            self.search(now, to, header.source);
        }
    }

    pub(super) fn pending(&mut self, now: u64, to: ProcessId, header: &PacketHeader) {
        if self.has(PlantedInKernel::PendingIgnored) {
            return;
        }
        if self.is_gathering(to, header.identity) {
            return self.gather_pending(to, header.source);
        }
        let once = self.hints.wait(header.source, 0);
        let Some(sending) = self.processes.get_mut(&to).and_then(|process| process.sending(header.identity)) else {
            return;
        };
        // Both timers start again; the wait stays doubled, so that a long execution is asked about less and less often.
        let wait = (once << sending.retransmissions.min(16)).min(RETRANSMIT_MAX);
        sending.hear(now);
        sending.due = now.saturating_add(wait);
        self.arm(to);
    }
}
