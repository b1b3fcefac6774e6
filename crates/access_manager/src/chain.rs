//! The versions of one item in memory.
//!
//! Invariants: a chain has at least one version; versions rise strictly to the last (newest); together they are all that any snapshot
//! that may be read sees. What lies below the first is "absent", unless `history_unknown`. `old_bytes` is what the versions cost that are
//! not the newest, so an install costs the same however many there are.

use crate::snapshots::ReadableSnapshots;
use messages::{Row, Timestamp};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use values::addition::{self, AddError, Addend};

/// Posts counted when a version was installed: a post brings to the store what was installed before it began.
pub(crate) type Generation = u32;

/// Writes to the store, counted.
pub(crate) type Batch = u32;

/// One version of a row, or its deletion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) timestamp: Timestamp,
    pub(crate) row: Option<Row>,
    pub(crate) generation: Generation,
}

/// What a reader sees of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeenVersion {
    /// A row.
    Row(Timestamp, Row),
    /// No row; the version of its deletion, or zero when nothing is known.
    Absent(Timestamp),
    /// The snapshot lies below what is known of the item.
    Gone,
}

/// The versions of one item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chain {
    /// Oldest first.
    versions: SmallVec<[Version; 1]>,
    /// What a post under way has to bring to the store, when no snapshot sees it any more. A row that changes all the time keeps this one
    /// version for the post, however long it takes.
    owed: Option<Box<Version>>,
    /// Bytes of all `versions` but the newest.
    old_bytes: usize,
    /// [`ReadableSnapshots::changes`] when it was trimmed last; 0: there may be something to trim.
    trimmed: u32,
    /// The store's write that brings, or has brought, the newest version, unless it is `dirty`.
    batch: Batch,
    /// Nothing is known below the first version.
    history_unknown: bool,
    /// The newest version is neither in the store nor on its way to it.
    pub(crate) dirty: bool,
    /// Read or written since the eviction sweep last came by.
    pub(crate) referenced: bool,
    /// Among the items whose old versions are looked after.
    pub(crate) queued: bool,
}

/// Bytes that an item costs beside its key and rows.
const OVERHEAD: usize = size_of::<messages::Key>() + size_of::<Chain>() + 32;

impl Version {
    /// What it costs when it is not the newest.
    fn old_bytes(&self) -> usize {
        size_of::<Version>() + self.row.as_ref().map_or(0, Row::len)
    }

    /// Its row, with this added. Errors: it is no row, or a column cannot take it.
    fn plus(&self, addends: &[Addend]) -> Result<Row, AddError> {
        let row = self.row.as_ref().ok_or(AddError::NotANumber)?;
        addition::add(row, addends).map(Row::from)
    }
}

impl Chain {
    /// An item as the store has it: clean, and nothing is known of its past.
    pub(crate) fn loaded(timestamp: Timestamp, row: Row) -> Chain {
        let version = Version { timestamp, row: Some(row), generation: 0 };
        Chain { dirty: false, referenced: false, ..Chain::written(version, true) }
    }

    /// A new item whose only version is to be posted.
    pub(crate) fn written(version: Version, history_unknown: bool) -> Chain {
        Chain {
            versions: SmallVec::from_buf([version]),
            owed: None,
            old_bytes: 0,
            trimmed: 0,
            batch: 0,
            history_unknown,
            dirty: true,
            referenced: true,
            queued: false,
        }
    }

    pub(crate) fn newest(&self) -> &Version {
        &self.versions[self.versions.len() - 1]
    }

    /// The oldest version kept; only a planted bug asks for it.
    pub(crate) fn oldest(&self) -> &Version {
        &self.versions[0]
    }

    /// The newest version at or below `snapshot`, which may be read; `None`: the newest.
    pub(crate) fn read(&self, snapshot: Option<Timestamp>) -> SeenVersion {
        let newest = self.newest();
        let version = match snapshot {
            Some(snapshot) if snapshot < newest.timestamp => {
                let above = self.versions.partition_point(|version| version.timestamp <= snapshot);
                above.checked_sub(1).map(|place| &self.versions[place])
            }
            _ => Some(newest),
        };
        match version {
            Some(Version { timestamp, row: Some(row), .. }) => SeenVersion::Row(*timestamp, row.clone()),
            Some(Version { timestamp, row: None, .. }) => SeenVersion::Absent(*timestamp),
            None if self.history_unknown => SeenVersion::Gone,
            None => SeenVersion::Absent(Timestamp::ZERO),
        }
    }

