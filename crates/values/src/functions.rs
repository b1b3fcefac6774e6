//! Scalar functions: which exist for which argument types, what they return, and their evaluation.
//!
//! Invariants: a function is a pure function of its arguments and its [`Environment`], so that a replayed statement
//! computes the same; its value has the type that [`ScalarFunction::result`] names, or is NULL.

mod arrays;
mod numbers;
mod searches;
mod strings;
mod times;
pub mod uuids;

use crate::array::held;
use crate::cast;
use crate::compare::compare;
use crate::error::{ValueError, sqlstate};
use crate::operators::{self, BinaryOperator};
use crate::types::Type;
use crate::value::Value;
use crate::zone::Zone;
use std::fmt;

/// What a function may use beside its arguments.
pub struct Environment<'a> {
    /// When the statement's transaction began, in microseconds since 2000-01-01 00:00 UTC: what `now()` returns.
    pub statement_time: i64,
    /// The session's time zone.
    pub zone: &'a Zone,
    /// Where `random()` and `gen_random_uuid()` take their bits from, all 64 of them uniformly distributed.
    pub random: &'a mut dyn FnMut() -> u64,
}

/// When two calls with equal arguments return the same (`pg_proc.provolatile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionVolatility {
    /// Always.
    Immutable,
    /// Within one statement.
    Stable,
    /// Perhaps never.
    Volatile,
}

type FunctionBody = fn(&[Value], &mut Environment<'_>) -> Result<Value, ValueError>;

/// One overload: its name, parameters without modifiers, result and body. NULL arguments never reach the body.
struct FunctionEntry {
    name: &'static str,
    parameters: &'static [Type],
    result: Type,
    volatility: FunctionVolatility,
    body: FunctionBody,
}

/// An immutable function.
const fn entry(name: &'static str, parameters: &'static [Type], result: Type, body: FunctionBody) -> FunctionEntry {
    FunctionEntry { name, parameters, result, volatility: FunctionVolatility::Immutable, body }
}

/// How a function treats its arguments.
#[derive(Clone, Copy)]
enum FunctionForm {
    /// NULL if any argument is; else the body's value of the arguments cast to the parameters' types.
    Strict(&'static [Type], FunctionBody),
    /// Of an array with elements of any type; NULL if any argument is.
    Array(fn(&[Value]) -> Value),
    /// `coalesce`: the first argument that is not NULL.
    Coalesce,
    /// `nullif`: NULL if the two are equal, else the first.
    NullIf,
    /// `greatest`: NULLs are passed over.
    Greatest,
    /// `least`: NULLs are passed over.
    Least,
    /// `concat`: NULLs are passed over.
    Concat,
    /// `concat_ws`: NULLs are passed over, but for the separator.
    ConcatWithSeparator,
}

/// A function chosen for its argument types.
#[derive(Clone, Copy)]
pub struct ScalarFunction {
    /// Its name, in lower case.
    pub name: &'static str,
    /// The type of its value.
    pub result: Type,
    /// Whether it may be computed once for all rows, or while planning.
    pub volatility: FunctionVolatility,
    form: FunctionForm,
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} returning {}", self.name, self.result)
    }
}

/// The function of this name, in any case, for arguments of these types: an exact overload if there is one, else the
/// first whose parameters the arguments cast to implicitly. Literals of unknown type count as `text`.
pub fn lookup(name: &str, arguments: &[Type]) -> Option<ScalarFunction> {
    let name = name.to_ascii_lowercase();
    if let Some(function) = special(&name, arguments) {
        return Some(function);
    }
    // Those of a double would lose digits, and there are no others.
    let has = |wanted: fn(&Type) -> bool| arguments.iter().any(wanted);
    let of_numerics = matches!(name.as_str(), "power" | "pow") && has(|argument| matches!(argument, Type::Numeric(_)));
    if of_numerics && !has(|argument| matches!(argument, Type::Real | Type::Double)) {
        return None;
    }
    let candidates = || {
        [numbers::TABLE, searches::TABLE, strings::TABLE, times::TABLE, uuids::TABLE]
            .into_iter()
            .flatten()
            .filter(|entry| entry.name == name && entry.parameters.len() == arguments.len())
    };
    let accepts = |entry: &FunctionEntry, accept: fn(Type, Type) -> bool| {
        arguments.iter().zip(entry.parameters).all(|(argument, parameter)| accept(*argument, *parameter))
    };
    let exact = |argument: Type, parameter: Type| argument.unmodified() == parameter;
    let implicit =
        |argument: Type, parameter: Type| cast::context(argument, parameter) == Some(cast::Context::Implicit);
    candidates()
        .find(|entry| accepts(entry, exact))
        .or_else(|| candidates().find(|entry| accepts(entry, implicit)))
        .map(|entry| ScalarFunction {
            name: entry.name,
            result: entry.result,
            volatility: entry.volatility,
            form: FunctionForm::Strict(entry.parameters, entry.body),
        })
}

