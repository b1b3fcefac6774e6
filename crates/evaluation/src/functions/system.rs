//! What functions say of the session and the server.

use crate::call::{CallArguments, FunctionResult, Implementation};
use values::error::sqlstate;
use values::{Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("current_user", |call| Ok(Value::text(call.environment.session.current_user()))),
    ("session_user", |call| Ok(Value::text(call.environment.session.session_user()))),
    ("current_database", |call| Ok(Value::text(call.environment.session.database()))),
    ("pgsql_version", |call| Ok(Value::text(call.environment.session.version()))),
    ("pg_backend_pid", |call| Ok(Value::Integer(call.environment.session.backend_pid()))),
    ("getdatabaseencoding", |_| Ok(Value::text("UTF8"))),
    ("pg_client_encoding", |_| Ok(Value::text("UTF8"))),
    ("show_config_by_name", setting),
    ("show_config_by_name_missing_ok", setting),
    ("gen_random_uuid", super::library!("gen_random_uuid", [])),
];

fn setting(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let name = call.text(0);
    match call.environment.session.setting(name) {
        Some(setting) => Ok(Value::text(setting)),
        None if call.arguments.len() > 1 && call.boolean(1) => Ok(Value::Null),
        None => {
            Err(ValueError::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\"")))
        }
    }
}
