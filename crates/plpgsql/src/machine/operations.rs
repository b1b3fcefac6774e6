//! What operations do, once their expressions are computed.

use super::{Effect, LoopState, Pending, RoutineMachine, RoutineStatement, null_value};
use crate::RoutineCatalog;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::program::{AssignmentTarget, Instruction, Returns};
use crate::store::{RoutineOperand, coerce, shown};
use std::sync::Arc;
use values::{Type, Value, Zone};

impl RoutineMachine {
    pub(super) fn operate(
        &mut self,
        instruction: &Instruction,
        mut operands: Vec<RoutineOperand>,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<Option<Effect>> {
        let zone = catalog.zone();
        match instruction {
            Instruction::Jump(to) => {
                self.at = *to;
                return Ok(None);
            }
            Instruction::Unless(_, to) => {
                self.at = if is_true(operands.pop(), zone)? { self.at + 1 } else { *to };
                return Ok(None);
            }
            Instruction::Declare(number, default) => {
                self.store.clear(*number);
                if default.is_some()
                    && let Some(operand) = operands.pop()
                {
                    self.store.assign(&AssignmentTarget::Variable(*number), operand, zone)?;
                }
            }
            Instruction::Assign(AssignmentTarget::Element(number), _) => {
                let (Some(value), Some(subscript)) = (operands.pop(), operands.pop()) else { return Ok(None) };
                self.store.assign_element(*number, subscript, value, zone)?;
            }
            Instruction::Assign(target, _) => {
                if let Some(operand) = operands.pop() {
                    self.store.assign(target, operand, zone)?;
                }
            }
            Instruction::Guard(number) => {
                self.pending = Pending::Guard(*number);
                return Ok(Some(Effect::Savepoint));
            }
            Instruction::Unguard => {
                self.guards.pop();
                self.at += 1;
                return Ok(Some(Effect::Release));
            }
            Instruction::Handled => {
                self.errors.pop();
            }
            Instruction::Raise(raise, _) => {
                let effect = self.raise(raise, operands, zone)?;
                self.at += 1;
                return Ok(Some(effect));
            }
            Instruction::RaiseAgain => return Err(self.raised_again()),
            Instruction::Diagnostics(is_stacked, items) => self.diagnose(*is_stacked, items, zone)?,
            Instruction::AssertFails(_) => {
                let message = match operands.pop() {
                    Some(RoutineOperand::Scalar(value, data_type)) if !value.is_null() => {
                        shown(&value, data_type, zone)
                    }
                    _ => "assertion failed".to_owned(),
                };
                return Err(RoutineError::new(sqlstate::ASSERT_FAILURE, message));
            }
            Instruction::Return => return Ok(Some(self.give_back(zone))),
            other => return self.operate_more(other, operands, catalog),
        }
        self.at += 1;
        Ok(None)
    }

    /// What operations do that run statements, those of loops, and the end of CASE.
    fn operate_more(
        &mut self,
        instruction: &Instruction,
        mut operands: Vec<RoutineOperand>,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<Option<Effect>> {
        let zone = catalog.zone();
        match instruction {
            Instruction::Execute(text, into) => {
                let rows_max = if into.is_some() { 2 } else { 0 };
                return self.run_text(text, rows_max, Pending::Statement, catalog).map(Some);
            }
            Instruction::Perform(text) => return self.run_text(text, 0, Pending::Statement, catalog).map(Some),
            Instruction::BeginRows(_, text) | Instruction::ReturnQuery(text) => {
                return self.run_text(text, usize::MAX, Pending::Statement, catalog).map(Some);
            }
            Instruction::ExecuteText(_, into) => {
                let rows_max = if into.is_some() { 2 } else { 0 };
                return self.run_computed(operands, rows_max, zone).map(Some);
            }
            Instruction::BeginTextRows(..) | Instruction::ReturnTextQuery(_) => {
                return self.run_computed(operands, usize::MAX, zone).map(Some);
            }
            Instruction::SetResult(_) => self.result = operands.pop(),
            Instruction::ReturnNext(_) => self.return_next(operands.pop(), zone)?,
            Instruction::NothingReturned => return Err(self.nothing_returned()),
            Instruction::CaseNotFound => {
                return Err(RoutineError::new(sqlstate::CASE_NOT_FOUND, "case not found")
                    .with_hint("CASE statement is missing ELSE part."));
            }
            Instruction::BeginCount { number, reverse, .. } => {
                self.loops[*number] = Some(count(operands, *reverse, zone)?);
            }
            Instruction::NextCount(number, variable, over) => {
                let next = self.next_count(*number);
                return self.next_round(next, &AssignmentTarget::Variable(*variable), *over, zone);
            }
            Instruction::BeginElements(number, _) => {
                let elements = self.elements(operands.pop())?;
                self.loops[*number] = Some(elements);
            }
            Instruction::NextElement(number, target, over) => {
                let next = match &mut self.loops[*number] {
                    Some(LoopState::Elements { element, values, ran, .. }) => {
                        let next = values.pop_front().map(|value| RoutineOperand::Scalar(value, *element));
                        *ran |= next.is_some();
                        next
                    }
                    _ => None,
                };
                return self.next_round(next, target, *over, zone);
            }
            Instruction::NextRow(number, target, over) => return self.next_row(*number, target, *over, zone),
            Instruction::EndLoop(number) => {
                let ran = match self.loops[*number].take() {
                    Some(
                        LoopState::Count { ran, .. } | LoopState::Rows { ran, .. } | LoopState::Elements { ran, .. },
                    ) => ran,
                    None => false,
                };
                self.set_found(ran, catalog)?;
            }
            _ => {}
        }
        self.at += 1;
        Ok(None)
    }

    fn nothing_returned(&self) -> Box<RoutineError> {
        let what = if self.program.returns == Returns::Row { "trigger procedure" } else { "function" };
        RoutineError::new(sqlstate::NO_RETURN, format!("control reached end of {what} without RETURN"))
    }

    /// EXECUTE: the first operand is the text, the others are its parameters.
    fn run_computed(&mut self, operands: Vec<RoutineOperand>, rows_max: usize, zone: &Zone) -> PlpgsqlResult<Effect> {
        let mut operands = operands.into_iter();
        let Some(RoutineOperand::Scalar(text, data_type)) = operands.next() else {
            return Err(RoutineError::unsupported("a record as the text of EXECUTE"));
        };
        if text.is_null() {
            return Err(null_value("query string argument of EXECUTE is null"));
        }
        let sql = Arc::from(shown(&text, data_type, zone));
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        for operand in operands {
            let RoutineOperand::Scalar(value, data_type) = operand else {
                return Err(RoutineError::unsupported("a record in USING"));
            };
            parameters.push(value);
            types.push(Some(data_type.unmodified()));
        }
        self.pending = Pending::Statement;
        Ok(Effect::Run(RoutineStatement { sql, parameters, types, rows_max }))
    }

    fn next_count(&mut self, number: usize) -> Option<RoutineOperand> {
        let Some(LoopState::Count { next, last, step, reverse, ran }) = &mut self.loops[number] else { return None };
        let is_over = if *reverse { *next < *last } else { *next > *last };
        let value = i32::try_from(*next).ok().filter(|_| !is_over)?;
        *ran = true;
        *next += if *reverse { -*step } else { *step };
        Some(RoutineOperand::Scalar(Value::Integer(value), Type::Integer))
    }

    fn next_round(
        &mut self,
        next: Option<RoutineOperand>,
        target: &AssignmentTarget,
        over: usize,
        zone: &Zone,
    ) -> PlpgsqlResult<Option<Effect>> {
        match next {
            Some(operand) => {
                self.store.assign(target, operand, zone)?;
                self.at += 1;
            }
            None => self.at = over,
        }
        Ok(None)
    }

    fn next_row(
        &mut self,
        number: usize,
        target: &AssignmentTarget,
        over: usize,
        zone: &Zone,
    ) -> PlpgsqlResult<Option<Effect>> {
        let Some(LoopState::Rows { columns, rows, ran, .. }) = &mut self.loops[number] else { return Ok(None) };
        match rows.pop_front() {
            Some(row) => {
                *ran = true;
                self.store.assign_row(target, columns, Some(row), zone)?;
                self.at += 1;
            }
            None => {
                // A loop without rows leaves NULL.
                if !*ran {
                    self.store.assign_row(target, columns, None, zone)?;
                }
                self.at = over;
            }
        }
        Ok(None)
    }

    fn elements(&self, operand: Option<RoutineOperand>) -> PlpgsqlResult<LoopState> {
        match operand {
            Some(RoutineOperand::Scalar(Value::Null, _)) | None => {
                Err(null_value("FOREACH expression must not be null"))
            }
            Some(RoutineOperand::Scalar(Value::Array(array), _)) => {
                let values: std::collections::VecDeque<Value> = array.values().to_vec().into();
                let bytes = values.iter().map(Value::size_in_memory).sum();
                self.check_kept(bytes)?;
                Ok(LoopState::Elements { element: array.element(), values, bytes, ran: false })
            }
            Some(RoutineOperand::Scalar(_, data_type)) => {
                let message = format!("FOREACH expression must yield an array, not type {}", data_type.base_name());
                Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message))
            }
            Some(RoutineOperand::Record(_)) => {
                let message = "FOREACH expression must yield an array, not type record";
                Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// Errors: 54000 for more than a run may keep, with `more` bytes beside what it keeps.
    pub(super) fn check_kept(&self, more: usize) -> PlpgsqlResult<()> {
        let of_loop = |state: &LoopState| match state {
            LoopState::Rows { bytes, .. } | LoopState::Elements { bytes, .. } => *bytes,
            LoopState::Count { .. } => 0,
        };
        let loops: usize = self.loops.iter().flatten().map(of_loop).sum();
        self.store.check_bytes(loops + self.kept + more)
    }
}

/// A condition's truth; NULL is not true.
fn is_true(operand: Option<RoutineOperand>, zone: &Zone) -> PlpgsqlResult<bool> {
    match operand {
        Some(RoutineOperand::Scalar(value, data_type)) => {
            Ok(coerce(value, data_type, Type::Boolean, zone)?.as_boolean().unwrap_or(false))
        }
        _ => Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, "cannot cast type record to boolean")),
    }
}

/// A loop over whole numbers, by its bounds and its step.
fn count(operands: Vec<RoutineOperand>, reverse: bool, zone: &Zone) -> PlpgsqlResult<LoopState> {
    const NAMES: [&str; 3] = ["lower bound", "upper bound", "BY value"];
    let mut numbers = [0, 0, 1];
    for ((operand, number), name) in operands.into_iter().zip(&mut numbers).zip(NAMES) {
        let RoutineOperand::Scalar(value, data_type) = operand else {
            return Err(RoutineError::unsupported("a record as a bound of a loop"));
        };
        match coerce(value, data_type, Type::Integer, zone)? {
            Value::Integer(value) => *number = i64::from(value),
            _ => return Err(null_value(&format!("{name} of FOR loop cannot be null"))),
        }
    }
    let [next, last, step] = numbers;
    if step <= 0 {
        let message = "BY value of FOR loop must be greater than zero";
        return Err(RoutineError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(LoopState::Count { next, last, step, reverse, ran: false })
}
