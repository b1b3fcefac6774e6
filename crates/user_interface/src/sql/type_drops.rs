//! DROP TYPE, and what depends on a type, planned as catalog writes (PostgreSQL's `dependency.c`).
//!
//! Invariant: nothing that has or names a type is left when it is gone.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::denials::OwnerReach;
use crate::sql::domains::{domain_names, has_domain_numbered};
use crate::sql::parse;
use crate::sql::type_syntax::DroppedTypes;
use crate::sql::user_types::{is_of, names_type, no_type, written};
use crate::sql::views::TableChange;
use messages::namespace;
use messages::schema::{CatalogEntry, CheckSchema, Column, DomainSchema, TableSchema, TypeSchema};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::Type;

/// What depends on a type that is to go.
enum TypeDependent {
    Column {
        table: String,
        column: String,
        is_array: bool,
    },
    /// A view, and the column because of which it does.
    View(String, Option<String>),
    Default {
        table: String,
        column: String,
    },
    Procedure(String, String),
    /// A domain over it, by its name and as it is written.
    Domain(String, String),
}

/// What depends on a type, and the type as it is written: itself, or a domain over it.
struct TypeDependence {
    dependent: TypeDependent,
    on: String,
}

impl TypeDependent {
    fn described(&self) -> String {
        match self {
            TypeDependent::Column { table, column, .. } => format!("column {column} of table {table}"),
            TypeDependent::View(name, _) => format!("view {name}"),
            TypeDependent::Default { table, column } => format!("default value for column {column} of table {table}"),
            TypeDependent::Procedure(_, described) => format!("function {described}"),
            TypeDependent::Domain(_, written) => format!("type {written}"),
        }
    }
}

/// Whether a column has a type itself: it goes with it.
fn has_type(column: &Column, known: &TypeSchema) -> bool {
    match known.domain() {
        Some(_) => has_domain_numbered(column, known.oid),
        None => column.domain.is_none() && is_of(column.column_type, known.oid),
    }
}

/// Whether a domain is directly over a type.
fn is_over(domain: &DomainSchema, known: &TypeSchema) -> bool {
    match domain.over {
        Some(over) => over == known.oid,
        None => known.domain().is_none() && is_of(domain.base, known.oid),
    }
}

