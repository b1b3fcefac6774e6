//! Texts of SQL in a body, and what of them are names of variables.
//!
//! A name that is a variable's may be a column's as well (PostgreSQL's manual, section 43.11.1): that is known where the text runs, by the tables that it
//! names. Invariant: each reference is a whole name of the text, and they follow each other.

use crate::RoutineCatalog;
use crate::place::VariablePlace;
use crate::simple::Simple;

/// A text that is run.
#[derive(Clone, Debug, Default)]
pub struct RoutineText {
    /// The statement; of an expression, the query that computes it.
    pub sql: String,
    /// Names that may be variables'.
    pub references: Vec<VariableReference>,
    /// Where columns are looked for.
    pub scopes: Vec<ColumnScope>,
    /// What it computes, if no server need be asked.
    pub simple: Option<Simple>,
}

/// A name in a text.
#[derive(Clone, Debug)]
pub struct VariableReference {
    /// Where it begins.
    pub start: usize,
    /// Where it has ended.
    pub end: usize,
    /// The names that it is made of.
    pub names: Vec<String>,
    /// What it stands for.
    pub place: VariablePlace,
    /// The scope in which it would be a column.
    pub scope: Option<usize>,
    /// `.*` is behind it.
    pub is_star: bool,
    /// A subscript or a field is behind it.
    pub is_subscripted: bool,
}

/// The columns that a place of a text sees.
#[derive(Clone, Debug, Default)]
pub struct ColumnScope {
    /// The scope around it.
    pub parent: Option<usize>,
    /// Its tables.
    pub tables: Vec<ScopeTable>,
}

/// A table of a scope.
#[derive(Clone, Debug, Default)]
pub struct ScopeTable {
    /// What it is called.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnSource>,
    /// It is seen only by its own name.
    pub is_qualified_only: bool,
}

/// Where columns of a table of a scope come from.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// A name.
    Name(String),
    /// Those of a relation, the first of them under other names.
    Relation(Vec<String>, Vec<String>),
}

impl ColumnSource {
    fn has(&self, name: &str, catalog: &dyn RoutineCatalog) -> bool {
        match self {
            ColumnSource::Name(known) => known == name,
            ColumnSource::Relation(relation, renamed) => {
                renamed.iter().any(|known| known == name)
                    || catalog
                        .columns(relation)
                        .is_some_and(|columns| columns.iter().skip(renamed.len()).any(|(known, _)| known == name))
            }
        }
    }
}

impl RoutineText {
    /// Whether a name is a column's where it stands.
    pub fn is_column(&self, reference: &VariableReference, catalog: &dyn RoutineCatalog) -> bool {
        let mut next = reference.scope;
        while let Some(scope) = next.and_then(|number| self.scopes.get(number)) {
            let found = scope.tables.iter().any(|table| {
                let has = |name: &str| table.columns.iter().any(|column| column.has(name, catalog));
                match reference.names.as_slice() {
                    [name] if reference.is_star => table.name == *name,
                    [name] => table.name == *name || (!table.is_qualified_only && has(name)),
                    [before @ .., name] => before.last().is_some_and(|last| table.name == *last) && has(name),
                    [] => false,
                }
            });
            if found {
                return true;
            }
            next = scope.parent;
        }
        false
    }
}
