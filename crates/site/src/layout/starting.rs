//! Starting a process with servers of a site.
//!
//! Invariants: it can be called when it counts as started, or it is gone; it says so within a bounded time; nothing here needs the site's servers.

use crate::layout::line::{Line, Way};
use crate::layout::{Meeting, name_of};
use crate::limits;
use messages::ServerKind;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
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

/// A process that can be called.
pub(crate) struct Running {
    pub(crate) way: Way,
    /// Its other end ends the process when it is closed.
    pub(crate) _stdin: ChildStdin,
    pub(crate) child: Owned,
}

/// What it takes to start a process.
pub(crate) struct Starter {
    pub(crate) process: ServerKind,
    /// The name of the socket where it will listen.
    pub(crate) line: String,
    pub(crate) program: PathBuf,
    pub(crate) meeting: Arc<Meeting>,
    /// The file that it is told to read.
    pub(crate) config: PathBuf,
}

impl Starter {
    /// Starts it.
    pub(crate) fn spawn(self) -> Result<Starting, String> {
        let Starter { process, line, program, config, .. } = &self;
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
    starter: Starter,
    child: Owned,
    begun: Instant,
}

impl Starting {
    /// Waits until it can be called.
    pub(crate) fn wait(self) -> Result<Running, String> {
        let Starting { starter: Starter { process, line, meeting, .. }, mut child, begun } = self;
        let output = child.0.stdout.take().expect("its standard output is a pipe");
        wait_until_ready(process, output, limits::PROCESS_START_MAX.saturating_sub(begun.elapsed()))?;
        let pid = child.0.id();
        let line = Line::connect(&meeting, &line)
            .map_err(|error| format!("the {process}'s process (pid {pid}) cannot be called: {error}"))?;
        let stdin = child.0.stdin.take().expect("its standard input is a pipe");
        Ok(Running { way: Way { process, pid, line: Arc::new(Mutex::new(line)) }, _stdin: stdin, child })
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
