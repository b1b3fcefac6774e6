//! How a log is known again: the lives that have written it, and how far each had come.
//!
//! A site numbers marks in its log, in each of its lives anew, and lives are given out once. So a mark is in one log only, and in every log that has
//! grown from that one; a copy of the log that was made before it lacks the mark, whatever is written to that copy later, for that is
//! written by another life. What a site tells others of its log it tells with a mark behind it, once that is on disk: a loss of power
//! never takes a mark that was told. So a log that lacks one was put back from an older copy. Once such a copy has been brought anew, that is noted in
//! the log as well: what it lacks is the marks, not what was told with them.

use identifiers::{Incarnation, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Lives that a lineage remembers. Whoever was told a mark by an older one takes the log for another.
const LIVES_MAX: usize = 1_024;

/// A place in a site's log. The default is before every log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogPoint {
    /// The life that has set it.
    pub life: Incarnation,
    /// Counted by that life; 0 is its beginning.
    pub number: u64,
}

/// The last mark of each life that has written a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    lives: BTreeMap<Incarnation, u64>,
    /// The last life in which the copy was known to be whole. What lives before it told is in the copy, whoever has written that.
    whole_in: Incarnation,
}

/// What a site knows of marks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownMarks {
    /// Those in its log.
    pub lineage: Lineage,
    /// The last one that each other site has told.
    pub told: BTreeMap<SiteId, LogPoint>,
}

impl Lineage {
    /// A mark is in the log.
    pub fn note(&mut self, mark: LogPoint) {
        let last = self.lives.entry(mark.life).or_default();
        *last = mark.number.max(*last);
        while self.lives.len() > LIVES_MAX {
            self.lives.pop_first();
        }
    }

    /// The copy is whole in this life: others had what it lacked of earlier ones, and it has that now.
    pub fn note_whole(&mut self, life: Incarnation) {
        self.whole_in = life.max(self.whole_in);
    }

    /// Whether the mark is in the log, or what was told with it is in the copy.
    pub fn has(&self, mark: LogPoint) -> bool {
        mark == LogPoint::default()
            || mark.life < self.whole_in
            || self.lives.get(&mark.life).is_some_and(|last| mark.number <= *last)
    }

    /// Whether this life has written anything.
    pub fn has_life(&self, life: Incarnation) -> bool {
        self.lives.contains_key(&life)
    }

    /// Whether any life before this one is known: a log of a Raid that set no marks says nothing.
    pub fn knows_before(&self, life: Incarnation) -> bool {
        self.lives.range(..life).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(life: u32, number: u64) -> LogPoint {
        LogPoint { life: Incarnation(life), number }
    }

    /// If a copy that has grown past a mark had it, what the copy lacks would be taken for there.
    #[test]
    fn a_copy_of_the_log_lacks_what_came_after_it_however_long_it_grows() {
        let mut log = Lineage::default();
        for mark in [mark(1, 0), mark(1, 5), mark(2, 0), mark(2, 3)] {
            log.note(mark);
        }
        let mut copy = log.clone();
        log.note(mark(2, 4));
        copy.note(mark(3, 9));
        assert!(log.has(mark(1, 4)) && log.has(mark(2, 4)) && copy.has(mark(2, 3)) && copy.has(mark(3, 9)));
        assert!(!copy.has(mark(2, 4)) && !copy.has(mark(4, 0)));
        assert!(copy.has(LogPoint::default()) && Lineage::default().has(LogPoint::default()));
        assert!(copy.knows_before(Incarnation(2)) && !copy.knows_before(Incarnation(1)));
    }

    /// If this fails, a copy that was put back and mended is taken for one that was put back, by whoever remembers the lives that it lacks.
    #[test]
    fn a_copy_that_is_whole_again_has_what_lives_before_told() {
        let mut copy = Lineage::default();
        copy.note(mark(1, 5));
        copy.note(mark(4, 0));
        let put_back_again = copy.clone();
        assert!(!copy.has(mark(2, 0)));
        copy.note_whole(Incarnation(4));
        copy.note_whole(Incarnation(3));
        assert!(copy.has(mark(1, 6)) && copy.has(mark(2, 0)) && copy.has(mark(3, 9)) && copy.has(mark(4, 0)));
        assert!(!copy.has(mark(4, 1)) && !copy.has(mark(5, 0)));
        assert!(!put_back_again.has(mark(3, 9)));
    }

    /// A site that never comes to rest would write ever longer records.
    #[test]
    fn the_oldest_lives_are_forgotten() {
        let mut log = Lineage::default();
        (1..=LIVES_MAX as u32 + 1).for_each(|life| log.note(mark(life, 0)));
        assert!(!log.has_life(Incarnation(1)) && log.has_life(Incarnation(2)));
    }
}
