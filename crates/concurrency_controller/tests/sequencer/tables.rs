//! The lock table against a list of locks that is searched from end to end.

use crate::support::{TABLE, key, own};
use concurrency_controller::lock_table::{Holder, LockPlace, LockStanding, LockTable, Mode};
use messages::{KeyRange, TransactionId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Keys `low..high`, to the end of the storage without a high one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lock {
    low: u8,
    high: Option<u8>,
    point: bool,
    holder: Holder,
}

impl Lock {
    fn overlaps(&self, other: &Lock) -> bool {
        self.low < other.high.unwrap_or(u8::MAX) && other.low < self.high.unwrap_or(u8::MAX)
    }

    fn with_place<T>(&self, then: impl FnOnce(LockPlace<'_>) -> T) -> T {
        let low = key(self.low);
        if self.point {
            return then(LockPlace::Point(TABLE, &low));
        }
        let high = self.high.map(key);
        then(LockPlace::Range(&KeyRange { table: TABLE, low, high }))
    }
}

fn lock() -> impl Strategy<Value = Lock> {
    let shape = prop_oneof![
        (0u8..12).prop_map(|low| (low, Some(low + 1), true)),
        (0u8..12, 0u8..12).prop_map(|(low, high)| (low, Some(high), false)),
        (0u8..12).prop_map(|low| (low, None, false)),
    ];
    let mode = prop_oneof![Just(Mode::Shared), Just(Mode::Increment), Just(Mode::Exclusive)];
    (shape, 1u64..5, mode).prop_map(|((low, high, point), transaction, mode)| {
        let holder = Holder { transaction: own(transaction), mode };
        Lock { low, high, point, holder }
    })
}

fn conflicts_in(table: &LockTable, asked: &Lock) -> BTreeSet<TransactionId> {
    let mut found = BTreeSet::new();
    let all = asked.with_place(|place| {
        table.conflicts(place, asked.holder.transaction, asked.holder.mode, |holder| {
            found.insert(holder.transaction);
            ControlFlow::Continue(())
        })
    });
    assert!(all.is_continue());
    found
}

fn conflicts_with(locks: &[Lock], asked: &Lock) -> BTreeSet<TransactionId> {
    let meets = |lock: &&Lock| {
        let others = lock.holder.transaction != asked.holder.transaction;
        others && lock.holder.mode.conflicts(asked.holder.mode) && lock.overlaps(asked) && asked.overlaps(lock)
    };
    locks.iter().filter(meets).map(|lock| lock.holder.transaction).collect()
}

/// A range without keys meets nothing.
fn is_empty(lock: &Lock) -> bool {
    lock.high.is_some_and(|high| high <= lock.low)
}

proptest! {
    /// Otherwise a conflict on a range would be missed, seen where there is none, or outlive its lock.
    #[test]
    fn the_table_finds_what_a_search_finds(steps in prop::collection::vec((lock(), lock(), 0usize..30), 1..60)) {
        let mut table = LockTable::default();
        let mut locks: Vec<Lock> = Vec::new();
        let mut removable: Vec<Lock> = Vec::new();
        for (added, asked, removed) in steps {
            if added.with_place(|place| table.add(place, added.holder.transaction, added.holder.mode)) {
                removable.push(added);
            }
            if !is_empty(&added) {
                locks.push(added);
            }
            if removed < removable.len() {
                let gone = removable.swap_remove(removed);
                gone.with_place(|place| table.remove(place, gone.holder.transaction, gone.holder.mode));
                if gone.point {
                    let same = |lock: &Lock| {
                        lock.point && lock.low == gone.low && lock.holder.transaction == gone.holder.transaction
                    };
                    locks.retain(|lock| !same(lock));
                } else {
                    let place = locks.iter().position(|lock| *lock == gone).unwrap();
                    locks.remove(place);
                }
            }
            if is_empty(&asked) {
                prop_assert!(conflicts_in(&table, &asked).is_empty());
            } else {
                prop_assert_eq!(conflicts_in(&table, &asked), conflicts_with(&locks, &asked));
            }
        }
        for lock in removable {
            lock.with_place(|place| table.remove(place, lock.holder.transaction, lock.holder.mode));
        }
        prop_assert!(table.is_empty());
    }

    /// Otherwise a transaction would wait for a lock that it has, or not for one that it has not.
    #[test]
    fn what_is_covered_is_locked_key_by_key(locks in prop::collection::vec(lock(), 1..12), asked in lock()) {
        let mut table = LockTable::default();
        for lock in &locks {
            lock.with_place(|place| table.add(place, lock.holder.transaction, lock.holder.mode));
        }
        let standing = asked.with_place(|place| table.standing(asked.holder.transaction, place, asked.holder.mode));
        let wanted = asked.holder.mode;
        let covers = |mode: Mode| mode == Mode::Exclusive || mode == wanted;
        let own: Vec<&Lock> =
            locks.iter().filter(|lock| lock.holder.transaction == asked.holder.transaction).collect();
        // Points do not cover ranges: between two keys there are always others. All that a transaction has asked for on an item is one lock.
        let locked = |key: u8| {
            let here = || own.iter().filter(|lock| lock.low <= key && key < lock.high.unwrap_or(u8::MAX));
            let mut points = here().filter(|lock| asked.point && lock.point).map(|lock| lock.holder.mode);
            let joined = points.next().map(|first| points.fold(first, |one, other| if one == other { one } else { Mode::Exclusive }));
            joined.is_some_and(covers) || here().any(|lock| !lock.point && covers(lock.holder.mode))
        };
        let expected = (asked.low..asked.high.unwrap_or(u8::MAX)).all(locked);
        prop_assert_eq!(standing == LockStanding::Covered, expected);
        prop_assert!(standing != LockStanding::Free || conflicts_in(&table, &asked).is_empty());
    }
}
