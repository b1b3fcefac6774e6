//! What a statement is compiled with, beside its tree.

use crate::sql::settings::Facts;
use messages::TableId;
use messages::schema::Catalog;

/// What compiling needs beside the statement.
pub struct Context<'a> {
    /// The tables that the role sees.
    pub catalog: &'a Catalog,
    /// The whole catalog.
    pub all: &'a Catalog,
    /// The catalog's generation.
    pub generation: u64,
    /// What is special about the session.
    pub facts: &'a Facts<'a>,
    /// Storages that the running transaction made.
    pub made: &'a [TableId],
    /// The text that the statement's places refer to.
    pub text: &'a str,
}
