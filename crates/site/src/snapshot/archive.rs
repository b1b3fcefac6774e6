//! The archive of a site's log: all of it, from when the archive began, in files that a restore reads behind a snapshot.
//!
//! A thread copies what is on the site's disk, a few times a second, and brings it to the disk of the archive. Only then the site may give it up. Invariants:
//! a file is never written again once its process has ended; frames follow each other without a gap, or the gap is an error that names it; an archive
//! that is full or away never stops the site, which gives up its log beyond a bound and begins another archive.

use super::desk::ArchiveStatus;
use super::files::{FrameReader, FrameWriter, Part, SnapshotError, sync_folder};
use crate::config::SiteConfig;
use crate::core::copying::ArchivePart;
use crate::shared::SiteShared;
use crate::{clock, limits};
use commit_log::Position;
use domain::snapshot::archive::{ArchiveMark, ArchivedEnd};
pub use domain::snapshot::archive::{WantedMoment, micros_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Extension of its files.
const EXTENSION: &str = "log";

/// One frame of a file.
#[derive(Debug, Serialize, Deserialize)]
enum ArchiveFrame {
    /// Records with the place that each begins at, from the first one on; the next frame goes on where they end.
    Records { from: Position, records: Vec<(Position, Vec<u8>)>, behind: Position },
    /// The site served at this moment.
    Mark(ArchiveMark),
}

/// What is read of an archive.
#[derive(Debug)]
pub enum ArchiveEntry {
    /// A record, and where it begins.
    Record(Position, Vec<u8>),
    /// A moment at which the site served.
    Mark(ArchiveMark),
}

/// The folder of a site's archive below the folder that the configuration names.
pub fn folder_of(archive: &Path, instance: &str, site: u16) -> PathBuf {
    archive.join(format!("{instance}-site-{site}"))
}

/// The site's log is another one from now on, which begins here: so another archive begins.
pub(super) fn begin_another(config: &SiteConfig, first: Position) -> Result<(), SnapshotError> {
    let Some(archive) = &config.log_archive else { return Ok(()) };
    let folder = folder_of(archive, &config.instance.to_string(), config.id);
    match ArchiveFiles::find(&folder)?.newest() {
        Some(newest) => new_file(&folder, newest + 1, first)?.finish().map(drop),
        None => Ok(()),
    }
}

/// Runs the archive until the process ends.
pub(crate) fn serve(config: &SiteConfig, shared: &Arc<SiteShared>) -> Result<(), String> {
    let Some(archive) = &config.log_archive else { return Ok(()) };
    let folder = folder_of(archive, &config.instance.to_string(), config.id);
    let (site, shared) = (config.id, shared.clone());
    shared.snapshots().note_archive(|status| status.folder = folder.clone());
    let run = move || {
        let mut writer = None;
        while !shared.stops() {
            let rests = match step(&folder, &shared, &mut writer) {
                Ok(0) => limits::ARCHIVE_LOOK,
                Ok(_) => std::time::Duration::ZERO,
                Err(error) => {
                    tracing::error!(%error, "the log is not archived; it is tried again");
                    shared.snapshots().note_archive(|status| status.failure = Some(error.to_string()));
                    writer = None;
                    limits::ARCHIVE_PAUSE
                }
            };
            std::thread::sleep(rests);
        }
    };
    let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(run);
    thread.map(drop).map_err(|error| format!("site {site} cannot keep its archive of the log: {error}"))
}

/// One step. Says how many bytes are left that could be archived at once.
fn step(folder: &Path, shared: &SiteShared, writer: &mut Option<ArchiveWriter>) -> Result<u64, SnapshotError> {
    let current = match writer {
        Some(current) => current,
        None => writer.insert(ArchiveWriter::open(folder)?),
    };
    let part = shared.core().map(|mut core| core.archive_part(&current.end, current.lives)).transpose()?;
    let Some(part) = part.flatten() else { return Ok(0) };
    if !part.goes_on || current.number == 0 {
        current.begin_anew(part.first)?;
    }
    current.lives = Some(part.lives);
    current.append(&part)?;
    let end = current.end.end;
    if let Some(mut core) = shared.core() {
        core.archived(part.lives, end);
    }
    shared.snapshots().note_archive(|status| {
        (status.number, status.left, status.failure) = (Some(current.number), part.left, None);
        status.known_to_us = current.known_to.map_or(status.known_to_us, micros_of);
    });
    Ok(part.left)
}

/// Writes an archive on, from where its files end.
struct ArchiveWriter {
    folder: PathBuf,
    /// Which archive of the site: another log begins another one.
    number: u32,
    end: ArchivedEnd,
    /// The life that was looked at last.
    lives: Option<u64>,
    file: Option<FrameWriter>,
    /// A mark whose place in the log is not archived yet.
    pending: Option<ArchiveMark>,
    /// When the last mark was taken.
    marked: Option<Instant>,
    /// The clock of the last mark that was written.
    known_to: Option<u64>,
}

impl ArchiveWriter {
    fn open(folder: &Path) -> Result<ArchiveWriter, SnapshotError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(SnapshotError::file(folder))?;
        let files = ArchiveFiles::find(folder)?;
        // None yet: the log does not go on with it.
        let number = files.newest().unwrap_or(0);
        let mut end = ArchivedEnd::beginning_at(files.of(number).last().map_or(Position(0), |file| file.first));
        // A file may have no records: its process had none, or was killed while it wrote the first.
        for file in files.of(number).iter().rev() {
            let mut reader = file.reader()?;
            // What stands behind a frame that is torn was never given up by the site.
            while let Ok(frame) = next_frame(&mut reader) {
                if let ArchiveFrame::Records { records, behind, .. } = frame
                    && let Some((position, record)) = records.last()
                {
                    end.takes(*position, record, behind);
                }
            }
            if end.last.is_some() {
                break;
            }
        }
        let folder = folder.to_owned();
        Ok(ArchiveWriter { folder, number, end, lives: None, file: None, pending: None, marked: None, known_to: None })
    }

    /// The log is another one, or some of it was given up.
    fn begin_anew(&mut self, first: Position) -> Result<(), SnapshotError> {
        if self.number > 0 {
            let (number, end) = (self.number, self.end.end.0);
            tracing::warn!(
                number,
                end,
                first = first.0,
                "another archive of the log begins: snapshots from before do not go with it"
            );
        }
        self.number += 1;
        (self.end, self.file, self.pending) = (ArchivedEnd::beginning_at(first), None, None);
        Ok(())
    }

    /// Writes a part, to disk.
    fn append(&mut self, part: &ArchivePart) -> Result<(), SnapshotError> {
        if self.pending.is_none() && self.marked.is_none_or(|marked| marked.elapsed() >= limits::ARCHIVE_MARKS) {
            (self.pending, self.marked) = (part.mark, part.mark.map(|_| Instant::now()));
        }
        let mut end = self.end.clone();
        for (position, record, behind) in &part.records {
            end.takes(*position, record, *behind);
        }
        let mark = self.pending.filter(|mark| mark.at <= end.end);
        if part.records.is_empty() && mark.is_none() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) if file.bytes() < limits::ARCHIVE_FILE_BYTES => file,
            file => file.insert(new_file(&self.folder, self.number, self.end.end)?),
        };
        if !part.records.is_empty() {
            let records = part.records.iter().map(|(position, record, _)| (*position, record.clone())).collect();
            file.write(&encoded(&ArchiveFrame::Records { from: self.end.end, records, behind: end.end }))?;
        }
        if let Some(mark) = mark {
            file.write(&encoded(&ArchiveFrame::Mark(mark)))?;
            (self.pending, self.known_to) = (None, Some(mark.clock));
        }
        file.sync()?;
        self.end = end;
        Ok(())
    }
}

