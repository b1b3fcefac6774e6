//! Transactions that this site coordinates: one round of prepare and votes, an answer, and decisions until all have them.
//!
//! Invariants: after the prepare was sent only a no vote or a resolution aborts; an abort is answered only after every participant
//! knows of it; a decision is forgotten only once every participant has logged it; `unfinished` holds exactly the orders of
//! `home`, so its lowest key is the mark.

use crate::group_commit::ReadyTransaction;
use crate::participant::PrepareRequest;
use crate::{AtomicityController, CommitContinuation, VotingState, limits};
use messages::commit::{CommitMessage, CommitReply, CommitRequest, EpochReply, Outcome, Vote};
use messages::limits::{CLOCK_JUMP_MICROS_MAX, CLOCK_LOGICAL_BITS, RESEND, SILENT_VOTER};
use messages::log_record::LogRecord;
use messages::planted;
use messages::session::CommitReceipt;
use messages::{
    Age, Conflict, ConflictKind, Epoch, EpochNumber, History, Message, Now, Outbox, ServerKind, SiteId, Timestamp,
    TransactionId,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How far a transaction of this home is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HomePhase {
    /// Votes are coming in.
    Voting {
        /// Who has not voted, the own site included.
        missing: BTreeSet<SiteId>,
        /// The smallest and the largest proposal so far.
        proposals: Option<(u64, u64)>,
    },
    /// Decided; an abort is answered when `missing` is empty.
    Decided {
        /// Who has not acknowledged; the own site, when its disk is waited for.
        missing: BTreeSet<SiteId>,
        /// What was decided.
        outcome: Outcome,
        /// Why, for an abort.
        conflict: Option<Conflict>,
    },
    /// An epoch change has decided it; answered when the epoch is active.
    Resolved(Outcome),
}

/// One transaction of this home, from its commit request until every participant has logged the outcome.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HomeTransaction {
    age: Age,
    pub(crate) order: u64,
    /// The epoch in which it was sent.
    pub(crate) epoch: EpochNumber,
    participants: Vec<SiteId>,
    history: Arc<History>,
    /// Its commit is answered only once it is forgotten here.
    logged_everywhere: bool,
    /// What it consists of, if those are several.
    members: Vec<ReadyTransaction>,
    pub(crate) phase: HomePhase,
    sent_at: u64,
    /// What is not answered is sent again after this long.
    resend_after: u64,
    begun_at: u64,
    /// How often it was sent again.
    resent: u32,
    /// When (boot clock) a voter last said that its vote waits.
    waiting: BTreeMap<SiteId, u64>,
    accused: BTreeSet<SiteId>,
}

impl HomeTransaction {
    /// The transactions that were asked for: itself, or those that it consists of.
    pub(crate) fn names(&self, own: TransactionId) -> Vec<TransactionId> {
        match self.members.is_empty() {
            true => vec![own],
            false => self.members.iter().map(|member| member.transaction).collect(),
        }
    }
}

/// Rule 9: with too few copies in memory every vote waits for its site's disk, so that nobody reads a commit that a loss of power
/// could take.
pub(crate) fn votes_from_disk(epoch: &Epoch) -> bool {
    epoch.up().count() < usize::from(epoch.required_copies)
}

impl AtomicityController {
    /// The action driver has executed it.
    pub(crate) fn ready(&mut self, ready: ReadyTransaction) {
        assert!(self.epoch.is_some(), "commits are taken only in an active epoch");
        assert_eq!(ready.transaction.home, self.site, "a transaction commits at its home site");
        self.group_commit.add(ready);
    }

    /// It has lost what it had accessed. Once its prepare has been sent the votes decide.
    pub(crate) fn withdraw(&mut self, transaction: TransactionId, conflict: Conflict, outbox: &mut Outbox) {
        if self.group_commit.take_back(transaction).is_some() {
            self.finish_locks(transaction, outbox);
            answer_abort(transaction, conflict, outbox);
        }
    }

    /// Sends what is ready, as far as it does not wait for its group.
    pub(crate) fn send_ready(&mut self, now: Now, outbox: &mut Outbox) {
        if self.standing == VotingState::Stopped {
            return;
        }
        loop {
            let (mut group, history) = self.group_commit.next(now, self.planted);
            match group.len() {
                0 => break,
                1 => self.commit(now, group.remove(0), Vec::new(), outbox),
                _ => {
                    let transaction = self.new_identifier();
                    let age = group.iter().map(|member| member.age).min().expect("a group has members");
                    let history = Arc::new(history);
                    let group_of =
                        ReadyTransaction { transaction, age, history, logged_everywhere: false, since: now.boot };
                    self.commit(now, group_of, group, outbox);
                }
            }
        }
        if self.group_commit.asks_for_turn(now) {
            outbox.local(ServerKind::AtomicityController, Message::CommitRequest(CommitRequest::Gathered));
        }
    }

