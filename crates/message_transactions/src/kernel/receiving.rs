//! The receiver's side of an exchange. An alien stands for a sender: its message waits, is executed, or has been replied to.
//!
//! Invariants, for each sender and receiver:
//! * a message that is to be executed at most once is delivered at most once, as long as the receiver is not lost;
//! * an alien goes when its sender was silent for [`RETENTION`], or goes on: then no copy of its message can come that matters;
//! * one more alien than there are is always possible, or the message is answered *reply pending*: silence never means a full table.

use super::process::{Activity, ProcessError, QueuedMessage};
use super::{Kernel, Timer};
use crate::identifier::{MessageDestination, ProcessId};
use crate::limits::{MESSAGE_BYTES_MAX, NOTIFIERS_MAX, PACKET_LIFE, PAYLOAD_BYTES_MAX, QUEUE_MAX, RETENTION};
use crate::memory::{LentMemory, SegmentRights};
use crate::outbox::{Completion, MessageExchange, ReceivedMessage};
use crate::packet::{PacketBody, PacketHeader, RequestIdentity, RequestPacket, WantedReplies};
use crate::planted::PlantedInKernel;

/// How often silent aliens are looked for.
const SWEEP: u64 = RETENTION / 8;

/// Why a reply is not possible.
pub type ReplyError = ProcessError;

/// How far a message is.
#[derive(Debug)]
pub(super) enum ReceiveProgress {
    /// It waits in the receiver's queue.
    Queued { delivery: Box<ReceivedMessage> },
    /// It is executed, since then.
    Delivered { since: u64 },
    /// It was replied to; this is what its copies are answered with.
    Replied { message: Vec<u8>, offset: u64, data: Vec<u8> },
    /// It was forwarded; this is what its copies are answered with.
    Forwarded { to: ProcessId },
    /// Its sender has gone on. Copies that are still on their way are dropped.
    Over { until: u64 },
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Alien<A> {
    pub identity: RequestIdentity,
    /// Where it was last heard from; `None` for inside, or unknown.
    pub from: Option<A>,
    pub heard: u64,
    pub once: bool,
    pub grouped: bool,
    pub rights: SegmentRights,
    /// An earlier message that must not be executed again, of which copies could come until then.
    pub earlier: Option<(RequestIdentity, u64)>,
    pub progress: ReceiveProgress,
}

impl<A> Alien<A> {
    fn expires(&self) -> u64 {
        match self.progress {
            ReceiveProgress::Over { until } => until,
            _ => self.heard.saturating_add(RETENTION),
        }
    }
}

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// Takes the next message, in the order of arrival. `None`: the process waits now, and the message will be a completion.
    ///
    /// # Errors
    /// The process is busy or not here.
    pub fn receive(&mut self, now: u64, by: ProcessId) -> Result<Option<ReceivedMessage>, ProcessError> {
        self.ready(by)?;
        Ok(self.next_message(now, by, None))
    }

    /// Takes the next message of one sender. `None`: the process waits now. If that sender does not exist, the completion says so.
    ///
    /// # Errors
    /// The process is busy or not here, or there are too many processes.
    pub fn receive_specific(
        &mut self,
        now: u64,
        by: ProcessId,
        from: ProcessId,
    ) -> Result<Option<ReceivedMessage>, ProcessError> {
        self.ready(by)?;
        let next = self.next_message(now, by, Some(from));
        if next.is_none() {
            self.probe(now, by, from)?;
            self.settle(now);
        }
        Ok(next)
    }

    /// Ends the waiting of a process for a message.
    pub fn stop_receiving(&mut self, by: ProcessId) {
        if let Some(process) = self.processes.get_mut(&by)
            && matches!(process.activity, Activity::Receiving { .. })
        {
            process.activity = Activity::Ready;
        }
    }

