//! A PostgreSQL server of our own for one test, to compare with.
//!
//! Invariant: it ends with the test, and its data with the folder. PostgreSQL refuses to run as root; then it runs as an unprivileged user.

use crate::harness::{eventually, postgres_program, succeeds};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs::Permissions;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The running server.
pub struct Postgres {
    /// Where it listens.
    pub address: SocketAddr,
    server: Child,
    _folder: tempfile::TempDir,
}

impl Postgres {
    /// A server with a database `raid` of a user `raid`; `None`, said aloud, where PostgreSQL is not installed.
    pub fn start() -> Option<Postgres> {
        let (initdb, server) = (postgres_program("initdb")?, postgres_program("postgres")?);
        let user = unprivileged_user()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        if let Some((id, group)) = user {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).expect("it is ours");
            chown(folder.path(), Some(id), Some(group)).expect("root may give it away");
        }
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.current_dir(folder.path());
            if let Some((id, group)) = user {
                command.uid(id).gid(group);
            }
            command
        };
        let data = folder.path().join("data");
        succeeds(
            command(&initdb).args(["-U", "raid", "-A", "trust", "--locale=C", "-E", "UTF8", "-N", "-D"]).arg(&data),
        );
        // Asked for and given back: another process may take it first, and then the server says so.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        let mut server = command(&server);
        server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &address.port().to_string()]);
        for setting in ["fsync=off", "unix_socket_directories=", "timezone=UTC", "max_connections=20"] {
            server.args(["-c", setting]);
        }
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        server.stdout(Stdio::null()).stderr(log);
        let postgres = Postgres { address, server: server.spawn().expect("it starts"), _folder: folder };
        eventually("PostgreSQL to listen", || TcpStream::connect(address).is_ok());
        let psql = postgres_program("psql")?;
        let mut create = Command::new(psql);
        create.args(["-h", "127.0.0.1", "-p", &address.port().to_string(), "-U", "raid", "-d", "postgres"]);
        create.args(["-X", "-q", "-c", "CREATE DATABASE raid"]);
        // It listens before it lets anybody in.
        eventually("PostgreSQL to make a database", || create.output().is_ok_and(|output| output.status.success()));
        Some(postgres)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGQUIT: at once, without writing anything more.
        let _ = kill_process(Pid::from_child(&self.server), Signal::QUIT);
        let _ = self.server.wait();
    }
}

/// Whom the server runs as: `Some(None)` for ourselves; `None`, said aloud, for a root without anybody else.
fn unprivileged_user() -> Option<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Some(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = ["postgres:", "nobody:"].iter().find_map(|name| {
        let account = accounts.lines().find(|line| line.starts_with(name))?;
        let mut numbers = account.split(':').skip(2).map(|field| field.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    });
    if found.is_none() {
        eprintln!("PostgreSQL does not run as root, and there is no other user: this test does nothing");
    }
    found.map(Some)
}
