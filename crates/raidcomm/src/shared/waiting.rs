//! Waiting for the other side, and ending its wait.
//!
//! A side that waits says how and on which processor. While the peer runs on another processor, a short spin is the fastest way to learn that
//! it is done; on a shared processor it only keeps the peer from running, so this side yields to it. Whoever has waited for long enough sleeps,
//! and only a sleeper is woken. A spin is as long as a sleep costs, shorter each time that it was in vain, and long again when it was, or
//! would have been, worth it.
//!
//! Invariant: a side never sleeps while something is posted to it: it says that it will sleep, then looks once more; the poster posts,
//! then looks whether it sleeps. Both are sequentially consistent, so one of them sees the other.

use super::place::{SharedPlace, Word};
use super::segment::{LineSegment, LineSide};
use crate::limits::{
    SPIN_MAX, SPIN_MIN, SPIN_WORTH, WITHOUT_YIELD_MAX, YIELD_CREDIT_MAX, YIELD_GAIN, YIELD_LONG, YIELD_LOSS, YIELD_TIME,
};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How a side waits, in the lower bits of its word; the processor is above them.
const RUNNING: u32 = 0;
const SPINNING: u32 = 1;
const YIELDING: u32 = 2;
const SLEEPING: u32 = 3;
/// Looks at the posted bits between two looks at the clock.
const LOOKS: usize = 16;

/// Why a wait has brought nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    TimedOut,
    Gone,
}

/// Nanoseconds of the clock that deadlines are on.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Wakes the side if it sleeps on its posted bits.
pub(super) fn wake_sleeper<P: SharedPlace>(segment: &LineSegment<P>, side: LineSide) {
    if segment.waiting(side).load(Ordering::SeqCst) & 3 == SLEEPING {
        segment.wake(side);
    }
}

/// Takes the slots that the other side has posted; lets `wait` wait if there are none, which says whether there is time left.
pub(super) fn take_posted<P: SharedPlace>(
    segment: &LineSegment<P>,
    side: LineSide,
    is_gone: impl Fn() -> bool,
    mut wait: impl FnMut() -> bool,
) -> Result<u32, Waited> {
    loop {
        let posted = segment.take_posted(side);
        if posted != 0 {
            return Ok(posted);
        }
        if is_gone() {
            return Err(Waited::Gone);
        }
        if !wait() {
            return Err(Waited::TimedOut);
        }
    }
}

/// How one side has learned to wait.
#[derive(Debug)]
pub(super) struct LineWaiter {
    /// How long to spin, nanoseconds.
    spin: u64,
    /// What yields have gained over sleeps, less what third processes took of them; nanoseconds, at most [`YIELD_CREDIT_MAX`].
    credit: u64,
    /// Waits that do not yield, because third processes took more than yields had gained.
    without_yield: u64,
}

impl Default for LineWaiter {
    fn default() -> LineWaiter {
        LineWaiter { spin: SPIN_MAX, credit: 0, without_yield: 0 }
    }
}

impl LineWaiter {
    /// Returns when something is posted to this side, or it was woken for another reason: `true`; or at the deadline: `false`.
    pub(super) fn wait(&mut self, segment: &LineSegment, side: LineSide, deadline: Option<u64>) -> bool {
        let (posted, own) = (segment.posted(side), segment.waiting(side));
        let processor = rustix::thread::sched_getcpu() as u32;
        let shared = segment.waiting(side.other()).load(Ordering::Relaxed) >> 2 == processor;
        let found = match shared {
            false => {
                own.store(processor << 2 | SPINNING, Ordering::Relaxed);
                self.spin(posted)
            }
            true => {
                own.store(processor << 2 | YIELDING, Ordering::Relaxed);
                self.yield_to_peer(posted)
            }
        };
        if found {
            own.store(processor << 2 | RUNNING, Ordering::Relaxed);
            return true;
        }
        let begun = now();
        let slept = sleep(segment, side, processor, deadline);
        self.spin = match now() - begun {
            // Awake again so soon, it would have learned it sooner by a spin.
            0..SPIN_WORTH => SPIN_MAX,
            _ => (self.spin / 2).max(SPIN_MIN),
        };
        own.store((rustix::thread::sched_getcpu() as u32) << 2 | RUNNING, Ordering::Relaxed);
        slept
    }

