//! Posting: bringing what was installed to the store, bit by bit, while service goes on.
//!
//! A post gathers items for the store's next write, hands them over, rests, and goes on. It gathers at a steady pace, a few items with every message
//! and the rest with the ticks: however much there is to do, nothing waits long for it. What is gathered counts as posted, but stays in memory until
//! the store has written it.
//!
//! Invariant: a post writes only what was installed before it came, because only that is synced in the log; when it is answered the store
//! has synced all of it, or something newer that the log has synced. A dropped storage goes only by a post, too: before that, a loss of power
//! could take the drop and leave the table.

use crate::chain::Generation;
use crate::limits::{POST_HASTE, POST_ITEM_TIME, POST_ITEMS_AT_ONCE, POST_REST, POST_WRITE_BYTES, POST_WRITE_ITEMS};
use crate::local::Local;
use crate::memory_budget::{Garbage, Graveyard};
use crate::store::{StoreError, StoreWrite};
use bytes::Bytes;
use messages::access::{AccessReply, StaleSet};
use messages::remaining;
use messages::{Key, Message, Outbox, ServerKind, TableId, Timestamp};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What the store keeps beside rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    /// At or above the version of everything in the store, forgotten deletions included.
    pub(crate) as_of: Timestamp,
    /// Storages dropped whose rows are still in the store, with the drop's timestamp; or zero: they go if nothing is left of them.
    pub(crate) drops: Vec<(Timestamp, TableId)>,
    /// The store has, on disk, all that the log says before this position.
    pub(crate) replay_from: u64,
}

/// The layout of [`Metadata`], as its first byte.
const FORMAT: u8 = 3;
/// The one before, which differs only in what is promised: `replay_from` could lie behind where the log began.
const FORMAT_BEFORE: u8 = 2;

impl Metadata {
    fn encode(&self) -> Bytes {
        let bytes = postcard::to_extend(self, vec![FORMAT]).expect("metadata always encodes");
        Bytes::from(bytes)
    }

    /// What a store had, or the beginning; and whether the log has to reach back to where it says.
    pub(crate) fn decode(bytes: Option<Bytes>) -> Result<(Metadata, bool), StoreError> {
        let Some(bytes) = bytes else {
            return Ok((Metadata::default(), true));
        };
        match bytes.split_first() {
            Some((format @ &(FORMAT | FORMAT_BEFORE), rest)) => {
                let decoded =
                    postcard::from_bytes(rest).map_err(|error| StoreError::Damaged(format!("metadata: {error}")))?;
                Ok((decoded, *format == FORMAT))
            }
            Some((format, _)) => {
                Err(StoreError::Damaged(format!("metadata of format {format}, where {FORMAT} is known")))
            }
            None => Err(StoreError::Damaged("empty metadata".into())),
        }
    }
}

/// From where a log is needed beside a store with this metadata; `None`: the store has nothing yet.
///
/// # Errors
/// It is no metadata of this version.
pub fn needs_log_from(metadata: Option<Bytes>) -> Result<Option<u64>, StoreError> {
    let is_there = metadata.is_some();
    let (metadata, _) = Metadata::decode(metadata)?;
    Ok(is_there.then_some(metadata.replay_from))
}

/// A storage that a committed transaction has dropped.
#[derive(Debug, Serialize, Deserialize)]
struct DroppedStorage {
    timestamp: Timestamp,
    table: TableId,
    generation: Generation,
}

/// A post.
#[derive(Debug, Serialize, Deserialize)]
struct Posting {
    tag: u64,
    asker: ServerKind,
    generation: Generation,
    metadata: Metadata,
    /// Whether the metadata has been written, which a post without items does too.
    written: bool,
    /// Where the log begins that is still needed when this post is done.
    replay_from: u64,
    drops: Vec<DroppedStorage>,
    /// See [`Poster::voided`].
    voided: BTreeSet<TableId>,
    /// See [`Poster::emptied`].
    emptied: BTreeSet<TableId>,
    #[serde(with = "remaining")]
    items: std::vec::IntoIter<(TableId, Key)>,
    /// Whether items may be gathered now. Storages that go are gone by then.
    gathers: bool,
    /// What the store is to write next, and how much that is.
    gathered: Vec<StoreWrite>,
    gathered_bytes: usize,
    /// When items were gathered last, or would have been at a steady pace (boot clock).
    gathered_at: u64,
    /// Deletions among what is gathered or being written.
    deletions: Vec<(TableId, Key, Timestamp)>,
    /// Bytes of what is gathered or being written, as memory counts them.
    kept_bytes: usize,
    /// When the store was handed what it is writing (boot clock).
    handed_over: Option<u64>,
    /// The log has on disk what is to be posted: the store must never hold what a loss of power takes back.
    logged: bool,
    persisting: bool,
    /// The store has been told from where the log is needed.
    noted: bool,
}

