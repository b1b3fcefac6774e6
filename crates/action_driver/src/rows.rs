//! Rows and keys of tables and indexes: how an executor's values become bytes and come back.
//!
//! Invariants: a stored row holds the columns of its table at some time, so columns added since read as what is said to be missing; the row at hand is
//! the table's columns, then its hidden key if it has one, then what was supplied with the execution.

use crate::expression::ExpressionScope;
use crate::failure;
use messages::program::{Expression, RowGuard, RowGuardCondition};
use messages::schema::{CheckSchema, IndexKey, IndexKeyPart, IndexSchema, RowExpression, TableSchema};
use messages::session::Failure;
use messages::{Conflict, ConflictKind, Item, Key, Row};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use values::row::RowReader;
use values::{Type, Value, ValueError, Zone, key};

/// The columns that expressions use, so that no others are decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSet {
    low: u128,
    /// One past the last; columns from 128 on are all taken as used below it.
    end: usize,
}

impl ColumnSet {
    /// Every column.
    pub const ALL: ColumnSet = ColumnSet { low: u128::MAX, end: usize::MAX };

    /// Adds a column.
    pub fn add_column(&mut self, column: usize) {
        if column < 128 {
            self.low |= 1 << column;
        }
        self.end = self.end.max(column + 1);
    }

    /// Adds the columns that an expression uses.
    pub fn add(&mut self, expression: &Expression) {
        expression.visit(&mut |part| {
            if let Expression::Column(column) = part {
                self.add_column(usize::from(*column));
            }
        });
    }

    /// Adds the columns that any of these use.
    pub fn add_all<'a>(&mut self, expressions: impl IntoIterator<Item = &'a Expression>) {
        for expression in expressions {
            self.add(expression);
        }
    }

    fn has(self, column: usize) -> bool {
        column < self.end && (column >= 128 || self.low >> column & 1 == 1)
    }
}

/// Decodes the row at hand into `out`; columns outside of `columns` are NULL. Errors: XX001.
pub fn decode_into(
    table: &TableSchema,
    columns: ColumnSet,
    key: &Key,
    row: &Row,
    out: &mut Vec<Value>,
) -> Result<(), Failure> {
    out.clear();
    let mut reader = RowReader::new(row).map_err(failure::of_value)?;
    if reader.remaining() > table.columns.len() {
        return Err(damaged(table));
    }
    let last = table.columns.len().min(columns.end);
    for (column, schema) in table.columns.iter().enumerate().take(last) {
        let value = if columns.has(column) && !schema.dropped {
            reader.next_value().map_err(failure::of_value)?.unwrap_or_else(|| schema.missing.clone())
        } else {
            reader.skip().map_err(failure::of_value)?;
            Value::Null
        };
        out.push(value);
    }
    out.resize(table.columns.len(), Value::Null);
    if table.has_hidden_key() {
        let hidden = columns.has(table.columns.len());
        out.push(if hidden { decode_hidden(key)? } else { Value::Null });
    }
    Ok(())
}

fn decode_hidden(key: &Key) -> Result<Value, Failure> {
    let mut values = key::decode_key(key.as_bytes(), &[Type::BigInt]).map_err(failure::of_value)?;
    Ok(values.pop().unwrap_or(Value::Null))
}

/// The stored form of a row: the first values are the table's columns.
pub fn encode(table: &TableSchema, values: &[Value]) -> Row {
    let mut bytes = Vec::with_capacity(16 * table.columns.len() + 8);
    values::row::encode_row(&values[..table.columns.len()], &mut bytes);
    Row::from(bytes)
}

/// The primary or hidden key of the row at hand.
pub fn table_key(table: &TableSchema, values: &[Value]) -> Key {
    let mut bytes = Vec::with_capacity(24);
    if table.has_hidden_key() {
        key::append(&values[table.columns.len()], &mut bytes);
    }
    for &column in &table.primary_key {
        key::append(&values[column], &mut bytes);
    }
    Key::new(&bytes)
}

/// An item of a table's storage.
pub fn table_item(table: &TableSchema, key: Key) -> Item {
    Item { table: table.storage, key }
}

