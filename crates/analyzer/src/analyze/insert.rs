//! INSERT.

use grammar::ast::{self, ColumnTarget, ExpressionId, QueryBody};

use super::levels::{Item, Level, Place};
use super::targets::new_target;
use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, DUPLICATE_COLUMN, SYNTAX_ERROR};
use crate::relations::Relation;
use crate::tree::{Command, EntryColumn, EntryKind, ExprId, JoinTree, Node, Query, QueryId, RangeEntry, Target};

/// A column that gets a value, with what part of it.
pub type InsertColumn<'a> = (u32, Option<&'a ColumnTarget>);

impl<'a> Analyzer<'a> {
    /// INSERT.
    pub fn insert(&mut self, insert: &'a ast::Insert) -> Result<QueryId> {
        self.levels.push(Level { resolve_unknowns: true, ..Level::default() });
        if let Some(with) = &insert.with {
            self.with(with)?;
        }
        let (relation, mut item) = self.changed_table(&insert.table, insert.alias.as_ref())?;
        let columns = self.insert_columns(relation, &insert.columns)?;
        let explicit = !insert.columns.is_empty();
        let (targets, from) = match insert.source {
            None => (Vec::new(), Vec::new()),
            Some(source) => self.insert_source(source, relation, &columns, explicit)?,
        };
        let mut query = Query {
            command: Command::Insert,
            targets,
            from,
            result: Some(item.entry),
            overriding: insert.overriding,
            ..Query::default()
        };
        if let Some(conflict) = &insert.on_conflict {
            query.on_conflict = Some(self.on_conflict(conflict, relation, &insert.table, &item)?);
        }
        if !insert.returning.is_empty() {
            set_visible(&mut item, true, true);
            query.returning = self.returning(&insert.returning, vec![item])?;
        }
        self.check_generated(relation, &query)?;
        self.close_change(query)
    }

    /// A statement that changes rows is complete.
    pub fn close_change(&mut self, query: Query) -> Result<QueryId> {
        let closed = self.close();
        let query = Query {
            with: closed.with,
            range_table: closed.range_table,
            has_aggregates: closed.has_aggregates,
            has_windows: closed.has_windows,
            has_target_sets: closed.has_target_sets,
            multiple: closed.multiple,
            ..query
        };
        self.collate_query(&query)?;
        Ok(self.tree.add_query(query))
    }

