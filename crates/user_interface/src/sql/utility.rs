//! Statements about the session itself: transactions, settings, prepared statements, COPY, EXPLAIN, maintenance.
//!
//! Invariant: a text that begins like one of these is one of these or a syntax error; everything else is `None`. They are
//! parsed here from tokens, because PostgreSQL's forms of them are looser than a general parser's.

use crate::errors::{Result, SqlError};
use crate::protocol::copy::Options;
use crate::sql::cursor_syntax::{self, FetchStatement};
use crate::sql::do_syntax::{self, DoStatement};
use crate::sql::explain_forms::ExplainFormat;
use crate::sql::grants;
use crate::sql::identity_syntax;
use crate::sql::isolation::{TransactionLevel, TransactionModes};
use crate::sql::lock_table_syntax::{self, TableLocking};
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::maintenance::{self, Maintenance};
use crate::sql::own_settings_syntax;
use crate::sql::owner_syntax;
use crate::sql::places::unexpected;
use crate::sql::queried_table::{self, Refresh};
use crate::sql::role_syntax::{self, RoleStatement};
use crate::sql::schema_syntax::{self, SchemaStatement};
use crate::sql::sequences::{self, SequenceStatement};
use crate::sql::system::{self, SystemStatement};
use crate::sql::type_syntax::{self, TypeStatement};
use crate::sql::words::Words;
use messages::session::AccessMode;
use quel::RangeDeclaration;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::borrow::Cow;
use std::sync::Arc;

