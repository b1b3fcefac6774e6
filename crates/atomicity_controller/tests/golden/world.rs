//! What a script can say, and how the controller's outbox reads.
//!
//! Transactions are written home.life.sequence, items as letters of one storage, times in milliseconds, clocks as numbers.
//!
//! * `after MS`: time passes, then a tick; `wall MS`: the wall clock is set; it starts at 0 and does not go by itself
//! * `activate N: SITES`; a `+` behind a site makes it recovering; `required K` copies
//! * `and COMMAND`: what the next command says waits inside the site already, and is told before what the controller has sent itself; elsewhere
//!   that comes back at once, and is not shown
//! * `commit T age A read X.. write X.. add X..`, `withdraw T`, `begin`, `snapshot TAG`. Groups take identifiers of their own, from 1.1.1 on
//! * `locked T`, `refused T` (the concurrency controller), `stands T`, `changed T` (the access manager), `synced TOKEN`
//! * `SITE [in N] [life L] prepare T order O below B age A write X..`, `yes T C`, `no T`, `commit T order O at C`, `abort T order O`,
//!   `ack T..`, `inquire T..`
//! * `seal N`, `report TAG`, `member SITE joined N [clock C] [T:in:STATE..]` (a report for the next resolution), `resolve N: SITES [fresh]`
//! * `logged N life L: SITES`, `checkpoint`, `restart life L` (a new controller replays everything logged)

use atomicity_controller::AtomicityController;
use atomicity_controller::limits::ROUND_PACE;
use messages::access::{AccessReply, AccessRequest, StaleSet};
use messages::commit::{
    CommitMessage, CommitReply, CommitRequest, EpochReply, EpochRequest, Outcome, TransactionReport, TransactionState,
    TransactionsReport, Vote,
};
use messages::concurrency::{ConcurrencyReply, ConcurrencyRequest};
use messages::epoch::{Member, MemberState, Placement, ProposalId};
use messages::item::{ItemRead, Write};
use messages::last_words::{HomesKnown, OpenTransaction};
use messages::limits::MILLISECOND;
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::{
    Age, Conflict, ConflictKind, Envelope, Epoch, EpochNumber, History, Incarnation, Increment, Item, Key, Message,
    Now, OracleLife, Outbox, Server, ServerKind, SiteId, TableId, Timestamp, TransactionId,
};
use std::collections::BTreeMap;
use std::str::SplitWhitespace;
use std::sync::Arc;

const OWN: SiteId = SiteId(1);
const TABLE: TableId = TableId(20);

pub struct World {
    controller: AtomicityController,
    now: Now,
    epoch: EpochNumber,
    required: u16,
    log: Vec<LogRecord>,
    members: BTreeMap<SiteId, Arc<TransactionsReport>>,
    own_report: Arc<TransactionsReport>,
    /// The controller has sent itself a message.
    asked: bool,
}

type Words<'a> = SplitWhitespace<'a>;

fn word<'a>(words: &mut Words<'a>) -> &'a str {
    words.next().expect("the command is complete")
}

fn number(words: &mut Words) -> u64 {
    word(words).trim_end_matches(':').parse().expect("a number")
}

fn keyed(words: &mut Words, key: &str) -> u64 {
    assert_eq!(word(words), key);
    number(words)
}

fn transaction(text: &str) -> TransactionId {
    let parts: Vec<u64> = text.split('.').map(|part| part.parse().expect("home.life.sequence")).collect();
    TransactionId { home: SiteId(parts[0] as u16), incarnation: Incarnation(parts[1] as u32), sequence: parts[2] }
}

fn key(text: &str) -> Key {
    Key::new(text.as_bytes())
}

fn history(words: &mut Words) -> Arc<History> {
    let mut history = History::default();
    let mut how = "read";
    for word in words {
        match word {
            "read" | "write" | "add" => how = word,
            name if how == "write" => history.writes.push(Write { table: TABLE, key: key(name), row: None }),
            name if how == "add" => {
                let addends = [messages::Addend::whole(1, 1)].into_iter().collect();
                history.increments.push(Increment { table: TABLE, key: key(name), addends });
            }
            name => history.reads.push(ItemRead { table: TABLE, key: key(name), seen: Timestamp::ZERO }),
        }
    }
    Arc::new(history)
}

