//! Where experiments on communication run: rounds in turns, and calls by any method at any place.

use super::job::{Job, Measured, Task};
use crate::communication::limits::{ROUND_TIME, ROUND_TIME_BESIDE};
use crate::communication::method::{Meeting, Method};
use laboratory_harness::figure::Figure;
use laboratory_harness::network::{Host, Hosts};
use laboratory_harness::placement::{Placement, all, processors};
use laboratory_harness::process::{Process, Program};
use laboratory_harness::rounds::Rounds;
use laboratory_harness::{Failure, Outcome};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// See the module's description.
#[derive(Debug)]
pub struct Laboratory {
    program: Program,
    rounds: Rounds,
    /// Processors that there are.
    pub processors: Vec<usize>,
    place: Option<String>,
}

/// One kind of call.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    /// By this method.
    pub method: &'a dyn Method,
    /// Bytes of each request.
    pub request_bytes: usize,
    /// Bytes of each reply.
    pub reply_bytes: usize,
    /// Who runs where.
    pub placement: Placement,
    /// Between two hosts, if not on this one.
    pub hosts: Option<&'a Hosts>,
}

impl Laboratory {
    /// With processes of this program.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn new(program: Program, rounds: u32, place: Option<String>, stop: Arc<AtomicBool>) -> Outcome<Laboratory> {
        Ok(Laboratory { program, rounds: Rounds::new(rounds, stop), processors: processors()?, place })
    }

    /// The places to compare at: all that there are, or the one that was asked for.
    ///
    /// # Errors
    /// There is no such place.
    pub fn placements(&self) -> Outcome<Vec<Placement>> {
        let mut placements = all(&self.processors);
        if let Some(place) = &self.place {
            let names: Vec<_> = placements.iter().map(|placement| placement.name).collect();
            let names = format!("there is no place `{place}`; there are: {}", names.join("; "));
            placements.retain(|placement| placement.name == place);
            if placements.is_empty() {
                return Err(Failure::Missing(names));
            }
        }
        Ok(placements)
    }

    /// As of [`Rounds::in_turns`].
    ///
    /// # Errors
    /// Somebody asked for an end.
    pub fn in_turns(
        &self,
        count: usize,
        turn: impl FnMut(usize) -> Outcome<f64>,
    ) -> Outcome<Vec<Result<Figure, Failure>>> {
        self.rounds.in_turns(count, turn)
    }

    /// Starts the third process of a placement, if it has one.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn neighbour(&self, placement: &Placement) -> Outcome<Option<Process>> {
        let start = |place| self.start(&Job { place, task: Task::Neighbour });
        placement.neighbour.map(start).transpose()
    }

    /// Starts a process.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn start(&self, job: &Job) -> Outcome<Process> {
        self.start_on(job, None)
    }

    /// Starts a process on another host.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn start_at(&self, job: &Job, host: &Host) -> Outcome<Process> {
        self.start_on(job, Some(host))
    }

    fn start_on(&self, job: &Job, host: Option<&Host>) -> Outcome<Process> {
        Process::spawn(self.program.command(&serde_json::to_string(job)?, host), &job.task.to_string())
    }

    /// One round of calls: a server and a client are started, and the client measures.
    ///
    /// # Errors
    /// A side fails.
    pub fn call(&self, calls: &Calls<'_>) -> Outcome<Measured> {
        let folder: TempDir = tempfile::Builder::new().prefix("raid-laboratory-").tempdir()?;
        let mut meeting = Meeting {
            folder: folder.path().to_path_buf(),
            host: calls.hosts.map_or(Ipv4Addr::LOCALHOST, |hosts| hosts.server.address),
            address: String::new(),
            request_bytes: calls.request_bytes,
            reply_bytes: calls.reply_bytes,
        };
        let method = calls.method.name().to_owned();
        let _prepared = calls.method.prepare(&mut meeting)?;
        let task = Task::Serve { method: method.clone(), meeting: meeting.clone() };
        let job = Job { place: calls.placement.server, task };
        let mut server = self.start_on(&job, calls.hosts.map(|hosts| &hosts.server))?;
        let ready = server.line()?;
        match ready.split_once(' ') {
            Some(("ready", "")) => {}
            Some(("ready", address)) => meeting.address = address.to_owned(),
            _ if ready == "ready" => {}
            _ => return Err(Failure::Wrong(format!("the server says `{ready}`"))),
        }
        let milliseconds = if calls.placement.neighbour.is_some() { ROUND_TIME_BESIDE } else { ROUND_TIME };
        let task = Task::Call { method, meeting, milliseconds };
        let job = Job { place: calls.placement.client, task };
        let mut client = self.start_on(&job, calls.hosts.map(|hosts| &hosts.client))?;
        Ok(serde_json::from_str(&client.line()?)?)
    }
}
