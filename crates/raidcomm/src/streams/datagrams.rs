//! Datagrams in the place of a connection's bytes, for peers of the same network.
//!
//! The connection stays, as it does beside shared memory. Of two sites the one with the lower number says in its hello that it has datagrams,
//! and the other answers with the identifier of their association; the keys of the association come from the connection's encryption (RFC 8446,
//! section 7.5), and it ends when the connection does. Whether datagrams arrive is found out by sending some; while they do not, and for
//! frames that are too long for them, the connection is used.

use super::connection::{ConnectionRole, StreamConnection};
use super::links::OutgoingConnection;
use super::status::Incoming;
use super::{DATAGRAMS, GROUPS, Streams, StreamsError};
use crate::datagrams::faults::FaultRates;
use crate::datagrams::socket::Sockets;
use crate::datagrams::{AssociationKeys, AssociationStatus, DatagramTerms, Datagrams, Seeds, To, Transmit, Untaken};
use crate::unguessable::draw;
use bytes::Bytes;
use identifiers::SiteId;
use mio::Token;

/// What keys of associations are derived for: nothing else is given this label.
const KEYS_LABEL: &[u8] = b"EXPORTER-raid-datagrams";

/// How datagrams are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramOptions {
    /// Bytes of a datagram at most, [`crate::limits::DATAGRAM_BYTES_MIN`] or more; 0: as many as arrive.
    pub datagram_bytes: u16,
    /// What the network is to do with datagrams, for tests.
    pub faults: FaultRates,
}

/// The machine with its sockets.
#[derive(Debug)]
pub(super) struct DatagramSockets {
    machine: Datagrams,
    sockets: Sockets,
    options: DatagramOptions,
    arrived: Vec<(SiteId, Bytes)>,
    transmits: Vec<Transmit>,
    /// Datagrams may wait that no event will announce.
    pub came_again: bool,
}

impl Streams {
    /// Sends to peers of the same network, and receives from them, by datagrams instead of the connection, at the address at which we listen.
    /// To be called before the first peer is set.
    ///
    /// # Errors
    /// The operating system does not allow it: frames go over connections.
    pub fn use_datagrams(&mut self, options: DatagramOptions) -> Result<(), StreamsError> {
        let address = self.listener.local_addr();
        let opened = address.and_then(|address| {
            let tokens = [DATAGRAMS, GROUPS].map(|token| Token(self.first_token + token));
            let (instance, site) = (self.local.instance, self.local.site);
            let sockets = Sockets::open(&self.registry, tokens, address, instance, site, options.faults)?;
            let group_material = self.keys.is_some().then(draw).transpose()?;
            let seeds = Seeds { group: u64::from_le_bytes(draw()?), group_material };
            let machine = Datagrams::new(seeds, sockets.hears_groups(), None);
            Ok(DatagramSockets {
                machine,
                sockets,
                options,
                arrived: Vec::new(),
                transmits: Vec::new(),
                came_again: false,
            })
        });
        self.datagrams = Some(opened.map_err(StreamsError::Datagrams)?);
        Ok(())
    }

    /// Whether we tell a peer, when we connect, that we have datagrams: the side with the lower number does.
    pub(super) fn has_datagrams_for(&self, site: SiteId) -> bool {
        self.datagrams.is_some() && self.local.site < site
    }

    /// The identifier of an association that we offer a peer that has connected.
    pub(super) fn offer_association(&self, site: SiteId) -> Option<u64> {
        let usable = self.datagrams.is_some() && site < self.local.site;
        usable.then(|| draw().map(u64::from_le_bytes).ok()).flatten()
    }

    /// Begins the association that both sides of a connection have agreed on.
    pub(super) fn associate(&mut self, slot: usize, site: SiteId, id: u64) {
        let is_maker = self.local.site < site;
        let (Some(channel), Some(connection)) = (&mut self.datagrams, &mut self.connections[slot]) else { return };
        let keys = match connection.encryption() {
            None => None,
            Some(secure) => {
                let mut keys = AssociationKeys { to_accepted: [0; _], to_maker: [0; _] };
                for (direction, material) in [(0_u8, &mut keys.to_accepted), (1, &mut keys.to_maker)] {
                    let context = [&id.to_le_bytes()[..], &[direction]].concat();
                    if secure.export(KEYS_LABEL, &context, material).is_err() {
                        return;
                    }
                }
                Some(keys)
            }
        };
        assert!(keys.is_some() || self.keys.is_none(), "with keys nothing goes in clear");
        if let Ok(own) = connection.stream.local_addr() {
            channel.sockets.join(site, own.ip());
        }
        connection.association = Some(id);
        let terms = DatagramTerms { id, is_maker, keys, datagram_bytes: channel.options.datagram_bytes };
        channel.machine.associate(self.now, site, terms);
    }

    /// A connection has ended, and with it the association that rested on it.
    pub(super) fn dissociate(&mut self, connection: &StreamConnection) {
        let (Some(id), Some(channel)) = (connection.association, &mut self.datagrams) else { return };
        if let ConnectionRole::Receiving { site, .. } | ConnectionRole::Sending { site, .. } = connection.role
            && channel.machine.association(site) == Some(id)
        {
            channel.machine.dissociate(site);
        }
    }

