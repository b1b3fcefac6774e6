//! Generated values for property tests; only built for tests.
//!
//! Invariant: what is generated is a value this crate could have read, with bounds and ties more likely than chance.

use crate::bits::BitString;
use crate::error::sqlstate;
use crate::json::{Jsonb, JsonbObject};
use crate::limits::{DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, TIMESTAMP_END, TIMESTAMP_MIN};
use crate::network::InetAddress;
use crate::ranges::{MultirangeValue, RangeKind, RangeValue};
use crate::types::{ALL, Type};
use crate::value::{Interval, Value};
use crate::zoned_time::ZonedTime;
use bigdecimal::BigDecimal;
use proptest::prelude::*;
use std::net::IpAddr;

/// Any type that is no array, without modifier.
pub(crate) fn scalar_type() -> impl Strategy<Value = Type> {
    let all = ALL.into_iter().chain([Type::Enum(crate::enumeration::for_tests())]);
    prop::sample::select(all.collect::<Vec<_>>())
}

/// Any type, without modifier.
pub(crate) fn data_type() -> impl Strategy<Value = Type> {
    prop_oneof![3 => scalar_type(), 1 => scalar_type().prop_map(Type::array)]
}

/// Up to four types.
pub(crate) fn types() -> impl Strategy<Value = Vec<Type>> {
    prop::collection::vec(data_type(), 1..4)
}

/// Integers near their bounds, near powers of two, small ones, and any.
fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -3i64..300,
        (0u32..64, -1i64..2).prop_map(|(bit, more)| (1i64 << bit).wrapping_add(more)),
        (0u32..64, -1i64..2).prop_map(|(bit, more)| (-1i64 << bit).wrapping_add(more)),
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324]),
        (-1000i32..1000).prop_map(|number| f64::from(number) / 8.0),
    ]
}

fn numeric() -> impl Strategy<Value = BigDecimal> {
    prop_oneof![
        (integer(), 0i64..30).prop_map(|(unscaled, scale)| BigDecimal::new(unscaled.into(), scale)),
        (-20i64..20, 0i64..3).prop_map(|(unscaled, scale)| BigDecimal::new(unscaled.into(), scale)),
        (any::<i128>(), 0i64..60).prop_map(|(unscaled, scale)| BigDecimal::new(unscaled.into(), scale)),
        (any::<i8>(), 0i64..40).prop_map(|(digit, zeros)| BigDecimal::new(digit.into(), -zeros).with_scale(0)),
    ]
}

fn string() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,3}", "[\u{1}\u{2}a-c]{0,6}", "\\PC{0,20}", "[a-z]{100,200}"]
}

/// Addresses with masks, of both families; many that share their first bits, and some with runs of zeros.
pub(crate) fn network() -> impl Strategy<Value = InetAddress> {
    let with_mask = |(address, bits): (IpAddr, u8)| {
        let width = if address.is_ipv4() { 32 } else { 128 };
        InetAddress::new(address, bits % (width + 1)).expect("the mask is no longer than the address")
    };
    let group = || prop_oneof![4 => Just(0_u16), 1 => Just(u16::MAX), 2 => 0_u16..300, 2 => any::<u16>()];
    let address = prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        (0_u8..3, 0_u8..3).prop_map(|(third, last)| IpAddr::from([10, 0, third, last])),
        any::<[u8; 16]>().prop_map(IpAddr::from),
        prop::array::uniform8(group()).prop_map(IpAddr::from),
    ];
    (address, prop_oneof![any::<u8>(), 29_u8..33]).prop_map(with_mask)
}

/// Bit strings, many of them the beginning of others.
fn bits() -> impl Strategy<Value = BitString> {
    let bytes = prop_oneof![prop::collection::vec(any::<u8>(), 3), prop::collection::vec(0_u8..2, 3), Just(vec![0; 3])];
    (0_u32..=24, bytes).prop_map(|(length, bytes)| BitString::new(length, bytes))
}

/// Times with zones, many of them the same at Greenwich.
fn zoned_time() -> impl Strategy<Value = ZonedTime> {
    let any_time = (0..=MICROSECONDS_PER_DAY, -57_599_i32..=57_599);
    let hour = 3600_i64;
    let whole_hours =
        (0_i64..=24, -15_i32..=15).prop_map(move |(time, offset)| (time * hour * 1_000_000, offset * 3600));
    prop_oneof![any_time, whole_hours].prop_map(|(time, offset)| ZonedTime { time, offset })
}

