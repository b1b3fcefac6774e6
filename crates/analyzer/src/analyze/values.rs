//! VALUES as a query.

use grammar::ast::{ExpressionId, Query as Syntax};

use super::levels::Place;
use super::locks::lock_name;
use super::targets::new_target;
use super::{Analyzer, Result, error_at};
use crate::error::{FEATURE_NOT_SUPPORTED, SYNTAX_ERROR};
use crate::tree::{EntryColumn, EntryKind, ExprId, JoinTree, QueryId, RangeEntry};
use crate::types::Typed;

impl<'a> Analyzer<'a> {
    /// VALUES.
    pub fn values(&mut self, syntax: &'a Syntax, rows: &'a [Vec<ExpressionId>]) -> Result<QueryId> {
        if let Some(with) = &syntax.with {
            self.with(with)?;
        }
        let mut lists: Vec<Vec<ExprId>> = Vec::with_capacity(rows.len());
        for row in rows {
            let list = self.expression_list(row, Place::Values, false)?;
            if lists.first().is_some_and(|first| first.len() != list.len()) {
                let at = row.first().map(|first| self.raw_location(*first));
                return error_at(SYNTAX_ERROR, "VALUES lists must all be the same length", at);
            }
            lists.push(list);
        }
        let mut columns = Vec::new();
        for number in 0..lists[0].len() {
            let all: Vec<ExprId> = lists.iter().map(|list| list[number]).collect();
            let common = self.common(&all, "VALUES")?;
            for list in &mut lists {
                list[number] = self.made_common(list[number], common, "VALUES")?;
            }
            let all: Vec<ExprId> = lists.iter().map(|list| list[number]).collect();
            let mut typed = self.common_typed(&all, common);
            typed.collation = self.common_collation(&all, true)?;
            columns.push(EntryColumn { name: format!("column{}", number + 1), typed });
        }
        let lateral = lists.iter().flatten().any(|value| self.tree.column_of_level(*value, 0).is_some());
        let name = "*VALUES*".to_string();
        let entry = RangeEntry { kind: EntryKind::Values(lists), name, has_alias: false, columns, lateral };
        let number = self.add_entry(entry);
        let item = self.item_of(number);
        let shown = self.columns_of_item(&item, 0, syntax.at);
        self.level().namespace.push(item);
        let mut targets: Vec<_> = shown
            .into_iter()
            .map(|(value, name)| {
                // Columns of VALUES have no place of their own.
                (self.tree[value].at, self.tree[value].first) = (None, None);
                new_target(value, name)
            })
            .collect();
        let order = self.sort_clause(&syntax.order, &mut targets, Place::OrderBy, false)?;
        let offset = self.limit(syntax.offset, Place::Offset, false)?;
        let limit = self.limit(syntax.limit, Place::Limit, syntax.with_ties)?;
        if let Some(lock) = syntax.locks.first() {
            let message = format!("{} cannot be applied to VALUES", lock_name(lock.strength));
            return error_at(FEATURE_NOT_SUPPORTED, message, None);
        }
        let closing = self.close_select(|query| {
            query.from = vec![JoinTree::Entry(number)];
            query.targets = targets;
            query.order = order;
            query.offset = offset;
            query.limit = limit;
            query.with_ties = syntax.with_ties;
        });
        self.collate_query(&closing.query)?;
        self.levels.pop();
        Ok(self.tree.add_query(closing.query))
    }

    /// Adds an entry to the range table.
    pub fn add_entry(&mut self, entry: RangeEntry) -> u32 {
        let entries = &mut self.level().entries;
        entries.push(entry);
        entries.len() as u32 - 1
    }

    /// Columns from names and types.
    pub fn entry_columns(columns: Vec<(String, Typed)>) -> Vec<EntryColumn> {
        columns.into_iter().map(|(name, typed)| EntryColumn { name, typed }).collect()
    }
}
