//! Packets in UDP datagrams, and IP multicast for groups.
//!
//! The address of a group is computed from its identifier, so that no message sets a group up. Several groups may share an address:
//! the kernel looks at the identifier. Runs of packets leave by segmentation offload and arrive joined, where the system can.

use super::transport::{Arrival, PacketReceiver, PacketTransport};
use crate::identifier::ProcessGroupId;
use crate::limits::{PEERS_MAX, SOCKET_BYTES, WAIT_LONG};
use crate::outbox::GroupMembership;
use quinn_udp::{Transmit, UdpSocketState};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use socket2::{Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Who else there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UdpDomain {
    /// These: what is for everybody, or a group, is sent to each of them.
    Peers(Vec<SocketAddr>),
    /// All that listen on a multicast network of 16 bits behind `network` (of which the last two numbers are not used), at a port,
    /// through the interface that has the address. All hosts of a domain name the same network and port.
    Multicast {
        /// Such as 239.192.0.0.
        network: Ipv4Addr,
        /// The same for all hosts.
        port: u16,
        /// The address of this machine's interface.
        interface: Ipv4Addr,
    },
}

/// A UDP socket.
#[derive(Debug)]
pub struct UdpTransport {
    socket: UdpSocket,
    offload: UdpSocketState,
    place: SocketAddr,
    peers: Mutex<Vec<SocketAddr>>,
    multicast: Option<(Ipv4Addr, u16, Ipv4Addr, UdpSocket)>,
    /// The wait that the socket is set to, in nanoseconds.
    wait: AtomicU64,
}

/// Where packets of a group go; of everybody, for `None`.
fn multicast_address(network: Ipv4Addr, group: Option<ProcessGroupId>) -> Ipv4Addr {
    let [a, b, ..] = network.octets();
    // 1 to 65534: everybody has 0.
    let low = group.map_or(0, |group| (group.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) % 65_534 + 1);
    Ipv4Addr::new(a, b, (low >> 8) as u8, low as u8)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl UdpTransport {
    /// A socket at an address; port 0 takes one that is free.
    ///
    /// # Errors
    /// The operating system refused, or there are too many peers.
    pub fn bind(address: SocketAddr, domain: UdpDomain) -> io::Result<UdpTransport> {
        let socket = UdpSocket::bind(address)?;
        let offload = UdpSocketState::new((&socket).into())?;
        // Whoever waits sleeps in the read.
        socket.set_nonblocking(false)?;
        let options = SockRef::from(&socket);
        // What the system does not grant it cuts down: then bulk data is lost sooner, and sent again.
        let _ = options.set_recv_buffer_size(SOCKET_BYTES);
        let _ = options.set_send_buffer_size(SOCKET_BYTES);
        let place = socket.local_addr()?;
        let mut peers = Vec::new();
        let multicast = match domain {
            UdpDomain::Peers(listed) => {
                peers = listed;
                None
            }
            UdpDomain::Multicast { network, port, interface } => {
                options.set_multicast_if_v4(&interface)?;
                options.set_multicast_loop_v4(true)?;
                let listener = Socket::new(socket2::Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
                listener.set_reuse_address(true)?;
                listener.bind(&SockAddr::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)))?;
                let listener = UdpSocket::from(listener);
                listener.join_multicast_v4(&multicast_address(network, None), &interface)?;
                Some((network, port, interface, listener))
            }
        };
        if peers.len() > PEERS_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there are too many peers"));
        }
        Ok(UdpTransport { socket, offload, place, peers: Mutex::new(peers), multicast, wait: AtomicU64::new(0) })
    }

    /// Adds a kernel to those that are sent what is for everybody, if peers are listed.
    pub fn add_peer(&self, peer: SocketAddr) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() < PEERS_MAX && !peers.contains(&peer) {
            peers.push(peer);
        }
    }

    /// Takes a packet that is there already.
    pub(super) fn receive_now(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        match rustix::net::recvfrom(&self.socket, buffer, RecvFlags::DONTWAIT) {
            Ok((bytes, _, from)) => Ok(from.and_then(|from| from.try_into().ok()).map(|from| (bytes, from))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn send_one(&self, to: SocketAddr, packet: &[u8]) {
        // A full buffer, a missing route: the packet is lost, as it could be further on.
        let _ = self.socket.send_to(packet, to);
    }
}

/// Readable when a packet is there.
impl AsFd for UdpTransport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl PacketTransport for UdpTransport {
    type Place = SocketAddr;

    fn place(&self) -> SocketAddr {
        self.place
    }

    fn seed(&self) -> u64 {
        let address = match self.place.ip() {
            IpAddr::V4(address) => u64::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address) as u64,
        };
        address << 16 | u64::from(self.place.port())
    }

    fn send(&self, to: SocketAddr, train: &[u8], packet_bytes: usize) {
        if train.len() <= packet_bytes {
            return self.send_one(to, train);
        }
        let transmit =
            Transmit { destination: to, ecn: None, contents: train, segment_size: Some(packet_bytes), src_ip: None };
        let together = self.offload.max_gso_segments() >= train.len().div_ceil(packet_bytes);
        if !together || self.offload.try_send((&self.socket).into(), &transmit).is_err() {
            train.chunks(packet_bytes).for_each(|packet| self.send_one(to, packet));
        }
    }

    fn multicast(&self, group: Option<ProcessGroupId>, packet: &[u8]) {
        match &self.multicast {
            Some((network, port, ..)) => {
                self.send_one(SocketAddrV4::new(multicast_address(*network, group), *port).into(), packet);
            }
            None => {
                let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
                peers.iter().filter(|&&peer| peer != self.place).for_each(|&peer| self.send_one(peer, packet));
            }
        }
    }

    fn receive(&self, buffer: &mut [u8], wait: Duration) -> io::Result<Option<Arrival<SocketAddr>>> {
        let nanoseconds = wait.as_nanos() as u64;
        if self.wait.swap(nanoseconds, Ordering::Relaxed) != nanoseconds {
            self.socket.set_read_timeout(Some(wait))?;
        }
        match self.socket.recv_from(buffer) {
            Ok((bytes, from)) => Ok(Some(Arrival::Packets(bytes, from))),
            Err(error) if is_timeout(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn wake(&self) {
        // A datagram of no bytes is no packet. To the unspecified address it would go to this machine as well, but not on all systems.
        let mut place = self.place;
        if place.ip().is_unspecified() {
            place.set_ip(if place.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        }
        self.send_one(place, &[]);
    }

    fn multicast_receiver(&self) -> io::Result<Option<PacketReceiver<SocketAddr>>> {
        let Some((.., listener)) = &self.multicast else { return Ok(None) };
        let listener = listener.try_clone()?;
        listener.set_read_timeout(Some(Duration::from_nanos(WAIT_LONG)))?;
        Ok(Some(Box::new(move |buffer, _| match listener.recv_from(buffer) {
            Ok(received) => Ok(Some(received)),
            Err(error) if is_timeout(&error) => Ok(None),
            Err(error) => Err(error),
        })))
    }

    fn membership(&self, membership: GroupMembership) {
        let Some((network, _, interface, listener)) = &self.multicast else { return };
        // Groups that share an address join it twice, which is refused and harmless; it is left when the socket is closed.
        if let GroupMembership::Join(group) = membership {
            let _ = listener.join_multicast_v4(&multicast_address(*network, Some(group)), interface);
        }
    }
}
