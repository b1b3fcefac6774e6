//! Taking a snapshot: the store first, then the log up to the cut, then what was open at the cut.
//!
//! An epoch change moves the cut, and costs nothing that is copied; a new life of the site costs all, so it begins anew.
//!
//! Invariants: a snapshot has its name, and a manifest, only when all of it is on disk; whatever fails, the site goes on, and what was written goes.

use super::desk::SnapshotDesk;
use super::files::{self, BASE, FrameWriter, Manifest, PARTIAL, SnapshotError, TAIL};
use crate::config::SiteConfig;
use crate::core::Core;
use crate::core::copying::{HeldLife, IN_MEMORY};
use crate::repair::STORE_FOLDER;
use crate::shared::SiteShared;
use crate::site_log::SiteLog;
use crate::store::{Base, StoreReader};
use crate::{clock, limits};
use access_manager::StoreError;
use domain::Domain;
use domain::snapshot::taking::Taking;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is asked of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The snapshot's name.
    pub name: String,
    /// The folder in which its own is made.
    pub folder: PathBuf,
    /// Megabytes written in a second at most.
    pub rate_mb: u64,
}

/// A snapshot that is permanent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Where it is.
    pub folder: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

/// The name is taken.
pub const DUPLICATE: &str = "42710";
/// The name is none.
const INVALID_NAME: &str = "42602";
/// The disk is full, or nearly.
const DISK_FULL: &str = "53100";
/// A file or folder.
const IO_ERROR: &str = "58030";
/// Whoever asked does not wait any more.
const CANCELED: &str = "57014";
/// The site is in no state for it.
const NOT_READY: &str = "55000";

/// Whoever waited for it has gone.
const GIVEN_UP: &str = "canceling statement due to user request";

/// Why a snapshot is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRefusal {
    /// SQLSTATE.
    pub sqlstate: String,
    /// In words.
    pub message: String,
}

impl std::fmt::Display for SnapshotRefusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Why a snapshot is not taken, in words.
struct Reason {
    sqlstate: &'static str,
    text: String,
    /// It may be otherwise soon: the site has begun a new life, or forms an epoch.
    passes: bool,
}

impl Reason {
    fn lasting(sqlstate: &'static str, text: String) -> Reason {
        Reason { sqlstate, text, passes: false }
    }
}

/// What the core says of a site that is in no state for a snapshot.
impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason { sqlstate: NOT_READY, text, passes: true }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason::lasting(NOT_READY, text.to_owned())
    }
}

impl From<SnapshotError> for Reason {
    fn from(error: SnapshotError) -> Reason {
        let sqlstate = match &error {
            SnapshotError::Exists { .. } => DUPLICATE,
            SnapshotError::Name(_) => INVALID_NAME,
            SnapshotError::File { source, .. } if source.kind() == ErrorKind::StorageFull => DISK_FULL,
            _ => IO_ERROR,
        };
        Reason::lasting(sqlstate, error.to_string())
    }
}

impl From<StoreError> for Reason {
    fn from(error: StoreError) -> Reason {
        // A store that is being closed belongs to a life that ends.
        format!("{error}; a snapshot needs the access manager in the site's own process").into()
    }
}

/// Takes a snapshot of the site in this process. When the site does not serve at a moment that matters, or begins a new life, it begins anew, a
/// bounded number of times. `given_up`: whether nobody waits for it any more.
///
/// # Errors
/// Why not. Nothing is left of it then.
pub(crate) fn take(
    config: &SiteConfig,
    shared: &SiteShared,
    wish: &Wish,
    given_up: &dyn Fn() -> bool,
) -> Result<Taken, SnapshotRefusal> {
    let desk = shared.snapshots();
    files::check_name(&wish.name).map_err(|error| refusal(error.into(), 1))?;
    let Some(_turn) = desk.turn(given_up) else {
        return Err(SnapshotRefusal { sqlstate: CANCELED.to_owned(), message: GIVEN_UP.to_owned() });
    };
    let (begun, begun_us) = (Instant::now(), clock::wall_micros());
    desk.begin(&wish.name, expected(config, &wish.folder));
    let mut tries = 1;
    let made = loop {
        match once(config, shared, wish, given_up) {
            Err(Reason { text, passes: true, .. }) if tries < limits::SNAPSHOT_TRIES_MAX && !given_up() => {
                tracing::info!(name = wish.name, reason = text, tries, "a snapshot begins anew");
                tries += 1;
                desk.note(|progress| (progress.begun_again, progress.bytes) = (progress.begun_again + 1, 0));
                std::thread::sleep(limits::SNAPSHOT_PAUSE);
            }
            made => break made,
        }
    };
    desk.end();
    match made {
        Ok(manifest) => {
            let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(name = wish.name, bytes = manifest.bytes(), took_ms, "a snapshot is permanent");
            desk.count(|counts| {
                counts.taken += 1;
                (counts.last_success_us, counts.last_duration_ms) = (begun_us, took_ms);
                counts.last_bytes = manifest.bytes();
            });
            Ok(Taken { folder: wish.folder.join(&wish.name), bytes: manifest.bytes(), took_ms })
        }
        Err(reason) => {
            let refusal = refusal(reason, tries);
            // Another site was faster: that is what sites with one folder agree by.
            desk.count(|counts| counts.failed += u64::from(refusal.sqlstate != DUPLICATE));
            tracing::warn!(name = wish.name, reason = refusal.message, "a snapshot was not taken");
            Err(refusal)
        }
    }
}

