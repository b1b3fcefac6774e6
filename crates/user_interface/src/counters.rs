//! What a user interface counts: statements, transactions as clients see them, sessions.
//!
//! Invariant: one thread counts, that of the user interface; any may read. A statement counts once its client is told of its end, and a transaction once
//! it has executed a statement and is over.

use crate::activity::ShownActivity;
use messages::ConflictKind;
use messages::session::Failure;
use metrics::{EventCounter, LatencyHistogram, LatencyRecorder};
use serde::{Deserialize, Serialize};
use std::array;
use std::sync::Arc;

/// What kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// SELECT, VALUES, TABLE, FETCH.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// COPY.
    Copy,
    /// What changes the catalog.
    Schema,
    /// BEGIN, COMMIT, ROLLBACK, savepoints.
    Transaction,
    /// What the session does by itself, and what else there is.
    Other,
}

impl StatementKind {
    /// Every kind.
    pub const ALL: [StatementKind; 9] = [
        StatementKind::Select,
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
        StatementKind::Merge,
        StatementKind::Copy,
        StatementKind::Schema,
        StatementKind::Transaction,
        StatementKind::Other,
    ];

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Select => "select",
            StatementKind::Insert => "insert",
            StatementKind::Update => "update",
            StatementKind::Delete => "delete",
            StatementKind::Merge => "merge",
            StatementKind::Copy => "copy",
            StatementKind::Schema => "schema",
            StatementKind::Transaction => "transaction",
            StatementKind::Other => "other",
        }
    }
}

/// Why a transaction has not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    /// It has lost a conflict, or was cancelled: what `raid.contention` counts, too.
    Lost(ConflictKind),
    /// Its client has rolled it back.
    RolledBack,
    /// A statement has failed.
    Failed,
    /// The site could not serve.
    Unavailable,
    /// The site's servers have begun a new life meanwhile.
    NewLife,
    /// Its client has gone.
    Disconnected,
}

/// Causes that are no conflicts.
const OTHER_CAUSES: usize = 5;
/// All of them.
const CAUSES: usize = ConflictKind::ALL.len() + OTHER_CAUSES;

impl AbortCause {
    /// Every cause, in the order of their places.
    pub fn all() -> impl Iterator<Item = AbortCause> {
        let others: [AbortCause; OTHER_CAUSES] = [
            AbortCause::RolledBack,
            AbortCause::Failed,
            AbortCause::Unavailable,
            AbortCause::NewLife,
            AbortCause::Disconnected,
        ];
        ConflictKind::ALL.into_iter().map(AbortCause::Lost).chain(others)
    }

    /// In words; those of `raid.contention` for conflicts.
    pub fn name(self) -> &'static str {
        match self {
            AbortCause::Lost(kind) => kind.name(),
            AbortCause::RolledBack => "rollback",
            AbortCause::Failed => "error",
            AbortCause::Unavailable => "unavailable",
            AbortCause::NewLife => "new life",
            AbortCause::Disconnected => "disconnected",
        }
    }

    fn place(self) -> usize {
        let others = ConflictKind::ALL.len();
        match self {
            AbortCause::Lost(kind) => kind as usize,
            AbortCause::RolledBack => others,
            AbortCause::Failed => others + 1,
            AbortCause::Unavailable => others + 2,
            AbortCause::NewLife => others + 3,
            AbortCause::Disconnected => others + 4,
        }
    }

    /// Of what the action driver says; `None`: nobody knows whether the transaction has committed.
    pub(crate) fn of(failure: &Failure) -> Option<AbortCause> {
        match failure {
            Failure::Conflict { conflict } => Some(AbortCause::Lost(conflict.kind)),
            Failure::Cancelled => Some(AbortCause::Lost(ConflictKind::Cancelled)),
            Failure::SchemaChanged { .. } => Some(AbortCause::Lost(ConflictKind::SchemaChanged)),
            Failure::Unavailable { .. } => Some(AbortCause::Unavailable),
            Failure::Statement(_) => Some(AbortCause::Failed),
            Failure::Unknown { .. } => None,
        }
    }
}

