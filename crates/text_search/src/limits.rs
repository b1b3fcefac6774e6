//! Bounds of vectors and queries: PostgreSQL 15's, unless said otherwise.

/// Bytes of a lexeme, exclusive (`MAXSTRLEN`).
pub const LEXEME_BYTES_END: usize = 1 << 11;
/// Bytes of all lexemes and positions of a vector (`MAXSTRPOS`).
pub const VECTOR_BYTES_MAX: usize = (1 << 20) - 1;
/// The greatest position; what is further behind has it too (`MAXENTRYPOS` - 1).
pub const POSITION_MAX: u16 = (1 << 14) - 1;
/// The greatest distance of a phrase (`MAXENTRYPOS`).
pub const DISTANCE_MAX: u16 = 1 << 14;
/// Positions of a lexeme in a vector (`MAXNUMPOS`).
pub const POSITIONS_MAX: usize = 1 << 8;
/// Positions of a lexeme in what a document becomes.
pub const POSITIONS_OF_DOCUMENT_MAX: usize = POSITIONS_MAX - 1;
/// Bytes of a word that goes through the stemmer.
pub const STEMMED_BYTES_MAX: usize = 1000;
/// Operators that wait for their right side in one pair of parentheses.
pub const WAITING_OPERATORS_MAX: usize = 32;
/// How deep a query goes. PostgreSQL's bound is its stack; this one is ours.
pub const QUERY_DEPTH_MAX: usize = 2000;
/// How often a host is looked for within a host; PostgreSQL's bound is its stack.
pub const HOST_DEPTH_MAX: usize = 100;

const _: () = assert!(DISTANCE_MAX as usize == POSITION_MAX as usize + 1);
const _: () = assert!(STEMMED_BYTES_MAX < LEXEME_BYTES_END);
