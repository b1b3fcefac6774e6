//! MERGE.

use grammar::ast::{self, MergeAction};

use super::insert::set_visible;
use super::levels::{Level, Place};
use super::targets::new_target;
use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, DUPLICATE_ALIAS, FEATURE_NOT_SUPPORTED, SYNTAX_ERROR};
use crate::relations::{Relation, RelationKind};
use crate::tree::{Command, JoinTree, MergeArm, Query, QueryId, Target};

impl<'a> Analyzer<'a> {
    /// MERGE.
    pub fn merge(&mut self, merge: &'a ast::Merge) -> Result<QueryId> {
        self.levels.push(Level { resolve_unknowns: true, ..Level::default() });
        if let Some(with) = &merge.with {
            if with.recursive {
                return error_at(SYNTAX_ERROR, "WITH RECURSIVE is not supported for MERGE statement", None);
            }
            self.with(with)?;
        }
        check_reachable(&merge.arms)?;
        let (relation, target) = self.changed_table(&merge.table, merge.alias.as_ref())?;
        if !matches!(relation.kind, RelationKind::Table | RelationKind::PartitionedTable) {
            let message = format!("cannot execute MERGE on relation \"{}\"", relation.name);
            let what = match relation.kind {
                RelationKind::View => "views",
                RelationKind::MaterializedView => "materialized views",
                RelationKind::ForeignTable => "foreign tables",
                RelationKind::Sequence => "sequences",
                _ => "this kind of relation",
            };
            let detail = format!("This operation is not supported for {what}.");
            return Err(AnalysisError::new(FEATURE_NOT_SUPPORTED, message).with_detail(detail));
        }
        let trees = self.items_of_from(std::slice::from_ref(&merge.source))?;
        if self.level().namespace.iter().any(|item| item.name == target.name && item.relation_visible) {
            let message = format!("name \"{}\" specified more than once", target.name);
            let detail = "The name is used both as MERGE target table and data source.";
            return Err(AnalysisError::new(DUPLICATE_ALIAS, message).with_detail(detail));
        }
        let source = self.level().namespace.clone();
        let mut both = vec![target.clone()];
        both.extend(source.iter().cloned());
        self.level().namespace = both.clone();
        let condition = self.expression_at(merge.condition, Place::JoinOn)?;
        let filter = Some(self.condition(condition, "JOIN/ON")?);
        let mut arms = Vec::with_capacity(merge.arms.len());
        for arm in &merge.arms {
            // Without a match there is no row of the table.
            let mut names = both.clone();
            if !arm.matched {
                set_visible(&mut names[0], false, false);
            }
            self.level().namespace = names;
            let condition = match arm.condition {
                Some(condition) => {
                    let condition = self.expression_at(condition, Place::MergeWhen)?;
                    Some(self.condition(condition, "WHEN")?)
                }
                None => None,
            };
            arms.push(self.merge_arm(arm, condition, relation)?);
        }
        let mut from = vec![JoinTree::Entry(target.entry)];
        from.extend(trees);
        self.close_change(Query {
            command: Command::Merge,
            from,
            filter,
            merge: arms,
            result: Some(target.entry),
            ..Query::default()
        })
    }

    fn merge_arm(
        &mut self,
        arm: &'a ast::MergeArm,
        condition: Option<crate::tree::ExprId>,
        relation: &'a Relation,
    ) -> Result<MergeArm> {
        let mut made =
            MergeArm { matched: arm.matched, condition, command: None, overriding: None, targets: Vec::new() };
        match &arm.action {
            MergeAction::Nothing => {}
            MergeAction::Delete => made.command = Some(Command::Delete),
            MergeAction::Update(set) => {
                made.command = Some(Command::Update);
                made.targets = self.assignments(set, relation)?;
            }
            MergeAction::Insert { columns, overriding, values } => {
                made.command = Some(Command::Insert);
                made.overriding = *overriding;
                let explicit = !columns.is_empty();
                let columns = self.insert_columns(relation, columns)?;
                if let Some(values) = values {
                    let list = self.expression_list(values, Place::ValuesSingle, true)?;
                    let list = self.insert_row(list, values, relation, &columns, explicit)?;
                    made.targets = columns
                        .iter()
                        .zip(list)
                        .map(|((number, _), value)| {
                            let name = relation.columns[*number as usize].name.to_string();
                            Target { column: Some(*number), ..new_target(value, name) }
                        })
                        .collect();
                    let inserted =
                        Query { targets: made.targets.clone(), overriding: made.overriding, ..Query::default() };
                    self.check_generated(relation, &inserted)?;
                }
            }
        }
        Ok(made)
    }
}

/// What stands behind a condition that always holds can never be done.
fn check_reachable(arms: &[ast::MergeArm]) -> Result<()> {
    let mut always = [false, false];
    for arm in arms {
        let kind = usize::from(arm.matched);
        if always[kind] {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return error_at(SYNTAX_ERROR, message, None);
        }
        always[kind] |= arm.condition.is_none();
    }
    Ok(())
}
