//! What other sites miss (rule 10).
//!
//! Invariants: for every site that is away, `tables` names every item that committed above what the site is known to have synced, and every
//! storage that was dropped: whoever has missed a drop finds that nothing of the storage is left, and whoever has dropped alone gets it back;
//! for every member, `recent` holds every commit above what that member is known to have synced, so that a table can be made of
//! it the moment the member is gone. An entry goes only when the site has a version at least as new *synced*.

use crate::stale_sets::{lock, lock_all, lock_storages, unite};
use crate::{EpochContinuation, ReplicationController, limits};
use messages::access::StaleSet;
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::replication::{FailLockTable, MemberReport, ReplicationMessage};
use messages::{Epoch, EpochNumber, History, Item, LogPoint, Now, Outbox, SiteId, TableId, Timestamp};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether a report is of a copy that has taken part before an epoch, so that its word counts in that.
pub(crate) fn carries(report: &MemberReport, epoch: &Epoch) -> bool {
    report.transactions.joined < epoch.number
}

/// Epoch and clock.
pub(crate) type Point = (EpochNumber, u64);

fn point(timestamp: &Timestamp) -> Point {
    (timestamp.epoch, timestamp.clock)
}

/// What is stale without a commit, made only when somebody needs it.
#[derive(Serialize, Deserialize)]
enum StaleWrites {
    By(Arc<History>),
    Known(StaleSet),
}

impl StaleWrites {
    fn without(&self) -> StaleSet {
        match self {
            StaleWrites::By(history) => StaleSet::without(history),
            StaleWrites::Known(changes) => changes.clone(),
        }
    }

    fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let (history, known) = match self {
            StaleWrites::By(history) => (Some(history), None),
            StaleWrites::Known(changes) => (None, Some(changes)),
        };
        let changed = history.into_iter().flat_map(|history| history.changed());
        let changed = changed.map(|(table, key)| Item { table, key: key.clone() });
        changed.chain(known.into_iter().flat_map(|changes| changes.items.iter()))
    }

    fn drops(&self) -> impl Iterator<Item = TableId> + '_ {
        let (history, known) = match self {
            StaleWrites::By(history) => (Some(history), None),
            StaleWrites::Known(changes) => (None, Some(changes)),
        };
        let dropped = history.into_iter().flat_map(|history| &history.drops);
        dropped.chain(known.into_iter().flat_map(|changes| &changes.storages)).copied()
    }
}

/// Fail-locks that this site keeps for all others.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct FailLocks {
    tables: BTreeMap<SiteId, Arc<StaleSet>>,
    /// What each other site is known to have synced.
    synced: BTreeMap<SiteId, Point>,
    recent: BTreeMap<Timestamp, StaleWrites>,
    absent: Vec<SiteId>,
    members: Vec<SiteId>,
    /// Everything at or below this is in the own copy, synced, or known to be stale there.
    complete_through: Point,
    planted: Planted,
}

impl FailLocks {
    pub(crate) fn counts(&self) -> BTreeMap<SiteId, u64> {
        let count = |stale: &StaleSet| (stale.items.len() + stale.storages.len()) as u64 + u64::from(stale.everything);
        self.tables.iter().map(|(site, stale)| (*site, count(stale))).collect()
    }

    /// Of an instance in which nothing was ever written: nobody misses anything.
    pub(crate) fn begin(&mut self, epoch: &Epoch, own: SiteId) {
        self.synced = epoch.others(own).map(|site| (site, Point::default())).collect();
    }

    pub(crate) fn recent_len(&self) -> usize {
        self.recent.len()
    }

