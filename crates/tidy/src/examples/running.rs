//! One command of an example: started by bash, read line by line, and ended.
//!
//! Invariant: nothing is waited for longer than [`COMMAND_TIME_MAX`].

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use super::page::is_as_expected;
use crate::limits::COMMAND_TIME_MAX;

/// What commands find when they are run.
pub struct CommandSurroundings {
    folder: PathBuf,
    path: String,
}

/// A command that goes on.
pub struct Background {
    child: Child,
    lines: Receiver<String>,
}

/// Whether a command of this name can be called.
pub fn has(tool: &str) -> bool {
    let look = "command -v -- \"$1\" >/dev/null";
    std::process::Command::new("bash").args(["-c", look, "bash", tool]).status().is_ok_and(|status| status.success())
}

impl CommandSurroundings {
    /// In this folder, with this program as `raid`.
    pub fn new(folder: &Path, program: &Path) -> Result<CommandSurroundings, String> {
        let programs = folder.join("programs");
        let made = fs::create_dir(&programs).and_then(|()| symlink(program, programs.join("raid")));
        made.map_err(|error| format!("{}: {error}", programs.display()))?;
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        Ok(CommandSurroundings { folder: folder.join("work"), path })
    }

    /// Runs a command to its end. An error says what was not as expected.
    pub fn run(&self, command: &str, expected: &[String]) -> Result<(), String> {
        let mut running = self.spawn(command)?;
        let mut printed = Vec::new();
        let is_over = running.read(|line| {
            printed.push(line);
            false
        });
        if !is_over {
            running.kill();
            return Err(format!("it has not ended after {} s{}", COMMAND_TIME_MAX.as_secs(), after(&printed)));
        }
        let status = running.child.wait().map_err(|error| error.to_string())?;
        if !is_as_expected(expected, &printed) {
            return Err(difference(expected, &printed));
        }
        if status.success() { Ok(()) } else { Err(format!("it ends with {status}")) }
    }

    /// Starts a command that goes on, and waits until it has printed what is expected. An error says what it did instead.
    pub fn start(&self, command: &str, expected: &[String]) -> Result<Background, String> {
        let mut running = self.spawn(command)?;
        let mut printed = Vec::new();
        let mut is_ready = expected.is_empty();
        let is_over = !is_ready
            && running.read(|line| {
                printed.push(line);
                is_ready = is_as_expected(expected, &printed);
                is_ready
            });
        if is_ready {
            return Ok(running);
        }
        running.kill();
        Err(format!("{}{}", if is_over { "it has ended: " } else { "" }, difference(expected, &printed)))
    }

    fn spawn(&self, command: &str) -> Result<Background, String> {
        fs::create_dir_all(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        // Whoever was started in the background ignores Ctrl-C, and so would all that it starts.
        let mut child = std::process::Command::new("env")
            .args(["--default-signal=INT", "bash", "-c", &format!("exec 2>&1; {command}")])
            .current_dir(&self.folder)
            .env("PATH", &self.path)
            .envs([("PSQLRC", "/dev/null"), ("PAGER", "cat"), ("LC_ALL", "C.UTF-8")])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("no bash: {error}"))?;
        let output = child.stdout.take().ok_or("it has no output")?;
        let (to, lines) = channel();
        // Ends with the output, or when nobody takes its lines.
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                if to.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        Ok(Background { child, lines })
    }
}

impl Background {
    /// Gives lines to `take` until it has had enough. Whether the output has ended before.
    fn read(&mut self, mut take: impl FnMut(String) -> bool) -> bool {
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(COMMAND_TIME_MAX.saturating_sub(begun.elapsed())) {
                Ok(line) => {
                    if take(line) {
                        return false;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    /// Ends it as Ctrl-C does. An error says why it has not ended well.
    pub fn end(mut self) -> Result<(), String> {
        if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
            return Err(format!("it should have gone on, and has ended with {status}"));
        }
        if !self.signal("-INT") || !self.read(|_| false) {
            self.kill();
            return Err(format!("it does not end within {} s of SIGINT", COMMAND_TIME_MAX.as_secs()));
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("told to end by SIGINT it ends with {status}")) }
    }

    /// To it and all that it has started, as a terminal does. Whether there is any of them.
    fn signal(&self, name: &str) -> bool {
        let group = format!("-{}", self.child.id());
        let told = std::process::Command::new("kill").args([name, "--", &group]).stderr(Stdio::null()).status();
        told.is_ok_and(|status| status.success())
    }

    fn kill(&mut self) {
        // It may have ended by itself; there is nothing to do then.
        let _ = self.signal("-KILL");
        let _ = self.child.wait();
    }
}

fn difference(expected: &[String], printed: &[String]) -> String {
    format!("the page says\n{}and it printed\n{}", indented(expected), indented(printed))
}

fn after(printed: &[String]) -> String {
    if printed.is_empty() { String::new() } else { format!(", and printed\n{}", indented(printed)) }
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("    {}\n", line.trim_end())).collect()
}
