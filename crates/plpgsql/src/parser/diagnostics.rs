//! GET DIAGNOSTICS.

use super::BodyParser;
use crate::error::{PlpgsqlResult, RoutineError};
use crate::program::{AssignmentTarget, DiagnosticsItem, Instruction};

/// Items by their words, and whether they are of GET STACKED DIAGNOSTICS.
const ITEMS: [(&str, DiagnosticsItem, bool); 11] = [
    ("row_count", DiagnosticsItem::RowCount, false),
    ("pg_exception_context", DiagnosticsItem::ErrorContext, true),
    ("pg_exception_detail", DiagnosticsItem::ErrorDetail, true),
    ("pg_exception_hint", DiagnosticsItem::ErrorHint, true),
    ("returned_sqlstate", DiagnosticsItem::ReturnedCode, true),
    ("column_name", DiagnosticsItem::ColumnName, true),
    ("constraint_name", DiagnosticsItem::ConstraintName, true),
    ("pg_datatype_name", DiagnosticsItem::DataTypeName, true),
    ("message_text", DiagnosticsItem::MessageText, true),
    ("table_name", DiagnosticsItem::TableName, true),
    ("schema_name", DiagnosticsItem::SchemaName, true),
];

impl BodyParser<'_> {
    /// `GET [STACKED] DIAGNOSTICS a = ITEM, ..`, behind the first word.
    pub(super) fn diagnostics(&mut self) -> PlpgsqlResult<()> {
        let is_stacked = self.skip("stacked");
        if is_stacked {
            self.statement.1 = "GET STACKED DIAGNOSTICS";
        } else {
            self.skip("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            items.push(self.item(is_stacked)?);
            if !self.skip_mark(",") {
                break;
            }
        }
        self.expect_mark(";")?;
        self.emit(Instruction::Diagnostics(is_stacked, items))?;
        Ok(())
    }

    fn item(&mut self, is_stacked: bool) -> PlpgsqlResult<(AssignmentTarget, DiagnosticsItem)> {
        let at = self.peek().start;
        let names = self.names()?;
        let Some(place) = self.scopes.find(&names) else {
            return Err(RoutineError::syntax(format!("\"{}\" is not a known variable", names.join(".")), at));
        };
        let target = self.target_of(place, at)?;
        if !self.skip_mark("=") && !self.skip_mark(":=") {
            return Err(self.unexpected());
        }
        if self.peek().is("pg_context") {
            return Err(RoutineError::unsupported("PG_CONTEXT of GET DIAGNOSTICS").at(self.peek().start));
        }
        let found = ITEMS.iter().find(|(word, ..)| self.peek().is(word));
        let Some((word, item, of_stacked)) = found else {
            return Err(self.near("unrecognized GET DIAGNOSTICS item"));
        };
        if *of_stacked != is_stacked {
            let what = if is_stacked { "GET STACKED DIAGNOSTICS" } else { "GET CURRENT DIAGNOSTICS" };
            let message = format!("diagnostics item {} is not allowed in {what}", word.to_uppercase());
            return Err(RoutineError::syntax(message, self.peek().start));
        }
        self.advance();
        Ok((target, *item))
    }
}
