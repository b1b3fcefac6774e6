//! `raid.concurrency` and `raid.concurrency_switches`: the method of concurrency control that is in force at a site, and how it came to be, as tables.
//!
//! They are read like any other table, by scans of [`TableId::CONCURRENCY`] and [`TableId::CONCURRENCY_SWITCHES`], which the action driver answers from
//! what the concurrency controller tells.

use crate::contention::{SCHEMA, since_2000};
use crate::item::Row;
use crate::key::Key;
use crate::method::{MethodReport, Origin, Switch};
use crate::schema::{Column, TableSchema};
use identifiers::TableId;
use std::sync::{Arc, LazyLock};
use values::{Type, Value, row};

/// The name of the first in [`SCHEMA`].
pub const CONCURRENCY: &str = "concurrency";
/// The name of the second.
pub const SWITCHES: &str = "concurrency_switches";

static TABLES: LazyLock<[Arc<TableSchema>; 2]> = LazyLock::new(|| {
    let concurrency = [
        ("site", Type::Integer),
        ("method", Type::Text),
        ("set_for", Type::Text),
        ("since", Type::TimestampTz),
        ("way", Type::Text),
        ("switching_way", Type::Text),
        ("executing_from_before", Type::BigInt),
        ("accesses", Type::BigInt),
        ("waits", Type::BigInt),
        ("deadlocks", Type::BigInt),
        ("late", Type::BigInt),
        ("doomed", Type::BigInt),
        ("doomed_by_switches", Type::BigInt),
    ];
    let switches = [
        ("site", Type::Integer),
        ("began", Type::TimestampTz),
        ("from_method", Type::Text),
        ("to_method", Type::Text),
        ("way", Type::Text),
        ("took_ms", Type::Double),
        ("doomed", Type::BigInt),
    ];
    [
        defined(CONCURRENCY, TableId::CONCURRENCY, &concurrency),
        defined(SWITCHES, TableId::CONCURRENCY_SWITCHES, &switches),
    ]
});

fn defined(name: &str, storage: TableId, columns: &[(&str, Type)]) -> Arc<TableSchema> {
    let column = |(name, column_type): &(&str, Type)| Column::new(*name, *column_type, false);
    Arc::new(TableSchema::new(format!("{SCHEMA}.{name}"), storage, columns.iter().map(column).collect()))
}

/// The definition of the table of this name in [`SCHEMA`].
pub fn table(name: &str) -> Option<Arc<TableSchema>> {
    let [concurrency, switches] = &*TABLES;
    match name {
        CONCURRENCY => Some(Arc::clone(concurrency)),
        SWITCHES => Some(Arc::clone(switches)),
        _ => None,
    }
}

/// Whether this storage is one of these tables.
pub fn is_of(table: TableId) -> bool {
    table == TableId::CONCURRENCY || table == TableId::CONCURRENCY_SWITCHES
}

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

fn instant(micros: u64) -> Value {
    Value::TimestampTz(since_2000(micros))
}

impl MethodReport {
    /// The rows of one of the tables.
    pub fn rows(&self, table: TableId) -> Vec<(Key, Row)> {
        let rows = match table {
            TableId::CONCURRENCY => vec![self.in_force()],
            _ => self.switches.iter().map(|switch| self.switch(switch)).collect(),
        };
        let encoded = |(place, values): (u64, Vec<Value>)| {
            let mut bytes = Vec::new();
            row::encode_row(&values, &mut bytes);
            (Key::new(&place.to_be_bytes()), Row::from(bytes))
        };
        (0..).zip(rows).map(encoded).collect()
    }

    fn site(&self) -> Value {
        Value::Integer(i32::from(self.site.0))
    }

    fn in_force(&self) -> Vec<Value> {
        let origin = match self.origin {
            Origin::File => "none: the site's file",
            Origin::Cluster => "cluster",
            Origin::Site => "site",
        };
        vec![
            self.site(),
            Value::text(self.method.name()),
            Value::text(origin),
            self.since_micros.map_or(Value::Null, instant),
            Value::text(self.way.name()),
            self.switching.map_or(Value::Null, |way| Value::text(way.name())),
            big(self.from_before),
            big(self.load.accesses),
            big(self.load.waits),
            big(self.load.deadlocks),
            big(self.load.late),
            big(self.load.doomed),
            big(self.load.doomed_by_switches),
        ]
    }

    fn switch(&self, switch: &Switch) -> Vec<Value> {
        vec![
            self.site(),
            instant(switch.at_micros),
            Value::text(switch.from.name()),
            Value::text(switch.to.name()),
            Value::text(switch.way.name()),
            switch.took.map_or(Value::Null, |took| Value::Double(took as f64 / 1e6)),
            big(switch.doomed),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{AccessLoad, Method, SwitchStrategy};
    use identifiers::SiteId;

    /// If this fails, a row does not decode by its table's columns, and a client that looks at the method loses its connection or reads nonsense.
    #[test]
    fn rows_have_the_columns_of_their_tables() {
        let switch = Switch {
            at_micros: 946_684_800_000_007,
            from: Method::Locking,
            to: Method::Serial,
            way: SwitchStrategy::Converting,
            took: Some(1_500_000),
            doomed: 3,
        };
        let report = MethodReport {
            site: SiteId(2),
            method: Method::Serial,
            origin: Origin::Site,
            since_micros: None,
            way: SwitchStrategy::Generic,
            switching: None,
            from_before: 0,
            load: AccessLoad { late: 4, ..AccessLoad::default() },
            switches: vec![switch; 2],
        };
        for (name, count) in [(CONCURRENCY, 1), (SWITCHES, 2)] {
            let table = table(name).expect("it is one of them");
            let rows = report.rows(table.storage);
            assert_eq!(rows.len(), count);
            for (_, row) in rows {
                let values = row::decode_row(&row, table.columns.len()).expect("it decodes");
                assert_eq!(values[0], Value::Integer(2));
                let typed = values
                    .iter()
                    .zip(&table.columns)
                    .all(|(value, column)| value.data_type().is_none_or(|data_type| data_type == column.column_type));
                assert!(typed, "{values:?}");
            }
        }
        assert!(table("contention").is_none());
    }
}
