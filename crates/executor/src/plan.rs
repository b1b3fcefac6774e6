//! Plans: what is done with which rows. A plan does not change once it is made; many executions may run it.

use crate::expression::{Callee, CompiledExpression};
use analyzer::Typed;
use analyzer::relations::RelationId;
use analyzer::types::FunctionId;
use std::fmt::Write as _;
use std::sync::Arc;
use values::Type;

pub mod explain;

/// A plan for a statement.
#[derive(Debug)]
pub struct QueryPlan {
    pub(crate) root: Arc<PlanNode>,
    pub(crate) columns: Vec<(String, Typed)>,
    pub(crate) relations: Vec<RelationId>,
    pub(crate) subplans: u32,
    pub(crate) shared: u32,
    pub(crate) working: u32,
    pub(crate) keyed: u32,
}

impl QueryPlan {
    /// What is done, one line for each operator, those that it reads from below it.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        explain::describe(&self.root, 0, &mut text);
        text
    }

    /// Names and types of the result's columns.
    pub fn columns(&self) -> &[(String, Typed)] {
        &self.columns
    }

    /// The relations whose rows it reads, each once.
    pub fn relations(&self) -> impl Iterator<Item = RelationId> + '_ {
        self.relations.iter().copied()
    }

    pub(crate) fn root(&self) -> &Arc<PlanNode> {
        &self.root
    }
}

/// By what rows are sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorting {
    pub by: CompiledExpression,
    pub descending: bool,
    pub nulls_first: bool,
}

/// How two sides are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinType {
    Inner,
    Left,
    Right,
    Full,
}

impl JoinType {
    /// The same join with the other side to the left.
    pub fn turned(self) -> JoinType {
        match self {
            JoinType::Left => JoinType::Right,
            JoinType::Right => JoinType::Left,
            JoinType::Inner | JoinType::Full => self,
        }
    }
}

/// What one column of a path must be equal to.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySource {
    One(CompiledExpression),
    /// Any of these.
    Each(Vec<CompiledExpression>),
    /// Any element of an array.
    Elements(CompiledExpression),
    /// What all of these allow.
    Every(Vec<KeySource>),
    /// Anything if one of the guards holds.
    Unless {
        guards: Vec<CompiledExpression>,
        source: Box<KeySource>,
    },
}

/// An end of a range of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyEnd {
    pub value: CompiledExpression,
    pub inclusive: bool,
}

/// Which keys of a path are read: those with this prefix, of which the next column is within a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeBounds {
    pub equal: Vec<KeySource>,
    pub lower: Option<KeyEnd>,
    pub upper: Option<KeyEnd>,
    /// Stored types of the path's columns.
    pub types: Vec<Type>,
}

/// In which order of its keys a path is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDirection {
    Ascending,
    Descending,
}

/// How many rows are needed of a scan: those that are skipped and those that may follow. Both are known without a row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsNeeded {
    pub limit: CompiledExpression,
    pub offset: Option<CompiledExpression>,
}

/// A scan of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanNode {
    pub relation: RelationId,
    pub name: String,
    pub path: usize,
    pub range: RangeBounds,
    /// Which columns its rows have, in their order.
    pub columns: Vec<u32>,
    pub filter: Option<CompiledExpression>,
    /// Whether the filter holds for all rows within the range, but for NULLs behind all of them.
    pub exact: bool,
    /// Whether there may be such NULLs.
    pub nulls_behind: bool,
    /// The order that its rows must have; none if any will do.
    pub direction: Option<KeyDirection>,
    pub needed: Option<RowsNeeded>,
}

/// An aggregate of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub function: FunctionId,
    pub direct: Vec<CompiledExpression>,
    /// What each row gives; what is only sorted by comes last.
    pub arguments: Vec<CompiledExpression>,
    /// Types of those that the aggregate takes.
    pub types: Vec<Typed>,
    pub result: Typed,
    /// By places of `arguments`.
    pub order: Vec<Sorting>,
    /// By places of `arguments`; empty without DISTINCT.
    pub distinct: Vec<usize>,
    pub filter: Option<CompiledExpression>,
}

/// A call with OVER.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowUse {
    pub function: FunctionId,
    /// The name by which a window function is implemented; none for an aggregate.
    pub source: Option<&'static str>,
    pub arguments: Vec<CompiledExpression>,
    pub types: Vec<Typed>,
    pub result: Typed,
    pub filter: Option<CompiledExpression>,
}

/// Where a frame ends on one side.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameEnd {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(CompiledExpression, Option<Callee>),
    Following(CompiledExpression, Option<Callee>),
}

/// A window's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameSpan {
    pub unit: grammar::ast::FrameUnit,
    pub start: FrameEnd,
    pub end: FrameEnd,
    pub exclusion: grammar::ast::FrameExclusion,
}

/// A function that yields a set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetCall {
    pub callee: SetCallee,
    pub arguments: Vec<CompiledExpression>,
    /// How many columns it yields.
    pub width: usize,
}

/// What a set comes from.
#[derive(Clone, Debug)]
pub enum SetCallee {
    /// A function that yields rows.
    Set { function: FunctionId, body: evaluation::sets::SetBody, strict: bool, types: Vec<Typed>, result: Typed },
    /// An expression: the only argument is the only row.
    Value,
}

impl PartialEq for SetCallee {
    fn eq(&self, other: &SetCallee) -> bool {
        match (self, other) {
            (SetCallee::Set { function, types, .. }, SetCallee::Set { function: other, types: others, .. }) => {
                function == other && types == others
            }
            (SetCallee::Value, SetCallee::Value) => true,
            _ => false,
        }
    }
}

