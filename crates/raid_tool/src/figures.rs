//! What two answers of a site say together: rates, and how long things took between them.
//!
//! Invariant: a counter that began anew between the two, because the process or the life did, has no rate. No rate is negative.

use crate::exposition_text::{CumulativeLatencies, SiteMeasures};
use crate::site_view::SiteView;
use std::collections::BTreeMap;
use std::time::Instant;

/// Names of the figures of a sample, in their order in [`SiteFigures::values`]. Rates are per second, latencies in milliseconds.
pub(crate) const FIGURES: [&str; 22] = [
    "commits",
    "transactions",
    "statements",
    "statement_p50",
    "statement_p99",
    "commit_p50",
    "commit_p99",
    "aborts",
    "fail_locks",
    "stale",
    "lease_left",
    "messages_in",
    "messages_out",
    "log_bytes",
    "syncs",
    "sync_ms",
    "resident",
    "row_bytes",
    "clients",
    "processor",
    "unsynced",
    "epoch",
];

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct SiteReading {
    /// When it came.
    pub(crate) at: Instant,
    /// The state.
    pub(crate) view: SiteView,
    /// What is counted; `None`: the site did not tell.
    pub(crate) measures: Option<SiteMeasures>,
}

/// What charts show of one site at one moment. A figure that is not known is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SiteFigures {
    /// One for each of [`FIGURES`].
    pub(crate) values: [f32; FIGURES.len()],
    /// Rates by server (`server:`), cause of an abort (`cause:`) and kind of statement (`kind:`), those that are not 0.
    pub(crate) labelled: Vec<(String, f32)>,
}

/// How a kind of statement has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct KindFigures {
    /// A second.
    pub(crate) rate: f64,
    /// The median, in milliseconds.
    pub(crate) p50: Option<f64>,
    /// 99 percent took at most so many milliseconds.
    pub(crate) p99: Option<f64>,
    /// The mean, in milliseconds.
    pub(crate) mean: Option<f64>,
    /// Milliseconds of a second in which clients waited for statements of this kind, all of them together.
    pub(crate) busy_ms: f64,
}

/// Whether all counters of both belong together.
fn same_life(before: &SiteReading, now: &SiteReading) -> bool {
    let started = |reading: &SiteReading| reading.measures.as_ref().map(|measures| measures.started);
    before.view.incarnation == now.view.incarnation && started(before) == started(now)
}

/// The figures of `now`, with rates since `before`.
pub(crate) fn figures(before: Option<&SiteReading>, now: &SiteReading) -> SiteFigures {
    let before = before.filter(|before| same_life(before, now) && now.at > before.at);
    let mut result = SiteFigures { values: [f32::NAN; FIGURES.len()], labelled: Vec::new() };
    gauges(&mut result, &now.view);
    if let Some(before) = before {
        let seconds = (now.at - before.at).as_secs_f64();
        life_rates(&mut result, &before.view, &now.view, seconds);
        if let (Some(before), Some(now)) = (&before.measures, &now.measures) {
            process_rates(&mut result, before, now, seconds);
        }
    }
    result
}

fn set(result: &mut SiteFigures, name: &str, value: Option<f64>) {
    if let (Some(index), Some(value)) = (FIGURES.iter().position(|known| *known == name), value) {
        result.values[index] = value as f32;
    }
}

fn gauges(result: &mut SiteFigures, view: &SiteView) {
    set(result, "fail_locks", Some(view.fail_locks.values().map(|count| *count as f64).sum()));
    set(result, "stale", Some(view.stale as f64));
    let least = view.leases_left_us.values().min();
    set(result, "lease_left", least.map(|us| *us as f64 / 1e3));
    set(result, "resident", Some(view.memory.resident_bytes as f64));
    set(result, "row_bytes", Some(view.memory.row_bytes as f64));
    set(result, "clients", Some(view.clients as f64));
    set(result, "unsynced", Some(view.unsynced_commits as f64));
    set(result, "epoch", (view.epoch > 0).then_some(view.epoch as f64));
}

fn grown(before: f64, now: f64) -> Option<f64> {
    (now >= before).then_some(now - before)
}

fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    Some(now.checked_sub(before)? as f64 / seconds)
}

