//! Whether a condition implies the predicate of an index (PostgreSQL's `predtest.c`).
//!
//! Invariant: it says yes only if every row for which the condition is true satisfies the predicate, whatever the parameters. It may say no.

use crate::limits::IMPLICATION_STEPS_MAX;
use messages::program::{BinaryOperator, Expression, UnaryOperator};
use messages::schema::TableSchema;
use std::cmp::Ordering;
use values::{Type, Value, operators};

/// Whether conditions that all are true imply the predicate.
pub(super) fn implies(conditions: &[Expression], predicate: &Expression, table: &TableSchema) -> bool {
    let mut prover = Prover { table, steps: 0 };
    let conditions: Vec<&Expression> = conditions.iter().collect();
    prover.follows(&conditions, predicate)
}

struct Prover<'a> {
    table: &'a TableSchema,
    /// Taken so far: lists of alternatives multiply them.
    steps: usize,
}

impl Prover<'_> {
    fn follows(&mut self, conditions: &[&Expression], predicate: &Expression) -> bool {
        self.steps += 1;
        if self.steps > IMPLICATION_STEPS_MAX {
            return false;
        }
        match predicate {
            Expression::Constant(Value::Boolean(true)) => return true,
            Expression::And(all) => return all.iter().all(|one| self.follows(conditions, one)),
            Expression::Or(any) if any.iter().any(|one| self.follows(conditions, one)) => return true,
            _ => {}
        }
        conditions.iter().any(|condition| self.one_implies(condition, predicate))
    }

    fn one_implies(&mut self, condition: &Expression, predicate: &Expression) -> bool {
        self.steps += 1;
        if self.steps > IMPLICATION_STEPS_MAX {
            return false;
        }
        if condition.is_same_as(predicate) {
            return true;
        }
        match condition {
            Expression::And(all) => return self.follows(&all.iter().collect::<Vec<_>>(), predicate),
            Expression::Or(any) => return any.iter().all(|one| self.follows(&[one], predicate)),
            _ => {}
        }
        if let (Some(known), Some(wanted)) = (truth(condition), truth(predicate))
            && known.1 == wanted.1
            && known.0.is_same_as(wanted.0)
        {
            return true;
        }
        if let Expression::In(operand, list, false) = condition {
            return !list.is_empty() && list.iter().all(|value| self.one_implies(&equality(operand, value), predicate));
        }
        match predicate {
            Expression::IsNull(operand, true) => refuses_null(condition, operand),
            Expression::In(operand, list, false) => {
                list.iter().any(|value| self.one_implies(condition, &equality(operand, value)))
            }
            _ => self.bounds_imply(condition, predicate),
        }
    }

    /// Comparisons of one operand with constants.
    fn bounds_imply(&self, condition: &Expression, predicate: &Expression) -> bool {
        let (Some((subject, known, left)), Some((wanted_subject, wanted, right))) =
            (bound(condition), bound(predicate))
        else {
            return false;
        };
        let own = subject.type_over(&|position| self.table.columns.get(position).map(|column| column.column_type));
        // A char is compared without its trailing blanks, its constants may have them.
        if matches!(own, Some(Type::Char(_)) | None) || !subject.is_same_as(wanted_subject) {
            return false;
        }
        let (Some(one), Some(other)) = (left.data_type(), right.data_type()) else { return false };
        if one.unmodified() != other.unmodified() && !(one.is_whole() && other.is_whole()) {
            return false;
        }
        between(known, operators::compare(left, right), wanted)
    }
}

/// Whether `x known left` implies `x wanted right`, where `order` is that of `left` and `right`.
fn between(known: BinaryOperator, order: Ordering, wanted: BinaryOperator) -> bool {
    use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    use Ordering::{Equal as Same, Greater as Above, Less as Below};
    match (known, wanted) {
        (Equal, Equal) => order == Same,
        (Equal, NotEqual) => order != Same,
        (Equal | LessOrEqual, Less) => order == Below,
        (Equal | LessOrEqual | Less, LessOrEqual) | (Less, Less | NotEqual) => order != Above,
        (LessOrEqual, NotEqual) => order == Below,
        (Equal | GreaterOrEqual, Greater) => order == Above,
        (Equal | GreaterOrEqual | Greater, GreaterOrEqual) | (Greater, Greater | NotEqual) => order != Below,
        (GreaterOrEqual, NotEqual) => order == Above,
        (NotEqual, NotEqual) => order == Same,
        _ => false,
    }
}

