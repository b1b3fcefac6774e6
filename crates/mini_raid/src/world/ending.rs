//! The end of a run: faults stop, the instance must recover by itself, and everything is looked at once more.

use super::World;
use crate::checkers::{copies, durability, families, locks, serializability};
use crate::client::SimulatedClient;
use crate::event::SimulatedEvent;
use crate::families::FamilyStep;
use crate::faults::Fault;
use crate::history::{ObservedTransaction, TransactionFate};
use crate::limits::{ANSWER_MAX, EVENTS_MAX, RECOVERY_MAX, SETTLE, SILENT_VOTER_MAX};
use crate::network::Weather;
use crate::tables::{self, TableStep};
use crate::workload::WorkloadStep;
use commit_log::Log;
use messages::limits::{MILLISECOND, SECOND};
use messages::session::AccessMode;

/// How often the end looks whether something has come about.
const LOOK_EVERY: u64 = 100 * MILLISECOND;

impl World {
    /// Faults stop.
    pub fn heal(&mut self) {
        self.say(|| "faults stop".to_owned());
        self.stormy = false;
        self.traps.clear();
        self.late_grants = None;
        self.network.mend(Weather::calm());
        self.oracle.mute_until = 0;
        self.agenda.plan(self.now, SimulatedEvent::Fault(Fault::StartOracle));
        let now = self.now;
        for site in 1..=self.sites() {
            let machine = self.machine(site);
            machine.steady();
            machine.disk.slow = 0;
            machine.hold_store(false);
            let bad = machine.disk.full || machine.disk.failing;
            machine.disk.failing = false;
            machine.disk.full = false;
            machine.log_mut().fail_sync(false);
            machine.log_mut().set_full(false);
            if bad {
                self.say(|| format!("the disk of site {site} is repaired"));
            }
            self.agenda.plan(now + LOOK_EVERY, SimulatedEvent::Fault(Fault::Start { site }));
            for other in site + 1..=self.sites() {
                self.agenda.plan(now + LOOK_EVERY / 2, SimulatedEvent::Connect { a: site, b: other });
                self.agenda.plan(now + 5 * LOOK_EVERY, SimulatedEvent::Connect { a: site, b: other });
            }
        }
    }

    /// Who is stopped goes on when its time has come: what has met it waits until then, its ticks among them.
    fn await_the_stopped(&mut self) {
        let sites = (1..=self.sites()).map(|site| self.look(site).away_until);
        let until = sites.fold(self.oracle.away_until, u64::max);
        self.run_until(until, EVENTS_MAX);
    }

    /// After the faults: recovery, a commit at every site, a last look at everything.
    pub fn finish(&mut self) {
        let stormy = self.stormy;
        self.heal();
        self.await_the_stopped();
        self.await_recovery();
        if stormy {
            self.bear_a_silent_voter();
        }
        self.busy = false;
        self.await_answers();
        self.commit_everywhere();
        self.read_everything();
        self.run_until(self.now + SETTLE, EVENTS_MAX);
        self.await_drops();
        self.nothing_is_left_locked();
        self.last_look();
    }

    fn is_recovered(&self) -> bool {
        let mut epoch = None;
        (1..=self.sites()).all(|site| {
            let Some(domain) = self.look(site).domain() else { return false };
            let status = domain.replication();
            let number = status.epoch.as_ref().map(|epoch| epoch.number);
            status.state == "up" && *epoch.get_or_insert(number) == number
        })
    }

    fn await_recovery(&mut self) {
        let deadline = self.now + RECOVERY_MAX;
        let waits_until = self.now + RECOVERY_MAX / 4;
        while self.failure.is_none() && !self.is_recovered() {
            if self.now >= waits_until {
                self.go_on_without_the_set_back();
            }
            if self.now >= deadline {
                let situation = self.situation();
                return self.fail(format!(
                    "{} s after the faults stopped not every site is up:\n{situation}",
                    RECOVERY_MAX / SECOND
                ));
            }
            self.run_until(self.now + LOOK_EVERY, EVENTS_MAX);
        }
    }

