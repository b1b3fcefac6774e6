//! Planning and running queries.
//!
//! A [`Processor`] serves all sessions of a process and holds the bound on memory. A [`Planned`] query holds no data, no
//! transaction and no parameter values, so it is kept and runs many times while the catalog rows it relies on last.

mod known;

use crate::apart::tell_apart;
use crate::context::PlanningContext;
use crate::convert::{for_each_value, scalar_of};
use crate::cooperation::PauseJoins;
use crate::equality;
use crate::error::QueryError;
use crate::hidden_names;
use crate::kept_orders::KeepOrders;
use crate::kept_rows::KeepRows;
use crate::limits::{
    BATCH_ROWS, MEMORY_BYTES_MAX, SCAN_RANGES_MAX, STATEMENT_BYTES_MAX, STATEMENT_MEMORY_MAX, STATEMENTS_KEPT_MAX,
};
use crate::literals;
use crate::measure;
use crate::membership::with_three_values;
use crate::memory::StatementPool;
use crate::orders::OrderScans;
use crate::planning::{Watched, settle};
use crate::rewrite::{ExecutionParameter, Rewritten, rewrite};
use crate::sizes::TableSizes;
use crate::system_catalog::SystemCatalog;
use crate::tables::{Tables, TablesHandle};
use crate::typed::{self, TypedPlan, TypedReading, TypedStatement};
use crate::zones;
use crate::{types, vectors};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{Analyzer, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{ExecutionPlan, displayable, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::Statement;
use evaluation::random::RandomKey;
use futures::stream::{self, BoxStream, StreamExt};
use messages::database::DatabaseId;
use messages::program::ResultColumn;
use messages::query::{ROW_SECURITY_WINDOW, SessionFacts};
use messages::schema::{Catalog, CatalogEntry, CatalogVersions};
use messages::{Key, Timestamp};
use quick_cache::sync::Cache;
use sql_syntax::Unread;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use values::{Type, Value, Zone};

/// Plans and runs queries.
pub struct Processor {
    state: SessionState,
    /// Statements that may come again.
    plans: Cache<Question, Arc<Planned>>,
    /// Whatever sessions ask for; none: what each asks for.
    engine: Option<Engine>,
    counts: Counts,
    /// What the executor has learned of tables.
    sizes: Arc<TableSizes>,
}

/// The setting by which a session chooses.
const ENGINE_SETTING: &str = "raid.query_engine";

/// What statements are planned and run by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// The executor where it has all that a statement needs, DataFusion elsewhere.
    Both,
    /// DataFusion alone.
    DataFusion,
    /// The executor alone: what it does not have yet is refused.
    Executor,
}

/// How many statements were planned by what; plans that were kept count once.
#[derive(Debug, Default)]
struct Counts {
    executor: AtomicU64,
    datafusion: AtomicU64,
}

/// What a plan answers: a statement, and the types of its parameters as far as they were given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    sql: Arc<str>,
    parameters: Vec<Option<Type>>,
    engine: Engine,
    /// The session's time zone, and where constants are read.
    zones: [Zone; 2],
    database: DatabaseId,
}

/// A statement that is ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    planned: Arc<Planned>,
    /// The session that asked.
    session: Arc<SessionFacts>,
}

/// A query that was planned.
#[derive(Debug)]
pub struct Planned {
    plan: Computation,
    /// Whether it is the same each time.
    is_kept: bool,
    /// The tables that it reads, with the versions of their definitions.
    tables: Vec<(String, Timestamp)>,
    /// Catalog rows of the users' types that it names, and of the functions and extensions whose functions it may call, with their versions.
    names: Vec<(Key, Timestamp)>,
    /// The columns of its rows.
    pub columns: Vec<ResultColumn>,
    parameters: Vec<Type>,
    /// The catalog rows that it relies on, with their versions; tables that the asking transaction changed are not listed.
    pub relies_on: CatalogVersions,
    /// Whether it shows the catalog itself: it must then not outlive the catalog snapshot.
    pub reads_system_catalog: bool,
}

