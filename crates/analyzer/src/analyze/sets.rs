//! UNION, INTERSECT, EXCEPT.

use grammar::ast::{QueryBody, QueryId as SyntaxQuery, SetOperator};

use super::levels::{Item, ItemColumn, Level, Place};
use super::locks::lock_name;
use super::targets::new_target;
use super::{Analyzer, Result, error_at, too_deep};
use crate::error::{AnalysisError, FEATURE_NOT_SUPPORTED, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR};
use crate::limits::CHAINS_MAX;
use crate::tree::{EntryKind, ExprId, Node, QueryId, RangeEntry, SetTree, SortGroup, Target};
use crate::types::{Typed, UNKNOWN};

/// One side of an operation.
struct Side {
    tree: SetTree,
    /// What its columns are, for their types and places: targets of a query, or stand-ins for those of an operation.
    columns: Vec<ExprId>,
    /// The query, if it is one: its targets may still take a type.
    query: Option<QueryId>,
}

/// An operation whose sides are known.
struct Operation {
    operator: SetOperator,
    all: bool,
}

fn word(operator: SetOperator) -> &'static str {
    match operator {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except => "EXCEPT",
    }
}

impl<'a> Analyzer<'a> {
    /// A query whose body is an operation.
    pub fn set_operation(&mut self, number: SyntaxQuery) -> Result<QueryId> {
        let arena = self.arena;
        let syntax = &arena[number];
        if let Some(with) = &syntax.with {
            self.with(with)?;
        }
        if let Some(lock) = syntax.locks.first() {
            let message = format!("{} is not allowed with UNION/INTERSECT/EXCEPT", lock_name(lock.strength));
            return error_at(FEATURE_NOT_SUPPORTED, message, None);
        }
        let side = self.operation_tree(number, true)?;
        let first = self.leftmost(&side.tree);
        let names: Vec<String> = self.query_columns(first).into_iter().map(|(name, _)| name).collect();
        let leftmost_entry = leftmost_entry(&side.tree);
        let mut targets = Vec::with_capacity(names.len());
        let mut visible = Vec::new();
        for (index, (column, name)) in side.columns.iter().zip(names).enumerate() {
            let typed = self.tree[*column].typed;
            let at = self.location(self.shown_target(first, index));
            let node = Node::Column { levels_up: 0, entry: leftmost_entry, column: index as u32 };
            let value = self.add(node, typed, at);
            visible.push(ItemColumn {
                name: name.clone(),
                entry: leftmost_entry,
                column: index as u32,
                typed,
                hidden: false,
            });
            targets.push(new_target(value, name));
        }
        let order = self.order_of_operation(&syntax.order, &mut targets, visible)?;
        let offset = self.limit(syntax.offset, Place::Offset, false)?;
        let limit = self.limit(syntax.limit, Place::Limit, syntax.with_ties)?;
        let closing = self.close_select(|query| {
            query.targets = targets;
            query.set_operation = Some(side.tree);
            query.order = order;
            query.offset = offset;
            query.limit = limit;
            query.with_ties = syntax.with_ties;
        });
        self.collate_query(&closing.query)?;
        self.check_grouped(&closing.query, closing.recursive_term)?;
        self.levels.pop();
        Ok(self.tree.add_query(closing.query))
    }

