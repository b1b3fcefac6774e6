//! A statement from its start to its end: begin, run, replies, another try when the catalog moved.
//!
//! Invariant: a statement is tried again only before it changed or sent anything.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{CATALOG_PATIENCE, RECOMPILATIONS_MAX};
use crate::protocol::backend;
use crate::session::changes::relied_on;
use crate::session::state::{Again, Block, Confirmed, Execution, Step, Work};
use crate::session::turn::Turn;
use crate::sql::ddl::{self, SchemaChange};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::isolation::TransactionLevel;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::queried_table::QueriedTable;
use crate::sql::schema_syntax::SchemaStatement;
use crate::sql::user_functions;
use crate::sql::utility::Utility;
use crate::sql::{queried_columns, roles, schemas, sequences, system, user_types};
use messages::Key;
use messages::database::DatabaseId;
use messages::program::{Expression, Program};
use messages::schema::CatalogVersions;
use messages::session::{AccessMode, Failure, SessionReply, SessionRequest};
use std::sync::Arc;
use values::Value;
use values::cast::Context;

impl Turn<'_> {
    /// Starts a statement. Errors: nothing was asked of any server yet.
    pub fn start(&mut self, mut execution: Box<Execution>) -> Result<()> {
        self.statement_begins(&execution.prepared);
        self.check_lost(Some(&execution.prepared.plan))?;
        let timeout = self.session.settings.now.statement_timeout_ms();
        self.session.deadline =
            (timeout > 0).then(|| self.now.boot.saturating_add(timeout * messages::limits::MILLISECOND));
        self.session.cancelled = None;
        self.renew(&mut execution)?;
        match &execution.prepared.plan {
            Plan::Utility(_) => return self.control(execution),
            Plan::Execute(name, arguments) => {
                let found = self.session.statements.get(name).cloned().flatten().ok_or_else(|| {
                    SqlError::new(
                        sqlstate::UNDEFINED_STATEMENT,
                        format!("prepared statement \"{name}\" does not exist"),
                    )
                })?;
                execution.arguments = Some(arguments.clone());
                // PREPARE tells no columns: what is not described yet can be anything.
                execution.told = Some(found.clone()).filter(|found| !found.undescribed);
                execution.prepared = self.refresh(found)?;
                execution.check_told()?;
                self.statement_begins(&execution.prepared);
                if let Plan::Execute(..) | Plan::Utility(_) = execution.prepared.plan {
                    return Err(SqlError::unsupported("EXECUTE of this statement"));
                }
            }
            _ => {}
        }
        self.check_plan(&execution.prepared)?;
        if let Some((cursor, _)) = &execution.prepared.cursor {
            self.check_declare(cursor)?;
            execution.rows_max = 0;
        }
        self.enter(execution)
    }

    /// The statement of an execution, compiled anew unless it still stands. Errors: 0A000 when it is not what the client was told, or has
    /// bound its parameters and chosen its result's formats for.
    fn renew(&mut self, execution: &mut Execution) -> Result<()> {
        let before = execution.prepared.clone();
        execution.prepared = self.refresh(before.clone())?;
        if !Arc::ptr_eq(&execution.prepared, &before) && !before.undescribed && execution.portal.is_some() {
            execution.told.get_or_insert(before);
        }
        execution.check_told()
    }

    /// Has the statement described if it has to be, its arguments bound, and its transaction begun.
    pub fn enter(&mut self, mut execution: Box<Execution>) -> Result<()> {
        if execution.prepared.undescribed {
            self.describe(&execution.prepared.clone());
            execution.step = Step::Describe;
            self.session.work = Work::Statement(execution);
            return Ok(());
        }
        if let Some(error) = execution.prepared.denied.clone() {
            let relied = execution.prepared.mentions.clone();
            execution.step = Step::New;
            self.doubt(Confirmed::Error(error), relied, Again::Statement(execution));
            return Ok(());
        }
        self.bind_constants(&mut execution)?;
        if let Some(arguments) = execution.arguments.take() {
            execution.parameters = self.arguments(&arguments, &execution)?;
        }
        if execution.parameters.len() != execution.prepared.parameters.len() {
            return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        // A program can be a transaction of its own; a query and what it feeds take several requests.
        let alone = match &execution.prepared.plan {
            Plan::Program(_)
            | Plan::Schema(..)
            | Plan::Function(_)
            | Plan::Roles(_)
            | Plan::Sequence(_)
            | Plan::Types(_)
            | Plan::Namespaces(_)
            | Plan::System(_) => true,
            Plan::SetValue(set) => set.source.is_none(),
            _ => false,
        };
        let is_followed = self.note_temporary(&execution.prepared);
        if self.session.block == Block::None && (!alone || is_followed) {
            self.begin_implicit();
            // It is the whole transaction: nobody gains by less.
            self.session.level = TransactionLevel::Serializable;
            let may_write = execution.prepared.writes || execution.prepared.discards();
            let calls = execution.prepared.calls_routines
                || matches!(execution.prepared.plan, Plan::Routine(_) | Plan::Firing(_));
            self.session.mode = self.implicit_mode(may_write || calls);
        } else if self.session.block == Block::Implicit
            && !self.session.open
            && execution.recompilations == 0
            && !execution.begins_again
        {
            // What else the cycle holds is not known yet.
            self.session.mode = self.implicit_mode(true);
        }
        if self.session.block != Block::None && !self.session.open {
            execution.began = true;
            execution.step = Step::Begin;
            let (mode, isolation) = self.modes_to_begin();
            let time_micros = self.session.began_micros;
            self.session.work = Work::Statement(execution);
            self.session.only_reads = mode == AccessMode::ReadOnly;
            self.ask(SessionRequest::Begin { mode, isolation, time_micros });
            return Ok(());
        }
        self.launch(execution)
    }

    fn implicit_mode(&self, writes: bool) -> AccessMode {
        if writes && !self.session.settings.now.default_read_only() {
            AccessMode::ReadWrite
        } else {
            AccessMode::ReadOnly
        }
    }

    /// Arguments of EXECUTE as values of the parameters' types. Errors: 42601 for another number of them, 0A000 for computed ones.
    fn arguments(&mut self, arguments: &[sqlparser::ast::Expr], execution: &Execution) -> Result<Vec<Value>> {
        let types = &execution.prepared.parameters;
        if arguments.len() != types.len() {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "wrong number of parameters for prepared statement")
                .with_detail(format!("Expected {} parameters but got {}.", types.len(), arguments.len())));
        }
        let catalog = self.catalog();
        self.with_facts(|facts| {
            let mut compiler = Compiler::new(&catalog, facts, "", Vec::new());
            arguments
                .iter()
                .zip(types)
                .map(|(argument, data_type)| {
                    let typed = compiler.expression(argument, &Scope::empty()).map_err(|stop| stop.into_error())?;
                    let computed = || SqlError::unsupported("a computed argument of EXECUTE");
                    let (value, target) = match compiler.parameters.coerce(typed, *data_type, Context::Assignment)? {
                        Expression::Constant(value) => return Ok(value),
                        // What the time zone decides is not cast before.
                        Expression::Cast(value, target, _) => (*value, target),
                        _ => return Err(computed()),
                    };
                    match value {
                        Expression::Constant(value) => {
                            Ok(values::cast::assign_in(&value, target, facts.settings.zone())?)
                        }
                        _ => Err(computed()),
                    }
                })
                .collect()
        })
    }

    /// Asks for what the statement is, its transaction being open if it needs one.
    pub fn launch(&mut self, mut execution: Box<Execution>) -> Result<()> {
        match &execution.prepared.plan {
            Plan::Program(_) if !execution.prepared.table_locks.is_empty() => {
                execution.calls_done = 0;
                self.lock_tables(execution);
                return Ok(());
            }
            Plan::Program(program) => {
                let program = program.clone();
                self.execute_program(&mut execution, program, Vec::new(), Step::Program);
            }
            Plan::Queried(table, _) => {
                let (catalog, own) = (self.seen_catalog(), self.session.overlay.keys());
                let columns = &execution.prepared.source;
                let change = self.with_facts(|facts| queried_columns::plan(table, columns, &catalog, &own, facts))?;
                if change.program.is_none() {
                    let tag = Tag::Plain(table.tag());
                    execution.prepared = Arc::new(Prepared { tag, ..Prepared::clone(&execution.prepared) });
                }
                self.launch_change(execution, change, Vec::new());
                return Ok(());
            }
            Plan::Schema(..)
            | Plan::Function(_)
            | Plan::System(_)
            | Plan::Sequence(_)
            | Plan::Types(_)
            | Plan::Namespaces(_) => {
                let change = self.planned_change(&execution.prepared.plan)?;
                if let Plan::Namespaces(statement) = &execution.prepared.plan
                    && let SchemaStatement::Database(statement) = &**statement
                {
                    self.empty_database(statement)?;
                }
                self.launch_change(execution, change, Vec::new());
                return Ok(());
            }
            Plan::SetValue(set) if set.source.is_none() => return self.set_value(execution, Vec::new()),
            Plan::Roles(statement) => {
                let catalog = if statement.names_objects() { self.seen_catalog() } else { self.catalog() };
                let drawn = self.shared.doorkeeper.draw();
                let own = self.session.overlay.keys();
                let change = self.with_facts(|facts| roles::plan(statement, &catalog, &own, facts, drawn))?;
                self.launch_change(execution, change, Vec::new());
                return Ok(());
            }
            Plan::Routine(_) if execution.prepared.mentions.is_empty() => return self.begin_routine(execution),
            // What is called, and what fires, is to be what it was when the statement was compiled.
            Plan::Routine(_) | Plan::Firing(_) => {
                let own = self.session.overlay.keys();
                let mentions = execution.prepared.mentions.iter().filter(|(key, _)| !own.contains(key)).cloned();
                let program = relying_program(&mentions.collect());
                self.execute_program(&mut execution, program, Vec::new(), Step::Program);
            }
            Plan::Parts(_) => self.begin_parts(&mut execution),
            Plan::Query(_) | Plan::Feed(..) | Plan::SetValue(_) => self.run_query(&mut execution),
            Plan::Utility(_) => return self.launch_utility(execution),
            Plan::Execute(..) => unreachable!("resolved before it was launched"),
        }
        self.session.work = Work::Statement(execution);
        Ok(())
    }

    /// A change of the catalog that depends on nothing but the catalog and the session.
    fn planned_change(&mut self, plan: &Plan) -> Result<SchemaChange> {
        // Parameters and schemas are nowhere that a role might not look into.
        let catalog = match plan {
            Plan::System(_) | Plan::Namespaces(_) => self.catalog(),
            _ => self.seen_catalog(),
        };
        let own = self.session.overlay.keys();
        self.with_facts(|facts| match plan {
            Plan::Schema(statement, likes) => ddl::plan(statement, likes, &catalog, &own, facts),
            Plan::Function(new) => user_functions::plan(new, &catalog, &own, facts),
            Plan::System(statement) => system::plan(statement, &catalog, &own, facts),
            Plan::Sequence(statement) => sequences::plan(statement, &catalog, &own, facts),
            Plan::Types(statement) => user_types::plan(statement, &catalog, &own, facts),
            Plan::Namespaces(statement) => schemas::plan(statement, &catalog, &own, facts),
            _ => unreachable!("no other plan is a change of the catalog alone"),
        })
    }

    /// Has a sequence set, to what came with the source's rows if it has one.
    pub fn set_value(&mut self, execution: Box<Execution>, rows: Vec<Vec<Value>>) -> Result<()> {
        let Plan::SetValue(set) = &execution.prepared.plan else { unreachable!("only setval sets a sequence") };
        let (catalog, own) = (self.seen_catalog(), self.session.overlay.keys());
        let parameters = &execution.prepared.parameters;
        let change = self.with_facts(|facts| sequences::plan_set(set, &catalog, &own, facts, parameters))?;
        self.launch_change(execution, change, rows);
        Ok(())
    }

    /// Sends a program to the action driver.
    pub fn execute_program(
        &mut self,
        execution: &mut Execution,
        program: Arc<Program>,
        rows: Vec<Vec<Value>>,
        step: Step,
    ) {
        execution.step = step;
        let request = SessionRequest::Execute {
            program,
            parameters: execution.parameters.clone(),
            rows,
            time_micros: self.micros(),
            zone: self.session.settings.now.zone().clone(),
        };
        self.ask(request);
    }

    /// The action driver's reply to a statement under way.
    pub fn statement_replied(&mut self, mut execution: Box<Execution>, reply: SessionReply) {
        let done = match (execution.step.clone(), reply) {
            (_, SessionReply::Failed(failure)) => {
                self.statement_failed(execution, failure);
                return;
            }
            (Step::Begin, SessionReply::Begun) => {
                self.session.open = true;
                self.launch(execution)
            }
            (Step::Program, SessionReply::Executed { rows, affected }) => {
                execution.affected = affected;
                self.program_done(execution, rows);
                Ok(())
            }
            (Step::Batch, SessionReply::Executed { rows, affected }) => {
                execution.affected += affected;
                self.send_rows(&mut execution, rows);
                self.supply(execution);
                Ok(())
            }
            (Step::PartProgram, SessionReply::Executed { rows, affected }) => {
                self.part_executed(execution, rows, affected);
                Ok(())
            }
            (Step::CopyBatch, SessionReply::Executed { affected, .. }) => {
                execution.affected += affected;
                self.copy_on(execution)
            }
            (Step::AtCommit, SessionReply::Executed { .. }) => {
                self.acted_at_commit(execution);
                Ok(())
            }
            (Step::Commit, SessionReply::Committed { .. }) => {
                self.block_committed(execution);
                Ok(())
            }
            (Step::Rollback, SessionReply::RolledBack) => {
                self.block_rolled_back(execution);
                Ok(())
            }
            (Step::Savepoint, SessionReply::Marked) => {
                self.savepoint_marked(execution);
                Ok(())
            }
            (Step::Restart, SessionReply::RolledBack) => {
                self.session.open = false;
                execution.began = false;
                match execution.doubt.take() {
                    Some(doubt) => self.again(doubt.again),
                    None => self.enter(execution),
                }
            }
            (step, reply) => Err(unexpected(&step, &reply)),
        };
        if let Err(error) = done {
            self.fail(&error);
        }
    }

    /// A program has run: its rows go out, all or as many as the portal asked for.
    fn program_done(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>) {
        if let Some(doubt) = execution.doubt.take() {
            return self.confirmed(doubt.confirmed);
        }
        if let Some(change) = execution.change.take() {
            self.session.overlay.add(change);
            if let Plan::Queried(table, _) = &execution.prepared.plan
                && table.is_filled()
            {
                let table = table.clone();
                if let Err(error) = self.fill(execution, &table) {
                    self.fail(&error);
                }
                return;
            }
        }
        let begun = match &execution.prepared.plan {
            Plan::Routine(_) => self.begin_routine(execution),
            Plan::Firing(_) => self.begin_firing(execution),
            _ => return self.program_finished(execution, rows),
        };
        if let Err(error) = begun {
            self.fail(&error);
        }
    }

    /// A program that was all of its statement, or the last thing that the servers do for it, has run.
    fn program_finished(&mut self, execution: Box<Execution>, rows: Vec<Vec<Value>>) {
        if let Plan::Utility(Utility::Listen(channel)) = &execution.prepared.plan {
            let channel = channel.clone();
            return self.listen(execution, channel);
        }
        let rows = match self.take_effects(&execution, rows) {
            Ok(rows) => rows,
            Err(error) => {
                self.session.work = Work::Statement(execution);
                return self.fail(&error);
            }
        };
        if !execution.prepared.sleeps.is_empty() {
            return self.fall_asleep(execution, rows);
        }
        if !execution.prepared.locks.is_empty() {
            return self.call_locks(execution, rows);
        }
        self.program_returned(execution, rows);
    }

    /// The program's rows are there.
    pub fn program_returned(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>) {
        if execution.prepared.cursor.is_some() {
            return self.cursor_rows(execution, rows, true);
        }
        if execution.portal.is_some() && execution.rows_max > 0 && rows.len() > execution.rows_max {
            execution.buffered = rows.into();
            execution.exhausted = true;
            self.resume_portal(execution);
            return;
        }
        self.send_rows(&mut execution, rows);
        self.complete(execution);
    }

    /// Puts the query's rows into the table that was made for them.
    fn fill(&mut self, mut execution: Box<Execution>, table: &QueriedTable) -> Result<()> {
        let catalog = self.catalog();
        let versioned = catalog.tables.get(&self.made_name(&table.name)).expect("the transaction has made it");
        let made = self.session.overlay.made();
        let targets: Vec<usize> = (0..versioned.table.columns.len()).collect();
        let program = self.with_facts(|facts| {
            Compiler::new(&catalog, facts, "", Vec::new()).insert_supplied(versioned, &targets, made)
        })?;
        execution.affected = 0;
        execution.fills = Some(Arc::new(program));
        self.run_query(&mut execution);
        self.session.work = Work::Statement(execution);
        Ok(())
    }

    /// Rows go to the client, their columns before them if it has not been told.
    pub fn send_rows(&mut self, execution: &mut Execution, rows: Vec<Vec<Value>>) {
        if self.session.routines.is_on() {
            execution.sent += rows.len() as u64;
            return self.collect_rows(rows);
        }
        self.announce(execution);
        execution.sent += rows.len() as u64;
        if let crate::session::state::Sink::Copy(options, columns) = &execution.sink {
            let mut line = std::mem::take(&mut self.shared.scratch);
            for row in rows {
                line.clear();
                let zone = self.session.settings.now.zone();
                crate::protocol::copy::write_row(options, &row, columns, zone, &mut line);
                backend::copy_data(&mut self.session.output, &line);
            }
            self.shared.scratch = line;
            return;
        }
        let (columns, formats) = (&execution.prepared.columns, &execution.formats);
        if columns.is_empty() {
            return;
        }
        let zone = self.session.settings.now.zone();
        for row in rows {
            backend::data_row(&mut self.session.output, &row, columns, formats, zone, &mut self.shared.scratch);
        }
    }

    /// RowDescription, once, in the simple protocol.
    pub fn announce(&mut self, execution: &mut Execution) {
        if std::mem::replace(&mut execution.announced, true) {
            return;
        }
        if let crate::session::state::Sink::Copy(..) = execution.sink {
            self.announce_copy(execution);
        } else if !execution.prepared.columns.is_empty() {
            backend::row_description(&mut self.session.output, &execution.prepared.columns, &execution.formats);
        }
    }

    /// The statement failed at the action driver: another try, or the end of it.
    pub fn statement_failed(&mut self, execution: Box<Execution>, failure: Failure) {
        if let Failure::SchemaChanged { key } = &failure
            && execution.sent == 0
            && execution.affected == 0
            && execution.fills.is_none()
            && execution.recompilations < RECOMPILATIONS_MAX
            && !matches!(execution.step, Step::AtCommit | Step::Commit | Step::CopyBatch)
        {
            let key = key.clone();
            self.try_again(execution, &key);
            return;
        }
        self.note_failure(&failure);
        let commit = match execution.step {
            Step::Commit => true,
            Step::AtCommit => matches!(failure, Failure::Conflict { .. }),
            _ => false,
        };
        if matches!(failure, Failure::Conflict { .. }) || commit {
            // Nothing of the transaction is left at the action driver.
            self.session.open = false;
        }
        let error = match (&failure, self.session.cancelled) {
            (Failure::Cancelled, Some(reason)) => crate::session::queries::cancelled(reason),
            _ => SqlError::of_failure(failure, self.committed()),
        };
        if commit {
            self.end_block(false);
        } else if execution.step == Step::AtCommit {
            self.give_block_up();
        }
        self.session.work = Work::Statement(execution);
        self.fail(&error);
    }

    /// The catalog row changed under the statement: once the change is known here, it is compiled again.
    fn try_again(&mut self, mut execution: Box<Execution>, key: &Key) {
        execution.recompilations += 1;
        let relied = relied_on(&execution, key);
        if relied.is_none_or(|version| version != self.committed().version_of(key)) {
            self.recompile(execution);
        } else {
            execution.step = Step::Catalog(self.now.boot.saturating_add(CATALOG_PATIENCE));
            self.session.work = Work::Statement(execution);
        }
    }

    /// Compiles and runs the statement again.
    pub fn recompile(&mut self, mut execution: Box<Execution>) {
        self.session.work = Work::Idle;
        execution.change = None;
        if execution.doubt.is_none()
            && let Err(error) = self.renew(&mut execution)
        {
            return self.fail(&error);
        }
        self.again_from_start(execution);
    }

    /// Runs the statement again, in another transaction if it began one for itself.
    fn again_from_start(&mut self, mut execution: Box<Execution>) {
        if execution.began && self.session.block == Block::Implicit && self.session.open {
            execution.step = Step::Restart;
            self.session.work = Work::Statement(execution);
            self.ask(SessionRequest::Rollback);
            return;
        }
        let done = match execution.doubt.take() {
            Some(doubt) => self.again(doubt.again),
            None => self.enter(execution),
        };
        if let Err(error) = done {
            self.fail(&error);
        }
    }
}

