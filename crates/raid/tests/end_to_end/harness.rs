//! A cluster for a test, and the programs around it.

use crate::memory_servers::MemoryServers;
use crate::networks::Networks;
use laboratory::debit_credit::audit::audit;
use laboratory::debit_credit::client::Account;
use laboratory::debit_credit::crew::Crew;
use laboratory::debit_credit::{connect, explain, load};
use local_cluster::process::ProcessName;
use local_cluster::running::{RunningCluster, Statuses, all_is_repaired, is_up};
use local_cluster::screen::Screen;
use local_cluster::{ClusterDirectory, ClusterWish, DESCRIPTION_FILE};
use site::config::{Channels, Clients, DatagramFaults, SiteConfig};
use site::layout::Layout;
use site::status::Status;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// No test waits longer for one thing: generous, because the machine may be busy and its disk may stall.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Rows that [`World::write_wide_rows`] writes.
pub const WIDE_ROWS: i64 = 7_200;
/// Bytes of each.
pub const WIDE_BYTES: i64 = 10_000;

static TURN: Mutex<()> = Mutex::new(());

/// The environment variable with the layout that all tests use which name none; without it they use the merged one.
const LAYOUT_VARIABLE: &str = "RAID_TEST_LAYOUT";

/// The layout of all sites that a test says nothing about.
pub fn layout() -> Layout {
    asked(LAYOUT_VARIABLE, [Layout::Merged, Layout::TwoProcess, Layout::Separate])
}

/// The environment variable with the channels that all tests use which name none; without it they use the fastest.
const CHANNELS_VARIABLE: &str = "RAID_TEST_CHANNELS";

fn channels() -> Channels {
    asked(CHANNELS_VARIABLE, [Channels::Fastest, Channels::Datagrams, Channels::Streams])
}

/// What an environment variable names of these; the first if it is not set.
fn asked<T: ToString + Copy, const N: usize>(variable: &str, choices: [T; N]) -> T {
    let Ok(name) = std::env::var(variable) else { return choices[0] };
    let chosen = choices.into_iter().find(|choice| choice.to_string() == name);
    chosen.unwrap_or_else(|| panic!("{variable}={name} is none of {}", choices.map(|one| one.to_string()).join(", ")))
}

/// The environment variable with faults of the network that all tests have which name none: `loss=5,double=2,reorder=5`, in percent of
/// the datagrams.
const FAULTS_VARIABLE: &str = "RAID_TEST_FAULTS";

/// The environment variable that says how many memory servers keep the logs of all sites that a test says nothing about; without it, none.
const MEMORY_VARIABLE: &str = "RAID_TEST_MEMORY";

/// As many as the environment wants.
fn memory_servers() -> Option<MemoryServers> {
    let count = std::env::var(MEMORY_VARIABLE).ok()?;
    let count = count.parse().unwrap_or_else(|_| panic!("{MEMORY_VARIABLE}={count} is no number of servers"));
    Some(MemoryServers::start(count))
}

/// What makes commits of a last copy durable.
pub fn durability_alone() -> String {
    match std::env::var(MEMORY_VARIABLE) {
        Ok(count) => format!("memory, {count} memory servers"),
        Err(_) => "disk".to_owned(),
    }
}

/// Has memory servers keep the logs of all sites, unless they do already.
fn keep_logs(cluster: &ClusterDirectory, servers: &MemoryServers) {
    for site in cluster.sites().keys() {
        let path = cluster.config_of(ProcessName::Site(*site));
        let config = SiteConfig::read(&path).expect("it was written");
        if config.memory.is_empty() {
            SiteConfig { memory: servers.addresses(), ..config }.write(&path).expect("the folder can be written");
        }
    }
}

/// Gives every site a network that loses, doubles and reorders datagrams.
fn worsen(cluster: &ClusterDirectory, faults: &str) {
    let faults = DatagramFaults::try_from(faults.to_owned()).unwrap_or_else(|error| panic!("{error}"));
    for site in cluster.sites().keys() {
        let path = cluster.config_of(ProcessName::Site(*site));
        let config = SiteConfig::read(&path).expect("it was written");
        SiteConfig { datagram_faults: faults, ..config }.write(&path).expect("the folder can be written");
    }
}

/// Has sites take clients in this way.
fn let_in(cluster: &ClusterDirectory, clients: &Clients) {
    for site in cluster.sites().keys() {
        let path = cluster.config_of(ProcessName::Site(*site));
        let config = SiteConfig::read(&path).expect("it was written");
        SiteConfig { clients: clients.clone(), ..config }.write(&path).expect("the folder can be written");
    }
}

/// One cluster at a time.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The `raid` program, as it is now.
pub fn raid() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_raid"))
}

