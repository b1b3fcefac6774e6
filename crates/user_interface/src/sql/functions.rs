//! Calls: functions of `values`, constructs that are functions in other clothes, and facts of the session.
//!
//! Invariant: a call that comes out names a function that `values` has for these argument types; what it does not have, aggregates
//! and window functions among it, is beyond a program.

use crate::errors::{SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::extension_functions::CalledName;
use crate::sql::gathering::locks_rows;
use crate::sql::names;
use crate::sql::search_calls;
use crate::sql::types::{Compiled, Stop, Typed, beyond};
use messages::program::{BinaryOperator, Expression};
use sqlparser::ast::{self, Expr};
use std::sync::Arc;
use values::cast::Context;
use values::{Type, Value, extensions, functions};

/// What an untyped argument may become, in the order tried.
const UNKNOWN_AS: [Type; 6] =
    [Type::Text, Type::Integer, Type::Numeric(None), Type::Double, Type::Timestamp(None), Type::Interval(None)];

impl Compiler<'_> {
    /// Calls and what compiles to calls; anything else is beyond a program.
    pub(super) fn call_like(&mut self, expression: &Expr, scope: &Scope) -> Compiled<Typed> {
        match expression {
            Expr::Function(function) => self.function(function, scope),
            Expr::Extract { field, expr, .. } => {
                let field = Typed::constant(Value::text(field.to_string().to_ascii_lowercase()));
                let operand = self.expression(expr, scope)?;
                self.call("extract", vec![field, operand])
            }
            Expr::Ceil { expr, field } if no_field(field) => self.call_of("ceil", &[expr], scope),
            Expr::Floor { expr, field } if no_field(field) => self.call_of("floor", &[expr], scope),
            Expr::Position { expr, r#in } => self.call_of("strpos", &[r#in, expr], scope),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let mut arguments = vec![self.expression(expr, scope)?];
                match (substring_from, substring_for) {
                    (Some(from), length) => {
                        arguments.push(self.expression(from, scope)?);
                        if let Some(length) = length {
                            arguments.push(self.expression(length, scope)?);
                        }
                    }
                    (None, Some(length)) => {
                        arguments.push(Typed::constant(Value::Integer(1)));
                        arguments.push(self.expression(length, scope)?);
                    }
                    (None, None) => return Err(SqlError::syntax("substring").into()),
                }
                self.call("substring", arguments)
            }
            Expr::Trim { expr, trim_where, trim_what, trim_characters } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "btrim",
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                };
                let mut arguments = vec![self.expression(expr, scope)?];
                let characters = trim_what.as_deref().into_iter().chain(trim_characters.iter().flatten());
                for character in characters {
                    arguments.push(self.expression(character, scope)?);
                }
                self.call(name, arguments)
            }
            Expr::Subquery(query) if self.gathers_all || locks_rows(query) => self.gathered_value(query, scope),
            Expr::InSubquery { expr, subquery, negated: false } if self.gathers_all || locks_rows(subquery) => {
                let array = self.gathered_array(subquery, scope)?;
                self.any_of_typed(expr, BinaryOperator::Equal, array, false, scope)
            }
            Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => Err(beyond("a subquery")),
            _ => Err(beyond("this form of expression")),
        }
    }

    fn call_of(&mut self, name: &str, arguments: &[&Expr], scope: &Scope) -> Compiled<Typed> {
        let arguments =
            arguments.iter().map(|argument| self.expression(argument, scope)).collect::<Compiled<Vec<_>>>()?;
        self.call(name, arguments)
    }

    fn function(&mut self, function: &ast::Function, scope: &Scope) -> Compiled<Typed> {
        let Some(name) = names::function(&function.name) else {
            return Err(beyond("a function in this schema"));
        };
        let plain = function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && function.null_treatment.is_none();
        let list: &[ast::FunctionArg] = match &function.args {
            ast::FunctionArguments::None => &[],
            ast::FunctionArguments::List(list) if list.clauses.is_empty() && list.duplicate_treatment.is_none() => {
                &list.args
            }
            _ => return Err(beyond("this form of call")),
        };
        if !plain || is_aggregate(&name) {
            return Err(beyond("an aggregate or window function"));
        }
        if name == "normalize" {
            return Err(beyond("the form of a normalization, which is a word of the grammar"));
        }
        if self.catalog.procedures.get(&name).is_some_and(|(known, _)| known.function.is_some()) {
            return Err(beyond("a function of a user, whatever else has its name"));
        }
        let (name, is_missing) = match self.called(&name) {
            CalledName::BuiltIn => (name, false),
            // Nothing of an extension is in the system's schema.
            CalledName::OfExtension(bare) => (bare, function.name.0.len() > 1),
            CalledName::Missing => (name, true),
        };
        if let Some(typed) = self.of_sequence(&name, function)? {
            return Ok(typed);
        }
        let mut arguments = Vec::with_capacity(list.len());
        for (place, argument) in list.iter().enumerate() {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => {
                    arguments.push(match search_calls::argument(&name, place, list.len(), argument) {
                        Some(typed) => typed?,
                        None => self.expression(argument, scope)?,
                    });
                }
                _ => return Err(beyond("this form of argument")),
            }
        }
        if is_missing {
            return Err(Stop::Beyond(no_function(&name, &arguments)));
        }
        match (name.as_str(), arguments.len()) {
            ("coalesce", 1..) => {
                let (all, target) = self.unify(arguments, "COALESCE")?;
                Ok(Typed::known(Expression::Coalesce(all), target))
            }
            ("nullif", 2) => self.null_if(arguments),
            (_, 0) => match self.time(&name).or_else(|| self.fact(&name)) {
                Some(value) => Ok(value),
                None => self.call(&name, arguments),
            },
            ("current_setting", 1 | 2) => self.current_setting(arguments),
            _ => self.call(&name, arguments),
        }
    }

    /// A function of `values`. Errors: 42883, unless the query processor knows it.
    fn call(&mut self, name: &str, arguments: Vec<Typed>) -> Compiled<Typed> {
        let has_numeric = arguments.iter().any(|typed| matches!(typed.data_type, Some(Type::Numeric(_))));
        if matches!(name, "power" | "pow") && has_numeric {
            return Err(beyond("a power of numeric"));
        }
        let unknown = arguments.iter().filter(|typed| typed.data_type.is_none()).count() as u32;
        // Every way to type the untyped arguments, the first of them changing fastest; bounded by leaving all but three text.
        let ways = UNKNOWN_AS.len().pow(unknown.min(3));
        for way in 0..ways {
            let mut rest = way;
            let types: Vec<Type> = arguments
                .iter()
                .map(|typed| {
                    typed.data_type.unwrap_or_else(|| {
                        let chosen = UNKNOWN_AS[rest % UNKNOWN_AS.len()];
                        rest /= UNKNOWN_AS.len();
                        chosen
                    })
                })
                .collect();
            if let Some(function) = functions::lookup(name, &types) {
                let arguments = arguments
                    .into_iter()
                    .zip(types)
                    .map(|(typed, data_type)| match typed.data_type {
                        Some(_) => Ok(typed.expression),
                        None => self.parameters.coerce(typed, data_type, Context::Implicit),
                    })
                    .collect::<crate::errors::Result<Vec<_>>>()?;
                return Ok(Typed::known(Expression::Call(Arc::from(function.name), arguments), function.result));
            }
        }
        // Those that are not here the query processor has.
        let is_users = self.catalog.procedures.get(name).is_some_and(|(known, _)| known.function.is_some());
        let is_elsewhere = |of: Type| of.is_address() || of.is_range() || of.is_of_queries() || of.is_text_search();
        let has_elsewhere = arguments.iter().filter_map(|typed| typed.data_type).any(is_elsewhere);
        let makes_ranges = name.parse::<Type>().is_ok_and(|known| known.is_range());
        if is_users || has_elsewhere || makes_ranges || extensions::provider(name).is_some() {
            return Err(beyond(&format!("the function {name} here")));
        }
        Err(Stop::Beyond(no_function(name, &arguments)))
    }

    /// NULLIF: an untyped argument takes the other's type.
    fn null_if(&mut self, arguments: Vec<Typed>) -> Compiled<Typed> {
        let target = arguments.iter().find_map(|typed| typed.data_type).unwrap_or(Type::Text).unmodified();
        if target == Type::Cidr {
            return Err(beyond("NULLIF of cidr, which is of inet"));
        }
        let typed = arguments
            .into_iter()
            .map(|typed| match typed.data_type {
                Some(_) => Ok(typed),
                None => Ok(Typed::known(self.parameters.coerce(typed, target, Context::Implicit)?, target)),
            })
            .collect::<crate::errors::Result<Vec<_>>>()?;
        self.call("nullif", typed)
    }

    /// The transaction's time under its names.
    fn time(&mut self, name: &str) -> Option<Typed> {
        let target = match name {
            "now" | "current_timestamp" | "transaction_timestamp" => {
                return Some(Typed::known(Expression::TransactionTime, Type::TimestampTz(None)));
            }
            "localtimestamp" => Type::Timestamp(None),
            "current_date" => Type::Date,
            "localtime" => Type::Time(None),
            "current_time" => Type::TimeTz(None),
            _ => return None,
        };
        let cast = Expression::Cast(Box::new(Expression::TransactionTime), target, true);
        Some(Typed::known(cast, target))
    }

    /// What is special about the session, under its names in SQL.
    pub(super) fn fact(&mut self, name: &str) -> Option<Typed> {
        let value = match name {
            "current_user" | "user" | "current_role" => Value::text(self.facts.user),
            "session_user" => Value::text(self.facts.session_user),
            "current_database" | "current_catalog" => Value::text(self.facts.database),
            "current_schema" => {
                let schema = self.facts.path.first().and_then(|oid| self.catalog.namespace_numbered(*oid));
                schema.map_or(Value::Null, |schema| Value::text(schema.name.as_str()))
            }
            "version" => Value::text(self.facts.version),
            "pg_backend_pid" => Value::Integer(self.facts.process),
            "pg_is_in_recovery" => Value::Boolean(false),
            _ => return None,
        };
        self.used_facts = true;
        Some(Typed::constant(value))
    }

    fn current_setting(&mut self, arguments: Vec<Typed>) -> Compiled<Typed> {
        let Some(Expression::Constant(Value::Text(name))) = arguments.first().map(|typed| &typed.expression) else {
            return Err(beyond("current_setting of a computed name"));
        };
        self.used_facts = true;
        let missing_ok =
            matches!(arguments.get(1).map(|typed| &typed.expression), Some(Expression::Constant(Value::Boolean(true))));
        match self.facts.settings.show(name, self.facts) {
            Ok(value) => Ok(Typed::constant(Value::text(value))),
            Err(_) if missing_ok => Ok(Typed::known(Expression::Constant(Value::Null), Type::Text)),
            Err(error) => Err(error.into()),
        }
    }
}

