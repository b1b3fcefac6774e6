//! Which operator is meant, of what types its sides are then, and what it yields (manual, 10.2).

use crate::candidates::{self, Choice};
use crate::catalog::{Catalog, Found};
use crate::error::{AMBIGUOUS_FUNCTION, AnalysisError, UNDEFINED_FUNCTION, WRONG_OBJECT_TYPE};
use crate::facts::Operator;
use crate::names::{no_array, type_name};
use crate::polymorphism;
use crate::types::{BOOL, FunctionId, NONE, OperatorId, TypeId, UNKNOWN};

/// An operator with sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedOperator {
    /// The operator.
    pub operator: OperatorId,
    /// What computes it.
    pub function: FunctionId,
    /// What each side is converted to; the right side alone of a prefix operator.
    pub arguments: Vec<TypeId>,
    /// The type of the result.
    pub result: TypeId,
}

/// A name of an operator, in a schema or along the search path.
#[derive(Clone, Copy, Debug)]
pub struct OperatorName<'a> {
    /// The schema, if one is written.
    pub schema: Option<&'a str>,
    /// The name.
    pub name: &'a str,
}

impl<'a> OperatorName<'a> {
    /// A name along the search path.
    pub fn new(name: &'a str) -> OperatorName<'a> {
        OperatorName { schema: None, name }
    }

    /// How it is told in messages.
    fn shown(self) -> String {
        match self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.to_string(),
        }
    }
}

/// An operator that may be meant; of one with a prefix only the right type is looked at.
struct OperatorCandidate<'c> {
    row: &'c Operator,
    types: Vec<TypeId>,
}

impl candidates::Candidate for OperatorCandidate<'_> {
    fn types(&self) -> &[TypeId] {
        &self.types
    }
}

/// Resolves an operator between two sides. A type may be unknown.
pub fn binary(
    catalog: &dyn Catalog,
    name: OperatorName,
    left: TypeId,
    right: TypeId,
) -> Result<ResolvedOperator, AnalysisError> {
    resolve(catalog, name, &[left, right])
}

/// Resolves an operator before its only side.
pub fn prefix(catalog: &dyn Catalog, name: OperatorName, right: TypeId) -> Result<ResolvedOperator, AnalysisError> {
    resolve(catalog, name, &[right])
}

fn resolve(catalog: &dyn Catalog, name: OperatorName, sources: &[TypeId]) -> Result<ResolvedOperator, AnalysisError> {
    let row = select(catalog, name, sources)?;
    let mut arguments = taken(row);
    let result = polymorphism::settle(catalog, sources, &mut arguments, row.result)?;
    Ok(ResolvedOperator { operator: row.id, function: row.function, arguments, result })
}

/// The operator of `left = ANY (right)` and its like: it is looked for between the left side and an element. The second of the arguments is the array's type.
pub fn of_array(
    catalog: &dyn Catalog,
    name: OperatorName,
    left: TypeId,
    right: TypeId,
) -> Result<ResolvedOperator, AnalysisError> {
    let wrong = |words: &str| AnalysisError::new(WRONG_OBJECT_TYPE, format!("op ANY/ALL (array) {words}"));
    let element = match right {
        UNKNOWN => UNKNOWN,
        right => catalog.element_type(catalog.base_type(right)).ok_or_else(|| wrong("requires array on right side"))?,
    };
    let row = select(catalog, name, &[left, element])?;
    let mut arguments = taken(row);
    let result = polymorphism::settle(catalog, &[left, element], &mut arguments, row.result)?;
    if result != BOOL {
        return Err(wrong("requires operator to yield boolean"));
    }
    if catalog.function(row.function).is_some_and(|function| function.returns_set) {
        return Err(wrong("requires operator not to return a set"));
    }
    // What still is polymorphic takes the array as it is.
    if arguments[1].is_polymorphic() {
        arguments[1] = right;
    } else {
        let element = arguments[1];
        arguments[1] = catalog.array_type(element).ok_or_else(|| no_array(catalog, element))?;
    }
    Ok(ResolvedOperator { operator: row.id, function: row.function, arguments, result })
}

fn taken(row: &Operator) -> Vec<TypeId> {
    row.left.known().into_iter().chain([row.right]).collect()
}

fn select<'c>(catalog: &'c dyn Catalog, name: OperatorName, sources: &[TypeId]) -> Result<&'c Operator, AnalysisError> {
    let candidates = of_form(catalog, name, sources.len());
    if let Some(row) = exact(catalog, sources, &candidates) {
        return Ok(row);
    }
    match candidates::choose(catalog, sources, candidates) {
        Choice::One(candidate) => Ok(candidate.row),
        Choice::Several => {
            let message = format!("operator is not unique: {}", signature(catalog, name, sources));
            let hint = "Could not choose a best candidate operator. You might need to add explicit type casts.";
            Err(AnalysisError::new(AMBIGUOUS_FUNCTION, message).with_hint(hint))
        }
        Choice::Nothing => {
            let message = format!("operator does not exist: {}", signature(catalog, name, sources));
            let hint = match sources.len() {
                1 => {
                    "No operator matches the given name and argument type. You might need to add an explicit type cast."
                }
                _ => {
                    "No operator matches the given name and argument types. You might need to add explicit type casts."
                }
            };
            Err(AnalysisError::new(UNDEFINED_FUNCTION, message).with_hint(hint))
        }
    }
}

/// Operators of the name with as many sides; of those with the same types the first along the search path.
fn of_form<'c>(catalog: &'c dyn Catalog, name: OperatorName, sides: usize) -> Vec<OperatorCandidate<'c>> {
    let mut found: Vec<Found<'c, Operator>> = catalog.operators_named(name.schema, name.name);
    found.retain(|found| (found.row.left == NONE) == (sides == 1));
    found.sort_by_key(|found| found.place);
    let mut candidates: Vec<OperatorCandidate<'c>> = Vec::with_capacity(found.len());
    for Found { row, .. } in found {
        let types = taken(row);
        if !candidates.iter().any(|candidate| candidate.types == types) {
            candidates.push(OperatorCandidate { row, types });
        }
    }
    candidates
}

/// The operator that takes just these types. An unknown side is first supposed to be like the other one, and then like what that is over, if it is a domain.
fn exact<'c>(catalog: &dyn Catalog, sources: &[TypeId], candidates: &[OperatorCandidate<'c>]) -> Option<&'c Operator> {
    let find =
        |types: &[TypeId]| candidates.iter().find(|candidate| candidate.types == types).map(|candidate| candidate.row);
    match *sources {
        [UNKNOWN, known] | [known, UNKNOWN] => {
            let base = catalog.base_type(known);
            find(&[known, known]).or_else(|| find(&[base, base]).filter(|_| base != known))
        }
        _ => find(sources),
    }
}

fn signature(catalog: &dyn Catalog, name: OperatorName, sources: &[TypeId]) -> String {
    let name = name.shown();
    match sources {
        [right] => format!("{name} {}", type_name(catalog, *right)),
        [left, right] => format!("{} {name} {}", type_name(catalog, *left), type_name(catalog, *right)),
        _ => name,
    }
}
