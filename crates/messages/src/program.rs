//! Action programs: the procedural intermediate language that statements, and whole transactions, compile to.
//!
//! A program is a list of actions over rows. Columns, parameters and operators are resolved to positions and types when it
//! is compiled; a program is cached, shared and run many times. `EXPLAIN` prints it ([`Program`]'s `Display`).
//! What a program cannot express (joins, aggregates, sorting) goes to the `query` crate.

use crate::Row;
use crate::database_id::DatabaseId;
use crate::key::Key;
use crate::schema::{CatalogVersions, DomainRules, TableSchema};
use crate::timestamp::Timestamp;
use identifiers::TableId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::{Type, Value};

/// A compiled statement or transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Types of the parameters `$1..`.
    pub parameters: Vec<Type>,
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// The columns of the rows returned (of the last action that returns rows).
    pub columns: Vec<ResultColumn>,
    /// Catalog rows that the compilation relied on, with the version seen: they join the transaction's read set. A table
    /// that this very transaction changed is not listed. Zero: there is no such row.
    pub relies_on: CatalogVersions,
    /// Whether no action writes or locks.
    pub read_only: bool,
    /// The foreign keys of tables that it changes, and of those that are changed with them.
    pub references: Arc<[ForeignKeyReference]>,
    /// The database in whose catalog rows the keys of such rows have their place; see [`Program::placed`].
    pub database: DatabaseId,
}

impl Action {
    /// NOTIFY in whichever database its program is of.
    pub fn notify(channel: Expression, payload: Expression, process: i32) -> Action {
        Action::Notify { channel, payload, process, database: DatabaseId::FIRST }
    }
}

impl Program {
    /// The same with each key of a catalog row where the rows of this database are, heard by its sessions.
    pub fn placed(&self, database: DatabaseId) -> Program {
        let mut placed = Program { database, ..self.clone() };
        placed.relies_on = database.placed_rows(&self.relies_on);
        for action in &mut placed.actions {
            match action {
                Action::Catalog { writes, .. } => writes.iter_mut().for_each(|(key, ..)| *key = database.placed(key)),
                Action::Notify { database: heard_in, .. } => *heard_in = database,
                _ => {}
            }
        }
        placed
    }
}

/// A foreign key with its two tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForeignKeyReference {
    /// The table whose rows refer to others.
    pub child: Arc<TableSchema>,
    /// Which of its foreign keys.
    pub foreign_key: usize,
    /// The table that they refer to.
    pub parent: Arc<TableSchema>,
}

/// A column of a result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResultColumn {
    /// As the client sees it.
    pub name: String,
    /// Its type.
    pub column_type: Type,
    /// Object identifier of its table and its number there (from 1), or zeros.
    pub origin: (u32, i16),
}

