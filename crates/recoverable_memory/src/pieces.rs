//! The pieces in which a log is read when it is brought to the segments.

use std::ops::Range;

use crate::device::LogOffset;
use crate::limits::PIECE_BYTES;

/// The pieces that begin at `starts` and end together at `end`.
pub(crate) fn pieces(starts: &[LogOffset], end: LogOffset) -> Vec<Range<LogOffset>> {
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Notes where a piece begins. `starts` are the beginnings so far, and `record` is one that follows.
pub(crate) fn note_record(starts: &mut Vec<LogOffset>, record: Range<LogOffset>) {
    if starts.last().is_none_or(|&start| record.end.since(start) > PIECE_BYTES) {
        starts.push(record.start);
    }
}
