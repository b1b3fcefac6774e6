//! How a group of files stands, for display, and what is told of what has happened to its log.

use network_memory::names::{Receipt, ServerId};
use network_memory::writer::{Event, WriterStatus};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::Ordering;

use crate::group::{Shared, lock};

/// See the module's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What would make a change durable now; none: nothing.
    pub in_force: Option<Receipt>,
    /// Servers that hold everything that was acknowledged.
    pub copies: usize,
    /// Servers that are named.
    pub servers: usize,
    /// Syncs that the memory of servers has made durable, since the files were opened.
    pub syncs_memory: u64,
    /// Syncs that the disk has made durable.
    pub syncs_disk: u64,
    /// Bytes that servers have acknowledged and this disk does not have yet.
    pub window_bytes: u64,
    /// Bytes of the log since its front was last given up.
    pub log_bytes: u64,
    /// Why nothing is taken any more.
    pub failure: Option<String>,
}

impl Status {
    pub(crate) fn of(shared: &Shared) -> Status {
        // A child has the log of its parent, and perhaps a lock that nobody gives back.
        let (in_force, copies, window_bytes) = if shared.is_forked() {
            (None, 0, 0)
        } else {
            let WriterStatus { in_force, copies, window_bytes, .. } = lock(&shared.log).log.status();
            (in_force, copies, window_bytes)
        };
        let counts = &shared.counts;
        Status {
            in_force,
            copies,
            servers: shared.servers,
            syncs_memory: counts.syncs_memory.load(Ordering::Relaxed),
            syncs_disk: counts.syncs_disk.load(Ordering::Relaxed),
            window_bytes,
            log_bytes: counts.log_bytes.load(Ordering::Relaxed),
            failure: shared.check().err().map(|failure| failure.to_string()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = &self.failure {
            return write!(formatter, "failed: {failure}");
        }
        match self.in_force {
            Some(receipt) => write!(formatter, "commits are durable by: {receipt}")?,
            None => write!(formatter, "commits are not durable now")?,
        }
        write!(
            formatter,
            "; {} of {} servers hold everything; {} syncs by memory, {} by disk; {} KiB not on this disk yet; log {} KiB",
            self.copies,
            self.servers,
            self.syncs_memory,
            self.syncs_disk,
            self.window_bytes.div_ceil(1024),
            self.log_bytes.div_ceil(1024)
        )
    }
}

/// What an operator has been told: that something is well again is only said if it was said not to be.
#[derive(Debug, Default)]
pub(crate) struct Told {
    is_memory_lost: bool,
    away: BTreeSet<ServerId>,
}

impl Told {
    /// What an operator is told of an event; none if it is nothing to them.
    pub(crate) fn text(&mut self, event: &Event, copies: u8) -> Option<String> {
        Some(match event {
            Event::MemoryLost { copies: left } => {
                self.is_memory_lost = true;
                format!("{left} memory servers are left, and {copies} are needed: every commit waits for the disk")
            }
            Event::MemoryBack if std::mem::take(&mut self.is_memory_lost) => {
                format!("{copies} memory servers hold everything again: commits no longer wait for the disk")
            }
            Event::ServerAway(server) => {
                self.away.insert(*server);
                format!("memory server {server} does not answer")
            }
            Event::ServerEmpty(server) => {
                self.away.insert(*server);
                format!("memory server {server} has lost its memory, and is given everything anew")
            }
            Event::ServerFull(server) => {
                self.away.insert(*server);
                format!("memory server {server} has no room: give it more capacity, or a larger quota")
            }
            Event::ServerBack(server) if self.away.remove(server) => {
                format!("memory server {server} holds everything again")
            }
            Event::SpareTaken { spare, instead_of } => format!("memory server {spare} takes the place of {instead_of}"),
            Event::Stopped(stop) => stop.to_string(),
            _ => return None,
        })
    }
}
