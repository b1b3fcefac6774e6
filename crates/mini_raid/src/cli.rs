//! `raid sim`: what its options do, and what it prints.

use crate::bounds::RunBounds;
use crate::run::RunOutcome;
use crate::sweep::{Summary, Sweep};
use messages::limits::SECOND;
use messages::planted::{Bug, Planted};
use messages::probes::{Probe, counts};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Runs between two lines of progress, at most, where no terminal shows them.
const PROGRESS_RUNS_MAX: u64 = 1_000;
/// Between two updates of the progress on a terminal.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// Options of `raid sim`.
#[derive(Clone, Debug)]
pub struct SimulationArguments {
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
    /// How many threads; `None`: as many as the machine has cores. What is found does not depend on it.
    pub jobs: Option<usize>,
    /// Name of the clause to leave out.
    pub plant: Option<String>,
    /// Only list the clauses that can be left out.
    pub list_plants: bool,
    /// Also list the rare branches of the servers, and how often each was gone through.
    pub probes: bool,
}

/// Runs the simulator. Returns the exit code: 0 when no run failed, 1 when one did (with a plant: it was found), 2 for options that
/// make no sense.
pub fn main(options: &SimulationArguments) -> i32 {
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
    let mut bounds = RunBounds::default();
    if let Some(seconds) = options.virtual_seconds {
        bounds.time = seconds.saturating_mul(SECOND);
    }
    if let Some(steps) = options.steps {
        bounds.events = steps;
    }
    let sweep = Sweep {
        seed: options.seed,
        runs: options.runs,
        sites: options.sites.unwrap_or(0),
        planted,
        bounds,
        seconds_max: options.seconds,
        jobs: options.jobs.unwrap_or(0),
        go_on: false,
    };
    sweep_and_tell(options, &sweep)
}

fn sweep_and_tell(options: &SimulationArguments, sweep: &Sweep) -> i32 {
    let mut progress = SweepProgress::new(options);
    let summary = sweep.run(|summary, outcome| progress.tell(summary, outcome));
    progress.end();
    println!("{}", summary.text());
    if options.probes {
        print!("{}", probes_text());
    }
    let Some(outcome) = summary.failed.first() else { return 0 };
    println!("seed {} with {} sites failed {}", outcome.seed, outcome.sites, outcome.failure.as_deref().unwrap_or(""));
    println!("replay: {}", replay(options, outcome.seed, outcome.sites));
    1
}

/// What the runs of this process have reached, the rarest first, and what they never did.
pub fn probes_text() -> String {
    let mut counted: Vec<(Probe, u64)> = counts().collect();
    counted.sort_by_key(|(_, count)| *count);
    let missed = counted.iter().filter(|(_, count)| *count == 0).count();
    let lines = counted.iter().map(|(probe, count)| match count {
        0 => format!("never          {:26} {}\n", probe.name, probe.what),
        count => format!("{count:>12} x {:26} {}\n", probe.name, probe.what),
    });
    let lines: String = lines.collect();
    format!("{lines}{missed} of {} probes were never reached\n", counted.len())
}

/// How far a sweep has come: on a terminal one line that changes, otherwise a line now and then.
struct SweepProgress {
    runs: Option<u64>,
    seconds: Option<u64>,
    terminal: bool,
    every: u64,
    told: Duration,
}

impl SweepProgress {
    fn new(options: &SimulationArguments) -> SweepProgress {
        SweepProgress {
            runs: (options.runs != u64::MAX).then_some(options.runs),
            seconds: options.seconds,
            terminal: std::io::stderr().is_terminal(),
            every: (options.runs / 20).clamp(1, PROGRESS_RUNS_MAX),
            told: Duration::ZERO,
        }
    }

    fn tell(&mut self, summary: &Summary, outcome: &RunOutcome) {
        let of = self.runs.map_or(String::new(), |runs| format!(" of {runs}"));
        if !self.terminal {
            if summary.runs.is_multiple_of(self.every) && Some(summary.runs) != self.runs {
                let digest = outcome.statistics.trace;
                eprintln!("{}{of} runs, last seed {} (trace {digest:016x})", summary.runs, outcome.seed);
            }
            return;
        }
        if summary.elapsed < self.told + PROGRESS_EVERY {
            return;
        }
        self.told = summary.elapsed;
        let rate = summary.runs as f64 / summary.elapsed.as_secs_f64();
        let by_runs = self.runs.map(|runs| (runs - summary.runs) as f64 / rate);
        let by_time = self.seconds.map(|seconds| (seconds as f64 - summary.elapsed.as_secs_f64()).max(0.0));
        let left = by_runs.into_iter().chain(by_time).reduce(f64::min);
        let left = left.map_or(String::new(), |left| format!(", {left:.0} s left"));
        // Back to the start of the line, and clear it.
        eprint!("\r\x1b[K{}{of} runs, {rate:.1} runs/s{left}", summary.runs);
    }

    fn end(&self) {
        if self.terminal && self.told > Duration::ZERO {
            eprintln!();
        }
    }
}

/// The command that runs this seed again.
fn replay(options: &SimulationArguments, seed: u64, sites: usize) -> String {
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
