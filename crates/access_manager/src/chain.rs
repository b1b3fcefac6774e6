//! The versions of one item in memory.
//!
//! Invariants: a chain has at least one version; versions fall strictly from the first (newest) to the last; together they are all that any
//! snapshot at or above the oldest one may see. What lies below the last is "absent", unless `history_unknown`.

use messages::{Row, Timestamp};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use values::row::{self, AddError};

/// Posts counted when a version was installed: a post brings to the store what was installed before it began.
pub(crate) type Generation = u32;

/// One version of a row, or its deletion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) timestamp: Timestamp,
    pub(crate) row: Option<Row>,
    pub(crate) generation: Generation,
}

/// What a reader sees of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
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
    versions: SmallVec<[Version; 1]>,
    /// What a post under way has to bring to the store, when no snapshot sees it any more. A row that changes all the time keeps this one
    /// version for the post, however long it takes.
    owed: Option<Box<Version>>,
    /// Nothing is known below the last version.
    history_unknown: bool,
    /// The newest version is not in the store.
    pub(crate) dirty: bool,
    /// Read or written since the eviction sweep last came by.
    pub(crate) referenced: bool,
}

/// Bytes that an item costs beside its key and rows.
const OVERHEAD: usize = size_of::<messages::Key>() + size_of::<Chain>() + 32;

impl Chain {
    /// An item as the store has it: clean, and nothing is known of its past.
    pub(crate) fn loaded(timestamp: Timestamp, row: Row) -> Chain {
        let version = Version { timestamp, row: Some(row), generation: 0 };
        Chain {
            versions: SmallVec::from_buf([version]),
            owed: None,
            history_unknown: true,
            dirty: false,
            referenced: false,
        }
    }

    /// A new item whose only version is to be posted.
    pub(crate) fn written(version: Version, history_unknown: bool) -> Chain {
        Chain { versions: SmallVec::from_buf([version]), owed: None, history_unknown, dirty: true, referenced: true }
    }

    pub(crate) fn newest(&self) -> &Version {
        &self.versions[0]
    }

    /// The oldest version kept; only a planted bug asks for it.
    pub(crate) fn oldest(&self) -> &Version {
        &self.versions[self.versions.len() - 1]
    }

    /// The newest version at or below `snapshot`; `None`: the newest.
    pub(crate) fn read(&self, snapshot: Option<Timestamp>) -> Seen {
        let version = match snapshot {
            None => Some(self.newest()),
            Some(snapshot) => self.versions.iter().find(|version| version.timestamp <= snapshot),
        };
        match version {
            Some(Version { timestamp, row: Some(row), .. }) => Seen::Row(*timestamp, row.clone()),
            Some(Version { timestamp, row: None, .. }) => Seen::Absent(*timestamp),
            None if self.history_unknown => Seen::Gone,
            None => Seen::Absent(Timestamp::ZERO),
        }
    }

    /// Puts a version in its place unless it is there or lies below all that is known. Whether it is the newest now.
    pub(crate) fn insert(&mut self, version: Version) -> bool {
        let place = self.versions.iter().position(|other| other.timestamp <= version.timestamp);
        match place {
            Some(place) if self.versions[place].timestamp == version.timestamp => false,
            Some(place) => {
                self.versions.insert(place, version);
                self.dirty |= place == 0;
                place == 0
            }
            None => {
                if !self.history_unknown {
                    self.versions.push(version);
                }
                false
            }
        }
    }

    /// Drops versions that no snapshot at or above `oldest` can see. The newest one of generation `posting` at most is set aside.
    pub(crate) fn trim(&mut self, oldest: Timestamp, posting: Option<Generation>) {
        let posting = posting.filter(|_| self.dirty);
        if posting.is_none() {
            self.owed = None;
        }
        let seen = self.versions.iter().position(|version| version.timestamp <= oldest);
        let Some(kept) = seen.map(|seen| seen + 1).filter(|kept| *kept < self.versions.len()) else { return };
        self.history_unknown = true;
        let due = posting.and_then(|posting| self.versions.iter().position(|version| version.generation <= posting));
        if let Some(due) = due
            && self.owed.as_ref().is_none_or(|owed| owed.timestamp < self.versions[due].timestamp)
        {
            self.owed = (due >= kept).then(|| Box::new(self.versions.swap_remove(due)));
        }
        self.versions.truncate(kept);
    }

