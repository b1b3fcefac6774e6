//! Snapshots that sites take under load and faults, and the worlds that are made from them.
//!
//! Each step of a snapshot is an event, so that anything may happen in between. Invariant: what a snapshot has is decided by [`domain::snapshot`], as in
//! the real world; here are its files, which are whole once the snapshot is. A world made from one must hold the history cut at its cut, strictly: what
//! was acknowledged before is there, and nothing that began behind it.

use super::World;
use crate::bounds::RunBounds;
use crate::checkers::draws::DrawnValues;
use crate::event::SimulatedEvent;
use crate::history::{Loss, ObservedTransaction, RunHistory, TransactionFate};
use crate::limits::EVENTS_MAX;
use crate::machine::MachineProcess;
use crate::random::SeededRandom;
use access_manager::{MemoryStore, Store};
use commit_log::{Log, MemoryLog, Position};
use domain::Domain;
use domain::snapshot::restoring::{self, Highest};
use domain::snapshot::taking::{self, Taking};
use messages::limits::{MILLISECOND, SECOND};
use messages::log_record::LogRecord;
use messages::{EpochNumber, Incarnation, KeyRange, Now, SiteId};
use std::collections::{BTreeMap, BTreeSet};

/// How long a world that is made from a snapshot has its clients work before it is looked at.
const GOES_ON: u64 = SECOND;
/// Memory of the domain that brings a snapshot's log to its store.
const MEMORY_BYTES: usize = 1 << 20;
/// Turns of that domain, beyond which it does not come to an end.
const TURNS_MAX: u32 = 100_000;
/// Records of the log that are read in one step.
const RECORDS_EACH: usize = 40;
/// Steps that a snapshot waits for a moment that is hard for it, at most.
const PATIENCE: u64 = 12;
/// Steps that a snapshot waits in all until its site serves again.
const EPOCH_PATIENCE: u32 = 200;

/// Snapshots of a run.
#[derive(Debug)]
pub struct InstanceSnapshots {
    /// Chance of snapshots alone.
    random: SeededRandom,
    /// Mean time between two at a site; 0: there are none.
    every: u64,
    /// Mean time of a step.
    step: u64,
    /// By site.
    under_way: BTreeMap<usize, UnderWay>,
    whole: Vec<WholeSnapshot>,
}

/// A snapshot that is being taken.
struct UnderWay {
    /// In which start of the site's process.
    start: u32,
    taking: Option<Taking>,
    base: Option<MemoryStore>,
    /// Whether it is known from where on the copy needs log.
    is_based: bool,
    /// So many more steps it waits for a moment that is hard for it.
    patience: u32,
    /// So many more steps it waits until its site serves, at its cut and at its end, as a real one does.
    epoch_patience: u32,
    /// When the cut was (true time).
    cut_at: Option<u64>,
    /// Which archive the site wrote then.
    archive: Option<u32>,
    tail: Vec<Vec<u8>>,
    /// Of these records, how many the log has behind the cut.
    settled: usize,
}

/// A whole one.
pub(super) struct WholeSnapshot {
    pub(super) site: usize,
    pub(super) cut_at: u64,
    life: Incarnation,
    pub(super) epoch: EpochNumber,
    log_from: Position,
    pub(super) cut: Position,
    /// The hybrid clock at the cut.
    pub(super) clock: u64,
    /// Which archive the site wrote at the cut.
    pub(super) archive: Option<u32>,
    base: MemoryStore,
    pub(super) tail: Vec<Vec<u8>>,
    /// How much of what is in it was undecided at the cut.
    open_at_cut: usize,
}

impl WholeSnapshot {
    /// The same with other records.
    pub(super) fn with_tail(&self, tail: Vec<Vec<u8>>) -> WholeSnapshot {
        WholeSnapshot { base: self.base.copied(), tail, ..*self }
    }
}

/// Which history a world must hold that was made from a snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) enum HistoryCut {
    /// What was acknowledged before this moment, and nothing that began behind it.
    At(u64),
    /// What was acknowledged before this moment, and perhaps some of what began behind it.
    Behind(u64),
}

impl std::fmt::Debug for UnderWay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}, {} records", self.taking, self.tail.len())
    }
}

