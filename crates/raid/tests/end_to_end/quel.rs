//! QUEL beside SQL: the same programs, and the same answers as PostgreSQL gives to SQL that was written by hand.
//!
//! In `tests/quel` a line `both: ...` is SQL for both servers; a line `: ...` is QUEL, which is asked of Raid; the line `= ...` behind it is what means
//! the same in SQL. In `programs.quel` both are explained, by Raid; in the other files the SQL is asked of PostgreSQL, and `! 42601` stands for an error.

use crate::answers::{Answer, Wire};
use crate::harness::World;
use crate::throwaway_postgres::Postgres;
use std::path::Path;

/// A line of QUEL, and what is expected of it.
struct Pair {
    place: String,
    quel: String,
    sql: String,
}

/// What a file says.
enum Step {
    Both(String),
    Compare(Pair),
    Fails(Pair),
}

fn steps(name: &str) -> Vec<Step> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/quel").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut steps = Vec::new();
    let mut quel = String::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        match line.split_once(' ') {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some(("both:", sql)) => steps.push(Step::Both(sql.to_owned())),
            Some((":", text)) => quel = text.to_owned(),
            Some(("=", sql)) => {
                let quel = std::mem::take(&mut quel);
                steps.push(Step::Compare(Pair { place, quel, sql: sql.to_owned() }));
            }
            Some(("!", sqlstate)) => {
                let quel = std::mem::take(&mut quel);
                steps.push(Step::Fails(Pair { place, quel, sql: sqlstate.to_owned() }));
            }
            _ => panic!("{place}: {line}"),
        }
    }
    steps
}

/// A session that speaks QUEL, its variables declared.
fn quel_session(world: &World, site: u16) -> Wire {
    let mut session = Wire::connect(world.sql(site), "raid", "raid");
    let set = session.simple("SET raid.query_language = quel", None);
    assert_eq!(set.error(), None);
    let declared = session.simple("range of e is emp, m is emp range of d is dept", None);
    assert_eq!(declared.error(), None, "{declared:?}");
    session
}

fn run(session: &mut Wire, sql: &str) {
    let done = session.simple(sql, None);
    assert_eq!(done.error(), None, "{sql}: {done:?}");
}

/// What counts of an answer: its rows in any order.
fn counted(mut answer: Answer) -> Vec<String> {
    answer.sort_rows();
    answer.lines
}

/// If this fails, a statement in QUEL does not run as the same statement in SQL does.
#[test]
fn quel_has_the_programs_of_sql() {
    let world = World::start();
    let (mut quel, mut sql) = (quel_session(&world, 1), Wire::connect(world.sql(1), "raid", "raid"));
    let mut compared = 0;
    let mut failures = String::new();
    for step in steps("programs.quel") {
        match step {
            Step::Both(text) => run(&mut sql, &text),
            Step::Compare(pair) => {
                let got = quel.simple(&format!("explain {}", pair.quel), None).lines;
                let wanted = sql.simple(&format!("EXPLAIN {}", pair.sql), None);
                assert_eq!(wanted.error(), None, "{}: {wanted:?}", pair.place);
                if got != wanted.lines {
                    failures += &format!("{}: {}\n  {got:#?}\n  {:#?}\n", pair.place, pair.quel, wanted.lines);
                }
                compared += 1;
            }
            Step::Fails(pair) => panic!("{}: only programs are compared here", pair.place),
        }
    }
    println!("{compared} programs compared");
    assert!(failures.is_empty(), "{failures}");
}

/// If this fails, a statement of QUEL is answered otherwise than it means.
#[test]
fn quel_answers_as_postgresql_does_to_its_sql() {
    let Some(postgres) = Postgres::start() else { return };
    let world = World::start();
    let mut quel = quel_session(&world, 1);
    let mut sql = Wire::connect(world.sql(1), "raid", "raid");
    let mut reference = Wire::connect(postgres.address, "raid", "raid");
    let (mut compared, mut failures) = (0, String::new());
    for step in steps("answers.quel") {
        match step {
            Step::Both(text) => {
                run(&mut sql, &text);
                run(&mut reference, &text);
            }
            Step::Compare(pair) => {
                let wanted = counted(reference.simple(&pair.sql, None));
                let got = counted(quel.simple(&pair.quel, None));
                if got != wanted {
                    failures += &format!("{}: {}\n  Raid: {got:?}\n  PostgreSQL: {wanted:?}\n", pair.place, pair.quel);
                }
                compared += 1;
            }
            Step::Fails(pair) => {
                let got = quel.simple(&pair.quel, None);
                if got.error() != Some(&pair.sql) {
                    failures += &format!("{}: {}\n  {got:?}\n", pair.place, pair.quel);
                }
                compared += 1;
            }
        }
    }
    println!("{compared} statements compared");
    assert!(failures.is_empty(), "{failures}");
}