/// The functions whose arguments may be NULL, of any number, or arrays of any type.
fn special(name: &str, arguments: &[Type]) -> Option<ScalarFunction> {
    let function =
        |name, result, form| Some(ScalarFunction { name, result, volatility: FunctionVolatility::Immutable, form });
    match (name, arguments) {
        ("coalesce", [_, ..]) => function("coalesce", common_type(arguments)?, FunctionForm::Coalesce),
        ("greatest", [_, ..]) => function("greatest", common_type(arguments)?, FunctionForm::Greatest),
        ("least", [_, ..]) => function("least", common_type(arguments)?, FunctionForm::Least),
        ("nullif", [first, second]) if operators::comparable(*first, *second) => {
            function("nullif", first.unmodified(), FunctionForm::NullIf)
        }
        ("concat", [_, ..]) => function("concat", Type::Text, FunctionForm::Concat),
        ("concat_ws", [separator, _, ..]) if separator.is_string() => {
            function("concat_ws", Type::Text, FunctionForm::ConcatWithSeparator)
        }
        (_, [Type::Array(_), rest @ ..]) => {
            let (name, body) = arrays::lookup(name, rest)?;
            function(name, Type::Integer, FunctionForm::Array(body))
        }
        _ => None,
    }
}

/// The type to which all of these convert implicitly, for COALESCE, CASE, VALUES and UNION; without modifier unless all
/// agree. `None` if there is none, or no type at all.
pub fn common_type(types: &[Type]) -> Option<Type> {
    let (first, rest) = types.split_first()?;
    rest.iter().try_fold(*first, |common, data_type| {
        if common == *data_type {
            return Some(common);
        }
        let (common, other) = (common.unmodified(), data_type.unmodified());
        let implicit = |from, to| cast::context(from, to) == Some(cast::Context::Implicit);
        if implicit(other, common) {
            Some(common)
        } else if implicit(common, other) {
            Some(other)
        } else {
            None
        }
    })
}

impl ScalarFunction {
    /// Evaluates the function. Errors: 42883 for arguments of other types than it was looked up for; those of the
    /// function.
    pub fn call(&self, arguments: &[Value], environment: &mut Environment<'_>) -> Result<Value, ValueError> {
        match self.form {
            FunctionForm::Strict(parameters, body) => {
                if arguments.len() != parameters.len() {
                    return Err(self.wrong_arguments());
                }
                if arguments.iter().any(Value::is_null) {
                    return Ok(Value::Null);
                }
                let exact =
                    arguments.iter().zip(parameters).all(|(argument, parameter)| is_held_as(argument, *parameter));
                if exact {
                    return body(arguments, environment);
                }
                let converted: Vec<Value> = arguments
                    .iter()
                    .zip(parameters)
                    .map(|(argument, parameter)| cast::explicit_in(argument, *parameter, environment.zone))
                    .collect::<Result<_, _>>()?;
                body(&converted, environment)
            }
            FunctionForm::Array(_) if arguments.iter().any(Value::is_null) => Ok(Value::Null),
            FunctionForm::Array(body) => Ok(body(arguments)),
            FunctionForm::Coalesce => {
                let found = arguments.iter().find(|argument| !argument.is_null());
                found.map_or(Ok(Value::Null), |found| cast::explicit_in(found, self.result, environment.zone))
            }
            FunctionForm::NullIf => {
                let [first, second] = arguments else {
                    return Err(self.wrong_arguments());
                };
                let equal = operators::binary_in(BinaryOperator::Equal, first, second, environment.zone)?;
                Ok(if equal.as_boolean() == Some(true) { Value::Null } else { first.clone() })
            }
            FunctionForm::Greatest | FunctionForm::Least => {
                let present = arguments.iter().filter(|argument| !argument.is_null());
                let present = present.map(|argument| cast::explicit_in(argument, self.result, environment.zone));
                let present: Vec<Value> = present.collect::<Result<_, _>>()?;
                let found = match self.form {
                    FunctionForm::Greatest => present.into_iter().max_by(compare),
                    _ => present.into_iter().min_by(compare),
                };
                Ok(found.unwrap_or(Value::Null))
            }
            FunctionForm::Concat => Ok(Value::text(strings::concatenate("", arguments, environment.zone))),
            FunctionForm::ConcatWithSeparator => match arguments.split_first() {
                Some((Value::Text(separator), rest)) => {
                    Ok(Value::text(strings::concatenate(separator, rest, environment.zone)))
                }
                Some((Value::Null, _)) => Ok(Value::Null),
                _ => Err(self.wrong_arguments()),
            },
        }
    }

    #[cold]
    fn wrong_arguments(&self) -> ValueError {
        ValueError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {} does not take these arguments", self.name))
    }
}

/// True if values of the type are represented as this one.
fn is_held_as(value: &Value, data_type: Type) -> bool {
    value.data_type() == Some(held(data_type))
}

// Arguments that `ScalarFunction::call` has cast to the type of their parameter.

fn text_of(value: &Value) -> &str {
    value.as_text().unwrap_or_else(|| panic!("{value:?} was cast to text"))
}

