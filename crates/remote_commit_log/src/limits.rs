//! Bounds of a site's log in remote memory.

use network_memory::limits::RECORD_BYTES_MAX;
use std::time::Duration;

/// Bytes of a record of the site in one record of the remote log; a longer one becomes several.
pub const PIECE_BYTES: usize = 8 << 20;
/// Bytes of records that the log keeps in memory, for servers that come back. A site gives up its log at every checkpoint, some 32 MiB; where the
/// store is slow more comes together, as on a disk, and a site that could not append could not make a checkpoint either.
pub const RETAINED_BYTES_MAX: u64 = 64 << 30;
/// How often it is looked whether the operator is to be told something.
pub const TELLING_INTERVAL: Duration = Duration::from_millis(50);
/// How often it is looked whether a sync that is waited for has come to anything but a receipt.
pub const LOOK: Duration = Duration::from_secs(1);

const _: () = assert!(PIECE_BYTES + network_memory::stream::HEAD_BYTES <= RECORD_BYTES_MAX);
const _: () = assert!(RETAINED_BYTES_MAX > 4 * commit_log::limits::RECORD_BYTES_MAX as u64);