/// A user's function in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineScan {
    pub name: String,
    pub arguments: Vec<CompiledExpression>,
    /// Its query, for which the arguments are the innermost row around.
    pub body: Arc<PlanNode>,
    /// Whether there is nothing as soon as an argument is NULL.
    pub strict: bool,
    /// Whether it yields all rows of its query; else there is one row: the first, or one of NULLs.
    pub returns_set: bool,
    pub width: usize,
}

/// A function that whoever runs the execution runs, with the innermost row around as its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledFunction {
    pub function: FunctionId,
    pub name: String,
    pub width: usize,
}

/// How the rows for one row around are read by a path, and for how many it is better than to read all.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedLookUps {
    pub scan: Arc<PlanNode>,
    pub most: usize,
}

/// An operator with those it reads from.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanNode {
    /// One row without columns.
    OneRow,
    Values(Vec<Vec<CompiledExpression>>),
    Scan(ScanNode),
    Filter {
        input: Arc<PlanNode>,
        filter: CompiledExpression,
    },
    Project {
        input: Arc<PlanNode>,
        expressions: Vec<CompiledExpression>,
    },
    /// Sets side by side, behind the columns of each row.
    ProjectSet {
        input: Arc<PlanNode>,
        sets: Vec<SetCall>,
    },
    /// By equal keys, if there are any; the condition is over the columns of both sides.
    Join {
        kind: JoinType,
        left: Arc<PlanNode>,
        right: Arc<PlanNode>,
        left_keys: Vec<CompiledExpression>,
        right_keys: Vec<CompiledExpression>,
        condition: Option<CompiledExpression>,
        left_width: usize,
        right_width: usize,
        /// Whether the right side is a scan whose range looks at rows of the left side, read for many at once.
        by_key: bool,
    },
    /// The right side anew for each row of the left side.
    Lateral {
        kind: JoinType,
        left: Arc<PlanNode>,
        right: Arc<PlanNode>,
        condition: Option<CompiledExpression>,
        right_width: usize,
    },
    /// Groups, aggregates, bits of the groups that are not in the set, and what the group decides.
    Aggregate {
        input: Arc<PlanNode>,
        groups: Vec<CompiledExpression>,
        sets: Vec<Vec<usize>>,
        aggregates: Vec<Aggregation>,
        carried: Vec<CompiledExpression>,
    },
    /// Calls of one window, behind the columns of each row.
    Window {
        input: Arc<PlanNode>,
        partition: Vec<CompiledExpression>,
        order: Vec<Sorting>,
        frame: FrameSpan,
        calls: Vec<WindowUse>,
    },
    Sort {
        input: Arc<PlanNode>,
        order: Vec<Sorting>,
        first: Option<CompiledExpression>,
        skipped: Option<CompiledExpression>,
    },
    /// By the first columns.
    Distinct {
        input: Arc<PlanNode>,
        by: Vec<usize>,
        consecutive: bool,
    },
    Limit {
        input: Arc<PlanNode>,
        limit: Option<CompiledExpression>,
        offset: Option<CompiledExpression>,
        ties: Vec<Sorting>,
    },
    SetOperation {
        operator: grammar::ast::SetOperator,
        all: bool,
        left: Arc<PlanNode>,
        right: Arc<PlanNode>,
    },
    /// Rows that are computed once for the outer values; compiled for so many frames.
    Shared {
        number: usize,
        source: Arc<PlanNode>,
        outer: Vec<CompiledExpression>,
        frames: usize,
    },
    /// Rows that are read once, of which those are wanted whose keys are values of rows around.
    Keyed {
        number: usize,
        source: Arc<PlanNode>,
        keys: Vec<CompiledExpression>,
        wanted: Vec<CompiledExpression>,
        each: Option<KeyedLookUps>,
    },
    /// What the last round of a recursion has found.
    Working {
        number: usize,
    },
    Recursive {
        number: usize,
        base: Arc<PlanNode>,
        step: Arc<PlanNode>,
        distinct: bool,
    },
    Functions {
        functions: Vec<SetCall>,
        ordinality: bool,
    },
    Routine(RoutineScan),
    Called(CalledFunction),
}

impl PlanNode {
    /// Those it reads from.
    pub fn inputs(&self) -> Vec<&Arc<PlanNode>> {
        match self {
            PlanNode::OneRow
            | PlanNode::Values(_)
            | PlanNode::Scan(_)
            | PlanNode::Working { .. }
            | PlanNode::Called(_)
            | PlanNode::Functions { .. } => vec![],
            PlanNode::Routine(scan) => vec![&scan.body],
            PlanNode::Filter { input, .. }
            | PlanNode::Project { input, .. }
            | PlanNode::ProjectSet { input, .. }
            | PlanNode::Aggregate { input, .. }
            | PlanNode::Window { input, .. }
            | PlanNode::Sort { input, .. }
            | PlanNode::Distinct { input, .. }
            | PlanNode::Limit { input, .. }
            | PlanNode::Keyed { source: input, .. }
            | PlanNode::Shared { source: input, .. } => vec![input],
            PlanNode::Join { left, right, .. }
            | PlanNode::Lateral { left, right, .. }
            | PlanNode::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            PlanNode::Recursive { base, step, .. } => vec![base, step],
        }
    }
}

/// A line of a plan.
pub(crate) fn line(depth: usize, what: &str, text: &mut String) {
    let _ = writeln!(text, "{:width$}{what}", "", width = depth * 2);
}
