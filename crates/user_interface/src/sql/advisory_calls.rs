//! `pg_advisory_lock` and its like, where a SELECT without FROM calls them.
//!
//! Invariant: none of them is called within another expression, or for the rows of a table: what it does is done once, in the order of the list.

use crate::errors::{Result, SqlError, sqlstate};
use crate::locks::held::LockScope;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::types::Compiled;
use crate::sql::visits::visit_expressions;
use messages::advisory::{AdvisoryKey, AdvisoryMode};
use messages::program::Expression;
use sqlparser::ast::{self, Expr, SelectItem, SetExpr};
use std::ops::ControlFlow;
use values::cast::Context;
use values::{Type, Value};

/// What such a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFunction {
    /// Takes a lock.
    Take {
        /// How.
        mode: AdvisoryMode,
        /// For how long.
        scope: LockScope,
        /// Waits for it, and returns nothing; else returns whether it has got it.
        waits: bool,
    },
    /// Gives back a lock that the session has taken, and returns whether it had.
    GiveBack(AdvisoryMode),
    /// Gives back all of them.
    GiveBackAll,
}

/// A call of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockCall {
    /// What it does.
    pub function: LockFunction,
    /// Its column.
    pub place: usize,
    /// Where its arguments stand in the program's row: behind all columns.
    pub arguments: Vec<usize>,
}

/// Calls of a select list, while it is compiled.
#[derive(Default)]
pub(super) struct LockCalls {
    pub(super) calls: Vec<LockCall>,
    arguments: Vec<Expression>,
}

impl LockFunction {
    /// The function of this name.
    pub fn of_name(name: &str) -> Option<LockFunction> {
        use AdvisoryMode::{Exclusive, Share};
        use LockScope::{Session, Transaction};
        let take = |mode, scope, waits| LockFunction::Take { mode, scope, waits };
        Some(match name {
            "pg_advisory_lock" => take(Exclusive, Session, true),
            "pg_advisory_lock_shared" => take(Share, Session, true),
            "pg_advisory_xact_lock" => take(Exclusive, Transaction, true),
            "pg_advisory_xact_lock_shared" => take(Share, Transaction, true),
            "pg_try_advisory_lock" => take(Exclusive, Session, false),
            "pg_try_advisory_lock_shared" => take(Share, Session, false),
            "pg_try_advisory_xact_lock" => take(Exclusive, Transaction, false),
            "pg_try_advisory_xact_lock_shared" => take(Share, Transaction, false),
            "pg_advisory_unlock" => LockFunction::GiveBack(Exclusive),
            "pg_advisory_unlock_shared" => LockFunction::GiveBack(Share),
            "pg_advisory_unlock_all" => LockFunction::GiveBackAll,
            _ => return None,
        })
    }

    /// The type of what it returns.
    pub fn returns(self) -> Type {
        match self {
            LockFunction::Take { waits: true, .. } | LockFunction::GiveBackAll => Type::Void,
            LockFunction::Take { waits: false, .. } | LockFunction::GiveBack(_) => Type::Boolean,
        }
    }

    /// What it takes, if it takes so many.
    fn arguments(self, count: usize) -> Option<Type> {
        match (self, count) {
            (LockFunction::GiveBackAll, 0) => Some(Type::Void),
            (LockFunction::GiveBackAll, _) => None,
            (_, 1) => Some(Type::BigInt),
            (_, 2) => Some(Type::Integer),
            _ => None,
        }
    }
}

impl LockCall {
    /// Which lock it is about; `None`: an argument is NULL.
    pub fn key(&self, row: &[Value]) -> Option<AdvisoryKey> {
        let number = |place: &usize| row.get(*place).and_then(Value::as_integer);
        match self.arguments.as_slice() {
            [one] => number(one).map(AdvisoryKey::of_number),
            [class, object] => {
                let half = |place| number(place).and_then(|number| i32::try_from(number).ok());
                Some(AdvisoryKey::of_pair(half(class)?, half(object)?))
            }
            _ => None,
        }
    }
}

