//! A site for tests: one access manager, its store and its log. What the log has beyond the last sync is lost with the power.

use access_manager::{AccessManager, MemoryStore, StoreSettings};
use messages::access::{AccessReply, AccessRequest, Copies, StaleSet};
use messages::epoch::{Placement, ProposalId};
use messages::limits::{MILLISECOND, SECOND};
use messages::log_record::LogRecord;
use messages::{
    Conflict, Envelope, Epoch, EpochNumber, History, Incarnation, Item, ItemRead, Key, KeyRange, Message, Now,
    OracleLife,
};
use messages::{Outbox, RangeRead, Row, Server, ServerKind, SiteId, TableId, Timestamp, TransactionId, Write};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The storage that most tests use.
pub const TABLE: TableId = TableId(20);

/// A commit timestamp.
pub fn at(clock: u64) -> Timestamp {
    let transaction = TransactionId { home: SiteId(1), incarnation: Incarnation(1), sequence: clock };
    Timestamp { epoch: EpochNumber(1), clock, transaction }
}

pub fn key(text: &str) -> Key {
    Key::new(text.as_bytes())
}

pub fn item(text: &str) -> Item {
    Item { table: TABLE, key: key(text) }
}

pub fn range(low: &str, high: Option<&str>) -> KeyRange {
    KeyRange { table: TABLE, low: key(low), high: high.map(key) }
}

pub fn stale_items(items: &[&str]) -> StaleSet {
    StaleSet { items: items.iter().map(|text| item(text)).collect(), ..StaleSet::default() }
}

