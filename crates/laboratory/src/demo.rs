//! The demonstration: a cluster under load loses a site to SIGKILL, goes on, takes it back, and proves that its books balance.

pub mod report;

use crate::debit_credit::audit::audit;
use crate::debit_credit::client::Commit;
use crate::debit_credit::crew::{Counts, Crew};
use crate::debit_credit::gap;
use crate::debit_credit::ledger::Ledger;
use crate::debit_credit::load::load;
use crate::experiment::ExperimentError;
use crate::first_answer::Asking;
use crate::limits;
use local_cluster::process::ProcessName;
use local_cluster::running::{ClusterRunError, RunningCluster, Statuses, all_is_repaired, serve_without, serves};
use local_cluster::screen::{Screen, grouped};
use report::Report;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The site that is killed: clients' first home is site 1, and it is not the last either.
const VICTIM: u16 = 2;

/// What is demonstrated.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seconds under load, without loading and auditing: a third before the kill, a third without the site, a third with it.
    pub seconds: u64,
    /// Scale of the tables.
    pub scale: u32,
    /// Clients, spread over the sites.
    pub clients: usize,
}

/// What a run leaves behind.
pub struct Outcome {
    /// The cluster, which still runs.
    pub running: RunningCluster,
    /// What was found.
    pub report: Report,
}

/// Runs the demonstration in a folder of its own.
pub fn run(
    program: &Path,
    folder: &Path,
    options: Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Outcome, ExperimentError> {
    let begun = Instant::now();
    screen.line(&format!("Three sites and an oracle, four processes on this machine, data in {}", folder.display()));
    let running = RunningCluster::start_new(program, folder, stop)?;
    screen.line(&format!("  all sites serve after {:.1} s", begun.elapsed().as_secs_f64()));
    load(&running.sql_addresses(), options.scale, stop, screen)?;
    let crew = Crew::start(running.sql_addresses(), options.scale, options.clients);
    screen.line(&format!("{} clients book at three sites", options.clients));
    let mut demo = Demo { running, crew, stop, screen, last: (Duration::ZERO, Counts::default()), rate: 0.0 };
    let third = Duration::from_secs(options.seconds) / 3;
    demo.run_for(third)?;
    let killed_at = demo.kill()?;
    demo.run_for(third)?;
    let back = demo.take_back(third)?;
    demo.close(options, killed_at, back)
}

/// The load under way.
struct Demo<'a> {
    running: RunningCluster,
    crew: Crew,
    stop: &'a AtomicBool,
    screen: &'a mut Screen,
    /// When the rate was last measured, and from which counts.
    last: (Duration, Counts),
    rate: f64,
}

/// What was seen of the return.
struct Return {
    /// From its start until it served, milliseconds.
    serving_ms: u64,
    /// From its start until a client had its first answer from it, milliseconds.
    first_read_ms: u64,
    /// From its start until nothing was left to repair, milliseconds.
    repaired_ms: u64,
    /// When it was started, and when nothing was left to repair; microseconds of the load's time.
    span_us: (u64, u64),
    /// Rows that had changed while it was away: the most fail-locks seen.
    fail_locks_max: u64,
    /// Bytes of keys and rows copied for them.
    copied_bytes: u64,
}

