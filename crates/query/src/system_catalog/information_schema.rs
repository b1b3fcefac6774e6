//! The rows of `information_schema`.

use super::definition_texts::change_words;
use super::rows::{Row, row};
use super::{Found, SystemCatalog, grants, procedures};
use messages::expression_sql::SqlStyle;
use messages::namespace::{self, bare};
use messages::schema::{CheckSchema, Column, ForeignKeySchema, Identity, SequenceSchema, TableSchema};
use messages::schema::{TriggerEvent, ViewCheckOption};
use values::{IntervalModifier, Type};

/// The rows of a view of `information_schema`.
pub fn rows(catalog: &SystemCatalog, name: &str) -> Vec<Row> {
    match name {
        "information_schema_catalog_name" => vec![row! { catalog_name: catalog.database() }],
        "schemata" => {
            let system = ["pg_catalog", "information_schema"].map(|name| (name.to_owned(), super::OWNER_OID));
            let own = catalog.schemas().into_iter().map(|schema| (schema.name.clone(), schema.rights.owner));
            system
                .into_iter()
                .chain(own)
                .map(|(name, owner)| {
                    row! { catalog_name: catalog.database(), schema_name: name, schema_owner: catalog.grantee(owner) }
                })
                .collect()
        }
        "sequences" => catalog.sequences().map(|(table, sequence)| self::sequence(catalog, table, sequence)).collect(),
        "tables" => of_rows(catalog).map(|table| self::table(catalog, table)).collect(),
        "views" => catalog.views().map(|(view, text)| self::view(catalog, view, text)).collect(),
        "columns" => of_rows(catalog).flat_map(|table| columns(catalog, table)).collect(),
        "table_privileges" => grants::of_tables(catalog, true),
        "role_table_grants" => grants::of_tables(catalog, false),
        "column_privileges" => grants::of_columns(catalog, true),
        "role_column_grants" => grants::of_columns(catalog, false),
        "routine_privileges" => grants::of_procedures(catalog, true),
        "role_routine_grants" => grants::of_procedures(catalog, false),
        "enabled_roles" => grants::enabled(catalog),
        "applicable_roles" => grants::applicable(catalog),
        "routines" => procedures::routines(catalog),
        "triggers" => procedures::trigger_information(catalog),
        "parameters" => procedures::parameters(catalog),
        "table_constraints" => {
            let keys = catalog.relations().filter_map(|relation| constraint(catalog, &relation));
            let checks = checks(catalog).map(|(table, check)| check_constraint(catalog, table, check));
            let foreign = catalog.foreign_keys().map(|(child, key, _)| foreign_key(catalog, child, key));
            keys.chain(checks).chain(foreign).collect()
        }
        "check_constraints" => {
            let of_tables = checks(catalog).map(|(table, check)| check_clause(catalog, table, check));
            let of_domains = catalog.domain_checks().map(|(known, domain, check)| {
                let text = domain.condition_sql(check, SqlStyle::Complete);
                row! {
                    constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&known.name),
                    constraint_name: check.name.as_str(), check_clause: format!("({text})"),
                }
            });
            of_tables.chain(of_domains).collect()
        }
        "domains" => catalog.domains().map(|(known, domain)| catalog.domain_information(known, domain)).collect(),
        "domain_constraints" => catalog
            .domain_checks()
            .map(|(known, _, check)| catalog.domain_constraint_information(known, check))
            .collect(),
        "column_domain_usage" => of_rows(catalog).flat_map(|table| domain_uses(catalog, table)).collect(),
        "key_column_usage" => {
            let keys = catalog.relations().flat_map(|relation| key_columns(catalog, &relation));
            let foreign =
                catalog.foreign_keys().flat_map(|(child, key, parent)| referring_columns(catalog, child, key, parent));
            keys.chain(foreign).collect()
        }
        "referential_constraints" => catalog
            .foreign_keys()
            .map(|(child, key, parent)| referential_constraint(catalog, child, key, parent))
            .collect(),
        "constraint_column_usage" => all_used_columns(catalog),
        _ => vec![],
    }
}

/// The columns that keys have, or refer to.
fn all_used_columns(catalog: &SystemCatalog) -> Vec<Row> {
    let keys = catalog.relations().flat_map(|relation| used_columns(catalog, &relation));
    let foreign = catalog.foreign_keys();
    let foreign = foreign.flat_map(|(child, key, parent)| referred_columns(catalog, child, key, parent));
    keys.chain(foreign).collect()
}

