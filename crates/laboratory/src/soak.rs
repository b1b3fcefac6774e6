//! A mixed load for an hour with a kill a minute: nothing is lost, and memory and disk stay what they are.
//!
//! The load goes in turns of a minute. In each, one site is killed and taken back while clients book, read and change a hot row at a bounded
//! rate; then the books are closed: what every client was told is compared with every copy, and the history begins anew. Invariant: so the
//! database never holds more than the bookings of one turn, and what grows from turn to turn is Raid's own.
//!
//! * [`side_load`]: what goes on beside the bookings; * [`samples`]: what is measured of each process; * [`verdict`]: whether it is flat.

pub mod samples;
pub mod side_load;
pub mod verdict;

use crate::debit_credit::audit::{Audit, audit};
use crate::debit_credit::connect;
use crate::debit_credit::crew::{Counts, Crew};
use crate::debit_credit::ledger::Ledger;
use crate::debit_credit::load::load;
use crate::experiment::{ExperimentError, failed};
use crate::{limits, machine};
use local_cluster::ClusterWish;
use local_cluster::process::ProcessName;
use local_cluster::running::{ClusterRunError, RunningCluster, Statuses, all_is_repaired};
use local_cluster::screen::{Screen, grouped};
use samples::{Sample, Samples, table_head, table_row};
use side_load::{SideCounts, SideLoad};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use verdict::Verdict;

/// What is done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many turns of a minute, with a kill each.
    pub minutes: u32,
    /// Bookings a second.
    pub rate: u32,
    /// Clients that book.
    pub clients: usize,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long it took.
    pub took: Duration,
    /// Kills, and returns.
    pub kills: u32,
    /// Of bookings.
    pub counts: Counts,
    /// Of what went on beside them.
    pub side: SideCounts,
    /// Cores, and the median time of a disk sync before it began.
    pub machine: (usize, Duration),
    /// What was wrong with the books, at any turn.
    pub complaints: Vec<String>,
    /// Whether each thing that was measured is flat.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// Whether nothing was lost and everything measured is flat.
    pub fn is_good(&self) -> bool {
        self.complaints.is_empty() && self.verdicts.iter().all(Verdict::is_flat)
    }
}

/// The soak under way.
struct Soak<'a> {
    running: RunningCluster,
    options: Options,
    stop: &'a AtomicBool,
    screen: &'a mut Screen,
    begun: Instant,
    samples: Samples,
    counts: Counts,
    side: SideCounts,
    complaints: Vec<String>,
    /// What the balances were when the history began anew.
    opening: i64,
    sampled_at: Instant,
}

