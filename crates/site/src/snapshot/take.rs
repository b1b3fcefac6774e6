//! Taking a snapshot: the store first, then the log up to the cut, then what was open at the cut.
//!
//! Invariants: a snapshot has its name, and a manifest, only when all of it is on disk; whatever fails, the site goes on, and what was written goes.

use super::files::{self, BASE, FrameWriter, Manifest, PARTIAL, SnapshotError, TAIL};
use crate::config::SiteConfig;
use crate::core::Core;
use crate::core::copying::HeldLife;
use crate::shared::SiteShared;
use crate::site_log::SiteLog;
use crate::store::{Base, StoreReader};
use crate::{clock, limits};
use access_manager::StoreError;
use domain::Domain;
use domain::snapshot::taking::Taking;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Those that are asked for at once are taken one after another.
static TURN: Mutex<()> = Mutex::new(());

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

/// Why a snapshot is not taken, in words.
struct Reason(String);

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason(text)
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason(text.to_owned())
    }
}

impl From<SnapshotError> for Reason {
    fn from(error: SnapshotError) -> Reason {
        Reason(error.to_string())
    }
}

impl From<StoreError> for Reason {
    fn from(error: StoreError) -> Reason {
        Reason(format!("{error}; a snapshot needs the access manager in the site's own process"))
    }
}

/// Takes a snapshot of the site in this process.
///
/// # Errors
/// Why not, in words. Nothing is left of it then.
pub(crate) fn take(config: &SiteConfig, shared: &SiteShared, wish: &Wish) -> Result<Taken, String> {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let begun = Instant::now();
    let made = prepare(config, wish).and_then(|partial| {
        let taken = Writing { config, shared, folder: &partial, pace: Pace::new(&partial, wish.rate_mb) }.take(wish);
        release(shared);
        if taken.is_err() {
            // The reason is what is told; what is left is overwritten by the next one of this name.
            let _ = fs::remove_dir_all(&partial);
        }
        taken
    });
    match made {
        Ok(manifest) => {
            let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(name = wish.name, bytes = manifest.bytes(), took_ms, "a snapshot is permanent");
            Ok(Taken { folder: wish.folder.join(&wish.name), bytes: manifest.bytes(), took_ms })
        }
        Err(Reason(reason)) => {
            tracing::warn!(name = wish.name, reason, "a snapshot was not taken");
            Err(reason)
        }
    }
}

/// An empty folder for what is going to be the snapshot.
fn prepare(config: &SiteConfig, wish: &Wish) -> Result<PathBuf, Reason> {
    files::check_name(&wish.name)?;
    if wish.folder.join(&wish.name).exists() {
        return Err(SnapshotError::Exists { name: wish.name.clone(), folder: wish.folder.clone() }.into());
    }
    // Other sites, and those of other instances, may take one of this name to this folder at the same time: only one of them gets the name.
    let partial = wish.folder.join(format!("{}.{}-{}.{PARTIAL}", wish.name, config.instance, config.id));
    fs::create_dir_all(&wish.folder).map_err(SnapshotError::file(&wish.folder))?;
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
}

impl Pace<'_> {
    fn new(folder: &Path, rate_mb: u64) -> Pace<'_> {
        Pace { folder, begun: Instant::now(), bytes: 0, bytes_per_second: rate_mb.max(1) << 20 }
    }

    /// So many bytes have been written.
    fn wrote(&mut self, bytes: u64) -> Result<(), Reason> {
        self.bytes += bytes;
        check_free(self.folder, "make room, or name another with --to")?;
        let due = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_second as f64);
        std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
        Ok(())
    }
}

/// Errors: less than a tenth of the disk is free.
fn check_free(folder: &Path, advice: &str) -> Result<(), Reason> {
    let space = rustix::fs::statvfs(folder).map_err(|error| error.to_string())?;
    match space.f_bavail < space.f_blocks / limits::SNAPSHOT_FREE_SHARE {
        true => Err(format!("less than a tenth of the disk under {} is free: {advice}", folder.display()).into()),
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
        self.post()?;
        // What was waited for is no room for a burst.
        self.pace.begun = Instant::now();
        let (held, reader, mut taking) = self.core(Core::hold_log)?;
        let (base, base_rows) = self.base(held, &reader, &mut taking)?;
        let tail = self.tail(held, &mut taking)?;
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
            base_rows,
            parts,
        };
        manifest.write(self.folder)?;
        let named = wish.folder.join(&wish.name);
        let publish = || -> std::io::Result<()> {
            fs::rename(self.folder, &named)?;
            File::open(&wish.folder)?.sync_all()
        };
        publish().map_err(SnapshotError::file(&named))?;
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
                Err(format!("the log has grown to {bytes} bytes meanwhile: take the snapshot at a higher --rate")
                    .into())
            }
            false => Ok(()),
        }
    }

    /// Copies what of the log belongs to the snapshot; the cut is where it ends now. What was open there is waited for.
    fn tail(&mut self, held: HeldLife, taking: &mut Taking) -> Result<files::Part, Reason> {
        let mut writer = FrameWriter::create(self.folder, TAIL)?;
        self.in_life(held, |domain| taking.cut(domain, clock::now()))?;
        let mut waits_since = None;
        while let Some(from) = taking.reads_from() {
            if from >= taking.cut_at() {
                let since: Instant = *waits_since.get_or_insert_with(Instant::now);
                if since.elapsed() > limits::SNAPSHOT_OPEN_MAX {
                    let open = taking.open();
                    return Err(format!("{open} transactions stay undecided: take the snapshot again").into());
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
        self.in_life(held, |domain| taking.end(domain, clock::now()))?;
        Ok(writer.finish()?)
    }

    fn in_life<T>(&self, held: HeldLife, ask: impl FnOnce(&Domain<SiteLog>) -> Result<T, String>) -> Result<T, Reason> {
        self.core(|core| core.in_life(held, ask))
    }
}
