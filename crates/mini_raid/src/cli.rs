//! `raid sim`: what its options do, and what it prints.

use crate::run::Bounds;
use crate::sweep::Sweep;
use messages::limits::SECOND;
use messages::planted::{Bug, Planted};
use std::io::Write;

/// Runs between two lines of progress, at most.
const PROGRESS_RUNS_MAX: u64 = 1_000;

/// Options of `raid sim`.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first seed.
    pub seed: u64,
    /// How many runs, with consecutive seeds.
    pub runs: u64,
    /// Sites of each run; `None`: one to five, by the seed.
    pub sites: Option<usize>,
    /// Real seconds after which no further run begins.
    pub seconds: Option<u64>,
    /// Virtual seconds with faults in each run.
    pub virtual_seconds: Option<u64>,
    /// Events after which a run stops.
    pub steps: Option<u64>,
    /// Name of the clause to leave out.
    pub plant: Option<String>,
    /// Only list the clauses that can be left out.
    pub list_plants: bool,
}

/// Runs the simulator. Returns the exit code: 0 when nothing failed (or, with a plant, when it was found), else 1; 2 for options
/// that make no sense.
pub fn main(options: &Options) -> i32 {
    if options.list_plants {
        let mut out = std::io::stdout().lock();
        for bug in Bug::ALL {
            if writeln!(out, "{:32} rule {:2}: {}", bug.name(), bug.rule(), bug.breaks()).is_err() {
                // Whoever reads has seen enough.
                break;
            }
        }
        return 0;
    }
    let planted = match &options.plant {
        None => Planted::none(),
        Some(name) => match Bug::ALL.iter().find(|bug| bug.name() == name) {
            Some(bug) => Planted::only(*bug),
            None => {
                eprintln!("no clause is called {name}: see --list-plants");
                return 2;
            }
        },
    };
    let most = messages::limits::SITES_MAX;
    if options.sites.is_some_and(|sites| !(1..=most).contains(&sites)) {
        eprintln!("--sites must be 1 to {most}");
        return 2;
    }
    let mut bounds = Bounds::default();
    if let Some(seconds) = options.virtual_seconds {
        bounds.time = seconds.saturating_mul(SECOND);
    }
    if let Some(steps) = options.steps {
        bounds.events = steps;
    }
    let sites = options.sites.unwrap_or(0);
    let sweep = Sweep { seed: options.seed, runs: options.runs, sites, planted, bounds, seconds_max: options.seconds };
    sweep_and_tell(options, &sweep)
}

fn sweep_and_tell(options: &Options, sweep: &Sweep) -> i32 {
    let every = (options.runs / 20).clamp(1, PROGRESS_RUNS_MAX);
    let summary = sweep.run(|done, outcome| {
        if done % every == 0 && done < options.runs {
            let digest = outcome.statistics.trace;
            let of = if options.runs == u64::MAX { String::new() } else { format!(" of {}", options.runs) };
            eprintln!("{done}{of} runs, last seed {} (trace {digest:016x})", outcome.seed);
        }
    });
    println!("{}", summary.text());
    let Some(outcome) = &summary.failed else { return i32::from(options.plant.is_some()) };
    println!("seed {} with {} sites failed {}", outcome.seed, outcome.sites, outcome.failure.as_deref().unwrap_or(""));
    println!("replay: {}", replay(options, outcome.seed, outcome.sites));
    i32::from(options.plant.is_none())
}

/// The command that runs this seed again.
fn replay(options: &Options, seed: u64, sites: usize) -> String {
    let mut command = format!("raid sim --seed {seed} --runs 1 --sites {sites}");
    if let Some(seconds) = options.virtual_seconds {
        command += &format!(" --virtual-seconds {seconds}");
    }
    if let Some(steps) = options.steps {
        command += &format!(" --steps {steps}");
    }
    if let Some(plant) = &options.plant {
        command += &format!(" --plant {plant}");
    }
    command
}
