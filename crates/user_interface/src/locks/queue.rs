//! The rules of one lock: who may have it, who waits in which place, who is next.
//!
//! They are PostgreSQL's (`LockAcquireExtended`, `ProcSleep`, `ProcLockWakeup`). Invariants: no two holders conflict, unless they are one session; nobody who waits could
//! have the lock without passing somebody that it conflicts with; so who waits to have it alone is not passed by those who come later to share it.

use crate::limits::ADVISORY_CLAIMS_MAX;
use messages::Epoch;
use messages::advisory::{AdvisoryClaim, AdvisoryMode, AdvisoryOwner, AdvisoryQueue};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimStanding {
    /// It has the lock.
    Held,
    /// It waits in its place.
    Waits,
    /// It would have to wait, and does not want to.
    Refused,
    /// It would wait for a session that waits for it.
    Deadlock,
    /// There is no room for another claim.
    Full,
}

fn conflicts(claims: &[AdvisoryClaim], owner: AdvisoryOwner, mode: AdvisoryMode) -> bool {
    claims.iter().any(|other| other.owner != owner && other.mode.conflicts_with(mode))
}

/// A session asks for the lock. Asked again it stands where it stood.
pub fn ask(queue: &mut AdvisoryQueue, claim: AdvisoryClaim, may_wait: bool) -> ClaimStanding {
    if queue.holders.iter().any(|other| other.is_like(&claim)) {
        return ClaimStanding::Held;
    }
    let is_taken = conflicts(&queue.holders, claim.owner, claim.mode);
    if !may_wait {
        if is_taken || conflicts(&queue.waiters, claim.owner, claim.mode) {
            return ClaimStanding::Refused;
        }
    } else if queue.waiters.iter().any(|other| other.is_like(&claim)) {
        return ClaimStanding::Waits;
    }
    if queue.holders.len() + queue.waiters.len() >= ADVISORY_CLAIMS_MAX {
        return ClaimStanding::Full;
    }
    let (place, is_behind) = match may_wait {
        true => match place_of(queue, &claim) {
            Some(place) => place,
            None => return ClaimStanding::Deadlock,
        },
        false => (0, false),
    };
    if is_taken || is_behind {
        queue.waiters.insert(place, claim);
        return ClaimStanding::Waits;
    }
    queue.holders.push(claim);
    ClaimStanding::Held
}

/// Where a request has to wait, and whether one before that place is in its way: it goes before whoever waits for what its session has. `None`: it would wait
/// for that one, too.
fn place_of(queue: &AdvisoryQueue, claim: &AdvisoryClaim) -> Option<(usize, bool)> {
    let own = queue.holders.iter().filter(|held| held.owner == claim.owner);
    let own: Vec<AdvisoryMode> = own.map(|held| held.mode).collect();
    let mut is_behind = false;
    for (place, waiter) in queue.waiters.iter().enumerate() {
        if own.iter().any(|mode| mode.conflicts_with(waiter.mode)) {
            let holds = queue.holders.iter().filter(|held| held.owner == waiter.owner);
            let waits_for_it = holds.into_iter().any(|held| held.mode.conflicts_with(claim.mode));
            return (!waits_for_it).then_some((place, is_behind));
        }
        is_behind |= waiter.mode.conflicts_with(claim.mode);
    }
    Some((queue.waiters.len(), is_behind))
}

/// A session does not hold or await the lock in this mode any more. Whether it did.
pub fn leave(queue: &mut AdvisoryQueue, owner: AdvisoryOwner, mode: AdvisoryMode) -> bool {
    let before = queue.holders.len() + queue.waiters.len();
    let stays = |claim: &AdvisoryClaim| claim.owner != owner || claim.mode != mode;
    queue.holders.retain(stays);
    queue.waiters.retain(stays);
    queue.holders.len() + queue.waiters.len() < before
}

/// Claims of lives that are over in this epoch go. Whether there were any.
pub fn bury(queue: &mut AdvisoryQueue, epoch: &Epoch) -> bool {
    let before = queue.holders.len() + queue.waiters.len();
    queue.holders.retain(|claim| !claim.is_void_in(epoch));
    queue.waiters.retain(|claim| !claim.is_void_in(epoch));
    queue.holders.len() + queue.waiters.len() < before
}

