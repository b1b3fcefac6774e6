//! Bounds of what is taken from a statement.

/// The largest number of a parameter: the protocol counts them in 16 bits.
pub const PARAMETERS_MAX: u32 = 65_535;

/// The most arguments of a call, as PostgreSQL is built.
pub const ARGUMENTS_MAX: usize = 100;

/// Levels of expressions, queries and joins within each other. Analysis recurses that deep, within two megabytes of stack.
pub const DEPTH_MAX: u32 = 400;

/// After so many steps it is asked whether the statement is still wanted.
pub const STEPS_UNASKED: u32 = 256;

/// Operators in chains to the left that lie within each other, all together: a chain is read by a loop, and its tree walked by recursion.
pub const CHAINS_MAX: usize = 1_000;

/// The most expressions of a row, as PostgreSQL is built.
pub const COLUMNS_MAX: usize = 1664;

/// The most dimensions of an array.
pub const DIMENSIONS_MAX: usize = 6;

/// The most sets that GROUP BY may come to.
pub const GROUPING_SETS_MAX: usize = 4096;