/// A statement about the session.
#[derive(Clone, Debug)]
pub enum Utility {
    /// BEGIN, START TRANSACTION.
    Begin(TransactionModes),
    /// SET TRANSACTION, or (true) SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetTransaction(TransactionModes, bool),
    /// COMMIT, END; true: AND CHAIN.
    Commit(bool),
    /// ROLLBACK, ABORT; true: AND CHAIN.
    Rollback(bool),
    /// SAVEPOINT.
    Savepoint(String),
    /// RELEASE SAVEPOINT.
    Release(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
    /// SET name TO value; no value: DEFAULT. True: LOCAL.
    Set(String, Option<String>, bool),
    /// SHOW name.
    Show(String),
    /// SHOW ALL.
    ShowAll,
    /// RESET name.
    Reset(String),
    /// RESET ALL.
    ResetAll,
    /// DISCARD ALL or one kind of thing; the command tag.
    Discard(&'static str),
    /// DEALLOCATE name, or all.
    Deallocate(Option<String>),
    /// CLOSE ALL: of portals, too.
    CloseAll,
    /// CLOSE.
    CloseCursor(String),
    /// FETCH and MOVE.
    Fetch(FetchStatement),
    /// PREPARE name (types) AS text, the types as they are written.
    Prepare(String, Vec<String>, Arc<str>),
    /// LISTEN.
    Listen(Arc<str>),
    /// UNLISTEN; none: of all channels.
    Unlisten(Option<Arc<str>>),
    /// NOTIFY: channel and payload.
    Notify(Arc<str>, Arc<str>),
    /// `SELECT pg_listening_channels()`: what its column is called.
    ListeningChannels(String),
    /// EXPLAIN of this text.
    Explain(Arc<str>, ExplainFormat),
    /// COPY.
    Copy(Copy),
    /// SET ROLE, SET SESSION AUTHORIZATION.
    Role(RoleChange),
    /// CREATE ROLE and its like: compiled to a plan of its own.
    Roles(Box<RoleStatement>),
    /// CREATE and ALTER SEQUENCE: compiled to a plan of its own.
    Sequence(Box<SequenceStatement>),
    /// CREATE TYPE and its like: compiled to a plan of its own.
    Types(Box<TypeStatement>),
    /// CREATE SCHEMA and its like: compiled to a plan of its own.
    Schemas(Box<SchemaStatement>),
    /// REFRESH MATERIALIZED VIEW: compiled to a plan of its own.
    Refresh(Refresh),
    /// SET CONSTRAINTS ALL; true: DEFERRED.
    Constraints(bool),
    /// ALTER SYSTEM: compiled to a plan of its own.
    System(SystemStatement),
    /// VACUUM and its like.
    Maintenance(Maintenance),
    /// LOCK TABLE: compiled to a plan of its own.
    LockTable(TableLocking),
    /// `range of` in QUEL.
    Range(Arc<[RangeDeclaration]>),
    /// `SELECT raid_snapshot('name')`.
    Snapshot(String),
    /// DO: compiled to a plan of its own.
    Do(DoStatement),
    /// Accepted without effect; the command tag.
    Nothing(&'static str),
}

/// SET ROLE or SET SESSION AUTHORIZATION.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleChange {
    /// SET SESSION AUTHORIZATION.
    pub of_session: bool,
    /// The role; `None`: the session's own, or who logged in.
    pub name: Option<String>,
    /// LOCAL: until the transaction ends.
    pub local: bool,
    /// RESET, whose tag it is.
    pub resets: bool,
}

/// COPY.
#[derive(Clone, Debug)]
pub struct Copy {
    /// A table and some of its columns, or a query's text.
    pub source: CopySource,
    /// TO STDOUT; else FROM STDIN.
    pub outwards: bool,
    /// What the data looks like.
    pub options: Options,
}

/// What COPY copies.
#[derive(Clone, Debug)]
pub enum CopySource {
    /// A table; its columns, none given: all.
    Table(String, Vec<String>),
    /// A query.
    Query(Arc<str>),
}

impl Utility {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<Cow<'_, Utility>> {
        Ok(Cow::Owned(match self {
            Utility::Copy(Copy { source: CopySource::Table(name, columns), outwards, options }) => {
                let name = lookup.existing(NameKind::Relation, name)?;
                lookup.check_reachable(&name)?;
                let source = CopySource::Table(name, columns.clone());
                Utility::Copy(Copy { source, outwards: *outwards, options: options.clone() })
            }
            Utility::Roles(statement) => Utility::Roles(Box::new(statement.qualified(lookup)?)),
            Utility::Sequence(statement) => Utility::Sequence(Box::new(statement.qualified(lookup)?)),
            Utility::Types(statement) => Utility::Types(Box::new(statement.qualified(lookup)?)),
            Utility::Schemas(statement) => Utility::Schemas(Box::new(statement.qualified(lookup)?)),
            Utility::Maintenance(maintenance) => Utility::Maintenance(maintenance.qualified(lookup)?),
            Utility::LockTable(locking) => Utility::LockTable(locking.qualified(lookup)?),
            other => return Ok(Cow::Borrowed(other)),
        }))
    }
}

/// Parses the tokens of one statement; `None`: it is none of these.
pub fn parse(text: &str, tokens: &[TokenWithSpan]) -> Result<Option<Utility>> {
    let mut words = Words { text, rest: tokens };
    let Some(first) = words.keyword() else {
        return Ok(None);
    };
    let utility = match first.as_str() {
        "begin" => {
            words.skip(&["transaction", "work"]);
            Utility::Begin(words.transaction_modes()?)
        }
        "start" => {
            words.expect("transaction")?;
            Utility::Begin(words.transaction_modes()?)
        }
        "commit" if words.peek_is("prepared") => return Err(SqlError::unsupported("COMMIT PREPARED")),
        "commit" | "end" => Utility::Commit(words.chain()?),
        "abort" => Utility::Rollback(words.chain()?),
        "rollback" => words.rollback()?,
        "savepoint" => Utility::Savepoint(words.name()?),
        "release" => {
            words.skip(&["savepoint"]);
            Utility::Release(words.name()?)
        }
        "set" => words.set()?,
        "show" => words.show()?,
        "reset" => words.reset()?,
        "discard" => Utility::Discard(match words.name()?.as_str() {
            "all" => "DISCARD ALL",
            "plans" => "DISCARD PLANS",
            "sequences" => "DISCARD SEQUENCES",
            "temp" | "temporary" => "DISCARD TEMP",
            other => return Err(SqlError::syntax(other)),
        }),
        "deallocate" => {
            words.skip(&["prepare"]);
            let quoted = words.peek_is_quoted();
            let name = words.name()?;
            Utility::Deallocate((quoted || name != "all").then_some(name))
        }
        "prepare" if words.peek_is("transaction") => return Err(SqlError::unsupported("PREPARE TRANSACTION")),
        "prepare" => return words.prepare().map(Some),
        "explain" => return words.explain().map(Some),
        "copy" => words.copy()?,
        "checkpoint" => Utility::Nothing("CHECKPOINT"),
        "lock" => Utility::LockTable(lock_table_syntax::parse(&mut words)?),
        "close" if words.skip(&["all"]) => Utility::CloseAll,
        "unlisten" if words.skip_token(&Token::Mul) => Utility::Unlisten(None),
        "unlisten" => Utility::Unlisten(Some(words.name()?.into())),
        "listen" => Utility::Listen(words.name()?.into()),
        "notify" => words.notify()?,
        "close" => Utility::CloseCursor(words.name()?),
        "fetch" | "move" => Utility::Fetch(cursor_syntax::fetch(first == "move", &mut words)?),
        "do" => Utility::Do(do_syntax::parse_do(&mut words)?),
        "refresh" => Utility::Refresh(queried_table::refresh(&mut words)?),
        "alter" if words.skip(&["system"]) => Utility::System(system::parse(&mut words)?),
        other => match other_utility(other, &mut words)? {
            Some(utility) => utility,
            None => return Ok(None),
        },
    };
    match words.rest.first() {
        None => Ok(Some(utility)),
        Some(token) => Err(unexpected(token, text)),
    }
}

/// Roles, privileges and owners, and maintenance.
fn other_utility(first: &str, words: &mut Words) -> Result<Option<Utility>> {
    if let Some(statement) = schema_syntax::parse(first, words)? {
        return Ok(Some(Utility::Schemas(Box::new(statement))));
    }
    if let Some(statement) = type_syntax::parse(first, words)? {
        return Ok(Some(Utility::Types(Box::new(statement))));
    }
    if first == "alter"
        && words.peek_is("sequence")
        && let Some(given) = owner_syntax::parse_owner(words)?
    {
        return Ok(Some(Utility::Roles(Box::new(given))));
    }
    if matches!(first, "create" | "alter") && sequences::begins(words) {
        return Ok(Some(Utility::Sequence(Box::new(sequences::parse(first, words)?))));
    }
    if first == "alter"
        && let Some(statement) = identity_syntax::parse(words)?
    {
        return Ok(Some(Utility::Sequence(Box::new(SequenceStatement::Identity(statement)))));
    }
    let statement = match first {
        "grant" | "revoke" => Some(role_syntax::parse_grant(first == "grant", words)?),
        "reassign" => Some(owner_syntax::parse_reassign(words)?),
        "drop" if words.skip(&["owned"]) => Some(owner_syntax::parse_drop_owned(words)?),
        "create" | "alter" | "drop" if role_syntax::begins(words) => Some(role_syntax::parse(first, words)?),
        "alter" if words.peek_is("view") => return Err(SqlError::unsupported("this form of ALTER VIEW")),
        "alter" if words.peek_is("materialized") => {
            return Err(SqlError::unsupported("this form of ALTER MATERIALIZED VIEW"));
        }
        "alter" if words.skip(&["default"]) => Some(RoleStatement::Defaults(Box::new(grants::parse_defaults(words)?))),
        "alter" => match own_settings_syntax::parse_of_database(words)? {
            Some(own) => Some(RoleStatement::Settings(own)),
            None => owner_syntax::parse_owner(words)?,
        },
        _ => None,
    };
    match statement {
        Some(statement) => Ok(Some(Utility::Roles(Box::new(statement)))),
        None => Ok(maintenance::parse(first, words)?.map(Utility::Maintenance)),
    }
}

impl Words<'_> {
    fn reset(&mut self) -> Result<Utility> {
        if self.skip(&["role"]) {
            return Ok(Utility::Role(RoleChange { resets: true, ..RoleChange::default() }));
        }
        if self.skip(&["session"]) {
            self.expect("authorization")?;
            return Ok(Utility::Role(RoleChange { of_session: true, resets: true, ..RoleChange::default() }));
        }
        Ok(match self.setting_name()?.as_str() {
            "all" => Utility::ResetAll,
            name => Utility::Reset(name.to_string()),
        })
    }

