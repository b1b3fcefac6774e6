//! Memory of a model: the twin of a mapping, with words that loom watches, and flaws to plant.
//!
//! What the threads share is counted by the standard library's `Arc`, which loom does not watch: how often it is cloned changes nothing, and
//! what is left of an execution that went wrong can be dropped.
//!
//! Loom knows the order that `SeqCst` gives to fences, but not the one that it gives to accesses, which it takes for acquire and release. So an
//! access that is to be in that order has a fence behind it when it writes: no more than what x86 does for it, and what the standard's order
//! of the two accesses of "I wait; what have you done?" amounts to.

use crate::shared::mapping::HEAD_BYTES;
use crate::shared::place::{SharedCount, SharedPlace, Word};
use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use loom::thread::{self, ThreadId};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is done wrong to the word or the count at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// All that is done to it is relaxed.
    Relaxed(usize),
    /// It is in the one order of all, but what was written before it is not published with it.
    NotPublished(usize),
    /// It is ordered by acquire and release, not by the one order of all.
    AcquireRelease(usize),
    /// What is stored in it is stored after the next look at another: first looked, then said.
    Late(usize),
    /// Nobody who sleeps on it is woken.
    NotWoken(usize),
}

impl Flaw {
    fn at(self) -> usize {
        match self {
            Flaw::Relaxed(at)
            | Flaw::NotPublished(at)
            | Flaw::AcquireRelease(at)
            | Flaw::Late(at)
            | Flaw::NotWoken(at) => at,
        }
    }
}

/// Stores that are late, and whose. All threads of a model are one of the operating system's: the lock is never waited for.
type Late = Mutex<Vec<(ThreadId, Arc<AtomicU32>, u32)>>;

/// A word or a count that loom watches.
pub(super) struct LoomWatched<Atomic> {
    atomic: Arc<Atomic>,
    flaw: Option<Flaw>,
    late: Arc<Late>,
}

impl<Atomic> LoomWatched<Atomic> {
    fn order(&self, order: Ordering, plain: Ordering) -> Ordering {
        match (self.flaw, order) {
            (Some(Flaw::Relaxed(_) | Flaw::NotPublished(_)), _) | (_, Ordering::Relaxed) => Ordering::Relaxed,
            _ => plain,
        }
    }

    fn wrote(&self, order: Ordering) {
        let weak = matches!(self.flaw, Some(Flaw::Relaxed(_) | Flaw::AcquireRelease(_)));
        if order == Ordering::SeqCst && !weak {
            fence(Ordering::SeqCst);
        }
    }

    /// Does what this thread has put off.
    fn catch_up(&self) {
        let own = thread::current().id();
        // Taken out first: a store lets other threads of the model run.
        let due: Vec<_> = {
            let mut late = self.late.lock().expect("no thread of a model fails with it");
            late.extract_if(.., |(thread, ..)| *thread == own).collect()
        };
        due.iter().for_each(|(_, atomic, value)| atomic.store(*value, Ordering::SeqCst));
    }
}

impl Word for LoomWatched<AtomicU32> {
    fn load(&self, order: Ordering) -> u32 {
        let value = self.atomic.load(self.order(order, Ordering::Acquire));
        self.catch_up();
        value
    }

    fn store(&self, value: u32, order: Ordering) {
        if matches!(self.flaw, Some(Flaw::Late(_))) && value != 0 {
            let mut late = self.late.lock().expect("no thread of a model fails with it");
            late.push((thread::current().id(), self.atomic.clone(), value));
            return;
        }
        // As a swap: of a store behind the one that somebody's swap has read, loom does not know that it is behind that swap, too.
        self.atomic.swap(value, self.order(order, Ordering::Release));
        self.wrote(order);
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        let before = self.atomic.swap(value, self.order(order, Ordering::AcqRel));
        self.wrote(order);
        before
    }

    fn fetch_or(&self, value: u32, order: Ordering) -> u32 {
        let before = self.atomic.fetch_or(value, self.order(order, Ordering::AcqRel));
        self.wrote(order);
        before
    }

    fn replace(&self, expected: u32, value: u32, order: Ordering) -> bool {
        let order = self.order(order, Ordering::AcqRel);
        self.atomic.compare_exchange(expected, value, order, Ordering::Relaxed).is_ok()
    }
}

