//! What a session does to others by `pg_cancel_backend` and `pg_terminate_backend` (PostgreSQL's `signalfuncs.c`).
//!
//! Invariant: who does it may, as a member of the other session's role or of `pg_signal_backend`; a superuser's sessions are for superusers.

use crate::errors::{Result, SqlError, sqlstate};
use crate::session::due;
use crate::session::state::CancelReason;
use crate::session::turn::Turn;
use crate::sql::database_syntax::DatabaseStatement;
use crate::sql::effects::{SentSignal, SessionSignal};
use messages::role::SIGNAL_BACKEND_OID;
use privileges::Standing;

impl Turn<'_> {
    /// Whether there is a session of this process id, which gets the signal. Errors: 42501.
    pub(super) fn signal(&mut self, process: i32, signal: SessionSignal) -> Result<bool> {
        let Some(role) = self.shared.config.activity.role_of(process) else {
            self.warn(sqlstate::WARNING, &format!("PID {process} is not a PostgreSQL server process"));
            return Ok(false);
        };
        let catalog = self.catalog();
        let (_, own) = self.session.current_user();
        let (standing, target) = (Standing::of(&catalog, own), Standing::of(&catalog, role));
        let (what, of) = match signal {
            SessionSignal::Cancel => ("cancel superuser query", "query is being canceled"),
            SessionSignal::Terminate => ("terminate superuser process", "process is being terminated"),
        };
        let message = if target.is_superuser() && !standing.is_superuser() {
            format!("must be a superuser to {what}")
        } else if !standing.has(role) && !standing.has(SIGNAL_BACKEND_OID) {
            format!("must be a member of the role whose {of} or member of pg_signal_backend")
        } else {
            self.shared.signals.push(SentSignal { process, signal });
            return Ok(true);
        };
        Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// No other session of this site may be in a database that is dropped or gets another name; with FORCE they are ended. Errors: 55006.
    pub(super) fn empty_database(&mut self, statement: &DatabaseStatement) -> Result<()> {
        let Some((name, force)) = statement.emptied() else { return Ok(()) };
        let others = self.shared.config.activity.sessions_in(name, Some(self.session.process));
        if force {
            let ended = others.iter().map(|process| SentSignal { process: *process, signal: SessionSignal::Terminate });
            self.shared.signals.extend(ended);
            return Ok(());
        }
        let detail = match others.len() {
            0 => return Ok(()),
            1 => "There is 1 other session using the database.".to_owned(),
            count => format!("There are {count} other sessions using the database."),
        };
        let message = format!("database \"{name}\" is being accessed by other users");
        Err(SqlError::new(sqlstate::OBJECT_IN_USE, message).with_detail(detail))
    }

    /// A signal has come.
    pub(crate) fn take_signal(&mut self, signal: SessionSignal) {
        match signal {
            SessionSignal::Cancel => due::cancel_statement(self, CancelReason::Request),
            SessionSignal::Terminate => self.shut_down(),
        }
    }
}
