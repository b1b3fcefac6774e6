//! The way to one site: how long it takes, how much it bears, and which datagrams it has lost.
//!
//! A datagram is taken for lost when one that was sent later has been acknowledged and this one would have been long since (RACK-TLP,
//! RFC 8985), or when nothing is acknowledged for as long as answers take (RFC 6298). What may be under way grows until something is
//! lost and is then halved, once in a round trip (RFC 5681). Invariant: no two sends on one path have the same time.

use crate::limits::{
    ACKNOWLEDGE_DELAY, DATAGRAM_WAIT_MIN, REORDERING_MIN, WINDOW_BYTES_FIRST, WINDOW_BYTES_MAX, WINDOW_BYTES_MIN,
    WINDOW_GROWTH,
};
use crate::round_trip::RoundTrip;

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct DatagramPath {
    /// Of datagrams, without the time that the other side takes to acknowledge.
    round_trip: RoundTrip,
    /// Shortest time after which something was acknowledged that was sent once.
    answer_min: u64,
    /// Time-outs since something was acknowledged.
    time_outs: u32,
    window: usize,
    /// Above it the window grows slowly.
    threshold: usize,
    in_flight: usize,
    /// What was sent before has been counted into the window.
    halved_at: u64,
    last_sent: u64,
    /// Of the datagram sent last that was acknowledged: when it was sent, and how long that took.
    newest: (u64, u64),
    /// When something was acknowledged last.
    progress_at: u64,
}

/// A datagram that has been acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcknowledgedDatagram {
    /// When it was sent last.
    pub sent_at: u64,
    /// How often.
    pub times: u32,
    /// Its length.
    pub bytes: usize,
}

impl DatagramPath {
    pub(super) fn new(now: u64) -> DatagramPath {
        DatagramPath {
            round_trip: RoundTrip::default(),
            answer_min: u64::MAX,
            time_outs: 0,
            window: WINDOW_BYTES_FIRST,
            threshold: WINDOW_BYTES_MAX,
            in_flight: 0,
            halved_at: 0,
            last_sent: 0,
            newest: (0, 0),
            progress_at: now,
        }
    }

    /// Whether another datagram may be under way, beside what is and so many bytes more.
    pub(super) fn has_room_beside(&self, bytes: usize) -> bool {
        self.in_flight + bytes < self.window
    }

    /// A datagram is sent for the first time. Returns when, so that no two are sent at once.
    pub(super) fn send(&mut self, now: u64, bytes: usize) -> u64 {
        if self.in_flight == 0 {
            // The silence before was nobody's fault.
            self.progress_at = self.progress_at.max(now);
        }
        self.in_flight += bytes;
        self.send_again(now)
    }

    /// It is sent again.
    pub(super) fn send_again(&mut self, now: u64) -> u64 {
        self.last_sent = now.max(self.last_sent + 1);
        self.last_sent
    }

    /// A datagram has been acknowledged. `delay`: of the newest one that this acknowledgement brought, how long it lay at the other
    /// side; `None`: it is not the newest.
    pub(super) fn acknowledged(&mut self, now: u64, taken: AcknowledgedDatagram, delay: Option<u64>) {
        self.in_flight -= taken.bytes;
        self.progress_at = now;
        let time = now.saturating_sub(taken.sent_at);
        if taken.times == 1 {
            self.answer_min = self.answer_min.min(time);
            // After a pause of one of the two sides, what is acknowledged tells how long that was.
            if let Some(delay) = delay
                && self.time_outs == 0
            {
                self.round_trip.sample(time.saturating_sub(delay).max(1));
            }
        }
        self.time_outs = 0;
        // Sooner than ever, it is the first copy that was acknowledged, which tells nothing of the time of the second.
        let is_of_last_copy = taken.times == 1 || time >= self.answer_min;
        if is_of_last_copy && taken.sent_at > self.newest.0 {
            self.newest = (taken.sent_at, time);
        }
        let slow = self.window >= self.threshold;
        let growth = if slow { WINDOW_GROWTH * taken.bytes / self.window + 1 } else { taken.bytes };
        self.window = (self.window + growth).min(WINDOW_BYTES_MAX);
    }

    /// From when on a datagram that was sent then is lost; `None`: nothing that was sent later has been acknowledged.
    pub(super) fn lost_at(&self, sent_at: u64) -> Option<u64> {
        let (newest, time) = self.newest;
        let reordering = (self.round_trip.smoothed().unwrap_or(0) / 4).max(REORDERING_MIN);
        (sent_at < newest).then(|| sent_at.saturating_add(time).saturating_add(reordering))
    }

