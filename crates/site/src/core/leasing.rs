//! The core's part in keeping leases: it tells their thread of peers, and carries by its connections what notes do not.

use super::{Core, Life};
use crate::clock;
use crate::lateness::Lateness;
use crate::lease_thread::{LeaseThreadOutput, Right};
use domain::Remote;
use messages::replication::ReplicationMessage;
use messages::{Envelope, EpochNumber, Message, ServerKind, SiteId};
use raidcomm::datagrams::notes::{KEY_BYTES, NoteKeys};
use raidcomm::streams::Direction;
use std::net::SocketAddr;

/// What keys of notes are derived for: nothing else is given this label.
const KEYS_LABEL: &[u8] = b"EXPORTER-raid-leases";

impl Core {
    /// By what right the thread of leases runs.
    pub(crate) fn lease_right(&self) -> Right {
        self.leases.right()
    }

    /// How late the thread of leases was.
    pub(crate) fn lease_lateness(&self) -> &Lateness {
        self.leases.lateness()
    }

    /// Takes what the thread of leases has left.
    pub(super) fn turn_leases(&mut self) {
        if !matches!(self.life, Life::Running(_)) {
            return;
        }
        let LeaseThreadOutput { by_connection, strays, unproven } = self.leases.take(clock::boot());
        for (site, epoch, message) in by_connection {
            self.send_of_keeper(site, epoch, message);
        }
        for site in unproven {
            self.send_door(site, false);
        }
        self.of_peers.extend(strays);
    }

    fn send_door(&mut self, site: SiteId, answers: bool) {
        let door = ReplicationMessage::LeaseDoor { port: self.leases.port(), answers };
        self.send_of_keeper(site, EpochNumber(0), door);
    }

    fn send_of_keeper(&mut self, site: SiteId, epoch: EpochNumber, message: ReplicationMessage) {
        let Life::Running(domain) = &self.life else { return };
        let (kind, incarnation) = (ServerKind::ReplicationController, domain.settings().incarnation);
        let (from_site, message) = (self.config.site(), Message::Replication(message));
        let envelope = Envelope { from_site, from: kind, to_site: site, to: kind, epoch, incarnation, message };
        self.send(&Remote { sites: [site].into_iter().collect(), envelope });
    }

    /// A peer has said where its keeper of leases hears notes. It has not heard ours, or answers.
    pub(super) fn lease_door(&mut self, site: SiteId, port: u16, answers: bool) {
        if !answers {
            self.send_door(site, true);
        }
        let Some(address) = self.config.peer_sites().get(&site).copied() else { return };
        let keys = match self.keys {
            None => None,
            // Both connections are there once messages come; if one has just broken, it is said again.
            Some(_) => match self.note_keys(site) {
                Some(keys) => Some(keys),
                None => return,
            },
        };
        self.leases.found(site, SocketAddr::new(address.ip(), port), keys);
    }

    fn note_keys(&self, site: SiteId) -> Option<NoteKeys> {
        let streams = self.streams.as_ref()?;
        let export = |direction| {
            let mut material = [0; KEY_BYTES];
            let exported = streams.export_keying_material(site, direction, KEYS_LABEL, b"", &mut material);
            exported.ok().map(|()| material)
        };
        Some(NoteKeys { sending: export(Direction::Sending)?, receiving: export(Direction::Receiving)? })
    }
}
