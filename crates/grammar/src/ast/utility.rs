//! Statements that neither change rows nor the schema.

use super::{
    At, Expression, ExpressionId, Name, OperatorName, QualifiedName, QueryId, RelationName, StatementId, TypeName,
};

/// BEGIN, COMMIT and their like.
#[derive(Clone, Debug, PartialEq)]
pub enum Transaction {
    /// BEGIN, START TRANSACTION.
    Begin {
        /// How it is run.
        modes: Vec<TransactionMode>,
        /// Whether it said START.
        start: bool,
    },
    /// COMMIT, END; AND CHAIN.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// ROLLBACK, ABORT; AND CHAIN.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// SAVEPOINT.
    Savepoint(Name),
    /// RELEASE.
    Release(Name),
    /// ROLLBACK TO.
    RollbackTo(Name),
    /// PREPARE TRANSACTION.
    Prepare(String),
    /// COMMIT PREPARED.
    CommitPrepared(String),
    /// ROLLBACK PREPARED.
    RollbackPrepared(String),
}

/// How a transaction is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionMode {
    /// ISOLATION LEVEL.
    Isolation(IsolationLevel),
    /// READ ONLY, or READ WRITE.
    ReadOnly(bool),
    /// DEFERRABLE, or NOT.
    Deferrable(bool),
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// PREPARE.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    /// Its name.
    pub name: Name,
    /// Types of its parameters, as far as they are named.
    pub types: Vec<TypeName>,
    /// What is prepared.
    pub statement: StatementId,
}

/// EXECUTE.
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// Which.
    pub name: Name,
    /// Values of its parameters.
    pub arguments: Vec<ExpressionId>,
}

/// DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name.
    pub name: Name,
    /// BINARY.
    pub binary: bool,
    /// SCROLL, or NO SCROLL; both are an error of the analysis.
    pub scroll: bool,
    /// NO SCROLL.
    pub no_scroll: bool,
    /// INSENSITIVE.
    pub insensitive: bool,
    /// ASENSITIVE.
    pub asensitive: bool,
    /// WITH HOLD.
    pub hold: bool,
    /// Its rows.
    pub query: QueryId,
}

/// FETCH, or MOVE.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// MOVE: no rows are returned.
    pub moves: bool,
    /// From which cursor.
    pub cursor: Name,
    /// In which direction.
    pub direction: FetchDirection,
    /// How many, or which one; none is ALL.
    pub count: Option<i32>,
}

/// Where FETCH goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// That many rows on.
    Forward,
    /// That many rows back.
    Backward,
    /// To the row of that number, from the end if it is negative.
    Absolute,
    /// To the row that many rows on.
    Relative,
}

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// What is copied.
    pub what: CopyWhat,
    /// FROM, else TO.
    pub from: bool,
    /// Whether `file` is a program.
    pub program: bool,
    /// A file of the server; none is the client.
    pub file: Option<String>,
    /// Options; old spellings have become new ones.
    pub options: Vec<DefinitionOption>,
    /// WHERE.
    pub filter: Option<ExpressionId>,
}

/// What COPY copies.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyWhat {
    /// A table.
    Table {
        /// Which.
        name: RelationName,
        /// Its columns, if they are named.
        columns: Vec<Name>,
    },
    /// A query's rows, or those that a change returns.
    Query(StatementId),
}

/// An option of a list in parentheses, and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionOption {
    /// `toast` of `toast.a = 1`.
    pub space: Option<Name>,
    /// Its name.
    pub name: Name,
    /// Its value, if one is given.
    pub value: Option<OptionValue>,
}

/// What an option is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A word, such as `on` or `true`.
    Word(String),
    /// A string.
    String(String),
    /// A number with its sign.
    Number(String),
    /// A type, which may be a word that the option knows.
    Type(Box<TypeName>),
    /// An operator.
    Operator(OperatorName),
    /// `*`.
    Star,
    /// `(a, b)`.
    List(Vec<String>),
    /// A name with what it lies in.
    Name(QualifiedName),
}

/// EXPLAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// ANALYZE, FORMAT and the like.
    pub options: Vec<DefinitionOption>,
    /// What is explained.
    pub statement: StatementId,
}

/// SET, or RESET.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// LOCAL: until the transaction's end.
    pub local: bool,
    /// What.
    pub setting: Setting,
}

/// What SET and RESET do.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// To a value. SET TIME ZONE and the like have become settings with names.
    To {
        /// Which.
        name: Name,
        /// Its value, or several.
        values: Vec<SetValue>,
    },
    /// To its default: SET .. TO DEFAULT, RESET.
    Default(Name),
    /// FROM CURRENT, of functions.
    Current(Name),
    /// RESET ALL.
    AllDefault,
    /// SET TRANSACTION.
    Transaction(Vec<TransactionMode>),
    /// SET SESSION CHARACTERISTICS.
    SessionCharacteristics(Vec<TransactionMode>),
    /// SET TRANSACTION SNAPSHOT.
    Snapshot(String),
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// A word, such as `on`.
    Word(String),
    /// A string.
    String(String),
    /// A number with its sign.
    Number(String),
    /// An interval, of TIME ZONE.
    Interval(ExpressionId),
}

/// SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    /// A setting.
    Setting(Name),
    /// ALL.
    All,
}

/// SET CONSTRAINTS.
#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraints {
    /// Which; none is ALL.
    pub names: Vec<RelationName>,
    /// DEFERRED, else IMMEDIATE.
    pub deferred: bool,
}

/// DISCARD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Discard {
    All,
    Temporary,
    Plans,
    Sequences,
}

/// CALL.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// An [`Expression`] that is a call.
    pub call: ExpressionId,
}

/// LOCK.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    /// Which tables.
    pub tables: Vec<RelationName>,
    /// The mode in capitals, ACCESS EXCLUSIVE if none is named.
    pub mode: String,
    /// NOWAIT.
    pub fail: bool,
}

/// NOTIFY.
#[derive(Clone, Debug, PartialEq)]
pub struct Notify {
    /// The channel.
    pub channel: Name,
    /// What is told.
    pub payload: Option<String>,
}

/// VACUUM, or ANALYZE.
#[derive(Clone, Debug, PartialEq)]
pub struct Vacuum {
    /// VACUUM, else ANALYZE.
    pub vacuum: bool,
    /// Options; VACUUM's old spellings have become new ones.
    pub options: Vec<DefinitionOption>,
    /// Which tables, with columns; all if none is named.
    pub tables: Vec<(RelationName, Vec<Name>)>,
}

/// CLUSTER.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Options.
    pub options: Vec<DefinitionOption>,
    /// Which table; all if none is named.
    pub table: Option<RelationName>,
    /// By which index.
    pub index: Option<Name>,
}

/// REINDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct Reindex {
    /// INDEX, TABLE, SCHEMA, SYSTEM or DATABASE.
    pub kind: &'static str,
    /// Options.
    pub options: Vec<DefinitionOption>,
    /// Which; of a schema or database its name alone.
    pub name: RelationName,
    /// Where the statement begins.
    pub at: At,
}

impl Call {
    /// The call itself.
    pub fn expression<'a>(&self, arena: &'a super::Arena) -> &'a Expression {
        &arena[self.call]
    }
}
