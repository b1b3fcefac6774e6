//! A database's process, seen from the one that measures: it is given the name of a traversal and answers with how long that took.
//!
//! Invariant: what it answers is what its database has done, commit included; starting, building and undoing are not counted.

use laboratory_harness::process::Process;
use laboratory_harness::{Failure, Outcome};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::design::Design;
use super::orders::{Answer, STATUS, Settings};
use super::traversal::Traversal;
use crate::memory::hosts::Hosts;
use crate::memory::job::Job;
use crate::memory::laboratory::Laboratory;

/// A database's process.
#[derive(Debug)]
pub struct Store {
    process: Process,
    /// What it says of itself at its start.
    pub about: String,
}

impl Store {
    /// That of a process which has just been started; waits until its database is built.
    ///
    /// # Errors
    /// It could not be.
    pub fn of(process: Process) -> Outcome<Store> {
        let mut store = Store { process, about: String::new() };
        store.about = store.words()?;
        Ok(store)
    }

    fn answer(&mut self) -> Outcome<Answer> {
        match serde_json::from_str(&self.process.line()?)? {
            Answer::Failed(reason) => Err(Failure::Wrong(reason)),
            answer => Ok(answer),
        }
    }

    fn words(&mut self) -> Outcome<String> {
        match self.answer()? {
            Answer::Ready(words) => Ok(words),
            answer => Err(Failure::Wrong(format!("a database says {answer:?}"))),
        }
    }

    /// What it says of itself now.
    ///
    /// # Errors
    /// It has ended.
    pub fn status(&mut self) -> Outcome<String> {
        self.process.order(STATUS)?;
        self.words()
    }

    /// Runs a traversal; returns milliseconds and how many parts it was about.
    ///
    /// # Errors
    /// The database fails.
    pub fn run(&mut self, traversal: Traversal) -> Outcome<(f64, u64)> {
        self.process.order(&traversal.to_string())?;
        match self.answer()? {
            Answer::Traversed { nanoseconds, count } => Ok((nanoseconds as f64 / 1e6, count)),
            answer => Err(Failure::Wrong(format!("a database says {answer:?}"))),
        }
    }
}

/// Starts redb's process at a host.
///
/// # Errors
/// Its database cannot be built.
pub fn start_redb(laboratory: &Laboratory, hosts: &Hosts, host: usize, settings: Settings) -> Outcome<Store> {
    std::fs::create_dir(&settings.folder)?;
    Store::of(laboratory.start(hosts, host, &Job::Redb(settings), "run OO7 on redb")?)
}

/// What SQLite's process runs.
const SCRIPT: &str = include_str!("sqlite_store.py");

/// Starts SQLite's process at a host: a stock Python, with the extension if there are servers, which must all hold a commit.
///
/// # Errors
/// There is no such Python, or no extension, or its database cannot be built.
pub fn start_sqlite(
    laboratory: &Laboratory,
    hosts: &Hosts,
    host: usize,
    folder: &Path,
    servers: &[SocketAddr],
) -> Outcome<Store> {
    std::fs::create_dir(folder)?;
    let python = python()?;
    let design = folder.join("design.json");
    std::fs::write(&design, serde_json::to_string(&Design::new(&laboratory.scale.design))?)?;
    let mut command = hosts.command(host, Path::new(python));
    command.args(["-c", SCRIPT]).arg(design);
    let database = folder.join("oo7.db");
    if servers.is_empty() {
        command.arg(format!("file:{}", database.display()));
    } else {
        let extension = &laboratory.sqlite_extension;
        if !extension.is_file() {
            let how = "build it with `cargo build --release -p remote_sqlite`, or name it with --sqlite-extension";
            return Err(Failure::Missing(format!("SQLite's extension is not at {}: {how}", extension.display())));
        }
        let addresses: Vec<_> = servers.iter().map(SocketAddr::to_string).collect();
        let (k, addresses) = (servers.len(), addresses.join(","));
        command.arg(format!("file:{}?vfs=raid&servers={addresses}&k={k}", database.display())).arg(extension);
    }
    Store::of(Process::spawn(command, "run OO7 on SQLite")?)
}

/// A Python whose sqlite3 loads extensions.
fn python() -> Outcome<&'static str> {
    let loads = |program: &&&str| {
        let check = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)";
        let status = Command::new(program).args(["-c", check]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let found = ["/usr/bin/python3", "python3"].iter().find(loads).copied();
    found.ok_or_else(|| {
        Failure::Missing(
            "there is no Python 3 whose sqlite3 module loads extensions: install one, such as Debian's package python3"
                .to_owned(),
        )
    })
}
