//! Bounds of a domain.

/// Bytes of log after which a checkpoint begins.
pub const CHECKPOINT_BYTES: u64 = 64 << 20;
/// Messages that one call may deliver inside a site before something is badly wrong.
pub const MESSAGES_PER_CALL_MAX: usize = 10_000_000;
