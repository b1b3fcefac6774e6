//! `ALTER TABLE ... ALTER COLUMN ... ADD GENERATED`, `SET GENERATED`, `RESTART`, `SET` of an option, and `DROP IDENTITY`.
//!
//! Invariant: an identity column is not NULL, and its default draws from a sequence that it owns.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::sequence_options::{Options, limits, options, relation, wrong};
use crate::sql::sequences::default_text;
use crate::sql::words::Words;
use messages::program::SequenceValue;
use messages::schema::{Identity, TableSchema};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// What becomes of an identity.
#[derive(Clone, Debug)]
enum IdentityChange {
    /// ADD GENERATED, with the sequence's name if one was given.
    Add(Identity, Option<String>, Options),
    /// SET GENERATED, SET of options, RESTART.
    Set(Option<Identity>, Options),
    /// DROP IDENTITY; true: IF EXISTS.
    Drop(bool),
}

/// A statement that changes the identity of a column.
#[derive(Clone, Debug)]
pub struct IdentityStatement {
    table: String,
    if_exists: bool,
    column: String,
    change: IdentityChange,
}

/// The words of options that SET begins.
const OPTIONS: [&str; 8] = ["increment", "minvalue", "maxvalue", "no", "start", "restart", "cache", "cycle"];

/// Parses what stands behind ALTER if it changes an identity; `None`: it is something else. Errors: 0A000 for several changes in one statement.
pub(super) fn parse(words: &mut Words) -> Result<Option<IdentityStatement>> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    if !ahead.skip(&["table"]) {
        return Ok(None);
    }
    let if_exists = ahead.skip(&["if"]) && ahead.skip(&["exists"]);
    ahead.skip(&["only"]);
    let Ok(table) = relation(&mut ahead) else { return Ok(None) };
    ahead.skip_token(&Token::Mul);
    if !ahead.skip(&["alter"]) {
        return Ok(None);
    }
    ahead.skip(&["column"]);
    let Ok(column) = ahead.name() else { return Ok(None) };
    let from_verb = ahead.rest;
    let verb = ahead.keyword();
    let change = match verb.as_deref() {
        Some("add") if ahead.peek_is("generated") => added(&mut ahead)?,
        Some("drop") if ahead.skip(&["identity"]) => {
            let if_exists = ahead.skip(&["if"]);
            if if_exists {
                ahead.expect("exists")?;
            }
            IdentityChange::Drop(if_exists)
        }
        Some("set") if ahead.peek_is("generated") || OPTIONS.iter().any(|word| ahead.peek_is(word)) => {
            ahead.rest = from_verb;
            set(&mut ahead)?
        }
        Some("restart") => {
            ahead.rest = from_verb;
            set(&mut ahead)?
        }
        _ => return Ok(None),
    };
    if ahead.peek() == Some(&Token::Comma) {
        return Err(SqlError::unsupported("a change of an identity beside other changes in one statement"));
    }
    *words = ahead;
    Ok(Some(IdentityStatement { table, if_exists, column, change }))
}

fn generated(words: &mut Words) -> Result<Identity> {
    words.expect("generated")?;
    if words.skip(&["always"]) {
        return Ok(Identity::Always);
    }
    words.expect("by")?;
    words.expect("default")?;
    Ok(Identity::ByDefault)
}

fn added(words: &mut Words) -> Result<IdentityChange> {
    let identity = generated(words)?;
    words.expect("as")?;
    words.expect("identity")?;
    let (mut name, mut given) = (None, Options::default());
    if words.skip_token(&Token::LParen) {
        let end = words.rest.iter().position(|token| token.token == Token::RParen).ok_or_else(|| words.error())?;
        let mut inner = Words { text: words.text, rest: &words.rest[..end] };
        // The name stands first where PostgreSQL's own tools write it.
        if inner.skip(&["sequence"]) {
            inner.expect("name")?;
            name = Some(relation(&mut inner)?);
        }
        given = options(&mut inner)?;
        words.rest = &words.rest[end + 1..];
    }
    Ok(IdentityChange::Add(identity, name, given))
}

/// `SET GENERATED ... SET option ... RESTART ...`, in any order.
fn set(words: &mut Words) -> Result<IdentityChange> {
    let (mut identity, mut kept) = (None, Vec::new());
    while let Some(token) = words.rest.first().filter(|token| token.token != Token::Comma) {
        if !words.skip(&["set"]) {
            kept.push(token.clone());
            words.advance();
        } else if words.peek_is("generated") {
            identity = Some(generated(words)?);
        }
    }
    Ok(IdentityChange::Set(identity, options(&mut Words { text: words.text, rest: &kept })?))
}

impl IdentityStatement {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<IdentityStatement> {
        let mut statement = self.clone();
        statement.table = lookup.existing(NameKind::Relation, &self.table)?;
        if let IdentityChange::Add(_, Some(name), _) = &mut statement.change {
            *name = lookup.new_name(name)?;
        }
        Ok(statement)
    }

    /// The relations that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let sequence = match &self.change {
            IdentityChange::Add(_, name, _) => name.as_ref(),
            _ => None,
        };
        std::iter::once(&self.table).chain(sequence)
    }
}

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
