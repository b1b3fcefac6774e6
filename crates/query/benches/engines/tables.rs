//! The tables that are measured, in memory.

use futures::stream::{self, BoxStream, StreamExt};
use messages::schema::{Catalog, Column, IndexSchema, TableSchema, VersionedTable};
use messages::{Key, KeyRange, Row, TableId, Timestamp};
use query::{QueryError, ScanBatch, ScanRequest, Tables};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use values::{Type, Value};

/// Rows of `customer`.
pub const CUSTOMERS: i32 = 2_000;
/// Rows of `orders`; each has three lines.
pub const ORDERS: i32 = 20_000;
/// Rows of `sbtest`.
pub const SBTEST_ROWS: i32 = 20_000;
/// Rows of `few`.
const FEW_ROWS: i32 = 50;

/// All tables.
pub struct LoadedTables {
    /// Their definitions.
    pub catalog: Arc<Catalog>,
    rows: BTreeMap<TableId, BTreeMap<Key, Row>>,
}

impl Tables for LoadedTables {
    fn scan(&self, request: ScanRequest) -> BoxStream<'static, Result<ScanBatch, QueryError>> {
        let mut batches = Vec::new();
        let mut batch = ScanBatch::new();
        let mut left = request.limit.unwrap_or(usize::MAX);
        for range in &request.ranges {
            let stored = self.within(range);
            let found: Box<dyn Iterator<Item = (&Key, &Row)>> =
                if request.reverse { Box::new(stored.rev()) } else { Box::new(stored) };
            for (key, row) in found.take(left) {
                left -= 1;
                batch.push(match request.index {
                    None => (key.clone(), row.clone()),
                    // An entry holds the key of its row.
                    Some(_) => self.row_of(&request.table, row),
                });
                if batch.len() == request.batch_rows {
                    batches.push(Ok(std::mem::take(&mut batch)));
                }
            }
        }
        batches.push(Ok(batch));
        stream::iter(batches).boxed()
    }
}

impl LoadedTables {
    /// Tables with their rows: the same each time.
    pub fn new() -> LoadedTables {
        let mut tables = LoadedTables { catalog: Arc::default(), rows: BTreeMap::new() };
        let mut catalog = Catalog::default();
        let mut add = |table: (TableSchema, Vec<Vec<Value>>)| {
            let (schema, rows) = (Arc::new(table.0), table.1);
            tables.load(&schema, &rows);
            let version = Timestamp { clock: 1, ..Timestamp::ZERO };
            catalog.tables.insert(schema.name.clone(), VersionedTable { table: schema, version });
        };
        add(customer());
        add(orders());
        add(line());
        add(sbtest());
        add(few());
        LoadedTables { catalog: Arc::new(catalog), ..tables }
    }

