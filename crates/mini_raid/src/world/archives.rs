//! Archives of the sites' logs under load and faults, and the worlds that are made from a snapshot and an archive as the instance was at a moment.
//!
//! Now and then a site's log goes to its archive, up to what is on disk, with marks of moments at which the site served. Invariant: what is in the instance
//! at a moment is decided by [`domain::snapshot::archive`], as in the real world. A world of a moment must hold the history cut at that moment, strictly.

use super::World;
use super::snapshots::{HistoryCut, WholeSnapshot};
use crate::bounds::RunBounds;
use crate::event::SimulatedEvent;
use crate::limits::EVENTS_MAX;
use crate::machine::MachineProcess;
use crate::random::SeededRandom;
use commit_log::{Log, Position};
use domain::snapshot::archive::{ArchiveMark, ArchivedEnd, MomentError, MomentSearch, Selected, WantedMoment, mark};
use messages::limits::{CLOCK_LOGICAL_BITS, MILLISECOND, SECOND};
use messages::{EpochNumber, SiteId};
use std::collections::BTreeMap;

/// How long a world that is made from an archive has its clients work before it is looked at.
const GOES_ON: u64 = SECOND / 4;
/// More sites than there are in a run.
const SITES_MAX: usize = 17;

/// The archives of a run.
#[derive(Debug)]
pub struct LogArchives {
    /// Chance of archives alone.
    random: SeededRandom,
    /// Mean time between two looks at a site's log; 0: there are no archives.
    every: u64,
    by_site: BTreeMap<usize, SiteArchive>,
    /// Moments at which all members ran.
    moments: Vec<KnownMoment>,
}

/// The archive of a site.
#[derive(Debug, Default)]
struct SiteArchive {
    /// Counts those that were begun anew: their log was another.
    number: u32,
    /// In which start of the site's process it was looked at last.
    start: u32,
    end: ArchivedEnd,
    entries: Vec<KeptEntry>,
    /// A mark whose place in the log is not archived yet.
    pending: Option<ArchiveMark>,
}

#[derive(Clone, Debug)]
enum KeptEntry {
    Record(Position, Vec<u8>),
    Mark(ArchiveMark),
}

/// A moment (true time), and what no commit that was acknowledged before it has exceeded, nor any that began behind it has not, in that epoch.
#[derive(Clone, Copy, Debug)]
struct KnownMoment {
    at: u64,
    epoch: EpochNumber,
    clock: u64,
    /// By how much the clock of each site was behind, most of all: what it votes for then may commit behind the moment.
    behind: [u64; SITES_MAX],
}

impl LogArchives {
    /// By this chance.
    pub fn new(mut random: SeededRandom, may_be: bool) -> LogArchives {
        let every = if may_be { *random.pick(&[20, 100, 400]) * MILLISECOND } else { 0 };
        LogArchives { random, every, by_site: BTreeMap::new(), moments: Vec::new() }
    }

    /// Whether there are any.
    pub fn are_kept(&self) -> bool {
        self.every > 0
    }

    /// Which archive a site writes now.
    pub fn number(&self, site: usize) -> Option<u32> {
        self.by_site.get(&site).map(|archive| archive.number)
    }
}

impl World {
    /// Plans when a site's log is looked at next.
    pub(super) fn plan_archiving(&mut self, site: usize) {
        if self.archives.every > 0 {
            let after = self.archives.random.around(self.archives.every) + 1;
            self.agenda.plan(self.now + after, SimulatedEvent::Archive { site });
        }
    }

    /// Brings to the archive what a site has on disk.
    pub(super) fn archive(&mut self, site: usize) {
        let now = self.now;
        let mut archive = self.archives.by_site.remove(&site).unwrap_or_default();
        let machine = self.machines[site].as_mut().expect("sites are numbered from 1");
        let (clock, start) = (machine.clock.at(now), machine.start);
        let went_back = machine.set_back.is_some();
        if let MachineProcess::Running(domain) = &mut machine.process {
            let log = domain.log();
            let is_new = archive.number == 0;
            if is_new || (archive.start != start && !archive.end.goes_on_with(log)) {
                let gap = !is_new && archive.end.end < log.first() && !went_back;
                if gap {
                    self.fail(format!("the log of site {site} was given up before it was archived"));
                    return;
                }
                let number = archive.number + 1;
                archive = SiteArchive { number, end: ArchivedEnd::beginning_at(log.first()), ..SiteArchive::default() };
            }
            archive.start = start;
            if archive.end.end < log.first() {
                self.fail(format!("the log of site {site} was given up before it was archived"));
                return;
            }
            archive.pending = archive.pending.or_else(|| mark(domain, clock));
            archive.take(log);
            let end = archive.end.end;
            domain.keep_log_from(Some(end));
        }
        self.archives.by_site.insert(site, archive);
        self.note_moment(site);
        if self.busy {
            self.plan_archiving(site);
        }
    }

    /// Notes this moment, if the site serves and all members of its epoch run: their clocks bound all that was acknowledged before.
    fn note_moment(&mut self, site: usize) {
        let machine = self.look(site);
        let Some(served) = machine.domain().and_then(|domain| mark(domain, machine.clock.at(self.now))) else { return };
        let Some(epoch) = machine.domain().and_then(|domain| domain.replication().epoch) else { return };
        let (mut clock, mut behind) = (served.clock, [0; SITES_MAX]);
        for member in epoch.members.keys() {
            let member = self.look(usize::from(member.0));
            let Some(theirs) = member.domain().and_then(|domain| domain.clock()) else { return };
            // Its next proposal is not below its wall clock.
            let wall = (member.clock.at(self.now).wall_micros << CLOCK_LOGICAL_BITS) - 1;
            let theirs = theirs.max(wall);
            clock = clock.max(theirs);
            behind[member.site % SITES_MAX] = theirs;
        }
        behind.iter_mut().for_each(|theirs| *theirs = clock.saturating_sub(*theirs));
        self.archives.moments.push(KnownMoment { at: self.now, epoch: served.epoch, clock, behind });
    }

