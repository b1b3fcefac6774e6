//! The simulated world: sites, oracle, network, disks, clocks and clients in one thread and virtual time.
//!
//! Invariant: what happens is a function of seed, number of sites, planted bug and time bounds alone: one generator, one agenda, no
//! randomly ordered collection. In reading order: this file (the turn of the world), `processes` (lives of sites), `wires` (messages and
//! connections), `sessions` (clients), `parked` (and what they outlive), `storages` (what
//! becomes of those that clients make), `snapshots` and `archives` (and the worlds made from them), `chance` (faults), `accidents` (those of situations), `disks` (that go back in time), `ending` (recovery and the last look).

mod accidents;
mod archives;
mod chance;
mod disks;
mod ending;
mod parked;
mod processes;
mod sessions;
mod snapshots;
mod storages;
mod wires;

use crate::bounds::RunBounds;
use crate::checkers::notifications::ToldListeners;
use crate::checkers::outcomes::LoggedOutcomes;
use crate::client::SimulatedClient;
use crate::event::{Agenda, SimulatedEvent};
use crate::faults::Trap;
use crate::history::RunHistory;
use crate::limits::{EVENTS_MAX, MICROSECOND};
use crate::machine::SimulatedMachine;
use crate::network::SimulatedNetwork;
use crate::oracle_host::OracleHost;
use crate::profile::Profile;
use crate::programs::Programs;
use crate::random::SeededRandom;
use crate::statistics::RunStatistics;
use crate::workload::Workload;
use messages::planted::Planted;
use messages::{Epoch, EpochNumber};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything.
pub struct World {
    now: u64,
    agenda: Agenda,
    random: SeededRandom,
    planted: Planted,
    profile: Profile,
    network: SimulatedNetwork,
    oracle: OracleHost,
    /// By site; place 0 is unused.
    machines: Vec<Option<SimulatedMachine>>,
    clients: Vec<SimulatedClient>,
    programs: Programs,
    workload: Workload,
    next_session: u64,
    traps: Vec<Trap>,
    /// Whether faults happen.
    stormy: bool,
    /// A site that is about to die, and when: what it says to other sites until then is lost with it.
    dying: Option<(usize, u64)>,
    /// A site whose votes are lost, though everything else it says arrives.
    silent_voter: Option<usize>,
    /// A site to which leases that it is granted come late, and by how much.
    late_grants: Option<(usize, u64)>,
    /// Whether clients begin new transactions.
    busy: bool,
    history: RunHistory,
    outcomes: LoggedOutcomes,
    listeners: ToldListeners,
    /// Every epoch that any site has served in.
    served: BTreeMap<EpochNumber, Arc<Epoch>>,
    /// Losses of power since the last epoch that was not a restart: (site, synced since, moment).
    power_losses: Vec<(usize, u64, u64)>,
    /// By site: everything appended before this true time is synced.
    synced_since: Vec<u64>,
    /// By site: when the sync under way was asked for.
    sync_asked: Vec<u64>,
    statistics: RunStatistics,
    storages: storages::Storages,
    snapshots: snapshots::InstanceSnapshots,
    archives: archives::LogArchives,
    failure: Option<String>,
    tell: bool,
}

/// A chance of its own for what has been chosen since: that of a copy which has drawn so often.
fn newer(random: &SeededRandom, draws: usize) -> SeededRandom {
    let mut newer = random.clone();
    for _ in 0..draws {
        newer.draw();
    }
    newer.fork()
}

/// What kind of world this is. What has been chosen for longer stays what it was for a seed: whatever came later has a chance of its own.
fn draw_profile(random: &mut SeededRandom, sites: usize, planted: Planted, bounds: RunBounds) -> Profile {
    let mut profile = match bounds.calm {
        true => Profile::calm(random, sites, bounds.counters),
        false => Profile::draw(random, sites, bounds.counters),
    };
    if bounds.schemas {
        profile.change_schemas(random.clone().fork());
    }
    if !bounds.calm && bounds.disks_back && sites > 1 {
        // Of a fork of a copy that has drawn: not the chance of schemas.
        profile.put_disks_back(newer(random, 1));
    }
    if bounds.methods && !bounds.calm {
        // Neither of these chances.
        profile.switch_methods(newer(random, 2), sites);
    }
    if bounds.families {
        // None of these chances.
        profile.raise_families(newer(random, 3));
    }
    if bounds.levels && (planted == Planted::none() || planted.is_of_levels()) {
        // Nor this one. Where another bug is planted the runs are as they were.
        profile.weaken_levels(newer(random, 6));
    }
    if !bounds.calm {
        // Nor this one.
        let mut random = newer(random, 5);
        if let Some(situation) = bounds.situations.draw(&mut random, planted) {
            profile.meet(situation, &mut random, sites);
        }
    }
    profile.mix.draws = bounds.draws;
    profile.mix.takes = bounds.takes;
    profile
}

