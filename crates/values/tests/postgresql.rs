//! Compares this crate with PostgreSQL: each line of `tests/data` is what a PostgreSQL 15 server answered.
//!
//! A difference means that an application written for PostgreSQL would see another result, or another error, here.

use values::error::ValueError;
use values::functions::{self, Environment};
use values::operators::{self, BinaryOperator};
use values::{Type, Value, binary, cast, text};

/// The lines of a file in columns, comments left out; NULL is `None`.
fn rows(file: &str) -> impl Iterator<Item = Vec<Option<String>>> {
    let column = |column: &str| (column != "\\N").then(|| unescape(column));
    file.lines().filter(|line| !line.starts_with('#')).map(move |line| line.split('\t').map(column).collect())
}

/// The value that a pair of columns names.
fn value(text: &Option<String>, data_type: Type) -> Value {
    text.as_ref().map_or(Value::Null, |text| text::parse(text, data_type).unwrap())
}

/// The type that a column names.
fn type_of(column: &Option<String>) -> Type {
    column.as_ref().unwrap().parse().unwrap()
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
    result.starts_with("error 0A000") && (result.contains("infinity") || result.contains("date/time value"))
}

/// Fails with all the differences at once.
fn report(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn input_and_output_are_postgresqls() {
    let mut differences = Vec::new();
    for row in rows(include_str!("data/input_output.tsv")) {
        let [Some(type_name), Some(input), Some(bytes), Some(expected)] = row.as_slice() else {
            panic!("four: {row:?}")
        };
        let data_type: Type = type_name.parse().unwrap();
        let parsed = text::parse(input, data_type);
        let found = outcome(parsed.clone(), data_type);
        if is_refused_by_design(&found) {
            continue;
        }
        let expected = if bytes == "error" { format!("error {expected}") } else { expected.clone() };
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

/// All operators, by what the data files call them.
fn operator(symbol: &str) -> BinaryOperator {
    use BinaryOperator as Op;
    let all = [
        Op::Equal,
        Op::NotEqual,
        Op::Less,
        Op::LessOrEqual,
        Op::Greater,
        Op::GreaterOrEqual,
        Op::IsDistinctFrom,
        Op::IsNotDistinctFrom,
        Op::And,
        Op::Or,
        Op::Add,
        Op::Subtract,
        Op::Multiply,
        Op::Divide,
        Op::Modulo,
        Op::Power,
        Op::Concatenate,
        Op::BitAnd,
        Op::BitOr,
        Op::BitXor,
    ];
    match symbol {
        "LIKE" => Op::Like,
        "NOT LIKE" => Op::NotLike,
        "ILIKE" => Op::ILike,
        _ => all.into_iter().find(|operator| operator.symbol() == symbol).unwrap(),
    }
}

#[test]
fn operators_are_postgresqls() {
    let mut differences = Vec::new();
    for row in rows(include_str!("data/operators.tsv")) {
        let [left_type, left, symbol, right_type, right, result_type, expected] = row.as_slice() else {
            panic!("seven columns: {row:?}");
        };
        let (left_type, right_type) = (type_of(left_type), type_of(right_type));
        let (result_type, expected) = (result_type.as_deref().unwrap(), expected.as_deref().unwrap_or("NULL"));
        let operator = operator(symbol.as_deref().unwrap());
        let found_type = operators::binary_type(operator, left_type, right_type);
        let found = operators::binary(operator, &value(left, left_type), &value(right, right_type));
        let expected = if result_type == "error" { format!("error {expected}") } else { expected.to_string() };
        let undefined = expected.starts_with("error 42883");
        let type_agrees = match found_type {
            None => undefined,
            Some(_) if result_type == "error" => !undefined,
            Some(data_type) => {
                let held = found.as_ref().ok().and_then(Value::data_type);
                data_type.base_name() == result_type && held.is_none_or(|held| held == data_type.unmodified())
            }
        };
        let text = outcome(found, found_type.unwrap_or(Type::Text));
        if !is_refused_by_design(&text) && (!type_agrees || (found_type.is_some() && text != expected)) {
            differences.push(format!("{row:?}: {text} of type {found_type:?}"));
        }
    }
    report(&differences);
}

#[test]
fn casts_are_postgresqls() {
    let mut differences = Vec::new();
    for row in rows(include_str!("data/casts.tsv")) {
        let [from, input, to, explicit, assigned] = row.as_slice() else { panic!("five columns: {row:?}") };
        let (from, to) = (type_of(from), type_of(to));
        let source = value(input, from);
        let found_explicit = outcome(cast::explicit(&source, to), to);
        // The column's name is for the caller to add.
        let expected_assigned = assigned.as_ref().map(|text| text.replace("column \"c\" is", "column is"));
        let found_assigned = outcome(cast::assign(&source, to), to);
        for (kind, found, expected) in
            [("cast", found_explicit, explicit.clone()), ("assigned", found_assigned, expected_assigned)]
        {
            if !is_refused_by_design(&found) && found != expected.unwrap_or("NULL".into()) {
                differences.push(format!("{kind} {row:?}: {found}"));
            }
        }
    }
    report(&differences);
}

#[test]
fn functions_are_postgresqls() {
    let mut differences = Vec::new();
    for row in rows(include_str!("data/functions.tsv")) {
        let [Some(name), Some(result_type), expected, arguments @ ..] = row.as_slice() else {
            panic!("three columns and the arguments: {row:?}");
        };
        let types: Vec<Type> = arguments.chunks(2).map(|argument| type_of(&argument[0])).collect();
        let values: Vec<Value> =
            arguments.chunks(2).zip(&types).map(|(argument, data_type)| value(&argument[1], *data_type)).collect();
        let expected = expected.as_deref().unwrap_or("NULL");
        let Some(function) = functions::lookup(name, &types) else {
            if !expected.starts_with("42883") {
                differences.push(format!("{row:?}: no such function"));
            }
            continue;
        };
        let mut environment = Environment { statement_time: 0, zone: &values::Zone::UTC, random: &mut || 0 };
        let found = function.call(&values, &mut environment);
        let held = found.as_ref().ok().and_then(Value::data_type);
        let text = outcome(found, function.result);
        let agrees = if result_type == "error" {
            text == format!("error {expected}")
        } else {
            text == expected
                && function.result.base_name() == result_type
                && held.is_none_or(|held| held == function.result.unmodified())
        };
        if !agrees && !is_refused_by_design(&text) {
            differences.push(format!("{row:?}: {text} of type {}", function.result));
        }
    }
    report(&differences);
}
