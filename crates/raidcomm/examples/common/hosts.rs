//! Hosts on the loopback interface that know each other, as machines on one network would.

use raidcomm::transaction::host::transport::Transport;
use raidcomm::transaction::host::udp::{Domain, Udp};
use raidcomm::transaction::host::{Host, HostError};

/// So many hosts.
pub fn start(count: usize) -> Result<Vec<Host>, HostError> {
    start_on(count, |socket| socket)
}

/// So many hosts, each on what is made of its socket.
pub fn start_on<T: Transport>(count: usize, transport: impl FnMut(Udp) -> T) -> Result<Vec<Host<T>>, HostError> {
    let bind = || Udp::bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0)), Domain::Peers(Vec::new()));
    let sockets = (0..count).map(|_| bind()).collect::<Result<Vec<Udp>, _>>()?;
    let places: Vec<_> = sockets.iter().map(Transport::place).collect();
    for socket in &sockets {
        places.iter().for_each(|&place| socket.add_peer(place));
    }
    sockets.into_iter().map(transport).map(Host::start).collect()
}
