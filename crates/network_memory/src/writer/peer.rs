//! What a writer knows of one server, and how far it is with it.
//!
//! Invariant: `held <= sent <= end` of an active member, and `held` is what the member itself has told in this epoch.

use crate::limits::{BATCH_BYTES, BATCH_RECORDS_MAX, SILENCE};
use crate::message::{CheckedRecord, WriterRequest};
use crate::names::{Configuration, Incarnation, LogMark, RecordNumber, WriterEpoch};
use crate::retained::Retained;
use std::collections::VecDeque;

/// A server.
#[derive(Debug)]
pub(super) struct ServerPeer {
    /// As it has told last.
    pub(super) incarnation: Incarnation,
    pub(super) heard_at: Option<u64>,
    /// Since when there is a connection, if that is known.
    pub(super) connected_at: u64,
    /// The connection has failed, or cannot be made.
    pub(super) is_failed: bool,
    /// When it was asked whether it is there.
    pub(super) asked_at: Option<u64>,
    pub(super) state: PeerState,
    /// A record was found to be damaged there: nothing that it holds is counted before all of it has been restored.
    pub(super) is_damaged: bool,
    /// It was full when it was last sent anything, which has been told.
    pub(super) is_full: bool,
    /// Up to when it lets the writer acknowledge from its disk.
    pub(super) lease_until: u64,
}

impl Default for ServerPeer {
    fn default() -> ServerPeer {
        ServerPeer {
            incarnation: Incarnation::NONE,
            heard_at: None,
            connected_at: 0,
            is_failed: false,
            asked_at: None,
            state: PeerState::Away,
            is_damaged: false,
            is_full: false,
            lease_until: 0,
        }
    }
}

impl ServerPeer {
    pub(super) fn is_heard(&self, now: u64) -> bool {
        self.incarnation != Incarnation::NONE && self.heard_at.is_some_and(|heard_at| now < heard_at + SILENCE)
    }

    /// Up to where it holds the log of this epoch.
    pub(super) fn held(&self) -> Option<RecordNumber> {
        if let PeerState::Active(shipping) = &self.state { Some(shipping.held) } else { None }
    }
}

/// How a server stands to this epoch.
#[derive(Debug)]
pub(super) enum PeerState {
    /// It is asked whether it is there.
    Away,
    /// It is there, and does not count in this epoch.
    Stranger,
    /// It is given what it lacks.
    Restoring(RestoringLog),
    /// It holds the log.
    Active(Shipping),
}

#[derive(Debug)]
pub(super) struct RestoringLog {
    /// Where the log began when this did.
    pub(super) from: RecordNumber,
    pub(super) base: LogMark,
    pub(super) end: LogMark,
    pub(super) next: RecordNumber,
    pub(super) acknowledged: RecordNumber,
    pub(super) sent_at: u64,
    pub(super) progress_at: u64,
    pub(super) blocked_until: u64,
}

impl RestoringLog {
    pub(super) fn new(now: u64, base: LogMark, from: RecordNumber, end: LogMark) -> RestoringLog {
        let next = base.position;
        RestoringLog { from, base, end, next, acknowledged: next, sent_at: now, progress_at: now, blocked_until: 0 }
    }

    /// What is to be sent now, if anything is.
    pub(super) fn next_request(
        &mut self,
        configuration: &Configuration,
        basis: Option<WriterEpoch>,
        records: &Retained,
    ) -> Option<WriterRequest> {
        let RestoringLog { from, base, end, acknowledged, .. } = *self;
        let epoch = configuration.epoch;
        if self.next != acknowledged {
            return None;
        }
        if acknowledged >= end.position {
            let basis = basis?;
            self.next = acknowledged.plus(1);
            return Some(WriterRequest::Activate { configuration: configuration.clone(), basis, from, base, end });
        }
        let records = batch(records, acknowledged, end.position);
        self.next = acknowledged.plus(records.len());
        Some(WriterRequest::Restore { epoch, from, base, position: acknowledged, records })
    }
}

#[derive(Debug)]
pub(super) struct Shipping {
    pub(super) sent: RecordNumber,
    pub(super) held: RecordNumber,
    /// What was sent and is not acknowledged.
    pub(super) sends: VecDeque<SentRequest>,
    pub(super) sent_bytes: u64,
    /// When it last acknowledged something, or had nothing to acknowledge.
    pub(super) progress_at: u64,
    /// Since when it owes an answer to a question without records.
    pub(super) asked_at: Option<u64>,
    /// It was full; not before.
    pub(super) blocked_until: u64,
    pub(super) told_from: RecordNumber,
}

#[derive(Debug)]
pub(super) struct SentRequest {
    pub(super) end: RecordNumber,
    pub(super) at: u64,
    pub(super) bytes: u64,
}

impl Shipping {
    /// Sends again what was not acknowledged.
    pub(super) fn go_back(&mut self) {
        self.sent = self.held;
        self.sends.clear();
        self.sent_bytes = 0;
    }

    /// Since when an answer is owed.
    pub(super) fn owes_since(&self) -> Option<u64> {
        (self.sent > self.held).then_some(self.progress_at).into_iter().chain(self.asked_at).min()
    }
}

/// Some records from a position on, up to an end.
pub(super) fn batch(records: &Retained, position: RecordNumber, end: RecordNumber) -> Vec<CheckedRecord> {
    let mut bytes = 0;
    let fits = |record: &&CheckedRecord| {
        let fits = bytes < BATCH_BYTES;
        bytes += record.bytes.len();
        fits
    };
    let count = end.since(position).min(BATCH_RECORDS_MAX);
    records.starting_at(position).take(count).take_while(fits).cloned().collect()
}