impl Execution {
    /// Errors: 0A000 when the statement is not what the client was told; one that is not described yet may be.
    pub(super) fn check_told(&self) -> Result<()> {
        let (now, Some(told)) = (&self.prepared, &self.told) else { return Ok(()) };
        // A client that is yet to be told the columns can be told others, if it has formats for them.
        let fits = match self.portal.is_some() && !self.announced {
            true => now.parameters == told.parameters && self.formats.fit(now.columns.len()),
            false => now.is_like(told),
        };
        if now.undescribed || fits { Ok(()) } else { Err(SqlError::plan_changed()) }
    }

    /// Remembers a program that was planned for this execution alone, for finding what it relied on.
    pub(super) fn sent_program(&mut self, program: &Arc<Program>) {
        if let Some(change) = &mut self.change {
            change.program = Some(Program::clone(program));
        }
    }
}

/// A program that does nothing, if these rows of the catalog have these versions.
pub(super) fn relying_program(relies_on: &CatalogVersions) -> Arc<Program> {
    Arc::new(Program {
        parameters: Vec::new(),
        actions: Vec::new(),
        columns: Vec::new(),
        relies_on: relies_on.clone(),
        read_only: true,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    })
}

/// A reply that does not answer what was asked: a broken server of our own, told to the client rather than hidden.
fn unexpected(step: &Step, reply: &SessionReply) -> Box<SqlError> {
    SqlError::new(sqlstate::INTERNAL_ERROR, format!("unexpected reply {reply:?} while waiting for {step:?}"))
}
