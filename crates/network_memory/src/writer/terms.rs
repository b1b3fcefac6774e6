//! What a writer is told when it begins, and what it tells: events, why it has stopped, how it stands.

pub use crate::journal::{Boot, JournalError};
use crate::limits::{NUMBER_MAX, RECORD_BYTES_MAX, SERVERS_MAX};
use crate::names::{DiskId, LogId, RecordNumber, RecordReceipt, RecoveryDoubt, ServerId, WriterEpoch};
use commit_log::LogError;
use thiserror::Error;

/// What a log is made as, and where it is looked for.
#[derive(Clone, Debug)]
pub struct WriterTerms {
    /// Which log.
    pub log: LogId,
    /// k: so many servers must hold a record.
    pub copies: u8,
    /// n: so many of the servers are members; the others are spares, where every recovery has the disk. Otherwise all are members.
    pub members: u8,
    /// In the order in which they are taken.
    pub servers: Vec<ServerId>,
    /// Whether the disk alone may be enough without a lease. Counts when the log is made.
    pub restart_on_this_disk: bool,
    /// Bytes of records since the last truncation.
    pub retained_bytes_max: u64,
}

/// What whoever opens a log expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// There is a log.
    Open,
    /// There is none, on this disk and on all servers, or only on this disk.
    Create,
    /// There is a log, and what cannot be found of it may be lost: whatever answers is taken.
    AcceptLoss,
}

/// The disk of a writer.
#[derive(Debug)]
pub struct WriterDisk<L> {
    /// The files.
    pub log: L,
    /// What the disk is called if it is new: drawn at random.
    pub name_if_new: DiskId,
    /// Which run of the host's kernel this is: the local log is whole if the last epoch began in the same one.
    pub boot: Boot,
    /// The files lacked their end when they were opened: then the run of the kernel proves nothing.
    pub is_cut: bool,
}

/// Why a writer cannot begin.
#[derive(Debug, Error)]
pub enum BeginError {
    /// The disk.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The local log is of another log.
    #[error("the local log is of {found}, not of {expected}: name another folder")]
    Other {
        /// What the disk says.
        found: LogId,
        /// What was asked for.
        expected: LogId,
    },
    /// Numbers that make no sense.
    #[error(
        "{servers} servers, of them {members} members and {copies} copies: there must be 1 <= copies <= members <= servers <= {SERVERS_MAX}"
    )]
    Terms {
        /// All.
        servers: usize,
        /// n.
        members: u8,
        /// k.
        copies: u8,
    },
    /// A server is named twice.
    #[error("the server {0} is named twice, and has one memory: name each server once")]
    Twice(ServerId),
    /// There is one on this disk.
    #[error("there is a log on this disk already: open it instead of making one")]
    Exists,
    /// Restarting on this disk needs one.
    #[error("a log that is restarted on this disk needs a disk")]
    NoDisk,
}

/// Why a record was not appended. Nothing has changed.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The log is not open, or not any more.
    #[error("the log is not open: {0}")]
    NotOpen(String),
    /// Too long.
    #[error("a record of {bytes} bytes cannot be appended: {RECORD_BYTES_MAX} are the bound; split it")]
    Long {
        /// Of the record.
        bytes: usize,
    },
    /// The log has grown as long as it may.
    #[error("{bytes} bytes of records wait for truncation, and {bytes_max} are the bound: truncate the log")]
    Retained {
        /// That are retained.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// The disk does not take it.
    #[error(transparent)]
    Disk(LogError),
}

/// Why a writer has stopped, for good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriterStop {
    /// Another writer has sealed the log. What has no receipt may or may not be in its log.
    #[error(
        "epoch {by} has taken the log over: records without a receipt may be lost, and nothing can be appended here"
    )]
    Fenced {
        /// Its epoch.
        by: WriterEpoch,
    },
    /// The log was to be made, and is there.
    #[error("there is a log of this name already, in epoch {epoch}: open it instead of making one")]
    Exists {
        /// Its epoch.
        epoch: WriterEpoch,
    },
    /// Only the host with that disk may open the log.
    #[error("the log restarts on the disk {:016x} only, because that disk alone may hold some of it: open it there", .0.0)]
    NeedsDisk(DiskId),
    /// Two addresses lead to one server, whose memory would count twice.
    #[error("{one} and {other} are the same server, which has one memory: name each server once")]
    SameServer {
        /// By its first address.
        one: ServerId,
        /// By its second.
        other: ServerId,
    },
    /// No number is left for another epoch: a server has named one that no writer comes to by counting.
    #[error(
        "no epoch can follow, because {number} is above {NUMBER_MAX}, and no writer counts so far: a memory server names an epoch that never was; restart that server with an empty memory, and open the log again"
    )]
    NumbersUsedUp {
        /// That would have been next.
        number: u64,
    },
    /// It was ended here.
    #[error("the log was removed")]
    Removed,
    /// The disk has failed. A failed sync is never tried again.
    #[error("the local log has failed: {0}")]
    DiskFailed(String),
}

/// What has happened to a log. Nothing that changes what a receipt means goes without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// The log is open, and holds these records.
    Opened {
        /// Of the writer.
        epoch: WriterEpoch,
        /// The first record.
        from: RecordNumber,
        /// Behind the last.
        end: RecordNumber,
        /// What the recovery cannot vouch for.
        doubt: Option<RecoveryDoubt>,
        /// So many records of this disk belong to no log: they were never acknowledged, or the doubt of another recovery covers them.
        discarded: usize,
    },
    /// Memory is not enough for a receipt any more, because fewer than k members are there, or another epoch begins: records become durable
    /// on the disk, or wait.
    MemoryLost {
        /// Members that are there.
        copies: usize,
    },
    /// k members are there, and may be counted on: memory is enough for a receipt again.
    MemoryBack,
    /// A member does not answer any more.
    ServerAway(ServerId),
    /// A member holds the log again.
    ServerBack(ServerId),
    /// A member has lost its memory.
    ServerEmpty(ServerId),
    /// A member has no room.
    ServerFull(ServerId),
    /// The local disk has no room. Nothing is appended, and no epoch begun, until it has.
    DiskFull,
    /// Another server takes the place of a member.
    SpareTaken {
        /// The new member.
        spare: ServerId,
        /// The old one.
        instead_of: ServerId,
    },
    /// The members have changed, or what counts of them.
    NewEpoch(WriterEpoch),
    /// k members let the writer acknowledge from its disk.
    LeaseTaken,
    /// And it no longer does.
    LeaseGivenUp,
    /// Nothing is acknowledged any more.
    Stopped(WriterStop),
}

/// How a log is, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterStatus {
    /// Of the writer.
    pub epoch: WriterEpoch,
    /// The first record.
    pub from: RecordNumber,
    /// Everything below has a receipt.
    pub acknowledged: RecordNumber,
    /// Everything below has been appended.
    pub appended: RecordNumber,
    /// Everything below is on the local disk.
    pub synced: RecordNumber,
    /// Bytes that have been acknowledged and are not on the disk: what is lost if this host and k servers lose their memory at once.
    pub window_bytes: u64,
    /// What would make a record durable now.
    pub in_force: Option<RecordReceipt>,
    /// Members that hold everything that was acknowledged.
    pub copies: usize,
    /// How long the servers may take before the disk is asked too, in nanoseconds.
    pub hedge: u64,
    /// Bytes that are kept since the last truncation.
    pub retained_bytes: u64,
}
