//! The figures: every run, medians, and ratios of Raid to each peer.
//!
//! A ratio is the median of the rounds' ratios, not the ratio of medians: two runs of one round saw the same machine.

use std::fmt::{self, Write};

use serde::Serialize;

use crate::comparison::RAID;
use crate::machine::Machine;
use crate::pgbench::{Figures, LOADS};

/// One run of one load on one contender.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Counted from one.
    pub round: u32,
    /// Name of the load.
    pub load: &'static str,
    /// Name of the contender.
    pub contender: &'static str,
    /// Median latency of fdatasync just before the round, in microseconds.
    pub sync_us: u64,
    /// What pgbench measured.
    #[serde(flatten)]
    pub figures: Figures,
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { tps, latency_ms_average, failed, aborted_clients, .. } = &self.figures;
        write!(formatter, "  {:<24} {:<22} {tps:>9.0} tps {latency_ms_average:>8.3} ms", self.load, self.contender)?;
        if *failed > 0 {
            write!(formatter, "  {failed} failed")?;
        }
        if *aborted_clients > 0 {
            write!(formatter, "  {aborted_clients} CLIENTS GAVE UP")?;
        }
        Ok(())
    }
}

/// Everything that was measured, and on what.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    versions: Vec<String>,
    postgres_settings: Option<String>,
    rounds: u32,
    seconds: u32,
    scale: u32,
    /// Every run, in order.
    pub runs: Vec<Run>,
    summary: Vec<Summary>,
}

/// One load on one contender over all rounds.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    load: &'static str,
    contender: &'static str,
    tps_median: f64,
    latency_ms_average_median: f64,
    failed: u64,
    aborted_clients: u64,
    /// Raid's throughput over this contender's: median, least and greatest of the rounds.
    raid_ratio: Option<Spread>,
}

#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    greatest: f64,
}

impl Report {
    /// A report without runs yet.
    pub fn new(
        machine: Machine,
        versions: Vec<String>,
        postgres_settings: Option<String>,
        rounds: u32,
        seconds: u32,
        scale: u32,
    ) -> Report {
        Report { machine, versions, postgres_settings, rounds, seconds, scale, runs: Vec::new(), summary: Vec::new() }
    }

    /// What was measured, and on what.
    pub fn heading(&self) -> String {
        let Machine { cores, processor, kernel, memory_mib, file_system, scheduling } = &self.machine;
        let mut text = format!(
            "machine:    {cores} cores ({processor}), {memory_mib} MiB, Linux {kernel}, data on {file_system}, {scheduling}\n"
        );
        for version in &self.versions {
            text += &format!("version:    {version}\n");
        }
        if let Some(settings) = &self.postgres_settings {
            text += &format!("postgres:   ANY 2 (two standbys), {settings}\n");
        }
        let Report { rounds, seconds, scale, .. } = self;
        text += &format!(
            "load:       pgbench, scale {scale}, prepared, over TCP on this host; {rounds} rounds of {seconds} s runs\n"
        );
        text
    }

    /// Medians and ratios as a table for a terminal.
    pub fn summary(&self) -> String {
        let mut text = String::from("medians:\n");
        for line in self.summarize() {
            let Summary { load, contender, tps_median, latency_ms_average_median, failed, .. } = line;
            write!(text, "  {load:<24} {contender:<22} {tps_median:>9.0} tps {latency_ms_average_median:>8.3} ms  {failed} failed")
                .expect("a string takes everything");
            if line.aborted_clients > 0 {
                text += &format!("  {} CLIENTS GAVE UP", line.aborted_clients);
            }
            if let Some(Spread { median, least, greatest }) = line.raid_ratio {
                text += &format!("  raid x {median:.2} ({least:.2} to {greatest:.2})");
            }
            text.push('\n');
        }
        text
    }

    /// Everything as JSON.
    pub fn json(&mut self) -> String {
        self.summary = self.summarize();
        let text = serde_json::to_string_pretty(self).expect("plain data with string keys is always JSON");
        text + "\n"
    }

