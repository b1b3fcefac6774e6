//! `set_config` in a query: the session sets parameters, and it does not see what a query computes.
//!
//! Invariant: a call that is made is refused, so that none is taken for one that has set something. A query whose rows are none makes none.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use datafusion::logical_expr::ScalarUDF;
use values::{Type, Value};

#[derive(Debug, PartialEq, Eq, Hash)]
struct SetConfig;

/// 0A000.
pub fn set_config_refused() -> QueryError {
    QueryError::unsupported("set_config() with values that are computed, or beside FROM, is not supported; use SET")
}

/// The function of that name.
pub fn of_name(name: &str) -> Option<ScalarUDF> {
    (name == "set_config").then(|| rowwise::function(SetConfig))
}

impl RowImplementation for SetConfig {
    fn name(&self) -> &str {
        "set_config"
    }

    fn result(&self, _: &[Option<Type>]) -> Result<Type, QueryError> {
        Ok(Type::Text)
    }

    fn is_strict(&self) -> bool {
        false
    }

    fn call(&self, _: &[Value]) -> Result<Value, QueryError> {
        Err(set_config_refused())
    }
}
