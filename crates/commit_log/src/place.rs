//! Where a record is: whose log, and how far in it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A byte offset in the endless log. It grows by the framed size of each record, whatever the segments are, and is
/// never used for another record unless opening the log has cut it (see [`crate::Cut`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position(pub u64);

impl Position {
    /// Where a new log starts.
    pub const START: Position = Position(0);

    /// The position `bytes` further on.
    pub(crate) fn plus(self, bytes: u64) -> Position {
        Position(self.0 + bytes)
    }

    /// How many bytes lie between `earlier` and this position.
    ///
    /// # Panics
    /// If `earlier` is later.
    pub fn since(self, earlier: Position) -> u64 {
        assert!(earlier <= self, "position {earlier} is not earlier than {self}");
        self.0 - earlier.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Whose log it is: so that no site ever continues the log of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogIdentity {
    /// The instance of the database.
    pub instance: u128,
    /// The site in that instance.
    pub site: u64,
}

impl fmt::Display for LogIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "site {} of instance {:032x}", self.site, self.instance)
    }
}
