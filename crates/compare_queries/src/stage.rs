//! A system on which cases are played: its tables are made, its answers are noted.
//!
//! Invariant: a case begins with its own tables and nothing prepared, whatever was played before.

use std::time::Instant;

use crate::case::{Action, Case};
use crate::limits::{RETURN_INTERVAL, RETURN_TIME_MAX, TABLES_MAX};
use crate::tables::Table;
use crate::wire::{Answer, Connection, Endpoint, Path};

/// An answer of a system while a case was played.
#[derive(Clone, Debug)]
pub struct Noted {
    /// The step, or none while tables were made.
    pub step: Option<usize>,
    /// What was asked, as it was.
    pub sql: String,
    /// Columns by which the rows must be ordered.
    pub keys: Vec<usize>,
    /// What came.
    pub answer: Answer,
}

/// A system.
pub struct Stage {
    connection: Connection,
    /// Whether all that was asked so far was answered.
    alive: bool,
    /// The tables that are there, as they were made, if nothing has changed them.
    clean: Option<Vec<Table>>,
    prepared: Vec<String>,
}

impl Stage {
    /// Connects.
    ///
    /// # Errors
    /// As of [`Connection::open`].
    pub fn open(endpoint: &Endpoint) -> Result<Stage, String> {
        Ok(Stage { connection: Connection::open(endpoint)?, alive: true, clean: None, prepared: Vec::new() })
    }

    /// The connection, for questions that change nothing.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The tables will not be as they were made.
    pub fn forget_tables(&mut self) {
        self.clean = None;
    }

    /// Whether there is a connection, or one can be had within [`RETURN_TIME_MAX`].
    pub fn is_back(&mut self) -> bool {
        let begin = Instant::now();
        while !self.connection.is_open() {
            self.clean = None;
            self.prepared.clear();
            self.alive = self.connection.reconnect().is_ok();
            if !self.alive && begin.elapsed() > RETURN_TIME_MAX {
                return false;
            }
            if !self.alive {
                std::thread::sleep(RETURN_INTERVAL);
            }
        }
        true
    }

    /// Makes the tables of a case, unless they are there; what was asked for that.
    pub fn set_up(&mut self, tables: &[Table]) -> Vec<Noted> {
        for name in std::mem::take(&mut self.prepared) {
            self.connection.close(&name);
        }
        if self.clean.as_deref() == Some(tables) {
            return Vec::new();
        }
        self.clean = None;
        let names: Vec<String> = (0..TABLES_MAX).map(|number| format!("t{number}")).collect();
        let mut statements = vec![format!("DROP TABLE IF EXISTS {}", names.join(", "))];
        statements.extend(tables.iter().flat_map(Table::statements));
        let mut noted = Vec::new();
        for sql in statements {
            let answer = self.connection.simple(&sql);
            let done = answer.is_done();
            noted.push(Noted { step: None, sql, keys: Vec::new(), answer });
            if !done {
                return noted;
            }
        }
        self.clean = Some(tables.to_vec());
        noted
    }

    /// Plays a case to its end, or until the connection breaks.
    pub fn play(&mut self, case: &Case) -> Vec<Noted> {
        let mut noted = self.set_up(&case.tables);
        if self.clean.is_none() {
            return noted;
        }
        for (number, step) in case.steps.iter().enumerate() {
            self.step(number, &step.action, &mut noted);
            if !self.connection.is_open() {
                self.clean = None;
                break;
            }
        }
        noted
    }

    fn step(&mut self, number: usize, action: &Action, noted: &mut Vec<Noted>) {
        let mut note = |sql: String, keys: &[usize], answer| {
            noted.push(Noted { step: Some(number), sql, keys: keys.to_vec(), answer });
        };
        match action {
            Action::Query { query, path } => {
                let sql = query.node.sql();
                let answer = self.connection.run(*path, &sql, &[]);
                note(sql, &query.keys, answer);
            }
            Action::Prepare { name, query } => {
                let sql = query.node.sql();
                let answer = self.connection.prepare(name, &sql);
                if answer.is_done() {
                    self.prepared.push(name.clone());
                }
                note(sql, &[], answer);
            }
            Action::Execute { name, parameters, binary, keys } => {
                let answer = self.connection.execute(name, parameters, *binary);
                note(format!("EXECUTE {name}"), keys, answer);
            }
            Action::Change { node, table, path } => {
                self.clean = None;
                let sql = node.sql();
                let answer = self.connection.run(*path, &sql, &[]);
                note(sql, &[], answer);
                let sql = format!("SELECT * FROM {table}");
                let answer = self.connection.run(Path::Simple, &sql, &[]);
                note(sql, &[], answer);
            }
            Action::Define { statements, .. } => {
                self.clean = None;
                for sql in statements {
                    let answer = self.connection.simple(sql);
                    note(sql.clone(), &[], answer);
                }
            }
        }
    }
}
