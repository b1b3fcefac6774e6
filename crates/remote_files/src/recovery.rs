//! Rebuilds files from what the log holds.
//!
//! The files are as the crash has left them: of what was written since they were last brought to disk any part may be there, whole or torn,
//! of what was never synced too. Records are replayed in order, whatever is there. Invariants:
//! * afterwards every byte that a record has changed is as the last record has left it, so a program that bears a loss of power
//!   after its last sync bears this;
//! * it can be broken off at any point and done again;
//! * a file that is shorter than it can be by any loss of power, and would be changed, is told of, and nothing is changed. With no change in the
//!   log the files are what they are: others may have changed them since they were closed in order.

use network_memory::names::RecordNumber;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::change::Unreadable;
use crate::change::{Changes, FileChange, FileNumber};
use crate::error::FilesOpenError;
use crate::error::failed;
use crate::remembered::Remembered;

/// What a recovery has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayedFiles {
    /// Records that were needed.
    pub records: u64,
    /// Changes in them.
    pub changes: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

/// A file that is being rebuilt.
struct RebuiltFile<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl RebuiltFile<'_> {
    fn open(&mut self) -> Result<&File, FilesOpenError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.path);
                opened.map_err(failed("open", self.path))?
            }
        };
        Ok(self.file.insert(file))
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<u64, FilesOpenError> {
        let path = self.path;
        self.open()?.write_all_at(bytes, offset).map_err(failed("write", path))?;
        Ok(bytes.len() as u64)
    }
}

/// Brings the files of these names to the state after the last record.
///
/// # Errors
/// See [`FilesOpenError`]. Records that cannot be read, and files that are too short, are found before anything is changed.
pub fn replay(paths: &[PathBuf], records: &[(RecordNumber, Vec<u8>)]) -> Result<ReplayedFiles, FilesOpenError> {
    let needed = check(paths, records)?;
    let mut targets: Vec<RebuiltFile<'_>> = paths.iter().map(|path| RebuiltFile { path, file: None }).collect();
    let (mut replayed, mut remembered) = (ReplayedFiles::default(), Remembered::default());
    for (position, record) in records.iter().filter(|(position, _)| *position >= needed) {
        let before = replayed.changes;
        for change in Changes::of(record) {
            let change = change.map_err(|source| FilesOpenError::Record { position: *position, source })?;
            replayed.changes += u64::from(is_change(&change));
            let bytes = redo(&mut targets, &mut remembered, &change)?;
            // What is remembered and the record do not go together: no program of ours has written it.
            let bytes = bytes.ok_or(FilesOpenError::Record { position: *position, source: Unreadable { at: 0 } })?;
            replayed.bytes += bytes;
        }
        replayed.records += u64::from(replayed.changes > before);
    }
    Ok(replayed)
}

/// Whether it says more than how the log is to be read.
fn is_change(change: &FileChange<'_>) -> bool {
    !matches!(change, FileChange::Settled { .. } | FileChange::Forget)
}

/// Makes one change again; says how many bytes were written, or that it is none.
fn redo(
    targets: &mut [RebuiltFile<'_>],
    remembered: &mut Remembered,
    change: &FileChange<'_>,
) -> Result<Option<u64>, FilesOpenError> {
    match change {
        FileChange::Write { file, offset, bytes } => targets[usize::from(file.0)].write(*offset, bytes).map(Some),
        FileChange::Remember { file, offset, key, bytes } => {
            remembered.remember(*key, bytes);
            targets[usize::from(file.0)].write(*offset, bytes).map(Some)
        }
        FileChange::Rewrite { file, offset, key, checksum, pieces } => {
            let bytes = remembered.redo(*key, *pieces).filter(|bytes| crc32fast::hash(bytes) == *checksum);
            bytes.map(|bytes| targets[usize::from(file.0)].write(*offset, bytes)).transpose()
        }
        FileChange::Forget => {
            remembered.forget();
            Ok(Some(0))
        }
        FileChange::Resize { file, size } => {
            let target = &mut targets[usize::from(file.0)];
            let path = target.path;
            target.open()?.set_len(*size).map_err(failed("resize", path))?;
            Ok(Some(0))
        }
        FileChange::Delete { file } => {
            let target = &mut targets[usize::from(file.0)];
            target.file = None;
            match std::fs::remove_file(target.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("delete", target.path)(error)),
                _ => Ok(Some(0)),
            }
        }
        FileChange::Settled { .. } => Ok(Some(0)),
    }
}