impl std::fmt::Debug for WholeSnapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "of site {}, cut at {:.6} s", self.site, self.cut_at as f64 / 1e9)
    }
}

impl InstanceSnapshots {
    /// By this chance, in a part of the runs.
    pub fn new(mut random: SeededRandom, may_be: bool) -> InstanceSnapshots {
        let every = if may_be && random.one_in(3) { *random.pick(&[600, 1_500, 4_000]) * MILLISECOND } else { 0 };
        let step = *random.pick(&[1, 10, 80]) * MILLISECOND;
        InstanceSnapshots { random, every, step, under_way: BTreeMap::new(), whole: Vec::new() }
    }

    /// Whether any are taken.
    pub fn are_taken(&self) -> bool {
        self.every > 0
    }
}

impl World {
    /// Plans when a site begins its next snapshot.
    pub(super) fn plan_snapshot(&mut self, site: usize) {
        if self.snapshots.every > 0 {
            let after = self.snapshots.random.around(self.snapshots.every) + MILLISECOND;
            self.agenda.plan(self.now + after, SimulatedEvent::Snapshot { site });
        }
    }

    /// The next step of the snapshot that a site takes, or the first of another.
    pub(super) fn snapshot(&mut self, site: usize) {
        let Some(mut under_way) = self.snapshots.under_way.remove(&site) else {
            if self.busy {
                self.begin_snapshot(site);
            }
            return;
        };
        let goes_on = self.snapshot_step(site, &mut under_way);
        match goes_on {
            Ok(true) => {
                self.snapshots.under_way.insert(site, under_way);
                let after = self.snapshots.random.around(self.snapshots.step) + 1;
                return self.agenda.plan(self.now + after, SimulatedEvent::Snapshot { site });
            }
            Ok(false) => *self.statistics.other.entry("snapshots of the instance taken").or_insert(0) += 1,
            Err(reason) => {
                self.say(|| format!("the snapshot of site {site} is not taken: {reason}"));
                let when = match (under_way.is_based, under_way.cut_at) {
                    _ if self.look(site).start != under_way.start => {
                        "snapshots of the instance that ended with their process"
                    }
                    (false, _) => "snapshots of the instance given up before their base",
                    (true, None) => "snapshots of the instance given up at their cut",
                    (true, Some(_)) => "snapshots of the instance given up behind their cut",
                };
                *self.statistics.other.entry(when).or_insert(0) += 1;
            }
        }
        if let MachineProcess::Running(domain) = &mut self.machine(site).process {
            domain.release_log();
        }
        self.plan_snapshot(site);
    }

    fn begin_snapshot(&mut self, site: usize) {
        let clock = self.look(site).clock.at(self.now);
        // Who is told at once that the site does not serve has lost nothing.
        if self.look(site).domain().is_none_or(|domain| taking::serving(domain, clock).is_err()) {
            return self.plan_snapshot(site);
        }
        self.say(|| format!("site {site} begins a snapshot"));
        self.look_at_log(site);
        self.act(site, |domain, clock| domain.begin_checkpoint(clock));
        let start = self.look(site).start;
        // Some wait for moments that are hard for them, others take what comes.
        let random = &mut self.snapshots.random;
        let patience = if random.one_in(2) { random.below(PATIENCE) as u32 } else { 0 };
        let under_way = UnderWay {
            start,
            taking: None,
            base: None,
            is_based: false,
            patience,
            epoch_patience: EPOCH_PATIENCE,
            cut_at: None,
            archive: None,
            tail: Vec::new(),
            settled: 0,
        };
        self.snapshots.under_way.insert(site, under_way);
        let after = self.snapshots.random.around(self.snapshots.step) + 1;
        self.agenda.plan(self.now + after, SimulatedEvent::Snapshot { site });
    }

