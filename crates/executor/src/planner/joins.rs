//! Joins: inner ones by estimates, outer ones as they are written.

use super::frame::ColumnFrame;
use super::from::Conjunct;
use super::join_order::Leaf;
use super::query::FromSource;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::CompiledExpression;
use crate::plan::{JoinType, PlanNode};
use analyzer::tree::{JoinTree, Node as TreeNode};
use grammar::ast::JoinKind;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows of the left side times those of the right below which looking up each is better than reading all.
const LOOKUP_GAIN: f64 = 3.0;

/// How many times more rows the right side must have to be put to the left.
const SWAP_GAIN: f64 = 2.0;

impl<'a> QueryPlanner<'a> {
    /// Inner joins of all trees, with all conditions.
    pub fn join_all(
        &mut self,
        trees: Vec<&'a JoinTree>,
        conjuncts: Vec<Conjunct>,
        level: usize,
    ) -> PlanResult<FromSource> {
        let mut conjuncts = conjuncts;
        let mut leaves = Vec::new();
        for tree in trees {
            self.flatten(tree, level, &mut leaves, &mut conjuncts);
        }
        let (late, mut open): (Vec<Conjunct>, Vec<Conjunct>) =
            conjuncts.into_iter().partition(|conjunct| conjunct.stays || conjunct.entries.is_empty());
        let mut joined: Option<(FromSource, BTreeSet<u32>)> = None;
        for place in self.join_order(&leaves, &open, level)? {
            self.step()?;
            let leaf = &leaves[place];
            let inside = |conjunct: &Conjunct| conjunct.entries.is_subset(&leaf.entries);
            let (own, others): (Vec<Conjunct>, Vec<Conjunct>) = open.into_iter().partition(inside);
            open = others;
            joined = Some(match joined {
                None => {
                    if !leaf.needs.is_empty() {
                        return not_built("a lateral entry before what it looks at");
                    }
                    (self.tree(leaf.tree, own, level)?, leaf.entries.clone())
                }
                Some((source, mut entries)) => {
                    entries.extend(leaf.entries.iter().copied());
                    let (between, others) = open.into_iter().partition(|c: &Conjunct| c.entries.is_subset(&entries));
                    open = others;
                    (self.join(JoinType::Inner, source, leaf, own, between, level)?, entries)
                }
            });
        }
        let source = match joined {
            Some((source, _)) => source,
            None => FromSource { node: Arc::new(PlanNode::OneRow), frame: ColumnFrame::empty(level), rows: 1.0 },
        };
        open.extend(late);
        self.filtered(source, &open, level)
    }