    /// One table for every other site of the instance. A site that nothing is known of misses everything. In a restart the log of this site
    /// may have lost commits that another one has synced: what another has synced counts only as far as this copy is complete, so that
    /// whatever it has beyond is overwritten when it comes back.
    pub(crate) fn tables<'a>(
        &self,
        own: SiteId,
        sites: impl Iterator<Item = &'a SiteId>,
        restarts: bool,
    ) -> BTreeMap<SiteId, FailLockTable> {
        let table = |site: SiteId| {
            let unknown = !self.synced.contains_key(&site) && !self.tables.contains_key(&site);
            let stale = match self.tables.get(&site) {
                Some(stale) => stale.clone(),
                None => Arc::new(StaleSet { everything: unknown, ..StaleSet::default() }),
            };
            let base = of_site(&self.synced, site);
            FailLockTable { base: if restarts { base.min(self.complete_through) } else { base }, stale }
        };
        sites.copied().filter(|site| *site != own).map(|site| (site, table(site))).collect()
    }

    /// Whether an item is locked for a site.
    pub(crate) fn covers(&self, site: SiteId, item: &Item) -> bool {
        self.tables.get(&site).is_none_or(|stale| {
            stale.everything || stale.storages.contains(&item.table) || stale.items.tree().contains(item)
        })
    }

    pub(crate) fn recent(&self) -> Vec<(Timestamp, StaleSet)> {
        self.recent.iter().map(|(timestamp, written)| (*timestamp, written.without())).collect()
    }

    pub(crate) fn recent_record(&self) -> LogRecord {
        LogRecord::Recent { complete_through: self.complete_through, commits: self.recent() }
    }

    pub(crate) fn enter(&mut self, epoch: &Epoch, own: SiteId) {
        self.absent = epoch.absent().collect();
        self.members = epoch.others(own).collect();
    }

    /// How far everybody has synced, for the log.
    pub(crate) fn synced_record(&self) -> LogRecord {
        let of = |site: &SiteId| (*site, of_site(&self.synced, *site));
        LogRecord::Synced { complete_through: self.complete_through, members: self.members.iter().map(of).collect() }
    }

    /// This copy begins anew: the others know what has committed. Returns what this one had remembered.
    fn forget_recent(&mut self) -> BTreeMap<Timestamp, StaleWrites> {
        std::mem::take(&mut self.recent)
    }

    /// A member says how far it has synced.
    pub(crate) fn synced(&mut self, site: SiteId, through: Point) {
        let known = self.synced.entry(site).or_default();
        *known = (*known).max(through);
        self.trim();
    }

    /// What every member has synced need not be remembered.
    fn trim(&mut self) {
        let of = |site: &SiteId| self.synced.get(site).copied().unwrap_or_default();
        let all = self.members.iter().map(of).min().unwrap_or(self.complete_through);
        let all = all.min(self.complete_through);
        while let Some(entry) = self.recent.first_entry() {
            if point(entry.key()) > all {
                break;
            }
            entry.remove();
        }
        while self.recent.len() > limits::RECENT_MAX {
            reached!("recent-overflow");
            let (timestamp, written) = self.recent.pop_first().expect("longer than its bound");
            for site in self.members.clone() {
                if of_site(&self.synced, site) < point(&timestamp) {
                    lock_written(self.tables.entry(site).or_default(), [&written].into_iter(), self.planted);
                }
            }
        }
    }

    pub(crate) fn commit(&mut self, timestamp: Timestamp, history: Arc<History>) {
        for site in &self.absent {
            let stale = self.tables.entry(*site).or_default();
            if !planted!(self.planted, DropsNotLocked) {
                lock_storages(stale, history.drops.iter().copied());
            }
            let stale = Arc::make_mut(stale);
            for (table, key) in history.changed() {
                lock(stale, Item { table, key: key.clone() }, planted!(self.planted, OverflowDropsEntries));
            }
        }
        self.recent.insert(timestamp, StaleWrites::By(history));
        if self.recent.len() > limits::RECENT_MAX {
            self.trim();
        }
    }

    pub(crate) fn refreshed(&mut self, site: SiteId, items: &[Item], storages: &[TableId], everything: bool) {
        let Some(stale) = self.tables.get_mut(&site) else { return };
        if everything {
            *stale = Arc::default();
            return;
        }
        let stale = Arc::make_mut(stale);
        if !items.is_empty() {
            let named = stale.items.tree_mut();
            for item in items {
                named.remove(item);
            }
        }
        for storage in storages {
            stale.storages.remove(storage);
        }
    }

    /// Replays or takes over commits that some member may not have synced.
    pub(crate) fn merge_recent(&mut self, commits: &[(Timestamp, StaleSet)]) {
        for (timestamp, changes) in commits {
            self.recent.entry(*timestamp).or_insert_with(|| StaleWrites::Known(changes.clone()));
        }
    }

    pub(crate) fn replay_tables(&mut self, tables: &BTreeMap<SiteId, FailLockTable>) {
        for (site, table) in tables {
            self.tables.insert(*site, table.stale.clone());
            self.synced.insert(*site, table.base);
        }
    }

    /// Everything at or below this is in the own copy, or its log says that it is stale there.
    pub(crate) fn accounted_for(&mut self, through: Point) {
        self.complete_through = self.complete_through.max(through);
    }

    fn has(&self, timestamp: &Timestamp) -> bool {
        point(timestamp) <= self.complete_through || self.recent.contains_key(timestamp)
    }

    /// Everything written above a point.
    fn written_above(&self, base: Point) -> impl Iterator<Item = &StaleWrites> + Clone {
        self.recent.iter().filter(move |(timestamp, _)| point(timestamp) > base).map(|(_, written)| written)
    }
}

