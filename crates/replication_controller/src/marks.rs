//! Whether a site's log is the one that it told others of (rules 10 to 12): a data folder may be put back from an older copy.
//!
//! Invariant: whatever another site takes for being on disk here, it was told with a mark that stands behind it in this log, and that was on disk
//! before it was told; and it remembers that mark for as long as it builds on what it was told, through its own log and through reports. So a log
//! that has all marks that are remembered of its site has all that others count on. One that lacks a mark was put back: everything in its copy is stale, and
//! after a total failure nothing follows from what is missing in it.

use crate::{EpochContinuation, ReplicationController};
use messages::epoch::Member;
use messages::log_record::LogRecord;
use messages::replication::MemberReport;
use messages::{Epoch, Incarnation, KnownMarks, Lineage, LogPoint, Outbox, SiteId};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};

/// Marks in this site's log, and those that others have told of theirs.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Marks {
    pub(crate) known: KnownMarks,
    /// The last one of this life.
    last: Option<LogPoint>,
    /// The last one of this life that is on disk.
    on_disk: Option<LogPoint>,
    /// This copy was put back, and is not current again yet.
    pub(crate) set_back: bool,
}

impl Marks {
    /// This life's beginning is on disk: it may be named by an epoch.
    pub(crate) fn has_begun(&self) -> bool {
        self.on_disk.is_some()
    }

    /// The last mark of this life that is on disk.
    pub(crate) fn on_disk(&self) -> LogPoint {
        self.on_disk.unwrap_or_default()
    }

    /// A site has told a mark, or somebody remembers that it has. Lives are given out in order, so the last one is the largest.
    pub(crate) fn hear(&mut self, site: SiteId, mark: LogPoint) {
        let known = self.known.told.entry(site).or_default();
        *known = mark.max(*known);
    }

    /// What members that carry the epoch before on know of all sites.
    pub(crate) fn take_over<'a>(
        &mut self,
        own: SiteId,
        carriers: impl Iterator<Item = (&'a SiteId, &'a MemberReport)>,
    ) {
        for (site, report) in carriers {
            let told = report.told.iter().map(|(site, mark)| (*site, *mark)).chain([(*site, report.mark)]);
            told.filter(|(site, _)| *site != own).for_each(|(site, mark)| self.hear(site, mark));
        }
    }

    /// For the log.
    pub(crate) fn record(&self) -> LogRecord {
        LogRecord::Marks { known: self.known.clone() }
    }

    pub(crate) fn replay(&mut self, known: &KnownMarks) {
        self.known.lineage = known.lineage.clone();
        known.told.iter().for_each(|(site, mark)| self.hear(*site, *mark));
    }
}

impl ReplicationController {
    /// Before this life asks to be taken in it marks its beginning: whoever finds it in an epoch finds it in its log, too.
    pub(crate) fn begin_life(&mut self, outbox: &mut Outbox) {
        if self.marks.last.is_some() {
            return;
        }
        let mark = self.set_mark(outbox);
        if planted!(self.planted, WholeAtBirth) {
            self.note_whole();
        }
        if planted!(self.planted, LifeNotSynced) {
            self.mark_is_synced(mark);
        }
        self.sync_then(EpochContinuation::Marked(mark), outbox);
    }

    /// A mark behind all that is in the log. It may be told once it is on disk.
    pub(crate) fn set_mark(&mut self, outbox: &mut Outbox) -> LogPoint {
        let number = self.marks.last.map_or(0, |last| last.number + 1);
        let mark = LogPoint { life: self.incarnation, number };
        self.marks.last = Some(mark);
        self.marks.known.lineage.note(mark);
        outbox.append(LogRecord::Marked { mark });
        mark
    }

    pub(crate) fn mark_is_synced(&mut self, mark: LogPoint) {
        self.marks.on_disk = self.marks.on_disk.max(Some(mark));
    }

    /// All that others were told of earlier lives is in this copy, or the operator has given it up. Others may remember marks of them for ever, which a log
    /// lacks that was put back. They find in this log that the copy has been whole since. A log that is put back to before this record lacks it, too.
    pub(crate) fn note_whole(&mut self) {
        self.marks.known.lineage.note_whole(self.incarnation);
    }

