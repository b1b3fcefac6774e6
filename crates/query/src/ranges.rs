//! Filters on the first columns of a primary key as ranges of encoded keys.
//!
//! Invariant: every row that passes the filters has its key in one of the ranges. The converse is not promised.

use crate::convert::for_each_value;
use crate::limits::SCAN_RANGES_MAX;
use bigdecimal::BigDecimal;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use messages::schema::TableSchema;
use messages::{Key, KeyRange};
use values::{Type, Value};

/// What the filters say about one key column.
#[derive(Default)]
struct Bounds {
    /// The values it may have, when they are named.
    points: Option<Vec<Value>>,
    /// At least, and whether equality is allowed.
    low: Option<(Value, bool)>,
    /// At most, and whether equality is allowed.
    high: Option<(Value, bool)>,
}

/// The key ranges, in order and without overlap, that hold all rows that pass the conjunction of the filters.
pub fn of_filters(table: &TableSchema, filters: &[Expr]) -> Vec<KeyRange> {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for position in &table.primary_key {
        let column = &table.columns[*position];
        let mut bounds = Bounds::default();
        for filter in filters {
            collect(filter, &column.name, column.column_type, &mut bounds);
        }
        match bounds.points {
            Some(points) if prefixes.len() * points.len() <= SCAN_RANGES_MAX => {
                prefixes =
                    prefixes.iter().flat_map(|prefix| points.iter().map(|point| extended(prefix, point))).collect();
            }
            _ => return ranges(table, &prefixes, bounds.low.as_ref(), bounds.high.as_ref()),
        }
    }
    ranges(table, &prefixes, None, None)
}

fn extended(prefix: &[u8], value: &Value) -> Vec<u8> {
    let mut key = prefix.to_vec();
    values::key::append(value, &mut key);
    key
}

fn ranges(
    table: &TableSchema,
    prefixes: &[Vec<u8>],
    low: Option<&(Value, bool)>,
    high: Option<&(Value, bool)>,
) -> Vec<KeyRange> {
    let mut ranges: Vec<KeyRange> = prefixes
        .iter()
        .filter_map(|prefix| {
            let start = match low {
                None => Some(prefix.clone()),
                Some((value, true)) => Some(extended(prefix, value)),
                Some((value, false)) => values::key::prefix_end(&extended(prefix, value)),
            }?;
            let end = match high {
                None => values::key::prefix_end(prefix),
                Some((value, true)) => values::key::prefix_end(&extended(prefix, value)),
                Some((value, false)) => Some(extended(prefix, value)),
            };
            Some(KeyRange { table: table.storage, low: Key::new(&start), high: end.map(|end| Key::new(&end)) })
        })
        .filter(|range| !range.is_empty())
        .collect();
    ranges.sort();
    ranges.dedup();
    ranges
}

/// Adds what one filter says about the column. Anything it does not understand says nothing.
fn collect(filter: &Expr, column: &str, column_type: Type, bounds: &mut Bounds) {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            collect(left, column, column_type, bounds);
            collect(right, column, column_type, bounds);
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
            let mut points = Vec::new();
            if named_points(filter, column, column_type, &mut points) {
                bounds.points_are(points);
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if let Some(value) = literal_for(left, right, column, column_type) {
                bounds.compare(*op, value);
            } else if let (Some(value), Some(op)) = (literal_for(right, left, column, column_type), op.swap()) {
                bounds.compare(op, value);
            }
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let points: Option<Vec<Value>> =
                list.iter().map(|item| literal_for(expr, item, column, column_type)).collect();
            if let Some(points) = points {
                bounds.points_are(points);
            }
        }
        _ => {}
    }
}

/// Whether the filter is a disjunction of equalities on the column, whose values are added to `points`.
fn named_points(filter: &Expr, column: &str, column_type: Type, points: &mut Vec<Value>) -> bool {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            named_points(left, column, column_type, points) && named_points(right, column, column_type, points)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            let value =
                literal_for(left, right, column, column_type).or_else(|| literal_for(right, left, column, column_type));
            value.map(|value| points.push(value)).is_some()
        }
        _ => false,
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

    /// Of two lists of values the first is kept: either is true of every row that passes.
    fn points_are(&mut self, mut points: Vec<Value>) {
        if self.points.is_none() {
            points.sort_by_key(encoded);
            points.dedup_by_key(|point| encoded(point));
            self.points = Some(points);
        }
    }
}

fn encoded(value: &Value) -> Vec<u8> {
    extended(&[], value)
}

/// The literal on the other side of a comparison with the column, as a value of the column's own type.
fn literal_for(side: &Expr, other: &Expr, column: &str, column_type: Type) -> Option<Value> {
    match (side, other) {
        (Expr::Column(found), Expr::Literal(literal, _)) if found.name == column => value_of(literal, column_type),
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
