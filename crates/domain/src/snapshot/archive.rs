//! The log of a site beyond what the site needs, and an instance as it was at one moment: a snapshot, and what the site has logged since.
//!
//! A site gives its log to an archive before it is given up. A transaction is in the instance at a moment when its commit timestamp is not above the moment's.
//! Five facts make that a moment of the instance:
//!
//! * Commit timestamps have the order of the transactions: what depends on another, or begins after another was acknowledged, has the higher one. The
//!   largest proposal of all members is the timestamp, and each member's proposals go up.
//! * A site that is a current member has voted for all that has committed, with a proposal that is not above the timestamp. So what is in stands in its log
//!   before its first proposal above the moment: before the *cut*.
//! * What an epoch change has committed comes before all else of that epoch, and behind all of the epochs before. So epochs are compared first.
//! * A site that was out of the instance has not voted. So the site must have been a current member at the moment, and that must be known: by a commit of
//!   the same epoch above the moment, by a mark above it, or because no epoch behind it went without the site.
//! * A vote is no outcome: whoever asked may have heard of a commit before this site does, and the site may fall out before. So what was voted for before
//!   the cut must be decided in the archive, or have been made up for by an epoch that was logged before the cut.
//!
//! Invariant: what is known of a moment comes from records and marks alone, never from what was not archived.

use super::taking::serving;
use crate::Domain;
use commit_log::{Log, Position};
use messages::commit::Outcome;
use messages::epoch::MemberState;
use messages::limits::CLOCK_LOGICAL_BITS;
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::{EpochNumber, Now, SiteId, TransactionId, planted};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// How far an archive has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedEnd {
    /// Where its last record stands, and a hash of it.
    pub last: Option<(Position, u64)>,
    /// Where the next one stands.
    pub end: Position,
}

impl ArchivedEnd {
    /// An archive that begins here.
    pub fn beginning_at(end: Position) -> ArchivedEnd {
        ArchivedEnd { last: None, end }
    }

    /// This record, which ends here, is archived.
    pub fn takes(&mut self, position: Position, record: &[u8], behind: Position) {
        *self = ArchivedEnd { last: Some((position, xxh3_64(record))), end: behind };
    }

    /// Whether this log is the one that was archived, and has all that comes next. Otherwise another archive begins: log was given up, or the disk is
    /// another.
    pub fn goes_on_with<L: Log>(&self, log: &L) -> bool {
        if self.end < log.first() || self.end > log.appended() {
            return false;
        }
        let Some((position, hash)) = self.last else { return true };
        if position < log.first() {
            // The archived records were given up, and nothing else.
            return self.end == log.first();
        }
        let found = log.read_from(position).next();
        found.is_some_and(|entry| entry.is_ok_and(|(at, record)| at == position && xxh3_64(&record) == hash))
    }
}

/// At this moment the site served, in this epoch, and its log ended here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveMark {
    /// The hybrid clock: no later proposal of the site is at or below it.
    pub clock: u64,
    /// The epoch.
    pub epoch: EpochNumber,
    /// The end of its log.
    pub at: Position,
}

/// A mark of this moment; none: the site does not serve.
pub fn mark<L: Log>(domain: &Domain<L>, now: Now) -> Option<ArchiveMark> {
    let (_, epoch) = serving(domain, now).ok()?;
    let clock = domain.clock()?.max(now.wall_micros << CLOCK_LOGICAL_BITS);
    Some(ArchiveMark { clock, epoch, at: domain.log().appended() })
}

/// What is to be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedMoment {
    /// All that has committed at or below this clock.
    Clock(u64),
    /// All that the archive has.
    Latest,
}

impl WantedMoment {
    /// All that has committed up to this microsecond since 1970, that one included. What no clock shows is as late as clocks go.
    pub fn of_micros(micros: u64) -> WantedMoment {
        let micros = micros.min(u64::MAX >> CLOCK_LOGICAL_BITS);
        WantedMoment::Clock((micros << CLOCK_LOGICAL_BITS) | ((1 << CLOCK_LOGICAL_BITS) - 1))
    }

    fn is_below(self, clock: u64) -> bool {
        matches!(self, WantedMoment::Clock(wanted) if wanted < clock)
    }
}

