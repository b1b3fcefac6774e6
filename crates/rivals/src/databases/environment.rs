//! What every contender is started with: folders, programs, ports, hosts, and the user that servers run as.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::databases::error::CompareError;
use crate::databases::hosts::{Host, Hosts};
use crate::databases::process::{Interrupt, run};

/// What all parties share.
pub struct Environment {
    /// Everything that is written lies below it.
    pub folder: PathBuf,
    /// Where the programs of PostgreSQL are, pgbench and psql among them.
    pub postgres_programs: PathBuf,
    /// Our own program, if it was named on the command line.
    pub raid_program: Option<PathBuf>,
    /// First TCP port; each contender has ports of its own above it.
    pub port: u16,
    /// Cores that this process may use.
    pub cores: usize,
    /// Where servers and clients run.
    pub hosts: Hosts,
    /// Set once the user wants to stop.
    pub interrupt: Interrupt,
}

impl Environment {
    /// Where the output of a program goes.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Runs a command to its end and gives its output; fails if it does not succeed within `limit`.
    pub fn run(&self, command: Command, name: &str, limit: Duration) -> Result<String, CompareError> {
        run(command, &self.log(name), &self.interrupt, limit)
    }

    /// A folder for the data of servers that run as `user`.
    pub fn data_folder(&self, name: &str, user: Option<User>) -> Result<PathBuf, CompareError> {
        let home = self.folder.join(name);
        fs::create_dir(&home).map_err(CompareError::system("cannot create", &home))?;
        if let Some(user) = user {
            // The folder above is ours alone; the user must get through it.
            fs::set_permissions(&self.folder, Permissions::from_mode(0o711))
                .map_err(CompareError::system("cannot open", &self.folder))?;
            chown(&home, Some(user.id), Some(user.group)).map_err(CompareError::system("cannot give away", &home))?;
        }
        Ok(home)
    }
}

/// A folder for one run, removed with what is returned: below `data`, which is made if it is not there, or below the system's temporary folder.
pub fn run_folder(data: Option<&Path>) -> Result<TempDir, CompareError> {
    let parent = data.map_or_else(std::env::temp_dir, Path::to_path_buf);
    fs::create_dir_all(&parent).map_err(CompareError::system("cannot create", &parent))?;
    let parent = absolute(&parent)?;
    let folder = tempfile::Builder::new().prefix("raid_compare_").tempdir_in(&parent);
    folder.map_err(CompareError::system("cannot create a folder in", &parent))
}

/// A path that leads there from every folder: servers are started in folders of their own.
pub fn absolute(path: &Path) -> Result<PathBuf, CompareError> {
    path.canonicalize().map_err(CompareError::system("cannot use", path))
}

/// Whom a server runs as, when we are root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    id: u32,
    group: u32,
}

impl User {
    /// Whom to run a server as that does not run as root: nobody else unless we are, then the first of `names` that exists.
    ///
    /// # Errors
    /// We are root and there is no user of these names.
    pub fn for_server(names: &[&str]) -> Result<Option<User>, CompareError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let path = Path::new("/etc/passwd");
        let accounts = fs::read_to_string(path).map_err(CompareError::system("cannot read", path))?;
        let found = names.iter().find_map(|name| find_user(&accounts, name));
        found.map(Some).ok_or_else(|| CompareError::Missing {
            program: format!("the user {}", names.join(" or ")),
            remedy: "the server does not run as root: create one, or run this as another user".to_string(),
        })
    }
}

/// A command that runs `program` on a host as `user`; its process number is the program's own.
pub fn command_as(host: &Host, user: Option<User>, program: &Path) -> Command {
    let Some(User { id, group }) = user else { return host.command(program) };
    // Entering a namespace takes root's rights, so that they are given up behind it.
    let mut command = host.command(Path::new("setpriv"));
    command.args([&format!("--reuid={id}"), &format!("--regid={group}"), "--clear-groups", "--"]).arg(program);
    command
}

/// A user by name in the text of passwd(5).
fn find_user(accounts: &str, name: &str) -> Option<User> {
    let account = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = account.split(':').skip(2).map(|field| field.parse().ok());
    Some(User { id: numbers.next()??, group: numbers.next()?? })
}

/// A program by name in the search path, or where Debian keeps servers.
///
/// # Errors
/// It is not there; `package` is what to install.
pub fn find_program(name: &str, package: &str) -> Result<PathBuf, CompareError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")]);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file()).ok_or_else(|| CompareError::Missing {
        program: name.to_string(),
        remedy: format!("install it (Debian: apt-get install {package}), or leave it out: see --only and --load"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever names a new disk's folder would be told that it is not there.
    #[test]
    fn the_folder_for_data_is_made() {
        let above = tempfile::tempdir().expect("a temporary folder");
        let data = above.path().join("new").join("data");
        let folder = run_folder(Some(&data)).expect("made");
        assert_eq!(folder.path().parent(), Some(absolute(&data).expect("it is there").as_path()));
    }

    /// The wrong field would start a server as root, or as somebody else.
    #[test]
    fn users_are_found_by_their_whole_name() {
        let accounts =
            "root:x:0:0:root:/home:/bin/sh\npostgres2:x:5:6::/:/bin/sh\npostgres:x:101:104:,,,:/x:/bin/bash\n";
        assert_eq!(find_user(accounts, "postgres"), Some(User { id: 101, group: 104 }));
        assert_eq!(find_user(accounts, "nobody"), None);
    }

    /// A remedy that names no package leaves the reader without one.
    #[test]
    fn a_missing_program_says_what_to_install() {
        assert!(find_program("sh", "dash").is_ok());
        let error = find_program("no-such-program", "some-package").expect_err("it is not there").to_string();
        assert!(error.contains("some-package"), "{error}");
    }
}
