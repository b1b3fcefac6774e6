//! The rows of `pg_catalog`.

use super::definitions::{DEFINITIONS, Relation, SystemType};
use super::initial::{C_COLLATION, DEFAULT_COLLATION};
use super::rows::{Row, row};
use super::{
    Found, INFORMATION_SCHEMA_OID, OWNER_OID, PG_CATALOG_OID, SystemCatalog, activity, definition_texts, dependences,
    grants, initial, policies, procedures, roles,
};
use analyzer::facts::{Facts, Range};
use messages::database::DatabaseSchema;
use messages::expression_sql::SqlStyle;
use messages::namespace::{bare, of};
use messages::schema::{
    CheckSchema, Column, CommentTarget, ForeignKeySchema, Identity, IndexKey, IndexKeyPart, IndexMethod, IndexSchema,
    MaterializedQuery, OnChange, SequenceSchema, TableSchema,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use values::limits::MICROSECONDS_PER_SECOND;
use values::zone::Abbreviation;
use values::{Type, Zone};

/// The relations that have rows.
pub const FILLED: [&str; 48] = [
    "pg_am",
    "pg_attrdef",
    "pg_attribute",
    "pg_auth_members",
    "pg_authid",
    "pg_available_extension_versions",
    "pg_available_extensions",
    "pg_class",
    "pg_collation",
    "pg_constraint",
    "pg_database",
    "pg_db_role_setting",
    "pg_default_acl",
    "pg_depend",
    "pg_description",
    "pg_enum",
    "pg_extension",
    "pg_index",
    "pg_indexes",
    "pg_init_privs",
    "pg_language",
    "pg_namespace",
    "pg_policies",
    "pg_policy",
    "pg_proc",
    "pg_range",
    "pg_rewrite",
    "pg_roles",
    "pg_sequence",
    "pg_sequences",
    "pg_settings",
    "pg_shadow",
    "pg_shdescription",
    "pg_stat_activity",
    "pg_tables",
    "pg_tablespace",
    "pg_timezone_abbrevs",
    "pg_timezone_names",
    "pg_trigger",
    "pg_ts_config",
    "pg_ts_config_map",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_type",
    "pg_user",
    "pg_matviews",
    "pg_views",
];

/// Access method of tables.
const HEAP: u32 = 2;
/// Access method of indexes.
const BTREE: u32 = 403;

/// Keys, checks, foreign keys and the constraints of domains.
fn constraints(catalog: &SystemCatalog) -> Vec<Row> {
    let keys = catalog.relations().filter_map(|relation| constraint(&relation));
    let checks = catalog.plain_tables().flat_map(|table| table.checks.iter().map(|check| self::check(table, check)));
    let foreign = catalog.foreign_keys().map(|(child, key, parent)| foreign_key(child, key, parent));
    keys.chain(checks).chain(foreign).chain(catalog.domain_constraint_rows()).collect()
}

/// The rows of a relation of `pg_catalog`.
pub fn rows(catalog: &SystemCatalog, name: &str) -> Vec<Row> {
    match name {
        "pg_am" => access_methods(),
        "pg_attrdef" => defaults(catalog),
        "pg_attribute" => attributes(catalog),
        "pg_auth_members" => grants::memberships(catalog),
        "pg_default_acl" => grants::defaults(catalog),
        "pg_class" => classes(catalog),
        "pg_constraint" => constraints(catalog),
        "pg_database" => catalog.catalog().all_databases().iter().map(|known| database(catalog, known)).collect(),
        "pg_db_role_setting" => roles::settings(catalog),
        "pg_depend" => dependences::rows(catalog),
        "pg_description" => catalog.comments(false).map(|(target, text)| comment(target, text)).collect(),
        "pg_shdescription" => catalog.comments(true).map(|(target, text)| shared_comment(target, text)).collect(),
        "pg_index" => catalog.relations().filter_map(|relation| index(&relation)).collect(),
        "pg_indexes" => catalog.relations().filter_map(|relation| index_text(catalog, &relation)).collect(),
        "pg_language" => languages(),
        "pg_namespace" => {
            let system = [(PG_CATALOG_OID, "pg_catalog"), (INFORMATION_SCHEMA_OID, "information_schema")];
            let system = system.map(|(oid, name)| (oid, name.to_owned(), initial::of_system()));
            let own = catalog.schemas().into_iter().map(|known| (known.oid, known.name.clone(), known.rights.clone()));
            system
                .into_iter()
                .chain(own)
                .map(|(oid, name, rights)| {
                    let acl = catalog.grant_texts(rights.grants.as_ref());
                    row! { oid: oid, nspname: name, nspowner: rights.owner, nspacl: acl }
                })
                .collect()
        }
        "pg_init_privs" => initial::rights(catalog),
        "pg_collation" => initial::collations(),
        "pg_policies" => policies::texts(catalog),
        "pg_policy" => policies::rows(catalog),
        "pg_proc" => procedures::rows(catalog),
        "pg_range" => Facts::postgresql15().ranges.iter().map(range_type).collect(),
        "pg_rewrite" => dependences::rules(catalog),
        "pg_authid" | "pg_roles" | "pg_shadow" | "pg_user" => roles::rows(catalog, name),
        "pg_sequence" => catalog.sequences().map(|(table, sequence)| self::sequence(table, sequence)).collect(),
        "pg_sequences" => {
            catalog.sequences().map(|(table, sequence)| sequence_text(catalog, table, sequence)).collect()
        }
        "pg_settings" => {
            let mut settings: Vec<_> = catalog.settings().collect();
            settings.sort_by_key(|(name, _)| name.to_ascii_lowercase());
            settings.into_iter().map(|(name, value)| setting(name, value)).collect()
        }
        "pg_stat_activity" => activity::rows(catalog),
        "pg_tables" => catalog.base_tables().map(|table| table_text(catalog, table)).collect(),
        "pg_tablespace" => [(1663_u32, "pg_default"), (1664, "pg_global")]
            .map(|(oid, name)| row! { oid: oid, spcname: name, spcowner: OWNER_OID })
            .into(),
        "pg_timezone_abbrevs" => zone_abbreviations(catalog.session().now()),
        "pg_timezone_names" => zone_names(catalog.session().now()),
        "pg_matviews" => {
            catalog.materialized_views().map(|(view, query)| materialized_view_text(catalog, view, query)).collect()
        }
        "pg_views" => catalog.views().map(|(view, text)| view_text(catalog, view, text)).collect(),
        "pg_enum" => catalog.rows_of_labels(),
        "pg_trigger" => procedures::trigger_rows(catalog),
        "pg_extension" => catalog.rows_of_extensions(),
        "pg_available_extensions" => catalog.rows_of_available_extensions(),
        "pg_available_extension_versions" => catalog.rows_of_extension_versions(),
        "pg_ts_config" | "pg_ts_config_map" | "pg_ts_dict" | "pg_ts_parser" | "pg_ts_template" => {
            initial::text_search(name)
        }
        "pg_type" => DEFINITIONS.types.iter().map(type_row).chain(catalog.rows_of_user_types()).collect(),
        _ => vec![],
    }
}

/// A type of ranges.
fn range_type(known: &Range) -> Row {
    row! {
        rngtypid: known.id.0, rngsubtype: known.element.0, rngmultitypid: known.multirange.0, rngcollation: known.collation.0,
        rngsubopc: known.operator_class, rngcanonical: known.canonical.as_ref(), rngsubdiff: known.difference.as_ref(),
    }
}

/// What functions are written in.
fn languages() -> Vec<Row> {
    let of_one = |(oid, name, trusted): (u32, &str, bool)| {
        let is_added = oid == procedures::PLPGSQL_OID;
        row! {
            oid: oid, lanname: name, lanowner: OWNER_OID, lanispl: is_added, lanpltrusted: trusted, lanplcallfoid: 0,
            laninline: 0, lanvalidator: 0,
        }
    };
    let all = [
        (procedures::C_OID, "c", false),
        (procedures::SQL_OID, "sql", true),
        (procedures::PLPGSQL_OID, "plpgsql", true),
    ];
    all.map(of_one).into()
}

/// How tables and indexes are kept.
fn access_methods() -> Vec<Row> {
    vec![
        row! { oid: HEAP, amname: "heap", amhandler: "heap_tableam_handler", amtype: "t" },
        row! { oid: BTREE, amname: "btree", amhandler: "bthandler", amtype: "i" },
        row! { oid: 405, amname: "hash", amhandler: "hashhandler", amtype: "i" },
        row! { oid: 783, amname: "gist", amhandler: "gisthandler", amtype: "i" },
        row! { oid: 2742, amname: "gin", amhandler: "ginhandler", amtype: "i" },
        row! { oid: 3580, amname: "brin", amhandler: "brinhandler", amtype: "i" },
    ]
}

/// All time zones, as they are at an instant, in microseconds since 2000.
fn zone_names(now: i64) -> Vec<Row> {
    let row_of = |zone: Zone| {
        let shown = zone.at(now);
        let offset = i64::from(shown.seconds) * MICROSECONDS_PER_SECOND;
        row! { name: zone.name(), abbrev: shown.abbreviation, utc_offset: offset, is_dst: shown.is_daylight }
    };
    Zone::all().map(row_of).collect()
}

/// All abbreviations of time zones, with what they mean then.
fn zone_abbreviations(now: i64) -> Vec<Row> {
    let row_of = |(name, abbreviation): (&'static str, Abbreviation)| {
        let (seconds, is_daylight) = abbreviation.at(now);
        let offset = i64::from(seconds) * MICROSECONDS_PER_SECOND;
        row! { abbrev: name, utc_offset: offset, is_dst: is_daylight }
    };
    values::zone::abbreviations().map(row_of).collect()
}

fn comment(target: &CommentTarget, text: &str) -> Row {
    row! { objoid: target.oid, classoid: target.class, objsubid: target.number, description: text }
}

fn shared_comment(target: &CommentTarget, text: &str) -> Row {
    row! { objoid: target.oid, classoid: target.class, description: text }
}

/// The tables that PostgreSQL would have triggers on: their own, and those that look after foreign keys of and to them.
fn with_triggers(catalog: &SystemCatalog) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for table in catalog.tables() {
        if !(table.triggers.is_empty() && table.foreign_keys.is_empty()) {
            found.insert(table.oid);
        }
        found.extend(table.foreign_keys.iter().map(|key| key.parent));
    }
    found
}

