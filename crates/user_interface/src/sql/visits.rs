//! Walks through syntax trees.
//!
//! The parser's own walks are made anew for each closure, and each time for all types of the tree: that was most of what the compiler did for this crate. Here
//! closures are called through a pointer, so that there is one walk. Invariant: the order is that of the parser's functions of the same names.

use sqlparser::ast::{Expr, ObjectName, Visit, VisitMut, Visitor, VisitorMut};
use std::ops::ControlFlow;

/// Ends a walk; what it ends with is kept beside.
struct WalkEnd;

type NodeReader<'a, Node> = &'a mut dyn FnMut(&Node) -> ControlFlow<WalkEnd>;
type NodeWriter<'a> = &'a mut dyn FnMut(&mut Expr) -> ControlFlow<WalkEnd>;

struct Readers<'a> {
    expression: Option<NodeReader<'a, Expr>>,
    relation: Option<NodeReader<'a, ObjectName>>,
}

impl Visitor for Readers<'_> {
    type Break = WalkEnd;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<WalkEnd> {
        self.expression.as_mut().map_or(ControlFlow::Continue(()), |read| read(expression))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<WalkEnd> {
        self.relation.as_mut().map_or(ControlFlow::Continue(()), |read| read(relation))
    }
}

struct ExpressionWriter<'a>(NodeWriter<'a>);

impl VisitorMut for ExpressionWriter<'_> {
    type Break = WalkEnd;

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<WalkEnd> {
        (self.0)(expression)
    }
}

/// Puts away what a closure ends a walk with.
fn noted<B>(step: ControlFlow<B>, found: &mut Option<B>) -> ControlFlow<WalkEnd> {
    match step {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(with) => {
            *found = Some(with);
            ControlFlow::Break(WalkEnd)
        }
    }
}

fn outcome<B>(found: Option<B>) -> ControlFlow<B> {
    found.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Each expression, before those within it.
pub(super) fn visit_expressions<B>(tree: &impl Visit, mut read: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut found = None;
    let mut read = |expression: &Expr| noted(read(expression), &mut found);
    let _ = tree.visit(&mut Readers { expression: Some(&mut read), relation: None });
    outcome(found)
}

/// Each name of a relation.
pub(super) fn visit_relations<B>(
    tree: &impl Visit,
    mut read: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut found = None;
    let mut read = |relation: &ObjectName| noted(read(relation), &mut found);
    let _ = tree.visit(&mut Readers { expression: None, relation: Some(&mut read) });
    outcome(found)
}

/// Each expression, behind those within it; the closure may put another one in its place.
pub(super) fn visit_expressions_mut<B>(
    tree: &mut impl VisitMut,
    mut write: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut found = None;
    let mut write = |expression: &mut Expr| noted(write(expression), &mut found);
    let _ = tree.visit(&mut ExpressionWriter(&mut write));
    outcome(found)
}
