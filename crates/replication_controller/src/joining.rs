//! Coming back (rule 11), and restarting after a total failure (rule 12).
//!
//! A site that belongs to no epoch asks all others to take it in, until an epoch has it. When nobody is left to take anybody in, the up
//! members of the last epoch restart it together: one of them proposes the next epoch once it has heard all of them in a new life.

use crate::{MembershipState, ReplicationController, limits};
use messages::epoch::{EpochId, Member};
use messages::limits::JOIN_RETRY;
use messages::replication::ReplicationMessage;
use messages::{Epoch, Incarnation, KnownMarks, LogPoint, MemberState, Now, Outbox, SiteId};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A site's wish to be taken in.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct JoinWish {
    pub(crate) life: Incarnation,
    pub(crate) last: Option<EpochId>,
    pub(crate) reachable: Vec<SiteId>,
    pub(crate) marks: Box<KnownMarks>,
    pub(crate) at: u64,
}

/// A site was taken in.
#[derive(Serialize, Deserialize)]
struct TakenIn {
    at: u64,
    /// For so long it is not taken in again.
    pause: u64,
}

/// Who wants in, who wants up, and who is in reach.
#[derive(Serialize, Deserialize)]
pub(crate) struct Joiners {
    others: Vec<SiteId>,
    heard: BTreeMap<SiteId, (Incarnation, u64)>,
    wishes: BTreeMap<SiteId, JoinWish>,
    /// Sites that were taken in lately, in whatever life.
    taken_in: BTreeMap<SiteId, TakenIn>,
    /// Recovering members whose copy is current, in this life.
    current: BTreeMap<SiteId, Incarnation>,
    /// When this site asked to be taken in, and whom it reached then.
    asked: (u64, Vec<SiteId>),
    /// Since when all that a restart needs are there.
    restart_since: Option<u64>,
    /// The operator gives up what only other sites have.
    alone: bool,
}

impl Joiners {
    pub(crate) fn new(own: SiteId, sites: &[SiteId]) -> Joiners {
        Joiners {
            others: sites.iter().copied().filter(|site| *site != own).collect(),
            heard: BTreeMap::new(),
            wishes: BTreeMap::new(),
            taken_in: BTreeMap::new(),
            current: BTreeMap::new(),
            asked: (0, Vec::new()),
            restart_since: None,
            alone: false,
        }
    }

    /// After a total failure nobody else is waited for.
    pub(crate) fn may_restart_alone(&mut self) {
        self.alone = true;
    }

    /// A wish that was told lately.
    fn fresh_wish(&self, site: SiteId, now: Now) -> Option<&JoinWish> {
        self.wishes.get(&site).filter(|wish| now.boot <= wish.at + limits::REACHABLE)
    }

    /// The last marks that a site has told those who want in.
    pub(crate) fn marks_told(&self, site: SiteId) -> impl Iterator<Item = LogPoint> + '_ {
        self.wishes.values().filter_map(move |wish| wish.marks.told.get(&site).copied())
    }

    /// Whether this very life was heard lately: it may serve still.
    fn lives(&self, site: SiteId, life: Incarnation, now: Now) -> bool {
        self.heard.get(&site).is_some_and(|(heard, at)| *heard == life && now.boot <= at + limits::REACHABLE)
    }

    pub(crate) fn heard(&mut self, site: SiteId, life: Incarnation, now: Now) {
        let entry = self.heard.entry(site).or_insert((life, now.boot));
        if life == entry.0 {
            entry.1 = entry.1.max(now.boot);
        } else if life > entry.0 || now.boot > entry.1 + limits::REACHABLE {
            *entry = (life, now.boot);
        }
    }

    /// Whether a later life of the site was heard than this one.
    pub(crate) fn has_later_life(&self, site: SiteId, life: Incarnation) -> bool {
        self.heard.get(&site).is_some_and(|(heard, _)| *heard > life)
    }

    pub(crate) fn current(&mut self, site: SiteId, life: Incarnation) {
        self.current.insert(site, life);
    }

    pub(crate) fn learnt(&mut self, epoch: &Epoch, now: Now) {
        for (site, wish) in &self.wishes {
            if epoch.has(*site, wish.life) {
                let again = self.taken_in.get(site).filter(|last| now.boot < last.at + limits::JOIN_FORGET);
                let pause =
                    again.map_or(0, |last| (2 * last.pause).clamp(limits::JOIN_PAUSE_MIN, limits::JOIN_PAUSE_MAX));
                self.taken_in.insert(*site, TakenIn { at: now.boot, pause });
            }
        }
    }

    /// Whether a site has been out for long enough to be taken in again: each change stops everybody for a moment.
    fn is_patient(&self, site: SiteId, now: Now) -> bool {
        self.taken_in.get(&site).is_none_or(|last| now.boot >= last.at + last.pause)
    }

    pub(crate) fn entered(&mut self, epoch: &Epoch) {
        self.wishes.retain(|site, wish| !epoch.has(*site, wish.life));
        self.current.clear();
    }

    /// Joiners that can be taken in now: site, life, and whom they reach.
    pub(crate) fn clone_ready(&self, now: Now) -> Vec<(SiteId, Incarnation, Vec<SiteId>)> {
        (self.wishes.iter())
            .filter(|(_, wish)| now.boot <= wish.at + limits::REACHABLE)
            .filter(|(site, _)| self.is_patient(**site, now))
            .map(|(site, wish)| (*site, wish.life, wish.reachable.clone()))
            .collect()
    }

    /// Whether somebody could be taken in or made up.
    pub(crate) fn wants_change(&self, base: &Epoch, members: &[SiteId], now: Now) -> bool {
        let promotable = self.current.iter().any(|(site, life)| {
            base.has(*site, *life) && base.members[site].state == MemberState::Recovering && members.contains(site)
        });
        let joinable = self.clone_ready(now).iter().any(|(site, life, reachable)| {
            // The wish of an earlier life than the member's is late.
            base.member(*site).is_none_or(|member| member.incarnation < *life)
                && members.iter().filter(|member| *member != site).all(|member| reachable.contains(member))
        });
        promotable || joinable
    }

    fn reachable(&self, now: Now) -> Vec<SiteId> {
        let lately = |at: &u64| now.boot <= at + limits::REACHABLE;
        self.heard.iter().filter(|(_, (_, at))| lately(at)).map(|(site, _)| *site).collect()
    }
}

