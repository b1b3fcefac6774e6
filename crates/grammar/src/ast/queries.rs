//! Queries.

use super::{At, ExpressionId, FromId, GroupingId, Name, OperatorName, QualifiedName, QueryId, StatementId, TypeName};

/// A set of rows with what is done to it at last.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// WITH.
    pub with: Option<With>,
    /// Where the rows come from.
    pub body: QueryBody,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// LIMIT; `LIMIT ALL` is NULL.
    pub limit: Option<ExpressionId>,
    /// FETCH .. WITH TIES.
    pub with_ties: bool,
    /// OFFSET.
    pub offset: Option<ExpressionId>,
    /// FOR UPDATE and the like.
    pub locks: Vec<RowLock>,
    /// Where it begins.
    pub at: At,
}

/// Where a query's rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// SELECT; TABLE t is one of all columns.
    Select(Box<Select>),
    /// VALUES.
    Values(Vec<Vec<ExpressionId>>),
    /// UNION, INTERSECT, EXCEPT.
    Operation {
        /// Which.
        operator: SetOperator,
        /// Duplicates are kept.
        all: bool,
        /// The left side.
        left: QueryId,
        /// The right side.
        right: QueryId,
    },
}

/// Operations on two sets of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// SELECT up to its windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// DISTINCT.
    pub distinct: Distinct,
    /// What is computed.
    pub targets: Vec<Target>,
    /// INTO.
    pub into: Option<Box<IntoTable>>,
    /// FROM.
    pub from: Vec<FromId>,
    /// WHERE.
    pub filter: Option<ExpressionId>,
    /// GROUP BY DISTINCT: equal grouping sets count once.
    pub group_distinct: bool,
    /// GROUP BY.
    pub group: Vec<GroupingId>,
    /// HAVING.
    pub having: Option<ExpressionId>,
    /// WINDOW.
    pub windows: Vec<NamedWindow>,
}

/// DISTINCT.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distinct {
    /// All rows.
    #[default]
    No,
    /// DISTINCT.
    All,
    /// DISTINCT ON.
    On(Vec<ExpressionId>),
}

/// An expression that is computed, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What.
    pub value: ExpressionId,
    /// AS.
    pub name: Option<Name>,
    /// Where it begins.
    pub at: At,
}

/// An element of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum Grouping {
    /// An expression.
    Expression(ExpressionId),
    /// `()`.
    Empty(At),
    /// ROLLUP.
    Rollup(Vec<ExpressionId>, At),
    /// CUBE.
    Cube(Vec<ExpressionId>, At),
    /// GROUPING SETS.
    Sets(Vec<GroupingId>, At),
}

/// WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// Its queries.
    pub tables: Vec<CommonTable>,
    /// Where it begins.
    pub at: At,
}

/// A query of WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTable {
    /// Its name.
    pub name: Name,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// MATERIALIZED or NOT MATERIALIZED.
    pub materialized: Option<bool>,
    /// What yields its rows.
    pub statement: StatementId,
    /// SEARCH.
    pub search: Option<Search>,
    /// CYCLE.
    pub cycle: Option<Cycle>,
}

/// SEARCH: a column by which rows of a recursion can be sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// BREADTH, else DEPTH.
    pub breadth_first: bool,
    /// BY.
    pub columns: Vec<Name>,
    /// SET.
    pub sequence: Name,
    /// Where it begins.
    pub at: At,
}

/// CYCLE: columns that tell of circles in a recursion.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// What is equal in a circle.
    pub columns: Vec<Name>,
    /// SET.
    pub mark: Name,
    /// TO; TRUE if none is named.
    pub value: Option<ExpressionId>,
    /// DEFAULT; FALSE if none is named.
    pub default: Option<ExpressionId>,
    /// USING.
    pub path: Name,
    /// Where it begins.
    pub at: At,
}

/// An expression of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// What.
    pub value: ExpressionId,
    /// In which direction.
    pub direction: SortDirection,
    /// NULLS FIRST or LAST.
    pub nulls_first: Option<bool>,
}

/// Of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub enum SortDirection {
    /// As if ASC.
    Default,
    /// ASC.
    Ascending,
    /// DESC.
    Descending,
    /// USING.
    Using(OperatorName),
}

