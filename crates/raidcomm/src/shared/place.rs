//! Where the words and the bytes lie that the two sides share: a mapping between processes, or a model that tries every order of what two
//! threads do to them.
//!
//! Invariant: what a ring and a line do to shared memory, they do through this; so what is proved of the model is true of the mapping.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Memory that both sides have. A place in it is an offset from its start.
pub(super) trait SharedPlace {
    /// A word.
    type Word: Word;
    /// A count of bytes, too large to wrap.
    type Count: SharedCount;

    /// Bytes, the head included.
    fn length(&self) -> usize;
    /// The word that lies there.
    fn word(&self, at: usize) -> &Self::Word;
    /// The count that lies there.
    fn count(&self, at: usize) -> &Self::Count;
    /// Copies bytes to a place that is this side's.
    fn write(&self, at: usize, bytes: &[u8]);
    /// Copies bytes from a place that is this side's; all of `into` is filled.
    fn read(&self, at: usize, into: &mut [MaybeUninit<u8>]);
    /// Sleeps while the word is 0, until [`SharedPlace::wake`], for the time at most; perhaps shorter. Whoever changes the word and then wakes is
    /// not missed.
    fn sleep(&self, at: usize, time: Option<Duration>);
    /// Wakes who sleeps on the word.
    fn wake(&self, at: usize);
}

/// What is done to a word.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u32;
    fn store(&self, value: u32, order: Ordering);
    fn swap(&self, value: u32, order: Ordering) -> u32;
    fn fetch_or(&self, value: u32, order: Ordering) -> u32;
    /// Whether it was as expected, and was changed. Otherwise nothing is learnt of it.
    fn replace(&self, expected: u32, value: u32, order: Ordering) -> bool;
}

/// What is done to a count.
pub(super) trait SharedCount {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }

    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }

    #[inline]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::swap(self, value, order)
    }

    #[inline]
    fn fetch_or(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::fetch_or(self, value, order)
    }

    #[inline]
    fn replace(&self, expected: u32, value: u32, order: Ordering) -> bool {
        self.compare_exchange(expected, value, order, Ordering::Relaxed).is_ok()
    }
}

impl SharedCount for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
}
