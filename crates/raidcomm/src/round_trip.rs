//! How long to wait for an answer: RFC 6298 without its floor of a second, and Karn's rule.
//!
//! Invariant: a wait is at least [`RETRANSMIT_MIN`], or what its asker names, and at most [`RETRANSMIT_MAX`].

use crate::limits::{RETRANSMIT_FIRST, RETRANSMIT_MAX, RETRANSMIT_MIN};

/// What is known of the round trips to one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Smoothed time and smoothed deviation from it, once measured.
    measured: Option<(u64, u64)>,
    /// Doublings that stay in force until an exchange ends without a retransmission: the second half of Karn's rule,
    /// without which a wait that has become too short would never be corrected.
    doublings: u32,
}

impl RoundTrip {
    /// Notes a measured time. Of a packet that was sent twice nobody knows which copy was answered: such a time must not be
    /// given here, which is the first half of Karn's rule.
    pub fn sample(&mut self, time: u64) {
        self.doublings = 0;
        self.measured = Some(match self.measured {
            None => (time, time / 2),
            Some((smoothed, deviation)) => ((7 * smoothed + time) / 8, (3 * deviation + smoothed.abs_diff(time)) / 4),
        });
    }

    /// Notes that a packet had to be sent again so many times.
    pub fn back_off(&mut self, retransmissions: u32) {
        self.doublings = self.doublings.max(retransmissions.min(16));
    }

    /// What it takes on average, lately; `None` before anything has been measured.
    pub fn smoothed(&self) -> Option<u64> {
        self.measured.map(|(smoothed, _)| smoothed)
    }

    /// How long to wait for the answer to a packet that was sent again so many times.
    pub fn wait(&self, retransmissions: u32) -> u64 {
        self.wait_at_least(RETRANSMIT_MIN, retransmissions)
    }

    /// As [`RoundTrip::wait`], with another shortest wait.
    pub fn wait_at_least(&self, least: u64, retransmissions: u32) -> u64 {
        let once = match self.measured {
            None => RETRANSMIT_FIRST,
            Some((smoothed, deviation)) => smoothed.saturating_add(4 * deviation),
        };
        let doubled = once.max(least) << retransmissions.max(self.doublings).min(16);
        doubled.min(RETRANSMIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MILLISECOND;

    /// If the wait did not follow what is measured, a distant host would be asked twice each time, or a lost packet
    /// noticed late.
    #[test]
    fn the_wait_follows_the_measured_time() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.wait(0), RETRANSMIT_FIRST);
        for _ in 0..50 {
            round_trip.sample(20 * MILLISECOND);
        }
        assert!((20 * MILLISECOND..25 * MILLISECOND).contains(&round_trip.wait(0)));
        assert!(round_trip.wait(1) >= 40 * MILLISECOND);
        assert_eq!(round_trip.wait(60), RETRANSMIT_MAX);
        for _ in 0..50 {
            round_trip.sample(1_000);
        }
        assert_eq!(round_trip.wait(0), RETRANSMIT_MIN);
    }

    /// If doublings were forgotten with the exchange, a wait that has become too short would stay so: every exchange
    /// would be sent twice, and none of them measured.
    #[test]
    fn doublings_stay_until_something_is_measured() {
        let mut round_trip = RoundTrip::default();
        round_trip.sample(MILLISECOND);
        round_trip.back_off(3);
        assert_eq!(round_trip.wait(0), 8 * RETRANSMIT_MIN);
        round_trip.sample(MILLISECOND);
        assert_eq!(round_trip.wait(0), RETRANSMIT_MIN);
    }
}
