//! Brings the files to disk in the background, and gives up the part of the log that is in them.
//!
//! Invariant: a record `Settled` is written after the syncs that it speaks of have returned; only then is the front of the log given up, so
//! that nothing depends on whether servers and disk have heard of that.

use network_memory::host::log_folder::{folder_of, sync_folder};
use network_memory::host::remote_log::RemoteLogError;
use network_memory::host::told::OperatorTold;
use rustix::fs::fdatasync;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use crate::change::FileChange;
use crate::error::DurabilityFailure;
use crate::limits::LOOK;
use crate::shared::{GroupShared, lock};

/// The thread.
pub(crate) struct Settler(JoinHandle<()>);

impl Settler {
    pub(crate) fn start(shared: &Arc<GroupShared>) -> io::Result<Settler> {
        let shared = Arc::clone(shared);
        std::thread::Builder::new().name("settler".to_owned()).spawn(move || run(&shared)).map(Settler)
    }

    /// Ends it and waits for it.
    pub(crate) fn end(self, shared: &GroupShared) {
        lock(&shared.settling).is_ending = true;
        shared.turn.notify_all();
        // A panic of the thread has been reported where it happened.
        let _ = self.0.join();
    }
}

/// Whoever waits for the settler learns that it has ended, whatever has ended it.
struct Ending<'a>(&'a GroupShared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        lock(&self.0.settling).has_ended = true;
        self.0.turn.notify_all();
    }
}

fn run(shared: &GroupShared) {
    let _ending = Ending(shared);
    let mut told = OperatorTold::default();
    loop {
        let is_wanted = {
            let settling = lock(&shared.settling);
            let is_idle = |settling: &mut crate::shared::SettlerState| !settling.is_wanted && !settling.is_ending;
            let waited = shared.turn.wait_timeout_while(settling, LOOK, is_idle);
            let (settling, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if settling.is_ending {
                return;
            }
            settling.is_wanted
        };
        tell(shared, &mut told);
        if is_wanted && shared.check().is_ok() {
            // A failure has been noted, and told.
            let _ = settle(shared);
            let mut settling = lock(&shared.settling);
            settling.is_wanted = false;
            settling.rounds += 1;
            shared.turn.notify_all();
        }
    }
}

/// Tells what has happened to the log.
fn tell(shared: &GroupShared, told: &mut OperatorTold) {
    for text in shared.take_events().iter().filter_map(|event| told.text(event, shared.copies)) {
        shared.notify(&format!("{}: {text}", shared.paths[0].display()));
    }
}

/// Brings all files to disk and gives up the log before.
pub(crate) fn settle(shared: &GroupShared) -> Result<(), DurabilityFailure> {
    let bytes = shared.counts.log_bytes.load(Ordering::Relaxed);
    let below = shared.applied()?;
    sync_log(shared)?;
    let sizes = sync_files(shared)?;
    let folder = folder_of(&shared.paths[0]);
    sync_folder(folder).map_err(|error| shared.fail(&format!("could not sync {}: {error}", folder.display())))?;
    let mut record = Vec::new();
    FileChange::Settled { below, sizes }.append(&mut record);
    let mut state = lock(&shared.log);
    shared.check()?;
    shared.append(&mut state, &record)?;
    shared.wait_receipt(&mut state)?;
    state.log.truncate_before(below).map_err(|error| shared.fail(&error))?;
    shared.counts.log_bytes.fetch_sub(bytes, Ordering::Relaxed);
    Ok(())
}

/// Waits until the log is on this disk, as far as it went when this was called: the files must not have what it lacks. Otherwise, if servers
/// and this host lost their memory at once, the files would have parts of changes of which the log that is left knows nothing.
fn sync_log(shared: &GroupShared) -> Result<(), DurabilityFailure> {
    let until = lock(&shared.log).log.extent().1;
    loop {
        let mut state = lock(&shared.log);
        shared.check()?;
        if state.log.status().synced >= until {
            return Ok(());
        }
        // Not for as long as it takes: commits need the log meanwhile.
        match state.log.sync(LOOK) {
            Ok(()) | Err(RemoteLogError::Late) => {}
            Err(error) => return Err(shared.fail(&error)),
        }
        drop(state);
        std::thread::yield_now();
    }
}

/// How long each file was when it was synced; none if there is none.
pub(crate) fn sync_files(shared: &GroupShared) -> Result<Vec<Option<u64>>, DurabilityFailure> {
    let sync = |(index, path): (usize, &PathBuf)| {
        let synced = if index == 0 { sync_kept(&mut lock(&shared.first), path) } else { sync_file(path) };
        synced.map_err(|error| shared.fail(&format!("could not sync {}: {error}", path.display())))
    };
    shared.paths.iter().enumerate().map(sync).collect()
}

fn sync_kept(kept: &mut Option<File>, path: &Path) -> io::Result<Option<u64>> {
    if kept.is_none() {
        *kept = open(path)?;
    }
    kept.as_ref().map(sync).transpose()
}

fn sync_file(path: &Path) -> io::Result<Option<u64>> {
    open(path)?.as_ref().map(sync).transpose()
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn sync(file: &File) -> io::Result<u64> {
    let size = file.metadata()?.len();
    fdatasync(file)?;
    Ok(size)
}