/// What is to be computed, without values of parameters.
#[derive(Debug)]
enum Computation {
    /// By DataFusion. How, is settled anew by each execution.
    Logical(LogicalPlan),
    /// By the executor.
    Typed(TypedPlan),
}

/// What one execution supplies.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Values of `$1..`, of the planned types or castable to them.
    pub parameters: Vec<Value>,
    /// When the transaction began: microseconds since 2000-01-01 00:00 UTC, as in [`Value::TimestampTz`]. What `now()` says.
    pub now: i64,
    /// Seed of what needs chance, but of no chance that nobody guesses.
    pub seed: u64,
    /// What `random()`, `gen_random_uuid()` and `gen_random_bytes()` take their bits from.
    pub random_key: RandomKey,
    /// What `pg_backend_pid()` says.
    pub backend_pid: i32,
}

/// A query with values, and how it is computed. It runs once.
#[derive(Debug)]
pub struct Ready(ReadyPlan);

#[derive(Debug)]
enum ReadyPlan {
    Physical(Arc<dyn ExecutionPlan>),
    Typed { plan: TypedPlan, execution: Execution, session: Arc<SessionFacts> },
}

/// Batches of at most [`BATCH_ROWS`] rows; a batch may be empty. Dropping the stream cancels the query.
pub type RowStream = BoxStream<'static, Result<Vec<Vec<Value>>, QueryError>>;

impl Processor {
    /// A processor with the usual bound on memory.
    pub fn new() -> Result<Processor, QueryError> {
        Processor::with_memory(MEMORY_BYTES_MAX)
    }

