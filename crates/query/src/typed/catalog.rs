//! The analyzer's catalog over a snapshot: PostgreSQL's own objects, and the tables and types of the user.
//!
//! Invariant: what the analyzer finds here is what the snapshot has. What only the other engine knows (relations of the schema `raid`, `pg_locks`, collations beyond C) is
//! not found, and [`SnapshotCatalog::is_beyond`] says so afterwards: then nothing may be concluded from what was not found.

use super::{routines, system};
use crate::planning::go_on;
use crate::system_catalog::{DEFINITIONS, SystemRelation, is_system_schema};
use analyzer::catalog::{Found, SYSTEM_SCHEMA};
use analyzer::facts::{Aggregate, Cast, Function, Operator, Range, TypeRow};
use analyzer::relations::{Relation, RelationColumn, RelationId, RelationKind};
use analyzer::types::{CollationId, FunctionId, NO_MODIFIER, NONE, OperatorId, TypeKind};
use analyzer::{BuiltIns, Catalog as _, TypeId, Typed};
use evaluation::functions::catalogs::shows_catalog;
use evaluation::functions::extension_row;
use messages::schema::{
    Catalog, CatalogEntry, Column, DomainRules, DomainSchema, ExtensionSchema, Identity, ProcedureSchema, TableSchema,
    TypeSchema,
};
use messages::{Key, Timestamp, contention, namespace};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use values::extensions;

/// The relation of locks, which are claims of all sites.
const LOCKS: &str = "pg_locks";
/// The schema of users' tables.
const PUBLIC: &str = "public";
/// What tells the type of a table's rows from the table: users' objects are numbered from below.
const ROW_TYPES: u32 = 1 << 31;

/// One analysis' view of a catalog snapshot.
pub(crate) struct SnapshotCatalog<'a> {
    tables: &'a Catalog,
    database: &'a str,
    named: OnceCell<Box<NamedTable>>,
    types: OnceCell<Box<NamedType>>,
    extensions: OnceCell<Vec<NamedExtension>>,
    routines: OnceCell<Box<NamedRoutine>>,
    beyond: Cell<bool>,
    /// Whether a domain was named.
    names_domain: Cell<bool>,
    /// Whether columns have the types in which their values are held.
    shows_stored: Cell<bool>,
    /// Whether something was named that shows the catalog itself: a system relation, a function over them, a type of names.
    shows_catalog: Cell<bool>,
}

/// An extension that was created.
struct NamedExtension {
    known: Arc<ExtensionSchema>,
    version: Timestamp,
    functions: Vec<Function>,
    /// Whether one of its functions was asked for.
    is_used: Cell<bool>,
}

/// A user's function that was asked for, and the ones that were asked for after it.
struct NamedRoutine {
    known: Arc<ProcedureSchema>,
    version: Timestamp,
    row: Function,
    next: OnceCell<Box<NamedRoutine>>,
}

/// A user's type that was asked for, and the ones that were asked for after it.
struct NamedType {
    stored: values::Type,
    own: TypeRow,
    array: TypeRow,
    /// Its name in the catalog, and the version of its row.
    version: (String, Timestamp),
    next: OnceCell<Box<NamedType>>,
}

/// A table that was named, and the ones that were named after it: what was handed out stays where it is.
struct NamedTable {
    relation: Relation,
    /// The same with the types in which values are held, if that is another.
    stored: Option<Relation>,
    row: TypeRow,
    next: OnceCell<Box<NamedTable>>,
}