    /// Makes worlds from a snapshot as the instance was at moments behind it.
    pub(super) fn restore_moments(&mut self, whole: &WholeSnapshot, bounds: RunBounds) {
        let Some(archive) = self.archives.by_site.remove(&whole.site) else { return };
        let later = self.archives.moments.iter().filter(|moment| moment.at > whole.cut_at);
        let later: Vec<KnownMoment> = later.copied().collect();
        if whole.archive == Some(archive.number) && !later.is_empty() && self.failure.is_none() {
            // Often the one at which the site's clock was farthest behind.
            let slowest = later.iter().max_by_key(|moment| moment.behind[whole.site % SITES_MAX]);
            let moment = match slowest.filter(|_| self.archives.random.one_in(2)) {
                Some(slowest) => *slowest,
                None => *self.archives.random.pick(&later),
            };
            self.restore_moment(whole, &archive, moment, bounds);
        }
        self.archives.by_site.insert(whole.site, archive);
    }

    fn restore_moment(&mut self, whole: &WholeSnapshot, archive: &SiteArchive, moment: KnownMoment, bounds: RunBounds) {
        let (then, epoch, left_out) = match archive.at(whole, moment, self.planted) {
            Ok(found) => found,
            Err(refusal) => {
                let name = match refusal {
                    MomentError::Before(_) => "moments before their snapshot",
                    MomentError::NotCurrent(_) => "moments at which their site was out",
                    MomentError::Beyond(_) => "moments beyond their archive",
                    MomentError::Record(wrong) => return self.fail(wrong),
                };
                *self.statistics.other.entry(name).or_insert(0) += 1;
                return;
            }
        };
        // The members went on without it while its clock was ahead of theirs: by that the moment lies in an epoch before. When that was, nobody has noted.
        if epoch < moment.epoch && moment.is_without(whole.site) {
            *self.statistics.other.entry("moments that their site had passed before it was left out").or_insert(0) += 1;
            return;
        }
        *self.statistics.other.entry("moments of the instance restored").or_insert(0) += 1;
        *self.statistics.other.entry("commits behind a moment left out").or_insert(0) += left_out;
        // A later epoch may lack the member whose clock was ahead: what began behind the moment may be in then.
        let cut = if epoch == moment.epoch { HistoryCut::At(moment.at) } else { HistoryCut::Behind(moment.at) };
        let failure = match self.restored(&then, cut, bounds) {
            Ok(mut second) => {
                second.run_until(second.now + GOES_ON, EVENTS_MAX);
                second.finish();
                second.into_result().1
            }
            Err(wrong) => Some(wrong),
        };
        if let Some(failure) = failure {
            let found = format!("in the world of the moment {moment:?}, found in {epoch:?}");
            self.fail(format!("{found}, made from the snapshot {whole:?}: {failure}"));
        }
    }
}

impl KnownMoment {
    /// Whether a site was no member then: nothing is known of its clock.
    fn is_without(&self, site: usize) -> bool {
        self.behind[site % SITES_MAX] == self.clock
    }
}

impl SiteArchive {
    /// Takes what is on disk.
    fn take(&mut self, log: &commit_log::MemoryLog) {
        let on_disk = log.on_disk();
        let mut left = log.records_from(self.end.end).peekable();
        while let Some((position, record)) = left.next() {
            let behind = left.peek().map_or(log.appended(), |(next, _)| *next);
            if behind > on_disk {
                break;
            }
            self.end.takes(position, record, behind);
            self.entries.push(KeptEntry::Record(position, record.to_vec()));
        }
        if let Some(mark) = self.pending.filter(|mark| mark.at <= self.end.end) {
            self.entries.push(KeptEntry::Mark(mark));
            self.pending = None;
        }
    }

    /// The snapshot as it would be had its cut been at the moment, the epoch of that, and how much was voted for before and committed behind it.
    fn at(
        &self,
        whole: &WholeSnapshot,
        moment: KnownMoment,
        planted: messages::planted::Planted,
    ) -> Result<(WholeSnapshot, EpochNumber, u64), MomentError> {
        let wanted = WantedMoment::Clock(moment.clock);
        let site = SiteId(whole.site as u16);
        let mut search = MomentSearch::behind(site, whole.epoch, whole.clock, wanted, planted)?;
        for entry in &self.entries {
            match entry {
                KeptEntry::Record(position, record) if *position >= whole.cut => search.record(*position, record)?,
                KeptEntry::Mark(mark) if mark.at >= whole.cut => search.mark(mark)?,
                _ => {}
            }
        }
        let mut selection = search.end(self.end.end)?;
        let (mut tail, mut left_out) = (Vec::new(), 0);
        let mut take = |selected: Selected, record: &Vec<u8>| match selected {
            Selected::Whole => tail.push(record.clone()),
            Selected::Instead(other) => {
                left_out += 1;
                tail.push(other);
            }
            Selected::Not => {}
        };
        for record in &whole.tail {
            take(selection.of_snapshot(record)?, record);
        }
        for entry in &self.entries {
            if let KeptEntry::Record(position, record) = entry
                && *position >= whole.cut
            {
                take(selection.of_archive(*position, record)?, record);
            }
        }
        Ok((whole.with_tail(tail), selection.highest().0, left_out))
    }
}
