//! One simulated machine: clocks, disk, and the process of a site on it.
//!
//! Invariants: a process has one life after another, each with an incarnation that the oracle gave it; killing the process loses nothing
//! that was appended to the log, losing power loses what was not synced; a paused process does nothing, but its clocks go on.

use crate::bounds::RunBounds;
use crate::clock::MachineClock;
use crate::faults::CopyPart;
use crate::limits;
use crate::mover::Mover;
use crate::profile::{LeaseProfile, Profile};
use crate::random::SeededRandom;
use crate::seat::Seat;
use access_manager::MemoryStore;
use commit_log::{Log, MemoryLog, Position};
use domain::{Domain, DomainSettings, DomainStartError, Turns};
use messages::planted::{Bug, Planted};
use messages::schema::Catalog;
use messages::{Envelope, Incarnation, Key, LastWords, Now, Row, SessionId, SiteId, Timestamp};
use std::collections::BTreeMap;

/// What runs on a machine.
pub enum MachineProcess {
    /// Nothing: only what is on disk, or in the kernel's memory, remains.
    Dead(MemoryLog),
    /// It waits for the oracle to give it a life.
    Asking {
        /// Its log.
        log: MemoryLog,
        /// Names the request.
        nonce: u64,
        /// When it may ask again.
        ask_at: u64,
    },
    /// The servers run.
    Running(Box<Domain<MemoryLog>>),
    /// In between, within one event.
    Nowhere,
}

/// A disk with its moods.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk {
    /// A sync is under way.
    pub syncing: bool,
    /// Syncs fail from now on.
    pub failing: bool,
    /// No room.
    pub full: bool,
    /// Added to every sync.
    pub slow: u64,
}

/// A copy of a disk.
pub struct DiskCopy {
    /// When it was made (true time).
    pub at: u64,
    log: MemoryLog,
    store: MemoryStore,
}

/// A machine and the site on it.
pub struct SimulatedMachine {
    /// Which site.
    pub site: usize,
    /// Its clocks.
    pub clock: MachineClock,
    /// Its disk.
    pub disk: Disk,
    /// What runs.
    pub process: MachineProcess,
    /// Counted up at each start of the process and of each life: what was planned for an earlier one is void.
    pub start: u32,
    /// The last incarnation.
    pub incarnation: Incarnation,
    /// Not scheduled before this (true time): paused, or busy.
    pub away_until: u64,
    /// The servers asked for the new life themselves.
    again: bool,
    /// Sessions of its clients.
    pub sessions: BTreeMap<SessionId, Seat>,
    /// What its last life has left open, for the next one.
    words: LastWords,
    /// What has been asked of its servers in this turn of its process, of whichever life.
    pub asked: Vec<Envelope>,
    /// The epoch in which it last said that it serves, and when.
    pub serving: Option<(std::sync::Arc<messages::Epoch>, u64)>,
    /// What its servers have told of the catalog, in this life.
    pub catalog: Catalog,
    /// Log records before this position have been looked at by checkers.
    pub looked_at: Position,
    /// Copies of its disk that somebody has made, oldest first, and the part of one that is put back before the process starts.
    pub copies: Vec<DiskCopy>,
    /// See [`SimulatedMachine::copies`].
    pub goes_back: Option<(usize, CopyPart)>,
    /// Its disk has gone back, and it was not made up since. True time of the copy.
    pub set_back: Option<u64>,
    /// Nothing of its log is given up before an archive has it.
    pub keeps_log: bool,
    store: MemoryStore,
    settings: DomainSettings,
    /// Its host is late now and then.
    is_late: bool,
    /// Chance of this machine alone: pauses between messages.
    random: SeededRandom,
    mover: Mover,
    turns: Turns,
    /// How long the leases are that a process of it asks for.
    leases: LeaseProfile,
    stall: Stall,
    /// Mean time of a sync.
    sync_latency: u64,
}