    /// Rule 2: one multicast carries the whole history.
    fn commit(&mut self, now: Now, ready: ReadyTransaction, members: Vec<ReadyTransaction>, outbox: &mut Outbox) {
        let ReadyTransaction { transaction, age, history, logged_everywhere, .. } = ready;
        let epoch = self.epoch.clone().expect("commits are taken only in an active epoch");
        let order = self.next_order;
        self.next_order += 1;
        self.unfinished.insert(order, transaction);
        let participants: Vec<SiteId> = epoch.members.keys().copied().collect();
        let (bytes, bytes_sent) = (history.written_bytes() as u64, history.bytes() as u64);
        let home = HomeTransaction {
            age,
            order,
            epoch: epoch.number,
            participants: participants.clone(),
            history: history.clone(),
            logged_everywhere,
            members,
            phase: HomePhase::Voting { missing: participants.iter().copied().collect(), proposals: None },
            sent_at: now.boot,
            resend_after: (bytes_sent * limits::RESEND_FOR_BYTE).clamp(RESEND, limits::RESEND_MAX),
            begun_at: now.boot,
            resent: 0,
            waiting: BTreeMap::new(),
            accused: BTreeSet::new(),
        };
        let gathered = home.members.iter().map(|member| member.transaction).collect();
        let twice = self.home.insert(transaction, home);
        assert!(twice.is_none(), "a transaction identifier commits once");
        self.group_commit.sent(now, bytes);
        self.counters.prepares += epoch.others(self.site).count() as u64;
        self.send_prepare(transaction, epoch.others(self.site), outbox);
        self.prepare(now, PrepareRequest { transaction, age, order, participants, history, gathered }, outbox);
    }

    fn send_prepare(&self, transaction: TransactionId, sites: impl IntoIterator<Item = SiteId>, outbox: &mut Outbox) {
        let home = &self.home[&transaction];
        let message = CommitMessage::Prepare {
            transaction,
            age: home.age,
            order: home.order,
            finished_below: self.mark(),
            participants: home.participants.clone(),
            history: home.history.clone(),
        };
        self.to_peers(sites, message, outbox);
    }

    pub(crate) fn to_peer(&self, site: SiteId, message: CommitMessage, outbox: &mut Outbox) {
        self.to_peers([site], message, outbox);
    }

    fn to_peers(&self, sites: impl IntoIterator<Item = SiteId>, message: CommitMessage, outbox: &mut Outbox) {
        let epoch = self.epoch.as_ref().map_or(messages::EpochNumber(0), |epoch| epoch.number);
        outbox.multicast(sites, ServerKind::AtomicityController, epoch, Message::Commit(message));
    }

    /// Everything of this home below it is finished.
    fn mark(&self) -> u64 {
        self.unfinished.keys().next().copied().unwrap_or(self.next_order)
    }

    /// Rule 4: all yes in this epoch is the commit point; the answer leaves at once.
    pub(crate) fn vote_came(
        &mut self,
        now: Now,
        from: SiteId,
        transaction: TransactionId,
        vote: Vote,
        outbox: &mut Outbox,
    ) {
        let Some(home) = self.home.get_mut(&transaction) else {
            return;
        };
        let HomePhase::Voting { missing, proposals } = &mut home.phase else {
            return;
        };
        match vote {
            Vote::Yes { clock: proposal } => {
                let (low, high) = proposals.unwrap_or((proposal, proposal));
                let (low, high) = (low.min(proposal), high.max(proposal));
                // Every voter's clock lies above its own proposal, so each will believe the decision.
                if !self.clock.believes(now, proposal) || high - low > CLOCK_JUMP_MICROS_MAX << CLOCK_LOGICAL_BITS {
                    tracing::warn!(%from, %transaction, proposal, "a proposed clock too far from the others is not counted");
                    return;
                }
                if !missing.remove(&from) {
                    return;
                }
                *proposals = Some((low, high));
                self.clock.merge(proposal);
                if missing.is_empty() {
                    self.decide_commit(now, transaction, high, outbox);
                }
            }
            Vote::No { conflict } => self.decide_abort(transaction, conflict, outbox),
        }
    }

