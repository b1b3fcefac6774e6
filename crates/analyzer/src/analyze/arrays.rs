//! ARRAY[..] and subscripts.

use grammar::ast::{ExpressionId, ExpressionNode, Step};

use super::{Analyzer, Result, error_at};
use crate::error::{
    AnalysisError, DATATYPE_MISMATCH, INDETERMINATE_DATATYPE, PROGRAM_LIMIT_EXCEEDED, UNDEFINED_OBJECT,
};
use crate::facts::CastContext;
use crate::limits::DIMENSIONS_MAX;
use crate::names::{no_array, type_name};
use crate::tree::{Constant, ExprId, Form, Node};
use crate::types::{INT2VECTOR, INT4, JSONB, NO_MODIFIER, OIDVECTOR, TEXT, TypeId, Typed, UNKNOWN};

/// What subscripts of a type reach.
enum Reach {
    /// Elements of an array.
    Element(TypeId),
    /// A part of a JSON value.
    Json,
}

impl<'a> Analyzer<'a> {
    /// `ARRAY[..]`, of a type if a cast to that stands around it.
    pub fn array(&mut self, elements: &'a [ExpressionId], wanted: Option<Typed>, at: u32) -> Result<ExprId> {
        let arena = self.arena;
        let mut made = Vec::with_capacity(elements.len());
        let mut nested = false;
        for element in elements {
            let value = match &arena[*element].node {
                ExpressionNode::Array(inner) => {
                    nested = true;
                    let place = arena[*element].at;
                    self.deeper(|analyzer| analyzer.array(inner, wanted, place))?
                }
                _ => {
                    let value = self.expression(*element)?;
                    nested |= self.catalog.element_type(self.type_of(value)).is_some();
                    value
                }
            };
            made.push(value);
        }
        let (array, element, hard) = match wanted {
            Some(wanted) => {
                let element = self.catalog.element_type(wanted.id).unwrap_or(UNKNOWN);
                (wanted.id, element, Some(wanted.modifier))
            }
            None if made.is_empty() => {
                let hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[].";
                let message = "cannot determine type of empty array";
                return Err(AnalysisError::new(INDETERMINATE_DATATYPE, message).with_hint(hint).at(at));
            }
            None => {
                let common = self.common(&made, "ARRAY")?;
                let (array, element) = self.array_and_element(common, nested).map_err(|error| error.at(at))?;
                (array, element, None)
            }
        };
        let each = if nested { array } else { element };
        for value in &mut made {
            *value = match hard {
                None => self.made_common(*value, each, "ARRAY")?,
                Some(modifier) => {
                    let source = self.type_of(*value);
                    let cast = self.converted(*value, each, modifier, CastContext::Explicit, Form::Explicit, None)?;
                    cast.ok_or_else(|| self.cannot_cast(source, each).at_place(self.location(*value)))?
                }
            };
        }
        // All elements have the modifier that was asked for, or one that they share.
        let modifier = match hard {
            Some(modifier) if !made.is_empty() => modifier,
            _ => {
                let all: Vec<Typed> = made.iter().map(|value| self.tree[*value].typed).collect();
                crate::common_type::common_modifier(&all, each)
            }
        };
        let typed = self.typed(array, modifier);
        Ok(self.add(Node::Array { elements: made, nested }, typed, Some(at)))
    }

    fn array_and_element(&self, common: TypeId, nested: bool) -> Result<(TypeId, TypeId)> {
        if nested {
            let element = self.catalog.element_type(common).ok_or_else(|| {
                let name = type_name(self.catalog, common);
                AnalysisError::new(UNDEFINED_OBJECT, format!("could not find element type for data type {name}"))
            })?;
            return Ok((common, element));
        }
        let array = self.catalog.array_type(common).ok_or_else(|| no_array(self.catalog, common))?;
        Ok((array, common))
    }

    /// The type whose parts subscripts of a type reach: that below a domain, and arrays for the two vectors.
    pub fn container_type(&self, id: TypeId, modifier: i32) -> Typed {
        let base = self.base_typed(Typed { id, modifier, collation: Default::default() });
        match base.id {
            INT2VECTOR => self.typed(TypeId(1005), base.modifier),
            OIDVECTOR => self.typed(TypeId(1028), base.modifier),
            _ => base,
        }
    }

