//! Cursors of SQL: DECLARE runs the query and keeps its rows, FETCH and MOVE go through them (PostgreSQL's manual, DECLARE and FETCH).
//!
//! Rows are kept because a session has one query under way at most, and programs ask other things between two fetches. So each cursor is insensitive, as all are in
//! PostgreSQL 15, and one that is held costs nothing more. Invariant: the rows of a session's cursors stay below [`CURSOR_BYTES_MAX`], those of all sessions below [`CURSORS_BYTES_MAX`].

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{CURSOR_BYTES_MAX, CURSORS_BYTES_MAX, PORTALS_MAX};
use crate::protocol::format::Formats;
use crate::session::control::no_transaction;
use crate::session::sql_cursor::{KeptBytes, Shown, SqlCursor};
use crate::session::state::{Block, Execution, Session, Step, Work};
use crate::session::turn::{Turn, same_shape};
use crate::sql::cursor_syntax::{DeclaredCursor, FetchStatement};
use crate::sql::prepared::Prepared;
use values::Value;

impl Session {
    /// A transaction is over: cursors that are not held go with it, and so do those of one that was rolled back.
    pub fn end_cursors(&mut self, committed: bool) {
        self.cursors.retain(|_, cursor| cursor.held || (committed && cursor.hold));
        self.cursors.values_mut().for_each(|cursor| cursor.held = true);
    }

    /// A savepoint, by its place, was released, or (`back`) returned to.
    pub fn cursors_at_savepoint(&mut self, place: usize, back: bool) {
        if back {
            self.cursors.retain(|_, cursor| cursor.held || cursor.depth <= place);
        } else {
            self.cursors.values_mut().for_each(|cursor| cursor.depth = cursor.depth.min(place));
        }
    }

    fn cursor(&mut self, name: &str) -> Result<&mut SqlCursor> {
        let undefined = || SqlError::new(sqlstate::UNDEFINED_PORTAL, format!("cursor \"{name}\" does not exist"));
        self.cursors.get_mut(name).ok_or_else(undefined)
    }
}

impl Turn<'_> {
    /// Errors: 25P01 outside of a transaction, 42P03 for a name that is taken.
    pub fn check_declare(&self, cursor: &DeclaredCursor) -> Result<()> {
        if self.session.block == Block::None && !cursor.hold {
            return Err(no_transaction("DECLARE CURSOR"));
        }
        let session = &self.session;
        if session.cursors.contains_key(&cursor.name) || session.portals.contains_key(&cursor.name) {
            let message = format!("cursor \"{}\" already exists", cursor.name);
            return Err(SqlError::new(sqlstate::DUPLICATE_PORTAL, message));
        }
        if session.cursors.len() >= PORTALS_MAX {
            let message = format!("a session has at most {PORTALS_MAX} cursors");
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(())
    }

    /// Rows of a cursor's query came, the last of them or not.
    pub fn cursor_rows(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>, last: bool) {
        if let Err(error) = self.keep_rows(&mut execution, rows) {
            self.session.work = Work::Statement(execution);
            return self.fail(&error);
        }
        if !last {
            return self.more(execution, Step::Rows);
        }
        // It stands before its first row.
        if let (Some((declared, _)), Some(cursor)) = (&execution.prepared.cursor, execution.cursor.take()) {
            self.session.cursors.insert(declared.name.clone(), cursor);
        }
        self.complete(execution);
    }

    /// Errors: 53200 for more than a session may keep.
    fn keep_rows(&mut self, execution: &mut Execution, rows: Vec<Vec<Value>>) -> Result<()> {
        let Some((declared, columns)) = &execution.prepared.cursor else { return Ok(()) };
        let others: usize = self.session.cursors.values().map(|cursor| cursor.bytes.own).sum();
        let kept = execution.cursor.get_or_insert_with(|| {
            let (columns, depth) = (columns.clone(), self.session.savepoints.len());
            SqlCursor {
                columns,
                depth,
                bytes: KeptBytes::among(&self.shared.cursor_bytes),
                hold: declared.hold,
                binary: declared.binary,
                forward_only: declared.scroll == Some(false),
                ..SqlCursor::default()
            }
        });
        let size = |row: &Vec<Value>| size_of::<Vec<Value>>() + row.iter().map(Value::size_in_memory).sum::<usize>();
        let together = kept.bytes.add(rows.iter().map(size).sum());
        kept.rows.extend(rows);
        let (bound, whose) = match others + kept.bytes.own > CURSOR_BYTES_MAX {
            true => (CURSOR_BYTES_MAX, "a session"),
            false if together > CURSORS_BYTES_MAX => (CURSORS_BYTES_MAX, "all sessions"),
            false => return Ok(()),
        };
        let message = format!("the cursors of {whose} keep at most {} MB of rows", bound >> 20);
        Err(SqlError::new(sqlstate::OUT_OF_MEMORY, message)
            .with_hint("Have the rows in several queries, by ranges of a key."))
    }

    /// FETCH or MOVE.
    pub fn fetch(&mut self, mut execution: Box<Execution>, fetch: &FetchStatement) -> Result<()> {
        let told = execution.prepared.columns.clone();
        let cursor = self.session.cursor(&fetch.cursor)?;
        let is_told = fetch.moves || same_shape(&told, &cursor.columns);
        if !is_told {
            return Err(SqlError::plan_changed());
        }
        let shown = cursor.go(fetch.direction)?;
        let count = shown.count();
        let rows: Vec<Vec<Value>> = match (fetch.moves, shown) {
            (true, _) => Vec::new(),
            (_, Shown::Up(range)) => cursor.rows[range].to_vec(),
            (_, Shown::Down(range)) => cursor.rows[range].iter().rev().cloned().collect(),
        };
        if cursor.binary && execution.portal.is_none() {
            execution.formats = Formats::Binary;
        }
        execution.affected = count as u64;
        if !fetch.moves {
            self.send_rows(&mut execution, rows);
        }
        self.complete(execution);
        Ok(())
    }

    /// CLOSE of one cursor.
    pub fn close_cursor(&mut self, name: &str) -> Result<()> {
        self.session.cursor(name)?;
        self.session.cursors.remove(name);
        Ok(())
    }

    /// The columns that FETCH shows. Errors are those of its execution.
    pub fn with_cursor_columns(&mut self, mut prepared: Prepared, fetch: &FetchStatement) -> Prepared {
        if let (false, Ok(cursor)) = (fetch.moves, self.session.cursor(&fetch.cursor)) {
            prepared.columns = cursor.columns.clone();
        }
        prepared
    }
}
