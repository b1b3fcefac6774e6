//! The catalog as a whole: all that its rows say, as of some moment.
//!
//! Invariant: it is what the rows that were applied make of it, in whatever order those of different keys came.

use crate::key::Key;
use crate::namespace;
use crate::privilege::{Grant, PUBLIC, Privileges, Rights};
use crate::role::{DATABASE_OWNER_OID, RoleSchema, Secret, built_in};
use crate::schema::{COMMENT, EXTENSION, NAMESPACE, PROCEDURE, RELATION, RIGHTS, ROLE, SECRET, SETTING, TYPE};
use crate::schema::{
    CatalogEntry, CommentTarget, ExtensionSchema, NamespaceSchema, Place, ProcedureSchema, TableSchema, TemporaryOwner,
    TypeSchema,
};
use crate::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::Type;

/// A table with the version of its catalog row, which every transaction that uses it records as read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VersionedTable {
    /// The definition.
    pub table: Arc<TableSchema>,
    /// The version of its catalog row; [`Timestamp::ZERO`] while its own transaction has not committed.
    pub version: Timestamp,
}

/// Rows of the catalog, and the version of each that something was compiled with; [`Timestamp::ZERO`]: the row was absent.
pub type CatalogVersions = Arc<[(Key, Timestamp)]>;

/// All tables, procedures and roles, as of some moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Catalog {
    /// By name.
    pub tables: BTreeMap<String, VersionedTable>,
    /// Names of indexes and constraints, with their table's name and the version of their catalog row.
    pub index_names: BTreeMap<String, (String, Timestamp)>,
    /// The next free number, and the version of its catalog row.
    pub next: (u32, Timestamp),
    /// Procedures by name, each with the version of its catalog row.
    pub procedures: BTreeMap<String, (Arc<ProcedureSchema>, Timestamp)>,
    /// Roles by name, each with the version of its catalog row. See [`Catalog::role`].
    pub roles: BTreeMap<String, (Arc<RoleSchema>, Timestamp)>,
    /// See [`CatalogEntry::Secret`], with the version of its catalog row.
    pub secret: Option<(Secret<[u8; 32]>, Timestamp)>,
    /// What was changed of the rights on places, each with the version of its catalog row. See [`Catalog::rights`].
    pub rights: BTreeMap<Place, (Arc<Rights>, Timestamp)>,
    /// Settings by name, each with the version of its catalog row.
    pub settings: BTreeMap<String, (String, Timestamp)>,
    /// Schemas by name, each with the version of its catalog row. See [`Catalog::namespace`].
    pub namespaces: BTreeMap<String, (Arc<NamespaceSchema>, Timestamp)>,
    /// What is said of objects, each with the version of its catalog row.
    pub comments: BTreeMap<CommentTarget, (Arc<str>, Timestamp)>,
    /// Users' types by name, each with the version of its catalog row.
    pub types: BTreeMap<String, (Arc<TypeSchema>, Timestamp)>,
    /// Extensions by name, each with the version of its catalog row.
    pub extensions: BTreeMap<String, (Arc<ExtensionSchema>, Timestamp)>,
}

impl Catalog {
    /// Applies one committed catalog row (`None`: deleted). A row that does not decode is an error.
    pub fn apply(&mut self, key: &[u8], version: Timestamp, row: Option<&[u8]>) -> Result<(), postcard::Error> {
        let entry = row.map(CatalogEntry::decode).transpose()?;
        let name = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match key.split_first() {
            Some((&RELATION, bytes)) => self.apply_relation(name(bytes), version, entry),
            Some((&PROCEDURE, bytes)) => match entry {
                Some(CatalogEntry::Procedure(procedure)) => {
                    self.procedures.insert(name(bytes), (procedure, version));
                }
                _ => drop(self.procedures.remove(&name(bytes))),
            },
            Some((&ROLE, bytes)) => match entry {
                Some(CatalogEntry::Role(role)) => drop(self.roles.insert(name(bytes), (role, version))),
                _ => drop(self.roles.remove(&name(bytes))),
            },
            Some((&SECRET, _)) => {
                self.secret = match entry {
                    Some(CatalogEntry::Secret(secret)) => Some((secret, version)),
                    _ => None,
                }
            }
            Some((&RIGHTS, bytes)) => {
                let place = Place::ALL.into_iter().find(|place| place.name().as_bytes() == bytes);
                match (place, entry) {
                    (Some(place), Some(CatalogEntry::Rights(rights))) => {
                        self.rights.insert(place, (rights, version));
                    }
                    (Some(place), _) => drop(self.rights.remove(&place)),
                    (None, _) => {}
                }
            }
            Some((&SETTING, bytes)) => match entry {
                Some(CatalogEntry::Setting(value)) => drop(self.settings.insert(name(bytes), (value, version))),
                _ => drop(self.settings.remove(&name(bytes))),
            },
            Some((&NAMESPACE, bytes)) => match entry {
                Some(CatalogEntry::Namespace(namespace)) => {
                    self.namespaces.insert(name(bytes), (namespace, version));
                }
                _ => drop(self.namespaces.remove(&name(bytes))),
            },
            Some((&TYPE, bytes)) => match entry {
                Some(CatalogEntry::Type(known)) => drop(self.types.insert(name(bytes), (known, version))),
                _ => drop(self.types.remove(&name(bytes))),
            },
            Some((&EXTENSION, bytes)) => match entry {
                Some(CatalogEntry::Extension(known)) => {
                    self.extensions.insert(name(bytes), (known, version));
                }
                _ => drop(self.extensions.remove(&name(bytes))),
            },
            Some((&COMMENT, bytes)) => match (CommentTarget::of_bytes(bytes), entry) {
                (Some(target), Some(CatalogEntry::Comment(text))) => {
                    self.comments.insert(target, (text, version));
                }
                (Some(target), _) => drop(self.comments.remove(&target)),
                (None, _) => {}
            },
            _ => {
                if let Some(CatalogEntry::Next(next)) = entry {
                    self.next = (next, version);
                }
            }
        }
        Ok(())
    }

