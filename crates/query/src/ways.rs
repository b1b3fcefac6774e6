//! Ways to the rows that pass filters: ranges of a table's keys, or of the keys of one of its indexes.
//!
//! Invariant: every row that passes the filters is found on the way. The converse is not promised, so filters are applied all the same.

use crate::convert::for_each_value;
use crate::functions::{any, cast, equal};
use crate::limits::{SCAN_RANGES_MAX, TABLE_ROWS};
use crate::types;
use bigdecimal::BigDecimal;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Cast, InList};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    self as physical, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal,
};
use messages::schema::TableSchema;
use messages::{Key, KeyRange};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::{Type, Value};

/// Rows that are taken to lie above, or below, a bound of a column.
const HALF_BOUNDED_ROWS: usize = 100_000;
/// And between two.
const BOUNDED_ROWS: usize = 10_000;
/// Rows that are taken to share the values of some first columns of a key.
const ROWS_OF_A_PREFIX: usize = 100;

/// What filters say of the columns of a table.
#[derive(Clone, Debug)]
pub(crate) struct Restrictions {
    table: Arc<TableSchema>,
    /// By position in the stored row.
    columns: BTreeMap<usize, Bounds>,
    /// No row passes.
    nothing: bool,
}

/// What filters say of a column.
#[derive(Clone, Debug, Default)]
struct Bounds {
    /// The values it may have, when they are named: in order, each once.
    points: Option<Vec<Value>>,
    /// At least, and whether equality is allowed.
    low: Option<(Value, bool)>,
    /// At most, and whether equality is allowed.
    high: Option<(Value, bool)>,
}

/// A way to rows.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// By which index; `None`: by the table's own key.
    pub index: Option<usize>,
    /// Of keys; in order, without overlap.
    pub ranges: Vec<KeyRange>,
    /// How well it fits.
    pub fit: Fit,
}

/// How well a way fits what is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fit {
    /// No range holds more than one row.
    names_rows: bool,
    /// First columns of the key whose values are named.
    pub points: usize,
    /// Bounds of the column behind them: 0 to 2.
    bounds: usize,
    /// Rows need not be looked up by their keys.
    is_table: bool,
}

impl Restrictions {
    /// What a conjunction of filters says.
    pub(crate) fn of_filters(table: &Arc<TableSchema>, filters: &[Expr]) -> Restrictions {
        let mut restrictions = Restrictions { table: table.clone(), columns: BTreeMap::new(), nothing: false };
        filters.iter().for_each(|filter| restrictions.add(filter));
        restrictions
    }