/// Runs it on a cluster of three sites in a folder of its own.
///
/// # Errors
/// The cluster does not do what it must, or `stop` is set. Books that do not balance are no error here: the report tells of them.
pub fn run(
    program: &Path,
    folder: &Path,
    options: Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Report, ExperimentError> {
    let sync = machine::sync_latency(&folder.join("disk"))?;
    let running = RunningCluster::start_wished(program, &folder.join("cluster"), &ClusterWish::default(), stop)?;
    load(&running.sql_addresses(), 1, stop, screen)?;
    side_load::make_table(running.sql_addresses()[0].1).map_err(failed("making the table of the hot row"))?;
    let begun = Instant::now();
    let mut soak = Soak {
        running,
        options,
        stop,
        screen,
        begun,
        samples: Samples::default(),
        counts: Counts::default(),
        side: SideCounts::default(),
        complaints: Vec::new(),
        opening: 0,
        sampled_at: begun,
    };
    soak.screen.line(&table_head());
    for turn in 0..options.minutes {
        soak.turn(turn)?;
    }
    let report = Report {
        took: begun.elapsed(),
        kills: options.minutes,
        counts: soak.counts,
        side: soak.side,
        machine: (machine::cores(), sync),
        complaints: soak.complaints,
        verdicts: soak.samples.verdicts(),
    };
    for complaint in soak.running.stop() {
        soak.screen.line(&complaint);
    }
    Ok(report)
}

impl Soak<'_> {
    /// A minute: load, a kill, a return, and the closing of the books.
    fn turn(&mut self, number: u32) -> Result<(), ExperimentError> {
        let begun = Instant::now();
        let sites = self.running.sql_addresses();
        let (victim, _) = sites[number as usize % sites.len()];
        let crew = Crew::start_paced(sites.clone(), 1, self.options.clients, Some(self.options.rate));
        let side = SideLoad::start(&sites, self.options.rate);
        self.sample_until(begun + limits::SOAK_KILL_AFTER, &crew)?;
        self.running.kill(ProcessName::Site(victim));
        self.sample_until(begun + limits::SOAK_RETURN_AFTER, &crew)?;
        self.running.start_process(ProcessName::Site(victim))?;
        let (stop, count) = (self.stop, sites.len());
        let is_repaired = |statuses: &Statuses| all_is_repaired(statuses, count);
        self.running.wait("the site to be current", limits::RETURN_TIME_MAX, stop, is_repaired)?;
        side.begin_long_reader();
        self.sample_until(begun + limits::SOAK_LOAD, &crew)?;
        let (accounts, counts) = crew.gather().map_err(|count| ExperimentError::ClientsHang { count })?;
        let (side, mut complaints) = side.end();
        self.running.wait("all sites to be current", limits::RETURN_TIME_MAX, stop, is_repaired)?;
        for account in &accounts {
            complaints.extend(account.surprises.iter().map(|surprise| format!("a client was surprised: {surprise}")));
        }
        let ledgers: Vec<Ledger> = accounts.into_iter().map(|account| account.ledger).collect();
        let audit = audit(sites.iter().copied(), &ledgers, |_| {})?;
        complaints.extend(audit.complaints_since(self.opening));
        complaints.extend(side_load::audit_hot_row(&sites, &side)?);
        self.close_books(&audit, sites[0].1)?;
        for complaint in complaints {
            let complaint = format!("minute {}: {complaint}", number + 1);
            self.screen.line(&format!("WRONG: {complaint}"));
            self.complaints.push(complaint);
        }
        self.counts = added(self.counts, counts);
        self.side.add(&side);
        self.show(number)?;
        while begun.elapsed() < limits::SOAK_TURN && number + 1 < self.options.minutes {
            self.pause()?;
        }
        Ok(())
    }

    /// The history begins anew; balances stay, and the hot row is set back.
    fn close_books(&mut self, audit: &Audit, sql: SocketAddr) -> Result<(), ExperimentError> {
        self.opening = audit.sites.values().next().map_or(0, |site| site.books.accounts);
        connect(sql)
            .and_then(|mut client| client.batch_execute("TRUNCATE pgbench_history; UPDATE hot SET n = 0"))
            .map_err(failed("closing the books"))
    }

    /// Measures every process now and then until this time.
    fn sample_until(&mut self, until: Instant, crew: &Crew) -> Result<(), ExperimentError> {
        while Instant::now() < until {
            if self.sampled_at.elapsed() >= limits::SAMPLE_INTERVAL {
                self.sampled_at = Instant::now();
                for (name, sample) in self.measure()? {
                    self.samples.take(name, sample);
                }
            }
            let (elapsed, counts) = (self.begun.elapsed(), added(self.counts, crew.counts()));
            let minutes = self.options.minutes;
            self.screen.progress(|| {
                let bookings = grouped(counts.acknowledged);
                format!("  {:.0} s of {minutes} min, {bookings} bookings acknowledged", elapsed.as_secs_f64())
            });
            self.pause()?;
        }
        Ok(())
    }

    /// Every process that runs.
    fn measure(&mut self) -> Result<Vec<(ProcessName, Sample)>, ExperimentError> {
        let mut measured = Vec::new();
        for name in self.running.cluster().names() {
            let folder = self.running.cluster().folder_of(name);
            let Some(process) = self.running.process(name) else { continue };
            if process.ended().is_some() {
                continue;
            }
            let pid = process.id();
            let sample = Sample::of(pid, &folder).map_err(|source| ExperimentError::Measure { name, source })?;
            measured.push((name, sample));
        }
        Ok(measured)
    }

    /// A row of the table for every process, at the end of a turn.
    fn show(&mut self, number: u32) -> Result<(), ExperimentError> {
        let statuses = self.running.statuses();
        for (name, sample) in self.measure()? {
            let status = match name {
                ProcessName::Oracle => None,
                ProcessName::Site(site) => statuses.get(&site),
            };
            self.screen.line(&table_row(number + 1, name, &sample, status));
        }
        Ok(())
    }

    fn pause(&self) -> Result<(), ExperimentError> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(ClusterRunError::Stopped.into());
        }
        std::thread::sleep(local_cluster::limits::LOOK_INTERVAL);
        Ok(())
    }
}

fn added(one: Counts, other: Counts) -> Counts {
    Counts {
        acknowledged: one.acknowledged + other.acknowledged,
        conflicts: one.conflicts + other.conflicts,
        moved: one.moved + other.moved,
        unknown: one.unknown + other.unknown,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cores, sync) = self.machine;
        let minutes = self.took.as_secs_f64() / 60.0;
        let sync_ms = sync.as_secs_f64() * 1e3;
        writeln!(out, "{minutes:.1} min with {} kills; {cores} cores; a disk sync takes {sync_ms:.2} ms", self.kills)?;
        let Counts { acknowledged, conflicts, moved, unknown } = self.counts;
        writeln!(
            out,
            "bookings acknowledged {}, refused for a conflict and tried again {}, moved to another site {}, of unknown outcome {}",
            grouped(acknowledged),
            grouped(conflicts),
            grouped(moved),
            grouped(unknown)
        )?;
        writeln!(out, "{}", self.side)?;
        writeln!(out, "{}", verdict::rule())?;
        for verdict in &self.verdicts {
            writeln!(out, "{verdict}")?;
        }
        let (wrong, growing) =
            (self.complaints.len(), self.verdicts.iter().filter(|verdict| !verdict.is_flat()).count());
        match (wrong, growing) {
            (0, 0) => write!(
                out,
                "All is well: nothing is lost, nothing is doubled, all copies are equal; memory and disk are flat."
            ),
            (0, _) => write!(
                out,
                "Nothing is lost, nothing is doubled, all copies are equal; but {growing} of the above are not flat."
            ),
            _ => write!(out, "WRONG: {wrong} complaints, see above; {growing} of the above are not flat."),
        }
    }
}