/// What is told of it after so many tries.
fn refusal(reason: Reason, tries: u32) -> SnapshotRefusal {
    let message = match reason.passes {
        true => format!("{} (after {tries} tries)", reason.text),
        false => reason.text,
    };
    SnapshotRefusal { sqlstate: reason.sqlstate.to_owned(), message }
}

/// One try.
fn once(
    config: &SiteConfig,
    shared: &SiteShared,
    wish: &Wish,
    given_up: &dyn Fn() -> bool,
) -> Result<Manifest, Reason> {
    if !config.memory.is_empty() {
        return Err(IN_MEMORY.into());
    }
    let partial = prepare(config, wish)?;
    let pace = Pace::new(&partial, wish.rate_mb, shared.snapshots(), given_up);
    let taken = Writing { config, shared, folder: &partial, pace }.take(wish);
    release(shared);
    if taken.is_err() {
        // The reason is what is told; what is left is overwritten by the next one of this name.
        let _ = fs::remove_dir_all(&partial);
    }
    taken
}

/// About how many bytes it will have: as the newest snapshot in the folder has, or the store.
fn expected(config: &SiteConfig, folder: &Path) -> u64 {
    let instance = config.instance.to_string();
    let listed = files::list(folder).unwrap_or_default();
    let known = listed.into_iter().filter_map(|(_, manifest)| manifest.ok());
    let newest = known.filter(|manifest| manifest.instance == instance).max_by_key(|manifest| manifest.taken_us);
    newest.map_or_else(|| bytes_below(&config.data.join(STORE_FOLDER)), |manifest| manifest.bytes())
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// An empty folder for what is going to be the snapshot.
fn prepare(config: &SiteConfig, wish: &Wish) -> Result<PathBuf, Reason> {
    files::check_name(&wish.name)?;
    if wish.folder.join(&wish.name).exists() {
        return Err(SnapshotError::Exists { name: wish.name.clone(), folder: wish.folder.clone() }.into());
    }
    // Other sites, and those of other instances, may take one of this name to this folder at the same time: only one of them gets the name.
    let partial = wish.folder.join(format!("{}.{}-{}.{PARTIAL}", wish.name, config.instance, config.id));
    if !wish.folder.exists() {
        fs::create_dir_all(&wish.folder).map_err(SnapshotError::file(&wish.folder))?;
        let parent = wish.folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        files::sync_folder(parent.unwrap_or(Path::new(".")))?;
    }
    // No other process takes a snapshot of this site: what ends so was left by a life that is over.
    let left = format!(".{}-{}.{PARTIAL}", config.instance, config.id);
    for entry in fs::read_dir(&wish.folder).map_err(SnapshotError::file(&wish.folder))?.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(&left)) {
            fs::remove_dir_all(entry.path()).map_err(SnapshotError::file(&entry.path()))?;
        }
    }
    // Rows and verifiers of passwords are for nobody else to read.
    fs::DirBuilder::new().mode(0o700).create(&partial).map_err(SnapshotError::file(&partial))?;
    Ok(partial)
}

fn release(shared: &SiteShared) {
    if let Some(mut core) = shared.core() {
        core.release_log();
    }
}

/// Keeps to a rate, and leaves room on the disk.
struct Pace<'a> {
    folder: &'a Path,
    begun: Instant,
    bytes: u64,
    bytes_per_second: u64,
    desk: &'a SnapshotDesk,
    given_up: &'a dyn Fn() -> bool,
}

