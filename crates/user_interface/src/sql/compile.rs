//! Which way a statement goes: a program of its own, a query, a program fed by a query, a schema change, or the session's business.
//!
//! Invariant: what a statement was compiled with is named in its [`Prepared`].

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::advisory_calls;
use crate::sql::ddl;
use crate::sql::effects;
use crate::sql::expressions::Compiler;
use crate::sql::feed::{Feed, Supplying};
use crate::sql::firing_plans;
use crate::sql::function_calls::calls_routines;
use crate::sql::gathering;
use crate::sql::given::Context;
use crate::sql::insert::Insertion;
use crate::sql::instead::{self, ViewTables};
use crate::sql::local_times;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::modify::Modification;
use crate::sql::names;
use crate::sql::needs;
use crate::sql::parse::{self, Overriding, Parsed, Statement};
use crate::sql::part_builder;
use crate::sql::policies;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::procedures;
use crate::sql::qualify::qualified;
use crate::sql::queried_table::{Makes, QueriedTable, Refresh};
use crate::sql::relied::{functions_called, mentions_with, relations};
use crate::sql::rights::Needs;
use crate::sql::row_guards::{self, PolicyReader};
use crate::sql::sequence_calls::SetValue;
use crate::sql::session_calls::SessionCalls;
use crate::sql::session_plans::{of_procedure, of_utility, session_query};
use crate::sql::types::Stop;
use crate::sql::user_functions;
use crate::sql::utility::Utility;
use crate::sql::views;
use crate::sql::visits::visit_relations;
use messages::namespace::{self, UNMADE_TEMPORARY};
use messages::program::ResultColumn;
use messages::schema::{Catalog, CatalogEntry, CatalogVersions, TableSchemaKind};
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
    if let Some((inner, effects)) = effects::with_arguments(parsed)? {
        let prepared = compile(&inner, declared, context, described)?;
        return Ok(prepared.with_effects(&parsed.text, &effects).becoming(context.all, context.facts.session_role));
    }
    let lookup = NameLookup::new(context.all, context.facts);
    // What a client declared long ago may have other labels by now.
    let declared: Vec<Option<Type>> =
        declared.into_iter().map(|given| given.map(|known| current(known, context.all))).collect();
    let mut prepared = match &parsed.statement {
        Statement::Utility(utility) if let Utility::Refresh(refresh) = &**utility => {
            of_refresh(parsed, refresh, &lookup, context, described)?
        }
        Statement::Utility(utility) => of_utility(&parsed.text, &*utility.qualified(&lookup)?, context)?,
        Statement::Sql(tree) => {
            on_stack(levels_of(tree, context), || of_tree(parsed, tree, &lookup, &declared, context, described))?
        }
        Statement::Procedure(create) => {
            let mut create = create.clone();
            let name = lookup.new_name(&names::own_relation(&create.name)?)?;
            if namespace::of(&name) == UNMADE_TEMPORARY || context.all.is_temporary(&name) {
                return Err(SqlError::unsupported("a temporary procedure"));
            }
            create.name = ast::Ident::with_quote('"', name).into();
            of_procedure(&parsed.text, &create, context)?
        }
        Statement::Function(create) => {
            let mut create = create.clone();
            let name = lookup.new_name(&names::own_relation(&create.name)?)?;
            if create.temporary || namespace::of(&name) == UNMADE_TEMPORARY || context.all.is_temporary(&name) {
                return Err(SqlError::unsupported("a temporary function"));
            }
            create.name = ast::Ident::with_quote('"', name).into();
            of_function(&parsed.text, &create, context, described.is_some())?
        }
    };
    prepared.name_by(&lookup, context.own);
    prepared.role = context.facts.role;
    prepared.path = context.facts.path.clone();
    prepared.zone = context.facts.settings.zone().clone();
    prepared.form = parsed.form();
    prepared.declared = declared;
    prepared.outside_blocks = prepared.outside_blocks.or(parsed.concurrently);
    prepared.generation = context.generation;
    Ok(prepared)
}

/// A type as the catalog has it now.
fn current(known: Type, catalog: &Catalog) -> Type {
    match known.has_labels() {
        true => catalog.data_type(known.oid()).unwrap_or(known),
        false => known,
    }
}

