//! The action programs that simulated clients run, written by hand: no SQL is involved.
//!
//! Three tables with a `bigint` key and a `text` column: *lists*, whose text grows by one entry with every append; *registers*, which are
//! overwritten; *members*, whose rows come and go. And *counters*, whose column is a `bigint` that is added to.

use crate::families::{CHILDREN, LINKED, PARENTS};
use crate::family_programs::FamilyPrograms;
use crate::history::WriteToken;
use messages::database::DatabaseId;
use messages::program::{
    AccessPath, Action, BinaryOperator, ConflictClause, ConflictKey, Expression, ForeignKeyReference, InsertInput,
    OneOf, PrefixBounds, Program, ResultColumn, RowLockStrength, RowLockWait, RowSource, SelectLock, Values,
};
use messages::schema::{CatalogEntry, Column, SequenceSchema, TableSchema};
use messages::settings::Parameter;
use messages::{KeyRange, SiteId, TableId};
use std::sync::Arc;
use values::{Type, Value, numeric};

/// Storage of the lists.
pub const LISTS: TableId = TableId(16);
/// Storage of the registers.
pub const REGISTERS: TableId = TableId(17);
/// Storage of the members.
pub const MEMBERS: TableId = TableId(18);
/// Storage of the counters.
pub const COUNTERS: TableId = TableId(19);
/// Storage of the sequence.
pub const SEQUENCE: TableId = TableId(20);
/// All storages.
pub const STORAGES: [TableId; 9] =
    [LISTS, REGISTERS, MEMBERS, COUNTERS, SEQUENCE, PARENTS, CHILDREN, LINKED[0], LINKED[1]];

/// All programs, compiled once and shared.
#[derive(Debug)]
pub struct Programs {
    /// `SELECT v FROM lists WHERE k = $1`
    pub read_list: Arc<Program>,
    /// `SELECT v FROM lists WHERE k = $1 FOR UPDATE`
    pub read_list_for_update: Arc<Program>,
    /// `SELECT k, v FROM lists WHERE k >= $1 AND k < $3 LIMIT 1 FOR UPDATE SKIP LOCKED`
    pub take_list: Arc<Program>,
    /// `SELECT k, v FROM lists WHERE k IN ($1, $2)`
    pub read_two_lists: Arc<Program>,
    /// `INSERT INTO lists VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = lists.v || excluded.v RETURNING v`
    pub append: Arc<Program>,
    /// The same, and `NOTIFY` of the entry.
    pub append_and_notify: Arc<Program>,
    /// `UPDATE lists SET v = v || $2 WHERE k = $1 RETURNING v`
    pub append_update: Arc<Program>,
    /// Two appends in one program: a procedure whose parameters are bound.
    pub append_two: Arc<Program>,
    /// `SELECT v FROM registers WHERE k = $1`
    pub read_register: Arc<Program>,
    /// `INSERT INTO registers VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v`
    pub write_register: Arc<Program>,
    /// `SELECT k, v FROM members WHERE k >= $1 AND k < $2`
    pub scan_members: Arc<Program>,
    /// The same, backwards.
    pub scan_members_back: Arc<Program>,
    /// `INSERT INTO members VALUES ($1, $2)`
    pub insert_member: Arc<Program>,
    /// `DELETE FROM members WHERE k = $1 RETURNING v`
    pub delete_member: Arc<Program>,
    /// `SELECT v FROM counters WHERE k = $1`
    pub read_counter: Arc<Program>,
    /// `SELECT k, v FROM counters WHERE k >= $1 AND k < $3`
    pub scan_counters: Arc<Program>,
    /// `UPDATE counters SET v = v + $3 WHERE k = $1`
    pub add: Arc<Program>,
    /// `INSERT INTO counters VALUES ($1, $3) ON CONFLICT (k) DO UPDATE SET v = counters.v + excluded.v`
    pub make_counter: Arc<Program>,
    /// `CREATE SEQUENCE IF NOT EXISTS sequence`
    pub make_sequence: Arc<Program>,
    /// `SELECT nextval('sequence')`
    pub draw: Arc<Program>,
    /// Those about parents and children.
    pub families: FamilyPrograms,
}

/// The name of a storage.
pub fn name_of(storage: TableId) -> &'static str {
    match storage {
        LISTS => "lists",
        REGISTERS => "registers",
        MEMBERS => "members",
        COUNTERS => "counters",
        SEQUENCE => "sequence",
        PARENTS => "parents",
        CHILDREN => "children",
        _ => "another",
    }
}

