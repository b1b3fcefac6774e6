//! Where experiments run: processes, folders, and tables that are filled in turns and tell what their figures depend on.

use laboratory_harness::figure::short;
use laboratory_harness::process::{Process, Program};
use laboratory_harness::report::Table;
use laboratory_harness::rounds::Rounds;
use laboratory_harness::{Failure, Outcome};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use tempfile::TempDir;

use crate::memory::client::{Ran, Turn};
use crate::memory::disk::{Disk, SyncTimes};
use crate::memory::hosts::Hosts;
use crate::memory::job::Job;
use crate::memory::limits::DISK_RECEIPTS_PERCENT;
use crate::memory::processes::{ClientProcess, Served, together};
use crate::memory::scale::Scale;
use crate::memory::system::{Log, System};

/// What stands beside our figures.
pub const SOURCE: &str = "On using network memory (1997)";

/// See the module's description.
#[derive(Debug)]
pub struct Laboratory {
    /// How this program is started again.
    pub program: Program,
    /// How often everything has its turn.
    pub rounds: Rounds,
    /// How much is measured.
    pub scale: Scale,
    /// Where files are.
    pub folder: PathBuf,
    /// SQLite's extension.
    pub sqlite_extension: PathBuf,
}

/// A figure that is to be measured.
#[derive(Clone, Debug)]
pub struct Point {
    /// In this column.
    pub column: usize,
    /// In the row of this name.
    pub row: String,
    /// The paper's; none where its text has none.
    pub paper: Option<f64>,
}

impl Laboratory {
    /// A folder that vanishes with its value.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn folder(&self) -> Outcome<TempDir> {
        let made = tempfile::Builder::new().prefix("raid-memory-").tempdir_in(&self.folder);
        made.map_err(Failure::refused(&format!("make a folder in {}", self.folder.display())))
    }

    /// Starts a process with a job at a host; `task` is what it does, as a verb.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn start(&self, hosts: &Hosts, host: usize, job: &Job, task: &str) -> Outcome<Process> {
        Process::spawn(hosts.start(host, &self.program, &serde_json::to_string(job)?), task)
    }

    /// Starts memory servers, one at each of these hosts.
    ///
    /// # Errors
    /// One does not start.
    pub fn servers(&self, hosts: &Hosts, at: impl Iterator<Item = usize>) -> Outcome<Vec<Served>> {
        let serve = |host| {
            let job = Job::Serve { listen: SocketAddr::new(hosts.address(host), 0) };
            Served::of(self.start(hosts, host, &job, "keep logs in memory")?)
        };
        at.map(serve).collect()
    }

    /// Starts a client of these servers at a host, with files in a folder of its own within this one.
    ///
    /// # Errors
    /// It does not start.
    pub fn client(
        &self,
        hosts: &Hosts,
        host: usize,
        folder: &Path,
        servers: Vec<SocketAddr>,
    ) -> Outcome<ClientProcess> {
        let folder = folder.join(format!("client-{host}"));
        std::fs::create_dir(&folder)?;
        ClientProcess::of(self.start(hosts, host, &Job::Client { folder, servers }, "run transactions")?)
    }

    /// Measures all points in turns, and notes what they depend on: disk, processors, network.
    ///
    /// # Errors
    /// Somebody asked for an end.
    pub fn fill(
        &self,
        name: &str,
        table: &mut Table,
        points: Vec<Point>,
        folder: &Path,
        hosts: &Hosts,
        mut turn: impl FnMut(usize, u32) -> Outcome<f64>,
    ) -> Outcome<()> {
        let syncs = SyncTimes::new(folder)?;
        let (count, rounds) = (points.len(), self.rounds.count());
        let mut told = None;
        let figures = self.rounds.in_rounds(count, |round, index| {
            if told.replace(round) != Some(round) {
                eprintln!("{name}: round {} of {rounds}, {count} turns", round + 1);
            }
            syncs.take()?;
            turn(index, round)
        })?;
        for (Point { column, row, paper }, figure) in points.into_iter().zip(figures) {
            table.put(column, &row, figure, paper);
        }
        let processors = available_parallelism().map_or(1, usize::from);
        table.notes.push(format!("{syncs}; {processors} processors for all of it; {hosts}"));
        Ok(())
    }

    /// A table of what one client comes to, which has [`crate::memory::limits::COPIES_MAX`] servers.
    ///
    /// # Errors
    /// As of [`Laboratory::fill`], or servers and client do not start.
    pub fn one_client(&self, name: &str, table: &mut Table, wanted: Vec<(Point, Turn)>) -> Outcome<()> {
        let servers = usize::from(crate::memory::limits::COPIES_MAX);
        let (folder, hosts) = (self.folder()?, Hosts::new(1 + servers));
        let served = self.servers(&hosts, 1..=servers)?;
        let addresses = served.iter().map(|server| server.address).collect();
        let mut clients = [self.client(&hosts, 0, folder.path(), addresses)?];
        let mut receipts = Receipts::default();
        let (points, turns): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
        self.fill(name, table, points, folder.path(), &hosts, |index, round| {
            let turn = Turn { seed: round.into(), ..turns[index] };
            let ran = together(&mut clients, turn, self.scale.turn_time)?;
            receipts.count(turn.system, &ran);
            Ok(ran.iter().map(Ran::rate).sum())
        })?;
        receipts.note(table);
        Ok(())
    }
}

/// By what the commits of RRVM were durable.
#[derive(Debug, Default)]
pub struct Receipts {
    all: u64,
    by_disk: u64,
}

impl Receipts {
    /// Takes note of what clients of a system have run.
    pub fn count(&mut self, system: System, ran: &[Ran]) {
        if system.log != Log::Disk {
            self.all += ran.iter().map(|ran| ran.transactions).sum::<u64>();
            self.by_disk += ran.iter().map(|ran| ran.by_disk).sum::<u64>();
        }
    }

    /// Notes it, if it is not as it should be.
    pub fn note(&self, table: &mut Table) {
        if self.by_disk * 100 > self.all * DISK_RECEIPTS_PERCENT {
            let percent = short(self.by_disk as f64 * 100.0 / self.all.max(1) as f64);
            table.notes.push(format!(
                "{percent}% of RRVM's commits were durable by the disk first: the servers were late, and this disk was asked as well"
            ));
        }
    }
}

/// Notes what network memory gains over each of the disks in the first and in the last column, and what the models are.
pub fn note_gains(table: &mut Table, disks: &[Disk], paper: &str) {
    let names = table.columns.names();
    let gain = |column: usize, disk: &Disk| {
        let rate = |system: System| table.median(&system.to_string(), column);
        Some(format!("{}x ({disk})", short(rate(System::rrvm(1, *disk))? / rate(System::rvm(*disk))?)))
    };
    let at = |column: usize| {
        let gains: Vec<_> = disks.iter().filter_map(|disk| gain(column, disk)).collect();
        format!("{}: {}", names[column], gains.join(", "))
    };
    let mut columns = vec![0, names.len().saturating_sub(1)];
    columns.dedup();
    let gains: Vec<_> = columns.into_iter().map(at).collect();
    table.notes.push(format!("RRVM k=1 over RVM, {}; {paper}", gains.join("; ")));
    if disks.iter().any(|disk| *disk != Disk::This) {
        table.notes.push(
            "a model's syncs take at least so long, of RVM's log and of the data files of both; the local copy of RRVM's log, which commits do not wait for, is on this disk"
                .to_owned(),
        );
    }
}
