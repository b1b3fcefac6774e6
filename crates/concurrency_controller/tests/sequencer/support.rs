//! What the tests of the concurrency controller share: short names for transactions, items and histories, and a controller that
//! hands its replies back.

use concurrency_controller::ConcurrencyController;
use concurrency_controller::limits::POINTS_MAX;
use messages::concurrency::{
    AccessKind, AccessTarget, AccessWait, ConcurrencyReply, ConcurrencyRequest, Method, SwitchStrategy,
};
use messages::item::{ItemRead, RangeRead};
use messages::planted::Planted;
use messages::{
    Age, Conflict, ConflictKind, Envelope, EpochNumber, History, Incarnation, Increment, Item, Key, KeyRange, Message,
    Now, Outbox, Server, ServerKind, SiteId, TableId, Timestamp, TransactionId, Write,
};
use std::sync::Arc;

pub const TABLE: TableId = TableId(20);
/// The site whose controller is tested.
pub const HERE: SiteId = SiteId(1);
/// Another site.
pub const THERE: SiteId = SiteId(2);

pub fn transaction(home: SiteId, sequence: u64) -> TransactionId {
    TransactionId { home, incarnation: Incarnation(1), sequence }
}

/// A transaction of the tested site.
pub fn own(sequence: u64) -> TransactionId {
    transaction(HERE, sequence)
}

/// The age of a session's first try: as old as its sequence is low.
pub fn age(transaction: TransactionId) -> Age {
    Age { clock: transaction.sequence, first: transaction }
}

pub fn key(number: u8) -> Key {
    Key::new(&[number])
}

pub fn item(number: u8) -> AccessTarget {
    AccessTarget::Item(Item { table: TABLE, key: key(number) })
}

/// From one key to before another.
pub fn key_range(low: u8, high: u8) -> KeyRange {
    KeyRange { table: TABLE, low: key(low), high: Some(key(high)) }
}

pub fn range(low: u8, high: u8) -> AccessTarget {
    AccessTarget::Range(Box::new(key_range(low, high)))
}

/// A version, or a clock of the first epoch.
pub fn at(clock: u64) -> Timestamp {
    Timestamp::snapshot(EpochNumber(1), clock)
}

/// A history of items read, ranges read and items written.
pub fn history(reads: &[(u8, u64)], ranges: &[(u8, u8, u64)], writes: &[u8]) -> Arc<History> {
    let reads = reads.iter().map(|(number, seen)| ItemRead { table: TABLE, key: key(*number), seen: at(*seen) });
    let ranges = ranges.iter().map(|(low, high, as_of)| RangeRead { range: key_range(*low, *high), as_of: at(*as_of) });
    let writes = writes.iter().map(|number| Write { table: TABLE, key: key(*number), row: None });
    let (reads, ranges, writes) = (reads.collect(), ranges.collect(), writes.collect());
    Arc::new(History { reads, ranges, writes, ..History::default() })
}

/// The same, which also adds to items.
pub fn adding(history: &History, adds: &[u8]) -> Arc<History> {
    let addends = || [messages::Addend::whole(1, 1)].into_iter().collect();
    let increments = adds.iter().map(|number| Increment { table: TABLE, key: key(*number), addends: addends() });
    Arc::new(History { increments: increments.collect(), ..history.clone() })
}

/// A controller that hands its replies back.
pub struct Site {
    pub controller: ConcurrencyController,
    /// Its boot clock.
    pub now: u64,
}

impl Site {
    pub fn new(method: Method) -> Site {
        Site::planted(method, Planted::none())
    }

    pub fn planted(method: Method, planted: Planted) -> Site {
        Site { controller: ConcurrencyController::new(method, POINTS_MAX, planted), now: 0 }
    }

    pub fn ask(&mut self, request: ConcurrencyRequest) -> Vec<ConcurrencyReply> {
        let envelope = Envelope {
            from_site: HERE,
            from: ServerKind::ActionDriver,
            to_site: HERE,
            to: ServerKind::ConcurrencyController,
            epoch: EpochNumber(1),
            incarnation: Incarnation(1),
            message: Message::Concurrency(request),
        };
        let mut outbox = Outbox::default();
        self.controller.handle(self.clock(), envelope, &mut outbox);
        replies(outbox)
    }

