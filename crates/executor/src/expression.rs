//! What is computed in a row: expressions whose columns are places of rows, and their evaluation.

use crate::error::{ExecutionError, Stop};
use crate::plan::Node;
use crate::run::{Row, Run};
use analyzer::Typed;
use analyzer::types::FunctionId;
use evaluation::{Body, Call};
use std::cmp::Ordering;
use std::sync::Arc;
use values::{Type, Value};

mod arrays;
mod conditions;
mod subplans;
mod system;

pub use subplans::{SubplanKind, SubplanUse};
pub use system::is_built;

/// Where an expression stands in the text. All places are equal: expressions are compared without them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(pub Option<u32>);

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

/// A function with all that a call needs.
#[derive(Clone, Debug)]
pub struct Callee {
    pub function: FunctionId,
    pub body: Body,
    pub strict: bool,
    pub types: Vec<Typed>,
    pub result: Typed,
    pub at: Place,
}

impl PartialEq for Callee {
    fn eq(&self, other: &Callee) -> bool {
        self.function == other.function && self.result == other.result && self.types == other.types
    }
}

/// An expression over a row of known layout.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A place of the row.
    Slot(usize),
    /// A place of a row around: frames count from the outermost.
    Outer {
        frame: usize,
        slot: usize,
    },
    /// A parameter, from zero.
    Parameter(usize),
    Constant(Value),
    Call(Box<Callee>, Vec<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Not(Box<Expression>),
    IsNull {
        value: Box<Expression>,
        negated: bool,
    },
    BooleanTest {
        value: Box<Expression>,
        negated: bool,
        wanted: Option<bool>,
    },
    /// IS DISTINCT FROM by its equality.
    Distinct(Box<Callee>, Vec<Expression>),
    NullIf(Box<Callee>, Vec<Expression>),
    /// The left side with each element of the array.
    ArrayOperator {
        callee: Box<Callee>,
        all: bool,
        arguments: Vec<Expression>,
    },
    Case {
        operand: Option<Box<Expression>>,
        arms: Vec<(Expression, Expression)>,
        otherwise: Box<Expression>,
    },
    CaseOperand,
    Coalesce(Vec<Expression>),
    Extreme {
        greatest: bool,
        arguments: Vec<Expression>,
    },
    /// `integer` as `oid`, or the reverse.
    SameBits {
        value: Box<Expression>,
        target: Type,
    },
    ThroughText {
        value: Box<Expression>,
        source: Type,
        target: Type,
        at: Place,
    },
    ArrayConversion {
        value: Box<Expression>,
        element: Box<Expression>,
        target: Type,
    },
    Element,
    /// Rows by their order: strategy 1 to 5.
    RowComparison {
        strategy: i16,
        left: Vec<Expression>,
        right: Vec<Expression>,
    },
    Array {
        element: Type,
        elements: Vec<Expression>,
    },
    Subscript {
        container: Box<Expression>,
        subscript: Box<Expression>,
    },
    Slice {
        container: Box<Expression>,
        lower: Option<Box<Expression>>,
        upper: Option<Box<Expression>>,
    },
    Subplan(Box<SubplanUse>),
    SubLinkColumn(usize),
    SqlValue {
        value: grammar::ast::SqlValue,
        precision: Option<i32>,
    },
    /// GROUPING of these numbers of grouping expressions; the row has the set's bits at the place.
    Grouping {
        slot: usize,
        numbers: Vec<u32>,
    },
}

