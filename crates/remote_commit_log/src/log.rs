//! The log. See the crate's description for its invariants.

use commit_log::{Log, LogError, LogReceipt, LogRecords, LogStatus, Position, frame_bytes};
use network_memory::host::log_folder::{FolderError, FolderOpening, LogFolder, LogName};
use network_memory::host::remote_log::{RemoteLog, RemoteLogError};
use network_memory::host::told::OperatorTold;
use network_memory::names;
use network_memory::stream::StreamPlaces;
use network_memory::writer::{AppendError, LogEvent, WriterStop};
use rustix::fd::OwnedFd;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use thiserror::Error;

use crate::limits::{LOOK, PIECE_BYTES, RETAINED_BYTES_MAX, TELLING_INTERVAL};
use crate::piece::{Piece, RecordPart};

/// Why a site's log is not opened.
#[derive(Debug, Error)]
pub enum LogOpenError {
    /// The folder, its local part, or the servers.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It has records that no site has written.
    #[error(
        "record {position} of the log in {folder} is none of a site's log, or out of order: another program has written it"
    )]
    Foreign {
        /// The folder.
        folder: String,
        /// Which.
        position: names::RecordNumber,
    },
    /// The operating system.
    #[error("the connections of the log in {folder} cannot be watched: {source}")]
    Watch {
        /// The folder.
        folder: String,
        /// What it says.
        source: io::Error,
    },
}

/// See the crate's description.
pub struct RemoteCommitLog {
    log: RemoteLog,
    name: LogName,
    watcher: OwnedFd,
    /// Of every record that is kept.
    starts: StreamPlaces<Position>,
    end: Position,
    synced: Position,
    /// Up to here a sync was asked for.
    wanted: Position,
    /// Up to here it was sent.
    sent: Position,
    /// When the log must be looked after, whether a sync is wanted or not.
    due: Instant,
    /// When it is looked next whether the operator is to be told something.
    tells_at: Instant,
    bytes_appended: u64,
    buffer: Vec<u8>,
    told: OperatorTold,
    /// Why it has stopped, until that was said.
    failure: Option<LogError>,
    has_failed: bool,
    /// Goes last: until then nobody else may open it.
    _folder: LogFolder,
}

impl RemoteCommitLog {
    /// Opens the log whose local part is in this folder, or makes it, to begin at this position. Blocks until it is open, or it is known why
    /// not, or the opening's time is over.
    ///
    /// # Errors
    /// See [`LogOpenError`]. With [`RemoteLogError::Indeterminate`] inside, servers must come back first.
    pub fn open(folder: &Path, opening: &FolderOpening, begins_at: Position) -> Result<RemoteCommitLog, LogOpenError> {
        let opening = FolderOpening { retained_bytes_max: RETAINED_BYTES_MAX, ..opening.clone() };
        let path = folder.display().to_string();
        let folder = LogFolder::take(folder)?;
        let (mut log, name, _) = folder.open(&opening)?;
        let (starts, end) = match read(&log) {
            Ok((starts, end)) => (starts, end.unwrap_or(begins_at)),
            Err(position) => return Err(LogOpenError::Foreign { folder: path, position }),
        };
        let watcher = log.watch().map_err(|source| LogOpenError::Watch { folder: path, source })?;
        Ok(RemoteCommitLog {
            log,
            name,
            watcher,
            starts,
            end,
            // What an opened log has stays in it.
            synced: end,
            wanted: end,
            sent: end,
            due: Instant::now(),
            tells_at: Instant::now(),
            bytes_appended: 0,
            buffer: Vec::new(),
            told: OperatorTold::default(),
            failure: None,
            has_failed: false,
            _folder: folder,
        })
    }

    /// A descriptor that is readable when [`Log::poll_synced`] may find something.
    pub fn watcher(&self) -> &OwnedFd {
        &self.watcher
    }

    /// The servers, as it was opened with.
    pub fn servers(&self) -> &[SocketAddr] {
        &self.name.servers
    }

    /// k.
    pub fn copies(&self) -> u8 {
        self.name.copies
    }

    /// Ends the use of the log in order, within this time: the next opening needs no server.
    ///
    /// # Errors
    /// The disk has failed, or not followed in time; the next opening asks the servers.
    pub fn close(self, time: Duration) -> Result<(), LogError> {
        self.log.close(time).map_err(|error| log_error(error).0)
    }

