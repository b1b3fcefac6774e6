//! Processes of an experiment: this program again, with a job, or another program. They say lines, and may be given some.
//!
//! Invariant: a process never outlives the one that started it: it is ended and reaped with its value, and if that is killed, by the kernel, or
//! because its orders end.

use crate::failure::{Failure, Outcome};
use crate::limits::SILENCE_TIME;
use crate::network::Host;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::AsFd;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How this program is started again, so that it does a job: the job's text comes behind these arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// What comes before the job.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// What starts it with a job, on this host or on another one.
    pub fn command(&self, job: &str, host: Option<&Host>) -> Command {
        let mut command = match host {
            None => Command::new(&self.path),
            Some(host) => host.command(&self.path),
        };
        command.args(&self.arguments).arg(job);
        command
    }
}

/// Has the kernel end this process when the one that started it ends.
///
/// # Errors
/// The operating system refuses, or that one has ended already.
pub fn end_with_parent() -> Outcome<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().is_none_or(|parent| parent.is_init()) {
        return Err(Failure::Stopped);
    }
    Ok(())
}

/// Says a line to the process that has started this one.
///
/// # Errors
/// It is gone.
pub fn say(line: &str) -> Outcome<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}

/// See the module's description.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    task: String,
}

impl Process {
    /// Starts any program; `task` is what it is to do, as a verb.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn spawn(mut command: Command, task: &str) -> Outcome<Process> {
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let doing = format!("start `{}` to {task}", command.get_program().display());
        let mut child = spawned.map_err(Failure::refused(&doing))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.expect("it was asked for"), output.expect("it was asked for"));
        Ok(Process { child, input, output: BufReader::new(output), task: task.to_owned() })
    }

    /// Gives it a line.
    ///
    /// # Errors
    /// It has ended.
    pub fn order(&mut self, line: &str) -> Outcome<()> {
        if writeln!(self.input, "{line}").is_ok() {
            return Ok(());
        }
        let status = self.child.wait()?;
        Err(Failure::Ended { task: self.task.clone(), status: status.to_string() })
    }

    /// The next line that it prints.
    ///
    /// # Errors
    /// It has ended, or says nothing for long.
    pub fn line(&mut self) -> Outcome<String> {
        if self.output.buffer().is_empty() {
            let output = self.output.get_ref().as_fd();
            let wait = Timespec { tv_sec: (SILENCE_TIME / 1000).cast_signed(), tv_nsec: 0 };
            if rustix::event::poll(&mut [PollFd::from_borrowed_fd(output, PollFlags::IN)], Some(&wait))? == 0 {
                let task = &self.task;
                return Err(Failure::Wrong(format!(
                    "the process that was to {task} has said nothing for {SILENCE_TIME} ms"
                )));
            }
        }
        let mut line = String::new();
        if self.output.read_line(&mut line)? > 0 {
            return Ok(line.trim_end().to_owned());
        }
        let status = self.child.wait()?;
        Err(Failure::Ended { task: self.task.clone(), status: status.to_string() })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
