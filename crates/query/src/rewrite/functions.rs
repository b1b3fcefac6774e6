//! Calls of functions: names folded to ours, what the session knows put in as literals, what an execution knows as
//! parameters.

use super::build::{arguments_mut, call, last_part, native_cast, null, number, object_name, plain_arguments, text};
use super::{ExecutionParameter, Rewriter, expressions, sources, subqueries, types};
use crate::error::QueryError;
use datafusion::sql::sqlparser::ast::{
    Array, ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    ObjectNamePart, Query, SelectItem, SetExpr, TableFactor, Value, WindowFrameBound, WindowType,
};
use values::Type;

/// The name under which `ARRAY(subquery)` travels from the visit of the call to the visit of its parts and back.
const ARRAY_CONSTRUCTOR: &str = "array";

/// Prepares `ARRAY(subquery)`.
pub(super) fn array_of_subquery(function: &mut Function) {
    if let FunctionArguments::Subquery(query) = &mut function.args
        && last_part(&function.name) == ARRAY_CONSTRUCTOR
    {
        if let Some((name, roles)) = names_of_roles(query) {
            (function.name, function.args) = (object_name(name), super::build::function(name, vec![roles]).args);
            return;
        }
        subqueries::empty_selects(query);
        if !subqueries::make_array(query) {
            // Not in a form that can become an aggregate: the call stays and is refused when it is planned.
            function.name = object_name("array_of_this_subquery");
        }
    }
}

/// The names of the roles in a list, as psql and pg_dump ask for them; quoted or not. `None`: another subquery.
fn names_of_roles(query: &Query) -> Option<(&'static str, Expr)> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [SelectItem::UnnamedExpr(selected)] = select.projection.as_slice() else { return None };
    let [source] = select.from.as_slice() else { return None };
    let TableFactor::Table { name, args: None, .. } = &source.relation else { return None };
    let is_name = |side: &Expr, name: &str| matches!(side, Expr::Identifier(known) if known.value == name);
    let called = match selected {
        Expr::Function(function) if last_part(&function.name) == "quote_ident" => {
            let arguments = plain_arguments(&function.args)?;
            arguments.first().filter(|argument| is_name(argument, "rolname")).map(|_| "quoted_role_names")
        }
        other => is_name(other, "rolname").then_some("role_names"),
    };
    let is_of_roles = source.joins.is_empty() && last_part(name) == "pg_roles" && query.limit_clause.is_none();
    match &select.selection {
        Some(Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. })
            if is_of_roles && is_name(left, "oid") =>
        {
            called.map(|called| (called, (**right).clone()))
        }
        _ => None,
    }
}

/// The subquery of `ARRAY(subquery)`.
pub(super) fn take_array_query(function: &mut Function) -> Option<Box<Query>> {
    if last_part(&function.name) != ARRAY_CONSTRUCTOR {
        return None;
    }
    match std::mem::replace(&mut function.args, FunctionArguments::None) {
        FunctionArguments::Subquery(query) => Some(query),
        other => {
            function.args = other;
            None
        }
    }
}

/// Numbers that are positions or counts stay bare: bounds of window frames and arguments of window functions, digits of
/// `round`.
pub(super) fn untype_positions(function: &mut Function) {
    let name = last_part(&function.name);
    let windowed = function.over.is_some() && matches!(name.as_str(), "lag" | "lead" | "ntile" | "nth_value");
    if windowed {
        arguments_mut(&mut function.args)
            .skip(usize::from(name != "ntile"))
            .take(1)
            .for_each(expressions::untype_number);
    }
    if matches!(name.as_str(), "round" | "trunc") {
        arguments_mut(&mut function.args).skip(1).for_each(expressions::untype_number);
    }
    if let Some(WindowType::WindowSpec(window)) = &mut function.over
        && let Some(frame) = &mut window.window_frame
    {
        let bounds = [Some(&mut frame.start_bound), frame.end_bound.as_mut()];
        for bound in bounds.into_iter().flatten() {
            if let WindowFrameBound::Preceding(Some(count)) | WindowFrameBound::Following(Some(count)) = bound {
                expressions::untype_number(count);
            }
        }
    }
}