fn life_rates(result: &mut SiteFigures, before: &SiteView, now: &SiteView, seconds: f64) {
    set(result, "commits", rate(before.commits.committed, now.commits.committed, seconds));
    let frames = |view: &SiteView, of: fn(&crate::site_view::PeerView) -> u64| {
        view.peers.iter().fold(0_u64, |sum, peer| sum.saturating_add(of(peer)))
    };
    set(
        result,
        "messages_in",
        rate(frames(before, |peer| peer.frames_in), frames(now, |peer| peer.frames_in), seconds),
    );
    set(
        result,
        "messages_out",
        rate(frames(before, |peer| peer.frames_out), frames(now, |peer| peer.frames_out), seconds),
    );
    set(result, "log_bytes", rate(before.log.bytes_appended, now.log.bytes_appended, seconds));
    set(result, "syncs", rate(before.log.syncs, now.log.syncs, seconds));
    let took = now.log.sync_latency_us_total.checked_sub(before.log.sync_latency_us_total);
    let syncs = now.log.syncs.checked_sub(before.log.syncs).filter(|syncs| *syncs > 0);
    set(result, "sync_ms", took.zip(syncs).map(|(took, syncs)| took as f64 / syncs as f64 / 1e3));
    for server in &now.servers {
        let earlier = before.servers.iter().find(|earlier| earlier.server == server.server);
        let rate = earlier.and_then(|earlier| rate(earlier.messages, server.messages, seconds));
        label(result, "server", &server.server, rate);
    }
}

fn label(result: &mut SiteFigures, family: &str, name: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|value| *value > 0.0)
        && result.labelled.len() < crate::limits::LABELLED_MAX
    {
        result.labelled.push((format!("{family}:{name}"), value as f32));
    }
}

fn process_rates(result: &mut SiteFigures, before: &SiteMeasures, now: &SiteMeasures, seconds: f64) {
    set(result, "processor", grown(before.processor, now.processor).map(|used| 100.0 * used / seconds));
    set(result, "transactions", grown(before.committed, now.committed).map(|more| more / seconds));
    let sum = |causes: &BTreeMap<String, f64>| causes.values().sum::<f64>();
    set(result, "aborts", grown(sum(&before.aborted), sum(&now.aborted)).map(|more| more / seconds));
    for (cause, count) in &now.aborted {
        let earlier = before.aborted.get(cause).copied().unwrap_or_default();
        label(result, "cause", cause, grown(earlier, *count).map(|more| more / seconds));
    }
    let mut all = BTreeMap::new();
    for (kind, latencies) in &now.statements {
        let more = between(before.statements.get(kind), latencies);
        label(result, "kind", kind, more.as_ref().map(|more| more.count() / seconds));
        more.iter()
            .flat_map(|more| &more.below)
            .for_each(|(bound, count)| *all.entry(bound.to_bits()).or_default() += count);
    }
    // Bounds are positive, so their bits have their order.
    let all = LatencyDifference {
        below: all.into_iter().map(|(bits, count)| (f64::from_bits(bits), count)).collect(),
        sum: 0.0,
    };
    set(result, "statements", Some(all.count() / seconds));
    set(result, "statement_p50", all.quantile_ms(0.5));
    set(result, "statement_p99", all.quantile_ms(0.99));
    if let Some(commits) = between(Some(&before.commits), &now.commits) {
        set(result, "commit_p50", commits.quantile_ms(0.5));
        set(result, "commit_p99", commits.quantile_ms(0.99));
    }
}

/// How each kind of statement has done since `before`; those of which there were none are left out.
pub(crate) fn kinds(before: &SiteReading, now: &SiteReading) -> BTreeMap<String, KindFigures> {
    let (Some(earlier), Some(later)) = (&before.measures, &now.measures) else { return BTreeMap::new() };
    if earlier.started != later.started || now.at <= before.at {
        return BTreeMap::new();
    }
    let seconds = (now.at - before.at).as_secs_f64();
    let one = |(kind, latencies): (&String, &CumulativeLatencies)| {
        let more = between(earlier.statements.get(kind), latencies).filter(|more| more.count() > 0.0)?;
        let figures = KindFigures {
            rate: more.count() / seconds,
            p50: more.quantile_ms(0.5),
            p99: more.quantile_ms(0.99),
            mean: Some(1e3 * more.sum / more.count()),
            busy_ms: 1e3 * more.sum / seconds,
        };
        Some((kind.clone(), figures))
    };
    later.statements.iter().filter_map(one).collect()
}

