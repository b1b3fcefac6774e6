//! The tree of a statement. Each node has its place: where it begins, in bytes of the text.

use crate::patterns::TextLiteral;
use crate::ranges::{RangeDeclaration, RangedRelation};

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
    Delete(QuelDelete),
    /// `create`.
    Create(NewRelation),
    /// `destroy`.
    Destroy(Vec<QuelName>),
    /// `index on`.
    Index(NewIndex),
    /// `print`.
    Print(Vec<QuelName>),
    /// `help`, of one relation or of all.
    Help(Option<QuelName>),
    /// What has the same words in SQL but for its spelling here: transactions.
    Session(String),
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuelName {
    /// In lower case.
    pub text: String,
    /// Its place.
    pub at: usize,
}

/// `retrieve [into r] [unique] (targets) [where q] [sort by ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Retrieve {
    /// The relation that is made of the rows.
    pub into: Option<QuelName>,
    /// Each row once.
    pub unique: bool,
    /// What is shown.
    pub targets: Vec<QuelTarget>,
    /// Which rows.
    pub qualification: Option<QuelExpr>,
    /// Names of targets, and which way.
    pub sort: Vec<SortTarget>,
}

/// A name to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortTarget {
    /// The target.
    pub name: QuelName,
    /// From the largest on.
    pub descending: bool,
}

/// `append [to] r (targets) [where q]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// Where to.
    pub relation: QuelName,
    /// Its columns' values.
    pub targets: Vec<QuelTarget>,
    /// For which rows.
    pub qualification: Option<QuelExpr>,
}

/// `replace v (targets) [where q]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Replace {
    /// Whose rows change.
    pub variable: QuelName,
    /// New values.
    pub targets: Vec<QuelTarget>,
    /// Which rows.
    pub qualification: Option<QuelExpr>,
}

/// `delete v [where q]`.
#[derive(Clone, Debug, PartialEq)]
pub struct QuelDelete {
    /// Whose rows go.
    pub variable: QuelName,
    /// Which rows.
    pub qualification: Option<QuelExpr>,
}

/// `create r (column = type, ...)`.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRelation {
    /// Its name.
    pub relation: QuelName,
    /// Its columns.
    pub columns: Vec<NewColumn>,
}

/// A column of `create`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its name.
    pub name: QuelName,
    /// Its type in SQL.
    pub data_type: String,
    /// Whether it is `not null`.
    pub not_null: bool,
}

/// `index [unique] on r is i (columns)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIndex {
    /// Two rows may not be alike in it.
    pub unique: bool,
    /// Of which relation.
    pub relation: QuelName,
    /// Its name.
    pub name: QuelName,
    /// Its columns.
    pub columns: Vec<QuelName>,
}

/// An item of a target list.
#[derive(Clone, Debug, PartialEq)]
pub enum QuelTarget {
    /// `name = expression`, or `v.name`, which is `name = v.name`.
    Value {
        /// The result's name.
        name: QuelName,
        /// What it is.
        value: QuelExpr,
    },
    /// `v.all`.
    All(QuelName),
}

/// An expression or a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct QuelExpr {
    /// What it is.
    pub kind: QuelExprKind,
    /// Its place.
    pub at: usize,
    /// How many levels it has.
    pub depth: usize,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum QuelExprKind {
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
    Minus(Box<QuelExpr>),
    /// Arithmetic.
    Arithmetic(Box<QuelExpr>, ArithmeticOperator, Box<QuelExpr>),
    /// A function.
    Call(String, Vec<QuelExpr>),
    /// An aggregate.
    Aggregate(Box<QuelAggregate>),
    /// A comparison: a condition, as all that follow.
    Comparison(Box<QuelExpr>, ComparisonOperator, Box<QuelExpr>),
    /// `x is null`.
    IsNull(Box<QuelExpr>),
    /// `x is not null`.
    IsNotNull(Box<QuelExpr>),
    /// `not q`.
    Not(Box<QuelExpr>),
    /// All of them.
    And(Vec<QuelExpr>),
    /// One of them.
    Or(Vec<QuelExpr>),
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
pub struct QuelAggregate {
    /// Which.
    pub function: AggregateFunction,
    /// Of what.
    pub argument: QuelExpr,
    /// By what; empty: of all rows at once.
    pub by: Vec<QuelExpr>,
    /// `only`: groups without a row are left out.
    pub only: bool,
    /// Of which rows.
    pub qualification: Option<QuelExpr>,
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

impl QuelExpr {
    /// Whether it is true or false, rather than a value.
    pub fn is_condition(&self) -> bool {
        use QuelExprKind::{And, Comparison, IsNotNull, IsNull, Not, Or};
        matches!(self.kind, Comparison(..) | IsNull(_) | IsNotNull(_) | Not(_) | And(_) | Or(_))
    }

    /// What it is made of, aggregates left whole.
    pub fn parts(&self) -> Vec<&QuelExpr> {
        match &self.kind {
            QuelExprKind::Minus(inner)
            | QuelExprKind::Not(inner)
            | QuelExprKind::IsNull(inner)
            | QuelExprKind::IsNotNull(inner) => {
                vec![inner]
            }
            QuelExprKind::Arithmetic(left, _, right) | QuelExprKind::Comparison(left, _, right) => vec![left, right],
            QuelExprKind::Call(_, all) | QuelExprKind::And(all) | QuelExprKind::Or(all) => all.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// The relation of a variable that was not declared: that of its name.
pub fn of_itself(variable: &str, at: usize) -> RangedRelation {
    RangedRelation { schema: None, name: variable.to_owned(), at }
}
