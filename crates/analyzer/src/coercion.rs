//! How a value of one type becomes one of another, and where that is allowed (manual, 10.1, 10.4 and CREATE CAST).
//!
//! [`pathway`] says how; [`conversion`] does it for an expression, where an unknown literal or a parameter takes the type that is asked for.

use crate::catalog::Catalog;
use crate::error::{AnalysisError, CANNOT_COERCE, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED};
use crate::facts::{CastContext, CastMethod};
use crate::names::type_name;
use crate::polymorphism;
use crate::types::{
    ANY, ANYARRAY, ANYCOMPATIBLE, ANYCOMPATIBLENONARRAY, ANYELEMENT, ANYNONARRAY, BOOL, CATEGORY_STRING, FunctionId,
    INT2VECTOR, NONE, OIDVECTOR, RECORD, RECORD_ARRAY, TypeId, TypeKind, UNKNOWN,
};

/// One way from a type to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pathway {
    /// The bytes are the same.
    Relabel,
    /// A function makes it.
    Function(FunctionId),
    /// Each element goes this way; none if elements of both have the same type.
    Array(Option<Box<Pathway>>),
    /// The text of the one is read as the other.
    ThroughText,
}

/// What is done to an expression so that it has a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An unknown literal is read as a value of the type.
    Literal(TypeId),
    /// A parameter of unknown type has this type from now on.
    Parameter(TypeId),
    /// It goes a way to the type, which is not a domain.
    Path(Pathway, TypeId),
    /// It is checked against a domain.
    Domain(TypeId),
    /// A row of known columns is seen as any row, or an array of them as an array of any.
    AnyRow(TypeId),
    /// A row takes the columns of this type.
    Row(TypeId),
    /// A row of a child is seen as one of its parent.
    Parent(TypeId),
}

/// What a source is, where the type alone does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A literal: as long as its type is unknown, it becomes any type by being read.
    Literal,
    /// A parameter: as long as its type is unknown, the first that asks decides.
    Parameter,
    /// A row constructor or a whole row: its columns are known although its type is `record`.
    Row,
    /// Anything else.
    Other,
}

/// The way from a type to another in a context; `None` if there is none there. That unknown literals become anything is not said here.
pub fn pathway(catalog: &dyn Catalog, source: TypeId, target: TypeId, context: CastContext) -> Option<Pathway> {
    let (source, target) = (catalog.base_type(source), catalog.base_type(target));
    if source == target {
        return Some(Pathway::Relabel);
    }
    if let Some(cast) = catalog.cast(source, target) {
        return (context >= cast.context).then_some(match cast.method {
            CastMethod::Function(function) => Pathway::Function(function),
            CastMethod::Relabel => Pathway::Relabel,
            CastMethod::ThroughText => Pathway::ThroughText,
        });
    }
    // The two vectors are arrays that must not be null, or begin at 1, so no array becomes one.
    if target != OIDVECTOR
        && target != INT2VECTOR
        && let (Some(from), Some(to)) = (catalog.element_type(source), catalog.element_type(target))
        && let Some(path) = pathway(catalog, from, to, context)
    {
        return Some(Pathway::Array((from != to).then(|| Box::new(path))));
    }
    let text = |id| catalog.category(id) == CATEGORY_STRING;
    let through_text =
        (context >= CastContext::Assignment && text(target)) || (context >= CastContext::Explicit && text(source));
    through_text.then_some(Pathway::ThroughText)
}

/// Whether each of the sources can become the target at its place. Polymorphic targets must agree with each other.
pub fn can_coerce(catalog: &dyn Catalog, sources: &[TypeId], targets: &[TypeId], context: CastContext) -> bool {
    let mut polymorphic = false;
    for (source, target) in sources.iter().zip(targets) {
        if target.is_polymorphic() {
            polymorphic = true;
        } else if !can_become(catalog, *source, *target, context) {
            return false;
        }
    }
    !polymorphic || polymorphic_agree(catalog, sources, targets)
}

fn polymorphic_agree(catalog: &dyn Catalog, sources: &[TypeId], targets: &[TypeId]) -> bool {
    polymorphism::is_consistent(catalog, sources, targets)
}

fn can_become(catalog: &dyn Catalog, source: TypeId, target: TypeId, context: CastContext) -> bool {
    source == target
        || target == ANY
        || source == UNKNOWN
        || pathway(catalog, source, target, context).is_some()
        || (source == RECORD && catalog.is_composite(target))
        || (target == RECORD && catalog.is_composite(source))
        || (target == RECORD_ARRAY && is_composite_array(catalog, source))
        || catalog.inherits(source, target)
}

fn is_composite_array(catalog: &dyn Catalog, id: TypeId) -> bool {
    catalog.element_type(id).is_some_and(|element| catalog.is_composite(element))
}

