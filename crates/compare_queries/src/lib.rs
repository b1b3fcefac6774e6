//! Random statements on Raid, whose answers are compared: with PostgreSQL's, and with what other statements say of the same rows.
//!
//! It knows systems as addresses that speak the PostgreSQL protocol, and nothing of what is behind them. Invariant: a seed and a number
//! decide a case wholly, so that every difference can be had again.
//!
//! Reading order: `random`, `types`, `tables`, `tree` (statements that can be made smaller), `generate` (which statements),
//! `wire` (how they are asked), `limits`.

mod case;
mod checks;
mod generate;
mod judge;
mod known;
mod limits;
mod minimise;
mod random;
pub mod regression;
mod report;
pub mod run;
pub mod smith;
mod stage;
mod tables;
mod tree;
mod types;
pub mod wire;
