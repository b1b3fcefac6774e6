//! This site's votes, those for its own transactions included.
//!
//! Invariants: a vote is final and repeated word for word; a yes leaves only after its prepared record; commit-locks are held from
//! before the vote until the decision is logged and installed; an order below its home's mark is never executed again.

mod replay;
mod resolved;

use crate::group_commit::ReadyTransaction;
use crate::home::votes_from_disk;
use crate::{AtomicityController, CommitContinuation, VotingState, limits};
use messages::access::{AccessRequest, StaleSet};
use messages::commit::{
    CommitMessage, EpochReply, Outcome, TransactionReport, TransactionState, TransactionsReport, Vote,
};
use messages::concurrency::ConcurrencyRequest;
use messages::log_record::LogRecord;
use messages::planted;
use messages::{
    Age, Conflict, EpochNumber, History, Incarnation, Message, Now, Outbox, ServerKind, SiteId, Timestamp,
    TransactionId,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a home site asks a vote for.
#[derive(Clone, Debug)]
pub(crate) struct PrepareRequest {
    pub(crate) transaction: TransactionId,
    pub(crate) age: Age,
    pub(crate) order: u64,
    pub(crate) participants: Vec<SiteId>,
    pub(crate) history: Arc<History>,
    /// Transactions of this site that it consists of, if those are several.
    pub(crate) gathered: Vec<TransactionId>,
}

/// How far this site is with a transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum VoteStage {
    /// The concurrency controller was asked for commit-locks.
    Locking,
    /// The access manager was asked whether the versions read still stand.
    Checking,
    /// Voted yes: logged, undecided.
    Prepared {
        /// Counts up with every yes vote of this site.
        vote_number: u64,
        /// When to ask the home site (boot clock).
        inquire_at: u64,
    },
    /// Voted no.
    Refused(Conflict),
    /// Decided, by the epoch named.
    Decided(Outcome, EpochNumber),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Participation {
    epoch: EpochNumber,
    order: u64,
    age: Age,
    participants: Vec<SiteId>,
    history: Arc<History>,
    stage: VoteStage,
    /// The proposed clock, kept so that a vote can be repeated after the decision.
    voted: Option<u64>,
    /// The vote waits for the disk.
    unsaid: bool,
}

/// All transactions that this site has been asked to vote for and that are not finished everywhere.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Participants {
    all: BTreeMap<TransactionId, Participation>,
    by_order: BTreeMap<(SiteId, Incarnation), BTreeMap<u64, TransactionId>>,
    marks: BTreeMap<(SiteId, Incarnation), u64>,
    /// Voted yes and undecided, by vote number.
    undecided: BTreeMap<u64, TransactionId>,
    /// Committed, large, and not installed as a whole: their commit-locks stay, for which readers of snapshots wait as well.
    installing: BTreeSet<TransactionId>,
    votes: u64,
    /// Decisions to acknowledge, by home site.
    acknowledgements: BTreeMap<SiteId, Vec<TransactionId>>,
    acknowledge_at: u64,
    /// During a replay: the last epoch in which this site voted, and the life that logged the last epoch.
    replayed: (EpochNumber, Option<Incarnation>),
}

impl Participants {
    /// Voted yes and undecided, by vote number.
    pub(crate) fn undecided(&self) -> &BTreeMap<u64, TransactionId> {
        &self.undecided
    }

