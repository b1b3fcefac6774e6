//! The systems that are compared: where a commit's log is, and on which disk the files are.

use crate::memory::disk::Disk;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the log of recoverable memory, or the last changes of a database, must be before a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Log {
    /// On the disk.
    Disk,
    /// In the memory of so many servers, while the disk follows.
    Memory {
        /// k, 1 or more.
        copies: u8,
    },
}

/// See the module's description. It reads as the paper calls it: RVM, and RRVM over network memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Where the log is.
    pub log: Log,
    /// Where the files are.
    pub disk: Disk,
}

impl System {
    /// RVM on this disk.
    pub const fn rvm(disk: Disk) -> System {
        System { log: Log::Disk, disk }
    }

    /// RRVM with so many servers, its files on this disk.
    pub const fn rrvm(copies: u8, disk: Disk) -> System {
        System { log: Log::Memory { copies }, disk }
    }

    /// Which of the paper's figures, of RVM and of RRVM-FDDI, stands beside this system's: those of this disk, with one server as in the paper.
    pub fn paper(self, [rvm, fddi]: [Option<f64>; 2]) -> Option<f64> {
        match self {
            System { log: Log::Disk, disk: Disk::This } => rvm,
            System { log: Log::Memory { copies: 1 }, disk: Disk::This } => fddi,
            _ => None,
        }
    }

    /// Both on each disk, with one server as in the paper, and with two on this one.
    pub fn all(disks: &[Disk]) -> Vec<System> {
        let mut systems = System::with_one_server(disks);
        systems.push(System::rrvm(2, Disk::This));
        systems
    }

    /// Both on each disk, with one server.
    pub fn with_one_server(disks: &[Disk]) -> Vec<System> {
        let rvm = disks.iter().map(|&disk| System::rvm(disk));
        rvm.chain(disks.iter().map(|&disk| System::rrvm(1, disk))).collect()
    }
}

impl fmt::Display for System {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.log {
            Log::Disk => write!(formatter, "RVM, {}", self.disk),
            Log::Memory { copies } => write!(formatter, "RRVM k={copies}, {}", self.disk),
        }
    }
}
