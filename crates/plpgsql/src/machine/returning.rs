//! What a routine gives back.

use super::{Effect, RoutineMachine, StatementAnswer};
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::program::Returns;
use crate::store::{RoutineOperand, coerce};
use values::{Type, Value, Zone};

impl RoutineMachine {
    /// RETURN NEXT. Errors: those of casts, 54000 for too much.
    pub(super) fn return_next(&mut self, operand: Option<RoutineOperand>, zone: &Zone) -> PlpgsqlResult<()> {
        let Returns::Set { columns, has_outputs } = &self.program.returns else { return Ok(()) };
        let row = match (has_outputs, columns.first()) {
            (false, Some(of)) => vec![returned(operand, *of, zone)?],
            _ => self.output_values(),
        };
        self.keep_rows(vec![row])
    }

    /// Rows of RETURN QUERY. Errors: 42804 for other columns.
    pub(super) fn return_rows(&mut self, answer: StatementAnswer) -> PlpgsqlResult<()> {
        let Returns::Set { columns, .. } = &self.program.returns else { return Ok(()) };
        if answer.columns.is_empty() {
            return Err(RoutineError::new(sqlstate::INVALID_CURSOR_DEFINITION, "cannot open query as cursor"));
        }
        let differs = |detail: String| {
            let message = "structure of query does not match function result type";
            let mut error = RoutineError::new(sqlstate::DATATYPE_MISMATCH, message).with_detail(detail);
            error.context = self.statement_text().map(|text| format!("SQL statement \"{text}\""));
            error
        };
        let (found, wanted) = (answer.columns.len(), columns.len());
        if found != wanted {
            let detail =
                format!("Number of returned columns ({found}) does not match expected column count ({wanted}).");
            return Err(differs(detail));
        }
        for (number, ((_, found), wanted)) in (1..).zip(answer.columns.iter().zip(columns)) {
            let (found, wanted) = (found.unmodified(), wanted.unmodified());
            if found != wanted {
                let (found, wanted) = (found.base_name(), wanted.base_name());
                let detail = format!("Returned type {found} does not match expected type {wanted} in column {number}.");
                return Err(differs(detail));
            }
        }
        self.row_count = answer.count;
        self.keep_rows(answer.rows)
    }

    fn keep_rows(&mut self, rows: Vec<Vec<Value>>) -> PlpgsqlResult<()> {
        self.kept += rows.iter().flatten().map(Value::size_in_memory).sum::<usize>();
        self.check_kept(0)?;
        self.rows.extend(rows);
        Ok(())
    }

    /// The routine is over without an error, but that its value may be none of its type.
    pub(super) fn give_back(&mut self, zone: &Zone) -> Effect {
        let rows = match self.program.returns {
            Returns::Nothing | Returns::Outputs => vec![self.output_values()],
            Returns::Void => vec![vec![Value::text("")]],
            Returns::Value(of) => match returned(self.result.take(), of, zone) {
                Ok(value) => vec![vec![value]],
                Err(mut error) => {
                    let during = "while casting return value to function's return type";
                    error.context = Some(format!("PL/pgSQL function {} {during}", self.name));
                    return self.over(Effect::Failed(error));
                }
            },
            Returns::Set { .. } => std::mem::take(&mut self.rows),
            Returns::Row => match self.returned_row() {
                Ok(row) => row.into_iter().collect(),
                Err(error) => return self.over(Effect::Failed(error)),
            },
        };
        self.over(Effect::Done(rows))
    }

    /// The row that a function of a trigger gives back. Errors: 42804 for one that is none of the table's.
    fn returned_row(&mut self) -> PlpgsqlResult<Option<Vec<Value>>> {
        let fields = match self.result.take() {
            Some(RoutineOperand::Record(fields)) => fields,
            None | Some(RoutineOperand::Scalar(Value::Null, _)) => return Ok(None),
            Some(RoutineOperand::Scalar(..)) => {
                let message = "cannot return non-composite value from function returning composite type";
                return Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message));
            }
        };
        let Some(wanted) = &self.row else { return Ok(None) };
        let differs = |detail: String| {
            let message = "returned row structure does not match the structure of the triggering table";
            let mut error = RoutineError::new(sqlstate::DATATYPE_MISMATCH, message).with_detail(detail);
            error.context = Some(format!("PL/pgSQL function {} during function exit", self.name));
            error
        };
        if fields.len() != wanted.len() {
            let (found, wanted) = (fields.len(), wanted.len());
            return Err(differs(format!(
                "Number of returned columns ({found}) does not match expected column count ({wanted})."
            )));
        }
        for (number, (field, wanted)) in (1..).zip(fields.iter().zip(wanted)) {
            let (found, wanted) = (field.data_type.unmodified(), wanted.unmodified());
            if found != wanted {
                let (found, wanted) = (found.base_name(), wanted.base_name());
                return Err(differs(format!(
                    "Returned type {found} does not match expected type {wanted} in column {number}."
                )));
            }
        }
        Ok(Some(fields.into_iter().map(|field| field.value).collect()))
    }

    fn output_values(&self) -> Vec<Value> {
        let value = |number: &usize| match self.store.whole(*number) {
            Some(RoutineOperand::Scalar(value, _)) => value,
            _ => Value::Null,
        };
        self.outputs.iter().map(value).collect()
    }
}

/// A value that is given back, as one of this type.
fn returned(operand: Option<RoutineOperand>, of: Type, zone: &Zone) -> PlpgsqlResult<Value> {
    match operand {
        Some(RoutineOperand::Scalar(value, data_type)) => coerce(value, data_type, of, zone),
        Some(RoutineOperand::Record(_)) => {
            let message = "cannot return composite value from function with scalar result type";
            Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message))
        }
        None => Ok(Value::Null),
    }
}
