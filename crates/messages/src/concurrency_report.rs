//! `raid.concurrency` and `raid.concurrency_switches`: the method of concurrency control that is in force at a site, and how it came to be, as tables.
//!
//! With `raid.concurrency_advice` and `raid.concurrency_facts` they are read like any other table, by scans of [`TableId::CONCURRENCY`] and the like,
//! which the action driver answers from what the concurrency controller tells.

use crate::contention::{SCHEMA, since_2000};
use crate::item::Row;
use crate::key::Key;
use crate::method::{AdviceReason, LoadFact, MethodAdvice, MethodReport, Origin, Switch, SwitchedBy};
use crate::schema::{Column, TableSchema};
use identifiers::TableId;
use std::sync::{Arc, LazyLock};
use values::{Type, Value, row};

/// The name of the first in [`SCHEMA`].
pub const CONCURRENCY: &str = "concurrency";
/// The name of the second.
pub const SWITCHES: &str = "concurrency_switches";
/// The name of the third.
pub const ADVICE: &str = "concurrency_advice";
/// The name of the fourth.
pub const FACTS: &str = "concurrency_facts";

static TABLES: LazyLock<[Arc<TableSchema>; 4]> = LazyLock::new(|| {
    let concurrency = [
        ("site", Type::Integer),
        ("method", Type::Text),
        ("set_for", Type::Text),
        ("since", Type::TimestampTz(None)),
        ("way", Type::Text),
        ("switching_way", Type::Text),
        ("executing_from_before", Type::BigInt),
        ("accesses", Type::BigInt),
        ("waits", Type::BigInt),
        ("deadlocks", Type::BigInt),
        ("late", Type::BigInt),
        ("doomed", Type::BigInt),
        ("doomed_by_switches", Type::BigInt),
        ("automatic", Type::Boolean),
        ("on_probation", Type::Boolean),
    ];
    let switches = [
        ("site", Type::Integer),
        ("began", Type::TimestampTz(None)),
        ("from_method", Type::Text),
        ("to_method", Type::Text),
        ("way", Type::Text),
        ("took_ms", Type::Double),
        ("doomed", Type::BigInt),
        ("switched_by", Type::Text),
        ("because", Type::Text),
    ];
    let advice = [
        ("site", Type::Integer),
        ("method", Type::Text),
        ("in_force", Type::Boolean),
        ("belief", Type::Integer),
        ("rule", Type::Text),
        ("certainty", Type::Integer),
        ("because", Type::Text),
    ];
    let facts = [("site", Type::Integer), ("fact", Type::Text), ("value", Type::BigInt), ("meaning", Type::Text)];
    [
        defined(CONCURRENCY, TableId::CONCURRENCY, &concurrency),
        defined(SWITCHES, TableId::CONCURRENCY_SWITCHES, &switches),
        defined(ADVICE, TableId::CONCURRENCY_ADVICE, &advice),
        defined(FACTS, TableId::CONCURRENCY_FACTS, &facts),
    ]
});

fn defined(name: &str, storage: TableId, columns: &[(&str, Type)]) -> Arc<TableSchema> {
    let column = |(name, column_type): &(&str, Type)| Column::new(*name, *column_type, false);
    Arc::new(TableSchema::new(format!("{SCHEMA}.{name}"), storage, columns.iter().map(column).collect()))
}

/// The definition of the table of this name in [`SCHEMA`].
pub fn table(name: &str) -> Option<Arc<TableSchema>> {
    let place = [CONCURRENCY, SWITCHES, ADVICE, FACTS].iter().position(|known| *known == name)?;
    Some(Arc::clone(&TABLES[place]))
}

/// Whether this storage is one of these tables.
pub fn is_of(table: TableId) -> bool {
    TABLES.iter().any(|known| known.storage == table)
}

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

fn thousandths(number: i64) -> Value {
    Value::Integer(number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
}

fn instant(micros: u64) -> Value {
    Value::TimestampTz(since_2000(micros))
}

impl MethodReport {
    /// The rows of one of the tables.
    pub fn rows(&self, table: TableId) -> Vec<(Key, Row)> {
        let rows = match table {
            TableId::CONCURRENCY => vec![self.in_force()],
            TableId::CONCURRENCY_ADVICE => self.advice.iter().flat_map(|advice| self.advice(advice)).collect(),
            TableId::CONCURRENCY_FACTS => self.facts.iter().map(|fact| self.fact(fact)).collect(),
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
            Value::Boolean(self.is_automatic),
            Value::Boolean(self.is_on_probation),
        ]
    }

    /// A row for each reason, or one without.
    fn advice(&self, advice: &MethodAdvice) -> Vec<Vec<Value>> {
        let row = |reason: Option<&AdviceReason>| {
            vec![
                self.site(),
                Value::text(advice.method.name()),
                Value::Boolean(advice.method == self.method),
                thousandths(advice.belief),
                reason.map_or(Value::Null, |reason| Value::text(reason.rule.as_str())),
                reason.map_or(Value::Null, |reason| thousandths(reason.certainty)),
                reason.map_or(Value::Null, |reason| Value::text(reason.because.as_str())),
            ]
        };
        match advice.reasons.is_empty() {
            true => vec![row(None)],
            false => advice.reasons.iter().map(|reason| row(Some(reason))).collect(),
        }
    }

    fn fact(&self, fact: &LoadFact) -> Vec<Value> {
        vec![self.site(), Value::text(fact.name.as_str()), big(fact.value), Value::text(fact.meaning.as_str())]
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
            Value::text(match switch.by {
                SwitchedBy::Setting => "setting",
                SwitchedBy::Expert => "rules",
                SwitchedBy::Probation => "probation",
            }),
            match switch.because.as_str() {
                "" => Value::Null,
                because => Value::text(because),
            },
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
            by: SwitchedBy::Expert,
            because: "It is so.".into(),
        };
        let reason = AdviceReason { rule: "so".into(), certainty: -3, because: "It is so.".into() };
        let advice = |reasons| MethodAdvice { method: Method::Serial, belief: 5, reasons };
        let report = MethodReport {
            site: SiteId(2),
            method: Method::Serial,
            origin: Origin::Site,
            since_micros: None,
            way: SwitchStrategy::Generic,
            switching: None,
            from_before: 0,
            load: AccessLoad { late: 4, ..AccessLoad::default() },
            switches: vec![switch.clone(), Switch { because: String::new(), ..switch }],
            is_automatic: true,
            is_on_probation: false,
            advice: vec![advice(vec![reason; 2]), advice(Vec::new())],
            facts: vec![LoadFact { name: "near".into(), value: 1, meaning: "of all".into() }],
        };
        for (name, count) in [(CONCURRENCY, 1), (SWITCHES, 2), (ADVICE, 3), (FACTS, 1)] {
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
