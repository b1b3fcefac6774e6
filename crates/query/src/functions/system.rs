//! PostgreSQL's functions over the system catalogs.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use crate::system_catalog::{SystemCatalog, definition_texts, quoted};
use datafusion::logical_expr::ScalarUDF;
use messages::expression_sql::SqlStyle;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use values::{Type, Value};

/// What a function computes of its arguments; `None` is NULL.
type Compute = fn(&SystemCatalog, &[Value]) -> Option<Value>;

/// A function over a catalog snapshot.
#[derive(Debug)]
struct SystemFunction {
    name: &'static str,
    result: Type,
    compute: Compute,
    catalog: Arc<SystemCatalog>,
}

impl PartialEq for SystemFunction {
    fn eq(&self, other: &SystemFunction) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Eq for SystemFunction {}

impl Hash for SystemFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl RowImplementation for SystemFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn result(&self, _: &[Option<Type>]) -> Result<Type, QueryError> {
        Ok(self.result)
    }

    fn is_strict(&self) -> bool {
        false
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        Ok((self.compute)(&self.catalog, arguments).unwrap_or(Value::Null))
    }
}

/// The function of that name, over a snapshot.
pub fn of_name(name: &str, catalog: &Arc<SystemCatalog>) -> Option<ScalarUDF> {
    let (name, result, compute) = find(name)?;
    catalog.show();
    Some(rowwise::function(SystemFunction { name, result, compute, catalog: Arc::clone(catalog) }))
}

/// What the function of that name yields; `None` for one that there is not.
pub fn answer(name: &str, catalog: &SystemCatalog, arguments: &[Value]) -> Option<Value> {
    let (_, _, compute) = find(name)?;
    Some(compute(catalog, arguments).unwrap_or(Value::Null))
}

/// An object identifier, whether it came as a number or as a quoted one.
fn oid(arguments: &[Value], place: usize) -> Option<u32> {
    let value = arguments.get(place)?;
    match value {
        Value::Text(text) => text.trim().parse().ok(),
        other => u32::try_from(other.as_integer()?).ok(),
    }
}

/// An object identifier, a quoted one, or a relation's name.
fn relation(catalog: &SystemCatalog, arguments: &[Value], place: usize) -> Option<u32> {
    oid(arguments, place).or_else(|| catalog.relation_oid(arguments.get(place)?.as_text()?).ok())
}

/// How a definition is to be printed, by the argument that asks for it to be pretty.
fn style(arguments: &[Value], place: usize) -> SqlStyle {
    match arguments.get(place).and_then(Value::as_boolean) {
        Some(true) => SqlStyle::Pretty,
        _ => SqlStyle::Complete,
    }
}

fn text(arguments: &[Value], place: usize) -> Option<&str> {
    arguments.get(place)?.as_text()
}

const NULL: Compute = |_, _| None;
const TRUE: Compute = |_, _| Some(Value::Boolean(true));
const FALSE: Compute = |_, _| Some(Value::Boolean(false));
const ZERO: Compute = |_, _| Some(Value::BigInt(0));

/// Names with one meaning each: NULL texts.
const NULL_TEXTS: [&str; 10] = [
    "pg_get_function_arg_default",
    "pg_get_function_sqlbody",
    "pg_get_partition_constraintdef",
    "pg_get_partkeydef",
    "pg_get_ruledef",
    "pg_get_statisticsobjdef",
    "pg_get_statisticsobjdef_columns",
    "pg_relation_filepath",
    "pg_describe_object",
    "pg_current_logfile",
];

/// What is there is visible. A procedure in a schema that is not in the path is called so, too.
const TRUTHS: [&str; 10] = [
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_function_is_visible",
    "pg_opclass_is_visible",
    "pg_operator_is_visible",
    "pg_opfamily_is_visible",
    "pg_statistics_obj_is_visible",
    "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible",
    "pg_type_is_visible",
];

/// Sizes and counters: nothing is measured here.
const ZEROS: [&str; 7] = [
    "pg_database_size",
    "pg_indexes_size",
    "pg_relation_size",
    "pg_stat_get_numscans",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
];

/// Never so.
const FALSEHOODS: [&str; 3] = ["pg_relation_is_publishable", "pg_indexam_has_property", "pg_index_has_property"];

fn find(name: &str) -> Option<(&'static str, Type, Compute)> {
    let listed = |names: &'static [&'static str]| names.iter().find(|known| **known == name).copied();
    if let Some(name) = listed(&NULL_TEXTS) {
        return Some((name, Type::Text, NULL));
    }
    if let Some(name) = listed(&TRUTHS) {
        return Some((name, Type::Boolean, TRUE));
    }
    if let Some(name) = listed(&ZEROS) {
        return Some((name, Type::BigInt, ZERO));
    }
    if let Some(name) = listed(&FALSEHOODS) {
        return Some((name, Type::Boolean, FALSE));
    }
    match name {
        "acldefault" => return Some(("acldefault", Type::Text.array(), default_grants)),
        "role_names" => return Some(("role_names", Type::Text.array(), role_names)),
        "quoted_role_names" => return Some(("quoted_role_names", Type::Text.array(), quoted_role_names)),
        _ => {}
    }
    COMPUTED.iter().find(|(known, ..)| *known == name).copied()
}