    pub fn is_idle(&self) -> bool {
        self.controller.is_idle()
    }

    pub fn clock(&self) -> Now {
        Now { boot: self.now, wall_micros: 0 }
    }

    /// The generic way.
    pub fn switch(&mut self, method: Method) -> Vec<ConcurrencyReply> {
        self.switch_by(method, SwitchStrategy::Generic)
    }

    pub fn switch_by(&mut self, method: Method, way: SwitchStrategy) -> Vec<ConcurrencyReply> {
        let mut outbox = Outbox::default();
        self.controller.switch(self.clock(), method, way, &mut outbox);
        replies(outbox)
    }

    /// Time has passed.
    pub fn tick(&mut self) -> Vec<ConcurrencyReply> {
        let mut outbox = Outbox::default();
        self.controller.tick(self.clock(), &mut outbox);
        replies(outbox)
    }

    pub fn add(&mut self, transaction: TransactionId, target: AccessTarget) -> Vec<String> {
        said(&self.access(transaction, target, AccessKind::Increment))
    }

    pub fn access(
        &mut self,
        transaction: TransactionId,
        target: AccessTarget,
        kind: AccessKind,
    ) -> Vec<ConcurrencyReply> {
        self.ask(ConcurrencyRequest::Lock {
            transaction,
            age: age(transaction),
            target,
            kind,
            wait: AccessWait::Waits,
            precedence: false,
        })
    }

    /// A read by a transaction of this age.
    pub fn read_as(&mut self, transaction: TransactionId, clock: u64, target: AccessTarget) -> Vec<ConcurrencyReply> {
        let age = Age { clock, first: own(clock) };
        let kind = AccessKind::Read;
        self.ask(ConcurrencyRequest::Lock {
            transaction,
            age,
            target,
            kind,
            wait: AccessWait::Waits,
            precedence: false,
        })
    }

    /// An access with precedence.
    pub fn read_before_all(&mut self, transaction: TransactionId, target: AccessTarget) -> Vec<String> {
        let (age, kind) = (age(transaction), AccessKind::Read);
        said(&self.ask(ConcurrencyRequest::Lock {
            transaction,
            age,
            target,
            kind,
            wait: AccessWait::Waits,
            precedence: true,
        }))
    }

    /// Writes of items that are asked for together.
    pub fn write_ahead(&mut self, transaction: TransactionId, numbers: &[u8]) -> Vec<String> {
        let item = |number: &u8| Item { table: TABLE, key: key(*number) };
        let accesses = numbers.iter().map(|number| (item(number), AccessKind::Write)).collect();
        said(&self.ask(ConcurrencyRequest::LockPrefetch { transaction, age: age(transaction), accesses }))
    }

    /// An access that may not wait.
    pub fn try_write(&mut self, transaction: TransactionId, target: AccessTarget) -> Vec<ConcurrencyReply> {
        let (age, kind) = (age(transaction), AccessKind::Write);
        self.ask(ConcurrencyRequest::Lock {
            transaction,
            age,
            target,
            kind,
            wait: AccessWait::Never,
            precedence: false,
        })
    }

    /// A write of what nobody else has.
    pub fn write_unless_taken(&mut self, transaction: TransactionId, target: AccessTarget) -> Vec<String> {
        let (age, kind, wait) = (age(transaction), AccessKind::Write, AccessWait::UnlessTaken);
        said(&self.ask(ConcurrencyRequest::Lock { transaction, age, target, kind, wait, precedence: false }))
    }

    /// What it may only add to it may no more.
    pub fn give_up(&mut self, transaction: TransactionId, numbers: &[u8]) -> Vec<ConcurrencyReply> {
        let items = numbers.iter().map(|number| Item { table: TABLE, key: key(*number) }).collect();
        self.ask(ConcurrencyRequest::GiveUp { transaction, items })
    }

    /// A transaction ends in favour of another.
    pub fn hand_over(&mut self, transaction: TransactionId, to: TransactionId) -> Vec<String> {
        said(&self.ask(ConcurrencyRequest::HandOver { transaction, to }))
    }

