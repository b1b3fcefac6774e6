//! Lives of sites: starting, ticking, dying, and what their servers ask of the world.

use super::World;
use crate::checkers::methods;
use crate::event::SimulatedEvent;
use crate::history::Loss;
use crate::limits::{INCARNATE_AGAIN, TICK};
use crate::machine::MachineProcess;
use crate::programs::token_of;
use commit_log::Log;
use domain::{DomainStartError, Effects, Remote};
use messages::access::AccessReply;
use messages::oracle::OracleRequest;
use messages::planted::Bug;
use messages::replication::SiteNotice;
use messages::{Envelope, EpochNumber, Incarnation, Message, ServerKind, SiteId};
use std::collections::BTreeMap;

impl World {
    /// A process begins, if none is there.
    pub(super) fn start(&mut self, site: usize) {
        let now = self.now;
        let machine = self.machine(site);
        if machine.is_alive() {
            return;
        }
        self.put_disk_back(site);
        let machine = self.machine(site);
        machine.begin_process(now);
        let start = machine.start;
        self.say(|| format!("site {site} starts"));
        self.agenda.plan(now, SimulatedEvent::Tick { site, start });
    }

    /// The process is killed, or its power is cut.
    pub(super) fn die(&mut self, site: usize, power: bool) {
        self.say(|| format!("site {site} {}", if power { "loses power" } else { "is killed" }));
        let now = self.now;
        if power {
            // What is lost with the power was never said: checkers see what is left.
            self.power_losses.push((site, self.synced_since[site], now));
            self.machine(site).lose_power(now);
            self.synced_since[site] = now;
        } else {
            self.machine(site).kill();
        }
        self.look_at_log(site);
        self.lose_sessions(site);
        self.hang_up(site, power);
    }

    pub(super) fn tick(&mut self, site: usize, start: u32) {
        let now = self.now;
        let machine = self.machine(site);
        if machine.start != start {
            return;
        }
        match &mut machine.process {
            MachineProcess::Asking { nonce, ask_at, .. } => {
                if now >= *ask_at {
                    *ask_at = now + INCARNATE_AGAIN;
                    let request = OracleRequest::Incarnate { nonce: *nonce, site: SiteId(site as u16) };
                    let envelope = Envelope {
                        from_site: SiteId(site as u16),
                        from: ServerKind::Site,
                        to_site: messages::server::ORACLE_SITE,
                        to: ServerKind::Oracle,
                        epoch: EpochNumber(0),
                        incarnation: Incarnation(0),
                        message: Message::Oracle(request),
                    };
                    self.send(now, site, envelope);
                }
            }
            MachineProcess::Running(_) => {
                let late = self.machine(site).lateness();
                self.act(site, |domain, clock| {
                    if late > 0 {
                        domain.was_late(clock, late);
                    }
                    domain.poll_log(clock);
                    domain.tick(clock);
                });
                self.check_method(site);
            }
            MachineProcess::Dead(_) | MachineProcess::Nowhere => return,
        }
        if self.look(site).start == start {
            self.agenda.plan(now + TICK, SimulatedEvent::Tick { site, start });
        }
    }

    /// A site runs the method that it has been told of, unless what tells it so is still under way inside it.
    fn check_method(&mut self, site: usize) {
        let machine = self.look(site);
        let MachineProcess::Running(domain) = &machine.process else { return };
        if domain.is_behind() || self.profile.mix.switching == 0 {
            return;
        }
        if let Some((report, holds)) = domain.method()
            && let Err(wrong) = methods::check(self.profile.method, &machine.catalog, &report, holds)
        {
            self.fail(wrong);
        }
    }

    /// A site's servers have the time that they had not before.
    pub(super) fn come_back(&mut self, site: usize, start: u32) {
        if self.look(site).start == start {
            *self.statistics.other.entry("steps in several turns").or_insert(0) += 1;
            self.act(site, |domain, clock| domain.go_on(clock));
        }
    }

    pub(super) fn synced(&mut self, site: usize, start: u32) {
        let asked = self.sync_asked[site];
        let machine = self.machine(site);
        if machine.start != start {
            return;
        }
        machine.disk.syncing = false;
        let failing = machine.disk.failing;
        machine.log_mut().complete_sync();
        if !failing {
            self.synced_since[site] = asked;
        }
        if failing && self.planted.is(Bug::SyncErrorRetried) {
            self.machine(site).log_mut().forgive();
        }
        self.act(site, |domain, clock| domain.poll_log(clock));
    }

