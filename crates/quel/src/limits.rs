//! Every bound of the crate.

/// Variables that a session may have declared.
pub const RANGES_MAX: usize = 64;

/// Levels of an expression: each operator, parenthesis and aggregate is one.
pub const DEPTH_MAX: usize = 100;

/// Aggregates of one statement, those within others counted.
pub const AGGREGATES_MAX: usize = 200;

// Each level of an expression becomes a few of SQL's, which is parsed to a thousand of them.
const _: () = assert!(DEPTH_MAX * 8 < 1_000);
