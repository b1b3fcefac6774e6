//! Which way a statement goes: a program of its own, a query, a program fed by a query, a schema change, or the session's business.
//!
//! Invariant: what a statement was compiled with is named in its [`Prepared`].

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::Compiler;
use crate::sql::feed::Feed;
use crate::sql::given::Context;
use crate::sql::insert::Insertion;
use crate::sql::modify::Modification;
use crate::sql::names;
use crate::sql::needs;
use crate::sql::parse::{self, Parsed, Statement};
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::procedures;
use crate::sql::queried_table::QueriedTable;
use crate::sql::rights::Needs;
use crate::sql::role_syntax::RoleStatement;
use crate::sql::sequence_calls::SetValue;
use crate::sql::sequences::SequenceStatement;
use crate::sql::settings::reported_name_of;
use crate::sql::system;
use crate::sql::types::Stop;
use crate::sql::utility::{Copy, CopySource, Utility};
use crate::sql::views;
use messages::Key;
use messages::program::{Action, Program, ResultColumn};
use messages::schema::{CatalogEntry, CatalogVersions};
use sql_syntax::limits::DEPTH_MAX;
use sql_syntax::{Deep, TooDeep, on_stack};
use sqlparser::ast;
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;

/// Compiles a statement. `described`: what the query processor said of it, parameters' types and number of columns.
pub fn compile(
    parsed: &Parsed,
    declared: Vec<Option<Type>>,
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let mut prepared = match &parsed.statement {
        Statement::Utility(utility) => of_utility(&parsed.text, utility, context)?,
        Statement::Sql(tree) => on_stack(levels_of(tree, context), || {
            let statement = &**tree;
            let expanded = views::expand(statement, tree.depths().levels, context.catalog)?;
            let whole =
                StatementSource { parsed, statement: expanded.as_ref().map_or(statement, |known| &known.statement) };
            let declared_for = parsed.cursor.as_ref().map(|cursor| cursor.query.clone());
            let query = expanded.as_ref().map(|known| Arc::from(known.statement.to_string())).or(declared_for);
            let mut prepared = match &parsed.into {
                Some(into) if into.is_view() && !tree.is_shallow() => return Err(TooDeep.into()),
                Some(into) => of_queried(&whole, into, query, &declared, context, described)?,
                None => of_sql(&whole, query, &declared, context, described)?,
            };
            if let Some(cursor) = &parsed.cursor {
                prepared.declare(cursor, statement)?;
            }
            if let Some(expanded) = expanded {
                prepared.show_views(expanded);
            }
            if parsed.into.as_ref().is_some_and(|into| into.is_view()) {
                // Whoever reads the view is asked what its owner may do.
                prepared.denied = None;
                return Ok(prepared);
            }
            protected(prepared, statement, context)
        })?,
        Statement::Procedure(create) => of_procedure(&parsed.text, create, context)?,
    };
    prepared.role = context.facts.role;
    prepared.declared = declared;
    prepared.outside_blocks = prepared.outside_blocks.or(parsed.concurrently);
    prepared.generation = context.generation;
    Ok(prepared)
}

/// Levels that a statement has, or can get from views.
fn levels_of(tree: &Deep<ast::Statement>, context: &Context) -> usize {
    match tree.with(|statement| views::names_view(statement, context.catalog)) {
        true => DEPTH_MAX,
        false => tree.depths().levels,
    }
}

