//! Tables, their indexes, procedures, types, extensions and schemas as the catalog keeps them, row by row.
//!
//! The catalog is a storage like any other ([`TableId::CATALOG`]): one row a relation, keyed by name, so that changing a
//! schema is an ordinary transaction. Every transaction reads the row of each table it uses, so a schema change conflicts
//! with it. An index is a storage too: its rows are written by the same transactions as the table's.

pub use crate::catalog::{Catalog, CatalogVersions, VersionedTable};
pub use crate::comment_target::CommentTarget;
use crate::database::DatabaseSchema;
pub use crate::domain_schema::{DomainCondition, DomainRules, DomainSchema, domain_scope};
pub use crate::extension_schema::ExtensionSchema;
pub use crate::index_schema::{IndexKey, IndexKeyPart, IndexMethod, IndexSchema, RowExpression};
use crate::item::KeyRange;
use crate::key::Key;
use crate::namespace;
pub use crate::policy_schema::{PolicyCommand, PolicySchema, RowSecurity};
use crate::privilege::{Grants, Rights};
use crate::program::Expression;
use crate::role::{RoleSchema, Secret};
pub use crate::routine_schema::{FunctionSchema, ProcedureSchema, RoutineResult, RoutineVolatility};
pub use crate::table_kinds::{AtCommit, MaterializedQuery, TablePersistence, TableSchemaKind};
pub use crate::trigger_schema::{TransitionNames, TriggerEvent, TriggerEvents, TriggerSchema, TriggerTiming};
pub use crate::view_options::ViewCheckOption;
use identifiers::{Incarnation, SessionId, SiteId, TableId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::enumeration::EnumOrder;
use values::{EnumDefinition, Type, Value, ValueError};

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
    /// Whether its values come from a sequence, and whether a statement may give others.
    pub identity: Option<Identity>,
    /// What rows hold in it that were written before it was added: they end before it.
    pub missing: Value,
    /// What was granted on it, beside what was granted on its table.
    pub grants: Option<Grants>,
    /// The domain that it has, if it has one: its type is what that is over.
    pub domain: Option<Arc<DomainRules>>,
}

/// A CHECK constraint: satisfied by rows for which its condition is not false.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckSchema {
    /// Its name, which no other constraint of the table has.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// The condition as SQL text.
    pub text: String,
    /// The condition over the table's columns.
    pub condition: Expression,
    /// The columns that it names.
    pub columns: Vec<usize>,
    /// Whether all rows satisfy it; if not, new ones do.
    pub is_valid: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForeignKeySchema {
    /// Its name, which no other constraint of the table has.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// Positions of its columns in the table.
    pub columns: Vec<usize>,
    /// The table that it refers to, by its object identifier. It may be the same.
    pub parent: u32,
    /// Positions of the columns there: those of the primary key, or of a unique index.
    pub parent_columns: Vec<usize>,
    /// What is done with rows that refer to a row which is deleted.
    pub on_delete: OnChange,
    /// What is done with rows that refer to a key which is changed.
    pub on_update: OnChange,
    /// The columns' defaults, for SET DEFAULT.
    pub defaults: Vec<Expression>,
    /// MATCH FULL: its columns are all NULL, or none.
    pub is_full: bool,
    /// Whether it may be checked when the transaction commits.
    pub is_deferrable: bool,
    /// Whether it is, unless the transaction says otherwise.
    pub is_deferred: bool,
    /// Whether all rows satisfy it; if not, new ones do.
    pub is_valid: bool,
}

/// What is done with rows that refer to what has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnChange {
    /// There must be none, once the statement, or the transaction, is done.
    NoAction,
    /// There must be none.
    Restrict,
    /// They go, too, or are changed likewise.
    Cascade,
    /// They refer to nothing.
    SetNull,
    /// They refer to what the columns' defaults say.
    SetDefault,
}

/// Who gives the values of an identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// GENERATED ALWAYS: the sequence, unless a statement says OVERRIDING SYSTEM VALUE.
    Always,
    /// GENERATED BY DEFAULT: the sequence, where a statement gives none.
    ByDefault,
}

