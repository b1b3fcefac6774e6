//! What stands around the arguments of a call, held against the kind of function: an aggregate may be DISTINCT, a window function needs OVER.

use super::{Call, shown_name, signature};
use crate::catalog::Catalog;
use crate::error::{AnalysisError, FEATURE_NOT_SUPPORTED, UNDEFINED_FUNCTION, WRONG_OBJECT_TYPE};
use crate::facts::{Aggregate, Function, FunctionKind};
use crate::types::NONE;

/// What stands around the arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallSurroundings {
    /// `f(*)`
    pub star: bool,
    /// DISTINCT before the arguments.
    pub distinct: bool,
    /// How many expressions ORDER BY has, in the parentheses or in WITHIN GROUP.
    pub ordered: usize,
    /// Whether WITHIN GROUP follows.
    pub within_group: bool,
    /// Whether FILTER follows.
    pub filter: bool,
    /// Whether OVER follows.
    pub over: bool,
}

/// Refuses what does not go with the kind of function.
pub fn of_kind(catalog: &dyn Catalog, call: &Call, function: &Function) -> Result<(), AnalysisError> {
    let (name, form) = (shown_name(call), &call.form);
    match function.kind {
        FunctionKind::Function => plain(form, &name),
        FunctionKind::Procedure => {
            let message = format!("{} is a procedure", signature(catalog, call));
            Err(wrong(message).with_hint("To call a procedure, use CALL."))
        }
        FunctionKind::Window if !form.over => Err(wrong(format!("window function {name} requires an OVER clause"))),
        FunctionKind::Window if form.within_group => {
            Err(wrong(format!("window function {name} cannot have WITHIN GROUP")))
        }
        FunctionKind::Window => Ok(()),
        FunctionKind::Aggregate => match catalog.aggregate(function.id).filter(|row| row.kind != 'n') {
            Some(row) => ordered_set(catalog, call, function, row),
            None if form.within_group => {
                Err(wrong(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP")))
            }
            None => Ok(()),
        },
    }
}

/// Refuses what the kind of function has no meaning for, once the arguments are settled.
pub fn of_form(call: &Call, function: &Function) -> Result<(), AnalysisError> {
    let (name, form) = (shown_name(call), &call.form);
    let aggregate = function.kind == FunctionKind::Aggregate;
    if form.over && (aggregate || function.kind == FunctionKind::Window) {
        return as_window(call, aggregate, &name);
    }
    if aggregate {
        if call.arguments.is_empty() && !form.star && !form.within_group {
            return Err(wrong(format!("{name}(*) must be used to call a parameterless aggregate function")));
        }
        if call.arguments.iter().any(|argument| argument.name.is_some()) {
            return Err(unsupported("aggregates cannot use named arguments"));
        }
    }
    Ok(())
}

fn wrong(message: String) -> AnalysisError {
    AnalysisError::new(WRONG_OBJECT_TYPE, message)
}

fn unsupported(message: &str) -> AnalysisError {
    AnalysisError::new(FEATURE_NOT_SUPPORTED, message)
}

fn plain(form: &CallSurroundings, name: &str) -> Result<(), AnalysisError> {
    let not_aggregate = |what: &str| Err(wrong(format!("{what} specified, but {name} is not an aggregate function")));
    if form.star {
        return not_aggregate(&format!("{name}(*)"));
    }
    if form.distinct {
        return not_aggregate("DISTINCT");
    }
    if form.within_group {
        return not_aggregate("WITHIN GROUP");
    }
    if form.ordered > 0 {
        return not_aggregate("ORDER BY");
    }
    if form.filter {
        return not_aggregate("FILTER");
    }
    if form.over {
        return Err(wrong(format!("OVER specified, but {name} is not a window function nor an aggregate function")));
    }
    Ok(())
}

fn as_window(call: &Call, aggregate: bool, name: &str) -> Result<(), AnalysisError> {
    let form = &call.form;
    if form.distinct {
        return Err(unsupported("DISTINCT is not implemented for window functions"));
    }
    if aggregate && call.arguments.is_empty() && !form.star {
        return Err(wrong(format!("{name}(*) must be used to call a parameterless aggregate function")));
    }
    if form.ordered > 0 {
        return Err(unsupported("aggregate ORDER BY is not implemented for window functions"));
    }
    if form.filter && !aggregate {
        return Err(unsupported("FILTER is not implemented for non-aggregate window functions"));
    }
    Ok(())
}

/// An aggregate over an ordered set has as many arguments before WITHIN GROUP as it says, or, a hypothetical row, as many as are ordered.
fn ordered_set(catalog: &dyn Catalog, call: &Call, function: &Function, row: &Aggregate) -> Result<(), AnalysisError> {
    let (name, form) = (shown_name(call), &call.form);
    if !form.within_group {
        return Err(wrong(format!("WITHIN GROUP is required for ordered-set aggregate {name}")));
    }
    if form.over {
        return Err(unsupported(&format!("OVER is not supported for ordered-set aggregate {name}")));
    }
    let direct = call.arguments.len().saturating_sub(form.ordered);
    let variadic = function.variadic != NONE;
    let missing =
        || AnalysisError::new(UNDEFINED_FUNCTION, format!("function {} does not exist", signature(catalog, call)));
    if !variadic && direct != row.direct_arguments {
        let plural = if row.direct_arguments == 1 { "" } else { "s" };
        let hint = format!(
            "There is an ordered-set aggregate {name}, but it requires {} direct argument{plural}, not {direct}.",
            row.direct_arguments
        );
        return Err(missing().with_hint(hint));
    }
    if row.kind == 'h' && call.arguments.len() != 2 * form.ordered {
        let hint = format!(
            "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {direct}) must match the \
             number of ordering columns (here {}).",
            form.ordered
        );
        return Err(missing().with_hint(hint));
    }
    Ok(())
}