    /// The oracle has given a life to a process that asked for one.
    pub(super) fn incarnated(&mut self, site: usize, nonce: u64, incarnation: Incarnation) {
        let planted = self.planted;
        let machine = self.machine(site);
        if !matches!(machine.process, MachineProcess::Asking { nonce: asked, .. } if asked == nonce) {
            return;
        }
        match machine.begin_life(incarnation, planted) {
            Err(DomainStartError::OtherStore { .. }) if machine.set_back.is_some() => return self.repair_disk(site),
            Err(error) => return self.fail(format!("site {site} cannot start: {error}")),
            Ok(()) => {}
        }
        let machine = self.machine(site);
        let (start, sessions) = (machine.start, machine.sessions.keys().copied().collect());
        self.say(|| format!("site {site} begins its life {}", self.look(site).incarnation.0));
        self.agenda.plan(self.now + self.profile.life_told_after, SimulatedEvent::LifeOver { site, sessions });
        self.agenda.plan(self.now, SimulatedEvent::Tick { site, start });
        for other in (1..=self.sites()).filter(|other| *other != site) {
            let after = self.network.delay(&mut self.random, site, other) * 2;
            self.agenda.plan(self.now + after, SimulatedEvent::Connect { a: site, b: other });
        }
    }

    /// Lets the servers of a site do something, and does what they ask for.
    pub(super) fn act(
        &mut self,
        site: usize,
        act: impl FnOnce(&mut domain::Domain<commit_log::MemoryLog>, &mut domain::Clock<'_>),
    ) {
        let now = self.now;
        let machine = self.machine(site);
        let done = machine.act(now, act);
        let MachineProcess::Running(domain) = &mut machine.process else { return };
        let Effects { remote, local, notices, failed } = domain.take_effects();
        let is_behind = domain.is_behind();
        let wants_sync = domain.log().sync_requested().is_some() && !machine.disk.syncing;
        if wants_sync {
            machine.disk.syncing = true;
            let failing = machine.disk.failing;
            machine.log_mut().fail_sync(failing);
            let start = machine.start;
            let latency = machine.sync_latency();
            self.sync_asked[site] = now;
            self.agenda.plan(done + latency, SimulatedEvent::Synced { site, start });
        }
        if is_behind {
            let start = self.look(site).start;
            self.agenda.plan(done, SimulatedEvent::GoOn { site, start });
        }
        for Remote { sites, envelope } in remote {
            for to_site in sites {
                self.send(done, site, Envelope { to_site, ..envelope.clone() });
            }
        }
        for envelope in local {
            match envelope.message {
                Message::SessionReply(session, reply) => self.answered_inside(done, site, session, reply),
                Message::AccessReply(AccessReply::CatalogRows { rows }) => self.told(site, &rows),
                Message::Notified(notifications) => self.notified(site, &notifications),
                _ => {}
            }
        }
        for notice in notices {
            self.asked(site, notice);
        }
        if let Some(error) = failed {
            self.say(|| format!("site {site} fails: {error}"));
            let start_after = self.random.around(self.profile.dead_for) + TICK;
            self.die(site, false);
            let again = SimulatedEvent::Fault(crate::faults::Fault::Start { site });
            self.agenda.plan(self.now + start_after, again);
        }
    }

    /// The servers ask for what only the world can do.
    fn asked(&mut self, site: usize, notice: SiteNotice) {
        match notice {
            SiteNotice::Serving { epoch } => {
                // Of a later one it need not have heard yet: then it is not in its place, whatever it believes.
                let is_latest = self.served.last_key_value().is_none_or(|(number, _)| *number <= epoch.number);
                self.serving(site, epoch);
                let (now, start, losses) = (self.now, self.look(site).start, self.history.losses.len());
                if is_latest {
                    self.listeners.serves(site, start, now, losses);
                }
            }
            SiteNotice::StartAgain { reason, .. } => {
                self.say(|| format!("site {site} starts again: {reason}"));
                self.look_at_log(site);
                let now = self.now;
                let machine = self.machine(site);
                let answers = machine.start_again(now);
                let start = machine.start;
                for answer in answers {
                    if let Message::SessionReply(session, reply) = answer.message {
                        self.answered_inside(now, site, session, reply);
                    }
                }
                self.hang_up(site, false);
                self.agenda.plan(now, SimulatedEvent::Tick { site, start });
                *self.statistics.other.entry("lives begun again").or_insert(0) += 1;
            }
            SiteNotice::Halt { reason } => self.fail(format!("site {site} halts: {reason}")),
            SiteNotice::PeerLost { .. }
            | SiteNotice::PeerFound { .. }
            | SiteNotice::DiskStalled { .. }
            | SiteNotice::RestartAlone => {}
        }
    }

    /// Who listens at a site is told what has committed.
    fn notified(&mut self, site: usize, notifications: &[messages::Notification]) {
        let (now, start) = (self.now, self.look(site).start);
        for notification in notifications {
            match token_of(&values::Value::Text(notification.payload.clone())) {
                Ok(token) => self.listeners.told(site, start, now, token),
                Err(wrong) => self.fail(wrong),
            }
        }
        *self.statistics.other.entry("notifications told").or_insert(0) += notifications.len() as u64;
    }

    fn serving(&mut self, site: usize, epoch: std::sync::Arc<messages::Epoch>) {
        self.say(|| format!("site {site} serves in epoch {}", in_words(&epoch)));
        let now = self.now;
        let machine = self.machine(site);
        machine.serving = Some((epoch.clone(), now));
        if !epoch.restart && epoch.up().any(|up| usize::from(up.0) == site) {
            machine.set_back = None;
        }
        let first = !self.served.contains_key(&epoch.number);
        if !first {
            let known = &self.served[&epoch.number];
            if known.proposal != epoch.proposal {
                self.fail(format!("two epochs of number {}: {known:?} and {epoch:?}", epoch.number.0));
            }
            return;
        }
        *self.statistics.other.entry("epochs").or_insert(0) += 1;
        let losses = std::mem::take(&mut self.power_losses);
        let before = self.served.range(..epoch.number).next_back().map(|(_, before)| before.clone());
        if let Some(before) = before
            && !epoch.up().any(|site| before.has(site, epoch.members[&site].incarnation))
        {
            self.lose_window(&before, &losses);
            self.lose_unseen(&epoch);
        }
        self.served.insert(epoch.number, epoch);
    }

    /// The instance has restarted after a total failure: what machines without power had not synced may be gone, unless commits
    /// waited for the disk.
    fn lose_window(&mut self, parent: &messages::Epoch, losses: &[(usize, u64, u64)]) {
        if parent.up().count() < usize::from(parent.required_copies) {
            return;
        }
        let mut loss = Loss::default();
        for (site, since, moment) in losses {
            if parent.members.contains_key(&SiteId(*site as u16)) {
                let (first, last) = loss.windows.entry(*site).or_insert((*since, *moment));
                *first = (*first).min(*since);
                *last = (*last).max(*moment);
            }
        }
        // The log of a home site that was not up takes no part in the restart: then the copies of the up members count.
        let up = |site: &usize| parent.up().any(|up| usize::from(up.0) == *site);
        let of_up: Vec<(u64, u64)> =
            loss.windows.iter().filter(|(site, _)| up(site)).map(|(_, window)| *window).collect();
        let since = of_up.iter().map(|window| window.0).min();
        let moment = of_up.iter().map(|window| window.1).max();
        if let (Some(since), Some(moment)) = (since, moment) {
            for site in (1..=self.sites()).filter(|site| !up(site)) {
                let (first, last) = loss.windows.entry(site).or_insert((since, moment));
                *first = (*first).min(since);
                *last = (*last).max(moment);
            }
        }
        if !loss.windows.is_empty() {
            self.history.losses.push(loss);
        }
    }

    /// Reads the part of a log that no checker has seen.
    pub(super) fn look_at_log(&mut self, site: usize) {
        let machine = self.machines[site].as_mut().expect("sites are numbered from 1");
        let from = machine.looked_at.max(machine.log().first());
        let result = self.outcomes.look(site, machine.log(), from);
        machine.looked_at = machine.log().appended();
        if let Err(wrong) = result {
            self.fail(wrong);
        }
    }

    /// What every site is doing, for the report of a failure.
    pub(super) fn situation(&self) -> String {
        let mut lines = Vec::new();
        for site in 1..=self.sites() {
            let machine = self.look(site);
            let line = match &machine.process {
                MachineProcess::Dead(_) => "dead".to_owned(),
                MachineProcess::Asking { .. } => "asks for a life".to_owned(),
                MachineProcess::Nowhere => "nowhere".to_owned(),
                MachineProcess::Running(domain) => {
                    let status = domain.replication();
                    let epoch = status.epoch.as_ref().map_or(0, |epoch| epoch.number.0);
                    let members: BTreeMap<u16, String> = (status.epoch.iter())
                        .flat_map(|epoch| epoch.members.iter())
                        .map(|(site, member)| (site.0, format!("{}:{:?}", member.incarnation.0, member.state)))
                        .collect();
                    format!(
                        "life {}, {} in epoch {epoch} of {members:?}, stale {}, fail-locks {:?}",
                        machine.incarnation.0, status.state, status.stale, status.fail_locks
                    )
                }
            };
            lines.push(format!("  site {site}: {line}"));
        }
        lines.push(format!("  oracle: {}", if self.oracle.is_alive() { "runs" } else { "dead" }));
        lines.join("\n")
    }
}

/// An epoch in a line.
pub(super) fn in_words(epoch: &messages::Epoch) -> String {
    let members: Vec<String> = (epoch.members.iter())
        .map(|(site, member)| format!("{}.{} {:?}", site.0, member.incarnation.0, member.state))
        .collect();
    let restart = if epoch.restart { ", a restart" } else { "" };
    format!("{}: {}{restart}", epoch.number.0, members.join(", "))
}
