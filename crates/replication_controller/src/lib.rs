//! Epochs seen from a site: leases, seals, changes of the epoch, fail-locks, copiers, coming back.
//!
//! Read-one-write-all-available: a member reads its own copy under leases from all other members, and every commit reaches all of them;
//! whoever is away is fail-locked for what it misses (rules 6 to 12 of the design; Raid 1989, sections III.D and IV). It decides
//! *whether* the site may serve and *which* items of whose copy are stale. It must not know rows, votes, sockets or disks: outcomes
//! come from the atomicity controller, copies from the access manager.
//!
//! A site is always in exactly one of three states (`MembershipState`): joining, changing into an epoch, or a member of an
//! active one (perhaps sealed). In reading order:
//!
//! * [`leases`]: what is held and owed, and whom silence makes us suspect;
//! * [`service`]: may the site serve now?
//! * [`proposal`]: from a suspicion to a new epoch at the oracle;
//! * [`change`]: from a new epoch at the oracle to serving in it;
//! * [`joining`]: coming back, and restarting after a total failure;
//! * [`fail_locks`]: what other sites miss, and [`stale_sets`], which they are made of; [`copier`]: refreshing what this one misses;
//! * [`outcomes`]: what became of the transactions of lives that were lost;
//! * [`marks`]: whether a log is the one that others were told of;
//! * [`replay`]: what a restart takes from the log; `plants`: what the simulator has this server do wrong.

pub mod change;
pub mod copier;
pub mod fail_locks;
pub mod joining;
pub mod leases;
pub mod limits;
pub mod marks;
pub mod outcomes;
mod plants;
pub mod proposal;
pub mod replay;
pub mod service;
pub mod stale_sets;
mod status;

pub use status::ReplicationStatus;

use change::EpochChange;
use copier::Copiers;
use fail_locks::FailLocks;
use joining::{JoinWish, Joiners};
use leases::Leases;
use marks::Marks;
use messages::commit::EpochReply;
use messages::epoch::EpochId;
use messages::lease::OWN_PAUSE;
use messages::log_record::LogRecord;
use messages::oracle::{OracleReply, OracleRequest};
use messages::planted::Planted;
use messages::replication::{ReplicationMessage, SiteNotice};
use messages::server::ORACLE_SITE;
use messages::{
    Envelope, Epoch, EpochNumber, Incarnation, LeaseLength, LogPoint, MemberState, Message, Now, OracleLife, Outbox,
    Server, ServerKind, SiteId,
};
use messages::{planted, reached};
use outcomes::LostLifeOutcomes;
use proposal::{Proposals, SealAsked, Whole};
use replay::LogTail;
use serde::{Deserialize, Serialize};
use service::Questions;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the site is with respect to epochs.
#[derive(Serialize, Deserialize)]
pub(crate) enum MembershipState {
    /// In no epoch in this life, or not yet.
    Joining,
    /// A member of an epoch that not all members have logged yet.
    Changing(EpochChange),
    /// A member of an active epoch; sealed when `sealed_through` has reached it.
    Member(Arc<Epoch>),
}

/// What to do when the log is synced up to a token.
#[derive(Serialize, Deserialize)]
pub(crate) enum EpochContinuation {
    /// The empty copy of an instance without an epoch is on disk.
    Empty(Arc<Epoch>),
    /// The outcomes and fail-locks of this epoch are on disk.
    Logged(EpochNumber),
    /// A mark is on disk.
    Marked(LogPoint),
    /// Everything that commits in this epoch at or below this clock is on disk, and a mark behind it: tell the others.
    Through(EpochNumber, u64, LogPoint),
    /// These refreshed items are on disk, and a mark behind them: tell the others.
    Refreshed(Vec<messages::Item>, Vec<messages::TableId>, LogPoint),
    /// Nothing is stale any more in this epoch, and that is on disk, and a mark behind it.
    Current(EpochNumber, LogPoint),
    /// The seal of this epoch is on disk, and everything that was voted for in it: tell who proposes.
    Sealed(SealAsked),
}