    /// A processor whose queries together may hold so many bytes.
    pub fn with_memory(bytes_max: usize) -> Result<Processor, QueryError> {
        let mut config = SessionConfig::new().with_target_partitions(1).with_batch_size(BATCH_ROWS);
        let options = config.options_mut();
        options.sql_parser.parse_float_as_decimal = true;
        options.sql_parser.map_string_types_to_utf8view = false;
        // An ORDER BY within FROM is no mistake: `kept_orders`.
        options.sql_parser.enable_subquery_sort_elimination = false;
        options.optimizer.skip_failed_rules = false;
        // Sorts and aggregates learn while they read what they need not read; joins, before.
        options.optimizer.enable_topk_dynamic_filter_pushdown = false;
        options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
        options.optimizer.hash_join_inlist_pushdown_max_distinct_values = SCAN_RANGES_MAX;
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(bytes_max)))
            .with_disk_manager_builder(disk)
            .build_arc()?;
        let builder = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime).with_default_features();
        let builder = builder.with_analyzer_rules(Watched::analyzers(&Analyzer::new().rules));
        let builder = builder.with_optimizer_rules(Watched::optimizers(&optimizer_rules()));
        let state = builder.with_physical_optimizer_rules(Watched::physical(physical_rules())).build();
        let (engine, counts, sizes) = (None, Counts::default(), Arc::default());
        Ok(Processor { state, plans: Cache::new(STATEMENTS_KEPT_MAX), engine, counts, sizes })
    }

    /// The same with another engine.
    pub fn with_engine(self, engine: Engine) -> Processor {
        Processor { engine: Some(engine), ..self }
    }

    /// How many statements were planned for this engine alone.
    pub fn planned_by(&self, engine: Engine) -> u64 {
        let (executor, datafusion) =
            (self.counts.executor.load(Ordering::Relaxed), self.counts.datafusion.load(Ordering::Relaxed));
        match engine {
            Engine::Both => executor + datafusion,
            Engine::Executor => executor,
            Engine::DataFusion => datafusion,
        }
    }

    /// Plans a query over a catalog snapshot, or finds the plan that was kept of it. `parameters` are the types that the client gave; those it did not are
    /// inferred, and are `text` where nothing tells. Errors: 42601 for what is not a statement, and those of planning.
    pub fn plan(
        &self,
        catalog: &Arc<Catalog>,
        session: &Arc<SessionFacts>,
        sql: &Arc<str>,
        parameters: &[Option<Type>],
    ) -> Result<Prepared, QueryError> {
        let prepared = |planned| Prepared { planned, session: Arc::clone(session) };
        let question = self.question(catalog, session, sql, parameters);
        if let Some(known) = self.kept_of(&question, catalog) {
            return Ok(prepared(known));
        }
        let planned = Arc::new(self.plan_anew(catalog, session, sql, parameters)?);
        if planned.is_kept && planned.holds_in(catalog) && sql.len() <= STATEMENT_BYTES_MAX {
            // Whoever was told the types asks with them.
            let told = planned.parameters.iter().map(|told| Some(*told)).collect();
            self.plans.insert(Question { parameters: told, ..question.clone() }, Arc::clone(&planned));
            self.plans.insert(question, Arc::clone(&planned));
        }
        Ok(prepared(planned))
    }

    /// What plans the session's queries: `raid.query_engine`, unless the processor was made for one.
    fn engine_of(&self, session: &SessionFacts) -> Engine {
        let asks = session.settings.iter().any(|(name, value)| name == ENGINE_SETTING && value == "datafusion");
        self.engine.unwrap_or(if asks { Engine::DataFusion } else { Engine::Both })
    }

    fn plan_anew(
        &self,
        catalog: &Arc<Catalog>,
        session: &SessionFacts,
        sql: &str,
        parameters: &[Option<Type>],
    ) -> Result<Planned, QueryError> {
        let engine = self.engine_of(session);
        let mut not_built = None;
        if engine != Engine::DataFusion {
            match typed::read(catalog, session, sql, parameters, &self.sizes) {
                TypedReading::Planned(statement) => {
                    self.counts.executor.fetch_add(1, Ordering::Relaxed);
                    return Ok(Planned::of_typed(*statement, catalog.database));
                }
                TypedReading::Refused(error) => return Err(error),
                TypedReading::Elsewhere(reason) if engine == Engine::Executor => {
                    return Err(QueryError::unsupported(reason));
                }
                TypedReading::Elsewhere(reason) => not_built = Some(reason),
            }
        }
        if sql.contains(ROW_SECURITY_WINDOW) {
            // DataFusion computes conditions in an order of its own: errors would tell of rows that are hidden.
            return Err(QueryError::unsupported("this query of a table with row-level security is not supported"));
        }
        let statement = sql_syntax::statement(sql).map_err(|unread| match (unread, not_built) {
            // PostgreSQL's grammar has it.
            (Unread::Syntax(_), Some(reason)) => QueryError::unsupported(reason),
            (unread, _) => unread.into(),
        })?;
        self.counts.datafusion.fetch_add(1, Ordering::Relaxed);
        self.plan_logically(catalog, session, &statement, parameters)
    }

    fn plan_logically(
        &self,
        catalog: &Arc<Catalog>,
        session: &SessionFacts,
        statement: &Statement,
        parameters: &[Option<Type>],
    ) -> Result<Planned, QueryError> {
        measure::check(statement)?;
        let catalog = Arc::new(SystemCatalog::new(Arc::clone(catalog), session.clone()));
        let mut rewritten = rewrite(statement, &catalog)?;
        for (slot, given) in rewritten.parameters.iter_mut().zip(parameters) {
            *slot = given.map(|given| given.unmodified()).or(*slot);
        }
        if rewritten.parameters.iter().any(Option::is_none) {
            self.infer_parameters(&mut rewritten, &catalog)?;
        }
        let context = PlanningContext::new(&self.state, Arc::clone(&catalog));
        let plan = vectors::printed(self.logical_plan(&context, &rewritten)?)?;
        zones::check(&plan, [&session.zone, &session.constants_zone])?;
        let columns = columns_of(&plan)?;
        let parameters = rewritten.parameters.iter().map(|known| known.unwrap_or(Type::Text)).collect();
        let (tables, reads_system_catalog) = (context.tables(), catalog.is_shown());
        let is_kept = !reads_system_catalog && !rewritten.is_random;
        let (relies_on, plan) = (committed(catalog.catalog().database, &tables, &[]), Computation::Logical(plan));
        let names = Vec::new();
        Ok(Planned { plan, is_kept, tables, names, columns, parameters, relies_on, reads_system_catalog })
    }

    /// Plans once without the missing types, to see what surrounds the parameters; those of which nothing is said are texts.
    fn infer_parameters(&self, rewritten: &mut Rewritten, catalog: &Arc<SystemCatalog>) -> Result<(), QueryError> {
        let context = PlanningContext::new(&self.state, Arc::clone(catalog));
        // A plan that fails for want of types may succeed with texts; if not, that planning tells why.
        let planned = self.logical_plan(&context, rewritten);
        let inferred = planned.and_then(|plan| Ok(plan.get_parameter_fields()?)).unwrap_or_default();
        let noted = context.noted_parameters();
        for (number, slot) in (1..).zip(&mut rewritten.parameters) {
            let name = format!("${number}");
            let noted = noted.get(&name).and_then(types::from_arrow);
            let from_plan = || inferred.get(&name)?.as_ref().and_then(|field| types::from_arrow(field.data_type()));
            *slot = slot.or(noted).or_else(from_plan).or(Some(Type::Text));
        }
        Ok(())
    }

    fn logical_plan(&self, context: &PlanningContext, rewritten: &Rewritten) -> Result<LogicalPlan, QueryError> {
        let fields = parameter_types(&rewritten.parameters).map(|known| known.map(parameter_field)).collect();
        let mut planner = PlannerContext::new().with_prepare_param_data_types(fields);
        let options = ParserOptions {
            parse_float_as_decimal: true,
            enable_ident_normalization: true,
            map_string_types_to_utf8view: false,
            ..ParserOptions::new()
        };
        let plan = SqlToRel::new_with_options(context, options)
            .sql_statement_to_plan_with_context(rewritten.statement.clone(), &mut planner)?;
        let plan = equality::by_value(literals::type_lists(plan)?)?;
        let plan = tell_apart(with_three_values(plan)?)?;
        let analyzed = self.state.analyzer().execute_and_check(plan, self.state.config_options(), |_, _| {})?;
        Ok(equality::without_raw_bytes(analyzed)?)
    }

    /// Forgets all plans, after a failure that may have left one half made.
    pub fn forget_plans(&self) {
        self.plans.clear();
    }

    /// Settles how a planned query is computed with these values. It is most of the work of planning.
    pub fn ready(&self, prepared: &Prepared, execution: &Execution) -> Result<Ready, QueryError> {
        let parameters = prepared.values(execution)?;
        Ok(Ready(match &prepared.planned.plan {
            Computation::Logical(plan) => {
                let plan = with_values(plan, prepared.scalars(&parameters, execution)?)?;
                ReadyPlan::Physical(settle(self.state.create_physical_plan(&plan))?)
            }
            Computation::Typed(plan) => {
                let (plan, session) = (plan.clone(), Arc::clone(&prepared.session));
                ReadyPlan::Typed { plan, execution: Execution { parameters, ..execution.clone() }, session }
            }
        }))
    }

    /// Makes a planned query ready and runs it.
    pub async fn execute(
        &self,
        prepared: &Prepared,
        execution: &Execution,
        tables: Arc<dyn Tables>,
    ) -> Result<RowStream, QueryError> {
        self.run(self.ready(prepared, execution)?, tables)
    }

    /// Runs a query; rows come as they are computed. Tables are read through `tables`.
    pub fn run(&self, ready: Ready, tables: Arc<dyn Tables>) -> Result<RowStream, QueryError> {
        let shared = self.state.runtime_env();
        let pool: Arc<dyn MemoryPool> =
            Arc::new(StatementPool::new(Arc::clone(&shared.memory_pool), STATEMENT_MEMORY_MAX));
        let batches = match ready.0 {
            ReadyPlan::Physical(plan) => {
                let environment = RuntimeEnv { memory_pool: pool, ..RuntimeEnv::clone(shared) };
                let config = self.state.config().clone().with_extension(Arc::new(TablesHandle(tables)));
                let task = TaskContext::new(
                    None,
                    String::new(),
                    config,
                    Default::default(),
                    Default::default(),
                    Default::default(),
                    Default::default(),
                    Arc::new(environment),
                );
                execute_stream(plan, Arc::new(task))?.map(|batch| rows_of(&batch?)).boxed()
            }
            ReadyPlan::Typed { plan, execution, session } => {
                let held = MemoryConsumer::new("rows of a statement").register(&pool);
                plan.run(&execution, session, tables, held)
            }
        };
        // A panic ends the query, not the process.
        let caught = AssertUnwindSafe(batches).catch_unwind();
        let answered = caught.map(|step| {
            step.unwrap_or_else(|_| Err(QueryError::new("XX000", "the query processor has failed on this query")))
        });
        let bounded = answered.flat_map(|batch| match batch {
            Ok(rows) => stream::iter(in_batches(rows)).map(Ok).left_stream(),
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        Ok(bounded.boxed())
    }

    /// The plan as text, one line per operator, as `EXPLAIN` shows it.
    pub fn explain(&self, prepared: &Prepared, execution: &Execution) -> Result<String, QueryError> {
        if let Computation::Typed(plan) = &prepared.planned.plan {
            return Ok(plan.explain());
        }
        match self.ready(prepared, execution)?.0 {
            ReadyPlan::Physical(plan) => Ok(displayable(plan.as_ref()).indent(false).to_string()),
            ReadyPlan::Typed { plan, .. } => Ok(plan.explain()),
        }
    }
}

/// The library's, with [`KeepRows`] before conditions are pushed down.
fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = Vec::new();
    for rule in Optimizer::new().rules {
        if rule.name() == "push_down_filter" {
            rules.push(Arc::new(KeepRows));
        }
        rules.push(rule);
    }
    rules
}

