//! What a client below the strict level has read at snapshots, as transactions of their own that only read.
//!
//! At READ COMMITTED each statement that changes nothing is one: it fits the order of all others at a moment between its request and its answer. At REPEATABLE
//! READ all such statements together are one, at a moment within the first statement; and if the transaction commits, what it has read to change something was
//! so at that moment, too (first committer wins). What the transaction has changed itself it sees as it left it: that belongs to the transaction.

use crate::history::{HistoryWrite, Observation, ObservedTransaction, TransactionFate, companion};
use messages::session::Isolation;

/// Snapshots that the transaction under way has read.
#[derive(Debug, Default)]
pub(super) struct SnapshotReads {
    isolation: Isolation,
    /// When the statement at hand was asked for and answered, if it changes nothing.
    statement: Option<(u64, u64)>,
    /// The same of the first statement, whatever it was.
    first: Option<(u64, u64)>,
    read: Vec<ObservedTransaction>,
    /// What it has seen as it had left it itself, by the statement: nobody else can have changed that if it commits.
    own: Vec<((u64, u64), Observation)>,
}

impl SnapshotReads {
    /// For a transaction of this level.
    pub(super) fn at(isolation: Isolation) -> SnapshotReads {
        SnapshotReads { isolation, ..SnapshotReads::default() }
    }

    /// A statement was answered.
    pub(super) fn answered(&mut self, only_reads: bool, asked: u64, answered: u64) {
        self.first.get_or_insert((asked, answered));
        self.statement = only_reads.then_some((asked, answered));
    }

    /// What it has observed at snapshots.
    pub(super) fn observations(&self) -> impl DoubleEndedIterator<Item = &Observation> {
        self.read.iter().flat_map(|reader| &reader.observations)
    }

    /// Something was observed.
    pub(super) fn observe(&mut self, transaction: &mut ObservedTransaction, observation: Observation) {
        let times = match self.isolation {
            Isolation::ReadCommitted => self.statement,
            Isolation::RepeatableRead => self.statement.and(self.first),
            Isolation::Serializable => None,
        };
        match times.filter(|_| !is_own(transaction, &observation)) {
            Some(times) => self.reader(transaction, times).observations.push(observation),
            None if times.is_some() => {
                self.own.extend(times.map(|times| (times, observation.clone())));
                transaction.observations.push(observation);
            }
            None => transaction.observations.push(observation),
        }
    }

    /// Who reads at that moment.
    fn reader(&mut self, transaction: &ObservedTransaction, (begun, ended): (u64, u64)) -> &mut ObservedTransaction {
        if let Some(place) = self.read.iter().position(|reader| reader.begun == begun) {
            return &mut self.read[place];
        }
        self.read.push(ObservedTransaction {
            begun,
            ended,
            fate: TransactionFate::Committed,
            read_only: true,
            observations: Vec::new(),
            changes: Vec::new(),
            family: Default::default(),
            taken: Vec::new(),
            committing: None,
            snapshots: Vec::new(),
            ..transaction.clone()
        });
        self.read.last_mut().expect("one was just pushed")
    }

    /// The transaction is over.
    pub(super) fn end(&mut self, transaction: &mut ObservedTransaction) {
        if self.isolation == Isolation::RepeatableRead
            && transaction.fate == TransactionFate::Committed
            && let Some(first) = self.first
        {
            let observations = transaction.observations.clone();
            self.reader(transaction, first).observations.extend(observations);
        }
        for (times, observation) in std::mem::take(&mut self.own) {
            if self.isolation == Isolation::ReadCommitted && transaction.fate == TransactionFate::Committed {
                self.reader(transaction, times).observations.push(observation);
            }
        }
        transaction.snapshots = std::mem::take(&mut self.read);
    }
}

/// Whether a transaction sees something as it has left it itself.
fn is_own(transaction: &ObservedTransaction, observation: &Observation) -> bool {
    transaction.changes.iter().any(|change| match (observation, change) {
        (Observation::List { key, .. }, HistoryWrite::Append { key: own, .. })
        | (Observation::Register { key, .. }, HistoryWrite::Register { key: own, .. })
        | (Observation::Counter { key, .. }, HistoryWrite::Increment { key: own, .. }) => key == own,
        (Observation::List { key, .. }, HistoryWrite::Insert { member, .. } | HistoryWrite::Delete { member, .. }) => {
            *key == companion(*member)
        }
        (
            Observation::Members { low, high, .. },
            HistoryWrite::Insert { member, .. } | HistoryWrite::Delete { member, .. },
        ) => (*low..*high).contains(member),
        _ => false,
    })
}
