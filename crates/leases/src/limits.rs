//! Bounds of the keeper of leases; times in nanoseconds of the boot clock.

use messages::LeaseLength;
use messages::lease::OWN_PAUSE;
use messages::limits::{MILLISECOND, SECOND, SILENT_VOTER, SYNC_STALL};

/// How often leases are asked for while one is missing.
pub const LEASE_FIRST: u64 = 10 * MILLISECOND;
/// A site whose servers have had no turn for this long neither asks for leases nor grants them. Its votes are missed sooner, if anybody waits for them.
pub const SERVERS_SILENT: u64 = 3 * SECOND;
/// What a lease lasts longer than three times the lateness that was seen.
pub const LENGTH_BASE: u64 = 150 * MILLISECOND;
/// How often a length that nothing demands any more falls, by a tenth of itself.
pub const LENGTH_FALLS: u64 = 10 * SECOND;

const _: () = assert!(LEASE_FIRST < LeaseLength::MIN.renewal());
const _: () = assert!(OWN_PAUSE < SILENT_VOTER && SILENT_VOTER < SERVERS_SILENT && SERVERS_SILENT < SYNC_STALL);
const _: () = assert!(LENGTH_BASE < LeaseLength::MIN.nanoseconds());