impl Demo<'_> {
    fn now_us(&self) -> u64 {
        self.crew.elapsed().as_micros() as u64
    }

    fn run_for(&mut self, time: Duration) -> Result<(), ExperimentError> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.look()?;
            std::thread::sleep(local_cluster::limits::LOOK_INTERVAL);
        }
        Ok(())
    }

    /// One look at the sites and one line of progress.
    fn look(&mut self) -> Result<Statuses, ExperimentError> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(ClusterRunError::Stopped.into());
        }
        let statuses = self.running.statuses();
        let (counts, elapsed) = (self.crew.counts(), self.crew.elapsed());
        let since = (elapsed - self.last.0).as_secs_f64();
        if since >= 1.0 {
            self.rate = (counts.acknowledged - self.last.1.acknowledged) as f64 / since;
            self.last = (elapsed, counts);
        }
        let rate = self.rate;
        let sites: Vec<u16> = self.running.cluster().sites().keys().copied().collect();
        self.screen.progress(|| progress_line(elapsed, rate, counts, &sites, &statuses));
        Ok(statuses)
    }

    /// Kills the victim and waits until clients of the others commit again. Returns the time of the kill, microseconds.
    fn kill(&mut self) -> Result<u64, ExperimentError> {
        let before = self.crew.counts().acknowledged;
        let killed_at = self.now_us();
        self.running.kill(ProcessName::Site(VICTIM));
        let at_s = killed_at as f64 / 1e6;
        self.screen.line(&format!("SIGKILL for site {VICTIM} at {at_s:.1} s, {} transactions in", grouped(before)));
        let deadline = Instant::now() + limits::RESUME_TIME_MAX;
        loop {
            let statuses = self.look()?;
            if statuses.len() + 1 == self.running.cluster().sites().len() && serve_without(VICTIM, &statuses) {
                let epoch = statuses.values().map(|status| status.epoch).max().unwrap_or_default();
                let after_ms = (self.now_us() - killed_at) / 1_000;
                self.screen.line(&format!("  the others serve in epoch {epoch}, seen {after_ms} ms after the kill"));
                return Ok(killed_at);
            }
            if Instant::now() > deadline {
                let what = format!("the others to serve without site {VICTIM}");
                return Err(self.running.late(&what, limits::RESUME_TIME_MAX).into());
            }
            std::thread::sleep(local_cluster::limits::LOOK_INTERVAL);
        }
    }

    /// Starts the victim again and watches until it is repaired, at least for `time`.
    fn take_back(&mut self, time: Duration) -> Result<Return, ExperimentError> {
        let started = Instant::now();
        let started_us = self.now_us();
        self.running.start_process(ProcessName::Site(VICTIM))?;
        self.screen.line(&format!("site {VICTIM} is started again at {:.1} s", started_us as f64 / 1e6));
        let first_read = Asking::start(&self.running, VICTIM, |client| {
            client.query_one("SELECT abalance FROM pgbench_accounts WHERE aid = 1", &[]).map(drop)
        });
        let mut serving_ms = None;
        let mut fail_locks_max = 0;
        let milliseconds = || started.elapsed().as_millis() as u64;
        let copied_bytes = loop {
            let statuses = self.look()?;
            let left = fail_locks(&statuses, VICTIM);
            fail_locks_max = fail_locks_max.max(left);
            if let Some(victim) = statuses.get(&VICTIM) {
                if serving_ms.is_none() && serves(victim) {
                    serving_ms = Some(milliseconds());
                    let left = grouped(left);
                    let state = &victim.state;
                    self.screen.line(&format!(
                        "  it serves after {} ms ({state}), {left} rows still fail-locked",
                        milliseconds()
                    ));
                }
                if all_is_repaired(&statuses, self.running.cluster().sites().len()) {
                    break victim.copied_bytes;
                }
            }
            if started.elapsed() > limits::RETURN_TIME_MAX {
                return Err(self
                    .running
                    .late(&format!("site {VICTIM} to be up and repaired"), limits::RETURN_TIME_MAX)
                    .into());
            }
            std::thread::sleep(local_cluster::limits::LOOK_INTERVAL);
        };
        let repaired_ms = milliseconds();
        let span_us = (started_us, self.now_us());
        self.screen.line(&format!("  it is up and repaired after {repaired_ms} ms"));
        let first_read = first_read.wait(&mut self.running, self.stop)?;
        let first_read_ms = (first_read.answered_at - started).as_millis() as u64;
        self.run_for(time.saturating_sub(started.elapsed()))?;
        let serving_ms = serving_ms.unwrap_or(repaired_ms);
        Ok(Return { serving_ms, first_read_ms, repaired_ms, span_us, fail_locks_max, copied_bytes })
    }

    /// Ends the load and audits.
    fn close(self, options: Options, killed_at: u64, back: Return) -> Result<Outcome, ExperimentError> {
        let Demo { mut running, crew, stop, screen, .. } = self;
        let elapsed = crew.elapsed();
        let (accounts, counts) = crew.gather().map_err(|count| ExperimentError::ClientsHang { count })?;
        let sites = running.cluster().sites().len();
        running.wait("all sites to be up and repaired", limits::RETURN_TIME_MAX, stop, |statuses| {
            all_is_repaired(statuses, sites)
        })?;
        let ledgers: Vec<Ledger> = accounts.iter().map(|account| account.ledger.clone()).collect();
        let audit =
            audit(running.sql_addresses(), &ledgers, |site| screen.progress(|| format!("  auditing site {site}")))?;
        let all = || accounts.iter().flat_map(|account| account.commits.iter().copied());
        let survivor = |site: u16| site != VICTIM;
        let until = back.span_us.0;
        // Only clients that were at a surviving site when the other was killed: a client that had to move is not what a survivor's sees.
        let stayed = |commits: &&[Commit]| {
            commits.iter().rfind(|commit| commit.at_us <= killed_at).is_some_and(|commit| survivor(commit.site))
        };
        let longest_of = |commits: &[Commit]| gap::longest(commits.iter().copied(), survivor, killed_at, until);
        let one_client =
            accounts.iter().map(|account| account.commits.as_slice()).filter(stayed).filter_map(longest_of);
        let while_repaired =
            |commit: &Commit| commit.site == VICTIM && commit.at_us > back.span_us.0 && commit.at_us <= back.span_us.1;
        let report = Report {
            clients: options.clients,
            seconds: elapsed.as_secs_f64(),
            counts,
            gap_us: gap::longest(all(), survivor, killed_at, until),
            gap_of_one_client_us: one_client.max(),
            gap_at_return_us: gap::longest(all(), survivor, back.span_us.0, back.span_us.1),
            serving_ms: back.serving_ms,
            first_read_ms: back.first_read_ms,
            repaired_ms: back.repaired_ms,
            fail_locks_max: back.fail_locks_max,
            copied_bytes: back.copied_bytes,
            commits_while_repaired: all().filter(while_repaired).count() as u64,
            surprise_count: accounts.iter().map(|account| account.surprise_count).sum(),
            surprises: accounts
                .iter()
                .flat_map(|account| account.surprises.iter().cloned())
                .take(limits::FINDINGS_SHOWN)
                .collect(),
            audit,
        };
        Ok(Outcome { running, report })
    }
}

/// The most fail-locks that any other site holds for a site.
fn fail_locks(statuses: &Statuses, site: u16) -> u64 {
    statuses.values().filter_map(|status| status.fail_locks.get(&site)).copied().max().unwrap_or_default()
}

fn progress_line(elapsed: Duration, rate: f64, counts: Counts, sites: &[u16], statuses: &Statuses) -> String {
    let epoch = statuses.values().map(|status| status.epoch).max().unwrap_or_default();
    let states = sites.iter().map(|site| match statuses.get(site) {
        Some(status) => format!("{site} {}", status.state),
        None => format!("{site} down"),
    });
    let states: Vec<String> = states.collect();
    let left = sites.iter().map(|site| fail_locks(statuses, *site)).max().unwrap_or_default();
    let locks = if left > 0 { format!("  fail-locks {}", grouped(left)) } else { String::new() };
    format!(
        "  {:5.1} s  {:>6} tx/s  {} acknowledged  {} conflicts  epoch {epoch}  sites {}{locks}",
        elapsed.as_secs_f64(),
        grouped(rate as u64),
        grouped(counts.acknowledged),
        grouped(counts.conflicts),
        states.join(", "),
    )
}
