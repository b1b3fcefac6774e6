//! The words of one epoch: for each other member what it was granted and has granted, and when it was heard.
//!
//! Times are nanoseconds of the boot clock; 0 means never. Ends only rise. Each word stands for itself: who reads two of them may see one
//! that is newer than the other, which makes a lease shorter or a silence longer for a moment, never the other way round.

use messages::epoch::ProposalId;
use messages::lease::{LeaseLength, LeaseNews, MemberLease};
use messages::{Epoch, EpochNumber, Incarnation, SiteId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Leases in one epoch.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) epoch: EpochNumber,
    proposal: ProposalId,
    /// Grants may be sent.
    pub(crate) open: AtomicBool,
    /// The servers have ended it: what was granted is what they owe.
    pub(crate) closed: AtomicBool,
    pub(crate) members: Vec<LeaseMember>,
    pub(crate) renewed_at: AtomicU64,
}

/// Another member.
#[derive(Debug)]
pub(crate) struct LeaseMember {
    pub(crate) site: SiteId,
    pub(crate) life: Incarnation,
    pub(crate) refused: AtomicBool,
    pub(crate) granted_until: AtomicU64,
    pub(crate) held_until: AtomicU64,
    pub(crate) heard_at: AtomicU64,
    unanswered_since: AtomicU64,
    /// How long the leases are that it asks for.
    pub(crate) length: AtomicU64,
    round_trip: AtomicU64,
}

impl LeaseMember {
    /// It owes an answer from now on, if it does not already.
    pub(crate) fn asked(&self, now: u64) {
        let _ = self.unanswered_since.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// It has answered after this time.
    pub(crate) fn answered(&self, time: u64) {
        self.unanswered_since.store(0, Ordering::SeqCst);
        let smoothed = self.round_trip.load(Ordering::SeqCst);
        let smoothed = if smoothed == 0 { time.max(1) } else { (7 * smoothed + time) / 8 };
        self.round_trip.store(smoothed, Ordering::SeqCst);
    }

    /// Whether it lets this site read now.
    pub(crate) fn is_held(&self, now: u64) -> bool {
        now < self.held_until.load(Ordering::SeqCst)
    }

    fn lease(&self) -> MemberLease {
        let some = |word: &AtomicU64| Some(word.load(Ordering::SeqCst)).filter(|value| *value > 0);
        MemberLease {
            site: self.site,
            life: self.life,
            held_until: self.held_until.load(Ordering::SeqCst),
            granted_until: self.granted_until.load(Ordering::SeqCst),
            heard_at: self.heard_at.load(Ordering::SeqCst),
            unanswered_since: some(&self.unanswered_since),
            length: some(&self.length).and_then(|length| LeaseLength::try_from(length).ok()),
            round_trip: some(&self.round_trip),
        }
    }
}

impl Term {
    /// No epoch yet.
    pub(crate) fn none() -> Term {
        Term {
            epoch: EpochNumber(0),
            proposal: ProposalId::default(),
            open: AtomicBool::new(false),
            closed: AtomicBool::new(true),
            members: Vec::new(),
            renewed_at: AtomicU64::new(0),
        }
    }

    /// An epoch in which `own` serves from now on.
    pub(crate) fn of(epoch: &Epoch, own: SiteId, now: u64) -> Term {
        let member = |site: SiteId| LeaseMember {
            site,
            life: epoch.members[&site].incarnation,
            refused: AtomicBool::new(false),
            granted_until: AtomicU64::new(0),
            held_until: AtomicU64::new(0),
            heard_at: AtomicU64::new(now),
            unanswered_since: AtomicU64::new(0),
            length: AtomicU64::new(0),
            round_trip: AtomicU64::new(0),
        };
        Term {
            epoch: epoch.number,
            proposal: epoch.proposal,
            open: AtomicBool::new(true),
            closed: AtomicBool::new(false),
            members: epoch.others(own).map(member).collect(),
            renewed_at: AtomicU64::new(0),
        }
    }

    pub(crate) fn member(&self, site: SiteId) -> Option<&LeaseMember> {
        self.members.iter().find(|member| member.site == site)
    }

    pub(crate) fn holds_all(&self, now: u64) -> bool {
        self.members.iter().all(|member| member.is_held(now))
    }

    /// Nobody was heard because this site did not listen.
    pub(crate) fn forgive(&self, now: u64) {
        for member in &self.members {
            member.unanswered_since.store(0, Ordering::SeqCst);
            member.heard_at.fetch_max(now, Ordering::SeqCst);
        }
    }

    pub(crate) fn news(&self, length: LeaseLength, ticked_at: u64) -> LeaseNews {
        LeaseNews {
            epoch: self.epoch,
            proposal: self.proposal,
            length,
            ticked_at,
            closed: self.closed.load(Ordering::SeqCst),
            members: self.members.iter().map(LeaseMember::lease).collect(),
        }
    }
}
