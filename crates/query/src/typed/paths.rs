//! How rows of tables are reached: what the planner is told of it, and the keys that a scan means.
//!
//! Invariant: the ranges of a scan hold every key within its bounds; they are in order and hold no key twice. They may hold more: filters are applied
//! all the same.

use super::catalog::SnapshotCatalog;
use super::domains::CastDomains;
use crate::functions::asked::of_value;
use crate::limits::SCAN_RANGES_MAX;
use crate::system_catalog::SystemCatalog;
use analyzer::TypeId;
use analyzer::relations::RelationId;
use analyzer::types::FunctionId;
use executor::{AccessPathKeys, DomainMeaning, KeyBounds, RelationPaths, RoutineMeaning, ScanOrder, TableAccess};
use messages::schema::TableSchema;
use messages::{Key, KeyRange, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::{Type, Value, ValueError};

/// The tables of a statement, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementTables(pub BTreeMap<RelationId, SizedTable>);

/// A table, and how many rows it is taken to have.
#[derive(Clone, Debug)]
pub(crate) struct SizedTable {
    pub table: Arc<TableSchema>,
    pub rows: f64,
    /// Whether it is a system relation.
    pub is_system: bool,
}

impl RelationPaths for StatementTables {
    fn access(&self, relation: RelationId) -> Option<TableAccess> {
        let SizedTable { table, rows, .. } = self.0.get(&relation)?;
        let keys = |columns: &[usize], unique| AccessPathKeys {
            columns: columns.iter().map(|position| *position as u32).collect(),
            unique,
            is_prefix: false,
        };
        let own = keys(&table.primary_key, !table.has_hidden_key());
        let indexes = table.indexes.iter().map(|index| match index.whole_columns() {
            Some(columns) => keys(&columns, index.unique),
            // Of a partial index no column: it does not lead to all rows.
            None => AccessPathKeys { is_prefix: true, ..keys(&index.leading_columns(), false) },
        });
        Some(TableAccess { rows: *rows, paths: std::iter::once(own).chain(indexes).collect() })
    }
}

/// The same as the planner asks for it, with users' types and functions.
pub(crate) struct StatementPaths<'a> {
    pub tables: &'a StatementTables,
    pub names: &'a SnapshotCatalog<'a>,
    pub routines: &'a BTreeMap<FunctionId, RoutineMeaning>,
    pub domains: &'a CastDomains,
    pub system: &'a SystemCatalog,
}

impl RelationPaths for StatementPaths<'_> {
    fn access(&self, relation: RelationId) -> Option<TableAccess> {
        self.tables.access(relation)
    }

    fn user_type(&self, id: TypeId) -> Option<Type> {
        self.names.stored(id)
    }

    fn domain(&self, id: TypeId) -> Option<&DomainMeaning> {
        self.domains.get(&id)
    }

    fn has_catalog(&self) -> bool {
        true
    }

    fn object_named(&self, id: TypeId, name: &str) -> Option<Result<Value, ValueError>> {
        Some(self.system.object_oid(id.0, name).map(Value::Oid).map_err(of_value))
    }

    fn routine(&self, function: FunctionId) -> Option<&RoutineMeaning> {
        self.routines.get(&function)
    }
}

/// One path of a table.
struct Path<'a> {
    table: &'a TableSchema,
    storage: TableId,
    columns: Vec<usize>,
    unique: bool,
}

/// Which of a table's indexes a scan goes by; none for its own key.
pub(crate) fn index_of(order: &ScanOrder) -> Option<usize> {
    order.path.checked_sub(1)
}

/// The keys that a scan of this table means, in the order in which it is to be read.
pub(crate) fn ranges(table: &TableSchema, order: &ScanOrder) -> Vec<KeyRange> {
    let path = match index_of(order) {
        None => {
            let columns = table.primary_key.clone();
            Path { table, storage: table.storage, columns, unique: !table.has_hidden_key() }
        }
        Some(index) => {
            let index = &table.indexes[index];
            let unique = index.unique && index.whole_columns().is_some();
            Path { table, storage: index.storage, columns: index.leading_columns(), unique }
        }
    };
    let mut ranges: Vec<KeyRange> = order.ranges.iter().filter_map(|bounds| path.range(bounds)).collect();
    ranges.sort();
    let mut apart: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if meet(last, &range) => last.high = greater_end(last.high.take(), range.high),
            _ => apart.push(range),
        }
    }
    if apart.len() > SCAN_RANGES_MAX {
        let high = apart.pop().and_then(|last| last.high);
        apart.truncate(1);
        apart[0].high = high;
    }
    if order.reverse {
        apart.reverse();
    }
    apart
}

/// Whether the second, which does not begin before the first, begins before that ends.
fn meet(first: &KeyRange, second: &KeyRange) -> bool {
    first.high.as_ref().is_none_or(|high| second.low < *high)
}

fn greater_end(one: Option<Key>, other: Option<Key>) -> Option<Key> {
    Some(one?.max(other?))
}

