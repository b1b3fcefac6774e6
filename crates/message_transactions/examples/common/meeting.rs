//! Kernels of one process that wait until they reach each other.

use super::ways::{Outcome, Way};
use message_transactions::host::transport::{Arrival, PacketTransport};
use message_transactions::host::ways::Ways;
use message_transactions::limits::READ_BYTES;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Longer than any two kernels of one machine take to find each other.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until all of these, which know each other and have not started, reach each other by this way. What else comes meanwhile is lost.
pub fn wait(way: Way, all: &[Ways]) -> Outcome<()> {
    let mut buffer = vec![0; READ_BYTES];
    let until = Instant::now() + PATIENCE;
    let addresses = all.iter().map(|ways| way.address(ways)).collect::<Outcome<Vec<SocketAddr>>>()?;
    let place = |other: usize| way.place(other as u16 + 1, addresses[other]);
    let pairs = || (0..all.len()).flat_map(|one| (0..all.len()).map(move |other| (one, other)));
    let missing = || pairs().filter(|&(one, other)| one != other && !way.is_up(&all[one], place(other)));
    while missing().next().is_some() {
        if Instant::now() > until {
            return Err(format!("kernels do not find each other by {}", way.name()).into());
        }
        // Whoever is sent something is told how else it can be reached.
        missing().for_each(|(one, other)| all[one].send(place(other), &[], 1));
        for ways in all {
            while let Some(Arrival::Packets(..)) = ways.receive(&mut buffer, Duration::from_millis(1))? {}
        }
    }
    Ok(())
}
