//! A new instance from a snapshot, or new data for an instance that goes back to one.
//!
//! How it begins is decided in [`domain::snapshot::restoring`].
//!
//! Invariant: nothing is written outside the folders of the new sites and oracle, and the scratch folder.

use super::archive::{self, ArchiveEntry, ArchiveReader};
use super::files::{BASE, FrameReader, Manifest, Part, SnapshotError, TAIL, begin_reading, sync_folder, verify};
use crate::config::{OracleConfig, SiteConfig};
use crate::repair::{self, LOG_FOLDER, STORE_FOLDER};
use crate::store::{FjallStore, PERSISTED_EXTENSION};
use access_manager::Store;
use access_manager::store::StoreWrite;
use commit_log::mapped::LogIdentity;
use commit_log::{Log, LogError, LogOptions, MappedLog, Position};
use domain::Domain;
use domain::snapshot::archive::{MomentError, MomentSearch, MomentSelection, Selected, WantedMoment};
use domain::snapshot::restoring::{self, Highest};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::server::ORACLE_SITE;
use messages::{EpochNumber, Incarnation, InstanceId, Now, OracleLife, SiteId};
use oracle::register::Register;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of rows kept in memory while the log is brought to the store.
const MEMORY_BYTES: usize = 256 << 20;
/// By how much the clock goes on with each turn of the domain that brings its log to the store: nobody waits for it.
const TURN: u64 = 10_000_000;
/// How long a turn rests while the store works.
const REST: Duration = Duration::from_micros(200);

/// Nothing is known of its log since.
const NO_ARCHIVE: &str = "the snapshot was taken by a site without `log_archive`, or before its archive began";
/// No instance can go on behind such a snapshot.
const NO_EPOCH: &str = "its log names no epoch";

/// What a snapshot holds, once its log is in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Rows, those of indexes too.
    pub rows: u64,
    /// Storages that have rows: tables and indexes.
    pub storages: u64,
    /// The same for equal rows of equal versions, whatever their order is on disk: copies of different sites can be compared by it.
    pub hash: u128,
    /// The number of the last epoch in it.
    pub epoch: u64,
    /// The highest life in it.
    pub life: u32,
}

/// A copy that can be given to sites.
struct Copied {
    contents: Contents,
    /// From where its store says that log is needed: there is none.
    log_from: Position,
    highest: Highest,
}

/// A moment behind a snapshot, and where the log since stands.
#[derive(Clone, Debug)]
pub struct RestoredMoment {
    /// Which.
    pub wanted: WantedMoment,
    /// The folder that `log_archive` names.
    pub archive: PathBuf,
}

/// Restores a snapshot in a scratch folder, which must be empty or missing, and says what it holds.
///
/// # Errors
/// What is damaged, and where; or the disk.
pub fn look_into(snapshot: &Path, scratch: &Path) -> Result<Contents, SnapshotError> {
    bring_together(snapshot, scratch, None).map(|copied| copied.contents)
}

/// Makes the data of these sites and their oracle from a snapshot, as the instance was then or at a later moment. They have none yet.
///
/// # Errors
/// What is damaged, and where; or the disk. What was written is of no use then.
pub fn restore(
    snapshot: &Path,
    moment: Option<&RestoredMoment>,
    scratch: &Path,
    sites: &[SiteConfig],
    oracle: &OracleConfig,
) -> Result<Contents, SnapshotError> {
    let copied = bring_together(snapshot, scratch, moment)?;
    let numbers: Vec<SiteId> = sites.iter().map(SiteConfig::site).collect();
    let epoch = copied.highest.first_epoch(&numbers, Planted::none()).ok_or_else(|| wrong(NO_EPOCH))?;
    for site in sites {
        copy_store(scratch, &site.data)?;
        let records = copied.highest.first_records(&epoch);
        write_log(&site.data.join(LOG_FOLDER), repair::identity(site), copied.log_from, &records)?;
    }
    let state = Register::restored(InstanceId(oracle.instance), epoch);
    write_log(&oracle.data.join(LOG_FOLDER), oracle_identity(oracle), Position::START, &[LogRecord::Oracle { state }])?;
    fs::remove_dir_all(scratch).map_err(SnapshotError::file(scratch))?;
    Ok(copied.contents)
}

/// What a rollback keeps from when its stores are made until its logs are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RollbackPlan {
    log_from: u64,
    highest: Highest,
}

impl RollbackPlan {
    /// For a file.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a plan always encodes")
    }

    /// From a file.
    ///
    /// # Errors
    /// It is no plan.
    pub fn decode(bytes: &[u8]) -> Result<RollbackPlan, SnapshotError> {
        postcard::from_bytes(bytes).map_err(wrong)
    }
}

