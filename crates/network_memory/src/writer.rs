//! A log's writer: opens the log, appends to it, and tells what made a record durable. A pure machine over a [`commit_log::Log`].
//!
//! Invariants:
//! * a receipt is true when it is given: k members of this epoch hold everything up to the record, or a sync that covers it has returned
//!   and the disk alone may be enough;
//! * nothing is acknowledged before the log of the last epoch is held by whoever must hold it: restored on k members, or on this disk;
//! * before memory is counted on, the disk says that memory must be asked (where every recovery has the disk); before the disk alone is
//!   counted on, k members know that it may be (where it need not have);
//! * an epoch is established before anything is acknowledged in it: on disk, where every recovery has the disk; otherwise by k
//!   members that have kept their memory since the configuration on which it is based, or by all members. A server that has lost its
//!   memory has forgotten whom it had sealed for: an attempt with a higher number, which it had let pass, must find nobody any more
//!   who has not heard of this epoch. That holds of whoever accepts a loss, too, unless something is given up;
//! * a writer that learns of a higher epoch does nothing any more.
//!
//! `opening` asks for the log and seals it, `reading` reads it, and `beginning` begins an epoch; `judge` decides whether that is possible; `peers` ships and restores; `standing` decides
//! when the disk is asked, and when memory is gone back to; `terms` are what it is told
//! and what it tells.

mod beginning;
mod judge;
mod opening;
mod peer;
mod peers;
mod reading;
mod standing;
mod terms;
#[cfg(test)]
mod tests;

pub use judge::{Lack, Missing};
pub use terms::{
    AppendError, BeginError, Boot, Intent, JournalError, LogEvent, WriterDisk, WriterStatus, WriterStop, WriterTerms,
};

use crate::journal::{DiskStanding, Journal};
use crate::limits::{EVENTS_MAX, FULL_PAUSE, PROBE_PAUSE, RECORD_BYTES_MAX, SERVERS_MAX};
use crate::message::{CheckedRecord, ServerReply, ToWriter, WriterRequest};
use crate::names::{Configuration, Fallback, LogId, RecordNumber, RecordReceipt, RecoveryDoubt, ServerId, WriterEpoch};
use crate::planted::PlantedInLog;
use crate::retained::{Retained, cost};
use beginning::Beginning;
use bytes::Bytes;
use commit_log::{Log, LogError};
use opening::Sealing;
use peer::{PeerState, ServerPeer};
use reading::Fetching;
use standing::{Hedge, Lease};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

enum WriterPhase {
    Sealing(Sealing),
    Fetching(Box<Fetching>),
    /// The disk has no room for the epoch, which is tried again then.
    Entering(Box<Beginning>, u64),
    Active,
    /// The log is over, and these servers have not forgotten it yet; they were asked then.
    Removing(BTreeSet<ServerId>, u64),
    Stopped(WriterStop),
}

/// See the module's description.
pub struct LogWriter<L> {
    terms: WriterTerms,
    nonce: u64,
    intent: Intent,
    planted: Option<PlantedInLog>,
    phase: WriterPhase,
    /// What is wanting for the log to be opened.
    missing: Option<Missing>,
    /// It has been opened, and receipts are given.
    opened: bool,
    /// It is being closed: the disk alone is to be enough.
    is_closing: bool,
    epoch: WriterEpoch,
    /// Of the log in `records`; none if there never was one.
    configuration: Option<Configuration>,
    records: Retained,
    peers: BTreeMap<ServerId, ServerPeer>,
    journal: Option<Journal<L>>,
    /// When the log was opened everything acknowledged was on this disk.
    is_complete: bool,
    standing: DiskStanding,
    /// Where the journal says so.
    standing_place: Option<commit_log::Position>,
    /// The last configuration before this epoch's that is known of; none if there was none, or nobody minds.
    basis: Option<Configuration>,
    /// If the basis is not known to be established: the epochs that were known when it was chosen. A server with another one has something to say.
    judged: Option<BTreeSet<WriterEpoch>>,
    /// No epoch that does not know of this one can begin any more.
    established: bool,
    /// What the log held when this epoch began, to be told when it is open.
    beginning: Option<LogEvent>,
    began_at: RecordNumber,
    /// Of the opening.
    doubt: Option<RecoveryDoubt>,
    acknowledged: RecordNumber,
    receipts: VecDeque<(RecordNumber, RecordReceipt)>,
    /// Records without a receipt, and when they were appended.
    waiting: VecDeque<(RecordNumber, u64)>,
    hedge: Hedge,
    /// The disk had no room when it was last written to, which has been told.
    is_disk_full: bool,
    /// What is not urgent is not written to it before.
    disk_full_until: u64,
    /// Memory is enough for a receipt, which has been told.
    is_memory_told: bool,
    /// Where the disk alone counts, whoever waits syncs.
    leaves_sync: bool,
    is_sync_left: bool,
    lease: Lease,
    renewal_at: u64,
    renewal_pause: u64,
    /// When it was outbid last it waited for a part of this; next time it is a part of twice this.
    outbid_pause: u64,
    requests: VecDeque<(ServerId, WriterRequest)>,
    events: VecDeque<LogEvent>,
}

