//! Which functions of a name could take the arguments of a call by their number and names: in place, by name, from defaults, or as a VARIADIC parameter's elements.
//!
//! Of functions that would take the very same types only one remains: the first along the search path, then the one that need not expand its last parameter. If that
//! does not decide, the candidate that remains stands for no function at all, so that choosing it is ambiguous.

use super::Call;
use crate::candidates;
use crate::catalog::{Catalog, Found};
use crate::facts::{Function, Parameter};
use crate::types::{NONE, TypeId};

/// A function that could be meant, with the call's arguments at its parameters.
pub struct Candidate<'c> {
    place: usize,
    /// The function; `None` if several are meant in the same way.
    pub function: Option<&'c Function>,
    /// Types of the arguments as they are written, then of those that have defaults.
    pub types: Vec<TypeId>,
    /// Which parameter each of `types` is for; empty if they stand in order.
    pub order: Vec<usize>,
    /// How many of the last arguments are elements of a VARIADIC parameter.
    pub expanded: usize,
    /// How many of `types` are defaults.
    pub defaults: usize,
}

impl candidates::Candidate for Candidate<'_> {
    fn types(&self) -> &[TypeId] {
        &self.types
    }
}

/// All candidates of a call.
pub fn candidates<'c>(catalog: &'c dyn Catalog, call: &Call) -> Vec<Candidate<'c>> {
    let mut candidates: Vec<Candidate<'c>> = Vec::new();
    for found in catalog.functions_named(call.schema, call.name) {
        let named = call.arguments.iter().any(|argument| argument.name.is_some());
        let candidate = if named { by_name(call, &found) } else { in_order(call, &found) };
        if let Some(candidate) = candidate {
            add(&mut candidates, candidate);
        }
    }
    candidates
}

/// Adds a candidate, or settles which of two that take the same types remains.
fn add<'c>(candidates: &mut Vec<Candidate<'c>>, new: Candidate<'c>) {
    let given = |candidate: &Candidate| candidate.types.len() - candidate.defaults;
    let same = candidates.iter().position(|old| {
        let count = given(old);
        count == given(&new) && old.types[..count] == new.types[..count]
    });
    let Some(index) = same else {
        candidates.push(new);
        return;
    };
    let old = &mut candidates[index];
    let rank = |candidate: &Candidate| (candidate.place, candidate.expanded > 0);
    match rank(&new).cmp(&rank(old)) {
        std::cmp::Ordering::Less => *old = new,
        std::cmp::Ordering::Equal => old.function = None,
        std::cmp::Ordering::Greater => {}
    }
}

fn in_order<'c>(call: &Call, found: &Found<'c, Function>) -> Option<Candidate<'c>> {
    let (row, given) = (found.row, call.arguments.len());
    let parameters = row.arguments.len();
    let mut types = row.arguments.clone();
    let (mut expanded, mut defaults) = (0, 0);
    if row.variadic != NONE && !call.variadic && parameters <= given {
        expanded = given - parameters + 1;
        types.truncate(parameters - 1);
        types.resize(given, row.variadic);
    } else if given < parameters {
        defaults = parameters - given;
        if defaults > row.defaults {
            return None;
        }
    } else if given > parameters {
        return None;
    }
    Some(Candidate { place: found.place, function: Some(row), types, order: Vec::new(), expanded, defaults })
}

fn by_name<'c>(call: &Call, found: &Found<'c, Function>) -> Option<Candidate<'c>> {
    let row = found.row;
    // Elements of a VARIADIC parameter have no names.
    if row.variadic != NONE && !call.variadic {
        return None;
    }
    let parameters = row.arguments.len();
    if call.arguments.len() > parameters || row.parameters.is_empty() {
        return None;
    }
    let inputs: Vec<&Parameter> = row.parameters.iter().filter(|parameter| parameter.is_input()).collect();
    let mut order = Vec::with_capacity(parameters);
    for (index, argument) in call.arguments.iter().enumerate() {
        let parameter = match argument.name {
            None => index,
            Some(name) => inputs.iter().position(|parameter| parameter.name == name)?,
        };
        if order.contains(&parameter) {
            return None;
        }
        order.push(parameter);
    }
    let defaults = parameters - order.len();
    for parameter in 0..parameters {
        if !order.contains(&parameter) {
            if parameter < parameters - row.defaults {
                return None;
            }
            order.push(parameter);
        }
    }
    let types = order.iter().map(|parameter| row.arguments[*parameter]).collect();
    Some(Candidate { place: found.place, function: Some(row), types, order, expanded: 0, defaults })
}
