//! Bounds of a site's process; times in nanoseconds of the boot clock.

use messages::limits::MILLISECOND;

/// How often the servers are asked whether something is due.
pub const TICK: u64 = 5 * MILLISECOND;
/// A request to the oracle for a new life is sent again after this long.
pub const INCARNATE_AGAIN: u64 = 50 * MILLISECOND;
/// Connections of clients to one site.
pub const CLIENTS_MAX: usize = 1_000;
/// Bytes read from one client in one turn of the event loop.
pub const CLIENT_READ_BYTES: usize = 64 << 10;
/// Bytes of output that may wait for one client before nothing more is read from it.
pub const CLIENT_OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Events taken from the operating system at once.
pub const EVENTS_PER_TURN: usize = 1_024;
/// Bytes of row versions kept in memory unless the configuration says otherwise.
pub const MEMORY_BYTES_DEFAULT: usize = 512 << 20;
/// Connections to the console that are served at once.
pub const CONSOLE_BYTES_MAX: usize = 1 << 20;
