//! The files of a snapshot: a folder with `base`, `tail` and `manifest.toml`.
//!
//! Invariants: a folder without a manifest is no snapshot; whatever is damaged is an error that names the file and the place in it.

pub use crate::clock::date;
use commit_log::LogError;
use domain::snapshot::archive::{MomentError, micros_of};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The rows of the store.
pub(crate) const BASE: &str = "base";
/// The records of the log.
pub(crate) const TAIL: &str = "tail";
/// What there is; written last.
pub(crate) const MANIFEST: &str = "manifest.toml";
/// Extension of a snapshot that is being taken, or whose taking was cut off.
pub(crate) const PARTIAL: &str = "partial";
/// The layout of all of it.
const FORMAT: u32 = 1;
/// Bytes in front of each frame: length and checksum.
const HEAD_BYTES: usize = 12;
/// Bytes of a frame at most: the longest record of a log, and more than a chunk of rows.
const FRAME_BYTES_MAX: usize = 300 << 20;
/// Characters of a name at most.
const NAME_MAX: usize = 63;
/// Begins the manifest's last line.
const CHECKSUM: &str = "# xxh3 ";

/// Why a snapshot cannot be used.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// A file or folder.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Something else stands there than was written.
    #[error("{path} is damaged at byte {offset}: {what}; restore another snapshot")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// Files are missing.
    #[error("{folder} lacks {missing}: it is no whole snapshot")]
    Missing {
        /// The snapshot.
        folder: PathBuf,
        /// The missing files, with commas between them.
        missing: String,
    },
    /// A name that cannot be one.
    #[error("{0:?} is no name of a snapshot: letters, digits, `_` and `-`, 1 to {NAME_MAX} of them")]
    Name(String),
    /// There is none of this name.
    #[error("snapshot {name:?} does not exist in {folder}")]
    Unknown {
        /// The name.
        name: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// There is one of this name.
    #[error("snapshot {name:?} already exists in {folder}")]
    Exists {
        /// The name.
        name: String,
        /// Where it is.
        folder: PathBuf,
    },
    /// Somebody verifies or restores it.
    #[error("snapshot {name:?} in {folder} is being read: wait until that is over")]
    InUse {
        /// The name.
        name: String,
        /// Where it is.
        folder: PathBuf,
    },
    /// Log is missing between two places, or before the first that there is.
    #[error(
        "the archive in {folder} lacks the log from {from} to {to}: take a later snapshot, or another site's archive"
    )]
    Gap {
        /// The archive.
        folder: PathBuf,
        /// The place where it goes on missing.
        from: u64,
        /// Where there is some again.
        to: u64,
    },
    /// The moment that was asked for.
    #[error("the instance cannot be restored as it was then: {}", in_words(.0))]
    Moment(#[from] MomentError),
    /// The log that is to be archived cannot be read.
    #[error("the log cannot be archived: {0}")]
    Log(Box<LogError>),
    /// What was read back cannot be brought to a state.
    #[error("the snapshot cannot be restored: {0}")]
    Restore(String),
}

impl From<LogError> for SnapshotError {
    fn from(error: LogError) -> SnapshotError {
        SnapshotError::Log(Box::new(error))
    }
}

impl SnapshotError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> SnapshotError {
        let path = path.to_owned();
        move |source| SnapshotError::File { path, source }
    }
}

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Its frames.
    pub frames: u64,
}

/// What a snapshot is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The layout of the files.
    pub format: u32,
    /// Its name.
    pub name: String,
    /// The instance that it was taken of, in decimal.
    pub instance: String,
    /// The site that has written it.
    pub site: u16,
    /// The life of that site.
    pub life: u32,
    /// The epoch at the cut.
    pub epoch: u64,
    /// When it was permanent: microseconds since 1970.
    pub taken_us: u64,
    /// Where the records of the log begin.
    pub log_from: u64,
    /// The cut: what was voted for behind this position of the log is not in it.
    pub cut: u64,
    /// The hybrid clock at the cut: what was decided before has no higher one. 0: an older build has not noted it.
    #[serde(default)]
    pub clock: u64,
    /// Which archive of its log the site wrote then, if it wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<u32>,
    /// Rows in the base, those of indexes too.
    pub base_rows: u64,
    /// Its files.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// All its bytes.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// When it was permanent, as a date.
    pub fn taken_at(&self) -> String {
        format!("{} UTC", date(self.taken_us))
    }

    /// Reads and checks the manifest in this folder.
    ///
    /// # Errors
    /// It is not there, damaged, or of another version.
    pub fn read(folder: &Path) -> Result<Manifest, SnapshotError> {
        let path = folder.join(MANIFEST);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(SnapshotError::Missing { folder: folder.to_owned(), missing: MANIFEST.to_owned() });
            }
            read => read.map_err(SnapshotError::file(&path))?,
        };
        let damaged = |what: String| SnapshotError::Damaged { path: path.clone(), offset: 0, what };
        let (body, checksum) =
            text.rsplit_once(CHECKSUM).ok_or_else(|| damaged("its last line is missing".to_owned()))?;
        if format!("{:016x}\n", xxh3_64(body.as_bytes())) != checksum {
            return Err(damaged("its checksum is another".to_owned()));
        }
        let manifest: Manifest = toml::from_str(body).map_err(|error| damaged(error.to_string()))?;
        match manifest.format {
            FORMAT => Ok(manifest),
            other => Err(damaged(format!("format {other}, where {FORMAT} is known"))),
        }
    }

    /// Writes it, synced.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), SnapshotError> {
        let path = folder.join(MANIFEST);
        let body = toml::to_string(self).expect("a manifest always encodes");
        let text = format!("{body}{CHECKSUM}{:016x}\n", xxh3_64(body.as_bytes()));
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            File::open(folder)?.sync_all()
        };
        write().map_err(SnapshotError::file(&path))
    }

    /// The layout that this program writes.
    pub(crate) const fn format() -> u32 {
        FORMAT
    }
}

