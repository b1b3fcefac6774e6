//! Memory servers and writers as processes of their own: this very program, started again. All are ended by whoever started them.

use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions};
use network_memory::host::remote_log::{LogTerms, RemoteLog};
use network_memory::names::{LogId, RecordNumber, RecordReceipt};
use network_memory::writer::{Intent, LogEvent};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SERVE: &str = "NETWORK_MEMORY_TEST_SERVE";
const WRITE: &str = "NETWORK_MEMORY_TEST_WRITE";
/// Nothing that should come takes longer, on whatever machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a server's memory, unless a test wants it to be full.
pub const CAPACITY: u64 = 16 << 20;

/// The child: a memory server. Without its address in the environment it has nothing to do.
#[test]
fn child_serves_memory() {
    let Ok(words) = env::var(SERVE) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let options = MemoryServerOptions {
        listen: words[0].parse().expect("an address"),
        capacity_bytes: words[1].parse().expect("a capacity"),
        quota_bytes: None,
        save: words.get(2).map(PathBuf::from),
        keys: None,
    };
    let server = MemoryServer::start(options).expect("it starts");
    let address = server.address().expect("an address");
    writeln!(std::io::stderr(), "{address} {:?}", server.reloaded()).expect("the parent listens");
    server.serve().expect("it serves and saves");
}

/// The child: appends numbered records until it is killed, and tells of each receipt.
#[test]
fn child_writes_until_it_is_killed() {
    let Ok(words) = env::var(WRITE) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let log = LogId(words[0].parse().expect("a log"));
    let servers = words[2..].iter().map(|word| word.parse().expect("an address")).collect();
    let terms = LogTerms::new(log, 2, servers, Some(words[1].into()));
    let mut log = RemoteLog::open(LogTerms { time: PATIENCE, ..terms }).expect("it opens");
    let mut pipe = std::io::stderr().lock();
    loop {
        let number = log.extent().1;
        let (position, receipt) = log.append(&record(number), PATIENCE).expect("a receipt");
        assert_eq!(position, number);
        writeln!(pipe, "{position} {receipt}").expect("the parent listens");
    }
}

/// What stands at a position.
pub fn record(position: RecordNumber) -> Vec<u8> {
    format!("record {position} {}", "x".repeat(position.0 as usize % 100)).into_bytes()
}

fn child(test: &str, variable: &str, words: &str) -> Child {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture"]).env(variable, words);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a child")
}

/// A memory server's process, which ends with this value.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
    /// What it said of its start.
    pub started: String,
    capacity: u64,
    folder: Option<PathBuf>,
}

impl Served {
    pub fn start() -> Served {
        Served::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), CAPACITY, None)
    }

    pub fn start_at(address: SocketAddr, capacity: u64, folder: Option<&Path>) -> Served {
        let folder = folder.map(Path::to_path_buf);
        let words = format!(
            "{address} {capacity}{}",
            folder.iter().map(|path| format!(" {}", path.display())).collect::<String>()
        );
        let mut child = child("processes::child_serves_memory", SERVE, &words);
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut started = String::new();
        lines.read_line(&mut started).expect("it starts");
        let address = started.split(' ').next().and_then(|word| word.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the server has not started: {started}"));
        // What it says later is read, or it would wait for that.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Served { child, address, started, capacity, folder }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process");
        kill_process(pid, signal).expect("it is there");
    }

    /// It loses its memory.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }

    /// It is told to end, and saves its memory.
    pub fn end(&mut self) {
        self.signal(Signal::TERM);
        assert!(self.child.wait().expect("it ends").success(), "it has not saved its memory");
    }

    /// It starts again where it was.
    pub fn restart(&mut self) {
        *self = Served::start_at(self.address, self.capacity, self.folder.as_deref());
    }

    /// It stops; it has when this returns.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process");
        let stopped = waitpid(Some(pid), WaitOptions::UNTRACED).expect("a child").expect("it has changed");
        assert!(stopped.1.stopped(), "it has ended instead");
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn serve(count: usize) -> (Vec<Served>, Vec<SocketAddr>) {
    let served: Vec<Served> = (0..count).map(|_| Served::start()).collect();
    let addresses = served.iter().map(|served| served.address).collect();
    (served, addresses)
}

/// A writer's process; the position of the last record that it had a receipt for when it was killed.
pub fn write_and_kill(log: LogId, folder: &Path, servers: &[SocketAddr], receipts: usize) -> RecordNumber {
    let addresses: String = servers.iter().map(|address| format!(" {address}")).collect();
    let words = format!("{} {}{addresses}", log.0, folder.display());
    let mut child = child("processes::child_writes_until_it_is_killed", WRITE, &words);
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    for _ in 0..receipts {
        line.clear();
        assert!(lines.read_line(&mut line).expect("a pipe") > 0, "the writer died by itself");
        assert!(line.contains("memory of 2 servers") || line.contains("disk"), "no receipt: {line}");
    }
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("a pipe");
    let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
    let last = whole.lines().last().unwrap_or(line.trim_end());
    RecordNumber(last.split(' ').next().and_then(|word| word.parse().ok()).expect("a position"))
}

/// A new log on these servers.
pub fn create(terms: LogTerms) -> RemoteLog {
    RemoteLog::open(LogTerms { intent: Intent::Create, time: PATIENCE, ..terms }).expect("a new log")
}

/// A log that exists.
pub fn open(terms: LogTerms) -> RemoteLog {
    RemoteLog::open(LogTerms { time: PATIENCE, ..terms }).expect("the log opens")
}

/// Appends numbered records until one has a receipt of this kind.
pub fn append_until(log: &mut RemoteLog, wanted: fn(RecordReceipt) -> bool) {
    let begun = Instant::now();
    loop {
        let number = log.extent().1;
        let (position, receipt) = log.append(&record(number), PATIENCE).expect("a receipt");
        assert_eq!(position, number);
        if wanted(receipt) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "still {receipt}: {:?}, {:?}", log.status(), log.events());
    }
}

pub fn is_memory(receipt: RecordReceipt) -> bool {
    matches!(receipt, RecordReceipt::Memory { .. })
}

pub fn is_disk(receipt: RecordReceipt) -> bool {
    receipt == RecordReceipt::Disk
}

/// Every record of the log is what was appended.
pub fn check_records(log: &RemoteLog) {
    let (from, end) = log.extent();
    for position in (from.0..end.0).map(RecordNumber) {
        assert_eq!(log.read(position).as_deref(), Some(&record(position)[..]), "record {position}");
    }
}

/// Whether this is among what has happened.
pub fn has_happened(log: &mut RemoteLog, is_it: impl Fn(&LogEvent) -> bool) -> bool {
    log.events().iter().any(is_it)
}