    /// Ends the log for good: servers that answer within this time forget it.
    ///
    /// # Errors
    /// Not all of them have.
    pub fn remove(self, time: Duration) -> Result<(), RemoteLogError> {
        self.log.remove(time)
    }

    /// Tells the failure of the log, once as what it was.
    fn check(&mut self) -> Result<(), LogError> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None if self.has_failed => Err(LogError::Failed),
            None => Ok(()),
        }
    }

    fn fail(&mut self, error: RemoteLogError) {
        let (error, is_final) = log_error(error);
        if is_final && !self.has_failed {
            self.has_failed = true;
            self.failure = Some(error);
        }
    }

    /// Sends what was appended and takes what has come.
    fn advance(&mut self) {
        if self.has_failed {
            return;
        }
        let now = Instant::now();
        match self.log.turn() {
            Ok(turned) => {
                self.sent = self.end;
                self.due = now + turned.due;
                self.synced = self.synced.max(self.ended(turned.acknowledged));
            }
            Err(error) => self.fail(error),
        }
        if now >= self.tells_at {
            self.tells_at = now + TELLING_INTERVAL;
            self.tell();
        }
    }

    /// Where the last record ends that is whole below this record of the remote log.
    fn ended(&self, upto: names::RecordNumber) -> Position {
        self.starts.whole_below(upto, self.log.extent().1, self.end)
    }

    /// Tells the operator what has happened.
    fn tell(&mut self) {
        for event in self.log.events() {
            let Some(text) = self.told.text(&event, self.name.copies) else { continue };
            match event {
                LogEvent::MemoryBack | LogEvent::ServerBack(_) => tracing::info!("the log: {text}"),
                _ => tracing::warn!("the log: {text}"),
            }
        }
    }
}

/// Where the records of a log begin, and where the last one ends; an error is a record that does not belong there.
fn read(log: &RemoteLog) -> Result<(StreamPlaces<Position>, Option<Position>), names::RecordNumber> {
    let (mut starts, mut end) = (StreamPlaces::default(), None);
    // The record that has begun and not ended: where, and how many bytes it has so far.
    let mut begun: Option<((Position, names::RecordNumber), usize)> = None;
    let (from, behind) = log.extent();
    for place in (from.0..behind.0).map(names::RecordNumber) {
        let record = log.read(place).unwrap_or_default();
        let Piece { part, position, bytes } = Piece::decode(&record).ok_or(place)?;
        if part.begins() {
            begun = Some(((position, place), 0));
        }
        let ((start, _), length) = begun.as_mut().ok_or(place)?;
        *length += bytes.len();
        if *start != position || end.is_some_and(|end| end != position) {
            return Err(place);
        }
        if part.ends() {
            let (start, length) = begun.take().ok_or(place)?;
            end = Some(Position(position.0 + frame_bytes(length) as u64));
            starts.note(start.0, start.1);
        }
    }
    Ok((starts, end))
}

/// What a failure of the remote log is to a site, and whether it is final.
fn log_error(error: RemoteLogError) -> (LogError, bool) {
    match error {
        RemoteLogError::Append(AppendError::Disk(error)) | RemoteLogError::Log(error) => (error, false),
        RemoteLogError::Append(AppendError::Long { bytes }) => (LogError::RecordSize { bytes }, false),
        error @ RemoteLogError::Append(AppendError::Retained { .. }) => {
            (LogError::Elsewhere { reason: error.to_string() }, false)
        }
        RemoteLogError::Stopped(WriterStop::DiskFailed(reason)) => {
            (LogError::SyncFailed { source: io::Error::other(reason) }, true)
        }
        error => (LogError::Elsewhere { reason: error.to_string() }, true),
    }
}

