//! Statements that change rows.

use super::{At, ExpressionId, FromId, Name, QualifiedName, QueryId, RelationName, SortDirection, Step, Target, With};

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// WITH.
    pub with: Option<With>,
    /// INTO.
    pub table: RelationName,
    /// AS.
    pub alias: Option<Name>,
    /// Columns, if they are named.
    pub columns: Vec<ColumnTarget>,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// What; none is DEFAULT VALUES.
    pub source: Option<QueryId>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// Whose values win over those that an identity column would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// The column's own.
    User,
    /// The statement's.
    System,
}

/// A column that gets a value, or a part of it: `a`, `a.b`, `a[1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTarget {
    /// The column.
    pub name: Name,
    /// Which part of it.
    pub steps: Vec<Step>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// With which constraint.
    pub target: Option<ConflictTarget>,
    /// What then; none is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it begins.
    pub at: At,
}

/// Which conflict is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// That of an index on these.
    Index {
        /// Its elements.
        elements: Vec<IndexElement>,
        /// Its predicate.
        filter: Option<ExpressionId>,
        /// Where the list begins.
        at: At,
    },
    /// ON CONSTRAINT.
    Constraint(Name),
}

/// DO UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdate {
    /// SET.
    pub set: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<ExpressionId>,
}

/// An element of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElement {
    /// A column or an expression.
    pub value: IndexValue,
    /// Its collation.
    pub collation: Option<QualifiedName>,
    /// Its operator class.
    pub class: QualifiedName,
    /// Options of the operator class.
    pub class_options: Vec<super::DefinitionOption>,
    /// ASC or DESC.
    pub direction: SortDirection,
    /// NULLS FIRST or LAST.
    pub nulls_first: Option<bool>,
}

/// What an index is on.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexValue {
    /// A column.
    Column(Name),
    /// An expression.
    Expression(ExpressionId),
}

/// `a = 1`, or `(a, b) = ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// One column, or several in parentheses.
    pub targets: Vec<ColumnTarget>,
    /// Whether they stand in parentheses: then the value is a row or a query.
    pub is_row: bool,
    /// The value.
    pub value: ExpressionId,
}

/// Which rows UPDATE and DELETE take.
#[derive(Clone, Debug, PartialEq)]
pub enum RowFilter {
    /// All.
    All,
    /// WHERE.
    Where(ExpressionId),
    /// WHERE CURRENT OF.
    CurrentOf(Name),
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// WITH.
    pub with: Option<With>,
    /// Which table.
    pub table: RelationName,
    /// AS.
    pub alias: Option<Name>,
    /// SET.
    pub set: Vec<Assignment>,
    /// FROM.
    pub from: Vec<FromId>,
    /// WHERE.
    pub filter: RowFilter,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// WITH.
    pub with: Option<With>,
    /// Which table.
    pub table: RelationName,
    /// AS.
    pub alias: Option<Name>,
    /// USING.
    pub using: Vec<FromId>,
    /// WHERE.
    pub filter: RowFilter,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// WITH.
    pub with: Option<With>,
    /// INTO.
    pub table: RelationName,
    /// AS.
    pub alias: Option<Name>,
    /// USING.
    pub source: FromId,
    /// ON.
    pub condition: ExpressionId,
    /// WHEN.
    pub arms: Vec<MergeArm>,
}

/// WHEN of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeArm {
    /// MATCHED, else NOT MATCHED.
    pub matched: bool,
    /// AND.
    pub condition: Option<ExpressionId>,
    /// THEN.
    pub action: MergeAction,
    /// Where it begins.
    pub at: At,
}

/// What MERGE does.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING.
    Nothing,
    /// DELETE.
    Delete,
    /// UPDATE SET.
    Update(Vec<Assignment>),
    /// INSERT.
    Insert {
        /// Columns, if they are named.
        columns: Vec<ColumnTarget>,
        /// OVERRIDING.
        overriding: Option<Overriding>,
        /// VALUES; none is DEFAULT VALUES.
        values: Option<Vec<ExpressionId>>,
    },
}