impl World {
    /// A world of this seed, in which nothing has happened.
    pub fn new(seed: u64, sites: usize, planted: Planted, bounds: RunBounds) -> World {
        let mut random = SeededRandom::new(seed);
        let profile = draw_profile(&mut random, sites, planted, bounds);
        let snapshots = snapshots::InstanceSnapshots::new(newer(&random, 4), bounds.snapshots && !bounds.calm);
        let archives = archives::LogArchives::new(newer(&random, 5), snapshots.are_taken());
        let oracle = OracleHost::new(sites, &profile, planted);
        let mut machines = vec![None];
        for site in 1..=sites {
            let mut machine = SimulatedMachine::new(site, sites, &mut random, &profile, planted, bounds);
            machine.keeps_log = archives.are_kept();
            machines.push(Some(machine));
        }
        let clients = (0..profile.mix.clients).map(|number| SimulatedClient::new(number, 1 + number % sites)).collect();
        let mut world = World {
            now: 0,
            agenda: Agenda::default(),
            planted,
            network: SimulatedNetwork::new(sites, profile.weather),
            oracle,
            machines,
            clients,
            programs: Programs::new(),
            workload: Workload::new(profile.mix.clone()),
            next_session: 1,
            traps: Vec::new(),
            stormy: !bounds.calm,
            dying: None,
            silent_voter: None,
            late_grants: None,
            busy: true,
            history: RunHistory::default(),
            outcomes: LoggedOutcomes::default(),
            listeners: ToldListeners::default(),
            served: BTreeMap::new(),
            power_losses: Vec::new(),
            synced_since: vec![0; sites + 1],
            sync_asked: vec![0; sites + 1],
            statistics: RunStatistics::new(sites),
            storages: storages::Storages::default(),
            snapshots,
            archives,
            failure: None,
            tell: bounds.tell,
            profile,
            random,
        };
        world.set_out(sites);
        world
    }

    /// The first events.
    fn set_out(&mut self, sites: usize) {
        for site in 1..=sites {
            let after = self.random.around(10_000 * MICROSECOND);
            self.agenda.plan(self.now + after, SimulatedEvent::Fault(crate::faults::Fault::Start { site }));
            self.plan_snapshot(site);
            self.plan_archiving(site);
        }
        for client in 0..self.clients.len() {
            let after = self.random.around(200_000 * MICROSECOND);
            self.agenda.plan(self.now + after, SimulatedEvent::Client { client, request: 0 });
        }
        if self.stormy {
            self.plan_next_fault();
        }
    }

    /// Nothing has happened yet, and this is the time.
    fn begin_at(&mut self, now: u64) {
        self.now = now;
        self.agenda = Agenda::default();
        self.set_out(self.sites());
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.statistics.events
    }

    /// Number of sites.
    pub fn sites(&self) -> usize {
        self.machines.len() - 1
    }

    fn machine(&mut self, site: usize) -> &mut SimulatedMachine {
        self.machines[site].as_mut().expect("sites are numbered from 1")
    }

    fn look(&self, site: usize) -> &SimulatedMachine {
        self.machines[site].as_ref().expect("sites are numbered from 1")
    }

    /// Lets things happen until this true time, or a failure.
    pub fn run_until(&mut self, until: u64, events_max: u64) {
        while self.failure.is_none() && self.agenda.next_time().is_some_and(|time| time <= until) {
            if self.statistics.events >= EVENTS_MAX {
                let situation = self.situation();
                return self.fail(format!("{EVENTS_MAX} events and no end:\n{situation}"));
            }
            if self.statistics.events >= events_max {
                return;
            }
            let (time, event) = self.agenda.pop().expect("its time was seen");
            assert!(time >= self.now, "time goes up");
            self.now = time;
            self.statistics.events += 1;
            self.happen(event);
        }
        if self.failure.is_none() {
            self.now = self.now.max(until);
        }
    }

    /// One event. What meets a process that is away waits until it is back.
    fn happen(&mut self, event: SimulatedEvent) {
        if let Some(away_until) = self.away(&event)
            && away_until > self.now
        {
            self.agenda.plan(away_until, event);
            return;
        }
        self.note(&event);
        match event {
            SimulatedEvent::Message { from, to, generation, bytes } => self.arrive(from, to, generation, &bytes),
            SimulatedEvent::Tick { site, start } => self.tick(site, start),
            SimulatedEvent::GoOn { site, start } => self.come_back(site, start),
            SimulatedEvent::Synced { site, start } => self.synced(site, start),
            SimulatedEvent::Notice { site, start, notice } => self.notice(site, start, notice),
            SimulatedEvent::Connect { a, b } => self.connect(a, b),
            SimulatedEvent::Stalled { a, b } => self.stalled(a, b),
            SimulatedEvent::Request { site, session, request } => self.request(site, session, request),
            SimulatedEvent::Turn { site } => self.turn(site),
            SimulatedEvent::Snapshot { site } => self.snapshot(site),
            SimulatedEvent::Archive { site } => self.archive(site),
            SimulatedEvent::LifeOver { site, sessions } => self.life_over(site, &sessions),
            SimulatedEvent::Reply { client, session, reply } => self.reply(client, session, reply),
            SimulatedEvent::Client { client, request } => self.client(client, request),
            SimulatedEvent::Oracle { start } => self.oracle_synced(start),
            SimulatedEvent::NextFault => self.next_fault(),
            SimulatedEvent::Fault(fault) => self.strike(fault),
        }
    }

