//! The figures: every run, medians, ratios of Raid to each peer, and the targets beside what was measured.
//!
//! A ratio is the median of the rounds' ratios, not the ratio of medians: two runs of one round saw the same machine.

mod text;

use serde::Serialize;

use crate::databases::clients::Figures;
use crate::databases::contenders::RAID;
use crate::databases::loads::Load;
use crate::databases::machine::Machine;
use crate::databases::targets::{Measure, TARGETS, Target};

/// One run of one load on one contender.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Counted from one.
    pub round: u32,
    /// Key of the load.
    pub load: &'static str,
    /// Name of the contender.
    pub contender: &'static str,
    /// Median latency of fdatasync just before the round, in microseconds.
    pub sync_us: u64,
    /// What the client measured.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A system that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Party {
    /// The contenders that it is.
    pub contenders: String,
    /// What ran, in its own words.
    pub version: String,
    /// What it ran with that is not its default.
    pub settings: String,
}

/// What a client of a contender may rely on.
#[derive(Clone, Debug, Serialize)]
pub struct Promise {
    /// Its name.
    pub contender: &'static str,
    /// The promise.
    pub promise: &'static str,
}

/// A load by its key.
#[derive(Clone, Debug, Serialize)]
struct LoadName {
    key: &'static str,
    name: String,
}

/// Everything that was measured, and on what.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    parties: Vec<Party>,
    clients: Vec<String>,
    promises: Vec<Promise>,
    loads: Vec<LoadName>,
    rounds: u32,
    seconds: u32,
    /// Every run, in order.
    pub runs: Vec<Run>,
    /// Cores that all systems together use while none is measured; each run has so much less. None where nobody counts it.
    pub idle_cores: Option<f64>,
    /// Whether the sums of all tables have been looked at in the end.
    pub audited: bool,
    /// What does not balance in the books, in words.
    pub findings: Vec<String>,
    summary: Vec<Summary>,
    targets: Vec<Verdict>,
}

/// One load on one contender over all rounds.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    load: &'static str,
    contender: &'static str,
    tps_median: f64,
    latency_ms_average_median: f64,
    transactions: u64,
    failed: u64,
    aborted_clients: u64,
    /// Raid's throughput over this contender's: median, least and greatest of the rounds.
    raid_ratio: Option<Spread>,
}

/// A target and what was measured.
#[derive(Clone, Debug, Serialize)]
struct Verdict {
    what: &'static str,
    bound: String,
    measured: Spread,
    met: bool,
}

#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    greatest: f64,
}

impl Report {
    /// A report without runs yet, of so many rounds of runs of so many seconds. `clients` are the versions of the client programs.
    pub fn new(
        machine: Machine,
        parties: Vec<Party>,
        clients: Vec<String>,
        promises: Vec<Promise>,
        loads: &[Load],
        rounds: u32,
        seconds: u32,
    ) -> Report {
        Report {
            machine,
            parties,
            clients,
            promises,
            loads: loads.iter().map(|load| LoadName { key: load.key, name: load.name.clone() }).collect(),
            rounds,
            seconds,
            runs: Vec::new(),
            idle_cores: None,
            audited: false,
            findings: Vec::new(),
            summary: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Everything as JSON.
    pub fn json(&mut self) -> String {
        self.summary = self.summarize();
        self.targets = self.verdicts();
        let text = serde_json::to_string_pretty(self).expect("plain data with string keys is always JSON");
        text + "\n"
    }

    fn summarize(&self) -> Vec<Summary> {
        let mut lines = Vec::new();
        for load in &self.loads {
            for Promise { contender, .. } in &self.promises {
                let runs: Vec<&Run> = self.runs_of(load.key, contender).collect();
                let of = |value: fn(&Figures) -> f64| spread(runs.iter().map(|run| value(&run.figures)).collect());
                let (Some(tps), Some(latency)) = (of(|figures| figures.tps), of(|figures| figures.latency_ms_average))
                else {
                    continue;
                };
                let throughput = Measure::Throughput(load.key, contender);
                lines.push(Summary {
                    load: load.key,
                    contender,
                    tps_median: tps.median,
                    latency_ms_average_median: latency.median,
                    transactions: runs.iter().map(|run| run.figures.transactions).sum(),
                    failed: runs.iter().map(|run| run.figures.failed).sum(),
                    aborted_clients: runs.iter().map(|run| run.figures.aborted_clients).sum(),
                    raid_ratio: if *contender == RAID { None } else { self.measure(load.key, throughput) },
                });
            }
        }
        lines
    }

    /// The targets of which something was measured.
    fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |target: &Target| {
            let measured = self.measure(target.load, target.measure)?;
            let met = target.is_met_by(measured.median);
            Some(Verdict { what: target.what, bound: target.bound_in_words(), measured, met })
        };
        TARGETS.iter().filter_map(verdict).collect()
    }

    fn runs_of<'a>(&'a self, load: &'a str, contender: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.load == load && run.contender == contender)
    }