/// A file whose records begin here. Earlier processes may have begun one here, too.
fn new_file(folder: &Path, number: u32, first: Position) -> Result<FrameWriter, SnapshotError> {
    let files = ArchiveFiles::find(folder)?;
    let of_this = files.of(number).iter().filter(|file| file.first == first).map(|file| file.sequence);
    let sequence = of_this.max().map_or(0, |newest| newest + 1);
    let made = FrameWriter::create(folder, format!("{number:06}-{:020}-{sequence:04}.{EXTENSION}", first.0))?;
    sync_folder(folder)?;
    Ok(made)
}

fn encoded(frame: &ArchiveFrame) -> Vec<u8> {
    postcard::to_stdvec(frame).expect("a frame always encodes")
}

fn next_frame(reader: &mut FrameReader) -> Result<ArchiveFrame, SnapshotError> {
    let frame = reader.next()?.ok_or_else(|| reader.damaged("it has ended"))?;
    postcard::from_bytes(&frame).map_err(|_| reader.damaged("a frame that cannot be read"))
}

/// A file of an archive.
#[derive(Clone, Debug)]
pub(super) struct ArchiveFile {
    pub(super) path: PathBuf,
    /// Where its records begin.
    pub(super) first: Position,
    /// Among those that begin there.
    sequence: u32,
}

