//! Keys that foreign keys have to be held against: what has changed, and what is wrong with it.

use crate::failure;
use messages::program::ForeignKeyReference;
use messages::schema::{ForeignKeySchema, OnChange, TableSchema};
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use values::{Value, Zone};

/// A key to be looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingReference {
    /// Which constraint.
    pub reference: ForeignKeyReference,
    /// Values of the columns of the table that is referred to.
    pub key: Vec<Value>,
    /// Why.
    pub cause: ReferenceCause,
    /// Whether rows that named it have been changed already: no row may name it any more.
    pub is_settled: bool,
}

/// Why a key is looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ReferenceCause {
    /// A row that names it has come.
    Named,
    /// Its row has been deleted.
    Deleted,
    /// Its row has this key now.
    Changed(Vec<Value>),
}

/// What its constraint says.
pub fn definition(reference: &ForeignKeyReference) -> &ForeignKeySchema {
    &reference.child.foreign_keys[reference.foreign_key]
}

/// A row of a table has changed: notes what has to be looked at. Errors: 23503 for a key that is partly NULL where that is not allowed.
pub fn note_change(
    references: &[ForeignKeyReference],
    changes: &mut Vec<PendingReference>,
    table: &TableSchema,
    old: Option<&[Value]>,
    new: Option<&[Value]>,
) -> Result<(), Failure> {
    for reference in references {
        let foreign_key = definition(reference);
        if reference.child.oid == table.oid
            && let Some(new) = new
            && !old.is_some_and(|old| foreign_key.columns.iter().all(|&column| old[column] == new[column]))
            && let Some(key) = named_key(reference, new)?
        {
            changes.push(PendingReference {
                reference: reference.clone(),
                key,
                cause: ReferenceCause::Named,
                is_settled: false,
            });
        }
        if reference.parent.oid == table.oid
            && let Some(old) = old
        {
            let key_of = |row: &[Value]| foreign_key.parent_columns.iter().map(|&column| row[column].clone()).collect();
            let key: Vec<Value> = key_of(old);
            let after: Option<Vec<Value>> = new.map(key_of);
            if key.iter().any(Value::is_null) || after.as_ref() == Some(&key) {
                continue;
            }
            let cause = after.map_or(ReferenceCause::Deleted, ReferenceCause::Changed);
            changes.push(PendingReference { reference: reference.clone(), key, cause, is_settled: false });
        }
    }
    Ok(())
}

/// The key that a row names; `None`: none. Errors: 23503.
fn named_key(reference: &ForeignKeyReference, row: &[Value]) -> Result<Option<Vec<Value>>, Failure> {
    let foreign_key = definition(reference);
    let nulls = foreign_key.columns.iter().filter(|&&column| row[column].is_null()).count();
    if nulls > 0 {
        return match foreign_key.is_full && nulls < foreign_key.columns.len() {
            true => Err(failure::foreign_key(
                format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    reference.child.name, foreign_key.name
                ),
                "MATCH FULL does not allow mixing of null and nonnull key values.".to_string(),
                &foreign_key.name,
            )),
            false => Ok(None),
        };
    }
    Ok(Some(foreign_key.columns.iter().map(|&column| row[column].clone()).collect()))
}

impl PendingReference {
    /// What is done with the rows that name it.
    pub fn on_change(&self) -> OnChange {
        match self.cause {
            _ if self.is_settled => OnChange::NoAction,
            ReferenceCause::Named => OnChange::NoAction,
            ReferenceCause::Deleted => definition(&self.reference).on_delete,
            ReferenceCause::Changed(_) => definition(&self.reference).on_update,
        }
    }

    /// 23503.
    pub fn violated(&self, zone: &Zone) -> Failure {
        let ForeignKeyReference { child, parent, .. } = &self.reference;
        let foreign_key = definition(&self.reference);
        let texts = |values: &[Value]| {
            let text = |value: &Value| values::text::to_string_in(value, zone).unwrap_or_else(|| "null".to_string());
            values.iter().map(text).collect::<Vec<_>>().join(", ")
        };
        let columns = |table: &TableSchema, columns: &[usize]| {
            columns.iter().map(|&column| table.columns[column].name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (message, detail) = match self.cause {
            ReferenceCause::Named => (
                format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    child.name, foreign_key.name
                ),
                format!(
                    "Key ({})=({}) is not present in table \"{}\".",
                    columns(child, &foreign_key.columns),
                    texts(&self.key),
                    parent.name
                ),
            ),
            ReferenceCause::Deleted | ReferenceCause::Changed(_) => (
                format!(
                    "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
                    parent.name, foreign_key.name, child.name
                ),
                match parent.row_security.is_enabled {
                    // Whoever changes the row may not be one who sees it.
                    true => format!("Key is still referenced from table \"{}\".", child.name),
                    false => format!(
                        "Key ({})=({}) is still referenced from table \"{}\".",
                        columns(parent, &foreign_key.parent_columns),
                        texts(&self.key),
                        child.name
                    ),
                },
            ),
        };
        failure::foreign_key(message, detail, &foreign_key.name)
    }
}