    /// Committed, and not installed as a whole.
    pub(crate) fn installing(&self) -> impl Iterator<Item = TransactionId> + '_ {
        self.installing.iter().copied()
    }

    /// The number of the last yes vote.
    pub(crate) fn last_vote(&self) -> u64 {
        self.votes
    }

    /// The lowest proposal of what is undecided.
    pub(crate) fn lowest_undecided_clock(&self) -> Option<u64> {
        self.undecided.values().filter_map(|transaction| self.all[transaction].voted).min()
    }

    /// The lowest epoch and clock at which something undecided may commit that notifies.
    pub(crate) fn lowest_notifying(&self) -> Option<(EpochNumber, u64)> {
        let undecided = self.undecided.values().map(|transaction| &self.all[transaction]);
        let notifying = undecided.filter(|participation| !participation.history.notifications.is_empty());
        notifying.filter_map(|participation| Some((participation.epoch, participation.voted?))).min()
    }

    /// Everything of this home and life below the mark is decided at every participant: forget it.
    pub(crate) fn finished_below(&mut self, home: SiteId, incarnation: Incarnation, mark: u64) {
        let known = self.marks.entry((home, incarnation)).or_default();
        if mark <= *known {
            return;
        }
        *known = mark;
        let Some(orders) = self.by_order.get_mut(&(home, incarnation)) else {
            return;
        };
        while let Some(entry) = orders.first_entry() {
            if *entry.key() >= mark || !matches!(self.all[entry.get()].stage, VoteStage::Decided(..)) {
                break;
            }
            let transaction = entry.remove();
            self.all.remove(&transaction);
        }
    }

    fn is_below_mark(&self, transaction: TransactionId, order: u64) -> bool {
        order < self.mark_of(transaction.home, transaction.incarnation)
    }

    /// The mark of a life of a home.
    pub(crate) fn mark_of(&self, home: SiteId, incarnation: Incarnation) -> u64 {
        self.marks.get(&(home, incarnation)).copied().unwrap_or(0)
    }

    fn insert(&mut self, transaction: TransactionId, participation: Participation) {
        self.by_order
            .entry((transaction.home, transaction.incarnation))
            .or_default()
            .insert(participation.order, transaction);
        self.all.insert(transaction, participation);
    }

    fn remove(&mut self, transaction: TransactionId) {
        if let Some(participation) = self.all.remove(&transaction)
            && let Some(orders) = self.by_order.get_mut(&(transaction.home, transaction.incarnation))
        {
            orders.remove(&participation.order);
        }
    }

    /// A new epoch is active: nothing of earlier ones is open.
    pub(crate) fn forget_all(&mut self) {
        self.all.clear();
        self.by_order.clear();
        self.marks.clear();
        self.undecided.clear();
        self.installing.clear();
        self.acknowledgements.clear();
    }

    /// What this site would report of transactions.
    pub(crate) fn report(&self, clock: u64) -> TransactionsReport {
        let mut transactions = BTreeMap::new();
        for (transaction, participation) in &self.all {
            let state = match &participation.stage {
                VoteStage::Locking | VoteStage::Checking => continue,
                VoteStage::Prepared { .. } => TransactionState::Prepared,
                VoteStage::Refused(_) => TransactionState::Refused,
                VoteStage::Decided(outcome, by) => TransactionState::Decided(*outcome, *by),
            };
            let Participation { epoch, order, participants, .. } = participation;
            let report = TransactionReport {
                epoch: *epoch,
                order: *order,
                participants: participants.clone(),
                changes: StaleSet::without(&participation.history),
                state,
            };
            transactions.insert(*transaction, report);
        }
        TransactionsReport { joined: EpochNumber(0), clock, transactions }
    }

    /// At a checkpoint: the histories of what is undecided.
    pub(crate) fn repeat_prepared(&self, outbox: &mut Outbox) {
        for transaction in self.undecided.values() {
            let participation = &self.all[transaction];
            let clock = participation.voted.expect("what is undecided was voted for");
            outbox.append(participation.prepared_record(
                *transaction,
                clock,
                self.mark_of(transaction.home, transaction.incarnation),
            ));
        }
    }
}

impl Participation {
    fn prepared_record(&self, transaction: TransactionId, clock: u64, finished_below: u64) -> LogRecord {
        LogRecord::Prepared {
            transaction,
            age: self.age,
            epoch: self.epoch,
            order: self.order,
            finished_below,
            clock,
            participants: self.participants.clone(),
            history: self.history.clone(),
        }
    }
}