/// Locks what commits have changed.
fn lock_written<'a>(
    stale: &mut Arc<StaleSet>,
    written: impl Iterator<Item = &'a StaleWrites> + Clone,
    planted: Planted,
) {
    if !planted!(planted, DropsNotLocked) {
        lock_storages(stale, written.clone().flat_map(StaleWrites::drops));
    }
    lock_all(stale, written.flat_map(StaleWrites::items), planted!(planted, OverflowDropsEntries));
}

fn of_site(synced: &BTreeMap<SiteId, Point>, site: SiteId) -> Point {
    synced.get(&site).copied().unwrap_or_default()
}

/// What the members who carry the parent epoch on say of one site: the union of their tables, the lowest and the highest base.
fn united(reports: &[&MemberReport], site: SiteId, planted: Planted) -> Option<(Arc<StaleSet>, Point, Point)> {
    let mut result: Option<(Arc<StaleSet>, Point, Point)> = None;
    for table in reports.iter().filter_map(|report| report.fail_locks.get(&site)) {
        let (stale, low, high) = result.get_or_insert_with(|| (Arc::default(), table.base, table.base));
        unite(stale, &table.stale, planted!(planted, OverflowDropsEntries));
        *low = (*low).min(table.base);
        *high = (*high).max(table.base);
    }
    result
}

/// How another site stands in an epoch that begins.
struct SiteStanding {
    /// It carries the parent epoch on.
    carries: bool,
    /// Nothing is stale in its copy.
    current: bool,
}

impl ReplicationController {
    pub(crate) fn committed(&mut self, timestamp: Timestamp, history: Arc<History>) {
        self.copiers.committed();
        self.fail_locks.commit(timestamp, history);
    }

    /// This site has logged everything up to here: the others are told once it is on disk.
    pub(crate) fn sync_through(&mut self, epoch: EpochNumber, clock: u64, outbox: &mut Outbox) {
        let mark = self.set_mark(outbox);
        self.sync_then(EpochContinuation::Through(epoch, clock, mark), outbox);
    }

    /// This site has synced everything up to here: tell the others.
    pub(crate) fn own_synced(&mut self, now: Now, epoch: EpochNumber, clock: u64, mark: LogPoint, outbox: &mut Outbox) {
        self.mark_is_synced(mark);
        let Some(serving) = self.serving().cloned().filter(|serving| serving.number == epoch) else { return };
        self.fail_locks.complete_through = self.fail_locks.complete_through.max((epoch, clock));
        self.fail_locks.trim();
        self.synced_unnoted = true;
        self.note_synced(now, outbox);
        self.to_peers(serving.others(self.site), ReplicationMessage::SyncedThrough { clock, mark }, outbox);
    }

    /// Now and then the log is told how far everybody has synced, if anybody has come further: a replay need not remember what is older, and a log of
    /// another site that was put back by more than that is known even after a total failure.
    pub(crate) fn note_synced(&mut self, now: Now, outbox: &mut Outbox) {
        if self.synced_unnoted && now.boot >= self.synced_noted_at + limits::SYNCED_NOTE_INTERVAL {
            self.synced_unnoted = false;
            self.synced_noted_at = now.boot;
            self.append_marks(outbox);
            outbox.append(self.fail_locks.synced_record());
        }
    }

