//! Frames in datagrams: the channel between sites of one network. A pure machine: no socket, no clock.
//!
//! The channel keeps what a datagram promises, a frame at most once, and does more: what is lost is sent again, frames longer than a
//! datagram are cut and joined, and what is for several sites leaves once, to a multicast group. Frames are delivered in the order in which they
//! were sent; but what is for one site, what is for the group, and what goes over the connection may overtake each other.
//!
//! Two sites have an *association* as long as a connection between them lasts, which has also agreed on its keys. Datagrams of an association
//! are sealed and numbered; one that is forged, has come before, or belongs to an association that has ended is dropped and counted.
//! An association is open, and takes frames, while datagrams arrive. What is sent with a time to live of one arrives in the
//! same network only: there the channel works, and elsewhere everything goes over the connection, without anybody saying so.
//!
//! In reading order: `packet` (bytes), `seal` (encryption), `pieces` (frames into datagrams), `received` and `sent` (what has come, what has not
//! been acknowledged), `inflow` (what comes of one sequence), `path` (losses, how much may be under way), `association` (two sites), `group` (several), `train` (datagrams that
//! leave together), `socket` and [`faults`] (the operating system, and a worse network), [`simulation`] and [`planted`].
//!
//! Sources: "Communication in the Raid distributed database system" (1991) and "Raidcomm" (1992) for versions 1 and 2, datagrams and
//! multicast; RFC 8985 and RFC 9002 for finding losses; RFC 8439 for the seal.

mod association;
pub mod faults;
mod group;
mod inflow;
pub mod notes;
mod packet;
mod path;
mod pieces;
pub mod planted;
mod received;
mod seal;
mod sent;
pub mod simulation;
pub(crate) mod socket;
#[cfg(test)]
mod tests;
mod train;

pub use association::AssociationKeys;
pub use group::{group_address, group_port};

use crate::limits::{DATAGRAM_BYTES, DATAGRAM_FRAME_BYTES_MAX, GROUP_PROBE_PAUSE};
use association::Association;
use bytes::Bytes;
use group::Group;
use identifiers::SiteId;
use packet::{Acknowledgements, DatagramHeader, DatagramKind, MATERIAL_BYTES};
use pieces::NotQueued;
use planted::PlantedInDatagrams;
use sent::SentDatagrams;
use std::collections::BTreeMap;
use train::DatagramTrain;

/// What two sites have agreed on over their connection.
#[derive(Clone, Debug)]
pub struct DatagramTerms {
    /// Names the association; drawn anew for each.
    pub id: u64,
    /// Whether this side made the connection.
    pub is_maker: bool,
    /// `None`: in clear.
    pub keys: Option<AssociationKeys>,
    /// Bytes of a datagram at most; 0: as many as arrive.
    pub datagram_bytes: u16,
}

impl DatagramTerms {
    /// The sizes that are tried.
    fn sizes(&self) -> impl Iterator<Item = u16> + use<> {
        let most = self.datagram_bytes;
        let chosen = (most > 0).then_some(most);
        let usual = DATAGRAM_BYTES.into_iter().filter(move |&size| most == 0 || size < most);
        chosen.into_iter().chain(usual)
    }
}

/// Why a frame is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untaken {
    /// There is no association with that site, or none that is open. Use the connection.
    NotOpen,
    /// The frame is too long for datagrams; here it is. Use the connection.
    Long(Vec<u8>),
    /// Too much waits.
    Full,
}

impl From<NotQueued> for Untaken {
    fn from(refusal: NotQueued) -> Untaken {
        match refusal {
            NotQueued::Long(frame) => Untaken::Long(frame),
            NotQueued::Full => Untaken::Full,
        }
    }
}

/// Why a datagram that came in was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// It is not one of ours, or of an association that is not known here, or no more.
    Unknown,
    /// It was not sealed by whom it says.
    Forged,
    /// It was, and breaks the rules.
    Malformed,
}

impl Stray {
    /// In few words, which stay the same: to count by.
    pub fn name(self) -> &'static str {
        match self {
            Stray::Unknown => "datagrams of nobody",
            Stray::Forged => "datagrams forged or damaged",
            Stray::Malformed => "datagrams malformed",
        }
    }
}

