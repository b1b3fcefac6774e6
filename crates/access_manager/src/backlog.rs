//! What is installed and not in the store yet. Memory cannot forget it, and a start would replay it, so there must not be too much.
//!
//! Invariant: while more than half of what there may be is there, posting hurries, and those who commit at this site are told how much more there
//! may be. What they have on its way is theirs to count; what other sites commit is installed whatever is told.

use crate::limits::{UNPOSTED_BYTES_MAX, UNPOSTED_SHARE};
use messages::access::AccessReply;
use messages::planted::Planted;
use messages::{Message, Outbox, ServerKind};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};

/// How much there may be, and what was said of it last.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Backlog {
    bytes_max: usize,
    told: u64,
    planted: Planted,
}

/// Bytes that may be installed and not in the store, of so many that memory may have.
pub fn unposted_bytes_max(memory_bytes_max: usize) -> usize {
    (memory_bytes_max / UNPOSTED_SHARE).min(UNPOSTED_BYTES_MAX)
}

impl Backlog {
    pub(crate) fn new(bytes_max: usize, planted: Planted) -> Backlog {
        Backlog { bytes_max, told: u64::MAX, planted }
    }

    /// Whether the store has to be brought nearer, whatever else that costs.
    pub(crate) fn is_large(&self, unposted: usize) -> bool {
        unposted > self.bytes_max / 2
    }

    /// Tells how much more there may be, if that has changed and anybody has to care.
    pub(crate) fn tell(&mut self, unposted: usize, outbox: &mut Outbox) {
        let room = match self.is_large(unposted) {
            true => self.bytes_max.saturating_sub(unposted) as u64,
            false => u64::MAX,
        };
        if planted!(self.planted, RoomNotTold) && room > self.told {
            return;
        }
        if std::mem::replace(&mut self.told, room) != room {
            if room == 0 {
                reached!("no-room");
            }
            for to in [ServerKind::AtomicityController, ServerKind::Site] {
                outbox.local(to, Message::AccessReply(AccessReply::Room { bytes: room }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room told too late, too often or not taken back would fill memory, fill the queue, or hold writers for ever.
    #[test]
    fn room_is_told_when_it_changes() {
        let mut backlog = Backlog::new(100, Planted::none());
        let mut told = |unposted| {
            let mut outbox = Outbox::default();
            backlog.tell(unposted, &mut outbox);
            let to = outbox.messages.iter().map(|outgoing| match outgoing.message {
                Message::AccessReply(AccessReply::Room { bytes }) => (outgoing.to, bytes),
                ref other => panic!("{other:?}"),
            });
            to.collect::<Vec<_>>()
        };
        let both = |bytes| vec![(ServerKind::AtomicityController, bytes), (ServerKind::Site, bytes)];
        assert_eq!(told(50), []);
        assert_eq!(told(60), both(40));
        assert_eq!(told(60), []);
        assert_eq!(told(130), both(0));
        assert_eq!(told(50), both(u64::MAX));
        assert_eq!(told(0), []);
    }
}