impl<'a> Pace<'a> {
    fn new(folder: &'a Path, rate_mb: u64, desk: &'a SnapshotDesk, given_up: &'a dyn Fn() -> bool) -> Pace<'a> {
        let bytes_per_second = rate_mb.max(1) << 20;
        Pace { folder, begun: Instant::now(), bytes: 0, bytes_per_second, desk, given_up }
    }

    /// A part of it begins.
    fn phase(&self, phase: &str) {
        self.desk.note(|progress| phase.clone_into(&mut progress.phase));
    }

    /// So many bytes have been written.
    fn wrote(&mut self, bytes: u64) -> Result<(), Reason> {
        if (self.given_up)() {
            return Err(Reason::lasting(CANCELED, GIVEN_UP.to_owned()));
        }
        self.bytes += bytes;
        let (written, elapsed) = (self.bytes, self.begun.elapsed().as_secs_f64());
        self.desk.note(|progress| {
            progress.bytes = written;
            progress.bytes_expected = progress.bytes_expected.max(written);
            let left = (progress.bytes_expected - written) as f64;
            progress.seconds_left = (written > 0).then(|| (left * elapsed / written as f64) as u64);
        });
        check_free(self.folder, "make room, or name another with --to")?;
        let due = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_second as f64);
        std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
        Ok(())
    }
}

/// Errors: less is free than a snapshot must leave.
fn check_free(folder: &Path, advice: &str) -> Result<(), Reason> {
    let space = rustix::fs::statvfs(folder).map_err(|error| Reason::lasting(IO_ERROR, error.to_string()))?;
    let must_stay = (space.f_blocks * space.f_frsize / limits::SNAPSHOT_FREE_SHARE).min(limits::SNAPSHOT_FREE_MAX);
    let free = space.f_bavail * space.f_frsize;
    match free < must_stay {
        true => {
            let text = format!(
                "the disk under {} has {} KiB free, and a snapshot leaves {} KiB free: {advice}",
                folder.display(),
                free >> 10,
                must_stay >> 10,
            );
            Err(Reason::lasting(DISK_FULL, text))
        }
        false => Ok(()),
    }
}

struct Writing<'a> {
    config: &'a SiteConfig,
    shared: &'a SiteShared,
    folder: &'a Path,
    pace: Pace<'a>,
}

