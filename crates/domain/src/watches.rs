//! What the domain watches: how fast the log grows, and whether the disk keeps up.

use commit_log::Position;
use messages::limits::SYNC_STALL;

/// How fast the log grows.
#[derive(Debug, Default)]
pub(crate) struct LogGrowth {
    /// Where the log ended when it was looked at last, and when that was (boot clock).
    pub(crate) looked: (Position, u64),
    /// From where on the log is a reason for a checkpoint at rest. Of one that began at rest, where its records end: they are as many as they
    /// are. Of any other, where it began: what came meanwhile, and what it repeated of transactions that have ended since, need not be there.
    pub(crate) counts_from: Position,
}

impl LogGrowth {
    /// Whether the log has come to rest and a checkpoint is worth its while.
    pub(crate) fn rests(&mut self, now: u64, end: Position) -> bool {
        let (before, at) = self.looked;
        if now < at + crate::limits::REST_INTERVAL {
            return false;
        }
        self.looked = (end, now);
        end.0 - before.0 < crate::limits::REST_BYTES_MAX
            && end.0 - self.counts_from.0 > crate::limits::REST_CHECKPOINT_BYTES
    }
}

/// How long the disk has kept waiting who asked first.
#[derive(Debug, Default)]
pub(crate) struct DiskWatch {
    /// The sync that is waited for, and since when (boot clock).
    waits: Option<(Position, u64)>,
    stalled: bool,
}

impl DiskWatch {
    /// What the sync asked for first and not finished has to reach. `Some`: the disk has stalled now, or has gone on.
    pub(crate) fn look(&mut self, now: u64, position: Option<Position>) -> Option<bool> {
        let since = match self.waits {
            Some((waited_for, since)) if position == Some(waited_for) => since,
            _ => now,
        };
        self.waits = position.map(|position| (position, since));
        let stalled = now >= since + SYNC_STALL;
        (std::mem::replace(&mut self.stalled, stalled) != stalled).then_some(stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{REST_CHECKPOINT_BYTES, REST_INTERVAL};

    /// A log that has come to rest with much to replay needs a checkpoint, whatever a checkpoint under load has noted; and not one after the other.
    #[test]
    fn a_log_at_rest_is_looked_at_once() {
        let end = Position(2 * REST_CHECKPOINT_BYTES);
        let mut growth = LogGrowth { looked: (end, 0), counts_from: Position(0) };
        assert!(!growth.rests(REST_INTERVAL - 1, end));
        assert!(growth.rests(REST_INTERVAL, end));
        growth.counts_from = end;
        assert!(!growth.rests(2 * REST_INTERVAL, end));
        let grown = Position(end.0 + 2 * REST_CHECKPOINT_BYTES);
        assert!(!growth.rests(3 * REST_INTERVAL, grown), "it grows");
        assert!(growth.rests(4 * REST_INTERVAL, grown));
    }
}
