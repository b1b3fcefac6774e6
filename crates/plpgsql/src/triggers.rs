//! What a function of a trigger sees: the rows before and after, and which trigger it is (PostgreSQL's manual, section 43.10.1).

use crate::program::DeclaredType;
use crate::store::{RecordField, RoutineOperand};
use values::{Type, Value};

/// A trigger that has fired.
#[derive(Clone, Debug)]
pub struct TriggerCall {
    /// The row after the statement; `None`: there is none.
    pub new: Option<Vec<RecordField>>,
    /// The row before it.
    pub old: Option<Vec<RecordField>>,
    /// The trigger's name.
    pub name: String,
    /// `BEFORE` or `AFTER`.
    pub when: &'static str,
    /// `ROW` or `STATEMENT`.
    pub level: &'static str,
    /// `INSERT`, `UPDATE`, `DELETE` or `TRUNCATE`.
    pub operation: &'static str,
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
        ("tg_argv", DeclaredType::Known(Type::Text.array())),
    ]
}

impl TriggerCall {
    pub(crate) fn variables(self) -> Vec<Option<RoutineOperand>> {
        let text = |text: &str| Some(RoutineOperand::Scalar(Value::text(text), Type::Text));
        let count = i32::try_from(self.arguments.len()).unwrap_or(i32::MAX);
        let arguments = self.arguments.iter().map(|argument| Value::text(argument.as_str())).collect();
        vec![
            self.new.map(RoutineOperand::Record),
            self.old.map(RoutineOperand::Record),
            text(&self.name),
            text(self.when),
            text(self.level),
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
