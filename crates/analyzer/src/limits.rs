//! Bounds of what is taken from a statement.

/// The largest number of a parameter: the protocol counts them in 16 bits.
pub const PARAMETERS_MAX: u32 = 65_535;

/// The most arguments of a call, as PostgreSQL is built.
pub const ARGUMENTS_MAX: usize = 100;
