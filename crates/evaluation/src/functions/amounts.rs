//! `money`: amounts of hundredths.

use crate::call::{CallArguments, FunctionResult, Implementation};
use values::operators::{BinaryOperator, binary};
use values::{Type, Value, ValueError, cast, money};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("cash_pl", |call| Ok(Value::Money(money::sum(call.amount(0), call.amount(1))?))),
    ("cash_mi", |call| Ok(Value::Money(money::difference(call.amount(0), call.amount(1))?))),
    ("cash_mul_int2", |call| product(call, 0, 1)),
    ("cash_mul_int4", |call| product(call, 0, 1)),
    ("cash_mul_int8", |call| product(call, 0, 1)),
    ("int2_mul_cash", |call| product(call, 1, 0)),
    ("int4_mul_cash", |call| product(call, 1, 0)),
    ("int8_mul_cash", |call| product(call, 1, 0)),
    ("cash_mul_flt4", |call| of_doubles(BinaryOperator::Multiply, call.amount(0), call.double(1))),
    ("cash_mul_flt8", |call| of_doubles(BinaryOperator::Multiply, call.amount(0), call.double(1))),
    ("flt4_mul_cash", |call| of_doubles(BinaryOperator::Multiply, call.amount(1), call.double(0))),
    ("flt8_mul_cash", |call| of_doubles(BinaryOperator::Multiply, call.amount(1), call.double(0))),
    ("cash_div_int2", quotient),
    ("cash_div_int4", quotient),
    ("cash_div_int8", quotient),
    ("cash_div_flt4", |call| of_doubles(BinaryOperator::Divide, call.amount(0), call.double(1))),
    ("cash_div_flt8", |call| of_doubles(BinaryOperator::Divide, call.amount(0), call.double(1))),
    ("cash_div_cash", |call| Ok(Value::Double(money::ratio(call.amount(0), call.amount(1))?))),
    ("cash_words", |call| Ok(Value::text(money::in_words(call.amount(0))))),
    ("cash_numeric", |call| cast::explicit(call.value(0), Type::Numeric(None))),
    ("numeric_cash", |call| cast::explicit(call.value(0), Type::Money)),
    ("int4_cash", |call| cast::explicit(call.value(0), Type::Money)),
    ("int8_cash", |call| cast::explicit(call.value(0), Type::Money)),
];

fn product(call: &CallArguments<'_, '_>, amount: usize, factor: usize) -> FunctionResult {
    Ok(Value::Money(money::product(call.amount(amount), call.integer(factor))?))
}

fn quotient(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::Money(money::quotient(call.amount(0), call.integer(1))?))
}

/// An amount and a number as doubles, and the result as an amount. Errors: those of doubles, 22003.
fn of_doubles(operator: BinaryOperator, amount: i64, number: f64) -> FunctionResult {
    match binary(operator, &Value::Double(amount as f64), &Value::Double(number))? {
        Value::Double(computed) => Ok(Value::Money(money::of_double(computed)?)),
        other => Ok(other),
    }
}

/// The sum of two amounts, as `sum` adds them up. Errors: 22003.
pub(crate) fn added(state: &Value, value: &Value) -> Result<Value, ValueError> {
    match (state, value) {
        (Value::Money(state), Value::Money(amount)) => Ok(Value::Money(money::sum(*state, *amount)?)),
        _ => Ok(Value::Null),
    }
}
