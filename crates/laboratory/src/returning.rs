//! A site that was away while part of a table changed: how soon it answers, and what it copies.
//!
//! The machine is idle but for that, so the figures are the site's own. Invariant: what it answers first is compared with what another site
//! answers; a stale answer ends the experiment.

use crate::debit_credit::load::load;
use crate::debit_credit::{ACCOUNTS, connect};
use crate::experiment::{ExperimentError, change_rows, failed};
use crate::first_answer::{Answer, Asking};
use crate::limits;
use local_cluster::process::ProcessName;
use local_cluster::running::{RunningCluster, all_is_repaired, serve_without};
use local_cluster::screen::{Screen, bytes, grouped};
use postgres::SimpleQueryMessage;
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The site that goes away.
const AWAY: u16 = 3;
/// The site that is asked what is right.
const WITNESS: u16 = 1;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Scale of the tables.
    pub scale: u32,
    /// How much of the accounts changes while the site is away, in percent.
    pub percent: u32,
    /// How often.
    pub rounds: u32,
}

/// One return. Times are counted from the start of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// Until it took a client.
    pub connected: Duration,
    /// Until it answered the read of a changed row.
    pub row: Duration,
    /// Until it answered the sum of all changed rows, asked for after that one.
    pub all: Duration,
    /// Until nothing was left to copy.
    pub repaired: Duration,
    /// Bytes of keys and rows copied to it.
    pub copied_bytes: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Rows that changed each time, and of how many.
    pub changed: (u64, u64),
    /// Every return.
    pub rounds: Vec<Round>,
}

/// Runs the experiment on a cluster of three sites in a folder of its own.
pub fn run(
    program: &Path,
    folder: &Path,
    options: Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Report, ExperimentError> {
    let mut running = RunningCluster::start_new(program, folder, stop)?;
    load(&running.sql_addresses(), options.scale, stop, screen)?;
    let accounts = u64::from(options.scale) * u64::from(ACCOUNTS);
    let changed = (accounts * u64::from(options.percent) / 100).max(1);
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        rounds.push(one_return(&mut running, changed, stop, screen)?);
        screen.line(&format!("round {round} of {}: {}", options.rounds, rounds[rounds.len() - 1]));
    }
    for complaint in running.stop() {
        screen.line(&complaint);
    }
    Ok(Report { changed: (changed, accounts), rounds })
}

fn one_return(
    running: &mut RunningCluster,
    changed: u64,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Round, ExperimentError> {
    running.wait_until_posted(limits::POST_TIME_MAX, stop, screen)?;
    running.kill(ProcessName::Site(AWAY));
    running.wait("the others to go on", limits::RESUME_TIME_MAX, stop, |statuses| {
        statuses.len() == 2 && serve_without(AWAY, statuses)
    })?;
    let mut witness =
        connect(running.cluster().sites()[&WITNESS].sql).map_err(failed(format!("connecting with site {WITNESS}")))?;
    let change = format!("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid <= {changed}");
    change_rows(&mut witness, &change).map_err(failed(format!("changing rows at site {WITNESS}")))?;
    let reads = [
        format!("SELECT abalance FROM pgbench_accounts WHERE aid = {changed}"),
        format!("SELECT count(*), sum(abalance) FROM pgbench_accounts WHERE aid <= {changed}"),
    ];
    let mut right = Vec::new();
    for read in &reads {
        right.push(answer(&mut witness, read).map_err(failed(format!("reading the changed rows at site {WITNESS}")))?);
    }
    let [row, all] = reads;
    let started = Instant::now();
    running.start_process(ProcessName::Site(AWAY))?;
    let first = ask(running, row, &right[0], stop)?;
    let second = ask(running, all, &right[1], stop)?;
    let statuses = running
        .wait("the site to be repaired", limits::RETURN_TIME_MAX, stop, |statuses| all_is_repaired(statuses, 3))?;
    Ok(Round {
        connected: first.connected_at - started,
        row: first.answered_at - started,
        all: second.answered_at - started,
        repaired: started.elapsed(),
        copied_bytes: statuses[&AWAY].copied_bytes,
    })
}

/// The first answer of the site that comes back, compared with what is right.
fn ask(
    running: &mut RunningCluster,
    read: String,
    right: &[String],
    stop: &AtomicBool,
) -> Result<Answer<Vec<String>>, ExperimentError> {
    let first = Asking::start(running, AWAY, move |client| answer(client, &read)).wait(running, stop)?;
    match first.found == right {
        true => Ok(first),
        false => Err(ExperimentError::Wrong(format!(
            "site {AWAY} answered {:?} where site {WITNESS} answers {right:?}: a stale read",
            first.found
        ))),
    }
}

/// The only row of a read.
fn answer(client: &mut postgres::Client, read: &str) -> Result<Vec<String>, postgres::Error> {
    let mut answer = Vec::new();
    for message in client.simple_query(read)? {
        if let SimpleQueryMessage::Row(row) = message {
            answer.extend((0..row.len()).map(|column| row.get(column).unwrap_or("NULL").to_owned()));
        }
    }
    Ok(answer)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

impl fmt::Display for Round {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "takes clients after {}, first changed row read after {}, all of them after {}, repaired after {}, {} copied",
            milliseconds(self.connected),
            milliseconds(self.row),
            milliseconds(self.all),
            milliseconds(self.repaired),
            bytes(self.copied_bytes)
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (changed, accounts) = self.changed;
        let count = self.rounds.len();
        writeln!(
            out,
            "{} of {} rows changed while it was away; medians of {count}:",
            grouped(changed),
            grouped(accounts)
        )?;
        let median = |what: &dyn Fn(&Round) -> Duration| {
            let mut times: Vec<Duration> = self.rounds.iter().map(what).collect();
            times.sort_unstable();
            let (low, high) = (times.first().copied().unwrap_or_default(), times.last().copied().unwrap_or_default());
            let middle = times.get(times.len() / 2).copied().unwrap_or_default();
            format!("{:>8} ({} to {})", milliseconds(middle), milliseconds(low), milliseconds(high))
        };
        writeln!(out, "  it takes clients after             {}", median(&|round| round.connected))?;
        writeln!(out, "  it has read a changed row after    {}", median(&|round| round.row))?;
        writeln!(out, "  it has read all of them after      {}", median(&|round| round.all))?;
        writeln!(out, "  nothing is left to copy after      {}", median(&|round| round.repaired))?;
        let copied = self.rounds.iter().map(|round| round.copied_bytes).max().unwrap_or_default();
        write!(
            out,
            "  keys and rows copied, at most       {}, {} for a changed row",
            bytes(copied),
            bytes(copied / changed)
        )
    }
}
