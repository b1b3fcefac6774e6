//! PostgreSQL's system catalogs over our catalog: `pg_catalog` and `information_schema`.
//!
//! Every relation of PostgreSQL 15's system schemas exists with its columns (`relations.txt`), so that tools find what they
//! look for; the ones that describe what we have are filled from the catalog snapshot, the others have no rows. A table is
//! built when a query names it. Texts of all kinds are `text` here, and numbers of transactions `bigint`. In
//! reading order: [`definitions`], [`rows`] as they are written down, [`relations`] of pg_catalog, [`roles`] and [`grants`] in it, [`information_schema`],
//! [`procedures`] in both, [`policies`], [`names`] resolved to identifiers, [`definition_texts`].

mod activity;
pub mod definition_texts;
mod definitions;
mod dependences;
mod grants;
mod information_schema;
mod initial;
mod names;
mod policies;
mod procedures;
mod relations;
mod roles;
mod rows;
mod user_types;

pub use messages::expression_sql::quoted;
pub use procedures::trigger_definition;
pub use roles::{role_name, role_oid};

use crate::error::QueryError;
use datafusion::catalog::MemTable;
pub use definitions::{DEFINITIONS, Relation as SystemRelation};
use messages::namespace::{self, PUBLIC, bare};
use messages::query::SessionFacts;
use messages::role::READ_ALL_DATA_OID;
use messages::schema::{
    Catalog, CommentTarget, ForeignKeySchema, IndexSchema, MaterializedQuery, NamespaceSchema, SequenceSchema,
    TableSchema, TableSchemaKind,
};
use privileges::path::{PathOwner, SearchPath};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use values::Value;

/// Identifier of the bootstrap superuser, who owns everything.
pub const OWNER_OID: u32 = messages::role::BOOTSTRAP_OID;
/// Identifier of the schema `pg_catalog`.
pub const PG_CATALOG_OID: u32 = 11;
/// What is said of it until something else is said.
const PUBLIC_COMMENT: &str = "standard public schema";
/// Identifier of the schema `information_schema`.
pub const INFORMATION_SCHEMA_OID: u32 = 13207;

/// A catalog snapshot as the system catalogs show it.
#[derive(Debug)]
pub struct SystemCatalog {
    catalog: Arc<Catalog>,
    session: SessionFacts,
    /// Whether anything but a table of the user was looked up in it, or something of the session.
    is_shown: AtomicBool,
    /// Where names without a schema are looked for.
    path: OnceLock<SearchPath>,
}

