//! Every bound of the crate.

/// Variables that a session may have declared.
pub const RANGES_MAX: usize = 64;

/// Levels of an expression: each operator, parenthesis and aggregate is one.
pub const DEPTH_MAX: usize = 100;

/// Aggregates of one statement, those within others counted.
pub const AGGREGATES_MAX: usize = 200;

/// Items of a list: targets, names, columns, what is sorted by; and the values of all by-lists of a statement. As many as a target list of PostgreSQL
/// has (`MaxTupleAttributeNumber`).
pub const LIST_MAX: usize = 1_664;

/// Variables of one statement, those within its aggregates counted.
pub const VARIABLES_MAX: usize = 1_000;

/// Statements that one text becomes. Each is kept with its SQL until the last has run.
pub const STATEMENTS_MAX: usize = 10_000;

/// Bytes of a name: what is behind them is cut off, as in SQL.
pub const NAME_BYTES_MAX: usize = 63;

// Each level of an expression becomes a few of SQL's, which is parsed to a thousand of them.
const _: () = assert!(DEPTH_MAX * 8 < 1_000);
// A list may have each of a session's variables, and `print` of a whole list fits into a text.
const _: () = assert!(RANGES_MAX < VARIABLES_MAX && VARIABLES_MAX < LIST_MAX && LIST_MAX < STATEMENTS_MAX);
