//! Distributed commit in one round, and resolution after a failure.
//!
//! The home site multicasts one prepare that carries the whole history; every participant commit-locks and checks it, logs it and
//! votes with a proposed clock; all yes is the commit point, and the largest proposal the commit timestamp. What an epoch leaves
//! undecided is resolved by its successor. Rules 2 to 5 and 8 of the design; the papers' atomicity controller (Raid 1989, III.A).
//!
//! It must not know rows, sockets, disks or what an epoch change consists of: it is told to seal, to report, to resolve and to
//! activate. In reading order:
//!
//! * [`clock`]: the site's hybrid clock;
//! * [`group_commit`]: transactions of this site that commit together;
//! * [`home`]: transactions that this site coordinates;
//! * [`participant`]: this site's votes, its own transactions included;
//! * [`notifications`]: when who listens at this site hears of a commit;
//! * [`finishing`]: how a transaction lets go of what it holds;
//! * [`snapshot`]: where read-only transactions begin;
//! * [`resolution`]: outcomes after an epoch change;
//! * [`last_words`]: what this life leaves open when it ends.

pub mod clock;
pub mod finishing;
pub mod group_commit;
pub mod home;
pub mod last_words;
pub mod limits;
pub mod notifications;
pub mod participant;
pub mod resolution;
pub mod snapshot;

use clock::HybridClock;
use group_commit::{GroupCommit, ReadyTransaction};
use home::HomeTransaction;
use messages::access::AccessRequest;
use messages::commit::{CommitMessage, CommitReply, CommitRequest, EpochReply, EpochRequest};
use messages::concurrency::ConcurrencyReply;
use messages::log_record::LogRecord;
use messages::planted;
use messages::planted::Planted;
use messages::{
    Age, Conflict, ConflictKind, Envelope, Epoch, EpochNumber, History, Incarnation, Message, Now, Outbox, Server,
    ServerKind, SiteId, Timestamp, TransactionId,
};
use notifications::HeldNotifications;
use participant::Participants;
use serde::{Deserialize, Serialize};
use snapshot::WaitingReaders;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What commits and aborts have come to, for status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitCounters {
    /// Transactions of this home that committed.
    pub committed: u64,
    /// Of them, those that committed in a round of others, the first of each not counted.
    pub committed_together: u64,
    /// Of them, those answered from memory: no disk sync between request and answer.
    pub committed_in_memory: u64,
    /// Transactions of this home that aborted after their prepare.
    pub aborted: u64,
    /// Prepares sent for the first time, one for each transaction and remote participant.
    pub prepares: u64,
    /// Prepares sent again.
    pub prepares_resent: u64,
    /// Rounds of messages between sites before an answer, added up over committed transactions.
    pub rounds: u64,
    /// Disk syncs waited for before an answer.
    pub syncs_before_answer: u64,
    /// Transactions resolved by an epoch change.
    pub resolved: u64,
}

/// Whether the controller may vote and decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum VotingState {
    /// In no epoch, or sealed.
    Stopped,
    /// In an active epoch.
    Active,
}

/// What to do when the log is synced up to a token.
#[derive(Serialize, Deserialize)]
enum CommitContinuation {
    /// Vote yes for what was prepared.
    Vote(TransactionId),
    /// Acknowledge an abort to its home site, which may be this one.
    Acknowledge(SiteId, TransactionId),
    /// Answer a resolved commit, of one or several, that waited for the disk.
    Answer(Vec<TransactionId>, Timestamp),
}

