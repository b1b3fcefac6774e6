//! Procedures: CREATE PROCEDURE, DROP PROCEDURE, CALL, and the statements of a body as one program.
//!
//! A call is one request to the action driver and, outside a block, one transaction, during which no lock waits for the client.
//! Invariant: what a program cannot express is refused when the procedure is made; a call relies on the procedure's catalog row and on those of
//! all tables that its body mentions.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::PROCEDURE_PARAMETERS_MAX;
use crate::sql::ddl::Planner;
use crate::sql::denials::OwnerReach;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::given::Context;
use crate::sql::insert::Insertion;
use crate::sql::literals::text_of;
use crate::sql::lookup::NameLookup;
use crate::sql::modify::Modification;
use crate::sql::names;
use crate::sql::parse::{self, Statement};
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::qualify::qualified;
use crate::sql::routine_call::RoutineCall;
use crate::sql::routines;
use crate::sql::types::{Stop, Typed, data_type, user_type_name};
use messages::database::DatabaseId;
use messages::privilege::Rights;
use messages::program::{Action, Expression, Program, ResultColumn};
use messages::schema::{CatalogEntry, ProcedureSchema};
use messages::{Key, Timestamp};
use privileges::Kind;
use sqlparser::ast;
use std::sync::Arc;
use values::Type;
use values::cast;

/// A procedure as CREATE PROCEDURE defines it; its number is not given out yet. Errors: 0A000 for what is not kept, naming it; 42P13 for what
/// no procedure can have.
pub fn definition(create: &ast::CreateFunction) -> Result<ProcedureSchema> {
    let invalid = |message: &str| Err(SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, message));
    if create.return_type.is_some() {
        return invalid("a procedure returns nothing");
    }
    if create.behavior.is_some() || create.called_on_null.is_some() || create.parallel.is_some() {
        return invalid("invalid attribute in procedure definition");
    }
    if create.security.is_some() || !create.set_params.is_empty() {
        return Err(SqlError::unsupported("a procedure with SECURITY or SET"));
    }
    let is_plpgsql = match &create.language {
        Some(language) if language.value.eq_ignore_ascii_case("sql") => false,
        Some(language) if language.value.eq_ignore_ascii_case(routines::LANGUAGE) => true,
        Some(language) => return Err(SqlError::unsupported(format!("LANGUAGE {language}"))),
        None => return invalid("no language specified"),
    };
    let body = match &create.function_body {
        Some(ast::CreateFunctionBody::AsBeforeOptions { body: ast::Expr::Value(text), link_symbol: None }) => {
            text_of(&text.value)
        }
        _ => None,
    };
    let Some(body) = body else {
        return invalid("no procedure body specified");
    };
    let arguments = create.args.as_deref().unwrap_or_default();
    if arguments.len() > PROCEDURE_PARAMETERS_MAX {
        let message = format!("procedures cannot have more than {PROCEDURE_PARAMETERS_MAX} arguments");
        return Err(SqlError::new(sqlstate::TOO_MANY_ARGUMENTS, message));
    }
    let parameters: Vec<(String, Type)> =
        arguments.iter().map(|argument| parameter(argument, is_plpgsql)).collect::<Result<_>>()?;
    let mut modes: String = arguments.iter().map(mode).collect();
    if modes.chars().all(|mode| mode == 'i') {
        modes.clear();
    }
    for (position, (name, _)) in parameters.iter().enumerate() {
        if !name.is_empty() && parameters[..position].iter().any(|(other, _)| other == name) {
            return invalid(&format!("parameter name \"{name}\" used more than once"));
        }
    }
    Ok(ProcedureSchema {
        name: names::own_relation(&create.name)?,
        oid: 0,
        parameters,
        body: body.to_owned(),
        rights: Rights::default(),
        function: None,
        plpgsql: is_plpgsql.then_some(modes),
    })
}

/// A parameter's name, which the parser hands over as it was written, quotes included.
pub(super) fn parameter_name(name: &ast::Ident) -> String {
    match name.value.strip_prefix('"') {
        Some(quoted) => names::fold(&quoted.trim_end_matches('"').replace("\"\"", "\""), true),
        None => names::fold(&name.value, false),
    }
}

/// Which way a parameter goes, as `pg_proc` says it.
fn mode(argument: &ast::OperateFunctionArg) -> char {
    match argument.mode {
        Some(ast::ArgMode::Out) => 'o',
        Some(ast::ArgMode::InOut) => 'b',
        Some(ast::ArgMode::Variadic) => 'v',
        None | Some(ast::ArgMode::In) => 'i',
    }
}

