//! Sorting in slices: what comes is sorted in runs, and what leaves is merged from them one by one.
//!
//! Invariant: no step compares more than a run at once. What has equal keys leaves in the order in which it came.

use crate::equality::equality_key;
use crate::error::Interruption;
use crate::plan::Sorting;
use crate::run::{HeldBytes, RunState};
use analyzer::TypeId;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use values::Value;

/// How many are sorted at once.
const RUN_ROWS: usize = 4_096;

/// Something with what it is sorted by.
pub struct SortEntry<T> {
    key: Vec<u8>,
    /// Bytes that are held for it.
    bytes: usize,
    item: T,
}

/// What is being sorted.
pub struct RowSorter<T> {
    /// The run that is being filled.
    filling: Vec<SortEntry<T>>,
    /// What is left of sorted runs, each behind its first.
    runs: Vec<std::vec::IntoIter<SortEntry<T>>>,
    /// The first of each.
    firsts: BinaryHeap<RunFirst<T>>,
    /// How many entries are in runs.
    count: usize,
    /// No more than these leave.
    most: Option<usize>,
    /// Keys that are not below it cannot be among those that leave.
    bound: Option<Vec<u8>>,
    /// The first ones of all runs, while they are made one run.
    merging: Option<Vec<SortEntry<T>>>,
}

impl<T> Default for RowSorter<T> {
    fn default() -> RowSorter<T> {
        RowSorter::of_first(None)
    }
}

impl<T> RowSorter<T> {
    /// One from which no more than so many leave.
    pub fn of_first(most: Option<usize>) -> RowSorter<T> {
        RowSorter {
            filling: Vec::new(),
            runs: Vec::new(),
            firsts: BinaryHeap::new(),
            count: 0,
            most,
            bound: None,
            merging: None,
        }
    }

    /// Whether something with this key may leave.
    pub fn takes(&self, key: &[u8]) -> bool {
        self.bound.as_ref().is_none_or(|bound| key < bound.as_slice())
    }

    /// Takes something that needs so many bytes, which are counted.
    pub fn push(
        &mut self,
        key: Vec<u8>,
        item: T,
        bytes: usize,
        memory: &mut HeldBytes,
        run: &mut RunState<'_, '_>,
    ) -> Result<(), Interruption> {
        let bytes = bytes + key.len() + size_of::<SortEntry<T>>();
        memory.hold(bytes, run.state)?;
        self.filling.push(SortEntry { key, bytes, item });
        match self.most {
            Some(most) if most <= RUN_ROWS / 2 && self.filling.len() >= (2 * most).max(RUN_ROWS / 4) => {
                self.sort_filling();
                self.drop_behind(most, memory, run);
            }
            Some(most) if most <= RUN_ROWS / 2 => {}
            _ if self.filling.len() >= RUN_ROWS => self.end_run(),
            _ => {}
        }
        Ok(())
    }

    /// Lets go of what cannot leave any more. It may stop, and is then called again before anything else.
    pub fn settle(&mut self, memory: &mut HeldBytes, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let Some(most) = self.most else { return Ok(()) };
        if self.merging.is_none() {
            if self.count <= most.saturating_mul(2).saturating_add(RUN_ROWS) {
                return Ok(());
            }
            self.merging = Some(Vec::with_capacity(most));
        }
        while self.merging.as_ref().is_some_and(|merged| merged.len() < most) {
            run.spend()?;
            let next = self.pop_entry();
            let (Some(merged), Some(next)) = (&mut self.merging, next) else { break };
            merged.push(next);
        }
        let kept = self.merging.take().unwrap_or_default();
        let left = self.firsts.drain().map(|first| first.entry).chain(self.runs.drain(..).flatten());
        memory.release(left.map(|entry| entry.bytes).sum(), run.state);
        self.bound = kept.last().map(|last| last.key.clone());
        self.count = kept.len();
        self.add_run(kept);
        Ok(())
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        self.end_run();
    }

