//! A group of files of which one process ships the changes.
//!
//! The caller asks whether changes are taken, changes the files itself, and tells of every change; nothing is synced by it. A sync puts all changes since the last one into the log as one record,
//! and waits until k servers hold it. In the background the files are brought to disk and the log's front is given up (`settling`).
//!
//! Invariants:
//! * what the caller has told of before a sync is in the log when the sync returns, in the order in which it was told;
//! * a change that takes something away (a shorter file, a deleted one) is in the log, with a receipt, before it is made: the files never
//!   lack what a replay needs;
//! * the log's front is given up only when every change in it is in the files, and the files are on disk;
//! * only the process that has opened the group takes changes: a child that was forked from it has the same log, and would write into it unnoticed. It is
//!   refused, before any lock that a thread of its parent may have had at the fork, and gives nothing back;
//! * after a failure nothing is taken any more, and nothing written: whether what failed is in the log decides the next recovery, and nobody
//!   before it.
//!
//! What its threads share is in `shared`.

use network_memory::host::log_folder::LogFolder;
use network_memory::names::RecordReceipt;
use std::sync::Arc;

use crate::change::{FileChange, FileNumber, append_keyed};
use crate::error::DurabilityFailure;
use crate::limits::WRITE_BYTES_MAX;
use crate::opening::OpenedFiles;
use crate::remembered::Remembered;
use crate::settling::Settler;
use crate::shared::{GroupShared, PendingChanges, lock};
use crate::status::FilesStatus;

pub use crate::shared::NotifyOperator;

/// See the module's description.
pub struct RemoteFiles {
    shared: Arc<GroupShared>,
    settler: Option<Settler>,
    opened: OpenedFiles,
    /// Goes last: until then no other process opens the log.
    _folder: LogFolder,
}

impl RemoteFiles {
    pub(crate) fn new(
        shared: Arc<GroupShared>,
        settler: Settler,
        opened: OpenedFiles,
        folder: LogFolder,
    ) -> RemoteFiles {
        RemoteFiles { shared, settler: Some(settler), opened, _folder: folder }
    }

    /// What the opening has found.
    pub fn opened(&self) -> &OpenedFiles {
        &self.opened
    }

    /// Whether changes are still taken: to be asked before a file is written. After a failure the log may have what its caller takes for
    /// undone, and what is written then, to undo it, would be in the files and not in the log.
    ///
    /// # Errors
    /// The log has failed.
    pub fn check(&self) -> Result<(), DurabilityFailure> {
        self.shared.check()
    }

    /// Tells that bytes have been written to a file.
    ///
    /// # Errors
    /// The log has failed.
    pub fn wrote(&self, file: FileNumber, offset: u64, bytes: &[u8]) -> Result<(), DurabilityFailure> {
        // A piece at a time, with what waits before it put into the log: a record of any longer write would not be taken.
        let mut offset = offset;
        for bytes in bytes.chunks(WRITE_BYTES_MAX) {
            self.shared.wait_for_room()?;
            self.shared.told(|pending| FileChange::Write { file, offset, bytes }.append(&mut pending.record))?;
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Tells that bytes have been written that are likely to differ little from the last ones that were told with this key, in whatever
    /// file; a wrong key costs room in the log, and nothing else.
    ///
    /// # Errors
    /// The log has failed.
    pub fn wrote_keyed(&self, file: FileNumber, offset: u64, key: u64, bytes: &[u8]) -> Result<(), DurabilityFailure> {
        if !Remembered::takes(bytes.len()) {
            return self.wrote(file, offset, bytes);
        }
        self.shared.wait_for_room()?;
        self.shared
            .told(|PendingChanges { record, remembered }| append_keyed(record, remembered, file, offset, key, bytes))
    }

    /// Tells that a file has been made longer, with zeros.
    ///
    /// # Errors
    /// The log has failed.
    pub fn extended(&self, file: FileNumber, size: u64) -> Result<(), DurabilityFailure> {
        self.shared.told(|pending| FileChange::Resize { file, size }.append(&mut pending.record))
    }

    /// Cuts a file by `apply`, once the log says so.
    ///
    /// # Errors
    /// The log has failed: then nothing was cut. Otherwise what `apply` says.
    pub fn cut<T>(&self, file: FileNumber, size: u64, apply: impl FnOnce() -> T) -> Result<T, DurabilityFailure> {
        self.take_away(&FileChange::Resize { file, size }, apply)
    }

    /// Deletes a file by `apply`, once the log says so.
    ///
    /// # Errors
    /// As [`RemoteFiles::cut`].
    pub fn delete<T>(&self, file: FileNumber, apply: impl FnOnce() -> T) -> Result<T, DurabilityFailure> {
        self.take_away(&FileChange::Delete { file }, apply)
    }

    fn take_away<T>(&self, change: &FileChange<'_>, apply: impl FnOnce() -> T) -> Result<T, DurabilityFailure> {
        self.shared.check()?;
        let _applying = lock(&self.shared.applying);
        self.shared.told(|pending| change.append(&mut pending.record))?;
        self.shared.sync()?;
        Ok(apply())
    }

    /// Puts everything that was told into the log, and waits for nobody. The local log is a mapping, which outlives the process: a recovery after its
    /// death finds it there, and whatever is done to the files afterwards comes after it.
    ///
    /// # Errors
    /// The log has failed.
    pub fn ship(&self) -> Result<(), DurabilityFailure> {
        self.shared.check()?;
        // Most often nothing waits, and somebody else may have the log for long.
        if lock(&self.shared.pending).record.is_empty() {
            return Ok(());
        }
        let mut log = lock(&self.shared.log);
        self.shared.put(&mut log)
    }

    /// Waits until everything that was told is durable, and says by what; none if nothing was ever told.
    ///
    /// # Errors
    /// It is not known whether it is, and nothing is taken any more.
    pub fn sync(&self) -> Result<Option<RecordReceipt>, DurabilityFailure> {
        self.shared.sync()
    }

    /// Says that the caller could not make a change that the log has: only a recovery knows how to go on.
    pub fn fail(&self, reason: &str) {
        self.shared.fail(&reason);
    }

    /// How it stands.
    pub fn status(&self) -> FilesStatus {
        FilesStatus::of(&self.shared)
    }

    /// Brings the files to disk and empties the log, so that they can be used without it.
    ///
    /// # Errors
    /// Then the log is needed at the next opening.
    pub fn close(mut self) -> Result<(), DurabilityFailure> {
        self.shared.check()?;
        self.end();
        self.shared.check()?;
        crate::settling::settle(&self.shared)
    }

    /// Whether this is a child of the process that has opened the files: then nothing of them is taken.
    pub fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    fn end(&mut self) {
        let Some(settler) = self.settler.take() else { return };
        if self.shared.is_forked() {
            // Neither its threads are there nor may its log be touched: both are the parent's.
            std::mem::forget((settler, Arc::clone(&self.shared)));
            return;
        }
        settler.end(&self.shared);
    }
}

/// Like the death of the process: nothing is brought to disk, and the next opening replays the log.
impl Drop for RemoteFiles {
    fn drop(&mut self) {
        self.end();
    }
}
