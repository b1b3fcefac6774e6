//! Executes `Action::Notify`: what is said is kept with the transaction until that commits.
//!
//! Invariant: nothing is read and nothing is locked, so two transactions that notify never wait for each other.

use crate::failure;
use crate::scene::{ExecutorStep, Scene};
use messages::Notification;
use messages::notification::{CHANNEL_BYTES_END, PAYLOAD_BYTES_END};
use messages::program::Action;
use messages::session::Failure;
use std::sync::Arc;
use values::Value;

/// Says it. Errors: 22023, 0A000, 54000, and those of the expressions.
pub(super) fn run(action: &Action, scene: &mut Scene) -> Result<ExecutorStep, Failure> {
    let Action::Notify { channel, payload, process, database } = action else {
        unreachable!("begun for a notification")
    };
    let channel = text_of(&*scene.scope.evaluate(channel, &[])?)?;
    let payload = text_of(&*scene.scope.evaluate(payload, &[])?)?;
    let refused = |message| Err(failure::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
    if channel.is_empty() {
        return refused("channel name cannot be empty");
    }
    if channel.len() >= CHANNEL_BYTES_END {
        return refused("channel name too long");
    }
    if payload.len() >= PAYLOAD_BYTES_END {
        return refused("payload string too long");
    }
    if scene.transaction.is_snapshot() {
        return Err(failure::statement(
            sqlstate::FEATURE_NOT_SUPPORTED,
            "NOTIFY in a read-only transaction is not supported",
        ));
    }
    scene.transaction.notify(Notification { channel, payload, process: *process, database: *database })?;
    Ok(ExecutorStep::Done)
}

/// A text; NULL is an empty one.
fn text_of(value: &Value) -> Result<Arc<str>, Failure> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Null => Ok(Arc::from("")),
        _ => Err(failure::statement(sqlstate::INTERNAL_ERROR, "what a notification says is no text")),
    }
}
