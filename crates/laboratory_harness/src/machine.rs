//! What figures depend on: the machine, and what others did on it meanwhile.

use serde::Serialize;
use std::fmt;
use std::fs::read_to_string;
use std::thread::available_parallelism;

fn field(path: &str, name: &str) -> String {
    let text = read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

/// The machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub processors: usize,
    /// Their name.
    pub model: String,
    /// The kernel's release.
    pub kernel: String,
}

impl Machine {
    /// Looks around.
    pub fn look() -> Machine {
        Machine {
            processors: available_parallelism().map_or(1, usize::from),
            model: field("/proc/cpuinfo", "model name"),
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} processors, {}, Linux {}", self.processors, self.model, self.kernel)
    }
}

/// What the processors have done since they started, and how many wanted them.
#[derive(Clone, Debug, Default)]
pub struct Load {
    average: String,
    /// Clock ticks of all processors: busy, and all.
    busy: u64,
    all: u64,
    /// Of those, this process's and its ended children's.
    own: u64,
}

/// What others did while an experiment ran.
#[derive(Clone, Debug, Serialize)]
pub struct LoadBetween {
    /// Load average over one minute, before.
    pub average_before: String,
    /// And after.
    pub average_after: String,
    /// Part of all processors' time that others used, in percent.
    pub others_percent: f64,
}

impl Load {
    /// Looks.
    pub fn look() -> Load {
        let numbers = |text: &str| text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect::<Vec<u64>>();
        let stat = read_to_string("/proc/stat").unwrap_or_default();
        // user, nice, system, idle, waiting for a disk, interrupts, their second halves, stolen (proc_stat(5)).
        let ticks = numbers(stat.lines().next().unwrap_or_default().trim_start_matches("cpu"));
        let idle = ticks.iter().skip(3).take(2).sum::<u64>();
        let all = ticks.iter().take(8).sum::<u64>();
        let own = read_to_string("/proc/self/stat").unwrap_or_default();
        let own = numbers(own.rsplit_once(')').map_or("", |(_, rest)| rest));
        // utime, stime, cutime, cstime: fields 14 to 17; the third is the first behind the name (proc_pid_stat(5)).
        let own = own.iter().skip(11).take(4).sum();
        let average = read_to_string("/proc/loadavg").unwrap_or_default();
        let average = average.split(' ').next().unwrap_or("unknown").to_owned();
        Load { average, busy: all - idle, all, own }
    }

    /// What was between an earlier look and this one. Children of the experiment have ended.
    pub fn since(self, before: Load) -> LoadBetween {
        let all = (self.all.saturating_sub(before.all)).max(1) as f64;
        let busy = self.busy.saturating_sub(before.busy) as f64;
        let own = self.own.saturating_sub(before.own) as f64;
        LoadBetween {
            average_before: before.average,
            average_after: self.average,
            others_percent: ((busy - own).max(0.0) / all * 1000.0).round() / 10.0,
        }
    }
}

impl fmt::Display for LoadBetween {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadBetween { average_before, average_after, others_percent } = self;
        write!(
            formatter,
            "load average {average_before} before, {average_after} after; others used {others_percent}% of the processors"
        )
    }
}