/// What makes a table a sequence. Its storage has one row: `last_value`, `log_cnt` (always 0, and the key), `is_called`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceSchema {
    /// smallint, integer or bigint.
    pub data_type: Type,
    /// Its first value.
    pub start: i64,
    /// From one value to the next; not 0.
    pub increment: i64,
    /// No value is less.
    pub minimum: i64,
    /// No value is greater.
    pub maximum: i64,
    /// So many values at least are taken at a time.
    pub cache: i64,
    /// Whether it begins again behind its last value.
    pub cycle: bool,
    /// The table, by its object identifier, and the column that it is dropped with.
    pub owned_by: Option<(u32, usize)>,
    /// Counted up by whatever sets it: values taken before are not given out any more.
    pub generation: u32,
}

/// A table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableSchema {
    /// Its name, with the number of its schema unless that is `public`: see [`crate::namespace`].
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
    /// Set if it is a sequence.
    pub sequence: Option<Box<SequenceSchema>>,
    /// The text of its query if it is a view, which has no rows of its own.
    pub view: Option<Arc<str>>,
    /// What its rows have to satisfy.
    pub checks: Vec<CheckSchema>,
    /// What its rows refer to.
    pub foreign_keys: Vec<ForeignKeySchema>,
    /// Who owns it and its indexes, and who may do what with it.
    pub rights: Rights,
    /// How long it and its rows last. Rows of the catalog that earlier versions wrote end before it.
    pub persistence: TablePersistence,
    /// What its rows are computed by, if it is a materialized view. Rows that earlier versions wrote end before it.
    pub materialized: Option<Box<MaterializedQuery>>,
    /// Columns that are computed of the others of their row. Rows that earlier versions wrote end before them.
    pub generated: Vec<GeneratedColumn>,
    /// What fires when its rows change, by name.
    pub triggers: Vec<TriggerSchema>,
    /// Who may see and write which of its rows.
    pub row_security: RowSecurity,
    /// What a view asks of rows that are written through it.
    pub check_option: Option<ViewCheckOption>,
    /// Positions of a view's columns through which rows of its table can be changed; none: its rows cannot be.
    pub changed: Vec<usize>,
}

/// A generated column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeneratedColumn {
    /// Its position.
    pub column: usize,
    /// What it is computed by: of no generated column, and with values that are assigned to it.
    pub expression: Arc<RowExpression>,
}

impl Column {
    /// A column that says nothing but its name and type.
    pub fn new(name: impl Into<String>, column_type: Type, not_null: bool) -> Column {
        Column {
            name: name.into(),
            column_type,
            not_null,
            default: None,
            dropped: false,
            identity: None,
            missing: Value::Null,
            grants: None,
            domain: None,
        }
    }
}

impl TableSchema {
    /// A table that says nothing but its name and columns, with a hidden key, and without an object identifier.
    pub fn new(name: impl Into<String>, storage: TableId, columns: Vec<Column>) -> TableSchema {
        TableSchema {
            name: name.into(),
            oid: 0,
            storage,
            columns,
            primary_key: Vec::new(),
            primary_key_name: None,
            primary_key_oid: 0,
            indexes: Vec::new(),
            options: Vec::new(),
            sequence: None,
            view: None,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            rights: Rights::default(),
            persistence: TablePersistence::Permanent,
            materialized: None,
            generated: Vec::new(),
            triggers: Vec::new(),
            row_security: RowSecurity::default(),
            check_option: None,
            changed: Vec::new(),
        }
    }

    /// What a column is computed by, if it is generated.
    pub fn generated_column(&self, position: usize) -> Option<&GeneratedColumn> {
        self.generated.iter().find(|own| own.column == position)
    }

    /// What it is.
    pub fn kind(&self) -> TableSchemaKind {
        match (&self.sequence, &self.view, &self.materialized) {
            (Some(_), ..) => TableSchemaKind::Sequence,
            (_, Some(_), _) => TableSchemaKind::View,
            (.., Some(_)) => TableSchemaKind::MaterializedView,
            _ => TableSchemaKind::Table,
        }
    }

