//! What a session does with rows of arguments: calls that do something to sessions.

use crate::errors::{Result, SqlError, sqlstate};
use crate::session::state::{Block, Execution};
use crate::session::turn::Turn;
use crate::sql::effects::{SessionEffect, is_role};
use crate::sql::utility::RoleChange;
use messages::role::BOOTSTRAP_OID;
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
                    (SessionEffect::Configure { .. }, Value::Array(arguments)) => {
                        *value = self.set_config(arguments)?
                    }
                    _ => {}
                }
            }
        }
        Ok(rows)
    }

    /// Sets a parameter: name, value, and whether it ends with the transaction. Errors: 22004 for no name, and those of SET.
    fn set_config(&mut self, arguments: &Array) -> Result<Value> {
        let text = |place: usize| match arguments.values().get(place) {
            Some(Value::Text(text)) => Some(&**text),
            _ => None,
        };
        let Some(name) = text(0) else {
            return Err(SqlError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
        };
        if is_role(name) {
            return self.configure_role(&name.to_ascii_lowercase(), text(1), text(2) == Some("true"));
        }
        self.set_in_transaction(&name.to_ascii_lowercase(), text(1), text(2) == Some("true"))?;
        Ok(Value::text(self.with_facts(|facts| facts.settings.show(name, facts))?))
    }

    /// Has the session act as a role. What decides whether it may is what the statement relies on. Errors: those of SET ROLE; 0A000 where something else decides.
    fn configure_role(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<Value> {
        let of_session = name == "session_authorization";
        let (_, session_role) = self.session.session_user();
        if of_session && session_role != self.session.role && self.session.role != BOOTSTRAP_OID {
            return Err(SqlError::unsupported("set_config() of session_authorization for another session user")
                .with_hint("Use SET SESSION AUTHORIZATION."));
        }
        let role = value.filter(|value| of_session || *value != "none").map(ToOwned::to_owned);
        self.take_role(&RoleChange { of_session, name: role, local, resets: false })?;
        // Of a statement that is all of its transaction, nothing is left of what is local.
        match (value, local && self.session.block == Block::None) {
            (Some(value), true) => Ok(Value::text(value)),
            _ => Ok(Value::text(self.with_facts(|facts| facts.settings.show(name, facts))?)),
        }
    }
}
