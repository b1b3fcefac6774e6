//! Tables and views that a query gives their columns, planned as catalog writes.
//!
//! Invariant: what takes a view's place has the columns of the one before it, so that nothing that reads the view sees others.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::definitions::check_column_count;
use crate::sql::denials::OwnerReach;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::queried_table::{Makes, QueriedTable};
use crate::sql::settings::Facts;
use crate::sql::types::types_named;
use crate::sql::view_changes;
use messages::Key;
use messages::program::ResultColumn;
use messages::schema::{Catalog, Column, DomainRules, MaterializedQuery, TableSchema};
use privileges::Kind;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Plans the table, over a catalog, for a query of these columns. `own`: catalog rows that the running transaction wrote already.
pub fn plan(
    wanted: &QueriedTable,
    columns: &[ResultColumn],
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    planner.create_queried(wanted, columns)?;
    Ok(planner.finish())
}

impl Planner<'_> {
    fn create_queried(&mut self, wanted: &QueriedTable, columns: &[ResultColumn]) -> Result<()> {
        if wanted.is_refresh() {
            return self.refresh(wanted);
        }
        let name = self.made_name(&wanted.name)?;
        let wanted = &QueriedTable { name, ..wanted.clone() };
        self.check_create(&wanted.name)?;
        let persistence = self.persistence(&wanted.name, wanted.persistence)?;
        if wanted.becomes_temporary {
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("view \"{}\" will be a temporary view", wanted.name));
        }
        if wanted.if_not_exists && self.check_free(&wanted.name).is_err() {
            let message = format!("relation \"{}\" already exists, skipping", wanted.name);
            self.notice(sqlstate::DUPLICATE_TABLE, message);
            return Ok(());
        }
        let is_view = wanted.is_view();
        let mut made = columns_of_query(&wanted.columns, columns, if is_view { "view" } else { "table" })?;
        let materialized = wanted
            .is_materialized()
            .then(|| Box::new(MaterializedQuery { text: wanted.query.clone(), populated: wanted.is_filled() }));
        for column in made.iter_mut().filter(|column| column.column_type.has_labels()) {
            // What the query tells of a type may be no more than its number.
            column.column_type = self.catalog.data_type(column.column_type.oid()).unwrap_or(column.column_type);
            self.use_type(column.column_type)?;
        }
        if !is_view && names_domain(&wanted.query, &self.catalog)? {
            return Err(SqlError::unsupported("a table of a query that casts to a domain"));
        }
        for (column, of) in made.iter_mut().zip(columns) {
            column.domain = self.domain_of(of.origin);
            self.use_type_of(column)?;
        }
        let replaced = match wanted.makes {
            Makes::ReplacedView => self.replaced_view(&wanted.name, &made)?,
            _ => None,
        };
        check_column_count(made.len())?;
        let mut table = match replaced {
            Some(old) => TableSchema { columns: made, view: Some(wanted.query.clone()), ..TableSchema::clone(&old) },
            None => {
                self.check_free(&wanted.name)?;
                self.check_no_type(&wanted.name)?;
                TableSchema {
                    oid: self.next_number(),
                    rights: self.new_rights(Kind::Table, &wanted.name),
                    view: is_view.then(|| wanted.query.clone()),
                    persistence,
                    materialized,
                    ..TableSchema::new(wanted.name.clone(), self.make_storage(), made)
                }
            }
        };
        table.check_option = wanted.check_option;
        if is_view {
            table.changed = view_changes::changed_columns(&table, &self.catalog)?;
        }
        self.write_table(table);
        Ok(())
    }
}

/// Whether a query names a domain.
fn names_domain(query: &str, catalog: &Catalog) -> Result<bool> {
    let parsed = parse::statement(query)?.map(|parsed| parsed.statement);
    let Some(parse::Statement::Sql(tree)) = &parsed else { return Ok(false) };
    let is_domain = |name: &String| catalog.types.get(name).is_some_and(|(known, _)| known.domain().is_some());
    Ok(tree.with(|tree| types_named(tree).iter().any(is_domain)))
}

impl Planner<'_> {
    /// The domain of a table's column, by the numbers of both.
    fn domain_of(&self, (table, number): (u32, i16)) -> Option<Arc<DomainRules>> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        let table = self.catalog.tables.values().map(|known| &known.table).find(|known| known.oid == table)?;
        table.columns.get(place)?.domain.clone()
    }

    /// Takes all rows from a materialized view: its query's are put in anew. Whoever reads the view meanwhile goes on with those that it had. Errors: 42501,
    /// 42809, 55000.
    fn refresh(&mut self, wanted: &QueriedTable) -> Result<()> {
        let mut view = TableSchema::clone(&*self.stored(&wanted.name)?);
        let Some(materialized) = &mut view.materialized else {
            let message = format!("\"{}\" is not a materialized view", wanted.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
        };
        materialized.populated = wanted.is_filled();
        self.check_owns(&view.rights, view.kind().word(), &view.name, OwnerReach::Object)?;
        self.empty_table(view);
        Ok(())
    }
}

/// The columns of a view or table that a query makes. Errors: 42601 for too many names, 42701 for a name twice.
fn columns_of_query(given: &[String], columns: &[ResultColumn], makes: &str) -> Result<Vec<Column>> {
    if given.len() > columns.len() {
        let message = match makes {
            "view" => "CREATE VIEW specifies more column names than columns",
            _ => "too many column names were specified",
        };
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
    }
    let mut made: Vec<Column> = Vec::with_capacity(columns.len());
    for (place, column) in columns.iter().enumerate() {
        let name = names::fold(given.get(place).unwrap_or(&column.name), true);
        if made.iter().any(|other| other.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        made.push(Column::new(name, column.column_type, false));
    }
    Ok(made)
}
