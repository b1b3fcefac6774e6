//! Queries of the tree.

use super::{ExprId, QueryId};
use crate::relations::RelationId;
use crate::types::{FunctionId, OperatorId, Typed};
use grammar::ast::{FrameExclusion, FrameUnit, JoinKind, LockStrength, LockWait, Overriding, SetOperator};

/// What a statement does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Command {
    #[default]
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

/// A query, or a statement that changes rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// What it does.
    pub command: Command,
    /// WITH.
    pub with: Vec<CommonTable>,
    /// All tables and what is like them; others name them by number.
    pub range_table: Vec<RangeEntry>,
    /// Which of them are joined how.
    pub from: Vec<JoinTree>,
    /// WHERE; of MERGE also ON.
    pub filter: Option<ExprId>,
    /// What is computed; of a change, each with the column that takes it.
    pub targets: Vec<Target>,
    /// GROUP BY.
    pub group: Vec<SortGroup>,
    /// Its sets, if there are several, as references of targets.
    pub grouping_sets: Option<Vec<Vec<u32>>>,
    /// HAVING.
    pub having: Option<ExprId>,
    /// Windows, as calls name them.
    pub windows: Vec<Window>,
    /// DISTINCT, or DISTINCT ON.
    pub distinct: Vec<SortGroup>,
    /// Whether it is DISTINCT ON.
    pub distinct_on: bool,
    /// ORDER BY.
    pub order: Vec<SortGroup>,
    /// LIMIT.
    pub limit: Option<ExprId>,
    /// WITH TIES.
    pub with_ties: bool,
    /// OFFSET.
    pub offset: Option<ExprId>,
    /// UNION and the like between entries of the range table.
    pub set_operation: Option<SetTree>,
    /// FOR UPDATE and the like.
    pub locks: Vec<Lock>,
    /// The entry that is changed.
    pub result: Option<u32>,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// WHEN of MERGE.
    pub merge: Vec<MergeArm>,
    /// RETURNING.
    pub returning: Vec<Target>,
    /// Whether it computes aggregates of its own rows.
    pub has_aggregates: bool,
    /// Whether it computes windows.
    pub has_windows: bool,
    /// Whether a target yields a set.
    pub has_target_sets: bool,
    /// Queries that give several columns of an UPDATE their values: [`super::Node::MultipleColumn`] names them.
    pub multiple: Vec<ExprId>,
}

/// A query of WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTable {
    /// Its name, for messages.
    pub name: String,
    /// What yields its rows; none only while it is analyzed.
    pub query: Option<QueryId>,
    /// Its columns.
    pub columns: Vec<EntryColumn>,
    /// Whether it refers to itself.
    pub recursive: bool,
    /// MATERIALIZED, or NOT.
    pub materialized: Option<bool>,
    /// How often it is read.
    pub references: u32,
    /// SEARCH: whether breadth first, and the columns by which rows are sorted.
    pub search: Option<(bool, Vec<u32>)>,
    /// CYCLE.
    pub cycle: Option<CycleMark>,
}

/// CYCLE of a recursive query: a mark and a path are its columns after those of the query itself and of SEARCH.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleMark {
    /// What is equal in a circle.
    pub columns: Vec<u32>,
    /// What the mark is in a circle.
    pub value: ExprId,
    /// What it is elsewhere.
    pub default: ExprId,
}

/// An entry of the range table.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Its name, for messages.
    pub name: String,
    /// Whether the name was given in the statement.
    pub has_alias: bool,
    /// Its columns.
    pub columns: Vec<EntryColumn>,
    /// Whether it may refer to entries before it.
    pub lateral: bool,
}

/// A column of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryColumn {
    /// Its name, for messages; empty for a column that was dropped.
    pub name: String,
    /// Its type.
    pub typed: Typed,
}

