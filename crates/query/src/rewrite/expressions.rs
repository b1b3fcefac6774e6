//! Expressions: literals get PostgreSQL's types, casts PostgreSQL's meaning, and syntax that DataFusion lacks becomes
//! syntax that it has.

use super::build::{binary, call, native_cast, nested, text};
use super::{Rewriter, functions, integer_type, types};
use crate::error::QueryError;
use crate::functions::any::{self, Quantifier};
use crate::functions::operator;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, CeilFloorKind, DataType, Expr, Interval, Subscript, TrimWhereField,
    TypedString, UnaryOperator, Value, ValueWithSpan,
};
use values::Type;

impl Rewriter<'_> {
    /// Rewrites one expression whose parts are rewritten already.
    pub(super) fn rewrite_expression(&mut self, expression: &mut Expr) -> Result<(), QueryError> {
        let taken = std::mem::replace(expression, Expr::Value(Value::Null.into()));
        *expression = self.rewritten(taken)?;
        Ok(())
    }

    fn rewritten(&mut self, expression: Expr) -> Result<Expr, QueryError> {
        Ok(match expression {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, long), span }) => match integer_type(&digits) {
                Some(data_type) => native_cast(super::build::number(digits), data_type),
                // An integer beyond bigint.
                None if digits.bytes().all(|digit| digit.is_ascii_digit()) && digits.parse::<i64>().is_err() => {
                    types::cast_value(text(digits), Type::Numeric(None))
                }
                // The planner reads few exponents, and loses digits of them.
                None if digits.contains(['e', 'E']) => types::cast_value(text(digits), Type::Numeric(None)),
                None => Expr::Value(ValueWithSpan { value: Value::Number(digits, long), span }),
            },
            Expr::Cast { expr, data_type, .. } => types::cast(*expr, &data_type, self.catalog)?,
            Expr::TypedString(TypedString { data_type, value, .. }) => {
                types::cast(Expr::Value(value), &data_type, self.catalog)?
            }
            Expr::Interval(interval) => interval_literal(interval)?,
            Expr::Collate { expr, collation } => collated(*expr, &super::build::last_part(&collation))?,
            Expr::BinaryOp { left, op, right } => self.binary(*left, op, *right)?,
            Expr::UnaryOp { op, expr } => unary(op, *expr)?,
            Expr::Between { expr, negated, low, high } => {
                self.copy(&expr, 2)?;
                between(*expr, negated, *low, *high)
            }
            Expr::InList { expr, list, negated } => {
                if let Expr::Tuple(_) = &*expr {
                    self.copy(&expr, list.len())?;
                }
                in_list(*expr, list, negated)?
            }
            Expr::AnyOp { left, compare_op, right, .. } => {
                self.copy(&left, list_length(&right))?;
                quantified(*left, compare_op, *right, Quantifier::Any)?
            }
            Expr::AllOp { left, compare_op, right } => {
                self.copy(&left, list_length(&right))?;
                quantified(*left, compare_op, *right, Quantifier::All)?
            }
            Expr::Case { case_token, end_token, operand: Some(operand), conditions, else_result } => {
                self.copy(&operand, conditions.len())?;
                Expr::Case {
                    case_token,
                    end_token,
                    operand: None,
                    conditions: searched(&operand, conditions),
                    else_result,
                }
            }
            // A word that PostgreSQL reserves, and the parser does not know.
            Expr::Identifier(word)
                if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("current_schema") =>
            {
                self.current_schema()
            }
            Expr::Function(function) => self.function(function)?,
            Expr::CompoundFieldAccess { root, access_chain } => subscripted(*root, access_chain),
            other => special_syntax(other)?,
        })
    }

    fn binary(&mut self, left: Expr, op: BinaryOperator, right: Expr) -> Result<Expr, QueryError> {
        let op = match op {
            BinaryOperator::PGCustomBinaryOperator(parts) => named_operator(parts.last().map_or("", String::as_str))?,
            other => other,
        };
        if let (Expr::Tuple(left), Expr::Tuple(right)) = (&left, &right) {
            left.iter().chain(right).try_for_each(|column| self.copy(column, 2))?;
            return compare_rows(left, &op, right);
        }
        Ok(match op {
            BinaryOperator::PGExp => call("power", vec![left, right]),
            other => binary(left, other, right),
        })
    }
}

