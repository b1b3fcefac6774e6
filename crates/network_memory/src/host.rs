//! The real hosts: a memory server's process, and a log's writer in the program that uses it. They own sockets, files, a thread and
//! clocks; the machines decide.

mod links;
pub mod memory_server;
pub mod remote_log;

use std::time::Instant;

/// Nanoseconds of a clock that never goes back, since it was made.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now())
    }

    fn now(self) -> u64 {
        // From 1 on: the machines take 0 for never.
        self.0.elapsed().as_nanos() as u64 + 1
    }
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
