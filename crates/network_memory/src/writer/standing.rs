//! What makes records durable now: memory, the disk, or whichever is first.
//!
//! Where every recovery has the disk, the disk says who must be asked (`DiskStanding`): it says `Memory`, on disk, before memory alone is
//! enough, and `Disk` again as soon as fewer than k members are there. Elsewhere k members say whether the disk alone is enough, each
//! for a lease; any seal meets one of them, and waits.

use super::{LogEvent, LogWriter, WriterPhase};
use crate::journal::{DiskStanding, Journal};
use crate::limits::{
    HEDGE_FIRST, HEDGE_MAX, HEDGE_MIN, LEASE, LEASE_MARGIN, LEASE_RENEWAL, RESEND, ROUND_TRIPS_KEPT,
    ROUND_TRIPS_PER_LOOK, VOUCHED,
};
use crate::message::WriterRequest;
use crate::names::{RecordNumber, RecordReceipt, ServerId};
use crate::planted::PlantedInLog;
use commit_log::Log;
use std::collections::VecDeque;

/// How long servers may take before the disk is asked too: about the 99th percentile of the last round trips.
#[derive(Debug, Default)]
pub(super) struct Hedge {
    samples: VecDeque<u64>,
    since_look: usize,
    delay: Option<u64>,
}

impl Hedge {
    pub(super) fn sample(&mut self, time: u64) {
        if self.samples.len() >= ROUND_TRIPS_KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(time);
        self.since_look += 1;
        if self.since_look >= ROUND_TRIPS_PER_LOOK {
            self.since_look = 0;
            let mut sorted: Vec<u64> = self.samples.iter().copied().collect();
            sorted.sort_unstable();
            self.delay = Some(sorted[sorted.len() * 99 / 100].clamp(HEDGE_MIN, HEDGE_MAX));
        }
    }

    pub(super) fn delay(&self) -> u64 {
        self.delay.unwrap_or(HEDGE_FIRST)
    }
}

/// The writer may acknowledge from its disk.
#[derive(Debug, Default)]
pub(super) struct Lease {
    number: u64,
    /// It is asked for, or held.
    is_wanted: bool,
    /// When it was asked for with this number.
    asked_at: u64,
    is_told: bool,
    /// Until then k members vouch for all that was acknowledged.
    vouched_until: u64,
    /// Whoever uses the log asks for it, because he took too long.
    is_confirming: bool,
}

impl<L: Log> LogWriter<L> {
    /// Draws the conclusions from whatever has happened: receipts, standing, lease, whether the log is open; and tells if memory is enough
    /// for a receipt from here on, or no longer.
    pub(super) fn advance(&mut self, now: u64) {
        if self.disk_full_until <= now {
            self.disk_full_until = 0;
        }
        self.conclude(now);
        let usable = self.usable(now);
        let is_possible = self.is_open() && matches!(self.phase, WriterPhase::Active) && self.established;
        let is_memory = is_possible && self.is_memory_enough() && usable >= self.copies();
        if is_memory != std::mem::replace(&mut self.is_memory_told, is_memory) {
            self.tell(if is_memory { LogEvent::MemoryBack } else { LogEvent::MemoryLost { copies: usable } });
        }
    }

    fn conclude(&mut self, now: u64) {
        if !matches!(self.phase, WriterPhase::Active) {
            return;
        }
        let synced = match self.journal.as_mut().map(Journal::poll_synced) {
            Some(Ok(synced)) => Some(synced),
            Some(Err(error)) => return self.fail(&error),
            None => None,
        };
        if !self.established && self.is_established() {
            self.established = true;
            self.ship(now);
        }
        let held = self.held_by(self.copies()).filter(|_| self.established);
        self.open_if_ready(held);
        if !self.opened {
            return;
        }
        self.give_up_space(now);
        if self.has_disk_always() {
            self.choose_standing(now, held);
        } else {
            self.choose_lease(now, held);
        }
        let copies = self.copies() - usize::from(self.planted == Some(PlantedInLog::OneCopyLess) && self.copies() > 1);
        let memory = self.held_by(copies).filter(|_| self.established && self.is_memory_enough());
        if let Some(memory) = memory.filter(|memory| *memory > self.acknowledged) {
            let until = self.vouched_until(memory).max(self.lease_until());
            if now < until || self.has_disk_always() || self.planted == Some(PlantedInLog::OldAnswersCount) {
                self.lease.vouched_until = until;
                self.acknowledge(memory, RecordReceipt::Memory { copies: self.copies() as u8 });
            }
        }
        let disk = synced.filter(|_| self.is_disk_enough(now));
        let disk = match self.planted {
            Some(PlantedInLog::ReceiptBeforeSync) if disk.is_some() && self.is_late(now) => Some(self.records.end()),
            _ => disk,
        };
        if let Some(disk) = disk.filter(|disk| *disk > self.acknowledged) {
            self.acknowledge(disk, RecordReceipt::Disk);
        }
        self.hurry(now);
    }

