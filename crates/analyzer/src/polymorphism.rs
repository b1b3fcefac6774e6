//! Polymorphic types, solved once a call (manual, 38.2.5). Arguments of anyelement's family must agree exactly; those of anycompatible's take a common type.
//!
//! [`is_consistent`] asks whether a candidate's arguments agree. [`settle`] puts real types in the place of the pseudo-types, or says as PostgreSQL what does not agree.

use crate::catalog::Catalog;
use crate::common_type::{common_type, suits_all};
use crate::error::{AnalysisError, DATATYPE_MISMATCH};
use crate::names::{no_array, type_name};
use crate::types::{
    ANYARRAY, ANYCOMPATIBLE, ANYCOMPATIBLEARRAY, ANYCOMPATIBLEMULTIRANGE, ANYCOMPATIBLENONARRAY, ANYCOMPATIBLERANGE,
    ANYELEMENT, ANYENUM, ANYMULTIRANGE, ANYNONARRAY, ANYRANGE, TEXT, TypeId, TypeKind, UNKNOWN,
};

/// Whether arguments can be these types of a candidate, as far as they are polymorphic.
pub fn is_consistent(catalog: &dyn Catalog, sources: &[TypeId], declared: &[TypeId]) -> bool {
    let Ok(seen) = Seen::gather(catalog, sources, declared) else { return false };
    (!seen.exact.used || seen.exact_solution(catalog, false).is_ok())
        && (!seen.compatible.used || seen.compatible_solution(catalog, false).is_ok())
}

/// Puts real types in the place of the polymorphic ones among `declared`, which are those of the arguments, and of the result.
pub fn settle(
    catalog: &dyn Catalog,
    sources: &[TypeId],
    declared: &mut [TypeId],
    result: TypeId,
) -> Result<TypeId, AnalysisError> {
    let seen = Seen::gather(catalog, sources, declared)?;
    if !seen.exact.used && !seen.compatible.used {
        return Ok(result);
    }
    if seen.exact.array == Some(ANYARRAY) {
        // The array of a column of statistics: nothing else can depend on what is in it.
        let others = declared.iter().filter(|id| id.is_any_family()).count() != 1;
        if others || (result != ANYARRAY && result.is_any_family()) {
            return Err(mismatch("cannot determine element type of \"anyarray\" argument".to_string()));
        }
    }
    let exact = if seen.exact.used { Some(seen.exact_solution(catalog, true)?) } else { None };
    let compatible = if seen.compatible.used { Some(seen.compatible_solution(catalog, true)?) } else { None };
    for (index, declared) in declared.iter_mut().enumerate() {
        let source = sources.get(index).copied().unwrap_or(UNKNOWN);
        if declared.is_compatible_family() {
            if let Some(solution) = &compatible {
                *declared = solution.real(catalog, *declared)?;
            }
        } else if declared.is_any_family()
            && source == UNKNOWN
            && let Some(solution) = &exact
        {
            *declared = solution.real(catalog, *declared)?;
        }
    }
    let solution = if result.is_compatible_family() { &compatible } else { &exact };
    match solution {
        Some(solution) if result.is_polymorphic() => solution.real(catalog, result),
        _ => Ok(result),
    }
}

/// What the arguments of one family are.
#[derive(Default)]
struct Family {
    /// Whether the family occurs at all.
    used: bool,
    /// What stands for the element: one type, or several of which the common one is sought.
    elements: Vec<TypeId>,
    array: Option<TypeId>,
    range: Option<TypeId>,
    multirange: Option<TypeId>,
    /// Whether the element must not be an array.
    no_array: bool,
    /// Whether the element must be an enum.
    is_enum: bool,
    /// The first pseudo-types of ranges that stand there, whatever their arguments are.
    wants_range: bool,
    wants_multirange: bool,
}

/// Both families.
#[derive(Default)]
struct Seen {
    exact: Family,
    compatible: Family,
}

/// What a family stands for.
struct Solution {
    element: TypeId,
    array: Option<TypeId>,
    range: Option<TypeId>,
    multirange: Option<TypeId>,
}

fn mismatch(message: String) -> AnalysisError {
    AnalysisError::new(DATATYPE_MISMATCH, message)
}

/// Sets a type that all arguments of a pseudo-type must share.
fn agree(catalog: &dyn Catalog, slot: &mut Option<TypeId>, actual: TypeId, pseudo: &str) -> Result<(), AnalysisError> {
    match *slot {
        Some(before) if before != actual => {
            let detail = format!("{} versus {}", type_name(catalog, before), type_name(catalog, actual));
            Err(mismatch(format!("arguments declared \"{pseudo}\" are not all alike")).with_detail(detail))
        }
        _ => {
            *slot = Some(actual);
            Ok(())
        }
    }
}

fn not_a(catalog: &dyn Catalog, pseudo: &str, what: &str, actual: TypeId) -> AnalysisError {
    mismatch(format!("argument declared {pseudo} is not {what} but type {}", type_name(catalog, actual)))
}