    /// Everything as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Comparison with PostgreSQL\n\n");
        for line in self.heading().lines() {
            let (what, value) = line.split_once(':').unwrap_or((line, ""));
            text += &format!("- {what}: {}\n", value.trim());
        }
        text += "\n## Medians\n\n| load | contender | tps | latency, ms | failed | clients that gave up | Raid, times as fast |\n";
        text += "|---|---|---:|---:|---:|---:|---:|\n";
        for line in self.summarize() {
            let Summary { load, contender, tps_median, latency_ms_average_median, failed, aborted_clients, raid_ratio } =
                line;
            let spread = |Spread { median, least, greatest }| format!("{median:.2} ({least:.2} to {greatest:.2})");
            let ratio = raid_ratio.map_or_else(String::new, spread);
            text += &format!(
                "| {load} | {contender} | {tps_median:.0} | {latency_ms_average_median:.3} | {failed} | {aborted_clients} | {ratio} |\n"
            );
        }
        text += "\n## Runs\n\n| round | fdatasync, us | load | contender | tps | latency, ms | failed | clients that gave up |\n";
        text += "|---:|---:|---|---|---:|---:|---:|---:|\n";
        for Run { round, load, contender, sync_us, figures } in &self.runs {
            let Figures { tps, latency_ms_average, failed, aborted_clients, .. } = figures;
            text += &format!(
                "| {round} | {sync_us} | {load} | {contender} | {tps:.0} | {latency_ms_average:.3} | {failed} | {aborted_clients} |\n"
            );
        }
        text
    }

    fn summarize(&self) -> Vec<Summary> {
        let mut contenders: Vec<&'static str> = self.runs.iter().map(|run| run.contender).collect();
        contenders.sort_unstable();
        contenders.dedup();
        let mut lines = Vec::new();
        for load in LOADS {
            for &contender in &contenders {
                let runs: Vec<&Run> = self.runs_of(load.name, contender).collect();
                let of = |value: fn(&Figures) -> f64| spread(runs.iter().map(|run| value(&run.figures)).collect());
                let (Some(tps), Some(latency)) = (of(|figures| figures.tps), of(|figures| figures.latency_ms_average))
                else {
                    continue;
                };
                lines.push(Summary {
                    load: load.name,
                    contender,
                    tps_median: tps.median,
                    latency_ms_average_median: latency.median,
                    failed: runs.iter().map(|run| run.figures.failed).sum(),
                    aborted_clients: runs.iter().map(|run| run.figures.aborted_clients).sum(),
                    raid_ratio: if contender == RAID { None } else { self.raid_ratio(load.name, contender) },
                });
            }
        }
        lines
    }

    fn runs_of<'a>(&'a self, load: &'a str, contender: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.load == load && run.contender == contender)
    }

    /// Raid over a contender, round by round.
    fn raid_ratio(&self, load: &str, contender: &str) -> Option<Spread> {
        let pairs = self.runs_of(load, contender).filter_map(|run| {
            let ours = self.runs_of(load, RAID).find(|ours| ours.round == run.round)?;
            Some(ours.figures.tps / run.figures.tps)
        });
        spread(pairs.collect())
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

    fn report(runs: &[(u32, &'static str, f64)]) -> Report {
        let machine = Machine {
            cores: 2,
            processor: "x".into(),
            kernel: "6".into(),
            memory_mib: 1,
            file_system: "ext4".into(),
            scheduling: "none".into(),
        };
        let mut report = Report::new(machine, vec!["postgres 15".into()], None, 3, 1, 1);
        report.runs.extend(runs.iter().map(|&(round, contender, tps)| Run {
            round,
            load: LOADS[0].name,
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
        let report =
            report(&[(1, "postgres on", 300.0), (1, RAID, 600.0), (2, RAID, 200.0), (2, "postgres on", 100.0)]);
        let lines = report.summarize();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].raid_ratio, Some(Spread { median: 2.0, least: 2.0, greatest: 2.0 }));
        assert_eq!((lines[0].tps_median, lines[0].failed), (200.0, 2));
        assert_eq!(lines[1].raid_ratio, None, "raid is not compared with itself");
    }

    /// What is published must hold every run, in both forms.
    #[test]
    fn both_forms_hold_every_run() {
        let mut report = report(&[(1, "postgres on", 123.0), (1, RAID, 456.0)]);
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("it is JSON");
        assert_eq!(json["runs"][1]["tps"], 456.0);
        assert_eq!(
            json["summary"][0]["raid_ratio"]["median"].as_f64().map(|ratio| (ratio * 100.0).round()),
            Some(371.0)
        );
        let markdown = report.markdown();
        assert!(markdown.contains("| 1 | 100 | TPC-B-like, 1 client | raid | 456 | 1.000 | 1 | 0 |"), "{markdown}");
    }
}
