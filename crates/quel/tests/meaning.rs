//! SplitMix64 queries of QUEL: what PostgreSQL answers to their SQL, and what their calculus says.
//!
//! The evaluator here knows nothing of SQL. It loops over the rows of all variables, straight from the tree, and computes an aggregate anew for each of
//! them. Without PostgreSQL 15 the test says so and does nothing. `QUEL_CASES` asks for more cases, `QUEL_SEED` for
//! others, `QUEL_SERVER=127.0.0.1:5433` for another server, whose database `raid` has no tables yet.

mod support;

use quel::{QuelError, QuelRelations, RangedRelation, Ranges, StatementMeaning, statements};
use seeded_random::SplitMix64;
use support::calculus::{Calculus, Datum, Table};
use support::generated::Generator;
use support::server::Server;
use support::throwaway::Throwaway;

struct Known;

impl QuelRelations for Known {
    fn columns(&self, relation: &RangedRelation) -> Option<Vec<quel::translate::QuelColumn>> {
        let columns = support::columns(&relation.name)?;
        Some(
            columns
                .iter()
                .map(|name| quel::translate::QuelColumn { name: (*name).to_owned(), is_text: *name == "c" })
                .collect(),
        )
    }

    fn database(&self) -> &str {
        "raid"
    }
}

const DECLARED: &str = "range of x is r, y is s, z is r";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Makes the tables anew.
fn fill(server: &mut Server, tables: &[Table]) {
    let mut sql = String::new();
    for table in tables {
        sql += &format!("TRUNCATE {};", table.name);
        for row in &table.rows {
            let values: Vec<String> = row.iter().map(Datum::literal).collect();
            sql += &format!("INSERT INTO {} VALUES ({});", table.name, values.join(", "));
        }
    }
    assert_eq!(server.run(&sql, "").expect("it runs").error, None);
}

fn sql_of(text: &str, ranges: &Ranges) -> Result<String, QuelError> {
    let all = statements(text, ranges, &Known)?;
    match all.as_slice() {
        [one] => match &one.meaning {
            StatementMeaning::Sql { sql, .. } => Ok(sql.to_string()),
            StatementMeaning::Range(_) => panic!("{text} is a query"),
        },
        _ => panic!("{text} is one statement"),
    }
}

/// If this fails, a query of QUEL shows other rows, or shows them another number of times, than its calculus says.
#[test]
fn postgresql_answers_as_the_calculus_says() {
    let own = std::env::var("QUEL_SERVER");
    let postgres = if own.is_ok() { None } else { Throwaway::start() };
    let Some(address) = own.ok().or_else(|| postgres.as_ref().map(|postgres| postgres.address.clone())) else { return };
    let mut server = Server::connect_to(&address, "raid", if postgres.is_some() { "postgres" } else { "raid" })
        .expect("it is there");
    if postgres.is_some() {
        // What it thinks of empty statistics would have it compile each query.
        assert_eq!(server.run("SET jit = off", "").expect("it runs").error, None);
    }
    for (name, definition) in support::DEFINITIONS {
        assert_eq!(server.run(&format!("CREATE TABLE {name} ({definition})"), "").expect("it runs").error, None);
    }
    let mut ranges = Ranges::default();
    let declared = statements(DECLARED, &ranges, &Known).expect("good");
    let StatementMeaning::Range(declarations) = &declared[0].meaning else { panic!("it declares") };
    ranges.declare(declarations).expect("few");
    let (seed, cases) = (number("QUEL_SEED", 1), number("QUEL_CASES", 2_000));
    let (mut compared, mut refused, mut rows, mut tables) = (0, 0, 0, Vec::new());
    for case in 0..cases {
        let mut generator = Generator { random: SplitMix64::new(seed * 1_000_003 + case) };
        if case % 20 == 0 {
            tables = generator.tables();
            fill(&mut server, &tables);
        }
        let text = generator.query();
        let place = format!("QUEL_SEED={seed}, case {case}: {text}");
        let sql = match sql_of(&text, &ranges) {
            Ok(sql) => sql,
            Err(error) if error.sqlstate == "0A000" => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{place}: {error}"),
        };
        let described = server.run(&sql, "").expect("it runs");
        assert_eq!(described.error, None, "{place}\n{sql}");
        let mut found: Vec<String> = described.rows.iter().map(|row| support::shown(row)).collect();
        let parsed = quel::parser::parse(&text).expect("it was translated");
        let mut wanted = Calculus { tables: &tables, ranges: &ranges }.rows(&parsed[0].statement);
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{place}\n{sql}\n{tables:?}");
        compared += 1;
        rows += found.len();
    }
    println!("{compared} queries with {rows} rows compared, {refused} refused");
    assert!(compared * 10 > cases * 9, "most queries can be compared");
}