fn epoch(number: u64, sites: Words, required: u16) -> Arc<Epoch> {
    let mut members = BTreeMap::new();
    for site in sites.filter(|word| *word != "fresh" && *word != "restart") {
        let state = if site.ends_with('+') { MemberState::Recovering } else { MemberState::Up };
        let site = SiteId(site.trim_end_matches('+').parse().expect("a site"));
        members.insert(site, Member::beginning(Incarnation(1), state));
    }
    Arc::new(Epoch {
        number: EpochNumber(number),
        proposal: ProposalId::default(),
        parent: ProposalId::default(),
        sessions: members.keys().map(|site| (*site, 0)).collect(),
        members,
        required_copies: required,
        placement: Placement::Everywhere,
        oracle: OracleLife(1),
        restart: false,
    })
}

/// A controller of this life, to which a commit of more than three items is large.
fn controller(life: u32) -> AtomicityController {
    AtomicityController::new(OWN, Incarnation(life), ROUND_PACE, Planted::none()).installing_at_once(3)
}

impl World {
    pub fn new() -> World {
        World {
            controller: controller(1),
            now: Now { boot: 0, wall_micros: 0 },
            epoch: EpochNumber(0),
            required: 2,
            log: Vec::new(),
            members: BTreeMap::new(),
            own_report: Arc::default(),
            asked: false,
        }
    }

    /// Tells the controller something, and returns what comes out.
    pub fn tell(&mut self, command: &str) -> Vec<String> {
        if let Some(command) = command.strip_prefix("and ") {
            return self.tell_one(command);
        }
        let mut lines = self.tell_one(command);
        while std::mem::take(&mut self.asked) {
            let mut outbox = Outbox::default();
            let message = Message::CommitRequest(CommitRequest::Gathered);
            self.deliver(OWN, Incarnation(1), self.epoch, message, &mut outbox);
            lines.append(&mut self.said(outbox));
        }
        lines
    }

    fn tell_one(&mut self, command: &str) -> Vec<String> {
        let mut words = command.split_whitespace();
        let mut outbox = Outbox::default();
        match word(&mut words) {
            "after" => {
                self.now.boot += number(&mut words) * MILLISECOND;
                self.controller.tick(self.now, &mut outbox);
            }
            "wall" => self.now.wall_micros = number(&mut words) * 1_000,
            "required" => self.required = number(&mut words) as u16,
            "restart" => self.restart(&mut words, &mut outbox),
            "member" => self.member(&mut words),
            "logged" => self.logged(&mut words),
            "open" => return self.open(),
            "homes" => {
                let request = Message::EpochRequest(EpochRequest::Report { tag: 0 });
                self.deliver(OWN, Incarnation(1), self.epoch, request, &mut outbox);
                return homes(&outbox);
            }
            first => match first.parse() {
                Ok(site) => self.peer(SiteId(site), &mut words, &mut outbox),
                Err(_) => self.local(first, &mut words, &mut outbox),
            },
        }
        self.said(outbox)
    }

    /// What the life would leave if it ended now.
    fn open(&self) -> Vec<String> {
        let line = |open: OpenTransaction| {
            let OpenTransaction { transaction, sent_as, order, epoch, testimony } = open;
            format!("{transaction} sent as {sent_as} order {order} in {}: {testimony:?}", epoch.0)
        };
        self.controller.open_transactions().into_iter().map(line).collect()
    }

    fn local(&mut self, first: &str, words: &mut Words, outbox: &mut Outbox) {
        let message = match first {
            "commit" | "commit-everywhere" | "withdraw" | "begin" | "snapshot" => {
                Message::CommitRequest(driver(first, words))
            }
            "locked" => lock_reply(word(words), None),
            "refused" => lock_reply(word(words), Some(Conflict::of(ConflictKind::YoungerDies))),
            "stands" => check_reply(word(words), None),
            "changed" => check_reply(word(words), Some(Conflict::of(ConflictKind::StaleRead))),
            "installed" => Message::AccessReply(AccessReply::Installed { transaction: transaction(word(words)) }),
            "synced" => Message::Synced(number(words)),
            "checkpoint" => Message::Checkpoint,
            _ => Message::EpochRequest(self.change(first, words)),
        };
        self.deliver(OWN, Incarnation(1), self.epoch, message, outbox);
    }

    fn change(&mut self, first: &str, words: &mut Words) -> EpochRequest {
        match first {
            "seal" => EpochRequest::Seal { epoch: EpochNumber(number(words)) },
            "report" => EpochRequest::Report { tag: number(words) },
            "activate" => {
                let number = number(words);
                self.epoch = EpochNumber(number);
                EpochRequest::Activate { epoch: epoch(number, words.clone(), self.required) }
            }
            "resolve" => {
                let number = number(words);
                let fresh = words.clone().any(|word| word == "fresh");
                let mut reports = std::mem::take(&mut self.members);
                let joined = EpochNumber(if fresh { number } else { 0 });
                let own = TransactionsReport { joined, ..TransactionsReport::clone(&self.own_report) };
                reports.insert(OWN, Arc::new(own));
                let epoch = epoch(number, words.clone(), self.required);
                EpochRequest::Resolve { epoch, reports: Arc::new(reports), fresh }
            }
            other => panic!("nobody says {other}"),
        }
    }

