//! Tables, views and other relations, as far as the meaning of a statement depends on them.

use crate::facts::Text;
use crate::types::{TypeId, Typed};

/// A relation, by PostgreSQL's oid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationId(pub u32);

/// What a relation is (`pg_class.relkind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum RelationKind {
    Table,
    PartitionedTable,
    View,
    MaterializedView,
    ForeignTable,
    Sequence,
    Index,
    CompositeType,
    /// What keeps long values, which nobody but the system reads.
    Toast,
}

/// A relation.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its number.
    pub id: RelationId,
    /// Its schema's name.
    pub schema: Text,
    /// Its name.
    pub name: Text,
    /// What it is.
    pub kind: RelationKind,
    /// The type of its rows, or none.
    pub row: TypeId,
    /// Its columns, dropped ones as well, in the order of their numbers.
    pub columns: Vec<RelationColumn>,
    /// The columns of its primary key, from zero, if it is not deferrable; grouping by them decides all others.
    pub primary_key: Option<Vec<u32>>,
    /// Names of its constraints.
    pub constraints: Vec<Text>,
    /// Whether it belongs to the system.
    pub system: bool,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub struct RelationColumn {
    /// Its name.
    pub name: Text,
    /// Its type.
    pub typed: Typed,
    /// Whether it was dropped: then it has a number still, and nothing else.
    pub dropped: bool,
    /// Whether it is computed from others, and never assigned.
    pub generated: bool,
    /// Whether only the system gives it a value.
    pub identity_always: bool,
}

impl Relation {
    /// The number of a column, from zero.
    pub fn column(&self, name: &str) -> Option<u32> {
        self.columns.iter().position(|column| !column.dropped && column.name == name).map(|number| number as u32)
    }
}

/// The columns that the system keeps of each row, with their numbers and types.
pub const SYSTEM_COLUMNS: &[(&str, i16, TypeId)] = &[
    ("ctid", -1, TypeId(27)),
    ("xmin", -2, TypeId(28)),
    ("cmin", -3, TypeId(29)),
    ("xmax", -4, TypeId(28)),
    ("cmax", -5, TypeId(29)),
    ("tableoid", -6, TypeId(26)),
];
