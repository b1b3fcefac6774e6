//! What sessions have done that an operator reads later.

use std::net::IpAddr;

/// Which events are noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSelection {
    /// Logins, their ends, and changes.
    pub audit: bool,
    /// Statements that took so many milliseconds, or more.
    pub slow_ms: Option<u64>,
}

/// What a session has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEvent {
    /// When (microseconds since 1970).
    pub at_micros: i64,
    /// The process id that stands for the session.
    pub process: i32,
    /// Who has logged in, or wanted to.
    pub user: String,
    /// Whose privileges counted.
    pub role: String,
    /// The database that was asked for.
    pub database: String,
    /// Where the client is.
    pub address: IpAddr,
    /// What the client calls itself.
    pub application: String,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The client was let in.
    LoggedIn {
        /// Whether the connection is encrypted.
        encrypted: bool,
    },
    /// The client was not let in, or its greeting could not be understood.
    Refused {
        /// What it was told.
        sqlstate: String,
        /// The same in words.
        message: String,
    },
    /// The session has ended.
    Left,
    /// A statement has changed the schema, roles, privileges or settings of sites, or was refused.
    Changed {
        /// The statement, up to a password.
        statement: String,
        /// Why it was refused; none: it was not.
        sqlstate: Option<String>,
    },
    /// A statement took long.
    Slow {
        /// The statement, up to a password.
        statement: String,
        /// Until the client was told of its end, in microseconds.
        took_us: u64,
        /// How it failed; none: it did not.
        sqlstate: Option<String>,
    },
}
