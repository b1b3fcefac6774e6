//! Stock programs over the extension, and memory servers as processes: what its tests, the program that kills, and the one that measures share.
//!
//! Invariant: a process that it starts ends with the value that stands for it. Whatever goes wrong here is a failed test: it panics.

use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions};
use remote_files::power_loss::{self, Snapshot};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

/// In the environment of a child that is a memory server: where it listens, and its capacity.
pub const SERVE: &str = "SQLITE_EXTENSION_TEST_SERVE";
const CAPACITY: u64 = 1 << 30;
/// What a writer runs.
const SCRIPT: &str = include_str!("stock/writer.py");

/// The child: serves until it is killed.
pub fn serve(words: &str) {
    let (address, capacity) = words.split_once(' ').expect("two words");
    let options = MemoryServerOptions {
        listen: address.parse().expect("an address"),
        capacity_bytes: capacity.parse().expect("a capacity"),
        quota_bytes: None,
        save: None,
        keys: None,
    };
    let server = MemoryServer::start(options).expect("it starts");
    writeln!(std::io::stderr(), "{}", server.address().expect("an address")).expect("the parent listens");
    server.serve().expect("it serves");
}

/// A memory server's process, which ends with this value.
pub struct MemoryServerProcess {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl MemoryServerProcess {
    /// `child` starts this program again so that it calls [`serve`].
    pub fn start(child: fn() -> Command, address: SocketAddr) -> MemoryServerProcess {
        let mut command = child();
        command.env(SERVE, format!("{address} {CAPACITY}")).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it starts");
        let address = line.trim().parse().unwrap_or_else(|_| panic!("the server has not started: {line}"));
        // What it says later is read, or it would wait for that.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        MemoryServerProcess { child, address }
    }

    /// Some, at ports that nobody else has.
    pub fn some(child: fn() -> Command, count: usize) -> Vec<MemoryServerProcess> {
        (0..count).map(|_| MemoryServerProcess::start(child, SocketAddr::from(([127, 0, 0, 1], 0)))).collect()
    }

    /// It loses its memory.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }
}

impl Drop for MemoryServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The extension that was built with this program.
pub fn extension() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let found = program.ancestors().skip(1).take(3).find_map(|folder| {
        ["", "deps"].map(|sub| folder.join(sub).join("libraid_sqlite.so")).into_iter().find(|path| path.exists())
    });
    found.expect("cargo builds the extension beside its tests")
}

/// A Python whose sqlite3 loads extensions; none if there is none on this machine.
pub fn python() -> Option<&'static str> {
    let is_right = |program: &&&str| {
        let check = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)";
        let output = Command::new(program).args(["-c", check]).stderr(Stdio::null()).status();
        output.is_ok_and(|status| status.success())
    };
    ["/usr/bin/python3", "python3"].iter().find(is_right).copied()
}

/// Whether there is a `sqlite3` program.
pub fn has_shell() -> bool {
    Command::new("sqlite3").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The URI of a database over these servers.
pub fn uri(database: &Path, servers: &[MemoryServerProcess], more: &str) -> String {
    let servers: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
    format!("file:{}?vfs=raid&servers={}&k=2{more}", database.display(), servers.join(","))
}

/// Runs the stock program over a database.
pub fn shell(uri: &str, statements: &str) -> Output {
    let mut command = Command::new("sqlite3");
    command.arg("-batch").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is installed");
    let extension = extension();
    let text = format!(".bail on\n.load {}\n.open {uri}\n{statements}\n", extension.with_extension("").display());
    // A program that has given up does not read the rest.
    let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
    child.wait_with_output().expect("it ends")
}

/// What the stock program says; it must succeed.
pub fn ask(uri: &str, statements: &str) -> String {
    let output = shell(uri, statements);
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{statements}: {out}{errors}");
    out.trim().to_owned()
}

/// A Python process that has the database open and says a line for each commit; `stock/writer.py` is what it runs.
pub struct PythonWriter {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl PythonWriter {
    /// Starts it; it says `open` once the database is, and, if wanted, once commits are durable by memory.
    pub fn start(python: &str, uri: &str, journal: &str, wants_memory: bool) -> PythonWriter {
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).arg(extension()).args([uri, journal]).args(wants_memory.then_some("memory"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it is installed");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut writer = PythonWriter { child, input, output: BufReader::new(output) };
        let line = writer.line();
        assert!(
            line.as_deref().is_some_and(|line| line.starts_with("open")),
            "the writer has not opened {uri}: {line:?}"
        );
        writer
    }

    /// What it says next; none if it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.output.read_line(&mut line).expect("a pipe");
        (count > 0 && line.ends_with('\n')).then(|| line.trim().to_owned())
    }

    /// Lets it commit so many times at most.
    pub fn order(&mut self, commits: u64) {
        writeln!(self.input, "{commits}").expect("it reads");
    }

    /// What it says of its database.
    pub fn status(&mut self) -> String {
        writeln!(self.input, "status").expect("it reads");
        self.line().expect("it answers")
    }

    /// Kills it with SIGKILL; gives the number of the last commit that it told of, at least `known`.
    pub fn kill(mut self, known: u64) -> u64 {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
        let mut last = known;
        while let Some(line) = self.line() {
            last = line.parse().unwrap_or(last);
        }
        last
    }

    /// Lets it end in order.
    pub fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

const ENDS: [&str; 3] = ["", "-journal", "-wal"];

/// A file whose name begins with the database's.
pub fn beside(database: &Path, end: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The files of a database as they are now.
pub fn snapshot(database: &Path) -> Snapshot {
    Snapshot::of(&ENDS.map(|end| beside(database, end))).expect("a disk")
}

/// A loss of power for the local log.
pub fn lose_unsynced(database: &Path) {
    power_loss::lose_unsynced(&beside(database, "-raid")).expect("a log");
}
