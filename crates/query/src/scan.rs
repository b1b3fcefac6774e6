//! One scan in a physical plan.
//!
//! Knows what to read but not where from: the tables come with the execution, in its configuration.

use crate::convert::ColumnBuilder;
use crate::error::{QueryError, of_value};
use crate::limits::BATCH_ROWS;
use crate::tables::{Naming, ScanBatch, ScanRequest, TablesHandle};
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::{self, StreamExt};
use messages::KeyRange;
use messages::schema::TableSchema;
use std::fmt;
use std::sync::Arc;
use values::Value;
use values::row::RowReader;

/// Reads some columns of the rows in some key ranges of a table.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub table: Arc<TableSchema>,
    /// In key order, without overlap.
    pub ranges: Arc<[KeyRange]>,
    /// Position in the stored row of each column of `schema`.
    pub positions: Arc<[usize]>,
    pub schema: SchemaRef,
    /// Rows that are wanted at most.
    pub limit: Option<usize>,
    /// What puts names into its rows, if anything does.
    naming: Option<Naming>,
    properties: Arc<PlanProperties>,
}

impl Scan {
    pub(crate) fn new(
        table: Arc<TableSchema>,
        ranges: Vec<KeyRange>,
        positions: Arc<[usize]>,
        schema: SchemaRef,
        ordering: Option<LexOrdering>,
        limit: Option<usize>,
    ) -> Scan {
        let equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&schema), ordering);
        let properties = Arc::new(PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Scan { table, ranges: ranges.into(), positions, schema, limit, naming: None, properties }
    }

    /// The same, with names put into its rows.
    pub(crate) fn with_names(self, naming: Option<Naming>) -> Scan {
        Scan { naming, ..self }
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(formatter, "Scan: {}, columns=[{}]", self.table.name, columns.join(", "))?;
        match self.ranges.as_ref() {
            [all] if all.low.as_bytes().is_empty() && all.high.is_none() => {}
            ranges => write!(formatter, ", key ranges={}", ranges.len())?,
        }
        match self.limit {
            Some(limit) => write!(formatter, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &str {
        "Scan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Scan { limit, ..self.clone() }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let handle = context
            .session_config()
            .get_extension::<TablesHandle>()
            .ok_or_else(|| DataFusionError::Internal("a scan was started without tables to read".into()))?;
        let (table, limit, naming) = (Arc::clone(&self.table), self.limit, self.naming.clone());
        let missing = self.positions.iter().map(|position| self.table.columns[*position].missing.clone()).collect();
        let decoder = Decoder { schema: Arc::clone(&self.schema), positions: Arc::clone(&self.positions), missing };
        let mut wanted = limit.unwrap_or(usize::MAX);
        let batches = stream::iter(self.ranges.to_vec())
            .map(move |range| {
                handle.0.scan(ScanRequest { table: Arc::clone(&table), range, batch_rows: BATCH_ROWS, limit })
            })
            .flatten()
            .map(move |batch| {
                let rows = batch.map_err(QueryError::into_datafusion)?;
                decoder.decode(&match &naming {
                    Some(naming) => naming.apply(rows)?,
                    None => rows,
                })
            });
        // The batch that reaches the limit is cut, and is the last.
        let limited = batches.scan((), move |(), batch| {
            let cut = match batch {
                _ if wanted == 0 => None,
                Ok(batch) => {
                    let rows = batch.num_rows().min(wanted);
                    wanted -= rows;
                    Some(Ok(batch.slice(0, rows)))
                }
                Err(error) => Some(Err(error)),
            };
            futures::future::ready(cut)
        });
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), limited))))
    }
}

/// Stored rows to Arrow batches.
struct Decoder {
    schema: SchemaRef,
    positions: Arc<[usize]>,
    /// For each position: what a row holds there that ends before it.
    missing: Vec<Value>,
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
            decode_row(row, &wanted, &self.missing, &mut builders)?;
        }
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// `wanted`: (position in the row, builder), ascending. A row that ends early lacks columns that were added after it was
/// written.
fn decode_row(row: &[u8], wanted: &[(usize, usize)], missing: &[Value], builders: &mut [ColumnBuilder]) -> Result<()> {
    let mut reader = RowReader::new(row).map_err(of_value)?;
    let mut next = 0;
    for (position, builder) in wanted {
        while next < *position && reader.remaining() > 0 {
            reader.skip().map_err(of_value)?;
            next += 1;
        }
        let value = if reader.remaining() > 0 { reader.next_value().map_err(of_value)? } else { None };
        next += 1;
        builders[*builder].append(value.as_ref().unwrap_or(&missing[*builder]))?;
    }
    Ok(())
}
