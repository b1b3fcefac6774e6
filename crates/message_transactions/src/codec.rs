//! Packets as bytes, little-endian.
//!
//! A packet begins with its version, kind, flags and length, so that several can follow each other in one buffer, as segmentation
//! offload delivers them. Invariant: whatever the bytes, decoding ends with a packet whose lengths are checked or an error.

use super::identifier::{LogicalHostId, MessageDestination, ProcessId};
use super::limits::{
    CHUNK_BYTES, MESSAGE_BYTES_MAX, MOVE_BYTES_MAX, PACKET_BYTES_MAX, PAYLOAD_BYTES_MAX, VERSION, WANTED_WORDS_MAX,
};
use super::packet::{
    BulkRefusal, PacketBody, PacketHeader, RequestIdentity, RequestPacket, Transfer, WantedChunks, WantedReplies,
};
use thiserror::Error;

/// Bytes before what each kind of packet adds.
pub const HEADER_BYTES: usize = 40;
/// Bytes of a chunk's packet that are not data.
pub const DATA_HEADER_BYTES: usize = HEADER_BYTES + TRANSFER_BYTES + 4;
const TRANSFER_BYTES: usize = 24;
const SEND_BYTES: usize = 20;

const _: () = assert!(DATA_HEADER_BYTES + CHUNK_BYTES <= PACKET_BYTES_MAX, "a chunk fits its packet");
const _: () = assert!(HEADER_BYTES + SEND_BYTES + PAYLOAD_BYTES_MAX <= PACKET_BYTES_MAX, "a message fits its packet");

/// What is wrong with a packet. It is dropped; its sender sends it again if it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// Cut short, or not a packet.
    #[error("{has} bytes where a packet has at least {needs}")]
    Short {
        /// Bytes that are there.
        has: usize,
        /// Bytes that are needed.
        needs: usize,
    },
    /// From another version of this program.
    #[error("version {0} of packets is not understood, only {VERSION}")]
    Version(u8),
    /// No such packet.
    #[error("there is no kind {0} of packets")]
    Kind(u8),
    /// Bits that have no meaning in this kind of packet.
    #[error("flags {flags:#06x} have no meaning in kind {kind}")]
    Flags {
        /// The kind of packet.
        kind: u8,
        /// Its flags.
        flags: u16,
    },
    /// A length in the packet does not fit the packet.
    #[error("{what} is {value}, which does not fit a packet of {bytes} bytes")]
    Length {
        /// The field.
        what: &'static str,
        /// What it says.
        value: u64,
        /// Length of the packet.
        bytes: usize,
    },
    /// A field names something that cannot be.
    #[error("{what} cannot be {value:#x}")]
    Value {
        /// The field.
        what: &'static str,
        /// What it says.
        value: u64,
    },
}

mod kind {
    pub const HOST_REQUEST: u8 = 1;
    pub const HOST_COMPLAINT: u8 = 2;
    pub const SEND: u8 = 3;
    pub const REPLY: u8 = 4;
    pub const FORWARD: u8 = 5;
    pub const NO_PROCESS: u8 = 6;
    pub const MOVED: u8 = 7;
    pub const PENDING: u8 = 8;
    pub const GET_PID: u8 = 9;
    pub const GET_PID_REPLY: u8 = 10;
    pub const HERE: u8 = 11;
    pub const DATA: u8 = 12;
    pub const PULL: u8 = 13;
    pub const DONE: u8 = 14;
    pub const REFUSED: u8 = 15;
}

mod flag {
    pub const ONCE: u16 = 1;
    pub const SOUGHT: u16 = 2;
    pub const READ: u16 = 4;
    pub const WRITE: u16 = 8;
    pub const REPLIES_ONE: u16 = 16;
    pub const REPLIES_MANY: u16 = 32;
    pub const CERTAIN: u16 = 1;
    pub const TO_OWNER: u16 = 1;
    pub const ASK: u16 = 2;
}

fn set(condition: bool, flag: u16) -> u16 {
    if condition { flag } else { 0 }
}