/// The library's rules for physical plans and ours: sorts within FROM are asked for before any is dropped; joins are set apart before filters are handed down and sorts placed, and so are, before filters of joins
/// are, the operators that came in between; scans sort after all.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = vec![Arc::new(KeepOrders)];
    for rule in PhysicalOptimizer::new().rules {
        if rule.name().starts_with("FilterPushdown") {
            rules.push(Arc::new(PauseJoins));
        }
        rules.push(rule);
    }
    rules.push(Arc::new(OrderScans));
    rules
}

/// The types of the statement's parameters, then of the execution's.
fn parameter_types(statement: &[Option<Type>]) -> impl Iterator<Item = Option<Type>> {
    let execution = ExecutionParameter::ALL.iter().map(|parameter| Some(parameter.parameter_type()));
    statement.iter().copied().chain(execution)
}

fn parameter_field(parameter: Type) -> FieldRef {
    Arc::new(Field::new("", types::to_arrow(parameter), true))
}

/// The catalog rows of tables and of what else a statement names. One that the asking transaction itself has changed has no version to compare with yet.
fn committed(database: DatabaseId, tables: &[(String, Timestamp)], names: &[(Key, Timestamp)]) -> CatalogVersions {
    let tables = tables.iter().map(|(name, version)| (CatalogEntry::key(name), *version));
    let all = tables.chain(names.iter().cloned()).filter(|(_, version)| *version != Timestamp::ZERO);
    all.map(|(key, version)| (database.placed(&key), version)).collect()
}