    fn spin(&mut self, posted: &impl Word) -> bool {
        let begun = now();
        loop {
            for _ in 0..LOOKS {
                if posted.load(Ordering::Acquire) != 0 {
                    self.spin = SPIN_MAX;
                    return true;
                }
                std::hint::spin_loop();
            }
            if now() - begun > self.spin {
                return false;
            }
        }
    }

    fn yield_to_peer(&mut self, posted: &impl Word) -> bool {
        if self.without_yield > 0 {
            self.without_yield -= 1;
            return posted.load(Ordering::Acquire) != 0;
        }
        let begun = now();
        let mut last = begun;
        while last - begun < YIELD_TIME {
            rustix::thread::sched_yield();
            let after = now();
            let found = posted.load(Ordering::Acquire) != 0;
            if after - last > YIELD_LONG {
                self.yielded_long(after - last);
                return found;
            }
            if found {
                self.yielded_well();
                return true;
            }
            last = after;
        }
        false
    }

    /// The peer had the processor, and posted something.
    fn yielded_well(&mut self) {
        self.credit = (self.credit + YIELD_GAIN).min(YIELD_CREDIT_MAX);
    }

    /// A third process had the processor for so long. Now and then that may be anybody; one that computes gets it whenever it is yielded, and a
    /// sleeper would have it back at once. So what yields have gained pays for that. If it does not, the loss is spread over the waits until
    /// the next try.
    fn yielded_long(&mut self, took: u64) {
        let loss = took.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(took);
        self.without_yield = (loss / YIELD_LOSS).min(WITHOUT_YIELD_MAX);
    }
}

/// Sleeps until something is posted, or the deadline: `false`.
pub(super) fn sleep<P: SharedPlace>(
    segment: &LineSegment<P>,
    side: LineSide,
    processor: u32,
    deadline: Option<u64>,
) -> bool {
    segment.waiting(side).store(processor << 2 | SLEEPING, Ordering::SeqCst);
    if segment.posted(side).load(Ordering::SeqCst) != 0 {
        return true;
    }
    let left = deadline.map(|deadline| deadline.saturating_sub(now()));
    if left == Some(0) {
        return false;
    }
    // The caller looks, and comes back if there is nothing.
    segment.sleep(side, left.map(Duration::from_nanos));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many waits do without a yield after these: microseconds for a yield that a third process had, 0 for one that went well.
    fn without_yield(waits: &[u64]) -> u64 {
        let mut waiter = LineWaiter::default();
        for took in waits {
            match took {
                0 => waiter.yielded_well(),
                _ => waiter.yielded_long(took * 1_000),
            }
        }
        waiter.without_yield
    }

    /// If this fails, a line beside a process that computes loses a turn of the processor to it every few calls; or one that was interrupted now
    /// and then does not pass control for a long time.
    #[test]
    fn who_loses_more_by_yields_than_they_gain_sleeps() {
        let turn = 3_000;
        assert_eq!(without_yield(&[turn]), turn * 1_000 / YIELD_LOSS);
        assert!(without_yield(&[0, turn, 0, turn]) > 11_000, "between two turns one yield may well go to the peer");
        let gained = vec![0; 2_000];
        assert_eq!(without_yield(&[&gained[..], &[1_000]].concat()), 0, "an interruption");
        assert_eq!(without_yield(&[&gained[..], &[1_000], &[1_500]].concat()), 2_000, "another");
        assert_eq!(
            without_yield(&[&vec![0; 1_000_000][..], &[turn], &[turn]].concat()),
            8_000,
            "gains of long ago do not last for ever"
        );
    }
}