    /// A site that renews its leases and does not vote stops the others for a while only. Looked at in some runs.
    fn bear_a_silent_voter(&mut self) {
        if self.sites() < 2 || !self.random.one_in(5) || self.failure.is_some() {
            return;
        }
        let silent = 1 + self.random.index(self.sites());
        let other = 1 + silent % self.sites();
        *self.statistics.faults.entry("silent voter").or_insert(0) += 1;
        self.say(|| format!("the votes of site {silent} are lost"));
        self.silent_voter = Some(silent);
        let (begun, before) = (self.now, self.history.transactions.len());
        loop {
            let token = self.workload.token();
            self.once(other, vec![WorkloadStep::Append(9_999_901, token)]);
            let writes = |done: &ObservedTransaction| {
                done.fate == TransactionFate::Committed && !done.read_only && done.site != silent && done.begun >= begun
            };
            let committed = self.history.transactions[before..].iter().filter(|done| writes(done));
            let first = committed.map(|done| done.ended).min();
            if self.failure.is_some() || first.is_some_and(|first| first <= begun + SILENT_VOTER_MAX) {
                break;
            }
            if self.now >= begun + SILENT_VOTER_MAX {
                let situation = self.situation();
                self.fail(format!("nothing commits elsewhere while site {silent} does not vote:\n{situation}"));
                break;
            }
            self.run_until(self.now + LOOK_EVERY, EVENTS_MAX);
        }
        self.silent_voter = None;
        self.await_recovery();
    }

    /// No request waits for ever.
    fn await_answers(&mut self) {
        while self.failure.is_none() && self.clients.iter().any(SimulatedClient::is_busy) {
            let oldest = self.clients.iter().filter_map(|client| client.waiting_since.map(|since| (since, client)));
            if let Some((since, client)) = oldest.min_by_key(|(since, _)| *since)
                && self.now > since + ANSWER_MAX
            {
                let what = format!("client {} at site {} has no answer: {client:?}", client.number, client.site);
                return self.fail(what);
            }
            self.run_until(self.now + LOOK_EVERY, EVENTS_MAX);
        }
    }

    /// One transaction of a fresh client.
    fn once(&mut self, site: usize, plan: Vec<WorkloadStep>) -> Option<&ObservedTransaction> {
        let number = self.clients.len();
        self.clients.push(SimulatedClient::new(number, site));
        self.look(site).domain()?;
        self.open_session(number, site);
        let before = self.history.transactions.len();
        self.clients[number].begin(self.now, plan);
        self.go_on(number);
        let deadline = self.now + ANSWER_MAX;
        // As long as the load goes on, the client begins another one as soon as this is over.
        let is_over = |world: &World| {
            let mut done = world.history.transactions[before..].iter();
            done.any(|done| done.client == number) || !world.clients[number].is_busy()
        };
        while self.failure.is_none() && !is_over(self) && self.now < deadline {
            self.run_until(self.now + 5 * MILLISECOND, EVENTS_MAX);
        }
        self.history.transactions[before..].iter().find(|done| done.client == number)
    }

    fn commit_everywhere(&mut self) {
        for site in 1..=self.sites() {
            let deadline = self.now + RECOVERY_MAX;
            loop {
                if self.failure.is_some() {
                    return;
                }
                let token = self.workload.token();
                let done = self.once(site, vec![WorkloadStep::Append(9_999_900, token)]);
                if done.is_some_and(|done| done.fate == TransactionFate::Committed) {
                    break;
                }
                if self.now >= deadline {
                    let situation = self.situation();
                    self.fail(format!("after the faults stopped nothing commits at site {site}:\n{situation}"));
                    return;
                }
                self.run_until(self.now + LOOK_EVERY, EVENTS_MAX);
            }
        }
    }

