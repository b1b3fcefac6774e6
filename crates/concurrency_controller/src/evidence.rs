//! What a site's load is like, counted so that it does not depend on the method in force.
//!
//! An access is *near* if it conflicts with one of another transaction that was open at the same time. A transaction is open from its first request on,
//! waits for its turn included. So transactions that a method keeps apart are near to each other all the same. (Waits would say nothing: under `serial`
//! and `optimistic` nobody waits for anybody's item.) A client thinks when nothing of its transaction is under way here for `THINKS_MIN`.
//!
//! It decides nothing, and nothing that is correct depends on it: what it remembers is bounded, and a place that two items share has what came last. Both
//! make conflicts be missed, never seen where there is none, but for items whose hashes are equal.

use crate::limits::{EVIDENCE_MEETINGS, EVIDENCE_PLACES, EVIDENCE_RANGES, EVIDENCE_TRIES, EVIDENCE_WRITES, HOT_ITEMS};
use crate::limits::{EVIDENCE_WINDOW, THINKS_BEFORE_COMMIT_MIN, THINKS_MIN};
use crate::lock_table::Mode;
use expert_system::expert::class_of;
use expert_system::limits::MIDDLE_MAX;
use expert_system::{Fact, Findings, LoadWindow, WindowOutcome};
use messages::concurrency::AccessTarget;
use messages::{Item, KeyRange, TransactionId};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// A try of a transaction, counted from 1.
type TryNumber = u64;

/// Who has accessed an item last, in each way; 0: nobody.
#[derive(Clone, Copy, Debug, Default)]
struct LastAccesses {
    hash: u64,
    readers: [TryNumber; 2],
    writers: [TryNumber; 2],
    adders: [TryNumber; 2],
    /// Near accesses in this window.
    near: u64,
}

/// What is known of a try, also of one that has ended.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    /// Which of the begins and ends its begin was.
    began: u64,
    /// Which of them its end was; 0: it is open.
    ended: u64,
    /// Whom it has come behind, lately.
    behind: [TryNumber; EVIDENCE_MEETINGS],
    meetings: usize,
}

/// A try that is open.
#[derive(Clone, Copy, Debug)]
struct OpenTry {
    number: TryNumber,
    /// When it began (boot clock).
    since: u64,
    /// Since when nothing of it is under way here; `None`: something is.
    idle_since: Option<u64>,
    /// How long its client has thought.
    thought: u64,
    accesses: u64,
    writes_what_it_read: bool,
    reads_range: bool,
    /// Programs that go on in it, beside its own: each was a try of its own under another method.
    guests: u64,
    /// The sum of when they began (boot clock).
    guests_since: u128,
}

/// What has come to pass in a window.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct LoadTally {
    accesses: u64,
    near: u64,
    reads: u64,
    increments: u64,
    crossing: u64,
    tries: u64,
    read_then_write: u64,
    one_shot: u64,
    long: u64,
    ranges: u64,
    deaths_elsewhere: u64,
    accesses_of_tries: u64,
    wasted: u64,
    open_time: u64,
    thought: u64,
    outcome: WindowOutcome,
}

/// See the module's description.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LoadEvidence {
    /// When the window began (boot clock).
    began: Option<u64>,
    tally: LoadTally,
    /// What is known of items and tries begins anew where the server is moved to: no window is lost by that, some conflicts are.
    #[serde(skip)]
    memory: Recollection,
}

#[derive(Debug, Default)]
struct Recollection {
    places: Vec<LastAccesses>,
    open: FxHashMap<TransactionId, OpenTry>,
    /// Of tries from `first` on.
    courses: VecDeque<Course>,
    first: TryNumber,
    /// Begins and ends so far.
    moments: u64,
    /// The last ranges that were read.
    ranges: VecDeque<(TryNumber, KeyRange)>,
    /// The last items that were written, while ranges are read.
    written: VecDeque<(TryNumber, Item)>,
}