impl<'a> SnapshotCatalog<'a> {
    /// Over a snapshot, in a database of this name.
    pub(crate) fn new(tables: &'a Catalog, database: &'a str) -> SnapshotCatalog<'a> {
        SnapshotCatalog {
            tables,
            database,
            named: OnceCell::new(),
            types: OnceCell::new(),
            extensions: OnceCell::new(),
            routines: OnceCell::new(),
            beyond: Cell::new(false),
            names_domain: Cell::new(false),
            shows_stored: Cell::new(false),
            shows_catalog: Cell::new(false),
        }
    }

    /// Whether something was named that shows the catalog itself.
    pub(crate) fn shows_catalog(&self) -> bool {
        self.shows_catalog.get()
    }

    /// The system relations that were named.
    pub(super) fn system_relations(&self) -> impl Iterator<Item = &'static SystemRelation> {
        let system = self.all_named().filter(|known| known.relation.system);
        system.filter_map(|known| DEFINITIONS.find(&known.relation.schema, &known.relation.name))
    }

    /// Whether there are domains.
    pub(crate) fn has_domains(&self) -> bool {
        self.tables.types.values().any(|(known, _)| known.domain().is_some())
    }

    /// Whether a domain was named.
    pub(crate) fn names_domain(&self) -> bool {
        self.names_domain.get()
    }

    /// From now on columns have what their domains are over: the statement has its meaning.
    pub(crate) fn show_stored_columns(&self) {
        self.shows_stored.set(true);
    }

    /// What values of a domain have to satisfy; `None` for any other type.
    pub(crate) fn domain(&self, id: TypeId) -> Option<Arc<DomainRules>> {
        let known = self.tables.type_numbered(id.0)?;
        known.domain().map(|domain| Arc::clone(&domain.rules))
    }

    /// Whether something was asked for that this knows nothing of, and another may.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.get()
    }

    /// How values of a user's type are held, with all that its labels are read by.
    pub(crate) fn stored(&self, id: TypeId) -> Option<values::Type> {
        if let Some(known) = system::storage(id) {
            return Some(known);
        }
        let known = self.user_type(id)?;
        Some(if id == known.own.id { known.stored } else { known.stored.array() })
    }

    /// Catalog rows of users' types and functions that were asked for, and of the extensions whose functions were, with their versions.
    pub(crate) fn used(&self) -> Vec<(Key, Timestamp)> {
        let types = self.all_types().map(|known| (CatalogEntry::type_key(&known.version.0), known.version.1));
        let extensions =
            self.used_extensions().map(|known| (CatalogEntry::extension_key(&known.known.name), known.version));
        let routines = self.all_routines().map(|known| (CatalogEntry::procedure_key(&known.known.name), known.version));
        types.chain(extensions).chain(routines).collect()
    }

    /// Whether functions of users or extensions were asked for.
    pub(crate) fn has_called(&self) -> bool {
        self.used_extensions().next().is_some() || self.all_routines().next().is_some()
    }

    /// The user's function with this number, if it was asked for.
    pub(super) fn routine(&self, id: FunctionId) -> Option<&ProcedureSchema> {
        self.all_routines().find(|known| known.row.id == id).map(|known| &*known.known)
    }

    fn used_extensions(&self) -> impl Iterator<Item = &NamedExtension> {
        self.extensions.get().into_iter().flatten().filter(|known| known.is_used.get())
    }

    fn all_routines(&self) -> impl Iterator<Item = &NamedRoutine> {
        std::iter::successors(self.routines.get(), |known| known.next.get()).map(|known| &**known)
    }

    /// The user's function of this name.
    fn routine_called(&self, schema: Option<&str>, name: &str) -> Option<&Function> {
        if schema.is_some_and(|schema| schema != PUBLIC) {
            return None;
        }
        if let Some(known) = self.all_routines().find(|known| known.known.name == name) {
            return Some(&known.row);
        }
        let (known, version) = self.tables.procedures.get(name)?;
        let row = routines::row(known);
        let mut end = &self.routines;
        while let Some(known) = end.get() {
            end = &known.next;
        }
        let new = || Box::new(NamedRoutine { known: Arc::clone(known), version: *version, row, next: OnceCell::new() });
        Some(&end.get_or_init(new).row)
    }

    fn all_extensions(&self) -> &[NamedExtension] {
        self.extensions.get_or_init(|| {
            let all = self.tables.extensions.values();
            all.map(|(known, version)| NamedExtension {
                known: Arc::clone(known),
                version: *version,
                functions: known.numbered().map(|(oid, function)| extension_row(oid, function)).collect(),
                is_used: Cell::new(false),
            })
            .collect()
        })
    }

    /// The functions of an extension that a name of the catalog's means.
    fn extension_functions(&self, schema: Option<&str>, name: &str) -> Vec<Found<'_, Function>> {
        let bare = namespace::bare(name);
        let is_hidden = !namespace::is_marked(name) && extensions::is_hidden(bare);
        let (Some((known, _)), false) = (self.tables.extension_of(name), is_hidden) else { return Vec::new() };
        if schema.is_some_and(|schema| schema != PUBLIC) {
            return Vec::new();
        }
        let Some(named) = self.all_extensions().iter().find(|named| named.known.name == known.name) else {
            return Vec::new();
        };
        named.is_used.set(true);
        let rows = named.functions.iter().filter(|row| row.name == bare);
        rows.map(|row| Found { place: usize::from(schema.is_none()), row }).collect()
    }

    fn all_types(&self) -> impl Iterator<Item = &NamedType> {
        std::iter::successors(self.types.get(), |known| known.next.get()).map(|known| &**known)
    }

    /// The user's type with this number, or whose arrays have it.
    fn user_type(&self, id: TypeId) -> Option<&NamedType> {
        values::Type::numbered(id.0)?;
        if let Some(known) = self.all_types().find(|known| known.own.id == id || known.array.id == id) {
            return Some(known);
        }
        self.tables.types.values().find(|(known, _)| known.oid == id.0 & !1).and_then(|known| self.keep_type(known))
    }

    /// The same by its name.
    fn type_called(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow> {
        if schema.is_some_and(|schema| schema != PUBLIC) {
            return None;
        }
        let find = |name: &str| {
            let (known, _) = self.tables.types.get(name)?;
            self.names_domain.set(self.names_domain.get() || known.domain().is_some());
            self.user_type(TypeId(known.oid))
        };
        let array = || namespace::bare(name).strip_prefix('_').map(|element| namespace::beside(name, element));
        find(name).map(|known| &known.own).or_else(|| find(&array()?).map(|known| &known.array))
    }

    fn keep_type(&self, (known, version): &(Arc<TypeSchema>, Timestamp)) -> Option<&NamedType> {
        let stored = known.data_type().ok()?;
        let mut end = &self.types;
        while let Some(known) = end.get() {
            end = &known.next;
        }
        Some(end.get_or_init(|| Box::new(NamedType::of(known, stored, *version))))
    }

    fn all_named(&self) -> impl Iterator<Item = &NamedTable> {
        std::iter::successors(self.named.get(), |known| known.next.get()).map(|known| &**known)
    }

    fn table_named(&self, schema: Option<&str>, name: &str) -> Option<&NamedTable> {
        if schema.is_some_and(|schema| schema != PUBLIC) {
            return None;
        }
        if let Some(known) = self.all_named().find(|known| known.relation.name == name && !known.relation.system) {
            return Some(known);
        }
        let table = &self.tables.tables.get(name)?.table;
        // A view that is still named here was not written out before, which is somebody else's to do.
        if !table.is_plain() {
            self.beyond.set(true);
            return None;
        }
        Some(self.keep_named(|| NamedTable::of(table)))
    }

    /// A relation of a system schema.
    fn system_named(&self, schema: &str, name: &str) -> Option<&NamedTable> {
        let relation = DEFINITIONS.find(schema, name)?;
        if name == LOCKS {
            // Its rows are no catalog's.
            self.beyond.set(true);
            return None;
        }
        self.shows_catalog.set(true);
        let known = self.all_named().find(|known| known.relation.system && known.relation.id.0 == relation.oid);
        Some(known.unwrap_or_else(|| self.keep_named(|| NamedTable::of_system(relation))))
    }

    fn keep_named(&self, named: impl FnOnce() -> NamedTable) -> &NamedTable {
        let mut end = &self.named;
        while let Some(known) = end.get() {
            end = &known.next;
        }
        end.get_or_init(|| Box::new(named()))
    }
}

