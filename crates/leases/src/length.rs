//! How long the leases are that a site asks for: as configured, and longer while its host is late.
//!
//! A host that is busy answers late. A lease that ends before the answer comes costs a membership; a longer one costs the others only that they wait
//! longer for this site once it is dead. So lateness lengthens leases at once, three times the lateness and some more, and they shrink slowly. Whatever
//! was promised stands: a shorter length concerns later requests only.

use crate::limits::{LENGTH_BASE, LENGTH_FALLS};
use messages::LeaseLength;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module's description. Words that the driver writes and everybody reads.
#[derive(Debug)]
pub struct Length {
    usual: LeaseLength,
    present: AtomicU64,
    /// The longest that was ever asked for.
    longest: AtomicU64,
    /// When it last rose or fell.
    changed_at: AtomicU64,
}

impl Length {
    /// As configured, while nothing is late.
    pub fn new(usual: LeaseLength) -> Length {
        let word = || AtomicU64::new(usual.nanoseconds());
        Length { usual, present: word(), longest: word(), changed_at: AtomicU64::new(0) }
    }

    /// As configured.
    pub fn usual(&self) -> LeaseLength {
        self.usual
    }

    /// To be asked for now.
    pub fn present(&self) -> LeaseLength {
        Self::of(&self.present)
    }

    /// The longest that was ever asked for.
    pub fn longest(&self) -> LeaseLength {
        Self::of(&self.longest)
    }

    fn of(word: &AtomicU64) -> LeaseLength {
        LeaseLength::try_from(word.load(Ordering::SeqCst)).expect("only lengths in range are stored")
    }

    /// This host was late by so many nanoseconds, or was not. Returns whether the length has changed.
    pub fn was_late(&self, now: u64, late: u64) -> bool {
        let (usual, longest) = (self.usual.nanoseconds(), LeaseLength::MAX.nanoseconds());
        let wanted = late.saturating_mul(3).saturating_add(LENGTH_BASE).clamp(usual, longest);
        let present = self.present.load(Ordering::SeqCst);
        let next = if wanted >= present {
            wanted
        } else if now >= self.changed_at.load(Ordering::SeqCst) + LENGTH_FALLS {
            wanted.max(present - present / 10)
        } else {
            return false;
        };
        self.changed_at.store(now, Ordering::SeqCst);
        self.present.store(next, Ordering::SeqCst);
        self.longest.fetch_max(next, Ordering::SeqCst);
        next != present
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::limits::{MILLISECOND, SECOND};

    /// A busy host keeps its membership only if its leases grow before the next one ends; and if they never shrank, every later death would
    /// cost the longest wait.
    #[test]
    fn lateness_lengthens_at_once_and_wears_off() {
        let length = Length::new(LeaseLength::DEFAULT);
        assert!(!length.was_late(0, 0));
        assert_eq!(length.present(), LeaseLength::DEFAULT);
        assert!(length.was_late(SECOND, 200 * MILLISECOND));
        assert_eq!(length.present().milliseconds(), 750);
        assert!(!length.was_late(2 * SECOND, 0), "too soon");
        assert!(length.was_late(11 * SECOND, 0));
        assert_eq!(length.present().milliseconds(), 675);
        for second in 12..200 {
            length.was_late(second * SECOND, 0);
        }
        assert_eq!((length.present(), length.longest().milliseconds()), (LeaseLength::DEFAULT, 750));
        length.was_late(300 * SECOND, u64::MAX);
        assert_eq!(length.present(), LeaseLength::MAX);
    }
}
