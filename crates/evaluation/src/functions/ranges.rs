//! Ranges and multiranges.
//!
//! Most functions are the same for a range and for a multirange on either side: both are lists of spans.

use super::digests::{extended, hashed, of_long, of_long_with, of_word, of_word_with, seed};
use crate::call::{CallArguments, FunctionResult, Implementation};
use crate::storage::storage;
use values::error::sqlstate;
use values::limits::MICROSECONDS_PER_SECOND;
use values::operators::{BinaryOperator, binary};
use values::ranges::algebra::{begins_by, contains, contains_point, ends_by, is_adjacent, is_before, overlaps};
use values::ranges::{RangeCut, RangePoint, RangeSpan};
use values::{MultirangeValue, RangeKind, RangeValue, Type, Value, ValueError, cast, inclusions};

/// What PostgreSQL writes between the brackets of a constructor without flags.
const USUAL_FLAGS: &str = "[)";
/// What PostgreSQL multiplies by to put the next hash of a multirange behind the others.
const HASH_FACTOR: u32 = 31;

/// The four names of a comparison of spans: for ranges and multiranges on either side.
macro_rules! of_spans {
    ($(($name:literal, $test:expr)),* $(,)?) => {
        &[$(
            (concat!("range_", $name), |call| Ok($test(call.spans(0), call.spans(1)).into())),
            (concat!("range_", $name, "_multirange"), |call| Ok($test(call.spans(0), call.spans(1)).into())),
            (concat!("multirange_", $name, "_range"), |call| Ok($test(call.spans(0), call.spans(1)).into())),
            (concat!("multirange_", $name, "_multirange"), |call| Ok($test(call.spans(0), call.spans(1)).into())),
        )*]
    };
}

/// Operators that compare.
pub(super) const OPERATORS: &[(&str, Implementation)] = of_spans!(
    ("overlaps", overlaps),
    ("contains", contains),
    ("contained_by", is_contained),
    ("adjacent", is_adjacent),
    ("before", is_before),
    ("after", is_after),
    ("overleft", ends_by),
    ("overright", begins_by),
);

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("range_constructor2", constructed),
    ("range_constructor3", constructed),
    ("multirange_constructor0", |call| Ok(Value::multirange(MultirangeValue::new(kind_of_result(call)?, Vec::new())))),
    ("multirange_constructor1", |call| Ok(Value::multirange(MultirangeValue::of(call.range(0))))),
    ("multirange_constructor2", multirange_of_array),
    ("range_contains_elem", |call| Ok(has(call, 0, 1))),
    ("multirange_contains_elem", |call| Ok(has(call, 0, 1))),
    ("elem_contained_by_range", |call| Ok(has(call, 1, 0))),
    ("elem_contained_by_multirange", |call| Ok(has(call, 1, 0))),
    ("range_union", |call| Ok(Value::range(call.range(0).union(call.range(1))?))),
    ("range_minus", |call| Ok(Value::range(call.range(0).difference(call.range(1))?))),
    ("range_intersect", |call| Ok(Value::range(call.range(0).intersection(call.range(1))))),
    ("range_intersect_agg_transfn", |call| Ok(Value::range(call.range(0).intersection(call.range(1))))),
    ("range_merge", |call| Ok(Value::range(call.range(0).merge(call.range(1))))),
    ("range_merge_from_multirange", |call| Ok(Value::range(call.multirange(0).merged()))),
    ("multirange_union", |call| Ok(Value::multirange(call.multirange(0).union(call.multirange(1))))),
    ("multirange_minus", |call| Ok(Value::multirange(call.multirange(0).difference(call.multirange(1))))),
    ("multirange_intersect", |call| Ok(Value::multirange(call.multirange(0).intersection(call.multirange(1))))),
    ("multirange_intersect_agg_transfn", |call| {
        Ok(Value::multirange(call.multirange(0).intersection(call.multirange(1))))
    }),
    ("range_lower", |call| Ok(bound(call, first_cut(call)))),
    ("range_upper", |call| Ok(bound(call, last_cut(call)))),
    ("multirange_lower", |call| Ok(bound(call, first_cut(call)))),
    ("multirange_upper", |call| Ok(bound(call, last_cut(call)))),
    ("range_empty", |call| Ok(call.spans(0).is_empty().into())),
    ("multirange_empty", |call| Ok(call.spans(0).is_empty().into())),
    ("range_lower_inc", |call| Ok(matches!(first_cut(call), Some(RangeCut::Before(_))).into())),
    ("range_upper_inc", |call| Ok(matches!(last_cut(call), Some(RangeCut::Behind(_))).into())),
    ("multirange_lower_inc", |call| Ok(matches!(first_cut(call), Some(RangeCut::Before(_))).into())),
    ("multirange_upper_inc", |call| Ok(matches!(last_cut(call), Some(RangeCut::Behind(_))).into())),
    ("range_lower_inf", |call| Ok(matches!(first_cut(call), Some(RangeCut::Least)).into())),
    ("range_upper_inf", |call| Ok(matches!(last_cut(call), Some(RangeCut::Greatest)).into())),
    ("multirange_lower_inf", |call| Ok(matches!(first_cut(call), Some(RangeCut::Least)).into())),
    ("multirange_upper_inf", |call| Ok(matches!(last_cut(call), Some(RangeCut::Greatest)).into())),
    ("int4range_canonical", |call| Ok(call.value(0).clone())),
    ("int8range_canonical", |call| Ok(call.value(0).clone())),
    ("daterange_canonical", |call| Ok(call.value(0).clone())),
    ("int4range_subdiff", |call| Ok(Value::Double(call.integer(0) as f64 - call.integer(1) as f64))),
    ("int8range_subdiff", |call| Ok(Value::Double(call.integer(0) as f64 - call.integer(1) as f64))),
    ("numrange_subdiff", |call| {
        cast::explicit(&binary(BinaryOperator::Subtract, call.value(0), call.value(1))?, Type::Double)
    }),
    ("daterange_subdiff", |call| {
        cast::explicit(&binary(BinaryOperator::Subtract, call.value(0), call.value(1))?, Type::Double)
    }),
    ("tsrange_subdiff", |call| Ok(seconds_between(call))),
    ("tstzrange_subdiff", |call| Ok(seconds_between(call))),
    ("hash_range", |call| hashed(hash(call.range(0).spans().first(), None)? as u32)),
    ("hash_range_extended", |call| extended(hash(call.range(0).spans().first(), Some(seed(call)))?)),
    ("hash_multirange", |call| {
        let mut hashes = call.spans(0).iter().map(|span| hash(Some(span), None));
        hashed(hashes.try_fold(1_u32, |so_far, next| {
            Ok::<_, ValueError>(so_far.wrapping_mul(HASH_FACTOR).wrapping_add(next? as u32))
        })?)
    }),
    ("hash_multirange_extended", |call| {
        let seed = seed(call);
        let mut hashes = call.spans(0).iter().map(|span| hash(Some(span), Some(seed)));
        extended(hashes.try_fold(1_u64, |so_far, next| {
            Ok::<_, ValueError>(so_far.wrapping_mul(u64::from(HASH_FACTOR)).wrapping_add(next?))
        })?)
    }),
];