    /// Where the versions above a timestamp begin: nearly always at the end.
    fn place_above(&self, timestamp: Timestamp) -> usize {
        let above = self.versions.iter().rev().take_while(|version| version.timestamp > timestamp).count();
        self.versions.len() - above
    }

    /// Puts a version in its place unless it is there or lies below all that is known. Whether it is the newest now.
    pub(crate) fn insert(&mut self, version: Version) -> bool {
        let place = self.place_above(version.timestamp);
        if place > 0 && self.versions[place - 1].timestamp == version.timestamp {
            return false;
        }
        let newest = place == self.versions.len();
        if place > 0 || !self.history_unknown {
            self.put(place, version);
            self.dirty |= newest;
        }
        newest
    }

    fn put(&mut self, place: usize, version: Version) {
        if place == self.versions.len() {
            self.old_bytes += self.newest().old_bytes();
            self.versions.push(version);
        } else {
            self.old_bytes += version.old_bytes();
            self.versions.insert(place, version);
            self.trimmed = 0;
        }
    }

    /// Drops versions that no snapshot needs. The newest one of generation `posting` at most is set aside.
    pub(crate) fn trim(&mut self, snapshots: &ReadableSnapshots, posting: Option<Generation>) {
        let posting = posting.filter(|_| self.dirty);
        if posting.is_none() {
            self.owed = None;
        }
        // What has come since lies above what can be trimmed.
        if self.versions.len() == 1 || self.trimmed == snapshots.changes() && self.newest().timestamp > snapshots.from()
        {
            return;
        }
        self.trimmed = snapshots.changes();
        // All of these but the last were replaced at or below `from`.
        let known = self.versions.partition_point(|version| version.timestamp <= snapshots.from());
        let due = posting.and_then(|posting| self.versions.iter().rposition(|version| version.generation <= posting));
        let due_at = due.map(|due| self.versions[due].timestamp);
        let due_at = due_at.filter(|at| self.owed.as_ref().is_none_or(|owed| owed.timestamp < *at));
        let (mut kept, mut set_aside) = (0, None);
        for place in 0..known {
            let timestamp = self.versions[place].timestamp;
            if place + 1 == known || snapshots.need(timestamp, self.versions[place + 1].timestamp) {
                self.versions.swap(kept, place);
                kept += 1;
                continue;
            }
            // A snapshot below the first version still sees that there was none.
            self.history_unknown |= kept == 0 && snapshots.oldest() >= timestamp;
            self.old_bytes -= self.versions[place].old_bytes();
            if due_at == Some(timestamp) {
                set_aside = Some(Box::new(self.versions[place].clone()));
            }
        }
        if kept == known {
            return;
        }
        if due_at.is_some() {
            self.owed = set_aside;
        }
        self.versions.drain(kept..known);
        if self.versions.capacity() > 4 * (self.versions.len() + 1) {
            self.versions.shrink_to_fit();
        }
    }

    /// Bytes that only snapshots in use hold, once it is trimmed.
    pub(crate) fn held_bytes(&self, snapshots: &ReadableSnapshots) -> usize {
        let known = self.versions.partition_point(|version| version.timestamp <= snapshots.from());
        self.versions[..known.saturating_sub(1)].iter().map(Version::old_bytes).sum()
    }

    /// Adds to every version above `timestamp`, and puts one in its place whose row is that of the version below with the sum. Errors: a
    /// version is no row, or a column cannot take it; then nothing has changed.
    ///
    /// What lies above is increments only: whoever writes the row waits for those that were voted for before.
    pub(crate) fn add(
        &mut self,
        timestamp: Timestamp,
        addends: &[Addend],
        generation: Generation,
        posting: Option<Generation>,
    ) -> Result<(), AddError> {
        let place = self.place_above(timestamp);
        let below = place.checked_sub(1).map(|below| self.versions[below].plus(addends)).transpose()?;
        if place < self.versions.len() {
            self.add_from(place, addends, generation, posting)?;
        }
        if let Some(row) = below {
            self.put(place, Version { timestamp, row: Some(row), generation });
        }
        self.dirty = true;
        Ok(())
    }