/// Pauses of a process between any two messages inside it.
#[derive(Clone, Copy, Debug)]
struct Stall {
    /// Messages until the next pause.
    left: u64,
    /// Mean number of messages between pauses; 0: none.
    every: u64,
    /// Mean length.
    length: u64,
    /// How many there were.
    count: u64,
}

impl SimulatedMachine {
    /// A machine with an empty disk.
    pub fn new(
        site: usize,
        sites: usize,
        random: &mut SeededRandom,
        profile: &Profile,
        planted: Planted,
        bounds: RunBounds,
    ) -> SimulatedMachine {
        let settings = DomainSettings {
            site: SiteId(site as u16),
            incarnation: Incarnation(0),
            sites: (1..=sites as u16).map(SiteId).collect(),
            lease: profile.leases.draw(random),
            method: profile.method,
            points_max: profile.points_max,
            rules: std::sync::Arc::default(),
            chunk_rows: profile.chunk_rows,
            memory_bytes_max: profile.memory_bytes_max,
            unposted_bytes_max: profile.unposted_bytes_max,
            old_version_bytes_max: profile.old_version_bytes_max,
            recent_writes_max: profile.recent_writes_max,
            touched_max: profile.touched_max,
            round_pace: profile.round_pace,
            seed: random.draw(),
            planted,
        };
        let mut random = random.fork();
        let (every, length) = profile.stalls;
        let left = if every > 0 { random.around(every) + 1 } else { u64::MAX };
        SimulatedMachine {
            site,
            clock: MachineClock::new(&mut random, 0, profile.clock_rate_max),
            disk: Disk::default(),
            process: MachineProcess::Dead(MemoryLog::new()),
            start: 0,
            incarnation: Incarnation(0),
            away_until: 0,
            again: false,
            sessions: BTreeMap::new(),
            words: LastWords::default(),
            asked: Vec::new(),
            serving: None,
            catalog: Catalog::default(),
            looked_at: Position::START,
            copies: Vec::new(),
            goes_back: None,
            set_back: None,
            keeps_log: false,
            store: MemoryStore::new(),
            mover: Mover::new(settings.seed, bounds.moves),
            turns: if bounds.turns { Turns::Always } else { Turns::Never },
            leases: profile.leases,
            is_late: !bounds.calm && (profile.late_hosts || settings.seed.is_multiple_of(3)),
            settings,
            stall: Stall { left, every, length, count: 0 },
            sync_latency: profile.sync_latency,
            random,
        }
    }

    /// The servers, while they run.
    pub fn domain(&self) -> Option<&Domain<MemoryLog>> {
        match &self.process {
            MachineProcess::Running(domain) => Some(domain),
            _ => None,
        }
    }

    /// Whether a process exists.
    pub fn is_alive(&self) -> bool {
        matches!(self.process, MachineProcess::Asking { .. } | MachineProcess::Running(_))
    }

    /// How long the leases are that its process asks for.
    pub fn lease(&self) -> u64 {
        self.settings.lease.nanoseconds()
    }

    /// How late its host was at this tick: in a part of the runs leases get longer by that, and shrink again.
    pub fn lateness(&mut self) -> u64 {
        if !self.is_late || !self.random.one_in(limits::LATE_ONE_IN) {
            return 0;
        }
        self.random.around(limits::LATENESS)
    }

    /// No more pauses between messages.
    pub fn steady(&mut self) {
        self.stall = Stall { left: u64::MAX, every: 0, length: 0, ..self.stall };
    }

    /// How often it has paused between two messages of one step.
    pub fn stalls(&self) -> u64 {
        self.stall.count
    }

    /// How often a server of it was moved.
    pub fn moves(&self) -> u64 {
        self.mover.moved
    }

    /// Programs that have committed in the transaction of another, in this life.
    pub fn companions(&self) -> u64 {
        self.domain().map_or(0, |domain| domain.companions().committed)
    }

    /// Transactions that have committed in a round of others, in this life.
    pub fn gathered(&self) -> u64 {
        self.domain().map_or(0, |domain| domain.commits().committed_together)
    }

