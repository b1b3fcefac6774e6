//! CREATE, ALTER and DROP EXTENSION planned as catalog writes (PostgreSQL's `extension.c`).
//!
//! Invariants: an extension's row is all that there is of it, because what it has is built in. What keeps a call of one of its functions relies on the row, so none is left
//! when the extension is gone. Defaults, conditions and views have the catalog's names of functions in them: where those change, these are written anew.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::denials::{denied, denied_for, not_owner};
use crate::sql::extension_functions::{described, last_called, move_calls};
use crate::sql::extension_syntax::{DroppedExtensions, ExtensionAlteration, ExtensionStatement, NewExtension};
use crate::sql::lookup::no_schema;
use crate::sql::names::is_system_schema;
use crate::sql::parse;
use crate::sql::settings::Facts;
use messages::namespace::{self, OWN_TEMPORARY};
use messages::privilege::{Privileges, Rights};
use messages::program::Expression;
use messages::schema::{
    Catalog, CatalogEntry, CommentTarget, ExtensionSchema, IndexKeyPart, NamespaceSchema, Place, TableSchema,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::extensions::{self, EXTENSIONS, PLPGSQL, PLPGSQL_OID};

/// What depends on an extension's function.
enum ExtensionDependent {
    View(String),
    Default { table: String, column: String },
}

/// 42704.
fn no_extension(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("extension \"{name}\" does not exist"))
}

/// Errors: 22023 for what PostgreSQL does not take as part of a file's name.
fn check_word(what: &str, word: &str) -> Result<()> {
    let plural = if what == "extension name" { "Extension names" } else { "Version names" };
    let why = match word {
        "" => "must not be empty",
        word if word.contains("--") => "must not contain \"--\"",
        word if word.starts_with('-') || word.ends_with('-') => "must not begin or end with \"-\"",
        word if word.contains('/') => "must not contain directory separator characters",
        _ => return Ok(()),
    };
    Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid {what}: \"{word}\""))
        .with_detail(format!("{plural} {why}.")))
}

/// The object identifier of an extension, be it one that has a name only.
pub(super) fn extension_number(catalog: &Catalog, name: &str) -> Option<u32> {
    match catalog.extensions.get(name) {
        Some((known, _)) => Some(known.oid),
        None => (name == PLPGSQL.name).then_some(PLPGSQL_OID),
    }
}

impl ExtensionDependent {
    fn described(&self) -> String {
        match self {
            ExtensionDependent::View(name) => format!("view {name}"),
            ExtensionDependent::Default { table, column } => {
                format!("default value for column {column} of table {table}")
            }
        }
    }
}

