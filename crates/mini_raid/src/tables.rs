//! Tables whose storages change: what clients compile from what their site has told them of the catalog, and what such a table must hold.
//!
//! The options of a table, which its catalog row keeps and nobody interprets, list every change of its schema in order, each made from the one
//! before. A *rebuild* fills a new storage with all rows of the present one and some of its own; in between, ordinary statements add rows.
//!
//! Invariant: the key of a row says who brought it, so whoever reads the table knows from its catalog row which rows must be there: all of
//! each rebuild listed, none of any other, each once.

use crate::history::WriteToken;
use messages::database::DatabaseId;
use messages::program::{AccessPath, Action, Expression, InsertInput, PrefixBounds, Program, ResultColumn, RowSource};
use messages::schema::{
    Catalog, CatalogEntry, Column, IndexKey, IndexKeyPart, IndexSchema, RowExpression, TableSchema,
};
use messages::{Key, Row, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::{Type, Value};

/// Tables are judged as lists of the changes of their schema, and as counters of the rows added in between; both have numbers from here on.
pub const TABLES: u64 = 2_000_000;
/// As many tables there are at most.
const TABLES_MAX: u64 = 100_000;
/// The first number of a storage: those of the other tables lie below.
const STORAGE_FIRST: u32 = TableId::FIRST_CREATED.0;
/// Keys of the rows that one token brings.
const KEYS: i64 = 64;
/// Rows of a rebuild, at most: the last key is that of a row added by an ordinary statement.
pub const ROWS_MAX: u64 = KEYS as u64 - 1;

/// Whether a list is that of the changes of a table.
pub fn is_table(list: u64) -> bool {
    (TABLES..TABLES + TABLES_MAX).contains(&list)
}

/// How a schema changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedSchemaChange {
    /// The table comes, or gets another storage, filled with what the present one holds and some rows more.
    Rebuild,
    /// A unique index comes, filled from the table; or it goes. A table that is not there comes instead.
    Index,
}

/// What a client asks of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStep {
    /// Reads all of it, by its key or by its index.
    Read {
        /// Which.
        table: u64,
        /// By the index, if it has one.
        by_index: bool,
    },
    /// Adds a row. If the table is not there, nothing.
    AddRow {
        /// To which.
        table: u64,
        /// The row.
        token: WriteToken,
    },
    /// Confirms what it is, as before an error is told that follows from that.
    Confirm {
        /// What.
        table: u64,
    },
    /// Changes its schema.
    Change {
        /// Of which.
        table: u64,
        /// The change.
        token: WriteToken,
        /// How.
        change: SimulatedSchemaChange,
    },
}

impl TableStep {
    /// Which table.
    pub fn table(self) -> u64 {
        match self {
            TableStep::Read { table, .. } | TableStep::AddRow { table, .. } => table,
            TableStep::Confirm { table } | TableStep::Change { table, .. } => table,
        }
    }
}

/// A step as a program.
#[derive(Clone, Debug)]
pub struct CompiledStep {
    /// What to run.
    pub program: Arc<Program>,
    /// The table as it was.
    pub before: Option<Arc<TableSchema>>,
    /// Catalog rows that it writes.
    pub rows: Vec<(Key, Option<Row>)>,
    /// Storages that it makes.
    pub makes: Vec<TableId>,
    /// Storages that it drops.
    pub drops: Vec<TableId>,
}

/// What a transaction knows of the catalog.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// What it goes on with, once it has read a snapshot so.
    pub pinned: Option<Catalog>,
    own: BTreeMap<Key, Option<Row>>,
    makes: BTreeSet<TableId>,
}

impl Knowledge {
    /// The catalog, with what the transaction has changed in it.
    pub fn catalog(&self, told: &Catalog) -> Catalog {
        let mut catalog = self.pinned.as_ref().unwrap_or(told).clone();
        for (key, row) in &self.own {
            let version = messages::Timestamp::ZERO;
            catalog.apply(key.as_bytes(), version, row.as_deref()).expect("what a client encoded decodes");
        }
        catalog
    }

    /// A program of the transaction has run.
    pub fn ran(&mut self, compiled: &CompiledStep) {
        self.own.extend(compiled.rows.iter().cloned());
        self.makes.extend(compiled.makes.iter().copied());
    }

