//! RAISE and GET DIAGNOSTICS.

use super::{Effect, RoutineMachine, null_value};
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::program::{AssignmentTarget, DiagnosticsItem, NoticeLevel, Raise, RaiseOption};
use crate::store::{RoutineOperand, shown, shown_record};
use sqlstate::conditions;
use std::borrow::Cow;
use values::{Type, Value, Zone};

impl RoutineMachine {
    /// What RAISE tells. Errors: that which it raises.
    pub(super) fn raise(&mut self, raise: &Raise, operands: Vec<RoutineOperand>, zone: &Zone) -> PlpgsqlResult<Effect> {
        let mut operands = operands.into_iter();
        let arguments: Vec<String> = operands.by_ref().take(raise.arguments).map(|one| text_of(&one, zone)).collect();
        let mut told = RoutineError::default();
        let (mut message, mut code, mut condition) = (None, None, None);
        if let Some(name) = &raise.condition {
            code = Some(code_of(name)?);
            condition = Some(name.clone());
        }
        if let Some(format) = &raise.format {
            message = Some(formatted(format, &arguments));
        }
        for (option, operand) in raise.options.iter().zip(operands) {
            if let RoutineOperand::Scalar(Value::Null, _) = operand {
                return Err(null_value("RAISE statement option cannot be null"));
            }
            let text = text_of(&operand, zone);
            let (slot, name) = match option {
                RaiseOption::Code => {
                    if code.is_some() {
                        return Err(twice("ERRCODE"));
                    }
                    code = Some(code_of(&text)?);
                    condition = Some(text);
                    continue;
                }
                RaiseOption::Message => (&mut message, "MESSAGE"),
                RaiseOption::Detail => (&mut told.detail, "DETAIL"),
                RaiseOption::Hint => (&mut told.hint, "HINT"),
                RaiseOption::Column => (&mut told.column, "COLUMN"),
                RaiseOption::Constraint => (&mut told.constraint, "CONSTRAINT"),
                RaiseOption::DataType => (&mut told.data_type, "DATATYPE"),
                RaiseOption::Table => (&mut told.table, "TABLE"),
                RaiseOption::Schema => (&mut told.schema, "SCHEMA"),
            };
            if slot.replace(text).is_some() {
                return Err(twice(name));
            }
        }
        let default = match raise.level {
            NoticeLevel::Exception => sqlstate::RAISE_EXCEPTION,
            NoticeLevel::Warning => sqlstate::WARNING,
            _ => sqlstate::SUCCESSFUL_COMPLETION,
        };
        told.sqlstate = code.unwrap_or(Cow::Borrowed(default));
        told.message = message.or(condition).unwrap_or_else(|| told.sqlstate.to_string());
        let mut told = Box::new(told);
        if raise.level == NoticeLevel::Exception {
            return Err(told);
        }
        self.add_context(&mut told);
        Ok(Effect::Notice(raise.level, told))
    }

    /// RAISE alone.
    pub(super) fn raised_again(&self) -> Box<RoutineError> {
        match self.errors.last() {
            Some(error) => Box::new(RoutineError { is_own: true, ..error.clone() }),
            None => RoutineError::new(
                sqlstate::STACKED_DIAGNOSTICS_WITHOUT_HANDLER,
                "RAISE without parameters cannot be used outside an exception handler",
            ),
        }
    }

    /// GET DIAGNOSTICS.
    pub(super) fn diagnose(
        &mut self,
        is_stacked: bool,
        items: &[(AssignmentTarget, DiagnosticsItem)],
        zone: &Zone,
    ) -> PlpgsqlResult<()> {
        if is_stacked && self.errors.is_empty() {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(RoutineError::new(sqlstate::STACKED_DIAGNOSTICS_WITHOUT_HANDLER, message));
        }
        let error = self.errors.last().cloned().unwrap_or_default();
        for (target, item) in items {
            let text = match item {
                DiagnosticsItem::RowCount => {
                    let count = i64::try_from(self.row_count).unwrap_or(i64::MAX);
                    self.store.assign(target, RoutineOperand::Scalar(Value::BigInt(count), Type::BigInt), zone)?;
                    continue;
                }
                DiagnosticsItem::Context => None,
                DiagnosticsItem::ErrorContext => error.context.clone(),
                DiagnosticsItem::ErrorDetail => error.detail.clone(),
                DiagnosticsItem::ErrorHint => error.hint.clone(),
                DiagnosticsItem::ReturnedCode => Some(error.sqlstate.to_string()),
                DiagnosticsItem::ColumnName => error.column.clone(),
                DiagnosticsItem::ConstraintName => error.constraint.clone(),
                DiagnosticsItem::DataTypeName => error.data_type.clone(),
                DiagnosticsItem::MessageText => Some(error.message.clone()),
                DiagnosticsItem::TableName => error.table.clone(),
                DiagnosticsItem::SchemaName => error.schema.clone(),
            };
            let value = Value::text(text.unwrap_or_default());
            self.store.assign(target, RoutineOperand::Scalar(value, Type::Text), zone)?;
        }
        Ok(())
    }
}

fn twice(option: &str) -> Box<RoutineError> {
    RoutineError::new(sqlstate::SYNTAX_ERROR, format!("RAISE option already specified: {option}"))
}

/// A condition's code, or a code. Errors: 42704.
fn code_of(name: &str) -> PlpgsqlResult<Cow<'static, str>> {
    if conditions::is_code(name) {
        return Ok(Cow::Owned(name.to_owned()));
    }
    conditions::codes(name).next().map(Cow::Borrowed).ok_or_else(|| {
        let message = format!("unrecognized exception condition \"{name}\"");
        RoutineError::new(sqlstate::UNDEFINED_OBJECT, message)
    })
}

fn text_of(operand: &RoutineOperand, zone: &Zone) -> String {
    match operand {
        RoutineOperand::Scalar(Value::Null, _) => "<NULL>".to_owned(),
        RoutineOperand::Scalar(value, data_type) => shown(value, *data_type, zone),
        RoutineOperand::Record(fields) => shown_record(fields, zone),
    }
}

/// A format with arguments in the places of its signs.
fn formatted(format: &str, arguments: &[String]) -> String {
    let mut out = String::with_capacity(format.len());
    let mut arguments = arguments.iter();
    let mut characters = format.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '%' if characters.peek() == Some(&'%') => {
                characters.next();
                out.push('%');
            }
            '%' => out.push_str(arguments.next().map_or("", String::as_str)),
            other => out.push(other),
        }
    }
    out
}
