//! A session's advisory locks: the calls of a statement one after the other, and what the session's transactions, its end and its site's end mean for them.
//!
//! Invariants: what a client is told of the end of a transaction comes after the transaction's locks were given back, unless the site cannot do that for the moment; a session that
//! has a lock ends with the life of its site, before anything else that its client asks is done, for in the next life others may have it.

use crate::errors::{SqlError, sqlstate};
use crate::locks::errands::{LeavingLocks, LockNews, LockPatience, LockScene, SessionLocks};
use crate::locks::held::{GivenBack, HeldLock, LockScope, TableLock};
use crate::session::new_life::only_reads;
use crate::session::state::{Block, Execution, Step, Work};
use crate::session::turn::Turn;
use crate::sql::advisory_calls::LockFunction;
use crate::sql::prepared::Plan;
use messages::limits::MILLISECOND;
use messages::session::SessionReply;
use values::Value;

impl Turn<'_> {
    fn with_locks<T>(&mut self, act: impl FnOnce(&mut SessionLocks, &mut LockScene) -> T) -> T {
        let Turn { shared, session, now, outbox } = self;
        let mut scene = shared.lock_scene(session.id, session.process, *now, outbox);
        act(&mut session.locks, &mut scene)
    }

    /// A program has computed the arguments of calls, in columns that return something else.
    pub fn call_locks(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>) {
        (execution.asleep, execution.calls_done) = (rows, 0);
        self.go_on_calling(execution);
    }

    fn go_on_calling(&mut self, mut execution: Box<Execution>) {
        let calls = execution.prepared.locks.clone();
        while let Some(call) = calls.get(execution.calls_done) {
            let row = execution.asleep.first().map_or(&[][..], Vec::as_slice);
            let result = match (call.function, call.key(row).map(|key| key.within(self.session.database_id))) {
                (LockFunction::GiveBackAll, _) => {
                    self.give_back_all_locks();
                    Value::text("")
                }
                (_, None) => Value::Null,
                (LockFunction::GiveBack(mode), Some(key)) => {
                    Value::Boolean(self.give_back_lock(HeldLock { key, mode }))
                }
                (LockFunction::Take { mode, scope, waits }, Some(key)) => {
                    let lock = HeldLock { key, mode };
                    if !self.session.locks.held.has(lock) {
                        execution.step = Step::Lock;
                        self.session.work = Work::Statement(execution);
                        return self.want_lock(lock, scope, waits);
                    }
                    self.session.locks.held.note(lock, scope);
                    taken(waits)
                }
            };
            execution.note_called(result);
        }
        let columns = execution.prepared.columns.len();
        let columns = execution.prepared.cursor.as_ref().map_or(columns, |(_, kept)| kept.len());
        let mut rows = std::mem::take(&mut execution.asleep);
        rows.iter_mut().for_each(|row| row.truncate(columns));
        self.program_returned(execution, rows);
    }

    /// Takes the locks of tables that a statement has not taken yet, one after the other, and then runs its program.
    pub fn lock_tables(&mut self, mut execution: Box<Execution>) {
        let locks = execution.prepared.table_locks.clone();
        while let Some(TableLock { lock, waits, .. }) = locks.get(execution.calls_done) {
            if !self.session.locks.held.has(*lock) {
                execution.step = Step::Lock;
                self.session.work = Work::Statement(execution);
                return self.want_lock(*lock, LockScope::Transaction, *waits);
            }
            self.session.locks.held.note(*lock, LockScope::Transaction);
            execution.calls_done += 1;
        }
        let Plan::Program(program) = &execution.prepared.plan else { unreachable!("it has a program") };
        let program = program.clone();
        self.execute_program(&mut execution, program, Vec::new(), Step::Program);
        self.session.work = Work::Statement(execution);
    }

    fn want_lock(&mut self, lock: HeldLock, scope: LockScope, waits: bool) {
        if self.session.locks.held.is_full() {
            return self.fail(&out_of_room());
        }
        let timeout = self.session.settings.now.milliseconds("lock_timeout");
        let patience = match timeout {
            _ if !waits => LockPatience::None,
            0 => LockPatience::Endless,
            _ => LockPatience::Until(self.now.boot.saturating_add(timeout.saturating_mul(MILLISECOND))),
        };
        self.with_locks(|locks, scene| locks.want(lock, scope, patience, scene));
    }

    fn give_back_lock(&mut self, lock: HeldLock) -> bool {
        match self.session.locks.held.give_back(lock) {
            GivenBack::NotHeld => {
                let message = format!("you don't own a lock of type {}", lock.mode.name());
                self.warn(sqlstate::WARNING, &message);
                return false;
            }
            GivenBack::StillHeld => {}
            GivenBack::Gone => self.with_locks(|locks, scene| locks.give_back(vec![lock], scene)),
        }
        true
    }

    /// `pg_advisory_unlock_all`, DISCARD ALL.
    pub fn give_back_all_locks(&mut self) {
        let gone = self.session.locks.held.give_back_all();
        self.with_locks(|locks, scene| locks.give_back(gone, scene));
    }

    /// The session's transaction is over, or goes back to a savepoint, or a statement of it has failed.
    pub fn locks_are_gone(&mut self, gone: Vec<HeldLock>) {
        self.with_locks(|locks, scene| locks.give_back(gone, scene));
    }

    /// A statement has failed in a block.
    pub fn statement_failed_with_locks(&mut self) {
        if self.session.block == Block::Open {
            let gone = self.session.locks.held.fail();
            self.locks_are_gone(gone);
        }
    }

    /// What waits for a lock wants it no more.
    pub fn give_up_lock(&mut self) {
        self.with_locks(SessionLocks::give_up);
    }

    /// The action driver has answered the session's deputy.
    pub fn locks_replied(&mut self, reply: SessionReply) {
        let news = self.with_locks(|locks, scene| locks.replied(reply, scene));
        self.lock_news(news);
    }

    /// Time has passed.
    pub fn locks_are_due(&mut self) {
        let news = self.with_locks(SessionLocks::tick);
        self.lock_news(news);
    }

    /// Somebody has given back what the session waits for, or an epoch has begun.
    pub fn wake_locks(&mut self) {
        self.with_locks(SessionLocks::wake);
    }

    fn lock_news(&mut self, news: Option<LockNews>) {
        let Some(news) = news else { return };
        let execution = match std::mem::replace(&mut self.session.work, Work::Idle) {
            Work::Statement(execution) if execution.step == Step::Lock => execution,
            other => {
                self.session.work = other;
                return;
            }
        };
        let table = execution.prepared.table_locks.get(execution.calls_done).cloned();
        let waits = match execution.prepared.locks.get(execution.calls_done).map(|call| call.function) {
            Some(LockFunction::Take { waits, .. }) => waits,
            None if table.is_some() => true,
            _ => unreachable!("only who takes a lock waits for one"),
        };
        let error = match (news, table) {
            (LockNews::Held, None) => return self.called(execution, taken(waits)),
            (LockNews::Refused, None) => return self.called(execution, Value::Boolean(false)),
            (LockNews::Held, Some(_)) => {
                let mut execution = execution;
                execution.calls_done += 1;
                return self.lock_tables(execution);
            }
            (LockNews::Refused, Some(table)) => {
                let message = format!("could not obtain lock on relation \"{}\"", table.name);
                SqlError::new(sqlstate::LOCK_NOT_AVAILABLE, message)
            }
            (LockNews::Deadlock(circle), _) => deadlock(circle.as_deref()),
            (LockNews::Full, _) => out_of_room(),
            (LockNews::TimedOut, _) => {
                SqlError::new(sqlstate::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
            }
            (LockNews::Failed(failure), _) => SqlError::of_failure(failure, self.committed()),
        };
        self.session.work = Work::Statement(execution);
        self.fail(&error);
    }

    fn called(&mut self, mut execution: Box<Execution>, result: Value) {
        execution.note_called(result);
        self.go_on_calling(execution);
    }

    /// The session ends. What it has is given back behind it.
    pub fn leave_locks(&mut self) {
        let mut locks = std::mem::take(&mut self.session.locks);
        let (id, process) = (self.session.id, self.session.process);
        let mut scene = self.shared.lock_scene(id, process, self.now, self.outbox);
        locks.leave(&mut scene);
        match locks.is_over() {
            true => locks.dismiss(&mut scene),
            false => drop(self.shared.leaving.insert(id, LeavingLocks { locks, process })),
        }
    }

    /// The site begins a new life, in which the session has no lock. Whether the session has ended for that.
    pub fn lose_locks(&mut self) -> bool {
        let locks = std::mem::take(&mut self.session.locks);
        if locks.held.is_empty() {
            return false;
        }
        let error = match &self.session.work {
            Work::Ending(_, true) | Work::Parked(_) => lost_in_commit(),
            Work::Statement(execution) if execution.step == Step::Commit => lost_in_commit(),
            Work::Statement(execution)
                if execution.step == Step::Program && !self.session.open && !only_reads(execution) =>
            {
                lost_in_commit()
            }
            _ => SqlError::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection because advisory locks are lost")
                .with_detail("The site lost its place among the sites and began a new life: others may hold them."),
        };
        self.fatal(&error);
        true
    }
}

impl Execution {
    /// What the call at hand returns.
    fn note_called(&mut self, result: Value) {
        let place = self.prepared.locks[self.calls_done].place;
        if let Some(value) = self.asleep.first_mut().and_then(|row| row.get_mut(place)) {
            *value = result;
        }
        self.calls_done += 1;
    }
}

/// What taking a lock returns.
fn taken(waits: bool) -> Value {
    if waits { Value::text("") } else { Value::Boolean(true) }
}

/// 40P01.
fn deadlock(circle: Option<&str>) -> Box<SqlError> {
    let error = SqlError::new(sqlstate::DEADLOCK, "deadlock detected");
    match circle {
        Some(circle) => error.with_detail(circle),
        None => error.with_detail("Two sessions have the same lock, and each waits until the other gives it back."),
    }
}

/// 53200.
fn out_of_room() -> Box<SqlError> {
    SqlError::new(sqlstate::OUT_OF_MEMORY, "out of shared memory").with_hint("There are too many advisory locks.")
}

/// 08007.
fn lost_in_commit() -> Box<SqlError> {
    SqlError::new(sqlstate::OUTCOME_UNKNOWN, "terminating connection because advisory locks are lost")
        .with_detail("The site began a new life. Whether the transaction under way has committed is not known.")
}
