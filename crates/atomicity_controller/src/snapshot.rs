//! Where read-only transactions begin (rule 5).
//!
//! A reader notes every transaction that its site has voted for and not decided, on any item, waits for those outcomes, and only then takes
//! the clock as its snapshot. Whatever committed before it began needed this site's vote, so it is decided and below the
//! snapshot; whatever is voted for later is proposed above it.

use crate::{AtomicityController, VotingState, limits};
use messages::commit::{CommitReply, CommitRequest};
use messages::planted;
use messages::{Message, Now, Outbox, ServerKind, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Readers that wait, in the order in which they came.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct WaitingReaders {
    /// The last vote that the reader has to see decided, and its tag.
    waiting: VecDeque<(u64, u64)>,
    /// The clock that the action driver was told last, and when (boot clock).
    told: (u64, u64),
}

impl AtomicityController {
    pub(crate) fn begin_snapshot(&mut self, now: Now, tag: u64, outbox: &mut Outbox) {
        let nothing_open = self.participants.undecided().is_empty();
        if nothing_open || planted!(self.planted, ReaderIgnoresUndecided) {
            self.snapshot_begun(now, tag, outbox);
        } else {
            self.snapshots.waiting.push_back((self.participants.last_vote(), tag));
        }
    }

    fn snapshot_begun(&mut self, now: Now, tag: u64, outbox: &mut Outbox) {
        let epoch = self.epoch.as_ref().expect("snapshots begin in an active epoch").number;
        let snapshot = Timestamp::snapshot(epoch, self.clock.tick(now));
        let reply = CommitReply::SnapshotBegun { tag, snapshot };
        outbox.local(ServerKind::ActionDriver, Message::CommitReply(reply));
    }

    /// A transaction was decided: readers that waited for it may begin.
    pub(crate) fn snapshots_decided(&mut self, outbox: &mut Outbox) {
        if self.standing == VotingState::Stopped || self.snapshots.waiting.is_empty() {
            return;
        }
        let oldest = self.participants.undecided().keys().next().copied().unwrap_or(u64::MAX);
        while let Some((last_vote, tag)) = self.snapshots.waiting.front().copied() {
            if last_vote >= oldest {
                break;
            }
            self.snapshots.waiting.pop_front();
            // The wall clock may be read late: the hybrid clock alone keeps the order.
            self.snapshot_begun(Now { boot: 0, wall_micros: 0 }, tag, outbox);
        }
    }

    /// Tells which snapshots nobody will ask for any more.
    pub(crate) fn tell_clock(&mut self, now: Now, outbox: &mut Outbox) {
        let (told, at) = self.snapshots.told;
        if now.boot < at + limits::CLOCK_INTERVAL || self.clock.now() == told {
            return;
        }
        self.snapshots.told = (self.clock.now(), now.boot);
        let epoch = self.epoch.as_ref().expect("the clock is told in an active epoch").number;
        let clock = Timestamp::snapshot(epoch, self.clock.now());
        outbox.local(ServerKind::ActionDriver, Message::CommitReply(CommitReply::Clock { clock }));
    }

    /// A new epoch is active: nothing is undecided, whoever still waits may begin in it.
    pub(crate) fn snapshots_may_begin(&mut self, now: Now, outbox: &mut Outbox) {
        for (_, tag) in std::mem::take(&mut self.snapshots.waiting) {
            self.request(now, CommitRequest::BeginSnapshot { tag }, outbox);
        }
    }
}
