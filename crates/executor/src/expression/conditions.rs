//! Conditions and choices: three-valued logic, CASE, COALESCE and their like. Each evaluates no more than it needs.

use super::{Callee, CompiledExpression, DomainCheck, ErrorPlace, error_at, order};
use crate::error::Interruption;
use crate::run::RunState;
use std::cmp::Ordering;
use values::Value;

pub type EvaluatedValue = Result<Value, Interruption>;

pub fn and(parts: &[CompiledExpression], row: &[Value], run: &mut RunState<'_, '_>) -> EvaluatedValue {
    decided_by(false, parts, row, run)
}

pub fn or(parts: &[CompiledExpression], row: &[Value], run: &mut RunState<'_, '_>) -> EvaluatedValue {
    decided_by(true, parts, row, run)
}

/// The first part of this truth decides; else unknown if one is, else the opposite.
fn decided_by(truth: bool, parts: &[CompiledExpression], row: &[Value], run: &mut RunState<'_, '_>) -> EvaluatedValue {
    let mut unknown = false;
    for part in parts {
        match part.evaluate(row, run)?.as_boolean() {
            Some(found) if found == truth => return Ok(truth.into()),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { (!truth).into() })
}

pub fn distinct(
    callee: &Callee,
    sides: &[CompiledExpression],
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let (left, right) = (sides[0].evaluate(row, run)?, sides[1].evaluate(row, run)?);
    Ok(match (left.is_null(), right.is_null()) {
        (true, true) => false.into(),
        (true, false) | (false, true) => true.into(),
        (false, false) => (callee.compare(left, right, run)? != Some(true)).into(),
    })
}

pub fn null_if(
    callee: &Callee,
    sides: &[CompiledExpression],
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let (left, right) = (sides[0].evaluate(row, run)?, sides[1].evaluate(row, run)?);
    if left.is_null() || right.is_null() {
        return Ok(left);
    }
    let equal = callee.compare(left.clone(), right, run)? == Some(true);
    Ok(if equal { Value::Null } else { left })
}

pub fn case(
    operand: Option<&CompiledExpression>,
    arms: &[(CompiledExpression, CompiledExpression)],
    otherwise: &CompiledExpression,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let Some(operand) = operand else { return first_arm(arms, otherwise, row, run) };
    let operand = operand.evaluate(row, run)?;
    run.state.cases.push(operand);
    let result = first_arm(arms, otherwise, row, run);
    run.state.cases.pop();
    result
}

fn first_arm(
    arms: &[(CompiledExpression, CompiledExpression)],
    otherwise: &CompiledExpression,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    for (when, then) in arms {
        if when.holds(row, run)? {
            return then.evaluate(row, run);
        }
    }
    otherwise.evaluate(row, run)
}

pub fn coalesce(parts: &[CompiledExpression], row: &[Value], run: &mut RunState<'_, '_>) -> EvaluatedValue {
    for part in parts {
        let value = part.evaluate(row, run)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

/// The value, if a domain has it. Errors: 23502, 23514, and those of the conditions.
pub fn in_domain(check: &DomainCheck, row: &[Value], run: &mut RunState<'_, '_>) -> EvaluatedValue {
    let value = check.value.evaluate(row, run)?;
    if let Some(message) = check.null.as_ref().filter(|_| value.is_null()) {
        return Err(error_at(sqlstate::NOT_NULL_VIOLATION, message, ErrorPlace(None)));
    }
    run.state.frames.push(std::iter::once(value.clone()).collect());
    let wrong = check.conditions.iter().find_map(|(condition, message)| match condition.evaluate(&[], run) {
        Ok(truth) if truth.as_boolean() == Some(false) => {
            Some(error_at(sqlstate::CHECK_VIOLATION, message, ErrorPlace(None)))
        }
        Ok(_) => None,
        Err(stop) => Some(stop),
    });
    run.state.frames.pop();
    wrong.map_or(Ok(value), Err)
}

pub fn extreme(
    greatest: bool,
    arguments: &[CompiledExpression],
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let mut best = Value::Null;
    for argument in arguments {
        let value = argument.evaluate(row, run)?;
        if !value.is_null() && (best.is_null() || order(&value, &best) == wanted) {
            best = value;
        }
    }
    Ok(best)
}

pub fn compare_rows(
    strategy: i16,
    left: &[CompiledExpression],
    right: &[CompiledExpression],
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> EvaluatedValue {
    let mut found = Ordering::Equal;
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (left.evaluate(row, run)?, right.evaluate(row, run)?);
        if left.is_null() || right.is_null() {
            return Ok(Value::Null);
        }
        found = order(&left, &right);
        if found != Ordering::Equal {
            break;
        }
    }
    Ok(Value::Boolean(match strategy {
        1 => found == Ordering::Less,
        2 => found != Ordering::Greater,
        4 => found != Ordering::Less,
        5 => found == Ordering::Greater,
        _ => found == Ordering::Equal,
    }))
}
