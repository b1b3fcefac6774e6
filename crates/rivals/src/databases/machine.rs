//! The machine on which the figures were taken: without it they mean nothing.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::databases::error::CompareError;
use crate::databases::limits::{SYNC_BYTES, SYNC_SAMPLES};

/// What the figures depend on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's name.
    pub processor: String,
    /// The kernel's release.
    pub kernel: String,
    /// Main memory in MiB.
    pub memory_mib: u64,
    /// Type of the file system that holds the data, such as `ext4`.
    pub file_system: String,
    /// How the processes are scheduled against each other.
    pub scheduling: String,
    /// What lies between clients and servers.
    pub network: String,
}

impl Machine {
    /// Looks around. `data` is the folder that holds the data of all systems.
    pub fn look(data: &Path, scheduling: &str, network: &str) -> Machine {
        let field = |path: &str, name: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_string();
            line.split_once(':').map_or_else(|| "unknown".to_string(), |(_, value)| value.trim().to_string())
        };
        let memory_kib = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
        Machine {
            cores: available_parallelism().map_or(1, usize::from),
            processor: field("/proc/cpuinfo", "model name"),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string(),
            memory_mib: memory_kib / 1024,
            file_system: file_system(&fs::read_to_string("/proc/mounts").unwrap_or_default(), data),
            scheduling: scheduling.to_string(),
            network: network.to_string(),
        }
    }
}

/// The type of the file system that holds `folder`, by the longest mount point above it.
fn file_system(mounts: &str, folder: &Path) -> String {
    let mounted = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let above = mounted.filter(|(point, _)| folder.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map_or_else(|| "unknown".to_string(), |(_, kind)| kind.to_string())
}

/// Median latency of `fdatasync` after appending a page, the disk's share in a commit.
pub fn sync_latency(folder: &Path) -> Result<Duration, CompareError> {
    let path = folder.join("fdatasync");
    let measure = || -> std::io::Result<Vec<Duration>> {
        let mut file = File::create(&path)?;
        let mut samples = Vec::with_capacity(SYNC_SAMPLES);
        for _ in 0..SYNC_SAMPLES {
            file.write_all(&[0x52; SYNC_BYTES])?;
            let begin = Instant::now();
            file.sync_data()?;
            samples.push(begin.elapsed());
        }
        fs::remove_file(&path)?;
        samples.sort();
        Ok(samples)
    };
    let samples = measure().map_err(CompareError::system("cannot measure the disk with", &path))?;
    Ok(samples[samples.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tmpfs taken for a disk would make a disk-bound system look fast.
    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nproc /proc proc rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp/x")), "tmpfs");
        assert_eq!(file_system(mounts, Path::new("/tmpfoo")), "ext4");
    }

    /// The latency must be that of a sync, and its file must not stay.
    #[test]
    fn the_disk_is_measured_and_left_clean() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(sync_latency(folder.path()).expect("a writable folder") > Duration::ZERO);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
    }
}
