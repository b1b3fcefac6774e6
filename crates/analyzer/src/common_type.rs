//! The one type of several expressions: of UNION, CASE, ARRAY, VALUES, COALESCE, GREATEST, IN (manual, 10.5).

use crate::catalog::Catalog;
use crate::coercion::{SourceKind, Step, can_coerce, conversion};
use crate::error::{AnalysisError, CANNOT_COERCE, DATATYPE_MISMATCH};
use crate::facts::CastContext;
use crate::names::{no_array, type_name};
use crate::types::{INT2VECTOR, NO_MODIFIER, OIDVECTOR, TEXT, TypeId, Typed, UNKNOWN};

/// An expression whose type cannot go with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The type so far.
    pub so_far: TypeId,
    /// The type that does not go with it.
    pub other: TypeId,
    /// Which expression has it.
    pub index: usize,
}

/// The common type. What is unknown takes the type of the others, or text. The result need not suit all: [`to_common`] tells.
pub fn common_type(catalog: &dyn Catalog, types: &[TypeId]) -> Result<TypeId, Mismatch> {
    let Some((first, rest)) = types.split_first() else { return Ok(TEXT) };
    if *first != UNKNOWN && rest.iter().all(|id| id == first) {
        return Ok(*first);
    }
    let mut so_far = catalog.base_type(*first);
    for (index, other) in rest.iter().enumerate() {
        let other = catalog.base_type(*other);
        if other == UNKNOWN || other == so_far {
            continue;
        }
        if so_far == UNKNOWN {
            so_far = other;
            continue;
        }
        let category = catalog.category(so_far);
        if catalog.category(other) != category {
            return Err(Mismatch { so_far, other, index: index + 1 });
        }
        let becomes = |from, to| can_coerce(catalog, &[from], &[to], CastContext::Implicit);
        if !catalog.is_preferred(so_far, category) && becomes(so_far, other) && !becomes(other, so_far) {
            so_far = other;
        }
    }
    Ok(if so_far == UNKNOWN { TEXT } else { so_far })
}

/// The common type for something that has a name: `UNION`, `CASE`. The error is that of the expression at the index beside it.
pub fn common_type_of(catalog: &dyn Catalog, types: &[TypeId], name: &str) -> Result<TypeId, (AnalysisError, usize)> {
    common_type(catalog, types).map_err(|mismatch| {
        let (so_far, other) = (type_name(catalog, mismatch.so_far), type_name(catalog, mismatch.other));
        let message = format!("{name} types {so_far} and {other} cannot be matched");
        (AnalysisError::new(DATATYPE_MISMATCH, message), mismatch.index)
    })
}

/// What is done to one of the expressions so that it has the common type.
pub fn to_common(
    catalog: &dyn Catalog,
    source: TypeId,
    kind: SourceKind,
    common: TypeId,
    name: &str,
) -> Result<Vec<Step>, AnalysisError> {
    if !can_coerce(catalog, &[source], &[common], CastContext::Implicit) {
        let (from, to) = (type_name(catalog, source), type_name(catalog, common));
        let message = format!("{name} could not convert type {from} to {to}");
        return Err(AnalysisError::new(CANNOT_COERCE, message));
    }
    conversion(catalog, source, kind, common, CastContext::Implicit)
}

/// Whether the common type suits all: IN takes its list one by one where it does not.
pub fn suits_all(catalog: &dyn Catalog, types: &[TypeId], common: TypeId) -> bool {
    types.iter().all(|id| can_coerce(catalog, &[*id], &[common], CastContext::Implicit))
}

/// The modifier of the common type: that of all expressions, if they agree in type and modifier.
pub fn common_modifier(all: &[Typed], common: TypeId) -> i32 {
    match all.first() {
        Some(first) if all.iter().all(|typed| typed.id == common && typed.modifier == first.modifier) => first.modifier,
        _ => NO_MODIFIER,
    }
}

/// The type of ARRAY[...] over expressions that are converted to a common type; 42704 if there are no arrays of it. Arrays in it are its further dimensions.
pub fn array_constructor(catalog: &dyn Catalog, common: TypeId) -> Result<TypeId, AnalysisError> {
    promoted_array(catalog, common).ok_or_else(|| no_array(catalog, common))
}

/// The array type of values that may be arrays already: these stay as they are, except the two vectors, which have arrays of their own.
pub fn promoted_array(catalog: &dyn Catalog, id: TypeId) -> Option<TypeId> {
    if matches!(id, INT2VECTOR | OIDVECTOR) {
        return catalog.array_type(id);
    }
    let base = catalog.base_type(id);
    let is_array = id == base && catalog.element_type(id).is_some();
    if is_array { Some(id) } else { catalog.array_type(id) }
}
