//! Rows of a relation for values outside: read once and found by their keys, instead of read anew for each row around.
//!
//! How many rows around ask is known only when they do. Where a path leads to the few that each asks for, it is taken
//! until so many have asked that all could have been read instead.

use super::frame::ColumnFrame;
use super::from::Conjunct;
use super::query::FromSource;
use super::{PlanResult, QueryPlanner};
use crate::plan::{KeyedLookUps, PlanNode};
use analyzer::tree::{ExprId, Node as TreeNode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many rows of a scan could be read in the time of one look-up.
const LOOKUP_ROWS: f64 = 30.0;

impl QueryPlanner<'_> {
    /// The rows of a relation of which equality with values of rows around is asked, if there are many rows around and
    /// no path leads to the few that each asks for.
    pub fn keyed_scan(&mut self, entry: u32, conjuncts: &[Conjunct], level: usize) -> PlanResult<Option<FromSource>> {
        let Some(around) = self.frames.last().map(|frame| frame.rows) else { return Ok(None) };
        let (mut keys, mut asked) = (Vec::new(), Vec::new());
        let (mut inside, mut others) = (Vec::new(), Vec::new());
        for conjunct in conjuncts {
            match self.key_outside(conjunct, entry, level) {
                Some(sides) => {
                    keys.push(sides);
                    asked.push(conjunct.clone());
                }
                // A subquery may look outside through a WITH around it.
                None if conjunct.stays || conjunct.has_sublink || self.looks_outside(conjunct.condition) => {
                    others.push(conjunct.clone());
                }
                None => {
                    inside.push(conjunct.clone());
                    asked.push(conjunct.clone());
                }
            }
        }
        if keys.is_empty() || around <= 1.0 {
            return Ok(None);
        }
        let own: Vec<&Conjunct> = inside.iter().collect();
        let all: Vec<&Conjunct> = asked.iter().collect();
        let whole = self.rows_of(entry, level);
        let whole = self.rows_by_path(entry, &own, &BTreeSet::new(), level).unwrap_or(whole);
        let each = self.rows_by_path(entry, &all, &BTreeSet::new(), level).filter(|each| *each < whole);
        if each.is_some_and(|each| around * (LOOKUP_ROWS + each) <= whole) {
            return Ok(None);
        }
        let each_by_path = match each {
            Some(rows) => {
                let (by_path, asking) = (self.scan_by_path(entry, &asked, level)?, whole / (LOOKUP_ROWS + rows));
                Some(KeyedLookUps { scan: by_path.node, most: asking as usize })
            }
            None => None,
        };
        let source = self.scan_by_path(entry, &inside, level)?;
        let nothing = ColumnFrame::empty(level);
        let (mut row_keys, mut wanted) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (own, other) in keys {
            row_keys.push(self.compile(own, level, &source.frame)?);
            wanted.push(self.compile(other, level, &nothing)?);
        }
        let number = self.keyed as usize;
        self.keyed += 1;
        let node =
            Arc::new(PlanNode::Keyed { number, source: source.node, keys: row_keys, wanted, each: each_by_path });
        let rows = each.unwrap_or(whole / around).max(1.0);
        self.filtered(FromSource { node, frame: source.frame, rows }, &others, level).map(Some)
    }

    /// Both sides of an equality between an entry and rows around, if it is that of keys: the entry's first.
    fn key_outside(&self, conjunct: &Conjunct, entry: u32, level: usize) -> Option<(ExprId, ExprId)> {
        let TreeNode::Operator { operator, arguments, .. } = &self.tree[conjunct.condition].node else { return None };
        let [one, other] = arguments.as_slice() else { return None };
        let (one_type, other_type) = (self.tree[*one].typed.id, self.tree[*other].typed.id);
        let plain = crate::equality::is_plain(one_type) && crate::equality::hashes_across(one_type, other_type);
        if conjunct.stays || conjunct.has_sublink || !plain || self.strategy(*operator) != Some(3) {
            return None;
        }
        let is_own = |of: ExprId| {
            let entries = self.entries_of(of, level);
            entries.len() == 1 && entries.contains(&entry) && !self.looks_outside(of)
        };
        let is_outside = |of: ExprId| self.entries_of(of, level).is_empty() && self.looks_outside(of);
        [(*one, *other), (*other, *one)].into_iter().find(|(own, other)| is_own(*own) && is_outside(*other))
    }

    /// Whether an expression looks at a row of a query around its own, or at the arguments of the function that the query is of.
    fn looks_outside(&self, of: ExprId) -> bool {
        let is_call = self.arguments.is_some();
        let is_outside = |node: &TreeNode, depth: u32| match node {
            TreeNode::Column { levels_up, .. } => *levels_up > depth,
            TreeNode::Parameter(_) => is_call,
            // Whatever else knows levels is not looked into.
            TreeNode::Aggregate(_) | TreeNode::Grouping { .. } | TreeNode::WholeRow { .. } => true,
            _ => false,
        };
        self.tree.find(of, &mut |expression, depth| is_outside(&expression.node, depth)).is_some()
    }
}
