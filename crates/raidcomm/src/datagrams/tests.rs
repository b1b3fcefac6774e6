//! What short random schedules do not come to: sequences that are longer than what a receiver remembers, and ways that bear only short datagrams.

use super::*;
use crate::limits::{DATAGRAM_AGE_MAX, DATAGRAM_SILENCE, DATAGRAMS_AHEAD_MAX, MILLISECOND, SECOND};
use std::collections::BTreeSet;

const A: SiteId = SiteId(1);
const B: SiteId = SiteId(2);
const C: SiteId = SiteId(3);

/// Sites on a network that takes no time, and passes what it is told to.
struct Net {
    now: u64,
    sites: BTreeMap<SiteId, Datagrams>,
    /// Sites that nothing reaches and that reach nobody.
    cut_off: BTreeSet<SiteId>,
    /// Longer datagrams do not arrive.
    bytes_max: usize,
    arrived: BTreeMap<SiteId, Vec<Bytes>>,
}

impl Net {
    /// All of them open to each other, and hearing each other's groups.
    fn open(sites: &[SiteId]) -> Net {
        let machine = |site: &SiteId| Datagrams::new(Seeds { group: site.0.into(), group_material: None }, true, None);
        let mut net = Net {
            now: SECOND,
            sites: sites.iter().map(|site| (*site, machine(site))).collect(),
            cut_off: BTreeSet::new(),
            bytes_max: usize::MAX,
            arrived: BTreeMap::new(),
        };
        for (index, one) in sites.iter().enumerate() {
            for other in &sites[index + 1..] {
                let id = 1_000 * u64::from(one.0) + u64::from(other.0);
                let terms = |is_maker| DatagramTerms { id, is_maker, keys: None, datagram_bytes: 0 };
                net.site(*one).associate(SECOND, *other, terms(true));
                net.site(*other).associate(SECOND, *one, terms(false));
            }
        }
        net.pass(SECOND);
        for one in sites {
            let others = sites.iter().filter(|other| *other != one);
            assert!(others.clone().all(|other| net.site(*one).is_open(*other)));
            assert!(sites.len() == 2 || others.clone().all(|other| net.site(*one).hears_group(*other)));
        }
        net
    }

    fn site(&mut self, site: SiteId) -> &mut Datagrams {
        self.sites.get_mut(&site).expect("one of the sites")
    }

    /// Lets every site send what is due, until nobody has anything to send now.
    fn settle(&mut self) {
        loop {
            let mut under_way = Vec::new();
            for (from, machine) in &mut self.sites {
                machine.flush(self.now);
                under_way.extend(machine.transmits().map(|transmit| (*from, transmit)));
            }
            if under_way.is_empty() {
                return;
            }
            for (from, transmit) in under_way {
                for datagram in transmit.train.chunks(transmit.datagram_bytes) {
                    self.deliver(from, transmit.to, datagram);
                }
            }
        }
    }

    fn deliver(&mut self, from: SiteId, to: To, datagram: &[u8]) {
        for (site, machine) in &mut self.sites {
            let is_for = if let To::Site(to) = to { *site == to } else { *site != from };
            let is_cut = self.cut_off.contains(site) || self.cut_off.contains(&from) || datagram.len() > self.bytes_max;
            if is_for && !is_cut {
                let mut arrived = Vec::new();
                let _ = machine.receive(self.now, &mut datagram.to_vec(), to == To::Group, &mut arrived);
                self.arrived.entry(*site).or_default().extend(arrived.into_iter().map(|(_, frame)| frame));
            }
        }
    }

    /// Lets time pass.
    fn pass(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            self.settle();
            let next = self.sites.values().filter_map(Datagrams::next_deadline).min();
            let Some(next) = next.filter(|next| *next < end) else { break };
            assert!(next > self.now, "a deadline that flush has not dealt with would keep the event loop awake");
            self.now = next;
        }
        self.now = end;
    }

    fn arrived(&self, site: SiteId) -> &[Bytes] {
        self.arrived.get(&site).map_or(&[], Vec::as_slice)
    }
}

/// If this failed, a site that is stopped would stop what the others say to each other, for as long as its host keeps its connection.
#[test]
fn a_member_that_is_stopped_holds_up_nobody() {
    let mut net = Net::open(&[A, B, C]);
    net.cut_off.insert(C);
    let (mut frames, mut for_all) = (Vec::new(), Vec::new());
    for number in 0..4 * DATAGRAMS_AHEAD_MAX as u64 {
        let frame = Bytes::copy_from_slice(&number.to_le_bytes());
        if net.site(A).multicast(&[B, C], &frame) {
            for_all.push(frame.clone());
        } else {
            net.site(A).send_with(B, |buffer| buffer.extend_from_slice(&frame)).expect("B is open");
        }
        frames.push(frame);
        net.pass(DATAGRAM_SILENCE / (3 * DATAGRAMS_AHEAD_MAX as u64));
    }
    assert!(for_all.len() > DATAGRAMS_AHEAD_MAX, "the group has gone further than C can remember");
    assert!(for_all.len() < frames.len() && !net.site(A).is_open(C), "C is silent, and is spoken to otherwise");
    net.pass(10 * MILLISECOND);
    let mut at_b = net.arrived(B).to_vec();
    at_b.sort();
    frames.sort();
    assert!(at_b == frames, "{} of {} frames have come to B", at_b.len(), frames.len());
    net.cut_off.clear();
    net.pass(2 * SECOND);
    assert!(
        net.arrived(C) == for_all,
        "{} of {} frames have come to C, or in another order",
        net.arrived(C).len(),
        for_all.len()
    );
    assert!(net.site(A).is_open(C) && net.site(A).multicast(&[B, C], b"again"));
}

/// If this failed, two sites between which only short datagrams arrive any more would believe each other well, and say nothing for minutes.
#[test]
fn when_long_datagrams_no_longer_arrive_the_association_closes_though_short_ones_do() {
    let mut net = Net::open(&[A, B]);
    net.bytes_max = 1_400;
    net.site(A).send_with(B, |buffer| buffer.resize(5_000, 7)).expect("B is open");
    let begun = net.now;
    while net.site(A).is_open(B) {
        net.site(A).send_with(B, |buffer| buffer.extend_from_slice(b"short")).expect("B is open");
        net.pass(10 * MILLISECOND);
        assert!(net.now < begun + DATAGRAM_AGE_MAX + 50 * MILLISECOND, "it is still open");
    }
    assert!(net.now >= begun + DATAGRAM_AGE_MAX, "the short ones are acknowledged, so it is not silent");
    assert_eq!(net.arrived(B).len(), 0, "what comes behind the long one waits for it");
    net.bytes_max = usize::MAX;
    net.pass(SECOND);
    assert!(net.site(A).is_open(B) && net.arrived(B)[0].len() == 5_000 && net.arrived(B).len() > 90);
}

/// If this failed, two sites that have nothing to say to each other would keep each other's processors awake.
#[test]
fn who_has_nothing_to_say_is_silent() {
    let mut net = Net::open(&[A, B, C]);
    net.pass(SECOND);
    let sent = |net: &mut Net| -> u64 {
        let status = net.site(A).status(B).expect("an association").counters;
        status.datagrams_out + status.datagrams_again + status.acknowledgements_out
    };
    let before = sent(&mut net);
    net.pass(10 * SECOND);
    assert_eq!(sent(&mut net), before);
}