    /// A message that was given to a process, which has not looked at it, waits again, before all others.
    pub fn put_back(&mut self, by: ProcessId, delivery: ReceivedMessage) {
        let (sender, wants_reply) = (delivery.exchange.sender, delivery.exchange.wants_reply);
        let (exchange, delivery) = (delivery.exchange, Box::new(delivery));
        let waiting =
            if wants_reply { QueuedMessage::Alien(sender) } else { QueuedMessage::Notification(delivery.clone()) };
        if wants_reply {
            let alien = self.aliens.get_mut(&(sender, by)).filter(|alien| {
                alien.identity == exchange.identity && matches!(alien.progress, ReceiveProgress::Delivered { .. })
            });
            let Some(alien) = alien else { return };
            alien.progress = ReceiveProgress::Queued { delivery };
        }
        if let Some(process) = self.processes.get_mut(&by) {
            process.queue.push_front(waiting);
        }
    }

    fn next_message(&mut self, now: u64, by: ProcessId, from: Option<ProcessId>) -> Option<ReceivedMessage> {
        let last_first = self.has(PlantedInKernel::LastInFirstOut);
        let process = self.processes.get_mut(&by)?;
        let position = match from {
            None if last_first => process.queue.len().checked_sub(1),
            None => (!process.queue.is_empty()).then_some(0),
            Some(from) => process.queue.iter().position(|waiting| match waiting {
                QueuedMessage::Alien(sender) => *sender == from,
                QueuedMessage::Notification(delivery) => delivery.exchange.sender == from,
            }),
        };
        match position.and_then(|position| process.queue.remove(position)) {
            None => {
                process.activity = Activity::Receiving { from };
                None
            }
            Some(QueuedMessage::Notification(delivery)) => Some(*delivery),
            Some(QueuedMessage::Alien(sender)) => {
                let alien = self.aliens.get_mut(&(sender, by)).expect("what waits in a queue has an alien");
                match std::mem::replace(&mut alien.progress, ReceiveProgress::Delivered { since: now }) {
                    ReceiveProgress::Queued { delivery } => Some(*delivery),
                    other => panic!("what waits in a queue was {other:?}"),
                }
            }
        }
    }

    /// Gives a waiting process what has come for it.
    pub(super) fn offer(&mut self, now: u64, to: ProcessId) {
        let Some(Activity::Receiving { from }) = self.processes.get(&to).map(|process| &process.activity) else {
            return;
        };
        let from = *from;
        if let Some(delivery) = self.next_message(now, to, from) {
            self.complete(to, Completion::Received(delivery));
        }
    }

    pub(super) fn arrived(&mut self, now: u64, from: Option<A>, header: &PacketHeader, request: &RequestPacket<'_>) {
        match header.destination {
            MessageDestination::Process(to) if to == self.host.kernel_server() => self.serve(from, header, request),
            MessageDestination::Process(to) => self.admit(now, from, header, request, to),
            MessageDestination::Group(group) => {
                let members = self.groups.get(&group).into_iter().flatten().copied();
                let members: Vec<ProcessId> = members.filter(|&member| member != header.source).collect();
                for member in members {
                    self.admit(now, from, header, request, member);
                }
            }
        }
    }