/// A number as written, or with the type that it was given.
fn is_number(expression: &Expr) -> bool {
    match expression {
        Expr::Value(ValueWithSpan { value: Value::Number(..), .. }) => true,
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_number(expr),
        _ => false,
    }
}

/// Takes the type off a number that stands for a position or a count.
pub(super) fn untype_number(expression: &mut Expr) {
    if let Expr::Cast { expr, data_type: DataType::Int4(None), .. } = expression
        && matches!(expr.as_ref(), Expr::Value(ValueWithSpan { value: Value::Number(..), .. }))
    {
        *expression = std::mem::replace(expr.as_mut(), Expr::Value(Value::Null.into()));
    }
}

/// `INTERVAL '1' DAY` and `INTERVAL '1 day'`: both are read by PostgreSQL's rules for interval texts.
fn interval_literal(interval: Interval) -> Result<Expr, QueryError> {
    if interval.last_field.is_some()
        || interval.leading_precision.is_some()
        || interval.fractional_seconds_precision.is_some()
    {
        return Err(QueryError::unsupported("an interval with a precision or a range of fields is not supported"));
    }
    let Some(literal) = types::string_literal(&interval.value) else {
        return Err(QueryError::new("42601", "an interval must be given as a quoted text"));
    };
    let whole = match interval.leading_field {
        Some(unit) => format!("{literal} {unit}"),
        None => literal.to_owned(),
    };
    Ok(types::cast_value(text(whole), Type::Interval(None)))
}

fn collated(inner: Expr, collation: &str) -> Result<Expr, QueryError> {
    match collation {
        "default" | "C" => Ok(inner),
        other => {
            Err(QueryError::unsupported(format!("collation \"{other}\" is not supported: texts compare bytewise")))
        }
    }
}

/// `OPERATOR(pg_catalog.~)`.
fn named_operator(symbol: &str) -> Result<BinaryOperator, QueryError> {
    Ok(match symbol {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "||" => BinaryOperator::StringConcat,
        other => return Err(QueryError::new("42883", format!("operator does not exist: {other}"))),
    })
}

fn unary(op: UnaryOperator, inner: Expr) -> Result<Expr, QueryError> {
    Ok(match op {
        UnaryOperator::PGAbs => call("abs", vec![inner]),
        UnaryOperator::PGSquareRoot => call("sqrt", vec![inner]),
        UnaryOperator::PGCubeRoot => call("cbrt", vec![inner]),
        UnaryOperator::Minus if !is_number(&inner) => call(operator::NEGATIVE, vec![inner]),
        UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Not => Expr::UnaryOp { op, expr: Box::new(inner) },
        other => return Err(QueryError::unsupported(format!("operator {other} is not supported"))),
    })
}

/// As two comparisons, whose operands then get their types as any comparison's do.
fn between(value: Expr, negated: bool, low: Expr, high: Expr) -> Expr {
    let (value, low, high) = (nested(value), nested(low), nested(high));
    nested(if negated {
        let below = binary(value.clone(), BinaryOperator::Lt, low);
        binary(below, BinaryOperator::Or, binary(value, BinaryOperator::Gt, high))
    } else {
        let above = binary(value.clone(), BinaryOperator::GtEq, low);
        binary(above, BinaryOperator::And, binary(value, BinaryOperator::LtEq, high))
    })
}

/// `(a, b) IN ((1, 2), (3, 4))` as comparisons of columns; other lists stay.
fn in_list(value: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr, QueryError> {
    let Expr::Tuple(columns) = &value else {
        return Ok(Expr::InList { expr: Box::new(value), list, negated });
    };
    let mut either: Option<Expr> = None;
    for row in &list {
        let Expr::Tuple(row) = row else {
            return Err(QueryError::new("42601", "a row is compared with something that is not a row"));
        };
        let equal = compare_rows(columns, &BinaryOperator::Eq, row)?;
        either = Some(match either {
            None => equal,
            Some(before) => binary(before, BinaryOperator::Or, equal),
        });
    }
    let either = nested(either.unwrap_or(Expr::Value(Value::Boolean(false).into())));
    Ok(if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(either) } } else { either })
}

