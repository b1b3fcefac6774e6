//! Leases between members (rule 6): asked for, granted and held beside the servers, so that no statement holds them up.
//!
//! A [`Keeper`] is a pure machine: time and messages go in, messages come out. In the real world a thread of its own drives one, with a
//! socket of its own; the servers hold another over the same words. The two share no lock: what one writes, the other reads, word by word.
//! In the simulated world the servers' own keeper is driven, with their clock.
//!
//! The replication controller decides who is a member and when granting begins and ends ([`messages::lease::LeaseOrder`]). It learns what was
//! granted, held and heard as [`messages::lease::LeaseNews`], before it is asked whether the site may serve. The keeper must not know
//! what an epoch is for.
//!
//! Invariants:
//!
//! * a holder counts its lease from when it *asked*, the grantor from when it *granted*, plus a margin for clocks of different rates: so the
//!   grantor's end is never before the holder's;
//! * a grantor owes the latest end that it has promised a life, whatever it is asked for later;
//! * a grant that is sent is among those that [`Keeper::close`] tells of ([`promise`]);
//! * a site whose servers have had no turn for [`limits::SERVERS_SILENT`], or whose disk has stalled, neither asks nor grants.
//!
//! In reading order: `term`, the words of an epoch; [`promise`], the one race that matters; [`length`], how long leases are; [`limits`].

pub mod length;
pub mod limits;
pub mod promise;
mod term;

use length::Length;
use messages::lease::{LeaseLength, LeaseNews, OWN_PAUSE};
use messages::planted::Planted;
use messages::replication::ReplicationMessage;
use messages::{Envelope, Epoch, EpochNumber, Incarnation, Message, SiteId};
use messages::{planted, reached};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use term::Term;

/// What a keeper says, and to which site.
pub type LeaseSaid = Vec<(SiteId, ReplicationMessage)>;

/// Whether a message was the keeper's to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageTaken {
    /// It was.
    Yes,
    /// It is none of the present epoch and its members: the replication controller may learn from it who is behind.
    Stray,
}

/// What all keepers of one life of a site share.
#[derive(Debug)]
struct CommonLeases {
    site: SiteId,
    planted: Planted,
    /// The latest term. Its lock is held for an assignment only.
    latest: Mutex<Arc<Term>>,
    /// When the servers had a turn (boot clock).
    turned_at: AtomicU64,
    /// Their disk does not finish a sync.
    stalled: AtomicBool,
    /// When the keeper was driven (boot clock).
    ticked_at: AtomicU64,
    length: Length,
    /// Counts what the servers have not been told.
    version: AtomicU64,
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Keeper {
    common: Arc<CommonLeases>,
    term: Arc<Term>,
    /// The version that the servers were told.
    told: u64,
}

impl Keeper {
    /// A keeper for a life of a site that asks for leases of this length, or longer ones while it is late itself.
    pub fn new(site: SiteId, length: LeaseLength, planted: Planted) -> Keeper {
        let term = Arc::new(Term::none());
        let common = CommonLeases {
            site,
            planted,
            latest: Mutex::new(term.clone()),
            turned_at: AtomicU64::new(0),
            stalled: AtomicBool::new(false),
            ticked_at: AtomicU64::new(0),
            length: Length::new(length),
            version: AtomicU64::new(0),
        };
        Keeper { common: Arc::new(common), term, told: 0 }
    }

    /// Takes up the latest term. It waits for nobody: while the servers change the term, the keeper goes by the one before, which is closed.
    pub fn look(&mut self) {
        if let Ok(latest) = self.common.latest.try_lock()
            && !Arc::ptr_eq(&latest, &self.term)
        {
            self.term = latest.clone();
        }
    }

    /// The servers have a turn at this time (boot clock).
    pub fn turned(&self, now: u64) {
        self.common.turned_at.fetch_max(now, Ordering::SeqCst);
    }

    /// Whether the servers' disk finishes no sync.
    pub fn stalled(&self, stalled: bool) {
        self.common.stalled.store(stalled, Ordering::SeqCst);
    }

    /// How late the keeper's own thread was, or a peer's says that it was, in nanoseconds: leases get longer at once.
    pub fn was_late(&self, now: u64, late: u64) {
        if self.common.length.was_late(now, late) {
            self.changed();
        }
    }

    /// How long the leases are that this site asks for now.
    pub fn length(&self) -> LeaseLength {
        self.common.length.present()
    }

    /// The number of the epoch whose leases are dealt with.
    pub fn epoch(&self) -> EpochNumber {
        self.term.epoch
    }

    /// The members of that epoch besides this site.
    pub fn members(&self) -> impl Iterator<Item = (SiteId, Incarnation)> + '_ {
        self.term.members.iter().map(|member| (member.site, member.life))
    }

