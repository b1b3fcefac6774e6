//! The clocks of one simulated machine.
//!
//! Invariant: the boot clock only goes up, at a rate within 2% of true time, from a start of its own at each power-up; the wall
//! clock is true time plus an offset that jumps, and stays within [`limits::WALL_OFFSET_MICROS_MAX`].

use crate::limits;
use crate::random::SeededRandom;
use messages::Now;

/// Microseconds between 1970 and the beginning of the simulated time: some day in 2025.
const WALL_START_MICROS: u64 = 1_750_000_000_000_000;

/// Both clocks of a machine.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    /// Boot clock at `powered_at`.
    boot_offset: u64,
    /// True time.
    powered_at: u64,
    /// How much faster than true time, in parts per million.
    rate: i64,
    wall_offset_micros: i64,
}

impl MachineClock {
    /// A machine that was powered up at this true time.
    pub fn new(random: &mut SeededRandom, now: u64, rate_max: i64) -> MachineClock {
        let rate = random.below(2 * rate_max as u64 + 1) as i64 - rate_max;
        let mut clock = MachineClock { boot_offset: 0, powered_at: 0, rate, wall_offset_micros: 0 };
        clock.power_up(random, now);
        clock
    }

    /// The boot clock starts anew.
    pub fn power_up(&mut self, random: &mut SeededRandom, now: u64) {
        self.boot_offset = random.between(messages::limits::SECOND, 1_000 * messages::limits::SECOND);
        self.powered_at = now;
    }

    /// What the clocks show at this true time.
    pub fn at(&self, now: u64) -> Now {
        let elapsed = now - self.powered_at;
        // At most 2% of a run: no overflow for days.
        let drift = elapsed as i64 * self.rate / 1_000_000;
        let wall_micros = (WALL_START_MICROS + now / 1_000).saturating_add_signed(self.wall_offset_micros);
        Now { boot: (self.boot_offset + elapsed).saturating_add_signed(drift), wall_micros }
    }

    /// Somebody sets the wall clock.
    pub fn jump(&mut self, micros: i64) {
        let max = limits::WALL_OFFSET_MICROS_MAX;
        self.wall_offset_micros = (self.wall_offset_micros + micros).clamp(-max, max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A boot clock that went back would end leases that are still held.
    #[test]
    fn the_boot_clock_goes_up_whatever_the_wall_clock_does() {
        let mut random = SeededRandom::new(3);
        let mut clock = MachineClock::new(&mut random, 5, 20_000);
        let mut last = clock.at(5).boot;
        for step in 1..1_000 {
            clock.jump(random.draw() as i64 % 1_000_000);
            let boot = clock.at(5 + step * 1_000).boot;
            assert!(boot > last);
            last = boot;
        }
    }
}
