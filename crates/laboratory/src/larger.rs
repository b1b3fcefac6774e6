//! More rows than memory: what becomes of a working set that fits when the table does not.
//!
//! One site, one table of rows of a kilobyte that cannot be compressed. The working set is every so many-th row, so that no page of the store and
//! no range of keys is its own. Its figures stand beside those of the same rows in a site that has no others. Invariant: every answer is looked at:
//! a row that is not there, or a count that is not that of the rows loaded, ends the experiment.
//!
//! * [`rows`]: the table; * [`clients`]: who reads and changes it; * `report`: what is printed.

pub mod clients;
mod report;
pub mod rows;

pub use report::{Phase, Report, Size};

use crate::debit_credit::connect;
use crate::experiment::{ExperimentError, failed};
use crate::first_answer::Asking;
use crate::soak::samples::Sample;
use crate::{limits, machine};
use clients::{Clients, Found, Keys, Work};
use local_cluster::process::ProcessName;
use local_cluster::running::{ClusterRunError, RunningCluster};
use local_cluster::screen::{Screen, bytes, grouped};
use local_cluster::{ClusterWish, file_error};
use postgres::Client;
use rows::{Share, Table};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The only site.
const SITE: u16 = 1;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows, of [`rows::ROW_BYTES`] each.
    pub rows: u64,
    /// Megabytes of rows that the site keeps in memory.
    pub memory_mb: usize,
    /// How much of the rows is the working set.
    pub working_set: Share,
    /// How long each load goes on.
    pub load_time: Duration,
    /// Clients of each load.
    pub clients: usize,
}

/// Bytes that must be free on the disk: what the store takes while it compacts, the log, and the site of the working set alone.
pub fn disk_needed(options: &Options) -> u64 {
    let rows = options.rows + options.working_set.of(options.rows).rows();
    rows * rows::ROW_BYTES * limits::LARGER_DISK_PERCENT / 100 + limits::LARGER_DISK_BESIDE
}

/// The experiment under way, with one site.
struct Experiment<'a> {
    running: RunningCluster,
    table: Table,
    options: Options,
    stop: &'a AtomicBool,
    screen: &'a mut Screen,
    /// The most that was seen since a phase began.
    peak: u64,
}