/// What has passed by datagrams between this site and another, since their association began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounters {
    /// Datagrams with frames for that site, each counted once, those of the group included.
    pub datagrams_out: u64,
    /// How often one of them was sent again, because it was lost or seemed so.
    pub datagrams_again: u64,
    /// Datagrams that only acknowledge.
    pub acknowledgements_out: u64,
    /// Datagrams that came, of any kind.
    pub datagrams_in: u64,
    /// Of them, those that had come before.
    pub datagrams_twice: u64,
}

/// The state of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationStatus {
    /// Frames go by it.
    pub is_open: bool,
    /// It is sealed with keys.
    pub is_encrypted: bool,
    /// Bytes of a datagram, once one has arrived.
    pub datagram_bytes: Option<usize>,
    /// How long a datagram and its acknowledgement take, in nanoseconds, once measured.
    pub round_trip: Option<u64>,
    /// The other site hears what goes to our group's address.
    pub hears_group: bool,
    /// Bytes of frames that wait.
    pub bytes_queued: usize,
    /// What has passed.
    pub counters: DatagramCounters,
}

/// To whom datagrams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To a site's own address.
    Site(SiteId),
    /// To the address of our group.
    Group,
}

/// Datagrams to be sent.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// To whom.
    pub to: To,
    /// One behind the other.
    pub train: Bytes,
    /// Bytes of each but the last.
    pub datagram_bytes: usize,
}

/// What a machine is made with; the numbers must be such that nobody guesses them.
pub struct Seeds {
    /// Names the group.
    pub group: u64,
    /// Its secret; `None`: in clear.
    pub group_material: Option<[u8; MATERIAL_BYTES]>,
}

/// The datagrams of one site. Times are nanoseconds of a clock that never goes back.
#[derive(Debug)]
pub struct Datagrams {
    group: Group,
    /// The network may copy what is sent to the group's address.
    has_group_address: bool,
    associations: BTreeMap<SiteId, Association>,
    /// Whose an association or a group is.
    owners: BTreeMap<u64, SiteId>,
    transmits: Vec<Transmit>,
    arrived: Vec<Bytes>,
    planted: Option<PlantedInDatagrams>,
}

impl Datagrams {
    /// Without associations.
    pub fn new(seeds: Seeds, has_group_address: bool, planted: Option<PlantedInDatagrams>) -> Datagrams {
        Datagrams {
            group: Group::new(seeds.group, seeds.group_material),
            has_group_address,
            associations: BTreeMap::new(),
            owners: BTreeMap::new(),
            transmits: Vec::new(),
            arrived: Vec::new(),
            planted,
        }
    }

    /// Begins an association with a site; one that there was ends.
    pub fn associate(&mut self, now: u64, site: SiteId, terms: DatagramTerms) {
        self.dissociate(site);
        // An identifier that is another's already: a peer that does not draw them. It is reached over the connection.
        if *self.owners.entry(terms.id).or_insert(site) != site {
            return;
        }
        self.associations.insert(site, Association::new(now, terms, self.planted));
    }

    /// Ends the association with a site; frames that wait or are under way may be lost.
    pub fn dissociate(&mut self, site: SiteId) {
        if self.planted == Some(PlantedInDatagrams::EndedAssociationHeard) && self.associations.contains_key(&site) {
            return;
        }
        self.associations.remove(&site);
        self.owners.retain(|_, owner| *owner != site);
    }

    /// The identifier of the association with a site.
    pub fn association(&self, site: SiteId) -> Option<u64> {
        self.associations.get(&site).map(|association| association.terms.id)
    }

    /// The state of the association with a site.
    pub fn status(&self, site: SiteId) -> Option<AssociationStatus> {
        let association = self.associations.get(&site)?;
        Some(AssociationStatus {
            is_open: association.is_open(),
            is_encrypted: association.terms.keys.is_some(),
            datagram_bytes: association.datagram_bytes(),
            round_trip: association.round_trip(),
            hears_group: association.hears_group,
            bytes_queued: association.waiting(),
            counters: association.counters,
        })
    }