/// The replication controller of one site.
#[derive(Serialize, Deserialize)]
pub struct ReplicationController {
    pub(crate) site: SiteId,
    pub(crate) incarnation: Incarnation,
    pub(crate) planted: Planted,
    /// How long the leases are that this life asks for now.
    pub(crate) lease: LeaseLength,
    pub(crate) state: MembershipState,
    /// The highest epoch known to exist.
    pub(crate) known: Option<Arc<Epoch>>,
    /// The last epoch whose outcomes and fail-locks are logged here, by this life or an earlier one.
    pub(crate) logged: Option<Arc<Epoch>>,
    /// The life that logged it.
    pub(crate) logged_by: Option<Incarnation>,
    /// This life has logged an epoch: it takes part.
    pub(crate) took_part: bool,
    /// The first epoch that this life logged, when it carries on from an earlier life's log, until the copy is whole.
    pub(crate) restarted_in: Option<EpochNumber>,
    /// Since which epoch this copy takes part without a break.
    pub(crate) joined: EpochNumber,
    /// The chain of epochs, oldest first.
    pub(crate) chain: Vec<EpochId>,
    /// Parents of the epochs that this site has tried to enter since it last logged one.
    pub(crate) attempted: Vec<EpochId>,
    /// No vote, no grant in this epoch or any before.
    pub(crate) sealed_through: EpochNumber,
    /// Since when the present epoch is sealed (boot clock).
    pub(crate) sealed_at: u64,
    pub(crate) leases: Leases,
    pub(crate) proposals: Proposals,
    pub(crate) joiners: Joiners,
    pub(crate) fail_locks: FailLocks,
    pub(crate) outcomes: LostLifeOutcomes,
    pub(crate) marks: Marks,
    pub(crate) copiers: Copiers,
    pub(crate) questions: Questions,
    pub(crate) tail: LogTail,
    pub(crate) after_sync: BTreeMap<u64, EpochContinuation>,
    pub(crate) next_token: u64,
    /// The first tick: a replay reads no clock.
    pub(crate) started_at: Option<u64>,
    pub(crate) oracle_read_at: u64,
    /// The oracle's process that this site follows, and the tag of its last answer.
    pub(crate) oracle: Option<(OracleLife, u64)>,
    pub(crate) ticked_at: u64,
    pub(crate) synced_noted_at: u64,
    /// Somebody has synced something since then.
    pub(crate) synced_unnoted: bool,
    pub(crate) halted: bool,
    /// The disk does not finish a sync: as good as a pause of this site, until it does.
    pub(crate) disk_stalled: bool,
}

impl ReplicationController {
    /// A controller of this life of a site. `sites` are all sites of the instance, as configured; it asks for leases of length `lease`.
    pub fn new(
        site: SiteId,
        incarnation: Incarnation,
        sites: &[SiteId],
        lease: LeaseLength,
        planted: Planted,
    ) -> ReplicationController {
        ReplicationController {
            site,
            incarnation,
            planted,
            lease,
            state: MembershipState::Joining,
            known: None,
            logged: None,
            logged_by: None,
            took_part: false,
            restarted_in: None,
            joined: EpochNumber(0),
            chain: Vec::new(),
            attempted: Vec::new(),
            sealed_through: EpochNumber(0),
            sealed_at: 0,
            leases: Leases::default(),
            proposals: Proposals::default(),
            joiners: Joiners::new(site, sites),
            fail_locks: FailLocks::default(),
            outcomes: LostLifeOutcomes::default(),
            marks: Marks::default(),
            copiers: Copiers::default(),
            questions: Questions::default(),
            tail: LogTail::default(),
            after_sync: BTreeMap::new(),
            next_token: 1,
            started_at: None,
            oracle_read_at: 0,
            oracle: None,
            ticked_at: 0,
            synced_noted_at: 0,
            synced_unnoted: false,
            halted: false,
            disk_stalled: false,
        }
    }

