//! Every bound of what is asked of the kernel.

use push::limits::DELIVERED_BYTES_MAX;

/// Bytes of a ring: a power of two, and a multiple of a page.
pub const RING_BYTES: usize = 1 << 20;
/// Bytes of the kernel's words on a refusal. It keeps the last ones.
pub const REFUSAL_BYTES_MAX: usize = 1 << 18;
/// Bytes that a packet that is tried may have: a page, less what the kernel keeps of it.
pub const TESTED_BYTES_MAX: usize = 3_000;

const _: () = assert!(RING_BYTES.is_power_of_two(), "the kernel wants it so");
const _: () = assert!(DELIVERED_BYTES_MAX * 64 <= RING_BYTES, "a round of votes has room");
