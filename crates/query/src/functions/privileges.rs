//! What roles may do: all of them everything, for nothing is granted or taken away yet. Roles and objects that the catalog does not know are not there.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use crate::system_catalog::{SystemCatalog, role_name, role_oid};
use datafusion::logical_expr::ScalarUDF;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use values::{Type, Value};

/// Each kind of object: the function's name, and the privileges that there are on it.
const KINDS: [(&str, &[&str]); 13] = [
    ("has_any_column_privilege", &["SELECT", "INSERT", "UPDATE", "REFERENCES"]),
    ("has_column_privilege", &["SELECT", "INSERT", "UPDATE", "REFERENCES"]),
    ("has_database_privilege", &["CREATE", "TEMPORARY", "TEMP", "CONNECT"]),
    ("has_foreign_data_wrapper_privilege", &["USAGE"]),
    ("has_function_privilege", &["EXECUTE"]),
    ("has_language_privilege", &["USAGE"]),
    ("has_schema_privilege", &["CREATE", "USAGE"]),
    ("has_sequence_privilege", &["USAGE", "SELECT", "UPDATE"]),
    ("has_server_privilege", &["USAGE"]),
    ("has_table_privilege", &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "RULE"]),
    ("has_tablespace_privilege", &["CREATE"]),
    ("has_type_privilege", &["USAGE"]),
    ("pg_has_role", &["USAGE", "MEMBER"]),
];

#[derive(Debug)]
struct Privilege {
    name: &'static str,
    privileges: &'static [&'static str],
    catalog: Arc<SystemCatalog>,
}

impl PartialEq for Privilege {
    fn eq(&self, other: &Privilege) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Eq for Privilege {}

impl Hash for Privilege {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The function of that name, over a snapshot.
pub fn of_name(name: &str, catalog: &Arc<SystemCatalog>) -> Option<ScalarUDF> {
    let (name, privileges) = KINDS.iter().find(|(known, _)| *known == name)?;
    catalog.show();
    Some(rowwise::function(Privilege { name, privileges, catalog: Arc::clone(catalog) }))
}

impl RowImplementation for Privilege {
    fn name(&self) -> &str {
        self.name
    }

    fn result(&self, arguments: &[Option<Type>]) -> Result<Type, QueryError> {
        let wanted = 2 + usize::from(self.name == "has_column_privilege");
        match arguments.len() == wanted || arguments.len() == wanted + 1 {
            true => Ok(Type::Boolean),
            false => Err(QueryError::undefined_function(&format!("{}() of {} arguments", self.name, arguments.len()))),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        let of_column = self.name == "has_column_privilege";
        let (role, rest) = match arguments.len() > 2 + usize::from(of_column) {
            true => (arguments.first(), &arguments[1..]),
            false => (None, arguments),
        };
        if let Some(role) = role {
            self.check_role(role)?;
        }
        let (Some(object), Some(privilege)) = (rest.first(), rest.last()) else { return Ok(Value::Null) };
        let is_there = self.exists(object)?;
        if of_column && is_there && !self.has_column(object, &rest[1])? {
            return Ok(Value::Null);
        }
        self.check_privilege(privilege)?;
        if self.name == "pg_has_role" {
            return Ok(Value::Boolean(self.is_member(role, object)));
        }
        Ok(if is_there { Value::Boolean(true) } else { Value::Null })
    }
}

impl Privilege {
    /// Errors: 42704 for a role that there is not.
    fn check_role(&self, role: &Value) -> Result<(), QueryError> {
        let missing = |name: String| Err(QueryError::new("42704", format!("role {name} does not exist")));
        match role {
            Value::Text(name) if role_oid(&self.catalog, name).is_some() => Ok(()),
            Value::Text(name) if &**name == "public" => {
                Err(QueryError::unsupported("privileges of public are not supported"))
            }
            Value::Text(name) => missing(format!("\"{name}\"")),
            other if self.oid_of(other).is_some_and(|oid| role_name(&self.catalog, oid).is_some()) => Ok(()),
            other => missing(format!("with OID {}", other.as_integer().unwrap_or_default())),
        }
    }

    fn oid_of(&self, role: &Value) -> Option<u32> {
        match role {
            Value::Text(name) => role_oid(&self.catalog, name),
            other => other.as_integer().and_then(|oid| u32::try_from(oid).ok()),
        }
    }

