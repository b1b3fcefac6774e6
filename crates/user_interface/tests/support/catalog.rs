//! The tables that the scripts use: those of pgbench, one with all kinds of keys, one without a key.

use messages::schema::{CatalogEntry, Column, IndexSchema, TableSchema};
use messages::{Key, Row, TableId, Timestamp};
use std::sync::Arc;

/// Catalog rows of all tables, as they would be loaded at a start.
pub fn tables() -> Vec<(Key, Timestamp, Option<Row>)> {
    let mut number = 20_000;
    let mut rows = Vec::new();
    for (name, columns, key) in [
        ("accounts", "aid int4 not null,bid int4,abalance int4,filler char(84)", vec![0]),
        ("branches", "bid int4 not null,bbalance int4,filler char(88)", vec![0]),
        ("tellers", "tid int4 not null,bid int4,tbalance int4,filler char(84)", vec![0]),
        ("history", "tid int4,bid int4,aid int4,delta int4,mtime timestamp,filler char(22)", vec![]),
        (
            "items",
            "warehouse int4 not null,item int8 not null,name text,price numeric(10,2),made date,note varchar(8)",
            vec![0, 1],
        ),
    ] {
        let oid = number;
        number += 10;
        let mut table = TableSchema {
            oid,
            primary_key_name: (!key.is_empty()).then(|| format!("{name}_pkey")),
            primary_key: key,
            primary_key_oid: oid + 2,
            ..TableSchema::new(
                name,
                TableId(oid + 1),
                columns.split(",").fold(Vec::new(), join_columns).iter().map(|text| column(text)).collect(),
            )
        };
        if name == "items" {
            table.columns[5].default = Some("'none'".to_string());
            table.indexes.push(index("items_name_key", oid + 3, vec![2], true));
            table.indexes.push(index("items_made_idx", oid + 5, vec![4, 3], false));
        }
        let version = Timestamp { clock: 50, ..Timestamp::ZERO };
        for index in table.indexes.iter().map(|index| &index.name).chain(&table.primary_key_name) {
            let entry = CatalogEntry::IndexOf(name.to_string());
            rows.push((CatalogEntry::key(index), version, Some(entry.encode())));
        }
        rows.push((CatalogEntry::key(name), version, Some(CatalogEntry::Table(Arc::new(table)).encode())));
    }
    let next = CatalogEntry::Next(30_000).encode();
    rows.push((CatalogEntry::next_key(), Timestamp { clock: 50, ..Timestamp::ZERO }, Some(next)));
    rows
}

/// Puts `numeric(10` and `2)` together again.
fn join_columns(mut columns: Vec<String>, part: &str) -> Vec<String> {
    match columns.last_mut() {
        Some(last) if last.contains('(') && !last.contains(')') => {
            last.push(',');
            last.push_str(part);
        }
        _ => columns.push(part.to_string()),
    }
    columns
}

fn column(text: &str) -> Column {
    let (name, rest) = text.split_once(' ').expect("name and type");
    let type_name = rest.trim_end_matches(" not null");
    Column {
        name: name.to_string(),
        column_type: type_name.parse().expect("a type"),
        not_null: type_name.len() < rest.len(),
        default: None,
        dropped: false,
        identity: None,
        missing: values::Value::Null,
        grants: None,
        domain: None,
    }
}

fn index(name: &str, oid: u32, columns: Vec<usize>, unique: bool) -> IndexSchema {
    IndexSchema { constraint: unique, ..IndexSchema::new(name, oid, TableId(oid + 1), &columns, unique) }
}
