//! Statements about the session itself, and changes that are planned when they are executed: how each is executed, and what it shows.
//!
//! Invariant: what has a secret in its text, or a fact of the session in its plan, no other session may use.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::explain_forms::ExplainFormat;
use crate::sql::given::Context;
use crate::sql::known_settings::reported_name_of;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::procedures;
use crate::sql::role_syntax::RoleStatement;
use crate::sql::routines;
use crate::sql::schema_syntax::SchemaStatement;
use crate::sql::sequences::SequenceStatement;
use crate::sql::session_calls::listening_channels;
use crate::sql::system;
use crate::sql::type_syntax::TypeStatement;
use crate::sql::utility::Utility;
use messages::database::DatabaseId;
use messages::program::{Action, Expression, Program, ResultColumn};
use messages::schema::CatalogEntry;
use sqlparser::ast;
use std::sync::Arc;
use values::{Type, Value};

/// A statement about the session. Errors: those of what it names.
pub(super) fn of_utility(text: &Arc<str>, utility: &Utility, context: &Context) -> Result<Prepared> {
    let tag = match utility {
        Utility::Begin(_) if text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("start")) => {
            "START TRANSACTION"
        }
        Utility::Begin(_) => "BEGIN",
        Utility::Commit(_) => "COMMIT",
        Utility::Rollback(_) | Utility::RollbackTo(_) => "ROLLBACK",
        Utility::Savepoint(_) => "SAVEPOINT",
        Utility::Release(_) => "RELEASE",
        Utility::Role(change) if change.resets => "RESET",
        Utility::Set(..) | Utility::SetTransaction(..) | Utility::Role(_) => "SET",
        Utility::Show(_) | Utility::ShowAll => "SHOW",
        Utility::Reset(_) | Utility::ResetAll => "RESET",
        Utility::Discard(what) => what,
        Utility::Deallocate(Some(_)) => "DEALLOCATE",
        Utility::Deallocate(None) => "DEALLOCATE ALL",
        Utility::CloseAll => "CLOSE CURSOR ALL",
        Utility::CloseCursor(_) => "CLOSE CURSOR",
        Utility::Fetch(fetch) if fetch.moves => "MOVE",
        Utility::Fetch(_) => "FETCH",
        Utility::Prepare(..) => "PREPARE",
        Utility::Explain(..) => "EXPLAIN",
        Utility::Copy(_) => "COPY",
        Utility::Roles(_)
        | Utility::Sequence(_)
        | Utility::Schemas(_)
        | Utility::Types(_)
        | Utility::Constraints(_)
        | Utility::System(_) => return Ok(of_change(text, utility)),
        Utility::Refresh(_) => "REFRESH MATERIALIZED VIEW",
        Utility::Listen(_) => "LISTEN",
        Utility::Unlisten(_) => "UNLISTEN",
        Utility::Notify(channel, payload) => return Ok(of_notify(text, channel, payload, context)),
        Utility::Do(block) => return routines::of_do(text, block, context),
        Utility::LockTable(locking) => return locking.prepare(text, context),
        Utility::ListeningChannels(_) => "SELECT",
        Utility::Maintenance(maintenance) => maintenance.tag,
        Utility::Range(_) => "RANGE",
        Utility::Snapshot(_) => "SELECT",
        Utility::Nothing(tag) => tag,
    };
    let mut prepared = Prepared::simple(text, Plan::Utility(utility.clone()), Tag::Plain(tag));
    prepared.columns = match utility {
        Utility::Show(name) => vec![text_column(&reported_name_of(name))],
        Utility::ShowAll => ["name", "setting"].map(text_column).to_vec(),
        Utility::Explain(_, ExplainFormat::Json) => {
            vec![ResultColumn { column_type: Type::Json, ..text_column("QUERY PLAN") }]
        }
        Utility::Explain(..) => vec![text_column("QUERY PLAN")],
        _ => Vec::new(),
    };
    if let Utility::Range(_) = utility {
        // What it says depends on no text of SQL.
        prepared.shareable = false;
    }
    if let Utility::Fetch(_) = utility {
        // Its columns are those of the session's cursor.
        (prepared.tag, prepared.shareable) = (Tag::Counted(tag), false);
    }
    prepared.writes = matches!(utility, Utility::Copy(copy) if !copy.outwards);
    if let Utility::Maintenance(maintenance) = utility {
        maintenance.check(context.catalog, context.facts)?;
        let keys = maintenance.relations().into_iter().map(|name| CatalogEntry::key(&name));
        prepared.mentions = keys.map(|key| (key.clone(), context.catalog.version_of(&key))).collect();
        prepared.outside_blocks = maintenance.outside_blocks;
        prepared.shareable = false;
    }
    Ok(prepared)
}

/// NOTIFY. The program names the session: no other may use it.
fn of_notify(text: &Arc<str>, channel: &Arc<str>, payload: &Arc<str>, context: &Context) -> Prepared {
    let constant = |text: &Arc<str>| Expression::Constant(Value::Text(text.clone()));
    let process = context.facts.process;
    let program = Program {
        parameters: Vec::new(),
        actions: vec![Action::notify(constant(channel), constant(payload), process)],
        columns: Vec::new(),
        relies_on: Arc::default(),
        read_only: false,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    };
    let mut prepared = Prepared::simple(text, Plan::Program(Arc::new(program)), Tag::Plain("NOTIFY"));
    prepared.shareable = false;
    prepared
}