/// What a session is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// It has not been let in.
    Starting,
    /// Something is under way.
    Active,
    /// It waits for its client.
    Idle,
    /// It waits for its client, in a transaction.
    IdleInTransaction,
    /// The same, and the transaction has failed.
    IdleInFailedTransaction,
}

impl SessionState {
    /// Every state.
    pub const ALL: [SessionState; 5] = [
        SessionState::Starting,
        SessionState::Active,
        SessionState::Idle,
        SessionState::IdleInTransaction,
        SessionState::IdleInFailedTransaction,
    ];

    /// In words, PostgreSQL's where it has them.
    pub fn name(self) -> &'static str {
        match self {
            SessionState::Starting => "starting",
            SessionState::Active => "active",
            SessionState::Idle => "idle",
            SessionState::IdleInTransaction => "idle in transaction",
            SessionState::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// What of a session is under way and not counted yet, and where it is shown.
#[derive(Debug, Default)]
pub struct Uncounted {
    /// A statement: what kind, since when by the boot clock, and its text.
    pub(crate) statement: Option<(StatementKind, u64, Arc<str>)>,
    /// A transaction has executed something.
    pub(crate) transaction: bool,
    /// Why it will not commit, if that is known.
    pub(crate) cause: Option<AbortCause>,
    /// Nobody knows whether it has.
    pub(crate) unknown: bool,
    /// Where everybody sees what it is doing, once it is let in.
    pub(crate) activity: Option<ShownActivity>,
}

/// Classes of SQLSTATEs that are told apart; the last one is all others.
pub const ERROR_CLASSES: [&str; 19] = [
    "08", "0A", "21", "22", "23", "25", "26", "28", "34", "40", "42", "53", "54", "55", "57", "58", "72", "XX", "other",
];

fn class_of(sqlstate: &str) -> usize {
    let class = sqlstate.get(..2).unwrap_or_default();
    ERROR_CLASSES.iter().position(|known| *known == class).unwrap_or(ERROR_CLASSES.len() - 1)
}

/// What one user interface counts.
#[derive(Debug)]
pub struct InterfaceCounters {
    statements: [LatencyRecorder; StatementKind::ALL.len()],
    errors: [EventCounter; ERROR_CLASSES.len()],
    committed: EventCounter,
    aborted: [EventCounter; CAUSES],
    unknown: EventCounter,
    notifications: EventCounter,
    opened: EventCounter,
    sessions: [EventCounter; SessionState::ALL.len()],
}

impl Default for InterfaceCounters {
    fn default() -> InterfaceCounters {
        InterfaceCounters {
            statements: array::from_fn(|_| LatencyRecorder::default()),
            errors: array::from_fn(|_| EventCounter::default()),
            committed: EventCounter::default(),
            aborted: array::from_fn(|_| EventCounter::default()),
            unknown: EventCounter::default(),
            notifications: EventCounter::default(),
            opened: EventCounter::default(),
            sessions: array::from_fn(|_| EventCounter::default()),
        }
    }
}

fn read<const N: usize>(counters: &[EventCounter; N]) -> [u64; N] {
    array::from_fn(|place| counters[place].get())
}

impl InterfaceCounters {
    pub(crate) fn statement(&self, kind: StatementKind, nanoseconds: u64) {
        self.statements[kind as usize].observe(nanoseconds);
    }

    pub(crate) fn error(&self, sqlstate: &str) {
        self.errors[class_of(sqlstate)].add(1);
    }

    pub(crate) fn committed(&self) {
        self.committed.add(1);
    }

    /// `None`: whether it has is not known.
    pub(crate) fn not_committed(&self, cause: Option<AbortCause>) {
        match cause {
            Some(cause) => self.aborted[cause.place()].add(1),
            None => self.unknown.add(1),
        }
    }

    pub(crate) fn notified(&self) {
        self.notifications.add(1);
    }

    pub(crate) fn opened(&self) {
        self.opened.add(1);
    }

    pub(crate) fn sessions(&self, states: impl Iterator<Item = SessionState>) {
        let mut counts = [0; SessionState::ALL.len()];
        states.for_each(|state| counts[state as usize] += 1);
        for (counter, count) in self.sessions.iter().zip(counts) {
            counter.set(count);
        }
    }

    /// What was counted until now.
    pub fn read(&self) -> InterfaceCounts {
        InterfaceCounts {
            statements: array::from_fn(|place| self.statements[place].read()),
            errors: read(&self.errors),
            committed: self.committed.get(),
            aborted: read(&self.aborted),
            unknown: self.unknown.get(),
            notifications: self.notifications.get(),
            opened: self.opened.get(),
            sessions: read(&self.sessions),
        }
    }
}

/// What user interfaces have counted, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceCounts {
    statements: [LatencyHistogram; StatementKind::ALL.len()],
    errors: [u64; ERROR_CLASSES.len()],
    /// Transactions that have committed.
    pub committed: u64,
    aborted: [u64; CAUSES],
    /// Transactions of which nobody knows whether they have committed.
    pub unknown: u64,
    /// Notifications sent to clients.
    pub notifications: u64,
    /// Sessions that have begun.
    pub opened: u64,
    sessions: [u64; SessionState::ALL.len()],
}

impl InterfaceCounts {
    /// How long statements took, by kind, from the moment that they were read until their clients were told.
    pub fn statements(&self) -> impl Iterator<Item = (StatementKind, &LatencyHistogram)> {
        StatementKind::ALL.into_iter().zip(&self.statements)
    }

