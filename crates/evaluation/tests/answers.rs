//! PostgreSQL's recorded answers to statements without tables, and ours. `BLESS=1` asks a PostgreSQL 15 again and writes them down; statements are added by hand, one a line.
//! A line `-- timezone NAME` says in which time zone the next ones are answered.

mod constants;
mod support;

use constants::evaluate;
use support::server::Server;
use support::throwaway::Throwaway;
use values::Zone;

/// A statement and what PostgreSQL says to it, a tab between them.
const ANSWERS: &str = include_str!("answers.txt");

/// What a line that sets the time zone begins with.
const ZONE: &str = "-- timezone ";

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
        if let Some(zone) = line.strip_prefix(ZONE) {
            server.run(&format!("set timezone = '{zone}'"), "").expect("it is set");
        }
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
    let (mut count, mut zone) = (0, Zone::UTC);
    for line in ANSWERS.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix(ZONE) {
            zone = Zone::of_name(name).expect("a zone");
        }
        if line.starts_with("--") {
            continue;
        }
        let (statement, expected) = line.split_once('\t').expect("each statement has its answer");
        let ours = match evaluate(statement, &zone) {
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

/// Wrong if a replayed statement could see another time, chance or session than its environment says.
#[test]
fn what_is_not_an_argument_comes_from_the_environment() {
    let expected = [
        ("select now()", "2000-01-01 00:00:00+00"),
        ("select statement_timestamp()", "2000-01-01 00:00:00+00"),
        ("select random()", "0.5"),
        ("select gen_random_uuid()", "80000000-0000-4000-8000-000000000000"),
        ("select version()", "PostgreSQL 15"),
        ("select pg_backend_pid()", "1"),
        ("select age('1999-12-31'::timestamp)", "1 day"),
    ];
    for (statement, answer) in expected {
        assert_eq!(evaluate(statement, &Zone::UTC), Ok(vec![Some(answer.to_string())]), "{statement}");
    }
}