    fn notify(&mut self) -> Result<Utility> {
        let channel = self.name()?;
        let payload = if self.skip_token(&Token::Comma) { self.string()? } else { String::new() };
        Ok(Utility::Notify(channel.into(), payload.into()))
    }

    fn chain(&mut self) -> Result<bool> {
        self.skip(&["transaction", "work"]);
        if !self.skip(&["and"]) {
            return Ok(false);
        }
        let chain = !self.skip(&["no"]);
        self.expect("chain")?;
        Ok(chain)
    }

    fn rollback(&mut self) -> Result<Utility> {
        if self.peek_is("prepared") {
            return Err(SqlError::unsupported("ROLLBACK PREPARED"));
        }
        let mut ahead = Words { text: self.text, rest: self.rest };
        ahead.skip(&["transaction", "work"]);
        if ahead.skip(&["to"]) {
            ahead.skip(&["savepoint"]);
            let name = ahead.name()?;
            self.rest = &self.rest[self.rest.len() - ahead.rest.len()..];
            return Ok(Utility::RollbackTo(name));
        }
        Ok(Utility::Rollback(self.chain()?))
    }

    /// `ISOLATION LEVEL ..., READ ONLY, NOT DEFERRABLE`.
    fn transaction_modes(&mut self) -> Result<TransactionModes> {
        let mut modes = TransactionModes::default();
        while self.peek().is_some() {
            if self.skip(&["isolation"]) {
                self.expect("level")?;
                let level = if self.skip(&["read"]) {
                    match self.skip(&["uncommitted"]) {
                        true => Some(TransactionLevel::ReadUncommitted),
                        false => self.skip(&["committed"]).then_some(TransactionLevel::ReadCommitted),
                    }
                } else if self.skip(&["repeatable"]) {
                    self.skip(&["read"]).then_some(TransactionLevel::RepeatableRead)
                } else {
                    self.skip(&["serializable"]).then_some(TransactionLevel::Serializable)
                };
                modes.level = Some(level.ok_or_else(|| self.error())?);
            } else if self.skip(&["read"]) {
                modes.access = Some(if self.skip(&["only"]) {
                    AccessMode::ReadOnly
                } else {
                    self.expect("write")?;
                    AccessMode::ReadWrite
                });
            } else {
                self.skip(&["not"]);
                self.expect("deferrable")?;
            }
            self.skip_token(&Token::Comma);
        }
        Ok(modes)
    }