    fn reach(&self, container: TypeId) -> Option<Reach> {
        if container == JSONB {
            return Some(Reach::Json);
        }
        let row = self.catalog.type_row(container)?;
        row.element.known().map(Reach::Element)
    }

    /// Elements or a part of a value; with `assigned`, the value with that part changed.
    pub fn subscript(&mut self, container: ExprId, steps: &[&'a Step], assigned: Option<ExprId>) -> Result<ExprId> {
        let typed = self.tree[container].typed;
        let base = self.container_type(typed.id, typed.modifier);
        let Some(reach) = self.reach(base.id) else {
            let name = type_name(self.catalog, base.id);
            let message = format!("cannot subscript type {name} because it does not support subscripting");
            return error_at(DATATYPE_MISMATCH, message, self.location(container));
        };
        let slice = steps.iter().any(|step| matches!(step, Step::Slice(..)));
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        let result = match reach {
            Reach::Json => {
                for step in steps {
                    upper.push(Some(self.json_subscript(step)?));
                }
                base
            }
            Reach::Element(element) => {
                self.bounds(steps, slice, &mut upper, &mut lower)?;
                if steps.len() > DIMENSIONS_MAX {
                    let message = format!(
                        "number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})",
                        steps.len()
                    );
                    return error_at(PROGRAM_LIMIT_EXCEEDED, message, None);
                }
                if slice { base } else { self.typed(element, base.modifier) }
            }
        };
        let result = if assigned.is_some() { base } else { result };
        Ok(self.add(Node::Subscript { container, upper, lower, assigned }, result, None))
    }

    fn bounds(
        &mut self,
        steps: &[&'a Step],
        slice: bool,
        upper: &mut Vec<Option<ExprId>>,
        lower: &mut Vec<Option<ExprId>>,
    ) -> Result<()> {
        for step in steps {
            let (low, high) = match step {
                Step::Slice(low, high) => (*low, *high),
                Step::Subscript(value) => (None, Some(*value)),
                _ => (None, None),
            };
            if slice {
                let low = match (low, step) {
                    (Some(low), _) => Some(self.array_subscript(low)?),
                    (None, Step::Slice(..)) => None,
                    // One bound alone among slices begins at 1.
                    (None, _) => Some(self.constant(Constant::Number("1".to_string()), INT4, None)),
                };
                lower.push(low);
            }
            let high = match high {
                Some(high) => Some(self.array_subscript(high)?),
                None => None,
            };
            upper.push(high);
        }
        Ok(())
    }

    fn array_subscript(&mut self, value: ExpressionId) -> Result<ExprId> {
        let value = self.expression(value)?;
        let made = self.converted(value, INT4, NO_MODIFIER, CastContext::Assignment, Form::Implicit, None)?;
        made.ok_or_else(|| {
            let error = AnalysisError::new(DATATYPE_MISMATCH, "array subscript must have type integer");
            error.at_place(self.location(value))
        })
    }

    fn json_subscript(&mut self, step: &'a Step) -> Result<ExprId> {
        let value = match step {
            Step::Subscript(value) => *value,
            Step::Slice(low, high) => {
                let at = high.or(*low).map(|bound| self.arena[bound].at);
                return error_at(DATATYPE_MISMATCH, "jsonb subscript does not support slices", at);
            }
            _ => return error_at(DATATYPE_MISMATCH, "jsonb subscript does not support slices", None),
        };
        let value = self.expression(value)?;
        let source = self.type_of(value);
        let mut target = TEXT;
        if source != UNKNOWN {
            let fits: Vec<TypeId> = [INT4, TEXT]
                .into_iter()
                .filter(|target| {
                    crate::coercion::can_coerce(self.catalog, &[source], &[*target], CastContext::Implicit)
                })
                .collect();
            let [only] = fits.as_slice() else {
                let message = format!("subscript type {} is not supported", type_name(self.catalog, source));
                let hint = if fits.is_empty() {
                    "jsonb subscript must be coercible to either integer or text."
                } else {
                    "jsonb subscript must be coercible to only one type, integer or text."
                };
                let error = AnalysisError::new(DATATYPE_MISMATCH, message).with_hint(hint);
                return Err(error.at_place(self.location(value)));
            };
            target = *only;
        }
        self.coerce(value, target, NO_MODIFIER, CastContext::Implicit, Form::Implicit, None)
    }
}
