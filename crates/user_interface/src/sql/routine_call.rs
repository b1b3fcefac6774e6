//! A routine in PL/pgSQL, ready to run.

use plpgsql::RoutineProgram;
use std::sync::Arc;

/// A routine that a statement runs.
#[derive(Debug)]
pub struct RoutineCall {
    /// What it does.
    pub program: Arc<RoutineProgram>,
    /// What messages call it.
    pub name: String,
    /// The query that computes its arguments, if it has any.
    pub arguments: Option<Arc<str>>,
    /// Which of them it gives back.
    pub outputs: Vec<usize>,
}
