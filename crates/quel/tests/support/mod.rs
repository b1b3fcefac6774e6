//! Tables, a generator of queries, and an evaluator of them; a PostgreSQL, as the analyzer's tests have it.
#![allow(dead_code, reason = "what is the analyzer's has more than is used here")]

pub mod calculus;
pub mod generated;
#[path = "../../../analyzer/tests/support/server.rs"]
pub mod server;
#[path = "../../../analyzer/tests/support/throwaway.rs"]
pub mod throwaway;

/// The tables and their columns.
pub const DEFINITIONS: [(&str, &str); 2] = [("r", "a int4, b int4, c text"), ("s", "a int4, d int4")];

/// The names of a table's columns.
pub fn columns(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "r" => Some(&["a", "b", "c"]),
        "s" => Some(&["a", "d"]),
        _ => None,
    }
}

/// A row as both sides print it: a fraction to four digits.
pub fn shown(row: &[Option<String>]) -> String {
    let value = |value: &Option<String>| match value {
        None => "null".to_owned(),
        Some(text) if text.contains('.') => format!("{:.4}", text.parse::<f64>().expect("a number")),
        Some(text) => text.clone(),
    };
    row.iter().map(value).collect::<Vec<_>>().join("|")
}
