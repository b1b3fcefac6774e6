//! Scalar functions that the `values` crate computes, where DataFusion has none or means something else by the name.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;
use values::functions::{Environment, ScalarFunction, lookup};
use values::{Type, Value, Zone};

/// Functions taken from `values`.
const NAMES: [&str; 28] = [
    "abs",
    "array_length",
    "array_lower",
    "array_upper",
    "ascii",
    "cardinality",
    "ceil",
    "chr",
    "date_bin",
    "date_part",
    "date_trunc",
    "extract",
    "factorial",
    "floor",
    "gcd",
    "lcm",
    "lpad",
    "mod",
    "octet_length",
    "power",
    "repeat",
    "replace",
    "round",
    "rpad",
    "sign",
    "split_part",
    "sqrt",
    "trunc",
];

/// Functions that are ours alone.
const OWN: [&str; 1] = ["timezone"];

#[derive(Debug, PartialEq, Eq, Hash)]
struct Scalar {
    name: &'static str,
}

/// The function of that name; `native` is DataFusion's, which is faster where it means the same.
pub fn of_name(name: &str, native: Option<Arc<ScalarUDF>>) -> Option<ScalarUDF> {
    if let Some(name) = NAMES.iter().find(|known| **known == name) {
        return Some(rowwise::function(Scalar { name }));
    }
    if native.is_none()
        && let Some(name) = OWN.iter().find(|known| **known == name)
    {
        return Some(rowwise::function(Own { name }));
    }
    None
}

/// Functions that PostgreSQL computes to all digits of a numeric, and we do not. Those of a double would not be the same.
const OF_NUMERICS: [&str; 1] = ["power"];

/// The overload for these arguments. An untyped NULL counts as text; where there is no overload for numerics, that for
/// doubles is taken.
fn overload(name: &str, arguments: &[Option<Type>]) -> Option<ScalarFunction> {
    let mut types: Vec<Type> = arguments.iter().map(|argument| argument.unwrap_or(Type::Text)).collect();
    // Digits to round to are an integer, whatever integer type they came in.
    if matches!(name, "round" | "trunc") && types.len() == 2 && types[1].is_integer() {
        types[1] = Type::Integer;
        if types[0].is_integer() {
            types[0] = Type::Numeric(None);
        }
    }
    if let ("date_bin", [width, instants @ ..]) = (name, types.as_mut_slice()) {
        // Literals without a type are those of the function.
        let known = instants.iter().find(|data_type| **data_type != Type::Text).copied();
        let untyped = |data_type: &&mut Type| **data_type == Type::Text;
        Some(width).filter(untyped).into_iter().for_each(|width| *width = Type::Interval(None));
        instants.iter_mut().filter(untyped).for_each(|instant| *instant = known.unwrap_or(Type::TimestampTz(None)));
    }
    lookup(name, &types).or_else(|| {
        let doubles: Vec<Type> =
            types.iter().map(|argument| if argument.is_number() { Type::Double } else { *argument }).collect();
        lookup(name, &doubles)
    })
}

impl RowImplementation for Scalar {
    fn name(&self) -> &str {
        self.name
    }

    fn result(&self, arguments: &[Option<Type>]) -> Result<Type, QueryError> {
        let takes_numerics = arguments.iter().flatten().any(|argument| matches!(argument, Type::Numeric(_)));
        let takes_floats = arguments.iter().flatten().any(|argument| matches!(argument, Type::Real | Type::Double));
        if takes_numerics && !takes_floats && OF_NUMERICS.contains(&self.name) {
            let message = format!("{} of numeric is not supported; cast to double precision", self.name);
            return Err(QueryError::unsupported(message));
        }
        overload(self.name, arguments).map(|found| found.result).ok_or_else(|| undefined(self.name, arguments))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        let types: Vec<Option<Type>> = arguments.iter().map(Value::data_type).collect();
        let function = overload(self.name, &types).ok_or_else(|| undefined(self.name, &types))?;
        // None of the functions taken here depends on its environment, but for the time zone, and in others than UTC nothing that does is computed here (`zones`).
        let mut environment = Environment { statement_time: 0, zone: &Zone::UTC, random: &mut || 0 };
        Ok(function.call(arguments, &mut environment)?)
    }
}

fn undefined(name: &str, arguments: &[Option<Type>]) -> QueryError {
    let names: Vec<&str> =
        arguments.iter().map(|argument| argument.map_or("unknown", |known| known.base_name())).collect();
    QueryError::undefined_function(&format!("{name}({})", names.join(", ")))
}

/// A function that `values` does not have.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Own {
    name: &'static str,
}

impl RowImplementation for Own {
    fn name(&self) -> &str {
        self.name
    }

    fn result(&self, arguments: &[Option<Type>]) -> Result<Type, QueryError> {
        match (self.name, arguments) {
            ("timezone", [_, Some(Type::Timestamp(_))]) => Ok(Type::TimestampTz(None)),
            ("timezone", [_, Some(Type::TimestampTz(_))]) => Ok(Type::Timestamp(None)),
            _ => Err(undefined(self.name, arguments)),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        match (self.name, arguments) {
            ("timezone", [Value::Text(zone), instant]) => in_zone(zone, instant),
            _ => Err(undefined(self.name, &[])),
        }
    }
}

/// The zone is always UTC, so only the type changes.
fn in_zone(zone: &str, instant: &Value) -> Result<Value, QueryError> {
    if !["UTC", "GMT", "Z", "Etc/UTC", "+00", "+00:00"].iter().any(|known| known.eq_ignore_ascii_case(zone)) {
        return Err(QueryError::unsupported(format!("time zone \"{zone}\" is not supported: all times are UTC")));
    }
    Ok(match instant {
        Value::Timestamp(micros) => Value::TimestampTz(*micros),
        Value::TimestampTz(micros) => Value::Timestamp(*micros),
        other => other.clone(),
    })
}
