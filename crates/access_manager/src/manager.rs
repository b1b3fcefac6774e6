//! The access manager as a server: requests in, replies out.
//!
//! Invariant: once the store has failed, nothing is answered any more: a site whose disk is gone must look dead, not wrong.

use crate::backlog::Backlog;
use crate::chain::{SeenVersion, Version};
use crate::escrow::Escrow;
use crate::installing::tell;
use crate::large::{Large, changed};
use crate::limits::OLD_VERSIONS_PER_TICK;
use crate::limits::{SWEEP_BYTES, SWEEP_PER_MESSAGE, SWEEP_PER_MESSAGE_MAX, SWEEP_PER_TICK};
use crate::local::{Local, ScannedBatch, Sought};
use crate::memory_budget::{Garbage, Graveyard, Sweeper};
use crate::old_versions::Tally;
use crate::posting::{Metadata, Poster};
use crate::settings::StoreSettings;
use crate::stale::Stale;
use crate::store::{Store, StoreError, away};
use crate::validated::ValidatedRows;
use messages::access::{AccessReply, AccessRequest, Copies, StaleSet};
use messages::limits::{COPY_BYTES_MAX, COPY_ITEMS_MAX};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::replication::SiteNotice;
use messages::schema::CatalogEntry;
use messages::{Envelope, History, Item, Key, KeyRange, Message, Now, Outbox, Row, Server, ServerKind};
use messages::{TableId, Timestamp, TransactionId};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of the catalog with their versions.
type CatalogRowVersions = Vec<(Key, Timestamp, Option<Row>)>;

/// The local copy of a site.
#[derive(Serialize, Deserialize)]
pub struct AccessManager {
    pub(crate) local: Local,
    pub(crate) stale: Stale,
    pub(crate) escrow: Escrow,
    pub(crate) poster: Poster,
    pub(crate) garbage: Garbage,
    pub(crate) planted: Planted,
    pub(crate) validated: ValidatedRows,
    graveyard: Graveyard,
    sweeper: Sweeper,
    backlog: Backlog,
    pub(crate) large: Large,
    halted: bool,
    /// The log is being replayed: nobody reads, and nobody will read what is older.
    pub(crate) replaying: bool,
    /// What the log says was voted for here and not decided. Only during a replay.
    #[serde(skip)]
    undecided: BTreeMap<TransactionId, Arc<History>>,
    /// Where the log begins that a replay needs once the post asked for next is done.
    checkpoint: u64,
}

impl AccessManager {
    /// Over the store of this site. The log is replayed next.
    pub fn open(store: Box<dyn Store>, settings: StoreSettings) -> Result<AccessManager, StoreError> {
        let (Metadata { as_of, drops, replay_from }, needs_log) = Metadata::decode(store.metadata()?)?;
        Ok(AccessManager {
            local: Local::new(store, as_of, settings)?,
            stale: Stale::default(),
            escrow: Escrow::default(),
            poster: Poster::new(drops, replay_from, needs_log),
            garbage: Garbage::default(),
            planted: settings.planted,
            validated: ValidatedRows::default(),
            graveyard: Graveyard::default(),
            sweeper: Sweeper::new(settings.memory_bytes_max),
            backlog: Backlog::new(settings.unposted_bytes_max, settings.planted),
            large: Large::new(settings.touched_max, settings.planted),
            halted: false,
            replaying: true,
            undecided: BTreeMap::new(),
            checkpoint: 0,
        })
    }

    /// The position in the log before which the store has everything: the log's owner replays from there. And whether the log has everything from
    /// there on, if it is this store's: the store of an earlier Raid did not promise that.
    pub fn replay_from(&self) -> (u64, bool) {
        self.poster.replay_from()
    }

    /// Takes the store away, so that the rest can be moved; what the store has is forgotten first, to make that less. Nothing may be asked
    /// before it has one again.
    pub fn detach(&mut self) -> Box<dyn Store> {
        Sweeper::new(0).sweep(&mut self.local, usize::MAX);
        std::mem::replace(&mut self.local.store, away())
    }

    /// Gives it its store: the one that was taken away, with everything in it that was written, opened anew or not.
    pub fn attach(&mut self, store: Box<dyn Store>) {
        self.local.store = store;
    }