impl NamedType {
    fn of(known: &TypeSchema, stored: values::Type, version: Timestamp) -> NamedType {
        let (id, array) = (TypeId(known.oid), TypeId(known.oid + 1));
        // What every type of users' has in common.
        let common = TypeRow {
            id,
            name: namespace::bare(&known.name).to_owned().into(),
            schema: None,
            length: stored.size(),
            by_value: true,
            kind: TypeKind::Enum,
            category: 'E',
            preferred: false,
            delimiter: ',',
            relation: 0,
            element: NONE,
            array,
            is_array: false,
            input: "enum_in".into(),
            output: "enum_out".into(),
            receive: "enum_recv".into(),
            send: "enum_send".into(),
            modifier_input: "-".into(),
            modifier_output: "-".into(),
            alignment: 'i',
            storage: 'p',
            base: NONE,
            base_modifier: -1,
            collation: CollationId(0),
        };
        let common = match known.domain() {
            Some(domain) => of_domain(domain, common),
            None => common,
        };
        let of_arrays = TypeRow {
            id: array,
            name: format!("_{}", namespace::bare(&known.name)).into(),
            length: -1,
            by_value: false,
            kind: TypeKind::Base,
            category: 'A',
            element: id,
            array: NONE,
            is_array: true,
            base: NONE,
            base_modifier: -1,
            input: "array_in".into(),
            output: "array_out".into(),
            receive: "array_recv".into(),
            send: "array_send".into(),
            storage: 'x',
            ..common.clone()
        };
        NamedType {
            stored,
            own: common,
            array: of_arrays,
            version: (known.name.clone(), version),
            next: OnceCell::new(),
        }
    }
}

