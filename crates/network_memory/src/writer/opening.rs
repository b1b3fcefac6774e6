//! Opening a log: seal it for a new epoch, take it from whoever holds the right one, and begin the epoch.
//!
//! Also how a writer that is open goes on to another epoch, because servers have come back empty or have to be replaced: where a
//! recovery elsewhere is possible it seals as any other, and holds the log itself.

use super::judge::{Choice, Evidence, Lack, Missing, Own, Verdict, judge};
use super::peers::State;
use super::{Event, Intent, Phase, Stop, Writer};
use crate::journal::{Journal, Standing};
use crate::limits::{LEASE, LEASE_MARGIN, OUTBID_PAUSE, PROBE_PAUSE, RESEND, SETTLE};
use crate::message::{Held, Record, Refusal, Reply, Request};
use crate::names::{Configuration, Doubt, Epoch, Fallback, Incarnation, Mark, Member, Position, ServerId};
use crate::planted::Planted;
use crate::retained::Retained;
use commit_log::Log;
use std::collections::BTreeMap;

/// The log is being sealed.
pub(super) struct Sealing {
    epoch: Epoch,
    answers: BTreeMap<ServerId, (Incarnation, Held)>,
    waiting: BTreeMap<ServerId, u64>,
    /// Until when a server has said that the last writer may acknowledge from its disk.
    leased_until: u64,
    /// Since when it could be opened; others may still answer.
    ready_since: Option<u64>,
    /// Records were damaged: it is not looked at again before; 0 if it may be.
    not_before: u64,
    /// Another one has sealed with a higher number: to be tried again with this one, then.
    outbid: Option<(u64, u64)>,
}

/// Records are being read.
pub(super) struct Fetching {
    epoch: Epoch,
    choice: Choice,
    answers: BTreeMap<ServerId, (Incarnation, Held)>,
    /// What stays of the own copy: all of it, or nothing.
    keeps_own: bool,
    fetched: Retained,
    asked_at: u64,
    /// Which of the sources is asked.
    turn: usize,
    damaged: Vec<(ServerId, Position)>,
}

/// With what an epoch begins.
struct Beginning {
    epoch: Epoch,
    previous: Option<Configuration>,
    /// Whether the previous one is known to be established.
    is_established: bool,
    /// The epoch of the records.
    continues: Epoch,
    doubt: Option<Doubt>,
    records: Retained,
    /// Up to here the disk has it already.
    base: Mark,
    discarded: usize,
    answers: BTreeMap<ServerId, (Incarnation, Held)>,
}

impl<L: Log> Writer<L> {
    /// Seals the log for an epoch with this number.
    pub(super) fn seal(&mut self, now: u64, number: u64) {
        if !self.opened && self.epoch.writer == self.nonce {
            // Servers may hold the log of the attempt that has come to nothing, and the next one may take another log: they must not
            // look like one writer's.
            self.nonce = next_nonce(self.nonce);
        }
        let epoch = Epoch { number, writer: self.nonce };
        self.peers.values_mut().for_each(|peer| peer.asked_at = None);
        self.phase = Phase::Sealing(Sealing {
            epoch,
            answers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            leased_until: 0,
            ready_since: None,
            not_before: 0,
            outbid: None,
        });
        self.tick_sealing(now);
    }

    /// Seals it again after a while, because another one has done so in the meantime.
    pub(super) fn seal_later(&mut self, now: u64, by: Epoch) {
        self.seal(now, by.number + 1);
        if let Phase::Sealing(sealing) = &mut self.phase {
            sealing.outbid = Some((by.number + 1, now + self.nonce % OUTBID_PAUSE));
        }
    }

    pub(super) fn tick_sealing(&mut self, now: u64) {
        let Phase::Sealing(sealing) = &mut self.phase else { return };
        if let Some((number, at)) = sealing.outbid {
            if at <= now {
                self.seal(now, number);
            }
            return;
        }
        if now < sealing.not_before {
            return;
        }
        sealing.not_before = 0;
        for (server, peer) in &mut self.peers {
            let pause = sealing.waiting.get(server).map_or(PROBE_PAUSE, |&time| time.max(1));
            let is_due = peer.asked_at.is_none_or(|asked_at| asked_at + pause <= now);
            if is_due && !sealing.answers.contains_key(server) {
                peer.asked_at = Some(now);
                sealing.waiting.remove(server);
                self.requests.push_back((*server, Request::Seal { epoch: sealing.epoch }));
            }
        }
        self.consider(now);
    }

