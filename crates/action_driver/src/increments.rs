//! `SET balance = balance + 5` without reading the balance: which updates add to rows, and for which tables that is worth its while.
//!
//! An update adds when it names one row by its key, and sets columns of integers or `numeric`, which no key contains, to themselves plus or minus
//! something that no column is needed for. Whoever adds does not see the sum; so two that add to one row need not know of each other,
//! and both commit. But a transaction that reads the row later has to make its increment a write after all, and two of those can wait
//! for each other; where that is usual, updates are left what they were.

use crate::expression::ExpressionScope;
use crate::limits::{READ_BACK_MAX, READ_BACK_STEP, WIDE_RANGE};
use messages::program::{AccessPath, BinaryOperator, Expression, RowSource, UnaryOperator};
use messages::schema::TableSchema;
use messages::{Addends, Item, TableId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use values::Type;
use values::addition::{Addend, Number};

/// How often rows that were added to were read by the same transaction, by storage.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct IncrementWorth {
    /// Rises by `READ_BACK_STEP` with each that was read, falls by one with each that was not; those at zero are left out.
    read_back: FxHashMap<TableId, u16>,
}

impl IncrementWorth {
    /// Whether rows of a storage should be added to without being read.
    pub fn are_worth(&self, table: TableId) -> bool {
        self.read_back.is_empty() || !self.read_back.contains_key(&table)
    }

    /// An increment was refused, which has cost a transaction: it is long before the next is tried.
    pub fn refused(&mut self, table: TableId) {
        self.read_back.insert(table, READ_BACK_MAX);
    }

    /// A transaction has ended that could add to an item unread, and read it nevertheless or did not.
    pub fn note(&mut self, table: TableId, read: bool) {
        if read {
            let level = self.read_back.entry(table).or_default();
            *level = (*level + READ_BACK_STEP).min(READ_BACK_MAX);
        } else if let Some(level) = self.read_back.get_mut(&table) {
            *level -= 1;
            if *level == 0 {
                self.read_back.remove(&table);
            }
        }
    }
}

/// What an update adds to which item. `None`: it is of another kind, its value cannot be computed without the row, or not at all.
pub fn of_update(
    source: &RowSource,
    assignments: &[(usize, Expression)],
    item: impl FnOnce() -> Option<Item>,
    scope: &ExpressionScope,
) -> Option<(Item, Addends)> {
    if !matches!(source.path, AccessPath::Point(_)) || assignments.is_empty() {
        return None;
    }
    let mut addends = Addends::new();
    for (column, expression) in assignments {
        let (expression, negated) = addend(&source.table, *column, expression)?;
        let column_type = source.table.columns.get(*column)?.column_type;
        let value = scope.evaluate(expression, &[]).ok()?;
        let addend = Addend::of(u16::try_from(*column).ok()?, column_type, &value)?;
        addends.push(if negated { addend.negated()? } else { addend });
    }
    Some((item()?, addends))
}

/// The part of `column + part`, `part + column` or `column - part` that is added, and whether it is subtracted.
fn addend<'a>(table: &TableSchema, column: usize, expression: &'a Expression) -> Option<(&'a Expression, bool)> {
    let column_type = table.columns.get(column)?.column_type;
    let in_key = table.primary_key.contains(&column)
        || table.indexes.iter().any(|index| index.depends_on(column))
        || table.generated.iter().any(|own| own.expression.columns.contains(&column))
        || table.has_hidden_key();
    if in_key {
        return None;
    }
    let sum = match expression {
        Expression::Cast(sum, to, false) if *to == column_type => sum,
        sum => sum,
    };
    let Expression::Binary(operator, left, right) = sum else { return None };
    let is_column = |side: &Expression| match side {
        Expression::Cast(inner, to, _) if holds(*to, column_type) => {
            matches!(**inner, Expression::Column(at) if usize::from(at) == column)
        }
        Expression::Column(at) => usize::from(*at) == column,
        _ => false,
    };
    match operator {
        BinaryOperator::Add if is_column(left) && is_free(right) => Some((right, false)),
        BinaryOperator::Add if is_column(right) && is_free(left) => Some((left, false)),
        BinaryOperator::Subtract if is_column(left) && is_free(right) => Some((right, true)),
        _ => None,
    }
}

/// Whether a number of type `from` is the same in type `to`.
fn holds(to: Type, from: Type) -> bool {
    let width = |integer: Type| match integer {
        Type::SmallInt => Some(2),
        Type::Integer => Some(4),
        Type::BigInt => Some(8),
        _ => None,
    };
    match (width(to), width(from)) {
        (Some(to), Some(from)) => to >= from,
        _ => to == Type::Numeric(None) && matches!(from, Type::Numeric(_)),
    }
}

/// Whether no column is needed to compute it.
fn is_free(expression: &Expression) -> bool {
    match expression {
        Expression::Constant(_) | Expression::Parameter(_) | Expression::Gathered(..) => true,
        Expression::Unary(UnaryOperator::Minus, inner) | Expression::Cast(inner, ..) => is_free(inner),
        Expression::Binary(_, left, right) => is_free(left) && is_free(right),
        _ => false,
    }
}

/// Whether a row has numbers in these columns that stay far from the ends of their types, with what was added `before`, so that no site will
/// refuse, and no sum on the way would have been an error.
pub fn have_room(row: &[u8], before: Option<&Addends>, addends: &Addends) -> bool {
    addends.iter().all(|addend| {
        let all = before.into_iter().flatten().filter(|other| other.column == addend.column).chain([addend]);
        Number::of(row, addend.column, all.clone()).is_some_and(|number| {
            let turns = all.clone().any(|other| (other.number < 0) != (addend.number < 0));
            let sum = all.map(|addend| number.count(addend)).fold(number.number, i128::saturating_add);
            (number.range.start() / 2..=number.range.end() / 2).contains(&sum)
                && !(turns && *number.range.end() < WIDE_RANGE)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use values::Value;

    /// What is added and taken away again may not fit where the row is when both commit; only far from the ends of a wide type it does.
    #[test]
    fn narrow_columns_are_not_added_to_and_subtracted_from() {
        let mut row = Vec::new();
        values::row::encode_row(&[Value::Integer(400), Value::SmallInt(400), Value::numeric(400.into())], &mut row);
        let money = Type::Numeric(Some((3, 0)));
        for (column, column_type, is_wide) in [(0, Type::Integer, true), (1, Type::SmallInt, false), (2, money, false)]
        {
            let addends = |number: i32| -> Addends {
                [Addend::of(column, column_type, &Value::Integer(number)).expect("a number")].into_iter().collect()
            };
            assert!(have_room(&row, None, &addends(50)) && have_room(&row, None, &addends(-50)));
            assert!(have_room(&row, Some(&addends(20)), &addends(50)), "in one direction");
            assert_eq!(have_room(&row, Some(&addends(20)), &addends(-50)), is_wide, "{column_type}");
        }
    }

    /// Rows that are usually read back must not be added to: their readers would wait for each other.
    #[test]
    fn reading_back_is_remembered_for_a_while() {
        let (mut increment_worth, table) = (IncrementWorth::default(), TableId(20));
        increment_worth.note(table, false);
        assert!(increment_worth.are_worth(table));
        increment_worth.note(table, true);
        for _ in 0..READ_BACK_STEP {
            assert!(!increment_worth.are_worth(table) && increment_worth.are_worth(TableId(21)));
            increment_worth.note(table, false);
        }
        assert!(increment_worth.are_worth(table));
    }
}