    /// The log has been replayed. Errors: the store's.
    pub fn replay_ends(&mut self) -> Result<(), StoreError> {
        self.replaying = false;
        for (transaction, history) in std::mem::take(&mut self.undecided) {
            self.escrow.enter(transaction, &history);
        }
        self.local.replay_ends()
    }

    /// The next post covers everything that the log says before this position.
    pub fn checkpoint_from(&mut self, position: u64) {
        self.checkpoint = position;
    }

    /// All rows of the catalog, for the user interface at the start.
    pub fn catalog_rows(&mut self) -> Result<CatalogRowVersions, StoreError> {
        self.rows_of(KeyRange::whole(TableId::CATALOG))
    }

    /// All settings, for whoever follows them, at the start.
    pub fn setting_rows(&mut self) -> Result<CatalogRowVersions, StoreError> {
        self.rows_of(CatalogEntry::settings_range())
    }

    fn rows_of(&mut self, mut range: KeyRange) -> Result<CatalogRowVersions, StoreError> {
        let mut all = Vec::new();
        loop {
            // Without a snapshot no row can be gone.
            let sought = Sought { snapshot: None, rows_max: usize::MAX, reverse: false, forgiving: true };
            let ScannedBatch::Rows(rows, next) = self.local.scan(&range, sought)? else {
                return Ok(all);
            };
            all.extend(rows.into_iter().map(|(key, version, row)| (key, version, Some(row))));
            match next {
                Some(next) => range.low = next,
                None => return Ok(all),
            }
        }
    }

    /// What it keeps in memory.
    pub fn tally(&self) -> Tally {
        self.local.tally
    }

    /// Whether this copy of an item is stale.
    pub fn is_stale(&self, item: &Item) -> bool {
        self.stale.contains(item.table, &item.key)
    }

    /// The largest timestamp installed here.
    pub fn as_of(&self) -> Timestamp {
        self.local.as_of
    }

