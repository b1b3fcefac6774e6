//! What a function of a trigger sees: the rows before and after, and which trigger it is (PostgreSQL's manual, section 43.10.1).

use crate::error::{PlpgsqlResult, RoutineError};
use crate::lexer::{self, BodyTokenKind};
use crate::program::DeclaredType;
use crate::store::RoutineOperand;
use std::borrow::Cow;
use values::{Type, Value};

/// The places of the variables `new` and `old`.
pub(crate) const NEW: usize = 0;
pub(crate) const OLD: usize = 1;
/// The variable of a trigger's arguments.
const ARGUMENTS: &str = "tg_argv";

/// A trigger that has fired.
#[derive(Clone, Debug)]
pub struct TriggerCall {
    /// The columns of the table's rows.
    pub fields: Vec<(String, Type)>,
    /// It fires for a row.
    pub is_for_row: bool,
    /// The row after the statement; `None`: there is none.
    pub new: Option<Vec<Value>>,
    /// The row before it.
    pub old: Option<Vec<Value>>,
    /// The trigger's name.
    pub name: String,
    /// `BEFORE` or `AFTER`.
    pub when: &'static str,
    /// `INSERT`, `UPDATE`, `DELETE` or `TRUNCATE`.
    pub operation: &'static str,
    /// The columns that an UPDATE names.
    pub named: Vec<String>,
    /// The table.
    pub relation: u32,
    /// Its name.
    pub table: String,
    /// Its schema's name.
    pub schema: String,
    /// What the trigger was made with.
    pub arguments: Vec<String>,
}

/// The variables of a function of a trigger, in the order of [`TriggerCall::variables`].
pub(crate) fn trigger_variables() -> Vec<(&'static str, DeclaredType)> {
    let text = || DeclaredType::Known(Type::Text);
    vec![
        ("new", DeclaredType::Record),
        ("old", DeclaredType::Record),
        ("tg_name", text()),
        ("tg_when", text()),
        ("tg_level", text()),
        ("tg_op", text()),
        ("tg_relid", DeclaredType::Known(Type::Oid)),
        ("tg_relname", text()),
        ("tg_table_name", text()),
        ("tg_table_schema", text()),
        ("tg_nargs", DeclaredType::Known(Type::Integer)),
        (ARGUMENTS, DeclaredType::Known(Type::Text.array())),
    ]
}

/// A text of a body in which subscripts of `TG_ARGV` are one more than they were: PostgreSQL counts these from 0, and arrays here begin at 1. Errors: 0A000 for
/// a slice of it.
pub(crate) fn arguments_from_one(text: &str) -> PlpgsqlResult<Cow<'_, str>> {
    let tokens = lexer::tokens(text)?;
    if !tokens.iter().any(|token| token.is(ARGUMENTS)) {
        return Ok(Cow::Borrowed(text));
    }
    let (mut shifted, mut end) = (String::with_capacity(text.len() + 8), 0);
    // Brackets around the place, and whether they are a subscript of the arguments.
    let mut open = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        shifted.push_str(&text[end..token.start]);
        end = token.end;
        let written = &text[token.start..token.end];
        match token.kind {
            BodyTokenKind::Mark("[") => {
                let is_theirs = place > 0 && tokens[place - 1].is(ARGUMENTS);
                open.push(is_theirs);
                shifted.push_str(if is_theirs { "[(" } else { written });
            }
            BodyTokenKind::Mark("]") => {
                let is_theirs = open.pop().unwrap_or(false);
                shifted.push_str(if is_theirs { ") + 1]" } else { written });
            }
            BodyTokenKind::Mark(":") if open.last() == Some(&true) => {
                return Err(RoutineError::unsupported("a slice of TG_ARGV").at(token.start));
            }
            _ => shifted.push_str(written),
        }
    }
    Ok(Cow::Owned(shifted))
}

impl TriggerCall {
    /// What the variables hold, but for the rows.
    pub(crate) fn variables(&self) -> Vec<Option<RoutineOperand>> {
        let text = |text: &str| Some(RoutineOperand::Scalar(Value::text(text), Type::Text));
        let count = i32::try_from(self.arguments.len()).unwrap_or(i32::MAX);
        let arguments = self.arguments.iter().map(|argument| Value::text(argument.as_str())).collect();
        vec![
            None,
            None,
            text(&self.name),
            text(self.when),
            text(if self.is_for_row { "ROW" } else { "STATEMENT" }),
            text(self.operation),
            Some(RoutineOperand::Scalar(Value::Oid(self.relation), Type::Oid)),
            text(&self.table),
            text(&self.table),
            text(&self.schema),
            Some(RoutineOperand::Scalar(Value::Integer(count), Type::Integer)),
            Some(RoutineOperand::Scalar(Value::array(Type::Text, arguments), Type::Text.array())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::arguments_from_one;

    #[test]
    fn subscripts_of_arguments_count_from_one() {
        let shifted = |text: &str| arguments_from_one(text).map(|text| text.into_owned());
        assert_eq!(shifted("TG_ARGV[0]").unwrap(), "TG_ARGV[(0) + 1]");
        assert_eq!(
            shifted("a[tg_argv[b[1]]::int] || 'TG_ARGV[0]'").unwrap(),
            "a[tg_argv[(b[1]) + 1]::int] || 'TG_ARGV[0]'"
        );
        assert_eq!(shifted("b[1]").unwrap(), "b[1]");
        assert_eq!(shifted("TG_ARGV[0:1]").unwrap_err().sqlstate, "0A000");
        assert_eq!(shifted("TG_ARGV]").unwrap(), "TG_ARGV]");
    }
}
