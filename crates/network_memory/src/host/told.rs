//! What an operator is told of what has happened to a log, in words.

use crate::names::ServerId;
use crate::writer::LogEvent;
use std::collections::BTreeSet;

/// What an operator has been told: that something is well again is only said if it was said not to be.
#[derive(Debug, Default)]
pub struct OperatorTold {
    is_memory_lost: bool,
    away: BTreeSet<ServerId>,
}

impl OperatorTold {
    /// What an operator is told of an event; none if it is nothing to them.
    pub fn text(&mut self, event: &LogEvent, copies: u8) -> Option<String> {
        Some(match event {
            LogEvent::MemoryLost { copies: left } => {
                self.is_memory_lost = true;
                format!("{left} memory servers are left, and {copies} are needed: every commit waits for the disk")
            }
            LogEvent::MemoryBack if std::mem::take(&mut self.is_memory_lost) => {
                format!("{copies} memory servers hold everything again: commits no longer wait for the disk")
            }
            LogEvent::ServerAway(server) => {
                self.away.insert(*server);
                format!("memory server {server} does not answer")
            }
            LogEvent::ServerEmpty(server) => {
                self.away.insert(*server);
                format!("memory server {server} has lost its memory, and is given everything anew")
            }
            LogEvent::ServerFull(server) => {
                self.away.insert(*server);
                format!("memory server {server} has no room: give it more capacity, or a larger quota")
            }
            LogEvent::ServerBack(server) if self.away.remove(server) => {
                format!("memory server {server} holds everything again")
            }
            LogEvent::SpareTaken { spare, instead_of } => {
                format!("memory server {spare} takes the place of {instead_of}")
            }
            LogEvent::Stopped(stop) => stop.to_string(),
            _ => return None,
        })
    }
}
