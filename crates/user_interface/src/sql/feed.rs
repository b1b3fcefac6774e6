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
    /// The query reads the table that the program changes: all its rows are fetched before the first change.
    pub reads_target: bool,
}
