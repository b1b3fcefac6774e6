//! From a typed query tree to a plan.
//!
//! Queries are planned inwards: `levels` has those around with their tables of WITH, `frames` the layouts of the rows
//! that are known outside. A column's place is looked up in the row at hand, then in the frames of its query.
//! Reading order: `frame`, `compile`, `query`, `sets`, `from`, `paths`, `orders`, `keyed`, `join_order`, `joins`, `json`, `grouping`, `windows`, `common`, `routines`, `domains`.

mod common;
mod compile;
mod compile_parts;
mod domains;
mod folding;
mod frame;
mod from;
mod grouping;
mod join_order;
mod joins;
mod json;
mod keyed;
mod orders;
mod paths;
mod query;
mod routines;
mod sets;
mod windows;

use crate::access::RelationPaths;
use crate::error::ExecutionError;
use crate::plan::QueryPlan;
use analyzer::facts::Facts;
use analyzer::relations::RelationId;
use analyzer::tree::{QueryId, Tree};
use analyzer::{Analyzed, Catalog};
use common::CommonState;
use frame::ColumnFrame;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::Zone;

/// A plan, or what in the statement is not built.
pub type PlanOrReason = std::result::Result<Arc<QueryPlan>, String>;

/// Why no plan is made.
enum Refusal {
    /// Something is not built.
    NotBuilt(String),
    /// The statement is wrong.
    Failed(ExecutionError),
}

/// Steps of one planning: far more than any statement takes that is written by hand.
const STEPS_MAX: u32 = 4 << 20;

/// After so many steps it is asked whether the statement is still wanted.
const STEPS_UNASKED: u32 = 256;

type PlanResult<T> = Result<T, Refusal>;

impl From<ExecutionError> for Refusal {
    fn from(error: ExecutionError) -> Refusal {
        Refusal::Failed(error)
    }
}

/// Says what is not built.
fn not_built<T>(what: impl Into<String>) -> PlanResult<T> {
    Err(Refusal::NotBuilt(what.into()))
}

/// Plans an analyzed SELECT (also VALUES, set operations, WITH). Its constants are read in the time zone. `None`: something in it is not built; the caller takes another way.
///
/// # Errors
/// What PostgreSQL says of a constant that its type cannot be read from.
pub fn plan(
    catalog: &dyn Catalog,
    analyzed: &Analyzed,
    relations: &dyn RelationPaths,
    zone: &Zone,
) -> Result<Option<Arc<QueryPlan>>, ExecutionError> {
    Ok(plan_or_reason(catalog, analyzed, relations, zone)?.ok())
}

/// The same with what is not built, for whoever looks into that.
///
/// # Errors
/// As [`plan()`].
pub fn plan_or_reason(
    catalog: &dyn Catalog,
    analyzed: &Analyzed,
    relations: &dyn RelationPaths,
    zone: &Zone,
) -> Result<PlanOrReason, ExecutionError> {
    let mut planner = QueryPlanner {
        catalog,
        facts: Facts::postgresql15(),
        tree: &analyzed.tree,
        relations,
        zone,
        levels: Vec::new(),
        frames: Vec::new(),
        read: BTreeSet::new(),
        subplans: 0,
        shared: 0,
        working: 0,
        keyed: 0,
        outer_log: Vec::new(),
        volatile_calls: 0,
        working_reads: Vec::new(),
        wanted: BTreeMap::new(),
        case_constants: Vec::new(),
        steps: 0,
        patterns: evaluation::PatternCache::default(),
        arguments: None,
        routines: Vec::new(),
        routine_calls: 0,
        depth: analyzed.depth,
    };
    match planner.query(analyzed.query) {
        Ok(root) => Ok(Ok(Arc::new(QueryPlan {
            root,
            columns: analyzed.columns().into_iter().map(|(name, typed)| (name.to_string(), typed)).collect(),
            relations: planner.read.into_iter().collect(),
            subplans: planner.subplans,
            shared: planner.shared,
            working: planner.working,
            keyed: planner.keyed,
        }))),
        Err(Refusal::NotBuilt(what)) => Ok(Err(what)),
        Err(Refusal::Failed(error)) => Err(error),
    }
}

/// A query that is being planned.
struct PlannedLevel {
    query: QueryId,
    common: Vec<CommonState>,
    /// How many frames are around it.
    frames: usize,
}

/// Planning under way.
struct QueryPlanner<'a> {
    catalog: &'a dyn Catalog,
    facts: &'static Facts,
    tree: &'a Tree,
    relations: &'a dyn RelationPaths,
    /// Where constants are read that name no zone.
    zone: &'a Zone,
    levels: Vec<PlannedLevel>,
    frames: Vec<ColumnFrame>,
    read: BTreeSet<RelationId>,
    subplans: u32,
    shared: u32,
    working: u32,
    keyed: u32,
    /// Which places of frames were looked up, in order.
    outer_log: Vec<OuterPlace>,
    volatile_calls: u32,
    working_reads: Vec<usize>,
    /// Which columns of each entry are looked at, of queries that have asked for it.
    wanted: BTreeMap<QueryId, BTreeMap<u32, BTreeSet<u32>>>,
    /// Operands of the CASEs around, where they are known.
    case_constants: Vec<Option<values::Value>>,
    /// How much was done.
    steps: u32,
    /// For calls that are computed already.
    patterns: evaluation::PatternCache,
    /// The frame that has the arguments of the function whose query is planned.
    arguments: Option<usize>,
    /// The users' functions whose queries are being planned, one within the other.
    routines: Vec<analyzer::types::FunctionId>,
    /// How many calls of them were planned.
    routine_calls: u32,
    /// How deep the statement is, with the queries that are being planned one within the other.
    depth: u32,
}

/// A place of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OuterPlace {
    frame: usize,
    slot: usize,
}

impl QueryPlanner<'_> {
    /// Counts a step, of which each does a bounded amount of work. Errors: 57014 once nobody waits for the plan.
    fn step(&mut self) -> PlanResult<()> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return not_built("a statement of this size");
        }
        if self.steps.is_multiple_of(STEPS_UNASKED) && self.catalog.is_cancelled() {
            let message = "canceling statement due to user request";
            return Err(Refusal::Failed(ExecutionError::new(analyzer::error::QUERY_CANCELED, message)));
        }
        Ok(())
    }
}