/// `argument declared A is not consistent with argument declared B`.
fn inconsistent(catalog: &dyn Catalog, pair: (&str, &str), types: (TypeId, TypeId)) -> AnalysisError {
    let detail = format!("{} versus {}", type_name(catalog, types.0), type_name(catalog, types.1));
    mismatch(format!("argument declared {} is not consistent with argument declared {}", pair.0, pair.1))
        .with_detail(detail)
}

fn undetermined(pseudo: &str) -> AnalysisError {
    mismatch(format!("could not determine polymorphic type {pseudo} because input has type unknown"))
}

impl Seen {
    fn gather(catalog: &dyn Catalog, sources: &[TypeId], declared: &[TypeId]) -> Result<Seen, AnalysisError> {
        let mut seen = Seen::default();
        for (source, declared) in sources.iter().zip(declared) {
            if declared.is_any_family() {
                seen.exact.used = true;
                seen.exact.take_exact(catalog, *source, *declared)?;
            } else if declared.is_compatible_family() {
                seen.compatible.used = true;
                seen.compatible.take_compatible(catalog, *source, *declared)?;
            }
        }
        Ok(seen)
    }

    /// What anyelement's family stands for. With `strict` unknown arguments alone are an error.
    fn exact_solution(&self, catalog: &dyn Catalog, strict: bool) -> Result<Solution, AnalysisError> {
        let family = &self.exact;
        let mut element = family.elements.first().copied();
        if let Some(array) = family.array {
            element = Some(self.element_of_array(catalog, array, element)?);
        }
        let mut range = family.range;
        if let Some(multirange) = family.multirange {
            let row = catalog.range_of_multirange(multirange);
            let of = row.ok_or_else(|| not_a(catalog, "anymultirange", "a multirange type", multirange))?.id;
            if let Some(range) = range.filter(|range| *range != of) {
                return Err(inconsistent(catalog, ("anymultirange", "anyrange"), (multirange, range)));
            }
            range = Some(of);
        }
        if let Some(range) = range {
            let row = catalog.range(range).ok_or_else(|| not_a(catalog, "anyrange", "a range type", range))?;
            if let Some(element) = element.filter(|element| *element != row.element) {
                return Err(inconsistent(catalog, ("anyrange", "anyelement"), (range, element)));
            }
            element = Some(row.element);
        }
        let Some(element) = element else {
            return self.exact_unknown(strict);
        };
        if family.no_array && element != ANYELEMENT && catalog.is_array_or_domain_over_one(element) {
            return Err(mismatch(format!(
                "type matched to anynonarray is an array type: {}",
                type_name(catalog, element)
            )));
        }
        let is_enum = |id| catalog.type_row(id).is_some_and(|row| row.kind == TypeKind::Enum);
        if family.is_enum && element != ANYELEMENT && !is_enum(element) {
            return Err(mismatch(format!(
                "type matched to anyenum is not an enum type: {}",
                type_name(catalog, element)
            )));
        }
        let multirange =
            family.multirange.or_else(|| range.and_then(|range| catalog.range(range)).map(|row| row.multirange));
        Ok(Solution { element, array: family.array, range, multirange })
    }

    /// All arguments are unknown: a candidate may still be chosen, unless it wants an enum; its call is an error.
    fn exact_unknown(&self, strict: bool) -> Result<Solution, AnalysisError> {
        if strict || self.exact.is_enum {
            return Err(mismatch("could not determine polymorphic type because input has type unknown".to_string()));
        }
        Ok(Solution { element: UNKNOWN, array: None, range: None, multirange: None })
    }

    fn element_of_array(
        &self,
        catalog: &dyn Catalog,
        array: TypeId,
        element: Option<TypeId>,
    ) -> Result<TypeId, AnalysisError> {
        if array == ANYARRAY {
            // A column of statistics holds arrays of any kind; it goes where nothing else has to agree with it.
            return match element {
                None => Ok(ANYELEMENT),
                Some(element) => Err(inconsistent(catalog, ("anyarray", "anyelement"), (array, element))),
            };
        }
        let of = catalog.element_type(array).ok_or_else(|| not_a(catalog, "anyarray", "an array", array))?;
        match element {
            Some(element) if element != of => Err(inconsistent(catalog, ("anyarray", "anyelement"), (array, element))),
            _ => Ok(of),
        }
    }

