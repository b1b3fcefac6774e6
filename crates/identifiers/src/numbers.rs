//! Identifiers: who a process is, which transaction, which table. Each is a number of its own type.

use crate::address::SiteId;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty), $format:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, $format, self.0)
            }
        }
    };
}

number!(
    /// Which life of a site: given out by the oracle by compare-and-swap, one more at every start. Membership is
    /// (site, incarnation): a restarted process is nobody's survivor.
    Incarnation(u32), "incarnation {}"
);
number!(
    /// Which process of the oracle: random, new at every start of it. 0 is none.
    OracleLife(u64), "oracle life {}"
);
number!(
    /// The number of an epoch; 0 is before the first.
    EpochNumber(u64), "epoch {}"
);
number!(
    /// A storage: one ordered key space, of a table or of an index. Truncating a table gives it a new one.
    TableId(u32), "storage {}"
);
number!(
    /// A client's session at one site.
    SessionId(u64), "session {}"
);

impl EpochNumber {
    /// The next epoch.
    pub fn next(self) -> EpochNumber {
        EpochNumber(self.0 + 1)
    }
}

impl TableId {
    /// The storage that holds the catalog: see `messages::schema`.
    pub const CATALOG: TableId = TableId(1);
    /// What transactions of the site have lost conflicts on: see `messages::contention`. Nothing is stored in it.
    pub const CONTENTION: TableId = TableId(2);
    /// The method of concurrency control in force: see `messages::concurrency_report`. Nothing is stored in it.
    pub const CONCURRENCY: TableId = TableId(3);
    /// And its switches.
    pub const CONCURRENCY_SWITCHES: TableId = TableId(4);
    /// What the rules of a site say of each method, and why.
    pub const CONCURRENCY_ADVICE: TableId = TableId(5);
    /// And what they say it by.
    pub const CONCURRENCY_FACTS: TableId = TableId(6);
    /// Snapshots of the instance in the site's folder: see `messages::snapshot_report`. Nothing is stored in it.
    pub const SNAPSHOTS: TableId = TableId(7);
    /// And their files.
    pub const SNAPSHOT_PARTS: TableId = TableId(8);
    /// And the one that is being taken.
    pub const SNAPSHOT_PROGRESS: TableId = TableId(9);
    /// Who holds and who awaits advisory locks: see `messages::advisory`.
    pub const ADVISORY_LOCKS: TableId = TableId(10);
    /// The first identifier that a created storage may have: as in PostgreSQL, lower ones belong to the system.
    pub const FIRST_CREATED: TableId = TableId(16_384);
}

impl SessionId {
    /// Set in the number of a deputy: no client's session counts so far.
    const OF_LOCKS: u64 = 1 << 47;

    /// The deputy of a client's session, in which its advisory locks are taken and given back by transactions of their own.
    pub const fn of_locks(self) -> SessionId {
        SessionId(self.0 | SessionId::OF_LOCKS)
    }

    /// Whether it is such a deputy.
    pub const fn is_of_locks(self) -> bool {
        self.0 & SessionId::OF_LOCKS != 0
    }

    /// The client's session, of a deputy too.
    pub const fn of_client(self) -> SessionId {
        SessionId(self.0 & !SessionId::OF_LOCKS)
    }
}

/// A transaction: its home site, that site's incarnation, and a sequence number counted up by that incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TransactionId {
    /// Where it executes.
    pub home: SiteId,
    /// Which life of that site.
    pub incarnation: Incarnation,
    /// Counted from 1 by that life.
    pub sequence: u64,
}

impl TransactionId {
    /// Below every real transaction.
    pub const ZERO: TransactionId = TransactionId { home: SiteId(0), incarnation: Incarnation(0), sequence: 0 };
}

impl fmt::Display for TransactionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.home.0, self.incarnation.0, self.sequence)
    }
}
