//! What a writer and a memory server say to each other, and how it looks on the wire.
//!
//! A writer asks, a server answers each request with exactly one reply. Every request may be lost, come late or come twice: a server
//! does nothing twice, and the writer asks again. Invariant: bytes of anybody are a message or a precise error; memory grows with the
//! bytes that came, never with what they claim.

use crate::limits::{BATCH_RECORDS_MAX, NUMBER_MAX, RECORD_BYTES_MAX};
use crate::names::{Configuration, Incarnation, LogId, LogMark, RecordNumber, WriterEpoch};
use bytes::Bytes;
use raidcomm::codec::{Codec, CodecError, Compact};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One record of a log, with what proves that it is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedRecord {
    /// In which epoch it was first written; restoring it in a later one changes nothing.
    pub epoch: WriterEpoch,
    /// CRC-32 over log, position, epoch and bytes.
    pub checksum: u32,
    /// What the application has appended.
    pub bytes: Bytes,
}

impl CheckedRecord {
    /// A record of this place.
    pub fn new(log: LogId, position: RecordNumber, epoch: WriterEpoch, bytes: Bytes) -> CheckedRecord {
        let checksum = checksum(log, position, epoch, &bytes);
        CheckedRecord { epoch, checksum, bytes }
    }

    /// Whether it is what was written at this place.
    pub fn is_sound(&self, log: LogId, position: RecordNumber) -> bool {
        self.checksum == checksum(log, position, self.epoch, &self.bytes)
    }
}

fn checksum(log: LogId, position: RecordNumber, epoch: WriterEpoch, bytes: &[u8]) -> u32 {
    let mut prefix = [0; 32];
    let numbers = [log.0, position.0, epoch.number, epoch.writer];
    for (field, number) in prefix.chunks_exact_mut(8).zip(numbers) {
        field.copy_from_slice(&number.to_le_bytes());
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&prefix);
    hasher.update(bytes);
    hasher.finalize()
}

/// From a writer to a server, about one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriterRequest {
    /// Accept nothing of a lower epoch any more, and say what you hold. Sent when enough servers have answered `Look`, and to ask whether
    /// a server is back.
    /// Answered by `Sealed`, or by `Wait` while a lower epoch has a lease.
    Seal {
        /// The epoch that begins.
        epoch: WriterEpoch,
    },
    /// Give what you hold from here on. Sent by whoever has sealed, to the server with the longest log. Answered by `Records`.
    Read {
        /// The epoch that has sealed.
        epoch: WriterEpoch,
        /// The first record that is wanted.
        position: RecordNumber,
    },
    /// Lay these records beside what you hold, for an epoch that is about to begin. Answered by `Restored`. A gap or a repetition
    /// changes nothing: the reply says where to go on.
    Restore {
        /// The epoch that is about to begin.
        epoch: WriterEpoch,
        /// What is below is not needed any more.
        from: RecordNumber,
        /// What you hold up to here stays; at `from`, nothing does.
        base: LogMark,
        /// Of the first of the records.
        position: RecordNumber,
        /// In order.
        records: Vec<CheckedRecord>,
    },
    /// From now on hold what you held up to `base` and what was laid beside it, in this configuration. Answered by `Activated`.
    Activate {
        /// Of the epoch that begins.
        configuration: Configuration,
        /// The last configuration that whoever begins it knew of; the epoch itself, once it is established. A server that knows of
        /// a later one refuses: see [`crate::writer`].
        basis: WriterEpoch,
        /// What is below is not needed any more.
        from: RecordNumber,
        /// As in `Restore`.
        base: LogMark,
        /// Where the log ends then.
        end: LogMark,
    },
    /// Hold these as well. Answered by `Appended`. With no record it asks whether the server is there.
    Append {
        /// The epoch of the writer.
        epoch: WriterEpoch,
        /// No epoch that does not know of this one can begin any more.
        is_established: bool,
        /// What is below is not needed any more, whether it was ever held or not.
        from: LogMark,
        /// Of the first of the records.
        position: RecordNumber,
        /// In order.
        records: Vec<CheckedRecord>,
    },
    /// Let me acknowledge from my disk for [`crate::limits::LEASE`], or: I no longer do. Answered by `Permitted`.
    Permit {
        /// The epoch of the writer.
        epoch: WriterEpoch,
        /// Rises with every such request of an epoch: the highest says what holds.
        number: u64,
        /// Whether the disk is to be enough.
        granted: bool,
    },
    /// Forget this log, which is over. Answered by `Removed`.
    Remove {
        /// The epoch of the writer.
        epoch: WriterEpoch,
    },
    /// Say what you hold, and change nothing. Sent before a log is sealed: whoever would not get through, or must not, leaves its writer
    /// alone. Answered by `HeldLog`.
    Look {
        /// The epoch that is about to begin.
        epoch: WriterEpoch,
    },
    /// How are you? Sent by whoever looks after the server; names any log. Answered by `MemoryServerStatus`.
    Status,
}

