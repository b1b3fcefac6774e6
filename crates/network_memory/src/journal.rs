//! The local log: what a writer puts on its own disk, over [`commit_log::Log`], and what of it counts after a crash.
//!
//! A journal is written in the order in which things happened and loses nothing but its end. Invariants:
//! * what follows `Begin` takes the place of the log above its base only once `Active` has followed, so a crash between the two leaves
//!   the log of the older epoch whole, as on a server;
//! * the last `DiskStanding` says whether memory may hold what the disk lacks: before anything is acknowledged by memory, a standing that
//!   says so is on disk.

use crate::limits::{RECORD_BYTES_MAX, SYNC_HERE_MAX};
use crate::message::{CheckedRecord, check_configuration};
use crate::names::{Configuration, DiskId, LogId, LogMark, RecordNumber};
use crate::retained::Retained;
use bytes::Bytes;
use commit_log::{Log, LogError};
use raidcomm::codec::{Codec, CodecError, Compact};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use thiserror::Error;

/// Who may hold what was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskStanding {
    /// This disk holds all of it.
    Disk,
    /// Memory servers may hold what this disk lacks.
    Memory,
}

/// Which run of the host's kernel: as long as it is the same, whatever was written is there, synced or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot(pub u128);

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum JournalEntry {
    /// The first: whose journal this is.
    Made { log: LogId, disk: DiskId },
    /// A record. Its checksum is that of the log, so that it can be sent on as it is.
    Record { position: RecordNumber, record: CheckedRecord },
    /// The log above `base` will be written anew; at `from`, all of it.
    Begin { from: RecordNumber, base: LogMark },
    /// And now it has been, for this epoch: the disk holds all of it.
    Active { configuration: Configuration, boot: Boot },
    /// From here on.
    Standing { standing: DiskStanding },
    /// The disk may have lost some of what was written before: the run of the kernel proves nothing any more.
    Cut,
    /// The last `Begin` has come to nothing: the log is what it was before.
    Abandoned,
    /// All of the above, because what is before may be given up.
    State { log: LogId, disk: DiskId, configuration: Configuration, boot: Boot, standing: DiskStanding, from: LogMark },
}

/// What a journal says after a crash.
#[derive(Clone, Debug)]
pub(crate) struct ReplayedJournal {
    pub(crate) log: LogId,
    /// Of the last epoch that became active; none if none ever did.
    pub(crate) configuration: Option<Configuration>,
    pub(crate) standing: DiskStanding,
    /// In which the last epoch began.
    pub(crate) boot: Option<Boot>,
    pub(crate) records: Retained,
}

/// In nanoseconds.
const MICROSECOND: u64 = 1_000;

/// Where the entry of each record starts.
type RecordPlaces = VecDeque<(RecordNumber, commit_log::Position)>;

