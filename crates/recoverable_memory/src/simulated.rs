//! A disk in memory that fails on demand: every write and every sync is a step, and the power may go off at any step, in the
//! middle of a write. The twin of [`crate::disk`].
//!
//! Invariant: a byte that was synced is kept by every crash; a byte that was not is kept by the death of the process, and by a
//! loss of power only as the given choices say.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::{FileFolder, FixedFile};

/// A disk writes sectors of so many bytes, whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The disk. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<SimulatedState>>,
}

#[derive(Debug, Default)]
struct SimulatedState {
    files: BTreeMap<String, SimulatedContents>,
    /// The bytes of each step so far: of a sync or a creation none.
    steps: Vec<usize>,
    /// The step at which the power goes off.
    stop: Option<usize>,
    /// The write that it interrupted: file, offset and bytes.
    interrupted: Option<(String, usize, Vec<u8>)>,
    /// The step whose sync fails although the power stays on.
    failing_sync: Option<usize>,
    off: bool,
}

#[derive(Clone, Debug, Default)]
struct SimulatedContents {
    durable: Vec<u8>,
    current: Vec<u8>,
    /// Writes since the last sync, in order.
    unsynced: Vec<(usize, Vec<u8>)>,
    open: bool,
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> SimulatedDisk {
        SimulatedDisk::default()
    }

    /// Writes, syncs and creations so far: for each, how many bytes were to be written, none for a sync or a creation.
    pub fn steps(&self) -> Vec<usize> {
        self.lock().steps.clone()
    }

    /// Has the power go off at a step, counted from 0, which is not done then; see [`SimulatedDisk::torn_after`].
    pub fn stop_at(&self, step: usize) {
        self.lock().stop = Some(step);
    }

    /// A disk like this one, whose power has gone off, but after so many bytes of the write that it has interrupted; `None` if that had
    /// fewer.
    pub fn torn_after(&self, bytes: usize) -> Option<SimulatedDisk> {
        let state = self.lock();
        let mut files = state.files.clone();
        match &state.interrupted {
            Some((name, offset, written)) => files.get_mut(name)?.write(*offset, written.get(..bytes)?),
            None if bytes > 0 => return None,
            None => {}
        }
        let copy = SimulatedState { files, off: true, steps: state.steps.clone(), ..SimulatedState::default() };
        Some(SimulatedDisk { state: Arc::new(Mutex::new(copy)) })
    }

    /// Has the sync at a step fail, once, as the kernel reports a failed write-back: the bytes are dropped, and the next sync succeeds.
    pub fn fail_sync_at(&self, step: usize) {
        self.lock().failing_sync = Some(step);
    }

    /// Whether the power has gone off.
    pub fn is_off(&self) -> bool {
        self.lock().off
    }

    /// The disk as another process finds it when this one has died: all that was written is there.
    pub fn after_death(&self) -> SimulatedDisk {
        self.after(|contents| contents.current.clone())
    }

    /// The disk after a loss of power. `kept` is asked for each sector of each write that was not synced.
    pub fn after_power_loss(&self, kept: &mut dyn FnMut() -> bool) -> SimulatedDisk {
        self.after(|contents| {
            let mut bytes = contents.durable.clone();
            for (offset, written) in &contents.unsynced {
                for (at, byte_range) in sectors(*offset, written.len()) {
                    if kept() {
                        bytes[at..at + byte_range.len()].copy_from_slice(&written[byte_range]);
                    }
                }
            }
            bytes
        })
    }

    fn after(&self, mut survives: impl FnMut(&SimulatedContents) -> Vec<u8>) -> SimulatedDisk {
        let state = self.lock();
        let files = state.files.iter().map(|(name, contents)| {
            let bytes = survives(contents);
            (name.clone(), SimulatedContents { durable: bytes.clone(), current: bytes, ..SimulatedContents::default() })
        });
        let files = files.collect();
        SimulatedDisk { state: Arc::new(Mutex::new(SimulatedState { files, ..SimulatedState::default() })) }
    }

    /// The bytes of a file, or `None` if there is none.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        self.lock().files.get(name).map(|contents| contents.current.clone())
    }

    /// Changes the bytes of a file behind everybody's back, as a disk that rots.
    pub fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(contents) = self.lock().files.get_mut(name) {
            change(&mut contents.current);
            contents.durable.clone_from(&contents.current);
        }
    }

    fn lock(&self) -> MutexGuard<'_, SimulatedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pieces of a write that lie in one sector each: where in the file, and which of its bytes.
