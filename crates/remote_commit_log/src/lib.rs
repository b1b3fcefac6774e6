//! A site's log ([`commit_log::Log`]) that is durable in the memory of k servers while the disk follows ([`network_memory`]): the sink for sites
//! that would otherwise wait for their disk, because they are alone or the last copy.
//!
//! Records are those of a remote log; what is synced is what has a receipt, of memory or of the disk. Invariants:
//! * a record has the position that it would have in [`commit_log::MappedLog`], and carries it, so that a log can be carried from one to the other;
//! * the last record is never given up, so the position where the log goes on is always known;
//! * records are sent by [`Log::turn`], so that all of a turn share the system calls; nothing waits, but [`Log::sync_now`] and an opening;
//! * a log that has stopped says why once, and does nothing any more.
//!
//! In reading order: `piece` is the format, [`log`] the log, [`limits`] holds every bound.
//!
//! [`Log::turn`]: commit_log::Log::turn
//! [`Log::sync_now`]: commit_log::Log::sync_now

pub mod limits;
pub mod log;
mod piece;

pub use log::RemoteCommitLog;