    /// A message that came for one process.
    fn admit(&mut self, now: u64, from: Option<A>, header: &PacketHeader, request: &RequestPacket<'_>, to: ProcessId) {
        let key = (header.source, to);
        if let Some(alien) = self.aliens.get_mut(&key)
            && request.replies != WantedReplies::None
        {
            if header.identity < alien.identity {
                return;
            }
            if header.identity == alien.identity {
                (alien.from, alien.heard) = (from, now);
                if !(self.planted == Some(PlantedInKernel::DuplicateDelivered) && self.processes.contains_key(&to)) {
                    return self.admit_again(now, key);
                }
            }
        }
        if !self.processes.contains_key(&to) {
            return self.absent(from, header, request, to);
        }
        if request.replies == WantedReplies::None {
            return self.notify(now, header, request, to);
        }
        self.release_earlier(now, header.source, header.identity);
        let old = self.aliens.remove(&key);
        if old.as_ref().is_some_and(|old| matches!(old.progress, ReceiveProgress::Queued { .. })) {
            self.unqueue(key);
        }
        let queued = self.processes.get(&to).map_or(0, |process| process.queue.len());
        if self.aliens.len() >= self.aliens_max || queued >= QUEUE_MAX {
            old.map(|old| {
                self.aliens.insert(key, Alien { progress: ReceiveProgress::Over { until: old.expires() }, ..old })
            });
            if !self.has(PlantedInKernel::NoBufferSilent) {
                self.answer(from, header, to, &PacketBody::Pending { ran: 0 });
            }
            return;
        }
        let earlier = old.and_then(|old| match old.once {
            true => Some((old.identity, now + PACKET_LIFE)),
            false => old.earlier.filter(|&(_, until)| until > now),
        });
        let delivery = Box::new(delivery(header, request));
        let alien = Alien {
            identity: header.identity,
            from,
            heard: now,
            once: request.once,
            grouped: delivery.group.is_some() || request.replies == WantedReplies::Many,
            rights: delivery.rights,
            earlier,
            progress: ReceiveProgress::Queued { delivery },
        };
        self.aliens.insert(key, alien);
        self.arm_sweep(now);
        if let Some(process) = self.processes.get_mut(&to) {
            process.queue.push_back(QueuedMessage::Alien(header.source));
        }
        self.offer(now, to);
    }

    /// A copy of a message that is known.
    fn admit_again(&mut self, now: u64, key: (ProcessId, ProcessId)) {
        let silent = self.has(PlantedInKernel::DuplicateUnanswered);
        let Some(alien) = self.aliens.get(&key) else { return };
        let header = self.header(alien.identity, key.1, key.0);
        let route = alien.from.map(super::PacketRoute::Place).or_else(|| self.route(key.0));
        let body = match &alien.progress {
            ReceiveProgress::Queued { .. } | ReceiveProgress::Delivered { .. } if silent => return,
            ReceiveProgress::Queued { .. } => PacketBody::Pending { ran: 0 },
            ReceiveProgress::Delivered { since } => PacketBody::Pending { ran: now.saturating_sub(*since) },
            ReceiveProgress::Replied { message, offset, data } => PacketBody::Reply { offset: *offset, message, data },
            ReceiveProgress::Forwarded { to } => PacketBody::Forward { to: *to },
            ReceiveProgress::Over { .. } => return,
        };
        match route {
            None => self.outbox.send_local(&header, &body),
            Some(route) => self.outbox.send(route, &header, &body),
        }
    }

    /// The receiver is not here.
    fn absent(&mut self, from: Option<A>, header: &PacketHeader, request: &RequestPacket<'_>, to: ProcessId) {
        if request.sought || matches!(header.destination, MessageDestination::Group(_)) {
            return;
        }
        match self.moved.get(&to) {
            Some(moved) => {
                let kernel = moved.to;
                self.answer(from, header, to, &PacketBody::Moved { to: kernel });
            }
            None => {
                let certain = to.host() == self.host || self.ended.contains(&to);
                self.answer(from, header, to, &PacketBody::NoProcess { certain });
            }
        }
    }

    /// A message without a reply: no alien, and nothing but its number is kept.
    fn notify(&mut self, now: u64, header: &PacketHeader, request: &RequestPacket<'_>, to: ProcessId) {
        let Some(process) = self.processes.get_mut(&to) else { return };
        let sequence = header.identity.sequence;
        if process.queue.len() >= QUEUE_MAX
            || process.notified.get(&header.source).is_some_and(|&last| last >= sequence)
        {
            return;
        }
        if process.notified.len() >= NOTIFIERS_MAX && !process.notified.contains_key(&header.source) {
            process.notified.pop_first();
        }
        process.notified.insert(header.source, sequence);
        process.queue.push_back(QueuedMessage::Notification(Box::new(delivery(header, request))));
        self.offer(now, to);
    }

