//! Aggregates of ranges and multiranges.

use super::Accumulator;
use values::ranges::RangeSpan;
use values::{MultirangeValue, RangeKind, Value, ValueError};

/// `range_agg`: all that is in any of them. NULLs are left out; without any row it is NULL.
pub struct JoinedRanges {
    kind: RangeKind,
    spans: Vec<RangeSpan>,
    has_rows: bool,
    size: usize,
}

impl JoinedRanges {
    /// Before any row.
    pub fn new(kind: RangeKind) -> JoinedRanges {
        JoinedRanges { kind, spans: Vec::new(), has_rows: false, size: 0 }
    }
}

impl Accumulator for JoinedRanges {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let spans = match &arguments[0] {
            Value::Range(range) => range.spans(),
            Value::Multirange(multirange) => multirange.spans(),
            _ => return Ok(()),
        };
        self.has_rows = true;
        self.size += arguments[0].size_in_memory();
        self.spans.extend_from_slice(spans);
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(match self.has_rows {
            true => Value::multirange(MultirangeValue::new(self.kind, self.spans.clone())),
            false => Value::Null,
        })
    }

    fn size(&self) -> usize {
        self.size
    }
}

/// `range_intersect_agg`: what is in all of them.
pub fn intersect(state: &Value, value: &Value) -> Result<Value, ValueError> {
    Ok(match (state, value) {
        (Value::Range(left), Value::Range(right)) => Value::range(left.intersection(right)),
        (Value::Multirange(left), Value::Multirange(right)) => Value::multirange(left.intersection(right)),
        _ => Value::Null,
    })
}
