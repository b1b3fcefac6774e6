//! Which datagrams of one sender have come: none is taken twice, and the sender is told.
//!
//! Invariant: every number below `below` has come; `below` itself has not. A number so far ahead that its bit has no place is not taken:
//! its sender has promised not to go there.

use super::packet::{SeenDatagrams, WORDS};
use super::planted::PlantedInDatagrams;
use crate::limits::{ACKNOWLEDGE_AFTER, ACKNOWLEDGE_DELAY, DATAGRAMS_AHEAD_MAX};

/// What is to become of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatagramVerdict {
    /// It has not been here.
    New,
    /// It has.
    Again,
    /// Its number is too far ahead.
    Ahead,
}

/// Where a number has its bit: in which word, and which it is there.
fn bit(number: u64) -> (usize, u64) {
    let place = number % DATAGRAMS_AHEAD_MAX as u64;
    (place as usize / 64, 1 << (place % 64))
}

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct ReceivedDatagrams {
    below: u64,
    /// One above the highest that has come.
    end: u64,
    /// When the highest came.
    highest_at: u64,
    /// A bit for each number from `below` on, at its number modulo the bits.
    seen: [u64; WORDS],
    /// Datagrams that have come since something was last told, those that came again included.
    owed: u32,
    owed_since: u64,
    /// One has come that says to its sender at once that another is missing, or that one need not be sent again.
    urgent: bool,
    planted: Option<PlantedInDatagrams>,
}

impl ReceivedDatagrams {
    /// Counts from a number on.
    pub(super) fn new(from: u64, planted: Option<PlantedInDatagrams>) -> ReceivedDatagrams {
        ReceivedDatagrams {
            below: from,
            end: from,
            highest_at: 0,
            seen: [0; WORDS],
            owed: 0,
            owed_since: 0,
            urgent: false,
            planted,
        }
    }

    /// Takes a datagram that has proved to be its sender's.
    pub(super) fn take(&mut self, number: u64, now: u64) -> DatagramVerdict {
        if number >= self.below.saturating_add(DATAGRAMS_AHEAD_MAX as u64) {
            return DatagramVerdict::Ahead;
        }
        if self.owed == 0 {
            self.owed_since = now;
        }
        self.owed += 1;
        if number < self.below {
            self.urgent = true;
            return DatagramVerdict::Again;
        }
        let (word, place) = bit(number);
        if self.seen[word] & place != 0 {
            self.urgent = true;
            return DatagramVerdict::Again;
        }
        self.seen[word] |= place;
        self.urgent |= number != self.end;
        if number >= self.end {
            (self.end, self.highest_at) = (number + 1, now);
        }
        loop {
            let (word, place) = bit(self.below);
            if self.seen[word] & place == 0 {
                return DatagramVerdict::New;
            }
            self.seen[word] &= !place;
            self.below += 1;
        }
    }

    /// Whether the sender should be told even if nothing else is to be sent.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.urgent || self.owed >= ACKNOWLEDGE_AFTER || self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// When it should be told at the latest.
    pub(super) fn deadline(&self) -> Option<u64> {
        (self.owed > 0).then_some(self.owed_since.saturating_add(ACKNOWLEDGE_DELAY))
    }

    /// What the sender is told now, if there is anything that it has not been told.
    pub(super) fn tell(&mut self, now: u64) -> Option<SeenDatagrams> {
        if self.owed == 0 {
            return None;
        }
        (self.owed, self.urgent) = (0, false);
        let seen = self.seen(now);
        let below = if self.planted == Some(PlantedInDatagrams::GapAcknowledged) { self.end } else { seen.below };
        Some(SeenDatagrams { below, ..seen })
    }

    /// What has come, told or not.
    pub(super) fn seen(&self, now: u64) -> SeenDatagrams {
        let delay_us = (now.saturating_sub(self.highest_at) / 1_000).try_into().unwrap_or(u32::MAX);
        let mut told = SeenDatagrams { below: self.below, ahead: [0; WORDS], delay_us };
        for number in self.below + 1..self.end {
            let (word, bit) = bit(number);
            if self.seen[word] & bit != 0 {
                let ahead = (number - self.below) as usize;
                told.ahead[ahead / 64] |= 1 << (ahead % 64);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeded_random::SplitMix64;
    use std::collections::BTreeSet;

    /// If a datagram were taken twice, a frame would be delivered twice; if what is told were not what has come, one would be lost.
    #[test]
    fn it_remembers_what_a_set_remembers() {
        for seed in 0..10 {
            let mut random = SplitMix64::new(seed);
            let from = random.below(1 << 40);
            let (mut received, mut set) = (ReceivedDatagrams::new(from, None), BTreeSet::new());
            for now in 0..2_000 {
                let below = (from..).find(|number| !set.contains(number)).expect("numbers do not end");
                let number =
                    (below + random.below(DATAGRAMS_AHEAD_MAX as u64 + 20)).saturating_sub(random.below(40)).max(from);
                let expected = match number {
                    _ if number >= below + DATAGRAMS_AHEAD_MAX as u64 => DatagramVerdict::Ahead,
                    _ if set.insert(number) => DatagramVerdict::New,
                    _ => DatagramVerdict::Again,
                };
                assert_eq!(received.take(number, now), expected, "seed {seed}, number {number}, below {below}");
                if random.percent(5)
                    && let Some(told) = received.tell(now)
                {
                    let numbers = from..from + DATAGRAMS_AHEAD_MAX as u64 * 3;
                    assert!(numbers.into_iter().all(|number| told.has(number) == set.contains(&number)), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn what_comes_in_order_is_told_late_and_a_gap_at_once() {
        let mut received = ReceivedDatagrams::new(0, None);
        assert_eq!((received.tell(5), received.deadline()), (None, None));
        received.take(0, 10);
        assert_eq!((received.is_due(10), received.deadline()), (false, Some(10 + ACKNOWLEDGE_DELAY)));
        assert!(received.is_due(10 + ACKNOWLEDGE_DELAY));
        received.take(2, 20);
        assert!(received.is_due(20), "1 is missing");
        let told = received.tell(4_020).expect("something has come");
        assert_eq!((told.below, told.ahead[0], told.delay_us), (1, 0b10, 4));
        received.take(0, 30);
        assert!(received.is_due(30), "its sender has not heard that it came");
    }
}
