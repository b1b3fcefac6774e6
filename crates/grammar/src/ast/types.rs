//! Names of types.

use super::{At, ExpressionId, QualifiedName};

/// The name of a type with its modifiers.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// What SQL's own words mean stands in `pg_catalog`: INT is `pg_catalog.int4`.
    pub names: QualifiedName,
    /// SETOF.
    pub set_of: bool,
    /// `table.column%TYPE`: the names are a column's.
    pub of_column: bool,
    /// `(10, 2)`.
    pub modifiers: Vec<ExpressionId>,
    /// Of an interval: which fields it keeps.
    pub fields: Option<IntervalFields>,
    /// `[]` and `[3]`, one for each dimension.
    pub bounds: Vec<Option<i32>>,
    /// Where it stands.
    pub at: At,
}

/// Which fields an interval keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum IntervalFields {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    YearToMonth,
    DayToHour,
    DayToMinute,
    DayToSecond,
    HourToMinute,
    HourToSecond,
    MinuteToSecond,
}
