//! The log of a site: an endless row of records, kept in memory-mapped segment files.
//!
//! A record is an opaque row of bytes. What it means is the business of the servers that wrote it: this crate knows no
//! transaction, no epoch and no message. It owns files, one thread and a clock, and hides them behind the [`Log`] trait,
//! so that the simulator can put [`MemoryLog`] in the place of [`MappedLog`], and a log that is also in the memory of other hosts
//! can stand there (`remote_commit_log`).
//!
//! The invariant of the crate is `first <= synced <= appended`, where
//! * a record below `appended` survives the death of the process,
//! * a record below `synced` survives the loss of power as well, and
//! * a record below `first` is no longer needed by anybody.
//!
//! In reading order: `place` says where a record is; [`log`] is the contract; `frame` and `segment` are the bytes on disk; `recovery` decides what of them
//! is a log when it is opened; `mapping` is the mapped memory; `syncer` is the thread in the background; [`mapped`] puts
//! these together; [`memory`] is the twin for the simulator; [`limits`] holds every bound.

pub mod error;
mod frame;
pub mod limits;
pub mod log;
pub mod mapped;
mod mapping;
pub mod memory;
mod place;
mod reader;
mod recovery;
mod segment;
mod syncer;

pub use error::LogError;
pub use frame::frame_bytes;
pub use log::{Cut, CutReason, Log, LogReceipt, LogRecords, LogStatus, Opened};
pub use mapped::{LogOptions, MappedLog, Repair};
pub use memory::MemoryLog;
pub use place::{LogIdentity, Position};
