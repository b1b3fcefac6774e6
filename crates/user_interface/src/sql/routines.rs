//! Routines in PL/pgSQL: what DO and CALL run, and what a routine asks of the catalog.
//!
//! Invariant: a body is read when its statement is compiled, and its types are looked for when it runs.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::do_syntax::DoStatement;
use crate::sql::given::Context;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::routine_call::RoutineCall;
use crate::sql::type_names::spelled_type;
use messages::namespace;
use messages::schema::{FunctionSchema, ProcedureSchema, RoutineResult};
use plpgsql::program::Returns;
use plpgsql::{PlpgsqlResult, RoutineCatalog, RoutineError, RoutineHeader, RoutineProgram};
use std::borrow::Cow;
use std::sync::Arc;
use values::{Type, Zone};

/// The language that routines are written in here.
pub const LANGUAGE: &str = "plpgsql";

/// DO. Errors: those of its body, at their place in the statement.
pub(super) fn of_do(text: &Arc<str>, block: &DoStatement, context: &Context) -> Result<Prepared> {
    match block.language.as_deref() {
        None | Some(LANGUAGE) => {}
        Some(language @ ("sql" | "c" | "internal")) => {
            let message = format!("language \"{language}\" does not support inline code execution");
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        Some(language) => {
            let message = format!("language \"{language}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        }
    }
    let program = read(&block.body, &RoutineHeader::default(), context.text)?;
    let call = RoutineCall {
        program: Arc::new(program),
        name: "inline_code_block".to_owned(),
        arguments: None,
        outputs: Vec::new(),
    };
    Ok(Prepared::simple(text, Plan::Routine(Arc::new(call)), Tag::Plain("DO")))
}

/// Reads the body of a procedure or function, which stands somewhere in a text.
pub fn program_of(routine: &ProcedureSchema, text: &str) -> Result<RoutineProgram> {
    let name = Some(namespace::bare(&routine.name).to_owned());
    let parameters = routine.all_parameters().into_iter();
    let parameters = parameters.map(|(_, (name, known))| (name.clone(), known.unmodified())).collect();
    let returns = routine.function.as_ref().map_or(Returns::Nothing, returns);
    read(&routine.body, &RoutineHeader { name, parameters, returns }, text)
}

fn returns(function: &FunctionSchema) -> Returns {
    let columns = || function.columns().into_iter().map(|(_, of)| of.unmodified()).collect();
    match &function.result {
        RoutineResult::Value(_) if function.returns_set => Returns::Set { columns: columns(), has_outputs: false },
        RoutineResult::Columns(_) if function.returns_set => Returns::Set { columns: columns(), has_outputs: true },
        RoutineResult::Value(Type::Void) => Returns::Void,
        RoutineResult::Value(of) => Returns::Value(of.unmodified()),
        RoutineResult::Columns(_) => Returns::Outputs,
        RoutineResult::Trigger => Returns::Row,
    }
}

/// A function that a query calls. Errors: those of its body.
pub fn of_function(function: &ProcedureSchema) -> Result<RoutineCall> {
    if function.function.as_ref().is_some_and(|function| matches!(function.result, RoutineResult::Trigger)) {
        let message = "trigger functions can only be called as triggers";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let goes_out = |(_, (mode, _)): &(usize, (char, _))| *mode != 'i';
    let outputs = function.all_parameters().into_iter().enumerate().filter(goes_out);
    Ok(RoutineCall {
        program: Arc::new(program_of(function, "")?),
        name: signature(function),
        arguments: None,
        outputs: outputs.map(|(place, _)| place).collect(),
    })
}

/// `f(integer,text)`, as messages call a routine.
pub fn signature(routine: &ProcedureSchema) -> String {
    let types: Vec<&str> = routine.inputs().map(|(_, known)| known.base_name()).collect();
    format!("{}({})", namespace::bare(&routine.name), types.join(","))
}

/// Checks a procedure or function that is to be made. Errors: those of its syntax and of the types of its variables.
pub(super) fn check(procedure: &ProcedureSchema, context: &Context) -> Result<()> {
    let program = program_of(procedure, context.text)?;
    let names =
        SessionNames { lookup: NameLookup::new(context.all, context.facts), zone: context.facts.settings.zone() };
    program.check_types(&names).map_err(|error| SqlError::from_routine(*error))
}

/// Reads a body, which stands somewhere in a text. Errors: at their place there.
pub(super) fn read(body: &str, header: &RoutineHeader, text: &str) -> Result<RoutineProgram> {
    plpgsql::parse(body, header).map_err(|error| {
        let at = error.at.map(|at| at as usize);
        let place = text.find(body).zip(at).map(|(start, at)| {
            let before = text.get(..start + at).unwrap_or(text);
            before.chars().count() + 1
        });
        SqlError::from_routine(*error).at(place)
    })
}

/// What a routine sees of the catalog and the session.
pub struct SessionNames<'a> {
    /// Names.
    pub lookup: NameLookup<'a>,
    /// The time zone.
    pub zone: &'a Zone,
}

impl RoutineCatalog for SessionNames<'_> {
    fn data_type(&self, written: &str) -> PlpgsqlResult<Type> {
        spelled_type(written, &self.lookup).map_err(|error| error.into_routine(false))
    }

    fn columns(&self, relation: &[String]) -> Option<Vec<(String, Type)>> {
        let text = match relation {
            [name] => name.clone(),
            [schema, name] => names::written(schema, name),
            _ => return None,
        };
        let known = self.lookup.existing(NameKind::Relation, &text).ok()?;
        let table = self.lookup.catalog().tables.get(&known)?;
        let columns = table.table.columns.iter().filter(|column| !column.dropped);
        Some(columns.map(|column| (column.name.clone(), column.column_type)).collect())
    }

    fn zone(&self) -> &Zone {
        self.zone
    }
}

impl SqlError {
    /// What a routine tells, as its client is told.
    pub fn from_routine(error: RoutineError) -> Box<SqlError> {
        Box::new(SqlError {
            sqlstate: error.sqlstate,
            message: error.message,
            detail: error.detail,
            hint: error.hint,
            position: None,
            constraint: error.constraint,
            table: error.table,
            schema: error.schema,
            routine: None,
            context: error.context,
            column: error.column,
            data_type: error.data_type,
        })
    }

    /// An error of a statement, as a routine that runs it is told. `is_final`: nothing of the transaction is left.
    pub fn into_routine(self: Box<Self>, is_final: bool) -> Box<RoutineError> {
        let mut error = RoutineError::new(sqlstate::INTERNAL_ERROR, self.message);
        error.sqlstate = match self.sqlstate {
            Cow::Borrowed(code) => Cow::Borrowed(code),
            Cow::Owned(code) => Cow::Owned(code),
        };
        error.detail = self.detail;
        error.hint = self.hint;
        error.context = self.context;
        error.constraint = self.constraint;
        error.column = self.column;
        error.data_type = self.data_type;
        // PostgreSQL names the schema of a table whatever it is.
        error.schema = self.schema.or_else(|| self.table.as_ref().map(|_| namespace::PUBLIC.to_owned()));
        error.table = self.table;
        error.is_final = is_final;
        error
    }
}
