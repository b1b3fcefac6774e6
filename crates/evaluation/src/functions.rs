//! Functions that yield one value, also those behind operators and casts.

use crate::call::Body;
use analyzer::types::FunctionId;

/// What computes a function of PostgreSQL's; `None` for one that is not implemented. Whether it is strict stands in its row of the facts; who calls it sees to that.
pub fn function(_id: FunctionId) -> Option<Body> {
    None
}
