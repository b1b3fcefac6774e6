//! Checking a history: whether the versions and ranges that a transaction has read still stand in this copy.
//!
//! The rule for items compares *values at the moment of the check*, which is the transaction's place in the order of commits because the
//! asker holds its commit-locks:
//!
//! * a row stands if it has the version that was seen;
//! * an absence stands if the item is absent. Absence is seen as [`Timestamp::ZERO`], at every site, whether its deletion is still known
//!   there or has been forgotten; so sites that forget at different times agree. An insertion and deletion in between changed nothing that
//!   the transaction saw: its read returns the same at its place in the order.
//!
//! A row that is added to has to be there, whatever its version, and to have room for the sum beside all that is undecided.
//!
//! Ranges are compared by time: nothing in them, deletions included, may be newer than when they were read. Stale items that were read are
//! passed over: an up member judges them. To what is stale nothing is added.

use crate::chain::Version;
use crate::manager::AccessManager;
use crate::recent::RangeVerdict;
use crate::store::StoreError;
use messages::planted;
use messages::{Conflict, ConflictKind, History, Item, ItemRead, Key, RangeRead, TableId, Timestamp, TransactionId};
use std::sync::Arc;

impl AccessManager {
    /// The first conflict of this history with what has been installed here.
    pub(crate) fn check(
        &mut self,
        transaction: TransactionId,
        history: &Arc<History>,
    ) -> Result<Option<Conflict>, StoreError> {
        match self.check_items(&history.reads)? {
            None => self.check_rest(transaction, history),
            conflict => Ok(conflict),
        }
    }

    /// What is checked once all items that were read stand.
    pub(crate) fn check_rest(
        &mut self,
        transaction: TransactionId,
        history: &Arc<History>,
    ) -> Result<Option<Conflict>, StoreError> {
        if planted!(self.planted, ClearedAtPrepare) {
            self.clear_at_prepare(history);
        }
        let conflict = match history.ranges.iter().find_map(|range| self.check_range(range)) {
            None => self.check_increments(history)?,
            conflict => conflict,
        };
        if conflict.is_none() {
            self.escrow.enter(transaction, history);
        }
        Ok(conflict)
    }

    fn check_increments(&mut self, history: &History) -> Result<Option<Conflict>, StoreError> {
        if !are_sound(history) {
            return Ok(Some(Conflict::of(ConflictKind::Refused)));
        }
        for increment in &history.increments {
            let (table, key) = (increment.table, &increment.key);
            if self.stale.contains(table, key) {
                if planted!(self.planted, IncrementsWhileJoining) {
                    continue;
                }
                return Ok(Some(conflict(ConflictKind::IncrementRefused, table, key, Timestamp::ZERO)));
            }
            let here = self.local.version(table, key, false)?;
            let Some(row) = here.and_then(|here| here.row.as_ref()) else {
                return Ok(Some(conflict(ConflictKind::StaleRead, table, key, Timestamp::ZERO)));
            };
            if !self.escrow.admits(increment, row) {
                return Ok(Some(conflict(ConflictKind::IncrementRefused, table, key, Timestamp::ZERO)));
            }
        }
        Ok(None)
    }

    /// Whether these rows of the catalog are here and have these versions.
    pub(crate) fn are_unchanged(&mut self, rows: &[(Key, Timestamp)]) -> Result<bool, StoreError> {
        for (key, version) in rows {
            let is_stale = self.stale.contains(TableId::CATALOG, key) && !planted!(self.planted, StaleServed);
            if is_stale || self.stands(TableId::CATALOG, key, *version, false)?.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the newest version of an item, or (a planted bug) the first, is the one that was seen. Errors in it: the version that it has.
    fn stands(
        &mut self,
        table: TableId,
        key: &Key,
        seen: Timestamp,
        first: bool,
    ) -> Result<Result<(), Timestamp>, StoreError> {
        let is_noted = table == TableId::CATALOG && !first;
        if is_noted && self.validated.knows(key, seen) {
            return Ok(Ok(()));
        }
        let stands = stands(self.local.version(table, key, first)?, seen);
        if is_noted && stands.is_ok() {
            self.validated.note(key, seen);
        }
        Ok(stands)
    }

    /// The first of these reads that does not stand.
    pub(crate) fn check_items(&mut self, reads: &[ItemRead]) -> Result<Option<Conflict>, StoreError> {
        let first = planted!(self.planted, DuplicateInstall);
        for read in reads {
            if self.stale.contains(read.table, &read.key) {
                continue;
            }
            if let Err(version) = self.stands(read.table, &read.key, read.seen, first)? {
                return Ok(Some(conflict(ConflictKind::StaleRead, read.table, &read.key, version)));
            }
        }
        Ok(None)
    }

    fn check_range(&self, RangeRead { range, as_of }: &RangeRead) -> Option<Conflict> {
        let storage = self.local.storages.get(&range.table)?;
        if planted!(self.planted, RangeNotChecked) {
            return None;
        }
        let skip = |key: &Key| self.stale.contains(range.table, key);
        match storage.recent.check(range, *as_of, skip) {
            RangeVerdict::Holds => None,
            RangeVerdict::Written(key, version) => Some(conflict(ConflictKind::StaleRead, range.table, &key, version)),
            RangeVerdict::TooOld => Some(conflict(ConflictKind::TooOld, range.table, &range.low, Timestamp::ZERO)),
        }
    }
}

/// Whether this version of an item, if any, is the one that was seen. Errors: the version that it has.
fn stands(here: Option<&Version>, seen: Timestamp) -> Result<(), Timestamp> {
    let (version, present) = here.map_or((Timestamp::ZERO, false), |here| (here.timestamp, here.row.is_some()));
    if seen == version || (!present && seen == Timestamp::ZERO) { Ok(()) } else { Err(version) }
}

/// Whether increments are as every site makes them: in order, none of an item that is written too, none of the catalog.
fn are_sound(history: &History) -> bool {
    let increments = &history.increments;
    increments.is_sorted_by(|one, other| (one.table, &one.key) < (other.table, &other.key))
        && increments.iter().all(|increment| increment.table != TableId::CATALOG)
        && (increments.is_empty()
            || history.writes.iter().all(|write| {
                increments.binary_search_by(|added| (added.table, &added.key).cmp(&(write.table, &write.key))).is_err()
            }))
}

fn conflict(kind: ConflictKind, table: TableId, key: &Key, version: Timestamp) -> Conflict {
    let item = Item { table, key: key.clone() };
    Conflict::on(item, kind, (version != Timestamp::ZERO).then_some(version.transaction))
}
