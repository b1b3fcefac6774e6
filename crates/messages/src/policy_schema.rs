//! Row-level security as the catalog keeps it, with the table whose rows it hides.

use serde::{Deserialize, Serialize};

/// What a table says about who may see and write which of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSecurity {
    /// Whether its policies count.
    pub is_enabled: bool,
    /// Whether they count for its owner, too.
    pub is_forced: bool,
    /// Its policies, by name.
    pub policies: Vec<PolicySchema>,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySchema {
    /// Its name, which no other policy of the table has.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// Whether it lets rows through: else it holds some back that others let through.
    pub is_permissive: bool,
    /// What it is for.
    pub command: PolicyCommand,
    /// The roles that it is for, by their numbers; 0: all.
    pub roles: Vec<u32>,
    /// USING: which rows that are there may be seen, as SQL text over the table's columns.
    pub using: Option<String>,
    /// WITH CHECK: which rows may be written, likewise.
    pub check: Option<String>,
}

/// What a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum PolicyCommand {
    All,
    Select,
    Insert,
    Update,
    Delete,
}

impl PolicyCommand {
    /// What SQL calls it.
    pub fn word(self) -> &'static str {
        match self {
            PolicyCommand::All => "ALL",
            PolicyCommand::Select => "SELECT",
            PolicyCommand::Insert => "INSERT",
            PolicyCommand::Update => "UPDATE",
            PolicyCommand::Delete => "DELETE",
        }
    }

    /// As `pg_policy` has it.
    pub fn letter(self) -> &'static str {
        match self {
            PolicyCommand::All => "*",
            PolicyCommand::Select => "r",
            PolicyCommand::Insert => "a",
            PolicyCommand::Update => "w",
            PolicyCommand::Delete => "d",
        }
    }

    /// Whether a policy for this is one for that.
    pub fn covers(self, other: PolicyCommand) -> bool {
        self == PolicyCommand::All || self == other
    }
}

impl PolicySchema {
    /// Which rows may be written: what it says of that, or else of rows that are there.
    pub fn written(&self) -> Option<&str> {
        self.check.as_deref().or(self.using.as_deref())
    }

    /// Its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.using.as_deref().into_iter().chain(self.check.as_deref())
    }
}
