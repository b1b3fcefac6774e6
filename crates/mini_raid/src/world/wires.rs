//! Messages between sites and the oracle, connections, and the traps that wait for messages.

use super::World;
use super::processes::in_words;
use crate::event::SimulatedEvent;
use crate::faults::{Blow, Fault, Trap};
use crate::message_kind::kind_of;
use messages::commit::CommitMessage;
use messages::limits::{MILLISECOND, SECOND};
use messages::oracle::OracleReply;
use messages::replication::{ReplicationMessage, SiteNotice};
use messages::server::ORACLE_SITE;
use messages::{Envelope, Message, Now, SiteId};

impl World {
    /// A site, or the oracle (0), sends a message at this true time.
    pub(super) fn send(&mut self, at: u64, from: usize, envelope: Envelope) {
        let to = usize::from(envelope.to_site.0);
        if to >= self.machines.len() || to == from {
            return;
        }
        if self.silent_voter == Some(from) && matches!(envelope.message, Message::Commit(CommitMessage::Vote { .. })) {
            return;
        }
        if self.dying.is_some_and(|(site, until)| site == from && self.now <= until) {
            return;
        }
        let mut late = 0;
        if !self.traps.is_empty() {
            match self.spring(from, to, &envelope.message) {
                Some(by) => late = by,
                None => return,
            }
        }
        if let Some((site, by)) = self.late_grants
            && site == to
            && matches!(envelope.message, Message::Replication(ReplicationMessage::LeaseGrant { .. }))
        {
            late += by;
        }
        self.statistics.messages += 1;
        if let Message::Replication(ReplicationMessage::Refreshed { items, .. }) = &envelope.message
            && let Some(domain) = self.look(from).domain()
            && let Some(stale) = items.iter().find(|item| domain.is_stale(item))
        {
            return self.fail(format!("site {from} tells that {stale:?} is refreshed, which is stale in its copy"));
        }
        if let Message::Commit(CommitMessage::Prepare { history, .. }) = &envelope.message
            && !history.increments.is_empty()
        {
            *self.statistics.other.entry("prepares with increments").or_insert(0) += 1;
        }
        let mut bytes = Vec::with_capacity(128);
        envelope.encode_into(&mut bytes);
        let [first, second] = self.network.send(&mut self.random, at, from, to);
        let generation = self.generation(from, to);
        if let Some(time) = second {
            self.agenda.plan(time + late, SimulatedEvent::Message { from, to, generation, bytes: bytes.clone() });
        }
        if let Some(time) = first {
            self.agenda.plan(time + late, SimulatedEvent::Message { from, to, generation, bytes });
        }
    }

    /// What a message has to carry to be delivered. What is said to the oracle, or by it, is lost with the process that it is said to: a
    /// later one has connections of its own.
    fn generation(&self, from: usize, to: usize) -> u32 {
        match (from, to) {
            (0, _) => self.look(to).start,
            (_, 0) => self.oracle.start,
            _ => self.network.generation(from, to),
        }
    }

    pub(super) fn arrive(&mut self, from: usize, to: usize, generation: u32, bytes: &[u8]) {
        let to_another = (from == 0 || to == 0) && generation != self.generation(from, to);
        if to_another || !self.network.arrives(from, to, generation) {
            return;
        }
        let envelope = match Envelope::decode(bytes) {
            Ok(envelope) => envelope,
            Err(error) => return self.fail(format!("a message of site {from} cannot be decoded: {error}")),
        };
        if to == 0 {
            return self.ask_oracle(envelope);
        }
        if let Message::OracleReply(OracleReply::Incarnated { nonce, incarnation }) = &envelope.message {
            return self.incarnated(to, *nonce, *incarnation);
        }
        let may_cross =
            matches!(envelope.message, Message::Commit(_) | Message::Replication(_) | Message::OracleReply(_));
        if may_cross {
            self.act(to, |domain, clock| domain.deliver(clock, envelope));
        } else {
            self.fail(format!("site {from} sent site {to} what is said inside a site only: {:?}", envelope.message));
        }
    }

    fn oracle_now(&self) -> Now {
        Now { boot: self.now, wall_micros: self.now / 1_000 }
    }

    fn ask_oracle(&mut self, envelope: Envelope) {
        let now = self.oracle_now();
        let (sent, sync) = self.oracle.handle(now, envelope);
        self.oracle_said(sent, sync);
    }