    /// Whether frames for a site are taken.
    pub fn is_open(&self, site: SiteId) -> bool {
        self.associations.get(&site).is_some_and(Association::is_open)
    }

    /// Whether a site hears what goes to our group's address.
    pub fn hears_group(&self, site: SiteId) -> bool {
        self.associations.get(&site).is_some_and(|association| association.hears_group)
    }

    /// Takes a frame for a site that `write` appends to a buffer; it leaves with the next flush. `write` is called only if the association is
    /// open.
    ///
    /// # Errors
    /// The frame goes not by datagrams.
    pub fn send_with(&mut self, site: SiteId, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Untaken> {
        let open = self.associations.get_mut(&site).filter(|association| association.is_open());
        Ok(open.ok_or(Untaken::NotOpen)?.send_with(write)?)
    }

    fn members(&self) -> impl Iterator<Item = (SiteId, &Association)> {
        self.associations.iter().filter(|(_, one)| one.group.is_some()).map(|(site, one)| (*site, one))
    }

    /// Whether what the group is sent is for a site too.
    pub fn is_member(&self, site: SiteId) -> bool {
        self.associations.get(&site).is_some_and(|association| association.group.is_some())
    }

    /// Takes a frame for these sites, if it is to leave for several of them at once, and says whether it was taken: for all members of the
    /// group.
    pub fn multicast(&mut self, sites: &[SiteId], payload: &[u8]) -> bool {
        let beside = self.planted == Some(PlantedInDatagrams::GroupBesideConnection);
        let all = self.members().all(|(site, member)| (member.is_open() || beside) && sites.contains(&site));
        if !all || self.members().filter(|(_, member)| member.hears_group).count() < 2 {
            return false;
        }
        payload.len() <= DATAGRAM_FRAME_BYTES_MAX
            && self.group.queue.append_with(|buffer| buffer.extend_from_slice(payload)).is_ok()
    }

    /// Takes a datagram that came in, which is opened in its place, and appends the frames that it brings to `arrived`. `by_group`: it came by
    /// the address of a group.
    ///
    /// Says whose it was.
    ///
    /// # Errors
    /// It was dropped; to be counted.
    pub fn receive(
        &mut self,
        now: u64,
        datagram: &mut [u8],
        by_group: bool,
        arrived: &mut Vec<(SiteId, Bytes)>,
    ) -> Result<SiteId, Stray> {
        let header = DatagramHeader::decode(datagram).ok_or(Stray::Unknown)?;
        let site = *self.owners.get(&header.id).ok_or(Stray::Unknown)?;
        let association = self.associations.get_mut(&site).expect("an identifier's owner has an association");
        let received = match header.kind {
            DatagramKind::Group | DatagramKind::GroupProbe => {
                association.receive_of_group(now, header, datagram, by_group, &mut self.arrived)
            }
            _ => association.receive(now, header, datagram, &mut self.arrived),
        };
        arrived.extend(self.arrived.drain(..).map(|frame| (site, frame)));
        if let Some(theirs) = &association.theirs {
            self.owners.entry(theirs.id).or_insert(site);
        }
        received.map(|()| site)
    }

    /// Those with whom there is an open association join the group, while nothing waits that is not for them.
    fn invite(&mut self) {
        for association in self.associations.values_mut().filter(|one| one.is_open() && one.group.is_none()) {
            association.group = Some(SentDatagrams::new(self.group.next));
            association.invitation = Some(self.group.invitation(self.planted));
        }
    }

    /// Puts everything that is due among what is to be sent ([`Datagrams::transmits`]): once in a turn of the event loop.
    pub fn flush(&mut self, now: u64) {
        self.flush_group(now);
        if self.group.queue.is_empty() {
            self.invite();
        }
        for (site, association) in &mut self.associations {
            let transmits = &mut self.transmits;
            association.flush(now, &mut |train, datagram_bytes| {
                transmits.push(Transmit { to: To::Site(*site), train, datagram_bytes });
            });
        }
        self.probe_group(now);
    }

    /// What is to be sent, taken out.
    pub fn transmits(&mut self) -> std::vec::Drain<'_, Transmit> {
        self.transmits.drain(..)
    }

