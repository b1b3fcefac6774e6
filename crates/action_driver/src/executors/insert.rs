//! Executes `Action::Insert`, ON CONFLICT included.
//!
//! Invariant: a row is written with all its index entries or, when a unique key exists, not at all; no row is updated twice
//! by one statement.

use crate::failure;
use crate::need::{Access, ExecutorEvent, ExecutorNeed};
use crate::row_write::{self, Image, RowWrite, RowWriteProgress, WritePart};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::program::{Action, ConflictClause, ConflictKey, Expression, InsertInput, RowGuard};
use messages::schema::TableSchema;
use messages::session::Failure;
use messages::{Key, Row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use values::Value;

/// An insertion under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct InsertRun {
    next: usize,
    stage: InsertStage,
    /// Keys written by this statement; kept for DO UPDATE only.
    touched: BTreeSet<Key>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
enum InsertStage {
    /// Between two rows.
    #[default]
    Between,
    /// Writing a new row.
    Inserting { key: Key, new: Vec<Value>, write: RowWrite },
    /// Reading the row that an index entry in the way leads to.
    Fetching { key: Key, new: Vec<Value> },
    /// Writing the row in the way.
    Updating { old: Vec<Value>, values: Vec<Value>, write: RowWrite },
}

/// The parts of the action.
struct InsertAction<'a> {
    table: &'a TableSchema,
    values: &'a [Expression],
    input: &'a InsertInput,
    on_conflict: Option<&'a ConflictClause>,
    returning: &'a [Expression],
    private: bool,
    guard: Option<&'a RowGuard>,
}

impl<'a> InsertAction<'a> {
    fn of(action: &'a Action) -> InsertAction<'a> {
        let Action::Insert { table, values, input, on_conflict, returning, private, guard } = action else {
            unreachable!("begun for an insertion")
        };
        let (on_conflict, guard) = (on_conflict.as_ref(), guard.as_deref());
        InsertAction { table, values, input, on_conflict, returning, private: *private, guard }
    }
}

impl InsertRun {
    /// Computes the first row before its turn, unless it is one of many. What it will ask for. Errors: 23502, 54000, and those of the expressions.
    pub fn begin_ahead(&mut self, action: &Action, scene: &mut Scene) -> Result<Vec<Access>, Failure> {
        let insertion = InsertAction::of(action);
        // What a guard asks for may have to be gathered first.
        if insertion.private || insertion.guard.is_some() || matches!(insertion.input, InsertInput::Supplied) {
            return Ok(Vec::new());
        }
        self.stage = self.next_row(&insertion, scene)?.unwrap_or_default();
        Ok(match &self.stage {
            InsertStage::Inserting { write, .. } => write.accesses().collect(),
            _ => Vec::new(),
        })
    }

    /// Goes on. Errors: 23505, 23502, 21000, 54000, and those of the expressions.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let insertion = InsertAction::of(action);
        let table = insertion.table;
        let mut event = event;
        loop {
            let need = match std::mem::take(&mut self.stage) {
                InsertStage::Between if insertion.private && scene.transaction.is_chunk_due(scene.rules.chunk_rows) => {
                    Some(ExecutorNeed::Chunk)
                }
                InsertStage::Between => match self.next_row(&insertion, scene)? {
                    Some(stage) => {
                        self.stage = stage;
                        None
                    }
                    None => return Ok(ExecutorStep::Done),
                },
                InsertStage::Inserting { key, new, write } => {
                    self.insert(&insertion, scene, std::mem::replace(&mut event, ExecutorEvent::Go), key, new, write)?
                }
                InsertStage::Fetching { key, new } => {
                    let ExecutorEvent::Item(Some(row)) = std::mem::replace(&mut event, ExecutorEvent::Go) else {
                        return Err(rows::vanished(rows::table_item(table, key)));
                    };
                    self.update_existing(&insertion, scene, key, &row, &new)?;
                    None
                }
                InsertStage::Updating { old, values, mut write } => {
                    match write.resume(std::mem::replace(&mut event, ExecutorEvent::Go), scene.transaction)? {
                        RowWriteProgress::Need(need) => {
                            self.stage = InsertStage::Updating { old, values, write };
                            Some(need)
                        }
                        RowWriteProgress::Exists(target, _) => {
                            return Err(exists(&insertion, target, &values, scene));
                        }
                        RowWriteProgress::Done => {
                            finish_row(&insertion, scene, Some(&old), &values)?;
                            None
                        }
                    }
                }
            };
            if let Some(need) = need {
                return Ok(ExecutorStep::Need(need));
            }
        }
    }

    /// Computes the next row to insert; `None` behind the last.
    fn next_row(&mut self, insertion: &InsertAction, scene: &mut Scene) -> Result<Option<InsertStage>, Failure> {
        let scope = scene.scope;
        let mut new = match insertion.input {
            InsertInput::Rows(list) => {
                let Some(expressions) = list.get(self.next) else { return Ok(None) };
                let input = scope.evaluate_all(expressions, &[])?;
                scope.evaluate_all(insertion.values, &input)?
            }
            InsertInput::Supplied => {
                let Some(input) = scene.supplied.get(self.next) else { return Ok(None) };
                scope.evaluate_all(insertion.values, input)?
            }
        };
        self.next += 1;
        let table = insertion.table;
        rows::complete_guarded(table, &mut new, insertion.guard, &scope)?;
        if table.has_hidden_key() {
            let (life, _) = scene.transaction.identity.expect("a transaction that writes has begun");
            new.push(scene.hidden_keys.next(life)?);
        }
        let key = rows::table_key(table, &new);
        let image = Image { key: &key, values: &new };
        let mut write = RowWrite::plan(table, None, Some(image), WritePart::Both, &scope)?;
        if let Some(on_conflict) = insertion.on_conflict {
            write.check_first(&on_conflict.targets);
        }
        Ok(Some(InsertStage::Inserting { key, new, write }))
    }