    fn decide_commit(&mut self, now: Now, transaction: TransactionId, clock: u64, outbox: &mut Outbox) {
        let epoch = self.epoch.clone().expect("votes are counted only in an active epoch");
        let timestamp = Timestamp { epoch: epoch.number, clock, transaction };
        let outcome = Outcome::Commit(timestamp);
        self.set_decided(transaction, outcome, None);
        let home = &self.home[&transaction];
        let (members, bytes) = (home.names(transaction), home.history.written_bytes() as u64);
        self.group_commit.decided(members.len(), bytes, Some(now.boot.saturating_sub(home.begun_at)));
        self.counters.rounds += u64::from(epoch.members.len() > 1);
        self.apply(transaction, outcome, epoch.number, outbox);
        let receipt = receipt(&epoch);
        match receipt {
            CommitReceipt::Disk => self.counters.syncs_before_answer += 1,
            _ => self.counters.committed_in_memory += members.len() as u64,
        }
        self.finish_members(transaction, outbox);
        if !self.answers_when_logged(transaction) {
            self.answer_commit(&members, timestamp, receipt, outbox);
        }
        self.send_decisions(transaction, outbox);
    }

    /// Whether the commit of a transaction waits to be answered until every participant has logged it: then whatever log survives with something
    /// that was built on it has it as well.
    fn answers_when_logged(&self, transaction: TransactionId) -> bool {
        self.home[&transaction].logged_everywhere && !planted!(self.planted, ToldBeforeLogged)
    }

    /// What those have accessed that have committed together.
    fn finish_members(&mut self, transaction: TransactionId, outbox: &mut Outbox) {
        let home = self.home.get_mut(&transaction).expect("only a known transaction is decided");
        for member in std::mem::take(&mut home.members) {
            self.finish_committed(member.transaction, outbox);
        }
    }

    fn answer_commit(
        &mut self,
        transactions: &[TransactionId],
        timestamp: Timestamp,
        receipt: CommitReceipt,
        outbox: &mut Outbox,
    ) {
        let number = transactions.len() as u64;
        self.counters.committed += number;
        self.counters.committed_together += number - 1;
        for &transaction in transactions {
            let reply = CommitReply::Committed { transaction, timestamp, receipt };
            outbox.local(ServerKind::ActionDriver, Message::CommitReply(reply));
        }
    }

    pub(crate) fn answer_from_disk(
        &mut self,
        transactions: &[TransactionId],
        timestamp: Timestamp,
        outbox: &mut Outbox,
    ) {
        self.answer_commit(transactions, timestamp, CommitReceipt::Disk, outbox);
    }

    pub(crate) fn decide_abort(&mut self, transaction: TransactionId, conflict: Conflict, outbox: &mut Outbox) {
        let epoch = self.epoch.clone().expect("votes are counted only in an active epoch");
        self.set_decided(transaction, Outcome::Abort, Some(conflict.clone()));
        self.apply(transaction, Outcome::Abort, epoch.number, outbox);
        self.counters.aborted += 1;
        let home = &self.home[&transaction];
        self.group_commit.decided(home.members.len().max(1), home.history.written_bytes() as u64, None);
        if self.answers_aborts_early() {
            let members = std::mem::take(&mut self.home.get_mut(&transaction).expect("decided just above").members);
            self.tell_abort(transaction, members, conflict, outbox);
        } else if votes_from_disk(&epoch) {
            self.wait_for_own_disk(transaction, outbox);
        }
        self.send_decisions(transaction, outbox);
        self.finish_if_acknowledged(transaction, outbox);
    }

    /// Rule 9: the prepared record is on disk, and would be a commit by itself after a loss of power. So the abort is, too, here and at every
    /// participant, before the client hears of it.
    fn wait_for_own_disk(&mut self, transaction: TransactionId, outbox: &mut Outbox) {
        if let Some(HomeTransaction { phase: HomePhase::Decided { missing, .. }, .. }) = self.home.get_mut(&transaction)
        {
            missing.insert(self.site);
            self.sync_then(CommitContinuation::Acknowledge(self.site, transaction), outbox);
        }
    }

    fn answers_aborts_early(&self) -> bool {
        planted!(self.planted, AbortAnsweredEarly) || planted!(self.planted, LateVotesAbort)
    }

    fn set_decided(&mut self, transaction: TransactionId, outcome: Outcome, conflict: Option<Conflict>) {
        let own = self.site;
        let home = self.home.get_mut(&transaction).expect("only a known transaction is decided");
        let HomePhase::Voting { missing: not_voted, .. } = &home.phase else { panic!("a transaction is decided once") };
        let mut missing: BTreeSet<SiteId> = home.participants.iter().copied().filter(|site| *site != own).collect();
        if planted!(self.planted, AbortNotToNoVoters) && outcome == Outcome::Abort {
            missing.retain(|site| not_voted.contains(site));
        }
        home.phase = HomePhase::Decided { missing, outcome, conflict };
    }

