//! Many runs, one seed after another, and what they came to together.

use crate::run::{Bounds, Outcome, run};
use crate::statistics::Statistics;
use messages::planted::Planted;
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
    pub bounds: Bounds,
    /// Stop beginning runs after this much real time.
    pub seconds_max: Option<u64>,
}

/// What they came to.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Runs done.
    pub runs: u64,
    /// All counters together.
    pub statistics: Statistics,
    /// Virtual site-seconds.
    pub site_seconds: f64,
    /// Real time.
    pub elapsed: Duration,
    /// The first run that failed.
    pub failed: Option<Outcome>,
}

/// How many sites the run of a seed has when the caller leaves it open: mostly three.
pub fn sites_of(seed: u64) -> usize {
    [3, 3, 4, 3, 2, 3, 5, 3, 1, 3][(seed % 10) as usize]
}

impl Sweep {
    /// Runs until one fails or all are done; `progress` hears of each.
    pub fn run(&self, mut progress: impl FnMut(u64, &Outcome)) -> Summary {
        let begun = Instant::now();
        let mut summary = Summary {
            runs: 0,
            statistics: Statistics::default(),
            site_seconds: 0.0,
            elapsed: Duration::ZERO,
            failed: None,
        };
        for number in 0..self.runs {
            if self.seconds_max.is_some_and(|max| begun.elapsed().as_secs() >= max) {
                break;
            }
            let seed = self.seed.wrapping_add(number);
            let sites = if self.sites == 0 { sites_of(seed) } else { self.sites };
            let outcome = run(seed, sites, self.planted, self.bounds);
            summary.runs += 1;
            summary.statistics.add(&outcome.statistics);
            summary.site_seconds += outcome.statistics.virtual_time as f64 / 1e9 * sites as f64;
            progress(number + 1, &outcome);
            if outcome.failure.is_some() {
                summary.failed = Some(outcome);
                break;
            }
        }
        summary.elapsed = begun.elapsed();
        summary
    }
}

impl Summary {
    /// In a few lines.
    pub fn text(&self) -> String {
        let real = self.elapsed.as_secs_f64().max(1e-6);
        let simulated = self.statistics.virtual_time as f64 / 1e9;
        format!(
            "{} runs, {:.0} s simulated in {:.1} s: {:.0} cluster-hours per core-hour\n\
             {} events, {} messages between sites\n\
             faults: {}\ntransactions: {}\nother: {}",
            self.runs,
            simulated,
            real,
            simulated / real,
            self.statistics.events,
            self.statistics.messages,
            Statistics::line(&self.statistics.faults),
            Statistics::line(&self.statistics.transactions),
            Statistics::line(&self.statistics.other),
        )
    }
}
