//! UPDATE and DELETE to action programs, alone or fed by a query that finds the rows.
//!
//! Invariant: a statement whose rows or values one table's columns determine is a program of its own; with other tables or
//! subqueries, a query returns the primary keys (and new values), and the program takes them as supplied rows.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::access;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::feed::{Feed, Supplying};
use crate::sql::generated::check_not_given;
use crate::sql::insert::{pairs, program, split, supplied};
use crate::sql::names;
use crate::sql::select::Output;
use crate::sql::sequences::check_is_table;
use crate::sql::types::{Compiled, Stop, beyond};
use messages::program::{AccessPath, Action, Expression, Program, RowSource};
use messages::schema::VersionedTable;
use sqlparser::ast::{self, Expr};
use std::sync::Arc;
use values::Value;

/// What an UPDATE or DELETE compiles to.
pub enum Modification {
    /// A program of its own.
    Program(Program),
    /// A program that a query feeds with keys and values.
    Feed(Feed),
}

impl Compiler<'_> {
    /// UPDATE.
    pub fn update(&mut self, update: &ast::Update) -> Compiled<Modification> {
        let plain =
            update.or.is_none() && update.order_by.is_empty() && update.limit.is_none() && update.output.is_none();
        if !plain || !update.table.joins.is_empty() {
            return Err(SqlError::unsupported("UPDATE of this form").into());
        }
        let named = self.table_factor(&update.table.relation)?;
        check_is_table(&named.1.table)?;
        let scope = Scope::table(&named.0, &named.1.table);
        let before = self.parameters.clone();
        let others: &[ast::TableWithJoins] = match &update.from {
            None => &[],
            Some(ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from)) => from,
        };
        if others.is_empty() {
            match self.gathering(|compiler| compiler.update_alone(update, &named, &scope)) {
                Err(Stop::Beyond(_)) => self.parameters = before,
                done => return done.map(Modification::Program),
            }
        }
        let table = &named.1.table;
        let pairs = pairs(&update.assignments, table)?;
        let values: Vec<&Expr> = pairs.iter().map(|(_, value)| *value).collect();
        let first = table.columns.len();
        let mut assignments = Vec::with_capacity(pairs.len());
        for (place, (column, _)) in pairs.iter().enumerate() {
            check_not_given(table, *column, false)?;
            assignments.push((*column, supplied(first + place, table, *column).expression));
        }
        let outputs = self.returned(update.returning.as_deref(), &scope, &named, others)?;
        let (returning, columns) = split(outputs);
        let action = Action::Update { source: supplied_source(&named.1), filter: None, assignments, returning };
        let mut program = program(action, &named.1);
        program.columns = columns;
        let sql = feeding_query(&named, &update.table.relation, &values, others, update.selection.as_ref())?;
        Ok(Modification::Feed(feed(sql, program, &named.1)))
    }

    /// A program whose subqueries may lock rows. Errors: those of the compilation; 0A000 for one that locks rows and would be fed by a query.
    fn gathering(&mut self, compile: impl FnOnce(&mut Self) -> Compiled<Program>) -> Compiled<Program> {
        let may_gather = std::mem::replace(&mut self.may_gather, true);
        let compiled = compile(self);
        self.may_gather = may_gather;
        match compiled {
            Ok(mut program) => {
                self.gather_first(&mut program)?;
                Ok(program)
            }
            Err(Stop::Beyond(_)) if !std::mem::take(&mut self.gathers).is_empty() => {
                Err(SqlError::unsupported("FOR UPDATE in a subquery beside joins, grouping or other subqueries").into())
            }
            Err(stop) => Err(stop),
        }
    }

    fn update_alone(
        &mut self,
        update: &ast::Update,
        named: &(String, VersionedTable),
        scope: &Scope,
    ) -> Compiled<Program> {
        let assignments = self.assignments(&update.assignments, &named.1.table, scope)?;
        let (source, filter) = self.rows_of(update.selection.as_ref(), &named.1, scope)?;
        let outputs = self.select_list(update.returning.as_deref().unwrap_or(&[]), scope, Some(named))?;
        let (returning, columns) = split(outputs);
        let mut program = program(Action::Update { source, filter, assignments, returning }, &named.1);
        program.columns = columns;
        program.parameters = self.take_parameters()?;
        Ok(program)
    }

    /// DELETE.
    pub fn delete(&mut self, delete: &ast::Delete) -> Compiled<Modification> {
        let from = match &delete.from {
            ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from) => from,
        };
        let plain =
            delete.tables.is_empty() && delete.order_by.is_empty() && delete.limit.is_none() && delete.output.is_none();
        let [target] = from.as_slice() else {
            return Err(SqlError::unsupported("DELETE of this form").into());
        };
        if !plain || !target.joins.is_empty() {
            return Err(SqlError::unsupported("DELETE of this form").into());
        }
        let named = self.table_factor(&target.relation)?;
        check_is_table(&named.1.table)?;
        let scope = Scope::table(&named.0, &named.1.table);
        let before = self.parameters.clone();
        let others = delete.using.as_deref().unwrap_or(&[]);
        if others.is_empty() {
            match self.gathering(|compiler| compiler.delete_alone(delete, &named, &scope)) {
                Err(Stop::Beyond(_)) => self.parameters = before,
                done => return done.map(Modification::Program),
            }
        }
        let outputs = self.returned(delete.returning.as_deref(), &scope, &named, others)?;
        let (returning, columns) = split(outputs);
        let action = Action::Delete { source: supplied_source(&named.1), filter: None, returning };
        let mut program = program(action, &named.1);
        program.columns = columns;
        let sql = feeding_query(&named, &target.relation, &[], others, delete.selection.as_ref())?;
        Ok(Modification::Feed(feed(sql, program, &named.1)))
    }

    fn delete_alone(
        &mut self,
        delete: &ast::Delete,
        named: &(String, VersionedTable),
        scope: &Scope,
    ) -> Compiled<Program> {
        let (source, filter) = self.rows_of(delete.selection.as_ref(), &named.1, scope)?;
        let outputs = self.select_list(delete.returning.as_deref().unwrap_or(&[]), scope, Some(named))?;
        let (returning, columns) = split(outputs);
        let mut program = program(Action::Delete { source, filter, returning }, &named.1);
        program.columns = columns;
        program.parameters = self.take_parameters()?;
        Ok(program)
    }

    /// The RETURNING list of a statement with other tables. Errors: 0A000 for their columns.
    fn returned(
        &mut self,
        list: Option<&[ast::SelectItem]>,
        scope: &Scope,
        named: &(String, VersionedTable),
        others: &[ast::TableWithJoins],
    ) -> Compiled<Vec<Output>> {
        self.select_list(list.unwrap_or(&[]), scope, Some(named)).map_err(|stop| match stop {
            Stop::Error(error) if !others.is_empty() && error.sqlstate == sqlstate::UNDEFINED_TABLE => {
                Stop::Error(SqlError::unsupported("RETURNING columns of other tables"))
            }
            other => other,
        })
    }

    fn rows_of(
        &mut self,
        selection: Option<&Expr>,
        versioned: &VersionedTable,
        scope: &Scope,
    ) -> Compiled<(RowSource, Option<Expression>)> {
        let condition = match selection {
            Some(condition) => Some(self.condition(condition, "WHERE", scope)?),
            None => None,
        };
        let chosen = access::choose(&versioned.table, condition, &[], self.parameters.known())
            .ok_or_else(|| beyond("this condition"))?;
        let source = RowSource { table: versioned.table.clone(), path: chosen.path, reverse: false };
        Ok((source, chosen.filter))
    }
}

