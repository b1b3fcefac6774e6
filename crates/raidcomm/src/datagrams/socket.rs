//! The sockets of a site's datagrams: one of its own, and one that hears the groups of others.
//!
//! Datagrams leave with a time to live of one: no router passes them on, so whoever they reach is in the same network. They are not
//! cut on the way either: one that is too long does not arrive, which is how sizes are found out. A datagram that the operating
//! system does not take is lost, as it could be further on.

use super::faults::{FaultRates, Worse};
use super::{To, Transmit, group_address, group_port};
use crate::limits::{DATAGRAM_SOCKET_BYTES, DATAGRAMS_PER_TURN};
use identifiers::{InstanceId, SiteId};
use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use quinn_udp::{RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket as RawSocket, Type};
use std::fmt;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads that one system call makes.
const BATCH: usize = 8;
/// What one of them may bring: datagrams that the operating system has joined.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes that one system call sends.
const TRAIN_BYTES_MAX: usize = 60_000;

/// A socket with what the operating system can do for it.
struct Half {
    socket: UdpSocket,
    offload: UdpSocketState,
}

impl Half {
    fn new(socket: RawSocket, registry: &Registry, token: Token) -> io::Result<Half> {
        socket.set_nonblocking(true)?;
        // What the system does not grant it cuts down: then more is lost under load, and sent again.
        let _ = socket.set_recv_buffer_size(DATAGRAM_SOCKET_BYTES);
        let _ = socket.set_send_buffer_size(DATAGRAM_SOCKET_BYTES);
        let mut socket = UdpSocket::from_std(socket.into());
        let offload = UdpSocketState::new((&socket).into())?;
        registry.register(&mut socket, token, Interest::READABLE)?;
        Ok(Half { socket, offload })
    }
}

/// See the module's description.
pub(crate) struct Sockets {
    own: Half,
    /// Hears the groups of other sites; `None`: not on this machine.
    groups: Option<Half>,
    instance: InstanceId,
    /// Where the own group is.
    group: SocketAddr,
    worse: Option<Worse>,
    buffers: Box<[u8]>,
}

impl fmt::Debug for Sockets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sockets({:?}, group {})", self.own.socket.local_addr(), self.group)
    }
}

impl Sockets {
    /// Opens them at an address, the own one with the first token and the other with the second.
    ///
    /// # Errors
    /// The operating system does not allow it.
    pub(crate) fn open(
        registry: &Registry,
        tokens: [Token; 2],
        address: SocketAddr,
        instance: InstanceId,
        site: SiteId,
        faults: FaultRates,
    ) -> io::Result<Sockets> {
        let socket = RawSocket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        match address {
            SocketAddr::V4(_) => socket.set_ttl_v4(1)?,
            SocketAddr::V6(_) => {
                socket.set_unicast_hops_v6(1)?;
                // Such a socket may send over IPv4 too, unless the system says otherwise.
                let _ = socket.set_ttl_v4(1);
            }
        }
        socket.bind(&SockAddr::from(address))?;
        let own = Half::new(socket, registry, tokens[0])?;
        let groups = address.is_ipv4().then(|| listen_to_groups(registry, tokens[1], instance)).and_then(Result::ok);
        let (group, port) = group_address(instance, site);
        let worse = (faults != FaultRates::default()).then(|| Worse::new(faults, u64::from(address.port())));
        let buffers = vec![0; BATCH * BUFFER_BYTES].into_boxed_slice();
        Ok(Sockets { own, groups, instance, group: (group, port).into(), worse, buffers })
    }

    /// Whether groups of others are heard, and so may be spoken to.
    pub(crate) fn hears_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// Listens to the group of a site, in the network that one of our addresses is in; our own is sent there too.
    pub(crate) fn join(&self, site: SiteId, interface: IpAddr) {
        let (Some(groups), IpAddr::V4(interface)) = (&self.groups, interface) else { return };
        let (group, _) = group_address(self.instance, site);
        // It is joined already, or cannot be: who does not hear a group is sent by itself what is for it.
        let _ = groups.socket.join_multicast_v4(&group, &interface);
        let _ = SockRef::from(&self.own.socket).set_multicast_if_v4(&interface);
    }