/// 42883.
fn no_function(name: &str, arguments: &[Typed]) -> Box<SqlError> {
    let types: Vec<&str> = arguments.iter().map(Typed::type_name).collect();
    SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

fn no_field(field: &ast::CeilFloorKind) -> bool {
    matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime))
}

/// Aggregates that share their name with no scalar function.
pub(super) fn is_aggregate(name: &str) -> bool {
    const AGGREGATES: [&str; 37] = [
        "array_agg",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bool_and",
        "bool_or",
        "corr",
        "count",
        "covar_pop",
        "covar_samp",
        "every",
        "json_agg",
        "json_object_agg",
        "jsonb_agg",
        "jsonb_object_agg",
        "max",
        "min",
        "mode",
        "percentile_cont",
        "percentile_disc",
        "range_agg",
        "range_intersect_agg",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "stddev",
        "string_agg",
        "sum",
        "variance",
        "xmlagg",
    ];
    AGGREGATES.contains(&name) || ["stddev_pop", "stddev_samp", "var_pop", "var_samp"].contains(&name)
}

/// Functions of PostgreSQL's that yield sets.
pub(super) fn is_set_returning(name: &str) -> bool {
    const SETS: [&str; 23] = [
        "generate_series",
        "generate_subscripts",
        "json_array_elements",
        "json_array_elements_text",
        "json_each",
        "json_each_text",
        "json_object_keys",
        "json_populate_recordset",
        "json_to_recordset",
        "jsonb_array_elements",
        "jsonb_array_elements_text",
        "jsonb_each",
        "jsonb_each_text",
        "jsonb_object_keys",
        "jsonb_path_query",
        "jsonb_path_query_tz",
        "jsonb_populate_recordset",
        "jsonb_to_recordset",
        "regexp_matches",
        "regexp_split_to_table",
        "string_to_table",
        "txid_snapshot_xip",
        "unnest",
    ];
    SETS.contains(&name)
}
