//! Relational queries over a snapshot: by the executor, and by DataFusion what that has not.
//!
//! Everything that an action program cannot express comes here: joins, aggregates, subqueries, windows, sorting, and the
//! system catalogs. This crate knows no socket, no clock and no transaction: rows come through [`Tables`], the time and the
//! seed of random functions with each [`Execution`]. DataFusion parses nothing here; it plans syntax trees that
//! `rewrite` has given PostgreSQL's meaning. In reading order:
//!
//! * [`processor`]: planning, running, explaining; `cooperation`: pauses behind joins;
//! * `rewrite`: syntax trees; `operators` and `literals`: types of operands; `functions`;
//! * `apart` and `hidden_names`: columns of one name; `equality`: what is equal though it differs; `membership`: IN and EXISTS; `kept_rows`: aggregates of nothing; `kept_orders`: sorts within FROM; `context`: what the planner may ask; [`tables`], `ways` and `scan`: rows; `orders`: sorting that scans do; `system_catalog`; `vectors`: its columns that count from 0;
//! * `typed`: the way by typed query trees, which most statements take; `sizes`: what it learns of tables;
//! * `types` and `convert`: values and Arrow; [`error`]; [`limits`].

mod apart;
mod context;
mod convert;
mod cooperation;
mod equality;
pub mod error;
mod functions;
mod hidden_names;
mod kept_orders;
mod kept_rows;
pub mod limits;
mod literals;
mod measure;
mod membership;
mod memory;
mod operators;
mod orders;
mod planning;
pub mod processor;
mod rewrite;
mod scan;
mod sizes;
mod system_catalog;
pub mod tables;
mod typed;
mod types;
mod vectors;
mod ways;
mod zones;

pub use datafusion::sql::sqlparser;
pub use error::QueryError;
pub use evaluation::random::{RandomKey, RandomKeys};
pub use messages::query::SessionFacts;
pub use planning::Interrupt;
pub use processor::{Engine, Execution, Planned, Prepared, Processor, Ready, RowStream};
pub use system_catalog::SETTINGS;
pub use tables::{ScanBatch, ScanRequest, Tables};