/// Whoever can have the lock now gets it: who.
pub fn hand_on(queue: &mut AdvisoryQueue) -> Vec<AdvisoryOwner> {
    let (mut given, mut ahead) = (Vec::new(), Vec::new());
    for waiter in std::mem::take(&mut queue.waiters) {
        let is_behind = ahead.iter().any(|other: &AdvisoryClaim| other.mode.conflicts_with(waiter.mode));
        if is_behind || conflicts(&queue.holders, waiter.owner, waiter.mode) {
            ahead.push(waiter);
        } else {
            given.push(waiter.owner);
            queue.holders.push(waiter);
        }
    }
    queue.waiters = ahead;
    given
}

/// Whether nobody has anything to do with the lock.
pub fn is_idle(queue: &AdvisoryQueue) -> bool {
    queue.holders.is_empty() && queue.waiters.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use AdvisoryMode::{Exclusive, Share};
    use messages::epoch::{Placement, ProposalId};
    use messages::{EpochNumber, Incarnation, Member, MemberState, OracleLife, SessionId, SiteId};
    use proptest::prelude::*;

    fn owner(session: u64) -> AdvisoryOwner {
        AdvisoryOwner { site: SiteId(1), incarnation: Incarnation(1), session: SessionId(session) }
    }

    fn claim(session: u64, mode: AdvisoryMode) -> AdvisoryClaim {
        AdvisoryClaim { owner: owner(session), mode, process: session as i32, epoch: EpochNumber(5) }
    }

    fn sessions(claims: &[AdvisoryClaim]) -> Vec<u64> {
        claims.iter().map(|claim| claim.owner.session.0).collect()
    }

    /// If this fails, two sessions have a lock that one was to have alone, or one that was given back stays taken.
    #[test]
    fn one_has_it_and_the_next_gets_it() {
        let mut queue = AdvisoryQueue::default();
        assert_eq!(ask(&mut queue, claim(1, Exclusive), true), ClaimStanding::Held);
        assert_eq!(ask(&mut queue, claim(1, Exclusive), true), ClaimStanding::Held, "asked again");
        assert_eq!(ask(&mut queue, claim(2, Exclusive), false), ClaimStanding::Refused);
        assert_eq!(ask(&mut queue, claim(2, Exclusive), true), ClaimStanding::Waits);
        assert_eq!(ask(&mut queue, claim(2, Exclusive), true), ClaimStanding::Waits, "asked again");
        assert_eq!(ask(&mut queue, claim(3, Share), true), ClaimStanding::Waits);
        assert_eq!(ask(&mut queue, claim(4, Share), true), ClaimStanding::Waits);
        assert!(hand_on(&mut queue).is_empty());
        assert!(leave(&mut queue, owner(1), Exclusive) && !leave(&mut queue, owner(1), Exclusive));
        assert_eq!(hand_on(&mut queue), [owner(2)]);
        assert!(leave(&mut queue, owner(2), Exclusive));
        assert_eq!(hand_on(&mut queue), [owner(3), owner(4)], "they share it");
        assert!(leave(&mut queue, owner(3), Share) && leave(&mut queue, owner(4), Share) && is_idle(&queue));
    }

    /// If this fails, whoever wants a lock alone waits for as long as others come to share it.
    #[test]
    fn who_waits_alone_is_not_passed() {
        let mut queue = AdvisoryQueue::default();
        assert_eq!(ask(&mut queue, claim(1, Share), true), ClaimStanding::Held);
        assert_eq!(ask(&mut queue, claim(2, Exclusive), true), ClaimStanding::Waits);
        assert_eq!(ask(&mut queue, claim(3, Share), true), ClaimStanding::Waits);
        assert_eq!(ask(&mut queue, claim(4, Share), false), ClaimStanding::Refused);
        assert!(hand_on(&mut queue).is_empty());
        assert!(leave(&mut queue, owner(2), Exclusive), "it has given up");
        assert_eq!(hand_on(&mut queue), [owner(3)]);
    }

    /// If this fails, a session that has a lock waits behind those who wait for it.
    #[test]
    fn who_has_it_goes_before_who_waits_for_that() {
        let mut queue = AdvisoryQueue::default();
        assert_eq!(ask(&mut queue, claim(1, Share), true), ClaimStanding::Held);
        assert_eq!(ask(&mut queue, claim(2, Exclusive), true), ClaimStanding::Waits);
        assert_eq!(ask(&mut queue, claim(1, Exclusive), true), ClaimStanding::Held);
        assert_eq!(sessions(&queue.waiters), [2]);

        let mut queue = AdvisoryQueue::default();
        assert_eq!(ask(&mut queue, claim(1, Share), true), ClaimStanding::Held);
        assert_eq!(ask(&mut queue, claim(3, Share), true), ClaimStanding::Held);
        assert_eq!(ask(&mut queue, claim(2, Exclusive), true), ClaimStanding::Waits);
        assert_eq!(ask(&mut queue, claim(1, Exclusive), true), ClaimStanding::Waits);
        assert_eq!(sessions(&queue.waiters), [1, 2], "before the one that waits for it");
        let before = queue.clone();
        assert_eq!(ask(&mut queue, claim(3, Exclusive), true), ClaimStanding::Deadlock);
        assert_eq!(queue, before, "it is not in the way");
        assert!(leave(&mut queue, owner(3), Share));
        assert_eq!(hand_on(&mut queue), [owner(1)]);
    }

    /// If this fails, a session whose site is gone keeps a lock for ever, or one whose site has only just come loses it.
    #[test]
    fn lives_that_are_over_hold_nothing() {
        let member = Member::beginning(Incarnation(1), MemberState::Up);
        let epoch = |number| Epoch {
            number: EpochNumber(number),
            proposal: ProposalId::default(),
            parent: ProposalId::default(),
            oracle: OracleLife(1),
            members: [(SiteId(1), member)].into(),
            sessions: Default::default(),
            required_copies: 1,
            placement: Placement::Everywhere,
            restart: false,
        };
        let mut queue = AdvisoryQueue::default();
        let gone = AdvisoryOwner { incarnation: Incarnation(7), ..owner(9) };
        let other = AdvisoryOwner { site: SiteId(2), ..owner(9) };
        queue.holders = vec![AdvisoryClaim { owner: gone, ..claim(9, Exclusive) }];
        queue.waiters = vec![AdvisoryClaim { owner: other, ..claim(9, Share) }, claim(1, Exclusive)];
        assert!(!bury(&mut queue, &epoch(4)), "an epoch of before does not know them");
        assert!(bury(&mut queue, &epoch(5)));
        assert_eq!(hand_on(&mut queue), [owner(1)]);
        assert!(!bury(&mut queue, &epoch(6)));
    }

    proptest! {
        /// If this fails, some order of requests lets two sessions have a lock that conflicts, or leaves one waiting that nobody is in the way of.
        #[test]
        fn holders_never_conflict_and_nobody_waits_for_nothing(steps in prop::collection::vec((0_u64..5, any::<bool>(), 0_u8..4), 1..60)) {
            let mut queue = AdvisoryQueue::default();
            for (session, alone, what) in steps {
                let mode = if alone { Exclusive } else { Share };
                // A session that waits asks for nothing else.
                let waits = queue.waiters.iter().any(|waiter| waiter.owner == owner(session));
                match what {
                    0 | 1 if !waits => drop(ask(&mut queue, claim(session, mode), what == 0)),
                    _ => drop(leave(&mut queue, owner(session), mode)),
                }
                hand_on(&mut queue);
                for held in &queue.holders {
                    prop_assert!(!conflicts(&queue.holders, held.owner, held.mode));
                }
                let first = queue.waiters.first();
                prop_assert!(first.is_none_or(|first| conflicts(&queue.holders, first.owner, first.mode)));
            }
        }
    }
}
