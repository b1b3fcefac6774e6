//! What kind of world a run simulates: drawn once from its seed.
//!
//! Invariant: everything in it lies within what the design promises to bear: clock rates within the margin of a lease, wall clocks that
//! sites believe, disks that come back.

use crate::faults::FaultKind;
use crate::limits::MICROSECOND;
use crate::network::Weather;
use crate::random::SeededRandom;
use crate::workload::Mix;
use access_manager::limits::TOUCHED_MAX;
use domain::{POINTS_MAX, ROUND_PACE};
use messages::LeaseLength;
use messages::concurrency::Method;
use messages::limits::{MILLISECOND, PRIVATE_CHUNK_ROWS, SECOND};

/// A kind of world.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The concurrency-control method.
    pub method: Method,
    /// Fewer up copies than this, and commits wait for the disk.
    pub required_copies: u16,
    /// Items of a storage that a transaction commit-locks one by one, at most.
    pub points_max: usize,
    /// Rows committed ahead at a time into a storage that its transaction made itself.
    pub chunk_rows: usize,
    /// Bytes of row versions a site keeps in memory.
    pub memory_bytes_max: usize,
    /// Bytes that a site may have installed and not in its store before its transactions wait.
    pub unposted_bytes_max: usize,
    /// Bytes of old versions a site keeps for snapshots.
    pub old_version_bytes_max: usize,
    /// Writes a site remembers per storage for checking ranges.
    pub recent_writes_max: usize,
    /// Rows that a transaction touches which a site checks at once.
    pub touched_max: usize,
    /// How far apart rounds of commits begin while one is on its way.
    pub round_pace: u64,
    /// How long a site's process gathers what clients ask before its servers are given it; 0: they are given each by itself.
    pub turn: u64,
    /// So long after a life has begun, sessions of the one before hear that it is over: whoever serves clients is another thread, or process.
    pub life_told_after: u64,
    /// Clocks run at most so much too fast or slow, in parts per million.
    pub clock_rate_max: i64,
    /// Pauses inside a process: mean number of messages between two, mean length.
    pub stalls: (u64, u64),
    /// Mean time of a sync.
    pub sync_latency: u64,
    /// How messages travel.
    pub weather: Weather,
    /// Which faults happen, by weight.
    pub faults: Vec<(FaultKind, u64)>,
    /// Mean time between two faults.
    pub fault_every: u64,
    /// How long a dead process stays dead, on average.
    pub dead_for: u64,
    /// How long leases last.
    pub leases: LeaseProfile,
    /// Whether the hosts of all sites are late now and then; otherwise of one in three.
    pub late_hosts: bool,
    /// What clients do.
    pub mix: Mix,
}

/// How long the leases are that sites ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseProfile {
    /// The same everywhere.
    Equal(LeaseLength),
    /// Each process of a site has a setting of its own.
    Mixed,
    /// Each process of a site has the shortest or the longest.
    Extreme,
}

/// Lengths that sites are set to, in milliseconds.
const LEASES_MS: [u64; 6] = [LeaseLength::MIN.milliseconds(), 250, 400, 600, 800, LeaseLength::MAX.milliseconds()];

impl LeaseProfile {
    /// For a process that starts.
    pub fn draw(self, random: &mut SeededRandom) -> LeaseLength {
        match self {
            LeaseProfile::Equal(length) => length,
            LeaseProfile::Mixed => any_lease(random),
            LeaseProfile::Extreme => *random.pick(&[LeaseLength::MIN, LeaseLength::MAX]),
        }
    }

    /// About how long a lease lasts.
    pub fn usual(self) -> LeaseLength {
        match self {
            LeaseProfile::Equal(length) => length,
            LeaseProfile::Mixed | LeaseProfile::Extreme => LeaseLength::DEFAULT,
        }
    }
}

fn any_lease(random: &mut SeededRandom) -> LeaseLength {
    LeaseLength::from_milliseconds(*random.pick(&LEASES_MS)).expect("it is in range")
}

