//! Batches of rows for the query processor.
//!
//! Invariant: what is left after a batch is exactly what it has not read, so batches join without gap or repetition, whichever way the rows are
//! found. Rows of a key range are permitted with their range; a row that is named by its key, or that an index leads to, by itself.

use crate::contention::Contention;
use crate::limits::SCAN_BYTES_MAX;
use crate::need::{ExecutorEvent, ExecutorNeed, RangeAccess, RangeNeed};
use crate::reliance::Reliance;
use crate::rows;
use crate::scene::ExecutorStep;
use crate::transaction::{ExecutingTransaction, RequestReads};
use messages::concurrency::AccessKind;
use messages::concurrency_report::is_of;
use messages::schema::CatalogVersions;
use messages::session::{Failure, IndexPath, SessionReply, SessionRequest};
use messages::{Item, Key, KeyRange, Row, TableId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A batch being read.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScanJob {
    wanted: Vec<KeyRange>,
    query: Option<u64>,
    through: Option<IndexPath>,
    reverse: bool,
    limit: usize,
    relies_on: CatalogVersions,
    progress: ScanProgress,
}

/// How far this try has come.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ScanProgress {
    reliance: Reliance,
    left: VecDeque<KeyRange>,
    /// Entries of the index whose rows are still to be read.
    entries: VecDeque<(Key, Row)>,
    reading: Option<ItemReading>,
    found: Vec<(Key, Row)>,
    found_bytes: usize,
}

/// The item being read.
#[derive(Debug, Serialize, Deserialize)]
enum ItemReading {
    /// Of one of the ranges, which holds no other key.
    Point(Key),
    /// The row that an entry leads to.
    Row(Key),
}

impl ScanJob {
    /// A batch of about `limit` rows of a [`SessionRequest::Scan`].
    pub fn new(request: SessionRequest) -> ScanJob {
        let SessionRequest::Scan { ranges, through, reverse, limit, relies_on, query } = request else {
            unreachable!("begun for a scan")
        };
        let progress = ScanProgress { left: ranges.clone().into(), ..ScanProgress::default() };
        ScanJob { wanted: ranges, query, through, reverse, limit: limit.max(1) as usize, relies_on, progress }
    }

    /// What it reads.
    pub(crate) fn reads(&self) -> RequestReads {
        self.query.map_or(RequestReads::Newest, RequestReads::Query)
    }

    /// From the beginning.
    pub(crate) fn start_over(&mut self) {
        self.progress = ScanProgress { left: self.wanted.clone().into(), ..ScanProgress::default() };
    }

    /// What was found, and what is left.
    pub(crate) fn into_reply(self) -> SessionReply {
        SessionReply::Scanned { rows: self.progress.found, left: self.progress.left.into() }
    }

    /// Goes on. Errors: the schema has changed, XX001.
    pub(crate) fn resume(
        &mut self,
        transaction: &mut ExecutingTransaction,
        contention: &Contention,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let mut event = event;
        if let Some(need) = self.progress.reliance.resume(&self.relies_on, false, transaction, &mut event)? {
            return Ok(ExecutorStep::Need(need));
        }
        if self.progress.left.front().is_some_and(|range| range.table == TableId::CONTENTION) {
            self.progress.left.clear();
            self.progress.found = contention.rows();
            return Ok(ExecutorStep::Done);
        }
        if let Some(table) = self.progress.left.front().map(|range| range.table).filter(|table| is_of(*table)) {
            let ExecutorEvent::Method(report) = event else { return Ok(ExecutorStep::Need(ExecutorNeed::Method)) };
            self.progress.left.clear();
            self.progress.found = report.rows(table);
            return Ok(ExecutorStep::Done);
        }
        match event {
            ExecutorEvent::Batch(rows, left) => {
                // The rest of this range comes before the next one.
                left.into_iter().for_each(|left| self.progress.left.push_front(left));
                rows.into_iter().for_each(|(key, row)| self.take(key, row));
            }
            ExecutorEvent::Item(row) => match (self.progress.reading.take(), row) {
                (Some(ItemReading::Point(key)), Some(row)) => self.take(key, row),
                (Some(ItemReading::Row(key)), Some(row)) => self.progress.find(key, row),
                _ => {}
            },
            _ => {}
        }
        self.next()
    }

    /// A row of one of the ranges.
    fn take(&mut self, key: Key, row: Row) {
        match self.through {
            Some(_) => self.progress.entries.push_back((key, row)),
            None => self.progress.find(key, row),
        }
    }

    fn next(&mut self) -> Result<ExecutorStep, Failure> {
        let progress = &mut self.progress;
        if let (Some(through), Some((key, row))) = (&self.through, progress.entries.pop_front()) {
            let table = &through.table;
            let key = rows::indexed_key(table, &table.indexes[through.index], &key, &row)?;
            progress.reading = Some(ItemReading::Row(key.clone()));
            return Ok(ExecutorStep::Need(ExecutorNeed::Item(rows::table_item(table, key), AccessKind::Read)));
        }
        if progress.found.len() >= self.limit || progress.found_bytes >= SCAN_BYTES_MAX {
            return Ok(ExecutorStep::Done);
        }
        let Some(range) = progress.left.pop_front() else { return Ok(ExecutorStep::Done) };
        if range.is_point() {
            progress.reading = Some(ItemReading::Point(range.low.clone()));
            let item = Item { table: range.table, key: range.low };
            return Ok(ExecutorStep::Need(ExecutorNeed::Item(item, AccessKind::Read)));
        }
        let limit = u32::try_from(self.limit - progress.found.len()).unwrap_or(u32::MAX);
        Ok(ExecutorStep::Need(ExecutorNeed::Range(RangeNeed {
            range,
            kind: AccessKind::Read,
            limit,
            reverse: self.reverse,
            access: RangeAccess::Waits,
        })))
    }
}

impl ScanProgress {
    fn find(&mut self, key: Key, row: Row) {
        self.found_bytes += key.as_bytes().len() + row.len();
        self.found.push((key, row));
    }
}
