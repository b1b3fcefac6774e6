//! Expressions that the catalog keeps to be computed of rows at any time: keys and predicates of indexes, and generated columns.
//!
//! Invariant: what is kept is immutable, as PostgreSQL calls it: it depends on the row alone, not on a setting, the time or other rows. What
//! PostgreSQL calls stable is refused also where it is the same for all sessions here.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::operator_classes::no_default_class;
use crate::sql::search_calls;
use crate::sql::settings::{Facts, Settings};
use crate::sql::types::{Stop, Typed};
use crate::sql::visits::visit_expressions;
use messages::namespace;
use messages::program::{BinaryOperator, Expression};
use messages::schema::{Catalog, IndexMethod, RowExpression, TableSchema};
use sqlparser::ast::{self, Expr};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::{Type, Value, functions};

/// What an expression over rows is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowExpressionUse {
    /// A key of an index by this method.
    IndexExpression(IndexMethod),
    /// Which rows are in an index.
    IndexPredicate,
    /// To find indexes with the same key: it is never computed.
    Inference,
    /// To find indexes with these rows, likewise.
    InferencePredicate,
    /// What a generated column is computed by.
    Generation,
    /// What a column of another type is computed by, once: it may be volatile.
    Transform,
}

impl RowExpressionUse {
    /// One, as errors name it.
    fn one(self) -> &'static str {
        match self {
            RowExpressionUse::IndexPredicate | RowExpressionUse::InferencePredicate => "index predicate",
            RowExpressionUse::IndexExpression(_) | RowExpressionUse::Inference => "index expression",
            RowExpressionUse::Generation => "column generation expression",
            RowExpressionUse::Transform => "transform expression",
        }
    }
}

impl RowExpressionUse {
    fn article(self) -> &'static str {
        match self {
            RowExpressionUse::Generation | RowExpressionUse::Transform => "a",
            _ => "an",
        }
    }
}

/// Compiles an expression over a table's columns. Errors: 42P17 for one that is not immutable, 42804 for a predicate that is not boolean, 0A000 for what
/// a program does not have, and those of expressions.
pub(super) fn row_expression(
    expression: &Expr,
    table: &TableSchema,
    catalog: &Catalog,
    usage: RowExpressionUse,
) -> Result<RowExpression> {
    check_form(expression, usage)?;
    let settings = Settings::default();
    let facts = Facts::nobody(&settings);
    let text = expression.to_string();
    let mut compiler = Compiler::new(catalog, &facts, &text, Vec::new());
    let scope = Scope::table(namespace::bare(&table.name), &Arc::new(table.clone()));
    let compiled = match usage {
        RowExpressionUse::IndexPredicate | RowExpressionUse::InferencePredicate => {
            compiler.condition(expression, "WHERE", &scope).map(Typed::boolean)
        }
        _ => compiler.expression(expression, &scope),
    };
    let is_kept = !matches!(
        usage,
        RowExpressionUse::Inference | RowExpressionUse::InferencePredicate | RowExpressionUse::Transform
    );
    let typed = compiled.map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Beyond(_) if is_kept && search_calls::use_setting(expression) => not_immutable(usage),
        Stop::Beyond(error)
            if matches!(&*error.sqlstate, sqlstate::UNDEFINED_FUNCTION | sqlstate::UNDEFINED_OBJECT) =>
        {
            error
        }
        Stop::Beyond(_) => SqlError::unsupported(format!("{text} in {} {}", usage.article(), usage.one())),
    })?;
    if !compiler.parameters.known().is_empty() {
        return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    let result = match (typed.data_type, usage) {
        (Some(result), _) => result,
        (None, RowExpressionUse::IndexExpression(method)) => return Err(no_default_class("unknown", method)),
        (None, _) => Type::Text,
    };
    let mut names_domain = false;
    typed.expression.visit(&mut |part| names_domain |= matches!(part, Expression::Domain(..)));
    if names_domain && usage != RowExpressionUse::Transform {
        return Err(SqlError::unsupported(format!("a cast to a domain in {} {}", usage.article(), usage.one())));
    }
    let is_immutable = !compiler.used_facts && is_immutable(&typed.expression, table);
    if is_kept && !is_immutable {
        return Err(not_immutable(usage));
    }
    Ok(RowExpression::new(typed.expression, result))
}

