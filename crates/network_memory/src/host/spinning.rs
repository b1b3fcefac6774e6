//! Looking again and again for a short time before going to sleep: to be woken on another core costs more than an answer takes.
//!
//! Invariants: nobody is kept from working by it, because every look is followed by giving the processor up, and once somebody else has taken it for
//! long, nothing is looked at again for a while; and it is done only while what is waited for has lately come in such a time.

use crate::limits::{SPIN, SPIN_PAUSE_MAX, SPIN_PAUSE_MIN, SPIN_TAKEN};

/// See the module's description. Times are in nanoseconds.
#[derive(Debug)]
pub(super) struct Spinner {
    /// How long was waited lately, as a moving average over about eight times.
    usual: u64,
    not_before: u64,
    pause: u64,
}

impl Spinner {
    pub(super) fn new() -> Spinner {
        Spinner { usual: 2 * SPIN, not_before: 0, pause: SPIN_PAUSE_MIN }
    }

    /// Looks until `look` says that there is something, or it has been looked for long enough; says whether there is. `clock` tells the time.
    pub(super) fn spin(&mut self, clock: impl Fn() -> u64, mut look: impl FnMut() -> bool) -> bool {
        let begun = clock();
        if self.usual > SPIN || begun < self.not_before {
            return false;
        }
        let mut now = begun;
        loop {
            if look() {
                return true;
            }
            std::thread::yield_now();
            let after = clock();
            if after - now > SPIN_TAKEN {
                self.not_before = after + self.pause;
                self.pause = (2 * self.pause).min(SPIN_PAUSE_MAX);
                return look();
            }
            now = after;
            if now - begun > SPIN {
                return false;
            }
        }
    }

    /// Notes how long was waited until there was something.
    pub(super) fn waited(&mut self, time: u64) {
        self.usual = (7 * self.usual + time.min(16 * SPIN)) / 8;
        if time <= SPIN {
            self.pause = (self.pause - self.pause / 64).max(SPIN_PAUSE_MIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raidcomm::limits::MILLISECOND;

    const MICROSECOND: u64 = MILLISECOND / 1_000;
    use std::cell::Cell;

    /// If this failed, a server that nobody speaks to would keep a core busy, or one with much to do would sleep between any two requests.
    #[test]
    fn it_spins_only_while_that_has_been_worth_it() {
        let (now, looks) = (Cell::new(0), Cell::new(0));
        let mut spinner = Spinner::new();
        let spin = |spinner: &mut Spinner, step: u64, comes_at: u64| {
            looks.set(0);
            let clock = || now.replace(now.get() + step);
            let found = spinner.spin(clock, || {
                looks.set(looks.get() + 1);
                looks.get() >= comes_at
            });
            (found, looks.get())
        };
        assert_eq!(spin(&mut spinner, 1, 5), (false, 0), "nothing is known yet");
        (0..16).for_each(|_| spinner.waited(20 * MICROSECOND));
        assert_eq!(spin(&mut spinner, MICROSECOND, 5), (true, 5));
        let (found, count) = spin(&mut spinner, MICROSECOND, u64::MAX);
        assert!(!found && count > 90, "{count}");
        assert_eq!(spin(&mut spinner, SPIN_TAKEN + 1, 9), (false, 2), "somebody else needs the processor");
        assert_eq!(spin(&mut spinner, 1, 1), (false, 0), "for a while");
        now.set(now.get() + SPIN_PAUSE_MIN);
        assert_eq!(spin(&mut spinner, 1, 1), (true, 1));
        (0..16).for_each(|_| spinner.waited(MILLISECOND));
        assert_eq!(spin(&mut spinner, 1, 1), (false, 0), "it comes rarely now");
    }
}