    /// What others have on disk is going to be logged: first by what they are known again.
    pub(crate) fn append_marks(&self, outbox: &mut Outbox) {
        if !planted!(self.planted, MarkApartFromBase) {
            outbox.append(self.marks.record());
        }
    }

    /// Whether this copy, which takes part from an epoch on, lacks something that members who carry the one before on were told of.
    pub(crate) fn was_set_back(&mut self, carriers: &[&MemberReport]) -> bool {
        let lacking = carriers.iter().filter_map(|report| report.told.get(&self.site));
        let lacking = lacking.filter(|mark| !self.marks.known.lineage.has(**mark)).max();
        let Some(mark) = lacking.filter(|_| !planted!(self.planted, MarkIgnored) && self.logged.is_some()) else {
            return false;
        };
        tracing::warn!(
            life = mark.life.0,
            mark = mark.number,
            "this site's data were put back from an older copy: its log lacks what an earlier life had on disk; everything is brought anew from the other \
             sites"
        );
        reached!("set-back-found");
        self.marks.set_back = true;
        true
    }

    /// Whether the log of an up member of the last epoch was put back since it entered that, as far as anybody knows who asks to be taken in. Nothing
    /// follows from what is missing in it.
    pub(crate) fn is_set_back(&self, last: &Epoch, site: SiteId, life: Incarnation, lineage: &Lineage) -> bool {
        let member = last.members.get(&site).filter(|member| member.incarnation > Incarnation(0));
        let mut told = self.joiners.marks_told(site).chain(self.marks.known.told.get(&site).copied());
        let lacks_told = told.any(|mark| !lineage.has(mark));
        let named =
            member.map(|&Member { incarnation: life, mark: number, .. }| match planted!(self.planted, MarkUnnamed) {
                true => LogPoint { life, number: 0 },
                false => LogPoint { life, number },
            });
        let lacks_named = named.is_some_and(|mark| lineage.knows_before(life) && !lineage.has(mark));
        !planted!(self.planted, SetBackTestifies) && (lacks_named || lacks_told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::epoch::{MemberState, Placement, ProposalId};
    use messages::planted::Bug;
    use messages::planted::Planted;
    use messages::{EpochNumber, LeaseLength, OracleLife};
    use std::collections::BTreeMap;

    const OTHER: SiteId = SiteId(2);

    /// The last epoch, in which the other site was up in its life 3, with mark 5 on disk.
    fn last() -> Epoch {
        let member = Member { incarnation: Incarnation(3), state: MemberState::Up, mark: 5 };
        Epoch {
            number: EpochNumber(4),
            proposal: ProposalId::default(),
            parent: ProposalId::default(),
            members: [(OTHER, member)].into(),
            sessions: BTreeMap::new(),
            required_copies: 1,
            placement: Placement::Everywhere,
            oracle: OracleLife(1),
            restart: false,
        }
    }

    /// Whether a log with these marks of that life was put back, where nobody remembers what it has told.
    fn is_set_back(marks: u64, planted: Planted) -> bool {
        let sites = [SiteId(1), OTHER];
        let controller = ReplicationController::new(sites[0], Incarnation(9), &sites, LeaseLength::DEFAULT, planted);
        let mut lineage = Lineage::default();
        lineage.note(LogPoint { life: Incarnation(2), number: 7 });
        lineage.note(LogPoint { life: Incarnation(3), number: marks });
        controller.is_set_back(&last(), OTHER, Incarnation(4), &lineage)
    }

    /// If this fails, a log that was put back within a life restarts the instance: who had heard its marks was killed before he had logged them.
    #[test]
    fn an_epoch_names_the_marks_of_its_members() {
        assert!(is_set_back(4, Planted::none()));
        assert!(!is_set_back(5, Planted::none()));
        assert!(!is_set_back(4, Planted::only(Bug::MarkUnnamed)), "the simulator would find that seldom");
    }
}