fn of_utility(text: &Arc<str>, utility: &Utility, context: &Context) -> Result<Prepared> {
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
        Utility::Explain(_) => "EXPLAIN",
        Utility::Copy(_) => "COPY",
        Utility::Roles(_) | Utility::Sequence(_) | Utility::Constraints(_) | Utility::System(_) => {
            return Ok(of_change(text, utility));
        }
        Utility::Maintenance(maintenance) => maintenance.tag,
        Utility::Snapshot(_) => "SELECT",
        Utility::Nothing(tag) => tag,
    };
    let mut prepared = Prepared::simple(text, Plan::Utility(utility.clone()), Tag::Plain(tag));
    prepared.columns = match utility {
        Utility::Show(name) => vec![text_column(&reported_name_of(name))],
        Utility::ShowAll => ["name", "setting"].map(text_column).to_vec(),
        Utility::Explain(_) => vec![text_column("QUERY PLAN")],
        _ => Vec::new(),
    };
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
        Utility::Sequence(sequence) => {
            let plan = Plan::Sequence(Arc::new(SequenceStatement::clone(sequence)));
            let mut prepared = Prepared::simple(text, plan, Tag::Plain(sequence.tag()));
            prepared.writes = true;
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

/// CREATE PROCEDURE: what its body compiles to is thrown away, but a body that does not compile is refused.
fn of_procedure(text: &Arc<str>, create: &ast::CreateFunction, context: &Context) -> Result<Prepared> {
    procedures::body(&procedures::definition(create)?, context)?;
    let plan = Plan::Schema(Box::new(ast::Statement::CreateFunction(create.clone())));
    let mut prepared = Prepared::simple(text, plan, Tag::Plain("CREATE PROCEDURE"));
    prepared.writes = true;
    Ok(prepared)
}

/// A result column of type text.
pub fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_string(), column_type: Type::Text, origin: (0, 0) }
}

