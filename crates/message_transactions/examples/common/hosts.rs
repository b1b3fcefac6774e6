//! Hosts on the loopback interface that know each other, as machines on one network would. The environment variable `RAIDCOMM_WAY` says by
//! which way they reach each other: shared-memory (which is what kernels of one machine choose by themselves), udp, tcp, or tls.

#[path = "meeting.rs"]
mod meeting;
#[path = "ways.rs"]
mod ways;

use message_transactions::host::Host;
use message_transactions::host::transport::PacketTransport;
use message_transactions::host::ways::Ways;
use std::net::SocketAddr;
use ways::{Outcome, SITES_MAX, Way};

/// So many hosts.
pub fn start(count: usize) -> Outcome<Vec<Host>> {
    start_on(count, |ways| ways)
}

/// So many hosts, each on what is made of its ways.
pub fn start_on<T: PacketTransport>(count: usize, transport: impl FnMut(Ways) -> T) -> Outcome<Vec<Host<T>>> {
    assert!(count <= usize::from(SITES_MAX), "there are keys for {SITES_MAX} hosts");
    let way = std::env::var("RAIDCOMM_WAY").map_or(Ok(Way::SharedMemory), |name| name.parse())?;
    let folder = tempfile::tempdir()?;
    way.make_keys(folder.path())?;
    let numbers = 1..=count as u16;
    let all = numbers.clone().map(|number| way.bind(number, folder.path())).collect::<Outcome<Vec<Ways>>>()?;
    let addresses = all.iter().map(|ways| way.address(ways)).collect::<Outcome<Vec<SocketAddr>>>()?;
    for (number, own) in numbers.clone().zip(&all) {
        for (other, &address) in numbers.clone().zip(&addresses).filter(|(other, _)| *other != number) {
            way.introduce(own, other, address)?;
        }
    }
    meeting::wait(way, &all)?;
    Ok(all.into_iter().map(transport).map(Host::start).collect::<Result<Vec<Host<T>>, _>>()?)
}
