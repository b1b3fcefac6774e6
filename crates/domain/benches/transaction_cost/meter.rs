//! Time by step.

use std::fmt::Write;
use std::time::Instant;

/// Longer than any step takes: the thread was kept waiting, and the step counts as an average one.
const INTERRUPTED_NS: f64 = 1e6;
/// What reading the clock costs, in nanoseconds.
const CLOCK_NS: f64 = 25.0;

/// What a transaction comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The user interface reads what a client has sent.
    Ask,
    /// The servers of the home site execute it.
    Execute,
    /// The user interface writes the answer.
    Answer,
    /// A message for other sites becomes bytes.
    Encode,
    /// Bytes become a message, at each site that they came to.
    Decode,
    /// The servers of the other sites: locks, check, log, vote, install.
    Participate,
    /// The servers of the home site: votes, install, acknowledgements.
    Decide,
    /// What is due from time to time, at all sites.
    Tick,
}

const STEPS: [(Step, &str); 8] = [
    (Step::Ask, "read a request"),
    (Step::Execute, "execute it"),
    (Step::Answer, "write the answer"),
    (Step::Encode, "encode for sites"),
    (Step::Decode, "decode at sites"),
    (Step::Participate, "participants"),
    (Step::Decide, "decide at home"),
    (Step::Tick, "ticks"),
];

#[derive(Clone, Copy, Default)]
struct Sum {
    calls: u64,
    measured: u64,
    ns: f64,
}

/// See the module's description.
#[derive(Default)]
pub struct Meter {
    sums: [Sum; STEPS.len()],
    frames: u64,
    bytes: u64,
}

impl Meter {
    /// Measures one step.
    pub fn run<T>(&mut self, step: Step, act: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = act();
        let ns = begun.elapsed().as_nanos() as f64 - CLOCK_NS;
        let sum = &mut self.sums[step as usize];
        sum.calls += 1;
        if ns < INTERRUPTED_NS {
            sum.measured += 1;
            sum.ns += ns;
        }
        result
    }

    /// A frame of so many bytes for so many sites.
    pub fn sent(&mut self, sites: usize, bytes: usize) {
        self.frames += sites as u64;
        self.bytes += (sites * bytes) as u64;
    }

    /// The table, per transaction.
    pub fn report(&self, transactions: u64) -> String {
        let per = transactions as f64;
        let (mut text, mut all) = (format!("{:20} {:>8} {:>8}\n", "step", "us", "calls"), 0.0);
        for ((_, name), sum) in STEPS.iter().zip(&self.sums) {
            let us = sum.ns / 1e3 / sum.measured.max(1) as f64 * sum.calls as f64 / per;
            all += us;
            writeln!(text, "{name:20} {us:8.2} {:8.2}", sum.calls as f64 / per).expect("text takes all");
        }
        let (frames, bytes) = (self.frames as f64 / per, self.bytes as f64 / per);
        writeln!(text, "{:20} {all:8.2}\n{frames:.2} frames, {bytes:.0} bytes between sites", "a transaction")
            .expect("text takes all");
        text
    }
}