    /// Whether a role, the session's own if none is given, may act as another: superusers as any, others as themselves.
    fn is_member(&self, role: Option<&Value>, other: &Value) -> bool {
        let own = || role_oid(&self.catalog, &self.catalog.session().user);
        let member = role.map_or_else(own, |role| self.oid_of(role));
        let is_super = |oid| self.catalog.is_super(oid);
        member.is_some_and(|member| is_super(member) || self.oid_of(other) == Some(member))
    }

    /// Errors: 22023 for a privilege that there is not on such an object.
    fn check_privilege(&self, privilege: &Value) -> Result<(), QueryError> {
        for one in privilege.as_text().unwrap_or_default().split(',') {
            let name = one.trim().to_ascii_uppercase();
            let granted = name.strip_suffix(" WITH GRANT OPTION").or_else(|| name.strip_suffix(" WITH ADMIN OPTION"));
            if !self.privileges.contains(&granted.unwrap_or(&name)) {
                return Err(QueryError::new("22023", format!("unrecognized privilege type: \"{}\"", one.trim())));
            }
        }
        Ok(())
    }

    /// Whether there is such an object; of an identifier that names none PostgreSQL knows nothing. Errors: those of names that name none.
    fn exists(&self, object: &Value) -> Result<bool, QueryError> {
        let name = object.as_text();
        let number = object.as_integer().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let undefined = |what: &str| {
            let name = name.unwrap_or_default();
            Err(QueryError::new("42704", format!("{what} \"{name}\" does not exist")))
        };
        match (self.name, name) {
            ("has_table_privilege" | "has_column_privilege" | "has_any_column_privilege", Some(name)) => {
                self.catalog.relation_oid(name).map(|_| true)
            }
            ("has_table_privilege" | "has_column_privilege" | "has_any_column_privilege", None) => {
                Ok(self.catalog.relation_name(number).is_some())
            }
            ("has_sequence_privilege", Some(name)) => {
                self.catalog.relation_oid(name)?;
                Err(QueryError::new("42809", format!("\"{name}\" is not a sequence")))
            }
            ("has_schema_privilege", Some(name)) => self.catalog.namespace_oid(name).map(|_| true),
            ("has_schema_privilege", None) => Ok(self.catalog.namespace_name(number).is_some()),
            ("has_database_privilege", Some(name)) if name == self.catalog.session().database => Ok(true),
            ("has_database_privilege", Some(name)) => {
                Err(QueryError::new("3D000", format!("database \"{name}\" does not exist")))
            }
            ("has_database_privilege", None) => Ok(number == crate::system_catalog::DATABASE_OID),
            ("has_type_privilege", Some(name)) => self.catalog.type_oid(name).map(|_| true),
            ("has_language_privilege", Some("sql" | "internal" | "c")) => Ok(true),
            ("has_language_privilege", Some(_)) => undefined("language"),
            ("has_tablespace_privilege", Some("pg_default" | "pg_global")) => Ok(true),
            ("has_tablespace_privilege", Some(_)) => undefined("tablespace"),
            ("has_server_privilege", Some(_)) => undefined("server"),
            ("has_foreign_data_wrapper_privilege", Some(_)) => undefined("foreign-data wrapper"),
            ("pg_has_role", _) => self.check_role(object).map(|()| true),
            _ => Err(QueryError::unsupported(format!("{} of such an object is not supported", self.name))),
        }
    }

    /// Errors: 42703 for a name that no column has.
    fn has_column(&self, object: &Value, column: &Value) -> Result<bool, QueryError> {
        let relation = match object.as_text() {
            Some(name) => self.catalog.relation_oid(name)?,
            None => object.as_integer().and_then(|number| u32::try_from(number).ok()).unwrap_or_default(),
        };
        let shown = self.catalog.relation_name(relation).unwrap_or_default();
        let (schema, plain) = match shown.split_once('.') {
            Some((schema, plain)) => (Some(schema), plain),
            None => (None, shown.as_str()),
        };
        let columns = self.catalog.columns_of(schema, plain.trim_matches('"')).unwrap_or_default();
        match column.as_text() {
            Some(name) if columns.iter().any(|column| column == name) => Ok(true),
            Some(name) => {
                Err(QueryError::new("42703", format!("column \"{name}\" of relation \"{plain}\" does not exist")))
            }
            None => Ok(column.as_integer().is_some_and(|place| (1..=columns.len() as i64).contains(&place))),
        }
    }
}
