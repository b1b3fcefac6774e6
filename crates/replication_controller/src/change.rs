//! From a new epoch at the oracle to serving in it (rule 7, second half, and rule 8).
//!
//! Every member reports what it knows to every other; each computes the same outcomes and fail-locks from the same reports, logs and
//! syncs them, waits out the leases that it granted to outsiders, and says so. Whoever has heard that of all members serves. No
//! member drives: any that falls silent is suspected, and the next epoch goes on from the same reports.

use crate::outcomes::tables_of;
use crate::{EpochContinuation, MembershipState, ReplicationController, limits};
use messages::access::{AccessRequest, StaleSet};
use messages::commit::{EpochRequest, TransactionsReport};
use messages::epoch::EpochId;
use messages::last_words::HomesKnown;
use messages::limits::RESEND;
use messages::log_record::LogRecord;
use messages::replication::{MemberReport, ReplicationMessage, ServiceReply, SiteNotice};
use messages::{
    Epoch, EpochNumber, Incarnation, LeaseLength, MemberState, Message, Now, Outbox, ServerKind, SiteId, Timestamp,
    TransactionId,
};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A change under way at this site.
#[derive(Serialize, Deserialize)]
pub(crate) struct EpochChange {
    epoch: Arc<Epoch>,
    reports: BTreeMap<SiteId, Arc<MemberReport>>,
    resolving: bool,
    /// Outcomes and fail-locks are logged and synced here.
    synced: bool,
    /// `Logged` was said: also the leases are over.
    said: bool,
    logged: BTreeSet<SiteId>,
    /// Who needs to hear nothing more.
    complete: BTreeSet<SiteId>,
    /// Members of the epoch before, for the planted bug that waits only for the latest evictees.
    parent: Option<Arc<Epoch>>,
    sent_at: u64,
    /// When the report is sent again, and how long after that once more: it may be large.
    report_at: u64,
    report_pause: u64,
    began_at: u64,
}

impl EpochChange {
    pub(crate) fn epoch(&self) -> &Arc<Epoch> {
        &self.epoch
    }

    /// Other members that keep it from completing for too long.
    pub(crate) fn holding_up(&self, own: SiteId, now: Now) -> BTreeSet<SiteId> {
        if now.boot < self.began_at + limits::CHANGE_PATIENCE {
            return BTreeSet::new();
        }
        self.epoch.others(own).filter(|site| !self.logged.contains(site)).collect()
    }

    /// The epoch before, if this life was a member of it: for the planted bug that goes on in it.
    pub(crate) fn left(&self) -> Option<&Arc<Epoch>> {
        self.parent.as_ref().filter(|_| !self.resolving)
    }

    /// Nobody was heard because this site did not listen: the others' time begins anew.
    pub(crate) fn forgive(&mut self, now: Now) {
        self.began_at = now.boot;
    }

    fn is(&self, id: EpochId) -> bool {
        self.epoch.id() == id
    }
}

impl ReplicationController {
    /// An epoch that the oracle holds, or held.
    pub(crate) fn learn(&mut self, now: Now, epoch: Arc<Epoch>, outbox: &mut Outbox) {
        if let Some(known) = &self.known {
            if epoch.number < known.number {
                return;
            }
            let other = epoch.number == known.number && epoch.proposal != known.proposal;
            if self.give_up_another(&epoch, outbox) {
                if self.halted {
                    return;
                }
            } else if other {
                let reason = format!(
                    "{} exists twice: the oracle and this site's log do not belong together; give this site the \
                     instance's own oracle, or an empty data directory",
                    epoch.number
                );
                self.halt(reason, outbox);
                return;
            }
        }
        let newer = self.known.as_ref().is_none_or(|known| known.number < epoch.number);
        self.log_empty_copy(&epoch, outbox);
        if newer {
            outbox.append(LogRecord::EpochSeen { epoch: epoch.clone() });
            self.known = Some(epoch.clone());
            self.proposals.drop_below(epoch.number);
            self.joiners.learnt(&epoch, now);
        }
        let present = match &self.state {
            MembershipState::Joining => None,
            MembershipState::Changing(change) => Some(&change.epoch),
            MembershipState::Member(active) => Some(active),
        };
        let own_session = |epoch: &Arc<Epoch>| epoch.sessions.get(&self.site).copied();
        if epoch.has(self.site, self.incarnation)
            && present.is_some_and(|present| own_session(present) < own_session(&epoch))
        {
            // Between the two it was evicted and taken in again, and knows nothing of what it missed.
            self.start_again(&format!("{} is not the one after this site's", epoch.number), outbox);
        } else if epoch.has(self.site, self.incarnation) {
            let there_already = match &self.state {
                MembershipState::Joining => false,
                MembershipState::Changing(change) => change.epoch.number >= epoch.number,
                MembershipState::Member(active) => active.number >= epoch.number,
            };
            if !there_already {
                self.begin_change(now, epoch, outbox);
            }
        } else if self.took_part || !matches!(self.state, MembershipState::Joining) {
            self.start_again(&format!("{} does not have this life of the site", epoch.number), outbox);
        }
    }