fn table(storage: TableId) -> Arc<TableSchema> {
    let column = |name: &str, column_type, not_null| Column::new(name, column_type, not_null);
    let values = match storage {
        COUNTERS => vec![column("v", NUMBER.1, false), column("w", QUARTERS.1, false)],
        _ => vec![column("v", VALUE.1, false)],
    };
    Arc::new(TableSchema {
        oid: storage.0,
        primary_key: vec![0],
        primary_key_oid: storage.0 + 1_000,
        ..TableSchema::new(name_of(storage), storage, [column("k", KEY.1, true)].into_iter().chain(values).collect())
    })
}

/// The sequence as a table of one row: see [`SequenceSchema`].
fn sequence() -> Arc<TableSchema> {
    let column = |name: &str, column_type| Column::new(name, column_type, true);
    let columns = [("last_value", Type::BigInt), ("log_cnt", Type::BigInt), ("is_called", Type::Boolean)];
    let definition = SequenceSchema {
        data_type: Type::BigInt,
        start: 1,
        increment: 1,
        minimum: 1,
        maximum: i64::MAX,
        cache: 1,
        cycle: false,
        owned_by: None,
        generation: 0,
    };
    let mut table = TableSchema::clone(&table(SEQUENCE));
    table.columns = columns.map(|(name, column_type)| column(name, column_type)).into();
    table.primary_key = vec![1];
    table.sequence = Some(Box::new(definition));
    Arc::new(table)
}

/// The sequence's row, unless it is there.
fn make_sequence() -> Action {
    let row = [Value::BigInt(1), Value::BigInt(0), Value::Boolean(false)];
    Action::Insert {
        table: sequence(),
        values: (0..3).map(Expression::Column).collect(),
        input: InsertInput::Rows(vec![row.map(Expression::Constant).into()]),
        on_conflict: Some(ConflictClause { targets: Vec::new(), update: None, guard: None }),
        returning: Vec::new(),
        private: false,
        guard: None,
    }
}

fn draw() -> Action {
    let output = vec![Expression::NextValue(sequence())];
    Action::Select { source: None, filter: None, output, offset: None, limit: None, lock: None, order: Vec::new() }
}

/// Sets a parameter of all sites or of one, or takes that back.
pub fn setting(parameter: Parameter, site: Option<SiteId>, value: Option<&str>) -> Arc<Program> {
    let row = value.map(|value| CatalogEntry::Setting(value.to_owned()).encode());
    let writes = vec![(CatalogEntry::setting_key(&parameter.name(site)), None, row)];
    Arc::new(Program {
        parameters: Vec::new(),
        actions: vec![Action::Catalog { writes, drops: Vec::new(), makes: Vec::new() }],
        columns: Vec::new(),
        relies_on: Arc::default(),
        read_only: false,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    })
}

fn program(actions: Vec<Action>, columns: &[(&str, Type)], read_only: bool) -> Arc<Program> {
    let column = |(name, column_type): &(&str, Type)| ResultColumn {
        name: (*name).to_owned(),
        column_type: *column_type,
        origin: (0, 0),
    };
    Arc::new(Program {
        parameters: vec![Type::BigInt, Type::Text, Type::BigInt, Type::Text],
        actions,
        columns: columns.iter().map(column).collect(),
        relies_on: Arc::default(),
        read_only,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    })
}

/// A program of one action over tables between which there are foreign keys; it returns so many numbers a row, and if any, it only reads.
pub fn with_references(action: Action, columns: u16, references: Arc<[ForeignKeyReference]>) -> Arc<Program> {
    let columns = vec![KEY; columns.into()];
    let program = program(vec![action], &columns, !columns.is_empty());
    Arc::new(Program { references, ..Program::clone(&program) })
}

/// The row of this table whose key is the first parameter.
pub fn point_at(table: Arc<TableSchema>) -> RowSource {
    RowSource { table, path: AccessPath::Point(vec![Expression::Parameter(0)]), reverse: false }
}

const KEY: (&str, Type) = ("k", Type::BigInt);
const VALUE: (&str, Type) = ("v", Type::Text);
const NUMBER: (&str, Type) = ("v", Type::BigInt);
/// A quarter of the number.
const QUARTERS: (&str, Type) = ("w", Type::Numeric(None));

