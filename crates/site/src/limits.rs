//! Bounds of a site's process; times in nanoseconds of the boot clock.

use messages::limits::MILLISECOND;
use std::time::Duration;

/// How often the servers are asked whether something is due.
pub const TICK: u64 = 5 * MILLISECOND;
/// A request to the oracle for a new life is sent again after this long.
pub const INCARNATE_AGAIN: u64 = 50 * MILLISECOND;
/// How often it is looked whether something was refused for want of trust.
pub const DISTRUST_LOOK_INTERVAL: u64 = 500 * MILLISECOND;
/// What was refused for want of trust is logged at most this often.
pub const DISTRUST_LOG_INTERVAL: u64 = 30_000 * MILLISECOND;
/// Connections of clients to one site.
pub const CLIENTS_MAX: usize = 1_000;
/// Connections beyond those that are told that there are too many, or may cancel a statement; still more are dropped without a word.
pub const REFUSALS_MAX: usize = 64;
/// A silent client's host is probed after this long, and then as often.
pub const CLIENT_KEEPALIVE: Duration = Duration::from_secs(5);
/// Probes without an answer after which a client's host has vanished.
pub const CLIENT_KEEPALIVE_PROBES: u32 = 3;
/// Open files that a site may need: clients, peers, log segments, and what the store keeps open.
pub const OPEN_FILES: u64 = 8_192;
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

const _: () = assert!(DISTRUST_LOOK_INTERVAL < DISTRUST_LOG_INTERVAL, "what is new is told soon, what goes on seldom");
const _: () =
    assert!(OPEN_FILES as usize > 4 * (CLIENTS_MAX + REFUSALS_MAX), "clients leave room for the store's files");