    /// What `raid status` shows.
    pub fn status(&self) -> ReplicationStatus {
        let state = match &self.state {
            _ if self.halted => "halted",
            _ if self.disk_stalled => "disk stalled",
            MembershipState::Joining => "joining",
            MembershipState::Changing(_) => "changing",
            MembershipState::Member(epoch) if self.sealed_through >= epoch.number => "sealed",
            MembershipState::Member(epoch) => match epoch.member(self.site).map(|member| member.state) {
                Some(MemberState::Up) => "up",
                _ => "recovering",
            },
        };
        ReplicationStatus {
            epoch: self.known.clone(),
            state: Cow::Borrowed(state),
            fail_locks: self.fail_locks.counts(),
            is_current: self.copiers.is_current(),
            stale: self.copiers.left(),
            copied_bytes: self.copiers.bytes(),
            unsynced_commits: self.fail_locks.recent_len() as u64,
            round_trips: self.leases.round_trips(),
            set_back: self.marks.set_back,
        }
    }

    /// The epoch in which this site may vote and grant.
    pub(crate) fn serving(&self) -> Option<&Arc<Epoch>> {
        match &self.state {
            MembershipState::Member(epoch)
                if epoch.number > self.sealed_through && !self.halted && !self.disk_stalled =>
            {
                Some(epoch)
            }
            _ => None,
        }
    }

    /// Whether this life is an up member of the epoch with a whole copy, so that it may propose the next one. After a total failure
    /// nobody is before it has logged what all have brought, and has what its own log had lost: others may be all that has it. Who was recovering
    /// in the epoch before is not before it has logged this one: of what it had voted for then it could not check all, those who were up could.
    pub(crate) fn is_up_in(&self, epoch: &Epoch) -> bool {
        let was_up =
            |logged: &Arc<Epoch>| logged.members.get(&self.site).is_some_and(|own| own.state == MemberState::Up);
        let could_check = self.logged.as_ref().is_some_and(was_up) || planted!(self.planted, PromotedDecidesAlone);
        epoch.has(self.site, self.incarnation)
            && (self.is_whole_in(epoch) && could_check || planted!(self.planted, RecoveringFormsEpoch))
    }

    /// Up, and nothing that its log had lost is missing any more.
    pub(crate) fn is_whole_in(&self, epoch: &Epoch) -> bool {
        epoch.members[&self.site].state == MemberState::Up && self.took_part && self.restarted_in.is_none()
    }

    pub(crate) fn to_peer(&self, site: SiteId, message: ReplicationMessage, outbox: &mut Outbox) {
        self.to_peers([site], message, outbox);
    }

    pub(crate) fn to_peers(
        &self,
        sites: impl IntoIterator<Item = SiteId>,
        message: ReplicationMessage,
        outbox: &mut Outbox,
    ) {
        let epoch = self.known.as_ref().map_or(EpochNumber(0), |epoch| epoch.number);
        outbox.multicast(sites, ServerKind::ReplicationController, epoch, Message::Replication(message));
    }

    pub(crate) fn to_oracle(&self, request: OracleRequest, outbox: &mut Outbox) {
        outbox.remote(ORACLE_SITE, ServerKind::Oracle, EpochNumber(0), Message::Oracle(request));
    }

    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    pub(crate) fn sync_then(&mut self, then: EpochContinuation, outbox: &mut Outbox) {
        let token = self.token();
        self.after_sync.insert(token, then);
        outbox.sync(token);
    }

    pub(crate) fn read_oracle(&mut self, now: Now, outbox: &mut Outbox) {
        if now.boot < self.oracle_read_at + limits::ORACLE_READ_INTERVAL {
            return;
        }
        self.oracle_read_at = now.boot;
        self.confirm(outbox);
    }

    fn confirm(&mut self, outbox: &mut Outbox) {
        let tag = self.token();
        // The highest epoch that this site knows goes along: an oracle that was set back learns it from its members.
        let epoch = self.known.clone();
        let carried = epoch.as_ref().is_some_and(|known| self.carries(known));
        let oracle = self.oracle.map(|(life, _)| life);
        self.to_oracle(OracleRequest::Confirm { tag, epoch, carried, oracle }, outbox);
    }

    /// Whether this site is up in the epoch and has logged it. Somebody may have served in it then.
    pub(crate) fn carries(&self, epoch: &Epoch) -> bool {
        self.logged.as_ref().is_some_and(|logged| {
            (logged.number, logged.proposal) == (epoch.number, epoch.proposal)
                && logged.member(self.site).is_some_and(|member| member.state == MemberState::Up)
        })
    }

