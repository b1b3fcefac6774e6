//! What the threads of a group share: the log, changes that are not in it yet, and what the settler is told. The invariants are those of [`group`](crate::group).
//!
//! Locks are taken in this order: `applying`, `log`, `pending`.

use network_memory::host::fork::ForkMark;
use network_memory::host::remote_log::RemoteLog;
use network_memory::names::{RecordNumber, RecordReceipt};
use network_memory::writer::LogEvent;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::change::FileChange;
use crate::error::DurabilityFailure;
use crate::limits::PENDING_BYTES_MAX;
use crate::remembered::Remembered;

/// Called with what an operator should know, from any thread. What it panics with is reported by the panic hook, and goes no further.
pub type NotifyOperator = Box<dyn Fn(&str) + Send + Sync>;

/// What the group's threads share.
pub(crate) struct GroupShared {
    /// The process that has opened it.
    process: ForkMark,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) wait: Duration,
    pub(crate) settle_bytes: u64,
    pub(crate) servers: usize,
    pub(crate) copies: u8,
    /// Held from when a change that takes something away is put into the log until it has been made.
    pub(crate) applying: Mutex<()>,
    pub(crate) log: Mutex<LogState>,
    /// What has happened to the log and was not told yet.
    events: Mutex<Vec<LogEvent>>,
    /// Whoever has the log is to put there what has happened to it.
    asks_events: AtomicBool,
    pub(crate) pending: Mutex<PendingChanges>,
    failure: OnceLock<DurabilityFailure>,
    /// The first file, to be synced. Programs lock it, and closing any descriptor of a file gives up the process's locks of it
    /// (fcntl(2)): so it stays open until nobody has the group open.
    pub(crate) first: Mutex<Option<File>>,
    pub(crate) counts: GroupCounts,
    pub(crate) settling: Mutex<SettlerState>,
    /// The settler is to look, or has finished.
    pub(crate) turn: Condvar,
    notify: NotifyOperator,
}

/// The log, and what is known of its end.
pub(crate) struct LogState {
    pub(crate) log: RemoteLog,
    /// Everything has a receipt, this one being the last.
    pub(crate) receipt: Option<RecordReceipt>,
    /// Something was appended and not waited for.
    is_behind: bool,
    spare: Vec<u8>,
}

/// Changes that are not in the log yet, and what the log has so far.
#[derive(Default)]
pub(crate) struct PendingChanges {
    pub(crate) record: Vec<u8>,
    pub(crate) remembered: Remembered,
}

/// What the settler is told and tells.
#[derive(Debug, Default)]
pub(crate) struct SettlerState {
    pub(crate) is_wanted: bool,
    pub(crate) is_ending: bool,
    /// How often it has finished.
    pub(crate) rounds: u64,
    /// Its thread is not there any more.
    pub(crate) has_ended: bool,
}