impl Expression {
    /// The value in a row.
    pub fn evaluate(&self, row: &[Value], run: &mut Run<'_, '_>) -> Result<Value, Stop> {
        match self {
            Expression::Slot(slot) => Ok(row[*slot].clone()),
            Expression::Outer { frame, slot } => Ok(run.state.frames[*frame][*slot].clone()),
            Expression::Parameter(number) => Ok(run.state.parameters.get(*number).cloned().unwrap_or(Value::Null)),
            Expression::Constant(value) => Ok(value.clone()),
            Expression::Call(callee, arguments) => callee.evaluate(arguments, row, run),
            Expression::And(parts) => conditions::and(parts, row, run),
            Expression::Or(parts) => conditions::or(parts, row, run),
            Expression::Not(value) => Ok(match value.evaluate(row, run)?.as_boolean() {
                Some(truth) => Value::Boolean(!truth),
                None => Value::Null,
            }),
            Expression::IsNull { value, negated } => Ok((value.evaluate(row, run)?.is_null() != *negated).into()),
            Expression::BooleanTest { value, negated, wanted } => {
                Ok(((value.evaluate(row, run)?.as_boolean() == *wanted) != *negated).into())
            }
            Expression::Distinct(callee, sides) => conditions::distinct(callee, sides, row, run),
            Expression::NullIf(callee, sides) => conditions::null_if(callee, sides, row, run),
            Expression::ArrayOperator { callee, all, arguments } => {
                arrays::any_or_all(callee, *all, arguments, row, run)
            }
            Expression::Case { operand, arms, otherwise } => {
                conditions::case(operand.as_deref(), arms, otherwise, row, run)
            }
            Expression::CaseOperand => Ok(run.state.cases.last().cloned().unwrap_or(Value::Null)),
            Expression::Coalesce(parts) => conditions::coalesce(parts, row, run),
            Expression::Extreme { greatest, arguments } => conditions::extreme(*greatest, arguments, row, run),
            Expression::ThroughText { value, source, target, at } => {
                through_text(&value.evaluate(row, run)?, *source, *target).map_err(|error| placed(error, *at))
            }
            Expression::SameBits { value, target } => Ok(same_bits(value.evaluate(row, run)?, *target)),
            Expression::ArrayConversion { value, element, target } => {
                arrays::convert(value, element, *target, row, run)
            }
            Expression::Element => Ok(run.state.elements.last().cloned().unwrap_or(Value::Null)),
            Expression::RowComparison { strategy, left, right } => {
                conditions::compare_rows(*strategy, left, right, row, run)
            }
            Expression::Array { element, elements } => {
                let values = elements.iter().map(|part| part.evaluate(row, run)).collect::<Result<_, _>>()?;
                Ok(Value::array(*element, values))
            }
            Expression::Subscript { container, subscript } => arrays::element(container, subscript, row, run),
            Expression::Slice { container, lower, upper } => {
                arrays::slice(container, lower.as_deref(), upper.as_deref(), row, run)
            }
            Expression::Subplan(subplan) => subplan.evaluate(row, run),
            Expression::SubLinkColumn(column) => {
                Ok(run.state.sublinks.last().and_then(|row| row.get(*column)).cloned().unwrap_or(Value::Null))
            }
            Expression::SqlValue { value, precision } => system::sql_value(*value, *precision, run),
            Expression::Grouping { slot, numbers } => {
                let set = row[*slot].as_integer().unwrap_or(0);
                let bits = numbers.iter().fold(0, |bits, number| bits << 1 | (set >> number & 1));
                Ok(Value::Integer(bits as i32))
            }
        }
    }

    /// Whether it holds in a row: neither false nor unknown.
    pub fn holds(&self, row: &[Value], run: &mut Run<'_, '_>) -> Result<bool, Stop> {
        Ok(self.evaluate(row, run)?.as_boolean() == Some(true))
    }

