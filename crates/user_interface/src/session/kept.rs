//! What a statement may keep of rows until it has found all of them.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{KEPT_BYTES_MAX, KEPT_ROWS_MAX};
use values::Value;

/// Errors: 54000 for more rows than a statement may keep until it has found all of them.
pub(super) fn check_kept(rows: usize, bytes: usize) -> Result<()> {
    if rows <= KEPT_ROWS_MAX && bytes <= KEPT_BYTES_MAX {
        return Ok(());
    }
    let mebibytes = KEPT_BYTES_MAX >> 20;
    let message = format!(
        "a statement that keeps what it finds until it changes rows may find at most {KEPT_ROWS_MAX} rows, and {mebibytes} MiB"
    );
    Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("Change the rows in several statements, or copy them into another table first."))
}

/// What rows take in memory.
pub(super) fn bytes_of(rows: &[Vec<Value>]) -> usize {
    let of_row = |row: &Vec<Value>| size_of::<Vec<Value>>() + row.iter().map(Value::size_in_memory).sum::<usize>();
    rows.iter().map(of_row).sum()
}
