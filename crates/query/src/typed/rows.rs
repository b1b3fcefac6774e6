//! Running a plan: what it needs is read, and its rows are handed out as they come.
//!
//! The executor does nothing by itself: it is resumed in slices, and between two of them others have their turn, which is when a query that nobody waits for any
//! more ends. Invariant: rows of a scan reach the executor in the order in which the tables hand them over, each once.

use super::paths::{StatementTables, index_of, ranges};
use super::session::SessionView;
use super::system::WrittenAs;
use super::system_rows::SystemRows;
use crate::error::QueryError;
use crate::limits::{BATCH_ROWS, SLICE_ROWS};
use crate::processor::RowStream;
use crate::sizes::TableSizes;
use crate::tables::{ScanBatch, ScanRequest, Tables};
use datafusion::execution::memory_pool::MemoryReservation;
use evaluation::random::RandomBits;
use evaluation::{CallEnvironment, PatternCache};
use executor::{ExecutionStep, RowNeed, ScanId, ScanOrder};
use futures::stream::{self, BoxStream, StreamExt};
use messages::schema::TableSchema;
use messages::{KeyRange, TableId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use values::Value;
use values::row::RowReader;

/// An execution and what it reads from.
pub(crate) struct RunningPlan {
    /// What computes.
    pub execution: executor::PlanExecution,
    /// The tables it may ask for.
    pub relations: StatementTables,
    /// Where their rows come from.
    pub tables: Arc<dyn Tables>,
    /// What functions may ask.
    pub session: SessionView,
    /// When the transaction began, in microseconds since 2000.
    pub now: i64,
    /// Random bits.
    pub random: RandomBits,
    /// Regular expressions that it has met.
    pub patterns: PatternCache,
    /// What was learned of tables.
    pub sizes: Arc<TableSizes>,
    /// Scans that are open.
    pub scans: BTreeMap<ScanId, StreamedScan>,
    /// Rows of system relations, by their numbers.
    pub system_rows: BTreeMap<u32, SystemRows>,
    /// Columns of results that are written as texts.
    pub written: Arc<[(usize, WrittenAs)]>,
    /// Memory that is set aside for it.
    pub held: MemoryReservation,
}

/// A scan that is under way.
pub(crate) struct StreamedScan {
    batches: BoxStream<'static, Result<ScanBatch, QueryError>>,
    decoder: RowDecoder,
    /// Which table is read as a whole, and how many of its rows have come.
    counted: Option<CountedTable>,
}

/// A table that is read as a whole.
struct CountedTable {
    storage: TableId,
    rows: usize,
}

impl RunningPlan {
    /// The rows, as they are computed.
    pub(crate) fn stream(self) -> RowStream {
        stream::try_unfold(
            self,
            |mut running| async move { Ok(running.next_rows().await?.map(|rows| (rows, running))) },
        )
        .boxed()
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Vec<Value>>>, QueryError> {
        loop {
            match self.slice()? {
                ExecutionStep::Rows(rows) => return Ok(Some(self.written(rows))),
                ExecutionStep::Done => return Ok(None),
                ExecutionStep::Yield => pause().await,
                ExecutionStep::Need(RowNeed::Open(scan, order)) => {
                    if !self.read_system(scan, &order)? {
                        self.open(scan, &order)?;
                        self.read(scan).await?;
                    }
                }
                ExecutionStep::Need(RowNeed::More(scan)) => self.read(scan).await?,
                ExecutionStep::Need(RowNeed::Close(scan)) => drop(self.scans.remove(&scan)),
                ExecutionStep::Need(RowNeed::Call(call, order)) => {
                    let rows = self.tables.call(order.function.0, order.arguments).await?;
                    self.execution.answer(call, rows, true);
                }
            }
        }
    }

    fn slice(&mut self) -> Result<ExecutionStep, QueryError> {
        let random = &mut self.random;
        let mut environment = CallEnvironment {
            transaction_time: self.now,
            statement_time: self.now,
            zone: &self.session.facts.zone,
            random: &mut || random.draw(),
            session: &self.session,
            patterns: &mut self.patterns,
        };
        let step = self.execution.resume(&mut environment, SLICE_ROWS)?;
        self.held.try_resize(self.execution.memory_bytes())?;
        Ok(step)
    }

    /// Rows as their client gets them.
    fn written(&self, mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
        let Some(system) = &self.session.system else { return rows };
        for (place, written) in self.written.iter() {
            for row in &mut rows {
                row[*place] = written.text(system, &row[*place]);
            }
        }
        rows
    }

    /// Hands over what a scan of a system relation yields, at once; false: it is of a table.
    fn read_system(&mut self, scan: ScanId, order: &ScanOrder) -> Result<bool, QueryError> {
        let known = self.relations.0.get(&order.relation).filter(|sized| sized.is_system);
        let (Some(sized), Some(system)) = (known, &self.session.system) else { return Ok(false) };
        let rows = match self.system_rows.entry(order.relation.0) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unread) => {
                let rows = unread.insert(SystemRows::of(system, order.relation.0)?);
                self.sizes.counted(sized.table.storage, rows.count());
                rows
            }
        };
        self.execution.answer(scan, rows.read(&sized.table, order), true);
        Ok(true)
    }

    fn open(&mut self, scan: ScanId, order: &ScanOrder) -> Result<(), QueryError> {
        let table = self.relations.0.get(&order.relation).map(|sized| &sized.table);
        let table = table.ok_or_else(|| QueryError::new("XX000", "a plan reads a table that it does not name"))?;
        let request = ScanRequest {
            table: Arc::clone(table),
            ranges: ranges(table, order),
            index: index_of(order),
            reverse: order.reverse,
            batch_rows: BATCH_ROWS,
            limit: order.limit,
        };
        let is_whole = request.ranges == [KeyRange::whole(table.storage)] && request.limit.is_none();
        let counted = is_whole.then_some(CountedTable { storage: table.storage, rows: 0 });
        let batches = self.tables.scan(request);
        let decoder = RowDecoder::new(table, &order.columns);
        self.scans.insert(scan, StreamedScan { batches, decoder, counted });
        Ok(())
    }

    /// Hands over the next rows of a scan.
    async fn read(&mut self, scan: ScanId) -> Result<(), QueryError> {
        let Some(open) = self.scans.get_mut(&scan) else {
            return Err(QueryError::new("XX000", "a plan reads on in a scan that is not open"));
        };
        match open.batches.next().await {
            Some(batch) => {
                let rows = open.decoder.rows(&batch?)?;
                open.counted.iter_mut().for_each(|counted| counted.rows += rows.len());
                self.execution.answer(scan, rows, false);
            }
            None => {
                if let Some(CountedTable { storage, rows }) = self.scans.remove(&scan).and_then(|open| open.counted) {
                    self.sizes.counted(storage, rows);
                }
                self.execution.answer(scan, Vec::new(), true);
            }
        }
        Ok(())
    }
}

