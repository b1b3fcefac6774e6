//! A report for a terminal and as Markdown.

use std::fmt::{self, Write};

use super::{Party, Promise, Report, Run, Spread, Summary, Verdict};
use crate::databases::clients::Figures;
use crate::databases::machine::Machine;

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { tps, latency_ms_average, failed, aborted_clients, .. } = &self.figures;
        write!(formatter, "  {:<24} {:<22} {tps:>9.0} tps {latency_ms_average:>8.3} ms", self.load, self.contender)?;
        if *failed > 0 {
            write!(formatter, "  {failed} failed ({:.2}%)", 100.0 * self.figures.failed_share())?;
        }
        if *aborted_clients > 0 {
            write!(formatter, "  {aborted_clients} CLIENTS GAVE UP")?;
        }
        Ok(())
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { median, least, greatest } = self;
        write!(formatter, "{median:.2} ({least:.2} to {greatest:.2})")
    }
}

impl Summary {
    /// Transactions that failed, and of how many.
    fn failed_in_words(&self) -> String {
        let all = self.transactions + self.failed;
        if self.failed == 0 {
            return "0".to_string();
        }
        format!("{} ({:.2}%)", self.failed, 100.0 * self.failed as f64 / all as f64)
    }
}

impl Verdict {
    fn in_words(&self) -> &'static str {
        if self.met { "met" } else { "MISSED" }
    }
}

impl Report {
    /// What was measured, and on what.
    pub fn heading(&self) -> String {
        let Machine { cores, processor, kernel, memory_mib, file_system, scheduling, network } = &self.machine;
        let mut text = format!(
            "machine:    {cores} cores ({processor}), {memory_mib} MiB, Linux {kernel}, data on {file_system}, {scheduling}\n\
             network:    TCP over {network}\n"
        );
        for Party { contenders, version, settings } in &self.parties {
            text += &format!("system:     {contenders}: {version}; {settings}\n");
        }
        for version in &self.clients {
            text += &format!("client:     {version}\n");
        }
        for Promise { contender, promise } in &self.promises {
            text += &format!("promise:    {contender}: {promise}\n");
        }
        text + &format!("runs:       {} rounds of {} s runs\n", self.rounds, self.seconds)
    }

    /// Medians, ratios, targets and the state of the books for a terminal.
    pub fn summary(&self) -> String {
        let mut text = String::from("medians:\n");
        for line in self.summarize() {
            let Summary { load, contender, tps_median, latency_ms_average_median, .. } = line;
            let failed = line.failed_in_words();
            write!(
                text,
                "  {load:<24} {contender:<22} {tps_median:>9.0} tps {latency_ms_average_median:>8.3} ms  {failed} failed"
            )
            .expect("a string takes everything");
            if line.aborted_clients > 0 {
                text += &format!("  {} CLIENTS GAVE UP", line.aborted_clients);
            }
            if let Some(ratio) = line.raid_ratio {
                text += &format!("  raid x {ratio}");
            }
            text.push('\n');
        }
        let verdicts = self.verdicts();
        if !verdicts.is_empty() {
            text += "targets:\n";
        }
        for verdict in verdicts {
            let Verdict { what, bound, measured, .. } = &verdict;
            text += &format!("  {what:<60} {measured:<24} {bound}: {}\n", verdict.in_words());
        }
        if let Some(cores) = self.idle_cores {
            text += &format!("idle:       all systems together use {cores:.3} cores while none is measured\n");
        }
        text + &format!("books:      {}\n", self.findings_in_words())
    }

    /// Everything as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Comparison of Raid with other systems\n\n");
        for line in self.heading().lines() {
            let (what, value) = line.split_once(':').unwrap_or((line, ""));
            text += &format!("- {what}: {}\n", value.trim());
        }
        if let Some(cores) = self.idle_cores {
            text += &format!("- idle: all systems together use {cores:.3} cores while none is measured\n");
        }
        text += &format!("- books: {}\n", self.findings_in_words().replace('\n', ""));
        text += "\n## Medians\n\n| load | contender | tps | latency, ms | failed | clients that gave up | Raid, times as fast |\n";
        text += "|---|---|---:|---:|---:|---:|---:|\n";
        for line in self.summarize() {
            let Summary { load, contender, tps_median, latency_ms_average_median, aborted_clients, raid_ratio, .. } =
                &line;
            let ratio = raid_ratio.map_or_else(String::new, |ratio| ratio.to_string());
            text += &format!(
                "| {} | {contender} | {tps_median:.0} | {latency_ms_average_median:.3} | {} | {aborted_clients} | {ratio} |\n",
                self.name_of(load),
                line.failed_in_words()
            );
        }
        let verdicts = self.verdicts();
        if !verdicts.is_empty() {
            text += "\n## Targets\n\n| what | measured (least to greatest) | target | |\n|---|---:|---:|---|\n";
        }
        for verdict in verdicts {
            let Verdict { what, bound, measured, .. } = &verdict;
            text += &format!("| {what} | {measured} | {bound} | {} |\n", verdict.in_words());
        }
        text += "\n## Runs\n\n| round | fdatasync, us | load | contender | tps | latency, ms | failed | clients that gave up |\n";
        text += "|---:|---:|---|---|---:|---:|---:|---:|\n";
        for Run { round, load, contender, sync_us, figures } in &self.runs {
            let Figures { tps, latency_ms_average, failed, aborted_clients, .. } = figures;
            text += &format!(
                "| {round} | {sync_us} | {} | {contender} | {tps:.0} | {latency_ms_average:.3} | {failed} | {aborted_clients} |\n",
                self.name_of(load)
            );
        }
        text
    }

    fn name_of(&self, key: &str) -> &str {
        self.loads.iter().find(|load| load.key == key).map_or("", |load| &load.name)
    }

    fn findings_in_words(&self) -> String {
        let sums = if self.audited {
            "the sums were audited at every server"
        } else {
            "the comparison ended early, and the sums were not audited"
        };
        match &self.findings[..] {
            [] => format!("every reported transaction is booked once; {sums}, and nothing was found"),
            findings => format!("THEY DO NOT BALANCE ({sums}): {}", findings.join("; ")),
        }
    }
}
