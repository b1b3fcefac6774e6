//! How statements, cycles and transactions end.
//!
//! Invariant: success is told after the commit that it speaks of; each cycle ends with exactly one ReadyForQuery.

use crate::errors::{SqlError, sqlstate};
use crate::limits::{CATALOG_PATIENCE, FAREWELL_PATIENCE};
use crate::protocol::backend::{self, Severity};
use crate::protocol::copy;
use crate::session::catalog::shows;
use crate::session::state::{Block, Cycle, Execution, Phase, Settling, Sink, Step, Work};
use crate::session::turn::Turn;
use crate::sql::prepared::Tag;
use messages::limits::MILLISECOND;
use messages::query::QueryRequest;
use messages::session::{Failure, SessionReply, SessionRequest};

impl Turn<'_> {
    /// Runs what can run: the next statements of a simple query while nothing is under way.
    pub fn pump(&mut self) {
        while matches!(self.session.work, Work::Idle)
            && matches!(self.session.cycle, Cycle::Simple(..))
            && !self.session.locks.holds_client()
        {
            self.next_simple();
        }
    }

    /// A statement has done all it had to do.
    pub fn complete(&mut self, mut execution: Box<Execution>) {
        if self.session.routines.is_on() {
            return self.asked_is_done(Some(execution));
        }
        self.session.work = Work::Idle;
        self.announce(&mut execution);
        let prepared = &execution.prepared;
        let tag = match &execution.sink {
            Sink::Copy(options, _) => {
                let mut trailer = Vec::new();
                copy::write_trailer(options, &mut trailer);
                if !trailer.is_empty() {
                    backend::copy_data(&mut self.session.output, &trailer);
                }
                backend::copy_done(&mut self.session.output);
                format!("COPY {}", execution.sent)
            }
            Sink::Rows if execution.copy.is_some() => format!("COPY {}", execution.affected),
            Sink::Rows if prepared.tag == Tag::Select => prepared.tag.text(execution.sent),
            Sink::Rows => prepared.tag.text(execution.affected),
        };
        self.finish_statement(tag);
    }

    /// Tells the client the tag, after the commit if this statement ends a transaction.
    pub fn finish_statement(&mut self, tag: String) {
        if self.session.routines.is_on() {
            return self.asked_is_done(None);
        }
        self.session.doubts = 0;
        if self.session.block == Block::None {
            self.end_settings(true);
            self.transaction_ended(true);
        }
        if self.session.block == Block::None && !self.session.overlay.is_empty() {
            return self.settle(Some(tag), false);
        }
        let last = matches!(&self.session.cycle, Cycle::Simple(_, statements) if statements.is_empty());
        if last && self.session.block == Block::Implicit && self.session.open {
            return self.end_cycle(Some(tag));
        }
        self.tell_done(&tag);
    }

    /// A statement has ended well: tells the client.
    fn tell_done(&mut self, tag: &str) {
        self.statement_ended();
        backend::command_complete(&mut self.session.output, tag);
    }

    /// Something failed: tells the client, and passes over what depends on it.
    pub fn fail(&mut self, error: &SqlError) {
        if self.session.phase == Phase::Startup {
            return self.fatal(error);
        }
        if self.session.routines.is_on() {
            return self.asked_has_failed(error);
        }
        let placed = self.as_sent(error);
        backend::error(&mut self.session.output, Severity::Error, placed.as_deref().unwrap_or(error));
        self.session.is_due = true;
        self.statement_erred(error);
        if is_querying(&std::mem::replace(&mut self.session.work, Work::Idle)) {
            self.query(QueryRequest::Stop);
        }
        self.statement_failed_with_locks();
        match self.session.block {
            Block::Open => self.session.block = Block::Failed,
            Block::Implicit => self.session.implicit_failed = true,
            Block::None => self.end_settings(false),
            Block::Failed => {}
        }
        match &mut self.session.cycle {
            Cycle::Simple(_, statements) => statements.clear(),
            Cycle::Extended => self.session.skip_to_sync = true,
            Cycle::Idle => {}
        }
    }

    /// Ends the session because its client cannot be understood.
    pub fn fatal(&mut self, error: &SqlError) {
        self.note_refusal(error);
        backend::error(&mut self.session.output, Severity::Fatal, error);
        self.leave();
    }

    /// Ends the session: nothing more is read, its transaction is rolled back.
    pub fn leave(&mut self) {
        self.note_leaving();
        self.give_back_connection();
        // A login may have asked something, too.
        let has_asked = self.session.phase == Phase::Startup && self.session.asked > 0;
        if self.session.phase == Phase::Ready || has_asked {
            if self.session.query_portal.take().is_some() || is_querying(&self.session.work) {
                self.query(QueryRequest::Stop);
            }
            self.ask(SessionRequest::Close);
            let owner = self.temporary_owner();
            if let Some(owner) = self.session.take_temporary(owner) {
                self.ask(SessionRequest::ForsakeTemporary { owner });
            }
        }
        self.transaction_left();
        self.forget_routines();
        self.session.phase = Phase::Finished;
        self.session.deadline = Some(self.now.boot + FAREWELL_PATIENCE);
        self.session.work = Work::Idle;
        self.session.cycle = Cycle::Idle;
        self.session.open = false;
        self.session.listening = Default::default();
        self.leave_locks();
    }

    /// Ends the cycle: the implicit transaction, if there is one, then ReadyForQuery. `tag` waits for the commit.
    pub fn end_cycle(&mut self, tag: Option<String>) {
        self.tell_lost();
        if self.session.block == Block::Implicit && self.session.open {
            self.stop_query();
            return self.end_implicit(tag);
        }
        if let Some(tag) = tag {
            self.tell_done(&tag);
        }
        if matches!(self.session.block, Block::None | Block::Implicit) {
            self.end_block(!self.session.implicit_failed);
        }
        self.ready();
    }

    /// Commits the implicit transaction, or rolls it back; before a commit, what that does to temporary tables is done.
    fn end_implicit(&mut self, tag: Option<String>) {
        let planned = if self.session.implicit_failed { Ok(None) } else { self.plan_at_commit() };
        let change = planned.unwrap_or_else(|error| {
            backend::error(&mut self.session.output, Severity::Error, &error);
            self.session.implicit_failed = true;
            None
        });
        let commits = !self.session.implicit_failed;
        self.session.work = Work::Ending(tag.filter(|_| commits), commits);
        match change {
            Some(change) => self.act_at_end(change),
            None if commits => self.ask(SessionRequest::Commit),
            None => self.ask(SessionRequest::Rollback),
        }
    }

    fn ready(&mut self) {
        self.forget_routines();
        self.session.cycle = Cycle::Idle;
        self.session.work = Work::Idle;
        self.session.deadline = self.idle_deadline();
        if self.session.block == Block::None {
            self.tell_notifications();
            if self.session.phase == Phase::Finished {
                return;
            }
        }
        let status = self.session.status();
        backend::ready_for_query(&mut self.session.output, status);
        self.session.is_due = true;
    }

    /// How long the client may now say nothing.
    fn idle_deadline(&self) -> Option<u64> {
        let settings = &self.session.settings.now;
        let timeout = match self.session.block {
            Block::Open | Block::Failed => settings.milliseconds("idle_in_transaction_session_timeout"),
            Block::None | Block::Implicit => settings.milliseconds("idle_session_timeout"),
        };
        (timeout > 0).then(|| self.now.boot.saturating_add(timeout * MILLISECOND))
    }

    /// The client has said nothing for longer than it may.
    pub fn idle_too_long(&mut self) {
        let (code, what) = match self.session.block {
            Block::Open | Block::Failed => (sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, "idle-in-transaction"),
            Block::None | Block::Implicit => (sqlstate::IDLE_SESSION_TIMEOUT, "idle-session"),
        };
        self.fatal(&SqlError::new(code, format!("terminating connection due to {what} timeout")));
    }

    /// The session's database was dropped.
    pub fn lose_database(&mut self) {
        let message = "terminating connection because its database was dropped";
        self.fatal(&SqlError::new(sqlstate::DATABASE_DROPPED, message));
    }

    /// The site ends. What was under way may have committed, or may not.
    pub fn shut_down(&mut self) {
        let message = "terminating connection due to administrator command";
        let error = match (&self.session.work, &self.session.cycle) {
            (Work::Idle, Cycle::Idle) => SqlError::new(sqlstate::ADMIN_SHUTDOWN, message),
            _ => SqlError::new(sqlstate::OUTCOME_UNKNOWN, message)
                .with_detail("Whether the transaction under way has committed is not known."),
        };
        self.fatal(&error);
    }

    /// The action driver's reply to the end of an implicit transaction.
    pub fn ending_replied(&mut self, tag: Option<String>, commits: bool, reply: SessionReply) {
        let before = self.session.at_commit.take();
        let was_before = before.is_some();
        if let (Some(change), SessionReply::Executed { .. }) = (before, &reply) {
            self.session.overlay.add(change);
            self.session.work = Work::Ending(tag, true);
            return self.ask(SessionRequest::Commit);
        }
        self.session.open = false;
        self.session.work = Work::Idle;
        if let SessionReply::Failed(failure) = reply {
            self.note_failure(&failure);
            if was_before && !matches!(failure, Failure::Conflict { .. }) {
                // The transaction is still there.
                let error = SqlError::of_failure(failure, self.committed());
                self.statement_erred(&error);
                backend::error(&mut self.session.output, Severity::Error, &error);
                self.session.open = true;
                self.session.implicit_failed = true;
                return self.end_implicit(None);
            }
            if matches!(failure, Failure::Conflict { .. }) && self.commit_lost() {
                return;
            }
            let error = SqlError::of_failure(failure, self.committed());
            self.statement_erred(&error);
            backend::error(&mut self.session.output, Severity::Error, &error);
            return self.end_cycle_without_transaction();
        }
        self.end_block(commits);
        if self.session.overlay.is_empty() {
            if let Some(tag) = tag {
                self.tell_done(&tag);
            }
            self.ready();
        } else {
            self.settle(tag, true);
        }
    }

    /// The implicit transaction has not committed, and its client has been told.
    pub fn end_cycle_without_transaction(&mut self) {
        self.end_block(false);
        self.ready();
    }

    /// A transaction is over: what belonged to it goes. The schema changes of a committed one stay until they have been settled.
    pub fn end_block(&mut self, committed: bool) {
        self.transaction_ended(committed);
        let session = &mut self.session;
        session.block = Block::None;
        session.open = false;
        session.lost = false;
        session.implicit_failed = false;
        session.wrote_temporary = false;
        session.savepoints.clear();
        session.listening.end_block(committed);
        session.end_cursors(committed);
        if !committed {
            session.overlay = Default::default();
        }
        self.end_settings(committed);
        self.forget_portals();
        let gone = self.session.locks.held.end_transaction();
        self.locks_are_gone(gone);
    }

    /// A transaction is over, which may have been one statement: parameters are what they were, or what it has made them.
    fn end_settings(&mut self, committed: bool) {
        let settings = &mut self.session.settings;
        if settings.after_commit.is_none() && settings.after_rollback.is_none() {
            return;
        }
        let (after_commit, after_rollback) = (settings.after_commit.take(), settings.after_rollback.take());
        if let Some(kept) = if committed { after_commit } else { after_rollback } {
            let before = std::mem::replace(&mut settings.now, kept);
            settings.now.keep_names(&before);
            self.report_changes(&before);
        }
    }

    /// A schema change has committed: waits until the catalog shows it, so that the client's next statement does.
    pub fn settle(&mut self, tag: Option<String>, ends_cycle: bool) {
        let rows = self.session.overlay.take_rows();
        let deadline = self.now.boot.saturating_add(CATALOG_PATIENCE);
        let settling = Settling { rows, deadline, tag, ends_cycle };
        self.session.work = Work::Settling(Box::new(settling));
        self.settled();
    }

    /// Goes on if the catalog shows what is waited for, or the wait has been long enough.
    pub fn settled(&mut self) {
        let catalog = self.committed().clone();
        let Work::Settling(settling) = &mut self.session.work else {
            return;
        };
        if !shows(&catalog, &settling.rows) && self.now.boot < settling.deadline {
            return;
        }
        let (tag, ends_cycle) = (settling.tag.take(), settling.ends_cycle);
        self.session.work = Work::Idle;
        if let Some(tag) = tag {
            self.tell_done(&tag);
        }
        if ends_cycle {
            self.ready();
        }
    }
}

/// Whether the query processor holds a query for what is under way.
pub fn is_querying(work: &Work) -> bool {
    match work {
        Work::Statement(execution) => matches!(
            execution.step,
            Step::Rows | Step::Room | Step::Source | Step::Batch | Step::PartRows | Step::Explain | Step::Describe
        ),
        Work::Parsing(..) => true,
        _ => false,
    }
}