/// Why nobody can tell how the instance was at a moment. Clocks are those of commit timestamps.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MomentError {
    /// The snapshot may hold what has committed later.
    #[error("the snapshot holds what committed up to {} microseconds since 1970", micros_of(*.0))]
    Before(u64),
    /// The site was out of the instance, or its copy was being repaired, until this clock if that is known.
    #[error("the site had no current copy then")]
    NotCurrent(Option<u64>),
    /// Nothing is known of what came behind it.
    #[error("all of the archive is known up to {} microseconds since 1970", micros_of(*.0))]
    Beyond(u64),
    /// A record that is none.
    #[error("a record of the archive cannot be read: {0}")]
    Record(String),
}

/// Microseconds since 1970 of a clock.
pub fn micros_of(clock: u64) -> u64 {
    clock >> CLOCK_LOGICAL_BITS
}

/// The first reading of what was logged since the snapshot: looks for the cut.
#[derive(Clone, Debug)]
pub struct MomentSearch {
    site: SiteId,
    wanted: WantedMoment,
    epoch: EpochNumber,
    /// Since which clock the copy is current without a break, as far as is known; none: it is not, or nothing is known since it became so.
    current_since: Option<u64>,
    is_up: bool,
    /// Up to which clock all of it is known.
    known_to: u64,
    /// What was voted for before the cut and is not decided so far: in which epoch, and with which proposal.
    open: BTreeMap<TransactionId, (EpochNumber, u64)>,
    cut: Option<FoundCut>,
    planted: Planted,
}

#[derive(Clone, Copy, Debug)]
struct FoundCut {
    at: Position,
    epoch: EpochNumber,
    /// The epoch was in force at the moment.
    is_sure: bool,
}

impl MomentSearch {
    /// Behind the snapshot that this site has taken, in this epoch, with this clock at its cut.
    ///
    /// # Errors
    /// The snapshot is later.
    pub fn behind(
        site: SiteId,
        epoch: EpochNumber,
        clock: u64,
        wanted: WantedMoment,
        planted: Planted,
    ) -> Result<MomentSearch, MomentError> {
        match wanted.is_below(clock) {
            true => Err(MomentError::Before(clock)),
            false => {
                let (current_since, is_up, known_to) = (Some(clock), true, clock);
                let open = BTreeMap::new();
                Ok(MomentSearch { site, wanted, epoch, current_since, is_up, known_to, open, cut: None, planted })
            }
        }
    }

    /// Whether nothing that comes can say more.
    pub fn is_over(&self) -> bool {
        self.cut.is_some_and(|cut| cut.is_sure) && self.open.is_empty()
    }

    /// The next record.
    ///
    /// # Errors
    /// It is none, or the site was not current at the moment.
    pub fn record(&mut self, position: Position, bytes: &[u8]) -> Result<(), MomentError> {
        if let Some(proposal) = LogRecord::proposal_in(bytes) {
            self.passes(position, proposal.clock)?;
            if self.cut.is_none() && !planted!(self.planted, UndecidedMomentRestored) {
                self.open.insert(proposal.transaction, (proposal.epoch, proposal.clock));
            }
            return Ok(());
        }
        match LogRecord::decode(bytes).map_err(|error| MomentError::Record(error.to_string()))? {
            LogRecord::Decided { transaction, outcome, .. } => {
                self.open.remove(&transaction);
                if let Outcome::Commit(timestamp) = outcome {
                    self.is_in_force(timestamp.epoch, timestamp.clock);
                }
            }
            LogRecord::EpochLogged { epoch, joined, .. } => {
                let goes_on = joined <= self.epoch;
                if let Some(cut) = &mut self.cut {
                    cut.is_sure |= epoch.number > cut.epoch && joined <= cut.epoch;
                    return Ok(());
                }
                self.is_up = epoch.members.get(&self.site).is_some_and(|member| member.state == MemberState::Up);
                let stays = goes_on && self.is_up;
                if !stays && !planted!(self.planted, StaleMomentRestored) {
                    self.current_since = None;
                }
                self.epoch = epoch.number;
                // Of earlier epochs the site has every outcome, or knows of what it lacks.
                self.open.retain(|_, (voted_in, _)| *voted_in >= epoch.number);
            }
            _ => {}
        }
        Ok(())
    }

