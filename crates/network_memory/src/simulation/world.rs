//! The world: what happens when, and what is handed to whom.

use super::hosts::{Clock, Life, SimHost, SimServer};
use super::ledger::{Displayed, Ledger, Opening};
use super::profile::Profile;
use crate::message::{Reply, Request, ToWriter};
use crate::names::{DiskId, LogId, Position, Receipt, ServerId};
use crate::planted::Planted;
use crate::server::Room;
use crate::writer::{Boot, Disk, Event as Happened, Intent, Lack, Stop, Terms, Writer};
use commit_log::{Log, MemoryLog};
use raidcomm::limits::{MILLISECOND, SECOND};
use raidcomm::transaction::random::Random;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

pub(super) const LOG: LogId = LogId(7);
/// Events of a run: far more than any run has that gets anywhere.
const EVENTS_MAX: u64 = 400_000;
/// In a world that is well again, a log is open by then.
const PATIENCE: u64 = 30 * SECOND;
/// The last of what has happened, for the story of a failure.
const STORY: usize = 60;

pub(super) enum Event {
    Request {
        server: usize,
        host: usize,
        generation: u64,
        request: Request,
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
pub(super) struct Counts {
    pub(super) acknowledged: u64,
    pub(super) opened: u64,
    pub(super) indeterminate: u64,
}

pub(super) struct World {
    pub(super) now: u64,
    pub(super) random: Random,
    pub(super) profile: Profile,
    pub(super) planted: Option<Planted>,
    pub(super) servers: Vec<SimServer>,
    pub(super) hosts: Vec<SimHost>,
    /// Between which host and server nothing arrives.
    pub(super) cut: BTreeSet<(usize, usize)>,
    events: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    ledger: Ledger,
    acts_left: u64,
    next_record: u64,
    indeterminate: u64,
    story: VecDeque<String>,
}

pub(super) fn address(index: usize) -> ServerId {
    ServerId(SocketAddr::from(([10, 0, 0, 1], 1 + index as u16)))
}

impl World {
    pub(super) fn new(seed: u64, planted: Option<Planted>) -> World {
        let mut random = Random::new(seed);
        let profile = Profile::of(&mut random);
        let room = Room { capacity_bytes: u64::MAX, quota_bytes: profile.quota_bytes };
        let servers = (0..usize::from(profile.servers)).map(|index| SimServer {
            id: address(index),
            clock: Clock::new(&mut random, profile.drift),
            life: Life::Lost,
            lives: 0,
            room,
        });
        let servers: Vec<SimServer> = servers.collect();
        let hosts = (0..profile.hosts).map(|_| SimHost {
            clock: Clock::new(&mut random, profile.drift),
            disk: profile.has_disks.then(MemoryLog::new),
            boots: 0,
            writer: None,
            generation: 0,
            receipts: Position(0),
            places: BTreeMap::new(),
            sync_at: None,
            wake_at: None,
            opened: None,
            accepts_loss: false,
        });
        let hosts = hosts.collect();
        World {
            now: SECOND,
            random,
            profile,
            planted,
            servers,
            hosts,
            cut: BTreeSet::new(),
            events: BTreeMap::new(),
            scheduled: 0,
            ledger: Ledger::default(),
            acts_left: profile.acts,
            next_record: 0,
            indeterminate: 0,
            story: VecDeque::new(),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
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

    pub(super) fn schedule(&mut self, at: u64, event: Event) {
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
        self.schedule(self.now, Event::Act);
        self.pass(u64::MAX / 4, |world| world.acts_left == 0)?;
        self.finish()
    }

    /// Lets things happen for so long, or until then.
    fn pass(&mut self, time: u64, until: impl Fn(&World) -> bool) -> Result<(), String> {
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

    fn is_open(&self, host: usize) -> bool {
        self.hosts[host].writer.as_ref().is_some_and(Writer::is_open)
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Request { server, host, generation, request } => self.serve(server, host, generation, request),
            Event::Reply { host, generation, server, message } => {
                let now = self.hosts[host].clock.local(self.now);
                if self.hosts[host].generation == generation
                    && let Some(writer) = &mut self.hosts[host].writer
                {
                    writer.handle(now, address(server), message);
                }
                self.drive(host)
            }
            Event::Wake { host, generation } => {
                let at = self.hosts[host].wake_at;
                if self.hosts[host].generation == generation && at.is_some_and(|at| at <= self.now) {
                    self.hosts[host].wake_at = None;
                    let now = self.hosts[host].clock.local(self.now);
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
            Event::Synced { host, generation } => {
                if self.hosts[host].generation == generation {
                    self.hosts[host].sync_at = None;
                    let now = self.hosts[host].clock.local(self.now);
                    if let Some(writer) = &mut self.hosts[host].writer {
                        if let Some(disk) = writer.disk_mut() {
                            disk.complete_sync();
                        }
                        writer.tick(now);
                    }
                }
                self.drive(host)
            }
            Event::Act => self.act(),
            Event::Strike { host, generation, .. } if self.hosts[host].generation != generation => Ok(()),
            Event::Strike { host, is_power: true, .. } => {
                self.crash(host, true);
                Ok(())
            }
            Event::Strike { host, generation, .. } => {
                let soon = self.now + self.random.below(5 * self.profile.latency);
                self.schedule(soon, Event::Strike { host, generation, is_power: true });
                self.write(host)
            }
            Event::Forget { server } => self.forget(server),
        }
    }

    fn serve(&mut self, server: usize, host: usize, generation: u64, request: Request) -> Result<(), String> {
        let (id, now) = (address(server), self.servers[server].clock.local(self.now));
        let machine = match &mut self.servers[server].life {
            Life::Up(machine) => machine,
            Life::Stopped(_) => {
                // It gets what it was sent when it goes on, if ever.
                let later = self.now + 50 * MILLISECOND;
                self.schedule(later, Event::Request { server, host, generation, request });
                return Ok(());
            }
            Life::Saved(_) | Life::Lost => return Ok(()),
        };
        let reply = machine.handle(now, LOG, request);
        let incarnation = machine.incarnation();
        for log in machine.status().logs {
            if let Some(epoch) = log.active {
                self.ledger.holds(id, epoch, log.end);
            }
        }
        if let Reply::Refused { reason, .. } = &reply {
            let reason = *reason;
            self.note(|| format!("server {server} refuses host {host}: {reason}"));
        }
        let message = ToWriter::new(LOG, incarnation, reply);
        for at in self.arrivals(host, server) {
            self.schedule(at, Event::Reply { host, generation, server, message: message.clone() });
        }
        Ok(())
    }

    /// When the copies of a message arrive.
    fn arrivals(&mut self, host: usize, server: usize) -> Vec<u64> {
        let Profile { loss_percent, double_percent, latency, slow_percent, .. } = self.profile;
        if self.cut.contains(&(host, server)) || self.random.percent(loss_percent) {
            return Vec::new();
        }
        let copies = 1 + usize::from(self.random.percent(double_percent));
        let arrival = |random: &mut Random| {
            let most = if random.percent(slow_percent) { 300 * MILLISECOND } else { latency };
            self.now + most / 10 + random.below(most)
        };
        (0..copies).map(|_| arrival(&mut self.random)).collect()
    }

    /// Takes what a writer has to say, and looks at it.
    pub(super) fn drive(&mut self, host: usize) -> Result<(), String> {
        let Some(mut writer) = self.hosts[host].writer.take() else { return Ok(()) };
        let result = self.look_at(host, &mut writer);
        self.hosts[host].writer = Some(writer);
        result
    }

    fn look_at(&mut self, host: usize, writer: &mut Writer<MemoryLog>) -> Result<(), String> {
        let generation = self.hosts[host].generation;
        while let Some(event) = writer.take_event() {
            self.note(|| format!("host {host}: {event:?}"));
            // The moment at which the disk and the servers may disagree on who holds what.
            if event == Happened::MemoryBack && self.acts_left > 0 && self.random.percent(3) {
                let soon = self.now + self.random.below(self.profile.sync_time);
                self.schedule(soon, Event::Strike { host, generation, is_power: false });
            }
            if let Happened::Opened { epoch, from, end, doubt, .. } = event {
                if self.profile.restart_on_this_disk && host != 0 && !self.hosts[host].accepts_loss {
                    return Err(format!("host {host} has opened the log of another host's disk"));
                }
                let has_disk = self.profile.restart_on_this_disk;
                let opening = Opening { host, epoch, from, doubt, has_disk };
                self.ledger.opened(opening, end, |position| writer.read(position).map(|bytes| &bytes[..]))?;
                self.hosts[host].opened = Some(epoch);
                self.hosts[host].receipts = end;
            }
        }
        self.check_receipts(host, writer)?;
        while let Some((server, request)) = writer.take_requests() {
            let server = usize::from(server.0.port()) - 1;
            for at in self.arrivals(host, server) {
                self.schedule(at, Event::Request { server, host, generation, request: request.clone() });
            }
        }
        if self.hosts[host].sync_at.is_none() && writer.disk().is_some_and(|disk| disk.sync_requested().is_some()) {
            let at = self.now + self.profile.sync_time / 4 + self.random.below(self.profile.sync_time);
            self.hosts[host].sync_at = Some(at);
            self.schedule(at, Event::Synced { host, generation });
        }
        if let Some(deadline) = writer.next_deadline() {
            let at = self.hosts[host].clock.global(deadline).max(self.now + 1) + self.random.below(100_000);
            if self.hosts[host].wake_at.is_none_or(|wake_at| at < wake_at) {
                self.hosts[host].wake_at = Some(at);
                self.schedule(at, Event::Wake { host, generation });
            }
        }
        Ok(())
    }

    fn check_receipts(&mut self, host: usize, writer: &mut Writer<MemoryLog>) -> Result<(), String> {
        let Some(epoch) = self.hosts[host].opened else { return Ok(()) };
        // A writer that is open may have gone on to another epoch.
        let epoch = writer.configuration().map_or(epoch, |configuration| configuration.epoch);
        let receipts: Vec<(Position, Receipt)> = writer.take_receipts().collect();
        for (end, receipt) in receipts {
            while self.hosts[host].receipts < end {
                let position = self.hosts[host].receipts;
                self.hosts[host].receipts = position.plus(1);
                let bytes = writer.read(position).ok_or(format!("a receipt for {position}, which is not there"))?;
                let synced = writer.disk().map(Log::synced);
                let place = self.hosts[host].places.get(&position);
                let is_synced = synced.zip(place).is_some_and(|(synced, place)| synced >= *place);
                let copies = self.profile.copies;
                self.ledger.receipt((host, epoch), position, bytes, receipt, copies, is_synced)?;
            }
        }
        Ok(())
    }

    pub(super) fn open(&mut self, host: usize, intent: Intent) -> Result<(), String> {
        self.note(|| format!("host {host} begins ({intent:?})"));
        let nonce = self.random.draw();
        let terms = Terms {
            log: LOG,
            copies: self.profile.copies,
            members: self.profile.members,
            servers: self.servers.iter().map(|server| server.id).collect(),
            restart_on_this_disk: self.profile.restart_on_this_disk,
            retained_bytes_max: u64::MAX,
        };
        let name_if_new = DiskId(self.random.draw());
        let simulated = &mut self.hosts[host];
        let now = simulated.clock.local(self.now);
        let boot = Boot(simulated.boots);
        let disk = simulated.disk.take().map(|log| Disk { log, name_if_new, boot, is_cut: false });
        let writer = Writer::begin(now, terms, nonce, disk, intent, self.planted)
            .map_err(|error| format!("host {host} cannot begin: {error}"))?;
        simulated.writer = Some(writer);
        simulated.generation += 1;
        (simulated.sync_at, simulated.wake_at, simulated.opened) = (None, None, None);
        simulated.places.clear();
        simulated.accepts_loss = intent == Intent::AcceptLoss;
        self.drive(host)
    }

    /// A writer's process ends, or its host loses power.
    pub(super) fn crash(&mut self, host: usize, is_power: bool) {
        let Some(writer) = self.hosts[host].writer.take() else { return };
        if !writer.is_open() {
            self.indeterminate += 1;
        }
        self.note(|| format!("host {host} crashes (power: {is_power})"));
        let now = self.hosts[host].clock.local(self.now);
        if writer.is_open() {
            self.ledger.crashed(host, Displayed { synced: writer.status(now).synced });
        }
        let simulated = &mut self.hosts[host];
        simulated.boots += u128::from(is_power);
        simulated.generation += 1;
        let Some(mut disk) = writer.into_disk() else { return };
        if is_power {
            let unsynced = disk.appended().since(disk.synced());
            let keep = commit_log::Position(disk.synced().0 + self.random.below(unsynced + 1));
            disk.power_loss(keep, self.random.percent(50));
        } else {
            disk.restart();
        }
        self.hosts[host].disk = Some(disk);
    }

    fn act(&mut self) -> Result<(), String> {
        self.acts_left -= 1;
        let at = self.now + 1 + self.random.below(self.profile.pause);
        self.schedule(at, Event::Act);
        if self.random.below(1_000) < self.profile.faults {
            return self.break_something();
        }
        for server in 0..self.servers.len() {
            if !self.servers[server].is_up() && self.random.percent(20) {
                self.servers[server].start(self.now, self.planted)?;
                self.note(|| format!("server {server} starts or goes on"));
            }
        }
        if self.random.percent(15) {
            self.cut.pop_first();
        }
        let host = self.random.below(self.hosts.len() as u64) as usize;
        if self.hosts[host].writer.is_none() {
            let is_wanted = self.random.percent(if host == 0 { 60 } else { 3 });
            return if is_wanted { self.open(host, Intent::Open) } else { Ok(()) };
        }
        let is_stopped = self.hosts[host].writer.as_ref().is_some_and(|writer| writer.stopped().is_some());
        if is_stopped && self.random.percent(50) {
            self.crash(host, false);
            return Ok(());
        }
        self.write(host)
    }

    fn write(&mut self, host: usize) -> Result<(), String> {
        let now = self.hosts[host].clock.local(self.now);
        let Some(mut writer) = self.hosts[host].writer.take() else { return Ok(()) };
        if writer.is_open() {
            if self.random.percent(10) {
                let position = writer.acknowledged();
                let back = self.random.below(4) as usize;
                let position = Position(position.0.saturating_sub(back as u64)).max(writer.from());
                // Whoever truncates knows that nobody needs this any more: a writer that is late must not say so.
                if self.hosts[host].opened.is_some() && self.is_latest(host) {
                    self.ledger.truncated(position);
                    writer.truncate_before(now, position);
                }
            }
            for _ in 0..1 + self.random.below(4) {
                self.next_record += 1;
                let mut bytes = self.next_record.to_le_bytes().to_vec();
                bytes.resize(8 + self.random.below(40) as usize, self.next_record as u8);
                match writer.append(now, &bytes) {
                    Ok(position) => {
                        if let Some(disk) = writer.disk() {
                            self.hosts[host].places.insert(position, disk.appended());
                        }
                    }
                    Err(error) => return Err(format!("host {host} cannot append: {error}")),
                }
            }
            writer.flush(now);
        }
        self.hosts[host].writer = Some(writer);
        self.drive(host)
    }

    /// Whether no other host has opened the log since.
    fn is_latest(&self, host: usize) -> bool {
        self.hosts.iter().all(|other| other.opened <= self.hosts[host].opened)
    }

    /// In a world that is well again the log is opened, or it is said what is lost; and it can be written to.
    fn finish(&mut self) -> Result<(), String> {
        self.events.retain(|_, event| !matches!(event, Event::Act | Event::Strike { .. } | Event::Forget { .. }));
        self.cut.clear();
        (self.profile.loss_percent, self.profile.slow_percent) = (0, 0);
        for server in &mut self.servers {
            server.start(self.now, self.planted)?;
        }
        let last = (0..self.hosts.len()).max_by_key(|host| self.hosts[*host].opened).unwrap_or(0);
        let host = if self.profile.restart_on_this_disk { 0 } else { last };
        for other in 0..self.hosts.len() {
            let is_power = self.random.percent(50);
            self.crash(other, is_power);
        }
        self.note(|| "all is well".to_owned());
        for intent in [Intent::Open, Intent::Open, Intent::AcceptLoss] {
            // What a writer has sent before it died may fence the next one.
            self.pass(SECOND, |_| false)?;
            self.open(host, intent)?;
            let is_settled = |world: &World| {
                let writer = world.hosts[host].writer.as_ref();
                writer.is_some_and(|writer| writer.is_open() || writer.stopped().is_some())
            };
            self.pass(PATIENCE, is_settled)?;
            if self.is_open(host) {
                return self.write_at_last(host);
            }
            let writer = self.hosts[host].writer.as_ref().ok_or("there is no writer")?;
            match writer.stopped() {
                Some(Stop::Fenced { .. }) => {
                    self.crash(host, false);
                    continue;
                }
                Some(stop) => return Err(format!("the log cannot be opened where it was made: {stop}")),
                None => {}
            }
            let missing = writer.missing().ok_or("the log is not open, and nothing is missing")?;
            let is_excused = |(_, lack): &(ServerId, Lack)| matches!(lack, Lack::Empty | Lack::Damaged(_));
            if !missing.is_unknown && !missing.servers.iter().any(is_excused) {
                return Err(format!("the log is not open though all is well: {missing}"));
            }
            self.crash(host, false);
        }
        Ok(())
    }

    fn write_at_last(&mut self, host: usize) -> Result<(), String> {
        let now = self.hosts[host].clock.local(self.now);
        if let Some(writer) = &mut self.hosts[host].writer {
            let position = writer.acknowledged();
            writer.truncate_before(now, position);
            self.ledger.truncated(position);
        }
        self.write(host)?;
        let end = self.hosts[host].writer.as_ref().map(Writer::end);
        self.pass(PATIENCE, |world| world.hosts[host].writer.as_ref().map(Writer::acknowledged) >= end)?;
        match self.hosts[host].writer.as_ref().map(Writer::acknowledged) >= end {
            true => Ok(()),
            false => Err("what was appended in a well world gets no receipt".to_owned()),
        }
    }
}
