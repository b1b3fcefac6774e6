//! Arrays in expressions. They have one dimension, counted from 1.

use super::conditions::EvaluatedValue;
use super::{Callee, CompiledExpression};
use crate::error::Interruption;
use crate::run::RunState;
use values::{Type, Value};

/// So many elements are counted as much as a row that is worked on.
pub const ELEMENTS_OF_A_ROW: usize = 64;

/// `left operator ANY (array)`, or ALL.
pub fn any_or_all(
    callee: &Callee,
    all: bool,
    arguments: &[CompiledExpression],
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let (left, right) = (arguments[0].evaluate(row, run)?, arguments[1].evaluate(row, run)?);
    let Some(elements) = right.as_array() else { return Ok(Value::Null) };
    if elements.is_empty() {
        return Ok(all.into());
    }
    let mut unknown = false;
    for (number, element) in elements.iter().enumerate() {
        if number % ELEMENTS_OF_A_ROW == ELEMENTS_OF_A_ROW - 1 {
            run.budget = run.budget.saturating_sub(1);
        }
        match callee.compare(left.clone(), element.clone(), run)? {
            Some(truth) if truth != all => return Ok((!all).into()),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { all.into() })
}

/// Each element converted.
pub fn convert(
    value: &CompiledExpression,
    element: &CompiledExpression,
    target: Type,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let value = value.evaluate(row, run)?;
    let Some(elements) = value.as_array() else { return Ok(Value::Null) };
    run.budget = run.budget.saturating_sub(elements.len() / ELEMENTS_OF_A_ROW);
    let mut converted = Vec::with_capacity(elements.len());
    for part in elements {
        run.state.elements.push(part.clone());
        let result = element.evaluate(row, run);
        run.state.elements.pop();
        converted.push(result?);
    }
    Ok(Value::array(target, converted))
}

/// The element at a subscript; NULL where there is none.
pub fn element(
    container: &CompiledExpression,
    subscript: &CompiledExpression,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let (container, subscript) = (container.evaluate(row, run)?, subscript.evaluate(row, run)?);
    let (Some(elements), Some(subscript)) = (container.as_array(), subscript.as_integer()) else {
        return Ok(Value::Null);
    };
    let place = usize::try_from(subscript - 1).ok();
    Ok(place.and_then(|place| elements.get(place)).cloned().unwrap_or(Value::Null))
}

/// The elements between two subscripts.
pub fn slice(
    container: &CompiledExpression,
    lower: Option<&CompiledExpression>,
    upper: Option<&CompiledExpression>,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let container = container.evaluate(row, run)?;
    let Value::Array(array) = &container else { return Ok(Value::Null) };
    let length = array.values().len() as i64;
    let mut bound = |given: Option<&CompiledExpression>, without: i64| -> Result<Option<i64>, Interruption> {
        match given {
            Some(given) => Ok(given.evaluate(row, run)?.as_integer()),
            None => Ok(Some(without)),
        }
    };
    let (Some(lower), Some(upper)) = (bound(lower, 1)?, bound(upper, length)?) else { return Ok(Value::Null) };
    let (first, end) = (lower.max(1) - 1, upper.min(length));
    let part = if first < end { array.values()[first as usize..end as usize].to_vec() } else { Vec::new() };
    Ok(Value::array(array.element(), part))
}
