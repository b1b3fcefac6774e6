//! Tables in memory, read from `tests/tables.txt`: the rows that every test queries.

use futures::stream::{self, BoxStream, StreamExt};
use messages::schema::{Catalog, CatalogEntry, Column, IndexSchema, TableSchema, VersionedTable};
use messages::{Key, Row, TableId, Timestamp};
use query::{
    Engine, Execution, Planned, Prepared, Processor, QueryError, ScanBatch, ScanRequest, SessionFacts, Tables,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use values::{Type, Value};

/// Tables, and what was asked of them.
pub struct Memory {
    pub catalog: Arc<Catalog>,
    rows: BTreeMap<TableId, BTreeMap<Key, Row>>,
    pub requests: Mutex<Vec<ScanRequest>>,
}

/// The moment that every test calls now: 2024-02-29 12:34:56 UTC.
pub const NOW: i64 = 762_525_296_000_000;

/// Of every table's definition.
pub const FIRST_VERSION: Timestamp = Timestamp { clock: 1, ..Timestamp::ZERO };

impl Tables for Memory {
    fn scan(&self, request: ScanRequest) -> BoxStream<'static, Result<ScanBatch, QueryError>> {
        self.requests.lock().expect("no test panics while it holds this").push(request.clone());
        let mut found = ScanBatch::new();
        for range in &request.ranges {
            let stored = self.rows[&range.table].iter().filter(|(key, _)| range.contains(key.as_bytes()));
            let mut stored: ScanBatch = stored.map(|(key, row)| (key.clone(), row.clone())).collect();
            if request.reverse {
                stored.reverse();
            }
            found.append(&mut stored);
        }
        if request.index.is_some() {
            // An entry holds the key of its row.
            let rows = &self.rows[&request.table.storage];
            let row_of = |(_, key): (Key, Row)| {
                let (key, row) = rows.get_key_value(&Key::new(&key)).expect("an entry leads to a row");
                (key.clone(), row.clone())
            };
            found = found.into_iter().map(row_of).collect();
        }
        // Small batches, so that operators meet more than one.
        let batches: Vec<_> = found.chunks(3).map(|chunk| Ok(chunk.to_vec())).collect();
        stream::iter(batches).boxed()
    }
}

/// A table as `tests/tables.txt` describes it.
pub struct Described {
    pub schema: TableSchema,
    pub rows: Vec<Vec<Value>>,
}

/// Reads `tests/tables.txt`: per table a line `table name`, a line per column, `key` and `index` lines, then rows.
pub fn described() -> Vec<Described> {
    described_in(include_str!("../tables.txt"))
}

fn described_in(text: &str) -> Vec<Described> {
    let mut tables: Vec<Described> = Vec::new();
    let mut next = 16_384;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').expect("a word and the rest");
        if word == "table" {
            tables.push(Described { schema: empty_table(rest, next), rows: vec![] });
            next += 10;
            continue;
        }
        let table = tables.last_mut().expect("a table comes first");
        match word {
            "column" => table.schema.columns.push(column(rest)),
            "key" => {
                table.schema.primary_key = positions(&table.schema, rest);
                table.schema.primary_key_name = Some(format!("{}_pkey", table.schema.name));
            }
            "index" | "unique" => {
                let (name, columns) = rest.split_once(' ').expect("a name and columns");
                let number = table.schema.oid + 2 + table.schema.indexes.len() as u32;
                let columns = positions(&table.schema, columns);
                let (unique, name) = (word == "unique", name.to_owned());
                let storage = TableId(number);
                table.schema.indexes.push(IndexSchema::new(name, number, storage, &columns, unique));
            }
            "row" => {
                let texts = rest.split('\t');
                let values = texts.zip(&table.schema.columns).map(|(text, column)| value(text, column.column_type));
                table.rows.push(values.collect());
            }
            other => panic!("tables.txt has a line that begins with {other}"),
        }
    }
    tables
}

fn empty_table(name: &str, oid: u32) -> TableSchema {
    TableSchema { oid, primary_key_oid: oid + 1, ..TableSchema::new(name, TableId(oid), Vec::new()) }
}

/// `name type [not null] [default ...]`.
fn column(line: &str) -> Column {
    let (line, default) = match line.split_once(" default ") {
        Some((before, default)) => (before, Some(default.to_owned())),
        None => (line, None),
    };
    let (line, not_null) = match line.strip_suffix(" not null") {
        Some(before) => (before, true),
        None => (line, false),
    };
    let (name, column_type) = line.split_once(' ').expect("a name and a type");
    let column_type = column_type.parse().expect("a type");
    Column {
        name: name.to_owned(),
        column_type,
        not_null,
        default,
        dropped: false,
        identity: None,
        missing: Value::Null,
        grants: None,
        domain: None,
    }
}

fn positions(table: &TableSchema, columns: &str) -> Vec<usize> {
    columns.split(' ').map(|name| table.column(name).expect("a column")).collect()
}

fn value(text: &str, column_type: Type) -> Value {
    if text == "\\N" {
        return Value::Null;
    }
    let parsed = values::text::parse(text, column_type).expect("a value");
    values::cast::assign(&parsed, column_type).expect("a value that fits")
}

impl Memory {
    pub fn new() -> Memory {
        Memory::of(described())
    }

