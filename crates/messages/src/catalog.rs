//! The catalog as a whole: all that its rows say, as of some moment.
//!
//! Invariant: it is what the rows that were applied make of it, in whatever order those of different keys came.

use crate::catalog_place;
use crate::database::{self, DatabaseId, DatabaseSchema};
use crate::key::Key;
use crate::namespace;
use crate::privilege::{Grant, PUBLIC, Privileges, Rights};
use crate::role::{DATABASE_OWNER_OID, RoleSchema, Secret, built_in};
use crate::schema::{
    COMMENT, DATABASE, EXTENSION, NAMESPACE, PROCEDURE, RELATION, RIGHTS, ROLE, SECRET, SETTING, TYPE,
};
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

/// All tables, procedures and roles that a session may name, as of some moment: those of one database. Rows are applied to that of the first one.
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
    /// Databases by name, each with the version of its catalog row. See [`Catalog::database_named`].
    pub databases: BTreeMap<String, (Arc<DatabaseSchema>, Timestamp)>,
    /// The database that the rest is of.
    pub database: DatabaseId,
    /// What is in the other databases: each without the rows that all databases share.
    pub others: BTreeMap<DatabaseId, Arc<Catalog>>,
}

impl Catalog {
    /// Applies one committed catalog row (`None`: deleted). A row that does not decode is an error.
    pub fn apply(&mut self, key: &[u8], version: Timestamp, row: Option<&[u8]>) -> Result<(), postcard::Error> {
        if let Some((id, plain)) = catalog_place::split(key) {
            return match id == self.database {
                true => self.apply(plain, version, row),
                false => Arc::make_mut(self.other(id)).apply(plain, version, row),
            };
        }
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
            Some((&DATABASE, bytes)) => match entry {
                Some(CatalogEntry::Database(known)) => drop(self.databases.insert(name(bytes), (known, version))),
                _ => drop(self.databases.remove(&name(bytes))),
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

    fn other(&mut self, id: DatabaseId) -> &mut Arc<Catalog> {
        self.others.entry(id).or_insert_with(|| Arc::new(Catalog { database: id, ..Catalog::default() }))
    }

    /// What sessions of a database see, where this is the catalog of the first one: rows of that database, and those that all share.
    pub fn of_database(self: &Arc<Catalog>, id: DatabaseId) -> Arc<Catalog> {
        if id == self.database {
            return self.clone();
        }
        let mut seen = self.others.get(&id).map(|own| Catalog::clone(own)).unwrap_or_default();
        seen.database = id;
        seen.next = self.next;
        seen.roles = self.roles.clone();
        seen.secret = self.secret.clone();
        seen.settings = self.settings.clone();
        seen.databases = self.databases.clone();
        let shared = self.comments.iter().filter(|(target, _)| target.is_shared());
        seen.comments.extend(shared.map(|(target, comment)| (*target, comment.clone())));
        let others = self.others.iter().filter(|(other, _)| **other != id);
        seen.others = others.map(|(other, catalog)| (*other, catalog.clone())).collect();
        seen.others.insert(self.database, self.clone());
        Arc::new(seen)
    }

    /// What is in a database, without what all databases share unless it is this one; `None`: nothing is.
    pub fn within(&self, id: DatabaseId) -> Option<&Catalog> {
        if id == self.database { Some(self) } else { self.others.get(&id).map(Arc::as_ref) }
    }

    /// The database of this name; those that every instance has at first are there unless they were dropped or have another name.
    pub fn database_named(&self, name: &str) -> Option<Arc<DatabaseSchema>> {
        match self.databases.get(name) {
            Some((known, _)) => Some(known.clone()).filter(|known| known.id != DatabaseId(0)),
            None => database::built_in().into_iter().find(|known| known.name == name).map(Arc::new),
        }
    }

    /// All databases, in order of their names.
    pub fn all_databases(&self) -> Vec<Arc<DatabaseSchema>> {
        let first = database::built_in().into_iter().filter(|known| !self.databases.contains_key(&known.name));
        let made = self.databases.values().map(|(known, _)| known).filter(|known| known.id != DatabaseId(0));
        let mut all: Vec<_> = made.cloned().chain(first.map(Arc::new)).collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// The database with this object identifier.
    pub fn database_numbered(&self, id: DatabaseId) -> Option<Arc<DatabaseSchema>> {
        self.all_databases().into_iter().find(|known| known.id == id)
    }

    /// Who owns a database, and what was granted on it: at first it is the bootstrap superuser's.
    pub fn database_rights(&self, id: DatabaseId) -> Arc<Rights> {
        self.within(id).map(|own| own.rights(Place::Database)).unwrap_or_default()
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
        if let Some((id, plain)) = catalog_place::split(bytes) {
            return self.within(id)?.known_version(&Key::new(plain));
        }
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
            Some(&DATABASE) => self.databases.get(name.as_ref()).map(|(_, version)| *version),
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

#[cfg(test)]
mod tests {
    use super::*;
    use identifiers::TableId;

    fn put(catalog: &mut Catalog, key: &Key, entry: CatalogEntry, clock: u64) {
        let version = Timestamp { clock, ..Timestamp::ZERO };
        catalog.apply(key.as_bytes(), version, Some(&entry.encode())).expect("it decodes");
    }

    /// A session would see a table of another database, or lack a role, or take the version of one row for that of another.
    #[test]
    fn each_database_is_seen_as_if_there_was_no_other() {
        let other = DatabaseId(16_400);
        let mut all = Catalog::default();
        let table = |storage| CatalogEntry::Table(Arc::new(TableSchema::new("t", TableId(storage), Vec::new())));
        let key = CatalogEntry::key("t");
        put(&mut all, &other.placed(&key), table(20_001), 3);
        put(&mut all, &key, table(20_000), 2);
        put(&mut all, &other.placed(&CatalogEntry::key("alone")), CatalogEntry::IndexOf("t".to_owned()), 4);
        put(
            &mut all,
            &CatalogEntry::role_key("r"),
            CatalogEntry::Role(Arc::new(RoleSchema::new("r".to_owned(), 16_500))),
            5,
        );
        let shop = DatabaseSchema::new("shop", other);
        put(&mut all, &shop.key(), CatalogEntry::Database(Arc::new(shop.clone())), 6);
        let first = Arc::new(all);
        let seen = first.of_database(other);
        let clock = |catalog: &Catalog, key: &Key| catalog.version_of(key).clock;
        assert_eq!((clock(&first, &key), clock(&seen, &key)), (2, 3));
        assert_eq!((clock(&first, &other.placed(&key)), clock(&seen, &other.placed(&key))), (3, 3));
        assert_eq!(clock(&seen, &DatabaseId::FIRST.within(&key)), 2);
        assert_eq!((seen.tables.len(), first.tables.len()), (1, 1));
        assert!(seen.has_relation("alone") && !first.has_relation("alone"));
        assert!(seen.role("r").is_some());
        assert_eq!(seen.database_numbered(other).map(|known| known.name.clone()), Some("shop".to_owned()));
        assert_eq!(first.within(other).map(|own| own.tables.len()), Some(1));
        assert!(first.of_database(DatabaseId(7)).tables.is_empty(), "nothing is in it");
    }
}
