//! Which relation or procedure a written name means: the one in the schema before it, or the first in the search path (PostgreSQL's `namespace.c`).
//!
//! Invariant: what comes out is a name as the catalog knows it ([`messages::namespace`]); for what is not there it is one that nothing has.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::denials::{denied, denied_for};
use crate::sql::names::{is_system_schema, parts};
use crate::sql::settings::Facts;
use crate::sql::temporary_syntax::{in_lasting_schema, in_others_schema};
use messages::namespace::{self, NOWHERE, OWN_TEMPORARY, PUBLIC, PUBLIC_OID, UNMADE_TEMPORARY};
use messages::schema::{Catalog, CatalogEntry, NamespaceSchema};
use messages::{Key, Timestamp};
use privileges::path::{left_out, makes_temporary, may_look_into};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use values::extensions;

/// What a name is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// Tables, indexes, views, sequences and constraints with an index.
    Relation,
    /// Procedures.
    Procedure,
    /// Users' types.
    Type,
    /// Functions of extensions.
    Function,
}

/// Looks names up for one statement.
pub struct NameLookup<'a> {
    catalog: &'a Catalog,
    path: &'a [u32],
    role: u32,
    /// The number of the session's temporary schema.
    temporary: Option<u32>,
    /// Whether what is made is temporary unless a schema is named.
    makes_temporary: bool,
    /// Schemas that the path would have if they were there and open, and how many of it come before each.
    left_out: Vec<(usize, String)>,
    /// Whether a name may mean what is still to be made.
    is_ahead: bool,
    /// Catalog rows that decided what names mean, beside those of what they mean.
    relied: RefCell<BTreeSet<Key>>,
}

impl NameKind {
    fn is_in(self, catalog: &Catalog, name: &str) -> bool {
        match self {
            NameKind::Relation => catalog.has_relation(name),
            NameKind::Procedure => catalog.procedures.contains_key(name),
            NameKind::Type => catalog.types.contains_key(name),
            NameKind::Function => catalog.extension_of(name).is_some(),
        }
    }

    fn key(self, name: &str) -> Key {
        match self {
            NameKind::Relation => CatalogEntry::key(name),
            NameKind::Procedure => CatalogEntry::procedure_key(name),
            NameKind::Type => CatalogEntry::type_key(name),
            NameKind::Function => {
                let provider = extensions::provider(namespace::bare(name));
                CatalogEntry::extension_key(provider.map_or("", |known| known.name))
            }
        }
    }
}

