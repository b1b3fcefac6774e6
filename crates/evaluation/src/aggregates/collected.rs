//! Aggregates that keep all their values: arrays, and texts one behind the other.

use super::Accumulator;
use values::error::sqlstate;
use values::limits::{ARRAY_ELEMENTS_MAX, VALUE_BYTES_MAX};
use values::{Type, Value, ValueError};

/// `array_agg`, of NULLs too.
pub struct Collected {
    element: Type,
    values: Vec<Value>,
    size: usize,
}

impl Collected {
    /// Before any row.
    pub fn new(element: Type) -> Collected {
        Collected { element, values: Vec::new(), size: 0 }
    }
}

impl Accumulator for Collected {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        if self.values.len() >= ARRAY_ELEMENTS_MAX {
            let message = format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})");
            return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        self.size += arguments[0].size_in_memory();
        self.values.push(arguments[0].clone());
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(match self.values.as_slice() {
            [] => Value::Null,
            values => Value::array(self.element, values.to_vec()),
        })
    }

    fn size(&self) -> usize {
        self.size
    }
}

/// `string_agg` of texts or byte strings, each but the first with the delimiter of its row before it.
#[derive(Default)]
pub struct Joined {
    bytes: Vec<u8>,
    /// Whether they are texts; unknown before the first.
    is_text: Option<bool>,
}

impl Accumulator for Joined {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let bytes = |value: &Value| -> Vec<u8> {
            match value {
                Value::Text(text) => text.as_bytes().to_vec(),
                Value::Bytea(bytes) => bytes.to_vec(),
                _ => Vec::new(),
            }
        };
        if arguments[0].is_null() {
            return Ok(());
        }
        if self.is_text.is_some() {
            self.bytes.extend(arguments.get(1).map(bytes).unwrap_or_default());
        }
        self.is_text = Some(matches!(arguments[0], Value::Text(_)));
        self.bytes.extend(bytes(&arguments[0]));
        if self.bytes.len() > VALUE_BYTES_MAX {
            return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "out of memory"));
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(match self.is_text {
            None => Value::Null,
            Some(true) => Value::text(String::from_utf8_lossy(&self.bytes).into_owned()),
            Some(false) => Value::bytea(self.bytes.as_slice()),
        })
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}
