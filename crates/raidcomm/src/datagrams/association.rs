//! What one site has with another: two numbered sequences of datagrams in each direction, one of frames for the other site alone and one
//! that the sender's group shares.
//!
//! An association rests on a connection and ends with it. It is *open* while datagrams arrive: a probe has been answered, and what is sent is
//! acknowledged. While it is not, frames are to go over the connection; what is under way is still sent again, now and then, until
//! it is acknowledged and the association is open again. So a frame is never sent on two ways.
//!
//! Invariant: the frames of a datagram are delivered when it has been opened, its number is new, and all before it in its sequence have been.

use super::group::{Invitation, Theirs};
use super::inflow::FrameInflow;
use super::packet::{Acknowledgements, DatagramHeader, DatagramKind, HEADER_BYTES, MATERIAL_BYTES};
use super::path::DatagramPath;
use super::pieces::{FrameQueue, NotQueued};
use super::planted::PlantedInDatagrams;
use super::seal::Seal;
use super::sent::SentDatagrams;
use super::train::DatagramTrain;
use super::{DatagramCounters, DatagramTerms, Stray};
use crate::limits::{
    DATAGRAM_AGE_MAX, DATAGRAM_SILENCE, DATAGRAM_WAIT_MAX, DATAGRAMS_REPEATED, PROBE_PAUSE_MAX, PROBE_PAUSE_MIN,
    PROBES_OF_LARGER,
};
use bytes::Bytes;

/// How it is found out what arrives.
#[derive(Clone, Debug)]
struct Probes {
    next_at: u64,
    pause: u64,
    number: u64,
    /// The largest that came from the other side and has not been answered.
    to_answer: Option<u16>,
    /// Probes since it is known that something arrives.
    of_larger: u32,
}

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct Association {
    pub terms: DatagramTerms,
    seal_out: Seal,
    path: DatagramPath,
    queue: FrameQueue,
    frames: SentDatagrams,
    inflow: FrameInflow,
    /// What our group has been sent and this site has not acknowledged; `None`: it is not a member.
    pub group: Option<SentDatagrams>,
    pub invitation: Option<Invitation>,
    /// The other side has said that what goes to our group's address arrives there.
    pub hears_group: bool,
    /// The other side's group.
    pub theirs: Option<Theirs>,
    /// Found lost: to be sent again.
    again: Vec<Bytes>,
    /// When the next datagram may be found lost.
    lost_next: Option<u64>,
    probes: Probes,
    /// Bytes of a datagram, as far as is known; `None`: no probe has been answered.
    datagram_bytes: Option<u16>,
    is_open: bool,
    acknowledgements: u64,
    /// The highest number that has come of each kind of datagram that acknowledges.
    newest: [u64; 5],
    /// In which datagram the invitation to our group was sent.
    invited_in: u64,
    pub counters: DatagramCounters,
    planted: Option<PlantedInDatagrams>,
}

/// Where datagrams go that are to be sent, with the length of each but the last.
pub(super) type Out<'a> = dyn FnMut(Bytes, usize) + 'a;

impl Association {
    pub(super) fn new(now: u64, terms: DatagramTerms, planted: Option<PlantedInDatagrams>) -> Association {
        let [to_accepted, to_maker] = match &terms.keys {
            Some(keys) => [Some(&keys.to_accepted), Some(&keys.to_maker)],
            None => [None, None],
        };
        let (material_out, material_in) =
            if terms.is_maker { (to_accepted, to_maker) } else { (to_maker, to_accepted) };
        let (seal_out, inflow) = (Seal::new(material_out), FrameInflow::new(0, material_in, planted));
        Association {
            seal_out,
            terms,
            path: DatagramPath::new(now),
            queue: FrameQueue::default(),
            frames: SentDatagrams::new(0),
            inflow,
            group: None,
            invitation: None,
            hears_group: false,
            theirs: None,
            again: Vec::new(),
            lost_next: None,
            probes: Probes { next_at: now, pause: PROBE_PAUSE_MIN, number: 0, to_answer: None, of_larger: 0 },
            datagram_bytes: None,
            is_open: false,
            acknowledgements: 0,
            newest: [0; 5],
            invited_in: u64::MAX,
            counters: DatagramCounters::default(),
            planted,
        }
    }

    /// Whether frames may be sent by it.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Bytes of a datagram, once one has arrived.
    pub(super) fn datagram_bytes(&self) -> Option<usize> {
        self.datagram_bytes.map(usize::from)
    }

    /// How long a datagram and its acknowledgement take.
    pub(super) fn round_trip(&self) -> Option<u64> {
        self.path.round_trip()
    }