    /// A setting's name: `a`, `a.b`, `time zone`.
    pub(super) fn setting_name(&mut self) -> Result<String> {
        if self.peek_is("time") {
            self.advance();
            if self.skip(&["zone"]) {
                return Ok("timezone".to_string());
            }
            return Ok("time".to_string());
        }
        if self.peek_is("transaction") {
            self.advance();
            self.expect("isolation")?;
            self.expect("level")?;
            return Ok("transaction_isolation".to_string());
        }
        let mut name = self.name()?.to_ascii_lowercase();
        while self.skip_token(&Token::Period) {
            name.push('.');
            name.push_str(&self.name()?.to_ascii_lowercase());
        }
        Ok(name)
    }

    fn show(&mut self) -> Result<Utility> {
        Ok(match self.setting_name()?.as_str() {
            "all" => Utility::ShowAll,
            "session" if self.skip(&["authorization"]) => Utility::Show("session_authorization".to_string()),
            name => Utility::Show(name.to_string()),
        })
    }

    fn set(&mut self) -> Result<Utility> {
        if self.skip(&["transaction"]) {
            return Ok(Utility::SetTransaction(self.transaction_modes()?, false));
        }
        let local = self.skip(&["local"]);
        if !local && self.skip(&["session"]) {
            if self.skip(&["characteristics"]) {
                self.expect("as")?;
                self.expect("transaction")?;
                return Ok(Utility::SetTransaction(self.transaction_modes()?, true));
            }
            if self.skip(&["authorization"]) {
                return self.role(true, local);
            }
        }
        if local && self.peek_is("session") {
            self.advance();
            self.expect("authorization")?;
            return self.role(true, true);
        }
        if local && self.skip(&["transaction"]) {
            return Ok(Utility::SetTransaction(self.transaction_modes()?, false));
        }
        if self.skip(&["constraints"]) {
            if !self.skip(&["all"]) {
                return Err(
                    SqlError::unsupported("SET CONSTRAINTS of one constraint").with_hint("Use SET CONSTRAINTS ALL.")
                );
            }
            let deferred = self.skip(&["deferred"]);
            if !deferred {
                self.expect("immediate")?;
            }
            return Ok(Utility::Constraints(deferred));
        }
        if self.skip(&["role"]) {
            return self.role(false, local);
        }
        let is_phrase = self.peek_is("time");
        let mut ahead = Words { text: self.text, rest: self.rest };
        if is_phrase && ahead.setting_name()? == "timezone" && ahead.skip(&["interval"]) {
            *self = ahead;
            return Ok(Utility::Set("timezone".to_string(), Some(self.zone_interval()?), local));
        }
        let (name, value) = self.assignment()?;
        if value.is_none() && self.skip(&["current"]) {
            return Err(self.error());
        }
        Ok(Utility::Set(name, value, local))
    }

    /// The role that a session is to take.
    fn role(&mut self, of_session: bool, local: bool) -> Result<Utility> {
        if !of_session && !self.skip_token(&Token::Eq) {
            self.skip(&["to"]);
        }
        let is_own = !self.peek_is_quoted() && (self.peek_is("default") || (!of_session && self.peek_is("none")));
        let folded = matches!(self.peek(), Some(Token::Word(word)) if word.quote_style.is_none());
        let name = self.value()?;
        let name = if folded { name.to_ascii_lowercase() } else { name };
        let name = Some(name).filter(|name| !is_own && (of_session || name != "none"));
        Ok(Utility::Role(RoleChange { of_session, name, local, resets: false }))
    }

    fn prepare(&mut self) -> Result<Utility> {
        let name = self.name()?;
        let mut types = Vec::new();
        if self.skip_token(&Token::LParen) {
            loop {
                let mut spelled = String::new();
                let mut depth = 0;
                while let Some(token) = self.peek() {
                    match token {
                        Token::LParen => depth += 1,
                        Token::RParen if depth == 0 => break,
                        Token::RParen => depth -= 1,
                        Token::Comma if depth == 0 => break,
                        _ => {}
                    }
                    spelled.push_str(&format!("{token} "));
                    self.advance();
                }
                types.push(spelled);
                if !self.skip_token(&Token::Comma) {
                    break;
                }
            }
            self.expect_token(&Token::RParen)?;
        }
        self.expect("as")?;
        Ok(Utility::Prepare(name, types, self.remaining_text()?))
    }
}
