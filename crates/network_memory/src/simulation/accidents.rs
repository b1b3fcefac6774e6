//! What goes wrong in a simulated world.

use super::hosts::ServerLife;
use super::world::{LOG, LogWorld, LogWorldEvent, address};
use crate::names::RecordNumber;
use crate::writer::{Intent, LogWriter};
use raidcomm::limits::{MILLISECOND, SECOND};

impl LogWorld {
    pub(super) fn act(&mut self) -> Result<(), String> {
        self.acts_left -= 1;
        let at = self.now + 1 + self.random.below(self.profile.pause);
        self.schedule(at, LogWorldEvent::Act);
        // Of two disks whose loss was accepted in turn the servers must have heard.
        let is_returning = |(index, host): (usize, &super::hosts::SimHost)| {
            let writer = host.writer.as_ref();
            let is_opening = writer.is_some_and(|writer| !writer.is_open() && writer.stopped().is_none());
            host.accepts_loss || self.takeovers > 0 && index != self.home && is_opening
        };
        let is_taken_over = self.profile.restart_on_this_disk && self.hosts.iter().enumerate().any(is_returning);
        if self.random.below(1_000) < self.profile.faults && !is_taken_over {
            return self.break_something();
        }
        for server in 0..self.servers.len() {
            if !self.servers[server].is_up() && self.random.percent(20) {
                self.servers[server].start(self.now, self.planted)?;
                self.note(|| format!("server {server} starts or goes on"));
            }
        }
        if self.random.percent(self.profile.heal_percent) {
            self.cut.pop_first();
        }
        let host = self.random.below(self.hosts.len() as u64) as usize;
        if self.random.percent(20)
            && let Some(disk) = self.hosts[host].writer.as_mut().and_then(LogWriter::disk_mut)
        {
            disk.set_full(false);
        }
        let Some(writer) = &self.hosts[host].writer else {
            let is_wanted = self.random.percent(if host == self.home { 60 } else { 3 });
            return if is_wanted && self.may_open(host) { self.open(host, Intent::Open) } else { Ok(()) };
        };
        let (is_stopped, is_open) = (writer.stopped().is_some(), writer.is_open());
        // Somebody starts it anew, or has waited long enough.
        if is_stopped && self.random.percent(50) || !is_open && self.random.percent(1) {
            self.crash(host, false);
            return Ok(());
        }
        self.write(host)
    }

    /// A disk whose loss was accepted comes back only where somebody can tell it: it always goes on alone.
    fn may_open(&self, host: usize) -> bool {
        !self.profile.restart_on_this_disk || self.takeovers == 0 || host == self.home || self.may_be_told(host)
    }

    /// Whether a host hears from all servers, and one of them knows of each disk that the log has gone to.
    fn may_be_told(&self, host: usize) -> bool {
        let knows = |life: &ServerLife| match life {
            ServerLife::Up(server) => server
                .peek(LOG)
                .and_then(|(held, _)| held.configuration)
                .is_some_and(|held| held.generation == self.takeovers),
            _ => false,
        };
        !self.profile.restart_on_this_disk
            || self.cut.iter().all(|(cut, ..)| *cut != host)
                && self.profile.loss_percent == 0
                && self.servers.iter().all(|server| server.is_up())
                && self.servers.iter().any(|server| knows(&server.life))
    }

    fn break_something(&mut self) -> Result<(), String> {
        let host = self.random.below(self.hosts.len() as u64) as usize;
        let server = self.random.below(self.servers.len() as u64) as usize;
        match self.random.below(15) {
            0 => self.crash(host, false),
            1 => self.crash(host, true),
            2 | 3 => {
                let is_lost = self.random.percent(self.profile.memory_lost_percent);
                self.note(|| format!("server {server} ends (memory lost: {is_lost})"));
                self.end(server, is_lost)?;
                if self.random.percent(50) && self.hosts[host].paused_until <= self.now {
                    let now = self.hosts[host].now(self.now);
                    if let Some(writer) = &mut self.hosts[host].writer {
                        writer.disconnected(now, address(server));
                    }
                    self.drive(host)?;
                }
            }
            4 | 5 => {
                self.note(|| format!("nothing arrives between host {host} and server {server}"));
                self.cut(host, server);
            }
            6 => {
                self.note(|| format!("server {server} stops"));
                self.servers[server].stop();
            }
            7 => self.damage(server),
            8 => self.seal_and_forget(server)?,
            9 => {
                let is_request = self.random.percent(50);
                self.note(|| format!("host {host} and server {server}: one hears the other no more"));
                self.cut.insert((host, server, is_request));
            }
            10 | 11 => self.stand_still(host),
            12 => self.break_disk(host),
            13 => self.accept_loss(host)?,
            // Somebody takes the log over, and whoever had it is cut off or not.
            _ => {
                let other = self.other(self.home);
                if self.random.percent(70) {
                    (0..self.servers.len()).for_each(|server| self.cut(self.home, server));
                    self.note(|| "whoever had the log is cut off".to_owned());
                }
                if self.hosts[other].writer.is_none() && self.may_open(other) {
                    return self.open(other, Intent::Open);
                }
            }
        }
        Ok(())
    }