/// The post under way, and drops that wait for one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Poster {
    posting: Option<Posting>,
    drops: Vec<DroppedStorage>,
    /// Storages all of which a copy has taken away: what the store has of them is void. As with drops, the next post begins with that.
    voided: BTreeSet<TableId>,
    /// Storages of which copies have taken rows away. Those that nothing is left of go with the next post: not before the log has on disk that
    /// they were stale here.
    emptied: BTreeSet<TableId>,
    /// See [`Metadata::replay_from`].
    replay_from: u64,
    /// Whether the log had to reach back to there when the site started.
    needs_log: bool,
    /// Nothing is done before this (boot clock), so that posting takes a part of the machine and never all of it.
    rests_until: u64,
}

impl Poster {
    /// Goes on with drops that the store has not seen the end of.
    pub(crate) fn new(drops: Vec<(Timestamp, TableId)>, replay_from: u64, needs_log: bool) -> Poster {
        let (emptied, drops): (Vec<_>, Vec<_>) = drops.into_iter().partition(|(at, _)| *at == Timestamp::ZERO);
        let drop = |(timestamp, table)| DroppedStorage { timestamp, table, generation: 0 };
        let emptied = emptied.into_iter().map(|(_, table)| table).collect();
        Poster { drops: drops.into_iter().map(drop).collect(), emptied, replay_from, needs_log, ..Poster::default() }
    }

    /// See [`crate::AccessManager::replay_from`].
    pub(crate) fn replay_from(&self) -> (u64, bool) {
        (self.replay_from, self.needs_log)
    }

    /// A committed transaction has dropped a storage.
    pub(crate) fn drop_storage(&mut self, timestamp: Timestamp, table: TableId, generation: Generation) {
        if !self.drops.iter().any(|drop| drop.table == table) {
            self.drops.push(DroppedStorage { timestamp, table, generation });
        }
    }

    /// Whether a storage has been dropped at or below this, though its rows may still be here.
    pub(crate) fn is_dropped(&self, table: TableId, through: Timestamp) -> bool {
        let due = self.posting.iter().flat_map(|posting| &posting.drops);
        self.drops.iter().chain(due).any(|drop| drop.table == table && drop.timestamp <= through)
    }

    /// Drops of these storages are void: others have them still, and this copy is to have them again.
    pub(crate) fn revoke_drops(&mut self, revoked: &StaleSet) {
        let stands = |drop: &DroppedStorage| !revoked.everything && !revoked.storages.contains(&drop.table);
        self.drops.retain(stands);
        if let Some(posting) = &mut self.posting {
            posting.drops.retain(stands);
        }
    }

    /// A copy has brought that something of a storage is absent.
    pub(crate) fn note_emptied(&mut self, table: TableId) {
        self.emptied.insert(table);
    }

    /// A copy has brought that all of a storage is absent.
    pub(crate) fn void(&mut self, table: TableId) {
        self.voided.insert(table);
        if let Some(posting) = &mut self.posting {
            posting.gathered.retain(|write| write.table != table);
        }
    }

    /// A storage is gone, for whatever reason: here, and in the store as soon as that comes to it.
    pub(crate) fn storage_is_gone(&mut self, table: TableId) {
        self.emptied.remove(&table);
        self.drops.retain(|drop| drop.table != table);
        if let Some(posting) = &mut self.posting {
            posting.gathered.retain(|write| write.table != table);
        }
    }

