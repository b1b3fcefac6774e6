//! Where it is noted what sessions have done: logins, changes of the schema, of roles and of privileges, and slow statements.
//!
//! Invariants: no event has a password in it; its texts are bounded. A change that is noted was made by its statement: whether the transaction around it
//! has committed is not known here.

use crate::counters::StatementKind;
use crate::errors::SqlError;
use crate::events::{EventKind, SessionEvent};
use crate::limits::EVENT_TEXT_BYTES_MAX;
use crate::session::state::Phase;
use crate::session::turn::Turn;

impl Turn<'_> {
    fn note(&mut self, kind: EventKind) {
        let (session, at_micros) = (&self.session, self.micros());
        let event = SessionEvent {
            at_micros,
            process: session.process,
            user: bounded(&session.user),
            role: session.current_user().0.to_owned(),
            database: bounded(&session.database),
            address: session.login.peer.address,
            application: bounded(session.settings.now.application()),
            kind,
        };
        self.shared.events.push(event);
    }

    fn audits(&self) -> bool {
        self.shared.config.events.audit
    }

    /// The client was let in.
    pub(super) fn note_login(&mut self) {
        if self.audits() {
            let encrypted = self.session.login.encryption.is_some();
            self.note(EventKind::LoggedIn { encrypted });
        }
    }

    /// The session ends with this error. Of note while it has not been let in.
    pub(super) fn note_refusal(&mut self, error: &SqlError) {
        if self.audits() && self.session.phase == Phase::Startup {
            let (sqlstate, message) = (error.sqlstate.to_string(), bounded(&error.message));
            self.note(EventKind::Refused { sqlstate, message });
        }
    }

    /// The session ends.
    pub(super) fn note_leaving(&mut self) {
        if self.audits() && self.session.phase == Phase::Ready {
            self.note(EventKind::Left);
        }
    }

    /// A statement has ended.
    pub(super) fn note_statement(&mut self, kind: StatementKind, text: &str, took_ns: u64, error: Option<&SqlError>) {
        let sqlstate = || error.map(|error| error.sqlstate.to_string());
        if self.audits() && kind == StatementKind::Schema {
            self.note(EventKind::Changed { statement: without_password(text), sqlstate: sqlstate() });
        }
        let took_us = took_ns / 1_000;
        if self.shared.config.events.slow_ms.is_some_and(|slow_ms| took_us >= slow_ms.saturating_mul(1_000)) {
            self.note(EventKind::Slow { statement: without_password(text), took_us, sqlstate: sqlstate() });
        }
    }
}

/// A text that was given by a client, as far as it is kept.
fn bounded(text: &str) -> String {
    let mut end = text.len().min(EVENT_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match end < text.len() {
        true => format!("{}...", &text[..end]),
        false => text.to_owned(),
    }
}

/// A statement up to where a password may stand: nothing that gives one has it before the keyword.
fn without_password(text: &str) -> String {
    const KEYWORD: &str = "PASSWORD";
    let found = text.as_bytes().windows(KEYWORD.len()).position(|word| word.eq_ignore_ascii_case(KEYWORD.as_bytes()));
    match found {
        Some(at) => format!("{} {KEYWORD} ...", bounded(text[..at].trim_end())),
        None => bounded(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A password would stand in a file that others read.
    #[test]
    fn passwords_are_left_out() {
        assert_eq!(
            without_password("CREATE ROLE a LOGIN\n pAssword 'secret' CREATEDB"),
            "CREATE ROLE a LOGIN PASSWORD ..."
        );
        assert_eq!(
            without_password("ALTER ROLE \"ü\" ENCRYPTED PASSWORD $$x$$"),
            "ALTER ROLE \"ü\" ENCRYPTED PASSWORD ..."
        );
        assert_eq!(without_password("GRANT ALL ON t TO a"), "GRANT ALL ON t TO a");
    }

    /// A client would fill the disk with one statement.
    #[test]
    fn texts_are_bounded() {
        let long = "ü".repeat(EVENT_TEXT_BYTES_MAX);
        assert!(bounded(&long).len() <= EVENT_TEXT_BYTES_MAX + 3);
        assert_eq!(bounded("short"), "short");
    }
}
