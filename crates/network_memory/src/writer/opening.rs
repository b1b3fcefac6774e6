//! Opening a log: ask who holds it, and seal it for a new epoch at enough of them.
//!
//! Invariant: whoever cannot get through, or must not, has sealed nothing: the writer that has the log goes on.

use super::judge::{Diagnosis, Evidence, Lack, LogChoice, Missing, OwnLog, judge};
use super::peer::ServerPeer;
use super::{Intent, LogWriter, WriterPhase, WriterStop};
use crate::journal::Journal;
use crate::limits::{
    ACCEPTED_STEP, LEASE, NUMBER_MAX, OUTBID_PAUSE_MAX, OUTBID_PAUSE_MIN, PROBE_PAUSE, SETTLE, SILENCE, VOUCHED,
};
use crate::message::{HeldLog, ServerRefusal, ServerReply, WriterRequest};
use crate::names::{Fallback, Incarnation, ServerId, WriterEpoch};
use crate::planted::PlantedInLog;
use commit_log::Log;
use std::collections::{BTreeMap, BTreeSet};

/// Which life of each server.
type Lives = BTreeMap<ServerId, Incarnation>;

/// It is asked who holds the log, and then it is sealed.
pub(super) struct Sealing {
    epoch: WriterEpoch,
    /// Nothing is sealed yet.
    is_asking: bool,
    begun_at: u64,
    /// The servers that have answered before the log was sealed: they are waited for again.
    expected: BTreeSet<ServerId>,
    /// When enough has been waited for those that have not answered; none if it is not known.
    settled_at: Option<u64>,
    answers: BTreeMap<ServerId, (Incarnation, HeldLog)>,
    waiting: BTreeMap<ServerId, u64>,
    /// Who accepts a loss: until when the seal is held, and by which lives of their memory.
    held: Option<(u64, Lives)>,
    /// Who has held it for a lease before this round.
    held_before: Lives,
    /// Since when it could be opened; others may still answer.
    ready_since: Option<u64>,
    /// Records were damaged: it is not looked at again before; 0 if it may be.
    pub(super) not_before: u64,
    /// Another one has sealed with a higher number: to be tried again with this one, then.
    outbid: Option<(u64, u64)>,
}

impl Sealing {
    pub(super) fn epoch(&self) -> WriterEpoch {
        self.epoch
    }

    pub(super) fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// After how long a server is asked again. One that has answered may have lost its memory since, and hold another log.
    fn pause(&self, server: ServerId) -> u64 {
        match (self.answers.contains_key(&server), self.waiting.get(&server)) {
            (true, _) => SILENCE,
            (false, Some(&time)) => time.max(1),
            (false, None) => PROBE_PAUSE,
        }
    }

    /// What a server holds has been told. Those that it names are asked as well.
    fn hear(
        &mut self,
        server: ServerId,
        incarnation: Incarnation,
        held: HeldLog,
        peers: &mut BTreeMap<ServerId, ServerPeer>,
    ) {
        for member in held.configuration.iter().flat_map(|configuration| &configuration.members) {
            peers.entry(member.server).or_default();
        }
        self.answers.insert(server, (incarnation, held));
        self.waiting.remove(&server);
    }
}

impl<L: Log> LogWriter<L> {
    /// Asks who holds the log, to be sealed for an epoch with this number.
    pub(super) fn look(&mut self, now: u64, number: u64) {
        let is_asking = self.planted != Some(PlantedInLog::SealedUnasked);
        self.begin_sealing(now, number, is_asking, BTreeSet::new());
    }

    /// Seals the log for an epoch with this number.
    pub(super) fn seal(&mut self, now: u64, number: u64) {
        self.begin_sealing(now, number, false, BTreeSet::new());
    }

    fn begin_sealing(&mut self, now: u64, number: u64, is_asking: bool, expected: BTreeSet<ServerId>) {
        self.prepare_sealing(now, number, is_asking, expected);
        self.tick_sealing(now);
    }

