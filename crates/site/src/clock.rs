//! The two clocks of a machine.

use messages::Now;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Both clocks. The boot clock goes on while the machine is suspended and never jumps; wall time may.
pub fn now() -> Now {
    Now { boot: nanoseconds(clock_gettime(ClockId::Boottime)), wall_micros: wall_micros() }
}

/// Nanoseconds of the boot clock.
pub fn boot() -> u64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// Microseconds since 1970.
pub fn wall_micros() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime)) / 1_000
}

fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
