//! What the domain watches: how fast the log grows, and whether the disk keeps up.

use commit_log::Position;
use messages::limits::SYNC_STALL;

/// How fast the log grows.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// Where the log ended when it was looked at last, and when that was (boot clock).
    pub(crate) looked: (Position, u64),
    /// Where the last checkpoint's records end: they are as many as they are, and no reason for another.
    pub(crate) checkpoint_ends: Position,
}

impl Growth {
    /// Whether the log has come to rest and a checkpoint is worth its while.
    pub(crate) fn rests(&mut self, now: u64, end: Position) -> bool {
        let (before, at) = self.looked;
        if now < at + crate::limits::REST_INTERVAL {
            return false;
        }
        self.looked = (end, now);
        end.0 - before.0 < crate::limits::REST_BYTES_MAX
            && end.0 - self.checkpoint_ends.0 > crate::limits::REST_CHECKPOINT_BYTES
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