    /// One step. Whether there are more. Errors: why the snapshot is not taken.
    fn snapshot_step(&mut self, site: usize, under_way: &mut UnderWay) -> Result<bool, String> {
        let (now, archive) = (self.now, self.archives.number(site));
        let machine = self.machine(site);
        let clock = machine.clock.at(now);
        if machine.start != under_way.start {
            return Err("another life".to_owned());
        }
        let copy = machine.copied_store();
        let MachineProcess::Running(domain) = &mut machine.process else {
            return Err("the servers do not run".to_owned());
        };
        let Some(taking) = &mut under_way.taking else {
            under_way.taking = Some(Taking::begin(domain, clock)?);
            return Ok(true);
        };
        let Some(base) = &under_way.base else {
            under_way.base = Some(copy);
            if under_way.patience > 0 {
                self.look_at_log(site);
                self.act(site, |domain, clock| domain.begin_checkpoint(clock));
            }
            return Ok(true);
        };
        if !under_way.is_based {
            // Log is given up when the checkpoint ends.
            if domain.is_checkpointing() && waits(&mut under_way.patience) {
                return Ok(true);
            }
            let needed = base.metadata().and_then(access_manager::needs_log_from).map_err(|error| error.to_string())?;
            taking.based(needed, domain.log());
            under_way.is_based = true;
            return Ok(true);
        }
        let Some(cut_at) = under_way.cut_at else {
            if !has_open(taking, domain.log())? && waits(&mut under_way.patience) {
                return Ok(true);
            }
            match taking.cut(domain, clock) {
                Ok(()) => (under_way.cut_at, under_way.archive) = (Some(now), archive),
                Err(_) if waits(&mut under_way.epoch_patience) => {}
                Err(refusal) => return Err(refusal),
            }
            return Ok(true);
        };
        if let Some(from) = taking.reads_from() {
            let (mut records, mut behind) = (Vec::new(), domain.log().appended());
            if from < behind {
                for entry in domain.log().read_from(from) {
                    let (position, record) = entry.map_err(|error| error.to_string())?;
                    if records.len() == RECORDS_EACH {
                        behind = position;
                        break;
                    }
                    records.push((position, record));
                }
            }
            for (position, record) in records {
                if taking.takes(position, &record)? {
                    under_way.settled += usize::from(position >= taking.cut_at());
                    under_way.tail.push(record);
                }
            }
            taking.read_up_to(behind);
            return Ok(true);
        }
        match taking.end(domain, clock) {
            Ok(()) => {}
            Err(_) if waits(&mut under_way.epoch_patience) => return Ok(true),
            Err(refusal) => return Err(refusal),
        }
        let whole = WholeSnapshot {
            site,
            cut_at,
            life: taking.life(),
            epoch: taking.epoch(),
            log_from: taking.log_from(),
            cut: taking.cut_at(),
            clock: taking.clock_at_cut(),
            archive: under_way.archive,
            base: base.copied(),
            tail: std::mem::take(&mut under_way.tail),
            open_at_cut: under_way.settled + taking.open(),
        };
        self.say(|| format!("a snapshot is whole: {whole:?}"));
        self.snapshots.whole.push(whole);
        Ok(false)
    }

    /// Makes worlds from some of the snapshots that the run has taken: they hold what they must, go on, and pass the checkers.
    pub fn restore_snapshots(&mut self, bounds: RunBounds) {
        let mut left = std::mem::take(&mut self.snapshots.whole);
        for turn in 0..2 {
            if self.failure.is_some() || left.is_empty() {
                return;
            }
            // First the one at whose cut most was undecided.
            let most = (0..left.len()).max_by_key(|place| left[*place].open_at_cut).filter(|_| turn == 0);
            let place = most.unwrap_or_else(|| self.snapshots.random.index(left.len()));
            let whole = left.swap_remove(place);
            *self.statistics.other.entry("snapshots of the instance restored").or_insert(0) += 1;
            let failure = match self.restored(&whole, HistoryCut::At(whole.cut_at), bounds) {
                Ok(mut second) => {
                    second.run_until(second.now + GOES_ON, EVENTS_MAX);
                    second.finish();
                    second.failure
                }
                Err(wrong) => Some(wrong),
            };
            if let Some(failure) = failure {
                self.fail(format!("in the world made from the snapshot {whole:?}: {failure}"));
            }
            self.restore_moments(&whole, bounds);
        }
    }

