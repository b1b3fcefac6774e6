//! The world: what happens when, and what is handed to whom.

use super::hosts::{DriftingClock, ServerLife, SimHost, SimServer};
use super::ledger::LogLedger;
use super::losses::Losses;
use super::matching::{Matching, Whose};
use super::profile::LogRunProfile;
use crate::message::{ServerReply, ToWriter, WriterRequest};
use crate::names::{LogId, ServerId};
use crate::planted::PlantedInLog;
use crate::server::Room;
use crate::writer::{Intent, LogWriter};
use commit_log::MemoryLog;
use raidcomm::limits::{MILLISECOND, SECOND};
use seeded_random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

pub(super) const LOG: LogId = LogId(7);
/// Events of a run: far more than any run has that gets anywhere.
const EVENTS_MAX: u64 = 400_000;
/// In a world that is well again, a log is open by then.
pub(super) const PATIENCE: u64 = 30 * SECOND;
/// The last of what has happened, for the story of a failure.
const STORY: usize = 60;

pub(super) enum LogWorldEvent {
    Request {
        server: usize,
        host: usize,
        generation: u64,
        request: WriterRequest,
    },
    Reply {
        host: usize,
        generation: u64,
        server: usize,
        message: ToWriter,
    },
    Wake {
        host: usize,
        generation: u64,
    },
    Synced {
        host: usize,
        generation: u64,
    },
    Act,
    /// Something is written, and soon afterwards the host loses power.
    Strike {
        host: usize,
        generation: u64,
        is_power: bool,
    },
    /// A server loses its memory and starts again.
    Forget {
        server: usize,
    },
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorldCounts {
    pub(super) acknowledged: u64,
    pub(super) opened: u64,
    pub(super) indeterminate: u64,
}

pub(super) struct LogWorld {
    pub(super) now: u64,
    pub(super) random: SplitMix64,
    pub(super) profile: LogRunProfile,
    pub(super) planted: Option<PlantedInLog>,
    pub(super) servers: Vec<SimServer>,
    pub(super) hosts: Vec<SimHost>,
    /// Between which host and server nothing arrives, of requests (`true`) or of replies.
    pub(super) cut: BTreeSet<(usize, usize, bool)>,
    pub(super) events: BTreeMap<(u64, u64), LogWorldEvent>,
    scheduled: u64,
    pub(super) ledger: LogLedger,
    pub(super) matching: Matching,
    pub(super) losses: Losses,
    /// The host with the disk on which the log restarts.
    pub(super) home: usize,
    /// How often its loss was accepted.
    pub(super) takeovers: u64,
    pub(super) acts_left: u64,
    pub(super) next_record: u64,
    pub(super) indeterminate: u64,
    story: VecDeque<String>,
}

pub(super) fn address(index: usize) -> ServerId {
    ServerId(SocketAddr::from(([10, 0, 0, 1], 1 + index as u16)))
}

impl LogWorld {
    pub(super) fn new(seed: u64, planted: Option<PlantedInLog>) -> LogWorld {
        let mut random = SplitMix64::new(seed);
        let profile = LogRunProfile::of(&mut random);
        let room = Room { capacity_bytes: profile.capacity_bytes, quota_bytes: profile.quota_bytes };
        let servers = (0..usize::from(profile.servers)).map(|index| SimServer {
            id: address(index),
            clock: DriftingClock::new(&mut random, profile.drift),
            life: ServerLife::Lost,
            kept: None,
            lives: 0,
            room,
        });
        let servers: Vec<SimServer> = servers.collect();
        let hosts = (0..profile.hosts).map(|_| {
            SimHost::new(DriftingClock::new(&mut random, profile.drift), profile.has_disks.then(MemoryLog::new))
        });
        let hosts = hosts.collect();
        LogWorld {
            now: SECOND,
            random,
            profile,
            planted,
            servers,
            hosts,
            cut: BTreeSet::new(),
            events: BTreeMap::new(),
            scheduled: 0,
            ledger: LogLedger::default(),
            matching: Matching::default(),
            losses: Losses::default(),
            home: 0,
            takeovers: 0,
            acts_left: profile.acts,
            next_record: 0,
            indeterminate: 0,
            story: VecDeque::new(),
        }
    }

