//! The processes of a cluster that runs.
//!
//! Invariants: whoever holds a [`RunningCluster`] holds the cluster's lock and is the parent of its processes; none of them outlives it.

use crate::cluster::{ClusterDirectory, ClusterError, ClusterWish};
use crate::limits;
use crate::orders::{ClusterLock, lock};
use crate::process::{ClusterProcess, ProcessName, ending};
use crate::screen::{Screen, bytes};
use rustix::process::Signal;
use site::status::{Status, ask};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// What every site that answers says.
pub type Statuses = BTreeMap<u16, Status>;

/// Why a cluster does not run.
#[derive(Debug, Error)]
pub enum ClusterRunError {
    /// Its files.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Somebody else runs it.
    #[error("another `raid start` runs the cluster in {0}: stop that one first, or take another folder with --data")]
    Locked(PathBuf),
    /// A process ended before it could serve.
    #[error("{name} {ending} before it could serve; its log, {log}, ends with:\n{lines}")]
    Died {
        /// Which.
        name: ProcessName,
        /// How it ended.
        ending: String,
        /// Its log text.
        log: PathBuf,
        /// The end of it.
        lines: String,
    },
    /// A state did not come.
    #[error("after {waited_s} s still waiting for {what}; {seen}")]
    TimedOut {
        /// For what.
        what: String,
        /// How long, in seconds.
        waited_s: u64,
        /// The states of the sites.
        seen: String,
    },
    /// A site that was started answers nothing.
    #[error("site {site} answered no read within {waited_s} s of its start; its last refusal: {refusal}")]
    NoAnswer {
        /// Which.
        site: u16,
        /// How long, in seconds.
        waited_s: u64,
        /// What it said, or how it could not be reached.
        refusal: String,
    },
    /// The person at the terminal asked for an end.
    #[error("stopped")]
    Stopped,
}

/// See the module's description.
#[derive(Debug)]
pub struct RunningCluster {
    cluster: ClusterDirectory,
    program: PathBuf,
    networks: BTreeMap<ProcessName, String>,
    processes: BTreeMap<ProcessName, ClusterProcess>,
    _lock: ClusterLock,
}

impl RunningCluster {
    /// Starts all processes of a cluster. `program` is the `raid` program.
    pub fn start(program: &Path, cluster: ClusterDirectory) -> Result<RunningCluster, ClusterRunError> {
        RunningCluster::start_in(program, cluster, BTreeMap::new())
    }

    /// Starts three new sites on free ports, in a folder that holds no cluster yet, and waits until all serve.
    pub fn start_new(program: &Path, folder: &Path, stop: &AtomicBool) -> Result<RunningCluster, ClusterRunError> {
        RunningCluster::start_wished(program, folder, &ClusterWish::default(), stop)
    }

    /// As [`RunningCluster::start_new`], and otherwise as wished, perhaps with another number of sites.
    pub fn start_wished(
        program: &Path,
        folder: &Path,
        wish: &ClusterWish,
        stop: &AtomicBool,
    ) -> Result<RunningCluster, ClusterRunError> {
        let wish = ClusterWish { sites: wish.sites.or(Some(3)), port: Some(0), ..wish.clone() };
        let mut running = RunningCluster::start(program, ClusterDirectory::create(folder, &wish)?)?;
        running.wait_until_up(stop)?;
        Ok(running)
    }

    /// As [`RunningCluster::start`], each process in the network namespace that is named for it, if one is.
    pub fn start_in(
        program: &Path,
        cluster: ClusterDirectory,
        networks: BTreeMap<ProcessName, String>,
    ) -> Result<RunningCluster, ClusterRunError> {
        let lock = lock(&cluster)?.ok_or_else(|| ClusterRunError::Locked(cluster.folder().to_owned()))?;
        if let Some(before) = crate::rollback::recover(&cluster)? {
            eprintln!("raid: a rollback that was cut off is brought to its end; what was there before is in {before}");
        }
        let names = cluster.names();
        let program = program.to_owned();
        let mut running = RunningCluster { cluster, program, networks, processes: BTreeMap::new(), _lock: lock };
        for name in names {
            crate::orders::done(&running.cluster, name)?;
            running.start_process(name)?;
        }
        Ok(running)
    }

