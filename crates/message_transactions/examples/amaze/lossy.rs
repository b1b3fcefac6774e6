//! A socket that loses some of what arrives, each player something else, and counts the packets of the game.
//!
//! Invariant: what arrives is counted before it is lost: the machine has had the work of it.

use message_transactions::host::transport::{Arrival, PacketReceiver, PacketTransport};
use message_transactions::host::udp::UdpTransport;
use message_transactions::outbox::GroupMembership;
use message_transactions::{MessageDestination, ProcessGroupId, codec};
use seeded_random::SplitMix64;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Packets, without those that hosts announce themselves with.
#[derive(Debug, Default)]
pub struct Counts {
    /// Left here.
    pub sent: AtomicU64,
    /// Arrived here, one's own included, as multicast brings them.
    pub arrived: AtomicU64,
    /// Of these, lost on purpose.
    pub lost: AtomicU64,
}

/// See the module's description.
#[derive(Debug)]
pub struct Lossy {
    inner: UdpTransport,
    loss_percent: u64,
    random: Arc<Mutex<SplitMix64>>,
    counts: Arc<Counts>,
}

/// Whether a packet that arrived is lost.
fn loses(loss_percent: u64, random: &Mutex<SplitMix64>, counts: &Counts, packet: &[u8]) -> bool {
    let lost = loss_percent > 0 && random.lock().unwrap_or_else(PoisonError::into_inner).percent(loss_percent);
    if matches!(codec::decode(packet), Ok((header, ..)) if matches!(header.destination, MessageDestination::Group(_))) {
        counts.arrived.fetch_add(1, Ordering::Relaxed);
        counts.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
    }
    lost
}

impl Lossy {
    /// A socket of which so many of a hundred packets that arrive are lost.
    pub fn new(inner: UdpTransport, loss_percent: u64) -> Lossy {
        let random = Arc::new(Mutex::new(SplitMix64::new(inner.seed())));
        Lossy { inner, loss_percent, random, counts: Arc::default() }
    }

    /// What it has counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl PacketTransport for Lossy {
    type Place = SocketAddr;

    fn place(&self) -> SocketAddr {
        self.inner.place()
    }

    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    fn send(&self, to: SocketAddr, train: &[u8], packet_bytes: usize) {
        self.counts.sent.fetch_add(train.len().div_ceil(packet_bytes) as u64, Ordering::Relaxed);
        self.inner.send(to, train, packet_bytes);
    }

    fn multicast(&self, group: Option<ProcessGroupId>, packet: &[u8]) {
        self.counts.sent.fetch_add(u64::from(group.is_some()), Ordering::Relaxed);
        self.inner.multicast(group, packet);
    }

    fn flush(&self) {
        self.inner.flush();
    }

    fn receive(&self, buffer: &mut [u8], wait: Duration) -> io::Result<Option<Arrival<Self::Place>>> {
        let arrival = self.inner.receive(buffer, wait)?;
        Ok(arrival.filter(|arrival| match arrival {
            Arrival::Packets(bytes, _) => !loses(self.loss_percent, &self.random, &self.counts, &buffer[..*bytes]),
            Arrival::Gone(_) => true,
        }))
    }

    fn wake(&self) {
        self.inner.wake();
    }

    fn multicast_receiver(&self) -> io::Result<Option<PacketReceiver<SocketAddr>>> {
        let Some(mut receive) = self.inner.multicast_receiver()? else { return Ok(None) };
        let (loss_percent, random, counts) = (self.loss_percent, self.random.clone(), self.counts.clone());
        Ok(Some(Box::new(move |buffer, wait| {
            let received = receive(buffer, wait)?;
            Ok(received.filter(|&(bytes, _)| !loses(loss_percent, &random, &counts, &buffer[..bytes])))
        })))
    }

    fn membership(&self, membership: GroupMembership) {
        self.inner.membership(membership);
    }
}
