//! Literals: numbers, texts, intervals.
//!
//! Invariant: a literal is read when the statement is compiled, so that a wrong one fails before anything is done.

use crate::errors::Result;
use crate::sql::types::{Compiled, Typed, beyond};
use sqlparser::ast::{self, Expr};
use values::Type;
use values::Value;

/// The characters of a quoted literal.
pub fn text_of(value: &ast::Value) -> Option<&str> {
    match value {
        ast::Value::SingleQuotedString(text)
        | ast::Value::EscapedStringLiteral(text)
        | ast::Value::UnicodeStringLiteral(text)
        | ast::Value::NationalStringLiteral(text) => Some(text),
        ast::Value::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}

/// Types that only the system catalogs use.
pub(super) fn is_catalog_type(data_type: &ast::DataType) -> bool {
    if let ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) = data_type {
        return is_catalog_type(element);
    }
    let name = data_type.to_string().to_ascii_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    let of_names = name.strip_prefix("reg").is_some_and(|kind| {
        matches!(
            kind,
            "class"
                | "collation"
                | "config"
                | "dictionary"
                | "namespace"
                | "oper"
                | "operator"
                | "proc"
                | "procedure"
                | "role"
                | "type"
        )
    });
    of_names
        || matches!(
            name,
            "oid" | "name" | "\"char\"" | "xid" | "cid" | "tid" | "xid8" | "pg_lsn" | "int2vector" | "oidvector"
        )
}

/// A numeric literal: integer, bigint or numeric, the first that holds it.
pub(super) fn number(digits: &str) -> Result<Typed> {
    if let Ok(number) = digits.parse::<i32>() {
        return Ok(Typed::constant(Value::Integer(number)));
    }
    if let Ok(number) = digits.parse::<i64>() {
        return Ok(Typed::constant(Value::BigInt(number)));
    }
    let value = values::text::parse(digits, Type::Numeric(None))?;
    Ok(Typed::constant(value))
}

/// A bit string: binary digits, or hexadecimal ones behind an x. Errors: 22P02.
pub(super) fn bits(digits: &str) -> Result<Typed> {
    Ok(Typed::constant(Value::Bits(values::bits::parse(digits)?)))
}

/// `INTERVAL '1' DAY` and `INTERVAL '1 day'`.
pub(super) fn interval_literal(interval: &ast::Interval) -> Compiled<Typed> {
    let Expr::Value(value) = interval.value.as_ref() else {
        return Err(beyond("this form of interval"));
    };
    let precision = interval.leading_precision.or(interval.fractional_seconds_precision);
    let (Some(text), None, None) = (text_of(&value.value), &interval.last_field, precision) else {
        return Err(beyond("this form of interval"));
    };
    let text = match &interval.leading_field {
        None => text.to_string(),
        Some(unit) if text.trim().parse::<f64>().is_ok() => format!("{text} {unit}"),
        Some(_) => return Err(beyond("this form of interval")),
    };
    Ok(Typed::constant(values::text::parse(&text, Type::Interval(None))?))
}
