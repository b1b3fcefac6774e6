//! What a statement is compiled with, beside its tree.

use crate::sql::parts::QueryDescription;
use crate::sql::settings::Facts;
use crate::sql::view_checks::ViewCheck;
use messages::schema::Catalog;
use messages::{Key, TableId};
use std::collections::BTreeSet;

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
    /// Catalog rows that the running transaction has written.
    pub own: &'a BTreeSet<Key>,
    /// Storages that the running transaction made.
    pub made: &'a [TableId],
    /// The text that the statement's places refer to.
    pub text: &'a str,
    /// What the query processor has said of queries of its parts before.
    pub described: &'a [QueryDescription],
    /// What views ask of the rows that it writes.
    pub view_checks: &'a [ViewCheck],
    /// The catalog that has the view whose triggers take the place of what the statement does: the others have a table in its place.
    pub with_view: Option<&'a Catalog>,
}