fn classes(catalog: &SystemCatalog) -> Vec<Row> {
    let system = DEFINITIONS.relations().map(system_class);
    let with_triggers = with_triggers(catalog);
    system.chain(catalog.relations().map(|relation| class(catalog, &relation, &with_triggers))).collect()
}

fn class(catalog: &SystemCatalog, relation: &Found, with_triggers: &BTreeSet<u32>) -> Row {
    let table = relation.table();
    let is_table = matches!(relation, Found::Table(_));
    let (access_method, kind, columns) = match (is_table, &table.sequence) {
        (true, None) if table.view.is_some() => (0, table.kind().letter(), table.columns.len()),
        (true, None) => (HEAP, table.kind().letter(), table.columns.len()),
        (true, Some(_)) => (0, "S", table.columns.len()),
        (false, _) => match relation.index() {
            Some(index) => (access_method(index.method), "i", index.keys.len() + index.included.len()),
            None => (BTREE, "i", 0),
        },
    };
    let is_table = is_table && table.is_plain();
    let options = match relation.index() {
        Some(index) => index.options.clone(),
        None if is_table => table.options.clone(),
        None => table.check_option.iter().map(|option| format!("check_option={}", option.name())).collect(),
    };
    let options = (!options.is_empty()).then_some(options);
    row! {
        oid: relation.oid(), relname: relation.name(), relnamespace: of(&table.name), reltype: 0, reloftype: 0,
        relowner: table.rights.owner, relam: access_method, relfilenode: relation.oid(), reltablespace: 0, relpages: 0, reltuples: -1,
        relallvisible: 0, reltoastrelid: 0,
        relhasindex: is_table && !(table.has_hidden_key() && table.indexes.is_empty()),
        relisshared: false, relpersistence: table.persistence.letter(), relkind: kind, relnatts: columns as i64,
        relchecks: if is_table { table.checks.len() as i64 } else { 0 },
        relhasrules: matches!(relation, Found::Table(_)) && table.query().is_some(), relhastriggers: matches!(relation, Found::Table(_)) && with_triggers.contains(&table.oid), relhassubclass: false, relrowsecurity: is_table && table.row_security.is_enabled,
        relforcerowsecurity: is_table && table.row_security.is_forced,
        relispopulated: table.materialized.as_ref().is_none_or(|query| !is_table || query.populated), relreplident: if is_table { "d" } else { "n" },
        relispartition: false, relrewrite: 0, relfrozenxid: 0, relminmxid: 0,
        relacl: matches!(relation, Found::Table(_)).then(|| catalog.grant_texts(table.rights.grants.as_ref())).flatten(), reloptions: options,
    }
}