impl SharedCount for LoomWatched<AtomicU64> {
    fn load(&self, order: Ordering) -> u64 {
        let value = self.atomic.load(self.order(order, Ordering::Acquire));
        self.catch_up();
        value
    }

    fn store(&self, value: u64, order: Ordering) {
        self.atomic.store(value, self.order(order, Ordering::Release));
        self.wrote(order);
    }
}

impl<Atomic> LoomWatched<Atomic> {
    fn new(at: usize, atomic: Atomic, flaw: Option<Flaw>, late: &Arc<Late>) -> (usize, LoomWatched<Atomic>) {
        let flaw = flaw.filter(|flaw| flaw.at() == at);
        (at, LoomWatched { atomic: Arc::new(atomic), flaw, late: late.clone() })
    }
}

/// The bytes of a model, and where they are.
struct Bytes {
    from: usize,
    bytes: Vec<UnsafeCell<u8>>,
}

/// Memory of a model. Its words are where it is told; all else behind the head is bytes.
pub(super) struct ModelMemory {
    words: BTreeMap<usize, LoomWatched<AtomicU32>>,
    counts: BTreeMap<usize, LoomWatched<AtomicU64>>,
    bytes: Bytes,
    length: usize,
    flaw: Option<Flaw>,
    /// Of those who sleep on a word.
    sleepers: BTreeMap<usize, Notify>,
}

/// What a memory has.
pub(super) struct MemoryPlan<'a> {
    pub words: &'a [usize],
    pub counts: &'a [usize],
    pub bytes: std::ops::Range<usize>,
    pub length: usize,
}

// SAFETY: it is used by several threads as a mapping is, and loom fails the model if two of them use a byte at once.
unsafe impl Sync for ModelMemory {}
// SAFETY: as above.
unsafe impl Send for ModelMemory {}

impl ModelMemory {
    /// All zeros.
    pub(super) fn new(plan: &MemoryPlan, flaw: Option<Flaw>) -> Arc<ModelMemory> {
        assert!(plan.length >= HEAD_BYTES && plan.bytes.end <= plan.length, "a model has room for its bytes");
        let late = Arc::<Late>::default();
        Arc::new(ModelMemory {
            words: plan.words.iter().map(|&at| LoomWatched::new(at, AtomicU32::new(0), flaw, &late)).collect(),
            counts: plan.counts.iter().map(|&at| LoomWatched::new(at, AtomicU64::new(0), flaw, &late)).collect(),
            bytes: Bytes { from: plan.bytes.start, bytes: plan.bytes.clone().map(|_| UnsafeCell::new(0)).collect() },
            length: plan.length,
            flaw,
            sleepers: plan.words.iter().map(|&at| (at, Notify::new())).collect(),
        })
    }

    fn cells(&self, at: usize, count: usize) -> &[UnsafeCell<u8>] {
        match count {
            0 => &[],
            _ => &self.bytes.bytes[at - self.bytes.from..][..count],
        }
    }
}

impl SharedPlace for Arc<ModelMemory> {
    type Word = LoomWatched<AtomicU32>;
    type Count = LoomWatched<AtomicU64>;

    fn length(&self) -> usize {
        self.length
    }

    fn word(&self, at: usize) -> &LoomWatched<AtomicU32> {
        &self.words[&at]
    }

    fn count(&self, at: usize) -> &LoomWatched<AtomicU64> {
        &self.counts[&at]
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        // SAFETY: loom fails the model if the byte is used elsewhere meanwhile.
        self.cells(at, bytes.len())
            .iter()
            .zip(bytes)
            .for_each(|(cell, byte)| cell.with_mut(|cell| unsafe { *cell = *byte }));
    }

    fn read(&self, at: usize, into: &mut [MaybeUninit<u8>]) {
        for (cell, byte) in self.cells(at, into.len()).iter().zip(into) {
            // SAFETY: loom fails the model if the byte is written elsewhere meanwhile.
            byte.write(cell.with(|cell| unsafe { *cell }));
        }
    }

    /// As the futex does: who wakes between the look and the sleep is not missed.
    fn sleep(&self, at: usize, _time: Option<Duration>) {
        if self.word(at).atomic.load(Ordering::Acquire) == 0 {
            self.sleepers[&at].wait();
        }
    }

    fn wake(&self, at: usize) {
        if self.flaw != Some(Flaw::NotWoken(at)) {
            self.sleepers[&at].notify();
        }
    }
}
