//! `raid.contention`: what transactions of a site have lost conflicts on, and waited long for, as a table.
//!
//! It is read like any other table, by scans of [`TableId::CONTENTION`], which the action driver answers from what it counts. Only who has the
//! catalog knows names: the query processor puts them in the place of storages and keys ([`named`]).

use crate::conflict::ConflictKind;
use crate::item::{Item, Row};
use crate::item_name::ItemName;
use crate::key::Key;
use crate::schema::{Catalog, Column, TableSchema};
use identifiers::TableId;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};
use values::{Type, Value, ValueError, row};

/// The schema that holds what Raid tells of itself.
pub const SCHEMA: &str = "raid";
/// The table's name in it.
pub const NAME: &str = "contention";

/// Microseconds from 1970 to 2000, where SQL's timestamps begin.
const EPOCH_OF_SQL_MICROS: i64 = 946_684_800_000_000;

/// Why a transaction has lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ContentionCause {
    /// It lost a conflict of this kind, and began anew or failed.
    Lost(ConflictKind),
    /// It waited long before it was let go on.
    Waited,
}

impl ContentionCause {
    /// As the table shows it.
    pub fn text(self) -> &'static str {
        match self {
            ContentionCause::Lost(kind) => kind.name(),
            ContentionCause::Waited => "long wait",
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentionRow {
    /// Why.
    pub cause: ContentionCause,
    /// On what (for a range, its low end); none if that is not known.
    pub item: Option<Item>,
    /// How often, at most.
    pub count: u64,
    /// It may have been so many times less, because the row has taken the place of another.
    pub count_error_max: u64,
    /// Time waited, all in all, in nanoseconds.
    pub waited: u64,
    /// The last time: microseconds since 1970.
    pub last_micros: u64,
}

static TABLE: LazyLock<Arc<TableSchema>> = LazyLock::new(|| {
    let columns = [
        ("cause", Type::Text),
        ("table_name", Type::Text),
        ("index_name", Type::Text),
        ("key", Type::Text),
        ("count", Type::BigInt),
        ("count_error_max", Type::BigInt),
        ("waited_ms", Type::BigInt),
        ("last_seen", Type::TimestampTz(None)),
    ];
    let column = |(name, column_type): (&str, Type)| Column::new(name, column_type, false);
    Arc::new(TableSchema::new(
        format!("{SCHEMA}.{NAME}"),
        TableId::CONTENTION,
        columns.into_iter().map(column).collect(),
    ))
});

/// The table's definition.
pub fn table() -> Arc<TableSchema> {
    Arc::clone(&TABLE)
}

/// Microseconds since 1970 as SQL counts them.
pub(crate) fn since_2000(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX).saturating_sub(EPOCH_OF_SQL_MICROS)
}

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

impl ContentionRow {
    /// As a row whose item is a storage's number and a key's bytes, in the places of table and key.
    pub fn encode(&self) -> Row {
        let (storage, key) = match &self.item {
            Some(Item { table, key }) => (big(u64::from(table.0)), Value::Bytea(key.as_bytes().into())),
            None => (Value::Null, Value::Null),
        };
        encoded(&[
            Value::text(self.cause.text()),
            storage,
            Value::Null,
            key,
            big(self.count),
            big(self.count_error_max),
            big(self.waited / 1_000_000),
            Value::TimestampTz(since_2000(self.last_micros)),
        ])
    }
}

fn encoded(values: &[Value]) -> Row {
    let mut bytes = Vec::new();
    row::encode_row(values, &mut bytes);
    Row::from(bytes)
}

/// An encoded row with names, as far as the catalog has them: a storage that it does not know has none. Errors: it is no such row.
pub fn named(bytes: &[u8], catalog: &Catalog) -> Result<Row, ValueError> {
    let mut values = row::decode_row(bytes, TABLE.columns.len())?;
    let text = |text: Option<String>| text.map_or(Value::Null, Value::text);
    if let (Value::BigInt(storage), Value::Bytea(key)) = (&values[1], &values[3]) {
        let table = TableId(u32::try_from(*storage).unwrap_or(u32::MAX));
        let item = Item { table, key: Key::new(key) };
        let name = ItemName::of(&item, catalog);
        (values[1], values[2], values[3]) = (text(name.table), text(name.index), text(name.key));
    }
    Ok(encoded(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a table that was dropped, or of no item at all, must be shown all the same.
    #[test]
    fn rows_of_unknown_items_have_no_names() {
        let items = [None, Some(Item { table: TableId(99), key: Key::new(b"k") })];
        for item in items {
            let row = ContentionRow {
                cause: ContentionCause::Lost(ConflictKind::StaleRead),
                item,
                count: 3,
                count_error_max: 1,
                waited: 2_500_000,
                last_micros: EPOCH_OF_SQL_MICROS as u64 + 7,
            };
            let named = named(&row.encode(), &Catalog::default()).expect("it is a row");
            let values = row::decode_row(&named, 8).expect("it is one again");
            let expected = [
                Value::text("stale read"),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::BigInt(3),
                Value::BigInt(1),
                Value::BigInt(2),
                Value::TimestampTz(7),
            ];
            assert_eq!(values, expected);
        }
    }
}