/// Why a journal is none.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The files below it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A whole record of the files that is no entry.
    #[error(
        "an entry of the local log at byte {position} cannot be read ({source}): it was written by another program or version"
    )]
    Entry {
        /// Where in the files.
        position: commit_log::Position,
        /// What is wrong.
        source: CodecError,
    },
    /// A configuration that no writer makes.
    #[error("the local log names a configuration that cannot be: {0}")]
    Configuration(#[from] crate::message::MessageError),
    /// A record with a wrong checksum, too long, or out of order.
    #[error("record {0} of the local log is damaged or out of order")]
    Record(RecordNumber),
    /// There are entries and none says whose.
    #[error("the local log does not say which log it is of")]
    Nameless,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Journal<L> {
    log: L,
    id: LogId,
    disk: DiskId,
    boot: Boot,
    buffer: Vec<u8>,
    /// Where the entry of each record starts that is retained, and has not been synced or may be truncated.
    places: RecordPlaces,
    /// Records below are on disk.
    synced: RecordNumber,
    /// What the disk had when that was last looked for.
    polled: commit_log::Position,
    /// Up to here a sync was asked for.
    requested: commit_log::Position,
    /// The disk had no room for all of an epoch's log: what follows is not of that.
    is_half_begun: bool,
    /// Where the last epoch begins.
    begun_at: Option<commit_log::Position>,
    /// The records have been truncated, and the disk does not know yet.
    is_truncation_due: bool,
    /// Once this is on disk, what lies before the other may go.
    truncation: Option<(commit_log::Position, commit_log::Position)>,
}

impl<L: Log> Journal<L> {
    /// Makes a journal in an empty log.
    pub(crate) fn create(log: L, id: LogId, disk: DiskId, boot: Boot) -> Result<Journal<L>, JournalError> {
        let mut journal = Journal::over(log, id, disk, boot);
        journal.put(&JournalEntry::Made { log: id, disk })?;
        Ok(journal)
    }

    fn over(log: L, id: LogId, disk: DiskId, boot: Boot) -> Journal<L> {
        let requested = log.synced();
        Journal {
            log,
            id,
            disk,
            boot,
            buffer: Vec::new(),
            places: VecDeque::new(),
            synced: RecordNumber(0),
            polled: commit_log::Position::START,
            requested,
            is_half_begun: false,
            begun_at: None,
            is_truncation_due: false,
            truncation: None,
        }
    }

    /// Reads a journal back. `None`: the log is empty.
    pub(crate) fn replay(log: L, boot: Boot) -> Result<Result<(Journal<L>, ReplayedJournal), L>, JournalError> {
        let Some((id, disk, replay)) = Replay::of(&log)? else { return Ok(Err(log)) };
        let Replay { configuration, standing, boot: last_boot, records, places, .. } = replay;
        let mut journal = Journal::over(log, id, disk, boot);
        journal.places = places;
        journal.synced = records.end();
        let replayed = ReplayedJournal { log: id, configuration, standing, boot: last_boot, records };
        Ok(Ok((journal, replayed)))
    }

    /// Writes down that some of what was written may be lost, for whoever opens the log after this attempt.
    pub(crate) fn cut(&mut self) -> Result<(), LogError> {
        self.put(&JournalEntry::Cut).map(drop)
    }

    pub(crate) fn disk(&self) -> DiskId {
        self.disk
    }

    pub(crate) fn log(&self) -> &L {
        &self.log
    }

    pub(crate) fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }

    pub(crate) fn into_log(self) -> L {
        self.log
    }

    fn put(&mut self, entry: &JournalEntry) -> Result<commit_log::Position, LogError> {
        self.buffer.clear();
        Compact::append(entry, &mut self.buffer).expect("memory takes every entry");
        self.log.append(&self.buffer)
    }

    /// Writes down what is of the epoch that has begun last.
    fn put_active(&mut self, entry: &JournalEntry) -> Result<commit_log::Position, LogError> {
        if self.is_half_begun {
            self.put(&JournalEntry::Abandoned)?;
            self.is_half_begun = false;
        }
        self.put(entry)
    }

    /// Writes a record down; it survives the process, and the machine once it is synced.
    pub(crate) fn record(&mut self, position: RecordNumber, record: &CheckedRecord) -> Result<(), LogError> {
        let place = self.put_active(&JournalEntry::Record { position, record: record.clone() })?;
        self.places.push_back((position, place));
        Ok(())
    }

    /// The log of a new epoch: what it shares with the one that is here up to `base`, and the records from there on. After an error the
    /// log is what it was.
    pub(crate) fn enter(
        &mut self,
        configuration: &Configuration,
        base: LogMark,
        records: &Retained,
    ) -> Result<(), LogError> {
        // Another one takes the place of the last.
        self.put(&JournalEntry::Begin { from: records.from(), base })?;
        self.is_half_begun = true;
        let mut places = RecordPlaces::new();
        for (index, record) in records.starting_at(base.position).enumerate() {
            let position = base.position.plus(index);
            places.push_back((position, self.put(&JournalEntry::Record { position, record: record.clone() })?));
        }
        let active = self.put(&JournalEntry::Active { configuration: configuration.clone(), boot: self.boot })?;
        self.is_half_begun = false;
        let kept = self.places.partition_point(|(position, _)| *position < base.position);
        self.places.truncate(kept);
        self.places.append(&mut places);
        self.synced = self.synced.min(base.position);
        self.begun_at = Some(active);
        Ok(())
    }

    /// Whether the last epoch that was entered has begun on disk as well.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun_at.is_some_and(|place| self.is_synced(place))
    }

    /// Whether a sync of all that has been written was asked for.
    pub(crate) fn is_sync_requested(&self) -> bool {
        self.requested >= self.log.appended()
    }

    /// Records below this were on disk when it was last looked.
    pub(crate) fn synced(&self) -> RecordNumber {
        self.synced
    }

    /// Says who may hold what from here on; on disk once [`Journal::is_synced`] says so of what is returned.
    pub(crate) fn stand(&mut self, standing: DiskStanding) -> Result<commit_log::Position, LogError> {
        self.put_active(&JournalEntry::Standing { standing })
    }

    /// Gives up records below the start of `records`, as soon as that is safe.
    pub(crate) fn truncate(
        &mut self,
        configuration: &Configuration,
        standing: DiskStanding,
        records: &Retained,
    ) -> Result<(), LogError> {
        while self.places.front().is_some_and(|(position, _)| *position < records.from()) {
            self.places.pop_front();
        }
        self.synced = self.synced.max(records.from());
        if self.truncation.is_some() {
            return Ok(());
        }
        self.is_truncation_due = true;
        self.give_up_space(configuration, standing, records)
    }

    /// Writes down what is needed to give the space of truncated records back to the disk, unless that is under way. After an error it
    /// is still due.
    pub(crate) fn give_up_space(
        &mut self,
        configuration: &Configuration,
        standing: DiskStanding,
        records: &Retained,
    ) -> Result<(), LogError> {
        if !self.is_truncation_due || self.truncation.is_some() {
            return Ok(());
        }
        let state = JournalEntry::State {
            log: self.id,
            disk: self.disk,
            configuration: configuration.clone(),
            boot: self.boot,
            standing,
            from: records.start_mark(),
        };
        let state = self.put_active(&state)?;
        self.is_truncation_due = false;
        let cut = self.places.front().map_or(state, |(_, place)| *place);
        self.truncation = Some((state, cut.min(state)));
        self.request_sync();
        Ok(())
    }

    /// Asks for a sync of all that has been written, unless one was.
    pub(crate) fn request_sync(&mut self) {
        if self.requested < self.log.appended() {
            self.requested = self.log.appended();
            self.log.request_sync();
        }
    }

    /// Whether a sync is worth waiting for on this thread, as the last one was.
    pub(crate) fn is_quick(&self) -> bool {
        self.log.status().sync_latency_us_last <= SYNC_HERE_MAX / MICROSECOND
    }

    /// Syncs all that has been written, on this thread.
    pub(crate) fn sync_now(&mut self) -> Result<(), LogError> {
        self.requested = self.log.appended();
        self.log.sync_now()
    }

    /// Whether an entry that starts there is on disk.
    pub(crate) fn is_synced(&self, place: commit_log::Position) -> bool {
        self.log.synced() > place
    }

    /// Records below this are on disk. Also finishes truncations.
    pub(crate) fn poll_synced(&mut self) -> Result<RecordNumber, LogError> {
        let synced = self.log.poll_synced()?;
        if let Some((_, cut)) = self.truncation.take_if(|(state, _)| *state < synced) {
            self.log.truncate_before(cut)?;
        }
        // No record comes to lie below what was synced before it was written.
        if synced == std::mem::replace(&mut self.polled, synced) {
            return Ok(self.synced);
        }
        // Places are those of records in order; what was synced before the last look is skipped at once.
        let first_unsynced = self.places.partition_point(|(_, place)| *place < synced);
        if let Some((position, _)) = first_unsynced.checked_sub(1).and_then(|last| self.places.get(last)) {
            self.synced = self.synced.max(position.plus(1));
        }
        Ok(self.synced)
    }
}