/// Lets others have their turn.
async fn pause() {
    let mut has_paused = false;
    poll_fn(|context| {
        if has_paused {
            return Poll::Ready(());
        }
        has_paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Stored rows to values.
struct RowDecoder {
    /// Positions in the stored row, ascending.
    wanted: Vec<usize>,
    /// What a row holds at each position if it ends before it.
    missing: Arc<[Value]>,
}

impl RowDecoder {
    fn new(table: &TableSchema, columns: &[u32]) -> RowDecoder {
        let wanted = columns.iter().map(|column| *column as usize).collect();
        RowDecoder { wanted, missing: table.columns.iter().map(|column| column.missing.clone()).collect() }
    }

    /// Rows of what is wanted.
    fn rows(&self, batch: &ScanBatch) -> Result<Vec<Vec<Value>>, QueryError> {
        batch.iter().map(|(_, row)| self.row(row)).collect()
    }

    fn row(&self, bytes: &[u8]) -> Result<Vec<Value>, QueryError> {
        let mut row = Vec::with_capacity(self.wanted.len());
        if self.wanted.is_empty() {
            return Ok(row);
        }
        let mut reader = RowReader::new(bytes)?;
        let mut next = 0;
        for position in &self.wanted {
            while next < *position && reader.remaining() > 0 {
                reader.skip()?;
                next += 1;
            }
            let value = if reader.remaining() > 0 { reader.next_value()? } else { None };
            next += 1;
            // A row that ends early lacks columns that were added after it was written.
            row.push(value.unwrap_or_else(|| self.missing[*position].clone()));
        }
        Ok(row)
    }
}
