//! What roles may do: `has_table_privilege` and its family. Roles and objects that the catalog does not know are not there.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use crate::system_catalog::{SystemCatalog, role_name, role_oid};
use datafusion::logical_expr::ScalarUDF;
use messages::database::DatabaseId;
use messages::privilege::{PUBLIC, Privileges, Rights};
use messages::schema::Place;
use privileges::{Kind, Standing};
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

/// What the function of that name yields; `None` for one that there is not.
pub fn answer(name: &str, catalog: &Arc<SystemCatalog>, arguments: &[Value]) -> Option<Result<Value, QueryError>> {
    let (name, privileges) = KINDS.iter().find(|(known, _)| *known == name)?;
    Some(Privilege { name, privileges, catalog: Arc::clone(catalog) }.call(arguments))
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
        let standing = match role {
            Some(role) => self.standing_of(role)?,
            None => self.catalog.standing(),
        };
        let (Some(object), Some(privilege)) = (rest.first(), rest.last()) else { return Ok(Value::Null) };
        let is_there = self.exists(object)?;
        if of_column && is_there && !self.has_column(object, &rest[1])? {
            return Ok(Value::Null);
        }
        let asked = self.asked(privilege)?;
        if self.name == "pg_has_role" {
            let other = self.oid_of(object).unwrap_or_default();
            let catalog = self.catalog.catalog();
            let may = |(_, name, admin): &Asked| match (*admin, name.as_str()) {
                (true, _) => standing.is_admin(catalog, other),
                (false, "USAGE") => standing.has(other),
                (false, _) => standing.is_member(other),
            };
            return Ok(Value::Boolean(asked.iter().any(may)));
        }
        if !is_there {
            return Ok(Value::Null);
        }
        let column = of_column.then(|| &rest[1]);
        Ok(Value::Boolean(
            asked.iter().any(|(wanted, _, grantable)| self.may(&standing, object, column, *wanted, *grantable)),
        ))
    }
}

/// A privilege, its name, and whether the right to grant it is meant.
type Asked = (Privileges, String, bool);

/// The rights of a role that stands for everybody.
const EVERYBODY: &str = "public";

impl Privilege {
    /// What the role that is asked about may do; `public`: what everybody may. Errors: 42704 for a role that there is not.
    fn standing_of(&self, role: &Value) -> Result<Standing, QueryError> {
        let missing = |name: String| Err(QueryError::new("42704", format!("role {name} does not exist")));
        match role {
            Value::Text(name) => match role_oid(&self.catalog, name) {
                Some(oid) => Ok(self.catalog.standing_of(oid)),
                None if &**name == EVERYBODY && self.name != "pg_has_role" => Ok(self.catalog.standing_of(PUBLIC)),
                None => missing(format!("\"{name}\"")),
            },
            other => match self.oid_of(other).filter(|oid| role_name(&self.catalog, *oid).is_some()) {
                Some(oid) => Ok(self.catalog.standing_of(oid)),
                None => missing(format!("with OID {}", other.as_integer().unwrap_or_default())),
            },
        }
    }

    fn oid_of(&self, role: &Value) -> Option<u32> {
        match role {
            Value::Text(name) => role_oid(&self.catalog, name),
            other => other.as_integer().and_then(|oid| u32::try_from(oid).ok()),
        }
    }

    /// What is asked for. Errors: 22023 for a privilege that there is not on such an object.
    fn asked(&self, privilege: &Value) -> Result<Vec<Asked>, QueryError> {
        let parts = privilege.as_text().unwrap_or_default().split(',');
        let one = |one: &str| {
            let name = one.trim().to_ascii_uppercase();
            let option = if self.name == "pg_has_role" {
                [" WITH ADMIN OPTION", " WITH GRANT OPTION"]
            } else {
                [" WITH GRANT OPTION"; 2]
            };
            let plain = option.iter().find_map(|option| name.strip_suffix(option));
            let known = plain.unwrap_or(&name);
            if !self.privileges.contains(&known) {
                return Err(QueryError::new("22023", format!("unrecognized privilege type: \"{}\"", one.trim())));
            }
            let wanted = privileges::text::privilege(known).unwrap_or_default();
            Ok((wanted, known.to_owned(), plain.is_some()))
        };
        parts.map(one).collect()
    }

