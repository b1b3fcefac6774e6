//! The local copy against a naive map of all versions: reads, scans, checks, snapshots that stay in use, posts, evictions and losses of
//! power in any order.

use crate::site::{Site, TABLE, at, key};
use access_manager::StoreSettings;
use access_manager::limits::TOMBSTONE_RETENTION;
use messages::access::{AccessReply, AccessRequest};
use messages::limits::MILLISECOND;
use messages::planted::{Bug, Planted};
use messages::{ConflictKind, History, ItemRead, Key, KeyRange, Message, RangeRead, Row, Write};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use std::collections::BTreeMap;

const KEYS: u8 = 90;

/// Every version of every item, for ever.
#[derive(Clone, Default)]
struct Model {
    versions: BTreeMap<Key, Vec<(u64, Option<Row>)>>,
}

impl Model {
    fn at(&self, key: &Key, snapshot: Option<u64>) -> Option<(u64, Row)> {
        let versions = self.versions.get(key)?;
        let seen = versions.iter().rev().find(|(clock, _)| snapshot.is_none_or(|snapshot| *clock <= snapshot))?;
        seen.1.clone().map(|row| (seen.0, row))
    }

    fn scan(&self, range: &KeyRange, snapshot: Option<u64>, reverse: bool) -> Vec<(Key, u64, Row)> {
        let keys = self.versions.keys().filter(|key| range.contains(key.as_bytes()));
        let seen = keys.filter_map(|key| self.at(key, snapshot).map(|(clock, row)| (key.clone(), clock, row)));
        let mut rows: Vec<_> = seen.collect();
        if reverse {
            rows.reverse();
        }
        rows
    }

    fn written_since(&self, range: &KeyRange, as_of: u64) -> bool {
        let inside = self.versions.iter().filter(|(key, _)| range.contains(key.as_bytes()));
        inside.flat_map(|(_, versions)| versions).any(|(clock, _)| *clock > as_of)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Install(Vec<(u8, Option<u16>)>),
    Read {
        key: u8,
        back: Option<u64>,
    },
    Scan {
        low: u8,
        high: u8,
        back: Option<u64>,
        limit: u32,
        reverse: bool,
    },
    CheckItem {
        key: u8,
        back: u64,
    },
    CheckRange {
        low: u8,
        high: u8,
        back: u64,
    },
    /// A snapshot is fixed, and stays in use.
    Enter,
    /// One of those in use is not any more.
    Leave {
        which: usize,
    },
    /// The access manager is told.
    Report {
        back: u64,
    },
    ReadInUse {
        which: usize,
        key: u8,
    },
    ScanInUse {
        which: usize,
        low: u8,
        high: u8,
        reverse: bool,
    },
    Post,
    Hold(bool),
    Tick,
    Wait,
    PowerLoss {
        writes_kept: usize,
        records_kept: usize,
    },
    Repeat,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = proptest::option::weighted(0.7, 0u16..400);
    let back = || proptest::option::of(0u64..6);
    let step = prop_oneof![
        8 => proptest::collection::vec((0..KEYS, row.clone()), 1..5).prop_map(Step::Install),
        1 => proptest::collection::vec((0..KEYS, row), 40..90).prop_map(Step::Install),
        4 => (0..KEYS, back()).prop_map(|(key, back)| Step::Read { key, back }),
        4 => (0..KEYS, 0..=KEYS, back(), 1u32..20, any::<bool>())
            .prop_map(|(low, high, back, limit, reverse)| Step::Scan { low, high, back, limit, reverse }),
        3 => (0..KEYS, 0u64..6).prop_map(|(key, back)| Step::CheckItem { key, back }),
        3 => (0..KEYS, 0..=KEYS, 0u64..6).prop_map(|(low, high, back)| Step::CheckRange { low, high, back }),
        2 => Just(Step::Enter),
        1 => (0usize..8).prop_map(|which| Step::Leave { which }),
        3 => (0u64..4).prop_map(|back| Step::Report { back }),
        4 => (0usize..8, 0..KEYS).prop_map(|(which, key)| Step::ReadInUse { which, key }),
        2 => (0usize..8, 0..KEYS, 0..=KEYS, any::<bool>())
            .prop_map(|(which, low, high, reverse)| Step::ScanInUse { which, low, high, reverse }),
        3 => Just(Step::Post),
        1 => any::<bool>().prop_map(Step::Hold),
        6 => Just(Step::Tick),
        1 => Just(Step::Wait),
        1 => (0usize..4, 0usize..8).prop_map(|(writes_kept, records_kept)| Step::PowerLoss { writes_kept, records_kept }),
        1 => Just(Step::Repeat),
    ];
    proptest::collection::vec(step, 1..120)
}

fn number_key(number: u8) -> Key {
    key(&format!("k{number:02}"))
}

fn bounds(low: u8, high: u8) -> KeyRange {
    KeyRange { table: TABLE, low: number_key(low), high: (high < KEYS).then(|| number_key(high)) }
}

/// The system under test beside its model.
struct Run {
    site: Site,
    model: Model,
    clock: u64,
    /// Snapshots that are in use, oldest first.
    in_use: Vec<u64>,
    /// All others that are still read lie here or above.
    from: u64,
    /// Where the log must be replayed from, and what of it is synced.
    posted: usize,
    synced: usize,
    /// The post under way: the log's length when it began.
    posting: Option<usize>,
    /// The model after each record, to go back to.
    history: Vec<(Model, u64)>,
}

impl Run {
    fn new(old_version_bytes_max: usize, planted: Planted) -> Run {
        let settings = StoreSettings {
            memory_bytes_max: 2_000,
            unposted_bytes_max: 500,
            old_version_bytes_max,
            recent_writes_max: 40,
            touched_max: access_manager::limits::TOUCHED_MAX,
            planted,
        };
        Run {
            site: Site::new(settings),
            model: Model::default(),
            clock: 0,
            in_use: Vec::new(),
            from: 0,
            posted: 0,
            synced: 0,
            posting: None,
            history: vec![(Model::default(), 0)],
        }
    }