impl NamedTable {
    fn of(table: &TableSchema) -> NamedTable {
        let key = || table.primary_key.iter().map(|position| *position as u32).collect();
        let columns = table.columns.iter().map(column).collect();
        let own = table.primary_key_name.iter().cloned();
        let unique = table.indexes.iter().filter(|index| index.constraint).map(|index| index.name.clone());
        let checks = table.checks.iter().map(|check| check.name.clone());
        let foreign = table.foreign_keys.iter().map(|key| key.name.clone());
        let relation = Relation {
            id: RelationId(table.oid),
            schema: PUBLIC.into(),
            name: table.name.clone().into(),
            kind: match table.materialized {
                Some(_) => RelationKind::MaterializedView,
                None => RelationKind::Table,
            },
            row: TypeId(table.oid | ROW_TYPES),
            columns,
            primary_key: (!table.has_hidden_key()).then(key),
            constraints: own.chain(unique).chain(checks).chain(foreign).map(Into::into).collect(),
            system: false,
        };
        let stored = table.columns.iter().any(|column| column.domain.is_some()).then(|| {
            let columns = table.columns.iter().zip(&relation.columns);
            let columns =
                columns.map(|(own, shown)| RelationColumn { typed: typed(own.column_type), ..shown.clone() }).collect();
            Relation { columns, ..relation.clone() }
        });
        NamedTable { row: row_type(&relation), relation, stored, next: OnceCell::new() }
    }

    fn of_system(system: &SystemRelation) -> NamedTable {
        let column = |(name, of): &(&'static str, &'static str)| RelationColumn {
            name: (*name).into(),
            typed: system::column_type(of),
            dropped: false,
            generated: false,
            identity_always: false,
        };
        let relation = Relation {
            id: RelationId(system.oid),
            schema: system.schema_name.into(),
            name: system.name.into(),
            kind: if system.kind == "v" { RelationKind::View } else { RelationKind::Table },
            row: TypeId(system.oid | ROW_TYPES),
            columns: system.columns.iter().map(column).collect(),
            primary_key: None,
            constraints: Vec::new(),
            system: true,
        };
        NamedTable { row: row_type(&relation), relation, stored: None, next: OnceCell::new() }
    }
}

