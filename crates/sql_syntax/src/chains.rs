//! Long chains as trees of little depth, and the depth of trees.
//!
//! The parser makes of `a OR b OR c` a tree that leans to the left and is as deep as the chain is long. AND, OR, UNION and INTERSECT are associative:
//! the same operands, in the same order, make a tree as deep as the logarithm of their number, which means the same.

use crate::limits::{CHAIN_KEPT_MAX, NESTED_JOIN_LEVELS, NESTED_STATEMENT_LEVELS};
use sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, Statement, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};
use std::ops::ControlFlow;

/// How deep a tree is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    /// Levels of everything.
    pub levels: usize,
    /// Queries within each other.
    pub queries: usize,
}

/// Makes trees of long chains.
pub fn balance(tree: &mut impl VisitMut) {
    let _ = VisitMut::visit(tree, &mut Balance);
}

struct Balance;

impl VisitorMut for Balance {
    type Break = ();

    // A node is seen before its parts, so that none is walked as deep as it was.
    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        balance_connective(expression);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        balance_sets(&mut query.body);
        ControlFlow::Continue(())
    }
}

fn balance_connective(expression: &mut Expr) {
    let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = &*expression else { return };
    let op = op.clone();
    let mut operands = 1;
    let mut rest = &*expression;
    while let Expr::BinaryOp { left, op: next, .. } = rest
        && *next == op
    {
        operands += 1;
        rest = left;
    }
    if operands <= CHAIN_KEPT_MAX {
        return;
    }
    let mut chain = Vec::with_capacity(operands);
    let mut rest = std::mem::replace(expression, nothing());
    loop {
        match rest {
            Expr::BinaryOp { left, op: next, right } if next == op => {
                chain.push(*right);
                rest = *left;
            }
            first => {
                chain.push(first);
                break;
            }
        }
    }
    chain.reverse();
    let joined =
        tree_of(chain, &|left, right| Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) });
    *expression = joined.unwrap_or_else(nothing);
}

fn nothing() -> Expr {
    Expr::Value(sqlparser::ast::Value::Null.into())
}

fn is_associative(op: SetOperator, quantifier: SetQuantifier) -> bool {
    match op {
        SetOperator::Union => matches!(quantifier, SetQuantifier::All | SetQuantifier::None | SetQuantifier::Distinct),
        SetOperator::Intersect => matches!(quantifier, SetQuantifier::None | SetQuantifier::Distinct),
        _ => false,
    }
}

fn balance_sets(body: &mut Box<SetExpr>) {
    let mut length = 0;
    let mut rest = &**body;
    while let SetExpr::SetOperation { left, .. } = rest {
        length += 1;
        rest = left;
    }
    if length < CHAIN_KEPT_MAX {
        return;
    }
    let mut chain = Vec::with_capacity(length);
    let mut rest = std::mem::replace(&mut **body, SetExpr::Values(no_rows()));
    let first = loop {
        match rest {
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                chain.push((op, set_quantifier, *right));
                rest = *left;
            }
            first => break first,
        }
    };
    let mut done = first;
    let mut chain = chain.into_iter().rev().peekable();
    while let Some((op, set_quantifier, operand)) = chain.next() {
        let mut operands = vec![done, operand];
        while is_associative(op, set_quantifier)
            && let Some((_, _, operand)) =
                chain.next_if(|(next, quantifier, _)| (*next, *quantifier) == (op, set_quantifier))
        {
            operands.push(operand);
        }
        let joined = tree_of(operands, &|left, right| SetExpr::SetOperation {
            left: Box::new(left),
            op,
            set_quantifier,
            right: Box::new(right),
        });
        done = joined.unwrap_or_else(|| SetExpr::Values(no_rows()));
    }
    **body = done;
}

fn no_rows() -> sqlparser::ast::Values {
    sqlparser::ast::Values { explicit_row: false, value_keyword: false, rows: Vec::new() }
}

/// The operands joined in their order, by as many levels as it takes; `None` of none.
fn tree_of<T>(mut operands: Vec<T>, join: &impl Fn(T, T) -> T) -> Option<T> {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop()
}

/// How deep a tree is. It is walked by recursion of the parser's library, which takes more stack as it needs it.
pub(crate) fn depths(tree: &impl Visit) -> Depths {
    let mut counter = Counter::default();
    let _ = Visit::visit(tree, &mut counter);
    counter.most
}

#[derive(Default)]
struct Counter {
    now: Depths,
    most: Depths,
}

impl Counter {
    fn enter(&mut self, levels: usize, queries: usize) {
        self.now.levels += levels;
        self.now.queries += queries;
        self.most.levels = self.most.levels.max(self.now.levels);
        self.most.queries = self.most.queries.max(self.now.queries);
    }
}

fn counts(expression: &Expr) -> usize {
    // The query within counts, and parentheses vanish.
    usize::from(!matches!(expression, Expr::Nested(_) | Expr::Subquery(_) | Expr::Exists { .. }))
}

fn levels_of_factor(factor: &TableFactor) -> usize {
    if let TableFactor::NestedJoin { .. } = factor { NESTED_JOIN_LEVELS } else { 0 }
}

/// A query, and the set operations of it that lean to the left.
fn levels_of(query: &Query) -> usize {
    let mut levels = 1;
    let mut rest = &*query.body;
    while let SetExpr::SetOperation { left, .. } = rest {
        levels += 1;
        rest = left;
    }
    levels
}

impl Visitor for Counter {
    type Break = ();

    fn pre_visit_statement(&mut self, _: &Statement) -> ControlFlow<()> {
        self.enter(NESTED_STATEMENT_LEVELS, 0);
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, _: &Statement) -> ControlFlow<()> {
        self.now.levels -= NESTED_STATEMENT_LEVELS;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.enter(levels_of_factor(factor), 0);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.now.levels -= levels_of_factor(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.enter(counts(expression), 0);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.now.levels -= counts(expression);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.enter(levels_of(query), 1);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.now.levels -= levels_of(query);
        self.now.queries -= 1;
        ControlFlow::Continue(())
    }
}
