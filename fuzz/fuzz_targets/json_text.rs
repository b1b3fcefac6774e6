//! Texts of json and jsonb: a tree, or an error; what a tree prints is read as the same tree, also in lines, and its stored bytes are read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use values::json::{parse_tree, write};
use values::{Type, Value, row, text};

fuzz_target!(|input: &str| {
    let as_json = text::parse(input, Type::Json);
    if let Ok(tree) = parse_tree(input) {
        assert!(as_json.is_ok());
        assert_eq!(parse_tree(&write::to_string(&tree)).as_ref(), Ok(&tree));
        assert_eq!(parse_tree(&write::pretty(&tree)).as_ref(), Ok(&tree));
        let value = Value::jsonb(tree).expect("what is read is not too deep");
        let mut bytes = Vec::new();
        row::encode_row(std::slice::from_ref(&value), &mut bytes);
        assert_eq!(row::decode_row(&bytes, 1), Ok(vec![value]));
    }
});
