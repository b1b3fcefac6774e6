//! The real hosts: a memory server's process, and a log's writer in the program that uses it. They own sockets, files, a thread and
//! clocks; the machines decide.

mod clients;
pub mod command;
mod connecting;
mod datagrams;
pub mod fork;
mod links;
pub mod local_servers;
pub mod log_folder;
mod log_terms;
pub mod memory_server;
pub mod remote_log;
mod spinning;
pub mod told;

use raidcomm::limits::SECOND;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a clock that never goes back, since it was made. It goes on while the host is suspended (clock_gettime(2),
/// `CLOCK_BOOTTIME`), because leases do.
#[derive(Clone, Copy, Debug)]
struct HostClock(u64);

impl HostClock {
    fn start() -> HostClock {
        HostClock(since_boot())
    }

    fn now(self) -> u64 {
        // From 1 on: the machines take 0 for never.
        since_boot() - self.0 + 1
    }
}

fn since_boot() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    tv_sec as u64 * SECOND + tv_nsec as u64
}

/// A number that nobody else draws.
///
/// # Errors
/// The operating system has none.
fn draw() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(u64::from_le_bytes(bytes).max(1))
}