    fn serve(&mut self, from: ServerKind, request: AccessRequest, outbox: &mut Outbox) -> Result<(), StoreError> {
        if !leaves_catalog(&request) {
            self.forget_validated();
        }
        if !passes_installs(&request) {
            self.finish_installs(outbox)?;
        }
        let reply = match request {
            AccessRequest::Read { tag, table, key, snapshot } => self.read(tag, table, key, snapshot)?,
            AccessRequest::Scan { tag, range, snapshot, limit, reverse } => {
                self.scan(tag, *range, snapshot, limit, reverse)?
            }
            AccessRequest::Compare { tag, rows, ahead } => {
                let are_equal = self.are_unchanged(&rows)?;
                let ahead = if are_equal { self.read_ahead(&ahead)? } else { Vec::new() };
                AccessReply::Compared { tag, are_equal, ahead }
            }
            AccessRequest::Check { transaction, history } if self.large.is_for(&history) => {
                self.large.check(from, transaction, history);
                return Ok(());
            }
            AccessRequest::Check { transaction, history } => {
                let conflict = self.check(transaction, &history)?;
                AccessReply::CheckReply { transaction, conflict }
            }
            AccessRequest::Abandon { transaction, history } => {
                self.large.abandon(transaction);
                self.escrow.leave(transaction, &history);
                return Ok(());
            }
            AccessRequest::NothingUndecided => {
                self.large.forget_checks();
                self.escrow.clear();
                return Ok(());
            }
            AccessRequest::Install { timestamp, history, in_steps: true } => {
                self.large.install(from, timestamp, history);
                return Ok(());
            }
            AccessRequest::Install { timestamp, history, in_steps: false } => {
                self.install_part(timestamp, &history, 0..changed(&history), outbox)?;
                self.install_rest(timestamp, &history, outbox);
                self.trim_old_versions(changed(&history), outbox);
                return Ok(());
            }
            AccessRequest::NextStep => return self.next_step(outbox),
            AccessRequest::SnapshotsInUse { in_use, from } => {
                self.local.snapshots.report(in_use, from);
                return Ok(());
            }
            AccessRequest::MarkStale { stale } => {
                self.mark_stale(&stale);
                return Ok(());
            }
            AccessRequest::NextStale { tag, limit, wanted } => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, COPY_ITEMS_MAX);
                let (left, all) = (self.stale.left(), wanted.is_none());
                let wanted = self.stale.next(limit, wanted.as_deref());
                if all && wanted.is_none() {
                    outbox.append(LogRecord::Stale { stale: Arc::default() }); // A replay finds more, which nobody may have.
                }
                AccessReply::StaleBatch { tag, wanted, left }
            }
            AccessRequest::InstallCopies { tag, copies } => {
                let bytes = self.log_copies(&copies, outbox)?;
                AccessReply::CopiesInstalled { tag, bytes }
            }
            AccessRequest::ReadCopies { tag, wanted, epoch } => {
                let copies = Arc::new(self.read_copies(&wanted, epoch)?);
                AccessReply::Copies { tag, copies }
            }
            AccessRequest::Post { tag } if self.large.keeps_posts() => {
                self.large.post(from, tag);
                return Ok(());
            }
            AccessRequest::Post { tag } => return self.begin_post(from, tag, outbox),
        };
        outbox.local(from, Message::AccessReply(reply));
        Ok(())
    }

    /// Everything that is installed by now goes to the store.
    pub(crate) fn begin_post(&mut self, from: ServerKind, tag: u64, outbox: &mut Outbox) -> Result<(), StoreError> {
        if !planted!(self.planted, UnsettledNotLogged) {
            self.log_unsettled(outbox)?;
        }
        self.poster.begin(tag, self.checkpoint, from, &mut self.local);
        outbox.sync(tag);
        Ok(())
    }

    /// Rows of the catalog may change.
    fn forget_validated(&mut self) {
        if !planted!(self.planted, ValidatedRemembered) {
            self.validated.forget();
        }
    }

    /// The newest versions of items, up to the first that is stale.
    fn read_ahead(&mut self, items: &[Item]) -> Result<Vec<(Timestamp, Option<Row>)>, StoreError> {
        let mut read = Vec::with_capacity(items.len());
        for Item { table, key } in items {
            if self.stale.contains(*table, key) && !planted!(self.planted, StaleServed) {
                break;
            }
            read.push(match self.local.read(*table, key, None)? {
                SeenVersion::Row(version, row) => (version, Some(row)),
                SeenVersion::Absent(_) => (Timestamp::ZERO, None),
                SeenVersion::Gone => unreachable!("no snapshot, no version that is gone"),
            });
        }
        Ok(read)
    }

    fn read(
        &mut self,
        tag: u64,
        table: TableId,
        key: Key,
        snapshot: Option<Timestamp>,
    ) -> Result<AccessReply, StoreError> {
        if self.stale.contains(table, &key) && !planted!(self.planted, StaleServed) {
            reached!("stale-read");
            let range = KeyRange::point(table, key);
            return Ok(AccessReply::Stale { tag, range: Box::new(range) });
        }
        if let Some(gone) = self.gone(tag, snapshot) {
            return Ok(gone);
        }
        let (version, row) = match self.local.read(table, &key, snapshot)? {
            SeenVersion::Row(version, row) => (version, Some(row)),
            // The same at every site, whether it still knows of the deletion or not.
            SeenVersion::Absent(_) => (Timestamp::ZERO, None),
            SeenVersion::Gone if planted!(self.planted, ReadBelowFloor) => (Timestamp::ZERO, None),
            SeenVersion::Gone => {
                reached!("below-floor");
                return Ok(AccessReply::SnapshotGone { tag, given_up: false });
            }
        };
        Ok(AccessReply::ReadReply { tag, version, row })
    }

    /// The answer to who asks for a snapshot whose versions need not be there any more.
    fn gone(&self, tag: u64, snapshot: Option<Timestamp>) -> Option<AccessReply> {
        let snapshots = &self.local.snapshots;
        let gone = snapshot.filter(|snapshot| !snapshots.may_read(*snapshot))?;
        reached!("snapshot-gone");
        Some(AccessReply::SnapshotGone { tag, given_up: snapshots.is_given_up(gone) })
    }

    /// Looks after old versions, and tells when that has cost a snapshot.
    pub(crate) fn trim_old_versions(&mut self, items: usize, outbox: &mut Outbox) {
        if let Some(through) = self.local.trim_old_versions(items) {
            let reply = AccessReply::SnapshotsGivenUp { through };
            outbox.local(ServerKind::ActionDriver, Message::AccessReply(reply));
        }
    }

    /// Goes as far as the first stale key; a scan that begins with one is stale.
    fn scan(
        &mut self,
        tag: u64,
        mut range: KeyRange,
        snapshot: Option<Timestamp>,
        limit: u32,
        reverse: bool,
    ) -> Result<AccessReply, StoreError> {
        let table = range.table;
        let present_only = planted!(self.planted, ScanIgnoresAbsentLocks);
        let mut edge = None;
        if !self.stale.is_empty() && !planted!(self.planted, StaleServed) && !present_only {
            let part = match reverse {
                false => self.stale.first_in(table, &range.low, range.high.as_ref()),
                true => self.stale.last_in(table, &range.low, range.high.as_ref()),
            };
            match part {
                None => {}
                Some((low, _)) if !reverse && low != range.low => {
                    reached!("stale-in-scan");
                    range.high = Some(low.clone());
                    edge = Some(low);
                }
                Some((_, Some(high))) if reverse && range.high.as_ref() != Some(&high) => {
                    range.low = high.clone();
                    edge = Some(high);
                }
                Some((low, high)) => {
                    let range = KeyRange { table, low, high };
                    return Ok(AccessReply::Stale { tag, range: Box::new(range) });
                }
            }
        }
        if let Some(gone) = self.gone(tag, snapshot) {
            return Ok(gone);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let forgiving = planted!(self.planted, ReadBelowFloor);
        let sought = Sought { snapshot, rows_max: limit, reverse, forgiving };
        let ScannedBatch::Rows(rows, next) = self.local.scan(&range, sought)? else {
            return Ok(AccessReply::SnapshotGone { tag, given_up: false });
        };
        if present_only && let Some((key, ..)) = rows.iter().find(|(key, ..)| self.stale.contains(table, key)) {
            let range = KeyRange::point(table, key.clone());
            return Ok(AccessReply::Stale { tag, range: Box::new(range) });
        }
        Ok(AccessReply::ScanReply { tag, rows, next: next.or(edge).map(Box::new), as_of: self.local.as_of })
    }

    /// What is stale is to be as others have it.
    fn mark_stale(&mut self, stale: &StaleSet) {
        if !planted!(self.planted, VoidDropStands) {
            self.poster.revoke_drops(stale);
        }
        self.stale.mark(stale);
    }

    /// A row may be posted at a version above one that is still to be added below it, so that its version does not tell what it has: the log
    /// does.
    fn log_unsettled(&mut self, outbox: &mut Outbox) -> Result<(), StoreError> {
        let items: Vec<Item> = self.escrow.items().map(|(table, key)| Item { table, key: key.clone() }).collect();
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for item in items {
            if let Some(Version { timestamp, row: Some(row), .. }) = self.local.version(item.table, &item.key, false)? {
                bytes += item.key.as_bytes().len() + row.len();
                rows.push((item, *timestamp, row.clone()));
            }
            if bytes >= COPY_BYTES_MAX {
                let rows = Arc::new(std::mem::take(&mut rows));
                outbox.append(LogRecord::Unsettled { rows });
                bytes = 0;
            }
        }
        if !rows.is_empty() {
            let rows = Arc::new(rows);
            outbox.append(LogRecord::Unsettled { rows });
        }
        Ok(())
    }

    /// Installs copies and logs what was installed. Returns its bytes.
    fn log_copies(&mut self, copies: &Copies, outbox: &mut Outbox) -> Result<u64, StoreError> {
        let mut installed = self.install_copies(copies)?;
        if planted!(self.planted, SettingNotFollowed) {
            installed.catalog.retain(|(key, ..)| CatalogEntry::setting_of(key).is_none());
        }
        for copies in installed.records {
            let copies = Arc::new(copies);
            outbox.append(LogRecord::Copied { copies });
        }
        tell(installed.items, installed.storages, installed.catalog, outbox);
        Ok(installed.bytes)
    }

    fn post(&mut self, now: Now, outbox: &mut Outbox) -> Result<(), StoreError> {
        let AccessManager { local, poster, graveyard, garbage, backlog, .. } = self;
        let hurries = backlog.is_large(local.tally.unposted);
        poster.step(now.boot, hurries, local, graveyard, garbage, outbox)
    }

    /// Stops for good when the store has failed.
    fn stop_if(&mut self, outcome: Result<(), StoreError>, outbox: &mut Outbox) {
        if let Err(error) = outcome {
            self.halted = true;
            let reason = error.to_string();
            outbox.local(ServerKind::Site, Message::Site(SiteNotice::Halt { reason }));
        }
    }
}

