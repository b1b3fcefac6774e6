//! Statements that PostgreSQL and Raid must answer alike: columns, types, rows in text and binary, command tags, SQLSTATEs.
//!
//! The files in `tests/sql` are run statement by statement against a PostgreSQL of our own and against three sites. A statement ends with
//! the line that ends with a semicolon; the data of COPY FROM STDIN follows it up to a line `\.`. A line `--!` says how the next is treated:
//!
//! * `unsupported`: asked of Raid only, which must answer 0A000 (PostgreSQL can do it);
//! * `differs: why`: an intended difference, which must be there;
//! * `missing: what`: a difference that is a gap, which must be there too: closing it means removing the line;
//! * `any order`: rows are compared without their order;
//! * `describe`: only its parameters and columns, by the extended protocol;
//! * `with a|b|NULL`: by the extended protocol, with these parameters;
//! * `one session`: from here to the end of the file, queries are asked again by the session itself.
//!
//! PostgreSQL describes a query's columns before it finds that it cannot answer; Raid may find it before: columns that an error follows
//! do not count. A query outside of a transaction is asked again in the extended protocol with binary results, at another site.

use crate::answers::{Answer, Wire};
use crate::harness::{World, eventually};
use crate::throwaway_postgres::Postgres;
use std::fmt::Write as _;
use std::path::Path;

/// One statement of a file.
#[derive(Default)]
struct Statement {
    line: usize,
    sql: String,
    copy: Option<String>,
    unsupported: bool,
    differs: Option<String>,
    missing: Option<String>,
    any_order: bool,
    describe: bool,
    with: Option<Vec<Option<String>>>,
    /// It concerns what no other session has.
    of_session: bool,
}

impl Statement {
    fn direct(&mut self, place: &str, directive: &str) {
        match directive.split_once([' ', ':']) {
            _ if directive == "unsupported" => self.unsupported = true,
            _ if directive == "any order" => self.any_order = true,
            _ if directive == "describe" => self.describe = true,
            _ if directive == "one session" => self.of_session = true,
            Some(("differs", why)) => self.differs = Some(why.trim().to_string()),
            Some(("missing", what)) => self.missing = Some(what.trim().to_string()),
            Some(("with", values)) => {
                let value = |text: &str| (text != "NULL").then(|| text.to_string());
                self.with = Some(values.trim().split('|').map(value).collect());
            }
            _ => panic!("{place}: no such directive: {directive}"),
        }
    }

    /// Whether Raid's answer is known to be another.
    fn is_excused(&self) -> bool {
        self.differs.is_some() || self.missing.is_some()
    }

    /// Whether it is asked again by the extended protocol at another site: a query and nothing else, not about its session, and no sequence goes on with it.
    fn is_query(&self) -> bool {
        let inner = self.sql.trim_end_matches([';', '\n']);
        let word = self.sql.split([' ', '\n', '(']).next().unwrap_or_default();
        ["SELECT", "VALUES", "WITH"].contains(&word)
            && !inner.contains(';')
            && !inner.contains("current_setting")
            && !["nextval(", "setval(", "currval(", "lastval(", "advisory_"]
                .iter()
                .any(|of_session| inner.contains(of_session))
            && self.with.is_none()
    }

    fn ask(&self, session: &mut Wire) -> Answer {
        let mut answer = if self.describe {
            session.extended(&self.sql, None)
        } else if let Some(values) = &self.with {
            let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
            session.extended(&self.sql, Some(&values))
        } else {
            session.simple(&self.sql, self.copy.as_deref().map(str::as_bytes))
        };
        if self.any_order {
            answer.sort_rows();
        }
        answer
    }

    fn ask_binary(&self, session: &mut Wire) -> Answer {
        let mut answer = session.extended(&self.sql, Some(&[]));
        if self.any_order {
            answer.sort_rows();
        }
        answer
    }
}

fn statements(path: &Path) -> Vec<Statement> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut statements = Vec::new();
    let mut next = Statement::default();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(directive) = line.strip_prefix("--! ") {
            next.direct(&format!("{}:{}", path.display(), index + 1), directive.trim());
            continue;
        }
        if line.starts_with("--") || (line.is_empty() && next.sql.is_empty()) {
            continue;
        }
        if next.sql.is_empty() {
            next.line = index + 1;
        }
        next.sql += line;
        if !line.ends_with(';') {
            next.sql.push('\n');
            continue;
        }
        let upper = next.sql.to_uppercase();
        if upper.starts_with("COPY") && upper.contains("FROM STDIN") {
            let data = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "\\.");
            next.copy = Some(data.map(|line| format!("{line}\n")).collect());
        }
        let of_session = next.of_session;
        statements.push(std::mem::take(&mut next));
        next.of_session = of_session;
    }
    assert_eq!(next.sql, "", "{}: the last statement does not end", path.display());
    statements
}

/// What came of all statements.
#[derive(Clone, Default)]
struct Tally {
    statements: usize,
    answers: usize,
    unsupported: usize,
    intended: usize,
    gaps: usize,
    messages: usize,
    failures: String,
    failed: usize,
}