    /// The log, wherever it is.
    pub fn log(&self) -> &MemoryLog {
        match &self.process {
            MachineProcess::Dead(log) | MachineProcess::Asking { log, .. } => log,
            MachineProcess::Running(domain) => domain.log(),
            MachineProcess::Nowhere => unreachable!("a process is somewhere between events"),
        }
    }

    /// The log, to change its disk.
    pub fn log_mut(&mut self) -> &mut MemoryLog {
        match &mut self.process {
            MachineProcess::Dead(log) | MachineProcess::Asking { log, .. } => log,
            MachineProcess::Running(domain) => domain.log_mut(),
            MachineProcess::Nowhere => unreachable!("a process is somewhere between events"),
        }
    }

    fn take_log(&mut self) -> MemoryLog {
        match std::mem::replace(&mut self.process, MachineProcess::Nowhere) {
            MachineProcess::Dead(log) | MachineProcess::Asking { log, .. } => log,
            MachineProcess::Running(domain) => domain.into_log(),
            MachineProcess::Nowhere => unreachable!("a process is somewhere between events"),
        }
    }

    fn end(&mut self) -> MemoryLog {
        self.start += 1;
        self.away_until = 0;
        self.serving = None;
        self.disk.syncing = false;
        self.take_log()
    }

    /// The process ends, and what it has been asked with it.
    fn end_process(&mut self) -> MemoryLog {
        self.asked.clear();
        self.words = LastWords::default();
        self.end()
    }

    /// SIGKILL: what was appended stays.
    pub fn kill(&mut self) {
        let mut log = self.end_process();
        log.restart();
        self.process = MachineProcess::Dead(log);
    }

    /// Power fails: what was not synced is gone, but for a random part of it.
    pub fn lose_power(&mut self, now: u64) {
        let mut log = self.end_process();
        let (synced, appended) = (log.synced().0, log.appended().0);
        let keep = match self.random.below(3) {
            0 => synced,
            _ => self.random.between(synced, appended + 1),
        };
        log.power_loss(Position(keep), self.random.one_in(2));
        self.store.power_loss(self.random.index(self.store.unsynced() + 1));
        self.looked_at = Position::START;
        self.clock.power_up(&mut self.random, now);
        self.process = MachineProcess::Dead(log);
    }

    /// The process starts, over a disk that has been repaired.
    pub fn begin_process(&mut self, now: u64) {
        let mut log = self.end_process();
        self.settings.lease = self.leases.draw(&mut self.random);
        self.again = false;
        self.disk.failing = false;
        self.disk.full = false;
        log.fail_sync(false);
        log.set_full(false);
        self.store.hold(false);
        self.process = MachineProcess::Asking { log, nonce: self.random.draw(), ask_at: now };
    }

    /// Somebody copies the disk.
    pub fn copy_disk(&mut self, at: u64) {
        let mut log = self.log().clone();
        log.restart();
        log.fail_sync(false);
        log.set_full(false);
        self.copies.push(DiskCopy { at, log, store: self.store.copied() });
    }

    /// Its store finishes nothing more, or goes on.
    pub fn hold_store(&mut self, held: bool) {
        self.store.hold(held);
    }

    /// What a copy of its store has.
    pub fn copied_store(&self) -> MemoryStore {
        self.store.copied()
    }

    /// Store and log as they were made from a snapshot, before anything runs.
    pub fn set_up(&mut self, store: MemoryStore, log: MemoryLog) {
        self.process = MachineProcess::Dead(log);
        self.store = store;
    }

    /// Puts back a part of the copy of this number, while no process is there.
    pub fn put_back(&mut self, copy: usize, part: CopyPart) {
        let DiskCopy { at, log, store } = &self.copies[copy];
        let (at, log, store) = (*at, log.clone(), store.copied());
        if part != CopyPart::Store {
            self.process = MachineProcess::Dead(log);
            self.looked_at = Position::START;
        }
        if part != CopyPart::Log {
            self.store = store;
        }
        self.set_back = Some(self.set_back.map_or(at, |before| before.min(at)));
        // Nobody puts back what was given up.
        self.copies.truncate(copy + 1);
    }