fn integer_of(value: &Value) -> i64 {
    value.as_integer().unwrap_or_else(|| panic!("{value:?} was cast to an integer"))
}

fn double_of(value: &Value) -> f64 {
    match value {
        Value::Double(number) => *number,
        other => panic!("{other:?} was cast to double precision"),
    }
}

fn numeric_of(value: &Value) -> &bigdecimal::BigDecimal {
    match value {
        Value::Numeric(number) => number,
        other => panic!("{other:?} was cast to numeric"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        /// A client was told the type before the value was computed, and no arguments may stop a site.
        #[test]
        fn results_have_the_announced_type(
            values in prop::collection::vec(generate::data_type().prop_flat_map(generate::value_of), 3),
            field in prop::sample::select(vec!["epoch", "year", "century", "week", "second", "julian", "isoyear", "nothing"]),
        ) {
            for entry in [numbers::TABLE, searches::TABLE, strings::TABLE, times::TABLE, uuids::TABLE].into_iter().flatten() {
                let is_time = ["extract", "date_part", "date_trunc"].contains(&entry.name);
                let arguments: Result<Vec<Value>, _> = entry
                    .parameters
                    .iter()
                    .zip(&values)
                    .enumerate()
                    .map(|(index, (parameter, value))| match (index, parameter) {
                        (0, Type::Text) if is_time => Ok(Value::text(field)),
                        // What fills a gigabyte is no use in a test.
                        (_, Type::Integer) => cast::explicit(value, *parameter).map(|number| {
                            Value::Integer(integer_of(&number).clamp(-100, 100) as i32)
                        }),
                        _ => cast::explicit(value, *parameter),
                    })
                    .collect();
                let Ok(arguments) = arguments else { continue };
                let function = lookup(entry.name, entry.parameters).unwrap();
                prop_assert_eq!(function.result, entry.result);
                let mut environment = Environment { statement_time: 0, zone: &Zone::UTC, random: &mut || 7 };
                if let Ok(value) = function.call(&arguments, &mut environment) {
                    prop_assert_eq!(value.data_type(), Some(entry.result), "{} {:?}", entry.name, arguments);
                }
            }
        }
    }

    fn call(name: &str, arguments: &[Value], random: &mut dyn FnMut() -> u64) -> Value {
        let types: Vec<Type> = arguments.iter().filter_map(Value::data_type).collect();
        let function = lookup(name, &types).unwrap();
        function.call(arguments, &mut Environment { statement_time: 86_400_000_001, zone: &Zone::UTC, random }).unwrap()
    }

    /// A replayed statement must see the same time and the same random numbers.
    #[test]
    fn time_and_chance_come_from_the_environment() {
        assert_eq!(call("NOW", &[], &mut || 0), Value::TimestampTz(86_400_000_001));
        assert_eq!(call("current_date", &[], &mut || 0), Value::Date(1));
        assert_eq!(call("random", &[], &mut || 1 << 63), Value::Double(0.5));
        assert_eq!(call("random", &[], &mut || 0), Value::Double(0.0));
        let Value::Double(largest) = call("random", &[], &mut || u64::MAX) else { panic!("a double") };
        assert!(largest < 1.0);
        let Value::Uuid(bytes) = call("gen_random_uuid", &[], &mut || u64::MAX) else { panic!("a uuid") };
        assert_eq!((bytes[6] >> 4, bytes[8] >> 6), (4, 2), "version 4, variant of RFC 4122");
    }

    /// A planner that folded these would return one value for all rows.
    #[test]
    fn volatility_is_known() {
        assert_eq!(lookup("random", &[]).unwrap().volatility, FunctionVolatility::Volatile);
        assert_eq!(lookup("now", &[]).unwrap().volatility, FunctionVolatility::Stable);
        assert_eq!(lookup("lower", &[Type::Text]).unwrap().volatility, FunctionVolatility::Immutable);
    }

    /// A call that PostgreSQL refuses must not find a function here.
    #[test]
    fn wrong_arguments_find_nothing() {
        assert!(lookup("lower", &[Type::Integer]).is_none());
        assert!(lookup("abs", &[]).is_none());
        assert!(lookup("no_such_function", &[]).is_none());
        assert!(lookup("coalesce", &[Type::Integer, Type::Boolean]).is_none());
    }

    /// Columns of a UNION and branches of a CASE take this type.
    #[test]
    fn common_types_are_postgresqls() {
        assert_eq!(common_type(&[Type::Integer, Type::BigInt, Type::SmallInt]), Some(Type::BigInt));
        assert_eq!(common_type(&[Type::Numeric(Some((5, 2))), Type::Integer]), Some(Type::Numeric(None)));
        assert_eq!(common_type(&[Type::Date, Type::TimestampTz(None)]), Some(Type::TimestampTz(None)));
        assert_eq!(common_type(&[Type::Varchar(Some(3)); 2]), Some(Type::Varchar(Some(3))));
        assert_eq!(common_type(&[Type::Text, Type::Integer]), None);
    }
}
