//! Methods of concurrency control, each under several loads, and `auto`, which follows the site's own rules: what each of them lets commit.
//!
//! All clients work at one site of a cluster, as each site has its method for itself. Every contender has its turn in each round: a fixed method goes
//! through all phases; `auto` begins with what is in force and goes through them, too, with as much time before each count as its rules need to see
//! the load. Invariant: the books of a phase balance when its clients have ended, or the experiment ends.

mod clients;
mod phases;

use crate::debit_credit::connect;
use crate::experiment::{ExperimentError, failed};
use crate::limits;
use laboratory_harness::Failure;
use laboratory_harness::figure::Figure;
use laboratory_harness::report::{Columns, Report, Table};
use local_cluster::ClusterWish;
use local_cluster::running::{ClusterRunError, RunningCluster};
use local_cluster::screen::Screen;
use phases::{PHASES, Phase};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The methods, as SQL names them, and last the choice among them.
const CONTENDERS: [&str; 6] = ["locking", "optimistic", "serial", "simple-locking", "timestamp", "auto"];
const AUTO: usize = CONTENDERS.len() - 1;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long commits are counted, in each phase.
    pub seconds: u64,
    /// How long `auto` has before that, in each phase.
    pub settle: u64,
    /// Clients of a phase.
    pub clients: usize,
    /// How often all contenders have their turn.
    pub rounds: u32,
    /// Where to put the figures as JSON and the plots.
    pub output: Option<PathBuf>,
}

/// What a group of clients came to, in a second; and of 1,000 tries, those that failed.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    commits: f64,
    failed: f64,
}

/// By contender and group, all rounds.
struct Found {
    rates: Vec<Vec<Vec<Rate>>>,
    /// What `auto` ran at the end of each phase, and how often it has switched until then.
    courses: Vec<String>,
}

