//! What a writer knows of each server, and how it ships records to it and restores what it lacks.
//!
//! Invariant: `held <= sent <= end` of an active member, and `held` is what the member itself has told in this epoch.

use super::peer::{PeerState, RestoringLog, SentRequest, ServerPeer, Shipping, batch};
use super::{Intent, LogEvent, LogWriter, WriterStop, is_active};
use crate::limits::{FULL_PAUSE, PROBE_PAUSE, RENEWAL_PAUSE_MAX, RENEWAL_PAUSE_MIN, RESEND, SILENCE, WINDOW_BYTES};
use crate::message::{HeldLog, ServerRefusal, ServerReply, ToWriter, WriterRequest};
use crate::names::{Fallback, Incarnation, LogMark, RecordNumber, ServerId, WriterEpoch};
use crate::planted::PlantedInLog;
use commit_log::Log;
use std::collections::{BTreeSet, VecDeque};

impl<L: Log> LogWriter<L> {
    /// The connection to a server has been made, or made anew: what was sent before may be lost.
    pub fn connected(&mut self, now: u64, server: ServerId) {
        if let Some(peer) = self.peers.get_mut(&server) {
            peer.asked_at = None;
            peer.connected_at = now;
            peer.is_failed = false;
            match &mut peer.state {
                PeerState::Active(shipping) => shipping.go_back(),
                PeerState::Restoring(restoring) => restoring.next = restoring.acknowledged,
                PeerState::Away | PeerState::Stranger => {}
            }
            self.tick(now);
        }
    }

    /// The connection to a server has broken, or cannot be made.
    pub fn disconnected(&mut self, now: u64, server: ServerId) {
        if let Some(peer) = self.peers.get_mut(&server) {
            peer.heard_at = None;
            peer.asked_at = Some(now);
            peer.is_failed = true;
        }
        self.lose(server);
        if matches!(self.phase, super::WriterPhase::Sealing(_)) {
            self.tick_sealing(now);
        }
        self.advance(now);
    }

    /// A server does not count until it answers again.
    fn lose(&mut self, server: ServerId) {
        let Some(peer) = self.peers.get_mut(&server) else { return };
        let was_active = is_active(peer);
        peer.state = PeerState::Away;
        peer.lease_until = 0;
        if was_active {
            self.tell(LogEvent::ServerAway(server));
        }
    }

    /// What a server holds has been told: goes on with it in this epoch.
    pub(super) fn meet(&mut self, now: u64, server: ServerId, incarnation: Incarnation, held: &HeldLog) {
        let Some(configuration) = &self.configuration else { return };
        let rival = held.configuration.as_ref().filter(|held| held.is_rival_of(configuration));
        if let Some(rival) = rival.filter(|_| self.planted != Some(PlantedInLog::RivalIgnored)) {
            return self.stop(match rival.fallback {
                _ if self.intent == Intent::Create && rival.generation == configuration.generation => {
                    WriterStop::Exists { epoch: rival.epoch }
                }
                Fallback::RestartOnThisDisk(disk) => WriterStop::NeedsDisk(disk),
                Fallback::UnderLease => WriterStop::Fenced { by: rival.epoch },
            });
        }
        // Somebody has accepted that this log is lost. Where he had to seal it for that, whoever he has not let pass is refused by those that he has.
        if let Some(later) = &held.configuration
            && self.opened
            && self.has_disk_always()
            && later.generation > configuration.generation
        {
            return self.stop(WriterStop::Fenced { by: later.epoch });
        }
        let was_member = configuration.incarnation(server);
        let is_counted = configuration.counts(server, incarnation);
        let epoch = configuration.epoch;
        let Some(peer) = self.peers.get_mut(&server) else { return };
        peer.is_damaged &= peer.incarnation == incarnation;
        let is_damaged = peer.is_damaged && self.planted != Some(PlantedInLog::DamagedCounts);
        peer.incarnation = incarnation;
        if !is_counted {
            let is_news = !matches!(peer.state, PeerState::Stranger);
            peer.state = PeerState::Stranger;
            if is_news && was_member.is_some_and(|known| known != Incarnation::NONE) {
                self.tell(LogEvent::ServerEmpty(server));
            }
            return;
        }
        if held.configuration.as_ref().is_some_and(|configuration| configuration.epoch == epoch) {
            let end = held.end.position.min(self.records.end());
            self.activate(now, server, end);
            return;
        }
        // What a server shares with ours it keeps: it may have no room for both. Only it knows up to where that is; as in Raft the ends of
        // epochs are tried, from the last one down.
        let last = self.records.mark(held.end.position).unwrap_or(self.records.end_mark());
        let base = match last {
            _ if is_damaged || held.configuration.is_none() => self.records.start_mark(),
            last if last.position < held.end.position || last == held.end => last,
            last => self.records.boundary_below(last.position),
        };
        self.restore(now, server, base);
    }

