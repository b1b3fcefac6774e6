//! A process between two kernels as bytes, little-endian: so it moves to another operating-system process, by whatever way its owner likes.
//!
//! The bytes begin with magic, version, length and checksum (CRC-32 of what follows). They name the kernel that they are for and count the
//! moves of the process, so that a copy of them is of no use anywhere else, nor a second time. Times are ages and remainders: the two
//! kernels' clocks have nothing to do with each other. Places are left out: how a sender is reached from there, its next packet tells. A
//! transfer to the segment of a message begins anew, and what has come of it is sent again.
//!
//! Invariant: whatever the bytes, decoding ends with an error or with a process that a kernel could have released.

use super::{Departure, Relocated, RelocationError};
use crate::identifier::{LogicalHostId, MessageDestination, ProcessGroupId, ProcessId};
use crate::kernel::process::{Activity, Collecting, KernelProcess, QueuedMessage, SentMessage};
use crate::kernel::receiving::{Alien, ReceiveProgress};
use crate::limits::{
    ALIENS_MAX, GROUP_REPLIES_MAX, GROUPS_MAX, MESSAGE_BYTES_MAX, MOVE_BYTES_MAX, NOTIFIERS_MAX, PAYLOAD_BYTES_MAX,
    QUEUE_MAX,
};
use crate::memory::{OwnedMemory, Portable, SegmentRights};
use crate::outbox::{GroupReply, MessageExchange, ReceivedMessage};
use crate::packet::{RequestIdentity, WantedReplies};
use raidcomm::fields::FieldReader;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thiserror::Error;

const MAGIC: [u8; 4] = *b"MOVE";
/// The version of what stands in this file.
pub const VERSION: u16 = 1;
/// Magic, version, length and checksum.
const HEAD_BYTES: usize = 4 + 2 + 8 + 4;

/// Why bytes are not a process. Whoever has them should get them again from where the process left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// They are something else.
    #[error("these bytes are no process that moves: they do not begin like one")]
    Foreign,
    /// Another version of this program made them.
    #[error("version {0} of processes that move is not understood, only {VERSION}")]
    Version(u16),
    /// Cut short, or too long.
    #[error("a process that moves has {needs} bytes, not {has}")]
    Length {
        /// Bytes that are there.
        has: u64,
        /// Bytes that there should be.
        needs: u64,
    },
    /// Damaged on the way.
    #[error("the bytes of a process that moves have checksum {computed:08x} and claim {claimed:08x}")]
    Checksum {
        /// The checksum in the bytes.
        claimed: u32,
        /// That of the bytes.
        computed: u32,
    },
    /// The checksum is right, but no kernel has written this.
    #[error("a process that moves cannot have this {0}")]
    Impossible(&'static str),
}

/// Writes fields.
struct StateWriter {
    bytes: Vec<u8>,
    now: u64,
}

