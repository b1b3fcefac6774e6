//! Bounds of the oracle. Beyond them it refuses, says so in its log, and goes on serving what it has.

use messages::limits::SITES_MAX;

/// Bytes of one network location.
pub const LOCATION_BYTES_MAX: usize = 256;
/// Servers that may be registered.
pub const REGISTRATIONS_MAX: usize = SITES_MAX * 256;
/// Pairs of a pattern and a server that watches it.
pub const WATCHES_MAX: usize = SITES_MAX * 256;