    /// A figure of ours under a load, round by round.
    fn measure(&self, load: &str, measure: Measure) -> Option<Spread> {
        let figures = self.runs_of(load, RAID).filter_map(|ours| {
            let peer = |key, contender| self.runs_of(key, contender).find(|peer| peer.round == ours.round);
            match measure {
                Measure::Throughput(key, contender) => Some(ours.figures.tps / peer(key, contender)?.figures.tps),
                Measure::Latency(key, contender) => {
                    Some(ours.figures.latency_ms_average / peer(key, contender)?.figures.latency_ms_average)
                }
                Measure::Failed => Some(ours.figures.failed_share()),
            }
        });
        spread(figures.collect())
    }
}

/// None without a value.
fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let (least, greatest) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
    Some(Spread { median, least, greatest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::contenders::ON;
    use crate::databases::loads::beside_postgres;

    fn report(runs: &[(u32, &'static str, f64)]) -> Report {
        let machine = Machine {
            cores: 2,
            processor: "x".into(),
            kernel: "6".into(),
            memory_mib: 1,
            file_system: "ext4".into(),
            scheduling: "none".into(),
            network: "loopback".into(),
        };
        let party = Party { contenders: "postgres on".into(), version: "postgres 15".into(), settings: "none".into() };
        let promises = [ON, RAID].map(|contender| Promise { contender, promise: "some" });
        let mut report =
            Report::new(machine, vec![party], vec!["pgbench 15".into()], promises.into(), &beside_postgres(100), 3, 1);
        report.runs.extend(runs.iter().map(|&(round, contender, tps)| Run {
            round,
            load: "tpcb-16",
            contender,
            sync_us: 100,
            figures: Figures { tps, latency_ms_average: 1.0, transactions: 1, failed: 1, aborted_clients: 0 },
        }));
        report
    }

    /// Medians of even and odd counts, and none of nothing.
    #[test]
    fn medians_are_medians() {
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, greatest: 3.0 }));
        assert_eq!(spread(vec![4.0, 1.0]).map(|spread| spread.median), Some(2.5));
        assert_eq!(spread(vec![]), None);
    }

    /// The ratio pairs the runs of a round: in this one the machine slowed down threefold, which must not show in it.
    #[test]
    fn ratios_are_taken_within_a_round() {
        let report = report(&[(1, ON, 300.0), (1, RAID, 600.0), (2, RAID, 200.0), (2, ON, 100.0)]);
        let lines = report.summarize();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].raid_ratio, Some(Spread { median: 2.0, least: 2.0, greatest: 2.0 }));
        assert_eq!((lines[0].tps_median, lines[0].failed), (200.0, 2));
        assert_eq!(lines[1].raid_ratio, None, "raid is not compared with itself");
        let verdicts = report.verdicts();
        assert_eq!(verdicts.len(), 1, "of the other targets nothing was measured");
        assert!(!verdicts[0].met && verdicts[0].measured.median == 2.0);
    }

    /// What is published must hold every run and every finding, in both forms.
    #[test]
    fn both_forms_hold_every_run() {
        let mut report = report(&[(1, ON, 123.0), (1, RAID, 456.0)]);
        report.findings.push("one is missing".into());
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("it is JSON");
        assert_eq!(json["runs"][1]["tps"], 456.0);
        assert_eq!(json["findings"][0], "one is missing");
        assert_eq!(json["targets"][0]["met"], true);
        let markdown = report.markdown();
        assert!(
            markdown.contains("| 1 | 100 | TPC-B-like, scale 10, 16 clients | raid | 456 | 1.000 | 1 | 0 |"),
            "{markdown}"
        );
        assert!(markdown.contains("one is missing"), "{markdown}");
        assert!(markdown.contains("| at least 3.00 | met |"), "{markdown}");
    }
}