    /// The state of the association with a peer.
    pub(super) fn association(&self, site: SiteId) -> Option<AssociationStatus> {
        self.datagrams.as_ref()?.machine.status(site)
    }

    /// Gives a frame to datagrams, if the peer is reached by them, and says whether it is on its way; a frame that must go over the
    /// connection comes back.
    pub(super) fn send_by_datagrams(&mut self, site: SiteId, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Untaken> {
        let channel = self.datagrams.as_mut().ok_or(Untaken::NotOpen)?;
        channel.machine.send_with(site, write)?;
        if let Some(peer) = self.peers.get_mut(&site) {
            peer.counters.frames_out += 1;
        }
        Ok(())
    }

    /// Whether a peer is reached by datagrams.
    pub(super) fn takes_datagrams(&self, site: SiteId) -> bool {
        self.datagrams.as_ref().is_some_and(|channel| channel.machine.is_open(site))
    }

    /// Gives a frame to the group, if it is for all of its members, and says whether it has.
    pub(super) fn send_to_group(&mut self, sites: &[SiteId], payload: &[u8]) -> bool {
        let Some(channel) = &mut self.datagrams else { return false };
        let is_taken = channel.machine.multicast(sites, payload);
        if is_taken {
            let members = self.peers.iter_mut().filter(|(site, _)| channel.machine.is_member(**site));
            members.for_each(|(_, peer)| peer.counters.frames_out += 1);
        }
        is_taken
    }

    /// Whether what the group is sent is for a peer too.
    pub(super) fn is_in_group(&self, site: SiteId) -> bool {
        self.datagrams.as_ref().is_some_and(|channel| channel.machine.is_member(site))
    }

    /// Reads what has come, up to this turn's share.
    pub(super) fn datagrams_came(&mut self) {
        let Some(channel) = &mut self.datagrams else { return };
        let DatagramSockets { machine, sockets, arrived, .. } = channel;
        let (now, peers, reasons) = (self.now, &mut self.peers, &mut self.stranger_reasons);
        channel.came_again = sockets.receive(|datagram, by_group| {
            let bytes = datagram.len() as u64;
            match machine.receive(now, datagram, by_group, arrived) {
                Ok(site) => {
                    if let Some(peer) = peers.get_mut(&site) {
                        peer.counters.bytes_in += bytes;
                        peer.counters.reads += 1;
                    }
                }
                Err(stray) => *reasons.entry(stray.name()).or_default() += 1,
            }
        });
        let mut arrived = std::mem::take(&mut channel.arrived);
        for (site, payload) in arrived.drain(..) {
            // The connection that the association rests on says which life of the peer it is.
            let Some(incarnation) = self.incarnation_of_association(site) else { continue };
            if let Some(peer) = self.peers.get_mut(&site) {
                peer.counters.frames_in += 1;
            }
            self.arrived.push(Incoming::Message { from: site, incarnation, payload });
        }
        if let Some(channel) = &mut self.datagrams {
            channel.arrived = arrived;
        }
    }

    fn incarnation_of_association(&self, site: SiteId) -> Option<u32> {
        let peer = self.peers.get(&site)?;
        let slot = match peer.outgoing {
            OutgoingConnection::Open(slot) if self.local.site < site => Some(slot),
            _ if site < self.local.site => peer.incoming,
            _ => None,
        };
        match self.connections[slot?].as_ref()?.role {
            ConnectionRole::Receiving { incarnation, .. } | ConnectionRole::Sending { incarnation, .. } => {
                Some(incarnation)
            }
            _ => None,
        }
    }

    /// Sends what is due.
    pub(super) fn flush_datagrams(&mut self) {
        let Some(channel) = &mut self.datagrams else { return };
        channel.machine.flush(self.now);
        channel.transmits.extend(channel.machine.transmits());
        let peers = &mut self.peers;
        for transmit in channel.transmits.drain(..) {
            channel.sockets.send(&transmit, |site| peers.get(&site).map(|peer| peer.address));
            let bytes = transmit.train.len() as u64;
            match transmit.to {
                To::Site(site) => {
                    if let Some(peer) = peers.get_mut(&site) {
                        peer.counters.bytes_out += bytes;
                        peer.counters.writes += 1;
                    }
                }
                // One write for all of them: it is the first one's.
                To::Group => {
                    let mut hearers = peers.iter_mut().filter(|(site, _)| channel.machine.hears_group(**site));
                    if let Some((_, peer)) = hearers.next() {
                        peer.counters.writes += 1;
                        peer.counters.bytes_out += bytes;
                    }
                    hearers.for_each(|(_, peer)| peer.counters.bytes_out += bytes);
                }
            }
        }
    }

    /// When datagrams must be sent next, even if nothing comes.
    pub(super) fn datagrams_deadline(&self) -> Option<u64> {
        let channel = self.datagrams.as_ref()?;
        let again = channel.came_again.then_some(self.now);
        channel.machine.next_deadline().into_iter().chain(again).min()
    }
}
