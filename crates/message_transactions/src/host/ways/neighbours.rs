//! The other kernels of this host, and the shared memory to them.
//!
//! A kernel that sends to another one which may be on the same host introduces itself beside the first packets: which host it is on, and at
//! which port of the loopback interface it can be connected to. Whoever reads that on the same host connects there, and the streams on both
//! sides put a ring of shared memory into the place of the connection. Introductions are sent a few times and then no more: whoever does
//! not answer is no neighbour, or does not want to be one.
//!
//! Invariant: an introduction is believed only by whoever is on the host that it names, and all that it can bring about is a connection to a
//! port of this host. A neighbour's number is its port in the network; two that have the same one are not both taken.

use crate::limits::{INTRODUCTION_PAUSE, INTRODUCTIONS_MAX, PEERS_MAX};
use bytes::Bytes;
use identifiers::{InstanceId, SiteId};
use mio::Registry;
use raidcomm::shared::door::HostId;
use raidcomm::streams::{
    ConnectionChannel, DisconnectReason, Hello, INCARNATION_UNKNOWN, Incoming, Streams, StreamsError,
};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

/// All neighbours of a host are of this one.
const INSTANCE: InstanceId = InstanceId(u64::from_le_bytes(*b"VKERNELS"));
/// No packet begins so: they begin with their version.
const MAGIC: [u8; 4] = *b"RNBR";
const VERSION: u8 = 1;
const OFFER_BYTES: usize = 4 + 1 + 16 + 2;

/// How a kernel introduces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelOffer {
    host: HostId,
    /// Where it listens on the loopback interface.
    port: u16,
}

impl KernelOffer {
    fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(OFFER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.host.0);
        bytes.extend_from_slice(&self.port.to_le_bytes());
        bytes
    }

    /// `None`: it is something else, or of another version.
    pub(super) fn decode(bytes: &[u8]) -> Option<KernelOffer> {
        let (host, port) = bytes.strip_prefix(&MAGIC)?.strip_prefix(&[VERSION])?.split_first_chunk()?;
        Some(KernelOffer { host: HostId(*host), port: u16::from_le_bytes(port.try_into().ok()?) })
    }
}

/// What is known of a place in the network.
#[derive(Debug, Default)]
struct KnownPlace {
    /// It is on this host, and this is its number.
    site: Option<SiteId>,
    introductions: u32,
    /// When the next introduction may be sent.
    next: u64,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Neighbours {
    pub streams: Streams,
    own: SocketAddr,
    offer: KernelOffer,
    known: BTreeMap<SocketAddr, KnownPlace>,
    by_site: BTreeMap<SiteId, SocketAddr>,
}

impl Neighbours {
    /// `None`: this system cannot tell hosts from each other, or has no shared memory to give.
    pub(super) fn start(registry: &Registry, tokens: Range<usize>, own: SocketAddr) -> io::Result<Option<Neighbours>> {
        let Some(host) = HostId::own() else { return Ok(None) };
        let hello = Hello::new(INSTANCE, SiteId(own.port()), INCARNATION_UNKNOWN);
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut streams = Streams::listen(registry, tokens, hello, loopback, None).map_err(|error| match error {
            StreamsError::Listen { source, .. } => source,
            other => io::Error::other(other),
        })?;
        if streams.use_shared_memory().is_err() {
            return Ok(None);
        }
        let offer = KernelOffer { host, port: streams.local_address()?.port() };
        Ok(Some(Neighbours { streams, own, offer, known: BTreeMap::new(), by_site: BTreeMap::new() }))
    }

    /// The neighbour at this place, if there is shared memory to it now.
    pub(super) fn takes(&self, address: SocketAddr) -> Option<SiteId> {
        let site = self.known.get(&address)?.site?;
        (self.streams.is_connected(site) && self.streams.channel_to(site) == Some(ConnectionChannel::SharedMemory))
            .then_some(site)
    }

    /// An introduction to send to a place, if it is time for one.
    pub(super) fn introduction(&mut self, now: u64, address: SocketAddr) -> Option<Vec<u8>> {
        let own = self.own.ip();
        let may_be_here = address.ip().is_loopback() || address.ip() == own || own.is_unspecified();
        if !may_be_here {
            return None;
        }
        if self.known.len() >= PEERS_MAX && !self.known.contains_key(&address) {
            self.known.retain(|_, known| known.site.is_some() || known.next > now);
            if self.known.len() >= PEERS_MAX {
                return None;
            }
        }
        let known = self.known.entry(address).or_default();
        if known.introductions >= INTRODUCTIONS_MAX || known.next > now {
            return None;
        }
        known.next = now.saturating_add(INTRODUCTION_PAUSE << known.introductions);
        known.introductions += 1;
        Some(self.offer.encode())
    }

    /// A kernel has introduced itself. Perhaps it is to be answered.
    pub(super) fn meet(&mut self, now: u64, from: SocketAddr, offer: &KernelOffer) -> Option<Vec<u8>> {
        if offer.host != self.offer.host {
            return None;
        }
        let site = SiteId(from.port());
        if self.by_site.get(&site).is_some_and(|other| *other != from) {
            return None;
        }
        let answer = self.introduction(now, from);
        let known = self.known.get_mut(&from)?;
        // Too many neighbours, or a number that is our own: the network remains.
        self.streams.set_peer(site, SocketAddr::from((Ipv4Addr::LOCALHOST, offer.port))).ok()?;
        known.site = Some(site);
        self.by_site.insert(site, from);
        answer
    }

    /// Takes what came from a neighbour: whose it is, if it is for the kernel.
    pub(super) fn take(&self, incoming: Incoming) -> Option<(SocketAddr, Bytes)> {
        match incoming {
            Incoming::Message { from, payload, .. } => self.by_site.get(&from).map(|&address| (address, payload)),
            // What is connected is asked for when something is sent.
            Incoming::Connected { .. } | Incoming::Disconnected { .. } => None,
        }
    }

    /// Neighbours that have ended: nobody listens at their port any more.
    pub(super) fn gone(&mut self) -> Vec<SocketAddr> {
        let refused = Some(DisconnectReason::Failed(ErrorKind::ConnectionRefused));
        // It listened before it introduced itself.
        let gone = |known: &KnownPlace| {
            known
                .site
                .is_some_and(|site| !self.streams.is_connected(site) && self.streams.last_failure(site) == refused)
        };
        let ended = self.known.iter().filter(|(_, known)| gone(known)).map(|(&address, _)| address);
        let ended: Vec<SocketAddr> = ended.collect();
        for address in &ended {
            if let Some(site) = self.known.remove(address).and_then(|known| known.site) {
                self.by_site.remove(&site);
                self.streams.remove_peer(site);
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{PacketError, decode};
    use proptest::prelude::*;

    proptest! {
        /// If a packet could be taken for an introduction, or the other way round, one of them would be lost.
        #[test]
        fn introductions_are_no_packets(host: [u8; 16], port: u16, cut in 0..OFFER_BYTES, more: u8) {
            let offer = KernelOffer { host: HostId(host), port };
            let mut bytes = offer.encode();
            prop_assert_eq!(KernelOffer::decode(&bytes), Some(offer));
            prop_assert_eq!(decode(&bytes).map(drop), Err(PacketError::Version(MAGIC[0])));
            prop_assert_eq!(KernelOffer::decode(&bytes[..cut]), None);
            bytes.push(more);
            prop_assert_eq!(KernelOffer::decode(&bytes), None);
        }
    }
}