    /// The program of a step, compiled with this catalog.
    pub fn compile(&self, step: TableStep, catalog: &Catalog, rows_each: u64) -> CompiledStep {
        let name = name_of(step.table());
        let before = catalog.tables.get(&name).map(|versioned| Arc::clone(&versioned.table));
        match step {
            TableStep::Change { table, token, change } => {
                let mut plan = SchemaPlan { catalog, knowledge: self, rows: BTreeMap::new(), makes: Vec::new() };
                plan.change(before, table, token, change, rows_each)
            }
            TableStep::Read { by_index, .. } => {
                let action = read(before.as_ref(), by_index);
                self.statement(&name, before, vec![action], catalog, true)
            }
            TableStep::Confirm { .. } => self.statement(&name, before, Vec::new(), catalog, true),
            TableStep::AddRow { token, .. } => {
                let action = match &before {
                    None => read(None, false),
                    Some(table) => insert(table, [token as i64 * KEYS + KEYS - 1], self.makes.contains(&table.storage)),
                };
                let read_only = before.is_none();
                self.statement(&name, before, vec![action], catalog, read_only)
            }
        }
    }

    fn statement(
        &self,
        name: &str,
        before: Option<Arc<TableSchema>>,
        actions: Vec<Action>,
        catalog: &Catalog,
        read_only: bool,
    ) -> CompiledStep {
        let key = CatalogEntry::key(name);
        let version = catalog.version_of(&key);
        let relies_on = (!self.own.contains_key(&key)).then_some((key, version)).into_iter().collect();
        let column = |name: &str, column_type| ResultColumn { name: name.to_owned(), column_type, origin: (0, 0) };
        let columns = match read_only {
            true => vec![column("k", Type::BigInt), column("v", Type::Text)],
            false => Vec::new(),
        };
        let program = Program {
            parameters: Vec::new(),
            actions,
            columns,
            relies_on,
            read_only,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        let program = Arc::new(program);
        CompiledStep { program, before, rows: Vec::new(), makes: Vec::new(), drops: Vec::new() }
    }
}

/// A schema change being compiled.
struct SchemaPlan<'a> {
    catalog: &'a Catalog,
    knowledge: &'a Knowledge,
    rows: BTreeMap<Key, Option<Row>>,
    makes: Vec<TableId>,
}

impl SchemaPlan<'_> {
    fn write(&mut self, key: Key, entry: Option<CatalogEntry>) {
        self.rows.insert(key, entry.map(|entry| entry.encode()));
    }

    fn make_storage(&mut self) -> TableId {
        let number = self.catalog.next.0.max(STORAGE_FIRST) + self.makes.len() as u32;
        self.write(CatalogEntry::next_key(), Some(CatalogEntry::Next(number + 1)));
        self.makes.push(TableId(number));
        TableId(number)
    }

    fn change(
        &mut self,
        before: Option<Arc<TableSchema>>,
        table: u64,
        token: WriteToken,
        change: SimulatedSchemaChange,
        rows_each: u64,
    ) -> CompiledStep {
        let name = name_of(table);
        let index_name = format!("{name}_v");
        let mut drops = Vec::new();
        let mut actions = Vec::new();
        let mut to = match &before {
            Some(before) => TableSchema::clone(before),
            None => schema(&name, table),
        };
        match (&before, change) {
            (Some(from), SimulatedSchemaChange::Index) if from.indexes.is_empty() => {
                let storage = self.make_storage();
                self.write(CatalogEntry::key(&index_name), Some(CatalogEntry::IndexOf(name.clone())));
                to.indexes.push(index(index_name, storage, token));
                to.options.push(format!("index {token}"));
                let to = Arc::new(to.clone());
                actions.push(Action::Rebuild { from: Arc::clone(from), to, index: Some(0), fill: Vec::new() });
            }
            (Some(_), SimulatedSchemaChange::Index) => {
                drops.extend(to.indexes.drain(..).map(|index| index.storage));
                self.write(CatalogEntry::key(&index_name), None);
                to.options.push(format!("no index {token}"));
            }
            (from, _) => {
                drops.extend(storages_of(from.as_deref()));
                to.storage = self.make_storage();
                for index in &mut to.indexes {
                    index.storage = self.make_storage();
                }
                to.options.push(format!("rebuild {token}"));
                let to = Arc::new(to.clone());
                if let Some(from) = from {
                    actions.push(Action::Rebuild {
                        from: Arc::clone(from),
                        to: Arc::clone(&to),
                        index: None,
                        fill: Vec::new(),
                    });
                }
                actions.push(insert(&to, rebuilt_keys(token, rows_each), true));
            }
        }
        self.write(CatalogEntry::key(&name), Some(CatalogEntry::Table(Arc::new(to))));
        self.finish(before, drops, actions)
    }

    fn finish(
        &mut self,
        before: Option<Arc<TableSchema>>,
        drops: Vec<TableId>,
        mut actions: Vec<Action>,
    ) -> CompiledStep {
        let rows: Vec<(Key, Option<Row>)> = std::mem::take(&mut self.rows).into_iter().collect();
        let makes = std::mem::take(&mut self.makes);
        let writes = rows.iter().map(|(key, row)| {
            let seen = (!self.knowledge.own.contains_key(key)).then(|| self.catalog.version_of(key));
            (key.clone(), seen, row.clone())
        });
        actions.insert(0, Action::Catalog { writes: writes.collect(), drops: drops.clone(), makes: makes.clone() });
        let program = Arc::new(Program {
            parameters: Vec::new(),
            actions,
            columns: Vec::new(),
            relies_on: Arc::default(),
            read_only: false,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        });
        CompiledStep { program, before, rows, makes, drops }
    }
}

