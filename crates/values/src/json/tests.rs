//! Tests of trees and texts.

use super::*;
use crate::generate;
use crate::key;
use crate::text;
use crate::types::Type;
use crate::value::Value;
use proptest::prelude::*;

fn printed(input: &str) -> String {
    write::to_string(&parse_tree(input).unwrap())
}

fn detail(input: &str, data_type: Type) -> (&'static str, String) {
    let error = text::parse(input, data_type).unwrap_err();
    (error.sqlstate, error.detail.map(String::from).unwrap_or(error.message))
}

proptest! {
    /// A table with jsonb would come back from another site with other values, or not at all.
    #[test]
    fn trees_come_back_from_bytes(tree in generate::json(4)) {
        let mut bytes = Vec::new();
        stored::encode(&tree, &mut bytes);
        prop_assert_eq!(stored::decode(&bytes), Ok(tree));
    }

    /// A dump could not be restored.
    #[test]
    fn trees_come_back_from_text(tree in generate::json(4)) {
        prop_assert_eq!(parse_tree(&write::to_string(&tree)), Ok(tree.clone()));
        prop_assert_eq!(parse_tree(&write::pretty(&tree)), Ok(tree));
    }

    /// An index would lose rows.
    #[test]
    fn keys_order_as_values(left in generate::json(2), right in generate::json(2), third in generate::json(2)) {
        let key = |tree: &Jsonb| {
            let mut bytes = Vec::new();
            append_key(tree, &mut bytes);
            bytes
        };
        prop_assert_eq!(key(&left).cmp(&key(&right)), compare(&left, &right));
        prop_assert_eq!(compare(&left, &right), compare(&right, &left).reverse());
        if compare(&left, &right).is_le() && compare(&right, &third).is_le() {
            prop_assert!(compare(&left, &third).is_le());
        }
        let bytes = key(&left);
        let decoded = decode_key(&mut bytes.as_slice()).unwrap();
        prop_assert!(compare(&decoded, &left).is_eq());
    }

    /// A client must not be able to stop a site. What is a jsonb is a json, too.
    #[test]
    fn arbitrary_texts_do_not_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d83d", "\\ude04", "0000", "a", "é", "\"a\"", "1", "-", "0",
                ".", "e", "+5", "true", "null", "fals", " ", "\n", "\u{1}", "_", "'",
            ]),
            0..12,
        ),
    ) {
        let input = pieces.concat();
        let tree = parse_tree(&input);
        prop_assert!(validate(&input).is_ok() || tree.is_err());
    }

    /// A damaged disk must not stop a site.
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, tree in generate::json(3), at in any::<prop::sample::Index>(), byte: u8) {
        let _ = stored::decode(&bytes);
        let _ = decode_key(&mut bytes.as_slice());
        let mut damaged = Vec::new();
        stored::encode(&tree, &mut damaged);
        let place = at.index(damaged.len());
        damaged[place] = byte;
        if let Ok(decoded) = stored::decode(&damaged) {
            let mut again = Vec::new();
            stored::encode(&decoded, &mut again);
            prop_assert_eq!(again, damaged);
        }
    }
}