/// 42P17.
fn not_immutable(usage: RowExpressionUse) -> Box<SqlError> {
    let message = match usage {
        RowExpressionUse::Generation => "generation expression is not immutable".to_owned(),
        _ => format!("functions in {} must be marked IMMUTABLE", usage.one()),
    };
    SqlError::new(sqlstate::INVALID_OBJECT_DEFINITION, message)
}

/// Errors: 0A000, 42803, 42P20 for what PostgreSQL takes in no such place.
pub(super) fn check_form(expression: &Expr, usage: RowExpressionUse) -> Result<()> {
    let one = usage.one();
    let wrong = |part: &Expr| {
        let (code, what) = match part {
            Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => {
                let message = format!("cannot use subquery in {one}");
                return Some(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            Expr::Function(function) if function.over.is_some() => (sqlstate::WINDOWING_ERROR, "window functions"),
            Expr::Function(function) => match names::function(&function.name).unwrap_or_default().as_str() {
                "count" | "sum" | "avg" | "min" | "max" | "every" | "bool_and" | "bool_or" | "string_agg"
                | "array_agg" => (sqlstate::GROUPING_ERROR, "aggregate functions"),
                "generate_series" | "unnest" => (sqlstate::FEATURE_NOT_SUPPORTED, "set-returning functions"),
                _ => return None,
            },
            _ => return None,
        };
        Some(SqlError::new(code, format!("{what} are not allowed in {one}s")))
    };
    let found = visit_expressions(expression, |part| match wrong(part) {
        Some(error) => ControlFlow::Break(error),
        None => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Whether it can stand in an index without parentheses (`func_expr_windowless` of PostgreSQL's grammar).
pub(super) fn is_call(expression: &Expr) -> bool {
    match expression {
        Expr::Function(_)
        | Expr::Extract { .. }
        | Expr::Ceil { .. }
        | Expr::Floor { .. }
        | Expr::Position { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Overlay { .. } => true,
        Expr::Cast { kind, .. } => *kind == ast::CastKind::Cast,
        _ => false,
    }
}

/// Whether the expression has the same value over the same row at any time and in any session (`pg_proc.provolatile`).
fn is_immutable(expression: &Expression, table: &TableSchema) -> bool {
    let type_of =
        |part: &Expression| part.type_over(&|position| table.columns.get(position).map(|column| column.column_type));
    let mut immutable = true;
    expression.visit(&mut |part| {
        immutable &= match part {
            Expression::TransactionTime
            | Expression::NextValue(_)
            | Expression::CurrentValue(..)
            | Expression::LastValue
            | Expression::Gathered(..) => false,
            Expression::Cast(operand, target, _) => {
                matches!(**operand, Expression::Constant(Value::Null))
                    || type_of(operand).is_none_or(|from| is_immutable_cast(from, *target))
            }
            Expression::Binary(operator, left, right) => {
                is_immutable_operator(*operator, type_of(left), type_of(right))
            }
            Expression::In(operand, list, _) => {
                list.iter().all(|one| is_immutable_operator(BinaryOperator::Equal, type_of(operand), type_of(one)))
            }
            Expression::Any(operator, operand, array) => {
                let element = type_of(array).and_then(|array| array.element());
                is_immutable_operator(*operator, type_of(operand), element)
            }
            Expression::IsDistinct(left, right, _) => {
                is_immutable_operator(BinaryOperator::Equal, type_of(left), type_of(right))
            }
            Expression::Call(name, arguments) => {
                let types: Vec<Type> =
                    arguments.iter().map(|argument| type_of(argument).unwrap_or(Type::Text)).collect();
                is_immutable_function(name, &types)
            }
            _ => true,
        };
    });
    immutable
}

/// Whether the text of a value does not depend on a setting, neither written nor read.
fn has_fixed_text(own: Type, is_read: bool) -> bool {
    let own = own.element().unwrap_or(own);
    match own {
        Type::Date | Type::Timestamp(_) | Type::TimestampTz(_) | Type::Interval(_) => false,
        Type::Range(_) | Type::Multirange(_) => false,
        Type::Time(_) | Type::TimeTz(_) => !is_read,
        Type::Money => false,
        _ => true,
    }
}

fn is_immutable_cast(from: Type, to: Type) -> bool {
    let is_instant = |own: Type| {
        matches!(own, Type::Date | Type::Time(_) | Type::TimeTz(_) | Type::Timestamp(_) | Type::TimestampTz(_))
    };
    match (from, to) {
        (from, to) if from.unmodified() == to.unmodified() => true,
        (from, to) if from.is_string() && to.is_string() => true,
        (from, to) if to.is_string() => has_fixed_text(from, false),
        (from, to) if from.is_string() => has_fixed_text(to, true),
        (Type::TimestampTz(_), to) if is_instant(to) => false,
        (from, Type::TimestampTz(_)) if is_instant(from) => false,
        (Type::Time(_), Type::TimeTz(_)) | (Type::Money, _) | (_, Type::Money) => false,
        _ => true,
    }
}

fn is_immutable_operator(operator: BinaryOperator, left: Option<Type>, right: Option<Type>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return true };
    if operator == BinaryOperator::Concat {
        let fixed = |own: Type| own.is_string() || has_fixed_text(own, false);
        return left.element().is_some() || right.element().is_some() || (fixed(left) && fixed(right));
    }
    let zoned = [left, right].iter().filter(|own| matches!(own, Type::TimestampTz(_))).count();
    match zoned {
        0 => true,
        1 => false,
        // The difference of two instants is not shown by a calendar.
        _ => true,
    }
}

fn is_immutable_function(name: &str, arguments: &[Type]) -> bool {
    if matches!(name, "concat" | "concat_ws") {
        return false;
    }
    let is_zoned = |argument: &Type| matches!(argument, Type::TimestampTz(_));
    if matches!(name, "extract" | "date_part" | "date_trunc") && arguments.iter().any(is_zoned) {
        return false;
    }
    functions::lookup(name, arguments)
        .is_none_or(|function| function.volatility == functions::FunctionVolatility::Immutable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;
    use messages::TableId;
    use messages::expression_sql::SqlStyle;
    use messages::schema::Column;

    fn table() -> TableSchema {
        let columns = [
            ("a", Type::Integer),
            ("b", Type::Integer),
            ("c", Type::Boolean),
            ("name", Type::Varchar(Some(20))),
            ("txt", Type::Text),
            ("ch", Type::Char(3)),
            ("n", Type::Numeric(None)),
            ("d", Type::Date),
            ("ts", Type::Timestamp(None)),
            ("tz", Type::TimestampTz(None)),
            ("f", Type::Double),
            ("bi", Type::BigInt),
            ("Q x", Type::Integer),
        ];
        TableSchema::new("u", TableId(9), columns.map(|(name, own)| Column::new(name, own, false)).to_vec())
    }

    fn read(text: &str) -> Result<RowExpression> {
        let usage = RowExpressionUse::IndexExpression(IndexMethod::Btree);
        row_expression(&parse::expression(text)?, &table(), &Catalog::default(), usage)
    }

    /// What pg_dump and psql show would not be PostgreSQL's; an index would be another one after a column has changed its type.
    #[test]
    fn texts_are_those_of_postgresql_and_are_read_again() {
        for (given, complete, pretty) in [
            ("substring(txt from 1 for 2)", "SUBSTRING(txt FROM 1 FOR 2)", "SUBSTRING(txt FROM 1 FOR 2)"),
            ("btrim(txt)", "btrim(txt)", "btrim(txt)"),
            ("ltrim(txt, 'x')", "ltrim(txt, 'x'::text)", "ltrim(txt, 'x'::text)"),
            ("extract(year from d)", "EXTRACT(year FROM d)", "EXTRACT(year FROM d)"),
            ("-a", "(- a)", "- a"),
            ("not c", "(NOT c)", "NOT c"),
            ("a in (1,2)", "(a = ANY (ARRAY[1, 2]))", "a = ANY (ARRAY[1, 2])"),
            ("a not in (1,2)", "(a <> ALL (ARRAY[1, 2]))", "a <> ALL (ARRAY[1, 2])"),
            ("a between 1 and 3", "((a >= 1) AND (a <= 3))", "a >= 1 AND a <= 3"),
            ("txt like 'x%'", "(txt ~~ 'x%'::text)", "txt ~~ 'x%'::text"),
            ("txt not ilike 'x%'", "(txt !~~* 'x%'::text)", "txt !~~* 'x%'::text"),
            ("a is distinct from b", "(a IS DISTINCT FROM b)", "a IS DISTINCT FROM b"),
            ("a is not distinct from b", "(NOT (a IS DISTINCT FROM b))", "NOT a IS DISTINCT FROM b"),
            ("c is not false", "(c IS NOT FALSE)", "c IS NOT FALSE"),
            ("a::bigint", "(a)::bigint", "a::bigint"),
            ("a::numeric(10,2)", "(a)::numeric(10,2)", "a::numeric(10,2)"),
            ("txt::varchar(5)", "(txt)::character varying(5)", "txt::character varying(5)"),
            ("name::text", "(name)::text", "name::text"),
            ("nullif(a,b)", "NULLIF(a, b)", "NULLIF(a, b)"),
            ("greatest(a,b)", "GREATEST(a, b)", "GREATEST(a, b)"),
            ("length(name)", "length((name)::text)", "length(name::text)"),
            ("a + bi", "(a + bi)", "a + bi"),
            ("f > 1", "(f > (1)::double precision)", "f > 1::double precision"),
            ("n > 1", "(n > (1)::numeric)", "n > 1::numeric"),
            ("ch = 'x'", "(ch = 'x'::bpchar)", "ch = 'x'::bpchar"),
            ("name = 'x'", "((name)::text = 'x'::text)", "name::text = 'x'::text"),
            ("name = txt", "((name)::text = txt)", "name::text = txt"),
            ("ch = txt", "((ch)::text = txt)", "ch::text = txt"),
            ("d > '2020-01-01'", "(d > '2020-01-01'::date)", "d > '2020-01-01'::date"),
            ("a > 1 and (b > 2 or c)", "((a > 1) AND ((b > 2) OR c))", "a > 1 AND (b > 2 OR c)"),
            ("not (a > 1)", "(NOT (a > 1))", "NOT a > 1"),
            ("lower(name || txt)", "lower(((name)::text || txt))", "lower(name::text || txt)"),
            ("left(txt, 2)", "\"left\"(txt, 2)", "\"left\"(txt, 2)"),
            ("(a+b)*2", "((a + b) * 2)", "(a + b) * 2"),
            ("\"Q x\" + 1", "(\"Q x\" + 1)", "\"Q x\" + 1"),
            ("coalesce(a, 0) > 0", "(COALESCE(a, 0) > 0)", "COALESCE(a, 0) > 0"),
            ("(a > 1) is true", "((a > 1) IS TRUE)", "(a > 1) IS TRUE"),
            (
                "setweight(to_tsvector('English', coalesce(txt, '')), 'A') || to_tsvector('simple'::regconfig, txt)",
                "(setweight(to_tsvector('english'::regconfig, COALESCE(txt, ''::text)), 'A'::\"char\") || to_tsvector('simple'::regconfig, txt))",
                "setweight(to_tsvector('english'::regconfig, COALESCE(txt, ''::text)), 'A'::\"char\") || to_tsvector('simple'::regconfig, txt)",
            ),
            (
                "case when a > 1 then b end",
                "\nCASE\n    WHEN (a > 1) THEN b\n    ELSE NULL::integer\nEND",
                "\nCASE\n    WHEN a > 1 THEN b\n    ELSE NULL::integer\nEND",
            ),
        ] {
            let compiled = read(given).expect(given);
            assert_eq!(compiled.sql(&table(), SqlStyle::Complete), complete, "{given}");
            assert_eq!(compiled.sql(&table(), SqlStyle::Pretty), pretty, "{given}");
            let source = compiled.sql(&table(), SqlStyle::Source);
            let again = read(&source).expect(&source);
            assert!(again.expression.is_same_as(&compiled.expression), "{given} is {source}");
        }
    }

    /// Entries would not be found again in another session, or later.
    #[test]
    fn what_is_not_immutable_is_refused() {
        for text in [
            "to_tsvector(txt)",
            "tz::date",
            "tz::text",
            "ts::text",
            "d::varchar",
            "txt::timestamp",
            "ts::timestamptz",
            "tz > d",
            "tz > '2020-01-01'::date",
            "extract(hour from tz)",
            "date_trunc('day', tz)",
            "now() > tz",
            "random() > 0.5",
            "concat(name, txt)",
            "current_user || name",
            "txt || d",
        ] {
            let code = read(text).map_err(|error| error.sqlstate.into_owned()).map(|_| ());
            assert_eq!(code, Err("42P17".to_owned()), "{text}");
        }
        for text in
            ["tz > '2020-01-01 00:00+00'", "extract(hour from ts)", "d::timestamp", "txt || a", "d > ts", "a::text"]
        {
            assert!(read(text).is_ok(), "{text}");
        }
    }
}