    /// Looks whether what is known is enough.
    fn consider(&mut self, now: u64) {
        let Phase::Sealing(sealing) = &mut self.phase else { return };
        if sealing.leased_until <= now {
            sealing.leased_until = 0;
        }
        let end = self.records.end_mark();
        let is_complete = self.is_complete && !self.opened;
        let own = self.configuration.as_ref().map(|configuration| Own {
            configuration,
            end,
            is_complete,
            is_established: self.established,
        });
        let asked: Vec<ServerId> = self.peers.keys().copied().collect();
        let disk = self.journal.as_ref().map(Journal::disk);
        let evidence = Evidence {
            own,
            disk,
            is_of_this_disk: disk.is_some() && self.terms.restart_on_this_disk,
            asked: &asked,
            answers: &sealing.answers,
            waiting: &sealing.waiting,
            intent: if self.opened { Intent::Open } else { self.intent },
            planted: self.planted,
        };
        match judge(&evidence) {
            Verdict::Wait(missing) => {
                sealing.ready_since = None;
                self.missing = Some(missing);
            }
            Verdict::NeedsDisk(disk) => self.stop(Stop::NeedsDisk(disk)),
            Verdict::Exists(epoch) => self.stop(Stop::Exists { epoch }),
            Verdict::Ready(choice) if self.opened && !choice.is_own => self.stop(Stop::Fenced { by: choice.epoch }),
            // Who accepts a loss does not accept another writer.
            Verdict::Ready(_) if self.intent == Intent::AcceptLoss && !self.opened && now < sealing.leased_until => {
                let leased = sealing.waiting.iter().map(|(server, time)| (*server, Lack::Leased(*time))).collect();
                sealing.ready_since = None;
                self.missing = Some(Missing { needed: 1, have: 0, servers: leased, is_unknown: false });
            }
            Verdict::Ready(choice) => {
                let since = *sealing.ready_since.get_or_insert(now);
                if self.opened || sealing.answers.len() == asked.len() || now >= since + SETTLE {
                    self.take(now, choice);
                }
            }
        }
    }

    /// Takes the log from where it is.
    fn take(&mut self, now: u64, choice: Choice) {
        let Phase::Sealing(sealing) = &mut self.phase else { return };
        let (epoch, answers) = (sealing.epoch, std::mem::take(&mut sealing.answers));
        let own = self.records.end_mark();
        if choice.is_own {
            let doubt = choice.doubt.filter(|_| !self.opened);
            let records = std::mem::take(&mut self.records);
            let (previous, is_established, continues) = (choice.configuration, choice.is_established, choice.epoch);
            let beginning = Beginning {
                epoch,
                previous,
                is_established,
                continues,
                doubt,
                records,
                base: own,
                discarded: 0,
                answers,
            };
            self.enter(now, beginning);
            return;
        }
        // The same writer has only appended, from one of its epochs to the next.
        let is_same =
            self.configuration.as_ref().is_some_and(|configuration| configuration.epoch.writer == choice.epoch.writer);
        let keeps_own = is_same && own.position >= choice.from.position && self.planted != Some(Planted::LongestWins);
        let fetched = Retained::behind(if keeps_own { own } else { choice.from });
        let fetching =
            Fetching { epoch, choice, answers, keeps_own, fetched, asked_at: 0, turn: 0, damaged: Vec::new() };
        self.phase = Phase::Fetching(Box::new(fetching));
        self.fetch(now);
    }

    pub(super) fn tick_fetching(&mut self, now: u64) {
        let Phase::Fetching(fetching) = &mut self.phase else { return };
        if fetching.asked_at + RESEND <= now {
            fetching.turn += 1;
            self.fetch(now);
        }
    }