    fn within(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = (&Key, &Row)> {
        let high = range.high.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        self.rows[&range.table].range((Bound::Included(&range.low), high))
    }

    fn row_of(&self, table: &TableSchema, key: &Row) -> (Key, Row) {
        let (key, row) = self.rows[&table.storage].get_key_value(&Key::new(key)).expect("an entry leads to a row");
        (key.clone(), row.clone())
    }

    fn load(&mut self, schema: &TableSchema, rows: &[Vec<Value>]) {
        let encoded = |columns: &[usize], row: &[Value]| {
            let mut bytes = Vec::new();
            columns.iter().for_each(|position| values::key::append(&row[*position], &mut bytes));
            bytes
        };
        for row in rows {
            let key = encoded(&schema.primary_key, row);
            let mut bytes = Vec::new();
            values::row::encode_row(row, &mut bytes);
            self.rows.entry(schema.storage).or_default().insert(Key::new(&key), Row::from(bytes));
            for index in &schema.indexes {
                let mut entry = encoded(&index.leading_columns(), row);
                entry.extend_from_slice(&key);
                self.rows.entry(index.storage).or_default().insert(Key::new(&entry), Row::from(key.clone()));
            }
        }
    }
}

fn schema(name: &str, oid: u32, columns: &[(&str, Type)], key: &[usize]) -> TableSchema {
    let columns = columns.iter().map(|(name, known)| Column::new(*name, *known, false)).collect();
    TableSchema { oid, primary_key: key.to_vec(), ..TableSchema::new(name, TableId(oid), columns) }
}

fn indexed(mut table: TableSchema, column: usize) -> TableSchema {
    let oid = table.oid + 1;
    let storage = TableId(oid);
    let name = format!("{}_index", table.name);
    let index = IndexSchema::new(name, oid, storage, &[column], false);
    table.indexes.push(index);
    table
}

/// Spreads numbers.
fn mixed(number: i32) -> i32 {
    number.wrapping_mul(0x9E37_79B1_u32.cast_signed()).rotate_left(13) & 0x7fff_ffff
}

fn numeric(hundredths: i32) -> Value {
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    values::text::parse(&text, "numeric(12,2)".parse().expect("a type")).expect("a number")
}

fn customer() -> (TableSchema, Vec<Vec<Value>>) {
    let columns = [("id", Type::Integer), ("region", Type::Integer), ("name", Type::Text)];
    let row = |id: i32| vec![Value::Integer(id), Value::Integer(mixed(id) % 10), Value::text(format!("customer {id}"))];
    (schema("customer", 20_000, &columns, &[0]), (0..CUSTOMERS).map(row).collect())
}

fn orders() -> (TableSchema, Vec<Vec<Value>>) {
    let columns = [
        ("id", Type::Integer),
        ("customer", Type::Integer),
        ("total", "numeric(12,2)".parse().expect("a type")),
        ("at", Type::Date),
    ];
    let row = |id: i32| {
        let (customer, at) = (mixed(id) % CUSTOMERS, Value::Date(8_766 + mixed(id + 1) % 366));
        vec![Value::Integer(id), Value::Integer(customer), numeric(mixed(id + 2) % 100_000), at]
    };
    (indexed(schema("orders", 20_100, &columns, &[0]), 1), (0..ORDERS).map(row).collect())
}

fn line() -> (TableSchema, Vec<Vec<Value>>) {
    let columns = [
        ("order_id", Type::Integer),
        ("n", Type::Integer),
        ("item", Type::Integer),
        ("amount", "numeric(12,2)".parse().expect("a type")),
    ];
    let row = |number: i32| {
        let (item, amount) = (Value::Integer(mixed(number) % 100), numeric(mixed(number + 3) % 10_000));
        vec![Value::Integer(number / 3), Value::Integer(number % 3), item, amount]
    };
    (schema("line", 20_200, &columns, &[0, 1]), (0..3 * ORDERS).map(row).collect())
}

fn sbtest() -> (TableSchema, Vec<Vec<Value>>) {
    let columns = [
        ("id", Type::Integer),
        ("k", Type::Integer),
        ("c", "char(120)".parse().expect("a type")),
        ("pad", "char(60)".parse().expect("a type")),
    ];
    let digits = |seed: i32, groups: i32| -> Value {
        let groups: Vec<String> = (0..groups).map(|group| format!("{:011}", mixed(seed + group * 31))).collect();
        Value::text(groups.join("-"))
    };
    let row =
        |id: i32| vec![Value::Integer(id), Value::Integer(mixed(id) % SBTEST_ROWS), digits(id, 10), digits(id, 5)];
    (indexed(schema("sbtest", 20_300, &columns, &[0]), 1), (0..SBTEST_ROWS).map(row).collect())
}

fn few() -> (TableSchema, Vec<Vec<Value>>) {
    let columns = [("id", Type::Integer), ("v", Type::Integer), ("name", Type::Text)];
    let row = |id: i32| vec![Value::Integer(id), Value::Integer(mixed(id) % 200), Value::text(format!("name {id}"))];
    (schema("few", 20_400, &columns, &[0]), (0..FEW_ROWS).map(row).collect())
}