    /// The sender has gone on: what is kept for its earlier messages, to whatever process here, goes.
    fn release_earlier(&mut self, now: u64, sender: ProcessId, identity: RequestIdentity) {
        let range = (sender, ProcessId(0))..=(sender, ProcessId(u64::MAX));
        let mut unqueued = Vec::new();
        for (&key, alien) in self.aliens.range_mut(range) {
            if alien.identity.sequence >= identity.sequence {
                continue;
            }
            match alien.progress {
                ReceiveProgress::Queued { .. } => unqueued.push(key),
                ReceiveProgress::Replied { .. } | ReceiveProgress::Forwarded { .. } => {}
                ReceiveProgress::Delivered { .. } | ReceiveProgress::Over { .. } => continue,
            }
            alien.progress = ReceiveProgress::Over { until: now + PACKET_LIFE };
        }
        unqueued.into_iter().for_each(|key| self.unqueue(key));
    }

    /// Takes an alien's message out of its receiver's queue.
    fn unqueue(&mut self, (sender, receiver): (ProcessId, ProcessId)) {
        if let Some(process) = self.processes.get_mut(&receiver) {
            process.queue.retain(|waiting| !matches!(waiting, QueuedMessage::Alien(other) if *other == sender));
        }
    }

    /// The alien of a message that this process has received and not replied to.
    pub(super) fn delivered(&self, by: ProcessId, exchange: &MessageExchange) -> Result<&Alien<A>, ProcessError> {
        self.aliens
            .get(&(exchange.sender, by))
            .filter(|alien| {
                alien.identity == exchange.identity && matches!(alien.progress, ReceiveProgress::Delivered { .. })
            })
            .ok_or(ProcessError::NotAwaitingReply)
    }

    /// Replies: `data` is put at `offset` of the sender's segment. Rights on the segment end with it. Never waits; if the reply is
    /// lost, the sender asks again and is answered from memory.
    ///
    /// # Errors
    /// The sender does not wait for a reply of this process (any more), or the reply is too long or does not fit the segment.
    pub fn reply(
        &mut self,
        now: u64,
        by: ProcessId,
        exchange: &MessageExchange,
        message: &[u8],
        offset: u64,
        data: &[u8],
    ) -> Result<(), ReplyError> {
        if !exchange.wants_reply {
            return Ok(());
        }
        let alien = self.delivered(by, exchange)?;
        if message.len() > MESSAGE_BYTES_MAX || message.len() + data.len() > PAYLOAD_BYTES_MAX {
            return Err(ProcessError::TooLong);
        }
        if !data.is_empty() && !alien.rights.write {
            return Err(ProcessError::NoAccess);
        }
        if !data.is_empty() && !alien.rights.contains(offset, data.len() as u64) {
            return Err(ProcessError::OutOfBounds);
        }
        let (route, keep) =
            (alien.from.map(super::PacketRoute::Place), alien.once && !self.has(PlantedInKernel::ReplyNotKept));
        let route = route.or_else(|| self.route(exchange.sender));
        let header = self.header(exchange.identity, by, exchange.sender);
        self.post(route, &header, &PacketBody::Reply { offset, message, data });
        match keep {
            true => {
                let kept = ReceiveProgress::Replied { message: message.to_vec(), offset, data: data.to_vec() };
                self.progress(now, by, exchange, kept);
            }
            false => self.forget(now, (exchange.sender, by)),
        }
        self.settle(now);
        Ok(())
    }

    /// Messages that this process has received and not replied to, without what they said: for a program that goes on with a process
    /// which has come from another kernel.
    pub fn unanswered(&self, by: ProcessId) -> Vec<ReceivedMessage> {
        let ours = self.aliens.iter().filter(|((_, receiver), alien)| {
            *receiver == by && matches!(alien.progress, ReceiveProgress::Delivered { .. })
        });
        let unanswered = ours.map(|(&(sender, _), alien)| ReceivedMessage {
            exchange: MessageExchange { sender, identity: alien.identity, wants_reply: true },
            group: None,
            forwarder: None,
            message: Vec::new(),
            rights: alien.rights,
            data: Vec::new(),
        });
        unanswered.collect()
    }