    pub fn read(&mut self, transaction: TransactionId, target: AccessTarget) -> Vec<String> {
        said(&self.access(transaction, target, AccessKind::Read))
    }

    pub fn write(&mut self, transaction: TransactionId, target: AccessTarget) -> Vec<String> {
        said(&self.access(transaction, target, AccessKind::Write))
    }

    pub fn commit_lock(&mut self, transaction: TransactionId, history: Arc<History>) -> Vec<String> {
        self.commit_lock_of(transaction, &[], history)
    }

    /// Of a transaction that consists of others.
    pub fn commit_lock_of(
        &mut self,
        transaction: TransactionId,
        gathered: &[TransactionId],
        history: Arc<History>,
    ) -> Vec<String> {
        let gathered = gathered.to_vec();
        said(&self.ask(ConcurrencyRequest::CommitLock { transaction, age: age(transaction), history, gathered }))
    }

    pub fn voted(&mut self, transaction: TransactionId, clock: u64) {
        let proposal = at(clock);
        self.ask(ConcurrencyRequest::Voted { transaction, proposal });
    }

    pub fn finish(&mut self, transaction: TransactionId) -> Vec<String> {
        said(&self.ask(ConcurrencyRequest::Finish { transaction, committed: true }))
    }

    pub fn snapshot(&mut self, tag: u64, target: AccessTarget, clock: u64) -> Vec<String> {
        let snapshot = at(clock);
        said(&self.ask(ConcurrencyRequest::SnapshotAccess { tag, target, snapshot }))
    }
}

/// The replies of an outbox, which holds nothing else; each goes to the server it is meant for.
pub fn replies(outbox: Outbox) -> Vec<ConcurrencyReply> {
    assert!(outbox.records.is_empty() && outbox.syncs.is_empty());
    let replies = outbox.messages.into_iter().map(|outgoing| {
        let Message::ConcurrencyReply(reply) = outgoing.message else {
            panic!("not a reply: {:?}", outgoing.message);
        };
        let expected = match reply {
            ConcurrencyReply::CommitLockReply { .. } => ServerKind::AtomicityController,
            _ => ServerKind::ActionDriver,
        };
        assert!(outgoing.sites.is_empty() && outgoing.to == expected);
        reply
    });
    replies.collect()
}

/// Replies in short: who, and what became of it. That somebody waits is said by silence.
pub fn said(replies: &[ConcurrencyReply]) -> Vec<String> {
    let why = |conflict: &Option<Conflict>| match conflict {
        None => "granted".to_string(),
        Some(conflict) => kind(conflict.kind).to_string(),
    };
    let one = |reply: &ConcurrencyReply| match reply {
        ConcurrencyReply::LockBusy { .. } => None,
        ConcurrencyReply::LockTaken { transaction } => Some(format!("{} taken", transaction.sequence)),
        ConcurrencyReply::LockPrefetchReply { transaction, granted } => {
            Some(format!("{} granted {granted} ahead", transaction.sequence))
        }
        ConcurrencyReply::LockReply { transaction, conflict } => {
            Some(format!("{} {}", transaction.sequence, why(conflict)))
        }
        ConcurrencyReply::Doomed { transaction, conflict } => {
            Some(format!("{} doomed: {}", transaction.sequence, kind(conflict.kind)))
        }
        ConcurrencyReply::CommitLockReply { transaction, conflict } => {
            Some(format!("{} commit-locks {}", transaction.sequence, why(conflict)))
        }
        ConcurrencyReply::SnapshotReply { tag } => Some(format!("reader {tag}")),
        ConcurrencyReply::MethodReply { report, .. } => Some(format!("runs {}", report.method.name())),
    };
    replies.iter().filter_map(one).collect()
}

fn kind(kind: ConflictKind) -> &'static str {
    match kind {
        ConflictKind::Deadlock => "deadlock",
        ConflictKind::YoungerDies => "dies",
        ConflictKind::PreparedElsewhere => "taken elsewhere",
        ConflictKind::StaleRead => "stale",
        ConflictKind::OlderWaits => "older waits",
        ConflictKind::LateAccess => "late",
        other => other.describe(),
    }
}