impl Tally {
    fn compare(&mut self, place: &str, statement: &Statement, wanted: &Answer, got: &Answer) {
        self.answers += 1;
        let counted = |answer: &Answer| {
            let columns = |line: &str| {
                answer.error().is_some() && (line.starts_with("columns ") || line.starts_with("parameters "))
            };
            answer.lines.iter().filter(|line| !columns(line)).cloned().collect::<Vec<String>>()
        };
        let alike = counted(wanted) == counted(got);
        match (statement.differs.as_ref().or(statement.missing.as_ref()), alike) {
            (Some(_), false) if statement.missing.is_some() => self.gaps += 1,
            (Some(_), false) => self.intended += 1,
            (None, true) => {
                if wanted.messages != got.messages {
                    self.messages += 1;
                    if std::env::var_os("SHOW_MESSAGES").is_some() {
                        println!("{place}: {:?}\n  raid: {:?}", wanted.messages, got.messages);
                    }
                }
            }
            (Some(why), true) => self.fail(place, statement, &format!("does not differ any more: {why}")),
            (None, false) => {
                let show = |answer: &Answer| {
                    let lines: Vec<&str> = answer.lines.iter().chain(&answer.messages).map(String::as_str).collect();
                    format!("\n      {}", lines.join("\n      "))
                };
                self.fail(place, statement, &format!("PostgreSQL:{}\n    Raid:{}", show(wanted), show(got)));
            }
        }
    }

    fn fail(&mut self, place: &str, statement: &Statement, what: &str) {
        self.failed += 1;
        let _ = writeln!(self.failures, "{place}: {}\n    {what}", statement.sql);
    }
}

/// How often a file is begun anew because the machine was so busy that a site lost its leases.
const TRIES_MAX: usize = 5;

/// Whether Raid's answer says that its site had to start again.
fn is_disturbed(answer: &Answer) -> bool {
    matches!(answer.error(), Some("08007" | "57P03"))
}

/// Takes all tables away.
fn clear(world: &World, postgres: &Postgres) {
    let cleared = Wire::connect(postgres.address, "raid", "raid")
        .simple("DROP SCHEMA public CASCADE; CREATE SCHEMA public", None);
    assert_eq!(cleared.error(), None, "{cleared:?}");
    eventually("a site to drop its tables", || {
        let mut session = Wire::connect(world.sql(1), "raid", "raid");
        let found = session.simple(
            "SELECT 'TABLE \"' || tablename::text || '\" CASCADE' FROM pg_tables WHERE schemaname = 'public' \
             UNION ALL SELECT 'SEQUENCE IF EXISTS \"' || relname::text || '\"' FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace \
             UNION ALL SELECT CASE prokind::text WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END || ' \"' || proname::text || '\"' \
             FROM pg_proc WHERE prolang <> 13 AND pronamespace = 'public'::regnamespace \
             UNION ALL SELECT 'DOMAIN IF EXISTS \"' || typname::text || '\" CASCADE' FROM pg_type WHERE typtype = 'd' AND typnamespace = 'public'::regnamespace",
            None,
        );
        let names = found.lines.iter().filter_map(|line| line.strip_prefix("row "));
        let drops: Vec<String> = names.map(|name| format!("DROP {};", name.replace("\\\"", "\""))).collect();
        found.error().is_none() && (drops.is_empty() || session.simple(&drops.concat(), None).error().is_none())
    });
}

/// Asks both servers everything in a file. False: a site had to start again meanwhile, and what was compared means nothing.
fn run_file(path: &Path, world: &World, postgres: &Postgres, home: u16, tally: &mut Tally) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut reference = Wire::connect(postgres.address, "raid", "raid");
    let mut session = Wire::connect(world.sql(home), "raid", "raid");
    let mut elsewhere = Wire::connect(world.sql(home % 3 + 1), "raid", "raid");
    for statement in statements(path) {
        let place = format!("{name}:{}", statement.line);
        tally.statements += 1;
        if statement.unsupported {
            let got = statement.ask(&mut session);
            tally.unsupported += 1;
            if is_disturbed(&got) {
                return false;
            }
            if got.error() != Some("0A000") {
                tally.fail(&place, &statement, &format!("should be refused with 0A000: {got:?}"));
            }
            continue;
        }
        let (wanted, got) = (statement.ask(&mut reference), statement.ask(&mut session));
        if is_disturbed(&got) {
            return false;
        }
        tally.compare(&place, &statement, &wanted, &got);
        if reference.block == 'I' && session.block == 'I' && statement.is_query() && !statement.is_excused() {
            let again = if statement.of_session { &mut session } else { &mut elsewhere };
            let (wanted, got) = (statement.ask_binary(&mut reference), statement.ask_binary(again));
            if is_disturbed(&got) {
                return false;
            }
            tally.compare(&format!("{place} (binary, site {})", home % 3 + 1), &statement, &wanted, &got);
        }
    }
    true
}

/// An application that was written for PostgreSQL would see another answer from Raid.
#[test]
fn statements_are_answered_as_by_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let world = World::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder is there").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let only = std::env::var("SQL_FILE").unwrap_or_default();
    let mut tally = Tally::default();
    for (number, path) in files.iter().filter(|path| path.to_string_lossy().contains(&only)).enumerate() {
        let before = tally.clone();
        let undisturbed = (0..TRIES_MAX).any(|_| {
            clear(&world, &postgres);
            tally = before.clone();
            run_file(path, &world, &postgres, (number % 3 + 1) as u16, &mut tally)
        });
        assert!(undisturbed, "{}: sites keep starting again\n{}", path.display(), world.logs());
    }
    println!(
        "{} statements, {} answers compared: {} differ, {} differ as intended, {} are gaps, {} are alike but for a message; \
         {} refused as not supported",
        tally.statements, tally.answers, tally.failed, tally.intended, tally.gaps, tally.messages, tally.unsupported
    );
    assert!(tally.failures.is_empty(), "{} answers differ from PostgreSQL's:\n{}", tally.failed, tally.failures);
}
