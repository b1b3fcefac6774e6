//! Shared memory in the place of a connection's bytes, for peers of the same host.
//!
//! The connection stays: it greets, and tells when the peer is gone. Its hello says which host the sender is on; a listener on the same host
//! answers with its door and a pass; who connects makes a ring, hands it in there, and from then on writes frames to it. Whatever goes wrong
//! before that, the frames go over the connection. A listener for whom a ring is of no use says so and closes; the next connection does without.
//!
//! Invariant: whoever reads a ring has said that it waits for its bell, except within [`Streams::read_ring`]; so no owner of an event loop has to
//! look at rings that were not rung for.

use super::Streams;
use super::connection::{ConnectionRole, StreamConnection};
use super::hello::{Greeting, HelloRefusal, RingOffer};
use super::links::OutgoingConnection;
use super::status::{ConnectionChannel, DisconnectReason};
use crate::limits::{ACCEPTS_PER_TURN, READ_BYTES_PER_TURN, RING_BYTES};
use crate::shared::door::{self, DoorPass, HandedIn, HostId};
use crate::shared::ring::{RingReader, RingWriter};
use identifiers::SiteId;
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::io;
use std::os::fd::AsRawFd;

/// The ring of a connection.
#[derive(Debug, Default)]
pub(super) enum ConnectionRing {
    /// Its bytes go over the socket.
    #[default]
    None,
    /// The peer may hand one in with this pass.
    Offered(DoorPass),
    /// The peer's frames come out of it.
    In(RingReader),
    /// Our frames go into it.
    Out(RingWriter),
}

impl ConnectionRing {
    fn bell(&self) -> Option<i32> {
        match self {
            ConnectionRing::None | ConnectionRing::Offered(_) => None,
            ConnectionRing::In(reader) => Some(reader.as_raw_fd()),
            ConnectionRing::Out(writer) => Some(writer.as_raw_fd()),
        }
    }
}

impl Streams {
    fn bell_token(&self, slot: usize) -> Token {
        Token(self.first_token + super::FIRST_BELL + slot)
    }

    /// Listens for a connection's bell.
    fn hear(&self, slot: usize, ring: &ConnectionRing) -> io::Result<()> {
        match ring.bell() {
            Some(bell) => self.registry.register(&mut SourceFd(&bell), self.bell_token(slot), Interest::READABLE),
            None => Ok(()),
        }
    }

    /// Stops listening for it: a descriptor that another process shares is not forgotten when it is closed here.
    pub(super) fn unhear(&self, connection: &StreamConnection) {
        if let Some(bell) = connection.ring.bell() {
            // It was registered; nothing else can be wrong with it.
            self.registry.deregister(&mut SourceFd(&bell)).unwrap_or_default();
        }
    }

    /// The host that we tell a peer when we connect. `None`: frames are to go over the connection.
    pub(super) fn host_for(&self, site: SiteId) -> Option<HostId> {
        let failed = self.peers.get(&site).is_some_and(|peer| peer.ring_failed);
        self.host.filter(|_| !failed)
    }

    /// What we offer a peer that has connected from this host.
    pub(super) fn offer(&mut self, slot: usize, host: Option<HostId>) -> Option<RingOffer> {
        let door = self.door.as_ref().filter(|_| host.is_some() && host == self.host)?;
        let offer = RingOffer { door: door.name(), pass: DoorPass::draw().ok()? };
        self.connections[slot].as_mut()?.ring = ConnectionRing::Offered(offer.pass);
        Some(offer)
    }

    /// Takes a peer's offer: its frames go into a ring, unless there can be none.
    pub(super) fn accept_offer(&mut self, slot: usize, offer: RingOffer) {
        let Ok((writer, files)) = RingWriter::create(RING_BYTES) else { return };
        if door::hand_in(offer.door, offer.pass, files).is_err() {
            return;
        }
        let ring = ConnectionRing::Out(writer);
        match self.hear(slot, &ring) {
            Ok(()) => {
                if let Some(connection) = self.connections[slot].as_mut() {
                    connection.ring = ring;
                }
            }
            // The peer has it already.
            Err(error) => self.close(slot, error.into()),
        }
    }

