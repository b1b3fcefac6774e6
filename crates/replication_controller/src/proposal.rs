//! From a suspicion, a joiner or a recovered copy to a new epoch at the oracle (rule 7, first half).
//!
//! Read the oracle, seal the old epoch at whoever answers, swap. Only an up member proposes; the oracle is read before anything is sealed, so
//! its absence disturbs nobody. A swap whose answer is lost is sent again: it is settled by its proposal identifier.

use crate::{EpochContinuation, MembershipState, ReplicationController, limits};
use messages::epoch::{EpochId, Member, ProposalId};
use messages::lease::SEAL_ANSWER;
use messages::limits::RESEND;
use messages::log_record::LogRecord;
use messages::oracle::OracleRequest;
use messages::planted;
use messages::replication::ReplicationMessage;
use messages::{Epoch, EpochNumber, Incarnation, MemberState, Message, Now, OracleLife, Outbox, ServerKind, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far a proposal is.
#[derive(Serialize, Deserialize)]
enum ProposalStage {
    /// Waiting for the oracle's epoch.
    Reading,
    /// Sealing the old epoch; who answered, in which life, and whether its copy is current.
    Sealing { sealed: BTreeMap<SiteId, Whole> },
    /// The oracle was asked to swap.
    Swapping { tag: u64, epoch: Arc<Epoch> },
}

/// The proposal under way at this site.
#[derive(Serialize, Deserialize)]
struct Proposal {
    id: ProposalId,
    /// The epoch to replace.
    base: Arc<Epoch>,
    /// Whom to seal.
    candidates: Vec<SiteId>,
    stage: ProposalStage,
    stage_since: u64,
    sent_at: u64,
}

/// What a member says of its copy when it has sealed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Whole {
    /// It is current: the member may be up.
    pub(crate) current: bool,
    /// The number of a mark of its life that is on disk.
    pub(crate) mark: u64,
}

/// Who asks for which epoch to be sealed, for which proposal.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealAsked {
    pub(crate) proposer: SiteId,
    pub(crate) epoch: EpochNumber,
    pub(crate) proposal: ProposalId,
}

/// Proposals of this site.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Proposals {
    under_way: Option<Proposal>,
    sequence: u64,
    /// Since when there is a reason to propose (boot clock).
    wanted_since: Option<u64>,
    /// Not before (boot clock).
    not_before: u64,
    /// Since when a restart lacks a member (boot clock).
    lost_since: Option<u64>,
    /// Since when the oracle was asked for a change and has said nothing (boot clock).
    oracle_asked_since: Option<u64>,
    /// The operator has been told so.
    oracle_missed: bool,
    /// For whom the oracle waits, as the operator was told last.
    unconfirmed: Vec<SiteId>,
}

impl Proposals {
    /// Gives up whatever is under way: a newer epoch is known.
    pub(crate) fn drop_below(&mut self, known: EpochNumber) {
        if self.under_way.as_ref().is_some_and(|proposal| proposal.base.number < known) {
            self.under_way = None;
        }
        self.wanted_since = None;
    }

    /// Gives up whatever is under way: it was for an earlier process of the oracle. What became of it, a reading tells.
    pub(crate) fn abandon(&mut self) {
        self.under_way = None;
    }

    /// Whether a change of the set of sites waits for an oracle that does not answer.
    pub(crate) fn lacks_oracle(&self, now: Now) -> bool {
        self.oracle_asked_since.is_some_and(|since| now.boot >= since + SEAL_ANSWER)
    }

    /// The oracle was asked for something that a change needs.
    fn oracle_asked(&mut self, now: Now) {
        self.oracle_asked_since.get_or_insert(now.boot);
    }

    /// The oracle does nothing before these sites have confirmed; the operator is told when they are others than before.
    pub(crate) fn oracle_waits(&mut self, unconfirmed: &[SiteId]) {
        if self.unconfirmed != unconfirmed {
            tracing::warn!(
                ?unconfirmed,
                "the oracle waits for these sites to confirm its epoch; `raid oracle --lost N` does without one that is lost for good"
            );
            self.unconfirmed = unconfirmed.to_vec();
        }
    }

