//! UPDATE and DELETE to action programs, alone or fed by a query that finds the rows.
//!
//! Invariant: a statement whose rows or values one table's columns determine is a program of its own; with other tables or
//! subqueries, a query returns the primary keys (and new values), and the program takes them as supplied rows.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::access;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::feed::{Feed, Supplying};
use crate::sql::insert::{program, split, supplied};
use crate::sql::names;
use crate::sql::parse;
use crate::sql::row_checks::GuardedChange;
use crate::sql::scope::tested_first;
use crate::sql::select::Output;
use crate::sql::sequences::check_is_table;
use crate::sql::set_clauses::{check_not_set, pairs};
use crate::sql::types::{Compiled, Stop, beyond};
use crate::sql::visits::visit_expressions;
use messages::TableId;
use messages::program::{AccessPath, Action, Expression, Program, ResultColumn, RowSource};
use messages::schema::{Column, TableSchema, TriggerEvent, VersionedTable};
use sqlparser::ast::{self, Expr};
use std::ops::ControlFlow;
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
    /// UPDATE. `fed`: the columns of the feeding query, once they are known.
    pub fn update(&mut self, update: &ast::Update, fed: Option<&[ResultColumn]>) -> Compiled<Modification> {
        let plain =
            update.or.is_none() && update.order_by.is_empty() && update.limit.is_none() && update.output.is_none();
        if !plain || !update.table.joins.is_empty() {
            return Err(SqlError::unsupported("UPDATE of this form").into());
        }
        let named = self.held_target(&update.table.relation)?;
        check_is_table(&named.1.table)?;
        self.check_fires_nothing(&named.1.table, TriggerEvent::Update)?;
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
        let pairs = pairs(&update.assignments, table, parse::expression)?;
        let values: Vec<&Expr> = pairs.iter().map(|(_, value)| value.as_ref()).collect();
        let first = table.columns.len();
        let mut assignments = Vec::with_capacity(pairs.len());
        for (place, (column, _)) in pairs.iter().enumerate() {
            check_not_set(table, *column)?;
            assignments.push((*column, supplied(first + place, table, *column).expression));
        }
        let behind = Behind { others, values: values.len(), fed };
        let (outputs, beside) = self.returned(update.returning.as_deref(), scope, &named, &behind)?;
        let (returning, columns) = split(outputs);
        let guard = self.row_guard(table, GuardedChange::Update, |compiler| compiler.reads_updated(update))?;
        let action = Action::Update { source: supplied_source(&named.1), filter: None, assignments, returning, guard };
        let mut program = program(action, &named.1);
        program.columns = columns;
        self.gather_first(&mut program)?;
        let sql = feeding_query(&named, &update.table.relation, (&values, &beside), others, update.selection.as_ref())?;
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
        let (source, filter) = self.rows_of(&update.table.relation, update.selection.as_ref(), &named.1, scope)?;
        let outputs = self.select_list(update.returning.as_deref().unwrap_or(&[]), scope, Some(named))?;
        let (returning, columns) = split(outputs);
        let guard = self.row_guard(&named.1.table, GuardedChange::Update, |compiler| compiler.reads_updated(update))?;
        let mut program = program(Action::Update { source, filter, assignments, returning, guard }, &named.1);
        program.columns = columns;
        program.parameters = self.take_parameters()?;
        Ok(program)
    }

    /// DELETE. `fed`: the columns of the feeding query, once they are known.
    pub fn delete(&mut self, delete: &ast::Delete, fed: Option<&[ResultColumn]>) -> Compiled<Modification> {
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
        let named = self.held_target(&target.relation)?;
        check_is_table(&named.1.table)?;
        self.check_fires_nothing(&named.1.table, TriggerEvent::Delete)?;
        let scope = Scope::table(&named.0, &named.1.table);
        let before = self.parameters.clone();
        let others = delete.using.as_deref().unwrap_or(&[]);
        if others.is_empty() {
            match self.gathering(|compiler| compiler.delete_alone(delete, &named, &scope)) {
                Err(Stop::Beyond(_)) => self.parameters = before,
                done => return done.map(Modification::Program),
            }
        }
        let behind = Behind { others, values: 0, fed };
        let (outputs, beside) = self.returned(delete.returning.as_deref(), scope, &named, &behind)?;
        let (returning, columns) = split(outputs);
        let action = Action::Delete { source: supplied_source(&named.1), filter: None, returning, guard: None };
        let mut program = program(action, &named.1);
        program.columns = columns;
        let sql = feeding_query(&named, &target.relation, (&[], &beside), others, delete.selection.as_ref())?;
        Ok(Modification::Feed(feed(sql, program, &named.1)))
    }

    fn delete_alone(
        &mut self,
        delete: &ast::Delete,
        named: &(String, VersionedTable),
        scope: &Scope,
    ) -> Compiled<Program> {
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
        let Some(target) = from.first() else { return Err(beyond("DELETE of nothing")) };
        let (source, filter) = self.rows_of(&target.relation, delete.selection.as_ref(), &named.1, scope)?;
        let outputs = self.select_list(delete.returning.as_deref().unwrap_or(&[]), scope, Some(named))?;
        let (returning, columns) = split(outputs);
        let mut program = program(Action::Delete { source, filter, returning, guard: None }, &named.1);
        program.columns = columns;
        program.parameters = self.take_parameters()?;
        Ok(program)
    }

    /// The RETURNING list of a statement that a query feeds, and what the query has to give for it beside keys and values: all columns of the other tables, each
    /// table's behind a mark. The list is empty until the query's columns are known. Errors: 42702; 0A000 for tables that are joined otherwise.
    fn returned(
        &mut self,
        list: Option<&[ast::SelectItem]>,
        scope: Scope,
        named: &(String, VersionedTable),
        behind: &Behind,
    ) -> Compiled<(Vec<Output>, Vec<String>)> {
        let list = list.unwrap_or(&[]);
        if list.is_empty() || behind.others.is_empty() || list.iter().all(|item| is_of(item, &named.0)) {
            return Ok((self.select_list(list, &scope, Some(named))?, Vec::new()));
        }
        let names = names_of(behind.others)?;
        let beside = names.iter().flat_map(|name| [format!("NULL AS \"{MARK}\""), format!("{}.*", names::quote(name))]);
        let beside: Vec<String> = beside.collect();
        let Some(fed) = behind.fed else { return Ok((Vec::new(), beside)) };
        let table = &named.1.table;
        let known = table.primary_key.len() + behind.values;
        // Behind the row's own columns stands what the program is supplied with, without the key.
        let mut first = table.columns.len() + behind.values;
        let mut scope = scope;
        let given = fed.get(known..).unwrap_or_default();
        for (name, columns) in names.iter().zip(given.split(|column| column.name == MARK).skip(1)) {
            let columns: Vec<Column> =
                columns.iter().map(|column| Column::new(column.name.clone(), column.column_type, false)).collect();
            let count = columns.len();
            scope = scope.and(name, &Arc::new(TableSchema::new(name.clone(), TableId(0), columns)), first + 1);
            first += count + 1;
        }
        check_unambiguous(list, &scope, self.text)?;
        Ok((self.select_list(list, &scope, Some(named))?, beside))
    }

    fn rows_of(
        &mut self,
        target: &ast::TableFactor,
        selection: Option<&Expr>,
        versioned: &VersionedTable,
        scope: &Scope,
    ) -> Compiled<(RowSource, Option<Expression>)> {
        let condition = match selection {
            Some(condition) => Some(self.condition(condition, "WHERE", scope)?),
            None => None,
        };
        let condition = tested_first(self.held_factor(target)?.condition, condition);
        let chosen = access::choose(&versioned.table, condition, &[], self.parameters.known())
            .ok_or_else(|| beyond("this condition"))?;
        let source = RowSource { table: versioned.table.clone(), path: chosen.path, reverse: false };
        Ok((source, chosen.filter))
    }
}

