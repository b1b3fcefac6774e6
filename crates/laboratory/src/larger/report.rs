//! The figures.

use super::clients::Found;
use super::{Options, rows};
use crate::interruption::Distribution;
use local_cluster::screen::{bytes, grouped};
use std::fmt;
use std::time::Duration;

/// One load.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What it was.
    pub name: &'static str,
    /// How long each answer took.
    pub times: Distribution,
    /// Rows in a second.
    pub rate: f64,
    /// Statements in a second of who was beside it.
    pub others: Option<f64>,
    /// The most memory of its own that the site had meanwhile, in bytes.
    pub memory: u64,
}

impl Phase {
    pub(super) fn new(name: &'static str, found: Found, took: Duration, rows: u64, memory: u64) -> Phase {
        let rate = rows as f64 / took.as_secs_f64();
        Phase { name, times: Distribution::new(found.times), rate, others: None, memory }
    }
}

/// What a site takes on disk, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Its log.
    pub log: u64,
    /// Its store.
    pub store: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was asked for.
    pub options: Options,
    /// Cores of the machine.
    pub cores: usize,
    /// Median time of a disk sync before it began.
    pub sync: Duration,
    /// Loading all rows.
    pub loaded: Phase,
    /// After that.
    pub size: Size,
    /// Reads and updates of the working set in a site that has no other rows.
    pub alone: Vec<Phase>,
    /// With all rows; the first ones are those of `alone`.
    pub phases: Vec<Phase>,
    /// From the start after a kill to the answer of a read, and the bytes of log that were to be read for that.
    pub restart: (Duration, u64),
}

fn milliseconds(time: Duration) -> String {
    match time.as_secs_f64() * 1e3 {
        long if long >= 100.0 => format!("{long:.0} ms"),
        short => format!("{short:.2} ms"),
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, high, longest] = [50, 99, 100].map(|percent| milliseconds(self.times.percentile(percent)));
        let (rate, memory) = (grouped(self.rate.round() as u64), bytes(self.memory));
        write!(out, "{:36}{rate:>9}{median:>11}{high:>11}{longest:>11}{memory:>11}", self.name)?;
        match self.others {
            Some(others) if others >= 10.0 => write!(out, "  others {:>7}/s", grouped(others.round() as u64)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { rows, memory_mb, working_set, load_time, clients } = self.options;
        let megabytes = bytes(rows * rows::ROW_BYTES);
        writeln!(
            out,
            "{megabytes} in {} rows, {memory_mb} MB of memory for rows, a working set of {working_set}%; {clients} clients, {} s each; {} cores; a \
             disk sync takes {:.2} ms",
            grouped(rows),
            load_time.as_secs(),
            self.cores,
            self.sync.as_secs_f64() * 1e3
        )?;
        let rate = self.loaded.rate * rows::ROW_BYTES as f64 / 1e6;
        let Size { log, store } = self.size;
        writeln!(
            out,
            "loaded at {rate:.1} MB/s; then {} of store and {} of log are on disk",
            bytes(store),
            bytes(log)
        )?;
        let (took, replayed) = self.restart;
        writeln!(
            out,
            "a read is answered {} after the start of a killed site, which had {} of log to read",
            milliseconds(took),
            bytes(replayed)
        )?;
        let head = ["rows/s", "median", "99%", "longest"];
        writeln!(out, "{:36}{:>9}{:>11}{:>11}{:>11}{:>11}", "", head[0], head[1], head[2], head[3], "own memory")?;
        for phase in &self.alone {
            writeln!(out, "{phase}, in a site without other rows")?;
        }
        writeln!(out, "{}", self.loaded)?;
        for phase in &self.phases {
            writeln!(out, "{phase}")?;
        }
        let ratio = |place: usize| self.phases[place].rate / self.alone[place].rate;
        write!(
            out,
            "With all rows the working set has {:.2} of the reads and {:.2} of the updates that it has in a site without others.",
            ratio(0),
            ratio(1)
        )
    }
}