/// Whether a request may be served in the middle of a large installation: it looks at nothing without locks or a snapshot.
fn passes_installs(request: &AccessRequest) -> bool {
    match request {
        AccessRequest::Read { .. }
        | AccessRequest::Scan { .. }
        | AccessRequest::Compare { .. }
        | AccessRequest::Check { .. }
        | AccessRequest::Abandon { .. }
        | AccessRequest::Install { .. }
        | AccessRequest::NextStep
        | AccessRequest::SnapshotsInUse { .. }
        | AccessRequest::Post { .. } => true,
        AccessRequest::NothingUndecided
        | AccessRequest::MarkStale { .. }
        | AccessRequest::NextStale { .. }
        | AccessRequest::InstallCopies { .. }
        | AccessRequest::ReadCopies { .. } => false,
    }
}

/// Whether a request cannot change any row of the catalog, nor what of it is stale.
fn leaves_catalog(request: &AccessRequest) -> bool {
    match request {
        AccessRequest::Read { .. }
        | AccessRequest::Scan { .. }
        | AccessRequest::Compare { .. }
        | AccessRequest::Check { .. }
        | AccessRequest::Abandon { .. } => true,
        AccessRequest::Install { history, .. } => {
            history.drops.is_empty() && history.changed().all(|(table, _)| table != TableId::CATALOG)
        }
        _ => false,
    }
}