    /// What anycompatible's family stands for; text if all is unknown.
    fn compatible_solution(&self, catalog: &dyn Catalog, strict: bool) -> Result<Solution, AnalysisError> {
        let family = &self.compatible;
        let mut elements = family.elements.clone();
        let mut range = family.range;
        if let Some(multirange) = family.multirange {
            let row = catalog.range_of_multirange(multirange);
            let row = row.ok_or_else(|| not_a(catalog, "anycompatiblemultirange", "a multirange type", multirange))?;
            if let Some(range) = range.filter(|range| *range != row.id) {
                let pair = ("anycompatiblemultirange", "anycompatiblerange");
                return Err(inconsistent(catalog, pair, (multirange, range)));
            }
            if range.is_none() {
                elements.push(row.element);
            }
            range = Some(row.id);
        }
        let multirange =
            family.multirange.or_else(|| range.and_then(|range| catalog.range(range)).map(|row| row.multirange));
        if strict && elements.is_empty() {
            if family.wants_range && range.is_none() {
                return Err(undetermined("anycompatiblerange"));
            }
            if family.wants_multirange && multirange.is_none() {
                return Err(undetermined("anycompatiblemultirange"));
            }
        }
        let element = if elements.is_empty() { TEXT } else { common(catalog, &elements)? };
        if family.no_array && catalog.is_array_or_domain_over_one(element) {
            let name = type_name(catalog, element);
            return Err(mismatch(format!("type matched to anycompatiblenonarray is an array type: {name}")));
        }
        if let Some(row) = range.and_then(|range| catalog.range(range))
            && row.element != element
        {
            let (range, element) = (type_name(catalog, row.id), type_name(catalog, element));
            return Err(mismatch(format!(
                "anycompatiblerange type {range} does not match anycompatible type {element}"
            )));
        }
        Ok(Solution { element, array: None, range, multirange })
    }
}

/// The common type that all of the family can become.
fn common(catalog: &dyn Catalog, elements: &[TypeId]) -> Result<TypeId, AnalysisError> {
    let common = common_type(catalog, elements).map_err(|found| {
        let (one, other) = (type_name(catalog, found.so_far), type_name(catalog, found.other));
        mismatch(format!("argument types {one} and {other} cannot be matched"))
    })?;
    if !suits_all(catalog, elements, common) {
        return Err(mismatch("arguments of anycompatible family cannot be cast to a common type".to_string()));
    }
    Ok(common)
}

impl Family {
    fn take_exact(&mut self, catalog: &dyn Catalog, source: TypeId, declared: TypeId) -> Result<(), AnalysisError> {
        self.no_array |= declared == ANYNONARRAY;
        self.is_enum |= declared == ANYENUM;
        if source == UNKNOWN {
            return Ok(());
        }
        let base = catalog.base_type(source);
        match declared {
            ANYARRAY => agree(catalog, &mut self.array, base, "anyarray"),
            ANYRANGE => agree(catalog, &mut self.range, base, "anyrange"),
            ANYMULTIRANGE => agree(catalog, &mut self.multirange, base, "anymultirange"),
            _ => {
                let mut element = self.elements.first().copied();
                agree(catalog, &mut element, source, "anyelement")?;
                self.elements = element.into_iter().collect();
                Ok(())
            }
        }
    }

    fn take_compatible(
        &mut self,
        catalog: &dyn Catalog,
        source: TypeId,
        declared: TypeId,
    ) -> Result<(), AnalysisError> {
        self.no_array |= declared == ANYCOMPATIBLENONARRAY;
        self.wants_range |= declared == ANYCOMPATIBLERANGE;
        self.wants_multirange |= declared == ANYCOMPATIBLEMULTIRANGE;
        if source == UNKNOWN {
            return Ok(());
        }
        let base = catalog.base_type(source);
        match declared {
            ANYCOMPATIBLEARRAY => {
                let element = catalog.element_type(base);
                self.elements.push(element.ok_or_else(|| not_a(catalog, "anycompatiblearray", "an array", base))?);
            }
            ANYCOMPATIBLERANGE => {
                let first = self.range.is_none();
                agree(catalog, &mut self.range, base, "anycompatiblerange")?;
                let row =
                    catalog.range(base).ok_or_else(|| not_a(catalog, "anycompatiblerange", "a range type", base))?;
                if first {
                    self.elements.push(row.element);
                }
            }
            ANYCOMPATIBLEMULTIRANGE => {
                agree(catalog, &mut self.multirange, base, "anycompatiblemultirange")?;
                if catalog.range_of_multirange(base).is_none() {
                    return Err(not_a(catalog, "anycompatiblemultirange", "a multirange type", base));
                }
            }
            _ => self.elements.push(source),
        }
        Ok(())
    }
}

impl Solution {
    /// The real type of a pseudo-type.
    fn real(&self, catalog: &dyn Catalog, pseudo: TypeId) -> Result<TypeId, AnalysisError> {
        match pseudo {
            ANYARRAY | ANYCOMPATIBLEARRAY => match self.array {
                Some(array) => Ok(array),
                None => catalog.array_type(self.element).ok_or_else(|| no_array(catalog, self.element)),
            },
            ANYRANGE => self.range.ok_or_else(|| undetermined("anyrange")),
            ANYCOMPATIBLERANGE => self.range.ok_or_else(|| undetermined("anycompatiblerange")),
            ANYMULTIRANGE => self.multirange.ok_or_else(|| undetermined("anymultirange")),
            ANYCOMPATIBLEMULTIRANGE => self.multirange.ok_or_else(|| undetermined("anycompatiblemultirange")),
            ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => Ok(self.element),
            _ => Ok(self.element),
        }
    }
}