    /// The next mark.
    ///
    /// # Errors
    /// The site was not current at the moment.
    pub fn mark(&mut self, mark: &ArchiveMark) -> Result<(), MomentError> {
        if mark.epoch == self.epoch || self.cut.is_some() {
            self.passes(mark.at, mark.clock)?;
            self.is_in_force(mark.epoch, mark.clock);
        }
        Ok(())
    }

    /// The site has passed this clock here.
    fn passes(&mut self, position: Position, clock: u64) -> Result<(), MomentError> {
        if self.cut.is_some() {
            return Ok(());
        }
        if self.wanted.is_below(clock) {
            if self.current_since.is_none() {
                return Err(MomentError::NotCurrent(self.is_up.then_some(clock)));
            }
            self.cut = Some(FoundCut { at: position, epoch: self.epoch, is_sure: false });
        } else if self.is_up {
            self.current_since.get_or_insert(clock);
        }
        Ok(())
    }

    /// This epoch was in force at this clock.
    fn is_in_force(&mut self, epoch: EpochNumber, clock: u64) {
        if let Some(cut) = &mut self.cut {
            cut.is_sure |= epoch == cut.epoch && self.wanted.is_below(clock);
        }
        if epoch == self.epoch && self.current_since.is_some() {
            self.known_to = self.known_to.max(clock);
        }
    }

    /// The archive ends here.
    ///
    /// # Errors
    /// See [`MomentError`].
    pub fn end(self, end: Position) -> Result<MomentSelection, MomentError> {
        let clock = match self.wanted {
            WantedMoment::Latest if self.current_since.is_none() => return Err(MomentError::NotCurrent(None)),
            WantedMoment::Latest => return Ok(MomentSelection::new(end, (self.epoch, u64::MAX), self.planted)),
            WantedMoment::Clock(clock) => clock,
        };
        match self.cut {
            Some(cut) if cut.is_sure && self.open.is_empty() => {
                Ok(MomentSelection::new(cut.at, (cut.epoch, clock), self.planted))
            }
            _ => {
                // It may have committed at its proposal.
                let undecided = self.open.values().map(|(_, proposal)| proposal.saturating_sub(1)).min();
                Err(MomentError::Beyond(undecided.map_or(self.known_to, |below| below.min(self.known_to))))
            }
        }
    }
}

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// It is in.
    Whole,
    /// It is not.
    Not,
    /// This one is in for it: a commit behind the moment has not been.
    Instead(Vec<u8>),
}

/// The second reading: which records are in, first those of the snapshot, then what was logged since.
#[derive(Clone, Debug)]
pub struct MomentSelection {
    cut: Position,
    highest: (EpochNumber, u64),
    open: BTreeSet<TransactionId>,
    /// Decided in the snapshot: the archive may say so again.
    settled: BTreeSet<TransactionId>,
    planted: Planted,
}

impl MomentSelection {
    fn new(cut: Position, highest: (EpochNumber, u64), planted: Planted) -> MomentSelection {
        MomentSelection { cut, highest, open: BTreeSet::new(), settled: BTreeSet::new(), planted }
    }

    /// The highest timestamp that is in, but for the transaction that breaks ties.
    pub fn highest(&self) -> (EpochNumber, u64) {
        self.highest
    }

    /// Whether nothing that comes is in.
    pub fn is_over(&self, position: Position) -> bool {
        position >= self.cut && self.open.is_empty()
    }

    /// A record of the snapshot.
    ///
    /// # Errors
    /// It is none.
    pub fn of_snapshot(&mut self, bytes: &[u8]) -> Result<Selected, MomentError> {
        if let Some(proposal) = LogRecord::proposal_in(bytes) {
            self.open.insert(proposal.transaction);
            return Ok(Selected::Whole);
        }
        let record = LogRecord::decode(bytes).map_err(|error| MomentError::Record(error.to_string()))?;
        let LogRecord::Decided { transaction, .. } = record else { return Ok(Selected::Whole) };
        self.open.remove(&transaction);
        if !planted!(self.planted, SettledTwice) {
            self.settled.insert(transaction);
        }
        Ok(self.decided(record))
    }