    fn leaf(&self, tree: &'a JoinTree, level: usize) -> Leaf<'a> {
        let mut entries = BTreeSet::new();
        Self::entries_in(tree, &mut entries);
        let mut needs: BTreeSet<u32> = entries.iter().flat_map(|entry| self.lateral_entries(*entry, level)).collect();
        needs.retain(|entry| !entries.contains(entry));
        Leaf { tree, entries, needs }
    }

    fn flatten(&self, tree: &'a JoinTree, level: usize, leaves: &mut Vec<Leaf<'a>>, conjuncts: &mut Vec<Conjunct>) {
        match tree {
            JoinTree::Join { kind: JoinKind::Cross | JoinKind::Inner, left, right, condition, .. } => {
                self.flatten(left, level, leaves, conjuncts);
                self.flatten(right, level, leaves, conjuncts);
                if let Some(condition) = condition {
                    self.split(*condition, level, conjuncts);
                }
            }
            _ => leaves.push(self.leaf(tree, level)),
        }
    }

    /// The rows of a tree of joins, with conditions on it.
    fn tree(&mut self, tree: &'a JoinTree, conjuncts: Vec<Conjunct>, level: usize) -> PlanResult<FromSource> {
        let JoinTree::Join { kind, left, right, condition, .. } = tree else {
            let JoinTree::Entry(entry) = tree else { return not_built("a join") };
            return self.entry(*entry, &conjuncts, level);
        };
        if matches!(kind, JoinKind::Cross | JoinKind::Inner) {
            return self.join_all(vec![tree], conjuncts, level);
        }
        let (left, right) = (self.leaf(left, level), self.leaf(right, level));
        let mut on = Vec::new();
        if let Some(condition) = condition {
            self.split(*condition, level, &mut on);
        }
        // WHERE on the side that is kept can go first; so can ON of the side that is filled.
        let within = |side: &Leaf<'_>, conjunct: &Conjunct| {
            !conjunct.stays && !conjunct.entries.is_empty() && conjunct.entries.is_subset(&side.entries)
        };
        let (mut to_left, mut to_right, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts {
            match kind {
                JoinKind::Left if within(&left, &conjunct) => to_left.push(conjunct),
                JoinKind::Right if within(&right, &conjunct) => to_right.push(conjunct),
                _ => after.push(conjunct),
            }
        }
        let mut between = Vec::new();
        for conjunct in on {
            match kind {
                JoinKind::Left if within(&right, &conjunct) => to_right.push(conjunct),
                JoinKind::Right if within(&left, &conjunct) => to_left.push(conjunct),
                _ => between.push(conjunct),
            }
        }
        let joining = match kind {
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
            _ => JoinType::Full,
        };
        if !left.needs.is_empty() {
            return not_built("an outer join of a lateral entry");
        }
        let source = self.tree(left.tree, to_left, level)?;
        let source = self.join(joining, source, &right, to_right, between, level)?;
        self.filtered(source, &after, level)
    }

    /// Joins rows with a leaf: `own` are conditions on that alone, `between` those on both.
    fn join(
        &mut self,
        kind: JoinType,
        left: FromSource,
        leaf: &Leaf<'a>,
        own: Vec<Conjunct>,
        between: Vec<Conjunct>,
        level: usize,
    ) -> PlanResult<FromSource> {
        if !leaf.needs.is_empty() {
            return self.lateral(kind, left, leaf, own, between, level);
        }
        if let Some(joined) = self.join_by_key(kind, &left, leaf, &own, &between, level)? {
            return Ok(joined);
        }
        let right = self.tree(leaf.tree, own, level)?;
        self.hash_join(kind, left, right, &between, false, level)
    }

    fn lateral(
        &mut self,
        kind: JoinType,
        left: FromSource,
        leaf: &Leaf<'a>,
        own: Vec<Conjunct>,
        between: Vec<Conjunct>,
        level: usize,
    ) -> PlanResult<FromSource> {
        if matches!(kind, JoinType::Right | JoinType::Full) {
            return not_built("a lateral side that is kept");
        }
        self.frames.push(ColumnFrame { rows: left.rows, ..left.frame.clone() });
        let right = self.tree(leaf.tree, own, level);
        self.frames.pop();
        let right = right?;
        let frame = left.frame.beside(&right.frame);
        let condition = self.condition(&between, level, &frame)?;
        let (rows, right_width) = (left.rows * right.rows.min(10.0), right.frame.width);
        let node = Arc::new(PlanNode::Lateral { kind, left: left.node, right: right.node, condition, right_width });
        Ok(FromSource { node, frame, rows })
    }

    /// Reads the right side by the keys that rows of the left side have, if that is less than all of it.
    fn join_by_key(
        &mut self,
        kind: JoinType,
        left: &FromSource,
        leaf: &Leaf<'a>,
        own: &[Conjunct],
        between: &[Conjunct],
        level: usize,
    ) -> PlanResult<Option<FromSource>> {
        let JoinTree::Entry(entry) = leaf.tree else { return Ok(None) };
        if matches!(kind, JoinType::Right | JoinType::Full) {
            return Ok(None);
        }
        let given: BTreeSet<u32> = left.frame.slots.keys().map(|place| place.entry).collect();
        let all: Vec<Conjunct> = own.iter().chain(between).cloned().collect();
        let Some(path) = self.best_path(*entry, &all, &left.frame, &given, level)? else { return Ok(None) };
        let without = self.best_path(*entry, own, &ColumnFrame::empty(level), &BTreeSet::new(), level)?;
        let is_better = without.as_ref().is_none_or(|without| without.range.equal.len() < path.range.equal.len());
        let whole = without.as_ref().map_or_else(|| self.rows_of(*entry, level), |without| without.rows);
        if !is_better || path.range.equal.is_empty() || left.rows * path.rows * LOOKUP_GAIN > whole {
            return Ok(None);
        }
        let (mut scan, frame, _) = self.bare_scan(*entry, level)?;
        scan.path = path.path;
        scan.range = path.range;
        // Rows with the same key may have other ends: the ranges of one prefix are read as one.
        let has_slot = |end: &crate::plan::KeyEnd| {
            let mut found = false;
            end.value.visit(&mut |part| found |= matches!(part, CompiledExpression::Slot(_)));
            found
        };
        scan.range.lower = scan.range.lower.filter(|end| !has_slot(end));
        scan.range.upper = scan.range.upper.filter(|end| !has_slot(end));
        scan.filter = self.condition(own, level, &frame)?;
        let right = FromSource { node: Arc::new(PlanNode::Scan(scan)), frame, rows: path.rows };
        // Without keys that tell the rows of one probe from another's every row meets every row: that is right, too.
        self.hash_join(kind, left.clone(), right, between, true, level).map(Some)
    }

    fn hash_join(
        &mut self,
        kind: JoinType,
        left: FromSource,
        right: FromSource,
        between: &[Conjunct],
        by_key: bool,
        level: usize,
    ) -> PlanResult<FromSource> {
        // The right side is held: that is the one of fewer rows.
        let (kind, left, right) = match !by_key && left.rows * SWAP_GAIN < right.rows {
            true => (kind.turned(), right, left),
            false => (kind, left, right),
        };
        let (mut left_keys, mut right_keys, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in between {
            match self.hash_keys(conjunct, &left.frame, &right.frame, level)? {
                Some((left_key, right_key)) => {
                    left_keys.push(left_key);
                    right_keys.push(right_key);
                }
                None => others.push(conjunct.clone()),
            }
        }
        let frame = left.frame.beside(&right.frame);
        let condition = self.condition(&others, level, &frame)?;
        let rows = match (by_key, left_keys.is_empty()) {
            (true, _) => left.rows * right.rows,
            (false, true) => left.rows * right.rows,
            (false, false) => left.rows.max(right.rows),
        };
        let (left_width, right_width) = (left.frame.width, right.frame.width);
        let node = Arc::new(PlanNode::Join {
            kind,
            left: left.node,
            right: right.node,
            left_keys,
            right_keys,
            condition,
            left_width,
            right_width,
            by_key,
        });
        Ok(FromSource { node, frame, rows })
    }

    /// Both sides of an equality between two sides of a join, if it is that of keys.
    fn hash_keys(
        &mut self,
        conjunct: &Conjunct,
        left: &ColumnFrame,
        right: &ColumnFrame,
        level: usize,
    ) -> PlanResult<Option<(CompiledExpression, CompiledExpression)>> {
        let TreeNode::Operator { operator, arguments, .. } = &self.tree[conjunct.condition].node else {
            return Ok(None);
        };
        let [one, other] = arguments.as_slice() else { return Ok(None) };
        let (one_type, other_type) = (self.tree[*one].typed.id, self.tree[*other].typed.id);
        let plain = crate::equality::is_plain(one_type) && crate::equality::hashes_across(one_type, other_type);
        if conjunct.stays || conjunct.has_sublink || !plain || self.strategy(*operator) != Some(3) {
            return Ok(None);
        }
        let (one_of, other_of) = (self.entries_of(*one, level), self.entries_of(*other, level));
        let of = |frame: &ColumnFrame, entries: &BTreeSet<u32>| {
            let known = |entry: &u32| frame.slots.keys().any(|place| place.entry == *entry);
            !entries.is_empty() && entries.iter().all(known)
        };
        let (on_left, on_right) = if of(left, &one_of) && of(right, &other_of) {
            (*one, *other)
        } else if of(left, &other_of) && of(right, &one_of) {
            (*other, *one)
        } else {
            return Ok(None);
        };
        Ok(Some((self.compile(on_left, level, left)?, self.compile(on_right, level, right)?)))
    }
}
