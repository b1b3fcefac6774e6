//! `pg_cancel_backend` and `pg_terminate_backend` in a select list.
//!
//! The query is run with the process ids in the place of the calls, and the session does what they say with each row that comes. Invariant: they are called
//! for rows that the query gives back, and for no others.

use crate::errors::{Result, SqlError};
use crate::sql::names;
use crate::sql::parse::{self, Parsed, Statement};
use crate::sql::sequence_names::arguments;
use sqlparser::ast::{self, CastKind, DataType, Expr, GroupByExpr, Ident, SelectItem, SetExpr};

/// What is done to another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSignal {
    /// Its statement ends.
    Cancel,
    /// It ends itself.
    Terminate,
}

/// A column of process ids whose sessions get a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalColumn {
    /// Its place.
    pub place: usize,
    /// What is done.
    pub signal: SessionSignal,
}

/// A signal for the session with this process id, wherever in the process it is.
#[derive(Clone, Copy, Debug)]
pub struct SentSignal {
    pub(crate) process: i32,
    pub(crate) signal: SessionSignal,
}

impl SessionSignal {
    fn of_name(name: &str) -> Option<SessionSignal> {
        Some(match name {
            "pg_cancel_backend" => SessionSignal::Cancel,
            "pg_terminate_backend" => SessionSignal::Terminate,
            _ => return None,
        })
    }
}

/// The call that an item is: what is done, to whom, and the column's name.
fn called(item: &SelectItem) -> Option<(SessionSignal, Expr, Ident)> {
    let (expression, alias) = match item {
        SelectItem::UnnamedExpr(expression) => (expression, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.clone())),
        _ => return None,
    };
    let Expr::Function(function) = expression else { return None };
    let name = names::function(&function.name)?;
    let signal = SessionSignal::of_name(&name)?;
    let arguments = arguments(function).filter(|_| function.over.is_none() && function.filter.is_none())?;
    let [process] = arguments.as_slice() else { return None };
    Some((signal, (*process).clone(), alias.unwrap_or_else(|| Ident::new(name))))
}

/// The statement with process ids in the place of such calls, and where they stand; `None`: it has none. Errors: 0A000 for calls beside what changes rows
/// after they are computed.
pub(super) fn with_processes(parsed: &Parsed) -> Result<Option<(Parsed, Vec<SignalColumn>)>> {
    let Statement::Sql(tree) = &parsed.statement else { return Ok(None) };
    if !tree.is_shallow() {
        return Ok(None);
    }
    let ast::Statement::Query(query) = &**tree else { return Ok(None) };
    let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
    if !select.projection.iter().any(|item| called(item).is_some()) {
        return Ok(None);
    }
    let is_plain = select.distinct.is_none()
        && select.having.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
        && !select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    if !is_plain || parsed.cursor.is_some() || parsed.into.is_some() {
        return Err(SqlError::unsupported(
            "pg_cancel_backend() or pg_terminate_backend() beside *, DISTINCT, GROUP BY, INTO or a cursor",
        ));
    }
    let mut query = query.clone();
    let mut columns = Vec::new();
    if let SetExpr::Select(select) = query.body.as_mut() {
        for (place, item) in select.projection.iter_mut().enumerate() {
            let Some((signal, process, alias)) = called(item) else { continue };
            columns.push(SignalColumn { place, signal });
            let (kind, data_type, format) = (CastKind::Cast, DataType::Integer(None), None);
            let expr = Expr::Cast { kind, expr: Box::new(process), data_type, array: false, format };
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
    let text = ast::Statement::Query(query).to_string();
    Ok(parse::statement(&text)?.map(|parsed| (parsed, columns)))
}