    /// Adds what one filter says. Anything that is not understood says nothing.
    fn add(&mut self, filter: &Expr) {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.add(left);
                self.add(right);
            }
            Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
                let mut named = Vec::new();
                if let Some(position) = equalities(&self.table, filter, &mut named) {
                    self.points(position, &named);
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (column, op, value) = match (&**left, &**right) {
                    (column, Expr::Literal(value, _)) => (column, Some(*op), value),
                    (Expr::Literal(value, _), column) => (column, op.swap(), value),
                    _ => return,
                };
                if let (Some(position), Some(op)) = (column_of(&self.table, column), op) {
                    self.compare(position, op, value);
                }
            }
            Expr::InList(InList { expr, list, negated: false }) => {
                let values: Option<Vec<&ScalarValue>> = list.iter().map(literal).collect();
                if let (Some(position), Some(values)) = (column_of(&self.table, expr), values) {
                    self.points(position, &values);
                }
            }
            Expr::Literal(ScalarValue::Boolean(Some(false) | None), _) => self.nothing = true,
            Expr::ScalarFunction(call) => {
                if let Some((column, values)) = any::equality(call)
                    && let Some(position) = column_of(&self.table, column)
                {
                    self.points(position, &values.iter().collect::<Vec<_>>());
                }
            }
            _ => {}
        }
    }

    /// Adds what a filter says that was made while the query runs: a join tells the keys that it looks for. `positions`: of each column of the
    /// scan, in the stored row.
    pub(crate) fn add_dynamic(&mut self, filter: &Arc<dyn PhysicalExpr>, positions: &[usize]) {
        let column = |side: &Arc<dyn PhysicalExpr>| -> Option<usize> {
            let side = equal::of_physical_key(side).unwrap_or(side);
            let cast = side.downcast_ref::<CastExpr>();
            let column = cast.map_or(side, CastExpr::expr).downcast_ref::<Column>()?;
            let position = *positions.get(column.index())?;
            let column_type = self.table.columns[position].column_type;
            cast.is_none_or(|cast| keeps_all(column_type, cast.cast_type())).then_some(position)
        };
        let constant = |side: &Arc<dyn PhysicalExpr>| side.downcast_ref::<Literal>().map(|found| found.value().clone());
        if let Some(filter) = filter.downcast_ref::<DynamicFilterPhysicalExpr>() {
            if let Ok(current) = filter.current() {
                self.add_dynamic(&current, positions);
            }
        } else if let Some(binary) = filter.downcast_ref::<physical::BinaryExpr>() {
            if *binary.op() == Operator::And {
                self.add_dynamic(binary.left(), positions);
                self.add_dynamic(binary.right(), positions);
            } else if let (Some(position), Some(value)) = (column(binary.left()), constant(binary.right())) {
                self.compare(position, *binary.op(), &value);
            }
        } else if let Some(list) = filter.downcast_ref::<InListExpr>() {
            let values: Option<Vec<ScalarValue>> = list.list().iter().map(constant).collect();
            if let (Some(position), Some(values), false) = (column(list.expr()), values, list.negated()) {
                self.points(position, &values.iter().collect::<Vec<_>>());
            }
        } else if matches!(constant(filter), Some(ScalarValue::Boolean(Some(false) | None))) {
            self.nothing = true;
        }
    }

    fn compare(&mut self, position: usize, operator: Operator, value: &ScalarValue) {
        if let Some(value) = value_of(value, self.table.columns[position].column_type) {
            self.columns.entry(position).or_default().compare(operator, value);
        }
    }

    /// The column has one of these values. NULL is none, and neither is an integer beyond its type: they equal nothing.
    fn points(&mut self, position: usize, values: &[&ScalarValue]) {
        let column_type = self.table.columns[position].column_type;
        let mut held = Vec::with_capacity(values.len());
        for value in values {
            match value_of(value, column_type) {
                Some(value) => held.push(value),
                None if value.is_null() => {}
                None if column_type.is_whole() && value.data_type().is_integer() => {}
                None => return,
            }
        }
        self.columns.entry(position).or_default().points_are(held);
    }

    /// Columns with a single value.
    pub(crate) fn constants(&self) -> impl Iterator<Item = usize> {
        self.columns
            .iter()
            .filter(|(_, bounds)| bounds.named().is_some_and(|points| points.len() == 1))
            .map(|(at, _)| *at)
    }

    /// The best way.
    pub(crate) fn best(&self) -> Way {
        let ways = (0..self.table.indexes.len()).map(|index| self.way(Some(index)));
        // A full scan of an index finds no fewer rows than one of the table.
        let useful = ways.filter(|way| way.fit.points > 0 || way.fit.bounds > 0);
        useful.chain([self.way(None)]).max_by_key(|way| way.fit.rank()).expect("there is the table")
    }

    /// The way by this index, or by the table's key.
    pub(crate) fn way(&self, index: Option<usize>) -> Way {
        let (storage, columns, unique) = match index {
            None => (self.table.storage, self.table.primary_key.clone(), !self.table.primary_key.is_empty()),
            Some(index) => {
                let index = &self.table.indexes[index];
                (index.storage, index.leading_columns(), index.unique && index.whole_columns().is_some())
            }
        };
        let mut fit = Fit { is_table: index.is_none(), ..Fit::default() };
        if self.nothing {
            return Way { index, ranges: Vec::new(), fit: Fit { names_rows: true, ..fit } };
        }
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
        let mut behind = Bounds::default();
        for position in &columns {
            let Some(bounds) = self.columns.get(position) else { break };
            match bounds.named() {
                Some(points) if prefixes.len() * points.len() <= SCAN_RANGES_MAX => {
                    let with_points = |prefix: &Vec<u8>| points.iter().map(|point| extended(prefix, point)).collect();
                    prefixes = prefixes.iter().flat_map(|prefix| -> Vec<Vec<u8>> { with_points(prefix) }).collect();
                    fit.points += 1;
                }
                _ => {
                    behind = bounds.around();
                    break;
                }
            }
        }
        fit.names_rows = unique && fit.points == columns.len();
        fit.bounds = usize::from(behind.low.is_some()) + usize::from(behind.high.is_some());
        let mut ranges: Vec<KeyRange> = match fit.names_rows {
            true => prefixes.iter().map(|key| KeyRange::point(storage, Key::new(key))).collect(),
            false => prefixes.iter().filter_map(|prefix| behind.range(storage, prefix)).collect(),
        };
        ranges.sort();
        ranges.dedup();
        Way { index, ranges, fit }
    }
}

