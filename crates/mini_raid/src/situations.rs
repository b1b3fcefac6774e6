//! Situations: worlds in which one rare kind of accident is common, while little else goes wrong.
//!
//! A world that is drawn from all faults at once seldom meets what needs several things at the same moment: an outsider that still holds a lease, a
//! total failure in the middle of a vote, an increment of a row that is just being posted. A situation gives a run the load, the limits and the faults
//! that bring such moments about again and again. Invariant: its world lies within what the design promises to bear, as every [`Profile`] does.

use crate::faults::FaultKind;
use crate::network::Weather;
use crate::profile::{LeaseProfile, Profile};
use crate::random::SeededRandom;
use messages::LeaseLength;
use messages::limits::{MILLISECOND, SECOND};
use messages::planted::{Bug, Planted};

/// Which situations runs are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situations {
    /// None.
    Never,
    /// By their seeds: one run of three is in any; where a bug is planted that shows in one, two of three are in that.
    BySeed,
    /// This one.
    Only(Situation),
}

/// What is common in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// Sites are given up while they hold leases, and read.
    Outsiders,
    /// Rows are added to while they are posted, replayed and copied.
    Increments,
    /// What is done in steps is interrupted.
    LongSteps,
    /// All sites go, or all but one, in the middle of commits.
    TotalFailures,
    /// Storages come and go while sites are away.
    Storages,
    /// Sites lose their place in the middle of commits, and their clients ask the next life.
    LostPlaces,
    /// Everybody wants the same rows, and messages come late and twice.
    Crowds,
    /// The oracle forgets.
    Oracles,
}

impl Situation {
    /// All of them.
    pub const ALL: [Situation; 8] = [
        Situation::Outsiders,
        Situation::Increments,
        Situation::LongSteps,
        Situation::TotalFailures,
        Situation::Storages,
        Situation::LostPlaces,
        Situation::Crowds,
        Situation::Oracles,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Situation::Outsiders => "outsiders",
            Situation::Increments => "increments",
            Situation::LongSteps => "long-steps",
            Situation::TotalFailures => "total-failures",
            Situation::Storages => "storages",
            Situation::LostPlaces => "lost-places",
            Situation::Crowds => "crowds",
            Situation::Oracles => "oracles",
        }
    }
}

/// Where a bug shows that is seldom found elsewhere.
const SHOWN_IN: &[(Bug, Situation)] = &[
    (Bug::NoLeaseCheck, Situation::Outsiders),
    (Bug::LeaseFromReceipt, Situation::Outsiders),
    (Bug::GrantAfterSeal, Situation::Outsiders),
    (Bug::ShrinkForgetsLonger, Situation::Outsiders),
    (Bug::OwnLeaseWaitedOut, Situation::Outsiders),
    (Bug::WaitOnlyForLatestEvictee, Situation::Outsiders),
    (Bug::IncrementsWhileJoining, Situation::Increments),
    (Bug::IncrementsReplayedTwice, Situation::Increments),
    (Bug::UnsettledNotLogged, Situation::Increments),
    (Bug::PostForgetsIncrements, Situation::Increments),
    (Bug::FloorOutlivesCopy, Situation::Increments),
    (Bug::IncrementsToStaleSkipped, Situation::Increments),
    (Bug::PostPassesInstall, Situation::LongSteps),
    (Bug::EpochPassesInstall, Situation::LongSteps),
    (Bug::MarkUnnamed, Situation::TotalFailures),
    (Bug::RestartFromAnyLog, Situation::TotalFailures),
    (Bug::NoSyncOnSoleSurvivor, Situation::TotalFailures),
    (Bug::TailNotLocked, Situation::TotalFailures),
    (Bug::PromotedDecidesAlone, Situation::TotalFailures),
    (Bug::PromotedLacksTables, Situation::TotalFailures),
    (Bug::EmptyUnlooked, Situation::Storages),
    (Bug::MarkApartFromBase, Situation::Storages),
    (Bug::ErrorsUnconfirmed, Situation::Storages),
    (Bug::ToldBeforeLogged, Situation::Storages),
    (Bug::VoidDropStands, Situation::Storages),
    (Bug::VoidedRowsReturn, Situation::Storages),
    (Bug::ReadBelowFloor, Situation::Storages),
    (Bug::DropPassesWrites, Situation::Storages),
    (Bug::GroupMemberAlone, Situation::LostPlaces),
    (Bug::OutcomesForgottenEarly, Situation::LostPlaces),
    (Bug::RepeatedLifeSpeaks, Situation::LostPlaces),
    (Bug::ToldBeforeServing, Situation::LostPlaces),
    (Bug::AbsentTakenForAbort, Situation::LostPlaces),
    (Bug::NoBecomesYes, Situation::Crowds),
    (Bug::AbortAnsweredEarly, Situation::Crowds),
    (Bug::DuplicatePrepareExecuted, Situation::Crowds),
    (Bug::DuplicateInstall, Situation::Crowds),
    (Bug::RestoredOracleTrusted, Situation::Oracles),
];

