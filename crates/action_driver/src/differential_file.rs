//! The differential file: a transaction's private writes, laid over what it reads, and undone to a mark; and what it adds to rows that it
//! has not read.
//!
//! Invariants: read through the file, a storage looks as if the writes had been applied to it (who reads a row that is added to makes
//! that a write first); undone to a mark, the file is as it was when the mark was set; an item is written or added to, not both.
//! (Severance and Lohman: Differential files, 1976.)

use messages::{Addends, Increment, Item, Key, KeyRange, Row, TableId, Timestamp, Write};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use values::Addend;

/// Private writes by item; `None` is a deletion.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DifferentialFile {
    rows: BTreeMap<Item, Option<Row>>,
    increments: BTreeMap<Item, PrivateIncrement>,
    increments_made: u32,
    undo: Vec<WriteUndo>,
    keep_undo: bool,
    bytes: usize,
}

/// What is added to an item.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PrivateIncrement {
    addends: Addends,
    /// Counted up: the order in which items were first added to.
    order: u32,
}

/// What a write, or an increment, replaced: the outer `None` when the item had not been written, or added to, before.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum WriteUndo {
    Write { item: Item, before: Option<Option<Row>> },
    Increment { item: Item, before: Option<PrivateIncrement> },
}

/// A moment of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferentialMark(usize);

impl DifferentialFile {
    /// An empty file. With `keep_undo` it can be undone to a mark.
    pub fn new(keep_undo: bool) -> DifferentialFile {
        DifferentialFile { keep_undo, ..DifferentialFile::default() }
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.increments.is_empty()
    }

    /// Items written or added to.
    pub fn len(&self) -> usize {
        self.rows.len() + self.increments.len()
    }

