//! Bounds of query processing, and how they relate.

/// Bytes that all queries of a process together may hold in sorts, joins and aggregates, unless more was said; beyond it a query ends with 53200.
pub const MEMORY_BYTES_MAX: usize = 256 << 20;
/// Bytes that one query may hold of them.
pub const STATEMENT_MEMORY_MAX: usize = 256 << 20;
/// Relations, joins, set operations and subqueries of a plan; with what WITH names put in wherever it is named. A larger plan takes seconds to make,
/// and the statement ends with 54001.
pub const PLAN_PARTS_MAX: usize = 8_192;
/// How many of them may be within each other.
pub const PLAN_DEPTH_MAX: usize = 500;
/// Nodes of a syntax tree that may be copied while it is rewritten: what is nested in what is copied doubles each time.
pub const COPIED_NODES_MAX: usize = 100_000;
/// Rows asked for in one step of a scan, in one batch within a plan and in one batch of the result.
pub const BATCH_ROWS: usize = messages::limits::QUERY_BATCH_ROWS;
/// Key ranges that one scan is split into; a filter that names more keys is read as one range around them.
pub const SCAN_RANGES_MAX: usize = 1_024;
/// Rows that a table is taken to have that nobody has read to its end.
pub const TABLE_ROWS: usize = 1_000_000;
/// Rows that a table is taken to have that had fewer when it was read.
pub const ROWS_KNOWN_MIN: usize = 1_000;
/// Rows that a query works on before others have their turn.
pub const SLICE_ROWS: usize = 8_192;
/// Statements whose plans are kept; those that were not used for longest go.
pub const STATEMENTS_KEPT_MAX: usize = 256;
/// Bytes of a statement beyond which its plan is not kept.
pub const STATEMENT_BYTES_MAX: usize = 16 << 10;
/// Elements that the series of one batch may have, where they are expressions. As a table, `generate_series` has no such bound.
pub const SERIES_ELEMENTS_MAX: u64 = 10_000_000;
/// Bytes that a function such as `repeat` may make of the rows of one batch.
pub const FUNCTION_BYTES_MAX: usize = 64 << 20;
/// Bytes that a function of constants may make: each row of a batch may then hold a copy.
pub const CONSTANT_BYTES_MAX: usize = 1 << 20;
/// Parameters of one statement, as in the protocol.
pub const PARAMETERS_MAX: usize = 65_535;

const _: () =
    assert!(FUNCTION_BYTES_MAX < MEMORY_BYTES_MAX, "one function must not make more than all queries may hold");
