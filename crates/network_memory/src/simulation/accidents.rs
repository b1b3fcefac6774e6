//! What goes wrong in a simulated world.

use super::hosts::Life;
use super::world::{Event, LOG, World, address};
use crate::names::Position;
use crate::writer::Intent;
use raidcomm::limits::MILLISECOND;

impl World {
    pub(super) fn break_something(&mut self) -> Result<(), String> {
        let host = self.random.below(self.hosts.len() as u64) as usize;
        let server = self.random.below(self.servers.len() as u64) as usize;
        match self.random.below(10) {
            0 => self.crash(host, false),
            1 => self.crash(host, true),
            2 | 3 => {
                let is_lost = self.random.percent(self.profile.memory_lost_percent);
                self.note(|| format!("server {server} ends (memory lost: {is_lost})"));
                self.servers[server].end(is_lost)?;
                if self.random.percent(50) {
                    let now = self.hosts[host].clock.local(self.now);
                    if let Some(writer) = &mut self.hosts[host].writer {
                        writer.disconnected(now, address(server));
                    }
                    self.drive(host)?;
                }
            }
            4 | 5 => {
                self.note(|| format!("nothing arrives between host {host} and server {server}"));
                self.cut.insert((host, server));
            }
            6 => {
                self.note(|| format!("server {server} stops"));
                self.servers[server].stop();
            }
            7 => self.damage(server),
            // Somebody seals the log at one server alone, which then forgets that.
            8 => {
                let other = self.hosts.len() - 1;
                let rest = (0..self.servers.len()).filter(|rest| *rest != server);
                self.cut.extend(rest.map(|rest| (other, rest)));
                let soon = self.now + self.random.below(400 * MILLISECOND);
                self.schedule(soon, Event::Forget { server });
                if self.hosts[other].writer.is_none() {
                    return self.open(other, Intent::Open);
                }
            }
            // Somebody takes the log over, and whoever had it is cut off or not.
            _ => {
                let other = self.hosts.len() - 1;
                if self.random.percent(70) {
                    self.cut.extend((0..self.servers.len()).map(|server| (0, server)));
                    self.note(|| "host 0 is cut off".to_owned());
                }
                if self.hosts[other].writer.is_none() {
                    return self.open(other, Intent::Open);
                }
            }
        }
        Ok(())
    }

    /// A server loses its memory and starts again, and whoever was cut off from the others reaches one of them.
    pub(super) fn forget(&mut self, server: usize) -> Result<(), String> {
        self.note(|| format!("server {server} loses its memory and starts again"));
        self.servers[server].end(true)?;
        self.servers[server].start(self.now, self.planted)?;
        let other = self.hosts.len() - 1;
        let rest = (server + 1 + self.random.below(2) as usize) % self.servers.len();
        self.cut.remove(&(other, rest));
        Ok(())
    }

    fn damage(&mut self, server: usize) {
        let Life::Up(machine) = &mut self.servers[server].life else { return };
        let Some(log) = machine.status().logs.first().copied().filter(|log| log.from < log.end) else { return };
        let position = Position(log.from.0 + self.random.below(log.end.0 - log.from.0));
        machine.damage(LOG, position);
        self.note(|| format!("record {position} of server {server} rots"));
    }
}