    /// Asks for the next records, or is done.
    fn fetch(&mut self, now: u64) {
        let Phase::Fetching(fetching) = &mut self.phase else { return };
        let next = fetching.fetched.end();
        if next >= fetching.choice.end.position {
            return self.fetched(now);
        }
        let is_of_use =
            |(server, end): &&(ServerId, Position)| *end > next && !fetching.damaged.contains(&(*server, next));
        let sources: Vec<ServerId> =
            fetching.choice.sources.iter().filter(is_of_use).map(|(server, _)| *server).collect();
        if sources.is_empty() {
            if self.intent == Intent::AcceptLoss {
                // Nobody vouches for the own copy any further, and it is the best that there is.
                if self.records.mark(next) == Some(fetching.fetched.end_mark()) {
                    self.records.starting_at(next).for_each(|record| fetching.fetched.push(record.clone()));
                }
                fetching.choice.end = fetching.fetched.end_mark();
                fetching.choice.doubt = Some(Doubt::LossAccepted);
                return self.fetched(now);
            }
            let damaged = fetching.damaged.iter().map(|(server, position)| (*server, Lack::Damaged(*position)));
            let quorum = fetching.choice.configuration.as_ref().map_or(0, Configuration::seal_quorum);
            let missing = Missing { needed: quorum, have: quorum, servers: damaged.collect(), is_unknown: false };
            self.seal(now, self.sealing_number());
            if let Phase::Sealing(sealing) = &mut self.phase {
                sealing.not_before = now + RESEND;
            }
            self.missing = Some(missing);
            return;
        }
        let server = sources[fetching.turn % sources.len()];
        fetching.asked_at = now;
        self.requests.push_back((server, Request::Read { epoch: fetching.epoch, position: next }));
    }

    fn sealing_number(&self) -> u64 {
        match &self.phase {
            Phase::Sealing(sealing) => sealing.epoch.number,
            Phase::Fetching(fetching) => fetching.epoch.number,
            _ => self.epoch.number + 1,
        }
    }

    /// All of it has been read.
    fn fetched(&mut self, now: u64) {
        let Phase::Fetching(fetching) = std::mem::replace(&mut self.phase, Phase::Active) else { return };
        let Fetching { epoch, choice, answers, keeps_own, fetched, damaged, .. } = *fetching;
        for (server, _) in damaged {
            self.peers.entry(server).or_default().is_damaged = true;
        }
        let own = std::mem::take(&mut self.records);
        let base = fetched.start_mark();
        let mut discarded = 0;
        let records = if keeps_own {
            let mut records = own;
            fetched.starting_at(base.position).for_each(|record| records.push(record.clone()));
            records.truncate_before(choice.from.position);
            records
        } else {
            let is_elsewhere = |position: Position| fetched.mark(position.plus(1)) != own.mark(position.plus(1));
            let beyond = fetched.from().max(own.from()).0..own.end().0;
            discarded = beyond.filter(|&position| is_elsewhere(Position(position))).count();
            fetched
        };
        let (previous, is_established, doubt) = (choice.configuration, choice.is_established, choice.doubt);
        let continues = choice.epoch;
        self.enter(
            now,
            Beginning { epoch, previous, is_established, continues, doubt, records, base, discarded, answers },
        );
    }

    /// Begins another epoch of a log that is open, for the sake of servers that do not count in this one.
    pub(super) fn renew(&mut self, now: u64, number: u64) {
        if !self.has_disk_always() {
            self.seal(now, number);
            return;
        }
        // Nobody can recover the log without this disk, so nobody needs to be sealed.
        let beginning = Beginning {
            epoch: Epoch { number, writer: self.nonce },
            previous: self.configuration.clone(),
            is_established: true,
            continues: self.epoch,
            doubt: None,
            base: self.records.end_mark(),
            records: std::mem::take(&mut self.records),
            discarded: 0,
            answers: BTreeMap::new(),
        };
        self.enter(now, beginning);
    }