/// How often what has happened.
#[derive(Debug, Default)]
pub(crate) struct GroupCounts {
    /// Bytes of the log since its front was last given up.
    pub(crate) log_bytes: AtomicU64,
    pub(crate) syncs_memory: AtomicU64,
    pub(crate) syncs_disk: AtomicU64,
    is_told: AtomicBool,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GroupShared {
    pub(crate) fn new(
        paths: Vec<PathBuf>,
        log: RemoteLog,
        options: &crate::options::FilesOptions,
        servers: usize,
        copies: u8,
        notify: NotifyOperator,
    ) -> GroupShared {
        GroupShared {
            process: ForkMark::new(),
            paths,
            wait: options.wait,
            settle_bytes: options.settle_bytes,
            servers,
            copies,
            applying: Mutex::new(()),
            log: Mutex::new(LogState { log, receipt: None, is_behind: false, spare: Vec::new() }),
            events: Mutex::default(),
            asks_events: AtomicBool::new(false),
            pending: Mutex::new(PendingChanges::default()),
            failure: OnceLock::new(),
            first: Mutex::new(None),
            counts: GroupCounts::default(),
            settling: Mutex::new(SettlerState::default()),
            turn: Condvar::new(),
            notify,
        }
    }

    pub(crate) fn check(&self) -> Result<(), DurabilityFailure> {
        if self.is_forked() {
            let (process, child) = (self.process.process(), std::process::id());
            let reason = format!(
                "process {child} was forked from process {process}, which has the files open and ships their changes: \
                 in a child nothing is taken; open them after the fork, in one process"
            );
            return Err(DurabilityFailure { path: self.paths[0].clone(), reason });
        }
        self.failure.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Whether this is a child of the process that has opened the group.
    pub(crate) fn is_forked(&self) -> bool {
        self.process.is_forked()
    }

    /// The first failure stays; it is told once.
    pub(crate) fn fail(&self, reason: &dyn std::fmt::Display) -> DurabilityFailure {
        let failure =
            self.failure.get_or_init(|| DurabilityFailure { path: self.paths[0].clone(), reason: reason.to_string() });
        if !self.counts.is_told.swap(true, Ordering::Relaxed) {
            self.notify(&failure.to_string());
        }
        // Whoever waits for the settler sees the failure.
        self.turn.notify_all();
        failure.clone()
    }

    /// Tells an operator. Neither a commit nor the settler ends because nobody can be told.
    pub(crate) fn notify(&self, text: &str) {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.notify)(text)));
    }

    pub(crate) fn told(&self, append: impl FnOnce(&mut PendingChanges)) -> Result<(), DurabilityFailure> {
        loop {
            self.check()?;
            let mut pending = lock(&self.pending);
            if pending.record.len() <= PENDING_BYTES_MAX {
                append(&mut pending);
                return Ok(());
            }
            // Other threads may be quicker with theirs: it is looked at again.
            drop(pending);
            let mut log = lock(&self.log);
            self.put(&mut log)?;
        }
    }

    /// Puts what waits into the log, without a receipt.
    pub(crate) fn put(&self, state: &mut LogState) -> Result<(), DurabilityFailure> {
        self.check()?;
        let mut record = std::mem::take(&mut state.spare);
        std::mem::swap(&mut lock(&self.pending).record, &mut record);
        if !record.is_empty() {
            self.append(state, &record)?;
        }
        record.clear();
        record.shrink_to(PENDING_BYTES_MAX);
        state.spare = record;
        Ok(())
    }

    pub(crate) fn append(&self, state: &mut LogState, record: &[u8]) -> Result<(), DurabilityFailure> {
        state.log.append_no_wait(record).map_err(|error| self.fail(&error))?;
        state.is_behind = true;
        let bytes = record.len() as u64;
        if self.counts.log_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes >= self.settle_bytes {
            let mut settling = lock(&self.settling);
            if !std::mem::replace(&mut settling.is_wanted, true) {
                self.turn.notify_all();
            }
        }
        Ok(())
    }

    /// Waits until all that is in the log has a receipt.
    pub(crate) fn wait_receipt(&self, state: &mut LogState) -> Result<Option<RecordReceipt>, DurabilityFailure> {
        if state.is_behind {
            let receipt = state.log.flush(self.wait).map_err(|error| self.fail(&error))?;
            state.is_behind = false;
            state.receipt = receipt.or(state.receipt);
            let count = match state.receipt {
                Some(RecordReceipt::Disk) => &self.counts.syncs_disk,
                _ => &self.counts.syncs_memory,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
        if self.asks_events.swap(false, Ordering::Relaxed) {
            self.note_events(state);
        }
        Ok(state.receipt)
    }

    fn note_events(&self, state: &mut LogState) {
        lock(&self.events).append(&mut state.log.events());
    }

    /// What has happened to the log since the last call. Whoever commits may have the log all the time, and is asked then: the next call has it.
    pub(crate) fn take_events(&self) -> Vec<LogEvent> {
        match self.log.try_lock() {
            Ok(mut state) => self.note_events(&mut state),
            Err(_) => self.asks_events.store(true, Ordering::Relaxed),
        }
        std::mem::take(&mut *lock(&self.events))
    }

    pub(crate) fn sync(&self) -> Result<Option<RecordReceipt>, DurabilityFailure> {
        self.check()?;
        let mut state = lock(&self.log);
        self.put(&mut state)?;
        self.wait_receipt(&mut state)
    }

    /// Behind which record everything is in the files; all before it has a receipt.
    pub(crate) fn applied(&self) -> Result<RecordNumber, DurabilityFailure> {
        self.check()?;
        // What is put into the log from here on is not needed; what takes something away has been done.
        let _applied = lock(&self.applying);
        let mut state = lock(&self.log);
        self.check()?;
        let mut record = {
            let mut pending = lock(&self.pending);
            // No later record may need one before.
            pending.remembered.forget();
            std::mem::take(&mut pending.record)
        };
        FileChange::Forget.append(&mut record);
        self.append(&mut state, &record)?;
        self.wait_receipt(&mut state)?;
        Ok(state.log.extent().1)
    }

    /// With so much in the log, whoever changes something waits until the files are on disk.
    pub(crate) fn wait_for_room(&self) -> Result<(), DurabilityFailure> {
        self.check()?;
        if self.counts.log_bytes.load(Ordering::Relaxed) < 2 * self.settle_bytes {
            return Ok(());
        }
        let mut settling = lock(&self.settling);
        let rounds = settling.rounds;
        settling.is_wanted = true;
        self.turn.notify_all();
        while settling.rounds == rounds && !settling.is_ending {
            self.check()?;
            if settling.has_ended {
                return Err(self.fail(&"the thread that brings the files to disk has ended, and the log has no room"));
            }
            settling = self.turn.wait(settling).unwrap_or_else(PoisonError::into_inner);
        }
        self.check()
    }
}
