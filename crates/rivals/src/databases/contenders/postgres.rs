//! What PostgreSQL's servers have in common, alone or with standbys: how they are made, started and filled.
//!
//! The server refuses to run as root; then it runs as an unprivileged user. Settings that differ from the defaults are in
//! [`SETTINGS`] and in the report.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::databases::endpoint::{Endpoint, Protocol, USER};
use crate::databases::environment::{Environment, User, command_as};
use crate::databases::error::CompareError;
use crate::databases::hosts::Host;
use crate::databases::limits::{PREPARE_TIME_MAX, START_TIME_MAX, STATEMENT_TIME_MAX};
use crate::databases::process::Process;

/// What every server is started with. More memory and rarer checkpoints than the defaults, as anybody who cares would set them.
pub const SETTINGS: [&str; 5] = [
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
    "max_connections=100",
    "unix_socket_directories=",
];

/// Text of the procedure for DebitCredit as one CALL; Raid takes the same.
pub const PROCEDURE: &str = include_str!("../../../scripts/procedure.sql");

/// Starts PostgreSQL's programs as the right user.
pub struct Launcher<'a> {
    environment: &'a Environment,
    /// For data.
    home: PathBuf,
    /// Begins the names of logs.
    name: &'static str,
    user: Option<User>,
}

impl Launcher<'_> {
    /// Servers whose data lies in a folder of this name.
    pub fn new<'a>(environment: &'a Environment, name: &'static str) -> Result<Launcher<'a>, CompareError> {
        let user = User::for_server(&["postgres", "nobody"])?;
        Ok(Launcher { environment, home: environment.data_folder(name, user)?, name, user })
    }

    fn command(&self, host: &Host, program: &str) -> Command {
        let mut command = command_as(host, self.user, &self.environment.postgres_programs.join(program));
        command.current_dir(&self.home);
        command
    }

    /// Makes a server's data folder, open to all who reach its address.
    pub fn initialize(&self, server: &str) -> Result<(), CompareError> {
        let mut command = self.command(&self.environment.hosts.server(0), "initdb");
        command.args(["-U", USER, "-A", "trust", "--locale=C", "-E", "UTF8", "--no-instructions", "-D"]);
        command.arg(self.home.join(server));
        self.environment.run(command, &format!("{}_initdb", self.name), PREPARE_TIME_MAX)?;
        if self.environment.hosts.are_separate() {
            let path = self.home.join(server).join("pg_hba.conf");
            let rules = "host all all samenet trust\nhost replication all samenet trust\n";
            let append = || fs::OpenOptions::new().append(true).open(&path)?.write_all(rules.as_bytes());
            append().map_err(CompareError::system("cannot write", &path))?;
        }
        Ok(())
    }

    /// Makes a standby's data folder from the primary's.
    pub fn copy(&self, primary: &Endpoint, host: &Host, standby: &str) -> Result<(), CompareError> {
        let mut command = self.command(host, "pg_basebackup");
        command.args(["-h", &primary.address.to_string(), "-p", &primary.port.to_string(), "-U", USER]);
        command.args(["-R", "-X", "stream", "-c", "fast", "-D"]).arg(self.home.join(standby));
        self.environment.run(command, &format!("{}_basebackup", self.name), PREPARE_TIME_MAX).map(drop)
    }

    /// Starts a server; it is not there yet.
    pub fn start(&self, host: &Host, server: &str, port: u16, settings: &[String]) -> Result<Process, CompareError> {
        let mut command = self.command(host, "postgres");
        command.arg("-D").arg(self.home.join(server)).args(["-p", &port.to_string()]);
        command.args(["-h", &host.address().to_string()]);
        for setting in SETTINGS.into_iter().chain(settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        // SIGINT is PostgreSQL's fast shutdown: it ends sessions and does not wait for them.
        Process::start(command, &self.environment.log(&format!("{}_{server}", self.name)), Signal::INT)
    }
}

/// Where a server's own database is, which no load uses.
pub fn endpoint(host: &Host, port: u16) -> Endpoint {
    let database = "postgres".to_string();
    Endpoint { address: host.address(), port, protocol: Protocol::Postgres, database, session_options: None }
}

/// Where the tables of a scale are at a server: in a database of their own.
pub fn tables(server: &Endpoint, scale: u32, session_options: Option<&'static str>) -> Endpoint {
    Endpoint { database: format!("scale_{scale}"), session_options, ..server.clone() }
}

/// Makes and fills the tables of a scale as pgbench does, and makes the procedure.
pub fn fill(environment: &Environment, server: &Endpoint, scale: u32) -> Result<(), CompareError> {
    let tables = tables(server, scale, None);
    server.ask(environment, &[&format!("CREATE DATABASE {}", tables.database)], STATEMENT_TIME_MAX)?;
    let mut command = tables.postgres_command(environment, "pgbench");
    command.args(["-i", "-q", "-s", &scale.to_string(), &tables.database]);
    environment.run(command, "pgbench_init", PREPARE_TIME_MAX)?;
    tables.ask(environment, &[PROCEDURE], STATEMENT_TIME_MAX).map(drop)
}

/// Waits until a server gives this answer.
pub fn wait_until(
    environment: &Environment,
    server: &Endpoint,
    statement: &str,
    answer: &str,
    processes: &mut [Process],
) -> Result<(), CompareError> {
    let check = || processes.iter_mut().try_for_each(Process::check_alive);
    if server.wait_for(environment, statement, answer, START_TIME_MAX, check)? {
        return Ok(());
    }
    Err(CompareError::TimedOut {
        what: format!("PostgreSQL to answer `{answer}` to `{statement}`"),
        waited: START_TIME_MAX,
        output: processes.iter().map(Process::last_lines).collect(),
    })
}

/// The server's version.
pub fn version(environment: &Environment) -> Result<String, CompareError> {
    let mut command = Command::new(environment.postgres_programs.join("postgres"));
    command.arg("--version");
    environment.run(command, "version", STATEMENT_TIME_MAX).map(|text| text.trim().to_string())
}