    /// The columns that get values: those that are named, or all.
    pub fn insert_columns(&self, relation: &Relation, named: &'a [ColumnTarget]) -> Result<Vec<InsertColumn<'a>>> {
        if named.is_empty() {
            let there = relation.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
            return Ok(there.map(|(number, _)| (number as u32, None)).collect());
        }
        let mut columns: Vec<InsertColumn<'a>> = Vec::with_capacity(named.len());
        for target in named {
            let name = target.name.text.as_str();
            let Some(number) = relation.column(name) else {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
                return error_at(sqlstate::UNDEFINED_COLUMN, message, target.name.at);
            };
            // Parts of one column may be named side by side, a whole column only once.
            let twice = columns.iter().any(|(before, other)| {
                let whole = other.is_none_or(|other| other.steps.is_empty());
                *before == number && (target.steps.is_empty() || whole)
            });
            if twice {
                let message = format!("column \"{name}\" specified more than once");
                return error_at(DUPLICATE_COLUMN, message, target.name.at);
            }
            columns.push((number, Some(target)));
        }
        Ok(columns)
    }

    fn insert_source(
        &mut self,
        source: ast::QueryId,
        relation: &'a Relation,
        columns: &[InsertColumn<'a>],
        explicit: bool,
    ) -> Result<(Vec<Target>, Vec<JoinTree>)> {
        let arena = self.arena;
        let syntax = &arena[source];
        let bare = syntax.with.is_none()
            && syntax.order.is_empty()
            && syntax.limit.is_none()
            && syntax.offset.is_none()
            && syntax.locks.is_empty();
        match &syntax.body {
            QueryBody::Values(rows) if bare && rows.len() == 1 => {
                let values = self.expression_list(&rows[0], Place::ValuesSingle, true)?;
                let values = self.insert_row(values, &rows[0], relation, columns, explicit)?;
                Ok((self.insert_targets(relation, columns, values), Vec::new()))
            }
            QueryBody::Values(rows) if bare => self.insert_rows(rows, relation, columns, explicit),
            _ => self.insert_query(source, relation, columns, explicit),
        }
    }

    fn insert_targets(&self, relation: &Relation, columns: &[InsertColumn<'a>], values: Vec<ExprId>) -> Vec<Target> {
        let pairs = columns.iter().zip(values);
        pairs
            .map(|((number, _), value)| {
                let name = relation.columns[*number as usize].name.to_string();
                Target { column: Some(*number), ..new_target(value, name) }
            })
            .collect()
    }

    /// The values of one row, as the columns take them.
    pub fn insert_row(
        &mut self,
        values: Vec<ExprId>,
        written: &[ExpressionId],
        relation: &Relation,
        columns: &[InsertColumn<'a>],
        explicit: bool,
    ) -> Result<Vec<ExprId>> {
        if values.len() > columns.len() {
            let at = self.location(values[columns.len()]);
            return error_at(SYNTAX_ERROR, "INSERT has more expressions than target columns", at);
        }
        if explicit && values.len() < columns.len() {
            let at = columns[values.len()].1.map(|target| target.name.at);
            let error = AnalysisError::new(SYNTAX_ERROR, "INSERT has more target columns than expressions");
            let row = match values.as_slice() {
                [only] => match &self.tree[*only].node {
                    Node::Row { fields, .. } => fields.len() == columns.len(),
                    _ => false,
                },
                _ => false,
            };
            let hint = "The insertion source is a row expression containing the same number of columns expected by the INSERT. Did you \
                        accidentally use extra parentheses?";
            let error = if row { error.with_hint(hint) } else { error };
            return Err(error.at_place(at));
        }
        let _ = written;
        let mut made = Vec::with_capacity(values.len());
        for (value, (number, target)) in values.into_iter().zip(columns) {
            made.push(self.assigned(value, relation, *number, *target, Place::InsertTarget)?);
        }
        Ok(made)
    }

    /// VALUES of several rows: an entry that each column of the table takes from.
    fn insert_rows(
        &mut self,
        rows: &'a [Vec<ExpressionId>],
        relation: &'a Relation,
        columns: &[InsertColumn<'a>],
        explicit: bool,
    ) -> Result<(Vec<Target>, Vec<JoinTree>)> {
        let mut lists: Vec<Vec<ExprId>> = Vec::with_capacity(rows.len());
        let mut width = None;
        for row in rows {
            let list = self.expression_list(row, Place::Values, true)?;
            if *width.get_or_insert(list.len()) != list.len() {
                let at = row.first().map(|first| self.raw_location(*first));
                return error_at(SYNTAX_ERROR, "VALUES lists must all be the same length", at);
            }
            lists.push(self.insert_row(list, row, relation, columns, explicit)?);
        }
        let typed = lists[0].iter().map(|value| self.tree[*value].typed);
        let entry_columns: Vec<EntryColumn> = typed
            .enumerate()
            .map(|(number, typed)| EntryColumn { name: format!("column{}", number + 1), typed })
            .collect();
        let entry = self.add_entry(RangeEntry {
            kind: EntryKind::Values(lists),
            name: "*VALUES*".to_string(),
            has_alias: false,
            columns: entry_columns,
            lateral: false,
        });
        let values = self.fields_of_entry(0, entry, None);
        Ok((self.insert_targets(relation, columns, values), vec![JoinTree::Entry(entry)]))
    }

    /// INSERT of a query's rows. Literals in it take the types of the columns.
    fn insert_query(
        &mut self,
        source: ast::QueryId,
        relation: &'a Relation,
        columns: &[InsertColumn<'a>],
        explicit: bool,
    ) -> Result<(Vec<Target>, Vec<JoinTree>)> {
        let arena = self.arena;
        if let QueryBody::Select(select) = &arena[source].body
            && let Some(into) = &select.into
        {
            return error_at(SYNTAX_ERROR, "SELECT ... INTO is not allowed here", into.name.name.at);
        }
        let query = self.subquery(source, false)?;
        let found = self.query_columns(query);
        let entry = self.add_entry(RangeEntry {
            kind: EntryKind::Query(query),
            name: "*SELECT*".to_string(),
            has_alias: true,
            columns: Self::entry_columns(found),
            lateral: false,
        });
        let shown: Vec<ExprId> =
            self.tree[query].targets.iter().filter(|target| !target.junk).map(|target| target.value).collect();
        let mut values = Vec::with_capacity(shown.len());
        for (number, value) in shown.into_iter().enumerate() {
            if self.is_open(value) {
                // A literal as it stands is converted here, not within the query.
                values.push(value);
                continue;
            }
            let (typed, at) = (self.tree[value].typed, self.location(value));
            let node = Node::Column { levels_up: 0, entry, column: number as u32 };
            values.push(self.add(node, typed, at));
        }
        let values = self.insert_row(values, &[], relation, columns, explicit)?;
        self.settle_query(query, entry, columns.len())?;
        Ok((self.insert_targets(relation, columns, values), vec![JoinTree::Entry(entry)]))
    }

    /// What is still open in the query of an INSERT is text there: nobody reads it.
    fn settle_query(&mut self, query: QueryId, entry: u32, _count: usize) -> Result<()> {
        let mut targets = std::mem::take(&mut self.tree[query].targets);
        let constants = |analyzer: &Self, value: ExprId| matches!(analyzer.tree[value].node, Node::Constant(_));
        for target in &mut targets {
            if self.type_of(target.value) == crate::types::UNKNOWN && constants(self, target.value) {
                target.value = self.as_text(target.value)?;
            }
        }
        self.tree[query].targets = targets;
        let types = self.query_columns(query);
        let columns = &mut self.level().entries[entry as usize].columns;
        for (column, (_, typed)) in columns.iter_mut().zip(types) {
            column.typed = typed;
        }
        Ok(())
    }

    /// RETURNING.
    pub fn returning(&mut self, list: &'a [ast::Target], namespace: Vec<Item>) -> Result<Vec<Target>> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        self.level().namespace = namespace;
        let mut targets = self.targets(list, Place::Returning)?;
        if targets.is_empty() {
            let at = list.first().map(|target| self.raw_location(target.value));
            return error_at(SYNTAX_ERROR, "RETURNING must have at least one column", at);
        }
        self.resolve_unknowns(&mut targets)?;
        Ok(targets)
    }

    /// 428C9 for a value of a column that only the system gives one.
    pub fn check_generated(&self, relation: &Relation, query: &Query) -> Result<()> {
        for target in &query.targets {
            let Some(number) = target.column else { continue };
            let column = &relation.columns[number as usize];
            if !column.generated && !column.identity_always {
                continue;
            }
            if self.only_defaults(target.value) {
                continue;
            }
            let name = &column.name;
            let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
            let error = AnalysisError::new(crate::error::GENERATED_ALWAYS, message);
            if column.generated {
                return Err(error.with_detail(format!("Column \"{name}\" is a generated column.")));
            }
            if query.overriding.is_none() {
                let error =
                    error.with_detail(format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."));
                return Err(error.with_hint("Use OVERRIDING SYSTEM VALUE to override."));
            }
        }
        Ok(())
    }

    /// Whether all that a column gets is DEFAULT.
    fn only_defaults(&self, value: ExprId) -> bool {
        match self.tree[value].node {
            Node::Default => true,
            Node::Column { levels_up: 0, entry, column } => {
                let level = self.levels.last().expect("a query is open");
                match &level.entries[entry as usize].kind {
                    EntryKind::Values(rows) => {
                        rows.iter().all(|row| matches!(self.tree[row[column as usize]].node, Node::Default))
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

/// How names find an item.
pub fn set_visible(item: &mut Item, relation: bool, columns: bool) {
    item.relation_visible = relation;
    item.columns_visible = columns;
    item.lateral_only = false;
    item.lateral_ok = true;
}