    /// A snapshot of everything at every site.
    fn read_everything(&mut self) {
        let mut lists = serializability::lists_of(&self.history);
        lists.retain(|list| !tables::is_table(*list));
        let tables: Vec<u64> = self.workload.tables().collect();
        let registers = self.workload.mix.registers;
        for site in 1..=self.sites() {
            if self.failure.is_some() {
                return;
            }
            let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadOnly)];
            if self.workload.mix.families > 0 {
                plan.extend([FamilyStep::ReadParents, FamilyStep::ReadChildren].map(WorkloadStep::Family));
            }
            plan.extend(lists.iter().map(|list| WorkloadStep::ReadList(*list)));
            plan.extend((0..registers).map(WorkloadStep::ReadRegister));
            plan.extend(self.workload.counters().map(WorkloadStep::ReadCounter));
            plan.push(WorkloadStep::Scan { low: 0, high: 900_000, reverse: false });
            plan.extend(
                tables.iter().map(|table| WorkloadStep::Table(TableStep::Read { table: *table, by_index: false })),
            );
            // By its index first: the last snapshot has everything once.
            let by_index =
                tables.iter().map(|table| WorkloadStep::Table(TableStep::Read { table: *table, by_index: true }));
            let begin = std::iter::once(WorkloadStep::Begin(AccessMode::ReadOnly));
            self.read_through(site, begin.chain(by_index).collect());
            self.read_through(site, plan);
        }
    }

    /// One snapshot, read to its end. An epoch change in between ends a snapshot.
    fn read_through(&mut self, site: usize, mut plan: Vec<WorkloadStep>) {
        // Of a table, the changes of its schema and its rows.
        let observations = |step: &WorkloadStep| match step {
            WorkloadStep::Begin(_) | WorkloadStep::Family(_) => 0,
            WorkloadStep::Table(_) => 2,
            _ => 1,
        };
        let wanted: usize = plan.iter().map(observations).sum();
        plan.push(WorkloadStep::Commit);
        let deadline = self.now + RECOVERY_MAX;
        while self.failure.is_none()
            && self.once(site, plan.clone()).is_none_or(|done| done.observations.len() < wanted)
        {
            if self.now >= deadline {
                let situation = self.situation();
                return self
                    .fail(format!("after the faults stopped site {site} reads no snapshot to its end:\n{situation}"));
            }
            self.run_until(self.now + LOOK_EVERY, EVENTS_MAX);
        }
    }

    /// What is locked when everybody has gone stays so for ever.
    fn nothing_is_left_locked(&mut self) {
        for site in 1..=self.sites() {
            let locked = self.look(site).domain().is_some_and(|domain| !domain.is_unlocked());
            if locked && self.failure.is_none() {
                self.fail(format!("site {site} keeps locks of transactions that are over"));
            }
            let report = self.look(site).domain().and_then(|domain| domain.method());
            if report.is_some_and(|(report, _)| report.switching.is_some()) && self.failure.is_none() {
                self.fail(format!("a switch of the method does not end at site {site}"));
            }
        }
    }

    fn last_look(&mut self) {
        if self.failure.is_some() {
            return;
        }
        for site in 1..=self.sites() {
            self.look_at_log(site);
            let position = self.look(site).log().appended();
            assert!(self.look(site).looked_at == position, "every record was looked at");
        }
        if let Err(wrong) = self.catalogs_agree() {
            return self.fail(wrong);
        }
        let contents: Vec<copies::CopyContents> = (1..=self.sites()).map(|site| self.contents(site)).collect();
        let living = (1..=self.sites()).map(|site| (site, self.look(site).start)).collect();
        let checks = [
            self.outcomes.check(),
            self.listeners.check(&self.history, &living),
            copies::check(&contents),
            durability::check(&self.history),
            self.workload.drawn.check(&self.history.losses),
            families::check(&self.history),
            locks::check(&self.history),
            serializability::check(&self.history),
        ];
        for check in checks {
            if let Err(wrong) = check {
                self.fail(wrong);
            }
        }
    }
}
