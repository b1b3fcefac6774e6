//! FOREIGN KEY: what the rows of one table say about those of another.
//!
//! Invariants: a change is checked once the action that made it is done, so that rows may come in any order; a key that is looked for is read like any other
//! row, so nobody takes it away before the transaction commits. What a constraint puts off is checked when the transaction commits.
//!
//! A reference fails if the key that a row names is missing and that row is still there. So one check serves rows that come and keys that go.

use crate::cursor::{CursorStep, SourceCursor};
use crate::failure;
use crate::limits::{COLLECTED_BYTES_MAX, KEYS_REMEMBERED};
use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::reference_keys::{PendingReference, ReferenceCause, definition, note_change};
use crate::row_write::{self, Image, RowWrite, RowWriteProgress, WritePart};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::planted;
use messages::program::{AccessPath, Expression, ForeignKeyReference, PrefixBounds, RowSource};
use messages::schema::OnChange;
use messages::session::Failure;
use messages::{Item, Key};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use values::{Value, cast, operators};

/// Checks under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ReferenceRun {
    pending: VecDeque<PendingReference>,
    /// What was looked for since the action began, and is there: an item of the table that is referred to.
    found: BTreeSet<Item>,
    /// Of the rows that name the key at hand.
    found_bytes: usize,
    stage: ReferenceStage,
}

#[derive(Debug, Default, Serialize, Deserialize)]
enum ReferenceStage {
    #[default]
    Next,
    /// Reading the row with the key.
    Looking(PendingReference),
    /// Reading the rows that name it.
    Finding(PendingReference, SourceCursor, Vec<(Key, Vec<Value>)>),
    /// Changing the row at this position of those that name it.
    Changing(PendingReference, Vec<(Key, Vec<Value>)>, usize, Option<Vec<Value>>, RowWrite),
}

/// The item of the key in the table that is referred to; `None`: a value that no key of its type has.
fn item_of(reference: &ForeignKeyReference, key: &[Value]) -> Option<Item> {
    let (parent, foreign_key) = (&reference.parent, definition(reference));
    let mut row = vec![Value::Null; parent.columns.len()];
    for (&column, value) in foreign_key.parent_columns.iter().zip(key) {
        row[column] = cast::assign(value, parent.columns[column].column_type).ok()?;
    }
    let is_key = |columns: &[usize]| {
        columns.len() == foreign_key.parent_columns.len()
            && columns.iter().all(|column| foreign_key.parent_columns.contains(column))
    };
    if is_key(&parent.primary_key) {
        return Some(rows::table_item(parent, rows::table_key(parent, &row)));
    }
    let mut unique = parent.indexes.iter().filter(|index| index.unique);
    let (index, columns) = unique.find_map(|index| Some((index, index.whole_columns().filter(|own| is_key(own))?)))?;
    let mut bytes = Vec::with_capacity(24);
    columns.iter().for_each(|&column| values::key::append(&row[column], &mut bytes));
    Some(Item { table: index.storage, key: Key::new(&bytes) })
}

/// How the rows that name a key are found: by an index over these columns if there is one.
fn source_of(reference: &ForeignKeyReference, key: &[Value]) -> RowSource {
    let (child, foreign_key) = (&reference.child, definition(reference));
    let covers = |columns: &[usize]| {
        let leading = columns.get(..foreign_key.columns.len());
        leading.is_some_and(|leading| leading.iter().all(|column| foreign_key.columns.contains(column)))
    };
    let bounds = |columns: &[usize]| {
        let leading = columns.iter().take(foreign_key.columns.len());
        let value = |column: &usize| {
            let place = foreign_key.columns.iter().position(|named| named == column).unwrap_or_default();
            let value = cast::assign(&key[place], child.columns[*column].column_type).unwrap_or(Value::Null);
            Expression::Constant(value)
        };
        PrefixBounds { prefix: leading.map(value).collect(), low: None, high: None }
    };
    let index = child.indexes.iter().position(|index| covers(&index.leading_columns()));
    let path = match index {
        Some(index) => AccessPath::IndexRange(index, bounds(&child.indexes[index].leading_columns())),
        None if covers(&child.primary_key) => AccessPath::KeyRange(bounds(&child.primary_key)),
        None => AccessPath::KeyRange(PrefixBounds::default()),
    };
    RowSource { table: Arc::clone(child), path, reverse: false }
}

