//! A function of a user that is to be made, and how it is found out whether it has a meaning.

use crate::sql::names;
use messages::Timestamp;
use messages::schema::{Catalog, FunctionSchema, ProcedureSchema, RoutineResult};
use std::sync::Arc;

/// A function that is to be made.
#[derive(Clone, Debug)]
pub struct NewFunction {
    /// Its definition; its number and rights are not given out yet.
    pub schema: ProcedureSchema,
    /// OR REPLACE.
    pub replace: bool,
    /// Whether it has to have a meaning by now (`check_function_bodies`). If not, whoever calls it finds out.
    pub is_tried: bool,
}

impl NewFunction {
    /// A query that has a meaning if the function and its defaults have one.
    pub fn trial(&self) -> Arc<str> {
        // Nothing calls a function of triggers but triggers.
        let is_trigger = |known: &FunctionSchema| matches!(known.result, RoutineResult::Trigger);
        if !self.is_tried || self.schema.function.as_ref().is_some_and(is_trigger) {
            return "SELECT NULL".into();
        }
        let defaults = self.schema.function.as_ref().map_or(0, |function| function.defaults.len());
        let given = self.schema.parameters.iter().take(self.schema.parameters.len() - defaults);
        let arguments: Vec<String> = given.map(|(_, of)| format!("CAST(NULL AS {})", of.unmodified())).collect();
        let arguments = arguments.join(", ");
        format!("SELECT * FROM {}({arguments})", names::quote(&self.schema.name)).into()
    }

    /// A catalog in which it is made already.
    pub fn within(&self, catalog: &Catalog) -> Arc<Catalog> {
        let mut catalog = catalog.clone();
        let mut schema = self.schema.clone();
        // No other function is numbered so while this is looked at.
        schema.oid = u32::MAX >> 1;
        catalog.procedures.insert(schema.name.clone(), (Arc::new(schema), Timestamp::ZERO));
        Arc::new(catalog)
    }
}
