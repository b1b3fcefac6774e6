//! Leases between members (rule 6), and whom they make us suspect.
//!
//! Inequality: a holder counts its lease from when it *asked*, the grantor from when it *granted*, plus a margin for clocks of
//! different rates; so the grantor's end is never before the holder's. Whoever asks says how long the lease is to last, and the grantor
//! remembers the latest end that it has promised: sites may be set differently, and each otherwise in its next life.
//!
//! What each use of a length rests on:
//!
//! * what a *grantor waits out* is what it has granted, to whichever life (`granted_to_outsiders`); its own setting says nothing of that;
//! * what was granted *is forgotten* by a grantor that dies. As long as some up member of the epoch goes on in the life in which it granted,
//!   it remembers its own grant, and a lease counts only together with those of all other members: so the earliest end of all is never
//!   after that one. After a total failure nobody remembers: `change` waits for [`LeaseLength::MAX`], from the start of this life on, before
//!   which the last grant was. A site that restarts the instance alone looks out for others even longer (`limits::RESTART_ALONE`);
//! * *suspicion* decides no more than when a change is proposed. It goes by the longer one of the two ends' leases: so both ends of a broken link
//!   suspect each other after the same time, a site that is set to bear long pauses is not evicted by one that is not, and nothing is lost by
//!   it, because the longer lease must be waited out, or is one's own and still lasts.

use crate::{ReplicationController, limits};
use messages::planted::Bug;
use messages::replication::ReplicationMessage;
use messages::{Epoch, Incarnation, LeaseLength, Now, Outbox, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Leases held and granted, and when members were last heard.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Leases {
    /// Until when each other member lets this site read.
    held: BTreeMap<SiteId, u64>,
    /// Until when every life that was ever granted a lease may read, by this site's clock.
    granted: BTreeMap<(SiteId, Incarnation), u64>,
    /// How long the leases are that other members ask for, as they have said last.
    lengths: BTreeMap<SiteId, LeaseLength>,
    /// The other members' lives in the epoch at hand.
    lives: BTreeMap<SiteId, Incarnation>,
    heard: BTreeMap<SiteId, u64>,
    /// Since when a member owes an answer to a request for a lease.
    unanswered: BTreeMap<SiteId, u64>,
    lost: BTreeMap<SiteId, u64>,
    /// How long requests to a site took until they were granted, smoothed, in nanoseconds.
    round_trips: BTreeMap<SiteId, u64>,
    accused: BTreeSet<SiteId>,
    renewed_at: u64,
}

impl Leases {
    /// A new epoch: leases of the old one are void, everybody is given time to be heard.
    pub(crate) fn enter(&mut self, epoch: &Epoch, own: SiteId, now: Now) {
        self.held.clear();
        self.unanswered.clear();
        self.accused.clear();
        self.lives = epoch.others(own).map(|site| (site, epoch.members[&site].incarnation)).collect();
        self.lost.retain(|site, _| self.lives.contains_key(site));
        self.lengths.retain(|site, _| self.lives.contains_key(site));
        self.round_trips.clear();
        self.heard = self.lives.keys().map(|site| (*site, now.boot)).collect();
        self.renewed_at = 0;
    }

    /// The epoch is active: ask for leases at once.
    pub(crate) fn entered(&mut self) {
        self.renewed_at = 0;
    }

    pub(crate) fn is_present_life(&self, site: SiteId, incarnation: Incarnation) -> bool {
        self.lives.get(&site) == Some(&incarnation)
    }

    pub(crate) fn heard(&mut self, site: SiteId, now: Now) {
        self.heard.insert(site, now.boot);
        self.lost.remove(&site);
    }

    pub(crate) fn lost(&mut self, site: SiteId, now: Now) {
        self.lost.entry(site).or_insert(now.boot);
    }

    pub(crate) fn found(&mut self, site: SiteId, now: Now) {
        self.heard(site, now);
    }

    /// Nobody was heard because this site did not listen.
    pub(crate) fn forgive(&mut self, now: Now) {
        self.unanswered.clear();
        self.heard.values_mut().for_each(|heard| *heard = now.boot);
    }

    pub(crate) fn accuse(&mut self, site: SiteId) {
        self.accused.insert(site);
    }

    /// Members that are silent, whose connection broke, who do not vote, or who grant nothing though they are heard: they may not hear.
    /// `own` is the length of this site's leases.
    pub(crate) fn suspects(&self, own: LeaseLength, now: Now) -> BTreeSet<SiteId> {
        let suspected = |site: &SiteId| self.complaint(*site, own, now).is_some();
        self.lives.keys().copied().filter(suspected).collect()
    }

    /// What speaks against a member.
    pub(crate) fn complaint(&self, site: SiteId, own: LeaseLength, now: Now) -> Option<&'static str> {
        let suspicion = self.lengths.get(&site).map_or(own, |theirs| own.max(*theirs)).suspicion();
        if self.lost.get(&site).is_some_and(|lost| now.boot > lost + limits::LOST_PATIENCE) {
            Some("the connection with it is lost")
        } else if self.heard.get(&site).is_none_or(|heard| now.boot > heard + suspicion) {
            Some("nothing has been heard of it for longer than leases last")
        } else if self.unanswered.get(&site).is_some_and(|since| now.boot > since + suspicion) {
            Some("it is heard and grants no lease")
        } else if self.accused.contains(&site) {
            Some("it does not vote")
        } else {
            None
        }
    }

    /// Whether this member lets this site read now.
    fn holds(&self, site: SiteId, now: Now) -> bool {
        self.held.get(&site).is_some_and(|until| now.boot < *until)
    }

    /// Whether every other member lets this site read now.
    pub(crate) fn hold_all(&self, now: Now) -> bool {
        self.lives.keys().all(|site| self.holds(*site, now))
    }

    /// Who has not granted, or too long ago.
    pub(crate) fn missing(&self, now: Now) -> Vec<SiteId> {
        self.lives.keys().copied().filter(|site| !self.holds(*site, now)).collect()
    }

    /// How long requests take until they are granted.
    pub(crate) fn round_trips(&self) -> BTreeMap<SiteId, u64> {
        self.round_trips.clone()
    }

    /// When the last lease is over that this site ever granted to a life that is not in the epoch.
    pub(crate) fn granted_to_outsiders(&self, epoch: &Epoch, only: Option<&Epoch>) -> u64 {
        let outside = |(site, life): &(SiteId, Incarnation)| {
            !epoch.has(*site, *life) && only.is_none_or(|parent| parent.has(*site, *life))
        };
        self.granted.iter().filter(|(who, _)| outside(who)).map(|(_, until)| *until).max().unwrap_or(0)
    }

    /// Notes what a life has asked for and is granted now. What it was granted before may last longer.
    fn grant(&mut self, who: (SiteId, Incarnation), until: u64) {
        let end = self.granted.entry(who).or_default();
        *end = until.max(*end);
    }

    /// What is over need not be remembered.
    fn trim(&mut self, now: Now) {
        self.granted.retain(|_, until| *until > now.boot);
    }
}

