//! Storages that clients make: which the catalog names, and what becomes of the others.
//!
//! Invariant: a storage that the catalog does not name is expected to go from every copy: whoever was to make it, in a life that is still under way
//! or over, and whether the copy was there or away when it was dropped.

use super::World;
use crate::checkers::copies::CopyContents;
use crate::event::SimulatedEvent;
use crate::faults::Fault;
use crate::history::TransactionFate;
use crate::limits::{DROPS_MAX, EVENTS_MAX};
use crate::machine::MachineProcess;
use crate::programs::STORAGES;
use crate::tables::{is_table, storages_of};
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest};
use messages::limits::{MILLISECOND, SECOND};
use messages::schema::{Catalog, CatalogEntry};
use messages::{EpochNumber, Incarnation, Key, KeyRange, Message, Row, ServerKind, TableId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// How often the end looks whether storages are gone.
const LOOK_EVERY: u64 = 200 * MILLISECOND;

/// What is known of storages that clients have made.
#[derive(Debug, Default)]
pub struct Storages {
    /// At which sites, in which lives of them, programs were to make it.
    made: BTreeMap<TableId, BTreeSet<(usize, Incarnation)>>,
    /// Dropped by transactions that have committed.
    dropped: BTreeSet<TableId>,
}

impl World {
    /// A site tells of catalog rows.
    pub(super) fn told(&mut self, site: usize, rows: &[(Key, Timestamp, Option<Row>)]) {
        for (key, version, row) in rows {
            let entry = row.as_deref().map(CatalogEntry::decode);
            self.say(|| format!("site {site} tells of catalog row {key:?} version {version}: {entry:?}"));
        }
        if rows.iter().any(|(key, ..)| CatalogEntry::setting_of(key).is_some()) {
            *self.statistics.faults.entry("method switched").or_insert(0) += 1;
        }
        if let Err(wrong) = self.machine(site).take_catalog(rows) {
            self.fail(wrong);
        }
    }

    /// Notes what the program makes that a client is about to send.
    pub(super) fn note_made(&mut self, client: usize) {
        let site = self.clients[client].site;
        let session = self.clients[client].session;
        let life = session.and_then(|session| self.look(site).sessions.get(&session)).map(|seat| seat.life);
        let changed = self.clients[client].changed();
        let again = std::mem::take(&mut changed.again);
        for storage in std::mem::take(&mut changed.makes) {
            let by = self.storages.made.entry(storage).or_default();
            by.extend(life.map(|life| (site, life)));
        }
        if again > 0 {
            *self.statistics.other.entry("programs compiled again").or_insert(0) += again;
        }
    }

    /// Some who change schemas give up midway.
    pub(super) fn lose_patience_early(&mut self, client: usize, request: u64) {
        if self.clients[client].changed().has_made && self.random.one_in(10) {
            let after = self.random.around(5 * MILLISECOND);
            let goes = self.random.one_in(2);
            self.agenda.plan(self.now + after, SimulatedEvent::Fault(Fault::Impatience { client, request, goes }));
        }
    }

    /// A transaction of a client is over.
    pub(super) fn note_dropped(&mut self, client: usize, fate: TransactionFate) {
        let drops = std::mem::take(&mut self.clients[client].changed().drops);
        if fate == TransactionFate::Committed {
            self.storages.dropped.extend(drops);
        }
    }

    /// What the catalog names, as a site has been told.
    fn named(catalog: &Catalog) -> impl Iterator<Item = TableId> + '_ {
        catalog.tables.values().flat_map(|versioned| storages_of(Some(&versioned.table)))
    }

    /// When all is quiet, storages that nobody can reach go from every copy.
    pub(super) fn await_drops(&mut self) {
        let deadline = self.now + DROPS_MAX;
        while self.failure.is_none() {
            let left = self.left_behind();
            let Some((site, storage)) = left.first().copied() else { return };
            if self.now >= deadline {
                let rows = self.rows_of(site, storage).map(|rows| rows.len());
                let (made, dropped) = (&self.storages.made[&storage], self.storages.dropped.contains(&storage));
                return self.fail(format!(
                    "{} s after everybody has gone, {storage}, which nobody can reach, is at site {site}, with {rows:?} rows \
                     (made in lives {made:?}, dropped by a transaction that has committed: {dropped}; left behind: {left:?})",
                    DROPS_MAX / SECOND
                ));
            }
            for site in 1..=self.sites() {
                // What is dropped goes by a post.
                self.act(site, |domain, clock| domain.begin_checkpoint(clock));
            }
            self.run_until(self.now + LOOK_EVERY, EVENTS_MAX);
        }
    }

    /// Which storages are at which sites that should be gone: rows, deletions, or no more than their name. All of them, where a site cannot tell.
    fn left_behind(&mut self) -> Vec<(usize, TableId)> {
        let named: BTreeSet<TableId> = World::named(&self.look(1).catalog).collect();
        let made: BTreeSet<TableId> = self.storages.made.keys().copied().collect();
        let mut left = Vec::new();
        for site in 1..=self.sites() {
            let all = AccessRequest::ReadCopies { tag: 0, wanted: CopyRequest::Storages, epoch: EpochNumber(0) };
            let listed = match self.ask_access(site, all) {
                Some(AccessReply::Copies { copies, .. }) => match &*copies {
                    Copies::Storages(listed) => Some(listed.iter().copied().collect()),
                    _ => None,
                },
                _ => None,
            };
            let listed: BTreeSet<TableId> = listed.unwrap_or_else(|| made.clone());
            left.extend(listed.intersection(&made).filter(|made| !named.contains(made)).map(|made| (site, *made)));
        }
        left
    }

    /// All rows of a site's copy that anybody can reach, or what is stale there.
    pub(super) fn contents(&mut self, site: usize) -> CopyContents {
        let mut contents = CopyContents { site, rows: Vec::new(), stale: None };
        let named: Vec<TableId> = World::named(&self.look(site).catalog).collect();
        for storage in [TableId::CATALOG].into_iter().chain(STORAGES).chain(named) {
            match self.rows_of(site, storage) {
                Ok(rows) => {
                    contents.rows.extend(rows.into_iter().map(|(key, version, row)| (storage, key, version, row)));
                }
                Err(stale) => {
                    contents.stale = Some(stale);
                    return contents;
                }
            }
        }
        contents
    }

    /// What the access manager of a site answers; nothing if its servers do not run.
    fn ask_access(&mut self, site: usize, request: AccessRequest) -> Option<AccessReply> {
        let message = Message::Access(request);
        let envelope = self.look(site).inside(ServerKind::UserInterface, ServerKind::AccessManager, message);
        let now = self.now;
        let machine = self.machine(site);
        machine.act(now, |domain, clock| domain.deliver(clock, envelope));
        let MachineProcess::Running(domain) = &mut machine.process else { return None };
        domain.take_effects().local.into_iter().find_map(|envelope| match envelope.message {
            Message::AccessReply(AccessReply::CatalogRows { .. }) => None,
            Message::AccessReply(reply) => Some(reply),
            _ => None,
        })
    }

    /// All rows of a storage at a site. Errors: what is stale.
    fn rows_of(&mut self, site: usize, storage: TableId) -> Result<Vec<(Key, Timestamp, Row)>, String> {
        let mut range = KeyRange::whole(storage);
        let mut all = Vec::new();
        loop {
            let left = Box::new(range.clone());
            let scan = AccessRequest::Scan { tag: 0, range: left, snapshot: None, limit: 1_000, reverse: false };
            let reply = self.ask_access(site, scan);
            let Some(AccessReply::ScanReply { rows, next, .. }) = reply else { return Err(format!("{reply:?}")) };
            all.extend(rows);
            match next {
                Some(next) => range.low = *next,
                None => return Ok(all),
            }
        }
    }

    /// Sites have told of the catalog what their copies hold. Errors: the first row that is another.
    pub(super) fn catalogs_agree(&mut self) -> Result<(), String> {
        for site in 1..=self.sites() {
            let told = self.look(site).catalog.clone();
            let rows = self.rows_of(site, TableId::CATALOG)?;
            let known = told.tables.len()
                + told.index_names.len()
                + told.settings.len()
                + usize::from(told.next.1 != Timestamp::ZERO);
            let other = rows.iter().find(|(key, version, _)| told.version_of(key) != *version);
            if other.is_some() || known != rows.len() {
                return Err(format!("site {site} has told of {told:?}, and holds {rows:?}"));
            }
        }
        Ok(())
    }

    /// Schema changes of a transaction that has committed.
    pub(super) fn count_schema_changes(&mut self, transaction: &crate::history::ObservedTransaction) {
        use crate::history::HistoryWrite;
        let is_one = |change: &&HistoryWrite| matches!(change, HistoryWrite::Append { key, .. } if is_table(*key));
        let count = transaction.changes.iter().filter(is_one).count() as u64;
        if transaction.fate == TransactionFate::Committed && count > 0 {
            *self.statistics.other.entry("schema changes").or_insert(0) += count;
        }
    }
}