impl Planned {
    fn of_typed(statement: TypedStatement, database: DatabaseId) -> Planned {
        let TypedStatement { plan, columns, parameters, tables, names, shows_catalog } = statement;
        let (relies_on, plan) = (committed(database, &tables, &names), Computation::Typed(plan));
        let (is_kept, reads_system_catalog) = (!shows_catalog, shows_catalog);
        Planned { plan, is_kept, tables, names, columns, parameters, relies_on, reads_system_catalog }
    }

    /// What runs it: [`Engine::Executor`] or [`Engine::DataFusion`].
    pub fn engine(&self) -> Engine {
        match self.plan {
            Computation::Logical(_) => Engine::DataFusion,
            Computation::Typed(_) => Engine::Executor,
        }
    }

    /// Whether it was made for tables of about the size that they have.
    fn fits_sizes(&self) -> bool {
        match &self.plan {
            Computation::Logical(_) => true,
            Computation::Typed(plan) => plan.fits_sizes(),
        }
    }

    /// Whether the tables, and what else it names, are defined there as they were when this was planned.
    fn holds_in(&self, catalog: &Catalog) -> bool {
        let is_same = |(name, version): &(String, Timestamp)| {
            *version != Timestamp::ZERO && catalog.tables.get(name).is_some_and(|table| table.version == *version)
        };
        let is_same_name =
            |(key, version): &(Key, Timestamp)| *version != Timestamp::ZERO && catalog.version_of(key) == *version;
        self.tables.iter().all(is_same) && self.names.iter().all(is_same_name)
    }
}

