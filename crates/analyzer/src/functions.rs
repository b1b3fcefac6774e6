//! Which function a call means, what its arguments become, and what it yields (manual, 10.3).
//!
//! A call that no function takes just so may be a cast, as `int4(x)`. What stands around the arguments, such as OVER or FILTER, does not decide which
//! function is meant; it is held against that function's kind afterwards (`misuse`).

mod matching;
mod misuse;

pub use misuse::CallSurroundings;

use crate::candidates::{self, Choice};
use crate::catalog::Catalog;
use crate::coercion::{Pathway, pathway};
use crate::error::{AMBIGUOUS_FUNCTION, AnalysisError, DATATYPE_MISMATCH, TOO_MANY_ARGUMENTS, UNDEFINED_FUNCTION};
use crate::facts::{CastContext, Function, FunctionKind, Volatility};
use crate::limits;
use crate::names::{no_array, type_name};
use crate::polymorphism;
use crate::types::{ANY, CATEGORY_STRING, FunctionId, NONE, RECORD, TypeId, UNKNOWN};

/// A call, as far as it decides which function is meant.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The schema, if one is written.
    pub schema: Option<&'a str>,
    /// The function's name.
    pub name: &'a str,
    /// The arguments as they are written; of an aggregate over an ordered set also those within the group, behind the others.
    pub arguments: &'a [Argument<'a>],
    /// Whether VARIADIC stands before the last argument.
    pub variadic: bool,
    /// What stands around the arguments.
    pub form: CallSurroundings,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument<'a> {
    /// Its type, which may be unknown.
    pub type_id: TypeId,
    /// The name that is written before it.
    pub name: Option<&'a str>,
}

/// What a call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A function is called.
    Function(ResolvedFunction),
    /// The argument is cast explicitly to the type.
    Cast(TypeId),
}

/// A function with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFunction {
    /// The function.
    pub function: FunctionId,
    /// What kind of function it is.
    pub kind: FunctionKind,
    /// What each argument is converted to, as they are written; behind them the types of the defaults.
    pub arguments: Vec<TypeId>,
    /// Which parameter each of them is for, counted from zero; empty if they stand in order.
    pub order: Vec<usize>,
    /// How many of the last `arguments` are defaults.
    pub defaults: usize,
    /// How many of the last arguments are made one array, and of what type that is.
    pub collected: Option<(usize, TypeId)>,
    /// Whether the last argument is an array of all arguments that the last parameter takes.
    pub variadic: bool,
    /// The type of the result.
    pub result: TypeId,
    /// Whether it yields a set.
    pub returns_set: bool,
    /// What the result depends on.
    pub volatility: Volatility,
}

/// Resolves a call of a function, aggregate or window function.
pub fn resolve(catalog: &dyn Catalog, call: &Call) -> Result<Meaning, AnalysisError> {
    if call.arguments.len() > limits::ARGUMENTS_MAX {
        let message = format!("cannot pass more than {} arguments to a function", limits::ARGUMENTS_MAX);
        return Err(AnalysisError::new(TOO_MANY_ARGUMENTS, message));
    }
    let sources: Vec<TypeId> = call.arguments.iter().map(|argument| argument.type_id).collect();
    let candidates = matching::candidates(catalog, call);
    let exact = candidates.iter().position(|candidate| candidate.types.starts_with(&sources));
    let chosen = match exact {
        Some(index) => candidates.into_iter().nth(index).map_or(Choice::Nothing, Choice::One),
        None => match cast(catalog, call) {
            Some(target) => return Ok(Meaning::Cast(target)),
            None => candidates::choose(catalog, &sources, candidates),
        },
    };
    match chosen {
        Choice::One(candidate) => match candidate.function {
            Some(function) if fits_variadic(call, &candidate.order) => {
                finish(catalog, call, &sources, candidate, function).map(Meaning::Function)
            }
            Some(_) => Err(not_found(catalog, call)),
            None => Err(not_unique(catalog, call)),
        },
        Choice::Several => Err(not_unique(catalog, call)),
        Choice::Nothing => Err(not_found(catalog, call)),
    }
}

/// VARIADIC with a name must stand before what really is the variadic parameter.
fn fits_variadic(call: &Call, order: &[usize]) -> bool {
    let last = call.arguments.len().wrapping_sub(1);
    !call.variadic || order.is_empty() || order.get(last).is_none_or(|parameter| *parameter == last)
}