/// As `pg_am` numbers them.
fn access_method(method: IndexMethod) -> u32 {
    match method {
        IndexMethod::Btree => BTREE,
        IndexMethod::Hash => 405,
        IndexMethod::Gist => 783,
        IndexMethod::Gin => 2742,
        IndexMethod::Brin => 3580,
    }
}

fn system_class(relation: &Relation) -> Row {
    row! {
        oid: relation.oid, relname: relation.name, relnamespace: namespace_of(relation), reltype: 0, reloftype: 0,
        relowner: OWNER_OID, relam: if relation.kind == "r" { HEAP } else { 0 }, relfilenode: 0, reltablespace: 0,
        relpages: 0, reltuples: -1, relallvisible: 0, reltoastrelid: 0, relhasindex: false, relisshared: false,
        relpersistence: "p", relkind: relation.kind, relnatts: relation.columns.len() as i64, relchecks: 0,
        relhasrules: false, relhastriggers: false, relhassubclass: false, relrowsecurity: false,
        relforcerowsecurity: false, relispopulated: true, relreplident: "n", relispartition: false, relrewrite: 0,
        relfrozenxid: 0, relminmxid: 0,
    }
}

fn namespace_of(relation: &Relation) -> u32 {
    if relation.schema_name == "pg_catalog" { PG_CATALOG_OID } else { INFORMATION_SCHEMA_OID }
}

