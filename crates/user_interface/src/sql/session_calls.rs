//! Functions that concern the session or everybody's sessions, where a SELECT without FROM calls them: `pg_sleep` and its like, `pg_notify`,
//! those of advisory locks, `pg_listening_channels`.
//!
//! Invariant: none of them is called within another expression, or for the rows of a table: what it does is done once.

use crate::errors::{Result, SqlError};
use crate::sql::advisory_calls::{LockCall, LockCalls, LockFunction, unsupported};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::select::column_name;
use crate::sql::sequence_names::arguments;
use crate::sql::types::Compiled;
use messages::database::DatabaseId;
use messages::program::{Action, Expression, Program, ResultColumn};
use sqlparser::ast::{self, Expr, SelectItem, SetExpr, TableFactor};
use std::sync::Arc;
use values::operators::{self, BinaryOperator};
use values::{Type, Value};

/// A column whose value says how long the session sleeps before it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepingColumn {
    /// Its place.
    pub place: usize,
    /// What its value means.
    pub measure: SleepMeasure,
}

/// How a sleep is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepMeasure {
    /// In seconds (`pg_sleep`).
    Seconds,
    /// As an interval from now on (`pg_sleep_for`).
    Interval,
    /// By its end (`pg_sleep_until`).
    Until,
}

impl SleepMeasure {
    fn of_name(name: &str) -> Option<SleepMeasure> {
        Some(match name {
            "pg_sleep" => SleepMeasure::Seconds,
            "pg_sleep_for" => SleepMeasure::Interval,
            "pg_sleep_until" => SleepMeasure::Until,
            _ => return None,
        })
    }

    fn argument(self) -> Type {
        match self {
            SleepMeasure::Seconds => Type::Double,
            SleepMeasure::Interval => Type::Interval(None),
            SleepMeasure::Until => Type::TimestampTz(None),
        }
    }

    /// How many nanoseconds this value means, counted from this time (microseconds since 1970); NULL is none. Errors: 22008.
    pub fn nanoseconds(self, value: &Value, now_micros: i64) -> Result<u64> {
        /// Microseconds from 1970 to 2000, where timestamps count from.
        const EPOCH_MICROS: i64 = 946_684_800_000_000;
        let now = now_micros - EPOCH_MICROS;
        let until = |end: i64| u64::try_from(end.saturating_sub(now)).unwrap_or(0).saturating_mul(1_000);
        Ok(match (self, value) {
            // What is no number, or below zero, is cast to 0, what is too large to the largest.
            (SleepMeasure::Seconds, Value::Double(seconds)) => (seconds * 1e9) as u64,
            (SleepMeasure::Interval, Value::Interval(_)) => {
                match operators::binary(BinaryOperator::Add, &Value::TimestampTz(now), value)? {
                    Value::TimestampTz(end) => until(end),
                    _ => 0,
                }
            }
            (SleepMeasure::Until, Value::TimestampTz(end)) => until(*end),
            _ => 0,
        })
    }
}

/// What a SELECT that calls such functions comes to.
pub struct SessionCalls {
    /// Notifies, and computes what is returned, how long to sleep before that, or which locks to take.
    pub program: Program,
    /// Where it sleeps.
    pub sleeps: Arc<[SleepingColumn]>,
    /// Which functions of advisory locks it calls.
    pub locks: Arc<[LockCall]>,
}

/// The function of these that an item of a select list calls.
fn called(item: &SelectItem) -> Option<(String, &ast::Function, Option<String>)> {
    let (expression, alias) = match item {
        SelectItem::UnnamedExpr(expression) => (expression, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(names::identifier(alias))),
        _ => return None,
    };
    let Expr::Function(function) = expression else { return None };
    let name = names::function(&function.name)?;
    let is_one = SleepMeasure::of_name(&name).is_some() || LockFunction::of_name(&name).is_some();
    let is_one = is_one || name == "pg_notify";
    is_one.then_some((name, function, alias))
}

/// Refuses such functions beside anything but a list of values. Errors: 0A000.
fn check_plain(query: &ast::Query, select: &ast::Select) -> Result<()> {
    let is_plain = select.from.is_empty()
        && select.selection.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty();
    if is_plain {
        return Ok(());
    }
    let is_of_locks = |(name, ..): (String, _, _)| LockFunction::of_name(&name).is_some();
    match select.projection.iter().filter_map(called).any(is_of_locks) {
        true => Err(unsupported()),
        false => Err(SqlError::unsupported("pg_sleep() or pg_notify() with more than a list of values")),
    }
}

/// Refuses what cannot be done in one step: it would have committed before it sleeps or waits, and a client that cancels it then were told that it has not.
/// Errors: 0A000.
fn check_together(notifies: bool, sleeps: bool, locks: bool) -> Result<()> {
    match (notifies, sleeps, locks) {
        (true, true, _) => Err(SqlError::unsupported("pg_notify() beside pg_sleep()")),
        (true, _, true) | (_, true, true) => {
            Err(SqlError::unsupported("pg_notify() or pg_sleep() beside an advisory lock"))
        }
        _ => Ok(()),
    }
}

/// Whether an expression reads a clock that goes on while the statement runs.
fn reads_clock(item: &SelectItem) -> bool {
    let text = item.to_string().to_ascii_lowercase();
    ["clock_timestamp", "timeofday"].iter().any(|name| text.contains(name))
}