/// From a server to whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerReply {
    /// To `Seal`.
    Sealed {
        /// As asked.
        epoch: WriterEpoch,
        /// What is held.
        held: HeldLog,
    },
    /// To `Seal`: sealed, but ask again after so many nanoseconds, when the lease of the last writer is over.
    Wait {
        /// As asked.
        epoch: WriterEpoch,
        /// How long.
        time: u64,
    },
    /// To `Read`.
    Records {
        /// As asked.
        epoch: WriterEpoch,
        /// Of the first of the records.
        position: RecordNumber,
        /// In order; none at the end.
        records: Vec<CheckedRecord>,
    },
    /// To `Restore`: all records for the epoch are there below `end`.
    Restored {
        /// As asked.
        epoch: WriterEpoch,
        /// Where to go on.
        end: RecordNumber,
    },
    /// To `Activate`.
    Activated {
        /// As asked.
        epoch: WriterEpoch,
        /// Where the log ends now.
        end: RecordNumber,
    },
    /// To `Append`: all records are held below `end`.
    Appended {
        /// As asked.
        epoch: WriterEpoch,
        /// Where to go on.
        end: RecordNumber,
    },
    /// To `Permit`.
    Permitted {
        /// As asked.
        epoch: WriterEpoch,
        /// As asked.
        number: u64,
    },
    /// To `Look`.
    Held {
        /// As asked.
        epoch: WriterEpoch,
        /// What is held.
        held: HeldLog,
    },
    /// To `Remove`.
    Removed {
        /// As asked.
        epoch: WriterEpoch,
    },
    /// To `MemoryServerStatus`.
    Status(MemoryServerStatus),
    /// To any of them: no. Nothing has changed, but that those records of an `Append` or a `Restore` are held that came before the one for which
    /// there is no room.
    Refused {
        /// Of the request.
        epoch: WriterEpoch,
        /// Why.
        reason: ServerRefusal,
    },
}

/// Why a server does not do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum ServerRefusal {
    /// Another writer has sealed the log. Do not try again with this epoch.
    #[error("epoch {by} has sealed the log")]
    Sealed {
        /// The highest epoch that the server knows.
        by: WriterEpoch,
    },
    /// The server knows of a later configuration than that on which the new epoch is based: seal again.
    #[error("the server holds epoch {by}, which the new one does not know of")]
    Outdated {
        /// Of the configuration.
        by: WriterEpoch,
    },
    /// The epoch has not been activated here: seal and restore.
    #[error("the server does not hold this epoch")]
    NotActive,
    /// What should stay is not what the server holds: restore from the start.
    #[error("the server holds another log up to there")]
    Mismatch,
    /// The configuration counts on an earlier life of the server's memory, or on another server.
    #[error("the server has lost its memory since, or is no member")]
    Stranger,
    /// There is no room for these records. Truncate the log, or try again later.
    #[error("the server is full: {used_bytes} of {limit_bytes} bytes are in use")]
    Full {
        /// Of the log, or of all logs.
        used_bytes: u64,
        /// The quota of a log, or the capacity.
        limit_bytes: u64,
    },
    /// The server keeps as many logs as it can.
    #[error("the server keeps as many logs as it can")]
    Logs,
    /// A record is not what was written: on the way, or in memory.
    #[error("record {position} is damaged")]
    Damaged {
        /// Which one.
        position: RecordNumber,
    },
    /// The record has been truncated, or was never there.
    #[error("the server does not hold this record")]
    Absent,
    /// The number of the epoch is one that no writer comes to: once it was sealed for, nobody could ever seal the log again.
    #[error("the number of the epoch is above {NUMBER_MAX}: begin with the number that follows the last one")]
    OutOfRange,
}

