//! The processes of a site, as the site's own process has them: started, called, ended.
//!
//! Invariants: a server is in one process at a time; the processes of one life are gone before the next one opens the store, all but the one
//! with the clients' connections, which goes on if it can and does not have the store; none of them outlives the site's process.

use crate::config::SiteConfig;
use crate::layout::door::Door;
use crate::layout::line::{Line, Way};
use crate::layout::stores::FolderStores;
use crate::layout::{FOLDER, Meeting, Place, name_of};
use crate::{limits, repair};
use commit_log::Log;
use domain::{Domain, Lost, SERVERS};
use messages::ServerKind;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Error};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the site's processes are told, beside the sockets where they meet.
pub(crate) const CONFIG_FILE: &str = "site.toml";
/// What a process says on its standard output when it can be called.
pub(crate) const READY: &str = "ready\n";

/// A process that runs.
struct Running {
    child: Child,
    way: Way,
    /// Its other end ends the process when it is closed.
    _stdin: ChildStdin,
}

/// What a move has come to.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub(crate) from: Place,
    pub(crate) bytes: usize,
    pub(crate) pause: Duration,
}

/// See the module's description.
pub(crate) struct Processes {
    config: Arc<SiteConfig>,
    program: PathBuf,
    meeting: Meeting,
    /// Where the user interface reaches this process, if it is in another.
    door: Option<Arc<Door>>,
    places: BTreeMap<ServerKind, Place>,
    running: BTreeMap<ServerKind, Running>,
    /// The process with the clients was started anew since it was last asked.
    clients_anew: bool,
    /// Processes started so far: each has a socket of its own, because the one before it may not have ended.
    started: u64,
    /// The process with the clients did not do what it was called for: it does not go on into another life.
    clients_lost: bool,
}

