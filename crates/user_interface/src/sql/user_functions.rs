//! Functions of users: CREATE FUNCTION, DROP FUNCTION, and what statements that call them rely on and need (PostgreSQL's manual, 38.5).
//!
//! One in SQL is a query with parameters; the query processor runs it where it is called. One in PL/pgSQL is a routine, which the session runs for the query. Invariants: what is kept as a function was found to have a meaning, unless
//! `check_function_bodies` was off; names in its query are what they meant to who made it; a name has one function.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::PROCEDURE_PARAMETERS_MAX;
use crate::sql::ddl::Planner;
use crate::sql::denials::OwnerReach;
use crate::sql::extension_functions::each_call;
use crate::sql::function_calls::{called, too_long};
use crate::sql::given::Context;
use crate::sql::literals::text_of;
use crate::sql::lookup::NameLookup;
use crate::sql::names;
use crate::sql::new_function::NewFunction;
use crate::sql::parse::{self, Statement};
use crate::sql::part_builder;
use crate::sql::procedures::parameter_name;
use crate::sql::qualify::qualified;
use crate::sql::routines;
use crate::sql::triggers::is_trigger;
use crate::sql::types::{data_type, user_type_name};
use crate::sql::views;
use crate::sql::visits::visit_expressions;
use messages::Key;
use messages::limits::FUNCTION_BYTES_MAX;
use messages::namespace;
use messages::privilege::Rights;
use messages::schema::{
    Catalog, CatalogEntry, FunctionSchema, ProcedureSchema, RoutineResult, RoutineVolatility, TableSchema,
    TableSchemaKind,
};
use privileges::Kind;
use sqlparser::ast;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, message))
}

/// A function as CREATE FUNCTION defines it, under the catalog's name. Errors: 0A000 for what is not kept, naming it; 42P13 for what no function can have.
pub fn definition(create: &ast::CreateFunction, context: &Context) -> Result<NewFunction> {
    let mut is_plpgsql = false;
    match &create.language {
        Some(language) if language.value.eq_ignore_ascii_case("sql") => {}
        Some(language) if language.value.eq_ignore_ascii_case(routines::LANGUAGE) => is_plpgsql = true,
        Some(language) => return Err(SqlError::unsupported(format!("LANGUAGE {language}"))),
        // A body in SQL says so itself.
        None if matches!(create.function_body, Some(ast::CreateFunctionBody::Return(_))) => {}
        None => return invalid("no language specified"),
    }
    if matches!(create.security, Some(ast::FunctionSecurity::Definer)) || !create.set_params.is_empty() {
        return Err(SqlError::unsupported("a function with SECURITY DEFINER or SET"));
    }
    let FunctionSignature { parameters, columns, defaults, mut modes } = signature(create)?;
    defaults.iter().try_for_each(|default| check_default(default, context))?;
    check_callable(namespace::bare(&names::own_relation(&create.name)?), parameters.len())?;
    let (result, returns_set) = result(create.return_type.as_ref(), columns, &parameters)?;
    match (&result, modes.contains(['o', 'b'])) {
        (RoutineResult::Value(_) | RoutineResult::Trigger, _) => modes.clear(),
        (RoutineResult::Columns(_), true) => {}
        (RoutineResult::Columns(columns), false) => modes.extend(columns.iter().map(|_| 't')),
    }
    let (body, query) = match (is_plpgsql, written_body(create)) {
        (_, None) => return invalid("no function body specified"),
        (true, Some(text)) => (text, String::new()),
        (false, Some(text)) => body(text, context)?,
    };
    let function = FunctionSchema {
        result,
        modes,
        returns_set,
        volatility: match create.behavior {
            Some(ast::FunctionBehavior::Immutable) => RoutineVolatility::Immutable,
            Some(ast::FunctionBehavior::Stable) => RoutineVolatility::Stable,
            Some(ast::FunctionBehavior::Volatile) | None => RoutineVolatility::Volatile,
        },
        is_strict: match create.called_on_null {
            Some(ast::FunctionCalledOnNull::CalledOnNullInput) | None => false,
            Some(ast::FunctionCalledOnNull::ReturnsNullOnNullInput | ast::FunctionCalledOnNull::Strict) => true,
        },
        parallel: match create.parallel {
            Some(ast::FunctionParallel::Safe) => 's',
            Some(ast::FunctionParallel::Restricted) => 'r',
            Some(ast::FunctionParallel::Unsafe) | None => 'u',
        },
        defaults,
        query,
    };
    let schema = ProcedureSchema {
        plpgsql: is_plpgsql.then(String::new),
        name: names::own_relation(&create.name)?,
        oid: 0,
        parameters,
        body,
        rights: Rights::default(),
        function: Some(function),
    };
    if is_plpgsql {
        routines::check(&schema, context)?;
    }
    Ok(NewFunction { schema, replace: create.or_replace, is_tried: context.facts.settings.checks_bodies() })
}

