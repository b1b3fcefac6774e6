//! Statements that make objects.

use super::{
    At, DefinitionOption, Execute, ExpressionId, IndexElement, IntoTable, Name, OperatorName, Persistence,
    QualifiedName, QueryId, RelationName, Setting, StatementId, TypeName,
};

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: RelationName,
    /// Whether it lasts.
    pub persistence: Persistence,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Columns, constraints, LIKE, in their order.
    pub elements: Vec<TableElement>,
    /// OF: the type whose columns it has.
    pub of_type: Option<QualifiedName>,
    /// PARTITION OF, and FOR VALUES.
    pub partition_of: Option<(RelationName, PartitionBound)>,
    /// INHERITS.
    pub inherits: Vec<RelationName>,
    /// PARTITION BY.
    pub partition_by: Option<PartitionBy>,
    /// USING.
    pub access_method: Option<Name>,
    /// WITH.
    pub options: Vec<DefinitionOption>,
    /// ON COMMIT.
    pub on_commit: Option<OnCommit>,
    /// TABLESPACE.
    pub tablespace: Option<Name>,
}

/// What stands in CREATE TABLE's parentheses.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most are columns")]
pub enum TableElement {
    /// A column.
    Column(ColumnDefinition),
    /// A constraint.
    Constraint(Constraint),
    /// LIKE.
    Like(RelationName, Vec<LikeOption>),
}

/// INCLUDING or EXCLUDING of LIKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikeOption {
    /// INCLUDING.
    pub including: bool,
    /// What, in small letters.
    pub what: String,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Name,
    /// Its type; none where a type or a parent has it.
    pub of: Option<TypeName>,
    /// COLLATE.
    pub collation: Option<QualifiedName>,
    /// COMPRESSION.
    pub compression: Option<Name>,
    /// OPTIONS, of foreign tables.
    pub has_options: bool,
    /// Its constraints.
    pub constraints: Vec<Constraint>,
}

/// A constraint of a column, a table or a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// CONSTRAINT.
    pub name: Option<Name>,
    /// What it is.
    pub node: ConstraintNode,
    /// Of a table's: DEFERRABLE and the like. A column's stand behind it as constraints of their own.
    pub attributes: ConstraintAttributes,
    /// Where it begins.
    pub at: At,
}

/// Of a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstraintAttributes {
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// NOT VALID.
    pub not_valid: bool,
    /// NO INHERIT.
    pub no_inherit: bool,
}

/// What a constraint is.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintNode {
    /// NOT NULL.
    NotNull,
    /// NULL.
    Null,
    /// DEFAULT.
    Default(ExpressionId),
    /// CHECK.
    Check(ExpressionId),
    /// UNIQUE.
    Unique(KeyConstraint),
    /// PRIMARY KEY.
    PrimaryKey(KeyConstraint),
    /// REFERENCES, FOREIGN KEY.
    Foreign(Box<ForeignKey>),
    /// EXCLUDE.
    Exclusion(Box<Exclusion>),
    /// GENERATED AS (..) STORED.
    Generated(ExpressionId),
    /// GENERATED AS IDENTITY.
    Identity {
        /// ALWAYS, else BY DEFAULT.
        always: bool,
        /// Options of its sequence.
        options: Vec<SequenceOption>,
    },
    /// DEFERRABLE or NOT, of the column's constraint before it.
    Deferrable(bool),
    /// INITIALLY DEFERRED, or IMMEDIATE.
    InitiallyDeferred(bool),
}

/// UNIQUE or PRIMARY KEY.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyConstraint {
    /// The key's columns; none of a column's constraint and with USING INDEX.
    pub columns: Vec<Name>,
    /// INCLUDE.
    pub including: Vec<Name>,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// WITH.
    pub options: Vec<DefinitionOption>,
    /// USING INDEX TABLESPACE.
    pub tablespace: Option<Name>,
    /// USING INDEX.
    pub index: Option<Name>,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Its columns; none of a column's constraint.
    pub columns: Vec<Name>,
    /// What it refers to.
    pub table: RelationName,
    /// Columns that it refers to; the primary key if none is named.
    pub referenced: Vec<Name>,
    /// MATCH FULL, else SIMPLE.
    pub full: bool,
    /// ON DELETE.
    pub on_delete: KeyAction,
    /// ON UPDATE.
    pub on_update: KeyAction,
}

/// What a foreign key does when what it refers to changes.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum KeyAction {
    #[default]
    NoAction,
    Restrict,
    Cascade,
    /// Of these columns, of all if none is named.
    SetNull(Vec<Name>),
    /// Of these columns, of all if none is named.
    SetDefault(Vec<Name>),
}

/// EXCLUDE.
#[derive(Clone, Debug, PartialEq)]
pub struct Exclusion {
    /// USING.
    pub method: Option<Name>,
    /// Elements with their operators.
    pub elements: Vec<(IndexElement, OperatorName)>,
    /// INCLUDE.
    pub including: Vec<Name>,
    /// WITH.
    pub options: Vec<DefinitionOption>,
    /// USING INDEX TABLESPACE.
    pub tablespace: Option<Name>,
    /// WHERE.
    pub filter: Option<ExpressionId>,
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    /// LIST, RANGE or HASH, in the case in which it is written.
    pub strategy: Name,
    /// By what.
    pub elements: Vec<IndexElement>,
    /// Where it begins.
    pub at: At,
}

/// FOR VALUES.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    /// DEFAULT.
    Default,
    /// WITH (MODULUS, REMAINDER).
    Hash {
        /// MODULUS.
        modulus: i32,
        /// REMAINDER.
        remainder: i32,
    },
    /// IN.
    List(Vec<ExpressionId>),
    /// FROM and TO.
    Range(Vec<ExpressionId>, Vec<ExpressionId>),
}