    /// Takes the rings that were handed in, up to this turn's share: any process of this host can knock.
    pub(super) fn answer_door(&mut self) {
        self.knocked_again = false;
        for _ in 0..ACCEPTS_PER_TURN {
            let received = match self.door.as_ref().map(|door| door.receive()) {
                Some(Ok(Some(received))) => received,
                None | Some(Ok(None)) => return,
                Some(Err(error)) => {
                    self.strangers.accept_failures += 1;
                    self.strangers.last_failure = Some(error.into());
                    break;
                }
            };
            let HandedIn { pass: Some(pass), ring } = received else { continue };
            let is_for = |connection: &Option<StreamConnection>| {
                let Some(StreamConnection { ring: ConnectionRing::Offered(offered), .. }) = connection else {
                    return false;
                };
                *offered == pass
            };
            // Nobody's: its connection may have ended meanwhile.
            let Some(slot) = self.connections.iter().position(is_for) else { continue };
            // Without its files nothing would ever come.
            let reader = ring.ok_or(DisconnectReason::Ring);
            let reader = reader.and_then(|files| RingReader::open(files).map_err(|_| DisconnectReason::Ring));
            let taken = reader.and_then(|reader| {
                let ring = ConnectionRing::In(reader);
                self.hear(slot, &ring)?;
                Ok(ring)
            });
            match taken {
                Ok(ring) => {
                    if let Some(connection) = self.connections[slot].as_mut() {
                        connection.ring = ring;
                    }
                    self.read_ring(slot);
                }
                Err(reason) => self.refuse_ring(slot, reason),
            }
        }
        self.knocked_again = true;
    }

    /// Tells a peer that its ring is of no use, and closes: it connects again, and does without.
    fn refuse_ring(&mut self, slot: usize, reason: DisconnectReason) {
        if let Some(connection) = self.connections[slot].as_mut() {
            // It is closed whether or not it could be told.
            connection.greet(Greeting::Refused(HelloRefusal::Ring), self.local.version).unwrap_or_default();
        }
        self.close(slot, reason);
    }

    /// A connection's bell was rung.
    pub(super) fn rung(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else { return };
        match connection.ring {
            ConnectionRing::In(_) => self.read_ring(slot),
            ConnectionRing::Out(_) => connection.output.unblock(),
            // A bell of an earlier connection.
            ConnectionRing::None | ConnectionRing::Offered(_) => {}
        }
    }

    /// Reads a ring until it is empty, or until this turn's share is used up.
    pub(super) fn read_ring(&mut self, slot: usize) {
        let mut left = READ_BYTES_PER_TURN;
        let mut read = 0;
        let mut end = None;
        let Some(connection) = self.connections[slot].as_mut() else { return };
        let ConnectionRing::In(reader) = &mut connection.ring else { return };
        reader.wake();
        while end.is_none() {
            match connection.decoder.fill(|buffer| reader.read(buffer, left)) {
                Ok(0) if left == 0 => {
                    reader.sleep();
                    reader.ring();
                    break;
                }
                Ok(0) if reader.sleep() => break,
                Ok(count) => (left, read) = (left - count, read + count),
                Err(_) => end = Some(DisconnectReason::Ring),
            }
        }
        self.received(slot, read as u64, u64::from(read > 0));
        if let Some(reason) = end {
            self.refuse_ring(slot, reason);
        }
    }

    /// By what a peer's frames go now.
    pub(super) fn channel(&self, outgoing: OutgoingConnection) -> Option<ConnectionChannel> {
        let OutgoingConnection::Open(slot) = outgoing else { return None };
        match self.connections[slot].as_ref()? {
            StreamConnection { role: ConnectionRole::Sending { .. }, ring: ConnectionRing::Out(_), .. } => {
                Some(ConnectionChannel::SharedMemory)
            }
            StreamConnection { role: ConnectionRole::Sending { .. }, .. } => Some(ConnectionChannel::Stream),
            _ => None,
        }
    }
}