fn attributes(catalog: &SystemCatalog) -> Vec<Row> {
    let system = DEFINITIONS.relations().flat_map(|relation| {
        relation.columns.iter().zip(1_i64..).filter_map(|((name, type_name), number)| {
            let system_type = DEFINITIONS.type_named(type_name)?;
            Some(attribute(relation.oid, name, number, system_type, -1, false, false, false))
        })
    });
    let user = catalog.relations().flat_map(|relation| {
        let (oid, table) = (relation.oid(), relation.table());
        let columns: Vec<(i64, Cow<'_, Column>)> = match relation.index() {
            None => (1..).zip(table.columns.iter().map(Cow::Borrowed)).collect(),
            Some(index) => (1..).zip(index_columns(table, &index).into_iter().map(Cow::Owned)).collect(),
        };
        let is_table = matches!(relation, Found::Table(_));
        columns.into_iter().filter_map(move |(number, column)| {
            let mut row = column_attribute(oid, number, &column, is_table)?;
            if is_table && table.generated_column(number as usize - 1).is_some() {
                for (name, cell) in &mut row {
                    match *name {
                        "attgenerated" => *cell = "s".into(),
                        "atthasdef" => *cell = true.into(),
                        _ => {}
                    }
                }
            }
            let grants = column.grants.as_ref().filter(|_| is_table);
            row.push(("attacl", catalog.grant_texts(grants).into()));
            Some(row)
        })
    });
    system.chain(user).collect()
}

/// The columns of an index: its keys, then those that are included.
fn index_columns(table: &TableSchema, index: &IndexSchema) -> Vec<Column> {
    let included = index.included.iter().map(|position| table.columns[*position].column_type);
    let types = index.key_types(table).into_iter().chain(included);
    index.column_names(table).into_iter().zip(types).map(|(name, own)| Column::new(name, own, false)).collect()
}