    pub(super) fn oracle_synced(&mut self, start: u32) {
        if self.oracle.start == start {
            let now = self.oracle_now();
            let (sent, sync) = self.oracle.synced(now);
            self.oracle_said(sent, sync);
        }
    }

    fn oracle_said(&mut self, sent: Vec<Envelope>, sync: bool) {
        let start = self.oracle.start;
        for envelope in sent {
            if let Message::OracleReply(OracleReply::EpochSwapped { won: true, epoch, .. }) = &envelope.message {
                self.say(|| format!("site {} has won epoch {}", envelope.to_site.0, in_words(epoch)));
            }
            if self.now >= self.oracle.mute_until {
                self.send(self.now, 0, envelope);
            }
        }
        if sync && self.oracle.start == start {
            let latency = self.profile.sync_latency / 2 + self.random.around(self.profile.sync_latency);
            self.agenda.plan(self.now + latency, SimulatedEvent::Oracle { start });
        }
    }

    /// Whether traps strike at this message: by how much it is late; `None`: it is lost.
    fn spring(&mut self, from: usize, to: usize, message: &Message) -> Option<u64> {
        let kind = kind_of(message);
        let now = self.now;
        self.traps.retain(|trap| trap.until > now);
        let struck = self.traps.iter_mut().position(|trap| {
            if trap.kind != kind || trap.from.is_some_and(|wanted| wanted != from) {
                return false;
            }
            trap.count = trap.count.saturating_sub(1);
            trap.count == 0
        });
        let Some(place) = struck else { return Some(0) };
        let trap = self.traps.remove(place);
        self.say(|| format!("a trap strikes at {kind} from {from} to {to}: {:?}", trap.blow));
        let result = self.blow(from, to, kind, &trap);
        self.traps.extend(trap.then);
        result
    }

    fn blow(&mut self, from: usize, to: usize, kind: &'static str, trap: &Trap) -> Option<u64> {
        *self.statistics.faults.entry(trap.blow.name()).or_insert(0) += 1;
        let proposer = match kind {
            "seal" | "swap epoch" => trap.blow.fells_sender(),
            "sealed" | "epoch swapped" => trap.blow.fells_receiver(),
            _ => false,
        };
        if proposer {
            *self.statistics.faults.entry("proposer dies").or_insert(0) += 1;
        }
        let length = trap.length;
        let kill = |site: usize| Fault::Kill { site, dead_for: length };
        let all: Vec<usize> = (0..=self.sites()).collect();
        let mut faults: Vec<Fault> = Vec::new();
        let mut result = Some(0);
        match trap.blow {
            Blow::KillSender => faults.push(kill(from)),
            Blow::KillSenderBefore => {
                self.die_untold(from, length);
                result = None;
            }
            Blow::KillReceiver => faults.push(kill(to)),
            Blow::KillBoth => faults.extend([kill(from), kill(to)]),
            Blow::KillOthers => {
                faults.extend(all.into_iter().filter(|site| ![0, from, to].contains(site)).map(kill));
            }
            Blow::PauseSender => faults.push(Fault::Pause { site: from, length }),
            Blow::PauseReceiver => faults.push(Fault::Pause { site: to, length }),
            Blow::Delay => result = Some(length),
            Blow::CutLink => {
                self.network.cut(from, to, true);
                let mend = Fault::Cut { links: vec![(from, to)], cut: false };
                self.agenda.plan(self.now + length, SimulatedEvent::Fault(mend));
                result = None;
            }
            Blow::PowerSender => faults.push(Fault::LosePower { sites: vec![(from, length)] }),
            Blow::PowerReceiver => faults.push(Fault::LosePower { sites: vec![(to, length)] }),
            Blow::IsolateReceiver => {
                faults.push(Fault::Isolate { site: to, oracle: false, length });
                result = None;
            }
            Blow::LeaveReceiver | Blow::LeaveThird => {
                self.die_untold(from, length);
                let thirds: Vec<usize> = all.iter().copied().filter(|site| ![0, from, to].contains(site)).collect();
                let left = match trap.blow {
                    Blow::LeaveThird if !thirds.is_empty() => *self.random.pick(&thirds),
                    _ => to,
                };
                faults.extend(all.into_iter().filter(|site| ![0, from, left].contains(site)).map(kill));
                result = None;
            }
            Blow::IsolateThird => {
                let thirds: Vec<usize> = all.into_iter().filter(|site| ![0, from, to].contains(site)).collect();
                if !thirds.is_empty() {
                    let (site, oracle) = (*self.random.pick(&thirds), self.random.one_in(3));
                    faults.push(Fault::Isolate { site, oracle, length });
                }
            }
        }
        for fault in faults {
            // After the step that sent the message, which may still be under way.
            self.agenda.plan(self.now, SimulatedEvent::Fault(fault));
        }
        result
    }

