//! Beginning an epoch: with which members, on the disk first, and then on the servers.
//!
//! Also how a writer that is open goes on to another epoch, because servers have come back empty or have to be replaced: where a
//! recovery elsewhere is possible it seals as any other, and holds the log itself.

use super::peer::PeerState;
use super::{LogEvent, LogWriter, WriterPhase, WriterStop, is_passing};
use crate::journal::{DiskStanding, Journal};
use crate::limits::{FULL_PAUSE, NUMBER_MAX};
use crate::message::HeldLog;
use crate::names::{
    Configuration, CountedServer, Fallback, Incarnation, LogMark, RecoveryDoubt, ServerId, WriterEpoch,
};
use crate::planted::PlantedInLog;
use crate::retained::Retained;
use commit_log::{Log, LogError};
use std::collections::BTreeMap;

/// With what an epoch begins.
#[derive(Default)]
pub(super) struct Beginning {
    pub(super) epoch: WriterEpoch,
    pub(super) previous: Option<Configuration>,
    /// Whether the previous one is known to be established.
    pub(super) is_established: bool,
    /// The epoch of the records.
    pub(super) continues: WriterEpoch,
    pub(super) doubt: Option<RecoveryDoubt>,
    /// What an earlier epoch had is given up, where it is wanting.
    pub(super) gives_up: bool,
    pub(super) records: Retained,
    /// Up to here the disk has it already.
    pub(super) base: LogMark,
    pub(super) discarded: usize,
    pub(super) answers: BTreeMap<ServerId, (Incarnation, HeldLog)>,
}

impl<L: Log> LogWriter<L> {
    /// Begins another epoch of a log that is open, for the sake of servers that do not count in this one.
    pub(super) fn renew(&mut self, now: u64, number: u64) {
        if !self.has_disk_always() {
            self.seal(now, number);
            return;
        }
        if number > NUMBER_MAX {
            return self.stop(WriterStop::NumbersUsedUp { number });
        }
        // Nobody can recover the log without this disk, so nobody needs to be sealed.
        let beginning = Beginning {
            epoch: WriterEpoch { number, writer: self.nonce },
            previous: self.configuration.clone(),
            is_established: true,
            continues: self.epoch,
            doubt: None,
            gives_up: false,
            base: self.records.end_mark(),
            records: std::mem::take(&mut self.records),
            discarded: 0,
            answers: BTreeMap::new(),
        };
        self.enter(now, beginning);
    }

    pub(super) fn enter(&mut self, now: u64, mut beginning: Beginning) {
        beginning.gives_up |= self.accepts_loss() && self.planted == Some(PlantedInLog::GivenUpForNothing);
        for (server, (incarnation, _)) in &beginning.answers {
            if let Some(peer) = self.peers.get_mut(server) {
                peer.incarnation = *incarnation;
                peer.heard_at = Some(now);
            }
        }
        let configuration = self.configure(now, &beginning);
        if let Some(journal) = &mut self.journal {
            if let Err(error) = journal.enter(&configuration, beginning.base, &beginning.records) {
                return self.enter_later(now, beginning, &error);
            }
            journal.request_sync();
            self.is_disk_full = false;
        }
        let Beginning { epoch, previous, is_established, doubt, gives_up, records, discarded, answers, .. } = beginning;
        let known = answers.values().filter_map(|(_, held)| held.configuration.as_ref()).chain(&previous);
        let known = known.map(|configuration| configuration.epoch).chain([configuration.continues]).collect();
        self.basis = previous.filter(|_| !gives_up);
        // Where every recovery has the disk each epoch is established.
        self.judged = (!is_established && self.basis.is_some()).then_some(known);
        self.established = false;
        self.tell_spares(&configuration.members);
        self.phase = WriterPhase::Active;
        self.missing = None;
        self.epoch = epoch;
        self.began_at = records.end();
        self.standing = DiskStanding::Disk;
        self.standing_place = None;
        if self.opened {
            self.tell(LogEvent::NewEpoch(epoch));
        } else {
            self.acknowledged = records.end();
            self.doubt = doubt;
            let (from, end) = (records.from(), records.end());
            self.beginning = Some(LogEvent::Opened { epoch, from, end, doubt, discarded });
        }
        self.records = records;
        self.configuration = Some(configuration);
        self.forget_lease();
        for peer in self.peers.values_mut() {
            peer.state = PeerState::Away;
            peer.asked_at = None;
            peer.lease_until = 0;
        }
        for (server, (incarnation, held)) in answers {
            self.meet(now, server, incarnation, &held);
        }
        self.tick_peers(now);
        self.ship(now);
    }