    /// The oracle has answered. To a new process of it this site confirms what it knows; what an earlier one gave, this site does not know
    /// and the new one may have forgotten, it does not go on into any more. Returns whether the answer counts.
    fn follows(&mut self, life: OracleLife, tag: u64, now: Now, outbox: &mut Outbox) -> bool {
        let late = self.oracle.is_some_and(|(followed, last)| followed != life && tag < last);
        if late {
            return false;
        }
        let new = self.oracle.is_none_or(|(followed, _)| followed != life);
        self.oracle = Some((life, tag));
        if new {
            self.proposals.abandon();
            self.oracle_read_at = now.boot;
            self.confirm(outbox);
        }
        true
    }

    /// A peer names an epoch. What contradicts this site, or an earlier oracle gave, only the oracle can tell.
    fn epoch_told(&mut self, now: Now, epoch: Arc<Epoch>, outbox: &mut Outbox) {
        let known = self.known.as_ref();
        let another = known.is_some_and(|known| known.number == epoch.number && known.proposal != epoch.proposal);
        let newer = known.is_none_or(|known| known.number < epoch.number);
        let earlier = newer && self.oracle.is_some_and(|(life, _)| life != epoch.oracle);
        if another || earlier {
            self.read_oracle(now, outbox);
        } else {
            self.learn(now, epoch, outbox);
        }
    }

    pub(crate) fn halt(&mut self, reason: String, outbox: &mut Outbox) {
        if !std::mem::replace(&mut self.halted, true) {
            outbox.local(ServerKind::Site, Message::Site(SiteNotice::Halt { reason }));
        }
    }

    pub(crate) fn start_again(&mut self, reason: &str, outbox: &mut Outbox) {
        self.end_life(reason.to_owned(), false, outbox);
    }

    fn end_life(&mut self, reason: String, repeated: bool, outbox: &mut Outbox) {
        if !std::mem::replace(&mut self.halted, true) {
            outbox.local(ServerKind::Site, Message::Site(SiteNotice::StartAgain { reason, repeated }));
        }
    }

    /// Whether the log shows that this life belonged to an epoch before the process started, or an epoch has a later one.
    fn is_spent(&self) -> bool {
        let kept = planted!(self.planted, RebootKeepsIncarnation) || planted!(self.planted, SealOnlyInMemory);
        let shown = self.known.as_ref().and_then(|known| known.member(self.site)).map(|member| member.incarnation);
        let written =
            shown.max(self.logged_by) >= Some(self.incarnation) || self.marks.known.lineage.has_life(self.incarnation);
        let logged = self.started_at.is_none() && written;
        matches!(self.state, MembershipState::Joining) && !kept && (logged || shown > Some(self.incarnation))
    }

    fn peer_message(&mut self, now: Now, envelope: Envelope, message: ReplicationMessage, outbox: &mut Outbox) {
        let from = envelope.from_site;
        let life = envelope.incarnation;
        self.joiners.heard(from, life, now);
        if self.leases.is_present_life(from, life) {
            self.leases.heard(from, now);
        }
        if envelope.epoch > self.known.as_ref().map_or(EpochNumber(0), |epoch| epoch.number) {
            self.read_oracle(now, outbox);
        }
        match message {
            ReplicationMessage::Join { last, reachable, marks, .. } => {
                self.join_asked(now, from, JoinWish { life, last, reachable, marks, at: now.boot }, outbox);
            }
            ReplicationMessage::EpochIs { epoch } => self.epoch_told(now, epoch, outbox),
            ReplicationMessage::Seal { epoch, proposal } => {
                self.seal_asked(now, SealAsked { proposer: from, epoch, proposal }, outbox);
            }
            ReplicationMessage::Sealed { epoch, proposal, current, mark } => {
                self.sealed_came(
                    now,
                    from,
                    life,
                    EpochId { number: epoch, proposal },
                    Whole { current, mark: mark.number },
                    outbox,
                );
            }
            ReplicationMessage::Report { epoch, proposal, report } => {
                self.report_came(now, from, life, EpochId { number: epoch, proposal }, report, outbox);
            }
            ReplicationMessage::Logged { epoch, proposal, complete } => {
                self.logged_came(now, from, life, EpochId { number: epoch, proposal }, complete, outbox);
            }
            inside => self.member_message(now, &Header::of(&envelope), inside, outbox),
        }
    }

