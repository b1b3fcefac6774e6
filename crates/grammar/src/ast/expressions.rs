//! Expressions.

use super::{At, ExpressionId, Name, QualifiedName, QueryId, SortKey, TypeName, WindowSpecification};

/// An expression, and where an error about it points to.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub node: ExpressionNode,
    /// Where.
    pub at: At,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionNode {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A whole number that fits `integer`.
    Integer(i32),
    /// Any other number, as it is written: what fits `bigint` has no point and no exponent. It has a sign only before a literal of its own.
    Number(String),
    /// A string whose type is open.
    String(String),
    /// `B'..'`.
    BitString(String),
    /// `X'..'`.
    HexString(String),
    /// `$1`.
    Parameter(i32),
    /// `a`, `t.a`, `s.t.a`, or with a star at its end.
    Column {
        /// The names; none before a star that stands alone.
        names: QualifiedName,
        /// Whether `.*` follows, or the star stands alone.
        star: bool,
    },
    /// `(e).a`, `a[1]`, `a[1:2]`, `(e).*`.
    Indirection {
        /// From what.
        of: ExpressionId,
        /// One step after the other.
        steps: Vec<Step>,
    },
    /// `a + b`, `- b`.
    Operator {
        /// Which.
        operator: OperatorName,
        /// None before a prefix operator.
        left: Option<ExpressionId>,
        /// The operand behind it.
        right: ExpressionId,
    },
    /// `a = ANY (array)`.
    Quantified {
        /// Which.
        operator: OperatorName,
        /// ALL, or ANY and SOME.
        all: bool,
        /// The left side.
        left: ExpressionId,
        /// What yields the array.
        array: ExpressionId,
    },
    /// `a = ANY (SELECT ..)`, `(a, b) = (SELECT ..)` is an operator instead.
    QuantifiedQuery {
        /// Which.
        operator: OperatorName,
        /// ALL, or ANY and SOME.
        all: bool,
        /// The left side.
        left: ExpressionId,
        /// The rows.
        query: QueryId,
    },
    /// LIKE, ILIKE, SIMILAR TO.
    Like {
        /// Which of them.
        kind: LikeKind,
        /// With NOT.
        negated: bool,
        /// What is compared.
        value: ExpressionId,
        /// With what.
        pattern: ExpressionId,
        /// ESCAPE.
        escape: Option<ExpressionId>,
    },
    /// BETWEEN.
    Between {
        /// With NOT.
        negated: bool,
        /// Bounds may stand in either order.
        symmetric: bool,
        /// What is compared.
        value: ExpressionId,
        /// The lower bound.
        low: ExpressionId,
        /// The upper bound.
        high: ExpressionId,
    },
    /// `a IN (1, 2)`.
    In {
        /// With NOT.
        negated: bool,
        /// What is looked for.
        value: ExpressionId,
        /// Among these.
        list: Vec<ExpressionId>,
    },
    /// `a IN (SELECT ..)`.
    InQuery {
        /// With NOT.
        negated: bool,
        /// What is looked for.
        value: ExpressionId,
        /// Among these rows.
        query: QueryId,
    },
    /// IS DISTINCT FROM.
    Distinct {
        /// With NOT.
        negated: bool,
        /// The left side.
        left: ExpressionId,
        /// The right side.
        right: ExpressionId,
    },
    /// `a AND b AND c`: a chain is one node.
    And(Vec<ExpressionId>),
    /// `a OR b OR c`: a chain is one node.
    Or(Vec<ExpressionId>),
    /// NOT.
    Not(ExpressionId),
    /// IS NULL.
    IsNull {
        /// With NOT.
        negated: bool,
        /// What is looked at.
        value: ExpressionId,
    },
    /// IS TRUE, IS FALSE, IS UNKNOWN.
    IsBoolean {
        /// With NOT.
        negated: bool,
        /// TRUE, FALSE, or UNKNOWN as none.
        wanted: Option<bool>,
        /// What is looked at.
        value: ExpressionId,
    },
    /// `CAST (a AS t)`, `a::t`, `t 'a'`.
    Cast {
        /// What is cast.
        value: ExpressionId,
        /// To what.
        to: Box<TypeName>,
    },
    /// COLLATE.
    Collate {
        /// Of what.
        value: ExpressionId,
        /// The collation.
        collation: QualifiedName,
    },
    /// A call of a function, or a form of SQL that is one.
    Call(Box<FunctionCall>),
    /// CURRENT_DATE and the like.
    SqlValue {
        /// Which.
        value: SqlValue,
        /// Digits of a second.
        precision: Option<i32>,
    },
    /// CASE.
    Case {
        /// What all conditions are compared with.
        operand: Option<ExpressionId>,
        /// WHEN and THEN.
        arms: Vec<CaseArm>,
        /// ELSE.
        otherwise: Option<ExpressionId>,
    },
    /// COALESCE.
    Coalesce(Vec<ExpressionId>),
    /// GREATEST.
    Greatest(Vec<ExpressionId>),
    /// LEAST.
    Least(Vec<ExpressionId>),
    /// NULLIF.
    NullIf(ExpressionId, ExpressionId),
    /// `ROW (a, b)` or `(a, b)`.
    Row {
        /// Its fields.
        fields: Vec<ExpressionId>,
        /// With the word ROW.
        explicit: bool,
    },
    /// `ARRAY[a, b]`.
    Array(Vec<ExpressionId>),
    /// `ARRAY (SELECT ..)`.
    ArrayQuery(QueryId),
    /// EXISTS.
    Exists(QueryId),
    /// `(SELECT ..)`.
    Subquery(QueryId),
    /// GROUPING.
    Grouping(Vec<ExpressionId>),
    /// DEFAULT: only as a column's new value.
    Default,
    /// An expression that has no tree: which, in capitals.
    Other(&'static str),
}

/// What is taken of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `.a`.
    Field(Name),
    /// `.*`.
    Star(At),
    /// `[1]`.
    Subscript(ExpressionId),
    /// `[1:2]`.
    Slice(Option<ExpressionId>, Option<ExpressionId>),
}

