//! What is computed in a row: expressions whose columns are places of rows, and their evaluation.

use crate::equality::key_of;
use crate::error::{ExecutionError, Interruption};
use crate::run::{RowValues, RunState};
use analyzer::Typed;
use analyzer::types::FunctionId;
use evaluation::{CallArguments, Implementation};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{Type, Value, Zone};

mod arrays;
mod conditions;
mod subplans;
mod system;

pub use arrays::ELEMENTS_OF_A_ROW;
pub use subplans::{SubplanKind, SubplanUse};
pub use system::is_built;

/// Where an expression stands in the text. All places are equal: expressions are compared without them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorPlace(pub Option<u32>);

impl PartialEq for ErrorPlace {
    fn eq(&self, _: &ErrorPlace) -> bool {
        true
    }
}

/// Bytes that a call reads or yields which count as much as a row that is worked on.
pub const LARGE_BYTES: usize = 16 << 10;

/// A function with all that a call needs.
#[derive(Clone, Debug)]
pub struct Callee {
    pub function: FunctionId,
    pub body: Implementation,
    pub strict: bool,
    pub types: Vec<Typed>,
    pub result: Typed,
}

impl PartialEq for Callee {
    fn eq(&self, other: &Callee) -> bool {
        self.function == other.function && self.result == other.result && self.types == other.types
    }
}

/// A value, and what a domain asks of it.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainCheck {
    pub value: CompiledExpression,
    /// What is said of NULL, if that is refused.
    pub null: Option<String>,
    /// Conditions over the value, which is the only place of the innermost frame, with what is said where one is false.
    pub conditions: Vec<(CompiledExpression, String)>,
}

