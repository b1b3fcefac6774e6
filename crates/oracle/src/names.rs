//! Where servers are, and who wants to hear of it: the papers' name service with its notifier sets.
//!
//! Not kept through a restart: sites register and watch again when they reconnect. Notices may be lost; whoever needs to be sure
//! looks up again.

use crate::limits::{LOCATION_BYTES_MAX, REGISTRATIONS_MAX, WATCHES_MAX};
use identifiers::Pattern;
use messages::{Address, ServerKind, SiteId};
use std::collections::{BTreeMap, BTreeSet};

/// Who watches.
pub type NameWatcher = (SiteId, ServerKind);

/// Registrations and notifier sets.
#[derive(Debug, Default)]
pub struct NameRegister {
    locations: BTreeMap<Address, String>,
    watches: BTreeSet<(Pattern, NameWatcher)>,
}

impl NameRegister {
    /// A server is at this location from now on; at none when it is empty. Returns whom to tell; `None` when it is refused.
    pub fn register(&mut self, address: Address, location: &str) -> Option<BTreeSet<NameWatcher>> {
        let full = self.locations.len() >= REGISTRATIONS_MAX && !self.locations.contains_key(&address);
        if location.len() > LOCATION_BYTES_MAX || (full && !location.is_empty()) {
            return None;
        }
        let before = if location.is_empty() {
            self.locations.remove(&address).unwrap_or_default()
        } else {
            self.locations.insert(address, location.to_string()).unwrap_or_default()
        };
        if before == location {
            return Some(BTreeSet::new());
        }
        let fitting = self.watches.iter().filter(|(pattern, _)| pattern.matches(address));
        Some(fitting.map(|(_, watcher)| *watcher).collect())
    }

    /// Everything that fits, in the order of addresses.
    pub fn lookup(&self, pattern: Pattern) -> Vec<(Address, String)> {
        let fitting = self.locations.iter().filter(|(address, _)| pattern.matches(**address));
        fitting.map(|(address, location)| (*address, location.clone())).collect()
    }

    /// Joins the notifier sets of a pattern. False when it is refused.
    pub fn watch(&mut self, pattern: Pattern, watcher: NameWatcher) -> bool {
        let watch = (pattern, watcher);
        let full = self.watches.len() >= WATCHES_MAX && !self.watches.contains(&watch);
        if !full {
            self.watches.insert(watch);
        }
        !full
    }
}