/// An epoch that has begun and is not active yet.
struct Begun {
    from: RecordNumber,
    base: LogMark,
    records: Retained,
    places: RecordPlaces,
}

/// A journal that is being read.
struct Replay {
    configuration: Option<Configuration>,
    standing: DiskStanding,
    boot: Option<Boot>,
    records: Retained,
    places: RecordPlaces,
    begun: Option<Begun>,
}

impl Replay {
    fn of<L: Log>(log: &L) -> Result<Option<(LogId, DiskId, Replay)>, JournalError> {
        let mut replay = Replay {
            configuration: None,
            standing: DiskStanding::Disk,
            boot: None,
            records: Retained::default(),
            places: VecDeque::new(),
            begun: None,
        };
        let (mut names, mut is_empty) = (None, true);
        for entry in log.read_from(log.first()) {
            let (place, bytes) = entry?;
            is_empty = false;
            let entry = Compact::read(&bytes).map_err(|source| JournalError::Entry { position: place, source })?;
            if let JournalEntry::Made { log, disk } | JournalEntry::State { log, disk, .. } = &entry {
                names = Some((*log, *disk));
            }
            replay.take(place, entry)?;
        }
        if is_empty {
            return Ok(None);
        }
        let (id, disk) = names.ok_or(JournalError::Nameless)?;
        for (index, record) in replay.records.starting_at(replay.records.from()).enumerate() {
            let position = replay.records.from().plus(index);
            if record.bytes.len() > RECORD_BYTES_MAX || !record.is_sound(id, position) {
                return Err(JournalError::Record(position));
            }
        }
        Ok(Some((id, disk, replay)))
    }