    /// As `begin_sealing`, and asks nobody yet.
    fn prepare_sealing(&mut self, now: u64, number: u64, is_asking: bool, expected: BTreeSet<ServerId>) {
        if !self.opened && self.epoch.writer == self.nonce && self.planted != Some(PlantedInLog::NonceKept) {
            // Servers may hold the log of the attempt that has come to nothing, and the next one may take another log: they must not
            // look like one writer's.
            self.nonce = next_nonce(self.nonce);
        }
        if number > NUMBER_MAX {
            return self.stop(WriterStop::NumbersUsedUp { number });
        }
        let epoch = WriterEpoch { number, writer: self.nonce };
        self.peers.values_mut().for_each(|peer| peer.asked_at = None);
        self.phase = WriterPhase::Sealing(Sealing {
            epoch,
            is_asking,
            begun_at: now,
            expected,
            settled_at: None,
            answers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            held: None,
            held_before: Lives::new(),
            ready_since: None,
            not_before: 0,
            outbid: None,
        });
    }

    /// Tries it again after a while, because another one has sealed it in the meantime. Until then nobody is sealed, so that the other one gets on.
    pub(super) fn seal_later(&mut self, now: u64, by: WriterEpoch) {
        let number = self.beyond(by.number);
        self.prepare_sealing(now, number, !self.opened, BTreeSet::new());
        self.wait_outbid(now, number);
    }

    /// Another one has sealed the log with a higher number: waits before it is tried with this one.
    fn wait_outbid(&mut self, now: u64, number: u64) {
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        // Nobody outbids a log that is open without stopping its writer: it has no rival to be waited for.
        if self.opened {
            self.outbid_pause = OUTBID_PAUSE_MIN;
        } else if sealing.outbid.is_none() {
            self.outbid_pause = (2 * self.outbid_pause).clamp(OUTBID_PAUSE_MIN, OUTBID_PAUSE_MAX);
        }
        sealing.outbid = Some((number, now + next_nonce(self.nonce ^ number) % self.outbid_pause));
        self.missing = None;
    }

    /// The pause of a writer that was outbid is over. The other one may have opened the log meanwhile: whoever cannot get through any more
    /// must not disturb him, and asks again before he seals anybody.
    fn try_again(&mut self, now: u64, number: u64) {
        if self.opened { self.seal(now, number) } else { self.look(now, number) }
    }

    pub(super) fn tick_sealing(&mut self, now: u64) {
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        if let Some((number, at)) = sealing.outbid {
            if at <= now {
                self.try_again(now, number);
            }
            return;
        }
        if now < sealing.not_before {
            return;
        }
        sealing.not_before = 0;
        for (server, peer) in &mut self.peers {
            if peer.asked_at.is_none_or(|asked_at| asked_at + sealing.pause(*server) <= now) {
                peer.asked_at = Some(now);
                sealing.waiting.remove(server);
                let epoch = sealing.epoch;
                let request =
                    if sealing.is_asking { WriterRequest::Look { epoch } } else { WriterRequest::Seal { epoch } };
                self.requests.push_back((*server, request));
            }
        }
        self.consider(now);
    }

    /// Looks whether what is known is enough.
    fn consider(&mut self, now: u64) {
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        let asked: Vec<ServerId> = self.peers.keys().copied().collect();
        let (answers, waiting) = (std::mem::take(&mut sealing.answers), std::mem::take(&mut sealing.waiting));
        let intent = if self.opened { Intent::Open } else { self.intent };
        let verdict = self.decide(intent, &asked, &answers, &waiting, &BTreeSet::new());
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        (sealing.answers, sealing.waiting) = (answers, waiting);
        match verdict {
            Diagnosis::Wait(missing) => {
                (sealing.ready_since, sealing.settled_at, sealing.held) = (None, None, None);
                self.missing = Some(missing);
            }
            Diagnosis::NeedsDisk(disk) => self.stop(WriterStop::NeedsDisk(disk)),
            Diagnosis::Exists(epoch) => self.stop(WriterStop::Exists { epoch }),
            Diagnosis::Ready(choice) if self.opened && !choice.is_own => {
                self.stop(WriterStop::Fenced { by: choice.epoch })
            }
            Diagnosis::Ready(choice) => {
                let since = *sealing.ready_since.get_or_insert(now);
                let is_leased = choice.configuration.as_ref().is_some_and(|last| last.fallback == Fallback::UnderLease);
                // Enough members have said all that there is to be known; others are spared a restore.
                let is_enough = is_leased && self.intent == Intent::Open;
                let is_all = sealing.is_asking || self.intent == Intent::AcceptLoss;
                let settled = asked.iter().filter(|server| !sealing.answers.contains_key(server)).map(|server| {
                    let peer = self.peers.get(server);
                    let begun_at = peer.map_or(0, |peer| peer.connected_at).max(sealing.begun_at);
                    match peer.is_some_and(|peer| peer.is_failed) {
                        true => since,
                        // A log that is open goes on with whoever is there.
                        false if self.opened && !peer.is_some_and(|peer| peer.is_heard(now)) => since,
                        false if self.opened => since + SETTLE,
                        false if !is_enough && (is_all || sealing.expected.contains(server)) => {
                            (begun_at + SILENCE).max(since + SETTLE)
                        }
                        false => since + SETTLE,
                    }
                });
                let settled_at = match self.planted {
                    Some(PlantedInLog::NotWaitedFor) => since,
                    _ => settled.max().unwrap_or(since),
                };
                sealing.settled_at = Some(settled_at);
                if now < settled_at {
                    return;
                }
                self.go_on_sealing(now, choice);
            }
        }
    }

