//! Statements that go by way of typed query trees: the grammar reads them, the analyzer gives them their meaning, the executor plans and runs them.
//!
//! Invariant: a statement is planned here only if every part of it is built, and refused here only if PostgreSQL refuses it. Of anything else this says that it goes
//! [`TypedReading::Elsewhere`], and says nothing about it. In reading order: `catalog`: names; `paths`: ways to rows; `origins`: columns of results; `rows`: running;
//! `routines`: users' functions; `domains`; `system`, `system_rows`: system relations; `session`: what functions may ask.

mod catalog;
mod domains;
mod origins;
mod paths;
mod routines;
mod rows;
mod session;
mod system;
mod system_rows;

use crate::error::QueryError;
use crate::limits::STATEMENT_MEMORY_MAX;
use crate::planning::go_on;
use crate::processor::{Execution, RowStream};
use crate::sizes::TableSizes;
use crate::system_catalog::SystemCatalog;
use crate::tables::Tables;
use analyzer::relations::RelationId;
use analyzer::reliance::LookUp;
use analyzer::types::NONE;
use analyzer::{Analyzed, TypeId};
use catalog::SnapshotCatalog;
use datafusion::execution::memory_pool::MemoryReservation;
use evaluation::PatternCache;
use evaluation::random::RandomBits;
use evaluation::storage::storage;
use executor::{ExecutionLimits, QueryPlan};
use grammar::ast::Statement;
use messages::program::ResultColumn;
use messages::query::SessionFacts;
use messages::schema::Catalog;
use messages::{Key, Timestamp};
use paths::{SizedTable, StatementPaths, StatementTables};
use routines::RoutineRefusal;
use rows::RunningPlan;
use session::SessionView;
use std::collections::BTreeMap;
use std::sync::Arc;
use system::WrittenAs;
use values::Type;

/// SQLSTATE feature_not_supported.
const NOT_SUPPORTED: &str = "0A000";

/// What became of a statement.
pub(crate) enum TypedReading {
    /// It is planned.
    Planned(Box<TypedStatement>),
    /// It has no meaning.
    Refused(QueryError),
    /// Something of it is not built, or not known here: the reason.
    Elsewhere(String),
}

/// A statement that was planned: its plan, and what it is to its client.
pub(crate) struct TypedStatement {
    /// How it is computed.
    pub plan: TypedPlan,
    /// The columns of its rows.
    pub columns: Vec<ResultColumn>,
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// The tables that it names, with the versions of their definitions.
    pub tables: Vec<(String, Timestamp)>,
    /// Catalog rows of the users' types that it names, and of the functions and extensions whose functions it may call, with their versions.
    pub names: Vec<(Key, Timestamp)>,
    /// Whether it shows the catalog itself.
    pub shows_catalog: bool,
}

/// How a statement is computed.
#[derive(Clone, Debug)]
pub(crate) struct TypedPlan {
    plan: Arc<QueryPlan>,
    relations: StatementTables,
    sizes: Arc<TableSizes>,
    /// The catalog that it shows.
    system: Option<Arc<SystemCatalog>>,
    /// Columns of results that are written as texts.
    written: Arc<[(usize, WrittenAs)]>,
}