impl Recollection {
    /// The open try of a transaction; a new one if there is none.
    fn open(&mut self, transaction: TransactionId, now: u64) -> &mut OpenTry {
        self.open.entry(transaction).or_insert_with(|| {
            if self.courses.len() == EVIDENCE_TRIES {
                self.courses.pop_front();
                self.first += 1;
            }
            // The first is 1: 0 is nobody.
            self.first = self.first.max(1);
            self.moments += 1;
            self.courses.push_back(Course { began: self.moments, ..Course::default() });
            let number = self.first + self.courses.len() as u64 - 1;
            OpenTry {
                number,
                since: now,
                idle_since: None,
                thought: 0,
                accesses: 0,
                writes_what_it_read: false,
                reads_range: false,
                guests: 0,
                guests_since: 0,
            }
        })
    }

    fn course(&mut self, number: TryNumber) -> Option<&mut Course> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.courses.get_mut(place)
    }

    /// Whether another try was open when this one was, as far as is remembered.
    fn overlaps(&mut self, own: TryNumber, other: TryNumber) -> bool {
        if other == 0 || other == own {
            return false;
        }
        let Some(began) = self.course(own).map(|course| course.began) else { return false };
        self.course(other).is_some_and(|course| course.ended == 0 || course.ended > began)
    }

    /// A try comes behind another at something. Whether that has come behind it before, elsewhere.
    fn meets(&mut self, own: TryNumber, other: TryNumber) -> bool {
        if let Some(course) = self.course(own)
            && !course.behind.contains(&other)
        {
            course.behind[course.meetings % EVIDENCE_MEETINGS] = other;
            course.meetings += 1;
        }
        self.course(other).is_some_and(|course| course.behind.contains(&own))
    }

    /// The place of an item. What was known there of another is forgotten.
    fn place(&mut self, item: &Item) -> &mut LastAccesses {
        if self.places.is_empty() {
            self.places.resize(EVIDENCE_PLACES, LastAccesses::default());
        }
        let mut hasher = FxHasher::default();
        item.hash(&mut hasher);
        let hash = hasher.finish();
        let place = &mut self.places[(hash >> 20) as usize % EVIDENCE_PLACES];
        if place.hash != hash {
            *place = LastAccesses { hash, ..LastAccesses::default() };
        }
        place
    }
}

/// Two tries, the last of them first; each once.
fn enter(list: &mut [TryNumber; 2], number: TryNumber) {
    if list[0] != number {
        *list = [number, list[0]];
    }
}

impl LoadEvidence {
    /// A transaction asks for something, at this time (boot clock).
    pub(crate) fn asks(&mut self, transaction: TransactionId, target: &AccessTarget, mode: Mode, now: u64) {
        let memory = &mut self.memory;
        let open = memory.open(transaction, now);
        let thought = open.idle_since.take().map_or(0, |since| now.saturating_sub(since));
        if thought >= THINKS_MIN {
            open.thought += thought;
        }
        open.reads_range |= matches!(target, AccessTarget::Range(..));
        let number = open.number;
        let (others, is_new) = match target {
            AccessTarget::Item(item) => self.asks_for_item(number, transaction, item, mode),
            AccessTarget::Range(range) => (self.asks_for_range(number, range), true),
        };
        if !is_new {
            return;
        }
        let memory = &mut self.memory;
        if let Some(open) = memory.open.get_mut(&transaction) {
            open.accesses += 1;
        }
        let tally = &mut self.tally;
        tally.accesses += 1;
        tally.reads += u64::from(mode == Mode::Shared);
        tally.increments += u64::from(mode == Mode::Increment);
        let mut is_near = false;
        for other in others {
            if memory.overlaps(number, other) {
                is_near = true;
                tally.crossing += u64::from(memory.meets(number, other));
            }
        }
        tally.near += u64::from(is_near);
        if is_near && let AccessTarget::Item(item) = target {
            memory.place(item).near += 1;
        }
    }

