//! Who a user interface is.
//!
//! Invariant: what all user interfaces of a process share is the same in each one's.

use crate::activity::ActivityBoard;
use crate::counters::InterfaceCounters;
use crate::events::EventSelection;
use crate::session::doorkeeper::Doorkeeper;
use crate::sql::isolation::TransactionLevel;
use messages::SiteId;
use messages::concurrency::Method;
use std::sync::Arc;

/// Who the server is, as its clients see it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The site.
    pub site: SiteId,
    /// Name of the instance.
    pub instance: String,
    /// What `server_version` says.
    pub server_version: String,
    /// What `version()` says.
    pub version: String,
    /// Process ids given to sessions start above this; several user interfaces of one site must not overlap.
    pub process_base: u32,
    /// Where the secrets of cancel keys come from.
    pub seed: u64,
    /// Who lets clients in: one for all user interfaces of a process.
    pub doorkeeper: Arc<Doorkeeper>,
    /// What their sessions are doing, likewise.
    pub activity: Arc<ActivityBoard>,
    /// The concurrency-control method that the site runs as long as none is set.
    pub method: Method,
    /// At which level transactions execute that ask for none.
    pub level: TransactionLevel,
    /// What it counts: its own, which nobody else writes.
    pub counters: Arc<InterfaceCounters>,
    /// What of its sessions is noted for an operator.
    pub events: EventSelection,
}

impl Config {
    /// For a program of this version, which lets everybody in unless it is given a doorkeeper: `server_version` starts with the PostgreSQL version that is spoken, as drivers parse it.
    pub fn new(site: SiteId, instance: &str, version: &str, process_base: u32, seed: u64) -> Config {
        Config {
            site,
            instance: instance.to_string(),
            server_version: format!("15.0 (Raid {version})"),
            version: format!("PostgreSQL 15.0 (Raid {version}, instance {instance}, site {})", site.0),
            process_base,
            seed,
            doorkeeper: Doorkeeper::trusting(seed),
            activity: Arc::default(),
            method: Method::default(),
            level: TransactionLevel::default(),
            counters: Arc::default(),
            events: EventSelection::default(),
        }
    }
}
