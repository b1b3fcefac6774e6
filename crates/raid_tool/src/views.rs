//! What the console itself asks of all sites in SQL, for the pages that show it.
//!
//! Invariant: however many pages show a view, a site is asked for it at most once in [`VIEW_AGE_MAX`].

use crate::cluster_file::ShownSite;
use crate::limits::{VIEW_AGE_MAX, VIEW_TIME_MAX};
use crate::sql::{SqlPlace, ask};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Names of the views, and their texts.
const VIEWS: [(&str, &str); 6] = [
    (
        "contention",
        "SELECT cause, table_name, index_name, key, count, count_error_max, waited_ms, last_seen FROM raid.contention ORDER BY count DESC, cause, key",
    ),
    ("concurrency", "SELECT * FROM raid.concurrency"),
    ("advice", "SELECT * FROM raid.concurrency_advice"),
    ("switches", "SELECT * FROM raid.concurrency_switches"),
    ("facts", "SELECT * FROM raid.concurrency_facts"),
    (
        "locks",
        "SELECT pid, locktype, relation, classid, objid, mode, granted, waitstart FROM pg_locks ORDER BY granted, pid",
    ),
];

/// An answer, and when it came.
type AgedAnswer = Option<(Instant, Arc<str>)>;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct ViewDesk {
    kept: BTreeMap<&'static str, Mutex<AgedAnswer>>,
}

impl ViewDesk {
    /// Nothing was asked yet.
    pub(crate) fn new() -> ViewDesk {
        ViewDesk { kept: VIEWS.iter().map(|(name, _)| (*name, Mutex::default())).collect() }
    }

    /// The view at all sites, as JSON; `None`: there is no view of this name.
    pub(crate) async fn show(&self, name: &str, sites: &BTreeMap<u16, ShownSite>, user: &str) -> Option<Arc<str>> {
        let (name, text) = VIEWS.iter().find(|(known, _)| *known == name)?;
        // Whoever comes meanwhile waits for the same answer.
        let mut kept = self.kept.get(name)?.lock().await;
        if let Some((_, answer)) = kept.as_ref().filter(|(at, _)| at.elapsed() < VIEW_AGE_MAX) {
            return Some(answer.clone());
        }
        let answers = futures::future::join_all(sites.iter().map(|(number, site)| one(*number, *site, text, user)));
        let answer: Arc<str> = Value::Object(answers.await.into_iter().collect::<Map<_, _>>()).to_string().into();
        *kept = Some((Instant::now(), answer.clone()));
        Some(answer)
    }
}

async fn one(number: u16, site: ShownSite, text: &str, user: &str) -> (String, Value) {
    let said = match site.sql {
        None => json!({ "error": "no address for SQL is known of it" }),
        Some(address) => match ask(SqlPlace { address, user }, text, VIEW_TIME_MAX).await {
            Ok(answer) => json!(answer.results.into_iter().next().unwrap_or_default()),
            Err(failure) => json!({ "error": failure.error }),
        },
    };
    (number.to_string(), said)
}