    /// With which configuration an epoch begins.
    fn configure(&self, now: u64, beginning: &Beginning) -> Configuration {
        let Beginning { epoch, previous, is_established, continues, doubt, gives_up, answers, .. } = beginning;
        let previous = previous.as_ref();
        let mut members = self.choose_members(now, previous, answers);
        for member in &mut members {
            member.established = match previous {
                // Only what is wanting is given up: whoever could have begun without accepting anything needs what anybody else needs.
                Some(previous) if !gives_up => previous.basis(member.server, *is_established),
                _ => member.incarnation,
            };
        }
        let disk = self.journal.as_ref().map(Journal::disk);
        let always = previous.map_or(self.terms.restart_on_this_disk, |previous| {
            matches!(previous.fallback, Fallback::RestartOnThisDisk(_))
        });
        let fallback = disk.filter(|_| always).map_or(Fallback::UnderLease, Fallback::RestartOnThisDisk);
        let generation = self.next_generation(answers, previous, fallback, *gives_up);
        let copies = previous.map_or(self.terms.copies, |previous| previous.copies);
        let doubt = doubt.filter(|_| self.planted != Some(PlantedInLog::DoubtForgotten));
        Configuration { epoch: *epoch, copies, members, fallback, continues: *continues, generation, doubt }
    }

    /// Which of the logs that go on after an accepted loss the next epoch is of.
    fn next_generation(
        &self,
        answers: &BTreeMap<ServerId, (Incarnation, HeldLog)>,
        previous: Option<&Configuration>,
        fallback: Fallback,
        gives_up: bool,
    ) -> u64 {
        let named = answers.values().filter_map(|(_, held)| held.configuration.as_ref()).chain(previous);
        let rivals = named.filter(|named| named.fallback != fallback).map(|rival| rival.generation + 1);
        let generation = rivals.chain(previous.map(|previous| previous.generation)).max().unwrap_or(0);
        // Whoever has lost what could have fenced it off may live, and have counted further.
        (generation + u64::from(gives_up)).min(NUMBER_MAX)
    }

    /// The disk has no room for the epoch's beginning, or has failed.
    fn enter_later(&mut self, now: u64, mut beginning: Beginning, error: &LogError) {
        if !is_passing(error) {
            self.records = beginning.records;
            return self.fail(error);
        }
        self.tell_disk_full(now);
        if self.opened {
            // Whatever is appended until then is of the new log, too.
            self.records = std::mem::take(&mut beginning.records);
        }
        if self.opened && matches!(self.phase, WriterPhase::Active) {
            // The last epoch goes on.
            self.renewal_at = now + FULL_PAUSE;
            return;
        }
        self.phase = WriterPhase::Entering(Box::new(beginning), now + FULL_PAUSE);
    }

    pub(super) fn tick_entering(&mut self, now: u64) {
        let WriterPhase::Entering(_, at) = &self.phase else { return };
        if *at <= now
            && let WriterPhase::Entering(mut beginning, at) = std::mem::replace(&mut self.phase, WriterPhase::Active)
        {
            // Not an epoch that goes on.
            self.phase = WriterPhase::Entering(Box::default(), at);
            if self.opened {
                beginning.records = std::mem::take(&mut self.records);
            }
            self.enter(now, *beginning);
        }
    }

    /// Tells of servers that take the places of others.
    fn tell_spares(&mut self, members: &[CountedServer]) {
        let old: Vec<ServerId> = self.basis.iter().flat_map(|last| &last.members).map(|member| member.server).collect();
        let new = members.iter().map(|member| member.server).filter(|server| !old.contains(server));
        let gone = old.iter().filter(|server| members.iter().all(|member| member.server != **server));
        let taken = new.zip(gone).map(|(spare, &instead_of)| LogEvent::SpareTaken { spare, instead_of });
        let events: Vec<LogEvent> = taken.filter(|_| self.has_disk_always()).collect();
        events.into_iter().for_each(|event| self.tell(event));
    }

    /// The members of the next epoch: those of the last one, with the lives of memory that answer now; and spares for those that do
    /// not answer, where every recovery has the disk, which will know.
    fn choose_members(
        &self,
        now: u64,
        previous: Option<&Configuration>,
        answers: &BTreeMap<ServerId, (Incarnation, HeldLog)>,
    ) -> Vec<CountedServer> {
        let old = |server| previous.and_then(|previous| previous.incarnation(server)).unwrap_or(Incarnation::NONE);
        let of_previous: Vec<ServerId> =
            previous.iter().flat_map(|previous| &previous.members).map(|member| member.server).collect();
        let member = |server: ServerId, writer: &LogWriter<L>| {
            let here = writer.peers.get(&server).filter(|peer| peer.is_heard(now)).map(|peer| peer.incarnation);
            let incarnation = here.unwrap_or_else(|| old(server));
            CountedServer { server, incarnation, established: incarnation }
        };
        if !self.has_disk_always() {
            let all = if of_previous.is_empty() { &self.terms.servers } else { &of_previous };
            // Each life that counts is sealed for this epoch, or has counted before: whoever seals the log there hears of the epoch, though the
            // server has not taken part in it yet. Whoever accepts a loss counts on no life that he has not sealed.
            let is_accepted = self.accepts_loss();
            let member = |server: &ServerId| {
                let sealed = answers.get(server).map(|(incarnation, _)| *incarnation);
                let kept = || if is_accepted { Incarnation::NONE } else { old(*server) };
                let incarnation = sealed.unwrap_or_else(kept);
                CountedServer { server: *server, incarnation, established: incarnation }
            };
            return all.iter().map(member).collect();
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
        chosen.into_iter().map(|server| member(server, self)).collect()
    }
}