fn column_attribute(relation: u32, number: i64, column: &Column, of_table: bool) -> Option<Row> {
    let domain = SystemCatalog::of_domain(column);
    let own = SystemCatalog::of_user_type(column.column_type);
    let plain = DEFINITIONS.type_of_oid(column.column_type.oid()).or(own.as_ref());
    let system_type = domain.as_ref().or(plain)?;
    let modifier = if domain.is_some() { -1 } else { i64::from(column.column_type.typmod()) };
    let name = if column.dropped { format!("........pg.dropped.{number}........") } else { column.name.clone() };
    let has_default = of_table && column.default.is_some() && column.identity.is_none();
    let not_null = of_table && column.not_null;
    let mut attribute =
        attribute(relation, &name, number, system_type, modifier, not_null, has_default, column.dropped);
    for (name, cell) in &mut attribute {
        if *name == "attidentity" {
            *cell = identity(column, of_table).into();
        }
    }
    Some(attribute)
}

/// `a`, `d`, or nothing.
fn identity(column: &Column, of_table: bool) -> &'static str {
    match column.identity.filter(|_| of_table) {
        Some(Identity::Always) => "a",
        Some(Identity::ByDefault) => "d",
        None => "",
    }
}

fn sequence(table: &TableSchema, sequence: &SequenceSchema) -> Row {
    row! {
        seqrelid: table.oid, seqtypid: sequence.data_type.oid(), seqstart: sequence.start,
        seqincrement: sequence.increment, seqmax: sequence.maximum, seqmin: sequence.minimum,
        seqcache: sequence.cache, seqcycle: sequence.cycle,
    }
}

/// Where it stands is in its own row, not in the catalog.
fn sequence_text(catalog: &SystemCatalog, table: &TableSchema, sequence: &SequenceSchema) -> Row {
    row! {
        schemaname: catalog.schema_of(&table.name), sequencename: bare(&table.name), sequenceowner: catalog.grantee(table.rights.owner),
        data_type: sequence.data_type.base_name(), start_value: sequence.start, min_value: sequence.minimum,
        max_value: sequence.maximum, increment_by: sequence.increment, cycle: sequence.cycle,
        cache_size: sequence.cache,
    }
}

#[expect(clippy::too_many_arguments, reason = "a row of pg_attribute has this many independent columns")]
fn attribute(
    relation: u32,
    name: &str,
    number: i64,
    system_type: &SystemType,
    modifier: i64,
    not_null: bool,
    has_default: bool,
    dropped: bool,
) -> Row {
    row! {
        attrelid: relation, attname: name, atttypid: system_type.oid, attstattarget: -1, attlen: system_type.length,
        attnum: number, attndims: 0, attcacheoff: -1, atttypmod: modifier, attbyval: system_type.by_value,
        attalign: "i", attstorage: storage(system_type), attcompression: "", attnotnull: not_null, atthasdef: has_default,
        atthasmissing: false, attidentity: "", attgenerated: "", attisdropped: dropped, attislocal: true, attinhcount: 0,
        attcollation: system_type.collation,
    }
}

/// How PostgreSQL stores values of the type, which `\d+` shows.
pub(super) fn storage(system_type: &SystemType) -> &'static str {
    match system_type.name {
        "numeric" => "m",
        _ if system_type.length < 0 => "x",
        _ => "p",
    }
}

fn defaults(catalog: &SystemCatalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (number, column) in (1_i64..).zip(&table.columns) {
            if let Some(default) = column.default.as_ref().filter(|_| column.identity.is_none()) {
                let oid = dependences::default_number(table.oid, number);
                rows.push(row! { oid: oid, adrelid: table.oid, adnum: number, adbin: catalog.shown(default) });
            }
        }
        for own in &table.generated {
            let number = own.column as i64 + 1;
            let oid = dependences::default_number(table.oid, number);
            let text = own.expression.sql(table, SqlStyle::Complete);
            rows.push(row! { oid: oid, adrelid: table.oid, adnum: number, adbin: catalog.shown(&text) });
        }
    }
    rows
}