/// How many records would have to be replayed, of which nothing need be readable.
pub(crate) fn with_changes(records: &[(RecordNumber, Vec<u8>)]) -> u64 {
    let settled = records.iter().flat_map(|(_, record)| Changes::of(record)).filter_map(|change| match change {
        Ok(FileChange::Settled { below, .. }) => Some(below),
        _ => None,
    });
    let needed = settled.last().unwrap_or(RecordNumber(0));
    let is_needed = |record: &[u8]| Changes::of(record).any(|change| change.is_ok_and(|change| is_change(&change)));
    records.iter().filter(|(position, record)| *position >= needed && is_needed(record)).count() as u64
}

/// Reads all records without changing anything; gives the first that is needed.
fn check(paths: &[PathBuf], records: &[(RecordNumber, Vec<u8>)]) -> Result<RecordNumber, FilesOpenError> {
    let (mut needed, mut shortest) = (RecordNumber(0), vec![None; paths.len()]);
    for (position, record) in records {
        for change in Changes::of(record) {
            let change = change.map_err(|source| FilesOpenError::Record { position: *position, source })?;
            let no_such_file =
                |file: FileNumber| FilesOpenError::NoSuchFile { position: *position, file: file.0, files: paths.len() };
            match change {
                FileChange::Settled { below, sizes } => {
                    if sizes.len() != paths.len() {
                        return Err(no_such_file(FileNumber(sizes.len() as u8)));
                    }
                    (needed, shortest) = (below, sizes);
                }
                FileChange::Write { file, .. }
                | FileChange::Remember { file, .. }
                | FileChange::Rewrite { file, .. }
                | FileChange::Resize { file, .. }
                | FileChange::Delete { file } => {
                    if usize::from(file.0) >= paths.len() {
                        return Err(no_such_file(file));
                    }
                }
                FileChange::Forget => {}
            }
        }
    }
    let mut is_changed = false;
    for (_, record) in records.iter().filter(|(position, _)| *position >= needed) {
        for change in Changes::of(record).flatten() {
            is_changed |= is_change(&change);
            match change {
                FileChange::Resize { file, size } => {
                    let shortest = &mut shortest[usize::from(file.0)];
                    *shortest = shortest.map(|shortest: u64| shortest.min(size));
                }
                FileChange::Delete { file } => shortest[usize::from(file.0)] = None,
                _ => {}
            }
        }
    }
    if !is_changed {
        return Ok(needed);
    }
    for (path, expected) in paths.iter().zip(shortest) {
        let found = match std::fs::metadata(path) {
            Ok(found) => Some(found.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("look at", path)(error)),
        };
        if let Some(expected) = expected.filter(|expected| found.unwrap_or(0) < *expected) {
            return Err(FilesOpenError::Short { path: path.clone(), found, expected });
        }
    }
    Ok(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::append_keyed;
    use proptest::prelude::*;

    /// What files hold; none if there is no such file.
    type Contents = Vec<Option<Vec<u8>>>;

    const FILES: usize = 3;

    #[derive(Clone, Debug)]
    enum Step {
        Write {
            file: u8,
            offset: u16,
            bytes: Vec<u8>,
        },
        /// A page of 256 bytes, with its key, as it was last with some bytes changed.
        Page {
            file: u8,
            page: u8,
            edits: Vec<(u8, u8)>,
        },
        Resize {
            file: u8,
            size: u16,
        },
        Delete {
            file: u8,
        },
        /// A record ends.
        Sync,
    }

    fn step() -> impl Strategy<Value = Step> {
        let file = 0..FILES as u8;
        prop_oneof![
            6 => (file.clone(), 0_u16..300, proptest::collection::vec(any::<u8>(), 1..60))
                .prop_map(|(file, offset, bytes)| Step::Write { file, offset, bytes }),
            4 => (file.clone(), 0_u8..2, proptest::collection::vec(any::<(u8, u8)>(), 0..6))
                .prop_map(|(file, page, edits)| Step::Page { file, page, edits }),
            1 => (file.clone(), 0_u16..300).prop_map(|(file, size)| Step::Resize { file, size }),
            1 => file.prop_map(|file| Step::Delete { file }),
            3 => Just(Step::Sync),
        ]
    }

    fn apply(contents: &mut Contents, step: &Step) {
        match step {
            Step::Write { file, offset, bytes } => {
                let (content, offset) = (contents[usize::from(*file)].get_or_insert_default(), usize::from(*offset));
                content.resize(content.len().max(offset + bytes.len()), 0);
                content[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            Step::Page { file, page, edits } => {
                let write = Step::Write { file: *file, offset: 256 * u16::from(*page), bytes: page_of(*page, edits) };
                apply(contents, &write);
            }
            Step::Resize { file, size } => {
                contents[usize::from(*file)].get_or_insert_default().resize(usize::from(*size), 0);
            }
            Step::Delete { file } => contents[usize::from(*file)] = None,
            Step::Sync => {}
        }
    }

    /// A page that has many bytes in common with any other of its number.
    fn page_of(page: u8, edits: &[(u8, u8)]) -> Vec<u8> {
        let mut bytes = vec![page + 1; 256];
        edits.iter().for_each(|(at, byte)| bytes[usize::from(*at)] = *byte);
        bytes
    }

    fn append(record: &mut Vec<u8>, remembered: &mut Remembered, step: &Step) {
        match step {
            Step::Page { file, page, edits } => {
                let (offset, bytes) = (256 * u64::from(*page), page_of(*page, edits));
                append_keyed(record, remembered, FileNumber(*file), offset, (*page).into(), &bytes);
            }
            Step::Write { file, offset, bytes } => {
                FileChange::Write { file: FileNumber(*file), offset: u64::from(*offset), bytes }.append(record);
            }
            Step::Resize { file, size } => {
                FileChange::Resize { file: FileNumber(*file), size: u64::from(*size) }.append(record);
            }
            Step::Delete { file } => FileChange::Delete { file: FileNumber(*file) }.append(record),
            Step::Sync => {}
        }
    }

    fn lay_out(place: &Path, contents: &Contents) -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = (0..FILES).map(|file| place.join(format!("file-{file}"))).collect();
        for (path, content) in paths.iter().zip(contents) {
            match content {
                Some(content) => std::fs::write(path, content).expect("a disk"),
                None => drop(std::fs::remove_file(path)),
            }
        }
        paths
    }

    fn look(paths: &[PathBuf]) -> Contents {
        paths.iter().map(|path| std::fs::read(path).ok()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

        /// If this failed, files would not be what they were at the last sync, after a crash at some record boundary that has left any mixture
        /// of older and newer bytes on the disk, or a second crash during the recovery.
        #[test]
        fn a_crash_at_every_record_boundary_is_mended(
            steps in proptest::collection::vec(step(), 1..40),
            kept in proptest::collection::vec(any::<bool>(), 40),
        ) {
            let steps = [steps, vec![Step::Sync]].concat();
            let place = tempfile::tempdir().expect("a folder");
            let start: Contents = vec![Some(b"what was settled".to_vec()), None, Some(vec![9; 100])];
            let mut settled = Vec::new();
            let sizes = start.iter().map(|content| content.as_ref().map(|content| content.len() as u64)).collect();
            FileChange::Settled { below: RecordNumber(7), sizes }.append(&mut settled);
            let mut records = vec![(RecordNumber(7), settled)];
            let mut remembered = Remembered::default();
            let (mut now, mut record, mut boundaries) = (start.clone(), Vec::new(), vec![(0, start.clone())]);
            for (index, step) in steps.iter().enumerate() {
                apply(&mut now, step);
                append(&mut record, &mut remembered, step);
                if matches!(step, Step::Sync) && !record.is_empty() {
                    records.push((RecordNumber(7 + records.len() as u64), std::mem::take(&mut record)));
                    boundaries.push((index + 1, now.clone()));
                }
            }
            for (count, (end, expected)) in boundaries.iter().enumerate() {
                // A loss of power: any of the writes is on the disk; what cuts or deletes files is there only once it is in the log.
                let mut left = start.clone();
                for (step, _) in steps[..*end].iter().zip(kept.iter().cycle().skip(count)).filter(|(_, kept)| **kept) {
                    apply(&mut left, step);
                }
                // A recovery that was broken off.
                for step in &steps[..end / 2 * (count % 2)] {
                    apply(&mut left, step);
                }
                let paths = lay_out(place.path(), &left);
                let records = &records[..=count];
                replay(&paths, records).expect("it is replayed");
                for (file, (found, expected)) in look(&paths).into_iter().zip(expected).enumerate() {
                    let touched = touched(&steps[..*end], file, start[file].as_ref().map_or(0, Vec::len));
                    let (found, expected) = (found.unwrap_or_default(), expected.clone().unwrap_or_default());
                    for at in (0..expected.len()).filter(|at| touched.get(*at).copied().unwrap_or(true)) {
                        prop_assert_eq!(found.get(at), expected.get(at), "byte {} of file {} after {} records", at, file, count);
                    }
                }
            }
        }
    }

    /// Bytes of a file that must be right: those that were settled or written since. Zeros that a hole shows may hide what was written
    /// there before the file was cut.
    fn touched(steps: &[Step], file: usize, settled: usize) -> Vec<bool> {
        let mut touched = vec![true; settled];
        for step in steps {
            match step {
                Step::Write { file: of, offset, bytes } if usize::from(*of) == file => {
                    touch(&mut touched, usize::from(*offset), bytes.len());
                }
                Step::Page { file: of, page, .. } if usize::from(*of) == file => {
                    touch(&mut touched, 256 * usize::from(*page), 256);
                }
                Step::Resize { file: of, size } if usize::from(*of) == file => touched.resize(usize::from(*size), true),
                Step::Delete { file: of } if usize::from(*of) == file => touched.clear(),
                _ => {}
            }
        }
        touched
    }

    fn touch(touched: &mut Vec<bool>, offset: usize, length: usize) {
        touched.resize(touched.len().max(offset + length), false);
        touched[offset..offset + length].fill(true);
    }

    /// If this failed, pages would be made of something else than what they were made of when they were written.
    #[test]
    fn a_page_that_was_not_remembered_is_told_of() {
        let place = tempfile::tempdir().expect("a folder");
        let paths = lay_out(place.path(), &vec![None, None, None]);
        let (mut records, mut remembered) = ([Vec::new(), Vec::new()], Remembered::default());
        for (record, edits) in records.iter_mut().zip([&[][..], &[(1, 1)]]) {
            append_keyed(record, &mut remembered, FileNumber(0), 0, 1, &page_of(1, edits));
        }
        let [first, second] = records.map(|record| (RecordNumber(0), record));
        let refused = replay(&paths, std::slice::from_ref(&second));
        assert!(matches!(refused, Err(FilesOpenError::Record { .. })), "{refused:?}");
        replay(&paths, &[first.clone(), second.clone()]).expect("it is replayed");
        assert_eq!(look(&paths)[0], Some(page_of(1, &[(1, 1)])));
        let mut other = Vec::new();
        append_keyed(&mut other, &mut Remembered::default(), FileNumber(0), 0, 1, &page_of(1, &[(2, 9)]));
        let refused = replay(&paths, &[(RecordNumber(0), other), second]);
        assert!(matches!(refused, Err(FilesOpenError::Record { .. })), "its checksum is another: {refused:?}");
    }

    /// If this failed, a database that was closed in order, and then changed by others, could not be opened again.
    #[test]
    fn files_that_were_closed_in_order_may_be_changed_by_others() {
        let place = tempfile::tempdir().expect("a folder");
        let paths = lay_out(place.path(), &vec![Some(vec![1; 10]), None, None]);
        let mut record = Vec::new();
        FileChange::Settled { below: RecordNumber(0), sizes: vec![Some(11), Some(0), Some(5)] }.append(&mut record);
        let replayed = replay(&paths, &[(RecordNumber(0), record)]).expect("there is nothing to replay");
        assert_eq!(replayed, ReplayedFiles::default());
        let mut record = Vec::new();
        FileChange::Settled { below: RecordNumber(0), sizes: vec![Some(10), Some(0), None] }.append(&mut record);
        FileChange::Write { file: FileNumber(0), offset: 0, bytes: b"x" }.append(&mut record);
        replay(&paths, &[(RecordNumber(0), record)]).expect("an empty file holds nothing that could be missing");
    }

    /// If this failed, a database would be made of nothing but what was changed last.
    #[test]
    fn a_file_that_is_gone_is_told_of() {
        let place = tempfile::tempdir().expect("a folder");
        let paths = lay_out(place.path(), &vec![Some(vec![1; 10]), None, None]);
        let mut record = Vec::new();
        FileChange::Settled { below: RecordNumber(0), sizes: vec![Some(11), None, None] }.append(&mut record);
        FileChange::Write { file: FileNumber(0), offset: 0, bytes: b"x" }.append(&mut record);
        let refused = replay(&paths, &[(RecordNumber(0), record.clone())]);
        assert!(matches!(refused, Err(FilesOpenError::Short { found: Some(10), expected: 11, .. })), "{refused:?}");
        assert_eq!(look(&paths)[0], Some(vec![1; 10]), "nothing was changed");
        FileChange::Resize { file: FileNumber(0), size: 4 }.append(&mut record);
        let replayed = replay(&paths, &[(RecordNumber(0), record)]).expect("the log itself has cut the file");
        assert_eq!((replayed.records, replayed.changes, replayed.bytes), (1, 2, 1));
        let refused = replay(&paths, &[(RecordNumber(3), vec![3, 9])]);
        assert!(matches!(refused, Err(FilesOpenError::NoSuchFile { file: 9, .. })), "{refused:?}");
    }
}
