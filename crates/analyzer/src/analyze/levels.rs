//! What is known of a query that is open: its range table, what names can mean in it, and where in it we are.

use std::rc::Rc;

use grammar::ast::{self, NamedWindow, RowLock};

use crate::tree::{CommonTable, ExprId, RangeEntry};
use crate::types::Typed;

/// Where in a query an expression stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    #[default]
    Nowhere,
    FromQuery,
    FromFunction,
    JoinOn,
    JoinUsing,
    Where,
    Having,
    Filter,
    WindowPartition,
    WindowOrder,
    FrameRange,
    FrameRows,
    FrameGroups,
    SelectTarget,
    InsertTarget,
    UpdateSource,
    UpdateTarget,
    MergeWhen,
    GroupBy,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    Returning,
    Values,
    ValuesSingle,
    Index,
    IndexPredicate,
    CycleMark,
}

impl Place {
    /// How messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Place::Nowhere => "invalid expression kind",
            Place::FromQuery => "sub-SELECT in FROM",
            Place::FromFunction => "function in FROM",
            Place::JoinOn => "JOIN/ON",
            Place::JoinUsing => "JOIN/USING",
            Place::Where => "WHERE",
            Place::Having => "HAVING",
            Place::Filter => "FILTER",
            Place::WindowPartition => "window PARTITION BY",
            Place::WindowOrder => "window ORDER BY",
            Place::FrameRange => "window RANGE",
            Place::FrameRows => "window ROWS",
            Place::FrameGroups => "window GROUPS",
            Place::SelectTarget => "SELECT",
            Place::InsertTarget => "INSERT",
            Place::UpdateSource | Place::UpdateTarget => "UPDATE",
            Place::MergeWhen => "MERGE WHEN",
            Place::GroupBy => "GROUP BY",
            Place::OrderBy => "ORDER BY",
            Place::DistinctOn => "DISTINCT ON",
            Place::Limit => "LIMIT",
            Place::Offset => "OFFSET",
            Place::Returning => "RETURNING",
            Place::Values | Place::ValuesSingle => "VALUES",
            Place::Index => "index expression",
            Place::IndexPredicate => "index predicate",
            Place::CycleMark => "CYCLE",
        }
    }
}

/// A column that a name can mean.
#[derive(Clone, Debug)]
pub struct ItemColumn {
    /// Its name; empty for one that was dropped.
    pub name: String,
    /// The entry that it is of: that of a join only where the join makes it.
    pub entry: u32,
    /// Its number there.
    pub column: u32,
    /// Its type.
    pub typed: Typed,
    /// Left out by a star.
    pub hidden: bool,
}

/// Something of FROM that names can mean.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its entry of the range table.
    pub entry: u32,
    /// Its name.
    pub name: Rc<str>,
    /// Its columns.
    pub columns: Rc<Vec<ItemColumn>>,
    /// Whether `name.column` finds it.
    pub relation_visible: bool,
    /// Whether a column's name alone finds it.
    pub columns_visible: bool,
    /// Whether only what is lateral finds it.
    pub lateral_only: bool,
    /// Whether that may.
    pub lateral_ok: bool,
}

/// A query that is open.
#[derive(Default)]
pub struct Level<'a> {
    /// Its range table.
    pub entries: Vec<RangeEntry>,
    /// What names can mean.
    pub namespace: Vec<Item>,
    /// Queries of WITH so far.
    pub with: Vec<CommonTable>,
    /// Which of those are being analyzed, so that a reference is one to themselves.
    pub under_way: Option<usize>,
    /// Which of those cannot be read: they change rows and return none.
    pub silent: Vec<bool>,
    /// Names of queries of WITH that stand further on.
    pub future: Vec<&'a str>,
    /// Where we are.
    pub place: Place,
    /// FOR UPDATE and the like, which may name entries.
    pub locks: &'a [RowLock],
    /// WINDOW, then windows that stand at calls.
    pub named_windows: &'a [NamedWindow],
    /// Windows: those of WINDOW and those at calls.
    pub windows: Vec<&'a ast::WindowSpecification>,
    /// The query has aggregates of its own.
    pub has_aggregates: bool,
    /// It has window functions.
    pub has_windows: bool,
    /// A target yields a set.
    pub has_target_sets: bool,
    /// LATERAL holds for what is read.
    pub lateral_active: bool,
    /// Literals of unknown type become text at the end.
    pub resolve_unknowns: bool,
    /// The last call that yields a set.
    pub last_set: Option<ExprId>,
    /// The entry that is changed.
    pub target: Option<u32>,
    /// The query of WITH whose recursive term this is, as open query and number.
    pub recursive_term_of: Option<(usize, usize)>,
    /// Names that the columns of the query of WITH under way are given.
    pub recursive_names: &'a [ast::Name],
    /// Queries that give several columns of an UPDATE their values.
    pub multiple: Vec<ExprId>,
}
