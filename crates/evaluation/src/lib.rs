//! What PostgreSQL's functions, operators, casts and aggregates compute.
//!
//! A pure library. It knows functions by their numbers and computes values; it knows no table, no plan and no text of a statement. The analyzer has resolved what is called
//! and coerced its arguments, so an implementation gets values of exactly the types that its row in `pg_proc` names. What is not implemented is `None`, never an error
//! later: who plans a statement learns it before a row is read.
//!
//! Reading order: [`storage`], [`call`], [`functions`], [`enums`], [`json_rows`], [`sets`], [`aggregates`]; for extensions `ciphers`, `passwords`,
//! [`random`].

pub mod aggregates;
pub mod call;
mod ciphers;
pub mod enums;
pub mod functions;
pub mod json_rows;
mod passwords;
mod pattern_cache;
pub mod random;
pub mod sets;
pub mod storage;

pub use aggregates::Accumulator;
pub use call::{CallArguments, CallEnvironment, Implementation};
pub use pattern_cache::PatternCache;