/// The atomicity controller of one site.
#[derive(Serialize, Deserialize)]
pub struct AtomicityController {
    site: SiteId,
    incarnation: Incarnation,
    planted: Planted,
    standing: VotingState,
    epoch: Option<Arc<Epoch>>,
    clock: HybridClock,
    next_sequence: u64,
    next_order: u64,
    group_commit: GroupCommit,
    home: BTreeMap<TransactionId, HomeTransaction>,
    /// Orders of this home that are not finished: the mark is the lowest.
    unfinished: BTreeMap<u64, TransactionId>,
    participants: Participants,
    snapshots: WaitingReaders,
    notifications: HeldNotifications,
    /// Requests that came while stopped.
    waiting: Vec<CommitRequest>,
    after_sync: BTreeMap<u64, CommitContinuation>,
    next_sync: u64,
    /// The clock up to which `SyncedThrough` was reported or asked for; and when (boot clock).
    synced_asked: (u64, u64),
    /// Since the last request for a sync something was logged.
    unsynced: bool,
    /// Rows that one commit changes and that are installed at once.
    installed_at_once: usize,
    counters: CommitCounters,
}

impl AtomicityController {
    /// A controller of this life of a site, in no epoch yet. `round_pace`: so many nanoseconds apart it begins rounds while one is on its way;
    /// [`limits::ROUND_PACE`] outside the simulator.
    pub fn new(site: SiteId, incarnation: Incarnation, round_pace: u64, planted: Planted) -> AtomicityController {
        AtomicityController {
            site,
            incarnation,
            planted,
            standing: VotingState::Stopped,
            epoch: None,
            clock: HybridClock::default(),
            next_sequence: 1,
            next_order: 1,
            group_commit: GroupCommit::new(round_pace),
            home: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            participants: Participants::default(),
            snapshots: WaitingReaders::default(),
            notifications: HeldNotifications::default(),
            waiting: Vec::new(),
            after_sync: BTreeMap::new(),
            next_sync: 1,
            synced_asked: (0, 0),
            unsynced: false,
            installed_at_once: usize::MAX,
            counters: CommitCounters::default(),
        }
    }

    /// What changes more rows than this is installed in steps, between which other transactions go on.
    #[must_use]
    pub fn installing_at_once(self, rows: usize) -> AtomicityController {
        AtomicityController { installed_at_once: rows, ..self }
    }

    /// What commits and aborts have come to.
    pub fn counters(&self) -> CommitCounters {
        self.counters
    }

    /// The last value that the hybrid clock has given out or seen.
    pub fn clock(&self) -> u64 {
        self.clock.now()
    }

    /// Transactions voted for here and undecided.
    pub fn undecided(&self) -> usize {
        self.participants.undecided().len()
    }

    fn active_epoch(&self) -> Option<&Arc<Epoch>> {
        match self.standing {
            VotingState::Active => self.epoch.as_ref(),
            VotingState::Stopped => None,
        }
    }

    fn sync_then(&mut self, then: CommitContinuation, outbox: &mut Outbox) {
        let token = self.next_sync;
        self.next_sync += 1;
        self.after_sync.insert(token, then);
        outbox.sync(token);
    }

    fn request(&mut self, now: Now, request: CommitRequest, outbox: &mut Outbox) {
        match request {
            CommitRequest::Begin { tag } => {
                let transaction = self.new_identifier();
                let age = Age { clock: self.clock.tick(now), first: transaction };
                let reply = CommitReply::Begun { tag, transaction, age };
                outbox.local(ServerKind::ActionDriver, Message::CommitReply(reply));
            }
            CommitRequest::Gathered => self.group_commit.turn_is_over(),
            stopped if self.standing == VotingState::Stopped => self.waiting.push(stopped),
            CommitRequest::Commit { transaction, age, history, logged_everywhere } => {
                self.ready(ReadyTransaction { transaction, age, history, logged_everywhere, since: now.boot });
            }
            CommitRequest::Withdraw { transaction, conflict } => self.withdraw(transaction, conflict, outbox),
            CommitRequest::BeginSnapshot { tag } => self.begin_snapshot(now, tag, outbox),
        }
    }

    fn new_identifier(&mut self) -> TransactionId {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        TransactionId { home: self.site, incarnation: self.incarnation, sequence }
    }

