//! Waiting for the other side, and ending its wait.
//!
//! A side that waits says how and on which processor. While the peer runs on another processor, a short spin is the fastest way to learn that
//! it is done; on a shared processor it only keeps the peer from running, so this side yields to it. Whoever has waited for long enough sleeps,
//! and only a sleeper is woken. A spin is as long as a sleep costs, shorter each time that it was in vain, and long again when it was, or
//! would have been, worth it.
//!
//! Invariant: a side never sleeps while something is posted to it: it says that it will sleep, then looks once more; the poster posts,
//! then looks whether it sleeps. Both are sequentially consistent, so one of them sees the other.

use super::place::{Place, Word};
use super::segment::{Segment, Side};
use crate::limits::{SPIN_MAX, SPIN_MIN, SPIN_WORTH, WITHOUT_YIELD_MAX, YIELD_LONG, YIELD_LOSS, YIELD_TIME};
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
pub(super) fn wake_sleeper<P: Place>(segment: &Segment<P>, side: Side) {
    if segment.waiting(side).load(Ordering::SeqCst) & 3 == SLEEPING {
        segment.wake(side);
    }
}

/// Takes the slots that the other side has posted; lets `wait` wait if there are none, which says whether there is time left.
pub(super) fn take_posted<P: Place>(
    segment: &Segment<P>,
    side: Side,
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
pub(super) struct Waiter {
    /// How long to spin, nanoseconds.
    spin: u64,
    /// The last yield took long.
    yielded_long: bool,
    /// Waits that do not yield, because a third process took the processor for long when this side last did.
    without_yield: u64,
}

impl Default for Waiter {
    fn default() -> Waiter {
        Waiter { spin: SPIN_MAX, yielded_long: false, without_yield: 0 }
    }
}

impl Waiter {
    /// Returns when something is posted to this side, or it was woken for another reason: `true`; or at the deadline: `false`.
    pub(super) fn wait(&mut self, segment: &Segment, side: Side, deadline: Option<u64>) -> bool {
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
                // Once, anybody may have interrupted either side. Twice in a row, a third process has the processor whenever it is yielded, and
                // a sleeper gets it back sooner: what the try has cost is spread over the waits until the next one.
                if std::mem::replace(&mut self.yielded_long, true) {
                    self.without_yield = ((after - last) / YIELD_LOSS).min(WITHOUT_YIELD_MAX);
                }
                return found;
            }
            if found {
                self.yielded_long = false;
                return true;
            }
            last = after;
        }
        false
    }
}

/// Sleeps until something is posted, or the deadline: `false`.
pub(super) fn sleep<P: Place>(segment: &Segment<P>, side: Side, processor: u32, deadline: Option<u64>) -> bool {
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
