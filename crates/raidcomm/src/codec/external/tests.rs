//! The representation is the standard's, to the byte, and no bytes do harm.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn written(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(value, &mut bytes).expect("it has a form");
    bytes
}

/// Section 7's file, field by field as its description has them.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct File {
    filename: String,
    kind: FileKind,
    owner: String,
    data: bytes::Bytes,
}

/// Section 7's `filekind` and `filetype` in one, as a discriminated union is.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum FileKind {
    Text,
    Data(String),
    Exec(String),
}

/// If this fails, no program that keeps to the standard reads what we write.
#[test]
fn the_standards_example_has_the_standards_bytes() {
    let file = File {
        filename: "sillyprog".to_owned(),
        kind: FileKind::Exec("lisp".to_owned()),
        owner: "john".to_owned(),
        data: bytes::Bytes::from_static(b"(quit)"),
    };
    // The table at the end of section 7.
    #[rustfmt::skip]
    let expected = [
        0x00, 0x00, 0x00, 0x09,
        0x73, 0x69, 0x6c, 0x6c,
        0x79, 0x70, 0x72, 0x6f,
        0x67, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x02,
        0x00, 0x00, 0x00, 0x04,
        0x6c, 0x69, 0x73, 0x70,
        0x00, 0x00, 0x00, 0x04,
        0x6a, 0x6f, 0x68, 0x6e,
        0x00, 0x00, 0x00, 0x06,
        0x28, 0x71, 0x75, 0x69,
        0x74, 0x29, 0x00, 0x00,
    ];
    assert_eq!(written(&file), expected);
    assert_eq!(read::<File>(&expected), Ok(file));
}

/// If this fails, an item has not the form of its section.
#[test]
fn every_item_has_the_form_of_its_section() {
    assert_eq!(written(&-2_i32), [255, 255, 255, 254], "4.1: two's complement");
    assert_eq!(written(&-2_i8), [255, 255, 255, 254], "4.1, of a narrow one");
    assert_eq!(written(&u32::MAX), [255; 4], "4.2");
    assert_eq!(written(&FileKind::Text), [0; 4], "4.3");
    assert_eq!(written(&true), [0, 0, 0, 1], "4.4");
    assert_eq!(written(&-2_i64), [255, 255, 255, 255, 255, 255, 255, 254], "4.5");
    assert_eq!(written(&1_u64), [0, 0, 0, 0, 0, 0, 0, 1], "4.5");
    assert_eq!(written(&1.5_f32), [0x3f, 0xc0, 0, 0], "4.6");
    assert_eq!(written(&-1.5_f64), [0xbf, 0xf8, 0, 0, 0, 0, 0, 0], "4.7");
    assert_eq!(written(&bytes::Bytes::from_static(b"abcde")), *b"\0\0\0\x05abcde\0\0\0", "4.10");
    assert_eq!(written(&Opaque(b"abcde")), *b"\0\0\0\x05abcde\0\0\0", "4.10");
    assert_eq!(read::<Opaque>(b"\0\0\0\x05abcde\0\0\0"), Ok(Opaque(b"abcde")), "4.10");
    assert_eq!(written(&"abcd"), *b"\0\0\0\x04abcd", "4.11: nothing to fill up");
    assert_eq!(written(&[1_u32, 2]), [0, 0, 0, 1, 0, 0, 0, 2], "4.12: the length is known");
    assert_eq!(written(&vec![1_u16, 2]), [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2], "4.13");
    assert_eq!(written(&(1_u8, "a")), *b"\0\0\0\x01\0\0\0\x01a\0\0\0", "4.14");
    assert_eq!(written(&()), [0; 0], "4.16");
    assert_eq!(written(&Some(7_u32)), [0, 0, 0, 1, 0, 0, 0, 7], "4.19");
    assert_eq!(written(&None::<u32>), [0; 4], "4.19");
}

/// If this fails, a value has a second form, or bytes that are no value pass for one.
#[test]
fn what_no_value_looks_like_is_an_error() {
    let value = |what, value| ExternalError::Value { what, value };
    assert_eq!(read::<bool>(&[0, 0, 0, 2]), Err(value("a boolean", 2)));
    assert_eq!(read::<u8>(&[0, 0, 1, 0]), Err(value("an unsigned integer of 8 bits", 256)));
    assert_eq!(read::<&str>(b"\0\0\0\x01a\0\0\x01"), Err(value("what fills an item up", 1)));
    assert_eq!(read::<&str>(b"\0\0\0\x01\xff\0\0\0"), Err(ExternalError::Text));
    assert_eq!(read::<&str>(b"\0\0\0\x05abcde\0\0"), Err(ExternalError::Short(1)));
    assert_eq!(read::<u64>(&[0; 5]), Err(ExternalError::Short(3)));
    assert_eq!(read::<u32>(&[0; 5]), Err(ExternalError::LeftOver(1)));
    assert!(matches!(read::<FileKind>(&[0, 0, 0, 3]), Err(ExternalError::Refused(_))), "there is no such variant");
    assert_eq!(append(&1_u128, &mut Vec::new()), Err(ExternalError::NoForm("an integer of 128 bits")));
    // Four thousand million elements are claimed, and none is there.
    assert_eq!(read::<Vec<u64>>(&[255; 4]), Err(ExternalError::Short(8)));
}

/// Everything that serde has, one in the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Anything {
    Nothing,
    Numbers(i8, i16, i32, i64, u8, u16, u32, u64),
    Text { text: String, letter: char },
    Many(Vec<Anything>),
    Perhaps(Option<Box<Anything>>),
    Map(BTreeMap<u16, bool>),
}

fn anything() -> impl Strategy<Value = Anything> {
    let leaf = prop_oneof![
        Just(Anything::Nothing),
        any::<(i8, i16, i32, i64, u8, u16, u32, u64)>()
            .prop_map(|(a, b, c, d, e, f, g, h)| Anything::Numbers(a, b, c, d, e, f, g, h)),
        any::<(String, char)>().prop_map(|(text, letter)| Anything::Text { text, letter }),
        prop::collection::btree_map(any::<u16>(), any::<bool>(), 0..5).prop_map(Anything::Map),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Anything::Many),
            prop::option::of(inner).prop_map(|inner| Anything::Perhaps(inner.map(Box::new))),
        ]
    })
}

proptest! {
    /// If this failed, a message would arrive as another one.
    #[test]
    fn values_come_back_in_whole_units(value in anything()) {
        let bytes = written(&value);
        prop_assert_eq!(bytes.len() % UNIT, 0);
        prop_assert_eq!(read::<Anything>(&bytes), Ok(value));
    }

    /// If this failed, whoever reaches a port could stop a process.
    #[test]
    fn other_bytes_never_panic(bytes in prop::collection::vec(prop_oneof![Just(0_u8), 0_u8..8, any::<u8>()], 0..80)) {
        if let Ok((value, _)) = take::<Anything>(&bytes) {
            // Not the same bytes: they may have told a map's pairs in another order.
            prop_assert_eq!(read::<Anything>(&written(&value)), Ok(value));
        }
    }
}