    /// Until when the process that an event is for is away.
    fn away(&self, event: &SimulatedEvent) -> Option<u64> {
        match event {
            SimulatedEvent::Message { to: 0, .. } | SimulatedEvent::Oracle { .. } => Some(self.oracle.away_until),
            SimulatedEvent::Message { to: site, .. }
            | SimulatedEvent::Tick { site, .. }
            | SimulatedEvent::GoOn { site, .. }
            | SimulatedEvent::Synced { site, .. }
            | SimulatedEvent::Notice { site, .. }
            | SimulatedEvent::Turn { site }
            | SimulatedEvent::Snapshot { site }
            | SimulatedEvent::Archive { site }
            | SimulatedEvent::Request { site, .. } => Some(self.look(*site).away_until),
            _ => None,
        }
    }

    /// Mixes an event into the trace.
    fn note(&mut self, event: &SimulatedEvent) {
        let (kind, detail) = match event {
            SimulatedEvent::Message { from, to, bytes, .. } => {
                (1, (*from as u64) << 48 | (*to as u64) << 40 | u64::from(crc32fast::hash(bytes)))
            }
            SimulatedEvent::Tick { site, start } => (2, (*site as u64) << 32 | u64::from(*start)),
            SimulatedEvent::Synced { site, .. } => (3, *site as u64),
            SimulatedEvent::Notice { site, .. } => (4, *site as u64),
            SimulatedEvent::Connect { a, b } => (5, (*a as u64) << 8 | *b as u64),
            SimulatedEvent::Stalled { a, b } => (6, (*a as u64) << 8 | *b as u64),
            SimulatedEvent::Request { site, session, .. } => (7, (*site as u64) << 32 | session.0),
            SimulatedEvent::Reply { client, session, .. } => (8, (*client as u64) << 32 | session.0),
            SimulatedEvent::Client { client, request } => (9, (*client as u64) << 32 | request),
            SimulatedEvent::Oracle { .. } => (10, 0),
            SimulatedEvent::NextFault => (11, 0),
            SimulatedEvent::Fault(_) => (12, 0),
            SimulatedEvent::GoOn { site, .. } => (13, *site as u64),
            SimulatedEvent::LifeOver { site, sessions } => (14, (*site as u64) << 32 | sessions.len() as u64),
            SimulatedEvent::Turn { site } => (15, *site as u64),
            SimulatedEvent::Snapshot { site } => (16, *site as u64),
            SimulatedEvent::Archive { site } => (17, *site as u64),
        };
        self.statistics.mix(self.now, kind, detail);
    }

    /// Notes that something went wrong, the first time.
    fn fail(&mut self, what: String) {
        if self.tell {
            eprintln!("{:>12.6} FAILURE {what}", self.now as f64 / 1e9);
        }
        if self.failure.is_none() {
            self.failure = Some(format!("at {:.6} s: {what}", self.now as f64 / 1e9));
        }
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.tell {
            eprintln!("{:>12.6} {}", self.now as f64 / 1e9, what());
        }
    }

    /// What the run came to, so far.
    pub fn into_result(mut self) -> (RunStatistics, Option<String>) {
        self.statistics.virtual_time = self.now;
        let moves: u64 = self.machines.iter().flatten().map(SimulatedMachine::moves).sum();
        if moves > 0 {
            self.statistics.other.insert("servers moved", moves);
        }
        let companions: u64 = self.machines.iter().flatten().map(SimulatedMachine::companions).sum();
        if companions > 0 {
            self.statistics.other.insert("programs committed with others", companions);
        }
        let gathered: u64 = self.machines.iter().flatten().map(SimulatedMachine::gathered).sum();
        if gathered > 0 {
            self.statistics.other.insert("transactions gathered", gathered);
        }
        let stalls: u64 = self.machines.iter().flatten().map(SimulatedMachine::stalls).sum();
        if stalls > 0 {
            self.statistics.faults.insert("pause inside a step", stalls);
        }
        (self.statistics, self.failure)
    }
}
