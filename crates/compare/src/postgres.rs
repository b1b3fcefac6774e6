//! PostgreSQL with three copies: a primary whose commits wait for two standbys, streaming over TCP on this host.
//!
//! The server refuses to run as root; then all of it runs as an unprivileged user. Settings that differ from the defaults are in
//! [`SETTINGS`] and in the report.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::error::CompareError;
use crate::limits::{PREPARE_TIME_MAX, START_TIME_MAX, STATEMENT_TIME_MAX};
use crate::pgbench::{Client, DATABASE};
use crate::process::{Interrupt, Process, run};

/// What every server is started with. More memory and rarer checkpoints than the defaults, as anybody who cares would set them.
pub const SETTINGS: [&str; 5] = [
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
    "max_connections=100",
    "unix_socket_directories=",
];

const STANDBYS: [&str; 2] = ["standby1", "standby2"];

/// Whom the server runs as, when we are root.
#[derive(Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

/// The running servers.
pub struct Postgres {
    /// Aimed at the primary.
    pub client: Client,
    // Standbys first: what is dropped last is the primary, so that no standby complains.
    servers: Vec<Process>,
}

impl Postgres {
    /// Creates and starts all three below `folder`, on three ports from `port`, and waits until both standbys are synchronous.
    pub fn start(programs: &Path, folder: &Path, port: u16, interrupt: &Interrupt) -> Result<Postgres, CompareError> {
        let user = unprivileged_user()?;
        let home = folder.join("postgres");
        fs::create_dir(&home).map_err(CompareError::system("cannot create", &home))?;
        if let Some(user) = user {
            // The folder above is ours alone; the user must get through it.
            fs::set_permissions(folder, Permissions::from_mode(0o711))
                .map_err(CompareError::system("cannot open", folder))?;
            chown(&home, Some(user.id), Some(user.group)).map_err(CompareError::system("cannot give away", &home))?;
        }
        let client =
            Client { programs: programs.to_path_buf(), port, session_options: None, folder: folder.to_path_buf() };
        let launcher = Launcher { programs, folder, home, user, interrupt };
        launcher.initialize()?;
        let mut postgres = Postgres { client, servers: Vec::new() };
        postgres.servers.push(launcher.start("primary", port, &[])?);
        postgres.wait_until("t", "SELECT true", interrupt)?;
        for (standby, port) in STANDBYS.iter().zip(port + 1..) {
            launcher.copy(standby, postgres.client.port)?;
            let source =
                format!("host=127.0.0.1 port={} user={DATABASE} application_name={standby}", postgres.client.port);
            postgres.servers.insert(0, launcher.start(standby, port, &[format!("primary_conninfo={source}")])?);
        }
        let names = STANDBYS.join(", ");
        for sql in
            [&format!("ALTER SYSTEM SET synchronous_standby_names = 'ANY 2 ({names})'"), "SELECT pg_reload_conf()"]
        {
            postgres.client.query(sql, interrupt, STATEMENT_TIME_MAX)?;
        }
        let synchronous =
            "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum'";
        postgres.wait_until("2", synchronous, interrupt)?;
        Ok(postgres)
    }

    /// Fails if a server has ended.
    pub fn check(&mut self) -> Result<(), CompareError> {
        self.servers.iter_mut().try_for_each(Process::check_alive)
    }

    fn wait_until(&mut self, answer: &str, sql: &str, interrupt: &Interrupt) -> Result<(), CompareError> {
        let client = self.client.clone();
        let ready = interrupt.wait(START_TIME_MAX, || {
            self.check()?;
            match client.query(sql, interrupt, STATEMENT_TIME_MAX) {
                Err(CompareError::Interrupted) => Err(CompareError::Interrupted),
                // It refuses connections until it is up.
                found => Ok(found.is_ok_and(|found| found == answer)),
            }
        })?;
        if ready {
            return Ok(());
        }
        let output = self.servers.iter().map(Process::last_lines).collect();
        Err(CompareError::TimedOut {
            what: format!("PostgreSQL to answer `{answer}` to `{sql}`"),
            waited: START_TIME_MAX,
            output,
        })
    }
}

/// Starts PostgreSQL's programs as the right user.
struct Launcher<'a> {
    programs: &'a Path,
    /// For output.
    folder: &'a Path,
    /// For data.
    home: PathBuf,
    user: Option<User>,
    interrupt: &'a Interrupt,
}

impl Launcher<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(&self.home);
        if let Some(user) = self.user {
            command.uid(user.id).gid(user.group);
        }
        command
    }

    fn data(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    fn initialize(&self) -> Result<(), CompareError> {
        let mut command = self.command("initdb");
        command.args(["-U", DATABASE, "-A", "trust", "--locale=C", "-E", "UTF8", "--no-instructions", "-D"]);
        command.arg(self.data("primary"));
        run(command, &self.folder.join("initdb.log"), self.interrupt, PREPARE_TIME_MAX).map(drop)
    }

    fn copy(&self, standby: &str, port: u16) -> Result<(), CompareError> {
        let mut command = self.command("pg_basebackup");
        command.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-U",
            DATABASE,
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "-D",
        ]);
        command.arg(self.data(standby));
        run(command, &self.folder.join("pg_basebackup.log"), self.interrupt, PREPARE_TIME_MAX).map(drop)
    }

    fn start(&self, name: &str, port: u16, settings: &[String]) -> Result<Process, CompareError> {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data(name)).args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        for setting in SETTINGS.into_iter().chain(settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        // SIGINT is PostgreSQL's fast shutdown: it ends sessions and does not wait for them.
        Process::start(command, &self.folder.join(format!("postgres_{name}.log")), Signal::INT)
    }
}

/// Whom to run the server as: nobody else unless we are root, which PostgreSQL refuses.
fn unprivileged_user() -> Result<Option<User>, CompareError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let accounts =
        fs::read_to_string("/etc/passwd").map_err(CompareError::system("cannot read", Path::new("/etc/passwd")))?;
    let found = find_user(&accounts, "postgres").or_else(|| find_user(&accounts, "nobody"));
    found.map(Some).ok_or_else(|| CompareError::Missing {
        program: "the user postgres or nobody".to_string(),
        remedy: "PostgreSQL does not run as root: create one, or run this as another user".to_string(),
    })
}

/// A user by name in the text of passwd(5).
fn find_user(accounts: &str, name: &str) -> Option<User> {
    let account = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = account.split(':').skip(2).map(|field| field.parse().ok());
    Some(User { id: numbers.next()??, group: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wrong field would start a server as root, or as somebody else.
    #[test]
    fn users_are_found_by_their_whole_name() {
        let accounts =
            "root:x:0:0:root:/home:/bin/sh\npostgres2:x:5:6::/:/bin/sh\npostgres:x:101:104:,,,:/x:/bin/bash\n";
        let user = find_user(accounts, "postgres").expect("it is there");
        assert_eq!((user.id, user.group), (101, 104));
        assert!(find_user(accounts, "nobody").is_none());
    }
}