    /// Bytes of frames that wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// Puts a frame behind those that wait.
    pub(super) fn send_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), NotQueued> {
        self.queue.append_with(write)
    }

    /// Notes a datagram of our group that this member is sent.
    pub(super) fn sent_to_group(&mut self, now: u64, datagram: Bytes) {
        let group = self.group.as_mut().expect("only members are sent what is for the group");
        self.counters.datagrams_out += 1;
        group.push_or_hold(now, datagram, &mut self.path);
    }

    /// Whether this member can read what the group is sent.
    pub(super) fn knows_group(&self) -> bool {
        self.group.is_some() && self.frames.is_done_with(self.invited_in)
    }

    /// Whether another datagram of the group may be sent to it, by its number; and whether more than one at a time.
    pub(super) fn has_room_in_group(&self, number: u64, is_first: bool) -> bool {
        // One that is closed holds up nobody: what is for it waits.
        let room = |group: &SentDatagrams| group.has_room_for(number) && (is_first || self.path.has_room_beside(0));
        !self.is_open || self.group.as_ref().is_none_or(room)
    }

    fn header(&self, kind: DatagramKind, number: u64) -> DatagramHeader {
        DatagramHeader { kind, from_maker: self.terms.is_maker, id: self.terms.id, number }
    }

    /// Takes a datagram of this association, which is opened in its place.
    pub(super) fn receive(
        &mut self,
        now: u64,
        header: DatagramHeader,
        datagram: &mut [u8],
        arrived: &mut Vec<Bytes>,
    ) -> Result<(), Stray> {
        if header.from_maker == self.terms.is_maker {
            return Err(Stray::Forged);
        }
        let bytes = datagram.len();
        let mut fields = self.inflow.open(header, datagram)?;
        self.counters.datagrams_in += 1;
        if header.kind == DatagramKind::Probe {
            let claimed = fields.u16().filter(|&claimed| usize::from(claimed) == bytes).ok_or(Stray::Malformed)?;
            self.probes.to_answer = self.probes.to_answer.max(Some(claimed));
            return Ok(());
        }
        let told = Acknowledgements::decode(&mut fields).ok_or(Stray::Malformed)?;
        self.acknowledged(now, header, &told);
        if header.kind == DatagramKind::Frames {
            let invited = self.inflow.take(now, header.number, fields, arrived, &mut self.counters)?;
            if let Some((id, from, material)) = invited {
                if self.theirs.is_some() {
                    return Err(Stray::Malformed);
                }
                self.theirs = Some(Theirs::new(id, from, material.as_ref(), self.planted));
            }
        }
        Ok(())
    }

    /// Takes a datagram of the other side's group.
    pub(super) fn receive_of_group(
        &mut self,
        now: u64,
        header: DatagramHeader,
        datagram: &mut [u8],
        by_group: bool,
        arrived: &mut Vec<Bytes>,
    ) -> Result<(), Stray> {
        let theirs = self.theirs.as_mut().filter(|theirs| theirs.id == header.id).ok_or(Stray::Unknown)?;
        let fields = theirs.open(now, header, datagram, by_group)?;
        self.counters.datagrams_in += 1;
        if header.kind == DatagramKind::Group {
            let told = theirs.take(now, header.number, fields, self.terms.id, arrived, &mut self.counters)?;
            if let Some(told) = told {
                self.acknowledged(now, header, &told);
            }
        }
        Ok(())
    }

    /// The other side has told what has come, in whatever kind of datagram.
    fn acknowledged(&mut self, now: u64, header: DatagramHeader, told: &Acknowledgements) {
        let before = self.counted();
        if let Some(seen) = &told.frames {
            self.frames.acknowledged(now, seen, &mut self.path);
        }
        if let (Some(seen), Some(group)) = (&told.group, &mut self.group) {
            group.acknowledged(now, seen, &mut self.path);
        }
        // An older datagram may come late, and what it says of that is past.
        let newest = &mut self.newest[header.kind as usize];
        if header.number >= *newest {
            *newest = header.number;
            self.hears_group = told.hears_group;
        }
        let probe_answered = told.probed.is_some() && self.datagram_bytes.is_none();
        if let Some(bytes) = told.probed.filter(|&bytes| self.terms.sizes().any(|size| size == bytes)) {
            self.datagram_bytes = self.datagram_bytes.max(Some(bytes));
        }
        if self.datagram_bytes.is_some() && (probe_answered || before != self.counted()) {
            self.is_open = !self.is_stuck(now);
        }
        if let Some(group) = &mut self.group {
            group.release(now, &mut self.path, &mut self.again);
        }
        self.find_lost(now);
    }

    /// How many datagrams the other side has acknowledged.
    fn counted(&self) -> u64 {
        self.frames.acknowledgements() + self.group.as_ref().map_or(0, SentDatagrams::acknowledgements)
    }

    fn find_lost(&mut self, now: u64) {
        if self.planted == Some(PlantedInDatagrams::LossUnnoticed) {
            return;
        }
        let before = self.again.len();
        let of_group = match &mut self.group {
            Some(_) if self.planted == Some(PlantedInDatagrams::GroupNotRepeated) => None,
            Some(group) => group.find_lost(now, &mut self.path, &mut self.again),
            None => None,
        };
        let of_frames = self.frames.find_lost(now, &mut self.path, &mut self.again);
        self.counters.datagrams_again += (self.again.len() - before) as u64;
        self.lost_next = of_group.into_iter().chain(of_frames).min();
    }

    /// When the datagrams were sent that have waited longest: for the first time, and for the last.
    fn oldest(&self) -> Option<(u64, u64)> {
        let each = [self.frames.oldest(), self.group.as_ref().and_then(SentDatagrams::oldest)];
        each.into_iter().flatten().reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))
    }

    /// A datagram has waited for so long that it will not arrive as it is, though others may.
    fn is_stuck(&self, now: u64) -> bool {
        self.oldest().is_some_and(|(first, _)| now >= first.saturating_add(DATAGRAM_AGE_MAX))
    }

    /// When what was sent last at `oldest` is sent again for want of an acknowledgement: soon, while the association is open.
    fn time_out_at(&self, oldest: u64) -> u64 {
        let most = if self.is_open { DATAGRAM_WAIT_MAX } else { DATAGRAM_SILENCE };
        self.path.time_out_at(oldest, most)
    }

    /// Nothing has been acknowledged for too long.
    fn time_out(&mut self, now: u64) {
        let Some((_, oldest)) = self.oldest() else { return };
        if now >= self.path.progress_at().saturating_add(DATAGRAM_SILENCE) || self.is_stuck(now) {
            self.is_open = false;
        }
        if self.planted == Some(PlantedInDatagrams::LossUnnoticed) || now < self.time_out_at(oldest) {
            return;
        }
        self.path.timed_out();
        let before = self.again.len();
        if let Some(group) = self.group.as_mut().filter(|_| self.planted != Some(PlantedInDatagrams::GroupNotRepeated))
        {
            group.repeat(DATAGRAMS_REPEATED, now, &mut self.path, &mut self.again);
        }
        self.frames.repeat(DATAGRAMS_REPEATED, now, &mut self.path, &mut self.again);
        self.counters.datagrams_again += (self.again.len() - before) as u64;
    }

    /// What the other side is to be told now.
    pub(super) fn tell(&mut self, now: u64) -> Acknowledgements {
        let frames = self.inflow.received.tell(now);
        let (group, hears_group) = match &mut self.theirs {
            Some(theirs) => (theirs.tell(now), theirs.is_heard(now)),
            None => (None, false),
        };
        Acknowledgements { frames, group, hears_group, probed: self.probes.to_answer.take() }
    }

    /// Whether there is something that it has not been told.
    pub(super) fn has_news(&self, now: u64) -> bool {
        let theirs = self
            .theirs
            .as_ref()
            .is_some_and(|theirs| theirs.inflow.received.deadline().is_some() || theirs.must_tell(now));
        self.inflow.received.deadline().is_some() || theirs || self.probes.to_answer.is_some()
    }

    /// Whether it must be told even if nothing else is to be sent.
    fn must_tell(&self, now: u64) -> bool {
        let theirs = self.theirs.as_ref().is_some_and(|theirs| theirs.must_tell(now));
        self.inflow.received.is_due(now) || theirs || self.probes.to_answer.is_some()
    }

    /// Sends what is due.
    pub(super) fn flush(&mut self, now: u64, out: &mut Out<'_>) {
        if self.lost_next.is_some_and(|at| at <= now) {
            self.find_lost(now);
        }
        self.time_out(now);
        self.again.drain(..).for_each(|datagram| {
            let bytes = datagram.len();
            out(datagram, bytes);
        });
        self.send_frames(now, out);
        if self.must_tell(now) {
            self.acknowledge(now, out);
        }
        if self.probes_on() && now >= self.probes.next_at {
            self.probe(now, out);
        }
    }

    /// Frames that wait, as far as there is room under way.
    fn send_frames(&mut self, now: u64, out: &mut Out<'_>) {
        let Some(datagram_bytes) = self.datagram_bytes() else { return };
        let mut train = DatagramTrain::new(datagram_bytes);
        let (mut number, mut bytes, mut goes_on) = (self.frames.next(), 0, true);
        let room = |path: &DatagramPath, frames: &SentDatagrams, bytes: usize, number: u64, is_invited: bool| {
            // An invitation waits for no window: what fills that may be what the other side cannot read without it.
            frames.has_room_for(number) && (is_invited || path.has_room_beside(bytes))
        };
        while goes_on
            && !(self.queue.is_empty() && self.invitation.is_none())
            && room(&self.path, &self.frames, bytes, number, self.invitation.is_some())
        {
            let header = self.header(DatagramKind::Frames, number);
            let told = self.tell(now);
            let (queue, invitation) = (&mut self.queue, self.invitation.take());
            if invitation.is_some() {
                self.invited_in = number;
            }
            let (path, frames) = (&self.path, &self.frames);
            goes_on = train.add(&self.seal_out, header, |buffer, end| {
                told.encode(buffer);
                if let Some(invitation) = invitation {
                    invitation.chunk().encode(buffer);
                }
                queue.fill(buffer, end);
                !queue.is_empty() && room(path, frames, bytes + datagram_bytes, number + 1, false)
            });
            number += 1;
            bytes += datagram_bytes;
        }
        if number == self.frames.next() {
            return;
        }
        let (whole, datagrams) = train.finish();
        for datagram in datagrams {
            self.counters.datagrams_out += 1;
            self.frames.push(now, datagram, &mut self.path);
        }
        out(whole, datagram_bytes);
    }

    fn acknowledge(&mut self, now: u64, out: &mut Out<'_>) {
        let told = self.tell(now);
        let mut train = DatagramTrain::new(HEADER_BYTES + Acknowledgements::BYTES_MAX + self.seal_out.bytes());
        let header = self.header(DatagramKind::Acknowledgement, self.acknowledgements);
        if self.planted != Some(PlantedInDatagrams::NumberTwice) {
            self.acknowledgements += 1;
        }
        train.add(&self.seal_out, header, |buffer, _| {
            told.encode(buffer);
            false
        });
        self.counters.acknowledgements_out += 1;
        let (whole, _) = train.finish();
        let bytes = whole.len();
        out(whole, bytes);
    }

    /// Whether it is not known yet what arrives, or a larger size may have been lost by chance.
    fn probes_on(&self) -> bool {
        let largest = self.terms.sizes().max();
        self.datagram_bytes.is_none() || (self.datagram_bytes < largest && self.probes.of_larger < PROBES_OF_LARGER)
    }

    /// Asks which sizes arrive.
    fn probe(&mut self, now: u64, out: &mut Out<'_>) {
        self.probes.of_larger += u32::from(self.datagram_bytes.is_some());
        let known = self.datagram_bytes;
        for size in self.terms.sizes().filter(|size| Some(*size) > known) {
            let mut train = DatagramTrain::new(size.into());
            let header = self.header(DatagramKind::Probe, self.probes.number);
            self.probes.number += 1;
            let seal = &self.seal_out;
            train.add(seal, header, |buffer, end| {
                buffer.extend_from_slice(&size.to_le_bytes());
                buffer.resize(end, 0);
                false
            });
            out(train.finish().0, size.into());
        }
        self.probes.next_at = now.saturating_add(self.probes.pause);
        self.probes.pause = (2 * self.probes.pause).min(PROBE_PAUSE_MAX);
    }

    /// When flush must be called next, even if nothing comes and nothing is sent.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        let probe = self.probes_on().then_some(self.probes.next_at);
        let silent_at = self.path.progress_at().saturating_add(DATAGRAM_SILENCE);
        let time_out = self.oldest().map(|(first, last)| {
            let again = self.time_out_at(last);
            let closed_at = silent_at.min(first.saturating_add(DATAGRAM_AGE_MAX));
            if self.is_open { again.min(closed_at) } else { again }
        });
        let theirs = self.theirs.as_ref().and_then(|theirs| theirs.inflow.received.deadline());
        let told = self.inflow.received.deadline().into_iter().chain(theirs);
        probe.into_iter().chain(time_out).chain(self.lost_next).chain(told).min()
    }
}

/// The secrets of an association: what each side's datagrams are sealed with.
#[derive(Clone)]
pub struct AssociationKeys {
    /// Of the side that made the connection.
    pub to_accepted: [u8; MATERIAL_BYTES],
    /// Of the side that accepted it.
    pub to_maker: [u8; MATERIAL_BYTES],
}

impl std::fmt::Debug for AssociationKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AssociationKeys")
    }
}