/// `+`, or `OPERATOR (schema.+)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorName {
    /// Schemas before it.
    pub schema: QualifiedName,
    /// Its characters. `!=` is `<>`; LIKE is `~~`.
    pub symbol: String,
    /// Where it stands.
    pub at: At,
}

/// Comparisons with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeKind {
    /// LIKE, operator `~~`.
    Like,
    /// ILIKE, operator `~~*`.
    ILike,
    /// SIMILAR TO, operator `~` with the pattern translated.
    Similar,
}

/// WHEN and THEN.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArm {
    /// WHEN.
    pub condition: ExpressionId,
    /// THEN.
    pub result: ExpressionId,
    /// Where WHEN stands.
    pub at: At,
}

/// Values that the system has under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SqlValue {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    SessionUser,
    User,
    CurrentCatalog,
    CurrentSchema,
}

/// A function with arguments and all that may stand behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// Which; forms of SQL have `pg_catalog` before it.
    pub name: QualifiedName,
    /// What it is given.
    pub arguments: Vec<Argument>,
    /// Whether the last argument is VARIADIC.
    pub variadic: bool,
    /// `count(*)`.
    pub star: bool,
    /// `count(DISTINCT a)`.
    pub distinct: bool,
    /// ORDER BY among the arguments, or that of WITHIN GROUP.
    pub order: Vec<SortKey>,
    /// Whether `order` is that of WITHIN GROUP.
    pub within_group: bool,
    /// FILTER.
    pub filter: Option<ExpressionId>,
    /// OVER.
    pub over: Option<Over>,
    /// How it was written.
    pub form: CallForm,
}

/// How a call was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// `f(a)`.
    Plain,
    /// A form of SQL's own, such as `EXTRACT (year FROM a)`: it is printed like that again.
    Sql,
    /// What SQL's grammar means without saying so.
    Implied,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// `name => value`.
    pub name: Option<Name>,
    /// The value.
    pub value: ExpressionId,
}

/// OVER.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// `OVER w`.
    Name(Name),
    /// `OVER (..)`.
    Window(Box<WindowSpecification>),
}
