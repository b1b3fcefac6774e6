//! The figures of all kills.

use super::Kill;
use std::fmt;
use std::time::Duration;

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Every kill.
    pub kills: Vec<Kill>,
    /// How long leases last, in milliseconds.
    pub lease_ms: u64,
    /// Cores of the machine.
    pub cores: usize,
    /// Median time of a disk sync before the experiment.
    pub sync: Duration,
}

/// Some times.
#[derive(Clone, Debug)]
pub struct Distribution {
    sorted: Vec<Duration>,
}

impl Distribution {
    /// Of these times, one at least.
    pub fn new(times: impl IntoIterator<Item = Duration>) -> Distribution {
        let mut sorted: Vec<Duration> = times.into_iter().collect();
        sorted.sort_unstable();
        Distribution { sorted }
    }

    /// The least time that is not below so many percent of all (nearest rank).
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

impl fmt::Display for Kill {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kill { victim, survivor, write, read, at_return } = *self;
        let (write, read, at_return) = (milliseconds(write), milliseconds(read), milliseconds(at_return));
        write!(
            out,
            "site {victim} is killed: site {survivor} acknowledged no write for {write}, answered no read for {read}; \
             {at_return} while it came back"
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} kills; leases of {} ms; {} cores; a disk sync takes {:.2} ms",
            self.kills.len(),
            self.lease_ms,
            self.cores,
            self.sync.as_secs_f64() * 1e3
        )?;
        writeln!(out, "{:34}{:>10}{:>10}{:>10}{:>10}", "at a surviving site", "median", "90%", "99%", "longest")?;
        let mut row = |what: &str, time: &dyn Fn(&Kill) -> Duration| {
            let times = Distribution::new(self.kills.iter().map(time));
            let figures = [50, 90, 99, 100].map(|percent| format!("{:>10}", milliseconds(times.percentile(percent))));
            writeln!(out, "{what:34}{}", figures.concat())
        };
        row("no write acknowledged for", &|kill| kill.write)?;
        row("no read answered for", &|kill| kill.read)?;
        row("neither, while the site came back", &|kill| kill.at_return)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A percentile that took a neighbour's time would meet a goal that is missed.
    #[test]
    fn percentiles_are_times_that_were_seen() {
        let hundred = Distribution::new((1..=100).rev().map(Duration::from_millis));
        let seen = [50, 90, 99, 100].map(|percent| hundred.percentile(percent).as_millis());
        assert_eq!(seen, [50, 90, 99, 100]);
        let few = Distribution::new([7, 3, 5].map(Duration::from_millis));
        assert_eq!([50, 99, 100].map(|percent| few.percentile(percent).as_millis()), [5, 7, 7]);
    }
}
