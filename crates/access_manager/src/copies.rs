//! Copiers: what an up member reads for another site, and what a stale copy takes over.
//!
//! Invariants: a copy replaces only what is stale, whatever version this copy has; what was refreshed by a write is newer than any copy
//! that is still on its way. Installing what was logged, in a copy that is at least as stale, gives the same rows.

use crate::limits::COPY_WORK_MAX;
use crate::manager::AccessManager;
use crate::ranges::{before, is_point};
use crate::store::StoreError;
use messages::access::{Copies, CopyRequest};
use messages::limits::{COPY_BYTES_MAX, COPY_ITEMS_MAX};
use messages::{EpochNumber, Item, Key, KeyRange, Row, TableId, Timestamp};
use messages::{planted, reached};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

type CopiedRows = Vec<(Key, Timestamp, Option<Row>)>;

/// What became of copies.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    /// What was installed, for the log.
    pub(crate) records: Vec<Copies>,
    /// Items that are no longer stale.
    pub(crate) items: Vec<Item>,
    /// Storages that were stale as a whole and no longer are.
    pub(crate) storages: Vec<TableId>,
    /// Bytes of keys and rows.
    pub(crate) bytes: u64,
    /// Catalog rows that changed.
    pub(crate) catalog: CopiedRows,
}

impl AccessManager {
    /// The newest versions of what another site asks for. What is stale here is left out: the asker turns to another member.
    pub(crate) fn read_copies(&mut self, wanted: &CopyRequest, epoch: EpochNumber) -> Result<Copies, StoreError> {
        match wanted {
            CopyRequest::Items(items) => self.read_items(items, epoch),
            CopyRequest::Range { from } if self.was_dropped(from.table, epoch) => {
                Ok(Copies::Range { range: (**from).clone(), rows: Vec::new() })
            }
            CopyRequest::Range { from } => self.read_range(from),
            CopyRequest::Storages if self.stale.is_everything() => Ok(Copies::Items(Vec::new())),
            CopyRequest::Storages => {
                // Those, too, of which this copy has nothing yet: others have.
                let tables: BTreeSet<TableId> =
                    self.local.storages.keys().copied().chain(self.stale.storages()).collect();
                Ok(Copies::Storages(tables.into_iter().filter(|table| !self.was_dropped(*table, epoch)).collect()))
            }
        }
    }

    /// Whether a storage was dropped before this epoch. What it still holds is for snapshots of this site.
    fn was_dropped(&self, table: TableId, epoch: EpochNumber) -> bool {
        let was_dropped = self.poster.is_dropped(table, Timestamp::snapshot(epoch, 0));
        if was_dropped {
            reached!("copier-meets-drop");
        }
        was_dropped && !planted!(self.planted, DroppedCopied)
    }

    fn read_items(&mut self, items: &[Item], epoch: EpochNumber) -> Result<Copies, StoreError> {
        let mut copies = Vec::new();
        let mut bytes = 0;
        for item in items.iter().take(COPY_ITEMS_MAX) {
            if self.stale.contains(item.table, &item.key) {
                continue;
            }
            let newest = match self.was_dropped(item.table, epoch) {
                true => None,
                false => self.local.version(item.table, &item.key, false)?,
            };
            let (version, row) =
                newest.map_or((Timestamp::ZERO, None), |newest| (newest.timestamp, newest.row.clone()));
            bytes += size(&item.key, row.as_ref());
            copies.push((item.clone(), version, row));
            if bytes >= COPY_BYTES_MAX {
                break;
            }
        }
        Ok(Copies::Items(copies))
    }