/// A row of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Where it is stored.
    pub item: Item,
    /// What is stored.
    pub row: Row,
    /// Whether another row's entry might have the same key.
    pub unique: bool,
}

/// The values of an index's keys for the row at hand. Errors: those of its expressions.
pub fn index_values(index: &IndexSchema, values: &[Value], scope: &ExpressionScope) -> Result<Vec<Value>, Failure> {
    let value = |key: &IndexKey| match &key.part {
        IndexKeyPart::Column(column) => Ok(values[*column].clone()),
        IndexKeyPart::Expression(own) => computed(own, values, scope),
    };
    index.keys.iter().map(value).collect()
}

/// The value of a row's expression, as one of its type: values of different types of number have different keys.
fn computed(own: &RowExpression, values: &[Value], scope: &ExpressionScope) -> Result<Value, Failure> {
    let value = scope.evaluate(&own.expression, values)?;
    match value.data_type() {
        Some(found) if found.unmodified() != own.result.unmodified() => {
            values::cast::assign(&value, own.result).map_err(failure::of_value)
        }
        _ => Ok(value.into_owned()),
    }
}

/// Whether the row at hand is in an index. Errors: those of its predicate.
pub fn is_indexed(index: &IndexSchema, values: &[Value], scope: &ExpressionScope) -> Result<bool, Failure> {
    Ok(index.has_entries() && scope.passes(index.predicate.as_ref().map(|own| &own.expression), values)?)
}