pub fn writes(rows: &[(&str, Option<&'static str>)]) -> History {
    let write = |(text, row): &(&str, Option<&'static str>)| Write {
        table: TABLE,
        key: key(text),
        row: row.map(|row| Row::from_static(row.as_bytes())),
    };
    History { writes: rows.iter().map(write).collect(), ..History::default() }
}

/// The record of an epoch in which this is stale at the site.
pub fn epoch_logged(stale: StaleSet) -> LogRecord {
    let epoch = Arc::new(Epoch {
        number: EpochNumber(2),
        proposal: ProposalId::default(),
        parent: ProposalId::default(),
        oracle: OracleLife(1),
        members: BTreeMap::new(),
        sessions: BTreeMap::new(),
        required_copies: 1,
        placement: Placement::Everywhere,
        restart: false,
    });
    LogRecord::EpochLogged {
        epoch,
        incarnation: Incarnation(1),
        joined: EpochNumber(1),
        chain: Vec::new(),
        fail_locks: BTreeMap::new(),
        stale: Arc::new(stale),
    }
}

/// What the log of a site holds for its access manager.
#[derive(Clone, Debug)]
pub enum Logged {
    Installed(Timestamp, Arc<History>),
    Record(LogRecord),
}

/// A site.
pub struct Site {
    pub manager: AccessManager,
    pub store: MemoryStore,
    pub settings: StoreSettings,
    pub log: Vec<Logged>,
    /// Syncs of the log that it has asked for.
    syncs: Vec<u64>,
    /// The log's disk does not finish what it is asked for.
    pub disk_held: bool,
    /// What is large stays where it is: [`Site::step`] goes on with it.
    pub steps_held: bool,
    /// A next step was asked for.
    step_asked: bool,
    pub boot: u64,
    /// The last snapshot that it has given up.
    pub given_up: Option<Timestamp>,
}

impl Site {
    pub fn new(settings: StoreSettings) -> Site {
        let store = MemoryStore::new();
        let mut manager = AccessManager::open(Box::new(store.clone()), settings).expect("an empty store opens");
        manager.replay_ends().expect("the store is sound");
        let (log, syncs) = (Vec::new(), Vec::new());
        let (disk_held, steps_held, step_asked) = (false, false, false);
        Site { manager, store, settings, log, syncs, disk_held, steps_held, step_asked, boot: SECOND, given_up: None }
    }

    pub fn now(&self) -> Now {
        Now { boot: self.boot, wall_micros: 0 }
    }

    /// Sends a message and hands back what came out; records go to the log first.
    pub fn send(&mut self, message: Message) -> Vec<(ServerKind, Message)> {
        let envelope = Envelope {
            from_site: SiteId(1),
            from: ServerKind::Console,
            to_site: SiteId(1),
            to: ServerKind::AccessManager,
            epoch: EpochNumber(1),
            incarnation: Incarnation(1),
            message,
        };
        let mut outbox = Outbox::default();
        let now = self.now();
        self.manager.handle(now, envelope, &mut outbox);
        self.log.extend(outbox.records.into_iter().map(Logged::Record));
        let mut said: Vec<_> = outbox.messages.into_iter().map(|outgoing| (outgoing.to, outgoing.message)).collect();
        let own = said.extract_if(.., |(to, _)| *to == ServerKind::AccessManager).count();
        assert!(own <= 1 && !(own == 1 && self.step_asked), "the next step is asked for once");
        self.step_asked |= own == 1;
        self.syncs.extend(outbox.syncs);
        self.note(said.iter().map(|(_, message)| message));
        while !self.steps_held && self.step_asked {
            said.extend(self.step());
        }
        if !self.disk_held {
            said.extend(self.sync());
        }
        said
    }

    /// The next step of what is large, if there is one.
    pub fn step(&mut self) -> Vec<(ServerKind, Message)> {
        match std::mem::take(&mut self.step_asked) {
            true => self.send(Message::Access(AccessRequest::NextStep)),
            false => Vec::new(),
        }
    }

    /// Whether there is one.
    pub fn has_step(&self) -> bool {
        self.step_asked
    }

    /// The log is synced.
    pub fn sync(&mut self) -> Vec<(ServerKind, Message)> {
        let mut said = Vec::new();
        for token in std::mem::take(&mut self.syncs) {
            said.extend(self.send(Message::Synced(token)));
        }
        said
    }

    /// Sends a request that is answered, and hands back the answer.
    pub fn ask(&mut self, request: AccessRequest) -> AccessReply {
        let mut answers = self.send(Message::Access(request)).into_iter();
        let answer = answers.find(|(to, _)| *to == ServerKind::Console);
        match answer {
            Some((_, Message::AccessReply(reply))) => reply,
            other => panic!("an answer to the asker, not {other:?}"),
        }
    }

    /// Time passes; hands back what came out.
    pub fn tick(&mut self, nanoseconds: u64) -> Vec<Message> {
        self.boot += nanoseconds;
        let mut outbox = Outbox::default();
        let now = self.now();
        self.manager.tick(now, &mut outbox);
        let said: Vec<Message> = outbox.messages.into_iter().map(|outgoing| outgoing.message).collect();
        self.note(said.iter());
        said
    }

    fn note<'a>(&mut self, said: impl Iterator<Item = &'a Message>) {
        for message in said {
            if let Message::AccessReply(AccessReply::SnapshotsGivenUp { through }) = message {
                assert!(self.given_up < Some(*through), "the oldest goes first");
                self.given_up = Some(*through);
            }
        }
    }

    pub fn read(&mut self, text: &str, snapshot: Option<Timestamp>) -> AccessReply {
        self.ask(AccessRequest::Read { tag: 7, table: TABLE, key: key(text), snapshot })
    }

    /// The newest row, which must be readable.
    pub fn row(&mut self, text: &str) -> Option<(u64, Row)> {
        match self.read(text, None) {
            AccessReply::ReadReply { version, row, .. } => row.map(|row| (version.clock, row)),
            other => panic!("a row or its absence, not {other:?}"),
        }
    }

    /// All rows of a range, batch by batch; `None` when the snapshot is gone or part of it is stale.
    pub fn scan(
        &mut self,
        mut range: KeyRange,
        snapshot: Option<Timestamp>,
        limit: u32,
        reverse: bool,
    ) -> Option<Vec<(Key, Timestamp, Row)>> {
        let mut all = Vec::new();
        loop {
            let request = AccessRequest::Scan { tag: 7, range: Box::new(range.clone()), snapshot, limit, reverse };
            let AccessReply::ScanReply { rows, next, .. } = self.ask(request) else {
                return None;
            };
            assert!(rows.len() <= limit as usize, "no more rows than asked for");
            all.extend(rows);
            match next {
                None => return Some(all),
                Some(next) if reverse => range.high = Some(*next),
                Some(next) => range.low = *next,
            }
            assert!(!range.is_empty(), "a scan that goes on has something left");
        }
    }

    /// Installs and logs a commit; hands back what was said unasked.
    pub fn install(&mut self, clock: u64, history: History) -> Vec<(ServerKind, Message)> {
        let history = Arc::new(history);
        self.log.push(Logged::Installed(at(clock), history.clone()));
        self.deliver(at(clock), history)
    }

    fn deliver(&mut self, timestamp: Timestamp, history: Arc<History>) -> Vec<(ServerKind, Message)> {
        self.send(Message::Access(AccessRequest::Install { timestamp, history, in_steps: false }))
    }

    pub fn check(&mut self, reads: Vec<ItemRead>, ranges: Vec<RangeRead>) -> Option<Conflict> {
        let history = Arc::new(History { reads, ranges, ..History::default() });
        let transaction = TransactionId::ZERO;
        match self.ask(AccessRequest::Check { transaction, history }) {
            AccessReply::CheckReply { conflict, .. } => conflict,
            other => panic!("a verdict, not {other:?}"),
        }
    }

    pub fn mark_stale(&mut self, stale: StaleSet) {
        let stale = Arc::new(stale);
        self.send(Message::Access(AccessRequest::MarkStale { stale }));
    }

    pub fn copies(&mut self, copies: Copies) -> Vec<(ServerKind, Message)> {
        let copies = Arc::new(copies);
        self.send(Message::Access(AccessRequest::InstallCopies { tag: 7, copies }))
    }

    /// Says which snapshots are in use, and from where on others may come.
    pub fn snapshots(&mut self, in_use: Vec<Timestamp>, from: Timestamp) {
        self.send(Message::Access(AccessRequest::SnapshotsInUse { in_use, from }));
    }

    /// No snapshot is in use, and others come from here on.
    pub fn oldest(&mut self, clock: u64) {
        self.snapshots(Vec::new(), at(clock));
    }

    /// Posts to the end.
    pub fn post(&mut self) {
        let mut said: Vec<Message> =
            self.send(Message::Access(AccessRequest::Post { tag: 9 })).into_iter().map(|(_, said)| said).collect();
        for _ in 0..10_000 {
            if said.iter().any(|message| matches!(message, Message::AccessReply(AccessReply::Posted { tag: 9 }))) {
                return;
            }
            said = self.tick(MILLISECOND);
        }
        panic!("a post ends");
    }

    /// Loses power: of the store's unsynced writes some first part stays, of the log the first `records`. Starts again from both.
    pub fn restart(&mut self, writes_kept: usize, records: std::ops::Range<usize>) -> Vec<(ServerKind, Message)> {
        let mut said = Vec::new();
        self.store.power_loss(writes_kept);
        self.log.truncate(records.end);
        self.manager = AccessManager::open(Box::new(self.store.clone()), self.settings).expect("the store is sound");
        let replayed = self.log[records.start..].to_vec();
        for logged in replayed {
            match logged {
                Logged::Installed(timestamp, history) => {
                    said.extend(self.deliver(timestamp, history));
                }
                Logged::Record(record) => {
                    let mut outbox = Outbox::default();
                    self.manager.replay(&record, &mut outbox);
                    assert!(outbox.records.is_empty(), "a replay logs nothing");
                }
            }
        }
        self.manager.replay_ends().expect("the store is sound");
        said
    }
}