    /// What it is.
    pub fn cluster(&self) -> &ClusterDirectory {
        &self.cluster
    }

    /// Where clients find the sites, in order.
    pub fn sql_addresses(&self) -> Vec<(u16, SocketAddr)> {
        self.cluster.sites().iter().map(|(site, addresses)| (*site, addresses.sql)).collect()
    }

    /// A process, as it was started last.
    pub fn process(&mut self, name: ProcessName) -> Option<&mut ClusterProcess> {
        self.processes.get_mut(&name)
    }

    /// Starts a process; the one before it must have ended.
    pub fn start_process(&mut self, name: ProcessName) -> Result<(), ClusterError> {
        self.start_with(name, &[])
    }

    /// Starts a site that sets its copy aside and takes a new one from the others; the process before it must have ended.
    pub fn repair_process(&mut self, name: ProcessName) -> Result<(), ClusterError> {
        self.start_with(name, &["--repair"])
    }

    /// Starts a process with more options on its command line; the process before it must have ended.
    pub fn start_with(&mut self, name: ProcessName, options: &[&str]) -> Result<(), ClusterError> {
        if let Some(process) = self.processes.get_mut(&name) {
            assert!(process.ended().is_some(), "{name} still runs");
        }
        crate::rollback::finish(&self.cluster)?;
        let network = self.networks.get(&name).map(String::as_str);
        let process = ClusterProcess::start(&self.program, &self.cluster, name, network, options)?;
        self.processes.insert(name, process);
        Ok(())
    }

    /// Kills a process with SIGKILL.
    pub fn kill(&mut self, name: ProcessName) {
        if let Some(process) = self.processes.get_mut(&name) {
            process.kill();
        }
    }

    /// Sends a process a signal.
    pub fn signal(&mut self, name: ProcessName, signal: Signal) {
        if let Some(process) = self.processes.get_mut(&name) {
            process.signal(signal);
        }
    }

    /// Asks a site.
    pub fn status(&self, site: u16) -> Result<Status, String> {
        ask(self.cluster.sites()[&site].console)
    }

    /// Asks every site whose process runs; who does not answer is left out.
    pub fn statuses(&mut self) -> Statuses {
        let mut statuses = Statuses::new();
        for (name, process) in &mut self.processes {
            if let ProcessName::Site(site) = name
                && process.ended().is_none()
                && let Ok(status) = ask(self.cluster.sites()[site].console)
            {
                statuses.insert(*site, status);
            }
        }
        statuses
    }

    /// Waits until the sites' states are as wanted. Fails when the time is over or `stop` is set.
    pub fn wait(
        &mut self,
        what: &str,
        patience: Duration,
        stop: &AtomicBool,
        mut wanted: impl FnMut(&Statuses) -> bool,
    ) -> Result<Statuses, ClusterRunError> {
        let deadline = Instant::now() + patience;
        loop {
            let statuses = self.statuses();
            if wanted(&statuses) {
                return Ok(statuses);
            }
            if stop.load(Ordering::SeqCst) {
                return Err(ClusterRunError::Stopped);
            }
            if Instant::now() > deadline {
                return Err(self.late(what, patience));
            }
            std::thread::sleep(limits::LOOK_INTERVAL);
        }
    }

    /// Waits until all sites are up and current, and their stores have what their logs say. Fails when the time is over or `stop` is set.
    pub fn wait_until_posted(
        &mut self,
        patience: Duration,
        stop: &AtomicBool,
        screen: &mut Screen,
    ) -> Result<Statuses, ClusterRunError> {
        let sites = self.cluster.sites().len();
        self.wait("the stores to have what the logs say", patience, stop, |statuses| {
            let left = statuses.values().map(|status| status.log.bytes_to_replay).max().unwrap_or(u64::MAX);
            screen.progress(|| format!("  {} of log that the stores do not have yet", bytes(left)));
            left < limits::POSTED_BYTES && all_is_repaired(statuses, sites)
        })
    }

    /// The error of having waited in vain for so long: with the states of the sites now.
    pub fn late(&mut self, what: &str, waited: Duration) -> ClusterRunError {
        let statuses = self.statuses();
        ClusterRunError::TimedOut { what: what.to_owned(), waited_s: waited.as_secs(), seen: self.describe(&statuses) }
    }

