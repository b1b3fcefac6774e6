//! What the tests of the log share: small logs, and copies of their files as a crash would leave them.

use std::fs;
use std::path::{Path, PathBuf};

use commit_log::{Log, LogError, LogIdentity, LogOptions, MappedLog, Opened, Position, Repair};
use tempfile::TempDir;

/// Bytes of segment in front of the first record.
pub const HEADER: u64 = 4096;

pub fn options(repair: Repair) -> LogOptions {
    let identity = LogIdentity { instance: 0xfeed, site: 2 };
    LogOptions { segment_bytes: 4096, repair, ..LogOptions::new(identity) }
}

pub fn open(folder: &Path) -> (MappedLog, Opened) {
    MappedLog::open(folder, options(Repair::Refuse)).expect("a healthy log opens")
}

pub fn try_open(folder: &Path, repair: Repair) -> Result<(MappedLog, Opened), LogError> {
    MappedLog::open(folder, options(repair))
}

/// A record that no other number has, without a zero byte, of 9 to 99 bytes.
pub fn record(number: u64) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().map(|byte| byte | 0x80).to_vec();
    bytes.extend(number.to_string().bytes());
    bytes.resize(9 + (number as usize * 37) % 91, 0x55);
    bytes
}

pub fn append(log: &mut MappedLog, numbers: std::ops::Range<u64>) -> Vec<Position> {
    numbers.map(|number| log.append(&record(number)).expect("there is room")).collect()
}

pub fn read_all(log: &dyn Log) -> Vec<Vec<u8>> {
    log.read_from(log.first()).map(|record| record.expect("what was recovered can be read").1).collect()
}

pub fn records(numbers: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    numbers.map(record).collect()
}

/// The segment files in `folder`, in order.
pub fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    files
}

/// The first position of a segment, as its header says; `None` if it was never used or is gone.
pub fn first_of(bytes: &[u8]) -> Option<Position> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().unwrap()));
    if number(72)? == 0 { None } else { number(64).map(Position) }
}

/// The segment files as they are now: what is on disk if the machine stops here and all pages were written.
#[derive(Clone)]
pub struct Image {
    pub files: Vec<(String, Vec<u8>)>,
}

impl Image {
    pub fn of(folder: &Path) -> Image {
        let read = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_string(), fs::read(path).unwrap());
        Image { files: segments(folder).into_iter().map(read).collect() }
    }

    /// A folder with these files.
    pub fn restore(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in &self.files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }
}
