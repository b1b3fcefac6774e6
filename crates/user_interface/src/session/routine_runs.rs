//! How far routines in PL/pgSQL have come.
//!
//! Invariant: a routine waits for the one that it has called, which stands behind it.

use crate::session::firing::FiringRun;
use crate::sql::routine_call::RoutineCall;
use crate::sql::transition_tables::TransitionTables;
use messages::Timestamp;
use plpgsql::machine::RoutineStatement;
use plpgsql::{EffectOutcome, RoutineMachine};
use std::sync::Arc;
use values::{Type, Value};

/// Routines that call each other, and what the innermost one goes on with. `S`: a statement under way.
#[derive(Debug)]
pub struct Routines<S> {
    pub(super) runs: Vec<RoutineRun<S>>,
    /// A routine goes on at this moment; what it asked for may be done at once.
    pub(super) is_driving: bool,
    pub(super) next: Option<EffectOutcome>,
    /// The statement that may be run again if its transaction, which is about to commit, loses a conflict.
    pub(super) again: Option<S>,
    /// How often it was.
    pub(super) tries: u32,
    /// The client was told something of it.
    pub(super) told: bool,
    /// How many statements that write routines have asked for.
    pub(super) writes: u64,
    /// Functions that queries have called.
    pub(super) known: Vec<KnownFunction>,
}

/// A function that queries call, ready to run.
#[derive(Clone, Debug)]
pub(super) struct KnownFunction {
    pub(super) oid: u32,
    /// The catalog's name of it.
    pub(super) name: String,
    /// The version of its catalog row.
    pub(super) version: Timestamp,
    pub(super) call: Arc<RoutineCall>,
    /// It is not volatile, and may change nothing.
    pub(super) only_reads: bool,
    /// Its parameters: whether a call has an argument for it, and its type.
    pub(super) parameters: Arc<[(bool, Type)]>,
}

impl<S> Routines<S> {
    /// Whether one is under way.
    pub fn is_on(&self) -> bool {
        !self.runs.is_empty()
    }

    /// How many queries wait for functions that they have called.
    pub fn suspended(&self) -> u32 {
        self.runs.iter().filter(|run| run.caller == RoutineCaller::Query).count() as u32
    }
}

impl<S> Default for Routines<S> {
    fn default() -> Self {
        Routines {
            runs: Vec::new(),
            is_driving: false,
            next: None,
            again: None,
            tries: 0,
            told: false,
            writes: 0,
            known: Vec::new(),
        }
    }
}

/// A routine under way.
#[derive(Debug)]
pub(super) struct RoutineRun<S> {
    /// The statement that it is, or whose query waits for it.
    pub(super) outer: S,
    pub(super) caller: RoutineCaller,
    /// What the function of a trigger reads under names of its own.
    pub(super) transitions: Option<TransitionTables>,
    /// It is a function that is not volatile: its statements may change nothing.
    pub(super) only_reads: bool,
    pub(super) call: Option<Arc<RoutineCall>>,
    /// None until its arguments are computed.
    pub(super) machine: Option<RunningMachine>,
    /// What it has asked for.
    pub(super) statement: Option<Arc<RoutineStatement>>,
    /// The rows of that.
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) bytes: usize,
    /// It has more rows than a routine may keep.
    pub(super) is_beyond: bool,
    pub(super) stage: RoutineStage,
}

/// Who waits for a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoutineCaller {
    /// The statement that it is.
    Statement,
    /// The query of a statement.
    Query,
    /// The run below it, whose trigger it is.
    Trigger,
}

/// What says what is to be done.
#[derive(Debug)]
pub(super) enum RunningMachine {
    /// A routine in PL/pgSQL.
    Routine(RoutineMachine),
    /// A statement that fires triggers.
    Firing(FiringRun),
}

/// What is waited for.
#[derive(Debug)]
pub(super) enum RoutineStage {
    /// A statement.
    Statement,
    /// A savepoint is returned to, and then released.
    Returning(String),
    /// A turn of the servers.
    Pausing(Option<EffectOutcome>),
}
