//! Where kernels and moved processes were last heard from.
//!
//! Invariant: an entry is a hint. Nothing is concluded from it but where to send a packet first; whoever hears nothing from there
//! forgets it and asks everybody.

use super::identifier::{LogicalHostId, ProcessId};
use super::limits::HINTS_MAX;
use raidcomm::round_trip::RoundTrip;
use std::collections::BTreeMap;

/// What an entry is about: a kernel with the processes that it made, or one process that lives elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Host(LogicalHostId),
    Process(ProcessId),
}

#[derive(Clone, Copy, Debug)]
struct HintEntry<A> {
    place: A,
    /// When it was last used, by a count of uses.
    used: u64,
    round_trip: RoundTrip,
}

/// The view of a kernel: where others are. The entry that was not used for longest makes room for a new one.
#[derive(Clone, Debug)]
pub(super) struct Hints<A> {
    entries: BTreeMap<Subject, HintEntry<A>>,
    uses: u64,
}

impl<A: Copy + PartialEq> Hints<A> {
    pub(super) fn new() -> Hints<A> {
        Hints { entries: BTreeMap::new(), uses: 0 }
    }

    /// A packet of this process came from this kernel at this place.
    pub(super) fn learn(&mut self, kernel: LogicalHostId, source: ProcessId, place: A) {
        self.put(Subject::Host(kernel), place);
        let subject = Subject::Process(source);
        if source.host() != kernel {
            self.put(subject, place);
        } else {
            // It was away, and is back with the kernel that made it.
            self.entries.remove(&subject);
        }
    }

    /// This process is now with that kernel. True if its place is known.
    pub(super) fn moved(&mut self, process: ProcessId, kernel: LogicalHostId) -> bool {
        match self.entries.get(&Subject::Host(kernel)).map(|entry| entry.place) {
            Some(place) => {
                self.put(Subject::Process(process), place);
                true
            }
            None => false,
        }
    }

    fn put(&mut self, subject: Subject, place: A) {
        self.uses += 1;
        let used = self.uses;
        if let Some(entry) = self.entries.get_mut(&subject) {
            if entry.place != place {
                *entry = HintEntry { place, used, round_trip: RoundTrip::default() };
            }
            entry.used = used;
            return;
        }
        if self.entries.len() >= HINTS_MAX {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(&subject, _)| subject);
            oldest.map(|subject| self.entries.remove(&subject));
        }
        self.entries.insert(subject, HintEntry { place, used, round_trip: RoundTrip::default() });
    }

    fn entry(&self, process: ProcessId) -> Option<&HintEntry<A>> {
        // Hardly any process has moved: one look at the table in most kernels.
        self.entries.get(&Subject::Process(process)).or_else(|| self.entries.get(&Subject::Host(process.host())))
    }

    fn entry_mut(&mut self, process: ProcessId) -> Option<&mut HintEntry<A>> {
        let own = Subject::Process(process);
        let subject = if self.entries.contains_key(&own) { own } else { Subject::Host(process.host()) };
        self.entries.get_mut(&subject)
    }

    pub(super) fn place(&self, process: ProcessId) -> Option<A> {
        self.entry(process).map(|entry| entry.place)
    }

    /// Nothing is heard from where this process was thought to be.
    pub(super) fn forget(&mut self, process: ProcessId) {
        if self.entries.remove(&Subject::Process(process)).is_none() {
            self.entries.remove(&Subject::Host(process.host()));
        }
    }

    /// Nothing is at this place any more.
    pub(super) fn forget_place(&mut self, place: A) {
        self.entries.retain(|_, entry| entry.place != place);
    }

    /// How long to wait for an answer of this process.
    pub(super) fn wait(&self, process: ProcessId, retransmissions: u32) -> u64 {
        self.entry(process)
            .map_or_else(|| RoundTrip::default().wait(retransmissions), |entry| entry.round_trip.wait(retransmissions))
    }

    pub(super) fn sample(&mut self, process: ProcessId, time: u64) {
        if let Some(entry) = self.entry_mut(process) {
            entry.round_trip.sample(time);
        }
    }

    pub(super) fn back_off(&mut self, process: ProcessId, retransmissions: u32) {
        if let Some(entry) = self.entry_mut(process) {
            entry.round_trip.back_off(retransmissions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the table grew, or gave up what is in use, hints would cost memory or a broadcast for each exchange.
    #[test]
    fn the_least_used_hint_makes_room() {
        let mut hints = Hints::new();
        let process = |host: usize| ProcessId::new(LogicalHostId(host as u32), 1);
        for host in 0..HINTS_MAX {
            hints.learn(LogicalHostId(host as u32), process(host), host);
        }
        hints.learn(LogicalHostId(0), process(0), 0);
        hints.learn(LogicalHostId(HINTS_MAX as u32), process(HINTS_MAX), HINTS_MAX);
        assert_eq!(hints.place(process(0)), Some(0), "it was just heard from");
        assert_eq!(hints.place(process(1)), None, "nobody was silent for longer");
        assert_eq!(hints.place(process(HINTS_MAX)), Some(HINTS_MAX));
    }

    /// If a moved process changed the hint of the kernel that made it, its former neighbours would be looked for in vain.
    #[test]
    fn a_moved_process_leaves_its_neighbours_where_they_are() {
        let mut hints = Hints::new();
        let (moved, neighbour) = (ProcessId::new(LogicalHostId(1), 1), ProcessId::new(LogicalHostId(1), 2));
        hints.learn(LogicalHostId(1), neighbour, 'a');
        hints.learn(LogicalHostId(2), moved, 'b');
        assert_eq!((hints.place(moved), hints.place(neighbour)), (Some('b'), Some('a')));
        hints.forget(moved);
        assert_eq!((hints.place(moved), hints.place(neighbour)), (Some('a'), Some('a')));
    }
}