    /// The next one.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_entry().map(|entry| entry.item)
    }

    fn sort_filling(&mut self) {
        self.filling.sort_by(|one, other| one.key.cmp(&other.key));
    }

    fn drop_behind(&mut self, most: usize, memory: &mut HeldBytes, run: &mut RunState<'_, '_>) {
        let dropped = self.filling.drain(most.min(self.filling.len())..);
        memory.release(dropped.map(|entry| entry.bytes).sum(), run.state);
        self.bound = self.filling.last().map_or_else(|| Some(Vec::new()), |last| Some(last.key.clone()));
    }

    fn end_run(&mut self) {
        if self.filling.is_empty() {
            return;
        }
        self.sort_filling();
        let sorted = std::mem::take(&mut self.filling);
        self.count += sorted.len();
        self.add_run(sorted);
    }

    fn add_run(&mut self, sorted: Vec<SortEntry<T>>) {
        let mut sorted = sorted.into_iter();
        let run = self.runs.len();
        self.firsts.extend(sorted.next().map(|entry| RunFirst { entry, run }));
        self.runs.push(sorted);
    }

    fn pop_entry(&mut self) -> Option<SortEntry<T>> {
        let mut least = self.firsts.peek_mut()?;
        match self.runs[least.run].next() {
            Some(next) => Some(std::mem::replace(&mut least.entry, next)),
            None => Some(PeekMut::pop(least).entry),
        }
    }
}

/// The first of a run. The greatest in a heap is the one that comes first.
struct RunFirst<T> {
    entry: SortEntry<T>,
    run: usize,
}

impl<T> Ord for RunFirst<T> {
    fn cmp(&self, other: &RunFirst<T>) -> Ordering {
        other.entry.key.cmp(&self.entry.key).then(other.run.cmp(&self.run))
    }
}

impl<T> PartialOrd for RunFirst<T> {
    fn partial_cmp(&self, other: &RunFirst<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for RunFirst<T> {
    fn eq(&self, other: &RunFirst<T>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for RunFirst<T> {}

/// What a row is sorted by, as bytes that have its order.
pub fn sort_key(sorting: &[Sorting], row: &[Value], run: &mut RunState<'_, '_>) -> Result<Vec<u8>, Interruption> {
    let mut key = Vec::with_capacity(9 * sorting.len());
    for by in sorting {
        append_sort_key(&by.by.evaluate(row, run)?, by, &mut key);
    }
    Ok(key)
}

/// Appends a value that is known.
pub fn append_sort_key(value: &Value, by: &Sorting, key: &mut Vec<u8>) {
    // Keys have NULL behind all values, and turned around before all.
    if by.nulls_first != by.descending {
        key.push(u8::from(value.is_null() != by.nulls_first));
    }
    let begin = key.len();
    equality_key(value, TypeId(0), key);
    if by.descending {
        key[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::CompiledExpression;

    /// Rows would come out in another order than they are compared in.
    #[test]
    fn keys_have_the_order_of_their_values() {
        let numbers = [Value::Null, Value::Integer(-7), Value::Integer(0), Value::Integer(300)];
        let texts = [Value::Null, Value::text(""), Value::text("a"), Value::text("ab")];
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let by = Sorting { by: CompiledExpression::Slot(0), descending, nulls_first };
            for values in [&numbers, &texts] {
                for one in values {
                    for other in values {
                        let key = |value: &Value| {
                            let mut key = Vec::new();
                            append_sort_key(value, &by, &mut key);
                            key
                        };
                        let meant = super::super::sort::compare_keys(
                            std::slice::from_ref(&by),
                            std::slice::from_ref(one),
                            std::slice::from_ref(other),
                        );
                        assert_eq!(key(one).cmp(&key(other)), meant, "{one:?} {other:?} {by:?}");
                        assert!(meant != Ordering::Equal || one == other);
                    }
                }
            }
        }
    }
}
