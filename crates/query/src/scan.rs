//! One scan in a physical plan.
//!
//! Knows what to read but not where from: the tables come with the execution, in its configuration. Which way it takes to its rows is
//! settled when the first of them is wanted: a join that waits for them knows by then which keys it looks for.

use crate::convert::ColumnBuilder;
use crate::error::{QueryError, of_value};
use crate::limits::BATCH_ROWS;
use crate::tables::{Naming, ScanBatch, ScanRequest, TablesHandle};
use crate::types;
use crate::ways::{Restrictions, Way};
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Statistics};
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    ConstExpr, EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use messages::schema::{IndexSchema, TableSchema};
use std::fmt;
use std::sync::Arc;
use values::Value;
use values::row::RowReader;

/// Reads some columns of the rows of a table that a filter may let pass.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    table: Arc<TableSchema>,
    restrictions: Restrictions,
    /// Whether rows that it reads are filtered after it.
    is_filtered: bool,
    way: Way,
    /// From the highest key to the lowest.
    reverse: bool,
    /// What will be known of the rows that are wanted.
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// Position in the stored row of each column of `schema`.
    positions: Arc<[usize]>,
    schema: SchemaRef,
    /// Rows that are wanted at most.
    limit: Option<usize>,
    /// What puts names into its rows, if anything does.
    naming: Option<Naming>,
    properties: Arc<PlanProperties>,
}

impl Scan {
    pub(crate) fn new(
        restrictions: Restrictions,
        is_filtered: bool,
        table: Arc<TableSchema>,
        positions: Arc<[usize]>,
        schema: SchemaRef,
        limit: Option<usize>,
    ) -> Result<Scan> {
        let way = restrictions.best();
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let scan = Scan {
            table,
            restrictions,
            is_filtered,
            way,
            reverse: false,
            dynamic: Vec::new(),
            positions,
            schema,
            limit,
            naming: None,
            properties,
        };
        scan.with_way(scan.way.clone(), false)
    }

    /// The same, with names put into its rows.
    pub(crate) fn with_names(self, naming: Option<Naming>) -> Scan {
        Scan { naming, ..self }
    }