impl ReplicationController {
    /// Asks to be taken in: now and then, and at once when it reaches somebody new.
    pub(crate) fn tick_joining(&mut self, now: Now, outbox: &mut Outbox) {
        if !matches!(self.state, MembershipState::Joining) || self.halted || !self.marks.has_begun() {
            return;
        }
        let reachable = self.joiners.reachable(now);
        let (asked_at, told) = &self.joiners.asked;
        if now.boot < asked_at + JOIN_RETRY && *told == reachable {
            return;
        }
        self.joiners.asked = (now.boot, reachable.clone());
        self.read_oracle(now, outbox);
        let last = self.logged.as_ref().map(|logged| logged.id());
        let was_up = self
            .logged
            .as_ref()
            .is_some_and(|logged| logged.member(self.site).is_some_and(|member| member.state == MemberState::Up));
        for site in self.joiners.others.clone() {
            let marks = Box::new(self.marks.known.clone());
            let join = ReplicationMessage::Join { last, was_up, reachable: reachable.clone(), marks };
            self.to_peer(site, join, outbox);
        }
    }

    pub(crate) fn join_asked(&mut self, now: Now, from: SiteId, wish: JoinWish, outbox: &mut Outbox) {
        // An oracle that was set back may give a site a lower life than it had; the higher one then asks no more.
        let later = |known: &JoinWish| known.life > wish.life && now.boot <= known.at + limits::REACHABLE;
        if self.joiners.wishes.get(&from).is_some_and(later) {
            return;
        }
        self.joiners.wishes.insert(from, wish);
        // The echo tells the joiner that it is heard; the epoch tells it where everybody is.
        if let Some(epoch) = self.known.clone() {
            self.to_peer(from, ReplicationMessage::EpochIs { epoch }, outbox);
        }
        match &self.state {
            MembershipState::Joining => self.read_oracle(now, outbox),
            _ => self.tick_proposal(now, outbox),
        }
    }

    /// Rule 12: the up members of the last epoch restart it, all of them, in new lives.
    pub(crate) fn restart_if_complete(&mut self, now: Now, last: &Arc<Epoch>, outbox: &mut Outbox) {
        if !matches!(self.state, MembershipState::Joining) || self.is_proposing() || !self.marks.has_begun() {
            return;
        }
        let missing = self.restart_lacks(last, now);
        let alone = planted!(self.planted, RestartFromOneLog) || self.overridden(last, now);
        if !self.can_restart(last) || (!missing.is_empty() && !alone) {
            reached!("restart-waits");
            self.joiners.restart_since = None;
            return;
        }
        let since = *self.joiners.restart_since.get_or_insert(now.boot);
        let rank = last.up().filter(|site| *site < self.site).count() as u64;
        let others = if self.joiners.alone && !missing.is_empty() { limits::RESTART_ALONE } else { 0 };
        if now.boot >= since + rank * limits::minority_patience(self.lease) + others {
            if others > 0 {
                tracing::warn!(?missing, last = %last.number, "this site restarts the instance without these sites, as it was told to: \
                    what they have and this site's log has not is lost");
            }
            reached!("restart-proposed");
            let epoch = self.restart_epoch(last, &missing);
            self.propose_restart(now, last.clone(), epoch, outbox);
        }
    }

