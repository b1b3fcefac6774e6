//! Datagrams that one site has been sent and has not acknowledged.
//!
//! A datagram is sent again as it is, under its number: so the other side knows it, and the seal needs no second nonce. Invariant: none is
//! more than [`DATAGRAMS_AHEAD_MAX`] numbers ahead of the first that is not acknowledged.

use super::packet::SeenDatagrams;
use super::path::{AcknowledgedDatagram, DatagramPath};
use crate::limits::DATAGRAMS_AHEAD_MAX;
use bytes::Bytes;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
struct Datagram {
    bytes: Bytes,
    first_sent_at: u64,
    /// The last time.
    sent_at: u64,
    times: u32,
}

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct SentDatagrams {
    /// The number of the first that is kept.
    first: u64,
    /// `None`: acknowledged, and one before it is not.
    datagrams: VecDeque<Option<Datagram>>,
    /// What follows them and may not be sent yet: of the group, to a member that is closed.
    held: VecDeque<Bytes>,
    acknowledgements: u64,
}

impl SentDatagrams {
    /// Numbers begin there.
    pub(super) fn new(from: u64) -> SentDatagrams {
        SentDatagrams { first: from, datagrams: VecDeque::new(), held: VecDeque::new(), acknowledgements: 0 }
    }

    /// The number of the next one.
    pub(super) fn next(&self) -> u64 {
        self.first + self.datagrams.len() as u64
    }

    /// Whether one with this number may be sent.
    pub(super) fn has_room_for(&self, number: u64) -> bool {
        number < self.first + DATAGRAMS_AHEAD_MAX as u64
    }

    /// How many have been acknowledged, whatever was before them: that it changes means that something arrives.
    pub(super) fn acknowledgements(&self) -> u64 {
        self.acknowledgements
    }

    /// One is sent, with the next number.
    pub(super) fn push(&mut self, now: u64, bytes: Bytes, path: &mut DatagramPath) {
        assert!(self.has_room_for(self.next()), "a sender keeps to what its receiver can remember");
        let sent_at = path.send(now, bytes.len());
        self.datagrams.push_back(Some(Datagram { bytes, first_sent_at: now, sent_at, times: 1 }));
    }

    /// As [`SentDatagrams::push`], if there is room; otherwise it is sent when there is.
    pub(super) fn push_or_hold(&mut self, now: u64, bytes: Bytes, path: &mut DatagramPath) {
        if self.held.is_empty() && self.has_room_for(self.next()) {
            self.push(now, bytes, path);
        } else {
            self.held.push_back(bytes);
        }
    }

    /// Puts what was held and may be sent now into `out`.
    pub(super) fn release(&mut self, now: u64, path: &mut DatagramPath, out: &mut Vec<Bytes>) {
        while self.has_room_for(self.next())
            && let Some(bytes) = self.held.pop_front()
        {
            out.push(bytes.clone());
            self.push(now, bytes, path);
        }
    }

    /// Whether a datagram has been acknowledged, and all before it.
    pub(super) fn is_done_with(&self, number: u64) -> bool {
        number < self.first
    }

    /// The other side has told what has come.
    pub(super) fn acknowledged(&mut self, now: u64, seen: &SeenDatagrams, path: &mut DatagramPath) {
        let mut delay = Some(u64::from(seen.delay_us) * 1_000);
        // From the newest: only of that one is known how long it lay there.
        for (index, kept) in self.datagrams.iter_mut().enumerate().rev() {
            if seen.has(self.first + index as u64)
                && let Some(datagram) = kept.take()
            {
                self.acknowledgements += 1;
                let Datagram { sent_at, times, bytes, .. } = datagram;
                path.acknowledged(now, AcknowledgedDatagram { sent_at, times, bytes: bytes.len() }, delay.take());
            }
        }
        while let Some(None) = self.datagrams.front() {
            self.datagrams.pop_front();
            self.first += 1;
        }
    }

    /// Puts what is lost by now into `again`. Returns when the next one will be.
    pub(super) fn find_lost(&mut self, now: u64, path: &mut DatagramPath, again: &mut Vec<Bytes>) -> Option<u64> {
        let mut next: Option<u64> = None;
        for datagram in self.datagrams.iter_mut().flatten() {
            match path.lost_at(datagram.sent_at) {
                Some(lost_at) if lost_at <= now => {
                    path.lost(now, datagram.sent_at);
                    again.push(datagram.again(now, path));
                }
                Some(lost_at) => next = Some(next.map_or(lost_at, |next| next.min(lost_at))),
                None => {}
            }
        }
        next
    }

    /// When the first was sent that has not been acknowledged: for the first time, and for the last.
    pub(super) fn oldest(&self) -> Option<(u64, u64)> {
        self.datagrams.iter().flatten().map(|datagram| (datagram.first_sent_at, datagram.sent_at)).next()
    }

    /// Puts the first ones into `again`, as many as said, lost or not.
    pub(super) fn repeat(&mut self, count: usize, now: u64, path: &mut DatagramPath, again: &mut Vec<Bytes>) {
        for datagram in self.datagrams.iter_mut().flatten().take(count) {
            again.push(datagram.again(now, path));
        }
    }
}

impl Datagram {
    fn again(&mut self, now: u64, path: &mut DatagramPath) -> Bytes {
        self.sent_at = path.send_again(now);
        self.times += 1;
        self.bytes.clone()
    }
}
