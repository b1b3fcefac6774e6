//! What things are called: logs, servers, epochs, positions, configurations, receipts.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;

/// One log among those that a server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogId(pub u64);

/// A memory server: where it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub SocketAddr);

/// Which life of a server's memory: drawn when a server starts with nothing, kept when it reloads all that it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// Of a server that nobody has met: no server ever has it.
    pub const NONE: Incarnation = Incarnation(0);
}

/// Who writes: of two epochs of a log the higher one rules. No two writers ever have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WriterEpoch {
    /// Rises with every writer, and with every change of the servers that count.
    pub number: u64,
    /// Drawn by each writer when it opens the log; decides between equal numbers.
    pub writer: u64,
}

/// The number of a record in its log, from 0; as an end, the number of the record that would come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordNumber(pub u64);

impl RecordNumber {
    /// So many records further on.
    pub fn plus(self, records: usize) -> RecordNumber {
        RecordNumber(self.0 + records as u64)
    }

    /// How many records lie between `earlier` and this; 0 if it is not earlier.
    pub fn since(self, earlier: RecordNumber) -> usize {
        self.0.saturating_sub(earlier.0) as usize
    }
}

/// A point in a log: behind how many records, and the epoch of the last of them. Two logs with the same mark are the same before it, as
/// in Raft's log matching property (D. Ongaro and J. Ousterhout, 2014, section 5.3): an epoch has one writer, which only appends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogMark {
    /// Behind how many records.
    pub position: RecordNumber,
    /// In which epoch the record before it was written.
    pub epoch: WriterEpoch,
}

/// A local log: drawn when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId(pub u64);

/// When the local disk alone may make a record durable. Chosen when a log is made, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fallback {
    /// Always: every recovery has this disk.
    RestartOnThisDisk(DiskId),
    /// Only while k servers grant a lease that a recovery elsewhere waits out. A writer may be without a disk.
    UnderLease,
}

/// A server that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedServer {
    /// Which server.
    pub server: ServerId,
    /// And which life of its memory: in a later one it has forgotten what it held and what it promised.
    pub incarnation: Incarnation,
    /// Which life counted in the last epoch that was established before this one. As long as this one is not established, whoever
    /// seals the log needs enough of these as well: as in Raft's joint consensus (D. Ongaro and J. Ousterhout, 2014, section 6).
    pub established: Incarnation,
}

/// Which servers count in an epoch. Every epoch has exactly one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Whose it is.
    pub epoch: WriterEpoch,
    /// k: so many members must hold a record.
    pub copies: u8,
    /// The n members.
    pub members: Vec<CountedServer>,
    /// When the disk alone is enough.
    pub fallback: Fallback,
    /// The epoch whose log this one began with: as long as nobody has opened this one, a copy of it is a copy of that one.
    pub continues: WriterEpoch,
    /// How often a loss was accepted, of a disk or of memories. Of two disks that go on with the log the one with more is right, whatever their
    /// epochs; see [`Configuration::rank`].
    pub generation: u64,
    /// The epoch began with a recovery that may lack what was acknowledged by an earlier writer's disk alone, or what lost memories have held: then
    /// its members may stand for what none of them has.
    pub doubt: Option<RecoveryDoubt>,
}

impl Configuration {
    /// How many members every seal must have: any so many have one in common with any k.
    pub fn seal_quorum(&self) -> usize {
        self.members.len() + 1 - usize::from(self.copies)
    }

    /// The life of a server's memory that counts.
    pub fn incarnation(&self, server: ServerId) -> Option<Incarnation> {
        self.members.iter().find(|member| member.server == server).map(|member| member.incarnation)
    }

    /// The life of a server that counted in the last established epoch, which is this one or one before.
    pub fn basis(&self, server: ServerId, is_established: bool) -> Incarnation {
        let member = self.members.iter().find(|member| member.server == server);
        member.map_or(Incarnation::NONE, |member| if is_established { member.incarnation } else { member.established })
    }

    /// Whether this life of a server counted in the last epoch that was established before this one.
    pub fn has_kept(&self, server: ServerId, incarnation: Incarnation) -> bool {
        let is_kept = |member: &CountedServer| member.server == server && member.established == incarnation;
        incarnation != Incarnation::NONE && self.members.iter().any(is_kept)
    }

    /// What of two configurations is later, whoever has begun them. A disk whose loss was accepted may count on alone; where a log may be
    /// recovered anywhere, whoever accepts a loss counts beyond anybody of whom he may not have heard
    /// ([`crate::limits::ACCEPTED_STEP`]), and whoever is above him has been let pass by those that he has sealed: he has come to nothing.
    pub fn rank(&self) -> (u64, WriterEpoch) {
        self.rank_of(self.epoch)
    }

    /// As [`Configuration::rank`], of a copy that is one of this epoch's log.
    pub(crate) fn rank_of(&self, epoch: WriterEpoch) -> (u64, WriterEpoch) {
        match self.fallback {
            Fallback::RestartOnThisDisk(_) => (self.generation, epoch),
            Fallback::UnderLease => (0, epoch),
        }
    }

    /// Whether this one says that the log goes on with another disk than `other` does, and may be right.
    pub fn is_rival_of(&self, other: &Configuration) -> bool {
        self.fallback != other.fallback && self.generation >= other.generation
    }

    /// Whether this life of a server counts.
    pub fn counts(&self, server: ServerId, incarnation: Incarnation) -> bool {
        incarnation != Incarnation::NONE && self.incarnation(server) == Some(incarnation)
    }
}

/// What made a record durable. Each is a fact at the time at which it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordReceipt {
    /// At least so many members of the epoch hold the log without a gap up to the record.
    Memory {
        /// How many.
        copies: u8,
    },
    /// A sync of the local disk that covers the record has returned.
    Disk,
}

/// What a recovery cannot vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecoveryDoubt {
    /// The last writer was allowed to acknowledge from its disk, and that disk is not here.
    DiskAlone,
    /// Whoever opened the log has accepted that what is missing is lost.
    LossAccepted,
}

impl fmt::Display for LogId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "log {:016x}", self.0)
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for WriterEpoch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:04x}", self.number, self.writer & 0xffff)
    }
}

impl fmt::Display for RecordNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for RecordReceipt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordReceipt::Memory { copies } => write!(formatter, "memory of {copies} servers"),
            RecordReceipt::Disk => formatter.write_str("disk"),
        }
    }
}
