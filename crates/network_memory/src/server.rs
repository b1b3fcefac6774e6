//! A memory server: keeps the logs of many writers. A pure machine: one request in, one reply out, and time is given to it.
//!
//! Invariants:
//! * what a server has sealed for an epoch it never accepts from a lower one, and it seals before it says what it holds;
//! * the end that it tells is the end of a log without a gap, of one epoch's writer, and every record in it was whole when it came;
//! * `used <= capacity`, and each log stays within its quota.

mod copy;
pub mod image;

use crate::limits::{LEASE, LOGS_MAX, NUMBER_MAX};
use crate::message::{HeldLog, MemoryServerStatus, ServedLogStatus, ServerRefusal, ServerReply, WriterRequest};
use crate::names::{Incarnation, LogId, RecordNumber, WriterEpoch};
use crate::planted::PlantedInLog;
use crate::retained::Retained;
use copy::LogCopy;
use std::collections::BTreeMap;

/// How much a server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of all logs, with [`crate::limits::RECORD_OVERHEAD_BYTES`] for each record.
    pub capacity_bytes: u64,
    /// Bytes of one log, counted likewise.
    pub quota_bytes: u64,
}

/// See the module's description.
#[derive(Debug)]
pub struct LogServer {
    incarnation: Incarnation,
    room: Room,
    logs: BTreeMap<LogId, LogCopy>,
    used_bytes: u64,
    appends: u64,
    refusals: u64,
    refusals_full: u64,
    planted: Option<PlantedInLog>,
}

impl LogServer {
    /// An empty server. `incarnation` must be one that no server has ever had.
    pub fn new(incarnation: Incarnation, room: Room) -> LogServer {
        assert!(incarnation != Incarnation::NONE, "every life of a server has a name");
        LogServer {
            incarnation,
            room,
            logs: BTreeMap::new(),
            used_bytes: 0,
            appends: 0,
            refusals: 0,
            refusals_full: 0,
            planted: None,
        }
    }

    /// Leaves out a clause, for the simulator.
    pub fn plant(&mut self, planted: Option<PlantedInLog>) {
        self.planted = planted;
    }

    /// Which life of its memory this is.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Answers a request about a log at this time.
    pub fn handle(&mut self, now: u64, log: LogId, request: WriterRequest) -> ServerReply {
        let Some(epoch) = request.epoch() else { return ServerReply::Status(self.status()) };
        let answer = match request {
            _ if epoch.number > NUMBER_MAX => Err(ServerRefusal::OutOfRange),
            WriterRequest::Look { .. } => {
                let held = self.logs.get(&log).map_or_else(HeldLog::default, LogCopy::held);
                return ServerReply::Held { epoch, held };
            }
            WriterRequest::Seal { .. } => self.seal(now, log, epoch),
            WriterRequest::Remove { .. } => self.remove(log, epoch),
            WriterRequest::Read { position, .. } => self.read(log, epoch, position),
            _ => self.change(now, log, request),
        };
        answer.unwrap_or_else(|reason| {
            self.refusals += 1;
            self.refusals_full += u64::from(matches!(reason, ServerRefusal::Full { .. }));
            ServerReply::Refused { epoch, reason }
        })
    }

    /// Counters and logs, for the operator.
    pub fn status(&self) -> MemoryServerStatus {
        let logs = self.logs.iter().map(|(&log, copy)| ServedLogStatus {
            log,
            sealed: copy.sealed(),
            active: copy.configuration().map(|configuration| configuration.epoch),
            from: copy.from(),
            end: copy.end(),
            bytes: copy.bytes(),
        });
        MemoryServerStatus {
            capacity_bytes: self.room.capacity_bytes,
            used_bytes: self.used_bytes,
            quota_bytes: self.room.quota_bytes,
            appends: self.appends,
            refusals: self.refusals,
            refusals_full: self.refusals_full,
            logs: logs.collect(),
        }
    }

    fn seal(&mut self, now: u64, log: LogId, epoch: WriterEpoch) -> Result<ServerReply, ServerRefusal> {
        if self.logs.len() >= LOGS_MAX && !self.logs.contains_key(&log) {
            return Err(ServerRefusal::Logs);
        }
        let planted = self.planted;
        let copy = self.logs.entry(log).or_default();
        copy.check(epoch)?;
        let before = copy.bytes();
        if planted != Some(PlantedInLog::ReadBeforeSeal) {
            copy.seal(epoch);
        }
        self.used_bytes -= before - copy.bytes();
        match copy.lease_left(now, epoch) {
            Some(time) if planted != Some(PlantedInLog::LeaseNotWaitedFor) => Ok(ServerReply::Wait { epoch, time }),
            _ => Ok(ServerReply::Sealed { epoch, held: copy.held() }),
        }
    }

