//! Which method is to be in force, and what is told of it.
//!
//! Invariant: the method in force is the newest that is installed at this site as a setting, of the site before that of the cluster; without one that of
//! the site's file. It is agreed by nobody but the transaction that has installed it: no vote relies on a method.

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
    /// What is installed, of all sites.
    installed: SiteSettings,
    switches: VecDeque<Switch>,
}

impl MethodSetting {
    /// Nothing is installed.
    pub(crate) fn new(own: Method) -> MethodSetting {
        MethodSetting { own, installed: SiteSettings::default(), switches: VecDeque::new() }
    }

    /// The method that is to be in force at this site, and where it comes from.
    fn wanted(&self, site: SiteId) -> (Method, Origin) {
        let Some(method) = self.installed.method(site) else { return (self.own, Origin::File) };
        match self.installed.is_of_site(Parameter::ConcurrencyMethod, site) {
            true => (method, Origin::Site),
            false => (method, Origin::Cluster),
        }
    }

    /// A switch begins.
    pub(crate) fn switches(&mut self, now: Now, from: Method, to: Method, way: SwitchStrategy) {
        if self.switches.len() == SWITCHES_KEPT {
            self.switches.pop_front();
        }
        self.switches.push_back(Switch { at_micros: now.wall_micros, from, to, way, took: None, doomed: 0 });
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
        rows.iter().for_each(|(key, row)| self.setting.installed.apply(key, row.as_ref()));
        self.ruling = Ruling::new(self.method_set(site), self.placing.planted);
    }

    /// These settings are installed.
    pub(crate) fn set(&mut self, now: Now, site: SiteId, rows: &[(Key, Option<Row>)], outbox: &mut Outbox) {
        rows.iter().for_each(|(key, row)| self.setting.installed.apply(key, row.as_ref()));
        self.switch(now, self.method_set(site), self.setting.installed.way(site), outbox);
    }

    /// The method that this site is to run, by what it has installed.
    pub fn method_set(&self, site: SiteId) -> Method {
        self.setting.wanted(site).0
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
            origin: self.setting.wanted(site).1,
            since_micros: self.setting.switches.back().map(|switch| switch.at_micros),
            way: self.setting.installed.way(site),
            switching: self.switching().map(|switching| switching.way),
            from_before: self.executing_from_before() as u64,
            load,
            switches: self.setting.switches.iter().copied().collect(),
        }
    }
}