fn column(column: &Column) -> RelationColumn {
    let stored = typed(column.column_type);
    RelationColumn {
        name: column.name.clone().into(),
        typed: match &column.domain {
            Some(domain) => Typed { id: TypeId(domain.oid), modifier: NO_MODIFIER, ..stored },
            None => stored,
        },
        dropped: column.dropped,
        generated: false,
        identity_always: column.identity == Some(Identity::Always),
    }
}

/// A column's type, with the type's own collation.
pub(crate) fn typed(column_type: values::Type) -> Typed {
    let id = TypeId(column_type.oid());
    let collation = BuiltIns.type_row(id).map_or(CollationId(0), |row| row.collation);
    Typed { id, modifier: column_type.typmod(), collation }
}

/// The row of a domain, which has most of what it is over.
fn of_domain(domain: &DomainSchema, own: TypeRow) -> TypeRow {
    let base = TypeId(domain.base.oid());
    let below = BuiltIns.type_row(base);
    let category = match (below, domain.base.element()) {
        (Some(row), _) => row.category,
        (None, Some(_)) => 'A',
        (None, None) => 'E',
    };
    TypeRow {
        by_value: below.is_none_or(|row| row.by_value),
        kind: TypeKind::Domain,
        category,
        input: "domain_in".into(),
        base: domain.over.map_or(base, TypeId),
        base_modifier: if domain.over.is_some() { NO_MODIFIER } else { domain.base.typmod() },
        collation: below.map_or(CollationId(0), |row| row.collation),
        ..own
    }
}

fn row_type(relation: &Relation) -> TypeRow {
    TypeRow {
        id: relation.row,
        name: relation.name.clone(),
        schema: None,
        length: -1,
        by_value: false,
        kind: TypeKind::Composite,
        category: 'C',
        preferred: false,
        delimiter: ',',
        relation: relation.id.0,
        element: NONE,
        array: NONE,
        is_array: false,
        input: "record_in".into(),
        output: "record_out".into(),
        receive: "record_recv".into(),
        send: "record_send".into(),
        modifier_input: "-".into(),
        modifier_output: "-".into(),
        alignment: 'd',
        storage: 'x',
        base: NONE,
        base_modifier: -1,
        collation: CollationId(0),
    }
}

