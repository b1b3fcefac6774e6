//! Bounds of a domain.

/// Bytes of log after which a checkpoint begins. A start replays so much and what came while the store took it.
pub const CHECKPOINT_BYTES: u64 = 32 << 20;
/// Messages that one call may deliver inside a site before something is badly wrong.
pub const MESSAGES_PER_CALL_MAX: usize = 10_000_000;
