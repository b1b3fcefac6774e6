//! Disks that go back in time: somebody puts back an older copy of a log, a store or both.
//!
//! Invariant: a disk goes back only while the log of another site that is up in the oracle's epoch is whole, which no restart has just made so, so that
//! nothing that was told is lost with it.

use super::World;
use crate::event::SimulatedEvent;
use crate::faults::{CopyPart, Fault};
use crate::history::Loss;
use messages::limits::{MILLISECOND, SECOND};
use messages::replication::SiteNotice;
use messages::{Epoch, SiteId};
use std::sync::Arc;

impl World {
    /// Somebody makes a copy of a disk; or one or several sites die, perhaps all, and start over older copies of their disks.
    pub(super) fn copy_or_put_back(&mut self) {
        let now = self.now;
        let several = if self.random.one_in(3) { 2 } else { 1 };
        let all_die = self.random.one_in(3);
        let after = match self.random.one_in(2) {
            true => 0,
            false => 50 * MILLISECOND + self.random.around(SECOND),
        };
        for _ in 0..several {
            let site = self.site();
            if after > 0 || self.look(site).copies.is_empty() {
                self.machine(site).copy_disk(now);
            }
            let copies = self.look(site).copies.len();
            let copy = if after > 0 { copies - 1 } else { self.random.index(copies) };
            let part = match self.random.below(4) {
                0 => CopyPart::Log,
                1 => CopyPart::Store,
                _ => CopyPart::Whole,
            };
            let dead_for = self.dead_for();
            self.plan_fault(after, Fault::DiskBack { site, copy, part, dead_for });
        }
        if all_die {
            for site in 1..=self.sites() {
                let dead_for = self.dead_for();
                self.plan_fault(after, Fault::Kill { site, dead_for });
            }
        }
    }

    /// A site dies, by a kill or a loss of power, and its disk goes back before it starts.
    pub(super) fn go_back(&mut self, site: usize, copy: usize, part: CopyPart, dead_for: u64) {
        if copy < self.look(site).copies.len() {
            self.machine(site).goes_back = Some((copy, part));
        }
        match self.random.one_in(4) {
            true => self.strike(Fault::LosePower { sites: vec![(site, dead_for)] }),
            false => self.strike(Fault::Kill { site, dead_for }),
        }
    }

    /// The process is about to start: now its disk goes back, if nothing is lost with that.
    pub(super) fn put_disk_back(&mut self, site: usize) {
        let Some((copy, part)) = self.machine(site).goes_back.take() else { return };
        let whole = |other: usize| other != site && self.look(other).set_back.is_none();
        let spared = self.oracle.epoch().is_some_and(|epoch| !epoch.restart && epoch.up().any(|up| whole(up.0.into())));
        if !self.stormy || !spared {
            return;
        }
        let now = self.now;
        self.look_at_log(site);
        let machine = self.machine(site);
        let at = machine.copies[copy].at;
        machine.put_back(copy, part);
        self.say(|| format!("the disk of site {site} goes back to {:.6} ({part:?})", at as f64 / 1e9));
        *self.statistics.faults.entry("disk put back").or_insert(0) += 1;
        self.power_losses.push((site, at, now));
        self.synced_since[site] = now;
    }

    /// Log and store are of different age: the operator sets them aside.
    pub(super) fn repair_disk(&mut self, site: usize) {
        self.say(|| format!("log and store of site {site} are set aside"));
        *self.statistics.other.entry("copies set aside").or_insert(0) += 1;
        self.machine(site).repair();
        self.agenda.plan(self.now, SimulatedEvent::Fault(Fault::Start { site }));
    }

    /// A log that went back by less than anybody could know of takes part in a restart: what it alone had voted for may be gone.
    pub(super) fn lose_unseen(&mut self, epoch: &Arc<Epoch>) {
        let unseen = epoch.up().filter_map(|site| self.look(site.0.into()).set_back).min();
        if let Some(since) = unseen {
            let windows = (1..=self.sites()).map(|site| (site, (since, self.now))).collect();
            self.history.losses.push(Loss { windows });
        }
    }

    /// After a total failure sites wait for one whose disk has gone back: the operator starts another without it. A recovering member that has lived
    /// through it serves nothing without those that were up, and does not keep the operator from that (rule 12).
    pub(super) fn go_on_without_the_set_back(&mut self) {
        let Some(epoch) = self.oracle.epoch() else { return };
        let serves = epoch.up().any(|site| self.look(site.0.into()).serving.is_some());
        let waits = (1..=self.sites()).any(|site| self.look(site).set_back.is_some());
        if serves || !waits {
            return;
        }
        let whole = |site: &SiteId| self.look(site.0.into()).set_back.is_none();
        let Some(site) = epoch.up().find(whole).map(|site| usize::from(site.0)) else { return };
        let start = self.look(site).start;
        self.say(|| format!("site {site} is told to go on without the others"));
        self.notice(site, start, SiteNotice::RestartAlone);
    }
}
