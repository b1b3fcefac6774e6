//! How a group of files stands, for display.

use network_memory::names::RecordReceipt;
use network_memory::writer::WriterStatus;
use std::fmt;
use std::sync::atomic::Ordering;

use crate::shared::{GroupShared, lock};

/// See the module's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesStatus {
    /// What would make a change durable now; none: nothing.
    pub in_force: Option<RecordReceipt>,
    /// Servers that hold everything that was acknowledged.
    pub copies: usize,
    /// Servers that are named.
    pub servers: usize,
    /// Syncs that the memory of servers has made durable, since the files were opened.
    pub syncs_memory: u64,
    /// Syncs that the disk has made durable.
    pub syncs_disk: u64,
    /// Bytes that servers have acknowledged and this disk does not have yet.
    pub window_bytes: u64,
    /// Bytes of the log since its front was last given up.
    pub log_bytes: u64,
    /// Why nothing is taken any more.
    pub failure: Option<String>,
}

impl FilesStatus {
    pub(crate) fn of(shared: &GroupShared) -> FilesStatus {
        // A child has the log of its parent, and perhaps a lock that nobody gives back.
        let (in_force, copies, window_bytes) = if shared.is_forked() {
            (None, 0, 0)
        } else {
            let WriterStatus { in_force, copies, window_bytes, .. } = lock(&shared.log).log.status();
            (in_force, copies, window_bytes)
        };
        let counts = &shared.counts;
        FilesStatus {
            in_force,
            copies,
            servers: shared.servers,
            syncs_memory: counts.syncs_memory.load(Ordering::Relaxed),
            syncs_disk: counts.syncs_disk.load(Ordering::Relaxed),
            window_bytes,
            log_bytes: counts.log_bytes.load(Ordering::Relaxed),
            failure: shared.check().err().map(|failure| failure.to_string()),
        }
    }
}

impl fmt::Display for FilesStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = &self.failure {
            return write!(formatter, "failed: {failure}");
        }
        match self.in_force {
            Some(receipt) => write!(formatter, "commits are durable by: {receipt}")?,
            None => write!(formatter, "commits are not durable now")?,
        }
        write!(
            formatter,
            "; {} of {} servers hold everything; {} syncs by memory, {} by disk; {} KiB not on this disk yet; log {} KiB",
            self.copies,
            self.servers,
            self.syncs_memory,
            self.syncs_disk,
            self.window_bytes.div_ceil(1024),
            self.log_bytes.div_ceil(1024)
        )
    }
}