impl ReplicationController {
    pub(crate) fn renew_leases(&mut self, now: Now, outbox: &mut Outbox) {
        let Some(epoch) = self.serving().cloned() else { return };
        let interval = if self.leases.hold_all(now) { self.lease.renewal() } else { limits::LEASE_FIRST };
        if now.boot < self.leases.renewed_at + interval {
            return;
        }
        self.leases.renewed_at = now.boot;
        self.leases.trim(now);
        for site in epoch.others(self.site) {
            self.leases.unanswered.entry(site).or_insert(now.boot);
        }
        self.to_peers(epoch.others(self.site), self.lease_request(now), outbox);
    }

    fn lease_request(&self, now: Now) -> ReplicationMessage {
        ReplicationMessage::LeaseRequest { sent_at: now.boot, length: self.lease }
    }

    /// The longest lease that any member of the epoch at hand asks for, as far as is known.
    pub(crate) fn longest_lease(&self) -> LeaseLength {
        self.leases.lengths.values().copied().fold(self.lease, LeaseLength::max)
    }

    pub(crate) fn lease_asked(
        &mut self,
        now: Now,
        (from, life): (SiteId, Incarnation),
        sent_at: u64,
        length: LeaseLength,
        outbox: &mut Outbox,
    ) {
        if self.leases.accused.contains(&from) {
            return;
        }
        self.leases.lengths.insert(from, length);
        let counted = if self.planted.is(Bug::OwnLeaseWaitedOut) { self.lease } else { length };
        self.leases.grant((from, life), now.boot + counted.waited_out());
        self.to_peer(from, ReplicationMessage::LeaseGrant { sent_at, length }, outbox);
        if !self.leases.holds(from, now) {
            // It serves by now, so what it was asked before it did is asked again without waiting.
            self.to_peer(from, self.lease_request(now), outbox);
        }
    }

    /// No lease is longer than this site asks for, whatever a grant says.
    pub(crate) fn lease_granted(
        &mut self,
        now: Now,
        from: SiteId,
        sent_at: u64,
        length: LeaseLength,
        outbox: &mut Outbox,
    ) {
        if sent_at > now.boot {
            tracing::warn!(%from, "a grant of a lease that was not asked for yet");
            return;
        }
        self.leases.unanswered.remove(&from);
        let time = now.boot - sent_at;
        self.leases
            .round_trips
            .entry(from)
            .and_modify(|smoothed| *smoothed = (7 * *smoothed + time) / 8)
            .or_insert(time);
        let start = if self.planted.is(Bug::LeaseFromReceipt) { now.boot } else { sent_at };
        let held = self.leases.held.entry(from).or_default();
        *held = (*held).max(start + length.min(self.lease).nanoseconds());
        self.answer_questions(now, outbox);
    }
}
