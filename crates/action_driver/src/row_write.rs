//! Writes one row of a table and its index entries: first everything is asked for, then everything is written.
//!
//! Invariants: indexes say what the table says, because both are written by the same transaction; a unique key is written only
//! after it was read as absent; nothing is written when a unique key exists.

use crate::expression::ExpressionScope;
use crate::failure;
use crate::need::{Access, ExecutorEvent, ExecutorNeed};
use crate::rows;
use crate::transaction::ExecutingTransaction;
use messages::concurrency::AccessKind;
use messages::expression_sql::{SqlStyle, quoted};
use messages::program::ConflictKey;
use messages::schema::TableSchema;
use messages::session::Failure;
use messages::{Item, Key, Row};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use values::Value;

/// The row at hand with its key.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// Its key.
    pub key: &'a Key,
    /// Its values.
    pub values: &'a [Value],
}

/// Which steps of a change to plan. A statement that changes keys of many rows first removes all old keys: it may pass a key on
/// from one row to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePart {
    /// What goes, then what comes.
    Both,
    /// Only what goes.
    Removals,
    /// Only what comes.
    Additions,
}

/// The writes of one row, under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RowWrite {
    steps: SmallVec<[RowWriteStep; 2]>,
    at: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct RowWriteStep {
    item: Item,
    row: Option<Row>,
    /// Which unique key this is, when it must not exist yet.
    claims: Option<ConflictKey>,
}

/// How far a row's writes have come.
#[derive(Debug)]
pub enum RowWriteProgress {
    /// Something is needed first.
    Need(ExecutorNeed),
    /// Nothing was written, because this unique key exists, with this row.
    Exists(ConflictKey, Row),
    /// Everything is written.
    Done,
}

impl RowWrite {
    /// Plans what makes `old` into `new`; without `old` an insertion, without `new` a deletion. Errors: those of the expressions of indexes.
    pub fn plan(
        table: &TableSchema,
        old: Option<Image>,
        new: Option<Image>,
        part: WritePart,
        scope: &ExpressionScope,
    ) -> Result<RowWrite, Failure> {
        let mut write = RowWrite::default();
        let (removals, additions) = (part != WritePart::Additions, part != WritePart::Removals);
        let old_key = old.map(|image| image.key);
        let new_key = new.map(|image| image.key);
        if let Some(old_key) = old_key
            && new_key != Some(old_key)
            && removals
        {
            write.remove(rows::table_item(table, old_key.clone()));
        }
        if let Some(new) = new
            && additions
        {
            // A hidden key is new by construction.
            let fresh = old_key != Some(new.key) && !table.has_hidden_key();
            let claims = fresh.then_some(ConflictKey::PrimaryKey);
            let item = rows::table_item(table, new.key.clone());
            write.put(item, rows::encode(table, new.values), claims);
        }
        for (position, index) in table.indexes.iter().enumerate() {
            if let (Some(old), Some(new)) = (old, new)
                && old.key == new.key
                && index.columns_used().all(|column| old.values[column] == new.values[column])
            {
                continue;
            }
            let entry = |image: Option<Image>| match image {
                Some(image) => rows::index_entry(table, index, image.key, image.values, scope),
                None => Ok(None),
            };
            let (old, new) = (entry(old)?, entry(new)?);
            if old == new {
                continue;
            }
            let same_place = matches!((&old, &new), (Some(old), Some(new)) if old.item == new.item);
            if let Some(old) = old
                && removals
                && !same_place
            {
                write.remove(old.item);
            }
            if let Some(new) = new
                && additions
            {
                let claims = (new.unique && !same_place).then_some(ConflictKey::Index(position));
                write.put(new.item, new.row, claims);
            }
        }
        Ok(write)
    }

    /// Plans the entry of one index only. Errors: those of its expressions.
    pub fn plan_index(
        table: &TableSchema,
        position: usize,
        new: Image,
        scope: &ExpressionScope,
    ) -> Result<RowWrite, Failure> {
        let mut write = RowWrite::default();
        if let Some(entry) = rows::index_entry(table, &table.indexes[position], new.key, new.values, scope)? {
            let claims = entry.unique.then_some(ConflictKey::Index(position));
            write.put(entry.item, entry.row, claims);
        }
        Ok(write)
    }

    /// Looks at these unique keys before all others: they decide whether ON CONFLICT applies.
    pub fn check_first(&mut self, targets: &[ConflictKey]) {
        for target in targets.iter().rev() {
            if let Some(position) = self.steps.iter().position(|step| step.claims == Some(*target)) {
                self.steps[..=position].rotate_right(1);
            }
        }
    }

    /// What it will ask for.
    pub fn accesses(&self) -> impl Iterator<Item = Access> {
        let access = |step: &RowWriteStep| Access {
            item: step.item.clone(),
            kind: AccessKind::Write,
            reads: step.claims.is_some(),
        };
        self.steps.iter().map(access)
    }

    fn remove(&mut self, item: Item) {
        self.steps.push(RowWriteStep { item, row: None, claims: None });
    }

    fn put(&mut self, item: Item, row: Row, claims: Option<ConflictKey>) {
        let row = Some(row);
        self.steps.push(RowWriteStep { item, row, claims });
    }

    /// Goes on. `event` answers the last need, or is [`ExecutorEvent::Go`]. Errors: 54000.
    pub fn resume(
        &mut self,
        event: ExecutorEvent,
        transaction: &mut ExecutingTransaction,
    ) -> Result<RowWriteProgress, Failure> {
        match event {
            ExecutorEvent::Item(found) => {
                let claims = self.steps[self.at].claims.expect("only claims are read");
                if let Some(row) = found {
                    return Ok(RowWriteProgress::Exists(claims, row));
                }
                self.at += 1;
            }
            ExecutorEvent::Locked => self.at += 1,
            _ => {}
        }
        if let Some(step) = self.steps.get(self.at) {
            return Ok(RowWriteProgress::Need(match step.claims {
                Some(_) => ExecutorNeed::Item(step.item.clone(), AccessKind::Write),
                None => ExecutorNeed::Lock(step.item.clone()),
            }));
        }
        for step in self.steps.drain(..) {
            transaction.write(step.item, step.row)?;
        }
        Ok(RowWriteProgress::Done)
    }
}

/// 23505 for a unique key that exists.
pub fn exists(table: &TableSchema, target: ConflictKey, values: &[Value], scope: &ExpressionScope) -> Failure {
    match target {
        ConflictKey::PrimaryKey => {
            let name = table.primary_key_name.as_deref().unwrap_or(&table.name);
            let part = |&column: &usize| {
                let schema = &table.columns[column];
                (quoted(&schema.name), schema.column_type, values[column].clone())
            };
            failure::duplicate_key(name, table.primary_key.iter().map(part), scope.zone)
        }
        ConflictKey::Index(position) => {
            let index = &table.indexes[position];
            let key = match rows::index_values(index, values, scope) {
                Ok(key) => key,
                Err(failure) => return failure,
            };
            let part =
                |(place, value)| (index.key_sql(table, place, SqlStyle::Pretty), index.key_type(table, place), value);
            failure::duplicate_key(&index.name, key.into_iter().enumerate().map(part), scope.zone)
        }
    }
}
