//! What figures depend on: this machine's cores and its disk.

use crate::limits;
use local_cluster::{ClusterError, file_error};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Cores that the operating system gives this process.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes that are free for this user on the disk of a folder.
///
/// # Errors
/// The operating system does not tell.
pub fn free_bytes(folder: &Path) -> Result<u64, ClusterError> {
    let told = rustix::fs::statvfs(folder).map_err(|error| file_error(folder)(error.into()))?;
    Ok(told.f_bavail * told.f_frsize)
}

/// Median time of `fdatasync` after a page was appended to a file in `folder`.
///
/// # Errors
/// The folder cannot be written.
pub fn sync_latency(folder: &Path) -> Result<Duration, ClusterError> {
    fs::create_dir_all(folder).map_err(file_error(folder))?;
    let path = folder.join("fdatasync");
    let measure = || -> std::io::Result<Duration> {
        let mut file = File::create(&path)?;
        let mut samples = Vec::with_capacity(limits::SYNC_SAMPLES);
        for _ in 0..limits::SYNC_SAMPLES {
            file.write_all(&[0x52; 4096])?;
            let begun = Instant::now();
            file.sync_data()?;
            samples.push(begun.elapsed());
        }
        fs::remove_file(&path)?;
        samples.sort_unstable();
        Ok(samples[samples.len() / 2])
    };
    measure().map_err(file_error(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that stayed would be taken for data of the cluster.
    #[test]
    fn the_disk_is_measured_and_left_clean() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(sync_latency(folder.path()).expect("the folder can be written") > Duration::ZERO);
        assert_eq!(fs::read_dir(folder.path()).expect("it can be read").count(), 0);
    }
}