impl<'a> NameLookup<'a> {
    /// For a session with these facts.
    pub fn new(catalog: &'a Catalog, facts: &'a Facts) -> NameLookup<'a> {
        let setting = facts.settings.search_path();
        let left_out = left_out(catalog, facts.path_owner(), setting);
        NameLookup {
            catalog,
            path: &facts.path,
            role: facts.role,
            temporary: facts.temporary.schema,
            makes_temporary: makes_temporary(setting),
            left_out,
            is_ahead: false,
            relied: RefCell::default(),
        }
    }

    /// The same where names mean what will be there: a name that nothing has is one in its schema, or in the first of the path.
    pub fn ahead(self) -> NameLookup<'a> {
        NameLookup { is_ahead: true, ..self }
    }

    /// Whether a name without a schema means the one in `public`, and there is no other schema.
    pub fn is_plain(&self) -> bool {
        self.catalog.namespaces.is_empty() && *self.path == [PUBLIC_OID] && !self.makes_temporary
    }

    /// The catalog.
    pub fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// Catalog rows that decided what names mean, with their versions.
    pub fn relied(&self) -> Vec<(Key, Timestamp)> {
        self.relied.borrow().iter().map(|key| (key.clone(), self.catalog.version_of(key))).collect()
    }

    fn rely(&self, key: Key) {
        self.relied.borrow_mut().insert(key);
    }

    /// Whoever makes or opens one of the schemas that stand here in the path, behind so many others, changes what a name means.
    fn rely_on_left_out(&self, before: usize) {
        let here = self.left_out.iter().filter(|(place, _)| *place == before);
        here.for_each(|(_, name)| self.rely(CatalogEntry::namespace_key(name)));
    }

    /// A schema that a statement names; its row decides. Errors: 3F000; 42501 for one that the role may not look into.
    pub fn schema(&self, name: &str) -> Result<Arc<NamespaceSchema>> {
        if name == OWN_TEMPORARY {
            let own = self.temporary.and_then(|own| self.catalog.namespace_numbered(own));
            let own = own.ok_or_else(|| no_schema(name))?;
            self.rely(CatalogEntry::namespace_key(&own.name));
            return Ok(own);
        }
        if name != PUBLIC {
            self.rely(CatalogEntry::namespace_key(name));
        }
        let namespace = self.catalog.namespace(name).ok_or_else(|| no_schema(name))?;
        match self.temporary == Some(namespace.oid) || may_look_into(self.catalog, self.role, &namespace) {
            true => Ok(namespace),
            false => Err(denied_for("schema", name)),
        }
    }

    /// What a name without a schema means; `None`: nothing. `made`: what the statement makes is there already.
    fn in_path(&self, kind: NameKind, name: &str, made: &str) -> Option<String> {
        if namespace::is_marked(name) {
            return Some(name.to_owned());
        }
        for (place, &schema) in self.path.iter().enumerate() {
            if matches!(kind, NameKind::Procedure | NameKind::Function) && self.temporary == Some(schema) {
                continue;
            }
            self.rely_on_left_out(place);
            let known = namespace::within(name, schema);
            if let Some(namespace) = self.catalog.namespace_numbered(schema)
                && schema != PUBLIC_OID
            {
                self.rely(CatalogEntry::namespace_key(&namespace.name));
            }
            if known == made || kind.is_in(self.catalog, &known) {
                return Some(known);
            }
            // Whoever makes it changes what this name means.
            self.rely(kind.key(&known));
        }
        self.rely_on_left_out(self.path.len());
        None
    }

    /// What a written name means. Errors: as [`NameLookup::schema`].
    pub fn existing(&self, kind: NameKind, text: &str) -> Result<String> {
        self.existing_or_made(kind, text, "")
    }

    /// The same of a relation in a statement that makes one of this name.
    pub fn existing_or_made(&self, kind: NameKind, text: &str, made: &str) -> Result<String> {
        match parts(text) {
            (None, name) => Ok(self.in_path(kind, name, made).unwrap_or_else(|| self.absent(name))),
            (Some(schema), name) if is_system_schema(schema) => {
                Ok(namespace::within(&format!("{schema}.{name}"), NOWHERE))
            }
            (Some(schema), name) => {
                let known = namespace::within(name, self.schema(schema)?.oid);
                match self.is_ahead || known == made || kind.is_in(self.catalog, &known) {
                    true => Ok(known),
                    false => Ok(namespace::within(&format!("{schema}.{name}"), NOWHERE)),
                }
            }
        }
    }

    /// A name that nothing has: errors show the one that was written.
    fn absent(&self, name: &str) -> String {
        if let Some(first) = self.path.first().filter(|_| self.is_ahead) {
            return namespace::within(name, *first);
        }
        match self.path.contains(&PUBLIC_OID) {
            true => name.to_owned(),
            false => namespace::within(name, NOWHERE),
        }
    }

    /// The user's type that a written name means; `None`: there is none, but one of the system's may be called so. Errors: as [`NameLookup::schema`].
    pub fn user_type(&self, text: &str) -> Result<Option<String>> {
        let (schema, _) = parts(text);
        if schema.is_some_and(is_system_schema) {
            return Ok(None);
        }
        let known = self.existing(NameKind::Type, text)?;
        Ok(Some(known).filter(|known| schema.is_some() || self.catalog.types.contains_key(known)))
    }

    /// The function of a user or an extension that a call means; `None`: what was written means none, or PostgreSQL says that there is no such schema or function.
    /// Errors: as [`NameLookup::schema`].
    pub fn function(&self, text: &str) -> Result<Option<String>> {
        let (schema, name) = parts(text);
        let bare = namespace::bare(name);
        let is_users = || self.catalog.procedures.keys().any(|known| namespace::bare(known) == bare);
        if !schema.is_some_and(|schema| is_system_schema(schema) || self.catalog.namespace(schema).is_none())
            && is_users()
        {
            let known = self.existing(NameKind::Procedure, text)?;
            if self.catalog.procedures.get(&known).is_some_and(|(known, _)| known.function.is_some()) {
                return Ok(Some(known));
            }
        }
        let of_user = schema.filter(|schema| self.is_ahead && !is_system_schema(schema));
        if let Some(namespace) = of_user.and_then(|schema| self.catalog.namespace(schema))
            && extensions::provider(bare).is_none()
        {
            return Ok(Some(namespace::within(name, namespace.oid)));
        }
        if extensions::provider(bare).is_none() || schema.is_some_and(is_system_schema) {
            return Ok(None);
        }
        if schema.is_none() && !namespace::is_marked(name) && extensions::is_hidden(bare) {
            return Ok(None);
        }
        if schema.is_some_and(|schema| self.catalog.namespace(schema).is_none()) {
            return Ok(None);
        }
        let known = self.existing(NameKind::Function, text)?;
        // A name alone would mean what is in `public`.
        let is_found = self.catalog.extension_of(&known).is_some();
        Ok(Some(known).filter(|_| is_found || (schema.is_none() && self.catalog.extension_of(name).is_some())))
    }

    /// The name of what is to be made. Errors: 3F000; 42602 for a name that none can be told from another schema's; 42501.
    pub fn new_name(&self, text: &str) -> Result<String> {
        let (schema, name) = parts(text);
        if namespace::is_marked(name) {
            let message = format!("the name \"{}\" has a control character in it", namespace::bare(name));
            return Err(SqlError::new(sqlstate::INVALID_NAME, message));
        }
        if schema == Some(OWN_TEMPORARY) || (schema.is_none() && self.makes_temporary) {
            return Ok(self.temporary_name(name));
        }
        let namespace = match schema {
            Some(schema) if is_system_schema(schema) => {
                return Err(denied(format!("permission denied to create \"{schema}.{name}\""))
                    .with_detail("System catalog modifications are currently disallowed."));
            }
            Some(schema) => self.schema(schema)?,
            None => {
                self.rely_on_left_out(0);
                // What is temporary comes first, and is where something is made only if that is said.
                let mut path = self.path.iter().filter(|schema| self.temporary != Some(**schema));
                path.next().and_then(|schema| self.catalog.namespace_numbered(*schema)).ok_or_else(|| {
                    SqlError::new(sqlstate::UNDEFINED_SCHEMA, "no schema has been selected to create in")
                })?
            }
        };
        self.rely(CatalogEntry::namespace_key(&namespace.name));
        Ok(namespace::within(name, namespace.oid))
    }

    /// The same for what is temporary. Errors: 3F000; 42P16 for a schema that is not the session's own.
    pub fn new_temporary_name(&self, text: &str) -> Result<String> {
        match parts(text) {
            (None | Some(OWN_TEMPORARY), name) if !namespace::is_marked(name) => Ok(self.temporary_name(name)),
            (Some(schema), name) if !is_system_schema(schema) => {
                let known = self.schema(schema)?;
                match known.temporary {
                    Some(_) if self.temporary == Some(known.oid) => Ok(self.temporary_name(name)),
                    Some(_) => Err(in_others_schema()),
                    None => Err(in_lasting_schema()),
                }
            }
            (Some(_), _) => Err(in_lasting_schema()),
            (None, _) => self.new_name(text),
        }
    }

    /// The name of something temporary, in a schema that is perhaps still to be made.
    fn temporary_name(&self, name: &str) -> String {
        if let Some(own) = self.temporary.and_then(|own| self.catalog.namespace_numbered(own)) {
            self.rely(CatalogEntry::namespace_key(&own.name));
        }
        namespace::within(name, self.temporary.unwrap_or(UNMADE_TEMPORARY))
    }

    /// Refuses what is in another session's temporary schema to whoever may look into that. Errors: 0A000.
    pub fn check_reachable(&self, known: &str) -> Result<()> {
        let is_own = self.temporary == Some(namespace::of(known));
        match namespace::is_marked(known) && !is_own && self.catalog.is_temporary(known) {
            false => Ok(()),
            true => {
                Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "cannot access temporary tables of other sessions"))
            }
        }
    }

    /// Catalog rows that decide what a written name means, and what becomes of that.
    pub fn keys(&self, kind: NameKind, text: &str) -> Vec<Key> {
        let (schema, name) = parts(text);
        let Some(schema) = schema else {
            let own = namespace::is_marked(name).then(|| kind.key(name));
            let in_path = self.path.iter().map(|schema| kind.key(&namespace::within(name, *schema)));
            let left_out = self.left_out.iter().map(|(_, name)| CatalogEntry::namespace_key(name));
            return in_path.chain(own).chain(left_out).collect();
        };
        let own = self.temporary.filter(|_| schema == OWN_TEMPORARY);
        let found = own.map_or_else(|| self.catalog.namespace(schema), |own| self.catalog.namespace_numbered(own));
        let known = found.map(|namespace| kind.key(&namespace::within(name, namespace.oid)));
        known.into_iter().chain([CatalogEntry::namespace_key(schema)]).collect()
    }
}

/// 3F000.
pub fn no_schema(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_SCHEMA, format!("schema \"{name}\" does not exist"))
}
