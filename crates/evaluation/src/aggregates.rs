//! Aggregates: what takes rows in and has a value at the end.

use analyzer::Typed;
use analyzer::types::FunctionId;
use values::{Value, ValueError};

/// The state of an aggregate for one group. The caller has applied FILTER, DISTINCT and ORDER BY.
pub trait Accumulator {
    /// A row's arguments; none for `count(*)`. NULLs are passed: the accumulator knows which it leaves out.
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError>;
    /// The value of the rows so far; of windows, asked for again and again.
    fn finish(&self) -> Result<Value, ValueError>;
    /// Bytes beyond the accumulator's own, for the bound on a statement's memory.
    fn size(&self) -> usize {
        0
    }
}

/// The aggregate before any row; `None` for one that is not implemented. `direct` are the values before WITHIN GROUP, `arguments` the types of what each row gives.
pub fn aggregate(
    _id: FunctionId,
    _direct: &[Value],
    _arguments: &[Typed],
    _result: Typed,
) -> Option<Result<Box<dyn Accumulator>, ValueError>> {
    None
}
