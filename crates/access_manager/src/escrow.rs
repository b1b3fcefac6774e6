//! Increments that this site has voted for, or is about to, and that are not decided: what may still be added to which row.
//!
//! Invariant: whichever of them commit, in whatever order, no sum leaves its column's range. So an increment that was let in here never fails.
//! (O'Neil, "The Escrow Transactional Method", 1986.)

use messages::{Addends, History, Increment, Key, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::addition::{Addend, Number};

type Expected = SmallVec<[(TransactionId, Addends); 2]>;

/// What is expected.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Escrow {
    /// By item, but for `alone`.
    items: BTreeMap<TableId, BTreeMap<Key, Expected>>,
    /// The only transaction of which anything is expected, until somebody asks what that is.
    alone: Option<(TransactionId, Arc<History>)>,
}

impl Escrow {
    /// Whether a row can take this increment, beside all that are expected.
    pub(crate) fn admits(&mut self, increment: &Increment, row: &[u8]) -> bool {
        self.list();
        let expected = self.items.get(&increment.table).and_then(|keys| keys.get(&increment.key));
        increment.addends.iter().all(|Addend { column, .. }| {
            let others = expected.into_iter().flatten().flat_map(|(_, addends)| addends);
            let addends = others.chain(&increment.addends).filter(|other| other.column == *column);
            let Some(number) = Number::of(row, *column, addends.clone()) else { return false };
            let (mut least, mut most) = (number.number, number.number);
            for addend in addends.map(|addend| number.count(addend)) {
                least = least.saturating_add(addend.min(0));
                most = most.saturating_add(addend.max(0));
            }
            number.range.contains(&least) && number.range.contains(&most)
        })
    }

    /// Expects the increments of a transaction, each once.
    pub(crate) fn enter(&mut self, transaction: TransactionId, history: &Arc<History>) {
        if history.increments.is_empty() {
            return;
        }
        self.list();
        if self.items.is_empty() {
            self.alone = Some((transaction, history.clone()));
        } else {
            self.expect(transaction, history);
        }
    }

    /// Has all that is expected by item.
    fn list(&mut self) {
        if let Some((transaction, history)) = self.alone.take() {
            self.expect(transaction, &history);
        }
    }

    fn expect(&mut self, transaction: TransactionId, history: &History) {
        for Increment { table, key, addends } in &history.increments {
            let expected = self.items.entry(*table).or_default().entry(key.clone()).or_default();
            if expected.iter().all(|(other, _)| *other != transaction) {
                expected.push((transaction, addends.clone()));
            }
        }
    }

    /// It is decided.
    pub(crate) fn leave(&mut self, transaction: TransactionId, history: &History) {
        if self.alone.take_if(|(alone, _)| *alone == transaction).is_some() {
            return;
        }
        for Increment { table, key, .. } in &history.increments {
            let Some(keys) = self.items.get_mut(table) else { continue };
            let Some(expected) = keys.get_mut(key) else { continue };
            expected.retain(|(other, _)| *other != transaction);
            if expected.is_empty() {
                keys.remove(key);
                if keys.is_empty() {
                    self.items.remove(table);
                }
            }
        }
    }

    /// Nothing is undecided.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.alone = None;
    }

    /// The items to which something may still be added.
    pub(crate) fn items(&mut self) -> impl Iterator<Item = (TableId, &Key)> {
        self.list();
        self.items.iter().flat_map(|(table, keys)| keys.keys().map(|key| (*table, key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use values::row::encode_row;
    use values::{Type, Value};

    fn transaction(sequence: u64) -> TransactionId {
        TransactionId { sequence, ..TransactionId::ZERO }
    }

    fn increment(addend: i64) -> Increment {
        Increment { table: TableId(20), key: Key::new(b"k"), addends: SmallVec::from_buf([Addend::whole(1, addend)]) }
    }

    fn of(addend: i64) -> Arc<History> {
        Arc::new(History { increments: vec![increment(addend)], ..History::default() })
    }

    fn row(number: i16) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_row(&[Value::Integer(1), Value::SmallInt(number), Value::Null], &mut bytes);
        bytes
    }

    /// Otherwise two increments that fit alone overflow together after both were voted for; or one that fits only because another makes
    /// room, which then aborts.
    #[test]
    fn no_subset_of_what_is_expected_overflows() {
        let mut escrow = Escrow::default();
        let row = row(32_000);
        assert!(escrow.admits(&increment(767), &row) && !escrow.admits(&increment(768), &row));
        escrow.enter(transaction(1), &of(500));
        escrow.enter(transaction(1), &of(500));
        assert!(escrow.admits(&increment(267), &row) && !escrow.admits(&increment(268), &row));
        escrow.enter(transaction(2), &of(-5_000));
        assert!(!escrow.admits(&increment(268), &row), "the one that makes room may abort");
        escrow.leave(transaction(1), &of(500));
        assert!(escrow.admits(&increment(767), &row));
        escrow.clear();
        assert_eq!(escrow.items().count(), 0);
    }

    /// Of decimal numbers the finest of all that are expected counts: the sum of all has its digits.
    #[test]
    fn no_subset_of_decimals_overflows() {
        let mut escrow = Escrow::default();
        let decimal = |text: &str| Value::numeric(values::numeric::parse(text).unwrap());
        let any = |text: &str| {
            let addend = Addend::of(0, Type::Numeric(None), &decimal(text)).unwrap();
            Increment { addends: SmallVec::from_buf([addend]), ..increment(0) }
        };
        let mut row = Vec::new();
        encode_row(&[decimal("999999999999999.0")], &mut row);
        assert!(escrow.admits(&any("0.001"), &row) && !escrow.admits(&any("0.0001"), &row));
        escrow.enter(transaction(1), &Arc::new(History { increments: vec![any("0.900")], ..History::default() }));
        assert!(escrow.admits(&any("0.09"), &row) && !escrow.admits(&any("0.1"), &row));
        assert!(!escrow.admits(&increment(1), &row), "that is for integers");
    }

    /// NULL stays NULL and a short row is longer than it looks: both are an ordinary UPDATE's work.
    #[test]
    fn only_numbers_are_added_to() {
        let mut escrow = Escrow::default();
        for column in [2, 3] {
            let increment = Increment { addends: SmallVec::from_buf([Addend::whole(column, 1)]), ..increment(1) };
            assert!(!escrow.admits(&increment, &row(1)));
        }
    }
}
