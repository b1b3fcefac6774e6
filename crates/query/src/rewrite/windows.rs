//! Windows that have names: each use of one gets the definition (`transformWindowDefinitions` in parse_clause.c). The planner knows a name alone, and
//! ignores it where something is added.

use super::build::folded;
use super::subqueries::outside_subqueries;
use crate::error::QueryError;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, Select, WindowSpec, WindowType,
};
use std::collections::BTreeMap;

/// Definitions by name.
type Named = BTreeMap<String, WindowSpec>;

/// Writes the definitions of windows out where they are used. Errors: 42704 for a name that there is not, 42P20 for one that is given twice, or a
/// definition that contradicts that which it names.
pub(super) fn write_out(select: &mut Select) -> Result<(), QueryError> {
    let mut named = Named::new();
    for NamedWindowDefinition(name, definition) in std::mem::take(&mut select.named_window) {
        let specified = match definition {
            NamedWindowExpr::NamedWindow(other) => find(&named, &other)?,
            NamedWindowExpr::WindowSpec(specified) => completed(specified, &named)?,
        };
        if named.insert(folded(&name), specified).is_some() {
            return Err(QueryError::new("42P20", format!("window \"{}\" is already defined", folded(&name))));
        }
    }
    let mut result = Ok(());
    for item in &mut select.projection {
        outside_subqueries(item, |expression| {
            if let Expr::Function(function) = expression
                && let Some(window) = function.over.take()
            {
                let specified = match window {
                    WindowType::NamedWindow(name) => find(&named, &name),
                    WindowType::WindowSpec(specified) => completed(specified, &named),
                };
                match specified {
                    Ok(specified) => function.over = Some(WindowType::WindowSpec(specified)),
                    Err(error) => result = Err(error),
                }
            }
        });
    }
    result
}

fn find(named: &Named, name: &Ident) -> Result<WindowSpec, QueryError> {
    let name = folded(name);
    let missing = || QueryError::new("42704", format!("window \"{name}\" does not exist"));
    named.get(&name).cloned().ok_or_else(missing)
}

/// A definition with what the one that it names has.
fn completed(mut specified: WindowSpec, named: &Named) -> Result<WindowSpec, QueryError> {
    let Some(name) = specified.window_name.take() else { return Ok(specified) };
    let base = find(named, &name)?;
    let contradicts = |message: &str| Err(QueryError::new("42P20", message));
    if !specified.partition_by.is_empty() {
        return contradicts("cannot override PARTITION BY clause of a window");
    }
    if !specified.order_by.is_empty() && !base.order_by.is_empty() {
        return contradicts("cannot override ORDER BY clause of a window");
    }
    if base.window_frame.is_some() {
        return contradicts("cannot copy a window because it has a frame clause");
    }
    if specified.order_by.is_empty() {
        specified.order_by = base.order_by;
    }
    Ok(WindowSpec { partition_by: base.partition_by, ..specified })
}