impl Profile {
    /// Nothing goes wrong.
    pub fn calm(random: &mut SeededRandom, sites: usize, counters: bool) -> Profile {
        Profile {
            method: Method::Locking,
            required_copies: 2,
            points_max: POINTS_MAX,
            chunk_rows: PRIVATE_CHUNK_ROWS,
            memory_bytes_max: 1 << 30,
            unposted_bytes_max: 1 << 28,
            old_version_bytes_max: 1 << 28,
            recent_writes_max: 1 << 14,
            touched_max: TOUCHED_MAX,
            round_pace: ROUND_PACE,
            turn: 0,
            life_told_after: 20 * MILLISECOND,
            clock_rate_max: 1,
            stalls: (0, 0),
            sync_latency: MILLISECOND,
            weather: Weather::calm(),
            faults: Vec::new(),
            fault_every: SECOND,
            dead_for: SECOND,
            leases: LeaseProfile::Equal(LeaseLength::DEFAULT),
            late_hosts: false,
            mix: Mix::draw(random, sites, counters),
        }
    }

    /// In some runs the schemas of tables change. By a chance of their own: what has been chosen for longer stays what it was for a seed.
    pub fn change_schemas(&mut self, mut random: SeededRandom) {
        if !random.one_in(3) {
            return;
        }
        self.chunk_rows = *random.pick(&[1, 2, 4, 16]);
        self.mix.tables = random.between(1, 4);
        self.mix.changing = *random.pick(&[2, 3, 8]);
        self.mix.rows_each = *random.pick(&[1, 3, 8, 20]);
        if random.one_in(4) {
            // All lose power again and again, with logs that end where they happen to: what names rows must not outlive them.
            self.faults = vec![
                (FaultKind::PowerLossEverywhere, 4),
                (FaultKind::PowerLoss, 2),
                (FaultKind::SlowDisk, 3),
                (FaultKind::Cut, 2),
                (FaultKind::KillMany, 1),
            ];
            self.fault_every = 700 * MILLISECOND;
            self.weather.loss = 20_000;
            self.weather.streams = false;
            self.required_copies = 2;
        }
    }

    /// In some runs clients set the method of concurrency control, of all sites or of one, and sites begin with any.
    pub fn switch_methods(&mut self, mut random: SeededRandom, sites: usize) {
        if !random.one_in(3) {
            return;
        }
        self.method = *random.pick(&Method::ALL);
        self.mix.switching = *random.pick(&[2, 5, 20]);
        self.mix.sites = sites as u64;
    }

    /// In some runs clients work on parents and children.
    pub fn raise_families(&mut self, mut random: SeededRandom) {
        if !random.one_in(3) {
            return;
        }
        self.mix.families = random.between(2, 6);
        self.mix.raising = *random.pick(&[2, 3, 6]);
    }

    /// In some runs clients ask for less than the strict isolation level.
    pub fn weaken_levels(&mut self, mut random: SeededRandom) {
        if random.one_in(3) {
            self.mix.levels = *random.pick(&[1, 2, 5]);
        }
    }

    /// In some runs disks go back in time. What was known to the oracle and the disks alone that go back is lost: so the oracle keeps its own there.
    pub fn put_disks_back(&mut self, mut random: SeededRandom) {
        if !random.one_in(4) {
            return;
        }
        self.faults.retain(|(kind, _)| *kind != FaultKind::OracleRestore);
        let others: u64 = self.faults.iter().map(|(_, weight)| weight).sum();
        self.faults.push((FaultKind::DiskBack, random.between(2, 8 + others / 2)));
        if random.one_in(2) {
            // Little else goes wrong, so that others count on much of what goes.
            self.faults = vec![
                (FaultKind::DiskBack, 8),
                (FaultKind::Kill, 2),
                (FaultKind::KillMany, 1),
                (FaultKind::Checkpoint, 3),
            ];
            self.fault_every = *random.pick(&[700, 1_500]) * MILLISECOND;
        }
    }