    /// The text of the query that a view, materialized or not, shows the rows of.
    pub fn query(&self) -> Option<&Arc<str>> {
        self.view.as_ref().or(self.materialized.as_ref().map(|materialized| &materialized.text))
    }

    /// Whether the key is a hidden number. It is (site << 48 | counter), unique without coordination, and stored in the
    /// key only, not in the row.
    pub fn has_hidden_key(&self) -> bool {
        self.primary_key.is_empty()
    }

    /// Whether it has rows of its own: no sequence, no view, unless that is materialized.
    pub fn is_plain(&self) -> bool {
        self.sequence.is_none() && self.view.is_none()
    }

    /// The position of a column that was not dropped.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| !column.dropped && column.name == name)
    }
}

/// A type that a user has defined.
///
/// The columns that have it carry its definition ([`values::EnumDefinition`]): whatever changes it writes the rows of their tables, too, so a transaction that uses
/// such a table conflicts with the change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TypeSchema {
    /// Its name, in a space of its own.
    pub name: String,
    /// Its name as statements write it, quoted where it has to be.
    pub written: String,
    /// Its object identifier, kept for life. That of its arrays is the next one.
    pub oid: u32,
    /// What its values are.
    pub kind: TypeSchemaKind,
    /// Who owns it, and who may use it.
    pub rights: Rights,
}

/// What values of a user's type are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TypeSchemaKind {
    /// Labels, in their order.
    Enum(Vec<LabelSchema>),
    /// Values of another type that satisfy conditions.
    Domain(Box<DomainSchema>),
}

/// A label of an enum type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabelSchema {
    /// Its object identifier.
    pub oid: u32,
    /// Its place in the order of the type, kept for life.
    pub order: EnumOrder,
    /// The number that PostgreSQL would show for its place.
    pub sort_order: f32,
    /// The label.
    pub label: String,
}

impl TypeSchema {
    /// The labels, in their order, of an enum.
    pub fn labels(&self) -> &[LabelSchema] {
        match &self.kind {
            TypeSchemaKind::Enum(labels) => labels,
            TypeSchemaKind::Domain(_) => &[],
        }
    }

    /// What it says as a domain, if it is one.
    pub fn domain(&self) -> Option<&DomainSchema> {
        match &self.kind {
            TypeSchemaKind::Enum(_) => None,
            TypeSchemaKind::Domain(domain) => Some(domain),
        }
    }

    /// The type of its values. Errors: 54000 in a process that has seen too many definitions.
    pub fn data_type(&self) -> Result<Type, ValueError> {
        if let Some(domain) = self.domain() {
            return Ok(domain.base);
        }
        let labels = self.labels().iter().map(|label| (label.order.clone(), label.label.clone()));
        let definition = EnumDefinition {
            oid: self.oid,
            name: self.written.clone(),
            catalog_name: namespace::bare(&self.name).to_owned(),
            labels: labels.collect(),
        };
        Ok(Type::Enum(definition.keep()?))
    }
}

/// A schema beside `public`, PostgreSQL's namespace. What is in it has its number in its name: see [`crate::namespace`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamespaceSchema {
    /// Its name.
    pub name: String,
    /// Its object identifier, kept for life. 0, of `public` only: it was dropped.
    pub oid: u32,
    /// Who owns it, and who may do what in it.
    pub rights: Rights,
    /// Whose temporary objects are in it; `None`: it is no such schema. Rows of the catalog that earlier versions wrote end before it.
    pub temporary: Option<TemporaryOwner>,
}

/// The session that a temporary schema belongs to. With it, or with that life of its site, the schema goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TemporaryOwner {
    /// The session's site.
    pub site: SiteId,
    /// The life of the site that the session asked to make it.
    pub life: Incarnation,
    /// The session.
    pub session: SessionId,
}

