//! Statements that fire triggers: which triggers, the query that finds the rows, and the statement that changes one row.
//!
//! Such a statement is no program: functions run between its rows. Its query finds each row as it is and what it is to become; what the triggers make of that is
//! written row by row, by a statement that fires nothing itself. Invariant: rows of the query have all columns of the table, in their order: as they were
//! (but for INSERT), then as they are to be (but for DELETE).

use crate::errors::{Result, SqlError};
use crate::sql::conflict_syntax::{ConflictPart, part};
use crate::sql::expressions::Compiler;
use crate::sql::firing_statement::{FiringConflict, FiringStatement};
use crate::sql::names;
use crate::sql::parse::{self, Overriding};
use crate::sql::sequences;
use crate::sql::set_clauses::{no_column, pairs, width};
use crate::sql::trigger_conditions;
use crate::sql::types::Stop;
use crate::sql::visits::visit_expressions;
use messages::namespace;
use messages::program::ConflictKey;
use messages::schema::{IndexKey, IndexKeyPart, TableSchema, TriggerEvent, TriggerSchema, TriggerTiming};
use sqlparser::ast::{self, Expr};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The queries that find the rows of an INSERT, and the columns that are still to be drawn for each, with what draws them.
type InsertedRows = (Vec<Arc<str>>, Vec<(usize, Arc<str>)>);

const RETURNING: &str = " RETURNING ";

/// The triggers of a table that an event fires. `changed`: the columns that an UPDATE names.
fn fired(table: &TableSchema, event: TriggerEvent, changed: &[usize]) -> Result<Vec<(TriggerEvent, TriggerSchema)>> {
    let fires = |known: &&TriggerSchema| {
        let is_named = known.columns.is_empty()
            || event != TriggerEvent::Update
            || known.columns.iter().any(|column| changed.contains(column));
        known.is_enabled && known.events.has(event) && is_named
    };
    let one = |known: &TriggerSchema| {
        let condition = known.condition.as_ref().map(|text| trigger_conditions::computed(text, table));
        Ok((event, TriggerSchema { condition: condition.transpose()?, ..known.clone() }))
    };
    table.triggers.iter().filter(fires).map(one).collect()
}

