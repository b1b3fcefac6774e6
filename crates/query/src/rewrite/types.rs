//! Type names in SQL text: ours, PostgreSQL's catalog types, and what a cast to each becomes.

use super::build::{call, native_cast, number, text};
use crate::error::QueryError;
use crate::system_catalog::SystemCatalog;
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType, Expr, Value, ValueWithSpan};
use values::Type;

/// Name of the function that casts as PostgreSQL does: the value, and the type's name.
pub const CAST_FUNCTION: &str = "cast_value";

/// The name of a type, without `pg_catalog.` and quotes, in lower case.
fn plain_name(data_type: &DataType) -> String {
    let name = data_type.to_string().replace('"', "").to_lowercase();
    name.strip_prefix("pg_catalog.").map(str::to_owned).unwrap_or(name)
}

/// What kind of thing a type name names.
pub enum Named {
    /// One of our types.
    Known(Type),
    /// A type of the system catalogs that is text or a number here.
    Catalog(CatalogType),
    /// A list of the latter.
    CatalogArray,
}

/// PostgreSQL's types that only the system catalogs use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CatalogType {
    /// `xid`, `cid`: a number.
    Number,
    /// `"char"`: a text of one byte.
    Byte,
    /// `name`, `pg_node_tree`, `aclitem`: a text.
    Name,
    /// `regclass`.
    RegClass,
    /// `regtype`.
    RegType,
    /// `regnamespace`.
    RegNamespace,
    /// `regrole`.
    RegRole,
    /// `regproc` and `regprocedure`, `regoper`.
    RegOther,
}

fn is_one_byte(data_type: &DataType) -> bool {
    let name = data_type.to_string();
    name.contains('"') || name.to_lowercase().starts_with("pg_catalog.")
}

/// The name of a type of the system catalogs that no column of a result can have here.
pub fn without_column(data_type: &DataType) -> Option<String> {
    match resolve(data_type) {
        Ok(Named::Catalog(CatalogType::Number | CatalogType::Byte)) => Some(plain_name(data_type)),
        _ => None,
    }
}

/// Whether only the executor has values of a type that is no array.
fn only_executed(known: Type) -> bool {
    known.is_range() || known.is_of_queries()
}

/// Resolves a type's name. Errors: 42704 for one that does not exist.
pub fn resolve(data_type: &DataType) -> Result<Named, QueryError> {
    if let DataType::Array(element) = data_type {
        let ArrayElemTypeDef::SquareBracket(element, _) = element else {
            return Err(QueryError::new("42601", format!("syntax error: {data_type} is no name of a type")));
        };
        return Ok(match resolve(element)? {
            Named::Known(known) => Named::Known(known.array()),
            Named::Catalog(_) | Named::CatalogArray => Named::CatalogArray,
        });
    }
    let name = plain_name(data_type);
    let catalog = match name.as_str() {
        "xid" | "cid" | "xid8" => CatalogType::Number,
        "name" | "pg_node_tree" | "aclitem" | "cstring" | "unknown" => CatalogType::Name,
        // `"char"` in quotes is PostgreSQL's one-byte type, `char` without is character(1).
        "char" if is_one_byte(data_type) => CatalogType::Byte,
        "regclass" => CatalogType::RegClass,
        "regtype" => CatalogType::RegType,
        "regnamespace" => CatalogType::RegNamespace,
        "regrole" => CatalogType::RegRole,
        "regproc" | "regprocedure" | "regoper" | "regoperator" => CatalogType::RegOther,
        "json" | "jsonb" | "inet" | "cidr" | "macaddr" | "macaddr8" | "xml" | "money" | "point" | "timetz" | "bit"
        | "varbit" | "tid" | "pg_lsn" | "int2vector" | "oidvector" | "regconfig" | "regdictionary" => {
            return Err(QueryError::unsupported(format!("type {name} is not supported")));
        }
        range if range.parse::<Type>().is_ok_and(|known| only_executed(known.element().unwrap_or(known))) => {
            return Err(QueryError::unsupported(format!("type {name} is not supported")));
        }
        "string" => return Err(QueryError::new("42704", "type \"string\" does not exist")),
        _ => return Ok(Named::Known(name.parse::<Type>().map_err(QueryError::from)?)),
    };
    Ok(Named::Catalog(catalog))
}

