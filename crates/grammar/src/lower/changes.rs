//! INSERT, UPDATE, DELETE, MERGE.

use super::{Lower, Lowered};
use crate::ast::{
    Assignment, ColumnTarget, ConflictTarget, ConflictUpdate, Delete, IndexElement, IndexValue, Insert, Merge,
    MergeAction, MergeArm, OnConflict, Overriding, RowFilter, Statement, Update,
};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn insert(&mut self, node: Node) -> Lowered<Statement> {
        let &[with, _, _, target, rest, conflict, returning] = self.children(node) else {
            return Err(self.unexpected(node));
        };
        let parts = self.children(target);
        let alias = parts.get(2).map(|alias| self.name(*alias));
        let insert = Insert {
            with: self.opt_with(with)?,
            table: self.relation_name(parts[0]),
            alias,
            columns: self.column_targets(rest)?,
            overriding: self.overriding(rest),
            source: self.part(rest, g::SelectStmt).map(|source| self.query(source)),
            on_conflict: self.on_conflict(conflict)?,
            returning: self.targets(returning),
        };
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// The columns of INSERT, if they are named.
    fn column_targets(&mut self, node: Node) -> Lowered<Vec<ColumnTarget>> {
        match self.part(node, g::insert_column_list) {
            Some(list) => self.list(list).into_iter().map(|column| self.column_target(column)).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// `ColId opt_indirection`.
    fn column_target(&mut self, node: Node) -> Lowered<ColumnTarget> {
        let children = self.children(node);
        Ok(ColumnTarget { name: self.name(children[0]), steps: self.steps(children[1])? })
    }

    fn overriding(&self, node: Node) -> Option<Overriding> {
        let kind = self.part(node, g::override_kind)?;
        Some(if self.has(kind, g::USER) { Overriding::User } else { Overriding::System })
    }

    fn on_conflict(&mut self, node: Node) -> Lowered<Option<OnConflict>> {
        if self.is_empty(node) {
            return Ok(None);
        }
        let expression = self.part(node, g::opt_conf_expr).ok_or_else(|| self.unexpected(node))?;
        let target = match *self.children(expression) {
            [_, elements, _, filter] => {
                let elements = self.index_elements(elements)?;
                let filter = self.part(filter, g::a_expr).map(|filter| self.expr(filter));
                Some(ConflictTarget::Index { elements, filter, at: self.at(expression) })
            }
            [_, _, name] => Some(ConflictTarget::Constraint(self.name(name))),
            _ => None,
        };
        let update = match (self.part(node, g::set_clause_list), self.part(node, g::where_clause)) {
            (Some(set), Some(filter)) => {
                let set = self.assignments(set)?;
                let filter = self.part(filter, g::a_expr).map(|filter| self.expr(filter));
                Some(ConflictUpdate { set, filter })
            }
            _ => None,
        };
        Ok(Some(OnConflict { target, update, at: self.at(node) }))
    }

    /// `index_params`.
    pub(super) fn index_elements(&mut self, list: Node) -> Lowered<Vec<IndexElement>> {
        self.list(list).into_iter().map(|element| self.index_element(element)).collect()
    }

    pub(super) fn index_element(&mut self, node: Node) -> Lowered<IndexElement> {
        let (shape, children) = self.parts(node);
        let (value, options) = match (shape, children) {
            ([g::ColId, _], &[name, options]) => (IndexValue::Column(self.name(name)), options),
            ([g::func_expr_windowless, _], &[call, options]) => (IndexValue::Expression(self.expr(call)), options),
            (_, &[_, value, _, options]) => (IndexValue::Expression(self.expr(value)), options),
            _ => return Err(self.unexpected(node)),
        };
        let parts = self.children(options);
        let class = self.part(parts[1], g::any_name).or(self.part(options, g::any_name));
        let class_options = match self.part(options, g::reloptions) {
            Some(options) => self.storage_options(options)?,
            None => Vec::new(),
        };
        Ok(IndexElement {
            value,
            collation: self.opt_collation(parts[0]),
            class: class.map(|class| self.any_name(class)).unwrap_or_default(),
            class_options,
            direction: self.direction(parts[parts.len() - 2]),
            nulls_first: self.nulls_first(parts[parts.len() - 1]),
        })
    }

    /// `set_clause_list`.
    fn assignments(&mut self, list: Node) -> Lowered<Vec<Assignment>> {
        let mut assignments = Vec::new();
        for clause in self.list(list) {
            assignments.push(match *self.children(clause) {
                [target, _, value] => {
                    let target = self.column_target(target)?;
                    Assignment { targets: vec![target], is_row: false, value: self.expr(value) }
                }
                [_, targets, _, _, value] => {
                    let targets = self.list(targets);
                    let targets =
                        targets.into_iter().map(|target| self.column_target(target)).collect::<Lowered<_>>()?;
                    Assignment { targets, is_row: true, value: self.expr(value) }
                }
                _ => return Err(self.unexpected(clause)),
            });
        }
        Ok(assignments)
    }

    /// `where_or_current_clause`.
    fn row_filter(&mut self, node: Node) -> RowFilter {
        match *self.children(node) {
            [_, filter] => RowFilter::Where(self.expr(filter)),
            [_, _, _, cursor] => RowFilter::CurrentOf(self.name(cursor)),
            _ => RowFilter::All,
        }
    }

    pub(super) fn update(&mut self, node: Node) -> Lowered<Statement> {
        let &[with, _, target, _, set, from, filter, returning] = self.children(node) else {
            return Err(self.unexpected(node));
        };
        let with = self.opt_with(with)?;
        let (table, alias) = self.relation_and_alias(target);
        let update = Update {
            with,
            table,
            alias,
            set: self.assignments(set)?,
            from: self.item_list(from),
            filter: self.row_filter(filter),
            returning: self.targets(returning),
        };
        Ok(Statement::Update(Box::new(update)))
    }

    pub(super) fn delete(&mut self, node: Node) -> Lowered<Statement> {
        let &[with, _, _, target, using, filter, returning] = self.children(node) else {
            return Err(self.unexpected(node));
        };
        let with = self.opt_with(with)?;
        let (table, alias) = self.relation_and_alias(target);
        let (using, filter) = (self.item_list(using), self.row_filter(filter));
        let delete = Delete { with, table, alias, using, filter, returning: self.targets(returning) };
        Ok(Statement::Delete(Box::new(delete)))
    }

    pub(super) fn merge(&mut self, node: Node) -> Lowered<Statement> {
        let &[with, _, _, target, _, source, _, condition, arms] = self.children(node) else {
            return Err(self.unexpected(node));
        };
        let with = self.opt_with(with)?;
        let (table, alias) = self.relation_and_alias(target);
        let (source, condition) = (self.item(source), self.expr(condition));
        let arms = self.list(arms).into_iter().map(|arm| self.merge_arm(arm)).collect::<Lowered<_>>()?;
        Ok(Statement::Merge(Box::new(Merge { with, table, alias, source, condition, arms })))
    }

    fn merge_arm(&mut self, node: Node) -> Lowered<MergeArm> {
        let condition = self.part(node, g::opt_merge_when_condition).and_then(|part| self.part(part, g::a_expr));
        let condition = condition.map(|condition| self.expr(condition));
        let action = if self.has(node, g::NOTHING) {
            MergeAction::Nothing
        } else if self.has(node, g::merge_delete) {
            MergeAction::Delete
        } else if let Some(update) = self.part(node, g::merge_update) {
            MergeAction::Update(self.assignments(self.children(update)[2])?)
        } else {
            let insert = self.part(node, g::merge_insert).ok_or_else(|| self.unexpected(node))?;
            let values = self.part(insert, g::merge_values_clause).and_then(|values| self.part(values, g::expr_list));
            MergeAction::Insert {
                columns: self.column_targets(insert)?,
                overriding: self.overriding(insert),
                values: values.map(|values| self.exprs(values)),
            }
        };
        Ok(MergeArm { matched: !self.has(node, g::NOT), condition, action, at: self.at(node) })
    }
}
