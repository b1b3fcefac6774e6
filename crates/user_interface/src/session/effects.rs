//! What a session does with rows of arguments: calls that do something to sessions.

use crate::errors::{Result, SqlError, sqlstate};
use crate::session::state::Execution;
use crate::session::turn::Turn;
use crate::sql::effects::SessionEffect;
use values::{Array, Value};

impl Turn<'_> {
    /// The rows with what the calls give back in the place of their arguments. Errors: those of the calls.
    pub(super) fn take_effects(&mut self, execution: &Execution, mut rows: Vec<Vec<Value>>) -> Result<Vec<Vec<Value>>> {
        for row in &mut rows {
            for column in execution.prepared.effects.iter() {
                let Some(value) = row.get_mut(column.place) else { continue };
                match (column.effect, &*value) {
                    (SessionEffect::Signal(signal), Value::Integer(process)) => {
                        *value = Value::Boolean(self.signal(*process, signal)?);
                    }
                    (SessionEffect::Configure, Value::Array(arguments)) => *value = self.set_config(arguments)?,
                    _ => {}
                }
            }
        }
        Ok(rows)
    }

    /// Sets a parameter: name, value, and whether it ends with the transaction. Errors: 22004 for no name, 0A000 for a role, and those of SET.
    fn set_config(&mut self, arguments: &Array) -> Result<Value> {
        let text = |place: usize| match arguments.values().get(place) {
            Some(Value::Text(text)) => Some(&**text),
            _ => None,
        };
        let Some(name) = text(0) else {
            return Err(SqlError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
        };
        if ["role", "session_authorization"].iter().any(|role| name.eq_ignore_ascii_case(role)) {
            let what = format!("set_config() of {}", name.to_ascii_lowercase());
            return Err(SqlError::unsupported(&what).with_hint("Use SET ROLE or SET SESSION AUTHORIZATION."));
        }
        self.set_in_transaction(&name.to_ascii_lowercase(), text(1), text(2) == Some("true"))?;
        Ok(Value::text(self.with_facts(|facts| facts.settings.show(name, facts))?))
    }
}