/// One action.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Action {
    /// From here on the parameters are the values of these expressions over those that came: a procedure is called. The first action only.
    Bind {
        /// One for each parameter of the procedure, of its type; without columns.
        arguments: Vec<Expression>,
    },
    /// Reads rows, keeps those that pass `filter`, returns `output` of each.
    Select {
        /// Where from; `None`: one row without columns (`SELECT 1`).
        source: Option<RowSource>,
        /// Keep a row when this is true.
        filter: Option<Expression>,
        /// What to return of a row.
        output: Vec<Expression>,
        /// Skip so many rows.
        offset: Option<Expression>,
        /// Return at most so many rows.
        limit: Option<Expression>,
        /// Lock the rows as for an update (`FOR UPDATE`), or share them (`FOR SHARE`).
        lock: Option<SelectLock>,
        /// Find all rows first, and go on in this order; none: as they are found. Rows are locked, skipped and counted in it. Errors: 54000.
        order: Vec<RowSortKey>,
    },
    /// Selects rows of one column and keeps what they have for the actions behind it ([`Expression::Gathered`]): `id = (SELECT ... FOR UPDATE)`.
    /// Errors: 21000 for a second row where one value is wanted.
    Gather {
        /// The selection.
        selection: Box<Action>,
        /// Which of the values that are kept.
        place: u16,
        /// Keep an array of all values, which have this type; `None`: the only value, NULL if there is none.
        array: Option<Type>,
    },
    /// Locks a table: all of it counts as read, and nobody else of the site writes it, or (`Update`) reads it for anything but a snapshot. `None`: nothing
    /// but the program's reliance. Errors: 55P03.
    LockTable {
        /// Which.
        table: Arc<TableSchema>,
        /// How.
        lock: Option<SelectLock>,
    },
    /// Inserts rows.
    Insert {
        /// Into which table.
        table: Arc<TableSchema>,
        /// One expression for each column of the table, defaults filled in, already cast for assignment; evaluated
        /// for each input row, whose values are the expression's columns.
        values: Vec<Expression>,
        /// Where the input rows come from.
        input: InsertInput,
        /// What to do when a unique key exists already; `None`: error 23505.
        on_conflict: Option<ConflictClause>,
        /// What to return of each inserted row (columns: the table's).
        returning: Vec<Expression>,
        /// The table's storage was made by this very transaction, so nobody else can see it: rows may be committed ahead
        /// in chunks, and only the catalog row makes them visible.
        private: bool,
        /// What new rows have to satisfy.
        guard: Option<Arc<RowGuard>>,
    },
    /// Updates the rows of the source that pass the filter.
    Update {
        /// Which rows.
        source: RowSource,
        /// Keep a row when this is true.
        filter: Option<Expression>,
        /// Column position and its new value, cast for assignment; columns refer to the old row.
        assignments: Vec<(usize, Expression)>,
        /// What to return of each new row.
        returning: Vec<Expression>,
        /// What rows have to satisfy before and behind.
        guard: Option<Arc<RowGuard>>,
    },
    /// Deletes the rows of the source that pass the filter.
    Delete {
        /// Which rows.
        source: RowSource,
        /// Keep a row when this is true.
        filter: Option<Expression>,
        /// What to return of each old row.
        returning: Vec<Expression>,
        /// What rows have to satisfy.
        guard: Option<Arc<RowGuard>>,
    },
    /// Writes catalog rows (schema changes): each with the version that must still stand, and the new row.
    Catalog {
        /// Key, the version seen ([`Timestamp::ZERO`] for a new name; `None` when this transaction wrote it), new row.
        writes: Vec<(Key, Option<Timestamp>, Option<Row>)>,
        /// Storages that become unreachable.
        drops: Vec<TableId>,
        /// Storages that this transaction makes: private to it until it commits.
        makes: Vec<TableId>,
    },
    /// Copies every row of a table into another storage layout: a primary key comes or goes, an index is made, a column gets another
    /// type or refuses NULL. `to` has the same columns, values are cast to their types; its storage, or the storage of the index
    /// named, is private to this transaction.
    /// Errors: 23505 for a duplicate key, 23502 for NULL in a column that refuses it, those of casts.
    Rebuild {
        /// Read from.
        from: Arc<TableSchema>,
        /// Write into.
        to: Arc<TableSchema>,
        /// `None`: the table and all its indexes; else only the index at this position of `to.indexes`.
        index: Option<usize>,
        /// Columns of `to` that are computed for each row, over its columns in `from`: a new column's default, or a changed one's USING.
        fill: Vec<(usize, Expression)>,
    },
    /// Has every row of a table checked against the program's references. Errors: 23503.
    CheckReferences {
        /// The table.
        table: Arc<TableSchema>,
    },
    /// Has every row of a table looked at whose columns have a domain that has become stricter. Errors: 23502, 23514, and those of the condition.
    CheckDomain {
        /// The table.
        table: Arc<TableSchema>,
        /// Positions of the columns.
        columns: Vec<usize>,
        /// What their values have to satisfy, each of them the only column; `None`: they are not NULL.
        condition: Option<Expression>,
    },
    /// `SET CONSTRAINTS ALL`: from now on what may be put off is checked with each statement, or when the transaction commits. What was put off is
    /// checked now, unless it goes on being. Errors: 23503.
    Defer(bool),
    /// Sets a sequence whose catalog row the same program writes. Errors: 22003 and 22023 for a value out of its bounds.
    SetSequence {
        /// As it will be.
        sequence: Arc<TableSchema>,
        /// Where it goes on.
        value: SequenceValue,
    },
    /// NOTIFY: once the transaction has committed, who listens is told. What the transaction says already is said once. Errors: 22023 for a name or a
    /// payload that is too long, or no name; 0A000 in a read-only transaction.
    Notify {
        /// The channel, a text; NULL is no name.
        channel: Expression,
        /// The payload, a text; NULL is an empty one.
        payload: Expression,
        /// The process id of the session.
        process: i32,
        /// The database whose sessions hear it.
        database: DatabaseId,
    },
    /// The begin or the end of a statement of several programs, with queries between them.
    Statement(StatementEdge),
}

