//! Increments that this site has voted for, or is about to, and that are not decided: what may still be added to which row.
//!
//! Invariant: whichever of them commit, in whatever order, no sum leaves its column's range. So an increment that was let in here never fails.
//! (O'Neil, "The Escrow Transactional Method", 1986.)

use messages::{Addends, Increment, Key, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use values::addition::{Addend, Number};

type Expected = SmallVec<[(TransactionId, Addends); 2]>;

/// What is expected, by item.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Escrow {
    items: BTreeMap<TableId, BTreeMap<Key, Expected>>,
}

impl Escrow {
    /// Whether a row can take this increment, beside all that are expected.
    pub(crate) fn admits(&self, increment: &Increment, row: &[u8]) -> bool {
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

    /// Expects an increment, once.
    pub(crate) fn enter(&mut self, transaction: TransactionId, increment: &Increment) {
        let keys = self.items.entry(increment.table).or_default();
        let expected = keys.entry(increment.key.clone()).or_default();
        if expected.iter().all(|(other, _)| *other != transaction) {
            expected.push((transaction, increment.addends.clone()));
        }
    }

    /// It is decided.
    pub(crate) fn leave(&mut self, transaction: TransactionId, increment: &Increment) {
        let Some(keys) = self.items.get_mut(&increment.table) else { return };
        let Some(expected) = keys.get_mut(&increment.key) else { return };
        expected.retain(|(other, _)| *other != transaction);
        if expected.is_empty() {
            keys.remove(&increment.key);
            if keys.is_empty() {
                self.items.remove(&increment.table);
            }
        }
    }

    /// Nothing is undecided.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
    }

    /// The items to which something may still be added.
    pub(crate) fn items(&self) -> impl Iterator<Item = (TableId, &Key)> {
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
        escrow.enter(transaction(1), &increment(500));
        escrow.enter(transaction(1), &increment(500));
        assert!(escrow.admits(&increment(267), &row) && !escrow.admits(&increment(268), &row));
        escrow.enter(transaction(2), &increment(-5_000));
        assert!(!escrow.admits(&increment(268), &row), "the one that makes room may abort");
        escrow.leave(transaction(1), &increment(500));
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
        escrow.enter(transaction(1), &any("0.900"));
        assert!(escrow.admits(&any("0.09"), &row) && !escrow.admits(&any("0.1"), &row));
        assert!(!escrow.admits(&increment(1), &row), "that is for integers");
    }

    /// NULL stays NULL and a short row is longer than it looks: both are an ordinary UPDATE's work.
    #[test]
    fn only_numbers_are_added_to() {
        let escrow = Escrow::default();
        for column in [2, 3] {
            let increment = Increment { addends: SmallVec::from_buf([Addend::whole(column, 1)]), ..increment(1) };
            assert!(!escrow.admits(&increment, &row(1)));
        }
    }
}