/// The type that a call with one argument casts to, if its name is a type's and that takes the argument without a function.
fn cast(catalog: &dyn Catalog, call: &Call) -> Option<TypeId> {
    let [Argument { type_id: source, name: None }] = *call.arguments else { return None };
    let target = catalog.type_named(call.schema, call.name).filter(|row| row.relation == 0)?.id;
    if source == UNKNOWN {
        return Some(target);
    }
    match pathway(catalog, source, target, CastContext::Explicit)? {
        Pathway::Relabel => Some(target),
        // `text(row)` would hide a column of that name.
        Pathway::ThroughText => {
            let row = source == RECORD || catalog.is_composite(source);
            (!row || catalog.category(target) != CATEGORY_STRING).then_some(target)
        }
        Pathway::Function(_) | Pathway::Array(_) => None,
    }
}

fn finish(
    catalog: &dyn Catalog,
    call: &Call,
    sources: &[TypeId],
    candidate: matching::Candidate,
    function: &Function,
) -> Result<ResolvedFunction, AnalysisError> {
    misuse::of_kind(catalog, call, function)?;
    let mut arguments = candidate.types;
    // Defaults have the types of their parameters, once these are real.
    let mut all = sources.to_vec();
    let defaults = arguments[sources.len()..].iter();
    all.extend(defaults.map(|id| if id.is_polymorphic() { UNKNOWN } else { *id }));
    let result = polymorphism::settle(catalog, &all, &mut arguments, function.result)?;
    let mut collected = None;
    // Those of VARIADIC "any" stay as they are.
    let is_collected = candidate.expanded > 0 && function.variadic != ANY;
    let variadic = is_collected || (call.variadic && function.variadic != NONE);
    if is_collected {
        let first = arguments[arguments.len() - candidate.expanded];
        let element = if first.is_polymorphic() { sources[sources.len() - candidate.expanded] } else { first };
        let array = catalog.array_type(element).ok_or_else(|| no_array(catalog, element))?;
        collected = Some((candidate.expanded, array));
    }
    if call.variadic
        && function.variadic == ANY
        && let Some(last) = sources.last()
        && catalog.element_type(catalog.base_type(*last)).is_none()
    {
        return Err(AnalysisError::new(DATATYPE_MISMATCH, "VARIADIC argument must be an array"));
    }
    misuse::of_form(call, function)?;
    Ok(ResolvedFunction {
        function: function.id,
        kind: function.kind,
        arguments,
        order: candidate.order,
        defaults: candidate.defaults,
        collected,
        variadic,
        result,
        returns_set: function.returns_set,
        volatility: function.volatility,
    })
}

fn not_unique(catalog: &dyn Catalog, call: &Call) -> AnalysisError {
    let message = format!("function {} is not unique", signature(catalog, call));
    let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
    AnalysisError::new(AMBIGUOUS_FUNCTION, message).with_hint(hint)
}

fn not_found(catalog: &dyn Catalog, call: &Call) -> AnalysisError {
    let message = format!("function {} does not exist", signature(catalog, call));
    if call.form.ordered > 1 && !call.form.within_group {
        let hint = "No aggregate function matches the given name and argument types. Perhaps you misplaced ORDER BY; ORDER BY must appear \
                    after all regular arguments of the aggregate.";
        return AnalysisError::new(UNDEFINED_FUNCTION, message).with_hint(hint);
    }
    let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
    AnalysisError::new(UNDEFINED_FUNCTION, message).with_hint(hint)
}

/// How a call is told in messages: its name with the types of the arguments, and names that are written.
pub fn signature(catalog: &dyn Catalog, call: &Call) -> String {
    let argument = |argument: &Argument| {
        let name = argument.name.map(|name| format!("{name} => ")).unwrap_or_default();
        format!("{name}{}", type_name(catalog, argument.type_id))
    };
    let arguments: Vec<String> = call.arguments.iter().map(argument).collect();
    format!("{}({})", shown_name(call), arguments.join(", "))
}

/// The name as it is written.
fn shown_name(call: &Call) -> String {
    match call.schema {
        Some(schema) => format!("{schema}.{}", call.name),
        None => call.name.to_string(),
    }
}