    /// Who else has accessed an item in a conflicting way, and whether this access is not covered by an earlier one.
    fn asks_for_item(
        &mut self,
        number: TryNumber,
        transaction: TransactionId,
        item: &Item,
        mode: Mode,
    ) -> ([TryNumber; 6], bool) {
        let memory = &mut self.memory;
        let place = memory.place(item);
        let ([reader, reader_before], [writer, writer_before], [adder, adder_before]) =
            (place.readers, place.writers, place.adders);
        let has_read = place.readers.contains(&number);
        let covered = match mode {
            Mode::Shared => has_read,
            Mode::Increment => place.adders.contains(&number),
            Mode::Exclusive => false,
        };
        if covered || place.writers.contains(&number) {
            return ([0; 6], false);
        }
        let others = match mode {
            Mode::Shared => [0, 0, writer, writer_before, adder, adder_before],
            Mode::Increment => [reader, reader_before, writer, writer_before, 0, 0],
            Mode::Exclusive => [reader, reader_before, writer, writer_before, adder, adder_before],
        };
        enter(
            match mode {
                Mode::Shared => &mut place.readers,
                Mode::Increment => &mut place.adders,
                Mode::Exclusive => &mut place.writers,
            },
            number,
        );
        if mode == Mode::Exclusive && has_read {
            memory.open.get_mut(&transaction).into_iter().for_each(|open| open.writes_what_it_read = true);
        }
        if mode != Mode::Shared && !memory.ranges.is_empty() {
            let ranges = memory.ranges.iter().rev();
            let reader = ranges.map(|(reader, range)| (*reader, range)).find(|(reader, range)| {
                *reader != number && range.table == item.table && range.contains(item.key.as_bytes())
            });
            if memory.written.len() == EVIDENCE_WRITES {
                memory.written.pop_front();
            }
            memory.written.push_back((number, item.clone()));
            if let Some((reader, _)) = reader {
                // A reader of the item itself is most often among those that read its range.
                return ([others[0], reader, others[2], others[3], others[4], others[5]], true);
            }
        }
        (others, true)
    }

    /// Who has written something in a range lately.
    fn asks_for_range(&mut self, number: TryNumber, range: &KeyRange) -> [TryNumber; 6] {
        let memory = &mut self.memory;
        let mut others = [0; 6];
        let in_range = |(writer, item): &&(TryNumber, Item)| {
            *writer != number && range.table == item.table && range.contains(item.key.as_bytes())
        };
        for (other, (writer, _)) in others.iter_mut().zip(memory.written.iter().rev().filter(in_range)) {
            *other = *writer;
        }
        if memory.ranges.len() == EVIDENCE_RANGES {
            memory.ranges.pop_front();
        }
        memory.ranges.push_back((number, range.clone()));
        others
    }

    /// It has been answered: its client goes on, or thinks.
    pub(crate) fn answered(&mut self, transaction: TransactionId, now: u64) {
        self.memory.open.get_mut(&transaction).into_iter().for_each(|open| open.idle_since = Some(now));
    }

    /// It is being prepared. It may have waited for that for a while.
    pub(crate) fn commits(&mut self, transaction: TransactionId, now: u64) {
        let Some(open) = self.memory.open.get_mut(&transaction) else { return };
        let thought = open.idle_since.take().map_or(0, |since| now.saturating_sub(since));
        if thought >= THINKS_BEFORE_COMMIT_MIN {
            open.thought += thought;
        }
    }

    /// It has lost to a transaction of another site, if it is that.
    pub(crate) fn loses(&mut self, transaction: TransactionId, to: Option<TransactionId>) {
        let is_other = to.is_some_and(|other| other.home != transaction.home);
        let is_known = self.memory.open.contains_key(&transaction);
        self.tally.deaths_elsewhere += u64::from(is_other && is_known);
    }