    fn restore(&mut self, now: u64, server: ServerId, base: LogMark) {
        let restoring = RestoringLog::new(now, base, self.records.from(), self.records.end_mark());
        if let Some(peer) = self.peers.get_mut(&server) {
            peer.state = PeerState::Restoring(restoring);
        }
        self.ship(now);
    }

    /// A member holds the log of this epoch up to there.
    fn activate(&mut self, now: u64, server: ServerId, held: RecordNumber) {
        let Some(peer) = self.peers.get_mut(&server) else { return };
        if is_active(peer) {
            return;
        }
        peer.state = PeerState::Active(Shipping {
            sent: held,
            held,
            sends: VecDeque::new(),
            sent_bytes: 0,
            progress_at: now,
            asked_at: None,
            blocked_until: 0,
            told_from: RecordNumber(0),
        });
        if self.opened {
            self.tell(LogEvent::ServerBack(server));
        }
        self.ship(now);
    }

    /// Takes a reply of a server.
    pub(super) fn hear(&mut self, now: u64, server: ServerId, message: ToWriter) {
        let ToWriter { incarnation, reply, .. } = message;
        let is_opening = !matches!(self.phase, super::WriterPhase::Active);
        let is_same = |(other, peer): &(&ServerId, &ServerPeer)| {
            **other != server && peer.incarnation == incarnation && peer.is_heard(now)
        };
        if let Some((&one, _)) = self.peers.iter().find(is_same)
            && self.planted != Some(PlantedInLog::SameServerCounts)
        {
            // A log that is open goes on without the second address.
            if !self.opened {
                self.stop(WriterStop::SameServer { one, other: server });
            }
            return;
        }
        let Some(peer) = self.peers.get_mut(&server) else { return };
        peer.heard_at = Some(now);
        peer.is_failed = false;
        if is_opening {
            peer.is_damaged &= peer.incarnation == incarnation;
            peer.incarnation = incarnation;
            return self.hear_opening(now, server, incarnation, reply);
        }
        let epoch = self.epoch;
        match reply {
            ServerReply::Sealed { epoch: of, held } if of == epoch => {
                let is_met = matches!(peer.state, PeerState::Active(_) | PeerState::Restoring(_));
                let is_news = !is_met || peer.incarnation != incarnation;
                if self.is_unjudged(&held) {
                    self.seal_later(now, epoch);
                } else if is_news {
                    self.meet(now, server, incarnation, &held);
                }
            }
            ServerReply::Refused { epoch: of, reason } if of <= epoch => self.hear_refusal(now, server, of, reason),
            // Of another life of its memory: it has to be met anew.
            _ if peer.incarnation != incarnation => {
                peer.asked_at = None;
                self.lose(server);
            }
            ServerReply::Restored { epoch: of, end } if of == epoch => {
                if let PeerState::Restoring(restoring) = &mut peer.state {
                    if end > restoring.acknowledged {
                        restoring.progress_at = now;
                    }
                    let end = end.min(restoring.end.position);
                    if end >= restoring.next {
                        restoring.next = end;
                    }
                    restoring.acknowledged = restoring.acknowledged.max(end);
                    self.ship(now);
                }
            }
            ServerReply::Activated { epoch: of, end } if of == epoch => {
                if let PeerState::Restoring(restoring) = &peer.state {
                    peer.is_damaged &= restoring.base.position != restoring.from;
                    self.activate(now, server, end.min(self.records.end()));
                }
            }
            ServerReply::Appended { epoch: of, end } if of == epoch => self.hear_appended(now, server, end),
            ServerReply::Permitted { epoch: of, number } if of == epoch => self.hear_permitted(now, server, number),
            _ => {}
        }
    }

