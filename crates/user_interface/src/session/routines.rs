//! Routines in PL/pgSQL under way: what they ask for is done as a statement of the session, and what comes of it goes back to them.
//!
//! A statement is one (DO, CALL), or its query calls one and waits.
//!
//! Invariants: a routine runs within a transaction, its own or the client's; while one is under way, each statement that completes or fails is the one that it
//! has asked for; its client is told nothing but notices before it is over.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{
    KEPT_BYTES_MAX, KEPT_ROWS_MAX, OUTPUT_BYTES_HIGH, ROUTINE_STEPS_AT_ONCE, ROUTINE_TRIES_MAX, ROUTINES_MAX,
};
use crate::protocol::backend::Severity;
use crate::session::ending::is_querying;
use crate::session::execution::relying_program;
use crate::session::firing::{FiringEffect, FiringRun};
use crate::session::kept::bytes_of;
use crate::session::queries::cancelled;
use crate::session::routine_runs::{RoutineCaller, RoutineRun, RoutineStage, Routines, RunningMachine};
use crate::session::state::{Again, Block, Confirmed, Cycle, Execution, Step, TextLanguage, Work};
use crate::session::turn::Turn;
use crate::sql::lookup::NameLookup;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::routine_call::RoutineCall;
use crate::sql::routines::SessionNames;
use crate::sql::search_trigger;
use crate::sql::statement_form::StatementForm;
use crate::sql::transition_tables::TransitionTables;
use crate::sql::utility::Utility;
use messages::query::QueryRequest;
use messages::session::SessionRequest;
use plpgsql::machine::{AnswerKind, RoutineStatement};
use plpgsql::triggers::TriggerCall;
use plpgsql::{Effect, EffectOutcome, NoticeLevel, RoutineError, RoutineMachine, StatementAnswer};
use std::sync::Arc;
use values::Value;

