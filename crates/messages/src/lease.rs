//! How long the leases last that a site asks for, and every time that follows from it.
//!
//! Each site chooses for itself, and may choose otherwise for its next request: so a request says how long a lease is wanted, and the grantor
//! remembers until when it has promised it. Nobody derives from its own setting what it owes another site. Where nothing is known of what
//! was promised, [`LeaseLength::MAX`] is waited for. Invariant: every value lies within [`LeaseLength::MIN`] and [`LeaseLength::MAX`], what
//! came from another site included. All times are in nanoseconds of the boot clock.

use crate::epoch::{Epoch, ProposalId};
use crate::limits::{MILLISECOND, RESEND, SYNC_STALL};
use identifiers::{EpochNumber, Incarnation, SiteId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// Between two looks of a site that was not stopped itself lies less than this. Who was stopped has heard nobody, and accuses nobody.
pub const OWN_PAUSE: u64 = 100 * MILLISECOND;

/// Replication controller to the keeper of leases, inside a site. Never lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LeaseOrder {
    /// The site serves in this epoch from now on: ask its other members for leases, and grant them theirs.
    Open {
        /// The epoch.
        epoch: Arc<Epoch>,
    },
    /// The epoch is sealed here: no grant any more. [`LeaseNews`] with `closed` answer.
    Close,
    /// This member is to be left out: grant it nothing any more.
    Refuse {
        /// The member.
        site: SiteId,
    },
}

/// The keeper of leases to the replication controller, inside a site: before it is asked whether the site may serve, when it ticks, and at once after
/// an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseNews {
    /// The epoch of the leases.
    pub epoch: EpochNumber,
    /// Its proposal.
    pub proposal: ProposalId,
    /// How long the leases are that this site asks for now.
    pub length: LeaseLength,
    /// When the keeper was driven last (boot clock).
    pub ticked_at: u64,
    /// No grant is sent any more: `granted_until` is all that was promised.
    pub closed: bool,
    /// The other members.
    pub members: Vec<MemberLease>,
}

/// What is between this site and another member. Times in nanoseconds of this site's boot clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberLease {
    /// The member.
    pub site: SiteId,
    /// Its life.
    pub life: Incarnation,
    /// Until when it lets this site read.
    pub held_until: u64,
    /// Until when it may read by this site's grants, with the margin for clocks of different rates.
    pub granted_until: u64,
    /// When its keeper was heard last.
    pub heard_at: u64,
    /// Since when it owes an answer to a request.
    pub unanswered_since: Option<u64>,
    /// How long the leases are that it asks for.
    pub length: Option<LeaseLength>,
    /// How long requests to it take until they are granted, smoothed, in nanoseconds.
    pub round_trip: Option<u64>,
}

/// A member that has not answered a seal by now is left out; its disk may be busy, which the length of leases does not change.
pub const SEAL_ANSWER: u64 = 500 * MILLISECOND;
/// What a proposer may need for the oracle, once everybody has sealed or is left out.
const SEAL_ORACLE: u64 = 100 * MILLISECOND;

/// The length of a lease, from the moment its holder asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct LeaseLength(u64);

/// A length that no site may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a lease must last {} to {} ms",
    LeaseLength::MIN.milliseconds(),
    LeaseLength::MAX.milliseconds()
)]
pub struct LeaseRange;

impl LeaseLength {
    /// The shortest: below it a pause that any site may make ([`Self::suspicion`]) would cost a membership.
    pub const MIN: LeaseLength = LeaseLength(200 * MILLISECOND);
    /// The longest: a restart after a total failure waits for so long.
    pub const MAX: LeaseLength = LeaseLength(1_000 * MILLISECOND);
    /// Unless a site is told otherwise.
    pub const DEFAULT: LeaseLength = LeaseLength(400 * MILLISECOND);

    /// Of so many milliseconds.
    ///
    /// # Errors
    /// It is shorter than [`Self::MIN`] or longer than [`Self::MAX`].
    pub fn from_milliseconds(milliseconds: u64) -> Result<LeaseLength, LeaseRange> {
        milliseconds.checked_mul(MILLISECOND).ok_or(LeaseRange)?.try_into()
    }

