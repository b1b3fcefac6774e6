//! The tree of a statement. Each node has its place: where it begins, in bytes of the text.

use crate::patterns::TextLiteral;
use crate::ranges::{RangeDeclaration, RelationName};

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum QuelStatement {
    /// `range of v is r`.
    Range(Vec<RangeDeclaration>),
    /// `retrieve`, or the papers' `database ..., get`.
    Retrieve(Retrieve),
    /// `append`.
    Append(Append),
    /// `replace`.
    Replace(Replace),
    /// `delete`.
    Delete(Delete),
    /// `create`.
    Create(Create),
    /// `destroy`.
    Destroy(Vec<Name>),
    /// `index on`.
    Index(Index),
    /// `print`.
    Print(Vec<Name>),
    /// `help`, of one relation or of all.
    Help(Option<Name>),
    /// What has the same words in SQL but for its spelling here: transactions.
    Session(String),
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// In lower case.
    pub text: String,
    /// Its place.
    pub at: usize,
}

/// `retrieve [into r] [unique] (targets) [where q] [sort by ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Retrieve {
    /// The relation that is made of the rows.
    pub into: Option<Name>,
    /// Each row once.
    pub unique: bool,
    /// What is shown.
    pub targets: Vec<Target>,
    /// Which rows.
    pub qualification: Option<Expr>,
    /// Names of targets, and which way.
    pub sort: Vec<SortKey>,
}

/// A name to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The target.
    pub name: Name,
    /// From the largest on.
    pub descending: bool,
}

/// `append [to] r (targets) [where q]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// Where to.
    pub relation: Name,
    /// Its columns' values.
    pub targets: Vec<Target>,
    /// For which rows.
    pub qualification: Option<Expr>,
}

/// `replace v (targets) [where q]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Replace {
    /// Whose rows change.
    pub variable: Name,
    /// New values.
    pub targets: Vec<Target>,
    /// Which rows.
    pub qualification: Option<Expr>,
}

/// `delete v [where q]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// Whose rows go.
    pub variable: Name,
    /// Which rows.
    pub qualification: Option<Expr>,
}

/// `create r (column = type, ...)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// Its name.
    pub relation: Name,
    /// Its columns.
    pub columns: Vec<NewColumn>,
}

/// A column of `create`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its name.
    pub name: Name,
    /// Its type in SQL.
    pub data_type: String,
    /// Whether it is `not null`.
    pub not_null: bool,
}

/// `index [unique] on r is i (columns)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Two rows may not be alike in it.
    pub unique: bool,
    /// Of which relation.
    pub relation: Name,
    /// Its name.
    pub name: Name,
    /// Its columns.
    pub columns: Vec<Name>,
}

/// An item of a target list.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// `name = expression`, or `v.name`, which is `name = v.name`.
    Value {
        /// The result's name.
        name: Name,
        /// What it is.
        value: Expr,
    },
    /// `v.all`.
    All(Name),
}

/// An expression or a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place.
    pub at: usize,
    /// How many levels it has.
    pub depth: usize,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number.
    Number(String),
    /// A string.
    Text(TextLiteral),
    /// `$n`.
    Parameter(u32),
    /// `null`.
    Null,
    /// `v.column`.
    Column {
        /// The variable.
        variable: String,
        /// The column.
        column: String,
    },
    /// `-x`.
    Minus(Box<Expr>),
    /// Arithmetic.
    Arithmetic(Box<Expr>, ArithmeticOperator, Box<Expr>),
    /// A function.
    Call(String, Vec<Expr>),
    /// An aggregate.
    Aggregate(Box<Aggregate>),
    /// A comparison: a condition, as all that follow.
    Comparison(Box<Expr>, ComparisonOperator, Box<Expr>),
    /// `x is null`.
    IsNull(Box<Expr>),
    /// `x is not null`.
    IsNotNull(Box<Expr>),
    /// `not q`.
    Not(Box<Expr>),
    /// All of them.
    And(Vec<Expr>),
    /// One of them.
    Or(Vec<Expr>),
}

/// An operator of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOperator {
    /// `+`, which joins texts, too.
    Plus,
    /// `-`.
    Minus,
    /// `*`.
    Times,
    /// `/`.
    Divide,
    /// `mod`.
    Modulo,
    /// `**`.
    Power,
}

/// An operator of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `=`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

/// `f(expression [by list] [[only] where q])`.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// Of what.
    pub argument: Expr,
    /// By what; empty: of all rows at once.
    pub by: Vec<Expr>,
    /// `only`: groups without a row are left out.
    pub only: bool,
    /// Of which rows.
    pub qualification: Option<Expr>,
}

/// A function of many rows. Those with `u` count equal values once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// How many.
    Count,
    /// How many different ones.
    CountUnique,
    /// Their sum.
    Sum,
    /// That of different ones.
    SumUnique,
    /// Their mean.
    Average,
    /// That of different ones.
    AverageUnique,
    /// The least.
    Minimum,
    /// The largest.
    Maximum,
    /// 1 if there is one, else 0.
    Any,
}

impl AggregateFunction {
    /// By its name in lower case.
    pub fn of_name(name: &str) -> Option<AggregateFunction> {
        Some(match name {
            "count" => AggregateFunction::Count,
            "countu" => AggregateFunction::CountUnique,
            "sum" => AggregateFunction::Sum,
            "sumu" => AggregateFunction::SumUnique,
            "avg" => AggregateFunction::Average,
            "avgu" => AggregateFunction::AverageUnique,
            "min" => AggregateFunction::Minimum,
            "max" => AggregateFunction::Maximum,
            "any" => AggregateFunction::Any,
            _ => return None,
        })
    }

    /// Whether it is 0 of no row, not NULL.
    pub fn counts(self) -> bool {
        matches!(self, AggregateFunction::Count | AggregateFunction::CountUnique | AggregateFunction::Any)
    }
}

impl Expr {
    /// Whether it is true or false, rather than a value.
    pub fn is_condition(&self) -> bool {
        use ExprKind::{And, Comparison, IsNotNull, IsNull, Not, Or};
        matches!(self.kind, Comparison(..) | IsNull(_) | IsNotNull(_) | Not(_) | And(_) | Or(_))
    }

    /// What it is made of, aggregates left whole.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Minus(inner) | ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::IsNotNull(inner) => {
                vec![inner]
            }
            ExprKind::Arithmetic(left, _, right) | ExprKind::Comparison(left, _, right) => vec![left, right],
            ExprKind::Call(_, all) | ExprKind::And(all) | ExprKind::Or(all) => all.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// The relation of a variable that was not declared: that of its name.
pub fn of_itself(variable: &str, at: usize) -> RelationName {
    RelationName { schema: None, name: variable.to_owned(), at }
}
