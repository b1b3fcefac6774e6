//! What clients of a surviving site notice when another site is killed: for how long it answers nothing.
//!
//! Under a modest load one site after the other is killed. At a survivor, one client changes a row and another one reads it, each every
//! millisecond; a gap is the time from an answer to the next one. Invariant: a read that does not see what was acknowledged before it began
//! ends the experiment, and so does a booking of the load that is lost or doubled.

mod poller;
mod report;

pub use report::{Distribution, Report};

use crate::debit_credit::audit::audit;
use crate::debit_credit::crew::Crew;
use crate::debit_credit::ledger::Ledger;
use crate::debit_credit::load::load;
use crate::debit_credit::{connect, gap};
use crate::experiment::{ExperimentError, failed};
use crate::{limits, machine};
use local_cluster::ClusterWish;
use local_cluster::process::ProcessName;
use local_cluster::running::{ClusterRunError, RunningCluster, all_is_repaired, serve_without};
use local_cluster::screen::Screen;
use poller::Pollers;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often a site is killed.
    pub kills: u32,
    /// Bookings a second meanwhile.
    pub rate: u32,
    /// Clients that book.
    pub clients: usize,
    /// How long leases last, in milliseconds.
    pub lease_ms: u64,
}

/// One kill, as the pollers of a surviving site saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// Who was killed.
    pub victim: u16,
    /// Who was polled.
    pub survivor: u16,
    /// The longest time between two answers to writes, from the kill until the victim is started again.
    pub write: Duration,
    /// The same of reads.
    pub read: Duration,
    /// The longest of both kinds, from the victim's start until it is current.
    pub at_return: Duration,
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
    let wish = ClusterWish { lease_ms: Some(options.lease_ms), ..ClusterWish::default() };
    let mut running = RunningCluster::start_wished(program, &folder.join("cluster"), &wish, stop)?;
    load(&running.sql_addresses(), 1, stop, screen)?;
    poller::make_table(running.sql_addresses()[0].1).map_err(failed("making the table that is polled"))?;
    let crew = Crew::start_paced(running.sql_addresses(), 1, options.clients, Some(options.rate));
    let mut report = Report { kills: Vec::new(), lease_ms: options.lease_ms, cores: machine::cores(), sync };
    for number in 0..options.kills {
        let kill = one_kill(&mut running, number, stop)?;
        screen.progress(|| format!("  kill {} of {}: {kill}", number + 1, options.kills));
        report.kills.push(kill);
    }
    let (accounts, counts) = crew.gather().map_err(|count| ExperimentError::ClientsHang { count })?;
    let ledgers: Vec<Ledger> = accounts.into_iter().map(|account| account.ledger).collect();
    let audit = audit(running.sql_addresses(), &ledgers, |site| screen.progress(|| format!("  auditing site {site}")))?;
    let complaints = audit.complaints();
    if !complaints.is_empty() {
        let kills = report.kills.len();
        return Err(ExperimentError::Wrong(format!("after {kills} kills: {}", complaints.join("; "))));
    }
    screen.line(&format!("{} bookings meanwhile: none is lost, none is there twice", counts.acknowledged));
    for complaint in running.stop() {
        screen.line(&complaint);
    }
    Ok(report)
}

/// Kills a site while another one is polled, and takes it back.
fn one_kill(running: &mut RunningCluster, number: u32, stop: &AtomicBool) -> Result<Kill, ExperimentError> {
    let sites = running.sql_addresses();
    let (victim, _) = sites[number as usize % sites.len()];
    // The other survivor every other time: the one that proposes the change, and the one that does not.
    let (survivor, sql) = sites[(number as usize + 1 + number as usize / sites.len() % 2) % sites.len()];
    running.wait("all sites to be current", limits::RETURN_TIME_MAX, stop, |statuses| {
        all_is_repaired(statuses, sites.len())
    })?;
    let pollers = Pollers::start(sql);
    let polls = limits::POLLS_AROUND + u64::from(number) * 37 % limits::POLLS_AROUND;
    wait_for_answers(running, &pollers, polls, survivor, "before a kill", stop)?;
    let killed_us = pollers.now_us();
    running.kill(ProcessName::Site(victim));
    running.wait("the others to go on", limits::RESUME_TIME_MAX, stop, |statuses| {
        statuses.len() + 1 == sites.len() && serve_without(victim, statuses)
    })?;
    wait_for_answers(running, &pollers, limits::POLLS_AROUND, survivor, "after a kill", stop)?;
    let started_us = pollers.now_us();
    running.start_process(ProcessName::Site(victim))?;
    running.wait("the site to be current", limits::RETURN_TIME_MAX, stop, |statuses| {
        all_is_repaired(statuses, sites.len())
    })?;
    let current_us = pollers.now_us();
    wait_for_answers(running, &pollers, limits::POLLS_AROUND, survivor, "after a return", stop)?;
    let (writes, reads) =
        pollers.end().map_err(|what| ExperimentError::Wrong(format!("site {survivor}: {what}: a stale read")))?;
    let longest = |times: &[u64], from: u64, to: u64| {
        let micros = gap::longest_between(times, from, to).unwrap_or_default();
        Duration::from_micros(micros)
    };
    Ok(Kill {
        victim,
        survivor,
        write: longest(&writes, killed_us, started_us),
        read: longest(&reads, killed_us, started_us),
        at_return: longest(&writes, started_us, current_us).max(longest(&reads, started_us, current_us)),
    })
}

/// Waits until both pollers have had so many answers more.
fn wait_for_answers(
    running: &mut RunningCluster,
    pollers: &Pollers,
    more: u64,
    site: u16,
    when: &'static str,
    stop: &AtomicBool,
) -> Result<(), ExperimentError> {
    let (writes, reads) = pollers.answers();
    let deadline = Instant::now() + limits::RESUME_TIME_MAX;
    loop {
        let (writes_now, reads_now) = pollers.answers();
        if writes_now >= writes + more && reads_now >= reads + more {
            return Ok(());
        }
        if stop.load(Ordering::SeqCst) {
            return Err(ClusterRunError::Stopped.into());
        }
        if Instant::now() > deadline {
            let what = format!("site {site} to answer both pollers, {when}");
            return Err(running.late(&what, limits::RESUME_TIME_MAX).into());
        }
        std::thread::sleep(limits::POLL_INTERVAL);
    }
}

/// A connection for a poller.
fn open(
    sql: std::net::SocketAddr,
    statement: &str,
) -> Result<(postgres::Client, postgres::Statement), postgres::Error> {
    let mut client = connect(sql)?;
    let statement = client.prepare(statement)?;
    Ok((client, statement))
}