/// What a server holds of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLog {
    /// Of the last epoch that was activated here; none if none was.
    pub configuration: Option<Configuration>,
    /// Its writer has said that it is established. It may be though nobody has heard of it.
    pub is_established: bool,
    /// Before the first record.
    pub from: LogMark,
    /// Behind the last.
    pub end: LogMark,
    /// The number of the last permission in that epoch, and whether the writer might acknowledge from its disk.
    pub permit: (u64, bool),
}

/// How a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryServerStatus {
    /// Bytes that all logs may take.
    pub capacity_bytes: u64,
    /// Bytes that they take.
    pub used_bytes: u64,
    /// Bytes that one log may take.
    pub quota_bytes: u64,
    /// Records that were appended since the start.
    pub appends: u64,
    /// Requests that were refused since the start.
    pub refusals: u64,
    /// Of them, those for want of room.
    pub refusals_full: u64,
    /// Each log.
    pub logs: Vec<ServedLogStatus>,
}

/// How a log is on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedLogStatus {
    /// Which one.
    pub log: LogId,
    /// The last that sealed it.
    pub sealed: WriterEpoch,
    /// The last that was activated.
    pub active: Option<WriterEpoch>,
    /// The first record.
    pub from: RecordNumber,
    /// Behind the last.
    pub end: RecordNumber,
    /// Bytes that it takes.
    pub bytes: u64,
}

/// What stands before everything that a writer and a server say, so that none is taken for another program's.
const MAGIC: u16 = 0x4d52;

/// A request, and the log that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToServer {
    magic: u16,
    /// Which log.
    pub log: LogId,
    /// What is asked.
    pub request: WriterRequest,
}

/// A reply, the log that it is about, and which life of the server's memory gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToWriter {
    magic: u16,
    /// Which log.
    pub log: LogId,
    /// Of the server.
    pub incarnation: Incarnation,
    /// What is answered.
    pub reply: ServerReply,
}

impl ToServer {
    /// A request about a log.
    pub fn new(log: LogId, request: WriterRequest) -> ToServer {
        ToServer { magic: MAGIC, log, request }
    }

    /// Reads one.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<ToServer, MessageError> {
        let message: ToServer = Compact::read(bytes)?;
        check_magic(message.magic)?;
        message.request.check()?;
        Ok(message)
    }
}

impl WriterRequest {
    /// In whose name it is asked; none if in nobody's.
    pub(crate) fn epoch(&self) -> Option<WriterEpoch> {
        match self {
            WriterRequest::Seal { epoch }
            | WriterRequest::Read { epoch, .. }
            | WriterRequest::Restore { epoch, .. }
            | WriterRequest::Append { epoch, .. }
            | WriterRequest::Permit { epoch, .. }
            | WriterRequest::Remove { epoch }
            | WriterRequest::Look { epoch } => Some(*epoch),
            WriterRequest::Activate { configuration, .. } => Some(configuration.epoch),
            WriterRequest::Status => None,
        }
    }

    /// Whether it is one that a writer sends.
    ///
    /// # Errors
    /// See [`MessageError`].
    pub(crate) fn check(&self) -> Result<(), MessageError> {
        match self {
            WriterRequest::Restore { epoch, from, base, position, records } => {
                check_numbers(*epoch, [*from, base.position])?;
                check_records(*position, records)?;
            }
            WriterRequest::Append { epoch, from, position, records, .. } => {
                check_numbers(*epoch, [from.position])?;
                check_records(*position, records)?;
            }
            WriterRequest::Activate { configuration, basis, from, base, end } => {
                check_configuration(configuration)?;
                check_numbers(*basis, [*from, base.position, end.position])?;
            }
            WriterRequest::Read { epoch, position } => check_numbers(*epoch, [*position])?,
            WriterRequest::Seal { epoch }
            | WriterRequest::Look { epoch }
            | WriterRequest::Permit { epoch, .. }
            | WriterRequest::Remove { epoch } => {
                check_numbers(*epoch, [])?;
            }
            WriterRequest::Status => {}
        }
        Ok(())
    }
}