    /// A world in which nothing goes wrong, made from a snapshot.
    pub(super) fn restored(
        &mut self,
        whole: &WholeSnapshot,
        cut: HistoryCut,
        bounds: RunBounds,
    ) -> Result<World, String> {
        let mut highest = Highest::of(whole.life, whole.epoch);
        let (store, log_from) = bring_together(whole, &mut highest)?;
        let sites: Vec<SiteId> = (1..=self.sites() as u16).map(SiteId).collect();
        let epoch = highest.first_epoch(&sites, self.planted).ok_or("its log names no epoch")?;
        let records = highest.first_records(&epoch);
        let bounds = RunBounds { calm: true, snapshots: false, ..bounds };
        let mut second = World::new(self.snapshots.random.draw(), self.sites(), self.planted, bounds);
        for site in 1..=self.sites() {
            let mut log = MemoryLog::beginning_at(log_from);
            for record in &records {
                let mut bytes = Vec::new();
                record.encode_into(&mut bytes);
                log.append(&bytes).map_err(|error| error.to_string())?;
            }
            log.sync_now().map_err(|error| error.to_string())?;
            second.machine(site).set_up(store.copied(), log);
        }
        second.oracle.set_up(epoch);
        second.history = history_at(&self.history, cut);
        second.workload = self.workload.clone();
        // The sequence's values are given out again, so nobody draws. What was drawn is the first world's to answer for, which knows when power was lost.
        second.workload.mix.draws = false;
        second.workload.drawn = DrawnValues::default();
        second.begin_at(self.now + 1);
        Ok(second)
    }
}

/// Whether a step more is waited for.
fn waits(patience: &mut u32) -> bool {
    let waits = *patience > 0;
    *patience = patience.saturating_sub(1);
    waits
}

/// Whether something would be undecided at a cut here and now.
fn has_open(taking: &Taking, log: &MemoryLog) -> Result<bool, String> {
    let mut open = BTreeSet::new();
    for (_, record) in log.records_from(taking.log_from()) {
        match LogRecord::decode(record).map_err(|error| error.to_string())? {
            LogRecord::Prepared { transaction, .. } => drop(open.insert(transaction)),
            LogRecord::Decided { transaction, .. } => drop(open.remove(&transaction)),
            _ => {}
        }
    }
    Ok(!open.is_empty())
}

/// The store of a snapshot, with all that its log has; and from where it needs log now.
fn bring_together(whole: &WholeSnapshot, highest: &mut Highest) -> Result<(MemoryStore, Position), String> {
    let store = whole.base.copied();
    let mut log = MemoryLog::beginning_at(whole.log_from);
    for bytes in &whole.tail {
        highest.record(&LogRecord::decode(bytes).map_err(|error| error.to_string())?);
        log.append(bytes).map_err(|error| error.to_string())?;
    }
    log.sync_now().map_err(|error| error.to_string())?;
    let settings = restoring::settings(SiteId(whole.site as u16), whole.life, MEMORY_BYTES);
    let domain = Domain::start(settings, log, Box::new(store.reopened()));
    let mut domain = domain.map_err(|error| format!("its log cannot be replayed: {error}"))?;
    let mut boot = 0;
    let mut clock = || {
        boot += 100_000;
        Now { boot, wall_micros: boot / 1_000 }
    };
    domain.begin_checkpoint(&mut clock);
    for _ in 0..TURNS_MAX {
        let done = restoring::turn(&mut domain, &mut clock)?;
        domain.log_mut().complete_sync();
        let Some(from) = done else { continue };
        for table in store.storages().map_err(|error| error.to_string())? {
            let rows = store.scan(&KeyRange::whole(table), false, usize::MAX, usize::MAX);
            let rows = rows.map_err(|error| error.to_string())?;
            rows.rows.iter().for_each(|(_, version, _)| highest.version(version));
        }
        return Ok((store.reopened().copied(), from));
    }
    Err("its log does not come to its store".to_owned())
}

