//! A place where a server takes statements, and the statements of our own that we send there.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::databases::environment::{Environment, find_program};
use crate::databases::error::CompareError;

/// The user of every system that has users.
pub const USER: &str = "postgres";

/// The language that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's, version 3.
    Postgres,
    /// MariaDB's.
    MariaDb,
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port.
    pub port: u16,
    /// What its clients speak.
    pub protocol: Protocol,
    /// The database with the tables.
    pub database: String,
    /// Options of the sessions, such as `-c synchronous_commit=on`.
    pub session_options: Option<&'static str>,
}

impl Endpoint {
    /// A program that talks to it in PostgreSQL's language: pgbench, psql or another that heeds libpq's environment.
    pub fn heed(&self, command: &mut Command) {
        // The caller's own settings must not decide a comparison.
        for variable in ["PGOPTIONS", "PGDATABASE", "PGSERVICE", "PGSSLMODE", "PGAPPNAME", "PGHOSTADDR", "PGPASSWORD"] {
            command.env_remove(variable);
        }
        if let Some(options) = self.session_options {
            command.env("PGOPTIONS", options);
        }
        command.env("PGCONNECT_TIMEOUT", "5");
    }

    /// One of PostgreSQL's programs, aimed at it; the database is the caller's to name.
    pub fn postgres_command(&self, environment: &Environment, program: &str) -> Command {
        let mut command = environment.hosts.client().command(&environment.postgres_programs.join(program));
        command.args(["-h", &self.address.to_string(), "-U", USER, "-p", &self.port.to_string()]);
        self.heed(&mut command);
        command
    }

    /// The first row of the answer to the last of some statements, which run one by one; empty without a row.
    pub fn ask(
        &self,
        environment: &Environment,
        statements: &[&str],
        limit: Duration,
    ) -> Result<Vec<String>, CompareError> {
        let command = match self.protocol {
            Protocol::Postgres => {
                let mut command = self.postgres_command(environment, "psql");
                command.args(["-X", "-A", "-t", "-q", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", &self.database]);
                command.args(statements.iter().flat_map(|statement| ["-c", statement]));
                command
            }
            Protocol::MariaDb => {
                let mut command = self.mariadb_command(environment)?;
                command.args(["-D", &self.database, "-e", &statements.join(";\n")]);
                command
            }
        };
        let output = environment.run(command, &format!("statement_{}", self.port), limit)?;
        let last = output.trim_end_matches('\n').lines().last().unwrap_or_default();
        Ok(last.split('\t').filter(|field| !field.is_empty()).map(str::to_string).collect())
    }

    /// The same for statements that may be run again: a server that cannot serve for a moment, or asks for another try, gets it until
    /// `limit` has passed.
    pub fn insist(
        &self,
        environment: &Environment,
        statements: &[&str],
        limit: Duration,
    ) -> Result<Vec<String>, CompareError> {
        let mut answer = None;
        environment.interrupt.wait(limit, || {
            let found = self.ask(environment, statements, limit);
            let refused = matches!(found, Err(CompareError::Failed { .. }));
            answer = Some(found);
            Ok(!refused)
        })?;
        answer.expect("it was asked at least once")
    }

    /// MariaDB's own client, aimed at it; without a database.
    pub fn mariadb_command(&self, environment: &Environment) -> Result<Command, CompareError> {
        let program = find_program("mariadb", "mariadb-client")?;
        let mut command = environment.hosts.client().command(Path::new(&program));
        // `--no-defaults` must come first: the caller's own settings must not decide a comparison.
        command.args(["--no-defaults", "--batch", "--skip-column-names", "--connect-timeout=5", "--protocol=tcp"]);
        command.args(["-h", &self.address.to_string(), "-P", &self.port.to_string(), "-u", USER]);
        Ok(command)
    }

    /// Asks until the answer is `expected`: true; false after `limit`. `check` fails when there is nothing to wait for any more.
    pub fn wait_for(
        &self,
        environment: &Environment,
        statement: &str,
        expected: &str,
        limit: Duration,
        mut check: impl FnMut() -> Result<(), CompareError>,
    ) -> Result<bool, CompareError> {
        environment.interrupt.wait(limit, || {
            check()?;
            match self.ask(environment, &[statement], limit) {
                Err(CompareError::Interrupted) => Err(CompareError::Interrupted),
                // It refuses connections until it is up.
                found => Ok(found.is_ok_and(|row| row.last().is_some_and(|field| field == expected))),
            }
        })
    }
}
