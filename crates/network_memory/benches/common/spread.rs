//! The spread of many times.

use std::fmt;
use std::time::Duration;

/// In microseconds.
pub struct Spread {
    pub median: f64,
    pub p99: f64,
}

impl Spread {
    pub fn of(mut times: Vec<Duration>) -> Spread {
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_nanos() as f64 / 1e3;
        Spread { median: at(50), p99: at(99) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "median {:.1} us, p99 {:.1} us", self.median, self.p99)
    }
}