    fn acknowledge(&mut self, position: RecordNumber, receipt: RecordReceipt) {
        self.acknowledged = position;
        self.receipts.push_back((position, receipt));
        while self.waiting.front().is_some_and(|(waiting, _)| *waiting < position) {
            self.waiting.pop_front();
        }
    }

    /// Whether no epoch can begin any more that does not know of this one.
    fn is_established(&self) -> bool {
        if self.has_disk_always() {
            return self.journal.as_ref().is_some_and(Journal::has_begun);
        }
        let active = || self.peers.iter().filter(|(_, peer)| super::is_active(peer));
        let members = self.configuration.as_ref().map_or(0, |configuration| configuration.members.len());
        let has_kept = |(server, peer): &(&ServerId, &super::ServerPeer)| {
            let configuration = self.configuration.as_ref();
            self.planted == Some(PlantedInLog::NewLivesEstablish)
                || configuration.is_some_and(|configuration| configuration.has_kept(**server, peer.incarnation))
        };
        active().filter(has_kept).count() >= self.copies() || active().count() == members
    }

    /// The log is open once whoever must hold it does.
    fn open_if_ready(&mut self, held: Option<RecordNumber>) {
        if self.opened {
            return;
        }
        let is_held = match self.planted {
            Some(PlantedInLog::RestoreSkipped) => self.held_by(1).is_some(),
            _ => held.is_some_and(|held| held >= self.began_at),
        };
        // The entry that begins the epoch, and establishes it, stands behind the last record of its journal.
        if if self.has_disk_always() { self.established } else { is_held } {
            self.opened = true;
            self.outbid_pause = 0;
            self.is_complete = false;
            if let Some(event) = self.beginning.take() {
                self.tell(event);
            }
        }
    }

    /// Where every recovery has the disk: memory is counted on while k members are there.
    fn choose_standing(&mut self, now: u64, held: Option<RecordNumber>) {
        let usable = self.usable(now);
        let next = match self.standing {
            DiskStanding::Memory if self.is_closing || usable < self.copies() => DiskStanding::Disk,
            DiskStanding::Memory => return,
            DiskStanding::Disk if self.is_closing || usable < self.copies() => return,
            DiskStanding::Disk if held.is_some_and(|held| held >= self.acknowledged) => DiskStanding::Memory,
            DiskStanding::Disk => return,
        };
        let is_due = now >= self.disk_full_until;
        let Some(journal) = self.journal.as_mut().filter(|_| is_due) else { return };
        match journal.stand(next) {
            Ok(place) => {
                self.is_disk_full = false;
                self.standing = next;
                self.standing_place = Some(place);
                journal.request_sync();
            }
            Err(error) => self.fail_or_wait(now, &error),
        }
    }

    /// Has the disk give up what was truncated while it was full.
    fn give_up_space(&mut self, now: u64) {
        if now >= self.disk_full_until
            && let (Some(journal), Some(configuration)) = (&mut self.journal, &self.configuration)
            && let Err(error) = journal.give_up_space(configuration, self.standing, &self.records)
        {
            self.fail_or_wait(now, &error);
        }
    }

    /// Elsewhere: the disk is counted on while k members let it.
    fn choose_lease(&mut self, now: u64, held: Option<RecordNumber>) {
        let is_held = held.is_some_and(|held| held >= self.records.end());
        let wants = !is_held && (self.lease.is_wanted || self.is_late(now)) && self.journal.is_some();
        // What members hold is told again by those that answer now.
        let is_old = held.is_some_and(|held| held > self.acknowledged && self.vouched_until(held) <= now);
        if self.lease.is_confirming && now < self.lease_until() {
            (self.lease.vouched_until, self.lease.is_confirming) = (self.lease_until(), false);
        }
        let wants = wants || is_old || self.lease.is_confirming;
        // An attempt that does not know of this epoch may still get through: nobody of its servers would say that there is a lease.
        let wants = wants && self.established;
        if wants == self.lease.is_wanted {
            let is_live = now < self.lease_until();
            if wants && is_live && !self.lease.is_told && self.journal.is_some() {
                self.lease.is_told = true;
                self.tell(LogEvent::LeaseTaken);
            }
            if !is_live && std::mem::take(&mut self.lease.is_told) {
                self.tell(LogEvent::LeaseGivenUp);
            }
            let is_due = if is_live { self.lease_until() <= now + LEASE_RENEWAL } else { true };
            if !wants || !is_due || now < self.lease.asked_at + RESEND {
                return;
            }
        }
        let was_told = self.lease.is_told;
        let Lease { number, vouched_until, is_confirming, .. } = self.lease;
        let (number, is_told) = (number + 1, wants && was_told);
        self.lease = Lease { number, is_wanted: wants, asked_at: now, is_told, vouched_until, is_confirming };
        if !wants {
            self.peers.values_mut().for_each(|peer| peer.lease_until = 0);
            if was_told {
                self.tell(LogEvent::LeaseGivenUp);
            }
        }
        let request = WriterRequest::Permit { epoch: self.epoch, number: self.lease.number, granted: wants };
        let active = self.peers.iter().filter(|(_, peer)| super::is_active(peer));
        self.requests.extend(active.map(|(server, _)| (*server, request.clone())));
    }

