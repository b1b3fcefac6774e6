//! Tables, their indexes, procedures and roles as the catalog keeps them, and the catalog as a whole.
//!
//! The catalog is a storage like any other ([`TableId::CATALOG`]): one row a relation, keyed by name, so that changing a
//! schema is an ordinary transaction. Every transaction reads the row of each table it uses, so a schema change conflicts
//! with it. An index is a storage too: its rows are written by the same transactions as the table's.

use crate::item::KeyRange;
use crate::key::Key;
use crate::role::{BOOTSTRAP, RoleSchema, Secret};
use crate::timestamp::Timestamp;
use identifiers::{SiteId, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::{Type, Value};

/// A column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its name, folded to lower case unless quoted.
    pub name: String,
    /// Its type.
    pub column_type: Type,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// Its default as SQL text, evaluated at each insert.
    pub default: Option<String>,
    /// Whether it was dropped: its place in the row remains and reads as NULL.
    pub dropped: bool,
    /// What rows hold in it that were written before it was added: they end before it.
    pub missing: Value,
}

/// An index: a storage whose keys are the indexed columns, followed by the table's key unless it is unique.
///
/// * unique, no indexed column NULL: key = (columns), row = (the table's key columns' values);
/// * otherwise: key = (columns, table's key), empty row. (NULLs are distinct, so they never clash.)
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexSchema {
    /// Its name.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// Its storage.
    pub storage: TableId,
    /// Positions of its columns in the table.
    pub columns: Vec<usize>,
    /// Whether two rows may not agree in all its columns (NULLs never agree).
    pub unique: bool,
    /// Whether it was made by a UNIQUE constraint.
    pub constraint: bool,
}

/// A table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableSchema {
    /// Its name.
    pub name: String,
    /// Its object identifier, kept for life.
    pub oid: u32,
    /// Its storage at present.
    pub storage: TableId,
    /// Its columns. A table without primary key has a hidden one behind them: see [`TableSchema::has_hidden_key`].
    pub columns: Vec<Column>,
    /// Positions of the primary key's columns; empty: the key is a hidden `bigint` behind the last column.
    pub primary_key: Vec<usize>,
    /// Name of the primary key's constraint.
    pub primary_key_name: Option<String>,
    /// Object identifier of the primary key's index, for the system catalogs.
    pub primary_key_oid: u32,
    /// Its secondary indexes.
    pub indexes: Vec<IndexSchema>,
    /// Its options as given (`fillfactor=100`), shown and otherwise ignored.
    pub options: Vec<String>,
}

impl TableSchema {
    /// Whether the key is a hidden number. It is (site << 48 | counter), unique without coordination, and stored in the
    /// key only, not in the row.
    pub fn has_hidden_key(&self) -> bool {
        self.primary_key.is_empty()
    }

    /// The position of a column that was not dropped.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| !column.dropped && column.name == name)
    }
}

/// A procedure: statements that run as one program, one after the other (PostgreSQL's `LANGUAGE SQL`).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcedureSchema {
    /// Its name, in a space of its own.
    pub name: String,
    /// Its object identifier, kept for life.
    pub oid: u32,
    /// Its parameters: names, empty for those without one, and types.
    pub parameters: Vec<(String, Type)>,
    /// The text of its statements.
    pub body: String,
}

/// One row of the catalog.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CatalogEntry {
    /// A table, under its name.
    Table(Arc<TableSchema>),
    /// The name of an index or constraint is taken; the definition is in this table's entry.
    IndexOf(String),
    /// Under [`CatalogEntry::next_key`]: the next free number for storages and object identifiers.
    Next(u32),
    /// A procedure, under [`CatalogEntry::procedure_key`].
    Procedure(Arc<ProcedureSchema>),
    /// A role, under [`CatalogEntry::role_key`].
    Role(Arc<RoleSchema>),
    /// Under [`CatalogEntry::secret_key`]: what verifiers of roles that do not exist are made of, the same at all sites.
    Secret(Secret<[u8; 32]>),
    /// A setting's value, under [`CatalogEntry::setting_key`]. See [`crate::settings`].
    Setting(String),
}