    fn epoch_request(&mut self, now: Now, request: EpochRequest, outbox: &mut Outbox) {
        match request {
            EpochRequest::Seal { .. } => {
                self.stop(outbox);
                self.report(0, outbox);
            }
            EpochRequest::Report { tag } => self.report(tag, outbox),
            EpochRequest::Resolve { epoch, reports, fresh } => self.resolve(now, &epoch, &reports, fresh, outbox),
            EpochRequest::Activate { epoch } => self.activate(now, epoch, outbox),
        }
    }

    /// Rule 8, last step: every member has logged the outcomes, so nothing of earlier epochs is open anywhere.
    fn activate(&mut self, now: Now, epoch: Arc<Epoch>, outbox: &mut Outbox) {
        let unseals = planted!(self.planted, SealedUnseals);
        if unseals && self.epoch.as_ref().is_some_and(|known| known.number == epoch.number) {
            self.standing = VotingState::Active;
            return;
        }
        assert_eq!(self.standing, VotingState::Stopped, "an epoch is activated once, after a seal");
        assert!(self.participants.undecided().is_empty(), "an activated epoch leaves nothing undecided");
        outbox.local(ServerKind::AccessManager, Message::Access(AccessRequest::NothingUndecided));
        self.participants.installing().for_each(|transaction| self.finish_committed(transaction, outbox));
        self.participants.forget_all();
        self.epoch = Some(epoch);
        self.standing = VotingState::Active;
        self.synced_asked = (0, now.boot);
        self.unsynced = true;
        self.hand_on_notifications(outbox);
        self.answer_resolved(outbox);
        self.snapshots_may_begin(now, outbox);
        for request in std::mem::take(&mut self.waiting) {
            match request {
                CommitRequest::Commit { transaction, history, .. } if self.must_ask_again(&history) => {
                    self.finish_locks(transaction, outbox);
                    home::answer_abort(transaction, Conflict::of(ConflictKind::EpochChanged), outbox);
                }
                request => self.request(now, request, outbox),
            }
        }
    }

    /// Whether who has executed this before the present epoch has to ask anew what can be added to: what a member lacks cannot, and it would refuse.
    fn must_ask_again(&self, history: &History) -> bool {
        !history.increments.is_empty() && !self.epoch.as_ref().is_some_and(|epoch| epoch.is_whole())
    }

    /// Rule 11 needs to know how far this site is safe against a power loss: everything that commits at or below the reported clock has
    /// been voted for here (later votes propose more), is decided, logged and synced.
    fn report_synced(&mut self, now: Now, outbox: &mut Outbox) {
        let Some(epoch) = self.active_epoch().map(|epoch| epoch.number) else {
            return;
        };
        if !self.unsynced || now.boot < self.synced_asked.1 + limits::SYNC_INTERVAL {
            return;
        }
        let clock = match self.participants.lowest_undecided_clock() {
            Some(undecided) => undecided - 1,
            None => self.clock.tick(now),
        };
        if clock <= self.synced_asked.0 {
            return;
        }
        self.synced_asked = (clock, now.boot);
        self.unsynced = !self.participants.undecided().is_empty();
        let reply = EpochReply::LoggedThrough { epoch, clock };
        outbox.local(ServerKind::ReplicationController, Message::EpochReply(reply));
    }

    fn synced(&mut self, now: Now, token: u64, outbox: &mut Outbox) {
        match self.after_sync.remove(&token) {
            Some(CommitContinuation::Vote(transaction)) => self.vote_is_synced(now, transaction, outbox),
            Some(CommitContinuation::Acknowledge(home, transaction)) if home == self.site => {
                self.acknowledged(home, transaction, outbox);
            }
            Some(CommitContinuation::Acknowledge(home, transaction)) => self.acknowledge_later(home, transaction),
            Some(CommitContinuation::Answer(transactions, timestamp)) => {
                self.answer_from_disk(&transactions, timestamp, outbox)
            }
            None => {}
        }
    }

