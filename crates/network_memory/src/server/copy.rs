//! What one server holds of one log: the log of the last epoch that was activated here, and, beside it, what is being restored for
//! the next one.
//!
//! Invariant: what is laid beside the log takes its place at once or not at all: a recovery that breaks off half-way leaves the log of
//! the older epoch whole, and the half of the new one is never told of as held.

use crate::limits::{BATCH_BYTES, BATCH_RECORDS_MAX};
use crate::message::{CheckedRecord, HeldLog, ServerRefusal};
use crate::names::{Configuration, LogId, LogMark, RecordNumber, WriterEpoch};
use crate::planted::PlantedInLog;
use crate::retained::{Retained, cost};

/// For an epoch that has not begun.
#[derive(Clone, Debug)]
struct Staged {
    epoch: WriterEpoch,
    base: LogMark,
    records: Retained,
}

/// The writer may acknowledge from its disk, or no longer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Permit {
    pub(super) number: u64,
    /// By the server's clock.
    pub(super) until: Option<u64>,
}

/// See the module's description.
#[derive(Clone, Debug, Default)]
pub(super) struct LogCopy {
    pub(super) sealed: WriterEpoch,
    pub(super) configuration: Option<Configuration>,
    pub(super) is_established: bool,
    pub(super) records: Retained,
    pub(super) permit: Permit,
    staged: Option<Staged>,
}

impl LogCopy {
    /// As it was saved.
    pub(super) fn saved(
        sealed: WriterEpoch,
        configuration: Option<Configuration>,
        is_established: bool,
        records: Retained,
        permit: Permit,
    ) -> LogCopy {
        LogCopy { sealed, configuration, is_established, records, permit, staged: None }
    }

    pub(super) fn sealed(&self) -> WriterEpoch {
        self.sealed
    }

    pub(super) fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    pub(super) fn from(&self) -> RecordNumber {
        self.records.from()
    }

    pub(super) fn end(&self) -> RecordNumber {
        self.records.end()
    }

    /// What it takes, with what is laid beside it.
    pub(super) fn bytes(&self) -> u64 {
        self.held_bytes() + self.staged_bytes()
    }

    /// What the log takes of its quota.
    pub(super) fn held_bytes(&self) -> u64 {
        self.records.bytes()
    }

    /// What is laid beside it.
    pub(super) fn staged_bytes(&self) -> u64 {
        self.staged.as_ref().map_or(0, |staged| staged.records.bytes())
    }

    /// Whether this epoch may still be spoken for.
    pub(super) fn check(&self, epoch: WriterEpoch) -> Result<(), ServerRefusal> {
        if epoch < self.sealed { Err(ServerRefusal::Sealed { by: self.sealed }) } else { Ok(()) }
    }

    pub(super) fn seal(&mut self, epoch: WriterEpoch) {
        self.sealed = self.sealed.max(epoch);
        // Whoever has laid it there is refused from now on.
        self.staged.take_if(|staged| staged.epoch < epoch);
    }

    /// How long another writer than that of `epoch` may still acknowledge from its disk.
    pub(super) fn lease_left(&self, now: u64, epoch: WriterEpoch) -> Option<u64> {
        let active = self.configuration.as_ref()?.epoch;
        let until = self.permit.until.filter(|&until| until > now && active.writer != epoch.writer)?;
        Some(until - now)
    }

    pub(super) fn held(&self) -> HeldLog {
        HeldLog {
            configuration: self.configuration.clone(),
            is_established: self.is_established,
            from: self.records.start_mark(),
            end: self.records.end_mark(),
            permit: (self.permit.number, self.permit.until.is_some()),
        }
    }

