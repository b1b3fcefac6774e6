//! `raid bench`: experiments that print figures of this machine.

use crate::stop;
use clap::{Args, Subcommand};
use laboratory::cluster::running::RunError;
use laboratory::returning::{self, ReturnError};
use laboratory::screen::Screen;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  raid bench return                              a million rows, 1% of which change, five times
  raid bench return --scale 1 --percent 50 --rounds 1";

/// Measure Raid on this machine.
///
/// Figures are of the machine as it is now: leave it idle, and build with --release.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    Return(ReturnOptions),
}

/// How soon a site that was away answers again, and what it copies.
///
/// Starts three sites on this machine and loads pgbench's tables. Then, each round: kills site 3, changes part of the accounts, starts site 3
/// again, and reads from it what has changed until it answers. A stale answer ends the experiment with status 1.
#[derive(Args)]
struct ReturnOptions {
    /// Scale of pgbench's tables: 100,000 accounts each.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(laboratory::limits::SCALE_MAX)))]
    scale: u32,
    /// How many of the accounts change while the site is away, in percent.
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    percent: u32,
    /// How often the site goes and comes back.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Runs it.
pub fn run(options: &Options) -> Result<ExitCode, String> {
    let Experiment::Return(options) = &options.experiment;
    let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let stop = stop::on_signal()?;
    let mut screen = Screen::default();
    let temporary = tempfile::Builder::new().prefix("raid-bench-").tempdir().map_err(|error| error.to_string())?;
    let folder = options.data.as_deref().unwrap_or(temporary.path());
    let chosen = returning::Options { scale: options.scale, percent: options.percent, rounds: options.rounds };
    match returning::run(&program, folder, chosen, &stop, &mut screen) {
        Ok(report) => {
            screen.line(&format!("\n{report}"));
            Ok(ExitCode::SUCCESS)
        }
        Err(ReturnError::Run(RunError::Stopped)) => Ok(ExitCode::FAILURE),
        Err(error) => Err(error.to_string()),
    }
}