    /// The oracle has answered something.
    pub(crate) fn oracle_answered(&mut self) {
        self.oracle_asked_since = None;
        self.oracle_missed = false;
    }

    /// Tells the operator, once in each absence.
    fn miss_oracle(&mut self, now: Now) {
        if self.lacks_oracle(now) && !std::mem::replace(&mut self.oracle_missed, true) {
            tracing::warn!("the oracle does not answer: until it does, the set of sites cannot be changed");
        }
    }
}

impl ReplicationController {
    pub(crate) fn tick_proposal(&mut self, now: Now, outbox: &mut Outbox) {
        if planted!(self.planted, SealedUnseals) {
            self.unseal(now, outbox);
        }
        if self.proposals.under_way.is_some() {
            self.push_proposal(now, outbox);
            return;
        }
        let Some(base) = self.known.clone() else { return };
        if !self.is_up_in(&base) {
            return self.restart_again(&base, now, outbox);
        }
        if matches!(self.state, MembershipState::Joining) {
            return;
        }
        if !self.wants_change(&base, now) {
            self.proposals.wanted_since = None;
            return;
        }
        let since = *self.proposals.wanted_since.get_or_insert(now.boot);
        if now.boot >= since + self.turn(&base, now) && now.boot >= self.proposals.not_before {
            self.propose(now, base, outbox);
        }
    }

    /// The epoch has lost a member before this one may end it: it restarts the instance, or makes a recovering member up, which has not learnt yet what
    /// the others know. Only all of them together can restart it.
    fn restart_again(&mut self, base: &Epoch, now: Now, outbox: &mut Outbox) {
        let restarting = base.has(self.site, self.incarnation) && base.members[&self.site].state == MemberState::Up;
        // A member that is heard of and merely slow is waited for: nobody else can serve meanwhile.
        let suspects = self.leases.suspects(self.lease, now);
        let gone = |site: SiteId| {
            suspects.contains(&site) || self.joiners.has_later_life(site, base.members[&site].incarnation)
        };
        let lost = base.others(self.site).any(gone);
        if !restarting || !lost || matches!(self.state, MembershipState::Joining) {
            self.proposals.lost_since = None;
            return;
        }
        let since = *self.proposals.lost_since.get_or_insert(now.boot);
        if now.boot >= since + limits::RESTART_PATIENCE {
            self.start_again(
                "the epoch has lost a member that it cannot begin without: they restart it together",
                outbox,
            );
        }
    }

    fn wants_change(&self, base: &Arc<Epoch>, now: Now) -> bool {
        if !self.leases.suspects(self.lease, now).is_empty() {
            return true;
        }
        // Whoever sealed it may have given up, in the middle of a change too: then nobody else ends this epoch.
        let sealed = base.number <= self.sealed_through;
        match &self.state {
            _ if sealed && now.boot >= self.sealed_at + self.lease.seal_patience() => true,
            MembershipState::Changing(change) => !change.holding_up(self.site, now).is_empty(),
            _ if sealed => false,
            _ => self.joiners.wants_change(base, &self.reachable_members(base, now), now),
        }
    }

    /// Members that are not suspected, the own site included.
    fn reachable_members(&self, base: &Epoch, now: Now) -> Vec<SiteId> {
        let mut suspects = self.leases.suspects(self.lease, now);
        if let MembershipState::Changing(change) = &self.state {
            suspects.extend(change.holding_up(self.site, now));
        }
        let alive = |(site, member): (&SiteId, &Member)| {
            let gone = suspects.contains(site) || self.joiners.has_later_life(*site, member.incarnation);
            (!gone).then_some(*site)
        };
        base.members.iter().filter_map(alive).collect()
    }

