//! Functions over the system catalogs as the executor asks for them: by name, with the values of their arguments.

use super::{privileges, system};
use crate::error::QueryError;
use crate::system_catalog::{SystemCatalog, role_name, role_oid};
use analyzer::facts::Facts;
use std::sync::Arc;
use values::error::sqlstate;
use values::{Type, Value, ValueError};

/// `regclass`
const REGCLASS: u32 = 2205;
/// `regtype`
const REGTYPE: u32 = 2206;
/// `regnamespace`
const REGNAMESPACE: u32 = 4089;
/// `regrole`
const REGROLE: u32 = 4096;

impl SystemCatalog {
    /// The number of the object that a text names, whose numbers are of this type. Errors: 42P01, 42704, 3F000, 42602.
    pub fn object_oid(&self, of: u32, text: &str) -> Result<u32, QueryError> {
        if text == "-" {
            return Ok(0);
        }
        if let Ok(number) = text.trim().parse() {
            return Ok(number);
        }
        match of {
            REGCLASS => self.relation_oid(text),
            REGTYPE => self.type_oid(text),
            REGNAMESPACE => self.namespace_oid(&plain_name(text)),
            _ => {
                let name = plain_name(text);
                role_oid(self, &name).ok_or_else(|| {
                    QueryError::new(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
                })
            }
        }
    }

    /// The name of the object with a number of this type; the number, if there is none.
    pub fn object_name(&self, of: u32, oid: u32) -> String {
        if oid == 0 {
            return "-".to_owned();
        }
        let found = match of {
            REGCLASS => self.relation_name(oid),
            REGTYPE => Some(self.type_text(oid, None)).filter(|text| text != "???"),
            REGNAMESPACE => self.namespace_name(oid).map(|name| crate::system_catalog::quoted(&name)),
            _ => role_name(self, oid).map(|name| crate::system_catalog::quoted(&name)),
        };
        found.unwrap_or_else(|| oid.to_string())
    }
}

/// A name as it is kept: without quotes, or folded.
fn plain_name(text: &str) -> String {
    let text = text.trim();
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inside) => inside.replace("\"\"", "\""),
        None => text.to_lowercase(),
    }
}

/// The number of the function of this name, the first of several; 0: there is none.
fn function_oid(catalog: &SystemCatalog, name: &str) -> u32 {
    let own = || catalog.catalog().procedures.get(name).map(|(known, _)| known.oid);
    let known = Facts::postgresql15().functions.iter().find(|row| row.name == name);
    known.map(|row| row.id.0).or_else(own).unwrap_or(0)
}

/// What a function yields; `None` for one that there is not.
pub fn answer(catalog: &Arc<SystemCatalog>, name: &str, arguments: &[Value]) -> Option<Result<Value, ValueError>> {
    let text = || arguments.first().and_then(Value::as_text).unwrap_or_default();
    let number = || arguments.first().and_then(Value::as_integer).and_then(|oid| u32::try_from(oid).ok()).unwrap_or(0);
    let oid = |of| catalog.object_oid(of, text()).map(Value::Oid);
    let found = |of| Ok(catalog.object_oid(of, text()).map_or(Value::Null, Value::Oid));
    let name_of = |of| Ok(Value::text(catalog.object_name(of, number())));
    let answer = match name {
        "regclass_oid" => oid(REGCLASS),
        "regtype_oid" => oid(REGTYPE),
        "regnamespace_oid" => oid(REGNAMESPACE),
        "regrole_oid" => oid(REGROLE),
        "regclass_name" => name_of(REGCLASS),
        "regtype_name" => name_of(REGTYPE),
        "regnamespace_name" => name_of(REGNAMESPACE),
        "regrole_name" => name_of(REGROLE),
        "to_regclass" => found(REGCLASS),
        "to_regtype" => found(REGTYPE),
        "to_regnamespace" => found(REGNAMESPACE),
        "to_regrole" => found(REGROLE),
        "regproc_oid" => Ok(Value::Oid(function_oid(catalog, text()))),
        "current_schema" => {
            Ok(catalog.path_names(false).first().map_or(Value::Null, |name| Value::text(name.as_str())))
        }
        "current_schemas" => {
            let with_system = arguments.first().and_then(Value::as_boolean) == Some(true);
            let names = catalog.path_names(with_system).into_iter().map(Value::text);
            Ok(Value::array(Type::Text, names.collect()))
        }
        _ => match privileges::answer(name, catalog, arguments) {
            Some(answer) => answer,
            None => Ok(system::answer(name, catalog, arguments)?),
        },
    };
    Some(answer.map_err(of_value))
}

/// The same error as one of values.
pub(crate) fn of_value(error: QueryError) -> ValueError {
    const KNOWN: [&str; 10] = [
        sqlstate::FEATURE_NOT_SUPPORTED,
        sqlstate::INVALID_PARAMETER_VALUE,
        sqlstate::UNDEFINED_OBJECT,
        sqlstate::UNDEFINED_TABLE,
        sqlstate::UNDEFINED_COLUMN,
        sqlstate::INVALID_NAME,
        sqlstate::INVALID_SCHEMA_NAME,
        sqlstate::UNDEFINED_FUNCTION,
        sqlstate::INSUFFICIENT_PRIVILEGE,
        sqlstate::WRONG_OBJECT_TYPE,
    ];
    let code = KNOWN.into_iter().find(|known| *known == error.sqlstate).unwrap_or(sqlstate::INTERNAL_ERROR);
    ValueError::new(code, error.message)
}