    /// Adds to every version above `timestamp`, and puts one in its place whose row is that of the version below with the sum. Errors: a
    /// version is no row, or a column cannot take it; then nothing has changed.
    ///
    /// What lies above is increments only: whoever writes the row waits for those that were voted for before.
    pub(crate) fn add(
        &mut self,
        timestamp: Timestamp,
        addends: &[(u16, i64)],
        generation: Generation,
        posting: Option<Generation>,
    ) -> Result<(), AddError> {
        let place = self.versions.iter().position(|version| version.timestamp <= timestamp);
        let above = place.unwrap_or(self.versions.len());
        let sum = |version: &Version| {
            let row = version.row.as_ref().ok_or(AddError::NotAnInteger)?;
            row::add(row, addends).map(Row::from)
        };
        let rows: SmallVec<[Row; 2]> = self.versions.iter().take(above + 1).map(sum).collect::<Result<_, _>>()?;
        // A post under way writes what was installed before it began, without this.
        if let Some(due) = posting.filter(|_| above > 0).and_then(|posting| self.due(posting)) {
            self.owed = Some(Box::new(due.clone()));
        }
        let mut rows = rows.into_iter();
        for (version, row) in self.versions[..above].iter_mut().zip(rows.by_ref()) {
            (version.row, version.generation) = (Some(row), generation);
        }
        if let Some(row) = rows.next() {
            self.versions.insert(above, Version { timestamp, row: Some(row), generation });
        }
        self.dirty = true;
        Ok(())
    }

    /// What a post of this generation has to write.
    pub(crate) fn due(&self, posting: Generation) -> Option<&Version> {
        let versions = self.versions.iter().chain(self.owed.as_deref()).filter(|_| self.dirty);
        let installed = versions.filter(|version| version.generation <= posting);
        installed.max_by_key(|version| (version.timestamp, version.generation))
    }

    /// The store has this version, as a post of this generation wrote it.
    pub(crate) fn posted(&mut self, timestamp: Timestamp, posting: Generation) {
        let newest = self.newest();
        self.dirty &= newest.timestamp != timestamp || newest.generation > posting;
        self.owed.take_if(|owed| owed.timestamp <= timestamp);
    }

    /// Whether memory may forget it, because the store tells every reader the same.
    pub(crate) fn is_evictable(&self, oldest: Timestamp) -> bool {
        !self.dirty && self.is_settled(oldest) && self.newest().row.is_some()
    }

    /// Whether it is a deletion that the store has too and every snapshot sees.
    pub(crate) fn is_buried(&self, oldest: Timestamp) -> bool {
        !self.dirty && self.is_settled(oldest) && self.newest().row.is_none()
    }

    fn is_settled(&self, oldest: Timestamp) -> bool {
        self.versions.len() == 1 && self.newest().timestamp <= oldest
    }