    /// Whether a server holds the log of an epoch that this one does not know of, and that is perhaps the right one: of attempts that were never
    /// established a lower one may have got through since.
    fn is_unjudged(&self, held: &HeldLog) -> bool {
        let is_news = |known: &BTreeSet<WriterEpoch>| {
            held.configuration.as_ref().is_some_and(|held| held.epoch != self.epoch && !known.contains(&held.epoch))
        };
        let is_open = !self.established && self.planted != Some(PlantedInLog::UnknownOverwritten);
        is_open && self.judged.as_ref().is_some_and(is_news)
    }

    fn hear_appended(&mut self, now: u64, server: ServerId, end: RecordNumber) {
        let (log_end, Some(peer)) = (self.records.end(), self.peers.get_mut(&server)) else { return };
        let PeerState::Active(shipping) = &mut peer.state else { return };
        shipping.asked_at = None;
        shipping.progress_at = now;
        let end = end.min(log_end);
        peer.is_full &= end <= shipping.held;
        shipping.held = shipping.held.max(end);
        shipping.sent = shipping.sent.max(end);
        while let Some(sent) = shipping.sends.pop_front_if(|sent| sent.end <= end) {
            shipping.sent_bytes -= sent.bytes;
            self.hedge.sample(now.saturating_sub(sent.at));
        }
    }

    fn tell_full(&mut self, server: ServerId) {
        let was_full = self.peers.get_mut(&server).is_some_and(|peer| std::mem::replace(&mut peer.is_full, true));
        if !was_full {
            self.tell(LogEvent::ServerFull(server));
        }
    }

    fn hear_refusal(&mut self, now: u64, server: ServerId, of: WriterEpoch, reason: ServerRefusal) {
        match reason {
            // Nobody recovers the log without this disk: it was an attempt of this disk that has come to nothing, or of somebody who has
            // accepted the loss of the disk, whose log will be found.
            ServerRefusal::Sealed { by } if by > self.epoch && self.opened && self.has_disk_always() => {
                return self.renew(now, by.number + 1);
            }
            ServerRefusal::Sealed { .. } if self.opened && self.planted == Some(PlantedInLog::FencedIgnored) => return,
            ServerRefusal::Sealed { by } if by > self.epoch && self.opened => {
                return self.stop(WriterStop::Fenced { by });
            }
            // Nothing has been acknowledged in this epoch: another attempt is as good as the first.
            ServerRefusal::Sealed { by } if by > self.epoch => return self.seal_later(now, by),
            _ if of < self.epoch => return,
            ServerRefusal::Outdated { by } if !self.established => return self.seal_later(now, by.max(self.epoch)),
            _ => {}
        }
        let from = self.records.start_mark();
        let Some(peer) = self.peers.get_mut(&server) else { return };
        match (reason, &mut peer.state) {
            (ServerRefusal::Full { .. } | ServerRefusal::Logs, PeerState::Active(shipping)) => {
                shipping.go_back();
                shipping.asked_at = None;
                shipping.progress_at = now;
                shipping.blocked_until = now + FULL_PAUSE;
                self.tell_full(server);
            }
            (ServerRefusal::Full { .. } | ServerRefusal::Logs, PeerState::Restoring(restoring)) => {
                restoring.next = restoring.acknowledged;
                restoring.progress_at = now + FULL_PAUSE;
                restoring.blocked_until = now + FULL_PAUSE;
                self.tell_full(server);
            }
            (ServerRefusal::Mismatch, PeerState::Restoring(restoring)) if restoring.base != from => {
                let base = self.records.boundary_below(restoring.base.position);
                self.restore(now, server, base);
            }
            (ServerRefusal::Damaged { .. }, PeerState::Active(shipping)) => shipping.go_back(),
            (ServerRefusal::Damaged { .. }, PeerState::Restoring(restoring)) => restoring.next = restoring.acknowledged,
            (
                ServerRefusal::Mismatch
                | ServerRefusal::NotActive
                | ServerRefusal::Stranger
                | ServerRefusal::Outdated { .. },
                _,
            ) => {
                peer.asked_at = None;
                self.lose(server);
            }
            _ => {}
        }
    }

