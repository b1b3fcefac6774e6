//! Random functions, seeded by each execution: the same seed gives the same numbers, so a simulation can be replayed.

use crate::convert::{array_of, values_of};
use crate::types;
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use values::{Type, Value};

/// `random_at(seed, n)` or `random_uuid_at(seed, n)`, the n-th call in the query.
#[derive(Debug)]
struct Random {
    result: Type,
    signature: Signature,
    /// Calls so far of this place in the query: each is another step of the sequence.
    steps: AtomicU64,
}

/// The function of that name.
pub fn of_name(name: &str) -> Option<ScalarUDF> {
    let result = match name {
        "random_at" => Type::Double,
        "random_uuid_at" => Type::Uuid,
        _ => return None,
    };
    let signature = Signature::any(2, Volatility::Volatile);
    Some(ScalarUDF::new_from_impl(Random { result, signature, steps: AtomicU64::new(0) }))
}

impl PartialEq for Random {
    fn eq(&self, other: &Random) -> bool {
        self.result == other.result
    }
}

impl Eq for Random {}

impl Hash for Random {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.result.hash(state);
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a step of the sequence of a seed.
pub(crate) fn mixed(seed: u64, step: u64) -> u64 {
    let mut state = seed.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

impl Random {
    fn value(&self, seed: u64) -> Value {
        let step = self.steps.fetch_add(2, Ordering::Relaxed);
        let (first, second) = (mixed(seed, step + 1), mixed(seed, step + 2));
        match self.result {
            Type::Uuid => {
                let mut bytes = ((u128::from(first) << 64) | u128::from(second)).to_be_bytes();
                // Version 4, variant 1 (RFC 4122, section 4.4).
                bytes[6] = (bytes[6] & 0x0f) | 0x40;
                bytes[8] = (bytes[8] & 0x3f) | 0x80;
                Value::Uuid(bytes)
            }
            _ => Value::Double((first >> 11) as f64 / (1_u64 << 53) as f64),
        }
    }
}

impl ScalarUDFImpl for Random {
    fn name(&self) -> &str {
        if self.result == Type::Uuid { "random_uuid_at" } else { "random_at" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(types::to_arrow(self.result))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let number = |place: usize| -> Result<u64> {
            let values = values_of(&args.args[place].to_array(1)?)?;
            Ok(values.first().and_then(Value::as_integer).unwrap_or_default() as u64)
        };
        let seed = mixed(number(0)?, number(1)?);
        let values: Vec<Value> = (0..args.number_rows).map(|_| self.value(seed)).collect();
        Ok(ColumnarValue::Array(array_of(&values, &types::to_arrow(self.result))?))
    }
}
