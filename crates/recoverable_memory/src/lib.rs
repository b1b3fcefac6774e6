//! Recoverable memory: regions of files in memory, changed by transactions, that survive crashes. No database, no server:
//! a library, after RVM.
//!
//! Sources: M. Satyanarayanan, H. Mashburn, P. Kumar, D. Steere, J. Kistler, "Lightweight Recoverable Virtual Memory" (SOSP
//! 1993): operations, log, optimisations. S. Ioannidis, E. Markatos, J. Sevaslidou, "On using network memory to improve the
//! performance of transaction-based systems" (FORTH, TR 190, 1997): a log whose commits do not wait for the disk, and the loads.
//!
//! It gives atomicity and permanence, and leaves to its caller what RVM leaves to its caller: what runs at the same time as what.
//! Here the compiler looks after that: a [`Region`] is owned, and a transaction borrows it until its end.
//!
//! The invariants of the crate:
//! * a segment's file is written only by recovery and truncation, only with records that the log holds durably, and the log
//!   gives a record up only once the file has been synced: so log and file together always hold every durable commit;
//! * a mapped page is changed only through [`Enlisted::set_range`] and its relatives, which note the range first.
//!
//! In reading order: [`memory`] is the door, with [`options`]; [`region`], [`transaction`] and [`plain`] are what an application holds;
//! `mapping` is the unsafe ground; `coverage` is what coalesces ranges; `shared`, `spool` and `record` make log records of
//! transactions; [`device`] is what a log can be, [`file_log`] and [`memory_log`] are two, [`conformance`] is what all keep;
//! `truncation` and [`recovery`] bring records to segments; [`files`] is what stores them, [`disk`] and [`simulated`] are the twins;
//! [`statistics`] counts; [`limits`] holds every bound; [`load`] is the papers' load generator.
//!
//! `commit_log`, the log of a site, is not the log of this crate. RVM's log has a fixed size, down to some kilobytes, and is
//! truncated to the byte; a log of whole segments with one made ahead is neither. A commit here syncs on its own thread; there it
//! would wake another. And the crash tests need every write and every sync of the log to go through [`files::FileFolder`].

pub mod conformance;
mod coverage;
pub mod device;
pub mod disk;
pub mod error;
pub mod file_log;
pub mod files;
pub mod limits;
pub mod load;
mod mapping;
pub mod memory;
pub mod memory_log;
pub mod options;
mod pieces;
pub mod plain;
#[doc = include_str!("../PROMISES.md")]
pub mod promises {}
mod record;
pub mod recovery;
pub mod region;
mod shared;
pub mod simulated;
mod spool;
pub mod statistics;
pub mod transaction;
mod truncation;

pub use device::{DeviceError, DeviceReceipt, Durability, LogDevice, LogOffset};
pub use error::{Error, RangeError};
pub use memory::Memory;
pub use options::{OnDamage, RecoverableMemoryOptions, Truncation};
pub use plain::{Offset, Plain};
pub use recovery::RecoveryReport;
pub use region::Region;
pub use transaction::{CommitMode, Enlisted, MemoryTransaction, NoRestore, Restore, RestoreMode};

/// The examples of the README are run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