impl Fit {
    /// The greater, the better.
    pub(crate) fn rank(self) -> (bool, usize, usize, bool) {
        let points = if self.names_rows { 0 } else { self.points };
        (self.names_rows, points, self.bounds, self.is_table)
    }
}

impl Way {
    /// Rows that it is taken to lead to: there are no statistics, so that is no more than an order of size.
    pub(crate) fn rows(&self) -> usize {
        match self.fit {
            Fit { names_rows: true, .. } => self.ranges.len(),
            Fit { points: 1.., .. } => self.ranges.len() * ROWS_OF_A_PREFIX,
            Fit { bounds: 2, .. } => BOUNDED_ROWS,
            Fit { bounds: 1, .. } => HALF_BOUNDED_ROWS,
            Fit { .. } => TABLE_ROWS,
        }
    }

    /// Whether it leads to all rows.
    pub(crate) fn is_whole(&self) -> bool {
        self.fit.points == 0 && self.fit.bounds == 0 && !self.fit.names_rows
    }
}

impl Bounds {
    fn compare(&mut self, operator: Operator, value: Value) {
        match operator {
            Operator::Eq => self.points_are(vec![value]),
            Operator::Gt | Operator::GtEq => {
                let candidate = (value, operator == Operator::GtEq);
                if self.low.as_ref().is_none_or(|low| encoded(&candidate.0) >= encoded(&low.0)) {
                    self.low = Some(candidate);
                }
            }
            Operator::Lt | Operator::LtEq => {
                let candidate = (value, operator == Operator::LtEq);
                if self.high.as_ref().is_none_or(|high| encoded(&candidate.0) <= encoded(&high.0)) {
                    self.high = Some(candidate);
                }
            }
            _ => {}
        }
    }

    /// Of two lists of values those are kept that are in both.
    fn points_are(&mut self, mut points: Vec<Value>) {
        points.sort_by_key(encoded);
        points.dedup_by_key(|point| encoded(point));
        if let Some(known) = &self.points {
            let known: BTreeSet<Vec<u8>> = known.iter().map(encoded).collect();
            points.retain(|point| known.contains(&encoded(point)));
        }
        self.points = Some(points);
    }

    /// The values that it may have.
    fn named(&self) -> Option<Vec<Value>> {
        match (&self.points, &self.low, &self.high) {
            (Some(points), _, _) => Some(points.clone()),
            (None, Some((low, true)), Some((high, true))) if encoded(low) == encoded(high) => Some(vec![low.clone()]),
            _ => None,
        }
    }

    /// The bounds, of the values too where those are too many to be named.
    fn around(&self) -> Bounds {
        let end = |end: Option<&Value>| end.map(|value| (value.clone(), true));
        let points = self.points.as_deref().unwrap_or_default();
        Bounds {
            points: None,
            low: self.low.clone().or_else(|| end(points.first())),
            high: self.high.clone().or_else(|| end(points.last())),
        }
    }

    /// The keys with this prefix whose next column lies within the bounds.
    fn range(&self, storage: messages::TableId, prefix: &[u8]) -> Option<KeyRange> {
        let start = match &self.low {
            None => Some(prefix.to_vec()),
            Some((value, true)) => Some(extended(prefix, value)),
            Some((value, false)) => values::key::prefix_end(&extended(prefix, value)),
        }?;
        let end = match &self.high {
            None => values::key::prefix_end(prefix),
            Some((value, true)) => values::key::prefix_end(&extended(prefix, value)),
            Some((value, false)) => Some(extended(prefix, value)),
        };
        let range = KeyRange { table: storage, low: Key::new(&start), high: end.map(|end| Key::new(&end)) };
        (!range.is_empty()).then_some(range)
    }
}

fn extended(prefix: &[u8], value: &Value) -> Vec<u8> {
    let mut key = prefix.to_vec();
    values::key::append(value, &mut key);
    key
}

