//! Starting a process with servers of a site, or reaching one on another host.
//!
//! Invariants: it can be called when it counts as started, or it is gone; it says so within a bounded time; nothing here needs the site's servers.

use crate::config::SiteConfig;
use crate::layout::line::{CallLine, ProcessPath};
use crate::layout::{Meeting, name_of};
use crate::limits;
use crate::protection::{self, WantedProtection};
use messages::ServerKind;
use raidcomm::remote;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// What a process says on its standard output when it can be called.
pub(crate) const READY: &str = "ready\n";

/// A process that is ended, and waited for, when nobody has it any more.
pub(crate) struct Owned(pub(crate) Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that can be called. It ends soon after this has gone, or forgets the site's servers if it is on another host.
pub(crate) struct RunningProcess {
    pub(crate) way: ProcessPath,
    /// Its other end ends the process when it is closed.
    pub(crate) _stdin: Option<ChildStdin>,
    /// A process of this host.
    pub(crate) child: Option<Owned>,
}

/// What it takes to have a process to which a server shall be moved.
pub(crate) enum Starter {
    /// On this host it is started.
    Process(ProcessStarter),
    /// On another one it waits.
    Host(HostReacher),
}

impl Starter {
    /// Waits until it can be called.
    pub(crate) fn start(self) -> Result<RunningProcess, String> {
        match self {
            Starter::Process(starter) => starter.spawn()?.wait(),
            Starter::Host(reacher) => reacher.reach(),
        }
    }
}

/// What it takes to reach a process that waits on another host.
pub(crate) struct HostReacher {
    pub(crate) address: SocketAddr,
    pub(crate) config: Arc<SiteConfig>,
}

impl HostReacher {
    /// Makes a line with it.
    pub(crate) fn reach(self) -> Result<RunningProcess, String> {
        let HostReacher { address, config } = self;
        let identity = identity(&config, ("the other host's address".to_owned(), address))?;
        let client = remote::RemoteLineClient::connect(address, &identity, limits::HOST_GREETING_MAX)
            .map_err(|error| format!("{address} takes no servers: {error}"))?;
        let way =
            ProcessPath::new(format!("the process at {address}"), 0, limits::HOST_SILENCE_MAX, CallLine::over(client));
        Ok(RunningProcess { way, _stdin: None, child: None })
    }
}

/// How the two ends of a line between hosts know each other. One of them is at this address.
pub(crate) fn identity(config: &SiteConfig, address: (String, SocketAddr)) -> Result<remote::LineIdentity, String> {
    let wanted = WantedProtection { keys: config.keys.as_ref(), clear: config.clear };
    let keys =
        protection::keys(wanted, config.instance(), config.site(), [address]).map_err(|error| error.to_string())?;
    // A server's state is of one version of the program.
    let program = concat!("servers ", env!("CARGO_PKG_VERSION"));
    Ok(remote::LineIdentity { instance: config.instance(), site: config.site(), program, keys })
}

/// What it takes to start a process.
pub(crate) struct ProcessStarter {
    pub(crate) process: ServerKind,
    /// The name of the socket where it will listen.
    pub(crate) line: String,
    pub(crate) program: PathBuf,
    pub(crate) meeting: Arc<Meeting>,
    /// The file that it is told to read.
    pub(crate) config: PathBuf,
}

impl ProcessStarter {
    /// Starts it.
    pub(crate) fn spawn(self) -> Result<Starting, String> {
        let ProcessStarter { process, line, program, config, .. } = &self;
        let mut command = Command::new(program);
        command.args(["server", "--kind", &name_of(*process), "--line", line, "--config"]).arg(config);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let child = child.map_err(|error| format!("no process for the {process}: {}: {error}", program.display()))?;
        Ok(Starting { starter: self, child: Owned(child), begun: Instant::now() })
    }
}

/// A process that has begun.
pub(crate) struct Starting {
    starter: ProcessStarter,
    child: Owned,
    begun: Instant,
}

impl Starting {
    /// Waits until it can be called.
    pub(crate) fn wait(self) -> Result<RunningProcess, String> {
        let Starting { starter: ProcessStarter { process, line, meeting, .. }, mut child, begun } = self;
        let output = child.0.stdout.take().expect("its standard output is a pipe");
        wait_until_ready(process, output, limits::PROCESS_START_MAX.saturating_sub(begun.elapsed()))?;
        let pid = child.0.id();
        let line = CallLine::connect(&meeting, &line)
            .map_err(|error| format!("the {process}'s process (pid {pid}) cannot be called: {error}"))?;
        let stdin = child.0.stdin.take().expect("its standard input is a pipe");
        let way = ProcessPath::new(format!("the {process}'s process (pid {pid})"), pid, limits::CALL_TIME_MAX, line);
        Ok(RunningProcess { way, _stdin: Some(stdin), child: Some(child) })
    }
}

fn wait_until_ready(process: ServerKind, output: ChildStdout, time: Duration) -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    // It ends with the process's output, and so with the process if that is late.
    let reader = std::thread::Builder::new().name("ready".to_owned()).spawn(move || {
        let mut said = String::new();
        let read = BufReader::new(output).read_line(&mut said);
        // Nobody waits any more for what comes too late.
        let _ = sender.send(read.is_ok() && said == READY);
    });
    reader.map_err(|error| format!("no thread to wait for the {process}'s process: {error}"))?;
    match receiver.recv_timeout(time) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("the {process}'s process ended before it could be called; its log lines say why")),
        Err(_) => {
            let seconds = limits::PROCESS_START_MAX.as_secs();
            Err(format!(
                "the {process}'s process could not be called within {seconds} s, and was ended; its log lines may say why"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a process that hangs while it starts holds up the site for ever, or stays behind.
    #[test]
    fn a_process_that_says_nothing_is_not_waited_for_without_bound() {
        let mut command = Command::new("cat");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("every system has cat");
        let mut child = Owned(child);
        let output = child.0.stdout.take().expect("it is a pipe");
        let error = wait_until_ready(ServerKind::ActionDriver, output, Duration::from_millis(20));
        let error = error.expect_err("it never says that it is ready");
        assert!(error.contains("action driver") && error.contains("was ended"), "{error}");
        let entry = PathBuf::from(format!("/proc/{}", child.0.id()));
        assert!(entry.exists());
        drop(child);
        assert!(!entry.exists(), "it has ended, and was waited for");
    }
}
