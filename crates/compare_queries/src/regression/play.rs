//! A file of the suite, statement by statement, on both systems.
//!
//! Invariant: both are in a transaction, or neither, before each statement: a statement that fails on Raid alone within a block is undone
//! there to the savepoint before it, so that what follows can be compared still.

use std::collections::BTreeMap;
use std::path::Path;

use super::class::{Class, Context, classify, failure};
use super::script::{Item, Script, words};
use super::trail::{Token, Trail, head, tokens};
use crate::wire::{Answer, Connection, Endpoint, FAILED, IDLE};

/// A statement that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its line in the file.
    pub line: usize,
    /// Its text.
    pub sql: String,
    /// What is to be said of it.
    pub class: Class,
    /// Why.
    pub reason: String,
}

/// Settings of PostgreSQL that show in results.
const SETTINGS: &str = "SELECT concat_ws(' ', current_setting('TimeZone'), current_setting('DateStyle'), current_setting('IntervalStyle'), \
    current_setting('extra_float_digits'), current_setting('bytea_output'), current_setting('search_path'), \
    current_setting('standard_conforming_strings'), current_setting('role'), session_user)";

/// On which system a statement has failed.
#[derive(Clone, Copy, Debug)]
struct Failed {
    ours: bool,
    theirs: bool,
}

/// Two sessions and what has become of them.
pub struct Player<'a> {
    raid: Connection,
    postgres: Connection,
    folder: &'a Path,
    trail: Trail,
    settings: String,
    other_settings: bool,
    /// The texts of prepared statements and cursors.
    prepared: BTreeMap<String, String>,
    /// What was judged so far.
    pub judged: Vec<Judged>,
}

