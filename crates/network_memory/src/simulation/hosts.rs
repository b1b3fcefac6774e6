//! The hosts of a simulated world: servers that crash and come back, writers with their disks, and clocks that drift.

use crate::names::{Epoch, Incarnation, Position, ServerId};
use crate::planted::Planted;
use crate::server::{Room, Server, image};
use crate::writer::Writer;
use commit_log::MemoryLog;
use raidcomm::transaction::random::Random;
use std::collections::BTreeMap;

/// A clock that is faster or slower than others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// In millionths.
    rate: i64,
    offset: u64,
}

impl Clock {
    pub(super) fn new(random: &mut Random, drift: u64) -> Clock {
        Clock { rate: random.below(2 * drift + 1) as i64 - drift as i64, offset: random.below(1_000_000_000_000) }
    }

    /// What it shows at this time.
    pub(super) fn local(self, now: u64) -> u64 {
        self.offset + (i128::from(now) * i128::from(1_000_000 + self.rate) / 1_000_000) as u64
    }

    /// When it shows that.
    pub(super) fn global(self, local: u64) -> u64 {
        let elapsed = i128::from(local.saturating_sub(self.offset));
        (elapsed * 1_000_000 / i128::from(1_000_000 + self.rate)) as u64 + 1
    }
}

pub(super) enum Life {
    Up(Server),
    /// It has stopped, and does not lose what it is sent: SIGSTOP, or a host without processor time.
    Stopped(Server),
    /// It was told to end, and has saved this.
    Saved(Vec<u8>),
    Lost,
}

/// A memory server.
pub(super) struct SimServer {
    pub(super) id: ServerId,
    pub(super) clock: Clock,
    pub(super) life: Life,
    pub(super) lives: u64,
    pub(super) room: Room,
}

impl SimServer {
    pub(super) fn start(&mut self, now: u64, planted: Option<Planted>) -> Result<(), String> {
        let mut server = match std::mem::replace(&mut self.life, Life::Lost) {
            Life::Up(server) | Life::Stopped(server) => server,
            Life::Saved(image) => image::load(self.clock.local(now), self.room, &mut image.as_slice())
                .map_err(|error| format!("an image cannot be reloaded: {error}"))?,
            Life::Lost => {
                self.lives += u64::from(planted != Some(Planted::IncarnationKept));
                let index = u64::from(self.id.0.port());
                Server::new(Incarnation(index * 1_000 + self.lives), self.room)
            }
        };
        server.plant(planted);
        self.life = Life::Up(server);
        Ok(())
    }

    pub(super) fn end(&mut self, is_lost: bool) -> Result<(), String> {
        self.life = match std::mem::replace(&mut self.life, Life::Lost) {
            Life::Up(server) | Life::Stopped(server) if !is_lost => {
                let mut image = Vec::new();
                image::save(&server, &mut image).map_err(|error| format!("an image cannot be written: {error}"))?;
                Life::Saved(image)
            }
            Life::Saved(image) => Life::Saved(image),
            _ => Life::Lost,
        };
        Ok(())
    }

    pub(super) fn stop(&mut self) {
        self.life = match std::mem::replace(&mut self.life, Life::Lost) {
            Life::Up(server) => Life::Stopped(server),
            other => other,
        };
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.life, Life::Up(_))
    }
}

/// A host that may write.
pub(super) struct SimHost {
    pub(super) clock: Clock,
    /// Without a writer: what is on its disk.
    pub(super) disk: Option<MemoryLog>,
    /// How often it has lost power.
    pub(super) boots: u128,
    pub(super) writer: Option<Writer<MemoryLog>>,
    /// Which life of its writer.
    pub(super) generation: u64,
    /// Receipts were taken up to here.
    pub(super) receipts: Position,
    /// Where the entry of each record ends in the local log.
    pub(super) places: BTreeMap<Position, commit_log::Position>,
    pub(super) sync_at: Option<u64>,
    pub(super) wake_at: Option<u64>,
    /// Of the log that it has opened.
    pub(super) opened: Option<Epoch>,
    pub(super) accepts_loss: bool,
}
