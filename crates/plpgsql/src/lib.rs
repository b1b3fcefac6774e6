//! PL/pgSQL, PostgreSQL's language for routines: bodies to programs, and what runs them.
//!
//! A body in, a program out; a machine runs it, which says what is to be done (a statement of SQL, a savepoint, a notice) and is told what came of it.
//! Invariant: a machine does nothing by itself and knows no table; what it asks for is one thing at a time, and how long it goes on without asking is
//! bounded. In reading order:
//!
//! * `lexer`: text to tokens; [`place`], [`program`], [`sql_text`]: what a body becomes; `names`: variables by their names;
//! * [`parser`]: tokens to a program; `references`, `scopes`: names of variables in texts of SQL; [`simple`], `compute`: what no server need compute;
//! * [`machine`]: runs a program; [`store`]: values of variables; [`triggers`]: what those of triggers hold;
//! * [`error`]: what is told; [`limits`].
//!
//! Source: PostgreSQL 15's manual, chapter 43.

mod compute;
pub mod error;
mod lexer;
pub mod limits;
pub mod machine;
mod names;
pub mod parser;
pub mod place;
pub mod program;
mod references;
mod scopes;
pub mod simple;
pub mod sql_text;
pub mod store;
pub mod triggers;

pub use error::{PlpgsqlResult, RoutineError};
pub use machine::{Effect, EffectOutcome, RoutineMachine, StatementAnswer};
pub use parser::{RoutineHeader, parse};
pub use program::{NoticeLevel, RoutineProgram};

use values::{Type, Zone};

/// What a routine asks of the catalog and the session.
pub trait RoutineCatalog {
    /// A type as it is written. Errors: 42704.
    fn data_type(&self, written: &str) -> PlpgsqlResult<Type>;
    /// Columns of a relation by its name, which may have a schema's before it; `None`: there is no such relation.
    fn columns(&self, relation: &[String]) -> Option<Vec<(String, Type)>>;
    /// The session's time zone.
    fn zone(&self) -> &Zone;
}