fn kind_and_flags(body: &PacketBody<'_>) -> (u8, u16) {
    match body {
        PacketBody::HostRequest { .. } => (kind::HOST_REQUEST, 0),
        PacketBody::HostComplaint { .. } => (kind::HOST_COMPLAINT, 0),
        PacketBody::Send(request) => {
            let replies = match request.replies {
                WantedReplies::None => 0,
                WantedReplies::One => flag::REPLIES_ONE,
                WantedReplies::Many => flag::REPLIES_MANY,
            };
            let rights = set(request.read, flag::READ) | set(request.write, flag::WRITE);
            (kind::SEND, replies | rights | set(request.once, flag::ONCE) | set(request.sought, flag::SOUGHT))
        }
        PacketBody::Reply { .. } => (kind::REPLY, 0),
        PacketBody::Forward { .. } => (kind::FORWARD, 0),
        PacketBody::NoProcess { certain } => (kind::NO_PROCESS, set(*certain, flag::CERTAIN)),
        PacketBody::Moved { .. } => (kind::MOVED, 0),
        PacketBody::Pending { .. } => (kind::PENDING, 0),
        PacketBody::GetPid { .. } => (kind::GET_PID, 0),
        PacketBody::GetPidReply { .. } => (kind::GET_PID_REPLY, 0),
        PacketBody::Here => (kind::HERE, 0),
        PacketBody::Data { to_owner, ask, .. } => (kind::DATA, set(*to_owner, flag::TO_OWNER) | set(*ask, flag::ASK)),
        PacketBody::Pull { to_owner, .. } => (kind::PULL, set(*to_owner, flag::TO_OWNER)),
        PacketBody::Done { .. } => (kind::DONE, 0),
        PacketBody::Refused { .. } => (kind::REFUSED, 0),
    }
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_transfer(out: &mut Vec<u8>, transfer: &Transfer) {
    put_u64(out, transfer.number);
    put_u64(out, transfer.offset);
    put_u64(out, transfer.total);
}

/// Appends a packet.
///
/// # Panics
/// If it is larger than [`PACKET_BYTES_MAX`]: the kernel checks lengths when it is asked to send.
pub fn encode(header: &PacketHeader, body: &PacketBody<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    let (kind, flags) = kind_and_flags(body);
    out.extend_from_slice(&[VERSION, kind]);
    out.extend_from_slice(&flags.to_le_bytes());
    put_u32(out, 0);
    put_u32(out, header.kernel.0);
    put_u32(out, header.identity.hop);
    put_u64(out, header.identity.sequence);
    put_u64(out, header.source.0);
    put_u64(out, header.destination.to_bits());
    match body {
        PacketBody::HostRequest { proposed, life } | PacketBody::HostComplaint { proposed, life } => {
            put_u32(out, proposed.0);
            put_u64(out, *life);
        }
        PacketBody::Send(request) => {
            put_u64(out, request.segment_bytes);
            put_u64(out, request.forwarder.0);
            put_u32(out, request.message.len() as u32);
            out.extend_from_slice(request.message);
            out.extend_from_slice(request.data);
        }
        PacketBody::Reply { offset, message, data } => {
            put_u64(out, *offset);
            put_u32(out, message.len() as u32);
            out.extend_from_slice(message);
            out.extend_from_slice(data);
        }
        PacketBody::Forward { to } => put_u64(out, to.0),
        PacketBody::Moved { to } => put_u32(out, to.0),
        PacketBody::Pending { ran } => put_u64(out, *ran),
        PacketBody::GetPid { logical } => put_u32(out, *logical),
        PacketBody::GetPidReply { logical, process } => {
            put_u32(out, *logical);
            put_u64(out, process.0);
        }
        PacketBody::NoProcess { .. } | PacketBody::Here => {}
        PacketBody::Data { transfer, index, data, .. } => {
            put_transfer(out, transfer);
            put_u32(out, *index);
            out.extend_from_slice(data);
        }
        PacketBody::Pull { transfer, wanted, .. } => {
            put_transfer(out, transfer);
            put_u32(out, wanted.first);
            wanted.words[..wanted.used()].iter().for_each(|&word| put_u64(out, word));
        }
        PacketBody::Done { number } => put_u64(out, *number),
        PacketBody::Refused { number, reason } => {
            put_u64(out, *number);
            put_u32(out, *reason as u32);
        }
    }
    let bytes = out.len() - start;
    assert!(bytes <= PACKET_BYTES_MAX, "a packet of {bytes} bytes is too long");
    out[start + 4..start + 8].copy_from_slice(&(bytes as u32).to_le_bytes());
}

/// Reads fields of a packet whose length is known.
struct PacketReader<'a> {
    rest: &'a [u8],
    bytes: usize,
}

