//! What DataFusion's planner may ask while it plans one query: tables, functions, types.

use crate::convert::parse_literal;
use crate::error::QueryError;
use crate::functions;
use crate::operators::OperatorPlanner;
use crate::planning::go_on;
use crate::rewrite::types::{CatalogType, Named, resolve};
use crate::system_catalog::{SystemCatalog, is_system_schema};
use crate::tables::{Naming, RowTable};
use crate::types;
use datafusion::arrow::datatypes::{DataType, IntervalUnit, SchemaRef, TimeUnit};
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, ScalarValue, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::execution::SessionStateDefaults;
use datafusion::functions_table::generate_series::GenerateSeriesFunc;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, TypePlanner};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast;
use messages::schema::VersionedTable;
use messages::{Timestamp, advisory, concurrency_report, contention, snapshot_report};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The world of one planning.
pub struct PlanningContext<'a> {
    state: &'a SessionState,
    catalog: Arc<SystemCatalog>,
    operators: Arc<OperatorPlanner>,
    planners: Vec<Arc<dyn ExprPlanner>>,
    /// Tables named so far.
    used: Mutex<BTreeMap<String, VersionedTable>>,
}

impl<'a> PlanningContext<'a> {
    /// For one planning over one snapshot.
    pub fn new(state: &'a SessionState, catalog: Arc<SystemCatalog>) -> PlanningContext<'a> {
        let operators = Arc::new(OperatorPlanner::default());
        let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::clone(&operators) as Arc<dyn ExprPlanner>];
        planners.extend(SessionStateDefaults::default_expr_planners());
        let used = Mutex::default();
        PlanningContext { state, catalog, operators, planners, used }
    }

    /// What operators say of parameters.
    pub fn noted_parameters(&self) -> BTreeMap<String, DataType> {
        self.operators.noted()
    }

    /// The tables that the plan reads, with the versions of their definitions.
    pub fn tables(&self) -> Vec<(String, Timestamp)> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.iter().map(|(name, table)| (name.clone(), table.version)).collect()
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Result<Arc<dyn TableSource>>> {
        if (schema, name) == ("pg_catalog", "pg_locks") {
            let table = RowTable::new(advisory::shown_table()).with_names(Naming::AdvisoryLocks);
            return Some(Ok(provider_as_source(Arc::new(table))));
        }
        let table = self.catalog.table(schema, name)?;
        Some(table.map(|table| provider_as_source(Arc::new(table))).map_err(QueryError::into_datafusion))
    }

    fn user_table(&self, name: &str) -> Option<Arc<dyn TableSource>> {
        let versioned = self.catalog.catalog().tables.get(name).filter(|known| known.table.view.is_none())?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(name.to_owned(), versioned.clone());
        Some(provider_as_source(Arc::new(RowTable::new(Arc::clone(&versioned.table)))))
    }

    /// What the site has counted, with the names of this snapshot.
    fn contention(&self) -> Arc<dyn TableSource> {
        self.catalog.show();
        let naming = Naming::Contention(Arc::clone(&self.catalog));
        provider_as_source(Arc::new(RowTable::new(contention::table()).with_names(naming)))
    }

    /// The argument of a table function as a literal.
    fn constant(&self, argument: Expr) -> Result<Expr> {
        let context = SimplifyContext::builder().with_config_options(Arc::clone(self.state.config_options())).build();
        let simplifier = ExprSimplifier::new(context);
        simplifier.coerce(argument, &DFSchema::empty()).and_then(|argument| simplifier.simplify(argument))
    }
}