    /// Waits until every site is up. A process that ends meanwhile ends the waiting.
    pub fn wait_until_up(&mut self, stop: &AtomicBool) -> Result<Statuses, ClusterRunError> {
        let deadline = Instant::now() + limits::START_TIME_MAX;
        loop {
            let statuses = self.statuses();
            if self.cluster.sites().keys().all(|site| statuses.get(site).is_some_and(is_up)) {
                return Ok(statuses);
            }
            if stop.load(Ordering::SeqCst) {
                return Err(ClusterRunError::Stopped);
            }
            for name in self.cluster.names() {
                self.check_alive(name)?;
            }
            if Instant::now() > deadline {
                return Err(self.late("every site to serve", limits::START_TIME_MAX));
            }
            std::thread::sleep(limits::LOOK_INTERVAL);
        }
    }

    /// Ends all processes: asks them to, waits, and kills who does not. What did not end well is returned, in words.
    pub fn stop(mut self) -> Vec<String> {
        self.end_all()
    }

    /// As [`RunningCluster::stop`], of a cluster whose processes will be started again.
    pub(crate) fn end_all(&mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        // Sites first: they tell the oracle nothing when they end, but what they have under way may ask it.
        let names: Vec<ProcessName> = self.processes.keys().rev().copied().collect();
        for process in self.processes.values_mut() {
            process.signal(Signal::TERM);
        }
        let deadline = Instant::now() + limits::STOP_TIME_MAX;
        for name in names {
            let Some(process) = self.processes.get_mut(&name) else { continue };
            while process.ended().is_none() && Instant::now() < deadline {
                std::thread::sleep(limits::LOOK_INTERVAL);
            }
            match process.ended() {
                Some(status) if status.success() => {}
                Some(status) => complaints.push(format!("{name} {}", ending(status))),
                None => {
                    process.kill();
                    let waited_s = limits::STOP_TIME_MAX.as_secs();
                    complaints.push(format!("{name} did not end within {waited_s} s and was killed"));
                }
            }
        }
        complaints
    }

    /// Fails if a process that was started and does not serve yet has ended.
    pub fn check_alive(&mut self, name: ProcessName) -> Result<(), ClusterRunError> {
        let Some(process) = self.processes.get_mut(&name) else { return Ok(()) };
        let Some(status) = process.ended() else { return Ok(()) };
        let log = self.cluster.folder_of(name).join("log.txt");
        Err(ClusterRunError::Died { name, ending: ending(status), log, lines: process.last_lines() })
    }

    fn describe(&self, statuses: &Statuses) -> String {
        let one = |site: &u16| match statuses.get(site) {
            Some(status) => {
                let locks: u64 = status.fail_locks.values().sum();
                let stale = status.stale;
                format!("site {site} is {} in epoch {} ({locks} fail-locks, {stale} stale)", status.state, status.epoch)
            }
            None => format!("site {site} does not answer"),
        };
        self.cluster.sites().keys().map(one).collect::<Vec<_>>().join("; ")
    }
}

impl Drop for RunningCluster {
    fn drop(&mut self) {
        for process in self.processes.values_mut() {
            process.kill();
        }
    }
}

/// Whether a site is an up member of its epoch and serves.
pub fn is_up(status: &Status) -> bool {
    status.state == "up"
}

/// Whether these are all the sites of an epoch without `lost`, and serve.
pub fn serve_without(lost: u16, statuses: &Statuses) -> bool {
    let without = |status: &Status| is_up(status) && status.members.iter().all(|member| member.site != lost);
    !statuses.is_empty() && statuses.keys().all(|site| *site != lost) && statuses.values().all(without)
}

/// Whether all sites are up and nothing of any copy is stale. Fail-locks that others still hold do not count: they are taken off by a
/// message that may be lost, and then only cost a second copy after the next failure.
pub fn all_is_repaired(statuses: &Statuses, sites: usize) -> bool {
    let repaired = |status: &Status| {
        let up = status.members.iter().filter(|member| member.state == "up").count();
        is_up(status) && up == sites && status.stale == 0
    };
    statuses.len() == sites && statuses.values().all(repaired)
}

/// Whether a site serves what it has no fail-lock for.
pub fn serves(status: &Status) -> bool {
    matches!(status.state.as_str(), "up" | "recovering")
}
