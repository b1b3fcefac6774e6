//! Who waits for whom, over all locks, and whether that goes round in a circle.
//!
//! All of it is read at one moment, so what it shows was so. Invariant: of the sessions of a circle exactly one gives up: the greatest. Each looks for
//! circles of which it is that one, and every circle has one.

use messages::advisory::{AdvisoryClaim, AdvisoryKey, AdvisoryMode, AdvisoryOwner, AdvisoryQueue};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryWait {
    /// For what.
    pub key: AdvisoryKey,
    /// Who, and how it wants that.
    pub waiter: AdvisoryClaim,
    /// For whom.
    pub blocker: AdvisoryClaim,
}

/// As PostgreSQL says it.
impl fmt::Display for AdvisoryWait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AdvisoryWait { key, waiter, blocker } = self;
        let (process, mode, by) = (waiter.process, waiter.mode.name(), blocker.process);
        write!(formatter, "Process {process} waits for {mode} on {key}; blocked by process {by}.")
    }
}

/// All waits of one moment.
#[derive(Debug, Default)]
pub struct AdvisoryWaits(BTreeMap<AdvisoryOwner, Vec<AdvisoryWait>>);

impl AdvisoryWaits {
    /// Of these locks.
    pub fn of(queues: impl IntoIterator<Item = (AdvisoryKey, AdvisoryQueue)>) -> AdvisoryWaits {
        let mut all = AdvisoryWaits::default();
        for (key, queue) in queues {
            for (place, waiter) in queue.waiters.iter().enumerate() {
                let before = queue.holders.iter().chain(&queue.waiters[..place]);
                let is_in_the_way = |other: &&AdvisoryClaim| {
                    other.owner != waiter.owner && AdvisoryMode::conflicts_with(other.mode, waiter.mode)
                };
                let waits = before.filter(is_in_the_way).map(|blocker| AdvisoryWait {
                    key,
                    waiter: *waiter,
                    blocker: *blocker,
                });
                all.0.entry(waiter.owner).or_default().extend(waits);
            }
        }
        all
    }

    /// A circle of which this session is the one to give up, from its own wait on.
    pub fn circle_of(&self, own: AdvisoryOwner) -> Option<Vec<AdvisoryWait>> {
        let mut seen = BTreeSet::new();
        // The way so far, and at each of its waits those still to be tried instead.
        let mut way: Vec<(AdvisoryWait, &[AdvisoryWait])> = Vec::new();
        let mut next: &[AdvisoryWait] = self.0.get(&own)?;
        loop {
            while let [wait, others @ ..] = next {
                next = others;
                let to = wait.blocker.owner;
                if to == own {
                    return Some(way.iter().map(|(wait, _)| *wait).chain([*wait]).collect());
                }
                if to < own && seen.insert(to) {
                    way.push((*wait, others));
                    next = self.0.get(&to).map_or(&[], Vec::as_slice);
                }
            }
            next = way.pop()?.1;
        }
    }
}

/// What a client is told of a circle.
pub fn described(circle: &[AdvisoryWait]) -> String {
    circle.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::{EpochNumber, Incarnation, SessionId, SiteId};

    fn owner(session: u64) -> AdvisoryOwner {
        AdvisoryOwner { site: SiteId(1), incarnation: Incarnation(1), session: SessionId(session) }
    }

    fn claim(session: u64) -> AdvisoryClaim {
        let mode = AdvisoryMode::Exclusive;
        AdvisoryClaim { owner: owner(session), mode, process: session as i32, epoch: EpochNumber(1) }
    }

    fn lock(number: i64, holder: u64, waiters: &[u64]) -> (AdvisoryKey, AdvisoryQueue) {
        let waiters = waiters.iter().copied().map(claim).collect();
        (AdvisoryKey::of_number(number), AdvisoryQueue { holders: vec![claim(holder)], waiters })
    }

    /// If this fails, sessions wait for each other for ever, or all of them give up.
    #[test]
    fn one_of_a_circle_gives_up() {
        let waits = AdvisoryWaits::of([lock(1, 1, &[2]), lock(2, 2, &[3]), lock(3, 3, &[1, 4])]);
        let circle = waits.circle_of(owner(3)).expect("it is the greatest");
        let told = described(&circle);
        assert_eq!(
            told,
            "Process 3 waits for ExclusiveLock on advisory lock [5,0,2,1]; blocked by process 2.\n\
             Process 2 waits for ExclusiveLock on advisory lock [5,0,1,1]; blocked by process 1.\n\
             Process 1 waits for ExclusiveLock on advisory lock [5,0,3,1]; blocked by process 3."
        );
        for other in [1, 2, 4, 5] {
            assert_eq!(waits.circle_of(owner(other)), None, "{other} waits on");
        }
    }

    /// If this fails, a session that only waits long is told of a deadlock.
    #[test]
    fn a_long_line_is_no_circle() {
        let waits = AdvisoryWaits::of([lock(1, 1, &[2, 3, 4]), lock(2, 2, &[5]), lock(3, 3, &[6, 7])]);
        assert!((1..8).all(|session| waits.circle_of(owner(session)).is_none()));
        // Behind one that waits for what it has itself.
        let waits = AdvisoryWaits::of([lock(1, 1, &[2, 3]), lock(2, 3, &[1])]);
        assert_eq!(waits.circle_of(owner(3)).map(|circle| circle.len()), Some(2));
    }
}
