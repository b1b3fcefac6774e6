//! What an execution asks of whoever runs it: the rows of relations.

use analyzer::relations::RelationId;
use analyzer::types::FunctionId;
use analyzer::{Analyzed, TypeId};
use values::{Type, Value, ValueError};

/// Which ways lead to a relation's rows, and what users' types are. Implemented by the caller.
pub trait RelationPaths {
    /// `None` for a relation whose rows cannot be read this way.
    fn access(&self, relation: RelationId) -> Option<TableAccess>;
    /// A user's type, with all that its labels are read by; `None` for any other.
    fn user_type(&self, _id: TypeId) -> Option<Type> {
        None
    }
    /// What a domain asks of its values; `None` for any other type.
    fn domain(&self, _id: TypeId) -> Option<&DomainMeaning> {
        None
    }
    /// Whether functions over the catalogs have one to ask when the plan runs.
    fn has_catalog(&self) -> bool {
        false
    }
    /// The number of the object of the catalog that a text of this type names (`'item'::regclass`); `None` where no catalog is at hand.
    fn object_named(&self, _id: TypeId, _name: &str) -> Option<Result<Value, ValueError>> {
        None
    }
    /// What a user's function does; `None` for any other.
    fn routine(&self, _function: FunctionId) -> Option<&RoutineMeaning> {
        None
    }
}

/// A user's function, as its calls are planned.
#[derive(Clone, Debug)]
pub struct RoutineMeaning {
    /// What it does.
    pub body: RoutineCode,
    /// Queries of one row and column that yield the defaults of the last parameters.
    pub defaults: Vec<Analyzed>,
}

/// What a user's function does.
#[derive(Clone, Debug)]
pub enum RoutineCode {
    /// A query, whose parameters are the function's and whose columns are those of its result.
    Query(Box<Analyzed>),
    /// Whoever runs the execution runs the function, too: so many columns have its rows.
    Called(usize),
}

impl RoutineCode {
    /// How many columns its rows have.
    pub fn width(&self) -> usize {
        match self {
            RoutineCode::Query(query) => query.columns().len(),
            RoutineCode::Called(width) => *width,
        }
    }
}

/// What a domain asks of its values.
#[derive(Clone, Debug)]
pub struct DomainMeaning {
    /// What is said of NULL, if that is refused.
    pub null: Option<String>,
    /// Conditions with what is said of a value for which one is false: each is a query of one row and column, whose only parameter is the value.
    pub conditions: Vec<(Analyzed, String)>,
}

/// The ways to a relation's rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableAccess {
    /// How many rows there are, estimated.
    pub rows: f64,
    /// Path 0 is the primary key (without columns, if it has none: then it can only be read as a whole); path n is
    /// index n - 1. Keys compare as PostgreSQL's b-tree does, ascending and nulls last; rows of equal keys of an index
    /// come by their primary key.
    pub paths: Vec<AccessPathKeys>,
}

/// By what a path leads to rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessPathKeys {
    /// Columns of the relation, from zero.
    pub columns: Vec<u32>,
    /// Whether at most one row has a key without nulls.
    pub unique: bool,
    /// Whether keys go on behind these columns: rows that agree in them come in no known order. Without columns it is no path to anything.
    pub is_prefix: bool,
}

/// One scan of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScanId(pub u32);

/// What an execution cannot go on without. Several scans may be open at the same time.
#[derive(Clone, Debug, PartialEq)]
pub enum RowNeed {
    /// A scan begins; its first rows are answered.
    Open(ScanId, ScanOrder),
    /// The next rows of an open scan.
    More(ScanId),
    /// An open scan whose last rows have not come needs no more of them; nothing is answered.
    Close(ScanId),
    /// A user's function is to be run; all of its rows are answered at once. No other need is answered before.
    Call(ScanId, CallOrder),
}

/// What is to be called.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOrder {
    /// Which function.
    pub function: FunctionId,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

/// What is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanOrder {
    /// Of which relation.
    pub relation: RelationId,
    /// Which of its paths.
    pub path: usize,
    /// Which keys: ranges ascend, rows of each come in their order, and no row twice. One without bounds is everything.
    pub ranges: Vec<KeyBounds>,
    /// Greatest keys first: the last range before those that stand before it.
    pub reverse: bool,
    /// Which columns the rows of the answer have, ascending.
    pub columns: Vec<u32>,
    /// More rows than these within the ranges will not be needed.
    pub limit: Option<usize>,
}

/// A range of keys, by prefixes of a path's columns. An empty prefix does not bound. Values have the column's stored
/// type and are never NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyBounds {
    /// Where it begins.
    pub lower: Vec<Value>,
    /// Whether keys with that prefix are in it.
    pub lower_inclusive: bool,
    /// Where it ends.
    pub upper: Vec<Value>,
    /// Whether keys with that prefix are in it.
    pub upper_inclusive: bool,
}

/// How far an execution has come.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecutionStep {
    /// It waits for this.
    Need(RowNeed),
    /// Its budget is spent; it goes on when it is resumed.
    Yield,
    /// The next rows of the result.
    Rows(Vec<Vec<Value>>),
    /// There are no more.
    Done,
}
