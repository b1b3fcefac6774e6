//! Plans: what is done with which rows. A plan does not change once it is made; many executions may run it.

use crate::expression::{Callee, Expression};
use analyzer::Typed;
use analyzer::relations::RelationId;
use analyzer::types::FunctionId;
use std::fmt::Write as _;
use std::sync::Arc;
use values::Type;

pub mod explain;

/// A plan for a statement.
#[derive(Debug)]
pub struct Plan {
    pub(crate) root: Arc<Node>,
    pub(crate) columns: Vec<(String, Typed)>,
    pub(crate) relations: Vec<RelationId>,
    pub(crate) subplans: u32,
    pub(crate) shared: u32,
    pub(crate) working: u32,
}

impl Plan {
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

    pub(crate) fn root(&self) -> &Arc<Node> {
        &self.root
    }
}

/// By what rows are sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorting {
    pub by: Expression,
    pub descending: bool,
    pub nulls_first: bool,
}

/// How two sides are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    Inner,
    Left,
    Right,
    Full,
}

/// What one column of a path must be equal to.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySource {
    One(Expression),
    /// Any of these.
    Each(Vec<Expression>),
    /// Any element of an array.
    Elements(Expression),
    /// What all of these allow.
    Every(Vec<KeySource>),
    /// Anything if one of the guards holds.
    Unless { guards: Vec<Expression>, source: Box<KeySource> },
}

/// An end of a range of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyEnd {
    pub value: Expression,
    pub inclusive: bool,
}

/// Which keys of a path are read: those with this prefix, of which the next column is within a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRange {
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
    pub limit: Expression,
    pub offset: Option<Expression>,
}

/// A scan of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanNode {
    pub relation: RelationId,
    pub name: String,
    pub path: usize,
    pub range: KeyRange,
    /// Which columns its rows have, in their order.
    pub columns: Vec<u32>,
    pub filter: Option<Expression>,
    /// Whether the filter holds for all rows within the range.
    pub exact: bool,
    /// The order that its rows must have; none if any will do.
    pub direction: Option<KeyDirection>,
    pub needed: Option<RowsNeeded>,
}

/// An aggregate of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub function: FunctionId,
    pub direct: Vec<Expression>,
    /// What each row gives; what is only sorted by comes last.
    pub arguments: Vec<Expression>,
    /// Types of those that the aggregate takes.
    pub types: Vec<Typed>,
    pub result: Typed,
    /// By places of `arguments`.
    pub order: Vec<Sorting>,
    /// By places of `arguments`; empty without DISTINCT.
    pub distinct: Vec<usize>,
    pub filter: Option<Expression>,
}

/// A call with OVER.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowUse {
    pub function: FunctionId,
    /// The name by which a window function is implemented; none for an aggregate.
    pub source: Option<&'static str>,
    pub arguments: Vec<Expression>,
    pub types: Vec<Typed>,
    pub result: Typed,
    pub filter: Option<Expression>,
}

/// Where a frame ends on one side.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameEnd {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(Expression, Option<Callee>),
    Following(Expression, Option<Callee>),
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
    pub arguments: Vec<Expression>,
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
            (SetCallee::Set { function, .. }, SetCallee::Set { function: other, .. }) => function == other,
            (SetCallee::Value, SetCallee::Value) => true,
            _ => false,
        }
    }
}

/// An operator with those it reads from.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// One row without columns.
    OneRow,
    Values(Vec<Vec<Expression>>),
    Scan(ScanNode),
    Filter {
        input: Arc<Node>,
        filter: Expression,
    },
    Project {
        input: Arc<Node>,
        expressions: Vec<Expression>,
    },
    /// Sets side by side, behind the columns of each row.
    ProjectSet {
        input: Arc<Node>,
        sets: Vec<SetCall>,
    },
    /// By equal keys, if there are any; the condition is over the columns of both sides.
    Join {
        kind: Joining,
        left: Arc<Node>,
        right: Arc<Node>,
        left_keys: Vec<Expression>,
        right_keys: Vec<Expression>,
        condition: Option<Expression>,
        left_width: usize,
        right_width: usize,
        /// Whether the right side is a scan whose range looks at rows of the left side, read for many at once.
        by_key: bool,
    },
    /// The right side anew for each row of the left side.
    Lateral {
        kind: Joining,
        left: Arc<Node>,
        right: Arc<Node>,
        condition: Option<Expression>,
        right_width: usize,
    },
    /// Groups, aggregates, bits of the groups that are not in the set, and what the group decides.
    Aggregate {
        input: Arc<Node>,
        groups: Vec<Expression>,
        sets: Vec<Vec<usize>>,
        aggregates: Vec<Aggregation>,
        carried: Vec<Expression>,
    },
    /// Calls of one window, behind the columns of each row.
    Window {
        input: Arc<Node>,
        partition: Vec<Expression>,
        order: Vec<Sorting>,
        frame: FrameSpan,
        calls: Vec<WindowUse>,
    },
    Sort {
        input: Arc<Node>,
        order: Vec<Sorting>,
        first: Option<Expression>,
        skipped: Option<Expression>,
    },
    /// By the first columns.
    Distinct {
        input: Arc<Node>,
        by: Vec<usize>,
        consecutive: bool,
    },
    Limit {
        input: Arc<Node>,
        limit: Option<Expression>,
        offset: Option<Expression>,
        ties: Vec<Sorting>,
    },
    SetOperation {
        operator: grammar::ast::SetOperator,
        all: bool,
        left: Arc<Node>,
        right: Arc<Node>,
    },
    /// Rows that are computed once for the outer values; compiled for so many frames.
    Shared {
        number: usize,
        source: Arc<Node>,
        outer: Vec<Expression>,
        frames: usize,
    },
    /// What the last round of a recursion has found.
    Working {
        number: usize,
    },
    Recursive {
        number: usize,
        base: Arc<Node>,
        step: Arc<Node>,
        distinct: bool,
    },
    Functions {
        functions: Vec<SetCall>,
        ordinality: bool,
    },
}

impl Node {
    /// Those it reads from.
    pub fn inputs(&self) -> Vec<&Arc<Node>> {
        match self {
            Node::OneRow | Node::Values(_) | Node::Scan(_) | Node::Working { .. } | Node::Functions { .. } => vec![],
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::ProjectSet { input, .. }
            | Node::Aggregate { input, .. }
            | Node::Window { input, .. }
            | Node::Sort { input, .. }
            | Node::Distinct { input, .. }
            | Node::Limit { input, .. }
            | Node::Shared { source: input, .. } => vec![input],
            Node::Join { left, right, .. }
            | Node::Lateral { left, right, .. }
            | Node::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            Node::Recursive { base, step, .. } => vec![base, step],
        }
    }
}

/// A line of a plan.
pub(crate) fn line(depth: usize, what: &str, text: &mut String) {
    let _ = writeln!(text, "{:width$}{what}", "", width = depth * 2);
}