/// Rows compare column by column, the first that differs decides.
fn compare_rows(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Expr, QueryError> {
    if left.len() != right.len() || left.is_empty() {
        return Err(QueryError::new("42601", "unequal number of entries in row expressions"));
    }
    let (last, op_before) = match op {
        BinaryOperator::Eq | BinaryOperator::NotEq => (op.clone(), None),
        BinaryOperator::Lt | BinaryOperator::LtEq => (op.clone(), Some(BinaryOperator::Lt)),
        BinaryOperator::Gt | BinaryOperator::GtEq => (op.clone(), Some(BinaryOperator::Gt)),
        other => return Err(QueryError::unsupported(format!("operator {other} between rows is not supported"))),
    };
    let pair = |place: usize, op: &BinaryOperator| {
        binary(nested(left[place].clone()), op.clone(), nested(right[place].clone()))
    };
    let mut result = pair(left.len() - 1, &last);
    for place in (0..left.len() - 1).rev() {
        result = match &op_before {
            None => {
                let joint = if last == BinaryOperator::Eq { BinaryOperator::And } else { BinaryOperator::Or };
                binary(pair(place, &last), joint, result)
            }
            Some(before) => {
                let tie = binary(pair(place, &BinaryOperator::Eq), BinaryOperator::And, nested(result));
                binary(pair(place, before), BinaryOperator::Or, nested(tie))
            }
        };
    }
    Ok(nested(result))
}

/// `x op ANY (array)`, `x op ALL (array)`. What is written out is a list or a chain of comparisons, whose members get their types one by one.
fn quantified(left: Expr, op: BinaryOperator, right: Expr, quantifier: Quantifier) -> Result<Expr, QueryError> {
    if is_subquery(&right) {
        let message = format!("{op} {quantifier} over a subquery is not supported");
        return Err(QueryError::unsupported(message));
    }
    let (in_list, joint) = match quantifier {
        Quantifier::Any => (BinaryOperator::Eq, BinaryOperator::Or),
        Quantifier::All => (BinaryOperator::NotEq, BinaryOperator::And),
    };
    let negated = quantifier == Quantifier::All;
    Ok(match list_elements(&right) {
        Some(list) if op == in_list => Expr::InList { expr: Box::new(left), list, negated },
        Some(list) => each(&left, &op, list, joint, negated),
        None => binary(left, any::symbol(&op, quantifier)?, right),
    })
}

fn each(left: &Expr, op: &BinaryOperator, list: Vec<Expr>, joint: BinaryOperator, of_none: bool) -> Expr {
    let joined = list
        .into_iter()
        .map(|item| binary(nested(left.clone()), op.clone(), item))
        .reduce(|before, comparison| binary(before, joint.clone(), comparison));
    nested(joined.unwrap_or(Expr::Value(Value::Boolean(of_none).into())))
}

/// How many elements `ARRAY[...]` has; 1 of anything else.
fn list_length(list: &Expr) -> usize {
    match list {
        Expr::Array(Array { elem, .. }) => elem.len(),
        Expr::Nested(inner) => list_length(inner),
        _ => 1,
    }
}

/// The elements of `ARRAY[...]`.
fn list_elements(list: &Expr) -> Option<Vec<Expr>> {
    match list {
        Expr::Array(Array { elem, .. }) => Some(elem.clone()),
        Expr::Nested(inner) => list_elements(inner),
        _ => None,
    }
}

fn is_subquery(expression: &Expr) -> bool {
    match expression {
        Expr::Nested(inner) => is_subquery(inner),
        other => matches!(other, Expr::Subquery(_)),
    }
}

/// `CASE x WHEN 1` as `CASE WHEN x = 1`.
fn searched(operand: &Expr, conditions: Vec<CaseWhen>) -> Vec<CaseWhen> {
    conditions
        .into_iter()
        .map(|when| CaseWhen {
            condition: binary(nested(operand.clone()), BinaryOperator::Eq, nested(when.condition)),
            result: when.result,
        })
        .collect()
}

/// Positions in arrays are bigints to DataFusion.
fn subscripted(root: Expr, mut access_chain: Vec<AccessExpr>) -> Expr {
    if let [AccessExpr::Dot(Expr::Identifier(part))] = access_chain.as_slice()
        && let Some(part) = functions::part_of_expanded(&root, &super::build::folded(part))
    {
        return part;
    }
    for access in &mut access_chain {
        if let AccessExpr::Subscript(Subscript::Index { index }) = access {
            untype_number(index);
        }
    }
    Expr::CompoundFieldAccess { root: Box::new(root), access_chain }
}

/// Functions that have a syntax of their own.
fn special_syntax(expression: Expr) -> Result<Expr, QueryError> {
    Ok(match expression {
        Expr::Extract { field, expr, .. } => call("extract", vec![text(field.to_string().to_lowercase()), *expr]),
        Expr::Position { expr, r#in } => call("strpos", vec![*r#in, *expr]),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let from =
                substring_from.map_or_else(|| native_cast(super::build::number(1), DataType::Int4(None)), |from| *from);
            let arguments = [*expr, from].into_iter().chain(substring_for.map(|length| *length)).collect();
            call("substr", arguments)
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
            let name = match trim_where {
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
                Some(TrimWhereField::Both) | None => "btrim",
            };
            let characters = trim_what.map(|what| *what).into_iter().chain(trim_characters.into_iter().flatten());
            call(name, std::iter::once(*expr).chain(characters).collect())
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let mut arguments = vec![*expr, *overlay_what, *overlay_from];
            arguments.extend(overlay_for.map(|length| *length));
            call("overlay", arguments)
        }
        Expr::Like { negated, any: false, expr, pattern, escape_char: Some(escape) } => {
            let pattern = Box::new(text(with_backslashes(&pattern, &escape)?));
            Expr::Like { negated, any: false, expr, pattern, escape_char: None }
        }
        Expr::ILike { negated, any: false, expr, pattern, escape_char: Some(escape) } => {
            let pattern = Box::new(text(with_backslashes(&pattern, &escape)?));
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None }
        }
        Expr::Like { negated, any: true, expr, pattern, escape_char: None } => {
            let op = if negated { BinaryOperator::PGNotLikeMatch } else { BinaryOperator::PGLikeMatch };
            quantified(*expr, op, *pattern, Quantifier::Any)?
        }
        Expr::ILike { negated, any: true, expr, pattern, escape_char: None } => {
            let op = if negated { BinaryOperator::PGNotILikeMatch } else { BinaryOperator::PGILikeMatch };
            quantified(*expr, op, *pattern, Quantifier::Any)?
        }
        Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(_) } => call("ceil", vec![*expr]),
        Expr::Floor { expr, field: CeilFloorKind::DateTimeField(_) } => call("floor", vec![*expr]),
        Expr::AtTimeZone { timestamp, time_zone } => call("timezone", vec![*time_zone, *timestamp]),
        Expr::SimilarTo { .. } => return Err(QueryError::unsupported("SIMILAR TO is not supported; use ~")),
        Expr::IsNormalized { .. } => return Err(QueryError::unsupported("IS NORMALIZED is not supported")),
        Expr::GroupingSets(sets) => Expr::GroupingSets(untyped(sets)),
        Expr::Cube(sets) => Expr::Cube(untyped(sets)),
        Expr::Rollup(sets) => Expr::Rollup(untyped(sets)),
        other => other,
    })
}