    /// It has ended. May be said twice.
    pub(crate) fn ends(&mut self, transaction: TransactionId, committed: bool, now: u64) {
        let memory = &mut self.memory;
        let Some(open) = memory.open.remove(&transaction) else { return };
        memory.moments += 1;
        let moment = memory.moments;
        memory.course(open.number).into_iter().for_each(|course| course.ended = moment);
        // What a client thinks before it gives up is thought, too.
        let last = open.idle_since.map_or(0, |since| now.saturating_sub(since));
        let thought = open.thought + if last >= THINKS_MIN && !committed { last } else { 0 };
        let programs = 1 + open.guests;
        let since = u128::from(open.since) + open.guests_since;
        let open_time = (u128::from(now) * u128::from(programs)).saturating_sub(since) as u64;
        let length = open.accesses / programs;
        let class = class_of(length, open.reads_range, thought > 0);
        let of_all = |is: bool| if is { programs } else { 0 };
        let tally = &mut self.tally;
        tally.tries += programs;
        tally.read_then_write += of_all(open.writes_what_it_read);
        tally.one_shot += of_all(thought == 0);
        tally.long += of_all(length > MIDDLE_MAX);
        tally.ranges += of_all(open.reads_range);
        tally.accesses_of_tries += open.accesses;
        tally.wasted += if committed { 0 } else { open.accesses };
        tally.open_time += open_time;
        tally.thought += thought;
        tally.outcome.server_time += open_time.saturating_sub(thought);
        tally.outcome.tries[class] += programs;
        tally.outcome.commits[class] += of_all(committed);
    }

    /// What one has accessed another goes on with.
    pub(crate) fn handed_over(&mut self, from: TransactionId, to: TransactionId) {
        let memory = &mut self.memory;
        let Some(ended) = memory.open.remove(&from) else { return };
        memory.moments += 1;
        let moment = memory.moments;
        memory.course(ended.number).into_iter().for_each(|course| course.ended = moment);
        if let Some(heir) = memory.open.get_mut(&to) {
            heir.accesses += ended.accesses;
            heir.guests += 1 + ended.guests;
            heir.guests_since += u128::from(ended.since) + ended.guests_since;
        }
    }

    /// The window that is over at this time, if one is.
    pub(crate) fn passes(&mut self, now: u64) -> Option<LoadWindow> {
        let began = *self.began.get_or_insert(now);
        let took = now.saturating_sub(began);
        if took < EVIDENCE_WINDOW {
            return None;
        }
        self.began = Some(now);
        let tally = std::mem::take(&mut self.tally);
        let findings = tally.findings(self.hot(), took);
        self.memory.written.clear();
        self.memory.ranges.clear();
        Some(LoadWindow { accesses: tally.accesses, findings, outcome: tally.outcome })
    }

    /// Near accesses on the items that have most of them. They are counted anew.
    fn hot(&mut self) -> u64 {
        let counts = self.memory.places.iter_mut().map(|place| std::mem::take(&mut place.near));
        let mut counts: Vec<u64> = counts.filter(|near| *near > 0).collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        counts.iter().take(HOT_ITEMS).sum()
    }
}

impl LoadTally {
    fn findings(&self, hot: u64, took: u64) -> Findings {
        let per_mille = |part: u64, whole: u64| {
            let whole = u128::from(whole);
            (u128::from(part) * 1_000).checked_div(whole).map_or(0, |share| share.min(u128::from(u64::MAX)) as u64)
        };
        Findings::default()
            .with(Fact::Near, per_mille(self.near, self.accesses))
            .with(Fact::Reads, per_mille(self.reads, self.accesses))
            .with(Fact::Increments, per_mille(self.increments, self.accesses))
            .with(Fact::ReadThenWrite, per_mille(self.read_then_write, self.tries))
            .with(Fact::OneShot, per_mille(self.one_shot, self.tries))
            .with(Fact::Thinking, per_mille(self.thought, self.open_time))
            .with(Fact::Length, self.accesses_of_tries.checked_div(self.tries).unwrap_or(0))
            .with(Fact::Long, per_mille(self.long, self.tries))
            .with(Fact::Ranges, per_mille(self.ranges, self.tries))
            .with(Fact::Hot, per_mille(hot, self.near))
            .with(Fact::Crossing, per_mille(self.crossing, self.near))
            .with(Fact::Together, per_mille(self.open_time, took))
            .with(Fact::DeathsElsewhere, per_mille(self.deaths_elsewhere, self.tries))
            .with(Fact::Wasted, per_mille(self.wasted, self.accesses_of_tries))
    }
}
