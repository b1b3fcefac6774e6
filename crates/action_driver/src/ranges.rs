//! From bounds to key ranges.
//!
//! Invariant: the range holds exactly the keys whose columns satisfy the bounds. NULLs sort last and satisfy no bound, so a range
//! with a lower bound only ends before them.

use crate::expression::ExpressionScope;
use messages::program::{Expression, OneOf, PrefixBounds, Values};
use messages::session::Failure;
use messages::{Key, KeyRange, TableId};
use values::{Value, key};

/// The whole key that these expressions name; `None` when one is NULL.
pub fn point(columns: &[Expression], scope: &ExpressionScope) -> Result<Option<Key>, Failure> {
    let mut bytes = Vec::with_capacity(24);
    Ok(append_all(columns, scope, &mut bytes)?.then(|| Key::new(&bytes)))
}

/// The range of keys within bounds; `None` when a bound is NULL, so that nothing is.
pub fn range(table: TableId, bounds: &PrefixBounds, scope: &ExpressionScope) -> Result<Option<KeyRange>, Failure> {
    let mut prefix = Vec::with_capacity(24);
    if !append_all(&bounds.prefix, scope, &mut prefix)? {
        return Ok(None);
    }
    let low = match &bounds.low {
        None => prefix.clone(),
        Some((expression, included)) => {
            let Some(bytes) = extended(&prefix, expression, scope)? else {
                return Ok(None);
            };
            if *included { bytes } else { behind(bytes) }
        }
    };
    let high = match (&bounds.high, &bounds.low) {
        (Some((expression, included)), _) => {
            let Some(bytes) = extended(&prefix, expression, scope)? else {
                return Ok(None);
            };
            Some(if *included { behind(bytes) } else { bytes })
        }
        (None, Some(_)) => {
            let mut nulls = prefix;
            key::append(&Value::Null, &mut nulls);
            Some(nulls)
        }
        (None, None) => key::prefix_end(&prefix),
    };
    Ok(Some(KeyRange { table, low: Key::new(&low), high: high.map(|high| Key::new(&high)) }))
}

/// The beginnings of keys whose leading columns have these values, each once, in their order.
pub fn one_of(one_of: &OneOf, scope: &ExpressionScope) -> Result<Vec<Vec<u8>>, Failure> {
    let (before, behind) = one_of.equal.split_at(one_of.place);
    let (mut start, mut end) = (Vec::with_capacity(24), Vec::new());
    if !append_all(before, scope, &mut start)? || !append_all(behind, scope, &mut end)? {
        return Ok(Vec::new());
    }
    let mut prefixes = Vec::new();
    let mut add = |value: &Value| {
        if !value.is_null() {
            let mut prefix = start.clone();
            key::append(value, &mut prefix);
            prefix.extend_from_slice(&end);
            prefixes.push(prefix);
        }
    };
    match &one_of.values {
        Values::List(list) => {
            for expression in list {
                add(scope.evaluate(expression, &[])?.as_ref());
            }
        }
        Values::Array(array) => scope.evaluate(array, &[])?.as_array().unwrap_or_default().iter().for_each(add),
    }
    prefixes.sort_unstable();
    prefixes.dedup();
    Ok(prefixes)
}

/// The keys that begin so.
pub fn prefixed(table: TableId, prefix: &[u8]) -> KeyRange {
    KeyRange { table, low: Key::new(prefix), high: key::prefix_end(prefix).map(|high| Key::new(&high)) }
}

fn append_all(columns: &[Expression], scope: &ExpressionScope, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
    for column in columns {
        let value = scope.evaluate(column, &[])?;
        if value.is_null() {
            return Ok(false);
        }
        key::append(&value, bytes);
    }
    Ok(true)
}

fn extended(prefix: &[u8], expression: &Expression, scope: &ExpressionScope) -> Result<Option<Vec<u8>>, Failure> {
    let mut bytes = prefix.to_vec();
    Ok(append_all(std::slice::from_ref(expression), scope, &mut bytes)?.then_some(bytes))
}

/// The first key behind all that start with these bytes.
fn behind(bytes: Vec<u8>) -> Vec<u8> {
    key::prefix_end(&bytes).expect("a key's markers lie below the largest byte")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use crate::sequences::Sequences;
    use proptest::prelude::*;

    const TABLE: TableId = TableId(20);

    fn constant(value: Option<i32>) -> Expression {
        Expression::Constant(value.map_or(Value::Null, Value::Integer))
    }

    fn value() -> impl Strategy<Value = Option<i32>> {
        prop_oneof![1 => Just(None), 9 => (-3..4i32).prop_map(Some)]
    }

    fn bound() -> impl Strategy<Value = Option<(Option<i32>, bool)>> {
        prop::option::of((value(), any::<bool>()))
    }

    proptest! {
        /// A range that misses a key would lose rows; one that holds too many would return wrong ones, as the bounds stand in no filter.
        #[test]
        fn a_range_holds_the_keys_within_its_bounds(
            prefix in prop::option::of(value()),
            low in bound(),
            high in bound(),
            columns in prop::array::uniform3(value()),
        ) {
            let bounds = PrefixBounds {
                prefix: prefix.iter().map(|value| constant(*value)).collect(),
                low: low.map(|(value, included)| (constant(value), included)),
                high: high.map(|(value, included)| (constant(value), included)),
            };
            let generator = Generator::new(0);
            let scope = ExpressionScope {
                parameters: &[],
                gathered: &[],
                time_micros: 0,
                zone: &values::Zone::UTC,
                generator: &generator,
                sequences: &Sequences::default(),
            };
            let found = range(TABLE, &bounds, &scope).unwrap();

            let values = columns.map(|column| column.map_or(Value::Null, Value::Integer));
            let mut bytes = Vec::new();
            key::encode_key(&values, &mut bytes);
            let contained = found.is_some_and(|range| range.contains(&bytes));

            let next = columns[usize::from(prefix.is_some())];
            let equal = prefix.is_none_or(|wanted| wanted.is_some() && wanted == columns[0]);
            let above = low.is_none_or(|(low, included)| match (low, next) {
                (Some(low), Some(next)) => next > low || included && next == low,
                _ => false,
            });
            let below = high.is_none_or(|(high, included)| match (high, next) {
                (Some(high), Some(next)) => next < high || included && next == high,
                _ => false,
            });
            prop_assert_eq!(contained, equal && above && below, "{:?}", bounds);
        }
    }
}