    /// A process is stopped when it has just looked at the clock, and goes on with that.
    pub(super) fn stand_still(&mut self, host: usize) {
        self.note(|| format!("host {host} stands still"));
        self.hosts[host].stale = Some(self.now);
        self.hosts[host].paused_until = self.now + self.random.below(5 * SECOND);
    }

    /// Another host, or the same if there is one only.
    fn other(&mut self, host: usize) -> usize {
        let others = self.hosts.len() as u64;
        if others == 1 { host } else { (host + 1 + self.random.below(others - 1) as usize) % self.hosts.len() }
    }

    fn cut(&mut self, host: usize, server: usize) {
        self.cut.extend([(host, server, true), (host, server, false)]);
    }

    fn end(&mut self, server: usize, is_lost: bool) -> Result<(), String> {
        self.servers[server].end(is_lost)?;
        if matches!(self.servers[server].life, ServerLife::Lost) {
            self.losses.lost(server);
        }
        Ok(())
    }

    /// Somebody seals the log at one server alone, which then forgets that.
    fn seal_and_forget(&mut self, server: usize) -> Result<(), String> {
        let other = self.other(self.home);
        (0..self.servers.len()).filter(|rest| *rest != server).for_each(|rest| self.cut(other, rest));
        let soon = self.now + self.random.below(400 * MILLISECOND);
        self.schedule(soon, LogWorldEvent::Forget { server });
        if self.hosts[other].writer.is_none() && self.may_open(other) {
            return self.open(other, Intent::Open);
        }
        Ok(())
    }

    /// A server loses its memory and starts again, and whoever was cut off from the others reaches one of them.
    pub(super) fn forget(&mut self, server: usize) -> Result<(), String> {
        self.note(|| format!("server {server} loses its memory and starts again"));
        self.end(server, true)?;
        self.servers[server].start(self.now, self.planted)?;
        let other = self.hosts.len() - 1;
        let rest = (server + 1 + self.random.below(2) as usize) % self.servers.len();
        self.cut.remove(&(other, rest, true));
        self.cut.remove(&(other, rest, false));
        Ok(())
    }

    /// The disk of a host has no room for a while, or its next sync fails.
    fn break_disk(&mut self, host: usize) {
        let is_full = self.random.percent(70);
        if let Some(disk) = self.hosts[host].writer.as_mut().and_then(LogWriter::disk_mut) {
            if is_full {
                disk.set_full(true);
            } else {
                disk.fail_sync(true);
            }
            self.note(|| format!("the disk of host {host} is full ({is_full}) or fails"));
        }
    }

    /// Somebody accepts that what cannot be found is lost, after having made sure that nobody else writes.
    fn accept_loss(&mut self, host: usize) -> Result<(), String> {
        if self.random.percent(60) || host != self.home && !self.may_be_told(host) {
            return Ok(());
        }
        // Where the log may be recovered anywhere the seal sees to that.
        let is_sealed = !self.profile.restart_on_this_disk && self.random.percent(50);
        for other in 0..self.hosts.len() {
            let is_power = self.random.percent(50);
            if !is_sealed || other == host {
                self.crash(other, is_power);
            }
        }
        self.open(host, Intent::AcceptLoss)
    }

    fn damage(&mut self, server: usize) {
        let ServerLife::Up(machine) = &mut self.servers[server].life else { return };
        let Some(log) = machine.status().logs.first().copied().filter(|log| log.from < log.end) else { return };
        let position = RecordNumber(log.from.0 + self.random.below(log.end.0 - log.from.0));
        machine.damage(LOG, position);
        let incarnation = machine.incarnation();
        self.losses.rots(server, incarnation.0, position);
        self.note(|| format!("record {position} of server {server} rots"));
    }
}
