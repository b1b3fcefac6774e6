//! A PostgreSQL 15 of our own for one test or comparison. It ends with that, and its data with it.
#![expect(clippy::disallowed_types, reason = "only the crate is pure; its tests talk to a server")]

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where Debian and its like keep PostgreSQL 15; elsewhere it is looked for along `PATH`.
const USUAL: &str = "/usr/lib/postgresql/15/bin";

/// The running server, whose user `raid` needs no password.
pub struct Throwaway {
    /// Where it listens.
    pub address: String,
    folder: PathBuf,
    programs: PathBuf,
    user: Option<(u32, u32)>,
}

impl Throwaway {
    /// Starts one; `None`, said aloud, where there is no PostgreSQL 15, or nobody whom it would run as.
    pub fn start() -> Option<Throwaway> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::iter::once(PathBuf::from(USUAL)).chain(std::env::split_paths(&paths));
        let Some(programs) = folders.find(|folder| is_fifteen(folder)) else {
            println!("left out: PostgreSQL 15 is not installed");
            return None;
        };
        let Some(user) = unprivileged() else {
            println!("left out: PostgreSQL does not run as root, and there is nobody else");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("beside-postgresql-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder of our own");
        if let Some((id, group)) = user {
            chown(&folder, Some(id), Some(group)).expect("root may give it away");
        }
        // Asked for and given back: another process may take it first, and then the server says so.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        let server = Throwaway { address: free.to_string(), folder, programs, user };
        let data = server.folder.join("data");
        server.run(
            "initdb",
            &["-U", "raid", "-A", "trust", "--locale=C", "-E", "UTF8", "-N", "-D", &data.to_string_lossy()],
        );
        let options = format!("-h 127.0.0.1 -p {} -c fsync=off -c unix_socket_directories=", free.port());
        server.run("pg_ctl", &["-D", &data.to_string_lossy(), "-w", "-o", &options, "start"]);
        Some(server)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((id, group)) = self.user {
            command.uid(id).gid(group);
        }
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = self.command(program).args(arguments).status().expect("it can be started");
        assert!(status.success(), "{program} {arguments:?} has failed");
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let data = self.folder.join("data");
        let _ = self.command("pg_ctl").arg("-D").arg(&data).args(["-w", "-m", "immediate", "stop"]).status();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_fifteen(folder: &Path) -> bool {
    let asked = Command::new(folder.join("postgres")).arg("--version").output();
    let programs = ["initdb", "pg_ctl"].iter().all(|program| folder.join(program).is_file());
    programs && asked.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(" 15."))
}

/// Whom the server runs as: `Some(None)` for ourselves; `None` for a root without anybody else.
fn unprivileged() -> Option<Option<(u32, u32)>> {
    let ourselves = std::fs::metadata("/proc/self").map(|status| status.uid()).unwrap_or(1);
    if ourselves != 0 {
        return Some(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres:", "nobody:"].iter().find_map(|name| {
        let account = accounts.lines().find(|line| line.starts_with(name))?;
        let mut fields = account.split(':').skip(2);
        Some(Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?)))
    })
}
