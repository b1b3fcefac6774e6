//! A damaged copy is set aside, and a new one is taken from the other sites.
//!
//! A log that is cut inside what was synced must not be gone on with: the other sites believe that this copy has what is missing, and
//! would bring it only what they know it to lack. A site with neither log nor store is an empty copy, and is brought everything.
//!
//! Invariants: log and store go together, since each is worth nothing without the other; nothing is deleted; nothing is touched that another
//! process or another site owns.

use crate::config::SiteConfig;
use crate::site_log::{self, SiteLogError};
use crate::store::PERSISTED_EXTENSION;
use commit_log::mapped::LogIdentity;
use commit_log::{LogError, LogOptions, MappedLog};
use network_memory::host::log_folder::{FolderError, LogFolder};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// What to tell whoever finds a damaged copy.
pub const ADVICE: &str = "to set this copy aside and take a new one from the other sites, run `raid site --config FILE --repair`, or, \
                          where `raid start` runs the cluster, `raid repair N`";

/// The folder of a site's log, below its data.
pub(crate) const LOG_FOLDER: &str = "log";
/// The folder of its log if memory servers keep it as well.
pub(crate) const MEMORY_LOG_FOLDER: &str = "memory-log";
/// The folder of its store.
pub(crate) const STORE_FOLDER: &str = "store";

/// Why a copy could not be set aside.
#[derive(Debug, Error)]
pub enum RepairError {
    /// It is in use, or another site's.
    #[error(transparent)]
    Log(#[from] LogError),
    /// As [`RepairError::Log`], of a log that memory servers keep.
    #[error(transparent)]
    Memory(#[from] FolderError),
    /// It is in use.
    #[error(transparent)]
    InUse(#[from] SiteLogError),
    /// A folder cannot be made or moved.
    #[error("could not set {path} aside: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// Sets log and store of a site aside, damaged or not. Returns where they are now; `None`: there were none.
///
/// # Errors
/// Another process uses them, they belong to another site, or the operating system refuses. Nothing is lost then.
pub fn set_aside(config: &SiteConfig) -> Result<Option<PathBuf>, RepairError> {
    let persisted = format!("{STORE_FOLDER}.{PERSISTED_EXTENSION}");
    let folders = [LOG_FOLDER, MEMORY_LOG_FOLDER, STORE_FOLDER, &persisted].map(|name| (name, config.data.join(name)));
    if folders.iter().all(|(_, folder)| !folder.exists()) {
        tracing::info!("there is no copy to set aside");
        return Ok(None);
    }
    let _taken = site_log::take(&config.data)?;
    refuse_if_not_ours(config, &folders[0].1)?;
    if folders[1].1.exists() {
        LogFolder::take(&folders[1].1)?.read_of(&identity(config).to_string())?;
    }
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let aside = free_place(&config.data, seconds)?;
    for (name, folder) in &folders {
        match std::fs::rename(folder, aside.join(name)) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(RepairError::File { path: folder.clone(), source });
            }
            _ => {}
        }
    }
    tracing::warn!(place = %aside.display(), "the old copy is set aside; a new one comes from the other sites");
    Ok(Some(aside))
}

/// A running site holds the lock of its log, and every log says whose it is. The lock is free again afterwards: whoever starts two
/// processes at the same moment is told so by the second's start.
fn refuse_if_not_ours(config: &SiteConfig, log: &Path) -> Result<(), LogError> {
    if !log.exists() {
        return Ok(());
    }
    match MappedLog::open(log, LogOptions::new(identity(config))) {
        Ok(_) | Err(LogError::Corrupt { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whose log it is.
pub(crate) fn identity(config: &SiteConfig) -> LogIdentity {
    LogIdentity { instance: config.instance.into(), site: config.id.into() }
}

/// A new folder.
fn free_place(data: &Path, seconds: u64) -> Result<PathBuf, RepairError> {
    let mut number = 0;
    loop {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let path = data.join(format!("set-aside-{seconds}{suffix}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(source) if source.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(RepairError::File { path, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EXPLAINED;
    use commit_log::Log;

    fn config(folder: &Path) -> SiteConfig {
        let path = folder.join("site.toml");
        let (site, _) = EXPLAINED.split_once("# The oracle").expect("both are explained");
        std::fs::write(&path, site).expect("the folder can be written");
        SiteConfig { data: folder.to_owned(), ..SiteConfig::read(&path).expect("it is explained right") }
    }

    /// A copy that is set aside must be whole there, and a second repair must not lay one over the other.
    #[test]
    fn copies_are_set_aside_and_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = config(folder.path());
        assert_eq!(set_aside(&config).expect("nothing to do"), None);
        let mut places = Vec::new();
        for life in 0..3_u8 {
            let log = folder.path().join(LOG_FOLDER);
            std::fs::create_dir(&log).expect("the last one was moved");
            let (mut opened, _) = MappedLog::open(&log, LogOptions::new(identity(&config))).expect("a new log");
            opened.append(&[life + 1]).expect("there is room");
            drop(opened);
            places.push(set_aside(&config).expect("it is ours").expect("there was a log"));
        }
        for (life, place) in places.iter().enumerate() {
            let log = place.join(LOG_FOLDER);
            let (log, _) = MappedLog::open(&log, LogOptions::new(identity(&config))).expect("it is whole");
            let records: Vec<Vec<u8>> = log.read_from(log.first()).map(|record| record.expect("sound").1).collect();
            assert_eq!(records, [vec![life as u8 + 1]], "each copy is kept by itself");
        }
    }

    /// Moving the files of a site that runs, or of another site, would destroy a good copy.
    #[test]
    fn what_is_in_use_or_not_ours_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = config(folder.path());
        let log = folder.path().join(LOG_FOLDER);
        std::fs::create_dir(&log).expect("a new folder");
        let (running, _) = MappedLog::open(&log, LogOptions::new(identity(&config))).expect("a new log");
        let error = set_aside(&config).expect_err("it is in use");
        assert!(matches!(error, RepairError::Log(LogError::Locked { .. })), "{error}");
        drop(running);
        let error = set_aside(&SiteConfig { id: 9, ..config.clone() }).expect_err("it is another site's");
        assert!(matches!(error, RepairError::Log(LogError::WrongIdentity { .. })), "{error}");
        assert!(log.exists());
        assert!(set_aside(&config).expect("it is free now").is_some());
    }
}