/// An edge of a statement of several programs (WITH queries that change rows, MERGE).
///
/// From its begin to its end queries see what there was at its begin, no row is changed twice, and what foreign keys say waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatementEdge {
    /// It begins.
    Begin,
    /// It ends: foreign keys are looked at. Errors: 23503.
    End,
}

impl Action {
    /// One row of these values, without a table.
    pub fn row_of(output: Vec<Expression>) -> Action {
        let (source, filter, offset, limit, lock) = (None, None, None, None, None);
        Action::Select { source, filter, output, offset, limit, lock, order: Vec::new() }
    }
}

/// Where a sequence goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SequenceValue {
    /// It is new.
    First,
    /// Where it stands.
    Kept,
    /// With this value (`RESTART`).
    Next(i64),
    /// `setval`. The value is returned.
    Set {
        /// Its last value, a bigint.
        value: Expression,
        /// Whether that has been given out.
        is_called: Expression,
        /// Once for each supplied row, over whose columns both are; else once.
        supplied: bool,
    },
}

/// Where inserted rows come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum InsertInput {
    /// One row for each list; the values are evaluated over no columns, then become the columns of `values`.
    Rows(Vec<Vec<Expression>>),
    /// Rows that come with the execution (COPY, INSERT ... SELECT): `Execute::rows`.
    Supplied,
}

/// `ON CONFLICT`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConflictClause {
    /// The unique keys it speaks of, the primary key and indexes; none: any.
    pub targets: Vec<ConflictKey>,
    /// `None`: DO NOTHING. Else DO UPDATE.
    pub update: Option<ConflictAssignments>,
    /// What rows have to satisfy that DO UPDATE changes.
    pub guard: Option<Arc<RowGuard>>,
}

/// What row-level security and views ask of the rows that an action changes. Where policies ask something, errors show no values of rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RowGuard {
    /// Of rows as they were, over their columns.
    pub old: Vec<RowGuardCondition>,
    /// Of rows as they will be, over their columns.
    pub new: Vec<RowGuardCondition>,
    /// What views ask of rows that are written through them, once the table has nothing to say against the rows. The message is that of a check option (44000).
    pub of_views: Vec<RowGuardCondition>,
}

impl RowGuard {
    /// Whether policies ask something: errors then show no values.
    pub fn hides_values(&self) -> bool {
        !self.old.is_empty() || !self.new.is_empty()
    }
}

/// A condition that is to be true.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowGuardCondition {
    /// The condition.
    pub condition: Expression,
    /// What the client is told if it is not (42501, or 44000 of a view).
    pub message: Arc<str>,
}

/// `DO UPDATE SET assignments WHERE filter`, over the columns of the old row, followed by those of the row that was to be
/// inserted (`excluded`).
pub type ConflictAssignments = (Vec<(usize, Expression)>, Option<Expression>);

/// A unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConflictKey {
    /// The primary key.
    PrimaryKey,
    /// The index at this position of the table's indexes.
    Index(usize),
}

/// A key to sort by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowSortKey {
    /// Over the row that is read.
    pub expression: Expression,
    /// Greatest first.
    pub descending: bool,
    /// NULL before all values.
    pub nulls_first: bool,
}

/// How rows that are read are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectLock {
    /// For what.
    pub strength: RowLockStrength,
    /// What is done about a row that another transaction has locked.
    pub wait: RowLockWait,
}

impl SelectLock {
    /// Whoever has a row is waited for.
    pub fn waiting(strength: RowLockStrength) -> SelectLock {
        SelectLock { strength, wait: RowLockWait::Wait }
    }
}

/// What is done about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowLockWait {
    /// It is waited for.
    Wait,
    /// Error 55P03 (`NOWAIT`).
    Error,
    /// It is left out (`SKIP LOCKED`). Rows are locked one by one. Which others there are, or are left out, is no part of what the
    /// transaction has read.
    Skip,
}

/// `FOR UPDATE`, `FOR SHARE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowLockStrength {
    /// Nobody else may read it for update or write it.
    Update,
    /// Nobody may write it.
    Share,
}

/// Which rows of a table, found how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowSource {
    /// The table. Rows have its columns; for a table with a hidden key, that key stands behind the last column.
    pub table: Arc<TableSchema>,
    /// How the rows are found.
    pub path: AccessPath,
    /// Backwards in key order.
    pub reverse: bool,
}

