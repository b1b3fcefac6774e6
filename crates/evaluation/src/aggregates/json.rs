//! `json_agg`, `jsonb_agg`, `json_object_agg`, `jsonb_object_agg`.

use super::Accumulator;
use crate::functions::json::conversion::{LineEnds, append, append_string, key, tree};
use crate::functions::json::invalid;
use crate::storage::storage;
use analyzer::Typed;
use values::error::sqlstate;
use values::json::JsonbObject;
use values::limits::VALUE_BYTES_MAX;
use values::{Jsonb, Type, Value, ValueError, Zone};

/// How the arguments of an aggregate are held. A row comes as the JSON of it.
fn held(arguments: &[Typed]) -> Option<Vec<ArgumentKind>> {
    let kind = |typed: &Typed| match storage(*typed) {
        Some(data_type) => Some(ArgumentKind { data_type, is_row: false }),
        None => crate::storage::is_row(typed.id).then_some(ArgumentKind { data_type: Type::Json, is_row: true }),
    };
    arguments.iter().map(kind).collect()
}

#[derive(Clone, Copy)]
struct ArgumentKind {
    data_type: Type,
    is_row: bool,
}

impl ArgumentKind {
    /// Arrays and rows stand in lines of their own.
    fn has_lines(self) -> bool {
        self.is_row || self.data_type.element().is_some()
    }
}

/// The text of an array or object that grows.
pub struct JsonTexts {
    kinds: Vec<ArgumentKind>,
    zone: Zone,
    text: String,
}

impl JsonTexts {
    /// Before any row, of one argument for an array, of two for an object; `None` for arguments that have no way to be held.
    pub fn new(arguments: &[Typed], zone: &Zone) -> Option<JsonTexts> {
        Some(JsonTexts { kinds: held(arguments)?, zone: zone.clone(), text: String::new() })
    }
}

impl Accumulator for JsonTexts {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let (kinds, text) = (&self.kinds, &mut self.text);
        let is_first = text.is_empty();
        if let [name, value] = arguments {
            text.push_str(if is_first { "{ " } else { ", " });
            if name.is_null() {
                return Err(invalid("field name must not be null"));
            }
            append_string(&key(name, kinds[0].data_type, &self.zone)?, text);
            text.push_str(" : ");
            return append(value, kinds[1].data_type, &self.zone, LineEnds::None, text);
        }
        text.push_str(if is_first { "[" } else { ", " });
        if !is_first && kinds[0].has_lines() && !arguments[0].is_null() {
            text.push_str("\n ");
        }
        append(&arguments[0], kinds[0].data_type, &self.zone, LineEnds::None, text)
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(match self.text.as_bytes().first() {
            None => Value::Null,
            Some(b'{') => Value::Json(format!("{} }}", self.text).into()),
            Some(_) => Value::Json(format!("{}]", self.text).into()),
        })
    }

    fn size(&self) -> usize {
        self.text.len()
    }
}

/// The elements or pairs of a `jsonb` that grows.
pub struct JsonTrees {
    kinds: Vec<ArgumentKind>,
    zone: Zone,
    keys: Vec<Box<str>>,
    values: Vec<Jsonb>,
    size: usize,
}

impl JsonTrees {
    /// As [`JsonTexts::new`].
    pub fn new(arguments: &[Typed], zone: &Zone) -> Option<JsonTrees> {
        Some(JsonTrees { kinds: held(arguments)?, zone: zone.clone(), keys: Vec::new(), values: Vec::new(), size: 0 })
    }
}

impl Accumulator for JsonTrees {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let Some((value, names)) = arguments.split_last() else { return Ok(()) };
        for name in names {
            if name.is_null() {
                return Err(invalid("field name must not be null"));
            }
            let name = key(name, self.kinds[0].data_type, &self.zone)?;
            self.size += name.len() + size_of::<Box<str>>();
            self.keys.push(name.into());
        }
        let json = tree(value, self.kinds[names.len()].data_type, &self.zone)?;
        self.size += json.size_in_memory() + size_of::<Jsonb>();
        self.values.push(json);
        if self.size > VALUE_BYTES_MAX {
            return Err(ValueError::new(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                "total size of jsonb array elements exceeds the maximum of 268435455 bytes",
            ));
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        match (self.values.is_empty(), self.kinds.len()) {
            (true, _) => Ok(Value::Null),
            (false, 1) => Value::jsonb(Jsonb::Array(self.values.clone())),
            (false, _) => {
                let pairs = self.keys.iter().cloned().zip(self.values.iter().cloned());
                Value::jsonb(Jsonb::Object(JsonbObject::new(pairs.collect())))
            }
        }
    }

    fn size(&self) -> usize {
        self.size
    }
}