/// What stands in the parentheses behind a function's name.
#[derive(Default)]
struct FunctionSignature {
    /// What goes in.
    parameters: Vec<(String, Type)>,
    /// What comes out.
    columns: Vec<(String, Type)>,
    /// Of the last ones that go in.
    defaults: Vec<String>,
    /// The letters of all, in their order.
    modes: String,
}

fn signature(create: &ast::CreateFunction) -> Result<FunctionSignature> {
    let arguments = create.args.as_deref().unwrap_or_default();
    if arguments.len() > PROCEDURE_PARAMETERS_MAX {
        let message = format!("functions cannot have more than {PROCEDURE_PARAMETERS_MAX} arguments");
        return Err(SqlError::new(sqlstate::TOO_MANY_ARGUMENTS, message));
    }
    let FunctionSignature { mut parameters, mut columns, mut defaults, mut modes } = FunctionSignature::default();
    for argument in arguments {
        let known =
            (argument.name.as_ref().map_or_else(String::new, parameter_name), parameter_type(&argument.data_type)?);
        let (mode, goes_in, comes_out) = match argument.mode {
            None | Some(ast::ArgMode::In) => ('i', true, false),
            Some(ast::ArgMode::Out) => ('o', false, true),
            Some(ast::ArgMode::InOut) => ('b', true, true),
            Some(ast::ArgMode::Variadic) => return Err(SqlError::unsupported("a VARIADIC parameter")),
        };
        modes.push(mode);
        match &argument.default_expr {
            Some(_) if !goes_in => return invalid("only input parameters can have default values"),
            Some(default) => defaults.push(default.to_string()),
            None if goes_in && !defaults.is_empty() => {
                return invalid("input parameters after one with a default value must also have defaults");
            }
            None => {}
        }
        if comes_out {
            columns.push(known.clone());
        }
        if goes_in {
            check_name_free(&parameters, &known.0)?;
            parameters.push(known);
        } else {
            check_name_free(&parameters, &known.0)?;
            check_name_free(&columns[..columns.len() - 1], &known.0)?;
        }
    }
    Ok(FunctionSignature { parameters, columns, defaults, modes })
}

fn check_name_free(known: &[(String, Type)], name: &str) -> Result<()> {
    match !name.is_empty() && known.iter().any(|(other, _)| other == name) {
        true => invalid(format!("parameter name \"{name}\" used more than once")),
        false => Ok(()),
    }
}

fn parameter_type(written: &ast::DataType) -> Result<Type> {
    if user_type_name(written).is_some() && data_type(written).is_err() {
        return Err(SqlError::unsupported(format!("a function with type {written}")));
    }
    // A modifier of a parameter's type says nothing.
    Ok(data_type(written)?.unmodified())
}

