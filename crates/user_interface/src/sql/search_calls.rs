//! Calls of full text search in programs: those that name their configuration, so that they depend on their arguments alone.
//!
//! Invariant: a configuration is a constant of a program, the name of one that there is.

use crate::errors::SqlError;
use crate::sql::names;
use crate::sql::types::{Compiled, Stop, Typed, beyond};
use crate::sql::visits::visit_expressions;
use sqlparser::ast::{self, Expr};
use std::ops::ControlFlow;
use text_search::{SearchConfiguration, TextSearchError};
use values::Value;

/// Whether a function's first argument may be a configuration: without it, it uses that of the session.
fn takes_configuration(name: &str) -> bool {
    matches!(name, "to_tsvector" | "to_tsquery" | "plainto_tsquery" | "phraseto_tsquery" | "websearch_to_tsquery")
}

/// An argument of a call of so many that is of a type of its own, as the text that stands for it; `None` for any other argument.
pub(super) fn argument(name: &str, place: usize, count: usize, argument: &Expr) -> Option<Compiled<Typed>> {
    match (name, place, count) {
        (name, 0, 2) if takes_configuration(name) => Some(configuration(argument)),
        ("setweight", 1, 2) => {
            let weight = literal(argument, "char").map(|weight| Typed::constant(Value::text(weight)));
            Some(weight.ok_or_else(|| beyond("a weight that is computed")))
        }
        _ => None,
    }
}

fn configuration(argument: &Expr) -> Compiled<Typed> {
    let Some(name) = literal(argument, "regconfig") else {
        return Err(beyond("a configuration of full text search that is computed"));
    };
    // The query processor says where a wrong one stands.
    let wrong = |error: TextSearchError| Stop::Beyond(SqlError::new(error.sqlstate, error.message));
    Ok(Typed::constant(Value::text(SearchConfiguration::named(name).map_err(wrong)?.name())))
}

/// The text of a literal, be it cast to a type.
fn literal<'e>(expression: &'e Expr, type_name: &str) -> Option<&'e str> {
    match expression {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => literal(inner, type_name),
        Expr::Cast { expr, data_type: ast::DataType::Custom(name, modifiers), .. } if modifiers.is_empty() => {
            let is_its = names::function(name).is_some_and(|name| name == type_name);
            if is_its { literal(expr, type_name) } else { None }
        }
        _ => None,
    }
}

/// Whether an expression depends on the session's configuration.
pub(super) fn use_setting(expression: &Expr) -> bool {
    let found = visit_expressions(expression, |part| match part {
        Expr::Function(function) => {
            let takes = names::function(&function.name).is_some_and(|name| takes_configuration(&name));
            match &function.args {
                ast::FunctionArguments::List(list) if takes && list.args.len() == 1 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
