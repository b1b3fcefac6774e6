//! An hour of samples of all sites, in a ring.
//!
//! Invariant: it takes at most [`BYTES_MAX`], however many sites answer with whatever.

use crate::figures::{FIGURES, SiteFigures};
use crate::limits::{HISTORY_BYTES_MAX, LABELLED_MAX, LABELS_MAX, SAMPLES_MAX, SITES_MAX};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// What all samples take at most.
const BYTES_MAX: usize =
    SAMPLES_MAX * (SITES_MAX * (size_of::<KeptFigures>() + LABELLED_MAX * size_of::<(u8, f32)>()) + 64);

const _: () = assert!(BYTES_MAX <= HISTORY_BYTES_MAX);

/// One site at one moment.
#[derive(Debug)]
struct KeptFigures {
    values: [f32; FIGURES.len()],
    labelled: Box<[(u8, f32)]>,
}

/// All sites at one moment, in their order; `None`: the site did not answer.
#[derive(Debug)]
struct KeptSample {
    time_ms: u64,
    sites: Box<[Option<KeptFigures>]>,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct SampleHistory {
    samples: VecDeque<KeptSample>,
    labels: Vec<String>,
}

impl SampleHistory {
    /// Adds a moment, and forgets the one an hour before it.
    pub(crate) fn add(&mut self, time_ms: u64, sites: &[Option<SiteFigures>]) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        let kept = sites.iter().take(SITES_MAX).map(|site| site.as_ref().map(|figures| self.kept(figures))).collect();
        self.samples.push_back(KeptSample { time_ms, sites: kept });
    }

    fn kept(&mut self, figures: &SiteFigures) -> KeptFigures {
        let labelled = figures.labelled.iter().take(LABELLED_MAX);
        let labelled = labelled.filter_map(|(label, value)| Some((self.number(label)?, *value))).collect();
        KeptFigures { values: figures.values, labelled }
    }

    fn number(&mut self, label: &str) -> Option<u8> {
        let known = self.labels.iter().position(|known| known == label);
        let number = known.or_else(|| {
            (self.labels.len() < LABELS_MAX).then(|| {
                self.labels.push(label.to_owned());
                self.labels.len() - 1
            })
        });
        number.and_then(|number| u8::try_from(number).ok())
    }

    /// The last so many samples by columns: `times`, and below each site's number a list for each figure.
    pub(crate) fn columns(&self, numbers: &[u16], count: usize) -> Value {
        let skipped = self.samples.len().saturating_sub(count);
        let samples = || self.samples.iter().skip(skipped);
        let mut sites = Map::new();
        for (place, number) in numbers.iter().enumerate() {
            let of_site = |sample: &'_ KeptSample| -> Option<usize> {
                sample.sites.get(place).and_then(Option::as_ref).map(|_| place)
            };
            let mut columns = Map::new();
            for (index, name) in FIGURES.iter().enumerate() {
                let column = samples().map(|sample| match of_site(sample) {
                    Some(place) => {
                        sample.sites[place].as_ref().map_or(Value::Null, |kept| number_of(kept.values[index]))
                    }
                    None => Value::Null,
                });
                columns.insert((*name).to_owned(), column.collect());
            }
            columns.extend(self.labelled_columns(place, skipped));
            sites.insert(number.to_string(), Value::Object(columns));
        }
        let times: Vec<u64> = samples().map(|sample| sample.time_ms).collect();
        json!({ "times": times, "sites": sites })
    }

    fn labelled_columns(&self, place: usize, skipped: usize) -> BTreeMap<String, Value> {
        let length = self.samples.len() - skipped;
        let mut columns: BTreeMap<u8, Vec<Value>> = BTreeMap::new();
        for (row, sample) in self.samples.iter().skip(skipped).enumerate() {
            let Some(Some(kept)) = sample.sites.get(place) else { continue };
            for (label, value) in &kept.labelled {
                columns.entry(*label).or_insert_with(|| vec![Value::Null; length])[row] = number_of(*value);
            }
        }
        let named = |(label, column): (u8, Vec<Value>)| (self.labels[usize::from(label)].clone(), Value::Array(column));
        columns.into_iter().map(named).collect()
    }
}

/// With at most three digits behind the point: nobody sees more, and it would be the most of what is sent.
pub(crate) fn number_of(value: f32) -> Value {
    let rounded = (f64::from(value) * 1e3).round() / 1e3;
    match rounded.is_finite() {
        true if rounded.fract() == 0.0 && rounded.abs() < 9e15 => json!(rounded as i64),
        true => json!(rounded),
        false => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(value: f32, label: &str) -> SiteFigures {
        SiteFigures { values: [value; FIGURES.len()], labelled: vec![(label.to_owned(), 2.5)] }
    }

    /// A chart would show a figure at another time or of another site, or a line where a site was silent.
    #[test]
    fn columns_have_a_place_for_every_moment() {
        let mut history = SampleHistory::default();
        history.add(1_000, &[Some(figures(1.0, "kind:a")), None]);
        history.add(2_000, &[None, Some(figures(f32::NAN, "kind:b"))]);
        let all = history.columns(&[1, 7], 10);
        assert_eq!(all["times"], json!([1_000, 2_000]));
        assert_eq!(all["sites"]["1"]["commits"], json!([1, null]));
        assert_eq!(all["sites"]["7"]["commits"], json!([null, null]));
        assert_eq!(all["sites"]["7"]["kind:b"], json!([null, 2.5]));
        assert!(all["sites"]["1"].get("kind:b").is_none());
        assert_eq!(history.columns(&[1, 7], 1)["times"], json!([2_000]));
    }

    /// A console that runs for weeks, or meets a site that invents names, would grow without end.
    #[test]
    fn it_keeps_an_hour_and_so_many_names() {
        let mut history = SampleHistory::default();
        for n in 0..SAMPLES_MAX as u64 + 10 {
            history.add(n, &[Some(figures(0.5, &format!("kind:{n}")))]);
        }
        assert_eq!((history.samples.len(), history.samples[0].time_ms), (SAMPLES_MAX, 10));
        assert_eq!(history.labels.len(), LABELS_MAX);
    }
}
