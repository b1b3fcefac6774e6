//! A full disk is an error of `append`, before anything is written, and never a signal. Needs a small file system of its
//! own, which only root may mount.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{append, open, options, read_all, record, records};
use commit_log::{Log, LogError, Repair};

/// A file system of one mebibyte, unmounted when dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, with the reason printed, if it cannot be mounted here.
    fn mount() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk { folder }),
            Ok(output) => {
                println!("skipped: no small disk: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                println!("skipped: no small disk: {error}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn log(&self) -> PathBuf {
        self.path().join("log")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} stays mounted", self.path().display());
    }
}

/// If this fails, a full disk kills the site, loses a record, or is never got over.
#[test]
fn a_full_disk_is_an_error_and_can_be_got_over() {
    let Some(disk) = SmallDisk::mount() else { return };
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![1; 512 << 10]).unwrap();
    let (mut log, _) = open(&disk.log());
    let mut count = 0;
    let error = loop {
        match log.append(&record(count)) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LogError::DiskFull { .. }), "{error}");
    let end = log.appended();
    assert!(matches!(log.append(&[1; 5000]), Err(LogError::DiskFull { .. })));
    assert_eq!(log.appended(), end);
    // What fits into the segment that is open can still be appended, and all can be synced.
    log.sync_now().unwrap();
    assert_eq!(read_all(&log), records(0..count));

    fs::remove_file(&ballast).unwrap();
    append(&mut log, count..count + 100);
    drop(log);
    let (log, opened) = open(&disk.log());
    assert_eq!((opened.records, opened.cut), (count + 100, None));
    assert_eq!(read_all(&log), records(0..count + 100));
}

/// If this fails, a log that is opened on a full disk dies by a signal, or loses what it holds.
#[test]
fn a_log_on_a_full_disk_opens_and_reads() {
    let Some(disk) = SmallDisk::mount() else { return };
    let (mut log, _) = open(&disk.log());
    append(&mut log, 0..300);
    drop(log);
    // The prepared segment is given back by opening, so fill up twice.
    for _ in 0..2 {
        let ballast = disk.path().join("ballast");
        let free = (0..).find(|blocks| fs::write(&ballast, vec![1; blocks * 4096]).is_err());
        assert!(free.is_some());
        let (log, opened) = open(&disk.log());
        assert_eq!((opened.records, opened.cut), (300, None));
        assert_eq!(read_all(&log), records(0..300));
    }
}

/// If this fails, a new log on a full disk is left half made.
#[test]
fn a_new_log_on_a_full_disk_is_refused_whole() {
    let Some(disk) = SmallDisk::mount() else { return };
    let wanted = commit_log::LogOptions { segment_bytes: 4 << 20, ..options(Repair::Refuse) };
    let refused = commit_log::MappedLog::open(&disk.log(), wanted);
    assert!(matches!(refused, Err(LogError::DiskFull { .. })), "{refused:?}");
    let (log, opened) = open(&disk.log());
    assert!(opened.created);
    assert_eq!(log.appended(), commit_log::Position::START);
}
