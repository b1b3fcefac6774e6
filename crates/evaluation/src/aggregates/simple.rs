//! Aggregates whose state is one value: counts, the least and the greatest, truth, bits, sums.

use super::Accumulator;
use values::compare::compare;
use values::operators::{BinaryOperator, binary};
use values::{Value, ValueError};

/// `count`: of rows, or of those whose argument is not NULL.
#[derive(Default)]
pub struct RowCount {
    count: i64,
}

impl Accumulator for RowCount {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        self.count += i64::from(!arguments.iter().any(Value::is_null));
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(Value::BigInt(self.count))
    }
}

/// The state and the next value, neither of them NULL, as the next state.
pub type Fold = fn(&Value, &Value) -> Result<Value, ValueError>;

/// A strict function folded over values; NULL without any.
pub struct Folded {
    fold: Fold,
    state: Value,
}

impl Folded {
    /// Before any row.
    pub fn new(fold: Fold) -> Folded {
        Folded { fold, state: Value::Null }
    }
}

impl Accumulator for Folded {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        match &arguments[0] {
            Value::Null => {}
            value if self.state.is_null() => self.state = value.clone(),
            value => self.state = (self.fold)(&self.state, value)?,
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(self.state.clone())
    }

    fn size(&self) -> usize {
        self.state.size_in_memory()
    }
}

/// Of two that are equal the later one, which may print otherwise: 1.0 and 1.00.
pub fn larger(state: &Value, value: &Value) -> Result<Value, ValueError> {
    Ok(if compare(state, value).is_gt() { state } else { value }.clone())
}

/// As [`larger`].
pub fn smaller(state: &Value, value: &Value) -> Result<Value, ValueError> {
    Ok(if compare(state, value).is_lt() { state } else { value }.clone())
}

pub fn and(state: &Value, value: &Value) -> Result<Value, ValueError> {
    binary(BinaryOperator::And, state, value)
}

pub fn or(state: &Value, value: &Value) -> Result<Value, ValueError> {
    binary(BinaryOperator::Or, state, value)
}

pub fn bit_and(state: &Value, value: &Value) -> Result<Value, ValueError> {
    binary(BinaryOperator::BitAnd, state, value)
}

pub fn bit_or(state: &Value, value: &Value) -> Result<Value, ValueError> {
    binary(BinaryOperator::BitOr, state, value)
}

pub fn bit_xor(state: &Value, value: &Value) -> Result<Value, ValueError> {
    binary(BinaryOperator::BitXor, state, value)
}

/// `bit_and`, `bit_or` or `bit_xor` of bit strings, which must be of one length.
pub fn of_bit_strings(name: &str) -> Fold {
    macro_rules! fold {
        ($combine:path) => {
            |state, value| match (state, value) {
                (Value::Bits(state), Value::Bits(bits)) => Ok(Value::Bits($combine(state, bits)?)),
                _ => Ok(Value::Null),
            }
        };
    }
    match name {
        "bit_and" => fold!(crate::functions::and),
        "bit_or" => fold!(crate::functions::or),
        _ => fold!(crate::functions::xor),
    }
}

pub fn sum(state: &Value, value: &Value) -> Result<Value, ValueError> {
    binary(BinaryOperator::Add, state, value)
}

/// `sum` of smallints and integers, a bigint.
#[derive(Default)]
pub struct IntegerSum {
    sum: Option<i64>,
}

impl Accumulator for IntegerSum {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        if let Some(number) = arguments[0].as_integer() {
            let sum = Value::BigInt(self.sum.unwrap_or(0));
            self.sum = binary(BinaryOperator::Add, &sum, &Value::BigInt(number))?.as_integer();
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(self.sum.map_or(Value::Null, Value::BigInt))
    }
}

/// `avg` of intervals.
#[derive(Default)]
pub struct IntervalAverage {
    sum: Option<Value>,
    count: i64,
}

impl Accumulator for IntervalAverage {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        if !arguments[0].is_null() {
            self.count += 1;
            self.sum = Some(match &self.sum {
                None => arguments[0].clone(),
                Some(sum) => binary(BinaryOperator::Add, sum, &arguments[0])?,
            });
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        match &self.sum {
            None => Ok(Value::Null),
            Some(sum) => binary(BinaryOperator::Divide, sum, &Value::Double(self.count as f64)),
        }
    }
}
