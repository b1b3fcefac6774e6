//! Raid with three copies: three sites on this host, started by the program that lies beside this one.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::error::CompareError;
use crate::limits::{START_TIME_MAX, STATEMENT_TIME_MAX};
use crate::pgbench::Client;
use crate::process::{Interrupt, Process};

/// The running sites.
pub struct Raid {
    /// Aimed at the first site.
    pub client: Client,
    sites: Process,
}

impl Raid {
    /// Starts three sites below `folder`, on ports from `port`, and waits until the first one answers.
    pub fn start(
        program: &Path,
        programs: &Path,
        folder: &Path,
        port: u16,
        interrupt: &Interrupt,
    ) -> Result<Raid, CompareError> {
        let mut command = Command::new(program);
        command.args(["start", "--sites", "3", "--port", &port.to_string(), "--data"]).arg(folder.join("raid"));
        let client =
            Client { programs: programs.to_path_buf(), port, session_options: None, folder: folder.to_path_buf() };
        let mut sites = Process::start(command, &folder.join("raid.log"), Signal::TERM)?;
        let ready = interrupt.wait(START_TIME_MAX, || {
            sites.check_alive()?;
            match client.query("SELECT 1", interrupt, STATEMENT_TIME_MAX) {
                Err(CompareError::Interrupted) => Err(CompareError::Interrupted),
                // It refuses connections until it is up.
                found => Ok(found.is_ok_and(|found| found == "1")),
            }
        })?;
        if ready {
            return Ok(Raid { client, sites });
        }
        let what = "Raid to answer `1` to `SELECT 1`".to_string();
        Err(CompareError::TimedOut { what, waited: START_TIME_MAX, output: sites.last_lines() })
    }

    /// Fails if the sites have ended.
    pub fn check(&mut self) -> Result<(), CompareError> {
        self.sites.check_alive()
    }
}

/// The `raid` program of the same build.
pub fn find_program() -> Result<PathBuf, CompareError> {
    let own = std::env::current_exe().map_err(CompareError::system("cannot find", Path::new("this program")))?;
    let program = own.with_file_name("raid");
    if program.exists() {
        return Ok(program);
    }
    let profile = if cfg!(debug_assertions) { "" } else { " --release" };
    let remedy = format!("build it: cargo build{profile} -p raid, or measure PostgreSQL alone: --only postgres");
    Err(CompareError::Missing { program: program.display().to_string(), remedy })
}
