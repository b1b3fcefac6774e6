//! Rolling a cluster back to a snapshot of it, or to a moment behind one: the data of all its processes are replaced at once, while none of them runs.
//!
//! New data are made beside the old ones while the cluster serves. Then all processes are ended, the new logs are written behind the last epoch and the last
//! life that the oracle has given out, and the file `committed` is written. From there on the rollback is done: whatever dies, the next start of a process
//! moves the rest. Invariants: before `committed` is on disk nothing of the old data is touched, and afterwards no process starts until all are moved;
//! data are touched only while no site has them; what was replaced is kept.

use crate::cluster::{ClusterDirectory, ClusterError, file_error};
use crate::orders::{self, ClusterOrder};
use crate::process::ProcessName;
use serde::{Deserialize, Serialize};
use site::snapshot::files::{self, Manifest};
use site::snapshot::restore::{self, RestoredMoment, RollbackPlan};
use site::{OracleConfig, SiteConfig};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The folder of a rollback, in the cluster's.
const FOLDER: &str = "rollback";
/// What is being made, in it; written when the stores are there.
const PLAN_FILE: &str = "plan";
/// The rollback is done, and only moves are left.
const COMMITTED_FILE: &str = "committed";
/// Why it was not done.
const FAILURE_FILE: &str = "failure";
/// The file whose lock whoever wants one has, until it is done.
const LOCK_FILE: &str = "rollback.lock";
/// The file whose lock whoever changes something for one has meanwhile.
const CHANGE_LOCK_FILE: &str = "rollback-change.lock";
/// Below the data of each process: its new data,
const NEW_FOLDER: &str = "rollback-new";
/// and its old data, with the time behind.
const BEFORE: &str = "before-rollback-";

/// A rollback that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Committed {
    /// The folder below each process's data that keeps what was there.
    before: String,
}

/// New data beside the old ones. Nobody else can prepare a rollback while it lives, and nobody carries it out when it does not.
#[derive(Debug)]
pub struct PreparedRollback {
    /// Rows that they have.
    pub rows: u64,
    _lock: File,
}

/// What there is of a rollback.
fn place(cluster: &ClusterDirectory, file: &str) -> PathBuf {
    cluster.folder().join(FOLDER).join(file)
}

fn site_configs(cluster: &ClusterDirectory) -> Result<Vec<SiteConfig>, ClusterError> {
    let read = |site: &u16| Ok(SiteConfig::read(&cluster.config_of(ProcessName::Site(*site)))?);
    cluster.sites().keys().map(read).collect()
}

fn oracle_config(cluster: &ClusterDirectory) -> Result<OracleConfig, ClusterError> {
    Ok(OracleConfig::read(&cluster.config_of(ProcessName::Oracle))?)
}

/// Where all its processes have their data.
fn data_folders(cluster: &ClusterDirectory) -> Result<Vec<PathBuf>, ClusterError> {
    let sites = site_configs(cluster)?.into_iter().map(|site| site.data);
    Ok(sites.chain([oracle_config(cluster)?.data]).collect())
}

/// Refuses a snapshot that is not of this cluster, or a cluster that cannot go back.
///
/// # Errors
/// Why not.
pub fn check(cluster: &ClusterDirectory, manifest: &Manifest) -> Result<(), ClusterError> {
    if manifest.instance != cluster.instance().to_string() {
        return Err(ClusterError::Rollback(format!(
            "snapshot {} is of instance {}, and this is instance {}: restore it beside this one with `raid restore`",
            manifest.name,
            manifest.instance,
            cluster.instance()
        )));
    }
    match site_configs(cluster)?.iter().find(|site| !site.memory.is_empty()) {
        Some(site) => Err(ClusterError::Rollback(format!(
            "the log of site {} is in memory servers: restore the snapshot beside this cluster with `raid restore`",
            site.id
        ))),
        None => Ok(()),
    }
}

/// Makes the new data, while the cluster serves.
///
/// # Errors
/// The snapshot is damaged, nobody can know how the instance was at the moment, another rollback is under way, or the disk is full. Nothing is left of it
/// then.
pub fn prepare(
    cluster: &ClusterDirectory,
    snapshot: &Path,
    moment: Option<&RestoredMoment>,
) -> Result<PreparedRollback, ClusterError> {
    let (Some(lock), Some(_change)) = (take_lock(cluster, LOCK_FILE)?, take_lock(cluster, CHANGE_LOCK_FILE)?) else {
        let message = format!("another rollback of {} is under way", cluster.folder().display());
        return Err(ClusterError::Rollback(message));
    };
    if is_committed(cluster) {
        let message = "a rollback was done, and its data are not all in place: `raid start` goes on with it";
        return Err(ClusterError::Rollback(message.to_owned()));
    }
    // Whoever gave this order is gone.
    if orders::waiting(cluster, ProcessName::Oracle) == Some(ClusterOrder::Rollback) {
        orders::done(cluster, ProcessName::Oracle)?;
    }
    check(cluster, &files::verify(snapshot)?)?;
    clear(cluster)?;
    let made = make(cluster, snapshot, moment);
    if made.is_err() {
        // The reason is what is told. Whatever cannot be removed now the next one removes.
        let _ = clear(cluster);
    }
    Ok(PreparedRollback { rows: made?, _lock: lock })
}

