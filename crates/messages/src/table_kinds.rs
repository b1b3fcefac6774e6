//! What relations of the catalog are, and how long they and their rows last.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The query of a materialized view, whose rows it keeps from one REFRESH to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaterializedQuery {
    /// Its text.
    pub text: Arc<str>,
    /// Whether it has been run: nobody reads the view before.
    pub populated: bool,
}

/// What a row of the catalog about a table describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableSchemaKind {
    /// A table whose rows statements change.
    Table,
    /// A view: its query's rows, computed anew by each reader.
    View,
    /// A materialized view.
    MaterializedView,
    /// A sequence.
    Sequence,
}

impl TableSchemaKind {
    /// As messages name it.
    pub fn word(self) -> &'static str {
        match self {
            TableSchemaKind::Table => "table",
            TableSchemaKind::View => "view",
            TableSchemaKind::MaterializedView => "materialized view",
            TableSchemaKind::Sequence => "sequence",
        }
    }

    /// As `pg_class` has it.
    pub fn letter(self) -> &'static str {
        match self {
            TableSchemaKind::Table => "r",
            TableSchemaKind::View => "v",
            TableSchemaKind::MaterializedView => "m",
            TableSchemaKind::Sequence => "S",
        }
    }
}

/// How long a relation and its rows last. A later placement may keep the rows of what is temporary at the site of its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TablePersistence {
    /// Until it is dropped.
    #[default]
    Permanent,
    /// UNLOGGED: likewise. PostgreSQL loses its rows in a crash.
    Unlogged,
    /// As long as the session whose schema it is in; its rows perhaps shorter.
    Temporary(AtCommit),
}

/// What the end of a transaction does to a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AtCommit {
    /// ON COMMIT PRESERVE ROWS.
    #[default]
    Preserve,
    /// ON COMMIT DELETE ROWS.
    Empty,
    /// ON COMMIT DROP.
    Drop,
}

impl TablePersistence {
    /// As `pg_class` has it.
    pub fn letter(self) -> &'static str {
        match self {
            TablePersistence::Permanent => "p",
            TablePersistence::Unlogged => "u",
            TablePersistence::Temporary(_) => "t",
        }
    }

    /// Whether it goes with its session.
    pub fn is_temporary(self) -> bool {
        matches!(self, TablePersistence::Temporary(_))
    }
}