impl Server for AccessManager {
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox) {
        // All of the protocol stays within a site.
        if self.halted || envelope.from_site != envelope.to_site {
            return;
        }
        let before = self.local.tally.all;
        let outcome = match envelope.message {
            Message::Access(request) => self.serve(envelope.from, request, outbox),
            Message::Synced(tag) => {
                self.forget_validated();
                self.poster.logged(tag);
                self.post(now, outbox)
            }
            Message::Checkpoint => {
                let stale = Arc::new(self.stale.to_set());
                outbox.append(LogRecord::Stale { stale });
                Ok(())
            }
            _ => Ok(()),
        };
        self.stop_if(outcome, outbox);
        self.large.go_on(outbox);
        let hurries = self.backlog.is_large(self.local.tally.unposted);
        self.poster.gather(now.boot, hurries, &mut self.local);
        let brought = self.local.tally.all.saturating_sub(before);
        if brought > 0 {
            let items = SWEEP_PER_MESSAGE + brought / SWEEP_BYTES;
            self.sweeper.sweep(&mut self.local, items.min(SWEEP_PER_MESSAGE_MAX));
        }
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if self.halted {
            return;
        }
        self.forget_validated();
        let outcome = self.post(now, outbox);
        self.stop_if(outcome, outbox);
        self.trim_old_versions(OLD_VERSIONS_PER_TICK, outbox);
        self.graveyard.bury(now.boot, &mut self.local);
        self.sweeper.sweep(&mut self.local, SWEEP_PER_TICK);
        self.garbage.free(&mut self.local);
        self.backlog.tell(self.local.tally.unposted, outbox);
    }

    fn replay(&mut self, record: &LogRecord, outbox: &mut Outbox) {
        if self.halted {
            return;
        }
        self.forget_validated();
        let looks = matches!(record, LogRecord::Copied { .. } | LogRecord::Unsettled { .. });
        let caught_up = if looks { self.local.catch_up() } else { Ok(()) };
        self.stop_if(caught_up, outbox);
        match record {
            _ if self.halted => {}
            LogRecord::Copied { copies } => {
                let outcome = self.install_copies(copies).map(drop);
                self.stop_if(outcome, outbox);
            }
            LogRecord::Stale { stale } => {
                self.stale = Stale::default();
                self.stale.mark(stale);
            }
            LogRecord::Prepared { transaction, history, .. } if !history.increments.is_empty() => {
                self.undecided.insert(*transaction, history.clone());
            }
            // What aborts is not added, and what commits is installed.
            LogRecord::Decided { transaction, .. } => drop(self.undecided.remove(transaction)),
            LogRecord::Unsettled { rows } => {
                for (Item { table, key }, timestamp, row) in rows.iter() {
                    self.local.settle(*table, key, *timestamp, row.clone());
                }
            }
            LogRecord::EpochLogged { .. } if planted!(self.planted, ClearedBeforeSynced) => {}
            LogRecord::EpochLogged { stale, .. } => self.mark_stale(stale),
            _ => {}
        }
    }
}