fn parameter(argument: &ast::OperateFunctionArg, is_plpgsql: bool) -> Result<(String, Type)> {
    let goes = mode(argument);
    if goes == 'v' || (goes != 'i' && !is_plpgsql) {
        return Err(SqlError::unsupported("an OUT, INOUT or VARIADIC parameter"));
    }
    if argument.default_expr.is_some() {
        return Err(SqlError::unsupported("a parameter with a default"));
    }
    let name = argument.name.as_ref().map_or_else(String::new, parameter_name);
    if user_type_name(&argument.data_type).is_some() && data_type(&argument.data_type).is_err() {
        return Err(SqlError::unsupported(format!("a parameter of type {}", argument.data_type)));
    }
    Ok((name, data_type(&argument.data_type)?))
}

/// What a body compiles to.
pub struct Body {
    actions: Vec<Action>,
    relies_on: Vec<(Key, Timestamp)>,
    read_only: bool,
    /// A fact of the session is part of it.
    used_facts: bool,
}

/// The statements of a procedure as actions. Errors: those of its statements, without a place; 0A000 for one that no program can do.
pub fn body(procedure: &ProcedureSchema, context: &Context) -> Result<Body> {
    let mut body = Body { actions: Vec::new(), relies_on: Vec::new(), read_only: true, used_facts: false };
    let lookup = NameLookup::new(context.all, context.facts);
    for parsed in parse::statements(&procedure.body)? {
        let Statement::Sql(statement) = &parsed.statement else {
            return Err(SqlError::unsupported("a procedure that controls transactions or the session"));
        };
        if parsed.into.is_some() || parsed.cursor.is_some() || parsed.overriding.is_some() {
            return Err(SqlError::unsupported("a procedure that makes tables or cursors, or overrides identities"));
        }
        let mut compiler = Compiler::of_procedure(context, procedure);
        let compiled = statement.with(|statement| {
            let known = qualified(statement, &lookup)?;
            data_statement(&mut compiler, known.as_ref().unwrap_or(statement), context)
        });
        let mut program = compiled.map_err(|mut error| {
            error.position = None;
            let error = Box::new(*error);
            match error.detail {
                None => error.with_detail(format!("SQL procedure \"{}\".", procedure.name)),
                Some(_) => error,
            }
        })?;
        compiler.rely(&mut program);
        body.used_facts |= compiler.used_facts;
        body.read_only &= program.read_only;
        for relied in program.relies_on.iter() {
            if !body.relies_on.contains(relied) {
                body.relies_on.push(relied.clone());
            }
        }
        body.actions.extend(program.actions.into_iter().map(silent));
    }
    // Names in a body mean what they mean to the caller.
    let is_own = |(key, _): &(Key, Timestamp)| context.own.contains(key);
    let resolved = lookup.relied().into_iter().filter(|row| !is_own(row) && !body.relies_on.contains(row));
    body.relies_on.extend(resolved.collect::<Vec<_>>());
    Ok(body)
}

fn data_statement(compiler: &mut Compiler, statement: &ast::Statement, context: &Context) -> Result<Program> {
    let fed = || {
        Stop::Beyond(SqlError::unsupported("a procedure with INSERT ... SELECT, UPDATE ... FROM or DELETE ... USING"))
    };
    let compiled = match statement {
        ast::Statement::Query(query) => compiler.select(query),
        ast::Statement::Insert(insert) => match compiler.insert(insert, context.made, None) {
            Ok(Insertion::Program(program)) => Ok(program),
            Ok(Insertion::Feed(_)) => Err(fed()),
            Err(stop) => Err(stop),
        },
        ast::Statement::Update(update) => match compiler.update(update, None) {
            Ok(Modification::Program(program)) => Ok(program),
            Ok(Modification::Feed(_)) => Err(fed()),
            Err(stop) => Err(stop),
        },
        ast::Statement::Delete(delete) => match compiler.delete(delete, None) {
            Ok(Modification::Program(program)) => Ok(program),
            Ok(Modification::Feed(_)) => Err(fed()),
            Err(stop) => Err(stop),
        },
        ast::Statement::Call(_) => return Err(SqlError::unsupported("a procedure that calls another")),
        _ => return Err(SqlError::unsupported("a procedure that changes the schema")),
    };
    compiled.map_err(Stop::into_error)
}

/// What a statement of a body returns, nobody gets.
fn silent(mut action: Action) -> Action {
    match &mut action {
        Action::Select { output, .. } => output.clear(),
        Action::Insert { returning, .. } | Action::Update { returning, .. } | Action::Delete { returning, .. } => {
            returning.clear();
        }
        _ => {}
    }
    action
}

