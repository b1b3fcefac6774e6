//! Ranges beside what PostgreSQL 15 makes of them, and the laws of their algebra.

use super::algebra::{contains, contains_point, is_adjacent, overlaps};
use super::{MultirangeValue, RangeKind, RangePoint, RangeValue};
use crate::generate;
use crate::text;
use crate::types::Type;
use crate::value::Value;
use proptest::prelude::*;

const NUMBERS: RangeKind = RangeKind::Integer;

fn range(text: &str, kind: RangeKind) -> RangeValue {
    match text::parse(text, Type::Range(kind)).unwrap() {
        Value::Range(range) => (*range).clone(),
        other => panic!("{other:?} is no range"),
    }
}

fn shown(range: RangeValue) -> String {
    text::to_string(&Value::range(range)).unwrap()
}

fn has(range: &RangeValue, number: i64) -> bool {
    contains_point(range.spans(), &RangePoint::Whole(number))
}

proptest! {
    /// Sets of numbers are what ranges stand for: each operation has to do to both the same.
    #[test]
    fn operations_are_those_of_sets(left in generate::range(NUMBERS), right in generate::range(NUMBERS)) {
        for number in -6..7 {
            let (in_left, in_right) = (has(&left, number), has(&right, number));
            prop_assert_eq!(has(&left.intersection(&right), number), in_left && in_right);
            if let Ok(union) = left.union(&right) {
                prop_assert_eq!(has(&union, number), in_left || in_right);
            }
            if let Ok(difference) = left.difference(&right) {
                prop_assert_eq!(has(&difference, number), in_left && !in_right);
            }
        }
        let rest = right.difference(&left);
        prop_assert_eq!(contains(left.spans(), right.spans()), rest.is_ok_and(|rest| rest.span().is_none()));
        prop_assert_eq!(overlaps(left.spans(), right.spans()), left.intersection(&right).span().is_some());
        let joined = left.span().is_none() || right.span().is_none();
        let touching = overlaps(left.spans(), right.spans()) || is_adjacent(left.spans(), right.spans());
        prop_assert_eq!(left.union(&right).is_ok(), joined || touching);
    }

    /// The same of several ranges at once, which must stay apart from each other.
    #[test]
    fn operations_of_multiranges_are_those_of_sets(
        left in generate::value_of(Type::Multirange(NUMBERS)), right in generate::value_of(Type::Multirange(NUMBERS)),
    ) {
        let (Value::Multirange(left), Value::Multirange(right)) = (left, right) else { panic!("multiranges") };
        let has = |all: &MultirangeValue, number| contains_point(all.spans(), &RangePoint::Whole(number));
        let (union, both, rest) = (left.union(&right), left.intersection(&right), left.difference(&right));
        for number in -6..7 {
            let (in_left, in_right) = (has(&left, number), has(&right, number));
            prop_assert_eq!(has(&union, number), in_left || in_right);
            prop_assert_eq!(has(&both, number), in_left && in_right);
            prop_assert_eq!(has(&rest, number), in_left && !in_right);
        }
        prop_assert_eq!(overlaps(left.spans(), right.spans()), !both.spans().is_empty());
        prop_assert_eq!(contains(left.spans(), right.spans()), right.difference(&left).spans().is_empty());
        for all in [union, both, rest] {
            prop_assert_eq!(&MultirangeValue::new(NUMBERS, all.spans().to_vec()), &all);
        }
    }

    /// A client must not be able to stop a site.
    #[test]
    fn arbitrary_literals_do_not_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["{", "}", "[", "]", "(", ")", ",", "\"", "\\", " ", "1", "9", "empty", "\u{e9}"]),
            0..12,
        ),
    ) {
        let literal = pieces.concat();
        for data_type in [Type::Range(NUMBERS), Type::Multirange(NUMBERS)] {
            if let Ok(value) = text::parse(&literal, data_type) {
                prop_assert_eq!(text::parse(&text::to_string(&value).unwrap(), data_type), Ok(value));
            }
        }
    }

    /// Nor by bytes.
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, kind in prop::sample::select(RangeKind::ALL.to_vec())) {
        let _ = crate::binary::parse(&bytes, Type::Range(kind));
        let _ = crate::binary::parse(&bytes, Type::Multirange(kind));
        let _ = super::stored::decode_range(&bytes);
        let _ = super::stored::decode_multirange(&bytes);
    }
}

/// A statement with two long multiranges would hold a thread up, and nobody could cancel it.
#[test]
fn long_multiranges_are_walked_once() {
    let of = |first: i32| {
        let spans: Vec<String> =
            (0..200_000).map(|place| format!("[{},{})", place * 4 + first, place * 4 + first + 1)).collect();
        match text::parse(&format!("{{{}}}", spans.join(",")), Type::Multirange(NUMBERS)).unwrap() {
            Value::Multirange(multirange) => multirange,
            other => panic!("{other:?}"),
        }
    };
    let (even, odd) = (of(0), of(2));
    assert!(!overlaps(even.spans(), odd.spans()) && !contains(even.spans(), odd.spans()));
    assert!(overlaps(even.spans(), even.spans()) && contains(even.spans(), even.spans()));
    assert!((0..200_000).all(|number| contains_point(even.spans(), &RangePoint::Whole(number * 4))));
}

/// Two ranges of the same numbers would not be equal.
#[test]
fn discrete_ranges_have_one_form() {
    for (text, canonical) in [
        ("[1,5]", "[1,6)"),
        ("(1,5)", "[2,5)"),
        ("(1,2)", "empty"),
        ("[3,3)", "empty"),
        ("(3,3]", "empty"),
        ("[3,3]", "[3,4)"),
        ("(,5]", "(,6)"),
        ("[,]", "(,)"),
        ("( 1 , 3 ]", "[2,4)"),
        (" EMPTY ", "empty"),
        ("[\"1\",\\5)", "[1,5)"),
    ] {
        assert_eq!(shown(range(text, NUMBERS)), canonical, "{text}");
    }
    assert_eq!(shown(range("(1.0,1.5]", RangeKind::Numeric)), "(1.0,1.5]");
    assert_eq!(shown(range("[2024-02-28,2024-02-29]", RangeKind::Date)), "[2024-02-28,2024-03-01)");
}