/// Every name of a relation is one that the checks of privileges know. Errors: 0A000 for one with a database in it, 42601.
fn check_names(statement: &ast::Statement) -> Result<()> {
    let wrong = ast::visit_relations(statement, |name| match names::relation(name) {
        Ok(_) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    match wrong {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// A statement as it was sent, and as it is compiled: without views.
#[derive(Clone, Copy)]
struct StatementSource<'a> {
    parsed: &'a Parsed,
    statement: &'a ast::Statement,
}

/// Types of parameters as far as the client gave them or the query processor has said them.
fn known_types(declared: &[Option<Type>], described: &[Type]) -> Vec<Option<Type>> {
    let mut types = declared.to_vec();
    types.resize(types.len().max(described.len()), None);
    for (slot, data_type) in types.iter_mut().zip(described) {
        slot.get_or_insert(*data_type);
    }
    types
}

fn of_sql(
    whole: &StatementSource,
    expanded: Option<Arc<str>>,
    declared: &[Option<Type>],
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let StatementSource { parsed, statement } = *whole;
    check_names(statement)?;
    let types = known_types(declared, described.map_or(&[], |(_, described)| described));
    if let ast::Statement::Execute { name: Some(name), parameters, .. } = statement {
        let plan = Plan::Execute(names::own_relation(name)?, parameters.clone());
        return Ok(Prepared::simple(&parsed.text, plan, Tag::Plain("EXECUTE")));
    }
    let mut compiler = Compiler::new(context.catalog, context.facts, context.text, types);
    let (plan, tag, writes) = match statement {
        ast::Statement::Query(query) => {
            if let Some(plan) = set_config(query) {
                let mut prepared = Prepared::simple(&parsed.text, plan, Tag::Select);
                prepared.columns = vec![text_column("set_config")];
                return Ok(prepared);
            }
            if let Some(name) = snapshot_of(query)? {
                return Ok(of_snapshot(parsed, name));
            }
            if let Some((set, column)) = compiler.set_value(query).map_err(Stop::into_error)? {
                let mentions = mentions_of(statement, &compiler, context);
                return of_set_value(parsed, set, column, mentions, compiler, described);
            }
            of_query(expanded.as_ref().unwrap_or(&parsed.text), query, &mut compiler)?
        }
        ast::Statement::Insert(insert) => {
            let fed = described.map(|(columns, _)| columns.len());
            compiler.overriding = parsed.overriding;
            let plan = match compiler.insert(insert, context.made, fed).map_err(Stop::into_error)? {
                Insertion::Program(mut program) => {
                    compiler.rely(&mut program);
                    Plan::Program(Arc::new(program))
                }
                Insertion::Feed(feed) => fed_plan(feed, &mut compiler)?,
            };
            (plan, Tag::Insert, true)
        }
        ast::Statement::Update(update) => {
            let modification = compiler.update(update).map_err(Stop::into_error)?;
            (modified_plan(modification, &mut compiler)?, Tag::Update, true)
        }
        ast::Statement::Delete(delete) => {
            let modification = compiler.delete(delete).map_err(Stop::into_error)?;
            (modified_plan(modification, &mut compiler)?, Tag::Delete, true)
        }
        ast::Statement::Call(function) => {
            let program = procedures::call(&mut compiler, function, context)?;
            let writes = !program.read_only;
            (Plan::Program(Arc::new(program)), Tag::Plain("CALL"), writes)
        }
        other => (Plan::Schema(Box::new(other.clone())), Tag::Plain(crate::sql::ddl::tag(other)?), true),
    };
    let mut prepared = Prepared::simple(&parsed.text, plan, tag);
    prepared.writes = writes;
    prepared.shareable = !compiler.used_facts && context.made.is_empty();
    prepared.mentions = mentions_of(statement, &compiler, context);
    if let (ast::Statement::Call(_), Plan::Program(program)) = (statement, &prepared.plan) {
        prepared.mentions = program.relies_on.clone();
    }
    finish(&mut prepared, compiler, described);
    Ok(prepared)
}

/// A table of a query's rows.
fn of_queried(
    whole: &StatementSource,
    into: &Arc<QueriedTable>,
    expanded: Option<Arc<str>>,
    declared: &[Option<Type>],
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let StatementSource { parsed, statement } = *whole;
    check_names(statement)?;
    if !matches!(statement, ast::Statement::Query(_)) {
        return Err(SqlError::syntax(into.query.split_whitespace().next().unwrap_or_default()));
    }
    let compiler = Compiler::new(context.catalog, context.facts, context.text, declared.to_vec());
    let tag = if into.is_filled() { Tag::Stored } else { Tag::Plain(into.tag()) };
    let query = expanded.unwrap_or_else(|| into.query.clone());
    let mut prepared = Prepared::simple(&parsed.text, Plan::Queried(into.clone(), query), tag);
    prepared.writes = true;
    prepared.shareable = false;
    prepared.mentions = mentions_of(statement, &compiler, context);
    prepared.undescribed = described.is_none();
    if let Some((columns, parameters)) = described {
        prepared.source = columns.to_vec();
        prepared.parameters = parameters.to_vec();
    }
    if into.is_view() && !prepared.parameters.is_empty() {
        return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    Ok(prepared)
}

/// A query: how it is executed, and whether it writes or locks.
fn of_query(text: &Arc<str>, query: &ast::Query, compiler: &mut Compiler) -> Result<(Plan, Tag, bool)> {
    let locks = !query.locks.is_empty();
    match compiler.select(query) {
        Ok(mut program) => {
            compiler.rely(&mut program);
            Ok((Plan::Program(Arc::new(program)), Tag::Select, locks || compiler.draws))
        }
        Err(Stop::Beyond(_)) if locks => {
            Err(SqlError::unsupported("FOR UPDATE with joins, grouping, subqueries or sorting"))
        }
        Err(Stop::Beyond(_)) => Ok((Plan::Query(text.clone()), Tag::Select, false)),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// The catalog rows of what a statement names, with their versions.
fn mentions_of(statement: &ast::Statement, compiler: &Compiler, context: &Context) -> CatalogVersions {
    let relations = relations(statement).into_iter().map(|name| CatalogEntry::key(&name));
    let relations = relations.map(|key| (key.clone(), context.all.version_of(&key)));
    relations.chain(compiler.relies_on.iter().cloned()).collect()
}

/// `SELECT setval(...)`.
fn of_set_value(
    parsed: &Parsed,
    set: SetValue,
    column: ResultColumn,
    mentions: CatalogVersions,
    mut compiler: Compiler,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let mut prepared = Prepared::simple(&parsed.text, Plan::Query(parsed.text.clone()), Tag::Select);
    prepared.writes = true;
    prepared.shareable = false;
    prepared.columns = vec![column];
    prepared.mentions = mentions;
    match (&set.source, described) {
        (None, _) => prepared.parameters = compiler.take_parameters()?,
        (Some(_), None) => prepared.undescribed = true,
        (Some(_), Some((columns, parameters))) => {
            prepared.source = columns.to_vec();
            prepared.parameters = parameters.to_vec();
        }
    }
    prepared.plan = Plan::SetValue(Arc::new(set));
    Ok(prepared)
}

/// The statement, with what the role may do of it.
fn protected(mut prepared: Prepared, statement: &ast::Statement, context: &Context) -> Result<Prepared> {
    if let Plan::Program(_) | Plan::Query(_) | Plan::Feed(..) | Plan::SetValue(_) | Plan::Queried(..) = &prepared.plan {
        prepared.protect(context.all, context.facts.role, || needs_of(statement, context))?;
    }
    Ok(prepared)
}

/// What a statement that reads or changes rows needs.
fn needs_of(statement: &ast::Statement, context: &Context) -> Needs {
    match statement {
        ast::Statement::Call(function) => {
            let name = names::own_relation(&function.name).unwrap_or_default();
            let procedure = context.all.procedures.get(&name);
            let body = procedure.and_then(|(procedure, _)| parse::statements(&procedure.body).ok());
            needs::of_call(function, body.as_deref().unwrap_or_default(), context.all)
        }
        _ => needs::of(statement, context.all),
    }
}

/// Fills in columns and parameters.
fn finish(prepared: &mut Prepared, compiler: Compiler, described: Option<(&[ResultColumn], &[Type])>) {
    prepared.source = described.map_or_else(Vec::new, |(columns, _)| columns.to_vec());
    match &prepared.plan {
        Plan::Program(program) => {
            prepared.columns = program.columns.clone();
            prepared.parameters = program.parameters.clone();
        }
        Plan::Feed(_, program, ..) => {
            prepared.columns = program.columns.clone();
            prepared.parameters = program.parameters.clone();
            prepared.undescribed = described.is_none();
        }
        Plan::Query(_) => {
            prepared.undescribed = described.is_none();
            if let Some((columns, parameters)) = described {
                prepared.columns = columns.to_vec();
                prepared.parameters = parameters.to_vec();
            }
        }
        _ => drop(compiler),
    }
}

fn modified_plan(modification: Modification, compiler: &mut Compiler) -> Result<Plan> {
    match modification {
        Modification::Program(mut program) => {
            compiler.rely(&mut program);
            Ok(Plan::Program(Arc::new(program)))
        }
        Modification::Feed(feed) => fed_plan(feed, compiler),
    }
}

/// Parameters that are still open are the query's: they become known when it is described, and text stands in until then.
fn fed_plan(mut feed: Feed, compiler: &mut Compiler) -> Result<Plan> {
    let known = compiler.parameters.known().iter().map(|data_type| data_type.unwrap_or(Type::Text));
    feed.program.parameters = known.collect();
    compiler.rely(&mut feed.program);
    Ok(Plan::Feed(feed.sql, Arc::new(feed.program), feed.key_types, feed.reads_target))
}

/// The function that takes a snapshot of the instance.
const SNAPSHOT_FUNCTION: &str = "raid_snapshot";

/// Name and arguments of the one function that a query consists of, constants all of them.
fn lone_call(query: &ast::Query) -> Option<(String, Option<Vec<&ast::Value>>)> {
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
    Some((names::function(&function.name)?, list.args.iter().map(constant).collect()))
}

/// `SELECT set_config('name', 'value', local)` and nothing else.
fn set_config(query: &ast::Query) -> Option<Plan> {
    let (name, values) = lone_call(query)?;
    if name != "set_config" {
        return None;
    }
    let values = values?;
    let [name, value, ast::Value::Boolean(local)] = values.as_slice() else {
        return None;
    };
    let text = |value| crate::sql::literals::text_of(value).map(str::to_string);
    Some(Plan::SetConfig(text(name)?, text(value)?, *local))
}

/// The name in `SELECT raid_snapshot('name')`, if it is that and nothing else. Errors: 42883 for other arguments, 0A000 for what is no constant.
fn snapshot_of(query: &ast::Query) -> Result<Option<String>> {
    let Some((name, values)) = lone_call(query).filter(|(name, _)| name == SNAPSHOT_FUNCTION) else { return Ok(None) };
    let bare = query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none();
    let Some(values) = values.filter(|_| bare) else {
        return Err(SqlError::unsupported("raid_snapshot() of anything but a constant, in a SELECT of its own"));
    };
    match values.as_slice() {
        [value] => match crate::sql::literals::text_of(value) {
            Some(text) => Ok(Some(text.to_string())),
            None => Err(no_function(&format!("{name}(integer)"))),
        },
        _ => Err(no_function(&format!("{name}()"))),
    }
}

fn of_snapshot(parsed: &Parsed, name: String) -> Prepared {
    let mut prepared = Prepared::simple(&parsed.text, Plan::Utility(Utility::Snapshot(name)), Tag::Select);
    prepared.columns = vec![text_column(SNAPSHOT_FUNCTION)];
    prepared.outside_blocks = Some("raid_snapshot()");
    prepared.shareable = false;
    prepared
}

/// 42883.
fn no_function(signature: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {signature} does not exist"))
}

/// Catalog rows of what a statement mentions, which decide whether it can be compiled.
pub fn mentioned(statement: &Statement) -> Vec<Key> {
    let of_relations = |names: Vec<String>| names.iter().map(|name| CatalogEntry::key(name)).collect();
    match statement {
        Statement::Sql(statement) => match &**statement {
            ast::Statement::Call(function) => {
                let name = names::own_relation(&function.name).ok();
                name.map(|name| CatalogEntry::procedure_key(&name)).into_iter().collect()
            }
            ast::Statement::Drop { names, .. } => {
                of_relations(names.iter().filter_map(|name| Some(names::relation(name).ok()?.name)).collect())
            }
            _ => of_relations(relations(statement)),
        },
        Statement::Utility(utility) => match &**utility {
            Utility::Copy(Copy { source: CopySource::Table(name, _), .. }) => vec![CatalogEntry::key(name)],
            Utility::Roles(roles) => roles.mentioned(),
            Utility::Sequence(sequence) => sequence.mentioned(),
            Utility::Explain(text) => {
                let explained = parse::statement(text).ok().flatten();
                // An EXPLAIN of an EXPLAIN is refused, however many stand one behind the other.
                let explained = explained.filter(|parsed| !matches!(parsed.statement, Statement::Utility(_)));
                explained.map_or_else(Vec::new, |parsed| mentioned(&parsed.statement))
            }
            Utility::System(statement) => statement.mentioned(),
            _ => Vec::new(),
        },
        Statement::Procedure(create) => {
            let body = procedures::definition(create).and_then(|procedure| parse::statements(&procedure.body));
            // A body has nothing else: one procedure within the other would take the stack.
            let of_rows = |parsed: &&Parsed| matches!(parsed.statement, Statement::Sql(_));
            body.iter().flatten().filter(of_rows).flat_map(|parsed| mentioned(&parsed.statement)).collect()
        }
    }
}

/// Names of the relations that a statement mentions, system catalogs left out.
fn relations(statement: &ast::Statement) -> Vec<String> {
    let mut found = Vec::new();
    let _ = ast::visit_relations(statement, |name| {
        if let Ok(relation) = names::relation(name)
            && !found.contains(&relation.name)
        {
            found.push(relation.name);
        }
        ControlFlow::<()>::Continue(())
    });
    found
}
