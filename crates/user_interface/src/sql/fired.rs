//! Statements that fire triggers: which triggers, the query that finds the rows, and the statement that changes one row.
//!
//! Such a statement is no program: functions run between its rows. Its query finds each row as it is and what it is to become; what the triggers make of that is
//! written row by row, by a statement that fires nothing itself. Invariant: rows of the query have all columns of the table, in their order: as they were
//! (but for INSERT), then as they are to be (but for DELETE).

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::insert::split;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::sequences;
use crate::sql::set_clauses::{check_not_given, pairs};
use crate::sql::types::Stop;
use messages::namespace;
use messages::program::ResultColumn;
use messages::schema::{TableSchema, TriggerEvent, TriggerSchema, VersionedTable};
use sqlparser::ast::{self, Expr};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;

/// A statement that fires triggers.
#[derive(Clone, Debug)]
pub struct FiringStatement {
    /// What it does.
    pub event: TriggerEvent,
    /// The table.
    pub table: Arc<TableSchema>,
    /// The name of its schema.
    pub schema: String,
    /// The places of the columns that it has.
    pub columns: Vec<usize>,
    /// The queries that find the rows, one after the other.
    pub sources: Vec<Arc<str>>,
    /// Columns that are still to be drawn for each row, by their places, with what draws them.
    pub draws: Vec<(usize, Arc<str>)>,
    /// The statement that changes one: its parameters are the values of what the row has, or is to have, and then those of its key.
    pub change: Arc<str>,
    /// The columns that it returns.
    pub returning: Vec<ResultColumn>,
    /// The triggers, by name.
    pub triggers: Vec<TriggerSchema>,
}

impl FiringStatement {
    /// Types of a row's values.
    pub fn types(&self) -> Vec<Type> {
        self.columns.iter().map(|column| self.table.columns[*column].column_type).collect()
    }

    /// Places in a row of the columns of the key.
    pub fn key(&self) -> Vec<usize> {
        let place = |column: &usize| self.columns.iter().position(|known| known == column);
        self.table.primary_key.iter().filter_map(place).collect()
    }

    /// The triggers that fire before or behind it, for rows or once.
    pub fn firing(&self, is_before: bool, is_for_rows: bool) -> Vec<usize> {
        let fires = |known: &TriggerSchema| known.is_before == is_before && known.is_for_rows == is_for_rows;
        (0..self.triggers.len()).filter(|place| fires(&self.triggers[*place])).collect()
    }
}

/// The triggers of a table that an event fires. `changed`: the columns that an UPDATE names.
pub fn fired(table: &TableSchema, event: TriggerEvent, changed: &[usize]) -> Vec<TriggerSchema> {
    let fires = |known: &&TriggerSchema| {
        let is_named = known.columns.is_empty()
            || event != TriggerEvent::Update
            || known.columns.iter().any(|column| changed.contains(column));
        known.is_enabled && known.events.has(event) && is_named
    };
    table.triggers.iter().filter(fires).cloned().collect()
}

fn live(table: &TableSchema) -> Vec<usize> {
    let is_live = |column: &usize| {
        !table.columns[*column].dropped && !table.generated.iter().any(|generated| generated.column == *column)
    };
    (0..table.columns.len()).filter(is_live).collect()
}

fn quoted(table: &TableSchema, column: usize) -> String {
    names::quote(&table.columns[column].name)
}

/// 0A000 for a table without a key: its rows have no names.
fn check_keyed(table: &TableSchema) -> Result<()> {
    match table.has_hidden_key() {
        true => Err(SqlError::unsupported("UPDATE or DELETE on a table with triggers and without primary key")),
        false => Ok(()),
    }
}