/// Tables and views.
fn of_rows(catalog: &SystemCatalog) -> impl Iterator<Item = &TableSchema> {
    let all = catalog.base_tables().chain(catalog.views().map(|(view, _)| view));
    all.filter(|table| !catalog.is_others_temporary(namespace::of(&table.name)))
}

fn view(catalog: &SystemCatalog, view: &TableSchema, text: &str) -> Row {
    let by_trigger = |event| yes_or_no(view.triggers.iter().any(|trigger| trigger.is_instead_of(event)));
    row! {
        table_catalog: catalog.database(), table_schema: catalog.schema_of(&view.name), table_name: bare(&view.name), view_definition: catalog.shown(&format!(" {text};")),
        check_option: view.check_option.map_or("NONE", |option| match option {
            ViewCheckOption::Local => "LOCAL",
            ViewCheckOption::Cascaded => "CASCADED",
        }),
        is_updatable: yes_or_no(!view.changed.is_empty()), is_insertable_into: yes_or_no(!view.changed.is_empty()), is_trigger_updatable: by_trigger(TriggerEvent::Update),
        is_trigger_deletable: by_trigger(TriggerEvent::Delete), is_trigger_insertable_into: by_trigger(TriggerEvent::Insert),
    }
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "YES" } else { "NO" }
}

fn table(catalog: &SystemCatalog, table: &TableSchema) -> Row {
    row! {
        table_catalog: catalog.database(), table_schema: catalog.schema_of(&table.name), table_name: bare(&table.name), table_type: match table.view {
            _ if table.persistence.is_temporary() => "LOCAL TEMPORARY",
            Some(_) => "VIEW",
            None => "BASE TABLE",
        },
        is_insertable_into: yes_or_no(table.view.is_none() || !table.changed.is_empty()), is_typed: "NO",
    }
}

fn sequence(catalog: &SystemCatalog, table: &TableSchema, sequence: &SequenceSchema) -> Row {
    let bits = match sequence.data_type {
        Type::SmallInt => 16_i64,
        Type::Integer => 32,
        _ => 64,
    };
    row! {
        sequence_catalog: catalog.database(), sequence_schema: catalog.schema_of(&table.name), sequence_name: bare(&table.name),
        data_type: sequence.data_type.base_name(), numeric_precision: bits, numeric_precision_radix: 2_i64,
        numeric_scale: 0_i64, start_value: sequence.start.to_string(), minimum_value: sequence.minimum.to_string(),
        maximum_value: sequence.maximum.to_string(), increment: sequence.increment.to_string(),
        cycle_option: if sequence.cycle { "YES" } else { "NO" },
    }
}

/// What an identity column's row says of its sequence.
fn identity(catalog: &SystemCatalog, table: &TableSchema, position: usize) -> Row {
    let generation = match table.columns[position].identity {
        None => return row! { is_identity: "NO", identity_cycle: "NO" },
        Some(Identity::Always) => "ALWAYS",
        Some(Identity::ByDefault) => "BY DEFAULT",
    };
    let owned = catalog.sequences().find(|(_, sequence)| sequence.owned_by == Some((table.oid, position)));
    let number = |of: fn(&SequenceSchema) -> i64| owned.map(|(_, sequence)| of(sequence).to_string());
    let cycles = owned.is_some_and(|(_, sequence)| sequence.cycle);
    row! {
        is_identity: "YES", identity_generation: generation, identity_start: number(|sequence| sequence.start),
        identity_increment: number(|sequence| sequence.increment), identity_maximum: number(|sequence| sequence.maximum),
        identity_minimum: number(|sequence| sequence.minimum), identity_cycle: if cycles { "YES" } else { "NO" },
    }
}

/// What a column's row says of how it is generated.
fn generation(catalog: &SystemCatalog, table: &TableSchema, position: usize) -> Row {
    match table.generated_column(position) {
        None => row! { is_generated: "NEVER" },
        Some(own) => {
            let text = own.expression.sql(table, SqlStyle::Complete);
            row! { is_generated: "ALWAYS", generation_expression: catalog.shown(&text) }
        }
    }
}

fn columns(catalog: &SystemCatalog, table: &TableSchema) -> Vec<Row> {
    let live = (1_i64..).zip(&table.columns).filter(|(_, column)| !column.dropped);
    live.map(|(number, column)| {
        let mut row = self::column(catalog, &table.name, number, column);
        row.extend(identity(catalog, table, number as usize - 1));
        row.extend(generation(catalog, table, number as usize - 1));
        let is_changed = table.view.is_none() || table.changed.contains(&(number as usize - 1));
        row.extend(row! { is_updatable: yes_or_no(is_changed) });
        row
    })
    .collect()
}

