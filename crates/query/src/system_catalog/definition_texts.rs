//! Indexes and constraints as SQL text, for `pg_get_indexdef` and its like.

use super::{Found, SystemCatalog};
use messages::expression_sql::{SqlStyle, quoted};
use messages::schema::{ForeignKeySchema, OnChange, TableSchema};

/// `CREATE INDEX` as PostgreSQL prints it; `None` for a table.
pub(super) fn index(catalog: &SystemCatalog, relation: &Found, style: SqlStyle) -> Option<String> {
    let (index, table) = (relation.index()?, relation.table());
    let unique = if index.unique { "UNIQUE " } else { "" };
    let on = match style {
        SqlStyle::Pretty => catalog.name_in_path(&table.name),
        SqlStyle::Complete | SqlStyle::Source => catalog.qualified_name(&table.name),
    };
    let (name, method, keys) = (quoted(relation.name()), index.method.name(), index.keys_sql(table, style));
    let mut text = format!("CREATE {unique}INDEX {name} ON {on} USING {method} ({keys})");
    if !index.included.is_empty() {
        let names: Vec<String> = index.included.iter().map(|position| quoted(&table.columns[*position].name)).collect();
        text += &format!(" INCLUDE ({})", names.join(", "));
    }
    if !index.options.is_empty() {
        let option = |option: &String| match option.split_once('=') {
            Some((name, value)) => format!("{name}='{value}'"),
            None => option.clone(),
        };
        text += &format!(" WITH ({})", index.options.iter().map(option).collect::<Vec<_>>().join(", "));
    }
    if let Some(predicate) = &index.predicate {
        text += &format!(" WHERE {}", predicate.sql(table, style));
    }
    Some(text)
}

fn columns(relation: &Found) -> String {
    let names: Vec<String> =
        relation.columns().iter().map(|position| quoted(&relation.table().columns[*position].name)).collect();
    names.join(", ")
}

/// `pg_get_indexdef(oid)`, or of one column (from 1). `None` when there is no such index.
pub fn index_definition(catalog: &SystemCatalog, oid: u32, column: i32, style: SqlStyle) -> Option<String> {
    let relation = catalog.find(oid)?;
    if column == 0 {
        return index(catalog, &relation, style);
    }
    let (index, table) = (relation.index()?, relation.table());
    // A place that the index does not have is empty.
    let Ok(place) = usize::try_from(column - 1) else { return Some(String::new()) };
    if place < index.keys.len() {
        return Some(index.key_sql(table, place, style));
    }
    let included = index.included.get(place - index.keys.len());
    Some(included.map_or_else(String::new, |position| quoted(&table.columns[*position].name)))
}

fn foreign_key(catalog: &SystemCatalog, child: &TableSchema, key: &ForeignKeySchema, parent: &TableSchema) -> String {
    let names = |table: &TableSchema, columns: &[usize]| {
        let names: Vec<String> = columns.iter().map(|position| quoted(&table.columns[*position].name)).collect();
        names.join(", ")
    };
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        names(child, &key.columns),
        catalog.name_in_path(&parent.name),
        names(parent, &key.parent_columns)
    );
    text += if key.is_full { " MATCH FULL" } else { "" };
    for (when, on_change) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        if on_change != OnChange::NoAction {
            text += &format!(" ON {when} {}", change_words(on_change));
        }
    }
    text += if key.is_deferrable { " DEFERRABLE" } else { "" };
    text += if key.is_deferred { " INITIALLY DEFERRED" } else { "" };
    text += if key.is_valid { "" } else { " NOT VALID" };
    text
}

/// What is done with rows that refer to what has gone, in SQL.
pub(super) fn change_words(on_change: OnChange) -> &'static str {
    match on_change {
        OnChange::NoAction => "NO ACTION",
        OnChange::Restrict => "RESTRICT",
        OnChange::Cascade => "CASCADE",
        OnChange::SetNull => "SET NULL",
        OnChange::SetDefault => "SET DEFAULT",
    }
}

/// `pg_get_constraintdef(oid)`. `None` when there is no such constraint.
pub fn constraint_definition(catalog: &SystemCatalog, oid: u32, style: SqlStyle) -> Option<String> {
    if let Some((_, domain, check)) = catalog.domain_checks().find(|(_, _, check)| check.oid == oid) {
        let validity = if check.is_valid { "" } else { " NOT VALID" };
        return Some(format!("CHECK ({}){validity}", domain.condition_sql(check, style)));
    }
    if let Some(check) = catalog.plain_tables().flat_map(|table| &table.checks).find(|check| check.oid == oid) {
        let validity = if check.is_valid { "" } else { " NOT VALID" };
        return Some(format!("CHECK (({})){validity}", check.text));
    }
    if let Some((child, key, parent)) = catalog.foreign_keys().find(|(_, key, _)| key.oid == oid) {
        return Some(foreign_key(catalog, child, key, parent));
    }
    let relation = catalog.find(oid)?;
    let kind = if relation.constraint_kind()? == "p" { "PRIMARY KEY" } else { "UNIQUE" };
    Some(format!("{kind} ({})", columns(&relation)))
}
