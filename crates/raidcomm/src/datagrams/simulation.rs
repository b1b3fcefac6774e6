//! Sites that send each other frames by datagrams, over a simulated network that loses, doubles, delays, reorders and cuts, beside
//! connections that break and are made anew; and checkers, which stand outside the machines.
//!
//! Invariant: a seed means the same run for ever. What must hold of every run: a frame arrives at most once, as it was sent, where it was
//! sent to, and within the association in which it was sent; all of them arrive, once the network is well again, unless
//! their association has ended; no number of a datagram seals different bytes; and when nothing is said there is silence.

mod ledger;

use super::packet::{HEADER_BYTES, MATERIAL_BYTES};
use super::planted::PlantedInDatagrams;
use super::{AssociationKeys, AssociationStatus, DatagramTerms, Datagrams, Seeds, To, Untaken};
use crate::limits::{DATAGRAM_BYTES, DATAGRAM_SILENCE, MILLISECOND, SECOND};
use identifiers::SiteId;
use ledger::{DatagramLedger, FrameWay};
use seeded_random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};

/// After this everything that was under way must have arrived.
const QUIET: u64 = 8 * SECOND;
/// Of the quiet time, the last part, in which nothing is left to be said.
const SILENT: u64 = 2 * SECOND;
/// Datagrams of a pair of sites in the silent part: probes of the group, and what is sent again to who cannot be reached.
const SILENT_DATAGRAMS_MAX: u64 = 60;
/// Events of a run: far more than any run has that gets anywhere.
const EVENTS_MAX: u64 = 3_000_000;

/// What a seed makes of a run.
#[derive(Clone, Copy, Debug)]
struct DatagramRunProfile {
    sites: u16,
    loss_percent: u64,
    double_percent: u64,
    /// Longest time that a datagram takes, in nanoseconds; the shortest is a tenth.
    latency: u64,
    /// Longer datagrams do not arrive.
    bytes_max: usize,
    datagram_bytes: u16,
    keyed: bool,
    has_group_address: bool,
    acts: u64,
    /// Bytes of most frames.
    frame_bytes: u64,
    /// Of a hundred acts, those that break a connection, and those that cut the datagrams between two sites or heal them.
    break_percent: u64,
    cut_percent: u64,
    /// Two sites are cut off from each other for datagrams until the end.
    stays_cut: bool,
}

impl DatagramRunProfile {
    fn of(random: &mut SplitMix64) -> DatagramRunProfile {
        let mut pick = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
        DatagramRunProfile {
            sites: pick(&[2, 3, 3, 4]) as u16,
            loss_percent: pick(&[0, 0, 1, 5, 20, 40]),
            double_percent: pick(&[0, 0, 5, 20]),
            latency: pick(&[30_000, 200_000, 2_000_000, 20_000_000]),
            bytes_max: pick(&[600, 1_300, 1_472, 9_000]) as usize,
            datagram_bytes: pick(&[0, 0, 512]) as u16,
            keyed: pick(&[0, 0, 0, 1]) == 1,
            has_group_address: pick(&[0, 1, 1]) == 1,
            acts: pick(&[20, 100, 300]),
            frame_bytes: pick(&[40, 400, 4_000]),
            break_percent: pick(&[0, 0, 1, 5]),
            cut_percent: pick(&[0, 0, 2]),
            stays_cut: pick(&[0, 0, 1]) == 1,
        }
    }
}

enum DatagramWorldEvent {
    /// A datagram arrives.
    Datagram { to: SiteId, by_group: bool, bytes: Vec<u8> },
    /// A frame arrives over the connection.
    Frame { from: SiteId, to: SiteId, connection: u64, bytes: Vec<u8> },
    /// A site sends something, or something happens to a connection.
    Act,
    /// A site's event loop wakes up.
    Wake(SiteId),
}

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramRunOutcome {
    /// Its seed.
    pub seed: u64,
    /// What was wrong.
    pub failure: Option<String>,
    /// Frames that were sent.
    pub frames: u64,
    /// Datagrams that were sent.
    pub datagrams: u64,
    /// Of them, those that were sent again, within the last associations.
    pub again: u64,
}

