//! Statements of sqlsmith (Seltenreich, Tang and Mullender: a random generator for PostgreSQL) on Raid: none of them may end a site or its session, or meet an error of Raid's
//! own.
//!
//! sqlsmith learns types, operators and functions from the catalogs of a PostgreSQL and only prints its statements; Raid then gets them one by
//! one.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use crate::report;
use crate::run::RunError;
use crate::stage::Stage;
use crate::wire::{Answer, Endpoint};

/// Tables for both systems, and rows for Raid's.
pub const TABLES: [&str; 5] = [
    "CREATE TABLE people (id int4 PRIMARY KEY, name text, born date, size float8, active bool)",
    "CREATE TABLE orders (id int8 PRIMARY KEY, person int4, total numeric(12,2), placed timestamptz, note varchar(40), tags text[])",
    "CREATE INDEX orders_person ON orders (person)",
    "CREATE TABLE lines (number int4, item int4, amount int2, price numeric, at timestamp, lasts interval, token uuid, raw bytea, PRIMARY KEY (number, item))",
    "CREATE TABLE bag (a int4, b text)",
];

/// Rows of them.
pub const ROWS: [&str; 4] = [
    "INSERT INTO people VALUES (1, 'a', '2000-01-01', 1.5, true), (2, NULL, NULL, NULL, NULL), (3, 'b', '2024-02-29', -2, false)",
    "INSERT INTO orders VALUES (1, 1, 10.50, '2024-01-01', 'x', '{a,b}'), (2, 1, NULL, NULL, NULL, NULL), (3, 3, 0, '2023-07-04', '', '{}')",
    "INSERT INTO lines VALUES (1, 1, 2, 1.25, '2024-01-01', '1 day', '00000000-0000-0000-0000-000000000001', '\\x00'), (1, 2, NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO bag VALUES (1, 'a'), (1, 'a'), (NULL, NULL)",
];

/// Takes what Raid has not from the catalogs that sqlsmith reads, in a database that serves for nothing else: most statements would be refused at their first
/// name otherwise. Functions of types that Raid lacks go by those types' numbers (`pg_type.dat`); what indexes of the catalogs are searched with stays.
pub const NARROWING: [&str; 4] = [
    "SET allow_system_table_mods = on",
    "DELETE FROM pg_proc p WHERE prokind = 'f' AND (p.prorettype || ' ' || p.proargtypes::text) ~ \
     '\\m(27|28|29|114|142|600|601|602|603|604|628|650|718|774|790|829|869|1560|1562|2278|2970|3220|3614|3615|3802|3831|4072|4537|5038|5069|2279|3838|325|269|3115|3310|5080|5077|5078)\\M' \
     AND p.oid NOT IN (SELECT amproc::oid FROM pg_amproc)",
    "DELETE FROM pg_proc p WHERE p.proname ~ '^(pg_(stat|ls|read|file|log|replication|create|drop|wal|backup|terminate|cancel|advisory|try|switch|current|logical|rotate|reload|sleep|promote|import|start|stop)|lo_|txid|binary_upgrade)' \
     AND p.oid NOT IN (SELECT amproc::oid FROM pg_amproc)",
    "DELETE FROM pg_operator WHERE NOT (oprleft IN (0, 16, 17, 18, 19, 20, 21, 23, 25, 26, 701, 1043, 1082, 1114, 1184, 1186, 1700, 2950) \
     AND oprright IN (0, 16, 17, 18, 19, 20, 21, 23, 25, 26, 701, 1043, 1082, 1114, 1184, 1186, 1700, 2950))",
];

/// The statements in what sqlsmith printed.
pub fn statements(printed: &str) -> Vec<String> {
    // What it says of its own start comes first.
    let text = printed.split_once("Generating indexes...done.").map_or(printed, |(_, rest)| rest);
    text.split(";\n").map(|sql| without_samples(sql.trim())).filter(|sql| !sql.is_empty()).collect()
}

/// A statement of whole tables instead of samples of them: Raid has none, and nearly every statement wants one.
fn without_samples(sql: &str) -> String {
    let mut parts = sql.split(" tablesample ");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text
}

/// What came of them.
#[derive(Debug, Default)]
pub struct Smithed {
    /// How many were asked.
    pub asked: usize,
    /// How many connections were lost.
    pub lost: usize,
    /// By SQLSTATE; `done` if it was.
    pub codes: BTreeMap<String, usize>,
    /// Raid's own errors, by message, each with the first statement that met it.
    pub internal: BTreeMap<String, String>,
}

/// Asks Raid one statement after the other, until the end, the time or a site that does not come back.
///
/// # Errors
/// Raid cannot be reached, or does not come back.
pub fn run(
    raid: &Endpoint,
    statements: &[String],
    end: Instant,
    out: &mut dyn Write,
    stop: &dyn Fn() -> bool,
) -> Result<Smithed, RunError> {
    let mut stage = Stage::open(raid).map_err(RunError::Unreachable)?;
    for sql in TABLES.iter().chain(&ROWS) {
        if let other @ (Answer::Refused(_) | Answer::Broken(_)) = stage.connection().simple(sql) {
            return Err(RunError::Unreachable(format!("{sql}: {other:?}")));
        }
    }
    let mut smithed = Smithed::default();
    for sql in statements {
        if stop() || Instant::now() >= end {
            break;
        }
        smithed.asked += 1;
        let code = match stage.connection().simple(sql) {
            Answer::Done { .. } => "done".to_string(),
            Answer::Refused(refusal) => {
                if refusal.code.starts_with("XX") {
                    smithed.internal.entry(report::shape(&refusal.message)).or_insert_with(|| sql.clone());
                }
                refusal.code
            }
            Answer::Broken(why) => {
                smithed.lost += 1;
                writeln!(out, "== the connection was lost ({why}) by\n{sql};\n")?;
                "lost".to_string()
            }
        };
        *smithed.codes.entry(code).or_default() += 1;
        if !stage.is_back() {
            return Err(RunError::Unreachable(format!("Raid does not come back after:\n{sql};")));
        }
    }
    Ok(smithed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What sqlsmith says of its start is no statement.
    #[test]
    fn statements_are_found_in_what_is_printed() {
        let printed = "Loading types...done.\nGenerating indexes...done.\nselect 1\n  from a;\nselect ';';\n";
        assert_eq!(statements(printed), ["select 1\n  from a", "select ';'"]);
        assert_eq!(
            without_samples("select 1 from a as b tablesample system (2.5) where c"),
            "select 1 from a as b where c"
        );
    }
}