    fn peer(&mut self, site: SiteId, words: &mut Words, outbox: &mut Outbox) {
        let (mut life, mut epoch) = (Incarnation(1), self.epoch);
        let mut verb = word(words);
        if verb == "in" {
            epoch = EpochNumber(number(words));
            verb = word(words);
        }
        if verb == "life" {
            life = Incarnation(number(words) as u32);
            verb = word(words);
        }
        let all = |words: &mut Words| words.map(transaction).collect();
        let message = match verb {
            "ack" => CommitMessage::DecideAck { transactions: all(words) },
            "inquire" => CommitMessage::Inquire { transactions: all(words) },
            verb => {
                let transaction = transaction(word(words));
                match verb {
                    "prepare" => CommitMessage::Prepare {
                        transaction,
                        order: keyed(words, "order"),
                        finished_below: keyed(words, "below"),
                        age: Age { clock: keyed(words, "age"), first: transaction },
                        participants: vec![OWN, site],
                        history: history(words),
                    },
                    "waiting" => CommitMessage::Waiting { transaction },
                    "yes" => CommitMessage::Vote { transaction, vote: Vote::Yes { clock: number(words) } },
                    "no" => {
                        let conflict = Conflict::of(ConflictKind::StaleRead);
                        CommitMessage::Vote { transaction, vote: Vote::No { conflict } }
                    }
                    "commit" => {
                        let order = keyed(words, "order");
                        let timestamp = Timestamp { epoch, clock: keyed(words, "at"), transaction };
                        CommitMessage::Decide { transaction, order, outcome: Outcome::Commit(timestamp) }
                    }
                    "abort" => {
                        let order = keyed(words, "order");
                        CommitMessage::Decide { transaction, order, outcome: Outcome::Abort }
                    }
                    other => panic!("no site says {other}"),
                }
            }
        };
        self.deliver(site, life, epoch, Message::Commit(message), outbox);
    }

    fn deliver(
        &mut self,
        from_site: SiteId,
        incarnation: Incarnation,
        epoch: EpochNumber,
        message: Message,
        outbox: &mut Outbox,
    ) {
        let to = ServerKind::AtomicityController;
        let envelope = Envelope { from_site, from: to, to_site: OWN, to, epoch, incarnation, message };
        self.controller.handle(self.now, envelope, outbox);
    }

    /// `T:in:STATE`, where the state is prepared, refused, aborted@BY or committed@BY@CLOCK.
    fn member(&mut self, words: &mut Words) {
        let site = SiteId(number(words) as u16);
        let joined = EpochNumber(keyed(words, "joined"));
        let clock = if words.clone().next() == Some("clock") { keyed(words, "clock") } else { 0 };
        let mut transactions = BTreeMap::new();
        for known in words {
            let parts: Vec<&str> = known.split(':').collect();
            let id = transaction(parts[0]);
            let state: Vec<&str> = parts[2].split('@').collect();
            let at = |index: usize| state[index].parse::<u64>().expect("a number");
            let state = match state[0] {
                "prepared" => TransactionState::Prepared,
                "refused" => TransactionState::Refused,
                "aborted" => TransactionState::Decided(Outcome::Abort, EpochNumber(at(1))),
                _ => {
                    let timestamp = Timestamp { epoch: EpochNumber(at(1)), clock: at(2), transaction: id };
                    TransactionState::Decided(Outcome::Commit(timestamp), EpochNumber(at(1)))
                }
            };
            let epoch = EpochNumber(parts[1].parse().expect("an epoch"));
            let changes = StaleSet { items: [Item { table: TABLE, key: key("w") }].into(), ..StaleSet::default() };
            let report = TransactionReport { epoch, order: 1, participants: Vec::new(), changes, state };
            transactions.insert(id, report);
        }
        self.members.insert(site, Arc::new(TransactionsReport { joined, clock, transactions }));
    }

    /// What the replication controller logs when an epoch is resolved.
    fn logged(&mut self, words: &mut Words) {
        let number = number(words);
        let life = keyed(words, "life") as u32;
        self.log.push(LogRecord::EpochLogged {
            epoch: epoch(number, words.clone(), self.required),
            incarnation: Incarnation(life),
            joined: EpochNumber(0),
            chain: Vec::new(),
            fail_locks: BTreeMap::new(),
            stale: Arc::default(),
        });
    }

