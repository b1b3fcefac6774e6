//! Whether all logs of an epoch are one log: those of the servers that hold it, and the writer's.
//!
//! As in Raft (D. Ongaro and J. Ousterhout, 2014, section 5.3) it is enough to look at one record and its neighbour: where two logs have a
//! record of the same epoch at the same place, it is the same record, behind one of the same epoch, and so on down to the start. An epoch
//! begins with one log, and every record above is of that epoch.

use crate::names::{LogMark, RecordNumber, WriterEpoch};
use crate::retained::Retained;
use std::collections::BTreeMap;

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    Server { index: usize, incarnation: u64 },
    Writer { host: usize, generation: u64 },
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// The checksum of each record, and the epoch of the one before.
    rows: BTreeMap<(RecordNumber, WriterEpoch), (u32, WriterEpoch)>,
    /// With which log each epoch began.
    began: BTreeMap<WriterEpoch, LogMark>,
    /// In which epoch each log was looked at last, and how far.
    seen: BTreeMap<Whose, (WriterEpoch, RecordNumber)>,
}

impl Matching {
    /// An epoch begins with the log up to this mark.
    pub(super) fn begins(&mut self, epoch: WriterEpoch, end: LogMark) -> Result<(), String> {
        let known = *self.began.entry(epoch).or_insert(end);
        if known == end { Ok(()) } else { Err(format!("epoch {epoch} began with the log up to {known:?} and {end:?}")) }
    }

    /// This log is held in this epoch.
    pub(super) fn holds(&mut self, whose: Whose, epoch: WriterEpoch, records: &Retained) -> Result<(), String> {
        let began = *self.began.get(&epoch).ok_or(format!("{whose:?} holds epoch {epoch}, which nobody has begun"))?;
        let seen = self.seen.get(&whose).filter(|(of, end)| *of == epoch && *end <= records.end());
        let first = seen.map_or(records.from(), |(_, end)| *end).max(records.from());
        if seen.is_none() && records.mark(began.position).is_some_and(|mark| mark != began) {
            return Err(format!("{whose:?} holds epoch {epoch} with another log than that with which it began"));
        }
        let mut before = records.mark(first).map_or(WriterEpoch::default(), |mark| mark.epoch);
        for (index, record) in records.starting_at(first).enumerate() {
            let position = first.plus(index);
            if position >= began.position && record.epoch != epoch {
                return Err(format!("{whose:?} holds record {position} of {} in epoch {epoch}", record.epoch));
            }
            let row = (record.checksum, before);
            let known = *self.rows.entry((position, record.epoch)).or_insert(row);
            if row != known {
                return Err(format!(
                    "{whose:?} holds another record {position} of {} in epoch {epoch}, or another log before it: checksum {:08x} behind {}, not {:08x} behind {}",
                    record.epoch, row.0, row.1, known.0, known.1
                ));
            }
            before = record.epoch;
        }
        self.seen.insert(whose, (epoch, records.end()));
        Ok(())
    }
}