    /// Whether a role has a privilege on an object that is there, or may grant it.
    fn may(
        &self,
        standing: &Standing,
        object: &Value,
        column: Option<&Value>,
        wanted: Privileges,
        grantable: bool,
    ) -> bool {
        // RULE is no privilege any more.
        if wanted.is_empty() {
            return false;
        }
        let catalog = self.catalog.catalog();
        let number = object.as_integer().and_then(|number| u32::try_from(number).ok());
        let of = |kind: Kind, rights: &Rights, held: Privileges| match grantable {
            true => standing.grantable(kind, rights).contain(wanted),
            false => held.contain(wanted),
        };
        match self.name {
            "has_table_privilege" | "has_column_privilege" | "has_any_column_privilege" => {
                let oid = number.or_else(|| self.catalog.relation_oid(object.as_text()?).ok());
                let table = catalog.tables.values().find(|known| Some(known.table.oid) == oid);
                // System relations are read by all, and what shows verifiers by superusers.
                let Some(known) = table else { return self.of_system(standing, oid, wanted, grantable) };
                let table = &known.table;
                let whole = of(Kind::of(table), &table.rights, standing.on_table(table));
                let on_column = |column: usize| {
                    let grants = table.columns[column].grants.clone();
                    let rights = Rights { owner: table.rights.owner, grants: Some(grants.unwrap_or_default()) };
                    of(Kind::Column, &rights, standing.on_column(table, column))
                };
                let live = (0..table.columns.len()).filter(|column| !table.columns[*column].dropped);
                match (self.name, column) {
                    ("has_column_privilege", Some(column)) => {
                        let numbered = column.as_integer().and_then(|place| usize::try_from(place - 1).ok());
                        let place = column.as_text().and_then(|name| table.column(name)).or(numbered);
                        whole || place.filter(|place| *place < table.columns.len()).is_some_and(on_column)
                    }
                    ("has_any_column_privilege", _) => whole || live.into_iter().any(on_column),
                    _ => whole,
                }
            }
            "has_sequence_privilege" => {
                let oid = number.or_else(|| self.catalog.relation_oid(object.as_text()?).ok());
                let known = catalog.tables.values().find(|known| Some(known.table.oid) == oid);
                known.is_some_and(|known| of(Kind::Sequence, &known.table.rights, standing.on_table(&known.table)))
            }
            "has_schema_privilege" => {
                let name = object.as_text().map(|name| self.catalog.namespace_oid(name).unwrap_or_default());
                match number.or(name) {
                    Some(oid) if catalog.namespace_numbered(oid).is_some() => {
                        let schema = catalog.namespace_numbered(oid);
                        schema.is_some_and(|known| of(Kind::Schema, &known.rights, standing.on_schema(&known.rights)))
                    }
                    _ => standing.is_superuser() || (wanted == Privileges::USAGE && !grantable),
                }
            }
            "has_database_privilege" => {
                let rights = self.rights_on_database(object);
                of(Kind::Database, &rights, standing.on(Kind::Database, &rights))
            }
            "has_function_privilege" => {
                let oid = number.or_else(|| self.catalog.procedure_oid(object.as_text()?));
                let procedure = catalog.procedures.values().find(|(known, _)| Some(known.oid) == oid);
                let on = |rights: &Rights| of(Kind::Procedure, rights, standing.on(Kind::Procedure, rights));
                procedure.is_none_or(|(known, _)| on(&known.rights))
            }
            _ => self.of_other(standing, object, wanted, grantable),
        }
    }

    /// The rights on the database that a number or a name is of.
    fn rights_on_database(&self, object: &Value) -> Arc<Rights> {
        let catalog = self.catalog.catalog();
        let number = object.as_integer().and_then(|number| u32::try_from(number).ok()).map(DatabaseId);
        let named = || object.as_text().and_then(|name| catalog.database_named(name)).map(|known| known.id);
        catalog.database_rights(number.or_else(named).unwrap_or_default())
    }

    /// The same of a type, or of what there are no rights on.
    fn of_other(&self, standing: &Standing, object: &Value, wanted: Privileges, grantable: bool) -> bool {
        let known = if self.name == "has_type_privilege" { self.rights_on_type(object) } else { None };
        match known {
            Some(rights) if grantable => standing.grantable(Kind::Type, rights).contain(wanted),
            Some(rights) => standing.on(Kind::Type, rights).contain(wanted),
            None => standing.is_superuser() || (!grantable && wanted == Privileges::USAGE),
        }
    }

    /// The rights on the user's type that a number or a name is of, or whose arrays it is of: what may be done with these is what may be done with their elements.
    fn rights_on_type(&self, object: &Value) -> Option<&Rights> {
        let oid = match object.as_integer() {
            Some(number) => u32::try_from(number).ok()?,
            None => self.catalog.type_oid(object.as_text()?).ok()?,
        };
        self.catalog.catalog().type_numbered(oid & !1).map(|known| &known.rights)
    }

    /// Whether the session's role may look into the schema.
    fn sees_schema(&self) -> bool {
        let privileges = self.catalog.standing().on_place(self.catalog.catalog(), Place::Schema);
        privileges.contain(Privileges::USAGE)
    }