impl Situations {
    /// The one of a run, by this chance; who looks for a planted bug looks where it shows.
    pub fn draw(self, random: &mut SeededRandom, planted: Planted) -> Option<Situation> {
        let shown = || SHOWN_IN.iter().find(|(bug, _)| planted.is(*bug)).map(|(_, situation)| *situation);
        match self {
            Situations::Never => None,
            Situations::BySeed => match (shown(), random.one_in(3)) {
                (Some(_), true) | (None, false) => None,
                (Some(shown), false) => Some(shown),
                (None, true) => Some(*random.pick(&Situation::ALL)),
            },
            Situations::Only(situation) => Some(situation),
        }
    }
}

impl Profile {
    /// The run is in a situation.
    pub fn meet(&mut self, situation: Situation, random: &mut SeededRandom, sites: usize) {
        match situation {
            Situation::Outsiders => self.meet_outsiders(random, sites),
            Situation::Increments => self.meet_increments(random, sites),
            Situation::LongSteps => self.meet_long_steps(random, sites),
            Situation::TotalFailures => self.meet_total_failures(random, sites),
            Situation::Storages => self.meet_storages(random, sites),
            Situation::LostPlaces => self.meet_lost_places(random, sites),
            Situation::Crowds => self.meet_crowds(random, sites),
            Situation::Oracles => self.meet_oracles(random, sites),
        }
    }

    /// Nothing but lists, and a short way between the sites.
    fn plain(&mut self, random: &mut SeededRandom, clients: usize) {
        self.weather = Weather::calm();
        self.stalls = (0, 0);
        self.mix.clients = clients;
        self.mix.lists = random.between(1, 4);
        self.mix.registers = 1;
        self.mix.think = *random.pick(&[0, 1]) * MILLISECOND;
        self.mix.writing_site = None;
        (self.mix.counters, self.mix.tables, self.mix.families, self.mix.switching) = (0, 0, 0, 0);
        self.mix.crowd = None;
    }

    /// As over datagrams, some of which are lost, late or there twice.
    fn datagrams(&mut self, random: &mut SeededRandom) {
        self.weather.streams = false;
        self.weather.loss = *random.pick(&[0, 1_000, 20_000]);
        self.weather.duplicates = *random.pick(&[0, 20_000, 300_000]);
        self.weather.second_late = *random.pick(&[0, 40, 200]) * MILLISECOND;
        self.weather.stragglers = *random.pick(&[0, 5_000, 50_000]);
        self.weather.straggling = *random.pick(&[5, 20, 100]) * MILLISECOND;
    }

