//! Snapshots of a running instance, and new instances made from them.
//!
//! One site copies its store and, beside it, its log: what a start would find if the site were killed. A restore is such a start. So what is
//! restored is found by the code that every start runs. Reading order: [`files`], [`take`], [`restore`].
//!
//! # The cut
//!
//! A snapshot has the transactions whose yes vote is in the site's log before one position, the *cut*, and that have committed. Four facts make
//! that a moment of the instance:
//!
//! * A transaction is acknowledged only when every member has logged its yes vote. So what was acknowledged before the cut is in it, and of
//!   two transactions, of which one ended before the other began, the other is never in it alone. The site is a member then: it may serve.
//! * Of two transactions in conflict the later gets its vote only when the earlier is decided here. So what a transaction has read is in it.
//! * What is undecided at the cut is waited for, and only what was voted for before the cut is kept of the log behind it.
//! * The cut comes when the store has been copied, so all that the copy has was voted for before the cut.

pub mod files;
pub mod restore;
pub mod take;