    /// All reports are in and all outcomes known: sets the tables of all other sites and returns what is stale in the own
    /// copy.
    pub(crate) fn take_over(
        &mut self,
        epoch: &Epoch,
        reports: &BTreeMap<SiteId, Arc<MemberReport>>,
        committed: Vec<(Timestamp, StaleSet)>,
        fresh: bool,
    ) -> Arc<StaleSet> {
        let planted = self.planted;
        self.fail_locks.planted = planted;
        let carries = |site: &SiteId| reports.get(site).is_some_and(|report| self::carries(report, epoch));
        let carriers: Vec<&MemberReport> =
            reports.iter().filter(|(site, _)| carries(site)).map(|(_, report)| &**report).collect();
        self.marks.take_over(
            self.site,
            reports.iter().filter(|(site, _)| carries(site)).map(|(site, report)| (site, &**report)),
        );
        let mut missed = Vec::new();
        // A commit that this site's log has lost, though its site was up; or that a failed epoch, in which this site joined, had
        // not taken for one. What was prepared here is applied by now.
        let lost = carriers.iter().flat_map(|report| &report.recent).filter(|_| self.restarts(epoch));
        for (timestamp, changes) in lost.chain(&committed) {
            if !fresh && !self.fail_locks.has(timestamp) {
                missed.push(StaleWrites::Known(changes.clone()));
            }
        }
        let private = if fresh { self.fail_locks.forget_recent() } else { BTreeMap::new() };
        for report in &carriers {
            self.fail_locks.merge_recent(&report.recent);
        }
        let early = fresh && planted!(planted, JoinerLocksBeforeResolution);
        let stale_before = early.then(|| self.own_stale(&carriers, &private));
        if !planted!(planted, NoFailLocksInResolution) {
            self.fail_locks.merge_recent(&committed);
        }
        let own = self.site;
        for site in epoch.sessions.keys().copied().filter(|site| *site != own) {
            let current = reports.get(&site).is_some_and(|report| report.current);
            self.take_over_table(site, &carriers, SiteStanding { carries: carries(&site), current });
        }
        match fresh {
            true => stale_before.unwrap_or_else(|| self.own_stale(&carriers, &private)),
            false => {
                let mut stale = Arc::default();
                lock_written(&mut stale, missed.iter(), planted);
                stale
            }
        }
    }

    fn take_over_table(
        &mut self,
        site: SiteId,
        carriers: &[&MemberReport],
        SiteStanding { carries, current }: SiteStanding,
    ) {
        let planted = self.planted;
        let (mut stale, base) = match united(carriers, site, planted) {
            Some(_) if planted!(planted, PromotedLacksTables) => {
                let own = self.fail_locks.tables.get(&site).cloned().unwrap_or_default();
                (own, of_site(&self.fail_locks.synced, site))
            }
            Some((stale, low, _)) => (stale, low),
            // Before the first epoch every copy is empty, and so current.
            None => (Arc::default(), Point::default()),
        };
        if current {
            stale = Arc::default();
        }
        if !carries {
            lock_written(&mut stale, self.fail_locks.written_above(base), planted);
        }
        self.fail_locks.tables.insert(site, stale);
        self.fail_locks.synced.insert(site, base);
    }

    /// What is stale in the copy of this site, which takes part from this epoch on. `private` is what its log has committed and some member
    /// may not have had on disk.
    fn own_stale(&mut self, carriers: &[&MemberReport], private: &BTreeMap<Timestamp, StaleWrites>) -> Arc<StaleSet> {
        let everything = Arc::new(StaleSet { everything: true, ..StaleSet::default() });
        let Some((mut stale, low, high)) = united(carriers, self.site, self.planted) else {
            return everything;
        };
        let chain: BTreeSet<_> = carriers.iter().flat_map(|report| report.chain.iter().copied()).collect();
        let last = self.logged.as_ref().map(|logged| logged.id());
        let descends = last.is_some_and(|last| chain.contains(&last) && last.number >= high.0);
        if self.was_set_back(carriers) || !descends || stale.everything {
            reached!("joiner-locks-everything");
            return everything;
        }
        let undecided: Vec<StaleWrites> = self.tail.undecided().map(StaleWrites::By).collect();
        if !undecided.is_empty() {
            reached!("own-tail-locked");
        }
        let private = private.iter().filter(|(at, _)| point(at) > low).map(|(_, written)| written);
        let own = private.chain(&undecided).filter(|_| !planted!(self.planted, TailNotLocked));
        lock_written(&mut stale, self.fail_locks.written_above(low).chain(own), self.planted);
        stale
    }
}