fn equality(operand: &Expression, value: &Expression) -> Expression {
    Expression::Binary(BinaryOperator::Equal, Box::new(operand.clone()), Box::new(value.clone()))
}

/// `operand op constant`, either way round. NULL is no constant: such a comparison is true of no row.
fn bound(comparison: &Expression) -> Option<(&Expression, BinaryOperator, &Value)> {
    use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let Expression::Binary(operator, left, right) = comparison else { return None };
    match (&**left, &**right) {
        (subject, Expression::Constant(value)) if !value.is_null() => Some((subject, *operator, value)),
        (Expression::Constant(value), subject) if !value.is_null() => {
            let turned = match operator {
                Equal => Equal,
                NotEqual => NotEqual,
                Less => Greater,
                LessOrEqual => GreaterOrEqual,
                Greater => Less,
                GreaterOrEqual => LessOrEqual,
                _ => return None,
            };
            Some((subject, turned, value))
        }
        _ => None,
    }
}

/// What a condition says is true, or false: `x`, `NOT x`, `x = true`, `x IS TRUE` and their like, which are true for the same rows.
fn truth(condition: &Expression) -> Option<(&Expression, bool)> {
    let constant = |side: &Expression| match side {
        Expression::Constant(Value::Boolean(truth)) => Some(*truth),
        _ => None,
    };
    match condition {
        // NOT of a test is true where its operand is NULL, too.
        Expression::Unary(UnaryOperator::Not, operand) if !matches!(**operand, Expression::IsDistinct(..)) => {
            truth(operand).map(|(operand, is)| (operand, !is))
        }
        Expression::Binary(BinaryOperator::Equal, left, right) => match (constant(left), constant(right)) {
            (None, Some(is)) => Some((left, is)),
            (Some(is), None) => Some((right, is)),
            _ => Some((condition, true)),
        },
        Expression::Binary(BinaryOperator::NotEqual, left, right) => match (constant(left), constant(right)) {
            (None, Some(is)) => Some((left, !is)),
            (Some(is), None) => Some((right, !is)),
            _ => Some((condition, true)),
        },
        Expression::IsDistinct(left, right, true) => constant(right).map(|is| (&**left, is)),
        Expression::IsDistinct(..) => None,
        _ => Some((condition, true)),
    }
}

/// Whether the condition is true only where the operand is not NULL.
fn refuses_null(condition: &Expression, operand: &Expression) -> bool {
    match condition {
        Expression::Unary(UnaryOperator::Not, inner) => passes_null(inner, operand),
        Expression::And(all) => all.iter().any(|one| refuses_null(one, operand)),
        Expression::Or(any) => !any.is_empty() && any.iter().all(|one| refuses_null(one, operand)),
        Expression::IsNull(inner, true) => passes_null(inner, operand),
        Expression::IsDistinct(inner, value, true) => {
            matches!(&**value, Expression::Constant(value) if !value.is_null()) && passes_null(inner, operand)
        }
        // Of no elements it is false.
        Expression::Any(_, inner, array) => passes_null(inner, operand) || passes_null(array, operand),
        other => passes_null(other, operand),
    }
}

/// Whether the expression is NULL where the operand is.
fn passes_null(expression: &Expression, operand: &Expression) -> bool {
    if expression.is_same_as(operand) {
        return true;
    }
    match expression {
        Expression::Unary(_, inner) | Expression::Cast(inner, ..) => passes_null(inner, operand),
        Expression::Binary(_, left, right) | Expression::Like(left, right, ..) => {
            passes_null(left, operand) || passes_null(right, operand)
        }
        Expression::In(inner, list, false) => !list.is_empty() && passes_null(inner, operand),
        Expression::Any(_, inner, array) => {
            passes_null(array, operand) || (is_filled(array) && passes_null(inner, operand))
        }
        Expression::Call(name, arguments) => {
            !matches!(&**name, "nullif" | "greatest" | "least" | "concat" | "concat_ws" | "coalesce")
                && arguments.iter().any(|argument| passes_null(argument, operand))
        }
        _ => false,
    }
}

