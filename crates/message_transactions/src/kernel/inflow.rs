//! The receiving end of a bulk transfer, which drives it: it asks for chunks, notes what comes, and asks again for what is lost.
//!
//! Every asking has a place in one order. A chunk is lost when [`REORDERED_MAX`] chunks that were asked for after it have come, when
//! the last chunk of all that was asked for has come without it, or when nothing comes for long. Invariants:
//! * a chunk is asked for again only after it was found lost: what is sent beyond the data is what the network loses;
//! * at most `window` chunks are under way; the window shrinks with losses, once per window, and never below [`WINDOW_MIN`].

use crate::codec::chunk_count;
use crate::limits::{GIVE_UP, REORDERED_MAX, RETRANSMIT_FIRST, RETRANSMIT_MAX, WINDOW_FIRST, WINDOW_MAX, WINDOW_MIN};
use crate::packet::{Transfer, WantedChunks};
use raidcomm::round_trip::RoundTrip;
use std::collections::{BTreeSet, VecDeque};

/// A chunk that was asked for.
#[derive(Clone, Copy, Debug)]
struct AskedChunk {
    index: u32,
    /// It has come, or was found lost.
    settled: bool,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct BulkInflow {
    pub transfer: Transfer,
    count: u32,
    /// A bit for each chunk that has come.
    come: Vec<u64>,
    missing: u32,
    /// What was asked for, in order, from `base` on.
    asked: VecDeque<AskedChunk>,
    base: u64,
    /// For each chunk, its last place in the order of asking.
    places: Vec<u32>,
    /// The chunk after the last that was ever asked for.
    fresh: u32,
    lost: BTreeSet<u32>,
    under_way: u32,
    window: u32,
    /// Chunks that have come since the window last grew; counted once something was lost.
    steady: Option<u32>,
    /// Losses of what was asked for before this place belong to one event.
    recovery: u64,
    /// An asking whose answer is timed: its place, and when.
    timed: Option<(u64, u64)>,
    round_trip: RoundTrip,
    /// How long to wait for what was asked for before that is measured.
    wait_first: u64,
    timeouts: u32,
    heard: u64,
    pub due: u64,
}

impl BulkInflow {
    /// A transfer of which the first so many chunks come unasked. `wait`: how long an answer of the other side takes, as far as is known.
    pub(super) fn new(now: u64, transfer: Transfer, unasked: u32, wait: u64) -> BulkInflow {
        let count = chunk_count(transfer.total);
        let mut inflow = BulkInflow {
            transfer,
            count,
            come: vec![0; count.div_ceil(64) as usize],
            missing: count,
            asked: VecDeque::new(),
            base: 0,
            places: vec![0; count as usize],
            fresh: 0,
            lost: BTreeSet::new(),
            under_way: 0,
            window: WINDOW_FIRST,
            steady: None,
            recovery: 0,
            timed: None,
            round_trip: RoundTrip::default(),
            // What is known may be the time of an execution.
            wait_first: wait.min(RETRANSMIT_FIRST),
            timeouts: 0,
            heard: now,
            due: now,
        };
        for index in 0..unasked.min(count) {
            inflow.ask(index);
        }
        inflow.fresh = unasked.min(count);
        inflow.restart(now);
        inflow
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    fn has_come(&self, index: u32) -> bool {
        self.come[index as usize / 64] >> (index % 64) & 1 == 1
    }

    fn ask(&mut self, index: u32) {
        self.places[index as usize] = (self.base + self.asked.len() as u64) as u32;
        self.asked.push_back(AskedChunk { index, settled: false });
        self.under_way += 1;
    }

    fn restart(&mut self, now: u64) {
        let wait = match self.round_trip.smoothed() {
            Some(_) => self.round_trip.wait(self.timeouts),
            None => (self.wait_first << self.timeouts.min(16)).min(RETRANSMIT_MAX),
        };
        let silent = now >= self.heard.saturating_add(GIVE_UP);
        self.due = if silent { u64::MAX } else { now.saturating_add(wait) };
    }

    /// Whether this chunk is needed. The caller puts its bytes into place.
    pub(super) fn take(&mut self, now: u64, index: u32) -> bool {
        if index >= self.count || self.has_come(index) {
            return false;
        }
        self.come[index as usize / 64] |= 1 << (index % 64);
        self.missing -= 1;
        (self.heard, self.timeouts) = (now, 0);
        self.restart(now);
        self.lost.remove(&index);
        self.grow();
        let place = u64::from(self.places[index as usize]);
        let Some(at) = place.checked_sub(self.base).map(|at| at as usize) else { return true };
        let Some(asked) = self.asked.get_mut(at).filter(|asked| asked.index == index) else { return true };
        if !std::mem::replace(&mut asked.settled, true) {
            self.under_way -= 1;
        }
        if let Some((timed, since)) = self.timed
            && timed == place
        {
            self.timed = None;
            self.round_trip.sample(now.saturating_sub(since));
        }
        let last = at + 1 == self.asked.len();
        self.lose_before(if last { place } else { place.saturating_sub(REORDERED_MAX) });
        true
    }

    /// Settles what stands before that place, as lost unless it has come.
    fn lose_before(&mut self, place: u64) {
        while let Some(first) = self.asked.front()
            && (first.settled || self.base < place)
        {
            let (index, settled) = (first.index, first.settled);
            if !settled {
                self.lose(index, self.base);
            }
            self.asked.pop_front();
            self.base += 1;
        }
    }

    fn lose(&mut self, index: u32, place: u64) {
        self.under_way -= 1;
        if !self.has_come(index) {
            self.lost.insert(index);
        }
        self.timed = self.timed.filter(|&(timed, _)| timed != place);
        if place >= self.recovery {
            self.recovery = self.base + self.asked.len() as u64;
            self.window = (self.window * 7 / 10).max(WINDOW_MIN);
            self.steady = Some(0);
        }
    }

    /// The window grows with each chunk until something is lost, then by one for each window.
    fn grow(&mut self) {
        let grows = match &mut self.steady {
            None => true,
            Some(steady) => {
                *steady += 1;
                let whole = *steady >= self.window;
                if whole {
                    *steady = 0;
                }
                whole
            }
        };
        self.window = (self.window + u32::from(grows)).min(WINDOW_MAX);
    }

    /// What to ask for now: nothing while more than half a window is under way.
    pub(super) fn pulls(&mut self, now: u64) -> Vec<WantedChunks> {
        let mut room = self.window.saturating_sub(self.under_way);
        if room < self.window / 2 && self.under_way > 0 {
            return Vec::new();
        }
        let mut wanted: Vec<WantedChunks> = Vec::new();
        let first = self.base + self.asked.len() as u64;
        while room > 0 {
            let index = match self.lost.pop_first() {
                Some(index) => index,
                None if self.fresh < self.count => {
                    self.fresh += 1;
                    self.fresh - 1
                }
                None => break,
            };
            room -= 1;
            if !wanted.last_mut().is_some_and(|last| last.set(index)) {
                let mut next = WantedChunks::from(index);
                next.set(index);
                wanted.push(next);
            }
            self.ask(index);
        }
        if !wanted.is_empty() {
            if self.timed.is_none() {
                self.timed = Some((first, now));
            }
            self.restart(now);
        }
        wanted
    }

    /// Nothing came for long: all that is under way is lost.
    pub(super) fn time_out(&mut self, now: u64) {
        self.timeouts = self.timeouts.saturating_add(1);
        self.lose_before(u64::MAX);
        self.window = WINDOW_MIN;
        self.restart(now);
    }
}
