//! Executes action programs over the local copy.
//!
//! The action driver runs statements and transactions for sessions: it reads the local copy, keeps writes private in a
//! differential file until they commit, and asks the other servers of its site for whatever it may not decide: whether
//! the site may serve (replication controller), whether an access may happen (concurrency controller), what is stored (access
//! manager), whether a transaction commits (atomicity controller). It must not know how any of them decides, nor which method
//! controls concurrency; it sends nothing to other sites.
//!
//! In reading order:
//!
//! * `driver`: the server; brings messages to sessions;
//! * `session`: requests, explicit transactions, savepoints; `work`: the request under way; `attempt`: the life of a statement, and
//!   retries; `commit`: what comes after the last statement;
//! * `companions`: programs that commit together;
//! * `transaction`: what a transaction has read, locked and written; `differential_file`: its private writes;
//! * `reads`: what executors ask for, and the messages that bring it; `ahead`: what is asked for before a program begins;
//! * `scan`: batches for the query processor; `execution`: a program action by action; `select`, `insert`, `update`, `delete`, `catalog`, `rebuild`: an
//!   executor each; `sums`: which updates add to rows without reading them;
//! * `cursor`, `ranges`, `rows`, `row_write`: how executors find, decode and write rows and index entries;
//! * `expression`: values and conditions; `generator`, `hidden_keys`: numbers;
//! * `exchange`: what sessions share; `snapshots`: what may be forgotten; `cleaner`, `leftovers`: storages left behind, by this life and by others; `contention`: what
//!   conflicts were lost on;
//! * `left_behind`: what became of requests that earlier lives of the site have not answered;
//! * `failure`: what clients are told; `limits`.

mod ahead;
mod attempt;
mod catalog;
mod cleaner;
mod commit;
mod companions;
mod contention;
mod cursor;
mod delete;
mod differential_file;
mod driver;
mod exchange;
mod execution;
mod expression;
mod failure;
mod generator;
mod hidden_keys;
mod insert;
mod left_behind;
mod leftovers;
mod limits;
mod ranges;
mod reads;
mod rebuild;
mod row_write;
mod rows;
mod scan;
mod select;
mod session;
mod snapshots;
mod sums;
mod transaction;
mod update;
mod work;

pub use companions::Counters;
pub use driver::ActionDriver;