pub(super) fn column(catalog: &SystemCatalog, table: &str, number: i64, column: &Column) -> Row {
    let length = match column.column_type {
        Type::Varchar(length) => length.map(i64::from),
        Type::Char(length) => Some(i64::from(length)),
        Type::Bit(length) => Some(length).filter(|length| *length > 0).map(i64::from),
        Type::VarBit(length) => length.map(i64::from),
        _ => None,
    };
    let octets = match column.column_type {
        Type::Text | Type::Varchar(None) => Some(1 << 30),
        Type::Bit(_) | Type::VarBit(_) => None,
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
        Type::Time(digits) | Type::TimeTz(digits) | Type::Timestamp(digits) | Type::TimestampTz(digits) => {
            Some(digits.map_or(6, i64::from))
        }
        Type::Interval(modifier) => Some(modifier.and_then(IntervalModifier::digits).map_or(6, i64::from)),
        _ => None,
    };
    let fields = match column.column_type {
        Type::Interval(Some(modifier)) => modifier.fields().map(|fields| fields.to_uppercase()),
        _ => None,
    };
    let domain = catalog.domain_of(column);
    let not_null = column.not_null || domain.is_some_and(|(_, domain)| domain.not_null);
    let mut shown = row! {
        table_catalog: catalog.database(), table_schema: catalog.schema_of(table), table_name: bare(table), column_name: column.name.as_str(),
        ordinal_position: number, column_default: column.default.as_deref().filter(|_| column.identity.is_none()).map(|text| catalog.shown(text)),
        is_nullable: if not_null { "NO" } else { "YES" }, data_type: shown_type(column.column_type),
        character_maximum_length: length, character_octet_length: octets, numeric_precision: precision,
        numeric_precision_radix: radix, numeric_scale: scale, datetime_precision: seconds, interval_type: fields, udt_catalog: catalog.database(),
        udt_schema: catalog.schema_of_type(column.column_type), udt_name: column.column_type.catalog_name(), dtd_identifier: number.to_string(),
        is_self_referencing: "NO",
    };
    shown.extend(domain.into_iter().flat_map(|(known, _)| catalog.domain_names(known)));
    shown
}

/// The columns of a table that have domains.
fn domain_uses(catalog: &SystemCatalog, table: &TableSchema) -> Vec<Row> {
    let live = table.columns.iter().filter(|column| !column.dropped);
    let of_domain = live.filter_map(|column| Some((column, catalog.domain_of(column)?.0)));
    of_domain
        .map(|(column, known)| {
            let mut shown = catalog.domain_names(known);
            shown.extend(row! {
                table_catalog: catalog.database(), table_schema: catalog.schema_of(&table.name), table_name: bare(&table.name),
                column_name: column.name.as_str(),
            });
            shown
        })
        .collect()
}

/// What `data_type` says of a type.
fn shown_type(column_type: Type) -> &'static str {
    match column_type {
        Type::Enum(_) => "USER-DEFINED",
        known if known.element().is_some() => "ARRAY",
        known => known.base_name(),
    }
}

fn constraint(catalog: &SystemCatalog, relation: &Found) -> Option<Row> {
    let kind = if relation.constraint_kind()? == "p" { "PRIMARY KEY" } else { "UNIQUE" };
    let distinct = (kind == "UNIQUE").then_some("YES");
    Some(row! {
        constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&relation.table().name), constraint_name: relation.name(),
        table_catalog: catalog.database(), table_schema: catalog.schema_of(&relation.table().name), table_name: bare(&relation.table().name),
        constraint_type: kind, is_deferrable: "NO", initially_deferred: "NO", enforced: "YES", nulls_distinct: distinct,
    })
}

fn foreign_key(catalog: &SystemCatalog, child: &TableSchema, key: &ForeignKeySchema) -> Row {
    let yes = |is: bool| if is { "YES" } else { "NO" };
    row! {
        constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&child.name), constraint_name: key.name.as_str(),
        table_catalog: catalog.database(), table_schema: catalog.schema_of(&child.name), table_name: bare(&child.name),
        constraint_type: "FOREIGN KEY", is_deferrable: yes(key.is_deferrable), initially_deferred: yes(key.is_deferred),
        enforced: "YES",
    }
}

