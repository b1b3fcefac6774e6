//! PostgreSQL's recorded answers to statements without tables, and ours. `BLESS=1` asks a PostgreSQL 15 again and writes them down; statements are added by hand, one a line.

#[path = "../../analyzer/tests/support/server.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod server;
#[path = "../../analyzer/tests/support/throwaway.rs"]
mod throwaway;

mod constants;

use constants::evaluate;
use server::Server;
use throwaway::Throwaway;

/// A statement and what PostgreSQL says to it, a tab between them.
const ANSWERS: &str = include_str!("answers.txt");

/// A line's way to write lines' ends, and NULL.
fn written(value: Option<&str>) -> String {
    match value {
        None => "\\N".into(),
        Some(text) => text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r"),
    }
}

fn recorded(server: &mut Server, statement: &str) -> String {
    let described = server.run(statement, "").expect("it answers");
    match described.error {
        Some(fields) => format!("!{} {}", fields[&'C'], fields[&'M']),
        None => {
            let rows = described.rows.iter().map(|row| written(row[0].as_deref()));
            rows.collect::<Vec<_>>().join(" | ")
        }
    }
}

fn record() {
    let Some(postgresql) = Throwaway::start() else { return };
    let mut server = Server::connect(&postgresql.address, "raid").expect("it listens");
    for setting in ["set timezone = 'UTC'", "set intervalstyle = postgres", "set datestyle = 'ISO, MDY'"] {
        server.run(setting, "").expect("it is set");
    }
    let mut text = String::new();
    for line in ANSWERS.lines() {
        let statement = line.split('\t').next().unwrap_or_default();
        match statement.starts_with("--") || statement.is_empty() {
            true => text.push_str(line),
            false => text.push_str(&format!("{statement}\t{}", recorded(&mut server, statement))),
        }
        text.push('\n');
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.txt");
    std::fs::write(path, text).expect("the file can be written");
}

/// Wrong if a function computed something else than PostgreSQL, or refused with another code or other words.
#[test]
fn answers_are_postgresqls() {
    if std::env::var_os("BLESS").is_some() {
        return record();
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in ANSWERS.lines().filter(|line| !line.starts_with("--") && !line.is_empty()) {
        let (statement, expected) = line.split_once('\t').expect("each statement has its answer");
        let ours = match evaluate(statement) {
            Ok(rows) => rows.iter().map(|row| written(row.as_deref())).collect::<Vec<_>>().join(" | "),
            Err(error) => error,
        };
        count += 1;
        if ours != expected {
            wrong.push(format!("{statement}\n  expected {expected}\n  found    {ours}"));
        }
    }
    println!("{count} statements");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
