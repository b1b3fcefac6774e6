//! What a site's threads know of the snapshot that it takes, and of its schedule.
//!
//! Invariant: a site takes one snapshot at a time; those that are asked for meanwhile wait for their turn.

use crate::clock;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of a snapshot that is being taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotProgress {
    /// Its name.
    pub name: String,
    /// `posting`, `copying rows`, `copying log` or `verifying`.
    pub phase: String,
    /// When it began: microseconds since 1970.
    pub began_us: u64,
    /// Bytes that are written.
    pub bytes: u64,
    /// About as many as it will have: as the snapshot before it has, or the store now.
    pub bytes_expected: u64,
    /// Seconds until its rows are copied, at the rate so far; none before there is a rate.
    pub seconds_left: Option<u64>,
    /// How often it has begun anew, because the site was in no state for it.
    pub begun_again: u32,
}

/// Of snapshots by schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleStatus {
    /// How often one is taken, in seconds.
    pub every_s: u64,
    /// So many are kept.
    pub keep: u16,
    /// The folder that they are in.
    pub folder: PathBuf,
    /// The site whose turn it is: the first that is up in the epoch.
    pub taken_by: Option<u16>,
    /// The newest one there that is whole.
    pub last: Option<String>,
    /// Why the last try has failed, if it has.
    pub failure: Option<String>,
}

/// What a site's snapshots have come to since its process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotCounts {
    /// Snapshots taken.
    pub taken: u64,
    /// Snapshots that could not be.
    pub failed: u64,
    /// When the last one was begun that is whole: microseconds since 1970; 0: none is known.
    pub last_success_us: u64,
    /// How long the last one took that was taken, in milliseconds.
    pub last_duration_ms: u64,
    /// Bytes of it.
    pub last_bytes: u64,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct SnapshotDesk {
    turn: Mutex<()>,
    progress: Mutex<Option<SnapshotProgress>>,
    schedule: Mutex<Option<ScheduleStatus>>,
    counts: Mutex<SnapshotCounts>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SnapshotDesk {
    /// Waits for the turn to take one.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        locked(&self.turn)
    }

    /// One has begun.
    pub(crate) fn begin(&self, name: &str, bytes_expected: u64) {
        let (name, began_us) = (name.to_owned(), clock::wall_micros());
        *locked(&self.progress) = Some(SnapshotProgress { name, began_us, bytes_expected, ..Default::default() });
    }

    /// It has come further.
    pub(crate) fn note(&self, change: impl FnOnce(&mut SnapshotProgress)) {
        if let Some(progress) = &mut *locked(&self.progress) {
            change(progress);
        }
    }

    /// It has ended.
    pub(crate) fn end(&self) {
        *locked(&self.progress) = None;
    }

    /// The one that is being taken.
    pub(crate) fn progress(&self) -> Option<SnapshotProgress> {
        locked(&self.progress).clone()
    }

    /// What snapshots have come to.
    pub(crate) fn counts(&self) -> SnapshotCounts {
        *locked(&self.counts)
    }

    /// One was taken, or not, or has been found.
    pub(crate) fn count(&self, change: impl FnOnce(&mut SnapshotCounts)) {
        change(&mut locked(&self.counts));
    }

    /// What is known of the schedule; none: there is none.
    pub(crate) fn schedule(&self) -> Option<ScheduleStatus> {
        locked(&self.schedule).clone()
    }

    /// More is known of the schedule.
    pub(crate) fn note_schedule(&self, change: impl FnOnce(&mut ScheduleStatus)) {
        change(locked(&self.schedule).get_or_insert_default());
    }
}