    fn insert(
        &mut self,
        insertion: &InsertAction,
        scene: &mut Scene,
        event: ExecutorEvent,
        key: Key,
        new: Vec<Value>,
        mut write: RowWrite,
    ) -> Result<Option<ExecutorNeed>, Failure> {
        let table = insertion.table;
        let (target, row) = match write.resume(event, scene.transaction)? {
            RowWriteProgress::Need(need) => {
                self.stage = InsertStage::Inserting { key, new, write };
                return Ok(Some(need));
            }
            RowWriteProgress::Done => {
                if insertion.on_conflict.is_some_and(|on_conflict| on_conflict.update.is_some()) {
                    self.touched.insert(key);
                }
                finish_row(insertion, scene, None, &new)?;
                return Ok(None);
            }
            RowWriteProgress::Exists(target, row) => (target, row),
        };
        let applies =
            |on_conflict: &&ConflictClause| on_conflict.targets.is_empty() || on_conflict.targets.contains(&target);
        let Some(on_conflict) = insertion.on_conflict.filter(applies) else {
            return Err(exists(insertion, target, &new, scene));
        };
        if on_conflict.update.is_none() {
            return Ok(None);
        }
        match target {
            ConflictKey::PrimaryKey => {
                self.update_existing(insertion, scene, key, &row, &new)?;
                Ok(None)
            }
            ConflictKey::Index(position) => {
                let index = &table.indexes[position];
                // Only unique entries are claimed, and their row alone leads to the table's.
                let key = rows::indexed_key(table, index, &Key::lowest(), &row)?;
                let item = rows::table_item(table, key.clone());
                self.stage = InsertStage::Fetching { key, new };
                Ok(Some(ExecutorNeed::Item(item, AccessKind::Write)))
            }
        }
    }

    /// DO UPDATE on the row in the way.
    fn update_existing(
        &mut self,
        insertion: &InsertAction,
        scene: &mut Scene,
        key: Key,
        row: &Row,
        new: &[Value],
    ) -> Result<(), Failure> {
        let table = insertion.table;
        let update = insertion.on_conflict.and_then(|on_conflict| on_conflict.update.as_ref());
        let (assignments, filter) = update.expect("only DO UPDATE comes here");
        if self.touched.contains(&key) || scene.transaction.has_changed(&rows::table_item(table, key.clone())) {
            return Err(failure::statement_with_hint(
                sqlstate::CARDINALITY_VIOLATION,
                "ON CONFLICT DO UPDATE command cannot affect row a second time",
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
            ));
        }
        let mut old = Vec::new();
        rows::decode_into(table, ColumnSet::ALL, &key, row, &mut old)?;
        let columns = table.columns.len();
        let mut both = old[..columns].to_vec();
        both.extend_from_slice(&new[..columns]);
        if !scene.scope.passes(filter.as_ref(), &both)? {
            return Ok(());
        }
        let guard = insertion.on_conflict.and_then(|on_conflict| on_conflict.guard.as_deref());
        if let Some(guard) = guard {
            rows::check_guard(&guard.old, &old, &scene.scope)?;
        }
        let mut values = old.clone();
        for (column, expression) in assignments {
            values[*column] = scene.scope.evaluate(expression, &both)?.into_owned();
        }
        rows::complete_guarded(table, &mut values, guard, &scene.scope)?;
        let new_key = rows::table_key(table, &values);
        let old_image = Image { key: &key, values: &old };
        let new = Image { key: &new_key, values: &values };
        let write = RowWrite::plan(table, Some(old_image), Some(new), WritePart::Both, &scene.scope)?;
        self.touched.insert(new_key);
        self.stage = InsertStage::Updating { old, values, write };
        Ok(())
    }
}

/// 23505.
fn exists(insertion: &InsertAction, target: ConflictKey, values: &[Value], scene: &Scene) -> Failure {
    let failure = row_write::exists(insertion.table, target, values, &scene.scope);
    if insertion.guard.is_some_and(RowGuard::hides_values) { failure::without_values(failure) } else { failure }
}

fn finish_row(
    insertion: &InsertAction,
    scene: &mut Scene,
    old: Option<&[Value]>,
    values: &[Value],
) -> Result<(), Failure> {
    let guard = match old {
        None => insertion.guard,
        Some(_) => insertion.on_conflict.and_then(|on_conflict| on_conflict.guard.as_deref()),
    };
    rows::check_views(insertion.table, values, guard, &scene.scope)?;
    scene.results.affected += 1;
    scene.note_change(insertion.table, old, Some(values))?;
    if !insertion.returning.is_empty() {
        scene.results.push(scene.scope.evaluate_all(insertion.returning, values)?)?;
    }
    Ok(())
}