/// How rows are found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AccessPath {
    /// By the whole key: one expression for each key column, of that column's type. A NULL finds nothing.
    Point(Vec<Expression>),
    /// By any of the values of one leading column of a key (`IN`, `= ANY`).
    OneOf(OneOf),
    /// By a range of the primary key.
    KeyRange(PrefixBounds),
    /// By a range of an index (position in the table's indexes).
    IndexRange(usize, PrefixBounds),
    /// Supplied with the execution: encoded primary keys, as `Execute::rows`' only column of type bytea (UPDATE ... FROM and
    /// DELETE ... USING find their keys by a query first; further supplied columns follow the row's columns).
    Supplied,
}

/// Values of leading columns of a key, one of which may have any of several: each row at most once. A NULL finds nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneOf {
    /// Of an index (position in the table's indexes); `None`: of the primary key.
    pub index: Option<usize>,
    /// Values of the other leading columns, in their order.
    pub equal: Vec<Expression>,
    /// Where among the leading columns that one is.
    pub place: usize,
    /// Its values.
    pub values: Values,
}

/// Several values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Values {
    /// Of one expression each.
    List(Vec<Expression>),
    /// The elements of this array.
    Array(Expression),
}

/// Bounds over leading columns of a key: equal to all of `prefix`, and the next column between `low` and `high`. No prefix and no
/// bounds: everything. A NULL bound finds nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PrefixBounds {
    /// Values of the leading columns.
    pub prefix: Vec<Expression>,
    /// Lower bound of the next column, and whether it is included.
    pub low: Option<(Expression, bool)>,
    /// Upper bound of the next column, and whether it is included.
    pub high: Option<(Expression, bool)>,
}

/// An expression over one row and the parameters. Types are resolved: operands have been cast where SQL casts implicitly.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Expression {
    /// A constant.
    Constant(Value),
    /// `$n`, counted from 0; its value already has the declared type.
    Parameter(u16),
    /// A column of the row at hand, counted from 0.
    Column(u16),
    /// `now()` and `current_timestamp`: when the transaction began.
    TransactionTime,
    /// NOT, unary minus.
    Unary(UnaryOperator, Box<Expression>),
    /// Arithmetic, comparison, text.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// AND and OR with SQL's three values, and no evaluation beyond need.
    And(Vec<Expression>),
    /// See [`Expression::And`].
    Or(Vec<Expression>),
    /// IS NULL; negated: IS NOT NULL.
    IsNull(Box<Expression>, bool),
    /// IS DISTINCT FROM and IS NOT DISTINCT FROM; the flag is set for NOT.
    IsDistinct(Box<Expression>, Box<Expression>, bool),
    /// `operand IN (list)`; the flag negates.
    In(Box<Expression>, Vec<Expression>, bool),
    /// `operand op ANY (array)`. ALL is what is not so for any element.
    Any(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `ARRAY[...]`: the elements, cast to this type, which is no array's.
    Array(Type, Vec<Expression>),
    /// LIKE and ILIKE: operand, pattern, case-insensitive, negated.
    Like(Box<Expression>, Box<Expression>, bool, bool),
    /// CASE WHEN ... THEN ... ELSE (a simple CASE is compiled to comparisons).
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// The first that is not NULL.
    Coalesce(Vec<Expression>),
    /// A cast; the flag is set for an explicit one, which truncates where an assignment is an error.
    Cast(Box<Expression>, Type, bool),
    /// A value as one of a domain over its type. Errors: 23502, 23514.
    Domain(Box<Expression>, Arc<DomainRules>),
    /// A scalar function of `values::functions`, by name.
    Call(Arc<str>, Vec<Expression>),
    /// `nextval`: the next value of this sequence. Only in inserted rows, assignments and selections without a source.
    NextValue(Arc<TableSchema>),
    /// `currval`: the value that the session was given last of the sequence with this object identifier and name.
    CurrentValue(u32, Arc<str>),
    /// `lastval`: the value that the session was given last of any sequence.
    LastValue,
    /// What [`Action::Gather`] has kept in this place, and its type. In programs only, never in the catalog.
    Gathered(u16, Type),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnaryOperator {
    /// Boolean negation.
    Not,
    /// Arithmetic negation.
    Minus,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `^`
    Power,
    /// `||`
    Concat,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}
