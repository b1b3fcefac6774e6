//! What a site counts, as far as pages show it: some of the families of `/metrics`, read from Prometheus' text format
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
//!
//! Invariant: a line that cannot be read is passed over; no text makes the reader keep more than [`LABELS_MAX`] names of a family.

use crate::limits::LABELS_MAX;
use std::collections::BTreeMap;

/// Observations of how long things took: how many were at most so long, by seconds in rising order. The last bound is infinite.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CumulativeLatencies {
    pub(crate) below: Vec<(f64, f64)>,
    pub(crate) sum: f64,
}

/// What a site has counted until now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SiteMeasures {
    /// When the process began, in seconds since 1970.
    pub(crate) started: f64,
    /// Processor time of the site's processes, in seconds.
    pub(crate) processor: f64,
    /// Transactions of clients that have committed.
    pub(crate) committed: f64,
    /// Those that have not, by cause.
    pub(crate) aborted: BTreeMap<String, f64>,
    /// Sessions by state.
    pub(crate) sessions: BTreeMap<String, f64>,
    /// Statements by kind.
    pub(crate) statements: BTreeMap<String, CumulativeLatencies>,
    /// Commits.
    pub(crate) commits: CumulativeLatencies,
}

/// Reads the families that [`SiteMeasures`] has.
pub(crate) fn read(text: &str) -> SiteMeasures {
    let mut measures = SiteMeasures::default();
    for line in text.lines().filter(|line| line.starts_with("raid_")) {
        let Some((name, labels, value)) = sample(line) else { continue };
        take(&mut measures, name, labels, value);
    }
    measures
}

fn take(measures: &mut SiteMeasures, name: &str, labels: &str, value: f64) {
    match name {
        "raid_process_start_time_seconds" => measures.started = value,
        "raid_process_cpu_seconds_total" => measures.processor += value,
        "raid_transactions_committed_total" => measures.committed = value,
        "raid_transactions_aborted_total" => add(&mut measures.aborted, label(labels, "cause"), value),
        "raid_sessions" => add(&mut measures.sessions, label(labels, "state"), value),
        "raid_commit_duration_seconds_bucket" => bucket(&mut measures.commits, labels, value),
        "raid_commit_duration_seconds_sum" => measures.commits.sum = value,
        "raid_statement_duration_seconds_bucket" => {
            if let Some(latencies) = of_kind(&mut measures.statements, labels) {
                bucket(latencies, labels, value);
            }
        }
        "raid_statement_duration_seconds_sum" => {
            if let Some(latencies) = of_kind(&mut measures.statements, labels) {
                latencies.sum = value;
            }
        }
        _ => {}
    }
}

fn add(family: &mut BTreeMap<String, f64>, label: Option<String>, value: f64) {
    if let Some(label) = label
        && (family.len() < LABELS_MAX || family.contains_key(&label))
    {
        *family.entry(label).or_default() += value;
    }
}

fn of_kind<'a>(
    family: &'a mut BTreeMap<String, CumulativeLatencies>,
    labels: &str,
) -> Option<&'a mut CumulativeLatencies> {
    let kind = label(labels, "kind")?;
    (family.len() < LABELS_MAX || family.contains_key(&kind)).then(|| family.entry(kind).or_default())
}

fn bucket(latencies: &mut CumulativeLatencies, labels: &str, value: f64) {
    let bound = match label(labels, "le").as_deref() {
        Some("+Inf") => f64::INFINITY,
        Some(text) => match text.parse::<f64>() {
            Ok(bound) => bound,
            Err(_) => return,
        },
        None => return,
    };
    let rises = latencies.below.last().is_none_or(|(last, _)| *last < bound);
    if rises && latencies.below.len() < LABELS_MAX {
        latencies.below.push((bound, value));
    }
}

/// Name, labels without their braces, and value of a line.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => rest.rsplit_once("} ")?,
        None => ("", rest.trim_start()),
    };
    let value: f64 = value.split(' ').next()?.parse().ok()?;
    value.is_finite().then_some((name, labels, value))
}

/// The value of a label, without its escapes.
fn label(labels: &str, wanted: &str) -> Option<String> {
    let mut rest = labels;
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        if name.trim_start_matches(',') == wanted {
            return Some(value);
        }
        rest = &after[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Charts would show another family's figures, or nothing.
    #[test]
    fn families_are_read_with_their_labels() {
        let text = "\
# HELP raid_sessions Sessions.
raid_process_start_time_seconds 17.5
raid_process_cpu_seconds_total{process=\"a\",mode=\"user\"} 1
raid_process_cpu_seconds_total{process=\"a\",mode=\"system\"} 2
raid_transactions_aborted_total{cause=\"a \\\"b\\\"\\n} 9\"} 3
raid_statement_duration_seconds_bucket{kind=\"select\",le=\"0.5\"} 4
raid_statement_duration_seconds_bucket{kind=\"select\",le=\"+Inf\"} 5
raid_statement_duration_seconds_sum{kind=\"select\"} 1.25
raid_sessions{state=\"idle\"} 7
";
        let measures = read(text);
        assert_eq!((measures.started, measures.processor), (17.5, 3.0));
        assert_eq!(measures.aborted, BTreeMap::from([("a \"b\"\n} 9".to_owned(), 3.0)]));
        let select = &measures.statements["select"];
        assert_eq!(select.below, [(0.5, 4.0), (f64::INFINITY, 5.0)]);
        assert_eq!((select.sum, measures.sessions["idle"]), (1.25, 7.0));
    }

    /// A peer that says nonsense would end the console, or fill its memory.
    #[test]
    fn nonsense_is_passed_over() {
        for line in [
            "raid_",
            "raid_x{",
            "raid_sessions{state=\"a} 1",
            "raid_sessions{state} 1",
            "raid_sessions{} NaN",
            "raid_é{é=\"é\\",
        ] {
            assert_eq!(read(line), SiteMeasures::default(), "{line:?}");
        }
        let many: String = (0..1_000).map(|n| format!("raid_sessions{{state=\"{n}\"}} 1\n")).collect();
        assert_eq!(read(&many).sessions.len(), LABELS_MAX);
    }
}
