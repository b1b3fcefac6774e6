//! A program whose rows a query supplies.

use messages::program::Program;
use std::sync::Arc;
use values::Type;

/// A program and the query whose rows are supplied to it.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The query.
    pub sql: Arc<str>,
    /// Types of the key columns that each row of the query starts with; none for INSERT.
    pub key_types: Vec<Type>,
    /// What takes the rows.
    pub program: Program,
    /// When rows are supplied.
    pub supplying: Supplying,
}

/// When the rows of a query are supplied to its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supplying {
    /// As they come.
    AsTheyCome,
    /// Once all have come: the query reads the table that the program changes.
    AllAtOnce,
    /// The same; and no row may be given two values (`replace` of QUEL).
    AllAtOnceOneValueEach,
}