    /// How long to let others propose first: members in order, minorities later.
    fn turn(&self, base: &Epoch, now: Now) -> u64 {
        let reachable = self.reachable_members(base, now);
        let ahead = reachable.iter().filter(|site| **site < self.site && base.up().any(|up| up == **site)).count();
        let minority = 2 * reachable.len() <= base.members.len() && base.members.len() > 2;
        ahead as u64 * limits::PROPOSE_STAGGER
            + if minority { limits::minority_patience(self.longest_lease()) } else { 0 }
    }

    fn propose(&mut self, now: Now, base: Arc<Epoch>, outbox: &mut Outbox) {
        self.proposals.sequence += 1;
        let id = ProposalId { site: self.site, incarnation: self.incarnation, sequence: self.proposals.sequence };
        let candidates = self.reachable_members(&base, now);
        for site in base.members.keys().filter(|site| !candidates.contains(site)) {
            let complaint = self.leases.complaint(*site, self.lease, now);
            let why = complaint.unwrap_or("it has begun a new life, or holds up the change of epochs");
            tracing::warn!(without = %site, epoch = %base.number, "the members are to change: {why}");
        }
        let proposal =
            Proposal { id, base, candidates, stage: ProposalStage::Reading, stage_since: now.boot, sent_at: now.boot };
        self.proposals.under_way = Some(proposal);
        self.oracle_read_at = 0;
        self.proposals.oracle_asked(now);
        self.read_oracle(now, outbox);
    }

    /// The oracle's epoch is the one to replace: seal it.
    pub(crate) fn oracle_read(&mut self, now: Now, epoch: &Arc<Epoch>, outbox: &mut Outbox) {
        self.restart_if_complete(now, epoch, outbox);
        let Some(proposal) = &mut self.proposals.under_way else { return };
        let ProposalStage::Reading = proposal.stage else { return };
        if (epoch.number, epoch.proposal) != (proposal.base.number, proposal.base.proposal) {
            return;
        }
        proposal.stage = ProposalStage::Sealing { sealed: BTreeMap::new() };
        proposal.stage_since = now.boot;
        proposal.sent_at = now.boot;
        self.send_seals(now, outbox);
    }

    fn send_seals(&mut self, now: Now, outbox: &mut Outbox) {
        let Some(proposal) = &self.proposals.under_way else { return };
        let ProposalStage::Sealing { sealed } = &proposal.stage else { return };
        let (number, id) = (proposal.base.number, proposal.id);
        let missing: Vec<SiteId> =
            proposal.candidates.iter().copied().filter(|site| !sealed.contains_key(site)).collect();
        for site in missing {
            if site == self.site {
                self.seal_asked(now, SealAsked { proposer: site, epoch: number, proposal: id }, outbox);
            } else {
                self.to_peer(site, ReplicationMessage::Seal { epoch: number, proposal: id }, outbox);
            }
        }
    }

    /// Seals this site's epoch. A seal is logged, and never taken back. It is told when it is on disk, and all that this site has voted
    /// for before it: a new epoch, though it may fail before it has logged anything, finds that at each of its members after a loss of
    /// power everywhere.
    pub(crate) fn seal_asked(&mut self, now: Now, asked: SealAsked, outbox: &mut Outbox) {
        let Some(known) = self.known.clone() else { return };
        if known.number > asked.epoch {
            self.to_peer(asked.proposer, ReplicationMessage::EpochIs { epoch: known }, outbox);
            return;
        }
        if known.number < asked.epoch {
            self.read_oracle(now, outbox);
            return;
        }
        if !known.has(self.site, self.incarnation) {
            return;
        }
        self.seal(now, asked.epoch, outbox);
        let again = |then: &EpochContinuation| matches!(then, EpochContinuation::Sealed(before) if *before == asked);
        if !self.after_sync.values().any(again) {
            self.sync_then(EpochContinuation::Sealed(asked), outbox);
        }
    }

