//! Processes with an owner: one that is dropped here is ended there.
//!
//! Output goes to files, so that no process ever waits for us to read. Processes are ended by process id, first politely, then by
//! force; by force, their descendants too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::databases::error::CompareError;
use crate::databases::limits::{OUTPUT_LINES_SHOWN, POLL_INTERVAL, STOP_TIME_MAX};

/// Set once the user wants to stop.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens to Ctrl-C, to hang-ups and to requests to terminate.
    pub fn listen() -> Result<Interrupt, CompareError> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .map_err(CompareError::system("cannot listen to signals of", Path::new("this process")))?;
        }
        Ok(Interrupt(flag))
    }

    /// Fails once the user wants to stop.
    pub fn check(&self) -> Result<(), CompareError> {
        if self.0.load(Ordering::Relaxed) { Err(CompareError::Interrupted) } else { Ok(()) }
    }

    /// Asks `ready` again and again until it says yes, the user wants to stop, or `limit` has passed (false).
    pub fn wait(
        &self,
        limit: Duration,
        mut ready: impl FnMut() -> Result<bool, CompareError>,
    ) -> Result<bool, CompareError> {
        let begin = Instant::now();
        while !ready()? {
            self.check()?;
            if begin.elapsed() > limit {
                return Ok(false);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(true)
    }
}

/// A running process.
pub struct Process {
    child: Child,
    command: String,
    output: PathBuf,
    /// How it is asked to stop.
    polite: Signal,
}

impl Process {
    /// Starts a command; its output and errors go to the file `output`.
    pub fn start(mut command: Command, output: &Path, polite: Signal) -> Result<Process, CompareError> {
        let open = || File::create(output).map_err(CompareError::system("cannot write", output));
        let file = open()?;
        let errors = file.try_clone().map_err(CompareError::system("cannot write", output))?;
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let program = PathBuf::from(command.get_program());
        let line = display(&command);
        let child = command.spawn().map_err(CompareError::system("cannot start", &program))?;
        Ok(Process { child, command: line, output: output.to_path_buf(), polite })
    }

    /// Fails if the process has ended: for servers, which should not.
    pub fn check_alive(&mut self) -> Result<(), CompareError> {
        match self.status()? {
            None => Ok(()),
            Some(status) => Err(self.failure(status)),
        }
    }

    /// Waits for the end; a process that takes longer than `limit` is ended.
    pub fn finish(mut self, interrupt: &Interrupt, limit: Duration) -> Result<(ExitStatus, String), CompareError> {
        let mut status = None;
        let in_time = interrupt.wait(limit, || {
            status = self.status()?;
            Ok(status.is_some())
        })?;
        // Ctrl-C reaches the process as well as us; its early end is then no failure of its own.
        interrupt.check()?;
        match status.filter(|_| in_time) {
            Some(status) => Ok((status, fs::read_to_string(&self.output).unwrap_or_default())),
            None => Err(CompareError::TimedOut {
                what: format!("`{}` to end", self.command),
                waited: limit,
                output: last_lines(&self.output),
            }),
        }
    }

    /// Processor time so far of its threads that still run.
    ///
    /// # Errors
    /// It has ended.
    pub fn processor_time(&self) -> Result<Duration, CompareError> {
        let folder = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let threads = fs::read_dir(&folder).map_err(CompareError::system("cannot read", &folder))?;
        Ok(threads.flatten().filter_map(|thread| processor_time_of(&thread.path())).sum())
    }

    /// The end of its output, for messages.
    pub fn last_lines(&self) -> String {
        last_lines(&self.output)
    }

    fn status(&mut self) -> Result<Option<ExitStatus>, CompareError> {
        self.child.try_wait().map_err(CompareError::system("cannot wait for", Path::new(&self.command)))
    }

    fn failure(&self, status: ExitStatus) -> CompareError {
        CompareError::Failed { command: self.command.clone(), status: status.to_string(), output: self.last_lines() }
    }

    /// Asks, waits, then kills. Never fails: there is nothing more that could be done.
    fn end(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill_process(Pid::from_child(&self.child), self.polite);
        let begin = Instant::now();
        while begin.elapsed() < STOP_TIME_MAX {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        self.kill();
    }

    /// Kills it with all descendants, which would otherwise stay, with their ports.
    fn kill(&mut self) {
        for descendant in descendants(Pid::from_child(&self.child)) {
            let _ = kill_process(descendant, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Processor time so far of a process or thread by its folder (proc(5), `schedstat`: the first field, in nanoseconds).
pub fn processor_time_of(folder: &Path) -> Option<Duration> {
    let text = fs::read_to_string(folder.join("schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Runs a command to its end and gives its output; fails if it does not succeed within `limit`.
pub fn run(command: Command, output: &Path, interrupt: &Interrupt, limit: Duration) -> Result<String, CompareError> {
    let line = display(&command);
    let (status, text) = Process::start(command, output, Signal::TERM)?.finish(interrupt, limit)?;
    if status.success() {
        Ok(text)
    } else {
        Err(CompareError::Failed { command: line, status: status.to_string(), output: last_lines(output) })
    }
}

fn display(command: &Command) -> String {
    let parts = std::iter::once(command.get_program()).chain(command.get_args());
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn last_lines(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES_SHOWN)..].iter().map(|line| format!("    {line}\n")).collect()
}

/// All processes below `pid`, nearest first.
fn descendants(pid: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(Pid, Pid)> = entries
        .filter_map(|entry| {
            let own = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((own, parent_of(&stat)?))
        })
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(own, _)| *own));
        next += 1;
    }
    found.split_off(1)
}

/// The parent in a line of `/proc/<pid>/stat` (proc(5)): the second field behind the name, which may hold any character.
fn parent_of(stat: &str) -> Option<Pid> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::limits::START_TIME_MAX;

    /// A process named `a) S 1` would otherwise be taken for a child of init and survive us.
    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("7 (a) S 1 (b)) R 42 7 7").map(Pid::as_raw_nonzero).map(i32::from), Some(42));
        assert_eq!(parent_of("nonsense"), None);
    }

    /// Were grandchildren missed, a killed server would leave its workers and their ports behind.
    #[test]
    fn a_killed_process_takes_its_descendants_along() {
        let folder = tempfile::tempdir().expect("a folder");
        let interrupt = Interrupt(Arc::new(AtomicBool::new(false)));
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo started; wait"]);
        let mut process = Process::start(command, &folder.path().join("log"), Signal::TERM).expect("sh starts");
        let started = interrupt.wait(START_TIME_MAX, || Ok(process.last_lines().contains("started")));
        assert!(started.expect("not interrupted"), "sh did not start");
        let children = descendants(Pid::from_child(&process.child));
        assert_eq!(children.len(), 1, "sleep is the child of sh");
        process.kill();
        // An ended process may stay a zombie until whoever adopted it looks; it runs no more.
        let runs = |pid: &Pid| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with(['Z', 'X']))
        };
        let ended = interrupt.wait(START_TIME_MAX, || Ok(!children.iter().any(runs)));
        assert!(ended.expect("not interrupted"), "sleep survived");
    }

    /// A server that died must be noticed where it is looked at, with its last words.
    #[test]
    fn an_ended_server_is_an_error_with_its_last_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let interrupt = Interrupt(Arc::new(AtomicBool::new(false)));
        let mut command = Command::new("sh");
        command.args(["-c", "echo last words; exit 3"]);
        let mut process = Process::start(command, &folder.path().join("log"), Signal::TERM).expect("sh starts");
        let found = interrupt.wait(START_TIME_MAX, || process.check_alive().map(|()| false)).expect_err("it ended");
        let CompareError::Failed { status, output, .. } = found else { panic!("{found}") };
        assert!(status.contains('3') && output.contains("last words"), "{status} {output}");
    }

    /// After Ctrl-C nothing may be waited for any longer.
    #[test]
    fn an_interrupt_ends_every_wait() {
        let interrupt = Interrupt(Arc::new(AtomicBool::new(true)));
        let waited = interrupt.wait(START_TIME_MAX, || Ok(false));
        assert!(matches!(waited, Err(CompareError::Interrupted)));
    }
}
