//! `raid-lab compare queries`: random statements on Raid, and on PostgreSQL beside it. What is asked and how it is judged is `compare_queries`.

use std::io::stdout;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use compare_queries::run::{self, Runner};

use crate::databases::beside::{self, Beside};
use crate::databases::clients::pgbench;
use crate::databases::error::CompareError;

/// What to ask, and for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Decides what is asked; another one in each run by default
    #[arg(long)]
    seed: Option<u64>,
    /// The number of the first case of that seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// End after so many cases
    #[arg(long)]
    cases: Option<u64>,
    /// End after so many statements
    #[arg(long, default_value_t = 100_000)]
    queries: u64,
    /// End after so many seconds
    #[arg(long, default_value_t = 86_400)]
    seconds: u64,
    /// End after so many kinds of differences
    #[arg(long, default_value_t = 50)]
    findings: usize,
    /// Ask Raid alone: the same question in several ways
    #[arg(long)]
    without_postgres: bool,
    #[command(flatten)]
    beside: beside::Place,
}

/// Asks and tells.
///
/// # Errors
/// A system does not start or come back, or answers differ that are not listed.
pub fn run(options: &Options) -> Result<(), CompareError> {
    let with_postgres = !options.without_postgres && is_installed();
    let mut systems = Beside::new(&options.beside, with_postgres)?;
    let folder = systems.environment.folder.join("raid");
    let raid = systems.start_raid(&folder)?;
    let seed = options.seed.unwrap_or_else(fresh_seed);
    println!("seed {seed}");
    let plan = run::Options {
        seed,
        first: options.first,
        cases: options.cases,
        statements: options.queries,
        time: Duration::from_secs(options.seconds),
        findings: options.findings,
    };
    let mut out = stdout();
    let postgres = if with_postgres { Some(systems.postgres("postgres")?) } else { None };
    let stop = || systems.environment.interrupt.check().is_err();
    let runner = Runner::new(&plan, &raid, postgres.as_ref(), &mut out);
    let outcomes = runner.and_then(|runner| runner.run(&stop)).map_err(|error| {
        CompareError::Answers(format!("{error}\nthe end of Raid's output:\n{}", systems.last_lines()))
    })?;
    systems.environment.interrupt.check()?;
    match outcomes.findings.len() {
        0 => Ok(()),
        count => Err(CompareError::Answers(format!("{count} kinds of differences; seed {seed}; {}", outcomes.line))),
    }
}

/// Whether PostgreSQL is there; if not, it is told.
fn is_installed() -> bool {
    let found = pgbench::find_programs();
    if let Err(error) = &found {
        println!("Raid is asked alone: {error}");
    }
    found.is_ok()
}

/// Another number in each run.
fn fresh_seed() -> u64 {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(1)
}