    fn snapshot(&self, back: u64) -> u64 {
        self.clock.saturating_sub(back).max(self.from)
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Install(rows) => self.install(rows),
            Step::Read { key, back } => self.read(&number_key(key), back.map(|back| self.snapshot(back)))?,
            Step::Scan { low, high, back, limit, reverse } => {
                self.scan(&bounds(low, high), back.map(|back| self.snapshot(back)), limit, reverse)?;
            }
            Step::CheckItem { key, back } => self.check_item(&number_key(key), self.clock.saturating_sub(back))?,
            Step::CheckRange { low, high, back } => {
                let (range, as_of) = (bounds(low, high), self.clock.saturating_sub(back));
                let expected = self.model.written_since(&range, as_of);
                let conflict = self.site.check(vec![], vec![RangeRead { range, as_of: at(as_of) }]);
                let too_old = conflict.as_ref().is_some_and(|conflict| conflict.kind == ConflictKind::TooOld);
                prop_assert!(too_old || conflict.is_some() == expected, "as of {}: {:?}", as_of, conflict);
                prop_assert!(!too_old || back > 0, "a range read just now is never too old");
            }
            Step::Enter => {
                if self.in_use.last() != Some(&self.clock) {
                    self.in_use.push(self.clock);
                }
            }
            Step::Leave { which } if which < self.in_use.len() => {
                self.in_use.remove(which);
            }
            Step::ReadInUse { which, key } if which < self.in_use.len() => {
                self.read(&number_key(key), Some(self.in_use[which]))?;
            }
            Step::ScanInUse { which, low, high, reverse } if which < self.in_use.len() => {
                self.scan(&bounds(low, high), Some(self.in_use[which]), 7, reverse)?;
            }
            Step::Leave { .. } | Step::ReadInUse { .. } | Step::ScanInUse { .. } => {}
            Step::Report { back } => self.report(self.snapshot(back)),
            Step::Post => {
                if self.posting.is_none() {
                    self.synced = self.site.log.len();
                    self.posting = Some(self.synced);
                    let said = self.site.send(Message::Access(AccessRequest::Post { tag: 3 }));
                    self.note(said.into_iter().map(|(_, message)| message));
                }
            }
            Step::Hold(held) => self.site.store.hold(held),
            Step::Tick => self.tick(MILLISECOND),
            Step::Wait => self.tick(TOMBSTONE_RETENTION),
            Step::PowerLoss { writes_kept, records_kept } => self.power_loss(writes_kept, records_kept),
            Step::Repeat => {
                if let Some(crate::site::Logged::Installed(timestamp, history)) = self.site.log.last().cloned() {
                    self.site.send(Message::Access(AccessRequest::Install { timestamp, history, in_steps: false }));
                }
            }
        }
        Ok(())
    }