/// Waits until something is so.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "after {} s still waiting for {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program of PostgreSQL, where Debian puts it. `None`, said aloud, where it is not installed.
pub fn postgres_program(name: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("{name} is not installed: this test does nothing without it");
    }
    found
}

/// Runs a program to its end; fails with everything it said unless it succeeds.
pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?} failed ({}):\n{}", output.status, said(&output));
    said(&output)
}

/// Everything a program said.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a process of ours runs; one that has ended and is not waited for by anybody does not.
pub fn runs(pid: &u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(4).any(|part| part == b"raid"))
}

/// A cluster for one test. The processes go before what they stand on.
pub struct World {
    pub running: RunningCluster,
    networks: Option<Networks>,
    never: AtomicBool,
    folder: tempfile::TempDir,
    _memory: Option<MemoryServers>,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    /// Three sites that serve.
    pub fn start() -> World {
        World::start_changed(|_| ())
    }

    /// As `start`, with configurations that the test has changed.
    pub fn start_changed(change: impl FnOnce(&ClusterDirectory)) -> World {
        let turn = turn();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (layout, channels) = (Some(layout()), Some(channels()));
        let wish = ClusterWish { sites: Some(3), port: Some(0), layout, channels, ..ClusterWish::default() };
        let cluster = ClusterDirectory::open_or_create(folder.path(), &wish).expect("a new cluster");
        change(&cluster);
        World::run(turn, folder, cluster, None)
    }

    /// As `start`, with keys.
    pub fn start_encrypted() -> World {
        World::start_as(ClusterWish { encrypt: Some(true), ..ClusterWish::default() })
    }

    /// Three sites in this layout.
    pub fn start_in(layout: Layout) -> World {
        World::start_as(ClusterWish { layout: Some(layout), ..ClusterWish::default() })
    }

    /// As `start`, with more wishes.
    pub fn start_as(wish: ClusterWish) -> World {
        let turn = turn();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let layout = wish.layout.or(Some(layout()));
        // With keys, what is not named is what is encrypted.
        let channels = wish.channels.or(wish.encrypt.is_none().then(channels));
        let wish = ClusterWish { sites: wish.sites.or(Some(3)), port: Some(0), layout, channels, ..wish };
        let cluster = ClusterDirectory::open_or_create(folder.path(), &wish).expect("a new cluster");
        World::run(turn, folder, cluster, None)
    }

    /// As `start`, with datagrams that the network loses, doubles and reorders.
    pub fn start_over(faults: &str) -> World {
        let turn = turn();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (layout, channels) = (Some(layout()), Some(Channels::Datagrams));
        let wish = ClusterWish { sites: Some(3), port: Some(0), layout, channels, ..ClusterWish::default() };
        let cluster = ClusterDirectory::open_or_create(folder.path(), &wish).expect("a new cluster");
        worsen(&cluster, faults);
        World::run(turn, folder, cluster, None)
    }

    /// As `start`, with clients that come in as `clients` says, given the cluster's folder.
    pub fn start_for(clients: impl FnOnce(&Path) -> Clients) -> World {
        let turn = turn();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let wish = ClusterWish { sites: Some(3), port: Some(0), layout: Some(layout()), ..ClusterWish::default() };
        let cluster = ClusterDirectory::open_or_create(folder.path(), &wish).expect("a new cluster");
        let_in(&cluster, &clients(folder.path()));
        World::run(turn, folder, cluster, None)
    }

    /// The cluster that is in this part of the folder already.
    pub fn start_made(folder: tempfile::TempDir, data: &Path) -> World {
        let turn = turn();
        let cluster = ClusterDirectory::open(data).expect("a cluster that was made");
        World::run(turn, folder, cluster, None)
    }

    /// Ends all processes as a person would who has had enough; returns what did not end well.
    pub fn stop(self) -> Vec<String> {
        self.running.stop()
    }

    /// As `start`, every process in a network of its own, with keys; `None` where there can be no networks.
    pub fn start_in_networks() -> Option<World> {
        let turn = turn();
        let networks = Networks::build()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = |name, port| SocketAddr::new(networks.address(name), port);
        let mut description = format!(
            "instance = 1\nmethod = \"locking\"\nlayout = \"{}\"\nworkers = 1\nmemory_mb = 512\nrequired_copies = 2\nencrypt = true\noracle = \"{}\"\n",
            layout(),
            place(ProcessName::Oracle, 7400)
        );
        for site in 1..=3 {
            let [sql, listen, console] = [5433, 7401, 7501].map(|port| place(ProcessName::Site(site), port));
            description +=
                &format!("[sites.{site}]\nsql = \"{sql}\"\nlisten = \"{listen}\"\nconsole = \"{console}\"\n");
        }
        std::fs::write(folder.path().join(DESCRIPTION_FILE), description).expect("the folder can be written");
        let cluster = ClusterDirectory::open_or_create(folder.path(), &ClusterWish::default()).expect("a new cluster");
        // Nobody else reaches these networks.
        let everybody = Some(vec!["host all all all trust".to_owned()]);
        let_in(&cluster, &Clients { insecure: true, hba: everybody, ..Clients::default() });
        let mut world = World::run(turn, folder, cluster, Some(networks));
        world.all_is_encrypted();
        Some(world)
    }