impl analyzer::Catalog for SnapshotCatalog<'_> {
    fn is_cancelled(&self) -> bool {
        go_on().is_err()
    }

    fn type_row(&self, id: TypeId) -> Option<&TypeRow> {
        let own = || self.all_named().map(|known| &known.row).find(|row| row.id == id);
        let user = || self.user_type(id).map(|known| if id == known.own.id { &known.own } else { &known.array });
        BuiltIns.type_row(id).or_else(user).or_else(own)
    }

    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow> {
        self.shows_catalog.set(self.shows_catalog.get() || name.starts_with("reg"));
        let own = || Some(&self.table_named(schema, name)?.row);
        BuiltIns.type_named(schema, name).or_else(|| self.type_called(schema, name)).or_else(own)
    }

    fn function(&self, id: FunctionId) -> Option<&Function> {
        let own = || self.all_routines().map(|known| &known.row).find(|row| row.id == id);
        let of_extensions = || self.all_extensions().iter().flat_map(|known| &known.functions).find(|row| row.id == id);
        BuiltIns.function(id).or_else(own).or_else(of_extensions)
    }

    fn functions_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Function>> {
        if schema.is_some_and(|schema| schema != SYSTEM_SCHEMA && is_system_schema(schema)) {
            self.beyond.set(true);
        }
        self.shows_catalog.set(self.shows_catalog.get() || shows_catalog(name));
        let mut found = BuiltIns.functions_named(schema, name);
        found.extend(self.extension_functions(schema, name));
        let own = self.routine_called(schema, name);
        found.extend(own.map(|row| Found { place: usize::from(schema.is_none()), row }));
        found
    }

    fn operator(&self, id: OperatorId) -> Option<&Operator> {
        BuiltIns.operator(id)
    }

    fn operators_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Operator>> {
        BuiltIns.operators_named(schema, name)
    }

    fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast> {
        BuiltIns.cast(source, target)
    }

    fn aggregate(&self, id: FunctionId) -> Option<&Aggregate> {
        BuiltIns.aggregate(id)
    }

    fn range(&self, id: TypeId) -> Option<&Range> {
        BuiltIns.range(id)
    }

    fn range_of_multirange(&self, id: TypeId) -> Option<&Range> {
        BuiltIns.range_of_multirange(id)
    }

    fn relation(&self, id: RelationId) -> Option<&Relation> {
        let known = self.all_named().find(|known| known.relation.id == id)?;
        Some(known.stored.as_ref().filter(|_| self.shows_stored.get()).unwrap_or(&known.relation))
    }

    fn relation_named(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        // As with PostgreSQL's search path, system relations come first.
        let system = match schema {
            None => self.system_named(SYSTEM_SCHEMA, name),
            Some(schema) if schema == contention::SCHEMA => {
                self.beyond.set(true);
                return None;
            }
            Some(schema) if is_system_schema(schema) => return Some(&self.system_named(schema, name)?.relation),
            Some(_) => None,
        };
        if let Some(known) = system {
            return Some(&known.relation);
        }
        Some(&self.table_named(schema, name)?.relation)
    }

    fn has_schema(&self, name: &str) -> bool {
        name == contention::SCHEMA || is_system_schema(name) || self.tables.namespace(name).is_some()
    }

    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<CollationId> {
        let found = BuiltIns.collation_named(schema, name);
        self.beyond.set(self.beyond.get() || found.is_none());
        found
    }

    fn collation_name(&self, id: CollationId) -> Option<String> {
        BuiltIns.collation_name(id)
    }

    fn database(&self) -> &str {
        self.database
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::TableId;
    use messages::schema::VersionedTable;
    use values::Type;

    /// A statement would be resolved against another table than the one it names, or a system relation taken for missing.
    #[test]
    fn names_lead_to_tables_and_what_is_beyond_is_told() {
        let mut tables = Catalog::default();
        let columns = vec![Column::new("id", Type::Integer, true), Column::new("name", Type::Varchar(Some(20)), false)];
        let mut table = TableSchema::new("item", TableId(9), columns);
        table.oid = 16_384;
        let versioned = VersionedTable { table: Arc::new(table), version: Timestamp::ZERO };
        tables.tables.insert("item".to_owned(), versioned);
        let catalog = SnapshotCatalog::new(&tables, "raid");
        let catalog: &dyn analyzer::Catalog = &catalog;
        let item = catalog.relation_named(None, "item").expect("the table");
        assert_eq!(
            (item.id, item.columns[1].typed.id, item.columns[1].typed.modifier),
            (RelationId(16_384), TypeId(1043), 24)
        );
        assert!(std::ptr::eq(item, catalog.relation(item.id).expect("by its number")));
        assert!(std::ptr::eq(item, catalog.relation_named(Some("public"), "item").expect("by its schema")));
        assert!(catalog.is_composite(item.row));
        let catalog = SnapshotCatalog::new(&tables, "raid");
        assert!(catalog.relation_named(None, "absent").is_none() && !catalog.is_beyond());
        assert!(!catalog.shows_catalog());
        for (schema, name) in [(None, "pg_class"), (Some("information_schema"), "tables")] {
            let catalog = SnapshotCatalog::new(&tables, "raid");
            let found = catalog.relation_named(schema, name).expect("a system relation");
            assert!(std::ptr::eq(found, catalog.relation(found.id).expect("by its number")) && catalog.shows_catalog());
        }
        let catalog = SnapshotCatalog::new(&tables, "raid");
        assert!(catalog.relation_named(Some("raid"), "contention").is_none() && catalog.is_beyond());
    }
}
