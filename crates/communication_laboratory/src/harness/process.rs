//! Processes of an experiment: this program again, with a job.
//!
//! Invariant: a process never outlives the one that started it: it is ended and reaped with its value, and by the kernel if that is killed.

use super::job::Job;
use super::network::Host;
use crate::failure::{Failure, Outcome};
use crate::limits::SILENCE_TIME;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::AsFd;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// How this program is started again, so that it does a job: the job's text comes behind these arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// What comes before the job.
    pub arguments: Vec<OsString>,
}

/// See the module's description.
#[derive(Debug)]
pub struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
    task: String,
}

impl Process {
    /// Starts one, on this host or on another one.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn start(program: &Program, job: &Job, host: Option<&Host>) -> Outcome<Process> {
        let mut command = match host {
            None => Command::new(&program.path),
            Some(host) => host.command(&program.path),
        };
        command.args(&program.arguments).arg(serde_json::to_string(job)?);
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(Failure::refused("start this program again"))?;
        let output = child.stdout.take().expect("it was asked for");
        Ok(Process { child, output: BufReader::new(output), task: job.task.to_string() })
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
