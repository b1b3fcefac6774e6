//! The external data representation: bytes are a value or an error, and a value that was read is read again from what it is written as.
#![no_main]

use libfuzzer_sys::fuzz_target;
use raidcomm::codec::external::{append, read, take};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Anything {
    Nothing,
    Numbers(i8, i16, i32, i64, u8, u16, u32, u64),
    Text { text: String, letter: char },
    Many(Vec<(bool, Option<u16>)>),
    Map(BTreeMap<String, i16>),
    Opaque(bytes::Bytes),
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok((value, _)) = take::<Vec<Anything>>(bytes) {
        let mut written = Vec::new();
        append(&value, &mut written).expect("what was read has a form");
        assert_eq!(read::<Vec<Anything>>(&written), Ok(value), "it is another value");
    }
});
