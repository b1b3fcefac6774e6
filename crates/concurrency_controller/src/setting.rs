//! Which method is to be in force, and what is told of it.
//!
//! Invariant: the method in force is the newest that is installed at this site as a setting, of the site before that of the cluster; without one that of
//! the site's file; where `auto` is set, the one that was in force then, until the site chooses another. It is agreed by nobody but the transaction that has installed it: no vote relies on a method.

use crate::ConcurrencyController;
use crate::limits::SWITCHES_KEPT;
use crate::methods::Ruling;
use messages::method::{AccessLoad, Method, MethodReport, Origin, Switch, SwitchStrategy};
use messages::settings::{Parameter, SiteSettings};
use messages::{Key, Now, Outbox, Row, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// See the module's description.
#[derive(Debug, Serialize, Deserialize)]
pub struct MethodSetting {
    /// What the site's file says.
    own: Method,
    /// Whether this site chooses by itself.
    is_automatic: bool,
    /// How this site goes over to another method.
    way: SwitchStrategy,
    /// What is installed, of all sites.
    installed: SiteSettings,
    switches: VecDeque<Switch>,
}

impl MethodSetting {
    /// Nothing is installed.
    pub(crate) fn new(own: Method) -> MethodSetting {
        MethodSetting {
            own,
            is_automatic: false,
            way: SwitchStrategy::default(),
            installed: SiteSettings::default(),
            switches: VecDeque::new(),
        }
    }

    /// The method that is to be in force at this site where this one is, and where it comes from.
    fn wanted(&self, site: SiteId, present: Method) -> (Method, Origin) {
        let method = match self.installed.method(site) {
            Some(method) => method,
            None if self.installed.is_automatic(site) => present,
            None => return (self.own, Origin::File),
        };
        match self.installed.is_of_site(Parameter::ConcurrencyMethod, site) {
            true => (method, Origin::Site),
            false => (method, Origin::Cluster),
        }
    }

    /// Whether this site chooses its method by itself.
    pub(crate) fn is_automatic(&self) -> bool {
        self.is_automatic
    }

    /// How it goes over to another.
    pub(crate) fn way(&self) -> SwitchStrategy {
        self.way
    }

    fn apply(&mut self, site: SiteId, rows: &[(Key, Option<Row>)]) {
        rows.iter().for_each(|(key, row)| self.installed.apply(key, row.as_ref()));
        self.is_automatic = self.installed.is_automatic(site);
        self.way = self.installed.way(site);
    }

    /// A switch begins.
    pub(crate) fn switches(&mut self, switch: Switch) {
        if self.switches.len() == SWITCHES_KEPT {
            self.switches.pop_front();
        }
        self.switches.push_back(switch);
    }

    /// It has doomed a transaction.
    pub(crate) fn dooms(&mut self) {
        self.switches.iter_mut().next_back().into_iter().for_each(|switch| switch.doomed += 1);
    }

    /// It is over, after this time.
    pub(crate) fn switched(&mut self, took: u64) {
        self.switches.iter_mut().next_back().into_iter().for_each(|switch| switch.took = Some(took));
    }
}

impl ConcurrencyController {
    /// These settings are installed when the site begins its life.
    pub(crate) fn begin_with(&mut self, site: SiteId, rows: &[(Key, Option<Row>)]) {
        self.setting.apply(site, rows);
        self.ruling = Ruling::new(self.method_set(site), self.placing.planted);
    }

    /// These settings are installed.
    pub(crate) fn set(&mut self, now: Now, site: SiteId, rows: &[(Key, Option<Row>)], outbox: &mut Outbox) {
        self.setting.apply(site, rows);
        self.switch(now, self.method_set(site), self.setting.way, outbox);
    }

    /// The method that this site is to run, by what it has installed.
    pub fn method_set(&self, site: SiteId) -> Method {
        self.setting.wanted(site, self.method()).0
    }

    /// What is told of the method.
    pub fn method_report(&self, site: SiteId) -> MethodReport {
        let counters = self.counters();
        let load = AccessLoad {
            accesses: counters.accesses,
            waits: counters.access_waits,
            deadlocks: counters.deadlocks,
            late: counters.late,
            doomed: counters.doomed,
            doomed_by_switches: counters.doomed_by_switches,
        };
        MethodReport {
            site,
            method: self.method(),
            origin: self.setting.wanted(site, self.method()).1,
            since_micros: self.setting.switches.back().map(|switch| switch.at_micros),
            way: self.setting.way,
            switching: self.switching().map(|switching| switching.way),
            from_before: self.executing_from_before() as u64,
            load,
            switches: self.setting.switches.iter().cloned().collect(),
            is_automatic: self.setting.is_automatic,
            is_on_probation: self.expert.is_on_probation(),
            advice: self.advice(),
            facts: self.facts(),
        }
    }
}
