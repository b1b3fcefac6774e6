//! What a site that comes back costs the clients of the others: their rate before, meanwhile, and after.
//!
//! Clients book at two sites all the time. The third is killed, part of the accounts changes, and it is started again: it reads its log, joins, and
//! copies what it lacks, in competition with the load. Invariant: a booking that is lost or doubled ends the experiment.

use crate::debit_credit::audit::audit;
use crate::debit_credit::crew::Crew;
use crate::debit_credit::ledger::Ledger;
use crate::debit_credit::load::load;
use crate::debit_credit::{ACCOUNTS, connect, gap};
use crate::experiment::{ExperimentError, change_rows, failed};
use crate::{limits, machine};
use local_cluster::ClusterWish;
use local_cluster::process::ProcessName;
use local_cluster::running::{ClusterRunError, RunningCluster, all_is_repaired, serve_without};
use local_cluster::screen::{Screen, grouped};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The site that goes away.
const AWAY: u16 = 3;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Scale of the tables.
    pub scale: u32,
    /// How much of the accounts changes while the site is away, in percent.
    pub percent: u32,
    /// How often it goes.
    pub rounds: u32,
    /// Clients that book at the other sites.
    pub clients: usize,
    /// Bookings a second at most; `None`: as many as they can.
    pub rate: Option<u32>,
}

/// One return, as the clients of the other sites saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Return {
    /// From the start of its process until nothing was left to copy.
    pub took: Duration,
    /// Bookings a second acknowledged just before that, with two sites,
    pub before: f64,
    /// meanwhile,
    pub meanwhile: f64,
    /// and just after it, with three sites.
    pub after: f64,
    /// The longest time without one, meanwhile.
    pub pause: Duration,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was measured.
    pub options: Options,
    /// Rows that changed each time, and of how many.
    pub changed: (u64, u64),
    /// Every return.
    pub returns: Vec<Return>,
    /// Cores of the machine.
    pub cores: usize,
    /// Median time of a disk sync before the experiment.
    pub sync: Duration,
}

/// Times of one return, in microseconds of the load.
struct Course {
    begun: u64,
    started: u64,
    repaired: u64,
    ended: u64,
}