impl Rewriter<'_> {
    pub(super) fn rewrite_function(&mut self, mut function: Function) -> Result<Expr, QueryError> {
        let name = checked_name(&function)?;
        if let FunctionArguments::Subquery(_) = function.args {
            return Err(QueryError::unsupported("this form of ARRAY(subquery) is not supported"));
        }
        if !function.within_group.is_empty() && name != "percentile_cont" {
            return Err(QueryError::unsupported(format!("{name} WITHIN GROUP is not supported")));
        }
        if function.over.is_none()
            && let Some(arguments) = plain_arguments(&function.args)
        {
            let arguments: Vec<Expr> = arguments.into_iter().cloned().collect();
            if let Some(replacement) = self.session_function(&name, &arguments)? {
                return Ok(replacement);
            }
        }
        let name = match name.as_str() {
            "every" => "bool_and",
            "variance" => "var_samp",
            "pow" => "power",
            "ceiling" => "ceil",
            "char_length" | "character_length" => "length",
            "substring" => "substr",
            // What else it returns with each element: `part_of_expanded`.
            "_pg_expandarray" => "unnest",
            other => other,
        };
        if matches!(name, "generate_series" | "unnest") && function.over.is_none() {
            return set_returning(name, &function);
        }
        function.name = object_name(name);
        let call = Expr::Function(function);
        Ok(match name {
            "array_ndims" | "array_position" | "ntile" => native_cast(call, DataType::Int4(None)),
            _ => call,
        })
    }

    fn random_call(&mut self, name: &str) -> Expr {
        self.random_calls += 1;
        call(name, vec![self.execution_parameter(ExecutionParameter::Seed), number(self.random_calls)])
    }

    /// The first schema of the search path; NULL: there is none.
    pub(super) fn current_schema(&self) -> Expr {
        let names = self.catalog.path_names(false);
        names.first().map_or_else(|| native_cast(null(), DataType::Text), text)
    }

    /// Functions of the session and of the moment. `None` when the name is not one of them.
    fn session_function(&mut self, name: &str, arguments: &[Expr]) -> Result<Option<Expr>, QueryError> {
        let now_parameter = self.execution_parameter(ExecutionParameter::Now);
        let now = || now_parameter.clone();
        Ok(Some(match (name, arguments) {
            ("now" | "current_timestamp" | "transaction_timestamp" | "statement_timestamp" | "clock_timestamp", []) => {
                now()
            }
            ("current_date", []) => types::cast_value(now(), Type::Date),
            ("localtimestamp", []) => types::cast_value(now(), Type::Timestamp(None)),
            ("localtime", []) => types::cast_value(now(), Type::Time(None)),
            ("current_time", []) => {
                return Err(QueryError::unsupported("CURRENT_TIME in a query of this form"));
            }
            ("current_user" | "user" | "current_role", []) => text(&self.catalog.session().user),
            ("session_user", []) => text(&self.catalog.session().session_user),
            ("current_database" | "current_catalog", []) => text(&self.catalog.session().database),
            ("current_schema", []) => self.current_schema(),
            ("current_schemas", [with_system]) => {
                let with_system = matches!(with_system, Expr::Value(value) if value.value == Value::Boolean(true));
                let names = self.catalog.path_names(with_system);
                let elem = names.iter().map(text).collect::<Vec<_>>();
                let array = Expr::Array(Array { elem, named: true });
                let texts = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::Text), None));
                if names.is_empty() { native_cast(array, texts) } else { array }
            }
            (
                "current_query" | "inet_server_addr" | "inet_client_addr" | "inet_server_port" | "inet_client_port",
                [],
            ) => native_cast(null(), DataType::Text),
            ("version", []) => text(&self.catalog.session().version),
            ("pg_backend_pid", []) => self.execution_parameter(ExecutionParameter::BackendPid),
            ("pg_is_in_recovery" | "pg_is_wal_replay_paused", []) => Expr::Value(Value::Boolean(false).into()),
            ("pg_postmaster_start_time" | "pg_conf_load_time", []) => now(),
            ("random", []) => self.random_call("random_at"),
            ("gen_random_uuid", []) => self.random_call("random_uuid_at"),
            ("uuid_generate_v4", []) if self.catalog.has_extension_function(name) => self.random_call("random_uuid_at"),
            ("current_setting", [name]) | ("current_setting", [name, _]) => {
                let Some(name) = types::string_literal(name) else {
                    return Err(QueryError::unsupported("current_setting needs a quoted name"));
                };
                match self.catalog.setting(name) {
                    Some(value) => text(value),
                    None if arguments.len() == 2 => native_cast(null(), DataType::Text),
                    None => {
                        let message = format!("unrecognized configuration parameter \"{name}\"");
                        return Err(QueryError::new("42704", message));
                    }
                }
            }
            // The session makes those calls that an item of a list of results is.
            ("set_config", _) => return Err(QueryError::unsupported("set_config() within an expression")),
            _ if self.catalog.has_extension_function(name) && !values::extensions::is_hidden(name) => {
                let name = messages::namespace::bare(name);
                return Err(QueryError::unsupported(format!("{name} in this query is not supported")));
            }
            _ => return Ok(None),
        }))
    }
}

