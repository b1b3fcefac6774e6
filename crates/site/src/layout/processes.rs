//! The processes of a site, as the site's own process has them: started or reached, called, ended.
//!
//! Invariants: a server is in one process at a time; the processes of one life are gone before the next one opens the store, all but the one
//! with the clients' connections, which goes on if it can and does not have the store; none of them outlives the site's process. A process on
//! another host is not ended, but its line is: it has none of the site's servers from then on.

use crate::config::SiteConfig;
use crate::layout::door::Door;
use crate::layout::starting::{HostReacher, Owned, ProcessStarter, RunningProcess, Starter, Starting};
use crate::layout::stores::FolderStores;
use crate::layout::{FOLDER, Meeting, ProcessPlace, name_of};
use crate::{limits, repair};
use commit_log::Log;
use domain::{Domain, Lost, SERVERS};
use messages::ServerKind;
use rustix::process::{Pid, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Error;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The process with the clients' connections, where that is not the site's own.
const CLIENTS: ProcessPlace = ProcessPlace::Process(ServerKind::UserInterface);

/// What the site's processes are told, beside the sockets where they meet.
pub(crate) const CONFIG_FILE: &str = "site.toml";

/// What a move has come to.
#[derive(Clone, Debug)]
pub(crate) struct MovedServer {
    pub(crate) from: ProcessPlace,
    pub(crate) bytes: usize,
    pub(crate) pause: Duration,
}

/// See the module's description.
pub(crate) struct Processes {
    config: Arc<SiteConfig>,
    program: PathBuf,
    meeting: Arc<Meeting>,
    /// Where the user interface reaches this process, if it is in another.
    door: Option<Arc<Door>>,
    places: BTreeMap<ServerKind, ProcessPlace>,
    /// Those that can be called, by where they are.
    running: BTreeMap<ProcessPlace, RunningProcess>,
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
        let meeting = Arc::new(Meeting::open(&config.data)?);
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
        let has_store = self.places[&ServerKind::AccessManager] == CLIENTS;
        let ended = self.check().is_some();
        let lost = std::mem::take(&mut self.clients_lost);
        self.end(!ended && !has_store && !lost);
    }

    /// The process with the clients reads again how they come in.
    pub(crate) fn reload_clients(&self) {
        let child = self.running.get(&CLIENTS).and_then(|running| running.child.as_ref());
        if let Some(Owned(child)) = child
            && let Err(error) = rustix::process::kill_process(Pid::from_child(child), Signal::HUP)
        {
            tracing::error!(%error, "the process with the clients was not told to read rules and certificates again");
        }
    }

    /// This server is lost, and with it its process may be.
    pub(crate) fn lost(&mut self, kind: ServerKind) {
        self.process_lost(self.places[&kind]);
    }

    fn process_lost(&mut self, process: ProcessPlace) {
        self.clients_lost |= process == CLIENTS;
    }

    /// Ends them all, but for the one with the clients if that shall be kept.
    pub(crate) fn end(&mut self, keep_clients: bool) {
        let keep = |process: &ProcessPlace| keep_clients && *process == CLIENTS;
        let ended = self.running.extract_if(.., |process, _| !keep(process));
        let ending: Vec<Owned> = ended.filter_map(|(_, running)| running.child).collect();
        // Their lines are closed by now: all of them are ending.
        let deadline = Instant::now() + limits::PROCESS_END_MAX;
        for mut child in ending {
            while matches!(child.0.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(limits::PROCESS_LOOK);
            }
        }
    }

    /// A process that has ended by itself, or does not take what is for it, in words.
    pub(crate) fn check(&mut self) -> Option<String> {
        if self.door.as_ref().is_some_and(|door| door.is_overrun()) {
            self.clients_lost = true;
            let outputs_max = limits::OUTPUTS_WAITING_MAX;
            return Some(format!(
                "the user interface's process does not take what is for its clients: {outputs_max} outputs wait"
            ));
        }
        self.running.values_mut().find_map(|running| {
            let status = running.child.as_mut()?.0.try_wait().ok()??;
            let how = match (status.signal(), status.code()) {
                (Some(signal), _) => format!("was ended by signal {signal}"),
                (None, code) => format!("ended with exit status {}", code.unwrap_or_default()),
            };
            Some(format!("{} {how}", running.way.process))
        })
    }

    /// Gives the servers of a new life to their processes; starts those that do not run.
    pub(crate) fn settle<L: Log>(&mut self, domain: &mut Domain<L>) -> Result<(), Lost> {
        self.reach_hosts();
        let missing: BTreeSet<ServerKind> = self.missing().filter_map(ProcessPlace::process).collect();
        self.start(&missing).map_err(Lost::Process)?;
        for kind in SERVERS {
            let place = self.places[&kind];
            if place != ProcessPlace::Site {
                self.give(domain, kind, place)?;
            }
        }
        Ok(())
    }

    /// Where servers should be and nothing can be called.
    fn missing(&self) -> impl Iterator<Item = ProcessPlace> {
        let missing = |place: &&ProcessPlace| **place != ProcessPlace::Site && !self.running.contains_key(place);
        self.places.values().filter(missing).copied()
    }

    /// Makes lines to the other hosts again. The servers of one that takes none are where the layout has them.
    fn reach_hosts(&mut self) {
        let hosts: BTreeSet<SocketAddr> = self.missing().filter_map(ProcessPlace::host).collect();
        for address in hosts {
            match (HostReacher { address, config: self.config.clone() }).reach() {
                Ok(reached) => drop(self.running.insert(ProcessPlace::Host(address), reached)),
                Err(error) => {
                    tracing::warn!(error, "the servers that were there are on this host again");
                    let first = self.config.layout.places();
                    let moved = self.places.iter_mut().filter(|(_, place)| **place == ProcessPlace::Host(address));
                    moved.for_each(|(kind, place)| *place = first[kind]);
                }
            }
        }
    }

    /// Whether the process with the clients is another one than at the last such question, also if starting it has failed: what counts
    /// outputs for it begins anew.
    pub(crate) fn clients_began(&mut self) -> bool {
        std::mem::take(&mut self.clients_anew)
    }

    fn give<L: Log>(&mut self, domain: &mut Domain<L>, kind: ServerKind, process: ProcessPlace) -> Result<usize, Lost> {
        let way = self.running[&process].way.clone();
        domain.give(kind, Box::new(way), &mut self.stores()).inspect_err(|_| self.process_lost(process))
    }

    fn stores(&self) -> FolderStores {
        FolderStores(self.config.data.join(repair::STORE_FOLDER))
    }

    /// Whether a server can be moved there at all; an error says what to do instead.
    pub(crate) fn may_move(&self, kind: ServerKind, to: ProcessPlace) -> Result<(), String> {
        if !SERVERS.contains(&kind) {
            return Err(format!("the {kind} has the clients' connections, which stay where they are"));
        }
        if self.places[&kind] == to {
            return Err(format!("the {kind} is there already"));
        }
        if to == CLIENTS && !self.running.contains_key(&to) {
            return Err("the user interface has no process of its own in this layout".to_owned());
        }
        match (kind, to) {
            (ServerKind::AccessManager, ProcessPlace::Host(_)) => Err(format!(
                "the {kind} stays on this host, where its store is: `--to {}` gives it a process of its own here, and a site on the other host \
                 keeps a copy there",
                name_of(kind)
            )),
            _ => Ok(()),
        }
    }

    /// Moves a server, perhaps to a process that was started for that; an error before anything has happened is a text, and afterwards the
    /// domain has failed, too.
    pub(crate) fn move_server<L: Log>(
        &mut self,
        domain: &mut Domain<L>,
        kind: ServerKind,
        to: ProcessPlace,
        started: Option<RunningProcess>,
    ) -> Result<MovedServer, String> {
        self.may_move(kind, to)?;
        let from = self.places[&kind];
        if to != ProcessPlace::Site && !self.running.contains_key(&to) {
            // It ran when that was asked.
            let started = started.ok_or_else(|| format!("the process has just ended; move the {kind} again"))?;
            self.running.insert(to, started);
        }
        let begun = Instant::now();
        let bytes = match to {
            ProcessPlace::Site => domain.fetch(kind, &mut self.stores()),
            ProcessPlace::Process(_) | ProcessPlace::Host(_) => self.give(domain, kind, to),
        };
        let pause = begun.elapsed();
        let bytes = bytes.map_err(|lost| lost.to_string())?;
        self.places.insert(kind, to);
        self.end_empty(from);
        Ok(MovedServer { from, bytes, pause })
    }

    /// Ends a process without servers.
    fn end_empty(&mut self, place: ProcessPlace) {
        if place != CLIENTS
            && self.places.values().all(|other| *other != place)
            && let Some(RunningProcess { child, way, _stdin }) = self.running.remove(&place)
        {
            drop((way, _stdin));
            // It ends by itself, and is waited for apart: nobody should wait for that with the site's servers in hand.
            child.map(|mut child| std::thread::spawn(move || drop(child.0.wait())));
        }
    }

    /// Starts processes for a new life.
    fn start(&mut self, processes: &BTreeSet<ServerKind>) -> Result<(), String> {
        if processes.contains(&ServerKind::UserInterface)
            && let Some(door) = &self.door
        {
            door.begin();
            self.clients_anew = true;
        }
        // All at once, then one after the other until it is there.
        let starting: Result<Vec<Starting>, String> =
            processes.iter().map(|process| self.starter(*process).spawn()).collect();
        for (process, starting) in processes.iter().zip(starting?) {
            self.running.insert(ProcessPlace::Process(*process), starting.wait()?);
        }
        Ok(())
    }

    /// What starts, or reaches, the process that a server shall be moved to, unless it can be called: that need not be waited for with the
    /// servers in hand.
    pub(crate) fn starter_for(&mut self, to: ProcessPlace) -> Option<Starter> {
        match to {
            ProcessPlace::Site => None,
            _ if self.running.contains_key(&to) => None,
            ProcessPlace::Process(process) => Some(Starter::Process(self.starter(process))),
            ProcessPlace::Host(address) => Some(Starter::Host(HostReacher { address, config: self.config.clone() })),
        }
    }

    fn starter(&mut self, process: ServerKind) -> ProcessStarter {
        self.started += 1;
        ProcessStarter {
            process,
            line: format!("{}.{}", name_of(process), self.started),
            program: self.program.clone(),
            meeting: self.meeting.clone(),
            config: self.config.data.join(FOLDER).join(CONFIG_FILE),
        }
    }

    /// Every server with its process and that one's number; 0 on another host.
    pub(crate) fn list(&self) -> Vec<(ServerKind, ProcessPlace, u32)> {
        let pid = |place: &ProcessPlace| match place {
            ProcessPlace::Site => std::process::id(),
            _ => self.running.get(place).map_or(0, |running| running.way.pid),
        };
        self.places.iter().map(|(kind, place)| (*kind, *place, pid(place))).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end(false);
    }
}
