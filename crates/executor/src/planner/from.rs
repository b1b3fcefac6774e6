//! FROM and WHERE: entries of the range table, and which conditions go to which of them.

use super::frame::{ColumnFrame, EntryPlace};
use super::join_order::{CONDITION_SHARE, ROWS_UNKNOWN};
use super::query::FromSource;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::CompiledExpression;
use crate::plan::{PlanNode, RangeBounds, ScanNode, SetCall, SetCallee};
use analyzer::tree::{EntryColumn, EntryKind, ExprId, JoinTree, Node as TreeNode, Query, QueryId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A condition that must hold, with the entries of its query that it looks at.
#[derive(Clone, Debug)]
pub struct Conjunct {
    pub condition: ExprId,
    pub entries: BTreeSet<u32>,
    /// It stays where it was written: evaluated for every row, and not before others.
    pub stays: bool,
    pub has_sublink: bool,
}

impl<'a> QueryPlanner<'a> {
    /// The joined rows of FROM for which WHERE holds.
    pub fn from(&mut self, query: &'a Query, level: usize) -> PlanResult<FromSource> {
        let mut conjuncts = Vec::new();
        if let Some(filter) = query.filter {
            self.split(filter, level, &mut conjuncts);
        }
        self.join_all(query.from.iter().collect(), conjuncts, level)
    }

    /// Splits a condition at its ANDs.
    pub fn split(&self, condition: ExprId, level: usize, into: &mut Vec<Conjunct>) {
        if let TreeNode::And(parts) = &self.tree[condition].node {
            parts.iter().for_each(|part| self.split(*part, level, into));
            return;
        }
        let mut stays = false;
        let mut has_sublink = false;
        self.tree.find(condition, &mut |expression, _| {
            match &expression.node {
                TreeNode::Function { function, .. } | TreeNode::Operator { function, .. } => {
                    let row = self.catalog.function(*function);
                    stays |= row.is_none_or(|row| row.volatility == analyzer::facts::Volatility::Volatile);
                }
                TreeNode::SubLink { .. } => has_sublink = true,
                _ => {}
            }
            false
        });
        let entries = self.entries_of(condition, level);
        into.push(Conjunct { condition, entries, stays, has_sublink });
    }

    /// The entries of the query at a level that an expression of it looks at; joins as what they join.
    pub fn entries_of(&self, of: ExprId, level: usize) -> BTreeSet<u32> {
        let mut entries = BTreeSet::new();
        let mut aliases = Vec::new();
        self.tree.find(of, &mut |expression, depth| {
            self.note_entry(&expression.node, depth, level, &mut entries, &mut aliases);
            false
        });
        aliases.into_iter().for_each(|alias| entries.extend(self.entries_of(alias, level)));
        entries
    }

    fn note_entry(
        &self,
        node: &TreeNode,
        depth: u32,
        level: usize,
        entries: &mut BTreeSet<u32>,
        aliases: &mut Vec<ExprId>,
    ) {
        if let TreeNode::WholeRow { levels_up, entry } = node
            && *levels_up == depth
        {
            match &self.tree[self.levels[level].query].range_table[*entry as usize].kind {
                EntryKind::Join { columns, .. } => aliases.extend(columns),
                _ => {
                    entries.insert(*entry);
                }
            }
        }
        if let TreeNode::Column { levels_up, entry, column } = node
            && *levels_up == depth
        {
            match &self.tree[self.levels[level].query].range_table[*entry as usize].kind {
                EntryKind::Join { columns, .. } => aliases.push(columns[*column as usize]),
                _ => {
                    entries.insert(*entry);
                }
            }
        }
    }

    /// The entries before it that an entry looks at.
    pub fn lateral_entries(&self, entry: u32, level: usize) -> BTreeSet<u32> {
        let known = &self.tree[self.levels[level].query].range_table[entry as usize];
        let mut entries = BTreeSet::new();
        let mut aliases = Vec::new();
        match &known.kind {
            EntryKind::Query(query) => {
                self.tree.find_in_query(*query, 1, &mut |expression, depth| {
                    self.note_entry(&expression.node, depth, level, &mut entries, &mut aliases);
                    false
                });
            }
            EntryKind::Functions { functions, .. } => aliases.extend(functions.iter().map(|(call, _)| *call)),
            EntryKind::Values(rows) => aliases.extend(rows.iter().flatten()),
            _ => {}
        }
        aliases.into_iter().for_each(|alias| entries.extend(self.entries_of(alias, level)));
        entries
    }

    /// The entries of a tree of joins.
    pub fn entries_in(tree: &JoinTree, into: &mut BTreeSet<u32>) {
        match tree {
            JoinTree::Entry(entry) => {
                into.insert(*entry);
            }
            JoinTree::Join { left, right, .. } => {
                Self::entries_in(left, into);
                Self::entries_in(right, into);
            }
        }
    }

    /// The rows of an entry for which conditions on it alone hold.
    pub fn entry(&mut self, entry: u32, conjuncts: &[Conjunct], level: usize) -> PlanResult<FromSource> {
        let known = &self.tree[self.levels[level].query].range_table[entry as usize];
        let width = known.columns.len();
        let source = match &known.kind {
            EntryKind::Relation { sample: None, .. } => return self.scan(entry, conjuncts, level),
            EntryKind::Query(query) => {
                let node = self.query(*query)?;
                FromSource { node, frame: ColumnFrame::of_entry(level, entry, width), rows: ROWS_UNKNOWN }
            }
            EntryKind::Common { levels_up, number, itself } => {
                let Some(target) = level.checked_sub(*levels_up as usize) else { return not_built("WITH of nowhere") };
                let node = self.common(target, *number as usize, *itself)?;
                FromSource { node, frame: ColumnFrame::of_entry(level, entry, width), rows: ROWS_UNKNOWN }
            }
            EntryKind::Values(rows) => {
                let nothing = ColumnFrame::empty(level);
                let mut compiled = Vec::with_capacity(rows.len());
                for row in rows {
                    compiled.push(self.compile_all(row, level, &nothing)?);
                }
                let (rows, node) = (compiled.len() as f64, Arc::new(PlanNode::Values(compiled)));
                FromSource { node, frame: ColumnFrame::of_entry(level, entry, width), rows }
            }
            EntryKind::Functions { functions, ordinality: false }
                if let [(call, _)] = functions.as_slice()
                    && let Some(source) = self.routine_rows(*call, entry, level)? =>
            {
                source
            }
            EntryKind::Functions { functions, ordinality } => {
                let nothing = ColumnFrame::empty(level);
                let mut calls = Vec::with_capacity(functions.len());
                let mut columns = known.columns.iter();
                for (call, width) in functions {
                    let own: Vec<&EntryColumn> = columns.by_ref().take(*width as usize).collect();
                    let call = match self.record_set(*call, &own, level, &nothing)? {
                        Some(call) => call,
                        None => self.set_call(*call, own.len(), level, &nothing)?,
                    };
                    calls.push(call);
                }
                let node = Arc::new(PlanNode::Functions { functions: calls, ordinality: *ordinality });
                FromSource { node, frame: ColumnFrame::of_entry(level, entry, width), rows: ROWS_UNKNOWN }
            }
            _ => return not_built("an entry of this kind"),
        };
        self.filtered(source, conjuncts, level)
    }

    /// A function of FROM or of targets.
    pub fn set_call(&mut self, call: ExprId, width: usize, level: usize, current: &ColumnFrame) -> PlanResult<SetCall> {
        let expression = &self.tree[call];
        if let TreeNode::Function { function, arguments, .. } = &expression.node
            && self.yields_set(*function)
        {
            let Some(row) = self.catalog.function(*function) else { return not_built("a function of nowhere") };
            let Some(body) = evaluation::sets::set_function(*function) else {
                return not_built(format!("set function {} ({})", row.name, function.0));
            };
            let strict = row.strict;
            let types = arguments.iter().map(|argument| self.tree[*argument].typed).collect();
            let callee = SetCallee::Set { function: *function, body, strict, types, result: expression.typed };
            let arguments = self.compile_all(arguments, level, current)?;
            self.check_pattern(*function, &arguments)?;
            return Ok(SetCall { callee, arguments, width });
        }
        if width != 1 {
            return not_built("a function of several columns");
        }
        let value = self.compile(call, level, current)?;
        Ok(SetCall { callee: SetCallee::Value, arguments: vec![value], width })
    }

    /// Rows for which conditions hold; those with subqueries come last.
    pub fn filtered(&mut self, source: FromSource, conjuncts: &[Conjunct], level: usize) -> PlanResult<FromSource> {
        let mut source = source;
        source.frame.rows = source.rows;
        match self.condition(conjuncts, level, &source.frame)? {
            None => Ok(source),
            Some(filter) => {
                let rows = (source.rows * CONDITION_SHARE.powi(conjuncts.len() as i32)).max(1.0);
                let node = Arc::new(PlanNode::Filter { input: source.node, filter });
                Ok(FromSource { node, frame: source.frame, rows })
            }
        }
    }

    /// All conditions as one.
    pub fn condition(
        &mut self,
        conjuncts: &[Conjunct],
        level: usize,
        frame: &ColumnFrame,
    ) -> PlanResult<Option<CompiledExpression>> {
        let mut sorted: Vec<&Conjunct> = conjuncts.iter().collect();
        sorted.sort_by_key(|conjunct| conjunct.has_sublink);
        let mut parts = Vec::with_capacity(sorted.len());
        for conjunct in sorted {
            parts.push(self.compile(conjunct.condition, level, frame)?);
        }
        Ok(match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(CompiledExpression::And(parts)),
        })
    }

    /// The rows of a relation for which conditions hold.
    fn scan(&mut self, entry: u32, conjuncts: &[Conjunct], level: usize) -> PlanResult<FromSource> {
        match self.keyed_scan(entry, conjuncts, level)? {
            Some(source) => Ok(source),
            None => self.scan_by_path(entry, conjuncts, level),
        }
    }

    /// A scan of a relation by the path that the conditions make best.
    pub fn scan_by_path(&mut self, entry: u32, conjuncts: &[Conjunct], level: usize) -> PlanResult<FromSource> {
        let (mut scan, mut frame, rows) = self.bare_scan(entry, level)?;
        let found = self.best_path(entry, conjuncts, &ColumnFrame::empty(level), &BTreeSet::new(), level)?;
        let mut rows = rows;
        scan.exact = conjuncts.is_empty();
        if let Some(found) = found {
            (scan.path, scan.range, rows) = (found.path, found.range, found.rows);
            (scan.exact, scan.nulls_behind) = (found.exact, found.nulls_behind);
        } else if !conjuncts.is_empty() {
            rows = (rows * CONDITION_SHARE.powi(conjuncts.len() as i32)).max(1.0);
        }
        frame.rows = rows;
        scan.filter = self.condition(conjuncts, level, &frame)?;
        Ok(FromSource { node: Arc::new(PlanNode::Scan(scan)), frame, rows })
    }

    /// A scan of all of a relation, with the columns that its query looks at.
    pub fn bare_scan(&mut self, entry: u32, level: usize) -> PlanResult<(ScanNode, ColumnFrame, f64)> {
        let query = self.levels[level].query;
        let known = &self.tree[query].range_table[entry as usize];
        let EntryKind::Relation { relation, .. } = known.kind else { return not_built("what is no relation") };
        let Some(access) = self.relations.access(relation) else {
            return not_built(format!("rows of {}", known.name));
        };
        self.read.insert(relation);
        let columns = self.wanted_columns(query, entry);
        let slots = columns.iter().enumerate().map(|(slot, column)| (EntryPlace { entry, column: *column }, slot));
        let frame = ColumnFrame { level, slots: slots.collect(), width: columns.len(), ..ColumnFrame::default() };
        let name = known.name.clone();
        let scan = ScanNode {
            relation,
            name,
            path: 0,
            range: RangeBounds::default(),
            columns,
            filter: None,
            exact: false,
            nulls_behind: false,
            direction: None,
            needed: None,
        };
        Ok((scan, frame, access.rows.max(1.0)))
    }

    /// The columns of an entry that its query, or one within, looks at.
    fn wanted_columns(&mut self, query: QueryId, entry: u32) -> Vec<u32> {
        if !self.wanted.contains_key(&query) {
            let found = self.all_wanted_columns(query);
            self.wanted.insert(query, found);
        }
        let wanted = self.wanted.get(&query).and_then(|wanted| wanted.get(&entry));
        wanted.map(|columns| columns.iter().copied().collect()).unwrap_or_default()
    }

    /// The same for all entries at once: a query of many joins has many more expressions than entries.
    fn all_wanted_columns(&self, query: QueryId) -> BTreeMap<u32, BTreeSet<u32>> {
        let own = &self.tree[query];
        let mut joined = BTreeSet::new();
        for known in &own.range_table {
            if let EntryKind::Join { columns, .. } = &known.kind {
                joined.extend(columns.iter().copied());
            }
        }
        let mut wanted: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut open: Vec<ExprId> = own.expressions().into_iter().filter(|id| !joined.contains(id)).collect();
        let mut seen = BTreeSet::new();
        let mut note = |node: &TreeNode, depth: u32, open: &mut Vec<ExprId>| {
            if let TreeNode::WholeRow { levels_up, entry: of } = node
                && *levels_up == depth
            {
                match &own.range_table[*of as usize].kind {
                    EntryKind::Join { columns, .. } => open.extend(columns),
                    _ => {
                        let all = 0..own.range_table[*of as usize].columns.len() as u32;
                        wanted.entry(*of).or_default().extend(all);
                    }
                }
            }
            if let TreeNode::Column { levels_up, entry: of, column } = node
                && *levels_up == depth
            {
                match &own.range_table[*of as usize].kind {
                    EntryKind::Join { columns, .. } => open.push(columns[*column as usize]),
                    _ => {
                        wanted.entry(*of).or_default().insert(*column);
                    }
                }
            }
        };
        for inner in own.queries() {
            self.tree.find_in_query(inner, 1, &mut |expression, depth| {
                note(&expression.node, depth, &mut open);
                false
            });
        }
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                self.tree.find(next, &mut |expression, depth| {
                    note(&expression.node, depth, &mut open);
                    false
                });
            }
        }
        wanted
    }
}
