//! Functions that yield sets: `generate_series`, `unnest` and their like.

use crate::call::Call;
use analyzer::types::FunctionId;
use values::{Value, ValueError};

/// The rows of a call; each has one value for each column of the function's result. Bounded by its arguments, never by memory: rows are made as they are asked for.
pub type Rows = Box<dyn Iterator<Item = Result<Vec<Value>, ValueError>>>;

/// What computes a function that yields a set.
pub type SetBody = fn(&mut Call<'_, '_>) -> Result<Rows, ValueError>;

/// What computes a function of PostgreSQL's that yields a set; `None` for one that is not implemented.
pub fn set_function(_id: FunctionId) -> Option<SetBody> {
    None
}
