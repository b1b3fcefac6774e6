//! Bounds of syntax, and how they relate.

/// Levels of a syntax tree: expressions, queries and set operations within each other, chains of operators included; parentheses that only group,
/// and chains of AND, OR and UNION, count little or nothing. A deeper statement ends with 54001.
pub const DEPTH_MAX: usize = 1_000;
/// Levels up to which a tree needs no stack of its own.
pub const SHALLOW: usize = 64;
/// Bytes of a stack for deep trees.
pub const STACK_BYTES: usize = 64 << 20;
/// Bytes that must be left of a stack on which a deep tree is walked.
pub const STACK_LEFT_MIN: usize = STACK_BYTES / 4 * 3;
/// Bytes of stack that a library may use between two places where it looks how much is left: code that nobody has optimised.
pub const STEP_BYTES_MAX: usize = 1 << 20;
/// Levels that a nested join counts as.
pub const NESTED_JOIN_LEVELS: usize = 4;
/// Statements within each other, and what the parser takes for one while it tries.
pub const NESTED_STATEMENTS_MAX: usize = 8;
/// Levels that a statement counts as.
pub const NESTED_STATEMENT_LEVELS: usize = 8;
/// Levels that a text may seem to have before it is parsed: what is parsed is dropped by recursion even if it is then refused.
pub const CHAIN_MAX: usize = 20_000;
/// Nested syntax that the parser follows, as it counts: some constructs count up to four times.
pub const PARSER_DEPTH_MAX: usize = 4 * DEPTH_MAX;
/// Pairs of brackets behind the name of a type.
pub const DIMENSIONS_MAX: usize = 64;
/// Parts of a name; the parser's work doubles with each.
pub const NAME_PARTS_MAX: usize = 8;
/// Operands of a chain from which on it is made a tree.
pub const CHAIN_KEPT_MAX: usize = 16;
/// Operands that the parser may begin to read for each token: it finds out what some parentheses hold by trying.
pub const TRIES_PER_TOKEN_MAX: u64 = 16;
/// Operands that the parser may begin to read however short the text is.
pub const TRIES_MIN: u64 = 1 << 16;

const _: () = assert!(SHALLOW < DEPTH_MAX && DEPTH_MAX < CHAIN_MAX);
/// What a level of a tree may take when it is cloned by code that nobody has optimised.
const LEVEL_BYTES_MAX: usize = 48 << 10;
const _: () = assert!(DEPTH_MAX * LEVEL_BYTES_MAX < STACK_LEFT_MIN);
/// What a level may take when it is dropped.
const DROPPED_LEVEL_BYTES_MAX: usize = 2 << 10;
const _: () = assert!(CHAIN_MAX * DROPPED_LEVEL_BYTES_MAX < STACK_LEFT_MIN);