    fn of_system(&self, standing: &Standing, oid: Option<u32>, wanted: Privileges, grantable: bool) -> bool {
        let name = oid.and_then(|oid| self.catalog.relation_name(oid)).unwrap_or_default();
        let is_secret = matches!(name.as_str(), "pg_authid" | "pg_shadow");
        standing.is_superuser() || (wanted == Privileges::SELECT && !grantable && !is_secret)
    }

    /// Whether there is such an object; of an identifier that names none PostgreSQL knows nothing. Errors: those of names that name none.
    fn exists(&self, object: &Value) -> Result<bool, QueryError> {
        let name = object.as_text();
        let number = object.as_integer().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let undefined = |what: &str| {
            let name = name.unwrap_or_default();
            Err(QueryError::new("42704", format!("{what} \"{name}\" does not exist")))
        };
        if let Some(name) = name.filter(|_| !self.sees_schema()) {
            match self.name {
                "has_table_privilege" | "has_column_privilege" | "has_any_column_privilege"
                    if self.catalog.catalog().tables.contains_key(name) =>
                {
                    return Err(QueryError::new("42P01", format!("relation \"{name}\" does not exist")));
                }
                "has_function_privilege" => {
                    return Err(QueryError::new("42883", format!("function \"{name}\" does not exist")));
                }
                _ => {}
            }
        }
        match (self.name, name) {
            ("has_table_privilege" | "has_column_privilege" | "has_any_column_privilege", Some(name)) => {
                self.catalog.relation_oid(name).map(|_| true)
            }
            ("has_table_privilege" | "has_column_privilege" | "has_any_column_privilege", None) => {
                Ok(self.catalog.relation_name(number).is_some())
            }
            ("has_sequence_privilege", Some(name)) => {
                let oid = self.catalog.relation_oid(name)?;
                let mut tables = self.catalog.catalog().tables.values();
                match tables.any(|known| known.table.oid == oid && known.table.sequence.is_some()) {
                    true => Ok(true),
                    false => Err(QueryError::new("42809", format!("\"{name}\" is not a sequence"))),
                }
            }
            ("has_sequence_privilege", None) => match self.catalog.relation_name(number) {
                None => Ok(false),
                Some(name) => {
                    let mut tables = self.catalog.catalog().tables.values();
                    let is_one = tables.any(|known| known.table.oid == number && known.table.sequence.is_some());
                    let message = format!("\"{name}\" is not a sequence");
                    if is_one { Ok(true) } else { Err(QueryError::new("42809", message)) }
                }
            },
            ("has_schema_privilege", Some(name)) => self.catalog.namespace_oid(name).map(|_| true),
            ("has_schema_privilege", None) => Ok(self.catalog.namespace_name(number).is_some()),
            ("has_database_privilege", Some(name)) => match self.catalog.catalog().database_named(name) {
                Some(_) => Ok(true),
                None => Err(QueryError::new("3D000", format!("database \"{name}\" does not exist"))),
            },
            ("has_database_privilege", None) => {
                Ok(self.catalog.catalog().database_numbered(DatabaseId(number)).is_some())
            }
            ("has_type_privilege", Some(name)) => self.catalog.type_oid(name).map(|_| true),
            ("has_language_privilege", Some("sql" | "internal" | "c")) => Ok(true),
            ("has_language_privilege", Some(_)) => undefined("language"),
            ("has_tablespace_privilege", Some("pg_default" | "pg_global")) => Ok(true),
            ("has_tablespace_privilege", Some(_)) => undefined("tablespace"),
            ("has_server_privilege", Some(_)) => undefined("server"),
            ("has_foreign_data_wrapper_privilege", Some(_)) => undefined("foreign-data wrapper"),
            ("pg_has_role", _) => self.standing_of(object).map(|_| true),
            ("has_function_privilege", Some(name)) => match self.catalog.procedure_oid(name) {
                Some(_) => Ok(true),
                None => Err(QueryError::new("42883", format!("function \"{name}\" does not exist"))),
            },
            ("has_function_privilege", None) => Ok(self.catalog.procedure_arguments(number).is_some()),
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
        let own = self.catalog.catalog().tables.values().find(|known| known.table.oid == relation);
        let own = own.map(|known| (None, known.table.name.as_str()));
        let (within, name) = own.unwrap_or((schema, plain.trim_matches('"')));
        let columns = self.catalog.columns_of(within, name).unwrap_or_default();
        match column.as_text() {
            Some(name) if columns.iter().any(|column| column == name) => Ok(true),
            Some(name) => {
                Err(QueryError::new("42703", format!("column \"{name}\" of relation \"{plain}\" does not exist")))
            }
            None => Ok(column.as_integer().is_some_and(|place| (1..=columns.len() as i64).contains(&place))),
        }
    }
}
