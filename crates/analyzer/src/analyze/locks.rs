//! FOR UPDATE and the like: which entries they lock, and what they do not go with.

use grammar::ast::{LockStrength, RowLock};

use super::select::Closing;
use super::{Analyzer, Result, error_at};
use crate::error::{FEATURE_NOT_SUPPORTED, SYNTAX_ERROR, UNDEFINED_TABLE};
use crate::tree::{EntryKind, JoinTree, Lock};

/// How messages call a lock.
pub fn lock_name(strength: LockStrength) -> &'static str {
    match strength {
        LockStrength::KeyShare => "FOR KEY SHARE",
        LockStrength::Share => "FOR SHARE",
        LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        LockStrength::Update => "FOR UPDATE",
    }
}

impl<'a> Analyzer<'a> {
    /// Finds what is locked.
    pub fn lock_rows(&mut self, closing: &mut Closing, locks: &'a [RowLock], pushed: bool) -> Result<()> {
        for lock in locks {
            self.lock(closing, lock, pushed)?;
        }
        Ok(())
    }

    fn lock(&mut self, closing: &mut Closing, lock: &'a RowLock, _pushed: bool) -> Result<()> {
        let query = &mut closing.query;
        let name = lock_name(lock.strength);
        let refused = [
            (query.set_operation.is_some(), "UNION/INTERSECT/EXCEPT"),
            (!query.distinct.is_empty(), "DISTINCT clause"),
            (!query.group.is_empty() || query.grouping_sets.is_some(), "GROUP BY clause"),
            (query.having.is_some(), "HAVING clause"),
            (query.has_aggregates, "aggregate functions"),
            (query.has_windows, "window functions"),
            (query.has_target_sets, "set-returning functions in the target list"),
        ];
        if let Some((_, what)) = refused.into_iter().find(|(refused, _)| *refused) {
            let message = format!("{name} is not allowed with {what}");
            return error_at(FEATURE_NOT_SUPPORTED, message, None);
        }
        if lock.tables.is_empty() {
            for entry in all_entries(&query.from) {
                if matches!(query.range_table[entry as usize].kind, EntryKind::Relation { .. } | EntryKind::Query(_)) {
                    query.locks.push(Lock { entry, strength: lock.strength, wait: lock.wait });
                }
            }
            return Ok(());
        }
        for table in &lock.tables {
            let at = table.name.at;
            if table.catalog.is_some() || table.schema.is_some() {
                let message = format!("{name} must specify unqualified relation names");
                return error_at(SYNTAX_ERROR, message, table.schema.as_ref().map_or(at, |schema| schema.at));
            }
            let entries = query.range_table.iter().enumerate();
            let wanted = &table.name.text;
            let found = entries
                .filter(|(_, entry)| !matches!(entry.kind, EntryKind::Join { .. }) || entry.has_alias)
                .find(|(_, entry)| entry.name == *wanted);
            let Some((number, entry)) = found else {
                // The name that USING gives belongs to a join.
                if self.level().namespace.iter().any(|item| *item.name == **wanted) {
                    let message = format!("{name} cannot be applied to a join");
                    return error_at(FEATURE_NOT_SUPPORTED, message, at);
                }
                let message = format!("relation \"{wanted}\" in {name} clause not found in FROM clause");
                return error_at(UNDEFINED_TABLE, message, at);
            };
            let what = match entry.kind {
                EntryKind::Relation { .. } | EntryKind::Excluded(_) | EntryKind::Query(_) => None,
                EntryKind::Join { .. } => Some("a join"),
                EntryKind::Functions { .. } => Some("a function"),
                EntryKind::Values(_) => Some("VALUES"),
                EntryKind::Common { .. } => Some("a WITH query"),
            };
            if let Some(what) = what {
                return error_at(FEATURE_NOT_SUPPORTED, format!("{name} cannot be applied to {what}"), at);
            }
            query.locks.push(Lock { entry: number as u32, strength: lock.strength, wait: lock.wait });
        }
        Ok(())
    }
}

/// All entries that are joined.
fn all_entries(from: &[JoinTree]) -> Vec<u32> {
    fn add(tree: &JoinTree, all: &mut Vec<u32>) {
        match tree {
            JoinTree::Entry(entry) => all.push(*entry),
            JoinTree::Join { left, right, .. } => {
                add(left, all);
                add(right, all);
            }
        }
    }
    let mut all = Vec::new();
    from.iter().for_each(|tree| add(tree, &mut all));
    all
}
