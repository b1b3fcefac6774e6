//! PostgreSQL 15's grammar: SQL text to syntax trees, and PostgreSQL's syntax errors.
//!
//! Invariant: a text is taken if and only if PostgreSQL's scanner and grammar take it, and what is refused is refused with PostgreSQL's SQLSTATE, words and place.
//! Whatever the text, parsing ends after a time that grows with its length, uses no stack that grows with its nesting, and yields a tree of bounded depth.
//! This crate knows no table, type, function or setting. In reading order:
//!
//! * `postgresql15.y` beside `src`: the rules, which are PostgreSQL's own; `build` makes tables of them;
//! * `scan`: text to tokens;
//! * `parse`: tokens to a concrete tree, by the tables;
//! * `lower`: the concrete tree to the syntax tree;
//! * [`ast`]: the syntax tree;
//! * [`error`], [`limits`].

pub mod ast;
pub mod error;
pub mod limits;
mod lower;
mod parse;
mod scan;
mod tables;

pub use error::{Notice, SyntaxError};

use ast::{Arena, Statement};
use limits::TEXT_BYTES_MAX;

/// A statement with the arena that its numbers point into.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What it is.
    pub statement: Statement,
    /// Its nodes.
    pub arena: Arena,
    /// Where it begins in the text, in bytes.
    pub at: u32,
    /// Where it ends.
    pub end: u32,
}

/// All statements of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// In their order; what is empty between two semicolons is none.
    pub statements: Vec<Parsed>,
    /// What its writer should know.
    pub notices: Vec<Notice>,
}

/// Reads a text of any number of statements.
///
/// # Errors
/// The first thing in it that PostgreSQL's scanner or grammar refuses; then nothing of the text counts.
pub fn parse(text: &str) -> Result<Script, SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text of a request is {} bytes long, at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(SyntaxError { at: None, ..SyntaxError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message, 0) });
    }
    // PostgreSQL's texts end at a zero.
    let text = text.split('\0').next().unwrap_or(text);
    let (mut tree, error) = parse::parse(text, scan::scan(text));
    let notices = std::mem::take(&mut tree.scanned.notices);
    // What was complete before an error may be wrong itself: that is told first.
    let found = lower::lower(&tree)?;
    match error {
        Some(error) => Err(error),
        None => {
            let parsed = found.into_iter().map(|found| Parsed {
                statement: found.statement,
                arena: found.arena,
                at: found.at,
                end: found.end,
            });
            Ok(Script { statements: parsed.collect(), notices })
        }
    }
}