    /// Some records from a position on.
    pub(super) fn read(
        &self,
        log: LogId,
        position: RecordNumber,
        check: bool,
    ) -> Result<Vec<CheckedRecord>, ServerRefusal> {
        if position < self.from() || position > self.end() {
            return Err(ServerRefusal::Absent);
        }
        let (mut records, mut bytes) = (Vec::new(), 0);
        for (index, record) in self.records.starting_at(position).enumerate().take(BATCH_RECORDS_MAX) {
            if check && !record.is_sound(log, position.plus(index)) {
                // What lies before the damage is of use.
                return if records.is_empty() {
                    Err(ServerRefusal::Damaged { position: position.plus(index) })
                } else {
                    Ok(records)
                };
            }
            bytes += record.bytes.len();
            records.push(record.clone());
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        Ok(records)
    }

    /// Lays records beside the log; says up to where they are there.
    #[expect(clippy::too_many_arguments, reason = "the fields of one message")]
    pub(super) fn restore(
        &mut self,
        log: LogId,
        epoch: WriterEpoch,
        from: RecordNumber,
        base: LogMark,
        position: RecordNumber,
        records: Vec<CheckedRecord>,
        room: u64,
    ) -> Result<RecordNumber, ServerRefusal> {
        self.check(epoch)?;
        if let Some(active) = self.configuration.as_ref().filter(|active| active.epoch >= epoch) {
            // A late copy of what has long been activated.
            return if active.epoch == epoch {
                Ok(self.end())
            } else {
                Err(ServerRefusal::Sealed { by: active.epoch })
            };
        }
        if base.position != from && self.records.mark(base.position) != Some(base) {
            return Err(ServerRefusal::Mismatch);
        }
        check_sound(log, position, &records)?;
        self.seal(epoch);
        let staged = match &mut self.staged {
            Some(staged) if staged.epoch == epoch && staged.base == base => staged,
            other => other.insert(Staged { epoch, base, records: Retained::behind(base) }),
        };
        extend(&mut staged.records, position, records, room)?;
        Ok(staged.records.end())
    }

    /// Puts what was laid beside the log in its place.
    pub(super) fn activate(
        &mut self,
        configuration: Configuration,
        basis: WriterEpoch,
        from: RecordNumber,
        base: LogMark,
        end: LogMark,
        planted: Option<PlantedInLog>,
    ) -> Result<RecordNumber, ServerRefusal> {
        let epoch = configuration.epoch;
        self.check(epoch)?;
        match self.configuration.as_ref().map(|active| active.epoch) {
            Some(active) if active == epoch => return Ok(self.end()),
            Some(by) if by > basis => return Err(ServerRefusal::Outdated { by }),
            _ => {}
        }
        let staged = self.staged.as_ref().filter(|staged| staged.epoch == epoch && staged.base == base);
        let reached = staged.map_or(base, |staged| staged.records.end_mark());
        let is_known = base.position == from || self.records.mark(base.position) == Some(base);
        if (!is_known || reached != end) && planted != Some(PlantedInLog::MarkUnchecked) {
            return Err(ServerRefusal::Mismatch);
        }
        // What was laid beside the log for a later attempt, behind another base, is of no use to this one.
        let is_meant = |staged: &Staged| {
            staged.epoch == epoch && (staged.base == base || planted == Some(PlantedInLog::StagedElsewhere))
        };
        let staged = self.staged.take().filter(is_meant);
        if base.position == from {
            self.records = staged.map_or_else(|| Retained::behind(base), |staged| staged.records);
        } else {
            self.records.truncate_from(base.position);
            let restored = staged.iter().flat_map(|staged| staged.records.starting_at(base.position));
            restored.for_each(|record| self.records.push(record.clone()));
        }
        self.records.truncate_before(from);
        self.seal(epoch);
        self.configuration = Some(configuration);
        self.is_established = basis == epoch;
        self.permit = Permit::default();
        Ok(self.end())
    }

    /// Holds more records; says up to where it holds all.
    #[expect(clippy::too_many_arguments, reason = "the fields of one message")]
    pub(super) fn append(
        &mut self,
        log: LogId,
        epoch: WriterEpoch,
        is_established: bool,
        from: LogMark,
        position: RecordNumber,
        records: Vec<CheckedRecord>,
        room: u64,
        planted: Option<PlantedInLog>,
    ) -> Result<RecordNumber, ServerRefusal> {
        if planted != Some(PlantedInLog::SealWithoutFence) {
            self.check(epoch)?;
        }
        if self.configuration.as_ref().is_none_or(|active| active.epoch != epoch) {
            return Err(ServerRefusal::NotActive);
        }
        self.is_established |= is_established;
        check_sound(log, position, &records)?;
        let told_end = position.plus(records.len());
        if from.position > self.end() {
            self.records = Retained::behind(from);
        }
        // First, because that may be what makes room.
        self.records.truncate_before(from.position);
        extend(&mut self.records, position, records, room)?;
        Ok(if planted == Some(PlantedInLog::GapAcknowledged) { told_end.max(self.end()) } else { self.end() })
    }

    /// Lets the writer acknowledge from its disk until then, or no longer.
    pub(super) fn permit(
        &mut self,
        epoch: WriterEpoch,
        number: u64,
        until: Option<u64>,
        planted: Option<PlantedInLog>,
    ) -> Result<(), ServerRefusal> {
        if planted != Some(PlantedInLog::SealWithoutFence) {
            self.check(epoch)?;
        }
        if self.configuration.as_ref().is_none_or(|active| active.epoch != epoch) {
            return Err(ServerRefusal::NotActive);
        }
        if number > self.permit.number {
            self.permit = Permit { number, until };
        }
        Ok(())
    }

    /// For the simulator: takes what is being restored for its log.
    pub(super) fn believe_restored(&mut self) {
        let (Some(staged), Some(configuration)) = (self.staged.take(), &mut self.configuration) else { return };
        configuration.epoch = staged.epoch;
        self.records.truncate_from(staged.base.position);
        if self.records.end() != staged.base.position {
            self.records = staged.records;
            return;
        }
        staged.records.starting_at(staged.base.position).for_each(|record| self.records.push(record.clone()));
    }

    pub(super) fn damage(&mut self, position: RecordNumber) {
        self.records.damage(position);
    }
}

/// Adds what is new of these records, as far as they follow without a gap and there is room.
fn extend(
    held: &mut Retained,
    position: RecordNumber,
    records: Vec<CheckedRecord>,
    room: u64,
) -> Result<(), ServerRefusal> {
    if position > held.end() {
        return Ok(());
    }
    for record in records.into_iter().skip(held.end().since(position)) {
        let used_bytes = held.bytes();
        if used_bytes + cost(&record) > room {
            return Err(ServerRefusal::Full { used_bytes, limit_bytes: room });
        }
        held.push(record);
    }
    Ok(())
}

fn check_sound(log: LogId, position: RecordNumber, records: &[CheckedRecord]) -> Result<(), ServerRefusal> {
    let damaged = records.iter().enumerate().find(|(index, record)| !record.is_sound(log, position.plus(*index)));
    match damaged {
        Some((index, _)) => Err(ServerRefusal::Damaged { position: position.plus(index) }),
        None => Ok(()),
    }
}
