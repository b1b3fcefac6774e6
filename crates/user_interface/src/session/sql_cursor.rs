//! A cursor of SQL: rows, and a place among them (PostgreSQL's manual, FETCH).

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::cursor_syntax::CursorMove;
use messages::program::ResultColumn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use values::Value;

/// Bytes that a cursor keeps, counted among those of all sessions for as long as it is there.
#[derive(Debug, Default)]
pub struct KeptBytes {
    /// Bytes.
    pub own: usize,
    together: Arc<AtomicUsize>,
}

impl KeptBytes {
    /// None yet.
    pub fn among(together: &Arc<AtomicUsize>) -> KeptBytes {
        KeptBytes { own: 0, together: together.clone() }
    }

    /// Counts more; how many bytes all sessions keep now.
    pub fn add(&mut self, bytes: usize) -> usize {
        self.own += bytes;
        self.together.fetch_add(bytes, Ordering::Relaxed) + bytes
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.together.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// A cursor of a session.
#[derive(Debug, Default)]
pub struct SqlCursor {
    /// Columns of its rows.
    pub columns: Vec<ResultColumn>,
    /// All its rows.
    pub rows: Vec<Vec<Value>>,
    /// The row that it stands on, from 1; 0 before the first, one more than there are behind the last.
    pub position: usize,
    /// NO SCROLL.
    pub forward_only: bool,
    /// WITH HOLD.
    pub hold: bool,
    /// BINARY.
    pub binary: bool,
    /// Its transaction has committed.
    pub held: bool,
    /// How many savepoints there were when it was declared.
    pub depth: usize,
    /// Bytes of its rows.
    pub bytes: KeptBytes,
}

/// Rows that FETCH shows, by their places from 0, in the order in which they are shown.
pub enum Shown {
    /// As they stand.
    Up(std::ops::Range<usize>),
    /// From the last to the first.
    Down(std::ops::Range<usize>),
}

impl Shown {
    /// How many.
    pub fn count(&self) -> usize {
        let (Shown::Up(range) | Shown::Down(range)) = self;
        range.len()
    }
}

impl SqlCursor {
    /// Goes where it is told. Errors: 55000 for one that goes backwards and must not.
    pub fn go(&mut self, direction: CursorMove) -> Result<Shown> {
        let (count, before) = (self.rows.len(), self.position);
        let clamped = |place: i64| usize::try_from(place.clamp(0, count as i64 + 1)).unwrap_or(0);
        let one = |place: usize| if place == 0 || place > count { 0..0 } else { place - 1..place };
        let (position, shown) = match direction {
            CursorMove::ForwardAll => (count + 1, Shown::Up(before.min(count)..count)),
            CursorMove::BackwardAll => (0, Shown::Down(0..before.saturating_sub(1))),
            CursorMove::Forward(0) => (before, Shown::Up(one(before))),
            CursorMove::Forward(rows) if rows > 0 => {
                let first = before.min(count);
                let end = count.min(first.saturating_add(rows as usize));
                let is_short = ((end - first) as i64) < rows;
                (if is_short { count + 1 } else { end }, Shown::Up(first..end))
            }
            CursorMove::Forward(rows) => {
                let end = before.saturating_sub(1);
                let first = end.saturating_sub(rows.unsigned_abs() as usize);
                let is_short = ((end - first) as u64) < rows.unsigned_abs();
                (if is_short { 0 } else { first + 1 }, Shown::Down(first..end))
            }
            CursorMove::Absolute(place) => {
                let place = if place < 0 { count as i64 + 1 + place } else { place };
                (clamped(place), Shown::Up(one(clamped(place))))
            }
            CursorMove::Relative(rows) => {
                let place = clamped((before as i64).saturating_add(rows));
                (place, Shown::Up(one(place)))
            }
        };
        let shows_again = shown.count() > 0 && position == before;
        if self.forward_only && (position < before || shows_again) {
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_STATE, "cursor can only scan forward")
                .with_hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.position = position;
        Ok(shown)
    }
}