/// Whether a row names this key.
fn names(reference: &ForeignKeyReference, row: &[Value], key: &[Value]) -> bool {
    let equal = |left: &Value, right: &Value| {
        operators::binary(operators::BinaryOperator::Equal, left, right).is_ok_and(|is| is.as_boolean() == Some(true))
    };
    definition(reference).columns.iter().zip(key).all(|(&column, value)| equal(&row[column], value))
}

/// Whether it is looked at when the transaction commits.
fn is_deferred(pending: &PendingReference, scene: &Scene) -> bool {
    let foreign_key = definition(&pending.reference);
    let put_off = foreign_key.is_deferrable && scene.transaction.deferral().unwrap_or(foreign_key.is_deferred);
    put_off && scene.transaction.explicit && pending.on_change() == OnChange::NoAction
}

/// A row that names it as it is to be; `None`: it goes. Errors: 23502, 23514.
fn changed(pending: &PendingReference, row: &[Value], scene: &Scene) -> Result<Option<Vec<Value>>, Failure> {
    let (child, foreign_key) = (&pending.reference.child, definition(&pending.reference));
    let mut new = row.to_vec();
    for (place, &column) in foreign_key.columns.iter().enumerate() {
        let target = child.columns[column].column_type;
        new[column] = match (pending.on_change(), &pending.cause) {
            (OnChange::SetNull, _) => Value::Null,
            (OnChange::SetDefault, _) => {
                let default = &foreign_key.defaults[place];
                scene.scope.evaluate(default, &[])?.into_owned()
            }
            (OnChange::Cascade, ReferenceCause::Changed(after)) => {
                cast::assign_in(&after[place], target, scene.scope.zone).map_err(failure::of_value)?
            }
            _ => return Ok(None),
        };
        if let Some(rules) = &child.columns[column].domain {
            scene.scope.check_domain(rules, &new[column]).map_err(failure::of_value)?;
        }
    }
    rows::complete(child, &mut new, &scene.scope)?;
    Ok(Some(new))
}

impl ReferenceRun {
    /// An action begins.
    pub fn begin_action(&mut self) {
        self.found.clear();
    }

    /// What the transaction has put off is to be looked at now.
    pub fn take_deferred(&mut self, deferred: Vec<PendingReference>) {
        self.pending.extend(deferred);
    }