/// Texts of which some are vectors and some queries.
fn search_text() -> impl Strategy<Value = String> {
    let word = || "[a-c]{1,2}(:[1-9]{1,2}[AB]?)?";
    let vector = prop::collection::vec(word(), 0..4).prop_map(|words| words.join(" "));
    let query = prop::collection::vec("!?[a-c]{1,2}(:[*]?[AB]?)?", 0..4);
    let operator = prop::sample::select(vec![" & ", " | ", " <-> ", " <2> "]);
    prop_oneof![vector, (query, operator).prop_map(|(words, operator)| words.join(operator))]
}

fn interval() -> impl Strategy<Value = Interval> {
    let narrow = || prop_oneof![any::<i32>(), -40i32..40, Just(0)];
    (narrow(), narrow(), prop_oneof![any::<i64>(), Just(0), -3i64..3])
        .prop_map(|(months, days, microseconds)| Interval { months, days, microseconds })
}

/// A value of this type that is not NULL.
pub(crate) fn value_of(data_type: Type) -> BoxedStrategy<Value> {
    match data_type {
        Type::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Type::SmallInt => integer().prop_map(|number| Value::SmallInt(number as i16)).boxed(),
        Type::Integer => integer().prop_map(|number| Value::Integer(number as i32)).boxed(),
        Type::BigInt => integer().prop_map(Value::BigInt).boxed(),
        Type::Real => prop_oneof![
            any::<u32>().prop_map(|bits| Value::Real(f32::from_bits(bits))),
            double().prop_map(|number| Value::Real(number as f32)),
        ]
        .boxed(),
        Type::Double => double().prop_map(Value::Double).boxed(),
        Type::Numeric(_) => numeric().prop_map(Value::numeric).boxed(),
        Type::Text | Type::Varchar(_) => string().prop_map(Value::text).boxed(),
        Type::Char(_) => string().prop_map(|text| Value::text(text.trim_end_matches(' '))).boxed(),
        Type::Bytea => prop_oneof![prop::collection::vec(any::<u8>(), 0..20), prop::collection::vec(0u8..3, 0..5)]
            .prop_map(Value::bytea)
            .boxed(),
        Type::Date => prop_oneof![DATE_MIN..=DATE_MAX, -40_000i32..40_000].prop_map(Value::Date).boxed(),
        Type::Time(_) => (0..=MICROSECONDS_PER_DAY).prop_map(Value::Time).boxed(),
        Type::Timestamp(_) => timestamp().prop_map(Value::Timestamp).boxed(),
        Type::TimestampTz(_) => timestamp().prop_map(Value::TimestampTz).boxed(),
        Type::Interval(_) => interval().prop_map(Value::Interval).boxed(),
        Type::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        Type::Inet => network().prop_map(Value::Inet).boxed(),
        Type::Cidr => network().prop_map(|address| Value::Cidr(address.network())).boxed(),
        Type::MacAddr => any::<[u8; 6]>().prop_map(Value::MacAddr).boxed(),
        Type::MacAddr8 => any::<[u8; 8]>().prop_map(Value::MacAddr8).boxed(),
        Type::Bit(_) | Type::VarBit(_) => bits().prop_map(Value::Bits).boxed(),
        Type::TimeTz(_) => zoned_time().prop_map(Value::TimeTz).boxed(),
        Type::Money => integer().prop_map(Value::Money).boxed(),
        Type::Json => json(3).prop_map(|tree| Value::Json(crate::json::write::to_string(&tree).into())).boxed(),
        Type::Jsonb => json(3).prop_map(|tree| Value::jsonb(tree).expect("it is not deep")).boxed(),
        Type::Oid => integer().prop_map(|number| Value::Oid(number as u32)).boxed(),
        Type::Array(element) => {
            let element = element.data_type();
            let values = prop::collection::vec(nullable(element), 0..4);
            values.prop_map(move |values| Value::array(element, values)).boxed()
        }
        Type::TsVector => search_text().prop_map(|text| Value::ts_vector(text.parse().unwrap_or_default())).boxed(),
        Type::TsQuery => search_text().prop_map(|text| Value::ts_query(text.parse().unwrap_or_default())).boxed(),
        Type::Range(kind) => range(kind).prop_map(Value::range).boxed(),
        Type::Multirange(kind) => {
            let spans = |ranges: Vec<RangeValue>| ranges.iter().flat_map(|range| range.spans().to_vec()).collect();
            let ranges = prop::collection::vec(range(kind), 0..4);
            ranges.prop_map(move |ranges| Value::multirange(MultirangeValue::new(kind, spans(ranges)))).boxed()
        }
        Type::Enum(labels) => prop::sample::select(labels.values().collect::<Vec<_>>()).prop_map(Value::Enum).boxed(),
        Type::Void => Just(Value::text("")).boxed(),
    }
}

