//! Sessions: what each client has set up, and what is under way for it.
//!
//! Invariant: a session has at most one request under way at the action driver or the query processor, but for queries that wait for its functions, and consumes no message of its
//! client meanwhile. In reading order: [`state`], [`catalog`]; [`turn`]: one input handled; [`startup`], [`login`], [`doorkeeper`]: before it is up; `language`: SQL or QUEL; [`simple`] and [`extended`]
//! protocol; [`outlines`]: statements that differ in constants; [`execution`], `descriptions`, [`queries`], [`parts_progress`], `parts`, [`copy`], `routine_runs`, [`routines`]: statements under way; [`control`]: the session's own statements; [`doubt`]: errors that
//! the catalog gave; [`advisory`]: its locks; [`due`]: what time brings; `temporary`: what transactions and sessions leave of temporary tables; [`new_life`]: what outlives the site's servers; [`ending`]: how statements, cycles and transactions end;
//! `measuring`: where they are counted.

pub mod advisory;
pub mod authorization;
pub mod catalog;
mod changes;
pub mod control;
pub mod copy;
mod copying;
pub mod cursors;
mod descriptions;
pub mod doorkeeper;
pub mod doubt;
pub mod due;
mod effects;
pub mod ending;
pub mod events;
pub mod execution;
pub mod extended;
mod firing;
mod function_calls;
mod kept;
mod language;
mod listening;
pub mod login;
mod measuring;
pub mod new_life;
pub mod notifications;
pub mod outlines;
mod parts;
pub mod parts_progress;
pub mod queries;
mod routine_runs;
pub mod routines;
mod signals;
pub mod simple;
pub mod sleeping;
pub mod sql_cursor;
pub mod startup;
pub mod state;
mod temporary;
pub mod turn;
