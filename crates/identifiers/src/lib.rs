//! Who is who: databases, sites, servers, transactions, storages. Each is a type of its own, so that none is taken for another.
//!
//! * [`address`]: the papers' 4-tuple (instance, site, server kind, server number), and patterns over it;
//! * [`numbers`]: incarnations, epochs, transactions, storages and sessions.
//!
//! This crate stands at the bottom: it depends on nothing but the encoding of its types.

pub mod address;
pub mod numbers;

pub use address::{Address, InstanceId, Pattern, ServerKind, SiteId};
pub use numbers::{EpochNumber, Incarnation, OracleLife, SessionId, TableId, TransactionId};
