//! Rows of system relations for the scans of one execution.

use super::paths::{index_of, ranges};
use super::system::{WrittenAs, column_type};
use crate::error::QueryError;
use crate::system_catalog::{DEFINITIONS, SystemCatalog};
use executor::ScanOrder;
use messages::Key;
use messages::schema::TableSchema;
use std::collections::BTreeMap;
use values::Value;
use values::error::sqlstate;

/// The rows of a system relation.
#[derive(Debug)]
pub(super) struct SystemRows {
    rows: Vec<Vec<Value>>,
    /// Keys of a column with places of rows, in order, for each column that a scan went by.
    by_column: BTreeMap<usize, Vec<(Key, usize)>>,
}

impl SystemRows {
    /// All rows. Errors: 42501 for what the role may not see.
    pub(super) fn of(system: &SystemCatalog, oid: u32) -> Result<SystemRows, QueryError> {
        let relation = DEFINITIONS.relations().find(|relation| relation.oid == oid);
        let relation = relation.ok_or_else(|| {
            QueryError::new(sqlstate::INTERNAL_ERROR, "a plan reads a system relation that there is not")
        })?;
        let mut rows = system.values(relation)?;
        // Types are written down by their names.
        for (place, (_, of)) in relation.columns.iter().enumerate() {
            let id = column_type(of).id;
            if WrittenAs::of(id) != Some(WrittenAs::Name(id)) {
                continue;
            }
            for value in rows.iter_mut().filter_map(|row| row.get_mut(place)) {
                if let Value::Text(name) = value {
                    *value = Value::Oid(system.object_oid(id.0, name)?);
                }
            }
        }
        Ok(SystemRows { rows, by_column: BTreeMap::new() })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// What a scan asks for.
    pub(super) fn read(&mut self, table: &TableSchema, order: &ScanOrder) -> Vec<Vec<Value>> {
        let column = index_of(order).and_then(|index| table.indexes[index].keys.first()?.as_column());
        let places: Vec<usize> = match column {
            None => (0..self.rows.len()).collect(),
            Some(column) => {
                let rows = &self.rows;
                let sorted = self.by_column.entry(column).or_insert_with(|| sorted(rows, column));
                let mut places = Vec::new();
                for range in ranges(table, order) {
                    let first = sorted.partition_point(|(key, _)| *key < range.low);
                    let end = range.high.map_or(sorted.len(), |high| sorted.partition_point(|(key, _)| *key < high));
                    let found = sorted[first.min(end)..end].iter().map(|(_, place)| *place);
                    match order.reverse {
                        true => places.extend(found.rev()),
                        false => places.extend(found),
                    }
                }
                places
            }
        };
        let needed = order.limit.unwrap_or(usize::MAX);
        let shown = |row: &Vec<Value>| order.columns.iter().map(|column| row[*column as usize].clone()).collect();
        places.into_iter().take(needed).map(|place| shown(&self.rows[place])).collect()
    }
}

fn sorted(rows: &[Vec<Value>], column: usize) -> Vec<(Key, usize)> {
    let key = |row: &Vec<Value>| {
        let mut bytes = Vec::new();
        values::key::append(&row[column], &mut bytes);
        Key::new(&bytes)
    };
    let mut all: Vec<(Key, usize)> = rows.iter().enumerate().map(|(place, row)| (key(row), place)).collect();
    all.sort();
    all
}