    /// What is written or added to.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.rows.keys().chain(self.increments.keys())
    }

    /// Whether a row of this storage is written.
    pub fn writes_to(&self, table: TableId) -> bool {
        self.range(&KeyRange::whole(table)).next().is_some()
    }

    /// From now on it can be undone to a mark.
    pub fn keep_undo(&mut self) {
        self.keep_undo = true;
    }

    /// Bytes of their keys and rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The transaction's own row or deletion; the outer `None` when it has not written the item.
    pub fn get(&self, item: &Item) -> Option<&Option<Row>> {
        if self.rows.is_empty() { None } else { self.rows.get(item) }
    }

    /// Writes a row, or with `None` its deletion.
    pub fn put(&mut self, item: Item, row: Option<Row>) {
        self.bytes += size(&item, &row);
        if self.keep_undo {
            let before = self.rows.insert(item.clone(), row);
            if let Some(before) = &before {
                self.bytes -= size(&item, before);
            }
            self.undo.push(WriteUndo::Write { item, before });
        } else {
            let key_bytes = item.key.as_bytes().len();
            if let Some(before) = self.rows.insert(item, row) {
                self.bytes -= key_bytes + before.map_or(0, |row| row.len());
            }
        }
    }

    /// This moment.
    pub fn mark(&self) -> DifferentialMark {
        DifferentialMark(self.undo.len())
    }

    /// Back to the mark; marks set since are void.
    ///
    /// # Panics
    /// When the file keeps no undo log, or the mark is void.
    pub fn undo_to(&mut self, mark: DifferentialMark) {
        assert!(self.keep_undo, "a file without undo log is dropped as a whole");
        assert!(mark.0 <= self.undo.len(), "the mark was undone or forgotten");
        while self.undo.len() > mark.0 {
            match self.undo.pop().expect("longer than the mark") {
                WriteUndo::Write { item, before } => {
                    if let Some(before) = &before {
                        self.bytes += size(&item, before);
                    }
                    let after = match before {
                        Some(before) => self.rows.insert(item.clone(), before),
                        None => self.rows.remove(&item),
                    };
                    let after = after.expect("what a write left is there when it is undone");
                    self.bytes -= size(&item, &after);
                }
                WriteUndo::Increment { item, before } => drop(self.replace_increment(item, before)),
            }
        }
    }

    /// Adds to an item that is not written here, on top of what has been added to it. False, and nothing has changed, when a number gets
    /// too large.
    pub fn add(&mut self, item: Item, addends: &[Addend]) -> bool {
        debug_assert!(!self.rows.contains_key(&item), "a row that is known is written");
        self.increments_made += 1;
        let first = || PrivateIncrement { addends: Addends::new(), order: self.increments_made };
        let mut increment = self.increments.get(&item).cloned().unwrap_or_else(first);
        for addend in addends {
            match increment.addends.iter_mut().find(|sum| sum.column == addend.column) {
                None => increment.addends.push(*addend),
                Some(sum) => match sum.and(*addend) {
                    Some(both) => *sum = both,
                    None => return false,
                },
            }
        }
        self.change_increment(item, Some(increment));
        true
    }

    /// What is added to an item.
    pub fn increment_of(&self, item: &Item) -> Option<&Addends> {
        if self.increments.is_empty() { None } else { self.increments.get(item).map(|increment| &increment.addends) }
    }

    /// What was added to an item is added no more.
    pub fn take_increment(&mut self, item: &Item) -> Option<Addends> {
        let addends = self.increment_of(item).cloned()?;
        self.change_increment(item.clone(), None);
        Some(addends)
    }

    /// Whether any item is added to.
    pub fn has_increments(&self) -> bool {
        !self.increments.is_empty()
    }

    /// The items that are added to, by storage and key.
    pub fn incremented(&self) -> impl Iterator<Item = &Item> {
        self.increments.keys()
    }

    /// The items that are added to, of a range if one is given, in the order in which they were first added to.
    pub fn incremented_in_order(&self, range: Option<&KeyRange>) -> Vec<&Item> {
        let low = range.map(|range| Item { table: range.table, key: range.low.clone() });
        let from = low.map_or(Bound::Unbounded, Bound::Included);
        let within =
            |item: &Item| range.is_none_or(|range| item.table == range.table && range.contains(item.key.as_bytes()));
        let added_to = self.increments.range((from, Bound::Unbounded)).take_while(|(item, _)| within(item));
        let mut items: Vec<(u32, &Item)> = added_to.map(|(item, increment)| (increment.order, item)).collect();
        items.sort_unstable_by_key(|(order, _)| *order);
        items.into_iter().map(|(_, item)| item).collect()
    }

    fn change_increment(&mut self, item: Item, increment: Option<PrivateIncrement>) {
        let before = self.replace_increment(item.clone(), increment);
        if self.keep_undo {
            self.undo.push(WriteUndo::Increment { item, before });
        }
    }

    fn replace_increment(&mut self, item: Item, increment: Option<PrivateIncrement>) -> Option<PrivateIncrement> {
        let bytes = |increment: &PrivateIncrement| item.key.as_bytes().len() + size_of_val(&increment.addends[..]);
        let added = increment.as_ref().map_or(0, bytes);
        let before = match increment {
            Some(increment) => self.increments.insert(item.clone(), increment),
            None => self.increments.remove(&item),
        };
        self.bytes = self.bytes + added - before.as_ref().map_or(0, bytes);
        before
    }

    /// Forgets how to undo: all marks are void.
    pub fn forget_undo(&mut self) {
        self.undo.clear();
    }

    /// Takes out the rows of these storages, to be committed ahead. Only without marks.
    pub fn take_storages(&mut self, storages: &[TableId]) -> Vec<Write> {
        self.undo.clear();
        let mut taken = Vec::new();
        for &table in storages {
            let whole = KeyRange::whole(table);
            let keys: Vec<Item> = self.range(&whole).map(|(item, _)| item.clone()).collect();
            for item in keys {
                let row = self.rows.remove(&item).expect("listed a moment ago");
                self.bytes -= size(&item, &row);
                taken.push(Write { table, key: item.key, row });
            }
        }
        taken
    }

    /// Lays the file over rows of a range in key order (or backwards), which are all rows there but the transaction's own.
    pub fn overlay(&self, range: &KeyRange, rows: Vec<(Key, Timestamp, Row)>, reverse: bool) -> Vec<(Key, Row)> {
        let base = rows.into_iter().map(|(key, _, row)| (key, row));
        if self.rows.is_empty() || range.is_empty() {
            return base.collect();
        }
        let own = self.range(range);
        if reverse { merge(base, own.rev(), Ordering::reverse) } else { merge(base, own, std::convert::identity) }
    }

    fn range(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = (&Item, &Option<Row>)> {
        self.rows.range(bounds(range))
    }

    /// All writes and all increments, by storage and key.
    pub fn into_parts(self) -> (Vec<Write>, Vec<Increment>) {
        let writes = self.rows.into_iter().map(|(item, row)| Write { table: item.table, key: item.key, row });
        let increments = self.increments.into_iter().map(|(item, increment)| Increment {
            table: item.table,
            key: item.key,
            addends: increment.addends,
        });
        (writes.collect(), increments.collect())
    }
}