/// Makes the new stores, and says how many rows they have.
fn make(cluster: &ClusterDirectory, snapshot: &Path, moment: Option<&RestoredMoment>) -> Result<u64, ClusterError> {
    let folder = cluster.folder().join(FOLDER);
    fs::create_dir(&folder).map_err(file_error(&folder))?;
    let sites = site_configs(cluster)?;
    let stores: Vec<PathBuf> = sites.iter().map(|site| site.data.join(NEW_FOLDER)).collect();
    let (plan, contents) = restore::prepare_rollback(snapshot, moment, &folder.join("scratch"), &stores)?;
    write_synced(&place(cluster, PLAN_FILE), &plan.encode())?;
    Ok(contents.rows)
}

/// Puts the new data in the place of the old ones. No process of the cluster runs. Says in which folder below the data of each the old ones are.
///
/// # Errors
/// A file; a process that has the data; whoever has prepared it is gone. Before the rollback is done ([`is_committed`]) everything is as it was; afterwards
/// the next start goes on.
pub fn carry_out(cluster: &ClusterDirectory) -> Result<String, ClusterError> {
    let _change = begin_change(cluster)?;
    if let Some(_lock) = take_lock(cluster, LOCK_FILE)? {
        clear(cluster)?;
        return Err(ClusterError::Rollback("the `raid rollback` that asked for it has ended".to_owned()));
    }
    let _data = take_data(cluster)?;
    let path = place(cluster, PLAN_FILE);
    let plan = RollbackPlan::decode(&fs::read(&path).map_err(file_error(&path))?)?;
    let (sites, oracle) = (site_configs(cluster)?, oracle_config(cluster)?);
    let new = |data: &Path| data.join(NEW_FOLDER);
    restore::write_rolled_back(&plan, &sites, &oracle, new)?;
    let before = free_name(cluster)?;
    let committed = toml::to_string(&Committed { before: before.clone() }).expect("a name is a TOML table");
    write_synced(&place(cluster, COMMITTED_FILE), committed.as_bytes())?;
    move_data(cluster)?;
    Ok(before)
}

/// Whether a rollback is done, though its data may not all be in place.
pub fn is_committed(cluster: &ClusterDirectory) -> bool {
    place(cluster, COMMITTED_FILE).exists()
}

/// Moves the rest of a rollback that is done, before a process starts. Says in which folder below the data of each process the old ones are.
///
/// # Errors
/// A file; a process that has the data. No process may start then.
pub fn finish(cluster: &ClusterDirectory) -> Result<Option<String>, ClusterError> {
    if !is_committed(cluster) {
        return Ok(None);
    }
    let _change = begin_change(cluster)?;
    let _data = take_data(cluster)?;
    move_data(cluster).map(Some)
}

/// As [`finish`], for whoever has just begun to run the cluster: gives up what is not done, too, unless somebody wants it still.
///
/// # Errors
/// As of [`finish`].
pub fn recover(cluster: &ClusterDirectory) -> Result<Option<String>, ClusterError> {
    let finished = finish(cluster)?;
    if cluster.folder().join(FOLDER).exists()
        && let Some(_lock) = take_lock(cluster, LOCK_FILE)?
        && let Some(_change) = take_lock(cluster, CHANGE_LOCK_FILE)?
    {
        clear(cluster)?;
    }
    Ok(finished)
}

/// It was not done, for this reason.
pub(crate) fn note_failure(cluster: &ClusterDirectory, reason: &str) {
    // Whoever waits sees that the rollback is still there.
    let _ = fs::write(place(cluster, FAILURE_FILE), reason);
}

/// What is wrong with the rollback that was ordered, in words; none: all of it is done.
pub fn failure(cluster: &ClusterDirectory) -> Option<String> {
    if !cluster.folder().join(FOLDER).exists() {
        return None;
    }
    let reason = fs::read_to_string(place(cluster, FAILURE_FILE)).unwrap_or_else(|error| error.to_string());
    Some(in_words(cluster, &reason))
}

