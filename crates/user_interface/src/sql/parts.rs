//! Statements of several parts: WITH queries that change rows and what stands behind them, and MERGE.
//!
//! A part is a query, programs that take its rows, or both. What a WITH query returns is kept, and is a set of arrays to the queries of other parts. All parts
//! run between the two edges of a statement ([`messages::program::StatementEdge`]), so that none sees what another one has done.

use messages::program::{Program, ResultColumn};
use std::sync::Arc;
use values::Type;

/// What a statement of several parts is executed by.
#[derive(Clone, Debug)]
pub struct StatementParts {
    /// Its first edge.
    pub begin: Arc<Program>,
    /// In the order in which they run.
    pub parts: Vec<StatementPart>,
    /// Its last edge.
    pub end: Arc<Program>,
    /// What the query processor has to describe next; then it is compiled anew.
    pub asks: Option<AskedQuery>,
    /// What it has described.
    pub descriptions: Vec<QueryDescription>,
}

/// A query that is to be described.
#[derive(Clone, Debug)]
pub struct AskedQuery {
    /// Its text.
    pub sql: Arc<str>,
    /// The types of its parameters, as far as they are known.
    pub parameters: Vec<Option<Type>>,
}

/// What the query processor has said of a query.
#[derive(Clone, Debug)]
pub struct QueryDescription {
    /// Its columns.
    pub columns: Vec<ResultColumn>,
    /// The types of its parameters.
    pub parameters: Vec<Type>,
}

impl QueryDescription {
    /// Of these columns and parameters.
    pub fn of(columns: &[ResultColumn], parameters: &[Type]) -> QueryDescription {
        QueryDescription { columns: columns.to_vec(), parameters: parameters.to_vec() }
    }
}

/// One part.
#[derive(Clone, Debug, Default)]
pub struct StatementPart {
    /// The query that is run first.
    pub query: Option<PartQuery>,
    /// What takes its rows; without a query one, which takes none.
    pub takers: Vec<Taker>,
    /// The number by which others know what it returns.
    pub kept: Option<usize>,
    /// Whether it is what the statement is, not one of its WITH queries.
    pub is_main: bool,
    /// Whether changing a row twice is an error: it is a MERGE.
    pub is_merge: bool,
}

/// The query of a part.
#[derive(Clone, Debug)]
pub struct PartQuery {
    /// Its text.
    pub sql: Arc<str>,
    /// What its parameters are.
    pub parameters: Vec<PartParameter>,
    /// Its columns.
    pub columns: Vec<ResultColumn>,
}

/// A parameter of a part's query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartParameter {
    /// The statement's with this number, from 0.
    Own(usize),
    /// All values of a column that was kept: the number of what was kept, that of the column, and the type of the array.
    Kept(usize, usize, Type),
}

/// A program that takes rows of a query.
#[derive(Clone, Debug)]
pub struct Taker {
    /// What it does.
    pub program: Arc<Program>,
    /// Which rows it takes, by the number in their first column; `None`: all, and there is no such column.
    pub number: Option<i32>,
    /// Types of the columns behind that which are the row's key; none: it inserts.
    pub key_types: Vec<Type>,
    /// Which of the columns behind the key it is supplied with.
    pub values: Option<std::ops::Range<usize>>,
}