/// Reads a statement over a catalog snapshot.
pub(crate) fn read(
    catalog: &Arc<Catalog>,
    session: &SessionFacts,
    sql: &str,
    declared: &[Option<Type>],
    sizes: &Arc<TableSizes>,
) -> TypedReading {
    let parsed = match grammar::parse(sql) {
        Ok(script) => script.statements,
        Err(error) if is_bound(error.sqlstate) => return TypedReading::Elsewhere(error.message),
        Err(error) => return TypedReading::Refused(error.into()),
    };
    let [parsed] = &parsed[..] else { return TypedReading::Elsewhere("several statements".to_owned()) };
    if !matches!(parsed.statement, Statement::Query(_)) {
        return TypedReading::Elsewhere("a statement that is no query".to_owned());
    }
    let names = SnapshotCatalog::new(catalog, &session.database);
    let declared: Vec<TypeId> =
        declared.iter().map(|given| given.map_or(NONE, |given| TypeId(given.unmodified().oid()))).collect();
    if let Err(cancelled) = go_on() {
        return TypedReading::Refused(cancelled.into());
    }
    let analyzed = analyzer::analyze(&names, parsed, &declared).and_then(|mut analyzed| {
        domains::strip(&mut analyzed, &names)?;
        Ok(analyzed)
    });
    if names.is_beyond() {
        return TypedReading::Elsewhere("it names what is not analyzed".to_owned());
    }
    match analyzed {
        Ok(analyzed) => planned(catalog, session, &names, &analyzed, sizes),
        // There are such functions, and domains, nowhere else.
        Err(error) if is_unbuilt(&error.message) && (names.has_called() || names.names_domain()) => {
            TypedReading::Refused(error.into())
        }
        Err(error) if is_bound(error.sqlstate) || is_unbuilt(&error.message) => TypedReading::Elsewhere(error.message),
        Err(error) => TypedReading::Refused(error.into()),
    }
}

/// Whether an error says that something is too large or too deep for us: the bounds of PostgreSQL, and of others, are not the same.
fn is_bound(sqlstate: &str) -> bool {
    sqlstate.starts_with("54")
}

/// Whether an error says that something is not built. A query with INTO makes a table, which is not the analyzer's to do.
fn is_unbuilt(message: &str) -> bool {
    message.ends_with("is not supported yet") || message == "SELECT ... INTO is not allowed here"
}

fn planned(
    catalog: &Arc<Catalog>,
    session: &SessionFacts,
    names: &SnapshotCatalog<'_>,
    analyzed: &Analyzed,
    sizes: &Arc<TableSizes>,
) -> TypedReading {
    let called = match routines::called(names, analyzed) {
        Ok(called) => called,
        Err(RoutineRefusal::Wrong(error)) => return TypedReading::Refused(error),
        Err(RoutineRefusal::NotBuilt(what)) => return TypedReading::Refused(QueryError::unsupported(what)),
    };
    let mut tables = BTreeMap::new();
    let mut relations = BTreeMap::new();
    for (looked_up, _) in analyzed.relies_on.iter().chain(&called.relies_on) {
        let LookUp::Relation(_, name) = looked_up else { continue };
        if let Some(versioned) = catalog.tables.get(name) {
            tables.insert(name.clone(), versioned.version);
            let table = Arc::clone(&versioned.table);
            let rows = sizes.rows(table.storage);
            relations.insert(RelationId(table.oid), SizedTable { table, rows, is_system: false });
        }
    }
    for relation in names.system_relations() {
        let table = Arc::new(system::table(relation));
        let rows = sizes.rows(table.storage);
        relations.insert(RelationId(relation.oid), SizedTable { table, rows, is_system: true });
    }
    let relations = StatementTables(relations);
    let system = Arc::new(SystemCatalog::new(Arc::clone(catalog), session.clone()));
    if let Some(denied) = names.system_relations().find_map(|relation| system.check(relation).err()) {
        return TypedReading::Refused(denied);
    }
    let paths = StatementPaths {
        tables: &relations,
        names,
        routines: &called.bodies,
        domains: &called.domains,
        system: &system,
    };
    names.show_stored_columns();
    let plan = match executor::plan_or_reason(names, analyzed, &paths, &session.constants_zone) {
        Ok(Ok(plan)) => plan,
        Ok(Err(reason)) if is_only_here(analyzed, names) => {
            return TypedReading::Refused(QueryError::unsupported(reason));
        }
        Ok(Err(reason)) => return TypedReading::Elsewhere(reason),
        Err(error) if error.sqlstate == NOT_SUPPORTED && !is_only_here(analyzed, names) => {
            return TypedReading::Elsewhere(error.message);
        }
        Err(error) => return TypedReading::Refused(error.into()),
    };
    let Some(columns) = origins::columns(&analyzed.tree, analyzed.query, names) else {
        return TypedReading::Elsewhere("a column of a type that results do not have".to_owned());
    };
    let is_written = |id: &TypeId| WrittenAs::of(*id).is_some();
    let stored =
        |id: &TypeId| names.stored(*id).filter(|_| !is_written(id)).or_else(|| evaluation::storage::unmodified(*id));
    let parameters = analyzed.parameters.iter().map(stored).collect();
    let Some(parameters) = parameters else {
        return TypedReading::Elsewhere("a parameter of a type that is not stored".to_owned());
    };
    let written = written_columns(analyzed);
    let shows_catalog = names.shows_catalog();
    let system = shows_catalog.then_some(system);
    let plan = TypedPlan { plan, relations, sizes: Arc::clone(sizes), system, written };
    let (tables, names) = (tables.into_iter().collect(), names.used());
    TypedReading::Planned(Box::new(TypedStatement { plan, columns, parameters, tables, names, shows_catalog }))
}