/// How far a rollback has come that has failed for this reason.
pub(crate) fn in_words(cluster: &ClusterDirectory, reason: &str) -> String {
    match is_committed(cluster) {
        true => format!(
            "the cluster is rolled back, but its data are not all in place: {reason}; no process starts before they are, and each start tries it again"
        ),
        false => format!("the cluster is not rolled back: {reason}"),
    }
}

/// Moves old data away and new data in, and removes what is left of the rollback. It may have come any far before.
fn move_data(cluster: &ClusterDirectory) -> Result<String, ClusterError> {
    let path = place(cluster, COMMITTED_FILE);
    let text = fs::read_to_string(&path).map_err(file_error(&path))?;
    let wrong = |error: toml::de::Error| ClusterError::Description { path: path.clone(), message: error.to_string() };
    let Committed { before } = toml::from_str(&text).map_err(wrong)?;
    for data in data_folders(cluster)? {
        let (new, old) = (data.join(NEW_FOLDER), data.join(&before));
        fs::create_dir_all(&old).map_err(file_error(&old))?;
        sync(&data)?;
        let entries = match fs::read_dir(&new) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(file_error(&new))?,
        };
        for entry in entries {
            let name = entry.map_err(file_error(&new))?.file_name();
            // What is new is there until it has taken its place. So what stands in that is old.
            rename_if_there(&data.join(&name), &old.join(&name))?;
            sync(&old)?;
            rename_if_there(&new.join(&name), &data.join(&name))?;
            sync(&data)?;
        }
        fs::remove_dir(&new).map_err(file_error(&new))?;
        sync(&data)?;
    }
    // The last: it is what makes a start go on here.
    let folder = cluster.folder().join(FOLDER);
    let _ = fs::remove_file(place(cluster, PLAN_FILE));
    fs::remove_file(&path).map_err(file_error(&path))?;
    fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
    sync(cluster.folder())?;
    Ok(before)
}

/// Removes a rollback that is not done.
fn clear(cluster: &ClusterDirectory) -> Result<(), ClusterError> {
    let folders = data_folders(cluster)?.into_iter().map(|data| data.join(NEW_FOLDER));
    for folder in folders.chain([cluster.folder().join(FOLDER)]) {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(file_error(&folder)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Nobody else changes anything for a rollback while what is returned lives.
fn begin_change(cluster: &ClusterDirectory) -> Result<File, ClusterError> {
    let message = || format!("another process prepares a rollback of {}, or does it", cluster.folder().display());
    take_lock(cluster, CHANGE_LOCK_FILE)?.ok_or_else(|| ClusterError::Rollback(message()))
}

/// No site, nor one that outlived whoever ran the cluster, has its data while what is returned lives.
fn take_data(cluster: &ClusterDirectory) -> Result<Vec<File>, ClusterError> {
    let take =
        |site: SiteConfig| site::site_log::take(&site.data).map_err(|error| ClusterError::Rollback(error.to_string()));
    site_configs(cluster)?.into_iter().map(take).collect()
}

/// None: another process has it.
fn take_lock(cluster: &ClusterDirectory, name: &str) -> Result<Option<File>, ClusterError> {
    let path = cluster.folder().join(name);
    let file = File::create(&path).map_err(file_error(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(file_error(&path)(error)),
    }
}

/// A name for the old data that none of the processes has a folder of.
fn free_name(cluster: &ClusterDirectory) -> Result<String, ClusterError> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let data = data_folders(cluster)?;
    let names = (0..).map(|number: u32| match number {
        0 => format!("{BEFORE}{now}"),
        number => format!("{BEFORE}{now}-{number}"),
    });
    let is_free = |name: &String| data.iter().all(|data| !data.join(name).exists());
    Ok(names.into_iter().find(is_free).expect("folders are fewer than numbers"))
}

fn rename_if_there(from: &Path, to: &Path) -> Result<(), ClusterError> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error(from)(error)),
        _ => Ok(()),
    }
}

fn sync(folder: &Path) -> Result<(), ClusterError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(file_error(folder))
}