/// A function that returns rows, in a select list.
fn set_returning(name: &str, function: &Function) -> Result<Expr, QueryError> {
    let Some(arguments) = plain_arguments(&function.args) else {
        return Err(QueryError::undefined_function(&format!("{name}()")));
    };
    let arguments: Vec<Expr> = arguments.into_iter().cloned().collect();
    Ok(match name {
        "unnest" => call("unnest", arguments),
        _ => {
            let integers = arguments.iter().all(sources::is_integer);
            let unnested = call("unnest", vec![call(name, arguments)]);
            if integers { native_cast(unnested, DataType::Int4(None)) } else { unnested }
        }
    })
}

/// A part of what `information_schema._pg_expandarray` returns, which is a row here as little as any other value: of `(call).n` the number of
/// the element, of `(call).x`, or of a column `keys` that pgjdbc has made so, the element. `None` for anything else.
pub(super) fn part_of_expanded(root: &Expr, part: &str) -> Option<Expr> {
    let Expr::Nested(inside) = root else { return None };
    match (&**inside, part) {
        (Expr::Function(unnest), _) if last_part(&unnest.name) == "unnest" => {
            let array = plain_arguments(&unnest.args)?.first().copied()?.clone();
            Some(match part {
                "x" => call("unnest", vec![array]),
                "n" => call("unnest", vec![sources::numbers_up_to(call("cardinality", vec![array]))]),
                _ => return None,
            })
        }
        (Expr::CompoundIdentifier(parts), "x") if super::build::folded(parts.last()?) == "keys" => Some(root.clone()),
        _ => None,
    }
}

/// The function's name; schemas other than `pg_catalog` have none.
fn checked_name(function: &Function) -> Result<String, QueryError> {
    let name = last_part(&function.name);
    let schema = match function.name.0.len() {
        0 | 1 => return Ok(name),
        2 => function.name.0[0].as_ident().map(super::build::folded),
        _ => None,
    };
    match schema.as_deref() {
        Some("pg_catalog" | "information_schema") => Ok(name),
        _ => Err(QueryError::undefined_function(&format!("{}()", function.name))),
    }
}

/// A call in FROM: the name and its arguments.
pub(super) fn source_call(
    name: &datafusion::sql::sqlparser::ast::ObjectName,
    args: &[FunctionArg],
) -> Option<(String, Vec<Expr>)> {
    let name = name.0.last().and_then(ObjectNamePart::as_ident).map(super::build::folded)?;
    let arguments: Option<Vec<Expr>> = args
        .iter()
        .map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression.clone()),
            _ => None,
        })
        .collect();
    Some((name, arguments?))
}