/// Applications compare these texts.
#[test]
fn jsonb_prints_canonically() {
    let cases = [
        (r#" { "bb" : 1 , "a":2, "c":[ ] , "a" : {} } "#, r#"{"a": {}, "c": [], "bb": 1}"#),
        ("1.50", "1.50"),
        ("-0", "0"),
        ("-0.0", "0.0"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        (r#""\u00e9\/\ud83d\ude04\u0001\n""#, "\"é/😄\\u0001\\n\""),
        ("[1,[2,[]],null]", "[1, [2, []], null]"),
    ];
    for (input, output) in cases {
        assert_eq!(printed(input), output);
    }
    assert_eq!(printed("1e400"), format!("1{}", "0".repeat(400)));
}

/// Users read these.
#[test]
fn errors_have_postgresqls_words() {
    let cases = [
        ("", "22P02", "The input string ended unexpectedly."),
        ("[1", "22P02", "The input string ended unexpectedly."),
        ("[1,]", "22P02", "Expected JSON value, but found \"]\"."),
        ("[1 2]", "22P02", "Expected \",\" or \"]\", but found \"2\"."),
        ("{1:2}", "22P02", "Expected string or \"}\", but found \"1\"."),
        ("{\"a\"}", "22P02", "Expected \":\", but found \"}\"."),
        ("{\"a\":1,}", "22P02", "Expected string, but found \"}\"."),
        ("{\"a\":1 \"b\"", "22P02", "Expected \",\" or \"}\", but found \"\"b\"\"."),
        ("1 2", "22P02", "Expected end of input, but found \"2\"."),
        ("01", "22P02", "Token \"01\" is invalid."),
        ("1.", "22P02", "Token \"1.\" is invalid."),
        ("1e", "22P02", "Token \"1e\" is invalid."),
        ("-", "22P02", "Token \"-\" is invalid."),
        ("nul", "22P02", "Token \"nul\" is invalid."),
        ("'a'", "22P02", "Token \"'\" is invalid."),
        ("\"abc", "22P02", "Token \"\"abc\" is invalid."),
        ("\"\\v\"", "22P02", "Escape sequence \"\\v\" is invalid."),
        ("\"a\nb\"", "22P02", "Character with value 0x0a must be escaped."),
        ("\"\\u00g0\"", "22P02", "\"\\u\" must be followed by four hexadecimal digits."),
    ];
    for (input, code, words) in cases {
        for data_type in [Type::Json, Type::Jsonb] {
            assert_eq!(detail(input, data_type), (code, words.to_string()), "{input}");
        }
    }
    let of_characters = [
        ("\"\\u0000\"", "22P05", "\\u0000 cannot be converted to text."),
        ("\"\\ud83d\"", "22P02", "Unicode low surrogate must follow a high surrogate."),
        ("\"\\ude04\"", "22P02", "Unicode low surrogate must follow a high surrogate."),
        ("\"\\ud83d\\ud83d\"", "22P02", "Unicode high surrogate must not follow a high surrogate."),
        ("\"\\ud83dx\"", "22P02", "Unicode low surrogate must follow a high surrogate."),
        ("\"\\ud83d\\n\"", "22P02", "Unicode low surrogate must follow a high surrogate."),
        ("1e200000", "22003", "value overflows numeric format"),
    ];
    for (input, code, words) in of_characters {
        assert_eq!(detail(input, Type::Jsonb), (code, words.to_string()), "{input}");
        assert!(text::parse(input, Type::Json).is_ok(), "{input}");
    }
}

/// A short text must not take a thread's stack.
#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for data_type in [Type::Json, Type::Jsonb] {
        assert!(text::parse(&nested(JSON_DEPTH_MAX), data_type).is_ok());
        assert_eq!(detail(&nested(JSON_DEPTH_MAX + 1), data_type).0, "54001");
        assert_eq!(detail(&"[{\"a\":".repeat(1_000_000), data_type).0, "54001");
    }
    let deepest = parse_tree(&nested(JSON_DEPTH_MAX)).unwrap();
    assert!(Value::jsonb(Jsonb::Array(vec![deepest])).is_err());
}

/// ORDER BY and unique indexes of jsonb would differ from PostgreSQL's.
#[test]
fn order_is_postgresqls() {
    let rising = [
        "[]",
        "null",
        r#""""#,
        r#""a""#,
        r#""b""#,
        "-1",
        "1",
        "2",
        "false",
        "true",
        "[null]",
        "[1]",
        "[[]]",
        "[{}]",
        "[1, 2]",
        "[1, 3]",
        "{}",
        r#"{"aa": 1}"#,
        r#"{"b": 1}"#,
        r#"{"b": 2}"#,
        r#"{"c": 1}"#,
        r#"{"a": 1, "b": 0}"#,
    ];
    let mut trees: Vec<Jsonb> = rising.iter().rev().map(|text| parse_tree(text).unwrap()).collect();
    trees.sort_by(compare);
    let sorted: Vec<String> = trees.iter().map(write::to_string).collect();
    assert_eq!(sorted, rising);
    let key = |text: &str| {
        let mut bytes = Vec::new();
        key::append(&text::parse(text, Type::Jsonb).unwrap(), &mut bytes);
        bytes
    };
    assert_eq!(key("{\"a\": 1.0}"), key("{\"a\": 1.00}"));
}
