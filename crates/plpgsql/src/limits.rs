//! Bounds of the crate.

/// Bytes of a body.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Statements within each other: blocks, loops and branches.
pub const DEPTH_MAX: usize = 200;
/// Operations of a body. A statement has a few.
pub const OPERATIONS_MAX: usize = 50_000;
/// Variables of a body, those of loops among them.
pub const VARIABLES_MAX: usize = 10_000;
/// Operations that run before whoever runs the routine has a chance to stop it.
pub const OPERATIONS_AT_ONCE: usize = 5_000;
/// Bytes that all variables and rows of a run keep.
pub const KEPT_BYTES_MAX: usize = 64 << 20;
/// Elements of an array that an assignment makes longer.
pub const ELEMENTS_MAX: usize = 1_000_000;
/// Levels of queries in FROM that are looked through for names of columns.
pub const QUERY_LEVELS_MAX: usize = 30;
/// Bytes of a name; longer ones are cut.
pub const NAME_BYTES_MAX: usize = grammar::limits::NAME_BYTES_MAX;

const _: () = assert!(BODY_BYTES_MAX < u32::MAX as usize);