impl Writing<'_> {
    fn core<T>(&self, ask: impl FnOnce(&mut Core) -> Result<T, String>) -> Result<T, Reason> {
        let mut core = self.shared.core().ok_or("this process has no servers of the site")?;
        Ok(ask(&mut core)?)
    }

    fn take(mut self, wish: &Wish) -> Result<Manifest, Reason> {
        self.pace.wrote(0)?;
        self.pace.phase("posting");
        self.post()?;
        // What was waited for is no room for a burst.
        self.pace.begun = Instant::now();
        let (held, reader, mut taking) = self.core(Core::hold_log)?;
        let (base, base_rows) = self.base(held, &reader, &mut taking)?;
        let (tail, archive) = self.tail(held, &mut taking)?;
        let parts = vec![base, tail];
        let manifest = Manifest {
            format: Manifest::format(),
            name: wish.name.clone(),
            instance: self.config.instance.to_string(),
            site: self.config.id,
            life: taking.life().0,
            epoch: taking.epoch().0,
            taken_us: clock::wall_micros(),
            log_from: taking.log_from().0,
            cut: taking.cut_at().0,
            clock: taking.clock_at_cut(),
            archive,
            base_rows,
            parts,
        };
        manifest.write(self.folder)?;
        let named = wish.folder.join(&wish.name);
        let publish = || -> std::io::Result<()> {
            fs::rename(self.folder, &named)?;
            File::open(&wish.folder)?.sync_all()
        };
        match publish() {
            // Another site was faster.
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
                return Err(SnapshotError::Exists { name: wish.name.clone(), folder: wish.folder.clone() }.into());
            }
            published => published.map_err(SnapshotError::file(&named))?,
        }
        Ok(manifest)
    }

    /// Has the store take in what the log has; without that more is to be copied, and it is done all the same.
    fn post(&self) -> Result<(), Reason> {
        let begun = Instant::now();
        let mut done = self.core(|core| {
            let done = core.post_for_copy(true)?;
            core.settle();
            Ok(done)
        })?;
        self.shared.wake(0);
        while !done && begun.elapsed() < limits::PREPARE_TIME_MAX {
            std::thread::sleep(limits::PREPARE_LOOK);
            done = self.core(|core| core.post_for_copy(false))?;
        }
        Ok(())
    }

    /// Copies the store.
    fn base(
        &mut self,
        held: HeldLife,
        reader: &StoreReader,
        taking: &mut Taking,
    ) -> Result<(files::Part, u64), Reason> {
        let base: Base = reader.base()?;
        let needed = access_manager::needs_log_from(base.metadata())?;
        self.in_life(held, |domain| {
            taking.based(needed, domain.log());
            Ok(())
        })?;
        self.pace.phase("copying rows");
        let mut writer = FrameWriter::create(self.folder, BASE)?;
        let metadata = base.metadata().map(|bytes| bytes.to_vec());
        writer.write(&postcard::to_stdvec(&metadata).expect("bytes always encode"))?;
        let mut rows = 0;
        base.read(|chunk| {
            rows += chunk.len() as u64;
            let before = writer.bytes();
            writer.write(&postcard::to_stdvec(&chunk).expect("rows always encode"))?;
            self.pace.wrote(writer.bytes() - before)?;
            self.check_log(held)
        })?;
        Ok((writer.finish()?, rows))
    }

    /// The log is held meanwhile: that must not fill the site's disk.
    fn check_log(&self, held: HeldLife) -> Result<(), Reason> {
        check_free(&self.config.data, "the site's own log grows there while the snapshot is written: make room")?;
        let bytes = self.core(|core| core.log_bytes(held))?;
        match bytes > limits::SNAPSHOT_LOG_MAX {
            true => {
                let text =
                    format!("the log has grown to {bytes} bytes meanwhile: take the snapshot at a higher --rate");
                Err(Reason::lasting(NOT_READY, text))
            }
            false => Ok(()),
        }
    }

    /// Copies what of the log belongs to the snapshot; the cut is where it ends now. What was open there is waited for.
    /// Says also which archive the site wrote at the cut.
    fn tail(&mut self, held: HeldLife, taking: &mut Taking) -> Result<(files::Part, Option<u32>), Reason> {
        let mut writer = FrameWriter::create(self.folder, TAIL)?;
        self.pace.phase("copying log");
        self.patiently(held, |domain| taking.cut(domain, clock::now()))?;
        let archive = self.pace.desk.archive().and_then(|status| status.number);
        let mut waits_since = None;
        while let Some(from) = taking.reads_from() {
            if from >= taking.cut_at() {
                let since: Instant = *waits_since.get_or_insert_with(Instant::now);
                if since.elapsed() > limits::SNAPSHOT_OPEN_MAX {
                    let open = taking.open();
                    let text = format!("{open} transactions stay undecided: take the snapshot again");
                    return Err(Reason::lasting(NOT_READY, text));
                }
                if (self.pace.given_up)() {
                    self.pace.wrote(0)?;
                }
            }
            let (records, behind) = self.core(|core| core.records(held, from, limits::SNAPSHOT_LOG_CHUNK))?;
            let before = writer.bytes();
            for (position, record) in &records {
                if taking.takes(*position, record)? {
                    writer.write(record)?;
                }
            }
            self.pace.wrote(writer.bytes() - before)?;
            self.check_log(held)?;
            match behind {
                Some(behind) => taking.read_up_to(behind),
                None => std::thread::sleep(limits::PREPARE_LOOK),
            }
        }
        self.patiently(held, |domain| taking.end(domain, clock::now()))?;
        Ok((writer.finish()?, archive))
    }

    /// Asks until the site serves again: an epoch change must not cost what was copied. A new life ends that at once.
    fn patiently(
        &self,
        held: HeldLife,
        mut ask: impl FnMut(&Domain<SiteLog>) -> Result<(), String>,
    ) -> Result<(), Reason> {
        let begun = Instant::now();
        loop {
            let answer = self.in_life(held, |domain| Ok(ask(domain)))?;
            let Err(refusal) = answer else { return Ok(()) };
            if begun.elapsed() > limits::SNAPSHOT_SERVES_MAX || (self.pace.given_up)() {
                return Err(refusal.into());
            }
            std::thread::sleep(limits::PREPARE_LOOK);
        }
    }

    fn in_life<T>(&self, held: HeldLife, ask: impl FnOnce(&Domain<SiteLog>) -> Result<T, String>) -> Result<T, Reason> {
        self.core(|core| core.in_life(held, ask))
    }
}
