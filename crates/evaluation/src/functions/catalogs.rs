//! Functions over the system catalogs: the session computes them of its snapshot ([`crate::call::SessionInfo::of_catalog`]).
//!
//! Invariant: whoever plans a call of one knows that it shows the catalog: [`shows_catalog`], [`is_over_catalogs`].

use crate::call::{CallArguments, FunctionResult, Implementation};
use analyzer::TypeId;
use analyzer::facts::{Facts, Function};
use rustc_hash::FxHashSet;
use std::sync::LazyLock;
use values::error::sqlstate;
use values::{Value, ValueError};

/// Asks the session.
fn ask(call: &mut CallArguments<'_, '_>, name: &str) -> FunctionResult {
    let answer = call.environment.session.of_catalog(name, call.arguments);
    answer.unwrap_or_else(|| {
        let message = format!("the function {name} is not supported here");
        Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message))
    })
}

/// Functions by the name of what implements them, and by what they are called.
macro_rules! asked {
    ($($source:literal as $name:literal),* $(,)?) => {
        &[$(($source, |call| ask(call, $name))),*]
    };
}

pub(super) const TABLE: &[(&str, Implementation)] = asked![
    "acldefault_sql" as "acldefault",
    "current_schema" as "current_schema",
    "current_schemas" as "current_schemas",
    "format_type" as "format_type",
    "PG_char_to_encoding" as "pg_char_to_encoding",
    "pg_collation_is_visible" as "pg_collation_is_visible",
    "pg_column_is_updatable" as "pg_column_is_updatable",
    "pg_conversion_is_visible" as "pg_conversion_is_visible",
    "pg_database_size_name" as "pg_database_size",
    "pg_database_size_oid" as "pg_database_size",
    "pg_describe_object" as "pg_describe_object",
    "pg_function_is_visible" as "pg_function_is_visible",
    "pg_get_constraintdef" as "pg_get_constraintdef",
    "pg_get_constraintdef_ext" as "pg_get_constraintdef",
    "pg_get_expr" as "pg_get_expr",
    "pg_get_expr_ext" as "pg_get_expr",
    "pg_get_function_arg_default" as "pg_get_function_arg_default",
    "pg_get_function_arguments" as "pg_get_function_arguments",
    "pg_get_function_identity_arguments" as "pg_get_function_identity_arguments",
    "pg_get_function_result" as "pg_get_function_result",
    "pg_get_function_sqlbody" as "pg_get_function_sqlbody",
    "pg_get_functiondef" as "pg_get_functiondef",
    "pg_get_indexdef" as "pg_get_indexdef",
    "pg_get_indexdef_ext" as "pg_get_indexdef",
    "pg_get_partition_constraintdef" as "pg_get_partition_constraintdef",
    "pg_get_partkeydef" as "pg_get_partkeydef",
    "pg_get_ruledef" as "pg_get_ruledef",
    "pg_get_ruledef_ext" as "pg_get_ruledef",
    "pg_get_serial_sequence" as "pg_get_serial_sequence",
    "pg_get_statisticsobjdef" as "pg_get_statisticsobjdef",
    "pg_get_statisticsobjdef_columns" as "pg_get_statisticsobjdef_columns",
    "pg_get_triggerdef" as "pg_get_triggerdef",
    "pg_get_triggerdef_ext" as "pg_get_triggerdef",
    "pg_get_userbyid" as "pg_get_userbyid",
    "pg_get_viewdef" as "pg_get_viewdef",
    "pg_get_viewdef_ext" as "pg_get_viewdef",
    "pg_get_viewdef_name" as "pg_get_viewdef",
    "pg_get_viewdef_name_ext" as "pg_get_viewdef",
    "pg_index_has_property" as "pg_index_has_property",
    "pg_indexam_has_property" as "pg_indexam_has_property",
    "pg_indexes_size" as "pg_indexes_size",
    "pg_is_other_temp_schema" as "pg_is_other_temp_schema",
    "pg_my_temp_schema" as "pg_my_temp_schema",
    "pg_opclass_is_visible" as "pg_opclass_is_visible",
    "pg_operator_is_visible" as "pg_operator_is_visible",
    "pg_opfamily_is_visible" as "pg_opfamily_is_visible",
    "pg_relation_filenode" as "pg_relation_filenode",
    "pg_relation_filepath" as "pg_relation_filepath",
    "pg_relation_is_publishable" as "pg_relation_is_publishable",
    "pg_relation_is_updatable" as "pg_relation_is_updatable",
    "pg_relation_size" as "pg_relation_size",
    "pg_stat_get_numscans" as "pg_stat_get_numscans",
    "pg_statistics_obj_is_visible" as "pg_statistics_obj_is_visible",
    "pg_table_is_visible" as "pg_table_is_visible",
    "pg_table_size" as "pg_table_size",
    "pg_tablespace_location" as "pg_tablespace_location",
    "pg_tablespace_size_name" as "pg_tablespace_size",
    "pg_tablespace_size_oid" as "pg_tablespace_size",
    "pg_total_relation_size" as "pg_total_relation_size",
    "pg_ts_config_is_visible" as "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible" as "pg_ts_dict_is_visible",
    "pg_type_is_visible" as "pg_type_is_visible",
    "row_security_active" as "row_security_active",
    "row_security_active_name" as "row_security_active",
    "text_regclass" as "regclass_oid",
    "to_regclass" as "to_regclass",
    "to_regnamespace" as "to_regnamespace",
    "to_regrole" as "to_regrole",
    "to_regtype" as "to_regtype",
];