/// The first byte of a catalog key.
const RELATION: u8 = b'n';
const PROCEDURE: u8 = b'p';
const ROLE: u8 = b'r';
const SECRET: u8 = b's';
const SETTING: u8 = b't';

fn named(space: u8, name: &str) -> Key {
    let mut bytes = Vec::with_capacity(name.len() + 1);
    bytes.push(space);
    bytes.extend_from_slice(name.as_bytes());
    Key::new(&bytes)
}

impl CatalogEntry {
    /// The catalog key of a relation's name.
    pub fn key(name: &str) -> Key {
        named(RELATION, name)
    }

    /// The catalog key of a procedure's name.
    pub fn procedure_key(name: &str) -> Key {
        named(PROCEDURE, name)
    }

    /// The catalog key of a role's name.
    pub fn role_key(name: &str) -> Key {
        named(ROLE, name)
    }

    /// The catalog key of the secret.
    pub fn secret_key() -> Key {
        Key::new(&[SECRET])
    }

    /// The catalog key of a setting's name.
    pub fn setting_key(name: &str) -> Key {
        named(SETTING, name)
    }

    /// The name of the setting that this catalog key is of, if it is of one.
    pub fn setting_of(key: &Key) -> Option<String> {
        let (space, name) = key.as_bytes().split_first()?;
        (*space == SETTING).then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// All keys of settings in the catalog.
    pub fn settings_range() -> KeyRange {
        KeyRange { table: TableId::CATALOG, low: Key::new(&[SETTING]), high: Some(Key::new(&[SETTING + 1])) }
    }

    /// The catalog key of the counter.
    pub fn next_key() -> Key {
        Key::new(b"i")
    }

    /// As a row's bytes.
    pub fn encode(&self) -> crate::Row {
        postcard::to_stdvec(self).expect("a catalog entry always encodes").into()
    }

    /// Back from a row's bytes.
    pub fn decode(row: &[u8]) -> Result<CatalogEntry, postcard::Error> {
        postcard::from_bytes(row)
    }
}

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
    /// Settings by name, each with the version of its catalog row.
    pub settings: BTreeMap<String, (String, Timestamp)>,
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
            Some((&SETTING, bytes)) => match entry {
                Some(CatalogEntry::Setting(value)) => drop(self.settings.insert(name(bytes), (value, version))),
                _ => drop(self.settings.remove(&name(bytes))),
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
            Some(
                CatalogEntry::Next(_)
                | CatalogEntry::Procedure(_)
                | CatalogEntry::Role(_)
                | CatalogEntry::Secret(_)
                | CatalogEntry::Setting(_),
            )
            | None => {}
        }
    }

    /// The role of this name; the bootstrap superuser is always there.
    pub fn role(&self, name: &str) -> Option<Arc<RoleSchema>> {
        match self.roles.get(name) {
            Some((role, _)) => Some(role.clone()),
            None => (name == BOOTSTRAP).then(|| Arc::new(RoleSchema::bootstrap())),
        }
    }

    /// The version of a catalog row; [`Timestamp::ZERO`] for a name that is free.
    pub fn version_of(&self, key: &Key) -> Timestamp {
        let bytes = key.as_bytes();
        let name = String::from_utf8_lossy(bytes.get(1..).unwrap_or(&[]));
        let version = match bytes.first() {
            Some(&RELATION) => {
                let table = self.tables.get(name.as_ref()).map(|versioned| versioned.version);
                table.or_else(|| self.index_names.get(name.as_ref()).map(|(_, version)| *version))
            }
            Some(&PROCEDURE) => self.procedures.get(name.as_ref()).map(|(_, version)| *version),
            Some(&ROLE) => self.roles.get(name.as_ref()).map(|(_, version)| *version),
            Some(&SECRET) => self.secret.as_ref().map(|(_, version)| *version),
            Some(&SETTING) => self.settings.get(name.as_ref()).map(|(_, version)| *version),
            _ => Some(self.next.1),
        };
        version.unwrap_or(Timestamp::ZERO)
    }
}

/// The hidden key of a table without primary key: unique at all sites without asking them.
pub fn hidden_key(site: SiteId, counter: u64) -> Value {
    Value::BigInt(((site.0 as i64) << 48) | (counter as i64 & ((1 << 48) - 1)))
}