    /// The oracle holds another epoch of the number of the one that this site has merely seen. An oracle that was set back has forgotten
    /// that one. Nobody has served in it: its up members would have logged it and told the oracle. This site does not enter it any more.
    pub(crate) fn give_up_another(&mut self, epoch: &Arc<Epoch>, outbox: &mut Outbox) -> bool {
        let another = |known: &Arc<Epoch>| known.number == epoch.number && known.proposal != epoch.proposal;
        if !self.known.as_ref().is_some_and(|known| another(known) && !self.carries(known)) {
            return false;
        }
        outbox.append(LogRecord::EpochSeen { epoch: epoch.clone() });
        self.known = Some(epoch.clone());
        if !matches!(self.state, MembershipState::Joining) {
            self.start_again(&format!("{} was made anew by an oracle that was set back", epoch.number), outbox);
        }
        true
    }

    /// In an instance that has no epoch yet the listed copies are empty, and so current. That is logged, because later a copy without a
    /// log is a copy that was lost.
    fn log_empty_copy(&mut self, epoch: &Arc<Epoch>, outbox: &mut Outbox) {
        if epoch.number > EpochNumber(0) || !self.chain.is_empty() || !epoch.members.contains_key(&self.site) {
            return;
        }
        self.chain = vec![epoch.id()];
        self.fail_locks.begin(epoch, self.site);
        outbox.append(self.logged_record(epoch, Arc::default()));
        self.sync_then(EpochContinuation::Empty(epoch.clone()), outbox);
    }

    /// Only now may the instance begin with this copy: a loss of power would leave it without a log.
    pub(crate) fn empty_copy_is_logged(&mut self, epoch: Arc<Epoch>) {
        if self.logged.is_none() {
            self.logged = Some(epoch);
            self.logged_by = Some(self.incarnation);
        }
    }

    fn begin_change(&mut self, now: Now, epoch: Arc<Epoch>, outbox: &mut Outbox) {
        self.seal(now, EpochNumber(epoch.number.0.saturating_sub(1)), outbox);
        let parent = match &self.state {
            MembershipState::Member(active) => Some(active.clone()),
            MembershipState::Changing(change) => {
                reached!("change-replaced");
                Some(change.epoch.clone())
            }
            MembershipState::Joining => None,
        };
        self.leases.enter(&epoch, self.site, now);
        self.copiers.stop();
        self.attempted.push(epoch.parent_id());
        let tag = epoch.number.0;
        self.state = MembershipState::Changing(EpochChange {
            epoch,
            reports: BTreeMap::new(),
            resolving: false,
            synced: false,
            said: false,
            logged: BTreeSet::new(),
            complete: BTreeSet::new(),
            parent,
            sent_at: now.boot,
            report_at: now.boot,
            report_pause: RESEND,
            began_at: now.boot,
        });
        outbox.local(ServerKind::AtomicityController, Message::EpochRequest(EpochRequest::Report { tag }));
    }

    /// A copy that takes part from this epoch on: what its log says of transactions counts for nothing.
    fn is_fresh(&self, epoch: &Epoch) -> bool {
        !self.took_part && !self.restarts(epoch)
    }

    /// This life carries on from the log of an earlier one, after a total failure. Only such a life can be up without having taken part
    /// before; the epoch that says `restart` may have failed before this site logged it.
    pub(crate) fn restarts(&self, epoch: &Epoch) -> bool {
        !self.took_part && epoch.members[&self.site].state == MemberState::Up
    }