    /// Begins to post everything installed so far: all that the log says before `replay_from`. Nothing is written before
    /// [`Poster::logged`].
    pub(crate) fn begin(&mut self, tag: u64, replay_from: u64, asker: ServerKind, local: &mut Local) {
        assert!(self.posting.is_none(), "the site waits for a post before it sends the next");
        let generation = local.generation;
        local.generation += 1;
        local.posting = Some(generation);
        let hurries = planted!(local.planted, DropPassesReaders);
        let unread = |drop: &DroppedStorage| drop.timestamp < local.snapshots.oldest() || hurries;
        let (due, kept): (Vec<DroppedStorage>, Vec<DroppedStorage>) =
            std::mem::take(&mut self.drops).into_iter().partition(|drop| unread(drop) && drop.generation <= generation);
        let drops = kept.iter().map(|drop| (drop.timestamp, drop.table)).collect();
        if !kept.is_empty() {
            reached!("drop-waits-for-readers");
        }
        self.drops = kept;
        let metadata = Metadata { as_of: local.as_of, drops, replay_from: 0 };
        self.posting = Some(Posting {
            tag,
            asker,
            generation,
            metadata,
            written: false,
            replay_from,
            drops: due,
            voided: std::mem::take(&mut self.voided),
            emptied: std::mem::take(&mut self.emptied),
            items: std::mem::take(&mut local.unposted).into_iter(),
            gathers: false,
            gathered: Vec::new(),
            gathered_bytes: 0,
            gathered_at: 0,
            deletions: Vec::new(),
            kept_bytes: 0,
            handed_over: None,
            logged: false,
            persisting: false,
            noted: false,
        });
    }

    /// The log has on disk what the post of this tag brings to the store.
    pub(crate) fn logged(&mut self, tag: u64) {
        if let Some(posting) = self.posting.as_mut().filter(|posting| posting.tag == tag) {
            posting.logged = true;
        }
    }

    /// Gathers what is due, if it is time for that; more, and without rests, when it hurries.
    pub(crate) fn gather(&mut self, boot: u64, hurries: bool, local: &mut Local) {
        let rests = boot < self.rests_until && !hurries;
        if let Some(posting) = self.posting.as_mut().filter(|posting| posting.gathers && !rests) {
            posting.gather(boot, hurries, local);
        }
    }

    /// Does one bit of work, if the store is ready for it; a larger one, without rests, when it hurries.
    pub(crate) fn step(
        &mut self,
        boot: u64,
        hurries: bool,
        local: &mut Local,
        graveyard: &mut Graveyard,
        garbage: &mut Garbage,
        outbox: &mut Outbox,
    ) -> Result<(), StoreError> {
        let Some(posting) = &mut self.posting else {
            return Ok(());
        };
        let rests = boot < self.rests_until && !hurries;
        if !posting.logged || rests || !local.store.is_idle()? {
            return Ok(());
        }
        if let Some(handed_over) = posting.handed_over.take() {
            posting.settle(boot, local, graveyard);
            self.rests_until = boot + POST_REST * (boot - handed_over);
            if !hurries {
                return Ok(());
            }
        }
        for drop in posting.drops.drain(..) {
            garbage.take(local.remove_storage(drop.table));
        }
        for table in std::mem::take(&mut posting.voided) {
            if !planted!(local.planted, VoidedRowsReturn) {
                local.store.remove_storage(table);
            }
        }
        for table in std::mem::take(&mut posting.emptied) {
            match local.is_hollow(table)? {
                Some(true) => {
                    reached!("hollow-storage");
                    garbage.take(local.remove_storage(table));
                }
                Some(false) => {}
                None => {
                    self.emptied.insert(table);
                    posting.metadata.drops.push((Timestamp::ZERO, table));
                }
            }
        }
        if !posting.gathers {
            posting.gathers = true;
            posting.gathered_at = boot;
        }
        posting.gather(boot, hurries, local);
        if posting.wants_more() {
            return Ok(());
        }
        posting.gathers = false;
        posting.metadata.replay_from = self.replay_from;
        if !posting.gathered.is_empty() || !posting.written {
            posting.hand_over(boot, local);
            return Ok(());
        }
        if !posting.persisting {
            posting.persisting = true;
            local.store.persist();
            if !local.store.is_idle()? {
                return Ok(());
            }
        }
        if !posting.noted {
            posting.noted = true;
            posting.settle(boot, local, graveyard);
            // Behind what it speaks of, and on disk before the log gives its front up: a store that needs more of the log than there is, is none of it.
            self.replay_from = self.replay_from.max(posting.replay_from);
            posting.metadata.replay_from = self.replay_from;
            local.store.write(Vec::new(), posting.metadata.encode());
            local.store.persist();
            if !local.store.is_idle()? {
                return Ok(());
            }
        }
        let tag = posting.tag;
        outbox.local(posting.asker, Message::AccessReply(AccessReply::Posted { tag }));
        self.posting = None;
        local.posting = None;
        Ok(())
    }
}

