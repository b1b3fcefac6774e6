//! A site of stand-ins around the action driver: an access manager that keeps versions, and concurrency, atomicity and
//! replication controllers that grant everything unless a test says otherwise. What the driver says is written down.
//!
//! Invariant: the stand-ins answer at once and in order, so that a transcript depends on the driver alone.

use action_driver::ActionDriver;
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest};
use messages::commit::{CommitReply, CommitRequest};
use messages::concurrency::{AccessKind, AccessTarget, AccessWait, ConcurrencyReply, ConcurrencyRequest};
use messages::database::DatabaseId;
use messages::planted::Planted;
use messages::program::{Action, Expression, Program};
use messages::replication::{Increments, Service, ServiceReply, ServiceRequest};
use messages::schema::{Column, IndexSchema, TableSchema};
use messages::session::{AccessMode, CommitReceipt, Failure, Isolation, SessionReply, SessionRequest};
use messages::{
    Age, Conflict, ConflictKind, Envelope, EpochNumber, History, Incarnation, Item, Key, KeyRange, Message, Now,
    Outbox, Row, Server, ServerKind, SessionId, SiteId, TableId, Timestamp, TransactionId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use values::{Type, Value};

pub const ACCOUNTS: TableId = TableId(20);
pub const BY_OWNER: TableId = TableId(21);
pub const NOTES: TableId = TableId(30);
const SITE: SiteId = SiteId(1);
const SESSION: SessionId = SessionId(7);

/// The stand-ins and the driver.
pub struct World {
    pub driver: ActionDriver,
    pub now: Now,
    pub epoch: EpochNumber,
    /// What updates may add to without reading.
    pub increments: Increments,
    /// What a member lacks that is being repaired.
    pub lacking: Vec<Item>,
    /// Versions by item, oldest first.
    pub store: BTreeMap<Item, Vec<(Timestamp, Option<Row>)>>,
    /// Items that are stale until they are refreshed.
    pub stale: BTreeSet<Item>,
    /// Accesses to refuse, in order; `None` grants.
    pub accesses: VecDeque<Option<ConflictKind>>,
    /// Commits to abort, in order; `None` commits.
    pub commits: VecDeque<Option<ConflictKind>>,
    /// Commits to abort before those, in order.
    pub lost_commits: VecDeque<Conflict>,
    /// Verdicts of checks after reads, in order; `true` when exhausted.
    pub after: VecDeque<bool>,
    /// What the access manager was last told.
    pub snapshots_reported: Option<(Vec<Timestamp>, Timestamp)>,
    /// How many reads find their snapshot gone.
    pub snapshots_gone: u32,
    /// They are, because they were given up.
    pub gives_up: bool,
    /// Items that others have: an access that may not wait for them is told so.
    pub busy: BTreeSet<Item>,
    /// Whether accesses, or commits, are left without an answer.
    pub hold_accesses: bool,
    /// Whether nobody is told that the site may serve.
    pub hold_checks: bool,
    pub hold_commits: bool,
    /// What was committed.
    pub histories: Vec<(TransactionId, Arc<History>)>,
    pub drops: Vec<TableId>,
    /// Ages under which commits were asked for.
    pub ages: Vec<Age>,
    pub transcript: Vec<String>,
    replies: VecDeque<SessionReply>,
    /// Replies to other sessions than the one that most tests have.
    pub others: Vec<(SessionId, SessionReply)>,
    clock: u64,
    sequence: u64,
}

impl World {
    pub fn new() -> World {
        World::planted(Planted::none())
    }

    pub fn planted(planted: Planted) -> World {
        World {
            driver: ActionDriver::new(planted, 1),
            now: Now { boot: 1_000_000_000, wall_micros: 0 },
            epoch: EpochNumber(1),
            increments: Increments::ToNothing,
            lacking: Vec::new(),
            store: BTreeMap::new(),
            stale: BTreeSet::new(),
            accesses: VecDeque::new(),
            commits: VecDeque::new(),
            lost_commits: VecDeque::new(),
            after: VecDeque::new(),
            snapshots_reported: None,
            snapshots_gone: 0,
            gives_up: false,
            busy: BTreeSet::new(),
            hold_accesses: false,
            hold_checks: false,
            hold_commits: false,
            histories: Vec::new(),
            drops: Vec::new(),
            ages: Vec::new(),
            transcript: Vec::new(),
            replies: VecDeque::new(),
            others: Vec::new(),
            clock: 100,
            sequence: 0,
        }
    }

    /// Sends a request and answers what the driver asks; the reply, unless something is held.
    pub fn ask(&mut self, request: SessionRequest) -> Option<SessionReply> {
        self.deliver(ServerKind::UserInterface, Message::SessionRequest(SESSION, request));
        self.replies.pop_front()
    }

    /// Runs a program of another session.
    pub fn execute_as(&mut self, session: u64, program: &Arc<Program>, parameters: &[Value]) {
        let (program, parameters) = (Arc::clone(program), parameters.to_vec());
        let request =
            SessionRequest::Execute { program, parameters, rows: Vec::new(), time_micros: 0, zone: values::Zone::UTC };
        self.ask_as(session, request);
    }

    /// Sends a request of another session.
    pub fn ask_as(&mut self, session: u64, request: SessionRequest) {
        self.deliver(ServerKind::UserInterface, Message::SessionRequest(SessionId(session), request));
    }

    pub fn begin(&mut self, mode: AccessMode) {
        let reply = self.ask(SessionRequest::Begin { mode, isolation: Isolation::Serializable, time_micros: 0 });
        assert!(matches!(reply, Some(SessionReply::Begun)), "{reply:?}");
    }

    pub fn execute(&mut self, program: &Arc<Program>, parameters: &[Value]) -> Option<SessionReply> {
        self.execute_with(program, parameters, Vec::new())
    }

    pub fn execute_with(
        &mut self,
        program: &Arc<Program>,
        parameters: &[Value],
        rows: Vec<Vec<Value>>,
    ) -> Option<SessionReply> {
        self.ask(SessionRequest::Execute {
            program: Arc::clone(program),
            parameters: parameters.to_vec(),
            rows,
            time_micros: 0,
            zone: values::Zone::UTC,
        })
    }

    /// Runs a program that must succeed: its rows and the number of rows touched.
    pub fn run(&mut self, program: &Arc<Program>, parameters: &[Value]) -> (Vec<Vec<Value>>, u64) {
        match self.execute(program, parameters) {
            Some(SessionReply::Executed { rows, affected }) => (rows, affected),
            other => panic!("not executed: {other:?}"),
        }
    }

    /// Runs a program that must fail: SQLSTATE and message.
    pub fn fail(&mut self, program: &Arc<Program>, parameters: &[Value]) -> (String, String) {
        match self.execute(program, parameters) {
            Some(SessionReply::Failed(Failure::Statement(wrong))) => (wrong.sqlstate, wrong.message),
            other => panic!("not failed: {other:?}"),
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, nanoseconds: u64) -> Option<SessionReply> {
        self.now.boot += nanoseconds;
        let mut outbox = Outbox::default();
        self.driver.tick(self.now, &mut outbox);
        self.pump(outbox);
        self.replies.pop_front()
    }

    /// An unasked message, or a held answer.
    pub fn tell(&mut self, from: ServerKind, message: Message) -> Option<SessionReply> {
        self.deliver(from, message);
        self.replies.pop_front()
    }

    /// A reply not looked at yet.
    pub fn next_reply(&mut self) -> Option<SessionReply> {
        self.replies.pop_front()
    }

    fn deliver(&mut self, from: ServerKind, message: Message) {
        let mut outbox = Outbox::default();
        let envelope = self.envelope(from, message);
        self.driver.handle(self.now, envelope, &mut outbox);
        self.pump(outbox);
    }

    fn envelope(&self, from: ServerKind, message: Message) -> Envelope {
        Envelope {
            from_site: SITE,
            from,
            to_site: SITE,
            to: ServerKind::ActionDriver,
            epoch: self.epoch,
            incarnation: Incarnation(1),
            message,
        }
    }

    fn pump(&mut self, outbox: Outbox) {
        let mut waiting: VecDeque<_> = outbox.messages.into();
        while let Some(outgoing) = waiting.pop_front() {
            assert!(outgoing.sites.is_empty(), "the action driver stays within its site");
            if let Some(line) = describe(&outgoing.message) {
                self.transcript.push(line);
            }
            let Some(answer) = self.answer(outgoing.message) else { continue };
            let mut outbox = Outbox::default();
            let envelope = self.envelope(outgoing.to, answer);
            self.driver.handle(self.now, envelope, &mut outbox);
            waiting.extend(outbox.messages);
        }
    }

    fn answer(&mut self, message: Message) -> Option<Message> {
        match message {
            Message::SessionReply(session, reply) => {
                match session {
                    SESSION => self.replies.push_back(reply),
                    other => self.others.push((other, reply)),
                }
                None
            }
            Message::Service(ServiceRequest::Check { .. }) if self.hold_checks => None,
            Message::Service(request) => Some(Message::ServiceReply(self.service(request))),
            Message::CommitRequest(request) => self.commit(request).map(Message::CommitReply),
            Message::Concurrency(request) => self.concurrency(request).map(Message::ConcurrencyReply),
            Message::Access(request) => self.access(request).map(Message::AccessReply),
            other => panic!("not for the action driver to send: {other:?}"),
        }
    }

    fn standing(&self) -> Service {
        Service { epoch: self.epoch, increments: self.increments }
    }

    fn service(&mut self, request: ServiceRequest) -> ServiceReply {
        match request {
            ServiceRequest::Check { tag, .. } => ServiceReply::ServiceReply { tag, verdict: Ok(self.standing()) },
            ServiceRequest::Increments { tag, items } => {
                let lacking = items.into_iter().filter(|item| self.lacking.contains(item)).collect();
                ServiceReply::Lacking { tag, lacking: Ok(lacking) }
            }
            ServiceRequest::CheckAfter { tag, epoch } => {
                let holds = self.after.pop_front().unwrap_or(true) && epoch == self.epoch;
                let verdict = if holds { Ok(self.standing()) } else { Err("the epoch has changed".into()) };
                ServiceReply::ServiceReply { tag, verdict }
            }
            ServiceRequest::Refresh { tag, range, .. } => {
                self.stale.retain(|item| item.table != range.table || !range.contains(item.key.as_bytes()));
                ServiceReply::RefreshReply { tag, failure: None }
            }
        }
    }

    fn commit(&mut self, request: CommitRequest) -> Option<CommitReply> {
        self.clock += 10;
        match request {
            CommitRequest::Begin { tag } => {
                self.sequence += 1;
                let transaction = TransactionId { home: SITE, incarnation: Incarnation(1), sequence: self.sequence };
                let age = Age { clock: self.clock, first: transaction };
                Some(CommitReply::Begun { tag, transaction, age })
            }
            CommitRequest::BeginSnapshot { tag } => {
                let snapshot = Timestamp::snapshot(self.epoch, self.clock);
                Some(CommitReply::SnapshotBegun { tag, snapshot })
            }
            CommitRequest::Gathered => unreachable!("the atomicity controller's own"),
            CommitRequest::Withdraw { transaction, conflict } => Some(CommitReply::Aborted { transaction, conflict }),
            CommitRequest::Commit { transaction, age, history, .. } => {
                self.ages.push(age);
                if self.hold_commits {
                    return None;
                }
                if let Some(conflict) = self.lost_commits.pop_front() {
                    return Some(CommitReply::Aborted { transaction, conflict });
                }
                Some(match self.commits.pop_front().flatten() {
                    Some(kind) => CommitReply::Aborted { transaction, conflict: Conflict::of(kind) },
                    None => self.install(transaction, history),
                })
            }
        }
    }

    /// The transaction begun last.
    pub fn begun(&self) -> TransactionId {
        TransactionId { home: SITE, incarnation: Incarnation(1), sequence: self.sequence }
    }

    /// The snapshot given out last.
    pub fn last_snapshot(&self) -> Timestamp {
        Timestamp::snapshot(self.epoch, self.clock)
    }

    /// Commits a history, whoever's.
    pub fn install(&mut self, transaction: TransactionId, history: Arc<History>) -> CommitReply {
        self.clock += 10;
        let timestamp = Timestamp { epoch: self.epoch, clock: self.clock, transaction };
        for write in &history.writes {
            let item = Item { table: write.table, key: write.key.clone() };
            self.store.entry(item).or_default().push((timestamp, write.row.clone()));
        }
        for increment in &history.increments {
            let item = Item { table: increment.table, key: increment.key.clone() };
            let versions = self.store.get_mut(&item).expect("what is added to is there");
            let row = versions.last().and_then(|(_, row)| row.clone()).expect("what is added to is a row");
            let sum = values::addition::add(&row, &increment.addends).expect("the sum fits");
            versions.push((timestamp, Some(Row::from(sum))));
        }
        self.drops.extend(&history.drops);
        self.histories.push((transaction, history));
        CommitReply::Committed { transaction, timestamp, receipt: CommitReceipt::Memory { copies: 2 } }
    }

    fn concurrency(&mut self, request: ConcurrencyRequest) -> Option<ConcurrencyReply> {
        match request {
            ConcurrencyRequest::Lock {
                transaction,
                target: AccessTarget::Item(item),
                kind: AccessKind::Write,
                wait: AccessWait::Never,
                ..
            } if self.busy.contains(&item) => Some(ConcurrencyReply::LockBusy { transaction }),
            ConcurrencyRequest::Lock {
                transaction,
                target: AccessTarget::Item(item),
                wait: AccessWait::UnlessTaken,
                ..
            } if self.busy.contains(&item) => Some(ConcurrencyReply::LockTaken { transaction }),
            ConcurrencyRequest::Lock { transaction, .. } if !self.hold_accesses => {
                let conflict = self.accesses.pop_front().flatten().map(Conflict::of);
                Some(ConcurrencyReply::LockReply { transaction, conflict })
            }
            // Nothing is waited for here: what is held back is asked for again.
            ConcurrencyRequest::LockPrefetch { transaction, accesses, .. } => {
                let mut granted = 0;
                for (item, _) in accesses {
                    let is_refused = matches!(self.accesses.front(), Some(Some(_)));
                    if self.hold_accesses || self.busy.contains(&item) || is_refused {
                        break;
                    }
                    self.accesses.pop_front();
                    granted += 1;
                }
                Some(ConcurrencyReply::LockPrefetchReply { transaction, granted })
            }
            ConcurrencyRequest::SnapshotAccess { tag, .. } => Some(ConcurrencyReply::SnapshotReply { tag }),
            _ => None,
        }
    }

    fn access(&mut self, request: AccessRequest) -> Option<AccessReply> {
        match request {
            AccessRequest::Read { tag, table, key, snapshot } => {
                if snapshot.is_some() && self.snapshots_gone > 0 {
                    self.snapshots_gone -= 1;
                    return Some(AccessReply::SnapshotGone { tag, given_up: self.gives_up });
                }
                let item = Item { table, key };
                if self.stale.contains(&item) {
                    let range = Box::new(KeyRange::point(table, item.key));
                    return Some(AccessReply::Stale { tag, range });
                }
                let (version, row) = self.version(&item, snapshot);
                Some(AccessReply::ReadReply { tag, version, row })
            }
            AccessRequest::Compare { tag, rows, ahead } => {
                let are_equal = rows.iter().all(|(key, version)| {
                    let item = Item { table: TableId::CATALOG, key: key.clone() };
                    !self.stale.contains(&item) && self.version(&item, None).0 == *version
                });
                let fresh = ahead.iter().take_while(|item| are_equal && !self.stale.contains(item));
                let ahead = fresh.map(|item| self.version(item, None)).collect();
                Some(AccessReply::Compared { tag, are_equal, ahead })
            }
            AccessRequest::Scan { tag, range, .. } if self.stale.iter().any(|item| item.table == range.table) => {
                Some(AccessReply::Stale { tag, range })
            }
            AccessRequest::Scan { tag, range, snapshot, limit, reverse } => {
                Some(self.scan(tag, &range, snapshot, limit as usize, reverse))
            }
            AccessRequest::ReadCopies { tag, wanted: CopyRequest::Storages, .. } => {
                let storages: BTreeSet<TableId> = self.store.keys().map(|item| item.table).collect();
                let copies = Arc::new(Copies::Storages(storages.into_iter().collect()));
                Some(AccessReply::Copies { tag, copies })
            }
            AccessRequest::SnapshotsInUse { in_use, from } => {
                let reported = Some((in_use, from));
                assert!(self.snapshots_reported != reported, "reported for nothing");
                self.snapshots_reported = reported;
                None
            }
            other => panic!("not for the action driver to send: {other:?}"),
        }
    }

    fn version(&self, item: &Item, snapshot: Option<Timestamp>) -> (Timestamp, Option<Row>) {
        let versions = self.store.get(item).into_iter().flatten();
        let mut seen = versions.filter(|(version, _)| snapshot.is_none_or(|snapshot| *version <= snapshot));
        // What is absent has no version, whether its deletion is still known or not.
        seen.next_back().filter(|(_, row)| row.is_some()).cloned().unwrap_or((Timestamp::ZERO, None))
    }

    fn scan(
        &self,
        tag: u64,
        range: &KeyRange,
        snapshot: Option<Timestamp>,
        limit: usize,
        reverse: bool,
    ) -> AccessReply {
        let inside = |item: &&Item| item.table == range.table && range.contains(item.key.as_bytes());
        let mut items: Vec<&Item> = self.store.keys().filter(inside).collect();
        if reverse {
            items.reverse();
        }
        let mut rows: Vec<_> = items
            .into_iter()
            .filter_map(|item| {
                let (version, row) = self.version(item, snapshot);
                Some((item.key.clone(), version, row?))
            })
            .collect();
        let mut next = None;
        if rows.len() > limit {
            next = Some(Box::new(if reverse { rows[limit - 1].0.clone() } else { rows[limit].0.clone() }));
            rows.truncate(limit);
        }
        let as_of = Timestamp { epoch: self.epoch, clock: self.clock, transaction: TransactionId::ZERO };
        AccessReply::ScanReply { tag, rows, next, as_of }
    }

    /// The newest rows of a table, decoded.
    pub fn rows(&self, table: &TableSchema) -> Vec<Vec<Value>> {
        let items = self.store.keys().filter(|item| item.table == table.storage);
        let rows = items.filter_map(|item| self.version(item, None).1);
        rows.map(|row| values::row::decode_row(&row, table.columns.len()).unwrap()).collect()
    }

    /// How many rows a storage holds.
    pub fn count(&self, table: TableId) -> usize {
        let items = self.store.keys().filter(|item| item.table == table);
        items.filter(|item| self.version(item, None).1.is_some()).count()
    }

    /// What the driver has said since the last time, one message a line.
    pub fn said(&mut self) -> String {
        std::mem::take(&mut self.transcript).join("\n")
    }
}

fn describe(message: &Message) -> Option<String> {
    let item = |item: &Item| format!("{}[{:?}]", storage(item.table), item.key);
    let range = |range: &KeyRange| {
        let high = range.high.as_ref().map_or(String::new(), |high| format!("{high:?}"));
        format!("{}[{:?}..{high}]", storage(range.table), range.low)
    };
    let target = |target: &AccessTarget| match target {
        AccessTarget::Item(named) => item(named),
        AccessTarget::Range(named) => range(named),
    };
    let at =
        |snapshot: &Option<Timestamp>| snapshot.map_or(String::new(), |snapshot| format!(" at {}", snapshot.clock));
    Some(match message {
        Message::Service(ServiceRequest::Check { .. }) => "serve?".into(),
        Message::Service(ServiceRequest::Increments { items, .. }) => {
            format!("add to {}?", items.iter().map(item).collect::<Vec<_>>().join(" "))
        }
        Message::Service(ServiceRequest::CheckAfter { epoch, .. }) => format!("still {epoch}?"),
        Message::Service(ServiceRequest::Refresh { range: stale, .. }) => format!("refresh {}", range(stale)),
        Message::CommitRequest(CommitRequest::Begin { .. }) => "begin".into(),
        Message::CommitRequest(CommitRequest::BeginSnapshot { .. }) => "begin snapshot".into(),
        Message::CommitRequest(CommitRequest::Withdraw { transaction, .. }) => format!("withdraw {transaction}"),
        Message::CommitRequest(CommitRequest::Commit { transaction, history, .. }) => {
            let read =
                |read: &messages::ItemRead| format!("{}[{:?}]@{}", storage(read.table), read.key, read.seen.clock);
            let reads: Vec<String> = history.reads.iter().map(read).collect();
            let ranges: Vec<String> = history.ranges.iter().map(|read| range(&read.range)).collect();
            let write = |write: &messages::Write| {
                let sign = if write.row.is_some() { '+' } else { '-' };
                format!("{sign}{}[{:?}]", storage(write.table), write.key)
            };
            let mut writes: Vec<String> = history.writes.iter().map(write).collect();
            let sum = |added: &messages::Increment| {
                let addends: Vec<_> = added.addends.iter().map(|addend| (addend.column, addend.number)).collect();
                format!("{}[{:?}]{addends:?}", storage(added.table), added.key)
            };
            writes.extend(history.increments.iter().map(sum));
            format!(
                "commit T{} read ({}) ranges ({}) write ({})",
                transaction.sequence,
                reads.join(" "),
                ranges.join(" "),
                writes.join(" ")
            )
        }
        Message::Concurrency(ConcurrencyRequest::Lock { transaction, target: named, kind, .. }) => {
            format!("may T{} {} {}?", transaction.sequence, verb(*kind), target(named))
        }
        Message::Concurrency(ConcurrencyRequest::LockPrefetch { transaction, accesses, .. }) => {
            let accesses = accesses.iter().map(|(named, kind)| format!("{} {}", verb(*kind), item(named)));
            format!("may T{} at once {}?", transaction.sequence, accesses.collect::<Vec<_>>().join(", "))
        }
        Message::Concurrency(ConcurrencyRequest::SnapshotAccess { target: named, snapshot, .. }) => {
            format!("decided {}{}?", target(named), at(&Some(*snapshot)))
        }
        Message::Concurrency(ConcurrencyRequest::GiveUp { transaction, items }) => {
            format!("give up T{} {}", transaction.sequence, items.iter().map(item).collect::<Vec<_>>().join(" "))
        }
        Message::Concurrency(ConcurrencyRequest::HandOver { transaction, to }) => {
            format!("hand over T{} to T{}", transaction.sequence, to.sequence)
        }
        Message::Concurrency(ConcurrencyRequest::Finish { transaction, .. }) => {
            format!("finish T{}", transaction.sequence)
        }
        Message::Concurrency(ConcurrencyRequest::ForgetSnapshot { .. }) => "forget snapshot".into(),
        Message::Access(AccessRequest::Read { table, key, snapshot, .. }) => {
            format!("read {}[{key:?}]{}", storage(*table), at(snapshot))
        }
        Message::Access(AccessRequest::Compare { rows, ahead, .. }) => {
            let rows = rows.iter().map(|(key, version)| format!(" catalog[{key:?}]@{}", version.clock));
            let ahead = ahead.iter().map(|read| format!(", read {}", item(read)));
            format!("compare{}{}", rows.collect::<String>(), ahead.collect::<String>())
        }
        Message::Access(AccessRequest::Scan { range: wanted, snapshot, limit, .. }) => {
            format!("scan {}{} limit {limit}", range(wanted), at(snapshot))
        }
        Message::SessionReply(_, reply) => match reply {
            SessionReply::Executed { rows, affected } => format!("reply executed {affected}, {} rows", rows.len()),
            SessionReply::Failed(Failure::Statement(wrong)) => format!("reply failed {}", wrong.sqlstate),
            SessionReply::Failed(Failure::Conflict { conflict }) => format!("reply conflict {:?}", conflict.kind),
            SessionReply::Failed(Failure::SchemaChanged { .. }) => "reply schema changed".into(),
            SessionReply::Scanned { rows, left } => {
                format!("reply scanned {} rows, more {}", rows.len(), !left.is_empty())
            }
            SessionReply::Begun => return None,
            other => format!("reply {other:?}"),
        },
        _ => return None,
    })
}

fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Increment => "add to",
    }
}