/// What was observed between two moments, cumulative by seconds.
struct LatencyDifference {
    below: Vec<(f64, f64)>,
    sum: f64,
}

/// `None`: it began anew.
fn between(before: Option<&CumulativeLatencies>, now: &CumulativeLatencies) -> Option<LatencyDifference> {
    let earlier = |bound: f64| {
        let all = before.map(|before| before.below.as_slice()).unwrap_or_default();
        all.iter().find(|(known, _)| *known == bound).map_or(0.0, |(_, count)| *count)
    };
    let difference = |(bound, count): &(f64, f64)| Some((*bound, grown(earlier(*bound), *count)?));
    let below = now.below.iter().map(difference).collect::<Option<Vec<_>>>()?;
    Some(LatencyDifference { below, sum: grown(before.map_or(0.0, |before| before.sum), now.sum)? })
}

impl LatencyDifference {
    fn count(&self) -> f64 {
        self.below.last().map_or(0.0, |(_, count)| *count)
    }

    /// So many milliseconds are not passed by this share; between two bounds it is taken for even. `None`: nothing was observed.
    fn quantile_ms(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count();
        if wanted <= 0.0 {
            return None;
        }
        let mut lower = (0.0, 0.0);
        for (bound, count) in &self.below {
            if *count >= wanted {
                // Nobody knows how far beyond the last bound it was.
                let seconds = match bound.is_finite() && *count > lower.1 {
                    true => lower.0 + (bound - lower.0) * (wanted - lower.1) / (count - lower.1),
                    false => lower.0,
                };
                return Some(1e3 * seconds);
            }
            lower = (*bound, *count);
        }
        Some(1e3 * lower.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn latencies(below: &[(f64, f64)]) -> CumulativeLatencies {
        CumulativeLatencies { below: below.to_vec(), sum: 1.0 }
    }

    fn reading(at: Instant, incarnation: u32, committed: u64, measures: SiteMeasures) -> SiteReading {
        let mut view = SiteView { incarnation, ..SiteView::default() };
        view.commits.committed = committed;
        SiteReading { at, view, measures: Some(measures) }
    }

    fn of(figures: &SiteFigures, name: &str) -> f32 {
        figures.values[FIGURES.iter().position(|known| *known == name).expect("it is a figure")]
    }

    /// A chart would show a huge negative rate, or a made-up one, whenever a site came back.
    #[test]
    fn counters_that_begin_anew_have_no_rate() {
        let begin = Instant::now();
        let later = begin + Duration::from_secs(2);
        let measures = |started, processor| SiteMeasures { started, processor, ..SiteMeasures::default() };
        let before = reading(begin, 1, 100, measures(5.0, 1.0));
        let same = figures(Some(&before), &reading(later, 1, 140, measures(5.0, 1.5)));
        assert_eq!((of(&same, "commits"), of(&same, "processor")), (20.0, 25.0));
        let anew = figures(Some(&before), &reading(later, 2, 140, measures(5.0, 1.5)));
        assert!(of(&anew, "commits").is_nan() && of(&anew, "processor").is_nan());
        let other = figures(Some(&before), &reading(later, 1, 140, measures(6.0, 1.5)));
        assert!(of(&other, "commits").is_nan());
        let fewer = figures(Some(&before), &reading(later, 1, 90, measures(5.0, 0.5)));
        assert!(of(&fewer, "commits").is_nan() && of(&fewer, "processor").is_nan());
        assert!(of(&figures(None, &before), "commits").is_nan());
        assert!(of(&figures(Some(&before), &before), "commits").is_nan(), "no time has passed");
    }

    /// Medians would be those of the site's whole life, or of another bucket.
    #[test]
    fn quantiles_are_of_what_came_between() {
        let before = latencies(&[(0.001, 100.0), (0.002, 100.0), (f64::INFINITY, 100.0)]);
        let now = latencies(&[(0.001, 100.0), (0.002, 110.0), (f64::INFINITY, 120.0)]);
        let more = between(Some(&before), &now).expect("it goes on");
        assert_eq!((more.count(), more.quantile_ms(0.25), more.quantile_ms(0.99)), (20.0, Some(1.5), Some(2.0)));
        assert_eq!(between(Some(&now), &now).expect("it goes on").quantile_ms(0.5), None);
        assert!(between(Some(&now), &before).is_none());
        assert_eq!(between(None, &latencies(&[])).expect("nothing came").quantile_ms(0.5), None);
    }
}
