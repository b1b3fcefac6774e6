//! What is measured of a process: its memory, files and threads, and the folders of its log and store.

use super::verdict::{Unit, Verdict};
use local_cluster::process::ProcessName;
use local_cluster::screen::{bytes, grouped};
use site::status::Status;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// A process at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Bytes of it that are in memory, those of mapped files included (`VmRSS`).
    pub resident: u64,
    /// Bytes of them that are its own (`RssAnon`).
    pub own: u64,
    /// Bytes on disk of its log; of the oracle's, of all it has.
    pub log: u64,
    /// Bytes on disk of its store.
    pub store: u64,
    /// Open file descriptors.
    pub files: u64,
    /// Threads.
    pub threads: u64,
}

/// What is measured, by name.
type Measured = (&'static str, Unit, fn(&Sample) -> u64);

const MEASURED: [Measured; 6] = [
    ("resident memory", Unit::Bytes, |sample| sample.resident),
    ("of it its own", Unit::Bytes, |sample| sample.own),
    ("log on disk", Unit::Bytes, |sample| sample.log),
    ("store on disk", Unit::Bytes, |sample| sample.store),
    ("file descriptors", Unit::Count, |sample| sample.files),
    ("threads", Unit::Count, |sample| sample.threads),
];

impl Sample {
    /// Of a running process and its folder.
    ///
    /// # Errors
    /// What `/proc` says of it cannot be read: it has just ended.
    pub fn of(pid: u32, folder: &Path) -> io::Result<Sample> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let kilobytes = |name: &str| field(&status, name) * 1024;
        let (log, store) = (folder.join("log"), folder.join("store"));
        Ok(Sample {
            resident: kilobytes("VmRSS:"),
            own: kilobytes("RssAnon:"),
            log: size_on_disk(if log.is_dir() { &log } else { folder }),
            store: size_on_disk(&store),
            files: fs::read_dir(format!("/proc/{pid}/fd"))?.count() as u64,
            threads: field(&status, "Threads:"),
        })
    }
}

/// A number of `/proc/PID/status`; 0 if it is not there.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Bytes that everything below a folder takes. What vanishes meanwhile takes none.
fn size_on_disk(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_on_disk(&entry.path()),
        // Blocks of 512 bytes: stat(2).
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// All samples of all processes, in order.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    of: BTreeMap<ProcessName, Vec<Sample>>,
}

impl Samples {
    /// One more of a process.
    pub fn take(&mut self, name: ProcessName, sample: Sample) {
        self.of.entry(name).or_default().push(sample);
    }

    /// What they say of each process and each thing that is measured.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let of_one = |(name, samples): (&ProcessName, &Vec<Sample>)| {
            let (name, samples) = (*name, samples.clone());
            MEASURED.iter().map(move |(what, unit, figure)| {
                let figures: Vec<u64> = samples.iter().map(figure).collect();
                Verdict::on(format!("{name}: {what}"), *unit, &figures)
            })
        };
        self.of.iter().flat_map(of_one).collect()
    }
}

/// Above the rows of the table.
pub fn table_head() -> String {
    format!(
        "{:>6}  {:10}{:>10}{:>10}{:>10}{:>10}{:>6}{:>8}  {}",
        "minute", "process", "resident", "its own", "log", "store", "files", "threads", "what it says of itself"
    )
}

/// A row of the table.
pub fn table_row(minute: u32, name: ProcessName, sample: &Sample, status: Option<&Status>) -> String {
    let Sample { resident, own, log, store, files, threads } = *sample;
    let [resident, own, log, store] = [resident, own, log, store].map(bytes);
    let told = status.map_or(String::new(), |status| {
        format!(
            "{}, life {}, epoch {}, committed {}, resolved {}, to replay {}, unsynced {}, stale {}, fail-locks {}",
            status.state,
            status.incarnation,
            status.epoch,
            grouped(status.commits.committed),
            grouped(status.commits.resolved),
            bytes(status.log.bytes_to_replay),
            grouped(status.unsynced_commits),
            grouped(status.stale),
            grouped(status.fail_locks.values().sum())
        )
    });
    format!("{minute:>6}  {name:10}{resident:>10}{own:>10}{log:>10}{store:>10}{files:>6}{threads:>8}  {told}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure that is read from the wrong line, or a folder that is not looked into, would make any growth look flat.
    #[test]
    fn this_process_is_measured() {
        let status = "Name:\tx\nVmRSS:\t    12 kB\nRssAnon:\t  5 kB\nThreads:\t7\n";
        assert_eq!(["VmRSS:", "RssAnon:", "Threads:", "VmSwap:"].map(|name| field(status, name)), [12, 5, 7, 0]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("log/deep")).expect("it can be made");
        fs::write(folder.path().join("log/deep/file"), vec![1; 100_000]).expect("it can be written");
        let sample = Sample::of(std::process::id(), folder.path()).expect("this process runs");
        assert!(
            sample.own > 0 && sample.resident >= sample.own && sample.files > 2 && sample.threads > 0,
            "{sample:?}"
        );
        assert!(sample.log >= 100_000 && sample.store == 0, "{sample:?}");
    }
}