    /// The same rows another way: the plan is told in which order they come.
    fn with_way(&self, way: Way, reverse: bool) -> Result<Scan> {
        let ordering = LexOrdering::new(self.ordering(way.index, reverse));
        let mut equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&self.schema), ordering);
        let constant = |position| Some(ConstExpr::from(self.column(position)? as Arc<dyn PhysicalExpr>));
        equivalences.add_constants(self.restrictions.constants().filter_map(constant))?;
        let properties = Arc::new(self.properties.as_ref().clone().with_eq_properties(equivalences));
        Ok(Scan { way, reverse, properties, ..self.clone() })
    }

    /// The column that shows this position of the stored row, if any does.
    fn column(&self, position: usize) -> Option<Arc<Column>> {
        let place = self.positions.iter().position(|found| *found == position)?;
        Some(Arc::new(Column::new(self.schema.field(place).name(), place)))
    }

    /// The order in which rows come by an index, or by the table's key, as far as the columns tell it.
    fn ordering(&self, index: Option<usize>, reverse: bool) -> Vec<PhysicalSortExpr> {
        let index = index.map(|index| &self.table.indexes[index]);
        let indexed = index.map_or(Vec::new(), IndexSchema::leading_columns);
        // Behind what is computed of rows, they come in no known order.
        let is_prefix = index.is_some_and(|index| index.whole_columns().is_none());
        let primary = if is_prefix { &[][..] } else { &self.table.primary_key[..] };
        let options = SortOptions { descending: reverse, nulls_first: reverse };
        // What is equal and differs may come in any order.
        let differs = |position: &usize| types::has_equals(&types::to_arrow(self.table.columns[*position].column_type));
        let keys = indexed.iter().chain(primary).take_while(|position| !differs(position));
        let columns = keys.map_while(|position| self.column(*position));
        columns.map(|column| PhysicalSortExpr::new(column, options)).collect()
    }

    /// The same rows in this order, if there is a way that has it. `few`: only the first of them are wanted, so that it may be another way than
    /// the best to all of them.
    pub(crate) fn in_order(&self, order: &LexOrdering, few: bool) -> Result<Option<Scan>> {
        let mut ways = vec![self.way.clone()];
        if few && !self.is_filtered && self.way.is_whole() {
            let whole = (0..self.table.indexes.len()).filter(|index| self.table.indexes[*index].is_whole());
            let all = whole.map(|index| self.restrictions.way(Some(index)));
            ways.extend(all.filter(|way| Some(way.index) != Some(self.way.index)));
        }
        for way in ways {
            for reverse in [false, true] {
                let scan = self.with_way(way.clone(), reverse)?;
                if scan.properties.equivalence_properties().ordering_satisfy(order.clone())? {
                    return Ok(Some(scan));
                }
            }
        }
        Ok(None)
    }

    /// The way to take now that everything is known; and whether its rows have to be sorted by their keys, because the plan counts on that order.
    fn way_now(&self) -> (Way, bool) {
        let mut restrictions = self.restrictions.clone();
        self.dynamic.iter().for_each(|filter| restrictions.add_dynamic(filter, &self.positions));
        let same = restrictions.way(self.way.index);
        let best = restrictions.best();
        // What a join looks for between two keys may be most of a table: an index helps only where it names values.
        if self.way.index.is_some() || best.fit.points == 0 || best.fit.rank() <= same.fit.rank() {
            return (same, false);
        }
        let sorts = best.index.is_some() && !self.ordering(None, false).is_empty();
        (best, sorts)
    }

    /// Rows as the tables tell them.
    fn rows(&self, context: &TaskContext) -> Result<BoxStream<'static, Result<ScanBatch>>> {
        let handle = context
            .session_config()
            .get_extension::<TablesHandle>()
            .ok_or_else(|| DataFusionError::Internal("a scan was started without tables to read".into()))?;
        let scan = self.clone();
        let reservation = MemoryConsumer::new("rows found by an index").register(context.memory_pool());
        let first = async move {
            let (mut way, sorts) = scan.way_now();
            if scan.reverse {
                way.ranges.reverse();
            }
            let request = ScanRequest {
                table: scan.table,
                ranges: way.ranges,
                index: way.index,
                reverse: scan.reverse,
                batch_rows: BATCH_ROWS,
                limit: scan.limit.filter(|_| !sorts),
            };
            let batches = handle.0.scan(request).map_err(QueryError::into_datafusion);
            if !sorts {
                return Ok::<_, DataFusionError>(batches.boxed());
            }
            let mut batches = batches;
            let mut rows = ScanBatch::new();
            while let Some(batch) = batches.next().await {
                let batch = batch?;
                let bytes = batch.iter().map(|(key, row)| size_of_val(key) + size_of_val(row) + row.len()).sum();
                reservation.try_grow(bytes)?;
                rows.extend(batch);
            }
            rows.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            if scan.reverse {
                rows.reverse();
            }
            // The memory is held until the last of them has gone.
            let mut left = rows.into_iter();
            let batches = std::iter::from_fn(move || {
                let _held = &reservation;
                let batch: ScanBatch = left.by_ref().take(BATCH_ROWS).collect();
                (!batch.is_empty()).then_some(Ok(batch))
            });
            Ok(stream::iter(batches).boxed())
        };
        Ok(stream::once(first).try_flatten().boxed())
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(formatter, "Scan: {}, columns=[{}]", self.table.name, columns.join(", "))?;
        if let Some(index) = self.way.index {
            write!(formatter, ", index={}", self.table.indexes[index].name)?;
        }
        if !self.way.is_whole() {
            write!(formatter, ", key ranges={}", self.way.ranges.len())?;
        }
        if self.reverse {
            write!(formatter, ", backwards")?;
        }
        if !self.dynamic.is_empty() {
            write!(formatter, ", or what a join looks for")?;
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
        each: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for filter in &self.dynamic {
            if each(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
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

    /// Joins tell what they look for, once they know it. They see to it themselves as well.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        if phase == FilterPushdownPhase::Pre || result.parent_filters.is_empty() {
            return Ok(FilterPushdownPropagation::if_all(result));
        }
        let filters = result.parent_filters.iter().map(|found| Arc::clone(&found.filter)).collect();
        let told =
            FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; result.parent_filters.len()]);
        Ok(told.with_updated_node(Arc::new(Scan { dynamic: filters, ..self.clone() })))
    }

    fn partition_statistics(&self, _: Option<usize>) -> Result<Arc<Statistics>> {
        let num_rows = Precision::Inexact(self.way.rows().min(self.limit.unwrap_or(usize::MAX)));
        Ok(Arc::new(Statistics { num_rows, ..Statistics::new_unknown(&self.schema) }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Scan { limit, ..self.clone() }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (limit, naming) = (self.limit, self.naming.clone());
        let missing = self.positions.iter().map(|position| self.table.columns[*position].missing.clone()).collect();
        let decoder = Decoder { schema: Arc::clone(&self.schema), positions: Arc::clone(&self.positions), missing };
        let mut wanted = limit.unwrap_or(usize::MAX);
        let batches = self.rows(&context)?.map(move |batch| {
            let rows = batch?;
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
