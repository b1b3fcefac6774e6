//! From a typed query tree to a plan.

use crate::access::Relations;
use crate::error::ExecutionError;
use crate::plan::Plan;
use analyzer::{Analyzed, Catalog};
use std::sync::Arc;

/// A plan, or what in the statement is not built.
pub type Planned = std::result::Result<Arc<Plan>, String>;

/// Plans an analyzed SELECT (also VALUES, set operations, WITH). `None`: something in it is not built; the caller takes another way.
///
/// # Errors
/// What PostgreSQL says of a constant that its type cannot be read from.
pub fn plan(catalog: &dyn Catalog, analyzed: &Analyzed, relations: &dyn Relations) -> Result<Option<Arc<Plan>>, ExecutionError> {
    Ok(plan_or_reason(catalog, analyzed, relations)?.ok())
}

/// The same with what is not built, for whoever looks into that.
///
/// # Errors
/// As [`plan()`].
pub fn plan_or_reason(_catalog: &dyn Catalog, _analyzed: &Analyzed, _relations: &dyn Relations) -> Result<Planned, ExecutionError> {
    Ok(Err("all".to_string()))
}
