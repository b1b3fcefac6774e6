//! Stock pgbench over TCP: its own TPC-B-like and select-only scripts, DebitCredit as one CALL, and queries that are more than one row by its key.
//!
//! Invariant: what pgbench does of itself before a run (vacuum two tables, empty the history) is left out with `-n`; the comparison
//! does it before every run, once for all processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Client, Figures, number};
use crate::databases::endpoint::Endpoint;
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::limits::STATEMENT_TIME_MAX;
use crate::databases::loads::{Load, Script};

/// Our scripts, as they are called in the folder.
const CALL: (&str, &str) = ("call.pgbench", include_str!("../../../scripts/call.pgbench"));
const QUERY: (&str, &str) = ("query.pgbench", include_str!("../../../scripts/query.pgbench"));

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub struct Pgbench(pub Script);

impl Client for Pgbench {
    fn prepare(&self, environment: &Environment) -> Result<(), CompareError> {
        [CALL, QUERY].iter().try_for_each(|(file, script)| {
            let path = environment.folder.join(file);
            fs::write(&path, script).map_err(CompareError::system("cannot write", &path))
        })
    }

    fn command(
        &self,
        environment: &Environment,
        endpoint: &Endpoint,
        load: &Load,
        clients: usize,
        seconds: u32,
    ) -> Result<Command, CompareError> {
        let mut command = endpoint.postgres_command(environment, "pgbench");
        let threads = clients.min(environment.cores);
        command.args(["-n", "-M", "prepared", "-c", &clients.to_string(), "-j", &threads.to_string()]);
        command.args(["-T", &seconds.to_string()]);
        let mut run_ours = |(file, _): (&str, &str)| {
            command.args(["-s", &load.scale.to_string(), "-f"]).arg(environment.folder.join(file));
        };
        match self.0 {
            Script::TpcB => {}
            Script::SelectOnly => {
                command.arg("-S");
            }
            Script::Call => run_ours(CALL),
            Script::Query => run_ours(QUERY),
        }
        command.arg(&endpoint.database);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Figures, CompareError> {
        Ok(Figures {
            tps: number(output, "tps")?,
            latency_ms_average: number(output, "latency average")?,
            transactions: number(output, "number of transactions actually processed")?,
            failed: number(output, "number of failed transactions")?,
            aborted_clients: output
                .lines()
                .filter(|line| line.contains(": error: client ") && line.contains("abort"))
                .count() as u64,
        })
    }

    fn version(&self, environment: &Environment) -> Result<String, CompareError> {
        let mut command = Command::new(environment.postgres_programs.join("pgbench"));
        command.arg("--version");
        environment.run(command, "version", STATEMENT_TIME_MAX).map(|text| text.trim().to_string())
    }
}

/// The newest PostgreSQL on this machine: the folder of its programs.
pub fn find_programs() -> Result<PathBuf, CompareError> {
    let root = Path::new("/usr/lib/postgresql");
    let versions = fs::read_dir(root).into_iter().flatten().flatten();
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

    const CLIENT: Pgbench = Pgbench(Script::TpcB);
    const OUTPUT: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
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
        let figures = CLIENT.parse(OUTPUT).expect("it is complete");
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
        assert_eq!(CLIENT.parse(&output).expect("it is complete").aborted_clients, 1);
    }

    /// Output that cannot be read must be shown, not taken for zero.
    #[test]
    fn unknown_output_is_an_error() {
        assert!(matches!(CLIENT.parse("tps = many\n"), Err(CompareError::Output { field: "tps", .. })));
        assert!(matches!(CLIENT.parse(""), Err(CompareError::Output { .. })));
    }
}