/// The procedure that CALL means, its catalog row's version, and its arguments. Errors: 42883 when there is no such procedure for such arguments.
fn called(
    compiler: &mut Compiler,
    function: &ast::Function,
    context: &Context,
) -> Result<(Arc<ProcedureSchema>, Timestamp, Vec<Expression>)> {
    let name = names::own_relation(&function.name)?;
    let arguments: Vec<Typed> = arguments(compiler, function)?;
    let missing = || {
        let types: Vec<&str> = arguments.iter().map(|typed| typed.type_name()).collect();
        let message = format!("procedure {name}({}) does not exist", types.join(", "));
        SqlError::new(sqlstate::UNDEFINED_FUNCTION, message).with_hint(
            "No procedure matches the given name and argument types. You might need to add explicit type casts.",
        )
    };
    let (procedure, version) = context.catalog.procedures.get(&name).ok_or_else(missing)?;
    if procedure.function.is_some() {
        let types: Vec<&str> = procedure.parameters.iter().map(|(_, known)| known.base_name()).collect();
        let message = format!("{name}({}) is not a procedure", types.join(", "));
        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_hint("To call a function, use SELECT."));
    }
    if procedure.parameters.len() != arguments.len() {
        return Err(missing());
    }
    let typed = arguments.iter().zip(&procedure.parameters);
    let bound = typed.map(|(argument, (_, data_type))| {
        let bound = compiler.parameters.coerce(argument.clone(), *data_type, cast::Context::Implicit);
        // A literal that cannot be read says so; what has another type is another procedure's.
        bound.map_err(|error| if error.sqlstate == sqlstate::DATATYPE_MISMATCH { missing() } else { error })
    });
    let bound = bound.collect::<Result<Vec<_>>>()?;
    Ok((procedure.clone(), *version, bound))
}

/// What a call relies on beside its body.
fn relied(procedure: &ProcedureSchema, version: Timestamp) -> Option<(Key, Timestamp)> {
    (version != Timestamp::ZERO).then(|| (CatalogEntry::procedure_key(&procedure.name), version))
}

/// CALL of a procedure in PL/pgSQL; `None`: it is in another language. `compiler`: of the statement.
pub fn call_routine(
    compiler: &mut Compiler,
    function: &ast::Function,
    text: &Arc<str>,
    context: &Context,
) -> Result<Option<Prepared>> {
    let name = names::own_relation(&function.name)?;
    if context.catalog.procedures.get(&name).is_none_or(|(known, _)| known.plpgsql.is_none()) {
        return Ok(None);
    }
    let (procedure, version, _) = called(compiler, function, context)?;
    let program = routines::program_of(&procedure, "")?;
    let ast::FunctionArguments::List(list) = &function.args else {
        return Err(SqlError::unsupported("a call without parentheses"));
    };
    // The catalog's own types are written so that no schema of the user's comes before them.
    // What only goes out begins as NULL, whatever the call has in its place.
    let values = list.args.iter().zip(procedure.all_parameters());
    let values: Vec<String> = values
        .map(|(value, (mode, (_, known)))| match mode {
            'o' => format!("CAST(NULL AS {})", known.unmodified()),
            _ => format!("CAST({value} AS {})", known.unmodified()),
        })
        .collect();
    let outputs = procedure.outputs();
    let columns = outputs.iter().map(|place| {
        let (name, column_type) = &procedure.parameters[*place];
        let name = if name.is_empty() { format!("column{}", place + 1) } else { name.clone() };
        ResultColumn { name, column_type: column_type.unmodified(), origin: (0, 0) }
    });
    let columns = columns.collect();
    let call = RoutineCall {
        program: Arc::new(program),
        name: routines::signature(&procedure),
        arguments: (!values.is_empty()).then(|| Arc::from(format!("SELECT {}", values.join(", ")))),
        outputs,
    };
    let mut prepared = Prepared::simple(text, Plan::Routine(Arc::new(call)), Tag::Plain("CALL"));
    prepared.columns = columns;
    prepared.parameters = compiler.take_parameters()?;
    prepared.mentions = relied(&procedure, version).into_iter().collect();
    prepared.shareable = false;
    Ok(Some(prepared))
}

/// CALL of a procedure in SQL. `compiler`: of the statement. Errors: 42883 when there is no such procedure for such arguments.
pub fn call(compiler: &mut Compiler, function: &ast::Function, context: &Context) -> Result<Program> {
    let (procedure, version, bound) = called(compiler, function, context)?;
    let body = body(&procedure, context)?;
    compiler.used_facts |= body.used_facts;
    let mut actions = vec![Action::Bind { arguments: bound }];
    actions.extend(body.actions);
    let mut relies_on = body.relies_on;
    relies_on.extend(relied(&procedure, version));
    let mut program = Program {
        parameters: compiler.take_parameters()?,
        actions,
        columns: Vec::new(),
        relies_on: relies_on.into(),
        read_only: body.read_only,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    };
    compiler.rely(&mut program);
    Ok(program)
}

