//! What an executor asks for, and what it goes on with.
//!
//! Invariant: a need names all that is asked of the other servers for it, and its event all that the executor learns.

use messages::concurrency::AccessKind;
use messages::method::MethodReport;
use messages::schema::{CatalogEntry, CatalogVersions};
use messages::{Item, Key, KeyRange, Row, TableId, Timestamp};
use serde::{Deserialize, Serialize};

/// What an executor cannot go on without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorNeed {
    /// The row of an item, accessed so.
    Item(Item, AccessKind),
    /// The same, unless another transaction has it: it is not waited for.
    ItemUnlessTaken(Item, AccessKind),
    /// Permission to write an item without reading it.
    Lock(Item),
    /// Permission to add to an item, and whether it is there: its row, which counts as read only if it is not.
    Presence(Item),
    /// A batch of the rows of a range.
    Range(RangeNeed),
    /// The catalog rows that a program relies on, unless one has changed; and what it accesses next, as far as that can be had at once.
    Unchanged(CatalogVersions, Vec<Access>),
    /// The version of a catalog row that a program relies on.
    Relied(Key),
    /// The same, once all that this site has voted for there is decided: what follows from it is told without a commit that checks it. Nothing
    /// else can have been answered anywhere, so who merely executes is not waited for, and nothing is locked.
    Confirmed(Key),
    /// Which method of concurrency control is in force.
    Method,
    /// The rows written into private storages committed ahead.
    Chunk,
    /// The version of the row of numbers, of which the transaction records nothing: it is committed ahead.
    Numbers,
    /// This row of numbers written and committed ahead, where this version of it still stands.
    Claim(Timestamp, Row),
    /// The row of a sequence, of which the transaction records nothing: a block of values is committed ahead.
    Sequence(Item),
    /// This row of a sequence written and committed ahead, where this version of it still stands.
    Block(Item, Timestamp, Row),
}

/// A batch of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeNeed {
    /// What is left to read.
    pub range: KeyRange,
    /// How the rows are accessed.
    pub kind: AccessKind,
    /// About so many rows.
    pub limit: u32,
    /// From the high end down.
    pub reverse: bool,
    /// What is done about who has some of it.
    pub access: RangeAccess,
}

/// What is done about other transactions that have some of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RangeAccess {
    /// They are waited for.
    Waits,
    /// The range is not read.
    UnlessTaken,
    /// They are waited for, or (`unless_taken`) the range is not read. All of it counts as read, though its rows are not wanted.
    Whole {
        /// See there.
        unless_taken: bool,
    },
    /// Nothing: rows are found as they have been committed here, nothing is locked, and it is no part of what the transaction has read. Whoever acts on a
    /// row reads it again.
    Peeks,
}

/// What an executor goes on with.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecutorEvent {
    /// Nothing was asked for.
    Go,
    /// The row, `None` when absent.
    Item(Option<Row>),
    /// It may be written.
    Locked,
    /// Another transaction has what was wanted only if none has it.
    Taken,
    /// Rows in the order asked for, own writes included, and what of the range is left.
    Batch(Vec<(Key, Row)>, Option<KeyRange>),
    /// Whether the catalog rows are as the program relies on, and what was read with them.
    Unchanged(bool, Ahead),
    /// The version of the catalog row, or of the row of numbers.
    Relied(Timestamp),
    /// The method in force.
    Method(Box<MethodReport>),
    /// The chunk, or the claim, or the block, is committed.
    ChunkCommitted,
    /// The row of a sequence and its version, `None` when absent.
    Sequence(Timestamp, Option<Row>),
    /// Somebody else has taken the block.
    BlockLost,
}

impl ExecutorNeed {
    /// What is needed; for a range, its low end.
    pub(crate) fn item(&self) -> Option<Item> {
        match self {
            ExecutorNeed::Item(item, _) | ExecutorNeed::ItemUnlessTaken(item, _) => Some(item.clone()),
            ExecutorNeed::Lock(item) | ExecutorNeed::Presence(item) => Some(item.clone()),
            ExecutorNeed::Range(need) => Some(Item { table: need.range.table, key: need.range.low.clone() }),
            ExecutorNeed::Relied(key) | ExecutorNeed::Confirmed(key) => Some(catalog_item(key)),
            ExecutorNeed::Numbers => Some(catalog_item(&CatalogEntry::next_key())),
            ExecutorNeed::Sequence(item) | ExecutorNeed::Block(item, ..) => Some(item.clone()),
            ExecutorNeed::Unchanged(..) | ExecutorNeed::Method | ExecutorNeed::Chunk | ExecutorNeed::Claim(..) => None,
        }
    }
}

/// The item that a row of the catalog is.
pub(crate) fn catalog_item(key: &Key) -> Item {
    Item { table: TableId::CATALOG, key: key.clone() }
}

/// An access that an action is going to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Of what.
    pub item: Item,
    /// How.
    pub kind: AccessKind,
    /// Whether the row is wanted, too.
    pub reads: bool,
}

/// Rows that were read ahead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ahead(pub(crate) Vec<(Item, Timestamp, Option<Row>)>);

impl Ahead {
    /// What was read of these accesses, in their order, as far as it goes.
    pub fn of(accesses: Vec<Access>, rows: Vec<(Timestamp, Option<Row>)>) -> Ahead {
        let items = accesses.into_iter().filter(|access| access.reads).map(|access| access.item);
        Ahead(items.zip(rows).map(|(item, (version, row))| (item, version, row)).collect())
    }
}
