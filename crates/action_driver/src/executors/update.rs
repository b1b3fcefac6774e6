//! Executes `Action::Update`.
//!
//! One that only adds to columns of one row ([`crate::increments`]) does that, without reading them. Any other reads rows and writes them.
//!
//! Invariant: no row is updated because of what this statement wrote. When neither keys nor indexed columns change, rows are
//! written as they are found; otherwise all rows are found first, then all old keys are removed, then all new ones claimed, so that
//! rows may pass keys on to each other.

use crate::cursor::{CursorStep, FoundRow, SourceCursor};
use crate::failure;
use crate::increments;
use crate::limits::COLLECTED_BYTES_MAX;
use crate::need::{Access, ExecutorEvent, ExecutorNeed};
use crate::row_write::{self, Image, RowWrite, RowWriteProgress, WritePart};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::program::{Action, Expression, RowGuard, RowSource};
use messages::schema::TableSchema;
use messages::session::Failure;
use messages::{Addends, Item, Key};
use serde::{Deserialize, Serialize};
use values::Value;

/// An update under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct UpdateRun {
    /// What it could add to which row without reading it.
    sum: Option<Box<(Item, Addends)>>,
    /// It does, or will unless the row is against it.
    adds: bool,
    cursor: SourceCursor,
    in_place: bool,
    stage: UpdateStage,
    /// Rows found, unless they are updated in place.
    changes: Vec<RowChange>,
    collected_bytes: usize,
}

#[derive(Debug, Serialize, Deserialize)]
enum UpdateStage {
    Finding,
    /// Computing a row's new values, for which a sequence's was wanting.
    Computing(FoundRow),
    /// Writing one row in place.
    Writing(RowChange, RowWrite),
    /// Removing the old keys of the change at this position.
    Removing(usize, RowWrite),
    /// Adding the new keys of the change at this position.
    Adding(usize, RowWrite),
}

#[derive(Debug, Serialize, Deserialize)]
struct RowChange {
    old_key: Key,
    old: Vec<Value>,
    new_key: Key,
    new: Vec<Value>,
}

/// The parts of the action.
struct UpdateAction<'a> {
    source: &'a RowSource,
    filter: Option<&'a Expression>,
    assignments: &'a [(usize, Expression)],
    returning: &'a [Expression],
    guard: Option<&'a RowGuard>,
}

impl RowChange {
    fn plan(&self, table: &TableSchema, part: WritePart, scene: &Scene) -> Result<RowWrite, Failure> {
        let old = Image { key: &self.old_key, values: &self.old };
        let new = Image { key: &self.new_key, values: &self.new };
        RowWrite::plan(table, Some(old), Some(new), part, &scene.scope)
    }
}

impl UpdateRun {
    /// Evaluates bounds. Errors: those of the expressions.
    pub fn begin(action: &Action, scene: &mut Scene) -> Result<UpdateRun, Failure> {
        let Action::Update { source, filter, assignments, returning, guard } = action else {
            unreachable!("begun for an update")
        };
        let table = &source.table;
        let is_key = |column: &usize| {
            table.primary_key.contains(column) || table.indexes.iter().any(|index| index.depends_on(*column))
        };
        let generates_key = |column: &usize| {
            table.generated.iter().any(|own| own.expression.columns.contains(column) && is_key(&own.column))
        };
        let cursor = SourceCursor::new(source, AccessKind::Write, None, &scene.scope)?;
        let mut sum = None;
        if filter.is_none() && returning.is_empty() && guard.is_none() && scene.transaction.may_add {
            let item = || cursor.only_key().map(|key| rows::table_item(table, key.clone()));
            sum = increments::of_update(source, assignments, item, &scene.scope)
                .filter(|(item, _)| scene.transaction.can_add_to(item));
        }
        Ok(UpdateRun {
            adds: sum.as_ref().is_some_and(|(item, _)| scene.increment_worth.are_worth(item.table)),
            sum: sum.map(Box::new),
            cursor,
            in_place: !assignments.iter().any(|(column, _)| is_key(column) || generates_key(column)),
            stage: UpdateStage::Finding,
            changes: Vec::new(),
            collected_bytes: 0,
        })
    }