impl<L: Log> LogWriter<L> {
    /// Begins to open a log. `nonce` is drawn at random: no two writers have the same. Each further attempt derives one of its own.
    ///
    /// # Errors
    /// The terms or the disk are of no use.
    pub fn begin(
        now: u64,
        terms: WriterTerms,
        nonce: u64,
        disk: Option<WriterDisk<L>>,
        intent: Intent,
        planted: Option<PlantedInLog>,
    ) -> Result<LogWriter<L>, BeginError> {
        let WriterTerms { copies, members, .. } = terms;
        let servers = terms.servers.len();
        if copies == 0 || copies > members || usize::from(members) > servers || servers > SERVERS_MAX {
            return Err(BeginError::Terms { servers, members, copies });
        }
        let is_twice = |(index, server): (usize, &ServerId)| terms.servers[..index].contains(server).then_some(*server);
        if let Some(server) = terms.servers.iter().enumerate().find_map(is_twice) {
            return Err(BeginError::Twice(server));
        }
        // After a sync that failed the kernel may have dropped what was written, without a new run.
        let is_cut = disk.as_ref().is_some_and(|disk| disk.is_cut) && planted != Some(PlantedInLog::CutForgotten);
        let boot = disk.as_ref().filter(|_| !is_cut).map(|disk| disk.boot);
        let (mut journal, replayed) = match disk {
            None if terms.restart_on_this_disk && intent == Intent::Create => return Err(BeginError::NoDisk),
            None => (None, None),
            Some(disk) => match Journal::replay(disk.log, disk.boot)? {
                Ok((_, replayed)) if replayed.log != terms.log => {
                    return Err(BeginError::Other { found: replayed.log, expected: terms.log });
                }
                Ok((_, replayed)) if replayed.configuration.is_some() && intent == Intent::Create => {
                    return Err(BeginError::Exists);
                }
                Ok((journal, replayed)) => (Some(journal), Some(replayed)),
                Err(log) => (Some(Journal::create(log, terms.log, disk.name_if_new, disk.boot)?), None),
            },
        };
        if let Some(journal) = journal.as_mut().filter(|_| is_cut) {
            journal.cut().map_err(JournalError::Log)?;
        }
        let replayed = replayed.filter(|replayed| replayed.configuration.is_some());
        let is_complete = replayed
            .as_ref()
            .is_some_and(|replayed| boot.is_some() && replayed.boot == boot || replayed.standing == DiskStanding::Disk);
        let (configuration, records) = match replayed {
            Some(replayed) => (replayed.configuration, replayed.records),
            None => (None, Retained::default()),
        };
        let known = configuration.iter().flat_map(|configuration| &configuration.members).map(|member| member.server);
        let peers = terms.servers.iter().copied().chain(known).map(|server| (server, ServerPeer::default())).collect();
        let mut writer = LogWriter {
            terms,
            nonce,
            intent,
            planted,
            phase: WriterPhase::Active,
            missing: None,
            opened: false,
            is_closing: false,
            epoch: WriterEpoch::default(),
            configuration,
            acknowledged: records.end(),
            records,
            peers,
            journal,
            is_complete,
            standing: DiskStanding::Disk,
            standing_place: None,
            basis: None,
            judged: None,
            established: false,
            beginning: None,
            began_at: RecordNumber(0),
            doubt: None,
            receipts: VecDeque::new(),
            waiting: VecDeque::new(),
            hedge: Hedge::default(),
            is_disk_full: false,
            disk_full_until: 0,
            is_memory_told: false,
            leaves_sync: false,
            is_sync_left: false,
            lease: Lease::default(),
            renewal_at: 0,
            renewal_pause: 0,
            outbid_pause: 0,
            requests: VecDeque::new(),
            events: VecDeque::new(),
        };
        let last = writer.configuration.as_ref().map_or(0, |configuration| configuration.epoch.number);
        writer.look(now, last + 1);
        Ok(writer)
    }