    /// Gives up silent servers, asks those that are away, sends again what was not acknowledged.
    pub(super) fn tick_peers(&mut self, now: u64) {
        let is_silent = |peer: &ServerPeer| {
            let since = match &peer.state {
                PeerState::Active(shipping) => shipping.owes_since(),
                PeerState::Restoring(restoring) => Some(restoring.progress_at.max(restoring.blocked_until)),
                PeerState::Away | PeerState::Stranger => None,
            };
            since.is_some_and(|since| since + SILENCE <= now)
        };
        let silent: Vec<ServerId> =
            self.peers.iter().filter(|(_, peer)| is_silent(peer)).map(|(server, _)| *server).collect();
        silent.into_iter().for_each(|server| self.lose(server));
        let wants_spares = self.wants_spares();
        let Some(configuration) = &self.configuration else { return };
        for (server, peer) in &mut self.peers {
            let is_due = peer.asked_at.is_none_or(|asked_at| asked_at + PROBE_PAUSE <= now);
            match &mut peer.state {
                PeerState::Away | PeerState::Stranger => {
                    if is_due && (wants_spares || configuration.incarnation(*server).is_some()) {
                        peer.asked_at = Some(now);
                        self.requests.push_back((*server, WriterRequest::Seal { epoch: self.epoch }));
                    }
                }
                PeerState::Restoring(restoring) => {
                    if restoring.sent_at + RESEND <= now {
                        restoring.next = restoring.acknowledged;
                        // Nothing may be sent before the disk has the epoch.
                        restoring.sent_at = now;
                    }
                }
                PeerState::Active(shipping) => {
                    if is_due && shipping.owes_since().is_some_and(|since| since + RESEND <= now) {
                        peer.asked_at = Some(now);
                        shipping.asked_at.get_or_insert(shipping.progress_at);
                        shipping.go_back();
                    }
                }
            }
        }
        self.consider_renewal(now);
    }

    /// Begins another epoch if a server that is there could count in it.
    fn consider_renewal(&mut self, now: u64) {
        let Some(configuration) = &self.configuration else { return };
        let active = self.peers.values().filter(|peer| is_active(peer)).count();
        if active == configuration.members.len() {
            self.renewal_pause = RENEWAL_PAUSE_MIN;
            return;
        }
        if now < self.renewal_at {
            return;
        }
        let is_stranger = |server: &ServerId| {
            self.peers.get(server).is_some_and(|peer| matches!(peer.state, PeerState::Stranger) && peer.is_heard(now))
        };
        let is_back = configuration.members.iter().any(|member| is_stranger(&member.server));
        let is_replaceable = self.has_disk_always()
            && configuration.members.iter().any(|member| {
                self.peers
                    .get(&member.server)
                    .is_none_or(|peer| matches!(peer.state, PeerState::Away) && !peer.is_heard(now))
            })
            && self.peers.keys().any(is_stranger);
        // An opening that has begun without one of its members begins again with it.
        let is_possible = self.has_disk_always() && self.opened
            || !self.has_disk_always() && (!self.opened || active >= configuration.seal_quorum());
        if is_possible && (is_back || is_replaceable) {
            self.renewal_at = now + self.renewal_pause.max(RENEWAL_PAUSE_MIN);
            self.renewal_pause = (2 * self.renewal_pause).clamp(RENEWAL_PAUSE_MIN, RENEWAL_PAUSE_MAX);
            self.renew(now, self.epoch.number + 1);
        }
    }

