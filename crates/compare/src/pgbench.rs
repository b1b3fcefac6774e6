//! The client of both systems: stock pgbench over TCP, and its figures.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;

use crate::error::CompareError;
use crate::limits::{PREPARE_TIME_MAX, RUN_OVERTIME_MAX};
use crate::process::{Interrupt, Process, run};

/// Database and user of both systems.
pub const DATABASE: &str = "postgres";

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// As the report calls it.
    pub name: &'static str,
    /// Whether it only reads (`-S`).
    pub select_only: bool,
    /// Concurrent connections.
    pub clients: usize,
}

/// The loads of a comparison, in the order of the report.
pub const LOADS: [Load; 3] = [
    Load { name: "TPC-B-like, 1 client", select_only: false, clients: 1 },
    Load { name: "TPC-B-like, 16 clients", select_only: false, clients: 16 },
    Load { name: "select only, 16 clients", select_only: true, clients: 16 },
];

/// The figures of one run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Figures {
    /// Transactions per second, connection time left out; failed transactions do not count.
    pub tps: f64,
    /// Average latency in milliseconds.
    pub latency_ms_average: f64,
    /// Transactions that committed.
    pub transactions: u64,
    /// Transactions that ended with a serialization or deadlock error.
    pub failed: u64,
    /// Clients that gave up, after an error of another kind. The other figures are then those of the rest.
    pub aborted_clients: u64,
}

/// pgbench, aimed at a server.
#[derive(Clone, Debug)]
pub struct Client {
    /// Where pgbench and psql are.
    pub programs: PathBuf,
    /// Port of the server on this host.
    pub port: u16,
    /// Options of the sessions, such as `-c synchronous_commit=on`.
    pub session_options: Option<&'static str>,
    /// Folder for output.
    pub folder: PathBuf,
}

impl Client {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.args(["-h", "127.0.0.1", "-U", DATABASE, "-p", &self.port.to_string()]);
        // The caller's own settings must not decide a comparison.
        for variable in ["PGOPTIONS", "PGDATABASE", "PGSERVICE", "PGSSLMODE", "PGAPPNAME", "PGHOSTADDR"] {
            command.env_remove(variable);
        }
        if let Some(options) = self.session_options {
            command.env("PGOPTIONS", options);
        }
        command
    }

    fn output(&self, program: &str) -> PathBuf {
        self.folder.join(format!("{program}_{}.log", self.port))
    }

    /// The answer to one statement, unaligned and without headings.
    pub fn query(&self, sql: &str, interrupt: &Interrupt, limit: Duration) -> Result<String, CompareError> {
        let mut command = self.command("psql");
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", DATABASE, "-c", sql]);
        command.env("PGCONNECT_TIMEOUT", "5");
        run(command, &self.output("psql"), interrupt, limit).map(|text| text.trim().to_string())
    }

    /// Creates and fills pgbench's tables.
    pub fn initialize(&self, scale: u32, interrupt: &Interrupt) -> Result<(), CompareError> {
        let mut command = self.command("pgbench");
        command.args(["-i", "-q", "-s", &scale.to_string(), DATABASE]);
        run(command, &self.output("pgbench_init"), interrupt, PREPARE_TIME_MAX).map(drop)
    }

    /// Runs a load for so many seconds, with as many threads as there are cores, as far as there are clients.
    pub fn run(&self, load: Load, seconds: u32, cores: usize, interrupt: &Interrupt) -> Result<Figures, CompareError> {
        let mut command = self.command("pgbench");
        let threads = load.clients.min(cores);
        command.args(["-M", "prepared", "-c", &load.clients.to_string(), "-j", &threads.to_string()]);
        command.args(["-T", &seconds.to_string()]);
        if load.select_only {
            command.arg("-S");
        }
        command.arg(DATABASE);
        let limit = Duration::from_secs(seconds.into()) + RUN_OVERTIME_MAX;
        let process = Process::start(command, &self.output("pgbench"), Signal::INT)?;
        // Status 2 is a run in which clients gave up; its figures say so.
        let (_, output) = process.finish(interrupt, limit)?;
        parse(&output)
    }
}

/// Reads the figures from pgbench's output.
fn parse(output: &str) -> Result<Figures, CompareError> {
    let field = |name: &'static str| {
        let value = output.lines().find_map(|line| line.strip_prefix(name));
        let number = value.and_then(|value| value.trim_start_matches([' ', ':', '=']).split([' ', '/']).next());
        number.ok_or_else(|| CompareError::Output { field: name, output: output.to_string() })
    };
    let float =
        |name| field(name)?.parse().map_err(|_| CompareError::Output { field: name, output: output.to_string() });
    let integer =
        |name| field(name)?.parse().map_err(|_| CompareError::Output { field: name, output: output.to_string() });
    Ok(Figures {
        tps: float("tps")?,
        latency_ms_average: float("latency average")?,
        transactions: integer("number of transactions actually processed")?,
        failed: integer("number of failed transactions")?,
        aborted_clients: output
            .lines()
            .filter(|line| line.contains(": error: client ") && line.contains("abort"))
            .count() as u64,
    })
}

/// The newest PostgreSQL on this machine: the folder of its programs.
pub fn find_programs() -> Result<PathBuf, CompareError> {
    let root = Path::new("/usr/lib/postgresql");
    let versions = std::fs::read_dir(root).into_iter().flatten().flatten();
    let complete = versions.filter_map(|version| {
        let programs = version.path().join("bin");
        let has_all =
            ["postgres", "initdb", "pg_basebackup", "pgbench", "psql"].iter().all(|name| programs.join(name).exists());
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        has_all.then_some((number, programs))
    });
    complete.max().map(|(_, programs)| programs).ok_or_else(|| CompareError::Missing {
        program: "PostgreSQL's server and pgbench".to_string(),
        remedy: format!("install them (Debian: apt-get install postgresql); looked into {}/*/bin", root.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
starting vacuum...end.
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: prepared
number of clients: 16
number of transactions actually processed: 30984
number of failed transactions: 12 (0.039%)
latency average = 6.196 ms
initial connection time = 18.311 ms
tps = 2582.312345 (without initial connection time)
";

    /// A figure read from the wrong line would be published.
    #[test]
    fn figures_are_read_from_the_output_of_pgbench() {
        let figures = parse(OUTPUT).expect("it is complete");
        let expected = Figures {
            tps: 2582.312345,
            latency_ms_average: 6.196,
            transactions: 30984,
            failed: 12,
            aborted_clients: 0,
        };
        assert_eq!(figures, expected);
    }

    /// A run in which clients gave up is slower or faster for the wrong reason, and must say so.
    #[test]
    fn clients_that_gave_up_are_counted() {
        let output = format!("pgbench: error: client 3 script 0 aborted in command 4 query 0: ERROR:  oops\n{OUTPUT}");
        assert_eq!(parse(&output).expect("it is complete").aborted_clients, 1);
    }

    /// Output that cannot be read must be shown, not taken for zero.
    #[test]
    fn unknown_output_is_an_error() {
        assert!(matches!(parse("tps = many\n"), Err(CompareError::Output { field: "tps", .. })));
        assert!(matches!(parse(""), Err(CompareError::Output { .. })));
    }
}