impl StateWriter {
    fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.u32(count as u32);
    }

    fn slice(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
    }

    /// A time that is over, as an age.
    fn past(&mut self, at: u64) {
        self.u64(self.now.saturating_sub(at));
    }

    /// A time that may come, as a remainder.
    fn future(&mut self, at: u64) {
        self.u64(at.saturating_sub(self.now));
    }

    fn identity(&mut self, identity: RequestIdentity) {
        self.u64(identity.sequence);
        self.u32(identity.hop);
    }

    fn rights(&mut self, rights: SegmentRights) {
        self.byte(u8::from(rights.read) | u8::from(rights.write) << 1);
        self.u64(rights.bytes);
    }

    fn delivery(&mut self, delivery: &ReceivedMessage) {
        self.identity(delivery.exchange.identity);
        self.u64(delivery.group.map_or(0, ProcessGroupId::to_bits));
        self.u64(delivery.forwarder.unwrap_or(ProcessId::NOBODY).to_bits());
        self.rights(delivery.rights);
        self.slice(&delivery.message);
        self.slice(&delivery.data);
    }

    fn progress(&mut self, progress: &ReceiveProgress) {
        match progress {
            ReceiveProgress::Queued { delivery } => {
                self.byte(0);
                self.delivery(delivery);
            }
            ReceiveProgress::Delivered { since } => {
                self.byte(1);
                self.past(*since);
            }
            ReceiveProgress::Replied { message, offset, data } => {
                self.byte(2);
                self.slice(message);
                self.u64(*offset);
                self.slice(data);
            }
            ReceiveProgress::Forwarded { to } => {
                self.byte(3);
                self.u64(to.to_bits());
            }
            ReceiveProgress::Over { until } => {
                self.byte(4);
                self.future(*until);
            }
        }
    }

    fn alien<A>(&mut self, alien: &Alien<A>) {
        self.identity(alien.identity);
        self.past(alien.heard);
        self.byte(u8::from(alien.once) | u8::from(alien.grouped) << 1 | u8::from(alien.earlier.is_some()) << 2);
        self.rights(alien.rights);
        if let Some((identity, until)) = alien.earlier {
            self.identity(identity);
            self.future(until);
        }
        self.progress(&alien.progress);
    }

    fn sending<M: Portable>(&mut self, sending: &SentMessage<M>) -> Option<()> {
        self.identity(sending.identity);
        self.u64(sending.to.to_bits());
        let replies = [WantedReplies::None, WantedReplies::One, WantedReplies::Many]
            .iter()
            .position(|known| *known == sending.replies)?;
        self.byte(u8::from(sending.once) | (replies as u8) << 1);
        self.u64(sending.forwarder.to_bits());
        self.u64(sending.moved);
        self.slice(&sending.message);
        match sending.segment.as_ref().map(Portable::as_owned) {
            None => self.byte(0),
            Some(owned) => {
                let (rights, bytes) = match owned? {
                    OwnedMemory::Readable(bytes) => (1, bytes),
                    OwnedMemory::Writable(bytes) => (2, bytes),
                    OwnedMemory::Both(bytes) => (3, bytes),
                };
                self.byte(rights);
                self.slice(bytes);
            }
        }
        Some(())
    }
}

impl<A, M: Portable> Relocated<A, M> {
    /// As bytes.
    ///
    /// # Errors
    /// [`RelocationError::Busy`]: memory of this operating-system process is lent that cannot leave it.
    pub fn encode(&self, now: u64) -> Result<Vec<u8>, RelocationError> {
        let mut writer = StateWriter { bytes: vec![0; HEAD_BYTES], now };
        let Departure { id, to, moves } = self.departure;
        writer.u64(id.to_bits());
        writer.u32(to.0);
        writer.u64(moves);
        writer.u64(self.process.sequence);
        writer.u64(self.process.transfers);
        match &self.process.activity {
            Activity::Receiving { from: None } => writer.byte(1),
            Activity::Sending(sending) => {
                writer.byte(2);
                writer.sending(sending).ok_or(RelocationError::Busy)?;
            }
            _ => writer.byte(0),
        }
        writer.count(self.aliens.len());
        for (sender, alien) in &self.aliens {
            writer.u64(sender.to_bits());
            writer.alien(alien);
        }
        writer.count(self.process.queue.len());
        for waiting in &self.process.queue {
            match waiting {
                QueuedMessage::Alien(sender) => {
                    writer.byte(0);
                    writer.u64(sender.to_bits());
                }
                QueuedMessage::Notification(delivery) => {
                    writer.byte(1);
                    writer.u64(delivery.exchange.sender.to_bits());
                    writer.delivery(delivery);
                }
            }
        }
        writer.count(self.process.notified.len());
        for (sender, sequence) in &self.process.notified {
            writer.u64(sender.to_bits());
            writer.u64(*sequence);
        }
        writer.byte(u8::from(self.process.collecting.is_some()));
        if let Some(collecting) = &self.process.collecting {
            writer.identity(collecting.identity);
            writer.count(collecting.repliers.len());
            collecting.repliers.iter().for_each(|replier| writer.u64(replier.to_bits()));
            writer.count(collecting.replies.len());
            for reply in &collecting.replies {
                writer.u64(reply.from.to_bits());
                writer.slice(&reply.message);
            }
        }
        writer.count(self.groups.len());
        self.groups.iter().for_each(|group| writer.u64(group.to_bits()));
        let mut bytes = writer.bytes;
        let (length, checksum) = (bytes.len() as u64, crc32fast::hash(&bytes[HEAD_BYTES..]));
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..14].copy_from_slice(&length.to_le_bytes());
        bytes[14..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// From bytes.
    ///
    /// # Errors
    /// They are not what [`Relocated::encode`] makes.
    pub fn decode(now: u64, bytes: &[u8]) -> Result<Relocated<A, M>, DecodeError> {
        let mut reader = StateReader { fields: FieldReader(check(bytes)?), now };
        let relocated = reader.relocated()?;
        if reader.fields.0.is_empty() {
            Ok(relocated)
        } else {
            Err(DecodeError::Impossible("bytes behind its last field"))
        }
    }
}

/// What stands behind the head, if that is right.
fn check(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let has = bytes.len() as u64;
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
        return Err(DecodeError::Foreign);
    }
    let mut head = FieldReader(bytes);
    let short = DecodeError::Length { has, needs: HEAD_BYTES as u64 };
    let _magic: [u8; 4] = head.take().ok_or(short)?;
    let version = head.u16().ok_or(short)?;
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    let (needs, claimed) = (head.u64().ok_or(short)?, head.u32().ok_or(short)?);
    if needs != has {
        return Err(DecodeError::Length { has, needs });
    }
    let computed = crc32fast::hash(head.0);
    if claimed == computed { Ok(head.0) } else { Err(DecodeError::Checksum { claimed, computed }) }
}

