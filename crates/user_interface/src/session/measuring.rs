//! Where a session's statements and transactions are counted.
//!
//! Invariant: each statement that is begun ends once, and each transaction that has executed one as well, in whatever way.

use crate::activity::locked;
use crate::counters::{AbortCause, SessionState, StatementKind};
use crate::errors::SqlError;
use crate::session::state::{Block, Cycle, Phase, Session, Work};
use crate::session::turn::Turn;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::utility::Utility;
use messages::query::SessionActivity;
use messages::session::Failure;
use std::sync::Arc;

impl Turn<'_> {
    /// A statement begins.
    pub(super) fn statement_begins(&mut self, prepared: &Prepared) {
        let uncounted = &mut self.session.uncounted;
        uncounted.statement = Some((StatementKind::of(prepared), self.now.boot, prepared.text.clone()));
        if !std::mem::replace(&mut uncounted.transaction, true) {
            (uncounted.cause, uncounted.unknown) = (None, false);
        }
        let micros = self.micros();
        if let Some(shown) = &mut self.session.uncounted.activity {
            shown.state = SessionState::Active;
            let text = self.session.outlined.as_ref().unwrap_or(&prepared.text);
            let mut activity = locked(&shown.entry);
            activity.statement_micros = Some(micros);
            activity.transaction_micros.get_or_insert(micros);
            activity.statement = Arc::clone(text);
            become_state(&mut activity, SessionState::Active, micros);
        }
    }

    /// Everybody sees which state the session is in.
    pub(crate) fn show_state(&mut self) {
        let Some(state) = self.session.state().filter(|state| *state != SessionState::Starting) else { return };
        let micros = self.micros();
        let session = &mut *self.session;
        let shown = session.uncounted.activity.get_or_insert_with(|| {
            self.shared.config.activity.enter(SessionActivity {
                process: session.process,
                user: session.user.clone(),
                role: session.role,
                database: session.database.clone(),
                address: Some(session.login.peer.address),
                began_micros: micros,
                ..SessionActivity::default()
            })
        });
        shown.state = state;
        let application = session.settings.now.application();
        let mut activity = locked(&shown.entry);
        activity.transaction_micros = (state != SessionState::Idle).then_some(session.began_micros);
        become_state(&mut activity, state, micros);
        if activity.application != application {
            application.clone_into(&mut activity.application);
        }
    }

    /// The client is told of its statement's end.
    pub(super) fn statement_ended(&mut self) {
        self.statement_ends(None);
    }

    fn statement_ends(&mut self, error: Option<&SqlError>) {
        if let Some((kind, began, text)) = self.session.uncounted.statement.take() {
            let took = self.now.boot.saturating_sub(began);
            self.shared.counters.statement(kind, took);
            self.note_statement(kind, &text, took, error);
        }
    }

    /// The client is told of an error, which ends its statement.
    pub(super) fn statement_erred(&mut self, error: &SqlError) {
        self.statement_ends(Some(error));
        self.shared.counters.error(&error.sqlstate);
        self.session.uncounted.cause.get_or_insert(AbortCause::Failed);
        if self.session.block == Block::None {
            self.transaction_ended(false);
        }
    }

    /// The action driver says why the transaction will not commit.
    pub(super) fn note_failure(&mut self, failure: &Failure) {
        match AbortCause::of(failure) {
            Some(cause) => self.note_cause(cause),
            None => self.session.uncounted.unknown = true,
        }
    }

    /// Why the transaction will not commit.
    pub(super) fn note_cause(&mut self, cause: AbortCause) {
        self.session.uncounted.cause = Some(cause);
    }

    /// The transaction goes on after all.
    pub(super) fn forget_cause(&mut self) {
        self.session.uncounted.cause = None;
    }

    /// The transaction is over.
    pub(super) fn transaction_ended(&mut self, committed: bool) {
        let uncounted = &mut self.session.uncounted;
        if !std::mem::take(&mut uncounted.transaction) {
            return;
        }
        let (cause, unknown) = (uncounted.cause.take(), std::mem::take(&mut uncounted.unknown));
        match committed {
            true => self.shared.counters.committed(),
            false if unknown => self.shared.counters.not_committed(None),
            false => self.shared.counters.not_committed(Some(cause.unwrap_or(AbortCause::RolledBack))),
        }
    }

    /// The client has gone, or is sent away. What is a transaction by itself goes on, and commits if it can.
    pub(super) fn transaction_left(&mut self) {
        self.session.uncounted.statement = None;
        self.session.uncounted.unknown |=
            self.session.block == Block::None || matches!(self.session.work, Work::Ending(_, true));
        self.note_cause(AbortCause::Disconnected);
        self.transaction_ended(false);
    }
}

fn become_state(activity: &mut SessionActivity, state: SessionState, micros: i64) {
    if activity.state != state.name() {
        state.name().clone_into(&mut activity.state);
        activity.changed_micros = micros;
    }
}

impl Session {
    /// What it is about; `None`: it is over.
    pub(crate) fn state(&self) -> Option<SessionState> {
        match (self.phase, &self.work, &self.cycle, self.block) {
            (Phase::Finished, ..) => None,
            (Phase::Startup, ..) => Some(SessionState::Starting),
            (Phase::Ready, Work::Idle, Cycle::Idle, Block::Open) => Some(SessionState::IdleInTransaction),
            (Phase::Ready, Work::Idle, Cycle::Idle, Block::Failed) => Some(SessionState::IdleInFailedTransaction),
            (Phase::Ready, Work::Idle, Cycle::Idle, Block::None | Block::Implicit) => Some(SessionState::Idle),
            (Phase::Ready, ..) => Some(SessionState::Active),
        }
    }
}

impl StatementKind {
    /// Of a compiled statement.
    pub(crate) fn of(prepared: &Prepared) -> StatementKind {
        match (&prepared.plan, prepared.tag) {
            (Plan::Utility(utility), _) => of_utility(utility),
            (
                Plan::Schema(..)
                | Plan::Queried(..)
                | Plan::Roles(_)
                | Plan::Sequence(_)
                | Plan::Types(_)
                | Plan::Namespaces(_)
                | Plan::System(_),
                _,
            ) => StatementKind::Schema,
            (Plan::Execute(..) | Plan::Routine(_), _) => StatementKind::Other,
            (_, Tag::Select | Tag::Stored) => StatementKind::Select,
            (_, Tag::Insert) => StatementKind::Insert,
            (_, Tag::Update) => StatementKind::Update,
            (_, Tag::Delete) => StatementKind::Delete,
            (_, Tag::Counted("MERGE")) => StatementKind::Merge,
            (_, Tag::Counted("COPY")) => StatementKind::Copy,
            (_, Tag::Counted(_) | Tag::Plain(_)) => StatementKind::Other,
        }
    }
}

fn of_utility(utility: &Utility) -> StatementKind {
    match utility {
        Utility::Begin(_)
        | Utility::SetTransaction(..)
        | Utility::Commit(_)
        | Utility::Rollback(_)
        | Utility::Savepoint(_)
        | Utility::Release(_)
        | Utility::RollbackTo(_) => StatementKind::Transaction,
        Utility::Copy(_) => StatementKind::Copy,
        Utility::Fetch(_) => StatementKind::Select,
        Utility::Roles(_)
        | Utility::Sequence(_)
        | Utility::Types(_)
        | Utility::Schemas(_)
        | Utility::System(_)
        | Utility::LockTable(_) => StatementKind::Schema,
        _ => StatementKind::Other,
    }
}