    /// A record of the archive, from the snapshot's cut on.
    ///
    /// # Errors
    /// It is none.
    pub fn of_archive(&mut self, position: Position, bytes: &[u8]) -> Result<Selected, MomentError> {
        let is_before = position < self.cut;
        if let Some(proposal) = LogRecord::proposal_in(bytes) {
            if !is_before || self.settled.contains(&proposal.transaction) {
                return Ok(Selected::Not);
            }
            self.open.insert(proposal.transaction);
            return Ok(Selected::Whole);
        }
        let record = LogRecord::decode(bytes).map_err(|error| MomentError::Record(error.to_string()))?;
        let LogRecord::Decided { transaction, .. } = record else {
            return Ok(if is_before { Selected::Whole } else { Selected::Not });
        };
        let was_open = self.open.remove(&transaction);
        match !self.settled.contains(&transaction) && (was_open || is_before) {
            true => Ok(self.decided(record)),
            false => Ok(Selected::Not),
        }
    }

    fn decided(&self, record: LogRecord) -> Selected {
        let LogRecord::Decided { transaction, outcome: Outcome::Commit(timestamp), by } = record else {
            return Selected::Whole;
        };
        if (timestamp.epoch, timestamp.clock) <= self.highest || planted!(self.planted, MomentPassed) {
            return Selected::Whole;
        }
        let mut aborted = Vec::new();
        LogRecord::Decided { transaction, outcome: Outcome::Abort, by }.encode_into(&mut aborted);
        Selected::Instead(aborted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use commit_log::MemoryLog;
    use messages::epoch::{Member, Placement, ProposalId};
    use messages::{Age, Epoch, Incarnation, LogPoint, OracleLife, Timestamp};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    const SITE: SiteId = SiteId(1);
    const CUT: u64 = 1_000;

    fn transaction(sequence: u64) -> TransactionId {
        TransactionId { home: SITE, incarnation: Incarnation(1), sequence }
    }

    fn bytes(record: LogRecord) -> Vec<u8> {
        let mut bytes = Vec::new();
        record.encode_into(&mut bytes);
        bytes
    }

    fn prepared(sequence: u64, epoch: u64, clock: u64) -> Vec<u8> {
        bytes(LogRecord::Prepared {
            transaction: transaction(sequence),
            age: Age { clock, first: transaction(sequence) },
            epoch: EpochNumber(epoch),
            order: sequence,
            finished_below: 0,
            clock,
            participants: vec![SITE],
            history: Arc::default(),
        })
    }

    fn committed(sequence: u64, epoch: u64, clock: u64) -> Vec<u8> {
        let transaction = transaction(sequence);
        let timestamp = Timestamp { epoch: EpochNumber(epoch), clock, transaction };
        bytes(LogRecord::Decided { transaction, outcome: Outcome::Commit(timestamp), by: EpochNumber(epoch) })
    }

    fn aborted(sequence: u64, epoch: u64) -> Vec<u8> {
        let (transaction, by) = (transaction(sequence), EpochNumber(epoch));
        bytes(LogRecord::Decided { transaction, outcome: Outcome::Abort, by })
    }

    fn epoch_logged(number: u64, joined: u64, state: MemberState) -> Vec<u8> {
        let epoch = Arc::new(Epoch {
            number: EpochNumber(number),
            proposal: ProposalId { site: SITE, incarnation: Incarnation(1), sequence: 1 },
            parent: ProposalId::default(),
            oracle: OracleLife(0),
            members: [(SITE, Member::beginning(Incarnation(1), state))].into(),
            sessions: BTreeMap::new(),
            required_copies: 1,
            placement: Placement::Everywhere,
            restart: false,
        });
        bytes(LogRecord::EpochLogged {
            epoch,
            incarnation: Incarnation(1),
            joined: EpochNumber(joined),
            chain: Vec::new(),
            fail_locks: BTreeMap::new(),
            stale: Arc::default(),
        })
    }

    fn mark(clock: u64, epoch: u64, at: u64) -> ArchiveMark {
        ArchiveMark { clock, epoch: EpochNumber(epoch), at: Position(at) }
    }

    enum Entry {
        Record(Vec<u8>),
        Mark(u64, u64),
    }

    /// Searches entries that stand at 1000, 1001, ... behind a snapshot of epoch 5 and clock 100.
    fn search(wanted: WantedMoment, entries: &[Entry]) -> Result<MomentSelection, MomentError> {
        let mut search = MomentSearch::behind(SITE, EpochNumber(5), 100, wanted, Planted::none())?;
        let mut position = CUT;
        for entry in entries {
            match entry {
                Entry::Record(record) => {
                    search.record(Position(position), record)?;
                    position += 1;
                }
                Entry::Mark(clock, epoch) => search.mark(&mark(*clock, *epoch, position))?,
            }
        }
        search.end(Position(position))
    }

    use Entry::{Mark, Record};

    /// If this fails, what committed behind the moment is in what is restored, or what committed before is not.
    #[test]
    fn a_moment_has_what_committed_up_to_it() {
        let entries = [
            Record(prepared(1, 5, 110)),
            Record(prepared(2, 5, 120)),
            Record(committed(1, 5, 130)),
            Record(committed(2, 5, 125)),
            Record(prepared(3, 5, 140)),
            Record(committed(3, 5, 140)),
        ];
        let mut selection = search(WantedMoment::Clock(127), &entries).expect("it is there");
        assert_eq!(selection.highest(), (EpochNumber(5), 127));
        let mut selected = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let Record(record) = entry else { continue };
            selected.push(selection.of_archive(Position(CUT + place as u64), record).expect("a record"));
        }
        let aborted = Selected::Instead(aborted(1, 5));
        assert_eq!(
            selected,
            [Selected::Whole, Selected::Whole, aborted, Selected::Whole, Selected::Not, Selected::Not],
            "the first proposed before the moment, and committed behind it"
        );
        assert!(selection.is_over(Position(CUT + 6)));
    }

    /// If this fails, what was decided behind the snapshot's cut is in what is restored twice: sums would be too high.
    #[test]
    fn what_the_snapshot_has_decided_is_not_taken_again() {
        let entries = [
            Record(prepared(7, 5, 105)),
            Record(committed(7, 5, 106)),
            Record(prepared(8, 5, 110)),
            Record(committed(8, 5, 110)),
            Mark(200, 5),
        ];
        let mut selection = search(WantedMoment::Clock(150), &entries).expect("it is there");
        assert_eq!(selection.of_snapshot(&prepared(7, 5, 90)), Ok(Selected::Whole));
        assert_eq!(selection.of_snapshot(&committed(7, 5, 106)), Ok(Selected::Whole));
        let mut selected = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let Record(record) = entry else { continue };
            selected.push(selection.of_archive(Position(CUT + place as u64), record).expect("a record"));
        }
        assert_eq!(selected, [Selected::Not, Selected::Not, Selected::Whole, Selected::Whole]);
    }