/// The name that a column gets which is a cast to this type.
pub fn type_name(data_type: &DataType) -> String {
    match resolve(data_type) {
        Ok(Named::Known(known)) => known.element().unwrap_or(known).catalog_name().to_owned(),
        _ => plain_name(data_type),
    }
}

/// The type that a parameter has which is cast to this.
pub fn parameter_type(data_type: &DataType) -> Option<Type> {
    match resolve(data_type).ok()? {
        Named::Known(known) => Some(known.unmodified()),
        Named::Catalog(CatalogType::Number) => Some(Type::BigInt),
        Named::Catalog(_) => Some(Type::Text),
        Named::CatalogArray => None,
    }
}

/// What `inner::data_type` becomes.
pub fn cast(inner: Expr, data_type: &DataType, catalog: &SystemCatalog) -> Result<Expr, QueryError> {
    let resolved = resolve(data_type).map_err(|error| match catalog.names_user_type(&plain_name(data_type)) {
        true => QueryError::unsupported("an enum in a query of this form"),
        false => error,
    });
    let target = match resolved? {
        Named::CatalogArray => return Ok(inner),
        // Without elements an array has no type of its own.
        Named::Known(known @ Type::Array(_)) if is_empty_array(&inner) => return Ok(cast_value(text("{}"), known)),
        Named::Known(known) => return Ok(cast_value(inner, known)),
        Named::Catalog(target) => target,
    };
    let literal = string_literal(&inner).map(str::to_owned);
    Ok(match (target, literal) {
        (CatalogType::Number, _) => native_cast(inner, DataType::BigInt(None)),
        (CatalogType::Byte, Some(byte)) if !(byte.is_ascii() && byte.len() < 2 && byte != "\\") => {
            return Err(QueryError::unsupported("a \"char\" of more than one character is not supported; use text"));
        }
        (CatalogType::Name | CatalogType::Byte, _) => cast_value(inner, Type::Text),
        (CatalogType::RegClass, Some(name)) => oid(catalog.relation_oid(&name)?),
        (CatalogType::RegType, Some(name)) => oid(catalog.type_oid(&name)?),
        (CatalogType::RegNamespace, Some(name)) => oid(catalog.namespace_oid(&name)?),
        (CatalogType::RegRole, Some(name)) => {
            let missing = || QueryError::new("42704", format!("role \"{name}\" does not exist"));
            oid(crate::system_catalog::role_oid(catalog, &name).ok_or_else(missing)?)
        }
        // A parameter is a name, to be compared with identifiers.
        (CatalogType::RegClass, None) if is_parameter(&inner) => call("regclass_oid", vec![inner]),
        (CatalogType::RegType, None) if is_parameter(&inner) => call("regtype_oid", vec![inner]),
        (CatalogType::RegClass, None) => call("regclass_name", vec![inner]),
        (CatalogType::RegType, None) => call("format_type", vec![inner, super::build::null()]),
        (CatalogType::RegNamespace, None) => call("regnamespace_name", vec![inner]),
        (CatalogType::RegRole, None) => call("pg_get_userbyid", vec![inner]),
        // Functions that are no procedure of the user have no identifier here.
        (CatalogType::RegOther, Some(name)) if let Some(procedure) = catalog.procedure_oid(&name) => oid(procedure),
        (CatalogType::RegOther, _) => cast_value(inner, Type::Text),
    })
}

/// A cast with PostgreSQL's meaning.
pub fn cast_value(inner: Expr, target: Type) -> Expr {
    call(CAST_FUNCTION, vec![inner, text(target.to_string())])
}

fn oid(oid: u32) -> Expr {
    cast_value(number(oid), Type::Oid)
}

fn is_empty_array(expression: &Expr) -> bool {
    matches!(expression, Expr::Array(array) if array.elem.is_empty())
}

fn is_parameter(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }))
}

/// The text of a quoted literal.
pub fn string_literal(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text),
            ..
        }) => Some(text),
        Expr::Value(ValueWithSpan { value: Value::DollarQuotedString(text), .. }) => Some(&text.value),
        Expr::Nested(inner) => string_literal(inner),
        _ => None,
    }
}
