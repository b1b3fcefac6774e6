//! The local copy: versions, posting, checkpoint, restart.
//!
//! New versions live in memory (the differential file) and are posted to a store in the background; rows that are not in memory are read
//! from the store. Readers of snapshots never block the writer. It decides nothing about transactions: what is installed has committed.
//! It must not know other sites, locks or files, nor columns but for the
//! integers that increments add to.
//!
//! In reading order:
//!
//! * [`manager`]: the server, request by request; [`limits`]: its bounds;
//! * `chain`, `ranges`, `recent`: the versions of one item, sets of keys, the latest writes of one storage; `snapshots`: which versions are
//!   needed;
//! * `local`: all storages, in memory and in the store; `memory_budget`: what memory forgets; `old_versions`: what
//!   readers may cost; `backlog`: what writers may;
//! * `replaying`: how a start makes what the log says many rows at a time;
//! * `check`: whether what a transaction has read still stands; `validated`: what was found to; `escrow`: what is undecided and will be added to rows;
//! * `installing`: what has committed; `large`: how a large transaction is checked and installed in steps;
//! * `stale`, `copies`: what is stale in this copy, and how copiers refresh it;
//! * `posting`: how versions reach the store; [`store`]: the seam to it; [`memory`]: a store for tests and the simulator;
//! * `plants`: what the simulator has this server do wrong.

mod backlog;
mod chain;
mod check;
mod copies;
mod escrow;
mod installing;
mod large;
pub mod limits;
mod local;
pub mod manager;
pub mod memory;
mod memory_budget;
mod old_versions;
mod plants;
mod posting;
mod ranges;
mod recent;
mod replaying;
mod settings;
mod snapshots;
mod stale;
pub mod store;
mod validated;

pub use backlog::unposted_bytes_max;
pub use manager::AccessManager;
pub use memory::MemoryStore;
pub use old_versions::Tally;
pub use posting::needs_log_from;
pub use settings::StoreSettings;
pub use store::{Store, StoreError};