    /// Hands the message to another process, as though the sender had sent it there, whose reply goes to the sender. Never waits.
    ///
    /// # Errors
    /// The sender does not wait for a reply of this process (any more), or has sent to a group: each member replies for itself.
    pub fn forward(
        &mut self,
        now: u64,
        by: ProcessId,
        exchange: &MessageExchange,
        to: ProcessId,
    ) -> Result<(), ReplyError> {
        let alien = self.delivered(by, exchange)?;
        if alien.grouped {
            return Err(ProcessError::NoAccess);
        }
        let route = alien.from.map(super::PacketRoute::Place).or_else(|| self.route(exchange.sender));
        let header = self.header(exchange.identity, by, exchange.sender);
        self.post(route, &header, &PacketBody::Forward { to });
        match self.has(PlantedInKernel::ForwardNotKept) {
            true => self.forget(now, (exchange.sender, by)),
            false => self.progress(now, by, exchange, ReceiveProgress::Forwarded { to }),
        }
        self.settle(now);
        Ok(())
    }

    fn progress(&mut self, now: u64, by: ProcessId, exchange: &MessageExchange, progress: ReceiveProgress) {
        if let Some(alien) = self.aliens.get_mut(&(exchange.sender, by)) {
            alien.progress = progress;
            alien.heard = now;
        }
    }

    /// Nothing need be kept of a message that may be executed again, but what an earlier one left.
    fn forget(&mut self, now: u64, key: (ProcessId, ProcessId)) {
        let Some(alien) = self.aliens.get_mut(&key) else { return };
        match alien.earlier {
            Some((identity, until)) if until > now => {
                (alien.identity, alien.once, alien.progress) = (identity, true, ReceiveProgress::Over { until });
            }
            _ => {
                self.aliens.remove(&key);
            }
        }
    }

    pub(super) fn arm_sweep(&mut self, now: u64) {
        if !self.sweep {
            self.sweep = true;
            self.timers.insert((now + SWEEP, Timer::Sweep));
        }
    }

    /// Lets aliens go whose senders were silent.
    pub(super) fn sweep(&mut self, now: u64) {
        let stays = self.has(PlantedInKernel::AlienStays);
        self.sweep = false;
        let expired = self.aliens.iter().filter(|(_, alien)| !stays && alien.expires() <= now);
        let expired: Vec<_> = expired.map(|(&key, _)| key).collect();
        for key in expired {
            self.aliens.remove(&key);
            self.unqueue(key);
        }
        if !self.aliens.is_empty() {
            self.arm_sweep(now);
        }
    }

    /// A process ends: who waits for it is told, what it has replied to stays.
    pub(super) fn refuse_waiting(&mut self, ended: ProcessId) {
        let waiting = self.aliens.iter().filter(|((_, receiver), alien)| {
            *receiver == ended
                && matches!(alien.progress, ReceiveProgress::Queued { .. } | ReceiveProgress::Delivered { .. })
        });
        let waiting: Vec<_> = waiting.map(|(&key, alien)| (key, alien.identity, alien.from)).collect();
        for (key, identity, from) in waiting {
            self.aliens.remove(&key);
            let route = from.map(super::PacketRoute::Place).or_else(|| self.route(key.0));
            let header = self.header(identity, ended, key.0);
            self.post(route, &header, &PacketBody::NoProcess { certain: true });
        }
    }
}

fn delivery(header: &PacketHeader, request: &RequestPacket<'_>) -> ReceivedMessage {
    let wants_reply = request.replies != WantedReplies::None;
    ReceivedMessage {
        exchange: MessageExchange { sender: header.source, identity: header.identity, wants_reply },
        group: match header.destination {
            MessageDestination::Group(group) => Some(group),
            MessageDestination::Process(_) => None,
        },
        forwarder: (request.forwarder != ProcessId::NOBODY).then_some(request.forwarder),
        message: request.message.to_vec(),
        rights: SegmentRights { bytes: request.segment_bytes, read: request.read, write: request.write },
        data: request.data.to_vec(),
    }
}
