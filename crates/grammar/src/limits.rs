//! Bounds of a text and its tree.

/// Bytes of a name; longer ones are cut, as PostgreSQL does (NAMEDATALEN - 1).
pub const NAME_BYTES_MAX: usize = 63;
/// Symbols that the parser keeps open; PostgreSQL's says `memory exhausted` at the same number.
pub const OPEN_SYMBOLS_MAX: usize = 10_000;
/// Levels of expressions, queries and joins within each other. Whoever walks a tree may do so by recursion on a stack that fits this.
pub const DEPTH_MAX: u32 = 5_000;
/// Bytes of a text, so that a place in it fits 31 bits.
pub const TEXT_BYTES_MAX: usize = 1 << 30;

const _: () = assert!(DEPTH_MAX as usize <= OPEN_SYMBOLS_MAX);