impl ContextProvider for PlanningContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        go_on()?;
        if name.catalog().is_some() {
            let message = format!("cross-database references are not implemented: \"{name}\"");
            return Err(QueryError::unsupported(message).into_datafusion());
        }
        let table = name.table();
        let found = match name.schema() {
            // As with PostgreSQL's search path, system catalogs come first.
            None => match self.system_table("pg_catalog", table) {
                Some(system) => return system,
                None => self.user_table(table),
            },
            Some("public") => self.user_table(table),
            Some(contention::SCHEMA) if table == contention::NAME => Some(self.contention()),
            Some(contention::SCHEMA) => {
                let known = concurrency_report::table(table).or_else(|| snapshot_report::table(table));
                known.map(|table| provider_as_source(Arc::new(RowTable::new(table))))
            }
            Some(schema) if is_system_schema(schema) => match self.system_table(schema, table) {
                Some(system) => return system,
                None => None,
            },
            Some(_) => None,
        };
        let shown = match name.schema() {
            Some(schema) => format!("{schema}.{table}"),
            None => table.to_owned(),
        };
        found.ok_or_else(|| QueryError::undefined_table(&shown).into_datafusion())
    }

    fn get_table_function_source(&self, name: &str, arguments: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        if name != "generate_series" {
            return Err(QueryError::undefined_function(&format!("{name}()")).into_datafusion());
        }
        let arguments = arguments.into_iter().map(|argument| self.constant(argument)).collect::<Result<Vec<_>>>()?;
        let arguments = series_arguments(arguments)?;
        let series = GenerateSeriesFunc {};
        let provider = series.call_with_args(TableFunctionArgs::new(&arguments, self.state as &dyn Session))?;
        Ok(provider_as_source(provider))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(Types))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        functions::scalar_function(name, &self.catalog)
    }

    fn get_higher_order_meta(&self, _: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        functions::aggregate_function(name)
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        functions::window_function(name)
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        functions::scalar_names()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        vec![]
    }

    fn udaf_names(&self) -> Vec<String> {
        vec![]
    }

    fn udwf_names(&self) -> Vec<String> {
        vec![]
    }
}

/// The arguments of `generate_series` in the types that its implementation takes. Errors: 42883 for others than integers,
/// dates and timestamps.
fn series_arguments(arguments: Vec<Expr>) -> Result<Vec<Expr>> {
    let nanoseconds = |zone: &Option<Arc<str>>| DataType::Timestamp(TimeUnit::Nanosecond, zone.clone());
    let first = match arguments.first() {
        Some(Expr::Literal(first, _)) => first.data_type(),
        _ => DataType::Null,
    };
    let of_time = match &first {
        DataType::Timestamp(_, zone) => Some(nanoseconds(zone)),
        DataType::Date32 => Some(nanoseconds(&None)),
        _ => None,
    };
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    arguments
        .into_iter()
        .enumerate()
        .map(|(place, argument)| {
            let wanted = match (&of_time, place) {
                (Some(_), 2) => &interval,
                (Some(time), _) => time,
                (None, _) => &DataType::Int64,
            };
            let Expr::Literal(literal, metadata) = argument else {
                return Err(QueryError::unsupported("generate_series in FROM takes constants only").into_datafusion());
            };
            let literal = match &literal {
                ScalarValue::Utf8(Some(text)) => parse_literal(text, wanted).transpose()?.unwrap_or(ScalarValue::Null),
                other => other.clone(),
            };
            if of_time.is_none() && !literal.data_type().is_integer() && !literal.is_null() {
                let shown = crate::convert::describe(&literal.data_type());
                return Err(
                    QueryError::unsupported(format!("generate_series over {shown} is not supported")).into_datafusion()
                );
            }
            Ok(Expr::Literal(literal.cast_to(wanted)?, metadata))
        })
        .collect()
}

/// SQL types to Arrow types.
#[derive(Debug)]
struct Types;

impl TypePlanner for Types {
    fn plan_type(&self, sql_type: &ast::DataType) -> Result<Option<DataType>> {
        Ok(Some(match resolve(sql_type).map_err(QueryError::into_datafusion)? {
            Named::Known(known) => types::to_arrow(known),
            Named::Catalog(CatalogType::Number) => DataType::Int64,
            Named::Catalog(_) => DataType::Utf8,
            Named::CatalogArray => return Ok(None),
        }))
    }
}
