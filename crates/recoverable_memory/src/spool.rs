//! Committed transactions that wait, in memory, to be written to the log as one record.
//!
//! Invariant: the buffer is room for a header and then whole transactions in the order of their commits. They reach the log in one
//! record, so a crash keeps all of them or none; therefore one that later ones overwrite entirely may be left out (inter-transaction
//! coalescing, section 5.2 of the RVM paper; here the record's atomicity keeps what is recovered a prefix of the commits).

use crate::coverage::Coverage;
use crate::limits::{COALESCING_PAUSE_MAX, COALESCING_SHARE};
use crate::record::{self, HEADER_BYTES, SegmentChange};

/// Counters of commits, kept where every commit passes anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpoolCounters {
    pub(crate) transactions: u64,
    pub(crate) bytes_set: u64,
    pub(crate) bytes_committed: u64,
    pub(crate) transactions_coalesced: u64,
    pub(crate) bytes_coalesced: u64,
}

/// The waiting transactions.
#[derive(Debug)]
pub(crate) struct Spool {
    buffer: Vec<u8>,
    /// Where each transaction begins in the buffer.
    starts: Vec<usize>,
    /// How many of them the last attempt at coalescing has seen.
    coalesced: usize,
    /// So many attempts are left out, and so many the last time: where nothing is overwritten, looking for it costs more than all
    /// the rest of a commit.
    pause: u32,
    pause_last: u32,
    pub(crate) counters: SpoolCounters,
}

/// A record without its header, ready to be sealed.
pub(crate) struct RecordBatch {
    pub(crate) buffer: Vec<u8>,
    pub(crate) transactions: u32,
}

impl Spool {
    pub(crate) fn new() -> Spool {
        Spool {
            buffer: vec![0; HEADER_BYTES],
            starts: Vec::new(),
            coalesced: 0,
            pause: 0,
            pause_last: 0,
            counters: SpoolCounters::default(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    pub(crate) fn transactions(&self) -> usize {
        self.starts.len()
    }

    /// The size of the record if it were written now.
    pub(crate) fn record_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// Adds a transaction; `bytes_set` is what it has asked for before its ranges were joined.
    pub(crate) fn push<'a>(&mut self, changes: impl Iterator<Item = SegmentChange<'a>>, bytes_set: u64) {
        self.starts.push(self.buffer.len());
        self.counters.transactions += 1;
        self.counters.bytes_set += bytes_set;
        for change in changes {
            self.counters.bytes_committed += change.bytes.len() as u64;
            record::push_change(&mut self.buffer, change);
        }
    }

    /// Drops every transaction whose bytes later ones have all overwritten. After an attempt that was in vain, a growing number of
    /// further ones, up to [`COALESCING_PAUSE_MAX`], does nothing.
    pub(crate) fn coalesce(&mut self) {
        if self.starts.len() < 2 || self.starts.len() == self.coalesced {
            return;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        let before = self.buffer.len();
        let mut later = Coverage::default();
        let mut kept = vec![true; self.starts.len()];
        let mut end = self.buffer.len();
        for (index, &start) in self.starts.iter().enumerate().rev() {
            let own = || record::changes(&self.buffer[start..end]).flatten();
            kept[index] = !own().all(|change| later.contains(change.segment, change.offset..change.end()));
            if kept[index] {
                for change in own() {
                    later.cover(change.segment, change.offset..change.end(), |_| {});
                }
            } else {
                self.counters.transactions_coalesced += 1;
                self.counters.bytes_coalesced += (end - start) as u64;
            }
            end = start;
        }
        self.keep(&kept);
        self.coalesced = self.starts.len();
        let in_vain = before - self.buffer.len() < before / COALESCING_SHARE;
        self.pause_last = if in_vain { (2 * self.pause_last + 1).min(COALESCING_PAUSE_MAX) } else { 0 };
        self.pause = self.pause_last;
    }

    /// Closes the gaps of the transactions that are not kept.
    fn keep(&mut self, kept: &[bool]) {
        let ends: Vec<usize> = self.starts.iter().skip(1).copied().chain([self.buffer.len()]).collect();
        let mut used = HEADER_BYTES;
        let mut starts = Vec::with_capacity(self.starts.len());
        for ((&start, end), &kept) in self.starts.iter().zip(ends).zip(kept) {
            if kept {
                self.buffer.copy_within(start..end, used);
                starts.push(used);
                used += end - start;
            }
        }
        self.buffer.truncate(used);
        self.starts = starts;
    }

    /// Takes everything out. `spare` is a used buffer, which saves making one.
    pub(crate) fn take(&mut self, mut spare: Vec<u8>) -> RecordBatch {
        spare.clear();
        spare.resize(HEADER_BYTES, 0);
        let transactions = u32::try_from(self.starts.len()).expect("a record has room for fewer");
        self.starts.clear();
        self.coalesced = 0;
        RecordBatch { buffer: std::mem::replace(&mut self.buffer, spare), transactions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(spool: &mut Spool, changes: &[(u64, &[u8])]) {
        let changes = changes.iter().map(|&(offset, bytes)| SegmentChange { segment: 0, offset, bytes });
        let bytes_set = changes.clone().map(|change| change.bytes.len() as u64).sum();
        spool.push(changes, bytes_set);
    }

    fn taken(spool: &mut Spool) -> (u32, Vec<(u64, Vec<u8>)>) {
        let batch = spool.take(Vec::new());
        let changes = record::changes(&batch.buffer[HEADER_BYTES..]).map(Result::unwrap);
        (batch.transactions, changes.map(|change| (change.offset, change.bytes.to_vec())).collect())
    }

    /// If this fails, a commit is lost, or the log holds what nobody will ever see.
    #[test]
    fn what_later_ones_overwrite_together_is_left_out() {
        let mut spool = Spool::new();
        push(&mut spool, &[(0, b"aaaa"), (100, b"b")]);
        push(&mut spool, &[(0, b"partly!")]);
        push(&mut spool, &[(1, b"x"), (50, b"only here")]);
        push(&mut spool, &[(0, b"cc")]);
        push(&mut spool, &[(2, b"dd"), (100, b"e")]);
        spool.coalesce();
        let left: [(u64, &[u8]); 6] =
            [(0, b"partly!"), (1, b"x"), (50, b"only here"), (0, b"cc"), (2, b"dd"), (100, b"e")];
        assert_eq!(spool.counters.transactions_coalesced, 1);
        assert_eq!(taken(&mut spool), (4, left.map(|(offset, bytes)| (offset, bytes.to_vec())).to_vec()));
        assert!(spool.is_empty());
    }

    /// If this fails, the log grows with every change of one counter.
    #[test]
    fn only_the_last_of_many_remains() {
        let mut spool = Spool::new();
        for value in 0..100 {
            push(&mut spool, &[(8, &[value])]);
        }
        spool.coalesce();
        assert_eq!(taken(&mut spool), (1, vec![(8, vec![99])]));
    }
}