    /// Fails unless every connection between sites, and with the oracle, is encrypted.
    pub fn all_is_encrypted(&mut self) {
        let statuses = self.wait("every site to be connected with all others", |statuses| {
            statuses.len() == 3 && statuses.values().all(|status| status.peers.iter().all(|peer| peer.connected))
        });
        for status in statuses.values() {
            assert_eq!(status.peers.len(), 3, "two sites and the oracle");
            let clear: Vec<u16> = status.peers.iter().filter(|peer| !peer.encrypted).map(|peer| peer.site).collect();
            assert!(clear.is_empty(), "site {} talks in clear with {clear:?}", status.site);
        }
    }

    fn run(
        turn: MutexGuard<'static, ()>,
        folder: tempfile::TempDir,
        cluster: ClusterDirectory,
        networks: Option<Networks>,
    ) -> World {
        if let Ok(faults) = std::env::var(FAULTS_VARIABLE) {
            worsen(&cluster, &faults);
        }
        // Those are not reached from networks of their own.
        let memory = if networks.is_none() { memory_servers() } else { None };
        if let Some(servers) = &memory {
            keep_logs(&cluster, servers);
        }
        let names = networks.as_ref().map(Networks::names).unwrap_or_default();
        let running = RunningCluster::start_in(raid(), cluster, names).expect("the processes start");
        let mut world =
            World { running, networks, never: AtomicBool::new(false), folder, _memory: memory, _turn: turn };
        world.running.wait_until_up(&world.never).unwrap_or_else(|error| panic!("{error}\n{}", world.logs()));
        world
    }

    /// What `raid status` shows.
    pub fn shown_status(&self) -> String {
        let mut command = Command::new(raid());
        said(&command.args(["status", "--data"]).arg(self.folder.path()).output().expect("raid runs"))
    }

    /// The networks of a world that was started in them.
    pub fn networks(&self) -> &Networks {
        self.networks.as_ref().expect("the world was started in networks")
    }

    /// Waits until those that are not gone have an epoch without those that are, and serve.
    pub fn wait_until_without(&mut self, gone: &[u16]) {
        self.wait(&format!("an epoch without {gone:?}"), |statuses| {
            let without =
                |status: &Status| is_up(status) && status.members.iter().all(|member| !gone.contains(&member.site));
            let others: Vec<_> = statuses.iter().filter(|(site, _)| !gone.contains(site)).collect();
            others.len() == 3 - gone.len() && others.iter().all(|(_, status)| without(status))
        });
    }

    pub fn sql(&self, site: u16) -> SocketAddr {
        self.running.cluster().sites()[&site].sql
    }

    pub fn addresses(&self) -> Vec<(u16, SocketAddr)> {
        self.running.sql_addresses()
    }

    pub fn connect(&self, site: u16) -> postgres::Client {
        connect(self.sql(site)).unwrap_or_else(|error| panic!("site {site}: {error}\n{}", self.logs()))
    }

    /// A client program aimed at a site.
    pub fn client(&self, program: &Path, site: u16) -> Command {
        let sql = self.sql(site);
        let mut command = Command::new(program);
        command.args(["-h", &sql.ip().to_string(), "-p", &sql.port().to_string(), "-U", "raid"]);
        command
    }

    /// Waits for a state of the sites.
    pub fn wait(&mut self, what: &str, wanted: impl FnMut(&Statuses) -> bool) -> Statuses {
        let seen = self.running.wait(what, PATIENCE, &self.never, wanted);
        seen.unwrap_or_else(|error| panic!("{error}\n{}", self.logs()))
    }

    /// Waits until all sites are up and nothing is left to repair.
    pub fn wait_until_repaired(&mut self) {
        let sites = self.running.cluster().sites().len();
        self.wait("all sites to be up and repaired", |statuses| all_is_repaired(statuses, sites));
    }

    /// The folder with the segments of a process's log.
    pub fn log_folder(&self, name: ProcessName) -> PathBuf {
        let folder = self.running.cluster().folder_of(name);
        let memory_log = folder.join("memory-log");
        if memory_log.exists() { memory_log.join("log") } else { folder.join("log") }
    }

    /// Changes a site's configuration, for its next start.
    pub fn configure(&self, site: u16, change: impl FnOnce(SiteConfig) -> SiteConfig) {
        let path = self.running.cluster().config_of(ProcessName::Site(site));
        let config = SiteConfig::read(&path).expect("it was written");
        change(config).write(&path).expect("the folder can be written");
    }