    /// The log can be opened with these answers: seals it, holds the seal, seals it again, or takes it.
    fn go_on_sealing(&mut self, now: u64, choice: LogChoice) {
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        let (number, expected) = (sealing.epoch.number, sealing.answers.keys().copied().collect());
        let known = sealing.answers.values().filter_map(|(_, held)| held.configuration.as_ref());
        let known = known.map(|configuration| configuration.epoch.number).max().unwrap_or(0);
        let last = choice.configuration.as_ref().filter(|last| last.fallback == Fallback::UnderLease);
        let Some(last) = last else {
            return if sealing.is_asking {
                self.begin_sealing(now, number, false, expected)
            } else {
                self.take(now, choice)
            };
        };
        if sealing.is_asking {
            let number = if self.accepts_loss() { self.beyond(number.max(known)) } else { number };
            return self.begin_sealing(now, number, false, expected);
        }
        // Servers that have lost their memory say nothing of a writer whom they have answered before: those answers are too old by the time
        // at which the seal has been held for a lease.
        let is_same = |server| {
            let life = sealing.answers.get(server).map(|(incarnation, _)| incarnation);
            life.is_some() && life == sealing.held_before.get(server)
        };
        let held = last.members.iter().filter(|member| is_same(&member.server)).count();
        let (needed, is_old) = (last.seal_quorum(), sealing.begun_at + VOUCHED <= now);
        let is_planted = matches!(self.planted, Some(PlantedInLog::SealNotHeld | PlantedInLog::SilentServersGivenUp));
        if self.accepts_loss() && held < needed && !is_planted {
            return self.hold(now, needed);
        }
        // What has been said for long may not hold any more of servers that have lost their memory since.
        if is_old {
            return self.begin_sealing(now, number + 1, false, expected);
        }
        self.take(now, choice);
    }

    /// Whether this opening accepts that something is lost.
    pub(super) fn accepts_loss(&self) -> bool {
        self.intent == Intent::AcceptLoss && !self.opened
    }

    /// The number of an epoch above this one. Who accepts a loss may not hear of the latest.
    fn beyond(&self, number: u64) -> u64 {
        let is_step = self.accepts_loss() && self.planted != Some(PlantedInLog::AcceptedNearby);
        number.saturating_add(if is_step { ACCEPTED_STEP } else { 1 })
    }

    /// Holds the seal for a lease, and then seals the log once more: whoever is the same then has answered nobody else meanwhile.
    fn hold(&mut self, now: u64, needed: usize) {
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        let lives = || sealing.answers.iter().map(|(server, (incarnation, _))| (*server, *incarnation)).collect();
        let (until, _) = *sealing.held.get_or_insert_with(|| (now + LEASE, lives()));
        if now < until {
            let servers = sealing.answers.keys().map(|server| (*server, Lack::Leased(until - now))).collect();
            sealing.settled_at = None;
            self.missing = Some(Missing { needed, have: 0, servers, is_unknown: false });
            return;
        }
        let (number, expected) = (sealing.epoch.number + 1, sealing.answers.keys().copied().collect());
        let lives = sealing.held.take().map(|(_, lives)| lives).unwrap_or_default();
        self.begin_sealing(now, number, false, expected);
        if let WriterPhase::Sealing(sealing) = &mut self.phase {
            sealing.held_before = lives;
        }
    }