    fn enter(&mut self, now: u64, beginning: Beginning) {
        let Beginning { epoch, previous, is_established, continues, doubt, records, base, discarded, answers } =
            beginning;
        for (server, (incarnation, _)) in &answers {
            if let Some(peer) = self.peers.get_mut(server) {
                peer.incarnation = *incarnation;
                peer.heard_at = Some(now);
            }
        }
        let mut members = self.choose_members(now, previous.as_ref());
        for member in &mut members {
            member.established = match &previous {
                // What an earlier epoch had is given up, or there was none.
                _ if self.intent == Intent::AcceptLoss && !self.opened => member.incarnation,
                None => member.incarnation,
                Some(previous) => previous.basis(member.server, is_established),
            };
        }
        let disk = self.journal.as_ref().map(Journal::disk);
        let always = previous.as_ref().map_or(self.terms.restart_on_this_disk, |previous| {
            matches!(previous.fallback, Fallback::RestartOnThisDisk(_))
        });
        let fallback = disk.filter(|_| always).map_or(Fallback::UnderLease, Fallback::RestartOnThisDisk);
        let named = answers.values().filter_map(|(_, held)| held.configuration.as_ref()).chain(&previous);
        let rivals = named.filter(|named| named.fallback != fallback).map(|rival| rival.generation + 1);
        let generation = rivals.chain(previous.iter().map(|previous| previous.generation)).max().unwrap_or(0);
        let copies = previous.as_ref().map_or(self.terms.copies, |previous| previous.copies);
        self.basis = previous.filter(|_| self.opened || self.intent != Intent::AcceptLoss);
        self.established = false;
        let configuration = Configuration { epoch, copies, members, fallback, continues, generation, doubt };
        self.phase = Phase::Active;
        self.missing = None;
        self.epoch = epoch;
        self.began_at = records.end();
        self.standing = Standing::Disk;
        self.standing_place = None;
        if let Some(journal) = &mut self.journal {
            if let Err(error) = journal.enter(&configuration, base, &records) {
                self.records = records;
                return self.fail(&error);
            }
            journal.request_sync();
        }
        if self.opened {
            self.tell(Event::NewEpoch(epoch));
        } else {
            self.acknowledged = records.end();
            self.doubt = doubt;
            let (from, end) = (records.from(), records.end());
            self.beginning = Some(Event::Opened { epoch, from, end, doubt, discarded });
        }
        self.records = records;
        self.configuration = Some(configuration);
        self.forget_lease();
        for peer in self.peers.values_mut() {
            peer.state = State::Away;
            peer.asked_at = None;
            peer.lease_until = 0;
        }
        for (server, (incarnation, held)) in answers {
            self.meet(now, server, incarnation, &held);
        }
        self.tick_peers(now);
        self.ship(now);
    }

    /// The members of the next epoch: those of the last one, with the lives of memory that answer now; and spares for those that do
    /// not answer, where every recovery has the disk, which will know.
    fn choose_members(&mut self, now: u64, previous: Option<&Configuration>) -> Vec<Member> {
        let old = |server| previous.and_then(|previous| previous.incarnation(server)).unwrap_or(Incarnation::NONE);
        let of_previous: Vec<ServerId> =
            previous.iter().flat_map(|previous| &previous.members).map(|member| member.server).collect();
        let member = |server: ServerId, writer: &Writer<L>| {
            let here = writer.peers.get(&server).filter(|peer| peer.is_heard(now)).map(|peer| peer.incarnation);
            let incarnation = here.unwrap_or_else(|| old(server));
            Member { server, incarnation, established: incarnation }
        };
        if !self.has_disk_always() {
            let all = if of_previous.is_empty() { &self.terms.servers } else { &of_previous };
            return all.iter().map(|server| member(*server, self)).collect();
        }
        let count = previous.map_or(usize::from(self.terms.members), |previous| previous.members.len());
        let is_heard = |server: &ServerId| self.peers.get(server).is_some_and(|peer| peer.is_heard(now));
        let candidates: Vec<ServerId> = of_previous.iter().chain(&self.terms.servers).copied().collect();
        let (mut heard, silent): (Vec<ServerId>, Vec<ServerId>) = candidates.into_iter().partition(is_heard);
        heard.extend(silent);
        let mut chosen: Vec<ServerId> = Vec::new();
        for server in heard {
            if chosen.len() < count && !chosen.contains(&server) {
                chosen.push(server);
            }
        }
        let new = chosen.iter().filter(|server| !of_previous.contains(server));
        let gone = of_previous.iter().filter(|server| !chosen.contains(server));
        let events: Vec<Event> =
            new.zip(gone).map(|(&spare, &instead_of)| Event::SpareTaken { spare, instead_of }).collect();
        events.into_iter().for_each(|event| self.tell(event));
        chosen.into_iter().map(|server| member(server, self)).collect()
    }