impl ToWriter {
    /// A reply about a log.
    pub fn new(log: LogId, incarnation: Incarnation, reply: ServerReply) -> ToWriter {
        ToWriter { magic: MAGIC, log, incarnation, reply }
    }

    /// Reads one.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<ToWriter, MessageError> {
        let message: ToWriter = Compact::read(bytes)?;
        check_magic(message.magic)?;
        message.reply.check()?;
        Ok(message)
    }
}

impl ServerReply {
    /// Whether it is one that a server sends.
    ///
    /// # Errors
    /// See [`MessageError`].
    pub(crate) fn check(&self) -> Result<(), MessageError> {
        match self {
            ServerReply::Records { position, records, .. } => check_records(*position, records)?,
            ServerReply::Sealed { held: HeldLog { configuration, from, end, .. }, .. }
            | ServerReply::Held { held: HeldLog { configuration, from, end, .. }, .. } => {
                configuration.iter().try_for_each(check_configuration)?;
                check_numbers(WriterEpoch::default(), [from.position, end.position])?;
            }
            ServerReply::Refused { reason: ServerRefusal::Sealed { by } | ServerRefusal::Outdated { by }, .. } => {
                check_numbers(*by, [])?
            }
            ServerReply::Restored { end, .. }
            | ServerReply::Activated { end, .. }
            | ServerReply::Appended { end, .. } => {
                check_numbers(WriterEpoch::default(), [*end])?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Appends a message.
pub(crate) fn encode(message: &impl Serialize, bytes: &mut Vec<u8>) {
    Compact::append(message, bytes).expect("memory takes every message");
}

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// They are no value of the type.
    #[error("not a message of the remote log: {0}")]
    Codec(#[from] CodecError),
    /// They come from another program, or another version.
    #[error("a message with mark {0:04x}, not of this version of the remote log")]
    Foreign(u16),
    /// A record is longer than any may be.
    #[error("a record of {0} bytes, more than the {RECORD_BYTES_MAX} allowed")]
    Long(usize),
    /// More records than a message has, or with higher numbers than there are.
    #[error("{0} records in a message at position {1}: out of range")]
    Many(usize, RecordNumber),
    /// No log grows to that, and no epoch either.
    #[error("number {0} is out of range: {NUMBER_MAX} is the highest")]
    Number(u64),
    /// Copies or members that no configuration has.
    #[error("a configuration of {members} servers with {copies} copies: out of range")]
    Configuration {
        /// n.
        members: usize,
        /// k.
        copies: u8,
    },
}

fn check_magic(magic: u16) -> Result<(), MessageError> {
    if magic == MAGIC { Ok(()) } else { Err(MessageError::Foreign(magic)) }
}

fn check_numbers<const COUNT: usize>(epoch: WriterEpoch, positions: [RecordNumber; COUNT]) -> Result<(), MessageError> {
    let numbers = positions.into_iter().map(|position| position.0).chain([epoch.number]);
    numbers.max().filter(|number| *number > NUMBER_MAX).map_or(Ok(()), |number| Err(MessageError::Number(number)))
}

fn check_records(position: RecordNumber, records: &[CheckedRecord]) -> Result<(), MessageError> {
    if let Some(long) = records.iter().find(|record| record.bytes.len() > RECORD_BYTES_MAX) {
        return Err(MessageError::Long(long.bytes.len()));
    }
    if records.len() > BATCH_RECORDS_MAX || position.0 > NUMBER_MAX {
        return Err(MessageError::Many(records.len(), position));
    }
    Ok(())
}

/// Whether a configuration is one that a writer makes.
pub(crate) fn check_configuration(configuration: &Configuration) -> Result<(), MessageError> {
    let (members, copies) = (configuration.members.len(), configuration.copies);
    check_numbers(
        configuration.epoch,
        [RecordNumber(configuration.generation), RecordNumber(configuration.continues.number)],
    )?;
    let is_possible = copies >= 1 && usize::from(copies) <= members && members <= crate::limits::SERVERS_MAX;
    if is_possible { Ok(()) } else { Err(MessageError::Configuration { members, copies }) }
}
