//! Holds the grammar against PostgreSQL 15's own: every statement of PostgreSQL's test suites is given to both.
//!
//! `cargo run -p grammar --example grammar_against_postgresql -- FOLDER`: FOLDER is PostgreSQL's source. A server of its own is started, if PostgreSQL 15 is installed.
//! The statement follows one that divides by zero in the same message: PostgreSQL reads the whole message before it executes anything, so that
//! either the text is refused, by scanner or grammar, or the division is, and nothing is ever done.
//!
//! What differs must stand in `known.txt`, which may only shrink; with `BLESS=1` in the environment it is written anew.

#[path = "../../analyzer/tests/support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use compare_queries::regression::script::{Item, Script};
use grammar::ast::{CopyWhat, Statement};
use support::server::Server;
use support::throwaway::Throwaway;

/// SQLSTATE, words, place.
type Refusal = (String, String, Option<String>);

/// What PostgreSQL executes if it can read the rest.
const BEFORE: &str = "SELECT 1/0;";
/// What it then says.
const DIVISION_BY_ZERO: &str = "22012";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: grammar_against_postgresql FOLDER")?;
    let Some(throwaway) = Throwaway::start() else { return Ok(()) };
    let mut server = Server::connect(&throwaway.address, "raid")?;
    let mut files = Vec::new();
    find(Path::new(&folder), &mut files)?;
    files.sort();
    let (mut both_take, mut both_refuse) = (0, 0);
    let mut differences = BTreeSet::new();
    for file in &files {
        // What was found shows at once, for the whole takes minutes.
        println!("{}: both take {both_take}, both refuse {both_refuse}, {} differ", file.display(), differences.len());
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        let mut script = Script::new(&text, BTreeMap::new());
        while let Some(item) = script.next_item() {
            let Item::Statement { sql, .. } = item else { continue };
            let ours = grammar::parse(&sql);
            if let Ok(parsed) = &ours
                && parsed.statements.iter().any(|parsed| reads_from_client(&parsed.statement))
            {
                script.copy_data();
            }
            let ours = ours.err().map(|error| {
                let position = error.position(&sql).map(|position| position.to_string());
                (error.sqlstate.to_string(), error.message, position)
            });
            let theirs = refusal(&mut server, &sql)?;
            match (ours, theirs) {
                (None, None) => both_take += 1,
                (Some(ours), Some(theirs)) if ours == theirs => both_refuse += 1,
                (ours, theirs) => {
                    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                    let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                    let sql: String = sql.chars().take(200).collect();
                    differences.insert(format!(
                        "{name}: {sql} | PostgreSQL: {} | grammar: {}",
                        told(theirs),
                        told(ours)
                    ));
                }
            }
        }
    }
    println!(
        "{} files; both take {both_take} statements, both refuse {both_refuse} with the same words and place, {} differ",
        files.len(),
        differences.len()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("known.txt");
    if std::env::var_os("BLESS").is_some() {
        let lines: String = differences.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, lines)?;
        return Ok(());
    }
    let known: BTreeSet<String> = std::fs::read_to_string(&path)?.lines().map(str::to_string).collect();
    for line in differences.difference(&known) {
        println!("new: {line}");
    }
    for line in known.difference(&differences) {
        println!("gone, take it out of known.txt: {line}");
    }
    if differences == known { Ok(()) } else { Err("the differences are not those of known.txt".into()) }
}

fn told(refusal: Option<Refusal>) -> String {
    match refusal {
        None => "takes it".to_string(),
        Some((code, message, position)) => {
            let message: String = message.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect();
            format!("{code} {message} at {}", position.unwrap_or_default())
        }
    }
}

/// Whether data follow the statement in a script.
fn reads_from_client(statement: &Statement) -> bool {
    matches!(statement, Statement::Copy(copy) if copy.from && copy.file.is_none() && matches!(copy.what, CopyWhat::Table { .. }))
}

/// All files `*.sql` of folders named `sql`.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "sql")
            && path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "sql")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// How PostgreSQL's scanner or grammar refuses a text: SQLSTATE, words, place.
fn refusal(server: &mut Server, sql: &str) -> Result<Option<Refusal>, Box<dyn Error>> {
    let described = server.run(&format!("{BEFORE}{sql}"), "")?;
    let mut fields = described.error.ok_or("something was executed")?;
    let mut field = |kind: char| fields.remove(&kind);
    let (code, message) = (field('C').unwrap_or_default(), field('M').unwrap_or_default());
    if code == DIVISION_BY_ZERO {
        return Ok(None);
    }
    let position = field('P').and_then(|position| position.parse::<usize>().ok());
    Ok(Some((code, message, position.map(|position| (position - BEFORE.len()).to_string()))))
}
