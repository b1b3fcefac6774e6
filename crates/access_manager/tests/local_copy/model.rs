//! The local copy against a naive map of all versions: reads, scans, checks, posts, evictions and losses of power in any order.

use crate::site::{Site, TABLE, at, key};
use access_manager::Settings;
use access_manager::limits::TOMBSTONE_RETENTION;
use messages::access::{AccessReply, AccessRequest};
use messages::limits::MILLISECOND;
use messages::planted::Planted;
use messages::{ConflictKind, History, ItemRead, Key, KeyRange, Message, RangeRead, Row, Write};
use proptest::prelude::*;
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
    Read { key: u8, back: Option<u64> },
    Scan { low: u8, high: u8, back: Option<u64>, limit: u32, reverse: bool },
    CheckItem { key: u8, back: u64 },
    CheckRange { low: u8, high: u8, back: u64 },
    Oldest { back: u64 },
    Post,
    Hold(bool),
    Tick,
    Wait,
    PowerLoss { writes_kept: usize, records_kept: usize },
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
        3 => (0u64..4).prop_map(|back| Step::Oldest { back }),
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
    oldest: u64,
    /// Where the log must be replayed from, and what of it is synced.
    posted: usize,
    synced: usize,
    /// The post under way: the log's length when it began.
    posting: Option<usize>,
    /// The model after each record, to go back to.
    history: Vec<(Model, u64)>,
}

impl Run {
    fn new() -> Run {
        let settings = Settings { memory_bytes_max: 2_000, recent_writes_max: 40, planted: Planted::none() };
        Run {
            site: Site::new(settings),
            model: Model::default(),
            clock: 0,
            oldest: 0,
            posted: 0,
            synced: 0,
            posting: None,
            history: vec![(Model::default(), 0)],
        }
    }

    fn snapshot(&self, back: u64) -> u64 {
        self.clock.saturating_sub(back).max(self.oldest)
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Install(rows) => self.install(rows),
            Step::Read { key, back } => {
                let snapshot = back.map(|back| self.snapshot(back));
                let key = number_key(key);
                let request =
                    AccessRequest::Read { tag: 1, table: TABLE, key: key.clone(), snapshot: snapshot.map(at) };
                let AccessReply::ReadReply { version, row, .. } = self.site.ask(request) else {
                    return Err(TestCaseError::fail("a snapshot that may be read was refused"));
                };
                let found = row.map(|row| (version.clock, row));
                prop_assert_eq!(found, self.model.at(&key, snapshot));
            }
            Step::Scan { low, high, back, limit, reverse } => {
                let snapshot = back.map(|back| self.snapshot(back));
                let range = bounds(low, high);
                let rows = self.site.scan(range.clone(), snapshot.map(at), limit, reverse);
                let rows =
                    rows.map(|rows| rows.into_iter().map(|(key, version, row)| (key, version.clock, row)).collect());
                prop_assert_eq!(rows, Some(self.model.scan(&range, snapshot, reverse)));
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
            Step::Oldest { back } => {
                self.oldest = self.snapshot(back);
                self.site.oldest(self.oldest);
            }
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
                    self.site.send(Message::Access(AccessRequest::Install { timestamp, history }));
                }
            }
        }
        Ok(())
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
        self.oldest = self.clock;
        self.site.oldest(self.oldest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Any difference is a wrong answer to a client: a lost or resurrected row, a snapshot that moved, a conflict not seen.
    #[test]
    fn agrees_with_all_versions(steps in steps()) {
        let mut run = Run::new();
        for step in steps {
            run.step(step)?;
        }
        run.site.store.hold(false);
        let whole = run.site.scan(KeyRange::whole(TABLE), None, 1_000, false);
        let whole = whole.map(|rows| rows.into_iter().map(|(key, version, row)| (key, version.clock, row)).collect());
        prop_assert_eq!(whole, Some(run.model.scan(&KeyRange::whole(TABLE), None, false)));
        // Once all is posted and old, memory keeps within its bound, give or take what was touched last.
        run.site.oldest(run.clock);
        run.tick(MILLISECOND);
        for _ in 0..10 { run.tick(TOMBSTONE_RETENTION); }
        if run.posting.is_none() {
            run.site.post();
            for _ in 0..10 { run.tick(TOMBSTONE_RETENTION); }
            prop_assert!(run.site.manager.memory_bytes() <= 2_000, "{} bytes", run.site.manager.memory_bytes());
        }
    }
}
