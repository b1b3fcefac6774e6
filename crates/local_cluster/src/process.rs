//! One process of a cluster: started from its configuration, watched, killed or asked to end.
//!
//! Invariants: a process ends when whoever started it is gone, because it watches the other end of its standard input; it has a
//! process group of its own, so that Ctrl-C on a terminal reaches the supervisor only; `pid` names it as long as it runs.

use crate::cluster::{ClusterDirectory, ClusterError, file_error};
use crate::limits;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Which process of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessName {
    /// The oracle.
    Oracle,
    /// The site of this number.
    Site(u16),
}

impl fmt::Display for ProcessName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessName::Oracle => formatter.write_str("the oracle"),
            ProcessName::Site(site) => write!(formatter, "site {site}"),
        }
    }
}

impl FromStr for ProcessName {
    type Err = String;

    fn from_str(text: &str) -> Result<ProcessName, String> {
        match (text, text.parse::<u16>()) {
            ("oracle", _) => Ok(ProcessName::Oracle),
            (_, Ok(site)) if site > 0 => Ok(ProcessName::Site(site)),
            _ => Err("give a site's number, from 1, or `oracle`".to_owned()),
        }
    }
}

impl ProcessName {
    /// As it is given on a command line.
    pub fn argument(self) -> String {
        match self {
            ProcessName::Oracle => "oracle".to_owned(),
            ProcessName::Site(site) => site.to_string(),
        }
    }
}

/// A started process.
#[derive(Debug)]
pub struct ClusterProcess {
    child: Child,
    started_at: Instant,
    folder: PathBuf,
    /// Where in its log text this process began.
    log_start: u64,
    ended: Option<ExitStatus>,
}

impl ClusterProcess {
    /// Starts a process of the cluster; `program` is the `raid` program. It runs in the named network namespace, if one is named: `ip`
    /// enters it and then becomes the program, so that the process number is the program's. `options` go along to it.
    pub fn start(
        program: &Path,
        cluster: &ClusterDirectory,
        name: ProcessName,
        network: Option<&str>,
        options: &[&str],
    ) -> Result<ClusterProcess, ClusterError> {
        let folder = cluster.folder_of(name);
        let log = open_log(&folder.join("log.txt"))?;
        let log_start = log.metadata().map_or(0, |metadata| metadata.len());
        let mut command = Command::new(if network.is_some() { Path::new("ip") } else { program });
        if let Some(network) = network {
            command.args(["netns", "exec", network]).arg(program);
        }
        match name {
            ProcessName::Oracle => command.arg("oracle"),
            ProcessName::Site(site) => command.args(["site", "--id", &site.to_string()]),
        };
        command.arg("--config").arg(cluster.config_of(name)).arg("--watch-stdin").args(options);
        let errors = log.try_clone().map_err(file_error(&folder))?;
        command.stdin(Stdio::piped()).stdout(Stdio::from(log)).stderr(Stdio::from(errors)).process_group(0);
        let child = command.spawn().map_err(file_error(program))?;
        let mut process = ClusterProcess { child, started_at: Instant::now(), folder, log_start, ended: None };
        let path = process.folder.join("pid");
        if let Err(error) = std::fs::write(&path, format!("{}\n", process.id())) {
            process.kill();
            return Err(file_error(&path)(error));
        }
        Ok(process)
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How long ago it was started.
    pub fn age(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.note_end(status);
        }
        self.ended
    }

    /// Kills it: SIGKILL, nothing is flushed or told to anybody.
    pub fn kill(&mut self) {
        if self.ended().is_none() {
            // An error means that it has just ended.
            let _ = self.child.kill();
            if let Ok(status) = self.child.wait() {
                self.note_end(status);
            }
        }
    }

    /// Sends a signal, unless it has ended: a process that has not been waited for keeps its number.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none()
            && let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, signal);
        }
    }

    /// What it logged last.
    pub fn last_lines(&self) -> String {
        last_lines(&self.folder.join("log.txt"), self.log_start).unwrap_or_default()
    }

    fn note_end(&mut self, status: ExitStatus) {
        self.ended = Some(status);
        let _ = std::fs::remove_file(self.folder.join("pid"));
    }
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "ended".to_owned(),
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => {
            let name = match signal {
                2 => "SIGINT",
                6 => "SIGABRT",
                9 => "SIGKILL",
                11 => "SIGSEGV",
                15 => "SIGTERM",
                _ => return format!("was killed by signal {signal}"),
            };
            format!("was killed by {name}")
        }
        (None, None) => "ended".to_owned(),
    }
}

fn open_log(path: &Path) -> Result<File, ClusterError> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > limits::LOG_TEXT_BYTES_MAX) {
        std::fs::rename(path, path.with_extension("old.txt")).map_err(file_error(path))?;
    }
    OpenOptions::new().create(true).append(true).open(path).map_err(file_error(path))
}

fn last_lines(path: &Path, start: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(start.max(length.saturating_sub(limits::LOG_TAIL_BYTES))))?;
    let mut bytes = Vec::new();
    file.take(limits::LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(limits::LOG_LINES_SHOWN)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `raid kill` must not guess which process a mistyped name means.
    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [ProcessName::Oracle, ProcessName::Site(1), ProcessName::Site(16)] {
            assert_eq!(name.argument().parse(), Ok(name));
        }
        for text in ["0", "-1", "site", "", "1 2", "70000"] {
            assert!(text.parse::<ProcessName>().is_err(), "{text:?} names nothing");
        }
    }

    /// What is shown of a dead process must be its own last words, not those of the life before.
    #[test]
    fn the_last_lines_are_of_this_life() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("log.txt");
        let before = "an earlier life\n";
        let lines: Vec<String> = (0..40).map(|line| format!("line {line}")).collect();
        std::fs::write(&path, format!("{before}{}\n", lines.join("\n"))).expect("the folder can be written");
        let shown = last_lines(&path, before.len() as u64).expect("the file can be read");
        assert_eq!(shown, lines[40 - limits::LOG_LINES_SHOWN..].join("\n"));
        std::fs::write(&path, format!("{before}alone\n")).expect("the folder can be written");
        assert_eq!(last_lines(&path, before.len() as u64).expect("the file can be read"), "alone");
    }
}
