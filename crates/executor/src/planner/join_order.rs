//! In which order inner joins are made: one leaf after the other, by estimates.
//!
//! The first is the one of which fewest rows are read. The next is one that conditions lead to, with which the fewest
//! rows come out. What is estimated of a leaf is estimated anew only when one more condition leads to it, so the work
//! grows with the square of the leaves at most, by a little for each.

use super::from::Conjunct;
use super::{PlanResult, QueryPlanner, not_built};
use analyzer::tree::{EntryKind, JoinTree};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of what is no table.
pub const ROWS_UNKNOWN: f64 = 1_000.0;

/// How many leaves are ordered: each step looks at all of them.
const LEAVES_MAX: usize = 8_192;

/// The share of rows that a condition leaves, where nothing is known.
pub const CONDITION_SHARE: f64 = 0.3;

/// What is to be joined: an entry or an outer join.
pub struct Leaf<'a> {
    pub tree: &'a JoinTree,
    pub entries: BTreeSet<u32>,
    /// Entries that it looks at.
    pub needs: BTreeSet<u32>,
}

/// What is known of a leaf that is not joined yet.
struct LeafEstimate {
    /// Its rows, with conditions on it alone.
    alone: f64,
    /// The rows of it that belong to one row of those before, where a path leads to them.
    each: Option<f64>,
    /// Whether a condition leads to it.
    is_reached: bool,
    /// Whether `each` is still to be estimated.
    is_stale: bool,
    is_joined: bool,
    conditions: Vec<usize>,
}

/// Conditions, and how many of the leaves that each looks at are still to be joined.
struct OpenConditions<'c> {
    conditions: &'c [Conjunct],
    leaves: Vec<BTreeSet<usize>>,
}

impl<'a> QueryPlanner<'a> {
    /// The places of leaves in the order in which they are joined.
    pub fn join_order(&mut self, leaves: &[Leaf<'a>], conditions: &[Conjunct], level: usize) -> PlanResult<Vec<usize>> {
        let leaf_of: BTreeMap<u32, usize> =
            (0..).zip(leaves).flat_map(|(place, leaf)| leaf.entries.iter().map(move |entry| (*entry, place))).collect();
        let mut open = OpenConditions { conditions, leaves: Vec::with_capacity(conditions.len()) };
        let mut by_leaf: Vec<Vec<usize>> = vec![Vec::new(); leaves.len()];
        for (number, condition) in conditions.iter().enumerate() {
            let places: Option<BTreeSet<usize>> =
                condition.entries.iter().map(|entry| leaf_of.get(entry).copied()).collect();
            let places = places.unwrap_or_default();
            places.iter().for_each(|place| by_leaf[*place].push(number));
            open.leaves.push(places);
        }
        let mut estimates = Vec::with_capacity(leaves.len());
        for (leaf, of_leaf) in leaves.iter().zip(by_leaf) {
            self.step()?;
            let own = of_leaf.iter().filter(|number| open.leaves[**number].len() == 1);
            let own: Vec<&Conjunct> = own.map(|number| &conditions[*number]).collect();
            let alone = self.rows_alone(leaf, &own, level);
            estimates.push(LeafEstimate {
                alone,
                each: None,
                is_reached: false,
                is_stale: false,
                is_joined: false,
                conditions: of_leaf,
            });
        }
        self.ordered_leaves(leaves, estimates, open, level)
    }

    fn ordered_leaves(
        &mut self,
        leaves: &[Leaf<'a>],
        mut estimates: Vec<LeafEstimate>,
        mut open: OpenConditions<'_>,
        level: usize,
    ) -> PlanResult<Vec<usize>> {
        let mut given: BTreeSet<u32> = BTreeSet::new();
        let mut order: Vec<usize> = Vec::with_capacity(leaves.len());
        let mut rows = 1.0;
        if leaves.len() > LEAVES_MAX {
            return not_built("joins of so many relations");
        }
        while order.len() < leaves.len() {
            self.step()?;
            let mut best: Option<(bool, f64, f64, usize)> = None;
            for (place, leaf) in leaves.iter().enumerate() {
                if estimates[place].is_joined || !leaf.needs.is_subset(&given) {
                    continue;
                }
                if estimates[place].is_stale {
                    self.step()?;
                    estimates[place].each = self.rows_each(leaf, &estimates[place], &open, &given, level);
                    estimates[place].is_stale = false;
                }
                let known = &estimates[place];
                let after = known.rows_after(rows);
                let is_apart = !order.is_empty() && !known.is_reached;
                if best.is_none_or(|(apart, fewest, least, _)| (is_apart, after, known.alone) < (apart, fewest, least))
                {
                    best = Some((is_apart, after, known.alone, place));
                }
            }
            let Some((_, after, _, place)) = best else { return not_built("lateral entries that look at each other") };
            rows = after.max(1.0);
            order.push(place);
            given.extend(leaves[place].entries.iter().copied());
            estimates[place].is_joined = true;
            open.join(place, &mut estimates);
        }
        Ok(order)
    }

    /// The rows of a leaf, with conditions on it alone.
    fn rows_alone(&self, leaf: &Leaf<'a>, own: &[&Conjunct], level: usize) -> f64 {
        let JoinTree::Entry(entry) = leaf.tree else { return ROWS_UNKNOWN };
        let path = self.rows_by_path(*entry, own, &BTreeSet::new(), level);
        path.unwrap_or_else(|| self.rows_of(*entry, level) * CONDITION_SHARE.powi(own.len() as i32))
    }

    /// The rows of a leaf that belong to one row of entries that are given.
    fn rows_each(
        &self,
        leaf: &Leaf<'a>,
        known: &LeafEstimate,
        open: &OpenConditions<'_>,
        given: &BTreeSet<u32>,
        level: usize,
    ) -> Option<f64> {
        let JoinTree::Entry(entry) = leaf.tree else { return None };
        let all = known.conditions.iter().filter(|number| open.leaves[**number].len() == 1);
        let all: Vec<&Conjunct> = all.map(|number| &open.conditions[*number]).collect();
        self.rows_by_path(*entry, &all, given, level).filter(|each| *each < known.alone)
    }

    /// How many rows an entry has, without conditions.
    pub fn rows_of(&self, entry: u32, level: usize) -> f64 {
        let known = &self.tree[self.levels[level].query].range_table[entry as usize];
        let EntryKind::Relation { relation, .. } = known.kind else { return ROWS_UNKNOWN };
        self.relations.access(relation).map_or(ROWS_UNKNOWN, |access| access.rows.max(1.0))
    }
}

impl LeafEstimate {
    /// The rows that come out when it is joined with so many.
    fn rows_after(&self, rows: f64) -> f64 {
        match self.each {
            Some(each) => rows * each,
            None if self.is_reached => rows.max(self.alone),
            None => rows * self.alone,
        }
    }
}

impl OpenConditions<'_> {
    /// A leaf is joined: some conditions lead to another one from now on.
    fn join(&mut self, place: usize, estimates: &mut [LeafEstimate]) {
        for number in std::mem::take(&mut estimates[place].conditions) {
            let left = &mut self.leaves[number];
            left.remove(&place);
            if let (1, Some(next)) = (left.len(), left.first()) {
                estimates[*next].is_reached = true;
                estimates[*next].is_stale = true;
            }
        }
    }
}