    /// Sends datagrams; `address_of` says where a site listens.
    pub(crate) fn send(&mut self, transmit: &Transmit, address_of: impl Fn(SiteId) -> Option<SocketAddr>) {
        let to = match transmit.to {
            To::Site(site) => address_of(site),
            To::Group => Some(self.group),
        };
        let Some(to) = to else { return };
        let own = &self.own;
        match &mut self.worse {
            None => own.send(to, &transmit.train, transmit.datagram_bytes),
            Some(worse) => {
                for datagram in transmit.train.chunks(transmit.datagram_bytes) {
                    worse.send(to, datagram, &mut |to, datagram| own.send(to, datagram, datagram.len()));
                }
            }
        }
    }

    /// Gives each datagram that waits to `take`, with whether it came by a group's address. Returns whether more may wait that no event
    /// will announce.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(&mut [u8], bool)) -> bool {
        let mut may_wait = false;
        for (half, by_group) in [(Some(&self.own), false), (self.groups.as_ref(), true)] {
            let Some(half) = half else { continue };
            // Each has a share of its own: a flood at one of them leaves the other heard.
            let mut left = DATAGRAMS_PER_TURN;
            while left > 0 {
                match half.receive(&mut self.buffers, &mut |datagram| take(datagram, by_group)) {
                    Ok(count) => left = left.saturating_sub(count),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // Nothing waits; or what was sent could not be delivered, which is no business of who reads.
                    Err(_) => break,
                }
            }
            may_wait |= left == 0;
        }
        may_wait
    }
}

impl Half {
    fn send(&self, destination: SocketAddr, train: &[u8], datagram_bytes: usize) {
        let segments = self.offload.max_gso_segments().min(TRAIN_BYTES_MAX / datagram_bytes).max(1);
        for part in train.chunks(segments * datagram_bytes) {
            let segment_size = (part.len() > datagram_bytes).then_some(datagram_bytes);
            let transmit = quinn_udp::Transmit { destination, ecn: None, contents: part, segment_size, src_ip: None };
            if self.offload.try_send((&self.socket).into(), &transmit).is_err() && segment_size.is_some() {
                // Together they cannot leave; one of them alone may.
                part.chunks(datagram_bytes).for_each(|datagram| drop(self.socket.send_to(datagram, destination)));
            }
        }
    }

    /// One system call; says how many datagrams it brought.
    fn receive(&self, buffers: &mut [u8], take: &mut dyn FnMut(&mut [u8])) -> io::Result<usize> {
        let mut meta = [RecvMeta::default(); BATCH];
        let mut slices = buffers.chunks_mut(BUFFER_BYTES).map(IoSliceMut::new);
        let mut slices: [IoSliceMut<'_>; BATCH] =
            std::array::from_fn(|_| slices.next().expect("there is one for each"));
        let count = self.offload.recv((&self.socket).into(), &mut slices, &mut meta)?;
        // One without bytes counts as well: nobody is kept reading for nothing.
        let mut datagrams = count;
        for (meta, slice) in meta[..count].iter().zip(&mut slices) {
            for datagram in slice[..meta.len].chunks_mut(meta.stride.max(1)) {
                datagrams += 1;
                take(datagram);
            }
        }
        Ok(datagrams)
    }
}

fn listen_to_groups(registry: &Registry, token: Token, instance: InstanceId) -> io::Result<Half> {
    let socket = RawSocket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    // Sites of one host each hear them.
    socket.set_reuse_address(true)?;
    // Only the groups that this socket has joined, not those of other programs at the same port (ip(7)).
    socket.set_multicast_all_v4(false)?;
    socket.bind(&SockAddr::from(SocketAddr::from((Ipv4Addr::UNSPECIFIED, group_port(instance)))))?;
    Half::new(socket, registry, token)
}
