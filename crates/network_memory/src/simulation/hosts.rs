//! The hosts of a simulated world: servers that crash and come back, writers with their disks, and clocks that drift.

use crate::names::{Incarnation, RecordNumber, RecordReceipt, ServerId, WriterEpoch};
use crate::planted::PlantedInLog;
use crate::server::{LogServer, Room, image};
use crate::writer::LogWriter;
use commit_log::MemoryLog;
use seeded_random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A clock that is faster or slower than others.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriftingClock {
    /// In millionths.
    rate: i64,
    offset: u64,
}

impl DriftingClock {
    pub(super) fn new(random: &mut SplitMix64, drift: u64) -> DriftingClock {
        DriftingClock {
            rate: random.below(2 * drift + 1) as i64 - drift as i64,
            offset: random.below(1_000_000_000_000),
        }
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

pub(super) enum ServerLife {
    Up(LogServer),
    /// It has stopped, and does not lose what it is sent: SIGSTOP, or a host without processor time.
    Stopped(LogServer),
    /// It was told to end, and has saved this.
    Saved(Vec<u8>),
    Lost,
}

/// A memory server.
pub(super) struct SimServer {
    pub(super) id: ServerId,
    pub(super) clock: DriftingClock,
    pub(super) life: ServerLife,
    /// An image that was reloaded and is still there: a planted bug.
    pub(super) kept: Option<Vec<u8>>,
    pub(super) lives: u64,
    pub(super) room: Room,
}

impl SimServer {
    pub(super) fn start(&mut self, now: u64, planted: Option<PlantedInLog>) -> Result<(), String> {
        let mut server = match std::mem::replace(&mut self.life, ServerLife::Lost) {
            ServerLife::Up(server) | ServerLife::Stopped(server) => server,
            ServerLife::Saved(image) => {
                let server = image::load(self.clock.local(now), self.room, &mut image.as_slice())
                    .map_err(|error| format!("an image cannot be reloaded: {error}"))?;
                self.kept = Some(image).filter(|_| planted == Some(PlantedInLog::ImageKept));
                server
            }
            ServerLife::Lost if self.kept.is_some() => {
                let image = self.kept.take().unwrap_or_default();
                image::load(self.clock.local(now), self.room, &mut image.as_slice())
                    .map_err(|error| format!("an image cannot be reloaded: {error}"))?
            }
            ServerLife::Lost => {
                self.lives += u64::from(planted != Some(PlantedInLog::IncarnationKept));
                let index = u64::from(self.id.0.port());
                LogServer::new(Incarnation(index * 1_000 + self.lives), self.room)
            }
        };
        server.plant(planted);
        self.life = ServerLife::Up(server);
        Ok(())
    }

    pub(super) fn end(&mut self, is_lost: bool) -> Result<(), String> {
        self.life = match std::mem::replace(&mut self.life, ServerLife::Lost) {
            ServerLife::Up(server) | ServerLife::Stopped(server) if !is_lost => {
                let mut image = Vec::new();
                image::save(&server, &mut image).map_err(|error| format!("an image cannot be written: {error}"))?;
                ServerLife::Saved(image)
            }
            ServerLife::Saved(image) => ServerLife::Saved(image),
            _ => ServerLife::Lost,
        };
        Ok(())
    }

    pub(super) fn enlarge(&mut self) {
        self.room = Room { capacity_bytes: u64::MAX, quota_bytes: u64::MAX };
        if let ServerLife::Up(server) | ServerLife::Stopped(server) = &mut self.life {
            server.enlarge(self.room);
        }
    }

    pub(super) fn stop(&mut self) {
        self.life = match std::mem::replace(&mut self.life, ServerLife::Lost) {
            ServerLife::Up(server) => ServerLife::Stopped(server),
            other => other,
        };
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.life, ServerLife::Up(_))
    }
}

/// A host that may write.
pub(super) struct SimHost {
    pub(super) clock: DriftingClock,
    /// Without a writer: what is on its disk.
    pub(super) disk: Option<MemoryLog>,
    /// How often it has lost power.
    pub(super) boots: u128,
    pub(super) writer: Option<LogWriter<MemoryLog>>,
    /// Which life of its writer.
    pub(super) generation: u64,
    /// Receipts were taken up to here.
    pub(super) receipts: RecordNumber,
    /// Where the entry of each record ends in the local log.
    pub(super) places: BTreeMap<RecordNumber, commit_log::Position>,
    pub(super) sync_at: Option<u64>,
    pub(super) wake_at: Option<u64>,
    /// Of the log that it has opened.
    pub(super) opened: Option<WriterEpoch>,
    pub(super) accepts_loss: bool,
    /// The servers that have answered while the log was sealed for this epoch.
    pub(super) answered: (WriterEpoch, BTreeSet<usize>),
    /// The servers that have told what they hold, before the log was sealed.
    pub(super) told_held: BTreeSet<usize>,
    /// An epoch was begun without as many memories as there are copies.
    pub(super) has_given_up: bool,
    /// Until then its process stands still: SIGSTOP, or a host without processor time.
    pub(super) paused_until: u64,
    /// When it looked at the clock before it was stopped, and is to act on that.
    pub(super) stale: Option<u64>,
    /// Receipts that the writer has given, and the program that uses it has not.
    pub(super) withheld: VecDeque<(RecordNumber, RecordReceipt)>,
    /// A sync has failed, and since then nothing that was not synced is certain to be there.
    pub(super) has_failed: bool,
    /// Since the log was opened here its disk has lost nothing.
    pub(super) is_intact: bool,
    /// What the writer has told: that memory is counted on, and that the disk is.
    pub(super) told: (bool, bool),
}

impl SimHost {
    pub(super) fn new(clock: DriftingClock, disk: Option<MemoryLog>) -> SimHost {
        SimHost {
            clock,
            disk,
            boots: 0,
            writer: None,
            generation: 0,
            receipts: RecordNumber(0),
            places: BTreeMap::new(),
            sync_at: None,
            wake_at: None,
            opened: None,
            accepts_loss: false,
            answered: (WriterEpoch::default(), BTreeSet::new()),
            told_held: BTreeSet::new(),
            has_given_up: false,
            paused_until: 0,
            stale: None,
            withheld: VecDeque::new(),
            has_failed: false,
            is_intact: false,
            told: (false, false),
        }
    }

    /// What its clock shows, or showed when it looked at it.
    pub(super) fn now(&mut self, now: u64) -> u64 {
        self.clock.local(self.stale.take().unwrap_or(now))
    }
}