    pub(super) fn counts(&self) -> WorldCounts {
        WorldCounts {
            acknowledged: self.ledger.acknowledged,
            opened: self.ledger.openings,
            indeterminate: self.indeterminate,
        }
    }

    /// What led to a failure.
    pub(super) fn story(&self) -> String {
        let writers: Vec<String> = self.hosts.iter().map(|host| format!("{:?}", host.writer)).collect();
        let lines: Vec<&str> = self.story.iter().map(String::as_str).collect();
        format!("{:?}\n{}\n{}", self.profile, lines.join("\n"), writers.join("\n"))
    }

    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        if self.story.len() >= STORY {
            self.story.pop_front();
        }
        let line = format!("{:.6} s: {}", self.now as f64 / SECOND as f64, what());
        self.story.push_back(line);
    }

    pub(super) fn schedule(&mut self, at: u64, event: LogWorldEvent) {
        self.scheduled += 1;
        self.events.insert((at.max(self.now), self.scheduled), event);
    }

    pub(super) fn run(&mut self) -> Result<(), String> {
        for server in &mut self.servers {
            server.start(self.now, self.planted)?;
        }
        self.open(0, Intent::Create)?;
        let lossless = std::mem::take(&mut self.profile.loss_percent);
        self.pass(PATIENCE, |world| world.is_open(0))?;
        if !self.is_open(0) {
            return Err("a log was not made though everything is well".to_owned());
        }
        self.profile.loss_percent = lossless;
        self.schedule(self.now, LogWorldEvent::Act);
        self.pass(u64::MAX / 4, |world| world.acts_left == 0)?;
        self.finish()
    }