    /// A reply while the log is being sealed or read.
    pub(super) fn hear_opening(&mut self, now: u64, server: ServerId, incarnation: Incarnation, reply: Reply) {
        match (&mut self.phase, reply) {
            (Phase::Sealing(sealing), Reply::Sealed { epoch, held }) if epoch == sealing.epoch => {
                let members = held.configuration.iter().flat_map(|configuration| &configuration.members);
                for member in members {
                    self.peers.entry(member.server).or_default();
                }
                sealing.answers.insert(server, (incarnation, held));
                sealing.waiting.remove(&server);
                self.tick_sealing(now);
            }
            (Phase::Sealing(sealing), Reply::Wait { epoch, time }) if epoch == sealing.epoch => {
                let time = time.min(2 * LEASE);
                sealing.waiting.insert(server, time);
                sealing.leased_until = sealing.leased_until.max(now + time + LEASE_MARGIN);
                self.tick_sealing(now);
            }
            (Phase::Sealing(sealing), Reply::Refused { epoch, reason: Refusal::Sealed { by } })
                if epoch == sealing.epoch && by > epoch =>
            {
                if self.opened {
                    return self.stop(Stop::Fenced { by });
                }
                let number = by.number.max(sealing.outbid.map_or(0, |(number, _)| number)) + 1;
                sealing.outbid = Some((number, now + self.nonce % OUTBID_PAUSE));
            }
            (Phase::Fetching(fetching), Reply::Records { epoch, position, records })
                if epoch == fetching.epoch && position == fetching.fetched.end() =>
            {
                let end = fetching.choice.end.position;
                let is_sound = |at: Position, record: &Record| {
                    self.planted == Some(Planted::ChecksumIgnored) || record.is_sound(self.terms.log, at)
                };
                let mut is_whole = !records.is_empty();
                for record in records {
                    let at = fetching.fetched.end();
                    is_whole = at < end && is_sound(at, &record);
                    if !is_whole {
                        break;
                    }
                    fetching.fetched.push(record);
                }
                let next = fetching.fetched.end();
                if !is_whole && next < end {
                    fetching.damaged.push((server, next));
                }
                self.fetch(now);
            }
            (Phase::Fetching(fetching), Reply::Refused { epoch, reason }) if epoch == fetching.epoch => match reason {
                Refusal::Sealed { by } => self.seal_later(now, by),
                Refusal::Damaged { .. } | Refusal::Absent => {
                    fetching.damaged.push((server, fetching.fetched.end()));
                    self.fetch(now);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// When there is something to do while the log is being opened.
    pub(super) fn deadline_opening(&self) -> Option<u64> {
        match &self.phase {
            Phase::Fetching(fetching) => Some(fetching.asked_at + RESEND),
            Phase::Sealing(Sealing { outbid: Some((_, at)), .. }) => Some(*at),
            Phase::Sealing(sealing) => {
                let unanswered = self.peers.iter().filter(|(server, _)| !sealing.answers.contains_key(server));
                let asked = unanswered.map(|(server, peer)| {
                    let pause = sealing.waiting.get(server).map_or(PROBE_PAUSE, |&time| time.max(1));
                    peer.asked_at.map_or(0, |asked_at| asked_at + pause)
                });
                let settled = sealing.ready_since.map(|since| since + SETTLE);
                let leased = (sealing.leased_until > 0).then_some(sealing.leased_until);
                if sealing.not_before > 0 { Some(sealing.not_before) } else { asked.chain(settled).chain(leased).min() }
            }
            _ => None,
        }
    }
}

/// A number that looks as random as the last one (SplitMix64: G. Steele, D. Lea and C. Flood, 2014).
fn next_nonce(nonce: u64) -> u64 {
    let mut mixed = nonce.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