    fn send_decisions(&mut self, transaction: TransactionId, outbox: &mut Outbox) {
        let home = &self.home[&transaction];
        let HomePhase::Decided { missing, outcome, .. } = &home.phase else {
            return;
        };
        let decide = CommitMessage::Decide { transaction, order: home.order, outcome: *outcome };
        self.to_peers(missing.iter().copied().filter(|site| *site != self.site), decide, outbox);
        if planted!(self.planted, DecisionForgotten) && matches!(outcome, Outcome::Commit(_)) {
            let order = home.order;
            self.home.remove(&transaction);
            self.unfinished.remove(&order);
            return;
        }
        self.finish_if_acknowledged(transaction, outbox);
    }

    pub(crate) fn acknowledged(&mut self, from: SiteId, transaction: TransactionId, outbox: &mut Outbox) {
        let Some(home) = self.home.get_mut(&transaction) else {
            return;
        };
        if let HomePhase::Decided { missing, .. } = &mut home.phase {
            missing.remove(&from);
            self.finish_if_acknowledged(transaction, outbox);
        }
    }

    fn finish_if_acknowledged(&mut self, transaction: TransactionId, outbox: &mut Outbox) {
        let Some(home) = self.home.get(&transaction) else {
            return;
        };
        let HomePhase::Decided { missing, outcome, conflict } = &home.phase else {
            return;
        };
        if !missing.is_empty() {
            return;
        }
        let (order, outcome, conflict) = (home.order, *outcome, conflict.clone());
        let answers = self.answers_when_logged(transaction);
        let home = self.home.remove(&transaction).expect("looked at just above");
        self.unfinished.remove(&order);
        self.participants.finished_below(self.site, self.incarnation, self.mark());
        if let (Outcome::Commit(timestamp), true) = (outcome, answers) {
            let receipt = receipt(self.epoch.as_ref().expect("it was decided in an epoch"));
            self.answer_commit(&[transaction], timestamp, receipt, outbox);
        }
        if outcome == Outcome::Abort && !self.answers_aborts_early() {
            let conflict = conflict.expect("an abort by votes has a reason");
            self.tell_abort(transaction, home.members, conflict, outbox);
        }
    }

    /// Nothing is left of it: whoever asked for it is told, or each that it consists of is judged alone.
    fn tell_abort(
        &mut self,
        transaction: TransactionId,
        members: Vec<ReadyTransaction>,
        conflict: Conflict,
        outbox: &mut Outbox,
    ) {
        match self.standing {
            _ if members.is_empty() => answer_abort(transaction, conflict, outbox),
            VotingState::Active => self.group_commit.part(members),
            VotingState::Stopped => self.waiting.extend(members.into_iter().map(ReadyTransaction::into_request)),
        }
    }

    /// Lost votes and acknowledgements are asked for again; a voter that stays silent is named.
    pub(crate) fn resend(&mut self, now: Now, outbox: &mut Outbox) {
        let is_due = |home: &HomeTransaction| now.boot >= home.sent_at + home.resend_after;
        let due: Vec<TransactionId> = self.home.iter().filter(|(_, home)| is_due(home)).map(|(id, _)| *id).collect();
        for transaction in due {
            let home = self.home.get_mut(&transaction).expect("collected just above");
            home.sent_at = now.boot;
            match &home.phase {
                HomePhase::Voting { missing, .. } => {
                    let mut missing: Vec<SiteId> = missing.iter().copied().filter(|site| *site != self.site).collect();
                    // A pause of this site is nobody else's silence.
                    let asked_often = home.resent >= limits::SILENT_AFTER_RESENDS;
                    home.resent += 1;
                    let heard = |site: &SiteId| home.waiting.get(site).copied().unwrap_or(home.begun_at);
                    let silent: Vec<SiteId> = (missing.iter().copied())
                        .filter(|site| asked_often && now.boot >= heard(site) + SILENT_VOTER)
                        .filter(|site| !home.accused.contains(site))
                        .collect();
                    // The prepare may be large: who says that its vote waits is asked less often.
                    missing.retain(|site| {
                        home.waiting.get(site).is_none_or(|said| now.boot >= said + limits::WAITING_ASKED)
                    });
                    home.accused.extend(&silent);
                    self.accuse(&silent, outbox);
                    if planted!(self.planted, LateVotesAbort) && !missing.is_empty() {
                        self.decide_abort(transaction, Conflict::of(ConflictKind::Refused), outbox);
                        continue;
                    }
                    self.counters.prepares_resent += missing.len() as u64;
                    self.send_prepare(transaction, missing, outbox);
                }
                HomePhase::Decided { .. } => self.send_decisions(transaction, outbox),
                HomePhase::Resolved(_) => {}
            }
        }
    }