/// What PostgreSQL writes in SQL.
pub(super) const BY_NUMBER: &[(u32, Implementation)] = &[
    (1215, |call| ask(call, "obj_description")),
    (1216, |call| ask(call, "col_description")),
    (1348, |call| ask(call, "obj_description")),
    (1993, |call| ask(call, "shobj_description")),
    (2325, |call| ask(call, "pg_relation_size")),
];

/// The forms of one of the functions that ask for privileges: by name or number, of a role or of who asks.
macro_rules! privileges {
    ($($name:literal),*) => {
        &[$(
            (concat!($name, "_name_name"), |call| ask(call, $name)),
            (concat!($name, "_name_id"), |call| ask(call, $name)),
            (concat!($name, "_id_name"), |call| ask(call, $name)),
            (concat!($name, "_id_id"), |call| ask(call, $name)),
            (concat!($name, "_name"), |call| ask(call, $name)),
            (concat!($name, "_id"), |call| ask(call, $name)),
        )*]
    };
}

pub(super) const PRIVILEGES: &[(&str, Implementation)] = privileges![
    "has_any_column_privilege",
    "has_database_privilege",
    "has_foreign_data_wrapper_privilege",
    "has_function_privilege",
    "has_language_privilege",
    "has_schema_privilege",
    "has_sequence_privilege",
    "has_server_privilege",
    "has_table_privilege",
    "has_tablespace_privilege",
    "has_type_privilege",
    "pg_has_role"
];

pub(super) const COLUMN_PRIVILEGES: &[(&str, Implementation)] = asked![
    "has_column_privilege_name_name_name" as "has_column_privilege",
    "has_column_privilege_name_name_attnum" as "has_column_privilege",
    "has_column_privilege_name_id_name" as "has_column_privilege",
    "has_column_privilege_name_id_attnum" as "has_column_privilege",
    "has_column_privilege_id_name_name" as "has_column_privilege",
    "has_column_privilege_id_name_attnum" as "has_column_privilege",
    "has_column_privilege_id_id_name" as "has_column_privilege",
    "has_column_privilege_id_id_attnum" as "has_column_privilege",
    "has_column_privilege_name_name" as "has_column_privilege",
    "has_column_privilege_name_attnum" as "has_column_privilege",
    "has_column_privilege_id_name" as "has_column_privilege",
    "has_column_privilege_id_attnum" as "has_column_privilege",
];

/// What functions over the catalogs are called.
static NAMES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    let rows = Facts::postgresql15().functions.iter().filter(|row| is_over_catalogs(row));
    rows.map(|row| row.name.as_ref()).collect()
});

/// Whether a function asks the session for what its catalog has.
pub fn is_over_catalogs(row: &Function) -> bool {
    let mut listed = TABLE.iter().chain(PRIVILEGES).chain(COLUMN_PRIVILEGES);
    let is_listed = row.language == "internal" && listed.any(|(source, _)| *source == row.source);
    is_listed || BY_NUMBER.iter().any(|(number, _)| *number == row.id.0)
}

/// Whether a function of this name shows the catalog.
pub fn shows_catalog(name: &str) -> bool {
    NAMES.contains(name)
}

/// The types whose values are numbers of objects and are written as names: of relations, types, schemas and roles.
const NAMED: [(u32, Implementation, Implementation); 4] = [
    (2205, |call| ask(call, "regclass_oid"), |call| ask(call, "regclass_name")),
    (2206, |call| ask(call, "regtype_oid"), |call| ask(call, "regtype_name")),
    (4089, |call| ask(call, "regnamespace_oid"), |call| ask(call, "regnamespace_name")),
    (4096, |call| ask(call, "regrole_oid"), |call| ask(call, "regrole_name")),
];

/// Whether values of a type are numbers of objects that are written as names.
pub fn is_named(id: TypeId) -> bool {
    NAMED.iter().any(|(known, ..)| *known == id.0)
}

/// What finds the number of an object by its name as a text; `None` for any other type.
pub fn name_reader(id: TypeId) -> Option<Implementation> {
    NAMED.iter().find(|(known, ..)| *known == id.0).map(|(_, reader, _)| *reader)
}

/// What writes the name of an object whose number is known.
pub fn name_writer(id: TypeId) -> Option<Implementation> {
    NAMED.iter().find(|(known, ..)| *known == id.0).map(|(.., writer)| *writer)
}

/// What finds the number of a function by its name, which is how `regproc` is held.
pub fn function_number(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    ask(call, "regproc_oid")
}

/// `int2vector`, `oidvector`: arrays that count from zero, and are written as numbers with blanks between them.
const VECTORS: [u32; 2] = [22, 30];

/// Whether values of a type are arrays that count from zero.
pub fn is_vector(id: TypeId) -> bool {
    VECTORS.contains(&id.0)
}

/// A vector as it is written.
pub fn vector_text(vector: &Value) -> Value {
    let Value::Array(elements) = vector else { return Value::Null };
    let numbers: Vec<String> =
        elements.values().iter().map(|number| number.as_integer().unwrap_or(0).to_string()).collect();
    Value::text(numbers.join(" "))
}

/// What writes a vector.
pub fn vector_writer(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(vector_text(call.value(0)))
}
