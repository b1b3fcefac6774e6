//! The writers of a simulated world: how they are begun, driven, looked at and ended.

use super::ledger::{Displayed, GivenReceipt, LedgerOpening};
use super::matching::Whose;
use super::world::{LOG, LogWorld, LogWorldEvent};
use crate::message::WriterRequest;
use crate::names::{DiskId, RecordNumber, RecordReceipt};
use crate::planted::PlantedInLog;
use crate::writer::{Boot, Intent, LogEvent as Happened, LogWriter, WriterDisk, WriterTerms};
use commit_log::{Log, MemoryLog};

impl LogWorld {
    /// Takes what a writer has to say, and looks at it.
    pub(super) fn drive(&mut self, host: usize) -> Result<(), String> {
        let Some(mut writer) = self.hosts[host].writer.take() else { return Ok(()) };
        let result = self.look_at(host, &mut writer);
        self.hosts[host].writer = Some(writer);
        result
    }

    fn look_at(&mut self, host: usize, writer: &mut LogWriter<MemoryLog>) -> Result<(), String> {
        let generation = self.hosts[host].generation;
        if writer.is_sync_left() {
            let now = self.hosts[host].now(self.now);
            writer.sync_now(now);
        }
        self.check_matching(host, writer)?;
        while let Some(event) = writer.take_event() {
            self.note(|| format!("host {host}: {event:?}"));
            self.hear(host, writer, &event)?;
        }
        self.check_status(host, writer)?;
        self.check_receipts(host, writer)?;
        if let Some(configuration) = writer.configuration().filter(|_| writer.is_open()) {
            self.losses.look(&self.servers, configuration, writer.acknowledged());
        }
        while let Some((server, request)) = writer.take_requests() {
            let server = usize::from(server.0.port()) - 1;
            if matches!(request, WriterRequest::Seal { .. }) {
                self.check_seal(host)?;
            }
            for at in self.arrivals(host, server, true) {
                self.schedule(at, LogWorldEvent::Request { server, host, generation, request: request.clone() });
            }
        }
        if self.hosts[host].sync_at.is_none() && writer.disk().is_some_and(|disk| disk.sync_requested().is_some()) {
            let at = self.now + self.profile.sync_time / 4 + self.random.below(self.profile.sync_time);
            self.hosts[host].sync_at = Some(at);
            self.schedule(at, LogWorldEvent::Synced { host, generation });
        }
        if let Some(deadline) = writer.next_deadline() {
            let at = self.hosts[host].clock.global(deadline).max(self.now + 1) + self.random.below(100_000);
            if self.hosts[host].wake_at.is_none_or(|wake_at| at < wake_at) {
                self.hosts[host].wake_at = Some(at);
                self.schedule(at, LogWorldEvent::Wake { host, generation });
            }
        }
        Ok(())
    }

    /// Whoever cannot get through leaves the log alone: the writer that has it must not be stopped for nothing.
    fn check_seal(&mut self, host: usize) -> Result<(), String> {
        let simulated = &self.hosts[host];
        if simulated.accepts_loss || simulated.opened.is_some() || self.next_record == 0 {
            return Ok(());
        }
        let needed = usize::from(self.profile.members - self.profile.copies) + 1;
        let is_allowed = match self.profile.restart_on_this_disk {
            // It has, or had, the disk.
            true => host == self.home || host == 0,
            false => simulated.told_held.len() >= needed,
        };
        if is_allowed {
            return Ok(());
        }
        Err(format!("host {host} seals the log after {} answers, and cannot open it", simulated.told_held.len()))
    }

    /// The log of a writer that has begun an epoch is that of everybody who holds this epoch.
    fn check_matching(&mut self, host: usize, writer: &LogWriter<MemoryLog>) -> Result<(), String> {
        let Some(configuration) = writer.configuration().filter(|_| writer.sealing().is_none()) else { return Ok(()) };
        let (records, began_at) = writer.peek();
        if configuration.epoch != writer.epoch() || writer.stopped().is_some() {
            return Ok(());
        }
        if let Some(mark) = records.mark(began_at) {
            self.matching.begins(configuration.epoch, mark)?;
        }
        if self.ledger.begins(configuration) {
            self.losses.begins(&self.servers, configuration);
            // What was given up with this epoch stays so.
            let is_lossy = self.is_lossy(host);
            self.hosts[host].has_given_up |= is_lossy;
        }
        let whose = Whose::Writer { host, generation: self.hosts[host].generation };
        self.matching.holds(whose, configuration.epoch, records)
    }