    /// What it will ask for, if that is one row known by its key.
    pub fn access(&self, action: &Action) -> Option<Access> {
        let Action::Update { source, .. } = action else { unreachable!("begun for an update") };
        match self.sum.as_deref() {
            Some((item, _)) if self.adds => {
                Some(Access { item: item.clone(), kind: AccessKind::Increment, reads: true })
            }
            _ => self.cursor.access(source),
        }
    }

    /// Goes on. Errors: 23505, 23502, 54000, and those of the expressions.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let step = self.go_on(action, scene, event)?;
        if matches!(step, ExecutorStep::Done)
            && let Some((item, _)) = self.sum.as_deref()
        {
            scene.transaction.note_incremented(item);
        }
        Ok(step)
    }

    fn go_on(&mut self, action: &Action, scene: &mut Scene, event: ExecutorEvent) -> Result<ExecutorStep, Failure> {
        let Action::Update { source, filter, assignments, returning, guard } = action else {
            unreachable!("begun for an update")
        };
        let guard = guard.as_deref();
        let update = UpdateAction { source, filter: filter.as_ref(), assignments, returning, guard };
        let mut event = event;
        if event == ExecutorEvent::Go
            && self.sum.as_deref().is_some_and(|(item, _)| !scene.transaction.can_add_to(item))
        {
            // An action before it has read or written the row, since it was begun.
            (self.sum, self.adds) = (None, false);
        }
        if let Some((item, addends)) = self.sum.as_deref().filter(|_| self.adds) {
            let row = match event {
                ExecutorEvent::Item(None) => return Ok(ExecutorStep::Done),
                ExecutorEvent::Item(Some(row)) => row,
                _ => return Ok(ExecutorStep::Need(ExecutorNeed::Presence(item.clone()))),
            };
            let before = scene.transaction.file().increment_of(item);
            if increments::have_room(&row, before, addends) && scene.transaction.add(item.clone(), addends)? {
                scene.results.affected += 1;
                return Ok(ExecutorStep::Done);
            }
            // An ordinary update tells what is wrong with it, if anything is; the next one begins with that.
            scene.transaction.note_incremented(item);
            scene.transaction.note_wanted(item);
            self.adds = false;
            event = ExecutorEvent::Go;
        }
        loop {
            let step = match std::mem::replace(&mut self.stage, UpdateStage::Finding) {
                UpdateStage::Finding => self.find(&update, scene, event)?,
                UpdateStage::Computing(found) => self.computed(&update, scene, found)?,
                stage => self.write(&update, scene, stage, event)?,
            };
            match step {
                Some(step) => return Ok(step),
                None => event = ExecutorEvent::Go,
            }
        }
    }

    fn find(
        &mut self,
        update: &UpdateAction,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<Option<ExecutorStep>, Failure> {
        match self.cursor.next(update.source, scene.supplied, event)? {
            CursorStep::Need(need) => return Ok(Some(ExecutorStep::Need(need))),
            CursorStep::End if self.changes.is_empty() => return Ok(Some(ExecutorStep::Done)),
            CursorStep::End => {
                let write = self.changes[0].plan(&update.source.table, WritePart::Removals, scene)?;
                self.stage = UpdateStage::Removing(0, write);
            }
            CursorStep::Row(found) => return self.computed(update, scene, found),
        }
        Ok(None)
    }

    /// A row was found. Errors: those of the expressions; for want of a sequence's value it is computed again.
    fn computed(
        &mut self,
        update: &UpdateAction,
        scene: &mut Scene,
        found: FoundRow,
    ) -> Result<Option<ExecutorStep>, Failure> {
        if scene.transaction.has_changed(&rows::table_item(&update.source.table, found.key.clone())) {
            return Ok(None);
        }
        let bytes = found.key.as_bytes().len() + found.row.len();
        let change = match compute(update, self.in_place, scene, &found) {
            Ok(change) => change,
            Err(failure) => {
                if scene.scope.sequences.is_wanting() {
                    self.stage = UpdateStage::Computing(found);
                }
                return Err(failure);
            }
        };
        if let Some(change) = change {
            if self.in_place {
                let write = change.plan(&update.source.table, WritePart::Both, scene)?;
                self.stage = UpdateStage::Writing(change, write);
                return Ok(None);
            }
            self.collected_bytes += bytes;
            if self.collected_bytes > COLLECTED_BYTES_MAX {
                return Err(failure::too_large("statement updates keys of too many rows"));
            }
            self.changes.push(change);
        }
        Ok(None)
    }

    fn write(
        &mut self,
        update: &UpdateAction,
        scene: &mut Scene,
        stage: UpdateStage,
        event: ExecutorEvent,
    ) -> Result<Option<ExecutorStep>, Failure> {
        let table = &update.source.table;
        match stage {
            UpdateStage::Finding | UpdateStage::Computing(_) => unreachable!("nothing is written while finding"),
            UpdateStage::Writing(change, mut write) => {
                if let Some(need) = advance(&mut write, &change, update, scene, event)? {
                    self.stage = UpdateStage::Writing(change, write);
                    return Ok(Some(ExecutorStep::Need(need)));
                }
                finish_row(update, scene, &change)?;
            }
            UpdateStage::Removing(at, mut write) => {
                if let Some(need) = advance(&mut write, &self.changes[at], update, scene, event)? {
                    self.stage = UpdateStage::Removing(at, write);
                    return Ok(Some(ExecutorStep::Need(need)));
                }
                self.stage = match self.changes.get(at + 1) {
                    Some(change) => UpdateStage::Removing(at + 1, change.plan(table, WritePart::Removals, scene)?),
                    None => UpdateStage::Adding(0, self.changes[0].plan(table, WritePart::Additions, scene)?),
                };
            }
            UpdateStage::Adding(at, mut write) => {
                if let Some(need) = advance(&mut write, &self.changes[at], update, scene, event)? {
                    self.stage = UpdateStage::Adding(at, write);
                    return Ok(Some(ExecutorStep::Need(need)));
                }
                finish_row(update, scene, &self.changes[at])?;
                match self.changes.get(at + 1) {
                    Some(change) => {
                        let write = change.plan(table, WritePart::Additions, scene)?;
                        self.stage = UpdateStage::Adding(at + 1, write);
                    }
                    None => return Ok(Some(ExecutorStep::Done)),
                }
            }
        }
        Ok(None)
    }
}

