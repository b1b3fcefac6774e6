//! Arrays of one dimension, numbered from 1: what they are; `array_literal` is PostgreSQL's text format of them, `array_message` its binary one.
//!
//! Invariant: an element is NULL or a value of the type that the array names, which is none of those that share the values of another, and no array.
//! Arrays of several dimensions, or numbered otherwise, are refused with 0A000.

use crate::error::{ValueError, sqlstate};
use crate::limits::ARRAY_ELEMENTS_MAX;
use crate::types::Type;
use crate::value::Value;

/// An array: its elements, and their type, which it has without any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    element: Type,
    values: Vec<Value>,
}

impl Array {
    /// An array of these elements of this type.
    ///
    /// # Panics
    /// If the type is that of an array, or an element has another type.
    pub fn new(element: Type, values: Vec<Value>) -> Self {
        let element = held(element);
        assert!(element.element().is_none(), "an array has one dimension");
        let fits = |value: &Value| value.data_type().is_none_or(|found| found == element);
        assert!(values.iter().all(fits), "every element is of type {element}");
        Self { element, values }
    }

    /// The type of the elements, as [`Value::data_type`] names it.
    pub fn element(&self) -> Type {
        self.element
    }

    /// The elements.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The array with each element, but NULLs, made anew as one of another type. Errors: those of `convert`.
    pub(crate) fn map(
        &self,
        element: Type,
        mut convert: impl FnMut(&Value) -> Result<Value, ValueError>,
    ) -> Result<Value, ValueError> {
        let convert = |value: &Value| if value.is_null() { Ok(Value::Null) } else { convert(value) };
        Ok(Value::array(element, self.values.iter().map(convert).collect::<Result<_, _>>()?))
    }
}

/// The type by which values of this one are held: every string is `text`, every bit string `bit`.
pub(crate) fn held(data_type: Type) -> Type {
    match data_type.element() {
        Some(element) => held(element).array(),
        None if data_type.is_string() => Type::Text,
        None if data_type.is_bits() => Type::Bit(0),
        None => data_type.unmodified(),
    }
}

#[cold]
pub(crate) fn several_dimensions() -> ValueError {
    ValueError::unsupported("arrays of several dimensions are not supported")
}

#[cold]
pub(crate) fn numbered_otherwise(first: i64) -> ValueError {
    ValueError::unsupported(format!("arrays whose first element has number {first} instead of 1 are not supported"))
}

#[cold]
pub(crate) fn too_large() -> ValueError {
    ValueError::new(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})"),
    )
}