impl Posting {
    /// Whether there is something to gather, and room for it.
    fn wants_more(&self) -> bool {
        let full = self.gathered.len() >= POST_WRITE_ITEMS || self.gathered_bytes >= POST_WRITE_BYTES;
        self.items.len() > 0 && !full
    }

    /// How many items are due since the last time.
    fn due(&mut self, boot: u64, hurries: bool) -> usize {
        let haste = if hurries { POST_HASTE } else { 1 };
        let due = haste * boot.saturating_sub(self.gathered_at) / POST_ITEM_TIME;
        let most = haste * POST_ITEMS_AT_ONCE;
        self.gathered_at = if due < most { self.gathered_at + due * POST_ITEM_TIME / haste } else { boot };
        due.min(most) as usize
    }

    /// Takes up items that are due. From then on they are posted, as far as memory is concerned that has them still.
    fn gather(&mut self, boot: u64, hurries: bool, local: &mut Local) {
        for _ in 0..self.due(boot, hurries) {
            if !self.wants_more() {
                return;
            }
            let (table, key) = self.items.next().expect("more is wanted while there are items");
            let storage = local.storages.get_mut(&table);
            let Some(chain) = storage.and_then(|storage| storage.chains.get_mut(&key)) else {
                continue;
            };
            let Some(due) = chain.due(self.generation) else {
                continue;
            };
            let (version, row) = (due.timestamp, due.row.clone());
            self.gathered_bytes += key.as_bytes().len() + row.as_ref().map_or(0, |row| row.len());
            if row.is_none() {
                self.deletions.push((table, key.clone(), version));
            }
            self.kept_bytes += chain.bytes();
            local.tally.unposted += chain.bytes();
            local.tally.subtract(chain);
            let forgets_increments = planted!(local.planted, PostForgetsIncrements);
            let generation = if forgets_increments { Generation::MAX } else { self.generation };
            chain.posted(version, generation, local.stored + 1);
            chain.trim(&local.snapshots, local.posting);
            local.tally.add(chain);
            self.gathered.push(StoreWrite { table, key, version, row });
        }
    }

    /// Has the store write what was gathered.
    fn hand_over(&mut self, boot: u64, local: &mut Local) {
        let writes = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        self.written = true;
        self.handed_over = Some(boot);
        local.store.write(writes, self.metadata.encode());
    }

    /// The store has written what was gathered.
    fn settle(&mut self, boot: u64, local: &mut Local, graveyard: &mut Graveyard) {
        local.stored += 1;
        local.tally.unposted -= std::mem::take(&mut self.kept_bytes);
        for (table, key, timestamp) in self.deletions.drain(..) {
            graveyard.bring(boot, table, key, timestamp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metadata of another layout must stop the site, not be read as something else.
    #[test]
    fn metadata_is_checked() {
        let metadata = Metadata { as_of: Timestamp::ZERO, drops: vec![(Timestamp::ZERO, TableId(20))], replay_from: 7 };
        let encoded = metadata.encode();
        let before = [&[FORMAT_BEFORE], &encoded[1..]].concat();
        assert_eq!(Metadata::decode(Some(encoded)), Ok((metadata.clone(), true)));
        assert_eq!(Metadata::decode(Some(before.into())), Ok((metadata, false)));
        assert_eq!(Metadata::decode(None), Ok((Metadata::default(), true)));
        for bytes in [&b""[..], b"\x02", b"\x01\x00\x00"] {
            let decoded = Metadata::decode(Some(Bytes::copy_from_slice(bytes)));
            assert!(matches!(decoded, Err(StoreError::Damaged(_))), "{bytes:?}");
        }
    }
}