    fn hear(&mut self, host: usize, writer: &LogWriter<MemoryLog>, event: &Happened) -> Result<(), String> {
        let told = &mut self.hosts[host].told;
        match event {
            Happened::MemoryBack => told.0 = true,
            Happened::MemoryLost { .. } => told.0 = false,
            Happened::LeaseTaken => told.1 = true,
            Happened::LeaseGivenUp => told.1 = false,
            _ => {}
        }
        // The moments at which the disk and the servers may disagree on who holds what.
        let percent = match event {
            Happened::MemoryBack => 3,
            Happened::Opened { .. } | Happened::NewEpoch(_) => self.profile.strike_percent,
            _ => 0,
        };
        if self.acts_left > 0 && self.random.percent(percent) {
            let soon = self.now + self.random.below(self.profile.sync_time);
            let generation = self.hosts[host].generation;
            self.schedule(soon, LogWorldEvent::Strike { host, generation, is_power: false });
        }
        // The moment at which a disk may be counted on that stands still.
        if matches!(event, Happened::LeaseTaken) && self.acts_left > 0 && self.random.percent(4) {
            self.stand_still(host);
        }
        if let Happened::Opened { epoch, from, end, doubt, .. } = *event {
            self.hosts[host].told = (false, false);
            let has_disk = self.profile.restart_on_this_disk;
            if has_disk && host != self.home && !self.hosts[host].accepts_loss {
                return Err(format!("host {host} has opened the log of another host's disk"));
            }
            let copies = self.profile.copies;
            let is_here = has_disk && host == self.home;
            let is_lossy = self.hosts[host].has_given_up || has_disk && !is_here;
            if has_disk {
                self.takeovers = writer.configuration().map_or(0, |configuration| configuration.generation);
                self.home = host;
            }
            let opening = LedgerOpening { host, epoch, from, doubt, has_disk: is_here, is_lossy };
            self.ledger.opened(opening, end, copies, |position| writer.read(position).map(|bytes| &bytes[..]))?;
            self.hosts[host].opened = Some(epoch);
            self.hosts[host].is_intact = true;
            self.hosts[host].receipts = end;
            self.hosts[host].accepts_loss = false;
        }
        Ok(())
    }

    /// Whether as many memories as copies were lost, or have not answered.
    fn is_lossy(&self, host: usize) -> bool {
        let answered = &self.hosts[host].answered.1;
        let silent = (0..self.servers.len()).filter(|server| !answered.contains(server));
        self.losses.count(&self.servers, silent) >= usize::from(self.profile.copies)
    }

    /// Nothing that is displayed is better than what was told.
    fn check_status(&mut self, host: usize, writer: &LogWriter<MemoryLog>) -> Result<(), String> {
        if !writer.is_open() {
            return Ok(());
        }
        let status = writer.status(self.hosts[host].clock.local(self.now));
        let told = self.hosts[host].told;
        match status.in_force {
            Some(RecordReceipt::Memory { .. }) if !told.0 => {
                Err(format!("host {host} displays memory, and has not told that it is back: {writer:?}"))
            }
            Some(RecordReceipt::Disk) if !self.profile.restart_on_this_disk && !told.1 => {
                Err(format!("host {host} displays the disk, and has not told that it has a lease"))
            }
            Some(RecordReceipt::Disk) | None if told.0 => {
                Err(format!("host {host} has not told that memory is lost, and displays {:?}", status.in_force))
            }
            _ => Ok(()),
        }
    }

    /// Hands receipts to the program, as the real host does: it may have been held up since the writer looked at the clock.
    fn check_receipts(&mut self, host: usize, writer: &mut LogWriter<MemoryLog>) -> Result<(), String> {
        let Some(epoch) = self.hosts[host].opened else { return Ok(()) };
        // A writer that is open may have gone on to another epoch.
        let epoch = writer.configuration().map_or(epoch, |configuration| configuration.epoch);
        self.hosts[host].withheld.extend(writer.take_receipts());
        let now = self.hosts[host].clock.local(self.now);
        while let Some(&(end, receipt)) = self.hosts[host].withheld.front() {
            let is_overlooked = receipt == RecordReceipt::Disk && self.planted == Some(PlantedInLog::ReceiptAfterLease);
            if !writer.vouches(now, end) && !is_overlooked {
                writer.confirm(now);
                break;
            }
            self.hosts[host].withheld.pop_front();
            while self.hosts[host].receipts < end {
                let position = self.hosts[host].receipts;
                self.hosts[host].receipts = position.plus(1);
                // What was truncated meanwhile is nobody's.
                if position < writer.from() {
                    continue;
                }
                let bytes = writer.read(position).ok_or(format!("a receipt for {position}, which is not there"))?;
                let synced = writer.disk().map(Log::synced);
                let place = self.hosts[host].places.get(&position);
                let is_synced = synced.zip(place).is_some_and(|(synced, place)| synced >= *place);
                let copies = self.profile.copies;
                let given = GivenReceipt { host, epoch, position, bytes, receipt, copies, is_synced };
                self.ledger.receipt(given)?;
            }
        }
        Ok(())
    }

    /// A sync has returned, or failed.
    pub(super) fn synced(&mut self, host: usize, generation: u64) -> Result<(), String> {
        if self.hosts[host].generation != generation {
            return Ok(());
        }
        self.hosts[host].sync_at = None;
        let is_paused = self.hosts[host].paused_until > self.now;
        if let Some(disk) = self.hosts[host].writer.as_mut().and_then(LogWriter::disk_mut) {
            disk.complete_sync();
        }
        if is_paused {
            // The kernel does not stand still. Whoever waits learns of it when it goes on.
            let later = self.hosts[host].paused_until;
            self.hosts[host].wake_at = Some(later);
            self.schedule(later, LogWorldEvent::Wake { host, generation });
            return Ok(());
        }
        let now = self.hosts[host].now(self.now);
        if let Some(writer) = &mut self.hosts[host].writer {
            writer.tick(now);
        }
        self.drive(host)
    }

