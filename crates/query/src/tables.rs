//! Tables as DataFusion sees them: schemas, scans, and the caller's world behind [`Tables`].
//!
//! A plan holds no data and no transaction, so it can be cached; where rows come from is handed over at each execution. A
//! scan decodes only the columns that the plan asks for. Rows come in key order, and the plan is told so.

use crate::convert::ColumnBuilder;
use crate::error::{QueryError, of_value};
use crate::limits::BATCH_ROWS;
use crate::ranges;
use crate::types;
use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream::{self, BoxStream, StreamExt};
use messages::schema::TableSchema;
use messages::{Key, KeyRange, Row};
use std::fmt;
use std::sync::Arc;
use values::row::RowReader;

/// What a plan wants to read of one table.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The table.
    pub table: Arc<TableSchema>,
    /// The keys.
    pub range: KeyRange,
    /// How many rows to hand over in one batch, at most.
    pub batch_rows: usize,
    /// How many rows the plan needs at most; `None`: all. A hint: more may be handed over.
    pub limit: Option<usize>,
}

/// Rows with their keys, in key order.
pub type ScanBatch = Vec<(Key, Row)>;

/// The caller's world: reads go through the session's transaction, so that its own writes, its locks and its snapshot
/// are right. Dropping the stream cancels the scan.
pub trait Tables: Send + Sync {
    /// Reads a range of a table in key order.
    fn scan(&self, request: ScanRequest) -> BoxStream<'static, std::result::Result<ScanBatch, QueryError>>;
}

/// Hands the caller's world through DataFusion's session configuration to the scans of one execution.
pub(crate) struct TablesHandle(pub Arc<dyn Tables>);

/// A table in a plan.
#[derive(Debug)]
pub(crate) struct RowTable {
    table: Arc<TableSchema>,
    schema: SchemaRef,
    /// Position in the stored row of each column of `schema`.
    positions: Arc<[usize]>,
}

impl RowTable {
    pub(crate) fn new(table: Arc<TableSchema>) -> RowTable {
        let live = || table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        let fields: Vec<_> =
            live().map(|(position, column)| types::table_field(column, table.oid, position as i16 + 1)).collect();
        let positions = live().map(|(position, _)| position).collect();
        RowTable { schema: Arc::new(Schema::new(fields)), positions, table }
    }

    /// The order in which rows come, as far as the projected columns tell it.
    fn ordering(&self, projected: &[usize]) -> Result<Option<LexOrdering>> {
        let mut columns = Vec::new();
        for key_position in &self.table.primary_key {
            let place = projected.iter().position(|index| self.positions[*index] == *key_position);
            let Some(place) = place else { break };
            let name = self.schema.field(projected[place]).name();
            let options = SortOptions { descending: false, nulls_first: false };
            columns.push(PhysicalSortExpr::new(Arc::new(Column::new(name, place)), options));
        }
        Ok(LexOrdering::new(columns))
    }
}

#[async_trait]
impl TableProvider for RowTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Ranges of keys narrow the scan, and the filter is applied all the same: the bounds may be wider than it.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projected: Vec<usize> = match projection {
            Some(columns) => columns.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&projected)?);
        let ranges = ranges::of_filters(&self.table, filters);
        let ordering = self.ordering(&projected)?;
        let partition = RowScan {
            table: Arc::clone(&self.table),
            ranges,
            positions: projected.iter().map(|index| self.positions[*index]).collect(),
            schema: Arc::clone(&schema),
            limit,
        };
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::new(partition)], None, ordering, false, limit)?))
    }
}

/// One scan in a physical plan.
struct RowScan {
    table: Arc<TableSchema>,
    /// In key order, without overlap.
    ranges: Vec<KeyRange>,
    /// Position in the stored row of each column of `schema`.
    positions: Arc<[usize]>,
    schema: SchemaRef,
    limit: Option<usize>,
}

impl fmt::Debug for RowScan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in {} key range(s)", self.table.name, self.ranges.len())
    }
}

impl PartitionStream for RowScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let handle = context.session_config().get_extension::<TablesHandle>();
        let Some(handle) = handle else {
            let error = DataFusionError::Internal("a scan was started without tables to read".into());
            let failed = stream::once(async move { Err(error) });
            return Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), failed));
        };
        let (table, limit) = (Arc::clone(&self.table), self.limit);
        let decoder = Decoder { schema: Arc::clone(&self.schema), positions: Arc::clone(&self.positions) };
        let batches = stream::iter(self.ranges.clone())
            .map(move |range| {
                handle.0.scan(ScanRequest { table: Arc::clone(&table), range, batch_rows: BATCH_ROWS, limit })
            })
            .flatten()
            .map(move |batch| decoder.decode(&batch.map_err(QueryError::into_datafusion)?));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

/// Stored rows to Arrow batches.
struct Decoder {
    schema: SchemaRef,
    positions: Arc<[usize]>,
}

impl Decoder {
    fn decode(&self, rows: &ScanBatch) -> Result<RecordBatch> {
        let mut builders = Vec::with_capacity(self.positions.len());
        for field in self.schema.fields() {
            builders.push(ColumnBuilder::new(field.data_type(), rows.len())?);
        }
        // Stored columns are read front to back once, whatever the order in which they are wanted.
        let mut wanted: Vec<(usize, usize)> =
            self.positions.iter().enumerate().map(|(place, position)| (*position, place)).collect();
        wanted.sort_unstable();
        for (_, row) in rows {
            decode_row(row, &wanted, &mut builders)?;
        }
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// `wanted`: (position in the row, builder), ascending. A row that ends early lacks columns that were added after it was
/// written: they are NULL.
fn decode_row(row: &[u8], wanted: &[(usize, usize)], builders: &mut [ColumnBuilder]) -> Result<()> {
    let mut reader = RowReader::new(row).map_err(of_value)?;
    let mut next = 0;
    for (position, builder) in wanted {
        while next < *position && reader.remaining() > 0 {
            reader.skip().map_err(of_value)?;
            next += 1;
        }
        let value = if reader.remaining() > 0 { reader.next_value().map_err(of_value)? } else { None };
        next += 1;
        builders[*builder].append(&value.unwrap_or(values::Value::Null))?;
    }
    Ok(())
}
