//! Random queries over the tables of a case, each of known types: PostgreSQL accepts nearly all of them, and their answers do not depend on
//! chance.
//!
//! Reading order: `queries` (SELECT and what it nests), `sources` (FROM), `expressions`, `conditions`, `aggregates` (and windows), `changes`.

mod aggregates;
pub mod changes;
mod conditions;
mod expressions;
mod queries;
mod sources;

use std::collections::BTreeSet;

use crate::limits::EXPRESSION_DEPTH_MAX;
use crate::random::Random;
use crate::tables::Table;
use crate::tree::{Label, Node, Part};
use crate::types::Type;

pub use self::queries::TopQuery;

/// Something that an expression can begin with: a column, or what is grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// As it is written.
    pub sql: String,
    /// Its type.
    pub kind: Type,
}

impl Atom {
    fn node(&self) -> Node {
        Node::new(Label::Value(self.kind), vec![Part::Text(self.sql.clone())]).or(self.kind.simplest())
    }
}

/// What an expression may name.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Of the query itself.
    pub atoms: Vec<Atom>,
    /// Of the queries around it.
    pub outer: Vec<Atom>,
    /// In a query with groups: what aggregates take.
    pub grouped: Option<Vec<Atom>>,
    /// What orders its rows totally, if anything does: windows need it.
    pub total_order: Option<Vec<String>>,
}

impl Scope {
    /// For a query inside of this one.
    fn inside(&self) -> Scope {
        let outer = self.atoms.iter().chain(&self.outer).cloned().collect();
        Scope { outer, ..Scope::default() }
    }
}

/// A relation in a FROM clause.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The name by which it is known.
    pub alias: String,
    /// Its columns.
    pub columns: Vec<(String, Type)>,
    /// Whether the column `id` tells its rows apart.
    pub keyed: bool,
}

/// Makes statements.
pub struct Generator<'a> {
    /// Decides everything.
    pub random: Random,
    /// The tables there are.
    pub tables: &'a [Table],
    /// What the statement uses, by the names of the summary.
    pub features: BTreeSet<&'static str>,
    /// Types of the parameters so far, if there may be any.
    pub parameters: Option<Vec<Type>>,
    /// Common table expressions that may be named.
    ctes: Vec<Relation>,
    /// How many names have been given out.
    names: usize,
    /// How many tables were named like columns.
    column_aliases: usize,
    /// What may still be nested: large statements find no more than middling ones, and take longer.
    fuel: usize,
}

impl<'a> Generator<'a> {
    /// Over these tables.
    pub fn new(random: Random, tables: &'a [Table]) -> Generator<'a> {
        Generator {
            random,
            tables,
            features: BTreeSet::new(),
            parameters: None,
            ctes: Vec::new(),
            names: 0,
            column_aliases: 0,
            fuel: 0,
        }
    }

    /// Begins a statement.
    pub(crate) fn begin(&mut self) {
        self.features.clear();
        self.ctes.clear();
        self.names = 0;
        self.column_aliases = 0;
        self.fuel = self.random.between(6, 40);
        if let Some(parameters) = &mut self.parameters {
            parameters.clear();
        }
    }

    fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn feature(&mut self, name: &'static str) {
        self.features.insert(name);
    }

    /// Whether something may be nested here, at the cost of some fuel.
    fn spend(&mut self, depth: usize) -> bool {
        if depth >= EXPRESSION_DEPTH_MAX || self.fuel == 0 {
            return false;
        }
        self.fuel -= 1;
        true
    }

    /// A parameter of a type, if there may be any.
    fn parameter(&mut self, kind: Type) -> Option<String> {
        let parameters = self.parameters.as_mut()?;
        parameters.push(kind);
        let number = parameters.len();
        self.feature("parameter");
        Some(format!("${number}"))
    }
}