    /// If this fails, a moment is restored at which others may have committed more than the site knows of.
    #[test]
    fn a_moment_is_known_by_what_comes_behind_it() {
        let wanted = WantedMoment::Clock(150);
        let beyond = |entries: &[Entry]| match search(wanted, entries) {
            Err(MomentError::Beyond(known)) => known,
            other => panic!("{other:?}"),
        };
        assert_eq!(beyond(&[]), 100);
        assert_eq!(beyond(&[Record(prepared(1, 5, 110)), Record(committed(1, 5, 120))]), 120);
        assert_eq!(beyond(&[Mark(140, 5)]), 140);
        // It votes on although it may be out.
        assert_eq!(beyond(&[Mark(140, 5), Record(prepared(1, 5, 160))]), 140);
        assert_eq!(beyond(&[Record(prepared(1, 5, 160)), Record(epoch_logged(5, 3, MemberState::Up))]), 100);
        for sure in [
            vec![Mark(151, 5)],
            vec![Record(prepared(1, 5, 160)), Record(committed(1, 5, 160))],
            vec![Record(prepared(1, 5, 160)), Record(epoch_logged(6, 5, MemberState::Up))],
        ] {
            assert!(search(wanted, &sure).is_ok());
        }
        assert!(search(WantedMoment::Latest, &[]).is_ok());
        assert_eq!(search(WantedMoment::Clock(99), &[]).err(), Some(MomentError::Before(100)));
    }

