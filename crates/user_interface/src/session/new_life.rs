//! The site's servers have begun a new life, and the session goes on: what was under way is run again where the client has been told nothing of its
//! transaction, or has lost; a commit under way waits until it is known what became of it.
//!
//! Invariants: nothing is run again before it is certain that nothing of it is anywhere; a client that was told rows, counts or a savepoint of a
//! transaction that is gone hears of that before anything else that it asks succeeds.

use crate::counters::AbortCause;
use crate::errors::{Result, SqlError, sqlstate};
use crate::protocol::backend::{self, Severity};
use crate::session::queries::cancelled;
use crate::session::state::{Block, Execution, Parked, Step, Work};
use crate::session::turn::Turn;
use crate::sql::prepared::Plan;
use crate::sql::utility::Utility;
use messages::session::{CommitReceipt, SessionReply, SessionRequest};

/// The end of what has only read.
const COMMITTED: SessionReply = SessionReply::Committed { receipt: CommitReceipt::Nothing };

/// Nothing is left of the transaction, and the client was told of it.
fn gone() -> Box<SqlError> {
    SqlError::new(
        sqlstate::SERIALIZATION_FAILURE,
        "the transaction is gone: the site lost its place among the sites and began a new life",
    )
    .with_hint("Nothing of the transaction remains: run it again.")
}

impl Turn<'_> {
    /// What was asked of earlier lives will not be answered any more.
    pub fn new_life(&mut self) {
        let life = std::mem::replace(&mut self.session.life, self.shared.life);
        if life == self.session.life {
            return;
        }
        if self.lose_locks() {
            return;
        }
        self.session.listening.new_life();
        let asked = std::mem::take(&mut self.session.asked);
        let was_open = std::mem::replace(&mut self.session.open, false);
        self.session.stops = 0;
        // What was temporary belongs to the life that is over: others remove it.
        self.session.has_temporary = false;
        self.session.at_commit = None;
        self.session.query_portal = None;
        match std::mem::replace(&mut self.session.work, Work::Idle) {
            Work::Idle => self.session.lost |= was_open && self.session.block != Block::Failed,
            Work::Settling(settling) => {
                self.session.work = Work::Settling(settling);
                self.settled();
            }
            Work::Parsing(..) if was_open => self.fail(&gone()),
            Work::Parsing(name, prepared, told) => {
                self.describe(&prepared);
                self.session.work = Work::Parsing(name, prepared, told);
            }
            Work::Ending(tag, true) if self.session.only_reads => {
                self.ending_replied(tag, true, COMMITTED);
            }
            Work::Ending(tag, true) => self.park(Parked { life, asked, work: Work::Ending(tag, true) }),
            Work::Ending(tag, false) => self.ending_replied(tag, false, SessionReply::RolledBack),
            // Its life is long over, and this one may know.
            Work::Parked(parked) => self.park(*parked),
            // What it has read was true when it was told.
            Work::Statement(execution) if execution.step == Step::Commit && self.session.only_reads => {
                self.block_committed(execution);
            }
            // Nothing of it is open: what it returns was computed before.
            Work::Statement(execution) if matches!(execution.step, Step::Sleep(_)) && !was_open => {
                self.session.work = Work::Statement(execution);
            }
            Work::Statement(execution) => {
                let commits = match execution.step {
                    Step::Commit => true,
                    Step::Program => !was_open && !only_reads(&execution),
                    _ => false,
                };
                match commits {
                    true => self.park(Parked { life, asked, work: Work::Statement(execution) }),
                    false => self.undone(execution, was_open),
                }
            }
        }
        self.tell_idle_client();
    }

    fn park(&mut self, parked: Parked) {
        self.ask(SessionRequest::Resume { life: parked.life, asked: parked.asked });
        self.session.work = Work::Parked(Box::new(parked));
    }

    /// It is known what became of a commit, or that nobody knows.
    pub fn resumed(&mut self, parked: Parked, reply: SessionReply) {
        match (parked.work, reply) {
            (Work::Statement(execution), SessionReply::Undone) => self.undone(execution, false),
            (Work::Ending(..), SessionReply::Undone) => {
                self.note_cause(AbortCause::NewLife);
                backend::error(&mut self.session.output, Severity::Error, &gone());
                self.end_cycle_without_transaction();
            }
            (Work::Statement(execution), reply) => self.statement_replied(execution, reply),
            (Work::Ending(tag, commits), reply) => self.ending_replied(tag, commits, reply),
            (other, _) => unreachable!("only a commit is parked, not {other:?}"),
        }
    }

    /// Nothing of a statement is anywhere, nor of the transaction that it was to run in. `was_open`: it was not the first request of that.
    fn undone(&mut self, mut execution: Box<Execution>, was_open: bool) {
        match execution.step {
            Step::Rollback => return self.block_rolled_back(execution),
            Step::AtCommit | Step::Commit => {
                self.note_cause(AbortCause::NewLife);
                self.end_block(false);
                return self.fail(&gone());
            }
            _ => {}
        }
        if let Some(reason) = self.session.cancelled {
            return self.fail(&cancelled(reason));
        }
        let is_first = execution.began || !was_open;
        let sent = execution.sent > 0 || execution.was_suspended;
        let told = sent || execution.copy.is_some() || execution.announced && execution.portal.is_none();
        if !is_first || told {
            return self.fail(&gone());
        }
        execution.start_over();
        self.recompile(execution);
    }

    /// Errors: 40001 when the session's transaction is gone and the client has not been told. What ends it, ends it.
    pub fn check_lost(&mut self, plan: Option<&Plan>) -> Result<()> {
        if !std::mem::replace(&mut self.session.lost, false) {
            return Ok(());
        }
        match plan {
            Some(Plan::Utility(Utility::Rollback(_))) => return Ok(()),
            Some(Plan::Utility(Utility::Commit(_))) => match self.session.block {
                // What it has read was true when it was told.
                Block::Open if self.session.only_reads => return Ok(()),
                Block::Open => {
                    self.note_cause(AbortCause::NewLife);
                    self.end_block(false);
                }
                // An error has been told: it is a ROLLBACK.
                Block::Failed => return Ok(()),
                Block::None | Block::Implicit => {}
            },
            _ => {}
        }
        Err(gone())
    }

    /// At the end of a cycle: the implicit transaction of what was told in it is gone, and the client has not heard so.
    pub fn tell_lost(&mut self) {
        if self.session.block == Block::Implicit && std::mem::replace(&mut self.session.lost, false) {
            backend::error(&mut self.session.output, Severity::Error, &gone());
            self.session.implicit_failed = true;
        }
    }
}

/// Whether a statement by itself leaves nothing behind.
pub fn only_reads(execution: &Execution) -> bool {
    matches!(&execution.prepared.plan, Plan::Program(program) if program.read_only)
}

impl Execution {
    /// As if nothing had been asked for it.
    fn start_over(&mut self) {
        self.step = Step::New;
        self.affected = 0;
        self.began = false;
        self.begins_again = true;
        self.supply = Default::default();
        self.parts = None;
        self.asleep.clear();
        self.calls_done = 0;
        self.buffered.clear();
        self.exhausted = false;
    }
}