impl Planner<'_> {
    pub(super) fn extension(&mut self, statement: &ExtensionStatement, facts: &Facts) -> Result<()> {
        match statement {
            ExtensionStatement::Create(new) => self.create_extension(new, facts),
            ExtensionStatement::Alter(name, ExtensionAlteration::Update(to)) => {
                self.update_extension(name, to.as_deref())
            }
            ExtensionStatement::Alter(name, ExtensionAlteration::Move(to)) => self.move_extension(name, to),
            ExtensionStatement::Drop(dropped) => self.drop_extensions(dropped, facts),
        }
    }

    pub(super) fn write_extension(&mut self, known: ExtensionSchema) {
        let key = CatalogEntry::extension_key(&known.name);
        self.write(key, Some(CatalogEntry::Extension(Arc::new(known))));
    }

    fn create_extension(&mut self, new: &NewExtension, facts: &Facts) -> Result<()> {
        check_word("extension name", &new.name)?;
        if extension_number(&self.catalog, &new.name).is_some() {
            let message = format!("extension \"{}\" already exists", new.name);
            if !new.if_not_exists {
                return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
            }
            self.relied.insert(CatalogEntry::extension_key(&new.name));
            self.notice(sqlstate::DUPLICATE_OBJECT, format!("{message}, skipping"));
            return Ok(());
        }
        let Some(known) = extensions::extension(&new.name) else {
            let all: Vec<&str> = EXTENSIONS.iter().map(|known| known.name).collect();
            let message = format!("extension \"{}\" is not available", new.name);
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("The extensions that are built in: {}.", all.join(", ")))
                .with_hint("pg_available_extensions shows them."));
        };
        if let Some(version) = &new.version {
            check_word("extension version name", version)?;
            if version != known.version {
                let message = format!(
                    "extension \"{}\" has no installation script nor update path for version \"{version}\"",
                    known.name
                );
                return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
        }
        let schema = self.schema_of_extension(new.schema.as_deref(), facts)?;
        let may_create =
            self.standing.is_superuser() || self.check_place(Place::Database, Privileges::CREATE, "").is_ok();
        if !may_create {
            return Err(denied(format!("permission denied to create extension \"{}\"", known.name))
                .with_hint("Must have CREATE privilege on current database to create this extension."));
        }
        let oid = self.next_number();
        let created = ExtensionSchema {
            name: known.name.to_owned(),
            oid,
            namespace: schema.oid,
            version: known.version.to_owned(),
            rights: Rights::of(self.standing.role.oid),
        };
        self.check_functions_free(&created, schema.oid)?;
        for _ in known.functions {
            self.next_number();
        }
        self.write_extension(created);
        let comment = CatalogEntry::comment_key(CommentTarget::new(CommentTarget::EXTENSIONS, oid));
        self.write(comment, Some(CatalogEntry::Comment(known.comment.into())));
        Ok(())
    }

    /// The schema that is named, or the first of the search path, which the plan relies on. Errors: 3F000, 0A000.
    fn schema_of_extension(&mut self, named: Option<&str>, facts: &Facts) -> Result<Arc<NamespaceSchema>> {
        let schema = match named {
            Some(name) if is_system_schema(name) || name == OWN_TEMPORARY => {
                return Err(SqlError::unsupported(format!("an extension in the schema {name}")));
            }
            Some(name) => self.catalog.namespace(name).ok_or_else(|| no_schema(name))?,
            None => {
                let mut path = facts.path.iter().filter(|schema| facts.temporary.schema != Some(**schema));
                path.next().and_then(|schema| self.catalog.namespace_numbered(*schema)).ok_or_else(|| {
                    SqlError::new(sqlstate::UNDEFINED_SCHEMA, "no schema has been selected to create in")
                })?
            }
        };
        if schema.temporary.is_some() {
            return Err(SqlError::unsupported("an extension in a temporary schema"));
        }
        self.relied.insert(CatalogEntry::namespace_key(&schema.name));
        Ok(schema)
    }

    /// Errors: 42723 for a procedure that is called like one of its functions, and takes the same.
    fn check_functions_free(&mut self, known: &ExtensionSchema, schema: u32) -> Result<()> {
        for function in known.functions() {
            let name = namespace::within(function.name, schema);
            let found = self.catalog.procedures.get(&name);
            let types =
                found.map(|(found, _)| found.parameters.iter().map(|(_, known)| known.oid()).collect::<Vec<_>>());
            if types.is_some_and(|types| types == function.parameters) {
                return Err(function_exists(function.name));
            }
            self.relied.insert(CatalogEntry::procedure_key(&name));
        }
        Ok(())
    }

    /// Errors: 42723 for a procedure that would be called like a function of an extension, and takes the same.
    pub(super) fn check_no_extension_function(&mut self, name: &str, types: &[u32]) -> Result<()> {
        let Some(provider) = extensions::provider(namespace::bare(name)) else { return Ok(()) };
        self.relied.insert(CatalogEntry::extension_key(provider.name));
        let Some((known, _)) = self.catalog.extension_of(name) else { return Ok(()) };
        let bare = namespace::bare(name);
        match known.functions().iter().any(|function| function.name == bare && function.parameters == types) {
            true => Err(function_exists(bare)),
            false => Ok(()),
        }
    }

    /// An extension that was created. Errors: 42704; 0A000 for what has a name only.
    fn created_extension(&self, name: &str, what: &str) -> Result<Arc<ExtensionSchema>> {
        match self.catalog.extensions.get(name) {
            Some((known, _)) => Ok(known.clone()),
            None if name == PLPGSQL.name => Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, what)),
            None => Err(no_extension(name)),
        }
    }

    fn check_owns_extension(&self, known: &ExtensionSchema) -> Result<()> {
        match self.standing.has(known.rights.owner) {
            true => Ok(()),
            false => Err(not_owner("extension", &known.name)),
        }
    }

    fn update_extension(&mut self, name: &str, to: Option<&str>) -> Result<()> {
        let version = match self.catalog.extensions.get(name) {
            Some((known, _)) => {
                self.check_owns_extension(known)?;
                known.version.clone()
            }
            None if name == PLPGSQL.name => PLPGSQL.version.to_owned(),
            None => return Err(no_extension(name)),
        };
        if let Some(to) = to.filter(|to| *to != version) {
            check_word("extension version name", to)?;
            let message =
                format!("extension \"{name}\" has no update path from version \"{version}\" to version \"{to}\"");
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let message = format!("version \"{version}\" of extension \"{name}\" is already installed");
        self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
        Ok(())
    }

    fn move_extension(&mut self, name: &str, to: &str) -> Result<()> {
        let known = self.created_extension(name, "extension \"plpgsql\" does not support SET SCHEMA")?;
        if is_system_schema(to) || to == OWN_TEMPORARY {
            return Err(SqlError::unsupported(format!("an extension in the schema {to}")));
        }
        let schema = self.catalog.namespace(to).ok_or_else(|| no_schema(to))?;
        if !self.standing.on_schema(&schema.rights).contain(Privileges::CREATE) {
            return Err(denied_for("schema", to));
        }
        self.check_owns_extension(&known)?;
        if schema.temporary.is_some() {
            return Err(SqlError::unsupported("an extension in a temporary schema"));
        }
        if schema.oid == known.namespace {
            return Ok(());
        }
        self.check_functions_free(&known, schema.oid)?;
        self.relied.insert(CatalogEntry::namespace_key(to));
        self.write_extension(ExtensionSchema { namespace: schema.oid, ..ExtensionSchema::clone(&known) });
        let all: Vec<Arc<TableSchema>> = self.catalog.tables.values().map(|known| known.table.clone()).collect();
        for from in all {
            let mut table = TableSchema::clone(&from);
            if self.move_calls_of(&mut table, &known, schema.oid)? {
                self.compile_checks(&mut table)?;
                self.write_table(table);
            }
        }
        Ok(())
    }

    /// Whether a table's defaults and conditions, or a view's query, call a function of an extension, which is in another schema now.
    fn move_calls_of(&self, table: &mut TableSchema, known: &ExtensionSchema, to: u32) -> Result<bool> {
        let mut is_changed = false;
        if table.view.is_some() {
            let mut query = self.view_query(table)?;
            if move_calls(&mut query, known, to) {
                table.view = Some(query.to_string().into());
                is_changed = true;
            }
        }
        let defaults = table.columns.iter_mut().filter_map(|column| column.default.as_mut());
        for text in defaults.chain(table.checks.iter_mut().map(|check| &mut check.text)) {
            let mut expression = parse::expression(text)?;
            if move_calls(&mut expression, known, to) {
                *text = expression.to_string();
                is_changed = true;
            }
        }
        Ok(is_changed)
    }

    fn drop_extensions(&mut self, dropped: &DroppedExtensions, facts: &Facts) -> Result<()> {
        for name in &dropped.names {
            let known = match self.created_extension(name, "dropping the extension \"plpgsql\" is not supported") {
                Ok(known) => known,
                Err(error) if dropped.if_exists && error.sqlstate == sqlstate::UNDEFINED_OBJECT => {
                    let message = format!("{}, skipping", error.message);
                    self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.check_owns_extension(&known)?;
            self.drop_extension(&known, dropped.cascade, facts)?;
        }
        Ok(())
    }

    /// What depends on an extension's functions, in the order in which PostgreSQL tells it, each with what it depends on. Errors: 0A000 for an index or a condition.
    fn dependents_of_extension(
        &self,
        known: &Arc<ExtensionSchema>,
        facts: &Facts,
    ) -> Result<Vec<(ExtensionDependent, String)>> {
        let schema = self.catalog.namespace_numbered(known.namespace);
        let shown = schema.filter(|schema| !facts.path.contains(&schema.oid)).map(|schema| schema.name.clone());
        let function = |place: usize| format!("function {}", described(known, place, shown.as_deref()));
        let mut found: Vec<(usize, u32, ExtensionDependent)> = Vec::new();
        for versioned in self.catalog.tables.values() {
            let table = &versioned.table;
            if table.view.is_some() {
                let place = last_called(&self.view_query(table)?, known);
                found.extend(place.map(|place| (place, table.oid, ExtensionDependent::View(table.name.clone()))));
                continue;
            }
            for column in table.columns.iter().filter(|column| !column.dropped) {
                let Some(default) = &column.default else { continue };
                if let Some(place) = last_called(&parse::expression(default)?, known) {
                    let (table_name, column) = (table.name.clone(), column.name.clone());
                    found.push((place, table.oid, ExtensionDependent::Default { table: table_name, column }));
                }
            }
            check_no_entry_calls(table, known)?;
        }
        found.sort_by_key(|(place, oid, _)| (*place, *oid));
        let mut all = Vec::new();
        let mut views = BTreeSet::new();
        for (place, _, dependent) in found {
            let readers = match &dependent {
                ExtensionDependent::View(name) if !views.insert(name.clone()) => continue,
                ExtensionDependent::View(name) => self.readers(name, &mut views),
                ExtensionDependent::Default { .. } => Vec::new(),
            };
            all.push((dependent, function(place)));
            all.extend(readers);
        }
        Ok(all)
    }

    /// The extensions in a schema.
    pub(super) fn extensions_in(&self, schema: u32) -> Vec<Arc<ExtensionSchema>> {
        let all = self.catalog.extensions.values().map(|(known, _)| known);
        all.filter(|known| known.namespace == schema).cloned().collect()
    }

    /// What depends on an extension's functions, as a detail tells it. Errors: as [`Planner::dependents_of_extension`].
    pub(super) fn lines_on_extension(&self, known: &Arc<ExtensionSchema>, facts: &Facts) -> Result<Vec<String>> {
        let dependents = self.dependents_of_extension(known, facts)?;
        Ok(dependents.iter().map(|(what, on)| format!("{} depends on {on}", what.described())).collect())
    }

    /// Views that read a view, and those that read them.
    fn readers(&self, view: &str, views: &mut BTreeSet<String>) -> Vec<(ExtensionDependent, String)> {
        let mut all = Vec::new();
        for reader in self.views_of(view) {
            if views.insert(reader.name.clone()) {
                all.push((ExtensionDependent::View(reader.name.clone()), format!("view {view}")));
                all.extend(self.readers(&reader.name, views));
            }
        }
        all
    }

    /// Drops an extension. Errors: 2BP01 for what depends on it, unless CASCADE takes that along.
    pub(super) fn drop_extension(&mut self, known: &Arc<ExtensionSchema>, cascade: bool, facts: &Facts) -> Result<()> {
        let dependents = self.dependents_of_extension(known, facts)?;
        if !dependents.is_empty() && !cascade {
            let lines = self.lines_on_extension(known, facts)?;
            return Err(SqlError::needed(format!("extension {}", known.name), lines.join("\n")));
        }
        let told = self.notices.len();
        for (dependent, _) in &dependents {
            match dependent {
                ExtensionDependent::View(name) if !self.catalog.tables.contains_key(name) => {}
                ExtensionDependent::View(name) => self.drop_view(name, true, &[])?,
                ExtensionDependent::Default { table, column } => {
                    let mut table = TableSchema::clone(&*self.table(table)?);
                    for known in table.columns.iter_mut().filter(|known| known.name == *column) {
                        known.default = None;
                    }
                    self.write_table(table);
                }
            }
        }
        self.notices.truncate(told);
        let lines: Vec<String> =
            dependents.iter().map(|(what, _)| format!("drop cascades to {}", what.described())).collect();
        self.tell_cascades(&lines);
        self.write(CatalogEntry::extension_key(&known.name), None);
        Ok(())
    }
}

/// 42723.
fn function_exists(name: &str) -> Box<SqlError> {
    let message = format!("function \"{name}\" already exists with same argument types");
    SqlError::new(sqlstate::DUPLICATE_FUNCTION, message)
}

/// Errors: 0A000 for a condition or an index that calls one of an extension's functions.
fn check_no_entry_calls(table: &TableSchema, known: &ExtensionSchema) -> Result<()> {
    let refuse = |what: String| {
        let feature = format!("dropping an extension that {what} calls a function of");
        Err(SqlError::unsupported(feature).with_hint("Drop that before."))
    };
    for check in &table.checks {
        if last_called(&parse::expression(&check.text)?, known).is_some() {
            return refuse(format!("the constraint \"{}\"", check.name));
        }
    }
    let is_called = |expression: &Expression| {
        let mut found = false;
        expression.visit(&mut |part| {
            let is_own = |name: &str| known.functions().iter().any(|function| function.name == name);
            found |= matches!(part, Expression::Call(name, _) if is_own(name));
        });
        found
    };
    for index in &table.indexes {
        let of_keys = index.keys.iter().filter_map(|key| match &key.part {
            IndexKeyPart::Expression(row) => Some(row),
            IndexKeyPart::Column(_) => None,
        });
        if of_keys.chain(&index.predicate).any(|row| is_called(&row.expression)) {
            return refuse(format!("the index \"{}\"", index.name));
        }
    }
    Ok(())
}
