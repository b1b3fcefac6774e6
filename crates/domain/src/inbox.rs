//! Messages from outside that no server has taken yet, in the order of their kinds: what keeps the set of sites alive before commits, these before what
//! sessions ask, and background copies last.
//!
//! Invariants: what one server of one site has sent to one server here is taken in the order in which it came (a *lane*), and so is all that speaks of one
//! transaction and comes from one site; what sessions ask is one lane. So a lane is as urgent as the most urgent message that waits in it: those
//! before it go with it. Nothing that came behind a notice of the world is taken before that, nor anything from before behind it. Whatever is less
//! urgent goes after `PASSED_MAX` others.
//!
//! Leases are not among them: whoever keeps those takes them as they come. Messages between servers of the site have one order, that in which they
//! were sent.

use crate::limits::PASSED_MAX;
use messages::commit::CommitMessage;
use messages::planted::Planted;
use messages::replication::ReplicationMessage;
use messages::{Envelope, Message, ServerKind, SiteId, planted, reached};
use std::collections::{BTreeMap, VecDeque};

/// How urgent a message is, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Epochs: while they are agreed nobody is served.
    Epochs,
    /// Votes and decisions: what has commit-locks waits for them.
    Outcomes,
    /// Prepares, and the rest of the commit protocol.
    Prepares,
    /// What sessions ask.
    Sessions,
    /// Copies made in the background.
    Copiers,
}

const URGENCIES: usize = 5;

impl Urgency {
    /// Of a message.
    pub fn of(message: &Message) -> Urgency {
        match message {
            Message::Commit(CommitMessage::Vote { .. } | CommitMessage::Decide { .. }) => Urgency::Outcomes,
            Message::Commit(_) => Urgency::Prepares,
            Message::Replication(
                ReplicationMessage::CopyRequest { .. }
                | ReplicationMessage::CopyReply { .. }
                | ReplicationMessage::Refreshed { .. },
            ) => Urgency::Copiers,
            Message::SessionRequest(..) | Message::Query(..) => Urgency::Sessions,
            _ => Urgency::Epochs,
        }
    }
}

/// Whose messages keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LaneName {
    Sessions,
    Servers { from_site: SiteId, from: ServerKind, to: ServerKind },
}

impl LaneName {
    fn of(envelope: &Envelope) -> LaneName {
        match envelope.message {
            Message::SessionRequest(..) | Message::Query(..) => LaneName::Sessions,
            _ => LaneName::Servers { from_site: envelope.from_site, from: envelope.from, to: envelope.to },
        }
    }
}

#[derive(Debug, Default)]
struct Lane {
    /// Each with the number at which it came.
    waiting: VecDeque<(u64, Envelope)>,
    /// So many of them of each urgency.
    counts: [usize; URGENCIES],
}

impl Lane {
    /// Of the most urgent that waits, and when its first one came.
    fn rank(&self) -> (usize, u64) {
        let urgency = self.counts.iter().position(|count| *count > 0).unwrap_or(URGENCIES);
        (urgency, self.first())
    }