/// The changes that made a table what it is, in order.
pub fn changes_of(table: Option<&TableSchema>) -> Vec<WriteToken> {
    table.into_iter().flat_map(|table| &table.options).filter_map(|option| token_of(option)).collect()
}

/// The rows added between rebuilds, among rows read. Errors: a row is missing, twice, or of somebody who has brought none.
pub fn rows_added(table: Option<&TableSchema>, rows: &[Vec<Value>], rows_each: u64) -> Result<Vec<WriteToken>, String> {
    let Some(table) = table else { return Ok(Vec::new()) };
    let rebuilds = table.options.iter().filter(|option| option.starts_with("rebuild "));
    let expected = rebuilds.filter_map(|option| token_of(option)).flat_map(|token| rebuilt_keys(token, rows_each));
    let mut missing: BTreeSet<i64> = expected.collect();
    let (mut found, mut added) = (BTreeSet::new(), Vec::new());
    let told = || format!("storage {} of {} after {:?}", table.storage.0, table.name, table.options);
    for row in rows {
        let key = row.first().and_then(Value::as_integer);
        let key = key.ok_or_else(|| format!("a row without a key in {}: {row:?}", told()))?;
        if row.get(1).and_then(Value::as_text) != Some(text_of(key).as_str()) {
            return Err(format!("a row that nobody wrote in {}: {row:?}", told()));
        }
        if !found.insert(key) {
            return Err(format!("row {key} is twice in {}", told()));
        }
        match missing.remove(&key) {
            true => {}
            false if key % KEYS == KEYS - 1 => added.push((key / KEYS) as WriteToken),
            false => return Err(format!("row {key} in {} is of another generation", told())),
        }
    }
    match missing.first() {
        None => Ok(added),
        Some(key) => Err(format!("{} rows, of which {key} is the first, are missing in {}", missing.len(), told())),
    }
}

/// All storages of a table.
pub fn storages_of(table: Option<&TableSchema>) -> impl Iterator<Item = TableId> + '_ {
    table.into_iter().flat_map(|table| std::iter::once(table.storage).chain(table.indexes.iter().map(|i| i.storage)))
}

fn token_of(option: &str) -> Option<WriteToken> {
    option.rsplit(' ').next().and_then(|token| token.parse().ok())
}

fn name_of(table: u64) -> String {
    format!("t{table}")
}

fn text_of(key: i64) -> String {
    format!("{key},")
}

fn rebuilt_keys(token: WriteToken, rows_each: u64) -> impl Iterator<Item = i64> {
    let first = i64::from(token) * KEYS;
    first..first + rows_each.min(ROWS_MAX) as i64
}

fn schema(name: &str, table: u64) -> TableSchema {
    let column = |name: &str, column_type, not_null| Column::new(name, column_type, not_null);
    TableSchema {
        oid: 10_000 + table as u32,
        primary_key: vec![0],
        ..TableSchema::new(name, TableId(0), vec![column("k", Type::BigInt, true), column("v", Type::Text, false)])
    }
}