/// A change of what the catalog keeps, planned when it is executed.
fn of_change(text: &Arc<str>, utility: &Utility) -> Prepared {
    match utility {
        Utility::Roles(roles) => {
            let plan = Plan::Roles(Arc::new(RoleStatement::clone(roles)));
            let mut prepared = Prepared::simple(text, plan, Tag::Plain(roles.tag()));
            prepared.writes = true;
            // Its text may have a password in it.
            prepared.shareable = false;
            prepared
        }
        Utility::Schemas(schemas) => {
            let plan = Plan::Namespaces(Arc::new(SchemaStatement::clone(schemas)));
            let mut prepared = Prepared::simple(text, plan, Tag::Plain(schemas.tag()));
            prepared.writes = true;
            if let SchemaStatement::Database(statement) = &**schemas {
                prepared.outside_blocks = statement.outside_blocks();
            }
            prepared.shareable = false;
            prepared
        }
        Utility::Sequence(sequence) => {
            let plan = Plan::Sequence(Arc::new(SequenceStatement::clone(sequence)));
            let mut prepared = Prepared::simple(text, plan, Tag::Plain(sequence.tag()));
            prepared.writes = true;
            prepared
        }
        Utility::Types(statement) => {
            let plan = Plan::Types(Arc::new(TypeStatement::clone(statement)));
            let mut prepared = Prepared::simple(text, plan, Tag::Plain(statement.tag()));
            prepared.writes = true;
            prepared.shareable = false;
            prepared
        }
        Utility::Constraints(deferred) => {
            let program = Program {
                parameters: Vec::new(),
                actions: vec![Action::Defer(*deferred)],
                columns: Vec::new(),
                relies_on: Arc::default(),
                read_only: false,
                references: Arc::default(),
                database: DatabaseId::FIRST,
            };
            let plan = Plan::Program(Arc::new(program));
            Prepared::simple(text, plan, Tag::Plain("SET CONSTRAINTS"))
        }
        Utility::System(statement) => {
            let mut prepared =
                Prepared::simple(text, Plan::System(Arc::new(statement.clone())), Tag::Plain(system::TAG));
            prepared.writes = true;
            prepared.outside_blocks = Some(system::TAG);
            prepared
        }
        _ => unreachable!("called for changes only"),
    }
}

/// A result column of type text.
pub fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_string(), column_type: Type::Text, origin: (0, 0) }
}

/// A query that the session answers by itself; `None`: another one.
pub(super) fn session_query(text: &Arc<str>, query: &ast::Query) -> Result<Option<Prepared>> {
    let answered = |plan: Plan, column: &str| {
        let mut prepared = Prepared::simple(text, plan, Tag::Select);
        prepared.columns = vec![text_column(column)];
        prepared
    };
    if let Some(name) = snapshot_of(query)? {
        let mut prepared = answered(Plan::Utility(Utility::Snapshot(name)), SNAPSHOT_FUNCTION);
        prepared.outside_blocks = Some("raid_snapshot()");
        prepared.shareable = false;
        return Ok(Some(prepared));
    }
    Ok(listening_channels(query)
        .map(|column| answered(Plan::Utility(Utility::ListeningChannels(column.clone())), &column)))
}

/// The function that takes a snapshot of the instance.
const SNAPSHOT_FUNCTION: &str = "raid_snapshot";

/// The one call that a query without FROM selects.
struct LoneCall<'a> {
    function: String,
    /// Its arguments, if all of them are constants.
    constants: Option<Vec<&'a ast::Value>>,
    /// There is nothing else: no condition, no DISTINCT, no order, nothing within the call.
    is_bare: bool,
}

fn lone_call(query: &ast::Query) -> Option<LoneCall<'_>> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [ast::SelectItem::UnnamedExpr(ast::Expr::Function(function))] = select.projection.as_slice() else {
        return None;
    };
    if !select.from.is_empty() {
        return None;
    }
    let ast::FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let constant = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Value(ref value))) => Some(&value.value),
        _ => None,
    };
    let is_plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    let function_name = names::function(&function.name)?;
    let has_plan = function_name == SNAPSHOT_FUNCTION;
    Some(LoneCall {
        constants: list.args.iter().map(constant).collect(),
        // Whatever a SELECT can have beside is in its text.
        is_bare: has_plan && is_plain && query.to_string() == format!("SELECT {function}"),
        function: function_name,
    })
}

/// The name in `SELECT raid_snapshot('name')`, if it is that and nothing else. Errors: 42883 for other arguments, 0A000 for what is no constant.
fn snapshot_of(query: &ast::Query) -> Result<Option<String>> {
    let Some(call) = lone_call(query).filter(|call| call.function == SNAPSHOT_FUNCTION) else { return Ok(None) };
    let Some(values) = call.constants.filter(|_| call.is_bare) else {
        return Err(SqlError::unsupported("raid_snapshot() of anything but a constant, in a SELECT of its own"));
    };
    match values.as_slice() {
        [value] => match crate::sql::literals::text_of(value) {
            Some(text) => Ok(Some(text.to_string())),
            None => Err(no_function("raid_snapshot(integer)")),
        },
        _ => Err(no_function("raid_snapshot()")),
    }
}

/// 42883.
fn no_function(signature: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {signature} does not exist"))
}

/// CREATE PROCEDURE: what its body compiles to is thrown away, but a body that does not compile is refused.
pub(super) fn of_procedure(text: &Arc<str>, create: &ast::CreateFunction, context: &Context) -> Result<Prepared> {
    let procedure = procedures::definition(create)?;
    parse::check_names(&procedure.body).map_err(|error| Box::new(SqlError { position: None, ..*error }))?;
    match procedure.plpgsql {
        Some(_) => routines::check(&procedure, context)?,
        None => drop(procedures::body(&procedure, context)?),
    }
    let plan = Plan::Schema(Box::new(ast::Statement::CreateFunction(create.clone())), Arc::default());
    let mut prepared = Prepared::simple(text, plan, Tag::Plain("CREATE PROCEDURE"));
    prepared.writes = true;
    Ok(prepared)
}