fn referential_constraint(
    catalog: &SystemCatalog,
    child: &TableSchema,
    key: &ForeignKeySchema,
    parent: &TableSchema,
) -> Row {
    let referred = SystemCatalog::referred(key, parent);
    let unique = referred.filter(|found| found.constraint_kind().is_some()).map(|found| found.name().to_owned());
    row! {
        constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&child.name), constraint_name: key.name.as_str(),
        unique_constraint_catalog: unique.as_ref().map(|_| catalog.database()),
        unique_constraint_schema: unique.as_ref().map(|_| catalog.schema_of(&parent.name)), unique_constraint_name: unique.clone(),
        match_option: if key.is_full { "FULL" } else { "NONE" }, update_rule: change_words(key.on_update),
        delete_rule: change_words(key.on_delete),
    }
}

fn referring_columns(
    catalog: &SystemCatalog,
    child: &TableSchema,
    key: &ForeignKeySchema,
    parent: &TableSchema,
) -> Vec<Row> {
    let order = SystemCatalog::referred(key, parent).map(|found| found.columns()).unwrap_or_default();
    let columns = (1_i64..).zip(key.columns.iter().zip(&key.parent_columns));
    columns
        .map(|(number, (column, of))| {
            let position = order.iter().position(|one| one == of).map(|place| place as i64 + 1);
            row! {
                constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&child.name), constraint_name: key.name.as_str(),
                table_catalog: catalog.database(), table_schema: catalog.schema_of(&child.name), table_name: bare(&child.name),
                column_name: child.columns[*column].name.as_str(), ordinal_position: number,
                position_in_unique_constraint: position,
            }
        })
        .collect()
}

fn referred_columns(
    catalog: &SystemCatalog,
    child: &TableSchema,
    key: &ForeignKeySchema,
    parent: &TableSchema,
) -> Vec<Row> {
    let columns = key.parent_columns.iter();
    columns
        .map(|column| {
            row! {
                table_catalog: catalog.database(), table_schema: catalog.schema_of(&parent.name), table_name: bare(&parent.name),
                column_name: parent.columns[*column].name.as_str(), constraint_catalog: catalog.database(),
                constraint_schema: catalog.schema_of(&child.name), constraint_name: key.name.as_str(),
            }
        })
        .collect()
}

fn checks(catalog: &SystemCatalog) -> impl Iterator<Item = (&TableSchema, &CheckSchema)> {
    catalog.plain_tables().flat_map(|table| table.checks.iter().map(move |check| (table, check)))
}

fn check_constraint(catalog: &SystemCatalog, table: &TableSchema, check: &CheckSchema) -> Row {
    row! {
        constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&table.name), constraint_name: check.name.as_str(),
        table_catalog: catalog.database(), table_schema: catalog.schema_of(&table.name), table_name: bare(&table.name), constraint_type: "CHECK",
        is_deferrable: "NO", initially_deferred: "NO", enforced: "YES",
    }
}

fn check_clause(catalog: &SystemCatalog, table: &TableSchema, check: &CheckSchema) -> Row {
    row! {
        constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&table.name), constraint_name: check.name.as_str(),
        check_clause: format!("({})", check.text),
    }
}

fn key_columns(catalog: &SystemCatalog, relation: &Found) -> Vec<Row> {
    constrained(relation)
        .map(|(number, column)| {
            row! {
                constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&relation.table().name), constraint_name: relation.name(),
                table_catalog: catalog.database(), table_schema: catalog.schema_of(&relation.table().name), table_name: bare(&relation.table().name),
                column_name: column.name.as_str(), ordinal_position: number,
            }
        })
        .collect()
}

fn used_columns(catalog: &SystemCatalog, relation: &Found) -> Vec<Row> {
    constrained(relation)
        .map(|(_, column)| {
            row! {
                table_catalog: catalog.database(), table_schema: catalog.schema_of(&relation.table().name), table_name: bare(&relation.table().name),
                column_name: column.name.as_str(), constraint_catalog: catalog.database(), constraint_schema: catalog.schema_of(&relation.table().name),
                constraint_name: relation.name(),
            }
        })
        .collect()
}

fn constrained<'a>(relation: &Found<'a>) -> impl Iterator<Item = (i64, &'a Column)> {
    let columns = if relation.constraint_kind().is_some() { relation.columns() } else { Vec::new() };
    let table = relation.table();
    (1..).zip(columns.into_iter().map(|position| &table.columns[position]))
}