/// Whether an array has elements: a comparison with any element of none is false, not NULL.
fn is_filled(array: &Expression) -> bool {
    matches!(array, Expression::Array(_, elements) if !elements.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;
    use crate::sql::row_expressions::{RowExpressionUse, row_expression};
    use messages::TableId;
    use messages::schema::{Catalog, Column};

    fn table() -> TableSchema {
        let columns = [
            ("a", Type::Integer),
            ("b", Type::Integer),
            ("c", Type::Boolean),
            ("name", Type::Varchar(Some(20))),
            ("ch", Type::Char(3)),
        ];
        TableSchema::new("t", TableId(9), columns.map(|(name, own)| Column::new(name, own, false)).to_vec())
    }

    fn condition(text: &str) -> Expression {
        let tree = parse::expression(text).expect(text);
        let usage = RowExpressionUse::IndexPredicate;
        row_expression(&tree, &table(), &Catalog::default(), usage).expect(text).expression
    }

    /// A scan by a partial index would miss rows that the query asks for.
    #[test]
    fn only_what_follows_is_implied() {
        for (given, wanted) in [
            ("c", "c"),
            ("c and a > 1", "c"),
            ("c is true", "c"),
            ("c", "c = true"),
            ("not c", "c is false"),
            ("c = false", "not c"),
            ("a = 5", "a is not null"),
            ("a + 1 > b", "b is not null"),
            ("name like 'x%'", "name is not null"),
            ("lower(name) = 'x'", "name is not null"),
            ("a in (1, 2)", "a is not null"),
            ("not (a > 1)", "a is not null"),
            ("a = 5 or a = 6", "a > 4"),
            ("a > 5", "a > 4"),
            ("a > 5", "a >= 5"),
            ("5 < a", "a <> 5"),
            ("a >= 5", "a > 4 or c"),
            ("a = 5", "a <= 5"),
            ("a < 3", "a <> 3"),
            ("a in (6, 7)", "a > 5"),
            ("a = 6", "a in (5, 6)"),
            ("a in (5, 6)", "a in (4, 5, 6)"),
            ("a = 1 and b = 2", "a = 1 and b = 2"),
            ("b = 2 and a = 1", "a = 1 and b = 2"),
            ("name = 'x'", "name <> ''"),
            ("a is not null and b = 1", "a is not null"),
            ("a = any (array[b, 2])", "a is not null"),
            ("c", "true"),
        ] {
            assert!(implies(&[condition(given)], &condition(wanted), &table()), "{given} implies {wanted}");
        }
        for (given, wanted) in [
            ("a > 1", "c"),
            ("c is not true", "c"),
            ("c is not false", "c"),
            ("c or a = 1", "c"),
            ("a is null", "a is not null"),
            ("coalesce(a, 1) = 1", "a is not null"),
            ("a is distinct from 1", "a is not null"),
            ("a = 1 or b = 1", "a is not null"),
            ("a > 4", "a > 5"),
            ("a >= 5", "a > 5"),
            ("a <> 5", "a > 5"),
            ("a >= 5", "a <> 5"),
            ("a = 5 or a = 6", "a > 5"),
            ("b = 5", "a = 5"),
            ("a in (4, 5)", "a in (5, 6)"),
            ("ch = 'ab '", "ch <> 'ab'"),
            ("not (c and a = 1)", "a is not null"),
            ("not (c is true)", "not c"),
            ("not (a = any (array[]::integer[]))", "a is not null"),
        ] {
            assert!(!implies(&[condition(given)], &condition(wanted), &table()), "{given} does not imply {wanted}");
        }
    }
}