    fn meet_outsiders(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 4 * sites);
        // Readers who wait for nothing that is undecided, at all sites but one.
        self.mix.writing_site = Some(1 + random.index(sites));
        self.mix.lists = random.between(1, 3);
        self.mix.pause = *random.pick(&[3, 6]) * MILLISECOND;
        self.mix.think = 0;
        self.required_copies = 1;
        self.clock_rate_max = *random.pick(&[100, 20_000]);
        self.leases = match random.below(4) {
            0 => LeaseProfile::Equal(LeaseLength::DEFAULT),
            1 => LeaseProfile::Equal(LeaseLength::MIN),
            2 => LeaseProfile::Mixed,
            _ => LeaseProfile::Extreme,
        };
        self.late_hosts = random.one_in(2);
        self.faults = vec![(FaultKind::Outsider, 12), (FaultKind::LateLeases, 2), (FaultKind::Kill, 1)];
        self.fault_every = *random.pick(&[900, 1_500]) * MILLISECOND;
        self.dead_for = 60 * MILLISECOND;
    }

    fn meet_increments(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 2 * sites);
        self.datagrams(random);
        self.mix.counters = random.between(1, 4);
        self.mix.counting = 1;
        self.mix.increments_each = *random.pick(&[8, 30]);
        self.mix.making = 3;
        self.mix.pause = *random.pick(&[1, 3]) * MILLISECOND;
        self.weather.latency *= *random.pick(&[1, 10]);
        self.memory_bytes_max = *random.pick(&[1 << 9, 1 << 12]);
        self.unposted_bytes_max = *random.pick(&[1 << 10, 1 << 12, 1 << 28]);
        self.sync_latency = *random.pick(&[MILLISECOND, 15 * MILLISECOND]);
        self.faults = vec![
            (FaultKind::PostInterrupted, 8),
            (FaultKind::CopiesLate, 6),
            (FaultKind::Checkpoint, 3),
            (FaultKind::Isolate, 2),
            (FaultKind::PowerLoss, 1),
            (FaultKind::LeaveOne, 1),
        ];
        self.fault_every = *random.pick(&[600, 1_200]) * MILLISECOND;
        self.dead_for = *random.pick(&[5, 60, 400]) * MILLISECOND;
    }

    fn meet_long_steps(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 2 * sites);
        self.touched_max = *random.pick(&[0, 1]);
        self.stalls = *random.pick(&[(30, 3 * MILLISECOND), (60, 8 * MILLISECOND)]);
        self.mix.lists = random.between(3, 8);
        self.mix.statements = random.between(3, 7);
        self.mix.weights = [1, 1, 4, 1, 8, 2];
        self.mix.pause = *random.pick(&[3, 10]) * MILLISECOND;
        self.faults = vec![
            (FaultKind::PostInterrupted, 8),
            (FaultKind::CopiesLate, 4),
            (FaultKind::Kill, 3),
            (FaultKind::Isolate, 3),
        ];
        self.fault_every = *random.pick(&[600, 1_200]) * MILLISECOND;
        self.dead_for = *random.pick(&[5, 60]) * MILLISECOND;
    }

    fn meet_total_failures(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 2 * sites);
        if random.one_in(2) {
            self.datagrams(random);
        }
        self.mix.pause = *random.pick(&[2, 8]) * MILLISECOND;
        self.required_copies = *random.pick(&[2, 2, 3]);
        self.sync_latency = *random.pick(&[2 * MILLISECOND, 15 * MILLISECOND]);
        self.faults = vec![
            (FaultKind::LeaveOne, 8),
            (FaultKind::KillMany, 4),
            (FaultKind::PowerLossEverywhere, 3),
            (FaultKind::UnsyncedSurvivor, 5),
            (FaultKind::Relay, 6),
            (FaultKind::JoinerDies, 2),
            (FaultKind::ChainedTraps, 2),
        ];
        if sites > 1 && random.one_in(2) {
            self.faults.push((FaultKind::DiskBack, 6));
        }
        self.leases = LeaseProfile::Equal(LeaseLength::MIN);
        self.fault_every = *random.pick(&[600, 1_500]) * MILLISECOND;
        self.dead_for = *random.pick(&[20, 200]) * MILLISECOND;
    }

    fn meet_storages(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 2 * sites);
        self.mix.tables = random.between(1, 3);
        self.mix.changing = *random.pick(&[1, 2]);
        self.mix.rows_each = *random.pick(&[1, 3, 8]);
        self.mix.pause = *random.pick(&[2, 8]) * MILLISECOND;
        self.chunk_rows = *random.pick(&[1, 2, 4]);
        self.memory_bytes_max = *random.pick(&[1 << 9, 1 << 12, 1 << 30]);
        self.faults = vec![
            (FaultKind::Checkpoint, 6),
            (FaultKind::Kill, 4),
            (FaultKind::KillMany, 2),
            (FaultKind::Isolate, 3),
            (FaultKind::PowerLossEverywhere, 2),
            (FaultKind::LeaveOne, 2),
            (FaultKind::SoleSurvivor, 2),
        ];
        if sites > 1 && random.one_in(2) {
            self.faults.push((FaultKind::DiskBack, 4));
        }
        self.fault_every = *random.pick(&[200, 500]) * MILLISECOND;
        self.dead_for = *random.pick(&[5, 60, 500]) * MILLISECOND;
    }

    fn meet_lost_places(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 4 * sites);
        self.datagrams(random);
        self.mix.pause = MILLISECOND;
        self.mix.crowd = random.one_in(2).then_some(2);
        self.round_pace = *random.pick(&[SECOND, 2 * MILLISECOND]);
        self.life_told_after = *random.pick(&[1, 20, 200]) * MILLISECOND;
        self.leases = LeaseProfile::Equal(LeaseLength::MIN);
        self.faults = vec![(FaultKind::HomeCutOff, 10), (FaultKind::Isolate, 3)];
        if random.one_in(2) {
            self.faults.push((FaultKind::OracleRestore, 6));
        }
        self.fault_every = *random.pick(&[200, 500]) * MILLISECOND;
        self.dead_for = 60 * MILLISECOND;
    }

    fn meet_crowds(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 3 * sites);
        self.datagrams(random);
        self.weather.jitter = *random.pick(&[1, 4]) * self.weather.latency;
        self.mix.lists = random.between(1, 3);
        self.mix.pause = *random.pick(&[1, 4]) * MILLISECOND;
        self.mix.counters = random.between(1, 3);
        self.mix.counting = *random.pick(&[2, 6]);
        self.mix.weights = *random.pick(&[[1, 4, 4, 1, 4, 1], [1, 1, 1, 1, 12, 4]]);
        self.faults = vec![
            (FaultKind::LeaveOne, 8),
            (FaultKind::Trap, 4),
            (FaultKind::Pause, 3),
            (FaultKind::Kill, 2),
            (FaultKind::Client, 2),
        ];
        self.fault_every = *random.pick(&[200, 500]) * MILLISECOND;
        self.dead_for = *random.pick(&[60, 300]) * MILLISECOND;
    }

    fn meet_oracles(&mut self, random: &mut SeededRandom, sites: usize) {
        self.plain(random, 2 * sites);
        self.mix.pause = *random.pick(&[2, 8]) * MILLISECOND;
        self.faults = vec![
            (FaultKind::OracleRestore, 10),
            (FaultKind::Isolate, 4),
            (FaultKind::Partition, 3),
            (FaultKind::Kill, 3),
            (FaultKind::KillMany, 1),
            (FaultKind::JoinerDies, 2),
            (FaultKind::OracleKill, 2),
        ];
        self.fault_every = *random.pick(&[200, 500]) * MILLISECOND;
        self.dead_for = *random.pick(&[20, 200]) * MILLISECOND;
    }
}