impl Planner<'_> {
    pub(super) fn drop_types(&mut self, dropped: &DroppedTypes) -> Result<()> {
        for name in &dropped.names {
            let Some((known, _)) = self.catalog.types.get(name).cloned() else {
                self.not_droppable(name, dropped.if_exists)?;
                continue;
            };
            self.check_owns(&known.rights, "type", &known.written, OwnerReach::Schema)?;
            self.drop_type(&known, dropped.cascade)?;
        }
        Ok(())
    }

    /// Errors: 42704, 2BP01.
    fn not_droppable(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let element = namespace::bare(name).strip_prefix('_').map(|element| namespace::beside(name, element));
        let required = |what: &str, by: &str| {
            SqlError::new(sqlstate::DEPENDENT_OBJECTS, format!("cannot drop type {what} because {by} requires it"))
                .with_hint(format!("You can drop {by} instead."))
        };
        if let Some((element, _)) = element.and_then(|element| self.catalog.types.get(&element)) {
            return Err(required(&format!("{}[]", element.written), &format!("type {}", element.written)));
        }
        if let Some(known) = self.catalog.tables.get(name).filter(|known| known.table.sequence.is_none()) {
            let word = known.table.kind().word();
            return Err(required(&written(name), &format!("{word} {}", written(name))));
        }
        if let Ok(built_in) = namespace::bare(name).trim_start_matches("pg_catalog.").parse::<Type>() {
            let shown = built_in.base_name();
            let message = format!("cannot drop type {shown} because it is required by the database system");
            return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message));
        }
        if !if_exists {
            return Err(no_type(name));
        }
        self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("type \"{name}\" does not exist, skipping"));
        Ok(())
    }

    /// What depends on a type, in the order in which PostgreSQL tells it: that in which it does not find them. It looks for younger objects first, and before an
    /// object for what depends on that.
    fn type_dependents(&self, known: &TypeSchema) -> Result<Vec<TypeDependence>> {
        self.check_domains_name_not(known)?;
        let mut tables: Vec<Arc<TableSchema>> = self.catalog.tables.values().map(|known| known.table.clone()).collect();
        tables.sort_by_key(|table| std::cmp::Reverse(table.oid));
        let mut found = Vec::new();
        for (procedure, _) in self.catalog.procedures.values() {
            if known.domain().is_none()
                && procedure.parameters.iter().any(|(_, parameter)| is_of(*parameter, known.oid))
            {
                let types: Vec<&str> = procedure.parameters.iter().map(|(_, known)| known.base_name()).collect();
                let described = format!("{}({})", procedure.name, types.join(","));
                found.push(TypeDependent::Procedure(procedure.name.clone(), described));
            }
        }
        // Views that read a column come with it.
        let mut views = BTreeSet::new();
        let mut of_columns = Vec::new();
        for is_array in [false, true] {
            for table in tables.iter().filter(|table| table.view.is_none()) {
                let mut own = if is_array { Vec::new() } else { self.defaults_naming(table, known)? };
                self.columns_of_type(table, known, is_array, &mut views, &mut own)?;
                of_columns.push((if is_array { 0 } else { table.oid }, own));
            }
        }
        for view in tables.iter().filter(|table| table.view.is_some() && !views.contains(&table.oid)) {
            let shows = view.columns.iter().any(|column| has_type(column, known));
            if shows || names_type(&self.view_query(view)?, &known.name) {
                of_columns.push((view.oid, vec![TypeDependent::View(view.name.clone(), None)]));
            }
        }
        let of_known = |dependent| TypeDependence { dependent, on: known.written.clone() };
        let mut of_columns: Vec<(u32, Vec<TypeDependence>)> =
            of_columns.into_iter().map(|(oid, own)| (oid, own.into_iter().map(of_known).collect())).collect();
        let mut found: Vec<TypeDependence> = found.into_iter().map(of_known).collect();
        for (domain, _) in self.catalog.types.values() {
            if domain.domain().is_some_and(|own| is_over(own, known)) {
                let mut own = self.type_dependents(domain)?;
                own.reverse();
                own.push(of_known(TypeDependent::Domain(domain.name.clone(), domain.written.clone())));
                of_columns.push((domain.oid, own));
            }
        }
        // Types of arrays are as old as their elements'.
        of_columns.sort_by_key(|(oid, _)| std::cmp::Reverse(*oid));
        found.extend(of_columns.into_iter().flat_map(|(_, own)| own));
        found.reverse();
        Ok(found)
    }

    /// A table's defaults that name a type, younger ones first. Errors: 0A000 for a condition that names it.
    fn defaults_naming(&self, table: &TableSchema, known: &TypeSchema) -> Result<Vec<TypeDependent>> {
        let named = |text: &str| parse::expression(text).is_ok_and(|text| names_type(&text, &known.name));
        if let Some(check) = table.checks.iter().find(|check| self.stays(table, check, known) && named(&check.text)) {
            let feature = format!("dropping a type that the constraint \"{}\" names", check.name);
            return Err(SqlError::unsupported(feature).with_hint("Drop the constraint before."));
        }
        let stay = table.columns.iter().rev().filter(|column| !has_type(column, known));
        let naming = stay.filter(|column| column.default.as_ref().is_some_and(|default| named(default)));
        Ok(naming
            .map(|column| TypeDependent::Default { table: table.name.clone(), column: column.name.clone() })
            .collect())
    }

    /// A table's columns of a type, or of arrays of it, each behind the views that read it.
    fn columns_of_type(
        &self,
        table: &TableSchema,
        known: &TypeSchema,
        is_array: bool,
        views: &mut BTreeSet<u32>,
        found: &mut Vec<TypeDependent>,
    ) -> Result<()> {
        let of_type = |column: &&Column| {
            !column.dropped
                && has_type(column, known)
                && (known.domain().is_none() && column.column_type.element().is_some()) == is_array
        };
        for column in table.columns.iter().filter(of_type) {
            let dependent = TypeDependent::Column { table: table.name.clone(), column: column.name.clone(), is_array };
            let mut readers = self.views_reading(table, &TableChange::Column(&column.name))?;
            readers.sort_by_key(|view| std::cmp::Reverse(view.oid));
            for view in readers.into_iter().filter(|view| views.insert(view.oid)) {
                found.push(TypeDependent::View(view.name.clone(), Some(dependent.described())));
            }
            found.push(dependent);
        }
        Ok(())
    }

    /// Whether a condition is over columns that do not go with the type.
    fn stays(&self, table: &TableSchema, check: &CheckSchema, known: &TypeSchema) -> bool {
        !check.columns.iter().any(|column| has_type(&table.columns[*column], known))
    }

    /// Errors: 0A000 for a domain whose conditions or default name an enum that is to go, and that stays itself.
    fn check_domains_name_not(&self, known: &TypeSchema) -> Result<()> {
        for (other, _) in self.catalog.types.values() {
            let Some(domain) = other.domain().filter(|domain| !is_over(domain, known)) else { continue };
            if domain_names(domain, &known.name) {
                let feature = format!("dropping a type that the domain {} names", other.written);
                return Err(SqlError::unsupported(feature).with_hint("Drop the constraint or default before."));
            }
        }
        Ok(())
    }

    /// Drops a type. Errors: 2BP01 for what depends on it, unless CASCADE takes that along.
    pub(super) fn drop_type(&mut self, known: &TypeSchema, cascade: bool) -> Result<()> {
        let dependents = self.type_dependents(known)?;
        let shown = &known.written;
        if !dependents.is_empty() && !cascade {
            let line = |TypeDependence { dependent, on: shown }: &TypeDependence| {
                let what = dependent.described();
                match dependent {
                    TypeDependent::Column { is_array: true, .. } => format!("{what} depends on type {shown}[]"),
                    TypeDependent::View(_, Some(column)) => format!("{what} depends on {column}"),
                    _ => format!("{what} depends on type {shown}"),
                }
            };
            let lines: Vec<String> = dependents.iter().map(line).collect();
            return Err(SqlError::needed(format!("type {shown}"), lines.join("\n")));
        }
        let told = self.notices.len();
        let dependents: Vec<TypeDependent> = dependents.into_iter().map(|depends| depends.dependent).collect();
        for dependent in &dependents {
            if let TypeDependent::View(name, _) = dependent
                && self.catalog.tables.contains_key(name)
            {
                self.drop_view(name, true, &[])?;
            }
        }
        for dependent in &dependents {
            self.drop_type_dependent(dependent)?;
        }
        self.notices.truncate(told);
        let lines: Vec<String> =
            dependents.iter().map(|dependent| format!("drop cascades to {}", dependent.described())).collect();
        self.tell_cascades(&lines);
        self.write(CatalogEntry::type_key(&known.name), None);
        Ok(())
    }

    fn drop_type_dependent(&mut self, dependent: &TypeDependent) -> Result<()> {
        match dependent {
            TypeDependent::Column { table, column, .. } => {
                let mut table = TableSchema::clone(&*self.stored(table)?);
                self.drop_column(&mut table, column, true, true)?;
                self.write_table(table);
            }
            TypeDependent::Default { table, column } => {
                let mut table = TableSchema::clone(&*self.stored(table)?);
                for known in table.columns.iter_mut().filter(|known| known.name == *column) {
                    known.default = None;
                }
                self.write_table(table);
            }
            TypeDependent::Procedure(name, _) => self.write(CatalogEntry::procedure_key(name), None),
            TypeDependent::Domain(name, _) => self.write(CatalogEntry::type_key(name), None),
            TypeDependent::View(..) => {}
        }
        Ok(())
    }
}
