//! Expressions of the tree.

use super::{ExprId, QueryId, SortGroup, Target};
use crate::types::{CollationId, FunctionId, OperatorId, TypeId, Typed};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub node: Node,
    /// Its type.
    pub typed: Typed,
    /// Where it stands, in bytes; none for what the text does not have.
    pub at: Option<u32>,
    /// Where it begins, if that is not where it stands: `a` in `a + b`.
    pub first: Option<u32>,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A column of an entry of the range table.
    Column {
        /// How many queries out.
        levels_up: u32,
        /// Which entry of that query's range table.
        entry: u32,
        /// Which column of the entry, from zero.
        column: u32,
    },
    /// The row of an entry as one value.
    WholeRow {
        /// How many queries out.
        levels_up: u32,
        /// Which entry.
        entry: u32,
    },
    /// A column that the system keeps, such as `ctid`.
    SystemColumn {
        /// How many queries out.
        levels_up: u32,
        /// Which entry.
        entry: u32,
        /// PostgreSQL's number of it, below zero.
        number: i16,
    },
    /// A parameter, from 1.
    Parameter(u32),
    /// A value that is known.
    Constant(Constant),
    /// A call.
    Function {
        /// Which function.
        function: FunctionId,
        /// One for each parameter.
        arguments: Vec<ExprId>,
        /// Whether the last argument is the array of all that VARIADIC takes.
        variadic: bool,
        /// Why it is called.
        form: Form,
    },
    /// What a function's parameter is if nothing is given.
    ParameterDefault {
        /// Which function.
        function: FunctionId,
        /// Which parameter, from zero.
        parameter: u32,
    },
    /// An operator.
    Operator {
        /// Which.
        operator: OperatorId,
        /// What computes it.
        function: FunctionId,
        /// One side or two.
        arguments: Vec<ExprId>,
    },
    /// IS DISTINCT FROM, by its operator of equality.
    Distinct {
        /// Equality.
        operator: OperatorId,
        /// What computes it.
        function: FunctionId,
        /// Both sides.
        arguments: Vec<ExprId>,
    },
    /// NULLIF, by its operator of equality.
    NullIf {
        /// Equality.
        operator: OperatorId,
        /// What computes it.
        function: FunctionId,
        /// Both sides.
        arguments: Vec<ExprId>,
    },
    /// `a = ANY (array)`.
    ArrayOperator {
        /// Between the left side and an element.
        operator: OperatorId,
        /// What computes it.
        function: FunctionId,
        /// ALL, else ANY.
        all: bool,
        /// The left side and the array.
        arguments: Vec<ExprId>,
    },
    /// All hold.
    And(Vec<ExprId>),
    /// One holds.
    Or(Vec<ExprId>),
    /// The opposite.
    Not(ExprId),
    /// IS NULL.
    NullTest {
        /// Of what.
        value: ExprId,
        /// IS NOT NULL.
        negated: bool,
        /// Whether it is a row, all columns of which are looked at.
        row: bool,
    },
    /// IS TRUE, IS FALSE, IS UNKNOWN.
    BooleanTest {
        /// Of what.
        value: ExprId,
        /// With NOT.
        negated: bool,
        /// TRUE, FALSE, or UNKNOWN as none.
        wanted: Option<bool>,
    },
    /// CASE.
    Case {
        /// What [`Node::CaseOperand`] stands for.
        operand: Option<ExprId>,
        /// Conditions with their results.
        arms: Vec<(ExprId, ExprId)>,
        /// ELSE.
        otherwise: ExprId,
    },
    /// The operand of the CASE around.
    CaseOperand,
    /// The first that is not null.
    Coalesce(Vec<ExprId>),
    /// GREATEST, or LEAST.
    Extreme {
        /// Which.
        greatest: bool,
        /// Among these.
        arguments: Vec<ExprId>,
    },
    /// The same bytes as another type.
    Relabel {
        /// Of what.
        value: ExprId,
        /// Why.
        form: Form,
    },
    /// Written as text and read as another type.
    ThroughText {
        /// What.
        value: ExprId,
        /// Why.
        form: Form,
    },
    /// Each element of an array converted.
    ArrayConversion {
        /// The array.
        value: ExprId,
        /// How, with [`Node::Element`] for the element.
        element: ExprId,
        /// Why.
        form: Form,
    },
    /// The element that [`Node::ArrayConversion`] converts.
    Element,
    /// A child's row as one of its parent.
    ParentRow {
        /// The row.
        value: ExprId,
        /// Why.
        form: Form,
    },
    /// Checked against a domain.
    Domain {
        /// What.
        value: ExprId,
        /// Which.
        domain: TypeId,
        /// Why.
        form: Form,
    },
    /// A row.
    Row {
        /// Its fields.
        fields: Vec<ExprId>,
        /// Their names.
        names: Vec<String>,
    },
    /// Rows by their order: `(a, b) < (c, d)`.
    RowComparison {
        /// 1 to 5 for `<`, `<=`, `=`, `>=`, `>`; `=` does not occur.
        strategy: i16,
        /// One for each pair.
        operators: Vec<OperatorId>,
        /// The left row.
        left: Vec<ExprId>,
        /// The right row.
        right: Vec<ExprId>,
    },
    /// ARRAY[..].
    Array {
        /// Its elements.
        elements: Vec<ExprId>,
        /// Whether they are arrays themselves.
        nested: bool,
    },
    /// An element or a part of a value, or the value with that part changed.
    Subscript {
        /// Of what.
        container: ExprId,
        /// Subscripts, or upper bounds.
        upper: Vec<Option<ExprId>>,
        /// Lower bounds of a slice; empty for an element.
        lower: Vec<Option<ExprId>>,
        /// What takes that place.
        assigned: Option<ExprId>,
    },
    /// A field of a row.
    Field {
        /// The row.
        value: ExprId,
        /// Which, from zero.
        number: u32,
    },
    /// A row with a field changed.
    FieldStore {
        /// The row.
        value: ExprId,
        /// Which, from zero.
        number: u32,
        /// What takes its place.
        new: ExprId,
    },
    /// An aggregate.
    Aggregate(Box<AggregateCall>),
    /// GROUPING.
    Grouping {
        /// How many queries out.
        levels_up: u32,
        /// Grouping expressions.
        arguments: Vec<ExprId>,
    },
    /// A call with OVER.
    Window(Box<WindowCall>),
    /// A subquery as a value.
    SubLink {
        /// How its rows become a value.
        kind: SubLinkKind,
        /// The query.
        query: QueryId,
        /// Of ANY, ALL and a row: what holds for a row, with [`Node::SubLinkColumn`] for its columns.
        test: Option<ExprId>,
    },
    /// A column of the row of the SubLink around.
    SubLinkColumn(u32),
    /// A column of a query that gives several columns of an UPDATE their values.
    MultipleColumn {
        /// Which query of the statement, from zero.
        source: u32,
        /// Which of its columns, from zero.
        column: u32,
    },
    /// CURRENT_DATE and the like.
    SqlValue {
        /// Which.
        value: grammar::ast::SqlValue,
        /// Digits of a second.
        precision: Option<i32>,
    },
    /// A column's own default.
    Default,
    /// WHERE CURRENT OF.
    CurrentOf(String),
    /// COLLATE.
    Collate {
        /// Of what.
        value: ExprId,
        /// By which.
        collation: CollationId,
    },
}