impl Turn<'_> {
    /// Begins the routine that a statement is.
    pub(super) fn begin_routine(&mut self, execution: Box<Execution>) -> Result<()> {
        let Plan::Routine(call) = &execution.prepared.plan else { unreachable!("only a routine begins so") };
        let call = Arc::clone(call);
        self.check_depth()?;
        let statement = call.arguments.as_ref().map(|sql| {
            Arc::new(RoutineStatement {
                sql: Arc::clone(sql),
                parameters: execution.parameters.clone(),
                types: execution.prepared.parameters.iter().map(|known| Some(*known)).collect(),
                rows_max: 1,
            })
        });
        self.push_run(execution, RoutineCaller::Statement, Some(call), None).statement = statement.clone();
        match statement {
            Some(_) => self.run_asked(),
            None => self.routine_goes_on(EffectOutcome::Answer(StatementAnswer::default())),
        }
        Ok(())
    }

    /// Begins a statement that fires triggers.
    pub(super) fn begin_firing(&mut self, execution: Box<Execution>) -> Result<()> {
        let Plan::Firing(statement) = &execution.prepared.plan else { unreachable!("only such a statement begins so") };
        self.check_depth()?;
        let types = execution.prepared.parameters.iter().map(|known| Some(*known)).collect();
        let firing = FiringRun::new(Arc::clone(statement), execution.parameters.clone(), types);
        self.push_run(execution, RoutineCaller::Statement, None, Some(RunningMachine::Firing(firing)));
        self.routine_goes_on(EffectOutcome::Done);
        Ok(())
    }

    /// Errors: 54001 for too many within each other.
    pub(super) fn check_depth(&self) -> Result<()> {
        match self.session.routines.runs.len() >= ROUTINES_MAX {
            true => Err(SqlError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")),
            false => Ok(()),
        }
    }

    /// The run begins to be the innermost one.
    pub(super) fn push_run(
        &mut self,
        outer: Box<Execution>,
        caller: RoutineCaller,
        call: Option<Arc<RoutineCall>>,
        machine: Option<RunningMachine>,
    ) -> &mut RoutineRun<Box<Execution>> {
        let runs = &mut self.session.routines.runs;
        let place = runs.len();
        runs.push(RoutineRun {
            outer,
            caller,
            transitions: None,
            only_reads: false,
            call,
            machine,
            statement: None,
            rows: Vec::new(),
            bytes: 0,
            is_beyond: false,
            stage: RoutineStage::Statement,
        });
        &mut runs[place]
    }

    /// The function of a trigger begins.
    fn trigger_begins(&mut self, function: &str, call: TriggerCall, transitions: Option<TransitionTables>) {
        if let Some(answer) = search_trigger::answer(function, &call) {
            self.session.routines.next = Some(match answer {
                Ok(answer) => EffectOutcome::Answer(answer),
                Err(error) => EffectOutcome::Failed(error.into_routine(!self.session.open)),
            });
            return;
        }
        let begun = self.check_depth().and_then(|()| self.trigger_machine(function, call));
        match begun {
            Ok((machine, only_reads)) => {
                let plan = Plan::Program(relying_program(&Arc::default()));
                let nothing = Execution::new(Arc::new(Prepared::simple(&Arc::from(""), plan, Tag::Plain(""))));
                let machine = RunningMachine::Routine(machine);
                let run = self.push_run(nothing, RoutineCaller::Trigger, None, Some(machine));
                (run.only_reads, run.transitions) = (only_reads, transitions);
                self.session.routines.next = Some(EffectOutcome::Done);
            }
            Err(error) => {
                self.session.routines.next = Some(EffectOutcome::Failed(error.into_routine(!self.session.open)));
            }
        }
    }

    /// Goes on with what came of the last thing that the innermost routine has asked for.
    pub(super) fn routine_goes_on(&mut self, outcome: EffectOutcome) {
        self.session.routines.next = Some(outcome);
        if std::mem::replace(&mut self.session.routines.is_driving, true) {
            return;
        }
        let mut steps = 0;
        while let Some(outcome) = self.session.routines.next.take() {
            steps += 1;
            if steps > ROUTINE_STEPS_AT_ONCE {
                self.pause_routine(outcome);
                break;
            }
            self.routine_step(outcome);
        }
        self.session.routines.is_driving = false;
    }

    fn routine_step(&mut self, outcome: EffectOutcome) {
        let outcome = match self.session.cancelled.take() {
            Some(reason) => EffectOutcome::Failed(cancelled(reason).into_routine(!self.session.open)),
            None => outcome,
        };
        let Some(mut run) = self.session.routines.runs.pop() else { return };
        let catalog = self.catalog();
        let writes = self.session.routines.writes;
        let effect = self.with_facts(|facts| {
            let names = SessionNames { lookup: NameLookup::new(&catalog, facts), zone: facts.settings.zone() };
            let done = match (&mut run.machine, outcome) {
                (Some(RunningMachine::Firing(firing)), outcome) => return firing.go_on(outcome, writes, names.zone),
                (Some(RunningMachine::Routine(machine)), outcome) => machine.go_on(outcome, &names),
                (None, EffectOutcome::Failed(error)) => Effect::Failed(error),
                (None, EffectOutcome::Done) => {
                    Effect::Failed(RoutineError::new(sqlstate::INTERNAL_ERROR, "no arguments"))
                }
                (None, EffectOutcome::Answer(answer)) => {
                    let Some(call) = &run.call else { unreachable!("what has no machine yet was called") };
                    let types = answer.columns.iter().map(|(_, data_type)| *data_type);
                    let arguments = answer.rows.into_iter().next().unwrap_or_default().into_iter().zip(types).collect();
                    let (program, outputs) = (Arc::clone(&call.program), call.outputs.clone());
                    match RoutineMachine::new(program, call.name.clone(), arguments, outputs, &names) {
                        Ok(mut machine) => {
                            let effect = machine.go_on(EffectOutcome::Done, &names);
                            run.machine = Some(RunningMachine::Routine(machine));
                            effect
                        }
                        Err(error) => Effect::Failed(error),
                    }
                }
            };
            FiringEffect::Effect(done)
        });
        self.session.routines.runs.push(run);
        let effect = match effect {
            FiringEffect::Effect(effect) => effect,
            FiringEffect::Hungry => return self.rows_wanted(),
            FiringEffect::Fire(function, call, tables) => return self.trigger_begins(&function, *call, tables),
        };
        match effect {
            Effect::Run(statement) => {
                self.innermost().statement = Some(Arc::new(statement));
                self.run_asked();
            }
            Effect::Savepoint => {
                let name = format!("\u{1f}{}", self.session.savepoints.len());
                self.mark(Utility::Savepoint(name.clone()), SessionRequest::Savepoint { name });
            }
            Effect::Release => {
                let name = self.newest_savepoint();
                self.mark(Utility::Release(name.clone()), SessionRequest::Release { name });
            }
            Effect::RollBack => {
                let name = self.newest_savepoint();
                self.mark(Utility::RollbackTo(name.clone()), SessionRequest::RollbackTo { name: name.clone() });
                self.innermost().stage = RoutineStage::Returning(name);
            }
            Effect::Notice(level, notice) => {
                self.routine_notice(level, *notice);
                self.session.routines.next = Some(EffectOutcome::Done);
            }
            Effect::Pause => self.pause_routine(EffectOutcome::Done),
            Effect::Done(rows) => self.routine_over(rows),
            Effect::Failed(error) => self.routine_failed(error),
        }
    }

    /// The client is to copy rows for the statement that waits for them.
    fn rows_wanted(&mut self) {
        let Some(RoutineRun { outer, machine: Some(RunningMachine::Firing(run)), .. }) =
            self.session.routines.runs.pop()
        else {
            return;
        };
        let mut outer = outer;
        if let Some(firing) = outer.copy.as_mut().and_then(|copy| copy.firing.as_mut()) {
            firing.run = Some(run);
        }
        if let Err(error) = self.copy_on(outer) {
            self.fail(&error);
        }
    }

    fn innermost(&mut self) -> &mut RoutineRun<Box<Execution>> {
        self.session.routines.runs.last_mut().expect("a routine is under way")
    }

    fn newest_savepoint(&self) -> String {
        self.session.savepoints.last().map(|(name, ..)| name.clone()).unwrap_or_default()
    }

    /// Sets, releases or returns to a savepoint of the routine's.
    fn mark(&mut self, utility: Utility, request: SessionRequest) {
        let plan = Plan::Utility(utility);
        let mut execution = Execution::new(Arc::new(Prepared::simple(&Arc::from(""), plan, Tag::Plain(""))));
        execution.step = Step::Savepoint;
        self.innermost().stage = RoutineStage::Statement;
        self.session.work = Work::Statement(execution);
        self.ask(request);
    }

    /// Lets others have their turn; the routine goes on with this.
    fn pause_routine(&mut self, outcome: EffectOutcome) {
        self.innermost().stage = RoutineStage::Pausing(Some(outcome));
        let plan = Plan::Program(relying_program(&Arc::default()));
        let execution = Execution::new(Arc::new(Prepared::simple(&Arc::from(""), plan, Tag::Plain(""))));
        if let Err(error) = self.enter(execution) {
            self.fail(&error);
        }
    }

    /// Runs the statement that the innermost routine has asked for.
    pub(super) fn run_asked(&mut self) {
        let run = self.innermost();
        (run.rows, run.bytes, run.is_beyond) = (Vec::new(), 0, false);
        run.stage = RoutineStage::Statement;
        let Some(statement) = run.statement.clone() else { return };
        let Err(error) = self.start_asked(&statement) else { return };
        let language = self.asked_in();
        let parsed = self.read_one(&statement.sql, language).ok().flatten();
        let mut mentioned = parsed.map_or_else(Vec::new, |parsed| self.mentioned(&parsed.statement));
        mentioned.extend(self.own_rights());
        let relied = self.relied(mentioned);
        self.doubt(Confirmed::Error(error), relied, Again::Routine);
    }

    /// What is special about the statements that the innermost run asks for.
    fn asked_in(&mut self) -> TextLanguage {
        match self.innermost().machine {
            Some(RunningMachine::Firing(_)) => TextLanguage::Sql { form: StatementForm::RowChange },
            _ => TextLanguage::PLAIN,
        }
    }

    fn start_asked(&mut self, statement: &RoutineStatement) -> Result<()> {
        let language = self.asked_in();
        let read = self.innermost().transitions.as_ref().map(|tables| tables.read_by(statement));
        let read = read.transpose()?.flatten();
        let statement = read.as_ref().unwrap_or(statement);
        let Some(prepared) = self.prepare(&statement.sql, language, statement.types.clone())? else {
            self.routine_goes_on(EffectOutcome::Answer(StatementAnswer::default()));
            return Ok(());
        };
        check_within(&prepared)?;
        if prepared.writes && self.innermost().only_reads {
            let message = format!("{} is not allowed in a non-volatile function", prepared.tag.command());
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if prepared.writes && language == TextLanguage::PLAIN {
            self.session.routines.writes += 1;
        }
        let mut execution = Execution::new(prepared);
        execution.parameters = statement.parameters.clone();
        if let Plan::Utility(_) = &execution.prepared.plan {
            return self.control(execution);
        }
        self.check_plan(&execution.prepared)?;
        self.enter(execution)
    }

    /// Keeps rows of the statement that the innermost routine has asked for.
    pub(super) fn collect_rows(&mut self, rows: Vec<Vec<Value>>) {
        let run = self.innermost();
        let wanted = run.statement.as_ref().map_or(0, |statement| statement.rows_max);
        let rows: Vec<_> = rows.into_iter().take(wanted.saturating_sub(run.rows.len())).collect();
        run.bytes += bytes_of(&rows);
        run.is_beyond |= run.rows.len() + rows.len() > KEPT_ROWS_MAX || run.bytes > KEPT_BYTES_MAX;
        if !run.is_beyond {
            run.rows.extend(rows);
        }
    }

    /// A statement that the innermost routine has asked for is done; `None`: it has told no rows.
    pub(super) fn asked_is_done(&mut self, execution: Option<Box<Execution>>) {
        self.session.work = Work::Idle;
        self.session.doubts = 0;
        let run = self.innermost();
        match std::mem::replace(&mut run.stage, RoutineStage::Statement) {
            RoutineStage::Statement => {}
            RoutineStage::Returning(name) => {
                return self.mark(Utility::Release(name.clone()), SessionRequest::Release { name });
            }
            RoutineStage::Pausing(outcome) => {
                if self.session.output.len() > OUTPUT_BYTES_HIGH
                    && let Some(mut execution) = execution
                {
                    self.innermost().stage = RoutineStage::Pausing(outcome);
                    execution.step = Step::Room;
                    self.session.work = Work::Statement(execution);
                    return;
                }
                return self.routine_goes_on(outcome.unwrap_or(EffectOutcome::Done));
            }
        }
        if run.is_beyond {
            let mebibytes = KEPT_BYTES_MAX >> 20;
            let message =
                format!("a query in a routine may find at most {KEPT_ROWS_MAX} rows, and {mebibytes} MiB of them");
            return self.fail(&SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let rows = std::mem::take(&mut run.rows);
        let answer = execution.map_or_else(StatementAnswer::default, |execution| {
            let prepared = &execution.prepared;
            let kind = match prepared.tag {
                Tag::Select => AnswerKind::Query,
                Tag::Insert | Tag::Update | Tag::Delete | Tag::Counted("MERGE") => AnswerKind::Change,
                _ => AnswerKind::Other,
            };
            let count = if kind == AnswerKind::Query { execution.sent } else { execution.affected };
            let columns = prepared.columns.iter().map(|column| (column.name.clone(), column.column_type)).collect();
            StatementAnswer { columns, rows, count, kind }
        });
        self.routine_goes_on(EffectOutcome::Answer(answer));
    }

    /// A routine that has waited for its client to take notices goes on. Whether it was one.
    pub(super) fn room_for_routine(&mut self) -> bool {
        let Some(run) = self.session.routines.runs.last_mut() else { return false };
        let RoutineStage::Pausing(outcome) = &mut run.stage else { return false };
        let outcome = outcome.take().unwrap_or(EffectOutcome::Done);
        self.session.work = Work::Idle;
        self.routine_goes_on(outcome);
        true
    }

    /// A statement that the innermost routine has asked for failed.
    pub(super) fn asked_has_failed(&mut self, error: &SqlError) {
        if is_querying(&std::mem::replace(&mut self.session.work, Work::Idle)) {
            self.query(QueryRequest::Stop);
        }
        self.session.cancelled = None;
        let error = Box::new(error.clone()).into_routine(!self.session.open);
        self.innermost().stage = RoutineStage::Statement;
        self.routine_goes_on(EffectOutcome::Failed(error));
    }

    fn routine_over(&mut self, rows: Vec<Vec<Value>>) {
        let Some(run) = self.session.routines.runs.pop() else { return };
        let mut outer = run.outer;
        match run.caller {
            RoutineCaller::Query => {
                self.session.work = Work::Statement(outer);
                return self.query(QueryRequest::Called { rows });
            }
            RoutineCaller::Trigger => {
                let answer = StatementAnswer { rows, ..StatementAnswer::default() };
                self.session.routines.next = Some(EffectOutcome::Answer(answer));
                return;
            }
            RoutineCaller::Statement => {}
        }
        if let Some(RunningMachine::Firing(firing)) = &run.machine {
            outer.affected = firing.count();
        }
        if !self.session.routines.is_on() {
            self.session.routines.again =
                self.may_try_again(&outer).filter(|()| outer.prepared.columns.is_empty()).map(|()| outer.anew());
        }
        if !outer.prepared.columns.is_empty() {
            self.send_rows(&mut outer, rows);
        }
        self.complete(outer);
    }

    fn routine_failed(&mut self, error: Box<RoutineError>) {
        let Some(run) = self.session.routines.runs.pop() else { return };
        match run.caller {
            RoutineCaller::Query => {
                // The query fails with it.
                self.session.work = Work::Statement(run.outer);
                return self.fail(&SqlError::from_routine(*error));
            }
            RoutineCaller::Trigger => {
                self.session.routines.next = Some(EffectOutcome::Failed(error));
                return;
            }
            RoutineCaller::Statement => {}
        }
        if self.session.routines.is_on() {
            self.session.routines.next = Some(EffectOutcome::Failed(error));
            return;
        }
        self.session.work = Work::Idle;
        let lost = error.is_final && error.sqlstate == sqlstate::SERIALIZATION_FAILURE;
        if lost && self.may_try_again(&run.outer).is_some() {
            return self.try_routine_again(run.outer.anew());
        }
        let error = SqlError::from_routine(*error);
        self.fail(&error);
    }

    /// Whether a routine may be run again in another transaction: it had its own, and nobody was told anything.
    fn may_try_again(&self, outer: &Execution) -> Option<()> {
        let session = &self.session;
        let is_alone = match &session.cycle {
            Cycle::Simple(_, statements) => statements.is_empty(),
            Cycle::Extended | Cycle::Idle => false,
        };
        let has_tries = session.routines.tries < ROUTINE_TRIES_MAX;
        (outer.copy.is_none()
            && outer.began
            && is_alone
            && session.block == Block::Implicit
            && !session.routines.told
            && has_tries)
            .then_some(())
    }

    fn try_routine_again(&mut self, execution: Box<Execution>) {
        let tries = self.session.routines.tries;
        self.end_block(false);
        self.session.routines.tries = tries + 1;
        self.session.work = Work::Idle;
        self.statement_begins(&execution.prepared.clone());
        if let Err(error) = self.enter(execution) {
            self.fail(&error);
        }
    }

    /// The commit of a routine's own transaction has lost a conflict: it runs again. False: it must not.
    pub(super) fn commit_lost(&mut self) -> bool {
        let Some(execution) = self.session.routines.again.take() else { return false };
        self.try_routine_again(execution);
        true
    }

    /// Nothing is left of routines under way.
    pub(super) fn forget_routines(&mut self) {
        let Routines { is_driving, known, .. } = std::mem::take(&mut self.session.routines);
        self.session.routines = Routines { is_driving, known, ..Routines::default() };
    }

    fn routine_notice(&mut self, level: NoticeLevel, notice: RoutineError) {
        let severity = match level {
            NoticeLevel::Debug => Severity::Debug,
            NoticeLevel::Log => Severity::Log,
            NoticeLevel::Info => Severity::Info,
            NoticeLevel::Warning => Severity::Warning,
            NoticeLevel::Notice | NoticeLevel::Exception => Severity::Notice,
        };
        let wanted = self.with_facts(|facts| facts.settings.show("client_min_messages", facts)).unwrap_or_default();
        let least = match wanted.as_str() {
            "log" => 1,
            "notice" => 3,
            "warning" => 4,
            "error" => 5,
            _ => 0,
        };
        let own = match level {
            NoticeLevel::Debug => 0,
            NoticeLevel::Log => 1,
            // It is told whatever the client wants.
            NoticeLevel::Info => 9,
            NoticeLevel::Notice | NoticeLevel::Exception => 3,
            NoticeLevel::Warning => 4,
        };
        if own >= least {
            self.session.routines.told = true;
            self.notice(severity, &SqlError::from_routine(notice));
        }
    }
}

impl Execution {
    /// The same statement, not begun.
    fn anew(&self) -> Box<Execution> {
        let mut anew = Execution::new(Arc::clone(&self.prepared));
        anew.parameters = self.parameters.clone();
        anew.formats = self.formats.clone();
        anew
    }
}

/// Errors: 0A000 for what a routine cannot run.
fn check_within(prepared: &Prepared) -> Result<()> {
    if prepared.cursor.is_some() {
        return Err(SqlError::unsupported("DECLARE CURSOR in PL/pgSQL"));
    }
    let refused = match &prepared.plan {
        Plan::Execute(..) => "EXECUTE of a prepared statement in PL/pgSQL",
        Plan::Routine(_) if !prepared.columns.is_empty() => "CALL with INOUT arguments in PL/pgSQL",
        Plan::Utility(utility) => match utility {
            Utility::Begin(_)
            | Utility::SetTransaction(..)
            | Utility::Commit(_)
            | Utility::Rollback(_)
            | Utility::Savepoint(_)
            | Utility::Release(_)
            | Utility::RollbackTo(_) => {
                let message = "unsupported transaction command in PL/pgSQL";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            Utility::Copy(_) => {
                let message = "cannot COPY to/from client in PL/pgSQL";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            Utility::Set(..)
            | Utility::Show(_)
            | Utility::ShowAll
            | Utility::Reset(_)
            | Utility::ResetAll
            | Utility::Role(_)
            | Utility::Nothing(_) => return Ok(()),
            _ => "this statement in PL/pgSQL",
        },
        _ => return Ok(()),
    };
    Err(SqlError::unsupported(refused))
}