    pub(crate) fn transactions_reported(
        &mut self,
        now: Now,
        tag: u64,
        transactions: &TransactionsReport,
        homes: Option<HomesKnown>,
        outbox: &mut Outbox,
    ) {
        let MembershipState::Changing(change) = &self.state else { return };
        if change.epoch.number.0 != tag || change.reports.contains_key(&self.site) {
            return;
        }
        let epoch = change.epoch.clone();
        let fresh = self.is_fresh(&epoch);
        let joined = if fresh { epoch.number } else { self.joined };
        let transactions = Arc::new(TransactionsReport { joined, ..transactions.clone() });
        let basis = self.logged.as_ref().map(|logged| logged.id());
        let report = Arc::new(match fresh {
            true => MemberReport { basis, transactions, ..MemberReport::default() },
            false => MemberReport {
                basis,
                chain: self.chain.clone(),
                current: self.copiers.became_current(),
                mark: self.marks.on_disk(),
                told: self.marks.known.told.clone(),
                transactions,
                fail_locks: self.fail_locks.tables(self.site, epoch.sessions.keys(), self.restarts(&epoch)),
                recent: self.fail_locks.recent(),
                homes,
                outcomes: self.outcomes.tables(),
            },
        });
        let MembershipState::Changing(change) = &mut self.state else { return };
        change.reports.insert(self.site, report);
        self.send_progress(now, outbox);
        self.resolve_if_complete(outbox);
    }

    pub(crate) fn report_came(
        &mut self,
        now: Now,
        from: SiteId,
        life: Incarnation,
        id: EpochId,
        report: Arc<MemberReport>,
        outbox: &mut Outbox,
    ) {
        match &mut self.state {
            MembershipState::Changing(change) if change.is(id) && change.epoch.has(from, life) => {
                change.reports.insert(from, report);
                self.resolve_if_complete(outbox);
            }
            MembershipState::Member(epoch) if epoch.id() == id => {
                let logged = ReplicationMessage::Logged { epoch: id.number, proposal: id.proposal, complete: true };
                self.to_peer(from, logged, outbox);
            }
            _ => self.answer_if_behind(now, from, id.number, outbox),
        }
    }

    fn answer_if_behind(&mut self, now: Now, from: SiteId, epoch: EpochNumber, outbox: &mut Outbox) {
        match self.known.clone() {
            Some(known) if known.number > epoch => {
                self.to_peer(from, ReplicationMessage::EpochIs { epoch: known }, outbox);
            }
            _ => self.read_oracle(now, outbox),
        }
    }

    fn resolve_if_complete(&mut self, outbox: &mut Outbox) {
        let MembershipState::Changing(change) = &mut self.state else { return };
        let complete = change.epoch.members.keys().all(|site| change.reports.contains_key(site));
        if !complete || std::mem::replace(&mut change.resolving, true) {
            return;
        }
        let epoch = change.epoch.clone();
        let reports = change.reports.iter().map(|(site, report)| (*site, report.transactions.clone())).collect();
        let fresh = self.is_fresh(&epoch);
        if planted!(self.planted, SealedUnseals) {
            crate::plants::seal_late(&epoch, outbox);
        }
        let request = EpochRequest::Resolve { epoch, reports: Arc::new(reports), fresh };
        outbox.local(ServerKind::AtomicityController, Message::EpochRequest(request));
    }