impl<'a> Player<'a> {
    /// Connects to both; files that COPY names lie below `folder`.
    ///
    /// # Errors
    /// One of them cannot be reached.
    pub fn open(raid: &Endpoint, postgres: &Endpoint, folder: &'a Path) -> Result<Player<'a>, String> {
        let mut player = Player {
            raid: Connection::open(raid)?,
            postgres: Connection::open(postgres)?,
            folder,
            trail: Trail::default(),
            settings: String::new(),
            other_settings: false,
            prepared: BTreeMap::new(),
            judged: Vec::new(),
        };
        player.settings = player.read_settings();
        player.look_for_missing();
        Ok(player)
    }

    /// Whether Raid still answers.
    pub fn is_alive(&mut self) -> bool {
        self.raid.is_open() || self.raid.reconnect().is_ok()
    }

    fn read_settings(&mut self) -> String {
        text(&self.postgres.script(SETTINGS, ""))
    }

    /// Tables, types and functions that PostgreSQL has been given and Raid has not.
    fn look_for_missing(&mut self) {
        let names = "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S', 'm', 'p') \
            UNION SELECT typname::text FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype <> 'c' \
            UNION SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace";
        for name in column(&self.postgres.script(names, "")) {
            let there = self.raid.script(&format!("SELECT 1 FROM \"{name}\" LIMIT 1"), "");
            match failure(&there) {
                Some(_) => self.trail.missing(&name),
                None => self.trail.there(&name),
            }
        }
    }

    /// Plays a script to its end. Statements count only if asked for.
    pub fn play(&mut self, sql: &str, variables: BTreeMap<String, String>, counts: bool) {
        let mut script = Script::new(sql, variables);
        while let Some(item) = script.next_item() {
            match item {
                Item::Statement { sql, line, end } => self.statement(&mut script, &sql, line, &end, counts),
                Item::Command(name, rest) => self.command(&mut script, &name, &rest, counts),
            }
            if !self.raid.is_open() && self.raid.reconnect().is_err() {
                return;
            }
            if !self.postgres.is_open() && self.postgres.reconnect().is_err() {
                return;
            }
        }
    }

    /// A command of psql that speaks to the server.
    fn command(&mut self, script: &mut Script, name: &str, rest: &str, counts: bool) {
        match name {
            "c" | "connect" => {
                let user = words(rest)
                    .into_iter()
                    .filter(|word| !word.starts_with("-reuse"))
                    .nth(1)
                    .filter(|user| user != "-");
                for connection in [&mut self.raid, &mut self.postgres] {
                    if let Some(user) = &user {
                        connection.set_user(user.trim_matches('"'));
                    }
                    if connection.reconnect().is_err() {
                        connection.set_user("postgres");
                        let _ = connection.reconnect();
                    }
                }
                self.other_settings = self.read_settings() != self.settings;
            }
            "copy"
                if rest.to_ascii_lowercase().contains("from stdin")
                    || rest.to_ascii_lowercase().contains("to stdout") =>
            {
                self.statement(script, &format!("COPY {rest}"), 0, &(";".to_string(), String::new()), counts);
            }
            _ => {}
        }
    }

    fn statement(&mut self, script: &mut Script, sql: &str, line: usize, end: &(String, String), counts: bool) {
        let is_copy = head(sql).first().is_some_and(|word| word == "copy");
        let data = if is_copy && reads_standard_input(sql) { script.copy_data() } else { String::new() };
        let (ours, our_data) = match self.file_of_copy(sql).filter(|_| is_copy) {
            Some((sql, data)) => (sql, data),
            None => (sql.to_string(), data.clone()),
        };
        let theirs = self.postgres.script(sql, &data);
        let in_block = self.raid.status() != IDLE && self.raid.status() != FAILED;
        let guarded =
            in_block && !controls_transaction(sql) && failure(&self.raid.script("SAVEPOINT beside", "")).is_none();
        let answers = self.raid.script(&ours, &our_data);
        self.trail.begun(sql);
        let meant = self.meant(sql);
        let (class, reason) = {
            let context = Context { trail: &self.trail, other_settings: self.other_settings };
            classify(&meant, &answers, &theirs, &context)
        };
        let failed = Failed { ours: failure(&answers).is_some(), theirs: failure(&theirs).is_some() };
        if guarded {
            self.release(failed);
        }
        self.follow(sql, class, failed);
        self.meet();
        if matches!(
            head(sql).first().map(String::as_str),
            Some("set" | "reset" | "rollback" | "abort" | "commit" | "end" | "discard")
        ) && !head(sql).contains(&"transaction".to_string())
            || sql.contains("set_config")
        {
            self.other_settings = self.postgres.status() != FAILED && self.read_settings() != self.settings;
        }
        if counts {
            self.judged.push(Judged { line, sql: sql.to_string(), class, reason });
        }
        self.after(script, line, end, &theirs, counts);
    }

    /// The statement with the text of what it executes or fetches from.
    fn meant(&mut self, sql: &str) -> String {
        let first = head(sql);
        match first.first().map(String::as_str) {
            Some("prepare" | "declare") if first.len() > 1 => {
                self.prepared.insert(first[1].clone(), sql.to_string());
            }
            Some("execute" | "fetch" | "move") => {
                let texts = tokens(sql).into_iter().filter_map(Token::name);
                let texts: Vec<&String> = texts.filter_map(|name| self.prepared.get(&name)).collect();
                return texts.into_iter().fold(sql.to_string(), |all, text| format!("{all} {text}"));
            }
            _ => {}
        }
        sql.to_string()
    }

    /// What psql does with the rows.
    fn after(&mut self, script: &mut Script, line: usize, end: &(String, String), theirs: &[Answer], counts: bool) {
        let Some(Answer::Done { columns, rows, .. }) = theirs.last() else { return };
        match (end.0.as_str(), rows.as_slice()) {
            ("gset", [row]) => {
                for (column, cell) in columns.iter().zip(row) {
                    let name = format!("{}{}", end.1, column.name);
                    match cell {
                        Some(value) => drop(script.variables.insert(name, String::from_utf8_lossy(value).into_owned())),
                        None => drop(script.variables.remove(&name)),
                    }
                }
            }
            ("gexec", rows) => {
                let statements: Vec<String> =
                    rows.iter().flatten().flatten().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
                for sql in statements {
                    self.statement(script, &sql, line, &(";".to_string(), String::new()), counts);
                }
            }
            _ => {}
        }
    }

    /// Undoes on Raid what it alone did or failed in, within a block.
    fn release(&mut self, failed: Failed) {
        match (failed.ours, failed.theirs) {
            (true, false) => {
                self.raid.script("ROLLBACK TO SAVEPOINT beside", "");
                self.raid.script("RELEASE SAVEPOINT beside", "");
            }
            (false, true) => {
                self.raid.script("ROLLBACK TO SAVEPOINT beside", "");
                self.raid.script("SELECT 1/0", "");
            }
            (false, false) => drop(self.raid.script("RELEASE SAVEPOINT beside", "")),
            (true, true) => {}
        }
    }

    fn follow(&mut self, sql: &str, class: Class, failed: Failed) {
        let reads = matches!(
            head(sql).first().map(String::as_str),
            Some("select" | "values" | "table" | "show" | "fetch" | "move" | "explain" | "with")
        );
        match (failed.ours, failed.theirs) {
            (true, false) | (false, true) => self.trail.parted(sql),
            (false, false) if matches!(class, Class::SameRows | Class::Explain) || reads => self.trail.joined(sql),
            (false, false) => self.trail.parted(sql),
            (true, true) => {}
        }
    }

    /// Brings Raid into a transaction, or out of it, as PostgreSQL is.
    fn meet(&mut self) {
        let (ours, theirs) = (self.raid.status(), self.postgres.status());
        if ours == theirs {
            if ours == IDLE {
                self.trail.settled();
            }
            return;
        }
        self.trail.undone();
        if ours != IDLE {
            self.raid.script("ROLLBACK", "");
        }
        if theirs != IDLE {
            self.raid.script("BEGIN", "");
        }
        if theirs == FAILED {
            self.raid.script("SELECT 1/0", "");
        }
    }

    /// A COPY from a file of the server as one from the client, with the file's data.
    fn file_of_copy(&self, sql: &str) -> Option<(String, String)> {
        let at = sql.to_ascii_lowercase().find(" from '")?;
        let rest = &sql[at + 7..];
        let (path, rest) = rest.split_once('\'')?;
        let data = std::fs::read_to_string(self.folder.join(path)).ok()?;
        Some((format!("{} FROM STDIN{rest}", &sql[..at]), data))
    }
}

/// Whether a COPY takes what follows in the script.
fn reads_standard_input(sql: &str) -> bool {
    let name = |token: &Token, text: &str| matches!(token, Token::Name(name) if name == text);
    tokens(sql).windows(2).any(|pair| name(&pair[0], "from") && name(&pair[1], "stdin"))
}

fn controls_transaction(sql: &str) -> bool {
    const WORDS: [&str; 10] =
        ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare", "set"];
    head(sql).first().is_some_and(|word| WORDS.contains(&word.as_str()))
}

/// The first column of the last answer.
pub fn column(answers: &[Answer]) -> Vec<String> {
    let Some(Answer::Done { rows, .. }) = answers.last() else { return Vec::new() };
    let first = rows.iter().filter_map(|row| row.first()?.as_ref());
    first.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
}

/// The first value of the last answer.
pub fn text(answers: &[Answer]) -> String {
    column(answers).into_iter().next().unwrap_or_default()
}