    fn flush_group(&mut self, now: u64) {
        let size = self.members().filter_map(|(_, member)| member.datagram_bytes()).min();
        let Some(datagram_bytes) = size else {
            // Nobody is left of those for whom it was taken.
            self.group.queue = pieces::FrameQueue::default();
            return;
        };
        let first = self.group.next;
        let mut train = DatagramTrain::new(datagram_bytes);
        let mut goes_on = !self.group.queue.is_empty();
        while goes_on {
            let number = self.group.next;
            let members = || self.associations.values().filter(|one| one.group.is_some());
            let room = members().all(|one| one.has_room_in_group(number, number == first));
            let more_room = members().all(|one| one.has_room_in_group(number + 1, false));
            if !room {
                break;
            }
            let header = self.group.header(DatagramKind::Group, number);
            let associations = &mut self.associations;
            let queue = &mut self.group.queue;
            goes_on = train.add(&self.group.seal, header, |buffer, end| {
                // Acknowledgements go along as far as they leave most of the datagram to the frames.
                tell_members(associations, now, buffer, end - datagram_bytes / 2);
                queue.fill(buffer, end);
                !queue.is_empty() && more_room
            });
            self.group.next += 1;
        }
        if self.group.next == first {
            return;
        }
        let (whole, datagrams) = train.finish();
        for datagram in datagrams {
            for member in self.associations.values_mut().filter(|one| one.group.is_some()) {
                member.sent_to_group(now, datagram.clone());
            }
        }
        self.transmit_to_group(&whole, datagram_bytes);
    }

    /// To the group's address, if several members hear that, and to each of the others.
    fn transmit_to_group(&mut self, train: &Bytes, datagram_bytes: usize) {
        let by_address = self.has_group_address && self.members().filter(|(_, member)| member.hears_group).count() > 1;
        let transmit = |to| Transmit { to, train: train.clone(), datagram_bytes };
        let apart = |member: &Association| member.group.is_some() && !(by_address && member.hears_group);
        let each = self.associations.iter().filter(|(_, one)| apart(one)).map(|(site, _)| To::Site(*site));
        self.transmits.extend(by_address.then_some(To::Group).into_iter().chain(each).map(transmit));
    }

    /// Lets the members find out whether they hear what goes to the group's address.
    fn probe_group(&mut self, now: u64) {
        if !self.has_group_address || now < self.group.probe_at || self.members().count() < 2 {
            return;
        }
        let header = self.group.header(DatagramKind::GroupProbe, self.group.probes);
        self.group.probes += 1;
        self.group.probe_at = now.saturating_add(GROUP_PROBE_PAUSE);
        // As long as what the group is sent, so that what is heard tells of that.
        let Some(datagram_bytes) = self.members().filter_map(|(_, member)| member.datagram_bytes()).min() else {
            return;
        };
        let mut train = DatagramTrain::new(datagram_bytes);
        train.add(&self.group.seal, header, |_, _| true);
        self.transmits.push(Transmit { to: To::Group, train: train.finish().0, datagram_bytes });
    }

    /// When flush must be called next, even if nothing comes and nothing is sent.
    pub fn next_deadline(&self) -> Option<u64> {
        let probe = (self.has_group_address && self.members().count() > 1).then_some(self.group.probe_at);
        self.associations.values().filter_map(Association::next_deadline).chain(probe).min()
    }
}

/// Appends what the members are to be told, each behind the identifier of its association, as far as it ends before `end`.
fn tell_members(associations: &mut BTreeMap<SiteId, Association>, now: u64, buffer: &mut Vec<u8>, end: usize) {
    let count_at = buffer.len();
    buffer.push(0);
    for member in associations.values_mut().filter(|one| one.knows_group()) {
        if buffer.len() + 8 + Acknowledgements::BYTES_MAX > end || buffer[count_at] == u8::MAX {
            return;
        }
        if member.has_news(now) {
            buffer.extend_from_slice(&member.terms.id.to_le_bytes());
            member.tell(now).encode(buffer);
            buffer[count_at] += 1;
        }
    }
}