    /// Outcomes are logged and applied here: now what everybody misses is known, too.
    pub(crate) fn resolved(
        &mut self,
        now: Now,
        number: EpochNumber,
        committed: Vec<(Timestamp, StaleSet)>,
        commits: &[TransactionId],
        outbox: &mut Outbox,
    ) {
        let MembershipState::Changing(change) = &self.state else { return };
        if change.epoch.number != number {
            return;
        }
        let (epoch, reports) = (change.epoch.clone(), change.reports.clone());
        let (fresh, restarts) = (self.is_fresh(&epoch), self.restarts(&epoch));
        let stale = self.take_over(&epoch, &reports, committed, fresh);
        self.outcomes.replace(now, tables_of(&epoch, &reports, commits, self.planted));
        if planted!(self.planted, ToldBeforeServing) {
            self.tell_outcomes(outbox);
        }
        // Whatever earlier epochs committed is in this copy now, or known to be stale in it.
        self.fail_locks.accounted_for((epoch.number, 0));
        self.append_chain(&epoch, &reports);
        if restarts {
            self.restarted_in = Some(epoch.number);
        }
        if fresh {
            self.joined = epoch.number;
        }
        self.took_part = true;
        self.logged = Some(epoch.clone());
        self.logged_by = Some(self.incarnation);
        self.tail.clear();
        if !stale.is_empty() {
            self.copiers.lacks_something();
            self.forget_refreshed();
            outbox.local(ServerKind::AccessManager, Message::Access(AccessRequest::MarkStale { stale: stale.clone() }));
        }
        // Who restarts an epoch was compared with what all others remember; who is up otherwise became current in this life.
        if epoch.members[&self.site].state == MemberState::Up {
            self.note_whole();
        }
        self.append_marks(outbox);
        outbox.append(self.logged_record(&epoch, stale));
        // Behind what says that they are stale here: a torn log must not know commits of others and not that this copy lacks them.
        if fresh || restarts {
            outbox.append(self.fail_locks.recent_record());
        }
        if planted!(self.planted, NoSyncOnSoleSurvivor) {
            self.logged_is_synced(now, epoch.number, outbox);
        } else {
            self.sync_then(EpochContinuation::Logged(epoch.number), outbox);
        }
    }

    pub(crate) fn logged_record(&self, epoch: &Arc<Epoch>, stale: Arc<StaleSet>) -> LogRecord {
        LogRecord::EpochLogged {
            epoch: epoch.clone(),
            incarnation: self.logged_by.unwrap_or(self.incarnation),
            joined: self.joined,
            chain: self.chain.clone(),
            fail_locks: self.fail_locks.tables(self.site, epoch.sessions.keys(), false),
            stale,
        }
    }

    fn append_chain(&mut self, epoch: &Epoch, reports: &BTreeMap<SiteId, Arc<MemberReport>>) {
        for report in reports.values() {
            let longer = report.chain.last().map(|last| last.number) > self.chain.last().map(|last| last.number);
            if longer {
                self.chain = report.chain.clone();
            }
        }
        // An epoch that failed before everybody had logged it is an ancestor all the same: what it resolved, its successor resolves again, and
        // what that commits is fail-locked for whoever had logged the failed one.
        let last = self.chain.last().map_or(epoch.number, |last| last.number);
        let attempted = std::mem::take(&mut self.attempted).into_iter();
        self.chain.extend(attempted.filter(|epoch| epoch.number > last));
        self.chain.push(epoch.id());
        let surplus = self.chain.len().saturating_sub(limits::CHAIN_MAX);
        self.chain.drain(..surplus);
    }

    pub(crate) fn logged_is_synced(&mut self, now: Now, number: EpochNumber, outbox: &mut Outbox) {
        if let MembershipState::Changing(change) = &mut self.state
            && change.epoch.number == number
        {
            change.synced = true;
            self.say_logged(now, outbox);
        }
    }

    /// When the last lease is over that this site ever granted to anybody who is not in the epoch.
    fn leases_over(&self, change: &EpochChange) -> u64 {
        if planted!(self.planted, ServeWithoutLeaseWait) {
            return 0;
        }
        if self.leases.granting {
            return u64::MAX;
        }
        let only = change.parent.as_deref().filter(|_| planted!(self.planted, WaitOnlyForLatestEvictee));
        let granted = self.leases.granted_to_outsiders(&change.epoch, only);
        // After a total failure nobody remembers what was granted, nor how long leases were: the longest is waited for that can be. Before the
        // first epoch nothing was granted.
        let forgotten = match self.restarted_in {
            Some(_) if change.epoch.number > EpochNumber(1) => {
                self.started_at.map_or(u64::MAX, |started| started + LeaseLength::MAX.waited_out())
            }
            _ => 0,
        };
        granted.max(forgotten)
    }

    fn say_logged(&mut self, now: Now, outbox: &mut Outbox) {
        let MembershipState::Changing(change) = &self.state else { return };
        if !change.synced || change.said {
            return;
        }
        if now.boot < self.leases_over(change) {
            reached!("leases-waited-out");
            return;
        }
        let MembershipState::Changing(change) = &mut self.state else { return };
        change.said = true;
        change.logged.insert(self.site);
        self.send_progress(now, outbox);
        self.activate_if_complete(now, outbox);
    }

