//! How late a thread was, each time that it was to run: counted, so that what is rare shows.

use std::sync::atomic::{AtomicU64, Ordering};

/// Classes of lateness: the first is less than two microseconds, each has twice the bound of the one before, the last has no bound.
const CLASSES: usize = 26;

/// How late a thread was in the life of its process. One thread notes, others read.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    classes: [AtomicU64; CLASSES],
    longest: AtomicU64,
}

impl Lateness {
    /// It was late by so many nanoseconds.
    pub(crate) fn note(&self, nanoseconds: u64) {
        let microseconds = nanoseconds / 1_000;
        let class = (u64::BITS - microseconds.max(1).leading_zeros() - 1) as usize;
        self.classes[class.min(CLASSES - 1)].fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(microseconds, Ordering::Relaxed);
    }

    /// The longest, in microseconds.
    pub(crate) fn longest(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }

    /// In so many of a thousand times it was late by at most this, in microseconds: the bound of a class, or the longest.
    pub(crate) fn of_thousand(&self, part: u64) -> u64 {
        let counts: Vec<u64> = self.classes.iter().map(|class| class.load(Ordering::Relaxed)).collect();
        let all: u64 = counts.iter().sum();
        let mut seen = 0;
        for (class, count) in counts.iter().enumerate() {
            seen += count;
            if seen * 1_000 >= all * part {
                return (2 << class).min(self.longest());
            }
        }
        self.longest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_shows() {
        let lateness = Lateness::default();
        assert_eq!((lateness.of_thousand(999), lateness.longest()), (0, 0));
        (0..998).for_each(|_| lateness.note(3_500));
        (0..2).for_each(|_| lateness.note(70_000_000));
        assert_eq!(lateness.of_thousand(500), 4);
        assert_eq!(lateness.of_thousand(999), 70_000, "no more than the longest");
        assert_eq!(lateness.longest(), 70_000);
        lateness.note(u64::MAX);
    }
}