/// The columns of a statement's results that are written as texts.
fn written_columns(analyzed: &Analyzed) -> Arc<[(usize, WrittenAs)]> {
    let shown = analyzed.tree[analyzed.query].targets.iter().filter(|target| !target.junk);
    let written = shown.map(|target| WrittenAs::of(analyzed.tree[target.value].typed.id)).enumerate();
    written.filter_map(|(place, written)| Some((place, written?))).collect()
}

/// Whether something in a statement is JSON, of a user's type, a user's function or one of an extension, which there is nowhere else.
fn is_only_here(analyzed: &Analyzed, names: &SnapshotCatalog<'_>) -> bool {
    /// `json`, `jsonb`, `jsonpath`, and arrays of them.
    const JSON_TYPES: [u32; 6] = [114, 3802, 4072, 199, 3807, 4073];
    let is_only_here = |id: TypeId| JSON_TYPES.contains(&id.0) || Type::numbered(id.0).is_some();
    // A name of such a function means none of PostgreSQL's own.
    let mut found = analyzed.parameters.iter().any(|id| is_only_here(*id)) || names.has_called();
    found |= domains::is_cast(analyzed);
    analyzed.tree.find_in_query(analyzed.query, 0, &mut |expression, _| {
        found |= is_only_here(expression.typed.id);
        found
    });
    found
}

impl TypedPlan {
    /// Begins an execution, with values of the parameters' own types.
    pub(crate) fn run(
        &self,
        execution: &Execution,
        session: Arc<SessionFacts>,
        tables: Arc<dyn Tables>,
        held: MemoryReservation,
    ) -> RowStream {
        let limits = ExecutionLimits { memory_bytes: STATEMENT_MEMORY_MAX };
        let parameters = execution.parameters.clone();
        let running = RunningPlan {
            execution: executor::PlanExecution::new(Arc::clone(&self.plan), parameters, limits, execution.seed),
            relations: self.relations.clone(),
            tables,
            session: SessionView { facts: session, backend_pid: execution.backend_pid, system: self.system.clone() },
            now: execution.now,
            random: RandomBits::new(execution.random_key),
            patterns: PatternCache::default(),
            sizes: Arc::clone(&self.sizes),
            scans: BTreeMap::new(),
            system_rows: BTreeMap::new(),
            written: Arc::clone(&self.written),
            held,
        };
        running.stream()
    }

    /// Whether its tables are about as large as they were when it was made.
    pub(crate) fn fits_sizes(&self) -> bool {
        self.relations.0.values().all(|sized| self.sizes.is_about(sized.table.storage, sized.rows))
    }

    /// The plan as text, one line per operator.
    pub(crate) fn explain(&self) -> String {
        self.plan.explain()
    }
}

/// The stored type of an expression.
fn stored(typed: analyzer::Typed, names: &SnapshotCatalog<'_>) -> Option<Type> {
    names.stored(typed.id).or_else(|| storage(typed))
}