/// Writes a file so that it is there whole, or not at all.
fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), ClusterError> {
    let draft = path.with_extension("draft");
    let write = || {
        let mut file = File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(file_error(path))?;
    let folder = path.parent().expect("a file has a folder");
    sync(folder)?;
    folder.parent().map_or(Ok(()), sync)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClusterWish;

    fn cluster(folder: &Path) -> ClusterDirectory {
        let wish = ClusterWish { sites: Some(2), port: Some(0), ..ClusterWish::default() };
        ClusterDirectory::create(folder, &wish).expect("a new cluster")
    }

    /// Old and new data of every process, a rollback that is done, and nothing moved.
    fn begun(cluster: &ClusterDirectory) {
        fs::create_dir(cluster.folder().join(FOLDER)).expect("a new folder");
        for data in data_folders(cluster).expect("configurations") {
            for (folder, text) in [(data.clone(), "old"), (data.join(NEW_FOLDER), "new")] {
                fs::create_dir_all(&folder).expect("a folder");
                for name in ["log", "store"] {
                    fs::write(folder.join(name), text).expect("a file");
                }
            }
        }
    }

    fn state(cluster: &ClusterDirectory) -> Vec<String> {
        let data = data_folders(cluster).expect("configurations");
        let files = data.iter().flat_map(|data| ["log", "store"].map(|name| data.join(name)));
        let mut states: Vec<String> = files.map(|file| fs::read_to_string(file).unwrap_or_default()).collect();
        states.dedup();
        states
    }

    /// A start in the middle of the moves, wherever it was cut off, would leave some processes with old data and others with new ones.
    #[test]
    fn a_start_goes_on_with_what_is_done() {
        // Each of three processes has two files that are moved away, and two that are moved in.
        for moves in 0..=12 {
            let place_of_it = tempfile::tempdir().expect("a temporary folder");
            let cluster = cluster(place_of_it.path());
            begun(&cluster);
            fs::write(place(&cluster, COMMITTED_FILE), "before = \"before-rollback-1\"\n").expect("a file");
            let mut left = moves;
            'moved: for data in data_folders(&cluster).expect("configurations") {
                fs::create_dir_all(data.join("before-rollback-1")).expect("a folder");
                for name in ["log", "store"] {
                    let steps = [
                        (data.join(name), data.join("before-rollback-1").join(name)),
                        (data.join(NEW_FOLDER).join(name), data.join(name)),
                    ];
                    for (from, to) in steps {
                        if left == 0 {
                            break 'moved;
                        }
                        fs::rename(from, to).expect("it is there");
                        left -= 1;
                    }
                }
            }
            assert_eq!(recover(&cluster).expect("it goes on"), Some("before-rollback-1".to_owned()));
            assert_eq!(state(&cluster), ["new"], "after {moves} moves");
            for data in data_folders(&cluster).expect("configurations") {
                let old = fs::read_to_string(data.join("before-rollback-1/store")).expect("it is kept");
                assert_eq!(old, "old", "after {moves} moves");
            }
            assert_eq!(recover(&cluster).expect("nothing is left"), None);
            assert_eq!(state(&cluster), ["new"]);
        }
    }

    /// An order that outlived whoever gave it must not be carried out later.
    #[test]
    fn nobody_carries_out_what_nobody_wants() {
        let place_of_it = tempfile::tempdir().expect("a temporary folder");
        let cluster = cluster(place_of_it.path());
        begun(&cluster);
        let error = carry_out(&cluster).expect_err("nobody wants it").to_string();
        assert!(error.contains("has ended"), "{error}");
        assert!(!cluster.folder().join(FOLDER).exists());
        assert_eq!(state(&cluster), ["old"]);
    }

    /// Data must not be moved below a site that outlived whoever ran the cluster, nor by two at once.
    #[test]
    fn data_that_somebody_has_stay_where_they_are() {
        let place_of_it = tempfile::tempdir().expect("a temporary folder");
        let cluster = cluster(place_of_it.path());
        begun(&cluster);
        fs::write(place(&cluster, COMMITTED_FILE), "before = \"before-rollback-1\"\n").expect("a file");
        let site = site_configs(&cluster).expect("configurations").pop().expect("there are sites");
        let taken = site::site_log::take(&site.data).expect("nobody has it");
        finish(&cluster).expect_err("a site has its data");
        drop(taken);
        let changing = begin_change(&cluster).expect("nobody changes anything");
        finish(&cluster).expect_err("another one changes them");
        assert_eq!(state(&cluster), ["old"]);
        drop(changing);
        assert_eq!(finish(&cluster).expect("nobody is in the way"), Some("before-rollback-1".to_owned()));
        assert_eq!(state(&cluster), ["new"]);
    }

    /// A rollback that was cut off before it was done must leave the old data, and nothing in the way of the next one.
    #[test]
    fn a_start_gives_up_what_is_not_done() {
        let place_of_it = tempfile::tempdir().expect("a temporary folder");
        let cluster = cluster(place_of_it.path());
        begun(&cluster);
        fs::write(place(&cluster, "committed.draft"), "before = ").expect("a file");
        let lock = take_lock(&cluster, LOCK_FILE).expect("a file").expect("nobody has it");
        assert_eq!(recover(&cluster).expect("it is left"), None);
        assert!(cluster.folder().join(FOLDER).exists(), "somebody prepares it");
        drop(lock);
        assert_eq!(recover(&cluster).expect("it is given up"), None);
        assert!(!cluster.folder().join(FOLDER).exists());
        assert_eq!(state(&cluster), ["old"]);
    }
}
