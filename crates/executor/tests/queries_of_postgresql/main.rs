//! The queries of `crates/query/tests/queries`, with the answers that PostgreSQL has given: read, analyzed, planned
//! and run here. What is not built is counted, and may only become less; a wrong answer never counts.

mod addresses;
mod bounds;
mod domains;
mod enums;
mod extensions;
mod ranges;
mod scans;
mod world;

use executor::{ExecutionLimits, ExecutionStep, PlanExecution, RowNeed, plan_or_reason};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use values::Value;
use world::World;

/// The moment that every test calls now: 2024-02-29 12:34:56 UTC.
const NOW: i64 = 762_525_296_000_000;

/// Queries that no plan is made for, at most.
const NOT_BUILT_MAX: usize = 14;

struct TestSession;

impl evaluation::call::SessionInfo for TestSession {
    fn current_user(&self) -> &str {
        "postgres"
    }
    fn session_user(&self) -> &str {
        "postgres"
    }
    fn database(&self) -> &str {
        "raid"
    }
    fn version(&self) -> &str {
        "PostgreSQL 15.0 (Raid)"
    }
    fn setting(&self, name: &str) -> Option<String> {
        (name == "application_name").then(|| "tests".to_owned())
    }
    fn backend_pid(&self) -> i32 {
        42
    }
}

enum Answer {
    Lines(Vec<String>),
    NotBuilt(String),
}

fn failed(sqlstate: &str, message: &str) -> Answer {
    Answer::Lines(vec![format!("ERROR {sqlstate}"), message.to_owned()])
}

/// Columns, types and rows, one line each, as the files have them.
fn answer(world: &World, sql: &str, rows_at_once: usize, budget: usize) -> Answer {
    let script = match grammar::parse(sql) {
        Ok(script) => script,
        Err(error) => return failed(error.sqlstate, &error.message),
    };
    let Some(parsed) = script.statements.first() else { return Answer::NotBuilt("no statement".to_owned()) };
    if !analyzer::analyze::is_analyzed(&parsed.statement) {
        return Answer::NotBuilt("another statement".to_owned());
    }
    let analyzed = analyzer::analyze(world, parsed, &[]).and_then(|mut analyzed| {
        analyzed.forget_domains(world)?;
        Ok(analyzed)
    });
    let analyzed = match analyzed {
        Ok(analyzed) => analyzed,
        Err(error) if error.sqlstate == "0A000" => return Answer::NotBuilt(format!("analysis: {}", error.message)),
        Err(error) if error.message.starts_with("relation \"pg_") => {
            return Answer::NotBuilt("tables of the system".to_owned());
        }
        Err(error) => return failed(error.sqlstate, &error.message),
    };
    let plan = match plan_or_reason(world, &analyzed, world, &values::Zone::UTC) {
        Ok(Ok(plan)) => plan,
        Ok(Err(reason)) => return Answer::NotBuilt(reason),
        Err(error) => return failed(error.sqlstate, &error.message),
    };
    let names: Vec<&str> = plan.columns().iter().map(|(name, _)| name.as_str()).collect();
    let types = plan.columns().iter().map(|(_, typed)| evaluation::storage::storage(*typed));
    let types: Option<Vec<values::Type>> = types.collect();
    let Some(types) = types else { return Answer::NotBuilt("a type of a column".to_owned()) };
    let shown: Vec<String> = types.iter().map(ToString::to_string).collect();
    let mut lines = vec![names.join("|"), shown.join("|")];
    match run(world, &plan, rows_at_once, budget) {
        Err(error) => failed(error.sqlstate, &error.message),
        Ok(rows) => {
            for row in rows {
                let cells: Vec<String> = row.iter().zip(&types).map(|(value, known)| cell(value, *known)).collect();
                lines.push(cells.join("|"));
            }
            Answer::Lines(lines)
        }
    }
}

/// How often a statement without tables, whose values are these, hands back what it was given to work on so many rows;
/// and the most bytes that it yields at once.
fn pauses(sql: &str, parameters: Vec<Value>, budget: usize) -> (usize, usize) {
    let world = World::new();
    let script = grammar::parse(sql).unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let analyzed = analyzer::analyze(&world, &script.statements[0], &[]);
    let analyzed = analyzed.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let planned = plan_or_reason(&world, &analyzed, &world, &values::Zone::UTC)
        .unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let plan = planned.unwrap_or_else(|reason| panic!("{sql}: {reason}"));
    let mut execution = PlanExecution::new(plan, parameters, ExecutionLimits { memory_bytes: 64 << 20 }, 7);
    let mut environment = evaluation::CallEnvironment {
        transaction_time: NOW,
        statement_time: NOW,
        zone: &values::Zone::UTC,
        random: &mut || 0,
        session: &TestSession,
        patterns: &mut evaluation::PatternCache::default(),
    };
    let (mut yields, mut most) = (0, 0);
    loop {
        match execution.resume(&mut environment, budget).unwrap_or_else(|error| panic!("{sql}: {}", error.message)) {
            ExecutionStep::Done => return (yields, most),
            ExecutionStep::Yield => yields += 1,
            ExecutionStep::Rows(rows) => {
                most = rows.iter().flatten().map(Value::size_in_memory).sum::<usize>().max(most)
            }
            ExecutionStep::Need(_) => panic!("{sql}: it reads a table"),
        }
    }
}