/// Ranges of this type, many of them between a few small values.
pub(crate) fn range(kind: RangeKind) -> impl Strategy<Value = RangeValue> {
    let small = move |number: i64| match kind.subtype() {
        Type::Integer => Value::Integer(number as i32),
        Type::Date => Value::Date(number as i32),
        Type::Timestamp(_) => Value::Timestamp(number),
        Type::TimestampTz(_) => Value::TimestampTz(number),
        Type::Numeric(_) => Value::numeric(BigDecimal::new(number.into(), 1)),
        _ => Value::BigInt(number),
    };
    let bound = move || (prop_oneof![2 => nullable(kind.subtype()), 3 => (-4i64..5).prop_map(small)], any::<bool>());
    (bound(), bound()).prop_map(move |((one, with_one), (other, with_other))| {
        let (low, high) = if crate::compare::compare(&one, &other).is_gt() && !one.is_null() && !other.is_null() {
            (&other, &one)
        } else {
            (&one, &other)
        };
        match RangeValue::of_values(kind, (low, with_one), (high, with_other)) {
            Ok(range) => range,
            // The next value is out of the type's bounds.
            Err(error)
                if [sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, sqlstate::DATETIME_FIELD_OVERFLOW]
                    .contains(&error.sqlstate) =>
            {
                RangeValue::empty(kind)
            }
            Err(error) => panic!("{error}"),
        }
    })
}

/// A tree of JSON.
pub(crate) fn json(levels: u32) -> impl Strategy<Value = Jsonb> {
    let key = || prop_oneof![4 => "[ab]{0,2}", 1 => "\\PC{0,4}"];
    let leaf = prop_oneof![
        Just(Jsonb::Null),
        any::<bool>().prop_map(Jsonb::Boolean),
        numeric().prop_map(Jsonb::Number),
        string().prop_map(Jsonb::string),
    ];
    leaf.prop_recursive(levels, 24, 4, move |inner| {
        let pair = (key().prop_map(String::into_boxed_str), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Jsonb::Array),
            prop::collection::vec(pair, 0..4).prop_map(|pairs| Jsonb::Object(JsonbObject::new(pairs))),
        ]
    })
}

fn timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![TIMESTAMP_MIN..TIMESTAMP_END, (-3000i64..3000).prop_map(|hours| hours * 3_600_000_000)]
}

/// A value of this type, sometimes NULL.
pub(crate) fn nullable(data_type: Type) -> BoxedStrategy<Value> {
    prop_oneof![9 => value_of(data_type), 1 => Just(Value::Null)].boxed()
}

/// Up to eight values of any types.
pub(crate) fn row() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(data_type().prop_flat_map(nullable), 0..8)
}

/// Two tuples of the same types; half of the time they share their first values.
pub(crate) fn two_tuples() -> impl Strategy<Value = (Vec<Type>, Vec<Value>, Vec<Value>)> {
    types().prop_flat_map(|types| {
        let tuple = |types: &[Type]| types.iter().map(|data_type| nullable(*data_type)).collect::<Vec<_>>();
        let strategies = (tuple(&types), tuple(&types), 0usize..6);
        (Just(types), strategies).prop_map(|(types, (left, mut right, shared))| {
            let shared = shared.min(left.len());
            if shared < 4 {
                right[..shared].clone_from_slice(&left[..shared]);
            }
            (types, left, right)
        })
    })
}