impl Log for RemoteCommitLog {
    fn append(&mut self, record: &[u8]) -> Result<Position, LogError> {
        self.check()?;
        if !(1..=commit_log::limits::RECORD_BYTES_MAX).contains(&record.len()) {
            return Err(LogError::RecordSize { bytes: record.len() });
        }
        let position = self.end;
        let (count, mut start) = (record.len().div_ceil(PIECE_BYTES), None);
        for (index, bytes) in record.chunks(PIECE_BYTES).enumerate() {
            Piece { part: RecordPart::of(index, count), position, bytes }.encode_into(&mut self.buffer);
            match self.log.append_no_wait(&self.buffer) {
                Ok(place) => _ = start.get_or_insert(place),
                Err(error) => {
                    let (error, is_final) = log_error(error);
                    self.has_failed |= is_final;
                    return Err(error);
                }
            }
        }
        self.starts.note(position, start.expect("a record has a piece"));
        let bytes = frame_bytes(record.len()) as u64;
        self.end = Position(position.0 + bytes);
        self.bytes_appended += bytes;
        Ok(position)
    }

    fn appended(&self) -> Position {
        self.end
    }

    fn synced(&self) -> Position {
        self.synced
    }

    fn on_disk(&self) -> Position {
        self.ended(self.log.on_disk()).min(self.synced)
    }

    fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn first(&self) -> Position {
        self.starts.first().map_or(self.end, |(position, _)| position)
    }

    fn request_sync(&mut self) {
        self.wanted = self.end;
    }

    fn poll_synced(&mut self) -> Result<Position, LogError> {
        if self.synced < self.wanted || Instant::now() >= self.due {
            self.advance();
        }
        self.check()?;
        Ok(self.synced)
    }

    fn sync_now(&mut self) -> Result<(), LogError> {
        self.check()?;
        loop {
            match self.log.flush(LOOK) {
                Ok(_) => break,
                Err(RemoteLogError::Late) => {}
                Err(error) => {
                    self.fail(error);
                    return self.check();
                }
            }
        }
        self.synced = self.end;
        Ok(())
    }

    fn truncate_before(&mut self, position: Position) -> Result<(), LogError> {
        self.check()?;
        // The last record stays, and what nobody has acknowledged.
        let dropped = self.starts.count_below(position.min(self.synced));
        let Some(place) = self.starts.place(dropped) else { return Ok(()) };
        match self.log.truncate_before(place) {
            Ok(()) => self.starts.forget(dropped),
            // The next time.
            Err(RemoteLogError::Unacknowledged(_)) => {}
            Err(error) => {
                self.fail(error);
                return self.check();
            }
        }
        Ok(())
    }

    fn read_from(&self, position: Position) -> LogRecords<'_> {
        let (first, end) = (self.first(), self.end);
        let error = match self.starts.from(position) {
            Some(starts) => return Box::new(RecordsBeingRead { log: &self.log, starts }),
            None if position == end => return Box::new(std::iter::empty()),
            None if position < first => LogError::Truncated { position, first },
            None if position > end => LogError::BeyondEnd { position, end },
            None => LogError::NotARecord { position },
        };
        Box::new(std::iter::once(Err(error)))
    }

    fn turn(&mut self) -> Option<Duration> {
        if Instant::now() >= self.due {
            self.advance();
        } else if self.sent < self.wanted {
            // What has come waits for whoever polls: it is he who hands it on.
            self.log.send();
            self.sent = self.end;
        }
        // Of a log that has failed whoever asks is told; there is nothing to be done.
        (!self.has_failed).then(|| self.due.saturating_duration_since(Instant::now()))
    }

    fn status(&self) -> LogStatus {
        let status = self.log.status();
        let receipt = match status.in_force {
            Some(names::RecordReceipt::Memory { copies }) => LogReceipt::Memory { copies },
            Some(names::RecordReceipt::Disk) | None => LogReceipt::Disk,
        };
        let disk = self.log.disk_status().unwrap_or_default();
        LogStatus { bytes_appended: self.bytes_appended, receipt, window_bytes: status.window_bytes, ..disk }
    }
}

/// Records that are being read.
struct RecordsBeingRead<'a, Starts> {
    log: &'a RemoteLog,
    starts: Starts,
}

impl<Starts: Iterator<Item = (Position, names::RecordNumber)>> Iterator for RecordsBeingRead<'_, Starts> {
    type Item = Result<(Position, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (position, mut place) = self.starts.next()?;
        let mut record = Vec::new();
        loop {
            let bytes = self.log.read(place).unwrap_or_default();
            let piece = Piece::decode(&bytes).expect("it was looked at when the log was opened, or appended here");
            record.extend_from_slice(piece.bytes);
            if piece.part.ends() {
                return Some(Ok((position, record)));
            }
            place = place.plus(1);
        }
    }
}
