//! Families of metrics, and Prometheus' text format of them (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use metrics::{BUCKETS, LatencyHistogram, bound_nanoseconds};
use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

const NANOSECONDS: f64 = 1e9;

/// Labels of a sample: names and values.
pub type LabelValues = Vec<(&'static str, String)>;

/// Metrics at one moment, in the order in which they were given.
#[derive(Debug, Default)]
pub struct Exposition(Vec<MetricFamily>);

impl Exposition {
    /// Something that only grows. `name` ends in `_total`.
    pub fn counters(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (LabelValues, f64)>) {
        let sample = |(labels, value)| {
            let (mut metric, mut counter) = (labelled(labels), Counter::default());
            counter.set_value(value);
            metric.set_counter(counter);
            metric
        };
        self.family(name, help, MetricType::COUNTER, samples.into_iter().map(sample).collect());
    }

    /// Something that goes up and down.
    pub fn gauges(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (LabelValues, f64)>) {
        let sample = |(labels, value)| {
            let (mut metric, mut gauge) = (labelled(labels), Gauge::default());
            gauge.set_value(value);
            metric.set_gauge(gauge);
            metric
        };
        self.family(name, help, MetricType::GAUGE, samples.into_iter().map(sample).collect());
    }

    /// How long things took. `name` ends in `_seconds`.
    pub fn latencies<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (LabelValues, &'a LatencyHistogram)>,
    ) {
        let sample = |(labels, latencies): (LabelValues, &LatencyHistogram)| {
            let mut metric = labelled(labels);
            metric.set_histogram(histogram(latencies));
            metric
        };
        self.family(name, help, MetricType::HISTOGRAM, samples.into_iter().map(sample).collect());
    }

    /// One that only grows, without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.counters(name, help, [(LabelValues::new(), value)]);
    }

    /// One that goes up and down, without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.gauges(name, help, [(LabelValues::new(), value)]);
    }

    /// A family that has no samples is left out: there is nothing to tell.
    fn family(&mut self, name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) {
        if metrics.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(metrics);
        self.0.push(family);
    }

    /// Name, kind and help of each family.
    pub fn families(&self) -> impl Iterator<Item = (&str, &'static str, &str)> {
        self.0.iter().map(|family| {
            let kind = match family.get_field_type() {
                MetricType::COUNTER => "counter",
                MetricType::HISTOGRAM => "histogram",
                _ => "gauge",
            };
            (family.name(), kind, family.help())
        })
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        TextEncoder::new().encode_to_string(&self.0).expect("every family has a name and a sample")
    }
}

fn labelled(labels: LabelValues) -> Metric {
    let pair = |(name, value): (&str, String)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.to_owned());
        pair.set_value(value);
        pair
    };
    Metric::from_label(labels.into_iter().map(pair).collect())
}

fn histogram(latencies: &LatencyHistogram) -> Histogram {
    let mut below = 0;
    let buckets = (0..BUCKETS).filter_map(|number| {
        below += latencies.buckets()[number];
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound_nanoseconds(number)? as f64 / NANOSECONDS);
        bucket.set_cumulative_count(below);
        Some(bucket)
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(latencies.count());
    histogram.set_sample_sum(latencies.nanoseconds() as f64 / NANOSECONDS);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scraper would read nothing, or a quantile that is computed of buckets would be wrong.
    #[test]
    fn every_kind_is_text_that_prometheus_reads() {
        let mut latencies = LatencyHistogram::default();
        latencies.observe(5_000);
        latencies.observe(u64::MAX >> 20);
        let mut exposition = Exposition::default();
        exposition.counter("raid_things_total", "Things.", 3.0);
        exposition.gauges("raid_states", "By \"state\".", [(vec![("state", "a \"b\"\n".to_owned())], 1.5)]);
        exposition.latencies("raid_wait_seconds", "Waits.", [(vec![("kind", "x".to_owned())], &latencies)]);
        exposition.gauges("raid_nothing", "Nobody has one.", []);
        let text = exposition.text();
        for line in [
            "# HELP raid_things_total Things.",
            "# TYPE raid_things_total counter",
            "raid_things_total 3",
            "raid_states{state=\"a \\\"b\\\"\\n\"} 1.5",
            "# TYPE raid_wait_seconds histogram",
            "raid_wait_seconds_bucket{kind=\"x\",le=\"0.000004096\"} 0",
            "raid_wait_seconds_bucket{kind=\"x\",le=\"0.000008192\"} 1",
            "raid_wait_seconds_bucket{kind=\"x\",le=\"+Inf\"} 2",
            "raid_wait_seconds_count{kind=\"x\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("raid_nothing"));
        assert_eq!(
            exposition.families().map(|(_, kind, _)| kind).collect::<Vec<_>>(),
            ["counter", "gauge", "histogram"]
        );
    }
}
