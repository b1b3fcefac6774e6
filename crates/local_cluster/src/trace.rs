//! Traces read offline: messages and time of each server for a transaction, as the papers' figures have them, and the course of one transaction.
//!
//! Source: "Communication in the Raid distributed database system" (1991), its logging facility; "Raid distributed database system" (1989),
//! section III.C, messages of a transaction.

use crate::limits::TRACE_FILE_SUFFIX;
use messages::trace::{Happened, TraceError, Traced, decode};
use messages::{ServerKind, SiteId, TransactionId};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why traces cannot be shown.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// It is none.
    #[error("{path}: {source}")]
    Trace {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        source: TraceError,
    },
    /// There are none.
    #[error(
        "no traces below {0}: set RAID_TRACE=all in the environment of `raid start` or `raid site`, and run a load"
    )]
    None(PathBuf),
}

/// Events of several sites, in the order of time.
#[derive(Debug, Default)]
pub struct Trace {
    events: Vec<Traced>,
    /// Files whose last record is cut off.
    cut: usize,
}

/// The traces of all sites below a folder.
///
/// # Errors
/// The folder cannot be read, or there are none in it.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, TraceFileError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| TraceFileError::File { path, source }
    };
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(error(&folder))? {
            let path = entry.map_err(error(&folder))?.path();
            if path.to_string_lossy().ends_with(TRACE_FILE_SUFFIX) {
                files.push(path);
            } else if path.is_dir() && folders.len() < crate::limits::TRACE_FOLDERS_MAX {
                folders.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() { Err(TraceFileError::None(folder.to_owned())) } else { Ok(files) }
}

impl Trace {
    /// Reads files.
    ///
    /// # Errors
    /// One of them cannot be read, or is no trace.
    pub fn read(files: &[PathBuf]) -> Result<Trace, TraceFileError> {
        let mut trace = Trace::default();
        for path in files {
            let bytes = std::fs::read(path).map_err(|source| TraceFileError::File { path: path.clone(), source })?;
            let (events, cut) =
                decode(&bytes).map_err(|source| TraceFileError::Trace { path: path.clone(), source })?;
            trace.events.extend(events);
            trace.cut += usize::from(cut);
        }
        trace.events.sort_by_key(|event| event.at);
        Ok(trace)
    }

    /// Messages and time for a committed transaction, by server and by message.
    pub fn summary(&self) -> String {
        let commits = self.events.iter().filter(|event| is_commit(event)).count();
        let mut text = String::new();
        let (Some(first), Some(last)) = (self.events.first(), self.events.last()) else {
            return "The traces are empty.\n".to_owned();
        };
        let seconds = (last.at - first.at) as f64 / 1e9;
        say(
            &mut text,
            format_args!("{} events in {seconds:.1} s, {commits} transactions committed.", self.events.len()),
        );
        if self.cut > 0 {
            say(&mut text, format_args!("The last record of {} files is cut off and left out.", self.cut));
        }
        let of = |figure: f64| figure / commits.max(1) as f64;
        if commits == 0 {
            say(&mut text, format_args!("No commit was traced (CommitReply.Committed): figures are totals."));
        }
        self.servers(&mut text, &of);
        self.messages(&mut text, &of);
        self.crossings(&mut text);
        text
    }

    fn servers(&self, text: &mut String, of: &dyn Fn(f64) -> f64) {
        let mut servers: BTreeMap<ServerKind, (u64, u64, u64)> = BTreeMap::new();
        for event in &self.events {
            let Happened::Handled { took } = event.happened else { continue };
            let server = servers.entry(event.to.1).or_default();
            server.0 += 1;
            server.1 += u64::from(event.from.0 != event.to.0);
            server.2 += took;
        }
        let total: u64 = servers.values().map(|server| server.2).sum();
        let header =
            format!("{:<26}{:>12}{:>18}{:>12}{:>8}", "server, all sites", "messages", "of other sites", "us", "share");
        say(text, format_args!("\nFor each committed transaction:\n{header}"));
        for (server, (messages, foreign, took)) in servers {
            let share = 100.0 * took as f64 / total.max(1) as f64;
            let (messages, foreign, took) = (of(messages as f64), of(foreign as f64), of(took as f64 / 1e3));
            say(text, format_args!("{:<26}{messages:>12.2}{foreign:>18.2}{took:>12.2}{share:>7.0}%", server.name()));
        }
        say(text, format_args!("{:<26}{:>12}{:>18}{:>12.2}", "together", "", "", of(total as f64 / 1e3)));
    }

    fn messages(&self, text: &mut String, of: &dyn Fn(f64) -> f64) {
        let mut kinds: BTreeMap<(bool, ServerKind, ServerKind, &str), Vec<u64>> = BTreeMap::new();
        for event in &self.events {
            if let Happened::Handled { took } = event.happened {
                let crossing = event.from.0 != event.to.0;
                kinds.entry((crossing, event.from.1, event.to.1, &event.name)).or_default().push(took);
            }
        }
        let mut rows: Vec<_> = kinds.into_iter().collect();
        rows.sort_by_key(|(_, took)| std::cmp::Reverse(took.iter().sum::<u64>()));
        let header = format!("{:<58}{:>10}{:>12}{:>12}{:>12}", "message", "count", "median us", "99% us", "longest us");
        say(text, format_args!("\n{header}"));
        for ((crossing, from, to, name), mut took) in rows {
            let (median, high) = (percentile(&mut took, 50), percentile(&mut took, 99));
            let between = if crossing { ", between sites" } else { "" };
            let message = format!("{name}, {} to {}{between}", short(from), short(to));
            let count = of(took.len() as f64);
            let longest = percentile(&mut took, 100);
            say(text, format_args!("{message:<58}{count:>10.2}{median:>12.2}{high:>12.2}{longest:>12.2}"));
        }
    }

    /// How long messages are under way between sites, as far as both ends of them were traced on one host.
    fn crossings(&self, text: &mut String) {
        type Crossing<'a> = (SiteId, SiteId, &'a str, TransactionId);
        let mut sent: BTreeMap<Crossing<'_>, u64> = BTreeMap::new();
        let mut under_way: BTreeMap<(SiteId, SiteId), Vec<u64>> = BTreeMap::new();
        for event in &self.events {
            let Some(transaction) = event.transaction else { continue };
            let crossing = (event.from.0, event.to.0, event.name.as_str(), transaction);
            match event.happened {
                // Sent again: the one that arrived may have been either.
                Happened::Sent => drop(sent.insert(crossing, event.at)),
                Happened::Handled { .. } if event.from.0 != event.to.0 => {
                    if let Some(at) = sent.remove(&crossing) {
                        under_way.entry((event.from.0, event.to.0)).or_default().push(event.at - at);
                    }
                }
                Happened::Handled { .. } => {}
            }
        }
        if under_way.is_empty() {
            return;
        }
        let header = format!("{:<30}{:>10}{:>12}{:>12}", "under way", "messages", "median us", "99% us");
        say(
            text,
            format_args!(
                "\nFrom leaving its site's servers to being taken at the other site, in queues and all:\n{header}"
            ),
        );
        for ((from, to), mut times) in under_way {
            let (median, high) = (percentile(&mut times, 50), percentile(&mut times, 99));
            let pair = format!("site {} to site {}", from.0, to.0);
            say(text, format_args!("{pair:<30}{:>10}{median:>12.1}{high:>12.1}", times.len()));
        }
    }

    /// The course of one transaction: `home.incarnation.sequence`.
    pub fn course(&self, transaction: &str) -> String {
        let mut text = String::new();
        let named = |event: &&Traced| event.transaction.is_some_and(|named| named.to_string() == transaction);
        let mut begun = None;
        for event in self.events.iter().filter(named) {
            let begun = *begun.get_or_insert(event.at);
            let after = (event.at - begun) as f64 / 1e3;
            let what = match event.happened {
                Happened::Sent => format!("leaves for site {}", event.to.0.0),
                Happened::Handled { took } => format!("{:.2} us", took as f64 / 1e3),
            };
            let (from, to) = (short(event.from.1), short(event.to.1));
            say(
                &mut text,
                format_args!("{after:>10.1} us  site {}  {from:>2} to {to:<2}  {:<34}{what}", event.site.0, event.name),
            );
        }
        if text.is_empty() {
            return format!("No message that names transaction {transaction} was traced.\n");
        }
        text
    }

    /// Some transaction that committed, for an example.
    pub fn some_transaction(&self) -> Option<TransactionId> {
        let commits: Vec<&Traced> = self.events.iter().filter(|event| is_commit(event)).collect();
        commits.get(commits.len() / 2).and_then(|event| event.transaction)
    }
}