/// Why there is nothing of a moment, with dates.
fn in_words(error: &MomentError) -> String {
    let at = |clock: u64| {
        let micros = micros_of(clock);
        format!("{}.{:06} UTC", date(micros), micros % 1_000_000)
    };
    match error {
        MomentError::Before(clock) => {
            format!("the snapshot holds what committed up to {}: take an earlier snapshot, or a later time", at(*clock))
        }
        MomentError::NotCurrent(since) => {
            let since = since.map_or_else(String::new, |clock| format!(", but from {} on", at(clock)));
            format!("the site had no current copy then{since}: take the archive and a snapshot of another site")
        }
        MomentError::Beyond(clock) => {
            format!("the archive does not reach so far: all of it is known up to {}", at(*clock))
        }
        MomentError::Record(_) => error.to_string(),
    }
}

/// Whether a snapshot may be called so: the name is that of a folder.
///
/// # Errors
/// See [`SnapshotError::Name`].
pub fn check_name(name: &str) -> Result<(), SnapshotError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(SnapshotError::Name(name.to_owned())),
    }
}

/// The folder of a snapshot that exists.
///
/// # Errors
/// It does not, or its name is none.
pub fn find(folder: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    check_name(name)?;
    let path = folder.join(name);
    match path.is_dir() {
        true => Ok(path),
        false => Err(SnapshotError::Unknown { name: name.to_owned(), folder: folder.to_owned() }),
    }
}

/// A snapshot's name, and its manifest or what is wrong with it.
pub type Listed = (String, Result<Manifest, SnapshotError>);

/// All snapshots in a folder, by name, damaged ones with what is wrong.
///
/// # Errors
/// The folder cannot be read. Where there is none, there are no snapshots.
pub fn list(folder: &Path) -> Result<Vec<Listed>, SnapshotError> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(SnapshotError::file(folder))?,
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| check_name(name).is_ok()).collect();
    names.sort();
    Ok(names.into_iter().map(|name| (name.clone(), Manifest::read(&folder.join(name)))).collect())
}

/// Reads all of a snapshot, and compares it with its checksums.
///
/// # Errors
/// What is missing or damaged, and where.
pub fn verify(folder: &Path) -> Result<Manifest, SnapshotError> {
    let _reading = begin_reading(folder)?;
    let manifest = Manifest::read(folder)?;
    let missing: Vec<&str> =
        manifest.parts.iter().map(|part| &*part.file).filter(|file| !folder.join(file).exists()).collect();
    if !missing.is_empty() {
        return Err(SnapshotError::Missing { folder: folder.to_owned(), missing: missing.join(", ") });
    }
    for part in &manifest.parts {
        let mut reader = FrameReader::open(folder, part)?;
        while reader.next()?.is_some() {}
    }
    Ok(manifest)
}

/// While what is returned lives, no process removes the snapshot in this folder. Where the file system has no locks, it is not kept from that.
pub(crate) fn begin_reading(folder: &Path) -> Result<File, SnapshotError> {
    let opened = match File::open(folder) {
        // What stands there is told by whoever reads the manifest.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(SnapshotError::Missing { folder: folder.to_owned(), missing: MANIFEST.to_owned() });
        }
        opened => opened.map_err(SnapshotError::file(folder))?,
    };
    if flock(&opened, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
        return Err(SnapshotError::Missing {
            folder: folder.to_owned(),
            missing: "whatever is removed now".to_owned(),
        });
    }
    Ok(opened)
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), SnapshotError> {
    File::open(folder).and_then(|opened| opened.sync_all()).map_err(SnapshotError::file(folder))
}

