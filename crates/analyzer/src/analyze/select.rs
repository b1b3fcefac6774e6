//! SELECT, and what all queries share.

use grammar::ast::{Distinct, Query as Syntax, QueryBody, QueryId as SyntaxQuery, RowLock, Select};

use super::levels::{Level, Place};
use super::{Analyzer, Result, error_at};
use crate::error::SYNTAX_ERROR;
use crate::tree::{EntryKind, QueryId, RangeEntry};

impl<'a> Analyzer<'a> {
    /// A query, in a level of its own.
    pub fn subquery(&mut self, number: SyntaxQuery, resolve: bool) -> Result<QueryId> {
        self.deeper(|analyzer| analyzer.query_with(number, resolve, &[]))
    }

    /// The same; what is locked outside of it is locked in it, too.
    pub fn query_with(&mut self, number: SyntaxQuery, resolve: bool, outer_locks: &'a [RowLock]) -> Result<QueryId> {
        self.levels.push(Level { resolve_unknowns: resolve, locks: outer_locks, ..Level::default() });
        let depth = self.levels.len();
        let query = self.open_query(number)?;
        debug_assert!(self.levels.len() == depth - 1, "a level is left over");
        Ok(query)
    }

    /// A query whose level is open already.
    pub fn open_query(&mut self, number: SyntaxQuery) -> Result<QueryId> {
        let arena = self.arena;
        let syntax = &arena[number];
        match &syntax.body {
            QueryBody::Select(select) => self.select(syntax, select),
            QueryBody::Values(rows) => self.values(syntax, rows),
            QueryBody::Operation { .. } => self.set_operation(number),
        }
    }

    fn select(&mut self, syntax: &'a Syntax, select: &'a Select) -> Result<QueryId> {
        if let Some(with) = &syntax.with {
            self.with(with)?;
        }
        if let Some(into) = &select.into {
            return error_at(SYNTAX_ERROR, "SELECT ... INTO is not allowed here", into.name.name.at);
        }
        let level = self.level();
        if !syntax.locks.is_empty() {
            level.locks = &syntax.locks;
        }
        level.named_windows = &select.windows;
        let from = self.items_of_from(&select.from)?;
        let mut targets = self.targets(&select.targets, Place::SelectTarget)?;
        let filter = match select.filter {
            Some(filter) => {
                let filter = self.expression_at(filter, Place::Where)?;
                Some(self.condition(filter, "WHERE")?)
            }
            None => None,
        };
        let having = match select.having {
            Some(having) => {
                let having = self.expression_at(having, Place::Having)?;
                Some(self.condition(having, "HAVING")?)
            }
            None => None,
        };
        let order = self.sort_clause(&syntax.order, &mut targets, Place::OrderBy, false)?;
        let grouped = self.group_clause(&select.group, select.group_distinct, &mut targets, &order)?;
        let (mut distinct, mut distinct_on) = (Vec::new(), false);
        match &select.distinct {
            Distinct::No => {}
            Distinct::All => distinct = self.distinct_clause(&mut targets, &order, false)?,
            Distinct::On(list) => {
                distinct_on = true;
                distinct = self.distinct_on(list, &mut targets, &order)?;
            }
        }
        let offset = self.limit(syntax.offset, Place::Offset, false)?;
        let limit = self.limit(syntax.limit, Place::Limit, syntax.with_ties)?;
        let windows = self.window_clause(&mut targets)?;
        if self.level().resolve_unknowns {
            self.resolve_unknowns(&mut targets)?;
        }
        let mut query = self.close_select(|query| {
            query.from = from;
            query.targets = targets;
            query.filter = filter;
            query.having = having;
            query.order = order;
            query.group = grouped.group;
            query.grouping_sets = grouped.sets;
            query.distinct = distinct;
            query.distinct_on = distinct_on;
            query.offset = offset;
            query.limit = limit;
            query.with_ties = syntax.with_ties;
            query.windows = windows;
        });
        self.lock_rows(&mut query, &syntax.locks, false)?;
        self.collate_query(&query.query)?;
        let in_recursion = query.recursive_term;
        self.check_grouped(&query.query, in_recursion)?;
        self.levels.pop();
        Ok(self.tree.add_query(query.query))
    }

    /// The query of the innermost level, which stays open for what is still checked in it.
    pub fn close_select(&mut self, fill: impl FnOnce(&mut crate::tree::Query)) -> Closing {
        let level = self.level();
        let itself = |entry: &RangeEntry| matches!(entry.kind, EntryKind::Common { itself: true, .. });
        let recursive_term = level.entries.iter().any(itself);
        let mut query = crate::tree::Query {
            with: std::mem::take(&mut level.with),
            range_table: level.entries.clone(),
            has_aggregates: level.has_aggregates,
            has_windows: level.has_windows,
            has_target_sets: level.has_target_sets,
            ..crate::tree::Query::default()
        };
        fill(&mut query);
        Closing { query, recursive_term }
    }
}

/// A query that is complete but for its checks.
pub struct Closing {
    /// The query.
    pub query: crate::tree::Query,
    /// Whether it is the recursive term of a query of WITH.
    pub recursive_term: bool,
}
