//! Relations named by a text in the argument of a function: `nextval('sales.item_id_seq')`.
//!
//! Invariant: the text is found wherever it stands, in parentheses or cast to regclass.

use sqlparser::ast::{self, Expr};

/// The sequence that an argument of `nextval` names: a text, or one cast to regclass. `None`: it is computed.
pub(super) fn named(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Value(value) => crate::sql::literals::text_of(&value.value),
        Expr::Nested(inner) => named(inner),
        Expr::Cast { expr, .. } => named(expr),
        _ => None,
    }
}

/// The text in such an argument, to be changed.
pub(super) fn text_of_name(argument: &mut Expr) -> Option<&mut String> {
    match argument {
        Expr::Value(value) => {
            if let Some(text) = crate::sql::literals::text_of(&value.value).map(str::to_owned) {
                value.value = ast::Value::SingleQuotedString(text);
            }
            match &mut value.value {
                ast::Value::SingleQuotedString(text) => Some(text),
                _ => None,
            }
        }
        Expr::Nested(inner) => text_of_name(inner),
        Expr::Cast { expr, .. } => text_of_name(expr),
        _ => None,
    }
}

/// The first argument of a call, to be changed.
pub(super) fn first_argument_mut(function: &mut ast::Function) -> Option<&mut Expr> {
    let ast::FunctionArguments::List(list) = &mut function.args else { return None };
    match list.args.first_mut() {
        Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression))) => Some(expression),
        _ => None,
    }
}

/// The arguments of a call, if they are plain.
pub(super) fn arguments(function: &ast::Function) -> Option<Vec<&Expr>> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let argument = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expression)) => Some(expression),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}
