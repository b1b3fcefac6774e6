//! `nextval` and its like where statements call them.
//!
//! Invariant: a statement relies on the definition of each sequence that it names; values are taken only where nothing is read row by row.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::parse;
use crate::sql::select::relies_on;
use crate::sql::sequence_names::{arguments, named};
use crate::sql::sequences::{column_of, find};
use crate::sql::types::{Compiled, Stop, Typed, beyond};
use messages::program::{Expression, Program, ResultColumn};
use messages::schema::{Catalog, TableSchema};
use sqlparser::ast::{self, Expr};
use std::sync::Arc;
use values::Type;

/// `SELECT setval(...)`, planned when it is executed.
#[derive(Clone, Debug)]
pub struct SetValue {
    /// The sequence.
    pub name: String,
    /// The value and whether it has been given out, over the columns of the source's rows if there is one.
    pub values: (Expression, Expression),
    /// The query that computes them.
    pub source: Option<Arc<str>>,
}

/// The sequence that an argument of `nextval` and its like names. Errors: 42P01, 42809; 0A000 for a name that is computed.
pub(super) fn sequence_of(catalog: &Catalog, argument: &Expr) -> Result<Arc<TableSchema>> {
    match (named(argument), argument) {
        (Some(text), _) => find(catalog, &parse::relation_of(text)?),
        (None, Expr::Function(function)) => serial_sequence(catalog, function),
        _ => Err(SqlError::unsupported("a sequence whose name is computed")),
    }
}

/// The sequence that `pg_get_serial_sequence` of two texts names. Errors: 0A000 for another function, or a column without one.
fn serial_sequence(catalog: &Catalog, function: &ast::Function) -> Result<Arc<TableSchema>> {
    let computed = || SqlError::unsupported("a sequence whose name is computed");
    let arguments = arguments(function)
        .filter(|_| names::function(&function.name).is_some_and(|name| name == "pg_get_serial_sequence"));
    let Some([Some(table), Some(column)]) = arguments.as_deref().and_then(|both| match both {
        [table, column] => Some([named(table), named(column)]),
        _ => None,
    }) else {
        return Err(computed());
    };
    let name = parse::relation_of(table)?;
    let table = catalog
        .tables
        .get(&name)
        .ok_or_else(|| SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))?;
    let position = table.table.column(column).ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
        SqlError::new(sqlstate::UNDEFINED_COLUMN, message)
    })?;
    let owner = Some((table.table.oid, position));
    let all = catalog.tables.values().map(|versioned| &versioned.table);
    let mut owned = all.filter(|table| table.sequence.as_deref().is_some_and(|sequence| sequence.owned_by == owner));
    owned.next().cloned().ok_or_else(computed)
}

impl Compiler<'_> {
    /// `nextval`, `currval` and `lastval`; `None`: another function.
    pub(super) fn of_sequence(&mut self, name: &str, function: &ast::Function) -> Compiled<Option<Typed>> {
        let Some(arguments) = arguments(function).filter(|_| function.over.is_none()) else { return Ok(None) };
        let expression = match (name, arguments.as_slice()) {
            ("nextval", [argument]) => {
                let sequence = self.sequence(argument)?;
                if !self.may_draw {
                    return Err(SqlError::unsupported("nextval() where rows are read").into());
                }
                self.draws = true;
                Expression::NextValue(sequence)
            }
            ("currval", [argument]) => {
                let sequence = self.sequence(argument)?;
                Expression::CurrentValue(sequence.oid, sequence.name.as_str().into())
            }
            ("lastval", []) => Expression::LastValue,
            ("setval", [_, _] | [_, _, _]) => {
                return Err(SqlError::unsupported("setval() with anything beside it").into());
            }
            _ => return Ok(None),
        };
        Ok(Some(Typed::known(expression, Type::BigInt)))
    }

    /// The sequence that an argument names; the statement relies on it.
    fn sequence(&mut self, argument: &Expr) -> Compiled<Arc<TableSchema>> {
        let sequence = sequence_of(self.catalog, argument)?;
        let relied = self.catalog.tables.get(&sequence.name).and_then(relies_on);
        self.relies_on.extend(relied.filter(|relied| !self.relies_on.contains(relied)));
        Ok(sequence)
    }

    /// Compiles with values of sequences allowed: nothing is read row by row.
    pub(super) fn drawing<T>(&mut self, compile: impl FnOnce(&mut Self) -> Compiled<T>) -> Compiled<T> {
        let before = std::mem::replace(&mut self.may_draw, true);
        let compiled = compile(self);
        self.may_draw = before;
        compiled
    }

    /// Has a program rely on the sequences that the statement names, and on the tables whose foreign keys it concerns.
    pub(super) fn rely(&mut self, program: &mut Program) {
        self.refer(program);
        let new = self.relies_on.iter().filter(|relied| !program.relies_on.contains(relied));
        let all: Vec<_> = program.relies_on.iter().chain(new).cloned().collect();
        program.relies_on = all.into();
        program.read_only &= !self.draws;
    }

    /// `SELECT setval(...)` and nothing else; `None`: another query. Errors: those of its arguments.
    pub(super) fn set_value(&mut self, query: &ast::Query) -> Compiled<Option<(SetValue, ResultColumn)>> {
        let ast::SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
        let (expression, alias) = match select.projection.as_slice() {
            [ast::SelectItem::UnnamedExpr(expression)] => (expression, None),
            [ast::SelectItem::ExprWithAlias { expr, alias }] => (expr, Some(names::identifier(alias))),
            _ => return Ok(None),
        };
        let Expr::Function(function) = expression else { return Ok(None) };
        if names::function(&function.name).as_deref() != Some("setval") || function.over.is_some() {
            return Ok(None);
        }
        let Some(arguments) = arguments(function).filter(|arguments| matches!(arguments.len(), 2 | 3)) else {
            return Ok(None);
        };
        let name = self.sequence(arguments[0])?.name.clone();
        let column = column_of(alias.as_deref().unwrap_or("setval"));
        let called = match arguments.get(2) {
            Some(called) => (*called).clone(),
            None => Expr::value(ast::Value::Boolean(true)),
        };
        let plain = select.from.is_empty()
            && select.selection.is_none()
            && query.with.is_none()
            && query.limit_clause.is_none();
        if plain {
            let before = self.parameters.clone();
            let value = self.typed_as(arguments[1], Type::BigInt, &Scope::empty());
            match value.and_then(|value| Ok((value, self.typed_as(&called, Type::Boolean, &Scope::empty())?))) {
                Ok(values) => return Ok(Some((SetValue { name, values, source: None }, column))),
                Err(Stop::Beyond(_)) => self.parameters = before,
                Err(error) => return Err(error),
            }
        }
        let mut source = query.clone();
        let ast::SetExpr::Select(select) = source.body.as_mut() else { return Err(beyond("a query of this form")) };
        select.projection = [(arguments[1], ast::DataType::BigInt(None)), (&called, ast::DataType::Boolean)]
            .map(|(argument, data_type)| {
                ast::SelectItem::UnnamedExpr(Expr::Cast {
                    kind: ast::CastKind::Cast,
                    expr: Box::new(Expr::Nested(Box::new(argument.clone()))),
                    data_type,
                    array: false,
                    format: None,
                })
            })
            .into();
        let values = (Expression::Column(0), Expression::Column(1));
        Ok(Some((SetValue { name, values, source: Some(source.to_string().into()) }, column)))
    }
}
