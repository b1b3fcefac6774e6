//! What statements have yielded: to variables, and to FOUND.

use super::{AnswerKind, LoopState, RoutineMachine, StatementAnswer};
use crate::RoutineCatalog;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::program::{Instruction, IntoTarget};
use crate::store::RoutineOperand;
use std::sync::Arc;
use values::{Type, Value};

impl RoutineMachine {
    /// The value of an expression. Errors: 42601 for several columns, 21000 for several rows.
    pub(super) fn operand_came(&mut self, mut answer: StatementAnswer) -> PlpgsqlResult<()> {
        let [(_, data_type)] = answer.columns.as_slice() else {
            let count = answer.columns.len();
            let columns = if count == 1 { "column" } else { "columns" };
            return Err(RoutineError::new(sqlstate::SYNTAX_ERROR, format!("query returned {count} {columns}")));
        };
        if answer.count > 1 {
            let message = "query returned more than one row";
            return Err(RoutineError::new(sqlstate::CARDINALITY_VIOLATION, message));
        }
        let value = answer.rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null);
        self.operands.push(RoutineOperand::Scalar(value, *data_type));
        Ok(())
    }

    /// The statement of the operation at hand has run.
    pub(super) fn statement_answered(
        &mut self,
        answer: StatementAnswer,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<()> {
        let program = Arc::clone(&self.program);
        let Some(operation) = program.operations.get(self.at) else { return Ok(()) };
        match &operation.instruction {
            Instruction::Execute(_, into) => {
                self.row_count = answer.count;
                if answer.kind != AnswerKind::Other {
                    self.set_found(answer.count > 0, catalog)?;
                }
                match into {
                    Some(into) => self.into(into, answer, true, catalog)?,
                    None if !answer.columns.is_empty() => return Err(no_destination(answer.kind)),
                    None => {}
                }
            }
            Instruction::ExecuteText(_, into) => {
                self.row_count = answer.count;
                if let Some(into) = into {
                    self.into(into, answer, false, catalog)?;
                }
            }
            Instruction::Perform(_) => {
                self.row_count = answer.count;
                self.set_found(answer.count > 0, catalog)?;
            }
            Instruction::BeginRows(number, _) | Instruction::BeginTextRows(number, _) => {
                if answer.columns.is_empty() {
                    let message = "cannot open query as cursor";
                    return Err(RoutineError::new(sqlstate::INVALID_CURSOR_DEFINITION, message));
                }
                let bytes = answer.rows.iter().flatten().map(Value::size_in_memory).sum();
                self.check_kept(bytes)?;
                let rows = answer.rows.into();
                self.loops[*number] = Some(LoopState::Rows { columns: answer.columns, rows, bytes, ran: false });
            }
            Instruction::ReturnQuery(_) | Instruction::ReturnTextQuery(_) => {
                let found = answer.count > 0;
                self.return_rows(answer)?;
                self.set_found(found, catalog)?;
            }
            _ => {}
        }
        self.at += 1;
        Ok(())
    }

    /// INTO. Errors: P0002 and P0003.
    fn into(
        &mut self,
        into: &IntoTarget,
        answer: StatementAnswer,
        is_static: bool,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<()> {
        if answer.columns.is_empty() {
            let message = "INTO used with a command that cannot return data";
            return Err(RoutineError::new(sqlstate::SYNTAX_ERROR, message));
        }
        let (columns, mut rows): (Vec<(String, Type)>, _) = (answer.columns, answer.rows.into_iter());
        let first = rows.next();
        if first.is_none() && into.is_strict {
            return Err(RoutineError::new(sqlstate::NO_DATA_FOUND, "query returned no rows"));
        }
        // A statement that changes several rows has no first one.
        let is_one = into.is_strict || (is_static && answer.kind == AnswerKind::Change);
        if is_one && rows.next().is_some() {
            return Err(RoutineError::new(sqlstate::TOO_MANY_ROWS, "query returned more than one row")
                .with_hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        self.store.assign_row(&into.target, &columns, first, catalog.zone())
    }
}

fn no_destination(kind: AnswerKind) -> Box<RoutineError> {
    let error = RoutineError::new(sqlstate::SYNTAX_ERROR, "query has no destination for result data");
    match kind {
        AnswerKind::Query => error.with_hint("If you want to discard the results of a SELECT, use PERFORM instead."),
        AnswerKind::Change | AnswerKind::Other => error,
    }
}