fn point(storage: TableId) -> RowSource {
    point_at(table(storage))
}

fn select(source: RowSource, output: Vec<Expression>, lock: Option<SelectLock>) -> Action {
    Action::Select { source: Some(source), filter: None, output, offset: None, limit: None, lock, order: Vec::new() }
}

/// `INSERT INTO storage VALUES ($key, $key + 1)`, an existing row updated by `assignment` (over old and excluded row).
fn insert(storage: TableId, key: u16, assignment: Option<Expression>, returning: bool) -> Action {
    Action::Insert {
        table: table(storage),
        values: vec![Expression::Column(0), Expression::Column(1)],
        input: InsertInput::Rows(vec![vec![Expression::Parameter(key), Expression::Parameter(key + 1)]]),
        on_conflict: assignment.map(|assignment| ConflictClause {
            targets: vec![ConflictKey::PrimaryKey],
            update: Some((vec![(1, assignment)], None)),
            guard: None,
        }),
        returning: if returning { vec![Expression::Column(1)] } else { Vec::new() },
        private: false,
        guard: None,
    }
}

fn concat(left: Expression, right: Expression) -> Expression {
    Expression::Binary(BinaryOperator::Concat, Box::new(left), Box::new(right))
}

fn sum(left: Expression, right: Expression) -> Expression {
    Expression::Binary(BinaryOperator::Add, Box::new(left), Box::new(right))
}

/// `$3::numeric * 0.25`
fn quarter() -> Expression {
    let number = Expression::Cast(Box::new(Expression::Parameter(2)), QUARTERS.1, false);
    let quarter = numeric::parse("0.25").expect("a number");
    Expression::Binary(
        BinaryOperator::Multiply,
        Box::new(number),
        Box::new(Expression::Constant(Value::numeric(quarter))),
    )
}

/// What a row of a counter has: the number, if what stands beside it is a quarter of it.
pub fn counted(columns: &[Value]) -> Result<i64, String> {
    let number = columns[0].as_integer().unwrap_or(0);
    let mut quarters = Vec::new();
    values::text::write(&columns[1], QUARTERS.1, &mut quarters);
    let expected = format!("{}.{:02}", number / 4, number % 4 * 25);
    if quarters != expected.as_bytes() {
        return Err(format!("a quarter of {number} is {}, not {expected}", String::from_utf8_lossy(&quarters)));
    }
    Ok(number)
}

/// `INSERT INTO counters VALUES ($1, $3, $3::numeric * 0.25)`, an existing counter added to.
fn make_counter() -> Action {
    let added = |column: u16| (usize::from(column), sum(Expression::Column(column), Expression::Column(column + 3)));
    Action::Insert {
        table: table(COUNTERS),
        values: [0, 1, 2].map(Expression::Column).to_vec(),
        input: InsertInput::Rows(vec![vec![Expression::Parameter(0), Expression::Parameter(2), quarter()]]),
        on_conflict: Some(ConflictClause {
            targets: vec![ConflictKey::PrimaryKey],
            update: Some((vec![added(1), added(2)], None)),
            guard: None,
        }),
        returning: Vec::new(),
        private: false,
        guard: None,
    }
}

fn append(key: u16) -> Action {
    insert(LISTS, key, Some(concat(Expression::Column(1), Expression::Column(3))), true)
}

fn notify() -> Action {
    let channel = Expression::Constant(Value::text(name_of(LISTS)));
    Action::Notify { channel, payload: Expression::Parameter(1), process: 0, database: DatabaseId::FIRST }
}

fn within(storage: TableId, reverse: bool) -> RowSource {
    let bounds = PrefixBounds {
        prefix: Vec::new(),
        low: Some((Expression::Parameter(0), true)),
        high: Some((Expression::Parameter(2), false)),
    };
    RowSource { table: table(storage), path: AccessPath::KeyRange(bounds), reverse }
}

fn take() -> Arc<Program> {
    let select = Action::Select {
        source: Some(within(LISTS, false)),
        filter: None,
        output: vec![Expression::Column(0), Expression::Column(1)],
        offset: None,
        limit: Some(Expression::Constant(Value::BigInt(1))),
        lock: Some(SelectLock { strength: RowLockStrength::Update, wait: RowLockWait::Skip }),
        order: Vec::new(),
    };
    program(vec![select], &[KEY, VALUE], false)
}