    /// Errors told to clients, by the class of their SQLSTATEs.
    pub fn errors(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ERROR_CLASSES.into_iter().zip(self.errors)
    }

    /// Transactions that have not committed, by cause.
    pub fn aborted(&self) -> impl Iterator<Item = (AbortCause, u64)> {
        AbortCause::all().zip(self.aborted)
    }

    /// Sessions by state, at most a second ago.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionState, u64)> {
        SessionState::ALL.into_iter().zip(self.sessions)
    }

    /// What another has counted, too.
    pub fn merge(&mut self, other: &InterfaceCounts) {
        fn add(counts: &mut [u64], more: &[u64]) {
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        for (latencies, more) in self.statements.iter_mut().zip(&other.statements) {
            latencies.merge(more);
        }
        add(&mut self.errors, &other.errors);
        add(&mut self.aborted, &other.aborted);
        add(&mut self.sessions, &other.sessions);
        self.committed += other.committed;
        self.unknown += other.unknown;
        self.notifications += other.notifications;
        self.opened += other.opened;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An abort would be told under another cause's name.
    #[test]
    fn each_cause_has_its_place() {
        let counters = InterfaceCounters::default();
        for (times, cause) in (1..).zip(AbortCause::all()) {
            (0..times).for_each(|_| counters.not_committed(Some(cause)));
        }
        let counted: Vec<_> = counters.read().aborted().collect();
        assert_eq!(counted, AbortCause::all().zip(1..).collect::<Vec<_>>());
        let mut names: Vec<_> = AbortCause::all().map(AbortCause::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CAUSES, "each has a name of its own");
    }

    /// What a worker has counted would be missing in the sum, or another's be shown as its own.
    #[test]
    fn counts_of_several_add_up() {
        let (one, other) = (InterfaceCounters::default(), InterfaceCounters::default());
        for counters in [&one, &other] {
            counters.statement(StatementKind::Merge, 5_000);
            counters.error("23505");
            counters.error("P0001");
            counters.committed();
            counters.not_committed(None);
            counters.notified();
            counters.opened();
            counters.sessions([SessionState::Idle, SessionState::Idle, SessionState::Active].into_iter());
        }
        let mut all = one.read();
        all.merge(&other.read());
        let of = |class: &str| all.errors().find(|(known, _)| *known == class).map(|(_, count)| count);
        assert_eq!((of("23"), of("other"), of("42")), (Some(2), Some(2), Some(0)));
        assert_eq!((all.committed, all.unknown, all.notifications, all.opened), (2, 2, 2, 2));
        let merges = all.statements().find(|(kind, _)| *kind == StatementKind::Merge).map(|(_, merges)| merges.count());
        assert_eq!(merges, Some(2));
        assert_eq!(all.sessions().map(|(_, count)| count).collect::<Vec<_>>(), [0, 2, 4, 0, 0]);
    }
}