    fn first(&self) -> u64 {
        self.waiting.front().map_or(u64::MAX, |(number, _)| *number)
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Inbox {
    /// One that is empty stays: there are as many as sites send to servers.
    lanes: BTreeMap<LaneName, Lane>,
    /// So many wait in them.
    waiting: usize,
    /// The first notice of the world, and all that has come behind it.
    behind: VecDeque<Envelope>,
    came: u64,
    /// So many have been taken before something that came earlier and is less urgent.
    passed: usize,
    planted: Planted,
}

impl Inbox {
    /// Nothing has come.
    pub fn new(planted: Planted) -> Inbox {
        Inbox { planted, ..Inbox::default() }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0 && self.behind.is_empty()
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.lanes.clear();
        self.waiting = 0;
        self.behind.clear();
    }

    /// Something has come.
    pub fn push(&mut self, envelope: Envelope) {
        match self.behind.is_empty() && !is_notice(&envelope) {
            true => self.enter(envelope),
            false => self.behind.push_back(envelope),
        }
    }

    fn enter(&mut self, envelope: Envelope) {
        self.came += 1;
        self.waiting += 1;
        let lane = self.lanes.entry(LaneName::of(&envelope)).or_default();
        lane.counts[Urgency::of(&envelope.message) as usize] += 1;
        lane.waiting.push_back((self.came, envelope));
    }

    /// What is taken next.
    pub fn pop(&mut self) -> Option<Envelope> {
        let Some(name) = self.next_lane() else {
            // All that came before the notice has been taken.
            let notice = self.behind.pop_front()?;
            while let Some(envelope) = self.behind.pop_front_if(|next| !is_notice(next)) {
                self.enter(envelope);
            }
            return Some(notice);
        };
        let lane = self.lanes.get_mut(&name).expect("it was found above");
        let place = match planted!(self.planted, PriorityReordersPair) {
            true => {
                let urgency = |place: &usize| Urgency::of(&lane.waiting[*place].1.message);
                (0..lane.waiting.len()).min_by_key(urgency).unwrap_or(0)
            }
            false => 0,
        };
        let (_, envelope) = lane.waiting.remove(place).expect("something waits in it");
        lane.counts[Urgency::of(&envelope.message) as usize] -= 1;
        self.waiting -= 1;
        Some(envelope)
    }

    fn next_lane(&mut self) -> Option<LaneName> {
        if self.waiting == 0 {
            return None;
        }
        let (mut urgent, mut oldest) = (None, None);
        for (name, lane) in self.lanes.iter().filter(|(_, lane)| !lane.waiting.is_empty()) {
            let (rank, first) = (lane.rank(), lane.first());
            urgent = urgent.filter(|(known, _)| *known < rank).or(Some((rank, *name)));
            oldest = oldest.filter(|(known, _)| *known < first).or(Some((first, *name)));
        }
        let ((_, urgent), (_, oldest)) = (urgent?, oldest?);
        if urgent == oldest {
            self.passed = 0;
            return Some(urgent);
        }
        reached!("urgent-goes-first");
        self.passed += 1;
        if self.passed > PASSED_MAX && !planted!(self.planted, BackgroundStarves) {
            self.passed = 0;
            return Some(oldest);
        }
        Some(urgent)
    }
}

fn is_notice(envelope: &Envelope) -> bool {
    matches!(envelope.message, Message::Site(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::commit::Outcome;
    use messages::lineage::LogPoint;
    use messages::planted::Bug;
    use messages::replication::SiteNotice;
    use messages::session::SessionRequest;
    use messages::{EpochNumber, Incarnation, SessionId, TransactionId};
    use seeded_random::SplitMix64;

    /// What is said, by whom: site 0 is the world.
    fn envelope(site: u16, what: u8, number: u64) -> Envelope {
        let transaction = TransactionId { home: SiteId(site), incarnation: Incarnation(1), sequence: number };
        let commit = |message| (ServerKind::AtomicityController, Message::Commit(message));
        let replication = |message| (ServerKind::ReplicationController, Message::Replication(message));
        let (to, message) = match what % 6 {
            _ if site == 0 => {
                let notice = SiteNotice::PeerLost { site: SiteId(number as u16) };
                (ServerKind::ReplicationController, Message::Site(notice))
            }
            0 => replication(ReplicationMessage::Current),
            1 => {
                let (items, storages, mark) = (Vec::new(), Vec::new(), LogPoint::default());
                replication(ReplicationMessage::Refreshed { items, storages, everything: false, mark })
            }
            2 => commit(CommitMessage::Decide { transaction, order: 0, outcome: Outcome::Abort }),
            3 | 4 => commit(CommitMessage::Inquire { transactions: vec![transaction] }),
            _ => (ServerKind::ActionDriver, Message::SessionRequest(SessionId(number), SessionRequest::Rollback)),
        };
        let from = if site == 0 { ServerKind::Site } else { to };
        let incarnation = Incarnation(number as u32);
        Envelope { from_site: SiteId(site), from, to_site: SiteId(9), to, epoch: EpochNumber(1), incarnation, message }
    }

    /// Envelopes carry their number as their life.
    fn number(envelope: &Envelope) -> u64 {
        u64::from(envelope.incarnation.0)
    }

    fn overtaken(planted: Planted, came: &[(u16, u8, bool)]) -> Result<(), String> {
        let mut inbox = Inbox::new(planted);
        let (mut waiting, mut taken): (Vec<Envelope>, u64) = (Vec::new(), 0);
        let mut take = |inbox: &mut Inbox, waiting: &mut Vec<Envelope>| {
            let Some(envelope) = inbox.pop() else {
                return if waiting.is_empty() { Ok(false) } else { Err(format!("{waiting:?} is lost")) };
            };
            let place = waiting.iter().position(|other| number(other) == number(&envelope));
            let place = place.ok_or_else(|| format!("{envelope:?} comes twice"))?;
            let earlier = &waiting[..place];
            let of_lane = |other: &&Envelope| {
                LaneName::of(other) == LaneName::of(&envelope) || is_notice(other) || is_notice(&envelope)
            };
            if let Some(other) = earlier.iter().find(of_lane) {
                return Err(format!("{envelope:?} goes before {other:?}"));
            }
            waiting.remove(place);
            taken += 1;
            Ok(true)
        };
        for (place, (site, what, takes)) in came.iter().enumerate() {
            let envelope = envelope(*site, *what, place as u64 + 1);
            inbox.push(envelope.clone());
            waiting.push(envelope);
            if *takes {
                take(&mut inbox, &mut waiting)?;
            }
        }
        while take(&mut inbox, &mut waiting)? {}
        if inbox.is_empty() { Ok(()) } else { Err("it is not empty".to_owned()) }
    }

    /// If this fails, a decision goes before the prepare that it decides, what a session asked before what it had asked earlier, or a message of a
    /// site behind the notice that it is gone; or a message is lost.
    #[test]
    fn what_one_server_sends_another_keeps_its_order() {
        for seed in 0..300 {
            let mut random = SplitMix64::new(seed);
            let one = |random: &mut SplitMix64| {
                let takes = random.percent(50);
                (random.below(4) as u16, random.below(6) as u8, takes)
            };
            let came: Vec<_> = (0..random.below(200)).map(|_| one(&mut random)).collect();
            assert_eq!(overtaken(Planted::none(), &came), Ok(()), "seed {seed}");
        }
    }

    /// If this fails, the test above is blind.
    #[test]
    fn a_pair_that_is_reordered_is_seen() {
        let came = [(1, 3, false), (1, 2, false)];
        assert!(overtaken(Planted::only(Bug::PriorityReordersPair), &came).is_err());
        assert_eq!(overtaken(Planted::none(), &came), Ok(()));
    }

    /// If this fails, a copy that is made in the background holds up epochs and commits that came later.
    #[test]
    fn the_most_urgent_goes_first_and_takes_with_it_what_came_before_on_its_way() {
        let mut inbox = Inbox::new(Planted::none());
        let came = [(1, 1), (5, 5), (2, 3), (3, 2), (2, 1), (1, 0), (2, 0)];
        for ((site, what), number) in came.into_iter().zip(1..) {
            inbox.push(envelope(site, what, number));
        }
        let order: Vec<u64> = std::iter::from_fn(|| inbox.pop()).map(|envelope| number(&envelope)).collect();
        // The epochs of sites 1 and 2 with their copies before them; the decision; the inquiry; the session.
        assert_eq!(order, [1, 5, 6, 7, 4, 3, 2]);
    }

    /// So many are taken before a copy while decisions come all the time, at most a thousand.
    fn waits_for(planted: Planted) -> usize {
        let mut inbox = Inbox::new(planted);
        inbox.push(envelope(1, 1, 1));
        for passed in 0..1_000 {
            inbox.push(envelope(2, 2, 2 + passed));
            if inbox.pop().is_some_and(|envelope| number(&envelope) == 1) {
                return passed as usize;
            }
        }
        1_000
    }

    /// If this fails, a site that commits all the time never gets its copy back.
    #[test]
    fn what_is_not_urgent_goes_after_so_many_others() {
        assert_eq!(waits_for(Planted::none()), PASSED_MAX);
        assert_eq!(waits_for(Planted::only(Bug::BackgroundStarves)), 1_000);
    }
}