/// The rows of a statement that is built, one line each.
fn lines(world: &World, sql: &str) -> Vec<String> {
    match answer(world, sql, 1_000, 8_192) {
        Answer::Lines(lines) if lines[0].starts_with("ERROR ") => lines,
        Answer::Lines(lines) => lines[2..].to_vec(),
        Answer::NotBuilt(reason) => panic!("{sql}: {reason}"),
    }
}

fn cell(value: &Value, known: values::Type) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut text = Vec::new();
    values::text::write(value, known, &mut text);
    String::from_utf8(text).expect("texts are UTF-8")
}

/// Runs a plan, a few rows at a time.
fn run(
    world: &World,
    plan: &std::sync::Arc<executor::QueryPlan>,
    rows_at_once: usize,
    budget: usize,
) -> Result<Vec<Vec<Value>>, executor::ExecutionError> {
    let execution = PlanExecution::new(plan.clone(), Vec::new(), ExecutionLimits { memory_bytes: 64 << 20 }, 7);
    run_on(world, execution, rows_at_once, budget, &mut Vec::new())
}

/// The same of an execution; notes what is asked for.
fn run_on(
    world: &World,
    mut execution: PlanExecution,
    rows_at_once: usize,
    budget: usize,
    asked: &mut Vec<executor::ScanOrder>,
) -> Result<Vec<Vec<Value>>, executor::ExecutionError> {
    let mut seed = 7_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed
    };
    let mut environment = evaluation::CallEnvironment {
        transaction_time: NOW,
        statement_time: NOW,
        zone: &values::Zone::UTC,
        random: &mut random,
        session: &TestSession,
        patterns: &mut evaluation::PatternCache::default(),
    };
    let mut open: BTreeMap<executor::ScanId, Vec<Vec<Value>>> = BTreeMap::new();
    let mut found = Vec::new();
    loop {
        match execution.resume(&mut environment, budget)? {
            ExecutionStep::Done => {
                assert!(open.is_empty(), "a scan is left open");
                return Ok(found);
            }
            ExecutionStep::Rows(rows) => found.extend(rows),
            ExecutionStep::Yield => {}
            ExecutionStep::Need(RowNeed::Close(scan)) => {
                open.remove(&scan).expect("only what is open is closed");
            }
            ExecutionStep::Need(need) => {
                let scan = match need {
                    RowNeed::Open(scan, order) => {
                        open.insert(scan, world.scan(&order));
                        asked.push(order);
                        scan
                    }
                    RowNeed::More(scan) | RowNeed::Close(scan) => scan,
                    RowNeed::Call(..) => unreachable!("there are no functions of users"),
                };
                let rows = open.get_mut(&scan).expect("a scan that is open");
                let part: Vec<_> = rows.drain(..rows_at_once.min(rows.len())).collect();
                let last = rows.is_empty();
                execution.answer(scan, part, last);
                if last {
                    open.remove(&scan);
                }
            }
        }
    }
}

struct Case {
    file: String,
    sql: String,
    expected: Vec<String>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../query/tests/queries");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    for own in ["more.txt", "json.txt"] {
        files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queries_of_postgresql").join(own));
    }
    let mut cases = Vec::new();
    for path in files {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("the file of queries");
        for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty() && !block.starts_with('#')) {
            let (sql, expected) = block.split_once(";\n").unwrap_or((block, ""));
            let expected = expected.lines().map(str::to_owned).collect();
            cases.push(Case { file: file.clone(), sql: sql.to_owned(), expected });
        }
    }
    cases
}

fn compare(rows_at_once: usize, budget: usize) {
    let world = World::new();
    let (mut right, mut wrong) = (0, String::new());
    let mut wrong_count = 0;
    let mut not_built: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases() {
        let attempt = std::panic::AssertUnwindSafe(|| answer(&world, &case.sql, rows_at_once, budget));
        let answered = std::panic::catch_unwind(attempt).unwrap_or_else(|_| failed("PANIC", "a panic"));
        match answered {
            Answer::NotBuilt(reason) => *not_built.entry(reason).or_default() += 1,
            Answer::Lines(mut lines) => {
                let full = lines.clone();
                if lines[0].starts_with("ERROR ") {
                    lines.truncate(1);
                }
                if lines == case.expected {
                    right += 1;
                } else {
                    wrong_count += 1;
                    let (expected, here) = (case.expected.join("\n"), full.join("\n"));
                    let _ =
                        write!(wrong, "\n{}: {}\n--- PostgreSQL\n{expected}\n--- here\n{here}\n", case.file, case.sql);
                }
            }
        }
    }
    let missing: usize = not_built.values().sum();
    let mut reasons: Vec<_> = not_built.into_iter().map(|(reason, count)| (count, reason)).collect();
    reasons.sort_by(|left, right| right.cmp(left));
    println!("{right} right, {wrong_count} wrong, {missing} not built");
    reasons.iter().for_each(|(count, reason)| println!("{count:5} {reason}"));
    assert!(wrong.is_empty(), "answers differ from PostgreSQL's:\n{wrong}");
    assert!(missing <= NOT_BUILT_MAX, "{missing} queries are not built, which were {NOT_BUILT_MAX}");
}

/// A client would get another answer than from PostgreSQL.
#[test]
fn answers_are_postgresqls() {
    compare(1_000, 1_000_000);
}

/// Rows would be lost or come twice where an execution waits or yields.
#[test]
fn answers_do_not_depend_on_where_an_execution_stops() {
    compare(1, 3);
}