    pub(super) fn open(&mut self, host: usize, intent: Intent) -> Result<(), String> {
        if self.hosts.iter().any(|host| host.accepts_loss) {
            // Whoever accepts a loss has seen to it that nobody else opens the log meanwhile.
            return Ok(());
        }
        self.note(|| format!("host {host} begins ({intent:?})"));
        let nonce = self.random.draw();
        let terms = WriterTerms {
            log: LOG,
            copies: self.profile.copies,
            members: self.profile.members,
            servers: self.servers.iter().map(|server| server.id).collect(),
            restart_on_this_disk: self.profile.restart_on_this_disk,
            retained_bytes_max: u64::MAX,
        };
        let name_if_new = DiskId(self.random.draw());
        let simulated = &mut self.hosts[host];
        let now = simulated.clock.local(self.now);
        let boot = Boot(simulated.boots);
        let is_cut = std::mem::take(&mut simulated.has_failed);
        // Somebody has made room.
        let disk = simulated.disk.take().map(|mut log| {
            log.set_full(false);
            log
        });
        let disk = disk.map(|log| WriterDisk { log, name_if_new, boot, is_cut });
        let mut writer = LogWriter::begin(now, terms, nonce, disk, intent, self.planted)
            .map_err(|error| format!("host {host} cannot begin: {error}"))?;
        writer.leave_sync(self.profile.syncs_here);
        simulated.writer = Some(writer);
        simulated.generation += 1;
        (simulated.sync_at, simulated.wake_at, simulated.opened) = (None, None, None);
        (simulated.paused_until, simulated.stale, simulated.told) = (0, None, (false, false));
        simulated.places.clear();
        simulated.withheld.clear();
        simulated.answered.1.clear();
        simulated.told_held.clear();
        simulated.has_given_up = false;
        simulated.accepts_loss = intent == Intent::AcceptLoss;
        self.drive(host)
    }

    /// A writer's process ends, or its host loses power.
    pub(super) fn crash(&mut self, host: usize, is_power: bool) {
        if self.hosts[host].accepts_loss {
            return;
        }
        let Some(writer) = self.hosts[host].writer.take() else { return };
        if !writer.is_open() {
            self.indeterminate += 1;
        }
        let has_failed = matches!(writer.stopped(), Some(crate::writer::WriterStop::DiskFailed(_)));
        self.note(|| format!("host {host} crashes (power: {is_power}, disk failed: {has_failed})"));
        let now = self.hosts[host].clock.local(self.now);
        if writer.is_open() {
            self.ledger.crashed(host, Displayed { synced: writer.status(now).synced });
        }
        let simulated = &mut self.hosts[host];
        simulated.boots += u128::from(is_power);
        simulated.generation += 1;
        simulated.has_failed = has_failed;
        simulated.is_intact &= !is_power && !has_failed;
        let Some(mut disk) = writer.into_disk() else { return };
        disk.fail_sync(false);
        // After a failed sync the kernel may have dropped what was to be written.
        if is_power || has_failed {
            let unsynced = disk.appended().since(disk.synced());
            let keep = commit_log::Position(disk.synced().0 + self.random.below(unsynced + 1));
            disk.power_loss(keep, self.random.percent(50));
        } else {
            disk.restart();
        }
        self.hosts[host].disk = Some(disk);
    }

    pub(super) fn write(&mut self, host: usize) -> Result<(), String> {
        if self.hosts[host].paused_until > self.now {
            return Ok(());
        }
        let now = self.hosts[host].clock.local(self.now);
        let Some(mut writer) = self.hosts[host].writer.take() else { return Ok(()) };
        if writer.is_open() {
            if self.random.percent(10) {
                let back = self.random.below(4);
                // What the program has a receipt for.
                let position = writer.acknowledged().min(self.hosts[host].receipts);
                let position = RecordNumber(position.0.saturating_sub(back)).max(writer.from());
                self.ledger.truncated(position);
                writer.truncate_before(now, position);
            }
            for _ in 0..1 + self.random.below(4) {
                self.next_record += 1;
                let mut bytes = self.next_record.to_le_bytes().to_vec();
                bytes.resize(8 + self.random.below(40) as usize, self.next_record as u8);
                match writer.append(now, &bytes) {
                    Ok(position) => {
                        if let Some(disk) = writer.disk() {
                            self.hosts[host].places.insert(position, disk.appended());
                        }
                    }
                    // The disk is full, or has failed.
                    Err(crate::writer::AppendError::Disk(_)) => break,
                    Err(_) if !writer.is_open() => break,
                    Err(error) => return Err(format!("host {host} cannot append: {error}")),
                }
            }
            writer.flush(now);
        }
        self.hosts[host].writer = Some(writer);
        self.drive(host)
    }
}