    /// The expressions that it is made of.
    pub fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::Call(_, parts)
            | Expression::And(parts)
            | Expression::Or(parts)
            | Expression::Distinct(_, parts)
            | Expression::NullIf(_, parts)
            | Expression::ArrayOperator { arguments: parts, .. }
            | Expression::Coalesce(parts)
            | Expression::Extreme { arguments: parts, .. }
            | Expression::Array { elements: parts, .. } => parts.iter().collect(),
            Expression::Not(value)
            | Expression::IsNull { value, .. }
            | Expression::BooleanTest { value, .. }
            | Expression::SameBits { value, .. }
            | Expression::ThroughText { value, .. } => vec![value],
            Expression::Case { operand, arms, otherwise } => {
                let operand = operand.iter().map(|operand| &**operand);
                let arms = arms.iter().flat_map(|(when, then)| [when, then]);
                operand.chain(arms).chain([&**otherwise]).collect()
            }
            Expression::ArrayConversion { value, element, .. } => vec![value, element],
            Expression::RowComparison { left, right, .. } => left.iter().chain(right).collect(),
            Expression::Subscript { container, subscript } => vec![container, subscript],
            Expression::Slice { container, lower, upper } => {
                let bounds = [lower, upper].into_iter().flatten().map(|bound| &**bound);
                [&**container].into_iter().chain(bounds).collect()
            }
            Expression::Subplan(subplan) => subplan.test.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `each` for every expression within, itself included; also for the places that subqueries look at.
    pub fn visit(&self, each: &mut dyn FnMut(&Expression)) {
        each(self);
        if let Expression::Subplan(subplan) = self {
            subplan.outer.iter().for_each(|place| place.visit(each));
        }
        self.parts().into_iter().for_each(|part| part.visit(each));
    }

    /// Whether two evaluations may differ, or do something.
    pub fn is_volatile(&self) -> bool {
        let mut volatile = false;
        self.visit(&mut |part| match part {
            Expression::Call(callee, _) => {
                let row = analyzer::facts::Facts::postgresql15().function(callee.function);
                volatile |= row.is_some_and(|row| row.volatility == analyzer::facts::Volatility::Volatile);
            }
            Expression::Subplan(subplan) => volatile |= subplan.volatile,
            _ => {}
        });
        volatile
    }
}

impl Callee {
    fn evaluate(&self, arguments: &[Expression], row: &[Value], run: &mut Run<'_, '_>) -> Result<Value, Stop> {
        match arguments {
            [one] => {
                let values = [one.evaluate(row, run)?];
                self.call(&values, run)
            }
            [left, right] => {
                let values = [left.evaluate(row, run)?, right.evaluate(row, run)?];
                self.call(&values, run)
            }
            _ => {
                let values: Row = arguments.iter().map(|part| part.evaluate(row, run)).collect::<Result<_, _>>()?;
                self.call(&values, run)
            }
        }
    }

    /// Calls the function; NULL without a call if it is strict and an argument is.
    pub fn call(&self, values: &[Value], run: &mut Run<'_, '_>) -> Result<Value, Stop> {
        if self.strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let mut call =
            Call { arguments: values, types: &self.types, result: self.result, environment: run.environment };
        (self.body)(&mut call).map_err(|error| placed_at_call(error))
    }

    /// Whether equality holds between two values; unknown with NULL.
    pub fn compare(&self, left: Value, right: Value, run: &mut Run<'_, '_>) -> Result<Option<bool>, Stop> {
        Ok(self.call(&[left, right], run)?.as_boolean())
    }
}

fn placed_at_call(error: values::ValueError) -> Stop {
    // PostgreSQL gives no place to what a function refuses.
    error.into()
}

fn placed(error: values::ValueError, _at: Place) -> Stop {
    error.into()
}

/// Writes a value as one type and reads it as another.
pub fn through_text(value: &Value, source: Type, target: Type) -> Result<Value, values::ValueError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let mut bytes = Vec::new();
    values::text::write(value, source, &mut bytes);
    values::text::parse_bytes(&bytes, target)
}

/// The 32 bits of an `integer` as an `oid`, or the reverse.
pub fn same_bits(value: Value, target: Type) -> Value {
    match (value, target) {
        (Value::Integer(number), Type::Oid) => Value::Oid(number.cast_unsigned()),
        (Value::Oid(number), Type::Integer) => Value::Integer(number.cast_signed()),
        (value, _) => value,
    }
}

/// Compares values by the default order of their type.
pub fn order(left: &Value, right: &Value) -> Ordering {
    values::compare::compare(left, right)
}

/// An error at a place.
pub fn error_at(sqlstate: &'static str, message: &str, at: Place) -> Stop {
    ExecutionError::new(sqlstate, message).at(at.0).into()
}