    /// The seal is on disk. It counts if nothing has come after it.
    pub(crate) fn seal_is_synced(&mut self, now: Now, asked: SealAsked, outbox: &mut Outbox) {
        let SealAsked { proposer, epoch, proposal } = asked;
        let Some(known) = &self.known else { return };
        if known.number != epoch || !known.has(self.site, self.incarnation) || self.sealed_through < epoch {
            return;
        }
        let current = match known.members[&self.site].state {
            MemberState::Up => self.is_whole_in(known),
            MemberState::Recovering => self.copiers.is_current(),
        };
        let mark = self.marks.on_disk();
        if proposer == self.site {
            let (site, life) = (self.site, self.incarnation);
            self.sealed_came(
                now,
                site,
                life,
                EpochId { number: epoch, proposal },
                Whole { current, mark: mark.number },
                outbox,
            );
        } else {
            self.to_peer(proposer, ReplicationMessage::Sealed { epoch, proposal, current, mark }, outbox);
        }
    }

    /// No vote and no grant in this epoch any more.
    pub(crate) fn seal(&mut self, now: Now, epoch: EpochNumber, outbox: &mut Outbox) {
        if self.sealed_through >= epoch {
            return;
        }
        self.sealed_through = epoch;
        self.sealed_at = now.boot;
        outbox.append(LogRecord::Sealed { epoch });
        self.close_leases(outbox);
        if let MembershipState::Member(_) = &self.state {
            let seal = messages::commit::EpochRequest::Seal { epoch };
            outbox.local(ServerKind::AtomicityController, Message::EpochRequest(seal));
        }
    }

    pub(crate) fn sealed_came(
        &mut self,
        now: Now,
        from: SiteId,
        life: Incarnation,
        id: EpochId,
        whole: Whole,
        outbox: &mut Outbox,
    ) {
        let Some(proposal) = &mut self.proposals.under_way else { return };
        let ProposalStage::Sealing { sealed } = &mut proposal.stage else { return };
        if proposal.id != id.proposal || proposal.base.number != id.number || !proposal.base.has(from, life) {
            return;
        }
        sealed.insert(from, whole);
        if sealed.len() == proposal.candidates.len() {
            self.swap(now, outbox);
        }
    }

    /// Up in the new epoch: sealed members whose copy is current. All others join as recovering.
    fn swap(&mut self, now: Now, outbox: &mut Outbox) {
        let reachable_joiners = self.joiners.clone_ready(now);
        let Some(proposal) = &mut self.proposals.under_way else { return };
        let ProposalStage::Sealing { sealed } = &proposal.stage else { return };
        let base = &proposal.base;
        let mut epoch = Epoch::clone(base);
        epoch.number = base.number.next();
        epoch.parent = base.proposal;
        epoch.proposal = proposal.id;
        epoch.oracle = self.oracle.map_or(OracleLife(0), |(life, _)| life);
        epoch.restart = false;
        epoch.members.retain(|site, _| sealed.contains_key(site));
        for (site, whole) in sealed {
            if let Some(member) = epoch.members.get_mut(site) {
                member.state = if whole.current { MemberState::Up } else { MemberState::Recovering };
                member.mark = whole.mark;
            }
        }
        if planted!(self.planted, RecoveringFormsEpoch) {
            crate::plants::take_for_up(&mut epoch, self.site);
        }
        take_in(&mut epoch, &reachable_joiners);
        let tag = now.boot.max(1);
        let expected = base.id();
        let epoch = Arc::new(epoch);
        proposal.stage = ProposalStage::Swapping { tag, epoch: epoch.clone() };
        proposal.stage_since = now.boot;
        proposal.sent_at = now.boot;
        self.proposals.oracle_asked(now);
        self.to_oracle(OracleRequest::SwapEpoch { tag, expected, epoch }, outbox);
    }

