//! What a process of an experiment is to do; it comes as text, and what it says goes to its standard output, a line each.

use crate::communication::limits::{CALLS_PER_LOOK, WARM_UP, WARM_UP_TIME};
use crate::communication::method::Meeting;
use laboratory_harness::Outcome;
use laboratory_harness::placement::Place;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{Duration, Instant};

/// See the module's description.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Where the process runs.
    pub place: Place,
    /// What it does.
    pub task: Task,
}

/// What a process does.
#[derive(Debug, Serialize, Deserialize)]
pub enum Task {
    /// Never rests.
    Neighbour,
    /// Says that it is ready, and serves one client.
    Serve {
        /// By this method.
        method: String,
        /// With that client.
        meeting: Meeting,
    },
    /// Calls for so long, and says what it has measured.
    Call {
        /// By this method.
        method: String,
        /// That server.
        meeting: Meeting,
        /// For so many milliseconds.
        milliseconds: u64,
    },
    /// What only one experiment has.
    Part {
        /// The experiment.
        experiment: String,
        /// What it is to do.
        part: serde_json::Value,
    },
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Neighbour => write!(formatter, "keep a processor busy"),
            Task::Serve { method, .. } => write!(formatter, "serve by {method}"),
            Task::Call { method, .. } => write!(formatter, "call by {method}"),
            Task::Part { experiment, .. } => write!(formatter, "do its part of `{experiment}`"),
        }
    }
}

/// What a client has measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// How often it has done it.
    pub count: u64,
    /// In which time, nanoseconds.
    pub nanoseconds: u64,
    /// In which time of a processor, nanoseconds.
    pub processor_nanoseconds: u64,
}

impl Measured {
    /// Microseconds of each.
    pub fn microseconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e3 / self.count.max(1) as f64
    }

    /// Microseconds of a processor for each.
    pub fn processor_microseconds(&self) -> f64 {
        self.processor_nanoseconds as f64 / 1e3 / self.count.max(1) as f64
    }
}

/// Nanoseconds of a processor that this thread has used.
pub fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Does it again and again, and measures after a warm-up.
///
/// # Errors
/// What was done failed.
pub fn measure(milliseconds: u64, mut act: impl FnMut() -> Outcome<()>) -> Outcome<Measured> {
    let begun = Instant::now();
    let warm_up = Duration::from_millis(WARM_UP_TIME);
    for _ in 0..WARM_UP {
        act()?;
        if begun.elapsed() > warm_up {
            break;
        }
    }
    let (mut count, time) = (0, Duration::from_millis(milliseconds));
    let (begun, begun_processor) = (Instant::now(), processor_time());
    while begun.elapsed() < time {
        for _ in 0..CALLS_PER_LOOK {
            act()?;
        }
        count += u64::from(CALLS_PER_LOOK);
    }
    let nanoseconds = begun.elapsed().as_nanos() as u64;
    Ok(Measured { count, nanoseconds, processor_nanoseconds: processor_time() - begun_processor })
}
