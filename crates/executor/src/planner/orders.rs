//! Orders that a path of a relation gives, and limits that reach a scan.

use super::QueryPlanner;
use crate::access::TableAccess;
use crate::equality::same_keys;
use crate::expression::CompiledExpression;
use crate::plan::{KeyDirection, KeySource, PlanNode, RowsNeeded, ScanNode, Sorting};
use analyzer::tree::{EntryKind, JoinTree, Query};
use std::sync::Arc;

impl QueryPlanner<'_> {
    /// The rows of a query in the order that it asks for, if its only relation can be read in it: by the path that its
    /// conditions have chosen or, if `few` are wanted of a whole relation, by any.
    pub fn ordered_by_path(
        &self,
        query: &Query,
        node: &Arc<PlanNode>,
        order: &[Sorting],
        few: bool,
        level: usize,
    ) -> Option<Arc<PlanNode>> {
        let [JoinTree::Entry(entry)] = query.from.as_slice() else { return None };
        let known = &query.range_table[*entry as usize];
        let EntryKind::Relation { relation, .. } = known.kind else { return None };
        let descending = order.first()?.descending;
        // Keys have nulls last, and first from their end.
        let is_even = order.iter().all(|by| by.descending == descending && by.nulls_first == descending);
        let is_grouped = query.has_aggregates || !query.group.is_empty() || query.grouping_sets.is_some();
        if !is_even || is_grouped || query.having.is_some() || query.has_windows || query.has_target_sets {
            return None;
        }
        let mut columns = Vec::with_capacity(order.len());
        for group in &query.order {
            let target = query.targets.iter().find(|target| target.reference == group.target)?;
            let column = self.column_of(target.value, *entry, level)?;
            // What is shown as another type may have another order than the keys.
            let stored = evaluation::storage::storage(known.columns[column as usize].typed)?;
            let shown = evaluation::storage::storage(self.tree[target.value].typed)?;
            if !same_keys(stored, shown) {
                return None;
            }
            columns.push(column);
        }
        let access = self.relations.access(relation)?;
        let direction = if descending { KeyDirection::Descending } else { KeyDirection::Ascending };
        with_scan(node, &|scan| {
            let is_whole = scan.range.equal.is_empty() && scan.range.lower.is_none() && scan.range.upper.is_none();
            let path = if gives_order(&access, scan.path, scan, &columns) {
                scan.path
            } else if few && is_whole && scan.filter.is_none() {
                (0..access.paths.len()).find(|path| gives_order(&access, *path, scan, &columns))?
            } else {
                return None;
            };
            Some(ScanNode { path, direction: Some(direction), ..scan.clone() })
        })
    }
}

/// Whether rows by a path come in the order of these columns.
fn gives_order(access: &TableAccess, path: usize, scan: &ScanNode, columns: &[u32]) -> bool {
    let Some(keys) = access.paths.get(path) else { return false };
    // Rows of equal keys come by the primary key.
    let primary = if path == 0 || keys.is_prefix { &[][..] } else { &access.paths[0].columns[..] };
    let mut places = keys.columns.iter().chain(primary).enumerate().peekable();
    let is_constant = |place: usize| matches!(scan.range.equal.get(place), Some(KeySource::One(_)));
    let constants = keys.columns.iter().enumerate().filter(|(place, _)| is_constant(*place)).map(|(_, column)| *column);
    let mut seen: Vec<u32> = constants.collect();
    for column in columns {
        if seen.contains(column) {
            continue;
        }
        while places.next_if(|(_, next)| seen.contains(next)).is_some() {}
        match places.next() {
            Some((_, next)) if next == column => seen.push(*column),
            Some(_) => return false,
            // No two rows have the same primary key.
            None => return !keys.is_prefix && access.paths[0].unique && !access.paths[0].columns.is_empty(),
        }
    }
    true
}

/// The same with another scan, if only operators stand above it that keep the order.
fn with_scan(node: &Arc<PlanNode>, change: &dyn Fn(&ScanNode) -> Option<ScanNode>) -> Option<Arc<PlanNode>> {
    Some(Arc::new(match &**node {
        PlanNode::Scan(scan) => PlanNode::Scan(change(scan)?),
        PlanNode::Project { input, expressions } => {
            PlanNode::Project { input: with_scan(input, change)?, expressions: expressions.clone() }
        }
        PlanNode::Filter { input, filter } => {
            PlanNode::Filter { input: with_scan(input, change)?, filter: filter.clone() }
        }
        _ => return None,
    }))
}

/// Tells a scan how many rows are needed, if all of its rows are rows of what is limited.
pub fn limited_scan(
    node: Arc<PlanNode>,
    limit: &CompiledExpression,
    offset: Option<&CompiledExpression>,
) -> Arc<PlanNode> {
    let is_known = |of: &CompiledExpression| {
        let mut known = !of.is_volatile();
        of.visit(&mut |part| {
            known &= !matches!(part, CompiledExpression::Subplan(_) | CompiledExpression::Outer { .. })
        });
        known
    };
    if !is_known(limit) || !offset.is_none_or(is_known) {
        return node;
    }
    let needed = RowsNeeded { limit: limit.clone(), offset: offset.cloned() };
    limited(&node, &needed).unwrap_or(node)
}

fn limited(node: &Arc<PlanNode>, needed: &RowsNeeded) -> Option<Arc<PlanNode>> {
    Some(Arc::new(match &**node {
        PlanNode::Scan(scan) if has_first_rows(scan) => {
            PlanNode::Scan(ScanNode { needed: Some(needed.clone()), ..scan.clone() })
        }
        PlanNode::Project { input, expressions } => {
            PlanNode::Project { input: limited(input, needed)?, expressions: expressions.clone() }
        }
        _ => return None,
    }))
}

/// Whether the first rows within the range are rows of which all conditions hold, as long as there are such rows.
fn has_first_rows(scan: &ScanNode) -> bool {
    // Behind NULLs there is nothing if there is one range, and it is read upwards.
    let is_one = scan.range.equal.iter().all(|source| matches!(source, KeySource::One(_)));
    scan.exact && (!scan.nulls_behind || (is_one && scan.direction != Some(KeyDirection::Descending)))
}