fn storage(table: TableId) -> String {
    match table {
        TableId::CATALOG => "catalog".into(),
        ACCOUNTS => "accounts".into(),
        BY_OWNER => "by_owner".into(),
        NOTES => "notes".into(),
        TableId(other) => format!("s{other}"),
    }
}

fn column(name: &str, column_type: Type, not_null: bool) -> Column {
    Column::new(name, column_type, not_null)
}

/// accounts (id integer primary key, owner text unique, balance bigint not null).
pub fn accounts() -> Arc<TableSchema> {
    Arc::new(TableSchema {
        oid: 100,
        primary_key: vec![0],
        primary_key_name: Some("accounts_pkey".into()),
        primary_key_oid: 101,
        indexes: vec![IndexSchema {
            constraint: true,
            ..IndexSchema::new("accounts_owner_key", 102, BY_OWNER, &[1], true)
        }],
        ..TableSchema::new(
            "accounts",
            ACCOUNTS,
            vec![
                column("id", Type::Integer, true),
                column("owner", Type::Text, false),
                column("balance", Type::BigInt, true),
            ],
        )
    })
}

/// notes (body text), without a primary key.
pub fn notes(storage: TableId) -> Arc<TableSchema> {
    Arc::new(TableSchema { oid: 110, ..TableSchema::new("notes", storage, vec![column("body", Type::Text, false)]) })
}

/// A program of these actions that relies on nothing.
pub fn program(actions: Vec<Action>) -> Arc<Program> {
    let read_only = actions.iter().all(|action| matches!(action, Action::Select { lock: None, .. }));
    Arc::new(Program {
        parameters: Vec::new(),
        actions,
        columns: Vec::new(),
        relies_on: Arc::default(),
        read_only,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    })
}

/// `$n`, counted from 0.
pub fn parameter(number: u16) -> Expression {
    Expression::Parameter(number)
}

/// A column, counted from 0.
pub fn column_of(position: u16) -> Expression {
    Expression::Column(position)
}

/// The key of an account.
pub fn account_key(id: i32) -> Key {
    let mut bytes = Vec::new();
    values::key::append(&Value::Integer(id), &mut bytes);
    Key::new(&bytes)
}
