//! Reading a log from whoever holds it, once it is known who does: record by record, each from a server where it is whole.

use super::beginning::Beginning;
use super::judge::{Diagnosis, Lack, LogChoice, Missing};
use super::{Intent, LogWriter, WriterPhase};
use crate::limits::RESEND;
use crate::message::{CheckedRecord, HeldLog, ServerRefusal, ServerReply, WriterRequest};
use crate::names::{Configuration, Incarnation, RecordNumber, RecoveryDoubt, ServerId, WriterEpoch};
use crate::planted::PlantedInLog;
use crate::retained::Retained;
use commit_log::Log;
use std::collections::BTreeMap;

/// Records are being read.
pub(super) struct Fetching {
    epoch: WriterEpoch,
    choice: LogChoice,
    answers: BTreeMap<ServerId, (Incarnation, HeldLog)>,
    /// What stays of the own copy: all of it, or nothing.
    keeps_own: bool,
    fetched: Retained,
    asked_at: u64,
    /// Which of the sources is asked.
    turn: usize,
    damaged: Vec<(ServerId, RecordNumber)>,
}

impl Fetching {
    /// When another server is asked.
    pub(super) fn deadline(&self) -> u64 {
        self.asked_at + RESEND
    }
}

impl<L: Log> LogWriter<L> {
    pub(super) fn take_from(
        &mut self,
        now: u64,
        epoch: WriterEpoch,
        answers: BTreeMap<ServerId, (Incarnation, HeldLog)>,
        damaged: Vec<(ServerId, RecordNumber)>,
        choice: LogChoice,
    ) {
        let own = self.records.end_mark();
        for (server, _) in &damaged {
            self.peers.entry(*server).or_default().is_damaged = true;
        }
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
                gives_up: choice.gives_up,
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
        let keeps_own =
            is_same && own.position >= choice.from.position && self.planted != Some(PlantedInLog::LongestWins);
        let fetched = Retained::behind(if keeps_own { own } else { choice.from });
        let fetching = Fetching { epoch, choice, answers, keeps_own, fetched, asked_at: 0, turn: 0, damaged };
        self.phase = WriterPhase::Fetching(Box::new(fetching));
        self.fetch(now);
    }

    pub(super) fn tick_fetching(&mut self, now: u64) {
        let WriterPhase::Fetching(fetching) = &mut self.phase else { return };
        if fetching.asked_at + RESEND <= now {
            fetching.turn += 1;
            self.fetch(now);
        }
    }

    /// Asks for the next records, or is done.
    fn fetch(&mut self, now: u64) {
        let WriterPhase::Fetching(fetching) = &mut self.phase else { return };
        let next = fetching.fetched.end();
        if next >= fetching.choice.end.position {
            return self.fetched(now);
        }
        let is_of_use =
            |(server, end): &&(ServerId, RecordNumber)| *end > next && !fetching.damaged.contains(&(*server, next));
        let sources: Vec<ServerId> =
            fetching.choice.sources.iter().filter(is_of_use).map(|(server, _)| *server).collect();
        if sources.is_empty() {
            if self.take_from_others(now) {
                return;
            }
            let WriterPhase::Fetching(fetching) = &mut self.phase else { return };
            if self.intent == Intent::AcceptLoss {
                // Nobody vouches for the own copy any further, and it is the best that there is.
                if self.records.mark(next) == Some(fetching.fetched.end_mark()) {
                    self.records.starting_at(next).for_each(|record| fetching.fetched.push(record.clone()));
                }
                fetching.choice.end = fetching.fetched.end_mark();
                fetching.choice.doubt = Some(RecoveryDoubt::LossAccepted);
                fetching.choice.gives_up = true;
                return self.fetched(now);
            }
            let damaged = fetching.damaged.iter().map(|(server, position)| (*server, Lack::Damaged(*position)));
            let quorum = fetching.choice.configuration.as_ref().map_or(0, Configuration::seal_quorum);
            let missing = Missing { needed: quorum, have: quorum, servers: damaged.collect(), is_unknown: false };
            self.seal(now, self.sealing_number());
            if let WriterPhase::Sealing(sealing) = &mut self.phase {
                sealing.not_before = now + RESEND;
            }
            self.missing = Some(missing);
            return;
        }
        let server = sources[fetching.turn % sources.len()];
        fetching.asked_at = now;
        self.requests.push_back((server, WriterRequest::Read { epoch: fetching.epoch, position: next }));
    }