    /// Another epoch begins, which nobody has granted anything.
    pub(super) fn forget_lease(&mut self) {
        if std::mem::take(&mut self.lease).is_told {
            self.tell(LogEvent::LeaseGivenUp);
        }
    }

    pub(super) fn hear_permitted(&mut self, now: u64, server: ServerId, number: u64) {
        let is_answer = number == self.lease.number || self.planted == Some(PlantedInLog::OldPermitBelieved);
        if is_answer
            && self.lease.is_wanted
            && let Some(peer) = self.peers.get_mut(&server)
            && super::is_active(peer)
        {
            // Counted from when it was asked for: the server began to count later.
            let from = if self.planted == Some(PlantedInLog::LeaseFromAnswer) { now } else { self.lease.asked_at };
            peer.lease_until = from + LEASE - LEASE_MARGIN;
        }
    }

    /// Until when k members let the writer acknowledge from its disk.
    fn lease_until(&self) -> u64 {
        let mut until: Vec<u64> = self.peers.values().map(|peer| peer.lease_until).collect();
        until.sort_unstable_by(|one, other| other.cmp(one));
        until.get(self.copies() - 1).copied().unwrap_or(0)
    }

    /// Until when k members who hold everything below have vouched for it by that: they were asked after the last record was appended.
    fn vouched_until(&self, end: RecordNumber) -> u64 {
        let first = self.waiting.front().map_or(end, |(first, _)| *first);
        let last = end.since(first).checked_sub(1).and_then(|last| self.waiting.get(last));
        last.map_or(0, |(_, at)| at + VOUCHED)
    }

    fn is_memory_enough(&self) -> bool {
        if !self.has_disk_always() {
            return true;
        }
        let is_said = self.planted == Some(PlantedInLog::StandingNotSynced)
            || self.journal.as_ref().zip(self.standing_place).is_some_and(|(journal, place)| journal.is_synced(place));
        self.standing == DiskStanding::Memory && is_said
    }

    fn is_disk_enough(&self, now: u64) -> bool {
        if self.has_disk_always() {
            return true;
        }
        let is_live = now < self.lease_until() || self.planted == Some(PlantedInLog::LeaseIgnored);
        self.lease.is_wanted && is_live && self.established
    }

    /// Whether a receipt up to there may be given to the program at this time: nobody who has accepted a loss can have opened the log elsewhere.
    /// If not, [`LogWriter::confirm`] asks those who can tell.
    pub fn vouches(&self, now: u64, end: RecordNumber) -> bool {
        let held = self.held_by(self.copies()).filter(|_| self.established);
        let is_recent = now < self.lease.vouched_until || self.planted == Some(PlantedInLog::OldAnswersCount);
        self.is_disk_enough(now) || is_recent && held.is_some_and(|held| held >= end)
    }

    /// Asks the members whether the log is still this writer's.
    pub fn confirm(&mut self, now: u64) {
        self.lease.is_confirming = true;
        self.advance(now);
    }

    /// A record waits for longer than servers usually take.
    fn is_late(&self, now: u64) -> bool {
        self.waiting.front().is_some_and(|(_, at)| at + self.hedge.delay() <= now)
    }

    /// Asks for a sync where one is waited for.
    fn hurry(&mut self, now: u64) {
        let is_late = self.is_late(now);
        let is_disk_alone = self.has_disk_always() && !self.is_memory_enough();
        let is_wanted = !self.waiting.is_empty() && (is_late || is_disk_alone);
        if is_wanted && is_disk_alone && self.leaves_sync && self.journal.as_ref().is_some_and(Journal::is_quick) {
            self.is_sync_left = true;
            return;
        }
        if let Some(journal) = self.journal.as_mut().filter(|_| is_wanted) {
            journal.request_sync();
        }
    }

    /// What would make a record durable now.
    pub(super) fn in_force(&self, now: u64) -> Option<RecordReceipt> {
        let copies = self.copies();
        match &self.phase {
            WriterPhase::Active if self.opened => {}
            _ => return None,
        }
        if self.is_memory_told {
            return Some(RecordReceipt::Memory { copies: copies as u8 });
        }
        (self.journal.is_some() && self.is_disk_enough(now)).then_some(RecordReceipt::Disk)
    }

    /// When something is due, in the time that [`LogWriter::tick`] is given.
    pub fn next_deadline(&self) -> Option<u64> {
        if !matches!(self.phase, WriterPhase::Active) {
            return self.deadline_opening();
        }
        let hedged = self.waiting.front().map(|(_, at)| at + self.hedge.delay());
        let is_hedged = self.journal.as_ref().is_none_or(Journal::is_sync_requested);
        let hedged = hedged.filter(|_| !is_hedged);
        let lease = self.lease.is_wanted.then(|| {
            let renewal = self.lease_until().saturating_sub(LEASE_RENEWAL);
            renewal.max(self.lease.asked_at + RESEND)
        });
        let full = (self.disk_full_until > 0).then_some(self.disk_full_until);
        self.deadline_peers().into_iter().chain(hedged).chain(lease).chain(full).min()
    }
}
