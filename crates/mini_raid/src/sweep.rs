//! Many runs with consecutive seeds, on as many threads as wanted, and what they came to together.
//!
//! Invariant: runs are counted in the order of their seeds, and nothing behind the last one that counts is; so what a sweep of a
//! given number of runs comes to does not depend on the number of threads.

use crate::bounds::RunBounds;
use crate::run::{RunOutcome, run};
use crate::statistics::RunStatistics;
use messages::planted::{Bug, Planted};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Which runs.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// The first seed.
    pub seed: u64,
    /// How many.
    pub runs: u64,
    /// Sites of each; 0: one to five, by the seed.
    pub sites: usize,
    /// The clause to leave out.
    pub planted: Planted,
    /// How long each goes on.
    pub bounds: RunBounds,
    /// Stop beginning runs after this much real time.
    pub seconds_max: Option<u64>,
    /// How many threads; 0: as many as the machine has cores.
    pub jobs: usize,
    /// Go on after a run has failed.
    pub go_on: bool,
}

impl Default for Sweep {
    fn default() -> Sweep {
        Sweep {
            seed: 1,
            runs: 1,
            sites: 0,
            planted: Planted::none(),
            bounds: RunBounds::default(),
            seconds_max: None,
            jobs: 0,
            go_on: false,
        }
    }
}

/// What they came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Runs done.
    pub runs: u64,
    /// All counters together.
    pub statistics: RunStatistics,
    /// Virtual site-seconds.
    pub site_seconds: f64,
    /// Real time.
    pub elapsed: Duration,
    /// Real time that threads spent in these runs, all together.
    pub busy: Duration,
    /// Runs that failed, in the order of their seeds: one at most, unless told to go on.
    pub failed: Vec<RunOutcome>,
}

/// How many sites the run of a seed has when the caller leaves it open: mostly three.
pub fn sites_of(seed: u64) -> usize {
    [3, 3, 4, 3, 2, 3, 5, 3, 1, 3][(seed % 10) as usize]
}

/// Whether sites have turns inside a step in the run of a seed: in half of them.
pub fn turns_of(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Whether clients take rows that nobody has in the run of a seed: in a quarter of them. Where a bug is planted the runs are as they were, but for the one that
/// shows there.
pub fn takes_of(seed: u64, planted: Planted) -> bool {
    planted.is(Bug::TakenRowsGranted) || planted == Planted::none() && seed % 4 == 3
}

impl Sweep {
    /// Runs until one fails or all are done; `progress` hears of each, in the order of seeds.
    pub fn run(&self, mut progress: impl FnMut(&Summary, &RunOutcome)) -> Summary {
        let begun = Instant::now();
        let jobs = match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        };
        let next = AtomicU64::new(0);
        // Runs from here on are not begun.
        let end = AtomicU64::new(self.runs);
        let (sender, receiver) = mpsc::channel();
        let mut summary = Summary::default();
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let sender = sender.clone();
                scope.spawn(|| self.work(begun, &next, &end, sender));
            }
            drop(sender);
            let mut waiting = BTreeMap::new();
            for (number, outcome, took) in receiver {
                waiting.insert(number, (outcome, took));
                while summary.runs < end.load(Ordering::Relaxed)
                    && let Some((outcome, took)) = waiting.remove(&summary.runs)
                {
                    summary.count(&outcome, took);
                    summary.elapsed = begun.elapsed();
                    progress(&summary, &outcome);
                    if outcome.failure.is_some() {
                        summary.failed.push(outcome);
                        if !self.go_on {
                            end.store(summary.runs, Ordering::Relaxed);
                        }
                    }
                }
            }
        });
        summary.elapsed = begun.elapsed();
        summary
    }

    /// One thread: takes the next run until there is none.
    fn work(
        &self,
        begun: Instant,
        next: &AtomicU64,
        end: &AtomicU64,
        sender: mpsc::Sender<(u64, RunOutcome, Duration)>,
    ) {
        while self.seconds_max.is_none_or(|max| begun.elapsed().as_secs() < max) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end.load(Ordering::Relaxed) {
                return;
            }
            let started = Instant::now();
            let seed = self.seed.wrapping_add(number);
            let sites = if self.sites == 0 { sites_of(seed) } else { self.sites };
            let turns = self.bounds.turns || turns_of(seed);
            let takes = self.bounds.takes || takes_of(seed, self.planted);
            let bounds = RunBounds { turns, takes, ..self.bounds };
            let outcome = run(seed, sites, self.planted, bounds);
            if sender.send((number, outcome, started.elapsed())).is_err() {
                return;
            }
        }
    }
}

impl Summary {
    fn count(&mut self, outcome: &RunOutcome, took: Duration) {
        self.runs += 1;
        self.busy += took;
        self.statistics.add(&outcome.statistics);
        self.site_seconds += outcome.statistics.virtual_time as f64 / 1e9 * outcome.sites as f64;
    }

    /// In a few lines.
    pub fn text(&self) -> String {
        let real = self.elapsed.as_secs_f64();
        let busy = self.busy.as_secs_f64().max(1e-6);
        let simulated = self.statistics.virtual_time as f64 / 1e9;
        format!(
            "{} runs, {:.1} cluster-hours simulated in {:.1} s: {:.0} cluster-hours per core-hour\n\
             {} events, {} messages between sites\n\
             faults: {}\ntransactions: {}\nother: {}",
            self.runs,
            simulated / 3_600.0,
            real,
            simulated / busy,
            self.statistics.events,
            self.statistics.messages,
            RunStatistics::line(&self.statistics.faults),
            RunStatistics::line(&self.statistics.transactions),
            RunStatistics::line(&self.statistics.other),
        )
    }
}
