//! What a site says of itself, as far as pages show it: the document of `/status`.
//!
//! Invariant: a field that an earlier or a later build does not have is empty, never an error, and a field that is not named here reaches no page.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a site; the fields are those of `raid status --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SiteView {
    pub(crate) site: u16,
    pub(crate) incarnation: u32,
    pub(crate) state: String,
    pub(crate) refusal: Option<String>,
    pub(crate) epoch: u64,
    pub(crate) members: Vec<MemberView>,
    pub(crate) sessions: BTreeMap<u16, u64>,
    pub(crate) fail_locks: BTreeMap<u16, u64>,
    pub(crate) stale: u64,
    pub(crate) set_back: bool,
    pub(crate) copied_bytes: u64,
    pub(crate) commits: CommitsView,
    pub(crate) required_copies: u16,
    pub(crate) durability: String,
    pub(crate) unsynced_commits: u64,
    pub(crate) lease_ms: u64,
    pub(crate) lease_right: String,
    pub(crate) lease_late_us_max: u64,
    pub(crate) method: String,
    pub(crate) leases_left_us: BTreeMap<u16, u64>,
    pub(crate) log: LogView,
    pub(crate) memory: MemoryView,
    pub(crate) peers: Vec<PeerView>,
    pub(crate) clients: u64,
    pub(crate) layout: String,
    pub(crate) servers: Vec<ServerView>,
}

/// A member of the epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MemberView {
    pub(crate) site: u16,
    pub(crate) incarnation: u32,
    pub(crate) state: String,
}

/// What commits have come to in this life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CommitsView {
    pub(crate) committed: u64,
    pub(crate) committed_in_memory: u64,
    pub(crate) aborted: u64,
    pub(crate) resolved: u64,
}

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LogView {
    pub(crate) bytes_appended: u64,
    pub(crate) bytes_to_replay: u64,
    pub(crate) syncs: u64,
    pub(crate) sync_latency_us_total: u64,
    pub(crate) sync_latency_us_last: u64,
    pub(crate) sync_latency_us_max: u64,
    pub(crate) servers: Vec<String>,
    pub(crate) window_bytes: u64,
}

/// The memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MemoryView {
    pub(crate) resident_bytes: u64,
    pub(crate) row_bytes: u64,
    pub(crate) row_bytes_max: u64,
}

/// A connection with another site; 0 is the oracle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PeerView {
    pub(crate) site: u16,
    pub(crate) connected: bool,
    pub(crate) channel: String,
    pub(crate) round_trip_us: Option<u64>,
    pub(crate) lease_round_trip_us: Option<u64>,
    pub(crate) sent_again: u64,
    pub(crate) loss_percent: Option<f64>,
    pub(crate) multicast: bool,
    pub(crate) encrypted: bool,
    pub(crate) failure: Option<String>,
    pub(crate) frames_out: u64,
    pub(crate) frames_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
}

/// A server, and the process that it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ServerView {
    pub(crate) server: String,
    pub(crate) process: String,
    pub(crate) pid: u32,
    pub(crate) messages: u64,
    pub(crate) calls: u64,
}

impl SiteView {
    /// Reads the document; the error says what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<SiteView, String> {
        let view: SiteView =
            serde_json::from_str(text).map_err(|error| format!("the status cannot be read: {error}"))?;
        match view.site > 0 && !view.state.is_empty() {
            true => Ok(view),
            false => Err("it tells no site's status".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site of another build could not be shown at all.
    #[test]
    fn a_status_with_more_or_less_is_read() {
        let text =
            r#"{"site":2,"state":"up","new":[1],"leases_left_us":{"1":5},"peers":[{"site":0,"connected":true}]}"#;
        let view = SiteView::read(text).expect("it is a status");
        assert_eq!((view.site, view.state.as_str(), view.leases_left_us[&1]), (2, "up", 5));
        assert!(view.peers[0].connected && view.method.is_empty());
        for text in ["", "[]", "{\"site\":-1}", "{\"site\":1", "{\"site\":1}", "{}", "null"] {
            assert!(SiteView::read(text).is_err(), "{text:?} is no status");
        }
    }
}
