//! The traversals that figure 12 is about, as far as the paper's text names them (t5do, t6), and those with and without updates that show why.

use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module's description. Names are those of the OO7 paper, and of its program, which alone has traversal 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Traversal {
    /// Visits all atomic parts of all composite parts.
    T1,
    /// And changes one in each composite part.
    T2a,
    /// And changes all.
    T2b,
    /// And changes each four times.
    T2c,
    /// Replaces words in documents.
    T5do,
    /// Puts the old words back.
    T5undo,
    /// Visits one atomic part of each composite part.
    T6,
}

impl Traversal {
    /// What is measured.
    pub const MEASURED: [Traversal; 6] =
        [Traversal::T1, Traversal::T2a, Traversal::T2b, Traversal::T2c, Traversal::T5do, Traversal::T6];

    /// What must run afterwards, so that it finds its database as it was.
    pub fn undone_by(self) -> Option<Traversal> {
        (self == Traversal::T5do).then_some(Traversal::T5undo)
    }

    /// How often each atomic part that is visited is changed; a change swaps its coordinates.
    pub fn changes(self, is_root: bool) -> u32 {
        match self {
            Traversal::T2a => u32::from(is_root),
            Traversal::T2b => 1,
            Traversal::T2c => 4,
            _ => 0,
        }
    }

    /// It changes nothing.
    pub fn is_read_only(self) -> bool {
        matches!(self, Traversal::T1 | Traversal::T6)
    }
}

impl fmt::Display for Traversal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}
