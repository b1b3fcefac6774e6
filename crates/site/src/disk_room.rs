//! Room on the disk of a folder.

use std::path::Path;

/// In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskRoom {
    /// All there is.
    pub(crate) size: u64,
    /// What ordinary users may still use.
    pub(crate) available: u64,
}

impl DiskRoom {
    /// Of the disk that a folder is on; `None`: the operating system does not tell.
    pub(crate) fn of(folder: &Path) -> Option<DiskRoom> {
        let room = rustix::fs::statvfs(folder).ok()?;
        Some(DiskRoom {
            size: room.f_blocks.saturating_mul(room.f_frsize),
            available: room.f_bavail.saturating_mul(room.f_frsize),
        })
    }
}