impl<'a> PacketReader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], PacketError> {
        let needs = self.bytes - self.rest.len() + bytes;
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(PacketError::Short { has: self.bytes, needs })?;
        self.rest = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, PacketError> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("two bytes were taken")))
    }

    fn u32(&mut self) -> Result<u32, PacketError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes were taken")))
    }

    fn u64(&mut self) -> Result<u64, PacketError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes were taken")))
    }

    fn host(&mut self) -> Result<LogicalHostId, PacketError> {
        let value = self.u32()?;
        let clear = value >> 31 == 0;
        clear.then_some(LogicalHostId(value)).ok_or(PacketError::Value { what: "a host", value: value.into() })
    }

    fn process(&mut self) -> Result<ProcessId, PacketError> {
        let value = self.u64()?;
        ProcessId::from_bits(value).ok_or(PacketError::Value { what: "a process", value })
    }

    fn transfer(&mut self) -> Result<Transfer, PacketError> {
        let transfer = Transfer { number: self.u64()?, offset: self.u64()?, total: self.u64()? };
        if transfer.total == 0 || transfer.total > MOVE_BYTES_MAX as u64 {
            return Err(PacketError::Value { what: "the length of a transfer", value: transfer.total });
        }
        if transfer.offset.checked_add(transfer.total).is_none() {
            return Err(PacketError::Value { what: "the offset of a transfer", value: transfer.offset });
        }
        Ok(transfer)
    }

    /// A message, whose length stands first, and the data behind it.
    fn payload(&mut self) -> Result<(&'a [u8], &'a [u8]), PacketError> {
        let length = self.u32()? as usize;
        let too_long = length > MESSAGE_BYTES_MAX || length > self.rest.len() || self.rest.len() > PAYLOAD_BYTES_MAX;
        if too_long {
            let bytes = self.bytes;
            return Err(PacketError::Length { what: "the length of a message", value: length as u64, bytes });
        }
        let message = self.take(length)?;
        Ok((message, self.take(self.rest.len())?))
    }

    fn send(&mut self, flags: u16) -> Result<PacketBody<'a>, PacketError> {
        let replies = match flags & (flag::REPLIES_ONE | flag::REPLIES_MANY) {
            0 => WantedReplies::None,
            flag::REPLIES_ONE => WantedReplies::One,
            flag::REPLIES_MANY => WantedReplies::Many,
            value => return Err(PacketError::Value { what: "the number of replies", value: value.into() }),
        };
        let segment_bytes = self.u64()?;
        let forwarder = self.process()?;
        let (message, data) = self.payload()?;
        if data.len() as u64 > segment_bytes || (flags & flag::READ == 0 && !data.is_empty()) {
            let bytes = self.bytes;
            return Err(PacketError::Length { what: "the length of a segment", value: segment_bytes, bytes });
        }
        let (once, sought) = (flags & flag::ONCE != 0, flags & flag::SOUGHT != 0);
        let (read, write) = (flags & flag::READ != 0, flags & flag::WRITE != 0);
        Ok(PacketBody::Send(RequestPacket {
            once,
            replies,
            sought,
            read,
            write,
            segment_bytes,
            forwarder,
            message,
            data,
        }))
    }

    fn data(&mut self, flags: u16) -> Result<PacketBody<'a>, PacketError> {
        let transfer = self.transfer()?;
        let index = self.u32()?;
        let data = self.take(self.rest.len())?;
        if Some(data.len()) != chunk_bytes(transfer.total, index) {
            return Err(PacketError::Length { what: "the number of a chunk", value: index.into(), bytes: self.bytes });
        }
        Ok(PacketBody::Data {
            to_owner: flags & flag::TO_OWNER != 0,
            ask: flags & flag::ASK != 0,
            transfer,
            index,
            data,
        })
    }

    fn pull(&mut self, flags: u16) -> Result<PacketBody<'a>, PacketError> {
        let transfer = self.transfer()?;
        let mut wanted = WantedChunks::from(self.u32()?);
        let words = self.rest.len() / 8;
        if words > WANTED_WORDS_MAX || u64::from(wanted.first) * CHUNK_BYTES as u64 > transfer.total {
            let (value, bytes) = (wanted.first.into(), self.bytes);
            return Err(PacketError::Length { what: "the first chunk of a bit vector", value, bytes });
        }
        for word in &mut wanted.words[..words] {
            *word = self.u64()?;
        }
        Ok(PacketBody::Pull { to_owner: flags & flag::TO_OWNER != 0, transfer, wanted })
    }

    fn refused(&mut self) -> Result<PacketBody<'a>, PacketError> {
        let number = self.u64()?;
        let reasons = [BulkRefusal::NotAwaitingReply, BulkRefusal::NoAccess, BulkRefusal::OutOfBounds];
        let value = self.u32()?;
        match reasons.get(value as usize) {
            Some(&reason) => Ok(PacketBody::Refused { number, reason }),
            None => Err(PacketError::Value { what: "the reason of a refusal", value: value.into() }),
        }
    }

    fn body(&mut self, kind: u8, flags: u16) -> Result<PacketBody<'a>, PacketError> {
        let known = match kind {
            kind::SEND => 0x3f,
            kind::DATA => flag::TO_OWNER | flag::ASK,
            kind::NO_PROCESS | kind::PULL => 1,
            _ => 0,
        };
        if flags & !known != 0 {
            return Err(PacketError::Flags { kind, flags });
        }
        Ok(match kind {
            kind::HOST_REQUEST => PacketBody::HostRequest { proposed: self.host()?, life: self.u64()? },
            kind::HOST_COMPLAINT => PacketBody::HostComplaint { proposed: self.host()?, life: self.u64()? },
            kind::SEND => self.send(flags)?,
            kind::REPLY => {
                let offset = self.u64()?;
                let (message, data) = self.payload()?;
                PacketBody::Reply { offset, message, data }
            }
            kind::FORWARD => PacketBody::Forward { to: self.process()? },
            kind::NO_PROCESS => PacketBody::NoProcess { certain: flags & flag::CERTAIN != 0 },
            kind::MOVED => PacketBody::Moved { to: self.host()? },
            kind::PENDING => PacketBody::Pending { ran: self.u64()? },
            kind::GET_PID => PacketBody::GetPid { logical: self.u32()? },
            kind::GET_PID_REPLY => PacketBody::GetPidReply { logical: self.u32()?, process: self.process()? },
            kind::HERE => PacketBody::Here,
            kind::DATA => self.data(flags)?,
            kind::PULL => self.pull(flags)?,
            kind::DONE => PacketBody::Done { number: self.u64()? },
            kind::REFUSED => self.refused()?,
            _ => return Err(PacketError::Kind(kind)),
        })
    }
}

