//! Executes `Action::SetSequence`: a sequence is made, or goes on elsewhere.
//!
//! Invariant: from then on the transaction counts the sequence itself, and its row is written when it commits.

use crate::failure;
use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::scene::{ExecutorStep, Scene};
use crate::sequences::{self, SequenceState};
use messages::concurrency::AccessKind;
use messages::program::{Action, Expression, SequenceValue};
use messages::schema::{CatalogEntry, SequenceSchema, TableSchema};
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::Value;

/// A sequence being set.
#[derive(Debug, Serialize, Deserialize)]
pub struct SequenceRun;

impl SequenceRun {
    /// Goes on. Errors: 22003 for a value of `setval` out of bounds, 22023 for one that ALTER SEQUENCE leaves so, those of the expressions.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::SetSequence { sequence, value } = action else { unreachable!("begun for a sequence") };
        let schema = sequences::definition(sequence);
        let item = sequences::item(sequence);
        let (before, state) = match (value, event) {
            (SequenceValue::First, _) => (None, SequenceState::first(schema)),
            (_, ExecutorEvent::Item(Some(row))) => {
                let before = match scene.scope.sequences.own_state(sequence.storage) {
                    Some(own) => own,
                    None => SequenceState::decode(&row)?,
                };
                match value {
                    SequenceValue::Set { value, is_called, supplied } => {
                        let alone = [Vec::new()];
                        let rows = if *supplied { scene.supplied } else { &alone };
                        for row in rows {
                            set(sequence, before, SetvalArguments { value, is_called }, row, scene)?;
                        }
                        return Ok(ExecutorStep::Done);
                    }
                    SequenceValue::Next(next) => (Some(before), SequenceState { last: *next, is_called: false }),
                    SequenceValue::First | SequenceValue::Kept => (Some(before), before),
                }
            }
            (_, ExecutorEvent::Item(None)) => {
                return Err(Failure::SchemaChanged { key: CatalogEntry::key(&sequence.name) });
            }
            _ => return Ok(ExecutorStep::Need(ExecutorNeed::Item(item, AccessKind::Write))),
        };
        check_kept(schema, state)?;
        scene.transaction.write(item, Some(state.encode(sequence)))?;
        scene.scope.sequences.set_own(sequence, before, state, false);
        Ok(ExecutorStep::Done)
    }
}

/// What `setval` is told beside the sequence.
#[derive(Clone, Copy)]
struct SetvalArguments<'a> {
    value: &'a Expression,
    is_called: &'a Expression,
}

/// `setval`. NULL sets nothing.
fn set(
    sequence: &Arc<TableSchema>,
    before: SequenceState,
    SetvalArguments { value, is_called }: SetvalArguments,
    supplied: &[Value],
    scene: &mut Scene,
) -> Result<(), Failure> {
    let value = scene.scope.evaluate(value, supplied)?.into_owned();
    let is_called = scene.scope.evaluate(is_called, supplied)?.as_boolean();
    let (Some(last), Some(is_called)) = (value.as_integer(), is_called) else {
        return scene.results.push(vec![Value::Null]);
    };
    let schema = sequences::definition(sequence);
    if !(schema.minimum..=schema.maximum).contains(&last) {
        let message = format!(
            "setval: value {last} is out of bounds for sequence \"{}\" ({}..{})",
            sequence.name, schema.minimum, schema.maximum
        );
        return Err(failure::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    let state = SequenceState { last, is_called };
    scene.transaction.write(sequences::item(sequence), Some(state.encode(sequence)))?;
    scene.scope.sequences.set_own(sequence, Some(before), state, true);
    scene.results.push(vec![Value::BigInt(last)])
}

/// Errors: 22023.
fn check_kept(schema: &SequenceSchema, state: SequenceState) -> Result<(), Failure> {
    let (limit, bound) = match state.last {
        last if last < schema.minimum => ("less than MINVALUE", schema.minimum),
        last if last > schema.maximum => ("greater than MAXVALUE", schema.maximum),
        _ => return Ok(()),
    };
    Err(failure::statement(
        sqlstate::INVALID_PARAMETER_VALUE,
        format!("RESTART value ({}) cannot be {limit} ({bound})", state.last),
    ))
}