    fn take(&mut self, place: commit_log::Position, entry: JournalEntry) -> Result<(), JournalError> {
        match entry {
            JournalEntry::Made { .. } => {}
            JournalEntry::Record { position, record } => {
                // A record of its own, not of the buffer that it was read into.
                let record = CheckedRecord { bytes: Bytes::copy_from_slice(&record.bytes), ..record };
                match &mut self.begun {
                    Some(Begun { records, places, .. }) => push(records, places, position, place, record)?,
                    None => push(&mut self.records, &mut self.places, position, place, record)?,
                }
            }
            JournalEntry::Begin { from, base } => {
                self.begun = Some(Begun { from, base, records: Retained::behind(base), places: RecordPlaces::new() });
            }
            JournalEntry::Active { configuration, boot } => {
                check_configuration(&configuration)?;
                self.boot = Some(boot);
                self.configuration = Some(configuration);
                self.standing = DiskStanding::Disk;
                // Its beginning may have been given up: then its records have already been taken, one after the other.
                if let Some(begun) = self.begun.take() {
                    self.adopt(begun);
                }
            }
            JournalEntry::Standing { standing } => self.standing = standing,
            JournalEntry::Cut => self.boot = None,
            JournalEntry::Abandoned => self.begun = None,
            JournalEntry::State { configuration, boot, standing, from, .. } => {
                check_configuration(&configuration)?;
                self.boot = Some(boot);
                self.configuration = Some(configuration);
                self.standing = standing;
                self.records.truncate_before(from.position);
                if self.records.from() < from.position {
                    self.records = Retained::behind(from);
                }
                // Where more has been given up than it says, another one stands further on.
                if self.records.from() == from.position {
                    self.records.set_epoch_before(from.epoch);
                }
                while self.places.front().is_some_and(|(position, _)| *position < from.position) {
                    self.places.pop_front();
                }
            }
        }
        Ok(())
    }

    fn adopt(&mut self, begun: Begun) {
        let Begun { from, base, records, places } = begun;
        if base.position == from || self.records.mark(base.position) != Some(base) {
            self.records = records;
            self.places = places;
            return;
        }
        self.records.truncate_from(base.position);
        records.starting_at(base.position).for_each(|record| self.records.push(record.clone()));
        let kept = self.places.partition_point(|(position, _)| *position < base.position);
        self.places.truncate(kept);
        self.places.extend(places);
        self.records.truncate_before(from);
        while self.places.front().is_some_and(|(position, _)| *position < from) {
            self.places.pop_front();
        }
    }
}

/// Adds a record. The first one says where the log starts, since what was before may have been given up.
fn push(
    records: &mut Retained,
    places: &mut RecordPlaces,
    position: RecordNumber,
    place: commit_log::Position,
    record: CheckedRecord,
) -> Result<(), JournalError> {
    if records.end() == records.from() && places.is_empty() && records.from() != position {
        // The epoch of the record before is not known here; `State`, which stands further on, says it.
        *records = Retained::behind(LogMark { position, ..LogMark::default() });
    }
    records.truncate_from(position);
    places.truncate(places.partition_point(|(at, _)| *at < position));
    if records.end() != position {
        return Err(JournalError::Record(position));
    }
    records.push(record);
    places.push_back((position, place));
    Ok(())
}
