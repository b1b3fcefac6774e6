//! Which memories were lost since the log was last whole: what excuses a loss, and what does not.
//!
//! The log is whole when every member of an established epoch holds all that was acknowledged. Fewer than k losses after that cost nothing,
//! whatever else happens: then every opening finds all of it, and says so.

use super::hosts::{ServerLife, SimServer};
use crate::names::{Configuration, Incarnation, RecordNumber};
use crate::server::LogServer;
use std::collections::{BTreeMap, BTreeSet};

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Losses {
    lost: BTreeSet<usize>,
    /// Which record has rotted in which life of a server.
    rotten: BTreeMap<usize, Vec<(u64, RecordNumber)>>,
}

impl Losses {
    pub(super) fn lost(&mut self, server: usize) {
        self.lost.insert(server);
    }

    pub(super) fn rots(&mut self, server: usize, incarnation: u64, position: RecordNumber) {
        self.rotten.entry(server).or_default().push((incarnation, position));
    }

    /// An epoch begins. A spare that has lost its memory since it was heard last takes the place of a member as a lost one; so does a member none of
    /// whose lives counts, whatever it has kept, because it did not answer whoever accepts a loss.
    pub(super) fn begins(&mut self, servers: &[SimServer], configuration: &Configuration) {
        for member in &configuration.members {
            let index = usize::from(member.server.0.port()) - 1;
            match servers.get(index).map(|server| &server.life) {
                _ if member.incarnation == Incarnation::NONE => self.lost(index),
                Some(ServerLife::Up(server) | ServerLife::Stopped(server))
                    if server.incarnation() == member.incarnation => {}
                Some(ServerLife::Saved(_)) | None => {}
                _ => self.lost(index),
            }
        }
    }

    /// Looks whether the log is whole.
    pub(super) fn look(&mut self, servers: &[SimServer], configuration: &Configuration, acknowledged: RecordNumber) {
        let holds = |server: &LogServer| {
            server.peek(super::world::LOG).is_some_and(|(held, _)| {
                held.configuration.is_some_and(|held| held.epoch == configuration.epoch)
                    && held.is_established
                    && held.end.position >= acknowledged
            })
        };
        let is_whole = configuration.members.iter().all(|member| {
            let index = usize::from(member.server.0.port()) - 1;
            match servers.get(index).map(|server| &server.life) {
                Some(ServerLife::Up(server) | ServerLife::Stopped(server)) => {
                    server.incarnation() == member.incarnation && holds(server)
                }
                _ => false,
            }
        });
        if is_whole {
            self.lost.clear();
            for (index, rotten) in &mut self.rotten {
                let life = match &servers[*index].life {
                    ServerLife::Up(server) | ServerLife::Stopped(server) => server.incarnation().0,
                    _ => 0,
                };
                rotten.retain(|(incarnation, _)| *incarnation == life);
            }
        }
    }

    /// How many servers have lost something, with these, which do not answer. What rots and is truncated there is no loss.
    pub(super) fn count(&self, servers: &[SimServer], silent: impl Iterator<Item = usize>) -> usize {
        let is_kept = |server: usize, position: RecordNumber| match &servers[server].life {
            ServerLife::Up(machine) | ServerLife::Stopped(machine) => {
                machine.peek(super::world::LOG).is_some_and(|(_, records)| records.from() <= position)
            }
            _ => true,
        };
        let has_rotten = |(server, rotten): &(&usize, &Vec<(u64, RecordNumber)>)| {
            rotten.iter().any(|(_, at)| is_kept(**server, *at))
        };
        let rotten = self.rotten.iter().filter(has_rotten).map(|(server, _)| *server);
        self.lost.iter().copied().chain(rotten).chain(silent).collect::<BTreeSet<usize>>().len()
    }
}