fn arguments(compiler: &mut Compiler, function: &ast::Function) -> Result<Vec<Typed>> {
    let list = match &function.args {
        ast::FunctionArguments::List(list) => list.args.as_slice(),
        ast::FunctionArguments::None => &[],
        ast::FunctionArguments::Subquery(_) => return Err(SqlError::unsupported("a query as an argument")),
    };
    let argument = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression)) => {
            compiler.drawing(|compiler| compiler.expression(expression, &Scope::empty())).map_err(Stop::into_error)
        }
        _ => Err(SqlError::unsupported("a named argument")),
    };
    list.iter().map(argument).collect()
}

impl Planner<'_> {
    /// CREATE PROCEDURE; its body has been compiled. Errors: 42723 for a name that is taken, unless it is to be replaced.
    pub(super) fn create_procedure(&mut self, create: &ast::CreateFunction) -> Result<()> {
        let mut procedure = definition(create)?;
        let name = procedure.name.clone();
        self.check_create(&name)?;
        procedure.rights = self.new_rights(Kind::Procedure, &name);
        procedure.oid = match self.catalog.procedures.get(&name) {
            Some((known, _)) if create.or_replace && known.function.is_some() => {
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind")
                    .with_detail(format!("\"{name}\" is a function.")));
            }
            Some((known, _)) if create.or_replace => {
                self.check_owns(&known.rights, "function", &name, OwnerReach::Object)?;
                procedure.rights = known.rights.clone();
                known.oid
            }
            Some(_) => {
                let message = format!("procedure \"{name}\" already exists with other or the same argument types");
                return Err(SqlError::new(sqlstate::DUPLICATE_FUNCTION, message)
                    .with_hint("Use CREATE OR REPLACE PROCEDURE; a name has one procedure here."));
            }
            None => {
                let types: Vec<u32> = procedure.parameters.iter().map(|(_, known)| known.oid()).collect();
                self.check_no_extension_function(&name, &types)?;
                self.next_number()
            }
        };
        self.write(CatalogEntry::procedure_key(&name), Some(CatalogEntry::Procedure(Arc::new(procedure))));
        Ok(())
    }

    /// DROP PROCEDURE. Errors: 42883 for one that does not exist, 42809 for a function.
    pub(super) fn drop_procedure(&mut self, described: &ast::FunctionDesc, if_exists: bool) -> Result<()> {
        let name = names::own_relation(&described.name)?;
        if let Some(procedure) = self.routine_described("procedure", described, if_exists)? {
            self.check_owns(&procedure.rights, "procedure", &name, OwnerReach::Schema)?;
            self.write(CatalogEntry::procedure_key(&name), None);
        }
        Ok(())
    }

    /// The function or procedure that is to be dropped; `None`: it need not be there, and is not.
    pub(super) fn routine_described(
        &mut self,
        word: &str,
        described: &ast::FunctionDesc,
        if_exists: bool,
    ) -> Result<Option<Arc<ProcedureSchema>>> {
        let name = names::own_relation(&described.name)?;
        let wanted: Option<Vec<Type>> = match &described.args {
            Some(arguments) => {
                let goes_in = |one: &&ast::OperateFunctionArg| !matches!(one.mode, Some(ast::ArgMode::Out));
                Some(arguments.iter().filter(goes_in).map(|one| data_type(&one.data_type)).collect::<Result<_>>()?)
            }
            None => None,
        };
        let found = self.catalog.procedures.get(&name).map(|(known, _)| known.clone()).filter(|known| {
            let types = known.inputs().map(|(_, data_type)| data_type.unmodified());
            wanted.as_ref().is_none_or(|wanted| wanted.iter().map(|wanted| wanted.unmodified()).eq(types))
        });
        let error = match (found, wanted) {
            (Some(found), _) if found.word() == word => return Ok(Some(found)),
            (Some(found), _) => {
                let types: Vec<&str> = found.parameters.iter().map(|(_, known)| known.base_name()).collect();
                let message = format!("{name}({}) is not a {word}", types.join(","));
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            (None, Some(wanted)) => {
                let types: Vec<&str> = wanted.iter().map(|data_type| data_type.base_name()).collect();
                format!("{word} {name}({}) does not exist", types.join(if if_exists { "," } else { ", " }))
            }
            (None, None) => match if_exists {
                true => format!("{word} {name}() does not exist"),
                false => format!("could not find a {word} named \"{name}\""),
            },
        };
        match if_exists {
            true => {
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{error}, skipping"));
                Ok(None)
            }
            false => Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, error)),
        }
    }
}
