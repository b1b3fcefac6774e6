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
pub use domain::snapshot::archive::WantedMoment;
use domain::snapshot::archive::{ArchiveMark, ArchivedEnd, micros_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    let Some(Ok(part)) = shared.core().map(|mut core| core.archive_part(&current.end, current.lives)) else {
        // There are no servers now.
        return Ok(0);
    };
    if !part.goes_on || current.number == 0 {
        current.begin_anew(part.first)?;
    }
    current.lives = Some(part.lives);
    current.write(&part)?;
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
    /// The clock of the last mark that was written.
    known_to: Option<u64>,
}

impl ArchiveWriter {
    fn open(folder: &Path) -> Result<ArchiveWriter, SnapshotError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(SnapshotError::file(folder))?;
        let files = ArchiveFiles::find(folder)?;
        let (mut end, number) = (ArchivedEnd::default(), files.newest());
        if let Some(newest) = number.and_then(|number| files.of(number).last()) {
            // What stands behind a frame that is torn was never given up by the site.
            end.end = newest.first;
            let mut reader = newest.reader()?;
            while let Ok(frame) = next_frame(&mut reader) {
                if let ArchiveFrame::Records { records, behind, .. } = frame
                    && let Some((position, record)) = records.last()
                {
                    end.takes(*position, record, behind);
                }
            }
        }
        let folder = folder.to_owned();
        Ok(ArchiveWriter {
            folder,
            // None yet: the log does not go on with it.
            number: number.unwrap_or(0),
            end,
            lives: None,
            file: None,
            pending: None,
            known_to: None,
        })
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
    fn write(&mut self, part: &ArchivePart) -> Result<(), SnapshotError> {
        self.pending = self.pending.or(part.mark);
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
            file => {
                let name = format!("{:06}-{:020}.{EXTENSION}", self.number, self.end.end.0);
                let made = FrameWriter::create(&self.folder, name)?;
                sync_folder(&self.folder)?;
                file.insert(made)
            }
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

fn encoded(frame: &ArchiveFrame) -> Vec<u8> {
    postcard::to_stdvec(frame).expect("a frame always encodes")
}

fn next_frame(reader: &mut FrameReader) -> Result<ArchiveFrame, SnapshotError> {
    let frame = reader.next()?.ok_or_else(|| reader.damaged("it has ended"))?;
    postcard::from_bytes(&frame).map_err(|_| reader.damaged("a frame that cannot be read"))
}

/// A file of an archive.
#[derive(Clone, Debug)]
struct ArchiveFile {
    path: PathBuf,
    first: Position,
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
struct ArchiveFiles {
    by_number: BTreeMap<u32, Vec<ArchiveFile>>,
}

impl ArchiveFiles {
    fn find(folder: &Path) -> Result<ArchiveFiles, SnapshotError> {
        let mut files = ArchiveFiles::default();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(files),
            entries => entries.map_err(SnapshotError::file(folder))?,
        };
        for entry in entries {
            let path = entry.map_err(SnapshotError::file(folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let parts = name.and_then(|name| name.strip_suffix(&format!(".{EXTENSION}"))?.split_once('-'));
            let Some((Ok(number), Ok(first))) = parts.map(|(number, first)| (number.parse(), first.parse())) else {
                continue;
            };
            files.by_number.entry(number).or_default().push(ArchiveFile { path, first: Position(first) });
        }
        files.by_number.values_mut().for_each(|files| files.sort_by_key(|file| file.first));
        Ok(files)
    }

    fn newest(&self) -> Option<u32> {
        self.by_number.keys().next_back().copied()
    }

    fn of(&self, number: u32) -> &[ArchiveFile] {
        self.by_number.get(&number).map_or(&[], Vec::as_slice)
    }
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
        let begins = files.iter().rposition(|file| file.first <= from).ok_or_else(|| SnapshotError::Gap {
            folder: folder.to_owned(),
            from: from.0,
            to: files.first().map_or(u64::MAX, |file| file.first.0),
        })?;
        let next = files[begins].first;
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
        values::text::parse(text, values::Type::TimestampTz).map_err(|_| wrong())?
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
