//! The typed query tree: what a statement means once all its names are found.
//!
//! Expressions and queries lie in arenas and name each other by number, parts before the whole. A column is an entry of a range table and a number in it, never a name.
//! Every expression has its type and the place that an error about it points to. [`verify`] checks that types follow from what an expression is made of.
//!
//! * [`expressions`]: what computes;
//! * [`queries`]: where rows come from and what is done to them;
//! * [`walk`]: the parts of a node, and searches through a tree.

pub mod expressions;
pub mod queries;
pub mod verify;
pub mod walk;

pub use expressions::*;
pub use queries::*;

use crate::types::Typed;
use std::ops::{Index, IndexMut};

/// An expression of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// A query of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u32);

/// The nodes of one statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Expressions.
    pub expressions: Vec<Expr>,
    /// Queries; those within another stand before it.
    pub queries: Vec<Query>,
}

impl Tree {
    /// Adds an expression.
    pub fn add(&mut self, expression: Expr) -> ExprId {
        self.expressions.push(expression);
        ExprId(self.expressions.len() as u32 - 1)
    }

    /// Gives everything that has a type another one.
    pub fn retype(&mut self, other: &dyn Fn(Typed) -> Typed) {
        for expression in &mut self.expressions {
            expression.typed = other(expression.typed);
        }
        for query in &mut self.queries {
            let columns = query.range_table.iter_mut().flat_map(|entry| &mut entry.columns);
            columns.for_each(|column| column.typed = other(column.typed));
            let mut open: Vec<&mut SetTree> = query.set_operation.iter_mut().collect();
            while let Some(set) = open.pop() {
                if let SetTree::Operation { left, right, columns, .. } = set {
                    columns.iter_mut().for_each(|typed| *typed = other(*typed));
                    open.extend([&mut **left, &mut **right]);
                }
            }
        }
    }

    /// Adds a query.
    pub fn add_query(&mut self, query: Query) -> QueryId {
        self.queries.push(query);
        QueryId(self.queries.len() as u32 - 1)
    }
}

impl Index<ExprId> for Tree {
    type Output = Expr;
    fn index(&self, number: ExprId) -> &Expr {
        &self.expressions[number.0 as usize]
    }
}

impl IndexMut<ExprId> for Tree {
    fn index_mut(&mut self, number: ExprId) -> &mut Expr {
        &mut self.expressions[number.0 as usize]
    }
}

impl Index<QueryId> for Tree {
    type Output = Query;
    fn index(&self, number: QueryId) -> &Query {
        &self.queries[number.0 as usize]
    }
}

impl IndexMut<QueryId> for Tree {
    fn index_mut(&mut self, number: QueryId) -> &mut Query {
        &mut self.queries[number.0 as usize]
    }
}