/// Whether triggers take the place of what a statement does to rows of a view.
fn is_instead(triggers: &[(TriggerEvent, TriggerSchema)]) -> bool {
    triggers.iter().any(|(_, trigger)| trigger.timing == TriggerTiming::InsteadOf)
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

/// 0A000 for RETURNING with parameters, or beside other tables: the statement of a row has others, or none.
fn returning(list: Option<&[ast::SelectItem]>, has_others: bool) -> Result<String> {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return Ok(String::new()) };
    if has_others {
        return Err(SqlError::unsupported("RETURNING beside other tables on a table with triggers"));
    }
    for item in list {
        let found = visit_expressions(item, |expression| match expression {
            Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        if found.is_break() {
            return Err(SqlError::unsupported("parameters in RETURNING of a table with triggers"));
        }
    }
    let items: Vec<String> = list.iter().map(ToString::to_string).collect();
    Ok(format!("{RETURNING}{}", items.join(", ")))
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

    /// UPDATE; `None`: it fires nothing. `locks`: its query may lock the rows.
    pub fn firing_update(&mut self, update: &ast::Update, locks: bool) -> Result<Option<FiringStatement>> {
        let named = self.held_target(&update.table.relation).map_err(Stop::into_error)?;
        let (alias, versioned) = (&named.0, &named.1);
        let table = &versioned.table;
        if table.triggers.is_empty() {
            return Ok(None);
        }
        let pairs = pairs(&update.assignments, table, parse::expression).map_err(Stop::into_error)?;
        let changed: Vec<usize> = pairs.iter().map(|(column, _)| *column).collect();
        let triggers = fired(table, TriggerEvent::Update, &changed)?;
        if triggers.is_empty() {
            return Ok(None);
        }
        check_keyed(table)?;
        let columns = live(table);
        let outputs = self.before_and_after(alias, table, &columns, &pairs);
        let others: &[ast::TableWithJoins] = match &update.from {
            None => &[],
            Some(ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from)) => from,
        };
        let is_instead = is_instead(&triggers);
        let locks = locks && !is_instead;
        let sources = vec![source(&outputs, &update.table.relation, others, update.selection.as_ref(), locks)];
        let returned = returning(update.returning.as_deref(), !others.is_empty())?;
        let change = match is_instead {
            true => given_back(table, alias, &columns, &returned),
            false => Some(update_of_row(table, alias, &columns, &returned)),
        };
        let again = (!is_instead).then(|| row_again(table, &columns));
        let schema = self.schema_of(table);
        Ok(Some(FiringStatement {
            event: TriggerEvent::Update,
            table: Arc::clone(table),
            schema,
            is_instead,
            named: changed,
            columns,
            sources,
            draws: Vec::new(),
            change,
            again,
            conflict: None,
            triggers,
        }))
    }

    /// All columns as they are, then as they are to become, as expressions.
    fn before_and_after(
        &self,
        alias: &str,
        table: &TableSchema,
        columns: &[usize],
        pairs: &[(usize, Cow<Expr>)],
    ) -> Vec<String> {
        let named = |column: &usize| format!("{}.{}", names::quote(alias), quoted(table, *column));
        let mut outputs: Vec<String> = columns.iter().map(named).collect();
        outputs.extend(columns.iter().map(|column| match pairs.iter().find(|(known, _)| known == column) {
            Some((_, value)) => self.given(value, table, *column),
            None => named(column),
        }));
        outputs
    }

    /// DELETE; `None`: it fires nothing. `locks`: its query may lock the rows.
    pub fn firing_delete(&mut self, delete: &ast::Delete, locks: bool) -> Result<Option<FiringStatement>> {
        let from = match &delete.from {
            ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from) => from,
        };
        let [target] = from.as_slice() else { return Ok(None) };
        let named = self.held_target(&target.relation).map_err(Stop::into_error)?;
        let (alias, versioned) = (&named.0, &named.1);
        let table = &versioned.table;
        let triggers = fired(table, TriggerEvent::Delete, &[])?;
        if triggers.is_empty() {
            return Ok(None);
        }
        check_keyed(table)?;
        let columns = live(table);
        let outputs: Vec<String> =
            columns.iter().map(|column| format!("{}.{}", names::quote(alias), quoted(table, *column))).collect();
        let others = delete.using.as_deref().unwrap_or(&[]);
        let is_instead = is_instead(&triggers);
        let locks = locks && !is_instead;
        let sources = vec![source(&outputs, &target.relation, others, delete.selection.as_ref(), locks)];
        let returned = returning(delete.returning.as_deref(), !others.is_empty())?;
        let (name, called) = (names::quote(&table.name), names::quote(alias));
        let change = match is_instead {
            true => given_back(table, alias, &columns, &returned),
            false => Some(format!("DELETE FROM {name} AS {called} WHERE {}{returned}", is_key(table, 0)).into()),
        };
        let again = (!is_instead).then(|| row_again(table, &columns));
        let schema = self.schema_of(table);
        Ok(Some(FiringStatement {
            event: TriggerEvent::Delete,
            table: Arc::clone(table),
            schema,
            is_instead,
            named: Vec::new(),
            columns,
            sources,
            draws: Vec::new(),
            change,
            again,
            conflict: None,
            triggers,
        }))
    }

    /// INSERT, which has so many parameters, and whose query has so many columns if it was described; `None`: it fires nothing.
    pub fn firing_insert(
        &mut self,
        insert: &ast::Insert,
        parameters: usize,
        described: usize,
    ) -> Result<Option<FiringStatement>> {
        let ast::TableObject::TableName(name) = &insert.table else { return Ok(None) };
        let versioned = self.table(name).map_err(Stop::into_error)?;
        let table = &versioned.table;
        let alias = match &insert.table_alias {
            Some(alias) => names::identifier(&alias.alias),
            None => namespace::bare(&table.name).to_owned(),
        };
        let columns = live(table);
        let mut triggers = fired(table, TriggerEvent::Insert, &[])?;
        let on = match &insert.on {
            Some(ast::OnInsert::OnConflict(on)) => Some(on),
            _ => None,
        };
        let returned = returning(insert.returning.as_deref(), false)?;
        let (mut conflict, mut kept, mut named) = (None, String::new(), Vec::<usize>::new());
        match on.map(|on| (on, &on.action)) {
            Some((on, ast::OnConflictAction::DoUpdate(update))) => {
                let pairs = pairs(&update.assignments, table, parse::expression).map_err(Stop::into_error)?;
                named = pairs.iter().map(|(column, _)| *column).collect();
                triggers.extend(fired(table, TriggerEvent::Update, &named)?);
                if !triggers.is_empty() {
                    check_keyed(table)?;
                    let mut outputs = self.before_and_after(&alias, table, &columns, &pairs);
                    let condition = update.selection.as_ref().map_or_else(|| "true".to_owned(), ToString::to_string);
                    outputs.push(format!("({condition})"));
                    let key = self.conflict_columns(on, table)?;
                    let find = find_conflict(table, &alias, &columns, &key, &outputs, parameters);
                    let change = update_of_row(table, &alias, &columns, &returned);
                    conflict = Some(FiringConflict { find, change });
                }
            }
            Some((on, ast::OnConflictAction::DoNothing)) => {
                check_plain_target(on)?;
                kept = format!(" {on}");
            }
            None => {}
        }
        if triggers.is_empty() {
            return Ok(None);
        }
        let targets = insert_targets(insert, table, described)?;
        let (sources, draws) = self.inserted_rows(insert.source.as_deref(), table, &columns, &targets)?;
        let is_instead = is_instead(&triggers);
        let change = match is_instead {
            true => given_back(table, &alias, &columns, &returned),
            false => Some(insert_of_row(table, &alias, &columns, &format!("{kept}{returned}"))),
        };
        let schema = self.schema_of(table);
        let again = conflict.as_ref().map(|_| row_again(table, &columns));
        Ok(Some(FiringStatement {
            event: TriggerEvent::Insert,
            table: Arc::clone(table),
            schema,
            is_instead,
            columns,
            named,
            sources,
            draws,
            change,
            again,
            conflict,
            triggers,
        }))
    }

    /// COPY FROM, whose data has values for these columns; `None`: it fires nothing.
    pub fn firing_copy(&mut self, table: &Arc<TableSchema>, targets: &[usize]) -> Result<Option<FiringStatement>> {
        let triggers = fired(table, TriggerEvent::Insert, &[])?;
        let is_instead = is_instead(&triggers);
        if triggers.is_empty() || (table.view.is_some() && !is_instead) {
            return Ok(None);
        }
        self.check_not_held(table)?;
        let columns = live(table);
        let computed = columns.iter().enumerate();
        let computed = computed.filter(|(_, column)| !targets.contains(column) && has_default(table, **column));
        let draws = computed.map(|(place, column)| (place, format!("SELECT {}", default(table, *column)).into()));
        Ok(Some(FiringStatement {
            event: TriggerEvent::Insert,
            table: Arc::clone(table),
            schema: self.schema_of(table),
            is_instead,
            draws: draws.collect(),
            change: (!is_instead).then(|| insert_of_row(table, namespace::bare(&table.name), &columns, "")),
            columns,
            named: Vec::new(),
            sources: Vec::new(),
            again: None,
            conflict: None,
            triggers,
        }))
    }

    /// The columns of the key that ON CONFLICT DO UPDATE names. Errors: 0A000 for one that is not of columns alone.
    fn conflict_columns(&self, on: &ast::OnConflict, table: &TableSchema) -> Result<Vec<usize>> {
        check_plain_target(on)?;
        let keys = self.conflict_keys(on, table).map_err(Stop::into_error)?;
        let index = match keys.first() {
            Some(ConflictKey::Index(place)) if !keys.contains(&ConflictKey::PrimaryKey) => &table.indexes[*place],
            _ => return Ok(table.primary_key.clone()),
        };
        let column = |key: &IndexKey| match key.part {
            IndexKeyPart::Column(column) => Some(column),
            IndexKeyPart::Expression(_) => None,
        };
        let columns: Option<Vec<usize>> = index.keys.iter().map(column).collect();
        columns.filter(|_| index.predicate.is_none()).ok_or_else(beyond_columns)
    }

    /// What a column is set to, as an expression of a query: DEFAULT is what it stands for.
    fn given(&self, value: &Expr, table: &TableSchema, column: usize) -> String {
        let is_default = matches!(value, Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"));
        if is_default { default(table, column) } else { format!("({value})") }
    }

    /// Whether the values that are given for a column are not taken: OVERRIDING USER VALUE.
    fn is_overridden(&self, table: &TableSchema, column: usize) -> bool {
        self.overriding == Some(Overriding::User) && table.columns[column].identity.is_some()
    }

    /// The queries that find the rows of an INSERT: all columns, with defaults for those that it does not name; and what is still to be drawn.
    fn inserted_rows(
        &self,
        source: Option<&ast::Query>,
        table: &TableSchema,
        columns: &[usize],
        targets: &[usize],
    ) -> Result<InsertedRows> {
        let of_row = |row: &[Expr]| -> Arc<str> {
            let cell = |column: &usize| match targets.iter().position(|target| target == column) {
                Some(_) if self.is_overridden(table, *column) => default(table, *column),
                Some(place) if place < row.len() => self.given(&row[place], table, *column),
                _ => default(table, *column),
            };
            let cells: Vec<String> = columns.iter().map(cell).collect();
            format!("SELECT {}", cells.join(", ")).into()
        };
        let Some(source) = source else { return Ok((vec![of_row(&[])], Vec::new())) };
        if let (ast::SetExpr::Values(values), None) = (source.body.as_ref(), &source.with) {
            // A row alone may draw from sequences.
            return Ok((values.rows.iter().map(|row| of_row(row)).collect(), Vec::new()));
        }
        let named: Vec<String> = (0..targets.len()).map(|place| format!("\"\u{1f}{place}\"")).collect();
        let (mut cells, mut draws) = (Vec::new(), Vec::new());
        for (at, column) in columns.iter().enumerate() {
            let given = targets.iter().position(|target| target == column);
            cells.push(match given.filter(|_| !self.is_overridden(table, *column)) {
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

fn has_default(table: &TableSchema, column: usize) -> bool {
    table.columns[column].default.is_some()
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
    locks: bool,
) -> Arc<str> {
    let mut sql = format!("SELECT {} FROM {target}", outputs.join(", "));
    for other in others {
        sql.push_str(&format!(", {other}"));
    }
    if let Some(condition) = selection {
        sql.push_str(&format!(" WHERE {condition}"));
    }
    if locks {
        sql.push_str(" FOR UPDATE");
    }
    sql.into()
}

/// The columns that an INSERT gives values to, by their places.
fn insert_targets(insert: &ast::Insert, table: &TableSchema, described: usize) -> Result<Vec<usize>> {
    let place = |name: &ast::ObjectName| -> Result<usize> {
        let name = names::own_relation(name)?;
        table.column(&name).ok_or_else(|| no_column(table, &name))
    };
    let mut targets: Vec<usize> = match insert.columns.as_slice() {
        [] => (0..table.columns.len()).filter(|column| !table.columns[*column].dropped).collect(),
        listed => listed.iter().map(place).collect::<Result<_>>()?,
    };
    let width = match described {
        0 => insert.source.as_deref().and_then(|source| width(&source.body)),
        known => Some(known),
    };
    targets.truncate(width.unwrap_or(targets.len()));
    Ok(targets)
}

/// The statement that inserts one row: parameters are its columns.
fn insert_of_row(table: &TableSchema, alias: &str, columns: &[usize], rest: &str) -> Arc<str> {
    let named: Vec<String> = columns.iter().map(|column| quoted(table, *column)).collect();
    let values: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
    let (name, alias) = (names::quote(&table.name), names::quote(alias));
    let (named, values) = (named.join(", "), values.join(", "));
    format!("INSERT INTO {name} AS {alias} ({named}) OVERRIDING SYSTEM VALUE VALUES ({values}){rest}").into()
}

/// The statement that changes one row: parameters are its columns, and then those of its key as it was.
fn update_of_row(table: &TableSchema, alias: &str, columns: &[usize], returning: &str) -> Arc<str> {
    let sets = columns.iter().enumerate();
    let sets: Vec<String> =
        sets.map(|(place, column)| format!("{} = ${}", quoted(table, *column), place + 1)).collect();
    let (name, alias, sets) = (names::quote(&table.name), names::quote(alias), sets.join(", "));
    format!("UPDATE {name} AS {alias} SET {sets} WHERE {}{returning}", is_key(table, columns.len())).into()
}

/// The query of what a statement on a view gives back of a row, whose values are its parameters; none: nothing.
fn given_back(table: &TableSchema, alias: &str, columns: &[usize], returning: &str) -> Option<Arc<str>> {
    let items = returning.strip_prefix(RETURNING)?;
    let cells = columns.iter().enumerate();
    let cells = cells.map(|(place, column)| format!("${} AS {}", place + 1, quoted(table, *column)));
    let cells = cells.collect::<Vec<_>>().join(", ");
    Some(format!("SELECT {items} FROM (SELECT {cells}) AS {}", names::quote(alias)).into())
}

/// The query of a row by its key.
fn row_again(table: &TableSchema, columns: &[usize]) -> Arc<str> {
    let named: Vec<String> = columns.iter().map(|column| quoted(table, *column)).collect();
    format!("SELECT {} FROM {} WHERE {}", named.join(", "), names::quote(&table.name), is_key(table, 0)).into()
}

/// The query of [`FiringConflict::find`]: the row is `excluded` there.
fn find_conflict(
    table: &TableSchema,
    alias: &str,
    columns: &[usize],
    key: &[usize],
    outputs: &[String],
    parameters: usize,
) -> Arc<str> {
    let cells = columns.iter().enumerate();
    let cells = cells.map(|(place, column)| format!("${} AS {}", parameters + place + 1, quoted(table, *column)));
    let alias = names::quote(alias);
    let alike = key.iter().map(|column| {
        let column = quoted(table, *column);
        format!("{alias}.{column} = excluded.{column}")
    });
    format!(
        "SELECT {} FROM {} AS {alias}, (SELECT {}) AS excluded WHERE {}",
        outputs.join(", "),
        names::quote(&table.name),
        cells.collect::<Vec<_>>().join(", "),
        alike.collect::<Vec<_>>().join(" AND ")
    )
    .into()
}

/// 0A000 for a target that is not of columns alone.
fn check_plain_target(on: &ast::OnConflict) -> Result<()> {
    let Some(ast::ConflictTarget::Columns(parts)) = &on.conflict_target else { return Ok(()) };
    match parts.iter().all(|name| matches!(part(name), ConflictPart::Name(_))) {
        true => Ok(()),
        false => Err(beyond_columns()),
    }
}

fn beyond_columns() -> Box<SqlError> {
    SqlError::unsupported("ON CONFLICT with an expression or a condition on a table with triggers")
}