fn is_contained(inner: &[RangeSpan], outer: &[RangeSpan]) -> bool {
    contains(outer, inner)
}

fn is_after(left: &[RangeSpan], right: &[RangeSpan]) -> bool {
    is_before(right, left)
}

/// Which ranges the result is of. Errors: 0A000 for those of users' types.
fn kind_of_result(call: &CallArguments<'_, '_>) -> Result<RangeKind, ValueError> {
    match storage(call.result) {
        Some(Type::Range(kind) | Type::Multirange(kind)) => Ok(kind),
        _ => Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "ranges of this type are not supported")),
    }
}

/// `int4range(lower, upper)` and its like, with flags or without.
fn constructed(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let flags = match call.arguments.get(2) {
        None => USUAL_FLAGS,
        Some(Value::Null) => {
            let message = "range constructor flags argument must not be null";
            return Err(ValueError::new(sqlstate::DATA_EXCEPTION, message));
        }
        Some(_) => call.text(2),
    };
    let (includes_lower, includes_upper) = inclusions(flags)?;
    let (lower, upper) = ((call.value(0), includes_lower), (call.value(1), includes_upper));
    Ok(Value::range(RangeValue::of_values(kind_of_result(call)?, lower, upper)?))
}

/// `int4multirange(range, ...)` and its like.
fn multirange_of_array(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut spans = Vec::new();
    for range in call.elements(0) {
        match range {
            Value::Range(range) => spans.extend(range.span().cloned()),
            _ => {
                let message = "multirange values cannot contain null members";
                return Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
        }
    }
    Ok(Value::multirange(MultirangeValue::new(kind_of_result(call)?, spans)))
}

/// Whether the value of one argument is in another.
fn has(call: &CallArguments<'_, '_>, outer: usize, inner: usize) -> Value {
    let point = call.range_kind(outer).point(call.value(inner));
    point.is_some_and(|point| contains_point(call.spans(outer), &point)).into()
}

fn first_cut<'a>(call: &CallArguments<'a, '_>) -> Option<&'a RangeCut> {
    call.spans(0).first().map(RangeSpan::lower)
}

fn last_cut<'a>(call: &CallArguments<'a, '_>) -> Option<&'a RangeCut> {
    call.spans(0).last().map(RangeSpan::upper)
}

/// The value of a bound; NULL for none.
fn bound(call: &CallArguments<'_, '_>, cut: Option<&RangeCut>) -> Value {
    let point = cut.and_then(RangeCut::point);
    point.and_then(|point| call.range_kind(0).value(point)).unwrap_or(Value::Null)
}

fn seconds_between(call: &CallArguments<'_, '_>) -> Value {
    Value::Double((call.instant(0) as f64 - call.instant(1) as f64) / MICROSECONDS_PER_SECOND as f64)
}

/// PostgreSQL's hash of a range, with a seed in 64 bits, without in 32. Errors: 0A000 for numbers, whose hash there is not.
fn hash(span: Option<&RangeSpan>, seed: Option<u64>) -> Result<u64, ValueError> {
    let of_point = |cut: &RangeCut| match (cut.point(), seed) {
        (None, _) => Ok(0),
        (Some(RangePoint::Whole(number)), Some(seed)) => Ok(of_long_with(*number, seed)),
        (Some(RangePoint::Whole(number)), None) => Ok(u64::from(of_long(*number))),
        (Some(RangePoint::Exact(_)), _) => {
            Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "the hash of a range of numbers is not supported"))
        }
    };
    let (lower, upper) = match span {
        None => (0, 0),
        Some(span) => (of_point(span.lower())?, of_point(span.upper())?),
    };
    let flags = u32::from(values::ranges::flags(span));
    Ok(match seed {
        None => u64::from((of_word(flags) ^ lower as u32).rotate_left(1) ^ upper as u32),
        Some(seed) => {
            let hash = of_word_with(flags, seed) ^ lower;
            // Each half is rotated on its own.
            let halves = ((hash >> 32) as u32, hash as u32);
            (u64::from(halves.0.rotate_left(1)) << 32 | u64::from(halves.1.rotate_left(1))) ^ upper
        }
    })
}
