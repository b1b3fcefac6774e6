//! What a database's process is told, and what it says.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

use super::design::Parameters;
use crate::memory::disk::Disk;

/// What the process of redb needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// A folder of its own.
    pub folder: PathBuf,
    /// The memory servers, all of which must hold a commit; none: the disk.
    pub servers: Vec<SocketAddr>,
    /// The disk, if there are no servers.
    pub disk: Disk,
    /// How large the database is.
    pub parameters: Parameters,
}

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The database is there, or how it is.
    Ready(String),
    /// A traversal has been committed.
    Traversed {
        /// How long it took.
        nanoseconds: u64,
        /// Atomic parts visited, or documents changed.
        count: u64,
    },
    /// It could not; the reason.
    Failed(String),
}

/// What asks a process how its database is.
pub const STATUS: &str = "status";