    /// Messages that only members of the same active epoch exchange.
    fn member_message(&mut self, now: Now, header: &Header, message: ReplicationMessage, outbox: &mut Outbox) {
        let Some(epoch) = self.serving().cloned() else { return };
        let from = header.from;
        if header.epoch != epoch.number || !epoch.has(from, header.incarnation) {
            if header.epoch < epoch.number {
                self.to_peer(from, ReplicationMessage::EpochIs { epoch }, outbox);
            }
            return;
        }
        match message {
            ReplicationMessage::SyncedThrough { clock, mark } => {
                self.marks.hear(from, mark);
                self.fail_locks.synced(from, (epoch.number, clock));
                self.synced_unnoted = true;
            }
            ReplicationMessage::Refreshed { items, storages, everything, mark } => {
                self.marks.hear(from, mark);
                self.fail_locks.refreshed(from, &items, &storages, everything);
            }
            ReplicationMessage::CopyRequest { tag, wanted } => self.copy_asked(from, tag, wanted, outbox),
            ReplicationMessage::CopyReply { tag, copies } => self.copies_came(now, tag, copies, outbox),
            ReplicationMessage::Current => {
                self.joiners.current(from, header.incarnation);
            }
            _ => {}
        }
    }

    fn oracle_reply(&mut self, now: Now, reply: OracleReply, outbox: &mut Outbox) {
        match reply {
            OracleReply::EpochRead { tag, epoch, unconfirmed, oracle } => {
                if !self.follows(oracle, tag, now, outbox) {
                    return;
                }
                self.proposals.oracle_answered();
                if !unconfirmed.is_empty() {
                    // It is told what this site knows, and asked again.
                    self.proposals.oracle_waits(&unconfirmed);
                    self.give_up_another(&epoch, outbox);
                    return;
                }
                let behind = self.known.as_ref().is_some_and(|known| epoch.number < known.number);
                if behind {
                    // Rule 13: an oracle older than our log decides nothing; it has our epoch now and asks the others.
                    tracing::warn!(oracle = %epoch.number, "the oracle is older than this site's log");
                    return;
                }
                self.learn(now, epoch.clone(), outbox);
                if !self.halted {
                    self.oracle_read(now, &epoch, outbox);
                }
            }
            OracleReply::EpochSwapped { tag, won, epoch, unconfirmed } => {
                self.swap_answered(now, tag, won, epoch, &unconfirmed, outbox);
            }
            _ => {}
        }
    }

    fn synced(&mut self, now: Now, token: u64, outbox: &mut Outbox) {
        match self.after_sync.remove(&token) {
            Some(EpochContinuation::Empty(epoch)) => self.empty_copy_is_logged(epoch),
            Some(EpochContinuation::Logged(epoch)) => self.logged_is_synced(now, epoch, outbox),
            Some(EpochContinuation::Marked(mark)) => self.mark_is_synced(mark),
            Some(EpochContinuation::Through(epoch, clock, mark)) => self.own_synced(now, epoch, clock, mark, outbox),
            Some(EpochContinuation::Refreshed(items, storages, mark)) => {
                self.tell_refreshed(items, storages, mark, outbox)
            }
            Some(EpochContinuation::Current(epoch, mark)) => self.tell_current(epoch, mark, outbox),
            Some(EpochContinuation::Sealed(asked)) => self.seal_is_synced(now, asked, outbox),
            None => {}
        }
    }

