//! What an operator is told of what has happened to a log, in words.

use crate::names::ServerId;
use crate::writer::Event;
use std::collections::BTreeSet;

/// What an operator has been told: that something is well again is only said if it was said not to be.
#[derive(Debug, Default)]
pub struct Told {
    is_memory_lost: bool,
    away: BTreeSet<ServerId>,
}

impl Told {
    /// What an operator is told of an event; none if it is nothing to them.
    pub fn text(&mut self, event: &Event, copies: u8) -> Option<String> {
        Some(match event {
            Event::MemoryLost { copies: left } => {
                self.is_memory_lost = true;
                format!("{left} memory servers are left, and {copies} are needed: every commit waits for the disk")
            }
            Event::MemoryBack if std::mem::take(&mut self.is_memory_lost) => {
                format!("{copies} memory servers hold everything again: commits no longer wait for the disk")
            }
            Event::ServerAway(server) => {
                self.away.insert(*server);
                format!("memory server {server} does not answer")
            }
            Event::ServerEmpty(server) => {
                self.away.insert(*server);
                format!("memory server {server} has lost its memory, and is given everything anew")
            }
            Event::ServerFull(server) => {
                self.away.insert(*server);
                format!("memory server {server} has no room: give it more capacity, or a larger quota")
            }
            Event::ServerBack(server) if self.away.remove(server) => {
                format!("memory server {server} holds everything again")
            }
            Event::SpareTaken { spare, instead_of } => format!("memory server {spare} takes the place of {instead_of}"),
            Event::Stopped(stop) => stop.to_string(),
            _ => return None,
        })
    }
}