/// Runs the experiment on a cluster of three sites in a folder of its own.
///
/// # Errors
/// The cluster does not do what it must, or `stop` is set.
pub fn run(
    program: &Path,
    folder: &Path,
    options: Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Report, ExperimentError> {
    let sync = machine::sync_latency(&folder.join("disk"))?;
    let mut running = RunningCluster::start_wished(program, &folder.join("cluster"), &ClusterWish::default(), stop)?;
    load(&running.sql_addresses(), options.scale, stop, screen)?;
    // What a site reads at its start is then of the clients, not of the load before them.
    running.wait_until_posted(limits::POST_TIME_MAX, stop, screen)?;
    let accounts = u64::from(options.scale) * u64::from(ACCOUNTS);
    // As many go up by one as go down.
    let changed = (accounts * u64::from(options.percent) / 100).next_multiple_of(2);
    let others = running.sql_addresses().into_iter().filter(|(site, _)| *site != AWAY).collect();
    let crew = Crew::start_paced(others, options.scale, options.clients, options.rate);
    let mut courses = Vec::new();
    for round in 1..=options.rounds {
        courses.push(one_return(&mut running, &crew, changed, stop, screen)?);
        let bookings = grouped(crew.counts().acknowledged);
        screen.line(&format!("round {round} of {}: {bookings} bookings until now", options.rounds));
    }
    let (accounts_of_clients, _) = crew.gather().map_err(|count| ExperimentError::ClientsHang { count })?;
    let commits = accounts_of_clients.iter().flat_map(|account| &account.commits);
    let mut times: Vec<u64> = commits.map(|commit| commit.at_us).collect();
    times.sort_unstable();
    let ledgers: Vec<Ledger> = accounts_of_clients.into_iter().map(|account| account.ledger).collect();
    let audit = audit(running.sql_addresses(), &ledgers, |site| screen.progress(|| format!("  auditing site {site}")))?;
    let complaints = audit.complaints();
    if !complaints.is_empty() {
        return Err(ExperimentError::Wrong(complaints.join("; ")));
    }
    screen.line(&format!("{} bookings: none is lost, none is there twice", grouped(times.len() as u64)));
    for complaint in running.stop() {
        screen.line(&complaint);
    }
    let returns = courses.iter().map(|course| seen(course, &times)).collect();
    Ok(Report { options, changed: (changed, accounts), returns, cores: machine::cores(), sync })
}

fn one_return(
    running: &mut RunningCluster,
    crew: &Crew,
    changed: u64,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Course, ExperimentError> {
    let now = || crew.elapsed().as_micros() as u64;
    running.wait("all sites to be current", limits::RETURN_TIME_MAX, stop, |statuses| all_is_repaired(statuses, 3))?;
    running.kill(ProcessName::Site(AWAY));
    running.wait("the others to go on", limits::RESUME_TIME_MAX, stop, |statuses| {
        statuses.len() == 2 && serve_without(AWAY, statuses)
    })?;
    let (site, sql) = running.sql_addresses()[0];
    let change = format!("UPDATE pgbench_accounts SET abalance = abalance + 1 - 2 * (aid % 2) WHERE aid <= {changed}");
    let mut client = connect(sql).map_err(failed(format!("connecting with site {site}")))?;
    change_rows(&mut client, &change).map_err(failed(format!("changing rows at site {site}")))?;
    let begun = now();
    watch(crew, stop, screen)?;
    let started = now();
    running.start_process(ProcessName::Site(AWAY))?;
    running.wait("the site to be repaired", limits::RETURN_TIME_MAX, stop, |statuses| all_is_repaired(statuses, 3))?;
    let repaired = now();
    watch(crew, stop, screen)?;
    Ok(Course { begun, started, repaired, ended: now() })
}

/// Lets the clients book for a while.
fn watch(crew: &Crew, stop: &AtomicBool, screen: &mut Screen) -> Result<(), ExperimentError> {
    let begun = Instant::now();
    while begun.elapsed() < limits::DIP_WATCH {
        if stop.load(Ordering::SeqCst) {
            return Err(ClusterRunError::Stopped.into());
        }
        screen.progress(|| format!("  {} bookings acknowledged", grouped(crew.counts().acknowledged)));
        std::thread::sleep(local_cluster::limits::LOOK_INTERVAL);
    }
    Ok(())
}

/// A return, by the sorted times of acknowledged bookings.
fn seen(course: &Course, times: &[u64]) -> Return {
    let rate = |from: u64, to: u64| {
        let count = times.partition_point(|time| *time < to) - times.partition_point(|time| *time < from);
        count as f64 * 1e6 / (to - from).max(1) as f64
    };
    let pause = gap::longest_between(times, course.started, course.repaired).unwrap_or_default();
    Return {
        took: Duration::from_micros(course.repaired - course.started),
        before: rate(course.begun, course.started),
        meanwhile: rate(course.started, course.repaired),
        after: rate(course.repaired, course.ended),
        pause: Duration::from_micros(pause),
    }
}

impl Return {
    /// By how much the rate fell while the site came back: a share of what it was before or after, whichever is less, since a third copy costs
    /// something for good.
    pub fn dip(&self) -> f64 {
        let usual = self.before.min(self.after);
        if usual > 0.0 { (1.0 - self.meanwhile / usual).max(0.0) } else { 0.0 }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (changed, accounts) = self.changed;
        let pace = match self.options.rate {
            Some(rate) => format!("{} bookings a second at most", grouped(u64::from(rate))),
            None => "as many bookings as they can".to_owned(),
        };
        writeln!(
            out,
            "{} of {} rows changed while a site was away; {} clients at the two others, {pace}; {} cores; a disk sync takes {:.2} ms",
            grouped(changed),
            grouped(accounts),
            self.options.clients,
            self.cores,
            self.sync.as_secs_f64() * 1e3
        )?;
        writeln!(out, "{:44}{:>10}{:>10}{:>10}", "", "median", "lowest", "highest")?;
        let mut row = |what: &str, figure: &dyn Fn(&Return) -> f64, text: &dyn Fn(f64) -> String| {
            let mut figures: Vec<f64> = self.returns.iter().map(figure).collect();
            figures.sort_unstable_by(f64::total_cmp);
            let at = |place: usize| figures.get(place).map_or_else(String::new, |figure| text(*figure));
            let (middle, last) = (figures.len() / 2, figures.len().saturating_sub(1));
            writeln!(out, "{what:44}{:>10}{:>10}{:>10}", at(middle), at(0), at(last))
        };
        let whole = |figure: f64| grouped(figure as u64);
        let milliseconds = |figure: f64| format!("{:.0} ms", figure * 1e3);
        row("bookings a second with two sites", &|one| one.before, &whole)?;
        row("while the third came back", &|one| one.meanwhile, &whole)?;
        row("with three sites", &|one| one.after, &whole)?;
        row("dip", &Return::dip, &|figure| format!("{:.1}%", figure * 1e2))?;
        row("it was back, and nothing left to copy, after", &|one| one.took.as_secs_f64(), &milliseconds)?;
        row("longest time without a booking meanwhile", &|one| one.pause.as_secs_f64(), &milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that took bookings of its neighbour would hide the dip.
    #[test]
    fn each_booking_counts_in_its_window() {
        // A booking each 10 ms for a second, each 20 ms for one, each 10 ms again; a pause of 100 ms in the middle.
        let second = |from: u64, step: u64| (0..1_000_000 / step).map(move |number| from + number * step);
        let times: Vec<u64> = second(0, 10_000)
            .chain(second(1_000_000, 20_000).filter(|time| !(1_500_001..1_600_000).contains(time)))
            .chain(second(2_000_000, 10_000))
            .collect();
        let course = Course { begun: 0, started: 1_000_000, repaired: 2_000_000, ended: 3_000_000 };
        let found = seen(&course, &times);
        assert_eq!((found.before, found.meanwhile, found.after), (100.0, 46.0, 100.0));
        assert_eq!((found.took, found.pause), (Duration::from_secs(1), Duration::from_millis(100)));
        assert!((found.dip() - 0.54).abs() < 1e-9, "{}", found.dip());
    }

    /// What three copies cost is not what the return costs.
    #[test]
    fn a_dip_is_one_below_both_sides() {
        let of = |before, meanwhile, after| {
            let (took, pause) = (Duration::from_secs(1), Duration::ZERO);
            Return { took, before, meanwhile, after, pause }.dip()
        };
        assert_eq!(of(100.0, 80.0, 80.0), 0.0);
        assert_eq!(of(100.0, 60.0, 80.0), 0.25);
        assert_eq!(of(80.0, 90.0, 100.0), 0.0);
        assert_eq!(of(0.0, 0.0, 0.0), 0.0);
    }
}