/// A relation of the catalog snapshot.
enum Found<'a> {
    Table(&'a TableSchema),
    PrimaryKey(&'a TableSchema),
    Index(&'a TableSchema, &'a IndexSchema),
}

impl SystemCatalog {
    /// A snapshot, as seen by a session.
    pub fn new(catalog: Arc<Catalog>, session: SessionFacts) -> SystemCatalog {
        SystemCatalog { catalog, session, is_shown: AtomicBool::new(false), path: OnceLock::new() }
    }

    /// Whether a query shows the snapshot itself, so that it is stale with any change of the catalog.
    pub fn is_shown(&self) -> bool {
        self.is_shown.load(Ordering::Relaxed)
    }

    /// A query shows the snapshot, now or when it runs.
    pub fn show(&self) {
        self.is_shown.store(true, Ordering::Relaxed);
    }

    /// The session: what is asked of it, no other may be told.
    pub fn session(&self) -> &SessionFacts {
        self.show();
        &self.session
    }

    /// The session's database.
    fn database(&self) -> &str {
        &self.session().database
    }

    /// Object identifiers of the schemas where names without one are looked for.
    pub fn path(&self) -> &[u32] {
        self.path.get_or_init(|| {
            let session = self.session();
            let owner = PathOwner { role: session.role, user: &session.user, temporary: session.temporary };
            privileges::path::search_path(&self.catalog, owner, self.path_setting())
        })
    }

    fn path_setting(&self) -> &str {
        let set = self.session().settings.iter().find(|(name, _)| name == "search_path");
        set.map_or(privileges::path::DEFAULT, |(_, value)| value.as_str())
    }

    /// The number of the schema of the session's temporary objects, if it has one.
    pub fn own_temporary(&self) -> Option<u32> {
        self.session().temporary
    }

    /// Whether the schema with this number is of another session's temporary objects.
    pub fn is_others_temporary(&self, schema: u32) -> bool {
        let known = self.catalog.namespace_numbered(schema);
        known.is_some_and(|known| known.temporary.is_some()) && self.own_temporary() != Some(schema)
    }

    /// Names of the schemas in the path, with that of the system before them if it is wanted.
    pub fn path_names(&self, with_system: bool) -> Vec<String> {
        let is_said =
            privileges::path::names(self.path_setting()).is_some_and(|names| names.contains(&"pg_temp".to_owned()));
        let unsaid = self.own_temporary().filter(|_| !is_said);
        let name_of = |oid: u32| self.catalog.namespace_numbered(oid).map(|schema| schema.name.clone());
        let before = unsaid.filter(|_| with_system).and_then(name_of);
        let system = with_system.then(|| "pg_catalog".to_owned());
        let said = self.path().iter().copied().filter(|oid| Some(*oid) != unsaid).filter_map(name_of);
        before.into_iter().chain(system).chain(said).collect()
    }

    /// All schemas but those of the system.
    fn schemas(&self) -> Vec<Arc<NamespaceSchema>> {
        self.show();
        self.catalog.all_namespaces()
    }

    /// The name of the schema of what has this name in the catalog.
    fn schema_of(&self, name: &str) -> String {
        let schema = self.catalog.namespace_numbered(namespace::of(name));
        schema.map_or_else(String::new, |schema| schema.name.clone())
    }

    /// A name with its schema, as SQL writes it.
    fn qualified_name(&self, name: &str) -> String {
        format!("{}.{}", quoted(&self.schema_of(name)), quoted(bare(name)))
    }

    /// A name as SQL writes it, with its schema where it would not be found without.
    pub fn name_in_path(&self, name: &str) -> String {
        let found =
            self.path().iter().find(|schema| self.catalog.has_relation(&namespace::within(bare(name), **schema)));
        match found == Some(&namespace::of(name)) {
            true => quoted(bare(name)),
            false => self.qualified_name(name),
        }
    }

    /// A text of SQL with names as the catalog has them, as SQL writes them.
    fn shown(&self, text: &str) -> String {
        let name_of = |oid| self.catalog.namespace_numbered(oid).map(|schema| quoted(&schema.name));
        namespace::named(text, name_of).into_owned()
    }

    /// The value of a setting, whatever the case of its name.
    pub fn setting(&self, name: &str) -> Option<String> {
        let own = self.settings().find(|(known, _)| known.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.to_owned())
    }

    /// All settings: the session's, then those that are the same for all.
    fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let session = &self.session().settings;
        let has = |name: &str| session.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let others = SETTINGS.iter().copied().filter(move |(name, _)| !has(name));
        session.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(others)
    }

    /// The snapshot.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// A system relation with its rows, or `None` when there is none of that name.
    pub fn table(&self, schema: &str, name: &str) -> Option<Result<MemTable, QueryError>> {
        let relation = DEFINITIONS.find(schema, name)?;
        Some(self.rows_of(relation).and_then(|rows| rows::table(relation, &rows)))
    }

    /// The rows of a system relation as values. Errors: 42501.
    pub fn values(&self, relation: &SystemRelation) -> Result<Vec<Vec<Value>>, QueryError> {
        Ok(rows::values(relation, &self.rows_of(relation)?))
    }

    /// Errors: 42501 for what the role may not see.
    pub fn check(&self, relation: &SystemRelation) -> Result<(), QueryError> {
        self.denied(relation.schema_name, relation.name).map_or(Ok(()), Err)
    }

    fn rows_of(&self, relation: &SystemRelation) -> Result<Vec<rows::Row>, QueryError> {
        self.show();
        match self.denied(relation.schema_name, relation.name) {
            Some(denied) => Err(denied),
            None if relation.schema_name == "pg_catalog" => Ok(relations::rows(self, relation.name)),
            None => Ok(information_schema::rows(self, relation.name)),
        }
    }

    fn tables(&self) -> impl Iterator<Item = &TableSchema> {
        self.show();
        self.catalog.tables.values().map(|versioned| versioned.table.as_ref())
    }

    /// Those that have rows of their own.
    fn plain_tables(&self) -> impl Iterator<Item = &TableSchema> {
        self.tables().filter(|table| table.is_plain())
    }

    /// Tables whose rows statements change.
    fn base_tables(&self) -> impl Iterator<Item = &TableSchema> {
        self.tables().filter(|table| table.kind() == TableSchemaKind::Table)
    }

    /// Materialized views, each with its query.
    fn materialized_views(&self) -> impl Iterator<Item = (&TableSchema, &MaterializedQuery)> {
        self.tables().filter_map(|table| Some((table, table.materialized.as_deref()?)))
    }

    /// All views, each with its query.
    fn views(&self) -> impl Iterator<Item = (&TableSchema, &str)> {
        self.tables().filter_map(|table| Some((table, table.view.as_deref()?)))
    }

    /// What is said of objects: of those that all databases share, or of the others.
    fn comments(&self, shared: bool) -> impl Iterator<Item = (&CommentTarget, &str)> {
        self.show();
        let is_shared = |class: u32| matches!(class, CommentTarget::DATABASES | CommentTarget::ROLES);
        let comments = self.catalog.comments.iter().filter(move |(target, _)| is_shared(target.class) == shared);
        let comments = comments.map(|(target, (text, _))| (target, text.as_ref()));
        let of_public = Some((&CommentTarget::PUBLIC, PUBLIC_COMMENT));
        let of_public = of_public.filter(|(target, _)| !shared && !self.catalog.comments.contains_key(target));
        // One that was taken from the schema that every database begins with is empty.
        comments.filter(|(_, text)| !text.is_empty()).chain(of_public)
    }

    /// What is said of an object. `class`: a system catalog's name; `None`: any.
    pub fn comment(&self, oid: u32, class: Option<&str>, number: i32) -> Option<&str> {
        let class = match class {
            Some(name) => Some(DEFINITIONS.find("pg_catalog", name)?.oid),
            None => None,
        };
        let mut all = self.comments(false).chain(self.comments(true));
        let is_it = |target: &CommentTarget| {
            target.oid == oid && target.number == number && class.is_none_or(|class| class == target.class)
        };
        all.find(|(target, _)| is_it(target)).map(|(_, text)| text)
    }

    /// The query of a view, materialized or not, by its object identifier.
    pub fn view_text(&self, oid: u32) -> Option<String> {
        let text = self.tables().find(|view| view.oid == oid)?.query()?;
        Some(self.shown(&format!(" {text};")))
    }

    /// All sequences.
    fn sequences(&self) -> impl Iterator<Item = (&TableSchema, &SequenceSchema)> {
        self.tables().filter_map(|table| Some((table, table.sequence.as_deref()?)))
    }

    /// All foreign keys, with the tables that have them and those that they refer to.
    fn foreign_keys(&self) -> impl Iterator<Item = (&TableSchema, &ForeignKeySchema, &TableSchema)> {
        self.plain_tables().flat_map(move |child| {
            child.foreign_keys.iter().filter_map(move |key| {
                let parent = self.plain_tables().find(|table| table.oid == key.parent)?;
                Some((child, key, parent))
            })
        })
    }

    /// The key that a foreign key refers to.
    fn referred<'a>(key: &ForeignKeySchema, parent: &'a TableSchema) -> Option<Found<'a>> {
        let same = |columns: &[usize]| {
            columns.len() == key.parent_columns.len()
                && columns.iter().all(|column| key.parent_columns.contains(column))
        };
        if same(&parent.primary_key) {
            return Some(Found::PrimaryKey(parent));
        }
        let is_it = |index: &&IndexSchema| index.unique && index.whole_columns().is_some_and(|columns| same(&columns));
        let index = parent.indexes.iter().find(is_it)?;
        Some(Found::Index(parent, index))
    }

    /// The sequence that a column takes its values from because it is `serial` or an identity, as SQL writes its name.
    pub fn serial_sequence(&self, table: u32, column: &str) -> Option<String> {
        let owner = self.plain_tables().find(|owner| owner.oid == table)?;
        let of = (owner.oid, owner.column(column)?);
        let (sequence, _) = self.sequences().find(|(_, sequence)| sequence.owned_by == Some(of))?;
        Some(self.qualified_name(&sequence.name))
    }

    /// All relations of the user, each table before its indexes.
    fn relations(&self) -> impl Iterator<Item = Found<'_>> {
        self.tables().flat_map(|table| {
            let has_key = !table.has_hidden_key() && table.sequence.is_none();
            let key = has_key.then_some(Found::PrimaryKey(table));
            let indexes = table.indexes.iter().map(move |index| Found::Index(table, index));
            std::iter::once(Found::Table(table)).chain(key).chain(indexes)
        })
    }

    /// The names of the columns of a table, or of a system relation, in order; `None` for a name that is neither. Without a schema tables come first.
    pub fn columns_of(&self, schema: Option<&str>, relation: &str) -> Option<Vec<String>> {
        let table = self.catalog.tables.get(relation).filter(|_| schema.is_none_or(|schema| schema == PUBLIC));
        if let Some(versioned) = table {
            let live = versioned.table.columns.iter().filter(|column| !column.dropped);
            return Some(live.map(|column| column.name.clone()).collect());
        }
        let system = DEFINITIONS.find(schema.unwrap_or("pg_catalog"), relation)?;
        Some(system.columns.iter().map(|(name, _)| (*name).to_owned()).collect())
    }

    /// Errors: 42501 for what shows how passwords are checked, to anybody but superusers and those who may read everything.
    fn denied(&self, schema: &str, name: &str) -> Option<QueryError> {
        let kind = match name {
            "pg_authid" => "table",
            "pg_shadow" => "view",
            _ => return None,
        };
        let is_denied = schema == "pg_catalog" && !self.standing().has(READ_ALL_DATA_OID);
        is_denied.then(|| QueryError::new("42501", format!("permission denied for {kind} {name}")))
    }

    fn find(&self, oid: u32) -> Option<Found<'_>> {
        self.relations().find(|relation| relation.oid() == oid)
    }
}