/// What an entry of the range table is.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// A table or view.
    Relation {
        /// Which.
        relation: RelationId,
        /// With its children.
        with_children: bool,
        /// TABLESAMPLE.
        sample: Option<Sample>,
    },
    /// The row that ON CONFLICT found no place for, as one of the table.
    Excluded(RelationId),
    /// A subquery.
    Query(QueryId),
    /// A join: its columns are expressions over both sides.
    Join {
        /// Which.
        kind: JoinKind,
        /// Its columns.
        columns: Vec<ExprId>,
        /// How many of them are merged ones.
        merged: u32,
    },
    /// Functions side by side.
    Functions {
        /// Each with the number of its columns.
        functions: Vec<(ExprId, u32)>,
        /// WITH ORDINALITY.
        ordinality: bool,
    },
    /// VALUES.
    Values(Vec<Vec<ExprId>>),
    /// A query of WITH.
    Common {
        /// How many queries out.
        levels_up: u32,
        /// Which of its WITH.
        number: u32,
        /// Whether it is read within itself.
        itself: bool,
    },
}

/// TABLESAMPLE.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The method.
    pub method: FunctionId,
    /// How much.
    pub arguments: Vec<ExprId>,
    /// REPEATABLE.
    pub seed: Option<ExprId>,
}

/// What is joined how.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinTree {
    /// An entry as it is.
    Entry(u32),
    /// A join.
    Join {
        /// Which.
        kind: JoinKind,
        /// Its own entry.
        entry: u32,
        /// The left side.
        left: Box<JoinTree>,
        /// The right side.
        right: Box<JoinTree>,
        /// What belongs together.
        condition: Option<ExprId>,
    },
}

/// An expression that is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What.
    pub value: ExprId,
    /// Its name.
    pub name: String,
    /// Whether it is computed only for ORDER BY and its like.
    pub junk: bool,
    /// The number by which ORDER BY and its like name it; zero if they do not.
    pub reference: u32,
    /// The column of the changed table that takes it, from zero.
    pub column: Option<u32>,
}

/// An element of ORDER BY, GROUP BY or DISTINCT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortGroup {
    /// The target's reference.
    pub target: u32,
    /// Equality.
    pub equal: OperatorId,
    /// What comes first: `<` or `>`; zero if it cannot be sorted by.
    pub sort: OperatorId,
    /// Where nulls go.
    pub nulls_first: bool,
    /// Whether equality can be decided by a hash.
    pub hashes: bool,
}

/// A window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Its name.
    pub name: Option<String>,
    /// PARTITION BY.
    pub partition: Vec<SortGroup>,
    /// ORDER BY.
    pub order: Vec<SortGroup>,
    /// Its frame, if one is written.
    pub frame: Option<Frame>,
}

/// A window's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What bounds count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// EXCLUDE.
    pub exclusion: FrameExclusion,
}

/// Where a frame begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Bound {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(ExprId, Option<FunctionId>),
    Following(ExprId, Option<FunctionId>),
}

/// Operations on sets, over entries of the range table.
#[derive(Clone, Debug, PartialEq)]
pub enum SetTree {
    /// The rows of an entry.
    Entry(u32),
    /// An operation.
    Operation {
        /// Which.
        operator: SetOperator,
        /// Duplicates are kept.
        all: bool,
        /// The left side.
        left: Box<SetTree>,
        /// The right side.
        right: Box<SetTree>,
        /// The types of its columns.
        columns: Vec<Typed>,
        /// By what rows are equal; `target` counts columns from 1.
        group: Vec<SortGroup>,
    },
}

/// Rows of an entry are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Which entry.
    pub entry: u32,
    /// How strong.
    pub strength: LockStrength,
    /// What if a row is locked.
    pub wait: LockWait,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// The columns or expressions of the index that is meant.
    pub elements: Vec<ExprId>,
    /// The predicate of the index that is meant.
    pub predicate: Option<ExprId>,
    /// The constraint that is meant, by name.
    pub constraint: Option<String>,
    /// The row that was to be inserted, as an entry; none if nothing is done.
    pub excluded: Option<u32>,
    /// SET.
    pub set: Vec<Target>,
    /// WHERE.
    pub filter: Option<ExprId>,
}

/// WHEN of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeArm {
    /// MATCHED, else NOT MATCHED.
    pub matched: bool,
    /// AND.
    pub condition: Option<ExprId>,
    /// What is done; none is DO NOTHING.
    pub command: Option<Command>,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// The columns that get values.
    pub targets: Vec<Target>,
}