    /// Adds to every version from this place on. Errors: as [`Chain::add`].
    fn add_from(
        &mut self,
        place: usize,
        addends: &[Addend],
        generation: Generation,
        posting: Option<Generation>,
    ) -> Result<(), AddError> {
        let sums = self.versions[place..].iter().map(|version| version.plus(addends));
        let sums: SmallVec<[Row; 2]> = sums.collect::<Result<_, _>>()?;
        // A post under way writes what was installed before it began, without this.
        let due = posting.filter(|_| self.dirty).and_then(|posting| {
            let changed = self.versions[place..].iter();
            changed.rev().find(|version| version.generation <= posting).cloned()
        });
        if let Some(due) = due.filter(|due| self.owed.as_ref().is_none_or(|owed| owed.timestamp < due.timestamp)) {
            self.owed = Some(Box::new(due));
        }
        let newest = self.versions.len() - 1;
        for (place, row) in (place..).zip(sums) {
            let version = &mut self.versions[place];
            let before = version.old_bytes();
            (version.row, version.generation) = (Some(row), generation);
            if place < newest {
                self.old_bytes = self.old_bytes + version.old_bytes() - before;
            }
        }
        Ok(())
    }

    /// What a post of this generation has to write.
    pub(crate) fn due(&self, posting: Generation) -> Option<&Version> {
        if !self.dirty {
            return None;
        }
        let kept = self.versions.iter().rev().find(|version| version.generation <= posting);
        let owed = self.owed.as_deref().filter(|owed| owed.generation <= posting);
        kept.into_iter().chain(owed).max_by_key(|version| (version.timestamp, version.generation))
    }

    /// The store gets this version in this write, of a post of this generation.
    pub(crate) fn posted(&mut self, timestamp: Timestamp, posting: Generation, batch: Batch) {
        let newest = self.newest();
        self.dirty &= newest.timestamp != timestamp || newest.generation > posting;
        self.batch = batch;
        self.owed.take_if(|owed| owed.timestamp <= timestamp);
    }

    /// Whether memory may forget it, because the store, which has done so many writes, tells every reader the same.
    pub(crate) fn is_evictable(&self, snapshots: &ReadableSnapshots, stored: Batch) -> bool {
        self.is_settled(snapshots, stored) && self.newest().row.is_some()
    }

    /// Whether it is a deletion that the store has too and every snapshot sees.
    pub(crate) fn is_buried(&self, snapshots: &ReadableSnapshots, stored: Batch) -> bool {
        self.is_settled(snapshots, stored) && self.newest().row.is_none()
    }

    fn is_settled(&self, snapshots: &ReadableSnapshots, stored: Batch) -> bool {
        let is_stored = !self.dirty && self.batch <= stored;
        is_stored && self.versions.len() == 1 && self.newest().timestamp <= snapshots.oldest()
    }

    /// Whether it has more than its newest version.
    pub(crate) fn has_past(&self) -> bool {
        self.versions.len() > 1
    }

    /// What its versions but the newest cost in memory, which snapshots may need.
    pub(crate) fn old_bytes(&self) -> usize {
        self.old_bytes
    }