    fn read(&mut self, log: LogId, epoch: WriterEpoch, position: RecordNumber) -> Result<ServerReply, ServerRefusal> {
        let check = self.planted != Some(PlantedInLog::ChecksumIgnored);
        let copy = self.logs.get_mut(&log).ok_or(ServerRefusal::Absent)?;
        copy.check(epoch)?;
        let before = copy.bytes();
        copy.seal(epoch);
        self.used_bytes -= before - copy.bytes();
        let records = copy.read(log, position, check)?;
        Ok(ServerReply::Records { epoch, position, records })
    }

    fn remove(&mut self, log: LogId, epoch: WriterEpoch) -> Result<ServerReply, ServerRefusal> {
        if let Some(copy) = self.logs.get(&log) {
            copy.check(epoch)?;
            if copy.configuration().is_none_or(|configuration| configuration.epoch != epoch) {
                return Err(ServerRefusal::NotActive);
            }
            self.used_bytes -= copy.bytes();
            self.logs.remove(&log);
        }
        Ok(ServerReply::Removed { epoch })
    }

    /// Requests that change what is held of a log.
    fn change(&mut self, now: u64, log: LogId, request: WriterRequest) -> Result<ServerReply, ServerRefusal> {
        let planted = self.planted;
        if let WriterRequest::Restore { .. } | WriterRequest::Activate { .. } = request
            && self.logs.len() >= LOGS_MAX
            && !self.logs.contains_key(&log)
        {
            return Err(ServerRefusal::Logs);
        }
        let copy = match request {
            WriterRequest::Append { .. } | WriterRequest::Permit { .. } => {
                self.logs.get_mut(&log).ok_or(ServerRefusal::NotActive)?
            }
            _ => self.logs.entry(log).or_default(),
        };
        let before = copy.bytes();
        let others = self.used_bytes - before;
        // The quota binds appends alone: a log that has grown on its writer's disk must be restored before it can be truncated.
        let left = self.room.capacity_bytes.saturating_sub(self.used_bytes);
        let quota = self.room.quota_bytes;
        let answer = match request {
            WriterRequest::Restore { epoch, from, base, position, records } => {
                let answer = copy.restore(log, epoch, from, base, position, records, copy.staged_bytes() + left);
                if planted == Some(PlantedInLog::PartialRestoreCounts) && answer.is_ok() {
                    copy.believe_restored();
                }
                answer.map(|end| ServerReply::Restored { epoch, end })
            }
            WriterRequest::Activate { configuration, basis, from, base, end } => {
                let epoch = configuration.epoch;
                let is_member = configuration.members.iter().any(|member| member.incarnation == self.incarnation);
                if is_member || planted == Some(PlantedInLog::StrangerActivates) {
                    copy.activate(configuration, basis, from, base, end, planted)
                        .map(|end| ServerReply::Activated { epoch, end })
                } else {
                    Err(ServerRefusal::Stranger)
                }
            }
            WriterRequest::Append { epoch, is_established, from, position, records } => {
                self.appends += records.len() as u64;
                let room = quota.min(copy.held_bytes() + left);
                copy.append(log, epoch, is_established, from, position, records, room, planted)
                    .map(|end| ServerReply::Appended { epoch, end })
            }
            WriterRequest::Permit { epoch, number, granted } => copy
                .permit(epoch, number, granted.then_some(now + LEASE), planted)
                .map(|()| ServerReply::Permitted { epoch, number }),
            _ => unreachable!("handled elsewhere"),
        };
        self.used_bytes = others + copy.bytes();
        answer
    }

    /// For the simulator's checker: what is held of a log, and its records.
    pub(crate) fn peek(&self, log: LogId) -> Option<(HeldLog, &Retained)> {
        self.logs.get(&log).map(|copy| (copy.held(), &copy.records))
    }

    /// For the simulator: an operator gives it more memory.
    pub(crate) fn enlarge(&mut self, room: Room) {
        self.room = room;
    }

    /// For the simulator: a record rots in memory.
    pub fn damage(&mut self, log: LogId, position: RecordNumber) {
        if let Some(copy) = self.logs.get_mut(&log) {
            copy.damage(position);
        }
    }
}