    /// ORDER BY of an operation knows only the names of its result.
    fn order_of_operation(
        &mut self,
        keys: &'a [grammar::ast::SortKey],
        targets: &mut Vec<Target>,
        visible: Vec<ItemColumn>,
    ) -> Result<Vec<SortGroup>> {
        let entry = visible.first().map_or(0, |column| column.entry);
        let item = Item {
            entry,
            name: std::rc::Rc::from("unnamed_join"),
            columns: std::rc::Rc::new(visible),
            relation_visible: false,
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        };
        let before = std::mem::replace(&mut self.level().namespace, vec![item]);
        let count = targets.len();
        let order = self.sort_clause(keys, targets, Place::OrderBy, false);
        self.level().namespace = before;
        let order = order?;
        if targets.len() > count {
            let error = AnalysisError::new(FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .with_detail("Only result column names can be used, not expressions or functions.")
                .with_hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
            return Err(error.at_place(self.location(targets[count].value)));
        }
        Ok(order)
    }

    fn leftmost(&self, tree: &SetTree) -> QueryId {
        let entry = leftmost_entry(tree);
        let level = self.levels.last().expect("a query is open");
        match level.entries[entry as usize].kind {
            EntryKind::Query(query) => query,
            _ => unreachable!("the sides of an operation are queries"),
        }
    }

    fn shown_target(&self, query: QueryId, index: usize) -> ExprId {
        let targets = self.tree[query].targets.iter().filter(|target| !target.junk);
        targets.map(|target| target.value).nth(index).expect("as many as columns")
    }

    /// An operation and its sides. Chains to the left are walked by a loop.
    fn operation_tree(&mut self, number: SyntaxQuery, top: bool) -> Result<Side> {
        let arena = self.arena;
        let mut chain = Vec::new();
        let mut first = number;
        let mut outermost = top;
        while let QueryBody::Operation { operator, all, left, right } = &arena[first].body
            && (outermost || !self.is_leaf(first))
        {
            chain.push((Operation { operator: *operator, all: *all }, *right));
            first = *left;
            outermost = false;
        }
        if chain.len() > CHAINS_MAX {
            return Err(too_deep());
        }
        let mut side = self.leaf(first)?;
        while let Some((operation, right)) = chain.pop() {
            // The term that a recursion begins with gives its columns.
            let last = chain.is_empty();
            if top && last {
                self.recursive_columns(&side)?;
            }
            let other = match &arena[right].body {
                QueryBody::Operation { .. } if !self.is_leaf(right) => {
                    self.deeper(|analyzer| analyzer.operation_tree(right, false))?
                }
                _ => self.leaf(right)?,
            };
            side = self.joined(operation, side, other)?;
        }
        Ok(side)
    }

    /// A query with clauses of its own is a side as a whole.
    fn is_leaf(&self, number: SyntaxQuery) -> bool {
        let query = &self.arena[number];
        query.with.is_some()
            || !query.order.is_empty()
            || query.limit.is_some()
            || query.offset.is_some()
            || !query.locks.is_empty()
            || !matches!(query.body, QueryBody::Operation { .. })
    }

    fn leaf(&mut self, number: SyntaxQuery) -> Result<Side> {
        let arena = self.arena;
        if let QueryBody::Select(select) = &arena[number].body
            && let Some(into) = &select.into
        {
            let message = "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT";
            return error_at(SYNTAX_ERROR, message, into.name.name.at);
        }
        if let Some(lock) = arena[number].locks.first() {
            let message = format!("{} is not allowed with UNION/INTERSECT/EXCEPT", lock_name(lock.strength));
            return error_at(FEATURE_NOT_SUPPORTED, message, None);
        }
        self.levels.push(Level { resolve_unknowns: false, ..Level::default() });
        let query = self.deeper(|analyzer| analyzer.open_query(number))?;
        if !self.level().namespace.is_empty()
            && let Some(column) = self.tree.column_of_level_in_query(query, 1)
        {
            let message = "UNION/INTERSECT/EXCEPT member statement cannot refer to other relations of same query level";
            return error_at(INVALID_COLUMN_REFERENCE, message, self.location(column));
        }
        let columns: Vec<(String, Typed)> = self.query_columns(query);
        let places: Vec<ExprId> = (0..columns.len()).map(|index| self.shown_target(query, index)).collect();
        let number = self.level().entries.len() + 1;
        let entry = self.add_entry(RangeEntry {
            kind: EntryKind::Query(query),
            name: format!("*SELECT* {number}"),
            has_alias: true,
            columns: Self::entry_columns(columns),
            lateral: false,
        });
        Ok(Side { tree: SetTree::Entry(entry), columns: places, query: Some(query) })
    }

    /// The types of both sides' columns brought together.
    fn joined(&mut self, operation: Operation, left: Side, right: Side) -> Result<Side> {
        let name = word(operation.operator);
        if left.columns.len() != right.columns.len() {
            let message = format!("each {name} query must have the same number of columns");
            let at = right.columns.first().and_then(|column| self.location(*column));
            return error_at(SYNTAX_ERROR, message, at);
        }
        let (mut types, mut group, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..left.columns.len() {
            let pair = [left.columns[index], right.columns[index]];
            let common = self.common(&pair, name)?;
            let best = if self.type_of(pair[0]) == common { pair[0] } else { pair[1] };
            let mut made = [pair[0], pair[1]];
            for (side, value) in [&left, &right].into_iter().zip(&mut made) {
                if self.type_of(*value) != UNKNOWN {
                    *value = self.made_common(*value, common, name)?;
                } else if self.is_open(*value) {
                    *value = self.made_common(*value, common, name)?;
                    self.settle_target(side, index, *value);
                }
            }
            let mut typed = self.common_typed(&made, common);
            let keeps_all = operation.all && operation.operator == SetOperator::Union;
            typed.collation = self.common_collation(&made, keeps_all)?;
            types.push(typed);
            if !keeps_all {
                let (equal, sort, hashes) = self.equality(common, self.location(best))?;
                let target = index as u32 + 1;
                group.push(SortGroup { target, equal, sort, nulls_first: false, hashes });
            }
            // What stands for the column outside has the type of both and the place of the better one.
            let place = self.location(best);
            columns.push(self.add(Node::CaseOperand, typed, place));
        }
        let tree = SetTree::Operation {
            operator: operation.operator,
            all: operation.all,
            left: Box::new(left.tree),
            right: Box::new(right.tree),
            columns: types,
            group,
        };
        Ok(Side { tree, columns, query: None })
    }

    /// A literal of a side has found its type.
    fn settle_target(&mut self, side: &Side, index: usize, value: ExprId) {
        let Some(query) = side.query else { return };
        let typed = self.tree[value].typed;
        let shown = self.tree[query].targets.iter_mut().filter(|target| !target.junk);
        if let Some(target) = shown.into_iter().nth(index) {
            target.value = value;
        }
        if let SetTree::Entry(entry) = side.tree {
            self.level().entries[entry as usize].columns[index].typed = typed;
        }
    }

    /// The columns of a recursive query are those of the term that it begins with.
    fn recursive_columns(&mut self, side: &Side) -> Result<()> {
        let Some((depth, number)) = self.level().recursive_term_of else { return Ok(()) };
        if self.levels.len() != depth + 2 {
            return Ok(());
        }
        let first = self.leftmost(&side.tree);
        let names: Vec<String> = self.query_columns(first).into_iter().map(|(name, _)| name).collect();
        let mut columns = Vec::with_capacity(names.len());
        for (column, name) in side.columns.iter().zip(names) {
            let mut typed = self.tree[*column].typed;
            if typed.id == UNKNOWN {
                typed = self.typed(crate::types::TEXT, crate::types::NO_MODIFIER);
            }
            columns.push((name, typed));
        }
        self.begin_recursion(depth, number, columns)
    }
}

fn leftmost_entry(tree: &SetTree) -> u32 {
    let mut tree = tree;
    loop {
        match tree {
            SetTree::Entry(entry) => return *entry,
            SetTree::Operation { left, .. } => tree = left,
        }
    }
}