    /// Sends every server what it lacks, as far as its window lets.
    pub(super) fn ship(&mut self, now: u64) {
        let (super::WriterPhase::Active, Some(configuration)) = (&self.phase, &self.configuration) else { return };
        let (epoch, from, is_established) = (self.epoch, self.records.start_mark(), self.established);
        // Where every recovery has the disk, servers learn of an epoch only after the disk.
        let basis = match &self.basis {
            _ if self.established => Some(epoch),
            _ if self.has_disk_always() => None,
            basis => Some(basis.as_ref().map_or(epoch, |basis| basis.epoch)),
        };
        let told = if self.planted == Some(PlantedInLog::TruncatedTooFar) { self.records.end_mark() } else { from };
        for (server, peer) in &mut self.peers {
            let mut send = |request| self.requests.push_back((*server, request));
            match &mut peer.state {
                PeerState::Active(shipping) if shipping.blocked_until > now => {}
                PeerState::Active(shipping) => {
                    shipping.blocked_until = 0;
                    while shipping.sent < self.records.end() && shipping.sent_bytes < WINDOW_BYTES {
                        // What has been truncated before it was sent is needed by nobody.
                        let position = shipping.sent.max(from.position);
                        let records = batch(&self.records, position, self.records.end());
                        if shipping.sent == shipping.held {
                            shipping.progress_at = now;
                        }
                        let bytes = records.iter().map(|record| record.bytes.len() as u64).sum();
                        shipping.sent = position.plus(records.len());
                        shipping.sent_bytes += bytes;
                        shipping.sends.push_back(SentRequest { end: shipping.sent, at: now, bytes });
                        shipping.told_from = from.position;
                        send(WriterRequest::Append { epoch, is_established, from: told, position, records });
                    }
                    let is_untold = shipping.told_from < from.position && shipping.sent == self.records.end();
                    let is_idle = shipping.progress_at + SILENCE / 2 <= now;
                    if shipping.owes_since().is_none() && (is_untold || is_idle) {
                        shipping.asked_at = Some(now);
                        shipping.told_from = from.position;
                        let position = shipping.sent;
                        send(WriterRequest::Append { epoch, is_established, from, position, records: Vec::new() });
                    }
                }
                PeerState::Restoring(restoring) if restoring.blocked_until > now => {}
                PeerState::Restoring(restoring) => {
                    if restoring.next < from.position {
                        // What was being restored has been truncated: all of the rest is restored.
                        *restoring = RestoringLog::new(now, from, from.position, self.records.end_mark());
                    }
                    // One message at a time: the reply says where to go on.
                    if let Some(request) = restoring.next_request(configuration, basis, &self.records) {
                        restoring.sent_at = now;
                        send(request);
                    }
                }
                PeerState::Away | PeerState::Stranger => {}
            }
        }
    }

    /// The k-th of what members hold: so much is held by k.
    pub(super) fn held_by(&self, copies: usize) -> Option<RecordNumber> {
        let mut held: Vec<RecordNumber> = self.peers.values().filter_map(ServerPeer::held).collect();
        held.sort_unstable_by(|one, other| other.cmp(one));
        copies.checked_sub(1).and_then(|last| held.get(last).copied())
    }

    /// Members that take records now.
    pub(super) fn usable(&self, now: u64) -> usize {
        let is_usable =
            |peer: &&ServerPeer| matches!(&peer.state, PeerState::Active(shipping) if shipping.blocked_until <= now);
        self.peers.values().filter(is_usable).count()
    }

    /// When a server has to be asked, given up, or sent something again.
    pub(super) fn deadline_peers(&self) -> Option<u64> {
        let configuration = self.configuration.as_ref()?;
        let wants_spares = self.wants_spares();
        let deadlines = self.peers.iter().filter_map(|(server, peer)| {
            let probe_at = peer.asked_at.map_or(0, |asked_at| asked_at + PROBE_PAUSE);
            match &peer.state {
                PeerState::Away | PeerState::Stranger => {
                    (wants_spares || configuration.incarnation(*server).is_some()).then_some(probe_at)
                }
                PeerState::Restoring(restoring) => Some((restoring.sent_at + RESEND).max(restoring.blocked_until)),
                PeerState::Active(shipping) if shipping.blocked_until > 0 => Some(shipping.blocked_until),
                PeerState::Active(shipping) => Some(match shipping.owes_since() {
                    Some(since) => (since + RESEND).max(probe_at),
                    None => shipping.progress_at + SILENCE / 2,
                }),
            }
        });
        deadlines.min()
    }

    /// Whether members are missing for whom others could stand in.
    fn wants_spares(&self) -> bool {
        let members = self.configuration.iter().flat_map(|configuration| &configuration.members);
        let is_missing = |server: &ServerId| !self.peers.get(server).is_some_and(is_active);
        self.has_disk_always() && members.map(|member| member.server).any(|server| is_missing(&server))
    }
}