fn scan(storage: TableId, reverse: bool) -> Arc<Program> {
    let source = within(storage, reverse);
    let columns: &[(&str, Type)] = if storage == COUNTERS { &[KEY, NUMBER, QUARTERS] } else { &[KEY, VALUE] };
    let output = (0..columns.len()).map(|column| Expression::Column(column as u16)).collect();
    program(vec![select(source, output, None)], columns, true)
}

impl Programs {
    /// Builds them all.
    pub fn new() -> Programs {
        let value = || vec![Expression::Column(1)];
        let counter = [1, 2].map(Expression::Column).to_vec();
        // The other way round, so that it shows if they are not.
        let bind = Action::Bind { arguments: [2, 3, 0, 1].map(Expression::Parameter).to_vec() };
        let read = |storage, lock: Option<SelectLock>| {
            let read_only = lock.is_none();
            program(vec![select(point(storage), value(), lock)], &[VALUE], read_only)
        };
        let values = Values::List(vec![Expression::Parameter(0), Expression::Parameter(2)]);
        let two = AccessPath::OneOf(OneOf { index: None, equal: Vec::new(), place: 0, values });
        let two = RowSource { table: table(LISTS), path: two, reverse: false };
        let update = Action::Update {
            source: point(LISTS),
            filter: None,
            assignments: vec![(1, concat(Expression::Column(1), Expression::Parameter(1)))],
            returning: value(),
            guard: None,
        };
        let add = Action::Update {
            source: point(COUNTERS),
            filter: None,
            assignments: vec![
                (1, sum(Expression::Column(1), Expression::Parameter(2))),
                (2, sum(Expression::Column(2), quarter())),
            ],
            returning: Vec::new(),
            guard: None,
        };
        let delete = Action::Delete { source: point(MEMBERS), filter: None, returning: value(), guard: None };
        let both = vec![Expression::Column(0), Expression::Column(1)];
        Programs {
            read_list: read(LISTS, None),
            read_list_for_update: read(LISTS, Some(SelectLock::waiting(RowLockStrength::Update))),
            take_list: take(),
            read_two_lists: program(vec![select(two, both, None)], &[KEY, VALUE], true),
            append: program(vec![append(0)], &[VALUE], false),
            append_and_notify: program(vec![notify(), append(0)], &[VALUE], false),
            append_update: program(vec![update], &[VALUE], false),
            append_two: program(vec![bind, append(2), append(0)], &[VALUE], false),
            read_register: read(REGISTERS, None),
            write_register: program(vec![insert(REGISTERS, 0, Some(Expression::Column(3)), false)], &[], false),
            scan_members: scan(MEMBERS, false),
            scan_members_back: scan(MEMBERS, true),
            insert_member: program(vec![insert(MEMBERS, 0, None, false)], &[], false),
            delete_member: program(vec![delete], &[VALUE], false),
            read_counter: program(vec![select(point(COUNTERS), counter, None)], &[NUMBER, QUARTERS], true),
            scan_counters: scan(COUNTERS, false),
            add: program(vec![add], &[], false),
            make_counter: program(vec![make_counter()], &[], false),
            make_sequence: program(vec![make_sequence()], &[], false),
            draw: program(vec![draw()], &[("nextval", Type::BigInt)], false),
            families: FamilyPrograms::new(),
        }
    }
}

impl Default for Programs {
    fn default() -> Programs {
        Programs::new()
    }
}

/// The range that holds a whole storage.
pub fn whole(storage: TableId) -> KeyRange {
    KeyRange::whole(storage)
}

/// The entries of a list, from its text.
pub fn entries_of(value: &Value) -> Result<Vec<WriteToken>, String> {
    let text = value.as_text().ok_or_else(|| format!("a list that is no text: {value:?}"))?;
    let body = text.strip_suffix(',').unwrap_or(text);
    let parse = |entry: &str| entry.parse().map_err(|_| format!("a list that nobody wrote: {text:?}"));
    if body.is_empty() { Ok(Vec::new()) } else { body.split(',').map(parse).collect() }
}

/// The write that a register or member holds.
pub fn token_of(value: &Value) -> Result<WriteToken, String> {
    match entries_of(value)?[..] {
        [token] => Ok(token),
        _ => Err(format!("a value that nobody wrote: {value:?}")),
    }
}