    /// Lets things happen for so long, or until then.
    pub(super) fn pass(&mut self, time: u64, until: impl Fn(&LogWorld) -> bool) -> Result<(), String> {
        let end = self.now + time;
        let mut events = 0;
        while !until(self)
            && let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= end)
        {
            self.now = entry.key().0;
            let event = entry.remove();
            self.happen(event)?;
            events += 1;
            if events > EVENTS_MAX {
                return Err("nothing comes to an end".to_owned());
            }
        }
        Ok(())
    }

    pub(super) fn is_open(&self, host: usize) -> bool {
        self.hosts[host].writer.as_ref().is_some_and(LogWriter::is_open)
    }

    fn happen(&mut self, event: LogWorldEvent) -> Result<(), String> {
        match event {
            LogWorldEvent::Request { server, host, generation, request } => {
                self.serve(server, host, generation, request)
            }
            LogWorldEvent::Reply { host, .. } | LogWorldEvent::Wake { host, .. }
                if self.hosts[host].paused_until > self.now =>
            {
                let later = self.hosts[host].paused_until;
                self.schedule(later, event);
                Ok(())
            }
            LogWorldEvent::Reply { host, generation, server, message } => {
                let now = self.hosts[host].now(self.now);
                let SimHost { writer, answered, told_held, generation: living, .. } = &mut self.hosts[host];
                if *living == generation
                    && let Some(writer) = writer
                {
                    if let (Some(epoch), ServerReply::Sealed { epoch: of, .. }) = (writer.sealing(), &message.reply)
                        && epoch == *of
                    {
                        if answered.0 != epoch {
                            *answered = (epoch, BTreeSet::new());
                        }
                        answered.1.insert(server);
                    }
                    if let ServerReply::Held { .. } = message.reply {
                        told_held.insert(server);
                    }
                    writer.handle(now, address(server), message);
                }
                self.drive(host)
            }
            LogWorldEvent::Wake { host, generation } => {
                let at = self.hosts[host].wake_at;
                if self.hosts[host].generation == generation && at.is_some_and(|at| at <= self.now) {
                    self.hosts[host].wake_at = None;
                    let now = self.hosts[host].now(self.now);
                    if let Some(writer) = &mut self.hosts[host].writer {
                        writer.tick(now);
                        if let Some(deadline) = writer.next_deadline().filter(|deadline| *deadline <= now) {
                            return Err(format!(
                                "host {host} is awake for a deadline that is over: {deadline} at {now}: {writer:?}"
                            ));
                        }
                    }
                }
                self.drive(host)
            }
            LogWorldEvent::Synced { host, generation } => self.synced(host, generation),
            LogWorldEvent::Act => self.act(),
            LogWorldEvent::Strike { host, generation, .. } if self.hosts[host].generation != generation => Ok(()),
            LogWorldEvent::Strike { host, is_power: true, .. } => {
                self.crash(host, true);
                Ok(())
            }
            LogWorldEvent::Strike { host, generation, .. } => {
                let soon = self.now + self.random.below(5 * self.profile.latency);
                self.schedule(soon, LogWorldEvent::Strike { host, generation, is_power: true });
                self.write(host)
            }
            // Where a disk comes back that was given up, somebody must be there to say so.
            LogWorldEvent::Forget { .. } if self.profile.restart_on_this_disk && self.takeovers > 0 => Ok(()),
            LogWorldEvent::Forget { server } => self.forget(server),
        }
    }

    fn serve(&mut self, server: usize, host: usize, generation: u64, request: WriterRequest) -> Result<(), String> {
        let (id, now) = (address(server), self.servers[server].clock.local(self.now));
        let machine = match &mut self.servers[server].life {
            ServerLife::Up(machine) => machine,
            ServerLife::Stopped(_) => {
                // It gets what it was sent when it goes on, if ever.
                let later = self.now + 50 * MILLISECOND;
                self.schedule(later, LogWorldEvent::Request { server, host, generation, request });
                return Ok(());
            }
            ServerLife::Saved(_) | ServerLife::Lost => return Ok(()),
        };
        let is_asked = matches!(request, WriterRequest::Permit { granted: true, .. });
        let reply = machine.handle(now, LOG, request);
        self.ledger.is_granted |= is_asked && matches!(reply, ServerReply::Permitted { .. });
        let incarnation = machine.incarnation();
        if let Some((held, records)) = machine.peek(LOG)
            && let Some(configuration) = held.configuration
        {
            let whose = Whose::Server { index: server, incarnation: incarnation.0 };
            self.matching.holds(whose, configuration.epoch, records)?;
            self.ledger.holds(id, incarnation, configuration.epoch, held.end.position);
        }
        if let ServerReply::Refused { reason, .. } = &reply {
            let reason = *reason;
            self.note(|| format!("server {server} refuses host {host}: {reason}"));
        }
        let message = ToWriter::new(LOG, incarnation, reply);
        for at in self.arrivals(host, server, false) {
            self.schedule(at, LogWorldEvent::Reply { host, generation, server, message: message.clone() });
        }
        Ok(())
    }

    /// When the copies of a message arrive.
    pub(super) fn arrivals(&mut self, host: usize, server: usize, is_request: bool) -> Vec<u64> {
        let LogRunProfile { loss_percent, double_percent, latency, slow_percent, .. } = self.profile;
        if self.cut.contains(&(host, server, is_request)) || self.random.percent(loss_percent) {
            return Vec::new();
        }
        let copies = 1 + usize::from(self.random.percent(double_percent));
        let arrival = |random: &mut SplitMix64| {
            let most = if random.percent(slow_percent) { 300 * MILLISECOND } else { latency };
            self.now + most / 10 + random.below(most)
        };
        (0..copies).map(|_| arrival(&mut self.random)).collect()
    }
}