/// The names of the roles in a list.
fn role_names(catalog: &SystemCatalog, arguments: &[Value]) -> Option<Value> {
    let Value::Array(roles) = arguments.first()? else { return None };
    let oids = roles.values().iter().filter_map(|role| u32::try_from(role.as_integer()?).ok());
    let mut names: Vec<String> = oids.filter_map(|role| crate::system_catalog::role_name(catalog, role)).collect();
    names.sort_unstable();
    Some(Value::array(Type::Text, names.into_iter().map(Value::text).collect()))
}

/// The same as identifiers in SQL.
fn quoted_role_names(catalog: &SystemCatalog, arguments: &[Value]) -> Option<Value> {
    let Value::Array(names) = role_names(catalog, arguments)? else { return None };
    let quoted = names.values().iter().filter_map(|name| Some(Value::text(quoted(name.as_text()?))));
    Some(Value::array(Type::Text, quoted.collect()))
}

/// What is granted on an object of a kind that its owner has just made.
fn default_grants(catalog: &SystemCatalog, arguments: &[Value]) -> Option<Value> {
    let texts = catalog.default_grants(text(arguments, 0)?, oid(arguments, 1)?)?;
    Some(Value::array(Type::Text, texts.into_iter().map(Value::text).collect()))
}

const COMPUTED: [(&str, Type, Compute); 36] = [
    ("row_security_active", Type::Boolean, |catalog, arguments| {
        catalog.is_row_security_active(relation(catalog, arguments, 0)?).map(Value::Boolean)
    }),
    ("pg_my_temp_schema", Type::Oid, |catalog, _| Some(Value::Oid(catalog.own_temporary().unwrap_or(0)))),
    ("pg_is_other_temp_schema", Type::Boolean, |catalog, arguments| {
        Some(Value::Boolean(catalog.is_others_temporary(oid(arguments, 0)?)))
    }),
    ("col_description", Type::Text, |catalog, arguments| {
        let number = i32::try_from(arguments.get(1)?.as_integer()?).ok()?;
        catalog.comment(oid(arguments, 0)?, Some("pg_class"), number).map(Value::text)
    }),
    ("obj_description", Type::Text, |catalog, arguments| {
        catalog.comment(oid(arguments, 0)?, text(arguments, 1), 0).map(Value::text)
    }),
    ("shobj_description", Type::Text, |catalog, arguments| {
        catalog.comment(oid(arguments, 0)?, text(arguments, 1), 0).map(Value::text)
    }),
    ("format_type", Type::Text, |catalog, arguments| {
        let modifier = arguments.get(1).and_then(Value::as_integer).and_then(|modifier| i32::try_from(modifier).ok());
        Some(Value::text(catalog.type_text(oid(arguments, 0)?, modifier)))
    }),
    ("pg_encoding_to_char", Type::Text, |_, arguments| (oid(arguments, 0)? == 6).then(|| Value::text("UTF8"))),
    ("pg_char_to_encoding", Type::Integer, |_, arguments| {
        Some(Value::Integer(if text(arguments, 0)?.eq_ignore_ascii_case("utf8") { 6 } else { -1 }))
    }),
    ("pg_get_viewdef", Type::Text, |catalog, arguments| {
        catalog.view_text(relation(catalog, arguments, 0)?).map(Value::text)
    }),
    ("pg_get_constraintdef", Type::Text, |catalog, arguments| {
        let style = style(arguments, 1);
        definition_texts::constraint_definition(catalog, oid(arguments, 0)?, style).map(Value::text)
    }),
    ("pg_get_expr", Type::Text, |_, arguments| {
        let shown = text(arguments, 0)?;
        let is_pretty = arguments.get(2).and_then(Value::as_boolean) == Some(true);
        Some(Value::text(if is_pretty { without_outer_parentheses(shown) } else { shown }))
    }),
    ("pg_get_function_arguments", Type::Text, |catalog, arguments| {
        catalog.procedure_arguments(oid(arguments, 0)?).map(Value::text)
    }),
    ("pg_get_function_identity_arguments", Type::Text, |catalog, arguments| {
        catalog.procedure_identity(oid(arguments, 0)?).map(Value::text)
    }),
    ("pg_get_function_result", Type::Text, |catalog, arguments| {
        catalog.function_result(oid(arguments, 0)?).map(Value::text)
    }),
    ("pg_get_functiondef", Type::Text, |catalog, arguments| {
        catalog.procedure_definition(oid(arguments, 0)?).map(Value::text)
    }),
    ("pg_get_triggerdef", Type::Text, |catalog, arguments| {
        crate::system_catalog::trigger_definition(catalog, oid(arguments, 0)?).map(Value::text)
    }),
    ("pg_get_indexdef", Type::Text, |catalog, arguments| {
        let column = arguments.get(1).and_then(Value::as_integer).unwrap_or(0);
        let style = style(arguments, 2);
        let index = relation(catalog, arguments, 0)?;
        definition_texts::index_definition(catalog, index, column as i32, style).map(Value::text)
    }),
    ("pg_get_serial_sequence", Type::Text, |catalog, arguments| {
        let table = catalog.relation_oid(text(arguments, 0)?).ok()?;
        catalog.serial_sequence(table, text(arguments, 1)?).map(Value::text)
    }),
    ("pg_get_userbyid", Type::Text, |catalog, arguments| {
        let oid = oid(arguments, 0)?;
        let name = crate::system_catalog::role_name(catalog, oid);
        Some(Value::text(name.unwrap_or_else(|| format!("unknown (OID={oid})"))))
    }),
    ("pg_column_is_updatable", Type::Boolean, |catalog, arguments| {
        let column = arguments.get(1)?.as_integer()?;
        let by_triggers = arguments.get(2)?.as_boolean()?;
        Some(Value::Boolean(catalog.is_column_updatable(relation(catalog, arguments, 0)?, column, by_triggers)))
    }),
    ("pg_relation_is_updatable", Type::Integer, |catalog, arguments| {
        let by_triggers = arguments.get(1)?.as_boolean()?;
        Some(Value::Integer(catalog.changes_of(relation(catalog, arguments, 0)?, by_triggers)))
    }),
    ("pg_relation_filenode", Type::Oid, |catalog, arguments| relation(catalog, arguments, 0).map(Value::Oid)),
    ("pg_size_pretty", Type::Text, |_, arguments| Some(Value::text(pretty_size(arguments.first()?.as_integer()?)))),
    ("pg_table_is_visible", Type::Boolean, |catalog, arguments| {
        catalog.is_visible(oid(arguments, 0)?).map(Value::Boolean)
    }),
    ("pg_tablespace_location", Type::Text, |_, arguments| oid(arguments, 0).map(|_| Value::text(""))),
    ("quote_ident", Type::Text, |_, arguments| text(arguments, 0).map(|name| Value::text(quoted(name)))),
    ("quote_literal", Type::Text, |_, arguments| text(arguments, 0).map(|text| Value::text(quoted_literal(text)))),
    ("quote_nullable", Type::Text, |_, arguments| {
        Some(text(arguments, 0).map_or_else(|| Value::text("NULL"), |text| Value::text(quoted_literal(text))))
    }),
    ("regclass_name", Type::Text, |catalog, arguments| {
        let oid = relation(catalog, arguments, 0)?;
        Some(Value::text(catalog.relation_name(oid).unwrap_or_else(|| oid.to_string())))
    }),
    ("regclass_oid", Type::Oid, |catalog, arguments| catalog.relation_oid(text(arguments, 0)?).ok().map(Value::Oid)),
    ("regtype_oid", Type::Oid, |catalog, arguments| catalog.type_oid(text(arguments, 0)?).ok().map(Value::Oid)),
    ("regnamespace_name", Type::Text, |catalog, arguments| {
        let oid = oid(arguments, 0)?;
        Some(Value::text(catalog.namespace_name(oid).unwrap_or_else(|| oid.to_string())))
    }),
    ("to_regclass", Type::Text, |catalog, arguments| {
        let oid = catalog.relation_oid(text(arguments, 0)?).ok()?;
        catalog.relation_name(oid).map(Value::text)
    }),
    ("to_regtype", Type::Text, |catalog, arguments| {
        let oid = catalog.type_oid(text(arguments, 0)?).ok()?;
        Some(Value::text(catalog.type_text(oid, None)))
    }),
    ("to_regnamespace", Type::Text, |catalog, arguments| {
        let name = text(arguments, 0)?;
        let plain = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(name);
        catalog.namespace_oid(plain).ok().map(|_| Value::text(plain))
    }),
];

/// As PostgreSQL prints sizes: bytes up to 10 kB, then in the largest unit that leaves less than 10240 of it.
fn pretty_size(bytes: i64) -> String {
    let mut size = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        if size.unsigned_abs() < 10 * 1024 {
            return format!("{size} {unit}");
        }
        size = (size + size.signum() * 512) / 1024;
    }
    format!("{size} PB")
}

/// An expression without the parentheses around the whole of it.
fn without_outer_parentheses(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let (mut depth, mut quote) = (0_usize, None);
    for byte in inner.bytes() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') if depth == 0 => return text,
            (None, b')') => depth -= 1,
            _ => {}
        }
    }
    inner
}

fn quoted_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}