    /// Fills the DebitCredit tables and sets clients to work at all sites.
    pub fn load(&self, clients: usize) -> Crew {
        let loaded = load::load(&self.addresses(), 1, &self.never, &mut Screen::hidden());
        loaded.unwrap_or_else(|error| panic!("{error}\n{}", self.logs()));
        let crew = Crew::start(self.addresses(), 1, clients);
        self.wait_for_commits(&crew, 100);
        crew
    }

    /// Waits until so many more commits are acknowledged.
    pub fn wait_for_commits(&self, crew: &Crew, more: u64) {
        let before = crew.counts().acknowledged;
        let deadline = Instant::now() + PATIENCE;
        while crew.counts().acknowledged < before + more {
            assert!(Instant::now() < deadline, "no {more} more commits: {:?}\n{}", crew.counts(), self.logs());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the load and compares every site with what the clients were told.
    pub fn audit(&mut self, crew: Crew) -> Vec<Account> {
        let (accounts, _) = crew.gather().unwrap_or_else(|hanging| panic!("{hanging} clients hang\n{}", self.logs()));
        self.wait_until_repaired();
        let ledgers: Vec<_> = accounts.iter().map(|account| account.ledger.clone()).collect();
        let found =
            audit(self.addresses(), &ledgers, |_| ()).unwrap_or_else(|error| panic!("{error}\n{}", self.logs()));
        assert_eq!(found.complaints(), Vec::<String>::new(), "{}", self.logs());
        let surprises: Vec<&String> = accounts.iter().flat_map(|account| &account.surprises).collect();
        assert!(surprises.is_empty(), "errors that no application should have to expect: {surprises:?}");
        accounts
    }

    /// Makes a table of wide rows at site 1: more log than there is between two checkpoints, and than one segment holds.
    pub fn write_wide_rows(&self) {
        self.write_rows("wide", WIDE_ROWS, WIDE_BYTES);
    }

    /// Makes a table (k int, v text) at site 1 with so many rows of so many bytes, in transactions of half a megabyte.
    pub fn write_rows(&self, table: &str, rows: i64, bytes: i64) {
        let mut client = self.connect(1);
        client.batch_execute(&format!("CREATE TABLE {table} (k int PRIMARY KEY, v text)")).expect("a table");
        let batch = ((1 << 19) / bytes).max(1);
        for first in (1..=rows).step_by(batch as usize) {
            let last = (first + batch - 1).min(rows);
            let fill =
                format!("INSERT INTO {table} SELECT g, repeat('x', {bytes}) FROM generate_series({first}, {last}) g");
            eventually("the rows", || match client.batch_execute(&fill) {
                Ok(()) => true,
                // The set of sites may change meanwhile, and the answer be lost: then the rows are there at the next try, or are not.
                Err(error) => match error.code().map(|code| code.code()) {
                    Some("23505") => true,
                    Some("40001" | "57P03" | "08007") => false,
                    _ => panic!("{}\n{}", explain(&error), self.logs()),
                },
            });
        }
    }

    /// The ends of all log texts.
    pub fn logs(&self) -> String {
        let mut text = format!("(data in {})\n", self.folder.path().display());
        for name in self.running.cluster().names() {
            let log = self.running.cluster().folder_of(name).join("log.txt");
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            text += &format!("--- {name}\n{}\n", lines[lines.len().saturating_sub(25)..].join("\n"));
        }
        text
    }

    /// Kills a site and waits for its end: also of its servers' processes, which end by themselves and may have its files open until then.
    pub fn kill(&mut self, site: u16) {
        let pids = self.pids(&[site]);
        self.running.kill(ProcessName::Site(site));
        eventually("its servers' processes to end", || !pids.iter().any(runs));
    }

    /// The processes of all servers of these sites, of those that answer.
    pub fn pids(&self, sites: &[u16]) -> BTreeSet<u32> {
        let statuses = sites.iter().filter_map(|site| self.running.status(*site).ok());
        statuses.flat_map(|status| status.servers).map(|server| server.pid).filter(|pid| *pid > 0).collect()
    }

    /// Waits until a process has ended by itself with an error, and returns what it logged last.
    pub fn wait_until_failed(&mut self, name: ProcessName) -> String {
        let process = self.running.process(name).expect("it was started");
        eventually("the process to give up", || process.ended().is_some());
        let status = process.ended().expect("it has ended");
        let lines = process.last_lines();
        assert!(status.code().is_some_and(|code| code != 0), "it must end with an error, not with {status}:\n{lines}");
        lines
    }

    /// Starts a killed process.
    pub fn start_again(&mut self, name: ProcessName) {
        self.running.start_process(name).expect("the process starts");
    }
}