    /// A snapshot that was given up is refused; any other that is in use, or was not known to be too old, is answered.
    fn is_given_up(&self, snapshot: Option<u64>) -> bool {
        snapshot.is_some_and(|snapshot| snapshot < self.from && self.site.given_up >= Some(at(snapshot)))
    }

    fn read(&mut self, key: &Key, snapshot: Option<u64>) -> Result<(), TestCaseError> {
        let request = AccessRequest::Read { tag: 1, table: TABLE, key: key.clone(), snapshot: snapshot.map(at) };
        match self.site.ask(request) {
            AccessReply::ReadReply { version, row, .. } if !self.is_given_up(snapshot) => {
                let found = row.map(|row| (version.clock, row));
                prop_assert_eq!(found, self.model.at(key, snapshot));
            }
            AccessReply::SnapshotGone { given_up: true, .. } if self.is_given_up(snapshot) => {}
            other => return Err(TestCaseError::fail(format!("at {snapshot:?} of {}: {other:?}", self.clock))),
        }
        Ok(())
    }

    fn scan(
        &mut self,
        range: &KeyRange,
        snapshot: Option<u64>,
        limit: u32,
        reverse: bool,
    ) -> Result<(), TestCaseError> {
        let rows = self.site.scan(range.clone(), snapshot.map(at), limit, reverse);
        let rows = rows.map(|rows| rows.into_iter().map(|(key, version, row)| (key, version.clock, row)).collect());
        let expected = self.model.scan(range, snapshot, reverse);
        prop_assert_eq!(rows, (!self.is_given_up(snapshot)).then_some(expected));
        Ok(())
    }

    fn report(&mut self, from: u64) {
        self.from = from;
        let below = self.in_use.iter().filter(|snapshot| **snapshot < from);
        self.site.snapshots(below.map(|snapshot| at(*snapshot)).collect(), at(from));
    }

    fn install(&mut self, rows: Vec<(u8, Option<u16>)>) {
        self.clock += 1;
        let rows: BTreeMap<u8, Option<u16>> = rows.into_iter().collect();
        let mut history = History::default();
        for (number, length) in rows {
            let row = length.map(|length| Row::from(vec![b'x'; usize::from(length)]));
            let key = number_key(number);
            self.model.versions.entry(key.clone()).or_default().push((self.clock, row.clone()));
            history.writes.push(Write { table: TABLE, key, row });
        }
        self.site.install(self.clock, history);
        self.history.push((self.model.clone(), self.clock));
    }

    fn check_item(&mut self, key: &Key, then: u64) -> Result<(), TestCaseError> {
        let seen = self.model.at(key, Some(then)).map(|(clock, _)| clock);
        let expected = seen != self.model.at(key, None).map(|(clock, _)| clock);
        let read = ItemRead { table: TABLE, key: key.clone(), seen: seen.map_or(messages::Timestamp::ZERO, at) };
        let conflict = self.site.check(vec![read], vec![]);
        prop_assert_eq!(conflict.is_some(), expected);
        Ok(())
    }

    fn tick(&mut self, nanoseconds: u64) {
        let said = self.site.tick(nanoseconds);
        self.note(said.into_iter());
    }

    fn note(&mut self, mut said: impl Iterator<Item = Message>) {
        if said.any(|message| matches!(message, Message::AccessReply(AccessReply::Posted { .. }))) {
            self.posted = self.posting.take().expect("a post was under way");
            assert!(self.site.store.unsynced() <= 1, "what was posted is synced, but for where a replay begins");
        }
    }