/// How many chunks a transfer of so many bytes has.
pub(super) fn chunk_count(total: u64) -> u32 {
    total.div_ceil(CHUNK_BYTES as u64) as u32
}

/// Bytes of a chunk of a transfer; `None` if it has no such chunk.
pub(super) fn chunk_bytes(total: u64, index: u32) -> Option<usize> {
    let start = u64::from(index) * CHUNK_BYTES as u64;
    total.checked_sub(start).filter(|&rest| rest > 0).map(|rest| rest.min(CHUNK_BYTES as u64) as usize)
}

/// Reads the packet at the start of a buffer. Also says how many bytes it has: the next one begins behind them.
///
/// # Errors
/// See [`PacketError`]. The rest of the buffer must be dropped with it.
pub fn decode(buffer: &[u8]) -> Result<(PacketHeader, PacketBody<'_>, usize), PacketError> {
    let has = buffer.len();
    let short = PacketError::Short { has, needs: HEADER_BYTES };
    let (&version, &kind) = (buffer.first().ok_or(short)?, buffer.get(1).ok_or(short)?);
    if version != VERSION {
        return Err(PacketError::Version(version));
    }
    let mut reader = PacketReader { rest: buffer.get(2..).ok_or(short)?, bytes: has };
    let flags = reader.u16()?;
    let bytes = reader.u32()? as usize;
    if !(HEADER_BYTES..=PACKET_BYTES_MAX).contains(&bytes) {
        return Err(PacketError::Length { what: "the length of the packet", value: bytes as u64, bytes: has });
    }
    let packet = buffer.get(8..bytes).ok_or(PacketError::Short { has, needs: bytes })?;
    let mut reader = PacketReader { rest: packet, bytes };
    let kernel = reader.host()?;
    let hop = reader.u32()?;
    let identity = RequestIdentity { sequence: reader.u64()?, hop };
    let header = PacketHeader {
        kernel,
        identity,
        source: reader.process()?,
        destination: MessageDestination::from_bits(reader.u64()?),
    };
    let body = reader.body(kind, flags)?;
    match reader.rest.len() {
        0 => Ok((header, body, bytes)),
        rest => Err(PacketError::Length { what: "what is behind the last field", value: rest as u64, bytes }),
    }
}

#[cfg(test)]
mod tests;