/// Makes stores in these folders for a rollback, from a snapshot, as the instance was then or at a later moment.
///
/// # Errors
/// What is damaged, and where; or the disk.
pub fn prepare_rollback(
    snapshot: &Path,
    moment: Option<&RestoredMoment>,
    scratch: &Path,
    stores: &[PathBuf],
) -> Result<(RollbackPlan, Contents), SnapshotError> {
    let copied = bring_together(snapshot, scratch, moment)?;
    for store in stores {
        fs::create_dir_all(store).map_err(SnapshotError::file(store))?;
        copy_store(scratch, store)?;
        sync_folder(store.parent().expect("it is a folder in a site's"))?;
    }
    fs::remove_dir_all(scratch).map_err(SnapshotError::file(scratch))?;
    Ok((RollbackPlan { log_from: copied.log_from.0, highest: copied.highest }, copied.contents))
}

/// Writes the logs that belong to such stores: behind all that the oracle, which does not run, has given out. `new` says where the new data of a process
/// are, whose data are there.
///
/// # Errors
/// The oracle's state cannot be read, or the disk.
pub fn write_rolled_back(
    plan: &RollbackPlan,
    sites: &[SiteConfig],
    oracle: &OracleConfig,
    new: impl Fn(&Path) -> PathBuf,
) -> Result<(), SnapshotError> {
    let mut highest = plan.highest.clone();
    if let Some(register) = last_register(oracle)? {
        highest.follow(register.epoch().number, register.highest_life());
    }
    let numbers: Vec<SiteId> = sites.iter().map(SiteConfig::site).collect();
    let epoch = highest.first_epoch(&numbers, Planted::none()).ok_or_else(|| wrong(NO_EPOCH))?;
    for site in sites {
        let folder = new(&site.data).join(LOG_FOLDER);
        remove_folder(&folder)?;
        write_log(&folder, repair::identity(site), Position(plan.log_from), &highest.first_records(&epoch))?;
        sync_folder(&new(&site.data))?;
        if let Err(error) = archive::begin_another(site, Position(plan.log_from)) {
            // The site finds out by the last record, as good as always: an archive that is away keeps nobody from going back.
            tracing::warn!(site = site.id, %error, "no other archive of the log could be begun");
        }
    }
    let folder = new(&oracle.data).join(LOG_FOLDER);
    remove_folder(&folder)?;
    let state = Register::restored(InstanceId(oracle.instance), epoch);
    write_log(&folder, oracle_identity(oracle), Position::START, &[LogRecord::Oracle { state }])?;
    sync_folder(&new(&oracle.data))?;
    sync_folder(&oracle.data)
}

/// What the oracle has promised last; none: nothing.
fn last_register(oracle: &OracleConfig) -> Result<Option<Register>, SnapshotError> {
    let folder = oracle.data.join(LOG_FOLDER);
    if !folder.exists() {
        return Ok(None);
    }
    let (log, _) = MappedLog::open(&folder, LogOptions::new(oracle_identity(oracle))).map_err(wrong)?;
    let mut last = None;
    for entry in log.read_from(log.first()) {
        let (_, record) = entry.map_err(wrong)?;
        if let LogRecord::Oracle { state } = LogRecord::decode(&record).map_err(wrong)? {
            last = Some(state);
        }
    }
    let decode = |state: bytes::Bytes| Register::decode(&state, OracleLife(0), Planted::none()).map_err(wrong);
    last.map(decode).transpose()
}

fn oracle_identity(oracle: &OracleConfig) -> LogIdentity {
    LogIdentity { instance: oracle.instance.into(), site: ORACLE_SITE.0.into() }
}

fn remove_folder(folder: &Path) -> Result<(), SnapshotError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(SnapshotError::file(folder)(error)),
        _ => Ok(()),
    }
}

fn wrong(error: impl std::fmt::Display) -> SnapshotError {
    SnapshotError::Restore(error.to_string())
}

fn part<'a>(manifest: &'a Manifest, snapshot: &Path, name: &str) -> Result<&'a Part, SnapshotError> {
    let found = manifest.parts.iter().find(|part| part.file == name);
    found.ok_or_else(|| SnapshotError::Missing { folder: snapshot.to_owned(), missing: name.to_owned() })
}