impl Processes {
    /// Makes the folder where they meet. Nobody else uses the site's folder: its log is open.
    pub(crate) fn new(config: Arc<SiteConfig>, door: Option<Arc<Door>>) -> Result<Processes, Error> {
        let folder = config.data.join(FOLDER);
        // What an earlier process has left are sockets at which nobody listens.
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => std::fs::DirBuilder::new().mode(0o700).create(&folder)?,
        }
        config.write(&folder.join(CONFIG_FILE)).map_err(Error::other)?;
        let meeting = Meeting::open(&config.data)?;
        if let Some(door) = &door {
            door.listen(&meeting).map_err(Error::other)?;
        }
        let places = config.layout.places();
        Ok(Processes {
            program: std::env::current_exe()?,
            config,
            meeting,
            door,
            places,
            running: BTreeMap::new(),
            clients_anew: false,
            started: 0,
            clients_lost: false,
        })
    }

    /// Before the store is opened for a new life.
    pub(crate) fn end_life(&mut self) {
        // The store is about to be opened here: whoever has it must be gone.
        let has_store = self.places[&ServerKind::AccessManager] == Place::Process(ServerKind::UserInterface);
        let ended = self.check().is_some();
        let lost = std::mem::take(&mut self.clients_lost);
        self.end(!ended && !has_store && !lost);
    }

    /// This server is lost, and with it its process may be.
    pub(crate) fn lost(&mut self, kind: ServerKind) {
        if let Place::Process(process) = self.places[&kind] {
            self.process_lost(process);
        }
    }

    fn process_lost(&mut self, process: ServerKind) {
        self.clients_lost |= process == ServerKind::UserInterface;
    }

    /// Ends them all, but for the one with the clients if that shall be kept.
    pub(crate) fn end(&mut self, keep_clients: bool) {
        let keep = |process: &ServerKind| keep_clients && *process == ServerKind::UserInterface;
        let ending: Vec<Child> =
            self.running.extract_if(.., |process, _| !keep(process)).map(|(_, running)| running.child).collect();
        // Their lines are closed by now: all of them are ending.
        let deadline = Instant::now() + limits::PROCESS_END_MAX;
        for mut child in ending {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(limits::PROCESS_LOOK);
            }
            // Errors mean that it has just ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// A process that has ended by itself, in words.
    pub(crate) fn check(&mut self) -> Option<String> {
        self.running.iter_mut().find_map(|(process, running)| {
            let status = running.child.try_wait().ok()??;
            let how = match (status.signal(), status.code()) {
                (Some(signal), _) => format!("was ended by signal {signal}"),
                (None, code) => format!("ended with exit status {}", code.unwrap_or_default()),
            };
            Some(format!("the {process}'s process (pid {}) {how}", running.child.id()))
        })
    }

    /// Gives the servers of a new life to their processes; starts those that do not run.
    pub(crate) fn settle<L: Log>(&mut self, domain: &mut Domain<L>) -> Result<(), String> {
        let wanted = self.places.values().filter_map(|place| match place {
            Place::Site => None,
            Place::Process(process) => Some(*process),
        });
        let missing: BTreeSet<ServerKind> = wanted.filter(|process| !self.running.contains_key(process)).collect();
        self.start(&missing)?;
        for kind in SERVERS {
            if let Place::Process(process) = self.places[&kind] {
                self.give(domain, kind, process).map_err(|lost| lost.to_string())?;
            }
        }
        Ok(())
    }

    /// Whether the process with the clients is another one than at the last such question, also if starting it has failed: what counts
    /// outputs for it begins anew.
    pub(crate) fn clients_began(&mut self) -> bool {
        std::mem::take(&mut self.clients_anew)
    }

    fn give<L: Log>(&mut self, domain: &mut Domain<L>, kind: ServerKind, process: ServerKind) -> Result<usize, Lost> {
        let way = self.running[&process].way.clone();
        domain.give(kind, Box::new(way), &mut self.stores()).inspect_err(|_| self.process_lost(process))
    }

    fn stores(&self) -> FolderStores {
        FolderStores(self.config.data.join(repair::STORE_FOLDER))
    }

    /// Moves a server; an error before anything has happened is a text, and afterwards the domain has failed, too.
    pub(crate) fn move_server<L: Log>(
        &mut self,
        domain: &mut Domain<L>,
        kind: ServerKind,
        to: Place,
    ) -> Result<Moved, String> {
        if !SERVERS.contains(&kind) {
            return Err(format!("the {kind} has the clients' connections, which stay where they are"));
        }
        let from = self.places[&kind];
        if from == to {
            return Err(format!("the {kind} is there already"));
        }
        if let Place::Process(process) = to
            && !self.running.contains_key(&process)
        {
            if process == ServerKind::UserInterface {
                return Err("the user interface has no process of its own in this layout".to_owned());
            }
            self.start(&BTreeSet::from([process]))?;
        }
        let begun = Instant::now();
        let bytes = match to {
            Place::Site => domain.fetch(kind, &mut self.stores()),
            Place::Process(process) => self.give(domain, kind, process),
        };
        let pause = begun.elapsed();
        let bytes = bytes.map_err(|lost| lost.to_string())?;
        self.places.insert(kind, to);
        self.end_empty(from);
        Ok(Moved { from, bytes, pause })
    }

    /// Ends a process without servers.
    fn end_empty(&mut self, place: Place) {
        if let Place::Process(process) = place
            && process != ServerKind::UserInterface
            && self.places.values().all(|other| *other != place)
            && let Some(Running { mut child, way, _stdin }) = self.running.remove(&process)
        {
            drop((way, _stdin));
            // It ends by itself, and is waited for apart: nobody should wait for that with the site's servers in hand.
            std::thread::spawn(move || drop(child.wait()));
        }
    }

    fn start(&mut self, processes: &BTreeSet<ServerKind>) -> Result<(), String> {
        if processes.contains(&ServerKind::UserInterface)
            && let Some(door) = &self.door
        {
            door.begin();
            self.clients_anew = true;
        }
        // All at once, then one after the other until it is there.
        let mut spawned = Vec::new();
        for process in processes {
            self.started += 1;
            let line = format!("{}.{}", name_of(*process), self.started);
            spawned.push((*process, self.spawn(*process, &line)?, line));
        }
        for (process, mut child, line) in spawned {
            let way = wait_until_ready(process, &mut child).and_then(|()| self.way(process, child.id(), &line));
            match (way, child.stdin.take()) {
                (Ok(way), Some(stdin)) => {
                    self.running.insert(process, Running { child, way, _stdin: stdin });
                }
                (Err(error), _) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(error);
                }
                (Ok(_), None) => unreachable!("its standard input is a pipe"),
            }
        }
        Ok(())
    }

    fn spawn(&self, process: ServerKind, line: &str) -> Result<Child, String> {
        let mut command = Command::new(&self.program);
        command.args(["server", "--kind", &name_of(process), "--line", line, "--config"]);
        command.arg(self.config.data.join(FOLDER).join(CONFIG_FILE));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().map_err(|error| format!("no process for the {process}: {}: {error}", self.program.display()))
    }

    fn way(&self, process: ServerKind, pid: u32, line: &str) -> Result<Way, String> {
        let line = Line::connect(&self.meeting, line)
            .map_err(|error| format!("the {process}'s process (pid {pid}) cannot be called: {error}"))?;
        Ok(Way { process, pid, line: Arc::new(Mutex::new(line)) })
    }

    /// Every server with its process and that one's number.
    pub(crate) fn list(&self) -> Vec<(ServerKind, Place, u32)> {
        let pid = |place: &Place| match place {
            Place::Site => std::process::id(),
            Place::Process(process) => self.running.get(process).map_or(0, |running| running.way.pid),
        };
        self.places.iter().map(|(kind, place)| (*kind, *place, pid(place))).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn wait_until_ready(process: ServerKind, child: &mut Child) -> Result<(), String> {
    let mut said = String::new();
    let output = child.stdout.take().expect("its standard output is a pipe");
    match BufReader::new(output).read_line(&mut said) {
        Ok(_) if said == READY => Ok(()),
        _ => Err(format!("the {process}'s process ended before it could be called; its log lines say why")),
    }
}