    fn restart(&mut self, words: &mut Words, outbox: &mut Outbox) {
        let life = keyed(words, "life") as u32;
        self.controller = controller(life);
        self.members.clear();
        self.asked = false;
        for record in &self.log {
            self.controller.replay(record, outbox);
        }
        assert!(outbox.records.is_empty(), "a replay writes nothing to the log");
    }

    fn said(&mut self, outbox: Outbox) -> Vec<String> {
        let mut lines: Vec<String> = outbox.records.iter().map(|record| format!("log {}", logged(record))).collect();
        for outgoing in &outbox.messages {
            if let Message::EpochReply(EpochReply::TransactionsReported { report, .. }) = &outgoing.message {
                self.own_report = report.clone();
            }
            if let Message::CommitRequest(CommitRequest::Gathered) = &outgoing.message {
                self.asked = true;
                continue;
            }
            let message = said(&outgoing.message);
            if outgoing.sites.is_empty() {
                lines.push(format!("{}: {message}", server(outgoing.to)));
            }
            let remote = outgoing.sites.iter().map(|site| format!("to {} in {}: {message}", site.0, outgoing.epoch.0));
            lines.extend(remote);
        }
        lines.extend(outbox.syncs.iter().map(|token| format!("sync {token}")));
        self.log.extend(outbox.records);
        lines
    }
}

fn driver(first: &str, words: &mut Words) -> CommitRequest {
    match first {
        "commit" | "commit-everywhere" => {
            let logged_everywhere = first == "commit-everywhere";
            let transaction = transaction(word(words));
            let age = Age { clock: keyed(words, "age"), first: transaction };
            CommitRequest::Commit { transaction, age, history: history(words), logged_everywhere }
        }
        "withdraw" => {
            let conflict = Conflict::of(ConflictKind::PreparedElsewhere);
            CommitRequest::Withdraw { transaction: transaction(word(words)), conflict }
        }
        "begin" => CommitRequest::Begin { tag: 1 },
        _ => CommitRequest::BeginSnapshot { tag: number(words) },
    }
}

fn lock_reply(id: &str, conflict: Option<Conflict>) -> Message {
    Message::ConcurrencyReply(ConcurrencyReply::CommitLockReply { transaction: transaction(id), conflict })
}

fn check_reply(id: &str, conflict: Option<Conflict>) -> Message {
    Message::AccessReply(AccessReply::CheckReply { transaction: transaction(id), conflict })
}

fn server(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::ActionDriver => "driver",
        ServerKind::ConcurrencyController => "locks",
        ServerKind::AccessManager => "copy",
        ServerKind::ReplicationController => "replication",
        _ => "site",
    }
}

fn names<'a>(ids: impl IntoIterator<Item = &'a TransactionId>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
}

fn written(history: &History) -> String {
    let keys = history.changed().map(|(_, key)| String::from_utf8_lossy(key.as_bytes()).into_owned());
    keys.collect::<Vec<_>>().join(" ")
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Commit(timestamp) => format!("commit at {}:{}", timestamp.epoch.0, timestamp.clock),
        Outcome::Abort => "abort".to_owned(),
    }
}

fn state(state: &TransactionState) -> String {
    match state {
        TransactionState::Prepared => "prepared".to_owned(),
        TransactionState::Refused => "refused".to_owned(),
        TransactionState::Decided(result, by) => format!("{} by {}", outcome(result), by.0),
    }
}

fn reported(report: &TransactionsReport) -> String {
    let each =
        report.transactions.iter().map(|(id, known)| format!("{id} in {} {}", known.epoch.0, state(&known.state)));
    format!("clock {} [{}]", report.clock, each.collect::<Vec<_>>().join(", "))
}

fn logged(record: &LogRecord) -> String {
    match record {
        LogRecord::Prepared { transaction, epoch, order, finished_below, clock, history, .. } => format!(
            "prepared {transaction} in {} order {order} below {finished_below} clock {clock} write {}",
            epoch.0,
            written(history)
        ),
        LogRecord::Refused { transaction, order, .. } => format!("refused {transaction} order {order}"),
        LogRecord::Decided { transaction, outcome: result, by } => {
            format!("{transaction} {} by {}", outcome(result), by.0)
        }
        LogRecord::Transactions { report } => format!("transactions {}", reported(report)),
        other => format!("{other:?}"),
    }
}

