//! A few replication controllers with a network, an oracle and just enough of the servers around them.
//!
//! Everything is delivered at once and in order; time goes in steps of ten milliseconds. Lease, sync and join traffic is not written down, and nothing after
//! `quietly`.
//! Items are letters of one storage, `*` its drop, transactions home.life.sequence, times milliseconds.
//!
//! * `init SITES`, `after MS`, `start S`, `kill S`, `break S` (killed, and its connections break), `wipe S` (of its disk), `copy S` (somebody copies
//!   its disk), `put back S` (and puts the copy back)
//! * `lease S MS` (of its next lives; 600 ms otherwise), `pause S`, `resume S`, `cut A B`, `mend A B`, `deaf S` (it hears no other site), `oracle down`, `oracle up`, `oracle back` (it has forgotten its last
//!   epoch, is another process, and has not heard all), `oracle settled`, `told S by P` (of that epoch), `lose N WORD..` (the next N messages that read so, or
//!   `A > B: WORD..`), `lose nothing`
//! * `write X at C` (committed at all members), `decided T X at C on S`, `prepared T X on SITES`, `synced S E C`, `forget S X` (lost with its log's end)
//! * `refresh S X`, `adds S X` (may a transaction there, without reading it?), `silent S by T`, `late S` (its disk does not sync), `prompt S` (it does, what waits included), `serves`, `tables`, `stale`

use crate::words::{described, item, key, point};
use leases::{Keeper, LeaseSaid, MessageTaken, Servers};
use messages::access::{AccessReply, AccessRequest, StaleSet};
use messages::commit::{EpochReply, EpochRequest, Outcome, TransactionReport, TransactionState, TransactionsReport};
use messages::epoch::{Member, MemberState, Placement, ProposalId};
use messages::item::Write;
use messages::last_words::{HomesKnown, OutcomeTable};
use messages::lease::LeaseOrder;
use messages::limits::MILLISECOND;
use messages::log_record::LogRecord;
use messages::oracle::{OracleReply, OracleRequest};
use messages::planted::Planted;
use messages::replication::{ReplicationMessage, ServiceReply, ServiceRequest, SiteNotice};
use messages::server::ORACLE_SITE;
use messages::{
    Age, Envelope, Epoch, EpochNumber, History, Incarnation, Item, KeyRange, LeaseLength, Message, Now, OracleLife,
    Outbox, Server, ServerKind, SiteId, TableId, Timestamp, TransactionId,
};
use replication_controller::ReplicationController;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

pub const TABLE: TableId = TableId(20);
/// How long leases last where a script says nothing else, in milliseconds.
/// The tag of questions what may be added to.
const ADDS: u64 = 2;
const LEASE_MS: u64 = 600;

/// A site: the controller, and what its disk, its copy and its atomicity controller hold.
pub struct Node {
    controller: ReplicationController,
    keeper: Servers,
    life: Incarnation,
    lease: LeaseLength,
    running: bool,
    paused: bool,
    slow_disk: bool,
    log: Vec<LogRecord>,
    pub stale: StaleSet,
    pub rows: BTreeMap<Item, Timestamp>,
    transactions: BTreeMap<TransactionId, TransactionReport>,
    /// The epoch that was active last in this life.
    homes: Option<HomesKnown>,
    unsynced: Vec<u64>,
    inbox: VecDeque<Envelope>,
    /// A copy of its disk: log, what is stale, rows.
    copy: (Vec<LogRecord>, StaleSet, BTreeMap<Item, Timestamp>),
}

pub struct World {
    nodes: BTreeMap<SiteId, Node>,
    sites: Vec<SiteId>,
    oracle: Arc<Epoch>,
    oracle_down: bool,
    oracle_life: OracleLife,
    settled: bool,
    /// What the oracle held before, and what it has forgotten.
    before: Vec<Arc<Epoch>>,
    forgotten: Option<Arc<Epoch>>,
    cuts: BTreeSet<(SiteId, SiteId)>,
    losses: Vec<(u64, String)>,
    now: u64,
    network: VecDeque<Envelope>,
    lines: Vec<String>,
}