/// What a function yields, and whether that is a set. `columns`: those of OUT parameters.
fn result(
    written: Option<&ast::FunctionReturnType>,
    columns: Vec<(String, Type)>,
    parameters: &[(String, Type)],
) -> Result<(RoutineResult, bool)> {
    let (of, returns_set) = match written {
        None => (None, false),
        Some(ast::FunctionReturnType::DataType(of)) => (Some(of), false),
        Some(ast::FunctionReturnType::SetOf(of)) => (Some(of), true),
    };
    if let Some(ast::DataType::Table(listed)) = of {
        if !columns.is_empty() {
            return Err(SqlError::new(
                sqlstate::SYNTAX_ERROR,
                "OUT and INOUT arguments aren't allowed in TABLE functions",
            ));
        }
        let mut columns: Vec<(String, Type)> = Vec::new();
        for column in listed.iter().flatten() {
            let name = names::identifier(&column.name);
            check_name_free(parameters, &name)?;
            check_name_free(&columns, &name)?;
            columns.push((name, parameter_type(&column.data_type)?));
        }
        return Ok((RoutineResult::Columns(columns), true));
    }
    let is_record = of.is_some_and(|of| of.to_string().eq_ignore_ascii_case("record"));
    match (of, columns.as_slice()) {
        (None, []) => invalid("function result type must be specified"),
        (Some(of), []) if is_record => {
            Err(SqlError::unsupported(format!("a function that returns {of} without columns")))
        }
        (Some(of), []) if is_trigger(&of.to_string()) => match returns_set || !parameters.is_empty() {
            true => invalid("trigger functions cannot have declared arguments"),
            false => Ok((RoutineResult::Trigger, false)),
        },
        (Some(of), []) if of.to_string().eq_ignore_ascii_case("void") => match returns_set {
            true => Err(SqlError::unsupported("a function that returns a set of void")),
            false => Ok((RoutineResult::Value(Type::Void), false)),
        },
        (Some(of), []) => Ok((RoutineResult::Value(parameter_type(of)?), returns_set)),
        (Some(of), [(_, only)]) if parameter_type(of).ok() != Some(*only) => {
            invalid(format!("function result type must be {} because of OUT parameters", only.base_name()))
        }
        (Some(_), [_, _, ..]) if !is_record => invalid("function result type must be record because of OUT parameters"),
        _ => Ok((RoutineResult::Columns(columns), returns_set)),
    }
}

fn written_body(create: &ast::CreateFunction) -> Option<String> {
    match &create.function_body {
        Some(ast::CreateFunctionBody::AsBeforeOptions { body: ast::Expr::Value(text), link_symbol: None }) => {
            text_of(&text.value).map(str::to_owned)
        }
        Some(ast::CreateFunctionBody::Return(value)) => Some(format!("SELECT {value}")),
        _ => None,
    }
}

/// The body as it was written, and its query with the catalog's names. Errors: 0A000 for one that is more than a query.
fn body(text: String, context: &Context) -> Result<(String, String)> {
    let anywhere = |error: Box<SqlError>| Box::new(SqlError { position: None, ..*error });
    parse::check_names(&text).map_err(anywhere)?;
    let statements = parse::statements(&text).map_err(anywhere)?;
    let [parsed] = statements.as_slice() else {
        return Err(SqlError::unsupported("a function of several statements, or of none"));
    };
    let Statement::Sql(tree) = &parsed.statement else {
        return Err(SqlError::unsupported("a function that controls transactions or the session"));
    };
    if parsed.into.is_some() || parsed.cursor.is_some() {
        return Err(SqlError::unsupported("a function that makes tables or cursors"));
    }
    let lookup = NameLookup::new(context.all, context.facts);
    let lookup = if context.facts.settings.checks_bodies() { lookup } else { lookup.ahead() };
    let query = tree.with(|statement| {
        let known = qualified(statement, &lookup).map_err(anywhere)?;
        let statement = known.as_ref().unwrap_or(statement);
        let ast::Statement::Query(query) = statement else {
            return Err(SqlError::unsupported("a function that changes rows or the schema"));
        };
        if part_builder::is_of_parts(statement) {
            return Err(SqlError::unsupported("a function that changes rows"));
        }
        if !query.locks.is_empty() {
            return Err(SqlError::unsupported("a function that locks rows"));
        }
        if views::names_view(statement, context.all) {
            return Err(SqlError::unsupported("a function that reads a view"));
        }
        Ok(known.map_or_else(|| parsed.text.to_string(), |known| known.to_string()))
    })?;
    if query.len() > FUNCTION_BYTES_MAX {
        return Err(too_long());
    }
    // What a caller needs is read from it.
    let is_query = |parsed: &parse::Parsed| matches!(parsed.statement, Statement::Sql(_));
    match parse::statement(&query).map_err(anywhere)? {
        Some(parsed) if is_query(&parsed) => Ok((text, query)),
        _ => Err(SqlError::unsupported("a function with this query")),
    }
}

