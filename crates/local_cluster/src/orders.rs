//! What a person asks of a cluster that runs in another terminal: kill a process, start one again.
//!
//! An order is a file in the folder of the process that it is about; whoever runs the cluster takes it and removes the file. So only the
//! parent of a process ever kills it, and never another process that has got its number.
//!
//! Invariant: an order is written under another name first, so that nobody reads half of it.

use crate::cluster::{ClusterDirectory, ClusterError, file_error};
use crate::limits;
use crate::process::ProcessName;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thiserror::Error;

/// What may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterOrder {
    /// Kill it with SIGKILL and leave it down.
    Kill,
    /// Start it, after killing it if it runs.
    Restart,
    /// As `Restart`, and set its copy aside first, so that it takes a new one from the other sites. For sites only.
    Repair,
    /// End all processes, put the data of a rollback that is prepared in their place, and start them again. To the oracle only.
    Rollback,
}

/// Why an order was not carried out.
#[derive(Debug, Error)]
pub enum OrderError {
    /// Nobody would take it.
    #[error("no cluster runs from {0}: start it with `raid start --data {0}`")]
    NotRunning(PathBuf),
    /// No such process.
    #[error("the cluster in {folder} has no site {site}: its sites are 1 to {last}")]
    NoSuchSite {
        /// The folder.
        folder: PathBuf,
        /// What was asked for.
        site: u16,
        /// The last site.
        last: u16,
    },
    /// The cluster does not react.
    #[error("the cluster in {0} has not taken the order: is its `raid start` suspended?")]
    NotTaken(PathBuf),
    /// A file.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// Held by whoever runs a cluster: two would kill each other's processes.
#[derive(Debug)]
pub struct ClusterLock {
    /// The lock lasts as long as the file is open.
    _file: File,
}

/// Takes the lock; `None`: somebody else runs the cluster.
pub fn lock(cluster: &ClusterDirectory) -> Result<Option<ClusterLock>, ClusterError> {
    let path = cluster.folder().join("lock");
    let file = File::create(&path).map_err(file_error(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(ClusterLock { _file: file })),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(file_error(&path)(error.into())),
    }
}

fn order_file(cluster: &ClusterDirectory, name: ProcessName) -> PathBuf {
    cluster.folder_of(name).join("order")
}

/// Gives an order and waits until it is taken.
pub fn give(cluster: &ClusterDirectory, name: ProcessName, order: ClusterOrder) -> Result<(), OrderError> {
    if let ProcessName::Site(site) = name
        && !cluster.has(name)
    {
        let last = cluster.sites().keys().last().copied().unwrap_or_default();
        return Err(OrderError::NoSuchSite { folder: cluster.folder().to_owned(), site, last });
    }
    if lock(cluster)?.is_some() {
        return Err(OrderError::NotRunning(cluster.folder().to_owned()));
    }
    let path = order_file(cluster, name);
    let draft = path.with_extension("draft");
    let text = match order {
        ClusterOrder::Kill => "kill\n",
        ClusterOrder::Restart => "restart\n",
        ClusterOrder::Repair => "repair\n",
        ClusterOrder::Rollback => "rollback\n",
    };
    std::fs::write(&draft, text).map_err(file_error(&draft))?;
    std::fs::rename(&draft, &path).map_err(file_error(&path))?;
    let patience = match order {
        ClusterOrder::Rollback => limits::ROLLBACK_TIME_MAX,
        _ => limits::ORDER_TIME_MAX,
    };
    let deadline = Instant::now() + patience;
    while path.exists() {
        if Instant::now() > deadline {
            std::fs::remove_file(&path).map_err(file_error(&path))?;
            return Err(OrderError::NotTaken(cluster.folder().to_owned()));
        }
        std::thread::sleep(limits::LOOK_INTERVAL);
    }
    Ok(())
}

/// The order that waits for a process. It stays until [`done`], so that whoever gave it knows when it is carried out.
pub fn waiting(cluster: &ClusterDirectory, name: ProcessName) -> Option<ClusterOrder> {
    let text = std::fs::read_to_string(order_file(cluster, name)).ok()?;
    match text.trim() {
        "kill" => Some(ClusterOrder::Kill),
        "restart" => Some(ClusterOrder::Restart),
        "repair" => Some(ClusterOrder::Repair),
        "rollback" => Some(ClusterOrder::Rollback),
        _ => None,
    }
}

/// An order is carried out, or was for an earlier run of the cluster.
pub fn done(cluster: &ClusterDirectory, name: ProcessName) -> Result<(), ClusterError> {
    let path: &Path = &order_file(cluster, name);
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file_error(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterWish;

    /// An order that nobody takes must be refused at once, one that somebody takes must arrive whole and be waited for.
    #[test]
    fn orders_reach_whoever_runs_the_cluster() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let wish = ClusterWish { sites: Some(2), port: Some(0), ..ClusterWish::default() };
        let cluster = ClusterDirectory::open_or_create(folder.path(), &wish).expect("a new cluster");
        let name = ProcessName::Site(2);
        assert!(matches!(give(&cluster, name, ClusterOrder::Kill), Err(OrderError::NotRunning(_))));
        let held = lock(&cluster).expect("the folder can be written").expect("nobody runs it");
        assert!(lock(&cluster).expect("the folder can be written").is_none(), "two may not run one cluster");
        assert!(matches!(
            give(&cluster, ProcessName::Site(3), ClusterOrder::Kill),
            Err(OrderError::NoSuchSite { last: 2, .. })
        ));
        std::thread::scope(|scope| {
            let giver = scope.spawn(|| give(&cluster, name, ClusterOrder::Restart));
            while waiting(&cluster, name).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(waiting(&cluster, name), Some(ClusterOrder::Restart));
            assert!(!giver.is_finished(), "an order that is not carried out is waited for");
            done(&cluster, name).expect("the order can be removed");
            giver.join().expect("no panic").expect("it was carried out");
        });
        drop(held);
        assert!(matches!(give(&cluster, name, ClusterOrder::Kill), Err(OrderError::NotRunning(_))));
    }
}