    /// What it costs in memory, its key not counted.
    pub(crate) fn bytes(&self) -> usize {
        let versions = self.versions.iter().chain(self.owed.as_deref());
        let rows: usize = versions.filter_map(|version| version.row.as_ref()).map(Row::len).sum();
        let spilled = (self.versions.len() - 1 + usize::from(self.owed.is_some())) * size_of::<Version>();
        OVERHEAD + rows + spilled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;

    fn at(clock: u64) -> Timestamp {
        Timestamp::snapshot(EpochNumber(1), clock)
    }

    fn version(clock: u64, generation: Generation) -> Version {
        let row = Some(Row::copy_from_slice(&clock.to_be_bytes()));
        Version { timestamp: at(clock), row, generation }
    }

    fn seen(chain: &Chain, clock: u64) -> Option<u64> {
        match chain.read(Some(at(clock))) {
            Seen::Row(timestamp, _) => Some(timestamp.clock),
            Seen::Absent(_) => None,
            Seen::Gone => Some(u64::MAX),
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
        chain.trim(at(25), None);
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
        chain.trim(at(40), Some(0));
        assert_eq!(chain.due(0).map(|version| version.timestamp.clock), Some(10));
        chain.trim(at(40), None);
        assert!(chain.due(0).is_none());
        assert_eq!(chain.due(1).map(|version| version.timestamp.clock), Some(30));
    }

    /// A row that changes a thousand times in a second must not keep a thousand versions while a post takes its time.
    #[test]
    fn a_post_keeps_one_version_of_a_row_that_changes_all_the_time() {
        let mut chain = Chain::written(version(10, 0), false);
        for clock in 11..1_000 {
            chain.insert(version(clock, 1));
            chain.trim(at(clock - 1), Some(0));
        }
        assert_eq!(chain.versions.len(), 2);
        assert_eq!(chain.due(0).map(|version| version.timestamp.clock), Some(10));
        assert_eq!([997, 998].map(|clock| seen(&chain, clock)), [Some(u64::MAX), Some(998)]);
        chain.posted(at(10), 0);
        assert!(chain.due(0).is_none() && chain.dirty);
        chain.posted(at(999), 1);
        assert!(!chain.dirty);
    }

    fn number(clock: u64, number: i64, generation: Generation) -> Version {
        let mut bytes = Vec::new();
        row::encode_row(&[values::Value::BigInt(number)], &mut bytes);
        Version { timestamp: at(clock), row: Some(Row::from(bytes)), generation }
    }

    fn number_of(version: &Version) -> i64 {
        row::integer(version.row.as_ref().unwrap(), 0).unwrap().unwrap().number
    }

    /// Sites install increments in different orders: each must come to the same numbers, for every snapshot.
    #[test]
    fn increments_commute() {
        for order in [[(10, 1), (20, 10), (30, 100)], [(30, 100), (10, 1), (20, 10)], [(20, 10), (30, 100), (10, 1)]] {
            let mut chain = Chain::written(number(5, 1_000, 0), true);
            for (clock, addend) in order {
                chain.add(at(clock), &[(0, addend)], 0, None).unwrap();
            }
            let all: Vec<i64> = chain.versions.iter().map(number_of).collect();
            assert_eq!(all, [1_111, 1_011, 1_001, 1_000]);
            chain.trim(at(25), None);
            chain.add(at(8), &[(0, 5)], 0, None).unwrap();
            let left: Vec<i64> = chain.versions.iter().map(number_of).collect();
            assert_eq!(left, [1_116, 1_016], "what lay below is not known any more");
            assert_eq!(chain.add(at(40), &[(0, i64::MAX)], 0, None), Err(AddError::OutOfRange));
        }
    }

    /// The store must not get an increment whose record the log may lose, nor miss one because its version was posted without it.
    #[test]
    fn a_post_writes_a_row_without_what_is_added_later() {
        let mut chain = Chain::written(number(5, 0, 0), true);
        chain.add(at(20), &[(0, 10)], 0, None).unwrap();
        chain.add(at(10), &[(0, 1)], 1, Some(0)).unwrap();
        chain.trim(at(30), Some(0));
        assert_eq!(chain.due(0).map(|due| (due.timestamp.clock, number_of(due))), Some((20, 10)));
        chain.posted(at(20), 0);
        assert!(chain.dirty && !chain.is_evictable(at(30)), "the store lacks what came later");
        assert_eq!(chain.due(1).map(|due| (due.timestamp.clock, number_of(due))), Some((20, 11)));
        chain.posted(at(20), 1);
        assert!(!chain.dirty);
    }
}
