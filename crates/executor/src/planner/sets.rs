//! Operations on sets: UNION, INTERSECT, EXCEPT.
//!
//! Invariant: rows of both sides have values of the operation's own types, so that equal ones are found.

use super::frame::{ColumnFrame, EntryPlace};
use super::query::FromSource;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::{Callee, CompiledExpression};
use crate::plan::PlanNode;
use analyzer::Typed;
use analyzer::coercion::{Pathway, pathway};
use analyzer::facts::CastContext;
use analyzer::tree::{EntryKind, Query, SetTree};
use std::sync::Arc;

impl QueryPlanner<'_> {
    /// The rows of an operation on sets, under the columns of its first entry.
    pub fn set_source(&mut self, query: &Query, tree: &SetTree, level: usize) -> PlanResult<FromSource> {
        let node = self.set_tree(tree, level)?;
        let mut frame = ColumnFrame { level, ..ColumnFrame::default() };
        for (entry, known) in query.range_table.iter().enumerate() {
            for column in 0..known.columns.len() {
                frame.slots.insert(EntryPlace { entry: entry as u32, column: column as u32 }, column);
                frame.width = frame.width.max(column + 1);
            }
        }
        Ok(FromSource { node, frame, rows: 1_000.0 })
    }

    fn set_tree(&mut self, tree: &SetTree, level: usize) -> PlanResult<Arc<PlanNode>> {
        match tree {
            SetTree::Entry(entry) => {
                let query = &self.tree[self.levels[level].query];
                match query.range_table[*entry as usize].kind {
                    EntryKind::Query(inner) => self.query(inner),
                    _ => not_built("a set of this kind"),
                }
            }
            SetTree::Operation { operator, all, left, right, columns, .. } => {
                if !(*all && *operator == grammar::ast::SetOperator::Union) {
                    columns.iter().try_for_each(|column| self.ordered(column.id))?;
                }
                let (left, right) = (self.set_side(left, columns, level)?, self.set_side(right, columns, level)?);
                Ok(Arc::new(PlanNode::SetOperation { operator: *operator, all: *all, left, right }))
            }
        }
    }

    /// One side of an operation, with values of its types.
    pub fn set_side(&mut self, side: &SetTree, columns: &[Typed], level: usize) -> PlanResult<Arc<PlanNode>> {
        let input = self.set_tree(side, level)?;
        let own: Vec<Typed> = match side {
            SetTree::Entry(entry) => {
                let known = &self.tree[self.levels[level].query].range_table[*entry as usize];
                known.columns.iter().map(|column| column.typed).collect()
            }
            SetTree::Operation { columns, .. } => columns.clone(),
        };
        if own.iter().zip(columns).all(|(own, wanted)| own.id == wanted.id) {
            return Ok(input);
        }
        let mut expressions = Vec::with_capacity(columns.len());
        for (slot, (own, wanted)) in own.iter().zip(columns).enumerate() {
            expressions.push(self.as_type(CompiledExpression::Slot(slot), *own, *wanted)?);
        }
        Ok(Arc::new(PlanNode::Project { input, expressions }))
    }

    /// A value as one of the type that several have in common.
    fn as_type(&mut self, value: CompiledExpression, own: Typed, wanted: Typed) -> PlanResult<CompiledExpression> {
        let (source, target) = (self.storage(own)?, self.storage(wanted)?);
        match pathway(self.catalog, own.id, wanted.id, CastContext::Implicit) {
            _ if own.id == wanted.id => Ok(value),
            Some(Pathway::Relabel) => super::compile::relabelled(value, source, target),
            Some(Pathway::Function(function)) => {
                let row = self.catalog.function(function);
                let body = evaluation::functions::function(function);
                match (row, body) {
                    (Some(row), Some(body)) if row.arguments.len() == 1 => {
                        let (strict, types) = (row.strict, vec![own]);
                        let callee = Callee { function, body, strict, types, result: wanted };
                        Ok(CompiledExpression::CallArguments(Box::new(callee), vec![value]))
                    }
                    _ => not_built(format!("a set of {source} as {target}")),
                }
            }
            _ => not_built(format!("a set of {source} as {target}")),
        }
    }
}
