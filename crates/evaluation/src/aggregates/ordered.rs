//! Aggregates of ordered sets: percentiles, and the commonest value. Rows come in their order.

use super::{Accumulator, Begun};
use crate::storage::storage;
use analyzer::Typed;
use values::compare::compare;
use values::error::sqlstate;
use values::operators::{BinaryOperator, binary};
use values::{Type, Value, ValueError};

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OrderedKind {
    /// `mode`.
    Mode,
    /// `percentile_disc`: a value that is there.
    Discrete,
    /// `percentile_cont`: between two values.
    Continuous,
}

struct Ordered {
    kind: OrderedKind,
    /// The fraction, an array of them, or NULL.
    fraction: Value,
    /// The type of a single percentile.
    element: Type,
    values: Vec<Value>,
    size: usize,
}

/// The aggregate of that name; `None` for what has no way to be held.
pub fn begin(name: &str, direct: &[Value], arguments: &[Typed], result: Typed) -> Option<Begun> {
    let kind = match name {
        "mode" => OrderedKind::Mode,
        "percentile_disc" => OrderedKind::Discrete,
        _ => OrderedKind::Continuous,
    };
    let fraction = direct.first().cloned().unwrap_or(Value::Null);
    let held = storage(result)?;
    storage(*arguments.last()?)?;
    let element = if matches!(fraction, Value::Array(_)) { held.element()? } else { held };
    Some(Ok(Box::new(Ordered { kind, fraction, element, values: Vec::new(), size: 0 })))
}

impl Ordered {
    fn mode(&self) -> Value {
        let (mut best, mut most) = (Value::Null, 0);
        let mut rest = self.values.as_slice();
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|value| compare(value, first).is_eq()).count();
            if count > most {
                (best, most) = (first.clone(), count);
            }
            rest = &rest[count..];
        }
        best
    }

    /// Errors: 22003 for a fraction that is none.
    fn percentile(&self, fraction: &Value) -> Result<Value, ValueError> {
        let Value::Double(fraction) = fraction else { return Ok(Value::Null) };
        if !(0.0..=1.0).contains(fraction) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let count = self.values.len();
        if count == 0 {
            return Ok(Value::Null);
        }
        if self.kind == OrderedKind::Discrete {
            let row = (fraction * count as f64).ceil() as usize;
            return Ok(self.values[row.max(1) - 1].clone());
        }
        let place = fraction * (count - 1) as f64;
        let (first, second) = (place.floor() as usize, place.ceil() as usize);
        if first == second {
            return Ok(self.values[first].clone());
        }
        let (low, high) = (&self.values[first], &self.values[second]);
        let part = Value::Double(place - first as f64);
        let distance = binary(BinaryOperator::Subtract, high, low)?;
        let more = binary(BinaryOperator::Multiply, &distance, &part)?;
        binary(BinaryOperator::Add, low, &more)
    }
}

impl Accumulator for Ordered {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        if let Some(value) = arguments.last().filter(|value| !value.is_null()) {
            self.size += value.size_in_memory();
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        match (self.kind, &self.fraction) {
            (OrderedKind::Mode, _) => Ok(self.mode()),
            (_, Value::Array(fractions)) => {
                if self.values.is_empty() {
                    return Ok(Value::Null);
                }
                let percentiles = fractions.values().iter().map(|fraction| self.percentile(fraction));
                Ok(Value::array(self.element, percentiles.collect::<Result<_, _>>()?))
            }
            (_, fraction) => self.percentile(fraction),
        }
    }

    fn size(&self) -> usize {
        self.size
    }
}