/// Makes a store in the scratch folder that has all that the snapshot has.
fn bring_together(snapshot: &Path, scratch: &Path, moment: Option<&RestoredMoment>) -> Result<Copied, SnapshotError> {
    let _reading = begin_reading(snapshot)?;
    let manifest = verify(snapshot)?;
    let mut since = moment.map(|moment| LogSince::find(&manifest, moment)).transpose()?;
    // One that is there already may be another's.
    fs::DirBuilder::new().mode(0o700).create(scratch).map_err(SnapshotError::file(scratch))?;
    let mut highest = Highest::of(Incarnation(manifest.life), EpochNumber(manifest.epoch));
    let store = load_base(&manifest, snapshot, scratch, &mut highest)?;
    if let Some(since) = &since {
        since.check_base(&highest)?;
    }
    let mut log = load_tail(&manifest, snapshot, scratch, &mut highest, since.as_mut())?;
    log.sync_now().map_err(wrong)?;
    let log_from = bring_to_store(&manifest, log, store)?;
    highest.last_epoch().ok_or_else(|| wrong(NO_EPOCH))?;
    let mut contents = Contents { rows: 0, storages: 0, hash: 0, epoch: 0, life: 0 };
    let (store, mut tables) = (FjallStore::open(&scratch.join(STORE_FOLDER)).map_err(wrong)?, Vec::new());
    store
        .reader()
        .base()
        .map_err(wrong)?
        .read(|chunk| {
            for write in &chunk {
                highest.version(&write.version);
                let bytes = postcard::to_stdvec(write).expect("a row always encodes");
                contents.hash = contents.hash.wrapping_add(xxh3_128(&bytes));
            }
            contents.rows += chunk.len() as u64;
            tables.extend(chunk.first().map(|write| write.table));
            Ok::<_, access_manager::StoreError>(())
        })
        .map_err(wrong)?;
    tables.dedup();
    contents.storages = tables.len() as u64;
    (contents.epoch, contents.life) = (highest.number().0, highest.life().0);
    Ok(Copied { contents, log_from, highest })
}

/// Writes the rows of the snapshot to a store.
fn load_base(
    manifest: &Manifest,
    snapshot: &Path,
    scratch: &Path,
    highest: &mut Highest,
) -> Result<FjallStore, SnapshotError> {
    let mut reader = FrameReader::open(snapshot, part(manifest, snapshot, BASE)?)?;
    let mut store = FjallStore::open(&scratch.join(STORE_FOLDER)).map_err(wrong)?;
    let first = reader.next()?.ok_or_else(|| reader.damaged("it has no metadata"))?;
    let metadata: Option<Vec<u8>> =
        postcard::from_bytes(&first).map_err(|_| reader.damaged("its metadata cannot be read"))?;
    let Some(metadata) = metadata.map(bytes::Bytes::from) else { return Ok(store) };
    store.write(Vec::new(), metadata.clone());
    while let Some(frame) = reader.next()? {
        let rows: Vec<StoreWrite> =
            postcard::from_bytes(&frame).map_err(|_| reader.damaged("its rows cannot be read"))?;
        rows.iter().for_each(|row| highest.version(&row.version));
        store.write(rows, metadata.clone());
        settle(&mut store)?;
    }
    store.persist();
    settle(&mut store)?;
    Ok(store)
}

fn settle(store: &mut FjallStore) -> Result<(), SnapshotError> {
    while !store.is_idle().map_err(wrong)? {
        std::thread::sleep(REST);
    }
    Ok(())
}

/// Writes the records of the snapshot to a log.
fn load_tail(
    manifest: &Manifest,
    snapshot: &Path,
    scratch: &Path,
    highest: &mut Highest,
    since: Option<&mut LogSince>,
) -> Result<MappedLog, SnapshotError> {
    let mut reader = FrameReader::open(snapshot, part(manifest, snapshot, TAIL)?)?;
    let folder = scratch.join(LOG_FOLDER);
    let instance: u64 = manifest.instance.parse().map_err(wrong)?;
    let identity = LogIdentity { instance: instance.into(), site: manifest.site.into() };
    let mut log = open_log(&folder, identity, Position(manifest.log_from))?;
    let mut take = |selected: Selected, frame: Vec<u8>| -> Result<(), SnapshotError> {
        let record = match selected {
            Selected::Whole => frame,
            Selected::Instead(other) => other,
            Selected::Not => return Ok(()),
        };
        highest.record(&LogRecord::decode(&record).map_err(wrong)?);
        append(&mut log, &record)
    };
    let Some(since) = since else {
        while let Some(frame) = reader.next()? {
            LogRecord::decode(&frame).map_err(|_| reader.damaged("a record that cannot be read"))?;
            take(Selected::Whole, frame)?;
        }
        return Ok(log);
    };
    while let Some(frame) = reader.next()? {
        let selected = since.selection.of_snapshot(&frame);
        take(selected.map_err(|_| reader.damaged("a record that cannot be read"))?, frame)?;
    }
    let mut archive = since.open()?;
    while let Some(entry) = archive.next_entry()? {
        let ArchiveEntry::Record(position, record) = entry else { continue };
        if since.selection.is_over(position) {
            break;
        }
        take(since.selection.of_archive(position, &record)?, record)?;
    }
    Ok(log)
}