    /// Which log.
    pub fn log(&self) -> LogId {
        self.terms.log
    }

    /// Whether receipts are given.
    pub fn is_open(&self) -> bool {
        self.opened && !matches!(self.phase, WriterPhase::Stopped(_) | WriterPhase::Removing(..))
    }

    /// Why nothing happens any more.
    pub fn stopped(&self) -> Option<&WriterStop> {
        if let WriterPhase::Stopped(stop) = &self.phase { Some(stop) } else { None }
    }

    /// What the opening could not vouch for.
    pub fn doubt(&self) -> Option<RecoveryDoubt> {
        self.doubt.filter(|_| self.opened)
    }

    /// What an opening waits for.
    pub fn missing(&self) -> Option<&Missing> {
        self.missing.as_ref().filter(|_| matches!(self.phase, WriterPhase::Sealing(_) | WriterPhase::Fetching(_)))
    }

    /// All servers that it may speak to.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> {
        self.peers.keys().copied()
    }

    /// The first record.
    pub fn from(&self) -> RecordNumber {
        self.records.from()
    }

    /// Behind the last record.
    pub fn end(&self) -> RecordNumber {
        self.records.end()
    }

    /// Everything below has a receipt.
    pub fn acknowledged(&self) -> RecordNumber {
        self.acknowledged
    }

    /// A record that has not been truncated.
    pub fn read(&self, position: RecordNumber) -> Option<&Bytes> {
        self.records.get(position).map(|record| &record.bytes)
    }

    /// Receipts that have not been asked for, in order: each for all records below.
    pub fn take_receipts(&mut self) -> impl Iterator<Item = (RecordNumber, RecordReceipt)> {
        self.receipts.drain(..)
    }

    /// Requests that are to be sent.
    pub fn take_requests(&mut self) -> Option<(ServerId, WriterRequest)> {
        self.requests.pop_front()
    }

    /// What has happened.
    pub fn take_event(&mut self) -> Option<LogEvent> {
        self.events.pop_front()
    }

    /// The disk's files, for the simulator and whoever closes the log.
    pub fn disk(&self) -> Option<&L> {
        self.journal.as_ref().map(Journal::log)
    }

    /// As [`LogWriter::disk`].
    pub fn disk_mut(&mut self) -> Option<&mut L> {
        self.journal.as_mut().map(Journal::log_mut)
    }

    /// Ends the writer as a crash would.
    pub fn into_disk(self) -> Option<L> {
        self.journal.map(Journal::into_log)
    }

    /// Appends a record; [`LogWriter::flush`] sends it.
    ///
    /// # Errors
    /// See [`AppendError`].
    pub fn append(&mut self, now: u64, bytes: &[u8]) -> Result<RecordNumber, AppendError> {
        if !self.is_open() {
            let reason = match (&self.phase, self.missing()) {
                (WriterPhase::Stopped(stop), _) => stop.to_string(),
                (_, Some(missing)) => missing.to_string(),
                _ => "it is being opened".to_owned(),
            };
            return Err(AppendError::NotOpen(reason));
        }
        if self.is_closing {
            return Err(AppendError::NotOpen("it is being closed".to_owned()));
        }
        if bytes.len() > RECORD_BYTES_MAX {
            return Err(AppendError::Long { bytes: bytes.len() });
        }
        let position = self.records.end();
        let record = CheckedRecord::new(self.terms.log, position, self.epoch, Bytes::copy_from_slice(bytes));
        let bytes_max = self.terms.retained_bytes_max;
        if self.records.bytes() + cost(&record) > bytes_max {
            return Err(AppendError::Retained { bytes: self.records.bytes(), bytes_max });
        }
        if let Some(journal) = &mut self.journal {
            if let Err(error) = journal.record(position, &record) {
                if is_passing(&error) {
                    self.tell_disk_full(now);
                }
                return Err(AppendError::Disk(error));
            }
            self.is_disk_full = false;
        }
        self.records.push(record);
        self.waiting.push_back((position, now));
        Ok(position)
    }

    /// Sends what has been appended.
    pub fn flush(&mut self, now: u64) {
        self.ship(now);
        self.advance(now);
    }

    /// Has the disk follow: asks for a sync of what has been appended, unless one was asked for.
    pub fn request_sync(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.request_sync();
        }
    }

    /// Somebody waits for a receipt, and syncs the disk himself when [`LogWriter::is_sync_left`], or no longer does.
    pub fn leave_sync(&mut self, is_left: bool) {
        self.leaves_sync = is_left;
        if !is_left && std::mem::take(&mut self.is_sync_left) {
            self.request_sync();
        }
    }

    /// Whether the disk alone can make durable what is waited for, and has not been asked: [`LogWriter::sync_now`] is what is left to be done.
    pub fn is_sync_left(&self) -> bool {
        self.is_sync_left
    }

    /// Syncs the disk on this thread: two switches between threads take as long as a quick disk.
    pub fn sync_now(&mut self, now: u64) {
        self.is_sync_left = false;
        if let Some(Err(error)) = self.journal.as_mut().map(Journal::sync_now) {
            self.fail(&error);
        }
        self.advance(now);
    }

    /// Gives up records below a position, which must have a receipt.
    ///
    /// # Panics
    /// If a record below has no receipt.
    pub fn truncate_before(&mut self, now: u64, position: RecordNumber) {
        assert!(position <= self.acknowledged, "only what has been acknowledged is truncated");
        if position <= self.records.from() || !self.is_open() {
            return;
        }
        self.records.truncate_before(position);
        if let (Some(journal), Some(configuration)) = (&mut self.journal, &self.configuration)
            && let Err(error) = journal.truncate(configuration, self.standing, &self.records)
        {
            self.fail_or_wait(now, &error);
        }
        self.advance(now);
    }

    /// Ends the use of the log in order: nothing can be appended any more, and where every recovery has the disk, it follows to the end and
    /// then says that it is enough, so that the next opening needs no server. [`LogWriter::is_closed`] tells when.
    pub fn close(&mut self, now: u64) {
        self.is_closing = true;
        self.advance(now);
        self.request_sync();
    }

    /// Whether everything is on disk, and the disk says so, since [`LogWriter::close`].
    pub fn is_closed(&self) -> bool {
        let says_so = match (&self.journal, self.standing_place) {
            _ if self.planted == Some(PlantedInLog::ClosedTooSoon) => true,
            (Some(journal), Some(place)) => self.standing == DiskStanding::Disk && journal.is_synced(place),
            _ => self.standing == DiskStanding::Disk,
        };
        self.is_closing && says_so && self.synced() >= self.records.end()
    }

    /// Ends the log: has all members that hold it forget it, and then stops with [`WriterStop::Removed`]. Nothing can be appended any more. Members
    /// that do not answer keep it, and the local disk keeps what it has.
    ///
    /// # Errors
    /// The log is not open.
    pub fn remove(&mut self, now: u64) -> Result<(), AppendError> {
        if !self.is_open() || !matches!(self.phase, WriterPhase::Active) {
            return Err(AppendError::NotOpen("it is being opened, or has stopped".to_owned()));
        }
        let active = self.peers.iter().filter(|(_, peer)| is_active(peer)).map(|(server, _)| *server).collect();
        self.phase = WriterPhase::Removing(active, now);
        self.ask_to_remove(now);
        Ok(())
    }

    fn ask_to_remove(&mut self, now: u64) {
        let WriterPhase::Removing(left, at) = &mut self.phase else { return };
        *at = now;
        let epoch = self.epoch;
        self.requests.extend(left.iter().map(|server| (*server, WriterRequest::Remove { epoch })));
        if left.is_empty() {
            self.stop(WriterStop::Removed);
        }
    }

    fn hear_removed(&mut self, now: u64, server: ServerId, reply: &ServerReply) {
        let WriterPhase::Removing(left, _) = &mut self.phase else { return };
        // A server that refuses holds another log of this name.
        if matches!(reply, ServerReply::Removed { epoch } | ServerReply::Refused { epoch, .. } if *epoch == self.epoch)
        {
            left.remove(&server);
        }
        if left.is_empty() {
            self.ask_to_remove(now);
        }
    }

    /// Takes a server's reply.
    pub fn handle(&mut self, now: u64, server: ServerId, message: ToWriter) {
        // What cannot be is as good as nothing: its server counts as silent.
        if message.log != self.terms.log || !self.peers.contains_key(&server) || message.reply.check().is_err() {
            return;
        }
        match self.phase {
            WriterPhase::Stopped(_) => return,
            WriterPhase::Removing(..) => return self.hear_removed(now, server, &message.reply),
            _ => {}
        }
        self.hear(now, server, message);
        self.advance(now);
    }

    /// Does what is due.
    pub fn tick(&mut self, now: u64) {
        match self.phase {
            WriterPhase::Sealing(_) => self.tick_sealing(now),
            WriterPhase::Fetching(_) => self.tick_fetching(now),
            WriterPhase::Entering(..) => self.tick_entering(now),
            WriterPhase::Removing(_, at) if at + PROBE_PAUSE <= now => self.ask_to_remove(now),
            WriterPhase::Removing(..) => {}
            WriterPhase::Active => {
                self.tick_peers(now);
                self.ship(now);
            }
            WriterPhase::Stopped(_) => return,
        }
        self.advance(now);
    }

    /// How it stands at this time.
    pub fn status(&self, now: u64) -> WriterStatus {
        let synced = self.synced();
        let unsynced = self.records.starting_at(synced).take(self.acknowledged.since(synced));
        let copies =
            self.peers.values().filter(|peer| peer.held().is_some_and(|held| held >= self.acknowledged)).count();
        WriterStatus {
            epoch: self.epoch,
            from: self.records.from(),
            acknowledged: self.acknowledged,
            appended: self.records.end(),
            synced,
            window_bytes: unsynced.map(|record| record.bytes.len() as u64).sum(),
            in_force: self.in_force(now),
            copies,
            hedge: self.hedge.delay(),
            retained_bytes: self.records.bytes(),
        }
    }

    /// Which members count; none before the log is known.
    pub fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    /// For the simulator's checker: the records, and where they ended when this epoch began.
    pub(crate) fn peek(&self) -> (&Retained, RecordNumber) {
        (&self.records, self.began_at)
    }

    /// The epoch that this writer has begun last.
    pub(crate) fn epoch(&self) -> WriterEpoch {
        self.epoch
    }

    /// For the simulator's checker: the epoch for which the log is being sealed.
    pub(crate) fn sealing(&self) -> Option<WriterEpoch> {
        match &self.phase {
            WriterPhase::Sealing(sealing) if !sealing.is_asking() => Some(sealing.epoch()),
            _ => None,
        }
    }

    /// Everything below is on the local disk; what was truncated, if there is none.
    pub fn synced(&self) -> RecordNumber {
        self.journal.as_ref().map_or(self.records.from(), Journal::synced)
    }

    fn tell(&mut self, event: LogEvent) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn stop(&mut self, stop: WriterStop) {
        if !matches!(self.phase, WriterPhase::Stopped(_)) {
            self.tell(LogEvent::Stopped(stop.clone()));
            self.phase = WriterPhase::Stopped(stop);
            self.requests.clear();
        }
    }

    fn fail(&mut self, error: &dyn std::fmt::Display) {
        self.stop(WriterStop::DiskFailed(error.to_string()));
    }

    /// A full disk is tried again later; any other failure is final.
    fn fail_or_wait(&mut self, now: u64, error: &LogError) {
        if is_passing(error) { self.tell_disk_full(now) } else { self.fail(error) }
    }

    /// The disk is not asked again before a while.
    fn tell_disk_full(&mut self, now: u64) {
        self.disk_full_until = now + FULL_PAUSE;
        if !std::mem::replace(&mut self.is_disk_full, true) {
            self.tell(LogEvent::DiskFull);
        }
    }

    /// k.
    fn copies(&self) -> usize {
        usize::from(self.configuration.as_ref().map_or(self.terms.copies, |configuration| configuration.copies))
    }

    /// Whether every recovery has this disk.
    fn has_disk_always(&self) -> bool {
        match &self.configuration {
            Some(configuration) => matches!(configuration.fallback, Fallback::RestartOnThisDisk(_)),
            None => self.terms.restart_on_this_disk,
        }
    }
}

impl<L> std::fmt::Debug for LogWriter<L> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let phase = match &self.phase {
            WriterPhase::Sealing(_) => "sealing",
            WriterPhase::Fetching(_) => "fetching",
            WriterPhase::Entering(..) => "entering",
            WriterPhase::Removing(..) => "removing",
            WriterPhase::Active => "active",
            WriterPhase::Stopped(_) => "stopped",
        };
        let peers: Vec<String> = self.peers.iter().map(|(server, peer)| format!("{server}: {peer:?}")).collect();
        formatter
            .debug_struct("Writer")
            .field("phase", &phase)
            .field("epoch", &self.epoch)
            .field("end", &self.records.end())
            .field("acknowledged", &self.acknowledged)
            .field("standing", &self.standing)
            .field("configuration", &self.configuration)
            .field("peers", &peers)
            .finish_non_exhaustive()
    }
}

/// Whether the disk has no room now, and may have some later. Nothing was written.
fn is_passing(error: &LogError) -> bool {
    matches!(error, LogError::DiskFull { .. } | LogError::Behind { .. })
}

/// Whether a member holds this epoch's log.
fn is_active(peer: &ServerPeer) -> bool {
    matches!(peer.state, PeerState::Active(_))
}
