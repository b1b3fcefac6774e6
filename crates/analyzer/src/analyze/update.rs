//! UPDATE and DELETE.

use grammar::ast::{self, Assignment, ColumnTarget, ExpressionNode as Syntax, RowFilter};

use super::from::set_lateral;
use super::levels::{Item, Level, Place};
use super::targets::new_target;
use super::{Analyzer, Result, error, error_at};
use crate::error::{AnalysisError, FEATURE_NOT_SUPPORTED, GENERATED_ALWAYS, SYNTAX_ERROR};
use crate::relations::Relation;
use crate::tree::{Command, ExprId, JoinTree, Node, Query, QueryId, SubLinkKind, Target};
use crate::types::{BOOL, NONE};

impl<'a> Analyzer<'a> {
    /// UPDATE.
    pub fn update(&mut self, update: &'a ast::Update) -> Result<QueryId> {
        self.levels.push(Level { resolve_unknowns: true, ..Level::default() });
        if let Some(with) = &update.with {
            self.with(with)?;
        }
        let (relation, item) = self.changed_table(&update.table, update.alias.as_ref())?;
        let entry = item.entry;
        let from = self.beside(item, &update.from)?;
        let filter = self.row_filter(&update.filter, entry)?;
        let namespace = self.level().namespace.clone();
        let returning = self.returning(&update.returning, namespace)?;
        let targets = self.assignments(&update.set, relation)?;
        self.check_assigned(relation, &targets)?;
        self.close_change(Query {
            command: Command::Update,
            from,
            filter,
            returning,
            targets,
            result: Some(entry),
            ..Query::default()
        })
    }

    /// DELETE.
    pub fn delete(&mut self, delete: &'a ast::Delete) -> Result<QueryId> {
        self.levels.push(Level { resolve_unknowns: true, ..Level::default() });
        if let Some(with) = &delete.with {
            self.with(with)?;
        }
        let (_, item) = self.changed_table(&delete.table, delete.alias.as_ref())?;
        let entry = item.entry;
        let from = self.beside(item, &delete.using)?;
        let filter = self.row_filter(&delete.filter, entry)?;
        let namespace = self.level().namespace.clone();
        let returning = self.returning(&delete.returning, namespace)?;
        self.close_change(Query {
            command: Command::Delete,
            from,
            filter,
            returning,
            result: Some(entry),
            ..Query::default()
        })
    }

    /// The changed table, and FROM or USING beside it: these see it, but not where they are lateral.
    fn beside(&mut self, item: Item, from: &'a [ast::FromId]) -> Result<Vec<JoinTree>> {
        let entry = item.entry;
        let mut hidden = vec![item];
        set_lateral(&mut hidden, true, false);
        self.level().namespace.extend(hidden);
        let mut trees = vec![JoinTree::Entry(entry)];
        trees.extend(self.items_of_from(from)?);
        set_lateral(&mut self.level().namespace, false, true);
        Ok(trees)
    }

    fn row_filter(&mut self, filter: &'a RowFilter, _entry: u32) -> Result<Option<ExprId>> {
        match filter {
            RowFilter::All => Ok(None),
            RowFilter::Where(value) => {
                let value = self.expression_at(*value, Place::Where)?;
                self.condition(value, "WHERE").map(Some)
            }
            RowFilter::CurrentOf(cursor) => Ok(Some(self.plain(Node::CurrentOf(cursor.text.clone()), BOOL, None))),
        }
    }

    /// SET: the values first, then the columns.
    pub fn assignments(&mut self, set: &'a [Assignment], relation: &Relation) -> Result<Vec<Target>> {
        let mut pairs: Vec<(&'a ColumnTarget, ExprId)> = Vec::new();
        for assignment in set {
            if assignment.is_row {
                self.several(assignment, &mut pairs)?;
                continue;
            }
            let arena = self.arena;
            let value = match &arena[assignment.value].node {
                Syntax::Default => self.plain(Node::Default, NONE, Some(arena[assignment.value].at)),
                _ => self.expression_at(assignment.value, Place::UpdateSource)?,
            };
            pairs.push((&assignment.targets[0], value));
        }
        let mut targets = Vec::with_capacity(pairs.len());
        for (target, value) in pairs {
            let number = self.target_column(relation, target)?;
            let value = self.assigned(value, relation, number, Some(target), Place::UpdateTarget)?;
            let name = relation.columns[number as usize].name.to_string();
            targets.push(Target { column: Some(number), ..new_target(value, name) });
        }
        Ok(targets)
    }

    /// `(a, b) = ..`: a row, or a query.
    fn several(&mut self, assignment: &'a Assignment, pairs: &mut Vec<(&'a ColumnTarget, ExprId)>) -> Result<()> {
        let arena = self.arena;
        let count = assignment.targets.len();
        let at = self.raw_location(assignment.value);
        let mismatch = || error_at(SYNTAX_ERROR, "number of columns does not match number of values", at);
        match &arena[assignment.value].node {
            Syntax::Subquery(query) => {
                let before = std::mem::replace(&mut self.level().place, Place::UpdateSource);
                let query = self.subquery(*query, true);
                self.level().place = before;
                let query = query?;
                let columns = self.query_columns(query);
                if columns.len() != count {
                    return mismatch();
                }
                let node = Node::SubLink { kind: SubLinkKind::Multiple, query, test: None };
                let link = self.plain(node, crate::types::RECORD, Some(at));
                let level = self.level();
                level.multiple.push(link);
                let source = level.multiple.len() as u32 - 1;
                for (number, (target, (_, typed))) in assignment.targets.iter().zip(columns).enumerate() {
                    let node = Node::MultipleColumn { source, column: number as u32 };
                    let value = self.add(node, typed, Some(at));
                    pairs.push((target, value));
                }
            }
            Syntax::Row { fields, .. } => {
                let values = self.expression_list(fields, Place::UpdateSource, true)?;
                if values.len() != count {
                    return mismatch();
                }
                pairs.extend(assignment.targets.iter().zip(values));
            }
            _ => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return error_at(FEATURE_NOT_SUPPORTED, message, at);
            }
        }
        Ok(())
    }

    /// What is told once the whole is read: columns that get two values, or one that they must not get.
    fn check_assigned(&self, relation: &Relation, targets: &[Target]) -> Result<()> {
        for (index, target) in targets.iter().enumerate() {
            let Some(number) = target.column else { continue };
            let column = &relation.columns[number as usize];
            let name = &column.name;
            let is_part = |target: &Target| {
                matches!(
                    self.tree[target.value].node,
                    Node::FieldStore { .. } | Node::Subscript { assigned: Some(_), .. } | Node::Domain { .. }
                )
            };
            let twice = targets[..index]
                .iter()
                .any(|before| before.column == Some(number) && !(is_part(before) && is_part(target)));
            if twice {
                return error(SYNTAX_ERROR, format!("multiple assignments to same column \"{name}\""));
            }
            if (column.generated || column.identity_always) && !matches!(self.tree[target.value].node, Node::Default) {
                let message = format!("column \"{name}\" can only be updated to DEFAULT");
                let detail = if column.generated {
                    format!("Column \"{name}\" is a generated column.")
                } else {
                    format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.")
                };
                return Err(AnalysisError::new(GENERATED_ALWAYS, message).with_detail(detail));
            }
        }
        Ok(())
    }
}