/// An expression over a row of known layout.
#[derive(Clone, Debug, PartialEq)]
pub enum CompiledExpression {
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
    CallArguments(Box<Callee>, Vec<CompiledExpression>),
    And(Vec<CompiledExpression>),
    Or(Vec<CompiledExpression>),
    Not(Box<CompiledExpression>),
    IsNull {
        value: Box<CompiledExpression>,
        negated: bool,
    },
    BooleanTest {
        value: Box<CompiledExpression>,
        negated: bool,
        wanted: Option<bool>,
    },
    /// IS DISTINCT FROM by its equality.
    Distinct(Box<Callee>, Vec<CompiledExpression>),
    NullIf(Box<Callee>, Vec<CompiledExpression>),
    /// The left side with each element of the array.
    ArrayOperator {
        callee: Box<Callee>,
        all: bool,
        arguments: Vec<CompiledExpression>,
    },
    /// Whether a value is one of those with these keys, or none of them.
    Among {
        value: Box<CompiledExpression>,
        keys: Arc<BTreeSet<Vec<u8>>>,
        has_null: bool,
        negated: bool,
    },
    Case {
        operand: Option<Box<CompiledExpression>>,
        arms: Vec<(CompiledExpression, CompiledExpression)>,
        otherwise: Box<CompiledExpression>,
    },
    CaseOperand,
    Coalesce(Vec<CompiledExpression>),
    /// A value as one of a domain.
    Domain(Box<DomainCheck>),
    Extreme {
        greatest: bool,
        arguments: Vec<CompiledExpression>,
    },
    /// `integer` as `oid`, or the reverse; `cidr` as `inet`.
    SameBits {
        value: Box<CompiledExpression>,
        target: Type,
    },
    ThroughText {
        value: Box<CompiledExpression>,
        source: Type,
        target: Type,
    },
    ArrayConversion {
        value: Box<CompiledExpression>,
        element: Box<CompiledExpression>,
        target: Type,
    },
    Element,
    /// Rows by their order: strategy 1 to 5.
    RowComparison {
        strategy: i16,
        left: Vec<CompiledExpression>,
        right: Vec<CompiledExpression>,
    },
    Array {
        element: Type,
        elements: Vec<CompiledExpression>,
    },
    Subscript {
        container: Box<CompiledExpression>,
        subscript: Box<CompiledExpression>,
    },
    Slice {
        container: Box<CompiledExpression>,
        lower: Option<Box<CompiledExpression>>,
        upper: Option<Box<CompiledExpression>>,
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

impl CompiledExpression {
    /// The value in a row.
    pub fn evaluate(&self, row: &[Value], run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
        match self {
            CompiledExpression::Slot(slot) => Ok(row[*slot].clone()),
            CompiledExpression::Outer { frame, slot } => Ok(run.state.frames[*frame][*slot].clone()),
            CompiledExpression::Parameter(number) => {
                Ok(run.state.parameters.get(*number).cloned().unwrap_or(Value::Null))
            }
            CompiledExpression::Constant(value) => Ok(value.clone()),
            CompiledExpression::CallArguments(callee, arguments) => callee.evaluate(arguments, row, run),
            CompiledExpression::And(parts) => conditions::and(parts, row, run),
            CompiledExpression::Or(parts) => conditions::or(parts, row, run),
            CompiledExpression::Not(value) => Ok(match value.evaluate(row, run)?.as_boolean() {
                Some(truth) => Value::Boolean(!truth),
                None => Value::Null,
            }),
            CompiledExpression::IsNull { value, negated } => {
                Ok((value.evaluate(row, run)?.is_null() != *negated).into())
            }
            CompiledExpression::BooleanTest { value, negated, wanted } => {
                Ok(((value.evaluate(row, run)?.as_boolean() == *wanted) != *negated).into())
            }
            CompiledExpression::Distinct(callee, sides) => conditions::distinct(callee, sides, row, run),
            CompiledExpression::NullIf(callee, sides) => conditions::null_if(callee, sides, row, run),
            CompiledExpression::ArrayOperator { callee, all, arguments } => {
                arrays::any_or_all(callee, *all, arguments, row, run)
            }
            CompiledExpression::Among { value, keys, has_null, negated } => {
                let value = value.evaluate(row, run)?;
                if value.is_null() {
                    return Ok(Value::Null);
                }
                let is_found = keys.contains(&key_of([&value].into_iter()));
                Ok(if !is_found && *has_null { Value::Null } else { (is_found != *negated).into() })
            }
            CompiledExpression::Case { operand, arms, otherwise } => {
                conditions::case(operand.as_deref(), arms, otherwise, row, run)
            }
            CompiledExpression::CaseOperand => Ok(run.state.cases.last().cloned().unwrap_or(Value::Null)),
            CompiledExpression::Coalesce(parts) => conditions::coalesce(parts, row, run),
            CompiledExpression::Domain(check) => conditions::in_domain(check, row, run),
            CompiledExpression::Extreme { greatest, arguments } => conditions::extreme(*greatest, arguments, row, run),
            CompiledExpression::ThroughText { value, source, target } => {
                Ok(through_text(&value.evaluate(row, run)?, *source, *target, run.environment.zone)?)
            }
            CompiledExpression::SameBits { value, target } => Ok(same_bits(value.evaluate(row, run)?, *target)),
            CompiledExpression::ArrayConversion { value, element, target } => {
                arrays::convert(value, element, *target, row, run)
            }
            CompiledExpression::Element => Ok(run.state.elements.last().cloned().unwrap_or(Value::Null)),
            CompiledExpression::RowComparison { strategy, left, right } => {
                conditions::compare_rows(*strategy, left, right, row, run)
            }
            CompiledExpression::Array { element, elements } => {
                run.budget = run.budget.saturating_sub(elements.len() / ELEMENTS_OF_A_ROW);
                let values = elements.iter().map(|part| part.evaluate(row, run)).collect::<Result<_, _>>()?;
                Ok(Value::array(*element, values))
            }
            CompiledExpression::Subscript { container, subscript } => arrays::element(container, subscript, row, run),
            CompiledExpression::Slice { container, lower, upper } => {
                arrays::slice(container, lower.as_deref(), upper.as_deref(), row, run)
            }
            CompiledExpression::Subplan(subplan) => subplan.evaluate(row, run),
            CompiledExpression::SubLinkColumn(column) => {
                Ok(run.state.sublinks.last().and_then(|row| row.get(*column)).cloned().unwrap_or(Value::Null))
            }
            CompiledExpression::SqlValue { value, precision } => system::sql_value(*value, *precision, run),
            CompiledExpression::Grouping { slot, numbers } => {
                let set = row[*slot].as_integer().unwrap_or(0);
                let bits = numbers.iter().fold(0, |bits, number| bits << 1 | (set >> number & 1));
                Ok(Value::Integer(bits as i32))
            }
        }
    }

    /// Whether it holds in a row: neither false nor unknown.
    pub fn holds(&self, row: &[Value], run: &mut RunState<'_, '_>) -> Result<bool, Interruption> {
        Ok(self.evaluate(row, run)?.as_boolean() == Some(true))
    }

    /// The expressions that it is made of.
    pub fn parts(&self) -> Vec<&CompiledExpression> {
        match self {
            CompiledExpression::CallArguments(_, parts)
            | CompiledExpression::And(parts)
            | CompiledExpression::Or(parts)
            | CompiledExpression::Distinct(_, parts)
            | CompiledExpression::NullIf(_, parts)
            | CompiledExpression::ArrayOperator { arguments: parts, .. }
            | CompiledExpression::Coalesce(parts)
            | CompiledExpression::Extreme { arguments: parts, .. }
            | CompiledExpression::Array { elements: parts, .. } => parts.iter().collect(),
            CompiledExpression::Not(value)
            | CompiledExpression::IsNull { value, .. }
            | CompiledExpression::BooleanTest { value, .. }
            | CompiledExpression::SameBits { value, .. }
            | CompiledExpression::Among { value, .. }
            | CompiledExpression::ThroughText { value, .. } => vec![value],
            CompiledExpression::Case { operand, arms, otherwise } => {
                let operand = operand.iter().map(|operand| &**operand);
                let arms = arms.iter().flat_map(|(when, then)| [when, then]);
                operand.chain(arms).chain([&**otherwise]).collect()
            }
            CompiledExpression::ArrayConversion { value, element, .. } => vec![value, element],
            CompiledExpression::Domain(check) => vec![&check.value],
            CompiledExpression::RowComparison { left, right, .. } => left.iter().chain(right).collect(),
            CompiledExpression::Subscript { container, subscript } => vec![container, subscript],
            CompiledExpression::Slice { container, lower, upper } => {
                let bounds = [lower, upper].into_iter().flatten().map(|bound| &**bound);
                [&**container].into_iter().chain(bounds).collect()
            }
            CompiledExpression::Subplan(subplan) => subplan.test.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `each` for every expression within, itself included; also for the places that subqueries look at.
    pub fn visit(&self, each: &mut dyn FnMut(&CompiledExpression)) {
        each(self);
        if let CompiledExpression::Subplan(subplan) = self {
            subplan.outer.iter().for_each(|place| place.visit(each));
        }
        self.parts().into_iter().for_each(|part| part.visit(each));
    }

    /// Whether two evaluations may differ, or do something.
    pub fn is_volatile(&self) -> bool {
        let mut volatile = false;
        self.visit(&mut |part| match part {
            CompiledExpression::CallArguments(callee, _) => {
                let row = analyzer::facts::Facts::postgresql15().function(callee.function);
                volatile |= row.is_some_and(|row| row.volatility == analyzer::facts::Volatility::Volatile);
            }
            CompiledExpression::Subplan(subplan) => volatile |= subplan.volatile,
            _ => {}
        });
        volatile
    }
}

impl Callee {
    fn evaluate(
        &self,
        arguments: &[CompiledExpression],
        row: &[Value],
        run: &mut RunState<'_, '_>,
    ) -> Result<Value, Interruption> {
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
                let values: RowValues =
                    arguments.iter().map(|part| part.evaluate(row, run)).collect::<Result<_, _>>()?;
                self.call(&values, run)
            }
        }
    }

    /// Calls the function; NULL without a call if it is strict and an argument is.
    pub fn call(&self, values: &[Value], run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
        if self.strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let mut call =
            CallArguments { arguments: values, types: &self.types, result: self.result, environment: run.environment };
        let value = (self.body)(&mut call)?;
        run.budget = run.budget.saturating_sub(run.environment.patterns.take_work());
        // Large values take long, and many of them in one row more memory than there is.
        let bytes = value.size_in_memory();
        let length = |value: &Value| match value {
            Value::Bytea(bytes) => bytes.len(),
            value => value.as_text().map_or(0, str::len),
        };
        let read: usize = values.iter().map(length).sum();
        if bytes.max(read) > LARGE_BYTES {
            run.budget = run.budget.saturating_sub(bytes.max(read) / LARGE_BYTES);
            run.state.pass(bytes)?;
        }
        Ok(value)
    }

    /// Whether equality holds between two values; unknown with NULL.
    pub fn compare(&self, left: Value, right: Value, run: &mut RunState<'_, '_>) -> Result<Option<bool>, Interruption> {
        Ok(self.call(&[left, right], run)?.as_boolean())
    }
}

/// Writes a value as one type and reads it as another, in a time zone.
fn through_text(value: &Value, source: Type, target: Type, zone: &Zone) -> Result<Value, values::ValueError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let mut bytes = Vec::new();
    values::text::write_in(value, source, zone, &mut bytes);
    values::text::parse_bytes_in(&bytes, target, zone)
}

/// The 32 bits of an `integer` as an `oid`, or the reverse; a `cidr` as the `inet` that it is.
pub fn same_bits(value: Value, target: Type) -> Value {
    match (value, target) {
        (Value::Integer(number), Type::Oid) => Value::Oid(number.cast_unsigned()),
        (Value::Oid(number), Type::Integer) => Value::Integer(number.cast_signed()),
        (Value::Cidr(network), Type::Inet) => Value::Inet(network),
        (value, _) => value,
    }
}

/// Compares values by the default order of their type.
pub fn order(left: &Value, right: &Value) -> Ordering {
    values::compare::compare(left, right)
}

/// An error at a place.
pub fn error_at(sqlstate: &'static str, message: &str, at: ErrorPlace) -> Interruption {
    ExecutionError::new(sqlstate, message).at(at.0).into()
}
