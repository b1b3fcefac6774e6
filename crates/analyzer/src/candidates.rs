//! Which of several operators or functions of a name is meant (manual, 10.2 and 10.3, steps 4): those whose arguments fit best.

use crate::catalog::Catalog;
use crate::coercion::can_coerce;
use crate::facts::CastContext;
use crate::types::{CATEGORY_STRING, TypeId, UNKNOWN};

/// What can be chosen: something with types of arguments, as many as the call has.
pub trait Candidate {
    /// The types that it takes.
    fn types(&self) -> &[TypeId];
}

/// What a choice among candidates comes to.
#[derive(Debug)]
pub enum Choice<Candidate> {
    /// None takes the arguments.
    Nothing,
    /// This one.
    One(Candidate),
    /// Several take the arguments, none better than the others.
    Several,
}

/// Chooses. The sources may be unknown. A candidate may take more arguments than are given: those have defaults.
pub fn choose<Item: Candidate>(catalog: &dyn Catalog, sources: &[TypeId], candidates: Vec<Item>) -> Choice<Item> {
    let mut left = candidates;
    left.retain(|candidate| can_coerce(catalog, sources, candidate.types(), CastContext::Implicit));
    if left.is_empty() {
        return Choice::Nothing;
    }
    if left.len() > 1 {
        narrow(catalog, sources, &mut left);
    }
    match left.len() {
        1 => left.pop().map_or(Choice::Nothing, Choice::One),
        _ => Choice::Several,
    }
}

/// Leaves one candidate, if the rules lead to one. The rules are taken in turn, each as far as needed.
fn narrow<Item: Candidate>(catalog: &dyn Catalog, sources: &[TypeId], left: &mut Vec<Item>) {
    let base: Vec<TypeId> =
        sources.iter().map(|id| if *id == UNKNOWN { UNKNOWN } else { catalog.base_type(*id) }).collect();
    let categories: Vec<char> = base.iter().map(|id| catalog.category(*id)).collect();
    let known = |index: &usize| base[*index] != UNKNOWN;
    let count = |takes: &dyn Fn(usize) -> bool| (0..base.len()).filter(known).filter(|index| takes(*index)).count();
    keep_best(left, |types| count(&|index| types[index] == base[index]));
    if left.len() == 1 {
        return;
    }
    keep_best(left, |types| {
        count(&|index| types[index] == base[index] || catalog.is_preferred(types[index], categories[index]))
    });
    if left.len() == 1 || base.iter().all(|id| *id != UNKNOWN) {
        return;
    }
    by_category(catalog, &base, left);
    if left.len() > 1 {
        by_known_type(catalog, &base, left);
    }
}

/// Keeps those that score highest.
fn keep_best<Item: Candidate>(left: &mut Vec<Item>, score: impl Fn(&[TypeId]) -> usize) {
    let best = left.iter().map(|candidate| score(candidate.types())).max().unwrap_or_default();
    left.retain(|candidate| score(candidate.types()) == best);
}

/// At each unknown argument, keeps those that take the category that all agree on, text if any takes that; of these the preferred type, if any takes that.
fn by_category<Item: Candidate>(catalog: &dyn Catalog, base: &[TypeId], left: &mut Vec<Item>) {
    let mut wanted = Vec::new();
    for index in (0..base.len()).filter(|index| base[*index] == UNKNOWN) {
        let types = || left.iter().map(|candidate| candidate.types()[index]);
        let first = types().next().map_or(CATEGORY_STRING, |id| catalog.category(id));
        let category = if types().any(|id| catalog.category(id) == CATEGORY_STRING) {
            CATEGORY_STRING
        } else if types().all(|id| catalog.category(id) == first) {
            first
        } else {
            return;
        };
        let preferred = types().any(|id| catalog.is_preferred(id, category));
        wanted.push((index, category, preferred));
    }
    let fits = |candidate: &Item| {
        wanted.iter().all(|(index, category, preferred)| {
            let id = candidate.types()[*index];
            catalog.category(id) == *category && (!preferred || catalog.is_preferred(id, *category))
        })
    };
    if left.iter().any(fits) {
        left.retain(fits);
    }
}

/// If all known arguments have one type, supposes that the unknown ones have it, too. It decides only if that leaves one.
fn by_known_type<Item: Candidate>(catalog: &dyn Catalog, base: &[TypeId], left: &mut Vec<Item>) {
    let mut known = base.iter().filter(|id| **id != UNKNOWN);
    let Some(first) = known.next() else { return };
    if known.any(|id| id != first) {
        return;
    }
    let supposed = vec![*first; base.len()];
    let takes = |candidate: &Item| can_coerce(catalog, &supposed, candidate.types(), CastContext::Implicit);
    if left.iter().filter(|candidate| takes(candidate)).count() == 1 {
        left.retain(takes);
    }
}