/// Errors: 0A000 for a default with a query in it, or with what is found by its schema alone.
fn check_default(default: &str, context: &Context) -> Result<()> {
    let is_query = |expression: &ast::Expr| match expression {
        ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let parsed = parse::statement(&format!("SELECT {default}"))?;
    let Some(Statement::Sql(tree)) = parsed.map(|parsed| parsed.statement) else {
        return Err(SqlError::unsupported("a default of this form"));
    };
    tree.with(|statement| {
        if visit_expressions(statement, is_query).is_break() {
            let message = "cannot use subquery in DEFAULT expression";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        match qualified(statement, &NameLookup::new(context.all, context.facts))? {
            Some(_) => Err(SqlError::unsupported("a default of a parameter that names what is in another schema")),
            None => Ok(()),
        }
    })
}

/// Errors: 0A000 for a name whose calls the parser reads as something else than calls: rights are settled by the calls that it finds.
fn check_callable(name: &str, parameters: usize) -> Result<()> {
    for count in 0..=parameters {
        let arguments = vec!["NULL"; count].join(", ");
        for text in [format!("SELECT {name}({arguments})"), format!("SELECT 1 FROM {name}({arguments})")] {
            // A name that has to be quoted stands in quotes in each call.
            let Ok(Some(parsed)) = parse::statement(&text) else { continue };
            let Statement::Sql(tree) = &parsed.statement else { continue };
            let mut is_found = false;
            let find =
                |called: &ast::ObjectName| is_found |= names::own_relation(called).is_ok_and(|called| called == name);
            tree.with(|statement| each_call(statement, find));
            if !is_found {
                return Err(SqlError::unsupported(format!(
                    "a function that is called \"{name}\", as a construct of SQL is"
                )));
            }
        }
    }
    Ok(())
}

/// `f(integer)`, as messages name a function.
fn described(known: &ProcedureSchema) -> String {
    let types: Vec<&str> = known.parameters.iter().map(|(_, known)| known.base_name()).collect();
    format!("{}({})", known.name, types.join(","))
}

/// Plans CREATE FUNCTION.
pub fn plan(
    new: &NewFunction,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &crate::sql::settings::Facts,
) -> Result<crate::sql::ddl::SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    planner.create_function(new)?;
    Ok(planner.finish())
}

impl Planner<'_> {
    /// CREATE FUNCTION. Errors: 42723 for one that there is, unless it is to be replaced; 42P13 for one that would become another.
    fn create_function(&mut self, new: &NewFunction) -> Result<()> {
        let mut schema = new.schema.clone();
        let name = schema.name.clone();
        self.check_create(&name)?;
        schema.rights = self.new_rights(Kind::Procedure, &name);
        let types: Vec<u32> = schema.parameters.iter().map(|(_, known)| known.oid()).collect();
        schema.oid = match self.catalog.procedures.get(&name).cloned() {
            Some((known, _)) => {
                self.check_replaces(&known, new)?;
                schema.rights = known.rights.clone();
                known.oid
            }
            None => {
                self.check_no_extension_function(&name, &types)?;
                self.next_number()
            }
        };
        self.write(CatalogEntry::procedure_key(&name), Some(CatalogEntry::Procedure(Arc::new(schema))));
        Ok(())
    }

    fn check_replaces(&self, known: &ProcedureSchema, new: &NewFunction) -> Result<()> {
        let (name, schema) = (&known.name, &new.schema);
        let types = |schema: &ProcedureSchema| schema.parameters.iter().map(|(_, of)| *of).collect::<Vec<_>>();
        if types(known) != types(schema) {
            let feature = format!("a second function or procedure that is called \"{name}\"");
            return Err(SqlError::unsupported(feature).with_hint("A name has one function here."));
        }
        let (Some(before), Some(after)) = (&known.function, &schema.function) else {
            let error = SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind");
            return Err(match new.replace {
                true => error.with_detail(format!("\"{name}\" is a procedure.")),
                false => self.exists(name),
            });
        };
        if !new.replace {
            return Err(self.exists(name));
        }
        self.check_owns(&known.rights, "function", name, OwnerReach::Object)?;
        let hint = format!("Use DROP FUNCTION {} first.", described(known));
        let wrong =
            |message: String| SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, message).with_hint(hint.clone());
        let is_same = |one: &FunctionSchema, other: &FunctionSchema| {
            let types = |of: &FunctionSchema| of.columns().into_iter().map(|(_, of)| of).collect::<Vec<_>>();
            types(one) == types(other) && one.returns_set == other.returns_set
        };
        if !is_same(before, after) {
            let error = wrong("cannot change return type of existing function".to_owned());
            let is_row = |of: &FunctionSchema| of.columns().len() > 1;
            return Err(match is_row(before) && is_row(after) {
                true => error.with_detail("Row type defined by OUT parameters is different."),
                false => error,
            });
        }
        for ((old, _), (new, _)) in known.parameters.iter().zip(&schema.parameters) {
            if !old.is_empty() && old != new {
                return Err(wrong(format!("cannot change name of input parameter \"{old}\"")));
            }
        }
        if after.defaults.len() < before.defaults.len() {
            return Err(wrong("cannot remove parameter defaults from existing function".to_owned()));
        }
        Ok(())
    }

    fn exists(&self, name: &str) -> Box<SqlError> {
        let message = format!("function \"{name}\" already exists with same argument types");
        SqlError::new(sqlstate::DUPLICATE_FUNCTION, message)
    }

    /// DROP FUNCTION. Errors: 42883 for one that does not exist, 42809 for a procedure; 2BP01 for one that a view calls, unless CASCADE takes that along.
    pub(super) fn drop_function(
        &mut self,
        described: &ast::FunctionDesc,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let name = names::own_relation(&described.name)?;
        let Some(known) = self.routine_described("function", described, if_exists)? else { return Ok(()) };
        self.check_owns(&known.rights, "function", &name, OwnerReach::Schema)?;
        self.forget_routine(&known, cascade)
    }

    /// Drops a routine with the views and triggers that call it, or refuses to (2BP01).
    pub(super) fn forget_routine(&mut self, known: &ProcedureSchema, cascade: bool) -> Result<()> {
        self.drop_views_calling(known, cascade)?;
        self.drop_triggers_calling(known, cascade)?;
        let what = format!("{} {}", known.word(), described(known));
        self.drop_policies_calling(known, &what, cascade)?;
        self.write(CatalogEntry::procedure_key(&known.name), None);
        Ok(())
    }

    /// Drops the views that call a function, or refuses to.
    pub(super) fn drop_views_calling(&mut self, known: &ProcedureSchema, cascade: bool) -> Result<()> {
        let what = format!("{} {}", known.word(), described(known));
        let dependents = self.views_calling(&known.name)?;
        let line = |view: &TableSchema| format!("{} {} depends on {what}", view.kind().word(), view.name);
        if !cascade && !dependents.is_empty() {
            let lines: Vec<String> = dependents.iter().map(|view| line(view)).collect();
            return Err(SqlError::needed(what, lines.join("\n")));
        }
        let told = dependents.iter().map(|view| format!("drop cascades to {} {}", view.kind().word(), view.name));
        self.tell_cascades(&told.collect::<Vec<_>>());
        for view in dependents {
            match view.kind() {
                _ if !self.catalog.tables.contains_key(&view.name) => {}
                TableSchemaKind::MaterializedView => self.drop_table(&view.name, cascade, &[])?,
                _ => self.drop_view(&view.name, cascade, &[])?,
            }
        }
        Ok(())
    }

    /// The views whose queries call a function, older ones first.
    fn views_calling(&self, name: &str) -> Result<Vec<Arc<TableSchema>>> {
        let tables = self.catalog.tables.values().map(|known| &known.table);
        let mut found = Vec::new();
        for view in tables.filter(|table| table.query().is_some()) {
            if called(&self.view_query(view)?, &self.catalog).contains(name) {
                found.push(view.clone());
            }
        }
        found.sort_by_key(|view| view.oid);
        Ok(found)
    }
}