    fn of(described: Vec<Described>) -> Memory {
        let mut catalog = Catalog::default();
        let mut rows = BTreeMap::new();
        for table in described {
            let schema = Arc::new(table.schema);
            let mut keys = Vec::new();
            let stored = rows.entry(schema.storage).or_insert_with(BTreeMap::new);
            for (number, row) in (0..).zip(&table.rows) {
                let key: Vec<Value> = if schema.has_hidden_key() {
                    vec![Value::BigInt(number)]
                } else {
                    schema.primary_key.iter().map(|position| row[*position].clone()).collect()
                };
                let (mut key_bytes, mut row_bytes) = (vec![], vec![]);
                values::key::encode_key(&key, &mut key_bytes);
                values::row::encode_row(row, &mut row_bytes);
                stored.insert(Key::new(&key_bytes), Row::from(row_bytes));
                keys.push(key_bytes);
            }
            for index in &schema.indexes {
                let entries = rows.entry(index.storage).or_insert_with(BTreeMap::new);
                for (row, key) in table.rows.iter().zip(&keys) {
                    let positions = index.leading_columns();
                    let columns: Vec<Value> = positions.iter().map(|position| row[*position].clone()).collect();
                    let mut entry = vec![];
                    values::key::encode_key(&columns, &mut entry);
                    if !index.unique || columns.iter().any(Value::is_null) {
                        entry.extend_from_slice(key);
                    }
                    entries.insert(Key::new(&entry), Row::from(key.clone()));
                }
            }
            let entry = CatalogEntry::Table(Arc::clone(&schema)).encode();
            let version = FIRST_VERSION;
            catalog.apply(CatalogEntry::key(&schema.name).as_bytes(), version, Some(&entry)).expect("a catalog row");
            catalog.tables.insert(schema.name.clone(), VersionedTable { table: schema, version });
        }
        Memory { catalog: Arc::new(catalog), rows, requests: Mutex::default() }
    }
}

/// A processor over the test tables.
pub struct World {
    pub processor: Processor,
    pub memory: Arc<Memory>,
    pub runtime: tokio::runtime::Runtime,
}

pub fn session() -> Arc<SessionFacts> {
    Arc::new(SessionFacts {
        user: "postgres".to_owned(),
        role: messages::role::BOOTSTRAP_OID,
        session_user: "postgres".to_owned(),
        database: "raid".to_owned(),
        version: "PostgreSQL 15.0 (Raid)".to_owned(),
        zone: values::Zone::UTC,
        constants_zone: values::Zone::UTC,
        time_micros: 0,
        settings: [("application_name".to_owned(), "tests".to_owned())].into(),
        ..SessionFacts::default()
    })
}

impl World {
    pub fn new() -> World {
        World::with_processor(Processor::new().expect("a processor"))
    }

    /// With other tables, described as in `tests/tables.txt`.
    pub fn with_tables(text: &str) -> World {
        let world = World::new();
        World { memory: Arc::new(Memory::of(described_in(text))), ..world }
    }

    /// With statements going one way only, or either.
    pub fn with_engine(engine: Engine) -> World {
        World::with_processor(Processor::new().expect("a processor").with_engine(engine))
    }

    pub fn with_processor(processor: Processor) -> World {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        World { processor, memory: Arc::new(Memory::new()), runtime }
    }

    pub fn plan(&self, sql: &str, parameters: &[Option<Type>]) -> Result<Prepared, QueryError> {
        self.processor.plan(&self.memory.catalog, &session(), &Arc::from(sql), parameters)
    }

    pub fn run(&self, planned: &Prepared, parameters: &[Value]) -> Result<Vec<Vec<Value>>, QueryError> {
        let parameters = parameters.to_vec();
        let execution = Execution { parameters, now: NOW, seed: 7, backend_pid: 42, ..Execution::default() };
        let tables: Arc<dyn Tables> = Arc::clone(&self.memory) as Arc<dyn Tables>;
        self.runtime.block_on(async {
            let mut batches = self.processor.execute(planned, &execution, tables).await?;
            let mut rows = Vec::new();
            while let Some(batch) = batches.next().await {
                rows.extend(batch?);
            }
            Ok(rows)
        })
    }

    pub fn explain(&self, planned: &Prepared) -> Result<String, QueryError> {
        self.processor.explain(planned, &Execution::default())
    }

    /// Columns, types and rows, one line each, as `tests/queries` writes them; or the SQLSTATE.
    pub fn answer(&self, sql: &str) -> Vec<String> {
        self.answer_with(sql, &[], &[])
    }

    /// The same of a query with parameters.
    pub fn answer_with(&self, sql: &str, types: &[Option<Type>], parameters: &[Value]) -> Vec<String> {
        let answered = self.plan(sql, types).and_then(|planned| Ok((self.run(&planned, parameters)?, planned)));
        match answered {
            Ok((rows, planned)) => printed(&planned, &rows),
            Err(error) => vec![format!("ERROR {} {}", error.sqlstate, error.message)],
        }
    }
}

fn printed(planned: &Planned, rows: &[Vec<Value>]) -> Vec<String> {
    let names: Vec<&str> = planned.columns.iter().map(|column| column.name.as_str()).collect();
    let types: Vec<String> = planned.columns.iter().map(|column| column.column_type.to_string()).collect();
    let mut lines = vec![names.join("|"), types.join("|")];
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&planned.columns).map(|(value, column)| cell(value, column.column_type)).collect();
        lines.push(cells.join("|"));
    }
    lines
}

pub fn cell(value: &Value, column_type: Type) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut text = Vec::new();
    values::text::write(value, column_type, &mut text);
    String::from_utf8(text).expect("texts are UTF-8")
}