/// 0A000 for RETURNING with parameters: the statement of a row has others.
fn returning(list: Option<&[ast::SelectItem]>) -> Result<String> {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return Ok(String::new()) };
    for item in list {
        let found = ast::visit_expressions(item, |expression| match expression {
            Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        if found.is_break() {
            return Err(SqlError::unsupported("parameters in RETURNING of a table with triggers"));
        }
    }
    let items: Vec<String> = list.iter().map(ToString::to_string).collect();
    Ok(format!(" RETURNING {}", items.join(", ")))
}

/// `a = $4 AND b = $5`, for parameters behind so many.
fn is_key(table: &TableSchema, behind: usize) -> String {
    let parts = table.primary_key.iter().enumerate();
    let parts = parts.map(|(place, column)| format!("{} = ${}", quoted(table, *column), behind + place + 1));
    parts.collect::<Vec<_>>().join(" AND ")
}

impl Compiler<'_> {
    /// Errors: 0A000 for a table whose triggers would have to fire, where a program does not know of them.
    pub(super) fn check_fires_nothing(&self, table: &TableSchema, event: TriggerEvent) -> Result<()> {
        let fires =
            !self.fires_nothing && table.triggers.iter().any(|known| known.is_enabled && known.events.has(event));
        match fires {
            true => {
                let feature =
                    format!("{} in this place on the table \"{}\", which has triggers,", event.word(), table.name);
                Err(SqlError::unsupported(feature))
            }
            false => Ok(()),
        }
    }

    fn schema_of(&self, table: &TableSchema) -> String {
        let known = self.catalog.namespace_numbered(namespace::of(&table.name));
        known.map_or_else(|| namespace::PUBLIC.to_owned(), |known| known.name.clone())
    }

    /// The columns of RETURNING.
    fn returned_columns(
        &mut self,
        list: Option<&[ast::SelectItem]>,
        alias: &str,
        versioned: &VersionedTable,
    ) -> Result<Vec<ResultColumn>> {
        let scope = Scope::table(alias, &versioned.table);
        let named = (alias.to_owned(), versioned.clone());
        let outputs = self.select_list(list.unwrap_or(&[]), &scope, Some(&named)).map_err(Stop::into_error)?;
        Ok(split(outputs).1)
    }

    /// UPDATE; `None`: it fires nothing.
    pub fn firing_update(&mut self, update: &ast::Update) -> Result<Option<FiringStatement>> {
        let named = self.table_factor(&update.table.relation).map_err(Stop::into_error)?;
        let (alias, versioned) = (&named.0, &named.1);
        let table = &versioned.table;
        if table.triggers.is_empty() {
            return Ok(None);
        }
        let pairs = pairs(&update.assignments, table, parse::expression).map_err(Stop::into_error)?;
        let changed: Vec<usize> = pairs.iter().map(|(column, _)| *column).collect();
        let triggers = fired(table, TriggerEvent::Update, &changed);
        if triggers.is_empty() {
            return Ok(None);
        }
        check_keyed(table)?;
        let columns = live(table);
        let mut outputs: Vec<String> =
            columns.iter().map(|column| format!("{}.{}", names::quote(alias), quoted(table, *column))).collect();
        for column in &columns {
            let given = pairs.iter().find(|(known, _)| known == column);
            if given.is_some() {
                check_not_given(table, *column, false)?;
            }
            outputs.push(match given {
                Some((_, value)) => self.given(value, table, *column),
                None => format!("{}.{}", names::quote(alias), quoted(table, *column)),
            });
        }
        let others: &[ast::TableWithJoins] = match &update.from {
            None => &[],
            Some(ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from)) => from,
        };
        let sources = vec![source(&outputs, &update.table.relation, others, update.selection.as_ref())];
        let sets = columns.iter().enumerate();
        let sets: Vec<String> =
            sets.map(|(place, column)| format!("{} = ${}", quoted(table, *column), place + 1)).collect();
        let change = format!(
            "UPDATE {} AS {} SET {} WHERE {}{}",
            names::quote(&table.name),
            names::quote(alias),
            sets.join(", "),
            is_key(table, columns.len()),
            returning(update.returning.as_deref())?
        );
        let returning = self.returned_columns(update.returning.as_deref(), alias, versioned)?;
        let (schema, event) = (self.schema_of(table), TriggerEvent::Update);
        let table = Arc::clone(table);
        let (draws, change) = (Vec::new(), change.into());
        Ok(Some(FiringStatement { event, table, schema, columns, sources, draws, change, returning, triggers }))
    }

    /// DELETE; `None`: it fires nothing.
    pub fn firing_delete(&mut self, delete: &ast::Delete) -> Result<Option<FiringStatement>> {
        let from = match &delete.from {
            ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from) => from,
        };
        let [target] = from.as_slice() else { return Ok(None) };
        let named = self.table_factor(&target.relation).map_err(Stop::into_error)?;
        let (alias, versioned) = (&named.0, &named.1);
        let table = &versioned.table;
        let triggers = fired(table, TriggerEvent::Delete, &[]);
        if triggers.is_empty() {
            return Ok(None);
        }
        check_keyed(table)?;
        let columns = live(table);
        let outputs: Vec<String> =
            columns.iter().map(|column| format!("{}.{}", names::quote(alias), quoted(table, *column))).collect();
        let others = delete.using.as_deref().unwrap_or(&[]);
        let sources = vec![source(&outputs, &target.relation, others, delete.selection.as_ref())];
        let change = format!(
            "DELETE FROM {} AS {} WHERE {}{}",
            names::quote(&table.name),
            names::quote(alias),
            is_key(table, 0),
            returning(delete.returning.as_deref())?
        );
        let returning = self.returned_columns(delete.returning.as_deref(), alias, versioned)?;
        let (schema, event) = (self.schema_of(table), TriggerEvent::Delete);
        let table = Arc::clone(table);
        let (draws, change) = (Vec::new(), change.into());
        Ok(Some(FiringStatement { event, table, schema, columns, sources, draws, change, returning, triggers }))
    }

    /// INSERT; `None`: it fires nothing.
    pub fn firing_insert(&mut self, insert: &ast::Insert) -> Result<Option<FiringStatement>> {
        let ast::TableObject::TableName(name) = &insert.table else { return Ok(None) };
        let versioned = self.table(name).map_err(Stop::into_error)?;
        let table = &versioned.table;
        let triggers = fired(table, TriggerEvent::Insert, &[]);
        let updates = matches!(&insert.on, Some(ast::OnInsert::OnConflict(on)) if matches!(on.action, ast::OnConflictAction::DoUpdate(_)));
        if updates && !table.triggers.is_empty() {
            return Err(SqlError::unsupported("ON CONFLICT DO UPDATE on a table with triggers"));
        }
        if triggers.is_empty() {
            return Ok(None);
        }
        let columns = live(table);
        let targets: Vec<usize> = match insert.columns.as_slice() {
            [] => columns.clone(),
            listed => {
                let place = |name: &ast::ObjectName| -> Result<usize> {
                    let name = names::own_relation(name)?;
                    let found = columns.iter().find(|column| table.columns[**column].name == name);
                    found.copied().ok_or_else(|| crate::sql::set_clauses::no_column(table, &name))
                };
                listed.iter().map(place).collect::<Result<_>>()?
            }
        };
        let (sources, draws) = self.inserted_rows(insert.source.as_deref(), table, &columns, &targets)?;
        let alias = match &insert.table_alias {
            Some(alias) => names::identifier(&alias.alias),
            None => namespace::bare(&table.name).to_owned(),
        };
        let named: Vec<String> = columns.iter().map(|column| quoted(table, *column)).collect();
        let values: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
        let conflict = insert.on.as_ref().map_or_else(String::new, ToString::to_string);
        let change = format!(
            "INSERT INTO {} AS {} ({}) OVERRIDING SYSTEM VALUE VALUES ({}){conflict}{}",
            names::quote(&table.name),
            names::quote(&alias),
            named.join(", "),
            values.join(", "),
            returning(insert.returning.as_deref())?
        );
        let returning = self.returned_columns(insert.returning.as_deref(), &alias, &versioned)?;
        let (schema, event) = (self.schema_of(table), TriggerEvent::Insert);
        let table = Arc::clone(table);
        let change = change.into();
        Ok(Some(FiringStatement { event, table, schema, columns, sources, draws, change, returning, triggers }))
    }

    /// What a column is set to, as an expression of a query: DEFAULT is what it stands for.
    fn given(&self, value: &Expr, table: &TableSchema, column: usize) -> String {
        let is_default = matches!(value, Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"));
        if is_default { default(table, column) } else { format!("({value})") }
    }

    /// The queries that find the rows of an INSERT: all columns, with defaults for those that it does not name; and what is still to be drawn.
    fn inserted_rows(
        &self,
        source: Option<&ast::Query>,
        table: &TableSchema,
        columns: &[usize],
        targets: &[usize],
    ) -> Result<(Vec<Arc<str>>, Vec<(usize, Arc<str>)>)> {
        let of_row = |row: &[Expr]| -> Arc<str> {
            let cell = |column: &usize| match targets.iter().position(|target| target == column) {
                Some(place) if place < row.len() => self.given(&row[place], table, *column),
                _ => default(table, *column),
            };
            let cells: Vec<String> = columns.iter().map(cell).collect();
            format!("SELECT {}", cells.join(", ")).into()
        };
        let Some(source) = source else { return Ok((vec![of_row(&[])], Vec::new())) };
        if let (ast::SetExpr::Values(values), None) = (source.body.as_ref(), &source.with) {
            if values.rows.iter().any(|row| row.len() > targets.len()) {
                let message = "INSERT has more expressions than target columns";
                return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
            }
            // A row alone may draw from sequences.
            return Ok((values.rows.iter().map(|row| of_row(row)).collect(), Vec::new()));
        }
        let named: Vec<String> = (0..targets.len()).map(|place| format!("\"\u{1f}{place}\"")).collect();
        let (mut cells, mut draws) = (Vec::new(), Vec::new());
        for (at, column) in columns.iter().enumerate() {
            cells.push(match targets.iter().position(|target| target == column) {
                Some(place) => named[place].clone(),
                None if draws_of(table, *column) => {
                    draws.push((at, format!("SELECT {}", default(table, *column)).into()));
                    "NULL".to_owned()
                }
                None => default(table, *column),
            });
        }
        let query = format!("SELECT {} FROM ({source}) AS \"\u{1f}\" ({})", cells.join(", "), named.join(", "));
        Ok((vec![query.into()], draws))
    }
}

/// Whether the default of a column draws from a sequence, which no query of several rows does.
fn draws_of(table: &TableSchema, column: usize) -> bool {
    let default = table.columns[column].default.as_deref();
    default.is_some_and(|default| parse::expression(default).is_ok_and(|parsed| sequences::draws(&parsed)))
}

/// The default of a column, as an expression.
fn default(table: &TableSchema, column: usize) -> String {
    table.columns[column].default.as_ref().map_or_else(|| "NULL".to_owned(), |default| format!("({default})"))
}

fn source(
    outputs: &[String],
    target: &ast::TableFactor,
    others: &[ast::TableWithJoins],
    selection: Option<&Expr>,
) -> Arc<str> {
    let mut sql = format!("SELECT {} FROM {target}", outputs.join(", "));
    for other in others {
        sql.push_str(&format!(", {other}"));
    }
    if let Some(condition) = selection {
        sql.push_str(&format!(" WHERE {condition}"));
    }
    sql.into()
}