fn numbers_of(columns: &[usize]) -> Vec<i64> {
    columns.iter().map(|position| *position as i64 + 1).collect()
}

fn index(relation: &Found) -> Option<Row> {
    let (table, index) = (relation.table(), relation.index()?);
    let collation = |key: &IndexKey, own: Type| match &key.collation {
        Some(_) => i64::from(C_COLLATION),
        None if own.is_string() => i64::from(DEFAULT_COLLATION),
        None => 0,
    };
    let collations: Vec<i64> =
        index.keys.iter().zip(index.key_types(table)).map(|(key, own)| collation(key, own)).collect();
    // Bits of `INDOPTION_DESC` and `INDOPTION_NULLS_FIRST`.
    let option = |key: &IndexKey| i64::from(key.descending) + 2 * i64::from(key.nulls_first);
    let options: Vec<i64> = index.keys.iter().map(option).collect();
    let of_keys = index.keys.iter().map(|key| key.as_column().map_or(0, |position| position as i64 + 1));
    let numbers: Vec<i64> = of_keys.chain(numbers_of(&index.included)).collect();
    let expressions: Vec<String> = index
        .keys
        .iter()
        .filter_map(|key| match &key.part {
            IndexKeyPart::Expression(own) => Some(own.sql(table, SqlStyle::Complete)),
            IndexKeyPart::Column(_) => None,
        })
        .collect();
    let predicate = index.predicate.as_ref().map(|own| own.sql(table, SqlStyle::Complete));
    Some(row! {
        indexrelid: relation.oid(), indrelid: table.oid, indnatts: numbers.len() as i64, indnkeyatts: index.keys.len() as i64,
        indisunique: index.unique, indnullsnotdistinct: false,
        indisprimary: matches!(relation, Found::PrimaryKey(_)), indisexclusion: false, indimmediate: true,
        indisclustered: false, indisvalid: true, indcheckxmin: false, indisready: true, indislive: true,
        indisreplident: false, indkey: numbers, indcollation: collations, indclass: vec![0_i64; index.keys.len()],
        indoption: options, indexprs: (!expressions.is_empty()).then(|| expressions.join(", ")), indpred: predicate,
    })
}

/// The identifier of a constraint is that of its index: the two are in different catalogs.
fn constraint(relation: &Found) -> Option<Row> {
    let kind = relation.constraint_kind()?;
    Some(row! {
        oid: relation.oid(), conname: relation.name(), connamespace: of(&relation.table().name), contype: kind, condeferrable: false,
        condeferred: false, convalidated: true, conrelid: relation.table().oid, contypid: 0, conindid: relation.oid(),
        conparentid: 0, confrelid: 0, confupdtype: " ", confdeltype: " ", confmatchtype: " ", conislocal: true,
        coninhcount: 0, connoinherit: true, conkey: numbers_of(&relation.columns()),
    })
}

fn foreign_key(child: &TableSchema, key: &ForeignKeySchema, parent: &TableSchema) -> Row {
    row! {
        oid: key.oid, conname: key.name.as_str(), connamespace: of(&child.name), contype: "f",
        condeferrable: key.is_deferrable, condeferred: key.is_deferred, convalidated: key.is_valid,
        conrelid: child.oid, contypid: 0, conindid: SystemCatalog::referred(key, parent).map_or(0, |found| found.oid()),
        conparentid: 0, confrelid: parent.oid, confupdtype: change_letter(key.on_update),
        confdeltype: change_letter(key.on_delete), confmatchtype: if key.is_full { "f" } else { "s" },
        conislocal: true, coninhcount: 0, connoinherit: true, conkey: numbers_of(&key.columns),
        confkey: numbers_of(&key.parent_columns),
    }
}

fn change_letter(on_change: OnChange) -> &'static str {
    match on_change {
        OnChange::NoAction => "a",
        OnChange::Restrict => "r",
        OnChange::Cascade => "c",
        OnChange::SetNull => "n",
        OnChange::SetDefault => "d",
    }
}