/// What is done to an expression of type `source` so that it has type `target`, once [`can_coerce`] has said that it can.
pub fn conversion(
    catalog: &dyn Catalog,
    source: TypeId,
    kind: SourceKind,
    target: TypeId,
    context: CastContext,
) -> Result<Vec<Step>, AnalysisError> {
    if target == source {
        return Ok(Vec::new());
    }
    if matches!(target, ANY | ANYELEMENT | ANYNONARRAY | ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY) {
        return Ok(Vec::new());
    }
    let base = catalog.base_type(target);
    let into_domain = |mut steps: Vec<Step>| {
        if base != target {
            steps.push(Step::Domain(target));
        }
        steps
    };
    if target.is_polymorphic() && source != UNKNOWN {
        // What is known must have been matched to the pseudo-type already; a domain shows as what it is over.
        let seen = catalog.base_type(source);
        return Ok(if seen == source { Vec::new() } else { vec![Step::Path(Pathway::Relabel, seen)] });
    }
    if source == UNKNOWN {
        match kind {
            SourceKind::Literal => {
                readable(catalog, base)?;
                return Ok(into_domain(vec![Step::Literal(base)]));
            }
            SourceKind::Parameter => return Ok(vec![Step::Parameter(target)]),
            SourceKind::Row | SourceKind::Other => {}
        }
    }
    if let Some(path) = pathway(catalog, source, target, context) {
        let steps = if path == Pathway::Relabel && base != target && catalog.base_type(source) == base {
            Vec::new()
        } else {
            vec![Step::Path(path, base)]
        };
        return Ok(into_domain(steps));
    }
    if source == RECORD && kind == SourceKind::Row && catalog.is_composite(target) {
        return Ok(into_domain(vec![Step::Row(base)]));
    }
    if (target == RECORD && catalog.is_composite(source))
        || (target == RECORD_ARRAY && is_composite_array(catalog, source))
    {
        return Ok(vec![Step::AnyRow(target)]);
    }
    if catalog.inherits(source, target) {
        return Ok(vec![Step::Parent(target)]);
    }
    Err(cannot_cast(catalog, source, target))
}

/// 0A000 for a pseudo-type of which no value can be written.
fn readable(catalog: &dyn Catalog, id: TypeId) -> Result<(), AnalysisError> {
    let Some(row) = catalog.type_row(id).filter(|row| row.kind == TypeKind::Pseudo) else { return Ok(()) };
    // Their input functions are there to say so, and to say it of NULL as well.
    let mut inputs = catalog.functions_named(None, &row.input).into_iter();
    if inputs.any(|input| !input.row.strict) {
        let message = format!("cannot accept a value of type {}", row.name);
        return Err(AnalysisError::new(FEATURE_NOT_SUPPORTED, message));
    }
    Ok(())
}

/// The function that applies a modifier to a type's values, and whether it does so to each element of an array; `None` if the type takes none.
pub fn modifier_function(catalog: &dyn Catalog, target: TypeId) -> Option<(FunctionId, bool)> {
    let element = catalog.element_type(target);
    let cast = catalog.cast(element.unwrap_or(target), element.unwrap_or(target))?;
    match cast.method {
        CastMethod::Function(function) => Some((function, element.is_some())),
        _ => None,
    }
}

/// What CAST or `::` does; 42846 if it cannot.
pub fn explicit_cast(
    catalog: &dyn Catalog,
    source: TypeId,
    kind: SourceKind,
    target: TypeId,
) -> Result<Vec<Step>, AnalysisError> {
    if !can_coerce(catalog, &[source], &[target], CastContext::Explicit) {
        return Err(cannot_cast(catalog, source, target));
    }
    conversion(catalog, source, kind, target, CastContext::Explicit)
}

fn cannot_cast(catalog: &dyn Catalog, source: TypeId, target: TypeId) -> AnalysisError {
    let (from, to) = (type_name(catalog, source), type_name(catalog, target));
    AnalysisError::new(CANNOT_COERCE, format!("cannot cast type {from} to {to}"))
}

/// What happens to a value that is stored in a column; 42804 if it does not fit.
pub fn assignment(
    catalog: &dyn Catalog,
    source: TypeId,
    kind: SourceKind,
    target: TypeId,
    column: &str,
) -> Result<Vec<Step>, AnalysisError> {
    if !can_coerce(catalog, &[source], &[target], CastContext::Assignment) {
        let (from, to) = (type_name(catalog, source), type_name(catalog, target));
        let message = format!("column \"{column}\" is of type {to} but expression is of type {from}");
        return Err(AnalysisError::new(DATATYPE_MISMATCH, message)
            .with_hint("You will need to rewrite or cast the expression."));
    }
    conversion(catalog, source, kind, target, CastContext::Assignment)
}

/// What is done to the argument of a clause that wants one type, such as WHERE or LIMIT; 42804 if it has another.
pub fn clause(
    catalog: &dyn Catalog,
    source: TypeId,
    kind: SourceKind,
    target: TypeId,
    clause: &str,
) -> Result<Vec<Step>, AnalysisError> {
    // A clause takes what an assignment takes, except that a condition is nothing but a boolean.
    let context = CastContext::Assignment;
    if !can_coerce(catalog, &[source], &[target], context) {
        let (from, to) = (type_name(catalog, source), type_name(catalog, target));
        let message = format!("argument of {clause} must be type {to}, not type {from}");
        return Err(AnalysisError::new(DATATYPE_MISMATCH, message));
    }
    conversion(catalog, source, kind, target, context)
}

/// What is done to a condition of WHERE, AND and the like.
pub fn condition(
    catalog: &dyn Catalog,
    source: TypeId,
    kind: SourceKind,
    name: &str,
) -> Result<Vec<Step>, AnalysisError> {
    clause(catalog, source, kind, BOOL, name)
}

/// Whether a type is a pseudo-type, which no column can have. `record` and arrays of it are, too.
pub fn is_pseudo(catalog: &dyn Catalog, id: TypeId) -> bool {
    id != NONE && id != ANYARRAY && catalog.type_row(id).is_some_and(|row| row.kind == TypeKind::Pseudo)
}