    /// After a total failure: all up members of the last epoch are back, so their logs together form the next one.
    pub(crate) fn propose_restart(&mut self, now: Now, base: Arc<Epoch>, epoch: Epoch, outbox: &mut Outbox) {
        self.proposals.sequence += 1;
        let id = ProposalId { site: self.site, incarnation: self.incarnation, sequence: self.proposals.sequence };
        let oracle = self.oracle.map_or(OracleLife(0), |(life, _)| life);
        let epoch = Arc::new(Epoch { proposal: id, oracle, ..epoch });
        let tag = now.boot.max(1);
        let expected = base.id();
        self.proposals.under_way = Some(Proposal {
            id,
            base,
            candidates: Vec::new(),
            stage: ProposalStage::Swapping { tag, epoch: epoch.clone() },
            stage_since: now.boot,
            sent_at: now.boot,
        });
        self.to_oracle(OracleRequest::SwapEpoch { tag, expected, epoch }, outbox);
    }

    pub(crate) fn is_proposing(&self) -> bool {
        self.proposals.under_way.is_some()
    }

    fn push_proposal(&mut self, now: Now, outbox: &mut Outbox) {
        self.proposals.miss_oracle(now);
        let Some(proposal) = &mut self.proposals.under_way else { return };
        let since = proposal.stage_since;
        let due = now.boot >= proposal.sent_at + RESEND;
        match &mut proposal.stage {
            ProposalStage::Reading if now.boot >= since + SEAL_ANSWER => self.give_up(now),
            ProposalStage::Reading if due => {
                proposal.sent_at = now.boot;
                self.read_oracle(now, outbox);
            }
            ProposalStage::Sealing { sealed } if now.boot >= since + SEAL_ANSWER => {
                // Whoever has not answered is left out, if those who have include an up member: this site.
                proposal.candidates.retain(|site| sealed.contains_key(site));
                if sealed.contains_key(&self.site) {
                    self.swap(now, outbox);
                } else {
                    self.give_up(now);
                }
            }
            ProposalStage::Sealing { .. } if due => {
                proposal.sent_at = now.boot;
                self.send_seals(now, outbox);
            }
            ProposalStage::Swapping { tag, epoch } if due => {
                proposal.sent_at = now.boot;
                let expected = proposal.base.id();
                let request = OracleRequest::SwapEpoch { tag: *tag, expected, epoch: epoch.clone() };
                self.to_oracle(request, outbox);
            }
            _ => {}
        }
    }

    fn give_up(&mut self, now: Now) {
        self.proposals.under_way = None;
        self.proposals.not_before = now.boot + limits::PROPOSE_AGAIN;
    }

    pub(crate) fn swap_answered(
        &mut self,
        now: Now,
        tag: u64,
        won: bool,
        epoch: Arc<Epoch>,
        unconfirmed: &[SiteId],
        outbox: &mut Outbox,
    ) {
        self.proposals.oracle_answered();
        let Some(proposal) = &self.proposals.under_way else { return };
        let ProposalStage::Swapping { tag: asked, .. } = &proposal.stage else { return };
        if *asked != tag {
            return;
        }
        if !unconfirmed.is_empty() {
            // The oracle was started anew and waits for its members: the swap is sent again until it has heard them.
            self.proposals.oracle_waits(unconfirmed);
            return;
        }
        self.proposals.under_way = None;
        if won {
            for site in epoch.sessions.keys().copied().filter(|site| *site != self.site) {
                self.to_peer(site, ReplicationMessage::EpochIs { epoch: epoch.clone() }, outbox);
            }
        }
        self.learn(now, epoch, outbox);
    }
}

/// Adds joiners that have contact both ways with all members, those added before them included.
fn take_in(epoch: &mut Epoch, joiners: &[(SiteId, Incarnation, Vec<SiteId>)]) {
    let mut taken: Vec<(SiteId, &[SiteId])> = Vec::new();
    for (site, life, reachable) in joiners {
        let reaches_all = epoch.members.keys().all(|member| reachable.contains(member));
        let reached_by_all = taken.iter().all(|(_, theirs)| theirs.contains(site));
        if epoch.members.contains_key(site) || !reaches_all || !reached_by_all {
            continue;
        }
        epoch.members.insert(*site, Member::beginning(*life, MemberState::Recovering));
        *epoch.sessions.entry(*site).or_default() += 1;
        taken.push((*site, reachable));
    }
}
