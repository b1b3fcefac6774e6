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
//! * `companions`, `companion`: programs that commit together; `joint`: what that is for a session; `release`: how a transaction ends without a commit;
//! * `transaction`: what a transaction has read, locked and written; `differential_file`: its private writes; `settling`: what it still has to ask for;
//! * `need`: what executors ask for; `reads`: the messages that bring it; `ahead`: what was read before a program began;
//! * `scan`: batches for the query processor; `execution`: a program action by action; `reliance`: the check of its catalog rows; `scene`: what executors
//!   work with; `executors`: one file each; `sums`: which updates add to rows without reading them;
//! * `cursor`, `ranges`, `rows`, `row_write`: how executors find, decode and write rows and index entries;
//! * `expression`: values and conditions; `generator`, `hidden_keys`, `sequences`: numbers;
//! * `exchange`: what sessions share; `answers`: who wants which answer; `snapshots`: what may be forgotten; `cleaner`, `leftovers`: storages left behind, by this life and by others; `temporary_schemas`: what closed sessions leave; `contention`: what
//!   conflicts were lost on; `counts`: how often, and how long commits took;
//! * `left_behind`: what became of requests that earlier lives of the site have not answered;
//! * `failure`: what clients are told; `limits`.

mod ahead;
mod ahead_commits;
mod answers;
mod attempt;
mod cleaner;
mod commit;
mod companion;
mod companions;
mod contention;
mod counts;
mod cursor;
mod differential_file;
mod driver;
mod exchange;
mod execution;
mod executors;
mod expression;
mod failure;
mod generator;
mod hidden_keys;
mod increments;
mod joint;
mod left_behind;
mod leftovers;
mod limits;
mod need;
mod ranges;
mod reads;
mod reference_keys;
mod references;
mod release;
mod reliance;
mod row_write;
mod rows;
mod scan;
mod scene;
mod sequences;
mod session;
mod settling;
mod snapshots;
mod temporary_schemas;
mod transaction;
mod work;

pub use companions::CompanionCounters;
pub use counts::WorkCounts;
pub use driver::ActionDriver;
