//! What holds segments and a log on a disk: a folder of files of fixed length. The seam between the real disk ([`crate::disk`])
//! and the one that fails on demand ([`crate::simulated`]).

use std::io;
use std::sync::Arc;

/// A file of fixed length, which nobody else has open.
///
/// Contract: what was written is read back at once; it survives the death of the process at once, and a loss of power once a
/// `sync` that began after it has succeeded. Of several writes without a sync between them, any may be lost, whole or in parts. After
/// a failed sync, what was written since the last successful one is unknown.
pub trait FixedFile: Send + Sync {
    /// The length in bytes.
    ///
    /// # Errors
    /// Of the operating system.
    fn bytes(&self) -> io::Result<u64>;

    /// Fills the buffer from `offset` on.
    ///
    /// # Errors
    /// Of the operating system, and [`io::ErrorKind::UnexpectedEof`] where the file is too short.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all bytes from `offset` on, which lie within the file.
    ///
    /// # Errors
    /// Of the operating system; any part may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Brings all that was written to the disk.
    ///
    /// # Errors
    /// Of the operating system.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of such files.
pub trait FileFolder: Send + Sync {
    /// Opens a file, or says that there is none.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if somebody else has it open.
    fn open(&self, name: &str) -> io::Result<Option<Arc<dyn FixedFile>>>;

    /// Makes a file of `bytes` bytes that begins with `head` and is zeros otherwise, and opens it. It is on disk as a whole when this
    /// returns, with its name; after a crash or a failure it is there whole or not at all.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::StorageFull`], and others of the operating system.
    fn create(&self, name: &str, bytes: u64, head: &[u8]) -> io::Result<Arc<dyn FixedFile>>;
}