    fn checkpoint(&mut self, outbox: &mut Outbox) {
        let report = self.participants.report(self.clock.now());
        outbox.append(LogRecord::Transactions { report });
        self.participants.repeat_prepared(outbox);
    }
}

impl Server for AtomicityController {
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox) {
        let Envelope { from_site, epoch, incarnation, message, .. } = envelope;
        match message {
            Message::CommitRequest(request) => self.request(now, request, outbox),
            Message::Commit(message) => {
                if self.may_hear(from_site, incarnation, epoch) {
                    self.peer_message(now, from_site, message, outbox);
                }
            }
            Message::ConcurrencyReply(ConcurrencyReply::CommitLockReply { transaction, conflict }) => {
                self.commit_locked(transaction, conflict, outbox);
            }
            Message::AccessReply(messages::access::AccessReply::CheckReply { transaction, conflict }) => {
                let is_own = transaction.home == self.site;
                let conflict = conflict.filter(|_| !is_own || !planted!(self.planted, HomeCheckSkipped));
                self.checked(now, transaction, conflict, outbox);
            }
            Message::AccessReply(messages::access::AccessReply::Installed { transaction }) => {
                self.installed(transaction, outbox);
            }
            Message::AccessReply(messages::access::AccessReply::Room { bytes }) => self.group_commit.set_room(bytes),
            Message::EpochRequest(request) => self.epoch_request(now, request, outbox),
            Message::Synced(token) => self.synced(now, token, outbox),
            Message::Checkpoint => self.checkpoint(outbox),
            other => tracing::error!(?other, "not a message for an atomicity controller"),
        }
        self.send_ready(now, outbox);
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if self.standing == VotingState::Active {
            self.resend(now, outbox);
            self.acknowledge(now, outbox);
            self.inquire(now, outbox);
            self.report_synced(now, outbox);
            self.tell_clock(now, outbox);
            self.send_ready(now, outbox);
        }
    }

    fn replay(&mut self, record: &LogRecord, outbox: &mut Outbox) {
        self.replay_record(record, outbox);
    }
}

impl AtomicityController {
    /// Rule "identity": only the same epoch and the life that belongs to it are heard.
    fn may_hear(&self, from: SiteId, incarnation: Incarnation, epoch: EpochNumber) -> bool {
        let Some(current) = self.active_epoch() else {
            return planted!(self.planted, SealedMemberVotes) && self.epoch.is_some();
        };
        let old = planted!(self.planted, OldMessagesCount) && epoch < current.number;
        old || (epoch == current.number && current.has(from, incarnation))
    }

    fn peer_message(&mut self, now: Now, from: SiteId, message: CommitMessage, outbox: &mut Outbox) {
        match message {
            CommitMessage::Prepare { transaction, age, order, finished_below, participants, history } => {
                if transaction.home != from || !participants.contains(&self.site) {
                    tracing::warn!(%from, %transaction, "a prepare that its sender cannot have made");
                    return;
                }
                self.participants.finished_below(transaction.home, transaction.incarnation, finished_below);
                let prepare = participant::PrepareRequest {
                    transaction,
                    age,
                    order,
                    participants,
                    history,
                    gathered: Vec::new(),
                };
                self.prepare(now, prepare, outbox);
            }
            CommitMessage::Waiting { transaction } => self.voter_waits(now, from, transaction),
            CommitMessage::Vote { transaction, vote } => self.vote_came(now, from, transaction, vote, outbox),
            CommitMessage::Decide { transaction, order, outcome } => {
                self.decision_came(now, from, transaction, order, outcome, outbox);
            }
            CommitMessage::DecideAck { transactions } => {
                for transaction in transactions {
                    self.acknowledged(from, transaction, outbox);
                }
            }
            CommitMessage::Inquire { transactions } => self.inquired(from, &transactions, outbox),
        }
    }
}
