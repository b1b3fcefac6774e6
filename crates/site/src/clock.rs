//! The two clocks of a machine.

use crate::limits::WALL_AGE_MAX;
use messages::Now;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::cell::Cell;

thread_local! {
    /// Both clocks in nanoseconds, boot clock first, when wall time was read last.
    static READ: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Both clocks. The boot clock goes on while the machine is suspended and never jumps; wall time may, which shows after
/// [`WALL_AGE_MAX`] at the latest: until then it goes with the boot clock, because servers ask for every message.
pub fn now() -> Now {
    let boot = boot();
    let (read_at, read) = READ.get();
    if boot - read_at <= WALL_AGE_MAX {
        return Now { boot, wall_micros: (read + (boot - read_at)) / 1_000 };
    }
    let wall = nanoseconds(clock_gettime(ClockId::Realtime));
    READ.set((boot, wall));
    Now { boot, wall_micros: wall / 1_000 }
}

/// Nanoseconds of the boot clock.
pub fn boot() -> u64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// Nanoseconds that this thread has had a processor.
pub fn of_thread() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Microseconds since 1970.
pub fn wall_micros() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime)) / 1_000
}

fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// A moment in microseconds since 1970 as a date, in UTC.
pub fn date(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the leap day is the last: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timestamps of a site would stray from those of others if its wall time did, however often it is asked.
    #[test]
    fn wall_time_follows_the_clock_of_the_machine() {
        let mut last = now();
        let end = last.boot + 3 * WALL_AGE_MAX;
        while last.boot < end {
            let before = wall_micros();
            let next = now();
            assert!(next.boot >= last.boot, "the boot clock never goes back");
            let strays = next.wall_micros.abs_diff(before);
            // Whoever sets the machine's clock, or keeps this thread waiting, is given the time of the longest lease.
            assert!(strays < messages::LeaseLength::MAX.nanoseconds() / 1_000, "by {strays} microseconds");
            last = next;
        }
    }
}