/// The entry of the row at hand in an index: see [`IndexSchema`]. `None`: it has none. Errors: those of the index's expressions.
pub fn index_entry(
    table: &TableSchema,
    index: &IndexSchema,
    key: &Key,
    values: &[Value],
    scope: &ExpressionScope,
) -> Result<Option<IndexEntry>, Failure> {
    if !is_indexed(index, values, scope)? {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(16 * index.keys.len() + key.as_bytes().len());
    let mut unique = index.unique;
    for key in &index.keys {
        let value = match &key.part {
            IndexKeyPart::Column(column) => Cow::Borrowed(&values[*column]),
            IndexKeyPart::Expression(own) => Cow::Owned(computed(own, values, scope)?),
        };
        unique &= !value.is_null();
        key::append(&value, &mut bytes);
    }
    let row = if unique {
        let mut row = Vec::with_capacity(24);
        if table.has_hidden_key() {
            values::row::encode_row(&values[table.columns.len()..=table.columns.len()], &mut row);
        } else {
            let columns: Vec<Value> = table.primary_key.iter().map(|&column| values[column].clone()).collect();
            values::row::encode_row(&columns, &mut row);
        }
        Row::from(row)
    } else {
        bytes.extend_from_slice(key.as_bytes());
        Row::new()
    };
    let item = Item { table: index.storage, key: Key::new(&bytes) };
    Ok(Some(IndexEntry { item, row, unique }))
}

/// The table's key that an index entry leads to. Errors: XX001.
pub fn indexed_key(table: &TableSchema, index: &IndexSchema, key: &Key, row: &Row) -> Result<Key, Failure> {
    if row.is_empty() {
        let (_, rest) = key::decode_prefix(key.as_bytes(), &index.key_types(table)).map_err(failure::of_value)?;
        return Ok(Key::new(rest));
    }
    let columns = table.primary_key.len().max(1);
    let values = values::row::decode_row(row, columns).map_err(failure::of_value)?;
    let mut bytes = Vec::with_capacity(24);
    key::encode_key(&values, &mut bytes);
    Ok(Key::new(&bytes))
}

/// Computes what of a new row is generated, and refuses a row that the table does. Errors: 23502, 23514, and those of the expressions.
pub fn complete(table: &TableSchema, values: &mut [Value], scope: &ExpressionScope) -> Result<(), Failure> {
    generate(table, values, scope)?;
    check(table, values, scope)
}

/// The same of a row that row-level security looks at, too, before the table does. Errors: 42501 besides; beside policies they show no values of the row.
pub fn complete_guarded(
    table: &TableSchema,
    values: &mut [Value],
    guard: Option<&RowGuard>,
    scope: &ExpressionScope,
) -> Result<(), Failure> {
    let Some(guard) = guard else { return complete(table, values, scope) };
    generate(table, values, scope)?;
    check_guard(&guard.new, values, scope)?;
    let checked = check(table, values, scope);
    if guard.hides_values() { checked.map_err(failure::without_values) } else { checked }
}

/// What views ask of a row that is written, once its keys are found to be free. Errors: 44000, and those of the conditions.
pub fn check_views(
    table: &TableSchema,
    values: &[Value],
    guard: Option<&RowGuard>,
    scope: &ExpressionScope,
) -> Result<(), Failure> {
    let Some(guard) = guard else { return Ok(()) };
    for of_view in &guard.of_views {
        if !scope.passes(Some(&of_view.condition), values)? {
            let failure = failure::refused_by_view(&of_view.message, table, values, scope.zone);
            return Err(if guard.hides_values() { failure::without_values(failure) } else { failure });
        }
    }
    Ok(())
}

/// Errors: 42501 for a row that one of these conditions is not true for, NULL not being true; those of the conditions.
pub fn check_guard(conditions: &[RowGuardCondition], values: &[Value], scope: &ExpressionScope) -> Result<(), Failure> {
    for guard in conditions {
        if !scope.passes(Some(&guard.condition), values)? {
            return Err(failure::row_refused(&guard.message));
        }
    }
    Ok(())
}

/// Computes the generated columns of a row. Errors: those of their expressions.
pub fn generate(table: &TableSchema, values: &mut [Value], scope: &ExpressionScope) -> Result<(), Failure> {
    for own in &table.generated {
        let value = scope.evaluate(&own.expression.expression, values)?;
        let target = table.columns[own.column].column_type;
        values[own.column] = values::cast::assign_in(&value, target, scope.zone).map_err(failure::of_value)?;
    }
    Ok(())
}

fn check(table: &TableSchema, values: &[Value], scope: &ExpressionScope) -> Result<(), Failure> {
    check_not_null(table, values, scope.zone)?;
    match violated(table.checks.iter(), values, scope)? {
        Some(check) => Err(failure::check_violated(table, &check.name, values, scope.zone)),
        None => Ok(()),
    }
}

/// The first condition that a row does not satisfy. Errors: those of the conditions.
pub fn violated<'t>(
    checks: impl Iterator<Item = &'t CheckSchema>,
    values: &[Value],
    scope: &ExpressionScope,
) -> Result<Option<&'t CheckSchema>, Failure> {
    for check in checks {
        if scope.evaluate(&check.condition, values)?.as_boolean() == Some(false) {
            return Ok(Some(check));
        }
    }
    Ok(None)
}

fn check_not_null(table: &TableSchema, values: &[Value], zone: &Zone) -> Result<(), Failure> {
    let wrong = |column: &usize| {
        let schema = &table.columns[*column];
        values[*column].is_null() && !schema.dropped && (schema.not_null || table.primary_key.contains(column))
    };
    match (0..table.columns.len()).find(wrong) {
        Some(column) => Err(failure::not_null(table, column, values, zone)),
        None => Ok(()),
    }
}

/// A key that is supplied as bytes. Errors: XX000 when it is none, which the compiler has to prevent.
pub fn supplied_key(values: &[Value]) -> Result<Key, Failure> {
    match values.first() {
        Some(Value::Bytea(bytes)) => Ok(Key::new(bytes)),
        _ => Err(failure::statement(sqlstate::INTERNAL_ERROR, "a supplied row does not begin with a key")),
    }
}

/// A row that its index entry or an earlier read promised is not there: somebody else has just taken it.
pub fn vanished(item: Item) -> Failure {
    Failure::Conflict { conflict: Conflict::on(item, ConflictKind::StaleRead, None) }
}

#[cold]
fn damaged(table: &TableSchema) -> Failure {
    failure::of_value(ValueError::new(
        values::error::sqlstate::DATA_CORRUPTED,
        format!("stored bytes are damaged: a row of \"{}\" has too many columns", table.name),
    ))
}
