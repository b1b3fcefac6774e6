//! A file of the suite, statement by statement.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use analyzer::analyze::{analyze, is_analyzed};
use compare_queries::regression::Suite;
use compare_queries::regression::script::{Item, Script, words};
use grammar::ast::{CopyWhat, QueryBody, Statement};

use crate::Counts;
use crate::compare::{self, Answer};
use crate::objects::Objects;
use crate::support::server::Server;

/// Where what is found goes: the file's name, counts, differences.
type Found<'f> = (&'f str, &'f mut Counts, &'f mut BTreeSet<String>);

/// What sessions of the suite are given.
const SETTINGS: &str = "set timezone = 'PST8PDT'; set datestyle = 'Postgres, MDY'; set intervalstyle = 'postgres_verbose'; set statement_timeout = '20s'; \
                        set lock_timeout = '5s'; set client_min_messages = error";

/// A session with the server.
pub struct Player<'s> {
    address: String,
    database: String,
    suite: &'s Suite,
    folder: PathBuf,
    server: Server,
    objects: Objects,
    stale: bool,
}

impl<'s> Player<'s> {
    /// Connects.
    pub fn open(address: &str, database: &str, suite: &'s Suite) -> Result<Player<'s>, Box<dyn Error>> {
        let mut server = Server::connect_to(address, "raid", database)?;
        server.rows(SETTINGS)?;
        let objects = Objects::of(&mut server)?;
        let folder = suite.folder.clone();
        Ok(Player {
            address: address.to_string(),
            database: database.to_string(),
            suite,
            folder,
            server,
            objects,
            stale: false,
        })
    }

    fn reconnect(&mut self) -> Result<(), Box<dyn Error>> {
        self.server = Server::connect_to(&self.address, "raid", &self.database)?;
        self.server.rows(SETTINGS)?;
        self.stale = true;
        Ok(())
    }

    /// Plays a script; compares, if there is somewhere to say what is found.
    pub fn play(&mut self, text: &str, mut found: Option<Found>) -> Result<(), Box<dyn Error>> {
        let variables = self.suite.variables(&self.folder, &self.folder);
        let mut script = Script::new(text, variables);
        while let Some(item) = script.next_item() {
            let played = match item {
                Item::Statement { sql, end, .. } => self.statement(&mut script, &sql, &end, &mut found),
                Item::Command(name, rest) => self.command(&mut script, &name, &rest, &mut found),
            };
            if played.is_err() {
                // The session has ended: by what was asked, or by a server that lost its mind.
                self.reconnect()?;
            }
        }
        Ok(())
    }

    fn command(
        &mut self,
        script: &mut Script,
        name: &str,
        rest: &str,
        found: &mut Option<Found>,
    ) -> Result<(), Box<dyn Error>> {
        match name {
            "c" | "connect" => {
                let user = words(rest).into_iter().nth(1);
                self.reconnect()?;
                if let Some(user) = user.filter(|user| user != "-") {
                    self.server.run(&format!("set session authorization {user}"), "")?;
                }
                Ok(())
            }
            "copy" if rest.to_ascii_lowercase().contains("from stdin") => {
                self.statement(script, &format!("COPY {rest}"), &(";".to_string(), String::new()), found)
            }
            _ => Ok(()),
        }
    }

    fn statement(
        &mut self,
        script: &mut Script,
        sql: &str,
        end: &(String, String),
        found: &mut Option<Found>,
    ) -> Result<(), Box<dyn Error>> {
        let parsed = grammar::parse(sql);
        let statements = parsed.as_ref().map_or(&[][..], |script| &script.statements);
        let mut data = String::new();
        if statements.iter().any(|parsed| reads_from_client(&parsed.statement)) {
            data = script.copy_data();
        }
        let mut sql = sql.to_string();
        if let [only] = statements
            && matches!(&only.statement, Statement::Copy(copy) if copy.from && copy.file.is_some())
            && let Some((new, from_file)) = self.file_of_copy(&sql)
        {
            (sql, data) = (new, from_file);
        }
        let compared = match statements {
            [only] if is_analyzed(&only.statement) && !makes_table(only) => Some(only),
            _ => None,
        };
        if let Some(only) = compared
            && !self.server.has_failed()
            && let Some(found) = found
            && !self.compare(&sql, only, found)?
        {
            return Ok(());
        }
        let answer = self.server.run(&sql, &data)?;
        self.stale |= statements.iter().any(|parsed| may_change_objects(&parsed.statement) || makes_table(parsed));
        match end.0.as_str() {
            "gset" => {
                let prefix = end.1.trim();
                for ((name, _), value) in answer.named.iter().zip(answer.rows.first().into_iter().flatten()) {
                    let name = format!("{prefix}{name}");
                    match value {
                        Some(value) => drop(script.variables.insert(name, value.clone())),
                        None => drop(script.variables.remove(&name)),
                    }
                }
            }
            "gexec" => {
                for sql in answer.rows.into_iter().flatten().flatten() {
                    self.statement(script, &sql, &(";".to_string(), String::new()), found)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks both. Whether PostgreSQL takes the statement.
    fn compare(&mut self, sql: &str, parsed: &grammar::Parsed, found: &mut Found) -> Result<bool, Box<dyn Error>> {
        if self.stale {
            self.objects.refresh(&mut self.server)?;
            self.stale = false;
        }
        self.server.ask(&[sql.to_string()])?;
        let described = self.server.described()?;
        let began = Instant::now();
        let result = analyze(&self.objects, parsed, &[]);
        let took = began.elapsed();
        let (file, counts, differences) = found;
        if matches!(parsed.statement, Statement::Query(_)) {
            counts.timed += 1;
            counts.time_ns += took.as_nanos();
        }
        let (ours, theirs) = (compare::ours(&self.objects, sql, &result), compare::theirs(&described));
        let shown: String = sql.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
        if let Ok(analyzed) = &result
            && let Err(fault) = analyzed.tree.verify(&self.objects, analyzed.query)
        {
            counts.faults += 1;
            differences.insert(format!("{file}: {shown} | the tree has a fault: {fault}"));
        }
        let taken = described.error.is_none();
        match (&ours, &theirs) {
            (ours, theirs) if ours == theirs => {
                if taken {
                    counts.described += 1;
                } else {
                    counts.refused += 1;
                }
            }
            (Answer::Refused(text), _) if text.contains(" is not supported yet at ") => counts.not_built += 1,
            (Answer::Described(_), _) if compare::is_of_literal(sql, &result, &described) => counts.literals += 1,
            _ => {
                counts.differ += 1;
                let (theirs, ours) = (flat(theirs.told()), flat(ours.told()));
                differences.insert(format!("{file}: {shown} | PostgreSQL: {theirs} | analyzer: {ours}"));
            }
        }
        Ok(taken)
    }

    /// A COPY from a file of the server as one from the client.
    fn file_of_copy(&self, sql: &str) -> Option<(String, String)> {
        let at = sql.to_ascii_lowercase().find(" from '")?;
        let (path, rest) = sql[at + 7..].split_once('\'')?;
        let data = std::fs::read(self.folder.join(path)).ok()?;
        Some((format!("{} FROM STDIN{rest}", &sql[..at]), String::from_utf8_lossy(&data).into_owned()))
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}

/// SELECT INTO makes a table and returns nothing.
fn makes_table(parsed: &grammar::Parsed) -> bool {
    let Statement::Query(query) = &parsed.statement else { return false };
    let mut query = *query;
    loop {
        match &parsed.arena[query].body {
            QueryBody::Operation { left, .. } => query = *left,
            QueryBody::Select(select) => return select.into.is_some(),
            QueryBody::Values(_) => return false,
        }
    }
}

fn reads_from_client(statement: &Statement) -> bool {
    matches!(statement, Statement::Copy(copy) if copy.from && copy.file.is_none() && matches!(copy.what, CopyWhat::Table { .. }))
}

/// Whether objects, or the search path, may be others after a statement.
fn may_change_objects(statement: &Statement) -> bool {
    !is_analyzed(statement)
        && !matches!(
            statement,
            Statement::Copy(_)
                | Statement::Fetch(_)
                | Statement::DeclareCursor(_)
                | Statement::CloseCursor(_)
                | Statement::Show(_)
                | Statement::Prepare(_)
                | Statement::Deallocate(_)
                | Statement::Comment(_)
                | Statement::Truncate(_)
                | Statement::Vacuum(_)
        )
}
