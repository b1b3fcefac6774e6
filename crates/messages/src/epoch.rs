//! The epoch: the agreed configuration of an instance.
//!
//! Invariants: an epoch's number is its parent's plus one; every site is listed once; at least one member is up;
//! (number, proposal) names one epoch for ever, because only the oracle's compare-and-swap makes one.

use identifiers::{EpochNumber, Incarnation, OracleLife, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a member may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberState {
    /// Its copy is current: it votes, serves, may be asked for copies and may propose epochs.
    Up,
    /// It takes part in all writes and serves what is not fail-locked; its other items are refreshed by copiers.
    Recovering,
}

/// One life of a site in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Which life.
    pub incarnation: Incarnation,
    /// What it may do.
    pub state: MemberState,
    /// The number of a mark of this life that was on disk when the member sealed the epoch before; 0: the life's beginning. A log without it was put
    /// back, whatever else is known of that.
    pub mark: u64,
}

impl Member {
    /// A life that begins in this epoch.
    pub fn beginning(incarnation: Incarnation, state: MemberState) -> Member {
        Member { incarnation, state, mark: 0 }
    }
}

/// Names one proposal of an epoch, so that a lost answer of the oracle can be settled by reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProposalId {
    /// Who proposed.
    pub site: SiteId,
    /// In which life.
    pub incarnation: Incarnation,
    /// Counted by that life.
    pub sequence: u64,
}

/// Names an epoch: of two proposals of one number at most one becomes an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EpochId {
    /// Its number.
    pub number: EpochNumber,
    /// The proposal that made it.
    pub proposal: ProposalId,
}

/// The agreed configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 1.
    pub number: EpochNumber,
    /// The proposal that made it.
    pub proposal: ProposalId,
    /// The proposal that made its parent, number - 1.
    pub parent: ProposalId,
    /// The oracle's process that it was proposed to: no other takes it. Whoever has confirmed to a later one, which may have been set back,
    /// does not follow it on a peer's word.
    pub oracle: OracleLife,
    /// Sites that belong to it.
    pub members: BTreeMap<SiteId, Member>,
    /// Every site of the instance, with how often it has come back: the session vector.
    pub sessions: BTreeMap<SiteId, u64>,
    /// Commits with fewer caught-up copies than this wait for the disk.
    pub required_copies: u16,
    /// Where copies live. One fragment, of everything at every site, until placement is chosen.
    pub placement: Placement,
    /// Whether it follows a total failure: its up members restarted from their logs (rule 12).
    pub restart: bool,
}

/// Which sites hold a copy of which part of the key space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// One fragment: every storage has a copy at every site.
    Everywhere,
}

impl Epoch {
    /// Its name.
    pub fn id(&self) -> EpochId {
        EpochId { number: self.number, proposal: self.proposal }
    }

    /// The name of its parent.
    pub fn parent_id(&self) -> EpochId {
        EpochId { number: EpochNumber(self.number.0.saturating_sub(1)), proposal: self.parent }
    }

    /// The member of this site, when it belongs to the epoch.
    pub fn member(&self, site: SiteId) -> Option<&Member> {
        self.members.get(&site)
    }

    /// Whether this life of this site belongs to the epoch.
    pub fn has(&self, site: SiteId, incarnation: Incarnation) -> bool {
        self.members.get(&site).is_some_and(|member| member.incarnation == incarnation)
    }

    /// Sites that belong to the instance and not to this epoch.
    pub fn absent(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.sessions.keys().copied().filter(|site| !self.members.contains_key(site))
    }

    /// Members whose copy is current.
    pub fn up(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.members.iter().filter(|(_, member)| member.state == MemberState::Up).map(|(site, _)| *site)
    }

    /// Whether every member is up, so that every copy is complete.
    pub fn is_whole(&self) -> bool {
        self.members.values().all(|member| member.state == MemberState::Up)
    }

    /// All members but this one.
    pub fn others(&self, own: SiteId) -> impl Iterator<Item = SiteId> + '_ {
        self.members.keys().copied().filter(move |site| *site != own)
    }

    /// The sites that hold a copy of this storage and belong to the epoch.
    pub fn copies(&self, _table: crate::TableId) -> impl Iterator<Item = SiteId> + '_ {
        match self.placement {
            Placement::Everywhere => self.members.keys().copied(),
        }
    }
}