fn encoded(value: &Value) -> Vec<u8> {
    extended(&[], value)
}

fn literal(expression: &Expr) -> Option<&ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// The position of a column, which may be cast, in the stored row; `None` for anything else.
fn column_of(table: &TableSchema, expression: &Expr) -> Option<usize> {
    let position = |expression: &Expr| match expression {
        Expr::Column(column) => table.column(&column.name),
        _ => None,
    };
    let inside = equal::of_key(expression).unwrap_or(expression);
    if let Some((inner, target)) = cast::of_cast(inside) {
        return position(inner)
            .filter(|position| keeps_all(table.columns[*position].column_type, &types::to_arrow(target)));
    }
    match inside {
        Expr::Cast(Cast { expr, field }) => {
            position(expr).filter(|position| keeps_all(table.columns[*position].column_type, field.data_type()))
        }
        other => position(other),
    }
}

/// Whether values that are cast from one type to the other stay what they are, so that a comparison tells what it would without the cast: of
/// floats one is equal to several integers, other types may lose something, too.
fn keeps_all(from: Type, to: &DataType) -> bool {
    use DataType::{Decimal128, Decimal256};
    match (types::to_arrow(from), to) {
        (Decimal128(_, own) | Decimal256(_, own), Decimal128(_, scale) | Decimal256(_, scale)) => *scale >= own,
        (Decimal128(..) | Decimal256(..), to) if *to == types::EXACT => true,
        _ => from.is_whole() && !to.is_floating(),
    }
}

/// The column that a disjunction compares with values, all of which are added to `values`; none if it is anything else.
fn equalities<'a>(table: &TableSchema, filter: &'a Expr, values: &mut Vec<&'a ScalarValue>) -> Option<usize> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let column = equalities(table, left, values)?;
            (equalities(table, right, values)? == column).then_some(column)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (&**left, &**right) {
            (column, Expr::Literal(value, _)) | (Expr::Literal(value, _), column) => {
                values.push(value);
                column_of(table, column)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `None` when the column's type cannot hold the literal exactly, or it is NULL.
fn value_of(literal: &ScalarValue, column_type: Type) -> Option<Value> {
    let mut value = Value::Null;
    for_each_value(&literal.to_array().ok()?, |found| value = found).ok()?;
    match (column_type, &value) {
        (_, Value::Null) => None,
        (Type::SmallInt, _) => Some(Value::SmallInt(value.as_integer()?.try_into().ok()?)),
        (Type::Integer, _) => Some(Value::Integer(value.as_integer()?.try_into().ok()?)),
        (Type::BigInt, _) => value.as_integer().map(Value::BigInt),
        (Type::Oid, _) => Some(Value::Oid(value.as_integer()?.try_into().ok()?)),
        // The key that a numeric or an interval is compared by.
        (Type::Numeric(_) | Type::Interval(_), Value::Text(key)) => equal::of_digits(key, column_type.unmodified()),
        (Type::Numeric(_), Value::SmallInt(_) | Value::Integer(_) | Value::BigInt(_)) => {
            value.as_integer().map(|number| Value::numeric(BigDecimal::from(number)))
        }
        // A `char(n)` is held without its trailing blanks.
        (Type::Char(_), Value::Text(text)) => Some(Value::text(text.trim_end_matches(' '))),
        _ if value.data_type().map(|found| found.unmodified()) == Some(column_type.unmodified()) => Some(value),
        (Type::Varchar(_) | Type::Text, Value::Text(_)) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column that is taken for constant, or for narrowed, where several of its values are equal after a cast gives rows in the wrong order, or loses
    /// some.
    #[test]
    fn casts_that_lose_something_are_known() {
        let arrow = types::to_arrow;
        let exact = Type::Numeric(Some((10, 2)));
        for (from, to) in [(Type::Integer, Type::BigInt), (Type::Oid, Type::BigInt), (exact, Type::Numeric(None))] {
            assert!(keeps_all(from, &arrow(to)), "{from} to {to}");
        }
        let lossy = [(Type::BigInt, Type::Double), (Type::Integer, Type::Real), (Type::Numeric(None), exact)];
        for (from, to) in lossy.into_iter().chain([(Type::Timestamp(None), Type::Date), (exact, Type::BigInt)]) {
            assert!(!keeps_all(from, &arrow(to)), "{from} to {to}");
        }
    }
}
