//! What a run, or many, came to.
//!
//! Invariant: the trace is a digest of every event in order; equal runs have equal traces.

use std::collections::BTreeMap;

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStatistics {
    /// Sites simulated.
    pub sites: usize,
    /// Virtual time, in nanoseconds.
    pub virtual_time: u64,
    /// Events.
    pub events: u64,
    /// Messages between sites.
    pub messages: u64,
    /// Faults by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Transactions by outcome.
    pub transactions: BTreeMap<&'static str, u64>,
    /// Other things that are worth counting.
    pub other: BTreeMap<&'static str, u64>,
    /// A digest of all events.
    pub trace: u64,
}

impl RunStatistics {
    /// Of a run with so many sites.
    pub fn new(sites: usize) -> RunStatistics {
        RunStatistics { sites, ..RunStatistics::default() }
    }

    /// Mixes an event into the trace.
    pub fn mix(&mut self, time: u64, kind: u64, detail: u64) {
        let mut value = self.trace ^ time.rotate_left(20) ^ kind.rotate_left(56) ^ detail;
        value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.trace = value ^ (value >> 29);
    }

    /// Adds another run's counters.
    pub fn add(&mut self, other: &RunStatistics) {
        self.sites = self.sites.max(other.sites);
        self.virtual_time += other.virtual_time;
        self.events += other.events;
        self.messages += other.messages;
        let maps = [
            (&mut self.faults, &other.faults),
            (&mut self.transactions, &other.transactions),
            (&mut self.other, &other.other),
        ];
        for (own, other) in maps {
            for (name, count) in other {
                *own.entry(name).or_insert(0) += count;
            }
        }
        self.trace = self.trace.rotate_left(7) ^ other.trace;
    }

    /// One of its maps in a line.
    pub fn line(map: &BTreeMap<&'static str, u64>) -> String {
        let parts: Vec<String> = map.iter().map(|(name, count)| format!("{name} {count}")).collect();
        parts.join(", ")
    }
}