    /// A record is whole nowhere. If the others are enough without the servers where it is damaged, it was never acknowledged.
    fn take_from_others(&mut self, now: u64) -> bool {
        let WriterPhase::Fetching(fetching) = &self.phase else { return false };
        let asked: Vec<ServerId> = self.peers.keys().copied().collect();
        let damaged = fetching.damaged.iter().map(|(server, _)| *server).collect();
        let verdict = self.decide(Intent::Open, &asked, &fetching.answers, &BTreeMap::new(), &damaged);
        let Diagnosis::Ready(choice) = verdict else { return false };
        let WriterPhase::Fetching(fetching) = std::mem::replace(&mut self.phase, WriterPhase::Active) else {
            return false;
        };
        let Fetching { epoch, answers, damaged, .. } = *fetching;
        self.take_from(now, epoch, answers, damaged, choice);
        true
    }

    fn sealing_number(&self) -> u64 {
        match &self.phase {
            WriterPhase::Sealing(sealing) => sealing.epoch().number,
            WriterPhase::Fetching(fetching) => fetching.epoch.number,
            _ => self.epoch.number + 1,
        }
    }

    /// All of it has been read.
    fn fetched(&mut self, now: u64) {
        let WriterPhase::Fetching(fetching) = std::mem::replace(&mut self.phase, WriterPhase::Active) else { return };
        let Fetching { epoch, choice, answers, keeps_own, fetched, .. } = *fetching;
        let own = std::mem::take(&mut self.records);
        let base = fetched.start_mark();
        let mut discarded = 0;
        let records = if keeps_own {
            let mut records = own;
            fetched.starting_at(base.position).for_each(|record| records.push(record.clone()));
            records.truncate_before(choice.from.position);
            records
        } else {
            let is_elsewhere = |position: RecordNumber| fetched.mark(position.plus(1)) != own.mark(position.plus(1));
            let beyond = fetched.from().max(own.from()).0..own.end().0;
            discarded = beyond.filter(|&position| is_elsewhere(RecordNumber(position))).count();
            fetched
        };
        let LogChoice { configuration: previous, is_established, epoch: continues, doubt, gives_up, .. } = choice;
        let beginning = Beginning {
            epoch,
            previous,
            is_established,
            continues,
            doubt,
            gives_up,
            records,
            base,
            discarded,
            answers,
        };
        self.enter(now, beginning);
    }

    /// A reply while the log is being read.
    pub(super) fn hear_reading(&mut self, now: u64, server: ServerId, incarnation: Incarnation, reply: ServerReply) {
        let WriterPhase::Fetching(fetching) = &mut self.phase else { return };
        if fetching.answers.get(&server).is_some_and(|(answered, _)| *answered != incarnation) {
            // It has lost its memory since it has answered: others may hold what it does not any more.
            let number = self.sealing_number();
            return self.look(now, number);
        }
        match reply {
            ServerReply::Records { epoch, position, records }
                if epoch == fetching.epoch && position == fetching.fetched.end() =>
            {
                let end = fetching.choice.end.position;
                let is_sound = |at: RecordNumber, record: &CheckedRecord| {
                    self.planted == Some(PlantedInLog::ChecksumIgnored) || record.is_sound(self.terms.log, at)
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
                    self.peers.entry(server).or_default().is_damaged = true;
                }
                self.fetch(now);
            }
            ServerReply::Refused { epoch, reason } if epoch == fetching.epoch => match reason {
                ServerRefusal::Sealed { by } => self.seal_later(now, by),
                ServerRefusal::Absent => self.look(now, self.sealing_number()),
                ServerRefusal::Damaged { .. } => {
                    fetching.damaged.push((server, fetching.fetched.end()));
                    self.peers.entry(server).or_default().is_damaged = true;
                    self.fetch(now);
                }
                _ => {}
            },
            _ => {}
        }
    }
}