/// A statement that reads or changes rows, or the schema: with the catalog's names, then without views.
fn of_tree(
    parsed: &Parsed,
    tree: &Deep<ast::Statement>,
    lookup: &NameLookup,
    declared: &[Option<Type>],
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let qualified = if parsed.is_row_change { None } else { qualified(tree, lookup)? };
    let statement = qualified.as_ref().unwrap_or(tree);
    advisory_calls::check(&parsed.text, statement)?;
    // A policy is kept as it was written.
    let mut expanded = match policies::conditions(statement) {
        Some(_) => None,
        // What policies and views read need not be in reach of who reads.
        None => views::expand(statement, tree.depths().levels, context.all, PolicyReader::of(context.facts))?,
    };
    let view_checks = expanded.as_mut().map(|known| std::mem::take(&mut known.checks)).unwrap_or_default();
    let context = &Context { view_checks: &view_checks, ..*context };
    let tables = ViewTables::of(expanded.as_ref(), statement, context);
    let of_view = tables.as_ref().map(|tables| tables.within(context));
    if parsed.into.as_ref().is_some_and(|into| into.keeps_query()) {
        local_times::refuse(statement, "a view", context.facts.settings.zone())?;
    }
    let known = expanded.as_ref().map(|known| &known.statement).or(qualified.as_ref());
    let whole = StatementSource { parsed, statement: known.unwrap_or(statement), is_expanded: expanded.is_some() };
    let declared_for = parsed.cursor.as_ref().map(|cursor| cursor.query.clone());
    let query = known.map(|known| Arc::from(known.to_string())).or(declared_for);
    let mut prepared = match &parsed.into {
        Some(into) if into.keeps_query() && !tree.is_shallow() => return Err(TooDeep.into()),
        Some(into) => {
            let text = qualified.as_ref().map_or_else(|| into.query.clone(), |known| Arc::from(known.to_string()));
            let into = QueriedTable { query: text, ..QueriedTable::clone(into) };
            let into = into.named(lookup, || relations(statement).iter().any(|name| context.all.is_temporary(name)))?;
            of_queried(&whole, &Arc::new(into), query, declared, context, described)?
        }
        None => match of_routine(&whole, declared, context)? {
            Some(prepared) => prepared,
            None => of_rows(&whole, query, declared, of_view.as_ref().unwrap_or(context), described)?,
        },
    };
    if let (Some(kind), ast::Statement::AlterTable(alter)) = (parsed.altered, statement) {
        let name = names::own_relation(&alter.name)?;
        if context.all.tables.get(&name).is_some_and(|known| known.table.kind() != kind) {
            let message = format!("\"{name}\" is not a {}", kind.word());
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        let is_view = kind == TableSchemaKind::View;
        prepared.tag = Tag::Plain(if is_view { "ALTER VIEW" } else { "ALTER MATERIALIZED VIEW" });
    }
    put_likes(&mut prepared, parsed, lookup, context)?;
    if let Some(cursor) = &parsed.cursor {
        prepared.declare(cursor, statement)?;
    }
    row_guards::settle(&mut prepared, expanded.as_ref(), statement, context)?;
    if let Some(expanded) = expanded {
        prepared.calls_routines = calls_routines(&expanded.statement, context.all);
        prepared.show_views(expanded);
    }
    if parsed.is_row_change {
        // The statement that it is a part of was checked.
        return Ok(firing_plans::of_change(prepared));
    }
    if parsed.into.as_ref().is_some_and(|into| into.is_view()) {
        // Whoever reads the view is asked what its owner may do.
        prepared.denied = None;
        return Ok(prepared);
    }
    protected(prepared, statement, context)
}

/// The tables that CREATE TABLE is to be like.
fn put_likes(prepared: &mut Prepared, parsed: &Parsed, lookup: &NameLookup, context: &Context) -> Result<()> {
    let Plan::Schema(_, likes) = &mut prepared.plan else { return Ok(()) };
    let all: Vec<_> = parsed.likes.iter().map(|like| like.qualified(lookup)).collect::<Result<_>>()?;
    let keys = all.iter().map(|like| CatalogEntry::key(&like.table));
    let rows = keys.map(|key| (key.clone(), context.all.version_of(&key)));
    prepared.mentions = prepared.mentions.iter().cloned().chain(rows).collect();
    *likes = all.into();
    Ok(())
}

/// Levels that a statement has, or can get from views.
fn levels_of(tree: &Deep<ast::Statement>, context: &Context) -> usize {
    // A name in another schema may be a view's, too.
    let has_schemas = !context.all.namespaces.is_empty();
    let may_grow = |statement: &ast::Statement| {
        views::names_view(statement, context.all) || row_guards::names_secured(statement, context.all)
    };
    match has_schemas || tree.with(may_grow) {
        true => DEPTH_MAX,
        false => tree.depths().levels,
    }
}

/// CREATE FUNCTION: it is kept once the query processor has found that it has a meaning.
fn of_function(text: &Arc<str>, create: &ast::CreateFunction, context: &Context, is_tried: bool) -> Result<Prepared> {
    let new = user_functions::definition(create, context)?;
    let trial = new.trial();
    let tree = parse::statement(&trial)?;
    let mut prepared = Prepared::simple(text, Plan::Function(Arc::new(new.clone())), Tag::Plain("CREATE FUNCTION"));
    prepared.writes = true;
    prepared.shareable = false;
    prepared.undescribed = !is_tried;
    if let Some(Statement::Sql(tree)) = tree.map(|parsed| parsed.statement) {
        let catalog = new.within(context.all);
        let keys = tree.with(|statement| functions_called(statement, &catalog));
        prepared.mentions = keys.into_iter().map(|key| (key.clone(), context.all.version_of(&key))).collect();
    }
    Ok(prepared)
}

/// Every name of a relation is one that the checks of privileges know. Errors: 0A000 for one with a database in it, 42601.
fn check_names(statement: &ast::Statement) -> Result<()> {
    let wrong = visit_relations(statement, |name| match names::relation(name) {
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
    /// Whether it had views, or row-level security.
    is_expanded: bool,
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

/// CALL of a procedure in PL/pgSQL; `None`: it is another statement.
fn of_routine(whole: &StatementSource, declared: &[Option<Type>], context: &Context) -> Result<Option<Prepared>> {
    let ast::Statement::Call(function) = whole.statement else { return Ok(None) };
    let mut compiler = Compiler::of_statement(context, declared.to_vec());
    procedures::call_routine(&mut compiler, function, &whole.parsed.text, context)
}

/// Any other statement: as it is without triggers, and then with them.
fn of_rows(
    whole: &StatementSource,
    expanded: Option<Arc<str>>,
    declared: &[Option<Type>],
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let mut bare = of_sql(whole, expanded, declared, context, described)?;
    instead::read_view(&mut bare, context)?;
    policies::try_first(&mut bare, whole.statement, context, described)?;
    let prepared = firing_plans::of_triggers(bare, whole.parsed, whole.statement, declared, context)?;
    row_guards::check_triggers(&prepared, whole.statement, whole.is_expanded, context)?;
    Ok(prepared)
}

fn of_sql(
    whole: &StatementSource,
    expanded: Option<Arc<str>>,
    declared: &[Option<Type>],
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let StatementSource { parsed, statement, .. } = *whole;
    check_names(statement)?;
    let types = known_types(declared, described.map_or(&[], |(_, described)| described));
    if let ast::Statement::Execute { name: Some(name), parameters, .. } = statement {
        let plan = Plan::Execute(names::own_relation(name)?, parameters.clone());
        return Ok(Prepared::simple(&parsed.text, plan, Tag::Plain("EXECUTE")));
    }
    if let Some(prepared) = part_builder::compile(parsed, statement, declared, context, described)? {
        return Ok(prepared);
    }
    let mut compiler = Compiler::of_statement(context, types);
    compiler.fires_nothing = true;
    compiler.overriding = parsed.overriding.or(parsed.is_row_change.then_some(Overriding::System));
    let (plan, tag, writes) = match statement {
        ast::Statement::Query(query) => {
            if let Some(prepared) = session_query(&parsed.text, query)? {
                return Ok(prepared);
            }
            if let Some((set, column)) = compiler.set_value(query).map_err(Stop::into_error)? {
                let mentions = mentions_of(statement, &compiler, context);
                return of_set_value(parsed, set, column, mentions, compiler, described);
            }
            if let Some(calls) = compiler.session_calls(query).map_err(Stop::into_error)? {
                let mentions = mentions_of(statement, &compiler, context);
                return Ok(of_session_calls(parsed, calls, mentions, compiler));
            }
            of_query(expanded.as_ref().unwrap_or(&parsed.text), query, &mut compiler)?
        }
        ast::Statement::Insert(insert) => {
            let fed = described.map(|(columns, _)| columns.len());
            let insertion = compiler.insert(insert, context.made, fed).map_err(Stop::into_error)?;
            (inserted_plan(insertion, &mut compiler)?, Tag::Insert, true)
        }
        ast::Statement::Update(update) => {
            let mut modification =
                compiler.update(update, described.map(|(columns, _)| columns)).map_err(Stop::into_error)?;
            if let (true, Modification::Feed(feed)) = (parsed.is_replace(), &mut modification) {
                feed.supplying = Supplying::AllAtOnceOneValueEach;
            }
            (modified_plan(modification, &mut compiler)?, Tag::Update, true)
        }
        ast::Statement::Delete(delete) => {
            let modification =
                compiler.delete(delete, described.map(|(columns, _)| columns)).map_err(Stop::into_error)?;
            (modified_plan(modification, &mut compiler)?, Tag::Delete, true)
        }
        ast::Statement::Call(function) => {
            let program = procedures::call(&mut compiler, function, context)?;
            let writes = !program.read_only;
            (Plan::Program(Arc::new(program)), Tag::Plain("CALL"), writes)
        }
        other => (Plan::Schema(Box::new(other.clone()), Arc::default()), Tag::Plain(ddl::tag(other)?), true),
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
    let StatementSource { parsed, statement, .. } = *whole;
    check_names(statement)?;
    if !matches!(statement, ast::Statement::Query(_)) {
        return Err(SqlError::syntax(into.query.split_whitespace().next().unwrap_or_default()));
    }
    if part_builder::is_of_parts(statement) {
        return Err(match into.is_view() {
            true => {
                let message = "views must not contain data-modifying statements in WITH";
                SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
            }
            false => SqlError::unsupported("a table of the rows of a statement that changes rows"),
        });
    }
    let compiler = Compiler::of_statement(context, declared.to_vec());
    let tag = if into.is_filled() && !into.is_refresh() { Tag::Stored } else { Tag::Plain(into.tag()) };
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
    if into.is_materialized() && !prepared.parameters.is_empty() {
        let message = "materialized views may not be defined using bound parameters";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(prepared)
}

/// REFRESH: the view's query, run with the rights of the view's owner. Errors: 42P01; 0A000 for what is no materialized view, and 55000 for one without the key that
/// CONCURRENTLY needs.
fn of_refresh(
    parsed: &Parsed,
    refresh: &Refresh,
    lookup: &NameLookup,
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Prepared> {
    let name = lookup.existing(NameKind::Relation, &refresh.name)?;
    lookup.check_reachable(&name)?;
    let view = match context.all.tables.get(&name) {
        Some(known) => known.table.clone(),
        None if !context.all.index_names.contains_key(&name) => {
            let message = format!("relation \"{name}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, message));
        }
        None => return Err(not_materialized(&name)),
    };
    let Some(materialized) = &view.materialized else { return Err(not_materialized(&name)) };
    if refresh.concurrently {
        views::check_concurrently(&view, materialized.populated, context.all)?;
    }
    let query = materialized.text.clone();
    let broken = || SqlError::new(sqlstate::INTERNAL_ERROR, format!("the view \"{name}\" has no query"));
    let of_view = parse::statement(&query)?.ok_or_else(broken)?;
    let Statement::Sql(tree) = &of_view.statement else { return Err(broken()) };
    let makes = if refresh.with_data { Makes::Refreshed } else { Makes::Emptied };
    let into = Arc::new(QueriedTable::new(name.clone(), makes, query));
    let mut prepared = on_stack(DEPTH_MAX, || -> Result<Prepared> {
        let reader = PolicyReader { role: view.rights.owner, ..PolicyReader::of(context.facts) };
        let expanded = views::expand(tree, tree.depths().levels, context.all, reader)?;
        let known = expanded.as_ref().map(|known| &known.statement);
        // `current_user` in a policy would be whoever refreshes.
        if context.facts.role != view.rights.owner && policies::may_count(known.unwrap_or(tree), context.all) {
            return Err(SqlError::unsupported(
                "REFRESH of another role's view that reads a table with row-level security; SET ROLE to its owner",
            ));
        }
        let whole = StatementSource { parsed, statement: known.unwrap_or(tree), is_expanded: known.is_some() };
        let text = known.map(|known| Arc::from(known.to_string()));
        let mut prepared = of_queried(&whole, &into, text, &[], context, described)?;
        if let Some(expanded) = expanded {
            prepared.show_views(expanded);
        }
        prepared.protect(context.all, view.rights.owner, || needs::of(tree, context.all))?;
        Ok(prepared)
    })?;
    let own = CatalogEntry::key(&name);
    let version = context.all.version_of(&own);
    prepared.mentions = prepared.mentions.iter().cloned().chain([(own, version)]).collect();
    Ok(prepared)
}

fn not_materialized(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("\"{name}\" is not a materialized view"))
}

/// A query: how it is executed, and whether it writes or locks.
fn of_query(text: &Arc<str>, query: &ast::Query, compiler: &mut Compiler) -> Result<(Plan, Tag, bool)> {
    let locks = !query.locks.is_empty();
    if locks {
        views::check_lockable(query, compiler.catalog)?;
    }
    match compiler.select(query) {
        Ok(mut program) => {
            compiler.rely(&mut program);
            Ok((Plan::Program(Arc::new(program)), Tag::Select, locks || compiler.draws))
        }
        Err(Stop::Beyond(_)) if locks => Err(gathering::refusal(query)),
        Err(Stop::Beyond(_)) => Ok((Plan::Query(text.clone()), Tag::Select, false)),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// The catalog rows of what a statement names, with their versions.
fn mentions_of(statement: &ast::Statement, compiler: &Compiler, context: &Context) -> CatalogVersions {
    mentions_with(statement, &compiler.relies_on, compiler.parameters.known(), context)
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

/// A SELECT that sleeps, notifies, or takes locks.
fn of_session_calls(
    parsed: &Parsed,
    calls: SessionCalls,
    mentions: CatalogVersions,
    mut compiler: Compiler,
) -> Prepared {
    let SessionCalls { mut program, sleeps, locks } = calls;
    compiler.rely(&mut program);
    let mut prepared = Prepared::simple(&parsed.text, Plan::Program(Arc::new(program)), Tag::Select);
    prepared.shareable = false;
    prepared.writes = compiler.draws;
    prepared.mentions = mentions;
    (prepared.sleeps, prepared.locks) = (sleeps, locks);
    finish(&mut prepared, compiler, None);
    prepared
}

/// The statement, with what the role may do of it.
fn protected(mut prepared: Prepared, statement: &ast::Statement, context: &Context) -> Result<Prepared> {
    if let Plan::Program(_)
    | Plan::Query(_)
    | Plan::Feed(..)
    | Plan::Parts(_)
    | Plan::SetValue(_)
    | Plan::Queried(..)
    | Plan::Routine(_)
    | Plan::Firing(_) = &prepared.plan
    {
        prepared.protect(context.all, context.facts.role, || needs_of(statement, context))?;
        prepared.calls_routines |= calls_routines(statement, context.all);
    }
    Ok(prepared)
}

/// What a statement that reads or changes rows needs.
fn needs_of(statement: &ast::Statement, context: &Context) -> Needs {
    match statement {
        ast::Statement::Call(function) => {
            let name = names::own_relation(&function.name).unwrap_or_default();
            let procedure = context.all.procedures.get(&name);
            // What a routine in PL/pgSQL runs needs what it needs when it runs.
            let in_sql = procedure.filter(|(procedure, _)| procedure.plpgsql.is_none());
            let body = in_sql.and_then(|(procedure, _)| parse::statements(&procedure.body).ok());
            needs::of_call(function, body.as_deref().unwrap_or_default(), &NameLookup::new(context.all, context.facts))
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

fn inserted_plan(insertion: Insertion, compiler: &mut Compiler) -> Result<Plan> {
    match insertion {
        Insertion::Program(mut program) => {
            compiler.rely(&mut program);
            Ok(Plan::Program(Arc::new(program)))
        }
        Insertion::Feed(feed) => fed_plan(feed, compiler),
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
    Ok(Plan::Feed(feed.sql, Arc::new(feed.program), feed.key_types, feed.supplying))
}
