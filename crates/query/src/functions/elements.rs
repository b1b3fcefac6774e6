//! Functions of the elements of an array: one NULL is like another, and numerics of other scales are alike.

use super::rowwise::{self, RowImplementation};
use crate::convert::equal_bytes;
use crate::error::QueryError;
use datafusion::logical_expr::ScalarUDF;
use values::cast::{self, Context};
use values::{Type, Value};

const NAMES: [&str; 3] = ["array_positions", "array_remove", "array_replace"];

/// A function that looks for elements.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Elements {
    name: &'static str,
}

/// The function of that name.
pub fn of_name(name: &str) -> Option<ScalarUDF> {
    NAMES.iter().find(|known| **known == name).map(|name| rowwise::function(Elements { name }))
}

impl RowImplementation for Elements {
    fn name(&self) -> &str {
        self.name
    }

    fn result(&self, arguments: &[Option<Type>]) -> Result<Type, QueryError> {
        let wanted = if self.name == "array_replace" { 3 } else { 2 };
        let Some(array @ Type::Array(element)) = arguments.first().copied().flatten() else {
            return Err(self.undefined(arguments));
        };
        if arguments.len() != wanted {
            return Err(self.undefined(arguments));
        }
        for other in arguments[1..].iter().flatten() {
            let is_literal = *other == Type::Text;
            if !is_literal && cast::context(*other, element.data_type()) > Some(Context::Implicit) {
                let message = format!("{} of elements of another type is not supported; cast them", self.name);
                return Err(QueryError::unsupported(message));
            }
        }
        Ok(if self.name == "array_positions" { Type::Integer.array() } else { array.unmodified() })
    }

    fn is_strict(&self) -> bool {
        false
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        let Some(Value::Array(array)) = arguments.first() else { return Ok(Value::Null) };
        let element = array.element();
        let mut others = Vec::with_capacity(2);
        for other in &arguments[1..] {
            others.push(cast::explicit(other, element)?);
        }
        let is_sought = |value: &Value| match (value.is_null(), others[0].is_null()) {
            (false, false) => equal_bytes(value) == equal_bytes(&others[0]),
            (left, right) => left == right,
        };
        let values = array.values().iter();
        Ok(match (self.name, others.get(1)) {
            ("array_positions", _) => {
                let places = values.zip(1..).filter(|(value, _)| is_sought(value));
                Value::array(Type::Integer, places.map(|(_, place)| Value::Integer(place)).collect())
            }
            (_, Some(other)) => {
                let replaced = values.map(|value| if is_sought(value) { other.clone() } else { value.clone() });
                Value::array(element, replaced.collect())
            }
            (_, None) => Value::array(element, values.filter(|value| !is_sought(value)).cloned().collect()),
        })
    }
}

impl Elements {
    fn undefined(&self, arguments: &[Option<Type>]) -> QueryError {
        let names: Vec<&str> =
            arguments.iter().map(|argument| argument.map_or("unknown", |known| known.base_name())).collect();
        QueryError::undefined_function(&format!("{}({})", self.name, names.join(", ")))
    }
}
