//! How large a line is, and why there may be none.

use crate::limits::{LINE_BYTES_MAX, SLOT_BYTES_MAX, SLOTS_MAX};
use rustix::io::Errno;
use thiserror::Error;

/// How large a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Calls that may be under way at once, from 1 to [`SLOTS_MAX`].
    pub slots: u32,
    /// Bytes of the longest request and of the longest reply, from 1 to [`SLOT_BYTES_MAX`]; all slots together have at most
    /// [`LINE_BYTES_MAX`].
    pub slot_bytes: u32,
}

impl Shape {
    pub(super) fn check(self) -> Result<(), LineError> {
        let fits = (1..=SLOTS_MAX).contains(&self.slots) && (1..=SLOT_BYTES_MAX).contains(&self.slot_bytes);
        if fits && u64::from(self.slots) * u64::from(self.slot_bytes) <= LINE_BYTES_MAX {
            Ok(())
        } else {
            Err(LineError::Shape(self))
        }
    }
}

/// Why there is no line.
#[derive(Debug, Error)]
pub enum LineError {
    /// The operating system refuses.
    #[error("no line of shared memory: {0}")]
    System(#[from] std::io::Error),
    /// There are bounds.
    #[error(
        "a line has 1 to {SLOTS_MAX} slots of 1 to {SLOT_BYTES_MAX} bytes, and {LINE_BYTES_MAX} together, not {} of {}",
        .0.slots, .0.slot_bytes
    )]
    Shape(Shape),
    /// What came over the socket is something else.
    #[error("the other side passed no segment of a line")]
    Foreign,
    /// The other side could take the memory away while it is used.
    #[error("the other side passed a segment that is not sealed")]
    NotSealed,
    /// The other side is older or newer.
    #[error("the other side's segments are of version {found}, ours of {expected}")]
    Version {
        /// Theirs.
        found: u32,
        /// Ours.
        expected: u32,
    },
}

impl From<Errno> for LineError {
    fn from(error: Errno) -> LineError {
        LineError::System(error.into())
    }
}