/// Runs the experiment on a cluster of three sites in a folder of its own, and prints its tables.
///
/// # Errors
/// The cluster does not do what it must, the books of a phase do not balance, or `stop` is set.
pub fn run(
    program: &Path,
    folder: &Path,
    options: &Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<(), ExperimentError> {
    let running = RunningCluster::start_wished(program, &folder.join("cluster"), &ClusterWish::default(), stop)?;
    let (_, sql) = running.sql_addresses()[0];
    phases::load(sql)?;
    let mut report = Report::new("adapt", options.rounds);
    screen.line(&report.machine().to_string());
    let mut lines = Vec::new();
    let measured = report.measure(
        "adapt",
        || Ok(tables(&rounds(sql, options, stop, screen).map_err(Failure::foreign)?, options)),
        &mut |text: &str| lines.push(text.to_owned()),
    );
    lines.iter().for_each(|line| screen.line(line));
    if stop.load(Ordering::SeqCst) {
        return Err(ClusterRunError::Stopped.into());
    }
    measured.map_err(|failure| ExperimentError::Figures(failure.to_string()))?;
    let delivered = report.deliver(options.output.as_deref(), |text| screen.line(text));
    delivered.map_err(|failure| ExperimentError::Figures(failure.to_string()))?;
    for complaint in running.stop() {
        screen.line(&complaint);
    }
    Ok(())
}

/// The groups of all phases: each is a column.
fn groups() -> Vec<(&'static Phase, usize, &'static str)> {
    PHASES
        .iter()
        .flat_map(|phase| phase.groups.iter().enumerate().map(move |(place, name)| (phase, place, *name)))
        .collect()
}

fn rounds(
    sql: SocketAddr,
    options: &Options,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Found, ExperimentError> {
    let groups = groups().len();
    let mut found = Found { rates: vec![vec![Vec::new(); groups]; CONTENDERS.len()], courses: Vec::new() };
    for round in 0..options.rounds as usize {
        // None is always behind the same one.
        for place in (0..CONTENDERS.len()).map(|place| (place + round) % CONTENDERS.len()) {
            set(sql, CONTENDERS[place])?;
            let mut column = 0;
            for phase in &PHASES {
                let settle = if place == AUTO { options.settle } else { limits::ADAPT_SETTLE_SECONDS };
                let times = (Duration::from_secs(settle), Duration::from_secs(options.seconds));
                screen.progress(|| format!("  {}: {}", CONTENDERS[place], phase.name));
                for rate in phase_rates(sql, phase, options.clients, times, stop)? {
                    found.rates[place][column].push(rate);
                    column += 1;
                }
                if place == AUTO {
                    found.courses.push(format!("round {}, {}: auto ran {}", round + 1, phase.name, in_force(sql)?));
                }
            }
            screen.line(&format!("round {} of {}: {}", round + 1, options.rounds, CONTENDERS[place]));
        }
    }
    Ok(found)
}

fn phase_rates(
    sql: SocketAddr,
    phase: &Phase,
    clients: usize,
    (settle, counted): (Duration, Duration),
    stop: &AtomicBool,
) -> Result<Vec<Rate>, ExperimentError> {
    phases::reset(sql)?;
    let counts = clients::run(sql, phase, clients, (settle, counted), stop)?;
    phases::audit(sql, phase, &counts)?;
    let per_second = |count: u64| count as f64 / counted.as_secs_f64();
    let rate = |count: &clients::Count| Rate {
        commits: per_second(count.commits),
        failed: 1e3 * count.failures as f64 / (count.commits + count.failures).max(1) as f64,
    };
    Ok(counts.iter().map(rate).collect())
}

fn set(sql: SocketAddr, method: &str) -> Result<(), ExperimentError> {
    let set = format!("ALTER SYSTEM SET raid.concurrency_method = '{method}'");
    let mut client = connect(sql).map_err(failed("connecting"))?;
    client.batch_execute(&set).map_err(failed(set))
}

fn in_force(sql: SocketAddr) -> Result<String, ExperimentError> {
    const QUERY: &str = "SELECT method, (SELECT count(*) FROM raid.concurrency_switches WHERE switched_by <> 'setting') FROM raid.concurrency";
    let row = connect(sql).map_err(failed("connecting"))?.query_one(QUERY, &[]).map_err(failed(QUERY))?;
    Ok(format!("{} (switches of its own so far: {})", row.get::<_, &str>(0), row.get::<_, i64>(1)))
}

fn tables(found: &Found, options: &Options) -> Vec<Table> {
    let groups = groups();
    let columns = || Columns::Names(groups.iter().map(|(_, _, name)| (*name).to_owned()).collect());
    let beside = "no paper: Bhargava and Riedl leave it open when switching pays";
    let mut commits = Table::of_rates("Commits by method and load", beside, "a second", columns());
    let mut failures = Table::new("Tries that failed, by method and load", beside, columns());
    failures.unit = "of 1,000";
    for (name, rates) in CONTENDERS.iter().zip(&found.rates) {
        for (column, rates) in rates.iter().enumerate() {
            let figure = |of: fn(&Rate) -> f64| {
                Figure::of(rates.iter().map(of).collect()).ok_or_else(|| Failure::Missing("there was no round".into()))
            };
            commits.put(column, name, figure(|rate| rate.commits), None);
            failures.put(column, name, figure(|rate| rate.failed), None);
        }
    }
    commits.notes = verdicts(&commits);
    commits.notes.extend(found.courses.iter().cloned());
    commits.notes.push(format!(
        "{} clients at one of three sites; {} s counted, after {} s for auto and {} s for others",
        options.clients,
        options.seconds,
        options.settle,
        limits::ADAPT_SETTLE_SECONDS
    ));
    vec![commits, failures]
}

/// How `auto` stands to the best of each load, and to the best single method over all.
fn verdicts(commits: &Table) -> Vec<String> {
    let columns = groups().len();
    // A group that does not get through at all counts as one commit in a thousand seconds, or no mean would be left.
    let at = |name: &str, column: usize| commits.median(name, column).unwrap_or(0.0).max(1e-3);
    let mean = |name: &str| ((0..columns).map(|column| at(name, column).ln()).sum::<f64>() / columns as f64).exp();
    let fixed = &CONTENDERS[..AUTO];
    let shares: Vec<String> = (0..columns)
        .map(|column| {
            let best = fixed.iter().map(|name| at(name, column)).fold(0.0, f64::max);
            format!("{:.2}", at(CONTENDERS[AUTO], column) / best)
        })
        .collect();
    let best = fixed.iter().copied().max_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or_default();
    let means: Vec<String> = CONTENDERS.iter().map(|name| format!("{name} {:.0}", mean(name))).collect();
    vec![
        format!("auto beside the best fixed method of each column: {}", shares.join(", ")),
        format!("geometric means over all columns: {}", means.join(", ")),
        format!("auto beside the best fixed method over all, {best}: {:.2}", mean(CONTENDERS[AUTO]) / mean(best)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, `auto` is compared with another column, or with itself.
    #[test]
    fn auto_is_compared_with_the_best_fixed_method() {
        let columns = groups().len();
        let rate = |commits: f64| Rate { commits, failed: 0.0 };
        let of = |commits: f64| vec![vec![rate(commits)]; columns];
        let mut rates: Vec<Vec<Vec<Rate>>> = [100.0, 50.0, 10.0, 20.0, 30.0, 90.0].map(of).to_vec();
        rates[1][0] = vec![rate(200.0)];
        let options = Options { seconds: 1, settle: 1, clients: 2, rounds: 1, output: None };
        let tables = tables(&Found { rates, courses: vec!["it ran so".to_owned()] }, &options);
        assert!(tables[0].notes[0].contains("column: 0.45, 0.90,"), "{:?}", tables[0].notes);
        assert!(tables[0].notes[2].contains("over all, locking: 0.90"), "{:?}", tables[0].notes);
        assert_eq!(tables[0].median("optimistic", 0), Some(200.0));
    }
}
