//! The session's own statements: transactions, savepoints, settings, prepared statements, EXPLAIN.
//!
//! Invariant: in a failed block nothing runs but what ends it or returns to a savepoint.

use crate::errors::{Result, SqlError, sqlstate};
use crate::protocol::backend;
use crate::session::state::{Block, Execution, Step, TextLanguage, Work};
use crate::session::turn::Turn;
use crate::sql::explain_forms::ExplainFormat;
use crate::sql::isolation::{TransactionLevel, TransactionModes};
use crate::sql::lookup::NameLookup;
use crate::sql::maintenance::Maintenance;
use crate::sql::parse::Statement;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::settings::Settings;
use crate::sql::type_names::spelled_type;
use crate::sql::utility::{RoleChange, Utility};
use messages::namespace;
use messages::query::QueryRequest;
use messages::session::{AccessMode, Isolation, SessionRequest};
use values::Value;

/// `current transaction is aborted`, 25P02.
pub fn failed_block() -> Box<SqlError> {
    SqlError::new(
        sqlstate::FAILED_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

/// `VACUUM cannot run inside a transaction block`, 25001.
pub fn inside_block(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::ACTIVE_TRANSACTION, format!("{name} cannot run inside a transaction block"))
}

/// Whether a statement may run in a failed block.
pub fn ends_block(utility: &Utility) -> bool {
    matches!(utility, Utility::Commit(_) | Utility::Rollback(_) | Utility::RollbackTo(_))
}

impl Turn<'_> {
    /// Refuses a statement in a failed block, before it is compiled.
    pub fn check_block(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Utility(utility) if ends_block(utility) => Ok(()),
            _ if self.session.block == Block::Failed => Err(failed_block()),
            _ => Ok(()),
        }
    }

    /// Refuses a statement in a failed block, or one that writes where nothing may be written.
    pub fn check_plan(&self, prepared: &Prepared) -> Result<()> {
        let ends = matches!(&prepared.plan, Plan::Utility(utility) if ends_block(utility));
        if self.session.block == Block::Failed && !ends {
            return Err(failed_block());
        }
        if let Some(name) = prepared.outside_blocks.filter(|_| self.session.block != Block::None) {
            return Err(inside_block(name));
        }
        if let Some(name) = prepared.inside_blocks.filter(|_| self.session.block != Block::Open) {
            let message = format!("{name} can only be used in transaction blocks");
            return Err(SqlError::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        let read_only = match self.session.block {
            Block::Open => self.session.mode == AccessMode::ReadOnly,
            _ => self.session.settings.now.default_read_only(),
        };
        if prepared.writes && read_only && prepared.inside_blocks.is_some() {
            // It would keep nobody out who writes: such a transaction reads a snapshot.
            return Err(SqlError::unsupported("LOCK TABLE in this mode in a read-only transaction"));
        }
        if prepared.writes && read_only {
            let tag = prepared.tag.text(0);
            let verb = match prepared.tag {
                Tag::Plain(tag) => tag,
                Tag::Select if matches!(prepared.plan, Plan::Parts(_)) => "SELECT",
                Tag::Select => "SELECT FOR UPDATE",
                Tag::Stored => match &prepared.plan {
                    Plan::Queried(made, _) => made.tag(),
                    _ => "CREATE TABLE AS",
                },
                _ => tag.split(' ').next().unwrap_or_default(),
            };
            return Err(SqlError::new(
                sqlstate::READ_ONLY_TRANSACTION,
                format!("cannot execute {verb} in a read-only transaction"),
            ));
        }
        Ok(())
    }

    /// Runs a statement of the session's own.
    pub fn control(&mut self, execution: Box<Execution>) -> Result<()> {
        let utility = match &execution.prepared.plan {
            Plan::Utility(utility) => utility.clone(),
            _ => unreachable!("called for these only"),
        };
        match utility {
            Utility::Begin(modes) => self.begin(modes)?,
            Utility::SetTransaction(modes, for_session) => self.set_transaction(modes, for_session)?,
            Utility::Commit(chain) => return self.commit(execution, chain),
            Utility::Rollback(chain) => return self.rollback(execution, chain),
            Utility::Savepoint(_) => return self.check_savepoint("SAVEPOINT").and_then(|()| self.enter(execution)),
            Utility::Release(name) => return self.at_savepoint(execution, name, false),
            Utility::RollbackTo(name) => return self.at_savepoint(execution, name, true),
            Utility::Set(name, value, local) => self.set(&name, value.as_deref(), local)?,
            Utility::Show(_) | Utility::ShowAll | Utility::ListeningChannels(_) => {
                let rows = self.rows_shown(&utility)?;
                self.answer(execution, rows);
                return Ok(());
            }
            Utility::Reset(name) => self.set(&name, None, false)?,
            Utility::ResetAll => self.reset_settings(),
            Utility::Discard(what) => return self.discard(execution, what),
            Utility::Deallocate(Some(name)) => {
                if self.session.statements.remove(&name).is_none() {
                    return Err(SqlError::new(
                        sqlstate::UNDEFINED_STATEMENT,
                        format!("prepared statement \"{name}\" does not exist"),
                    ));
                }
            }
            Utility::Deallocate(None) => self.session.statements.clear(),
            Utility::CloseAll => {
                self.session.cursors.clear();
                self.forget_portals();
            }
            Utility::CloseCursor(name) => self.close_cursor(&name)?,
            Utility::Fetch(fetch) => return self.fetch(execution, &fetch),
            Utility::Prepare(name, types, text) => self.prepare_named(name, &types, &text, &execution.prepared)?,
            Utility::Range(declarations) => self.declare_ranges(&declarations)?,
            Utility::Listen(_) => return self.enter(execution),
            Utility::Unlisten(channel) => self.unlisten(channel)?,
            Utility::Explain(text, format) => return self.explain(execution, &text, format),
            Utility::Snapshot(name) => return self.take_snapshot(execution, name),
            Utility::Copy(copy) if copy.outwards => return self.copy_out(execution, &copy),
            Utility::Copy(_) => {
                self.check_plan(&execution.prepared)?;
                return self.enter(execution);
            }
            Utility::Role(change) => return self.start_becoming(execution, change),
            Utility::Maintenance(maintenance) => self.maintain(&execution.prepared, &maintenance)?,
            Utility::Nothing("CHECKPOINT") => self.check_checkpoint()?,
            Utility::Roles(_)
            | Utility::Notify(..)
            | Utility::Sequence(_)
            | Utility::Types(_)
            | Utility::Refresh(_)
            | Utility::Schemas(_)
            | Utility::Constraints(_)
            | Utility::LockTable(_)
            | Utility::System(_)
            | Utility::Do(_)
            | Utility::Nothing(_) => {}
        }
        self.complete(execution);
        Ok(())
    }

    /// The rows of SHOW, and of what else a session tells of itself.
    fn rows_shown(&self, utility: &Utility) -> Result<Vec<Vec<Value>>> {
        Ok(match utility {
            Utility::Show(name) => vec![vec![Value::text(self.show(name)?)]],
            Utility::ShowAll => {
                let all = self.with_facts(|facts| facts.settings.all(facts));
                all.into_iter().map(|(name, value)| vec![Value::text(name), Value::text(value)]).collect()
            }
            _ => self.listening_channels(),
        })
    }

    /// VACUUM and its like: there is nothing to do, but what is another role's is passed over or refused.
    fn maintain(&mut self, prepared: &Prepared, maintenance: &Maintenance) -> Result<()> {
        self.check_plan(prepared)?;
        let catalog = self.catalog();
        for skipped in self.with_facts(|facts| maintenance.check_owner(&catalog, facts))? {
            self.warn(sqlstate::WARNING, &skipped);
        }
        Ok(())
    }

    /// Sends rows that the session itself knows, and ends the statement.
    fn answer(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>) {
        self.send_rows(&mut execution, rows);
        self.complete(execution);
    }

    fn begin(&mut self, modes: TransactionModes) -> Result<()> {
        match self.session.block {
            Block::Open | Block::Failed => {
                self.warn(sqlstate::ACTIVE_TRANSACTION, "there is already a transaction in progress");
            }
            Block::None => {
                self.session.block = Block::Open;
                self.take_modes(modes);
                self.session.began_micros = self.micros();
            }
            // What ran before BEGIN in the same text is part of the block.
            Block::Implicit => {
                self.check_level(modes.level)?;
                self.session.block = Block::Open;
                if !self.session.open {
                    self.take_modes(modes);
                }
            }
        }
        Ok(())
    }

    /// What the block may do, and its level; of the next one if there is none.
    pub fn modes(&self) -> (AccessMode, TransactionLevel) {
        match self.session.block {
            Block::Open | Block::Failed => (self.session.mode, self.session.level),
            Block::None | Block::Implicit => (self.default_mode(), self.session.settings.now.default_level()),
        }
    }

    /// What the transaction that is about to begin may do, and how it is kept apart from others.
    pub(super) fn modes_to_begin(&self) -> (AccessMode, Isolation) {
        let isolation = self.session.level.isolation();
        // A block that only reads one snapshot would not see at READ COMMITTED what is committed meanwhile.
        match (self.session.block, isolation) {
            (Block::Open, Isolation::ReadCommitted) => (AccessMode::ReadWrite, isolation),
            _ => (self.session.mode, isolation),
        }
    }

    fn take_modes(&mut self, modes: TransactionModes) {
        self.session.mode = modes.access.unwrap_or(self.default_mode());
        self.session.level = modes.level.unwrap_or(self.session.settings.now.default_level());
    }

    fn default_mode(&self) -> AccessMode {
        if self.session.settings.now.default_read_only() { AccessMode::ReadOnly } else { AccessMode::ReadWrite }
    }

    fn set_transaction(&mut self, modes: TransactionModes, for_session: bool) -> Result<()> {
        if for_session {
            if let Some(level) = modes.level {
                self.set("default_transaction_isolation", Some(level.name()), false)?;
            }
            if let Some(mode) = modes.access {
                let value = if mode == AccessMode::ReadOnly { "on" } else { "off" };
                self.set("default_transaction_read_only", Some(value), false)?;
            }
        } else if self.session.block != Block::Open {
            self.warn(sqlstate::NO_ACTIVE_TRANSACTION, "SET TRANSACTION can only be used in transaction blocks");
            return Ok(());
        }
        self.check_level(modes.level)?;
        self.session.level = modes.level.unwrap_or(self.session.level);
        if let Some(mode) = modes.access {
            if self.session.open && mode == AccessMode::ReadWrite && self.session.mode == AccessMode::ReadOnly {
                return Err(SqlError::new(
                    sqlstate::ACTIVE_TRANSACTION,
                    "transaction read-write mode must be set before any query",
                ));
            }
            self.session.mode = mode;
        }
        Ok(())
    }

    /// Errors: 25001 for another level than the one of a transaction that is open.
    fn check_level(&self, level: Option<TransactionLevel>) -> Result<()> {
        if !self.session.open || level.is_none_or(|level| level == self.session.level) {
            return Ok(());
        }
        let when = match self.session.savepoints.is_empty() {
            true => "must be called before any query",
            false => "must not be called in a subtransaction",
        };
        Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, format!("SET TRANSACTION ISOLATION LEVEL {when}")))
    }

    fn commit(&mut self, mut execution: Box<Execution>, chain: bool) -> Result<()> {
        match self.session.block {
            Block::Failed => return self.rollback(execution, chain),
            Block::None | Block::Implicit => {
                if chain {
                    return Err(no_transaction("COMMIT AND CHAIN"));
                }
                self.warn(sqlstate::NO_ACTIVE_TRANSACTION, "there is no transaction in progress");
            }
            Block::Open => {}
        }
        self.stop_query();
        let change = match self.session.open {
            true => self.plan_at_commit().inspect_err(|_| self.give_block_up())?,
            false => None,
        };
        if let Some(change) = change {
            self.act_at_commit(execution, change);
        } else if self.session.open {
            execution.step = Step::Commit;
            self.session.work = Work::Statement(execution);
            self.ask(SessionRequest::Commit);
        } else {
            self.block_committed(execution);
        }
        Ok(())
    }

    /// COMMIT fails before the transaction has ended: the block is over, and what is left of it is rolled back at the end of the cycle.
    pub fn give_block_up(&mut self) {
        self.session.block = Block::Implicit;
    }

    fn rollback(&mut self, mut execution: Box<Execution>, chain: bool) -> Result<()> {
        if matches!(self.session.block, Block::None | Block::Implicit) {
            if chain {
                return Err(no_transaction("ROLLBACK AND CHAIN"));
            }
            self.warn(sqlstate::NO_ACTIVE_TRANSACTION, "there is no transaction in progress");
        }
        self.stop_query();
        if self.session.open {
            execution.step = Step::Rollback;
            self.session.work = Work::Statement(execution);
            self.ask(SessionRequest::Rollback);
        } else {
            self.block_rolled_back(execution);
        }
        Ok(())
    }

    /// The block has committed.
    pub fn block_committed(&mut self, execution: Box<Execution>) {
        self.end_block(true);
        self.session.work = Work::Idle;
        if self.session.overlay.is_empty() {
            self.chain(&execution);
            self.complete(execution);
        } else {
            self.settle(Some("COMMIT".to_string()), false);
            self.chain(&execution);
        }
    }

    /// The block has been rolled back, by ROLLBACK or because it had failed.
    pub fn block_rolled_back(&mut self, execution: Box<Execution>) {
        self.end_block(false);
        self.session.work = Work::Idle;
        self.chain(&execution);
        self.finish_statement("ROLLBACK".to_string());
    }

    /// AND CHAIN: another block like the one that ended.
    fn chain(&mut self, execution: &Execution) {
        if let Plan::Utility(Utility::Commit(true) | Utility::Rollback(true)) = execution.prepared.plan {
            self.session.block = Block::Open;
            self.session.began_micros = self.micros();
        }
    }

    fn check_savepoint(&self, statement: &str) -> Result<()> {
        match self.session.block {
            Block::Open => Ok(()),
            Block::Failed => Err(failed_block()),
            Block::None | Block::Implicit => Err(no_transaction(statement)),
        }
    }

    /// RELEASE and ROLLBACK TO.
    fn at_savepoint(&mut self, mut execution: Box<Execution>, name: String, back: bool) -> Result<()> {
        if !back || self.session.block != Block::Failed {
            self.check_savepoint(if back { "ROLLBACK TO SAVEPOINT" } else { "RELEASE SAVEPOINT" })?;
        }
        if !self.session.savepoints.iter().any(|(other, ..)| *other == name) {
            return Err(SqlError::new(
                sqlstate::INVALID_SAVEPOINT_SPECIFICATION,
                format!("savepoint \"{name}\" does not exist"),
            ));
        }
        if !self.session.open {
            return Err(
                failed_block().with_detail("The transaction lost a conflict: nothing of it is left to return to.")
            );
        }
        execution.step = Step::Savepoint;
        self.session.work = Work::Statement(execution);
        self.ask(if back { SessionRequest::RollbackTo { name } } else { SessionRequest::Release { name } });
        Ok(())
    }

    /// A savepoint was set, released or returned to: the schema changes follow.
    pub fn savepoint_marked(&mut self, execution: Box<Execution>) {
        let session = &mut self.session;
        let position = |name: &str| session.savepoints.iter().rposition(|(other, ..)| other == name);
        match &execution.prepared.plan {
            Plan::Utility(Utility::Savepoint(name)) => {
                session.overlay.forbid_private();
                session.savepoints.push((name.clone(), session.overlay.clone(), session.settings.clone()));
                session.listening.mark();
                session.locks.held.mark();
            }
            Plan::Utility(Utility::Release(name)) => {
                if let Some(position) = position(name) {
                    session.savepoints.truncate(position);
                    session.listening.release(position);
                    session.locks.held.release(position);
                    session.cursors_at_savepoint(position, false);
                }
            }
            Plan::Utility(Utility::RollbackTo(name)) => {
                let mut gone = Vec::new();
                if let Some(position) = position(name) {
                    session.savepoints.truncate(position + 1);
                    session.listening.roll_back_to(position);
                    gone = session.locks.held.roll_back_to(position);
                    session.cursors_at_savepoint(position, true);
                    session.overlay = session.savepoints[position].1.clone();
                    let before = std::mem::replace(&mut session.settings, session.savepoints[position].2.clone());
                    self.report_changes(&before.now);
                }
                if self.session.block == Block::Failed {
                    self.session.block = Block::Open;
                }
                self.locks_are_gone(gone);
                self.forget_cause();
            }
            _ => unreachable!("only these wait for a mark"),
        }
        self.complete(execution);
    }

    fn show(&self, name: &str) -> Result<String> {
        self.with_facts(|facts| facts.settings.show(name, facts))
    }

    fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let in_block = self.session.block == Block::Open || self.session.routines.is_on();
        if local && !in_block && self.session.block != Block::Implicit {
            self.warn(sqlstate::NO_ACTIVE_TRANSACTION, "SET LOCAL can only be used in transaction blocks");
            return Ok(());
        }
        self.set_in_transaction(name, value, local)
    }

    /// Sets a parameter to the end of the transaction, which may be this statement, or for good once it commits.
    pub(super) fn set_in_transaction(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let in_block = self.session.block == Block::Open || self.session.routines.is_on();
        if name == "transaction_read_only" && in_block {
            let read_only = matches!(value, Some("on" | "true" | "1"));
            let mode = if read_only { AccessMode::ReadOnly } else { AccessMode::ReadWrite };
            return self.set_transaction(TransactionModes { access: Some(mode), ..TransactionModes::default() }, false);
        }
        if name == "transaction_isolation" {
            let level = match value {
                Some(value) => TransactionLevel::of_value(name, value)?,
                None => self.session.settings.now.default_level(),
            };
            return match in_block {
                true => {
                    self.set_transaction(TransactionModes { level: Some(level), ..TransactionModes::default() }, false)
                }
                // It lasts to the end of the transaction, which is this statement.
                false => Ok(()),
            };
        }
        let settings = &mut self.session.settings;
        let before = settings.now.clone();
        let reported = settings.now.set(name, value)?;
        if local {
            settings.after_commit.get_or_insert_with(|| before.clone());
        } else if let Some(after) = &mut settings.after_commit {
            after.set(name, value)?;
        }
        settings.after_rollback.get_or_insert(before);
        self.report(reported);
        Ok(())
    }

    fn report(&mut self, reported: Option<(&'static str, String)>) {
        if let Some((name, value)) = reported {
            backend::parameter_status(&mut self.session.output, name, &value);
        }
    }

    fn reset_settings(&mut self) {
        let settings = &mut self.session.settings;
        if matches!(self.session.block, Block::Open | Block::Implicit) {
            let before: Settings = settings.now.clone();
            settings.after_rollback.get_or_insert(before);
        }
        // What is local to the transaction ends with it, a role as well.
        if let Some(after) = &mut settings.after_commit {
            after.reset_all();
        }
        for reported in settings.now.reset_all() {
            self.report(Some(reported));
        }
    }

    /// PREPARE. Errors: 42P05 for a name that is taken.
    fn prepare_named(&mut self, name: String, types: &[String], text: &str, given: &Prepared) -> Result<()> {
        if self.session.statements.contains_key(&name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_STATEMENT, message));
        }
        let catalog = self.catalog();
        let declared = self.with_facts(|facts| {
            let lookup = NameLookup::new(&catalog, facts);
            types.iter().map(|spelled| spelled_type(spelled, &lookup).map(Some)).collect::<Result<Vec<_>>>()
        })?;
        let prepared = self.prepare(text, TextLanguage::of(given), declared)?;
        if prepared.as_ref().is_some_and(|prepared| prepared.cursor.is_some()) {
            return Err(SqlError::syntax("DECLARE"));
        }
        self.session.statements.insert(name, prepared);
        Ok(())
    }

    fn discard(&mut self, execution: Box<Execution>, what: &str) -> Result<()> {
        let all = what == "DISCARD ALL";
        if all || what == "DISCARD SEQUENCES" {
            self.ask(SessionRequest::ForgetSequences);
        }
        if all {
            if self.session.block != Block::None {
                return Err(SqlError::new(
                    sqlstate::ACTIVE_TRANSACTION,
                    "DISCARD ALL cannot run inside a transaction block",
                ));
            }
            self.session.statements.clear();
            self.session.ranges.clear();
            self.forget_portals();
            self.session.cursors.clear();
            self.unlisten(None)?;
            self.give_back_all_locks();
            self.reset_settings();
            self.become_role(&RoleChange { of_session: true, ..RoleChange::default() })?;
        }
        if all || what == "DISCARD TEMP" {
            return self.discard_temporary(execution);
        }
        self.complete(execution);
        Ok(())
    }

    /// Has the site take a snapshot of the instance.
    fn take_snapshot(&mut self, mut execution: Box<Execution>, name: String) -> Result<()> {
        self.check_plan(&execution.prepared)?;
        self.check_operator()?;
        execution.step = Step::Explain;
        self.session.work = Work::Statement(execution);
        self.query(QueryRequest::Snapshot { name });
        Ok(())
    }

    /// The program as text, or the query processor's plan.
    fn explain(&mut self, mut execution: Box<Execution>, text: &str, format: ExplainFormat) -> Result<()> {
        let language = TextLanguage::of(&execution.prepared);
        let prepared = self.prepare(text, language, Vec::new())?.ok_or_else(|| SqlError::syntax("EXPLAIN"))?;
        if let Some(denied) = prepared.denied.clone() {
            return Err(denied);
        }
        let sql = match &prepared.plan {
            Plan::Program(program) => {
                self.answer(execution, plan_rows(&lines(&program.to_string()), format));
                return Ok(());
            }
            Plan::Feed(sql, program, ..) => {
                execution.explained = lines(&program.to_string());
                sql.clone()
            }
            Plan::Query(sql) => sql.clone(),
            _ => return Err(SqlError::unsupported("EXPLAIN of this statement")),
        };
        execution.step = Step::Explain;
        self.session.work = Work::Statement(execution);
        let (catalog, session) = (self.catalog(), self.session_facts(&sql, self.session.settings.now.zone()));
        self.query(QueryRequest::Explain { sql, catalog, session });
        Ok(())
    }
}

/// 25P01.
pub fn no_transaction(statement: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, format!("{statement} can only be used in transaction blocks"))
}

/// The lines of a text, with names as they are written.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| namespace::shown(line).into_owned()).collect()
}

/// What EXPLAIN answers for a plan of these lines.
pub(super) fn plan_rows(lines: &[String], format: ExplainFormat) -> Vec<Vec<Value>> {
    let value = |text: String| match format {
        ExplainFormat::Json => Value::Json(text.into()),
        _ => Value::text(text),
    };
    format.written(lines).into_iter().map(|text| vec![value(text)]).collect()
}