/// As [`DifferentialFile::overlay`], of the file as it was before items were written that had this before; the outer `None`: nothing of the transaction's.
pub fn patched(
    file: &DifferentialFile,
    before: &BTreeMap<Item, Option<Option<Row>>>,
    range: &KeyRange,
    rows: Vec<(Key, Timestamp, Row)>,
    reverse: bool,
) -> Vec<(Key, Row)> {
    let base = rows.into_iter().map(|(key, _, row)| (key, row));
    if range.is_empty() {
        return base.collect();
    }
    let mut own: BTreeMap<&Item, &Option<Row>> = file.range(range).collect();
    for (item, before) in before.range(bounds(range)) {
        match before {
            Some(before) => drop(own.insert(item, before)),
            None => drop(own.remove(item)),
        }
    }
    let own = own.into_iter();
    if reverse { merge(base, own.rev(), Ordering::reverse) } else { merge(base, own, std::convert::identity) }
}

/// The items of a range.
fn bounds(range: &KeyRange) -> std::ops::Range<Item> {
    let low = Item { table: range.table, key: range.low.clone() };
    let high = match &range.high {
        Some(high) => Item { table: range.table, key: high.clone().max(range.low.clone()) },
        None => Item { table: TableId(range.table.0.saturating_add(1)), key: Key::lowest() },
    };
    low..high
}

fn size(item: &Item, row: &Option<Row>) -> usize {
    item.key.as_bytes().len() + row.as_ref().map_or(0, |row| row.len())
}