fn is_commit(event: &Traced) -> bool {
    event.name == "CommitReply.Committed" && matches!(event.happened, Happened::Handled { .. })
}

fn say(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes any text");
}

/// Microseconds.
fn percentile(nanoseconds: &mut [u64], percent: usize) -> f64 {
    nanoseconds.sort_unstable();
    nanoseconds[(nanoseconds.len() - 1) * percent / 100] as f64 / 1e3
}

/// The papers' names.
const fn short(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::UserInterface => "UI",
        ServerKind::Query => "QP",
        ServerKind::ActionDriver => "AD",
        ServerKind::AtomicityController => "AC",
        ServerKind::ConcurrencyController => "CC",
        ServerKind::ReplicationController => "RC",
        ServerKind::AccessManager => "AM",
        ServerKind::Oracle => "oracle",
        ServerKind::Site => "site",
        ServerKind::Console => "console",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::Incarnation;

    fn event(at: u64, site: u16, happened: Happened, from: u16, to: u16, name: &str) -> Traced {
        let transaction = TransactionId { home: SiteId(1), incarnation: Incarnation(1), sequence: 7 };
        let ac = ServerKind::AtomicityController;
        let (from, to) = ((SiteId(from), ac), (SiteId(to), ac));
        Traced { site: SiteId(site), at, happened, from, to, name: name.to_owned(), transaction: Some(transaction) }
    }

    /// A wrong division would make every figure of the table a lie.
    #[test]
    fn figures_are_for_each_committed_transaction() {
        let took = |took| Happened::Handled { took };
        let mut events = Vec::new();
        for start in [0, 1_000_000] {
            events.push(event(start, 1, Happened::Sent, 1, 2, "Commit.Prepare"));
            events.push(event(start + 30_000, 2, took(4_000), 1, 2, "Commit.Prepare"));
            events.push(event(start + 70_000, 1, took(2_000), 1, 1, "CommitReply.Committed"));
        }
        let trace = Trace { events, cut: 0 };
        let summary = trace.summary();
        let line = |start: &str| summary.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
        assert!(summary.contains("2 transactions committed"), "{summary}");
        let server = line("atomicity controller");
        assert_eq!(
            server.split_whitespace().skip(2).collect::<Vec<_>>(),
            ["2.00", "1.00", "6.00", "100%"],
            "{summary}"
        );
        assert!(line("site 1 to site 2").ends_with("30.0        30.0"), "{summary}");
        let course = trace.course("1.1.7");
        assert_eq!(course.lines().count(), 6, "{course}");
        assert_eq!(trace.some_transaction().map(|transaction| transaction.to_string()).as_deref(), Some("1.1.7"));
        assert!(trace.course("1.1.8").contains("was traced"));
    }

    #[test]
    fn no_traces_say_how_to_get_some() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = files_below(folder.path()).expect_err("there are none").to_string();
        assert!(error.contains("RAID_TRACE=all"), "{error}");
    }
}
