//! Columns become identities, change as such, and end to be any.
//!
//! Invariant: an identity column is not NULL, and its default draws from a sequence that it owns.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::identity_syntax::{IdentityChange, IdentityStatement};
use crate::sql::sequence_options::{Options, limits, wrong};
use crate::sql::sequences::default_text;
use messages::program::SequenceValue;
use messages::schema::{Identity, TableSchema};
use std::sync::Arc;

impl Planner<'_> {
    /// Errors: 42P01, 42703, 42501, 22023; 55000 for a column that is, or is not, an identity.
    pub(super) fn change_identity(&mut self, statement: &IdentityStatement) -> Result<()> {
        let IdentityStatement { table: name, if_exists, column, change } = statement;
        if *if_exists && !self.catalog.tables.contains_key(name) {
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("relation \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        let from = self.table(name)?;
        self.check_owns_table(&from)?;
        let position = from.column(column).ok_or_else(|| {
            let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
            SqlError::new(sqlstate::UNDEFINED_COLUMN, message)
        })?;
        let state = |what: &str| {
            let message = format!("column \"{column}\" of relation \"{name}\" {what}");
            SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        };
        let is_identity = from.columns[position].identity.is_some();
        match change {
            IdentityChange::Add(identity, sequence, given) => {
                let known = &from.columns[position];
                if known.domain.is_some() || limits(known.column_type).is_err() {
                    return Err(wrong("identity column type must be smallint, integer, or bigint"));
                }
                if !known.not_null {
                    return Err(state("must be declared NOT NULL before identity can be added"));
                }
                if is_identity {
                    return Err(state("is already an identity column"));
                }
                if known.default.is_some() || from.generated_column(position).is_some() {
                    return Err(state("already has a default value"));
                }
                self.add_identity(&from, position, *identity, sequence.as_deref(), given)?;
            }
            IdentityChange::Drop(true) if !is_identity => {
                let message = state("is not an identity column, skipping").message;
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
            }
            IdentityChange::Set(..) | IdentityChange::Drop(_) if !is_identity => {
                return Err(state("is not an identity column"));
            }
            IdentityChange::Set(identity, given) => {
                if let Some(sequence) = self.owned(from.oid, Some(position)).first().cloned() {
                    let (schema, restart) = given.apply(sequence.sequence.as_deref())?;
                    let value = restart.map_or(SequenceValue::Kept, SequenceValue::Next);
                    self.set_sequence(&sequence, schema, value);
                }
                if let Some(identity) = identity {
                    let mut to = TableSchema::clone(&from);
                    to.columns[position].identity = Some(*identity);
                    self.write_table(to);
                }
            }
            IdentityChange::Drop(_) => {
                let mut to = TableSchema::clone(&from);
                to.columns[position].identity = None;
                to.columns[position].default = None;
                self.compile_set_defaults(&mut to)?;
                self.drop_owned_sequences(from.oid, Some(position));
                self.write_table(to);
            }
        }
        Ok(())
    }

    fn add_identity(
        &mut self,
        from: &Arc<TableSchema>,
        position: usize,
        identity: Identity,
        sequence: Option<&str>,
        given: &Options,
    ) -> Result<()> {
        let column = &from.columns[position];
        let name = match sequence {
            Some(name) => {
                self.check_free(name)?;
                name.to_owned()
            }
            None => self.free_name(&from.name, &[&column.name], "seq"),
        };
        let given = Options { data_type: Some(column.column_type), ..given.clone() };
        let (mut schema, _) = given.apply(None)?;
        schema.owned_by = Some((from.oid, position));
        self.make_sequence(&name, schema);
        let mut to = TableSchema::clone(from);
        to.columns[position].identity = Some(identity);
        to.columns[position].default = Some(default_text(&name));
        self.compile_set_defaults(&mut to)?;
        self.write_table(to);
        Ok(())
    }
}