    /// If this fails, what was acknowledged is not in what is restored, because the site had voted for it and has not heard the outcome.
    #[test]
    fn a_moment_has_no_votes_without_an_outcome() {
        let voted = || vec![Record(prepared(1, 5, 110)), Record(prepared(2, 5, 120)), Mark(200, 5)];
        let with =
            |more: Vec<Entry>| search(WantedMoment::Clock(150), &voted().into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(with(vec![]).err(), Some(MomentError::Beyond(109)));
        assert_eq!(with(vec![Record(aborted(1, 5))]).err(), Some(MomentError::Beyond(119)));
        assert!(with(vec![Record(aborted(1, 5)), Record(committed(2, 5, 120))]).is_ok());
        assert!(search(WantedMoment::Clock(109), &voted()).is_ok(), "it was voted for behind the moment");
        // It fell out, and what it lacks was copied, but how that was before nobody knows.
        let back = || vec![Record(epoch_logged(8, 8, MemberState::Up)), Record(prepared(3, 8, 220)), Mark(300, 8)];
        assert_eq!(with(back()).err(), Some(MomentError::Beyond(109)));
        let entries: Vec<Entry> = voted().into_iter().chain(back()).chain([Record(committed(3, 8, 220))]).collect();
        assert!(search(WantedMoment::Clock(250), &entries).is_ok(), "it is current again");
    }

    /// If this fails, a moment at which the site was out is restored from what it has copied later.
    #[test]
    fn a_moment_at_which_the_site_was_out_is_refused() {
        let back = || {
            vec![
                Record(prepared(1, 5, 110)),
                Record(committed(1, 5, 110)),
                Record(epoch_logged(8, 8, MemberState::Recovering)),
                Record(prepared(2, 8, 200)),
                Record(epoch_logged(9, 8, MemberState::Up)),
                Record(prepared(3, 9, 220)),
                Record(committed(3, 9, 220)),
                Mark(300, 9),
            ]
        };
        let at = |clock| search(WantedMoment::Clock(clock), &back());
        assert!(matches!(at(150), Err(MomentError::NotCurrent(_))), "nobody knows when it fell out");
        assert!(matches!(at(210), Err(MomentError::NotCurrent(Some(220)))), "it was being repaired");
        assert_eq!(at(250).expect("it is current again").highest(), (EpochNumber(9), 250));
        assert!(search(WantedMoment::Latest, &back()).is_ok());
        assert!(search(WantedMoment::Latest, &back()[..4]).is_err(), "it is being repaired");
        // An epoch that goes on without a break is no reason.
        let on = [Record(epoch_logged(6, 5, MemberState::Up)), Record(prepared(1, 6, 160)), Mark(170, 6)];
        assert_eq!(search(WantedMoment::Clock(150), &on).expect("it is known").highest().0, EpochNumber(6));
    }

    /// If this fails, log that was given up, or that of another disk, is taken for what comes next.
    #[test]
    fn an_archive_knows_its_log() {
        let record = |number: u64| bytes(LogRecord::Marked { mark: LogPoint { life: Incarnation(1), number } });
        let mut log = MemoryLog::new();
        let mut end = ArchivedEnd::beginning_at(log.first());
        assert!(end.goes_on_with(&log));
        for number in 0..4 {
            let at = log.append(&record(number)).expect("there is room");
            if number < 3 {
                end.takes(at, &record(number), log.appended());
            }
        }
        log.sync_now().expect("a disk");
        assert!(end.goes_on_with(&log));
        let mut other = MemoryLog::new();
        for number in [0, 1, 9, 3] {
            other.append(&record(number)).expect("there is room");
        }
        assert!(!end.goes_on_with(&other), "a record is another one");
        assert!(!end.goes_on_with(&MemoryLog::new()), "it is shorter");
        log.truncate_before(end.end).expect("it is synced");
        assert!(end.goes_on_with(&log));
        let last = log.append(&record(4)).expect("there is room");
        log.sync_now().expect("a disk");
        log.truncate_before(last).expect("it is synced");
        assert!(!end.goes_on_with(&log), "a record was given up");
    }
}
