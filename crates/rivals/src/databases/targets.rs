//! What Raid is to reach, as ratios within a round: to a peer under the same load, or to itself under another one.

use crate::databases::contenders::{ON, RAID, REMOTE_WRITE, STAND_IN, STANDALONE};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Our throughput over that of this contender under the load of this key: at least so much.
    Throughput(&'static str, &'static str),
    /// Our latency over that of this contender under the load of this key: at most so much.
    Latency(&'static str, &'static str),
    /// The share of our transactions that failed: at most so much.
    Failed,
}

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// In words.
    pub what: &'static str,
    /// The key of our load.
    pub load: &'static str,
    /// What is compared.
    pub measure: Measure,
    /// The bound: a ratio or a share.
    pub bound: f64,
}

impl Target {
    /// Whether a figure reaches it.
    pub fn is_met_by(&self, figure: f64) -> bool {
        match self.measure {
            Measure::Throughput(..) => figure >= self.bound,
            Measure::Latency(..) | Measure::Failed => figure <= self.bound,
        }
    }

    /// The bound in words, such as "at least 3.00".
    pub fn bound_in_words(&self) -> String {
        let side = if matches!(self.measure, Measure::Throughput(..)) { "at least" } else { "at most" };
        format!("{side} {:.2}", self.bound)
    }
}

/// All targets, in the order of the report.
pub const TARGETS: [Target; 13] = [
    target("1 client: latency to PostgreSQL remote_write", "tpcb-1", Measure::Latency("tpcb-1", REMOTE_WRITE), 1.0),
    target("16 clients: rate to PostgreSQL on", "tpcb-16", Measure::Throughput("tpcb-16", ON), 3.0),
    target("16 clients: rate to PostgreSQL standalone", "tpcb-16", Measure::Throughput("tpcb-16", STANDALONE), 1.0),
    target("16 clients: rate to the ceiling (stretch)", "tpcb-16", Measure::Throughput("tpcb-16", STAND_IN), 0.75),
    target(
        "32 clients: rate at scale 1 to rate at the large scale",
        "tpcb-32-small",
        Measure::Throughput("tpcb-32-large", RAID),
        0.8,
    ),
    target(
        "16 clients, scale 10: rate over three sites to rate at one",
        "tpcb-16-sites",
        Measure::Throughput("tpcb-16", RAID),
        0.7,
    ),
    target("16 clients over three sites, scale 10: share aborted", "tpcb-16-sites", Measure::Failed, 0.01),
    target(
        "16 clients, scale 1: rate over three sites to rate at one",
        "tpcb-16-small-sites",
        Measure::Throughput("tpcb-16-small", RAID),
        0.7,
    ),
    target("16 clients over three sites, scale 1: share aborted", "tpcb-16-small-sites", Measure::Failed, 0.01),
    target("select only at site 1: rate to PostgreSQL", "select-16-site1", on("select-16-site1"), 1.2),
    target("select only at site 2: rate to PostgreSQL", "select-16-site2", on("select-16-site2"), 1.2),
    target("select only at site 3: rate to PostgreSQL", "select-16-site3", on("select-16-site3"), 1.2),
    target("one CALL, 16 clients: rate to PostgreSQL on", "call-16", on("call-16"), 4.0),
];

const fn target(what: &'static str, load: &'static str, measure: Measure, bound: f64) -> Target {
    Target { what, load, measure, bound }
}

const fn on(load: &'static str) -> Measure {
    Measure::Throughput(load, ON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::loads::{beside_galera, beside_postgres};

    /// A target whose load nobody runs would never be looked at.
    #[test]
    fn every_target_is_of_loads_that_exist_and_of_who_takes_part() {
        let loads = [beside_postgres(100), beside_galera()].concat();
        for target in TARGETS {
            let load = |key| loads.iter().find(|load| load.key == key).expect("a load of this key");
            assert!(load(target.load).contenders.contains(&RAID), "{}", target.what);
            if let Measure::Throughput(key, contender) | Measure::Latency(key, contender) = target.measure {
                assert!(load(key).contenders.contains(&contender), "{}", target.what);
            }
        }
    }

    /// Turned round, a target would be met by whoever misses it.
    #[test]
    fn more_throughput_and_less_latency_are_better() {
        assert!(target("", "", on(""), 3.0).is_met_by(3.1) && !target("", "", on(""), 3.0).is_met_by(2.9));
        let latency = target("", "", Measure::Latency("", ""), 1.0);
        assert!(latency.is_met_by(0.9) && !latency.is_met_by(1.1));
        assert!(target("", "", Measure::Failed, 0.01).is_met_by(0.0));
        assert_eq!(latency.bound_in_words(), "at most 1.00");
    }
}
