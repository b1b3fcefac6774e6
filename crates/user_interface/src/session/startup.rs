//! The start of a session: encryption, cancel requests, and the parameters of the greeting. Who the client is: [`super::login`].
//!
//! Invariant: of a client that has not greeted nothing is asked of any server, and nothing that it has sent before encryption is taken for sent within it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::protocol::backend;
use crate::protocol::frontend::{self, GSS_ENCRYPTION_REQUEST, SSL_REQUEST, Startup};
use crate::session::login::Step;
use crate::session::state::Phase;
use crate::session::turn::Turn;

/// What became of the bytes at the start of a connection.
pub enum Started {
    /// Not enough of them.
    Incomplete,
    /// So many were taken.
    Taken(usize),
    /// So many were taken: a request to cancel the statement of (process, secret).
    Cancel(usize, i32, i32),
}

impl Turn<'_> {
    /// Handles one startup packet. Errors end the connection.
    fn startup(&mut self, input: &[u8]) -> Result<Started> {
        let Some((packet, length)) = frontend::startup(input)? else {
            return Ok(Started::Incomplete);
        };
        match packet {
            // As PostgreSQL: asked again, it is no request any more but a version that nobody speaks.
            Startup::Encryption { tls } if !self.session.login.may_ask_for_encryption(tls) => {
                return Err(frontend::unsupported_version(if tls { SSL_REQUEST } else { GSS_ENCRYPTION_REQUEST }));
            }
            Startup::Encryption { tls: true } if self.shared.doorkeeper.offers_encryption() => {
                if input.len() > length {
                    let message = "received unencrypted data after SSL request";
                    return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, message).with_detail(
                        "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
                    ));
                }
                self.session.output.extend_from_slice(b"S");
                self.session.login.wants_encryption = true;
            }
            Startup::Encryption { .. } => self.session.output.extend_from_slice(b"N"),
            Startup::Cancel { process, secret } => {
                self.session.phase = Phase::Finished;
                return Ok(Started::Cancel(length, process, secret));
            }
            Startup::Session { minor, parameters } => self.greet(minor, &parameters)?,
        }
        Ok(Started::Taken(length))
    }

    fn greet(&mut self, minor: u16, parameters: &[(&str, &str)]) -> Result<()> {
        if self.session.is_refused {
            return Err(SqlError::new(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already"));
        }
        let mut unknown = Vec::new();
        for (name, value) in parameters {
            match *name {
                "user" => self.session.user = value.to_string(),
                "database" => self.session.database = value.to_string(),
                "options" => self.options(value)?,
                "replication" if !matches!(*value, "false" | "off" | "no" | "0") => {
                    return Err(SqlError::unsupported("a replication connection"));
                }
                "replication" => {}
                name if name.starts_with("_pq_.") => unknown.push(name),
                name => {
                    self.session.settings.now.announce(name, value)?;
                }
            }
        }
        if self.session.user.is_empty() {
            return Err(SqlError::new(
                sqlstate::INVALID_AUTHORIZATION,
                "no PostgreSQL user name specified in startup packet",
            ));
        }
        if self.session.database.is_empty() {
            self.session.database = self.session.user.clone();
        }
        if minor > 0 || !unknown.is_empty() {
            backend::negotiate_protocol_version(&mut self.session.output, &unknown);
        }
        self.authenticate()
    }

    /// Handles what a client sends before it is let in; returns how many bytes were taken. Errors end the connection.
    pub fn before_session(&mut self, input: &[u8]) -> Result<Started> {
        if !self.session.takes_input() {
            return Ok(Started::Incomplete);
        }
        match self.session.login.step {
            Step::Greeting => self.startup(input),
            _ => match self.login_message(input)? {
                0 => Ok(Started::Incomplete),
                length => Ok(Started::Taken(length)),
            },
        }
    }

    /// `-c name=value --name=value`, with a backslash before blanks that belong to a value.
    fn options(&mut self, options: &str) -> Result<()> {
        let mut words: Vec<String> = vec![String::new()];
        let mut characters = options.chars();
        while let Some(character) = characters.next() {
            let current = words.len() - 1;
            match character {
                '\\' => words[current].extend(characters.next()),
                blank if blank.is_ascii_whitespace() => words.push(String::new()),
                other => words[current].push(other),
            }
        }
        let mut words = words.into_iter().filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let assignment = match (word.as_str(), word.strip_prefix("--"), word.strip_prefix("-c")) {
                ("-c", ..) => words.next().unwrap_or_default(),
                (_, Some(assignment), _) | (_, None, Some(assignment)) => assignment.to_string(),
                _ => word.clone(),
            };
            let Some((name, value)) = assignment.split_once('=') else {
                return Err(SqlError::new(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    format!("invalid command-line argument for server process: {word}"),
                ));
            };
            self.session.settings.now.announce(&name.replace('-', "_"), value)?;
        }
        Ok(())
    }
}