struct DatagramWorld {
    now: u64,
    random: SplitMix64,
    profile: DatagramRunProfile,
    sites: BTreeMap<SiteId, Datagrams>,
    /// The number of the connection between two sites, the lower first.
    connections: BTreeMap<(SiteId, SiteId), u64>,
    /// Between which sites no datagram arrives, and since when.
    cut: BTreeMap<(SiteId, SiteId), u64>,
    /// Sites that do not hear what goes to a group's address.
    deaf: BTreeSet<SiteId>,
    events: BTreeMap<(u64, u64), DatagramWorldEvent>,
    scheduled: u64,
    /// When which site wakes.
    wakes: BTreeSet<(SiteId, u64)>,
    ledger: DatagramLedger,
    datagrams: u64,
    silent_from: u64,
    silent_datagrams: u64,
    acts_left: u64,
    well: bool,
}

fn pair(one: SiteId, other: SiteId) -> (SiteId, SiteId) {
    (one.min(other), one.max(other))
}

/// Runs the schedule of a seed, with a planted bug or none.
pub fn run(seed: u64, planted: Option<PlantedInDatagrams>) -> DatagramRunOutcome {
    let mut random = SplitMix64::new(seed);
    let profile = DatagramRunProfile::of(&mut random);
    let mut world = DatagramWorld::new(random, profile, planted);
    let failure = world.run().err().map(|failure| format!("{failure}\n{profile:?}\n{}", world.story()));
    let again = world.statuses().map(|status| status.counters.datagrams_again).sum();
    DatagramRunOutcome { seed, failure, frames: world.ledger.frames(), datagrams: world.datagrams, again }
}

impl DatagramWorld {
    fn new(mut random: SplitMix64, profile: DatagramRunProfile, planted: Option<PlantedInDatagrams>) -> DatagramWorld {
        let mut sites = BTreeMap::new();
        let mut deaf = BTreeSet::new();
        for site in (1..=profile.sites).map(SiteId) {
            let group_material = profile.keyed.then(|| material(&mut random));
            let seeds = Seeds { group: random.draw(), group_material };
            sites.insert(site, Datagrams::new(seeds, profile.has_group_address, planted));
            if random.percent(20) {
                deaf.insert(site);
            }
        }
        let mut world = DatagramWorld {
            now: SECOND,
            random,
            profile,
            sites,
            connections: BTreeMap::new(),
            cut: BTreeMap::new(),
            deaf,
            events: BTreeMap::new(),
            scheduled: 0,
            wakes: BTreeSet::new(),
            ledger: DatagramLedger::default(),
            datagrams: 0,
            silent_from: u64::MAX,
            silent_datagrams: 0,
            acts_left: profile.acts,
            well: false,
        };
        let numbers: Vec<SiteId> = world.sites.keys().copied().collect();
        for (index, &one) in numbers.iter().enumerate() {
            numbers[index + 1..].iter().for_each(|&other| world.connect(one, other));
        }
        for _ in 0..profile.acts {
            let at = world.now + world.random.below(2 * SECOND);
            world.schedule(at, DatagramWorldEvent::Act);
        }
        world
    }

