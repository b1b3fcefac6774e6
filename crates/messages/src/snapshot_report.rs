//! `raid.snapshots`, `raid.snapshot_parts` and `raid.snapshot_progress`: snapshots of the instance that a site has taken, and takes, as tables.
//!
//! They are read like any other table. The query processor's world, which knows the site's files, answers their scans: no transaction has a part in them.

use crate::contention::SCHEMA;
use crate::schema::{Column, TableSchema};
use identifiers::TableId;
use std::sync::{Arc, LazyLock};
use values::Type;

/// A table's name, its number, and its columns.
type Definition = (&'static str, TableId, &'static [(&'static str, Type)]);

/// The names of these tables in [`SCHEMA`], with their numbers and columns.
const DEFINITIONS: [Definition; 3] = [
    (
        "snapshots",
        TableId::SNAPSHOTS,
        &[
            ("name", Type::Text),
            ("state", Type::Text),
            ("site", Type::Integer),
            ("taken", Type::TimestampTz(None)),
            ("bytes", Type::BigInt),
            ("base_rows", Type::BigInt),
            ("epoch", Type::BigInt),
            ("instance", Type::Text),
            ("folder", Type::Text),
        ],
    ),
    (
        "snapshot_parts",
        TableId::SNAPSHOT_PARTS,
        &[("snapshot", Type::Text), ("file", Type::Text), ("bytes", Type::BigInt), ("frames", Type::BigInt)],
    ),
    (
        "snapshot_progress",
        TableId::SNAPSHOT_PROGRESS,
        &[
            ("name", Type::Text),
            ("site", Type::Integer),
            ("phase", Type::Text),
            ("began", Type::TimestampTz(None)),
            ("bytes", Type::BigInt),
            ("bytes_expected", Type::BigInt),
            ("seconds_left", Type::BigInt),
        ],
    ),
];

static TABLES: LazyLock<[Arc<TableSchema>; 3]> = LazyLock::new(|| {
    DEFINITIONS.map(|(name, storage, columns)| {
        let columns = columns.iter().map(|(name, column_type)| Column::new(*name, *column_type, false));
        Arc::new(TableSchema::new(format!("{SCHEMA}.{name}"), storage, columns.collect()))
    })
});

/// The definition of the table of this name in [`SCHEMA`].
pub fn table(name: &str) -> Option<Arc<TableSchema>> {
    let place = DEFINITIONS.iter().position(|(known, ..)| *known == name)?;
    Some(Arc::clone(&TABLES[place]))
}

/// Whether this storage is one of these tables.
pub fn is_of(table: TableId) -> bool {
    DEFINITIONS.iter().any(|(_, known, _)| *known == table)
}