fn site(text: &str) -> SiteId {
    SiteId(text.parse().expect("a site"))
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn transaction(text: &str) -> TransactionId {
    let parts: Vec<u64> = text.split('.').map(number).collect();
    TransactionId { home: SiteId(parts[0] as u16), incarnation: Incarnation(parts[1] as u32), sequence: parts[2] }
}

fn writing(name: &str) -> Arc<History> {
    if name == "*" {
        return Arc::new(History { drops: vec![TABLE], ..History::default() });
    }
    let writes = vec![Write { table: TABLE, key: key(name), row: None }];
    Arc::new(History { writes, ..History::default() })
}

fn epoch_zero(sites: &[SiteId]) -> Arc<Epoch> {
    let member = Member::beginning(Incarnation(0), MemberState::Up);
    Arc::new(Epoch {
        number: EpochNumber(0),
        proposal: ProposalId::default(),
        parent: ProposalId::default(),
        members: sites.iter().map(|site| (*site, member)).collect(),
        sessions: sites.iter().map(|site| (*site, 0)).collect(),
        required_copies: 1,
        placement: Placement::Everywhere,
        oracle: OracleLife(1),
        restart: false,
    })
}

impl World {
    pub fn new() -> World {
        World {
            nodes: BTreeMap::new(),
            sites: Vec::new(),
            oracle: epoch_zero(&[]),
            oracle_down: false,
            oracle_life: OracleLife(1),
            settled: true,
            before: Vec::new(),
            forgotten: None,
            cuts: BTreeSet::new(),
            losses: Vec::new(),
            now: 1_000 * MILLISECOND,
            network: VecDeque::new(),
            lines: Vec::new(),
        }
    }

    /// Lets something happen, and returns what is said.
    pub fn tell(&mut self, command: &str) -> Vec<String> {
        let mut words: Vec<&str> = command.split_whitespace().collect();
        let quietly = words[0] == "quietly";
        if quietly {
            words.remove(0);
        }
        match words[..] {
            ["init", ref sites @ ..] => self.init(sites),
            ["after", time] => self.after(number(time)),
            ["start", who] => self.start(site(who)),
            ["kill", who] => self.node(who).running = false,
            ["break", who] => self.break_off(site(who)),
            ["wipe", who] => {
                let node = self.node(who);
                (node.log, node.stale, node.rows) = (Vec::new(), StaleSet::default(), BTreeMap::new());
            }
            ["copy", who] => {
                let node = self.node(who);
                node.copy = (node.log.clone(), node.stale.clone(), node.rows.clone());
            }
            ["put", "back", who] => {
                let node = self.node(who);
                (node.log, node.stale, node.rows) = node.copy.clone();
            }
            ["lease", who, length] => {
                self.node(who).lease = LeaseLength::from_milliseconds(number(length)).expect("it is in range");
            }
            ["pause", who] => self.node(who).paused = true,
            ["resume", who] => self.resume(site(who)),
            ["disk", who, state] => {
                let stalled = state == "stalls";
                self.node(who).keeper.stalled(stalled);
                self.inside(site(who), Message::Site(SiteNotice::DiskStalled { stalled }));
            }
            ["alone", who] => self.inside(site(who), Message::Site(SiteNotice::RestartAlone)),
            ["late", who] => self.node(who).slow_disk = true,
            ["prompt", who] => {
                self.node(who).slow_disk = false;
                for token in std::mem::take(&mut self.node(who).unsynced) {
                    self.inside(site(who), Message::Synced(token));
                }
            }
            ["cut", a, b] => self.cuts.extend([(site(a), site(b)), (site(b), site(a))]),
            ["deaf", who] => {
                let others = self.sites.iter().filter(|other| **other != site(who));
                self.cuts.extend(others.map(|other| (*other, site(who))));
            }
            ["mend", a, b] => self.cuts.retain(|cut| *cut != (site(a), site(b)) && *cut != (site(b), site(a))),
            ["oracle", "back"] => {
                let before = self.before.pop().expect("it has held another epoch");
                self.forgotten = Some(std::mem::replace(&mut self.oracle, before));
                (self.oracle_life.0, self.settled) = (self.oracle_life.0 + 1, false);
            }
            ["oracle", "settled"] => self.settled = true,
            ["told", who, "by", peer] => {
                let epoch = self.forgotten.clone().expect("the oracle was set back");
                let message = Message::Replication(ReplicationMessage::EpochIs { epoch });
                let kind = ServerKind::ReplicationController;
                let (from_site, to_site, incarnation) = (site(peer), site(who), self.node(peer).life);
                let epoch = EpochNumber(0);
                self.network.push_back(Envelope {
                    from_site,
                    from: kind,
                    to_site,
                    to: kind,
                    epoch,
                    incarnation,
                    message,
                });
            }
            ["oracle", state] => self.oracle_down = state == "down",
            ["lose", "nothing"] => self.losses.clear(),
            ["lose", times, ref words @ ..] => self.losses.push((number(times), words.join(" "))),
            ["write", name, "at", clock] => self.write(name, number(clock)),
            ["prepared", id, name, "on", ref sites @ ..] => self.prepared(transaction(id), name, sites),
            ["decided", id, name, "at", clock, "on", who] => {
                let (transaction, epoch) = (transaction(id), self.oracle.number);
                let timestamp = Timestamp { epoch, clock: number(clock), transaction };
                let known = self.node(who).transactions.get_mut(&transaction).expect("it is prepared there");
                known.state = TransactionState::Decided(Outcome::Commit(timestamp), epoch);
                self.commit(site(who), timestamp, writing(name));
            }
            ["forget", who, name] => self.forget(site(who), name),
            ["synced", who, epoch, clock] => {
                let (epoch, clock) = (EpochNumber(number(epoch)), number(clock));
                self.inside(site(who), Message::EpochReply(EpochReply::LoggedThrough { epoch, clock }));
            }
            ["silent", who, "by", witness] => {
                let site = site(who);
                self.inside(self::site(witness), Message::EpochReply(EpochReply::SilentVoter { site }));
            }
            ["refresh", who, name] => {
                let (range, deadline) = (Box::new(KeyRange::point(TABLE, key(name))), self.now + 1_000 * MILLISECOND);
                self.inside(site(who), Message::Service(ServiceRequest::Refresh { tag: 1, range, deadline }));
            }
            ["adds", who, name] => {
                let items = vec![item(name)];
                self.inside(site(who), Message::Service(ServiceRequest::Increments { tag: ADDS, items }));
            }
            ["serves"] => self.serves(),
            ["tables"] => self.tables(),
            ["stale"] => self.stale(),
            _ => panic!("nothing happens like {command}"),
        }
        self.deliver();
        if quietly {
            self.lines.clear();
        }
        std::mem::take(&mut self.lines)
    }

    fn node(&mut self, who: &str) -> &mut Node {
        self.nodes.get_mut(&site(who)).expect("the site is there")
    }

    fn init(&mut self, sites: &[&str]) {
        self.sites = sites.iter().map(|name| site(name)).collect();
        self.oracle = epoch_zero(&self.sites);
        (self.nodes, self.losses, self.cuts) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        let lease = LeaseLength::from_milliseconds(LEASE_MS).expect("it is in range");
        for who in self.sites.clone() {
            let node = Node {
                controller: ReplicationController::new(who, Incarnation(0), &self.sites, lease, Planted::none()),
                keeper: Servers::new(Keeper::new(who, lease, Planted::none())),
                life: Incarnation(0),
                lease,
                running: false,
                paused: false,
                slow_disk: false,
                log: Vec::new(),
                stale: StaleSet::default(),
                rows: BTreeMap::new(),
                transactions: BTreeMap::new(),
                homes: None,
                unsynced: Vec::new(),
                inbox: VecDeque::new(),
                copy: Default::default(),
            };
            self.nodes.insert(who, node);
            self.start(who);
        }
    }

    fn after(&mut self, time: u64) {
        for _ in 0..time / 10 {
            self.now += 10 * MILLISECOND;
            for who in self.sites.clone() {
                let now = self.clock();
                let node = self.nodes.get_mut(&who).expect("listed");
                if node.running && !node.paused {
                    let mut said = LeaseSaid::new();
                    node.keeper.turned(now.boot);
                    node.keeper.tick(now.boot, &mut said);
                    self.send_leases(who, said);
                    self.tell_leases(who);
                    let node = self.nodes.get_mut(&who).expect("listed");
                    let mut outbox = Outbox::default();
                    node.controller.tick(now, &mut outbox);
                    self.take(who, outbox);
                }
            }
            self.deliver();
        }
    }

    fn clock(&self) -> Now {
        Now { boot: self.now, wall_micros: self.now / 1_000 }
    }

    fn start(&mut self, who: SiteId) {
        let sites = self.sites.clone();
        let node = self.nodes.get_mut(&who).expect("listed");
        node.life.0 += 1;
        node.controller = ReplicationController::new(who, node.life, &sites, node.lease, Planted::none());
        node.keeper = Servers::new(Keeper::new(who, node.lease, Planted::none()));
        (node.running, node.paused, node.slow_disk) = (true, false, false);
        node.unsynced.clear();
        node.inbox.clear();
        node.homes = None;
        let mut outbox = Outbox::default();
        // A replay has no clock; what it installs again is told again.
        let now = Now { boot: 0, wall_micros: 0 };
        let (kind, epoch) = (ServerKind::ReplicationController, EpochNumber(0));
        let mut histories = BTreeMap::new();
        for record in &node.log {
            node.controller.replay(record, &mut outbox);
            if let LogRecord::Prepared { transaction, history, .. } = record {
                histories.insert(*transaction, history.clone());
            }
            if let LogRecord::Decided { outcome: Outcome::Commit(timestamp), .. } = record {
                let history = histories[&timestamp.transaction].clone();
                let message = Message::EpochReply(EpochReply::Committed { timestamp: *timestamp, history });
                let incarnation = node.life;
                let envelope =
                    Envelope { from_site: who, from: kind, to_site: who, to: kind, epoch, incarnation, message };
                node.controller.handle(now, envelope, &mut outbox);
            }
        }
    }

    fn break_off(&mut self, who: SiteId) {
        self.nodes.get_mut(&who).expect("listed").running = false;
        for other in self.sites.clone() {
            if other != who {
                self.inside(other, Message::Site(SiteNotice::PeerLost { site: who }));
            }
        }
    }

    fn resume(&mut self, who: SiteId) {
        let node = self.nodes.get_mut(&who).expect("listed");
        node.paused = false;
        let missed = std::mem::take(&mut node.inbox);
        self.network.extend(missed);
    }

    fn members(&self) -> Vec<SiteId> {
        let is_member = |who: &SiteId| self.oracle.has(*who, self.nodes[who].life);
        self.sites.iter().copied().filter(is_member).collect()
    }

    /// A transaction has committed at all members.
    fn write(&mut self, name: &str, clock: u64) {
        let id = TransactionId { home: SiteId(9), incarnation: Incarnation(1), sequence: clock };
        let timestamp = Timestamp { epoch: self.oracle.number, clock, transaction: id };
        for who in self.members() {
            self.log_prepared(who, id, writing(name));
            self.commit(who, timestamp, writing(name));
        }
    }

    fn log_prepared(&mut self, who: SiteId, transaction: TransactionId, history: Arc<History>) {
        let epoch = self.oracle.number;
        let node = self.nodes.get_mut(&who).expect("listed");
        node.log.push(LogRecord::Prepared {
            transaction,
            age: Age { clock: 0, first: transaction },
            epoch,
            order: 1,
            finished_below: 0,
            clock: 1,
            participants: Vec::new(),
            history,
        });
    }

    fn commit(&mut self, who: SiteId, timestamp: Timestamp, history: Arc<History>) {
        let node = self.nodes.get_mut(&who).expect("listed");
        let transaction = timestamp.transaction;
        node.log.push(LogRecord::Decided { transaction, outcome: Outcome::Commit(timestamp), by: timestamp.epoch });
        let mut refreshed = Vec::new();
        if !history.drops.is_empty() {
            node.rows.clear();
        }
        for write in &history.writes {
            let item = Item { table: write.table, key: write.key.clone() };
            node.rows.insert(item.clone(), timestamp);
            if node.stale.items.tree_mut().remove(&item) {
                refreshed.push(item);
            }
        }
        self.inside(who, Message::EpochReply(EpochReply::Committed { timestamp, history }));
        if !refreshed.is_empty() {
            let reply = AccessReply::Refreshed { items: refreshed, storages: Vec::new() };
            self.inside(who, Message::AccessReply(reply));
        }
    }

    fn prepared(&mut self, id: TransactionId, name: &str, sites: &[&str]) {
        for who in sites.iter().map(|name| site(name)) {
            self.log_prepared(who, id, writing(name));
            let state = TransactionState::Prepared;
            let (epoch, changes) = (self.oracle.number, StaleSet::without(&writing(name)));
            let report = TransactionReport { epoch, order: 1, participants: Vec::new(), changes, state };
            self.nodes.get_mut(&who).expect("listed").transactions.insert(id, report);
        }
    }

    /// The end of the log is gone, from the last transaction that wrote this item on.
    fn forget(&mut self, who: SiteId, name: &str) {
        let node = self.nodes.get_mut(&who).expect("listed");
        let wrote =
            |record: &LogRecord| matches!(record, LogRecord::Prepared { history, .. } if **history == *writing(name));
        let cut = node.log.iter().rposition(wrote).expect("it was written");
        for lost in node.log.drain(cut..) {
            if let LogRecord::Prepared { transaction, .. } = lost {
                node.transactions.remove(&transaction);
            }
        }
        node.rows.remove(&item(name));
    }

    fn inside(&mut self, who: SiteId, message: Message) {
        let kind = ServerKind::ReplicationController;
        let (epoch, incarnation) = (EpochNumber(0), self.nodes[&who].life);
        let envelope = Envelope { from_site: who, from: kind, to_site: who, to: kind, epoch, incarnation, message };
        self.network.push_back(envelope);
    }

    fn take(&mut self, who: SiteId, outbox: Outbox) {
        let node = self.nodes.get_mut(&who).expect("listed");
        let incarnation = node.life;
        node.log.extend(outbox.records);
        match node.slow_disk {
            true => node.unsynced.extend(outbox.syncs),
            false => outbox.syncs.iter().for_each(|token| self.inside(who, Message::Synced(*token))),
        }
        let from = ServerKind::ReplicationController;
        for outgoing in outbox.messages {
            let (to, epoch) = (outgoing.to, outgoing.epoch);
            let own = outgoing.sites.is_empty().then_some(who);
            for to_site in outgoing.sites.into_iter().chain(own) {
                let message = outgoing.message.clone();
                self.network.push_back(Envelope { from_site: who, from, to_site, to, epoch, incarnation, message });
            }
        }
    }

    fn deliver(&mut self) {
        let mut delivered = 0;
        while let Some(envelope) = self.network.pop_front() {
            delivered += 1;
            assert!(delivered < 10_000, "the sites answer each other for ever");
            if !self.arrives(&envelope) {
                continue;
            }
            match envelope.to {
                ServerKind::Oracle => self.oracle_asked(envelope),
                ServerKind::AtomicityController => self.atomicity_asked(envelope),
                ServerKind::AccessManager => self.access_asked(envelope),
                ServerKind::ActionDriver => self.driver_told(envelope),
                ServerKind::Site => self.site_told(envelope),
                _ => {
                    let now = self.clock();
                    let who = envelope.to_site;
                    let mut outbox = Outbox::default();
                    let node = self.nodes.get_mut(&who).expect("listed");
                    if envelope.from_site != who && Keeper::is_for_keepers(&envelope.message) {
                        let mut said = LeaseSaid::new();
                        let taken = node.keeper.handle(now.boot, &envelope, &mut said);
                        self.send_leases(who, said);
                        if taken == MessageTaken::Yes {
                            continue;
                        }
                    }
                    if matches!(envelope.message, Message::Service(_)) {
                        self.tell_leases(who);
                    }
                    let node = self.nodes.get_mut(&who).expect("listed");
                    node.controller.handle(now, envelope, &mut outbox);
                    self.take(who, outbox);
                }
            }
        }
    }

    /// Writes the message down, and says whether it comes through.
    fn arrives(&mut self, envelope: &Envelope) -> bool {
        let (from, to) = (envelope.from_site, envelope.to_site);
        let text = described(&envelope.message);
        if from != to {
            let whole = format!("{} > {}: {text}", from.0, to.0);
            let named = |words: &String| text.starts_with(words) || whole.starts_with(words);
            if let Some(loss) = self.losses.iter().position(|(_, words)| named(words)) {
                self.lines.push(format!("{whole} (lost)"));
                self.losses[loss].0 -= 1;
                if self.losses[loss].0 == 0 {
                    self.losses.remove(loss);
                }
                return false;
            }
            let oracle = from == ORACLE_SITE || to == ORACLE_SITE;
            if self.cuts.contains(&(from, to)) || (oracle && self.oracle_down) {
                return false;
            }
        }
        if let Some(node) = self.nodes.get_mut(&to) {
            if !node.running || (from == to && envelope.incarnation != node.life) {
                return false;
            }
            if node.paused {
                node.inbox.push_back(envelope.clone());
                return false;
            }
        }
        if from != to && !text.is_empty() && !self.is_old_news(envelope) {
            self.lines.push(format!("{} > {}: {text}", from.0, to.0));
        }
        true
    }

    /// Whether it names an epoch that the receiver knows.
    fn is_old_news(&self, envelope: &Envelope) -> bool {
        let Message::Replication(ReplicationMessage::EpochIs { epoch }) = &envelope.message else { return false };
        let known = self.nodes[&envelope.to_site].controller.status().epoch;
        known.is_some_and(|known| known.number >= epoch.number)
    }

    fn oracle_asked(&mut self, envelope: Envelope) {
        let Message::Oracle(request) = envelope.message else { return };
        let reply = match request {
            OracleRequest::Confirm { tag, .. } | OracleRequest::ReadEpoch { tag } => OracleReply::EpochRead {
                tag,
                epoch: self.oracle.clone(),
                unconfirmed: if self.settled { Vec::new() } else { self.sites.clone() },
                oracle: self.oracle_life,
            },
            OracleRequest::SwapEpoch { tag, expected, epoch } => {
                let to_this = epoch.oracle == self.oracle_life && self.settled;
                if to_this && self.oracle.id() == expected {
                    self.before.push(std::mem::replace(&mut self.oracle, epoch.clone()));
                }
                let won = self.oracle.proposal == epoch.proposal && self.oracle.number == epoch.number;
                OracleReply::EpochSwapped { tag, won, epoch: self.oracle.clone(), unconfirmed: Vec::new() }
            }
            _ => return,
        };
        self.network.push_back(Envelope {
            from_site: ORACLE_SITE,
            from: ServerKind::Oracle,
            to_site: envelope.from_site,
            to: envelope.from,
            epoch: EpochNumber(0),
            incarnation: Incarnation(0),
            message: Message::OracleReply(reply),
        });
    }

    fn atomicity_asked(&mut self, envelope: Envelope) {
        let who = envelope.to_site;
        let Message::EpochRequest(request) = envelope.message else { return };
        match request {
            EpochRequest::Seal { .. } => {}
            EpochRequest::Report { tag } => {
                let transactions = self.nodes[&who].transactions.clone();
                let homes = self.nodes[&who].homes.clone();
                let report = Arc::new(TransactionsReport { transactions, ..TransactionsReport::default() });
                self.inside(who, Message::EpochReply(EpochReply::TransactionsReported { tag, report, homes }));
            }
            EpochRequest::Resolve { epoch, reports, fresh } => self.resolve(who, epoch.number, &reports, fresh),
            EpochRequest::Activate { epoch } => {
                let node = self.nodes.get_mut(&who).expect("listed");
                node.transactions.clear();
                let homes = epoch.members.iter().map(|(site, member)| (*site, (member.incarnation, 0))).collect();
                node.homes = Some(HomesKnown { epoch: epoch.number, homes });
            }
        }
    }

    /// Rule 8, as the atomicity controller keeps it.
    fn resolve(
        &mut self,
        who: SiteId,
        number: EpochNumber,
        reports: &BTreeMap<SiteId, Arc<TransactionsReport>>,
        fresh: bool,
    ) {
        let (mut committed, mut commits) = (Vec::new(), Vec::new());
        let mut open: BTreeMap<TransactionId, TransactionReport> = BTreeMap::new();
        for report in reports.values() {
            let known = report.transactions.iter().filter(|(_, known)| report.joined <= known.epoch);
            open.extend(known.map(|(id, known)| (*id, known.clone())));
        }
        for (id, known) in open {
            let counting = || reports.values().filter(|report| report.joined <= known.epoch);
            let states = || counting().map(|report| report.transactions.get(&id).map(|known| known.state));
            let decided = states().find_map(|state| match state {
                Some(TransactionState::Decided(outcome, _)) => Some(outcome),
                _ => None,
            });
            let all = states().all(|state| state == Some(TransactionState::Prepared));
            let commit = Outcome::Commit(Timestamp { epoch: number, clock: 0, transaction: id });
            let outcome = decided.unwrap_or(if all { commit } else { Outcome::Abort });
            let open = states().any(|state| state == Some(TransactionState::Prepared));
            if let Outcome::Commit(timestamp) = outcome {
                commits.push(id);
                committed.extend(open.then(|| (timestamp, known.changes.clone())));
            }
            let node = self.nodes.get_mut(&who).expect("listed");
            let here = node.transactions.get_mut(&id).filter(|_| !fresh);
            if let Some(here) = here {
                here.state = TransactionState::Decided(outcome, number);
                if let Outcome::Commit(timestamp) = outcome {
                    self.commit(who, timestamp, writing(&point(&known.changes)));
                }
            }
        }
        if fresh {
            self.nodes.get_mut(&who).expect("listed").transactions.clear();
        }
        self.inside(who, Message::EpochReply(EpochReply::Resolved { epoch: number, committed, commits }));
    }

    fn access_asked(&mut self, envelope: Envelope) {
        let who = envelope.to_site;
        let node = self.nodes.get_mut(&who).expect("listed");
        let Message::Access(request) = envelope.message else { return };
        let reply = match request {
            AccessRequest::MarkStale { stale } => return node.mark(&stale),
            AccessRequest::NextStale { tag, wanted, .. } => {
                let wanted = node.next_stale(wanted.as_deref());
                AccessReply::StaleBatch { tag, wanted, left: node.stale_left() }
            }
            AccessRequest::ReadCopies { tag, wanted, .. } => {
                AccessReply::Copies { tag, copies: Arc::new(node.read_copies(&wanted)) }
            }
            AccessRequest::InstallCopies { tag, copies } => {
                let refreshed = node.install(&copies);
                self.inside(who, Message::AccessReply(refreshed));
                AccessReply::CopiesInstalled { tag, bytes: 1 }
            }
            _ => return,
        };
        self.inside(who, Message::AccessReply(reply));
    }

    fn driver_told(&mut self, envelope: Envelope) {
        let who = envelope.to_site.0;
        let line = match envelope.message {
            Message::ServiceReply(ServiceReply::Lacking { lacking: Ok(lacking), .. }) => {
                format!("{who} adds to {}", if lacking.is_empty() { "it" } else { "what it reads first" })
            }
            Message::ServiceReply(ServiceReply::Lacking { lacking: Err(reason), .. }) => {
                format!("{who} does not serve: {reason}")
            }
            Message::ServiceReply(ServiceReply::ServiceReply { verdict: Ok(service), .. }) => {
                format!("{who} serves in {}", service.epoch.0)
            }
            Message::ServiceReply(ServiceReply::ServiceReply { verdict: Err(reason), .. }) => {
                format!("{who} does not serve: {reason}")
            }
            Message::ServiceReply(ServiceReply::RefreshReply { failure: None, .. }) => {
                format!("{who} has refreshed it")
            }
            Message::ServiceReply(ServiceReply::RefreshReply { failure: Some(reason), .. }) => {
                format!("{who}: {reason}")
            }
            Message::ServiceReply(ServiceReply::Outcomes { tables }) => {
                for table in tables {
                    let OutcomeTable { life, epoch, finished_below, commits, .. } = table;
                    self.lines.push(format!(
                        "{who} hears of its life {}: {commits:?} have committed of what it sent in {} or later, from order {finished_below} on",
                        life.0, epoch.0
                    ));
                }
                return;
            }
            _ => return,
        };
        self.lines.push(line);
    }

    fn send_leases(&mut self, who: SiteId, said: LeaseSaid) {
        let node = &self.nodes[&who];
        let (kind, incarnation, epoch) = (ServerKind::ReplicationController, node.life, node.keeper.epoch());
        for (to_site, message) in said {
            let message = Message::Replication(message);
            let envelope = Envelope { from_site: who, from: kind, to_site, to: kind, epoch, incarnation, message };
            self.network.push_back(envelope);
        }
    }

    /// Tells the controller what its keeper knows.
    fn tell_leases(&mut self, who: SiteId) {
        let node = self.nodes.get_mut(&who).expect("listed");
        if let Some(news) = node.keeper.news() {
            let (kind, incarnation, message) = (ServerKind::Site, node.life, Message::LeaseNews(Box::new(news)));
            let (to, epoch) = (ServerKind::ReplicationController, EpochNumber(0));
            let envelope = Envelope { from_site: who, from: kind, to_site: who, to, epoch, incarnation, message };
            let mut outbox = Outbox::default();
            let now = self.clock();
            let node = self.nodes.get_mut(&who).expect("listed");
            node.controller.handle(now, envelope, &mut outbox);
            self.take(who, outbox);
        }
    }

    fn lease_order(&mut self, who: SiteId, order: LeaseOrder) {
        let now = self.clock().boot;
        let keeper = &mut self.nodes.get_mut(&who).expect("listed").keeper;
        let mut said = LeaseSaid::new();
        match order {
            LeaseOrder::Open { epoch } => {
                keeper.open(&epoch, now);
                keeper.tick(now, &mut said);
            }
            LeaseOrder::Close => keeper.close(),
            LeaseOrder::Refuse { site } => keeper.refuse(site),
        }
        self.send_leases(who, said);
        self.tell_leases(who);
    }

    fn site_told(&mut self, envelope: Envelope) {
        let who = envelope.to_site;
        match envelope.message {
            Message::Lease(order) => self.lease_order(who, order),
            Message::Site(SiteNotice::Serving { epoch }) => {
                self.lines.push(format!("{} is in {}", who.0, epoch.number))
            }
            Message::Site(SiteNotice::StartAgain { reason, .. }) => {
                self.lines.push(format!("{} starts again: {reason}", who.0));
                self.start(who);
            }
            Message::Site(SiteNotice::Halt { reason }) => self.lines.push(format!("{} halts: {reason}", who.0)),
            _ => {}
        }
    }

    fn running(&self) -> Vec<SiteId> {
        self.nodes.iter().filter(|(_, node)| node.running && !node.paused).map(|(who, _)| *who).collect()
    }

    fn serves(&mut self) {
        let epoch = self.oracle.number;
        for who in self.running() {
            self.inside(who, Message::Service(ServiceRequest::CheckAfter { tag: 1, epoch }));
        }
    }

    fn tables(&mut self) {
        for who in self.running() {
            let counts = self.nodes[&who].controller.status().fail_locks;
            let each: Vec<String> = counts.iter().map(|(site, count)| format!("{}: {count}", site.0)).collect();
            self.lines.push(format!("{} keeps {}", who.0, each.join(", ")));
        }
    }

    fn stale(&mut self) {
        for who in self.running() {
            let stale = point(&self.nodes[&who].stale);
            self.lines.push(format!("{} {}: {stale}", who.0, self.nodes[&who].controller.status().state));
        }
    }
}