impl Deref for Prepared {
    type Target = Planned;

    fn deref(&self) -> &Planned {
        &self.planned
    }
}

impl Prepared {
    /// The types of `$1..`.
    pub fn parameters(&self) -> &[Type] {
        &self.planned.parameters
    }

    /// Whether both are of the same plan.
    pub fn shares_plan(&self, other: &Prepared) -> bool {
        Arc::ptr_eq(&self.planned, &other.planned)
    }

    /// The values of all parameters, in their types. Errors: 08P01 when their number is wrong, those of casts.
    fn values(&self, execution: &Execution) -> Result<Vec<Value>, QueryError> {
        let (given, wanted) = (execution.parameters.len(), self.parameters().len());
        if given != wanted {
            return Err(QueryError::new("08P01", format!("{given} parameters were given where {wanted} are required")));
        }
        let zone = &self.session.zone;
        let cast = |(value, parameter): (&Value, &Type)| Ok(values::cast::explicit_in(value, *parameter, zone)?);
        execution.parameters.iter().zip(self.parameters()).map(cast).collect()
    }

    /// The same and what the execution supplies, as DataFusion holds it.
    fn scalars(&self, parameters: &[Value], execution: &Execution) -> Result<Vec<ScalarValue>, QueryError> {
        let mut scalars = Vec::new();
        for (value, parameter) in parameters.iter().zip(self.parameters()) {
            scalars.push(scalar_of(value, &types::to_arrow(*parameter))?);
        }
        for parameter in ExecutionParameter::ALL {
            let value = match parameter {
                ExecutionParameter::Now => Value::TimestampTz(execution.now),
                ExecutionParameter::Seed => Value::BigInt(execution.seed as i64),
                ExecutionParameter::BackendPid => Value::Integer(execution.backend_pid),
            };
            scalars.push(scalar_of(&value, &types::to_arrow(parameter.parameter_type()))?);
        }
        Ok(scalars)
    }
}

/// The plan with values in place of parameters.
fn with_values(plan: &LogicalPlan, values: Vec<ScalarValue>) -> Result<LogicalPlan, QueryError> {
    let values = ParamValues::List(values.into_iter().map(ScalarAndMetadata::from).collect());
    Ok(plan.clone().replace_params_with_values(&values)?)
}

fn columns_of(plan: &LogicalPlan) -> Result<Vec<ResultColumn>, QueryError> {
    plan.schema()
        .fields()
        .iter()
        .map(|field| {
            let column_type = types::of_field(field).ok_or_else(|| {
                let shown = crate::convert::describe(field.data_type());
                let shown =
                    if types::is_list(field.data_type()) { format!("{shown}, an array of arrays,") } else { shown };
                QueryError::unsupported(format!("a result of type {shown} is not supported"))
            })?;
            let name = hidden_names::shown(field.name()).to_owned();
            Ok(ResultColumn { name, column_type, origin: types::origin_of_field(field) })
        })
        .collect()
}

/// Cuts rows into batches of at most [`BATCH_ROWS`]; what DataFusion makes of them may be larger.
fn in_batches(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Vec<Value>>> {
    let mut batches = Vec::with_capacity(rows.len() / BATCH_ROWS + 1);
    while rows.len() > BATCH_ROWS {
        let rest = rows.split_off(BATCH_ROWS);
        batches.push(std::mem::replace(&mut rows, rest));
    }
    batches.push(rows);
    batches
}

fn rows_of(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, QueryError> {
    let mut rows: Vec<Vec<Value>> = (0..batch.num_rows()).map(|_| Vec::with_capacity(batch.num_columns())).collect();
    for column in batch.columns() {
        let mut number = 0;
        for_each_value(column, |value| {
            rows[number].push(value);
            number += 1;
        })?;
    }
    Ok(rows)
}