/// Runs it: the working set alone first, then all rows.
///
/// # Errors
/// The disk has too little room, the cluster does not do what it must, an answer is wrong, or `stop` is set.
pub fn run(
    program: &Path,
    folder: &Path,
    options: Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Report, ExperimentError> {
    std::fs::create_dir_all(folder).map_err(file_error(folder))?;
    let (free, needed) = (machine::free_bytes(folder)?, disk_needed(&options));
    if free < needed {
        return Err(ExperimentError::Disk { folder: folder.display().to_string(), free, needed });
    }
    let sync = machine::sync_latency(&folder.join("disk"))?;
    let (all, working_set) = (Table::of(options.rows), options.working_set.of(options.rows));
    screen.line(&format!("{} rows of the working set alone", grouped(working_set.rows())));
    let mut small = Experiment::start(program, &folder.join("alone"), working_set, options, stop, screen)?;
    small.load()?;
    let alone = small.measure_alone(working_set)?;
    small.end();
    let place = folder.join("alone");
    std::fs::remove_dir_all(&place).map_err(file_error(&place))?;
    screen.line(&format!("{} rows", grouped(all.rows())));
    let mut large = Experiment::start(program, &folder.join("all"), all, options, stop, screen)?;
    let loaded = large.load()?;
    let size = large.size()?;
    let phases = large.measure_all(working_set)?;
    let restart = large.restart()?;
    large.end();
    Ok(Report { options, cores: machine::cores(), sync, loaded, size, alone, phases, restart })
}

impl<'a> Experiment<'a> {
    fn start(
        program: &Path,
        folder: &Path,
        table: Table,
        options: Options,
        stop: &'a AtomicBool,
        screen: &'a mut Screen,
    ) -> Result<Experiment<'a>, ExperimentError> {
        let wish = ClusterWish { sites: Some(1), memory_mb: Some(options.memory_mb), ..ClusterWish::default() };
        let running = RunningCluster::start_wished(program, folder, &wish, stop)?;
        Ok(Experiment { running, table, options, stop, screen, peak: 0 })
    }

    /// Loads the rows, and waits until the store has them.
    fn load(&mut self) -> Result<Phase, ExperimentError> {
        self.peak = 0;
        let begun = Instant::now();
        let (sql, table) = (self.running.sql_addresses()[0].1, self.table);
        let mut client = connect(sql).map_err(failed("connecting"))?;
        table.make(&mut client).map_err(failed("CREATE TABLE"))?;
        let mut first = 0;
        let mut found = Found::default();
        while first < table.rows() {
            let asked = Instant::now();
            let next = (first + rows::ROWS_AT_ONCE).min(table.rows());
            table.copy(&mut client, first..next)?;
            found.times.push(asked.elapsed());
            first = next;
            self.look()?;
            let (peak, took) = (self.peak, begun.elapsed().as_secs_f64());
            self.screen.progress(|| {
                let rate = first as f64 * rows::ROW_BYTES as f64 / took / 1e6;
                format!("  loaded {} rows, {rate:.1} MB/s, {} resident", grouped(first), bytes(peak))
            });
        }
        let took = begun.elapsed();
        self.running.wait_until_posted(limits::LARGER_POST_TIME_MAX, self.stop, self.screen)?;
        let phase = Phase::new("rows are loaded", found, took, table.rows(), self.peak);
        self.screen.line(&format!("  {phase}"));
        Ok(phase)
    }

    /// The working set in a site that has no other rows.
    fn measure_alone(&mut self, working_set: Table) -> Result<Vec<Phase>, ExperimentError> {
        let keys = Keys::of(working_set);
        self.warm(working_set)?;
        let reads = self.phase("working set: reads", Work::Read, keys, None)?;
        let changes = self.phase("working set: updates", Work::Change, keys, None)?;
        Ok(vec![reads, changes])
    }

    /// The working set by itself and beside other loads, and these loads.
    fn measure_all(&mut self, working_set: Table) -> Result<Vec<Phase>, ExperimentError> {
        let (keys, all) = (Keys::of(working_set), Keys::of(self.table));
        self.warm(working_set)?;
        let mut phases = vec![
            self.phase("working set: reads", Work::Read, keys, None)?,
            self.phase("working set: updates", Work::Change, keys, None)?,
            self.phase("reads, others read all rows", Work::Read, keys, Some(Work::Read))?,
            self.phase("updates, others read all rows", Work::Change, keys, Some(Work::Read))?,
            self.phase("reads, another scans", Work::Read, keys, Some(Work::Scan))?,
            self.phase("all rows: reads at random", Work::Read, all, None)?,
            self.phase("all rows: updates at random", Work::Change, all, None)?,
        ];
        phases.push(self.scan()?);
        self.warm(working_set)?;
        phases.push(self.phase("working set: reads, after all that", Work::Read, keys, None)?);
        Ok(phases)
    }

    /// Every row of the working set is read once.
    fn warm(&mut self, working_set: Table) -> Result<(), ExperimentError> {
        let begun = Instant::now();
        let clients = Clients::start(
            self.running.sql_addresses()[0].1,
            Keys::each_once(working_set),
            self.options.clients,
            Work::Read,
        );
        self.watch("reading the working set", &clients, begun, Duration::MAX)?;
        clients.end().map(drop)
    }

    /// One load for as long as each, perhaps beside another one, of as many clients, over all rows.
    fn phase(
        &mut self,
        name: &'static str,
        work: Work,
        keys: Keys,
        others: Option<Work>,
    ) -> Result<Phase, ExperimentError> {
        self.peak = 0;
        let sql = self.running.sql_addresses()[0].1;
        let others = others.map(|work| {
            let clients = if work == Work::Scan { 1 } else { self.options.clients };
            Clients::start(sql, Keys::of(self.table), clients, work)
        });
        let clients = Clients::start(sql, keys, self.options.clients, work);
        let begun = Instant::now();
        self.watch(name, &clients, begun, self.options.load_time)?;
        let (found, took) = (clients.end()?, begun.elapsed());
        let beside = others.map(Clients::end).transpose()?;
        let done = found.times.len() as u64;
        let mut phase = Phase::new(name, found, took, done, self.peak);
        phase.others = beside.map(|found| found.times.len() as f64 / took.as_secs_f64());
        self.screen.line(&format!("  {phase}"));
        Ok(phase)
    }

    /// One scan of all rows by one client, on an idle site.
    fn scan(&mut self) -> Result<Phase, ExperimentError> {
        self.peak = 0;
        let begun = Instant::now();
        let clients = Clients::start(self.running.sql_addresses()[0].1, Keys::each_once(self.table), 1, Work::Scan);
        self.watch("a full scan", &clients, begun, Duration::MAX)?;
        let found = clients.end()?;
        let took = begun.elapsed();
        let phase = Phase::new("all rows: one full scan", found, took, self.table.rows(), self.peak);
        self.screen.line(&format!("  {phase}"));
        Ok(phase)
    }

    /// Kills the site and starts it again. How long until it answers the read of a row, and how much log it had to read.
    fn restart(&mut self) -> Result<(Duration, u64), ExperimentError> {
        let status = self.running.status(SITE).map_err(ExperimentError::Wrong)?;
        self.running.kill(ProcessName::Site(SITE));
        let begun = Instant::now();
        self.running.start_process(ProcessName::Site(SITE))?;
        let read = |client: &mut Client| client.query(rows::READ, &[&0_i32]).map(|rows| rows::is_read(&rows));
        let first = Asking::start(&self.running, SITE, read).wait(&mut self.running, self.stop)?;
        match first.found {
            true => Ok((first.answered_at - begun, status.log.bytes_to_replay)),
            false => Err(ExperimentError::Wrong("after the restart the read of row 0 did not find it".to_owned())),
        }
    }

    /// What the site takes on disk.
    fn size(&mut self) -> Result<Size, ExperimentError> {
        let sample = self.look()?;
        Ok(Size { log: sample.log, store: sample.store })
    }

    /// Measures the site's process, unless an end was asked for.
    fn look(&mut self) -> Result<Sample, ExperimentError> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(ClusterRunError::Stopped.into());
        }
        let name = ProcessName::Site(SITE);
        let folder = self.running.cluster().folder_of(name);
        let process = self.running.process(name).expect("it was started");
        if process.ended().is_some() {
            return Err(ExperimentError::Wrong(format!("the site has ended; its log says:\n{}", process.last_lines())));
        }
        let sample = Sample::of(process.id(), &folder).map_err(|source| ExperimentError::Measure { name, source })?;
        self.peak = self.peak.max(sample.own);
        Ok(sample)
    }

    /// Looks at the site now and then until the clients have ended or so much time has passed since they began.
    fn watch(
        &mut self,
        what: &str,
        clients: &Clients,
        begun: Instant,
        time_max: Duration,
    ) -> Result<(), ExperimentError> {
        loop {
            self.look()?;
            let (peak, took, answered) = (self.peak, begun.elapsed(), clients.answered());
            self.screen.progress(|| {
                let (seconds, answered) = (took.as_secs_f64(), grouped(answered));
                format!("  {what}: {seconds:.0} s, {answered} answers, {} resident", bytes(peak))
            });
            let left = time_max.saturating_sub(begun.elapsed());
            if clients.wait_for_end(left.min(limits::LARGER_LOOK_INTERVAL)) || begun.elapsed() >= time_max {
                return Ok(());
            }
        }
    }

    fn end(self) {
        for complaint in self.running.stop() {
            self.screen.line(&complaint);
        }
    }
}