impl<'a> Found<'a> {
    fn oid(&self) -> u32 {
        match self {
            Found::Table(table) => table.oid,
            Found::PrimaryKey(table) => table.primary_key_oid,
            Found::Index(_, index) => index.oid,
        }
    }

    fn name(&self) -> &'a str {
        match self {
            Found::Table(table) => bare(&table.name),
            Found::PrimaryKey(table) => bare(table.primary_key_name.as_deref().unwrap_or_default()),
            Found::Index(_, index) => bare(&index.name),
        }
    }

    fn table(&self) -> &'a TableSchema {
        match self {
            Found::Table(table) | Found::PrimaryKey(table) | Found::Index(table, _) => table,
        }
    }

    /// Positions of the columns of a key; empty for a table, and for an index that is no key of it.
    fn columns(&self) -> Vec<usize> {
        match self {
            Found::Table(_) => Vec::new(),
            Found::PrimaryKey(table) => table.primary_key.clone(),
            Found::Index(_, index) => index.whole_columns().unwrap_or_default(),
        }
    }

    /// As an index; `None` for a table.
    fn index(&self) -> Option<Cow<'a, IndexSchema>> {
        match self {
            Found::Table(_) => None,
            Found::PrimaryKey(table) => {
                let (oid, columns) = (table.primary_key_oid, &table.primary_key);
                Some(Cow::Owned(IndexSchema::new(self.name(), oid, table.storage, columns, true)))
            }
            Found::Index(_, index) => Some(Cow::Borrowed(*index)),
        }
    }

    /// `p`, `u`, or nothing.
    fn constraint_kind(&self) -> Option<&'static str> {
        match self {
            Found::PrimaryKey(_) => Some("p"),
            Found::Index(_, index) if index.constraint => Some("u"),
            _ => None,
        }
    }
}

/// Whether this relation of `pg_catalog` exists and never has rows here.
pub fn is_always_empty(name: &str) -> bool {
    DEFINITIONS.find("pg_catalog", name).is_some() && !relations::FILLED.contains(&name) && name != "pg_locks"
}

/// The object identifier of a relation of a system schema; `None` if there is none.
pub fn system_relation_oid(schema: &str, name: &str) -> Option<u32> {
    DEFINITIONS.find(schema, name).map(|relation| relation.oid)
}

/// Whether a system schema has this name.
pub fn is_system_schema(name: &str) -> bool {
    matches!(name, "pg_catalog" | "information_schema")
}

/// The settings that clients ask for, where a session says nothing of them.
pub const SETTINGS: [(&str, &str); 17] = [
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_read_only", "off"),
    ("extra_float_digits", "1"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "on"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "32"),
    ("search_path", "\"$user\", public"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "UTC"),
    ("transaction_isolation", "serializable"),
];