    /// A voter lives, though its vote has to wait.
    pub(crate) fn voter_waits(&mut self, now: Now, from: SiteId, transaction: TransactionId) {
        if let Some(home) = self.home.get_mut(&transaction)
            && matches!(&home.phase, HomePhase::Voting { missing, .. } if missing.contains(&from))
        {
            home.waiting.insert(from, now.boot);
        }
    }

    fn accuse(&self, silent: &[SiteId], outbox: &mut Outbox) {
        for site in silent {
            let reply = EpochReply::SilentVoter { site: *site };
            outbox.local(ServerKind::ReplicationController, Message::EpochReply(reply));
        }
    }

    /// An undecided participant asks.
    pub(crate) fn inquired(&mut self, from: SiteId, transactions: &[TransactionId], outbox: &mut Outbox) {
        for transaction in transactions {
            let Some(home) = self.home.get(transaction) else {
                continue;
            };
            if let HomePhase::Decided { outcome, .. } = &home.phase {
                let decide = CommitMessage::Decide { transaction: *transaction, order: home.order, outcome: *outcome };
                self.to_peer(from, decide, outbox);
            }
        }
    }

    /// An epoch change has decided everything of this home that votes had not.
    pub(crate) fn home_resolved(&mut self, outcome_of: impl Fn(TransactionId) -> Outcome) {
        let mut finished = Vec::new();
        for (transaction, home) in &mut self.home {
            match &home.phase {
                HomePhase::Voting { .. } | HomePhase::Resolved(_) => {
                    home.phase = HomePhase::Resolved(outcome_of(*transaction))
                }
                // Answered already, or not yet, because not all knew; now they do.
                HomePhase::Decided { outcome: Outcome::Commit(_), .. } if !home.logged_everywhere => {
                    finished.push(*transaction);
                }
                HomePhase::Decided { outcome, .. } => home.phase = HomePhase::Resolved(*outcome),
            }
        }
        for transaction in finished {
            self.home.remove(&transaction);
        }
    }

    /// The new epoch is active: answer what the change decided.
    pub(crate) fn answer_resolved(&mut self, outbox: &mut Outbox) {
        self.unfinished.clear();
        self.group_commit.all_decided();
        for (transaction, home) in std::mem::take(&mut self.home) {
            let HomePhase::Resolved(outcome) = home.phase else { panic!("an activated epoch leaves no vote open") };
            let members = home.names(transaction);
            home.members.iter().for_each(|member| match outcome {
                Outcome::Commit(_) => self.finish_committed(member.transaction, outbox),
                Outcome::Abort => self.finish_locks(member.transaction, outbox),
            });
            self.counters.resolved += 1;
            match outcome {
                Outcome::Commit(timestamp) => {
                    let epoch = self.epoch.clone().expect("set by the activation");
                    let copies = epoch.up().count() as u16;
                    if copies >= epoch.required_copies {
                        self.answer_commit(&members, timestamp, CommitReceipt::Memory { copies }, outbox);
                    } else {
                        self.sync_then(CommitContinuation::Answer(members, timestamp), outbox);
                    }
                }
                Outcome::Abort => {
                    self.counters.aborted += 1;
                    for member in members {
                        answer_abort(member, Conflict::of(ConflictKind::EpochChanged), outbox);
                    }
                }
            }
        }
    }

    /// Logs a decision. Before any lock is released and before it is acknowledged.
    pub(crate) fn log_decision(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        by: messages::EpochNumber,
        outbox: &mut Outbox,
    ) {
        self.unsynced = true;
        outbox.append(LogRecord::Decided { transaction, outcome, by });
    }
}

/// What makes a commit durable in this epoch.
fn receipt(epoch: &Epoch) -> CommitReceipt {
    match votes_from_disk(epoch) {
        true => CommitReceipt::Disk,
        false => CommitReceipt::Memory { copies: epoch.up().count() as u16 },
    }
}

pub(crate) fn answer_abort(transaction: TransactionId, conflict: Conflict, outbox: &mut Outbox) {
    let reply = CommitReply::Aborted { transaction, conflict };
    outbox.local(ServerKind::ActionDriver, Message::CommitReply(reply));
}