/// Appends a record, as soon as the disk has come so far.
fn append(log: &mut MappedLog, record: &[u8]) -> Result<(), SnapshotError> {
    match log.append(record) {
        Err(LogError::Behind { .. }) => {
            log.sync_now().map_err(wrong)?;
            log.append(record).map_err(wrong)?;
        }
        appended => drop(appended.map_err(wrong)?),
    }
    Ok(())
}

/// What an archive has of the log behind a snapshot, up to a moment.
struct LogSince {
    folder: PathBuf,
    number: u32,
    cut: Position,
    selection: MomentSelection,
}

impl LogSince {
    /// Looks for the moment.
    fn find(manifest: &Manifest, moment: &RestoredMoment) -> Result<LogSince, SnapshotError> {
        let number = manifest.archive.ok_or_else(|| wrong(NO_ARCHIVE))?;
        let folder = archive::folder_of(&moment.archive, &manifest.instance, manifest.site);
        let (site, epoch, cut) = (SiteId(manifest.site), EpochNumber(manifest.epoch), Position(manifest.cut));
        let mut search = MomentSearch::behind(site, epoch, manifest.clock, moment.wanted, Planted::none())?;
        let mut reader = ArchiveReader::open(&folder, number, cut)?;
        while !search.is_over()
            && let Some(entry) = reader.next_entry()?
        {
            match entry {
                ArchiveEntry::Record(position, record) => search.record(position, &record)?,
                ArchiveEntry::Mark(mark) => search.mark(&mark)?,
            }
        }
        let selection = search.end(reader.end())?;
        Ok(LogSince { folder, number, cut, selection })
    }

    fn open(&self) -> Result<ArchiveReader, SnapshotError> {
        ArchiveReader::open(&self.folder, self.number, self.cut)
    }

    /// Rows that were copied must not be later than the moment.
    fn check_base(&self, base: &Highest) -> Result<(), SnapshotError> {
        match base.last_version().filter(|version| (version.epoch, version.clock) > self.selection.highest()) {
            Some(later) => Err(MomentError::Before(later.clock).into()),
            None => Ok(()),
        }
    }
}

fn open_log(folder: &Path, identity: LogIdentity, begins_at: Position) -> Result<MappedLog, SnapshotError> {
    fs::create_dir_all(folder).map_err(SnapshotError::file(folder))?;
    let options = LogOptions { begins_at, ..LogOptions::new(identity) };
    MappedLog::open(folder, options).map(|(log, _)| log).map_err(wrong)
}

fn write_log(folder: &Path, identity: LogIdentity, from: Position, records: &[LogRecord]) -> Result<(), SnapshotError> {
    let mut log = open_log(folder, identity, from)?;
    for record in records {
        let mut bytes = Vec::new();
        record.encode_into(&mut bytes);
        log.append(&bytes).map_err(wrong)?;
    }
    log.sync_now().map_err(wrong)?;
    log.close().map_err(wrong)
}

/// Starts the servers of a site over store and log, has them bring the one to the other, and ends them. Says from where log is needed now.
fn bring_to_store(manifest: &Manifest, log: MappedLog, store: FjallStore) -> Result<Position, SnapshotError> {
    let settings = restoring::settings(SiteId(manifest.site), Incarnation(manifest.life), MEMORY_BYTES);
    let mut domain = Domain::start(settings, log, Box::new(store)).map_err(wrong)?;
    let mut boot = 0;
    let mut clock = || {
        boot += TURN / 100;
        Now { boot, wall_micros: boot / 1_000 }
    };
    domain.begin_checkpoint(&mut clock);
    loop {
        if let Some(from) = restoring::turn(&mut domain, &mut clock).map_err(wrong)? {
            return Ok(from);
        }
        std::thread::sleep(REST);
    }
}

/// Copies the store to a new site, to disk.
fn copy_store(scratch: &Path, data: &Path) -> Result<(), SnapshotError> {
    copy_folder(&scratch.join(STORE_FOLDER), &data.join(STORE_FOLDER))?;
    let persisted = format!("{STORE_FOLDER}.{PERSISTED_EXTENSION}");
    copy_file(&scratch.join(&persisted), &data.join(&persisted))?;
    sync_folder(data)
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), SnapshotError> {
    fs::create_dir_all(to).map_err(SnapshotError::file(to))?;
    for entry in fs::read_dir(from).map_err(SnapshotError::file(from))? {
        let entry = entry.map_err(SnapshotError::file(from))?;
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => copy_file(&entry.path(), &target)?,
        }
    }
    sync_folder(to)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), SnapshotError> {
    fs::copy(from, to).map_err(SnapshotError::file(to))?;
    File::open(to).and_then(|file| file.sync_all()).map_err(SnapshotError::file(to))
}
