//! The files in `tests/queries`: a query ends with a semicolon at the end of a line, then come the names of its columns,
//! their types and its rows, up to an empty line. A result of one line `ERROR` and a SQLSTATE is an error.

use crate::memory::World;
use crate::postgres;
use query::Engine;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Of the queries that succeed, so many are planned by the executor at least. The number only rises.
const EXECUTED_MIN: usize = 386;

pub struct Case {
    pub sql: String,
    pub expected: Vec<String>,
}

/// All cases of all files.
pub fn all_cases() -> Vec<Case> {
    let read = |file: &&str| std::fs::read_to_string(folder().join(file)).expect("the file of queries");
    FILES.iter().flat_map(|file| cases(&read(file))).collect()
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty() && !block.starts_with('#')) {
        let (sql, expected) = match block.split_once(";\n") {
            Some((sql, expected)) => (sql, expected),
            None => (block.trim_end_matches(';'), ""),
        };
        let expected = expected.lines().map(str::to_owned).collect();
        cases.push(Case { sql: sql.to_owned(), expected });
    }
    cases
}

/// The comment that a file begins with.
fn heading(text: &str) -> &str {
    text.split("\n\n").next().filter(|block| block.starts_with('#')).unwrap_or_default()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queries")
}

/// Checks one file; all differences are shown at once.
fn check(file: &str) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).expect("the file of queries");
    let mut cases = cases(&text);
    if let Some(command) = postgres::command() {
        static TABLES: Once = Once::new();
        TABLES.call_once(|| postgres::create_tables(&command));
        write_anew(&command, &mut cases, heading(&text), &path);
    }
    assert!(!cases.is_empty(), "{file} has no queries");
    for engine in [Engine::Both, Engine::DataFusion] {
        let differences = differences(&World::with_engine(engine), &cases);
        assert!(differences.is_empty(), "results by {engine:?} differ from PostgreSQL's:\n{differences}");
    }
}

/// Where answers are not what PostgreSQL's were.
fn differences(world: &World, cases: &[Case]) -> String {
    let mut differences = String::new();
    for case in cases {
        let mut answer = world.answer(&case.sql);
        let full_answer = answer.clone();
        if answer.len() == 1 && answer[0].starts_with("ERROR ") {
            answer[0].truncate("ERROR 00000".len());
        }
        if answer != case.expected {
            let _ = write!(
                differences,
                "\n{}\n--- PostgreSQL\n{}\n--- here\n{}\n",
                case.sql,
                case.expected.join("\n"),
                full_answer.join("\n")
            );
        }
    }
    differences
}

/// If few of the queries went to the executor, the tests here would say little of it. `SHOW=1` prints those that did not go there, with the reason.
#[test]
fn most_queries_go_to_the_executor() {
    let world = World::with_engine(Engine::Executor);
    let mut reasons = std::collections::BTreeMap::new();
    let (mut gone, mut all) = (0, 0);
    for case in all_cases().iter().filter(|case| !case.expected[0].starts_with("ERROR")) {
        all += 1;
        match world.plan(&case.sql, &[]) {
            Ok(_) => gone += 1,
            Err(error) => reasons.entry(error.message).or_insert_with(Vec::new).push(case.sql.clone()),
        }
    }
    println!("{gone} of {all} queries go to the executor");
    for (reason, queries) in &reasons {
        println!("{}: {reason}", queries.len());
        if std::env::var("SHOW").is_ok() {
            println!("    {}", queries.join("\n    "));
        }
    }
    assert!(gone >= EXECUTED_MIN, "only {gone} of {all} queries go to the executor: {reasons:?}");
}

fn write_anew(command: &str, cases: &mut [Case], heading: &str, path: &Path) {
    let mut text = String::new();
    if !heading.is_empty() {
        let _ = writeln!(text, "{heading}\n");
    }
    for case in cases {
        let rows = postgres::psql(command, &format!("{};\n", case.sql));
        case.expected = match rows.trim_end().strip_prefix("ERROR:  ") {
            Some(sqlstate) => vec![format!("ERROR {sqlstate}")],
            None => {
                let described = postgres::psql(command, &format!("{} \\gdesc\n", case.sql));
                let types: Vec<&str> =
                    described.lines().skip(1).filter_map(|line| line.split_once('|')).map(|(_, known)| known).collect();
                let mut lines: Vec<String> = rows.lines().map(str::to_owned).collect();
                lines.insert(1, types.join("|"));
                lines
            }
        };
        let _ = writeln!(text, "{};\n{}\n", case.sql, case.expected.join("\n"));
    }
    std::fs::write(path, format!("{}\n", text.trim_end())).expect("the file can be written");
}

macro_rules! files {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        const FILES: &[&str] = &[$(concat!(stringify!($name), ".txt")),*];
        $(
        $(#[$doc])*
        #[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        }
        )*
    };
}

files! {
    /// A client that reads a column by name or type would break.
    names_and_types,
    /// Numbers would be wrong: overflow, division, rounding, promotion.
    numbers,
    /// Digits would be lost, or equal values be told apart.
    numerics,
    /// What is unknown would count as false or true.
    truth,
    /// Rows would be lost, repeated or out of place.
    joins,
    /// Rows that an index or a join leads to would be lost, or come in another order.
    ways,
    /// Sums and counts would be wrong.
    aggregates,
    /// Subqueries, correlated ones too, would see the wrong rows.
    subqueries,
    /// Common table expressions, recursive ones too, and set operations.
    set_operations,
    /// Running totals and ranks would be wrong.
    windows,
    /// Dates and intervals would be off.
    times,
    /// Texts would be cut, padded or matched wrongly.
    texts,
    /// Casts would round, print or refuse differently.
    casts,
    /// Arrays would be read, compared, taken apart or put together wrongly.
    arrays,
    /// A wrong query would not be refused, or with another code than clients test for.
    errors,
}
