//! Triggers as the catalog keeps them, with the table that they are on.

use serde::{Deserialize, Serialize};

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerSchema {
    /// Its name, which no other trigger of the table has.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// The catalog's name of its function, and the function's object identifier.
    pub function: (String, u32),
    /// Whether it fires before the change: else behind it.
    pub is_before: bool,
    /// Whether it fires for each row: else once for a statement.
    pub is_for_rows: bool,
    /// What it fires for.
    pub events: TriggerEvents,
    /// UPDATE OF: positions of columns; empty: any.
    pub columns: Vec<usize>,
    /// WHEN, as an expression over `old` and `new`.
    pub condition: Option<String>,
    /// What it hands to its function.
    pub arguments: Vec<String>,
    /// Whether it fires at all.
    pub is_enabled: bool,
}

/// What a trigger fires for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub struct TriggerEvents {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    pub truncate: bool,
}

/// A statement that changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl TriggerEvents {
    /// Whether it is among them.
    pub fn has(self, event: TriggerEvent) -> bool {
        match event {
            TriggerEvent::Insert => self.insert,
            TriggerEvent::Update => self.update,
            TriggerEvent::Delete => self.delete,
            TriggerEvent::Truncate => self.truncate,
        }
    }
}

impl TriggerEvent {
    /// What SQL calls it.
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

impl TriggerSchema {
    /// `pg_trigger.tgtype`: what it fires for, when, and for each of what, as bits.
    pub fn bits(&self) -> i16 {
        let bits = [
            (self.is_for_rows, 1),
            (self.is_before, 2),
            (self.events.insert, 4),
            (self.events.delete, 8),
            (self.events.update, 16),
            (self.events.truncate, 32),
        ];
        bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum()
    }
}