impl NamespaceSchema {
    /// A schema that lasts.
    pub fn new(name: impl Into<String>, oid: u32, rights: Rights) -> NamespaceSchema {
        NamespaceSchema { name: name.into(), oid, rights, temporary: None }
    }
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
    /// Who owns a schema or database, under [`CatalogEntry::rights_key`]; absent: nothing was changed.
    Rights(Arc<Rights>),
    /// A schema, under [`CatalogEntry::namespace_key`].
    Namespace(Arc<NamespaceSchema>),
    /// What is said of an object, under [`CatalogEntry::comment_key`].
    Comment(Arc<str>),
    /// A user's type, under [`CatalogEntry::type_key`].
    Type(Arc<TypeSchema>),
    /// An extension, under [`CatalogEntry::extension_key`].
    Extension(Arc<ExtensionSchema>),
    /// A database, under [`CatalogEntry::database_key`].
    Database(Arc<DatabaseSchema>),
}

/// What has rights without a catalog row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// The schema `public`.
    Schema,
    /// The database.
    Database,
}

/// The first byte of a catalog key.
pub(crate) const RELATION: u8 = b'n';
pub(crate) const PROCEDURE: u8 = b'p';
pub(crate) const ROLE: u8 = b'r';
pub(crate) const SECRET: u8 = b's';
pub(crate) const RIGHTS: u8 = b'g';
pub(crate) const SETTING: u8 = b't';
pub(crate) const NAMESPACE: u8 = b'm';
pub(crate) const COMMENT: u8 = b'c';
pub(crate) const TYPE: u8 = b'y';
pub(crate) const EXTENSION: u8 = b'x';
pub(crate) const DATABASE: u8 = b'b';
/// What is in a database that is not the first: see [`crate::database`].
pub(crate) const WITHIN_DATABASE: u8 = b'd';

fn named(space: u8, name: &str) -> Key {
    let mut bytes = Vec::with_capacity(name.len() + 1);
    bytes.push(space);
    bytes.extend_from_slice(name.as_bytes());
    Key::new(&bytes)
}

impl Place {
    /// Each.
    pub const ALL: [Place; 2] = [Place::Schema, Place::Database];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Schema => "schema",
            Place::Database => "database",
        }
    }
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

    /// The catalog key of a type's name.
    pub fn type_key(name: &str) -> Key {
        named(TYPE, name)
    }

    /// The catalog key of an extension's name.
    pub fn extension_key(name: &str) -> Key {
        named(EXTENSION, name)
    }

    /// The catalog key of a database's name.
    pub fn database_key(name: &str) -> Key {
        named(DATABASE, name)
    }

    /// The catalog key of a role's name.
    pub fn role_key(name: &str) -> Key {
        named(ROLE, name)
    }

    /// The catalog key of the secret.
    pub fn secret_key() -> Key {
        Key::new(&[SECRET])
    }

    /// The catalog key of what was granted on a schema or database.
    pub fn rights_key(place: Place) -> Key {
        named(RIGHTS, place.name())
    }

    /// The catalog key of a schema's name.
    pub fn namespace_key(name: &str) -> Key {
        named(NAMESPACE, name)
    }

    /// The catalog key of what is said of an object.
    pub fn comment_key(target: CommentTarget) -> Key {
        let mut bytes = vec![COMMENT];
        bytes.extend_from_slice(&target.class.to_be_bytes());
        bytes.extend_from_slice(&target.oid.to_be_bytes());
        bytes.extend_from_slice(&target.number.to_be_bytes());
        Key::new(&bytes)
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

    /// Back from a row's bytes. Tables and schemas that earlier versions wrote lack their last fields: what they say is zero for those.
    pub fn decode(row: &[u8]) -> Result<CatalogEntry, postcard::Error> {
        let mut decoded = postcard::from_bytes(row);
        for lacking in [&[0][..], &[0, 0], &[0, 0, 0]] {
            if let Err(postcard::Error::DeserializeUnexpectedEnd) = decoded {
                decoded = postcard::from_bytes(&[row, lacking].concat());
            }
        }
        decoded
    }
}

/// The hidden key of a table without primary key: unique at all sites without asking them.
pub fn hidden_key(site: SiteId, counter: u64) -> Value {
    Value::BigInt(((site.0 as i64) << 48) | (counter as i64 & ((1 << 48) - 1)))
}