/// ON COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum OnCommit {
    Drop,
    DeleteRows,
    PreserveRows,
}

/// CREATE TABLE AS, CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    /// Its name, and whether it lasts.
    pub table: IntoTable,
    /// A materialized view.
    pub materialized_view: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// USING.
    pub access_method: Option<Name>,
    /// WITH.
    pub options: Vec<DefinitionOption>,
    /// ON COMMIT.
    pub on_commit: Option<OnCommit>,
    /// TABLESPACE.
    pub tablespace: Option<Name>,
    /// Its rows.
    pub source: TableSource,
    /// Without WITH NO DATA.
    pub with_data: bool,
}

/// Where a new table's rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum TableSource {
    /// A query.
    Query(QueryId),
    /// EXECUTE.
    Execute(Execute),
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// UNIQUE.
    pub unique: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: Option<Name>,
    /// On which table.
    pub table: RelationName,
    /// USING.
    pub method: Option<Name>,
    /// On what.
    pub elements: Vec<IndexElement>,
    /// INCLUDE.
    pub including: Vec<IndexElement>,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// WITH.
    pub options: Vec<DefinitionOption>,
    /// TABLESPACE.
    pub tablespace: Option<Name>,
    /// WHERE.
    pub filter: Option<ExpressionId>,
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// Its name.
    pub name: RelationName,
    /// OR REPLACE.
    pub replace: bool,
    /// RECURSIVE: the query knows itself under the view's name.
    pub recursive: bool,
    /// Whether it lasts.
    pub persistence: Persistence,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// WITH.
    pub options: Vec<DefinitionOption>,
    /// What it shows.
    pub query: QueryId,
    /// WITH CHECK OPTION.
    pub check: Option<CheckOption>,
}

/// WITH CHECK OPTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum CheckOption {
    Local,
    Cascaded,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// Its name.
    pub name: RelationName,
    /// Whether it lasts.
    pub persistence: Persistence,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its options.
    pub options: Vec<SequenceOption>,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    /// Which.
    pub name: RelationName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its new options.
    pub options: Vec<SequenceOption>,
}

/// An option of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceOption {
    /// Which.
    pub node: SequenceOptionNode,
    /// Where it begins.
    pub at: At,
}

/// Which option of a sequence. Numbers are kept as they are written, with their sign.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SequenceOptionNode {
    As(TypeName),
    Cache(String),
    Cycle(bool),
    Increment(String),
    /// None is NO MAXVALUE.
    MaxValue(Option<String>),
    /// None is NO MINVALUE.
    MinValue(Option<String>),
    OwnedBy(QualifiedName),
    Name(QualifiedName),
    Start(String),
    Restart(Option<String>),
    Logged(bool),
    /// SET GENERATED of ALTER COLUMN: ALWAYS, else BY DEFAULT.
    Generated(bool),
}

/// CREATE SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// Its name; the owner's if there is none.
    pub name: Option<Name>,
    /// AUTHORIZATION.
    pub owner: Option<Role>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// What is made in it.
    pub elements: Vec<StatementId>,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Role {
    Name(Name),
    Public(At),
    CurrentRole(At),
    CurrentUser(At),
    SessionUser(At),
}

/// CREATE FUNCTION, CREATE PROCEDURE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoutine {
    /// A procedure.
    pub procedure: bool,
    /// OR REPLACE.
    pub replace: bool,
    /// Its name.
    pub name: QualifiedName,
    /// Its parameters; columns of RETURNS TABLE stand behind them.
    pub parameters: Vec<RoutineParameter>,
    /// RETURNS; none of TABLE.
    pub returns: Option<TypeName>,
    /// LANGUAGE, AS and the like.
    pub options: Vec<RoutineOption>,
    /// A body in SQL.
    pub body: Option<RoutineBody>,
    /// Where the name stands.
    pub at: At,
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineParameter {
    /// Which way values go.
    pub mode: ParameterMode,
    /// Its name.
    pub name: Option<Name>,
    /// Its type.
    pub of: TypeName,
    /// Its value if none is given.
    pub default: Option<ExpressionId>,
}

/// Which way a parameter's values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum ParameterMode {
    /// Not said: IN.
    Default,
    In,
    Out,
    InOut,
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// Of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineOption {
    /// Which.
    pub node: RoutineOptionNode,
    /// Where it begins.
    pub at: At,
}

/// Which option of a routine.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum RoutineOptionNode {
    /// The source, or file and symbol.
    As(Vec<String>),
    Language(String),
    Transform(Vec<TypeName>),
    Window,
    /// STRICT, RETURNS NULL ON NULL INPUT; else CALLED ON NULL INPUT.
    Strict(bool),
    Immutable,
    Stable,
    Volatile,
    /// SECURITY DEFINER; else INVOKER.
    SecurityDefiner(bool),
    Leakproof(bool),
    Cost(String),
    Rows(String),
    Support(QualifiedName),
    Set(Setting),
    Parallel(Name),
}

/// A routine's body in SQL.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineBody {
    /// RETURN.
    Return(ExpressionId),
    /// BEGIN ATOMIC .. END.
    Block(Vec<BodyStatement>),
}

/// A statement of BEGIN ATOMIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyStatement {
    /// RETURN.
    Return(ExpressionId),
    /// Any other.
    Statement(StatementId),
}

/// CREATE TYPE .. AS ENUM.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEnum {
    /// Its name.
    pub name: QualifiedName,
    /// Its values.
    pub labels: Vec<String>,
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    /// Its name.
    pub name: QualifiedName,
    /// Of which type.
    pub of: TypeName,
    /// COLLATE.
    pub collation: Option<QualifiedName>,
    /// Its constraints.
    pub constraints: Vec<Constraint>,
}