    fn read_range(&mut self, from: &KeyRange) -> Result<Copies, StoreError> {
        let KeyRange { table, low, high } = from.clone();
        let stale = self.stale.first_in(table, &low, high.as_ref());
        let mut high = stale.map_or(high, |(stale, _)| Some(stale));
        let mut rows = Vec::new();
        let mut bytes = 0;
        let mut cursor = low.clone();
        'range: while before(&cursor, high.as_ref()) {
            let Some(storage) = self.local.storages.get(&table) else {
                break;
            };
            let gap = storage.resident.first_gap(&cursor, high.as_ref());
            let end = gap.as_ref().map_or(high.as_ref(), |(start, _)| Some(start));
            let end = end.map_or(Bound::Unbounded, Bound::Excluded);
            for (key, chain) in storage.chains.range::<Key, _>((Bound::Included(&cursor), end)) {
                if rows.len() >= COPY_ITEMS_MAX || bytes >= COPY_BYTES_MAX {
                    high = Some(key.clone());
                    break 'range;
                }
                let newest = chain.newest();
                bytes += size(key, newest.row.as_ref());
                rows.push((key.clone(), newest.timestamp, newest.row.clone()));
            }
            let Some(gap) = gap else { break };
            cursor = gap.0.clone();
            self.local.load_range(table, gap, false, COPY_ITEMS_MAX)?;
        }
        let range = KeyRange { table, low, high };
        Ok(Copies::Range { range, rows })
    }

    /// Takes over what is stale here.
    pub(crate) fn install_copies(&mut self, copies: &Copies) -> Result<Installed, StoreError> {
        let mut installed = Installed::default();
        match copies {
            Copies::Items(copies) => self.install_items(copies, &mut installed),
            Copies::Range { range, rows } => self.install_range(range, rows, &mut installed)?,
            Copies::Storages(listed) => self.install_list(listed, &mut installed),
        }
        Ok(installed)
    }

    fn install_items(&mut self, copies: &[(Item, Timestamp, Option<Row>)], installed: &mut Installed) {
        let mut taken = Vec::new();
        for (item, version, row) in copies {
            if !self.stale.contains(item.table, &item.key) && !planted!(self.planted, ClearedByOlderVersion) {
                reached!("copier-meets-newer");
                continue;
            }
            self.take_over(item.table, &item.key, *version, row.clone(), installed);
            if self.stale.refresh(item.table, &item.key, Some(&item.key.successor())) {
                installed.storages.push(item.table);
            }
            installed.items.push(item.clone());
            taken.push((item.clone(), *version, row.clone()));
        }
        if !taken.is_empty() {
            installed.records.push(Copies::Items(taken));
        }
    }

    /// Each stale part of the range gets a record of its own, so that a replay touches nothing that was fresh.
    fn install_range(
        &mut self,
        range: &KeyRange,
        rows: &CopiedRows,
        installed: &mut Installed,
    ) -> Result<(), StoreError> {
        let table = range.table;
        if rows.is_empty() {
            self.note_emptied(table);
        }
        if rows.is_empty() && self.is_void(range) {
            self.garbage.take(self.local.void_storage(table));
            self.poster.void(table);
        }
        let mut brought: BTreeMap<&Key, (Timestamp, Option<&Row>)> = BTreeMap::new();
        for (key, version, row) in rows {
            brought.insert(key, (*version, row.as_ref()));
        }
        let mut cursor = Some(range.low.clone());
        let mut work = COPY_WORK_MAX;
        while work > 0
            && let Some(low) = cursor
            && let Some((low, high)) = self.stale_part(table, low, range.high.as_ref())
        {
            let (own, high) = self.own_keys(table, &low, high, work)?;
            work = work.saturating_sub(own.len().max(1));
            for key in own.iter().filter(|key| !brought.contains_key(key)) {
                self.take_over(table, key, Timestamp::ZERO, None, installed);
            }
            let mut taken = Vec::new();
            let bound = high.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            for (key, (version, row)) in brought.range::<Key, _>((Bound::Included(&low), bound)) {
                self.take_over(table, key, *version, row.cloned(), installed);
                taken.push(((*key).clone(), *version, row.cloned()));
            }
            if self.stale.refresh(table, &low, high.as_ref()) {
                installed.storages.push(table);
            }
            if is_point(&low, high.as_ref()) {
                installed.items.push(Item { table, key: low.clone() });
            }
            cursor = high.clone();
            let range = KeyRange { table, low, high };
            installed.records.push(Copies::Range { range, rows: taken });
        }
        Ok(())
    }

    /// Whether an empty range says that nothing is left of a storage, all of which is stale. However much it had held is forgotten at once then,
    /// instead of key by key.
    fn is_void(&self, range: &KeyRange) -> bool {
        let all = (Key::lowest(), None);
        let (table, is_whole) = (range.table, *range == KeyRange::whole(range.table));
        is_whole && self.stale.first_in(table, &all.0, None) == Some(all)
    }

    /// The first part of a range that is to be replaced.
    fn stale_part(&self, table: TableId, low: Key, high: Option<&Key>) -> Option<(Key, Option<Key>)> {
        if planted!(self.planted, ClearedByOlderVersion) {
            return before(&low, high).then(|| (low, high.cloned()));
        }
        self.stale.first_in(table, &low, high)
    }

    /// Keys of this copy in a range, and how far they reach when there are more than `keys_max`.
    fn own_keys(
        &mut self,
        table: TableId,
        low: &Key,
        high: Option<Key>,
        keys_max: usize,
    ) -> Result<(Vec<Key>, Option<Key>), StoreError> {
        let mut keys: Vec<Key> = Vec::new();
        let mut cursor = low.clone();
        loop {
            let Some(storage) = self.local.storages.get(&table) else {
                return Ok((keys, high));
            };
            let gap = storage.resident.first_gap(&cursor, high.as_ref());
            let end = gap.as_ref().map_or(high.as_ref(), |(start, _)| Some(start));
            if before(&cursor, end) {
                let end = end.map_or(Bound::Unbounded, Bound::Excluded);
                for (key, _) in storage.chains.range::<Key, _>((Bound::Included(&cursor), end)) {
                    if keys.len() == keys_max {
                        return Ok((keys, Some(key.clone())));
                    }
                    keys.push(key.clone());
                }
            }
            let Some(gap) = gap else {
                return Ok((keys, high));
            };
            cursor = gap.0.clone();
            self.local.load_range(table, gap, false, keys_max - keys.len() + 1)?;
        }
    }

    /// Storages that the others do not have are forgotten, unless a write of this epoch made them meanwhile; all listed ones are stale.
    fn install_list(&mut self, listed: &[TableId], installed: &mut Installed) {
        if !self.stale.is_everything() {
            return;
        }
        let own: Vec<TableId> = self.local.storages.keys().copied().collect();
        for table in own.into_iter().filter(|table| !listed.contains(table) && !self.stale.knows(*table)) {
            self.garbage.take(self.local.remove_storage(table));
            self.poster.storage_is_gone(table);
        }
        self.stale.list_storages(listed);
        installed.records.push(Copies::Storages(listed.to_vec()));
    }

    /// Something of a storage is absent: it may have been dropped while this copy was away.
    fn note_emptied(&mut self, table: TableId) {
        if !planted!(self.planted, EmptiedStay) {
            self.poster.note_emptied(table);
        }
    }

    fn take_over(
        &mut self,
        table: TableId,
        key: &Key,
        version: Timestamp,
        row: Option<Row>,
        installed: &mut Installed,
    ) {
        installed.bytes += size(key, row.as_ref()) as u64;
        if table == TableId::CATALOG {
            installed.catalog.push((key.clone(), version, row.clone()));
        }
        if row.is_none() {
            self.note_emptied(table);
        }
        self.local.replace(table, key, version, row);
    }
}

fn size(key: &Key, row: Option<&Row>) -> usize {
    key.as_bytes().len() + row.map_or(0, Row::len)
}