/// A pattern of another escape character with backslashes in its place. Errors: 22025, 22019, 0A000 for a pattern that is no literal.
fn with_backslashes(pattern: &Expr, escape: &ValueWithSpan) -> Result<String, QueryError> {
    let escape = types::string_literal(&Expr::Value(escape.clone())).map(str::to_owned);
    let (Some(pattern), Some(escape)) = (types::string_literal(pattern), escape) else {
        return Err(QueryError::unsupported("LIKE ... ESCAPE is supported for literal patterns only"));
    };
    let mut found = escape.chars();
    let (escape, more) = (found.next(), found.next());
    if more.is_some() {
        return Err(QueryError::new("22025", "invalid escape string"));
    }
    let mut changed = String::with_capacity(pattern.len() + 8);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            let Some(escaped) = characters.next() else {
                return Err(QueryError::new("22025", "LIKE pattern must not end with escape character"));
            };
            changed.extend(['\\', escaped]);
        } else if character == '\\' {
            changed.push_str("\\\\");
        } else {
            changed.push(character);
        }
    }
    Ok(changed)
}

fn untyped(mut sets: Vec<Vec<Expr>>) -> Vec<Vec<Expr>> {
    sets.iter_mut().flatten().for_each(untype_number);
    sets
}

impl Rewriter<'_> {
    fn function(&mut self, mut function: datafusion::sql::sqlparser::ast::Function) -> Result<Expr, QueryError> {
        functions::untype_positions(&mut function);
        if let Some(query) = functions::take_array_query(&mut function) {
            return Ok(call(any::ARRAY_OF_ROWS, vec![Expr::Subquery(query)]));
        }
        self.rewrite_function(function)
    }
}
