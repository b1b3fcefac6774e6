//! A transport that loses, doubles and reorders what it sends: for tests of what is built on it.
//!
//! Invariant: a seed means the same faults for the same packets.

use super::transport::{Arrival, PacketReceiver, PacketTransport};
use crate::identifier::ProcessGroupId;
use crate::outbox::GroupMembership;
use seeded_random::SplitMix64;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often what happens, of a hundred packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFaults {
    /// It is lost.
    pub loss_percent: u64,
    /// It is sent twice.
    pub duplicate_percent: u64,
    /// It is kept back until the next packet has been sent.
    pub reorder_percent: u64,
}

/// See the module's description.
#[derive(Debug)]
pub struct FaultyTransport<T: PacketTransport> {
    inner: T,
    faults: PacketFaults,
    random: Mutex<SplitMix64>,
    kept_back: Mutex<Option<(T::Place, Vec<u8>)>>,
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl<T: PacketTransport> FaultyTransport<T> {
    /// A transport with faults.
    pub fn new(inner: T, faults: PacketFaults, seed: u64) -> FaultyTransport<T> {
        FaultyTransport {
            inner,
            faults,
            random: Mutex::new(SplitMix64::new(seed)),
            kept_back: Mutex::new(None),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The transport without faults.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Packets and bytes that were to be sent, those lost included, those doubled counted once.
    pub fn sent(&self) -> (u64, u64) {
        (self.packets.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Whether this happens now.
    fn happens(&self, percent: u64) -> bool {
        percent > 0 && self.random.lock().unwrap_or_else(PoisonError::into_inner).percent(percent)
    }

    fn send_one(&self, to: T::Place, packet: &[u8]) {
        if self.happens(self.faults.loss_percent) {
            return;
        }
        let mut kept_back = self.kept_back.lock().unwrap_or_else(PoisonError::into_inner);
        if kept_back.is_none() && self.happens(self.faults.reorder_percent) {
            *kept_back = Some((to, packet.to_vec()));
            return;
        }
        let earlier = kept_back.take();
        drop(kept_back);
        self.inner.send(to, packet, packet.len());
        if self.happens(self.faults.duplicate_percent) {
            self.inner.send(to, packet, packet.len());
        }
        if let Some((to, packet)) = earlier {
            self.inner.send(to, &packet, packet.len());
        }
    }
}

impl<T: PacketTransport> PacketTransport for FaultyTransport<T> {
    type Place = T::Place;

    fn place(&self) -> T::Place {
        self.inner.place()
    }

    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    fn send(&self, to: T::Place, train: &[u8], packet_bytes: usize) {
        self.packets.fetch_add(train.len().div_ceil(packet_bytes) as u64, Ordering::Relaxed);
        self.bytes.fetch_add(train.len() as u64, Ordering::Relaxed);
        if self.faults == PacketFaults::default() {
            return self.inner.send(to, train, packet_bytes);
        }
        train.chunks(packet_bytes).for_each(|packet| self.send_one(to, packet));
    }

    fn multicast(&self, group: Option<ProcessGroupId>, packet: &[u8]) {
        if !self.happens(self.faults.loss_percent) {
            self.inner.multicast(group, packet);
        }
    }

    fn flush(&self) {
        self.inner.flush();
    }

    fn receive(&self, buffer: &mut [u8], wait: Duration) -> io::Result<Option<Arrival<T::Place>>> {
        self.inner.receive(buffer, wait)
    }

    fn wake(&self) {
        self.inner.wake();
    }

    fn multicast_receiver(&self) -> io::Result<Option<PacketReceiver<T::Place>>> {
        self.inner.multicast_receiver()
    }

    fn membership(&self, membership: GroupMembership) {
        self.inner.membership(membership);
    }
}
