//! Brings the files to disk in the background, and gives up the part of the log that is in them.
//!
//! Invariant: a record `Settled` is written after the syncs that it speaks of have returned; only then is the front of the log given up, so
//! that nothing depends on whether servers and disk have heard of that.

use rustix::fs::fdatasync;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use crate::change::Change;
use crate::error::Failure;
use crate::folder::sync_folder;
use crate::group::{Shared, lock};
use crate::limits::LOOK;
use crate::status::Told;

/// The thread.
pub(crate) struct Settler(JoinHandle<()>);

impl Settler {
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Settler> {
        let shared = Arc::clone(shared);
        std::thread::Builder::new().name("settler".to_owned()).spawn(move || run(&shared)).map(Settler)
    }

    /// Ends it and waits for it.
    pub(crate) fn end(self, shared: &Shared) {
        lock(&shared.settling).is_ending = true;
        shared.turn.notify_all();
        // A panic of the thread has been reported where it happened.
        let _ = self.0.join();
    }
}

fn run(shared: &Shared) {
    let mut told = Told::default();
    loop {
        let is_wanted = {
            let settling = lock(&shared.settling);
            let is_idle = |settling: &mut crate::group::Settling| !settling.is_wanted && !settling.is_ending;
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
fn tell(shared: &Shared, told: &mut Told) {
    // Whoever commits has it most of the time; what has happened can wait.
    let events = match shared.log.try_lock() {
        Ok(mut state) => state.log.events(),
        Err(_) => return,
    };
    for text in events.iter().filter_map(|event| told.text(event, shared.copies)) {
        (shared.notify)(&format!("{}: {text}", shared.paths[0].display()));
    }
}

/// Brings all files to disk and gives up the log before.
pub(crate) fn settle(shared: &Shared) -> Result<(), Failure> {
    let bytes = shared.counts.log_bytes.load(Ordering::Relaxed);
    let below = shared.applied()?;
    let sizes = sync_files(shared)?;
    let folder = shared.paths[0].parent().unwrap_or(Path::new("/"));
    sync_folder(folder).map_err(|error| shared.fail(&format!("could not sync {}: {error}", folder.display())))?;
    let mut record = Vec::new();
    Change::Settled { below, sizes }.append(&mut record);
    let mut state = lock(&shared.log);
    shared.check()?;
    shared.append(&mut state, &record)?;
    shared.wait_receipt(&mut state)?;
    state.log.truncate_before(below).map_err(|error| shared.fail(&error))?;
    shared.counts.log_bytes.fetch_sub(bytes, Ordering::Relaxed);
    Ok(())
}

/// How long each file was when it was synced; none if there is none.
pub(crate) fn sync_files(shared: &Shared) -> Result<Vec<Option<u64>>, Failure> {
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
