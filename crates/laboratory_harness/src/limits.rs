//! How long processes are waited for, and how many hosts there are. Times are in milliseconds.

/// How long a process of the harness may say nothing: longer than all that it is asked for takes on a busy machine.
pub const SILENCE_TIME: u64 = 60_000;
/// Hosts at one switch: an address ends in one byte.
pub const SWITCHED_MAX: u8 = 100;
