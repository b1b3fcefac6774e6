//! The columns that an expression may name, and the table that they are of.

use messages::program::Expression;
use messages::schema::{TableSchema, VersionedTable};
use std::sync::Arc;
use values::Type;

/// The columns that an expression may name.
#[derive(Default)]
pub struct Scope {
    tables: Vec<(String, Arc<TableSchema>, usize)>,
}

impl Scope {
    /// No columns.
    pub fn empty() -> Scope {
        Scope::default()
    }

    /// The columns of a table under a name.
    pub fn table(name: &str, table: &Arc<TableSchema>) -> Scope {
        Scope { tables: vec![(name.to_string(), table.clone(), 0)] }
    }

    /// One more table, whose columns begin at position `first`.
    pub fn and(mut self, name: &str, table: &Arc<TableSchema>, first: usize) -> Scope {
        self.tables.push((name.to_string(), table.clone(), first));
        self
    }

    /// The tables beside the first one, with the positions where their columns begin.
    pub(super) fn beside(&self) -> impl Iterator<Item = (&str, &TableSchema, usize)> {
        self.tables.iter().skip(1).map(|(name, table, first)| (name.as_str(), table.as_ref(), *first))
    }

    /// How many tables have a column of this name.
    pub(super) fn count(&self, name: &str) -> usize {
        self.tables.iter().filter(|(_, table, _)| table.column(name).is_some()).count()
    }

    /// Whether there is a table of this name.
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.iter().any(|(table, ..)| table == name)
    }

    /// The type of the column at a position.
    pub(super) fn type_at(&self, position: usize) -> Option<Type> {
        self.tables.iter().find_map(|(_, table, first)| {
            table.columns.get(position.checked_sub(*first)?).map(|column| column.column_type)
        })
    }

    /// Whether the column at a position has a domain over an enum: PostgreSQL has no operator for it.
    pub(super) fn is_enum_domain(&self, position: usize) -> bool {
        self.tables.iter().any(|(_, table, first)| {
            let column = position.checked_sub(*first).and_then(|place| table.columns.get(place));
            column.is_some_and(|column| column.domain.is_some() && column.column_type.has_labels())
        })
    }

    /// The column's position and type. An unqualified name is looked up in the first table that has it: the only scopes of two
    /// tables are those of ON CONFLICT, where PostgreSQL too prefers the target table for names of both.
    pub(super) fn column(&self, qualifier: Option<&str>, name: &str) -> Option<(usize, Type)> {
        self.tables.iter().filter(|(table, ..)| qualifier.is_none_or(|qualifier| qualifier == table)).find_map(
            |(_, table, first)| {
                let position = table.column(name)?;
                Some((first + position, table.columns[position].column_type))
            },
        )
    }
}

/// A table as a statement names it.
pub struct HeldTable {
    /// What it is called.
    pub name: String,
    /// The table.
    pub versioned: VersionedTable,
    /// Which of its rows there are for the statement; `None`: all.
    pub condition: Option<Expression>,
}

/// What stands before others in a condition. It is tested first.
pub(super) fn tested_first(guard: Option<Expression>, condition: Option<Expression>) -> Option<Expression> {
    match (guard, condition) {
        (None, condition) => condition,
        (guard, None) => guard,
        (Some(guard), Some(condition)) => Some(Expression::And(vec![guard, condition])),
    }
}