    /// A site dies, and what it says until then no other site hears; its clients may.
    fn die_untold(&mut self, site: usize, dead_for: u64) {
        let lives = if self.random.one_in(2) { self.random.below(MILLISECOND) } else { 0 };
        self.dying = Some((site, self.now + lives));
        self.agenda.plan(self.now + lives, SimulatedEvent::Fault(Fault::Kill { site, dead_for }));
    }

    /// Two sites try to connect.
    pub(super) fn connect(&mut self, a: usize, b: usize) {
        let running = self.look(a).domain().is_some() && self.look(b).domain().is_some();
        if !running || self.network.is_connected(a, b) || !self.network.is_whole(a, b) {
            return;
        }
        self.network.connect(a, b);
        for (site, peer) in [(a, b), (b, a)] {
            let incarnation = self.look(peer).incarnation;
            let notice = SiteNotice::PeerFound { site: SiteId(peer as u16), incarnation };
            self.plan_notice(site, notice);
        }
    }

    fn plan_notice(&mut self, site: usize, notice: SiteNotice) {
        let start = self.look(site).start;
        let after = self.random.below(2 * MILLISECOND);
        self.agenda.plan(self.now + after, SimulatedEvent::Notice { site, start, notice });
    }

    pub(super) fn notice(&mut self, site: usize, start: u32, notice: SiteNotice) {
        if self.look(site).start == start {
            self.act(site, |domain, clock| domain.notify(clock, notice));
        }
    }

    /// All connections of a site end. Its peers are told, unless its power is gone or the link is cut.
    pub(super) fn hang_up(&mut self, site: usize, silently: bool) {
        for other in (1..=self.sites()).filter(|other| *other != site) {
            if !self.network.disconnect(site, other) {
                continue;
            }
            let lost = SiteNotice::PeerLost { site: SiteId(site as u16) };
            let start = self.look(other).start;
            let after = match silently || !self.network.is_whole(site, other) {
                true => self.random.around(500 * MILLISECOND),
                false => self.network.delay(&mut self.random, site, other),
            };
            self.agenda.plan(self.now + after, SimulatedEvent::Notice { site: other, start, notice: lost });
        }
    }

    /// A connection breaks for a moment.
    pub(super) fn reset(&mut self, a: usize, b: usize) {
        if self.network.disconnect(a, b) {
            self.plan_notice(a, SiteNotice::PeerLost { site: SiteId(b as u16) });
            self.plan_notice(b, SiteNotice::PeerLost { site: SiteId(a as u16) });
            let after = self.random.around(8 * MILLISECOND) + MILLISECOND;
            self.agenda.plan(self.now + after, SimulatedEvent::Connect { a, b });
        }
    }

    /// A connection whose link was cut for long is given up.
    pub(super) fn stalled(&mut self, a: usize, b: usize) {
        if !self.network.is_whole(a, b) && self.network.disconnect(a, b) {
            self.plan_notice(a, SiteNotice::PeerLost { site: SiteId(b as u16) });
            self.plan_notice(b, SiteNotice::PeerLost { site: SiteId(a as u16) });
        }
    }

    /// Links were cut or mended.
    pub(super) fn cut(&mut self, links: &[(usize, usize)], cut: bool) {
        self.say(|| format!("links {links:?} are {}", if cut { "cut" } else { "mended" }));
        for (from, to) in links.iter().copied() {
            self.network.cut(from, to, cut);
            if from == 0 || to == 0 {
                continue;
            }
            let (a, b) = (from, to);
            let event = if cut { SimulatedEvent::Stalled { a, b } } else { SimulatedEvent::Connect { a, b } };
            let after = self.random.around(if cut { SECOND } else { 20 * MILLISECOND });
            self.agenda.plan(self.now + after, event);
        }
    }
}

const _: () = assert!(ORACLE_SITE.0 == 0, "place 0 among the sites is the oracle's");
