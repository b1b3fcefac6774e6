//! The group of a site: the sites that it sends the same datagrams, by one send where the network copies them (IP multicast, RFC 1112).
//!
//! A group belongs to one sender, so its address follows from the instance and the site, and no message sets it up: the home of a
//! transaction, which its identifier names, is the site whose group its prepare goes to. An association invites its other side into the
//! group and says from which number on; from then on each datagram of the group is for that side too, and is sent again to it alone if it
//! does not acknowledge it. Whether the network copies what is sent to the group's address is found out by sending something there
//! now and then: who hears that says so, and all others are sent the same datagram by itself.
//!
//! With keys, all members have the key of the group: a member could speak in the sender's name to the other members. They are sites of one
//! instance, which believe each other anyway.

use super::inflow::FrameInflow;
use super::packet::{Acknowledgements, Chunk, DatagramHeader, DatagramKind, MATERIAL_BYTES, SeenDatagrams};
use super::pieces::FrameQueue;
use super::planted::PlantedInDatagrams;
use super::seal::Seal;
use super::{DatagramCounters, Stray};
use crate::fields::FieldReader;
use crate::limits::GROUP_HEARD;
use bytes::Bytes;
use identifiers::{InstanceId, SiteId};
use std::net::Ipv4Addr;

/// The organization-local scope of IPv4 multicast addresses (RFC 2365, section 6.2).
const SCOPE: [u8; 2] = [239, 192];
/// Ports for groups begin here, and end before what the operating system gives out.
const PORT_FIRST: u16 = 20_000;
const PORTS: u64 = 12_000;

/// Where a site's group is sent to: an address and a port.
pub fn group_address(instance: InstanceId, site: SiteId) -> (Ipv4Addr, u16) {
    let mixed = instance.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = (mixed >> 48) as u16 ^ site.0;
    let [high, low] = low.to_be_bytes();
    (Ipv4Addr::new(SCOPE[0], SCOPE[1], high, low), group_port(instance))
}

/// The port of all groups of an instance.
pub fn group_port(instance: InstanceId) -> u16 {
    let mixed = instance.0.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
    PORT_FIRST + (mixed % PORTS) as u16
}

/// A site's own group.
#[derive(Debug)]
pub(super) struct Group {
    pub id: u64,
    pub seal: Seal,
    material: Option<[u8; MATERIAL_BYTES]>,
    /// The number of the next datagram.
    pub next: u64,
    pub queue: FrameQueue,
    pub probes: u64,
    pub probe_at: u64,
}

impl Group {
    /// With numbers and secrets that nobody guesses, from the caller.
    pub(super) fn new(id: u64, material: Option<[u8; MATERIAL_BYTES]>) -> Group {
        let seal = Seal::new(material.as_ref());
        Group { id, seal, material, next: 0, queue: FrameQueue::default(), probes: 0, probe_at: 0 }
    }

    pub(super) fn header(&self, kind: DatagramKind, number: u64) -> DatagramHeader {
        DatagramHeader { kind, from_maker: true, id: self.id, number }
    }

    /// Into the group, from the next datagram on.
    pub(super) fn invitation(&self, planted: Option<PlantedInDatagrams>) -> Invitation {
        let from = self.next + u64::from(planted == Some(PlantedInDatagrams::InvitedLate));
        Invitation { id: self.id, from, material: self.material }
    }
}

/// What a site is told that becomes a member.
#[derive(Clone)]
pub(super) struct Invitation {
    id: u64,
    from: u64,
    material: Option<[u8; MATERIAL_BYTES]>,
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Invitation({:#x} from {})", self.id, self.from)
    }
}

impl Invitation {
    pub(super) fn chunk(&self) -> Chunk<'_> {
        Chunk::Invitation { id: self.id, from: self.from, material: self.material.as_ref() }
    }
}

/// The other side's group, of which this site is a member.
#[derive(Clone, Debug)]
pub(super) struct Theirs {
    pub id: u64,
    pub inflow: FrameInflow,
    /// When something came by the group's address last.
    heard_at: Option<u64>,
    /// That it is heard has not been told.
    news: bool,
}

impl Theirs {
    pub(super) fn new(
        id: u64,
        from: u64,
        material: Option<&[u8; MATERIAL_BYTES]>,
        planted: Option<PlantedInDatagrams>,
    ) -> Theirs {
        Theirs { id, inflow: FrameInflow::new(from, material, planted), heard_at: None, news: false }
    }

    /// Opens a datagram of the group in its place. `by_group`: it came by the group's address.
    pub(super) fn open<'a>(
        &mut self,
        now: u64,
        header: DatagramHeader,
        datagram: &'a mut [u8],
        by_group: bool,
    ) -> Result<FieldReader<'a>, Stray> {
        let fields = self.inflow.open(header, datagram)?;
        if by_group {
            self.news |= !self.is_heard(now);
            self.heard_at = Some(now);
        }
        Ok(fields)
    }

    /// Takes what a datagram says that has been opened, and gives what it tells the association of this identifier.
    pub(super) fn take(
        &mut self,
        now: u64,
        number: u64,
        mut fields: FieldReader<'_>,
        id: u64,
        arrived: &mut Vec<Bytes>,
        counters: &mut DatagramCounters,
    ) -> Result<Option<Acknowledgements>, Stray> {
        let mut own = None;
        for _ in 0..fields.byte().ok_or(Stray::Malformed)? {
            let to = fields.u64().ok_or(Stray::Malformed)?;
            let told = Acknowledgements::decode(&mut fields).ok_or(Stray::Malformed)?;
            own = own.or((to == id).then_some(told));
        }
        match self.inflow.take(now, number, fields, arrived, counters)? {
            None => Ok(own),
            // Into which group, if not by its own association?
            Some(_) => Err(Stray::Malformed),
        }
    }

    /// Whether what goes to the group's address arrives here.
    pub(super) fn is_heard(&self, now: u64) -> bool {
        self.heard_at.is_some_and(|at| now < at.saturating_add(GROUP_HEARD))
    }

    /// What its sender is told of it, if there is anything new.
    pub(super) fn tell(&mut self, now: u64) -> Option<SeenDatagrams> {
        // That it is heard goes along with what is told; alone it needs a word too.
        let news = std::mem::take(&mut self.news);
        self.inflow.received.tell(now).or_else(|| news.then(|| self.inflow.received.seen(now)))
    }

    pub(super) fn must_tell(&self, now: u64) -> bool {
        self.news || self.inflow.received.is_due(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_of_an_instance_have_groups_of_their_own_at_one_port() {
        let instance = InstanceId(0x1234_5678);
        let addresses = [1, 2, 3, 500].map(|site| group_address(instance, SiteId(site)));
        for (index, (address, port)) in addresses.iter().enumerate() {
            assert!(address.is_multicast() && (PORT_FIRST..PORT_FIRST + PORTS as u16).contains(port));
            assert_eq!(*port, addresses[0].1);
            assert!(addresses[..index].iter().all(|(other, _)| other != address));
        }
        assert_ne!(group_port(instance), group_port(InstanceId(0x1234_5679)));
    }
}