/// Reads fields whose checksum is right, which does not make them true.
struct StateReader<'a> {
    fields: FieldReader<'a>,
    now: u64,
}

const CUT: DecodeError = DecodeError::Impossible("end in the middle of a field");

fn ensure(holds: bool, what: &'static str) -> Result<(), DecodeError> {
    if holds { Ok(()) } else { Err(DecodeError::Impossible(what)) }
}

impl StateReader<'_> {
    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.fields.byte().ok_or(CUT)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.fields.u32().ok_or(CUT)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.fields.u64().ok_or(CUT)
    }

    fn flags(&mut self, known: u8) -> Result<u8, DecodeError> {
        let flags = self.byte()?;
        ensure(flags & !known == 0, "flags")?;
        Ok(flags)
    }

    fn count(&mut self, count_max: usize, what: &'static str) -> Result<usize, DecodeError> {
        let count = self.u32()? as usize;
        ensure(count <= count_max, what)?;
        Ok(count)
    }

    fn slice(&mut self, bytes_max: usize) -> Result<Vec<u8>, DecodeError> {
        let bytes = self.count(bytes_max, "length of a message")?;
        self.fields.bytes(bytes).map(<[u8]>::to_vec).ok_or(CUT)
    }

    fn past(&mut self) -> Result<u64, DecodeError> {
        Ok(self.now.saturating_sub(self.u64()?))
    }

    fn future(&mut self) -> Result<u64, DecodeError> {
        Ok(self.now.saturating_add(self.u64()?))
    }

    fn process(&mut self) -> Result<ProcessId, DecodeError> {
        ProcessId::from_bits(self.u64()?).ok_or(DecodeError::Impossible("process"))
    }

    fn identity(&mut self) -> Result<RequestIdentity, DecodeError> {
        Ok(RequestIdentity { sequence: self.u64()?, hop: self.u32()? })
    }

    fn rights(&mut self) -> Result<SegmentRights, DecodeError> {
        let flags = self.flags(3)?;
        Ok(SegmentRights { bytes: self.u64()?, read: flags & 1 != 0, write: flags & 2 != 0 })
    }

    fn delivery(&mut self, sender: ProcessId, wants_reply: bool) -> Result<ReceivedMessage, DecodeError> {
        let identity = self.identity()?;
        let group = match self.u64()? {
            0 => None,
            bits => match MessageDestination::from_bits(bits) {
                MessageDestination::Group(group) => Some(group),
                MessageDestination::Process(_) => return Err(DecodeError::Impossible("group")),
            },
        };
        let forwarder = Some(self.process()?).filter(|&forwarder| forwarder != ProcessId::NOBODY);
        let rights = self.rights()?;
        let (message, data) = (self.slice(MESSAGE_BYTES_MAX)?, self.slice(PAYLOAD_BYTES_MAX)?);
        let fits = message.len() + data.len() <= PAYLOAD_BYTES_MAX && data.len() as u64 <= rights.bytes;
        ensure(fits && (rights.read || data.is_empty()), "data with a message")?;
        let exchange = MessageExchange { sender, identity, wants_reply };
        Ok(ReceivedMessage { exchange, group, forwarder, message, rights, data })
    }

    fn progress(
        &mut self,
        sender: ProcessId,
        identity: RequestIdentity,
        rights: SegmentRights,
    ) -> Result<ReceiveProgress, DecodeError> {
        Ok(match self.byte()? {
            0 => {
                let delivery = Box::new(self.delivery(sender, true)?);
                ensure(delivery.exchange.identity == identity && delivery.rights == rights, "message in its queue")?;
                ReceiveProgress::Queued { delivery }
            }
            1 => ReceiveProgress::Delivered { since: self.past()? },
            2 => {
                let (message, offset) = (self.slice(MESSAGE_BYTES_MAX)?, self.u64()?);
                let data = self.slice(PAYLOAD_BYTES_MAX)?;
                let allowed = data.is_empty() || (rights.write && rights.contains(offset, data.len() as u64));
                ensure(allowed && message.len() + data.len() <= PAYLOAD_BYTES_MAX, "reply")?;
                ReceiveProgress::Replied { message, offset, data }
            }
            3 => ReceiveProgress::Forwarded { to: self.process()? },
            4 => ReceiveProgress::Over { until: self.future()? },
            _ => return Err(DecodeError::Impossible("progress of a message")),
        })
    }

    fn alien<A>(&mut self, sender: ProcessId) -> Result<Alien<A>, DecodeError> {
        let (identity, heard) = (self.identity()?, self.past()?);
        let flags = self.flags(7)?;
        let rights = self.rights()?;
        let earlier = if flags & 4 != 0 { Some((self.identity()?, self.future()?)) } else { None };
        let progress = self.progress(sender, identity, rights)?;
        let (once, grouped) = (flags & 1 != 0, flags & 2 != 0);
        Ok(Alien { identity, from: None, heard, once, grouped, rights, earlier, progress })
    }

    fn sending<M: Portable>(&mut self, sequence: u64) -> Result<SentMessage<M>, DecodeError> {
        let identity = self.identity()?;
        ensure(identity.sequence <= sequence, "number of its message")?;
        let to = MessageDestination::from_bits(self.u64()?);
        let flags = self.flags(7)?;
        let replies = match flags >> 1 {
            0 => WantedReplies::None,
            1 => WantedReplies::One,
            2 => WantedReplies::Many,
            _ => return Err(DecodeError::Impossible("number of replies")),
        };
        let (forwarder, moved) = (self.process()?, self.u64()?);
        let message = self.slice(MESSAGE_BYTES_MAX)?;
        let segment = match self.byte()? {
            0 => None,
            1 => Some(OwnedMemory::Readable(self.slice(MOVE_BYTES_MAX)?)),
            2 => Some(OwnedMemory::Writable(self.slice(MOVE_BYTES_MAX)?)),
            3 => Some(OwnedMemory::Both(self.slice(MOVE_BYTES_MAX)?)),
            _ => return Err(DecodeError::Impossible("right to a segment")),
        };
        let mut segment = segment.map(M::from_owned);
        let rights = SegmentRights::of(segment.as_mut());
        ensure(!rights.write || matches!(to, MessageDestination::Process(_)), "segment for a group to write")?;
        let mut sending = SentMessage::new(self.now, identity, to, message, segment);
        (sending.once, sending.replies) = (flags & 1 != 0, replies);
        (sending.forwarder, sending.moved) = (forwarder, moved);
        Ok(sending)
    }

    fn aliens<A>(&mut self) -> Result<Vec<(ProcessId, Alien<A>)>, DecodeError> {
        let count = self.count(ALIENS_MAX, "number of senders")?;
        let mut aliens: Vec<(ProcessId, Alien<A>)> = Vec::new();
        for _ in 0..count {
            let sender = self.process()?;
            ensure(aliens.last().is_none_or(|(last, _)| *last < sender), "order of senders")?;
            aliens.push((sender, self.alien(sender)?));
        }
        Ok(aliens)
    }

    /// Each message that an alien has in the queue stands there once, and no other.
    fn queue<A>(&mut self, aliens: &[(ProcessId, Alien<A>)]) -> Result<VecDeque<QueuedMessage>, DecodeError> {
        let queued = aliens.iter().filter(|(_, alien)| matches!(alien.progress, ReceiveProgress::Queued { .. }));
        let mut queued: BTreeSet<ProcessId> = queued.map(|(sender, _)| *sender).collect();
        let mut queue = VecDeque::new();
        for _ in 0..self.count(QUEUE_MAX, "length of its queue")? {
            let kind = self.flags(1)?;
            let sender = self.process()?;
            queue.push_back(if kind == 0 {
                ensure(queued.remove(&sender), "queue")?;
                QueuedMessage::Alien(sender)
            } else {
                QueuedMessage::Notification(Box::new(self.delivery(sender, false)?))
            });
        }
        ensure(queued.is_empty(), "queue")?;
        Ok(queue)
    }

    fn collecting(&mut self) -> Result<Option<Collecting>, DecodeError> {
        if self.flags(1)? == 0 {
            return Ok(None);
        }
        let identity = self.identity()?;
        let mut repliers = BTreeSet::new();
        for _ in 0..self.count(GROUP_REPLIES_MAX, "number of repliers")? {
            repliers.insert(self.process()?);
        }
        let mut replies = VecDeque::new();
        for _ in 0..self.count(GROUP_REPLIES_MAX, "number of replies")? {
            replies.push_back(GroupReply { from: self.process()?, message: self.slice(MESSAGE_BYTES_MAX)? });
        }
        Ok(Some(Collecting { identity, repliers, replies }))
    }

    fn relocated<A, M: Portable>(&mut self) -> Result<Relocated<A, M>, DecodeError> {
        let id = self.process()?;
        ensure(id.number() != 0, "identifier")?;
        let to = LogicalHostId::from_bits(self.u32()?).ok_or(DecodeError::Impossible("destination"))?;
        let departure = Departure { id, to, moves: self.u64()? };
        let mut process = KernelProcess::new();
        (process.sequence, process.transfers) = (self.u64()?, self.u64()?);
        process.moves = departure.moves;
        process.activity = match self.byte()? {
            0 => Activity::Ready,
            1 => Activity::Receiving { from: None },
            2 => Activity::Sending(Box::new(self.sending(process.sequence)?)),
            _ => return Err(DecodeError::Impossible("activity")),
        };
        let aliens = self.aliens()?;
        process.queue = self.queue(&aliens)?;
        let mut notified = BTreeMap::new();
        for _ in 0..self.count(NOTIFIERS_MAX, "number of notifiers")? {
            notified.insert(self.process()?, self.u64()?);
        }
        process.notified = notified;
        process.collecting = self.collecting()?;
        let mut groups = Vec::new();
        for _ in 0..self.count(GROUPS_MAX, "number of groups")? {
            match MessageDestination::from_bits(self.u64()?) {
                MessageDestination::Group(group) => groups.push(group),
                MessageDestination::Process(_) => return Err(DecodeError::Impossible("group")),
            }
        }
        Ok(Relocated { departure, process, aliens, groups })
    }
}

#[cfg(test)]
mod tests;