    fn site_notice(&mut self, now: Now, notice: SiteNotice) {
        match notice {
            SiteNotice::PeerLost { site } => self.leases.lost(site, now),
            // Whenever the oracle is back it is told what this site knows: it may have been set back.
            SiteNotice::PeerFound { site: ORACLE_SITE, .. } => self.oracle_read_at = 0,
            SiteNotice::DiskStalled { stalled } => {
                self.disk_stalled = stalled;
                let what = if stalled {
                    "the disk does not finish a sync: leases are given up"
                } else {
                    "the disk works again"
                };
                tracing::warn!("{what}");
            }
            SiteNotice::RestartAlone => self.joiners.may_restart_alone(),
            SiteNotice::PeerFound { site, incarnation } => {
                self.joiners.heard(site, incarnation, now);
                if self.leases.is_present_life(site, incarnation) {
                    self.leases.found(site, now);
                }
            }
            _ => {}
        }
    }

    fn epoch_reply(&mut self, now: Now, reply: EpochReply, outbox: &mut Outbox) {
        match reply {
            EpochReply::TransactionsReported { tag, report, homes } => {
                self.transactions_reported(now, tag, &report, homes, outbox);
            }
            EpochReply::Resolved { epoch, committed, commits } => {
                self.resolved(now, epoch, committed, &commits, outbox);
            }
            EpochReply::Committed { timestamp, history } => self.committed(timestamp, history),
            EpochReply::LoggedThrough { epoch, clock } => self.sync_through(epoch, clock, outbox),
            EpochReply::SilentVoter { site } => {
                reached!("silent-voter");
                if !planted!(self.planted, SilentVoterKept) {
                    self.accuse(site, outbox);
                }
            }
        }
    }
}

/// The part of an envelope that says who speaks.
pub(crate) struct Header {
    pub(crate) from: SiteId,
    pub(crate) epoch: EpochNumber,
    pub(crate) incarnation: Incarnation,
}

impl Header {
    fn of(envelope: &Envelope) -> Header {
        Header { from: envelope.from_site, epoch: envelope.epoch, incarnation: envelope.incarnation }
    }
}

impl Server for ReplicationController {
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox) {
        if self.halted {
            return;
        }
        match envelope.message {
            Message::Replication(_) if self.disk_stalled => return,
            Message::Replication(ref message) => {
                let message = message.clone();
                self.peer_message(now, envelope, message, outbox);
            }
            Message::OracleReply(reply) => self.oracle_reply(now, reply, outbox),
            Message::EpochReply(reply) => self.epoch_reply(now, reply, outbox),
            Message::Service(request) => self.service_asked(now, request, outbox),
            Message::AccessReply(reply) => self.access_reply(now, reply, outbox),
            Message::Site(notice) => self.site_notice(now, notice),
            Message::Synced(token) => self.synced(now, token, outbox),
            Message::Checkpoint => self.checkpoint(outbox),
            Message::LeaseNews(news) => self.lease_news(now, &news, outbox),
            other => tracing::error!(?other, "not a message for a replication controller"),
        }
        self.tick_joining(now, outbox);
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if self.halted || self.disk_stalled {
            self.answer_questions(now, outbox);
            return;
        }
        if self.is_spent() {
            // The oracle hears of it before it is asked for another.
            self.confirm(outbox);
            return self.end_life("this life was given out before: the oracle was set back".to_owned(), true, outbox);
        }
        self.started_at.get_or_insert(now.boot);
        self.begin_life(outbox);
        if now.boot > self.ticked_at + OWN_PAUSE {
            // It was this site that was away: the others are given time to be heard. In an epoch that is active the keeper of leases hears them,
            // and knows better than the servers whether anybody was listening.
            if let MembershipState::Changing(change) = &mut self.state {
                change.forgive(now);
                self.leases.forgive(now);
            }
        }
        self.ticked_at = now.boot;
        if now.boot >= self.oracle_read_at + limits::CONFIRM_INTERVAL {
            self.read_oracle(now, outbox);
        }
        if matches!(self.state, MembershipState::Member(_)) {
            self.note_synced(now, outbox);
        }
        self.outcomes.forget_old(now);
        self.tick_joining(now, outbox);
        self.tick_change(now, outbox);
        self.tick_proposal(now, outbox);
        self.tick_copiers(now, outbox);
        self.answer_questions(now, outbox);
    }

    fn replay(&mut self, record: &LogRecord, outbox: &mut Outbox) {
        self.replay_record(record, outbox);
    }
}
