//! A loss of power, played on real files: for tests of programs over this crate, whose process has been killed.
//!
//! What was synced stays. Of what was written since a snapshot of files that nobody has synced meanwhile, any part goes; of the local log, what no
//! sync has covered. The next opening needs another `boot` ([`crate::FilesOptions`]): the kernel, which still has everything, would vouch for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a disk writes whole.
const SECTOR_BYTES: usize = 512;
/// Of a segment of the local log (`commit_log`'s format): its header, and the slots of its first position and of what was synced.
const HEADER_BYTES: usize = 4096;
const START: usize = 64;
const MARKS: [usize; 2] = [80, 96];

/// Files as they were.
#[derive(Clone, Debug)]
pub struct Snapshot(Vec<(PathBuf, Option<Vec<u8>>)>);

impl Snapshot {
    /// Of these files, which need not exist.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn of(paths: &[PathBuf]) -> io::Result<Snapshot> {
        paths.iter().map(|path| Ok((path.clone(), read(path)?))).collect::<io::Result<_>>().map(Snapshot)
    }

    /// Whether the files are still as they were.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn is_as_now(&self) -> io::Result<bool> {
        self.0.iter().try_fold(true, |is_same, (path, bytes)| Ok(is_same && read(path)? == *bytes))
    }

    /// Puts all of them back as they were.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn put_back(&self) -> io::Result<()> {
        self.tear(|| false)
    }

    /// Of what has changed since, keeps the sectors that `is_kept` says, and of files that are new or gone, which of them.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub fn tear(&self, mut is_kept: impl FnMut() -> bool) -> io::Result<()> {
        for (path, then) in &self.0 {
            match (then, read(path)?) {
                (Some(then), Some(mut now)) => {
                    for (index, sector) in now.chunks_mut(SECTOR_BYTES).enumerate().filter(|_| !is_kept()) {
                        let old = then.get(index * SECTOR_BYTES..).unwrap_or_default();
                        let count = old.len().min(sector.len());
                        sector[..count].copy_from_slice(&old[..count]);
                        sector[count..].fill(0);
                    }
                    // What was cut may be long again, as nobody has synced that.
                    now.extend_from_slice(then.get(now.len()..).filter(|_| !is_kept()).unwrap_or_default());
                    fs::write(path, now)?;
                }
                (None, Some(_)) if !is_kept() => fs::remove_file(path)?,
                (Some(then), None) if !is_kept() => fs::write(path, then)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Takes from the local log in the folder of a group's log what no sync has covered.
///
/// # Errors
/// There is none, or it cannot be written.
pub fn lose_unsynced(folder: &Path) -> io::Result<()> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder.join("log"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "log") {
            segments.push((path.clone(), fs::read(&path)?));
        }
    }
    let synced = segments.iter().flat_map(|(_, bytes)| MARKS.map(|at| slot(bytes, at))).flatten().max();
    let synced = synced.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no segment has a mark"))?;
    for (path, mut bytes) in segments {
        let Some(first) = slot(&bytes, START) else { continue };
        let kept = HEADER_BYTES + synced.saturating_sub(first) as usize;
        if let Some(lost) = bytes.get_mut(kept..) {
            lost.fill(0);
            fs::write(path, bytes)?;
        }
    }
    Ok(())
}

/// What a slot says; the second word of one that was written names its kind.
fn slot(bytes: &[u8], at: usize) -> Option<u64> {
    let number = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    number(at + 8).filter(|word| word >> 32 > 0).and_then(|_| number(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, tests of losses of power would test nothing, or lose what was synced.
    #[test]
    fn a_file_is_torn_by_sectors() {
        let place = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> = ["a", "b", "c"].map(|name| place.path().join(name)).to_vec();
        fs::write(&paths[0], vec![1; 3 * SECTOR_BYTES]).expect("a disk");
        fs::write(&paths[2], b"goes").expect("a disk");
        let snapshot = Snapshot::of(&paths).expect("files");
        fs::write(&paths[0], vec![2; 4 * SECTOR_BYTES]).expect("a disk");
        fs::write(&paths[1], b"new").expect("a disk");
        fs::remove_file(&paths[2]).expect("it is there");
        assert!(!snapshot.is_as_now().expect("files"));
        let mut kept = [true, false, true, false, true, false, true].into_iter();
        snapshot.tear(|| kept.next().expect("one for each")).expect("a disk");
        let torn = fs::read(&paths[0]).expect("a file");
        let firsts: Vec<u8> = torn.chunks(SECTOR_BYTES).map(|sector| sector[0]).collect();
        assert_eq!(firsts, [2, 1, 2, 0]);
        snapshot.put_back().expect("a disk");
        assert_eq!(fs::read(&paths[2]).expect("it is back"), b"goes");
        assert!(!paths[1].exists());
    }
}