    fn apply_relation(&mut self, name: String, version: Timestamp, entry: Option<CatalogEntry>) {
        self.tables.remove(&name);
        self.index_names.remove(&name);
        match entry {
            Some(CatalogEntry::Table(table)) => {
                self.tables.insert(name, VersionedTable { table, version });
            }
            Some(CatalogEntry::IndexOf(table)) => {
                self.index_names.insert(name, (table, version));
            }
            _ => {}
        }
    }

    /// The role of this name; the bootstrap superuser and the predefined roles are always there.
    pub fn role(&self, name: &str) -> Option<Arc<RoleSchema>> {
        match self.roles.get(name) {
            Some((role, _)) => Some(role.clone()),
            None => built_in().into_iter().find(|role| role.name == name).map(Arc::new),
        }
    }

    /// The role with this object identifier.
    pub fn role_numbered(&self, oid: u32) -> Option<Arc<RoleSchema>> {
        let named = self.roles.values().find(|(role, _)| role.oid == oid);
        named
            .map(|(role, _)| role.clone())
            .or_else(|| built_in().into_iter().find(|role| role.oid == oid).map(Arc::new))
    }

    /// All roles, in order of their names.
    pub fn all_roles(&self) -> Vec<Arc<RoleSchema>> {
        let absent = built_in().into_iter().filter(|role| !self.roles.contains_key(&role.name)).map(Arc::new);
        let mut all: Vec<_> = self.roles.values().map(|(role, _)| role.clone()).chain(absent).collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// Who owns a place, and what was granted on it: at first the schema is the database's owner's, and the database the bootstrap superuser's.
    pub fn rights(&self, place: Place) -> Arc<Rights> {
        match (self.rights.get(&place), place) {
            (Some((rights, _)), _) => rights.clone(),
            (None, Place::Schema) => {
                let grant = |grantee, privileges| Grant {
                    grantee,
                    grantor: DATABASE_OWNER_OID,
                    privileges,
                    grantable: Privileges::NONE,
                };
                let own = grant(DATABASE_OWNER_OID, Privileges::USAGE | Privileges::CREATE);
                let grants = vec![own, grant(PUBLIC, Privileges::USAGE)];
                Arc::new(Rights { owner: DATABASE_OWNER_OID, grants: Some(grants) })
            }
            (None, Place::Database) => Arc::default(),
        }
    }

    /// The schema of this name; `public` is there unless it was dropped. Those of the system are none.
    pub fn namespace(&self, name: &str) -> Option<Arc<NamespaceSchema>> {
        match self.namespaces.get(name) {
            Some((namespace, _)) => Some(namespace.clone()).filter(|namespace| namespace.oid != 0),
            None if name == namespace::PUBLIC => {
                let rights = Rights::clone(&self.rights(Place::Schema));
                Some(Arc::new(NamespaceSchema::new(name, namespace::PUBLIC_OID, rights)))
            }
            None => None,
        }
    }

    /// The schema with this object identifier.
    pub fn namespace_numbered(&self, oid: u32) -> Option<Arc<NamespaceSchema>> {
        if oid == namespace::PUBLIC_OID {
            return self.namespace(namespace::PUBLIC);
        }
        self.namespaces.values().map(|(namespace, _)| namespace).find(|namespace| namespace.oid == oid).cloned()
    }

    /// The schema of a session's temporary objects.
    pub fn temporary_schema(&self, owner: TemporaryOwner) -> Option<&Arc<NamespaceSchema>> {
        if self.namespaces.is_empty() {
            return None;
        }
        let named_so = self.namespaces.range(namespace::TEMPORARY.to_owned()..);
        let named_so = named_so.take_while(|(name, _)| name.starts_with(namespace::TEMPORARY));
        named_so.map(|(_, (known, _))| known).find(|known| known.temporary == Some(owner))
    }

    /// Whether what has this name, as the catalog has it, is in the schema of a session's temporary objects.
    pub fn is_temporary(&self, name: &str) -> bool {
        namespace::is_marked(name)
            && self.namespace_numbered(namespace::of(name)).is_some_and(|known| known.temporary.is_some())
    }

    /// All schemas but those of the system, in order of their names.
    pub fn all_namespaces(&self) -> Vec<Arc<NamespaceSchema>> {
        let own = self.namespaces.keys().filter(|name| *name != namespace::PUBLIC);
        let mut all: Vec<_> = own.filter_map(|name| self.namespace(name)).collect();
        all.extend(self.namespace(namespace::PUBLIC));
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// The user's type with this object identifier.
    pub fn type_numbered(&self, oid: u32) -> Option<&Arc<TypeSchema>> {
        self.types.values().map(|(known, _)| known).find(|known| known.oid == oid)
    }

    /// The type with this object identifier, without modifier: one of PostgreSQL's, a user's, or that of arrays of one.
    pub fn data_type(&self, oid: u32) -> Option<Type> {
        let own = || self.type_numbered(oid)?.data_type().ok();
        let arrays = || Some(self.type_numbered(oid.checked_sub(1)?)?.data_type().ok()?.array());
        Type::from_oid(oid).or_else(own).or_else(arrays)
    }

    /// The extension that has functions of this name, as the catalog has it, with the version of its row.
    pub fn extension_of(&self, function: &str) -> Option<&(Arc<ExtensionSchema>, Timestamp)> {
        if self.extensions.is_empty() {
            return None;
        }
        let provider = values::extensions::provider(namespace::bare(function))?;
        self.extensions.get(provider.name).filter(|(known, _)| known.namespace == namespace::of(function))
    }

    /// Whether a relation or index has this name, as the catalog has it.
    pub fn has_relation(&self, name: &str) -> bool {
        self.tables.contains_key(name) || self.index_names.contains_key(name)
    }

    /// The version of a catalog row; [`Timestamp::ZERO`] for a name that is free.
    pub fn version_of(&self, key: &Key) -> Timestamp {
        self.known_version(key).unwrap_or(Timestamp::ZERO)
    }

    /// Whether there is a row under a key, be it one that has not committed.
    pub fn has(&self, key: &Key) -> bool {
        self.known_version(key).is_some()
    }

    fn known_version(&self, key: &Key) -> Option<Timestamp> {
        let bytes = key.as_bytes();
        let name = String::from_utf8_lossy(bytes.get(1..).unwrap_or(&[]));
        match bytes.first() {
            Some(&RELATION) => {
                let table = self.tables.get(name.as_ref()).map(|versioned| versioned.version);
                table.or_else(|| self.index_names.get(name.as_ref()).map(|(_, version)| *version))
            }
            Some(&PROCEDURE) => self.procedures.get(name.as_ref()).map(|(_, version)| *version),
            Some(&TYPE) => self.types.get(name.as_ref()).map(|(_, version)| *version),
            Some(&EXTENSION) => self.extensions.get(name.as_ref()).map(|(_, version)| *version),
            Some(&ROLE) => self.roles.get(name.as_ref()).map(|(_, version)| *version),
            Some(&SECRET) => self.secret.as_ref().map(|(_, version)| *version),
            Some(&RIGHTS) => {
                let changed = self.rights.iter().find(|(place, _)| place.name() == name);
                changed.map(|(_, (_, version))| *version)
            }
            Some(&SETTING) => self.settings.get(name.as_ref()).map(|(_, version)| *version),
            Some(&COMMENT) => {
                let target = CommentTarget::of_bytes(&bytes[1..])?;
                self.comments.get(&target).map(|(_, version)| *version)
            }
            Some(&NAMESPACE) => self.namespaces.get(name.as_ref()).map(|(_, version)| *version),
            _ => Some(self.next.1),
        }
    }
}