    /// A world for this run.
    pub fn draw(random: &mut SeededRandom, sites: usize, counters: bool) -> Profile {
        let mut profile = Profile::calm(random, sites, counters);
        if random.one_in(2) {
            profile.method = Method::Optimistic;
        }
        // Of a fork of a copy: what has been chosen for longer stays what it was for a seed.
        let mut newer = random.clone().fork();
        if newer.one_in(4) {
            profile.points_max = *newer.pick(&[0, 1, 2]);
        }
        if random.one_in(2) {
            profile.memory_bytes_max = 1 << 12;
            if newer.one_in(4) {
                profile.unposted_bytes_max = 1 << 11;
            }
        }
        if newer.one_in(4) {
            profile.touched_max = *newer.pick(&[0, 1, 2]);
        }
        if newer.one_in(2) {
            profile.turn = *newer.pick(&[20, 200, 2_000]) * MICROSECOND;
        }
        if newer.one_in(2) {
            profile.life_told_after = *newer.pick(&[1, 200, 1_000]) * MILLISECOND;
        }
        profile.recent_writes_max = *random.pick(&[1, 2, 20, 1 << 14]);
        profile.clock_rate_max = *random.pick(&[100, 10_000, 20_000]);
        profile.stalls = match random.below(4) {
            0 => (0, 0),
            1 => (20_000, 5 * MILLISECOND),
            2 => (60_000, 300 * MILLISECOND),
            _ => (12_000, 450 * MILLISECOND),
        };
        profile.sync_latency = *random.pick(&[200 * MICROSECOND, 2 * MILLISECOND, 15 * MILLISECOND]);
        profile.weather = weather(random);
        profile.fault_every = *random.pick(&[150, 400, 1_000, 2_500]) * MILLISECOND;
        profile.dead_for = *random.pick(&[5, 60, 500, 1_500]) * MILLISECOND;
        if counters && random.one_in(3) {
            profile.old_version_bytes_max = *random.pick(&[200, 1 << 10, 1 << 12]);
        }
        profile.leases = match random.below(4) {
            0 => profile.leases,
            1 => LeaseProfile::Equal(any_lease(random)),
            2 => LeaseProfile::Mixed,
            _ => LeaseProfile::Extreme,
        };
        for kind in FaultKind::ALL.iter().filter(|kind| kind.is_for_any_run()) {
            let weight = *random.pick(&[0, 0, 1, 2, 6]);
            if weight > 0 {
                profile.faults.push((*kind, weight * kind.weight()));
            }
        }
        if random.one_in(2) {
            // One round at a time, unless it takes long: what is committed under load is so with others.
            profile.round_pace = SECOND;
            if random.one_in(2) {
                profile.mix.clients = profile.mix.clients.max(4 * sites);
                profile.mix.pause = MILLISECOND;
            }
        }
        if profile.touched_max < TOUCHED_MAX && newer.one_in(2) {
            // Others have their turn amid what is done in steps.
            profile.stalls = (60, 8 * MILLISECOND);
        }
        profile
    }
}

fn weather(random: &mut SeededRandom) -> Weather {
    let calm = Weather::calm();
    let latency = *random.pick(&[50 * MICROSECOND, 200 * MICROSECOND, 2 * MILLISECOND, 15 * MILLISECOND]);
    let jitter = *random.pick(&[latency / 4, latency, 5 * latency]);
    let streams = random.one_in(2);
    let stragglers = *random.pick(&[0, 0, 500, 5_000]);
    let straggling = *random.pick(&[20, 200, 900]) * MILLISECOND;
    if streams {
        return Weather { latency, jitter, ..calm };
    }
    Weather {
        streams,
        latency,
        jitter,
        loss: *random.pick(&[0, 1_000, 20_000, 100_000]),
        duplicates: *random.pick(&[0, 5_000, 100_000]),
        second_late: 0,
        stragglers,
        straggling,
    }
}
