//! Tables as DataFusion sees them: schemas, scans, and the caller's world behind [`Tables`].
//!
//! A plan holds no data and no transaction, so it can be cached; where rows come from is handed over at each execution. A
//! scan decodes only the columns that the plan asks for. Rows come in the order of keys, and the plan is told so.

use crate::error::{QueryError, of_value};
use crate::scan::Scan;
use crate::system_catalog::SystemCatalog;
use crate::types;
use crate::ways::Restrictions;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures::future::{BoxFuture, FutureExt, ready};
use futures::stream::BoxStream;
use messages::schema::TableSchema;
use messages::{Key, KeyRange, Row, advisory, contention};
use std::sync::Arc;
use values::Value;

/// What a plan wants to read of one table.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The table.
    pub table: Arc<TableSchema>,
    /// Keys of the table, or of the index; read one after the other.
    pub ranges: Vec<KeyRange>,
    /// Which of the table's indexes leads to the rows, if one does.
    pub index: Option<usize>,
    /// Whether each range is read from its highest key to its lowest.
    pub reverse: bool,
    /// How many rows to hand over in one batch, at most.
    pub batch_rows: usize,
    /// How many rows the plan needs at most; `None`: all. A hint: more may be handed over.
    pub limit: Option<usize>,
}

/// Rows with the table's keys, in the order of the keys by which they were found.
pub type ScanBatch = Vec<(Key, Row)>;

/// The caller's world: reads go through the session's transaction, so that its own writes, its locks and its snapshot
/// are right. Dropping the stream cancels the scan.
pub trait Tables: Send + Sync {
    /// Reads rows of a table.
    fn scan(&self, request: ScanRequest) -> BoxStream<'static, std::result::Result<ScanBatch, QueryError>>;

    /// Runs the function of this object identifier with these arguments: its rows. One runs at a time.
    fn call(
        &self,
        function: u32,
        arguments: Vec<Value>,
    ) -> BoxFuture<'static, std::result::Result<Vec<Vec<Value>>, QueryError>> {
        let _ = (function, arguments);
        ready(Err(QueryError::unsupported("a function that is not in SQL, here"))).boxed()
    }
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
    naming: Option<Naming>,
}

/// What becomes of rows before they are shown.
#[derive(Clone, Debug)]
pub(crate) enum Naming {
    /// Names are put in the place of storages and keys, in rows of `raid.contention`.
    Contention(Arc<SystemCatalog>),
    /// Each claim on an advisory lock is a row of `pg_locks`.
    AdvisoryLocks,
}

impl Naming {
    /// The rows to be shown.
    pub(crate) fn apply(&self, rows: ScanBatch) -> Result<ScanBatch> {
        let Naming::Contention(known) = self else { return advisory::shown(rows).map_err(of_value) };
        let named = |(key, row): (Key, Row)| Ok((key, contention::named(&row, known.catalog()).map_err(of_value)?));
        rows.into_iter().map(named).collect()
    }
}

impl RowTable {
    pub(crate) fn new(table: Arc<TableSchema>) -> RowTable {
        let live = || table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        let fields: Vec<_> =
            live().map(|(position, column)| types::table_field(column, table.oid, position as i16 + 1)).collect();
        let positions = live().map(|(position, _)| position).collect();
        RowTable { schema: Arc::new(Schema::new(fields)), positions, table, naming: None }
    }

    /// The same, with names put into its rows.
    pub(crate) fn with_names(self, naming: Naming) -> RowTable {
        RowTable { naming: Some(naming), ..self }
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
        if schema.fields().iter().any(|field| types::is_json(field)) {
            return Err(QueryError::unsupported("JSON in a query of this form").into_datafusion());
        }
        if schema.fields().iter().any(|field| types::is_address(field)) {
            return Err(QueryError::unsupported("a network address in a query of this form").into_datafusion());
        }
        if schema.fields().iter().any(|field| types::is_range(field)) {
            return Err(QueryError::unsupported("a range in a query of this form").into_datafusion());
        }
        if let Some(known) = schema.fields().iter().find_map(|field| types::of_queries(field)) {
            let message = format!("{} in a query of this form", known.base_name());
            return Err(QueryError::unsupported(message).into_datafusion());
        }
        if schema.fields().iter().any(|field| types::is_text_search(field)) {
            return Err(QueryError::unsupported("full text search in a query of this form").into_datafusion());
        }
        if schema.fields().iter().any(|field| types::is_user_type(field)) {
            return Err(QueryError::unsupported("an enum in a query of this form").into_datafusion());
        }
        // A stored row of advisory locks is any number of shown ones, and has another key.
        let (narrowing, limit) = match self.naming {
            Some(Naming::AdvisoryLocks) => (&[][..], None),
            _ => (filters, limit),
        };
        let restrictions = Restrictions::of_filters(&self.table, narrowing);
        let positions = projected.iter().map(|index| self.positions[*index]).collect();
        let table = Arc::clone(&self.table);
        let scan = Scan::new(restrictions, !filters.is_empty(), table, positions, schema, limit)?;
        Ok(Arc::new(scan.with_names(self.naming.clone())))
    }
}