    /// A datagram was lost that was sent then.
    pub(super) fn lost(&mut self, now: u64, sent_at: u64) {
        if sent_at > self.halved_at {
            self.window = (self.window / 2).max(WINDOW_BYTES_MIN);
            self.threshold = self.window;
            self.halved_at = now;
        }
    }

    /// When waiting for an acknowledgement of what was sent last at `oldest` ends; `most`: how long it lasts at most.
    pub(super) fn time_out_at(&self, oldest: u64, most: u64) -> u64 {
        // The other side may take a while before it acknowledges what it has no answer to (RFC 9002, section 6.2.1).
        let wait = self.round_trip.wait_at_least(DATAGRAM_WAIT_MIN, self.time_outs) + ACKNOWLEDGE_DELAY;
        self.progress_at.max(oldest).saturating_add(wait.min(most))
    }

    /// Nothing was acknowledged for so long.
    pub(super) fn timed_out(&mut self) {
        self.time_outs = self.time_outs.saturating_add(1);
        if self.time_outs > 1 {
            self.threshold = (self.window / 2).max(WINDOW_BYTES_MIN);
            self.window = WINDOW_BYTES_MIN;
        }
    }

    /// When something was acknowledged last, or, if nothing has been under way since, when that began to be.
    pub(super) fn progress_at(&self) -> u64 {
        self.progress_at
    }

    /// How long a datagram and its acknowledgement take, in nanoseconds, once measured.
    pub(super) fn round_trip(&self) -> Option<u64> {
        self.round_trip.smoothed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MILLISECOND;

    const BYTES: usize = 1_000;

    fn acknowledge(path: &mut DatagramPath, now: u64, sent_at: u64) {
        path.acknowledged(now, AcknowledgedDatagram { sent_at, times: 1, bytes: BYTES }, Some(0));
    }

    #[test]
    fn what_was_sent_before_something_acknowledged_is_lost_after_a_while() {
        let mut path = DatagramPath::new(0);
        let (first, second) = (path.send(1_000, BYTES), path.send(1_000, BYTES));
        assert!(first < second, "no two are sent at once");
        assert_eq!(path.lost_at(first), None);
        acknowledge(&mut path, 1_000 + MILLISECOND, second);
        let lost_at = path.lost_at(first).expect("a later one has come");
        assert!(lost_at > first + MILLISECOND && lost_at < first + 3 * MILLISECOND);
        assert_eq!(path.lost_at(second), None);
    }

    #[test]
    fn an_acknowledgement_of_the_first_copy_says_nothing_of_what_was_sent_before_the_second() {
        let mut path = DatagramPath::new(0);
        for _ in 0..10 {
            let sent_at = path.send(0, BYTES);
            acknowledge(&mut path, sent_at + 10 * MILLISECOND, sent_at);
        }
        let (copied, other) = (path.send(MILLISECOND, BYTES), path.send(2 * MILLISECOND, BYTES));
        let again = path.send_again(30 * MILLISECOND);
        assert!(again > other && copied < other);
        // A hundredth of a millisecond after the second copy: it cannot be its.
        let taken = AcknowledgedDatagram { sent_at: again, times: 2, bytes: BYTES };
        path.acknowledged(again + MILLISECOND / 100, taken, Some(0));
        assert_eq!(path.lost_at(other), None);
    }

    #[test]
    fn the_window_grows_until_something_is_lost_and_is_halved_once_in_a_round_trip() {
        let mut path = DatagramPath::new(0);
        let mut now = 0;
        while path.has_room_beside(0) {
            let sent_at = path.send(now, BYTES);
            now += 1_000;
            acknowledge(&mut path, now, sent_at);
            if path.window == WINDOW_BYTES_MAX {
                break;
            }
        }
        assert_eq!(path.window, WINDOW_BYTES_MAX);
        let sent: Vec<u64> = (0..4).map(|_| path.send(now, BYTES)).collect();
        now += MILLISECOND;
        sent.iter().for_each(|&sent_at| path.lost(now, sent_at));
        assert_eq!(path.window, WINDOW_BYTES_MAX / 2);
        acknowledge(&mut path, now, sent[3]);
        assert!(path.window < WINDOW_BYTES_MAX / 2 + WINDOW_GROWTH, "slowly now");
    }
}