fn said(message: &Message) -> String {
    match message {
        Message::Commit(message) => commit_message(message),
        Message::CommitReply(CommitReply::Committed { transaction, timestamp, receipt }) => {
            format!("committed {transaction} at {}:{} {receipt:?}", timestamp.epoch.0, timestamp.clock)
        }
        Message::CommitReply(CommitReply::Aborted { transaction, conflict }) => {
            format!("aborted {transaction}: {:?}", conflict.kind)
        }
        Message::CommitReply(CommitReply::SnapshotBegun { tag, snapshot }) => {
            format!("snapshot {tag} at {}:{}", snapshot.epoch.0, snapshot.clock)
        }
        Message::CommitReply(CommitReply::Clock { clock }) => format!("clock {}:{}", clock.epoch.0, clock.clock),
        Message::CommitReply(CommitReply::Begun { transaction, age, .. }) => {
            format!("begun {transaction} age {}", age.clock)
        }
        Message::Concurrency(ConcurrencyRequest::CommitLock { transaction, history, gathered, .. }) => {
            let gathered = if gathered.is_empty() { String::new() } else { format!(" for {}", names(gathered)) };
            format!("commit-lock {transaction} write {}{gathered}", written(history))
        }
        Message::Concurrency(ConcurrencyRequest::Voted { transaction, proposal }) => {
            format!("voted {transaction} {}:{}", proposal.epoch.0, proposal.clock)
        }
        Message::Concurrency(ConcurrencyRequest::Finish { transaction, committed: true }) => {
            format!("finish {transaction}, which has committed")
        }
        Message::Concurrency(ConcurrencyRequest::Finish { transaction, committed: false }) => {
            format!("finish {transaction}")
        }
        Message::Access(AccessRequest::Check { transaction, .. }) => format!("check {transaction}"),
        Message::Access(AccessRequest::Install { timestamp, history, in_steps }) => {
            let steps = if *in_steps { " in steps" } else { "" };
            format!("install {} at {}:{}{steps}", written(history), timestamp.epoch.0, timestamp.clock)
        }
        Message::Access(AccessRequest::Abandon { transaction, .. }) => format!("abandon {transaction}"),
        Message::Access(AccessRequest::NothingUndecided) => "nothing is undecided".to_owned(),
        Message::EpochReply(reply) => epoch_reply(reply),
        other => format!("{other:?}"),
    }
}

fn commit_message(message: &CommitMessage) -> String {
    match message {
        CommitMessage::Prepare { transaction, age, order, finished_below, history, .. } => {
            let age = age.clock;
            format!("prepare {transaction} age {age} order {order} below {finished_below} write {}", written(history))
        }
        CommitMessage::Waiting { transaction } => format!("waiting {transaction}"),
        CommitMessage::Vote { transaction, vote: Vote::Yes { clock } } => format!("yes {transaction} {clock}"),
        CommitMessage::Vote { transaction, vote: Vote::No { conflict } } => {
            format!("no {transaction}: {:?}", conflict.kind)
        }
        CommitMessage::Decide { transaction, order, outcome: result } => {
            format!("{transaction} order {order} {}", outcome(result))
        }
        CommitMessage::DecideAck { transactions } => format!("ack {}", names(transactions)),
        CommitMessage::Inquire { transactions } => format!("inquire {}", names(transactions)),
    }
}

fn epoch_reply(reply: &EpochReply) -> String {
    match reply {
        EpochReply::TransactionsReported { tag, report, .. } => format!("reported {tag}: {}", reported(report)),
        EpochReply::Resolved { epoch, committed, .. } => {
            let ids = committed.iter().map(|(timestamp, _)| &timestamp.transaction);
            format!("resolved {}, undecided somewhere: [{}]", epoch.0, names(ids))
        }
        EpochReply::Committed { timestamp, history } => {
            format!("wrote {} at {}:{}", written(history), timestamp.epoch.0, timestamp.clock)
        }
        EpochReply::LoggedThrough { epoch, clock } => format!("logged through {}:{clock}", epoch.0),
        EpochReply::SilentVoter { site } => format!("silent: {}", site.0),
    }
}

/// What a report knows of homes.
fn homes(outbox: &Outbox) -> Vec<String> {
    let reported = outbox.messages.iter().find_map(|outgoing| match &outgoing.message {
        Message::EpochReply(EpochReply::TransactionsReported { homes, .. }) => Some(homes.clone()),
        _ => None,
    });
    let Some(HomesKnown { epoch, homes }) = reported.flatten() else { return vec!["nothing".to_owned()] };
    let line = |(site, (life, mark)): (&SiteId, &(Incarnation, u64))| {
        format!("of {}.{} in {} what is below {mark} is finished", site.0, life.0, epoch.0)
    };
    homes.iter().map(line).collect()
}
