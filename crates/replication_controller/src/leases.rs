//! Leases as the servers know them (rule 6), and whom silence makes us suspect.
//!
//! The keeper of leases (crate `leases`) asks for them, grants and hears, whatever the servers are busy with. It is told here when that begins and ends,
//! and tells what has become of it ([`LeaseNews`]): what is held ends no earlier than known here, and what was granted is owed here once the epoch is
//! sealed, for whichever epoch comes.
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

use crate::{MembershipState, ReplicationController, limits};
use messages::lease::{LeaseNews, LeaseOrder, MemberLease};
use messages::{Epoch, Incarnation, LeaseLength, Message, Now, Outbox, ServerKind, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Leases held and granted, and when members were last heard.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Leases {
    /// Until when each other member lets this site read.
    held: BTreeMap<SiteId, u64>,
    /// Until when every life that was granted a lease in an epoch that is sealed here may read, by this site's clock.
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
    /// The keeper grants: what was promised in this epoch is not known here yet.
    pub(crate) granting: bool,
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
        self.granted.retain(|_, until| *until > now.boot);
    }

    pub(crate) fn is_present_life(&self, site: SiteId, incarnation: Incarnation) -> bool {
        self.lives.get(&site) == Some(&incarnation)
    }

    pub(crate) fn heard(&mut self, site: SiteId, now: Now) {
        self.heard_at(site, now.boot);
    }

    /// It was heard then, by whichever way: whoever is heard after a connection with it broke is alive.
    fn heard_at(&mut self, site: SiteId, at: u64) {
        let heard = self.heard.entry(site).or_default();
        *heard = at.max(*heard);
        if self.lost.get(&site).is_some_and(|lost| at > *lost) {
            self.lost.remove(&site);
        }
    }

    pub(crate) fn lost(&mut self, site: SiteId, now: Now) {
        self.lost.entry(site).or_insert(now.boot);
    }

    pub(crate) fn found(&mut self, site: SiteId, now: Now) {
        self.heard(site, now);
        self.lost.remove(&site);
    }

    /// Nobody was heard because this site did not listen.
    pub(crate) fn forgive(&mut self, now: Now) {
        self.unanswered.clear();
        self.heard.values_mut().for_each(|heard| *heard = now.boot);
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

    /// Takes what the keeper tells of a member of the epoch at hand.
    fn told(&mut self, member: &MemberLease) {
        let site = member.site;
        let held = self.held.entry(site).or_default();
        *held = member.held_until.max(*held);
        self.heard_at(site, member.heard_at);
        match member.unanswered_since {
            Some(since) => drop(self.unanswered.insert(site, since)),
            None => drop(self.unanswered.remove(&site)),
        }
        self.lengths.extend(member.length.map(|length| (site, length)));
        self.round_trips.extend(member.round_trip.map(|time| (site, time)));
    }

    /// Takes what was promised to a life, for as long as it lasts. What it was promised before may last longer.
    fn owe(&mut self, member: &MemberLease) {
        let end = self.granted.entry((member.site, member.life)).or_default();
        *end = member.granted_until.max(*end);
    }
}

impl ReplicationController {
    /// The keeper is to ask and grant in this epoch.
    pub(crate) fn open_leases(&mut self, epoch: &std::sync::Arc<Epoch>, outbox: &mut Outbox) {
        self.leases.granting = true;
        outbox.local(ServerKind::Site, Message::Lease(LeaseOrder::Open { epoch: epoch.clone() }));
    }

    /// The keeper is to grant no more. Until it has told what was promised, nobody goes on without those to whom it was.
    pub(crate) fn close_leases(&mut self, outbox: &mut Outbox) {
        if self.leases.granting {
            outbox.local(ServerKind::Site, Message::Lease(LeaseOrder::Close));
        }
    }

    /// A member does not vote, whatever else it does.
    pub(crate) fn accuse(&mut self, site: SiteId, outbox: &mut Outbox) {
        if self.leases.accused.insert(site) {
            outbox.local(ServerKind::Site, Message::Lease(LeaseOrder::Refuse { site }));
        }
    }

    /// The longest lease that any member of the epoch at hand asks for, as far as is known.
    pub(crate) fn longest_lease(&self) -> LeaseLength {
        self.leases.lengths.values().copied().fold(self.lease, LeaseLength::max)
    }

    /// What the keeper tells. What it says of an epoch that is not the one at hand counts only for what is owed.
    pub(crate) fn lease_news(&mut self, now: Now, news: &LeaseNews, outbox: &mut Outbox) {
        self.lease = news.length;
        let at_hand = match &self.state {
            MembershipState::Member(epoch) => (epoch.number, epoch.proposal) == (news.epoch, news.proposal),
            _ => false,
        };
        for member in &news.members {
            if at_hand {
                self.leases.told(member);
            }
            // It was heard whatever the epoch.
            self.joiners.heard(member.site, member.life, Now { boot: member.heard_at, ..now });
            if news.closed {
                self.leases.owe(member);
            }
        }
        self.leases.granting &= !news.closed;
        self.answer_questions(now, outbox);
    }
}
