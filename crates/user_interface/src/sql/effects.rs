//! Calls in a select list that do something to sessions: `pg_cancel_backend`, `pg_terminate_backend` and `set_config`.
//!
//! The query is run with their arguments in the place of the calls, and the session does what they say with each row that comes. Invariant: they are called
//! for rows that the query gives back, and for no others, and nothing that the query computes looks at what they change.

use crate::errors::{Result, SqlError};
use crate::sql::names;
use crate::sql::parse::{self, Parsed, Statement};
use crate::sql::sequence_names::arguments;
use sqlparser::ast::{self, CastKind, DataType, Expr, GroupByExpr, Ident, SelectItem, SetExpr};
use std::ops::ControlFlow;
use values::Type;

/// What is done to another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSignal {
    /// Its statement ends.
    Cancel,
    /// It ends itself.
    Terminate,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEffect {
    /// The session of a process id gets a signal. The call is a truth value: whether there is one.
    Signal(SessionSignal),
    /// A parameter is set, as an array of texts says: name, value, whether it ends with the transaction. The call is the parameter's value.
    Configure {
        /// It may be the role that the session acts as.
        becomes: bool,
    },
}

/// A column whose values are arguments of such a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectColumn {
    /// Its place.
    pub place: usize,
    /// What is done.
    pub effect: SessionEffect,
}

/// A signal for the session with this process id, wherever in the process it is.
#[derive(Clone, Copy, Debug)]
pub struct SentSignal {
    pub(crate) process: i32,
    pub(crate) signal: SessionSignal,
}

impl SessionEffect {
    /// What a function of this name with these arguments does.
    fn of_call(name: &str, arguments: &[&Expr]) -> Option<SessionEffect> {
        Some(match (name, arguments) {
            ("pg_cancel_backend", [_]) => SessionEffect::Signal(SessionSignal::Cancel),
            ("pg_terminate_backend", [_]) => SessionEffect::Signal(SessionSignal::Terminate),
            ("set_config", [name, _, _]) => SessionEffect::Configure { becomes: may_be_role(name) },
            _ => return None,
        })
    }

    /// The type of the call.
    pub fn result(self) -> Type {
        match self {
            SessionEffect::Signal(_) => Type::Boolean,
            SessionEffect::Configure { .. } => Type::Text,
        }
    }

    /// What stands in the place of a call with these arguments.
    fn asked(self, arguments: &[&Expr]) -> Expr {
        match (self, arguments) {
            (SessionEffect::Configure { .. }, [name, value, is_local]) => {
                let is_local = cast((*is_local).clone(), DataType::Boolean);
                let elem = [(*name).clone(), (*value).clone(), is_local].map(|text| cast(text, DataType::Text)).into();
                Expr::Array(ast::Array { elem, named: true })
            }
            _ => cast(arguments[0].clone(), DataType::Integer(None)),
        }
    }
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// Whether a parameter is the role that a session acts as.
pub fn is_role(name: &str) -> bool {
    ["role", "session_authorization"].iter().any(|role| name.eq_ignore_ascii_case(role))
}

/// Whether that is what the name of a parameter may come to.
fn may_be_role(name: &Expr) -> bool {
    match name {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(name) => is_role(name),
            _ => true,
        },
        _ => true,
    }
}

/// A call that an item is.
struct Called<'a> {
    effect: SessionEffect,
    arguments: Vec<&'a Expr>,
    column: Ident,
}

fn called(item: &SelectItem) -> Option<Called<'_>> {
    let (expression, alias) = match item {
        SelectItem::UnnamedExpr(expression) => (expression, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.clone())),
        _ => return None,
    };
    let Expr::Function(function) = expression else { return None };
    let name = names::function(&function.name)?;
    let arguments = arguments(function).filter(|_| function.over.is_none() && function.filter.is_none())?;
    let effect = SessionEffect::of_call(&name, &arguments)?;
    Some(Called { effect, arguments, column: alias.unwrap_or_else(|| Ident::new(name)) })
}

/// Whether something is computed of a session's parameters, by name.
fn looks_at_parameters(part: &impl ast::Visit) -> bool {
    const FUNCTIONS: [&str; 8] = [
        "current_setting",
        "current_schema",
        "current_schemas",
        "current_user",
        "current_role",
        "session_user",
        "user",
        "pg_has_role",
    ];
    ast::visit_expressions(part, |expression| {
        let name = match expression {
            Expr::Function(function) => names::function(&function.name),
            Expr::Identifier(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
            _ => None,
        };
        let is_right = |name: &str| name.starts_with("has_") && name.ends_with("_privilege");
        match name.is_some_and(|name| FUNCTIONS.contains(&&*name) || is_right(&name)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })
    .is_break()
}

/// The statement with arguments in the place of such calls, and where they stand; `None`: it has none. Errors: 0A000 for calls beside what changes rows
/// after they are computed, or what looks at the parameters that they set.
pub(super) fn with_arguments(parsed: &Parsed) -> Result<Option<(Parsed, Vec<EffectColumn>)>> {
    let Statement::Sql(tree) = &parsed.statement else { return Ok(None) };
    if !tree.is_shallow() {
        return Ok(None);
    }
    let ast::Statement::Query(query) = &**tree else { return Ok(None) };
    let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
    let Some(first) = select.projection.iter().position(|item| called(item).is_some()) else { return Ok(None) };
    let is_plain = select.distinct.is_none()
        && select.having.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
        && !select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    if !is_plain || parsed.cursor.is_some() || parsed.into.is_some() {
        return Err(SqlError::unsupported(
            "pg_cancel_backend(), pg_terminate_backend() or set_config() beside *, DISTINCT, GROUP BY, INTO or a cursor",
        ));
    }
    let sets = |item| called(item).is_some_and(|called| matches!(called.effect, SessionEffect::Configure { .. }));
    // The first row's calls are before all that is computed of the next ones.
    let is_late = || match select.from.is_empty() {
        true => select.projection[first + 1..].iter().any(looks_at_parameters),
        false => looks_at_parameters(query),
    };
    if select.projection.iter().any(sets) && is_late() {
        return Err(SqlError::unsupported("set_config() before what is computed of parameters"));
    }
    let mut query = query.clone();
    let mut columns = Vec::new();
    if let SetExpr::Select(select) = query.body.as_mut() {
        for (place, item) in select.projection.iter_mut().enumerate() {
            let Some(Called { effect, arguments, column }) = called(item) else { continue };
            columns.push(EffectColumn { place, effect });
            *item = SelectItem::ExprWithAlias { expr: effect.asked(&arguments), alias: column };
        }
    }
    let text = ast::Statement::Query(query).to_string();
    Ok(parse::statement(&text)?.map(|parsed| (parsed, columns)))
}
