//! The rows of `information_schema`.

use super::rows::{Row, row};
use super::{Found, SystemCatalog, grants, procedures};
use messages::schema::{Column, Place, TableSchema};
use values::Type;

/// The rows of a view of `information_schema`.
pub fn rows(catalog: &SystemCatalog, name: &str) -> Vec<Row> {
    let database = catalog.session().database.as_str();
    match name {
        "information_schema_catalog_name" => vec![row! { catalog_name: database }],
        "schemata" => ["pg_catalog", "public", "information_schema"]
            .map(|name| {
                let rights = grants::rights(catalog, Place::Schema);
                let owner = if name == "public" { rights.owner } else { super::OWNER_OID };
                row! { catalog_name: database, schema_name: name, schema_owner: catalog.grantee(owner) }
            })
            .into(),
        "tables" => catalog.tables().map(|table| self::table(database, table)).collect(),
        "columns" => catalog.tables().flat_map(|table| columns(database, table)).collect(),
        "table_privileges" => grants::of_tables(catalog, true),
        "role_table_grants" => grants::of_tables(catalog, false),
        "column_privileges" => grants::of_columns(catalog, true),
        "role_column_grants" => grants::of_columns(catalog, false),
        "routine_privileges" => grants::of_procedures(catalog, true),
        "role_routine_grants" => grants::of_procedures(catalog, false),
        "enabled_roles" => grants::enabled(catalog),
        "applicable_roles" => grants::applicable(catalog),
        "routines" => procedures::routines(catalog),
        "parameters" => procedures::parameters(catalog),
        "table_constraints" => catalog.relations().filter_map(|relation| constraint(database, &relation)).collect(),
        "key_column_usage" => catalog.relations().flat_map(|relation| key_columns(database, &relation)).collect(),
        "constraint_column_usage" => {
            catalog.relations().flat_map(|relation| used_columns(database, &relation)).collect()
        }
        _ => vec![],
    }
}

fn table(database: &str, table: &TableSchema) -> Row {
    row! {
        table_catalog: database, table_schema: "public", table_name: table.name.as_str(), table_type: "BASE TABLE",
        is_insertable_into: "YES", is_typed: "NO",
    }
}

fn columns(database: &str, table: &TableSchema) -> Vec<Row> {
    let live = (1_i64..).zip(&table.columns).filter(|(_, column)| !column.dropped);
    live.map(|(number, column)| self::column(database, &table.name, number, column)).collect()
}

fn column(database: &str, table: &str, number: i64, column: &Column) -> Row {
    let length = match column.column_type {
        Type::Varchar(length) => length.map(i64::from),
        Type::Char(length) => Some(i64::from(length)),
        _ => None,
    };
    let octets = match column.column_type {
        Type::Text | Type::Varchar(None) => Some(1 << 30),
        _ => length.map(|length| length * 4),
    };
    let (precision, radix, scale): (Option<i64>, Option<i64>, Option<i64>) = match column.column_type {
        Type::SmallInt => (Some(16), Some(2), Some(0)),
        Type::Integer => (Some(32), Some(2), Some(0)),
        Type::BigInt => (Some(64), Some(2), Some(0)),
        Type::Real => (Some(24), Some(2), None),
        Type::Double => (Some(53), Some(2), None),
        Type::Numeric(Some((precision, scale))) => (Some(i64::from(precision)), Some(10), Some(i64::from(scale))),
        Type::Numeric(None) => (None, Some(10), None),
        _ => (None, None, None),
    };
    let seconds = match column.column_type {
        Type::Date => Some(0_i64),
        Type::Time | Type::Timestamp | Type::TimestampTz | Type::Interval => Some(6),
        _ => None,
    };
    row! {
        table_catalog: database, table_schema: "public", table_name: table, column_name: column.name.as_str(),
        ordinal_position: number, column_default: column.default.as_deref(),
        is_nullable: if column.not_null { "NO" } else { "YES" }, data_type: column.column_type.base_name(),
        character_maximum_length: length, character_octet_length: octets, numeric_precision: precision,
        numeric_precision_radix: radix, numeric_scale: scale, datetime_precision: seconds, udt_catalog: database,
        udt_schema: "pg_catalog", udt_name: column.column_type.catalog_name(), dtd_identifier: number.to_string(),
        is_self_referencing: "NO", is_identity: "NO", identity_cycle: "NO", is_generated: "NEVER", is_updatable: "YES",
    }
}

fn constraint(database: &str, relation: &Found) -> Option<Row> {
    let kind = if relation.constraint_kind()? == "p" { "PRIMARY KEY" } else { "UNIQUE" };
    let distinct = (kind == "UNIQUE").then_some("YES");
    Some(row! {
        constraint_catalog: database, constraint_schema: "public", constraint_name: relation.name(),
        table_catalog: database, table_schema: "public", table_name: relation.table().name.as_str(),
        constraint_type: kind, is_deferrable: "NO", initially_deferred: "NO", enforced: "YES", nulls_distinct: distinct,
    })
}

fn key_columns(database: &str, relation: &Found) -> Vec<Row> {
    constrained(relation)
        .map(|(number, column)| {
            row! {
                constraint_catalog: database, constraint_schema: "public", constraint_name: relation.name(),
                table_catalog: database, table_schema: "public", table_name: relation.table().name.as_str(),
                column_name: column.name.as_str(), ordinal_position: number,
            }
        })
        .collect()
}

fn used_columns(database: &str, relation: &Found) -> Vec<Row> {
    constrained(relation)
        .map(|(_, column)| {
            row! {
                table_catalog: database, table_schema: "public", table_name: relation.table().name.as_str(),
                column_name: column.name.as_str(), constraint_catalog: database, constraint_schema: "public",
                constraint_name: relation.name(),
            }
        })
        .collect()
}

fn constrained<'a>(relation: &Found<'a>) -> impl Iterator<Item = (i64, &'a Column)> {
    let columns = if relation.constraint_kind().is_some() { relation.columns() } else { &[] };
    let table = relation.table();
    (1..).zip(columns.iter().map(|position| &table.columns[*position]))
}