    /// In nanoseconds.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// In milliseconds.
    pub const fn milliseconds(self) -> u64 {
        self.0 / MILLISECOND
    }

    /// What the grantor adds before it counts the lease as over: clocks may run at rates that differ by 5%.
    pub const fn margin(self) -> u64 {
        self.0 / 20
    }

    /// How long a grantor that has just granted it must count on it.
    pub const fn waited_out(self) -> u64 {
        self.0 + self.margin()
    }

    /// How often a member asks for it.
    pub const fn renewal(self) -> u64 {
        self.0 / 6
    }

    /// A member that was silent for this long is suspected, and an epoch without it is proposed. It is somewhat less than the lease, because what is
    /// done then takes a while, and waits for the lease in any case.
    pub const fn suspicion(self) -> u64 {
        self.0 / 6 * 5
    }

    /// A sealed member that hears of no new epoch for this long proposes one itself.
    pub const fn seal_patience(self) -> u64 {
        let long = self.0 / 6 * 7;
        if long > SEAL_ANSWER + SEAL_ORACLE { long } else { SEAL_ANSWER + SEAL_ORACLE }
    }
}

impl Default for LeaseLength {
    fn default() -> LeaseLength {
        LeaseLength::DEFAULT
    }
}

impl TryFrom<u64> for LeaseLength {
    type Error = LeaseRange;

    fn try_from(nanoseconds: u64) -> Result<LeaseLength, LeaseRange> {
        let allowed = LeaseLength::MIN.0..=LeaseLength::MAX.0;
        allowed.contains(&nanoseconds).then_some(LeaseLength(nanoseconds)).ok_or(LeaseRange)
    }
}

impl From<LeaseLength> for u64 {
    fn from(length: LeaseLength) -> u64 {
        length.0
    }
}

/// What holds of the shortest and the longest holds of all between: every time grows with the length.
const fn is_sound(length: LeaseLength) -> bool {
    assert!(2 * length.renewal() < length.0, "a lost renewal must not lose the lease");
    assert!(
        length.suspicion() + length.margin() < length.0 + length.renewal(),
        "suspicion must not wait longer than the lease"
    );
    assert!(4 * length.suspicion() < SYNC_STALL, "a stalled disk is a rare thing, a silent member is not");
    assert!(RESEND < length.suspicion(), "a change must be heard of before it is suspected");
    assert!(
        length.0 < length.seal_patience() + length.margin(),
        "a sealed member lets the proposer wait out the leases"
    );
    assert!(SEAL_ANSWER < length.seal_patience(), "a sealed member lets the proposer hear all that answer");
    true
}

const _: () = assert!(is_sound(LeaseLength::MIN) && is_sound(LeaseLength::MAX));
const _: () = assert!(LeaseLength::MIN.0 < LeaseLength::DEFAULT.0 && LeaseLength::DEFAULT.0 < LeaseLength::MAX.0);

#[cfg(test)]
mod tests {
    use super::*;

    /// A length outside of the range, in a file or from another site, must never become a promise: nobody would wait it out.
    #[test]
    fn only_lengths_in_range_exist() {
        for milliseconds in [200, 400, 1_000] {
            let length = LeaseLength::from_milliseconds(milliseconds).expect("it is in range");
            assert_eq!(length.milliseconds(), milliseconds);
            let bytes = postcard::to_allocvec(&length).expect("it always encodes");
            assert_eq!(postcard::from_bytes(&bytes), Ok(length));
        }
        for milliseconds in [0, 199, 1_001, u64::MAX / 1_000, u64::MAX] {
            assert_eq!(LeaseLength::from_milliseconds(milliseconds), Err(LeaseRange));
        }
        for nanoseconds in [0, 199_999_999, 1_000_000_001, u64::MAX] {
            let bytes = postcard::to_allocvec(&nanoseconds).expect("it always encodes");
            assert!(postcard::from_bytes::<LeaseLength>(&bytes).is_err(), "{nanoseconds} ns");
        }
        assert_eq!(LeaseRange.to_string(), "a lease must last 200 to 1000 ms");
    }
}