fn check(table: &TableSchema, check: &CheckSchema) -> Row {
    row! {
        oid: check.oid, conname: check.name.as_str(), connamespace: of(&table.name), contype: "c", condeferrable: false,
        condeferred: false, convalidated: check.is_valid, conrelid: table.oid, contypid: 0, conindid: 0,
        conparentid: 0, confrelid: 0, confupdtype: " ", confdeltype: " ", confmatchtype: " ", conislocal: true,
        coninhcount: 0, connoinherit: false, conkey: numbers_of(&check.columns), conbin: check.text.as_str(),
    }
}

fn index_text(catalog: &SystemCatalog, relation: &Found) -> Option<Row> {
    let definition = definition_texts::index(catalog, relation, SqlStyle::Complete)?;
    Some(row! {
        schemaname: catalog.schema_of(&relation.table().name), tablename: bare(&relation.table().name), indexname: relation.name(),
        indexdef: definition,
    })
}

fn table_text(catalog: &SystemCatalog, table: &TableSchema) -> Row {
    row! {
        schemaname: catalog.schema_of(&table.name), tablename: bare(&table.name), tableowner: catalog.grantee(table.rights.owner),
        hasindexes: !(table.has_hidden_key() && table.indexes.is_empty()), hasrules: false, hastriggers: !table.triggers.is_empty(),
        rowsecurity: table.row_security.is_enabled,
    }
}

fn materialized_view_text(catalog: &SystemCatalog, view: &TableSchema, query: &MaterializedQuery) -> Row {
    row! {
        schemaname: catalog.schema_of(&view.name), matviewname: bare(&view.name),
        matviewowner: catalog.grantee(view.rights.owner), hasindexes: !view.indexes.is_empty(),
        ispopulated: query.populated, definition: catalog.shown(&format!(" {};", query.text)),
    }
}

fn view_text(catalog: &SystemCatalog, view: &TableSchema, text: &str) -> Row {
    row! {
        schemaname: catalog.schema_of(&view.name), viewname: bare(&view.name), viewowner: catalog.grantee(view.rights.owner),
        definition: catalog.shown(&format!(" {text};")),
    }
}

fn type_row(system_type: &SystemType) -> Row {
    let is_supported = Type::from_oid(system_type.oid).is_some();
    // What reads and writes ranges is the same for all of them.
    let functions = match system_type.kind {
        "r" => "range_",
        "m" => "multirange_",
        _ => system_type.name,
    };
    row! {
        oid: system_type.oid, typname: system_type.name, typnamespace: PG_CATALOG_OID, typowner: OWNER_OID,
        typlen: system_type.length, typbyval: system_type.by_value, typtype: system_type.kind,
        typcategory: system_type.category, typispreferred: system_type.preferred, typisdefined: true, typdelim: ",",
        typrelid: 0, typelem: system_type.element, typarray: if is_supported { system_type.array } else { 0 },
        typinput: format!("{functions}in"), typoutput: format!("{functions}out"), typalign: "i",
        typstorage: storage(system_type), typnotnull: false, typbasetype: 0, typtypmod: -1, typndims: 0,
        typcollation: system_type.collation,
    }
}

fn database(catalog: &SystemCatalog, known: &DatabaseSchema) -> Row {
    catalog.show();
    let rights = catalog.catalog().database_rights(known.id);
    row! {
        oid: known.id.0, datname: known.name.as_str(), datdba: rights.owner, encoding: 6,
        datlocprovider: "c", datistemplate: known.is_template, datallowconn: known.allows_connections,
        datconnlimit: known.connection_limit, datfrozenxid: 0, datminmxid: 0, dattablespace: 1663, datcollate: "C", datctype: "C",
        datacl: catalog.grant_texts(rights.grants.as_ref()),
    }
}

fn setting(name: &str, value: &str) -> Row {
    row! {
        name: name, setting: value, category: "Preset Options", short_desc: "", context: "internal", vartype: "string",
        source: "default", boot_val: value, reset_val: value, pending_restart: false,
    }
}