    fn power_loss(&mut self, writes_kept: usize, records_kept: usize) {
        let records = (self.synced + records_kept).min(self.site.log.len());
        self.site.restart(writes_kept, self.posted..records);
        (self.model, self.clock) = self.history[records].clone();
        self.history.truncate(records + 1);
        self.posting = None;
        // Snapshots do not outlive the process.
        (self.in_use, self.site.given_up) = (Vec::new(), None);
        self.from = self.clock;
        self.site.oldest(self.from);
    }
}

fn agrees(steps: Vec<Step>, old_version_bytes_max: usize, planted: Planted) -> Result<(), TestCaseError> {
    let mut run = Run::new(old_version_bytes_max, planted);
    for step in steps {
        run.step(step)?;
    }
    run.site.store.hold(false);
    let whole = run.site.scan(KeyRange::whole(TABLE), None, 1_000, false);
    let whole = whole.map(|rows| rows.into_iter().map(|(key, version, row)| (key, version.clock, row)).collect());
    prop_assert_eq!(whole, Some(run.model.scan(&KeyRange::whole(TABLE), None, false)));
    // Whatever is in use, old versions keep within their bound once these passes are over.
    run.report(run.clock);
    run.tick(MILLISECOND);
    for _ in 0..10 + run.in_use.len() {
        run.tick(TOMBSTONE_RETENTION);
    }
    let old = run.site.manager.tally().old;
    prop_assert!(old <= old_version_bytes_max, "{} bytes of old versions", old);
    // Once all is posted and old, memory keeps within its bound, give or take what was touched last.
    run.in_use.clear();
    run.report(run.clock);
    run.tick(MILLISECOND);
    for _ in 0..10 {
        run.tick(TOMBSTONE_RETENTION);
    }
    if run.posting.is_none() {
        run.site.post();
        for _ in 0..10 {
            run.tick(TOMBSTONE_RETENTION);
        }
        prop_assert!(run.site.manager.tally().all <= 2_000, "{} bytes", run.site.manager.tally().all);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Any difference is a wrong answer to a client: a lost or resurrected row, a snapshot that moved, a conflict not seen.
    #[test]
    fn agrees_with_all_versions(steps in steps(), bounded in any::<bool>()) {
        agrees(steps, if bounded { 2_000 } else { 1 << 20 }, Planted::none())?;
    }
}

/// If this fails, the test above proves nothing about snapshots that stay in use.
#[test]
fn a_needed_version_that_is_pruned_is_found() {
    let config = ProptestConfig { cases: 20_000, max_shrink_iters: 0, failure_persistence: None, ..Default::default() };
    let random = proptest::test_runner::TestRng::deterministic_rng(Default::default());
    let planted = Planted::only(Bug::NeededVersionPruned);
    let found = TestRunner::new_with_rng(config, random).run(&steps(), |steps| agrees(steps, 1 << 20, planted));
    assert!(matches!(found, Err(TestError::Fail(..))));
}

/// A reader that stays would make writers fill the memory, whether they write few rows often or many rows once; or be told rows of another
/// moment for it.
#[test]
fn a_long_reader_costs_a_bounded_amount_of_memory() {
    const BYTES_MAX: usize = 100_000;
    for rows in [10u64, 5_000] {
        let mut site = Run::new(BYTES_MAX, Planted::none()).site;
        let mut most = 0;
        for clock in 1..=20_000 {
            let row = Some(Row::from(vec![b'x'; 100]));
            let write = Write { table: TABLE, key: key(&format!("r{:05}", clock % rows)), row };
            site.install(clock, History { writes: vec![write], ..History::default() });
            // The action driver reports now and then, with the reader since it came.
            if clock % 50 == 0 && clock >= 10_000 {
                let reader = site.given_up.is_none().then_some(at(10_000));
                site.snapshots(reader.into_iter().collect(), at(clock));
            } else if clock % 50 == 0 {
                site.oldest(clock);
            }
            most = most.max(site.manager.tally().old);
        }
        let reply = site.read("r00007", Some(at(10_000)));
        if rows == 10 {
            assert!(matches!(reply, AccessReply::ReadReply { .. }), "its versions take little memory: {reply:?}");
        } else {
            assert!(matches!(reply, AccessReply::SnapshotGone { given_up: true, .. }), "{reply:?}");
        }
        assert!(most < BYTES_MAX + BYTES_MAX / 2, "{most} bytes of old versions with {rows} rows");
    }
}
