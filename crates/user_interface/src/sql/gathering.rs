//! Subqueries that lock rows: what they find is gathered before the statement around them runs.
//!
//! Invariant: such a subquery runs once, before anything of its statement, whatever the rows around it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::functions::{is_aggregate, is_set_returning};
use crate::sql::names;
use crate::sql::select::CompiledSelection;
use crate::sql::types::{Compiled, Stop, Typed};
use crate::sql::visits::visit_expressions;
use messages::program::{Action, Expression, Program};
use sqlparser::ast::{self, Expr, SetExpr};
use std::ops::ControlFlow;
use values::Type;

impl Compiler<'_> {
    /// `(SELECT ... FOR UPDATE)` as a value.
    pub(super) fn gathered_value(&mut self, query: &ast::Query, scope: &Scope) -> Compiled<Typed> {
        let (selection, column_type) = self.gathered(query, scope, "subquery must return only one column")?;
        Ok(self.gather(selection, None, column_type))
    }

    /// `operand IN (SELECT ... FOR UPDATE)`: the array of what it finds.
    pub(super) fn gathered_array(&mut self, query: &ast::Query, scope: &Scope) -> Compiled<Typed> {
        let (selection, column_type) = self.gathered(query, scope, "subquery has too many columns")?;
        let element = column_type.unmodified();
        Ok(self.gather(selection, Some(element), element.array()))
    }

    fn gather(&mut self, selection: Action, array: Option<Type>, whole: Type) -> Typed {
        let place = u16::try_from(self.gathers.len()).unwrap_or(u16::MAX);
        self.gathers.push(Action::Gather { selection: Box::new(selection), place, array });
        Typed::known(Expression::Gathered(place, whole), whole)
    }

    /// The selection of such a subquery, and its column's type. Errors: 42601 for several columns, 0A000 for what a program cannot do.
    fn gathered(&mut self, query: &ast::Query, scope: &Scope, several: &str) -> Compiled<(Action, Type)> {
        if !self.may_gather {
            return Err(SqlError::unsupported("a subquery with FOR UPDATE or FOR SHARE here").into());
        }
        // One within another would be gathered behind it.
        self.may_gather = false;
        let selection = self.selection(query);
        self.may_gather = true;
        let CompiledSelection { action, columns, relies_on, .. } =
            selection.map_err(|stop| self.refused(stop, query, scope))?;
        let [column] = columns.as_slice() else {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, several).into());
        };
        self.relies_on.extend(relies_on);
        Ok((action, column.column_type))
    }

    /// Why a subquery is refused: the query processor locks nothing, so what is beyond a program is beyond both.
    fn refused(&mut self, stop: Stop, query: &ast::Query, outer: &Scope) -> Stop {
        let is_unknown =
            |error: &SqlError| matches!(&*error.sqlstate, sqlstate::UNDEFINED_TABLE | sqlstate::UNDEFINED_COLUMN);
        let message = match stop {
            Stop::Error(error) if !is_unknown(&error) || !self.refers_to(query, outer) => return Stop::Error(error),
            Stop::Error(_) => "FOR UPDATE in a subquery that refers to the statement around it",
            Stop::Beyond(_) => return Stop::Error(refusal(query)),
        };
        Stop::Error(SqlError::unsupported(message))
    }

    /// Whether a query names a column that only the statement around it has.
    fn refers_to(&mut self, query: &ast::Query, outer: &Scope) -> bool {
        let inner = match query.body.as_ref() {
            SetExpr::Select(select) => match select.from.as_slice() {
                [from] => self.table_factor(&from.relation).ok(),
                _ => None,
            },
            _ => None,
        };
        let inner = inner.map_or_else(Scope::empty, |(name, table)| Scope::table(&name, &table.table));
        let found = visit_expressions(query, |part| {
            let (qualifier, name) = match part {
                Expr::Identifier(name) => (None, name),
                Expr::CompoundIdentifier(parts) if parts.len() == 2 => (Some(&parts[0]), &parts[1]),
                _ => return ControlFlow::Continue(()),
            };
            let (qualifier, name) = (qualifier.map(names::identifier), names::identifier(name));
            let is_in = |scope: &Scope| scope.column(qualifier.as_deref(), &name).is_some();
            if is_in(outer) && !is_in(&inner) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found.is_break()
    }

    /// Puts what is gathered before the actions of a program. Errors: 54000.
    pub(super) fn gather_first(&mut self, program: &mut Program) -> Result<()> {
        if self.gathers.len() >= usize::from(u16::MAX) {
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "too many subqueries lock rows"));
        }
        let behind = std::mem::take(&mut program.actions);
        program.actions = std::mem::take(&mut self.gathers).into_iter().chain(behind).collect();
        Ok(())
    }
}

/// 0A000 for a query that locks rows and is beyond a program: in PostgreSQL's words where that does not have it either (`CheckSelectLocking` in analyze.c).
pub(super) fn refusal(query: &ast::Query) -> Box<SqlError> {
    let strength = query.locks.first().map_or(ast::LockType::Update, |lock| lock.lock_type);
    match not_allowed(&query.body) {
        Some(what) => {
            let message = format!("FOR {strength} is not allowed with {what}");
            SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
        }
        None => SqlError::unsupported(format!("FOR {strength} with joins or subqueries")),
    }
}

fn not_allowed(body: &SetExpr) -> Option<&'static str> {
    let select = match body {
        SetExpr::SetOperation { .. } => return Some("UNION/INTERSECT/EXCEPT"),
        SetExpr::Select(select) => select,
        _ => return None,
    };
    let groups = match &select.group_by {
        ast::GroupByExpr::Expressions(expressions, modifiers) => !expressions.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    if select.distinct.is_some() {
        return Some("DISTINCT clause");
    } else if groups {
        return Some("GROUP BY clause");
    } else if select.having.is_some() {
        return Some("HAVING clause");
    }
    let of_call = |part: &Expr| match part {
        Expr::Function(function) if function.over.is_some() => ControlFlow::Break("window functions"),
        Expr::Function(function) => match names::function(&function.name).unwrap_or_default().as_str() {
            name if is_set_returning(name) => ControlFlow::Break("set-returning functions in the target list"),
            name if is_aggregate(name) => ControlFlow::Break("aggregate functions"),
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    match visit_expressions(&select.projection, of_call) {
        ControlFlow::Break(what) => Some(what),
        ControlFlow::Continue(()) => None,
    }
}

/// Whether a query locks rows.
pub(super) fn locks_rows(query: &ast::Query) -> bool {
    !query.locks.is_empty()
}