    /// Log and store are set aside: it goes on as an empty copy.
    pub fn repair(&mut self) {
        self.process = MachineProcess::Dead(MemoryLog::new());
        self.store = MemoryStore::new();
        self.looked_at = Position::START;
    }

    /// The servers are thrown away; process, log and store stay. Returns what they have answered last.
    pub fn start_again(&mut self, now: u64) -> Vec<Envelope> {
        let mut answers = Vec::new();
        if let MachineProcess::Running(domain) = &mut self.process {
            self.words = domain.last_words().unwrap_or_default();
            answers = domain.take_effects().local;
        }
        let log = self.end();
        self.again = true;
        self.process = MachineProcess::Asking { log, nonce: self.random.draw(), ask_at: now };
        answers
    }

    /// The oracle has given a life. Errors: the log cannot be replayed.
    pub fn begin_life(&mut self, incarnation: Incarnation, planted: Planted) -> Result<(), DomainStartError> {
        let log = self.take_log();
        self.start += 1;
        // A process that was killed believes to be the one that it was.
        let plant = planted.is(Bug::RebootKeepsIncarnation) || planted.is(Bug::SealOnlyInMemory);
        let keeps = plant && !self.again && self.incarnation > Incarnation(0);
        let incarnation = if keeps { self.incarnation } else { incarnation };
        self.incarnation = incarnation;
        let settings = DomainSettings { incarnation, seed: self.random.draw(), ..self.settings.clone() };
        let mut domain = Domain::start(settings, log, Box::new(self.store.reopened()))?;
        if self.keeps_log {
            domain.keep_log_from(Some(domain.log().first()));
        }
        domain.take_over(std::mem::take(&mut self.words));
        domain.give_turns(self.turns);
        self.catalog = Catalog::default();
        let rows = domain.catalog_rows()?;
        self.process = MachineProcess::Running(Box::new(domain));
        self.take_catalog(&rows).expect("what the servers tell of the catalog can be read");
        Ok(())
    }

    /// Takes rows of the catalog, as a user interface does. Errors: one cannot be read.
    pub fn take_catalog(&mut self, rows: &[(Key, Timestamp, Option<Row>)]) -> Result<(), String> {
        for (key, version, row) in rows {
            let taken = self.catalog.apply(key.as_bytes(), *version, row.as_deref());
            taken.map_err(|error| format!("site {} tells of a catalog row that cannot be read: {error}", self.site))?;
        }
        Ok(())
    }

    /// Lets the servers do something, from this true time on. Returns when they are done: time passes between messages.
    pub fn act(&mut self, now: u64, act: impl FnOnce(&mut Domain<MemoryLog>, &mut domain::Clock<'_>)) -> u64 {
        let SimulatedMachine { process, clock, random, stall, mover, .. } = self;
        let MachineProcess::Running(domain) = process else { return now };
        mover.step(domain);
        let mut elapsed = 0;
        let mut read = || -> Now {
            stall.left -= 1;
            if stall.left == 0 {
                stall.count += 1;
                elapsed += random.around(stall.length);
                stall.left = 1 + random.around(stall.every);
            }
            clock.at(now + elapsed)
        };
        act(domain, &mut read);
        let done = now + elapsed;
        self.away_until = self.away_until.max(done);
        done
    }

    /// How long the sync that was asked for takes.
    pub fn sync_latency(&mut self) -> u64 {
        self.sync_latency / 2 + self.random.around(self.sync_latency) + self.disk.slow
    }

    /// The envelope of something said inside the site.
    pub fn inside(&self, from: messages::ServerKind, to: messages::ServerKind, message: messages::Message) -> Envelope {
        let site = SiteId(self.site as u16);
        Envelope {
            from_site: site,
            from,
            to_site: site,
            to,
            epoch: messages::EpochNumber(0),
            incarnation: self.incarnation,
            message,
        }
    }
}

const _: () = assert!(limits::INCARNATE_AGAIN >= limits::TICK, "a site asks for a life when it ticks");