/// A unique index in which all rows are: over their text, or over what is computed of it, with a predicate that all satisfy.
fn index(name: String, storage: TableId, token: WriteToken) -> IndexSchema {
    let plain = IndexSchema::new(name, storage.0, storage, &[1], true);
    if token.is_multiple_of(2) {
        return plain;
    }
    let text = || Expression::Column(1);
    let lower = RowExpression::new(Expression::Call(Arc::from("lower"), vec![text()]), Type::Text);
    let present = RowExpression::new(Expression::IsNull(Box::new(text()), true), Type::Boolean);
    IndexSchema {
        keys: vec![IndexKey::of(IndexKeyPart::Expression(Arc::new(lower)))],
        predicate: Some(Arc::new(present)),
        ..plain
    }
}

fn read(table: Option<&Arc<TableSchema>>, by_index: bool) -> Action {
    let source = table.map(|table| {
        let path = match by_index && !table.indexes.is_empty() {
            true => AccessPath::IndexRange(0, PrefixBounds::default()),
            false => AccessPath::KeyRange(PrefixBounds::default()),
        };
        RowSource { table: Arc::clone(table), path, reverse: false }
    });
    let output = if source.is_some() { vec![Expression::Column(0), Expression::Column(1)] } else { Vec::new() };
    Action::Select { source, filter: None, output, offset: None, limit: None, lock: None, order: Vec::new() }
}

fn insert(table: &Arc<TableSchema>, keys: impl IntoIterator<Item = i64>, private: bool) -> Action {
    let row =
        |key: i64| vec![Expression::Constant(Value::BigInt(key)), Expression::Constant(Value::text(text_of(key)))];
    Action::Insert {
        table: Arc::clone(table),
        values: vec![Expression::Column(0), Expression::Column(1)],
        input: InsertInput::Rows(keys.into_iter().map(row).collect()),
        on_conflict: None,
        returning: Vec::new(),
        private,
        guard: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::Timestamp;

    fn rows(keys: &[i64]) -> Vec<Vec<Value>> {
        keys.iter().map(|key| vec![Value::BigInt(*key), Value::text(text_of(*key))]).collect()
    }

    /// If this fails, a storage that has lost rows, or has those of another generation, goes unnoticed.
    #[test]
    fn finds_rows_that_are_missing_twice_or_of_another() {
        let options = ["rebuild 3", "index 4"].map(str::to_owned).to_vec();
        let table = TableSchema { options, ..schema("t0", 0) };
        let (first, second, added) = (3 * KEYS, 3 * KEYS + 1, 5 * KEYS + KEYS - 1);
        assert_eq!(rows_added(Some(&table), &rows(&[first, second, added]), 2), Ok(vec![5]));
        let wrong: [&[i64]; 4] =
            [&[first], &[first, second, second], &[first, second, 7 * KEYS], &[first, second, 3 * KEYS + 2]];
        for keys in wrong {
            assert!(rows_added(Some(&table), &rows(keys), 2).is_err(), "{keys:?}");
        }
        assert_eq!(changes_of(Some(&table)), [3, 4]);
    }

    /// If this fails, clients change schemas otherwise than a user interface does: from other versions than they were told, or with other storages.
    #[test]
    fn a_change_is_made_from_what_was_told() {
        let mut told = Catalog::default();
        let rebuild = |token| TableStep::Change { table: 0, token, change: SimulatedSchemaChange::Rebuild };
        let first = Knowledge::default().compile(rebuild(1), &told, 2);
        let version = Timestamp { clock: 7, ..Timestamp::ZERO };
        for (key, row) in &first.rows {
            told.apply(key.as_bytes(), version, row.as_deref()).expect("it was encoded");
        }
        let second = Knowledge::default().compile(rebuild(2), &told, 2);
        assert_eq!((&second.drops, changes_of(second.before.as_deref())), (&first.makes, vec![1]));
        assert_ne!(second.makes, first.makes);
        let Some(Action::Catalog { writes, .. }) = second.program.actions.first() else { panic!("{second:?}") };
        assert!(writes.iter().all(|(_, seen, _)| *seen == Some(version)), "{writes:?}");
        let mut own = Knowledge::default();
        own.ran(&first);
        let third = own.compile(rebuild(3), &own.catalog(&Catalog::default()), 2);
        let Some(Action::Catalog { writes, .. }) = third.program.actions.first() else { panic!("{third:?}") };
        assert!(writes.iter().all(|(_, seen, _)| seen.is_none()), "{writes:?}");
    }
}