/// Gives a damaged snapshot another name, `damaged-` with its own behind, which replaces what was called so before. Returns its folder.
///
/// # Errors
/// The operating system refuses.
pub(crate) fn set_aside(folder: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    let aside = folder.join(format!("damaged-{name}"));
    match std::fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(SnapshotError::file(&aside)(error)),
        _ => {}
    }
    std::fs::rename(folder.join(name), &aside).map_err(SnapshotError::file(&aside))?;
    Ok(aside)
}

/// Takes a snapshot away. Its manifest goes first: what is left of it when that is cut off is no snapshot.
///
/// # Errors
/// There is none of this name, or the operating system refuses.
pub fn remove(folder: &Path, name: &str) -> Result<(), SnapshotError> {
    let path = find(folder, name)?;
    let opened = File::open(&path).map_err(SnapshotError::file(&path))?;
    if flock(&opened, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(SnapshotError::InUse { name: name.to_owned(), folder: folder.to_owned() });
    }
    match std::fs::remove_file(path.join(MANIFEST)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(SnapshotError::file(&path)(error)),
        _ => {}
    }
    for part in [BASE, TAIL] {
        match std::fs::remove_file(path.join(part)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(SnapshotError::file(&path)(error)),
            _ => {}
        }
    }
    // A folder that holds anything else is not ours to take away.
    std::fs::remove_dir(&path).map_err(SnapshotError::file(&path))
}

/// Writes frames: length (4), checksum (8), bytes. The checksum depends on the place, so that no frame passes for another.
pub(crate) struct FrameWriter {
    path: PathBuf,
    name: String,
    file: BufWriter<File>,
    bytes: u64,
    frames: u64,
}

impl FrameWriter {
    pub(crate) fn create(folder: &Path, name: impl Into<String>) -> Result<FrameWriter, SnapshotError> {
        let name = name.into();
        let path = folder.join(&name);
        let file = BufWriter::new(File::create_new(&path).map_err(SnapshotError::file(&path))?);
        Ok(FrameWriter { path, name, file, bytes: 0, frames: 0 })
    }

    pub(crate) fn write(&mut self, frame: &[u8]) -> Result<(), SnapshotError> {
        assert!(frame.len() <= FRAME_BYTES_MAX, "chunks and records are shorter");
        let mut write = || -> std::io::Result<()> {
            self.file.write_all(&(frame.len() as u32).to_le_bytes())?;
            self.file.write_all(&xxh3_64_with_seed(frame, self.bytes).to_le_bytes())?;
            self.file.write_all(frame)
        };
        write().map_err(SnapshotError::file(&self.path))?;
        self.bytes += (HEAD_BYTES + frame.len()) as u64;
        self.frames += 1;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Brings what there is to the disk, and goes on.
    ///
    /// # Errors
    /// Also when somebody has removed the file: what goes there is lost.
    pub(crate) fn sync(&mut self) -> Result<(), SnapshotError> {
        let sync = |file: &mut BufWriter<File>| {
            file.flush()?;
            file.get_ref().sync_data()?;
            match file.get_ref().metadata()?.nlink() {
                0 => Err(std::io::Error::new(ErrorKind::NotFound, "the file was removed while it was written")),
                _ => Ok(()),
            }
        };
        sync(&mut self.file).map_err(SnapshotError::file(&self.path))
    }

    /// Brings all of it to the disk.
    pub(crate) fn finish(self) -> Result<Part, SnapshotError> {
        let FrameWriter { path, name, file, bytes, frames } = self;
        let file = file.into_inner().map_err(|error| SnapshotError::file(&path)(error.into_error()))?;
        file.sync_all().map_err(SnapshotError::file(&path))?;
        Ok(Part { file: name, bytes, frames })
    }
}

/// Reads what [`FrameWriter`] has written.
#[derive(Debug)]
pub(crate) struct FrameReader {
    path: PathBuf,
    file: BufReader<File>,
    part: Part,
    offset: u64,
    frames: u64,
}

impl FrameReader {
    pub(crate) fn open(folder: &Path, part: &Part) -> Result<FrameReader, SnapshotError> {
        let path = folder.join(&part.file);
        let file = File::open(&path).map_err(SnapshotError::file(&path))?;
        Ok(FrameReader { path, file: BufReader::new(file), part: part.clone(), offset: 0, frames: 0 })
    }

