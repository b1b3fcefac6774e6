//! System relations: as the analyzer knows them, and as the planner reaches them. `system_rows` has their rows.
//!
//! Invariant: all that a statement sees of them is of one snapshot of the catalog. Rows of a relation are computed once for each execution, and their order by a column
//! when a scan first goes by it.

use crate::system_catalog::{SystemCatalog, SystemRelation};
use analyzer::catalog::SYSTEM_SCHEMA;
use analyzer::types::{CollationId, NO_MODIFIER, NONE};
use analyzer::{BuiltIns, Catalog as _, TypeId, Typed};
use messages::TableId;
use messages::schema::{Column, IndexSchema, TableSchema};
use std::sync::Arc;
use values::{Type, Value};

/// How values of types are held that only system relations have; `None` for all other types. Numbers of objects are numbers, texts that only functions read are texts.
pub(super) fn storage(id: TypeId) -> Option<Type> {
    Some(match id.0 {
        // regclass, regtype, regnamespace, regrole
        2205 | 2206 | 4089 | 4096 => Type::Oid,
        // regproc, pg_node_tree
        24 | 194 => Type::Text,
        // xid
        28 => Type::BigInt,
        _ => return None,
    })
}

/// The type of a column by its name in the definitions. Those of `information_schema` are domains, of which only what they are over is known here.
pub(super) fn column_type(name: &str) -> Typed {
    let (id, modifier) = match name {
        "sql_identifier" => (TypeId(19), NO_MODIFIER),
        "character_data" => (TypeId(1043), NO_MODIFIER),
        "yes_or_no" => (TypeId(1043), 3 + 4),
        "cardinal_number" => (TypeId(23), NO_MODIFIER),
        "time_stamp" => (TypeId(1184), 2),
        other => (BuiltIns.type_named(Some(SYSTEM_SCHEMA), other).map_or(NONE, |known| known.id), NO_MODIFIER),
    };
    let collation = BuiltIns.type_row(id).map_or(CollationId(0), |row| row.collation);
    Typed { id, modifier, collation }
}

/// A system relation as if it were a table: each column of names or numbers of objects has an index.
pub(super) fn table(relation: &SystemRelation) -> TableSchema {
    let held = |name: &str| {
        let typed = column_type(name);
        storage(typed.id).or_else(|| evaluation::storage::storage(typed)).unwrap_or(Type::Text)
    };
    let columns: Vec<Column> = relation.columns.iter().map(|(name, of)| Column::new(*name, held(of), false)).collect();
    let mut table = TableSchema::new(relation.name, TableId(relation.oid), columns);
    table.oid = relation.oid;
    let is_keyed = |(_, (_, of)): &(usize, &(&str, &str))| matches!(*of, "oid" | "name" | "sql_identifier");
    let keyed = relation.columns.iter().enumerate().filter(is_keyed);
    table.indexes = keyed.map(|(place, _)| IndexSchema::new("", 0, TableId(relation.oid), &[place], false)).collect();
    table
}

/// How a column of results is written that is no column of such a type to clients: as a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenAs {
    /// The name of the object whose number it is.
    Name(TypeId),
    /// Numbers with blanks between them.
    Vector,
}

impl WrittenAs {
    /// For results of a type; `None`: they are written as they are held.
    pub(super) fn of(id: TypeId) -> Option<WrittenAs> {
        use evaluation::functions::catalogs;
        match id {
            id if catalogs::is_named(id) => Some(WrittenAs::Name(id)),
            id if catalogs::is_vector(id) => Some(WrittenAs::Vector),
            _ => None,
        }
    }

    /// A value as its client gets it.
    pub(super) fn text(self, system: &Arc<SystemCatalog>, value: &Value) -> Value {
        match (self, value) {
            (_, Value::Null) => Value::Null,
            (WrittenAs::Vector, vector) => evaluation::functions::catalogs::vector_text(vector),
            (WrittenAs::Name(id), number) => {
                let oid = number.as_integer().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
                Value::text(system.object_name(id.0, oid))
            }
        }
    }
}