impl AtomicityController {
    /// Rule 3, first half: commit-lock the whole history.
    pub(crate) fn prepare(&mut self, now: Now, prepare: PrepareRequest, outbox: &mut Outbox) {
        let PrepareRequest { transaction, age, order, participants, history, gathered } = prepare;
        let again = planted!(self.planted, DuplicatePrepareExecuted) || planted!(self.planted, OldMessagesCount);
        if self.participants.is_below_mark(transaction, order) && !again {
            return;
        }
        if let Some(known) = self.participants.all.get(&transaction) {
            let rejudge = planted!(self.planted, NoBecomesYes) && matches!(known.stage, VoteStage::Refused(_));
            if !rejudge {
                self.repeat_vote(transaction, outbox);
                return;
            }
            self.participants.remove(transaction);
        }
        if !self.clock.believes(now, age.clock) {
            tracing::warn!(%transaction, "a prepare whose age lies too far ahead is left unanswered");
            return;
        }
        let epoch = self.epoch.as_ref().map_or(EpochNumber(0), |epoch| epoch.number);
        let mut locked = history.clone();
        if planted!(self.planted, IncrementsPassReaders) {
            Arc::make_mut(&mut locked).increments.clear();
        }
        let lock = ConcurrencyRequest::CommitLock { transaction, age, history: locked, gathered };
        let participation = Participation {
            epoch,
            order,
            age,
            participants,
            history,
            stage: VoteStage::Locking,
            voted: None,
            unsaid: false,
        };
        self.participants.insert(transaction, participation);
        outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(lock));
    }

    fn repeat_vote(&mut self, transaction: TransactionId, outbox: &mut Outbox) {
        let participation = &self.participants.all[&transaction];
        let vote = match (&participation.stage, participation.voted) {
            (VoteStage::Prepared { .. }, _) if participation.unsaid => return self.say_waiting(transaction, outbox),
            (VoteStage::Refused(conflict), _) => Vote::No { conflict: conflict.clone() },
            (VoteStage::Prepared { .. } | VoteStage::Decided(..), Some(clock)) => Vote::Yes { clock },
            (VoteStage::Decided(..), None) => Vote::No { conflict: Conflict::of(messages::ConflictKind::Refused) },
            (VoteStage::Locking | VoteStage::Checking | VoteStage::Prepared { .. }, _) => {
                return self.say_waiting(transaction, outbox);
            }
        };
        self.to_peer(transaction.home, CommitMessage::Vote { transaction, vote }, outbox);
    }

    /// The vote will come: who waits for an older transaction or for the disk is not silent.
    fn say_waiting(&self, transaction: TransactionId, outbox: &mut Outbox) {
        if transaction.home != self.site {
            self.to_peer(transaction.home, CommitMessage::Waiting { transaction }, outbox);
        }
    }

    /// The concurrency controller has answered.
    pub(crate) fn commit_locked(
        &mut self,
        transaction: TransactionId,
        conflict: Option<Conflict>,
        outbox: &mut Outbox,
    ) {
        let Some(participation) = self.participants.all.get_mut(&transaction) else {
            return;
        };
        if !matches!(participation.stage, VoteStage::Locking) {
            return;
        }
        if let Some(conflict) = conflict {
            self.refuse(transaction, conflict, outbox);
            return;
        }
        participation.stage = VoteStage::Checking;
        let history = participation.history.clone();
        outbox.local(ServerKind::AccessManager, Message::Access(AccessRequest::Check { transaction, history }));
    }

    /// Rule 3, second half: the access manager has compared the versions; vote.
    pub(crate) fn checked(
        &mut self,
        now: Now,
        transaction: TransactionId,
        conflict: Option<Conflict>,
        outbox: &mut Outbox,
    ) {
        let mark = self.participants.mark_of(transaction.home, transaction.incarnation);
        let Some(participation) = self.participants.all.get_mut(&transaction) else {
            return;
        };
        if !matches!(participation.stage, VoteStage::Checking) {
            return;
        }
        if let Some(conflict) = conflict {
            self.finish_locks(transaction, outbox);
            self.refuse(transaction, conflict, outbox);
            return;
        }
        let clock = self.clock.tick(now);
        let vote_number = self.participants.votes + 1;
        self.participants.votes = vote_number;
        self.participants.undecided.insert(vote_number, transaction);
        participation.stage = VoteStage::Prepared { vote_number, inquire_at: now.boot + limits::INQUIRE_AFTER };
        participation.voted = Some(clock);
        self.unsynced = true;
        if !planted!(self.planted, VoteBeforeLog) {
            outbox.append(participation.prepared_record(transaction, clock, mark));
        }
        let proposal = Timestamp::snapshot(participation.epoch, clock);
        if planted!(self.planted, NotifiedAtVote) {
            let history = participation.history.clone();
            self.notify_anyhow(&history, outbox);
        }
        let voted = ConcurrencyRequest::Voted { transaction, proposal: Timestamp { transaction, ..proposal } };
        outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(voted));
        let at_home = transaction.home == self.site && planted!(self.planted, LocksReleasedBeforeDecision);
        if planted!(self.planted, LocksDroppedAtVote) || at_home {
            self.finish_locks(transaction, outbox);
        }
        if self.epoch.as_deref().is_some_and(votes_from_disk) {
            self.participants.all.get_mut(&transaction).expect("voted for just above").unsaid = true;
            self.sync_then(CommitContinuation::Vote(transaction), outbox);
        } else {
            self.say_yes(now, transaction, clock, outbox);
        }
    }

    /// The prepared record is on disk. An epoch change may have taken the decision over.
    pub(crate) fn vote_is_synced(&mut self, now: Now, transaction: TransactionId, outbox: &mut Outbox) {
        let Some(participation) = self.participants.all.get_mut(&transaction) else { return };
        let unsaid = std::mem::replace(&mut participation.unsaid, false);
        if unsaid
            && self.standing == VotingState::Active
            && matches!(participation.stage, VoteStage::Prepared { .. })
            && let Some(clock) = participation.voted
        {
            self.say_yes(now, transaction, clock, outbox);
        }
    }

    fn say_yes(&mut self, now: Now, transaction: TransactionId, clock: u64, outbox: &mut Outbox) {
        let vote = Vote::Yes { clock };
        if transaction.home == self.site {
            self.vote_came(now, self.site, transaction, vote, outbox);
        } else {
            self.to_peer(transaction.home, CommitMessage::Vote { transaction, vote }, outbox);
        }
    }

    fn refuse(&mut self, transaction: TransactionId, conflict: Conflict, outbox: &mut Outbox) {
        let participation = self.participants.all.get_mut(&transaction).expect("refused while it is judged");
        participation.stage = VoteStage::Refused(conflict.clone());
        participation.history = Arc::default();
        let (order, epoch) = (participation.order, participation.epoch);
        outbox.append(LogRecord::Refused { transaction, order, epoch });
        if transaction.home == self.site {
            self.decide_abort(transaction, conflict, outbox);
        } else {
            self.to_peer(transaction.home, CommitMessage::Vote { transaction, vote: Vote::No { conflict } }, outbox);
        }
    }

    /// A decision from the home site.
    pub(crate) fn decision_came(
        &mut self,
        now: Now,
        from: SiteId,
        transaction: TransactionId,
        order: u64,
        outcome: Outcome,
        outbox: &mut Outbox,
    ) {
        if transaction.home != from {
            tracing::warn!(%from, %transaction, "a decision that its sender cannot have made");
            return;
        }
        if let Outcome::Commit(timestamp) = outcome
            && !self.clock.believes(now, timestamp.clock)
        {
            tracing::warn!(%from, %transaction, "a decision whose clock lies too far ahead is not taken");
            return;
        }
        let epoch = self.epoch.as_ref().map_or(EpochNumber(0), |epoch| epoch.number);
        if self.participants.is_below_mark(transaction, order) {
            self.acknowledge_later(from, transaction);
            return;
        }
        match self.participants.all.get(&transaction).map(|known| &known.stage) {
            None if outcome == Outcome::Abort => {
                outbox.append(LogRecord::Refused { transaction, order, epoch });
                let age = Age { clock: 0, first: transaction };
                let participation = Participation {
                    epoch,
                    order,
                    age,
                    participants: Vec::new(),
                    history: Arc::default(),
                    stage: VoteStage::Refused(Conflict::of(messages::ConflictKind::Refused)),
                    voted: None,
                    unsaid: false,
                };
                self.participants.insert(transaction, participation);
                self.apply(transaction, outcome, epoch, outbox);
            }
            None => {
                tracing::error!(%transaction, "a commit of what was never voted for is not taken");
                return;
            }
            Some(VoteStage::Decided(..)) if planted!(self.planted, DecisionAppliedTwice) => {
                self.apply_again(now, transaction, outcome, outbox);
            }
            Some(VoteStage::Decided(..)) if planted!(self.planted, NotifiedAgain) => {
                let history = self.participants.all[&transaction].history.clone();
                self.notify_anyhow(&history, outbox);
            }
            Some(VoteStage::Decided(..)) => {}
            Some(VoteStage::Prepared { .. }) => self.apply(transaction, outcome, epoch, outbox),
            Some(VoteStage::Locking | VoteStage::Checking | VoteStage::Refused(_)) if outcome == Outcome::Abort => {
                self.apply(transaction, outcome, epoch, outbox);
            }
            Some(_) => {
                tracing::error!(%transaction, "a commit of what was not voted for is not taken");
                return;
            }
        }
        if outcome == Outcome::Abort && self.epoch.as_deref().is_some_and(votes_from_disk) {
            self.sync_then(CommitContinuation::Acknowledge(from, transaction), outbox);
        } else {
            self.acknowledge_later(from, transaction);
        }
    }

    /// Applies an outcome at this site: logs it, installs the writes, tells the replication controller, releases the locks. In
    /// this order.
    pub(crate) fn apply(&mut self, transaction: TransactionId, outcome: Outcome, by: EpochNumber, outbox: &mut Outbox) {
        self.log_decision(transaction, outcome, by, outbox);
        let participation = self.participants.all.get_mut(&transaction).expect("only what is known is applied");
        let stage = std::mem::replace(&mut participation.stage, VoteStage::Decided(outcome, by));
        let keep = planted!(self.planted, DecisionAppliedTwice) || planted!(self.planted, NotifiedAgain);
        let history = if keep { participation.history.clone() } else { std::mem::take(&mut participation.history) };
        if let VoteStage::Prepared { vote_number, .. } = stage {
            self.participants.undecided.remove(&vote_number);
        }
        match outcome {
            Outcome::Commit(timestamp) => {
                self.clock.merge(timestamp.clock);
                self.hold_notifications(timestamp, &history);
                let in_steps = self.installs_in_steps(&history);
                self.install(timestamp, history, in_steps, outbox);
                if in_steps && !planted!(self.planted, LocksPassInstall) {
                    self.participants.installing.insert(transaction);
                    self.hand_on_notifications(outbox);
                    return self.snapshots_decided(outbox);
                }
            }
            Outcome::Abort if !history.increments.is_empty() => {
                let abandon = AccessRequest::Abandon { transaction, history };
                outbox.local(ServerKind::AccessManager, Message::Access(abandon));
            }
            Outcome::Abort => {}
        }
        match outcome {
            Outcome::Commit(_) => self.finish_committed(transaction, outbox),
            Outcome::Abort => self.finish_locks(transaction, outbox),
        }
        self.hand_on_notifications(outbox);
        self.snapshots_decided(outbox);
    }

    /// Whether so much has changed that other transactions go on between two parts of its installation.
    fn installs_in_steps(&self, history: &History) -> bool {
        history.writes.len() + history.increments.len() > self.installed_at_once
    }

    /// All of a large commit is there: whoever waits for its locks may go on.
    pub(crate) fn installed(&mut self, transaction: TransactionId, outbox: &mut Outbox) {
        if self.participants.installing.remove(&transaction) {
            self.finish_committed(transaction, outbox);
        }
    }

    fn install(&self, timestamp: Timestamp, history: Arc<History>, in_steps: bool, outbox: &mut Outbox) {
        if history.is_read_only() {
            return;
        }
        let install = AccessRequest::Install { timestamp, history: history.clone(), in_steps };
        outbox.local(ServerKind::AccessManager, Message::Access(install));
        let committed = EpochReply::Committed { timestamp, history };
        outbox.local(ServerKind::ReplicationController, Message::EpochReply(committed));
    }

    /// The planted bug: a repeated decision installs the old values as new versions.
    fn apply_again(&mut self, now: Now, transaction: TransactionId, outcome: Outcome, outbox: &mut Outbox) {
        if let Outcome::Commit(timestamp) = outcome {
            let history = self.participants.all[&transaction].history.clone();
            let timestamp = Timestamp { clock: self.clock.tick(now), ..timestamp };
            self.install(timestamp, history, false, outbox);
        }
    }

    /// A decision that is logged, and on disk where it has to be.
    pub(crate) fn acknowledge_later(&mut self, home: SiteId, transaction: TransactionId) {
        self.participants.acknowledgements.entry(home).or_default().push(transaction);
    }

    /// Sends the acknowledgements that wait.
    pub(crate) fn acknowledge(&mut self, now: Now, outbox: &mut Outbox) {
        if self.participants.acknowledgements.is_empty() || now.boot < self.participants.acknowledge_at {
            return;
        }
        self.participants.acknowledge_at = now.boot + limits::ACKNOWLEDGE_AFTER;
        for (home, transactions) in std::mem::take(&mut self.participants.acknowledgements) {
            self.to_peer(home, CommitMessage::DecideAck { transactions }, outbox);
        }
    }

    /// Asks the home sites of what has been undecided for long.
    pub(crate) fn inquire(&mut self, now: Now, outbox: &mut Outbox) {
        let mut questions: BTreeMap<SiteId, Vec<TransactionId>> = BTreeMap::new();
        for transaction in self.participants.undecided.values().take(limits::INQUIRE_MAX) {
            let participation = self.participants.all.get_mut(transaction).expect("what is undecided is known");
            if let VoteStage::Prepared { inquire_at, .. } = &mut participation.stage
                && now.boot >= *inquire_at
                && transaction.home != self.site
            {
                *inquire_at = now.boot + limits::INQUIRE_AFTER;
                questions.entry(transaction.home).or_default().push(*transaction);
            }
        }
        for (home, transactions) in questions {
            self.to_peer(home, CommitMessage::Inquire { transactions }, outbox);
        }
    }

    /// Rule 7: no vote any more. What was not voted for never will be.
    pub(crate) fn stop(&mut self, outbox: &mut Outbox) {
        self.standing = VotingState::Stopped;
        let ready = self.group_commit.take_all();
        self.waiting.extend(ready.map(ReadyTransaction::into_request));
        let judging: Vec<TransactionId> = (self.participants.all.iter())
            .filter(|(_, participation)| matches!(participation.stage, VoteStage::Locking | VoteStage::Checking))
            .map(|(transaction, _)| *transaction)
            .collect();
        for transaction in judging {
            self.finish_locks(transaction, outbox);
            self.participants.remove(transaction);
        }
    }

    pub(crate) fn report(&mut self, tag: u64, outbox: &mut Outbox) {
        let report = Arc::new(self.participants.report(self.clock.now()));
        let reply = EpochReply::TransactionsReported { tag, report, homes: self.homes_known() };
        outbox.local(ServerKind::ReplicationController, Message::EpochReply(reply));
    }
}