/// What was seen up to a moment. What was under way then may be there or not, what had not begun is not, unless it may be.
fn history_at(history: &RunHistory, cut: HistoryCut) -> RunHistory {
    let (moment, later_fate) = match cut {
        HistoryCut::At(moment) => (moment, TransactionFate::Aborted),
        HistoryCut::Behind(moment) => (moment, TransactionFate::Unknown),
    };
    let at = |transaction: &ObservedTransaction| match transaction {
        later if later.begun > moment => {
            let mut later = later.clone();
            if later.fate == TransactionFate::Committed || later_fate == TransactionFate::Aborted {
                later.fate = later_fate;
            }
            later.observations.clear();
            (later.family.parents, later.family.children) = (None, None);
            later
        }
        open if open.ended >= moment && open.fate == TransactionFate::Committed => {
            ObservedTransaction { fate: TransactionFate::Unknown, ..open.clone() }
        }
        other => other.clone(),
    };
    // What is read of a later epoch's log lacks what a total failure in between took with it, as the instance itself does.
    let counts = |loss: &&Loss| loss.moment() < moment || matches!(cut, HistoryCut::Behind(_));
    let losses = history.losses.iter().filter(counts).cloned().collect();
    RunHistory { transactions: history.transactions.iter().map(at).collect(), losses }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkers::{durability, serializability};
    use crate::history::{HistoryWrite, Observation, WriteToken};

    fn appended(times: (u64, u64), token: WriteToken) -> ObservedTransaction {
        let (begun, ended) = times;
        let changes = vec![HistoryWrite::Append { key: 1, token }];
        ObservedTransaction { begun, ended, changes, ..ObservedTransaction::of_fate(TransactionFate::Committed) }
    }

    /// Whether a world may hold this list that is made from a snapshot cut at 50.
    fn may_hold(transactions: Vec<ObservedTransaction>, losses: Vec<Loss>, entries: &[WriteToken]) -> bool {
        let mut history = history_at(&RunHistory { transactions, losses }, HistoryCut::At(50));
        let observations = vec![Observation::List { key: 1, entries: entries.to_vec() }];
        let look = ObservedTransaction {
            begun: 90,
            ended: 99,
            read_only: true,
            observations,
            ..ObservedTransaction::of_fate(TransactionFate::Committed)
        };
        history.transactions.push(look);
        durability::check(&history).and_then(|()| serializability::check(&history)).is_ok()
    }

    /// If this fails, a snapshot may lack what was acknowledged before its cut, or hold what began behind it, and nobody notices.
    #[test]
    fn a_snapshot_holds_what_was_acknowledged_before_its_cut_and_nothing_that_began_behind_it() {
        let three = || vec![appended((10, 20), 1), appended((40, 60), 2), appended((70, 80), 3)];
        assert!(may_hold(three(), Vec::new(), &[1]), "what was under way may be missing");
        assert!(may_hold(three(), Vec::new(), &[1, 2]), "and may be there");
        assert!(!may_hold(three(), Vec::new(), &[]), "it was acknowledged before");
        assert!(!may_hold(three(), Vec::new(), &[2]), "what is under way is no substitute for it");
        assert!(!may_hold(three(), Vec::new(), &[1, 2, 3]), "it began behind the cut");
    }

    /// If this fails, power that was lost after the cut excuses what a snapshot lacks.
    #[test]
    fn a_loss_behind_the_cut_excuses_nothing() {
        let lost_at = |moment| vec![Loss { windows: BTreeMap::from([(1, (15, moment))]) }];
        assert!(may_hold(vec![appended((10, 20), 1)], lost_at(30), &[]));
        assert!(!may_hold(vec![appended((10, 20), 1)], lost_at(60), &[]));
        let all = RunHistory { transactions: vec![appended((10, 20), 1)], losses: lost_at(60) };
        let kept = |cut| history_at(&all, cut).losses.len();
        assert_eq!(
            (kept(HistoryCut::At(50)), kept(HistoryCut::Behind(50))),
            (0, 1),
            "the log of a later epoch lacks it, too"
        );
    }

    /// If this fails, what readers behind the cut have seen is held against a world that never was there.
    #[test]
    fn what_was_read_behind_the_cut_is_forgotten() {
        let observations = vec![Observation::List { key: 1, entries: vec![1, 3] }];
        let reader = ObservedTransaction {
            begun: 85,
            ended: 86,
            read_only: true,
            observations,
            ..ObservedTransaction::of_fate(TransactionFate::Committed)
        };
        assert!(may_hold(vec![appended((10, 20), 1), appended((70, 80), 3), reader], Vec::new(), &[1]));
    }
}
