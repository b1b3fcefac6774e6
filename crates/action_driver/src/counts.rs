//! How long commits took, and how often conflicts were lost, by kind: what is told outside the database.

use messages::ConflictKind;
use metrics::LatencyHistogram;
use serde::{Deserialize, Serialize};

/// Of one life of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkCounts {
    /// From the moment that a history was sent to be committed until its commit was known. What is committed together counts once.
    pub commits: LatencyHistogram,
    /// By their places in [`ConflictKind::ALL`].
    lost: [u64; ConflictKind::ALL.len()],
}

impl WorkCounts {
    /// A commit took so many nanoseconds.
    pub(crate) fn committed(&mut self, nanoseconds: u64) {
        self.commits.observe(nanoseconds);
    }

    /// A transaction has lost such a conflict, whether it is tried again or not.
    pub(crate) fn lost(&mut self, kind: ConflictKind) {
        self.lost[kind as usize] += 1;
    }

    /// How often each kind of conflict was lost.
    pub fn conflicts(&self) -> impl Iterator<Item = (ConflictKind, u64)> {
        ConflictKind::ALL.into_iter().zip(self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A conflict would be counted as one of another kind.
    #[test]
    fn each_kind_has_its_own_count() {
        let mut counts = WorkCounts::default();
        for (more, kind) in (1..).zip(ConflictKind::ALL) {
            (0..more).for_each(|_| counts.lost(kind));
        }
        let counted: Vec<_> = counts.conflicts().collect();
        assert_eq!(counted, ConflictKind::ALL.into_iter().zip(1..).collect::<Vec<_>>());
    }
}