fn sectors(offset: usize, length: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let first = offset / SECTOR_BYTES;
    let last = (offset + length).div_ceil(SECTOR_BYTES);
    (first..last).map(move |sector| {
        let from = (sector * SECTOR_BYTES).max(offset);
        let to = ((sector + 1) * SECTOR_BYTES).min(offset + length);
        (from, from - offset..to - offset)
    })
}

impl SimulatedContents {
    /// The bytes lie within the file.
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.current[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.unsynced.push((offset, bytes.to_vec()));
    }
}

impl SimulatedState {
    /// Counts a step, unless the power goes off before it.
    fn step(&mut self, bytes: usize) -> io::Result<()> {
        self.check()?;
        let step = self.steps.len();
        self.steps.push(bytes);
        self.off = self.stop == Some(step);
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        if self.off { Err(power_is_off()) } else { Ok(()) }
    }

    fn file(&mut self, name: &str) -> io::Result<&mut SimulatedContents> {
        self.files.get_mut(name).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the simulated power is off")
}

impl FileFolder for SimulatedDisk {
    fn open(&self, name: &str) -> io::Result<Option<Arc<dyn FixedFile>>> {
        let mut state = self.lock();
        state.check()?;
        let Some(contents) = state.files.get_mut(name) else { return Ok(None) };
        if std::mem::replace(&mut contents.open, true) {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(Some(Arc::new(SimulatedFile { disk: self.clone(), name: name.to_string() })))
    }

    fn create(&self, name: &str, bytes: u64, head: &[u8]) -> io::Result<Arc<dyn FixedFile>> {
        let mut state = self.lock();
        state.step(0)?;
        if state.files.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let mut current = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        current[..head.len()].copy_from_slice(head);
        let contents = SimulatedContents { durable: current.clone(), current, unsynced: Vec::new(), open: true };
        state.files.insert(name.to_string(), contents);
        Ok(Arc::new(SimulatedFile { disk: self.clone(), name: name.to_string() }))
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    name: String,
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        if let Ok(contents) = self.disk.lock().file(&self.name) {
            contents.open = false;
        }
    }
}

impl FixedFile for SimulatedFile {
    fn bytes(&self) -> io::Result<u64> {
        let mut state = self.disk.lock();
        state.check()?;
        Ok(state.file(&self.name)?.current.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.check()?;
        let contents = state.file(&self.name)?;
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = contents.current.get(from..from + buffer.len()).ok_or(ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        if state.file(&self.name)?.current.len() < from.saturating_add(bytes.len()) {
            return Err(ErrorKind::InvalidInput.into());
        }
        let was_on = !state.off;
        if let Err(error) = state.step(bytes.len()) {
            if was_on {
                state.interrupted = Some((self.name.clone(), from, bytes.to_vec()));
            }
            return Err(error);
        }
        state.file(&self.name)?.write(from, bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let failing = state.failing_sync == Some(state.steps.len());
        state.step(0)?;
        let contents = state.file(&self.name)?;
        contents.unsynced.clear();
        if failing {
            contents.current.clone_from(&contents.durable);
            return Err(io::Error::other("the simulated disk has failed to write"));
        }
        contents.durable.clone_from(&contents.current);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the crash tests try less than they say.
    #[test]
    fn a_crash_keeps_what_was_synced_and_what_it_is_told_to_keep() {
        let disk = SimulatedDisk::new();
        let file = disk.create("a", 2048, &[]).unwrap();
        file.write_at(0, &[1; 2048]).unwrap();
        file.sync().unwrap();
        file.write_at(500, &[2; 1000]).unwrap();
        disk.stop_at(disk.steps().len());
        assert!(file.write_at(2000, &[3; 10]).is_err() && file.sync().is_err() && file.bytes().is_err());
        assert!(disk.torn_after(11).is_none());
        let disk = disk.torn_after(3).unwrap();
        assert_eq!(disk.after_power_loss(&mut || false).contents("a").unwrap(), [1; 2048]);
        let death = disk.after_death().contents("a").unwrap();
        assert_eq!((death[499], death[500], death[1499], death[1500]), (1, 2, 2, 1));
        assert_eq!(death[2000..2004], [3, 3, 3, 1]);
        let mut sector = 0;
        let torn = disk.after_power_loss(&mut || {
            sector += 1;
            sector == 2
        });
        let torn = torn.contents("a").unwrap();
        assert_eq!((torn[511], torn[512], torn[1023], torn[1024]), (1, 2, 2, 1));
    }
}