/// The change of a row found; `None` when the filter rejects it.
fn compute(
    update: &UpdateAction,
    in_place: bool,
    scene: &Scene,
    found: &FoundRow,
) -> Result<Option<RowChange>, Failure> {
    let table = &update.source.table;
    let mut old = Vec::with_capacity(table.columns.len() + 1);
    rows::decode_into(table, ColumnSet::ALL, &found.key, &found.row, &mut old)?;
    if let Some(number) = found.supplied {
        old.extend_from_slice(&scene.supplied[number][1..]);
    }
    if !scene.scope.passes(update.filter, &old)? {
        return Ok(None);
    }
    if let Some(guard) = update.guard {
        rows::check_guard(&guard.old, &old, &scene.scope)?;
    }
    let mut new = old.clone();
    for (column, expression) in update.assignments {
        new[*column] = scene.scope.evaluate(expression, &old)?.into_owned();
    }
    rows::complete_guarded(table, &mut new, update.guard, &scene.scope)?;
    let new_key = if in_place { found.key.clone() } else { rows::table_key(table, &new) };
    Ok(Some(RowChange { old_key: found.key.clone(), old, new_key, new }))
}

/// What a row's writes need next; `None` when they are done.
fn advance(
    write: &mut RowWrite,
    change: &RowChange,
    update: &UpdateAction,
    scene: &mut Scene,
    event: ExecutorEvent,
) -> Result<Option<ExecutorNeed>, Failure> {
    match write.resume(event, scene.transaction)? {
        RowWriteProgress::Need(need) => Ok(Some(need)),
        RowWriteProgress::Exists(target, _) => {
            let failure = row_write::exists(&update.source.table, target, &change.new, &scene.scope);
            Err(if update.guard.is_some_and(RowGuard::hides_values) {
                failure::without_values(failure)
            } else {
                failure
            })
        }
        RowWriteProgress::Done => Ok(None),
    }
}

fn finish_row(update: &UpdateAction, scene: &mut Scene, change: &RowChange) -> Result<(), Failure> {
    rows::check_views(&update.source.table, &change.new, update.guard, &scene.scope)?;
    scene.results.affected += 1;
    scene.note_change(&update.source.table, Some(&change.old), Some(&change.new))?;
    if !update.returning.is_empty() {
        scene.results.push(scene.scope.evaluate_all(update.returning, &change.new)?)?;
    }
    Ok(())
}
