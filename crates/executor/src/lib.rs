//! Plans of typed query trees, and the operators that run them.
//!
//! A pure library. It knows no socket, no clock, no transaction and no thread: rows come through a need that whoever
//! runs it answers, the time and random bits with each execution. What is not built yet is told when a statement is
//! planned, never while it runs.
//!
//! Reading order: [`access`] and [`error`] for what is shared with the caller; `expression` for what is computed in a
//! row; `operators` for what is done with rows; `planner` for how a tree becomes a plan; [`execution`] runs it.

pub mod access;
mod equality;
pub mod error;
pub mod execution;
mod expression;
mod hashing;
mod made_calls;
mod operators;
mod plan;
mod planner;
mod run;

pub use access::{
    AccessPathKeys, CallOrder, DomainMeaning, ExecutionStep, KeyBounds, RelationPaths, RoutineCode, RoutineMeaning,
    RowNeed, ScanId, ScanOrder, TableAccess,
};
pub use equality::equality_key;
pub use error::ExecutionError;
pub use execution::PlanExecution;
pub use plan::QueryPlan;
pub use planner::{PlanOrReason, plan, plan_or_reason};
pub use run::ExecutionLimits;
