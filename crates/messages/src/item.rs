//! Items, ranges and histories: what a transaction read and wrote.
//!
//! Protocols see keys and rows as bytes; only the action driver, the query processor and the user interface know columns.

use crate::key::Key;
use crate::notification::Notification;
use crate::timestamp::Timestamp;
use bytes::Bytes;
use identifiers::TableId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use values::Addend;

/// An encoded row (`values::row`).
pub type Row = Bytes;

/// A row's name: present or not, an item can be read, locked and fail-locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Item {
    /// The storage.
    pub table: TableId,
    /// The key in it.
    pub key: Key,
}

/// The rows between two keys, present or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyRange {
    /// The storage.
    pub table: TableId,
    /// The first key in it.
    pub low: Key,
    /// The first key behind it; `None`: to the end of the storage.
    pub high: Option<Key>,
}

impl KeyRange {
    /// A whole storage.
    pub fn whole(table: TableId) -> KeyRange {
        KeyRange { table, low: Key::lowest(), high: None }
    }

    /// The range that holds one key.
    pub fn point(table: TableId, key: Key) -> KeyRange {
        let high = Some(key.successor());
        KeyRange { table, low: key, high }
    }

    /// Whether it was made to hold one key.
    pub fn is_point(&self) -> bool {
        self.high.as_ref().is_some_and(|high| {
            let (low, high) = (self.low.as_bytes(), high.as_bytes());
            high.len() == low.len() + 1 && high.last() == Some(&0) && high.starts_with(low)
        })
    }

    /// Whether the key lies in it (the storage is not looked at).
    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.as_bytes() <= key && self.high.as_ref().is_none_or(|high| key < high.as_bytes())
    }

    /// Whether both are of one storage and share a key.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        self.table == other.table
            && other.high.as_ref().is_none_or(|high| self.low < *high)
            && self.high.as_ref().is_none_or(|high| other.low < *high)
    }

    /// Whether no key can lie in it.
    pub fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }
}

/// One item read and the version seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRead {
    /// Storage of the item.
    pub table: TableId,
    /// Key of the item.
    pub key: Key,
    /// The version seen: that of the row, or [`Timestamp::ZERO`] when it was absent.
    pub seen: Timestamp,
}

/// One range read. It still holds when nothing in it, deletions included, has a version above `as_of`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRead {
    /// What was read.
    pub range: KeyRange,
    /// The largest timestamp installed at the home site when the range was read.
    pub as_of: Timestamp,
}

/// One item written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Storage of the item.
    pub table: TableId,
    /// Key of the item.
    pub key: Key,
    /// The whole new row; `None` deletes.
    pub row: Option<Row>,
}

/// Rows that a transaction changes, as whoever waits in vain for its outcome is told of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRows {
    /// One of them.
    pub first: Item,
    /// How many others there are.
    pub others: usize,
}

impl ChangedRows {
    /// Of these rows; `None`: there are none.
    pub fn of(mut rows: impl Iterator<Item = Item>) -> Option<ChangedRows> {
        rows.next().map(|first| ChangedRows { first, others: rows.count() })
    }
}

/// Numbers added to columns of a row, to each at most once.
pub type Addends = SmallVec<[Addend; 1]>;

/// One item whose integer or decimal columns something is added to, whatever they hold: increments commute, so two transactions that add to one
/// item both commit. The item is not read, but it must be there. (Gawlick and Kinkade, "Varieties of Concurrency Control in IMS/VS
/// Fast Path", 1985; O'Neil, "The Escrow Transactional Method", 1986.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Increment {
    /// Storage of the item.
    pub table: TableId,
    /// Key of the item.
    pub key: Key,
    /// What is added.
    pub addends: Addends,
}

/// What a transaction read and wrote. Bounded by `limits::TRANSACTION_BYTES_MAX`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// Items read, absent ones included; each item at most once. An item that is written blindly is not listed.
    pub reads: Vec<ItemRead>,
    /// Ranges read.
    pub ranges: Vec<RangeRead>,
    /// Items written, each at most once.
    pub writes: Vec<Write>,
    /// Items added to, in ascending order of storage and key, each at most once and none of `writes`.
    pub increments: Vec<Increment>,
    /// Storages that nobody can reach any more once this transaction has committed.
    pub drops: Vec<TableId>,
    /// What it tells everybody who listens, once it has committed. It changes nothing that is stored.
    pub notifications: Vec<Notification>,
}

impl History {
    /// Whether it changes nothing that is stored.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty() && self.increments.is_empty() && self.drops.is_empty()
    }

    /// Bytes of the keys and rows that it writes: most of what it takes on its way.
    pub fn written_bytes(&self) -> usize {
        let written = |write: &Write| write.key.as_bytes().len() + write.row.as_ref().map_or(0, |row| row.len());
        self.writes.iter().map(written).sum()
    }

    /// Bytes of all keys and rows in it, about what it takes on its way.
    pub fn bytes(&self) -> usize {
        let ends = |read: &RangeRead| {
            read.range.low.as_bytes().len() + read.range.high.as_ref().map_or(0, |high| high.as_bytes().len())
        };
        let reads = self.reads.iter().map(|read| read.key.as_bytes().len() + size_of::<Timestamp>());
        let increments =
            self.increments.iter().map(|added| added.key.as_bytes().len() + size_of_val(&added.addends[..]));
        let read: usize = reads.chain(self.ranges.iter().map(ends)).sum();
        let notifications = self.notifications.iter().map(Notification::bytes);
        self.written_bytes() + read + increments.sum::<usize>() + notifications.sum::<usize>()
    }

    /// Every item that it changes.
    pub fn changed(&self) -> impl Iterator<Item = (TableId, &Key)> {
        let written = self.writes.iter().map(|write| (write.table, &write.key));
        written.chain(self.increments.iter().map(|increment| (increment.table, &increment.key)))
    }
}
