//! Who asks the sites: each one once a second, for all pages together.
//!
//! Invariant: a site that does not answer delays nobody, and costs at most one connection at a time. Times are the console's own.

use crate::ask::get;
use crate::cluster_file::ShownSite;
use crate::exposition_text;
use crate::figures::{FIGURES, KindFigures, SiteFigures, SiteReading, figures, kinds};
use crate::history::{SampleHistory, number_of};
use crate::limits::POLL_INTERVAL;
use crate::site_view::SiteView;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Readings of which kinds of statements are told: about ten seconds.
const KIND_READINGS: usize = 11;

/// What there is to show.
#[derive(Debug)]
pub(crate) struct ShownCluster {
    /// The sites, by number.
    pub(crate) sites: BTreeMap<u16, ShownSite>,
    /// The hour.
    pub(crate) history: Mutex<SampleHistory>,
    /// The last sample, as pages get it; empty before there is one.
    pub(crate) newest: watch::Sender<Arc<str>>,
    /// The last state of each site that has answered.
    views: Mutex<BTreeMap<u16, SiteView>>,
}

impl ShownCluster {
    /// Before anybody was asked.
    pub(crate) fn new(sites: BTreeMap<u16, ShownSite>) -> ShownCluster {
        let newest = watch::Sender::new(Arc::from(""));
        ShownCluster { sites, history: Mutex::default(), newest, views: Mutex::default() }
    }

    /// What has been kept, as `/api/history` tells it.
    pub(crate) fn columns(&self, count: usize) -> Value {
        let numbers: Vec<u16> = self.sites.keys().copied().collect();
        self.history.lock().unwrap_or_else(PoisonError::into_inner).columns(&numbers, count)
    }

    /// What a site was like when it answered last.
    pub(crate) fn view(&self, site: u16) -> Option<SiteView> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).get(&site).cloned()
    }
}

/// One site in a sample.
#[derive(Serialize)]
struct SiteSample<'a> {
    site: u16,
    console: String,
    sql: Option<String>,
    answers: bool,
    failure: Option<&'a str>,
    silent_ms: u64,
    view: Option<&'a SiteView>,
    figures: Map<String, Value>,
    sessions: BTreeMap<&'a str, f64>,
    kinds: BTreeMap<String, KindFigures>,
}

/// What is known of a site from one question to the next.
#[derive(Debug, Default)]
struct WatchedSite {
    readings: VecDeque<SiteReading>,
    failure: Option<String>,
}

/// Asks until it is dropped.
pub(crate) async fn poll(cluster: Arc<ShownCluster>) {
    let mut watched: Vec<(u16, ShownSite, WatchedSite)> =
        cluster.sites.iter().map(|(number, site)| (*number, *site, WatchedSite::default())).collect();
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let answers = futures::future::join_all(watched.iter().map(|(number, site, _)| read(*number, *site))).await;
        let taken: Vec<Option<SiteFigures>> =
            watched.iter_mut().zip(answers).map(|((_, _, watched), answer)| watched.take(answer)).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        tell(&cluster, &watched, &taken, now);
    }
}

/// State and counts of a site. Without counts it is still shown.
async fn read(number: u16, site: ShownSite) -> Result<SiteReading, String> {
    let (status, metrics) = tokio::join!(get(site.console, "/status"), get(site.console, "/metrics"));
    let view = SiteView::read(&status?)?;
    if view.site != number {
        return Err(format!("{} is the console of site {}", site.console, view.site));
    }
    let measures = metrics.ok().map(|text| exposition_text::read(&text));
    Ok(SiteReading { at: Instant::now(), view, measures })
}

impl WatchedSite {
    fn take(&mut self, answer: Result<SiteReading, String>) -> Option<SiteFigures> {
        match answer {
            Ok(reading) => {
                let before = self.readings.back().filter(|_| self.failure.is_none());
                let figures = figures(before, &reading);
                self.failure = None;
                if self.readings.len() == KIND_READINGS {
                    self.readings.pop_front();
                }
                self.readings.push_back(reading);
                Some(figures)
            }
            Err(failure) => {
                self.failure = Some(failure);
                None
            }
        }
    }

    fn shown(&self, number: u16, site: ShownSite, figures: Option<&SiteFigures>) -> SiteSample<'_> {
        let last = self.readings.back();
        let answers = self.failure.is_none();
        let kinds = match (self.readings.front(), last) {
            (Some(first), Some(last)) if answers => kinds(first, last),
            _ => BTreeMap::new(),
        };
        let sessions = last.filter(|_| answers).and_then(|reading| reading.measures.as_ref());
        SiteSample {
            site: number,
            console: site.console.to_string(),
            sql: site.sql.map(|address| address.to_string()),
            answers,
            failure: self.failure.as_deref(),
            silent_ms: last.filter(|_| !answers).map_or(0, |reading| reading.at.elapsed().as_millis() as u64),
            view: last.map(|reading| &reading.view),
            figures: figures.map(named).unwrap_or_default(),
            sessions: sessions
                .iter()
                .flat_map(|all| &all.sessions)
                .map(|(state, count)| (state.as_str(), *count))
                .collect(),
            kinds,
        }
    }
}

fn named(figures: &SiteFigures) -> Map<String, Value> {
    let fixed = FIGURES.iter().zip(figures.values).map(|(name, value)| ((*name).to_owned(), number_of(value)));
    fixed.chain(figures.labelled.iter().map(|(label, value)| (label.clone(), number_of(*value)))).collect()
}

fn tell(
    cluster: &ShownCluster,
    watched: &[(u16, ShownSite, WatchedSite)],
    taken: &[Option<SiteFigures>],
    time_ms: u64,
) {
    cluster.history.lock().unwrap_or_else(PoisonError::into_inner).add(time_ms, taken);
    let shown = watched.iter().zip(taken);
    let shown: Vec<SiteSample<'_>> =
        shown.map(|((number, site, watched), figures)| watched.shown(*number, *site, figures.as_ref())).collect();
    let sample = json!({ "time_ms": time_ms, "sites": shown });
    let mut views = cluster.views.lock().unwrap_or_else(PoisonError::into_inner);
    for (number, _, watched) in watched {
        if let Some(reading) = watched.readings.back() {
            views.insert(*number, reading.view.clone());
        }
    }
    drop(views);
    cluster.newest.send_replace(Arc::from(sample.to_string()));
}