fn supplied_source(versioned: &VersionedTable) -> RowSource {
    RowSource { table: versioned.table.clone(), path: AccessPath::Supplied, reverse: false }
}

fn feed(sql: String, program: Program, versioned: &VersionedTable) -> Feed {
    let table = &versioned.table;
    let key_types = table.primary_key.iter().map(|column| table.columns[*column].column_type);
    Feed { sql: Arc::from(sql), key_types: key_types.collect(), program, supplying: Supplying::AllAtOnce }
}

/// `SELECT key columns, new values FROM target, others WHERE condition`. Errors: 0A000 for a table without primary key, whose
/// hidden key no query sees.
fn feeding_query(
    named: &(String, VersionedTable),
    target: &ast::TableFactor,
    values: &[&Expr],
    others: &[ast::TableWithJoins],
    selection: Option<&Expr>,
) -> Result<String> {
    let (alias, table) = (names::quote(&named.0), &named.1.table);
    if table.has_hidden_key() {
        return Err(SqlError::unsupported(
            "UPDATE or DELETE with other tables or subqueries on a table without primary key",
        ));
    }
    let keys = table.primary_key.iter().map(|column| format!("{alias}.{}", names::quote(&table.columns[*column].name)));
    let values = values.iter().map(|value| value.to_string());
    let outputs: Vec<String> = keys.chain(values).collect();
    let mut sql = format!("SELECT {} FROM {target}", outputs.join(", "));
    for other in others {
        sql.push_str(&format!(", {other}"));
    }
    if let Some(condition) = selection {
        sql.push_str(&format!(" WHERE {condition}"));
    }
    Ok(sql)
}

/// A row of a feeding query as the program takes it: the encoded key, then the values.
pub fn supplied_row(row: Vec<Value>, key_types: &[values::Type]) -> Result<Vec<Value>> {
    let mut values = row.into_iter();
    let mut key = Vec::new();
    for data_type in key_types {
        let value = values.next().unwrap_or(Value::Null);
        values::key::append(&values::cast::assign(&value, *data_type)?, &mut key);
    }
    Ok(std::iter::once(Value::bytea(key)).chain(values).collect())
}