/// Both are in the order that `direct` makes of ascending keys; the own row wins.
fn merge<'a>(
    base: impl Iterator<Item = (Key, Row)>,
    own: impl Iterator<Item = (&'a Item, &'a Option<Row>)>,
    direct: fn(Ordering) -> Ordering,
) -> Vec<(Key, Row)> {
    let mut merged = Vec::with_capacity(base.size_hint().0);
    let mut base = base.peekable();
    for (item, row) in own {
        while let Some(before) = base.next_if(|(key, _)| direct(key.cmp(&item.key)) == Ordering::Less) {
            merged.push(before);
        }
        base.next_if(|(key, _)| *key == item.key);
        if let Some(row) = row {
            merged.push((item.key.clone(), row.clone()));
        }
    }
    merged.extend(base);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: TableId = TableId(20);

    fn item(key: u8) -> Item {
        Item { table: TABLE, key: Key::new(&[key]) }
    }

    fn row(content: u8) -> Row {
        Row::from(vec![content])
    }

    fn contents(file: &DifferentialFile) -> Vec<(Item, Option<Row>)> {
        file.rows.iter().map(|(item, row)| (item.clone(), row.clone())).collect()
    }

    fn scan(model: &BTreeMap<u8, u8>, low: u8, high: Option<u8>, reverse: bool) -> Vec<(Key, Row)> {
        let rows = model.iter().filter(|(key, _)| **key >= low && high.is_none_or(|high| **key < high));
        let mut rows: Vec<_> = rows.map(|(key, content)| (Key::new(&[*key]), row(*content))).collect();
        if reverse {
            rows.reverse();
        }
        rows
    }

    proptest! {
        /// A transaction that did not see its own writes, or saw a row that it deleted, would compute wrong results.
        #[test]
        fn a_scan_sees_the_writes_applied(
            base in prop::collection::btree_map(0u8..24, any::<u8>(), 0..16),
            writes in prop::collection::vec((0u8..24, prop::option::of(any::<u8>())), 0..24),
            low in 0u8..24,
            high in prop::option::of(0u8..24),
            reverse: bool,
        ) {
            let mut file = DifferentialFile::new(false);
            file.put(Item { table: TableId(TABLE.0 - 1), key: Key::new(&[1]) }, Some(row(1)));
            file.put(Item { table: TableId(TABLE.0 + 1), key: Key::lowest() }, Some(row(1)));
            let mut model = base.clone();
            for (key, content) in &writes {
                file.put(item(*key), content.map(row));
                match content {
                    Some(content) => model.insert(*key, *content),
                    None => model.remove(key),
                };
            }
            let range = KeyRange { table: TABLE, low: Key::new(&[low]), high: high.map(|high| Key::new(&[high])) };
            let stored = scan(&base, low, high, reverse);
            let stored = stored.into_iter().map(|(key, row)| (key, Timestamp::ZERO, row)).collect();
            prop_assert_eq!(file.overlay(&range, stored, reverse), scan(&model, low, high, reverse));
        }

        /// ROLLBACK TO would lose or keep the wrong writes, and the size bound would drift.
        #[test]
        fn undoing_restores_the_marked_moment(
            before in prop::collection::vec((0u8..8, prop::option::of(0u8..200)), 0..12),
            after in prop::collection::vec((0u8..8, prop::option::of(0u8..200)), 0..12),
        ) {
            let mut file = DifferentialFile::new(true);
            let write = |file: &mut DifferentialFile, writes: &[(u8, Option<u8>)]| {
                for (key, content) in writes {
                    file.put(item(*key), content.map(|content| Row::from(vec![content; content as usize % 5])));
                }
            };
            write(&mut file, &before);
            let (mark, rows, bytes) = (file.mark(), contents(&file), file.bytes());
            write(&mut file, &after);
            file.undo_to(mark);
            prop_assert_eq!(contents(&file), rows);
            prop_assert_eq!(file.bytes(), bytes);
        }
    }

    /// A rolled back increment that stayed, or one that a write replaced and that came back beside it, would be booked for nothing.
    #[test]
    fn additions_are_summed_and_undone() {
        let whole = Addend::whole;
        let mut file = DifferentialFile::new(true);
        assert!(file.add(item(1), &[whole(1, 5)]) && file.add(item(1), &[whole(1, 6), whole(2, -1)]));
        let (mark, bytes) = (file.mark(), file.bytes());
        assert!(file.add(item(1), &[whole(2, -1)]) && file.add(item(3), &[whole(1, 1)]));
        assert!(!file.add(item(1), &[whole(1, i64::MAX)]), "the sum would not fit");
        assert_eq!(file.take_increment(&item(1)).as_deref(), Some(&[whole(1, 11), whole(2, -2)][..]));
        file.put(item(1), Some(row(7)));
        assert_eq!(file.incremented().collect::<Vec<_>>(), [&item(3)]);
        file.undo_to(mark);
        assert_eq!((file.bytes(), file.len()), (bytes, 1));
        assert!(file.get(&item(1)).is_none());
        let range = |low, high| KeyRange { table: TABLE, low: Key::new(&[low]), high: Some(Key::new(&[high])) };
        assert_eq!(file.incremented_in_order(Some(&range(0, 2))), [&item(1)]);
        assert!(file.incremented_in_order(Some(&range(2, 9))).is_empty());
        assert!(file.add(item(0), &[whole(1, 1)]) && file.add(item(1), &[whole(1, 0)]));
        assert_eq!(file.incremented_in_order(None), [&item(1), &item(0)]);
        file.undo_to(mark);
        let (writes, increments) = file.into_parts();
        assert!(writes.is_empty());
        assert_eq!(increments[0].addends[..], [whole(1, 11), whole(2, -1)]);
    }

    /// Rows that were committed ahead and stayed in the file would be committed twice.
    #[test]
    fn rows_taken_out_are_gone() {
        let mut file = DifferentialFile::new(true);
        file.put(item(1), Some(row(1)));
        file.put(Item { table: TableId(30), key: Key::new(&[1]) }, Some(row(2)));
        let taken = file.take_storages(&[TABLE]);
        assert_eq!(taken.len(), 1);
        assert_eq!((file.len(), file.bytes()), (1, 2));
        assert!(file.get(&item(1)).is_none());
    }
}
