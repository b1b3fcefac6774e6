//! What a snapshot asks of the core. Each question holds the core for a moment only: service never waits for a snapshot.
//!
//! Invariant: all answers are of the life that the snapshot began in; another life has given up what was held. Lives are counted for that: an oracle
//! that was set back may give a number twice.

use super::{Core, Life};
use crate::site_log::SiteLog;
use crate::store::StoreReader;
use crate::{clock, limits};
use commit_log::{Log, LogError, Position};
use domain::Domain;
use domain::snapshot::archive::{self, ArchiveMark, ArchivedEnd};
use domain::snapshot::taking::{Taking, serving};

const OTHER_LIFE: &str = "the site has begun a new life meanwhile: take the snapshot again";

/// Why a site whose log memory servers keep takes no snapshots.
pub(crate) const IN_MEMORY: &str = "the site's log is in memory servers, which cannot keep it as long as a snapshot takes: take the snapshot at a \
                                    site without them";

/// Records of the log with their positions, and where the next one is, if there is one.
pub(crate) type CopiedRecords = (Vec<(Position, Vec<u8>)>, Option<Position>);

/// What the core gives to the archive.
pub(crate) struct ArchivePart {
    /// Of which life.
    pub lives: u64,
    /// Whether the log goes on with what was archived. Otherwise there are no records.
    pub goes_on: bool,
    /// Where the log begins.
    pub first: Position,
    /// Records, and where each ends.
    pub records: Vec<(Position, Vec<u8>, Position)>,
    /// A mark of this moment.
    pub mark: Option<ArchiveMark>,
    /// Bytes on disk that are not in this part.
    pub left: u64,
}

/// The life whose log is held.
#[derive(Clone, Copy)]
pub(crate) struct HeldLife {
    lives: u64,
}

impl Core {
    fn copied(&mut self, held: Option<HeldLife>) -> Result<&mut Domain<SiteLog>, String> {
        let lives = self.lives;
        let Life::Running(domain) = &mut self.life else {
            return Err("the site has no servers now: it waits for the oracle to give it a new incarnation".to_owned());
        };
        match held.is_none_or(|held| held.lives == lives) {
            true => Ok(domain),
            false => Err(OTHER_LIFE.to_owned()),
        }
    }

    /// Has the store brought up to date, so that less log is to be copied. Returns whether that is done.
    pub(crate) fn post_for_copy(&mut self, begins: bool) -> Result<bool, String> {
        let domain = self.copied(None)?;
        if begins {
            serving(domain, clock::now())?;
            domain.begin_checkpoint(&mut clock::now);
        }
        Ok(!domain.is_checkpointing())
    }

    /// Nothing of the log is given up from now on. Says in which life, and gives the way to the store.
    pub(crate) fn hold_log(&mut self) -> Result<(HeldLife, StoreReader, Taking), String> {
        let lives = self.lives;
        let store = self.store.clone().ok_or("the site has no store now")?;
        let domain = self.copied(None)?;
        if let SiteLog::Memory(_) = domain.log() {
            return Err(IN_MEMORY.to_owned());
        }
        let taking = Taking::begin(domain, clock::now())?;
        Ok((HeldLife { lives }, store, taking))
    }

    /// Asks something of the domain in the life whose log is held.
    pub(crate) fn in_life<T>(
        &mut self,
        held: HeldLife,
        ask: impl FnOnce(&Domain<SiteLog>) -> Result<T, String>,
    ) -> Result<T, String> {
        ask(self.copied(Some(held))?)
    }

    /// The log may be given up again.
    pub(crate) fn release_log(&mut self) {
        if let Life::Running(domain) = &mut self.life {
            domain.release_log();
        }
    }

    /// What of the log an archive takes next that ends here and has looked at this life before, or at another; none: there are no servers now.
    pub(crate) fn archive_part(
        &mut self,
        end: &ArchivedEnd,
        known: Option<u64>,
    ) -> Result<Option<ArchivePart>, LogError> {
        let lives = self.lives;
        let Life::Running(domain) = &mut self.life else { return Ok(None) };
        let log = domain.log();
        let goes_on = if known == Some(lives) { end.end >= log.first() } else { end.goes_on_with(log) };
        let from = if goes_on { end.end } else { log.first() };
        let (first, on_disk, mut bytes) = (log.first(), log.on_disk(), 0);
        let mut records: Vec<(Position, Vec<u8>, Position)> = Vec::new();
        if from < on_disk {
            for entry in log.read_from(from) {
                let (position, record) = entry?;
                if let Some((_, _, behind)) = records.last_mut() {
                    *behind = position;
                }
                if position >= on_disk || bytes >= limits::SNAPSHOT_LOG_CHUNK {
                    break;
                }
                bytes += record.len();
                records.push((position, record, on_disk));
            }
        }
        let mark = archive::mark(domain, clock::now());
        if records.is_empty() && domain.log().appended() > on_disk {
            // What a quiet site has logged last is synced only when somebody wants it.
            domain.log_mut().request_sync();
        }
        let end = records.last().map_or(from, |(_, _, behind)| *behind);
        let left = on_disk.0.saturating_sub(end.0);
        Ok(Some(ArchivePart { lives, goes_on, first, records, mark, left }))
    }

    /// An archive has what this life's log has before this position.
    pub(crate) fn archived(&mut self, lives: u64, end: Position) {
        if let Life::Running(domain) = &mut self.life
            && self.lives == lives
        {
            domain.keep_log_from(Some(end));
        }
    }

    /// Bytes of the log that is there.
    pub(crate) fn log_bytes(&mut self, held: HeldLife) -> Result<u64, String> {
        let log = self.copied(Some(held))?.log();
        Ok(log.appended().0 - log.first().0)
    }

    /// Records from this position on, about so many bytes.
    pub(crate) fn records(
        &mut self,
        held: HeldLife,
        from: Position,
        bytes_max: usize,
    ) -> Result<CopiedRecords, String> {
        let log = self.copied(Some(held))?.log();
        let (mut records, mut bytes, mut next) = (Vec::new(), 0, None);
        if from >= log.appended() {
            return Ok((records, None));
        }
        for entry in log.read_from(from) {
            let (position, record) = entry.map_err(|error| error.to_string())?;
            if bytes >= bytes_max {
                next = Some(position);
                break;
            }
            bytes += record.len();
            records.push((position, record));
        }
        Ok((records, next.or(Some(log.appended()))))
    }
}
