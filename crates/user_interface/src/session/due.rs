//! What is due for a session: by the time, by the catalog, by a cancel.
//!
//! Invariant: a statement is ended only where nothing of it can have committed; else what it has asked is asked to end, and tells.

use crate::session::queries::cancelled;
use crate::session::state::{CancelReason, Cycle, Phase, Session, Step, Work};
use crate::session::turn::Turn;
use messages::Now;
use messages::session::SessionRequest;

/// Whether a connection has not said who it is for too long.
pub fn is_silent(session: &Session, now: Now) -> bool {
    session.phase == Phase::Startup && session.deadline.is_some_and(|deadline| deadline <= now.boot)
}

/// Whether a login that waits goes on.
pub fn is_login_due(session: &Session, now: Now) -> bool {
    session.phase == Phase::Startup && session.login.due().is_some_and(|due| due <= now.boot)
}

/// Whether a statement has taken longer than the session allows.
pub fn is_late(session: &Session, now: Now) -> bool {
    session.deadline.is_some_and(|deadline| deadline <= now.boot) && !matches!(session.work, Work::Idle)
}

/// Whether a session has something to do about its advisory locks.
pub fn has_locks_due(session: &Session, now: Now) -> bool {
    session.locks.is_due(now)
}

/// Whether a statement waits for an advisory lock.
pub fn waits_for_lock(session: &Session, _: Now) -> bool {
    matches!(&session.work, Work::Statement(execution) if execution.step == Step::Lock)
}

/// Whether a client has said nothing for longer than its session allows.
pub fn is_idle_too_long(session: &Session, now: Now) -> bool {
    let is_idle = matches!((&session.work, &session.cycle), (Work::Idle, Cycle::Idle));
    session.phase == Phase::Ready && is_idle && session.deadline.is_some_and(|deadline| deadline <= now.boot)
}

/// Whether a session waits for the catalog.
pub fn waits_for_catalog(session: &Session, _: Now) -> bool {
    match &session.work {
        Work::Settling(_) => true,
        Work::Statement(execution) => matches!(execution.step, Step::Catalog(_)),
        _ => false,
    }
}

/// Whether a session has waited for the catalog, or slept, long enough.
pub fn has_waited(session: &Session, now: Now) -> bool {
    match &session.work {
        Work::Settling(settling) => settling.deadline <= now.boot,
        Work::Statement(execution) => {
            matches!(execution.step, Step::Catalog(until) | Step::Sleep(until) if until <= now.boot)
        }
        _ => false,
    }
}

/// The catalog may be what a statement waited for: it is compiled again.
pub fn catalog_moved(turn: &mut Turn) {
    match std::mem::replace(&mut turn.session.work, Work::Idle) {
        Work::Statement(execution) if matches!(execution.step, Step::Catalog(_)) => turn.recompile(execution),
        other => turn.session.work = other,
    }
}

/// Ends what the session has under way with 57014, where that still can be.
pub fn cancel_statement(turn: &mut Turn, reason: CancelReason) {
    match &turn.session.work {
        Work::Idle | Work::Settling(_) => {}
        Work::Statement(execution)
            if matches!(execution.step, Step::CopyData | Step::Room | Step::Catalog(_) | Step::Sleep(_)) =>
        {
            turn.fail(&cancelled(reason));
        }
        Work::Statement(execution) if execution.step == Step::Lock => {
            turn.give_up_lock();
            turn.fail(&cancelled(reason));
        }
        // The query processor may be computing for as long as it likes; what it reads meanwhile ends too.
        work if is_computing(work) => {
            turn.ask(SessionRequest::Cancel);
            turn.fail(&cancelled(reason));
        }
        _ => {
            turn.session.cancelled = Some(reason);
            turn.ask(SessionRequest::Cancel);
        }
    }
}

/// Whether the query processor is the one that has to answer next.
pub fn is_computing(work: &Work) -> bool {
    match work {
        Work::Statement(execution) => {
            matches!(execution.step, Step::Rows | Step::Source | Step::PartRows | Step::Explain | Step::Describe)
        }
        Work::Parsing(..) => true,
        _ => false,
    }
}
