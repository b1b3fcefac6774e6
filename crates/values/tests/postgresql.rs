//! Compares this crate with PostgreSQL: each line of `tests/data` is what a PostgreSQL 15 server answered.
//!
//! A difference means that an application written for PostgreSQL would see another result, or another error, here.

use values::error::ValueError;
use values::{Type, Value, binary, text};

/// The lines of a file in columns, comments left out.
fn rows(file: &str) -> impl Iterator<Item = Vec<String>> {
    file.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').map(unescape).collect())
}

fn unescape(column: &str) -> String {
    let mut text = String::new();
    let mut characters = column.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some(escaped) => escaped,
                None => panic!("a column ends with a backslash: {column}"),
            },
            other => other,
        });
    }
    text
}

/// A result as the data files write it.
fn outcome(result: Result<Value, ValueError>, data_type: Type) -> String {
    match result {
        Ok(Value::Null) => "NULL".into(),
        Ok(value) => {
            let mut out = Vec::new();
            text::write(&value, data_type, &mut out);
            String::from_utf8(out).unwrap()
        }
        Err(error) => format!("error {} {}", error.sqlstate, error.message),
    }
}

/// PostgreSQL takes these; here they are refused with 0A000, as the crate's documentation says.
fn is_refused_by_design(result: &str) -> bool {
    result.starts_with("error 0A000")
}

/// Fails with all the differences at once.
fn report(differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn input_and_output_are_postgresqls() {
    let mut differences = Vec::new();
    for row in rows(include_str!("data/input_output.tsv")) {
        let [type_name, input, bytes, expected] = row.as_slice() else {
            panic!("four columns: {row:?}")
        };
        let data_type: Type = type_name.parse().unwrap();
        let parsed = text::parse(input, data_type);
        let found = outcome(parsed.clone(), data_type);
        if is_refused_by_design(&found) {
            continue;
        }
        let expected = if bytes == "error" {
            format!("error {expected}")
        } else {
            expected.clone()
        };
        if found != expected {
            differences.push(format!("{type_name} {input:?}: {found} instead of {expected}"));
        } else if let Ok(value) = parsed {
            let mut out = Vec::new();
            binary::write(&value, data_type, &mut out);
            let hexadecimal: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
            if hexadecimal != *bytes || binary::parse(&out, data_type) != Ok(value) {
                differences.push(format!("{type_name} {input:?}: bytes {hexadecimal} instead of {bytes}"));
            }
        }
    }
    report(&differences);
}