    /// Reports and `Logged`, to whoever may need them.
    fn send_progress(&mut self, now: Now, outbox: &mut Outbox) {
        let MembershipState::Changing(change) = &mut self.state else { return };
        change.sent_at = now.boot;
        let reports = now.boot >= change.report_at;
        if reports {
            change.report_at = now.boot + change.report_pause;
            change.report_pause *= 2;
        }
        let (epoch, proposal) = (change.epoch.number, change.epoch.proposal);
        let own = change.reports.get(&self.site).cloned();
        let (said, everybody) = (change.said, change.epoch.clone());
        let (logged, complete) = (change.logged.clone(), change.complete.clone());
        // A report may be large: it is encoded once for all.
        if let Some(report) = own.filter(|_| reports) {
            let lacking = everybody.others(self.site).filter(|site| !logged.contains(site));
            self.to_peers(lacking, ReplicationMessage::Report { epoch, proposal, report }, outbox);
        }
        for site in everybody.others(self.site) {
            if said && !complete.contains(&site) {
                self.to_peer(site, ReplicationMessage::Logged { epoch, proposal, complete: false }, outbox);
            } else if !said && !reports {
                // A sign of life; and the receiver may not have heard of the epoch.
                self.to_peer(site, ReplicationMessage::EpochIs { epoch: everybody.clone() }, outbox);
            }
        }
    }

    pub(crate) fn logged_came(
        &mut self,
        now: Now,
        from: SiteId,
        life: Incarnation,
        id: EpochId,
        complete: bool,
        outbox: &mut Outbox,
    ) {
        match &mut self.state {
            MembershipState::Changing(change) if change.is(id) && change.epoch.has(from, life) => {
                change.logged.insert(from);
                if complete {
                    change.complete.insert(from);
                    // Whoever serves has heard of all members that they have logged.
                    change.logged.extend(change.epoch.members.keys().copied().filter(|site| *site != self.site));
                }
                self.activate_if_complete(now, outbox);
            }
            MembershipState::Member(epoch) if epoch.id() == id => {
                if !complete {
                    let logged = ReplicationMessage::Logged { epoch: id.number, proposal: id.proposal, complete: true };
                    self.to_peer(from, logged, outbox);
                }
            }
            _ => self.answer_if_behind(now, from, id.number, outbox),
        }
    }

    /// Rule 8: nobody serves before every member has logged all outcomes and fail-locks.
    fn activate_if_complete(&mut self, now: Now, outbox: &mut Outbox) {
        let MembershipState::Changing(change) = &self.state else { return };
        let all = change.epoch.members.keys().all(|site| change.logged.contains(site))
            || planted!(self.planted, ServeBeforeAllLogged);
        if !change.said || !all || change.epoch.number <= self.sealed_through {
            return;
        }
        let epoch = change.epoch.clone();
        let state = epoch.members[&self.site].state;
        if epoch.members.len() == 1 {
            reached!("epoch-of-one");
        }
        self.state = MembershipState::Member(epoch.clone());
        self.fail_locks.enter(&epoch, self.site);
        self.joiners.entered(&epoch);
        self.copiers.enter(state == MemberState::Recovering || self.restarted_in.is_some());
        self.open_leases(&epoch, outbox);
        outbox.local(
            ServerKind::AtomicityController,
            Message::EpochRequest(EpochRequest::Activate { epoch: epoch.clone() }),
        );
        for site in epoch.others(self.site) {
            let logged = ReplicationMessage::Logged { epoch: epoch.number, proposal: epoch.proposal, complete: true };
            self.to_peer(site, logged, outbox);
        }
        self.tell_outcomes(outbox);
        if epoch.up().next() == Some(self.site) {
            let reply = ServiceReply::DropLeftovers { epoch: epoch.clone() };
            outbox.local(ServerKind::ActionDriver, Message::ServiceReply(reply));
        }
        outbox.local(ServerKind::Site, Message::Site(SiteNotice::Serving { epoch }));
        self.tick_copiers(now, outbox);
        self.answer_questions(now, outbox);
    }

    pub(crate) fn tick_change(&mut self, now: Now, outbox: &mut Outbox) {
        if !matches!(self.state, MembershipState::Changing(_)) {
            return;
        }
        self.say_logged(now, outbox);
        self.activate_if_complete(now, outbox);
        if let MembershipState::Changing(change) = &self.state
            && now.boot >= change.sent_at + RESEND
        {
            self.send_progress(now, outbox);
        }
    }
}