    /// What it costs in memory, its key not counted.
    pub(crate) fn bytes(&self) -> usize {
        let owed = self.owed.as_ref().map_or(0, |owed| owed.old_bytes());
        OVERHEAD + self.newest().row.as_ref().map_or(0, Row::len) + self.old_bytes + owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;
    use messages::planted::Planted;

    fn at(clock: u64) -> Timestamp {
        Timestamp::snapshot(EpochNumber(1), clock)
    }

    fn version(clock: u64, generation: Generation) -> Version {
        let row = Some(Row::copy_from_slice(&clock.to_be_bytes()));
        Version { timestamp: at(clock), row, generation }
    }

    /// These are in use, and those to come lie at or above the last.
    fn in_use(clocks: &[u64]) -> ReadableSnapshots {
        let mut snapshots = ReadableSnapshots::new(Planted::none());
        let all: Vec<Timestamp> = clocks.iter().map(|clock| at(*clock)).collect();
        snapshots.report(all.clone(), *all.last().expect("where others are to come"));
        snapshots
    }

    /// What it costs, counted anew.
    fn old_bytes(chain: &Chain) -> usize {
        chain.versions[..chain.versions.len() - 1].iter().map(Version::old_bytes).sum()
    }

    fn seen(chain: &Chain, clock: u64) -> Option<u64> {
        match chain.read(Some(at(clock))) {
            SeenVersion::Row(timestamp, _) => Some(timestamp.clock),
            SeenVersion::Absent(_) => None,
            SeenVersion::Gone => Some(u64::MAX),
        }
    }

    /// A snapshot must see the version of its time, whatever the order of installing, and nothing before the first.
    #[test]
    fn snapshots_see_their_version() {
        let mut chain = Chain::written(version(20, 0), false);
        assert!(chain.insert(version(30, 0)));
        assert!(!chain.insert(version(10, 0)), "an older version is not the newest");
        assert!(!chain.insert(version(20, 0)), "a version is installed once");
        let all = [5, 15, 25, 35].map(|clock| seen(&chain, clock));
        assert_eq!(all, [None, Some(10), Some(20), Some(30)]);
    }

    /// After trimming, a snapshot below must be refused rather than be told that the row was absent.
    #[test]
    fn trimming_keeps_what_the_oldest_snapshot_sees() {
        let mut chain = Chain::written(version(10, 0), false);
        chain.insert(version(20, 0));
        chain.insert(version(30, 0));
        chain.trim(&in_use(&[25]), None);
        assert_eq!([15, 25, 35].map(|clock| seen(&chain, clock)), [Some(u64::MAX), Some(20), Some(30)]);
        assert!(
            !chain.insert(version(5, 0)) && seen(&chain, 7) == Some(u64::MAX),
            "below the known past nothing is put"
        );
    }

    /// A post writes what was installed before it began; were that trimmed, a crash would lose it once the log has gone.
    #[test]
    fn trimming_keeps_what_a_post_must_write() {
        let mut chain = Chain::written(version(10, 0), false);
        chain.insert(version(20, 1));
        chain.insert(version(30, 1));
        chain.trim(&in_use(&[40]), Some(0));
        assert_eq!(chain.due(0).map(|version| version.timestamp.clock), Some(10));
        chain.trim(&in_use(&[41]), None);
        assert!(chain.due(0).is_none());
        assert_eq!(chain.due(1).map(|version| version.timestamp.clock), Some(30));
    }

    /// A row that changes a thousand times in a second must not keep a thousand versions while a post takes its time.
    #[test]
    fn a_post_keeps_one_version_of_a_row_that_changes_all_the_time() {
        let mut chain = Chain::written(version(10, 0), false);
        let mut snapshots = ReadableSnapshots::new(Planted::none());
        for clock in 11..1_000 {
            chain.insert(version(clock, 1));
            snapshots.report(Vec::new(), at(clock - 1));
            chain.trim(&snapshots, Some(0));
            assert_eq!(chain.old_bytes(), old_bytes(&chain));
        }
        assert_eq!(chain.versions.len(), 2);
        assert_eq!(chain.due(0).map(|version| version.timestamp.clock), Some(10));
        assert_eq!([997, 998].map(|clock| seen(&chain, clock)), [Some(u64::MAX), Some(998)]);
        chain.posted(at(10), 0, 1);
        assert!(chain.due(0).is_none() && chain.dirty);
        chain.posted(at(999), 1, 2);
        assert!(!chain.dirty);
    }

    fn number(clock: u64, number: i64, generation: Generation) -> Version {
        let mut bytes = Vec::new();
        values::row::encode_row(&[values::Value::BigInt(number)], &mut bytes);
        Version { timestamp: at(clock), row: Some(Row::from(bytes)), generation }
    }

    fn number_of(version: &Version) -> i64 {
        let value = values::row::column(version.row.as_ref().unwrap(), 0).unwrap();
        let values::Value::BigInt(number) = value else { panic!("a number, not {value:?}") };
        number
    }

    /// Sites install increments in different orders: each must come to the same numbers, for every snapshot.
    #[test]
    fn increments_commute() {
        for order in [[(10, 1), (20, 10), (30, 100)], [(30, 100), (10, 1), (20, 10)], [(20, 10), (30, 100), (10, 1)]] {
            let mut chain = Chain::written(number(5, 1_000, 0), true);
            for (clock, addend) in order {
                chain.add(at(clock), &[Addend::whole(0, addend)], 0, None).unwrap();
            }
            let all: Vec<i64> = chain.versions.iter().map(number_of).collect();
            assert_eq!(all, [1_000, 1_001, 1_011, 1_111]);
            chain.trim(&in_use(&[25]), None);
            chain.add(at(8), &[Addend::whole(0, 5)], 0, None).unwrap();
            let left: Vec<i64> = chain.versions.iter().map(number_of).collect();
            assert_eq!(left, [1_016, 1_116], "what lay below is not known any more");
            assert_eq!(chain.add(at(40), &[Addend::whole(0, i64::MAX)], 0, None), Err(AddError::OutOfRange));
        }
    }

    /// The store must not get an increment whose record the log may lose, nor miss one because its version was posted without it.
    #[test]
    fn a_post_writes_a_row_without_what_is_added_later() {
        let mut chain = Chain::written(number(5, 0, 0), true);
        chain.add(at(20), &[Addend::whole(0, 10)], 0, None).unwrap();
        chain.add(at(10), &[Addend::whole(0, 1)], 1, Some(0)).unwrap();
        chain.trim(&in_use(&[30]), Some(0));
        assert_eq!(chain.due(0).map(|due| (due.timestamp.clock, number_of(due))), Some((20, 10)));
        chain.posted(at(20), 0, 1);
        assert!(chain.dirty && !chain.is_evictable(&in_use(&[30]), 1), "the store lacks what came later");
        assert_eq!(chain.due(1).map(|due| (due.timestamp.clock, number_of(due))), Some((20, 11)));
        chain.posted(at(20), 1, 2);
        assert!(!chain.is_evictable(&in_use(&[30]), 1) && chain.is_evictable(&in_use(&[30]), 2));
    }

    /// A long reader would keep every version of a row that changes all the time, and not only the one that it reads; or lose that one.
    #[test]
    fn versions_between_snapshots_go() {
        let mut chain = Chain::written(version(10, 0), false);
        for clock in 11..=100 {
            chain.insert(version(clock, 0));
        }
        let snapshots = in_use(&[5, 20, 21, 50, 90]);
        chain.trim(&snapshots, None);
        let kept: Vec<u64> = chain.versions.iter().map(|version| version.timestamp.clock).collect();
        assert_eq!(kept, [20, 21, 50, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100]);
        assert_eq!(
            [5, 20, 21, 50, 95].map(|clock| seen(&chain, clock)),
            [None, Some(20), Some(21), Some(50), Some(95)]
        );
        assert_eq!(chain.old_bytes(), old_bytes(&chain));
        assert_eq!(chain.held_bytes(&snapshots), 3 * chain.versions[0].old_bytes());
        chain.trim(&in_use(&[21, 200]), None);
        let kept: Vec<u64> = chain.versions.iter().map(|version| version.timestamp.clock).collect();
        assert_eq!(kept, [21, 100]);
        assert_eq!(seen(&chain, 20), Some(u64::MAX), "what is not known is not taken for absent");
        assert!(chain.versions.capacity() < 20, "the memory of what has gone is given back");
    }

    /// A sum would lack what an increment adds that commits among versions of which some have gone, or be seen before it.
    #[test]
    fn increments_among_versions_that_have_gone() {
        let mut chain = Chain::written(number(5, 1_000, 0), true);
        for (clock, addend) in [(10, 1), (20, 10), (30, 100), (40, 1_000)] {
            chain.add(at(clock), &[Addend::whole(0, addend)], 0, None).unwrap();
        }
        let snapshots = in_use(&[12, 35]);
        chain.trim(&snapshots, None);
        chain.add(at(25), &[Addend::whole(0, 7)], 0, None).unwrap();
        chain.trim(&snapshots, None);
        let all: Vec<(u64, i64)> =
            chain.versions.iter().map(|version| (version.timestamp.clock, number_of(version))).collect();
        assert_eq!(all, [(10, 1_001), (30, 1_118), (40, 2_118)]);
        assert_eq!(chain.old_bytes(), old_bytes(&chain));
    }
}