/// Why something is called or converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The text has the call.
    Call,
    /// The text has a cast.
    Explicit,
    /// Types demand it.
    Implicit,
}

/// A value that is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// NULL of the expression's type.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A number of the expression's type, as it is written.
    Number(String),
    /// Text that is to be read as the expression's type; as it stands if that is unknown.
    Text(String),
    /// `B'..'`, or `X'..'`, which begins with x.
    Bits(String),
}

/// A call of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// Which.
    pub function: FunctionId,
    /// How many queries out its rows are those of.
    pub levels_up: u32,
    /// What stands before WITHIN GROUP.
    pub direct: Vec<ExprId>,
    /// What each row gives; what is only sorted by is junk.
    pub arguments: Vec<Target>,
    /// ORDER BY.
    pub order: Vec<SortGroup>,
    /// DISTINCT.
    pub distinct: Vec<SortGroup>,
    /// FILTER.
    pub filter: Option<ExprId>,
    /// `count(*)`.
    pub star: bool,
    /// Whether the last argument is an array of all that VARIADIC takes.
    pub variadic: bool,
}

/// A call with OVER.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// Which function or aggregate.
    pub function: FunctionId,
    /// Whether it is an aggregate.
    pub aggregate: bool,
    /// Its arguments.
    pub arguments: Vec<ExprId>,
    /// FILTER.
    pub filter: Option<ExprId>,
    /// `count(*)`.
    pub star: bool,
    /// Which window of the query.
    pub window: u32,
}

/// How rows of a subquery become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubLinkKind {
    /// EXISTS.
    Exists,
    /// One holds.
    Any,
    /// All hold.
    All,
    /// The only row is compared.
    RowComparison,
    /// The only value.
    Value,
    /// All values.
    Array,
    /// The only row gives several columns of an UPDATE their values.
    Multiple,
}