    /// How long the leases still last that the other members have granted, in nanoseconds; 0: there is none.
    pub fn left(&self, now: u64) -> impl Iterator<Item = (SiteId, u64)> + '_ {
        let held_until = |member: &term::LeaseMember| member.held_until.load(Ordering::SeqCst);
        self.term.members.iter().map(move |member| (member.site, held_until(member).saturating_sub(now)))
    }

    /// This site serves in an epoch from now on: it asks the other members for leases, and grants them theirs.
    pub fn open(&mut self, epoch: &Epoch, now: u64) {
        self.close();
        self.term = Arc::new(Term::of(epoch, self.common.site, now));
        *self.common.latest.lock().expect("no holder of this lock panics") = self.term.clone();
        self.changed();
    }

    /// No grant in this epoch any more. What was granted stands in the news that follow.
    pub fn close(&self) {
        if !planted!(self.common.planted, GrantAfterSeal) {
            promise::close(&self.term.open);
        }
        self.term.closed.store(true, Ordering::SeqCst);
        self.changed();
    }

    /// This member is granted nothing any more, for it is to be left out.
    pub fn refuse(&self, site: SiteId) {
        if let Some(member) = self.term.member(site) {
            member.refused.store(true, Ordering::SeqCst);
        }
    }

    /// What the servers have not been told yet; `None`: nothing.
    pub fn news(&mut self) -> Option<LeaseNews> {
        let version = self.common.version.load(Ordering::SeqCst);
        if version == self.told {
            return None;
        }
        self.told = version;
        Some(self.term.news(self.length(), self.common.ticked_at.load(Ordering::SeqCst)))
    }

    /// Something may be due: asks for leases, once in a while for each renewal, and soon again while one is missing.
    pub fn tick(&self, now: u64, said: &mut LeaseSaid) {
        let before = self.common.ticked_at.swap(now, Ordering::SeqCst);
        if before > 0 && now > before + OWN_PAUSE {
            // It was this site that was away: the others are given time to be heard.
            self.term.forgive(now);
            self.changed();
        }
        if !self.acts(now) {
            return;
        }
        let interval = match self.term.holds_all(now) {
            true => self.length().renewal(),
            false => limits::LEASE_FIRST,
        };
        let renewed_at = self.term.renewed_at.load(Ordering::SeqCst);
        if renewed_at > 0 && now < renewed_at + interval {
            return;
        }
        self.term.renewed_at.store(now, Ordering::SeqCst);
        for member in &self.term.members {
            member.asked(now);
            said.push((member.site, self.request(now)));
        }
        self.changed();
    }

    fn request(&self, now: u64) -> ReplicationMessage {
        ReplicationMessage::LeaseRequest { sent_at: now, length: self.length() }
    }

    /// Whether this site asks and grants now.
    fn acts(&self, now: u64) -> bool {
        let turned_at = self.common.turned_at.load(Ordering::SeqCst);
        self.term.open.load(Ordering::SeqCst)
            && !self.common.stalled.load(Ordering::SeqCst)
            && now < turned_at + limits::SERVERS_SILENT
    }

    fn changed(&self) {
        self.common.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether a message between sites is one for keepers.
    pub fn is_for_keepers(message: &Message) -> bool {
        matches!(
            message,
            Message::Replication(ReplicationMessage::LeaseRequest { .. } | ReplicationMessage::LeaseGrant { .. })
        )
    }

    /// Takes a request or a grant of another site. What there is to say to it at once is appended to `said`.
    pub fn handle(&self, now: u64, envelope: &Envelope, said: &mut LeaseSaid) -> MessageTaken {
        let Message::Replication(message) = &envelope.message else { return MessageTaken::Stray };
        let known = self.term.member(envelope.from_site).filter(|member| member.life == envelope.incarnation);
        let Some(member) = known.filter(|_| envelope.epoch == self.term.epoch) else { return MessageTaken::Stray };
        if self.common.stalled.load(Ordering::SeqCst) {
            return MessageTaken::Yes;
        }
        member.heard_at.fetch_max(now, Ordering::SeqCst);
        match message {
            ReplicationMessage::LeaseRequest { sent_at, length } => self.asked(now, member, *sent_at, *length, said),
            ReplicationMessage::LeaseGrant { sent_at, length } => self.granted(now, member, *sent_at, *length),
            _ => return MessageTaken::Stray,
        }
        self.changed();
        MessageTaken::Yes
    }

    fn asked(&self, now: u64, member: &term::LeaseMember, sent_at: u64, length: LeaseLength, said: &mut LeaseSaid) {
        if member.refused.load(Ordering::SeqCst) || !self.acts(now) {
            return;
        }
        member.length.store(length.nanoseconds(), Ordering::SeqCst);
        let counted =
            if planted!(self.common.planted, OwnLeaseWaitedOut) { self.common.length.usual() } else { length };
        let until = now + counted.waited_out();
        if planted!(self.common.planted, ShrinkForgetsLonger) {
            member.granted_until.store(until, Ordering::SeqCst);
        }
        if until < member.granted_until.load(Ordering::SeqCst) {
            reached!("shorter-lease-asked");
        }
        if !promise::grant(&self.term.open, &member.granted_until, until) {
            reached!("grant-refused");
            return;
        }
        said.push((member.site, ReplicationMessage::LeaseGrant { sent_at, length }));
        if !member.is_held(now) {
            // It serves by now, so what it was asked before it did is asked again without waiting.
            said.push((member.site, self.request(now)));
        }
    }

    /// No lease is longer than the longest that this site asks for, whatever a grant says.
    fn granted(&self, now: u64, member: &term::LeaseMember, sent_at: u64, length: LeaseLength) {
        if sent_at > now {
            tracing::warn!(from = %member.site, "a grant of a lease that was not asked for yet");
            return;
        }
        member.answered(now - sent_at);
        let start = if planted!(self.common.planted, LeaseFromReceipt) { now } else { sent_at };
        let end = start + length.min(self.common.length.longest()).nanoseconds();
        member.held_until.fetch_max(end, Ordering::SeqCst);
    }
}

/// A life that is over grants nothing: its servers, which owed what was granted, are gone.
#[derive(Debug)]
pub struct Servers(Keeper);

impl Servers {
    /// The keeper that the servers hold.
    pub fn new(keeper: Keeper) -> Servers {
        Servers(keeper)
    }
}

impl std::ops::Deref for Servers {
    type Target = Keeper;

    fn deref(&self) -> &Keeper {
        &self.0
    }
}

impl std::ops::DerefMut for Servers {
    fn deref_mut(&mut self) -> &mut Keeper {
        &mut self.0
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.0.close();
    }
}