/// Rows whose keys are supplied.
pub(super) fn supplied_source(versioned: &VersionedTable) -> RowSource {
    RowSource { table: versioned.table.clone(), path: AccessPath::Supplied, reverse: false }
}

fn feed(sql: String, program: Program, versioned: &VersionedTable) -> Feed {
    let table = &versioned.table;
    let key_types = table.primary_key.iter().map(|column| table.columns[*column].column_type);
    Feed { sql: Arc::from(sql), key_types: key_types.collect(), program, supplying: Supplying::AllAtOnce }
}

/// What stands behind the key in the rows of a feeding query.
struct Behind<'a> {
    /// The tables beside the one that is changed.
    others: &'a [ast::TableWithJoins],
    /// How many new values.
    values: usize,
    /// All columns, once they are known.
    fed: Option<&'a [ResultColumn]>,
}

/// The name of a column before those of another table: no name of SQL's.
const MARK: &str = "\u{1e}";

/// Whether an item names columns of this table only, and says so.
fn is_of(item: &ast::SelectItem, table: &str) -> bool {
    let is_table = |ident: &ast::Ident| names::identifier(ident) == table;
    match item {
        ast::SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            matches!(name.0.as_slice(), [ast::ObjectNamePart::Identifier(name)] if is_table(name))
        }
        ast::SelectItem::UnnamedExpr(_) | ast::SelectItem::ExprWithAlias { .. } => {
            let other = visit_expressions(item, |expression| match expression {
                Expr::Identifier(_) => ControlFlow::Break(()),
                Expr::CompoundIdentifier(parts) if !matches!(parts.as_slice(), [own, _] if is_table(own)) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
            other.is_continue()
        }
        _ => false,
    }
}

/// What the tables of FROM or USING are called. Errors: 0A000 where the columns of several are one, or one has no name.
fn names_of(others: &[ast::TableWithJoins]) -> Result<Vec<String>> {
    let refused = || SqlError::unsupported("RETURNING with tables that are joined so");
    let mut found = Vec::new();
    for tables in others {
        let mut factors = vec![&tables.relation];
        for join in &tables.joins {
            let constraint = match &join.join_operator {
                ast::JoinOperator::Join(on)
                | ast::JoinOperator::Inner(on)
                | ast::JoinOperator::Left(on)
                | ast::JoinOperator::LeftOuter(on)
                | ast::JoinOperator::Right(on)
                | ast::JoinOperator::RightOuter(on)
                | ast::JoinOperator::FullOuter(on)
                | ast::JoinOperator::CrossJoin(on) => on,
                _ => return Err(refused()),
            };
            if let ast::JoinConstraint::Using(_) | ast::JoinConstraint::Natural = constraint {
                return Err(refused());
            }
            factors.push(&join.relation);
        }
        for factor in factors {
            let (alias, own) = match factor {
                ast::TableFactor::Table { name, alias, args: None, .. } => (alias, names::relation(name).ok()),
                ast::TableFactor::Derived { alias, .. } => (alias, None),
                _ => return Err(refused()),
            };
            let called = alias.as_ref().map(|alias| names::identifier(&alias.name));
            found.push(called.or(own.map(|own| own.name)).ok_or_else(refused)?);
        }
    }
    Ok(found)
}

/// Errors: 42702 for a name that several tables have a column of.
fn check_unambiguous(list: &[ast::SelectItem], scope: &Scope, text: &str) -> Result<()> {
    for item in list {
        let wrong = visit_expressions(item, |expression| match expression {
            Expr::Identifier(ident) if scope.count(&names::identifier(ident)) > 1 => ControlFlow::Break(ident.clone()),
            _ => ControlFlow::Continue(()),
        });
        if let ControlFlow::Break(ident) = wrong {
            let message = format!("column reference \"{}\" is ambiguous", names::identifier(&ident));
            return Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, message).at(names::place(&ident, text)));
        }
    }
    Ok(())
}

/// `SELECT key columns, new values FROM target, others WHERE condition`. Errors: 0A000 for a table without primary key, whose
/// hidden key no query sees.
fn feeding_query(
    named: &(String, VersionedTable),
    target: &ast::TableFactor,
    (values, beside): (&[&Expr], &[String]),
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
    let outputs: Vec<String> = keys.chain(values).chain(beside.iter().cloned()).collect();
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