    /// Goes on with what has changed, deferred or not. Errors: 23503, and those of the changes that follow.
    pub fn resume(
        &mut self,
        references: &[ForeignKeyReference],
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let mut event = event;
        loop {
            for pending in std::mem::take(scene.changes) {
                match is_deferred(&pending, scene) {
                    true => scene.transaction.defer(pending)?,
                    false => self.pending.extend(scene.transaction.put_off(pending)?),
                }
            }
            let need = match std::mem::take(&mut self.stage) {
                ReferenceStage::Next => match self.pending.pop_front() {
                    Some(pending) => self.look(pending, scene)?,
                    None => return Ok(ExecutorStep::Done),
                },
                ReferenceStage::Looking(pending) => {
                    let ExecutorEvent::Item(row) = std::mem::replace(&mut event, ExecutorEvent::Go) else {
                        unreachable!("the key was asked for")
                    };
                    match row {
                        Some(_) => {
                            if planted!(scene.rules.planted, ParentUnread)
                                && let Some(item) = item_of(&pending.reference, &pending.key)
                            {
                                scene.transaction.forget_item_read(&item);
                            }
                            if self.found.len() == KEYS_REMEMBERED {
                                self.found.clear();
                            }
                            self.found.extend(item_of(&pending.reference, &pending.key));
                            None
                        }
                        None => self.find(pending, scene)?,
                    }
                }
                ReferenceStage::Finding(pending, cursor, found) => {
                    self.find_on(pending, cursor, found, scene, std::mem::replace(&mut event, ExecutorEvent::Go))?
                }
                ReferenceStage::Changing(pending, found, at, new, mut write) => {
                    let table = Arc::clone(&pending.reference.child);
                    match write.resume(std::mem::replace(&mut event, ExecutorEvent::Go), scene.transaction)? {
                        RowWriteProgress::Need(need) => {
                            self.stage = ReferenceStage::Changing(pending, found, at, new, write);
                            Some(need)
                        }
                        RowWriteProgress::Exists(target, _) => {
                            let new = new.as_deref().unwrap_or(&[]);
                            return Err(row_write::exists(&table, target, new, &scene.scope));
                        }
                        RowWriteProgress::Done => {
                            note_change(references, scene.changes, &table, Some(&found[at].1), new.as_deref())?;
                            self.change(pending, found, at + 1, scene)?;
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

    /// Is the key there?
    fn look(&mut self, pending: PendingReference, scene: &Scene) -> Result<Option<ExecutorNeed>, Failure> {
        match item_of(&pending.reference, &pending.key) {
            Some(item) if self.found.contains(&item) && matches!(pending.cause, ReferenceCause::Named) => Ok(None),
            Some(item) => {
                self.stage = ReferenceStage::Looking(pending);
                Ok(Some(ExecutorNeed::Item(item, AccessKind::Read)))
            }
            None => self.find(pending, scene),
        }
    }

    /// It is not: who names it?
    fn find(&mut self, pending: PendingReference, scene: &Scene) -> Result<Option<ExecutorNeed>, Failure> {
        let kind = match pending.on_change() {
            OnChange::NoAction | OnChange::Restrict => AccessKind::Read,
            _ => AccessKind::Write,
        };
        let cursor = SourceCursor::new(&source_of(&pending.reference, &pending.key), kind, None, &scene.scope)?;
        self.found_bytes = 0;
        self.stage = ReferenceStage::Finding(pending, cursor, Vec::new());
        Ok(None)
    }

    fn find_on(
        &mut self,
        pending: PendingReference,
        mut cursor: SourceCursor,
        mut found: Vec<(Key, Vec<Value>)>,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<Option<ExecutorNeed>, Failure> {
        let source = source_of(&pending.reference, &pending.key);
        match cursor.next(&source, &[], event)? {
            CursorStep::Need(need) => {
                self.stage = ReferenceStage::Finding(pending, cursor, found);
                return Ok(Some(need));
            }
            CursorStep::Row(row) => {
                let mut values = Vec::new();
                rows::decode_into(&source.table, ColumnSet::ALL, &row.key, &row.row, &mut values)?;
                if names(&pending.reference, &values, &pending.key) {
                    if let OnChange::NoAction | OnChange::Restrict = pending.on_change() {
                        return Err(pending.violated(scene.scope.zone));
                    }
                    self.found_bytes += values.iter().map(Value::size_in_memory).sum::<usize>();
                    if self.found_bytes > COLLECTED_BYTES_MAX {
                        return Err(failure::too_large("statement changes too many rows that refer to one"));
                    }
                    found.push((row.key, values));
                }
                self.stage = ReferenceStage::Finding(pending, cursor, found);
            }
            CursorStep::End => {
                if planted!(scene.rules.planted, CascadeMissesLateChild) {
                    let indexes = source.table.indexes.iter().map(|index| index.storage);
                    let storages: Vec<_> = indexes.chain([source.table.storage]).collect();
                    scene.transaction.forget_ranges_read(&storages);
                }
                self.change(pending, found, 0, scene)?;
            }
        }
        Ok(None)
    }

    /// Begins to change the row at this position of those that name the key.
    fn change(
        &mut self,
        pending: PendingReference,
        found: Vec<(Key, Vec<Value>)>,
        at: usize,
        scene: &mut Scene,
    ) -> Result<(), Failure> {
        let skipped = at > 0 && planted!(scene.rules.planted, CascadeEndsEarly);
        let Some((key, old)) = found.get(at).filter(|_| !skipped) else {
            // The default may be the key that has gone.
            if pending.on_change() == OnChange::SetDefault && !found.is_empty() {
                self.pending.push_back(PendingReference { is_settled: true, ..pending });
            }
            return Ok(());
        };
        let table = Arc::clone(&pending.reference.child);
        let mut new = changed(&pending, old, scene)?;
        let old_image = Image { key, values: old };
        let write = match &mut new {
            Some(new) => {
                let new_key = rows::table_key(&table, new);
                let new_image = Image { key: &new_key, values: new };
                RowWrite::plan(&table, Some(old_image), Some(new_image), WritePart::Both, &scene.scope)?
            }
            None => RowWrite::plan(&table, Some(old_image), None, WritePart::Both, &scene.scope)?,
        };
        self.stage = ReferenceStage::Changing(pending, found, at, new, write);
        Ok(())
    }
}