impl LockCalls {
    /// A call in this column. False: there is no such function.
    pub(super) fn add(
        &mut self,
        name: &str,
        function: LockFunction,
        arguments: &[&Expr],
        place: usize,
        compiler: &mut Compiler,
    ) -> Compiled<bool> {
        let Some(needed) = function.arguments(arguments.len()) else { return Ok(false) };
        let mut typed = Vec::new();
        for argument in arguments {
            typed.push(compiler.expression(argument, &Scope::empty())?);
        }
        let is_narrow = |given: Type| matches!(given, Type::SmallInt | Type::Integer) || given == needed;
        if typed.iter().any(|argument| argument.data_type.is_some_and(|given| !is_narrow(given))) {
            let types: Vec<&str> = typed.iter().map(|argument| argument.type_name()).collect();
            let message = format!("function {name}({}) does not exist", types.join(", "));
            return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, message)
                .with_hint(
                    "No function matches the given name and argument types. You might need to add explicit type casts.",
                )
                .into());
        }
        let mut places = Vec::new();
        for argument in typed {
            places.push(self.arguments.len());
            self.arguments.push(compiler.parameters.coerce(argument, needed, Context::Implicit)?);
        }
        self.calls.push(LockCall { function, place, arguments: places });
        Ok(true)
    }

    /// Puts the arguments behind the columns.
    pub(super) fn finish(self, output: &mut Vec<Expression>) -> Vec<LockCall> {
        let columns = output.len();
        output.extend(self.arguments);
        let moved = |mut call: LockCall| {
            call.arguments.iter_mut().for_each(|place| *place += columns);
            call
        };
        self.calls.into_iter().map(moved).collect()
    }
}

fn is_call(expression: &Expr) -> bool {
    let Expr::Function(function) = expression else { return false };
    names::function(&function.name).is_some_and(|name| LockFunction::of_name(&name).is_some())
}

/// Refuses such a function anywhere but in the list of a SELECT. Errors: 0A000.
pub(super) fn check(text: &str, statement: &ast::Statement) -> Result<()> {
    const PART: &[u8] = b"advisory_";
    if !text.as_bytes().windows(PART.len()).any(|part| part.eq_ignore_ascii_case(PART)) {
        return Ok(());
    }
    let mut expected = match statement {
        ast::Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => {
                let called = |item: &&SelectItem| match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => is_call(expr),
                    _ => false,
                };
                select.projection.iter().filter(called).count()
            }
            _ => 0,
        },
        _ => 0,
    };
    let found = visit_expressions(statement, |expression| match is_call(expression) {
        true if expected == 0 => ControlFlow::Break(()),
        true => {
            expected -= 1;
            ControlFlow::Continue(())
        }
        false => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(()) => Err(unsupported()),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// 0A000.
pub(super) fn unsupported() -> Box<SqlError> {
    SqlError::unsupported("a function of advisory locks within another expression, or for the rows of a query,")
        .with_hint("It can stand in the list of a SELECT without FROM.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a NULL takes a lock, or two numbers name another lock than they do in PostgreSQL.
    #[test]
    fn arguments_name_a_lock() {
        let function = LockFunction::GiveBack(AdvisoryMode::Share);
        let call = |arguments: &[usize]| LockCall { function, place: 0, arguments: arguments.to_vec() };
        let row = [Value::Null, Value::BigInt(-1), Value::Integer(-1), Value::Integer(7)];
        assert_eq!(call(&[1]).key(&row), Some(AdvisoryKey::of_number(-1)));
        assert_eq!(call(&[2, 3]).key(&row), Some(AdvisoryKey::of_pair(-1, 7)));
        assert_eq!(call(&[0]).key(&row), None);
        assert_eq!(call(&[2, 0]).key(&row), None);
    }
}