    /// What follows from these answers, of which those of damaged servers count for nothing.
    pub(super) fn decide(
        &self,
        intent: Intent,
        asked: &[ServerId],
        answers: &BTreeMap<ServerId, (Incarnation, HeldLog)>,
        waiting: &BTreeMap<ServerId, u64>,
        damaged: &BTreeSet<ServerId>,
    ) -> Diagnosis {
        let own = self.configuration.as_ref().map(|configuration| OwnLog {
            configuration,
            end: self.records.end_mark(),
            is_complete: self.is_complete && !self.opened,
            is_established: self.established,
        });
        let disk = self.journal.as_ref().map(Journal::disk);
        judge(&Evidence {
            own,
            disk,
            is_of_this_disk: disk.is_some() && self.terms.restart_on_this_disk,
            asked,
            answers,
            waiting,
            damaged,
            intent,
            planted: self.planted,
        })
    }

    /// Takes the log from where it is.
    fn take(&mut self, now: u64, choice: LogChoice) {
        let WriterPhase::Sealing(sealing) = &mut self.phase else { return };
        let (epoch, answers) = (sealing.epoch, std::mem::take(&mut sealing.answers));
        self.take_from(now, epoch, answers, Vec::new(), choice);
    }

    /// A reply while the log is being sealed or read.
    pub(super) fn hear_opening(&mut self, now: u64, server: ServerId, incarnation: Incarnation, reply: ServerReply) {
        match (&mut self.phase, reply) {
            (WriterPhase::Sealing(sealing), ServerReply::Sealed { epoch, held })
                if epoch == sealing.epoch && !sealing.is_asking =>
            {
                sealing.hear(server, incarnation, held, &mut self.peers);
                self.tick_sealing(now);
            }
            (WriterPhase::Sealing(sealing), ServerReply::Held { epoch, held })
                if epoch == sealing.epoch && sealing.is_asking =>
            {
                sealing.hear(server, incarnation, held, &mut self.peers);
                self.tick_sealing(now);
            }
            (WriterPhase::Sealing(sealing), ServerReply::Wait { epoch, time }) if epoch == sealing.epoch => {
                let time = time.min(2 * LEASE);
                sealing.waiting.insert(server, time);
                self.tick_sealing(now);
            }
            (WriterPhase::Sealing(sealing), ServerReply::Refused { epoch, reason: ServerRefusal::Sealed { by } })
                if epoch == sealing.epoch && by > epoch =>
            {
                if self.opened {
                    return self.stop(WriterStop::Fenced { by });
                }
                let number = by.number.max(sealing.outbid.map_or(0, |(number, _)| number));
                let number = self.beyond(number);
                self.wait_outbid(now, number);
            }
            (WriterPhase::Fetching(_), reply) => self.hear_reading(now, server, incarnation, reply),
            _ => {}
        }
    }

    /// When there is something to do while the log is being opened.
    pub(super) fn deadline_opening(&self) -> Option<u64> {
        match &self.phase {
            WriterPhase::Fetching(fetching) => Some(fetching.deadline()),
            WriterPhase::Entering(_, at) => Some(*at),
            WriterPhase::Removing(_, at) => Some(at + PROBE_PAUSE),
            WriterPhase::Sealing(Sealing { outbid: Some((_, at)), .. }) => Some(*at),
            WriterPhase::Sealing(sealing) => {
                let asked = self
                    .peers
                    .iter()
                    .map(|(server, peer)| peer.asked_at.map_or(0, |asked_at| asked_at + sealing.pause(*server)));
                let held = sealing.held.as_ref().map(|(until, _)| *until);
                if sealing.not_before > 0 {
                    Some(sealing.not_before)
                } else {
                    asked.chain(sealing.settled_at).chain(held).min()
                }
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