    /// The next frame; `None`: that was all.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        if self.frames == self.part.frames {
            let mut rest = [0];
            let more = self.file.read(&mut rest).map_err(SnapshotError::file(&self.path))?;
            return match more == 0 && self.offset == self.part.bytes {
                true => Ok(None),
                false => Err(self.damaged("it goes on where it should end")),
            };
        }
        let mut head = [0; HEAD_BYTES];
        self.fill(&mut head)?;
        let length = u32::from_le_bytes(*head[..4].as_array().expect("it has 12 bytes")) as usize;
        let checksum = u64::from_le_bytes(*head[4..].as_array().expect("it has 12 bytes"));
        let left = self.part.bytes.saturating_sub(self.offset + HEAD_BYTES as u64);
        if length > FRAME_BYTES_MAX || length as u64 > left {
            return Err(self.damaged("a length that cannot be"));
        }
        let mut frame = vec![0; length];
        self.fill(&mut frame)?;
        if xxh3_64_with_seed(&frame, self.offset) != checksum {
            return Err(self.damaged("its checksum is another"));
        }
        self.offset += (HEAD_BYTES + length) as u64;
        self.frames += 1;
        Ok(Some(frame))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), SnapshotError> {
        match self.file.read_exact(buffer) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(self.damaged("it ends too early")),
            read => read.map_err(SnapshotError::file(&self.path)),
        }
    }

    /// The frame that begins where the reader is, or ended last, is wrong.
    pub(crate) fn damaged(&self, what: &str) -> SnapshotError {
        SnapshotError::Damaged { path: self.path.clone(), offset: self.offset, what: what.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(parts: Vec<Part>) -> Manifest {
        Manifest {
            format: Manifest::format(),
            name: "one".to_owned(),
            instance: u64::MAX.to_string(),
            site: 3,
            life: 7,
            epoch: 9,
            taken_us: 1_709_210_096_000_000,
            log_from: 64,
            cut: 128,
            clock: 5,
            archive: None,
            base_rows: 2,
            parts,
        }
    }

    fn written(folder: &Path) -> Vec<Part> {
        let parts = [BASE, TAIL].map(|name| {
            let mut writer = FrameWriter::create(folder, name).expect("a new file");
            for frame in [&b"first"[..], b"", b"the third frame"] {
                writer.write(frame).expect("there is room");
            }
            writer.finish().expect("it can be synced")
        });
        manifest(parts.to_vec()).write(folder).expect("there is room");
        parts.to_vec()
    }

    /// An operator looks for yesterday's backup.
    #[test]
    fn dates_are_right() {
        let at = |taken_us| Manifest { taken_us, ..manifest(Vec::new()) }.taken_at();
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(1_709_210_096_000_000), "2024-02-29 12:34:56 UTC");
        assert_eq!(at(1_735_689_599_999_999), "2024-12-31 23:59:59 UTC");
    }

    /// Whatever byte of a snapshot changes, and wherever a file ends too early or goes on, must be noticed: it would be restored.
    #[test]
    fn every_damage_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        written(folder.path());
        let sound = verify(folder.path()).expect("it is whole");
        assert_eq!(sound, manifest(sound.parts.clone()));
        for file in [BASE, TAIL, MANIFEST] {
            let path = folder.path().join(file);
            let bytes = std::fs::read(&path).expect("the file");
            let mut damaged: Vec<Vec<u8>> = (0..bytes.len()).map(|end| bytes[..end].to_vec()).collect();
            damaged.extend((0..bytes.len()).map(|place| {
                let mut flipped = bytes.clone();
                flipped[place] ^= 0x10;
                flipped
            }));
            damaged.push([&bytes[..], b"x"].concat());
            for damage in damaged {
                std::fs::write(&path, damage).expect("the file");
                let error = verify(folder.path()).expect_err("it is damaged");
                assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
            }
            std::fs::write(&path, bytes).expect("the file");
        }
        verify(folder.path()).expect("it is whole again");
    }

    /// A frame at another place is another frame, though its bytes are sound.
    #[test]
    fn frames_do_not_change_places() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = FrameWriter::create(folder.path(), BASE).expect("a new file");
        writer.write(b"one").expect("there is room");
        writer.write(b"two").expect("there is room");
        let part = writer.finish().expect("it can be synced");
        let path = folder.path().join(BASE);
        let bytes = std::fs::read(&path).expect("the file");
        let (one, two) = bytes.split_at(bytes.len() / 2);
        std::fs::write(&path, [two, one].concat()).expect("the file");
        let error = FrameReader::open(folder.path(), &part).expect("it is there").next().expect_err("another frame");
        assert!(matches!(error, SnapshotError::Damaged { offset: 0, .. }), "{error}");
    }

    /// A name is a folder's: it must not lead elsewhere.
    #[test]
    fn names_stay_in_their_folder() {
        for name in ["", ".", "..", "a/b", "a b", "x.partial", &"n".repeat(NAME_MAX + 1)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        check_name("nightly_2026-11-27").expect("it is plain");
    }
}
