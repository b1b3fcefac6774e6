//! A statement that fires triggers, as the session runs it: which triggers, the queries that find its rows, and the statement that changes one of them.
//!
//! Invariant: rows of the queries have all columns of the table, in their order: as they were (but for INSERT), then as they are to be (but for DELETE).

use messages::schema::{TableSchema, TriggerEvent, TriggerSchema, TriggerTiming};
use std::sync::Arc;
use values::Type;

/// A statement that fires triggers.
#[derive(Clone, Debug)]
pub struct FiringStatement {
    /// What it does.
    pub event: TriggerEvent,
    /// The table.
    pub table: Arc<TableSchema>,
    /// The name of its schema.
    pub schema: String,
    /// Whether triggers take the place of what it does to rows, which are those of a view. Its table is one of the view's columns then.
    pub is_instead: bool,
    /// The places of the columns that it has.
    pub columns: Vec<usize>,
    /// The columns that an UPDATE, or DO UPDATE, names.
    pub named: Vec<usize>,
    /// The queries that find the rows, one after the other.
    pub sources: Vec<Arc<str>>,
    /// Columns that are still to be drawn for each row, by their places, with what draws them.
    pub draws: Vec<(usize, Arc<str>)>,
    /// The statement that changes one: its parameters are the values of what the row has, or is to have, and then those of its key. Of a view, the query of what
    /// is given back of a row; none: nothing is.
    pub change: Option<Arc<str>>,
    /// The query of a row as it is by now, by its key; none: it is not there before.
    pub again: Option<Arc<str>>,
    /// ON CONFLICT DO UPDATE.
    pub conflict: Option<FiringConflict>,
    /// The triggers of each event, by name: of an INSERT that may be an UPDATE those of INSERT first.
    pub triggers: Vec<(TriggerEvent, TriggerSchema)>,
}

/// What an INSERT does with a row that is there already.
#[derive(Clone, Debug)]
pub struct FiringConflict {
    /// Finds that row: as it is, as it is to become, and whether it is to be changed. Its parameters are those of the statement, and then the row's that was to be
    /// inserted.
    pub find: Arc<str>,
    /// The statement that changes it.
    pub change: Arc<str>,
}

impl FiringStatement {
    /// Types of a row's values.
    pub fn types(&self) -> Vec<Type> {
        self.columns.iter().map(|column| self.table.columns[*column].column_type).collect()
    }

    /// Names and types of a row's values.
    pub fn fields(&self) -> Vec<(String, Type)> {
        let columns = self.columns.iter().map(|column| &self.table.columns[*column]);
        columns.map(|column| (column.name.clone(), column.column_type)).collect()
    }

    /// Whether triggers behind an event take rows that it has changed.
    pub fn keeps_rows(&self, event: TriggerEvent) -> bool {
        let reads = |(of, known): &(TriggerEvent, TriggerSchema)| *of == event && !known.transitions.is_empty();
        !self.for_rows(event, false).is_empty() || self.triggers.iter().any(reads)
    }

    /// Places in a row of the columns of the key.
    pub fn key(&self) -> Vec<usize> {
        let place = |column: &usize| self.columns.iter().position(|known| known == column);
        self.table.primary_key.iter().filter_map(place).collect()
    }

    /// The triggers that fire once, before or behind it.
    pub fn once(&self, is_before: bool) -> Vec<usize> {
        let timing = if is_before { TriggerTiming::Before } else { TriggerTiming::After };
        let fires = |known: &TriggerSchema| known.timing == timing && !known.is_for_rows;
        let mut all: Vec<usize> = (0..self.triggers.len()).filter(|place| fires(&self.triggers[*place].1)).collect();
        if !is_before {
            // Those of the event that the statement is come last.
            all.sort_by_key(|place| self.triggers[*place].0 == self.event);
        }
        all
    }

    /// The triggers that fire before, in the place of, or behind an event for each row.
    pub fn for_rows(&self, event: TriggerEvent, is_before: bool) -> Vec<usize> {
        let fires = |(of, known): &(TriggerEvent, TriggerSchema)| {
            *of == event && (known.timing != TriggerTiming::After) == is_before && known.is_for_rows
        };
        (0..self.triggers.len()).filter(|place| fires(&self.triggers[*place])).collect()
    }
}