impl Compiler<'_> {
    /// A SELECT without FROM that sleeps, notifies, or takes locks; `None`: another query. Errors: 0A000 for anything else
    /// that cannot stand beside it.
    pub(super) fn session_calls(&mut self, query: &ast::Query) -> Compiled<Option<SessionCalls>> {
        let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
        if !select.projection.iter().any(|item| called(item).is_some()) {
            return Ok(None);
        }
        check_plain(query, select)?;
        let before = self.parameters.clone();
        let (mut actions, mut output, mut columns, mut sleeps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut locks = LockCalls::default();
        for item in &select.projection {
            let Some((name, function, alias)) = called(item) else {
                if reads_clock(item) {
                    return Err(SqlError::unsupported("a clock beside pg_sleep()").into());
                }
                let all =
                    self.drawing(|compiler| compiler.select_list(std::slice::from_ref(item), &Scope::empty(), None))?;
                for one in all {
                    output.push(one.expression);
                    columns.push(one.column);
                }
                continue;
            };
            let arguments = arguments(function).filter(|_| function.over.is_none() && function.filter.is_none());
            if let (Some(lock), Some(arguments)) = (LockFunction::of_name(&name), &arguments) {
                if !locks.add(&name, lock, arguments, output.len(), self)? {
                    self.parameters = before;
                    return Ok(None);
                }
                output.push(Expression::Constant(Value::Null));
                let name = alias.unwrap_or(name);
                columns.push(ResultColumn { name, column_type: lock.returns(), origin: (0, 0) });
                continue;
            }
            output.push(match (SleepMeasure::of_name(&name), arguments.as_deref()) {
                (Some(measure), Some([argument])) => {
                    sleeps.push(SleepingColumn { place: output.len(), measure });
                    self.typed_as(argument, measure.argument(), &Scope::empty())?
                }
                (None, Some([channel, payload])) => {
                    let channel = self.typed_as(channel, Type::Text, &Scope::empty())?;
                    let payload = self.typed_as(payload, Type::Text, &Scope::empty())?;
                    actions.push(Action::notify(channel, payload, self.facts.process));
                    Expression::Constant(Value::text(""))
                }
                // No such function: the query processor says so in PostgreSQL's words.
                _ => {
                    self.parameters = before;
                    return Ok(None);
                }
            });
            let name = alias.unwrap_or(name);
            columns.push(ResultColumn { name, column_type: Type::Void, origin: (0, 0) });
        }
        let read_only = actions.is_empty();
        check_together(!read_only, !sleeps.is_empty(), !locks.calls.is_empty())?;
        let locks = locks.finish(&mut output).into();
        actions.push(Action::row_of(output));
        let program = Program {
            parameters: self.take_parameters()?,
            actions,
            columns,
            relies_on: Arc::default(),
            read_only,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        Ok(Some(SessionCalls { program, sleeps: sleeps.into(), locks }))
    }
}

/// The column of `SELECT pg_listening_channels()` and `SELECT * FROM pg_listening_channels()`; `None`: another query.
pub(super) fn listening_channels(query: &ast::Query) -> Option<String> {
    const NAME: &str = "pg_listening_channels";
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && select.selection.is_none()
        && select.distinct.is_none();
    let is_it = |function: &ast::Function| {
        names::function(&function.name).as_deref() == Some(NAME)
            && arguments(function).is_some_and(|all| all.is_empty())
    };
    match (select.projection.as_slice(), select.from.as_slice()) {
        _ if !plain => None,
        ([SelectItem::UnnamedExpr(expression @ Expr::Function(function))], []) if is_it(function) => {
            Some(column_name(expression))
        }
        ([SelectItem::ExprWithAlias { expr: Expr::Function(function), alias }], []) if is_it(function) => {
            Some(names::identifier(alias))
        }
        ([SelectItem::Wildcard(_)], [from]) if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { name, alias, args: Some(arguments), with_ordinality: false, .. }
                if names::function(name).as_deref() == Some(NAME) && arguments.args.is_empty() =>
            {
                let alias = alias.as_ref().filter(|alias| alias.columns.is_empty());
                Some(alias.map_or_else(|| NAME.to_owned(), |alias| names::identifier(&alias.name)))
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a session sleeps for another time than it was told, or for ever on what is no time.
    #[test]
    fn sleeps_are_measured_like_postgresql() {
        let now = 1_700_000_000_000_000;
        let asleep = |measure: SleepMeasure, value: Value| measure.nanoseconds(&value, now).expect("a time");
        assert_eq!(asleep(SleepMeasure::Seconds, Value::Double(0.25)), 250_000_000);
        assert_eq!(asleep(SleepMeasure::Seconds, Value::Double(-1.0)), 0);
        assert_eq!(asleep(SleepMeasure::Seconds, Value::Double(f64::NAN)), 0);
        assert_eq!(asleep(SleepMeasure::Seconds, Value::Double(f64::INFINITY)), u64::MAX);
        assert_eq!(asleep(SleepMeasure::Seconds, Value::Null), 0);
        let interval = values::text::parse("1.5 s", Type::Interval(None)).expect("an interval");
        assert_eq!(asleep(SleepMeasure::Interval, interval), 1_500_000_000);
        let end = values::text::parse("2023-11-14 22:13:22+00", Type::TimestampTz(None)).expect("a time");
        assert_eq!(asleep(SleepMeasure::Until, end), 2_000_000_000);
        let past = values::text::parse("2001-01-01 00:00:00+00", Type::TimestampTz(None)).expect("a time");
        assert_eq!(asleep(SleepMeasure::Until, past), 0);
    }
}