impl ArchiveFile {
    fn reader(&self) -> Result<FrameReader, SnapshotError> {
        let bytes = fs::metadata(&self.path).map_err(SnapshotError::file(&self.path))?.len();
        let name = self.path.file_name().and_then(|name| name.to_str()).expect("it was found by its name");
        let part = Part { file: name.to_owned(), bytes, frames: u64::MAX };
        FrameReader::open(self.path.parent().expect("it has a folder"), &part)
    }
}

/// The files of a site's archives.
#[derive(Debug, Default)]
pub(super) struct ArchiveFiles {
    pub(super) by_number: BTreeMap<u32, Vec<ArchiveFile>>,
}

impl ArchiveFiles {
    pub(super) fn find(folder: &Path) -> Result<ArchiveFiles, SnapshotError> {
        let mut files = ArchiveFiles::default();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(files),
            entries => entries.map_err(SnapshotError::file(folder))?,
        };
        for entry in entries {
            let path = entry.map_err(SnapshotError::file(folder))?.path();
            let Some((number, first, sequence)) = named(&path) else { continue };
            files.by_number.entry(number).or_default().push(ArchiveFile { path, first, sequence });
        }
        files.by_number.values_mut().for_each(|files| files.sort_by_key(|file| (file.first, file.sequence)));
        Ok(files)
    }

    pub(super) fn newest(&self) -> Option<u32> {
        self.by_number.keys().next_back().copied()
    }

    fn of(&self, number: u32) -> &[ArchiveFile] {
        self.by_number.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// What the name of a file says: the archive, where its records begin, and which of those that begin there it is.
fn named(path: &Path) -> Option<(u32, Position, u32)> {
    let name = path.file_name()?.to_str()?.strip_suffix(&format!(".{EXTENSION}"))?;
    let (number, rest) = name.split_once('-')?;
    let (first, sequence) = rest.split_once('-')?;
    Some((number.parse().ok()?, Position(first.parse().ok()?), sequence.parse().ok()?))
}

/// Reads an archive of a site from a place in its log on.
#[derive(Debug)]
pub struct ArchiveReader {
    folder: PathBuf,
    files: std::vec::IntoIter<ArchiveFile>,
    reader: Option<FrameReader>,
    from: Position,
    /// Where the next record is to begin.
    next: Position,
    entries: std::vec::IntoIter<ArchiveEntry>,
    /// Why the last file has ended.
    ended: Option<SnapshotError>,
}

impl ArchiveReader {
    /// The records of archive `number` from this place on.
    ///
    /// # Errors
    /// It does not go back so far.
    pub fn open(folder: &Path, number: u32, from: Position) -> Result<ArchiveReader, SnapshotError> {
        let files = ArchiveFiles::find(folder)?;
        let files = files.of(number);
        let nearest = files.iter().map(|file| file.first).filter(|first| *first <= from).max();
        let next = nearest.ok_or_else(|| SnapshotError::Gap {
            folder: folder.to_owned(),
            from: from.0,
            to: files.first().map_or(u64::MAX, |file| file.first.0),
        })?;
        let begins = files.partition_point(|file| file.first < next);
        Ok(ArchiveReader {
            folder: folder.to_owned(),
            files: Vec::from(&files[begins..]).into_iter(),
            reader: None,
            from,
            next,
            entries: Vec::new().into_iter(),
            ended: None,
        })
    }

    /// The next entry; none: that was all.
    ///
    /// # Errors
    /// A part is missing in between.
    pub fn next_entry(&mut self) -> Result<Option<ArchiveEntry>, SnapshotError> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Ok(Some(entry));
            }
            let Some(reader) = &mut self.reader else {
                let Some(file) = self.files.next() else { return Ok(None) };
                if file.first != self.next {
                    let gap = SnapshotError::Gap { folder: self.folder.clone(), from: self.next.0, to: file.first.0 };
                    return Err(self.ended.take().filter(is_damage).unwrap_or(gap));
                }
                self.reader = Some(file.reader()?);
                continue;
            };
            match next_frame(reader) {
                Ok(ArchiveFrame::Records { from, .. }) if from != self.next => {
                    return Err(SnapshotError::Gap { folder: self.folder.clone(), from: self.next.0, to: from.0 });
                }
                Ok(ArchiveFrame::Records { records, behind, .. }) => {
                    self.next = behind;
                    let wanted = records.into_iter().filter(|(position, _)| *position >= self.from);
                    let entries = wanted.map(|(position, record)| ArchiveEntry::Record(position, record));
                    self.entries = entries.collect::<Vec<_>>().into_iter();
                }
                Ok(ArchiveFrame::Mark(mark)) if mark.at >= self.from => return Ok(Some(ArchiveEntry::Mark(mark))),
                Ok(ArchiveFrame::Mark(_)) => {}
                // A process was killed while it wrote this, or it still writes: what follows begins where the last whole frame ends.
                Err(error @ SnapshotError::Damaged { .. }) => (self.reader, self.ended) = (None, Some(error)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Where the records end that have been read.
    pub fn end(&self) -> Position {
        self.next
    }
}

fn is_damage(error: &SnapshotError) -> bool {
    matches!(error, SnapshotError::Damaged { .. })
}

/// A moment as a person writes it: `latest`, or a date and a time as PostgreSQL reads them, with their zone or in UTC.
///
/// # Errors
/// It is none.
pub fn parse_moment(text: &str) -> Result<WantedMoment, String> {
    /// Of 2000 in microseconds since 1970: values count from there.
    const OF_2000: i64 = 946_684_800_000_000;
    if text == "latest" {
        return Ok(WantedMoment::Latest);
    }
    let wrong = || format!("{text:?} is no moment: say `latest`, or a time such as '2026-11-25 12:00:00+00'");
    let values::Value::TimestampTz(since_2000) =
        values::text::parse(text, values::Type::TimestampTz(None)).map_err(|_| wrong())?
    else {
        return Err(wrong());
    };
    let micros = since_2000.checked_add(OF_2000).and_then(|micros| u64::try_from(micros).ok()).ok_or_else(wrong)?;
    Ok(WantedMoment::of_micros(micros))
}

/// What a site's archive is known to hold, for the operator.
impl ArchiveStatus {
    /// How far behind the site it is, in seconds; none: nothing is in it.
    pub fn seconds_behind(&self) -> Option<u64> {
        (self.known_to_us > 0).then(|| clock::wall_micros().saturating_sub(self.known_to_us) / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;

    fn part(records: &[(u64, &[u8], u64)], mark: Option<u64>) -> ArchivePart {
        let records: Vec<_> =
            records.iter().map(|(at, record, behind)| (Position(*at), record.to_vec(), Position(*behind))).collect();
        let mark = mark.map(|at| ArchiveMark { clock: 7, epoch: EpochNumber(3), at: Position(at) });
        ArchivePart { lives: 1, goes_on: true, first: Position(0), records, mark, left: 0 }
    }

    fn opened(folder: &Path) -> ArchiveWriter {
        ArchiveWriter::open(folder).expect("the folder can be read")
    }

    fn records(folder: &Path, from: u64) -> Vec<u64> {
        let mut reader = ArchiveReader::open(folder, 1, Position(from)).expect("it goes back so far");
        let mut found = Vec::new();
        while let Some(entry) = reader.next_entry().expect("nothing is missing") {
            if let ArchiveEntry::Record(position, _) = entry {
                found.push(position.0);
            }
        }
        found
    }

    /// If this fails, a site that had nothing to log before it was started again archives nothing any more, and keeps its log without end.
    #[test]
    fn an_archive_goes_on_after_quiet_processes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = opened(folder.path());
        writer.begin_anew(Position(10)).expect("it begins");
        writer.append(&part(&[(10, b"one", 20)], None)).expect("there is room");
        for _ in 0..3 {
            let mut quiet = opened(folder.path());
            assert_eq!((quiet.number, quiet.end.end), (1, Position(20)));
            assert!(quiet.end.last.is_some(), "the log is compared with its last record");
            quiet.append(&part(&[], Some(20))).expect("there is room");
        }
        let mut writer = opened(folder.path());
        writer.append(&part(&[(20, b"two", 30)], None)).expect("there is room");
        assert_eq!(records(folder.path(), 10), [10, 20]);
        assert_eq!(records(folder.path(), 20), [20], "from a place where several files begin");
        assert_eq!(opened(folder.path()).end.end, Position(30));
    }

    /// If this fails, a process that was killed while it wrote its first frame leaves an archive that cannot be read, or goes on elsewhere.
    #[test]
    fn an_archive_goes_on_behind_a_torn_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = opened(folder.path());
        writer.begin_anew(Position(0)).expect("it begins");
        writer.append(&part(&[(0, b"one", 10)], None)).expect("there is room");
        let mut killed = opened(folder.path());
        killed.append(&part(&[(10, b"two", 20)], None)).expect("there is room");
        let torn =
            ArchiveFiles::find(folder.path()).expect("it can be read").of(1).last().expect("a file").path.clone();
        let bytes = fs::read(&torn).expect("a file");
        fs::write(&torn, &bytes[..bytes.len() - 1]).expect("there is room");
        let mut writer = opened(folder.path());
        assert_eq!(writer.end.end, Position(10));
        writer.append(&part(&[(10, b"two", 20)], None)).expect("there is room");
        assert_eq!(records(folder.path(), 0), [0, 10]);
    }

    /// If this fails, an archive that was removed under a running site swallows its log.
    #[test]
    fn a_file_that_was_removed_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = opened(folder.path());
        writer.begin_anew(Position(0)).expect("it begins");
        writer.append(&part(&[(0, b"one", 10)], None)).expect("there is room");
        let file = ArchiveFiles::find(folder.path()).expect("it can be read").of(1)[0].path.clone();
        fs::remove_file(&file).expect("it is there");
        assert!(
            matches!(writer.append(&part(&[(10, b"two", 20)], None)), Err(SnapshotError::File { path, .. }) if path == file)
        );
    }

    /// If this fails, an idle site writes and syncs a mark several times a second.
    #[test]
    fn marks_are_as_often_as_they_need_be() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = opened(folder.path());
        writer.begin_anew(Position(0)).expect("it begins");
        writer.append(&part(&[(0, b"one", 10)], Some(10))).expect("there is room");
        let bytes = writer.file.as_ref().expect("a file").bytes();
        writer.append(&part(&[], Some(10))).expect("there is room");
        assert_eq!(writer.file.as_ref().expect("a file").bytes(), bytes);
        let mut reader = ArchiveReader::open(folder.path(), 1, Position(0)).expect("it goes back so far");
        let mut marks = 0;
        while let Some(entry) = reader.next_entry().expect("nothing is missing") {
            marks += usize::from(matches!(entry, ArchiveEntry::Mark(_)));
        }
        assert_eq!(marks, 1, "the first one is there");
    }
}