    /// Whether this site was up in the last epoch, and has its log.
    fn can_restart(&self, last: &Epoch) -> bool {
        let own = last.members.get(&self.site).filter(|member| member.state == MemberState::Up);
        own.is_some_and(|own| own.incarnation < self.incarnation)
            && self.may_restart(last, None)
            && (self.joiners.alone || !self.is_own_set_back(last))
    }

    fn is_own_set_back(&self, last: &Epoch) -> bool {
        self.logged.is_some() && self.is_set_back(last, self.site, self.incarnation, &self.marks.known.lineage)
    }

    /// Other up members of the last epoch that are not back, with all that they had on disk.
    fn restart_lacks(&self, last: &Epoch, now: Now) -> Vec<SiteId> {
        let back = |site: &SiteId| {
            let wish = self.joiners.fresh_wish(*site, now);
            wish.is_some_and(|wish| {
                wish.life > last.members[site].incarnation
                    && self.may_restart(last, Some(wish))
                    && !self.is_set_back(last, *site, wish.life, &wish.marks.lineage)
            })
        };
        last.up().filter(|site| *site != self.site && !back(site)).collect()
    }

    /// The operator has said that nobody is waited for, and nobody is heard who was up in the last epoch and can propose the next one. Of those that
    /// were not, none serves: it would need a lease of this site's life before, and cannot go on without one that was up.
    fn overridden(&self, last: &Epoch, now: Now) -> bool {
        let goes_on = |site: SiteId| self.joiners.lives(site, last.members[&site].incarnation, now);
        self.joiners.alone && !last.up().filter(|site| *site != self.site).any(goes_on)
    }

    /// What a site that belongs to no epoch waits for, in words.
    pub(crate) fn joining_reason(&self, now: Now) -> String {
        let Some(last) = self.known.as_ref() else {
            return "this site is joining: it waits for the oracle".to_owned();
        };
        let lacking = self.restart_lacks(last, now);
        let up = last.member(self.site).is_some_and(|own| own.state == MemberState::Up);
        if up && !self.joiners.alone && self.is_own_set_back(last) {
            return format!(
                "this site is joining: its data were put back from an older copy, so after a total failure it waits for another that was up in {}; if \
                 they are all lost for good, --alone-after-total-failure starts this one from what it has",
                last.number
            );
        }
        if !self.can_restart(last) || lacking.is_empty() {
            return "this site is joining: it waits for the other sites or for the oracle".to_owned();
        }
        let back = |site: &SiteId| match self.joiners.fresh_wish(*site, now) {
            Some(wish) if wish.last.is_some() && self.is_set_back(last, *site, wish.life, &wish.marks.lineage) => {
                format!("{site} (whose data were put back from an older copy)")
            }
            _ => site.to_string(),
        };
        let lacking: Vec<String> = lacking.iter().map(back).collect();
        format!(
            "this site is joining: it waits for {}, up like itself in {}; if they are lost for good, \
             --alone-after-total-failure starts this one without them, and gives up what only they have",
            lacking.join(" and "),
            last.number
        )
    }

    /// A copy that has lost its log is empty, whatever the last epoch says of it.
    fn may_restart(&self, last: &Epoch, wish: Option<&JoinWish>) -> bool {
        let logged = match wish {
            Some(wish) => wish.last.map(|last| last.number),
            None => self.logged.as_ref().map(|logged| logged.number),
        };
        logged.is_some_and(|logged| logged <= last.number)
    }

    fn restart_epoch(&self, last: &Epoch, missing: &[SiteId]) -> Epoch {
        let life = |site: SiteId| match site == self.site {
            true => self.incarnation,
            false => self.joiners.wishes[&site].life,
        };
        let sites = last.up().filter(|site| !missing.contains(site));
        let members: BTreeMap<SiteId, Member> =
            sites.map(|site| (site, Member::beginning(life(site), MemberState::Up))).collect();
        let mut sessions = last.sessions.clone();
        for site in members.keys() {
            *sessions.entry(*site).or_default() += 1;
        }
        Epoch { number: last.number.next(), parent: last.proposal, members, sessions, restart: true, ..last.clone() }
    }
}