impl Path<'_> {
    fn range(&self, bounds: &KeyBounds) -> Option<KeyRange> {
        let (lower, lower_inclusive) = self.encoded(&bounds.lower, bounds.lower_inclusive);
        let (upper, upper_inclusive) = self.encoded(&bounds.upper, bounds.upper_inclusive);
        let is_one = lower_inclusive && upper_inclusive && lower == upper;
        if is_one && self.unique && !self.columns.is_empty() && self.is_whole_key(&bounds.lower) {
            return Some(KeyRange::point(self.storage, Key::new(&lower)));
        }
        let low = match lower_inclusive || lower.is_empty() {
            true => lower,
            false => values::key::prefix_end(&lower)?,
        };
        let high = match upper_inclusive || upper.is_empty() {
            true => values::key::prefix_end(&upper),
            false => Some(upper),
        };
        let range = KeyRange { table: self.storage, low: Key::new(&low), high: high.map(|high| Key::new(&high)) };
        (!range.is_empty()).then_some(range)
    }

    /// Whether these are values of all columns, none of them NULL.
    fn is_whole_key(&self, key: &[Value]) -> bool {
        key.len() == self.columns.len() && self.fitting(key).count() == key.len()
    }

    /// The first bytes of keys with these first columns, as far as they can be keys at all; what is cut off leaves a wider bound.
    fn encoded(&self, prefix: &[Value], inclusive: bool) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        let mut used = 0;
        for value in self.fitting(prefix) {
            values::key::append(&value, &mut bytes);
            used += 1;
        }
        (bytes, inclusive || used < prefix.len())
    }

    /// The values that are of their column's type, up to the first that is not.
    fn fitting(&self, prefix: &[Value]) -> impl Iterator<Item = Value> {
        let columns = self.columns.iter().map(|position| self.table.columns[*position].column_type);
        prefix.iter().zip(columns).map_while(|(value, column_type)| as_key(value, column_type))
    }
}

/// The value as a key of a column of this type holds it; `None` for NULL and for a value of another type.
fn as_key(value: &Value, column_type: Type) -> Option<Value> {
    match (column_type, value) {
        (_, Value::Null) => None,
        // A `char(n)` is held without its trailing blanks.
        (Type::Char(_), Value::Text(text)) => Some(Value::text(text.trim_end_matches(' '))),
        (Type::Varchar(_) | Type::Text, Value::Text(_)) => Some(value.clone()),
        _ => (value.data_type()?.unmodified() == column_type.unmodified()).then(|| value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::schema::{Column, IndexSchema};

    fn table() -> TableSchema {
        let columns = ["a", "b", "c"].map(|name| Column::new(name, Type::Integer, false)).to_vec();
        let mut table = TableSchema::new("t", TableId(9), columns);
        table.primary_key = vec![0, 1];
        let index = |storage, unique| IndexSchema::new(String::new(), 0, TableId(storage), &[2], unique);
        table.indexes = vec![index(10, true), index(11, false)];
        table
    }

    fn key(values: &[i32]) -> Key {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| values::key::append(&Value::Integer(*value), &mut bytes));
        Key::new(&bytes)
    }

    fn end(values: &[i32]) -> Option<Key> {
        values::key::prefix_end(key(values).as_bytes()).map(|bytes| Key::new(&bytes))
    }

    fn of(path: usize, reverse: bool, ranges: Vec<KeyBounds>) -> Vec<KeyRange> {
        let order = ScanOrder { relation: RelationId(0), path, ranges, reverse, columns: Vec::new(), limit: None };
        super::ranges(&table(), &order)
    }

    fn equal(values: &[i32]) -> KeyBounds {
        let values: Vec<Value> = values.iter().map(|value| Value::Integer(*value)).collect();
        KeyBounds { lower: values.clone(), lower_inclusive: true, upper: values, upper_inclusive: true }
    }

    /// A scan would miss rows, read them twice, or read more of a table than it needs.
    #[test]
    fn bounds_become_ranges_of_keys() {
        let range = |low, high| KeyRange { table: TableId(9), low, high };
        assert_eq!(of(0, false, vec![KeyBounds::default()]), [KeyRange::whole(TableId(9))]);
        assert_eq!(of(0, false, vec![equal(&[1])]), [range(key(&[1]), end(&[1]))]);
        assert_eq!(of(0, false, vec![equal(&[1, 2])]), [KeyRange::point(TableId(9), key(&[1, 2]))]);
        assert_eq!(of(1, false, vec![equal(&[3])]), [KeyRange::point(TableId(10), key(&[3]))]);
        let entries = KeyRange { table: TableId(11), low: key(&[3]), high: end(&[3]) };
        assert_eq!(of(2, false, vec![equal(&[3])]), [entries], "an entry carries the row's key");
        let between =
            KeyBounds { lower_inclusive: false, upper_inclusive: false, upper: vec![Value::Integer(7)], ..equal(&[2]) };
        assert_eq!(of(0, false, vec![between]), [range(end(&[2]).expect("an end"), Some(key(&[7])))]);
        let other_type = KeyBounds { lower: vec![Value::BigInt(2)], lower_inclusive: false, ..KeyBounds::default() };
        assert_eq!(of(0, false, vec![other_type]), [KeyRange::whole(TableId(9))], "wider rather than wrong");
    }

    /// Rows would come twice or out of order.
    #[test]
    fn ranges_are_in_order_and_apart() {
        let point = |a, b| KeyRange::point(TableId(9), key(&[a, b]));
        let given = vec![equal(&[5, 1]), equal(&[2, 2]), equal(&[5, 1])];
        assert_eq!(of(0, false, given.clone()), [point(2, 2), point(5, 1)]);
        assert_eq!(of(0, true, given), [point(5, 1), point(2, 2)]);
        let all_of_two = KeyRange { table: TableId(9), low: key(&[2]), high: end(&[2]) };
        assert_eq!(of(0, false, vec![equal(&[2, 2]), equal(&[2])]), [all_of_two]);
        let many = (0..=SCAN_RANGES_MAX as i32).map(|number| equal(&[number, 0])).collect();
        let hull = of(0, false, many);
        assert_eq!((hull.len(), hull[0].low.clone()), (1, key(&[0, 0])));
        assert!(hull[0].contains(key(&[SCAN_RANGES_MAX as i32, 0]).as_bytes()));
    }
}