    fn schedule(&mut self, at: u64, event: DatagramWorldEvent) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// A connection is made anew, and with it the association.
    fn connect(&mut self, one: SiteId, other: SiteId) {
        let id = self.random.draw();
        let keys = self
            .profile
            .keyed
            .then(|| AssociationKeys { to_accepted: material(&mut self.random), to_maker: material(&mut self.random) });
        self.connections.insert(pair(one, other), id);
        self.ledger.ended(one, other, id);
        let terms =
            |is_maker| DatagramTerms { id, is_maker, keys: keys.clone(), datagram_bytes: self.profile.datagram_bytes };
        let terms = [(one, other, terms(true)), (other, one, terms(false))];
        for (site, peer, terms) in terms {
            let machine = self.sites.get_mut(&site).expect("a site of the run");
            machine.associate(self.now, peer, terms);
            self.wake_at(site, self.now);
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let (mut events, mut end) = (0, None);
        while let Some(((at, _), event)) = self.events.pop_first() {
            self.now = at;
            events += 1;
            if events > EVENTS_MAX {
                return Err("the run does not end".to_owned());
            }
            if end.is_some_and(|end| self.now > end) {
                break;
            }
            self.acts_left -= u64::from(matches!(event, DatagramWorldEvent::Act));
            self.happen(event)?;
            if self.acts_left == 0 && !self.well {
                self.heal();
                end = Some(self.now + QUIET);
            }
        }
        let latency = self.profile.latency;
        self.ledger.complete(|from, to| self.cut.get(&pair(from, to)).map(|at| at + 2 * latency))?;
        let pairs = self.connections.len() as u64;
        if self.silent_datagrams > SILENT_DATAGRAMS_MAX * pairs {
            return Err(format!("{} datagrams when there was nothing to say", self.silent_datagrams));
        }
        self.all_open()
    }

    /// The network is well from now on, but for two sites that may stay cut.
    fn heal(&mut self) {
        self.well = true;
        self.silent_from = self.now + QUIET - SILENT;
        let stays = self.cut.pop_first().filter(|_| self.profile.stays_cut);
        self.cut = stays.into_iter().collect();
        self.profile.loss_percent = 0;
        self.profile.double_percent = 0;
    }

    /// How the associations stand.
    fn story(&self) -> String {
        let each = self.connections.keys().flat_map(|&(one, other)| [(one, other), (other, one)]);
        let line = |(from, to): (SiteId, SiteId)| format!("{from} to {to}: {:?}", self.sites[&from].status(to));
        each.map(line).collect::<Vec<_>>().join("\n")
    }

    fn statuses(&self) -> impl Iterator<Item = AssociationStatus> {
        let each = self.connections.keys().flat_map(|&(one, other)| [(one, other), (other, one)]);
        each.filter_map(|(from, to)| self.sites[&from].status(to))
    }

    /// Whoever can use datagrams does so in the end.
    fn all_open(&self) -> Result<(), String> {
        let least = if self.profile.datagram_bytes > 0 { self.profile.datagram_bytes } else { DATAGRAM_BYTES[2] };
        if self.profile.bytes_max < least.into() {
            return Ok(());
        }
        for (one, other) in self.connections.keys().filter(|pair| !self.cut.contains_key(pair)) {
            for (from, to) in [(one, other), (other, one)] {
                let status = self.sites[from].status(*to).ok_or("there is no association")?;
                if !status.is_open {
                    return Err(format!("{from} does not use datagrams to {to} though they arrive: {status:?}"));
                }
            }
        }
        Ok(())
    }

    fn happen(&mut self, event: DatagramWorldEvent) -> Result<(), String> {
        match event {
            DatagramWorldEvent::Datagram { to, by_group, mut bytes } => {
                let mut arrived = Vec::new();
                let machine = self.sites.get_mut(&to).expect("a site of the run");
                // What it is dropped for is no business of the network's.
                let _ = machine.receive(self.now, &mut bytes, by_group, &mut arrived);
                for (from, frame) in arrived {
                    let connection = self.connections[&pair(from, to)];
                    self.ledger.delivered(from, to, &frame, true, connection)?;
                }
                self.wake_soon(to);
            }
            DatagramWorldEvent::Frame { from, to, connection, bytes } => {
                if self.connections[&pair(from, to)] == connection {
                    self.ledger.delivered(from, to, &bytes, false, connection)?;
                }
            }
            DatagramWorldEvent::Act => self.act(),
            DatagramWorldEvent::Wake(site) => {
                self.wakes.remove(&(site, self.now));
                self.turn(site)?;
            }
        }
        Ok(())
    }

    /// The owner of a machine does not always get to it at once.
    fn wake_soon(&mut self, site: SiteId) {
        let late = if self.random.percent(5) { self.random.below(3 * MILLISECOND) } else { self.random.below(20_000) };
        self.wake_at(site, self.now + late);
    }

    /// Wakes a site then, unless it wakes before.
    fn wake_at(&mut self, site: SiteId, at: u64) {
        let wakes_before = self.wakes.range((site, 0)..=(site, at)).next().is_some();
        if !wakes_before {
            self.wakes.insert((site, at));
            self.schedule(at, DatagramWorldEvent::Wake(site));
        }
    }

    fn any_site(&mut self) -> SiteId {
        SiteId(1 + self.random.below(self.profile.sites.into()) as u16)
    }

    fn act(&mut self) {
        let from = self.any_site();
        let to = loop {
            let to = self.any_site();
            if to != from {
                break to;
            }
        };
        let (one, other) = pair(from, to);
        if self.random.percent(self.profile.break_percent) {
            return self.connect(one, other);
        }
        if self.random.percent(self.profile.cut_percent) {
            if self.cut.remove(&(one, other)).is_none() {
                self.cut.insert((one, other), self.now);
            }
            return;
        }
        for _ in 0..1 + self.random.below(4) {
            if self.random.percent(40) {
                self.send_to_all(from);
            } else {
                let frame = self.frame(from);
                self.send(from, to, &frame);
            }
        }
        self.wake_soon(from);
    }

    fn frame(&mut self, from: SiteId) -> Vec<u8> {
        let bytes = if self.random.percent(3) { 40_000 } else { self.profile.frame_bytes };
        let length = self.random.below(bytes);
        self.ledger.frame(from, length as usize)
    }

    fn send(&mut self, from: SiteId, to: SiteId, frame: &[u8]) {
        let connection = self.connections[&pair(from, to)];
        let machine = self.sites.get_mut(&from).expect("a site of the run");
        match machine.send_with(to, |buffer| buffer.extend_from_slice(frame)) {
            Ok(()) => self.ledger.sent(self.now, from, to, frame, FrameWay::Datagrams(connection)),
            Err(Untaken::NotOpen | Untaken::Long(_)) => {
                self.ledger.sent(self.now, from, to, frame, FrameWay::Connection(connection));
                let at = self.now + self.latency();
                self.schedule(at, DatagramWorldEvent::Frame { from, to, connection, bytes: frame.to_vec() });
            }
            Err(Untaken::Full) => {}
        }
    }

    fn send_to_all(&mut self, from: SiteId) {
        let frame = self.frame(from);
        let mut others: Vec<SiteId> = self.sites.keys().copied().filter(|site| *site != from).collect();
        if self.random.percent(10) {
            others.pop();
        }
        let machine = self.sites.get_mut(&from).expect("a site of the run");
        let is_taken = machine.multicast(&others, &frame);
        let members: Vec<SiteId> = others.iter().copied().filter(|to| is_taken && machine.is_member(*to)).collect();
        for to in others {
            if members.contains(&to) {
                let connection = self.connections[&pair(from, to)];
                self.ledger.sent(self.now, from, to, &frame, FrameWay::Group(connection));
            } else {
                self.send(from, to, &frame);
            }
        }
    }

    /// An event loop's turn: what is due leaves.
    fn turn(&mut self, site: SiteId) -> Result<(), String> {
        let machine = self.sites.get_mut(&site).expect("a site of the run");
        machine.flush(self.now);
        let transmits: Vec<_> = machine.transmits().collect();
        if let Some(deadline) = machine.next_deadline() {
            let late = self.random.below(MILLISECOND);
            self.wake_at(site, deadline.max(self.now) + late);
        }
        for transmit in transmits {
            for datagram in transmit.train.chunks(transmit.datagram_bytes) {
                self.datagrams += 1;
                self.silent_datagrams += u64::from(self.now >= self.silent_from);
                self.ledger.sealed(&datagram[..HEADER_BYTES], datagram)?;
                self.put_on_the_wire(site, transmit.to, datagram);
            }
        }
        Ok(())
    }

    fn put_on_the_wire(&mut self, from: SiteId, to: To, datagram: &[u8]) {
        let (receivers, by_group): (Vec<SiteId>, bool) = match to {
            To::Site(site) => (vec![site], false),
            To::Group => {
                let hears = |site: &SiteId| *site != from && !self.deaf.contains(site);
                (self.sites.keys().copied().filter(hears).collect(), true)
            }
        };
        for to in receivers {
            let lost = self.cut.contains_key(&pair(from, to))
                || datagram.len() > self.profile.bytes_max
                || self.random.percent(self.profile.loss_percent);
            if lost {
                continue;
            }
            let copies = 1 + u64::from(self.random.percent(self.profile.double_percent));
            for _ in 0..copies {
                let at = self.now + self.latency();
                self.schedule(at, DatagramWorldEvent::Datagram { to, by_group, bytes: datagram.to_vec() });
            }
        }
    }

    fn latency(&mut self) -> u64 {
        let most = self.profile.latency;
        most / 10 + self.random.below(most)
    }
}

fn material(random: &mut SplitMix64) -> [u8; MATERIAL_BYTES] {
    std::array::from_fn(|_| random.draw() as u8)
}

const _: () = assert!(QUIET - SILENT > 10 * DATAGRAM_SILENCE, "the quiet time is long enough for what was lost");

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, sites would lose, double or mix up what they say to each other by datagrams.
    #[test]
    fn schedules_keep_the_rules() {
        for seed in 1..=100 {
            let outcome = run(seed, None);
            assert_eq!(outcome.failure, None, "seed {seed}");
        }
    }

    /// If this failed, the checkers would not find what they are for.
    #[test]
    fn each_planted_bug_is_found() {
        for planted in PlantedInDatagrams::ALL {
            let found = (1..=1_000).any(|seed| run(seed, Some(planted)).failure.is_some());
            assert!(found, "{planted:?} is not found");
        }
    }
}