/// FOR UPDATE and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLock {
    /// How strong.
    pub strength: LockStrength,
    /// OF.
    pub tables: Vec<RelationName>,
    /// What if a row is locked.
    pub wait: LockWait,
}

/// How strong a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

/// What happens if a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    Wait,
    /// NOWAIT.
    Fail,
    /// SKIP LOCKED.
    Skip,
}

/// The name of a table or view: at most `database.schema.name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationName {
    /// The database.
    pub catalog: Option<Name>,
    /// The schema.
    pub schema: Option<Name>,
    /// Its own name.
    pub name: Name,
    /// Without ONLY: children as well.
    pub with_children: bool,
}

/// An item of FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct FromItem {
    /// What it is.
    pub node: FromNode,
    /// Its alias.
    pub alias: Option<Alias>,
    /// LATERAL.
    pub lateral: bool,
    /// Where it begins.
    pub at: At,
}

/// What an item of FROM is.
#[derive(Clone, Debug, PartialEq)]
pub enum FromNode {
    /// A table, view or query of WITH.
    Relation {
        /// Which.
        name: RelationName,
        /// TABLESAMPLE.
        sample: Option<Box<Sample>>,
    },
    /// `(SELECT ..)`.
    Query(QueryId),
    /// `f(a)` or `ROWS FROM (..)`.
    Functions {
        /// The functions.
        functions: Vec<FromFunction>,
        /// ROWS FROM.
        rows_from: bool,
        /// WITH ORDINALITY.
        ordinality: bool,
    },
    /// JOIN.
    Join {
        /// Which.
        kind: JoinKind,
        /// The left side.
        left: FromId,
        /// The right side.
        right: FromId,
        /// What belongs together.
        condition: JoinCondition,
    },
    /// One that has no tree: which, in capitals.
    Other(&'static str),
}

/// A function of FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct FromFunction {
    /// The call.
    pub call: ExpressionId,
    /// AS (a int, ..).
    pub columns: Vec<FunctionColumn>,
}

/// A column that a function of FROM is said to return.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionColumn {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub of: TypeName,
    /// Its collation.
    pub collation: Option<QualifiedName>,
}

/// AS t (a, b).
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The item's name; none if only columns of a function are named.
    pub name: Option<Name>,
    /// Names of its columns.
    pub columns: Vec<Name>,
}

/// TABLESAMPLE.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// By which method.
    pub method: QualifiedName,
    /// How much.
    pub arguments: Vec<ExpressionId>,
    /// REPEATABLE.
    pub seed: Option<ExpressionId>,
    /// Where the method stands.
    pub at: At,
}

/// How two items are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum JoinKind {
    Cross,
    Inner,
    Left,
    Right,
    Full,
}

/// What belongs together in a join.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// Everything: CROSS.
    None,
    /// NATURAL.
    Natural,
    /// USING (a, b) AS j.
    Using(Vec<Name>, Option<Name>),
    /// ON.
    On(ExpressionId),
}

/// WINDOW w AS (..).
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub window: WindowSpecification,
}

/// A window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpecification {
    /// The window that it begins with.
    pub base: Option<Name>,
    /// PARTITION BY.
    pub partition: Vec<ExpressionId>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// Its frame.
    pub frame: Option<Frame>,
    /// Where it begins.
    pub at: At,
}

/// A window's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What bounds count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends; the current row if only the beginning is said.
    pub end: Option<FrameBound>,
    /// EXCLUDE.
    pub exclusion: FrameExclusion,
}

/// What a frame's bounds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum FrameUnit {
    Range,
    Rows,
    Groups,
}

/// Where a frame begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum FrameBound {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(ExpressionId),
    Following(ExpressionId),
}

/// EXCLUDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum FrameExclusion {
    No,
    CurrentRow,
    Group,
    Ties,
}

/// SELECT .. INTO, and what CREATE TABLE AS makes.
#[derive(Clone, Debug, PartialEq)]
pub struct IntoTable {
    /// Its name.
    pub name: RelationName,
    /// Whether it lasts.
    pub persistence: Persistence,
}

/// Whether a table lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Persistence {
    Permanent,
    Temporary,
    Unlogged,
}
